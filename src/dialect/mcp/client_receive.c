/* What a server sent: answers, notifications, requests; and answers that cannot be used. */
#include "dialect/mcp/client_internal.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "dialect/mcp/render.h"

/* The number of a request of ours, as strictly as we wrote it: 7 is not "7", 7.0 or 7e0. 0 for
 * anything else. */
static uint64_t receive_number(JsonValue id)
{
    uint64_t number = 0;

    if (json_kind(id) != JSON_NUMBER || (id.node->tag & JSON_NODE_INTEGER) == 0 ||
        json_uint64(id, &number) != 0) {
        return 0;
    }
    return number;
}

int client_error_read(McpClient *client, JsonValue error, ClientError *ret)
{
    JsonValue member;
    int64_t code = 0;
    int r;

    *ret =
        (ClientError){.code = MCP_ERROR_INTERNAL, .text = SPAN("the server's error says nothing")};
    if (json_get(error, SPAN("code"), &member) && json_int64(member, &code) == 0 &&
        code >= INT_MIN && code <= INT_MAX) {
        ret->code = (int)code;
    }
    if (json_get(error, SPAN("message"), &member)) {
        r = json_string_exact(member, &client->arena, &ret->text);
        if (r < 0) {
            return err_pass(r);
        }
    }
    if (json_get(error, SPAN("data"), &member)) {
        ret->data = member;
    }
    return 0;
}

/* ---- answers that cannot be used ---- */

/* The members of a message that json_parse has refused, or that is not all there. Only its brackets
 * and strings are looked at: what is wrong inside of them is no matter here. */
typedef struct RawMessage {
    const char *p;
    const char *end;
    Span id;         /* as it is written; empty if none was found */
    bool has_method; /* it is no answer */
} RawMessage;

typedef enum RawOutcome {
    RAW_CLOSED, /* one object, and nothing behind it */
    RAW_CUT,    /* the beginning of one */
    RAW_BROKEN,
} RawOutcome;

static bool raw_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The next byte that means something; '\0' at the end. */
static char raw_peek(RawMessage *raw)
{
    while (raw->p < raw->end && raw_is_space(*raw->p)) {
        raw->p++;
    }
    return raw->p < raw->end ? *raw->p : '\0';
}

/* Goes behind the string that begins here. False if it has no end. */
static bool raw_skip_string(RawMessage *raw)
{
    for (raw->p++; raw->p < raw->end; raw->p++) {
        if (*raw->p == '"') {
            raw->p++;
            return true;
        }
        if (*raw->p == '\\' && raw->p + 1 < raw->end) {
            raw->p++;
        }
    }
    return false;
}

/* Goes behind the value that begins here. False if it has no end: a number that runs up to the end
 * of the text may be longer than what is there. */
static bool raw_skip_value(RawMessage *raw)
{
    size_t depth = 0;

    while (raw->p < raw->end) {
        char c = *raw->p;

        if (c == '"') {
            if (!raw_skip_string(raw)) {
                return false;
            }
            if (depth == 0) {
                return true;
            }
            continue;
        }
        if (depth == 0 && (c == ',' || c == '}' || c == ']' || raw_is_space(c))) {
            return true;
        }
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        raw->p++;
        if (depth == 0 && (c == '}' || c == ']')) {
            return true;
        }
    }
    return false;
}

/* The member that begins here. RAW_CLOSED if all of it is there. */
static RawOutcome raw_read_member(RawMessage *raw)
{
    Span key = {.p = raw->p};
    Span value;

    if (!raw_skip_string(raw)) {
        return RAW_CUT;
    }
    key.n = (size_t)(raw->p - key.p);
    if (raw_peek(raw) == '\0' && raw->p == raw->end) {
        return RAW_CUT;
    }
    /* With a backslash it may be a name in disguise, which nobody writes. */
    if (*raw->p != ':' || memchr(key.p, '\\', key.n) != NULL) {
        return RAW_BROKEN;
    }
    raw->p++;
    (void)raw_peek(raw);
    value.p = raw->p;
    if (!raw_skip_value(raw)) {
        return RAW_CUT;
    }
    value.n = (size_t)(raw->p - value.p);
    raw->has_method = raw->has_method || span_equals(key, SPAN("\"method\""));
    raw->id = span_equals(key, SPAN("\"id\"")) ? value : raw->id;
    return value.n > 0 ? RAW_CLOSED : RAW_BROKEN;
}

