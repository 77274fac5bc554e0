#include "dialect/mcp/client.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "dialect/mcp/client_internal.h"

static void client_set_defaults(McpClientConfig *config)
{
    if (config->max_message_bytes == 0) {
        config->max_message_bytes = LIMIT_MCP_RESPONSE_BYTES;
    }
    if (config->max_open == 0) {
        config->max_open = LIMIT_MCP_CLIENT_OPEN;
    }
    if (config->max_rounds == 0) {
        config->max_rounds = LIMIT_MCP_ROUNDS;
    }
    if (config->probe_timeout_ms == 0) {
        config->probe_timeout_ms = LIMIT_MCP_PROBE_MS;
    }
    if (config->request_timeout_ms == 0) {
        config->request_timeout_ms = LIMIT_MCP_CLIENT_REQUEST_MS;
    }
    /* Both are added to the clock. */
    if (config->request_timeout_ms > LIMIT_TIME_MS) {
        config->request_timeout_ms = LIMIT_TIME_MS;
    }
    if (config->probe_timeout_ms > config->request_timeout_ms) {
        config->probe_timeout_ms = config->request_timeout_ms;
    }
    if (config->legacy_revision >= MCP_FIRST_MODERN) {
        config->legacy_revision = MCP_NEWEST_LEGACY;
    }
}

int mcp_client_new(McpClient **ret, const McpClientConfig *config)
{
    McpClient *client = mem_alloc_array(1, sizeof(*client));

    if (client == NULL) {
        return err_raise(-ENOMEM);
    }
    client->config = *config;
    client_set_defaults(&client->config);
    client->earliest_ms = INT64_MAX;
    /* As json.h says: enough for the densest text. */
    arena_init(&client->arena, 16 * client->config.max_message_bytes + 65536);
    bytes_init(&client->meta, SIZE_MAX);
    for (size_t i = 0; i < CLIENT_MAX_ASKS; i++) {
        bytes_init(&client->asks[i].name, CLIENT_NAME_BYTES);
        bytes_init(&client->asks[i].answer, CLIENT_ANSWER_BYTES);
    }
    client->n_table = 1;
    while (client->n_table < client->config.max_open && client->n_table < SIZE_MAX / 2) {
        client->n_table *= 2;
    }
    client->table = mem_alloc_array(client->n_table, sizeof(*client->table));
    if (client->table == NULL || client_events_ensure(client, 0) != 0) {
        (void)mcp_client_free(client);
        return err_raise(-ENOMEM);
    }
    *ret = client;
    return 0;
}

static void client_free_list(ClientRequest *request)
{
    while (request != NULL) {
        ClientRequest *next = request->next;

        bytes_deinit(&request->kept);
        bytes_deinit(&request->state);
        mem_free(request);
        request = next;
    }
}

McpClient *mcp_client_free(McpClient *client)
{
    if (client == NULL) {
        return NULL;
    }
    client_free_list(client->first);
    client_free_list(client->unused);
    for (size_t i = 0; i < CLIENT_MAX_ASKS; i++) {
        bytes_deinit(&client->asks[i].name);
        bytes_deinit(&client->asks[i].answer);
    }
    mem_free(client->events);
    mem_free(client->table);
    arena_deinit(&client->arena);
    bytes_deinit(&client->meta);
    return mem_free(client);
}

bool mcp_client_next(McpClient *client, McpClientEvent *ret)
{
    while (client->events_at == client->n_events && client->in_batch) {
        client_receive_more(client);
    }
    if (client->events_at == client->n_events) {
        client->events_at = 0;
        client->n_events = 0;
        return false;
    }
    *ret = client->events[client->events_at++];
    return true;
}

int client_request_send(McpClient *client, ClientRequest *request, const ClientText *text)
{
    /* The first time the owner's number serves; a request that is repeated needs another. */
    uint64_t wire_id = request->was_sent ? ++client->last_number : request->id;
    uint64_t token = request->wants_progress ? wire_id : 0;
    int r = client_write_request(client, wire_id, text, request, token);

    if (r != 0) {
        return r;
    }
    request->was_sent = true;
    client_request_set_wire(client, request, wire_id);
    client_deadline_start(client, request, client->now_ms);
    return 0;
}

