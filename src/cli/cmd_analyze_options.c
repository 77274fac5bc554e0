#include "cli/cmd_analyze_options.h"

#include <stdarg.h>
#include <string.h>

#include "app/version.h"
#include "base/clock.h"
#include "base/rfc3339.h"
#include "base/text.h"

/* The strings of an argument list. */
#define ASKED_ARENA_BYTES ((size_t)16 * 1024 * 1024)

#define ASKED_DAY_S     ((int64_t)24 * 60 * 60)
#define ASKED_DAYS      30
#define ASKED_MAX_DAYS  36525000
#define ASKED_FUNCTIONS 20
#define ASKED_PAIRS     20
#define ASKED_THREADS   64

int analyze_fail(const CliArgs *args, const char *format, ...)
{
    va_list words;

    fprintf(stderr, "toolwire %s: ", args->command->name);
    va_start(words, format);
    (void)vfprintf(stderr, format, words);
    va_end(words);
    fprintf(stderr, "\n");
    return CLI_EXIT_FAILED;
}

int analyze_no_memory(const CliArgs *args)
{
    return analyze_fail(args, "out of memory");
}

/* Its place in the command's table; SIZE_MAX: the command has no such option. */
static size_t asked_place(const CliArgs *args, const char *name)
{
    for (size_t i = 0; args->command->options[i].name != NULL; i++) {
        if (strcmp(args->command->options[i].name, name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

static const char *asked_value(const CliArgs *args, const char *name)
{
    size_t place = asked_place(args, name);

    return place == SIZE_MAX ? NULL : args->values[place];
}

static bool asked_flag(const CliArgs *args, const char *name)
{
    return asked_value(args, name) != NULL;
}

/* *ret_given (may be NULL) and *ret; the latter stays as it is if the option is not given. 0 or
 * CLI_EXIT_USAGE. */
static int asked_number(const CliArgs *args, const char *name, uint64_t least, uint64_t most,
                        uint64_t *ret, bool *ret_given)
{
    const char *value = asked_value(args, name);
    uint64_t number = 0;

    if (ret_given != NULL) {
        *ret_given = value != NULL;
    }
    if (value == NULL) {
        return 0;
    }
    if (text_parse_u64(span_from_str(value), &number) != 0 || number < least || number > most) {
        return cli_usage_error(args, "--%s is '%s'; it is a number from %llu to %llu", name, value,
                               (unsigned long long)least, (unsigned long long)most);
    }
    *ret = number;
    return 0;
}

/* All values of an option that may come several times, with a NULL behind the last. 0 or an exit
 * status. */
static int asked_list(AnalyzeAsked *asked, const char *name, const Span **ret, size_t *ret_n,
                      const char *const **ret_texts)
{
    const CliArgs *args = asked->args;
    size_t place = asked_place(args, name);
    Span *spans = arena_alloc_array(&asked->arena, args->n_repeats + 1, sizeof(*spans));
    const char **texts = arena_alloc_array(&asked->arena, args->n_repeats + 1, sizeof(*texts));
    size_t n = 0;

    if (spans == NULL || texts == NULL) {
        return analyze_no_memory(args);
    }
    for (size_t i = 0; i < args->n_repeats; i++) {
        if (args->repeats[i].place == place) {
            spans[n] = span_from_str(args->repeats[i].value);
            texts[n] = args->repeats[i].value;
            n++;
        }
    }
    *ret = spans;
    *ret_n = n;
    *ret_texts = n > 0 ? texts : NULL;
    return 0;
}

/* ---- files and figures ---- */

static int asked_files(AnalyzeAsked *asked)
{
    const CliArgs *args = asked->args;
    AnalysisFiles *files = &asked->files;
    const char *toolchain = asked_value(args, "toolchain");
    const char *const *unused;
    uint64_t threads = 0;
    int status;

    if (args->n_operands > 1) {
        return cli_usage_error(args, "one path is enough; '%s' is a second one", args->operands[1]);
    }
    files->path = args->n_operands == 1 ? args->operands[0] : ".";
    files->toolchain = toolchain == NULL ? SPAN_NULL : span_from_str(toolchain);
    files->all = asked_flag(args, "all");
    files->no_ignore = asked_flag(args, "no-ignore");
    files->no_cache = asked_flag(args, "no-cache");
    files->since = asked_value(args, "since");
    files->state = asked_value(args, "state");
    status = asked_list(asked, "include", &files->include, &files->n_include, &unused);
    if (status == 0) {
        status = asked_list(asked, "exclude", &files->exclude, &files->n_exclude, &unused);
    }
    if (status == 0) {
        status = asked_number(args, "threads", 1, ASKED_THREADS, &threads, NULL);
    }
    files->threads = (size_t)threads;
    return status;
}

static int asked_variant(AnalyzeAsked *asked)
{
    const char *variant = asked_value(asked->args, "variant");

    if (variant != NULL && strcmp(variant, "modified") != 0 && strcmp(variant, "classic") != 0) {
        return cli_usage_error(asked->args, "--variant is '%s'; it can be classic or modified",
                               variant);
    }
    asked->report.modified = variant != NULL && strcmp(variant, "modified") == 0;
    return 0;
}

static int asked_fail_over(AnalyzeAsked *asked)
{
    const char *value = asked_value(asked->args, "fail-over");
    uint64_t number = 0;

    if (value == NULL) {
        return 0;
    }
    if (strcmp(value, "error") == 0) {
        asked->fail = ANALYZE_FAIL_ERRORS;
    } else if (strcmp(value, "warning") == 0) {
        asked->fail = ANALYZE_FAIL_WARNINGS;
    } else if (text_parse_u64(span_from_str(value), &number) == 0 && number <= UINT32_MAX) {
        asked->fail = ANALYZE_FAIL_OVER;
        asked->fail_over = (uint32_t)number;
    } else {
        return cli_usage_error(asked->args,
                               "--fail-over is '%s'; it can be a number, error or warning", value);
    }
    return 0;
}

static int asked_report(AnalyzeAsked *asked, size_t default_top)
{
    const CliArgs *args = asked->args;
    uint64_t max_cyclomatic = 0;
    uint64_t max_cognitive = 0;
    uint64_t top = default_top;
    uint64_t functions = ASKED_FUNCTIONS;
    int status = asked_number(args, "max-cyclomatic", 1, UINT32_MAX, &max_cyclomatic, NULL);

    status = status != 0 ? status
                         : asked_number(args, "max-cognitive", 1, UINT32_MAX, &max_cognitive, NULL);
    status = status != 0 ? status : asked_number(args, "top", 0, UINT32_MAX, &top, &asked->has_top);
    status = status != 0 ? status
                         : asked_number(args, "functions", 0, UINT32_MAX, &functions,
                                        &asked->has_functions);
    status = status != 0 ? status : asked_variant(asked);
    status = status != 0 ? status : asked_fail_over(asked);
    asked->top = (size_t)top;
    asked->functions = (size_t)functions;
    asked->report.thresholds =
        complexity_thresholds((uint32_t)max_cyclomatic, (uint32_t)max_cognitive);
    asked->report.ranks_files = asked->has_top;
    asked->report.top_files = asked->top;
    asked->report.limit = asked->has_functions ? asked->functions : 0;
    asked->report.increments = asked_flag(args, "why");
    asked->report.version = TOOLWIRE_VERSION;
    return status;
}

/* ---- history ---- */

/* "2026-05-01T12:00:00Z", or a date, which means its end. */
static int asked_until(AnalyzeAsked *asked, int64_t *ret_s)
{
    const char *value = asked_value(asked->args, "until");
    char day[] = "0000-00-00T00:00:00Z";
    int64_t ms = 0;

    *ret_s = INT64_MAX;
    if (value == NULL) {
        return 0;
    }
    if (rfc3339_parse(span_from_str(value), &ms) == 0) {
        *ret_s = ms / 1000;
        return 0;
    }
    if (strlen(value) == 10) {
        memcpy(day, value, 10);
        if (rfc3339_parse(SPAN(day), &ms) == 0) {
            *ret_s = ms / 1000 + ASKED_DAY_S - 1;
            return 0;
        }
    }
    return cli_usage_error(asked->args,
                           "--until is '%s'; it is a day (2026-05-01) or a time (RFC 3339)", value);
}

static int asked_history(AnalyzeAsked *asked)
{
    const CliArgs *args = asked->args;
    ChurnOptions *options = &asked->history.options;
    const Span *unused;
    size_t n_unused;
    uint64_t days = ASKED_DAYS;
    int status = asked_until(asked, &options->until_s);

    status = status != 0 ? status : asked_number(args, "days", 0, ASKED_MAX_DAYS, &days, NULL);
    status = status != 0 ? status : asked_list(asked, "path", &unused, &n_unused, &options->paths);
    analysis_set_period(options, clock_now_ms() / 1000, (int64_t)days);
    options->rev = asked_value(args, "rev");
    options->no_renames = asked_flag(args, "no-renames");
    options->directories = asked_flag(args, "directories");
    options->n_pairs = asked_flag(args, "co-changes") ? ASKED_PAIRS : 0;
    asked->history.path = asked->files.path;
    asked->history.no_cache = asked->files.no_cache;
    asked->history.state = asked->files.state;
    return status;
}

/* ---- all of it ---- */

static int asked_format(AnalyzeAsked *asked)
{
    const char *format = asked_value(asked->args, "format");

    if (asked_flag(asked->args, "json")) {
        if (format != NULL && strcmp(format, "json") != 0) {
            return cli_usage_error(asked->args, "--json and --format %s exclude each other",
                                   format);
        }
        format = "json";
    }
    asked->format =
        format == NULL || strcmp(format, "table") == 0 ? SPAN("") : span_from_str(format);
    return 0;
}

int analyze_asked_init(AnalyzeAsked *asked, const CliArgs *args, size_t default_top)
{
    int status;

    *asked = (AnalyzeAsked){
        .args = args, .svg = asked_value(args, "svg"), .html = asked_value(args, "html")};
    arena_init(&asked->arena, ASKED_ARENA_BYTES);
    status = asked_files(asked);
    status = status != 0 ? status : asked_report(asked, default_top);
    status = status != 0 ? status : asked_history(asked);
    return status != 0 ? status : asked_format(asked);
}

void analyze_asked_deinit(AnalyzeAsked *asked)
{
    arena_deinit(&asked->arena);
}

int analyze_asked_check_format(const AnalyzeAsked *asked, const char *const *names)
{
    const char *nearest;
    size_t n = 0;

    while (names[n] != NULL) {
        n++;
    }
    if (asked->format.n == 0 || text_is_one_of(asked->format, names, n, NULL)) {
        return 0;
    }
    nearest = text_nearest(asked->format, names, n);
    return cli_usage_error(asked->args, "there is no format '%s'%s%s%s", asked->format.p,
                           nearest != NULL ? "; did you mean '" : "",
                           nearest != NULL ? nearest : "", nearest != NULL ? "'?" : "");
}
