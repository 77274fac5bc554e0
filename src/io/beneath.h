/* io/beneath.h: files and folders beneath one folder, by paths that strangers wrote.
 *
 * Nothing outside of the root is opened, read, made or changed, whatever the path says and whatever
 * is renamed or linked meanwhile: the system itself resolves each path from the open root and stops
 * at its edge (openat2 with RESOLVE_BENEATH and RESOLVE_NO_MAGICLINKS). What is checked is what was
 * opened, never a name. Links that stay inside are followed; those that lead out, absolute ones,
 * and the magic ones of /proc are refused. Where the system has no openat2 every name on the way is
 * opened in the folder before it, and no link is followed at all (io_beneath_follows_links).
 *
 * A path is relative to the root, or absolute and begins with the root's own path; "" and "." are
 * the root; ".." is fine as long as it stays inside. (That a file has another name outside, a hard
 * link, cannot be seen by anybody; writing gives the name here a new file, and leaves the other
 * alone.)
 *
 * Not on Windows yet: io_beneath_open says so. Thread: any; one IoBeneath may be used by several
 * threads at once.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each comes with a Diag: a sentence for people and models, which names the path. */
enum {
    IO_BENEATH_E_OUTSIDE = 1, /* "Access denied: path outside allowed directory": leads out, or
                                 through a link that may not be followed */
    IO_BENEATH_E_MISSING,     /* nothing of that name, or a file where a folder should be */
    IO_BENEATH_E_KIND,        /* a folder, FIFO, device or socket where a file is needed; a file
                                 where a folder is. It was not opened */
    IO_BENEATH_E_TOO_LARGE,   /* more than may be read or listed; nothing was read */
    IO_BENEATH_E_REFUSED,     /* the system does not let us: permission, read-only, full disk… */
    IO_BENEATH_E_PLACE,       /* open: the root is no folder that we may enter */
    IO_BENEATH_E_UNSUPPORTED, /* open: not on this system */
};

typedef struct IoBeneath IoBeneath;

typedef enum IoBeneathKind {
    IO_BENEATH_FILE, /* regular */
    IO_BENEATH_FOLDER,
    IO_BENEATH_LINK, /* leads out or nowhere, so that nothing is known of what is behind it */
    IO_BENEATH_OTHER /* FIFO, socket, device */
} IoBeneathKind;

typedef struct IoBeneathInfo {
    IoBeneathKind kind; /* of what a link leads to */
    uint64_t size;      /* of a file */
} IoBeneathInfo;

typedef struct IoBeneathEntry {
    const char *name; /* one name, any bytes but NUL and '/'; the list's */
    bool is_link;     /* itself; kind and size are of what it leads to */
    IoBeneathKind kind;
    uint64_t size;
} IoBeneathEntry;

typedef struct IoBeneathList {
    IoBeneathEntry *entries; /* by the bytes of their names */
    size_t n;
    bool is_cut; /* there are more than max_entries */
    char *names; /* where the names lie */
} IoBeneathList;

#define IO_BENEATH_LIST_NULL ((IoBeneathList){.entries = NULL})

/* root is followed, links too; it must be a folder. 0, a negative errno, IO_BENEATH_E_PLACE,
 * IO_BENEATH_E_UNSUPPORTED. Gives *ret. */
int io_beneath_open(IoBeneath **ret, const char *root, Diag *reterr_diag);
IoBeneath *io_beneath_free(IoBeneath *beneath);

/* The root's absolute path without links. Borrowed until free. */
const char *io_beneath_path(const IoBeneath *beneath);

/* The open root, for rules about it (io/confine.h). Borrowed until free. */
int io_beneath_fd(const IoBeneath *beneath);

/* Whether links that stay inside are followed: the system has openat2. For tests: go without. */
bool io_beneath_follows_links(const IoBeneath *beneath);
void io_beneath_follow_no_links(IoBeneath *beneath);

/* What the path says seen from the root: without the root's own path in front, "." for the root.
 * Looks at the text alone: what it gives is resolved as any other path. 0 (*ret points into path,
 * or is "."), IO_BENEATH_E_OUTSIDE: absolute, and another's. */
int io_beneath_relative(const IoBeneath *beneath, const char *path, const char **ret,
                        Diag *reterr_diag);

/* What is there; nothing is opened for reading. 0, a negative errno, OUTSIDE, MISSING, REFUSED. */
int io_beneath_look(const IoBeneath *beneath, const char *path, IoBeneathInfo *ret,
                    Diag *reterr_diag);

/* What is in the folder at path, max_entries at the most (which ones, if there are more, is the
 * system's choice). 0, a negative errno, IO_BENEATH_E_*. *ret only on success. */
int io_beneath_list(const IoBeneath *beneath, const char *path, size_t max_entries,
                    IoBeneathList *ret, Diag *reterr_diag);
void io_beneath_list_deinit(IoBeneathList *list);

/* Appends a regular file's content, if it is max_bytes or less: its size is asked first. Never
 * waits for a writer. 0, a negative errno (-ENOMEM), IO_BENEATH_E_*. On failure out is as it was.
 */
int io_beneath_read(const IoBeneath *beneath, const char *path, size_t max_bytes, Bytes *out,
                    Diag *reterr_diag);

/* Makes the file, or gives it other content: a reader finds the old or the new one, whole. Folders
 * that are missing on the way are made. A file that is there keeps its permissions, and is replaced
 * through links that stay inside; a new one has the usual ones. *ret_is_new may be NULL. 0, a
 * negative errno, IO_BENEATH_E_*. */
int io_beneath_write(const IoBeneath *beneath, const char *path, Span content, bool *ret_is_new,
                     Diag *reterr_diag);
