/* Jobs on a hub of their own, with tools that do what their names say, and whoever asks.
 *
 *     tool     does
 *     echo     answers its arguments as structured content
 *     hold     waits for rig_release, or to be cancelled
 *     brief    as hold; has 20 ms
 *     safe     as hold; may run twice (idempotentHint)
 *     fails    answers that it failed
 *     breaks   ends with an internal error
 *     absent   whoever has it is not there
 *     form     asks "it", then answers the inputs as structured content, and the state as text
 *     again    asks "it" until the answer has "content"
 *     first    asks "it" before it is a task
 *     later    as echo, and is always a task
 *
 * All run as tasks but echo, which may. */
#pragma once

#include "app/jobs.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/hub.h"
#include "base/bytes.h"
#include "support/queue_op.h"
#include "json/json.h"

#define RIG_MAX_HELD 16
#define RIG_MAX_NEWS 32

typedef struct Rig {
    char folder[64];
    char path[96];
    JobsConfig config;
    Hub *hub;
    Jobs *jobs;
    Call *held[RIG_MAX_HELD];
    size_t n_held;
    size_t n_started;
    size_t n_cancelled;
    bool stops_at_start; /* of hold and safe: the loop */
    bool is_closed;
    RouterListener listener;
    char news[RIG_MAX_NEWS][48]; /* "COMPLETED with result" */
    size_t n_news;
    bool stops_at_news;
} Rig;

/* One question, and how it ended. */
typedef struct Asked {
    Call call;
    Rig *rig;
    Arena arena;
    bool is_over;
    CallResultKind kind;
    CallError error;
    bool is_error;
    CallTaskStatus status;
    int64_t ttl_ms;
    size_t n_tasks;
    size_t n_asks;
    char key[32]; /* of the first question */
    char id[QUEUE_ID_BYTES];
    char message[128];
    char says[128];       /* of the first task: how it stands */
    char structured[512]; /* of a result, its own or the task's */
    char text[256];
    char cursor[QUEUE_ID_BYTES];
} Asked;

/* ---- tools ---- */

static inline void rig_copy(char *out, size_t size, Span s)
{
    (void)snprintf(out, size, "%.*s", (int)s.n, s.p == NULL ? "" : s.p);
}

static inline void tool_answer(Call *call, Span structured, Span text, bool is_error)
{
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":\""), text, SPAN("\"}")};
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, 3);

    result.structured = structured;
    result.is_error = is_error;
    call_finish(call, &result);
}

static inline void tool_ask(Call *call, Span state)
{
    CallAsk ask = {.key = SPAN("it"), .kind = CALL_ASK_FORM, .message = SPAN("Who?")};
    CallResult result = {.kind = CALL_RESULT_ASK, .asks = &ask, .n_asks = 1, .state = state};

    call_finish(call, &result);
}

static inline void tool_start(void *context, Call *call)
{
    Rig *rig = context;
    JsonValue it = JSON_VALUE_NULL;
    JsonValue content;
    bool has = call_input(call, SPAN("it"), &it);

    rig->n_started++;
    if (span_equals(call->target, SPAN("hold")) || span_equals(call->target, SPAN("safe")) ||
        span_equals(call->target, SPAN("brief"))) {
        assert_true(rig->n_held < RIG_MAX_HELD);
        rig->held[rig->n_held++] = call;
        if (rig->stops_at_start) {
            io_loop_stop(hub_loop(rig->hub));
        }
    } else if (span_equals(call->target, SPAN("fails"))) {
        tool_answer(call, SPAN_NULL, SPAN("no"), true);
    } else if (span_equals(call->target, SPAN("breaks"))) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN("it broke"));
    } else if (span_equals(call->target, SPAN("absent"))) {
        call_fail(call, CALL_ERROR_UNAVAILABLE, SPAN_NULL);
    } else if ((span_equals(call->target, SPAN("form")) ||
                span_equals(call->target, SPAN("first"))) &&
               !has) {
        tool_ask(call, SPAN("where \\\"we\\\" were"));
    } else if (span_equals(call->target, SPAN("again")) &&
               (!has || !json_get(it, SPAN("content"), &content))) {
        tool_ask(call, SPAN_NULL);
    } else if (has) {
        tool_answer(call, json_span(call->inputs), call->state, false);
    } else {
        tool_answer(call, json_span(call->arguments), SPAN("done"), false);
    }
}

static inline void tool_cancel(void *context, Call *call)
{
    Rig *rig = context;

    for (size_t i = 0; i < rig->n_held; i++) {
        if (rig->held[i] == call) {
            rig->held[i] = rig->held[--rig->n_held];
            rig->n_cancelled++;
            return;
        }
    }
    fail_msg("cancelled, and not held");
}

