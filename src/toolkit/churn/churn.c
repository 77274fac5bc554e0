#include "toolkit/churn/churn.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "toolkit/churn/churn_impl.h"

/* Copies of what was given, and the result: some hundred bytes a file. */
#define CHURN_ARENA_BYTES ((size_t)4 * 1024 * 1024 * 1024 - 1)

/* Commits with unknown lines that a second run may ask for: 41 or 65 bytes each, and 16 for each of
 * their files. With more of them, the log is read again from the beginning. */
#define CHURN_OPEN_BYTES ((size_t)16 * 1024 * 1024)

static int churn_copy_span(Arena *arena, Span from, Span *ret)
{
    *ret = arena_copy(arena, from);
    return ret->p == NULL ? err_raise(-ENOMEM) : 0;
}

static int churn_copy_paths(Churn *churn, const char *const *paths)
{
    size_t n = 0;
    const char **copy;

    while (paths[n] != NULL) {
        n++;
    }
    copy = arena_alloc_array(&churn->arena, n + 1, sizeof(*copy));
    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        copy[i] = arena_copy(&churn->arena, span_from_str(paths[i])).p;
        if (copy[i] == NULL) {
            return err_raise(-ENOMEM);
        }
    }
    churn->options.paths = n == 0 ? NULL : copy;
    return 0;
}

static int churn_copy(Churn *churn, const ChurnOptions *options, const ChurnRepository *repository)
{
    int r = churn_copy_span(&churn->arena, repository->root, &churn->repository.root);

    if (r == 0) {
        r = churn_copy_span(&churn->arena, repository->prefix, &churn->repository.prefix);
    }
    if (r == 0) {
        r = churn_copy_span(&churn->arena, repository->head, &churn->repository.head);
    }
    if (r == 0) {
        r = churn_copy_span(&churn->arena, repository->base, &churn->repository.base);
    }
    if (r == 0 && options->rev != NULL) {
        churn->options.rev = arena_copy(&churn->arena, span_from_str(options->rev)).p;
        r = churn->options.rev == NULL ? err_raise(-ENOMEM) : 0;
    }
    if (r == 0 && options->paths != NULL) {
        r = churn_copy_paths(churn, options->paths);
    }
    return err_pass(r);
}

int churn_new(Churn **ret, const ChurnOptions *options, const ChurnRepository *repository,
              ChurnTable *table)
{
    Churn *churn = mem_alloc_array(1, sizeof(*churn));
    int r;

    if (churn == NULL) {
        return err_raise(-ENOMEM);
    }
    churn->options = *options;
    churn->repository = *repository;
    churn->table = options->without_lines ? NULL : table;
    churn->elapsed_us = -1;
    arena_init(&churn->arena, CHURN_ARENA_BYTES);
    bytes_init(&churn->open, CHURN_OPEN_BYTES);
    churn_log_init(&churn->log, CHURN_LOG_PLAIN);
    churn_history_init(&churn->history, options);
    atomic_init(&churn->n_read, 0);
    r = churn_copy(churn, options, repository);
    if (r != 0) {
        (void)churn_free(churn);
        return err_pass(r);
    }
    if (churn->table != NULL) {
        churn_table_begin(churn->table);
    }
    churn->has_lines =
        !options->without_lines && (churn->table == NULL || churn_table_size(churn->table) == 0);
    /* Git knows no time before 1970, and without a commit there is no HEAD to begin at. */
    if ((options->rev == NULL && repository->head.n == 0) || options->until_s < 0) {
        churn->phase = CHURN_PHASE_END;
    }
    *ret = churn;
    return 0;
}

Churn *churn_free(Churn *churn)
{
    if (churn != NULL) {
        churn_history_deinit(&churn->history);
        churn_log_deinit(&churn->log);
        bytes_deinit(&churn->open);
        (void)mem_free(churn->changes);
        (void)mem_free(churn->pending);
        (void)mem_free(churn->argv);
        arena_deinit(&churn->arena);
    }
    return mem_free(churn);
}

void churn_set_elapsed(Churn *churn, int64_t elapsed_us)
{
    churn->elapsed_us = elapsed_us;
}

