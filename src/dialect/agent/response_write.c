#include "dialect/agent/message.h"

#include "dialect/agent/message_internal.h"

/* By type: all that stands before the id's text. */
static const Span heads[AGENT_N_TYPES] = {
    [AGENT_TYPE_READY] = SPAN_INIT("{\"type\":\"ready\""),
    [AGENT_TYPE_TOKEN] = SPAN_INIT("{\"type\":\"token\""),
    [AGENT_TYPE_TOOL_USE] = SPAN_INIT("{\"type\":\"tool_use\""),
    [AGENT_TYPE_TOOL_RESULT] = SPAN_INIT("{\"type\":\"tool_result\""),
    [AGENT_TYPE_DONE] = SPAN_INIT("{\"type\":\"done\""),
    [AGENT_TYPE_ERROR] = SPAN_INIT("{\"type\":\"error\""),
    [AGENT_TYPE_STATUS] = SPAN_INIT("{\"type\":\"status\""),
    [AGENT_TYPE_TOOL_PROGRESS] = SPAN_INIT("{\"type\":\"tool_progress\""),
};

static AgentOut begin(Bytes *out, AgentType type, Span id)
{
    AgentOut o = agent_out_begin(out);

    agent_out_span(&o, heads[type]);
    agent_out_member(&o, SPAN(",\"id\":"), id);
    return o;
}

static int finish(AgentOut *o, int64_t wall_ms)
{
    agent_out_span(o, SPAN(",\"timestamp\":"));
    agent_out_int(o, wall_ms);
    agent_out_span(o, SPAN("}"));
    return agent_out_finish(o);
}

int agent_write_ready(Bytes *out, Span version, const Span *capabilities, size_t n_capabilities,
                      int64_t wall_ms)
{
    AgentOut o = begin(out, AGENT_TYPE_READY, SPAN_NULL);

    agent_out_member(&o, SPAN(",\"version\":"), version);
    for (size_t i = 0; i < n_capabilities; i++) {
        agent_out_span(&o, i == 0 ? SPAN(",\"capabilities\":[") : SPAN(","));
        agent_out_string(&o, capabilities[i]);
    }
    agent_out_span(&o, n_capabilities > 0 ? SPAN("]") : SPAN_NULL);
    return finish(&o, wall_ms);
}

int agent_write_token(Bytes *out, Span id, Span token, int64_t wall_ms)
{
    AgentOut o = begin(out, AGENT_TYPE_TOKEN, id);

    agent_out_span(&o, SPAN(",\"token\":"));
    agent_out_string(&o, token);
    return finish(&o, wall_ms);
}

static AgentOut begin_tool(Bytes *out, AgentType type, Span id, const AgentTool *tool)
{
    AgentOut o = begin(out, type, id);

    agent_out_span(&o, SPAN(",\"data\":{\"toolId\":"));
    agent_out_string(&o, tool->id);
    agent_out_span(&o, SPAN(",\"toolName\":"));
    agent_out_string(&o, tool->name);
    return o;
}

int agent_write_tool_use(Bytes *out, Span id, const AgentTool *tool, int64_t wall_ms)
{
    AgentOut o = begin_tool(out, AGENT_TYPE_TOOL_USE, id, tool);

    agent_out_span(&o, SPAN(",\"input\":"));
    agent_out_json(&o, tool->input.n > 0 ? tool->input : SPAN("{}"));
    agent_out_span(&o, tool->approval_required ? SPAN(",\"approvalRequired\":true}") : SPAN("}"));
    return finish(&o, wall_ms);
}

int agent_write_tool_result(Bytes *out, Span id, const AgentTool *tool, int64_t wall_ms)
{
    AgentOut o = begin_tool(out, AGENT_TYPE_TOOL_RESULT, id, tool);

    if (tool->error.n > 0) {
        agent_out_member(&o, SPAN(",\"error\":"), tool->error);
    } else {
        agent_out_span(&o, SPAN(",\"result\":"));
        agent_out_json(&o, tool->result.n > 0 ? tool->result : SPAN("null"));
    }
    agent_out_span(&o, SPAN("}"));
    return finish(&o, wall_ms);
}

static void write_json(AgentOut *o, Span before, Span json)
{
    if (json.n > 0) {
        agent_out_span(o, before);
        agent_out_json(o, json);
    }
}

int agent_write_tool_progress(Bytes *out, Span id, const AgentTool *tool, int64_t wall_ms)
{
    AgentOut o = begin_tool(out, AGENT_TYPE_TOOL_PROGRESS, id, tool);

    agent_out_span(&o, SPAN(",\"elapsedMs\":"));
    agent_out_int(&o, tool->elapsed_ms);
    write_json(&o, SPAN(",\"progress\":"), tool->progress);
    write_json(&o, SPAN(",\"total\":"), tool->total);
    agent_out_member(&o, SPAN(",\"message\":"), tool->message);
    agent_out_span(&o, SPAN("}"));
    return finish(&o, wall_ms);
}

int agent_write_done(Bytes *out, Span id, Span data, int64_t wall_ms)
{
    AgentOut o = begin(out, AGENT_TYPE_DONE, id);

    write_json(&o, SPAN(",\"data\":"), data);
    return finish(&o, wall_ms);
}

int agent_write_error(Bytes *out, Span id, Span words, int64_t wall_ms)
{
    AgentOut o = begin(out, AGENT_TYPE_ERROR, id);

    agent_out_span(&o, SPAN(",\"error\":"));
    agent_out_string(&o, words);
    return finish(&o, wall_ms);
}

int agent_write_status(Bytes *out, Span id, const AgentStatus *status, int64_t wall_ms)
{
    AgentOut o = begin(out, AGENT_TYPE_STATUS, id);

    agent_out_span(&o, SPAN(",\"data\":{\"state\":\""));
    agent_out_span(&o, span_from_str(agent_state_name(status->state)));
    agent_out_span(&o, SPAN("\",\"conversationLength\":"));
    agent_out_int(&o, (int64_t)status->conversation_length);
    agent_out_span(&o, SPAN(",\"uptime\":"));
    agent_out_int(&o, status->uptime_ms);
    write_json(&o, SPAN(","), status->members);
    agent_out_span(&o, SPAN("}"));
    return finish(&o, wall_ms);
}
