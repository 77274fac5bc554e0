/* The folders in a folder; declared in io/tree.h. */
#include "io/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/loop_internal.h"

/* Names of other kinds of things are looked at, too. */
#define FOLDERS_LOOKS ((size_t)4 * IO_TREE_FOLDERS)

static bool folders_is_folder(const char *root, const uv_dirent_t *entry)
{
    CLEANUP(mem_freep) char *path = NULL;
    size_t n_root = strlen(root);
    size_t n_name = strlen(entry->name);
    bool is_folder;
    uv_fs_t look;

    if (entry->type != UV_DIRENT_UNKNOWN) {
        return entry->type == UV_DIRENT_DIR;
    }
    path = mem_alloc(n_root + n_name + 2);
    if (path == NULL) {
        return false;
    }
    memcpy(path, root, n_root);
    path[n_root] = '/';
    memcpy(path + n_root + 1, entry->name, n_name + 1);
    is_folder =
        uv_fs_lstat(NULL, &look, path, NULL) == 0 && (look.statbuf.st_mode & S_IFMT) == S_IFDIR;
    uv_fs_req_cleanup(&look);
    return is_folder;
}

static int folders_add(char **names, size_t *n, const char *name)
{
    size_t n_name = strlen(name) + 1;

    if (*n == IO_TREE_FOLDERS) {
        return err_raise(-E2BIG);
    }
    names[*n] = mem_alloc(n_name);
    if (names[*n] == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(names[(*n)++], name, n_name);
    return 0;
}

static int folders_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int folders_take(uv_fs_t *entries, const char *root, char **names, size_t *ret_n)
{
    uv_dirent_t entry;
    size_t n = 0;
    int r = 0;

    /* To the end in any case: libuv frees the last one only when it is asked for another. */
    while (uv_fs_scandir_next(entries, &entry) == 0) {
        if (r == 0 && entry.name[0] != '.' && folders_is_folder(root, &entry)) {
            r = folders_add(names, &n, entry.name);
        }
    }
    if (r == 0) {
        qsort(names, n, sizeof(*names), folders_compare);
        *ret_n = n;
    }
    return r;
}

int io_tree_folders(const char *root, char ***ret, size_t *ret_n)
{
    char **names = NULL;
    uv_fs_t entries;
    int n = uv_fs_scandir(NULL, &entries, root, 0, NULL);
    int r = n < 0 ? io_uv_result(n) : 0;

    if (r == 0 && (size_t)n > FOLDERS_LOOKS) {
        r = -E2BIG;
    }
    if (r == 0) {
        names = mem_alloc_array((size_t)n + 1, sizeof(*names));
        r = names == NULL ? -ENOMEM : folders_take(&entries, root, names, ret_n);
    }
    uv_fs_req_cleanup(&entries);
    if (r != 0) {
        (void)io_tree_names_free(names);
        return err_raise(r);
    }
    *ret = names;
    return 0;
}

char **io_tree_names_free(char **names)
{
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        names[i] = mem_free(names[i]);
    }
    return mem_free(names);
}
