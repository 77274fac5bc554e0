/* oauth/challenge.h: what a server says about why it refused: WWW-Authenticate (RFC 9110 11.6.1,
 * RFC 6750, RFC 9449, RFC 9728).
 *
 * One field may hold several challenges, and there may be several fields. Of them those of the
 * schemes Bearer and DPoP are read; others are passed over. Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

/* All of it lives in the arena, or in the fields; empty: not said. */
typedef struct OauthChallenge {
    bool is_there; /* a challenge of Bearer or DPoP was read */
    bool is_dpop;  /* one of DPoP was */
    Span resource_metadata;
    Span scope;
    Span error;
    Span error_description;
} OauthChallenge;

/* Of several challenges that say the same thing the first counts, but for `error`, where one that
 * wants a nonce does. What cannot be read ends the reading of its field; what came before stays. 0,
 * -ENOMEM. */
int oauth_challenge_parse(OauthChallenge *ret, Arena *arena, const Span *fields, size_t n_fields);
