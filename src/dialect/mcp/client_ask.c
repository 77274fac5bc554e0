/* What a server asks of us: requests in legacy eras, input_required results in the modern one. */
#include "dialect/mcp/client_internal.h"

#include "base/error.h"
#include "dialect/mcp/render.h"

/* Which question a method is; false for one that we do not know. */
static bool ask_kind_of(Span method, JsonValue params, CallAskKind *ret)
{
    JsonValue mode;

    if (span_equals(method, SPAN("sampling/createMessage"))) {
        *ret = CALL_ASK_SAMPLE;
    } else if (span_equals(method, SPAN("roots/list"))) {
        *ret = CALL_ASK_ROOTS;
    } else if (span_equals(method, SPAN("elicitation/create"))) {
        *ret = params.node != NULL && json_get(params, SPAN("mode"), &mode) &&
                       json_string_equals(mode, SPAN("url"))
                   ? CALL_ASK_URL
                   : CALL_ASK_FORM;
    } else {
        return false;
    }
    return true;
}

static JsonValue params_of(JsonValue message)
{
    JsonValue params;

    return json_get(message, SPAN("params"), &params) ? params : JSON_VALUE_NULL;
}

static void ask_announce(McpClient *client, const ClientAsk *ask, JsonValue params)
{
    McpClientEvent *event = client_event_push(client, MCP_CLIENT_ASK);
    const ClientRequest *request = ask->request == NULL && ask->with != 0
                                       ? client_request_by_id(client, ask->with)
                                       : ask->request;

    event->ask = ask->number;
    event->ask_kind = ask->kind;
    event->id = ask->request == NULL ? ask->with : ask->request->id;
    event->context = request == NULL ? NULL : request->context;
    event->text = ask->request == NULL ? SPAN_NULL : bytes_span(&ask->name);
    event->value = params;
}

int client_ask_legacy(McpClient *client, JsonValue message, JsonValue id, Span method)
{
    JsonValue params = params_of(message);
    const ClientRequest *with;
    CallAskKind kind;
    ClientAsk *ask;
    int r;

    if (span_equals(method, SPAN("ping"))) {
        return client_write_result(client, json_span(id), SPAN("{}"));
    }
    if (!ask_kind_of(method, params, &kind) || (client->config.can & (1u << kind)) == 0) {
        return client_write_error(client, json_span(id), MCP_ERROR_METHOD_NOT_FOUND,
                                  SPAN("Method not found"));
    }
    if (json_span(id).n > CLIENT_NAME_BYTES) {
        return client_write_error(client, json_span(id), MCP_ERROR_INVALID_REQUEST,
                                  SPAN("The id is too long"));
    }
    ask = client_ask_open(client, kind, NULL);
    if (ask == NULL) {
        return client_write_error(client, json_span(id), MCP_ERROR_INTERNAL,
                                  SPAN("Too many questions are open"));
    }
    r = bytes_append_span(&ask->name, json_span(id));
    if (r != 0) {
        client_ask_close(client, ask);
        return err_fold(r);
    }
    with = client_request_by_wire(client, client->came_with);
    ask->with = with == NULL || with->is_ours ? 0 : with->id;
    ask_announce(client, ask, params);
    return 0;
}

/* Ids are the same if their text is, and numbers and strings never are. (A server that spells one
 * id in two ways has only itself to blame.) */
void client_ask_cancelled(McpClient *client, JsonValue id)
{
    for (size_t i = 0; i < CLIENT_MAX_ASKS; i++) {
        ClientAsk *ask = &client->asks[i];

        if (ask->number != 0 && ask->request == NULL &&
            span_equals(bytes_span(&ask->name), json_span(id))) {
            client_event_push(client, MCP_CLIENT_UNASK)->ask = ask->number;
            client_ask_close(client, ask);
            return;
        }
    }
}

/* The request again, under a new number, with the state and the answers of this round. */
static void ask_repeat(McpClient *client, ClientRequest *request)
{
    int r = client_request_send_kept(client, request);

    for (size_t i = 0; i < CLIENT_MAX_ASKS; i++) {
        if (client->asks[i].number != 0 && client->asks[i].request == request) {
            client_ask_close(client, &client->asks[i]);
        }
    }
    bytes_clear_keep(&request->state, CLIENT_KEEP_BYTES);
    if (r != 0) {
        client_request_end(client, request, MCP_CLIENT_CODE_ENDED,
                           SPAN("the answers could not be sent"));
    }
}

/* One of inputRequests. NULL, or why the call must end. */
static const char *ask_take_input(McpClient *client, ClientRequest *request, JsonValue key,
                                  JsonValue input, int *r)
{
    JsonValue method;
    Span name = SPAN_NULL;
    Span text = SPAN_NULL;
    CallAskKind kind;
    ClientAsk *ask;

    *r = json_string_exact(key, &client->arena, &name);
    if (*r == 0 && json_get(input, SPAN("method"), &method)) {
        *r = json_string(method, &client->arena, &text);
    }
    if (*r < 0) {
        return "out of memory";
    }
    if (name.n > CLIENT_NAME_BYTES || !ask_kind_of(text, params_of(input), &kind)) {
        return "the server asks for input that is unknown";
    }
    if ((request->can & (1u << kind)) == 0) {
        return "the server asks for input that we cannot give";
    }
    ask = client_ask_open(client, kind, request);
    if (ask == NULL) {
        return "the server asks too many questions";
    }
    *r = bytes_append_span(&ask->name, name);
    return *r == 0 ? NULL : "out of memory";
}

