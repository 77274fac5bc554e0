/* dialect/pipe/message_internal.h: what the files that read and write messages share. Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/span.h"
#include "dialect/pipe/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A message on its way into a buffer; the first failure sticks. */
typedef struct PipeOut {
    Bytes *bytes;
    size_t start;
    BytesLent *lent; /* where one large part may be lent instead of copied; may be NULL */
    int r;
} PipeOut;

/* Writes all that stands before the payload. */
PipeOut pipe_out_begin(Bytes *bytes, const PipeHead *head, PipeType type, BytesLent *lent);

/* Closes the message. 0, -ENOMEM, BYTES_E_FULL; after a failure the buffer is as it was at begin.
 */
int pipe_out_finish(PipeOut *o);

/* So many bytes may follow: grows the buffer once for all of them, unless most may be lent. */
void pipe_out_reserve(PipeOut *o, size_t n);

/* JSON as it is; text as a JSON string; a number. */
void pipe_out_span(PipeOut *o, Span json);
void pipe_out_string(PipeOut *o, Span text);
void pipe_out_int(PipeOut *o, int64_t value);

/* JSON of any size, between other parts. */
void pipe_out_large(PipeOut *o, Span json);

/* The JSON on one line, for doors that send lines; copied into the arena if it was on several. 0,
 * -ENOMEM. */
int pipe_one_line(Arena *arena, Span *json);

/* The result's `_meta`: how long it took the peer (-1: it did not say), and us. 0, -ENOMEM. */
int pipe_read_meta(CallResult *result, Arena *arena, int64_t duration_ms, int64_t waited_ms);

/* Letters of an error code only, and at least one. */
bool pipe_is_code(Span text);

/* A text that must not be empty, else those words. */
Span pipe_words_or(Span text, const char *words);

/* A failed command's whole answer (call/envelope.h): `ok` false, and a `code`. */
bool pipe_is_failed_envelope(JsonValue data);
