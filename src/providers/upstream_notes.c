/* What servers tell unasked: changed lists, updated resources, log records; and what they are asked
 * to tell. */
#include "providers/upstream_impl.h"

#include <string.h>

#include "base/alloc.h"
#include "json/writer.h"

/* ---- subscriptions ---- */

/* A subscription that is cut is begun again at once: something in between may have thought a minute
 * of silence enough, and if the server has gone, it shows. A server that ends it is about to go.
 * One that does not last waits so long, and twice as long each time. */
#define LISTEN_RETRY_MS     1000
#define LISTEN_RETRY_MAX_MS 60000

static void subscribe_ask(Upstream *server, Span method, Span params, McpRequestId *ret)
{
    McpRequestOptions options = {.speaks_for_itself = true,
                                 .log_level = CALL_LOG_NONE,
                                 .timeout_ms = server->list_timeout_ms};

    (void)mcp_peer_request_with(server->peer, method, params, &options, ret);
}

static void subscribe_legacy(Upstream *server, Span method, Span uri)
{
    Bytes *params = &server->owner->params;
    McpRequestId id;
    JsonWriter w;

    bytes_clear_keep(params, LIMIT_KEEP_BYTES);
    json_writer_init(&w, params, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("uri"));
    json_write_exact(&w, uri);
    json_write_end_object(&w);
    if (json_writer_finish(&w) == 0) {
        subscribe_ask(server, method, bytes_span(params), &id);
    }
}

static void wish_set(Upstream *server, Span uri, UpstreamWish wish)
{
    (void)map_replace(&server->subscribed, uri, (void *)(uintptr_t)wish);
}

static bool listen_wants(const Upstream *server)
{
    return server->offer.tells[ROUTER_TOOL] || server->offer.tells[ROUTER_PROMPT] ||
           server->offer.tells[ROUTER_RESOURCE] || server->subscribed.n > 0;
}

static void listen_end(Upstream *server, McpRequestId listen)
{
    if (listen != 0) {
        mcp_peer_cancel(server->peer, listen, SPAN("another subscription has taken its place"));
    }
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

    server->listen = 0;
    if (!listen_wants(server)) {
        listen_end(server, before);
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
            json_write_exact(&w, uri);
        }
        json_write_end_array(&w);
    }
    json_write_end_object(&w);
    json_write_end_object(&w);
    if (json_writer_finish(&w) == 0) {
        server->is_untold = false;
        server->listen_since_ms = io_loop_now_ms(server->owner->config.loop);
        subscribe_ask(server, SPAN("subscriptions/listen"), bytes_span(params), &server->listen);
    }
    listen_end(server, before);
}

/* There is no session, or a new one, which knows of nothing. */
static void wishes_renew(Upstream *server)
{
    size_t cursor = 0;
    Span uri;
    void *value;

    while (map_next(&server->subscribed, &cursor, &uri, &value)) {
        if ((UpstreamWish)(uintptr_t)value == UPSTREAM_WISH_OLD) {
            (void)map_remove(&server->subscribed, uri);
        } else {
            wish_set(server, uri, UPSTREAM_WISH_NEW);
        }
    }
}

void upstream_subscribe_changed(Upstream *server)
{
    bool has_changed = false;
    size_t cursor = 0;
    Span uri;
    void *value;

    server->must_subscribe = false;
    if (server->state != UPSTREAM_READY) {
        wishes_renew(server);
        if (server->subscribed.n > 0) {
            (void)upstream_wake(server); /* all are told when it is ready */
        }
        return;
    }
    while (map_next(&server->subscribed, &cursor, &uri, &value)) {
        UpstreamWish wish = (UpstreamWish)(uintptr_t)value;

        has_changed = has_changed || wish != UPSTREAM_WISH_TOLD;
        if (wish != UPSTREAM_WISH_TOLD && !server->is_modern) {
            subscribe_legacy(server,
                             wish == UPSTREAM_WISH_NEW ? SPAN("resources/subscribe")
                                                       : SPAN("resources/unsubscribe"),
                             uri);
        }
        if (wish == UPSTREAM_WISH_OLD) {
            (void)map_remove(&server->subscribed, uri);
        } else {
            wish_set(server, uri, UPSTREAM_WISH_TOLD);
        }
    }
    if (has_changed && server->is_modern) {
        listen_anew(server);
    }
    server->used_ms = io_loop_now_ms(server->owner->config.loop);
    upstream_set_timer(server);
}

