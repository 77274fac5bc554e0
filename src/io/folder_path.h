/* io/folder_path.h: what both implementations of io/folder.h share. Of these alone. Thread: any. */
#pragma once

#include "base/bytes.h"
#include "io/folder.h"

#include <stdbool.h>

/* Is it a path beneath a folder? On Windows a name may hold neither a backslash nor a colon. */
bool folder_path_is_safe(const char *path);

/* A list that is being made: the names one after the other, NUL-terminated, in one buffer. */
typedef struct FolderMaking {
    IoFolderEntry *entries;
    size_t n;
    size_t cap;
    Bytes names;
} FolderMaking;

void folder_making_init(FolderMaking *making);
void folder_making_deinit(FolderMaking *making);

/* The last of entries is then the new one. 0, -ENOMEM, -E2BIG. */
int folder_making_add(FolderMaking *making, const char *name, IoFolderKind kind,
                      IoFolderStamp stamp);

/* Sorts it; making is empty afterwards. */
void folder_making_give(FolderMaking *making, IoFolderList *ret);
