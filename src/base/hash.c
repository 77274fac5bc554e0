#include "base/hash.h"

#include <string.h>

/* The state of Aumasson and Bernstein's "SipHash: a fast short-input PRF" (2012). One round per
 * word and three at the end are what the tables of Rust, Ruby and Python use: enough where an
 * attacker sees no hashes, only their effect on speed. */
typedef struct HashState {
    uint64_t a;
    uint64_t b;
    uint64_t c;
    uint64_t d;
} HashState;

/* Little-endian on every machine, so that one seed gives one hash everywhere. */
static uint64_t hash_load_le(const uint8_t *p, size_t n)
{
    uint64_t word = 0;

    for (size_t i = 0; i < n; i++) {
        word |= (uint64_t)p[i] << (8 * i);
    }
    return word;
}

static uint64_t hash_rotate(uint64_t x, unsigned by)
{
    return x << by | x >> (64 - by);
}

static void hash_round(HashState *s)
{
    s->a += s->b;
    s->c += s->d;
    s->b = hash_rotate(s->b, 13) ^ s->a;
    s->d = hash_rotate(s->d, 16) ^ s->c;
    s->a = hash_rotate(s->a, 32);
    s->c += s->b;
    s->a += s->d;
    s->b = hash_rotate(s->b, 17) ^ s->c;
    s->d = hash_rotate(s->d, 21) ^ s->a;
    s->c = hash_rotate(s->c, 32);
}

static void hash_absorb(HashState *s, uint64_t word)
{
    s->d ^= word;
    hash_round(s);
    s->a ^= word;
}

HashSeed hash_seed_from(const uint8_t random[16])
{
    return (HashSeed){hash_load_le(random, 8), hash_load_le(random + 8, 8)};
}

uint64_t hash_span(HashSeed seed, Span s)
{
    const uint8_t *p = (const uint8_t *)s.p;
    size_t tail = s.n % 8;
    HashState state = {
        seed.k0 ^ 0x736f6d6570736575u,
        seed.k1 ^ 0x646f72616e646f6du,
        seed.k0 ^ 0x6c7967656e657261u,
        seed.k1 ^ 0x7465646279746573u,
    };

    for (size_t at = 0; at + 8 <= s.n; at += 8) {
        hash_absorb(&state, hash_load_le(p + at, 8));
    }
    /* The last word holds the bytes left over and, on top, the length modulo 256. */
    hash_absorb(&state,
                (uint64_t)s.n << 56 | (tail == 0 ? 0 : hash_load_le(p + (s.n - tail), tail)));
    state.c ^= 0xFF;
    hash_round(&state);
    hash_round(&state);
    hash_round(&state);
    return state.a ^ state.b ^ state.c ^ state.d;
}
