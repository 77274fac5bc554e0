/* dialect/pipe/message.h: the messages of the pipe, read and written.
 *
 * A hub and an application's add-in exchange them, each one frame (frame/len32.h, little-endian) of
 * at most LIMIT_PIPE_MESSAGE_BYTES:
 *
 *     {"id":UUID,"type":"tool_call","timestamp":"2025-01-15T10:30:00.000Z","payload":{…}}
 *
 *     tool_call     {"tool_name","args"}                                         hub → add-in
 *     tool_result   {"call_id","success","data","error","duration_ms"}           add-in → hub
 *     ping, pong    {}                                                           both
 *     error         {"code","message"[,"call_id"]}                               both
 *
 * and, beyond the document, to a peer that has said that it understands them:
 *
 *     tool_progress {"call_id","progress"[,"total"][,"message"]}                 add-in → hub
 *     tool_cancel   {"call_id"}                                                  hub → add-in
 *     tools_changed {}                                                           add-in → hub
 *
 * What each side understands it says around the list: the hub in the arguments of
 * toolwire.list_tools, the add-in in its data, as "understands":["tool_progress",…]. An add-in that
 * answers pings while it runs calls says so there, too ("pings_in_calls":true).
 *
 * What is sent has all four members, in this order, and nothing else. What is accepted: any RFC
 * 3339 timestamp (or none that can be read: it decides nothing), further members, a missing payload
 * of ping and pong, a missing id except of a call, results without data, error or duration, without
 * success beside an error, `error` as an object, a string or anything else, and an `error` message
 * that lacks anything. null counts as absent. Data and arguments are spliced. Performs no I/O; time
 * and ids are given. Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"
#include "base/uuid.h"
#include "call/call.h"
#include "call/result.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>

/* The tool that tells what else an add-in offers; without arguments. Ours, as the next one. */
#define PIPE_LIST_TOOLS "toolwire.list_tools"

/* The one that reads a resource of the list: {"uri"}; its data are {"contents":[…]}, as MCP has
 * them. */
#define PIPE_READ_RESOURCE "toolwire.read_resource"

/* What stands around the list, see above. */
#define PIPE_UNDERSTANDS    "understands"
#define PIPE_PINGS_IN_CALLS "pings_in_calls"

/* Codes of the document and of the real ends; an application has its own. */
#define PIPE_CODE_TOO_LARGE     "PIPE_MESSAGE_TOO_LARGE"
#define PIPE_CODE_TIMEOUT       "PIPE_TIMEOUT"
#define PIPE_CODE_DISCONNECTED  "PIPE_DISCONNECTED"
#define PIPE_CODE_NOT_AVAILABLE "ADAPTER_NOT_AVAILABLE"
#define PIPE_CODE_NOT_FOUND     "TOOL_NOT_FOUND"
#define PIPE_CODE_INVALID       "SCHEMA_VALIDATION_FAILED"
#define PIPE_CODE_HANDLER       "HANDLER_ERROR"
#define PIPE_CODE_PROTOCOL      "PIPE_PROTOCOL_ERROR" /* ours: no message of this protocol */
#define PIPE_CODE_NO_RESOURCE   "RESOURCE_NOT_FOUND"  /* ours */
#define PIPE_CODE_CANCELLED     "CANCELLED"           /* ours: the hub has said tool_cancel */

/* Ours: true in the error of a result that whoever ran the call was lost (Call.may_have_run). */
#define PIPE_ERROR_INTERRUPTED "interrupted"

/* `_meta` of a tool that is a command: its results are envelopes (call/envelope.h). Guarded: the
 * add-in has a desk of its own. */
#define PIPE_META_COMMAND    "toolwire/command"
#define PIPE_COMMAND_GUARDED "guarded"

enum {
    PIPE_E_PROTOCOL = 1, /* not JSON, no object, no type: say why and close */
    PIPE_E_VALUE,        /* a message of a known type whose members are wrong: say why, go on */
    PIPE_E_UNKNOWN,      /* a type that nobody knows: say why if it has an id, go on */
};

typedef enum PipeType {
    PIPE_TOOL_CALL,
    PIPE_TOOL_RESULT,
    PIPE_PING,
    PIPE_PONG,
    PIPE_ERROR,
    PIPE_TOOL_PROGRESS,
    PIPE_TOOL_CANCEL,
    PIPE_TOOLS_CHANGED,
    PIPE_N_TYPES
} PipeType;

typedef struct PipeMessage {
    PipeType type;
    Span id;             /* decoded; empty if absent (only a call needs it) */
    Span tool_name;      /* call */
    JsonValue args;      /* call: an object; node NULL if absent or null */
    Span call_id;        /* result, error, progress, cancel; empty if absent */
    bool success;        /* result; false of all else */
    JsonValue data;      /* result; node NULL if absent or null */
    Span code;           /* error, and a result's error; empty if absent */
    Span message;        /* likewise; progress: what it says */
    JsonValue error;     /* a result's error as it came; node NULL if absent or null */
    int64_t duration_ms; /* result, without its fraction; -1 if absent */
    JsonValue progress;  /* progress: a number */
    JsonValue total;     /* likewise; node NULL if absent or null */
} PipeMessage;

