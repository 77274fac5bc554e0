/* The work of a call, and its answer, on a thread of its own: text in the format that was asked
 * for, and structured content, which has the names of the toolkit's document and those of the tool
 * that it describes. */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "providers/analysis_tools_impl.h"
#include "json/writer.h"

/* Above any cursor. */
#define RUN_CURSOR_BYTES 64

/* ---- words ---- */

/* A writer that would need more than an answer may have. */
static int run_written(int r)
{
    return r > 0 ? -EFBIG : err_pass(r);
}

static void run_text(JsonWriter *w, const char *key, Span text)
{
    json_write_key(w, span_from_str(key));
    json_write_string(w, text);
}

static void run_count(JsonWriter *w, const char *key, uint64_t n)
{
    json_write_key(w, span_from_str(key));
    json_write_uint(w, n);
}

/* The text block. */
static int run_say(AnalysisJob *job, const Bytes *text)
{
    JsonWriter w;

    json_writer_init(&w, &job->content, JSON_STYLE_COMPACT);
    json_write_object(&w);
    run_text(&w, "type", SPAN("text"));
    run_text(&w, "text", bytes_span(text));
    json_write_end_object(&w);
    return run_written(json_writer_finish(&w));
}

static void run_begin(AnalysisJob *job, JsonWriter *w)
{
    json_writer_init(w, &job->structured, JSON_STYLE_COMPACT);
    json_write_object(w);
}

static int run_end(JsonWriter *w)
{
    json_write_end_object(w);
    return run_written(json_writer_finish(w));
}

/* Where the next answer begins, if there is more; next_offset, and of which lists. */
static void run_next(JsonWriter *w, const AnalysisAsked *asked, size_t n_longest, uint64_t seen)
{
    if (asked->limit > 0 && asked->offset < n_longest && n_longest - asked->offset > asked->limit) {
        Bytes cursor;

        bytes_init(&cursor, RUN_CURSOR_BYTES);
        if (analysis_cursor_write(asked->offset + asked->limit, seen, &cursor) == 0) {
            run_text(w, "next_cursor", bytes_span(&cursor));
        } else {
            w->r = w->r != 0 ? w->r : -ENOMEM;
        }
        bytes_deinit(&cursor);
    }
}

/* ---- complexity ---- */

typedef struct RunComplexity {
    AnalysisJob *job;
    ComplexityReport report;
    ComplexityReport before;
    ComplexityDelta delta;
    uint64_t seen; /* a number for its lists */
} RunComplexity;

/* Every list of a report, as one number. Increments, lines and names follow from the same files:
 * what has changed shows in what is hashed, or in no place of a list. */
static uint64_t complexity_seen(const RunComplexity *run)
{
    const ComplexityReport *report = &run->report;
    uint64_t seen = analysis_cursor_begin(&run->job->asked);

    for (size_t i = 0; i < report->n_functions; i++) {
        const ComplexityRow *row = &report->functions[i];

        seen = analysis_cursor_row(seen, row->path,
                                   (uint64_t)row->cyclomatic << 32 | row->function->cognitive,
                                   row->function->first_line);
    }
    for (size_t i = 0; i < report->n_files; i++) {
        const ComplexityFileRow *row = &report->files[i];

        seen = analysis_cursor_row(seen, row->path, row->file.lines, row->file.n_functions);
    }
    for (size_t i = 0; i < report->n_skipped; i++) {
        seen = analysis_cursor_row(seen, report->skipped[i].path, report->skipped[i].reason, 0);
    }
    return seen;
}

static size_t run_longest(const ComplexityReport *report)
{
    size_t n = report->n_violations;

    n = n > report->n_functions ? n : report->n_functions;
    n = n > report->n_files ? n : report->n_files;
    return n > report->n_skipped ? n : report->n_skipped;
}

