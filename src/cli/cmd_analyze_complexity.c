/* `toolwire analyze complexity`: what the functions of a project measure. */
#include "cli/cmd_analyze.h"
#include "cli/cmd_analyze_job.h"
#include "cli/cmd_analyze_options.h"
#include "cli/cmd_analyze_picture.h"
#include "cli/cmd_analyze_tables.h"
#include "cli/table.h"
#include "io/error_text.h"

static const CliOption complexity_options[] = {
    {"format", "FORMAT", "table (default), summary, full, markdown, json, sarif, csv, checkstyle"},
    ANALYZE_OPTION_JSON,
    {"top", "N", "so many files (10 in tables; elsewhere no ranking)"},
    {"functions", "N", "so many functions (20 in tables; elsewhere all of each list)"},
    {"why", NULL, "list what cognitive complexity consists of (in tables and json)"},
    {"max-cyclomatic", "N", "above it is an error (20), above 3/4 of it a warning (10)"},
    {"max-cognitive", "N", "likewise (30; 15)"},
    {"fail-over", "LIMIT", "exit 1 if a function is over a number, or is an error or a warning"},
    {"variant", "NAME", "cyclomatic: classic (default), or modified: a switch counts once"},
    {"since", "REV", "only files that changed since then, and what has become of them"},
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

static const char *const complexity_formats[] = {"summary", "full", "markdown",   "json",
                                                 "sarif",   "csv",  "checkstyle", NULL};

/* Functions over the limit that are named on stderr. */
#define COMPLEXITY_NAMED 20

typedef struct ComplexityRun {
    AnalyzeAsked asked;
    AnalyzeJob job;
    ComplexityReport report;
    ComplexityReport before;
    ComplexityDelta delta;
} ComplexityRun;

static int complexity_work(AnalyzeJob *job)
{
    ComplexityRun *run = job->context;
    bool has_before = run->asked.files.since != NULL;
    int r;

    complexity_report_init(&run->report, &run->asked.report);
    complexity_report_init(&run->before, &run->asked.report);
    r = analysis_complexity(&run->asked.files, &job->watch, &run->report,
                            has_before ? &run->before : NULL, &job->diag);
    if (r == 0 && has_before) {
        r = complexity_delta_init(&run->delta, &run->before, &run->report);
    }
    return r;
}

/* ---- output ---- */

static void complexity_write_json(const ComplexityRun *run, AnalyzeText *text)
{
    JsonWriter w;

    json_writer_init(&w, &text->out, JSON_STYLE_PRETTY);
    json_write_object(&w);
    complexity_report_write_members(&run->report, &w);
    complexity_delta_write_members(&run->delta, &w);
    json_write_end_object(&w);
    text->r = json_writer_finish(&w);
}

static void complexity_write(const ComplexityRun *run, AnalyzeText *text)
{
    bool has_delta = run->asked.files.since != NULL;
    ComplexityFormat format = COMPLEXITY_SUMMARY;

    if (run->asked.format.n == 0) {
        analyze_tables_complexity(text, &run->asked, &run->report, has_delta ? &run->delta : NULL);
        return;
    }
    (void)complexity_format_parse(run->asked.format, &format);
    if (has_delta && format == COMPLEXITY_JSON) {
        complexity_write_json(run, text);
        analyze_say_span(text, SPAN("\n"));
        return;
    }
    text->r = complexity_report_write(&run->report, format, &text->out);
    if (text->r == 0 && has_delta &&
        (format == COMPLEXITY_SUMMARY || format == COMPLEXITY_FULL ||
         format == COMPLEXITY_MARKDOWN)) {
        analyze_say_span(text, SPAN("\n"));
        text->r = text->r != 0 ? text->r : complexity_delta_write_text(&run->delta, &text->out);
    }
    if (text->r == 0 && text->out.n > 0 && text->out.data[text->out.n - 1] != '\n') {
        analyze_say_span(text, SPAN("\n"));
    }
}

static int complexity_print(const ComplexityRun *run)
{
    AnalyzeText text;
    int status;

    analyze_text_init(&text, run->asked.args);
    complexity_write(run, &text);
    status = analyze_text_print(&text);
    analyze_text_deinit(&text);
    return status;
}

/* ---- the verdict ---- */

static bool complexity_is_over(const ComplexityRun *run, const ComplexityRow *row)
{
    const ComplexityThresholds *t = &run->report.options.thresholds;
    uint32_t cyclomatic = run->asked.fail_over;
    uint32_t cognitive = run->asked.fail_over;

    if (run->asked.fail == ANALYZE_FAIL_ERRORS) {
        cyclomatic = t->cyclomatic_error;
        cognitive = t->cognitive_error;
    } else if (run->asked.fail == ANALYZE_FAIL_WARNINGS) {
        cyclomatic = t->cyclomatic_warning;
        cognitive = t->cognitive_warning;
    }
    return row->cyclomatic > cyclomatic || row->function->cognitive > cognitive;
}

static void complexity_name(const ComplexityRow *row)
{
    fputs("  ", stderr);
    table_print_safe(stderr, row->path, false);
    fprintf(stderr, ":%u: ", row->function->first_line);
    table_print_safe(stderr, row->function->name, false);
    fprintf(stderr, ": cyclomatic %u, cognitive %u\n", row->cyclomatic, row->function->cognitive);
}

/* The i-th function that the verdict is about, NULL if it is not: all that were measured, but since
 * a revision only those that have come or become worse. */
static const ComplexityRow *complexity_judged(const ComplexityRun *run, size_t i)
{
    if (run->asked.files.since == NULL) {
        return &run->report.functions[i];
    }
    return run->delta.rows[i].change == COMPLEXITY_ADDED ||
                   run->delta.rows[i].change == COMPLEXITY_WORSE
               ? run->delta.rows[i].after
               : NULL;
}

/* Says which functions are over the limit. 0 or CLI_EXIT_FAILED. */
static int complexity_judge(const ComplexityRun *run)
{
    size_t n = run->asked.files.since == NULL ? run->report.n_functions : run->delta.n_rows;
    size_t n_over = 0;

    for (size_t i = 0; i < n && run->asked.fail != ANALYZE_FAIL_NEVER; i++) {
        const ComplexityRow *row = complexity_judged(run, i);

        if (row == NULL || !complexity_is_over(run, row)) {
            continue;
        }
        if (n_over == 0) {
            (void)fflush(stdout); /* the reason comes behind the report */
            fprintf(stderr, "toolwire %s: over the limit:\n", run->asked.args->command->name);
        }
        if (n_over < COMPLEXITY_NAMED) {
            complexity_name(row);
        }
        n_over++;
    }
    if (n_over > COMPLEXITY_NAMED) {
        fprintf(stderr, "  and %zu more\n", n_over - COMPLEXITY_NAMED);
    }
    return n_over > 0 ? CLI_EXIT_FAILED : 0;
}

static int complexity_finish(ComplexityRun *run)
{
    int status = analyze_wants_text(&run->asked) ? complexity_print(run) : 0;

    if (status == 0 && analyze_wants_picture(&run->asked)) {
        status = analyze_picture_complexity(&run->asked, &run->report);
    }
    return status != 0 ? status : complexity_judge(run);
}

/* The other formats have no place for it, and would be silent. 0 or CLI_EXIT_USAGE. */
static int complexity_check_why(const AnalyzeAsked *asked)
{
    if (!asked->report.increments || asked->format.n == 0 ||
        span_equals(asked->format, SPAN("json"))) {
        return 0;
    }
    return cli_usage_error(asked->args, "--why is for tables and json; %.*s has no place for it",
                           (int)asked->format.n, asked->format.p);
}

static int complexity_run(const CliArgs *args)
{
    ComplexityRun run = {.report = COMPLEXITY_REPORT_NULL,
                         .before = COMPLEXITY_REPORT_NULL,
                         .delta = COMPLEXITY_DELTA_NULL};
    int status = analyze_asked_init(&run.asked, args, 10);

    run.job = (AnalyzeJob){.args = args,
                           .diag = DIAG_NULL,
                           .run = complexity_work,
                           .context = &run,
                           .begins = "looking for files"};
    if (status == 0) {
        status = analyze_asked_check_format(&run.asked, complexity_formats);
    }
    status = status != 0 ? status : complexity_check_why(&run.asked);
    status = status != 0 ? status : analyze_picture_check(&run.asked);
    status = status != 0 ? status : analyze_job_run(&run.job);
    status = status != 0 ? status : complexity_finish(&run);
    complexity_delta_deinit(&run.delta);
    complexity_report_deinit(&run.before);
    complexity_report_deinit(&run.report);
    analyze_asked_deinit(&run.asked);
    return status;
}

const CliCommand cmd_analyze_complexity = {
    .name = "analyze complexity",
    .operands = "[PATH]",
    .summary = "measure the complexity of functions and files",
    .details =
        "Cyclomatic and cognitive complexity of every function, the worst ones first. With\n"
        "--fail-over N the exit status is 1 if either is above N in any function; with\n"
        "--fail-over error (or warning) if a threshold is passed; with --since only functions\n"
        "that are new or worse count. The report is whole then, and stderr names them below\n"
        "\"over the limit:\"; an error, which is status 1 as well, leaves no report.",
    .options = complexity_options,
    .run = complexity_run,
};
