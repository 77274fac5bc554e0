/* app/asker.h: who asks on a connection of this machine (CallAsker), in words. Thread: any. */
#pragma once

#include "call/call.h"

/* "uid 4294967295 pid 9223372036854775807" */
#define ASKER_WHO_BYTES 48

/* Must not move while calls of it are in the router. */
typedef struct Asker {
    CallAsker call; /* for Call.asker */
    char who[ASKER_WHO_BYTES];
} Asker;

/* dialect: a literal. The process at the other end of fd, by its numbers; empty if nobody knows. */
void asker_init_peer(Asker *asker, const char *dialect, int fd);

/* The same of descriptors that are a pair: one socket, or "stdio". Its end is to be told
 * (CallAsker.is_lasting). */
void asker_init_pair(Asker *asker, const char *dialect, int in_fd, int out_fd);
