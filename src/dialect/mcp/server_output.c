#include "dialect/mcp/server_internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

/* Room for one error in a batch, besides its id: our longest sentence has 300 bytes. */
#define BATCH_ERROR_BYTES ((size_t)512)

/* A sentence that names a field or a method; longer names are cut. */
#define REFUSAL_BYTES 320

void mcp_server_fail(McpServer *server, int r)
{
    if (r == 0 || r == MCP_OUT_E_CLOSED || server->error != 0) {
        return;
    }
    server->error = r < 0 ? r : -ENOBUFS;
}

static int batch_begin(McpOut *out, McpBatch *batch, bool is_result)
{
    int r = 0;

    out->bytes = &batch->out;
    out->start = batch->out.n;
    out->max_end = is_result ? batch->max_result : batch->out.max_bytes;
    if (batch->n_answers > 0) {
        r = bytes_append_byte(&batch->out, ',');
    }
    return r;
}

int mcp_out_begin(McpOut *out, McpServer *server, McpBatch *batch, bool is_result)
{
    const McpSink *sink = server->config.sink;
    int r;

    *out = (McpOut){.server = server, .batch = batch};
    if (server->state == MCP_STATE_CLOSED) {
        return MCP_OUT_E_CLOSED;
    }
    if (batch != NULL) {
        return batch_begin(out, batch, is_result);
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
    if (r == 0 && out->bytes->n > out->max_end) {
        r = MCP_OUT_E_FULL;
    }
    if (out->batch != NULL) {
        if (r == 0) {
            out->batch->n_answers++;
        } else {
            out->bytes->n = out->start;
        }
    } else if (r == 0) {
        r = sink->commit(sink->context);
    } else {
        sink->abort(sink->context);
    }
    return r > 0 ? MCP_OUT_E_FULL : err_pass(r);
}

void mcp_answer_error(McpServer *server, McpBatch *batch, Span id, int code, Span message)
{
    McpOut out;
    int r = mcp_out_begin(&out, server, batch, false);

    if (r == 0) {
        r = mcp_render_error(out.bytes, id, code, message, SPAN_NULL);
    }
    mcp_server_fail(server, mcp_out_end(&out, r));
}

void mcp_refuse(McpServer *server, const McpInbound *in, int code, const char *what)
{
    mcp_answer_error(server, in->batch, jsonrpc_id_text(in->message), code, span_from_str(what));
}

void mcp_refuse_format(McpServer *server, const McpInbound *in, int code, const char *format, ...)
{
    char text[REFUSAL_BYTES];
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
                      .identity = request->server->config.identity,
                      .server_info = bytes_span(&request->server->server_info)};
}

static int answer_result(McpRequest *request, const CallResult *result, bool is_result)
{
    McpServer *server = request->server;
    McpReply reply = mcp_reply_to_request(request);
    McpOut out;
    int r = mcp_out_begin(&out, server, request->batch, is_result);

    if (r == 0) {
        r = mcp_render_result(out.bytes, &server->scratch, &reply, result);
        arena_reset(&server->scratch, LIMIT_KEEP_BYTES);
    }
    return mcp_out_end(&out, r);
}

void mcp_answer_call_error(McpRequest *request, CallError error, Span message)
{
    CallResult result = {.kind = CALL_RESULT_ERROR, .error = error, .message = message};

    if (message.n == 0) {
        result.message = span_from_str(call_error_text(error));
    }
    mcp_server_fail(request->server, answer_result(request, &result, false));
}

void mcp_answer_result(McpRequest *request, const CallResult *result)
{
    int r = answer_result(request, result, result->kind != CALL_RESULT_ERROR);

    if (r == MCP_OUT_E_FULL) {
        mcp_answer_call_error(request, CALL_ERROR_TOO_LARGE, SPAN_NULL);
    } else {
        mcp_server_fail(request->server, r);
    }
}

void mcp_request_end(McpRequest *request)
{
    McpServer *server = request->server;
    McpBatch *batch = request->batch;

    mcp_requests_close(&server->requests, request);
    if (batch != NULL) {
        batch->n_open--;
        mcp_batch_settle(server, batch);
    }
}

int mcp_batch_new(McpServer *server, size_t n, size_t n_messages, McpBatch **ret)
{
    size_t max = server->config.max_response_bytes;
    size_t kept = n + n_messages * BATCH_ERROR_BYTES;
    McpBatch *batch = mem_alloc_array(1, sizeof(*batch));

    if (batch == NULL) {
        return err_raise(-ENOMEM);
    }
    mcp_link_init(&batch->link);
    /* The closing bracket is part of the message, too. */
    bytes_init(&batch->out, max > 0 ? max - 1 : 0);
    batch->max_result = kept < max ? max - kept : 0;
    batch->is_reading = true;
    if (bytes_append_byte(&batch->out, '[') != 0) {
        (void)mcp_batch_free(batch);
        return err_raise(-ENOMEM);
    }
    mcp_link_append(&server->batches, &batch->link);
    *ret = batch;
    return 0;
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
        r = mcp_out_begin(&out, server, NULL, true);
        if (r == 0) {
            r = bytes_append_span(out.bytes, bytes_span(&batch->out));
        }
        if (r == 0) {
            r = bytes_append_byte(out.bytes, ']');
        }
        mcp_server_fail(server, mcp_out_end(&out, r));
    }
    (void)mcp_batch_free(batch);
}
