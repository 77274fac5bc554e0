/* Calls on their way to a server and back. A call that the server has is linked in the server's
 * list from its start until the session has ended its request, also while it is parked (its asker
 * answers a question, upstream_ask.c) and after it was taken back (the session has yet to say so).
 */
#include "providers/upstream_impl.h"

#include "base/alloc.h"

/* Idle ones that are kept for the next calls. */
#define CALL_MAX_UNUSED 64

/* ---- the list ---- */

static UpstreamCall *call_take_unused(Upstreams *upstreams)
{
    UpstreamCall *held = upstreams->unused;

    if (held != NULL) {
        upstreams->unused = held->next;
        upstreams->n_unused--;
        held->next = NULL;
        return held;
    }
    held = mem_alloc_array(1, sizeof(*held));
    if (held != NULL) {
        bytes_init(&held->owner, LIMIT_KEEP_BYTES);
        bytes_init(&held->kept, 2 * LIMIT_MCP_RESPONSE_BYTES);
        bytes_init(&held->kept_data, LIMIT_MCP_RESPONSE_BYTES);
    }
    return held;
}

void upstream_call_discard(UpstreamCall *held)
{
    bytes_deinit(&held->owner);
    bytes_deinit(&held->kept);
    bytes_deinit(&held->kept_data);
    (void)mem_free(held);
}

static void call_put_unused(Upstreams *upstreams, UpstreamCall *held)
{
    if (upstreams->n_unused >= CALL_MAX_UNUSED) {
        upstream_call_discard(held);
        return;
    }
    bytes_clear_keep(&held->owner, 0);
    bytes_clear_keep(&held->kept, 0);
    bytes_clear_keep(&held->kept_data, 0);
    *held = (UpstreamCall){.owner = held->owner,
                           .kept = held->kept,
                           .kept_data = held->kept_data,
                           .next = upstreams->unused};
    upstreams->unused = held;
    upstreams->n_unused++;
}

static void call_link(Upstream *server, UpstreamCall *held)
{
    held->server = server;
    held->serial = ++server->owner->last_serial;
    held->next = NULL;
    held->prev = server->last;
    if (server->last != NULL) {
        server->last->next = held;
    } else {
        server->first = held;
    }
    server->last = held;
    server->n_calls++;
}

static void call_unlink(UpstreamCall *held)
{
    Upstream *server = held->server;

    if (held->next != NULL) {
        held->next->prev = held->prev;
    } else {
        server->last = held->prev;
    }
    if (held->prev != NULL) {
        held->prev->next = held->next;
    } else {
        server->first = held->next;
    }
    server->n_calls--;
}

void upstream_call_close(UpstreamCall *held)
{
    Upstream *server = held->server;

    if (held->call != NULL) {
        held->call->provider_data = NULL;
    }
    upstream_unpark(held);
    if (held->id == 0) {
        server->n_unturned--;
    }
    if (held->is_back && held->call != NULL && server->peer != NULL) {
        upstream_asks_answer(held, held->call, true); /* some may be of calls that go on */
    }
    upstream_asks_leave(held, true, "the call in which this was asked has ended");
    server->n_back -= held->is_back;
    call_unlink(held);
    call_put_unused(server->owner, held);
    if (server->n_calls == 0) {
        server->used_ms = io_loop_now_ms(server->owner->config.loop);
        upstream_set_timer(server);
    }
}

/* ---- whose turn it is ---- */

Span upstream_owner_of(const UpstreamCall *held)
{
    return held->call != NULL ? held->call->owner : bytes_span(&held->owner);
}

bool upstream_same_asker(const UpstreamCall *held, const UpstreamCall *other)
{
    Span owner = upstream_owner_of(other);

    return (other->asker != NULL && held->asker == other->asker) ||
           (other->session != 0 && held->session == other->session) ||
           (owner.n > 0 && span_equals(owner, upstream_owner_of(held)));
}

/* Must mine wait for it? Those behind mine wait for mine, but for one that the server has: it was
 * let in while mine was parked. */
static bool call_is_before(const UpstreamCall *held, const UpstreamCall *mine, bool is_behind)
{
    bool is_meant = !held->is_dead && !held->is_parked && ((held->can | mine->can) != 0) &&
                    held->end == UPSTREAM_END_NONE;

    return is_meant && (!is_behind || (held->id != 0 && !held->is_back)) &&
           !upstream_same_asker(held, mine);
}

/* Where a server's questions do not say which call they belong to, those who could be asked must
 * not have calls there at the same time as others. A parked call is in nobody's way. When its asker
 * comes back while somebody else's runs, its answers wait: else it would run with that one. Not for
 * ever: a server that does one thing after the other ends nothing before it has them. */
bool upstream_must_wait(const Upstream *server, const UpstreamCall *mine)
{
    bool is_behind = false;

    /* Whoever subscribed before this call hears of what it changes, also if it starts the server.
     */
    if (server->state != UPSTREAM_READY && server->subscribed.n > 0) {
        return true;
    }
    if (!server->takes_turns) {
        return false;
    }
    if (mine->is_back && io_loop_now_ms(server->owner->config.loop) >= mine->back_by_ms) {
        return false;
    }
    for (const UpstreamCall *held = server->first; held != NULL; held = held->next) {
        if (held == mine) {
            is_behind = true;
        } else if (call_is_before(held, mine, is_behind)) {
            return true;
        }
    }
    return false;
}

