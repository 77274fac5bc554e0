/* Requests by number, questions, events, deadlines: all that a session holds, and its bounds. */
#include "dialect/mcp/client_internal.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

int client_events_ensure(McpClient *client, size_t extra)
{
    size_t wanted = client->n_open + client->n_asks + CLIENT_SPARE_EVENTS + extra;
    size_t n = client->n_events - client->events_at;
    McpClientEvent *grown;

    if (client->events_at > 0) {
        memmove(client->events, client->events + client->events_at, n * sizeof(*client->events));
        client->events_at = 0;
        client->n_events = n;
    }
    if (client->events_cap - n >= wanted) {
        return 0;
    }
    /* Doubling, so that a thousand requests do not cost a thousand copies. */
    wanted = 2 * (n + wanted);
    grown = mem_realloc(client->events, wanted * sizeof(*grown));
    if (grown == NULL) {
        return err_raise(-ENOMEM);
    }
    client->events = grown;
    client->events_cap = wanted;
    return 0;
}

McpClientEvent *client_event_push(McpClient *client, McpClientEventKind kind)
{
    McpClientEvent *event = &client->events[client->n_events++];

    assert(client->n_events <= client->events_cap);
    *event = (McpClientEvent){.kind = kind, .revision = client->revision};
    return event;
}

int client_request_open(McpClient *client, ClientRequest **ret)
{
    ClientRequest *request = client->unused;
    int r = client_events_ensure(client, 1);

    if (r != 0) {
        return r;
    }
    if (request != NULL) {
        client->unused = request->next;
    } else {
        request = mem_alloc_array(1, sizeof(*request));
        if (request == NULL) {
            return err_raise(-ENOMEM);
        }
        bytes_init(&request->kept, SIZE_MAX);
        bytes_init(&request->state, CLIENT_STATE_BYTES);
    }
    request->id = ++client->last_number;
    request->next = NULL;
    request->prev = client->last;
    if (client->last != NULL) {
        client->last->next = request;
    } else {
        client->first = request;
    }
    client->last = request;
    client->n_open++;
    request->can = client->config.can;
    request->log_level = client->config.log_level;
    request->timeout_ms = client->config.request_timeout_ms;
    request->deadline_ms = INT64_MAX;
    request->hard_deadline_ms = INT64_MAX;
    *ret = request;
    return 0;
}

static ClientRequest **table_chain(const McpClient *client, uint64_t wire_id)
{
    return &client->table[wire_id & (client->n_table - 1)].first;
}

void client_request_set_wire(McpClient *client, ClientRequest *request, uint64_t wire_id)
{
    ClientRequest **at;

    if (request->wire_id != 0) {
        at = table_chain(client, request->wire_id);
        while (*at != request) {
            at = &(*at)->in_chain;
        }
        *at = request->in_chain;
    }
    request->wire_id = wire_id;
    if (wire_id != 0) {
        at = table_chain(client, wire_id);
        request->in_chain = *at;
        *at = request;
    }
}

ClientRequest *client_request_by_wire(const McpClient *client, uint64_t wire_id)
{
    ClientRequest *request = *table_chain(client, wire_id);

    while (request != NULL && request->wire_id != wire_id) {
        request = request->in_chain;
    }
    return wire_id == 0 ? NULL : request;
}

/* Only cancelling needs it, so a walk will do. */
ClientRequest *client_request_by_id(const McpClient *client, McpRequestId id)
{
    ClientRequest *request = client->first;

    while (request != NULL && (request->id != id || request->is_ours)) {
        request = request->next;
    }
    return request;
}

void client_request_close(McpClient *client, ClientRequest *request)
{
    client_request_set_wire(client, request, 0);
    if (client->refresh == request) {
        client->refresh = NULL;
    }
    if (request->prev != NULL) {
        request->prev->next = request->next;
    } else {
        client->first = request->next;
    }
    if (request->next != NULL) {
        request->next->prev = request->prev;
    } else {
        client->last = request->prev;
    }
    client->n_open--;
    bytes_clear_keep(&request->kept, CLIENT_KEEP_BYTES);
    bytes_clear_keep(&request->state, CLIENT_KEEP_BYTES);
    *request =
        (ClientRequest){.kept = request->kept, .state = request->state, .next = client->unused};
    client->unused = request;
}

void client_request_end(McpClient *client, ClientRequest *request, int code, Span text)
{
    McpClientEvent *event;

    for (size_t i = 0; i < CLIENT_MAX_ASKS; i++) {
        ClientAsk *ask = &client->asks[i];

        if (ask->number == 0 || ask->request != request) {
            continue;
        }
        if (!ask->is_answered) {
            client_event_push(client, MCP_CLIENT_UNASK)->ask = ask->number;
        }
        client_ask_close(client, ask);
    }
    if (!request->is_ours) {
        event = client_event_push(client, MCP_CLIENT_ERROR);
        event->id = request->id;
        event->context = request->context;
        event->code = code;
        event->is_ours = true;
        event->text = text;
    }
    client_request_close(client, request);
}

