#include "router/command.h"

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/error.h"
#include "call/envelope.h"
#include "router/command_answer.h"
#include "router/entry_command.h"
#include "router/router_impl.h"
#include "router/safety/expected.h"

static const RouterEntry *command_entry(const Call *call)
{
    const Router *router = call->router;

    /* One that runs has it, though it be gone from the registry by now. */
    if (call->verb != CALL_TOOL || call->entry != NULL) {
        return call->verb == CALL_TOOL ? call->entry : NULL;
    }
    /* Before it was looked for, as when the quota refuses it. */
    return router->n_commands > 0 ? map_get(&router->tables[ROUTER_TOOL].by_key, call->target)
                                  : NULL;
}

bool router_command_answers(const Call *call, const CallResult *result)
{
    const RouterEntry *entry;

    if (result->kind == CALL_RESULT_ERROR) {
        if (call->later == CALL_LATER_IS_TASK || result->error == CALL_ERROR_NEEDS_LATER ||
            result->error == CALL_ERROR_NEVER_LATER) {
            return false;
        }
    } else if (result->kind != CALL_RESULT_TOOL) {
        return false;
    }
    entry = command_entry(call);
    return entry != NULL && entry->is_command;
}

bool router_command_is(const Call *call)
{
    const RouterEntry *entry = command_entry(call);

    return entry != NULL && entry->is_command;
}

int router_command_join(Call *call, JsonValue meta)
{
    JsonDoc doc;
    Span text;
    int r = safety_expected_join(call->arguments, meta, &call->kept_arena, &text);

    if (r != 0 || text.p == NULL) {
        return err_pass(r);
    }
    r = json_parse(&doc, &call->kept_arena, text.p, text.n, NULL, NULL);
    if (r != 0) {
        return err_fold(r);
    }
    call->arguments = json_root(&doc);
    call->kept_values[0] = call->arguments.node; /* it is the call's own */
    return 0;
}

int router_command_params(const Router *router, Span method, JsonValue params, JsonValue beside,
                          Arena *arena, Span *ret)
{
    Span joined = SPAN_NULL;

    if (!router_has_tool(router, method) || router_tool_is_command(router, method)) {
        int r = safety_expected_join(params, beside, arena, &joined);

        if (r != 0) {
            return err_pass(r);
        }
    }
    *ret = params.node == NULL ? SPAN("{}") : json_span(params);
    *ret = joined.p != NULL ? joined : *ret;
    return 0;
}

/* The desk that this command passes; NULL: none. */
static SafetyDesk *command_desk(const Call *call)
{
    const RouterEntry *entry = command_entry(call);

    return entry == NULL || entry->is_guarded ? NULL : ((const Router *)call->router)->desk;
}

/* As it is now: the arguments may have been copied since it began. */
static SafetyCommand command_of(const Call *call)
{
    const RouterEntry *entry = call->entry;
    SafetyCommand command =
        router_command_of(router_entry_key(entry), router_entry_description(entry));

    command.arguments = call->arguments;
    command.cannot_undo = !entry->can_undo;
    return command;
}

/* ---- when it ends ---- */

static EnvelopeTimes command_times(const Call *call, bool has_run)
{
    const RouterCommand *command = call->command;
    EnvelopeTimes times = {.queue_us = call->waited_us > 0 ? call->waited_us : 0};
    int64_t passed_us = command != NULL ? router_now_us(call->router) - command->began_us : 0;

    times.total_us = times.queue_us + (passed_us > 0 ? passed_us : 0);
    times.run_us = has_run ? -1 : 0;
    return times;
}

/* Was it stopped, so that nobody knows how far it came? result NULL: taken back. */
static bool command_is_stopped(const CallResult *result)
{
    return result == NULL ||
           (result->kind == CALL_RESULT_ERROR &&
            (result->error == CALL_ERROR_TIMEOUT || result->error == CALL_ERROR_CANCELLED));
}

/* Tells the desk how it ended, and the answer what the desk says to that. A failure that wants all
 * undone makes it one, whatever the command says. */
static int command_tell_desk(RouterAnswer *answer, Call *call, const CallResult *result,
                             Envelope *envelope)
{
    SafetyDesk *desk = command_desk(call);
    RouterCommand *command = call->command;
    Router *router = call->router;
    SafetyCommand said;
    bool is_undone;
    SafetyEnd end;
    int r_end;
    int r;

    if (command == NULL || command->desk == NULL || command->desk != desk) {
        return 0;
    }
    command->desk = NULL;
    said = command_of(call);
    if (command->plan.needs_rollback && envelope->is_ok) {
        envelope->is_ok = false;
        envelope->code = span_from_str(envelope_code_name(ENVELOPE_TX_NOT_COMMITTED));
        envelope->message = SPAN_NULL;
    }
    r = router_answer_is_undone(answer, envelope, &is_undone);
    is_undone = is_undone || command->plan.is_undone;
    end = (SafetyEnd){.is_ok = envelope->is_ok,
                      .code = envelope->code,
                      .is_committed = command->plan.is_write && !is_undone &&
                                      (envelope->is_ok || command_is_stopped(result)),
                      .is_rolled_back = is_undone || command->plan.needs_rollback};
    /* Told in any case: it moves the revision. */
    r_end = safety_end(desk, &said, &command->plan, &end, router_now(router),
                       router->wall_ms != NULL ? router->wall_ms(router->stopwatch_context) : 0,
                       &answer->members, &answer->warnings);
    r = r != 0 ? r : r_end;
    return r != 0 ? err_pass(r) : router_answer_add(answer, envelope);
}

