#include "base/escape.h"

#include <stdint.h>
#include <string.h>

#if TW_X86
#include <immintrin.h>
#endif

/* The longest escape: \u001f. */
#define ESCAPE_MAX 6

/* A byte value in each byte of a word. */
#define ESCAPE_EACH(byte) (0x0101010101010101u * (uint64_t)(byte))

/* The lead byte of U+2028 and U+2029 (E2 80 A8, E2 80 A9), and of much else that is copied. */
#define ESCAPE_LEAD 0xE2

/* Whether the byte may begin something that is escaped. */
static bool escape_is_special(unsigned char c)
{
    return c < 0x20 || c == '"' || c == '\\' || c == ESCAPE_LEAD;
}

/* Non-zero if a byte of the word is special. (x - 01..) & ~x & 80.. is non-zero iff x has a zero
 * byte.) */
static uint64_t escape_word_is_special(uint64_t word)
{
    uint64_t quote = word ^ ESCAPE_EACH('"');
    uint64_t backslash = word ^ ESCAPE_EACH('\\');
    uint64_t lead = word ^ ESCAPE_EACH(ESCAPE_LEAD);

    return (((word - ESCAPE_EACH(0x20)) & ~word) | ((quote - ESCAPE_EACH(1)) & ~quote) |
            ((backslash - ESCAPE_EACH(1)) & ~backslash) | ((lead - ESCAPE_EACH(1)) & ~lead)) &
           ESCAPE_EACH(0x80);
}

#if TW_X86
/* 0xFF in each byte that is special. */
TW_INLINE __m128i escape_special_of(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1F)), v);
    __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    __m128i backslash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    __m128i lead = _mm_cmpeq_epi8(v, _mm_set1_epi8((char)ESCAPE_LEAD));

    return _mm_or_si128(_mm_or_si128(control, quote), _mm_or_si128(backslash, lead));
}

/* The first of whole 16-byte pieces that holds one, or where they end: four pieces at a time, since
 * most texts are long and plain. */
static size_t escape_skip_plain(Span s, size_t at)
{
    for (; s.n - at >= 64; at += 64) {
        __m128i a = _mm_or_si128(escape_special_of(s.p + at), escape_special_of(s.p + at + 16));
        __m128i b =
            _mm_or_si128(escape_special_of(s.p + at + 32), escape_special_of(s.p + at + 48));

        if (_mm_movemask_epi8(_mm_or_si128(a, b)) != 0) {
            break;
        }
    }
    return at;
}
#endif

/* Offset, from `at` on, of the first special byte; s.n if there is none. */
static size_t escape_find_special(Span s, size_t at)
{
#if TW_X86
    at = escape_skip_plain(s, at);
    for (; s.n - at >= 16; at += 16) {
        unsigned mask = (unsigned)_mm_movemask_epi8(escape_special_of(s.p + at));

        if (mask != 0) {
            return at + (unsigned)__builtin_ctz(mask);
        }
    }
#endif
    for (; s.n - at >= 8; at += 8) {
        uint64_t word;

        memcpy(&word, s.p + at, sizeof(word));
        if (escape_word_is_special(word) != 0) {
            break;
        }
    }
    while (at < s.n && !escape_is_special((unsigned char)s.p[at])) {
        at++;
    }
    return at;
}

/* Bytes, 1 or 3, of the character at `at` if it must be escaped, else 0. */
static size_t escape_length_at(Span s, size_t at)
{
    if ((unsigned char)s.p[at] != ESCAPE_LEAD) {
        return 1;
    }
    if (s.n - at >= 3 && (unsigned char)s.p[at + 1] == 0x80 &&
        ((unsigned char)s.p[at + 2] & 0xFE) == 0xA8) {
        return 3;
    }
    return 0;
}

/* Offset, from `at` on, of the first character to be escaped, and its length; s.n if there is none.
 */
static size_t escape_find(Span s, size_t at, size_t *ret_length)
{
    for (at = escape_find_special(s, at); at < s.n; at = escape_find_special(s, at + 1)) {
        size_t length = escape_length_at(s, at);

        if (length != 0) {
            *ret_length = length;
            break;
        }
    }
    return at;
}

/* Writes the escape for the character at p (found by escape_find) and returns its length. */
static size_t escape_write(char out[ESCAPE_MAX], const char *p)
{
    static const char digits[] = "0123456789abcdef";
    static const char letters[0x20] = {
        ['\b'] = 'b', ['\t'] = 't', ['\n'] = 'n', ['\f'] = 'f', ['\r'] = 'r'};
    unsigned char c = (unsigned char)*p;

    out[0] = '\\';
    if (c == '"' || c == '\\') {
        out[1] = (char)c;
        return 2;
    }
    if (c == ESCAPE_LEAD) {
        memcpy(out + 1, "u202", 4);
        out[5] = (unsigned char)p[2] == 0xA8 ? '8' : '9';
        return 6;
    }
    if (letters[c] != 0) {
        out[1] = letters[c];
        return 2;
    }
    memcpy(out + 1, "u00", 3);
    out[4] = digits[c >> 4];
    out[5] = digits[c & 0xF];
    return 6;
}

int escape_json(Bytes *out, Span s)
{
    size_t n_before = out->n;
    size_t at = 0;

    for (;;) {
        char escaped[ESCAPE_MAX];
        size_t length = 0;
        size_t found = escape_find(s, at, &length);
        size_t n = found < s.n ? escape_write(escaped, s.p + found) : 0;
        /* An escape is never shorter than what it stands for, so room for all the rest of s is
         * never too much, and mostly the only growth. */
        int r = bytes_reserve(out, (s.n - at) - length + n);

        if (r != 0) {
            out->n = n_before;
            return r;
        }
        if (found > at) {
            memcpy(out->data + out->n, s.p + at, found - at);
            out->n += found - at;
        }
        if (found == s.n) {
            return 0;
        }
        memcpy(out->data + out->n, escaped, n);
        out->n += n;
        at = found + length;
    }
}

bool escape_json_needed(Span s)
{
    size_t length;

    return escape_find(s, 0, &length) < s.n;
}
