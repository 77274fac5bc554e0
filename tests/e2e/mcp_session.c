#include "e2e/mcp_session.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool mcp_session_is_modern(const McpSession *s)
{
    return strcmp(s->revision, "2026-07-28") == 0;
}

bool mcp_session_tells_in_results(const McpSession *s)
{
    return strcmp(s->revision, "2025-06-18") >= 0;
}

void mcp_session_take(McpSession *s)
{
    JsonDoc doc;

    free(s->line);
    arena_reset(&s->arena, 0);
    s->line = peer_line(&s->peer);
    assert_non_null(s->line);
    assert_int_equal(json_parse(&doc, &s->arena, s->line, strlen(s->line), NULL, NULL), 0);
    s->answer = json_root(&doc);
}

void mcp_session_send(McpSession *s, const char *method, const char *members)
{
    static char line[1 << 16];
    char *text = strdup(members);

    assert_non_null(text);
    for (char *c = strchr(text, '\''); c != NULL; c = strchr(c, '\'')) {
        *c = '"';
    }
    (void)snprintf(
        line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{%s%s%s}}",
        ++s->n_sent, method, text, mcp_session_is_modern(s) && text[0] != '\0' ? "," : "",
        mcp_session_is_modern(s) ? "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
                                   "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":"
                                   "{}}"
                                 : "");
    free(text);
    peer_send(&s->peer, line);
}

void mcp_session_ask(McpSession *s, const char *method, const char *members)
{
    mcp_session_send(s, method, members);
    mcp_session_take(s);
}

void mcp_session_tool(McpSession *s, const char *name, const char *arguments)
{
    static char members[1 << 15];

    (void)snprintf(members, sizeof(members), "'name':'%s','arguments':%s", name, arguments);
    mcp_session_ask(s, "tools/call", members);
}

bool mcp_session_has(const McpSession *s, const char *pointer)
{
    JsonValue v;

    return json_pointer(s->answer, span_from_str(pointer), &v) == 0;
}

Span mcp_session_at(const McpSession *s, const char *pointer)
{
    JsonValue v;

    if (json_pointer(s->answer, span_from_str(pointer), &v) != 0) {
        fail_msg("%s: there is no %s in %.500s", s->revision, pointer, s->line);
    }
    return json_span(v);
}

void mcp_session_assert_at(const McpSession *s, const char *pointer, const char *json)
{
    Span v = mcp_session_at(s, pointer);

    if (!span_equals(v, span_from_str(json))) {
        fail_msg("%s: %s is %.*s, not %s", s->revision, pointer, (int)(v.n < 300 ? v.n : 300), v.p,
                 json);
    }
}
