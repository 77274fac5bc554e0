#include "peer/mcp_peer.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "peer/mcp_peer_impl.h"

bool mcp_peer_is_overdue(McpPeer *peer)
{
    if (!peer->is_overdue && io_turn_is_over(peer->config.loop, peer->turn)) {
        peer->is_overdue = true;
        mcp_client_break(peer->client,
                         SPAN("what the server sent kept everybody waiting for too long"),
                         io_loop_now_ms(peer->config.loop));
    }
    return peer->is_overdue;
}

void mcp_peer_pump(McpPeer *peer)
{
    char text[2048];
    McpClientEvent event;

    if (peer->is_pumping) {
        return;
    }
    peer->is_pumping = true;
    io_turn_begin(peer->config.loop, peer->turn);
    while (mcp_client_next(peer->client, &event)) {
        (void)mcp_peer_is_overdue(peer); /* what is left are the ends of requests, and its own */
        if (peer->state != PEER_OPEN) {
            continue;
        }
        if (event.kind == MCP_CLIENT_RESTART) {
            if (peer->ops->restart != NULL) {
                peer->ops->restart(peer->wire);
            }
            continue;
        }
        if (peer->ops->judged != NULL && !peer->was_ready &&
            (event.kind == MCP_CLIENT_READY || event.kind == MCP_CLIENT_FAILED)) {
            peer->was_ready = event.kind == MCP_CLIENT_READY;
            peer->ops->judged(peer->wire, peer->was_ready);
        }
        if (event.kind == MCP_CLIENT_FAILED && peer->ops->explain != NULL) {
            peer->ops->explain(peer->wire, &event, text, sizeof(text));
        }
        peer->config.event(peer->config.context, peer, &event);
    }
    io_turn_end(peer->config.loop);
    peer->is_pumping = false;
}

void mcp_peer_set_timer(McpPeer *peer)
{
    int64_t at_ms = peer->wire == NULL ? INT64_MAX : peer->ops->deadline(peer->wire);
    int64_t session_ms =
        peer->state == PEER_OPEN ? mcp_client_next_deadline(peer->client) : INT64_MAX;

    if (session_ms < at_ms) {
        at_ms = session_ms;
    }
    if (peer->state == PEER_CLOSED) {
        at_ms = INT64_MAX;
    }
    /* Each request has a deadline, and moving the timer for it costs as much as writing it: one
     * that is too early is left, finds nothing when it fires, and is set anew then. */
    if (at_ms < peer->timer_ms || peer->state == PEER_CLOSED) {
        peer->timer_ms = at_ms;
        io_timer_start_at(peer->timer, at_ms);
    }
}

void mcp_peer_finish_close(McpPeer *peer)
{
    peer->state = PEER_CLOSED;
    peer->ops->let_go(peer->wire);
    mcp_peer_set_timer(peer);
    if (peer->done != NULL) {
        peer->done(peer->done_context);
    }
}

static void peer_on_timer(void *context)
{
    McpPeer *peer = context;
    int64_t now_ms = io_loop_now_ms(peer->config.loop);

    peer->timer_ms = INT64_MAX;
    if (peer->state == PEER_OPEN) {
        mcp_client_advance(peer->client, now_ms);
        mcp_peer_pump(peer);
    }
    /* So that the next time is looked for even where nothing below does: the owner may free us in
     * tick, and nothing may follow it. */
    mcp_peer_set_timer(peer);
    peer->ops->tick(peer->wire, now_ms);
}

/* Sends what was written and delivers what was caused since the last turn. */
static void peer_on_settle(void *context)
{
    McpPeer *peer = context;

    if (peer->state == PEER_OPEN) {
        mcp_peer_pump(peer);
    }
    peer->ops->flush(peer->wire);
    mcp_peer_set_timer(peer);
}

static int peer_copy_fields(McpPeer *peer)
{
    size_t n = peer->config.n_fields;
    McpHttpField *fields = arena_alloc_array(&peer->strings, n + 1, sizeof(*fields));

    if (fields == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        fields[i].name = arena_copy(&peer->strings, peer->config.fields[i].name);
        fields[i].value = arena_copy(&peer->strings, peer->config.fields[i].value);
        if (fields[i].name.p == NULL || fields[i].value.p == NULL) {
            return err_raise(-ENOMEM);
        }
    }
    peer->config.fields = fields;
    return 0;
}

