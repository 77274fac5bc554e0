/* Events of an agent's session as events of the library. */
#include "api/tw_agent.h"

#include <string.h>
#include <toolwire/error.h>

#include "base/limits.h"

/* A copy with a NUL behind it; "" if there is none, or no memory. */
static const char *event_string(TwAgentClient *client, Span text)
{
    const char *copy = text.n > 0 ? arena_copy(&client->arena, text).p : NULL;

    return copy != NULL ? copy : "";
}

static const char *event_json(TwAgentClient *client, Span json)
{
    return json.n > 0 ? arena_copy(&client->arena, json).p : NULL;
}

static void event_set_text(TwAgentClient *client, TwAgentEvent *event, Span text)
{
    const char *copy = text.n > 0 ? arena_copy(&client->arena, text).p : NULL;

    event->text = copy != NULL ? copy : "";
    event->n_text = copy != NULL ? text.n : 0;
}

static void event_set_tool(TwAgentClient *client, TwAgentEvent *ret, const AgentResponse *response)
{
    const AgentTool *tool = &response->tool;

    ret->tool_id = event_string(client, tool->id);
    ret->tool_name = event_string(client, tool->name);
    ret->approval_required = tool->approval_required;
    ret->elapsed_ms = tool->elapsed_ms;
    ret->is_error = response->is_tool_error;
    ret->json = event_json(client, tool->input.n > 0 ? tool->input : tool->result);
    event_set_text(client, ret, response->is_tool_error ? tool->error : tool->message);
}

static void event_set_response(TwAgentClient *client, TwAgentEvent *ret,
                               const AgentResponse *response)
{
    static const TwAgentEventKind kinds[AGENT_N_TYPES] = {
        [AGENT_TYPE_READY] = TW_AGENT_READY,
        [AGENT_TYPE_TOKEN] = TW_AGENT_TOKEN,
        [AGENT_TYPE_TOOL_USE] = TW_AGENT_TOOL_USE,
        [AGENT_TYPE_TOOL_RESULT] = TW_AGENT_TOOL_RESULT,
        [AGENT_TYPE_DONE] = TW_AGENT_DONE,
        [AGENT_TYPE_ERROR] = TW_AGENT_ERROR,
        [AGENT_TYPE_STATUS] = TW_AGENT_STATUS,
        [AGENT_TYPE_TOOL_PROGRESS] = TW_AGENT_TOOL_PROGRESS,
    };

    ret->kind = kinds[response->type];
    switch (response->type) {
    case AGENT_TYPE_READY:
        ret->json = event_json(client, response->capabilities);
        event_set_text(client, ret, response->version);
        break;
    case AGENT_TYPE_TOKEN:
        event_set_text(client, ret, response->token);
        break;
    case AGENT_TYPE_ERROR:
        ret->error = TW_ERROR_REMOTE;
        event_set_text(client, ret, response->error);
        break;
    case AGENT_TYPE_TOOL_USE:
    case AGENT_TYPE_TOOL_RESULT:
    case AGENT_TYPE_TOOL_PROGRESS:
        event_set_tool(client, ret, response);
        break;
    default:
        ret->json = event_json(client, response->data);
        break;
    }
}

static void event_tell(TwAgentClient *client, const TwAgentEvent *event)
{
    if (client->options.event != NULL) {
        client->options.event(event, client->options.user);
    }
}

/* Is this the end that somebody waits for? */
static void event_look_at_wait(TwAgentClient *client, const AgentShellEvent *event, int error,
                               Span words)
{
    bool is_end = event->kind == AGENT_SHELL_END || event->kind == AGENT_SHELL_TIMEOUT ||
                  event->kind == AGENT_SHELL_LOST;

    if (client->waits_for_ready && event->kind == AGENT_SHELL_READY) {
        api_agent_finish(client, 0, SPAN_NULL);
    } else if (is_end && client->waiting[0] != '\0' &&
               span_equals(event->id, span_from_str(client->waiting))) {
        api_agent_finish(client, error, words);
    } else if (is_end && client->waits_for_none && agent_client_n_open(client->agent) == 0) {
        api_agent_finish(client, 0, SPAN_NULL);
    }
}

void api_agent_on_event(void *context, const AgentShellEvent *event, Span line)
{
    TwAgentClient *client = context;
    TwAgentEvent told = {.text = "", .id = "", .tool_id = "", .tool_name = ""};
    Span words = event->text;

    (void)line;
    arena_reset(&client->arena, LIMIT_KEEP_BYTES);
    switch (event->kind) {
    case AGENT_SHELL_TIMEOUT:
    case AGENT_SHELL_LOST:
        told.kind = TW_AGENT_ERROR;
        told.error = event->kind == AGENT_SHELL_LOST ? TW_ERROR_CLOSED : TW_ERROR_TIMEOUT;
        event_set_text(client, &told, words);
        break;
    case AGENT_SHELL_NOISE:
        told.kind = TW_AGENT_LOG;
        event_set_text(client, &told, words);
        break;
    default:
        event_set_response(client, &told, &event->response);
        words = event->response.error;
        break;
    }
    /* What is late, or about nobody, is told only if it is a complaint. */
    if (event->kind == AGENT_SHELL_UNASKED) {
        if (told.kind != TW_AGENT_ERROR) {
            return;
        }
        told.kind = TW_AGENT_LOG;
        told.error = 0;
    }
    told.id = event_string(client, event->id);
    event_tell(client, &told);
    event_look_at_wait(client, event, told.error, words);
}

void api_agent_on_ended(void *context, const AgentClientEnd *end)
{
    TwAgentClient *client = context;
    TwAgentEvent told = {.kind = TW_AGENT_ENDED,
                         .text = end->words,
                         .n_text = strlen(end->words),
                         .id = "",
                         .tool_id = "",
                         .tool_name = "",
                         .elapsed_ms = end->restart_in_ms};

    client->is_lost = end->restart_in_ms < 0;
    event_tell(client, &told);
    if (client->waits_for_ready || client->is_lost) {
        api_agent_finish(client, TW_ERROR_CLOSED, span_from_str(end->words));
    }
}
