#include "dialect/callsock/message.h"

#include "base/compiler.h"
#include "base/error.h"
#include "dialect/callsock/message_internal.h"

/* The names of a result's members, brackets and commas. */
#define RESULT_OVERHEAD ((size_t)96)

/* What Python calls each CallError; those of prompts, resources and lists do not come here. */
static const char *const error_types[CALL_N_ERRORS] = {
    [CALL_ERROR_NONE] = "RuntimeError",
    [CALL_ERROR_UNKNOWN_TOOL] = CALLSOCK_TYPE_NOT_FOUND,
    [CALL_ERROR_UNKNOWN_PROMPT] = "LookupError",
    [CALL_ERROR_UNKNOWN_RESOURCE] = "LookupError",
    [CALL_ERROR_INVALID_ARGUMENTS] = CALLSOCK_TYPE_VALUE,
    [CALL_ERROR_INVALID_CURSOR] = CALLSOCK_TYPE_VALUE,
    [CALL_ERROR_RATE] = "RuntimeError",
    [CALL_ERROR_BUSY] = "RuntimeError",
    [CALL_ERROR_TIMEOUT] = "TimeoutError",
    [CALL_ERROR_CANCELLED] = "CancelledError",
    [CALL_ERROR_UNAVAILABLE] = "ConnectionError",
    [CALL_ERROR_BAD_RESULT] = "RuntimeError",
    [CALL_ERROR_TOO_LARGE] = CALLSOCK_TYPE_SIZE,
    [CALL_ERROR_CANNOT_ASK] = "RuntimeError",
    [CALL_ERROR_NEEDS_LATER] = "RuntimeError",
    [CALL_ERROR_NEVER_LATER] = "RuntimeError",
    [CALL_ERROR_UNKNOWN_TASK] = "LookupError",
    [CALL_ERROR_TASK_OVER] = "RuntimeError",
    [CALL_ERROR_DROPPED] = "LookupError",
    [CALL_ERROR_INTERNAL] = "RuntimeError",
    [CALL_ERROR_RAISED] = "RuntimeError", /* unless it says its own */
    [CALL_ERROR_OWN] = "RuntimeError",
};

/* The string that a message is; peers know one of them with a capital. */
static void write_message(CallsockOut *o, const CallResult *result)
{
    Span message = result->message;

    if (message.n == 0) {
        message = span_from_str(call_error_text(result->error));
    }
    callsock_out_string(o, message);
    if (o->r == 0 && result->error == CALL_ERROR_UNKNOWN_TOOL &&
        span_starts_with(message, SPAN("unknown tool"))) {
        o->bytes->data[o->start + sizeof("{\"error\":{\"message\":\"") - 1] = 'U';
    }
}

static void write_error(CallsockOut *o, const CallResult *result)
{
    Span type = span_from_str(error_types[result->error]);

    if (result->error_type.n > 0 &&
        (result->kind == CALL_RESULT_TOOL || result->error == CALL_ERROR_RAISED)) {
        type = result->error_type;
    }
    callsock_out_span(o, SPAN("{\"error\":{\"message\":"));
    write_message(o, result);
    callsock_out_span(o, SPAN(",\"type\":"));
    callsock_out_string(o, type);
    callsock_out_span(o, result->is_interrupted ? SPAN(",\"" CALLSOCK_ERROR_INTERRUPTED "\":true}}")
                                                : SPAN("}}"));
}

static void write_content(CallsockOut *o, const CallResult *result, size_t n_content)
{
    if (n_content > 0) {
        for (size_t i = 0; i < result->n_pieces; i++) {
            callsock_out_large(o, result->pieces[i]);
        }
        return;
    }
    /* At least one element, says the contract. */
    callsock_out_span(o, SPAN("{\"type\":\"text\",\"text\":"));
    callsock_out_string(o, result->structured);
    callsock_out_span(o, SPAN("}"));
}

/* A member that may be absent. */
static void write_part(CallsockOut *o, Span before, Span json)
{
    if (json.n > 0) {
        callsock_out_span(o, before);
        callsock_out_large(o, json);
    }
}

static void write_result(CallsockOut *o, const CallResult *result)
{
    size_t n_content = 0;

    for (size_t i = 0; i < result->n_pieces; i++) {
        n_content += result->pieces[i].n;
    }
    callsock_out_reserve(o, n_content + result->structured.n + result->members.n + result->meta.n +
                                RESULT_OVERHEAD);
    callsock_out_span(o, SPAN("{\"result\":{\"content\":["));
    write_content(o, result, n_content);
    callsock_out_span(o,
                      result->is_error ? SPAN("],\"isError\":true") : SPAN("],\"isError\":false"));
    write_part(o, SPAN(",\"structuredContent\":"), result->structured);
    write_part(o, SPAN(","), result->members);
    write_part(o, SPAN(",\"_meta\":"), result->meta);
    callsock_out_span(o, SPAN("}}"));
}

/* A command that failed, whose end the contract answers with an error. A result in which the tool
 * says itself that it failed is none of these. */
static bool is_failed_program(const CallResult *result)
{
    return result->kind == CALL_RESULT_TOOL && result->is_error && result->error_type.n > 0;
}

int callsock_response_write(Bytes *out, const CallResult *result)
{
    return callsock_response_write_lent(out, result, NULL);
}

int callsock_response_write_lent(Bytes *out, const CallResult *result, BytesLent *ret_lent)
{
    CallsockOut o = callsock_out_begin(out, ret_lent);
    CallResult none = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_INTERNAL};

    if (result->kind == CALL_RESULT_ERROR || is_failed_program(result)) {
        write_error(&o, result);
    } else if (result->kind == CALL_RESULT_TOOL) {
        write_result(&o, result);
    } else {
        /* No bridge can be asked anything; and nothing else answers the call of a tool. */
        none.error = result->kind == CALL_RESULT_ASK ? CALL_ERROR_CANNOT_ASK : CALL_ERROR_INTERNAL;
        write_error(&o, &none);
    }
    return callsock_out_finish(&o);
}

int callsock_error_write(Bytes *out, Span type, Span message)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_RAISED,
                         .message = message,
                         .error_type = type};

    return callsock_response_write(out, &result);
}