static RawOutcome raw_read(RawMessage *raw, Span text)
{
    *raw = (RawMessage){.p = text.p, .end = text.n > 0 ? text.p + text.n : text.p};
    if (raw_peek(raw) != '{') {
        return raw->p == raw->end ? RAW_CUT : RAW_BROKEN;
    }
    do {
        RawOutcome outcome = RAW_CLOSED;

        raw->p++;
        if (raw_peek(raw) == '"') {
            outcome = raw_read_member(raw);
        }
        if (outcome != RAW_CLOSED) {
            return outcome;
        }
    } while (raw_peek(raw) == ',');
    if (raw->p == raw->end) {
        return RAW_CUT;
    }
    if (*raw->p++ != '}') {
        return RAW_BROKEN;
    }
    (void)raw_peek(raw);
    return raw->p == raw->end ? RAW_CLOSED : RAW_BROKEN;
}

/* Whether a text that is not JSON may have been meant as a message: it begins as an object, or as a
 * batch of them. "[info] listening" does not. */
static bool raw_may_be_message(Span text)
{
    RawMessage raw = {.p = text.p, .end = text.n > 0 ? text.p + text.n : text.p};
    char c = raw_peek(&raw);

    if (c == '[') {
        raw.p++;
        c = raw_peek(&raw);
        return c == '{' || c == '[';
    }
    return c == '{' || text.n == 0;
}

/* The answer to `number` has come, and has a flaw. 0, negative errno. */
static int receive_flawed(McpClient *client, uint64_t number, const char *flaw)
{
    ClientRequest *request = client_request_by_wire(client, number);

    if (number != 0 && number == client->handshake_id) {
        return client_handshake_flawed(client, flaw);
    }
    if (request == NULL) {
        client->n_skipped++;
        return 0;
    }
    (void)snprintf(client->flaw, sizeof(client->flaw), "the server's answer %s", flaw);
    client_request_end(client, request, MCP_ERROR_INTERNAL, span_from_str(client->flaw));
    return 0;
}

/* Some answer may have come, and nobody can say which: everything that waits for one ends. The
 * server may still be at work for it. */
static int receive_unknown(McpClient *client, const char *flaw)
{
    ClientRequest *next;
    bool any = false;

    if (client->state == CLIENT_INITIALIZING && client->handshake_id != 0) {
        return client_handshake_flawed(client, flaw);
    }
    (void)snprintf(client->flaw, sizeof(client->flaw),
                   "a message of the server %s, and may have been the answer", flaw);
    for (ClientRequest *request = client->first; request != NULL; request = next) {
        next = request->next;
        if (request->wire_id != 0 && !request->is_endless) {
            (void)client_write_cancelled(client, request->wire_id, SPAN("the answer is lost"));
            client_request_end(client, request, MCP_ERROR_INTERNAL, span_from_str(client->flaw));
            any = true;
        }
    }
    client->n_skipped += !any;
    return 0;
}

/* A message that cannot be read; text is all of it, or its beginning. 0, negative errno. */
static int receive_unreadable(McpClient *client, Span text, bool is_beginning, const char *flaw)
{
    RawMessage raw;
    RawOutcome outcome;
    uint64_t number = 0;
    int r = client_events_ensure(client, 0);

    if (r != 0) {
        return err_pass(r);
    }
    if (!raw_may_be_message(text)) {
        client->n_skipped++;
        return 0;
    }
    outcome = raw_read(&raw, text);
    /* Where the brackets do not fit, two messages may have run into one another. */
    if (outcome == RAW_BROKEN || (outcome == RAW_CUT && !is_beginning) ||
        (outcome == RAW_CUT && !raw.has_method && raw.id.n == 0)) {
        return receive_unknown(client, flaw);
    }
    /* What has another id than ours, or none, is nothing that anybody waits for. */
    if (raw.has_method || text_parse_u64(raw.id, &number) != 0) {
        client->n_skipped++;
        return 0;
    }
    return receive_flawed(client, number, flaw);
}

