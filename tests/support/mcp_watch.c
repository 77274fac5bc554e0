#include "support/mcp_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "support/cmocka.h"
#include "support/mcp_schema.h"

#define MAX_METHOD 64
#define MAX_BYTES  ((size_t)256 << 20)

struct McpWatchCall {
    McpWatchCall *next;
    McpRevision revision;
    bool is_cancelled; /* it may still be answered, if the answer was on its way */
    char method[MAX_METHOD];
    char *token; /* for progress, as JSON; NULL without */
    char *id;    /* as JSON: ids come back byte for byte */
};

void mcp_watch_init(McpWatch *watch, unsigned ours)
{
    *watch = (McpWatch){.ours = mcp_schema_is_there() ? ours : 0, .revision = MCP_NEWEST_LEGACY};
}

/* ---- requests in flight ---- */

static McpWatchCall *call_free(McpWatchCall *call)
{
    if (call != NULL) {
        free(call->token);
        free(call->id);
        free(call);
    }
    return NULL;
}

static char *json_copy(JsonValue value)
{
    Span text = json_span(value);
    char *copy = malloc(text.n + 1);

    assert_non_null(copy);
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    return copy;
}

static bool is_json(const char *text, JsonValue value)
{
    return text != NULL && span_equals(span_from_str(text), json_span(value));
}

/* Takes out the call of that id: the oldest, or with newest the youngest. NULL if there is none. */
static McpWatchCall *calls_take(McpWatchCalls *calls, JsonValue id, bool newest)
{
    McpWatchCall *before = NULL;
    McpWatchCall *found_before = NULL;
    McpWatchCall *found = NULL;

    for (McpWatchCall *call = calls->first; call != NULL; before = call, call = call->next) {
        if (is_json(call->id, id)) {
            found = call;
            found_before = before;
            if (!newest) {
                break;
            }
        }
    }
    if (found != NULL) {
        *(found_before == NULL ? &calls->first : &found_before->next) = found->next;
        calls->last = calls->last == found ? found_before : calls->last;
    }
    return found;
}

/* One that was cancelled makes room for the next of its id. */
static void calls_forget_cancelled(McpWatchCalls *calls, JsonValue id)
{
    McpWatchCall *call = calls_take(calls, id, false);

    if (call != NULL && !call->is_cancelled) {
        call->next = calls->first;
        calls->first = call;
        calls->last = calls->last == NULL ? call : calls->last;
        return;
    }
    (void)call_free(call);
}

static void calls_add(McpWatchCalls *calls, JsonValue message, JsonValue id, Span method,
                      McpRevision revision)
{
    McpWatchCall *call = calloc(1, sizeof(*call));
    JsonValue token;

    assert_non_null(call);
    call->revision = revision;
    (void)snprintf(call->method, sizeof(call->method), "%.*s", (int)method.n, method.p);
    call->id = json_copy(id);
    if (json_pointer(message, SPAN("/params/_meta/progressToken"), &token) == 0) {
        call->token = json_copy(token);
    }
    calls_forget_cancelled(calls, id);
    *(calls->last == NULL ? &calls->first : &calls->last->next) = call;
    calls->last = call;
}

/* If the message cancels a call, marks that. */
static void calls_note_cancelled(McpWatchCalls *calls, Span method, JsonValue message)
{
    JsonValue id;

    if (!span_equals(method, SPAN("notifications/cancelled")) ||
        json_pointer(message, SPAN("/params/requestId"), &id) != 0) {
        return;
    }
    for (McpWatchCall *call = calls->first; call != NULL; call = call->next) {
        call->is_cancelled = call->is_cancelled || is_json(call->id, id);
    }
}

static void calls_deinit(McpWatchCalls *calls)
{
    while (calls->first != NULL) {
        McpWatchCall *call = calls->first;

        calls->first = call->next;
        (void)call_free(call);
    }
    calls->last = NULL;
}

/* ---- what the client sends ---- */

/* The id of a request, which is a string or a number; others are answered without it. */
static bool get_id(JsonValue message, JsonValue *ret)
{
    return json_get(message, SPAN("id"), ret) &&
           (json_kind(*ret) == JSON_STRING || json_kind(*ret) == JSON_NUMBER);
}

