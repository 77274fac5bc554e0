/* What the session of a server says, and who here it is for. */
#include "providers/upstream_impl.h"

static bool offer_has(JsonValue capabilities, Span name, Span flag, bool *ret_flag)
{
    JsonValue group;
    JsonValue member;

    if (!json_get(capabilities, name, &group) || json_kind(group) != JSON_OBJECT) {
        return false;
    }
    if (ret_flag != NULL) {
        *ret_flag = json_get(group, flag, &member) && json_kind(member) == JSON_TRUE;
    }
    return true;
}

static UpstreamOffer event_read_offer(JsonValue hello)
{
    Span change = SPAN("listChanged");
    UpstreamOffer offer = {.completes = false};
    JsonValue capabilities;
    bool tells = false;

    if (!json_get(hello, SPAN("capabilities"), &capabilities) ||
        json_kind(capabilities) != JSON_OBJECT || json_count(capabilities) == 0) {
        /* It forgot to say; asking does no harm. */
        offer.kinds[ROUTER_TOOL] = true;
        return offer;
    }
    offer.kinds[ROUTER_TOOL] =
        offer_has(capabilities, SPAN("tools"), change, &offer.tells[ROUTER_TOOL]);
    offer.kinds[ROUTER_PROMPT] =
        offer_has(capabilities, SPAN("prompts"), change, &offer.tells[ROUTER_PROMPT]);
    offer.kinds[ROUTER_RESOURCE] = offer_has(capabilities, SPAN("resources"), change, &tells);
    offer.kinds[ROUTER_TEMPLATE] = offer.kinds[ROUTER_RESOURCE];
    offer.tells[ROUTER_RESOURCE] = tells;
    offer.tells[ROUTER_TEMPLATE] = tells;
    (void)offer_has(capabilities, SPAN("resources"), SPAN("subscribe"), &offer.subscribes);
    offer.completes = offer_has(capabilities, SPAN("completions"), SPAN_NULL, NULL);
    offer.logs = offer_has(capabilities, SPAN("logging"), SPAN_NULL, NULL);
    return offer;
}

/* What it offers beside its lists may be other than what was kept. */
static void event_take_offer(Upstream *server, JsonValue hello)
{
    UpstreamOffer before = server->offer;

    server->offer = event_read_offer(hello);
    if (server->offer.completes != before.completes ||
        server->offer.subscribes != before.subscribes) {
        server->owner->must_publish = true;
        upstreams_post(server->owner);
    }
}

static void event_ready(Upstream *server, const McpClientEvent *event)
{
    server->state = UPSTREAM_READY;
    server->is_modern = event->revision >= MCP_FIRST_MODERN;
    server->is_known_legacy =
        !server->is_modern && server->spec.era == MCP_CLIENT_AUTO && server->spec.command != NULL;
    event_take_offer(server, event->value);
    server->used_ms = io_loop_now_ms(server->owner->config.loop);
    bytes_clear(&server->why);
    logsink_write(server->owner->config.log, LOGSINK_LEVEL_INFO, "upstream", "%s is there (%.*s)",
                  server->spec.name, (int)mcp_revision_text(event->revision).n,
                  mcp_revision_text(event->revision).p);
    upstream_calls_ready(server);
    upstream_subscribe_all(server);
    upstream_list_all(server);
    upstream_turns(server);
    router_there_changed(server->owner->config.router);
    upstream_set_timer(server);
}

/* A server over HTTP has no session that could end with it: that it is gone shows when a request
 * cannot be sent. Not while others are open, which have reached it, or wait for an answer that a
 * modern server takes whoever has asked. */
static bool event_is_end(const Upstream *server, const McpClientEvent *event)
{
    return event->loss == MCP_CLIENT_UNREACHED && server->state == UPSTREAM_READY &&
           server->n_calls == (event->context != NULL ? 1 : 0);
}

static void event_take_error(Upstream *server, const McpClientEvent *event)
{
    UpstreamCall *held = event->context;

    if (held != NULL && event->loss == MCP_CLIENT_UNREACHED) {
        held->is_sent = false;
    }
    if (event_is_end(server, event)) {
        upstream_fail(server, "%.*s", (int)event->text.n, event->text.p);
    } else if (held != NULL) {
        upstream_call_take_error(held, event);
    } else if (event->id != server->listen) {
        (void)upstream_list_take(server, event);
    } else if (event->loss != MCP_CLIENT_ANSWERED) {
        upstream_listen_lost(server, false);
    } else {
        server->listen = 0; /* it does not want to */
        upstream_lists_untold(server);
    }
}

static void event_take(Upstream *server, const McpClientEvent *event)
{
    UpstreamCall *held = event->context;

    switch (event->kind) {
    case MCP_CLIENT_READY:
        event_ready(server, event);
        break;
    case MCP_CLIENT_RENEWED:
        event_take_offer(server, event->value);
        server->log_level = CALL_LOG_NONE;
        upstream_subscribe_all(server);
        upstream_list_all(server);
        break;
    case MCP_CLIENT_RESULT:
        if (held != NULL) {
            upstream_call_take_result(held, event->value);
        } else if (event->id == server->listen) {
            upstream_listen_lost(server, true);
        } else {
            (void)upstream_list_take(server, event);
        }
        break;
    case MCP_CLIENT_ERROR:
        event_take_error(server, event);
        break;
    case MCP_CLIENT_PROGRESS:
        if (held != NULL && held->call != NULL) {
            call_report(held->call, &event->progress);
        }
        break;
    case MCP_CLIENT_ASK:
        upstream_ask_take(server, event);
        break;
    case MCP_CLIENT_UNASK:
        upstream_ask_taken_back(server, event->ask);
        break;
    case MCP_CLIENT_NOTIFICATION:
        upstream_note(server, event);
        break;
    case MCP_CLIENT_FAILED:
        bytes_clear(&server->why);
        (void)bytes_append_span(&server->why, event->text);
        upstream_down(server);
        break;
    default:
        break;
    }
}

void upstream_on_event(void *context, McpPeer *peer, const McpClientEvent *event)
{
    Upstream *server = context;

    if (server->peer == NULL && server->state == UPSTREAM_STARTING) {
        server->peer = peer; /* some come before mcp_peer_new has returned */
    }
    if (server->peer == peer) {
        event_take(server, event);
    }
}
