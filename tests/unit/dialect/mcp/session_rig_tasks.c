#include "unit/dialect/mcp/session_rig.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"

static RigTask *find_task(Rig *rig, Span id)
{
    for (size_t i = 0; i < rig->n_tasks; i++) {
        if (span_equals(span_from_str(rig->tasks[i].id), id)) {
            return &rig->tasks[i];
        }
    }
    return NULL;
}

static bool is_over(const RigTask *task)
{
    return task->status == CALL_TASK_COMPLETED || task->status == CALL_TASK_FAILED ||
           task->status == CALL_TASK_CANCELLED;
}

/* How it stands, with all that tasks/get would say. */
static CallTask tell(const RigTask *task)
{
    static const CallAsk ask = {.key = {"it", 2},
                                .kind = CALL_ASK_FORM,
                                .message = {"Your name?", 10},
                                .schema = {"{\"type\":\"object\",\"properties\":{}}", 33}};
    static const Span piece = SPAN_INIT("{\"type\":\"text\",\"text\":\"done\"}");
    static const CallResult results[] = {
        [RIG_END_DONE] = {.kind = CALL_RESULT_TOOL,
                          .pieces = &piece,
                          .n_pieces = 1,
                          .content_kinds = CALL_CONTENT_TEXT},
        [RIG_END_TOOL_FAILED] = {.kind = CALL_RESULT_TOOL,
                                 .pieces = &piece,
                                 .n_pieces = 1,
                                 .content_kinds = CALL_CONTENT_TEXT,
                                 .is_error = true},
        [RIG_END_ERROR] = {.kind = CALL_RESULT_ERROR,
                           .error = CALL_ERROR_INTERNAL,
                           .message = SPAN_INIT("it broke")},
        [RIG_END_CANCELLED] = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_CANCELLED},
    };
    CallTask told = {.id = span_from_str(task->id),
                     .status = task->status,
                     .ttl_ms = task->ttl_ms,
                     .poll_ms = 500};

    if (is_over(task)) {
        told.result = &results[task->end];
    } else if (task->status == CALL_TASK_INPUT_REQUIRED) {
        told.asks = &ask;
        told.n_asks = 1;
    }
    return told;
}

static void finish_task(Call *call, const RigTask *task)
{
    CallTask told = tell(task);
    CallResult result = {.kind = CALL_RESULT_TASK, .tasks = &told, .n_tasks = 1};

    call_finish(call, &result);
}

/* The end, or the questions, for tasks/result. */
static void finish_result(Call *call, const RigTask *task)
{
    CallTask told = tell(task);
    CallResult ask = {.kind = CALL_RESULT_ASK, .asks = told.asks, .n_asks = told.n_asks};

    call_finish(call, is_over(task) ? told.result : &ask);
}

static void change(Rig *rig, RigTask *task, CallTaskStatus status, RigEnd end)
{
    CallTask told;
    Call *call;

    task->status = status;
    task->end = end;
    told = tell(task);
    mcp_server_task_changed(rig->server, &told, span_from_str(rig->task_owner));
    while (status != CALL_TASK_WORKING && (call = rig_release(rig, task->id)) != NULL) {
        finish_result(call, task);
    }
}

bool rig_task_change(Rig *rig, const char *id, const char *what)
{
    static const struct {
        const char *what;
        CallTaskStatus status;
        RigEnd end;
    } changes[] = {
        {"working", CALL_TASK_WORKING, RIG_END_DONE},
        {"asks", CALL_TASK_INPUT_REQUIRED, RIG_END_DONE},
        {"done", CALL_TASK_COMPLETED, RIG_END_DONE},
        {"tool_failed", CALL_TASK_COMPLETED, RIG_END_TOOL_FAILED},
        {"error", CALL_TASK_FAILED, RIG_END_ERROR},
        {"cancelled", CALL_TASK_CANCELLED, RIG_END_CANCELLED},
    };
    RigTask *task = find_task(rig, span_from_str(id));

    for (size_t i = 0; task != NULL && i < TW_ARRAY_SIZE(changes); i++) {
        if (strcmp(changes[i].what, what) == 0) {
            change(rig, task, changes[i].status, changes[i].end);
            return true;
        }
    }
    return false;
}

/* As the router decides by what tool and asker say. */
bool rig_task_tool(Rig *rig, Call *call)
{
    bool is_only = span_equals(call->target, SPAN("job_only"));
    bool may = is_only || span_equals(call->target, SPAN("job"));
    RigTask *task = &rig->tasks[rig->n_tasks];

    if (!may && call->later == CALL_LATER_ALWAYS) {
        call_fail(call, CALL_ERROR_NEVER_LATER, SPAN_NULL);
        return true;
    }
    if (is_only && call->later == CALL_LATER_NEVER) {
        call_fail(call, CALL_ERROR_NEEDS_LATER, SPAN_NULL);
        return true;
    }
    if (!may || call->later == CALL_LATER_NEVER || rig->n_tasks == RIG_MAX_TASKS) {
        return false;
    }
    rig->n_tasks++;
    *task = (RigTask){.status = CALL_TASK_WORKING,
                      .ttl_ms = call->later_ms == 0 ? 60000 : call->later_ms};
    (void)snprintf(task->id, sizeof(task->id), "t%u", (unsigned)rig->n_tasks);
    finish_task(call, task);
    return true;
}

static void list_tasks(Rig *rig, Call *call)
{
    CallTask told[RIG_MAX_TASKS];
    CallResult result = {.kind = CALL_RESULT_TASKS, .tasks = told, .n_tasks = rig->n_tasks};

    for (size_t i = 0; i < rig->n_tasks; i++) {
        told[i] = tell(&rig->tasks[i]);
    }
    result.next_cursor = call->has_cursor ? SPAN_NULL : SPAN("next");
    call_finish(call, &result);
}

static void cancel_task(Rig *rig, Call *call, RigTask *task)
{
    if (is_over(task)) {
        call_fail(call, CALL_ERROR_TASK_OVER, SPAN_NULL);
        return;
    }
    change(rig, task, CALL_TASK_CANCELLED, RIG_END_CANCELLED);
    finish_task(call, task);
}

/* Takes the answer, if there is one to what it asks. */
static void answer_task(Rig *rig, const Call *call, RigTask *task)
{
    JsonValue v;

    if (task->status == CALL_TASK_INPUT_REQUIRED && call_input(call, SPAN("it"), &v)) {
        change(rig, task, CALL_TASK_WORKING, RIG_END_DONE);
    }
}

void rig_task_run(Rig *rig, Call *call)
{
    RigTask *task = find_task(rig, call->target);
    CallResult done = CALL_RESULT_NULL;

    if (call->verb == CALL_LIST_TASKS) {
        list_tasks(rig, call);
    } else if (task == NULL) {
        call_fail(call, CALL_ERROR_UNKNOWN_TASK, SPAN_NULL);
    } else if (call->verb == CALL_TASK_GET) {
        finish_task(call, task);
    } else if (call->verb == CALL_TASK_CANCEL) {
        cancel_task(rig, call, task);
    } else if (call->verb == CALL_TASK_UPDATE) {
        answer_task(rig, call, task);
        call_finish(call, &done);
    } else {
        answer_task(rig, call, task);
        if (task->status == CALL_TASK_WORKING) {
            rig_hold(rig, call, span_from_str(task->id));
        } else {
            finish_result(call, task);
        }
    }
}
