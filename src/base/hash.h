/* base/hash.h: SipHash-1-3, a hash with a key.
 *
 * Peers choose the keys of our tables; without knowing the seed they cannot choose ones that
 * collide. Not for signatures. Thread: any.
 */
#pragma once

#include "base/span.h"

#include <stdint.h>

typedef struct HashSeed {
    uint64_t k0;
    uint64_t k1;
} HashSeed;

/* A seed from 16 random bytes (base/random.h); tests pass a constant. */
HashSeed hash_seed_from(const uint8_t random[16]);

uint64_t hash_span(HashSeed seed, Span s);
