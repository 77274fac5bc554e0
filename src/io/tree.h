/* io/tree.h: files put beneath a folder, and read there, and never outside of it.
 *
 * A path is relative, with '/' between names, none of them "." or ".."; no link is followed on the
 * way, so that nothing that lies in the folder can lead out of it. A file appears under its name
 * when its content is complete, and replaces another only if that is asked for. Thread: any.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* None is BYTES_E_FULL. */
enum {
    IO_TREE_E_EXISTS = 2, /* there is a file of that name, and it was not to be replaced; Diag */
    IO_TREE_E_PLACE,      /* the path cannot be: leads outside, something in the way…; Diag */
};

/* What writing would do. */
typedef enum IoTreeState {
    IO_TREE_NEW,     /* there is nothing yet */
    IO_TREE_SAME,    /* a file with this very content, which may be run if it should be */
    IO_TREE_DIFFERS, /* a file with other content, or one that may not be run and should be */
} IoTreeState;

typedef struct IoTreeLook {
    IoTreeState state;
    size_t n_added; /* DIFFERS: lines that would come and go (the shortest difference, or a bound of
                       it for huge files); none of both: only that it may not be run */
    size_t n_removed;
} IoTreeLook;

/* Looks what io_tree_write would do, and changes nothing. root must be a folder. 0, a negative
 * errno, IO_TREE_E_PLACE. */
int io_tree_look(const char *root, const char *path, Span content, bool executable, IoTreeLook *ret,
                 Diag *reterr_diag);

/* Writes the file, with the folders on the way that are missing. executable: may be run by whoever
 * may read it. A new file may be used as the user's mask says; one that replaces another by those
 * who could use that, and nobody else. 0, a negative errno, IO_TREE_E_*. */
int io_tree_write(const char *root, const char *path, Span content, bool executable, bool replace,
                  Diag *reterr_diag);

/* Whether io_tree_write could put a file there, in place of another or not: tried with a hidden one
 * beside it, which is removed at once. No folder is made. 0, a negative errno, IO_TREE_E_PLACE. */
int io_tree_try(const char *root, const char *path, Diag *reterr_diag);

/* Appends the content of a regular file. 0, a negative errno (-ENOENT…), BYTES_E_FULL,
 * IO_TREE_E_PLACE + Diag; on failure out is as it was. */
int io_tree_read(const char *root, const char *path, Bytes *out, Diag *reterr_diag);

/* The folders in root whose names do not begin with a dot, in the order of their bytes; links are
 * none. At most IO_TREE_FOLDERS: a folder of more is -E2BIG. Gives *ret (io_tree_names_free),
 * NULL-terminated. 0, -ENOMEM, another negative errno. */
#define IO_TREE_FOLDERS 65536
int io_tree_folders(const char *root, char ***ret, size_t *ret_n);
char **io_tree_names_free(char **names);

/* A number that is another one when a file beneath root has come, gone or changed (links are not
 * followed; names that begin with a dot, or end in '~', ".swp" or ".tmp" do not count): for owners
 * who look from time to time. 0 if there is no such folder, or it cannot be read. Looks at
 * IO_TREE_STATE_FILES things at most. 0, -ENOMEM. */
#define IO_TREE_STATE_FILES 65536
int io_tree_state(const char *root, uint64_t *ret);
