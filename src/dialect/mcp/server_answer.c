/* Is what the client brought an answer to what it was asked?
 *
 *     form      {"action"} and, if that is "accept", "content" that the form's schema allows
 *     url       {"action"}
 *     sample    {"role", "content", "model"}
 *     roots     {"roots": [{"uri"}…]}
 *
 * Members beyond these are not looked at: later revisions add some. A handler that reads an answer
 * may so rely on its shape, whatever the client is.
 */
#include "dialect/mcp/server_internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "json/schema/schema.h"

static const Span kind_names[] = {
    [CALL_ASK_FORM] = {"form", 4},
    [CALL_ASK_URL] = {"url", 3},
    [CALL_ASK_SAMPLE] = {"sample", 6},
    [CALL_ASK_ROOTS] = {"roots", 5},
};

Span mcp_ask_kind_name(CallAskKind kind)
{
    return kind_names[kind];
}

bool mcp_ask_kind_parse(JsonValue name, CallAskKind *ret)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(kind_names); i++) {
        if (json_string_equals(name, kind_names[i])) {
            *ret = (CallAskKind)i;
            return true;
        }
    }
    return false;
}

/* Paths and messages that are too long for the sentence are cut. */
TW_PRINTF(2, 3)
static int malformed(McpProblem *problem, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(problem->text, sizeof(problem->text), format, args);
    va_end(args);
    return MCP_ANSWER_E_MALFORMED;
}

/* The member, if it is of one of the kinds (bits by JsonKind); `wanted` says them in words. */
static int take_member(JsonValue object, const char *name, unsigned kinds, const char *wanted,
                       JsonValue *ret, McpProblem *problem)
{
    if (!json_get(object, span_from_str(name), ret)) {
        return malformed(problem, "/%s: missing", name);
    }
    if ((kinds & 1u << json_kind(*ret)) == 0) {
        return malformed(problem, "/%s: expected %s, got %s", name, wanted,
                         json_kind_name(json_kind(*ret)));
    }
    return 0;
}

static void free_schema(Schema **schema)
{
    *schema = schema_free(*schema);
}

static void free_check(SchemaCheck **check)
{
    *check = schema_check_free(*check);
}

/* 0, MCP_ANSWER_E_MALFORMED, -ENOMEM. */
static int check_content(Span schema_text, JsonValue content, McpProblem *problem)
{
    CLEANUP(free_schema) Schema *schema = NULL;
    CLEANUP(free_check) SchemaCheck *check = NULL;
    SchemaError error;
    int r = schema_new(&schema, schema_text, NULL, NULL);

    if (r > 0) {
        /* Whoever wrote it, it was not this client: nothing can be held against its answer. */
        return 0;
    }
    if (r == 0) {
        r = schema_check_new(&check);
    }
    if (r == 0) {
        r = schema_validate(schema, check, content);
    }
    if (r == SCHEMA_E_LIMIT) {
        return malformed(problem, "/content: takes too much work to check");
    }
    if (r != SCHEMA_E_INVALID) {
        return err_fold(r);
    }
    error = schema_check_error(check, 0);
    return malformed(problem, "/content%.*s: %.*s", (int)error.instance_path.n,
                     error.instance_path.p, (int)error.message.n, error.message.p);
}

static int check_elicited(CallAskKind kind, Span schema, JsonValue answer, McpProblem *problem)
{
    JsonValue action;
    JsonValue content;
    int r = take_member(answer, "action", 1u << JSON_STRING, "string", &action, problem);

    if (r != 0) {
        return r;
    }
    if (json_string_equals(action, SPAN("decline")) || json_string_equals(action, SPAN("cancel"))) {
        return 0;
    }
    if (!json_string_equals(action, SPAN("accept"))) {
        return malformed(problem, "/action: expected accept, decline or cancel");
    }
    if (kind == CALL_ASK_URL) {
        return 0;
    }
    r = take_member(answer, "content", 1u << JSON_OBJECT, "object", &content, problem);
    return r != 0 || schema.n == 0 ? r : check_content(schema, content, problem);
}

static int check_sampled(JsonValue answer, McpProblem *problem)
{
    JsonValue v;
    int r = take_member(answer, "role", 1u << JSON_STRING, "string", &v, problem);

    if (r == 0) {
        r = take_member(answer, "content", 1u << JSON_OBJECT | 1u << JSON_ARRAY, "object or array",
                        &v, problem);
    }
    if (r == 0) {
        r = take_member(answer, "model", 1u << JSON_STRING, "string", &v, problem);
    }
    return r;
}

static int check_roots(JsonValue answer, McpProblem *problem)
{
    JsonValue roots;
    JsonValue uri;
    size_t i = 0;
    int r = take_member(answer, "roots", 1u << JSON_ARRAY, "array", &roots, problem);

    if (r != 0) {
        return r;
    }
    for (JsonIter it = json_iter(roots); json_iter_next(&it); i++) {
        if (json_kind(it.value) != JSON_OBJECT) {
            return malformed(problem, "/roots/%zu: expected object, got %s", i,
                             json_kind_name(json_kind(it.value)));
        }
        if (!json_get(it.value, SPAN("uri"), &uri) || json_kind(uri) != JSON_STRING) {
            return malformed(problem, "/roots/%zu/uri: expected string", i);
        }
    }
    return 0;
}

int mcp_answer_check(CallAskKind kind, Span schema, JsonValue answer, McpProblem *problem)
{
    if (json_kind(answer) != JSON_OBJECT) {
        return malformed(problem, "expected object, got %s", json_kind_name(json_kind(answer)));
    }
    switch (kind) {
    case CALL_ASK_FORM:
    case CALL_ASK_URL:
        return check_elicited(kind, schema, answer, problem);
    case CALL_ASK_SAMPLE:
        return check_sampled(answer, problem);
    case CALL_ASK_ROOTS:
        return check_roots(answer, problem);
    }
    return 0;
}
