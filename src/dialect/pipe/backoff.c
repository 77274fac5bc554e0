#include "dialect/pipe/backoff.h"

#include "base/limits.h"

void pipe_backoff_init(PipeBackoff *b, int64_t first_ms, int64_t max_ms)
{
    *b = (PipeBackoff){.first_ms = first_ms != 0 ? first_ms : LIMIT_PIPE_RETRY_MS,
                       .max_ms = max_ms != 0 ? max_ms : LIMIT_PIPE_RETRY_MAX_MS};
    if (b->first_ms > b->max_ms) {
        b->first_ms = b->max_ms;
    }
    pipe_backoff_reset(b);
}

int64_t pipe_backoff_next(PipeBackoff *b)
{
    int64_t wait_ms = b->next_ms;

    b->next_ms = wait_ms > b->max_ms / 2 ? b->max_ms : wait_ms * 2;
    return wait_ms;
}

void pipe_backoff_reset(PipeBackoff *b)
{
    b->next_ms = b->first_ms;
}
