/* What a call of the file tools asks for. The schema has been checked: a member is there in its
 * type, or not at all. */
#include <errno.h>
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/limits.h"
#include "providers/files_impl.h"

static int args_refuse(FilesJob *job, const char *key, const char *message)
{
    return diag_set(&job->diag, FILES_E_ARGUMENT, "%s: %s", key, message);
}

static bool args_get(JsonValue arguments, const char *key, JsonValue *ret)
{
    return arguments.node != NULL && json_get(arguments, span_from_str(key), ret) &&
           json_kind(*ret) != JSON_NULL;
}

/* A string for the system: NUL-terminated, and without another one. */
static int args_word(FilesJob *job, const char *key, JsonValue v, const char **ret)
{
    Span decoded;
    Span copy;
    int r = json_string(v, &job->arena, &decoded);

    if (r != 0) {
        return r < 0 ? r : args_refuse(job, key, "expected a string");
    }
    if (decoded.n > 0 && memchr(decoded.p, '\0', decoded.n) != NULL) {
        return args_refuse(job, key, "must not hold a NUL");
    }
    copy = arena_copy(&job->arena, decoded);
    *ret = copy.p;
    return copy.p == NULL ? err_raise(-ENOMEM) : 0;
}

static int args_path(FilesJob *job, JsonValue arguments, const char *fallback)
{
    JsonValue v;

    job->asked.path = fallback;
    if (args_get(arguments, "path", &v)) {
        return args_word(job, "path", v, &job->asked.path);
    }
    return fallback != NULL ? 0 : args_refuse(job, "path", "is missing");
}

/* Any text, copied: the job outlives the arguments. */
static int args_text(FilesJob *job, JsonValue arguments, const char *key, Span *ret)
{
    JsonValue v;
    Span decoded;
    int r;

    if (!args_get(arguments, key, &v)) {
        return 0;
    }
    r = json_string(v, &job->arena, &decoded);
    if (r != 0) {
        return r < 0 ? r : args_refuse(job, key, "expected a string");
    }
    *ret = arena_copy(&job->arena, decoded);
    return ret->p == NULL ? err_raise(-ENOMEM) : 0;
}

static bool args_flag(JsonValue arguments, const char *key)
{
    bool flag = false;
    JsonValue v;

    return args_get(arguments, key, &v) && json_bool(v, &flag) && flag;
}

/* A whole number of at least 1; one that is too large is the largest. *ret stays if there is none.
 */
static int args_count(FilesJob *job, JsonValue arguments, const char *key, size_t max, size_t *ret)
{
    uint64_t number = 0;
    JsonValue v;
    int r;

    if (!args_get(arguments, key, &v)) {
        return 0;
    }
    r = json_uint64(v, &number);
    if (r == JSON_E_KIND || (r == 0 && number == 0)) {
        return args_refuse(job, key, "expected a whole number from 1 on");
    }
    *ret = r == 0 && number < max ? (size_t)number : max;
    return 0;
}

static int args_encoding(FilesJob *job, JsonValue arguments)
{
    JsonValue v;

    if (!args_get(arguments, "encoding", &v)) {
        return 0;
    }
    job->asked.is_base64 = json_kind(v) == JSON_STRING && json_string_equals(v, SPAN("base64"));
    if (!job->asked.is_base64 &&
        !(json_kind(v) == JSON_STRING && json_string_equals(v, SPAN("utf-8")))) {
        return args_refuse(job, "encoding", "expected utf-8 or base64");
    }
    return 0;
}

int files_ask_list(FilesJob *job, JsonValue arguments)
{
    return args_path(job, arguments, ".");
}

int files_ask_read(FilesJob *job, JsonValue arguments)
{
    FilesAsked *asked = &job->asked;
    int r = args_path(job, arguments, NULL);

    asked->n_lines = SIZE_MAX;
    r = r != 0 ? r : args_count(job, arguments, "line", SIZE_MAX, &asked->line);
    r = r != 0 ? r : args_count(job, arguments, "lines", SIZE_MAX, &asked->n_lines);
    if (r == 0 && asked->line == 0 && asked->n_lines != SIZE_MAX) {
        asked->line = 1;
    }
    r = r != 0 ? r : args_encoding(job, arguments);
    if (r == 0 && asked->is_base64 && asked->line > 0) {
        return args_refuse(job, "line", "does not go with encoding base64");
    }
    return r;
}

int files_ask_write(FilesJob *job, JsonValue arguments)
{
    FilesAsked *asked = &job->asked;
    int r = args_path(job, arguments, NULL);

    r = r != 0 ? r : args_encoding(job, arguments);
    r = r != 0 ? r : args_text(job, arguments, "content", &asked->content);
    if (r == 0 && asked->content.p == NULL) {
        return args_refuse(job, "content", "is missing");
    }
    return r;
}

int files_ask_search(FilesJob *job, JsonValue arguments)
{
    FilesAsked *asked = &job->asked;
    int r = args_path(job, arguments, ".");

    asked->max_results = LIMIT_FILES_RESULTS;
    asked->no_case = args_flag(arguments, "ignoreCase");
    r = r != 0 ? r : args_text(job, arguments, "pattern", &asked->pattern);
    r = r != 0 ? r : args_text(job, arguments, "text", &asked->text);
    r = r != 0 ? r
               : args_count(job, arguments, "maxResults", LIMIT_FILES_RESULTS_MAX,
                            &asked->max_results);
    if (r != 0) {
        return r;
    }
    if (asked->pattern.n == 0 && asked->text.n == 0) {
        return args_refuse(job, "pattern", "a pattern of names, a text, or both are needed");
    }
    if (asked->text.n > 0 && memchr(asked->text.p, '\n', asked->text.n) != NULL) {
        return args_refuse(job, "text", "must be of one line");
    }
    return 0;
}

/* {"command":"grep","args":["-n","x"]} */
int files_ask_command(FilesJob *job, JsonValue arguments)
{
    JsonValue command;
    JsonValue args = JSON_VALUE_NULL;
    bool has_args = args_get(arguments, "args", &args) && json_kind(args) == JSON_ARRAY;
    const char **argv;
    size_t n = 1;
    int r;

    if (!args_get(arguments, "command", &command)) {
        return args_refuse(job, "command", "is missing");
    }
    argv = arena_alloc_array(&job->arena, (has_args ? json_count(args) : 0) + (size_t)2,
                             sizeof(*argv));
    if (argv == NULL) {
        return err_raise(-ENOMEM);
    }
    r = args_word(job, "command", command, &argv[0]);
    if (has_args) {
        for (JsonIter it = json_iter(args); r == 0 && json_iter_next(&it); n++) {
            r = args_word(job, "args", it.value, &argv[n]);
        }
    }
    job->asked.argv = argv;
    return r;
}
