/* What a server sent: answers, notifications, requests. */
#include "dialect/mcp/client_internal.h"

#include <limits.h>

#include "base/error.h"
#include "base/limits.h"
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
        r = json_string(member, &client->arena, &ret->text);
        if (r < 0) {
            return err_pass(r);
        }
    }
    if (json_get(error, SPAN("data"), &member)) {
        ret->data = member;
    }
    return 0;
}

static int receive_error(McpClient *client, ClientRequest *request, JsonValue value)
{
    McpClientEvent *event;
    ClientError error;
    int r = client_error_read(client, value, &error);

    if (r != 0) {
        return r;
    }
    if (!request->is_ours) {
        event = client_event_push(client, MCP_CLIENT_ERROR);
        event->id = request->id;
        event->code = error.code;
        event->text = error.text;
        event->value = error.data;
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
    if (!request->is_ours) {
        event = client_event_push(client, MCP_CLIENT_RESULT);
        event->id = request->id;
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

    if (has_result != has_error && client->handshake_id != 0 &&
        (number == client->handshake_id || is_about_probe)) {
        return client_handshake_answer(client, message);
    }
    if (request == NULL || has_result == has_error) {
        client->n_skipped++;
        return 0;
    }
    return has_error ? receive_error(client, request, error)
                     : receive_result(client, request, result);
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
        r = json_string(member, &client->arena, &progress.message);
    }
    if (r < 0) {
        return err_pass(r);
    }
    client_deadline_start(client, request, client->now_ms);
    event = client_event_push(client, MCP_CLIENT_PROGRESS);
    event->id = request->id;
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
        client->n_skipped++;
        return 0;
    }
    if (json_get(message, SPAN("method"), &method)) {
        (void)json_get(message, SPAN("id"), &id);
        return receive_call(client, message, method, id);
    }
    return receive_response(client, message);
}

int mcp_client_receive(McpClient *client, Span message, int64_t now_ms)
{
    JsonLimits limits = {.max_bytes = client->config.max_message_bytes};
    JsonDoc doc;
    int r;

    client->now_ms = now_ms;
    client->in_batch = false;
    if (client->state == CLIENT_ENDED || client->state == CLIENT_RESTARTING) {
        return 0;
    }
    arena_reset(&client->arena, LIMIT_KEEP_BYTES);
    r = json_parse(&doc, &client->arena, message.p, message.n, &limits, NULL);
    if (r < 0) {
        return err_pass(r);
    }
    if (r > 0) {
        client->n_skipped++;
        return 0;
    }
    /* The only revision that has batches. */
    if (json_kind(json_root(&doc)) == JSON_ARRAY && client->state == CLIENT_READY &&
        client->revision == MCP_2025_03_26) {
        client->batch = json_iter(json_root(&doc));
        client->in_batch = true;
        return 0;
    }
    return receive_message(client, json_root(&doc));
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
