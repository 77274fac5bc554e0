/* Folders of the files, for the roll-up (history.h). */
#include "toolkit/churn/history.h"

#include "base/error.h"

/* Deeper folders count for the one at this depth: a path may consist of nothing but slashes. */
#define FOLDERS_MAX_DEPTH 64

/* The folder at the beginning of path, of n bytes, inside parent. */
static int folders_add(ChurnHistory *history, Span path, uint32_t parent, uint32_t *ret)
{
    size_t n = history->folders.n;
    int r = churn_grow(&history->folder_states, &history->cap_folders, n,
                       sizeof(*history->folder_states));

    if (r == 0) {
        r = churn_texts_add(&history->folders, NULL, path, ret);
    }
    if (r == 0 && *ret == n) {
        history->folder_states[n] = (ChurnFolderState){.parent = parent};
    }
    return err_pass(r);
}

int churn_history_folder(ChurnHistory *history, Span path, uint32_t *ret)
{
    size_t depth = 0;
    int r = folders_add(history, SPAN(""), CHURN_NONE, ret);

    for (size_t i = 0; i < path.n && r == 0 && depth < FOLDERS_MAX_DEPTH; i++) {
        if (path.p[i] == '/') {
            r = folders_add(history, span_make(path.p, i), *ret, ret);
            depth++;
        }
    }
    return err_pass(r);
}

int churn_history_touch_folder(ChurnHistory *history, uint32_t folder, uint32_t author)
{
    int r = 0;

    /* All above one that has counted the commit have, too. */
    while (folder != CHURN_NONE && r == 0 &&
           history->folder_states[folder].last_commit != history->n_commits) {
        history->folder_states[folder].last_commit = history->n_commits;
        history->folder_states[folder].commits++;
        r = churn_shares_add(&history->folder_shares, folder, author, 1, 0);
        folder = history->folder_states[folder].parent;
    }
    return err_pass(r);
}
