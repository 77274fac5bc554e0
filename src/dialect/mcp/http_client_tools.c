/* Schemas of tools that want arguments in headers, learnt from lists that pass; and tools that must
 * not be used, taken out of them. */
#include "dialect/mcp/http_client_internal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dialect/mcp/param_headers.h"

HttpTool *http_tool_find(const McpHttpClient *http, Span name)
{
    HttpTool *tool = http->tools;

    while (tool != NULL && !span_equals(span_make(tool->data, tool->n_name), name)) {
        tool = tool->next;
    }
    return tool;
}

static void tool_free(McpHttpClient *http, HttpTool **at)
{
    HttpTool *tool = *at;

    *at = tool->next;
    http->n_tools--;
    http->n_tool_bytes -= tool->n_name + tool->n_schema;
    (void)mem_free(tool);
}

void http_tools_clear(McpHttpClient *http)
{
    while (http->tools != NULL) {
        tool_free(http, &http->tools);
    }
}

static void tool_forget(McpHttpClient *http, Span name)
{
    for (HttpTool **at = &http->tools; *at != NULL; at = &(*at)->next) {
        if (span_equals(span_make((*at)->data, (*at)->n_name), name)) {
            tool_free(http, at);
            return;
        }
    }
}

/* 0, -ENOMEM. */
static int tool_remember(McpHttpClient *http, Span name, Span schema)
{
    size_t n = name.n + schema.n;
    HttpTool *tool;

    if (http->n_tools == HTTP_TOOLS_MAX || n > HTTP_TOOLS_BYTES - http->n_tool_bytes) {
        http_client_note(http,
                         "the server has too many tools that want headers: calls of '%.*s' "
                         "go without",
                         (int)(name.n < 80 ? name.n : 80), name.p);
        return 0;
    }
    tool = mem_alloc(sizeof(*tool) + n);
    if (tool == NULL) {
        return err_raise(-ENOMEM);
    }
    *tool = (HttpTool){.next = http->tools, .n_name = name.n, .n_schema = schema.n};
    memcpy(tool->data, name.p, name.n);
    memcpy(tool->data + name.n, schema.p, schema.n);
    http->tools = tool;
    http->n_tools++;
    http->n_tool_bytes += n;
    return 0;
}

/* Most schemas have no annotation: a look at the bytes is enough to know. An escaped spelling of
 * the key would be overlooked; nobody writes one. */
static bool may_be_annotated(Span schema)
{
    static const Span word = SPAN_INIT("x-mcp-header");
    const char *p = schema.p;
    const char *end = schema.p + schema.n;

    while (p != NULL && (size_t)(end - p) >= word.n) {
        p = memchr(p, 'x', (size_t)(end - p) - word.n + 1);
        if (p != NULL && memcmp(p, word.p, word.n) == 0) {
            return true;
        }
        p = p == NULL ? NULL : p + 1;
    }
    return false;
}

/* *ret_ok: it may be used. 0, -ENOMEM. */
static int tool_take(McpHttpClient *http, JsonValue tool, bool *ret_ok)
{
    JsonValue member;
    JsonValue schema;
    Span name;
    int r;

    *ret_ok = true;
    if (!json_get(tool, SPAN("name"), &member) || json_kind(member) != JSON_STRING ||
        !json_get(tool, SPAN("inputSchema"), &schema)) {
        return 0; /* others will complain of it */
    }
    r = json_string(member, &http->arena, &name);
    if (r != 0) {
        return err_fold(r);
    }
    if (http->tools != NULL) {
        tool_forget(http, name);
    }
    if (!may_be_annotated(json_span(schema))) {
        return 0;
    }
    r = mcp_param_headers_check(schema, &http->arena, ret_ok);
    if (r == 0 && *ret_ok) {
        r = tool_remember(http, name, json_span(schema));
    } else if (r == 0) {
        http_client_note(
            http, "the tool '%.*s' is left out: its x-mcp-header annotations break the rules",
            (int)(name.n < 100 ? name.n : 100), name.p);
    }
    return err_pass(r);
}

/* Puts out a tool that is kept, or not. */
static int list_tool(McpHttpClient *http, JsonValue tool, size_t *n_kept, size_t *n_dropped)
{
    bool is_ok;
    int r = tool_take(http, tool, &is_ok);

    if (r != 0 || !is_ok) {
        *n_dropped += r == 0;
        return err_pass(r);
    }
    r = *n_kept == 0 ? 0 : bytes_append_byte(&http->rewritten, ',');
    ++*n_kept;
    return err_fold(r != 0 ? r : bytes_append_span(&http->rewritten, json_span(tool)));
}

int http_tools_take(McpHttpClient *http, Span message, JsonValue result, Span *ret_text)
{
    JsonValue tools;
    Span list;
    size_t n_kept = 0;
    size_t n_dropped = 0;
    int r;

    if (!json_get(result, SPAN("tools"), &tools) || json_kind(tools) != JSON_ARRAY) {
        return 0;
    }
    list = json_span(tools);
    bytes_clear(&http->rewritten);
    r = bytes_append(&http->rewritten, message.p, (size_t)(list.p - message.p) + 1);
    for (JsonIter it = json_iter(tools); r == 0 && json_iter_next(&it);) {
        r = list_tool(http, it.value, &n_kept, &n_dropped);
    }
    if (r == 0) {
        const char *rest = list.p + list.n - 1;

        r = bytes_append(&http->rewritten, rest, (size_t)(message.p + message.n - rest));
    }
    if (r == 0 && n_dropped > 0) {
        *ret_text = bytes_span(&http->rewritten);
    }
    return err_fold(r);
}
