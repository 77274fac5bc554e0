/* What the session tells a client, and which of it ends the waiting. */
#include "api/tw_client.h"

#include <string.h>
#include <toolwire/error.h>

#include "base/alloc.h"
#include "base/utf8.h"

void api_client_finish(TwClient *client, int outcome)
{
    if (!client->finished) {
        client->finished = true;
        client->outcome = outcome;
        io_loop_stop(client->loop);
    }
}

static char *client_copy_value(JsonValue value)
{
    Span text = value.node == NULL ? SPAN_NULL : json_span(value);
    char *copy = value.node == NULL ? NULL : mem_alloc(text.n + 1);

    if (copy != NULL) {
        memcpy(copy, text.p, text.n);
        copy[text.n] = '\0';
    }
    return copy;
}

static char *client_copy_span(Span text)
{
    char *copy = mem_alloc(text.n + 1);

    if (copy != NULL) {
        memcpy(copy, text.n > 0 ? text.p : "", text.n);
        copy[utf8_mend(copy, text.n)] = '\0';
    }
    return copy;
}

static void client_on_ready(TwClient *client, const McpClientEvent *event)
{
    client->ready = true;
    client->server_info = mem_free(client->server_info);
    client->server_info =
        event->value.node != NULL ? client_copy_value(event->value) : client_copy_span(SPAN("{}"));
    if (client->waiting == 0) {
        api_client_finish(client, client->server_info != NULL ? 0 : TW_ERROR_MEMORY);
    }
}

static void client_on_result(TwClient *client, const McpClientEvent *event)
{
    if (event->id == client->listening) {
        client->listening = 0; /* the server ends the subscription */
    }
    if (event->id == client->waiting) {
        client->result = api_result_new(event->value);
        api_client_finish(client, client->result != NULL ? 0 : TW_ERROR_MEMORY);
    }
}

static void client_on_error(TwClient *client, const McpClientEvent *event)
{
    int outcome = TW_ERROR_REMOTE;

    if (event->id == client->listening) {
        client->listening = 0;
    }
    if (event->id != client->waiting || client->finished) {
        return;
    }
    if (event->code == MCP_CLIENT_CODE_TIMEOUT) {
        outcome = TW_ERROR_TIMEOUT;
    } else if (event->code == MCP_CLIENT_CODE_CANCELLED) {
        outcome = TW_ERROR_CANCELLED;
    }
    api_client_say(client, event->text);
    client->error_code = event->code;
    client->error_data = client_copy_value(event->value);
    api_client_finish(client, outcome);
}

static void client_on_failed(TwClient *client, const McpClientEvent *event)
{
    client->failed = true;
    client->listening = 0;
    /* The request that is waited for has had its error already, which told less. */
    if (client->finished && client->outcome == TW_ERROR_REMOTE &&
        client->error_code == MCP_CLIENT_CODE_ENDED) {
        client->outcome = TW_ERROR_CLOSED;
        api_client_say(client, event->text);
    } else if (!client->finished) {
        api_client_say(client, event->text);
        api_client_finish(client, TW_ERROR_CLOSED);
    }
}

/* Text with a NUL for a callback; NULL if there is no memory. */
static void client_on_progress(TwClient *client, const McpClientEvent *event)
{
    CLEANUP(mem_freep) char *message = NULL;

    if (client->options.progress != NULL && event->id == client->waiting) {
        message = client_copy_span(event->progress.message);
        client->options.progress(event->progress.progress, event->progress.total,
                                 message != NULL ? message : "", client->options.user);
    }
}

static void client_on_notification(TwClient *client, const McpClientEvent *event)
{
    CLEANUP(mem_freep) char *method = NULL;
    CLEANUP(mem_freep) char *params = NULL;

    if (span_equals(event->text, SPAN("notifications/subscriptions/acknowledged"))) {
        if (client->acknowledging) {
            api_client_finish(client, 0);
        }
        return;
    }
    if (client->options.notification == NULL) {
        return;
    }
    method = client_copy_span(event->text);
    params = event->value.node == NULL ? NULL : client_copy_value(event->value);
    if (method != NULL) {
        client->options.notification(method, params != NULL ? params : "{}", client->options.user);
    }
}

void api_client_on_event(void *context, McpPeer *peer, const McpClientEvent *event)
{
    TwClient *client = context;

    /* The first events may come before mcp_peer_new returned. */
    client->peer = peer;
    switch (event->kind) {
    case MCP_CLIENT_READY:
        client_on_ready(client, event);
        break;
    case MCP_CLIENT_RESULT:
        client_on_result(client, event);
        break;
    case MCP_CLIENT_ERROR:
        client_on_error(client, event);
        break;
    case MCP_CLIENT_ASK:
        api_client_on_ask(client, event);
        break;
    case MCP_CLIENT_PROGRESS:
        client_on_progress(client, event);
        break;
    case MCP_CLIENT_NOTIFICATION:
        client_on_notification(client, event);
        break;
    case MCP_CLIENT_FAILED:
        client_on_failed(client, event);
        break;
    case MCP_CLIENT_RENEWED:
    case MCP_CLIENT_UNASK: /* questions are answered at once */
    case MCP_CLIENT_RESTART:
        break;
    }
}
