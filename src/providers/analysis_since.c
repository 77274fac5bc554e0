/* What has changed since a revision (analysis_impl.h).
 *
 * Git is not asked to compare the work tree: for that it would run programs that the repository's
 * own settings name (filters, a file system monitor, hooks), and write its index anew. It lists the
 * revision's tree, which is data; the files of today are found and read as always, and hashed as
 * git would hash them. What is filtered on its way into git (LFS, keywords) therefore counts as
 * changed, and is measured on both sides: that costs time and shows no difference that is not
 * there.
 *
 * A file that has got another name is compared with itself: its old state has the new path. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/work.h"
#include "providers/analysis_impl.h"

/* A tree of a million files. */
#define SINCE_LIST_BYTES ((size_t)256 * 1024 * 1024)

/* A file that is compared holds what it is measured in, and what git puts before it. */
#define SINCE_SCRATCH_BYTES (COMPLEXITY_FILE_BYTES + 64)

#define SINCE_KEEP_BYTES ((size_t)1024 * 1024)

typedef enum SinceState {
    SINCE_UNKNOWN,
    SINCE_SAME,
    SINCE_CHANGED,
    SINCE_GONE, /* there is no regular file of that name */
} SinceState;

/* A regular file of the revision that could be of interest. */
typedef struct SinceEntry {
    Span path;
    Span blob;
    AnalysisVerdict verdict;
    SinceState state;
} SinceEntry;

/* What one thread compares with. */
typedef struct SinceHand {
    Bytes text;
    Bytes scratch;
} SinceHand;

typedef struct Since {
    AnalysisWalk *walk;
    AnalysisGit git;
    AnalysisRepository repository;
    ComplexityReport *report; /* the walk's own */
    ComplexityReport skipped; /* what the walk left out, changed or not */
    Bytes tree;               /* paths and ids point into it */
    SinceEntry *entries;      /* by path */
    size_t n;
    size_t cap;
    AnalysisOlds olds;
    SinceHand *hands;
    atomic_size_t next;
    atomic_int r;
    Bytes nested; /* the last folder that was looked at for a repository of its own */
    bool is_nested;
} Since;

/* ---- the revision ---- */

static Span since_word(Span *text, char end)
{
    const char *at = text->n > 0 ? memchr(text->p, end, text->n) : NULL;
    size_t n = at == NULL ? text->n : (size_t)(at - text->p);
    Span word = span_make(text->p, n);

    *text = span_make(text->p + n + (at != NULL), text->n - n - (at != NULL));
    return word;
}

static int since_add_entry(Since *since, Span path, Span blob, const AnalysisVerdict *verdict)
{
    if (since->n == since->cap) {
        size_t cap = since->cap > 0 ? since->cap * 2 : 256;
        SinceEntry *entries = mem_realloc(since->entries, cap * sizeof(*entries));

        if (entries == NULL) {
            return err_raise(-ENOMEM);
        }
        since->entries = entries;
        since->cap = cap;
    }
    since->entries[since->n++] = (SinceEntry){.path = path, .blob = blob, .verdict = *verdict};
    return 0;
}

/* MODE blob ID TAB PATH NUL; the path lies NUL-terminated in the list. Links and submodules are no
 * files of ours. */
static int since_take(Since *since, Span *text)
{
    const char *file = since->walk->place->file;
    Span mode = since_word(text, ' ');
    Span type = since_word(text, ' ');
    Span blob = since_word(text, '\t');
    Span path = since_word(text, '\0');
    AnalysisVerdict verdict;

    if (!span_starts_with(mode, SPAN("100")) || !span_equals(type, SPAN("blob")) || path.n == 0 ||
        (file != NULL && !span_equals(path, span_from_str(file)))) {
        return 0;
    }
    verdict = analysis_judge(since->walk->files, path);
    return verdict.is_silent ? 0 : since_add_entry(since, path, blob, &verdict);
}

static int since_compare(const void *a, const void *b)
{
    const SinceEntry *x = a;
    const SinceEntry *y = b;

    return span_compare(x->path, y->path);
}

/* What the revision has in the folder, as seen from it. */
static int since_list(Since *since, Diag *reterr_diag)
{
    const char *const argv[] = {"git", "ls-tree", "-r", "-z", since->repository.head, NULL};
    int r = analysis_git_read(&since->git, argv, &since->tree, reterr_diag);
    Span text = bytes_span(&since->tree);

    while (r == 0 && text.n > 0) {
        r = since_take(since, &text);
    }
    if (r == 0 && since->n > 0) {
        qsort(since->entries, since->n, sizeof(*since->entries), since_compare);
    }
    return r;
}

