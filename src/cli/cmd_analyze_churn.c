/* `toolwire analyze churn`: how often, by whom and how much files change. */
#include "base/alloc.h"
#include "base/error.h"
#include "cli/cmd_analyze.h"
#include "cli/cmd_analyze_job.h"
#include "cli/cmd_analyze_options.h"
#include "cli/cmd_analyze_picture.h"
#include "cli/cmd_analyze_tables.h"
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
    r = analysis_prefix(NULL, run->asked.files.path, &job->watch, &run->prefix, &job->diag);
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
    if (!churn_has_lines(run->churn)) {
        analyze_say_span(text, SPAN("\n"));
        return;
    }
    analyze_say_span(text, SPAN(", +"));
    analyze_say_number(text, (double)additions, 0);
    analyze_say_span(text, SPAN(" \u2212"));
    analyze_say_number(text, (double)deletions, 0);
    analyze_say_span(text, SPAN(" lines\n"));
}

static void say_files(const ChurnTask *run, AnalyzeText *text)
{
    size_t n = churn_n_files(run->churn);
    const ChurnFile **files;

    n = n < run->asked.top ? n : run->asked.top;
    files = arena_alloc_array(&text->arena, n + 1, sizeof(*files));
    if (files == NULL) {
        text->r = text->r != 0 ? text->r : err_raise(-ENOMEM);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        files[i] = churn_file_at(run->churn, i);
    }
    analyze_table_churn(text, files, n, churn_has_lines(run->churn));
}

/* Folders and pairs are in the words of the JSON, which has them. */
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
        analyze_table_folders(text, v);
    }
    if (json_get(json_root(&doc), SPAN("co_changes"), &v)) {
        analyze_table_pairs(text, v);
    }
}

static void say_tables(const ChurnTask *run, AnalyzeText *text)
{
    ChurnNote notes[CHURN_MAX_NOTES];

    say_head(run, text);
    say_files(run, text);
    say_rest(run, text);
    analyze_say_notes(text, notes, churn_notes(run->churn, notes));
}

/* ---- the command ---- */

static int churn_print(const ChurnTask *run)
{
    ChurnFormat format = CHURN_SUMMARY;
    AnalyzeText text;
    int status;

    analyze_text_init(&text, run->asked.args);
    if (run->asked.format.n == 0) {
        say_tables(run, &text);
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
    status = status != 0 ? status : analyze_picture_check(&run.asked);
    status = status != 0 ? status : analyze_job_run(&run.job);
    if (status == 0 && analyze_wants_text(&run.asked)) {
        status = churn_print(&run);
    }
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