static bool get_method(JsonValue message, Span *ret)
{
    JsonValue method;

    return json_kind(message) == JSON_OBJECT && json_get(message, SPAN("method"), &method) &&
           json_kind(method) == JSON_STRING && json_string_plain(method, ret);
}

static McpRevision revision_of_request(const McpWatch *watch, JsonValue message, Span method)
{
    McpRevision revision = watch->revision;
    JsonValue version;
    Span text;

    if (json_pointer(message, SPAN("/params/_meta/io.modelcontextprotocol~1protocolVersion"),
                     &version) == 0) {
        return MCP_FIRST_MODERN;
    }
    if (span_equals(method, SPAN("initialize")) &&
        json_pointer(message, SPAN("/params/protocolVersion"), &version) == 0 &&
        json_kind(version) == JSON_STRING && json_string_plain(version, &text)) {
        (void)mcp_revision_parse(text, &revision);
    }
    return revision;
}

static void check_client(McpWatch *watch, McpRevision revision, const char *method, JsonValue line)
{
    if ((watch->ours & MCP_WATCH_CLIENT) != 0) {
        mcp_schema_assert_client_message(revision, method, json_span(line));
        watch->n_checked++;
    }
}

static void see_client_message(McpWatch *watch, JsonValue message)
{
    McpWatchCall *asked = NULL;
    JsonValue id;
    Span method;

    if (!get_method(message, &method)) {
        if (json_kind(message) == JSON_OBJECT && get_id(message, &id)) {
            asked = calls_take(&watch->of_server, id, false);
        }
        check_client(watch, watch->revision, asked == NULL ? NULL : asked->method, message);
        (void)call_free(asked);
    } else if (get_id(message, &id)) {
        McpRevision revision = revision_of_request(watch, message, method);

        calls_add(&watch->of_client, message, id, method, revision);
        check_client(watch, revision, NULL, message);
    } else {
        calls_note_cancelled(&watch->of_client, method, message);
        check_client(watch, watch->is_agreed ? watch->revision : MCP_FIRST_MODERN, NULL, message);
    }
}

/* ---- what the server sends ---- */

static void check_server(McpWatch *watch, McpRevision revision, const char *method, JsonValue line)
{
    if ((watch->ours & MCP_WATCH_SERVER) != 0) {
        mcp_schema_assert_message(revision, method, json_span(line));
        watch->n_checked++;
    }
}

/* Fails if the server is ours. */
static void blame_server(const McpWatch *watch, const char *what, JsonValue message)
{
    if ((watch->ours & MCP_WATCH_SERVER) != 0) {
        fail_msg("%s: %.*s", what, (int)json_span(message).n, json_span(message).p);
    }
}

/* A subscription is modern, progress has the revision of its call, anything else the session's. */
static McpRevision revision_of_notification(const McpWatch *watch, JsonValue message)
{
    JsonValue v;

    if (json_pointer(message, SPAN("/params/_meta/io.modelcontextprotocol~1subscriptionId"), &v) ==
        0) {
        return MCP_FIRST_MODERN;
    }
    if (json_pointer(message, SPAN("/params/progressToken"), &v) == 0) {
        for (const McpWatchCall *call = watch->of_client.first; call != NULL; call = call->next) {
            if (is_json(call->token, v)) {
                return call->revision;
            }
        }
        blame_server(watch, "progress of a call that is not there", message);
    }
    return watch->is_agreed ? watch->revision : MCP_FIRST_MODERN;
}

static void note_agreed(McpWatch *watch, McpWatchCall *call, JsonValue message)
{
    JsonValue version;
    Span text;

    if (strcmp(call->method, "initialize") == 0 &&
        json_pointer(message, SPAN("/result/protocolVersion"), &version) == 0 &&
        json_string_plain(version, &text) && mcp_revision_parse(text, &call->revision)) {
        watch->revision = call->revision;
        watch->is_agreed = true;
    }
}

