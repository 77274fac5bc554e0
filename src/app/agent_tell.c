/* Responses: each is composed in the wire's own buffer. */
#include "app/agent_impl.h"

#include <errno.h>

#include "app/version.h"
#include "base/clock.h"
#include "base/limits.h"
#include "frame/ndjson.h"

static const Span tell_capabilities[] = {
    SPAN_INIT("streaming"),         SPAN_INIT("tools"),
    SPAN_INIT("attachments"),       SPAN_INIT("images"),
    SPAN_INIT("interrupt"),         SPAN_INIT("tool_progress"),
    SPAN_INIT("tool_approval"),     SPAN_INIT("list_conversations"),
    SPAN_INIT("load_conversation"), SPAN_INIT("delete_conversation"),
    SPAN_INIT("new_conversation"),
};

/* A line has been appended (r 0), or not. */
static int tell_commit(Agent *agent, int r)
{
    if (r != 0) {
        agent_wire_abort(agent->wire);
        return r;
    }
    return agent_wire_commit(agent->wire);
}

/* What it means if a line could not be sent. Too long is the caller's. */
static void tell_check(Agent *agent, int r)
{
    if (r != 0 && r != NDJSON_E_TOO_LONG) {
        agent_give_up(agent, r < 0 ? r : -ENOBUFS);
    }
}

void agent_tell_ready(Agent *agent)
{
    Bytes *out;
    int r = agent_wire_begin(agent->wire, &out);

    if (r == 0) {
        r = tell_commit(agent,
                        agent_write_ready(out, SPAN(AGENT_PROTOCOL_VERSION), tell_capabilities,
                                          TW_ARRAY_SIZE(tell_capabilities), clock_now_ms()));
    }
    tell_check(agent, r);
}

void agent_tell_token(Agent *agent, Span id, Span token)
{
    Bytes *out;
    int r = agent_wire_begin(agent->wire, &out);

    if (r == 0) {
        r = tell_commit(agent, agent_write_token(out, id, token, clock_now_ms()));
    }
    tell_check(agent, r);
}

void agent_tell_tool_use(Agent *agent, Span id, const AgentTool *tool)
{
    Bytes *out;
    int r = agent_wire_begin(agent->wire, &out);

    if (r == 0) {
        r = tell_commit(agent, agent_write_tool_use(out, id, tool, clock_now_ms()));
    }
    tell_check(agent, r);
}

void agent_tell_tool_result(Agent *agent, Span id, const AgentTool *tool)
{
    Bytes *out;
    int r = agent_wire_begin(agent->wire, &out);

    if (r == 0) {
        r = tell_commit(agent, agent_write_tool_result(out, id, tool, clock_now_ms()));
    }
    if (r == NDJSON_E_TOO_LONG) {
        AgentTool shorter = {
            .id = tool->id, .name = tool->name, .error = SPAN("the result is too long to be told")};

        r = agent_wire_begin(agent->wire, &out);
        if (r == 0) {
            r = tell_commit(agent, agent_write_tool_result(out, id, &shorter, clock_now_ms()));
        }
    }
    tell_check(agent, r);
}

void agent_tell_tool_progress(Agent *agent, Span id, const AgentTool *tool)
{
    Bytes *out;
    int r = agent_wire_begin(agent->wire, &out);

    if (r == 0) {
        r = tell_commit(agent, agent_write_tool_progress(out, id, tool, clock_now_ms()));
    }
    tell_check(agent, r);
}

bool agent_tell_done_if_short(Agent *agent, Span id, Span data)
{
    Bytes *out;
    int r = agent_wire_begin(agent->wire, &out);

    if (r == 0) {
        r = tell_commit(agent, agent_write_done(out, id, data, clock_now_ms()));
    }
    tell_check(agent, r);
    return r != NDJSON_E_TOO_LONG;
}

void agent_tell_done(Agent *agent, Span id, Span data)
{
    (void)agent_tell_done_if_short(agent, id, data);
}

void agent_tell_error(Agent *agent, Span id, Span words)
{
    Bytes *out;
    int r = agent_wire_begin(agent->wire, &out);

    if (r == 0) {
        r = tell_commit(agent, agent_write_error(out, id, words, clock_now_ms()));
    }
    tell_check(agent, r);
}

void agent_tell_status(Agent *agent, Span id, const AgentStatus *status)
{
    Bytes *out;
    int r = agent_wire_begin(agent->wire, &out);

    if (r == 0) {
        r = tell_commit(agent, agent_write_status(out, id, status, clock_now_ms()));
    }
    tell_check(agent, r);
}