int client_request_send_kept(McpClient *client, ClientRequest *request)
{
    Span kept = bytes_span(&request->kept);
    const char *params = kept.p + request->n_method;
    const char *arguments = params + request->n_params;
    const char *meta = arguments + request->n_arguments;

    return client_request_send(
        client, request,
        &(ClientText){.method = span_make(kept.p, request->n_method),
                      .params = span_make(params, request->n_params),
                      .arguments = span_make(arguments, request->n_arguments),
                      .meta = span_make(meta, (size_t)(kept.p + kept.n - meta))});
}

/* Those that a modern server may answer with questions. */
static bool request_may_ask(Span method)
{
    return span_equals(method, SPAN("tools/call")) || span_equals(method, SPAN("prompts/get")) ||
           span_equals(method, SPAN("resources/read"));
}

int mcp_client_request(McpClient *client, Span method, Span params, bool wants_progress,
                       int64_t now_ms, McpRequestId *ret)
{
    return mcp_client_request_with(client, method, params,
                                   &(McpRequestOptions){.wants_progress = wants_progress}, now_ms,
                                   ret);
}

static void request_take_options(ClientRequest *request, const McpRequestOptions *options)
{
    request->wants_progress = options->wants_progress;
    request->context = options->context;
    if (options->speaks_for_itself) {
        request->can = options->can;
        request->log_level = options->log_level;
    }
    if (options->timeout_ms > 0) {
        request->timeout_ms =
            options->timeout_ms < LIMIT_TIME_MS ? options->timeout_ms : LIMIT_TIME_MS;
    }
}

int mcp_client_request_with(McpClient *client, Span method, Span params,
                            const McpRequestOptions *options, int64_t now_ms, McpRequestId *ret)
{
    bool is_ready = client->state == CLIENT_READY;
    ClientText text = {
        .method = method, .params = params, .arguments = options->arguments, .meta = options->meta};
    ClientRequest *request;
    int r;

    client->now_ms = now_ms;
    if (client->state == CLIENT_ENDED) {
        return MCP_CLIENT_E_ENDED;
    }
    if (client->n_open >= client->config.max_open) {
        return MCP_CLIENT_E_BUSY;
    }
    r = client_request_open(client, &request);
    if (r != 0) {
        return err_pass(r);
    }
    request_take_options(request, options);
    request->is_endless = span_equals(method, SPAN("subscriptions/listen"));
    request->may_ask = request_may_ask(method);
    if (!is_ready || (client_is_modern(client) && (request->may_ask || client->config.is_http))) {
        r = client_request_keep(request, &text);
    }
    if (r == 0 && is_ready) {
        r = client_request_send(client, request, &text);
    }
    if (r != 0) {
        client_request_close(client, request);
        return err_pass(r);
    }
    *ret = request->id;
    return 0;
}

void mcp_client_cancel(McpClient *client, McpRequestId id, Span reason)
{
    ClientRequest *request = client_request_by_id(client, id);

    if (request == NULL) {
        return;
    }
    if (request->wire_id != 0) {
        /* If it cannot be said, the answer is dropped all the same. */
        (void)client_write_cancelled(client, request->wire_id, reason);
    }
    client_request_end(client, request, MCP_CLIENT_CODE_CANCELLED,
                       SPAN("the request was cancelled"));
}

int mcp_client_notify(McpClient *client, Span method, Span params)
{
    if (client->state == CLIENT_ENDED) {
        return MCP_CLIENT_E_ENDED;
    }
    if (client->state != CLIENT_READY || client_is_modern(client)) {
        return 0;
    }
    return client_write_notification(client, method, params);
}

bool mcp_client_is_ready(const McpClient *client)
{
    return client->state == CLIENT_READY;
}

McpRevision mcp_client_revision(const McpClient *client)
{
    return client->revision;
}

uint64_t mcp_client_n_skipped(const McpClient *client)
{
    return client->n_skipped;
}
