/* States: AWAY (no hub, or it has gone) → LISTING (the session is opened, pages of tools come) →
 * THERE. A change of the hub's list leads from THERE to LISTING with the tools still in place; the
 * end of the hub, and whatever it says that cannot be used, leads to AWAY.
 */
#include "app/agent_link.h"

#include <errno.h>
#include <string.h>

#include "app/version.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/map.h"
#include "base/random.h"
#include "peer/mcp_peer.h"
#include "json/json.h"
#include "json/writer.h"

/* The longest that a turn waits for a hub that accepts and then says nothing. */
#define LINK_OPEN_MS 5000

/* A list of more pages than this is a server that goes round in circles. */
#define LINK_MAX_PAGES 1000

typedef enum LinkState {
    LINK_AWAY,
    LINK_LISTING,
    LINK_THERE
} LinkState;

/* One call that the hub runs. */
typedef struct LinkCall LinkCall;
struct LinkCall {
    AgentLink *link;
    Call *call;
    McpRequestId id;
    LinkCall *next;
    LinkCall *prev;
};

struct AgentLink {
    AgentLinkConfig config;
    char *path;
    McpPeer *peer;
    McpIdentity identity;
    LinkState state;
    bool is_old;   /* the list has changed while it was read */
    bool is_ended; /* the session is over: the peer is freed when its event has returned */
    bool is_in_event;
    McpRequestId list_id;
    unsigned n_pages;
    LinkCall *calls;
    Map names; /* of the tools that are ours in the router; value: in this listing? */
    Bytes params;
    IoTimer *timer; /* LINK_OPEN_MS */
    IoTask task;    /* frees a peer that has ended */
    bool is_task_posted;
    bool is_freed; /* while the task is posted */
};

static char link_is_listed; /* Map value: seen in the listing at hand */

static void link_list(AgentLink *link, Span cursor);

static void link_start_timer(AgentLink *link)
{
    io_timer_start_at(link->timer, io_loop_now_ms(link->config.loop) + LINK_OPEN_MS);
}

/* ---- calls ---- */

static void link_forget(LinkCall *held)
{
    AgentLink *link = held->link;

    if (held->next != NULL) {
        held->next->prev = held->prev;
    }
    if (held->prev != NULL) {
        held->prev->next = held->next;
    } else {
        link->calls = held->next;
    }
    held->call->provider_data = NULL;
    (void)mem_free(held);
}

static LinkCall *link_find(AgentLink *link, McpRequestId id)
{
    LinkCall *held = link->calls;

    while (held != NULL && held->id != id) {
        held = held->next;
    }
    return held;
}

