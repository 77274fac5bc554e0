#include "dialect/agent/message.h"

#include "base/error.h"
#include "base/limits.h"
#include "dialect/agent/message_internal.h"

/* What reading a response carries along. */
typedef struct ResponseRead {
    AgentResponse response;
    Arena *arena;
    JsonValue root;
    JsonValue data; /* an object; node NULL if there is none */
    Diag *diag;
} ResponseRead;

static int read_wrong(ResponseRead *read, const char *where, const char *name, const char *how)
{
    (void)diag_set(read->diag, AGENT_MESSAGE_E_FIELD, "Invalid response: %s%s %s", where, name,
                   how);
    diag_set_field(read->diag, "%s%s", where, name);
    return AGENT_MESSAGE_E_FIELD;
}

/* A text as it is meant, whatever it is: decoded if it is a string, else as JSON. */
static int read_any(ResponseRead *read, JsonValue value, Span *ret)
{
    int r;

    if (json_kind(value) != JSON_STRING) {
        *ret = json_span(value);
        return 0;
    }
    r = json_string(value, read->arena, ret);
    return r < 0 ? err_pass(r) : err_fold(r);
}

/* The same of a member; empty if there is none. */
static int read_any_member(ResponseRead *read, JsonValue object, const char *name,
                           const char *other, Span *ret)
{
    JsonValue value;

    *ret = SPAN_NULL;
    return agent_message_member(object, name, other, &value) ? read_any(read, value, ret) : 0;
}

static int read_type(ResponseRead *read)
{
    JsonValue value = JSON_VALUE_NULL;

    if (agent_message_member(read->root, "type", NULL, &value)) {
        for (size_t i = 0; i < AGENT_N_TYPES; i++) {
            if (json_string_equals(value, span_from_str(agent_type_name((AgentType)i)))) {
                read->response.type = (AgentType)i;
                return 0;
            }
        }
    }
    return agent_message_unknown(read->diag, "response type", value);
}

/* What responses of every type may have. */
static void read_common(ResponseRead *read)
{
    JsonValue value;

    if (agent_message_member(read->root, "timestamp", NULL, &value) &&
        json_int64(value, &read->response.timestamp) != 0) {
        read->response.timestamp = 0;
    }
    if (agent_message_member(read->root, "data", NULL, &value)) {
        read->response.data = json_span(value);
        if (json_kind(value) == JSON_OBJECT) {
            read->data = value;
        }
    }
}

static int read_ready(ResponseRead *read)
{
    JsonValue value;

    if (agent_message_member(read->root, "capabilities", NULL, &value) &&
        json_kind(value) == JSON_ARRAY) {
        read->response.capabilities = json_span(value);
    }
    return read_any_member(read, read->root, "version", NULL, &read->response.version);
}

static int read_token(ResponseRead *read)
{
    JsonValue value;

    if (!agent_message_member(read->root, "token", NULL, &value) ||
        json_kind(value) != JSON_STRING) {
        return read_wrong(read, "", "token", "must be a string");
    }
    return read_any(read, value, &read->response.token);
}

/* Words for people: the error, or the message inside one that is an object. */
static int read_error_words(ResponseRead *read, JsonValue object, Span *ret)
{
    JsonValue value;
    JsonValue inner;

    *ret = SPAN_NULL;
    if (agent_message_member(object, "error", "message", &value)) {
        if (json_kind(value) == JSON_OBJECT &&
            agent_message_member(value, "message", NULL, &inner)) {
            value = inner;
        }
        return read_any(read, value, ret);
    }
    return 0;
}

static int read_error(ResponseRead *read)
{
    int r = read_error_words(read, read->root, &read->response.error);

    if (r == 0 && read->response.error.n == 0) {
        read->response.error = SPAN("the agent failed, and did not say why");
    }
    return r < 0 ? err_pass(r) : r;
}

static int read_tool_use(ResponseRead *read)
{
    AgentTool *tool = &read->response.tool;
    JsonValue value;

    if (agent_message_member(read->data, "input", "tool_input", &value)) {
        tool->input = json_span(value);
    }
    if (agent_message_member(read->data, "approvalRequired", "approval_required", &value) &&
        !json_bool(value, &tool->approval_required)) {
        return read_wrong(read, "data.", "approvalRequired", "must be true or false");
    }
    return 0;
}

