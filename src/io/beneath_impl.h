/* io/beneath_impl.h: what the files of io/beneath.h share. Private.
 *
 *     beneath.c        the root, finding things, reading files
 *     beneath_walk.c   finding where the system has no openat2
 *     beneath_list.c   folders
 *     beneath_write.c  new content, and folders on the way to it
 */
#pragma once

#include "io/beneath.h"

#include <sys/stat.h>

struct IoBeneath {
    int fd;
    char *path;  /* real */
    char *given; /* absolute, as it was named; NULL: the same */
    bool has_openat2;
};

/* Opens what path (relative to the root) leads to; flags as open(2), close-on-exec is added; mode
 * for O_CREAT only. *ret_fd is the caller's. 0, or a negative errno: -EXDEV leads out, -ELOOP a
 * link that may not be followed. */
int beneath_find(const IoBeneath *beneath, const char *path, int flags, int *ret_fd);

/* The same component by component. */
int beneath_walk(int root, const char *path, int flags, int *ret_fd);

IoBeneathKind beneath_kind(mode_t mode);

/* The outcome and the words for a negative errno; action: "read", "write", "list". */
int beneath_fail(Diag *reterr_diag, int r, const char *action, const char *path);

/* There is something else than is needed. */
int beneath_fail_kind(Diag *reterr_diag, IoBeneathKind found, const char *path);

void beneath_close(int *fd);
