/* Which era the server is of, and the beginning and the end of a session. */
#include "dialect/mcp/client_internal.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/limits.h"
#include "dialect/mcp/render.h"

/* Of a server's words in a sentence of ours. */
#define FAILURE_QUOTE_MAX 200

static int quoted(Span s)
{
    return (int)(s.n < FAILURE_QUOTE_MAX ? s.n : FAILURE_QUOTE_MAX);
}

/* Ends everything that is open, and says why. */
TW_PRINTF(2, 0)
static void fail_all(McpClient *client, const char *format, va_list words)
{
    Span ended = SPAN("the session with the server ended");
    McpClientEvent *event;

    (void)vsnprintf(client->failure, sizeof(client->failure), format, words);
    while (client->first != NULL) {
        client_request_end(client, client->first, MCP_CLIENT_CODE_ENDED, ended);
    }
    /* What is left are the questions of a legacy server. */
    for (size_t i = 0; i < CLIENT_MAX_ASKS; i++) {
        if (client->asks[i].number != 0) {
            client_event_push(client, MCP_CLIENT_UNASK)->ask = client->asks[i].number;
            client_ask_close(client, &client->asks[i]);
        }
    }
    client->state = CLIENT_ENDED;
    client->handshake_id = 0;
    client->in_batch = false;
    event = client_event_push(client, MCP_CLIENT_FAILED);
    event->text = span_from_str(client->failure);
}

void client_fail(McpClient *client, const char *format, ...)
{
    va_list words;

    if (client->state == CLIENT_ENDED) {
        return;
    }
    va_start(words, format);
    fail_all(client, format, words);
    va_end(words);
}

static int handshake_probe(McpClient *client)
{
    client->state = CLIENT_PROBING;
    client->revision = MCP_2026_07_28;
    client->was_probed = true;
    client->handshake_id = ++client->last_number;
    client->handshake_deadline_ms = client->now_ms + client->config.probe_timeout_ms;
    return client_write_probe(client, client->handshake_id);
}

static int handshake_initialize(McpClient *client)
{
    client->state = CLIENT_INITIALIZING;
    client->revision = client->config.legacy_revision;
    client->handshake_id = ++client->last_number;
    client->handshake_deadline_ms = client->now_ms + client->config.request_timeout_ms;
    return client_write_initialize(client, client->handshake_id);
}

/* The legacy way to be sent log records; the answer does not matter. */
static int handshake_set_level(McpClient *client, JsonValue result)
{
    const char *level = call_log_level_name(client->config.log_level);
    JsonValue capabilities;
    JsonValue logging;
    ClientRequest *request;
    char params[64];
    int n;
    int r;

    if (level == NULL || !json_get(result, SPAN("capabilities"), &capabilities) ||
        !json_get(capabilities, SPAN("logging"), &logging)) {
        return 0;
    }
    r = client_request_open(client, &request);
    if (r != 0) {
        return err_pass(r);
    }
    request->is_ours = true;
    n = snprintf(params, sizeof(params), "{\"level\":\"%s\"}", level);
    r = client_request_send(
        client, request,
        &(ClientText){.method = SPAN("logging/setLevel"), .params = span_make(params, (size_t)n)});
    if (r != 0) {
        client_request_close(client, request);
    }
    return r;
}

/* The session can be used: says so, and sends what waited for it. */
static int handshake_done(McpClient *client, JsonValue result)
{
    McpClientEvent *event =
        client_event_push(client, client->is_renewing ? MCP_CLIENT_RENEWED : MCP_CLIENT_READY);
    ClientRequest *next;
    int r = 0;

    event->value = result;
    client->is_renewing = false;
    client->state = CLIENT_READY;
    if (!client_is_modern(client)) {
        r = client_write_notification(client, SPAN("notifications/initialized"), SPAN_NULL);
        if (r == 0) {
            r = handshake_set_level(client, result);
        }
    }
    for (ClientRequest *request = client->first; r == 0 && request != NULL; request = next) {
        next = request->next;
        if (request->wire_id == 0 && client_request_send_kept(client, request) != 0) {
            client_request_end(client, request, MCP_CLIENT_CODE_ENDED,
                               SPAN("the request could not be sent"));
        }
    }
    return r;
}

int mcp_client_start(McpClient *client, int64_t now_ms)
{
    int r;

    client->now_ms = now_ms;
    if (client->config.mode == MCP_CLIENT_LEGACY) {
        return handshake_initialize(client);
    }
    r = client_write_make_meta(client);
    if (r == 0 && client->config.mode == MCP_CLIENT_ASSUME) {
        client->revision = MCP_2026_07_28;
        return handshake_done(client, JSON_VALUE_NULL);
    }
    return r != 0 ? err_pass(r) : handshake_probe(client);
}

static void fail_versions(McpClient *client, JsonValue versions)
{
    Span theirs = json_span(versions);

    client_fail(client, "the server speaks other versions of MCP than we do: %.*s", quoted(theirs),
                theirs.p);
}

/* A modern server that does not like the version we named. `initialize` would be wrong by the
 * specification, whatever versions it names. */
static int probe_unsupported(McpClient *client, const ClientError *error)
{
    JsonValue supported;

    if (error->data.node == NULL || !json_get(error->data, SPAN("supported"), &supported) ||
        json_kind(supported) != JSON_ARRAY) {
        client_fail(client, "the server does not support the version %s, and names no other",
                    mcp_revision_text(MCP_2026_07_28).p);
        return 0;
    }
    if (client_names_modern(supported) && !client->has_retried) {
        client->has_retried = true;
        return handshake_probe(client);
    }
    fail_versions(client, supported);
    return 0;
}

