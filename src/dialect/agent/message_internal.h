/* dialect/agent/message_internal.h: what the files that read and write messages share. Thread:
 * any. */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The object that a line is. 0, -ENOMEM, AGENT_MESSAGE_E_SYNTAX with words that name the byte. */
int agent_message_parse(JsonValue *ret, Arena *arena, Span line, Diag *reterr_diag);

/* A member that is there and not null; `other` (may be NULL) is another peer's name for it. */
bool agent_message_member(JsonValue object, const char *name, const char *other, JsonValue *ret);

/* A member's text, as json_string_exact has it; empty if absent. where: what stands before the name
 * in the words of the Diag
 * ("metadata."). 0, -ENOMEM, AGENT_MESSAGE_E_FIELD if it is no string or has more than max bytes.
 */
int agent_message_text(Arena *arena, JsonValue object, const char *where, const char *name,
                       const char *other, size_t max, Span *ret, Diag *reterr_diag);

/* The same as UTF-8, with U+FFFD for half of a surrogate pair: names of files, and what is encoded.
 */
int agent_message_utf8(Arena *arena, JsonValue object, const char *where, const char *name,
                       const char *other, size_t max, Span *ret, Diag *reterr_diag);

/* A member is wrong, and how; returns AGENT_MESSAGE_E_FIELD. */
int agent_message_wrong(Diag *reterr_diag, const char *where, const char *name, const char *how);

/* An unknown word where a kind or a type stands; value node NULL: there is none. Returns
 * AGENT_MESSAGE_E_KIND. */
int agent_message_unknown(Diag *reterr_diag, const char *what, JsonValue value);

/* A message on its way into a buffer; the first failure sticks. */
typedef struct AgentOut {
    Bytes *bytes;
    size_t start;
    int r;
} AgentOut;

AgentOut agent_out_begin(Bytes *bytes);

/* 0, -ENOMEM, BYTES_E_FULL; after a failure the buffer is as it was at begin. */
int agent_out_finish(AgentOut *o);

/* What is known to be right; text as a JSON string; a number; JSON from elsewhere, without its line
 * ends. */
void agent_out_span(AgentOut *o, Span json);
void agent_out_string(AgentOut *o, Span text);
void agent_out_int(AgentOut *o, int64_t value);
void agent_out_json(AgentOut *o, Span json);

/* `before` and the text, unless the text is empty. */
void agent_out_member(AgentOut *o, Span before, Span text);
