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

static void tell_wanted(const McpServer *server, Span uri, bool is_wanted)
{
    if (server->config.wants != NULL) {
        server->config.wants(server->config.context, uri, is_wanted);
    }
}

static void tell_listen_wanted(const McpRequest *listen, bool is_wanted)
{
    for (size_t i = 0; i < listen->n_uris; i++) {
        tell_wanted(listen->server, listen->uris[i], is_wanted);
    }
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
    if (r == 0) {
        server->n_subscribed_bytes += uri.n;
        tell_wanted(server, uri, true);
    }
    return r;
}

void mcp_unsubscribe(McpServer *server, Span uri)
{
    if (map_find(&server->subscribed, uri, NULL)) {
        server->n_subscribed_bytes -= uri.n;
        tell_wanted(server, uri, false);
        (void)map_remove(&server->subscribed, uri);
    }
}

void mcp_unsubscribe_all(McpServer *server)
{
    size_t cursor = 0;
    void *value;
    Span uri;

    while (map_next(&server->subscribed, &cursor, &uri, &value)) {
        mcp_unsubscribe(server, uri);
    }
    while (!mcp_link_is_alone(&server->listens)) {
        mcp_listen_forget(MCP_LINK_OWNER(server->listens.next, McpRequest, link));
    }
}

/* An array of URIs, or of ids, checked; node NULL if there is none. False if the request was
 * refused. */
static bool take_names(McpServer *server, const McpInbound *in, JsonValue filter, Span key,
                       JsonValue *ret)
{
    JsonValue names;
    bool is_good;

    if (!json_get(filter, key, &names)) {
        return true;
    }
    is_good = json_kind(names) == JSON_ARRAY;
    for (JsonIter it = json_iter(names); is_good && json_iter_next(&it);) {
        is_good = json_kind(it.value) == JSON_STRING;
    }
    if (!is_good) {
        mcp_refuse_format(server, in, MCP_ERROR_INVALID_PARAMS,
                          "params.notifications.%s must be an array of strings", key.p);
        return false;
    }
    *ret = names;
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

/* What a subscription names; node NULL where it names none. */
typedef struct Named {
    JsonValue uris;
    JsonValue tasks;
} Named;

static size_t count_names(JsonValue names)
{
    return names.node == NULL ? 0 : json_count(names);
}

static size_t names_bytes(JsonValue names)
{
    return names.node == NULL ? 0 : json_span(names).n;
}

/* Decodes the names to *at, which moves. */
static size_t copy_names(JsonValue names, Span *spans, char **at)
{
    size_t n = 0;

    if (names.node == NULL) {
        return 0;
    }
    for (JsonIter it = json_iter(names); json_iter_next(&it);) {
        size_t n_name = json_string_decode(it.value, *at);

        spans[n++] = span_make(*at, n_name);
        *at += n_name;
    }
    return n;
}

/* Copies the names, decoded, behind the array that names them, and whose tasks they are. 0,
 * -ENOMEM. */
static int keep_names(McpRequest *listen, const Named *named, Span owner)
{
    size_t n = count_names(named->uris) + count_names(named->tasks);
    char *at;

    /* Decoded text is never longer than the JSON. */
    listen->uris = mem_alloc(n * sizeof(*listen->uris) + names_bytes(named->uris) +
                             names_bytes(named->tasks) + owner.n);
    if (listen->uris == NULL) {
        return err_raise(-ENOMEM);
    }
    at = (char *)(listen->uris + n);
    listen->n_uris = copy_names(named->uris, listen->uris, &at);
    listen->n_tasks = copy_names(named->tasks, listen->uris + listen->n_uris, &at);
    if (owner.n > 0) {
        memcpy(at, owner.p, owner.n);
        listen->owner = span_make(at, owner.n);
    }
    return 0;
}

static int acknowledge(McpServer *server, const McpRequest *listen)
{
    McpFilter filter = {.uris = listen->uris,
                        .n_uris = listen->n_uris,
                        .tasks = listen->n_tasks > 0 ? listen->uris + listen->n_uris : NULL,
                        .n_tasks = listen->n_tasks};
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
                        const Named *named)
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
    if (named->uris.node != NULL || named->tasks.node != NULL) {
        r = keep_names(listen, named, server->from.owner);
        server->n_listen_uris += listen->n_uris + listen->n_tasks;
        tell_listen_wanted(listen, true);
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
    Named named = {.uris = JSON_VALUE_NULL, .tasks = JSON_VALUE_NULL};
    bool lists[3];

    if (!mcp_take_object(server, in, in->params, SPAN("notifications"), "params.notifications",
                         true, &filter) ||
        !take_lists(server, in, filter, lists) ||
        !take_names(server, in, filter, SPAN("resourceSubscriptions"), &named.uris) ||
        !take_names(server, in, filter, SPAN("taskIds"), &named.tasks)) {
        return;
    }
    if (!in->offer.resources) {
        named.uris = JSON_VALUE_NULL;
    }
    if (!in->offer.tasks) {
        named.tasks = JSON_VALUE_NULL;
    }
    if (named.tasks.node != NULL && !in->takes_tasks) {
        mcp_refuse_undeclared(server, in);
        return;
    }
    if (server->n_listens >= LIMIT_MCP_LISTENS) {
        mcp_refuse(server, in, MCP_ERROR_RATE, "too many subscriptions are open");
        return;
    }
    if (count_names(named.uris) + count_names(named.tasks) >
        LIMIT_MCP_SUBSCRIBED - server->n_listen_uris) {
        mcp_refuse(server, in, MCP_ERROR_RATE, "too many resources or tasks are subscribed to");
        return;
    }
    open_listen(server, in, lists, &named);
}

void mcp_listen_forget(McpRequest *listen)
{
    McpServer *server = listen->server;

    tell_listen_wanted(listen, false);
    server->n_listens--;
    server->n_listen_uris -= listen->n_uris + listen->n_tasks;
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
