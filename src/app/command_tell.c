/* What came of a request, as its answer. Each of these ends the request, or lets it wait. */
#include "app/command_ask.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "app/command_job.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/writer.h"

void command_ask_name(CommandAsk *ask, Span id)
{
    size_t n = id.n < sizeof(ask->id) ? id.n : sizeof(ask->id) - 1;

    if (n > 0) {
        memcpy(ask->id, id.p, n);
    }
    ask->id[n] = '\0';
    if (ask->deadline_ms > 0) {
        command_ask_watch(ask);
    }
}

/* ---- answers ---- */

/* r of writing into out. */
void command_ask_end(CommandAsk *ask, int r, unsigned status, const Http1Field *extra)
{
    if (r == 0) {
        command_ask_respond(ask, status, extra);
        return;
    }
    bytes_clear(&ask->record);
    command_ask_refuse(ask, 500, envelope_code_name(ENVELOPE_TOO_LARGE),
                       SPAN("the answer is too large"), NULL);
}

/* "job-…": the job's id and version, so that a client can ask whether anything changed. */
static Span ask_etag(const QueueJob *job, char *text, size_t size)
{
    int n = snprintf(text, size, "\"%s.%" PRIu64 "\"", job->id, job->version);

    return span_make(text, (size_t)n);
}

/* May it wait longer? job: for which, or NULL: for any. While the door closes only what runs here
 * can still end. */
static bool ask_has_time(const CommandAsk *ask, const QueueJob *job)
{
    bool may_end = job != NULL && job->state == JOB_RUNNING && job->pool.n == 0;

    return ask->x != NULL && ask->deadline_ms > io_loop_now_ms(ask->door->loop) &&
           (!ask->is_closing || may_end);
}

static CommandJob ask_job(CommandAsk *ask, const QueueJob *job)
{
    CommandJob shown = command_job(&ask->arena, job);

    shown.server_pid = ask->door->pid;
    shown.server_port = ask->x == NULL ? 0 : http_door_port(http_door_of(ask->x));
    if (job->state == JOB_ENQUEUED && job->pool.n == 0 &&
        !router_tool_is_there(ask->door->router, job->method)) {
        shown.code = span_from_str(envelope_code_name(ENVELOPE_UNAVAILABLE));
        shown.message = SPAN("nobody who has the command is there now: the job waits for it");
    }
    return shown;
}

void command_tell_job(CommandAsk *ask, const QueueJob *job)
{
    char text[QUEUE_ID_BYTES + 32];
    Http1Field field = {SPAN("ETag"), ask_etag(job, text, sizeof(text))};
    Span etags = ask->request.etags;
    bool is_same = etags.n > 0 && command_etag_matches(etags, field.value);
    bool is_news = job_is_over(job->state) || (etags.n > 0 && !is_same);
    CommandJob shown;

    if (!is_news && ask_has_time(ask, job)) {
        command_ask_wait(ask);
        return;
    }
    if (is_same) {
        command_ask_nothing(ask, 304, &field);
        return;
    }
    shown = ask_job(ask, job);
    command_ask_end(ask, command_write_job(&shown, true, &ask->door->out), 200, &field);
}

void command_tell_result(CommandAsk *ask, const QueueJob *job)
{
    CommandJob shown;

    if (!job_is_over(job->state)) {
        if (ask_has_time(ask, job)) {
            command_ask_wait(ask);
        } else {
            command_ask_nothing(ask, 204, NULL);
        }
        return;
    }
    shown = ask_job(ask, job);
    if (command_is_gone(&shown) || job->is_damaged) {
        command_ask_end(ask, command_write_payload(&shown, &ask->door->out),
                        job->is_damaged ? 500 : 410, NULL);
    } else {
        command_ask_end(ask, command_write_reply(&shown, &ask->door->out), 200, NULL);
    }
}