/* {"name":…,"arguments":…} */
static int link_write_params(AgentLink *link, const Call *call)
{
    JsonWriter w;

    bytes_clear_keep(&link->params, LIMIT_KEEP_BYTES);
    json_writer_init(&w, &link->params, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("name"));
    json_write_exact(&w, call->target);
    json_write_key(&w, SPAN("arguments"));
    if (call->arguments.node != NULL) {
        json_write_value(&w, call->arguments);
    } else {
        json_write_raw(&w, SPAN("{}"));
    }
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

static void link_start(void *context, Call *call)
{
    AgentLink *link = context;
    LinkCall *held;
    int r;

    if (link->peer == NULL || link->is_ended) {
        call_fail(call, CALL_ERROR_UNAVAILABLE,
                  SPAN("the hub that has this tool is not there; it is looked for again with the "
                       "next message"));
        return;
    }
    held = mem_alloc_array(1, sizeof(*held));
    r = held == NULL ? -ENOMEM : link_write_params(link, call);
    if (r == 0) {
        r = mcp_peer_request(link->peer, SPAN("tools/call"), bytes_span(&link->params),
                             call->wants_progress, &held->id);
    }
    if (r != 0) {
        (void)mem_free(held);
        call_fail(call, r > 0 ? CALL_ERROR_BUSY : CALL_ERROR_INTERNAL, SPAN_NULL);
        return;
    }
    held->link = link;
    held->call = call;
    held->next = link->calls;
    if (held->next != NULL) {
        held->next->prev = held;
    }
    link->calls = held;
    call->provider_data = held;
    call->took_arguments = true;
}

static void link_cancel(void *context, Call *call)
{
    AgentLink *link = context;
    LinkCall *held = call->provider_data;
    McpRequestId id = held->id;

    link_forget(held);
    if (link->peer != NULL && !link->is_ended) {
        mcp_peer_cancel(link->peer, id, SPAN("the agent does not want it any more"));
    }
}

static const CallProvider link_provider = {
    .name = "hub", .start = link_start, .cancel = link_cancel};

/* The elements of an array: without its brackets. */
static Span link_inside(JsonValue array)
{
    Span span = json_span(array);

    return span_make(span.p + 1, span.n - 2);
}

static void link_finish(LinkCall *held, JsonValue value)
{
    Call *call = held->call;
    CallResult result = {.kind = CALL_RESULT_TOOL, .content_kinds = CALL_CONTENT_UNKNOWN};
    JsonValue member;
    Span pieces = SPAN_NULL;

    link_forget(held);
    if (json_get(value, SPAN("content"), &member) && json_kind(member) == JSON_ARRAY) {
        pieces = link_inside(member);
        result.pieces = &pieces;
        result.n_pieces = 1;
    }
    if (json_get(value, SPAN("structuredContent"), &member)) {
        result.structured = json_span(member);
    }
    if (json_get(value, SPAN("isError"), &member)) {
        (void)json_bool(member, &result.is_error);
    }
    call_finish(call, &result);
}

static void link_fail(LinkCall *held, const McpClientEvent *event)
{
    Call *call = held->call;
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_OWN,
                         .wire_code = event->code,
                         .message = event->text,
                         .data = event->value.node != NULL ? json_span(event->value) : SPAN_NULL};

    link_forget(held);
    if (event->code == MCP_CLIENT_CODE_ENDED) {
        result.error = CALL_ERROR_UNAVAILABLE;
        result.message = SPAN("the hub that ran this tool has gone");
        result.data = SPAN_NULL;
    }
    call_finish(call, &result);
}

static void link_fail_all(AgentLink *link)
{
    while (link->calls != NULL) {
        Call *call = link->calls->call;

        link_forget(link->calls);
        call_fail(call, CALL_ERROR_UNAVAILABLE, SPAN("the hub that ran this tool has gone"));
    }
}

/* ---- the list ---- */

static void link_settle(AgentLink *link, LinkState state)
{
    bool was_listing = link->state == LINK_LISTING;

    link->state = state;
    link->list_id = 0;
    io_timer_stop(link->timer);
    if (was_listing) {
        link->config.settled(link->config.context);
    }
}

static void link_add(AgentLink *link, JsonValue description)
{
    Diag diag = DIAG_NULL;
    JsonValue member;
    Span name;
    int r;

    if (!json_get(description, SPAN("name"), &member) || !json_string_plain(member, &name)) {
        return;
    }
    if (map_find(&link->names, name, NULL)) {
        /* One that stays may have changed: it is taken out and added again. */
        (void)router_remove(link->config.router, ROUTER_TOOL, name);
        (void)map_remove(&link->names, name);
    }
    if (router_has_tool(link->config.router, name)) {
        logsink_write(link->config.log, LOGSINK_LEVEL_INFO, "agent",
                      "the hub's tool %.*s has the name of one of ours, which is used", (int)name.n,
                      name.p);
        return;
    }
    r = map_add(&link->names, name, &link_is_listed);
    if (r == 0) {
        r = router_add(link->config.router,
                       &(RouterSpec){.kind = ROUTER_TOOL,
                                     .json = json_span(description),
                                     .provider = &link_provider,
                                     .context = link,
                                     /* The hub has its own deadlines, and progress counts there. */
                                     .timeout_ms = LIMIT_CALL_MAX_MS},
                       &diag);
        if (r != 0) {
            (void)map_remove(&link->names, name);
        }
    }
    if (r != 0) {
        logsink_write(link->config.log, LOGSINK_LEVEL_WARN, "agent",
                      "the hub's tool %.*s cannot be used: %s", (int)name.n, name.p,
                      r > 0 && diag.message[0] != '\0' ? diag.message : "no room");
    }
}

/* Those that this listing did not have are gone. */
static void link_sweep(AgentLink *link)
{
    size_t cursor = 0;
    Span name;
    void *value;

    while (map_next(&link->names, &cursor, &name, &value)) {
        if (value != &link_is_listed) {
            (void)router_remove(link->config.router, ROUTER_TOOL, name);
            (void)map_remove(&link->names, name);
        }
    }
    for (cursor = 0; map_next(&link->names, &cursor, &name, &value);) {
        (void)map_replace(&link->names, name, NULL);
    }
}