/* The first entry that is not before path. */
static size_t since_place(const Since *since, Span path)
{
    size_t from = 0;
    size_t to = since->n;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (span_compare(since->entries[middle].path, path) < 0) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    return from;
}

static bool since_has(const Since *since, Span path)
{
    size_t at = since_place(since, path);

    return at < since->n && span_equals(since->entries[at].path, path);
}

/* ---- the files of today ---- */

/* Compares a file of the revision with the one of today. */
static int since_look(Since *since, SinceHand *hand, SinceEntry *entry)
{
    bool is_same = false;
    int r;

    bytes_clear_keep(&hand->text, SINCE_KEEP_BYTES);
    bytes_clear_keep(&hand->scratch, SINCE_KEEP_BYTES);
    r = io_folder_read(since->walk->place->folder, entry->path.p, &hand->text, NULL);
    if (r == -ENOMEM) {
        return r;
    }
    if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP || r == -EISDIR || r == -EINVAL) {
        entry->state = SINCE_GONE;
        return 0;
    }
    /* Too large or not to be read: whoever measures it says so. */
    r = r != 0 ? 0
               : analysis_blob_is(bytes_span(&hand->text), entry->blob, &hand->scratch, &is_same);
    entry->state = is_same ? SINCE_SAME : SINCE_CHANGED;
    return r;
}

static void since_on_thread(void *context, size_t i)
{
    Since *since = context;

    while (atomic_load(&since->r) == 0) {
        size_t at = atomic_fetch_add(&since->next, 1);
        int none = 0;
        int r;

        if (at >= since->n) {
            return;
        }
        r = atomic_load_explicit(&since->walk->watch->cancel, memory_order_relaxed)
                ? ANALYSIS_E_CANCELLED
                : since_look(since, &since->hands[i], &since->entries[at]);
        if (r != 0) {
            (void)atomic_compare_exchange_strong(&since->r, &none, r);
        }
    }
}

static int since_look_at_all(Since *since)
{
    size_t n = analysis_threads(since->walk->files, since->n);

    since->hands = mem_alloc_array(n, sizeof(*since->hands));
    if (since->hands == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        bytes_init(&since->hands[i].text, COMPLEXITY_FILE_BYTES);
        bytes_init(&since->hands[i].scratch, SINCE_SCRATCH_BYTES);
    }
    if (since->n > 0) {
        io_work_fan(n, since_on_thread, since);
    }
    for (size_t i = 0; i < n; i++) {
        bytes_deinit(&since->hands[i].text);
        bytes_deinit(&since->hands[i].scratch);
    }
    since->hands = mem_free(since->hands);
    return atomic_load(&since->r);
}

/* Has the folder ("a/b", without a slash at its end) a .git? */
static int since_is_repository(const Since *since, Span folder, bool *ret)
{
    Bytes path;
    Bytes head;
    int r;

    bytes_init(&path, folder.n + 16);
    bytes_init(&head, 16);
    r = bytes_append_span(&path, folder);
    r = r != 0 ? r : bytes_append(&path, "/.git", sizeof("/.git"));
    if (r == 0) {
        int there = io_folder_read_head(since->walk->place->folder, path.data, 1, &head);

        *ret = there != -ENOENT && there != -ENOTDIR && there != -ENOMEM;
        r = there == -ENOMEM ? there : 0;
    }
    bytes_deinit(&path);
    bytes_deinit(&head);
    return r > 0 ? err_fold(r) : r;
}

/* Is a new file one of another repository inside (a submodule, a clone that lies there)? Its
 * history is elsewhere. Files of one folder come one after the other. */
static int since_is_elsewhere(Since *since, Span path, bool *ret)
{
    size_t n = path.n;
    int r = 0;

    while (n > 0 && path.p[n - 1] != '/') {
        n--;
    }
    if (n == since->nested.n && n > 0 && memcmp(since->nested.data, path.p, n) == 0) {
        *ret = since->is_nested;
        return 0;
    }
    *ret = false;
    for (size_t i = 0; r == 0 && !*ret && i < n; i++) {
        if (path.p[i] == '/') {
            r = since_is_repository(since, span_make(path.p, i), ret);
        }
    }
    bytes_clear(&since->nested);
    since->is_nested = *ret;
    r = r != 0 ? r : bytes_append(&since->nested, path.p, n);
    return r > 0 ? err_fold(r) : r;
}