/* As JSON the text is what the structured content is, but for what is said twice there. */
static int complexity_text_json(const RunComplexity *run, Bytes *text)
{
    JsonWriter w;

    json_writer_init(&w, text, JSON_STYLE_COMPACT);
    json_write_object(&w);
    complexity_report_write_members(&run->report, &w);
    if (run->job->asked.files.since != NULL) {
        complexity_delta_write_members(&run->delta, &w);
    }
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

/* Formats that other programs read are not cut unless somebody says so. */
static bool complexity_is_whole(ComplexityFormat format)
{
    return format == COMPLEXITY_SARIF || format == COMPLEXITY_CSV ||
           format == COMPLEXITY_CHECKSTYLE;
}

static int complexity_text(RunComplexity *run, Bytes *text)
{
    const AnalysisAsked *asked = &run->job->asked;
    ComplexityFormat format = asked->complexity_format;
    int r;

    if (format == COMPLEXITY_JSON) {
        return complexity_text_json(run, text);
    }
    run->report.options.limit =
        complexity_is_whole(format) && !asked->has_limit ? 0 : asked->report.limit;
    r = complexity_report_write(&run->report, format, text);
    run->report.options.limit = asked->report.limit;
    if (r == 0 && asked->files.since != NULL && !complexity_is_whole(format)) {
        r = bytes_append_byte(text, '\n');
        r = r != 0 ? r : complexity_delta_write_text(&run->delta, text);
    }
    return r;
}

static void complexity_toolchain(JsonWriter *w, Span toolchain)
{
    run_text(w, "toolchain", toolchain.n > 0 ? toolchain : SPAN("auto"));
}

static int complexity_structured(const RunComplexity *run)
{
    const AnalysisAsked *asked = &run->job->asked;
    JsonWriter w;

    run_begin(run->job, &w);
    complexity_report_write_members(&run->report, &w);
    if (asked->files.since != NULL) {
        complexity_delta_write_members(&run->delta, &w);
    }
    complexity_report_write_report(&run->report, &w);
    complexity_toolchain(&w, asked->files.toolchain);
    run_count(&w, "files_analyzed", run->report.n_files);
    run_text(&w, "format", asked->format);
    run_next(&w, asked, run_longest(&run->report), run->seen);
    return run_end(&w);
}

static int complexity_answer(RunComplexity *run)
{
    Bytes text;
    int r;

    run->seen = complexity_seen(run);
    r = analysis_cursor_check(run->job, run->seen);
    if (r == 0 && run->job->asked.files.since != NULL) {
        r = complexity_delta_init(&run->delta, &run->before, &run->report);
    }
    bytes_init(&text, ANALYSIS_ANSWER_BYTES);
    r = r != 0 ? r : run_written(complexity_text(run, &text));
    r = r != 0 ? r : run_say(run->job, &text);
    bytes_deinit(&text);
    return r != 0 ? r : complexity_structured(run);
}

int analysis_run_complexity(AnalysisJob *job)
{
    RunComplexity run = {.job = job,
                         .report = COMPLEXITY_REPORT_NULL,
                         .before = COMPLEXITY_REPORT_NULL,
                         .delta = COMPLEXITY_DELTA_NULL};
    int r;

    complexity_report_init(&run.report, &job->asked.report);
    complexity_report_init(&run.before, &job->asked.report);
    r = analysis_complexity(&job->asked.files, &job->watch, &run.report,
                            job->asked.files.since != NULL ? &run.before : NULL, &job->diag);
    r = r != 0 ? r : complexity_answer(&run);
    complexity_delta_deinit(&run.delta);
    complexity_report_deinit(&run.before);
    complexity_report_deinit(&run.report);
    return r;
}

/* ---- churn ---- */

static int churn_text(const AnalysisJob *job, const Churn *churn, Bytes *text)
{
    JsonWriter w;

    if (job->asked.churn_format != CHURN_JSON) {
        return churn_write(churn, job->asked.churn_format, text);
    }
    json_writer_init(&w, text, JSON_STYLE_COMPACT);
    json_write_object(&w);
    churn_write_members(churn, &w);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

static uint64_t churn_seen(const AnalysisJob *job, const Churn *churn)
{
    uint64_t seen = analysis_cursor_begin(&job->asked);

    for (size_t i = 0; i < churn_n_files(churn); i++) {
        const ChurnFile *file = churn_file_at(churn, i);

        seen =
            analysis_cursor_row(seen, file->path, file->commits, file->additions + file->deletions);
    }
    return seen;
}

static int churn_answer(AnalysisJob *job, const Churn *churn)
{
    uint64_t seen = churn_seen(job, churn);
    JsonWriter w;
    Bytes text;
    int r = analysis_cursor_check(job, seen);

    if (r != 0) {
        return r;
    }
    bytes_init(&text, ANALYSIS_ANSWER_BYTES);
    r = run_written(churn_text(job, churn, &text));
    r = r != 0 ? r : run_say(job, &text);
    bytes_deinit(&text);
    if (r != 0) {
        return r;
    }
    run_begin(job, &w);
    json_write_key(&w, SPAN("analysis"));
    json_write_object(&w);
    churn_write_members(churn, &w);
    json_write_end_object(&w);
    run_text(&w, "format", job->asked.format);
    run_next(&w, &job->asked, churn_n_files(churn), seen);
    return run_end(&w);
}

int analysis_run_churn(AnalysisJob *job)
{
    Churn *churn = NULL;
    int r = analysis_churn(&job->asked.history, &job->watch, &churn, &job->diag);

    r = r != 0 ? r : churn_answer(job, churn);
    churn = churn_free(churn);
    return r;
}

/* ---- hotspots ---- */

typedef struct RunHotspots {
    AnalysisJob *job;
    ComplexityReport report;
    Churn *churn;
    AnalysisHotspots spots;
} RunHotspots;

static uint64_t hotspots_seen(const RunHotspots *run)
{
    uint64_t seen = analysis_cursor_begin(&run->job->asked);

    for (size_t i = 0; i < run->spots.n; i++) {
        const AnalysisHotspot *spot = &run->spots.rows[i];

        seen = analysis_cursor_row(seen, spot->file->path, spot->churn->commits,
                                   spot->file->sum_cognitive);
    }
    return seen;
}

static int hotspots_structured(const RunHotspots *run, uint64_t seen)
{
    const AnalysisAsked *asked = &run->job->asked;
    JsonWriter w;

    run_begin(run->job, &w);
    analysis_hotspots_write_members(&run->spots, asked->limit, &w);
    complexity_toolchain(&w, asked->files.toolchain);
    run_count(&w, "files_analyzed", run->report.n_files);
    run_count(&w, "files_changed", churn_n_files(run->churn));
    run_count(&w, "commits", churn_n_commits(run->churn));
    run_count(&w, "period_days", (uint64_t)asked->history.options.period_days);
    run_text(&w, "format", asked->format);
    run_next(&w, asked, run->spots.n, seen);
    return run_end(&w);
}

static int hotspots_answer(RunHotspots *run)
{
    const AnalysisAsked *asked = &run->job->asked;
    uint64_t seen = hotspots_seen(run);
    Bytes text;
    int r = analysis_cursor_check(run->job, seen);

    run->spots.offset = asked->offset;
    r = r != 0 ? r : hotspots_structured(run, seen);
    if (r != 0) {
        return r;
    }
    bytes_init(&text, ANALYSIS_ANSWER_BYTES);
    r = span_equals(asked->format, SPAN("json"))
            ? bytes_append_span(&text, bytes_span(&run->job->structured))
            : analysis_hotspots_write_text(&run->spots, asked->limit, &text);
    r = r != 0 ? run_written(r) : run_say(run->job, &text);
    bytes_deinit(&text);
    return r;
}

/* History first: without one there is nothing to wait for. */
static int hotspots_work(RunHotspots *run, char **ret_prefix)
{
    AnalysisJob *job = run->job;
    int r = analysis_prefix(job->asked.files.root, job->asked.files.path, &job->watch, ret_prefix,
                            &job->diag);

    r = r != 0 ? r : analysis_churn(&job->asked.history, &job->watch, &run->churn, &job->diag);
    if (r != 0) {
        return r;
    }
    atomic_store(&job->watch.done, 0);
    r = analysis_complexity(&job->asked.files, &job->watch, &run->report, NULL, &job->diag);
    return r != 0 ? r
                  : analysis_hotspots(&run->spots, &run->report, run->churn,
                                      span_from_str(*ret_prefix));
}

int analysis_run_hotspots(AnalysisJob *job)
{
    RunHotspots run = {
        .job = job, .report = COMPLEXITY_REPORT_NULL, .spots = ANALYSIS_HOTSPOTS_NULL};
    CLEANUP(mem_freep) char *prefix = NULL;
    int r;

    complexity_report_init(&run.report, &job->asked.report);
    r = hotspots_work(&run, &prefix);
    r = r != 0 ? r : hotspots_answer(&run);
    analysis_hotspots_deinit(&run.spots);
    run.churn = churn_free(run.churn);
    complexity_report_deinit(&run.report);
    return r;
}
