/* Hotspots as text and as JSON (analysis.h). */
#include <inttypes.h>
#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "providers/analysis.h"
#include "toolkit/shown.h"

/* The first row of the answer, and the one behind its last. */
static size_t hotspots_begin(const AnalysisHotspots *hotspots)
{
    return hotspots->offset < hotspots->n ? hotspots->offset : hotspots->n;
}

static size_t hotspots_end(const AnalysisHotspots *hotspots, size_t limit)
{
    size_t begin = hotspots_begin(hotspots);

    return limit > 0 && limit < hotspots->n - begin ? begin + limit : hotspots->n;
}

/* Both parts of the work; < 0: one of them was not measured. */
static int64_t hotspots_elapsed(const AnalysisHotspots *hotspots)
{
    int64_t churn_us = churn_elapsed(hotspots->churn);
    int64_t report_us = hotspots->report->options.elapsed_us;

    return churn_us < 0 || report_us < 0 ? -1 : churn_us + report_us;
}

/* ---- text ---- */

/* A name in a table: nothing in it is taken for a mark. */
static int text_name(Bytes *out, Span name)
{
    int r = 0;

    while (r == 0 && name.n > 0) {
        ToolkitShown shown = toolkit_shown_next(&name);

        for (size_t i = 0; r == 0 && i < shown.n; i++) {
            if (strchr("\\`*_[]<>|#&~", shown.bytes[i]) != NULL) {
                r = bytes_append_byte(out, '\\');
            }
            r = r != 0 ? r : bytes_append_byte(out, shown.bytes[i]);
        }
    }
    return r;
}

static int text_row(const AnalysisHotspots *hotspots, size_t i, Bytes *out)
{
    const AnalysisHotspot *row = &hotspots->rows[i];
    int r = bytes_append_format(out, "| %zu | ", i + 1);

    r = r != 0 ? r : text_name(out, row->file->path);
    r = r != 0
            ? r
            : bytes_append_format(out, " | %.3f | %" PRIu32 " | ", row->score, row->churn->commits);
    if (r == 0 && churn_has_lines(hotspots->churn)) {
        r = bytes_append_format(out, "%" PRIu64 " | ",
                                row->churn->additions + row->churn->deletions);
    }
    return r != 0 ? r
                  : bytes_append_format(out, "%zu | %" PRIu64 " | %" PRIu32 " | %zu |\n",
                                        row->churn->n_authors, row->file->sum_cognitive,
                                        row->file->max_cyclomatic, row->file->file.n_functions);
}

static int text_table(const AnalysisHotspots *hotspots, size_t end, Bytes *out)
{
    bool has_lines = churn_has_lines(hotspots->churn);
    int r = bytes_append_format(out,
                                "\n| Rank | File | Score | Commits |%s Authors | Cognitive | Max "
                                "Cyclomatic | Functions |\n|---:|---|---:|---:|%s---:|---:|---:|"
                                "---:|\n",
                                has_lines ? " Lines changed |" : "", has_lines ? "---:|" : "");

    for (size_t i = hotspots_begin(hotspots); r == 0 && i < end; i++) {
        r = text_row(hotspots, i, out);
    }
    if (r == 0 && end < hotspots->n) {
        r = bytes_append_format(out, "\n%zu more: they begin at offset %zu.\n", hotspots->n - end,
                                end);
    }
    return r;
}

static int text_skipped(const ComplexitySummary *summary, Bytes *out)
{
    size_t n = 0;
    size_t n_told = 0;
    int r = 0;

    for (size_t i = 0; i < COMPLEXITY_N_SKIPS; i++) {
        n += summary->n_skipped[i];
    }
    if (n == 0) {
        return 0;
    }
    r = bytes_append_format(out, "- **Files skipped:** %zu", n);
    for (size_t i = 0; r == 0 && i < COMPLEXITY_N_SKIPS; i++) {
        if (summary->n_skipped[i] > 0) {
            r = bytes_append_format(out, "%s%zu %s", n_told++ == 0 ? " (" : ", ",
                                    summary->n_skipped[i], complexity_skip_name((ComplexitySkip)i));
        }
    }
    return r != 0 ? r : bytes_append(out, ")\n", 2);
}

/* What the rows were taken from. */
static int text_counts(const AnalysisHotspots *hotspots, Bytes *out)
{
    const ComplexitySummary *summary = &hotspots->report->summary;
    int64_t elapsed_us = hotspots_elapsed(hotspots);
    int r = bytes_append_format(out,
                                "\n- **Files analyzed:** %zu (%zu not changed in the window, %zu "
                                "changed and without functions)\n- **Files changed:** %zu in %zu "
                                "commit%s\n",
                                hotspots->report->n_files, hotspots->n_unchanged,
                                hotspots->n_without_functions, churn_n_files(hotspots->churn),
                                churn_n_commits(hotspots->churn),
                                churn_n_commits(hotspots->churn) == 1 ? "" : "s");

    r = r != 0 ? r : text_skipped(summary, out);
    if (r == 0 && summary->n_with_parse_errors > 0) {
        r = bytes_append_format(out, "- **Files parsed with errors:** %zu\n",
                                summary->n_with_parse_errors);
    }
    if (r == 0 && elapsed_us >= 0) {
        r = bytes_append_format(out, "- **Elapsed:** %.1f ms\n", (double)elapsed_us / 1000);
    }
    return r;
}

