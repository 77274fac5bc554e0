/* Calls that wait for the answers to a question: those who come back with them, and those who do
 * not (upstream_ask.c). */
#include "providers/upstream_impl.h"

/* Answers that wait for another's call: at a server of which nobody knows whether it ends anything
 * while it waits for an answer, and at one that does. */
#define PARK_TURN_MS     2000
#define PARK_TURN_MAX_MS 30000

void upstream_unpark(UpstreamCall *held)
{
    Upstream *server = held->server;

    server->n_parked -= held->is_parked;
    held->is_parked = false;
    if (server->has_queued && !server->is_gone) {
        server->has_news = true;
        upstreams_post(server->owner);
    }
}

/* ---- those who do not come back ---- */

void upstream_park_end(UpstreamCall *held, const char *why)
{
    Upstream *server = held->server;

    upstream_unpark(held);
    upstream_asks_leave(held, true, why);
    if (held->end != UPSTREAM_END_NONE || server->peer == NULL) {
        upstream_call_close(held);
        return;
    }
    held->is_dead = true;
    mcp_peer_cancel(server->peer, held->id, SPAN("nobody came back with the answers"));
}

void upstream_park_expire(UpstreamCall *held)
{
    for (UpstreamAsk *ask = held->asks; ask != NULL; ask = ask->next) {
        ask->is_unnamed = ask->is_unnamed && !ask->is_told; /* nobody is asked twice */
    }
    upstream_park_end(held, "nobody answered in time");
}

static void park_forsake(Upstream *server, const CallAsker *asker, Span state)
{
    UpstreamCall *next;

    for (UpstreamCall *held = server->first; held != NULL; held = next) {
        next = held->next;
        if (held->is_parked && (state.n > 0 ? span_equals(span_from_str(held->park), state)
                                            : asker != NULL && held->asker == asker)) {
            upstream_park_end(held, "whoever was asked does not want the call any more");
            /* Others may have their turn, when whoever leaves has left. */
            server->has_news = true;
            upstreams_post(server->owner);
        }
    }
}

void upstreams_on_forsaken(void *context, const CallAsker *asker, Span state)
{
    Upstreams *upstreams = context;

    for (size_t i = 0; i < upstreams->n_servers; i++) {
        if (upstreams->servers[i]->n_parked > 0) {
            park_forsake(upstreams->servers[i], asker, state);
        }
    }
}

/* ---- the answers ---- */

static UpstreamCall *park_find(const Upstream *server, const Call *call)
{
    for (UpstreamCall *held = server->first; held != NULL; held = held->next) {
        if (held->is_parked && span_equals(span_from_str(held->park), call->state) &&
            held->verb == call->verb && span_equals(bytes_span(&held->owner), call->owner)) {
            return held;
        }
    }
    return NULL;
}

/* It ended while its asker was thinking. What he was asked may be another call's. */
static void resume_ended(UpstreamCall *held, Call *call)
{
    Upstreams *owner = held->server->owner;
    CallResult error = {.kind = CALL_RESULT_ERROR,
                        .error = held->end == UPSTREAM_END_ERROR ? CALL_ERROR_OWN
                                                                 : CALL_ERROR_UNAVAILABLE,
                        .message = bytes_span(&held->kept),
                        .is_relayed = held->end == UPSTREAM_END_ERROR,
                        .wire_code = held->kept_code,
                        .data = bytes_span(&held->kept_data)};
    Bytes kept = held->kept;
    Bytes data = held->kept_data;
    bool is_result = held->end == UPSTREAM_END_RESULT;
    Arena arena;
    JsonDoc doc;

    /* The call may be used again before it is told. */
    bytes_init(&held->kept, kept.max_bytes);
    bytes_init(&held->kept_data, data.max_bytes);
    call->may_have_run = held->end == UPSTREAM_END_LOST;
    if (held->server->peer != NULL) {
        upstream_asks_answer(held, call, true);
    }
    upstream_call_close(held);
    arena_init(&arena, SIZE_MAX);
    if (!is_result) {
        call_finish(call, &error);
    } else if (json_parse(&doc, &arena, kept.data, kept.n, NULL, NULL) == 0) {
        upstream_finish(owner, call, json_root(&doc));
    } else {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
    }
    arena_deinit(&arena);
    bytes_deinit(&kept);
    bytes_deinit(&data);
}

void upstream_resume_now(UpstreamCall *held)
{
    Upstream *server = held->server;

    held->is_back = false;
    server->n_back--;
    upstream_asks_answer(held, held->call, true);
    if (held->asks != NULL) {
        /* Some have no answer, or have come meanwhile: in a moment, when start has returned. */
        held->has_news = true;
        server->has_news = true;
        upstreams_post(server->owner);
    }
}

void upstream_resume(Upstream *server, Call *call)
{
    UpstreamCall *held = park_find(server, call);

    if (held == NULL) {
        call_fail(call, CALL_ERROR_UNAVAILABLE,
                  SPAN("the question that this answers is not open any more: it was answered, its "
                       "time is over, or its server has ended; make the call anew"));
        return;
    }
    if (held->end != UPSTREAM_END_NONE) {
        resume_ended(held, call);
        upstream_turns(server);
        return;
    }
    upstream_unpark(held);
    held->call = call;
    held->can = call->can;
    held->asker = call->asker;
    held->session = call->asker != NULL ? call->asker->session : 0;
    call->provider_data = held;
    held->is_back = true;
    server->n_back++;
    held->back_by_ms = io_loop_now_ms(server->owner->config.loop) +
                       (server->ends_meanwhile ? PARK_TURN_MAX_MS : PARK_TURN_MS);
    if (upstream_must_wait(server, held)) {
        upstream_set_timer(server);
    } else {
        upstream_resume_now(held);
    }
}
