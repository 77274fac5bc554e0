#include "app/command_job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/diag.h"
#include "call/record.h"
#include "json/json.h"

/* How it ended, from its record; NULL: it has not ended, or nothing readable was kept. */
static const CallResult *job_result(Arena *arena, const QueueJob *job)
{
    CallResult *result = arena_alloc(arena, sizeof(*result));
    Diag diag = DIAG_NULL;
    JsonDoc doc;

    if (result == NULL || job->result.n == 0 || !job_is_over(job->state) ||
        json_parse(&doc, arena, job->result.p, job->result.n, NULL, &diag) != 0 ||
        call_record_read(json_root(&doc), arena, result) != 0) {
        return NULL;
    }
    return result;
}

CommandJob command_job(Arena *arena, const QueueJob *job)
{
    return (CommandJob){
        .id = span_from_str(job->id),
        .state = job_state_name(job->state),
        .is_over = job_is_over(job->state),
        .method = job->method,
        .params = job->params,
        .rpc_id = job->rpc_id,
        .idempotency_key = job->idempotency_key,
        .pool = job->pool,
        .worker = job->worker,
        .priority = job->priority,
        .timeout_ms = job->timeout_ms,
        .n_attempts = job->n_attempts,
        .max_attempts = job->max_attempts,
        .enqueued_us = job->enqueued_us,
        .started_us = job->started_us,
        .beat_us = job->beat_us,
        .finished_us = job->finished_us,
        .code = job->code,
        .message = job->message,
        .result = job_result(arena, job),
        .is_dropped = job->is_dropped,
        .version = job->version,
    };
}

CommandFault command_fault(int r)
{
    static const struct {
        int r;
        CommandFault fault;
    } rows[] = {
        {QUEUE_E_MISSING, {404, "E_NOT_FOUND", "there is no such job"}},
        {QUEUE_E_BAD_ID, {400, "E_BAD_ID", "jobId: that is no id of a job"}},
        {QUEUE_E_KEY,
         {409, "IDEMPOTENCY_KEY_REUSED",
          "idempotencyKey: it belongs to a job of another method or other params"}},
        {QUEUE_E_LEASE, {409, "LEASE_LOST", "id: the lease is not, or no longer, yours"}},
        {QUEUE_E_OVER, {409, "ALREADY_OVER", "the job has ended"}},
        {QUEUE_E_NOT_OVER,
         {409, "NOT_OVER", "the job has not ended; only those that failed can be retried"}},
        {QUEUE_E_SUCCEEDED,
         {409, "ALREADY_OVER", "the job has succeeded; only those that failed can be retried"}},
        {QUEUE_E_TOO_LARGE, {413, "TOO_LARGE", "params or result are larger than the queue takes"}},
        {QUEUE_E_FULL, {503, "QUEUE_FULL", "as many jobs wait as may (max_waiting)"}},
        {QUEUE_E_DISK_FULL,
         {507, "DISK_FULL", "the disk of the queue is full: nothing was recorded"}},
        {QUEUE_E_DAMAGED,
         {500, "QUEUE_DAMAGED", "the queue's file is damaged, and what was asked was not done"}},
        {QUEUE_E_CLOSED, {503, "SHUTTING_DOWN", "the hub is shutting down"}},
    };

    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        if (rows[i].r == r) {
            return rows[i].fault;
        }
    }
    return (CommandFault){500, "INTERNAL", "the queue cannot be used now"};
}

Span command_fault_text(int r, const char *file, Arena *arena)
{
    const char *plain = command_fault(r).message;
    size_t size = strlen(plain) + 2 * strlen(file) + sizeof(QUEUE_REMEDY) + 16;
    char *text = r == QUEUE_E_DAMAGED ? arena_alloc(arena, size) : NULL;

    if (text == NULL) {
        return span_from_str(plain);
    }
    (void)snprintf(text, size, "%s (%s): " QUEUE_REMEDY, plain, file, file);
    return span_from_str(text);
}
