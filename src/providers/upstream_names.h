/* providers/upstream_names.h: what the tools of many servers are called here. Pure. Thread: any.
 *
 * A tool keeps its name where that is legal (letters, digits, _ . / -; 64 at most) and nobody else
 * has it. Where two servers have the same one, or it is a tool of our own, each server's is
 * `server__tool`, but for one server that takes no other name than the plain one; characters that
 * are not legal become `_`; what is then still too long or not alone is cut and ends in `_` and
 * eight hexadecimal digits of a hash of server and tool. The names follow from the set of tools
 * alone, not from their order.
 */
#pragma once

#include "base/arena.h"
#include "base/hash.h"
#include "base/span.h"
#include "providers/upstream.h"

#include <stdbool.h>
#include <stddef.h>

/* What clients and models take for a name. */
#define UPSTREAM_NAME_BYTES 64

typedef struct UpstreamNamed {
    Span server; /* what distinguishes the server: its prefix */
    Span separator;
    UpstreamPrefix prefixing;
    Span own;     /* the server's name for it */
    Span name;    /* out: ours; empty: it has none and is left out. In the arena, or `own` */
    bool clashes; /* out: somebody else has the name that it would have */
} UpstreamNamed;

/* is_taken: is that a tool of our own? 0, -ENOMEM. */
int upstream_names_make(UpstreamNamed *items, size_t n, bool (*is_taken)(void *context, Span name),
                        void *context, HashSeed seed, Arena *arena);

/* Does the name fit the pattern, in which * stands for any characters and ? for one? */
bool upstream_name_matches(const char *pattern, Span name);
