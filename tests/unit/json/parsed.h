/* tests/unit/json/parsed.h: a text with its index, for tests that want a value and not the parsing.
 */
#pragma once

#include "support/cmocka.h"

#include "base/arena.h"
#include "json/json.h"

/* SPAN for static tables, where C17 wants no cast. NUL bytes inside count. */
#define SPAN_INIT(literal)                                                                         \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

typedef struct Parsed {
    Arena arena;
    JsonDoc doc;
    JsonValue root;
} Parsed;

/* Borrows text until parsed_free; fails the test if it is not JSON. */
TW_INLINE void parsed_init(Parsed *p, Span text, const JsonLimits *limits)
{
    Diag diag = DIAG_NULL;
    int r;

    arena_init(&p->arena, (size_t)1 << 30);
    r = json_parse(&p->doc, &p->arena, text.p, text.n, limits, &diag);
    if (r != 0) {
        fail_msg("not parsed (%d): %s, at %zu in %.*s", r, diag.message, diag.offset,
                 (int)(text.n < 200 ? text.n : 200), text.p);
    }
    p->root = json_root(&p->doc);
}

/* As parsed_init, for a literal or other NUL-terminated text. */
TW_INLINE void parsed_str(Parsed *p, const char *text)
{
    parsed_init(p, span_from_str(text), NULL);
}

TW_INLINE void parsed_free(Parsed *p)
{
    arena_deinit(&p->arena);
}

/* The next number of a fixed sequence (splitmix64): the same on every machine and in every run. */
TW_INLINE uint64_t next_random(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;

    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}