/* On disk; the answer at once, or the whole reply when there is one in time. */
void command_tell_enqueued(CommandAsk *ask, const QueueJob *job, bool is_known)
{
    CommandJob shown = ask_job(ask, job);
    bool is_rpc = ask->request.verb == COMMAND_RPC;

    if (is_rpc) {
        /* The job may have been asked for before, by another name: each asker gets its own back. */
        shown.rpc_id = ask->request.rpc_id;
    }
    if (job_is_over(job->state) && ask->request.wait_ms > 0) {
        command_ask_end(ask,
                        is_rpc ? command_write_reply(&shown, &ask->door->out)
                               : command_write_job(&shown, true, &ask->door->out),
                        200, NULL);
    } else if (ask_has_time(ask, job)) {
        command_ask_name(ask, shown.id);
        command_ask_wait(ask);
    } else if (is_rpc && ask->request.is_notification) {
        command_ask_nothing(ask, 202, NULL);
    } else if (is_rpc) {
        command_ask_end(ask, command_write_queued(&shown, &ask->door->out), 200, NULL);
    } else {
        command_ask_end(ask, command_write_enqueued(&shown, is_known, &ask->door->out), 200, NULL);
    }
}

void command_tell_jobs(CommandAsk *ask, const QueueOp *op)
{
    CommandJob *jobs = arena_alloc(&ask->arena, (op->n_jobs + 1) * sizeof(*jobs));
    size_t asked = queue_op_order(op)->list.limit;
    size_t limit = asked > 0 ? asked : LIMIT_QUEUE_LIST;

    if (jobs == NULL) {
        command_ask_end(ask, -ENOMEM, 500, NULL);
        return;
    }
    for (size_t i = 0; i < op->n_jobs; i++) {
        jobs[i] = ask_job(ask, &op->jobs[i]);
    }
    command_ask_end(ask,
                    command_write_jobs(jobs, op->n_jobs,
                                       op->n_jobs >= limit ? jobs[op->n_jobs - 1].id : SPAN_NULL,
                                       &ask->door->out),
                    200, NULL);
}

void command_tell_pending(CommandAsk *ask, const QueueOp *op)
{
    CommandJob shown;

    if (op->n_jobs > 0) {
        Http1Field field = {SPAN("X-Job-Id"), span_from_str(op->jobs[0].id)};

        shown = ask_job(ask, &op->jobs[0]);
        command_ask_end(ask,
                        command_write_pending(&shown, op->jobs[0].fence,
                                              queue_op_order(op)->claim.lease_ms, &ask->door->out),
                        200, &field);
    } else if (ask_has_time(ask, NULL)) {
        command_ask_wait(ask);
    } else {
        command_ask_nothing(ask, 204, NULL);
    }
}

void command_tell_health(CommandAsk *ask, const QueueCounts *counts)
{
    JsonWriter w;

    json_writer_init(&w, &ask->door->out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("ok"));
    json_write_bool(&w, true);
    json_write_key(&w, SPAN("name"));
    json_write_string(&w, ask->door->config.identity->name);
    json_write_key(&w, SPAN("version"));
    json_write_string(&w, ask->door->config.identity->version);
    json_write_key(&w, SPAN("tools"));
    json_write_uint(&w, router_count(ask->door->router, ROUTER_TOOL));
    json_write_key(&w, SPAN("running"));
    json_write_uint(&w, jobs_n_running(ask->door->config.jobs));
    json_write_key(&w, SPAN("jobs"));
    json_write_object(&w);
    for (size_t i = 0; i < JOB_N_STATES; i++) {
        json_write_key(&w, span_from_str(job_state_name((JobState)i)));
        json_write_uint(&w, counts->n[i]);
    }
    json_write_end_object(&w);
    json_write_end_object(&w);
    command_ask_end(ask, json_writer_finish(&w), 200, NULL);
}

void command_tell_done(CommandAsk *ask, const QueueJob *job, int64_t lease_ms)
{
    CommandJob shown = ask_job(ask, job);

    command_ask_end(ask, command_write_done(&shown, lease_ms, &ask->door->out), 200, NULL);
}
