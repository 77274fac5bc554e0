/* Records of a log to commits, commits to the history (churn_impl.h). */
#include "toolkit/churn/churn_impl.h"

#include <string.h>

#include "base/error.h"

/* Changes whose lines a second run may be asked for, 16 bytes each (see CHURN_OPEN_BYTES). */
#define TAKE_MAX_PENDING ((size_t)1 << 20)

static int take_format(Churn *churn, Diag *reterr_diag, const char *what)
{
    int r = diag_set(reterr_diag, CHURN_E_FORMAT, "git printed %s in commit %.*s", what,
                     (int)churn->n_id, churn->id);

    if (reterr_diag != NULL) {
        reterr_diag->offset = (size_t)churn->log.offset;
    }
    return r;
}

/* ---- the first run ---- */

static int take_open_full(Churn *churn, int r)
{
    if (r == BYTES_E_FULL) {
        churn->is_over = true;
        return 0;
    }
    return err_pass(r);
}

/* Remembers the commit's changes whose lines are not known. */
static int take_pending(Churn *churn)
{
    bool is_open = false;

    for (size_t i = 0; i < churn->n_changes; i++) {
        const ChurnChange *change = &churn->changes[i];
        int r;

        if (change->is_known || change->is_submodule) {
            continue;
        }
        if (churn->n_pending >= TAKE_MAX_PENDING) {
            churn->is_over = true;
            return 0;
        }
        r = churn_grow(&churn->pending, &churn->cap_pending, churn->n_pending,
                       sizeof(*churn->pending));
        if (r != 0) {
            return err_pass(r);
        }
        churn->pending[churn->n_pending++] =
            (ChurnPending){churn->n_open, (uint32_t)i, change->file, churn->author};
        is_open = true;
    }
    if (is_open) {
        int r = bytes_append(&churn->open, churn->id, churn->n_id);

        if (r == 0) {
            r = bytes_append_byte(&churn->open, '\n');
        }
        churn->n_open++;
        return take_open_full(churn, r);
    }
    return 0;
}

/* What git counted goes into the table. */
static int take_learn(Churn *churn)
{
    int r = 0;

    for (size_t i = 0; i < churn->n_changes && r == 0; i++) {
        ChurnChange *change = &churn->changes[i];

        if (!change->is_submodule) {
            change->is_known = true;
            if (churn->table != NULL) {
                r = churn_table_put(churn->table, change->key, change->lines);
            }
        }
    }
    return err_pass(r);
}

static int take_log_commit(Churn *churn)
{
    int r = churn->has_lines ? take_learn(churn) : 0;

    if (r == 0) {
        r = churn_history_commit(&churn->history, churn->author, churn->author_s, churn->changes,
                                 churn->n_changes);
    }
    if (r == 0 && !churn->has_lines && !churn->options.without_lines) {
        r = take_pending(churn);
    }
    atomic_fetch_add_explicit(&churn->n_read, 1, memory_order_relaxed);
    return err_pass(r);
}

/* ---- the second run ---- */

/* The place of a commit in the list that was asked for, from at_open on; n_open: not in it. */
static uint32_t take_find_open(const Churn *churn)
{
    size_t line = churn->n_id + 1;
    size_t at = churn->at_open * line;

    for (uint32_t i = churn->at_open; i < churn->n_open; i++, at += line) {
        if (at + line <= churn->open.n &&
            memcmp(churn->open.data + at, churn->id, churn->n_id) == 0) {
            return i;
        }
    }
    return churn->n_open;
}

static int take_lines_commit(Churn *churn)
{
    uint32_t open = take_find_open(churn);
    int r = take_learn(churn);

    /* Pending ones before it belong to commits that were not told: churn_end_run finds that. */
    while (r == 0 && churn->at_pending < churn->n_pending &&
           churn->pending[churn->at_pending].commit == open) {
        const ChurnPending *pending = &churn->pending[churn->at_pending];

        if (pending->change >= churn->n_changes) {
            break;
        }
        r = churn_history_lines(&churn->history, pending->file, pending->author,
                                churn->changes[pending->change].lines);
        churn->at_pending++;
    }
    churn->at_open = open < churn->n_open ? open + 1 : churn->at_open;
    return err_pass(r);
}

int churn_take_commit(Churn *churn)
{
    int r = 0;

    if (churn->in_commit && churn->is_cut) {
        churn->n_cut += churn->phase == CHURN_PHASE_LOG;
    } else if (churn->in_commit && churn->phase == CHURN_PHASE_LOG) {
        r = take_log_commit(churn);
    } else if (churn->in_commit) {
        r = take_lines_commit(churn);
    }
    churn->in_commit = false;
    churn->n_changes = 0;
    churn->next_lines = 0;
    return err_pass(r);
}

/* ---- records ---- */

static int take_header(Churn *churn, const ChurnLogEvent *event)
{
    int r = churn_take_commit(churn);

    if (r == 0 && !event->is_cut) {
        r = churn_history_author(&churn->history, event->author, &churn->author);
    }
    if (r != 0) {
        return err_pass(r);
    }
    churn->in_commit = true;
    churn->is_cut = event->is_cut;
    churn->author_s = event->author_s;
    churn->n_id = event->id.n;
    memcpy(churn->id, event->id.p, event->id.n);
    return 0;
}

static int take_raw(Churn *churn, const ChurnLogEvent *event)
{
    ChurnChange change = {.old = CHURN_NONE,
                          .file = CHURN_NONE,
                          .status = event->status,
                          .is_submodule = event->is_submodule};
    int r =
        churn_grow(&churn->changes, &churn->cap_changes, churn->n_changes, sizeof(*churn->changes));

    if (r == 0) {
        r = churn_history_name(&churn->history, event->path, &change.name);
    }
    if (r == 0 && event->old.p != NULL) {
        r = churn_history_name(&churn->history, event->old, &change.old);
    }
    if (r != 0) {
        return err_pass(r);
    }
    if (churn->table != NULL && !change.is_submodule) {
        change.key = churn_key(event->blobs, event->path);
        change.is_known = !churn->has_lines && churn->phase == CHURN_PHASE_LOG &&
                          churn_table_get(churn->table, change.key, &change.lines);
    }
    churn->changes[churn->n_changes++] = change;
    return 0;
}

/* Lines come in the order of the changes. Git leaves out a change without any. */
static int take_lines(Churn *churn, const ChurnLogEvent *event, Diag *reterr_diag)
{
    while (churn->next_lines < churn->n_changes) {
        ChurnChange *change = &churn->changes[churn->next_lines++];

        if (span_equals(churn->history.names.items[change->name], event->path)) {
            change->lines = (ChurnLines){event->added, event->deleted, event->is_binary};
            return 0;
        }
    }
    return take_format(churn, reterr_diag, "lines of a file that it did not change");
}

int churn_take(Churn *churn, const ChurnLogEvent *event, Diag *reterr_diag)
{
    switch (event->kind) {
    case CHURN_LOG_COMMIT:
        return take_header(churn, event);
    case CHURN_LOG_RAW:
        return churn->is_cut ? 0 : take_raw(churn, event);
    case CHURN_LOG_LINES:
        return churn->is_cut ? 0 : take_lines(churn, event, reterr_diag);
    case CHURN_LOG_NAME:
        churn_history_is_there(&churn->history, event->path);
        return 0;
    }
    return 0;
}
