/* What has changed since a revision (analysis_impl.h): git lists the files with the blobs that they
 * were, and prints those; the files of today are read as always. A file that was renamed is
 * compared with itself: its old state has the new path. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/text.h"
#include "io/work.h"
#include "providers/analysis_impl.h"

/* Lists of git, for a change of a million files. */
#define SINCE_LIST_BYTES ((size_t)256 * 1024 * 1024)

/* Blobs for which one more child is worth its start. */
#define SINCE_BLOBS_PER_THREAD 16

/* What git writes before a blob: an id, a type, a size. */
#define SINCE_HEADER_BYTES ((size_t)256)

/* A file as it was. */
typedef struct SinceOld {
    Span path; /* its present one */
    Span name; /* its path then, which says its language */
    Span blob; /* id */
    bool is_ours;
    ComplexityCached what;
} SinceOld;

typedef struct Since {
    AnalysisWalk *walk;
    AnalysisGit git;
    AnalysisRepository repository;
    Bytes changes; /* paths point into it */
    Bytes untracked;
    SinceOld *olds;
    size_t n;
    size_t cap;
} Since;

/* ---- what changed ---- */

static int since_add_old(Since *since, Span path, Span name, Span blob)
{
    if (since->n == since->cap) {
        size_t cap = since->cap > 0 ? since->cap * 2 : 64;
        SinceOld *olds = mem_realloc(since->olds, cap * sizeof(*olds));

        if (olds == NULL) {
            return err_raise(-ENOMEM);
        }
        since->olds = olds;
        since->cap = cap;
    }
    since->olds[since->n++] = (SinceOld){.path = path, .name = name, .blob = blob};
    return 0;
}

/* A state of today. */
static int since_add_new(Since *since, Span path, const AnalysisVerdict *verdict)
{
    if (!verdict->is_wanted) {
        return complexity_report_skip(since->walk->report, path, verdict->reason,
                                      span_from_str(verdict->detail));
    }
    return analysis_walk_add(since->walk, path, &(IoFolderStamp){.size = 0});
}

static Span since_word(Span *text, char end)
{
    const char *at = text->n > 0 ? memchr(text->p, end, text->n) : NULL;
    size_t n = at == NULL ? text->n : (size_t)(at - text->p);
    Span word = span_make(text->p, n);

    *text = span_make(text->p + n + (at != NULL), text->n - n - (at != NULL));
    return word;
}

/* 100644, 100755: regular; links, submodules and nothing are not. */
static bool since_is_file(Span mode)
{
    return span_starts_with(mode, SPAN("100"));
}

/* :MODE MODE BLOB BLOB STATUS NUL PATH NUL, and with R a second path. */
static int since_take_change(Since *since, Span *text)
{
    Span head = since_word(text, '\0');
    Span old_mode;
    Span new_mode;
    Span blob;
    Span status;
    Span name;
    Span path;
    AnalysisVerdict verdict;
    int r = 0;

    old_mode = since_word(&head, ' ');
    old_mode = span_make(old_mode.p + 1, old_mode.n > 0 ? old_mode.n - 1 : 0);
    new_mode = since_word(&head, ' ');
    blob = since_word(&head, ' ');
    (void)since_word(&head, ' ');
    status = head;
    name = since_word(text, '\0');
    path =
        status.n > 0 && (status.p[0] == 'R' || status.p[0] == 'C') ? since_word(text, '\0') : name;
    verdict = analysis_judge(since->walk->files, path);
    /* U: unmerged; the same path comes once more with its change. */
    if (verdict.is_silent || path.n == 0 || (status.n > 0 && status.p[0] == 'U')) {
        return 0;
    }
    if (verdict.is_wanted && since_is_file(old_mode)) {
        r = since_add_old(since, path, name, blob);
    }
    if (r == 0 && since_is_file(new_mode)) {
        r = since_add_new(since, path, &verdict);
    }
    return r;
}

static int since_take_untracked(Since *since, Span path)
{
    AnalysisVerdict verdict = analysis_judge(since->walk->files, path);

    return verdict.is_silent || path.n == 0 ? 0 : since_add_new(since, path, &verdict);
}

