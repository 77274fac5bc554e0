/* cli/peer_header.h: a header for a server over HTTP, as an option says it. */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "dialect/mcp/http_client.h"

enum {
    PEER_HEADER_E_INVALID = 1, /* no header, or none that may be sent; the Diag says why, and never
                                  shows the value */
};

/* Reads "Name: value". ${NAME} and ${NAME:-default} in the value are replaced by the environment,
 * so that a secret need not be among the arguments of a program, which every user can see; "$$" is
 * a dollar. *ret lives as long as the arena. 0, -ENOMEM, PEER_HEADER_E_INVALID. */
int peer_header_read(Arena *arena, const char *line, McpHttpField *ret, Diag *reterr_diag);
