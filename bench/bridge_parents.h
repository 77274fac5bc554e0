/* bench/bridge_parents.h: the processes behind the socket that bench_bridge measures through, and
 * the folder in which they meet.
 *
 * Every failure ends the program with a message. Processes and folder go at its end.
 */
#pragma once

#include <stddef.h>

#include "peer.h"

enum {
    PARENTS_N_TOOLS = 20 /* in the schema file: what a start has to read */
};

/* The last of them, as a list of tools names it. */
#define PARENTS_LAST_TOOL "\"tool_19\""

/* A path in the folder, which is made by the first call; for the rest of the run. */
const char *parents_path(const char *name);

/* Writes a schema file there, 0600: echo, and other tools as people write them. */
void parents_write_schema(const char *path);

/* Where all of them run from now on. */
void parents_place(PeerPlace place);

/* Starts a program on the core where servers are measured, and returns when its socket accepts. */
void parents_start(const char *const *argv, const char *socket_path);