static int peer_init(McpPeer *peer, Diag *reterr_diag)
{
    McpPeerConfig *config = &peer->config;
    int r = arena_keep_strings(&peer->strings, &config->argv);

    r = r != 0 ? r : arena_keep_strings(&peer->strings, &config->environment);
    r = r != 0 ? r : arena_keep_string(&peer->strings, &config->folder);
    r = r != 0 ? r : arena_keep_string(&peer->strings, &config->socket_path);
    r = r != 0 ? r : arena_keep_string(&peer->strings, &config->url);
    r = r != 0 ? r : peer_copy_fields(peer);
    r = r != 0 ? r : io_timer_new(&peer->timer, config->loop, false, peer_on_timer, peer);
    r = r != 0 ? r : peer->ops->open(peer, &peer->wire, reterr_diag);
    if (r != 0) {
        return r;
    }
    peer->sink = peer->ops->sink;
    peer->sink.context = peer->wire;
    config->client.sink = &peer->sink;
    r = mcp_client_new(&peer->client, &config->client);
    r = r != 0 ? r : io_before_wait_new(&peer->settle, config->loop, peer_on_settle, peer);
    return r != 0 ? r : mcp_client_start(peer->client, io_loop_now_ms(config->loop));
}

int mcp_peer_new(McpPeer **ret, const McpPeerConfig *config, Diag *reterr_diag)
{
    McpPeer *peer = mem_alloc_array(1, sizeof(*peer));
    int r;

    if (peer == NULL) {
        return err_raise(-ENOMEM);
    }
    peer->config = *config;
    peer->ops = config->url != NULL ? &mcp_peer_http : &mcp_peer_lines;
    peer->timer_ms = INT64_MAX;
    peer->turn = io_turn_name(config->loop, config->name != NULL ? config->name : "a server");
    peer->config.name = NULL; /* the loop has a copy */
    arena_init(&peer->strings, SIZE_MAX);
    r = peer_init(peer, reterr_diag);
    if (r != 0) {
        (void)mcp_peer_free(peer);
        return r == MCP_PEER_E_CANNOT_START ? r : err_fold(r);
    }
    *ret = peer;
    return 0;
}

/* ---- the owner's side ---- */

void mcp_peer_close(McpPeer *peer, int64_t grace_ms, void (*done)(void *context), void *context)
{
    if (peer->state != PEER_OPEN) {
        return;
    }
    peer->state = PEER_CLOSING;
    peer->done = done;
    peer->done_context = context;
    peer->ops->close(peer->wire, grace_ms);
    mcp_peer_set_timer(peer);
}

McpPeer *mcp_peer_free(McpPeer *peer)
{
    if (peer == NULL) {
        return NULL;
    }
    if (peer->wire != NULL) {
        peer->ops->free(peer->wire);
    }
    peer->timer = io_timer_free(peer->timer);
    peer->settle = io_before_wait_free(peer->settle);
    peer->client = mcp_client_free(peer->client);
    arena_deinit(&peer->strings);
    return mem_free(peer);
}

int mcp_peer_request(McpPeer *peer, Span method, Span params, bool wants_progress,
                     McpRequestId *ret)
{
    return mcp_peer_request_with(peer, method, params,
                                 &(McpRequestOptions){.wants_progress = wants_progress}, ret);
}

int mcp_peer_request_with(McpPeer *peer, Span method, Span params, const McpRequestOptions *options,
                          McpRequestId *ret)
{
    if (peer->state != PEER_OPEN) {
        return MCP_CLIENT_E_ENDED;
    }
    return mcp_client_request_with(peer->client, method, params, options,
                                   io_loop_now_ms(peer->config.loop), ret);
}

void mcp_peer_cancel(McpPeer *peer, McpRequestId id, Span reason)
{
    mcp_client_cancel(peer->client, id, reason);
}

int mcp_peer_answer(McpPeer *peer, uint64_t ask, Span result)
{
    return mcp_client_answer(peer->client, ask, result, io_loop_now_ms(peer->config.loop));
}

int mcp_peer_refuse(McpPeer *peer, uint64_t ask, int code, Span message)
{
    return mcp_client_refuse(peer->client, ask, code, message, io_loop_now_ms(peer->config.loop));
}

int mcp_peer_notify(McpPeer *peer, Span method, Span params)
{
    return mcp_client_notify(peer->client, method, params);
}

Span mcp_peer_last_words(const McpPeer *peer)
{
    return peer->wire != NULL && peer->ops->words != NULL ? peer->ops->words(peer->wire)
                                                          : SPAN_NULL;
}

const McpClient *mcp_peer_client(const McpPeer *peer)
{
    return peer->client;
}
