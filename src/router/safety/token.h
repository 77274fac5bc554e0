/* router/safety/token.h: the context token of version ctx.v1:
 *
 *     "ctx-" and the first 32 hex digits of SHA-256 of
 *     ctx.v1|<guid>|<path>|<view id>|<revision>|<ids, ascending, with commas>
 *
 * Thread: any. */
#pragma once

#include "base/span.h"
#include "router/safety/safety.h"

#define SAFETY_TOKEN_NO_DOCUMENT "ctx-nodoc"
#define SAFETY_TOKEN_ERROR       "ctx-error"

typedef struct SafetyTokenParts {
    Span guid; /* folded (fold.h), as is path */
    Span path;
    int64_t view_id;
    uint64_t revision;
    const int64_t *ids; /* ascending */
    size_t n_ids;
} SafetyTokenParts;

/* 0, -ENOMEM, -EIO. */
int safety_token(const SafetyTokenParts *parts, char ret[SAFETY_TOKEN_BYTES]);
