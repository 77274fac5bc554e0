/* dialect/pipe/keepalive.h: pings, and when their silence means death. Both sides have one for each
 * connection.
 *
 * A ping is sent every interval_ms; without a pong within timeout_ms the peer is dead. Real add-ins
 * do not read while a tool runs, so the rule is suspended while the peer is inside a call: it then
 * has timeout_ms from the end of the last one. Pings go on meanwhile. Any pong answers all pings:
 * they carry no reference.
 * Pure; time is told. Thread: any, one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef enum PipeKeepaliveStep {
    PIPE_KEEPALIVE_NOTHING,
    PIPE_KEEPALIVE_PING, /* send one now */
    PIPE_KEEPALIVE_DEAD, /* final */
} PipeKeepaliveStep;

typedef struct PipeKeepalive {
    int64_t interval_ms;
    int64_t timeout_ms;
    int64_t ping_ms; /* when the next one is due */
    int64_t pong_ms; /* when the answer is overdue; INT64_MAX if none is awaited */
    bool is_busy;    /* the peer is inside a call */
    bool is_dead;
} PipeKeepalive;

/* 0: LIMIT_PIPE_PING_MS, LIMIT_PIPE_PONG_MS. The first ping comes after one interval. */
void pipe_keepalive_init(PipeKeepalive *k, int64_t interval_ms, int64_t timeout_ms, int64_t now_ms);

/* What is due; call until NOTHING. */
PipeKeepaliveStep pipe_keepalive_advance(PipeKeepalive *k, int64_t now_ms);

/* When advance must be called next; INT64_MAX once it said DEAD. */
int64_t pipe_keepalive_deadline(const PipeKeepalive *k);

void pipe_keepalive_pong(PipeKeepalive *k);
void pipe_keepalive_set_busy(PipeKeepalive *k, bool is_busy, int64_t now_ms);
