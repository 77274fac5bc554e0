/* Files that are complicated and often changed (analysis.h). */
#include <errno.h>
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
        if (changes != NULL && file->file.n_functions > 0) {
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

    *ret = ANALYSIS_HOTSPOTS_NULL;
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

static size_t hotspots_count(const AnalysisHotspots *hotspots, size_t limit)
{
    return limit > 0 && limit < hotspots->n ? limit : hotspots->n;
}

/* A name in a table: what would end its cell does not. */
static int hotspots_cell(Bytes *out, Span text)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < text.n; i++) {
        char c = text.p[i];

        if (c == '|' || c == '\\') {
            r = bytes_append_byte(out, '\\');
        }
        r = r != 0 ? r : bytes_append_byte(out, (unsigned char)c < ' ' ? ' ' : c);
    }
    return r;
}

int analysis_hotspots_write_text(const AnalysisHotspots *hotspots, size_t limit, Bytes *out)
{
    size_t start = out->n;
    size_t n = hotspots_count(hotspots, limit);
    int r = bytes_append_format(
        out, "# Hotspots\n\n%zu files are both measured and changed in the window%s\n", hotspots->n,
        hotspots->n == 0 ? "." : "; the worst first.");

    if (r == 0 && n > 0) {
        r = bytes_append_span(out,
                              SPAN("\n| Rank | File | Score | Commits | Lines changed | Authors "
                                   "| Cognitive | Max Cyclomatic | Functions |\n"
                                   "|---:|---|---:|---:|---:|---:|---:|---:|---:|\n"));
    }
    for (size_t i = 0; r == 0 && i < n; i++) {
        const AnalysisHotspot *row = &hotspots->rows[i];

        r = bytes_append_format(out, "| %zu | ", i + 1);
        r = r != 0 ? r : hotspots_cell(out, row->file->path);
        r = r != 0 ? r
                   : bytes_append_format(
                         out, " | %.3f | %u | %llu | %zu | %llu | %u | %zu |\n", row->score,
                         row->churn->commits,
                         (unsigned long long)(row->churn->additions + row->churn->deletions),
                         row->churn->n_authors, (unsigned long long)row->file->sum_cognitive,
                         row->file->max_cyclomatic, row->file->file.n_functions);
    }
    if (r != 0) {
        out->n = start;
    }
    return r;
}

static void hotspots_number(JsonWriter *w, const char *key, uint64_t value)
{
    json_write_key(w, span_from_str(key));
    json_write_uint(w, value);
}

static void hotspots_real(JsonWriter *w, const char *key, double value)
{
    json_write_key(w, span_from_str(key));
    json_write_double(w, (double)(int64_t)(value * 10000 + 0.5) / 10000);
}

static void hotspots_write_row(JsonWriter *w, const AnalysisHotspot *row, size_t rank)
{
    json_write_object(w);
    hotspots_number(w, "rank", rank);
    json_write_key(w, SPAN("file"));
    json_write_string(w, row->file->path);
    hotspots_real(w, "score", row->score);
    hotspots_number(w, "commits", row->churn->commits);
    hotspots_number(w, "additions", row->churn->additions);
    hotspots_number(w, "deletions", row->churn->deletions);
    hotspots_number(w, "authors", row->churn->n_authors);
    hotspots_real(w, "churn_score", row->churn->churn_score);
    hotspots_real(w, "churn_rank", row->churn->robust_rank);
    hotspots_number(w, "sum_cognitive", row->file->sum_cognitive);
    hotspots_number(w, "sum_cyclomatic", row->file->sum_cyclomatic);
    hotspots_number(w, "max_cyclomatic", row->file->max_cyclomatic);
    hotspots_number(w, "function_count", row->file->file.n_functions);
    hotspots_number(w, "code_lines", row->file->file.code_lines);
    json_write_end_object(w);
}

void analysis_hotspots_write_members(const AnalysisHotspots *hotspots, size_t limit, JsonWriter *w)
{
    size_t n = hotspots_count(hotspots, limit);

    json_write_key(w, SPAN("hotspots"));
    json_write_array(w);
    for (size_t i = 0; i < n; i++) {
        hotspots_write_row(w, &hotspots->rows[i], i + 1);
    }
    json_write_end_array(w);
    hotspots_number(w, "total_hotspots", hotspots->n);
}
