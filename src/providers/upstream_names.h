/* providers/upstream_names.h: what the tools of many servers are called here. Pure. Thread: any.
 *
 * Names do not move: what a tool was called before (held) it is called again, as long as the
 * settings allow that name. A tool that has no name yet has its own where that is legal (letters,
 * digits, _ . / -; 64 at most) and free; if not, it is `server__tool`. Characters that are not
 * legal become `_`; what is then still too long or not free is cut and ends in `_` and eight
 * hexadecimal digits of a hash of server and tool. Among tools that are new at the same time the
 * order decides: those of servers that take no other name than the plain one, then the order in
 * which they are given, and names that had to be made legal last.
 *
 * `server__` belongs to that server: a tool of another one whose own name begins so is prefixed.
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

/* What the settings say of the names of one server. */
typedef struct UpstreamNamer {
    Span server;
    Span prefix;
    Span separator;
    UpstreamPrefix prefixing;
} UpstreamNamer;

typedef struct UpstreamNamed {
    size_t server;  /* which of the namers */
    Span own;       /* the server's name for it */
    Span held;      /* what it was called before; empty: it is new */
    bool is_absent; /* the server does not list it now: its name is only kept free */

    Span name;      /* out: ours; empty: it has none and is left out. In the arena, or `own` */
    bool clashes;   /* out: it is new, and does not have its plain name because of another: */
    Span rival;     /* out: the server that has the name; empty: it is one of our own */
    bool is_theirs; /* out: nobody has the name, but it begins with the prefix of the rival */
} UpstreamNamed;

typedef struct UpstreamNaming {
    const UpstreamNamer *servers;
    size_t n_servers;
    bool (*is_taken)(void *context, Span name); /* by one of our own */
    void *context;
    HashSeed seed;
} UpstreamNaming;

/* 0, -ENOMEM. */
int upstream_names_make(const UpstreamNaming *naming, UpstreamNamed *items, size_t n, Arena *arena);

/* Does the name fit the pattern, in which * stands for any characters and ? for one? */
bool upstream_name_matches(const char *pattern, Span name);
