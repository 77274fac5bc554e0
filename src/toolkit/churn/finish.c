/* From what the commits came to, to what is told (churn_impl.h). */
#include "toolkit/churn/churn_impl.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "toolkit/churn/score.h"
#include "toolkit/kind.h"

#define FINISH_TOP        10
#define FINISH_HOT_ABOVE  0.5
#define FINISH_COLD_BELOW 0.1

static const char *finish_flag(Span path)
{
    switch (toolkit_kind_of_path(path).kind) {
    case TOOLKIT_KIND_VENDORED:
        return "vendored";
    case TOOLKIT_KIND_GENERATED:
        return "generated";
    case TOOLKIT_KIND_MINIFIED:
        return "minified";
    case TOOLKIT_KIND_LOCK:
        return "lock";
    case TOOLKIT_KIND_SOURCE:
    case TOOLKIT_KIND_BINARY:
        break;
    }
    return NULL;
}

static uint64_t finish_changes(const ChurnFile *file)
{
    return file->additions + file->deletions;
}

static int finish_old_names(Churn *churn, const ChurnFileState *state, ChurnFile *file)
{
    const ChurnHistory *history = &churn->history;
    Span *names;

    for (uint32_t i = state->old_name; i != CHURN_NONE; i = history->old_names[i].next) {
        file->n_old_names++;
    }
    if (file->n_old_names == 0) {
        return 0;
    }
    names = arena_alloc_array(&churn->arena, file->n_old_names, sizeof(*names));
    if (names == NULL) {
        return err_raise(-ENOMEM);
    }
    file->old_names = names;
    for (uint32_t i = state->old_name; i != CHURN_NONE; i = history->old_names[i].next) {
        *names++ = history->names.items[history->old_names[i].name];
    }
    return 0;
}

/* The shares lie by file, best author first; *at moves over those of this one. */
static void finish_authors(Churn *churn, uint32_t id, size_t *at, ChurnFile *file)
{
    const ChurnHistory *history = &churn->history;

    file->authors = &churn->authors[*at];
    for (; *at < history->shares.n && history->shares.items[*at].thing == id; (*at)++) {
        const ChurnShare *share = &history->shares.items[*at];

        churn->authors[*at] =
            (ChurnAuthor){history->authors.items[share->author], share->commits, share->changes};
        file->n_authors++;
    }
    if (file->n_authors > 0 && file->commits > 0) {
        file->ownership = (double)file->authors[0].commits / (double)file->commits;
    }
}

static int finish_files(Churn *churn)
{
    const ChurnHistory *history = &churn->history;
    size_t at = 0;

    churn->files = arena_alloc_array(&churn->arena, history->n_files + 1, sizeof(*churn->files));
    churn->authors =
        arena_alloc_array(&churn->arena, history->shares.n + 1, sizeof(*churn->authors));
    if (churn->files == NULL || churn->authors == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < history->n_files; i++) {
        const ChurnFileState *state = &history->files[i];
        ChurnFile *file = &churn->files[churn->n_files];
        int r;

        if (state->link != CHURN_NONE) {
            continue;
        }
        *file = (ChurnFile){
            .path = history->names.items[state->name],
            .commits = state->commits,
            .binary_commits = state->binary_commits,
            .additions = state->additions,
            .deletions = state->deletions,
            .first_seen_s = state->first_s,
            .last_modified_s = state->last_s,
            .is_deleted = state->is_deleted,
        };
        file->flag = finish_flag(file->path);
        finish_authors(churn, (uint32_t)i, &at, file);
        r = finish_old_names(churn, state, file);
        if (r != 0) {
            return err_pass(r);
        }
        churn->additions += file->additions;
        churn->deletions += file->deletions;
        churn->n_files++;
    }
    return 0;
}

/* Both numbers of every file, and places in `sorted`, room for as many values as files. */
static void finish_scores(Churn *churn, uint64_t *commits, uint64_t *changes)
{
    size_t n = churn->n_files;
    bool has_lines = !churn->options.without_lines;

    for (size_t i = 0; i < n; i++) {
        commits[i] = churn->files[i].commits;
        changes[i] = finish_changes(&churn->files[i]);
    }
    churn_rank_sort(commits, n);
    churn_rank_sort(changes, n);
    for (size_t i = 0; i < n; i++) {
        ChurnFile *file = &churn->files[i];
        double rank = churn_rank(commits, n, file->commits);

        if (has_lines) {
            rank = (rank + churn_rank(changes, n, finish_changes(file))) / 2;
        }
        file->robust_rank = rank;
        file->churn_score = churn_score(file->commits, (uint32_t)commits[n - 1],
                                        finish_changes(file), changes[n - 1]);
    }
}

