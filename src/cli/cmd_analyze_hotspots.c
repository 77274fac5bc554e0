/* `toolwire analyze hotspots`: files that are complicated and often changed. */
#include "base/alloc.h"
#include "cli/cmd_analyze.h"
#include "cli/cmd_analyze_job.h"
#include "cli/cmd_analyze_options.h"
#include "cli/cmd_analyze_picture.h"
#include "cli/cmd_analyze_tables.h"

static const CliOption hotspots_options[] = {
    {"format", "FORMAT", "table (default), markdown or json"},
    ANALYZE_OPTION_JSON,
    {"top", "N", "so many files (20 in tables; elsewhere all)"},
    ANALYZE_OPTION_DAYS,
    ANALYZE_OPTION_UNTIL,
    ANALYZE_OPTION_REV,
    ANALYZE_OPTION_PATH,
    ANALYZE_OPTION_NO_RENAMES,
    ANALYZE_OPTION_TOOLCHAIN,
    ANALYZE_OPTION_INCLUDE,
    ANALYZE_OPTION_EXCLUDE,
    ANALYZE_OPTION_ALL,
    ANALYZE_OPTION_NO_IGNORE,
    ANALYZE_OPTION_THREADS,
    ANALYZE_OPTION_NO_CACHE,
    ANALYZE_OPTION_STATE,
    ANALYZE_OPTION_SVG,
    ANALYZE_OPTION_HTML,
    {NULL, NULL, NULL},
};

static const char *const hotspots_formats[] = {"markdown", "json", NULL};

typedef struct HotspotsRun {
    AnalyzeAsked asked;
    AnalyzeJob job;
    ComplexityReport report;
    Churn *churn;
    char *prefix;
    AnalysisHotspots hotspots;
} HotspotsRun;

/* History first: without one there is nothing to wait for. */
static int hotspots_work(AnalyzeJob *job)
{
    HotspotsRun *run = job->context;
    int r = analysis_prefix(NULL, run->asked.files.path, &job->watch, &run->prefix, &job->diag);

    r = r != 0 ? r : analysis_churn(&run->asked.history, &job->watch, &run->churn, &job->diag);
    if (r != 0) {
        return r;
    }
    atomic_store(&job->watch.done, 0);
    complexity_report_init(&run->report, &run->asked.report);
    r = analysis_complexity(&run->asked.files, &job->watch, &run->report, NULL, &job->diag);
    return r != 0 ? r
                  : analysis_hotspots(&run->hotspots, &run->report, run->churn,
                                      span_from_str(run->prefix));
}

/* ---- output ---- */

static void say_head(const HotspotsRun *run, AnalyzeText *text)
{
    const ChurnOptions *options = &run->asked.history.options;

    analyze_say_name(text, span_from_str(run->asked.files.path));
    analyze_say_span(text, SPAN(": "));
    analyze_say_count(text, run->hotspots.n, "file", "files");
    analyze_say_span(text, SPAN(" of "));
    analyze_say_number(text, (double)run->report.n_files, 0);
    analyze_say_span(text, run->hotspots.n == 1 ? SPAN(" has functions and has changed")
                                                : SPAN(" have functions and have changed"));
    if (options->period_days > 0) {
        analyze_say_span(text, SPAN(" in "));
        analyze_say_count(text, (size_t)options->period_days, "day", "days");
    }
    analyze_say_span(text, SPAN(" ("));
    analyze_say_count(text, churn_n_commits(run->churn), "commit", "commits");
    analyze_say_span(text, SPAN(")"));
    if (run->hotspots.n_unchanged > 0) {
        analyze_say_span(text, SPAN("; "));
        analyze_say_number(text, (double)run->hotspots.n_unchanged, 0);
        analyze_say_span(text, SPAN(" did not change"));
    }
    if (run->hotspots.n_without_functions > 0) {
        analyze_say_span(text, SPAN("; "));
        analyze_say_number(text, (double)run->hotspots.n_without_functions, 0);
        analyze_say_span(text, SPAN(" changed and without functions"));
    }
    analyze_say_span(text, SPAN("\n"));
}