static const CallProvider rig_provider = {
    .name = "rig", .start = tool_start, .cancel = tool_cancel};

static inline void rig_add_timed(Rig *rig, const char *name, const char *annotations,
                                 RouterLater later, int64_t timeout_ms)
{
    char text[256];
    Diag diag = DIAG_NULL;

    (void)snprintf(text, sizeof(text), "{\"name\":\"%s\",\"inputSchema\":{\"type\":\"object\"}%s}",
                   name, annotations);
    assert_int_equal(router_add(hub_router(rig->hub),
                                &(RouterSpec){.kind = ROUTER_TOOL,
                                              .json = span_from_str(text),
                                              .provider = &rig_provider,
                                              .context = rig,
                                              .timeout_ms = timeout_ms,
                                              .later = later},
                                &diag),
                     0);
}

static inline void rig_add(Rig *rig, const char *name, const char *annotations, RouterLater later)
{
    rig_add_timed(rig, name, annotations, later, 0);
}

/* ---- life ---- */

static inline void rig_on_task(RouterListener *listener, const CallTask *task, Span owner)
{
    static const char *const names[] = {"WORKING", "INPUT_REQUIRED", "COMPLETED", "FAILED",
                                        "CANCELLED"};
    Rig *rig = (Rig *)((char *)listener - offsetof(Rig, listener));

    (void)owner;
    if (rig->n_news < RIG_MAX_NEWS) {
        (void)snprintf(rig->news[rig->n_news++], sizeof(rig->news[0]), "%s%s%s",
                       names[task->status], task->result != NULL ? " with result" : "",
                       task->n_asks > 0 ? " with questions" : "");
    }
    if (rig->stops_at_news) {
        io_loop_stop(hub_loop(rig->hub));
    }
}

static inline void rig_open(Rig *rig)
{
    Diag diag = DIAG_NULL;
    int r;

    assert_int_equal(hub_new(&rig->hub, NULL), 0);
    rig->n_held = rig->n_started = rig->n_cancelled = rig->n_news = 0;
    rig->is_closed = false;
    rig_add(rig, "echo", "", ROUTER_LATER_MAY);
    rig_add(rig, "hold", "", ROUTER_LATER_MAY);
    rig_add_timed(rig, "brief", "", ROUTER_LATER_MAY, 20);
    rig_add(rig, "safe", ",\"annotations\":{\"idempotentHint\":true}", ROUTER_LATER_MAY);
    rig_add(rig, "fails", "", ROUTER_LATER_MAY);
    rig_add(rig, "breaks", "", ROUTER_LATER_MAY);
    rig_add(rig, "absent", "", ROUTER_LATER_MAY);
    rig_add(rig, "form", "", ROUTER_LATER_MAY);
    rig_add(rig, "again", "", ROUTER_LATER_MAY);
    rig_add(rig, "first", "", ROUTER_LATER_ASKED);
    rig_add(rig, "later", "", ROUTER_LATER_ALWAYS);
    rig->listener = (RouterListener){.task = rig_on_task};
    router_listen(hub_router(rig->hub), &rig->listener);
    io_loop_hold(hub_loop(rig->hub));
    rig->config.hub = rig->hub;
    rig->config.path = rig->path;
    r = jobs_new(&rig->jobs, &rig->config, &diag);
    if (r != 0) {
        fail_msg("%d: %s", r, diag.message);
    }
}

/* As a process ends: what runs is left as it is. */
static inline void rig_close(Rig *rig)
{
    rig->jobs = jobs_free(rig->jobs);
    router_unlisten(hub_router(rig->hub), &rig->listener);
    io_loop_release(hub_loop(rig->hub));
    rig->hub = hub_free(rig->hub);
}

static inline int rig_setup(void **state)
{
    static const char folder[] = "/tmp/tw-jobs-XXXXXX";
    Rig *rig = calloc(1, sizeof(*rig));

    memcpy(rig->folder, folder, sizeof(folder));
    assert_non_null(mkdtemp(rig->folder));
    (void)snprintf(rig->path, sizeof(rig->path), "%s/jobs.db", rig->folder);
    rig_open(rig);
    *state = rig;
    return 0;
}

static inline int rig_teardown(void **state)
{
    Rig *rig = *state;

    rig_close(rig);
    assert_int_equal(unlink(rig->path), 0);
    assert_int_equal(rmdir(rig->folder), 0);
    free(rig);
    return 0;
}