static int read_tool_result(ResponseRead *read)
{
    AgentTool *tool = &read->response.tool;
    JsonValue value;

    if (agent_message_member(read->data, "error", NULL, &value)) {
        read->response.is_tool_error = true;
        return read_error_words(read, read->data, &tool->error);
    }
    if (json_get(read->data, SPAN("result"), &value)) {
        tool->result = json_span(value);
    }
    return 0;
}

/* Milliseconds, or the seconds of other peers, whole or not. */
static void read_elapsed(ResponseRead *read)
{
    JsonValue value;
    double elapsed;

    if (agent_message_member(read->data, "elapsedMs", NULL, &value)) {
        (void)json_int64(value, &read->response.tool.elapsed_ms);
    } else if (agent_message_member(read->data, "elapsed_time_seconds", NULL, &value) &&
               json_double(value, &elapsed) == 0 && elapsed >= 0 && elapsed < 1e12) {
        read->response.tool.elapsed_ms = (int64_t)(elapsed * 1000);
    }
}

static int read_tool_progress(ResponseRead *read)
{
    AgentTool *tool = &read->response.tool;
    JsonValue value;

    read_elapsed(read);
    if (agent_message_member(read->data, "progress", NULL, &value) &&
        json_kind(value) == JSON_NUMBER) {
        tool->progress = json_span(value);
    }
    if (agent_message_member(read->data, "total", NULL, &value) &&
        json_kind(value) == JSON_NUMBER) {
        tool->total = json_span(value);
    }
    return read_any_member(read, read->data, "message", NULL, &tool->message);
}

static int read_tool(ResponseRead *read)
{
    AgentTool *tool = &read->response.tool;
    int r;

    if (read->data.node == NULL) {
        return read_wrong(read, "", "data", "must be an object");
    }
    r = read_any_member(read, read->data, "toolId", "tool_use_id", &tool->id);
    if (r == 0) {
        r = read_any_member(read, read->data, "toolName", "tool_name", &tool->name);
    }
    if (r != 0) {
        return err_pass(r);
    }
    if (tool->id.n == 0) {
        return read_wrong(read, "data.", "toolId", "is missing");
    }
    switch (read->response.type) {
    case AGENT_TYPE_TOOL_USE:
        return read_tool_use(read);
    case AGENT_TYPE_TOOL_RESULT:
        return read_tool_result(read);
    default:
        return read_tool_progress(read);
    }
}

static int read_status(ResponseRead *read)
{
    JsonValue value;

    if (read->data.node == NULL) {
        return read_wrong(read, "", "data", "must be an object");
    }
    if (agent_message_member(read->data, "conversationLength", NULL, &value)) {
        (void)json_uint64(value, &read->response.conversation_length);
    }
    if (agent_message_member(read->data, "uptime", NULL, &value)) {
        (void)json_int64(value, &read->response.uptime_ms);
    }
    return read_any_member(read, read->data, "state", NULL, &read->response.state);
}

static int read_members(ResponseRead *read)
{
    switch (read->response.type) {
    case AGENT_TYPE_READY:
        return read_ready(read);
    case AGENT_TYPE_TOKEN:
        return read_token(read);
    case AGENT_TYPE_ERROR:
        return read_error(read);
    case AGENT_TYPE_STATUS:
        return read_status(read);
    case AGENT_TYPE_TOOL_USE:
    case AGENT_TYPE_TOOL_RESULT:
    case AGENT_TYPE_TOOL_PROGRESS:
        return read_tool(read);
    default:
        return 0;
    }
}

int agent_response_read(AgentResponse *ret, Arena *arena, Span line, Diag *reterr_diag)
{
    ResponseRead read = {.arena = arena, .data = JSON_VALUE_NULL, .diag = reterr_diag};
    int r = agent_message_parse(&read.root, arena, line, reterr_diag);

    if (r == 0) {
        r = read_any_member(&read, read.root, "id", NULL, &read.response.id);
    }
    if (r == 0) {
        r = read_type(&read);
    }
    if (r == 0) {
        read_common(&read);
        r = read_members(&read);
    }
    if (r < 0) {
        return err_pass(r);
    }
    *ret = r == 0 ? read.response : (AgentResponse){.id = read.response.id};
    return r;
}
