/* toolkit/churn/history.h: what the commits come to: files under their present names, authors,
 * folders, pairs.
 *
 * Commits come newest first. A rename of old to new therefore says of which file older changes of
 * `old` are. Names are bound to files: a name that is met first makes a file of that name, a rename
 * binds the old name to the file of the new one, and all commits that follow (older ones) find it
 * there. Bindings change after all changes of a commit were counted, so files can swap names, and
 * an old name that was used again for another file keeps what is newer than the rename.
 *
 * On another branch somebody may still change the old name after the rename, by the clock, and no
 * commit says that it came to be there. Such a file is marked as probably the other (link);
 * whether it is, depends on whether it is still there. Thread: any, one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "toolkit/churn/pairs.h"
#include "toolkit/churn/shares.h"
#include "toolkit/churn/table.h"
#include "toolkit/churn/texts.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ChurnNameState {
    uint32_t bound; /* the file that this name means at the time that is read; CHURN_NONE: none */
    uint32_t own;   /* the file whose present name it is */
} ChurnNameState;

typedef struct ChurnFileState {
    uint32_t name;
    uint32_t folder; /* CHURN_NONE: not asked for */
    uint32_t commits;
    uint32_t binary_commits; /* changes of it that were binary */
    uint64_t additions;
    uint64_t deletions;
    int64_t first_s;
    int64_t last_s;
    uint32_t last_commit; /* that touched it: number from 1 */
    uint32_t old_name;    /* newest of its old names, in old_names; CHURN_NONE: none */
    uint32_t old_last;
    uint32_t link;   /* probably the same file as this one; CHURN_NONE: none */
    bool is_created; /* its creation, or a rename to its name, has been met */
    bool is_deleted; /* by its newest change */
} ChurnFileState;

typedef struct ChurnOldName {
    uint32_t name;
    uint32_t next; /* older; CHURN_NONE: none */
} ChurnOldName;

typedef struct ChurnFolderState {
    uint32_t parent; /* CHURN_NONE: this is the root */
    uint32_t commits;
    uint32_t last_commit;
    uint32_t files; /* the rest is set at the end */
    uint64_t additions;
    uint64_t deletions;
} ChurnFolderState;

typedef struct ChurnAuthorState {
    uint32_t commits;
    uint32_t files; /* set at the end */
} ChurnAuthorState;

/* One change of a commit. */
typedef struct ChurnChange {
    uint32_t name;
    uint32_t old;  /* CHURN_NONE: no rename */
    uint32_t file; /* set by churn_history_commit */
    char status;
    bool is_submodule;
    bool is_known; /* lines are */
    ChurnKey key;
    ChurnLines lines;
} ChurnChange;

typedef struct ChurnHistory {
    Arena arena; /* of the texts */
    bool has_folders;
    bool has_pairs;
    size_t max_commit_files;
    ChurnTexts names;
    ChurnNameState *name_states;
    size_t cap_names;
    ChurnFileState *files;
    size_t n_files;
    size_t cap_files;
    ChurnOldName *old_names;
    size_t n_old_names;
    size_t cap_old_names;
    ChurnTexts authors;
    ChurnAuthorState *author_states;
    size_t cap_authors;
    ChurnTexts folders;
    ChurnFolderState *folder_states;
    size_t cap_folders;
    ChurnShares shares;
    ChurnShares folder_shares;
    bool has_trail;
    bool is_trail_cut; /* there is none: it has become too long */
    Bytes trail; /* commit by commit its author and files, for folders that are counted anew */
    ChurnPairs pairs;
    uint32_t *touched; /* files of the commit */
    size_t cap_touched;
    uint32_t n_commits;
    size_t n_large; /* commits that made no pairs */
    size_t n_links;
} ChurnHistory;

/* n_pairs 0: none. Allocates nothing yet. */
void churn_history_init(ChurnHistory *history, const ChurnOptions *options);

/* May run twice. */
void churn_history_deinit(ChurnHistory *history);

/* The number of a name or author. 0, -ENOMEM. */
int churn_history_name(ChurnHistory *history, Span path, uint32_t *ret);
int churn_history_author(ChurnHistory *history, Span name, uint32_t *ret);

/* One commit with its changes; those whose lines are known are counted with them. Sets the file of
 * each (not of submodules). 0, -ENOMEM. */
int churn_history_commit(ChurnHistory *history, uint32_t author, int64_t author_s,
                         ChurnChange *changes, size_t n);

/* Lines that became known later. 0, -ENOMEM. */
int churn_history_lines(ChurnHistory *history, uint32_t file, uint32_t author, ChurnLines lines);

/* The folder of a path, made with all that it lies in. 0, -ENOMEM. */
int churn_history_folder(ChurnHistory *history, Span path, uint32_t *ret);

/* The commit (number from 1) touched the folder: it and all above count it, once. 0, -ENOMEM. */
int churn_history_touch_folder(ChurnHistory *history, uint32_t folder, uint32_t author,
                               uint32_t commit);

/* Remembers the files that a commit touched. 0, -ENOMEM. */
int churn_history_leave_trail(ChurnHistory *history, uint32_t author, const uint32_t *files,
                              size_t n);

/* Commits and authors of all folders anew, along the trail: a commit of a file that turned out to
 * be another counts for the folder of that one. 0, -ENOMEM. */
int churn_history_recount_folders(ChurnHistory *history);

/* The path is there, at the end: the file of that name is one of its own. */
void churn_history_is_there(ChurnHistory *history, Span path);

/* The file that a file turned out to be. */
uint32_t churn_history_root(const ChurnHistory *history, uint32_t file);

/* Joins the linked files, and numbers authors by their names. Only once, at the end. 0, -ENOMEM. */
int churn_history_settle(ChurnHistory *history);