static void link_take_page(AgentLink *link, JsonValue value)
{
    JsonValue tools;
    JsonValue member;
    Span cursor;

    if (json_get(value, SPAN("tools"), &tools)) {
        router_batch_begin(link->config.router);
        for (JsonIter it = json_iter(tools); json_iter_next(&it);) {
            link_add(link, it.value);
        }
        router_batch_end(link->config.router);
    }
    if (json_get(value, SPAN("nextCursor"), &member) && json_string_plain(member, &cursor) &&
        cursor.n > 0 && ++link->n_pages < LINK_MAX_PAGES) {
        link_list(link, cursor);
        return;
    }
    link_sweep(link);
    if (link->is_old) {
        link_list(link, SPAN_NULL);
        return;
    }
    link_settle(link, LINK_THERE);
}

static void link_list(AgentLink *link, Span cursor)
{
    JsonWriter w;
    int r;

    if (cursor.n == 0) {
        link->n_pages = 0;
        link->is_old = false;
    }
    link->state = LINK_LISTING;
    link_start_timer(link);
    bytes_clear_keep(&link->params, LIMIT_KEEP_BYTES);
    json_writer_init(&w, &link->params, JSON_STYLE_COMPACT);
    json_write_object(&w);
    if (cursor.n > 0) {
        json_write_key(&w, SPAN("cursor"));
        json_write_exact(&w, cursor);
    }
    json_write_end_object(&w);
    r = json_writer_finish(&w);
    r = r != 0 ? r
               : mcp_peer_request(link->peer, SPAN("tools/list"), bytes_span(&link->params), false,
                                  &link->list_id);
    if (r != 0) {
        link_settle(link, LINK_THERE); /* with what is there */
    }
}

/* ---- the session ---- */

/* The peer may not be freed inside its own event. */
static void link_on_task(IoTask *task)
{
    AgentLink *link = (AgentLink *)(void *)((char *)task - offsetof(AgentLink, task));

    link->is_task_posted = false;
    if (link->is_freed) {
        (void)mem_free(link);
        return;
    }
    if (link->is_ended) {
        link->peer = mcp_peer_free(link->peer);
        link->is_ended = false;
    }
}

static void link_end(AgentLink *link, Span words)
{
    if (!link->is_ended) {
        logsink_write(link->config.log, LOGSINK_LEVEL_WARN, "agent", "the hub has gone: %.*s",
                      (int)words.n, words.p);
        link->is_ended = true;
        if (!link->is_task_posted) {
            link->is_task_posted = true;
            io_loop_post(link->config.loop, &link->task);
        }
        link_fail_all(link); /* of one that fell silent; else they have been told */
    }
    link_settle(link, LINK_AWAY);
}

static void link_on_timer(void *context)
{
    link_end(context, SPAN("it does not answer"));
}

static void link_take_error(AgentLink *link, const McpClientEvent *event)
{
    LinkCall *held = link_find(link, event->id);

    if (held != NULL) {
        link_fail(held, event);
    } else if (event->id == link->list_id && link->list_id != 0) {
        logsink_write(link->config.log, LOGSINK_LEVEL_WARN, "agent",
                      "the hub does not list its tools: %.*s", (int)event->text.n, event->text.p);
        link_settle(link, LINK_THERE);
    }
}

static void link_take_event(AgentLink *link, McpPeer *peer, const McpClientEvent *event)
{
    LinkCall *held;

    switch (event->kind) {
    case MCP_CLIENT_READY:
        link_list(link, SPAN_NULL);
        break;
    case MCP_CLIENT_RESULT:
        held = link_find(link, event->id);
        if (held != NULL) {
            link_finish(held, event->value);
        } else if (event->id == link->list_id && link->list_id != 0) {
            link_take_page(link, event->value);
        }
        break;
    case MCP_CLIENT_ERROR:
        link_take_error(link, event);
        break;
    case MCP_CLIENT_PROGRESS:
        held = link_find(link, event->id);
        if (held != NULL) {
            call_report(held->call, &event->progress);
        }
        break;
    case MCP_CLIENT_ASK:
        (void)mcp_peer_refuse(peer, event->ask, -32601, SPAN("this client answers no questions"));
        break;
    case MCP_CLIENT_NOTIFICATION:
        if (!span_equals(event->text, SPAN("notifications/tools/list_changed"))) {
            break;
        }
        if (link->state == LINK_THERE) {
            link_list(link, SPAN_NULL);
        } else {
            link->is_old = true;
        }
        break;
    case MCP_CLIENT_FAILED:
        link_end(link, event->text);
        break;
    case MCP_CLIENT_UNASK:
    case MCP_CLIENT_RESTART:
    default:
        break;
    }
}