static inline void rig_run(Rig *rig)
{
    assert_int_equal(io_loop_run(hub_loop(rig->hub)), 0);
}

/* Answers the oldest held call. */
static inline void rig_release(Rig *rig)
{
    Call *call = rig->held[0];

    assert_true(rig->n_held > 0);
    rig->n_held--;
    memmove(rig->held, rig->held + 1, rig->n_held * sizeof(rig->held[0]));
    tool_answer(call, SPAN("{\"held\":true}"), SPAN("released"), false);
}

static inline void rig_on_closed(void *context)
{
    Rig *rig = context;

    rig->is_closed = true;
    io_loop_stop(hub_loop(rig->hub));
}

/* Until a tool of that sort has been started. */
static inline void rig_run_until_held(Rig *rig, size_t n)
{
    rig->stops_at_start = true;
    while (rig->n_held < n) {
        rig_run(rig);
    }
    rig->stops_at_start = false;
}

static inline void rig_run_until_news(Rig *rig, size_t n)
{
    rig->stops_at_news = true;
    while (rig->n_news < n) {
        rig_run(rig);
    }
    rig->stops_at_news = false;
}

/* ---- asking ---- */

static inline void asked_keep_result(Asked *asked, const CallResult *result)
{
    asked->is_error = result->is_error;
    asked->error = result->kind == CALL_RESULT_ERROR ? result->error : CALL_ERROR_NONE;
    rig_copy(asked->message, sizeof(asked->message), result->message);
    rig_copy(asked->structured, sizeof(asked->structured), result->structured);
    asked->text[0] = '\0';
    for (size_t i = 0; i < result->n_pieces; i++) {
        (void)snprintf(asked->text + strlen(asked->text), sizeof(asked->text) - strlen(asked->text),
                       "%.*s", (int)result->pieces[i].n, result->pieces[i].p);
    }
}

static inline void asked_finish(Call *call, const CallResult *result)
{
    Asked *asked = (Asked *)((char *)call - offsetof(Asked, call));
    const CallAsk *asks = result->asks;

    asked->is_over = true;
    asked->kind = result->kind;
    asked->n_tasks = result->n_tasks;
    asked->n_asks = result->n_asks;
    asked_keep_result(asked, result);
    rig_copy(asked->cursor, sizeof(asked->cursor), result->next_cursor);
    if (result->n_tasks > 0) {
        const CallTask *task = &result->tasks[0];

        asked->status = task->status;
        asked->ttl_ms = task->ttl_ms;
        asked->n_asks = task->n_asks;
        asks = task->asks;
        rig_copy(asked->id, sizeof(asked->id), task->id);
        rig_copy(asked->says, sizeof(asked->says), task->message);
        if (task->result != NULL) {
            asked_keep_result(asked, task->result);
        }
    }
    if (asked->n_asks > 0) {
        rig_copy(asked->key, sizeof(asked->key), asks[0].key);
    }
    io_loop_stop(hub_loop(asked->rig->hub));
}

static const CallDoor asked_door = {.finish = asked_finish};

static inline JsonValue asked_parse(Asked *asked, const char *text)
{
    JsonDoc doc;

    if (text == NULL) {
        return JSON_VALUE_NULL;
    }
    assert_int_equal(json_parse(&doc, &asked->arena, text, strlen(text), NULL, NULL), 0);
    return json_root(&doc);
}

static inline void asked_init(Asked *asked, Rig *rig, CallVerb verb, const char *target)
{
    *asked = (Asked){.rig = rig};
    arena_init(&asked->arena, 1 << 20);
    call_init(&asked->call);
    asked->call.door = &asked_door;
    asked->call.verb = verb;
    asked->call.target = span_from_str(target);
    asked->call.can = CALL_CAN_FORM;
}

static inline void asked_deinit(Asked *asked)
{
    call_deinit(&asked->call);
    arena_deinit(&asked->arena);
}

/* Asks, and waits for the end. */
static inline void asked_run(Asked *asked)
{
    asked->is_over = false;
    router_dispatch(hub_router(asked->rig->hub), NULL, &asked->call);
    while (!asked->is_over) {
        rig_run(asked->rig);
    }
}

/* Makes a task; its id. */
static inline void rig_make(Rig *rig, const char *tool, const char *arguments, char *ret_id)
{
    Asked asked;

    asked_init(&asked, rig, CALL_TOOL, tool);
    asked.call.arguments = asked_parse(&asked, arguments);
    asked.call.later = CALL_LATER_MAY;
    asked_run(&asked);
    assert_int_equal(asked.kind, CALL_RESULT_TASK);
    assert_int_equal(asked.status, CALL_TASK_WORKING);
    (void)snprintf(ret_id, QUEUE_ID_BYTES, "%s", asked.id);
    asked_deinit(&asked);
}

