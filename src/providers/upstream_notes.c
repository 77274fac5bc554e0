/* What servers tell unasked: changed lists, updated resources, log records; and what they are asked
 * to tell. */
#include "providers/upstream_impl.h"

#include <string.h>

#include "base/alloc.h"
#include "json/writer.h"

/* ---- subscriptions ---- */

static void subscribe_ask(Upstream *server, Span method, Span params, McpRequestId *ret)
{
    McpRequestOptions options = {.speaks_for_itself = true,
                                 .log_level = CALL_LOG_NONE,
                                 .timeout_ms = server->list_timeout_ms};

    (void)mcp_peer_request_with(server->peer, method, params, &options, ret);
}

static void subscribe_legacy(Upstream *server, Span uri)
{
    Bytes *params = &server->owner->params;
    McpRequestId id;
    JsonWriter w;

    bytes_clear_keep(params, LIMIT_KEEP_BYTES);
    json_writer_init(&w, params, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("uri"));
    json_write_string(&w, uri);
    json_write_end_object(&w);
    if (json_writer_finish(&w) == 0) {
        subscribe_ask(server, SPAN("resources/subscribe"), bytes_span(params), &id);
    }
}

static bool listen_wants(const Upstream *server)
{
    return server->offer.tells[ROUTER_TOOL] || server->offer.tells[ROUTER_PROMPT] ||
           server->offer.tells[ROUTER_RESOURCE] || server->subscribed.n > 0;
}

/* One subscription for all; the one before it ends when it is there. */
static void listen_anew(Upstream *server)
{
    Bytes *params = &server->owner->params;
    McpRequestId before = server->listen;
    size_t cursor = 0;
    JsonWriter w;
    Span uri;
    void *value;

    if (!listen_wants(server)) {
        return;
    }
    bytes_clear_keep(params, LIMIT_KEEP_BYTES);
    json_writer_init(&w, params, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("notifications"));
    json_write_object(&w);
    if (server->offer.tells[ROUTER_TOOL]) {
        json_write_key(&w, SPAN("toolsListChanged"));
        json_write_bool(&w, true);
    }
    if (server->offer.tells[ROUTER_PROMPT]) {
        json_write_key(&w, SPAN("promptsListChanged"));
        json_write_bool(&w, true);
    }
    if (server->offer.tells[ROUTER_RESOURCE]) {
        json_write_key(&w, SPAN("resourcesListChanged"));
        json_write_bool(&w, true);
    }
    if (server->subscribed.n > 0) {
        json_write_key(&w, SPAN("resourceSubscriptions"));
        json_write_array(&w);
        while (map_next(&server->subscribed, &cursor, &uri, &value)) {
            json_write_string(&w, uri);
        }
        json_write_end_array(&w);
    }
    json_write_end_object(&w);
    json_write_end_object(&w);
    server->listen = 0;
    if (json_writer_finish(&w) == 0) {
        subscribe_ask(server, SPAN("subscriptions/listen"), bytes_span(params), &server->listen);
    }
    if (before != 0) {
        mcp_peer_cancel(server->peer, before, SPAN("another subscription has taken its place"));
    }
}

void upstream_subscribe_all(Upstream *server)
{
    size_t cursor = 0;
    Span uri;
    void *value;

    if (server->is_modern) {
        listen_anew(server);
        return;
    }
    while (map_next(&server->subscribed, &cursor, &uri, &value)) {
        subscribe_legacy(server, uri);
    }
}

void upstream_subscribe(Upstream *server, Span uri)
{
    if (map_add(&server->subscribed, uri, NULL) != 0 || server->state != UPSTREAM_READY) {
        return; /* it is there already, or is told with the others when the server is ready */
    }
    if (server->is_modern) {
        listen_anew(server);
    } else {
        subscribe_legacy(server, uri);
    }
}

/* ---- log records ---- */

void upstream_set_level(Upstream *server, CallLogLevel level)
{
    Bytes *params = &server->owner->text;
    size_t n = params->n;
    McpRequestId id;

    if (!server->offer.logs || server->state != UPSTREAM_READY) {
        return;
    }
    server->log_level = level;
    if (bytes_append_format(params, "{\"level\":\"%s\"}", call_log_level_name(level)) == 0) {
        subscribe_ask(server, SPAN("logging/setLevel"), span_make(params->data + n, params->n - n),
                      &id);
    }
    params->n = n;
}

/* To the call that it must be about; where nobody knows, to our own log. */
static void note_log(Upstream *server, JsonValue params)
{
    CallLogLevel level = CALL_LOG_INFO;
    Span logger = SPAN_NULL;
    UpstreamCall *held;
    JsonValue member;
    Span text;
    bool many;

    if (json_get(params, SPAN("level"), &member) && json_string_plain(member, &text)) {
        (void)call_log_level_parse(text, &level);
    }
    if (json_get(params, SPAN("logger"), &member)) {
        (void)json_string_plain(member, &logger);
    }
    if (!json_get(params, SPAN("data"), &member)) {
        return;
    }
    held = upstream_sole_call(server, 0, &many);
    text = json_span(member);
    if (held != NULL && held->call != NULL && memchr(text.p, '\n', text.n) == NULL) {
        call_log(held->call, level, logger, text);
        return;
    }
    logsink_write(server->owner->config.log, LOGSINK_LEVEL_DEBUG, "upstream", "%s says (%s): %.*s",
                  server->spec.name, call_log_level_name(level),
                  (int)(text.n < 2000 ? text.n : 2000), text.p);
}

/* ---- all ---- */

static void note_updated(Upstream *server, JsonValue params)
{
    JsonValue member;
    Arena arena;
    Span uri;

    arena_init(&arena, LIMIT_KEEP_BYTES);
    if (json_get(params, SPAN("uri"), &member) && json_string(member, &arena, &uri) == 0) {
        router_resource_updated(server->owner->config.router, uri);
    }
    arena_deinit(&arena);
}

void upstream_note(Upstream *server, const McpClientEvent *event)
{
    Span method = event->text;

    if (span_equals(method, SPAN("notifications/tools/list_changed"))) {
        upstream_list(server, ROUTER_TOOL);
    } else if (span_equals(method, SPAN("notifications/prompts/list_changed"))) {
        upstream_list(server, ROUTER_PROMPT);
    } else if (span_equals(method, SPAN("notifications/resources/list_changed"))) {
        upstream_list(server, ROUTER_RESOURCE);
        upstream_list(server, ROUTER_TEMPLATE);
    } else if (event->value.node == NULL || json_kind(event->value) != JSON_OBJECT) {
        return;
    } else if (span_equals(method, SPAN("notifications/resources/updated"))) {
        note_updated(server, event->value);
    } else if (span_equals(method, SPAN("notifications/message"))) {
        note_log(server, event->value);
    }
}
