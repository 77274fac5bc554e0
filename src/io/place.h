/* io/place.h: a path where something is to be made: its parts, its folder, and words for why it
 * cannot be.
 *
 * Paths are UTF-8. On Windows both slashes separate, and the names of pipes (\\.\pipe\NAME) are
 * paths that lead to no folder. Thread: any.
 */
#pragma once

#include "base/diag.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A name of our own beside path, for mkostemp and mkdtemp: hidden, and short, since a socket in
 * such a folder must still be reachable. */
#define IO_PLACE_TEMP      ".tw-XXXXXX"
#define IO_PLACE_TEMP_SIZE (sizeof(IO_PLACE_TEMP))

/* Does c separate the names in a path? */
bool io_place_is_slash(char c);

/* The last separator in path; NULL if there is none. */
const char *io_place_last_slash(const char *path);

/* Bytes of path up to its last separator, that included; 0: the name alone. */
size_t io_place_folder_length(const char *path);

/* Does it mean the same in whatever folder we are? On Windows also \path and //./pipe/NAME. */
bool io_place_is_absolute(const char *path);

/* path, seen from the working folder if it is relative; on Windows with backslashes, and without
 * dots. Gives *ret (mem_free). 0, -ENOMEM, another negative errno. */
int io_place_absolute(char **ret, const char *path);

/* Absolute, and with links and dots resolved; on Windows links stay. What has the path must be
 * there. Gives *ret (mem_free). 0, -ENOMEM, another negative errno. */
int io_place_real(char **ret, const char *path);

/* Does the name of a pipe begin so: \\.\pipe\NAME? Never where pipes are sockets. */
bool io_place_is_pipe_name(const char *path);

/* Is something there, by following links? */
bool io_place_exists(const char *path);

/* Is the name itself a regular file's, no link? */
bool io_place_is_file(const char *path);

/* Do two names of one folder mean the same file? */
bool io_place_is_same_name(const char *a, const char *b);

/* What went wrong with an errno: outcome if the path is at fault (no such folder, no permission, a
 * file system that cannot hold it), else -error: the system's trouble. The words are "cannot ACTION
 * PATH: …" and what to do. */
int io_place_fail(Diag *reterr_diag, int outcome, int error, const char *action, const char *path);

/* Whether the name (no link followed) is that very file. Only worth something while the other is
 * kept open, since the system gives the numbers of closed and removed ones to new files. */
bool io_place_is(const char *path, uint64_t device, uint64_t inode);

/* A millisecond, for the lock of somebody who holds it no longer than a few system calls. */
void io_place_nap(void);
