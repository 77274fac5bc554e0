/* Files that are complicated and often changed (analysis.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "providers/analysis.h"
#include "toolkit/churn/score.h"

static int hotspots_compare(const void *a, const void *b)
{
    const AnalysisHotspot *x = a;
    const AnalysisHotspot *y = b;

    if (x->score != y->score) {
        return x->score > y->score ? -1 : 1;
    }
    return span_compare(x->file->path, y->file->path);
}

/* The path in the repository, in *path; 0, -ENOMEM. */
static int hotspots_path(Bytes *path, Span prefix, Span name)
{
    int r;

    bytes_clear(path);
    r = bytes_append_span(path, prefix);
    r = r != 0 ? r : bytes_append_span(path, name);
    return r != 0 ? err_fold(r) : 0;
}

static int hotspots_fill(AnalysisHotspots *hotspots, const ComplexityReport *report,
                         const Churn *churn, Span prefix, const uint64_t *sums)
{
    Bytes path;
    int r = 0;

    bytes_init(&path, (size_t)1024 * 1024);
    for (size_t i = 0; r == 0 && i < report->n_files; i++) {
        const ComplexityFileRow *file = &report->files[i];
        const ChurnFile *changes;

        r = hotspots_path(&path, prefix, file->path);
        changes = r == 0 ? churn_file_find(churn, bytes_span(&path)) : NULL;
        if (r == 0 && changes == NULL) {
            hotspots->n_unchanged++;
        } else if (r == 0 && file->file.n_functions == 0) {
            hotspots->n_without_functions++;
        } else if (r == 0) {
            hotspots->rows[hotspots->n++] = (AnalysisHotspot){
                .file = file,
                .churn = changes,
                .score =
                    changes->robust_rank * churn_rank(sums, report->n_files, file->sum_cognitive),
            };
        }
    }
    bytes_deinit(&path);
    return r;
}

int analysis_hotspots(AnalysisHotspots *ret, const ComplexityReport *report, const Churn *churn,
                      Span prefix)
{
    CLEANUP(mem_freep) uint64_t *sums = mem_alloc_array(report->n_files + 1, sizeof(*sums));
    int r;

    *ret = (AnalysisHotspots){.report = report, .churn = churn};
    ret->rows = mem_alloc_array(report->n_files + 1, sizeof(*ret->rows));
    if (sums == NULL || ret->rows == NULL) {
        analysis_hotspots_deinit(ret);
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < report->n_files; i++) {
        sums[i] = report->files[i].sum_cognitive;
    }
    churn_rank_sort(sums, report->n_files);
    r = hotspots_fill(ret, report, churn, prefix, sums);
    if (r != 0) {
        analysis_hotspots_deinit(ret);
        return r;
    }
    qsort(ret->rows, ret->n, sizeof(*ret->rows), hotspots_compare);
    return 0;
}

void analysis_hotspots_deinit(AnalysisHotspots *hotspots)
{
    hotspots->rows = mem_free(hotspots->rows);
    hotspots->n = 0;
}

size_t analysis_hotspots_notes(const AnalysisHotspots *hotspots, ChurnNote out[ANALYSIS_MAX_NOTES])
{
    size_t n = churn_notes(hotspots->churn, out);

    if (churn_repository(hotspots->churn)->is_bare) {
        (void)snprintf(out[n++].text, sizeof(out->text),
                       "The repository is bare: it has no work tree to measure.");
    } else if (hotspots->report->n_files == 0) {
        (void)snprintf(out[n++].text, sizeof(out->text), "No file was measured.");
    }
    if (hotspots->n == 0 && hotspots->report->n_files > 0 && churn_n_files(hotspots->churn) > 0) {
        (void)snprintf(out[n++].text, sizeof(out->text),
                       "None of the files that changed is one of those that were measured and have "
                       "functions.");
    }
    return n;
}