static void see_answer(McpWatch *watch, JsonValue message)
{
    McpWatchCall *call = NULL;
    bool is_result;
    JsonValue v;

    is_result = json_get(message, SPAN("result"), &v);
    if (get_id(message, &v)) {
        /* An id in use is refused while the first call of that id goes on. */
        call = calls_take(&watch->of_client, v, !is_result);
    }
    if (is_result && call == NULL) {
        blame_server(watch, "an answer that nobody asked for", message);
        return;
    }
    if (is_result) {
        note_agreed(watch, call, message);
    }
    check_server(watch, call == NULL ? watch->revision : call->revision,
                 is_result ? call->method : NULL, message);
    (void)call_free(call);
}

static void see_server_message(McpWatch *watch, JsonValue message)
{
    JsonValue id;
    Span method;

    if (!get_method(message, &method)) {
        see_answer(watch, message);
    } else if (json_get(message, SPAN("id"), &id)) {
        calls_add(&watch->of_server, message, id, method, watch->revision);
        check_server(watch, watch->revision, NULL, message);
    } else {
        calls_note_cancelled(&watch->of_server, method, message);
        check_server(watch, revision_of_notification(watch, message), NULL, message);
    }
}

/* ---- lines ---- */

typedef void See(McpWatch *watch, JsonValue message);

/* One message; or several, in the revision that has batches. */
static void see_root(McpWatch *watch, JsonValue root, See *see)
{
    if (json_kind(root) == JSON_ARRAY && watch->is_agreed && watch->revision == MCP_2025_03_26) {
        for (JsonIter it = json_iter(root); json_iter_next(&it);) {
            see(watch, it.value);
        }
    } else {
        see(watch, root);
    }
}

static void see_line(McpWatch *watch, Span line, bool from_client)
{
    unsigned side = from_client ? MCP_WATCH_CLIENT : MCP_WATCH_SERVER;
    Arena arena;
    JsonDoc doc;

    arena_init(&arena, MAX_BYTES);
    /* The server does not look into what is too long. */
    if (from_client && line.n > LIMIT_MCP_REQUEST_BYTES) {
        assert_true((watch->ours & side) == 0);
    } else if (json_parse(&doc, &arena, line.p, line.n, NULL, NULL) == 0) {
        see_root(watch, json_root(&doc), from_client ? see_client_message : see_server_message);
    } else if ((watch->ours & side) != 0) {
        fail_msg("not JSON: %.*s", (int)line.n, line.p);
    }
    arena_deinit(&arena);
}

static void line_add(McpWatchLine *line, const char *p, size_t n)
{
    if (line->cap - line->n < n) {
        line->cap = line->cap * 2 + n;
        line->data = realloc(line->data, line->cap);
        assert_non_null(line->data);
    }
    if (n > 0) {
        memcpy(line->data + line->n, p, n);
    }
    line->n += n;
}

static void see_bytes(McpWatch *watch, McpWatchLine *line, const char *p, size_t n)
{
    const char *end;

    if (watch->ours == 0) {
        return;
    }
    while (n > 0 && (end = memchr(p, '\n', n)) != NULL) {
        size_t n_line = (size_t)(end - p);

        line_add(line, p, n_line);
        p += n_line + 1;
        n -= n_line + 1;
        n_line = line->n;
        line->n = 0;
        see_line(watch, span_make(line->data, n_line), line == &watch->from_client);
    }
    line_add(line, p, n);
}

void mcp_watch_client_sends(McpWatch *watch, const void *p, size_t n)
{
    see_bytes(watch, &watch->from_client, p, n);
}

void mcp_watch_server_sends(McpWatch *watch, const void *p, size_t n)
{
    see_bytes(watch, &watch->from_server, p, n);
}

void mcp_watch_client_ends(McpWatch *watch)
{
    if (watch->from_client.n > 0) {
        see_bytes(watch, &watch->from_client, "\n", 1);
    }
}

void mcp_watch_deinit(McpWatch *watch)
{
    calls_deinit(&watch->of_client);
    calls_deinit(&watch->of_server);
    free(watch->from_client.data);
    free(watch->from_server.data);
    *watch = (McpWatch){.ours = 0};
}
