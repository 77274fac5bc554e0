#include "providers/lazy_tools.h"

#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "call/answer.h"
#include "dialect/mcp/server.h"
#include "providers/tool_index.h"

/* Of a description in the result of a search: its first sentences. The whole is told by
 * describe_tool. */
#define LAZY_SUMMARY_BYTES 240

/* Parameters that a search names; more are counted. */
#define LAZY_PARAMETERS 12

/* Tools that are named to somebody who meant another one. */
#define LAZY_NEAREST 3

struct LazyTools {
    Router *router;
    RouterListener listener;
    char **always; /* NULL behind the last */
    size_t n_always;
    size_t n_added; /* of the table below */
    bool is_listening;
    ToolIndex *index; /* NULL: to be made when it is needed */
    Bytes text;
    Arena scratch;
    CallAnswer answer;
};

static void search_start(void *context, Call *call);
static void describe_start(void *context, Call *call);
static void call_start(void *context, Call *call);

static const CallProvider search_provider = {.name = "lazy", .start = search_start};
static const CallProvider describe_provider = {.name = "lazy", .start = describe_start};
static const CallProvider call_provider = {.name = "lazy", .start = call_start};

#define LAZY_TEXT_OF(number) #number
#define LAZY_TEXT(number)    LAZY_TEXT_OF(number)

/* call_tool may do whatever a tool may do, so it says nothing but that. */
static const struct {
    Span name;
    const CallProvider *provider;
    RouterLater later;
    Span json;
} lazy_tools[] = {
    {SPAN_INIT("search_tools"), &search_provider, ROUTER_LATER_NEVER,
     SPAN_INIT(
         "{\"name\":\"search_tools\",\"title\":\"Search tools\",\"description\":\"Finds tools "
         "by words: what they do, what they are called, what they take. Begin here: most "
         "tools are not in the list. An empty query names all.\",\"inputSchema\":{\"type\":"
         "\"object\",\"properties\":{\"query\":{\"type\":\"string\"},\"limit\":{\"type\":"
         "\"integer\",\"minimum\":1,\"maximum\":" LAZY_TEXT(
             LAZY_TOOLS_LIMIT_MAX) ",\"default\":" LAZY_TEXT(LAZY_TOOLS_LIMIT) "}},"
                                                                               "\"required\":["
                                                                               "\"query\"],"
                                                                               "\"additionalPropert"
                                                                               "ies\":false},"
                                                                               "\"annotations\":{"
                                                                               "\"readOnlyHint\":"
                                                                               "true,"
                                                                               "\"idempotentHint\":"
                                                                               "true,"
                                                                               "\"openWorldHint\":"
                                                                               "false}}")},
    {SPAN_INIT("describe_tool"), &describe_provider, ROUTER_LATER_NEVER,
     SPAN_INIT(
         "{\"name\":\"describe_tool\",\"title\":\"Describe tool\",\"description\":\"Gives the "
         "whole description of one tool, with the schema of its arguments.\",\"inputSchema\":"
         "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}},\"required\":["
         "\"name\"],\"additionalProperties\":false},\"annotations\":{\"readOnlyHint\":true,"
         "\"idempotentHint\":true,\"openWorldHint\":false}}")},
    {SPAN_INIT(MCP_CALL_TOOL), &call_provider, ROUTER_LATER_MAY,
     SPAN_INIT("{\"name\":\"" MCP_CALL_TOOL "\",\"title\":\"Call tool\",\"description\":\"Runs a "
               "tool that search_tools found, and gives its result. describe_tool says what "
               "arguments it takes.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
               "\"name\":{\"type\":\"string\"},\"arguments\":{\"type\":\"object\"}},\"required\":["
               "\"name\"],\"additionalProperties\":false},\"execution\":{\"taskSupport\":"
               "\"optional\"}}")},
};

/* ---- what is shown ---- */

static bool lazy_shows(void *context, Span name)
{
    const LazyTools *lazy = context;

    for (size_t i = 0; i < TW_ARRAY_SIZE(lazy_tools); i++) {
        if (span_equals(name, lazy_tools[i].name)) {
            return true;
        }
    }
    /* A result that was shortened says that it is there. */
    if (span_equals(name, SPAN("read_result"))) {
        return true;
    }
    for (size_t i = 0; i < lazy->n_always; i++) {
        Span pattern = span_from_str(lazy->always[i]);

        if (span_equals(name, pattern) ||
            (span_ends_with(pattern, SPAN("*")) &&
             span_starts_with(name, span_make(pattern.p, pattern.n - 1)))) {
            return true;
        }
    }
    return false;
}

static void lazy_on_changed(RouterListener *listener, RouterKind kind)
{
    LazyTools *lazy = (LazyTools *)(void *)((char *)listener - offsetof(LazyTools, listener));

    if (kind == ROUTER_TOOL) {
        lazy->index = tool_index_free(lazy->index);
    }
}

