/* cli/tools_tokens.h: what a list of tools costs the model that reads it: `toolwire tools
 * --tokens`.
 *
 * Counted is the description of each tool as it came, and what of it clients hand on to a model:
 * name, description and input schema. A hub names a tool of another server SERVER__TOOL where it
 * must; these are added up by server, the others are its own. Tokens are estimated
 * (base/tokens.h). */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "cli/peer_session.h"
#include "json/json.h"

/* Appends tables, or JSON. width: of the terminal, 0: it is none. 0, -ENOMEM, BYTES_E_FULL. */
int tools_tokens_write(JsonValue tools, bool as_json, size_t width, bool coloured, Arena *arena,
                       Bytes *out);

/* Prints it as the session's options say. An exit status. */
int tools_tokens_show(PeerSession *session, JsonValue tools, Arena *arena);