static void link_on_event(void *context, McpPeer *peer, const McpClientEvent *event)
{
    AgentLink *link = context;

    link->peer = peer; /* some come before mcp_peer_new has returned */
    link->is_in_event = true;
    link_take_event(link, peer, event);
    link->is_in_event = false;
}

static void link_connect(AgentLink *link)
{
    McpPeerConfig config = {.loop = link->config.loop,
                            .socket_path = link->path,
                            .is_own = true,
                            /* A legacy session is told of changed lists without asking. */
                            .client = {.identity = &link->identity,
                                       .mode = MCP_CLIENT_LEGACY,
                                       .legacy_revision = MCP_NEWEST_LEGACY,
                                       .log_level = CALL_LOG_NONE,
                                       .request_timeout_ms = LIMIT_CALL_MAX_MS},
                            .log = link->config.log,
                            .event = link_on_event,
                            .context = link};
    Diag diag = DIAG_NULL;

    link->state = LINK_LISTING;
    link_start_timer(link);
    if (mcp_peer_new(&link->peer, &config, &diag) != 0) {
        logsink_write(link->config.log, LOGSINK_LEVEL_DEBUG, "agent", "no hub: %s", diag.message);
        link->peer = NULL;
        link->state = LINK_AWAY;
        io_timer_stop(link->timer);
    }
}

bool agent_link_refresh(AgentLink *link)
{
    if (link == NULL || link->is_in_event) {
        return true; /* a peer whose event this is can neither be freed nor replaced */
    }
    if (link->is_ended) {
        link->peer = mcp_peer_free(link->peer);
        link->is_ended = false;
    }
    if (link->state == LINK_AWAY) {
        link_connect(link);
    }
    return link->state != LINK_LISTING;
}

bool agent_link_is_connected(const AgentLink *link)
{
    return link != NULL && link->state != LINK_AWAY;
}

/* ---- life ---- */

int agent_link_new(AgentLink **ret, const AgentLinkConfig *config)
{
    AgentLink *link = mem_alloc_array(1, sizeof(*link));
    uint8_t random[16];
    int r = link == NULL ? -ENOMEM : random_fill(random, sizeof(random));

    if (r != 0) {
        (void)mem_free(link);
        return err_raise(r);
    }
    link->config = *config;
    link->task.fn = link_on_task;
    link->identity = (McpIdentity){.name = SPAN("toolwire"), .version = SPAN(TOOLWIRE_VERSION)};
    map_init(&link->names, hash_seed_from(random), LIMIT_ROUTER_ENTRIES);
    bytes_init(&link->params, LIMIT_MCP_RESPONSE_BYTES);
    link->path = mem_alloc(strlen(config->path) + 1);
    if (link->path == NULL) {
        agent_link_free(link);
        return err_raise(-ENOMEM);
    }
    memcpy(link->path, config->path, strlen(config->path) + 1);
    r = io_timer_new(&link->timer, config->loop, true, link_on_timer, link);
    if (r != 0) {
        agent_link_free(link);
        return err_pass(r);
    }
    link_connect(link);
    *ret = link;
    return 0;
}

AgentLink *agent_link_free(AgentLink *link)
{
    size_t cursor = 0;
    Span name;
    void *value;

    if (link == NULL) {
        return NULL;
    }
    link_fail_all(link);
    while (map_next(&link->names, &cursor, &name, &value)) {
        (void)router_remove(link->config.router, ROUTER_TOOL, name);
    }
    map_deinit(&link->names);
    link->peer = mcp_peer_free(link->peer);
    link->timer = io_timer_free(link->timer);
    bytes_deinit(&link->params);
    link->path = mem_free(link->path);
    if (link->is_task_posted) {
        link->is_freed = true;
        return NULL;
    }
    return mem_free(link);
}
