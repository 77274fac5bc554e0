/* io/confine.h: a child that can reach one folder and what programs need to run, and nothing else.
 *
 * What programs need, to read and execute: the folders of programs and libraries (/usr, /bin,
 * /sbin, /lib*), the loader's cache, the time zone, and the devices null, zero, full, random and
 * urandom. Linux: landlock for what is opened, made, removed and renamed; a seccomp filter for what
 * landlock does not see: sockets, other files' permissions, owners, times and attributes by their
 * paths, and leaving the process group (so that ending the group ends them all); and of root's
 * capabilities only those over files are left. What a confined child can still find out: whether a
 * path exists, and what stat(2) tells of it. What it starts is confined as it is. Elsewhere, and
 * where the kernel has them not: IO_CONFINE_E_UNAVAILABLE.
 *
 * Made in the parent, entered in the child between fork and exec. Thread: any.
 */
#pragma once

#include "base/diag.h"

#include <stdbool.h>

enum {
    IO_CONFINE_E_UNAVAILABLE = 1, /* this system cannot; the Diag says what is missing */
};

typedef struct IoConfine IoConfine;

typedef struct IoConfineSpec {
    int write_fd;                    /* an open folder: all beneath it is free */
    const char *const *read_folders; /* NULL-terminated: beneath them files are read and executed;
                                        beside the system's. May be NULL */
    bool allow_network;              /* sockets of IPv4 and IPv6 may be made and used, no others */
} IoConfineSpec;

/* Borrows spec until return. 0, -ENOMEM, another negative errno, IO_CONFINE_E_UNAVAILABLE. Gives
 * *ret. */
int io_confine_new(IoConfine **ret, const IoConfineSpec *spec, Diag *reterr_diag);
IoConfine *io_confine_free(IoConfine *confine);

/* For good, and for all that this process starts. 0 or a negative errno. May be called between fork
 * and exec. */
int io_confine_enter(const IoConfine *confine);
