/* Measures files on several threads (analysis_impl.h).
 *
 * The longest file comes first, so that no thread is left with it at the end. The tree of a large
 * one may take hundreds of megabytes, so one thread does all of these and then helps the others.
 * Each thread has a meter, an arena and a buffer of its own; the cache and the report belong to the
 * thread that called, which asks the one before and fills both behind: in the order of the walk, so
 * that a run leaves the same whatever the threads did. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/sort.h"
#include "io/error_text.h"
#include "io/work.h"
#include "providers/analysis_impl.h"
#include "toolkit/complexity/language.h"
#include "toolkit/complexity/measure.h"

/* More would wait for memory, not for cores. */
#define CREW_MAX_THREADS 64

/* Less work than this is done before a thread has begun. */
#define CREW_THREAD_BYTES ((uint64_t)64 * 1024)

/* Kept of a buffer between files. */
#define CREW_KEEP_BYTES ((size_t)1024 * 1024)

/* What is shown to the one who tells languages apart. */
#define CREW_HEAD_BYTES ((size_t)64 * 1024)

/* Enough for a line that names an interpreter. */
#define CREW_BEGINNING_BYTES ((size_t)4096)

/* A parser that needs longer than half a megabyte a second is in trouble: 2 s, and 2 us a byte. */
#define CREW_PARSE_US          ((int64_t)2 * 1000 * 1000)
#define CREW_PARSE_US_PER_BYTE ((int64_t)2)

/* What people write needs up to 70 bytes a byte, and in large files less. */
#define CREW_TREE_BYTES          ((size_t)64 * 1024 * 1024)
#define CREW_TREE_BYTES_PER_BYTE ((size_t)64)

typedef struct Crew {
    AnalysisWalk *walk;
    size_t *order; /* of what is to be done, longest first */
    size_t n_order;
    size_t n_large; /* of these, those in front; one thread's */
    bool is_alone;  /* there is one thread only */
    AnalysisMeter *meters;
    atomic_size_t next;
    atomic_int r; /* the first failure */
    int (*task)(struct Crew *crew, AnalysisMeter *meter, AnalysisFound *found);
} Crew;

/* ---- one text ---- */

int analysis_meter_init(AnalysisMeter *meter)
{
    bytes_init(&meter->text, COMPLEXITY_FILE_BYTES);
    arena_init(&meter->arena, COMPLEXITY_REPORT_BYTES);
    return analysis_worker_init(&meter->worker);
}

void analysis_meter_deinit(AnalysisMeter *meter)
{
    analysis_worker_deinit(&meter->worker);
    arena_deinit(&meter->arena);
    bytes_deinit(&meter->text);
}

void analysis_meter_rest(AnalysisMeter *meter)
{
    analysis_worker_rest(&meter->worker);
}

/* Not measured, and why. */
static int crew_skip(Arena *arena, ComplexitySkip reason, const char *detail, ComplexityCached *ret)
{
    *ret = (ComplexityCached){
        .is_skipped = true, .reason = reason, .detail = arena_copy(arena, span_from_str(detail))};
    return ret->detail.p == NULL ? err_raise(-ENOMEM) : 0;
}

/* For whoever has named this file. */
static int crew_not_ours(Arena *arena, const ComplexityLanguage *language, ComplexityCached *ret)
{
    if (language == NULL) {
        return crew_skip(arena, COMPLEXITY_SKIP_NO_LANGUAGE, "", ret);
    }
    *ret = (ComplexityCached){.is_skipped = true,
                              .reason = COMPLEXITY_SKIP_OTHER_TOOLCHAIN,
                              .detail = complexity_language_name(language)};
    return 0;
}

/* A binary file is none in any case; what nobody wrote is one if all are wanted. */
static bool crew_is_source(const AnalysisFiles *files, ToolkitKind kind)
{
    return kind == TOOLKIT_KIND_SOURCE || (files->all && kind != TOOLKIT_KIND_BINARY);
}

/* complexity_measure, with large texts counted. */
static int crew_parse(AnalysisMeter *meter, AnalysisWatch *watch,
                      const ComplexityLanguage *language, const ComplexityOptions *options,
                      Span text, ComplexityFile *ret)
{
    bool is_large = text.n > ANALYSIS_LARGE_BYTES;
    size_t n = is_large ? atomic_fetch_add(&watch->large, 1) + 1 : 0;
    size_t most = atomic_load(&watch->most_large);
    int r;

    while (n > most && !atomic_compare_exchange_weak(&watch->most_large, &most, n)) {
    }
    r = analysis_worker_measure(&meter->worker, language, text, options, &meter->arena, ret);
    if (is_large) {
        (void)atomic_fetch_sub(&watch->large, 1);
    }
    return r;
}

