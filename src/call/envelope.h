/* call/envelope.h: the standard answer of a command, on success and on every failure:
 *
 *     { …the command's own members, "ok", "code", "msg", "warnings":[], "nextActions":[],
 *       "timings":{"queueWaitMs","revitMs","transferMs","totalMs"}, "context":{"method",…} }
 *
 * Read from what peers send in their spellings, written in one. Whoever executes a command makes
 * its envelope; whoever passes one on fills in what only it knows (the times) and changes nothing
 * else. Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/span.h"
#include "call/result.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The codes that we give, one table: the name, what it says to people, and what follows from it. */
typedef enum EnvelopeCode {
    ENVELOPE_OK,
    ENVELOPE_UNKNOWN_COMMAND,
    ENVELOPE_INVALID_PARAMS,
    ENVELOPE_PRECONDITION_FAILED,
    ENVELOPE_CONFIRMATION_REQUIRED,
    ENVELOPE_CONFIRMATION_INVALID,
    ENVELOPE_FAILURE_HANDLING, /* FAILURE_HANDLING_CONFIRMATION_REQUIRED */
    ENVELOPE_TX_NOT_COMMITTED,
    ENVELOPE_INVALID_OPERATION,
    ENVELOPE_UNHANDLED_EXCEPTION,
    ENVELOPE_SERIALIZE_ERROR,
    ENVELOPE_NO_DOC,
    ENVELOPE_TIMEOUT,
    ENVELOPE_CANCELLED,
    ENVELOPE_UNAVAILABLE, /* the application is not there */
    ENVELOPE_BUSY,
    ENVELOPE_RATE_LIMITED,
    ENVELOPE_TOO_LARGE,
    ENVELOPE_INVALID_RESULT, /* what it answered is no envelope that could be relied on */
    ENVELOPE_RESULT_DROPPED, /* it has ended, and its result was not kept */
    ENVELOPE_INTERRUPTED,    /* the hub or whoever ran it ended: it may have run */
    ENVELOPE_QUARANTINED,    /* the hub died while it ran, again and again */
    ENVELOPE_INPUT_REQUIRED, /* it asks for what this caller cannot give */
    ENVELOPE_INTERNAL,
    ENVELOPE_ERROR, /* a failure that names no code */
    ENVELOPE_N_CODES
} EnvelopeCode;

const char *envelope_code_name(EnvelopeCode code);
const char *envelope_code_text(EnvelopeCode code); /* a sentence for people */
bool envelope_code_parse(Span name, EnvelopeCode *ret);
EnvelopeCode envelope_code_of(CallError error);
bool envelope_code_is_retryable(EnvelopeCode code); /* the same call may succeed later */

/* Microseconds. They add up: total = queue + run + the way in between (transferMs). */
typedef struct EnvelopeTimes {
    int64_t queue_us;
    int64_t run_us; /* < 0: nobody measured it; then all that is not queue */
    int64_t total_us;
} EnvelopeTimes;

/* The standard members; spans are JSON unless said otherwise, and may be empty. */
typedef struct Envelope {
    bool is_ok;
    Span code;         /* text; empty: "OK" or "ERROR" */
    Span message;      /* text; empty: the code's, "OK" or "Failed" */
    Span warnings;     /* array */
    Span next_actions; /* array */
    Span timings;      /* object as it came: further members of it are kept; its times are read */
    Span context;      /* object */
    Span own;         /* the command's own members: `"name":value` with commas, none of the above */
    int64_t run_us;   /* timings.revitMs as it came; < 0: not said or 0 */
    bool is_standard; /* it had `ok` and `code`: made by someone who knows the envelope */
} Envelope;

/* Reads an answer in any spelling: ok|success, code|errorCode, msg|message, one warning or next
 * action that is no array. Without ok|success it has succeeded, unless its code is a failure's; an
 * `ok` that is no boolean is no success (INVALID_RESULT if it names no code). An object is looked
 * for at `result.result` and `result` if it is a JSON-RPC reply; what is no object becomes own
 * member `result`. Spans point into value's text or the arena. 0, -ENOMEM. */
int envelope_read(JsonValue value, Arena *arena, Envelope *ret);

/* From what a provider answered, be it an error; own members of structured content, else the text
 * blocks as `result` (JSON that they hold, or a string). Arena as above. */
int envelope_of_result(const CallResult *result, Arena *arena, Envelope *ret);

/* Writes it, one JSON object, times filled in. method: context.method where context is empty. 0,
 * -ENOMEM, BYTES_E_FULL. */
int envelope_write(const Envelope *envelope, const EnvelopeTimes *times, Span method, Bytes *out);

/* UNKNOWN_COMMAND: nextActions with the names that are nearest to the one that was asked for,
 * nearest first, and list_commands behind them. names: n of them. Appends an array. */
int envelope_write_nearest(Span method, const Span *names, size_t n, Bytes *out);

/* An output schema with the standard members, the tool's own (JSON object, or empty) merged into
 * it: what its own requires is required where `ok` is true. One that has and requires them all
 * stays as it is. */
int envelope_write_schema(Span own_schema, Bytes *out);
