/* io/place.h: a path where something is to be made: its folder, and words for why it cannot be.
 * Thread: any.
 */
#pragma once

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* A name of our own beside path, for mkostemp and mkdtemp: hidden, and short, since a socket in
 * such a folder must still be reachable. */
#define IO_PLACE_TEMP      ".tw-XXXXXX"
#define IO_PLACE_TEMP_SIZE (sizeof(IO_PLACE_TEMP))

/* Bytes of path up to its last slash, that included; 0: the name alone. */
size_t io_place_folder_length(const char *path);

/* What went wrong with an errno: outcome if the path is at fault (no such folder, no permission, a
 * file system that cannot hold it), else -error: the system's trouble. The words are "cannot ACTION
 * PATH: …" and what to do. */
int io_place_fail(Diag *reterr_diag, int outcome, int error, const char *action, const char *path);

/* Whether the name (no link followed) is that very file. Only worth something while the other is
 * kept open, since the system gives the numbers of closed and removed ones to new files. */
bool io_place_is(const char *path, dev_t device, ino_t inode);

/* A millisecond, for the lock of somebody who holds it no longer than a few system calls. */
void io_place_nap(void);