/* Something about a task. The caller's, afterwards: asked_deinit. */
static inline void rig_ask(Rig *rig, Asked *asked, CallVerb verb, const char *id,
                           const char *inputs)
{
    asked_init(asked, rig, verb, id);
    asked->call.inputs = asked_parse(asked, inputs);
    asked_run(asked);
    asked_deinit(asked);
}

/* ---- the queue itself, as another door would ask it ---- */

typedef struct RigAsk {
    JobsAsk ask;
    Rig *rig;
    bool is_told;
} RigAsk;

static inline void rig_on_told(JobsAsk *ask)
{
    RigAsk *own = (RigAsk *)(void *)((char *)ask - offsetof(RigAsk, ask));

    own->is_told = true;
    io_loop_stop(hub_loop(own->rig->hub));
}

/* Asks, and waits for the answer. The caller's, afterwards: queue_op_deinit. */
static inline void rig_queue(Rig *rig, RigAsk *ask)
{
    ask->rig = rig;
    ask->is_told = false;
    ask->ask.told = rig_on_told;
    jobs_ask(rig->jobs, &ask->ask);
    while (!ask->is_told) {
        rig_run(rig);
    }
}

/* A job that is no task; its id. */
static inline void rig_enqueue(Rig *rig, const QueueSpec *spec, char *ret_id)
{
    RigAsk own;

    queue_op_init(&own.ask.op);
    own.ask.op.verb = QUEUE_ENQUEUE;
    OP_SET(&own.ask.op, spec, *spec);
    rig_queue(rig, &own);
    assert_int_equal(own.ask.op.r, 0);
    (void)snprintf(ret_id, QUEUE_ID_BYTES, "%s", own.ask.op.jobs[0].id);
    queue_op_deinit(&own.ask.op);
}

/* How a job stands. */
typedef struct RigJob {
    JobState state;
    unsigned n_attempts;
    uint64_t version;
    uint64_t fence; /* how often it was claimed */
    char code[64];
    char message[256];
    char result[2048];
} RigJob;

static inline RigJob rig_job(Rig *rig, const char *id)
{
    RigJob ret;
    RigAsk own;

    queue_op_init(&own.ask.op);
    own.ask.op.verb = QUEUE_GET;
    OP_SET(&own.ask.op, id, span_from_str(id));
    rig_queue(rig, &own);
    assert_int_equal(own.ask.op.r, 0);
    ret.state = own.ask.op.jobs[0].state;
    ret.n_attempts = own.ask.op.jobs[0].n_attempts;
    ret.version = own.ask.op.jobs[0].version;
    ret.fence = own.ask.op.jobs[0].fence;
    rig_copy(ret.code, sizeof(ret.code), own.ask.op.jobs[0].code);
    rig_copy(ret.message, sizeof(ret.message), own.ask.op.jobs[0].message);
    rig_copy(ret.result, sizeof(ret.result), own.ask.op.jobs[0].result);
    queue_op_deinit(&own.ask.op);
    return ret;
}

typedef struct RigWatch {
    JobsListener listener;
    Rig *rig;
    const char *id;
    JobState state;
    bool has_come;
} RigWatch;

static inline void rig_on_changed(JobsListener *listener, const QueueJob *job)
{
    RigWatch *watch = (RigWatch *)(void *)((char *)listener - offsetof(RigWatch, listener));

    if (strcmp(job->id, watch->id) == 0 &&
        (job->state == watch->state || job_is_over(job->state))) {
        watch->has_come = true;
        io_loop_stop(hub_loop(watch->rig->hub));
    }
}

/* Until the job is told to be in that state, or is over. */
static inline void rig_run_until(Rig *rig, const char *id, JobState state)
{
    RigWatch watch = {
        .listener = {.changed = rig_on_changed}, .rig = rig, .id = id, .state = state};
    JobState is;

    jobs_listen(rig->jobs, &watch.listener);
    is = rig_job(rig, id).state;
    while (!watch.has_come && is != state && !job_is_over(is)) {
        rig_run(rig);
    }
    jobs_unlisten(rig->jobs, &watch.listener);
}

/* Until the job is over. */
static inline RigJob rig_end_of(Rig *rig, const char *id)
{
    rig_run_until(rig, id, JOB_N_STATES);
    return rig_job(rig, id);
}