/* ---- what is found ---- */

static bool lazy_is_own(Span name)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(lazy_tools); i++) {
        if (span_equals(name, lazy_tools[i].name)) {
            return true;
        }
    }
    return false;
}

/* Places in the index are those in the router: a change of either forgets it. The three are in it
 * without words, so that they are not found. */
static int lazy_need_index(LazyTools *lazy)
{
    static const JsonNode nothing = {.size = 4, .skip = 1, .tag = JSON_NULL};
    ToolIndex *index = NULL;
    int r;

    if (lazy->index != NULL) {
        return 0;
    }
    r = tool_index_new(&index);
    for (size_t i = 0; r == 0 && i < router_count(lazy->router, ROUTER_TOOL); i++) {
        JsonValue tool = router_tool_at(lazy->router, i);

        if (lazy_is_own(router_tool_name_at(lazy->router, i))) {
            tool = (JsonValue){"null", &nothing};
        }
        r = tool.node == NULL ? err_raise(-ENOMEM) : tool_index_add(index, tool);
    }
    if (r != 0) {
        (void)tool_index_free(index);
        return err_pass(r);
    }
    lazy->index = index;
    return 0;
}

/* The first sentences, on one line. */
static int append_summary(Bytes *out, Span text)
{
    size_t n = text.n;
    int r = 0;

    if (n > LAZY_SUMMARY_BYTES) {
        n = LAZY_SUMMARY_BYTES;
        while (n > 0 && (utf8_byte(text.p + n) & 0xC0) == 0x80) {
            n--;
        }
        for (size_t i = n; i > LAZY_SUMMARY_BYTES / 2; i--) {
            if (text.p[i - 1] == '.' && (text.p[i] == ' ' || text.p[i] == '\n')) {
                n = i;
                break;
            }
        }
    }
    for (size_t i = 0; r == 0 && i < n; i++) {
        bool is_blank = text.p[i] == '\n' || text.p[i] == '\r' || text.p[i] == '\t';

        r = bytes_append_byte(out, is_blank ? ' ' : text.p[i]);
    }
    return r == 0 && n < text.n && (n == 0 || text.p[n - 1] != '.')
               ? bytes_append_span(out, SPAN("\xE2\x80\xA6"))
               : r;
}

static bool is_required(JsonValue schema, JsonValue key)
{
    JsonValue required;

    if (json_get(schema, SPAN("required"), &required) && json_kind(required) == JSON_ARRAY) {
        for (JsonIter it = json_iter(required); json_iter_next(&it);) {
            if (json_kind(it.value) == JSON_STRING && json_string_same(it.value, key)) {
                return true;
            }
        }
    }
    return false;
}

/* "(path, limit?)" */
static int append_parameters(LazyTools *lazy, JsonValue tool)
{
    JsonValue schema;
    JsonValue properties;
    size_t n = 0;
    int r = bytes_append_byte(&lazy->text, '(');

    if (json_get(tool, SPAN("inputSchema"), &schema) &&
        json_get(schema, SPAN("properties"), &properties) && json_kind(properties) == JSON_OBJECT) {
        for (JsonIter it = json_iter(properties);
             r == 0 && n < LAZY_PARAMETERS && json_iter_next(&it); n++) {
            Span name = SPAN_NULL;

            r = json_string(it.key, &lazy->scratch, &name);
            r = r != 0 ? r : bytes_append_span(&lazy->text, n > 0 ? SPAN(", ") : SPAN(""));
            r = r != 0 ? r : bytes_append_span(&lazy->text, name);
            r = r != 0 || is_required(schema, it.key) ? r : bytes_append_byte(&lazy->text, '?');
        }
        if (r == 0 && json_count(properties) > n) {
            r = bytes_append_format(&lazy->text, ", %zu more", json_count(properties) - n);
        }
    }
    return r != 0 ? r : bytes_append_byte(&lazy->text, ')');
}

static int append_tool(LazyTools *lazy, size_t place)
{
    JsonValue tool = router_tool_at(lazy->router, place);
    JsonValue value;
    Span text = SPAN_NULL;
    int r;

    if (tool.node == NULL) {
        return err_raise(-ENOMEM);
    }
    r = bytes_append_span(&lazy->text, SPAN("\n- "));
    r = r != 0 ? r : bytes_append_span(&lazy->text, router_tool_name_at(lazy->router, place));
    r = r != 0 ? r : append_parameters(lazy, tool);
    if (r == 0 &&
        (json_get(tool, SPAN("description"), &value) || json_get(tool, SPAN("title"), &value)) &&
        json_kind(value) == JSON_STRING) {
        r = json_string(value, &lazy->scratch, &text);
    }
    if (r == 0 && text.n > 0) {
        r = bytes_append_span(&lazy->text, SPAN(": "));
        r = r != 0 ? r : append_summary(&lazy->text, text);
    }
    return r;
}

