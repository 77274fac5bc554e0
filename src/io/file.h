/* io/file.h: files that are read: whole, or piece by piece. Bytes are what lies in the file, line
 * ends too. Thread: any. */
#pragma once

#include "base/bytes.h"

#include <stddef.h>
#include <stdint.h>

/* Appends the content of the file at path to out. 0, a negative errno, BYTES_E_FULL (longer than
 * out may grow). On failure out is as it was. */
int io_file_read(Bytes *out, const char *path);

/* The same for what is open, from where it stands. */
int io_file_read_fd(Bytes *out, int fd);

/* For reading; not for children. Gives *ret_fd (io_fd_close). 0 or a negative errno. */
int io_file_open(const char *path, int *ret_fd);

/* The next bytes, n at the most, of what is open: a file, or a standard descriptor. 0: the end; or
 * a negative errno. */
int64_t io_file_read_some(int fd, char *p, size_t n);