int analysis_measure(AnalysisMeter *meter, const AnalysisFiles *files, AnalysisWatch *watch,
                     bool increments, Span path, Span text, ComplexityCached *ret,
                     bool *ret_is_ours, bool *ret_is_fleeting)
{
    Span head = span_make(text.p, text.n < CREW_HEAD_BYTES ? text.n : CREW_HEAD_BYTES);
    const ComplexityLanguage *language = complexity_language_of(path, head);
    ComplexityOptions options = {.increments = increments,
                                 .max_parse_us =
                                     CREW_PARSE_US + CREW_PARSE_US_PER_BYTE * (int64_t)text.n,
                                 .max_bytes = CREW_TREE_BYTES + CREW_TREE_BYTES_PER_BYTE * text.n,
                                 .stop = stop_at_flag(&watch->cancel)};
    ToolkitKindFound kind;
    int r;

    *ret_is_fleeting = false;
    *ret_is_ours =
        language != NULL && complexity_toolchain_has(
                                files->toolchain.n > 0 ? files->toolchain : SPAN("auto"), language);
    if (!*ret_is_ours) {
        return crew_not_ours(&meter->arena, language, ret);
    }
    kind = toolkit_kind_of_text(path, text);
    if (!crew_is_source(files, kind.kind)) {
        return crew_skip(&meter->arena, analysis_skip_reason(kind.kind), kind.detail, ret);
    }
    *ret = (ComplexityCached){.is_skipped = false};
    r = crew_parse(meter, watch, language, &options, text, &ret->file);
    if (r == COMPLEXITY_E_TOO_COSTLY || r == COMPLEXITY_E_TOO_BIG || r == COMPLEXITY_E_NO_MEMORY) {
        *ret_is_fleeting = r == COMPLEXITY_E_NO_MEMORY; /* another day the machine has more */
        return crew_skip(&meter->arena, COMPLEXITY_SKIP_TOO_COSTLY,
                         r == COMPLEXITY_E_TOO_COSTLY ? "time" : "memory", ret);
    }
    if (r == ANALYSIS_WORKER_E_FAILED || r == ANALYSIS_WORKER_E_LOST) {
        *ret_is_fleeting = r == ANALYSIS_WORKER_E_LOST;
        return crew_skip(&meter->arena, COMPLEXITY_SKIP_FAILED, "", ret);
    }
    return r == COMPLEXITY_E_CANCELLED ? ANALYSIS_E_CANCELLED : err_pass(r);
}

/* ---- one file ---- */

/* A name that says nothing: its beginning does, and that is short even if the file is a disk image.
 */
static int crew_read_head(Crew *crew, AnalysisMeter *meter, AnalysisFound *found)
{
    int r = 0;

    if (complexity_language_of(found->path, SPAN_NULL) == NULL) {
        r = io_folder_read_head(crew->walk->place->folder, found->path.p, CREW_BEGINNING_BYTES,
                                &meter->text);
        if (r == 0 && complexity_language_of(found->path, bytes_span(&meter->text)) == NULL) {
            found->state = ANALYSIS_NOT_OURS;
            r = crew_not_ours(&meter->arena, NULL, &found->what);
        }
        bytes_clear(&meter->text);
    }
    return r;
}

/* Its content into the meter's buffer. *ret_is_read false: it is skipped, as found->what says, or
 * not ours. */
static int crew_read(Crew *crew, AnalysisMeter *meter, AnalysisFound *found, bool *ret_is_read)
{
    int r;

    bytes_clear_keep(&meter->text, CREW_KEEP_BYTES);
    *ret_is_read = false;
    (void)atomic_fetch_add(&crew->walk->watch->read, 1);
    r = crew_read_head(crew, meter, found);
    if (r == 0 && found->state == ANALYSIS_NOT_OURS) {
        return 0;
    }
    r = r != 0 ? r : io_folder_read(crew->walk->place->folder, found->path.p, &meter->text, NULL);
    *ret_is_read = r == 0;
    if (r == 0 || r == -ENOMEM) {
        return r;
    }
    found->state = ANALYSIS_MEASURED;
    found->is_fleeting = true;
    if (r == BYTES_E_FULL) {
        return crew_skip(&meter->arena, COMPLEXITY_SKIP_TOO_LARGE, "more than 16 MiB",
                         &found->what);
    }
    if (r == -ELOOP) {
        return crew_skip(&meter->arena, COMPLEXITY_SKIP_LINK, "", &found->what);
    }
    if (r == -EINVAL) {
        return crew_skip(&meter->arena, COMPLEXITY_SKIP_SPECIAL, "", &found->what);
    }
    return crew_skip(&meter->arena, COMPLEXITY_SKIP_UNREADABLE, io_error_text(-r), &found->what);
}

