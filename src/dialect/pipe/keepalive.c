#include "dialect/pipe/keepalive.h"

#include "base/limits.h"

void pipe_keepalive_init(PipeKeepalive *k, int64_t interval_ms, int64_t timeout_ms, int64_t now_ms)
{
    *k = (PipeKeepalive){.interval_ms = interval_ms != 0 ? interval_ms : LIMIT_PIPE_PING_MS,
                         .timeout_ms = timeout_ms != 0 ? timeout_ms : LIMIT_PIPE_PONG_MS,
                         .pong_ms = INT64_MAX,
                         .due_ms = INT64_MAX};
    k->ping_ms = now_ms + k->interval_ms;
}

/* A call that was left keeps the peer busy until it was due, and no other does so any longer. */
static bool is_excused(const PipeKeepalive *k, int64_t now_ms)
{
    return k->has_heard && !k->is_prompt &&
           (k->due_ms != INT64_MAX ? now_ms < k->due_ms : k->is_busy);
}

PipeKeepaliveStep pipe_keepalive_advance(PipeKeepalive *k, int64_t now_ms)
{
    if (k->is_dead || now_ms >= k->pong_ms) {
        k->is_dead = true;
        return PIPE_KEEPALIVE_DEAD;
    }
    if (now_ms < k->ping_ms) {
        return PIPE_KEEPALIVE_NOTHING;
    }
    /* Every interval, but what a late owner missed is not made up for. */
    k->ping_ms += k->interval_ms;
    if (k->ping_ms <= now_ms) {
        k->ping_ms = now_ms + k->interval_ms;
    }
    if (now_ms < k->due_ms && k->due_ms < k->ping_ms) {
        k->ping_ms = k->due_ms;
    }
    if (k->pong_ms == INT64_MAX && !is_excused(k, now_ms)) {
        k->pong_ms = now_ms + k->timeout_ms;
    }
    return PIPE_KEEPALIVE_PING;
}

int64_t pipe_keepalive_deadline(const PipeKeepalive *k)
{
    if (k->is_dead) {
        return INT64_MAX;
    }
    return k->ping_ms < k->pong_ms ? k->ping_ms : k->pong_ms;
}

void pipe_keepalive_heard(PipeKeepalive *k)
{
    k->has_heard = true;
    k->pong_ms = INT64_MAX;
    k->due_ms = INT64_MAX;
}

void pipe_keepalive_set_prompt(PipeKeepalive *k)
{
    k->is_prompt = true;
    k->due_ms = INT64_MAX;
}

void pipe_keepalive_set_busy(PipeKeepalive *k, bool is_busy, int64_t now_ms)
{
    k->is_busy = is_busy;
    if (is_excused(k, now_ms)) {
        k->pong_ms = INT64_MAX;
    }
}

void pipe_keepalive_left(PipeKeepalive *k, int64_t due_ms, int64_t now_ms)
{
    due_ms = due_ms > now_ms ? due_ms : now_ms;
    /* To one that has never been heard from, or answers in any case, the plain rule applies. */
    if (!k->has_heard || k->is_prompt || due_ms >= k->due_ms) {
        return;
    }
    k->due_ms = due_ms;
    k->pong_ms = INT64_MAX;
    k->ping_ms = k->ping_ms < due_ms ? k->ping_ms : due_ms;
}
