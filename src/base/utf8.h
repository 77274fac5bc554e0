/* base/utf8.h: UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates, nothing above
 * U+10FFFF.
 *
 * Three ways to validate give the same answer; utf8_valid takes the fastest that the machine has,
 * the others can be named so that tests and benchmarks compare them. Thread: any.
 */
#pragma once

#include "base/compiler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum Utf8Path {
    UTF8_PATH_SCALAR, /* one sequence at a time */
    UTF8_PATH_ASCII,  /* skips ASCII in blocks (SSE2, else 8 bytes at a time); the rest as SCALAR */
    UTF8_PATH_AVX2,   /* 64 bytes at a time whatever they hold; x86-64 with AVX2 only */
    UTF8_N_PATHS
} Utf8Path;

/* One byte of a text as a number from 0 to 255. */
TW_INLINE unsigned utf8_byte(const char *p)
{
    return (unsigned char)*p;
}

/* Length, 1 to 4, of the valid sequence at p (p < end); 0 if it is invalid or cut off by end. Looks
 * at the bytes in order and stops at the first wrong one, so it is safe where only a NUL marks the
 * end. */
TW_INLINE unsigned utf8_sequence(const char *p, const char *end)
{
    unsigned lead = utf8_byte(p);
    unsigned low = 0x80;
    unsigned high = 0xBF;
    unsigned length;

    if (lead < 0x80) {
        return 1;
    }
    if (lead < 0xC2 || lead > 0xF4) {
        return 0;
    }
    length = 2u + (lead >= 0xE0) + (lead >= 0xF0);
    if ((size_t)(end - p) < length) {
        return 0;
    }
    /* The range of the second byte is what excludes overlong forms, surrogates and the too large.
     */
    if (lead == 0xE0) {
        low = 0xA0;
    } else if (lead == 0xED) {
        high = 0x9F;
    } else if (lead == 0xF0) {
        low = 0x90;
    } else if (lead == 0xF4) {
        high = 0x8F;
    }
    if (utf8_byte(p + 1) < low || utf8_byte(p + 1) > high) {
        return 0;
    }
    if (length > 2 && (utf8_byte(p + 2) & 0xC0) != 0x80) {
        return 0;
    }
    if (length > 3 && (utf8_byte(p + 3) & 0xC0) != 0x80) {
        return 0;
    }
    return length;
}

/* The code unit of half a surrogate pair in the form of json_string_exact, the three bytes that it
 * would have if it were a character, at p (p < end); 0 if there is none. */
TW_INLINE unsigned utf8_surrogate(const char *p, const char *end)
{
    if (end - p < 3 || utf8_byte(p) != 0xED || (utf8_byte(p + 1) & 0xE0) != 0xA0 ||
        (utf8_byte(p + 2) & 0xC0) != 0x80) {
        return 0;
    }
    return 0xD000 | (utf8_byte(p + 1) & 0x3F) << 6 | (utf8_byte(p + 2) & 0x3F);
}

/* Whether the n bytes at p (may be NULL if n is 0) are valid. If not, *ret_bad (optional) is the
 * offset of the first byte of the first invalid sequence: all before it is valid. */
bool utf8_valid(const char *p, size_t n, size_t *ret_bad);

/* As utf8_valid, by one path; the caller has asked utf8_has_path. */
bool utf8_valid_by(Utf8Path path, const char *p, size_t n, size_t *ret_bad);

/* Whether this machine can take the path. */
bool utf8_has_path(Utf8Path path);

/* Code points in valid text. (In any text: bytes that are not continuation bytes.) */
size_t utf8_count(const char *p, size_t n);

/* Makes UTF-8 of the n bytes at p, text of json_string_exact: half of a surrogate pair becomes
 * U+FFFD, two that belong together become their character. Returns how many bytes it has now, never
 * more than n. What is wrong in another way stays as it is. */
size_t utf8_mend(char *p, size_t n);

/* Writes the sequence of code_point; returns its length, or 0 (nothing written) for a surrogate and
 * above U+10FFFF. */
unsigned utf8_encode(uint32_t code_point, char out[4]);
