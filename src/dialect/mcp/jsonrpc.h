/* dialect/mcp/jsonrpc.h: the envelope of one JSON-RPC 2.0 message.
 *
 * Says what a message is and where its parts lie; knows no method. What is answered to a message
 * that cannot be served:
 *
 *     not JSON, not UTF-8, a byte order mark              -32700, its id if it can be found
 * (json/look.h) nested deeper than 512, longer than allowed         -32600, likewise not an object;
 * an array outside 2025-03-26          -32600, id null id null, true, 1.5, {} or [] -32600, id null
 *     id longer than JSONRPC_MAX_ID_BYTES                 -32600, id null
 *     jsonrpc absent or not "2.0", method not a string    -32600, its id
 *     neither method nor result nor error                 -32600, its id, or null
 *     method unknown, or not of this revision             -32601, its id
 *     params not an object (an array is none either)      -32602, its id
 *     a method without id, whatever else is wrong         nothing: a notification
 *     a result or error                                   nothing: a response
 *
 * Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/span.h"
#include "json/json.h"
#include "json/look.h"

enum {
    JSONRPC_E_ID = 1, /* not a string and not an integer */
};

/* An id comes back in every answer, however small that may have to be: it cannot be as long as a
 * message. Real ones are numbers, or UUIDs. */
#define JSONRPC_MAX_ID_BYTES 1024

typedef enum JsonrpcKind {
    JSONRPC_REQUEST,
    JSONRPC_NOTIFICATION,
    JSONRPC_RESPONSE,
    JSONRPC_INVALID, /* to be answered with -32600 and `problem` */
} JsonrpcKind;

typedef struct JsonrpcMessage {
    JsonrpcKind kind;
    JsonValue id;     /* node NULL if there is none, or none that can be returned; of a response:
                         whatever it has */
    Span method;      /* decoded; empty if it is not a string */
    JsonValue params; /* these three: any kind; node NULL if absent */
    JsonValue result;
    JsonValue error;
    const char *problem;
} JsonrpcMessage;

/* Decoded text lives in the arena. 0, -ENOMEM. */
int jsonrpc_read(JsonrpcMessage *ret, JsonValue message, Arena *arena);

/* The id as it came, or empty. */
TW_INLINE Span jsonrpc_id_text(const JsonrpcMessage *message)
{
    return message->id.node == NULL ? SPAN_NULL : json_span(message->id);
}

/* The id that was found in a message which cannot be read, if it is one that can be returned; else
 * empty. Borrowed from look. */
Span jsonrpc_look_id(const JsonLook *look, Arena *arena);

/* A form in which equal ids are equal bytes ("\u0061" and "a", 1 and 1.0), and 1 and "1" are not.
 * Borrowed from the text or the arena. 0, -ENOMEM, JSONRPC_E_ID. */
int jsonrpc_id_key(JsonValue id, Arena *arena, Span *ret);
