/* io/append_file.h: files of lines that grow at their end, and are moved aside when they are long.
 *
 * A file is made for this user alone (0600; on Windows by its access list); one that is there keeps
 * its permissions. What is written lies behind all that is there, whole or, as far as the system
 * lets us, not at all: a disk that is full leaves no half of a line. Calls wait for the file system
 * and nothing else. Thread: any, one at a time.
 */
#pragma once

#include "base/span.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct AppendFile {
    int fd;
    uint64_t n_bytes; /* in the file */
    bool is_regular;  /* else a device, which is never long */
    bool is_torn;     /* its last line has no end: the next write gives it one */
} AppendFile;

#define APPEND_FILE_NULL ((AppendFile){.fd = -1})

/* Opens it, or makes it. Not for children. 0, or a negative errno (-EINVAL: neither a regular file
 * nor a device). */
int append_file_open(AppendFile *ret, const char *path);

/* May run twice. */
void append_file_close(AppendFile *file);

/* Appends whole lines. 0, or a negative errno: the file is as it was, or is_torn. */
int append_file_write(AppendFile *file, Span lines);

/* Makes room: PATH becomes PATH.1, that PATH.2, and so on up to PATH.keep, whose old content goes.
 * keep is at least 1. Nobody of us has the file open meanwhile. 0, or a negative errno: some may
 * have moved, none is lost. */
int append_file_shift(const char *path, uint32_t keep);

/* Renames, and replaces what has the name. 0, or a negative errno. */
int append_file_rename(const char *from, const char *to);
