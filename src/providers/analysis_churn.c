/* The job that reads the history of a repository (analysis.h). */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "io/keep.h"
#include "providers/analysis.h"
#include "providers/analysis_impl.h"

/* Lines of pairs of blobs that are remembered for one repository: of some 200,000 commits, in 24
 * MiB, which are read at every call. */
#define CHURN_MAX_PAIRS   ((size_t)1024 * 1024)
#define CHURN_TABLE_BYTES ((size_t)64 * 1024 * 1024)

/* What is remembered of a repository; whatever goes wrong here, nothing is. The file begins with
 * what its numbers depend on beside the blobs (analysis_attributes). */
typedef struct Kept {
    ChurnTable *table; /* NULL: nothing */
    char *path;
    uint8_t attributes[16];
} Kept;

/* 0, ANALYSIS_E_CANCELLED. */
static int kept_open(Kept *kept, const AnalysisHistory *history, const AnalysisGit *git,
                     const AnalysisRepository *repository)
{
    const size_t n_head = sizeof(kept->attributes);
    Bytes data;
    int r;

    if (history->no_cache || history->options.without_lines || repository->head[0] == '\0') {
        return 0;
    }
    r = analysis_attributes(git, repository, kept->attributes);
    if (r != 0 ||
        analysis_kept_path(&kept->path, history->state, "churn",
                           span_from_str(repository->common)) != 0 ||
        churn_table_new(&kept->table, CHURN_MAX_PAIRS) != 0) {
        return r == ANALYSIS_E_CANCELLED ? r : 0;
    }
    bytes_init(&data, CHURN_TABLE_BYTES);
    if (io_keep_read(kept->path, &data) == 0 && data.n >= n_head &&
        memcmp(data.data, kept->attributes, n_head) == 0) {
        (void)churn_table_read(kept->table, span_make(data.data + n_head, data.n - n_head));
    }
    bytes_deinit(&data);
    return 0;
}

static void kept_write(const Kept *kept)
{
    Bytes data;

    if (kept->table == NULL || !churn_table_changed(kept->table)) {
        return;
    }
    bytes_init(&data, CHURN_TABLE_BYTES);
    if (bytes_append(&data, kept->attributes, sizeof(kept->attributes)) == 0 &&
        churn_table_write(kept->table, &data) == 0) {
        (void)io_keep_write(kept->path, bytes_span(&data));
    }
    bytes_deinit(&data);
}

static void kept_close(Kept *kept)
{
    kept->table = churn_table_free(kept->table);
    kept->path = mem_free(kept->path);
}

/* ---- runs of git ---- */

typedef struct Feed {
    Churn *churn;
    AnalysisWatch *watch;
    Diag *diag;
} Feed;

static int feed_on_output(void *context, const char *p, size_t n)
{
    const Feed *feed = context;
    int r = churn_feed(feed->churn, p, n, feed->diag);

    atomic_store(&feed->watch->done, churn_n_commits(feed->churn));
    return r;
}

/* What git printed is not what it should be: ours to say, since nobody else could. */
static int churn_format_failure(const Diag *diag, Diag *reterr_diag)
{
    return diag_set(reterr_diag, ANALYSIS_E_GIT, "git printed what is not understood: %s",
                    diag->message);
}

static int churn_run_once(Feed *feed, const AnalysisGit *git, const ChurnRun *run,
                          Diag *reterr_diag)
{
    Diag diag = DIAG_NULL;
    Diag from_git = DIAG_NULL;
    int r;

    feed->diag = &diag;
    r = analysis_git_run(
        git,
        &(AnalysisGitRun){
            .argv = run->argv, .input = run->input, .output = feed_on_output, .context = feed},
        &from_git);
    if (r == 0) {
        r = churn_end_run(feed->churn, &diag);
        atomic_store(&feed->watch->done, churn_n_commits(feed->churn));
        return r > 0 ? churn_format_failure(&diag, reterr_diag) : r;
    }
    /* Outcomes of both have the same numbers; only one of the two has words. */
    if (r > 0 && diag.message[0] != '\0') {
        return churn_format_failure(&diag, reterr_diag);
    }
    if (r > 0 && reterr_diag != NULL) {
        *reterr_diag = from_git;
    }
    return r;
}

static int churn_run_all(Churn *churn, const AnalysisGit *git, AnalysisWatch *watch,
                         Diag *reterr_diag)
{
    Feed feed = {.churn = churn, .watch = watch};
    bool is_one = true;
    int r = 0;

    while (r == 0) {
        ChurnRun run;

        r = churn_next_run(churn, &run, &is_one);
        if (r != 0 || !is_one) {
            break;
        }
        r = churn_run_once(&feed, git, &run, reterr_diag);
    }
    return r;
}

/* ---- the job ---- */

/* A file by its own name, whatever stars it has. */
#define CHURN_LITERAL ":(literal)"

typedef struct ChurnJob {
    AnalysisPlace place;
    AnalysisGit git;
    AnalysisRepository repository;
    Kept kept;
    char *file; /* pathspec */
    const char *paths[2];
} ChurnJob;

