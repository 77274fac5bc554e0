/* cli/peer_content.h: what servers answer with, for people. */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/span.h"
#include "json/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A member that is a string, decoded; empty if there is none. Escaped ones live in the arena. */
Span peer_content_text(JsonValue object, Span key, Arena *arena);

enum {
    PEER_CONTENT_E_BLOB = 1, /* the blob is not base64 */
    PEER_CONTENT_E_SHAPE,    /* the Diag names the member that is missing or of the wrong kind */
};

/* Is result.list an array of objects, each with a member of that kind? An empty member is none that
 * is needed. 0, PEER_CONTENT_E_SHAPE. */
int peer_content_check_list(JsonValue result, Span list, Span member, JsonKind kind,
                            Diag *reterr_diag);

/* The same for the answers to tools/call (content blocks; none are needed beside structured
 * content), resources/read (text or blob each) and prompts/get (a role and a content each). */
int peer_content_check_call(JsonValue result, Diag *reterr_diag);
int peer_content_check_read(JsonValue result, Diag *reterr_diag);
int peer_content_check_get(JsonValue result, Diag *reterr_diag);

/* One content block: text as it is, anything else as a line that says what it is, and the text of
 * an embedded resource behind it. A terminal gets no control characters. Returns whether it is a
 * block of text. */
bool peer_content_print(FILE *out, JsonValue block, Arena *arena);

/* One of the contents of a resource: text, or the bytes of a blob unless out is a terminal. 0,
 * -ENOMEM, or PEER_CONTENT_E_BLOB. */
int peer_content_print_resource(FILE *out, JsonValue contents, Arena *arena);

/* Bytes behind a base64 text. */
uint64_t peer_content_size(Span base64);

/* "1,234,567" */
#define PEER_CONTENT_NUMBER_SIZE 32
const char *peer_content_number(uint64_t n, char text[PEER_CONTENT_NUMBER_SIZE]);
