/* json/index_x86.h: what the SSE2 and AVX2 engines share. Private to src/json. */
#pragma once

#include "base/compiler.h"

#if TW_X86

#include <emmintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "json/escape_table.h"
#include "json/index.h"

/* One bit per byte of the 16 at p that ends a run of plain text: `"`, `\`, a control, or not ASCII.
 * A signed comparison with 0x20 finds controls and, being negative, everything beyond ASCII at
 * once. */
TW_INLINE unsigned index_x86_special(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    __m128i slash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    __m128i other = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20));

    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, slash), other));
}

/* The last bytes of a text, fewer than 16, without reading behind it: as part of the last 16, which
 * every text has that comes to these engines (INDEX_X86_MIN_BYTES). */
TW_INLINE const char *index_x86_skip_plain_tail(const char *p, const char *end)
{
    unsigned special = index_x86_special(end - 16) >> (16 - (end - p));

    return special == 0 ? end : p + __builtin_ctz(special);
}

/* What 64 bytes of a string hold: one bit per byte, the lowest for the first. */
typedef struct IndexBlock {
    uint64_t slashes; /* backslashes */
    uint64_t stops;   /* `"`, controls, and what is not ASCII */
} IndexBlock;

#define INDEX_BLOCK_BYTES 64

/* Goes past the two-byte escapes of the block at p, behind which one more byte must be readable:
 * they are taken out of *block, and where another escape begins is a stop. True if the last one
 * reaches over the end of the block. */
TW_INLINE bool index_x86_pass_escapes(const char *p, IndexBlock *block)
{
    unsigned i = 0;

    while (block->slashes != 0) {
        uint64_t both;

        i = (unsigned)__builtin_ctzll(block->slashes);
        both = (uint64_t)3 << i;
        if (TW_UNLIKELY(json_simple_escape[(unsigned char)p[i + 1]] == 0)) {
            block->stops |= (uint64_t)1 << i;
            return false;
        }
        /* What is escaped means nothing, be it a quote or a backslash. */
        block->slashes &= ~both;
        block->stops &= ~both;
    }
    return i == INDEX_BLOCK_BYTES - 1;
}

/* The loop of an engine's skip_text; block_of finds the bits of 64 bytes.
 *
 * Searching from one escape to the next makes each search wait for the one before it, down to the
 * byte behind the backslash. Here where the next block begins is known beforehand (which is why
 * there are branches, and an address that the compiler does not compute from what was found): only
 * the bits of one block depend on each other, and those of the next are found meanwhile. */
#define INDEX_X86_SKIP_TEXT(p, end, block_of)                                                      \
    while ((end) - (p) > INDEX_BLOCK_BYTES) {                                                      \
        IndexBlock block = block_of(p);                                                            \
        bool reaches_over = index_x86_pass_escapes((p), &block);                                   \
                                                                                                   \
        if (TW_UNLIKELY(block.stops != 0)) {                                                       \
            return (p) + __builtin_ctzll(block.stops);                                             \
        }                                                                                          \
        (p) += INDEX_BLOCK_BYTES;                                                                  \
        if (TW_UNLIKELY(reaches_over)) {                                                           \
            (p)++;                                                                                 \
            TW_OPAQUE(p);                                                                          \
        }                                                                                          \
    }                                                                                              \
    return (p)

/* One bit per byte of the 16 at q that is not a digit. */
TW_INLINE uint32_t index_x86_non_digits(const char *q)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)q);
    /* Moves '0'..'9' to the bottom of the signed range, where one comparison finds them. */
    __m128i low = _mm_add_epi8(v, _mm_set1_epi8((char)(-128 - '0')));
    __m128i beyond = _mm_cmpgt_epi8(low, _mm_set1_epi8((char)(-128 + 9)));

    return (uint32_t)_mm_movemask_epi8(beyond);
}

/* Integers and plain fractions that end within 16 bytes, without a loop whose exit cannot be
 * predicted; everything else (exponents, long numbers, all that is wrong) byte by byte. */
TW_INLINE const char *index_x86_number(JsonIndexRun *run, const char *p, uint32_t *ret_tag)
{
    const char *q = p + (*p == '-');
    ptrdiff_t n_seen = run->end - q < 16 ? run->end - q : 16;
    /* The bit behind the last byte seen is set, so that counting stops there. */
    uint32_t others = 1u << n_seen;
    unsigned n_digits;
    unsigned n_fraction;

    others |= n_seen == 16 ? index_x86_non_digits(q)
                           : index_x86_non_digits(run->end - 16) >> (16 - n_seen);
    n_digits = (unsigned)__builtin_ctz(others);
    if (TW_UNLIKELY(n_digits == 0 || n_digits == n_seen || (*q == '0' && n_digits > 1))) {
        return json_index_number(run, p, ret_tag);
    }
    q += n_digits;
    if (*q == '.') {
        n_fraction = (unsigned)__builtin_ctz(others >> (n_digits + 1));
        q += n_fraction + 1;
        if (TW_UNLIKELY(n_fraction == 0 || n_digits + 1 + n_fraction == n_seen ||
                        (*q | 0x20) == 'e')) {
            return json_index_number(run, p, ret_tag);
        }
        *ret_tag = JSON_NUMBER;
        return q;
    }
    if (TW_UNLIKELY((*q | 0x20) == 'e')) {
        return json_index_number(run, p, ret_tag);
    }
    *ret_tag = JSON_NUMBER | JSON_NODE_INTEGER;
    return q;
}

/* A plain string of up to 16 bytes. Where it ends is known only after a load, a comparison and a
 * count, and all that follows would wait for it; so if the guess turns out right, the guess is what
 * the next address is made from, and the processor, having predicted that branch, is already there.
 */
TW_INLINE const char *index_x86_short_string(const char *p, const char *end, size_t guess)
{
    unsigned special;
    size_t size;

    if (TW_UNLIKELY(end - p < 18)) {
        return NULL;
    }
    special = index_x86_special(p + 1);
    size = (size_t)__builtin_ctz(special | 0x10000u) + 2;
    if (size == guess && TW_LIKELY(p[size - 1] == '"')) {
        TW_OPAQUE(guess);
        return p + guess;
    }
    return size < 18 && p[size - 1] == '"' ? p + size : NULL;
}

/* White space in runs of 16: indented JSON is mostly blanks. */
TW_INLINE const char *index_x86_skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) {
        p++;
        while (end - p >= 16) {
            __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
            int blanks = _mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(' ')));

            p += __builtin_ctz(~(unsigned)blanks);
            if (blanks != 0xFFFF) {
                break;
            }
        }
    }
    return p;
}

#endif