/* Ends the call with the text, or with the failure that kept it from being written. */
static void lazy_answer(LazyTools *lazy, Call *call, int r, bool is_error)
{
    arena_reset(&lazy->scratch, LIMIT_KEEP_BYTES);
    if (r != 0) {
        call_fail(call, r > 0 ? CALL_ERROR_TOO_LARGE : CALL_ERROR_INTERNAL, SPAN_NULL);
        return;
    }
    call_answer_reset(&lazy->answer, CALL_RESULT_TOOL);
    call_answer_text(&lazy->answer, SPAN_NULL, bytes_span(&lazy->text));
    lazy->answer.result.is_error = is_error;
    bytes_clear_keep(&lazy->text, LIMIT_KEEP_BYTES);
    call_answer_finish(&lazy->answer, call);
}

static Span argument(LazyTools *lazy, const Call *call, Span name)
{
    JsonValue value;
    Span text = SPAN_NULL;

    /* The schema has seen to it that it is there, and a string. */
    if (call->arguments.node != NULL && json_get(call->arguments, name, &value)) {
        (void)json_string(value, &lazy->scratch, &text);
    }
    return text;
}

static void search_start(void *context, Call *call)
{
    LazyTools *lazy = context;
    ToolHit hits[LAZY_TOOLS_LIMIT_MAX];
    Span query = argument(lazy, call, SPAN("query"));
    int64_t limit = LAZY_TOOLS_LIMIT;
    size_t n = 0;
    size_t n_all = 0;
    JsonValue value;
    int r = lazy_need_index(lazy);

    if (json_get(call->arguments, SPAN("limit"), &value)) {
        double wanted = LAZY_TOOLS_LIMIT;

        (void)json_double(value, &wanted); /* 10.0 is an integer, too */
        limit = (int64_t)wanted;
    }
    r = r != 0 ? r : tool_index_search(lazy->index, query, hits, (size_t)limit, &n, &n_all);
    bytes_clear(&lazy->text);
    if (r == 0 && n == 0) {
        r = bytes_append_format(&lazy->text,
                                "No tool of %zu matches. Try other words, or an empty query.",
                                router_count(lazy->router, ROUTER_TOOL) - lazy->n_added);
    } else if (r == 0) {
        r = bytes_append_format(&lazy->text,
                                "%zu of %zu tools that match. describe_tool gives the schema of "
                                "one; " MCP_CALL_TOOL " runs it.",
                                n, n_all);
    }
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = append_tool(lazy, hits[i].place);
    }
    lazy_answer(lazy, call, r, false);
}

/* Says that there is no such tool, and which there are that are called nearly so. */
static void lazy_unknown(LazyTools *lazy, Call *call, Span name)
{
    ToolHit hits[LAZY_NEAREST];
    size_t n = 0;
    size_t n_all;
    int r = lazy_need_index(lazy);

    r = r != 0 ? r : tool_index_search(lazy->index, name, hits, LAZY_NEAREST, &n, &n_all);
    bytes_clear(&lazy->text);
    r = r != 0 ? r : bytes_append_span(&lazy->text, SPAN("There is no tool "));
    r = r != 0 ? r : bytes_append_span(&lazy->text, name);
    r = r != 0 ? r
               : bytes_append_span(&lazy->text, n > 0 ? SPAN(". Perhaps one of these is meant:")
                                                      : SPAN(". search_tools finds those that "
                                                             "there are."));
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = append_tool(lazy, hits[i].place);
    }
    lazy_answer(lazy, call, r, true);
}

static void describe_start(void *context, Call *call)
{
    LazyTools *lazy = context;
    Span name = argument(lazy, call, SPAN("name"));
    Span json = router_has_tool(lazy->router, name) ? router_tool_description(lazy->router, name)
                                                    : SPAN_NULL;
    int r;

    if (json.n == 0) {
        lazy_unknown(lazy, call, name);
        return;
    }
    bytes_clear(&lazy->text);
    r = bytes_append_span(&lazy->text, json);
    lazy_answer(lazy, call, r, false);
}

/* A call of call_tool becomes that of the tool which it names, where its door has not seen to that:
 * the tool may have come while the call waited at the gate, or the door knows nothing of it. */
