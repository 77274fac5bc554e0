/* Whether something beneath a folder has changed; declared in io/tree.h. Folders are taken from a
 * list that grows as they are found, so that their depth costs no stack. */
#include "io/tree.h"

#include <errno.h>
#include <string.h>

#include <uv.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "io/loop_internal.h"

/* All paths of the folders together. */
#define STATE_PATHS_BYTES ((size_t)16 * 1024 * 1024)

/* Nobody but us chooses what is hashed against it. */
#define STATE_SEED ((HashSeed){0x746f6f6c77697265u, 0x74656d706c617465u})

/* What a thing is known by. Hashed as bytes: no padding. */
typedef struct StateThing {
    uint64_t name;
    uint64_t inode;
    uint64_t size;
    int64_t modified_s;
    int64_t modified_ns;
    int64_t changed_s;
    int64_t changed_ns;
} StateThing;

typedef struct TreeWalk {
    Bytes folders; /* paths, each with a NUL behind it */
    size_t at;     /* the folder that is looked at */
    Bytes path;
    uint64_t sum; /* of things in any order */
    size_t n_left;
} TreeWalk;

static int walk_path(TreeWalk *walk, const char *folder, const char *name)
{
    int r;

    bytes_clear(&walk->path);
    r = bytes_append(&walk->path, folder, strlen(folder));
    r = r != 0 ? r : bytes_append_byte(&walk->path, '/');
    return r != 0 ? r : bytes_append(&walk->path, name, strlen(name) + 1);
}

/* The thing whose path is in walk->path. */
static int walk_thing(TreeWalk *walk)
{
    Span path = bytes_span(&walk->path);
    StateThing thing = {.name = hash_span(STATE_SEED, path)};
    uv_fs_t look;
    int r = 0;

    if (uv_fs_lstat(NULL, &look, path.p, NULL) == 0) {
        bool is_folder = (look.statbuf.st_mode & S_IFMT) == S_IFDIR;

        /* What is in a folder counts, not when it was changed: our own hidden files are in it. */
        if (!is_folder) {
            thing.inode = look.statbuf.st_ino;
            thing.size = look.statbuf.st_size;
            thing.modified_s = look.statbuf.st_mtim.tv_sec;
            thing.modified_ns = look.statbuf.st_mtim.tv_nsec;
            thing.changed_s = look.statbuf.st_ctim.tv_sec;
            thing.changed_ns = look.statbuf.st_ctim.tv_nsec;
        }
        walk->sum += hash_span(STATE_SEED, span_make((const char *)&thing, sizeof(thing)));
        if (is_folder) {
            r = bytes_append_span(&walk->folders, path);
        }
    }
    uv_fs_req_cleanup(&look);
    return r;
}

/* What editors and downloads put down for a moment: reading everything anew for it would be for
 * nothing. */
static bool name_is_passing(Span name)
{
    return name.p[0] == '.' || span_ends_with(name, SPAN("~")) ||
           span_ends_with(name, SPAN(".swp")) || span_ends_with(name, SPAN(".tmp"));
}

static int walk_folder(TreeWalk *walk, const char *folder)
{
    uv_dirent_t entry;
    uv_fs_t entries;
    int r = 0;

    if (uv_fs_scandir(NULL, &entries, folder, 0, NULL) < 0) {
        uv_fs_req_cleanup(&entries);
        return 0;
    }
    walk->sum++; /* an empty folder is something, too */
    /* To the end in any case: libuv frees the last one only when it is asked for another. */
    while (uv_fs_scandir_next(&entries, &entry) == 0) {
        if (r != 0 || walk->n_left == 0 || name_is_passing(span_from_str(entry.name))) {
            continue;
        }
        walk->n_left--;
        r = walk_path(walk, folder, entry.name);
        r = r != 0 ? r : walk_thing(walk);
    }
    uv_fs_req_cleanup(&entries);
    return r;
}

int io_tree_state(const char *root, uint64_t *ret)
{
    TreeWalk walk = {.n_left = IO_TREE_STATE_FILES};
    int r;

    bytes_init(&walk.folders, STATE_PATHS_BYTES);
    bytes_init(&walk.path, STATE_PATHS_BYTES);
    r = bytes_append(&walk.folders, root, strlen(root) + 1);
    while (r == 0 && walk.at < walk.folders.n) {
        /* A copy: the list moves when it grows. */
        size_t n = strlen(walk.folders.data + walk.at) + 1;
        CLEANUP(mem_freep) char *folder = mem_alloc(n);

        if (folder == NULL) {
            r = -ENOMEM;
            break;
        }
        memcpy(folder, walk.folders.data + walk.at, n);
        walk.at += n;
        r = walk_folder(&walk, folder);
    }
    if (r == BYTES_E_FULL) {
        r = 0; /* what was seen must do */
    }
    if (r == 0) {
        *ret = walk.sum;
    }
    bytes_deinit(&walk.folders);
    bytes_deinit(&walk.path);
    return r == 0 ? 0 : err_raise(r);
}
