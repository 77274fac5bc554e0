/* dialect/callsock/message.h: the messages of the call socket, read and written.
 *
 * A bridge asks, a parent that owns tools answers, one request at a time on a connection:
 *
 *     {"method":"call_tool","params":{"name":"add","arguments":{"a":1}}}
 *     {"result":{"content":[{"type":"text","text":"1"}],"isError":false}}
 *     {"error":{"message":"Unknown tool: add","type":"ToolNotFoundError"}}
 *
 * A bridge that says `"progress":true` in params may be told before the answer how far the work is;
 * one that does not is told nothing, and parents that do not know the member pass it over:
 *
 *     {"progress":{"progress":1,"total":3,"message":"first of three"}}
 *
 * Each is one frame (frame/len32.h, big-endian) of at most LIMIT_CALLSOCK_MESSAGE_BYTES. Arguments
 * and results are spliced: numbers, order and unknown members arrive as they were sent. `type` is
 * what Python calls the exception, since that is what peers look at. Performs no I/O. Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"
#include "call/call.h"
#include "call/result.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

/* Ours: true in an error, if whoever ran the call was lost (Call.may_have_run). */
#define CALLSOCK_ERROR_INTERRUPTED "interrupted"

/* Names of errors that this dialect itself has; tools have their own. */
#define CALLSOCK_TYPE_NOT_FOUND "ToolNotFoundError"
#define CALLSOCK_TYPE_VALUE     "ValueError"          /* a request that is not what it must be */
#define CALLSOCK_TYPE_PROTOCOL  "IPCError"            /* no message of this protocol: the end */
#define CALLSOCK_TYPE_SIZE      "IPCMessageSizeError" /* over the limit */

enum {
    CALLSOCK_E_PROTOCOL = 1, /* not JSON, or no object: answer with the Diag's words, then close */
    CALLSOCK_E_VALUE,        /* a message, but a wrong one: answer with the Diag's words, go on */
};

/* ---- requests ---- */

typedef struct CallsockRequest {
    Span name;           /* decoded, in the arena or the message */
    JsonValue arguments; /* an object; node NULL if absent */
    bool wants_progress;
} CallsockRequest;

/* Borrows message for as long as *ret is used. The Diag's message is what is answered, in the words
 * of the real peers: "Unknown method: X", "Invalid params: expected dict", "Invalid tool name:
 * expected string", "Invalid arguments: expected dict". 0, -ENOMEM, CALLSOCK_E_*. */
int callsock_request_read(CallsockRequest *ret, Arena *arena, Span message, Diag *reterr_diag);

/* Appends a request; arguments: node NULL is written as {}. 0, -ENOMEM, BYTES_E_FULL; on failure
 * out is as it was. */
int callsock_request_write(Bytes *out, const CallsockRequest *request);

/* The same, but large arguments are lent (base/bytes.h): then *ret_lent, which comes empty, says
 * which. ret_lent may be NULL. */
int callsock_request_write_lent(Bytes *out, const CallsockRequest *request, BytesLent *ret_lent);

/* ---- progress ---- */

/* Does the message begin as a report of progress does? */
bool callsock_is_progress(Span message);

/* Reads one; borrows message for as long as *ret is used. 0, -ENOMEM, CALLSOCK_E_PROTOCOL;
 * CALLSOCK_E_VALUE: it is none, or has no number. */
int callsock_progress_read(CallProgress *ret, Arena *arena, Span message, Diag *reterr_diag);

/* As callsock_request_write. */
int callsock_progress_write(Bytes *out, const CallProgress *progress);

/* ---- responses ---- */

/* Reads a response as the result of a call:
 *
 *     result   CALL_RESULT_TOOL: pieces, content_kinds, structured, meta, is_error, and in
 *              `members` whatever else the parent put there, byte for byte
 *     error    CALL_RESULT_ERROR: CALL_ERROR_UNKNOWN_TOOL if its type says so, else
 *              CALL_ERROR_RAISED with message and error_type; a message is never empty
 *
 * An empty content is accepted, though no parent should send it, and so is a missing one beside
 * structuredContent. Blocks of the kinds that MCP knows must have the strings that it demands of
 * them; where a bit of content_kinds would promise too much CALL_CONTENT_UNKNOWN is set too. null
 * counts as absent in `result`, `error`, `isError` and `_meta`; structuredContent may be any value.
 * Borrows message for as long as *ret is used; what has to be copied (line ends and the indentation
 * behind them are left out, for doors that send lines) is in the arena, and so is the one piece.
 * 0, -ENOMEM, CALLSOCK_E_PROTOCOL, CALLSOCK_E_VALUE ("Invalid IPC response: missing both 'result'
 * and 'error' fields", …). */
int callsock_response_read(CallResult *ret, Arena *arena, Span message, Diag *reterr_diag);

/* Appends the response that a result is: of kind TOOL a success, whose content is never empty; of
 * any other an error with the type that its CallError has by the table in response_write.c. 0,
 * -ENOMEM, BYTES_E_FULL; on failure out is as it was. */
int callsock_response_write(Bytes *out, const CallResult *result);

/* The same, but a large part may be lent, as above. */
int callsock_response_write_lent(Bytes *out, const CallResult *result, BytesLent *ret_lent);

/* Appends an error. Both are text; what is not UTF-8 becomes U+FFFD, and what is empty the words
 * for a tool that failed. As above. */
int callsock_error_write(Bytes *out, Span type, Span message);
