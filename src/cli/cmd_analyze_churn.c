/* `toolwire analyze churn`: how often, by whom and how much files change. */
#include <string.h>

#include "base/alloc.h"
#include "base/rfc3339.h"
#include "cli/cmd_analyze.h"
#include "cli/cmd_analyze_job.h"
#include "cli/cmd_analyze_options.h"
#include "cli/cmd_analyze_picture.h"
#include "cli/cmd_analyze_text.h"
#include "json/json.h"

static const CliOption churn_options[] = {
    {"format", "FORMAT", "table (default), summary, markdown, json or csv"},
    ANALYZE_OPTION_JSON,
    {"top", "N", "so many files (20 in tables; elsewhere all)"},
    ANALYZE_OPTION_DAYS,
    ANALYZE_OPTION_UNTIL,
    ANALYZE_OPTION_REV,
    ANALYZE_OPTION_PATH,
    ANALYZE_OPTION_NO_RENAMES,
    {"directories", NULL, "folders, too"},
    {"co-changes", NULL, "files that change together, too"},
    ANALYZE_OPTION_NO_CACHE,
    ANALYZE_OPTION_STATE,
    ANALYZE_OPTION_SVG,
    ANALYZE_OPTION_HTML,
    {NULL, NULL, NULL},
};

static const char *const churn_formats[] = {"summary", "markdown", "json", "csv", NULL};

typedef struct ChurnTask {
    AnalyzeAsked asked;
    AnalyzeJob job;
    Churn *churn;
    char *prefix;
    ComplexityReport report; /* for a picture: whose size and place are known */
} ChurnTask;

static int churn_work(AnalyzeJob *job)
{
    ChurnTask *run = job->context;
    int r = analysis_churn(&run->asked.history, &job->watch, &run->churn, &job->diag);

    if (r != 0 || !analyze_wants_picture(&run->asked)) {
        return r;
    }
    atomic_store(&job->watch.done, 0);
    complexity_report_init(&run->report, &run->asked.report);
    r = analysis_prefix(run->asked.files.path, &job->watch, &run->prefix, &job->diag);
    return r != 0 ? r
                  : analysis_complexity(&run->asked.files, &job->watch, &run->report, NULL,
                                        &job->diag);
}

/* ---- tables ---- */

static void say_head(const ChurnTask *run, AnalyzeText *text)
{
    const ChurnOptions *options = &run->asked.history.options;
    uint64_t additions = 0;
    uint64_t deletions = 0;

    for (size_t i = 0; i < churn_n_files(run->churn); i++) {
        additions += churn_file_at(run->churn, i)->additions;
        deletions += churn_file_at(run->churn, i)->deletions;
    }
    analyze_say_name(text, span_from_str(run->asked.files.path));
    analyze_say_span(text, SPAN(": "));
    analyze_say_count(text, churn_n_commits(run->churn), "commit", "commits");
    if (options->period_days > 0) {
        analyze_say_span(text, SPAN(" in "));
        analyze_say_count(text, (size_t)options->period_days, "day", "days");
    }
    analyze_say_span(text, SPAN(", "));
    analyze_say_count(text, churn_n_files(run->churn), "file", "files");
    analyze_say_span(text, SPAN(", +"));
    analyze_say_number(text, (double)additions, 0);
    analyze_say_span(text, SPAN(" \u2212"));
    analyze_say_number(text, (double)deletions, 0);
    analyze_say_span(text, SPAN(" lines\n"));
}

/* "2026-05-01" */
static Span churn_day(AnalyzeText *text, int64_t unix_s)
{
    char stamp[RFC3339_SIZE];

    rfc3339_format(unix_s < RFC3339_MAX_MS / 1000 && unix_s > RFC3339_MIN_MS / 1000 ? unix_s * 1000
                                                                                    : 0,
                   stamp);
    return analyze_format(text, "%.10s", stamp);
}

/* "37 % Somebody" */
static Span churn_owner(AnalyzeText *text, const ChurnFile *file)
{
    return file->n_authors == 0
               ? SPAN("")
               : analyze_format(
                     text, "%.0f %% %.*s", file->ownership * 100,
                     (int)(file->authors[0].name.n < 100 ? file->authors[0].name.n : 100),
                     file->authors[0].name.p);
}

