/* dialect/mcp/render_out.h: how the renderers append: the first failure sticks, and a message that
 * failed leaves nothing behind.
 *
 *     McpOut o = mcp_out_begin(out);
 *
 *     mcp_out_result(&o, reply);                        // {"jsonrpc":"2.0","id":…,"result":{
 *     MCP_OUT_KEY(&o, "content");
 *     …
 *     mcp_out_end_result(&o, scratch, reply, meta);     // _meta, and the braces
 *     return mcp_out_finish(&o);
 *
 * Of the renderers alone. Thread: any, one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/span.h"
#include "dialect/mcp/render.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Keys of `_meta` in the modern era. */
#define MCP_META_SERVER_INFO     "io.modelcontextprotocol/serverInfo"
#define MCP_META_SUBSCRIPTION_ID "io.modelcontextprotocol/subscriptionId"

/* And of 2025-11-25. */
#define MCP_META_RELATED_TASK "io.modelcontextprotocol/related-task"

typedef struct McpOut {
    Bytes *out;
    size_t start;
    BytesLent *lent; /* may be NULL */
    int r;           /* first failure: -ENOMEM, BYTES_E_FULL */
} McpOut;

TW_INLINE McpOut mcp_out_begin(Bytes *out)
{
    return (McpOut){.out = out, .start = out->n};
}

/* What came of it; after a failure out is as it was. */
TW_INLINE int mcp_out_finish(McpOut *o)
{
    if (o->r != 0) {
        o->out->n = o->start;
    }
    return o->r;
}

/* Room for all that follows, so that it is copied without asking again. n is a guess from above:
 * what does not fit by it may still fit. Not where most of it may be lent. */
TW_INLINE void mcp_out_reserve(McpOut *o, size_t n)
{
    bool is_lent = o->lent != NULL && n >= BYTES_LEND_MIN;
    int r = o->r == 0 && !is_lent ? bytes_reserve(o->out, n) : 0;

    if (r < 0) {
        o->r = r;
    }
}

TW_INLINE void mcp_out_span(McpOut *o, Span s)
{
    Bytes *b = o->out;

    if (TW_LIKELY(o->r == 0 && s.n <= b->cap - b->n)) {
        if (s.n > 0) {
            memcpy(b->data + b->n, s.p, s.n);
            b->n += s.n;
        }
    } else if (o->r == 0) {
        o->r = bytes_append(b, s.p, s.n);
    }
}

/* The same for a part of any size, which one such part of a message need not be copied for. Literal
 * text must stand before and behind it. */
TW_INLINE void mcp_out_large(McpOut *o, Span s)
{
    BytesLent *lent = o->lent;

    if (TW_LIKELY(s.n < BYTES_LEND_MIN) || lent == NULL || lent->span.p != NULL || o->r != 0) {
        mcp_out_span(o, s);
        return;
    }
    *lent = (BytesLent){.at = o->out->n - o->start, .span = s};
}

/* A comma, unless a bracket has just been opened. */
TW_INLINE void mcp_out_comma(McpOut *o)
{
    char last = o->out->n > o->start ? o->out->data[o->out->n - 1] : '{';

    if (o->r == 0 && last != '{' && last != '[') {
        mcp_out_span(o, SPAN(","));
    }
}

#define MCP_OUT(o, literal) mcp_out_span((o), SPAN(literal))

/* The next member's name, which needs no escaping. */
#define MCP_OUT_KEY(o, literal)                                                                    \
    do {                                                                                           \
        mcp_out_comma(o);                                                                          \
        MCP_OUT((o), "\"" literal "\":");                                                          \
    } while (0)

/* Text as a JSON string; what is not UTF-8 becomes U+FFFD. */
void mcp_out_string(McpOut *o, Span text);
void mcp_out_int(McpOut *o, int64_t value);
void mcp_out_double(McpOut *o, double value);

/* The content of a member that is a string, as it is escaped in its text, so that it fits into
 * another JSON string; empty if there is none. */
Span mcp_string_inside(JsonValue object, Span member);

/* The head of a result: up to its opening brace and, in the modern era, its resultType. */
void mcp_out_result(McpOut *o, const McpReply *reply);

/* Its tail: `_meta` from what the provider gave (one JSON object, or empty), with serverInfo in the
 * modern era and never in a legacy one; and the closing braces. scratch may be NULL if meta is
 * empty. */
void mcp_out_end_result(McpOut *o, Arena *scratch, const McpReply *reply, Span meta);

/* The tail of a result inside of another: `_meta`, if the provider gave one, and one brace. */
void mcp_out_end_inner(McpOut *o, Arena *scratch, Span meta);

/* `"…/related-task":{"taskId":…}`, a member of `_meta`. */
void mcp_out_related_task(McpOut *o, Span task);

/* `"inputRequests":{…}` of the modern era. */
void mcp_out_input_requests(McpOut *o, const CallAsk *asks, size_t n);

/* A notification or request up to its method: `,"params":{…}` may follow, and `}` must. */
void mcp_out_notification(McpOut *o, Span method);

typedef enum McpInfo {
    MCP_INFO_BRIEF, /* name and version */
    MCP_INFO_FULL   /* all that the revision knows */
} McpInfo;

/* An Implementation object. */
void mcp_out_identity(McpOut *o, McpRevision revision, const McpIdentity *identity, McpInfo info);

/* A JSON-RPC error up to its message; `,"data":…` may follow, and `}}` must. id: JSON or empty. */
void mcp_out_error_head(McpOut *o, Span id, int code, Span message);
