#include "io/folder_path.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/place.h"

/* Entries that a list has room for at first. */
#define FOLDER_CAP_FIRST 32

bool folder_path_is_safe(const char *path)
{
    /* What separates besides '/' would be a way around the rules below. */
    bool is_windows = io_place_is_slash('\\');

    if (is_windows && strpbrk(path, "\\:") != NULL) {
        return false;
    }
    for (;;) {
        size_t n = strcspn(path, "/");

        if (n == 0 || (n == 1 && path[0] == '.') || (n == 2 && path[0] == '.' && path[1] == '.')) {
            return false;
        }
        if (path[n] == '\0') {
            return true;
        }
        path += n + 1;
    }
}

void folder_making_init(FolderMaking *making)
{
    *making = (FolderMaking){.entries = NULL};
    bytes_init(&making->names, SIZE_MAX / 2);
}

void folder_making_deinit(FolderMaking *making)
{
    making->entries = mem_free(making->entries);
    bytes_deinit(&making->names);
}

/* 0, -ENOMEM, -E2BIG. */
static int making_grow(FolderMaking *making)
{
    size_t cap = making->cap == 0 ? FOLDER_CAP_FIRST : 2 * making->cap;
    IoFolderEntry *entries;

    if (making->n == IO_FOLDER_ENTRIES) {
        return err_raise(-E2BIG);
    }
    if (making->n < making->cap) {
        return 0;
    }
    entries = mem_realloc(making->entries, cap * sizeof(*entries));
    if (entries == NULL) {
        return err_raise(-ENOMEM);
    }
    making->entries = entries;
    making->cap = cap;
    return 0;
}

int folder_making_add(FolderMaking *making, const char *name, IoFolderKind kind,
                      IoFolderStamp stamp)
{
    int r = making_grow(making);

    if (r == 0) {
        r = bytes_append(&making->names, name, strlen(name) + 1);
    }
    if (r != 0) {
        return err_fold(r);
    }
    making->entries[making->n++] = (IoFolderEntry){.kind = kind, .stamp = stamp};
    return 0;
}

static int making_compare(const void *a, const void *b)
{
    return strcmp(((const IoFolderEntry *)a)->name, ((const IoFolderEntry *)b)->name);
}

void folder_making_give(FolderMaking *making, IoFolderList *ret)
{
    char *at = making->names.data;

    /* Only now do the names stay where they are. */
    for (size_t i = 0; i < making->n; i++) {
        making->entries[i].name = at;
        at += strlen(at) + 1;
    }
    if (making->n > 0) {
        qsort(making->entries, making->n, sizeof(*making->entries), making_compare);
    }
    *ret = (IoFolderList){making->entries, making->n, making->names.data};
    *making = (FolderMaking){.entries = NULL};
}

void io_folder_list_deinit(IoFolderList *list)
{
    (void)mem_free(list->entries);
    (void)mem_free(list->names);
    *list = IO_FOLDER_LIST_NULL;
}