static int since_list(Since *since, Diag *reterr_diag)
{
    /* No program that a configuration names is started for a comparison of names. */
    const char *const changes[] = {"git",
                                   "-c",
                                   "core.fsmonitor=false",
                                   "-c",
                                   "core.quotePath=false",
                                   "diff",
                                   "--raw",
                                   "-z",
                                   "--no-abbrev",
                                   "--no-ext-diff",
                                   "--no-textconv",
                                   "--no-color",
                                   "-M",
                                   "--relative",
                                   since->repository.head,
                                   "--",
                                   since->walk->place->file != NULL ? since->walk->place->file
                                                                    : ".",
                                   NULL};
    const char *const untracked[] = {"git",
                                     "-c",
                                     "core.fsmonitor=false",
                                     "ls-files",
                                     "-z",
                                     "--others",
                                     "--exclude-standard",
                                     "--",
                                     since->walk->place->file != NULL ? since->walk->place->file
                                                                      : ".",
                                     NULL};
    Span text;
    int r = analysis_git_read(&since->git, changes, &since->changes, reterr_diag);

    r = r != 0 ? r : analysis_git_read(&since->git, untracked, &since->untracked, reterr_diag);
    text = bytes_span(&since->changes);
    while (r == 0 && text.n > 0) {
        r = since_take_change(since, &text);
    }
    text = bytes_span(&since->untracked);
    while (r == 0 && text.n > 0) {
        r = since_take_untracked(since, since_word(&text, '\0'));
    }
    return r;
}

/* ---- how it was ---- */

/* One child that prints blobs: of olds[at], olds[at + step]… in this order. */
typedef struct SinceReader {
    Since *since;
    AnalysisMeter meter;
    size_t at;
    size_t step;
    Bytes header;
    uint64_t n_left; /* of the blob, and the newline behind it */
    uint64_t n_blob;
    bool in_blob;
    int r;
    Diag diag;
} SinceReader;

/* "ID blob SIZE" */
static int reader_take_header(SinceReader *reader)
{
    Span text = bytes_span(&reader->header);
    uint64_t size = 0;

    (void)since_word(&text, ' ');
    if (!span_equals(since_word(&text, ' '), SPAN("blob")) || text_parse_u64(text, &size) != 0) {
        return diag_set(&reader->diag, ANALYSIS_E_GIT,
                        "the state at that revision cannot be read: git says: %.*s",
                        (int)reader->header.n, reader->header.data);
    }
    reader->in_blob = true;
    reader->n_blob = size;
    reader->n_left = size + 1;
    bytes_clear(&reader->header);
    bytes_clear_keep(&reader->meter.text, COMPLEXITY_FILE_BYTES / 16);
    return 0;
}

static int reader_end_blob(SinceReader *reader)
{
    Since *since = reader->since;
    SinceOld *old = &since->olds[reader->at];
    bool is_fleeting;
    int r = 0;

    reader->in_blob = false;
    reader->at += reader->step;
    (void)atomic_fetch_add(&since->walk->watch->done, 1);
    if (reader->n_blob <= COMPLEXITY_FILE_BYTES) {
        r = analysis_measure(&reader->meter, since->walk->files, since->walk->watch, false,
                             old->name, bytes_span(&reader->meter.text), &old->what, &old->is_ours,
                             &is_fleeting);
    }
    return r;
}

/* Takes some of p; *ret_n says how much. */
static int reader_take(SinceReader *reader, const char *p, size_t n, size_t *ret_n)
{
    size_t n_text;
    int r = 0;

    if (!reader->in_blob) {
        const char *end = memchr(p, '\n', n);

        *ret_n = end == NULL ? n : (size_t)(end - p) + 1;
        r = bytes_append(&reader->header, p, *ret_n - (end != NULL));
        if (r != 0 || reader->at >= reader->since->n) {
            return err_raise(-EPROTO);
        }
        return end == NULL ? 0 : reader_take_header(reader);
    }
    *ret_n = n < reader->n_left ? n : (size_t)reader->n_left;
    /* The newline behind the blob is not its. */
    n_text = *ret_n == reader->n_left ? *ret_n - 1 : *ret_n;
    if (reader->n_blob <= COMPLEXITY_FILE_BYTES) {
        r = bytes_append(&reader->meter.text, p, n_text);
    }
    reader->n_left -= *ret_n;
    r = r != 0 ? err_fold(r) : 0;
    return r == 0 && reader->n_left == 0 ? reader_end_blob(reader) : r;
}

static int reader_on_output(void *context, const char *p, size_t n)
{
    int r = 0;

    while (r == 0 && n > 0) {
        size_t n_taken = 0;

        r = reader_take(context, p, n, &n_taken);
        p += n_taken;
        n -= n_taken;
    }
    return r;
}