/* Of what the walk has found, what is new stays; what was there is compared apart. */
static int since_keep_new(Since *since)
{
    AnalysisWalk *walk = since->walk;
    size_t n = 0;
    int r = 0;

    for (size_t i = 0; r == 0 && i < walk->n; i++) {
        bool is_elsewhere = true;

        if (!since_has(since, walk->found[i].path)) {
            r = since_is_elsewhere(since, walk->found[i].path, &is_elsewhere);
        }
        if (!is_elsewhere) {
            walk->found[n++] = walk->found[i];
        }
    }
    walk->n = n;
    return r;
}

/* What the walk has left out is told if it is new; of a folder: if nothing in it was there. */
static int since_tell_skipped(Since *since)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < since->skipped.n_skipped; i++) {
        const ComplexitySkipped *row = &since->skipped.skipped[i];
        size_t at = since_place(since, row->path);
        bool is_known = at < since->n && (span_equals(since->entries[at].path, row->path) ||
                                          (row->path.n > 0 && row->path.p[row->path.n - 1] == '/' &&
                                           span_starts_with(since->entries[at].path, row->path)));

        if (!is_known) {
            r = complexity_report_skip(since->report, row->path, row->reason, row->detail);
        }
    }
    return err_pass(r);
}

static int since_find_new(Since *since, Diag *reterr_diag)
{
    AnalysisWalk *walk = since->walk;
    ComplexityReportOptions options = walk->report->options;
    int r;

    options.list_ignored = true;
    complexity_report_init(&since->skipped, &options);
    walk->report = &since->skipped;
    r = analysis_walk_run(walk, reterr_diag);
    walk->report = since->report;
    r = r != 0 ? r : since_keep_new(since);
    return r != 0 ? r : since_tell_skipped(since);
}

/* What a change comes to: two states to measure, or one, or a line in the list of skipped files. */
static int since_take_changed(Since *since, const SinceEntry *entry)
{
    const AnalysisVerdict *verdict = &entry->verdict;
    int r = 0;

    if (entry->state == SINCE_SAME || (entry->state == SINCE_GONE && !verdict->is_wanted)) {
        return 0;
    }
    if (!verdict->is_wanted) {
        return complexity_report_skip(since->report, entry->path, verdict->reason,
                                      span_from_str(verdict->detail));
    }
    r = analysis_olds_add(&since->olds, &(AnalysisOld){.path = entry->path,
                                                       .name = entry->path,
                                                       .blob = entry->blob,
                                                       .is_gone = entry->state == SINCE_GONE});
    if (r == 0 && entry->state == SINCE_CHANGED) {
        r = analysis_walk_add(since->walk, entry->path, &(IoFolderStamp){.size = 0});
    }
    return r;
}

/* ---- other names ---- */

/* Lines of the files that are new: the first n_new of the walk. What cannot be read has none. */
static int since_read_new(Since *since, size_t n_new, AnalysisLines *lines)
{
    Bytes text;
    int r = 0;

    bytes_init(&text, COMPLEXITY_FILE_BYTES);
    for (size_t i = 0; r == 0 && i < n_new; i++) {
        bytes_clear_keep(&text, SINCE_KEEP_BYTES);
        r = io_folder_read(since->walk->place->folder, since->walk->found[i].path.p, &text, NULL);
        if (r == 0) {
            r = analysis_lines_init(&lines[i], bytes_span(&text));
        } else if (r != -ENOMEM) {
            r = 0;
        }
        if (r == 0 && atomic_load_explicit(&since->walk->watch->cancel, memory_order_relaxed)) {
            r = ANALYSIS_E_CANCELLED;
        }
    }
    bytes_deinit(&text);
    return r;
}

/* gone[i] is the number of an old state. */
static int since_match(Since *since, const size_t *gone, size_t n_gone, const AnalysisLines *lines,
                       size_t n_new)
{
    CLEANUP(mem_freep) AnalysisLines *from = mem_alloc_array(n_gone, sizeof(*from));
    CLEANUP(mem_freep) size_t *became = mem_alloc_array(n_gone, sizeof(*became));
    int r;

    if (from == NULL || became == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n_gone; i++) {
        from[i] = since->olds.olds[gone[i]].lines;
    }
    r = analysis_alike(from, n_gone, lines, n_new, became);
    for (size_t i = 0; r == 0 && i < n_gone; i++) {
        if (became[i] != ANALYSIS_NOT_ALIKE) {
            since->olds.olds[gone[i]].path = since->walk->found[became[i]].path;
        }
    }
    return r;
}

