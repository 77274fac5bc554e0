/* What is in a folder beneath the root. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/beneath_impl.h"

#define LIST_CAP_FIRST 32

/* A list that is being made: the names one after the other, NUL-terminated, in one buffer. */
typedef struct Listing {
    const IoBeneath *beneath;
    const char *folder; /* relative to the root */
    DIR *stream;
    IoBeneathEntry *entries;
    size_t n;
    size_t cap;
    Bytes names;
} Listing;

static int listing_add(Listing *listing, const char *name, const IoBeneathEntry *entry)
{
    if (listing->n == listing->cap) {
        size_t cap = listing->cap == 0 ? LIST_CAP_FIRST : 2 * listing->cap;
        IoBeneathEntry *entries = mem_realloc(listing->entries, cap * sizeof(*entries));

        if (entries == NULL) {
            return err_raise(-ENOMEM);
        }
        listing->entries = entries;
        listing->cap = cap;
    }
    if (bytes_append(&listing->names, name, strlen(name) + 1) != 0) {
        return err_raise(-ENOMEM);
    }
    listing->entries[listing->n++] = *entry;
    return 0;
}

/* What is behind a link: found from the root, since it may lead out of this folder and stay inside.
 */
static void listing_follow(const Listing *listing, const char *name, IoBeneathEntry *entry)
{
    char path[PATH_MAX];
    struct stat info;
    int fd = -1;
    int n = snprintf(path, sizeof(path), "%s/%s", listing->folder, name);

    entry->is_link = true;
    entry->kind = IO_BENEATH_LINK;
    if (n < 0 || (size_t)n >= sizeof(path) ||
        beneath_find(listing->beneath, path, O_PATH, &fd) != 0) {
        return;
    }
    if (fstat(fd, &info) == 0) {
        entry->kind = beneath_kind(info.st_mode);
        entry->size = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
    }
    beneath_close(&fd);
}

/* What goes while we look is not in the list. */
static int listing_see(Listing *listing, const char *name)
{
    IoBeneathEntry entry = {.name = NULL};
    struct stat info;

    if (fstatat(dirfd(listing->stream), name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? 0 : -errno;
    }
    if (S_ISLNK(info.st_mode)) {
        listing_follow(listing, name, &entry);
    } else {
        entry.kind = beneath_kind(info.st_mode);
        entry.size = S_ISREG(info.st_mode) ? (uint64_t)info.st_size : 0;
    }
    return listing_add(listing, name, &entry);
}

static int listing_read(Listing *listing, size_t max_entries, bool *ret_is_cut)
{
    int r = 0;

    *ret_is_cut = false;
    while (r == 0) {
        const struct dirent *entry;

        errno = 0;
        entry = readdir(listing->stream);
        if (entry == NULL) {
            return -errno;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        if (listing->n == max_entries) {
            *ret_is_cut = true;
            return 0;
        }
        r = listing_see(listing, entry->d_name);
    }
    return r;
}

static int listing_compare(const void *a, const void *b)
{
    return strcmp(((const IoBeneathEntry *)a)->name, ((const IoBeneathEntry *)b)->name);
}

static void listing_give(Listing *listing, IoBeneathList *ret)
{
    char *at = listing->names.data;

    /* Only now do the names stay where they are. */
    for (size_t i = 0; i < listing->n; i++) {
        listing->entries[i].name = at;
        at += strlen(at) + 1;
    }
    if (listing->n > 0) {
        qsort(listing->entries, listing->n, sizeof(*listing->entries), listing_compare);
    }
    ret->entries = listing->entries;
    ret->n = listing->n;
    ret->names = listing->names.data;
    listing->entries = NULL;
    listing->names = BYTES_NULL;
}

/* Gives listing->stream. 0, a negative errno, IO_BENEATH_E_*. */
static int listing_open(Listing *listing, const char *path, Diag *reterr_diag)
{
    int fd = -1;
    int r = beneath_find(listing->beneath, listing->folder,
                         O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOCTTY, &fd);

    if (r == 0) {
        listing->stream = fdopendir(fd);
        r = listing->stream == NULL ? -errno : 0;
        if (r != 0) {
            beneath_close(&fd);
        }
    }
    if (r == -ENOTDIR) {
        IoBeneathInfo info;

        r = io_beneath_look(listing->beneath, path, &info, reterr_diag);
        return r != 0 ? r : beneath_fail_kind(reterr_diag, IO_BENEATH_FILE, path);
    }
    return r == 0 ? 0 : beneath_fail(reterr_diag, r, "list", path);
}

int io_beneath_list(const IoBeneath *beneath, const char *path, size_t max_entries,
                    IoBeneathList *ret, Diag *reterr_diag)
{
    Listing listing = {.beneath = beneath};
    bool is_cut = false;
    int r = io_beneath_relative(beneath, path, &listing.folder, reterr_diag);

    if (r == 0) {
        r = listing_open(&listing, path, reterr_diag);
    }
    if (r != 0) {
        return r;
    }
    bytes_init(&listing.names, SIZE_MAX / 2);
    r = listing_read(&listing, max_entries, &is_cut);
    (void)closedir(listing.stream);
    if (r == 0) {
        listing_give(&listing, ret);
        ret->is_cut = is_cut;
    }
    listing.entries = mem_free(listing.entries);
    bytes_deinit(&listing.names);
    return r == 0 ? 0 : beneath_fail(reterr_diag, r, "list", path);
}

void io_beneath_list_deinit(IoBeneathList *list)
{
    (void)mem_free(list->entries);
    (void)mem_free(list->names);
    *list = IO_BENEATH_LIST_NULL;
}
