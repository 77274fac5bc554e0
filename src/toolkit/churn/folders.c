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

int churn_history_touch_folder(ChurnHistory *history, uint32_t folder, uint32_t author,
                               uint32_t commit)
{
    int r = 0;

    /* All above one that has counted the commit have, too. */
    while (folder != CHURN_NONE && r == 0 && history->folder_states[folder].last_commit != commit) {
        history->folder_states[folder].last_commit = commit;
        history->folder_states[folder].commits++;
        r = churn_shares_add(&history->folder_shares, folder, author, 1, 0);
        folder = history->folder_states[folder].parent;
    }
    return err_pass(r);
}

/* ---- the trail ---- */

/* Seven bits a byte, the lowest first; the eighth says that more follow. */
static int folders_put_number(Bytes *out, uint32_t number)
{
    char bytes[5];
    size_t n = 0;

    for (; number >= 0x80; number >>= 7) {
        bytes[n++] = (char)(0x80 | (number & 0x7F));
    }
    bytes[n++] = (char)number;
    return bytes_append(out, bytes, n);
}

static uint32_t folders_take_number(Span *trail)
{
    uint32_t number = 0;
    unsigned shift = 0;

    while (trail->n > 0) {
        unsigned byte = (unsigned char)*trail->p;

        *trail = span_make(trail->p + 1, trail->n - 1);
        number |= (uint32_t)(byte & 0x7F) << shift;
        shift += 7;
        if (byte < 0x80) {
            break;
        }
    }
    return number;
}

int churn_history_leave_trail(ChurnHistory *history, uint32_t author, const uint32_t *files,
                              size_t n)
{
    int r = folders_put_number(&history->trail, author);

    r = r != 0 ? r : folders_put_number(&history->trail, (uint32_t)n);
    for (size_t i = 0; i < n && r == 0; i++) {
        r = folders_put_number(&history->trail, files[i]);
    }
    if (r == BYTES_E_FULL) {
        history->has_trail = false;
        history->is_trail_cut = true;
        bytes_deinit(&history->trail);
        return 0;
    }
    return err_pass(r);
}

int churn_history_recount_folders(ChurnHistory *history)
{
    Span trail = bytes_span(&history->trail);
    uint32_t commit = 0;
    int r = 0;

    for (size_t i = 0; i < history->folders.n; i++) {
        history->folder_states[i].commits = 0;
        history->folder_states[i].last_commit = 0;
    }
    churn_shares_deinit(&history->folder_shares);
    while (trail.n > 0 && r == 0) {
        uint32_t author = folders_take_number(&trail);
        uint32_t n = folders_take_number(&trail);

        commit++;
        for (uint32_t i = 0; i < n && r == 0; i++) {
            uint32_t file = churn_history_root(history, folders_take_number(&trail));

            r = churn_history_touch_folder(history, history->files[file].folder, author, commit);
        }
    }
    return err_pass(r);
}
