/* The job that measures a project (analysis.h). */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "io/keep.h"
#include "providers/analysis.h"
#include "providers/analysis_impl.h"
#include "toolkit/complexity/language.h"
#include "toolkit/glob.h"

/* The cache of one project: a million functions. What is longer is neither read nor written. */
#define COMPLEXITY_CACHE_BYTES ((size_t)256 * 1024 * 1024)

/* The measures kept of a project. Losing them costs time, and nothing else: whatever goes wrong
 * here, there is no cache then. */
typedef struct Kept {
    ComplexityCache *cache; /* NULL: nothing is kept */
    char *path;
    bool has_read;
} Kept;

static void kept_close(Kept *kept)
{
    kept->cache = complexity_cache_free(kept->cache);
    kept->path = mem_free(kept->path);
}

/* Files that are skipped by default are measured in a project of `all`, so these have another one.
 */
static const char *kept_kind(const AnalysisFiles *files)
{
    return files->all ? "all" : "complexity";
}

/* Does the run see only a part of the project? Then what it has not seen stays in the cache. */
static bool kept_is_part(const AnalysisFiles *files)
{
    return files->n_include > 0 || files->n_exclude > 0 ||
           (files->toolchain.n > 0 && !span_equals(files->toolchain, SPAN("auto")));
}

static void kept_open(Kept *kept, const AnalysisWalk *walk)
{
    const AnalysisFiles *files = walk->files;
    Span root = span_from_str(io_folder_path(walk->place->folder));
    Bytes data;

    if (files->no_cache || files->since != NULL || walk->place->file != NULL ||
        analysis_kept_path(&kept->path, files->state, kept_kind(files), root) != 0 ||
        complexity_cache_new(&kept->cache) != 0) {
        return;
    }
    if (kept_is_part(files)) {
        complexity_cache_keep_all(kept->cache);
    }
    bytes_init(&data, COMPLEXITY_CACHE_BYTES);
    if (io_keep_read(kept->path, &data) == 0) {
        kept->has_read = complexity_cache_read(kept->cache, bytes_span(&data)) == 0;
    }
    bytes_deinit(&data);
}

static void kept_write(const Kept *kept)
{
    Bytes data;

    if (kept->cache == NULL || !complexity_cache_changed(kept->cache)) {
        return;
    }
    bytes_init(&data, COMPLEXITY_CACHE_BYTES);
    if (complexity_cache_write(kept->cache, &data) == 0) {
        (void)io_keep_write(kept->path, bytes_span(&data));
    }
    bytes_deinit(&data);
}

static int complexity_whole(AnalysisWalk *walk, Diag *reterr_diag)
{
    Kept kept = {.cache = NULL};
    int r = analysis_walk_run(walk, reterr_diag);

    if (r != 0) {
        return r;
    }
    atomic_store(&walk->watch->total, walk->n);
    kept_open(&kept, walk);
    /* Increments are not kept, so whoever wants them measures. */
    r = analysis_crew_run(walk, kept.cache, kept.has_read && !walk->report->options.increments);
    if (r == 0) {
        kept_write(&kept);
    }
    kept_close(&kept);
    return r;
}

/* A glob that says nothing would leave everything in, or out, and nobody would know why. */
static int complexity_check_globs(const char *field, const Span *globs, size_t n, Diag *reterr_diag)
{
    for (size_t i = 0; i < n; i++) {
        const char *fault = toolkit_glob_fault(globs[i]);

        if (fault != NULL) {
            int r = diag_set(reterr_diag, ANALYSIS_E_OPTION, "%s: '%.*s' is no glob: %s", field,
                             (int)(globs[i].n < 60 ? globs[i].n : 60), globs[i].p, fault);

            if (reterr_diag != NULL) {
                diag_set_field(reterr_diag, "%s", field);
            }
            return r;
        }
    }
    return 0;
}

static int complexity_check(const AnalysisFiles *files, const ComplexityReport *before,
                            Diag *reterr_diag)
{
    int r;

    if (files->toolchain.n > 0 && !complexity_toolchain_known(files->toolchain)) {
        r = diag_set(reterr_diag, ANALYSIS_E_OPTION,
                     "unknown toolchain '%.*s': rust, deno, python-uv, auto, or a language",
                     (int)(files->toolchain.n < 60 ? files->toolchain.n : 60), files->toolchain.p);

        if (reterr_diag != NULL) {
            diag_set_field(reterr_diag, "toolchain");
        }
        return r;
    }
    r = complexity_check_globs("include", files->include, files->n_include, reterr_diag);
    r = r != 0 ? r
               : complexity_check_globs("exclude", files->exclude, files->n_exclude, reterr_diag);
    if (r != 0) {
        return r;
    }
    return files->since != NULL && before == NULL ? err_raise(-EINVAL) : 0;
}

static int complexity_run(const AnalysisFiles *files, AnalysisWatch *watch,
                          ComplexityReport *report, ComplexityReport *before, Diag *reterr_diag)
{
    AnalysisPlace place = ANALYSIS_PLACE_NULL;
    AnalysisFiles named = *files;
    AnalysisWalk walk;
    int r = analysis_place_open(&place, files->root, files->path, reterr_diag);

    if (r != 0) {
        return r;
    }
    named.all = files->all || place.file != NULL; /* a person has named it */
    analysis_walk_init(&walk, &named, &place, watch, report);
    r = files->since != NULL ? analysis_since(&walk, before, reterr_diag)
                             : complexity_whole(&walk, reterr_diag);
    if (r == 0 && before != NULL) {
        r = err_pass(complexity_report_finish(before));
    }
    if (r == 0) {
        r = err_pass(complexity_report_finish(report));
    }
    analysis_walk_deinit(&walk);
    analysis_place_close(&place);
    return r;
}

int analysis_complexity(const AnalysisFiles *files, AnalysisWatch *watch, ComplexityReport *report,
                        ComplexityReport *before, Diag *reterr_diag)
{
    uint64_t start = clock_monotonic_ns();
    int r = complexity_check(files, before, reterr_diag);

    report->options.stop = stop_at_flag(&watch->cancel);
    if (before != NULL) {
        before->options.stop = report->options.stop;
    }
    r = r != 0 ? r : complexity_run(files, watch, report, before, reterr_diag);
    /* Whatever it was that was stopped. */
    if (analysis_is_cancelled(watch)) {
        r = ANALYSIS_E_CANCELLED;
    }
    if (r == 0 && report->options.elapsed_us >= 0) {
        report->options.elapsed_us = (int64_t)((clock_monotonic_ns() - start) / 1000);
    }
    return r;
}
