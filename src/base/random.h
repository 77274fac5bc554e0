/* base/random.h: unpredictable bytes from the kernel. Thread: any. */
#pragma once

#include <stddef.h>

/* Fills n bytes. 0 or a negative errno; then the content of p is unspecified and must not be used.
 */
int random_fill(void *p, size_t n);

/* The same from a device file: what random_fill does on kernels without getrandom(2), with
 * /dev/urandom. -EIO if the file ends early. Not on Windows. */
int random_fill_from(const char *path, void *p, size_t n);
