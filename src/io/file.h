/* io/file.h: whole files, for what is read once at start. Thread: any. */
#pragma once

#include "base/bytes.h"

/* Appends the content of the file at path to out. 0, a negative errno, BYTES_E_FULL (longer than
 * out may grow). On failure out is as it was. */
int io_file_read(Bytes *out, const char *path);

/* The same for what is open, from where it stands. */
int io_file_read_fd(Bytes *out, int fd);
