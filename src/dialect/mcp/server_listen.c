/* Who is told of changes: the legacy session, and every modern subscription. */
#include "dialect/mcp/server_internal.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

static const Span filter_keys[] = {
    [MCP_LIST_TOOLS] = {"toolsListChanged", 16},
    [MCP_LIST_RESOURCES] = {"resourcesListChanged", 20},
    [MCP_LIST_PROMPTS] = {"promptsListChanged", 18},
};

static bool is_offered(const McpOffer *offer, McpListKind kind)
{
    const bool offered[] = {
        [MCP_LIST_TOOLS] = offer->tools,
        [MCP_LIST_RESOURCES] = offer->resources,
        [MCP_LIST_PROMPTS] = offer->prompts,
    };

    return offer->lists_change && offered[kind];
}

int mcp_subscribe(McpServer *server, Span uri)
{
    int r;

    if (map_find(&server->subscribed, uri, NULL)) {
        return 0;
    }
    if (uri.n > LIMIT_MCP_SUBSCRIBED_BYTES - server->n_subscribed_bytes) {
        return MAP_E_FULL;
    }
    r = map_add(&server->subscribed, uri, NULL);
    server->n_subscribed_bytes += r == 0 ? uri.n : 0;
    return r;
}

/* The array of URIs, checked; node NULL if there is none. False if the request was refused. */
static bool take_uris(McpServer *server, const McpInbound *in, JsonValue filter, JsonValue *ret)
{
    JsonValue uris;
    bool is_good;

    if (!json_get(filter, SPAN("resourceSubscriptions"), &uris)) {
        return true;
    }
    is_good = json_kind(uris) == JSON_ARRAY;
    for (JsonIter it = json_iter(uris); is_good && json_iter_next(&it);) {
        is_good = json_kind(it.value) == JSON_STRING;
    }
    if (!is_good) {
        mcp_refuse(server, in, MCP_ERROR_INVALID_PARAMS,
                   "params.notifications.resourceSubscriptions must be an array of strings");
        return false;
    }
    *ret = uris;
    return true;
}

static bool take_lists(McpServer *server, const McpInbound *in, JsonValue filter, bool lists[3])
{
    JsonValue v;

    for (size_t i = 0; i < TW_ARRAY_SIZE(filter_keys); i++) {
        lists[i] = false;
        if (!json_get(filter, filter_keys[i], &v)) {
            continue;
        }
        if (!json_bool(v, &lists[i])) {
            mcp_refuse_format(server, in, MCP_ERROR_INVALID_PARAMS,
                              "params.notifications.%s must be true or false", filter_keys[i].p);
            return false;
        }
        lists[i] = lists[i] && is_offered(&in->offer, (McpListKind)i);
    }
    return true;
}

/* Copies the URIs, decoded, behind the array that names them. 0, -ENOMEM. */
static int keep_uris(McpRequest *listen, JsonValue uris)
{
    size_t n = json_count(uris);
    char *at;

    /* Decoded text is never longer than the JSON. */
    listen->uris = mem_alloc(n * sizeof(*listen->uris) + json_span(uris).n);
    if (listen->uris == NULL) {
        return err_raise(-ENOMEM);
    }
    at = (char *)(listen->uris + n);
    for (JsonIter it = json_iter(uris); json_iter_next(&it);) {
        size_t n_uri = json_string_decode(it.value, at);

        listen->uris[listen->n_uris++] = span_make(at, n_uri);
        at += n_uri;
    }
    return 0;
}

static int acknowledge(McpServer *server, const McpRequest *listen)
{
    McpFilter filter = {.uris = listen->uris, .n_uris = listen->n_uris};
    McpOut out;
    int r;

    memcpy(filter.lists, listen->lists, sizeof(filter.lists));
    mcp_about_request(listen, false);
    server->about.must_arrive = true;
    r = mcp_out_begin(&out, server, NULL, true);
    if (r == 0) {
        r = mcp_render_acknowledged(out.bytes, listen->id, &filter);
    }
    return mcp_out_end(&out, r);
}

static void open_listen(McpServer *server, const McpInbound *in, const bool lists[3],
                        JsonValue uris)
{
    McpRequest *listen = NULL;
    int r = mcp_requests_open(&server->requests, jsonrpc_id_text(in->message), in->key, SPAN_NULL,
                              false, &listen);

    if (r != 0) {
        mcp_server_fail(server, r);
        return;
    }
    listen->server = server;
    listen->stream = server->from.stream;
    listen->revision = in->revision;
    memcpy(listen->lists, lists, sizeof(listen->lists));
    mcp_link_append(&server->listens, &listen->link);
    server->n_listens++;
    if (uris.node != NULL) {
        r = keep_uris(listen, uris);
        server->n_listen_uris += listen->n_uris;
    }
    if (r == 0) {
        r = acknowledge(server, listen);
    }
    if (r != 0) {
        mcp_server_fail(server, r);
        mcp_listen_forget(listen);
    }
}