/* ---- start ---- */

static void call_fail_down(Upstream *server, Call *call)
{
    Bytes *text = &server->owner->text;
    int64_t wait_ms = server->retry_ms - io_loop_now_ms(server->owner->config.loop);

    bytes_clear(text);
    (void)bytes_append_format(text, "the server %s is not there: %.*s", server->spec.name,
                              (int)server->why.n, server->why.n > 0 ? server->why.data : "");
    if (server->state == UPSTREAM_DOWN && wait_ms > 0) {
        (void)bytes_append_format(text, " (tried again in %lld s)",
                                  (long long)((wait_ms + 999) / 1000));
    }
    call_fail(call, CALL_ERROR_UNAVAILABLE, bytes_span(text));
}

static void call_fail_send(Call *call, int r)
{
    if (r == MCP_CLIENT_E_BUSY) {
        call_fail(call, CALL_ERROR_BUSY, SPAN("too many calls of its server are open"));
    } else if (r == MCP_CLIENT_E_ENDED) {
        call_fail(call, CALL_ERROR_UNAVAILABLE, SPAN("the server has just ended"));
    } else if (r == -ENOBUFS) {
        call_fail(call, CALL_ERROR_BUSY,
                  SPAN("the server does not read: too much waits for it already"));
    } else {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
    }
}

/* Its server is there, or begins; that the resource is wanted is told by the one who asks. */
static bool start_subscribe(Call *call)
{
    CallResult done = CALL_RESULT_NULL;

    if (call->verb != CALL_SUBSCRIBE) {
        return false;
    }
    call_finish(call, &done);
    return true;
}

static void upstream_start(void *context, Call *call)
{
    const UpstreamItem *item = context;
    Upstream *server = item->server;
    UpstreamCall *held;
    int r;

    if (call->state.n > 0) {
        upstream_resume(server, call);
        return;
    }
    if (!upstream_wake(server)) {
        call_fail_down(server, call);
        return;
    }
    if (start_subscribe(call)) {
        return;
    }
    held = call_take_unused(server->owner);
    if (held == NULL) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
        return;
    }
    held->item = item;
    held->call = call;
    held->verb = call->verb;
    held->can = call->can;
    held->asker = call->asker;
    held->session = call->asker != NULL ? call->asker->session : 0;
    call_link(server, held);
    server->n_unturned++;
    if (upstream_must_wait(server, held)) {
        call->provider_data = held;
        return;
    }
    r = upstream_call_send(held);
    if (r != 0) {
        held->id = 0;
        upstream_call_close(held);
        call_fail_send(call, r);
        return;
    }
    server->n_unturned--;
    call->provider_data = held;
    /* A question ends the call, and its asker's door then needs them again. */
    call->took_arguments = call->can == 0;
}

void upstream_turns(Upstream *server)
{
    UpstreamCall *held = server->first;

    while (held != NULL && server->n_unturned + server->n_back > 0 && server->peer != NULL) {
        Call *call = held->call;
        int r;

        if ((held->id != 0 && !held->is_back) || held->is_dead || call == NULL ||
            upstream_must_wait(server, held)) {
            held = held->next;
            continue;
        }
        if (held->is_back) {
            upstream_resume_now(held);
            held = held->next;
            continue;
        }
        r = upstream_call_send(held);
        if (r == 0) {
            server->n_unturned--;
            held = held->next;
            continue;
        }
        held->id = 0;
        upstream_call_close(held);
        call_fail_send(call, r);
        held = server->first; /* whoever was told may have ended others */
    }
}

static void upstream_cancel(void *context, Call *call)
{
    UpstreamCall *held = call->provider_data;
    Upstream *server;

    (void)context;
    if (held == NULL) {
        return;
    }
    server = held->server;
    call->provider_data = NULL;
    call->may_have_run = held->is_sent;
    upstream_asks_leave(held, true, "the call in which this was asked was taken back");
    held->call = NULL;
    /* Without a peer the server is being left: somebody who was told of it takes others back. */
    if (held->id == 0 || server->peer == NULL) {
        upstream_call_close(held);
    } else {
        held->is_dead = true;
        server->n_back -= held->is_back;
        held->is_back = false;
        mcp_peer_cancel(server->peer, held->id, SPAN("the caller does not want it any more"));
    }
    upstream_turns(server);
}

static bool upstream_is_there(void *context)
{
    const UpstreamItem *item = context;

    return item->server->state != UPSTREAM_DOWN;
}

static Span upstream_origin(void *context)
{
    const UpstreamItem *item = context;

    return span_from_str(item->server->spec.name);
}

const CallProvider upstream_provider = {.name = "upstream",
                                        .start = upstream_start,
                                        .cancel = upstream_cancel,
                                        .is_there = upstream_is_there,
                                        .origin = upstream_origin};
