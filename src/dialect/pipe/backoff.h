/* dialect/pipe/backoff.h: when to try again: 1, 2, 4, 8, 16, 30, 30… seconds; from the start after
 * a success. Pure. Thread: any, one at a time. */
#pragma once

#include <stdint.h>

typedef struct PipeBackoff {
    int64_t first_ms;
    int64_t max_ms;
    int64_t next_ms;
} PipeBackoff;

/* 0: LIMIT_PIPE_RETRY_MS, LIMIT_PIPE_RETRY_MAX_MS. */
void pipe_backoff_init(PipeBackoff *b, int64_t first_ms, int64_t max_ms);

/* The time to wait before the next attempt. */
int64_t pipe_backoff_next(PipeBackoff *b);
void pipe_backoff_reset(PipeBackoff *b);
