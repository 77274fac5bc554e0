/* Lines of the shell: each becomes an item, or is answered at once. */
#include "app/agent_impl.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/limits.h"

/* ---- what is answered at once ---- */

static void serve_interrupt(Agent *agent, const AgentRequest *request)
{
    char data[64];
    size_t n = agent_items_stop(agent, request->request_id, TURN_END_INTERRUPTED, SPAN_NULL);
    int n_data = snprintf(data, sizeof(data), "{\"interrupted\":%zu}", n);

    agent_tell_done(agent, request->id, span_make(data, (size_t)n_data));
}

static void serve_approval(Agent *agent, const AgentRequest *request)
{
    char words[320];

    for (AgentItem *item = agent->first; item != NULL; item = item->next) {
        if (agent_run_approve(item, request->tool_id, request->approved) == 0) {
            agent_tell_done(agent, request->id, SPAN_NULL);
            return;
        }
    }
    (void)snprintf(words, sizeof(words), "No tool call waits for an approval: %.*s",
                   (int)request->tool_id.n, request->tool_id.p);
    agent_tell_error(agent, request->id, span_from_str(words));
}

/* ---- what takes its time ---- */

static int serve_submit(Agent *agent, const AgentRequest *request)
{
    bool is_run = request->kind == AGENT_KIND_USER_MESSAGE;
    /* What changes a conversation waits for those who work in it. */
    bool is_queued = is_run || request->kind == AGENT_KIND_CLEAR_HISTORY ||
                     request->kind == AGENT_KIND_DELETE_CONVERSATION;
    AgentItem *item = NULL;
    int r = is_run ? agent_run_new(&item, agent, request) : agent_ask_new(&item, agent, request);

    if (r == 0) {
        r = agent_item_submit(item, is_queued);
        if (r != 0) {
            (void)agent_item_free(item);
        }
    }
    return r;
}

static void serve_refuse(Agent *agent, Span id, Span words)
{
    agent_tell_error(agent, id, words);
    agent_server_end(&agent->server, id);
}

static void serve_request(Agent *agent, const AgentRequest *request)
{
    if (request->kind == AGENT_KIND_INTERRUPT) {
        serve_interrupt(agent, request);
        agent_server_end(&agent->server, request->id);
    } else if (request->kind == AGENT_KIND_TOOL_APPROVAL) {
        serve_approval(agent, request);
        agent_server_end(&agent->server, request->id);
    } else if (agent->life != AGENT_OPEN && request->kind != AGENT_KIND_GET_STATUS) {
        serve_refuse(agent, request->id, SPAN(AGENT_CUT_WORDS));
    } else if (serve_submit(agent, request) != 0) {
        serve_refuse(agent, request->id, SPAN("out of memory"));
    }
}

void agent_serve_line(Agent *agent, Span line)
{
    AgentRequest request;
    Diag diag = DIAG_NULL;
    Bytes *out;
    size_t n_before;
    int r = agent_wire_begin(agent->wire, &out);

    if (r != 0) {
        agent_give_up(agent, r < 0 ? r : -ENOBUFS);
        return;
    }
    n_before = out->n;
    arena_reset(&agent->arena, LIMIT_KEEP_BYTES);
    r = agent_server_receive(&agent->server, &request, &agent->arena, line, clock_now_ms(), out,
                             &diag);
    if (r == AGENT_SERVER_E_REFUSED) {
        /* The words have the byte, where there is one. */
        logsink_write(agent->log, LOGSINK_LEVEL_WARN, "agent", "a line is no request: %s",
                      diag.message);
    }
    if (r == AGENT_SERVER_E_REFUSED && out->n > n_before) {
        r = agent_wire_commit(agent->wire);
    } else {
        agent_wire_abort(agent->wire);
    }
    if (r == 0 && diag.code != AGENT_SERVER_E_REFUSED) {
        serve_request(agent, &request);
    } else if (r < 0) {
        logsink_write(agent->log, LOGSINK_LEVEL_ERROR, "agent", "a line was lost: out of memory");
    }
}

/* Nothing is left of it but its beginning, where the id may be. */
void agent_serve_too_long(Agent *agent, Span beginning)
{
    AgentRequest request = {.id = SPAN_NULL};
    Span head = span_make(beginning.p, beginning.n < 4096 ? beginning.n : 4096);

    logsink_write(agent->log, LOGSINK_LEVEL_WARN, "agent", "a line is longer than %d bytes",
                  LIMIT_AGENT_LINE_BYTES);
    arena_reset(&agent->arena, LIMIT_KEEP_BYTES);
    if (head.n > 0 && agent_request_read(&request, &agent->arena, head, NULL) >= 0 &&
        request.id.n > 0) {
        agent_tell_error(agent, request.id, SPAN("the message is longer than 10 MiB"));
    }
}