/* ---- answers ---- */

static int receive_error(McpClient *client, ClientRequest *request, JsonValue value)
{
    McpClientEvent *event;
    ClientError error;
    bool is_taken = false;
    int r = client_error_read(client, value, &error);

    if (r == 0 && request == client->refresh) {
        return client_retry_listed(client, JSON_VALUE_NULL);
    }
    r = r != 0 ? r : client_retry(client, request, &error, &is_taken);
    if (r != 0 || is_taken) {
        return r;
    }
    if (!request->is_ours) {
        event = client_event_push(client, MCP_CLIENT_ERROR);
        event->id = request->id;
        event->context = request->context;
        event->code = error.code;
        event->text = error.text;
        event->value = error.data;
        event->loss = client->loss;
    }
    client_request_close(client, request);
    return 0;
}

static int receive_result(McpClient *client, ClientRequest *request, JsonValue result)
{
    JsonValue type;
    McpClientEvent *event;

    if (json_kind(result) != JSON_OBJECT) {
        client_request_end(client, request, MCP_ERROR_INTERNAL,
                           SPAN("the server's result is not an object"));
        return 0;
    }
    if (client_is_modern(client) && json_get(result, SPAN("resultType"), &type) &&
        !json_string_equals(type, SPAN("complete"))) {
        if (json_string_equals(type, SPAN("input_required"))) {
            return client_ask_modern(client, request, result);
        }
        client_request_end(client, request, MCP_ERROR_INTERNAL,
                           SPAN("the server's result is of a type that is unknown"));
        return 0;
    }
    if (request == client->refresh) {
        return client_retry_listed(client, result);
    }
    if (!request->is_ours) {
        event = client_event_push(client, MCP_CLIENT_RESULT);
        event->id = request->id;
        event->context = request->context;
        event->value = result;
    }
    client_request_close(client, request);
    return 0;
}

static int receive_response(McpClient *client, JsonValue message)
{
    JsonValue id = JSON_VALUE_NULL;
    JsonValue result;
    JsonValue error;
    bool has_id = json_get(message, SPAN("id"), &id) && json_kind(id) != JSON_NULL;
    bool has_result = json_get(message, SPAN("result"), &result);
    bool has_error = json_get(message, SPAN("error"), &error);
    uint64_t number = has_id ? receive_number(id) : 0;
    ClientRequest *request = client_request_by_wire(client, number);
    /* An error that names no request can only mean the one that is open. */
    bool is_about_probe = client->state == CLIENT_PROBING && !has_id && has_error;

    if (has_result == has_error) {
        return receive_flawed(client, number,
                              has_result ? "has both a result and an error"
                                         : "has neither a result nor an error");
    }
    if (client->handshake_id != 0 && (number == client->handshake_id || is_about_probe)) {
        return client_handshake_answer(client, message);
    }
    if (request == NULL) {
        client->n_skipped++;
        return 0;
    }
    return has_error ? receive_error(client, request, error)
                     : receive_result(client, request, result);
}

/* How the server wrote it, for an owner that passes it on: numbers as they are spelt, and members
 * that nobody here knows. 0, -ENOMEM. */
static int receive_spelling(McpClient *client, JsonValue params, CallProgress *progress)
{
    char *members = NULL;
    size_t n = 0;

    for (JsonIter it = json_iter(params); json_iter_next(&it);) {
        Span key = json_span(it.key);
        Span value = json_span(it.value);

        if (json_string_equals(it.key, SPAN("progress"))) {
            progress->spelt = value;
        } else if (json_string_equals(it.key, SPAN("total"))) {
            progress->spelt_total = progress->total >= 0 ? value : SPAN_NULL;
        } else if (!json_string_equals(it.key, SPAN("progressToken")) &&
                   !json_string_equals(it.key, SPAN("message")) &&
                   !json_string_equals(it.key, SPAN("_meta"))) {
            if (members == NULL) {
                members = arena_alloc(&client->arena, json_span(params).n + 1);
            }
            if (members == NULL) {
                return err_raise(-ENOMEM);
            }
            if (n > 0) {
                members[n++] = ',';
            }
            memcpy(members + n, key.p, key.n);
            members[n + key.n] = ':';
            memcpy(members + n + key.n + 1, value.p, value.n);
            n += key.n + 1 + value.n;
        }
    }
    progress->members = span_make(members, n);
    return 0;
}

