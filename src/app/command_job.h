/* app/command_job.h: jobs of the queue, and its refusals, as the command door shows them. Thread:
 * any. */
#pragma once

#include "base/arena.h"
#include "dialect/command/answer.h"
#include "queue/queue.h"

/* Borrows what job has; its result is read into the arena. */
CommandJob command_job(Arena *arena, const QueueJob *job);

/* What went wrong in the queue (QUEUE_E_*, a negative errno), as HTTP says it. */
typedef struct CommandFault {
    unsigned status;
    const char *code;
    const char *message; /* names the field, where one is at fault */
} CommandFault;

CommandFault command_fault(int r);

/* Its message; of a damaged file with its path and what to do. In the arena, or static. */
Span command_fault_text(int r, const char *file, Arena *arena);
