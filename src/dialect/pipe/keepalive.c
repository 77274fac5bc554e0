#include "dialect/pipe/keepalive.h"

#include "base/limits.h"

void pipe_keepalive_init(PipeKeepalive *k, int64_t interval_ms, int64_t timeout_ms, int64_t now_ms)
{
    *k = (PipeKeepalive){.interval_ms = interval_ms != 0 ? interval_ms : LIMIT_PIPE_PING_MS,
                         .timeout_ms = timeout_ms != 0 ? timeout_ms : LIMIT_PIPE_PONG_MS,
                         .pong_ms = INT64_MAX};
    k->ping_ms = now_ms + k->interval_ms;
}

PipeKeepaliveStep pipe_keepalive_advance(PipeKeepalive *k, int64_t now_ms)
{
    if (k->is_dead || (!k->is_busy && now_ms >= k->pong_ms)) {
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
    if (k->pong_ms == INT64_MAX) {
        k->pong_ms = now_ms + k->timeout_ms;
    }
    return PIPE_KEEPALIVE_PING;
}

int64_t pipe_keepalive_deadline(const PipeKeepalive *k)
{
    if (k->is_dead) {
        return INT64_MAX;
    }
    return k->is_busy || k->ping_ms < k->pong_ms ? k->ping_ms : k->pong_ms;
}

void pipe_keepalive_pong(PipeKeepalive *k)
{
    k->pong_ms = INT64_MAX;
}

void pipe_keepalive_set_busy(PipeKeepalive *k, bool is_busy, int64_t now_ms)
{
    if (k->is_busy && !is_busy && k->pong_ms != INT64_MAX) {
        k->pong_ms = now_ms + k->timeout_ms;
    }
    k->is_busy = is_busy;
}
