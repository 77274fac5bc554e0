#include "dialect/mcp/server_internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

/* Room for one error in a batch, besides its id. A call that is open ends with call_error_text at
 * the longest; one that is refused at once with a sentence of MCP_REFUSAL_BYTES, of which
 * MCP_NAME_BYTES may need six each. */
#define BATCH_ERROR_BYTES   ((size_t)192)
#define BATCH_REFUSAL_BYTES ((size_t)1024)

void mcp_server_fail(McpServer *server, int r)
{
    if (r == 0 || r == MCP_OUT_E_CLOSED || server->error != 0) {
        return;
    }
    server->error = r < 0 ? r : -ENOBUFS;
}

/* How far out may grow by the result of an open request. What is above is kept for the errors of
 * the others, each of which must have an answer. */
static size_t batch_max_result(const McpBatch *batch)
{
    size_t max = batch->out.max_bytes;
    size_t kept = batch->n_text + batch->n_unread * BATCH_REFUSAL_BYTES + batch->n_ids;

    if (batch->n_open > 1) {
        kept += (batch->n_open - 1) * BATCH_ERROR_BYTES;
    }
    return kept < max ? max - kept : 0;
}

static int batch_begin(McpOut *out, McpBatch *batch, bool is_result)
{
    int r = 0;

    out->bytes = &batch->out;
    out->start = batch->out.n;
    out->max_end = is_result ? batch_max_result(batch) : batch->out.max_bytes;
    if (batch->n_answers > 0) {
        r = bytes_append_byte(&batch->out, ',');
    }
    return r;
}

void mcp_about_request(const McpRequest *request, bool is_answer)
{
    request->server->about = (McpAbout){.stream = request->stream,
                                        .is_answer = is_answer,
                                        .is_modern = request->revision >= MCP_FIRST_MODERN};
}

void mcp_about_received(McpServer *server, const McpInbound *in, int code)
{
    server->about = (McpAbout){.stream = server->from.stream,
                               .is_answer = true,
                               .is_modern = in != NULL && in->revision >= MCP_FIRST_MODERN,
                               .code = code};
}

int mcp_out_begin(McpOut *out, McpServer *server, McpBatch *batch, bool is_result)
{
    const McpSink *sink = server->config.sink;
    McpAbout about = server->about;
    int r;

    server->about = (McpAbout){.stream = NULL};
    *out = (McpOut){.server = server, .batch = batch};
    if (server->state == MCP_STATE_CLOSED) {
        return MCP_OUT_E_CLOSED;
    }
    if (batch != NULL) {
        return batch_begin(out, batch, is_result);
    }
    if (sink->about != NULL) {
        sink->about(sink->context, &about);
    }
    r = sink->begin(sink->context, &out->bytes);
    if (r != 0) {
        out->bytes = NULL;
        return r > 0 ? MCP_OUT_E_FULL : err_pass(r);
    }
    out->start = out->bytes->n;
    if (__builtin_add_overflow(out->start, server->config.max_response_bytes, &out->max_end)) {
        out->max_end = SIZE_MAX;
    }
    return 0;
}

int mcp_out_end(McpOut *out, int r)
{
    const McpSink *sink = out->server->config.sink;

    if (out->bytes == NULL) {
        return r;
    }
    if (r == 0 &&
        (out->bytes->n > out->max_end || out->lent.span.n > out->max_end - out->bytes->n)) {
        r = MCP_OUT_E_FULL;
    }
    if (out->batch != NULL) {
        if (r == 0) {
            out->batch->n_answers++;
        } else {
            out->bytes->n = out->start;
        }
    } else if (r == 0 && out->lent.span.p != NULL) {
        r = sink->commit_lent(sink->context, out->lent);
    } else if (r == 0) {
        r = sink->commit(sink->context);
    } else {
        sink->abort(sink->context);
    }
    return r > 0 ? MCP_OUT_E_FULL : err_pass(r);
}

static void send_error(McpServer *server, McpBatch *batch, Span id, int code, Span message)
{
    McpOut out;
    int r = mcp_out_begin(&out, server, batch, false);

    if (r == 0) {
        r = mcp_render_error(out.bytes, id, code, message, SPAN_NULL);
    }
    mcp_server_fail(server, mcp_out_end(&out, r));
}

void mcp_answer_error(McpServer *server, McpBatch *batch, Span id, int code, Span message)
{
    server->had_request = true;
    mcp_about_received(server, NULL, code);
    send_error(server, batch, id, code, message);
}

void mcp_refuse(McpServer *server, const McpInbound *in, int code, const char *what)
{
    mcp_about_received(server, in, code);
    send_error(server, in->batch, jsonrpc_id_text(in->message), code, span_from_str(what));
}

