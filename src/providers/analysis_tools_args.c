/* What a call of the analyser asks for. The schema has been checked: a member is there in its type,
 * or not at all. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/rfc3339.h"
#include "base/text.h"
#include "providers/analysis_tools_impl.h"

#define ARGS_DEFAULT_DAYS 30
#define ARGS_DAY_S        ((int64_t)24 * 60 * 60)

/* A hundred thousand years fit into the arithmetic, and git knows none of them. */
#define ARGS_MAX_DAYS 36525000

static int args_refuse(AnalysisJob *job, const char *field, const char *message)
{
    (void)diag_set(&job->diag, ANALYSIS_E_OPTION, "%s: %s", field, message);
    diag_set_field(&job->diag, "%s", field);
    return ANALYSIS_E_OPTION;
}

static bool args_get(JsonValue arguments, const char *key, JsonValue *ret)
{
    return arguments.node != NULL && json_get(arguments, span_from_str(key), ret) &&
           json_kind(*ret) != JSON_NULL;
}

/* A copy with a NUL behind it, which holds none; p NULL: there is no such member. */
static int args_copy(AnalysisJob *job, const char *key, JsonValue v, Span *ret)
{
    Span decoded;
    int r = json_string(v, &job->arena, &decoded);

    if (r != 0) {
        return r < 0 ? r : args_refuse(job, key, "expected a string");
    }
    if (memchr(decoded.p, '\0', decoded.n) != NULL) {
        return args_refuse(job, key, "must not hold a NUL");
    }
    *ret = arena_copy(&job->arena, decoded);
    return ret->p == NULL ? err_raise(-ENOMEM) : 0;
}

static int args_string(AnalysisJob *job, JsonValue arguments, const char *key, Span *ret)
{
    JsonValue v;

    *ret = SPAN_NULL;
    return args_get(arguments, key, &v) ? args_copy(job, key, v, ret) : 0;
}

static int args_text(AnalysisJob *job, JsonValue arguments, const char *key, const char **ret)
{
    Span text;
    int r = args_string(job, arguments, key, &text);

    *ret = text.p;
    return r;
}

static bool args_flag(JsonValue arguments, const char *key, bool fallback)
{
    bool flag = fallback;
    JsonValue v;

    return args_get(arguments, key, &v) && json_bool(v, &flag) ? flag : fallback;
}

/* A whole number from 0 on, as the schema says. One that does not fit is no other one: 0 or
 * ANALYSIS_E_OPTION. *ret stays what it was if there is none; ret_is_there may be NULL. */
static int args_count(AnalysisJob *job, JsonValue arguments, const char *key, size_t *ret,
                      bool *ret_is_there)
{
    uint64_t number = 0;
    JsonValue v;
    bool is_there = args_get(arguments, key, &v);

    if (ret_is_there != NULL) {
        *ret_is_there = is_there;
    }
    if (!is_there) {
        return 0;
    }
    if (json_uint64(v, &number) != 0 || number > UINT32_MAX) {
        return args_refuse(job, key, "is more than 4294967295");
    }
    *ret = (size_t)number;
    return 0;
}

/* An array of strings, with a NULL behind its last one in *ret_texts (may be NULL). */
static int args_list(AnalysisJob *job, JsonValue arguments, const char *key, const Span **ret,
                     size_t *ret_n, const char *const **ret_texts)
{
    const char **texts;
    Span *spans;
    JsonValue v;
    size_t n = 0;
    int r = 0;

    if (!args_get(arguments, key, &v) || json_kind(v) != JSON_ARRAY || json_count(v) == 0) {
        return 0;
    }
    spans = arena_alloc_array(&job->arena, json_count(v), sizeof(*spans));
    texts = arena_alloc_array(&job->arena, json_count(v) + 1, sizeof(*texts));
    if (spans == NULL || texts == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(v); r == 0 && json_iter_next(&it); n++) {
        r = args_copy(job, key, it.value, &spans[n]);
        texts[n] = spans[n].p;
    }
    *ret = spans;
    *ret_n = n;
    if (ret_texts != NULL) {
        *ret_texts = texts;
    }
    return r;
}

/* limit, and where the rows begin: offset, or the cursor of the answer before, which also says of
 * what. */
static int args_page(AnalysisJob *job, JsonValue arguments)
{
    AnalysisAsked *asked = &job->asked;
    Span cursor;
    int r = args_string(job, arguments, "cursor", &cursor);

    if (r != 0) {
        return r;
    }
    asked->arguments = analysis_cursor_arguments(arguments);
    asked->limit = ANALYSIS_DEFAULT_LIMIT;
    r = args_count(job, arguments, "limit", &asked->limit, &asked->has_limit);
    r = r != 0 ? r : args_count(job, arguments, "offset", &asked->offset, NULL);
    if (r == 0 && cursor.n > 0) {
        if (!analysis_cursor_read(cursor, &asked->offset, &asked->seen)) {
            return args_refuse(job, "cursor", "is not one that an answer gave");
        }
        asked->has_cursor = true;
    }
    return r;
}

/* ---- files ---- */

static int args_files(AnalysisJob *job, JsonValue arguments)
{
    AnalysisFiles *files = &job->asked.files;
    int r = args_text(job, arguments, "project_path", &files->path);

    r = r != 0 ? r : args_string(job, arguments, "toolchain", &files->toolchain);
    r = r != 0 ? r : args_list(job, arguments, "include", &files->include, &files->n_include, NULL);
    r = r != 0 ? r : args_list(job, arguments, "exclude", &files->exclude, &files->n_exclude, NULL);
    files->all = args_flag(arguments, "all", false);
    files->no_ignore = args_flag(arguments, "no_ignore", false);
    files->no_cache = args_flag(arguments, "no_cache", false);
    r = r != 0 ? r : args_count(job, arguments, "threads", &files->threads, NULL);
    if (r == 0 && files->path == NULL) {
        return args_refuse(job, "project_path", "is missing");
    }
    return r;
}