static int receive_progress(McpClient *client, JsonValue params)
{
    CallProgress progress = {.total = CALL_NO_TOTAL};
    ClientRequest *request;
    McpClientEvent *event;
    JsonValue member;
    int r = 0;

    if (params.node == NULL || !json_get(params, SPAN("progressToken"), &member)) {
        client->n_skipped++;
        return 0;
    }
    request = client_request_by_wire(client, receive_number(member));
    if (request == NULL || !request->wants_progress ||
        !json_get(params, SPAN("progress"), &member) ||
        json_double(member, &progress.progress) != 0) {
        client->n_skipped++;
        return 0;
    }
    if (json_get(params, SPAN("total"), &member) && json_double(member, &progress.total) != 0) {
        progress.total = CALL_NO_TOTAL;
    }
    if (json_get(params, SPAN("message"), &member)) {
        r = json_string_exact(member, &client->arena, &progress.message);
    }
    if (r >= 0 && json_is_one_line(params)) {
        r = receive_spelling(client, params, &progress);
    }
    if (r < 0) {
        return err_pass(r);
    }
    client_deadline_start(client, request, client->now_ms);
    event = client_event_push(client, MCP_CLIENT_PROGRESS);
    event->id = request->id;
    event->context = request->context;
    event->progress = progress;
    return 0;
}

static void receive_cancelled(McpClient *client, JsonValue params)
{
    ClientRequest *request;
    JsonValue id;

    if (params.node == NULL || !json_get(params, SPAN("requestId"), &id)) {
        client->n_skipped++;
        return;
    }
    if (!client_is_modern(client)) {
        client_ask_cancelled(client, id);
        return;
    }
    /* A modern server may take back a subscription, and nothing else. */
    request = client_request_by_wire(client, receive_number(id));
    if (request != NULL && request->is_endless) {
        client_request_end(client, request, MCP_CLIENT_CODE_ENDED,
                           SPAN("the server ended the subscription"));
    } else {
        client->n_skipped++;
    }
}

static int receive_notification(McpClient *client, JsonValue message, Span method)
{
    JsonValue params = JSON_VALUE_NULL;
    McpClientEvent *event;

    (void)json_get(message, SPAN("params"), &params);
    if (span_equals(method, SPAN("notifications/progress"))) {
        return receive_progress(client, params);
    }
    if (span_equals(method, SPAN("notifications/cancelled"))) {
        receive_cancelled(client, params);
        return 0;
    }
    event = client_event_push(client, MCP_CLIENT_NOTIFICATION);
    event->text = method;
    event->value = params;
    return 0;
}

static int receive_call(McpClient *client, JsonValue message, JsonValue method, JsonValue id)
{
    bool is_id = id.node != NULL && (json_kind(id) == JSON_STRING || json_kind(id) == JSON_NUMBER);
    Span name = SPAN_NULL;
    int r = json_string(method, &client->arena, &name);

    if (r < 0) {
        return err_pass(r);
    }
    /* A modern server sends no requests, and gets no answers. */
    if (r > 0 || (id.node != NULL && (!is_id || client_is_modern(client)))) {
        client->n_skipped++;
        return 0;
    }
    return is_id ? client_ask_legacy(client, message, id, name)
                 : receive_notification(client, message, name);
}