void mcp_refuse_format(McpServer *server, const McpInbound *in, int code, const char *format, ...)
{
    char text[MCP_REFUSAL_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    mcp_refuse(server, in, code, text);
}

McpReply mcp_reply_to(const McpServer *server, const McpInbound *in)
{
    return (McpReply){.revision = in->revision,
                      .id = jsonrpc_id_text(in->message),
                      .identity = server->config.identity,
                      .server_info = bytes_span(&server->server_info)};
}

McpReply mcp_reply_to_request(const McpRequest *request)
{
    return (McpReply){.revision = request->revision,
                      .verb = request->call.verb,
                      .id = request->id,
                      .target = request->call.target,
                      .is_bare = request->is_bare,
                      .task =
                          request->call.verb == CALL_TASK_RESULT ? request->call.target : SPAN_NULL,
                      .identity = request->server->config.identity,
                      .server_info = bytes_span(&request->server->server_info)};
}

static int answer_result(McpRequest *request, const CallResult *result, bool is_result)
{
    McpServer *server = request->server;
    McpReply reply = mcp_reply_to_request(request);
    McpOut out;
    int r;

    mcp_about_request(request, true);
    if (result->kind == CALL_RESULT_ERROR && result->error == CALL_ERROR_NEEDS_LATER &&
        request->revision >= MCP_FIRST_MODERN) {
        server->about.code = MCP_ERROR_MISSING_CAPABILITY;
    }
    r = mcp_out_begin(&out, server, request->batch, is_result);
    if (request->batch == NULL && server->config.sink->commit_lent != NULL) {
        reply.lent = &out.lent;
    }
    if (r == 0) {
        r = mcp_render_result(out.bytes, &server->scratch, &reply, result);
        arena_reset(&server->scratch, LIMIT_KEEP_BYTES);
    }
    return mcp_out_end(&out, r);
}

void mcp_answer_call_error(McpRequest *request, CallError error, Span message)
{
    CallResult result = {.kind = CALL_RESULT_ERROR, .error = error, .message = message};
    int r = MCP_OUT_E_FULL;

    if (message.n > 0) {
        r = answer_result(request, &result, true);
    }
    if (r == MCP_OUT_E_FULL) {
        result.message = span_from_str(call_error_text(error));
        r = answer_result(request, &result, false);
    }
    mcp_server_fail(request->server, r);
}

void mcp_answer_too_large(McpRequest *request)
{
    const McpServerConfig *config = &request->server->config;
    char words[MCP_REFUSAL_BYTES];

    if (request->batch != NULL) {
        /* A sentence would take the room of the others' results. */
        mcp_answer_call_error(request, CALL_ERROR_TOO_LARGE, SPAN_NULL);
        return;
    }
    (void)snprintf(words, sizeof(words),
                   "the result is too large: a message to this client may have %zu bytes "
                   "(max_response_bytes, --max-response-bytes)",
                   config->max_response_bytes);
    mcp_answer_call_error(request, CALL_ERROR_TOO_LARGE,
                          span_from_str(config->too_large != NULL ? config->too_large : words));
}

void mcp_answer_result(McpRequest *request, const CallResult *result)
{
    int r = answer_result(request, result, true);

    if (r == MCP_OUT_E_FULL) {
        mcp_answer_too_large(request);
    } else {
        mcp_server_fail(request->server, r);
    }
}

void mcp_forsake(const McpServer *server, CallVerb verb, Span state)
{
    /* What a task asks waits for whoever asks for its result next. */
    if (state.n > 0 && verb != CALL_TASK_RESULT && server->config.forsakes != NULL) {
        server->config.forsakes(server->config.context, state);
    }
}

void mcp_request_end(McpRequest *request)
{
    McpServer *server = request->server;
    McpBatch *batch = request->batch;

    if (request->state == MCP_REQUEST_WAITING) {
        mcp_forsake(server, request->call.verb, bytes_span(&request->asked_state));
    } else if (request->state == MCP_REQUEST_QUEUED) {
        /* The answers have not been passed on. */
        mcp_forsake(server, request->call.verb, request->call.state);
    }
    if (batch != NULL) {
        batch->n_open--;
        batch->n_ids -= request->id.n;
    }
    mcp_requests_close(&server->requests, request);
    if (batch != NULL) {
        mcp_batch_settle(server, batch);
    }
}

int mcp_batch_new(McpServer *server, JsonValue messages, McpBatch **ret)
{
    size_t max = server->config.max_response_bytes;
    McpBatch *batch = mem_alloc_array(1, sizeof(*batch));

    if (batch == NULL) {
        return err_raise(-ENOMEM);
    }
    mcp_link_init(&batch->link);
    /* The closing bracket is part of the message, too. */
    bytes_init(&batch->out, max > 0 ? max - 1 : 0);
    batch->stream = server->from.stream;
    batch->n_unread = json_count(messages);
    batch->n_text = json_span(messages).n;
    batch->is_reading = true;
    if (bytes_append_byte(&batch->out, '[') != 0) {
        (void)mcp_batch_free(batch);
        return err_raise(-ENOMEM);
    }
    mcp_link_append(&server->batches, &batch->link);
    *ret = batch;
    return 0;
}

void mcp_batch_read(McpBatch *batch, JsonValue message)
{
    batch->n_unread--;
    batch->n_text -= json_span(message).n;
    if (batch->n_unread == 0) {
        batch->n_text = 0; /* brackets and commas */
    }
}

void mcp_batch_join(McpBatch *batch, McpRequest *request)
{
    request->batch = batch;
    batch->n_open++;
    batch->n_ids += request->id.n;
}

McpBatch *mcp_batch_free(McpBatch *batch)
{
    mcp_link_remove(&batch->link);
    bytes_deinit(&batch->out);
    return mem_free(batch);
}

void mcp_batch_settle(McpServer *server, McpBatch *batch)
{
    McpOut out;
    int r;

    if (batch->is_reading || batch->n_open > 0) {
        return;
    }
    if (batch->n_answers > 0) {
        server->about = (McpAbout){.stream = batch->stream, .is_answer = true};
        r = mcp_out_begin(&out, server, NULL, true);
        if (r == 0) {
            r = bytes_append_span(out.bytes, bytes_span(&batch->out));
        }
        if (r == 0) {
            r = bytes_append_byte(out.bytes, ']');
        }
        r = mcp_out_end(&out, r);
        if (r == MCP_OUT_E_FULL) {
            server->about = (McpAbout){.stream = batch->stream, .is_answer = true};
            send_error(server, NULL, SPAN_NULL, MCP_ERROR_INTERNAL,
                       SPAN("the answers of the batch are too large to be sent"));
        } else {
            mcp_server_fail(server, r);
        }
    }
    (void)mcp_batch_free(batch);
}