/* The whole of it. */
static int command_write(const Call *call, Envelope *envelope, bool has_run, const CallResult *from,
                         RouterAnswer *answer)
{
    EnvelopeTimes times = command_times(call, has_run);
    const SafetyDesk *desk = command_desk(call);
    int r = desk == NULL ? 0 : router_answer_add_context(answer, desk, call->target, envelope);

    return r != 0 ? err_pass(r) : router_answer_write(answer, envelope, &times, call->target, from);
}

static void command_answer(RouterAnswer *answer, Call *call, const CallResult *result)
{
    Envelope envelope;
    bool has_run = call->provider != NULL;
    int r = envelope_of_result(result, &answer->arena, &envelope);

    if (r != 0) {
        /* It has run, whether there is memory to say so or not. */
        envelope = (Envelope){.is_ok = result->kind == CALL_RESULT_TOOL && !result->is_error};
        (void)command_tell_desk(answer, call, result, &envelope);
    }
    r = r != 0 ? r : command_tell_desk(answer, call, result, &envelope);
    r = r != 0 ? r : command_write(call, &envelope, has_run, result, answer);
    router_answer_check(answer, r);
}

void router_command_end(Call *call, const CallResult *result)
{
    CLEANUP(router_answer_deinit) RouterAnswer answer;

    router_answer_init(&answer);
    command_answer(&answer, call, result);
    router_end_plain(call, &answer.result);
}

void router_command_finish(Call *call, const CallResult *result)
{
    CLEANUP(router_answer_deinit) RouterAnswer answer;
    const RouterEntry *entry = call->entry;
    Router *router = call->router;
    int r = 0;

    router_answer_init(&answer);
    command_answer(&answer, call, result);
    if (entry->output != NULL && !answer.result.is_error) {
        r = router_faults_structured(&router->faults, entry->output, answer.result.structured);
    }
    if (r == 0) {
        router_end_plain(call, &answer.result);
    } else if (r == FAULTS_E_FOUND) {
        CallResult bad = router_faults_result(&router->faults, CALL_ERROR_BAD_RESULT);

        router_end(call, &bad);
    } else {
        router_end_error(call, CALL_ERROR_INTERNAL);
    }
}

/* ---- before it starts ---- */

static void command_refuse(Call *call, const SafetyRefusal *refusal)
{
    CLEANUP(router_answer_deinit) RouterAnswer answer;
    Envelope envelope = {.code = span_from_str(refusal->code),
                         .message = refusal->message,
                         .next_actions = refusal->next_actions,
                         .run_us = -1};
    int r = 0;

    router_answer_init(&answer);
    if (refusal->data.n > 0) {
        r = bytes_append_span(&answer.members, SPAN("\"data\":"));
        r = r != 0 ? r : bytes_append_span(&answer.members, refusal->data);
        envelope.own = bytes_span(&answer.members);
    }
    r = r != 0 ? r : command_write(call, &envelope, false, NULL, &answer);
    router_answer_check(&answer, r);
    router_end_plain(call, &answer.result);
}

bool router_command_begin(Router *router, Call *call)
{
    RouterCommand *command = mem_alloc_array(1, sizeof(*command));
    SafetyRefusal refusal;
    SafetyCommand said;
    int r;

    if (command == NULL) {
        router_end_error(call, CALL_ERROR_INTERNAL);
        return false;
    }
    safety_plan_init(&command->plan);
    command->began_us = router_now_us(router);
    call->command = command;
    if (command_desk(call) == NULL) {
        return true;
    }
    said = command_of(call);
    r = safety_admit(router->desk, &said, router_now(router), &command->plan, &refusal);
    if (r == SAFETY_E_REFUSED) {
        command_refuse(call, &refusal);
        return false;
    }
    if (r != 0) {
        router_end_error(call, CALL_ERROR_INTERNAL);
        return false;
    }
    command->desk = router->desk;
    return true;
}

void router_command_asks(Call *call)
{
    RouterCommand *command = call->command;
    SafetyDesk *desk = command_desk(call);

    if (command != NULL && desk != NULL && command->desk == desk) {
        safety_postpone(desk, &command->plan);
        command->desk = NULL;
    }
}

void router_command_forget(Call *call, const CallResult *result)
{
    RouterCommand *command = call->command;
    SafetyDesk *desk = ((const Router *)call->router)->desk;

    call->command = NULL;
    if (command != NULL) {
        if (command->desk != NULL && command->desk == desk && command_is_stopped(result)) {
            safety_abandon(desk, &command->plan);
        }
        safety_plan_deinit(&command->plan);
        (void)mem_free(command);
    }
}

SafetyPlan *router_call_plan(const Call *call)
{
    RouterCommand *command = call->command;

    return command != NULL ? &command->plan : NULL;
}

void router_set_desk(Router *router, SafetyDesk *desk)
{
    router->desk = desk;
}