int client_request_keep(ClientRequest *request, const ClientText *text)
{
    int r = bytes_append_span(&request->kept, text->method);

    r = r != 0 ? r : bytes_append_span(&request->kept, text->params);
    r = r != 0 ? r : bytes_append_span(&request->kept, text->arguments);
    r = r != 0 ? r : bytes_append_span(&request->kept, text->meta);
    request->n_method = text->method.n;
    request->n_params = text->params.n;
    request->n_arguments = text->arguments.n;
    return err_fold(r);
}

/* When a request is too old, as things stand. A question to the owner stops the clock: a person
 * reads. A legacy server does not say which of our requests its question belongs to, so there it
 * stops all of them. */
static int64_t deadline_of(const McpClient *client, const ClientRequest *request)
{
    bool waits = request->n_asks > 0 || (!client_is_modern(client) && client->n_asks > 0);
    int64_t soft_ms = waits ? INT64_MAX : request->deadline_ms;

    return soft_ms < request->hard_deadline_ms ? soft_ms : request->hard_deadline_ms;
}

void client_deadline_start(McpClient *client, ClientRequest *request, int64_t now_ms)
{
    int64_t at_most_ms =
        request->timeout_ms > LIMIT_CALL_MAX_MS ? request->timeout_ms : LIMIT_CALL_MAX_MS;

    if (request->is_endless) {
        return;
    }
    request->deadline_ms = now_ms + request->timeout_ms;
    if (request->hard_deadline_ms == INT64_MAX) {
        request->hard_deadline_ms = now_ms + at_most_ms;
    }
    if (request->deadline_ms < client->earliest_ms) {
        client->earliest_ms = request->deadline_ms;
    }
}

/* Looks for the next deadline anew: after questions came or went, and when one has passed. */
void client_deadlines_look(McpClient *client)
{
    client->earliest_ms = INT64_MAX;
    for (ClientRequest *request = client->first; request != NULL; request = request->next) {
        int64_t at_ms = deadline_of(client, request);

        if (at_ms < client->earliest_ms) {
            client->earliest_ms = at_ms;
        }
    }
}

int64_t mcp_client_next_deadline(const McpClient *client)
{
    int64_t at_ms = client->n_open > 0 ? client->earliest_ms : INT64_MAX;

    if (client->handshake_id != 0 && client->handshake_deadline_ms < at_ms) {
        at_ms = client->handshake_deadline_ms;
    }
    return at_ms;
}

void mcp_client_advance(McpClient *client, int64_t now_ms)
{
    ClientRequest *next;

    client->now_ms = now_ms;
    if (client->handshake_id != 0 && now_ms >= client->handshake_deadline_ms) {
        client_handshake_expire(client);
    }
    if (now_ms < client->earliest_ms) {
        return;
    }
    for (ClientRequest *request = client->first; request != NULL; request = next) {
        next = request->next;
        if (now_ms >= deadline_of(client, request)) {
            if (request->wire_id != 0) {
                (void)client_write_cancelled(client, request->wire_id, SPAN("timed out"));
            }
            client_request_end(client, request, MCP_CLIENT_CODE_TIMEOUT,
                               SPAN("the server did not answer in time"));
        }
    }
    client_deadlines_look(client);
}

ClientAsk *client_ask_open(McpClient *client, CallAskKind kind, ClientRequest *request)
{
    for (size_t i = 0; i < CLIENT_MAX_ASKS; i++) {
        ClientAsk *ask = &client->asks[i];

        if (ask->number == 0) {
            ask->number = ++client->last_number;
            ask->kind = kind;
            ask->request = request;
            ask->with = 0;
            ask->is_answered = false;
            client->n_asks++;
            if (request != NULL) {
                request->n_asks++;
            }
            return ask;
        }
    }
    return NULL;
}

void client_ask_close(McpClient *client, ClientAsk *ask)
{
    if (ask->request != NULL && !ask->is_answered) {
        ask->request->n_asks--;
    }
    bytes_clear_keep(&ask->name, CLIENT_KEEP_BYTES);
    bytes_clear_keep(&ask->answer, CLIENT_KEEP_BYTES);
    ask->number = 0;
    ask->request = NULL;
    client->n_asks--;
}

ClientAsk *client_ask_find(McpClient *client, uint64_t number)
{
    for (size_t i = 0; i < CLIENT_MAX_ASKS; i++) {
        if (number != 0 && client->asks[i].number == number && !client->asks[i].is_answered) {
            return &client->asks[i];
        }
    }
    return NULL;
}
