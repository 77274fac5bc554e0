/* io/keep.h: small files that a program keeps for its next run: caches, tables.
 *
 * 0600, in folders of 0700 that are made where they are missing; replaced as a whole, so that a
 * reader finds the old one or the new one. Losing one costs time, nothing else. Thread: any.
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"

/* The folder for state: $XDG_STATE_HOME/toolwire, else ~/.local/state/toolwire, if there is a home
 * (on Windows %LOCALAPPDATA%\toolwire). Gives *ret (mem_free). 0, -ENOMEM, -ENOENT: there is none.
 */
int io_keep_folder(char **ret);

/* Makes what is missing of the folders on the way to path, 0700. 0, a negative errno. */
int io_keep_make_folders(const char *path);

/* Appends the content. 0, a negative errno (-ENOENT), BYTES_E_FULL; -EPERM: it is not ours, or
 * others may write it. */
int io_keep_read(const char *path, Bytes *out);

/* 0, a negative errno. */
int io_keep_write(const char *path, Span content);

/* The same where nobody has the name, in a folder that is there: 0, -EEXIST (and what has it is as
 * it was), another negative errno. */
int io_keep_make(const char *path, Span content);