static void say_tables(const HotspotsRun *run, AnalyzeText *text)
{
    size_t n = run->hotspots.n < run->asked.top ? run->hotspots.n : run->asked.top;
    ChurnNote notes[ANALYSIS_MAX_NOTES];

    say_head(run, text);
    analyze_table_hotspots(text, run->hotspots.rows, n, churn_has_lines(run->churn));
    analyze_say_skipped(text, &run->report);
    analyze_say_notes(text, notes, analysis_hotspots_notes(&run->hotspots, notes));
}

static void json_count_member(JsonWriter *w, Span key, uint64_t n)
{
    json_write_key(w, key);
    json_write_uint(w, n);
}

static void write_json(const HotspotsRun *run, size_t limit, AnalyzeText *text)
{
    JsonWriter w;

    json_writer_init(&w, &text->out, JSON_STYLE_PRETTY);
    json_write_object(&w);
    analysis_hotspots_write_members(&run->hotspots, limit, &w);
    json_count_member(&w, SPAN("files_analyzed"), run->report.n_files);
    json_count_member(&w, SPAN("files_changed"), churn_n_files(run->churn));
    json_count_member(&w, SPAN("commits"), churn_n_commits(run->churn));
    json_count_member(&w, SPAN("period_days"), (uint64_t)run->asked.history.options.period_days);
    json_write_end_object(&w);
    text->r = json_writer_finish(&w);
    analyze_say_span(text, SPAN("\n"));
}

static int hotspots_print(const HotspotsRun *run)
{
    size_t limit = run->asked.has_top ? run->asked.top : 0;
    AnalyzeText text;
    int status;

    analyze_text_init(&text, run->asked.args);
    if (run->asked.format.n == 0) {
        say_tables(run, &text);
    } else if (span_equals(run->asked.format, SPAN("json"))) {
        write_json(run, limit, &text);
    } else {
        text.r = analysis_hotspots_write_text(&run->hotspots, limit, &text.out);
    }
    status = analyze_text_print(&text);
    analyze_text_deinit(&text);
    return status;
}

static int hotspots_run(const CliArgs *args)
{
    HotspotsRun run = {.report = COMPLEXITY_REPORT_NULL, .hotspots = ANALYSIS_HOTSPOTS_NULL};
    int status = analyze_asked_init(&run.asked, args, 20);

    run.job = (AnalyzeJob){.args = args,
                           .diag = DIAG_NULL,
                           .run = hotspots_work,
                           .context = &run,
                           .begins = "reading the history"};
    if (status == 0) {
        status = analyze_asked_check_format(&run.asked, hotspots_formats);
    }
    status = status != 0 ? status : analyze_picture_check(&run.asked);
    status = status != 0 ? status : analyze_job_run(&run.job);
    if (status == 0 && analyze_wants_text(&run.asked)) {
        status = hotspots_print(&run);
    }
    if (status == 0 && analyze_wants_picture(&run.asked)) {
        status = analyze_picture_hotspots(&run.asked, &run.report, run.churn,
                                          span_from_str(run.prefix), &run.hotspots);
    }
    analysis_hotspots_deinit(&run.hotspots);
    run.prefix = mem_free(run.prefix);
    run.churn = churn_free(run.churn);
    complexity_report_deinit(&run.report);
    analyze_asked_deinit(&run.asked);
    return status;
}

const CliCommand cmd_analyze_hotspots = {
    .name = "analyze hotspots",
    .operands = "[PATH]",
    .summary = "find the files that are complicated and often changed",
    .details = "The score is the rank of a file by its changes times its rank by cognitive\n"
               "complexity, from 0 to 1.",
    .options = hotspots_options,
    .run = hotspots_run,
};
