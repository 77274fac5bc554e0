/* providers/upstream_claims.h: which names the tools and prompts of servers have here, remembered
 * in the state folder (upstream_claims.c). Included by upstream*.c alone. Thread: loop.
 */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "base/span.h"
#include "io/private_file.h"
#include "providers/upstream_names.h"
#include "router/router.h"

#include <stdbool.h>
#include <stddef.h>

/* Kinds that have names: tools and prompts. */
#define UPSTREAM_N_NAMED 2

typedef struct UpstreamClaim {
    Span server; /* its name in the settings */
    Span own;    /* the server's name for it */
    Span name;   /* ours */
} UpstreamClaim;

typedef struct UpstreamClaims {
    Arena arena;
    Map by_own[UPSTREAM_N_NAMED];  /* server, NUL, own → UpstreamClaim, in the arena */
    Map by_name[UPSTREAM_N_NAMED]; /* name → the same */
    char *settings;
    char *path; /* NULL: they are remembered in memory alone */
    char *lock_path;
    PrivateFile lock; /* while a change is under way */
    bool is_warned;   /* the file could not be used, and that was said */
    bool is_unsaved;  /* the file could not be written, and that was said */
} UpstreamClaims;

/* All names of one kind, as they were made. */
typedef struct UpstreamNamedList {
    UpstreamNamed *items;
    size_t n;
} UpstreamNamedList;

/* Reads what is remembered. settings: the path of the settings, may be NULL. 0, -ENOMEM, -EIO; in
 * any case deinit follows. */
int upstream_claims_init(Upstreams *upstreams, const char *settings);
void upstream_claims_deinit(Upstreams *upstreams);

/* *ret: what it was called, borrowed until the next change; empty: it is new. arena: for a moment.
 * 0, -ENOMEM. */
int upstream_claims_find(const Upstreams *upstreams, RouterKind kind, Span server, Span own,
                         Arena *arena, Span *ret);

/* Who has this name; NULL: nobody. Borrowed until the next change. */
const UpstreamClaim *upstream_claims_of(const Upstreams *upstreams, RouterKind kind, Span name);

/* Steps through all: *cursor starts at 0; NULL at the end. */
const UpstreamClaim *upstream_claims_next(const Upstreams *upstreams, RouterKind kind,
                                          size_t *cursor);
size_t upstream_claims_count(const Upstreams *upstreams, RouterKind kind);

/* New names are given between these two. begin keeps other processes out and adds what they have
 * given meanwhile, so that names are to be made after it. 0, -ENOMEM; in any case end follows, with
 * the names as they are now, which it remembers and writes (lists NULL: all is as it was). */
int upstream_claims_begin(Upstreams *upstreams);
void upstream_claims_end(Upstreams *upstreams, const UpstreamNamedList lists[UPSTREAM_N_NAMED]);