static int since_rename(Since *since, size_t n_new)
{
    CLEANUP(mem_freep) size_t *gone = mem_alloc_array(since->olds.n + 1, sizeof(*gone));
    CLEANUP(mem_freep) AnalysisLines *lines = mem_alloc_array(n_new + 1, sizeof(*lines));
    size_t n_gone = 0;
    int r;

    if (gone == NULL || lines == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < since->olds.n; i++) {
        if (since->olds.olds[i].is_gone && since->olds.olds[i].is_ours) {
            gone[n_gone++] = i;
        }
    }
    if (n_gone == 0 || n_new == 0) {
        return 0;
    }
    for (size_t i = 0; i < n_new; i++) {
        lines[i] = ANALYSIS_LINES_NULL;
    }
    r = since_read_new(since, n_new, lines);
    r = r != 0 ? r : since_match(since, gone, n_gone, lines, n_new);
    for (size_t i = 0; i < n_new; i++) {
        analysis_lines_deinit(&lines[i]);
    }
    return r;
}

/* ---- all of it ---- */

static int since_add_before(const Since *since, ComplexityReport *before)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < since->olds.n; i++) {
        const AnalysisOld *old = &since->olds.olds[i];

        if (!old->is_ours) {
            continue;
        }
        r = old->what.is_skipped
                ? complexity_report_skip(before, old->path, old->what.reason, old->what.detail)
                : complexity_report_add(before, old->path, &old->what.file);
    }
    return err_pass(r);
}

static int since_find(Since *since, Diag *reterr_diag)
{
    int r = since_list(since, reterr_diag);

    r = r != 0 ? r : since_look_at_all(since);
    return r != 0 ? r : since_find_new(since, reterr_diag);
}

static int since_run(Since *since, ComplexityReport *before, Diag *reterr_diag)
{
    AnalysisWalk *walk = since->walk;
    size_t n_new;
    int r =
        analysis_repository_init(&since->repository, &since->git, walk->files->since, reterr_diag);

    if (r == 0 && since->repository.base[0] != '\0') {
        r = diag_set(reterr_diag, ANALYSIS_E_GIT,
                     "%.100s is a range: the files of today are compared with one revision",
                     walk->files->since);
        if (reterr_diag != NULL) {
            diag_set_field(reterr_diag, "revision");
        }
        return r;
    }
    if (r == 0 && !since->repository.has_work_tree) {
        return diag_set(reterr_diag, ANALYSIS_E_GIT,
                        "%s has no work tree: there is nothing to compare with a revision",
                        walk->files->path);
    }
    r = r != 0 ? r : since_find(since, reterr_diag);
    n_new = walk->n;
    for (size_t i = 0; r == 0 && i < since->n; i++) {
        r = since_take_changed(since, &since->entries[i]);
    }
    if (r != 0) {
        return r;
    }
    atomic_store(&walk->watch->total, walk->n + since->olds.n);
    r = analysis_olds_read(&since->olds, reterr_diag);
    (void)analysis_repository_explain(&since->repository, r, reterr_diag);
    r = r != 0 ? r : since_rename(since, n_new);
    r = r != 0 ? r : since_add_before(since, before);
    return r != 0 ? r : analysis_crew_run(walk, NULL, false);
}

int analysis_since(AnalysisWalk *walk, ComplexityReport *before, Diag *reterr_diag)
{
    Since since = {.walk = walk, .report = walk->report, .skipped = COMPLEXITY_REPORT_NULL};
    int r = analysis_git_init(&since.git, walk->place, io_folder_path(walk->place->folder),
                              &walk->watch->cancel);

    since.olds.git = &since.git;
    since.olds.walk = walk;
    bytes_init(&since.tree, SINCE_LIST_BYTES);
    bytes_init(&since.nested, (size_t)1024 * 1024);
    r = r != 0 ? r : since_run(&since, before, reterr_diag);
    analysis_olds_deinit(&since.olds);
    complexity_report_deinit(&since.skipped);
    bytes_deinit(&since.tree);
    bytes_deinit(&since.nested);
    mem_free(since.entries);
    analysis_repository_deinit(&since.repository);
    analysis_git_deinit(&since.git);
    return r;
}