static ChartTone rank_tone(double rank)
{
    return rank > 0.95 ? CHART_ERROR : rank > 0.8 ? CHART_WARNING : CHART_GOOD;
}

static void say_files(const ChurnTask *run, AnalyzeText *text)
{
    static const ChartColumn columns[] = {
        {"score", CHART_NUMBER}, {"", CHART_BAR},          {"commits", CHART_NUMBER},
        {"+", CHART_NUMBER},     {"\u2212", CHART_NUMBER}, {"authors", CHART_NUMBER},
        {"owner", CHART_NAME},   {"last", CHART_LEFT},     {"file", CHART_PATH}};
    size_t n = churn_n_files(run->churn);
    ChartGrid grid;

    chart_grid_init(&grid, &text->arena, columns, TW_ARRAY_SIZE(columns));
    for (size_t i = 0; i < n && i < run->asked.top; i++) {
        const ChurnFile *file = churn_file_at(run->churn, i);
        ChartTone tone = file->is_deleted || file->flag != NULL ? CHART_FAINT : CHART_PLAIN;

        analyze_add_row(
            text, &grid,
            (ChartCell[]){analyze_cell_number(text, file->churn_score, 2, CHART_PLAIN),
                          {.value = file->churn_score, .tone = rank_tone(file->robust_rank)},
                          analyze_cell_number(text, file->commits, 0, CHART_PLAIN),
                          analyze_cell_number(text, (double)file->additions, 0, CHART_PLAIN),
                          analyze_cell_number(text, (double)file->deletions, 0, CHART_PLAIN),
                          analyze_cell_number(text, (double)file->n_authors, 0, CHART_PLAIN),
                          analyze_cell(churn_owner(text, file)),
                          analyze_cell(churn_day(text, file->last_modified_s)),
                          {.text = file->path, .tone = tone}});
    }
    if (grid.n_rows > 0) {
        analyze_say_heading(text, "The files that change most");
        analyze_say_grid(text, &grid);
    }
}

static double member_number(JsonValue object, const char *key)
{
    double number = 0;
    JsonValue v;

    return json_get(object, span_from_str(key), &v) && json_double(v, &number) == 0 ? number : 0;
}

static Span member_text(AnalyzeText *text, JsonValue object, const char *key)
{
    Span words = SPAN("");
    JsonValue v;

    if (json_get(object, span_from_str(key), &v)) {
        int r = json_string(v, &text->arena, &words);

        text->r = text->r != 0 ? text->r : r;
    }
    return words;
}

static void say_folders(AnalyzeText *text, JsonValue folders)
{
    static const ChartColumn columns[] = {{"commits", CHART_NUMBER}, {"", CHART_BAR},
                                          {"files", CHART_NUMBER},   {"+", CHART_NUMBER},
                                          {"\u2212", CHART_NUMBER},  {"authors", CHART_NUMBER},
                                          {"folder", CHART_PATH}};
    ChartGrid grid;

    chart_grid_init(&grid, &text->arena, columns, TW_ARRAY_SIZE(columns));
    for (JsonIter it = json_iter(folders); json_iter_next(&it);) {
        double commits = member_number(it.value, "commit_count");

        analyze_add_row(
            text, &grid,
            (ChartCell[]){
                analyze_cell_number(text, commits, 0, CHART_PLAIN),
                {.value = commits, .tone = CHART_GOOD},
                analyze_cell_number(text, member_number(it.value, "files"), 0, CHART_PLAIN),
                analyze_cell_number(text, member_number(it.value, "additions"), 0, CHART_PLAIN),
                analyze_cell_number(text, member_number(it.value, "deletions"), 0, CHART_PLAIN),
                analyze_cell_number(text, member_number(it.value, "author_count"), 0, CHART_PLAIN),
                analyze_cell(member_text(text, it.value, "path"))});
    }
    analyze_say_heading(text, "Folders");
    analyze_say_grid(text, &grid);
}