static const char *ask_take_state(ClientRequest *request, JsonValue state, int *r)
{
    if (json_kind(state) != JSON_STRING) {
        return "the server's requestState is not a string";
    }
    *r = bytes_append_span(&request->state, json_span(state));
    return *r == 0 ? NULL : "the server's requestState is too long";
}

/* Everything that an input_required result holds, put into the request. NULL, or why not. */
static const char *ask_take_round(McpClient *client, ClientRequest *request, JsonValue result,
                                  int *r)
{
    const char *why = NULL;
    JsonValue inputs = JSON_VALUE_NULL;
    JsonValue state;
    bool has_state = json_get(result, SPAN("requestState"), &state);
    bool has_inputs = json_get(result, SPAN("inputRequests"), &inputs);

    if (!request->may_ask || (!has_inputs && !has_state)) {
        return "the server asks for input where it must not";
    }
    if (++request->n_rounds > client->config.max_rounds) {
        return "the server asked for input too many times";
    }
    if (has_state) {
        why = ask_take_state(request, state, r);
    }
    if (why == NULL && has_inputs && json_kind(inputs) != JSON_OBJECT) {
        why = "the server's inputRequests is not an object";
    }
    if (why == NULL && has_inputs) {
        for (JsonIter it = json_iter(inputs); why == NULL && json_iter_next(&it);) {
            why = ask_take_input(client, request, it.key, it.value, r);
        }
    }
    return why;
}

/* The questions of a round were numbered in the order of inputRequests. */
static void ask_announce_round(McpClient *client, ClientRequest *request, JsonValue result,
                               uint64_t first)
{
    JsonValue inputs;

    if (!json_get(result, SPAN("inputRequests"), &inputs)) {
        return;
    }
    for (JsonIter it = json_iter(inputs); json_iter_next(&it); first++) {
        const ClientAsk *ask = client_ask_find(client, first);

        if (ask != NULL && ask->request == request) {
            ask_announce(client, ask, params_of(it.value));
        }
    }
}

/* Silently: these questions have not been announced. */
static void ask_forget_round(McpClient *client, const ClientRequest *request)
{
    for (size_t i = 0; i < CLIENT_MAX_ASKS; i++) {
        if (client->asks[i].number != 0 && client->asks[i].request == request) {
            client_ask_close(client, &client->asks[i]);
        }
    }
}

int client_ask_modern(McpClient *client, ClientRequest *request, JsonValue result)
{
    uint64_t first = client->last_number + 1;
    const char *why;
    int r = 0;

    client_request_set_wire(client, request, 0);
    why = ask_take_round(client, request, result, &r);
    if (r == 0) {
        /* The questions need events of their own. */
        r = client_events_ensure(client, request->n_asks);
    }
    if (r < 0 || why != NULL) {
        ask_forget_round(client, request);
        client_request_end(client, request, MCP_ERROR_INTERNAL,
                           r < 0 ? SPAN("out of memory") : span_from_str(why));
        return r < 0 ? err_pass(r) : 0;
    }
    if (request->n_asks == 0) {
        ask_repeat(client, request);
        return 0;
    }
    ask_announce_round(client, request, result, first);
    client_deadlines_look(client);
    return 0;
}

/* The clocks that a legacy question had stopped start anew. */
static void ask_restart_clocks(McpClient *client)
{
    if (client->n_asks > 0) {
        return;
    }
    for (ClientRequest *request = client->first; request != NULL; request = request->next) {
        if (request->wire_id != 0) {
            client_deadline_start(client, request, client->now_ms);
        }
    }
    client_deadlines_look(client);
}

static int ask_store(McpClient *client, ClientAsk *ask, Span result)
{
    ClientRequest *request = ask->request;
    int r = bytes_append_span(&ask->answer, result);

    if (r < 0) {
        return err_pass(r);
    }
    if (r > 0) {
        client_request_end(client, request, MCP_ERROR_INTERNAL, SPAN("the answer is too long"));
        return 0;
    }
    ask->is_answered = true;
    if (--request->n_asks == 0) {
        ask_repeat(client, request);
    }
    return 0;
}

int mcp_client_answer(McpClient *client, uint64_t number, Span result, int64_t now_ms)
{
    ClientAsk *ask = client_ask_find(client, number);
    int r;

    client->now_ms = now_ms;
    if (ask == NULL) {
        return 0;
    }
    if (ask->request != NULL) {
        return ask_store(client, ask, result);
    }
    r = client_write_result(client, bytes_span(&ask->name), result);
    client_ask_close(client, ask);
    ask_restart_clocks(client);
    return r;
}

int mcp_client_refuse(McpClient *client, uint64_t number, int code, Span message, int64_t now_ms)
{
    ClientAsk *ask = client_ask_find(client, number);
    int r;

    client->now_ms = now_ms;
    if (ask == NULL) {
        return 0;
    }
    if (ask->request != NULL && (ask->kind == CALL_ASK_FORM || ask->kind == CALL_ASK_URL)) {
        return ask_store(client, ask, SPAN("{\"action\":\"decline\"}"));
    }
    if (ask->request != NULL) {
        client_request_end(client, ask->request, code,
                           SPAN("the server asked for input that was refused"));
        return 0;
    }
    r = client_write_error(client, bytes_span(&ask->name), code, message);
    client_ask_close(client, ask);
    ask_restart_clocks(client);
    return r;
}
