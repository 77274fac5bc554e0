/* dialect/pipe/keepalive.h: pings, and when their silence means death. Both sides have one for each
 * connection.
 *
 * A ping is sent every interval_ms; a peer that says nothing at all within timeout_ms is dead: any
 * message is a sign of life, and answers all pings, which carry no reference. Real add-ins do not
 * read while a tool runs, so a peer is excused while it is inside a call: pings go on, but none has
 * to be answered. Not excused is
 *
 *     one that has never been heard from;
 *     one that answers pings inside calls, as it has said or shown: to it the plain rule applies;
 *     one that left a call unanswered and has not been heard from since, from the time at which
 *     that call was due: it is asked at once, and has timeout_ms. Later calls change nothing.
 *
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
    int64_t ping_ms; /* when the next one is due; not after due_ms, unless that has passed */
    int64_t pong_ms; /* when the answer is overdue; INT64_MAX if none is awaited, as of one excused
                      */
    int64_t due_ms;  /* when the first call was due that was left unanswered; INT64_MAX if there is
                        none since it was heard from */
    bool has_heard;
    bool is_prompt; /* it answers pings inside calls */
    bool is_busy;   /* the peer is inside a call */
    bool is_dead;
} PipeKeepalive;

/* 0: LIMIT_PIPE_PING_MS, LIMIT_PIPE_PONG_MS. The first ping comes after one interval. */
void pipe_keepalive_init(PipeKeepalive *k, int64_t interval_ms, int64_t timeout_ms, int64_t now_ms);

/* What is due; call until NOTHING. */
PipeKeepaliveStep pipe_keepalive_advance(PipeKeepalive *k, int64_t now_ms);

/* When advance must be called next; INT64_MAX once it said DEAD. */
int64_t pipe_keepalive_deadline(const PipeKeepalive *k);

/* A message came, whatever it says. */
void pipe_keepalive_heard(PipeKeepalive *k);

/* The peer answers pings while it runs calls, from now on. */
void pipe_keepalive_set_prompt(PipeKeepalive *k);

/* Whether calls are out. */
void pipe_keepalive_set_busy(PipeKeepalive *k, bool is_busy, int64_t now_ms);

/* A call is no longer waited for. The peer is not told, and may be inside until due_ms (now, if
 * that has passed). */
void pipe_keepalive_left(PipeKeepalive *k, int64_t due_ms, int64_t now_ms);