static int crew_hash_file(Crew *crew, AnalysisMeter *meter, AnalysisFound *found)
{
    bool is_read;
    int r = crew_read(crew, meter, found, &is_read);

    if (r == 0 && is_read) {
        analysis_hash(bytes_span(&meter->text), found->hash);
        found->has_hash = true;
    }
    return r;
}

static int crew_measure_file(Crew *crew, AnalysisMeter *meter, AnalysisFound *found)
{
    const AnalysisWalk *walk = crew->walk;
    bool is_read;
    bool is_ours = true;
    int r = crew_read(crew, meter, found, &is_read);

    if (r != 0 || !is_read) {
        return r;
    }
    /* Its size was not known, or has grown: later, when the others are done. */
    if (meter->text.n > ANALYSIS_LARGE_BYTES && found->size <= ANALYSIS_LARGE_BYTES &&
        !crew->is_alone) {
        return 0;
    }
    /* It may have changed since it was hashed. */
    if (!walk->files->no_cache) {
        analysis_hash(bytes_span(&meter->text), found->hash);
        found->has_hash = true;
    }
    r = analysis_measure(meter, walk->files, walk->watch, walk->report->options.increments,
                         found->path, bytes_span(&meter->text), &found->what, &is_ours,
                         &found->is_fleeting);
    found->state = is_ours ? ANALYSIS_MEASURED : ANALYSIS_NOT_OURS;
    return r;
}

/* ---- all of them ---- */

size_t analysis_threads(const AnalysisFiles *files, size_t n_work)
{
    size_t n_cores = io_work_cores();
    size_t n = files->threads > 0 && files->threads < n_cores ? files->threads : n_cores;

    n = n < CREW_MAX_THREADS ? n : CREW_MAX_THREADS;
    n = n < n_work ? n : n_work;
    return n > 0 ? n : 1;
}

static void crew_work_on(Crew *crew, size_t i, size_t at)
{
    AnalysisWatch *watch = crew->walk->watch;
    AnalysisFound *found = &crew->walk->found[crew->order[at]];
    int none = 0;
    int r = analysis_is_cancelled(watch) ? ANALYSIS_E_CANCELLED
                                         : crew->task(crew, &crew->meters[i], found);

    if (r != 0) {
        (void)atomic_compare_exchange_strong(&crew->r, &none, r);
    } else if (found->state != ANALYSIS_TO_DO) {
        (void)atomic_fetch_add(&watch->done, 1); /* also those that reading alone has settled */
    }
}

static void crew_work_all(Crew *crew, size_t i)
{
    for (size_t at = 0; i == 0 && at < crew->n_large && atomic_load(&crew->r) == 0; at++) {
        crew_work_on(crew, i, at);
    }
    while (atomic_load(&crew->r) == 0) {
        size_t at = atomic_fetch_add(&crew->next, 1);

        if (at >= crew->n_order) {
            return;
        }
        crew_work_on(crew, i, at);
    }
}

static void crew_work(void *context, size_t i)
{
    Crew *crew = context;

    crew_work_all(crew, i);
    analysis_meter_rest(&crew->meters[i]);
}

typedef struct CrewPlace {
    uint64_t size;
    size_t index;
} CrewPlace;