static int job_options(ChurnJob *job, const AnalysisHistory *history, ChurnOptions *ret)
{
    uint8_t random[16];
    int r = random_fill(random, sizeof(random));

    *ret = history->options;
    ret->seed = hash_seed_from(random);
    if (r == 0 && job->place.file != NULL) {
        size_t n = sizeof(CHURN_LITERAL) - 1;
        size_t n_file = strlen(job->place.file);

        job->file = mem_alloc(n + n_file + 1);
        if (job->file == NULL) {
            return err_raise(-ENOMEM);
        }
        memcpy(job->file, CHURN_LITERAL, n);
        memcpy(job->file + n, job->place.file, n_file + 1);
        job->paths[0] = job->file;
        ret->paths = job->paths;
    }
    return r;
}

/* The prefix is that of the folder, also in front of a single file. *ret_churn may be there though
 * it failed. */
static int job_read(ChurnJob *job, const ChurnOptions *options, AnalysisWatch *watch,
                    Churn **ret_churn, Diag *reterr_diag)
{
    const AnalysisRepository *repository = &job->repository;
    int r = churn_new(ret_churn, options,
                      &(ChurnRepository){.root = span_from_str(repository->root),
                                         .prefix = span_from_str(repository->prefix),
                                         .is_bare = repository->is_bare,
                                         .is_shallow = repository->is_shallow,
                                         .head = span_from_str(repository->head),
                                         .base = span_from_str(repository->base)},
                      job->kept.table);
    /* Without a commit there is no history that git could tell. */
    if (r == 0 && repository->head[0] != '\0') {
        r = churn_run_all(*ret_churn, &job->git, watch, reterr_diag);
    }
    return r;
}

/* What a partial clone has not got is not fetched. If that are blobs, all but lines can be told. */
static int job_run(ChurnJob *job, const AnalysisHistory *history, AnalysisWatch *watch,
                   Churn **ret_churn, Diag *reterr_diag)
{
    ChurnOptions options;
    int r = job_options(job, history, &options);

    r = r != 0 ? r : job_read(job, &options, watch, ret_churn, reterr_diag);
    if (r == ANALYSIS_E_GIT && job->repository.is_partial) {
        *ret_churn = churn_free(*ret_churn);
        options.without_blobs = true;
        options.without_lines = true;
        r = job_read(job, &options, watch, ret_churn, reterr_diag);
        (void)analysis_repository_explain(&job->repository, r, reterr_diag);
    }
    return r != 0 ? r : churn_finish(*ret_churn);
}

void analysis_set_period(ChurnOptions *options, int64_t now_s, int64_t days)
{
    int64_t end_s = options->until_s < INT64_MAX ? options->until_s : now_s;

    options->now_s = now_s;
    options->period_days = days;
    /* Both ends are counted in. */
    options->since_s = days == 0 ? INT64_MIN : end_s - days * 24 * 60 * 60 + 1;
}

int analysis_churn(const AnalysisHistory *history, AnalysisWatch *watch, Churn **ret,
                   Diag *reterr_diag)
{
    uint64_t start = clock_monotonic_ns();
    ChurnJob job = {.place = ANALYSIS_PLACE_NULL};
    Churn *churn = NULL;
    int r = analysis_place_open(&job.place, history->root, history->path, reterr_diag);

    if (r == 0) {
        r = analysis_git_init(&job.git, &job.place, io_folder_path(job.place.folder),
                              &watch->cancel);
    }
    if (r == 0) {
        r = analysis_repository_init(&job.repository, &job.git, history->options.rev, reterr_diag);
    }
    if (r == 0) {
        r = kept_open(&job.kept, history, &job.git, &job.repository);
    }
    if (r == 0) {
        r = job_run(&job, history, watch, &churn, reterr_diag);
    }
    if (r == 0) {
        kept_write(&job.kept);
        churn_set_elapsed(churn, (int64_t)((clock_monotonic_ns() - start) / 1000));
        *ret = churn;
        churn = NULL;
    }
    churn = churn_free(churn);
    kept_close(&job.kept);
    analysis_repository_deinit(&job.repository);
    analysis_git_deinit(&job.git);
    analysis_place_close(&job.place);
    mem_free(job.file);
    return r;
}

int analysis_prefix(const char *root, const char *path, AnalysisWatch *watch, char **ret,
                    Diag *reterr_diag)
{
    AnalysisPlace place = ANALYSIS_PLACE_NULL;
    AnalysisGit git = ANALYSIS_GIT_NULL;
    AnalysisRepository repository = ANALYSIS_REPOSITORY_NULL;
    int r = analysis_place_open(&place, root, path, reterr_diag);

    if (r == 0) {
        r = analysis_git_init(&git, &place, io_folder_path(place.folder), &watch->cancel);
    }
    if (r == 0) {
        r = analysis_repository_init(&repository, &git, NULL, reterr_diag);
    }
    if (r == 0) {
        *ret = repository.prefix;
        repository.prefix = NULL;
    }
    analysis_repository_deinit(&repository);
    analysis_git_deinit(&git);
    analysis_place_close(&place);
    return r;
}