static void say_pairs(AnalyzeText *text, JsonValue pairs)
{
    static const ChartColumn columns[] = {{"commits", CHART_NUMBER},
                                          {"of first", CHART_NUMBER},
                                          {"of second", CHART_NUMBER},
                                          {"first", CHART_PATH},
                                          {"second", CHART_PATH}};
    ChartGrid grid;

    chart_grid_init(&grid, &text->arena, columns, TW_ARRAY_SIZE(columns));
    for (JsonIter it = json_iter(pairs); json_iter_next(&it);) {
        analyze_add_row(
            text, &grid,
            (ChartCell[]){
                analyze_cell_number(text, member_number(it.value, "support"), 0, CHART_PLAIN),
                analyze_cell(analyze_format(text, "%.0f %%",
                                            member_number(it.value, "share_of_first") * 100)),
                analyze_cell(analyze_format(text, "%.0f %%",
                                            member_number(it.value, "share_of_second") * 100)),
                analyze_cell(member_text(text, it.value, "first")),
                analyze_cell(member_text(text, it.value, "second"))});
    }
    analyze_say_heading(text, "Files that change together");
    analyze_say_grid(text, &grid);
}

/* Folders, pairs and notes: in the words of the JSON, which has them all. */
static void say_rest(const ChurnTask *run, AnalyzeText *text)
{
    CLEANUP(bytes_deinit) Bytes json = BYTES_NULL;
    JsonDoc doc;
    JsonValue v;
    int r;

    bytes_init(&json, (size_t)1024 * 1024 * 1024);
    r = churn_write(run->churn, CHURN_JSON, &json);
    r = r != 0 ? r : json_parse(&doc, &text->arena, json.data, json.n, NULL, NULL);
    if (r != 0) {
        text->r = text->r != 0 ? text->r : r;
        return;
    }
    if (json_get(json_root(&doc), SPAN("directories"), &v)) {
        say_folders(text, v);
    }
    if (json_get(json_root(&doc), SPAN("co_changes"), &v)) {
        say_pairs(text, v);
    }
    if (json_get(json_root(&doc), SPAN("notes"), &v)) {
        for (JsonIter it = json_iter(v); json_iter_next(&it);) {
            Span note = SPAN("");

            r = json_string(it.value, &text->arena, &note);
            text->r = text->r != 0 ? text->r : r;
            analyze_say_span(text, SPAN("\n"));
            analyze_say_name(text, note);
            analyze_say_span(text, SPAN("\n"));
        }
    }
}

/* ---- the command ---- */

static int churn_print(const ChurnTask *run)
{
    ChurnFormat format = CHURN_SUMMARY;
    AnalyzeText text;
    int status;

    analyze_text_init(&text, run->asked.args);
    if (run->asked.format.n == 0) {
        say_head(run, &text);
        say_files(run, &text);
        say_rest(run, &text);
    } else {
        (void)churn_format_parse(run->asked.format, &format);
        text.r = churn_write(run->churn, format, &text.out);
        if (text.r == 0 && text.out.n > 0 && text.out.data[text.out.n - 1] != '\n') {
            analyze_say_span(&text, SPAN("\n"));
        }
    }
    status = analyze_text_print(&text);
    analyze_text_deinit(&text);
    return status;
}

static int churn_run(const CliArgs *args)
{
    ChurnTask run = {.report = COMPLEXITY_REPORT_NULL};
    int status = analyze_asked_init(&run.asked, args, 20);

    run.job = (AnalyzeJob){.args = args,
                           .diag = DIAG_NULL,
                           .run = churn_work,
                           .context = &run,
                           .begins = "reading the history"};
    if (run.asked.has_top || run.asked.format.n == 0) {
        run.asked.history.options.limit = run.asked.top;
    }
    if (status == 0) {
        status = analyze_asked_check_format(&run.asked, churn_formats);
    }
    status = status != 0 ? status : analyze_job_run(&run.job);
    status = status != 0 ? status : churn_print(&run);
    if (status == 0 && analyze_wants_picture(&run.asked)) {
        status =
            analyze_picture_churn(&run.asked, &run.report, run.churn, span_from_str(run.prefix));
    }
    run.prefix = mem_free(run.prefix);
    run.churn = churn_free(run.churn);
    complexity_report_deinit(&run.report);
    analyze_asked_deinit(&run.asked);
    return status;
}

const CliCommand cmd_analyze_churn = {
    .name = "analyze churn",
    .operands = "[PATH]",
    .summary = "count how often files change, by git's history",
    .details = "Counts the commits of the last 30 days that touched each file beneath PATH, but\n"
               "merges, and the lines they added and deleted. Renamed files keep their history.",
    .options = churn_options,
    .run = churn_run,
};
