#include "dialect/pipe/wire.h"

#include <stdio.h>

#include "base/error.h"
#include "base/limits.h"

/* Room for two sentences with numbers. */
#define WIRE_WORDS_BYTES 320

PipeWire pipe_wire_make(const PipeSink *sink, const PipeSource *source, uint32_t max_bytes)
{
    return (PipeWire){.sink = sink,
                      .source = source,
                      .max_bytes = max_bytes != 0 ? max_bytes : LIMIT_PIPE_MESSAGE_BYTES};
}

int pipe_wire_begin(const PipeWire *wire, PipeWireMessage *ret)
{
    const PipeSink *sink = wire->sink;
    int r;

    *ret = (PipeWireMessage){.lent = BYTES_LENT_NULL};
    r = sink->begin(sink->context, &ret->bytes);
    if (r != 0) {
        return r > 0 ? PIPE_WIRE_E_NO_ROOM : err_pass(r);
    }
    ret->start = ret->bytes->n;
    ret->ret_lent = sink->commit_lent != NULL ? &ret->lent : NULL;
    wire->source->uuid(wire->source->context, ret->head.id);
    ret->head.unix_ms = wire->source->unix_ms(wire->source->context);
    return 0;
}

int pipe_wire_end(const PipeWire *wire, PipeWireMessage *message, int r)
{
    const PipeSink *sink = wire->sink;

    if (r == 0 && message->bytes->n - message->start + message->lent.span.n > wire->max_bytes) {
        sink->abort(sink->context);
        return PIPE_WIRE_E_TOO_LARGE;
    }
    if (r != 0) {
        sink->abort(sink->context);
    } else if (message->lent.span.p != NULL) {
        r = sink->commit_lent(sink->context, message->lent);
    } else {
        r = sink->commit(sink->context);
    }
    return r > 0 ? PIPE_WIRE_E_NO_ROOM : err_pass(r);
}

int pipe_wire_ping(const PipeWire *wire)
{
    PipeWireMessage message;
    int r = pipe_wire_begin(wire, &message);

    if (r == 0) {
        r = pipe_wire_end(wire, &message, pipe_write_ping(message.bytes, &message.head));
    }
    return r > 0 ? PIPE_WIRE_E_NO_ROOM : err_pass(r);
}

int pipe_wire_pong(const PipeWire *wire)
{
    PipeWireMessage message;
    int r = pipe_wire_begin(wire, &message);

    if (r == 0) {
        r = pipe_wire_end(wire, &message, pipe_write_pong(message.bytes, &message.head));
    }
    if (r == 0 && wire->sink->flush != NULL) {
        wire->sink->flush(wire->sink->context);
    }
    return r > 0 ? err_raise(-ENOBUFS) : err_pass(r);
}

int pipe_wire_error(const PipeWire *wire, const char *code, Span words, Span call_id)
{
    PipeWireMessage message;
    int r = pipe_wire_begin(wire, &message);

    call_id = call_id.n <= PIPE_WIRE_ECHO_BYTES ? call_id : SPAN_NULL;
    if (r == 0) {
        r = pipe_wire_end(
            wire, &message,
            pipe_write_error(message.bytes, &message.head, span_from_str(code), words, call_id));
    }
    return r > 0 ? err_raise(-ENOBUFS) : err_pass(r);
}

int pipe_wire_complain(const PipeWire *wire, const PipeMessage *message, int r, const Diag *diag)
{
    /* What the peer knows it by: a call and what nobody knows by the message's own id. */
    Span call_id =
        r == PIPE_E_VALUE && message->type == PIPE_TOOL_RESULT ? message->call_id : message->id;

    /* Real peers ignore what they do not know; without an id nobody waits for an answer. */
    if (r == PIPE_E_UNKNOWN && call_id.n == 0) {
        return 0;
    }
    return err_pass(
        pipe_wire_error(wire, PIPE_CODE_PROTOCOL, span_from_str(diag->message), call_id));
}

uint32_t pipe_wire_other_order(const PipeWire *wire, uint32_t declared)
{
    uint32_t other = bytes_swap32(declared);

    return other <= wire->max_bytes ? other : 0;
}

int pipe_wire_refuse_size(const PipeWire *wire, uint32_t declared, bool is_first)
{
    uint32_t other = is_first ? pipe_wire_other_order(wire, declared) : 0;
    char words[WIRE_WORDS_BYTES];
    int n =
        snprintf(words, sizeof(words), "Message exceeds max size: %u bytes declared, at most %u",
                 (unsigned)declared, (unsigned)wire->max_bytes);

    if (other > 0) {
        (void)snprintf(words + n, sizeof(words) - (size_t)n,
                       "; in the other byte order the length is %u: on the pipe lengths are "
                       "little-endian (on the call socket they are big-endian)",
                       (unsigned)other);
    }
    return err_pass(pipe_wire_error(wire, PIPE_CODE_TOO_LARGE, span_from_str(words), SPAN_NULL));
}