static int crew_compare(const void *a, const void *b)
{
    const CrewPlace *x = a;
    const CrewPlace *y = b;

    if (x->size != y->size) {
        return x->size > y->size ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

/* What is to be done, longest first. *ret_bytes: of all of it. */
static int crew_line_up(Crew *crew, uint64_t *ret_bytes)
{
    const AnalysisWalk *walk = crew->walk;
    CLEANUP(mem_freep) CrewPlace *places = mem_alloc_array(walk->n + 1, sizeof(*places));
    int r;

    crew->n_order = 0;
    *ret_bytes = 0;
    if (crew->order == NULL) {
        crew->order = mem_alloc_array(walk->n + 1, sizeof(*crew->order));
    }
    if (places == NULL || crew->order == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < walk->n; i++) {
        if (walk->found[i].state == ANALYSIS_TO_DO) {
            places[crew->n_order++] = (CrewPlace){walk->found[i].size, i};
            *ret_bytes += walk->found[i].size;
        }
    }
    r = sort_items(places, crew->n_order, sizeof(*places), crew_compare,
                   stop_at_flag(&walk->watch->cancel));
    if (r != 0) {
        return err_pass(r);
    }
    crew->n_large = 0;
    for (size_t i = 0; i < crew->n_order; i++) {
        crew->order[i] = places[i].index;
        crew->n_large += places[i].size > ANALYSIS_LARGE_BYTES;
    }
    return 0;
}

/* Lets all threads do that with every file that is left. */
static int crew_do(Crew *crew, size_t n_threads,
                   int (*task)(Crew *crew, AnalysisMeter *meter, AnalysisFound *found))
{
    uint64_t bytes;
    int r = crew_line_up(crew, &bytes);

    if (r != 0 || crew->n_order == 0) {
        return r;
    }
    /* Without sizes (files that were named) by their number. */
    if (bytes > 0 && bytes < CREW_THREAD_BYTES) {
        n_threads = 1;
    }
    n_threads = n_threads < crew->n_order ? n_threads : crew->n_order;
    crew->task = task;
    crew->is_alone = n_threads == 1;
    /* Reading them is no matter. */
    crew->n_large = task == crew_measure_file ? crew->n_large : 0;
    atomic_store(&crew->next, crew->n_large);
    io_work_fan(n_threads, crew_work, crew);
    return atomic_load(&crew->r);
}

/* ---- what is known already ---- */

static void crew_look_up_stamps(AnalysisWalk *walk, ComplexityCache *cache)
{
    size_t n_known = 0;

    for (size_t i = 0; i < walk->n && !analysis_is_cancelled(walk->watch); i++) {
        AnalysisFound *found = &walk->found[i];

        if (complexity_cache_find(cache, found->path, &found->stamp, &found->what)) {
            found->state = ANALYSIS_KNOWN;
            n_known++;
        }
    }
    atomic_store(&walk->watch->done, n_known);
}

static void crew_look_up_hashes(AnalysisWalk *walk, ComplexityCache *cache)
{
    for (size_t i = 0; i < walk->n && !analysis_is_cancelled(walk->watch); i++) {
        AnalysisFound *found = &walk->found[i];

        if (found->state == ANALYSIS_TO_DO && found->has_hash &&
            complexity_cache_find_content(cache, found->path, &found->stamp, found->hash,
                                          &found->what)) {
            found->state = ANALYSIS_KNOWN;
            (void)atomic_fetch_add(&walk->watch->done, 1);
        }
    }
}

static int crew_merge(AnalysisWalk *walk, ComplexityCache *cache)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < walk->n; i++) {
        const AnalysisFound *found = &walk->found[i];

        if (analysis_is_cancelled(walk->watch)) {
            return ANALYSIS_E_CANCELLED;
        }
        /* Nobody would have expected it, unless it is all that was asked for. */
        if (found->state == ANALYSIS_NOT_OURS && walk->place->file == NULL) {
            continue;
        }
        if (found->what.is_skipped) {
            r = complexity_report_skip(walk->report, found->path, found->what.reason,
                                       found->what.detail);
        } else {
            r = complexity_report_add(walk->report, found->path, &found->what.file);
        }
        /* A cache that cannot grow is none the worse. */
        if (cache != NULL && found->state == ANALYSIS_MEASURED && found->has_hash &&
            !found->is_fleeting) {
            (void)complexity_cache_put(cache, found->path, &found->stamp, found->hash,
                                       &found->what);
        }
    }
    return err_pass(r);
}

/* Is the entry of the language, where only one is asked for? A cached one may be of another. */
static void crew_drop_others(AnalysisWalk *walk)
{
    for (size_t i = 0; walk->files->toolchain.n > 0 && i < walk->n; i++) {
        AnalysisFound *found = &walk->found[i];

        if (found->state == ANALYSIS_KNOWN && !found->what.is_skipped &&
            !complexity_toolchain_has(walk->files->toolchain, found->what.file.language)) {
            found->state = ANALYSIS_NOT_OURS;
        }
    }
}

static int crew_run(Crew *crew, size_t n_threads, ComplexityCache *cache, bool has_kept)
{
    AnalysisWalk *walk = crew->walk;
    int r = 0;

    if (has_kept) {
        crew_look_up_stamps(walk, cache);
        r = crew_do(crew, n_threads, crew_hash_file);
        if (r == 0) {
            crew_look_up_hashes(walk, cache);
            crew_drop_others(walk);
        }
    }
    r = r != 0 ? r : crew_do(crew, n_threads, crew_measure_file);
    /* Those that turned out to be large. */
    r = r != 0 ? r : crew_do(crew, 1, crew_measure_file);
    return r != 0 ? r : crew_merge(walk, cache);
}

int analysis_crew_run(AnalysisWalk *walk, ComplexityCache *cache, bool has_kept)
{
    size_t n_threads = analysis_threads(walk->files, walk->n);
    Crew crew = {.walk = walk};
    size_t n_meters = 0;
    int r = 0;

    crew.meters = mem_alloc_array(n_threads, sizeof(*crew.meters));
    if (crew.meters == NULL) {
        return err_raise(-ENOMEM);
    }
    while (r == 0 && n_meters < n_threads) {
        r = analysis_meter_init(&crew.meters[n_meters++]);
    }
    r = r != 0 ? r : crew_run(&crew, n_threads, cache, has_kept);
    for (size_t i = 0; i < n_meters; i++) {
        analysis_meter_deinit(&crew.meters[i]);
    }
    mem_free(crew.meters);
    mem_free(crew.order);
    return r;
}
