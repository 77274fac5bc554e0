/* cli/tools_tokens.h: what a list of tools costs the model that reads it: `toolwire tools
 * --tokens`.
 *
 * Counted is the description of each tool as it came, and what of it clients hand on to a model:
 * name, description and input schema. Whose each tool is, a hub says beside its list
 * (CALL_META_ORIGINS), for names do not tell; they are added up by server. Tokens are estimated
 * (base/tokens.h). */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "cli/peer_session.h"
#include "json/json.h"

/* Appends tables, or JSON. origins: an array, for each tool the name of its server, or what is no
 * string. width: of the terminal, 0: it is none. 0, -ENOMEM, BYTES_E_FULL. */
int tools_tokens_write(JsonValue tools, JsonValue origins, bool as_json, size_t width,
                       bool coloured, Arena *arena, Bytes *out);

/* Prints it as the session's options say. An exit status. */
int tools_tokens_show(PeerSession *session, JsonValue tools, JsonValue origins, Arena *arena);
