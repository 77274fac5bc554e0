/* cli/peer_ask.h: what a server asks of the person at the terminal.
 *
 * A form is asked field by field on the terminal, and declined where standard input is none; a page
 * is opened by the person, who says so; roots are the current folder. */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "peer/mcp_peer.h"

#include <stddef.h>

enum {
    PEER_ASK_E_INTERRUPTED = 1, /* Ctrl-C at the question */
};

/* Answers an MCP_CLIENT_ASK. 0, -ENOMEM, PEER_ASK_E_INTERRUPTED. */
int peer_ask_answer(McpPeer *peer, const McpClientEvent *event);

/* The answer to roots/list for that folder, an absolute path. 0, -ENOMEM. */
int peer_ask_roots(Bytes *out, const char *folder);

enum {
    PEER_FIELD_E_WRONG = 1, /* the text cannot be the value of this field */
};

/* Appends what a person typed into a field, as JSON of the kind that the field's schema wants. 0,
 * -ENOMEM, PEER_FIELD_E_WRONG. */
int peer_ask_field(Bytes *out, Arena *arena, JsonValue schema, Span typed);
