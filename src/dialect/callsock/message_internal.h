/* dialect/callsock/message_internal.h: what the files that read and write messages share. Thread:
 * any. */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"
#include "json/json.h"

#include <stddef.h>

/* The object that a message is. 0, -ENOMEM, CALLSOCK_E_PROTOCOL with words that name the byte. */
int callsock_message_parse(JsonValue *ret, Arena *arena, Span message, Diag *reterr_diag);

/* A message on its way into a buffer; the first failure sticks. */
typedef struct CallsockOut {
    Bytes *bytes;
    size_t start;
    BytesLent *lent; /* where one large part may be lent instead of copied; may be NULL */
    int r;
} CallsockOut;

CallsockOut callsock_out_begin(Bytes *bytes, BytesLent *lent);

/* 0, -ENOMEM, BYTES_E_FULL; after a failure the buffer is as it was at begin. */
int callsock_out_finish(CallsockOut *o);

/* So many bytes may follow: grows the buffer once for all of them, unless most may be lent. */
void callsock_out_reserve(CallsockOut *o, size_t n);

/* JSON as it is; text as a JSON string. */
void callsock_out_span(CallsockOut *o, Span json);
void callsock_out_string(CallsockOut *o, Span text);

/* JSON of any size, between other parts. */
void callsock_out_large(CallsockOut *o, Span json);