/* An object that is not what we take for a message; it may be an answer all the same. */
static int receive_odd(McpClient *client, JsonValue message, const char *flaw)
{
    JsonValue method;
    JsonValue id;

    if (json_get(message, SPAN("method"), &method) || !json_get(message, SPAN("id"), &id)) {
        client->n_skipped++;
        return 0;
    }
    return receive_flawed(client, receive_number(id), flaw);
}

/* A batch where there are none. 0, negative errno. */
static int receive_odd_batch(McpClient *client, JsonValue batch)
{
    uint64_t n_skipped = client->n_skipped;
    int r = client_events_ensure(client, 0);

    for (JsonIter it = json_iter(batch); r == 0 && json_iter_next(&it);) {
        r = receive_odd(client, it.value,
                        "is part of a batch, which this version of MCP does not have");
    }
    /* It is one message. */
    client->n_skipped =
        client->n_skipped > n_skipped || json_count(batch) == 0 ? n_skipped + 1 : n_skipped;
    return err_pass(r);
}

static int receive_message(McpClient *client, JsonValue message)
{
    JsonValue version;
    JsonValue method;
    JsonValue id = JSON_VALUE_NULL;
    /* Its event, and for a question the event that takes it back. */
    int r = client_events_ensure(client, 2);

    if (r != 0) {
        return r;
    }
    if (!json_get(message, SPAN("jsonrpc"), &version) ||
        !json_string_equals(version, SPAN("2.0"))) {
        return receive_odd(client, message, "does not say that it is JSON-RPC 2.0");
    }
    if (json_get(message, SPAN("method"), &method)) {
        (void)json_get(message, SPAN("id"), &id);
        return receive_call(client, message, method, id);
    }
    return receive_response(client, message);
}

/* Whether what comes matters to this session. */
static bool receive_begin(McpClient *client, uint64_t with, int64_t now_ms)
{
    client->now_ms = now_ms;
    client->in_batch = false;
    client->came_with = with;
    client->loss = MCP_CLIENT_ANSWERED;
    return client->state != CLIENT_ENDED && client->state != CLIENT_RESTARTING;
}

int mcp_client_receive_too_long(McpClient *client, Span beginning, int64_t now_ms)
{
    return receive_begin(client, 0, now_ms)
               ? receive_unreadable(client, beginning, true, "is longer than allowed")
               : 0;
}

int mcp_client_receive(McpClient *client, Span message, int64_t now_ms)
{
    return mcp_client_receive_with(client, message, 0, now_ms);
}

int mcp_client_receive_with(McpClient *client, Span message, uint64_t with, int64_t now_ms)
{
    return mcp_client_receive_instead(client, message, with, MCP_CLIENT_ANSWERED, now_ms);
}

int mcp_client_receive_instead(McpClient *client, Span message, uint64_t with, McpClientLoss loss,
                               int64_t now_ms)
{
    JsonLimits limits = {.max_bytes = client->config.max_message_bytes};
    JsonDoc doc;
    int r;

    if (!receive_begin(client, with, now_ms)) {
        return 0;
    }
    client->loss = loss;
    arena_reset(&client->arena, LIMIT_KEEP_BYTES);
    r = json_parse(&doc, &client->arena, message.p, message.n, &limits, NULL);
    if (r < 0) {
        return err_pass(r);
    }
    if (r > 0) {
        return receive_unreadable(client, message, false,
                                  r == JSON_E_SYNTAX  ? "is not JSON"
                                  : r == JSON_E_DEPTH ? "is nested too deep"
                                                      : "is longer than allowed");
    }
    if (json_kind(json_root(&doc)) != JSON_ARRAY) {
        return receive_message(client, json_root(&doc));
    }
    /* The only revision that has batches. */
    if (client->state != CLIENT_READY || client->revision != MCP_2025_03_26) {
        return receive_odd_batch(client, json_root(&doc));
    }
    client->batch = json_iter(json_root(&doc));
    client->in_batch = true;
    return 0;
}

void client_receive_more(McpClient *client)
{
    if (!json_iter_next(&client->batch)) {
        client->in_batch = false;
        return;
    }
    if (receive_message(client, client->batch.value) != 0) {
        client_fail(client, "the session cannot go on for want of memory");
    }
}