int analysis_hotspots_write_text(const AnalysisHotspots *hotspots, size_t limit, Bytes *out)
{
    ChurnNote notes[ANALYSIS_MAX_NOTES];
    size_t n_notes = analysis_hotspots_notes(hotspots, notes);
    size_t start = out->n;
    size_t end = hotspots_end(hotspots, limit);
    int r = bytes_append_format(
        out, "# Hotspots\n\n%zu file%s both measured and changed in the window%s\n", hotspots->n,
        hotspots->n == 1 ? " is" : "s are", hotspots->n < 2 ? "." : "; the worst first.");

    if (r == 0 && hotspots_begin(hotspots) < end) {
        r = text_table(hotspots, end, out);
    }
    r = r != 0 ? r : text_counts(hotspots, out);
    for (size_t i = 0; r == 0 && i < n_notes; i++) {
        r = bytes_append_format(out, "\n%s\n", notes[i].text);
    }
    if (r != 0) {
        out->n = start;
    }
    return r;
}

/* ---- JSON ---- */

static void members_number(JsonWriter *w, const char *key, uint64_t value)
{
    json_write_key(w, span_from_str(key));
    json_write_uint(w, value);
}

static void members_real(JsonWriter *w, const char *key, double value, double scale)
{
    json_write_key(w, span_from_str(key));
    json_write_double(w, (double)(int64_t)(value * scale + 0.5) / scale);
}

/* Two paths that are no text look the same as JSON; these bytes do not. */
static void members_path_bytes(JsonWriter *w, Span path)
{
    Bytes text;
    int r;

    if (utf8_valid(path.p, path.n, NULL)) {
        return;
    }
    bytes_init(&text, path.n * 2 + 4);
    r = base64_encode(&text, BASE64_STANDARD, path);
    json_write_key(w, SPAN("path_base64"));
    json_write_string(w, bytes_span(&text));
    w->r = w->r != 0 ? w->r : r;
    bytes_deinit(&text);
}

static void members_row(const AnalysisHotspots *hotspots, JsonWriter *w, size_t i)
{
    const AnalysisHotspot *row = &hotspots->rows[i];

    json_write_object(w);
    members_number(w, "rank", i + 1);
    json_write_key(w, SPAN("file"));
    json_write_string(w, row->file->path);
    members_path_bytes(w, row->file->path);
    members_real(w, "score", row->score, 10000);
    members_number(w, "commits", row->churn->commits);
    if (churn_has_lines(hotspots->churn)) {
        members_number(w, "additions", row->churn->additions);
        members_number(w, "deletions", row->churn->deletions);
        members_real(w, "churn_score", row->churn->churn_score, 10000);
    }
    members_number(w, "authors", row->churn->n_authors);
    members_real(w, "churn_rank", row->churn->robust_rank, 10000);
    members_number(w, "sum_cognitive", row->file->sum_cognitive);
    members_number(w, "sum_cyclomatic", row->file->sum_cyclomatic);
    members_number(w, "max_cyclomatic", row->file->max_cyclomatic);
    members_number(w, "function_count", row->file->file.n_functions);
    members_number(w, "code_lines", row->file->file.code_lines);
    if (row->file->file.n_errors > 0) {
        members_number(w, "parse_errors", row->file->file.n_errors);
    }
    json_write_end_object(w);
}

static void members_skipped(JsonWriter *w, const ComplexitySummary *summary)
{
    json_write_key(w, SPAN("skipped_files"));
    json_write_object(w);
    for (size_t i = 0; i < COMPLEXITY_N_SKIPS; i++) {
        if (summary->n_skipped[i] > 0) {
            members_number(w, complexity_skip_name((ComplexitySkip)i), summary->n_skipped[i]);
        }
    }
    json_write_end_object(w);
}

static void members_notes(JsonWriter *w, const AnalysisHotspots *hotspots)
{
    ChurnNote notes[ANALYSIS_MAX_NOTES];
    size_t n = analysis_hotspots_notes(hotspots, notes);

    json_write_key(w, SPAN("notes"));
    json_write_array(w);
    for (size_t i = 0; i < n; i++) {
        json_write_string(w, span_from_str(notes[i].text));
    }
    json_write_end_array(w);
}

void analysis_hotspots_write_members(const AnalysisHotspots *hotspots, size_t limit, JsonWriter *w)
{
    const ComplexitySummary *summary = &hotspots->report->summary;
    int64_t elapsed_us = hotspots_elapsed(hotspots);
    size_t end = hotspots_end(hotspots, limit);

    json_write_key(w, SPAN("hotspots"));
    json_write_array(w);
    for (size_t i = hotspots_begin(hotspots); i < end; i++) {
        members_row(hotspots, w, i);
    }
    json_write_end_array(w);
    members_number(w, "total_hotspots", hotspots->n);
    if (end < hotspots->n) {
        members_number(w, "next_offset", end);
    }
    members_number(w, "files_unchanged", hotspots->n_unchanged);
    members_number(w, "files_without_functions", hotspots->n_without_functions);
    members_number(w, "files_with_parse_errors", summary->n_with_parse_errors);
    members_skipped(w, summary);
    json_write_key(w, SPAN("bare"));
    json_write_bool(w, churn_repository(hotspots->churn)->is_bare);
    json_write_key(w, SPAN("shallow"));
    json_write_bool(w, churn_repository(hotspots->churn)->is_shallow);
    members_notes(w, hotspots);
    if (elapsed_us >= 0) {
        members_real(w, "elapsed_ms", (double)elapsed_us / 1000, 1000);
    }
}
