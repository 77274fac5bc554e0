#include "dialect/mcp/server.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "dialect/mcp/server_internal.h"

/* Messages of one batch: more than anyone sends, and their answers are bounded, too. */
#define BATCH_MESSAGES 1024

/* For the index of a message (16 times its size at most) and for what is decoded from it; every
 * byte of it is decoded a few times at most. */
#define ARENA_PER_BYTE ((size_t)32)
#define ARENA_EXTRA    ((size_t)1024 * 1024)

static size_t arena_max(size_t max_message)
{
    size_t n;

    if (!mem_size_mul(max_message, ARENA_PER_BYTE, &n) || !mem_size_add(n, ARENA_EXTRA, &n)) {
        return SIZE_MAX;
    }
    return n;
}

static void set_defaults(McpServerConfig *config)
{
    if (config->max_request_bytes == 0) {
        config->max_request_bytes = LIMIT_MCP_REQUEST_BYTES;
    }
    if (config->max_response_bytes == 0) {
        config->max_response_bytes = LIMIT_MCP_RESPONSE_BYTES;
    }
    if (config->max_open == 0) {
        config->max_open = 2 * LIMIT_CALLS_IN_FLIGHT;
    }
    if (config->state_ttl_ms == 0) {
        config->state_ttl_ms = LIMIT_MCP_STATE_MS;
    }
}

int mcp_server_new(McpServer **ret, const McpServerConfig *config)
{
    McpServer *server = mem_alloc_array(1, sizeof(*server));
    int r;

    if (server == NULL) {
        return err_raise(-ENOMEM);
    }
    server->config = *config;
    set_defaults(&server->config);
    mcp_link_init(&server->events);
    mcp_link_init(&server->waiting);
    mcp_link_init(&server->listens);
    mcp_link_init(&server->batches);
    map_init(&server->subscribed, config->seed, LIMIT_MCP_SUBSCRIBED);
    map_init(&server->tasks, config->seed, LIMIT_MCP_TASKS_TOLD);
    arena_init(&server->arena, arena_max(server->config.max_request_bytes));
    arena_init(&server->scratch, arena_max(server->config.max_response_bytes));
    bytes_init(&server->text, server->config.max_request_bytes + LIMIT_MCP_STATE_BYTES);
    bytes_init(&server->server_info, server->config.max_response_bytes);
    r = mcp_requests_init(&server->requests, config->seed, server->config.max_open);
    if (r == 0) {
        r = err_fold(mcp_render_server_info(&server->server_info, config->identity));
    }
    if (r != 0) {
        (void)mcp_server_free(server);
        return err_pass(r);
    }
    *ret = server;
    return 0;
}

McpServer *mcp_server_free(McpServer *server)
{
    if (server == NULL) {
        return NULL;
    }
    mcp_unsubscribe_all(server);
    mcp_requests_deinit(&server->requests);
    while (!mcp_link_is_alone(&server->batches)) {
        (void)mcp_batch_free(MCP_LINK_OWNER(server->batches.next, McpBatch, link));
    }
    map_deinit(&server->subscribed);
    map_deinit(&server->tasks);
    arena_deinit(&server->arena);
    arena_deinit(&server->scratch);
    bytes_deinit(&server->text);
    bytes_deinit(&server->server_info);
    return mem_free(server);
}

int64_t mcp_expiry_ms(const McpServer *server)
{
    int64_t end;

    return __builtin_add_overflow(server->now_ms, server->config.state_ttl_ms, &end) ? INT64_MAX
                                                                                     : end;
}

/* Nobody wants its answer any more. */
static void request_take_back(McpServer *server, McpRequest *request)
{
    switch (request->state) {
    case MCP_REQUEST_RUNNING:
        request->state = MCP_REQUEST_CANCELLED;
        mcp_link_append(&server->events, &request->turn);
        break;
    case MCP_REQUEST_WAITING:
        mcp_unask(request, SPAN("the request was cancelled"));
        mcp_request_end(request);
        break;
    case MCP_REQUEST_LISTENING:
        mcp_listen_forget(request);
        break;
    case MCP_REQUEST_QUEUED: /* nobody has seen it yet */
        mcp_request_end(request);
        break;
    case MCP_REQUEST_CANCELLED:
    case MCP_REQUEST_FREE:
        break;
    }
}

static void take_back(McpServer *server, const JsonrpcMessage *message)
{
    McpRequest *request;
    JsonValue id;
    Span key;
    int r;

    if (message->params.node == NULL || !json_get(message->params, SPAN("requestId"), &id)) {
        return;
    }
    r = jsonrpc_id_key(id, &server->arena, &key);
    if (r != 0) {
        mcp_server_fail(server, r < 0 ? r : 0);
        return;
    }
    request = mcp_requests_find(&server->requests, key);
    if (request != NULL) {
        request_take_back(server, request);
    }
}

static void request_lose(McpServer *server, McpRequest *request, const void *stream)
{
    if (request->stream != stream) {
        return;
    }
    request->stream = NULL;
    if (request->revision >= MCP_FIRST_MODERN) {
        request_take_back(server, request);
    }
}