int64_t churn_elapsed(const Churn *churn)
{
    return churn->elapsed_us;
}

size_t churn_n_commits(const Churn *churn)
{
    return atomic_load_explicit(&churn->n_read, memory_order_relaxed);
}

int churn_next_run(Churn *churn, ChurnRun *ret, bool *ret_is_one)
{
    ChurnLogForm form = churn->repository.is_shallow ? CHURN_LOG_DECORATED : CHURN_LOG_PLAIN;
    int r;

    if (churn->phase == CHURN_PHASE_LINES && churn->n_pending == 0) {
        churn->phase = CHURN_PHASE_TREE;
    }
    if (churn->phase == CHURN_PHASE_TREE && churn->history.n_links == 0) {
        churn->phase = CHURN_PHASE_END;
    }
    *ret_is_one = false;
    if (churn->phase == CHURN_PHASE_END) {
        return 0;
    }
    r = churn_make_argv(churn);
    if (r != 0) {
        return err_pass(r);
    }
    churn_log_deinit(&churn->log);
    churn_log_init(&churn->log, churn->phase == CHURN_PHASE_TREE ? CHURN_LOG_NAMES : form);
    ret->argv = churn->argv;
    ret->input = churn->phase == CHURN_PHASE_LINES ? bytes_span(&churn->open) : SPAN_NULL;
    *ret_is_one = true;
    return 0;
}

/* What the log says, in this module's words. */
static int churn_outcome(int r, Diag *reterr_diag)
{
    if (r != CHURN_LOG_E_FORMAT) {
        return err_pass(r);
    }
    if (reterr_diag != NULL) {
        reterr_diag->code = CHURN_E_FORMAT;
    }
    return CHURN_E_FORMAT;
}

int churn_feed(Churn *churn, const char *p, size_t n, Diag *reterr_diag)
{
    int r;

    if (churn->is_over) {
        return 0;
    }
    r = churn_log_feed(&churn->log, p, n);
    while (r == 0) {
        ChurnLogEvent event;

        r = churn_log_next(&churn->log, &event, reterr_diag);
        if (r == CHURN_LOG_E_AGAIN) {
            return 0;
        }
        if (r == 0) {
            r = churn_take(churn, &event, reterr_diag);
            if (r != 0) {
                return r < 0 ? err_pass(r) : r;
            }
        }
    }
    return churn_outcome(r, reterr_diag);
}

/* All that was read is forgotten; it comes again, with lines. */
static void churn_start_again(Churn *churn)
{
    churn_history_deinit(&churn->history);
    churn_history_init(&churn->history, &churn->options);
    bytes_clear_keep(&churn->open, 0);
    churn->n_open = 0;
    churn->n_pending = 0;
    churn->n_changes = 0;
    churn->n_cut = 0;
    churn->in_commit = false;
    churn->is_over = false;
    churn->has_lines = true;
    atomic_store_explicit(&churn->n_read, 0, memory_order_relaxed);
}

/* Every pair that was open must have been told about: a number is measured or it is not there. */
static int churn_end_lines(Churn *churn, Diag *reterr_diag)
{
    if (churn->at_pending < churn->n_pending) {
        return diag_set(reterr_diag, CHURN_E_FORMAT,
                        "git did not tell the lines of a commit that it had told before");
    }
    return 0;
}

int churn_end_run(Churn *churn, Diag *reterr_diag)
{
    int r;

    if (churn->is_over) {
        churn_start_again(churn);
        return 0;
    }
    r = churn_log_finish(&churn->log, reterr_diag);
    if (r == 0) {
        r = churn_take_commit(churn);
    }
    if (r != 0) {
        return churn_outcome(r, reterr_diag);
    }
    /* The last commit may have been one too many. */
    if (churn->is_over) {
        churn_start_again(churn);
        return 0;
    }
    if (churn->phase == CHURN_PHASE_LINES) {
        r = churn_end_lines(churn, reterr_diag);
        if (r != 0) {
            return r;
        }
    }
    churn->phase = (ChurnPhase)(churn->phase + 1);
    return 0;
}
