/* dialect/pipe/wire.h: how both sessions put messages into their sink. Private to this folder.
 * Thread: loop. */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"
#include "dialect/pipe/message.h"
#include "dialect/pipe/sink.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The longest text of the peer that is echoed in a complaint, which must fit into a message; an id
 * has 36 bytes as a rule. */
#define PIPE_WIRE_ECHO_BYTES ((size_t)128)

enum {
    PIPE_WIRE_E_TOO_LARGE = 1, /* the message is over the limit; nothing was sent */
    PIPE_WIRE_E_NO_ROOM,       /* the peer does not read what waits for it; nothing was sent */
};

typedef struct PipeWire {
    const PipeSink *sink;
    const PipeSource *source;
    uint32_t max_bytes;
} PipeWire;

/* A message that is being put together. */
typedef struct PipeWireMessage {
    PipeHead head;
    Bytes *bytes;
    size_t start;
    BytesLent lent;
    BytesLent *ret_lent; /* where a large part may be lent, or NULL */
} PipeWireMessage;

PipeWire pipe_wire_make(const PipeSink *sink, const PipeSource *source, uint32_t max_bytes);

/* 0, PIPE_WIRE_E_NO_ROOM, a negative errno. end follows unless it failed. */
int pipe_wire_begin(const PipeWire *wire, PipeWireMessage *ret);

/* r: what the writing came to. Commits, or aborts. 0, PIPE_WIRE_E_*, a negative errno. */
int pipe_wire_end(const PipeWire *wire, PipeWireMessage *message, int r);

/* Sends one. 0, PIPE_WIRE_E_NO_ROOM, a negative errno. */
int pipe_wire_ping(const PipeWire *wire);

/* Answers, which must go out: 0, a negative errno that ends the connection. The pong at once, since
 * a tool may run before the owner comes to flush. A call_id that is too long to be echoed is left
 * out. */
int pipe_wire_pong(const PipeWire *wire);
int pipe_wire_error(const PipeWire *wire, const char *code, Span message, Span call_id);

/* The answer to a message that could not be read (r: PIPE_E_*), if it wants one. */
int pipe_wire_complain(const PipeWire *wire, const PipeMessage *message, int r, const Diag *diag);

/* The same length in the other byte order, if a message may have it; else 0. */
uint32_t pipe_wire_other_order(const PipeWire *wire, uint32_t declared);

/* The answer to a frame that declared so many bytes. is_first: nothing has come before it, so that
 * it may be a peer that writes lengths in the other byte order. */
int pipe_wire_refuse_size(const PipeWire *wire, uint32_t declared, bool is_first);