void upstream_subscribe_all(Upstream *server)
{
    wishes_renew(server);
    if (server->is_modern && server->subscribed.n == 0) {
        listen_anew(server);
    }
    upstream_subscribe_changed(server);
}

void upstream_listen_lost(Upstream *server, bool is_said)
{
    int64_t now_ms = io_loop_now_ms(server->owner->config.loop);
    bool has_lasted = now_ms - server->listen_since_ms >= LISTEN_RETRY_MAX_MS;
    unsigned n = (has_lasted ? 0 : server->n_relisten) + is_said;
    int64_t wait_ms = n == 0 ? 0 : (int64_t)LISTEN_RETRY_MS << (n - 1);

    server->listen = 0;
    server->n_relisten = n < 8 ? n + 1 : n;
    server->relisten_ms = now_ms + (wait_ms < LISTEN_RETRY_MAX_MS ? wait_ms : LISTEN_RETRY_MAX_MS);
    upstream_set_timer(server);
}

void upstream_listen_again(Upstream *server, int64_t now_ms)
{
    if (server->relisten_ms != 0 && now_ms >= server->relisten_ms) {
        server->relisten_ms = 0;
        upstream_subscribe_all(server);
        upstream_list_all(server); /* of what changed meanwhile nobody said anything */
    }
}

/* ---- what is wanted ---- */

static Upstream *wanted_server(const Upstreams *upstreams, Span uri)
{
    void *context;

    if (router_subscriber(upstreams->config.router, uri, &context) != &upstream_provider) {
        return NULL;
    }
    return ((UpstreamItem *)context)->server;
}

static void wish_changed(Upstream *server)
{
    server->must_subscribe = true;
    upstreams_post(server->owner);
}

static void wish_add(Upstream *server, Span uri)
{
    void *value;

    if (map_find(&server->subscribed, uri, &value)) {
        if ((UpstreamWish)(uintptr_t)value == UPSTREAM_WISH_OLD) {
            wish_set(server, uri, UPSTREAM_WISH_TOLD);
        }
        return;
    }
    if (map_add(&server->subscribed, uri, (void *)(uintptr_t)UPSTREAM_WISH_NEW) == 0) {
        wish_changed(server);
    } else {
        logsink_write(server->owner->config.log, LOGSINK_LEVEL_WARN, "upstream",
                      "%s: too many of its resources are subscribed to: updates of some will not "
                      "come",
                      server->spec.name);
    }
}

static void wish_drop(Upstream *server, Span uri)
{
    void *value;

    if (!map_find(&server->subscribed, uri, &value)) {
        return;
    }
    if ((UpstreamWish)(uintptr_t)value == UPSTREAM_WISH_NEW) {
        (void)map_remove(&server->subscribed, uri);
    } else {
        wish_set(server, uri, UPSTREAM_WISH_OLD);
    }
    wish_changed(server);
}

void upstreams_on_wanted(void *context, Span uri, bool is_wanted)
{
    Upstreams *upstreams = context;
    Upstream *server = is_wanted ? wanted_server(upstreams, uri) : NULL;

    if (server != NULL) {
        wish_add(server, uri);
    }
    for (size_t i = 0; i < upstreams->n_servers && !is_wanted; i++) {
        wish_drop(upstreams->servers[i], uri);
    }
}

void upstreams_want_anew(Upstreams *upstreams)
{
    size_t cursor = 0;
    void *value;
    Span uri;

    for (size_t i = 0; i < upstreams->n_servers; i++) {
        Upstream *server = upstreams->servers[i];

        for (cursor = 0; map_next(&server->subscribed, &cursor, &uri, &value);) {
            if (wanted_server(upstreams, uri) != server) {
                wish_drop(server, uri);
            }
        }
    }
    for (cursor = 0; router_next_wanted(upstreams->config.router, &cursor, &uri);) {
        Upstream *server = wanted_server(upstreams, uri);

        if (server != NULL) {
            wish_add(server, uri);
        }
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
    if (json_get(params, SPAN("uri"), &member) && json_string_exact(member, &arena, &uri) == 0) {
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