static int finish_by_score(const void *x, const void *y)
{
    const ChurnFile *a = x;
    const ChurnFile *b = y;

    if (a->churn_score != b->churn_score) {
        return a->churn_score > b->churn_score ? -1 : 1;
    }
    return span_compare(a->path, b->path);
}

static int finish_rank(Churn *churn)
{
    CLEANUP(mem_freep) uint64_t *commits = mem_alloc_array(churn->n_files + 1, sizeof(*commits));
    CLEANUP(mem_freep) uint64_t *changes = mem_alloc_array(churn->n_files + 1, sizeof(*changes));
    const ChurnHistory *history = &churn->history;

    churn->places = arena_alloc(&churn->arena, (history->n_files + 1) * sizeof(*churn->places));
    if (commits == NULL || changes == NULL || churn->places == NULL) {
        return err_raise(-ENOMEM);
    }
    memset(churn->places, 0xFF, history->n_files * sizeof(*churn->places));
    finish_scores(churn, commits, changes);
    qsort(churn->files, churn->n_files, sizeof(*churn->files), finish_by_score);
    for (size_t i = 0; i < churn->n_files; i++) {
        uint32_t name = churn_texts_find(&history->names, churn->files[i].path);

        churn->places[history->name_states[name].own] = (uint32_t)i;
    }
    return 0;
}

typedef struct FinishAuthor {
    uint32_t id;
    uint32_t files;
} FinishAuthor;

static int finish_author_by_files(const void *x, const void *y)
{
    const FinishAuthor *a = x;
    const FinishAuthor *b = y;

    if (a->files != b->files) {
        return a->files > b->files ? -1 : 1;
    }
    return a->id < b->id ? -1 : a->id > b->id;
}

static int finish_author_order(Churn *churn)
{
    size_t n = churn->history.authors.n;
    CLEANUP(mem_freep) FinishAuthor *sorted = mem_alloc_array(n + 1, sizeof(*sorted));

    churn->by_files = arena_alloc_array(&churn->arena, n + 1, sizeof(*churn->by_files));
    if (sorted == NULL || churn->by_files == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        sorted[i] = (FinishAuthor){(uint32_t)i, churn->history.author_states[i].files};
    }
    qsort(sorted, n, sizeof(*sorted), finish_author_by_files);
    for (size_t i = 0; i < n; i++) {
        churn->by_files[i] = sorted[i].id;
    }
    return 0;
}

static int finish_folder_by_commits(const void *x, const void *y)
{
    const ChurnFolder *a = x;
    const ChurnFolder *b = y;

    if (a->state->commits != b->state->commits) {
        return a->state->commits > b->state->commits ? -1 : 1;
    }
    return span_compare(a->path, b->path);
}

static int finish_folders(Churn *churn)
{
    const ChurnHistory *history = &churn->history;
    size_t n = history->folders.n;

    churn->folders = arena_alloc_array(&churn->arena, n + 1, sizeof(*churn->folders));
    if (churn->folders == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        churn->folders[i] =
            (ChurnFolder){.path = history->folders.items[i], .state = &history->folder_states[i]};
    }
    for (size_t i = 0; i < history->folder_shares.n; i++) {
        const ChurnShare *share = &history->folder_shares.items[i];
        ChurnFolder *folder = &churn->folders[share->thing];

        if (folder->n_authors++ == 0) {
            folder->owner = history->authors.items[share->author];
            folder->ownership = (double)share->commits / (double)folder->state->commits;
        }
    }
    /* A folder whose files all turned out to be others' has none. */
    for (size_t i = 0; i < n; i++) {
        if (history->folder_states[i].files > 0) {
            churn->folders[churn->n_folders++] = churn->folders[i];
        }
    }
    qsort(churn->folders, churn->n_folders, sizeof(*churn->folders), finish_folder_by_commits);
    return 0;
}

