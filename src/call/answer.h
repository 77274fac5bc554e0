/* call/answer.h: builds a CallResult for those who have values and not JSON.
 *
 *     CallAnswer answer;
 *
 *     call_answer_init(&answer, max_bytes);
 *     call_answer_text(&answer, SPAN_NULL, text);
 *     call_answer_finish(&answer, call);       // ends the call; the answer may be used again
 *
 * The first failure sticks, and finish then ends the call with the matching error: too large, not
 * JSON where JSON was promised, JSON nested deeper than LIMIT_RESULT_DEPTH, out of memory. Text may
 * hold any bytes; what is not UTF-8 becomes U+FFFD. JSON is checked and written compact. Everything
 * is copied. Storage is kept between uses. Thread: any, one at a time (finish: loop).
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/span.h"
#include "call/call.h"
#include "call/result.h"

#include <stddef.h>
#include <stdint.h>

typedef struct CallAnswer {
    CallResult result; /* kind, flags and numbers may be set directly */
    Bytes content;     /* array elements */
    Bytes structured;
    Bytes spoken;  /* structured again, as a text block */
    Bytes compact; /* JSON on its way to words */
    Arena words;   /* description, message, data, state, meta, and what asks hold */
    Arena scratch; /* the index of JSON that is checked */
    CallAsk *asks; /* in words */
    size_t n_asks;
    size_t n_values; /* of a completion */
    size_t n_words;  /* bytes asked of words */
    size_t max_bytes;
    Span piece; /* what result.pieces points at */
    int r;      /* first failure */
} CallAnswer;

/* The completion values that one answer holds at most; MCP's rule. */
#define CALL_ANSWER_VALUES 100

/* An empty tool result; allocates nothing. max_bytes bounds all of the answer together, but for the
 * text that structured content is given as besides: a door that sends both has its own limit. */
void call_answer_init(CallAnswer *answer, size_t max_bytes);
void call_answer_deinit(CallAnswer *answer);

/* Empty again, of that kind; keeps the storage. */
void call_answer_reset(CallAnswer *answer, CallResultKind kind);

/* Content blocks of a tool's result; role (user, assistant) is needed in a prompt and empty
 * elsewhere. data is raw bytes and is encoded in base64 here. */
void call_answer_text(CallAnswer *answer, Span role, Span text);
void call_answer_image(CallAnswer *answer, Span role, Span mime_type, Span data);
void call_answer_audio(CallAnswer *answer, Span role, Span mime_type, Span data);
void call_answer_link(CallAnswer *answer, Span role, Span uri, Span name, Span mime_type);
void call_answer_resource_text(CallAnswer *answer, Span role, Span uri, Span mime_type, Span text);
void call_answer_resource_blob(CallAnswer *answer, Span role, Span uri, Span mime_type, Span data);

/* Any block as JSON; checked to be one object with a string `type`. */
void call_answer_block(CallAnswer *answer, Span role, Span json);

/* `contents` of a resource that was read. */
void call_answer_contents_text(CallAnswer *answer, Span uri, Span mime_type, Span text);
void call_answer_contents_blob(CallAnswer *answer, Span uri, Span mime_type, Span data);

/* One value of a completion. At most CALL_ANSWER_VALUES are sent; more set has_more. */
void call_answer_value(CallAnswer *answer, Span value);

/* Any JSON value; checked and compacted here. In a tool's result without other content it is also
 * given as text, for clients that know only that. */
void call_answer_structured(CallAnswer *answer, Span json);

/* What a prompt is about (text); `_meta` of any result (a JSON object). */
void call_answer_description(CallAnswer *answer, Span text);
void call_answer_meta(CallAnswer *answer, Span json);

/* Ends in an error of the provider's own instead. data: JSON, or empty. */
void call_answer_error(CallAnswer *answer, int wire_code, Span message, Span data);

/* Asks for input instead of ending. Several may be asked at once; state (text) comes back with the
 * answers. */
void call_answer_ask(CallAnswer *answer, const CallAsk *ask);
void call_answer_state(CallAnswer *answer, Span state);

/* The result as it stands, borrowed until the next change; after a failure an error. */
const CallResult *call_answer_result(CallAnswer *answer);

/* Ends the call with it, and is then as after reset to a tool result. */
void call_answer_finish(CallAnswer *answer, Call *call);