static int probe_answer(McpClient *client, JsonValue message)
{
    bool must_be_modern = client->config.mode == MCP_CLIENT_MODERN;
    ClientError error;
    JsonValue value;
    JsonValue versions;
    int r;

    client->has_answered = true;
    if (json_get(message, SPAN("error"), &value)) {
        r = client_error_read(client, value, &error);
        if (r != 0) {
            return err_pass(r);
        }
        if (error.code == MCP_ERROR_UNSUPPORTED_VERSION) {
            return probe_unsupported(client, &error);
        }
        if (must_be_modern) {
            client_fail(client, "the server does not know server/discover: %.*s (%d)",
                        quoted(error.text), error.text.p, error.code);
            return 0;
        }
        return handshake_initialize(client);
    }
    if (json_get(message, SPAN("result"), &value) &&
        json_get(value, SPAN("supportedVersions"), &versions) &&
        json_kind(versions) == JSON_ARRAY) {
        if (client_names_modern(versions)) {
            return handshake_done(client, value);
        }
        fail_versions(client, versions);
        return 0;
    }
    /* It answers anything with something: that is no proof of a modern server. */
    if (must_be_modern) {
        client_fail(client, "the server's answer to server/discover names no versions");
        return 0;
    }
    return handshake_initialize(client);
}

static int initialize_answer(McpClient *client, JsonValue message)
{
    ClientError error;
    JsonValue value;
    JsonValue version;
    Span text = SPAN_NULL;
    int r;

    if (json_get(message, SPAN("error"), &value)) {
        r = client_error_read(client, value, &error);
        if (r == 0) {
            client_fail(client, "the server refused to begin: %.*s (%d)", quoted(error.text),
                        error.text.p, error.code);
        }
        return err_pass(r);
    }
    if (!json_get(message, SPAN("result"), &value) ||
        !json_get(value, SPAN("protocolVersion"), &version) || json_kind(version) != JSON_STRING) {
        client_fail(client, "the server's answer to initialize names no version");
        return 0;
    }
    r = json_string(version, &client->arena, &text);
    if (r != 0) {
        return err_fold(r);
    }
    if (!mcp_revision_parse(text, &client->revision) || client_is_modern(client)) {
        client->revision = client->config.legacy_revision;
        client_fail(client, "the server wants version '%.*s' of MCP, which we do not speak",
                    quoted(text), text.p);
        return 0;
    }
    return handshake_done(client, value);
}

int client_handshake_answer(McpClient *client, JsonValue message)
{
    client->handshake_id = 0;
    return client->state == CLIENT_PROBING ? probe_answer(client, message)
                                           : initialize_answer(client, message);
}

int client_handshake_flawed(McpClient *client, const char *flaw)
{
    bool is_probe = client->state == CLIENT_PROBING;

    client->handshake_id = 0;
    if (is_probe && client->config.mode == MCP_CLIENT_AUTO) {
        /* As with any other answer that proves nothing. */
        client->has_answered = true;
        return handshake_initialize(client);
    }
    client_fail(client, "the server's answer to %s %s", is_probe ? "server/discover" : "initialize",
                flaw);
    return 0;
}

/* The probe may have upset a legacy server for good; a fresh one has not seen it. */
static bool handshake_restarts(McpClient *client)
{
    bool in_handshake = client->state == CLIENT_PROBING || client->state == CLIENT_INITIALIZING;

    if (client->config.mode != MCP_CLIENT_AUTO || !in_handshake || !client->was_probed ||
        client->config.is_http) {
        return false;
    }
    client->state = CLIENT_RESTARTING;
    client->handshake_id = 0;
    client_event_push(client, MCP_CLIENT_RESTART);
    return true;
}

void client_handshake_expire(McpClient *client)
{
    client->handshake_id = 0;
    if (client->state == CLIENT_PROBING && client->config.mode == MCP_CLIENT_AUTO &&
        !client->config.is_http) {
        /* A late answer to the probe has a number that nobody waits for any more. */
        if (handshake_initialize(client) != 0) {
            client_fail(client, "the server does not read what is sent to it");
        }
    } else if (!client->has_answered || !handshake_restarts(client)) {
        /* One that has never said a word would not say one after a second start either. */
        client_fail(client, "the server did not answer %s in time",
                    client->state == CLIENT_PROBING ? "server/discover" : "initialize");
    }
}

void mcp_client_peer_ended(McpClient *client, int64_t now_ms)
{
    client->now_ms = now_ms;
    if (client->state == CLIENT_RESTARTING || handshake_restarts(client)) {
        return;
    }
    client_fail(client, "the server ended%s",
                client->state == CLIENT_READY ? "" : " before it had answered");
}

int mcp_client_renew(McpClient *client, int64_t now_ms)
{
    if (client->state != CLIENT_READY || client_is_modern(client)) {
        return 0;
    }
    client->now_ms = now_ms;
    client->is_renewing = true;
    return handshake_initialize(client);
}

void mcp_client_break(McpClient *client, Span why, int64_t now_ms)
{
    client->now_ms = now_ms;
    /* What is too long is cut by the buffer. */
    client_fail(client, "%.*s", (int)(why.n < INT_MAX ? why.n : INT_MAX), why.p);
}

int mcp_client_restarted(McpClient *client, int64_t now_ms)
{
    if (client->state != CLIENT_RESTARTING) {
        return 0;
    }
    client->now_ms = now_ms;
    client->was_probed = false;
    return handshake_initialize(client);
}