static void reader_run(SinceReader *reader)
{
    static const char *const argv[] = {"git", "cat-file", "--batch", NULL};
    Since *since = reader->since;
    Bytes input;
    int r = 0;

    bytes_init(&input, SINCE_LIST_BYTES);
    for (size_t i = reader->at; r == 0 && i < since->n; i += reader->step) {
        r = bytes_append_span(&input, since->olds[i].blob);
        r = r != 0 ? r : bytes_append_byte(&input, '\n');
    }
    r = r != 0 ? err_fold(r)
               : analysis_git_run(&since->git,
                                  &(AnalysisGitRun){.argv = argv,
                                                    .input = bytes_span(&input),
                                                    .output = reader_on_output,
                                                    .context = reader},
                                  &reader->diag);
    if (r == 0 && reader->at < since->n) {
        r = diag_set(&reader->diag, ANALYSIS_E_GIT,
                     "the state at that revision cannot be read: git printed too little");
    }
    reader->r = r;
    bytes_deinit(&input);
}

static void since_on_thread(void *context, size_t i)
{
    SinceReader *readers = context;

    reader_run(&readers[i]);
}

static int since_add_before(const Since *since, ComplexityReport *before)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < since->n; i++) {
        const SinceOld *old = &since->olds[i];

        if (!old->is_ours) {
            continue;
        }
        r = old->what.is_skipped
                ? complexity_report_skip(before, old->path, old->what.reason, old->what.detail)
                : complexity_report_add(before, old->path, &old->what.file);
    }
    return err_pass(r);
}

/* Measures the old states, with as many children as threads. */
static int since_measure_old(Since *since, ComplexityReport *before, Diag *reterr_diag)
{
    size_t n = analysis_threads(since->walk->files,
                                (since->n + SINCE_BLOBS_PER_THREAD - 1) / SINCE_BLOBS_PER_THREAD);
    CLEANUP(mem_freep) SinceReader *readers = mem_alloc_array(n, sizeof(*readers));
    size_t n_made = 0;
    int r = readers == NULL ? err_raise(-ENOMEM) : 0;

    while (r == 0 && n_made < n) {
        SinceReader *reader = &readers[n_made];

        *reader = (SinceReader){.since = since, .at = n_made, .step = n, .diag = DIAG_NULL};
        bytes_init(&reader->header, SINCE_HEADER_BYTES);
        r = analysis_meter_init(&reader->meter);
        n_made++;
    }
    if (r == 0 && since->n > 0) {
        io_work_fan(n, since_on_thread, readers);
    }
    for (size_t i = 0; r == 0 && i < n_made; i++) {
        r = readers[i].r;
        if (r > 0 && reterr_diag != NULL) {
            *reterr_diag = readers[i].diag;
        }
    }
    r = r != 0 ? r : since_add_before(since, before);
    for (size_t i = 0; i < n_made; i++) {
        analysis_meter_deinit(&readers[i].meter);
        bytes_deinit(&readers[i].header);
    }
    return r;
}

static int since_run(Since *since, ComplexityReport *before, Diag *reterr_diag)
{
    AnalysisWalk *walk = since->walk;
    int r =
        analysis_repository_init(&since->repository, &since->git, walk->files->since, reterr_diag);

    if (r == 0 && !since->repository.has_work_tree) {
        return diag_set(reterr_diag, ANALYSIS_E_GIT,
                        "%s has no work tree: there is nothing to compare with a revision",
                        walk->files->path);
    }
    r = r != 0 ? r : since_list(since, reterr_diag);
    if (r != 0) {
        return r;
    }
    atomic_store(&walk->watch->total, walk->n + since->n);
    r = since_measure_old(since, before, reterr_diag);
    return r != 0 ? r : analysis_crew_run(walk, NULL, false);
}

int analysis_since(AnalysisWalk *walk, ComplexityReport *before, Diag *reterr_diag)
{
    Since since = {.walk = walk};
    int r =
        analysis_git_init(&since.git, io_folder_path(walk->place->folder), &walk->watch->cancel);

    bytes_init(&since.changes, SINCE_LIST_BYTES);
    bytes_init(&since.untracked, SINCE_LIST_BYTES);
    r = r != 0 ? r : since_run(&since, before, reterr_diag);
    bytes_deinit(&since.changes);
    bytes_deinit(&since.untracked);
    mem_free(since.olds);
    analysis_repository_deinit(&since.repository);
    analysis_git_deinit(&since.git);
    return r;
}
