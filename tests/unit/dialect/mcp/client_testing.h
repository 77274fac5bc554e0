/* tests/unit/dialect/mcp/client_testing.h: a client session without a wire.
 *
 * What the client sends and the events that it gives are kept as text, one line each, and compared
 * as a whole; each comparison takes what it compared, so that a conversation reads from top to
 * bottom. */
#pragma once

#include "support/cmocka.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "dialect/mcp/client.h"

typedef struct Wire {
    McpClient *client;
    McpClientConfig config;
    McpSink sink;
    McpIdentity identity;
    Bytes sent;    /* lines */
    Bytes message; /* being written */
    Bytes events;  /* lines */
    int64_t now_ms;
    uint64_t ask; /* of the last ASK */
    bool is_full; /* the sink takes nothing */
} Wire;

static int wire_begin(void *context, Bytes **ret)
{
    Wire *wire = context;

    bytes_clear(&wire->message);
    *ret = &wire->message;
    return wire->is_full ? 1 : 0;
}

static int wire_commit(void *context)
{
    Wire *wire = context;
    size_t n = wire->sent.n;
    int r = bytes_append_span(&wire->sent, bytes_span(&wire->message));

    if (r == 0) {
        r = bytes_append_byte(&wire->sent, '\n');
    }
    wire->sent.n = r == 0 ? wire->sent.n : n;
    return r;
}

static void wire_abort(void *context)
{
    bytes_clear(&((Wire *)context)->message);
}

static void wire_init(Wire *wire, McpClientMode mode)
{
    *wire = (Wire){.now_ms = 1000};
    wire->sink =
        (McpSink){.begin = wire_begin, .commit = wire_commit, .abort = wire_abort, .context = wire};
    wire->identity = (McpIdentity){.name = SPAN("t"), .version = SPAN("1")};
    wire->config = (McpClientConfig){.identity = &wire->identity,
                                     .mode = mode,
                                     .legacy_revision = MCP_2025_11_25,
                                     .log_level = CALL_LOG_NONE,
                                     .sink = &wire->sink};
    bytes_init(&wire->sent, SIZE_MAX);
    bytes_init(&wire->message, SIZE_MAX);
    bytes_init(&wire->events, SIZE_MAX);
}

static void wire_deinit(Wire *wire)
{
    wire->client = mcp_client_free(wire->client);
    bytes_deinit(&wire->sent);
    bytes_deinit(&wire->message);
    bytes_deinit(&wire->events);
}

static void wire_event(Wire *wire, const McpClientEvent *event)
{
    static const char *const names[] = {"READY", "RENEWED",  "RESULT",       "ERROR",   "ASK",
                                        "UNASK", "PROGRESS", "NOTIFICATION", "RESTART", "FAILED"};
    static const char *const asks[] = {"form", "url", "sample", "roots"};
    Bytes *out = &wire->events;

    (void)bytes_append_format(out, "%s", names[event->kind]);
    if (event->kind == MCP_CLIENT_READY) {
        (void)bytes_append_format(out, " %.*s", 10, mcp_revision_text(event->revision).p);
    }
    if (event->kind == MCP_CLIENT_ASK || event->kind == MCP_CLIENT_UNASK) {
        (void)bytes_append_format(out, " #%" PRIu64, event->ask);
        wire->ask = event->ask;
    }
    if (event->kind == MCP_CLIENT_ASK) {
        (void)bytes_append_format(out, " %s", asks[event->ask_kind]);
    }
    if (event->id != 0) {
        (void)bytes_append_format(out, " %" PRIu64, event->id);
    }
    if (event->code != 0) {
        (void)bytes_append_format(out, " %d", event->code);
    }
    if (event->kind == MCP_CLIENT_PROGRESS) {
        (void)bytes_append_format(out, " %g/%g", event->progress.progress, event->progress.total);
        (void)bytes_append_format(out, " %.*s", (int)event->progress.message.n,
                                  event->progress.message.n > 0 ? event->progress.message.p : "");
    }
    if (event->text.n > 0) {
        (void)bytes_append_format(out, " %.*s", (int)event->text.n, event->text.p);
    }
    if (event->value.node != NULL && event->kind != MCP_CLIENT_READY &&
        event->kind != MCP_CLIENT_RENEWED) {
        Span json = json_span(event->value);

        (void)bytes_append_format(out, " %.*s", (int)json.n, json.p);
    }
    (void)bytes_append_byte(out, '\n');
}

static TW_UNUSED void wire_drain(Wire *wire)
{
    McpClientEvent event;

    while (mcp_client_next(wire->client, &event)) {
        wire_event(wire, &event);
    }
}

static TW_UNUSED void wire_start(Wire *wire)
{
    assert_int_equal(mcp_client_new(&wire->client, &wire->config), 0);
    assert_int_equal(mcp_client_start(wire->client, wire->now_ms), 0);
}

/* The server says something. */
static TW_UNUSED void says(Wire *wire, const char *message)
{
    assert_int_equal(mcp_client_receive(wire->client, span_from_str(message), wire->now_ms), 0);
    wire_drain(wire);
}

static TW_UNUSED void advance(Wire *wire, int64_t ms)
{
    wire->now_ms += ms;
    mcp_client_advance(wire->client, wire->now_ms);
    wire_drain(wire);
}

static TW_UNUSED McpRequestId asks_for(Wire *wire, const char *method, const char *params)
{
    McpRequestId id = 0;

    assert_int_equal(mcp_client_request(wire->client, span_from_str(method), span_from_str(params),
                                        false, wire->now_ms, &id),
                     0);
    return id;
}

static void take_lines(Bytes *lines, const char *expected)
{
    assert_int_equal(bytes_append_byte(lines, '\0'), 0);
    assert_string_equal(lines->data, expected);
    bytes_clear(lines);
}

/* All that was sent, and all events, since the last time. */
static TW_UNUSED void sent(Wire *wire, const char *expected)
{
    take_lines(&wire->sent, expected);
}

static TW_UNUSED void events(Wire *wire, const char *expected)
{
    take_lines(&wire->events, expected);
}

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{},"                                           \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}"
#define PROBE(id)                                                                                  \
    "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"server/discover\",\"params\":{" META "}}\n"
#define INITIALIZE(id)                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"initialize\",\"params\":{"                   \
    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"                                      \
    "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
#define DISCOVERED(id)                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":{\"resultType\":\"complete\","                 \
    "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{}}}"
#define WELCOME(id, version)                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":{\"protocolVersion\":\"" version "\","         \
    "\"capabilities\":{\"logging\":{}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}}"

/* A session that is ready, with nothing to be compared. */
static TW_UNUSED void wire_ready_modern(Wire *wire)
{
    wire_start(wire);
    says(wire, DISCOVERED(1));
    assert_true(mcp_client_is_ready(wire->client));
    bytes_clear(&wire->sent);
    bytes_clear(&wire->events);
}

static TW_UNUSED void wire_ready_legacy(Wire *wire, const char *welcome)
{
    wire->config.mode = MCP_CLIENT_LEGACY;
    wire_start(wire);
    says(wire, welcome);
    assert_true(mcp_client_is_ready(wire->client));
    bytes_clear(&wire->sent);
    bytes_clear(&wire->events);
}
