/* The tools of a turn: each is a call of the router, whose door this is. */
#include <errno.h>

#include "agent/outcome.h"
#include "app/agent_run_impl.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/json.h"
#include "json/writer.h"

/* A tool that reports a thousand times a second is told of ten times. */
#define RUN_PROGRESS_MS 100

/* Calls that are kept for the next ones. */
#define RUN_CALL_KEEP_BYTES ((size_t)4096)

static void call_on_finish(Call *call, const CallResult *result);
static void call_on_progress(Call *call, const CallProgress *progress);

static void call_on_log(Call *call, CallLogLevel level, Span logger, Span data)
{
    (void)call; /* nothing passes CALL_LOG_NONE */
    (void)level;
    (void)logger;
    (void)data;
}

static const CallDoor call_door = {
    .finish = call_on_finish, .progress = call_on_progress, .log = call_on_log};

/* ---- life of a call ---- */

static AgentCall *call_take(AgentRun *run, TurnTool *tool)
{
    Agent *agent = run->item.agent;
    AgentCall *held = agent->spare_calls;

    if (held != NULL) {
        agent->spare_calls = held->next;
    } else {
        held = mem_alloc_array(1, sizeof(*held));
        if (held == NULL) {
            return NULL;
        }
        call_init(&held->call);
        arena_init(&held->arena, 16 * LIMIT_MODEL_TOOL_BYTES + LIMIT_KEEP_BYTES);
    }
    held->run = run;
    held->tool = tool;
    held->told_ms = 0;
    held->prev = NULL;
    held->next = run->calls;
    if (held->next != NULL) {
        held->next->prev = held;
    }
    run->calls = held;
    tool->owner = held;
    return held;
}

/* The call is ours again: kept for the next one. */
static void call_give_back(AgentCall *held)
{
    AgentRun *run = held->run;
    Agent *agent = run->item.agent;

    if (held->prev != NULL) {
        held->prev->next = held->next;
    } else {
        run->calls = held->next;
    }
    if (held->next != NULL) {
        held->next->prev = held->prev;
    }
    held->tool->owner = NULL;
    call_reset(&held->call);
    arena_reset(&held->arena, RUN_CALL_KEEP_BYTES);
    held->next = agent->spare_calls;
    agent->spare_calls = held;
}

AgentCall *agent_run_drop_call(AgentCall *held)
{
    AgentCall *next = held->next;

    call_deinit(&held->call);
    arena_deinit(&held->arena);
    (void)mem_free(held);
    return next;
}

/* ---- what is told ---- */

void agent_run_tell_use(const AgentRun *run, const TurnTool *tool, bool needs_approval)
{
    AgentTool told = {.id = tool->id,
                      .name = tool->name,
                      .input = tool->input,
                      .approval_required = needs_approval};

    agent_tell_tool_use(run->item.agent, run->item.id, &told);
}

/* Tells the shell and the turn. The run may be gone on return. */
static void run_end_tool(AgentRun *run, TurnTool *tool, const AgentOutcome *outcome)
{
    Agent *agent = run->item.agent;
    AgentTool told = {.id = tool->id, .name = tool->name};

    if (outcome->is_error) {
        told.error = outcome->text;
    } else {
        told.result = outcome->json;
    }
    agent_tell_tool_result(agent, run->item.id, &told);
    turn_on_tool(&run->turn, tool, outcome->text, outcome->is_error, io_loop_now_ms(agent->loop));
    agent_run_step(run);
}

static void call_on_finish(Call *call, const CallResult *result)
{
    AgentCall *held = (AgentCall *)(void *)call; /* its first member */
    AgentRun *run = held->run;
    TurnTool *tool = held->tool;
    AgentOutcome outcome;
    Arena arena;

    /* Not the agent's scratch: a step that follows may start the model, which uses that. */
    arena_init(&arena, LIMIT_AGENT_TURN_BYTES);
    agent_outcome(&outcome, result, &arena);
    call_give_back(held);
    run_end_tool(run, tool, &outcome);
    arena_deinit(&arena);
}

static Span progress_number(double value, char text[JSON_DOUBLE_SIZE])
{
    return span_make(text, json_format_double(value, text));
}

static void call_on_progress(Call *call, const CallProgress *progress)
{
    AgentCall *held = (AgentCall *)(void *)call;
    AgentRun *run = held->run;
    Agent *agent = run->item.agent;
    int64_t now_ms = io_loop_now_ms(agent->loop);
    char progress_text[JSON_DOUBLE_SIZE];
    char total_text[JSON_DOUBLE_SIZE];
    AgentTool told = {.id = held->tool->id,
                      .name = held->tool->name,
                      .elapsed_ms = now_ms - held->tool->began_ms,
                      .message = progress->message};

    if (held->told_ms != 0 && now_ms - held->told_ms < RUN_PROGRESS_MS) {
        return;
    }
    held->told_ms = now_ms;
    told.progress = progress_number(progress->progress, progress_text);
    if (progress->total > 0) {
        told.total = progress_number(progress->total, total_text);
    }
    turn_on_progress(held->tool, now_ms);
    agent_tell_tool_progress(agent, run->item.id, &told);
}

/* ---- orders ---- */

static void run_fail_tool(AgentRun *run, TurnTool *tool, Span words)
{
    AgentOutcome outcome = {.is_error = true, .text = words};

    run_end_tool(run, tool, &outcome);
}

void agent_run_start_tool(AgentRun *run, TurnTool *tool)
{
    Agent *agent = run->item.agent;
    AgentCall *held = call_take(run, tool);
    JsonDoc doc;

    if (held == NULL) {
        run_fail_tool(run, tool, SPAN("out of memory"));
        return;
    }
    /* The model's layer has seen that it is one object. */
    if (json_parse(&doc, &held->arena, tool->input.p, tool->input.n, NULL, NULL) != 0) {
        call_give_back(held);
        run_fail_tool(run, tool, SPAN("the arguments cannot be read"));
        return;
    }
    held->call.door = &call_door;
    held->call.asker = &agent->asker;
    held->call.verb = CALL_TOOL;
    held->call.target = tool->name;
    held->call.arguments = json_root(&doc);
    held->call.wants_progress = true;
    held->call.log_level = CALL_LOG_NONE;
    held->call.later = CALL_LATER_NEVER;
    router_advance(agent->router, io_loop_now_ms(agent->loop));
    router_dispatch(agent->router, &agent->quota, &held->call);
}

void agent_run_stop_tool(AgentRun *run, TurnTool *tool)
{
    AgentCall *held = tool->owner;

    if (held != NULL) {
        router_cancel(run->item.agent->router, &held->call);
        call_give_back(held);
    }
}
