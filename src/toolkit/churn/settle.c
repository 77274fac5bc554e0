/* The end of a history (history.h): files that turned out to be one are joined, authors numbered by
 * name. */
#include "toolkit/churn/history.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"

/* Adds what a file had under another name, of which no commit says that it was the same. */
static void settle_join(ChurnFileState *into, const ChurnFileState *from)
{
    into->commits += from->commits;
    into->binary_commits += from->binary_commits;
    into->additions += from->additions;
    into->deletions += from->deletions;
    into->first_s = from->first_s < into->first_s ? from->first_s : into->first_s;
    into->last_s = from->last_s > into->last_s ? from->last_s : into->last_s;
}

static void settle_links(ChurnHistory *history)
{
    for (size_t i = 0; i < history->n_files; i++) {
        uint32_t root = churn_history_root(history, (uint32_t)i);

        if (root != i) {
            settle_join(&history->files[root], &history->files[i]);
        }
    }
    for (size_t i = 0; i < history->shares.n; i++) {
        history->shares.items[i].thing =
            churn_history_root(history, history->shares.items[i].thing);
    }
    for (size_t i = 0; i < history->pairs.n; i++) {
        ChurnPair *pair = &history->pairs.items[i];

        pair->a = churn_history_root(history, pair->a);
        pair->b = churn_history_root(history, pair->b);
    }
}

typedef struct SettleAuthor {
    Span name;
    uint32_t id;
    ChurnAuthorState state;
} SettleAuthor;

static int settle_by_name(const void *x, const void *y)
{
    const SettleAuthor *a = x;
    const SettleAuthor *b = y;

    return span_compare(a->name, b->name);
}

static void settle_renumber(ChurnShares *shares, const uint32_t *numbers)
{
    for (size_t i = 0; i < shares->n; i++) {
        shares->items[i].author = numbers[shares->items[i].author];
    }
}

static int settle_authors(ChurnHistory *history)
{
    size_t n = history->authors.n;
    CLEANUP(mem_freep) SettleAuthor *sorted = mem_alloc_array(n + 1, sizeof(*sorted));
    CLEANUP(mem_freep) uint32_t *numbers = mem_alloc_array(n + 1, sizeof(*numbers));

    if (sorted == NULL || numbers == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        sorted[i] =
            (SettleAuthor){history->authors.items[i], (uint32_t)i, history->author_states[i]};
    }
    qsort(sorted, n, sizeof(*sorted), settle_by_name);
    for (size_t i = 0; i < n; i++) {
        numbers[sorted[i].id] = (uint32_t)i;
        history->authors.items[i] = sorted[i].name;
        history->author_states[i] = sorted[i].state;
    }
    churn_index_deinit(&history->authors.index);
    settle_renumber(&history->shares, numbers);
    settle_renumber(&history->folder_shares, numbers);
    return 0;
}

/* What the files of a folder, and of those inside it, come to. */
static void settle_folders(ChurnHistory *history)
{
    for (size_t i = 0; i < history->n_files; i++) {
        const ChurnFileState *file = &history->files[i];

        if (file->link != CHURN_NONE) {
            continue;
        }
        for (uint32_t k = file->folder; k != CHURN_NONE; k = history->folder_states[k].parent) {
            history->folder_states[k].files++;
            history->folder_states[k].additions += file->additions;
            history->folder_states[k].deletions += file->deletions;
        }
    }
}

int churn_history_settle(ChurnHistory *history)
{
    int r = history->n_links > 0 && history->has_trail ? churn_history_recount_folders(history) : 0;

    /* The trail has the numbers that authors had until now. */
    r = r != 0 ? r : settle_authors(history);
    if (r != 0) {
        return err_pass(r);
    }
    settle_links(history);
    settle_folders(history);
    churn_shares_settle(&history->shares);
    churn_shares_settle(&history->folder_shares);
    churn_pairs_settle(&history->pairs);
    for (size_t i = 0; i < history->shares.n; i++) {
        history->author_states[history->shares.items[i].author].files++;
    }
    return 0;
}