/* Borrows message for as long as *ret is used. With PIPE_E_VALUE and PIPE_E_UNKNOWN, ret->id and
 * ret->call_id are set as far as they can be read (with VALUE the type, too), and the Diag names
 * the field, with PROTOCOL the byte or the field. 0, -ENOMEM, PIPE_E_*. */
int pipe_message_read(PipeMessage *ret, Arena *arena, Span message, Diag *reterr_diag);

/* What a call of toolwire.read_resource is to read; what is escaped is decoded into the arena. 0,
 * -ENOMEM, PIPE_E_VALUE: it does not say. */
int pipe_message_uri(const PipeMessage *message, Arena *arena, Span *ret);

/* Which types the peer says that it understands, in the list's arguments or data: 1u << PipeType of
 * each; unknown names are ignored. object.node may be NULL. */
unsigned pipe_message_understood(JsonValue object);

/* What every message says about itself. unix_ms: wall clock. */
typedef struct PipeHead {
    char id[UUID_SIZE];
    int64_t unix_ms;
} PipeHead;

/* Append one message each. 0, -ENOMEM, BYTES_E_FULL; on failure out is as it was. */
int pipe_write_call(Bytes *out, const PipeHead *head, Span tool_name, JsonValue args);

/* The same, but large arguments are lent (base/bytes.h): then *ret_lent, which comes empty, says
 * which. ret_lent may be NULL. */
int pipe_write_call_lent(Bytes *out, const PipeHead *head, Span tool_name, JsonValue args,
                         BytesLent *ret_lent);

/* A call of toolwire.read_resource. */
int pipe_write_read(Bytes *out, const PipeHead *head, Span uri);

/* A call of toolwire.list_tools, which says what a hub of ours understands. */
int pipe_write_list(Bytes *out, const PipeHead *head);

/* call_id: that of the call. */
int pipe_write_progress(Bytes *out, const PipeHead *head, Span call_id,
                        const CallProgress *progress);
int pipe_write_cancel(Bytes *out, const PipeHead *head, Span call_id);
int pipe_write_changed(Bytes *out, const PipeHead *head);
int pipe_write_ping(Bytes *out, const PipeHead *head);
int pipe_write_pong(Bytes *out, const PipeHead *head);

/* code and message: text; call_id may be empty. */
int pipe_write_error(Bytes *out, const PipeHead *head, Span code, Span message, Span call_id);

/* The answer to a call of tool_name: of a tool's result that is no error a success, whose data is
 * the structured content, else {"content":[…]}; otherwise success false with {"code","message"} by
 * the table in result_write.c, of a tool's error what its structured content says, else its texts.
 * CALL_ERROR_UNKNOWN_TOOL is an `error` message, as the document has it. */
int pipe_write_result(Bytes *out, const PipeHead *head, Span call_id, Span tool_name,
                      const CallResult *result, int64_t duration_ms);

/* The same, but a large part may be lent, as above. */
int pipe_write_result_lent(Bytes *out, const PipeHead *head, Span call_id, Span tool_name,
                           const CallResult *result, int64_t duration_ms, BytesLent *ret_lent);

/* The answer to a call of toolwire.read_resource: data {"contents":[…]}, or a failure by the same
 * table. A message that begins with a code, as those of pipe_resource_read do, gives its own.
 * ret_lent may be NULL. */
int pipe_write_resource(Bytes *out, const PipeHead *head, Span call_id, const CallResult *result,
                        int64_t duration_ms, BytesLent *ret_lent);

/* Reads a result or an error message as the result of a call, a tool's result in every case: data
 * as structured content (an object; anything else under "result") and as text (a string as it is,
 * anything else as JSON), but exactly {"content":[…]}, as pipe_write_result has it, whose elements
 * are all content blocks that MCP knows, as that content and nothing structured; and in `_meta` the
 * peer's duration_ms beside ours (waited_ms). Failed: is_error, text "CODE: message", structured
 * {"error":{"code","message",…}}, with whatever else the peer's error says, and "data" beside it if
 * there is any; without a code it is HANDLER_ERROR. Borrows what message borrows; what is built is
 * in the arena. 0, -ENOMEM. */
int pipe_result_read(CallResult *ret, Arena *arena, const PipeMessage *message, int64_t waited_ms);

/* The same for failures of our own: no peer, lost, too large. */
int pipe_result_fail(CallResult *ret, Arena *arena, const char *code, Span message);

/* Reads a result or an error message as what became of toolwire.read_resource. A success is
 * CALL_RESULT_RESOURCE, if data.contents is an array of objects, each with a string uri (any: a
 * folder has files) and a string text or blob, which must be base64; members that are null are left
 * out; `_meta` as above. Anything else, and a
 * failure, is an error of the call ("CODE: message"), of a kind that suits the code: unknown
 * resource, unavailable, timeout…, else internal. Borrows as above. 0, -ENOMEM. */
int pipe_resource_read(CallResult *ret, Arena *arena, const PipeMessage *message,
                       int64_t waited_ms);

/* The same for failures of our own. */
int pipe_resource_fail(CallResult *ret, Arena *arena, const char *code, Span message);