static int args_format(AnalysisJob *job, JsonValue arguments, bool is_churn)
{
    AnalysisAsked *asked = &job->asked;
    int r = args_string(job, arguments, "format", &asked->format);

    if (r != 0) {
        return r;
    }
    if (asked->format.n == 0) {
        asked->format = SPAN("summary");
    }
    if (is_churn ? !churn_format_parse(asked->format, &asked->churn_format)
                 : !complexity_format_parse(asked->format, &asked->complexity_format)) {
        return args_refuse(job, "format", "there is no such format");
    }
    return 0;
}

int analysis_ask_complexity(AnalysisJob *job, JsonValue arguments)
{
    AnalysisAsked *asked = &job->asked;
    ComplexityReportOptions *report = &asked->report;
    size_t max_cyclomatic = 0;
    size_t max_cognitive = 0;
    Span variant;
    int r = args_files(job, arguments);

    r = r != 0 ? r : args_format(job, arguments, false);
    r = r != 0 ? r : args_page(job, arguments);
    r = r != 0 ? r : args_text(job, arguments, "since", &asked->files.since);
    r = r != 0 ? r : args_string(job, arguments, "variant", &variant);
    r = r != 0 ? r : args_count(job, arguments, "max_cyclomatic", &max_cyclomatic, NULL);
    r = r != 0 ? r : args_count(job, arguments, "max_cognitive", &max_cognitive, NULL);
    r = r != 0 ? r
               : args_count(job, arguments, "top_files", &report->top_files, &report->ranks_files);
    if (r != 0) {
        return r;
    }
    report->thresholds = complexity_thresholds((uint32_t)max_cyclomatic, (uint32_t)max_cognitive);
    report->modified = span_equals(variant, SPAN("modified"));
    report->increments = args_flag(arguments, "increments", false);
    report->list_ignored = args_flag(arguments, "list_ignored", false);
    report->limit = asked->limit;
    report->offset = asked->offset;
    return 0;
}

/* ---- history ---- */

/* "2026-05-01T12:00:00Z", or a date, which means its end. */
static int args_until(AnalysisJob *job, JsonValue arguments, int64_t *ret_s)
{
    char day[] = "0000-00-00T00:00:00Z";
    int64_t ms = 0;
    Span until;
    int r = args_string(job, arguments, "until", &until);

    *ret_s = INT64_MAX;
    if (r != 0 || until.n == 0) {
        return r;
    }
    if (rfc3339_parse(until, &ms) == 0) {
        *ret_s = ms / 1000;
        return 0;
    }
    if (until.n == 10) {
        memcpy(day, until.p, until.n);
        if (rfc3339_parse(SPAN(day), &ms) == 0) {
            *ret_s = ms / 1000 + ARGS_DAY_S - 1;
            return 0;
        }
    }
    return args_refuse(job, "until", "expected a date (2026-05-01) or a time (RFC 3339)");
}

static int args_history(AnalysisJob *job, JsonValue arguments)
{
    AnalysisAsked *asked = &job->asked;
    ChurnOptions *options = &asked->history.options;
    const Span *paths = NULL;
    size_t n_paths = 0;
    size_t days = ARGS_DEFAULT_DAYS;
    int r = args_until(job, arguments, &options->until_s);

    r = r != 0 ? r : args_count(job, arguments, "period_days", &days, NULL);
    r = r != 0 ? r : args_text(job, arguments, "rev", &options->rev);
    r = r != 0 ? r : args_list(job, arguments, "paths", &paths, &n_paths, &options->paths);
    if (r != 0) {
        return r;
    }
    if (days > ARGS_MAX_DAYS) {
        return args_refuse(job, "period_days", "is more than 36525000");
    }
    analysis_set_period(options, clock_now_ms() / 1000, (int64_t)days);
    options->no_renames = !args_flag(arguments, "renames", true);
    options->without_lines = !args_flag(arguments, "lines", true);
    asked->history.path = asked->files.path;
    asked->history.no_cache = asked->files.no_cache;
    return 0;
}

int analysis_ask_churn(AnalysisJob *job, JsonValue arguments)
{
    AnalysisAsked *asked = &job->asked;
    ChurnOptions *options = &asked->history.options;
    int r = args_files(job, arguments);

    r = r != 0 ? r : args_format(job, arguments, true);
    r = r != 0 ? r : args_page(job, arguments);
    r = r != 0 ? r : args_history(job, arguments);
    r = r != 0 ? r : args_count(job, arguments, "co_changes", &options->n_pairs, NULL);
    options->limit = asked->limit;
    options->offset = asked->offset;
    options->directories = args_flag(arguments, "directories", false);
    return r;
}

int analysis_ask_hotspots(AnalysisJob *job, JsonValue arguments)
{
    AnalysisAsked *asked = &job->asked;
    int r = args_files(job, arguments);

    r = r != 0 ? r : args_string(job, arguments, "format", &asked->format);
    r = r != 0 ? r : args_page(job, arguments);
    r = r != 0 ? r : args_history(job, arguments);
    if (asked->format.n == 0) {
        asked->format = SPAN("summary");
    }
    asked->report.thresholds = complexity_thresholds_default;
    return r;
}