static int finish_pair_by_support(const void *x, const void *y)
{
    const ChurnCoChange *a = x;
    const ChurnCoChange *b = y;
    double share_a = a->share_of_a + a->share_of_b;
    double share_b = b->share_of_a + b->share_of_b;

    if (a->support != b->support) {
        return a->support > b->support ? -1 : 1;
    }
    if (share_a != share_b) {
        return share_a > share_b ? -1 : 1;
    }
    if (!span_equals(a->a->path, b->a->path)) {
        return span_compare(a->a->path, b->a->path);
    }
    return span_compare(a->b->path, b->b->path);
}

static int finish_pairs(Churn *churn)
{
    const ChurnPairs *pairs = &churn->history.pairs;
    CLEANUP(mem_freep) ChurnCoChange *all = mem_alloc_array(pairs->n + 1, sizeof(*all));
    size_t n = pairs->n < churn->options.n_pairs ? pairs->n : churn->options.n_pairs;

    churn->co_changes = arena_alloc_array(&churn->arena, n + 1, sizeof(*churn->co_changes));
    if (all == NULL || churn->co_changes == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < pairs->n; i++) {
        const ChurnFile *a = &churn->files[churn->places[pairs->items[i].a]];
        const ChurnFile *b = &churn->files[churn->places[pairs->items[i].b]];
        const ChurnFile *first = span_compare(a->path, b->path) < 0 ? a : b;
        uint32_t support = pairs->items[i].support;

        b = first == a ? b : a;
        all[i] = (ChurnCoChange){first, b, support, (double)support / (double)first->commits,
                                 (double)support / (double)b->commits};
    }
    qsort(all, pairs->n, sizeof(*all), finish_pair_by_support);
    memcpy(churn->co_changes, all, n * sizeof(*all));
    churn->n_co_changes = n;
    return 0;
}

int churn_finish(Churn *churn)
{
    int r = churn_history_settle(&churn->history);

    if (r == 0) {
        r = finish_files(churn);
    }
    if (r == 0) {
        r = finish_rank(churn);
    }
    if (r == 0) {
        r = finish_author_order(churn);
    }
    if (r == 0) {
        r = finish_folders(churn);
    }
    if (r == 0) {
        r = finish_pairs(churn);
    }
    return err_pass(r);
}

/* ---- looking at it ---- */

bool churn_has_lines(const Churn *churn)
{
    return !churn->options.without_lines;
}

const ChurnRepository *churn_repository(const Churn *churn)
{
    return &churn->repository;
}

size_t churn_n_files(const Churn *churn)
{
    return churn->n_files;
}

const ChurnFile *churn_file_at(const Churn *churn, size_t i)
{
    return &churn->files[i];
}

const ChurnFile *churn_file_find(const Churn *churn, Span path)
{
    const ChurnHistory *history = &churn->history;
    uint32_t name = churn_texts_find(&history->names, path);
    uint32_t file = name == CHURN_NONE ? CHURN_NONE : history->name_states[name].own;

    if (file == CHURN_NONE || churn->places[file] == CHURN_NONE) {
        return NULL;
    }
    return &churn->files[churn->places[file]];
}

size_t churn_told_begin(const Churn *churn)
{
    return churn->options.offset < churn->n_files ? churn->options.offset : churn->n_files;
}

size_t churn_told_end(const Churn *churn)
{
    size_t begin = churn_told_begin(churn);
    size_t limit = churn->options.limit == 0 ? SIZE_MAX : churn->options.limit;

    return limit < churn->n_files - begin ? begin + limit : churn->n_files;
}

size_t churn_hotspots(const Churn *churn, const ChurnFile *out[10])
{
    size_t n = 0;

    for (size_t i = 0; i < churn->n_files && i < FINISH_TOP; i++) {
        if (churn->files[i].churn_score > FINISH_HOT_ABOVE) {
            out[n++] = &churn->files[i];
        }
    }
    return n;
}

size_t churn_stable(const Churn *churn, const ChurnFile *out[10])
{
    size_t n = 0;

    for (size_t i = 0; i < churn->n_files && i < FINISH_TOP; i++) {
        const ChurnFile *file = &churn->files[churn->n_files - 1 - i];

        if (file->churn_score < FINISH_COLD_BELOW) {
            out[n++] = file;
        }
    }
    return n;
}