static void lazy_alias(void *context, Call *call)
{
    const LazyTools *lazy = context;
    JsonValue arguments = JSON_VALUE_NULL;
    JsonValue value;
    Span name;

    if (!span_equals(call->target, SPAN(MCP_CALL_TOOL)) || call->arguments.node == NULL ||
        json_kind(call->arguments) != JSON_OBJECT ||
        !json_get(call->arguments, SPAN("name"), &value) || json_kind(value) != JSON_STRING ||
        (json_get(call->arguments, SPAN("arguments"), &arguments) &&
         json_kind(arguments) != JSON_OBJECT) ||
        json_string(value, &call->kept_arena, &name) != 0 ||
        span_equals(name, SPAN(MCP_CALL_TOOL)) || !router_has_tool(lazy->router, name)) {
        return;
    }
    call->target = name;
    call->arguments = arguments;
}

/* Here is what did not become the call of another tool. */
static void call_start(void *context, Call *call)
{
    LazyTools *lazy = context;
    Span name = argument(lazy, call, SPAN("name"));
    int r;

    if (!router_has_tool(lazy->router, name)) {
        lazy_unknown(lazy, call, name);
        return;
    }
    bytes_clear(&lazy->text);
    r = bytes_append_span(&lazy->text, SPAN(MCP_CALL_TOOL " calls other tools"));
    lazy_answer(lazy, call, r, true);
}

/* ---- life ---- */

static int lazy_copy_always(LazyTools *lazy, const char *const *always)
{
    size_t n = 0;

    while (always != NULL && always[n] != NULL) {
        n++;
    }
    lazy->always = mem_alloc_array(n + 1, sizeof(*lazy->always));
    if (lazy->always == NULL) {
        return err_raise(-ENOMEM);
    }
    for (; lazy->n_always < n; lazy->n_always++) {
        size_t size = strlen(always[lazy->n_always]) + 1;
        char *copy = mem_alloc(size);

        if (copy == NULL) {
            return err_raise(-ENOMEM);
        }
        memcpy(copy, always[lazy->n_always], size);
        lazy->always[lazy->n_always] = copy;
    }
    return 0;
}

static int lazy_add_tools(LazyTools *lazy, Diag *reterr_diag)
{
    int r = 0;

    while (r == 0 && lazy->n_added < TW_ARRAY_SIZE(lazy_tools)) {
        size_t i = lazy->n_added;

        r = router_add(lazy->router,
                       &(RouterSpec){.kind = ROUTER_TOOL,
                                     .json = lazy_tools[i].json,
                                     .provider = lazy_tools[i].provider,
                                     .later = lazy_tools[i].later,
                                     .is_about_all = true,
                                     .context = lazy},
                       NULL);
        lazy->n_added += r == 0;
    }
    if (r == ROUTER_E_EXISTS) {
        return diag_set(reterr_diag, LAZY_TOOLS_E_EXISTS, "another tool is called %s",
                        lazy_tools[lazy->n_added].name.p);
    }
    return err_fold(r);
}

int lazy_tools_new(LazyTools **ret, Router *router, const char *const *always, Diag *reterr_diag)
{
    LazyTools *lazy = mem_alloc_array(1, sizeof(*lazy));
    int r;

    if (lazy == NULL) {
        return err_raise(-ENOMEM);
    }
    *lazy = (LazyTools){.router = router, .listener = {.changed = lazy_on_changed}};
    bytes_init(&lazy->text, LIMIT_MCP_RESPONSE_BYTES);
    arena_init(&lazy->scratch, SIZE_MAX);
    call_answer_init(&lazy->answer, LIMIT_MCP_RESPONSE_BYTES);
    router_batch_begin(router);
    r = lazy_copy_always(lazy, always);
    r = r != 0 ? r : lazy_add_tools(lazy, reterr_diag);
    r = r != 0 ? r : router_set_shown(router, lazy_shows, lazy);
    router_batch_end(router);
    if (r != 0) {
        (void)lazy_tools_free(lazy);
        return r;
    }
    router_listen(router, &lazy->listener);
    router_set_alias(router, lazy_alias, lazy);
    lazy->is_listening = true;
    *ret = lazy;
    return 0;
}

LazyTools *lazy_tools_free(LazyTools *lazy)
{
    if (lazy == NULL) {
        return NULL;
    }
    if (lazy->is_listening) {
        router_unlisten(lazy->router, &lazy->listener);
        router_set_alias(lazy->router, NULL, NULL);
        (void)router_set_shown(lazy->router, NULL, NULL);
    }
    for (size_t i = 0; i < lazy->n_added; i++) {
        (void)router_remove(lazy->router, ROUTER_TOOL, lazy_tools[i].name);
    }
    for (size_t i = 0; i < lazy->n_always; i++) {
        mem_free(lazy->always[i]);
    }
    mem_free(lazy->always);
    (void)tool_index_free(lazy->index);
    bytes_deinit(&lazy->text);
    arena_deinit(&lazy->scratch);
    call_answer_deinit(&lazy->answer);
    return mem_free(lazy);
}