void mcp_server_gone(McpServer *server, const void *stream)
{
    McpLink *next;

    for (McpLink *at = server->requests.open.next; at != &server->requests.open; at = next) {
        next = at->next;
        request_lose(server, MCP_LINK_OWNER(at, McpRequest, link), stream);
    }
    for (McpLink *at = server->listens.next; at != &server->listens; at = next) {
        next = at->next;
        request_lose(server, MCP_LINK_OWNER(at, McpRequest, link), stream);
    }
    for (McpLink *at = server->batches.next; at != &server->batches; at = at->next) {
        McpBatch *batch = MCP_LINK_OWNER(at, McpBatch, link);

        batch->stream = batch->stream == stream ? NULL : batch->stream;
    }
}

bool mcp_server_reuse(McpServer *server)
{
    if (server->error != 0 || server->state != MCP_STATE_UNINITIALIZED ||
        server->requests.n_used > 0 || !mcp_link_is_alone(&server->batches)) {
        return false;
    }
    arena_reset(&server->arena, LIMIT_KEEP_BYTES);
    return true;
}

static void take_notification(McpServer *server, const JsonrpcMessage *message,
                              const McpBatch *batch)
{
    if (batch == NULL && server->from.head != NULL &&
        !mcp_check_notification_headers(server, message)) {
        return;
    }
    if (span_equals(message->method, SPAN("notifications/cancelled"))) {
        take_back(server, message);
    } else if (span_equals(message->method, SPAN("notifications/initialized"))) {
        /* In any other state it is no transition, and there is nobody to be told. */
        if (server->state == MCP_STATE_INITIALIZING) {
            server->state = MCP_STATE_READY;
            mcp_tell_changes(server);
        }
    }
}

static void take_message(McpServer *server, JsonValue value, McpBatch *batch)
{
    JsonrpcMessage message;
    int r = jsonrpc_read(&message, value, &server->arena);

    if (r != 0) {
        mcp_server_fail(server, err_fold(r));
        return;
    }
    switch (message.kind) {
    case JSONRPC_REQUEST:
        mcp_serve_request(server, &message, batch);
        break;
    case JSONRPC_NOTIFICATION:
        take_notification(server, &message, batch);
        break;
    case JSONRPC_RESPONSE:
        mcp_take_answer(server, &message);
        break;
    case JSONRPC_INVALID:
        mcp_answer_error(server, batch, jsonrpc_id_text(&message), MCP_ERROR_INVALID_REQUEST,
                         span_from_str(message.problem));
        break;
    }
}

static void refuse_unread(McpServer *server, int code, Span what)
{
    mcp_answer_error(server, NULL, SPAN_NULL, code, what);
}

/* A message that could not be read, but its id perhaps. */
static void refuse_looked(McpServer *server, const JsonLook *look, int code, Span what)
{
    mcp_answer_error(server, NULL, jsonrpc_look_id(look, &server->arena), code, what);
}

static void refuse_text(McpServer *server, Span message, int code, Span what)
{
    JsonLook look;

    json_look_init(&look);
    json_look_feed(&look, message);
    refuse_looked(server, &look, code, what);
}

static const Span words_too_long = SPAN_INIT("the message is longer than this server accepts");

static void take_batch(McpServer *server, JsonValue value)
{
    McpBatch *batch = NULL;
    int r;

    if (!server->has_session || server->revision != MCP_2025_03_26) {
        refuse_unread(server, MCP_ERROR_INVALID_REQUEST,
                      SPAN("batches exist in sessions of 2025-03-26 only"));
        return;
    }
    if (json_count(value) == 0 || json_count(value) > BATCH_MESSAGES) {
        refuse_unread(server, MCP_ERROR_INVALID_REQUEST,
                      SPAN("a batch holds at least one and at most 1024 messages"));
        return;
    }
    r = mcp_batch_new(server, value, &batch);
    if (r != 0) {
        mcp_server_fail(server, r);
        return;
    }
    for (JsonIter it = json_iter(value); json_iter_next(&it);) {
        mcp_batch_read(batch, it.value);
        take_message(server, it.value, batch);
    }
    batch->is_reading = false;
    mcp_batch_settle(server, batch);
}

static void take_text(McpServer *server, Span message)
{
    JsonDoc doc;
    Diag diag = DIAG_NULL;
    int r;

    arena_reset(&server->arena, LIMIT_KEEP_BYTES);
    r = json_parse(&doc, &server->arena, message.p, message.n, NULL, &diag);
    if (r < 0) {
        mcp_server_fail(server, r);
    } else if (r == JSON_E_SYNTAX) {
        refuse_text(server, message, MCP_ERROR_PARSE, span_from_str(diag.message));
    } else if (r != 0) {
        refuse_text(server, message, MCP_ERROR_INVALID_REQUEST, span_from_str(diag.message));
    } else if (json_kind(json_root(&doc)) == JSON_ARRAY) {
        take_batch(server, json_root(&doc));
    } else {
        take_message(server, json_root(&doc), NULL);
    }
}