void mcp_serve_listen(McpServer *server, const McpInbound *in)
{
    JsonValue filter = JSON_VALUE_NULL;
    JsonValue uris = JSON_VALUE_NULL;
    bool lists[3];

    if (!mcp_take_object(server, in, in->params, SPAN("notifications"), "params.notifications",
                         true, &filter) ||
        !take_lists(server, in, filter, lists) || !take_uris(server, in, filter, &uris)) {
        return;
    }
    if (!in->offer.resources) {
        uris = JSON_VALUE_NULL;
    }
    if (server->n_listens >= LIMIT_MCP_LISTENS) {
        mcp_refuse(server, in, MCP_ERROR_RATE, "too many subscriptions are open");
        return;
    }
    if (uris.node != NULL && json_count(uris) > LIMIT_MCP_SUBSCRIBED - server->n_listen_uris) {
        mcp_refuse(server, in, MCP_ERROR_RATE, "too many resources are subscribed to");
        return;
    }
    open_listen(server, in, lists, uris);
}

void mcp_listen_forget(McpRequest *listen)
{
    McpServer *server = listen->server;

    server->n_listens--;
    server->n_listen_uris -= listen->n_uris;
    mcp_request_end(listen);
}

/* A notification that does not fit is not worth the session; one that fails is. */
static void end_notification(McpOut *out, int r)
{
    r = mcp_out_end(out, r);
    mcp_server_fail(out->server, r < 0 ? r : 0);
}

/* listen: the subscription, or NULL: the legacy session. */
static void send_list_changed(McpServer *server, McpListKind kind, const McpRequest *listen)
{
    McpOut out;
    int r;

    if (listen != NULL) {
        mcp_about_request(listen, false);
        server->about.must_arrive = true;
    }
    r = mcp_out_begin(&out, server, NULL, true);
    if (r == 0) {
        r = mcp_render_list_changed(out.bytes, kind, listen == NULL ? SPAN_NULL : listen->id);
    }
    end_notification(&out, r);
}

static void send_updated(McpServer *server, Span uri, const McpRequest *listen)
{
    McpOut out;
    int r;

    if (listen != NULL) {
        mcp_about_request(listen, false);
        server->about.must_arrive = true;
    }
    r = mcp_out_begin(&out, server, NULL, true);
    if (r == 0) {
        r = mcp_render_updated(out.bytes, uri, listen == NULL ? SPAN_NULL : listen->id);
    }
    end_notification(&out, r);
}

void mcp_tell_changes(McpServer *server)
{
    size_t cursor = 0;
    void *has_changed;
    Span uri;

    for (size_t i = 0; i < TW_ARRAY_SIZE(server->has_changed); i++) {
        if (server->has_changed[i]) {
            send_list_changed(server, (McpListKind)i, NULL);
        }
    }
    while (map_next(&server->subscribed, &cursor, &uri, &has_changed)) {
        if (has_changed != NULL) {
            send_updated(server, uri, NULL);
        }
    }
}

void mcp_server_list_changed(McpServer *server, McpListKind kind)
{
    if (is_offered(&server->announced, kind)) {
        if (server->state == MCP_STATE_READY) {
            send_list_changed(server, kind, NULL);
        } else if (server->state == MCP_STATE_INITIALIZING) {
            server->has_changed[kind] = true;
        }
    }
    for (McpLink *at = server->listens.next; at != &server->listens; at = at->next) {
        McpRequest *listen = MCP_LINK_OWNER(at, McpRequest, link);

        if (listen->lists[kind]) {
            send_list_changed(server, kind, listen);
        }
    }
}

static bool listens_to(const McpRequest *listen, Span uri)
{
    for (size_t i = 0; i < listen->n_uris; i++) {
        if (span_equals(listen->uris[i], uri)) {
            return true;
        }
    }
    return false;
}

void mcp_server_resource_updated(McpServer *server, Span uri)
{
    if (server->state == MCP_STATE_READY && map_find(&server->subscribed, uri, NULL)) {
        send_updated(server, uri, NULL);
    } else if (server->state == MCP_STATE_INITIALIZING) {
        (void)map_replace(&server->subscribed, uri, server);
    }
    for (McpLink *at = server->listens.next; at != &server->listens; at = at->next) {
        McpRequest *listen = MCP_LINK_OWNER(at, McpRequest, link);

        if (listens_to(listen, uri)) {
            send_updated(server, uri, listen);
        }
    }
}
