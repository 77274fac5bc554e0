/* io/folder.h: reads folders and files beneath one folder, and nothing outside of it.
 *
 * Paths are relative to the root, with '/' between names, none "." or ".."; no link is followed on
 * the way. A path that is another is -EINVAL. Thread: any; one IoFolder may be used by several
 * threads at once.
 */
#pragma once

#include "base/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct IoFolder IoFolder;

typedef enum IoFolderKind {
    IO_FOLDER_FILE, /* regular */
    IO_FOLDER_FOLDER,
    IO_FOLDER_LINK,
    IO_FOLDER_OTHER,
} IoFolderKind;

/* Another one when the file has been changed, as far as the system can tell. */
typedef struct IoFolderStamp {
    uint64_t size;
    int64_t mtime_ns; /* since 1970 */
    int64_t ctime_ns; /* of the last change of anything, which nobody can set; 0 on Windows */
    uint64_t inode;   /* and device: 0 on Windows */
    uint64_t device;
} IoFolderStamp;

typedef struct IoFolderEntry {
    char *name; /* one name, NUL-terminated; the list's */
    IoFolderKind kind;
    IoFolderStamp stamp;  /* of regular files */
    bool leads_to_folder; /* of links: there is a folder behind it now */
} IoFolderEntry;

typedef struct IoFolderList {
    IoFolderEntry *entries; /* by the bytes of their names */
    size_t n;
    char *names; /* where the names lie */
} IoFolderList;

#define IO_FOLDER_LIST_NULL ((IoFolderList){.entries = NULL})

/* path is followed, links too; it must be a folder. 0, -ENOMEM, another negative errno. Gives *ret.
 */
int io_folder_open(IoFolder **ret, const char *path);
IoFolder *io_folder_free(IoFolder *folder);

/* The absolute path without links (on Windows as it was given). Borrowed until free. */
const char *io_folder_path(const IoFolder *folder);

/* More things in one folder than this are -E2BIG: nobody has written them. */
#define IO_FOLDER_ENTRIES ((size_t)1024 * 1024)

/* What is in the folder at path ("" for the root itself). What goes while we look is not in the
 * list. 0, -ENOMEM, another negative errno (-ELOOP or -ENOTDIR for a link). *ret only on success.
 */
int io_folder_list(IoFolder *folder, const char *path, IoFolderList *ret);
void io_folder_list_deinit(IoFolderList *list);

/* Appends a regular file's content. ret_stamp (may be NULL): as of the open file. 0, a negative
 * errno (-ELOOP for a link, -EISDIR for a folder, -EINVAL for another thing), BYTES_E_FULL: more
 * than out may hold. On failure out is as it was. */
int io_folder_read(IoFolder *folder, const char *path, Bytes *out, IoFolderStamp *ret_stamp);

/* Appends at most n bytes of its beginning. BYTES_E_FULL: out may not hold n more. */
int io_folder_read_head(IoFolder *folder, const char *path, size_t n, Bytes *out);

/* Appends where the link at path leads to: its words, not followed. 0, a negative errno (-EINVAL:
 * it is no link), BYTES_E_FULL. */
int io_folder_read_link(IoFolder *folder, const char *path, Bytes *out);