int mcp_server_receive_from(McpServer *server, Span message, const McpFrom *from, int64_t now_ms)
{
    mcp_server_tell_time(server, now_ms);
    server->had_request = false;
    if (server->state == MCP_STATE_CLOSED || server->error != 0) {
        return err_pass(server->error);
    }
    server->from = *from;
    if (message.n > server->config.max_request_bytes) {
        refuse_text(server, message, MCP_ERROR_INVALID_REQUEST, words_too_long);
    } else {
        take_text(server, message);
    }
    server->from = (McpFrom){.stream = NULL};
    return err_pass(server->error);
}

int mcp_server_receive(McpServer *server, Span message, int64_t now_ms)
{
    return mcp_server_receive_from(server, message, &(McpFrom){.stream = NULL}, now_ms);
}

bool mcp_server_had_request(const McpServer *server)
{
    return server->had_request;
}

int mcp_server_receive_too_long(McpServer *server, const JsonLook *look, int64_t now_ms)
{
    mcp_server_tell_time(server, now_ms);
    if (server->state == MCP_STATE_CLOSED || server->error != 0) {
        return err_pass(server->error);
    }
    arena_reset(&server->arena, LIMIT_KEEP_BYTES);
    refuse_looked(server, look, MCP_ERROR_INVALID_REQUEST, words_too_long);
    return err_pass(server->error);
}

bool mcp_server_next(McpServer *server, McpEvent *ret)
{
    McpRequest *request;

    if (server->state == MCP_STATE_CLOSED || mcp_link_is_alone(&server->events)) {
        return false;
    }
    request = MCP_LINK_OWNER(server->events.next, McpRequest, turn);
    mcp_link_remove(&request->turn);
    if (request->state == MCP_REQUEST_QUEUED) {
        request->state = MCP_REQUEST_RUNNING;
        *ret = (McpEvent){.kind = MCP_EVENT_CALL, .call = &request->call};
    } else {
        *ret = (McpEvent){.kind = MCP_EVENT_CANCEL, .call = &request->call};
    }
    return true;
}

void mcp_server_drop(McpServer *server, Call *call)
{
    McpRequest *request = MCP_LINK_OWNER(call, McpRequest, call);

    assert(request->server == server);
    (void)server;
    if (request->state == MCP_REQUEST_WAITING) {
        mcp_unask(request, SPAN("the request was cancelled"));
    }
    mcp_request_end(request);
}

/* The first of those waiting ends without its answers. */
static void end_waiting(McpRequest *request, CallError error, Span why)
{
    mcp_unask(request, why);
    mcp_answer_call_error(request, error, why);
    mcp_request_end(request);
}

void mcp_server_shutdown(McpServer *server)
{
    if (server->state == MCP_STATE_SHUTTING || server->state == MCP_STATE_CLOSED) {
        return;
    }
    while (!mcp_link_is_alone(&server->listens)) {
        McpRequest *listen = MCP_LINK_OWNER(server->listens.next, McpRequest, link);
        McpOut out;
        int r;

        mcp_about_request(listen, true);
        r = mcp_out_begin(&out, server, NULL, true);
        if (r == 0) {
            r = mcp_render_listen_end(out.bytes, listen->id, server->config.identity);
        }
        mcp_server_fail(server, mcp_out_end(&out, r));
        mcp_listen_forget(listen);
    }
    server->state = MCP_STATE_SHUTTING;
    while (!mcp_link_is_alone(&server->waiting)) {
        end_waiting(MCP_LINK_OWNER(server->waiting.next, McpRequest, turn), CALL_ERROR_CANCELLED,
                    SPAN("the server is shutting down"));
    }
}

void mcp_server_close(McpServer *server)
{
    server->state = MCP_STATE_CLOSED;
    mcp_unsubscribe_all(server);
}

Call *mcp_server_first_call(McpServer *server)
{
    if (mcp_link_is_alone(&server->requests.open)) {
        return NULL;
    }
    return &MCP_LINK_OWNER(server->requests.open.next, McpRequest, link)->call;
}

size_t mcp_server_n_calls(const McpServer *server)
{
    return server->requests.n_open;
}

McpState mcp_server_state(const McpServer *server)
{
    return server->state;
}

int64_t mcp_server_next_deadline(const McpServer *server)
{
    if (server->state == MCP_STATE_CLOSED || mcp_link_is_alone(&server->waiting)) {
        return INT64_MAX;
    }
    return MCP_LINK_OWNER(server->waiting.next, McpRequest, turn)->deadline_ms;
}

void mcp_server_advance(McpServer *server, int64_t now_ms)
{
    mcp_server_tell_time(server, now_ms);
    while (server->state != MCP_STATE_CLOSED && !mcp_link_is_alone(&server->waiting) &&
           mcp_server_next_deadline(server) <= server->now_ms) {
        end_waiting(MCP_LINK_OWNER(server->waiting.next, McpRequest, turn), CALL_ERROR_TIMEOUT,
                    SPAN("the client did not answer in time"));
    }
}

int mcp_server_error(const McpServer *server)
{
    return server->error;
}
