/* `toolwire analyze hotspots`: files that are complicated and often changed. */
#include "base/alloc.h"
#include "cli/cmd_analyze.h"
#include "cli/cmd_analyze_job.h"
#include "cli/cmd_analyze_options.h"
#include "cli/cmd_analyze_picture.h"
#include "cli/cmd_analyze_text.h"

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
    int r = analysis_prefix(run->asked.files.path, &job->watch, &run->prefix, &job->diag);

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
    analyze_say_span(text, SPAN(")\n"));
}

static ChartTone score_tone(double score)
{
    return score > 0.8 ? CHART_ERROR : score > 0.6 ? CHART_WARNING : CHART_GOOD;
}

static void say_table(const HotspotsRun *run, AnalyzeText *text)
{
    static const ChartColumn columns[] = {
        {"score", CHART_NUMBER},      {"", CHART_BAR},           {"commits", CHART_NUMBER},
        {"changed", CHART_NUMBER},    {"authors", CHART_NUMBER}, {"cognitive", CHART_NUMBER},
        {"cyclomatic", CHART_NUMBER}, {"lines", CHART_NUMBER},   {"file", CHART_PATH}};
    ChartGrid grid;

    chart_grid_init(&grid, &text->arena, columns, TW_ARRAY_SIZE(columns));
    for (size_t i = 0; i < run->hotspots.n && i < run->asked.top; i++) {
        const AnalysisHotspot *spot = &run->hotspots.rows[i];
        uint64_t changed = spot->churn->additions + spot->churn->deletions;

        analyze_add_row(
            text, &grid,
            (ChartCell[]){
                analyze_cell_number(text, spot->score, 2, CHART_PLAIN),
                {.value = spot->score, .tone = score_tone(spot->score)},
                analyze_cell_number(text, spot->churn->commits, 0, CHART_PLAIN),
                analyze_cell_number(text, (double)changed, 0, CHART_PLAIN),
                analyze_cell_number(text, (double)spot->churn->n_authors, 0, CHART_PLAIN),
                analyze_cell_number(text, (double)spot->file->sum_cognitive, 0, CHART_PLAIN),
                analyze_cell_number(text, spot->file->max_cyclomatic, 0, CHART_PLAIN),
                analyze_cell_number(text, spot->file->file.code_lines, 0, CHART_PLAIN),
                analyze_cell(spot->file->path)});
    }
    if (grid.n_rows > 0) {
        analyze_say_heading(text, "Complicated and often changed");
        analyze_say_grid(text, &grid);
    }
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
        say_head(run, &text);
        say_table(run, &text);
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
    status = status != 0 ? status : analyze_job_run(&run.job);
    status = status != 0 ? status : hotspots_print(&run);
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
