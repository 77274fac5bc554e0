#include "base/utf8.h"

#include <string.h>

#if TW_X86
#include <immintrin.h>
#endif

/* Below this the set-up of the wide path costs more than it saves. */
#define UTF8_WIDE_MIN 128

/* A byte value in each byte of a word. */
#define UTF8_EACH(byte) (0x0101010101010101u * (uint64_t)(byte))

static uint64_t utf8_load_word(const char *p)
{
    uint64_t word;

    memcpy(&word, p, sizeof(word));
    return word;
}

/* --- Path SCALAR
 * ------------------------------------------------------------------------------------- */

static bool utf8_valid_scalar(const char *p, size_t n, size_t *ret_bad)
{
    size_t at = 0;

    while (at < n) {
        unsigned length = utf8_sequence(p + at, p + n);

        if (length == 0) {
            *ret_bad = at;
            return false;
        }
        at += length;
    }
    return true;
}

/* --- Path ASCII
 * -------------------------------------------------------------------------------------- */

/* How many of the n bytes at p are surely ASCII, in whole blocks and up to the first byte that is
 * not. */
static size_t utf8_skip_ascii(const char *p, size_t n)
{
    size_t at = 0;

#if TW_X86
    for (; n - at >= 64; at += 64) {
        const __m128i *v = (const __m128i *)(const void *)(p + at);
        __m128i a = _mm_or_si128(_mm_loadu_si128(v), _mm_loadu_si128(v + 1));
        __m128i b = _mm_or_si128(_mm_loadu_si128(v + 2), _mm_loadu_si128(v + 3));

        if (_mm_movemask_epi8(_mm_or_si128(a, b)) != 0) {
            break;
        }
    }
    for (; n - at >= 16; at += 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)(p + at));
        unsigned mask = (unsigned)_mm_movemask_epi8(v);

        if (mask != 0) {
            return at + (unsigned)__builtin_ctz(mask);
        }
    }
#endif
    for (; n - at >= 8; at += 8) {
        if ((utf8_load_word(p + at) & UTF8_EACH(0x80)) != 0) {
            break;
        }
    }
    return at;
}

static bool utf8_valid_ascii(const char *p, size_t n, size_t *ret_bad)
{
    size_t at = 0;

    while (at < n) {
        at += utf8_skip_ascii(p + at, n - at);
        /* From here to the next two ASCII bytes in a row: one alone, a space between words of
         * another script, is not worth a new start of the block loop. */
        while (at < n) {
            unsigned length = utf8_sequence(p + at, p + n);

            if (length == 0) {
                *ret_bad = at;
                return false;
            }
            at += length;
            if (length == 1 && n - at >= 8 && utf8_byte(p + at) < 0x80) {
                break;
            }
        }
    }
    return true;
}

/* --- Path AVX2
 * --------------------------------------------------------------------------------------- */

#if TW_X86

/* The classification of Keiser and Lemire ("Validating UTF-8 in less than one instruction per
 * byte", 2021).
 *
 * Every error but one shows in two bytes in a row. Each kind of error gets a bit; three tables of
 * 16 say, for the high half of the first byte, its low half and the high half of the second, which
 * errors that half allows. A bit that survives the AND of the three is an error. The bit
 * UTF8_CONT_PAIR is the exception: two continuation bytes in a row are right exactly where a lead
 * of 3 or 4 bytes stands two or three before, so it is compared with that, not forbidden. */
enum {
    UTF8_TOO_SHORT = 1 << 0,     /* lead, then not a continuation */
    UTF8_TOO_LONG = 1 << 1,      /* ASCII, then a continuation */
    UTF8_OVERLONG_3 = 1 << 2,    /* E0 80..9F */
    UTF8_TOO_LARGE = 1 << 3,     /* F4 90..BF and F5..FF 90..BF */
    UTF8_SURROGATE = 1 << 4,     /* ED A0..BF */
    UTF8_OVERLONG_2 = 1 << 5,    /* C0, C1 */
    UTF8_OVERLONG_4 = 1 << 6,    /* F0 80..8F */
    UTF8_TOO_LARGE_LOW = 1 << 6, /* F5..FF 80..8F: shares the bit, as the first bytes differ */
    UTF8_CONT_PAIR = 1 << 7,
    /* The errors that do not depend on the low half of the first byte. */
    UTF8_ANY_LOW = UTF8_TOO_SHORT | UTF8_TOO_LONG | UTF8_CONT_PAIR,
    UTF8_ABOVE_F4 = UTF8_ANY_LOW | UTF8_TOO_LARGE | UTF8_TOO_LARGE_LOW,
    UTF8_ANY_CONT = UTF8_TOO_LONG | UTF8_OVERLONG_2 | UTF8_CONT_PAIR
};

static const _Alignas(16) uint8_t utf8_first_high[16] = {
    [0x0] = UTF8_TOO_LONG,
    [0x1] = UTF8_TOO_LONG,
    [0x2] = UTF8_TOO_LONG,
    [0x3] = UTF8_TOO_LONG,
    [0x4] = UTF8_TOO_LONG,
    [0x5] = UTF8_TOO_LONG,
    [0x6] = UTF8_TOO_LONG,
    [0x7] = UTF8_TOO_LONG,
    [0x8] = UTF8_CONT_PAIR,
    [0x9] = UTF8_CONT_PAIR,
    [0xA] = UTF8_CONT_PAIR,
    [0xB] = UTF8_CONT_PAIR,
    [0xC] = UTF8_TOO_SHORT | UTF8_OVERLONG_2,
    [0xD] = UTF8_TOO_SHORT,
    [0xE] = UTF8_TOO_SHORT | UTF8_OVERLONG_3 | UTF8_SURROGATE,
    [0xF] = UTF8_TOO_SHORT | UTF8_OVERLONG_4 | UTF8_TOO_LARGE | UTF8_TOO_LARGE_LOW,
};

static const _Alignas(16) uint8_t utf8_first_low[16] = {
    [0x0] = UTF8_ANY_LOW | UTF8_OVERLONG_2 | UTF8_OVERLONG_3 | UTF8_OVERLONG_4,
    [0x1] = UTF8_ANY_LOW | UTF8_OVERLONG_2,
    [0x2] = UTF8_ANY_LOW,
    [0x3] = UTF8_ANY_LOW,
    [0x4] = UTF8_ANY_LOW | UTF8_TOO_LARGE,
    [0x5] = UTF8_ABOVE_F4,
    [0x6] = UTF8_ABOVE_F4,
    [0x7] = UTF8_ABOVE_F4,
    [0x8] = UTF8_ABOVE_F4,
    [0x9] = UTF8_ABOVE_F4,
    [0xA] = UTF8_ABOVE_F4,
    [0xB] = UTF8_ABOVE_F4,
    [0xC] = UTF8_ABOVE_F4,
    [0xD] = UTF8_ABOVE_F4 | UTF8_SURROGATE,
    [0xE] = UTF8_ABOVE_F4,
    [0xF] = UTF8_ABOVE_F4,
};

static const _Alignas(16) uint8_t utf8_second_high[16] = {
    [0x0] = UTF8_TOO_SHORT,
    [0x1] = UTF8_TOO_SHORT,
    [0x2] = UTF8_TOO_SHORT,
    [0x3] = UTF8_TOO_SHORT,
    [0x4] = UTF8_TOO_SHORT,
    [0x5] = UTF8_TOO_SHORT,
    [0x6] = UTF8_TOO_SHORT,
    [0x7] = UTF8_TOO_SHORT,
    [0x8] = UTF8_ANY_CONT | UTF8_OVERLONG_3 | UTF8_OVERLONG_4 | UTF8_TOO_LARGE_LOW,
    [0x9] = UTF8_ANY_CONT | UTF8_OVERLONG_3 | UTF8_TOO_LARGE,
    [0xA] = UTF8_ANY_CONT | UTF8_SURROGATE | UTF8_TOO_LARGE,
    [0xB] = UTF8_ANY_CONT | UTF8_SURROGATE | UTF8_TOO_LARGE,
    [0xC] = UTF8_TOO_SHORT,
    [0xD] = UTF8_TOO_SHORT,
    [0xE] = UTF8_TOO_SHORT,
    [0xF] = UTF8_TOO_SHORT,
};

TW_TARGET("avx2") TW_INLINE __m256i utf8_load_table(const uint8_t table[16])
{
    return _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(const void *)table));
}

TW_TARGET("avx2") TW_INLINE __m256i utf8_high_halves(__m256i v)
{
    return _mm256_and_si256(_mm256_srli_epi16(v, 4), _mm256_set1_epi8(0x0F));
}

/* Non-zero bytes where `now`, coming right after `before`, is wrong. */
TW_TARGET("avx2") TW_INLINE __m256i utf8_errors(__m256i now, __m256i before)
{
    /* The instruction that shifts across vectors works within halves of 16, so it needs the middle.
     */
    __m256i middle = _mm256_permute2x128_si256(before, now, 0x21);
    __m256i back1 = _mm256_alignr_epi8(now, middle, 15);
    __m256i back2 = _mm256_alignr_epi8(now, middle, 14);
    __m256i back3 = _mm256_alignr_epi8(now, middle, 13);
    __m256i low = _mm256_and_si256(back1, _mm256_set1_epi8(0x0F));
    __m256i pairs = _mm256_and_si256(
        _mm256_and_si256(
            _mm256_shuffle_epi8(utf8_load_table(utf8_first_high), utf8_high_halves(back1)),
            _mm256_shuffle_epi8(utf8_load_table(utf8_first_low), low)),
        _mm256_shuffle_epi8(utf8_load_table(utf8_second_high), utf8_high_halves(now)));
    /* Bit 7 is set where a byte two before is at least E0, or one three before at least F0. */
    __m256i third = _mm256_subs_epu8(back2, _mm256_set1_epi8((char)(0xE0 - 0x80)));
    __m256i fourth = _mm256_subs_epu8(back3, _mm256_set1_epi8((char)(0xF0 - 0x80)));
    __m256i wanted =
        _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)UTF8_CONT_PAIR));

    return _mm256_xor_si256(pairs, wanted);
}

/* Given that the bytes before p + at are valid but for a sequence that may be cut off there: where
 * that sequence begins, else at. */
static size_t utf8_boundary(const char *p, size_t at)
{
    if (at >= 1 && utf8_byte(p + at - 1) >= 0xC0) {
        return at - 1;
    }
    if (at >= 2 && utf8_byte(p + at - 2) >= 0xE0) {
        return at - 2;
    }
    if (at >= 3 && utf8_byte(p + at - 3) >= 0xF0) {
        return at - 3;
    }
    return at;
}

/* How many of the n bytes are proved valid: whole sequences, up to some way before the first error,
 * or to the last full block. */
TW_TARGET("avx2") static size_t utf8_skip_valid_avx2(const char *p, size_t n)
{
    __m256i before = _mm256_setzero_si256();
    size_t at = 0;

    while (n - at >= 64) {
        const __m256i *v = (const __m256i *)(const void *)(p + at);
        __m256i a = _mm256_loadu_si256(v);
        __m256i b = _mm256_loadu_si256(v + 1);
        __m256i errors;

        if (_mm256_movemask_epi8(_mm256_or_si256(a, b)) == 0 && utf8_boundary(p, at) == at) {
            /* All of it at once; what came before does not matter behind it. */
            at += utf8_skip_ascii(p + at, n - at);
            before = _mm256_setzero_si256();
            continue;
        }
        errors = _mm256_or_si256(utf8_errors(a, before), utf8_errors(b, a));
        if (!_mm256_testz_si256(errors, errors)) {
            break;
        }
        before = b;
        at += 64;
    }
    return utf8_boundary(p, at);
}

#endif

static bool utf8_valid_avx2(const char *p, size_t n, size_t *ret_bad)
{
#if TW_X86
    size_t skipped = utf8_skip_valid_avx2(p, n);
#else
    size_t skipped = 0;
#endif
    size_t bad;

    /* What is left is the tail of less than a block, or the block with the error. */
    if (utf8_valid_ascii(p + skipped, n - skipped, &bad)) {
        return true;
    }
    *ret_bad = skipped + bad;
    return false;
}

/* ------------------------------------------------------------ */

bool utf8_has_path(Utf8Path path)
{
    return path == UTF8_PATH_AVX2 ? TW_CPU_HAS("avx2") : path < UTF8_N_PATHS;
}

bool utf8_valid_by(Utf8Path path, const char *p, size_t n, size_t *ret_bad)
{
    size_t bad = 0;
    bool valid;

    if (n == 0) {
        return true;
    }
    switch (path) {
    case UTF8_PATH_AVX2:
        valid = utf8_valid_avx2(p, n, &bad);
        break;
    case UTF8_PATH_ASCII:
        valid = utf8_valid_ascii(p, n, &bad);
        break;
    case UTF8_PATH_SCALAR:
    case UTF8_N_PATHS:
    default:
        valid = utf8_valid_scalar(p, n, &bad);
        break;
    }
    if (!valid && ret_bad != NULL) {
        *ret_bad = bad;
    }
    return valid;
}

bool utf8_valid(const char *p, size_t n, size_t *ret_bad)
{
    Utf8Path path = n >= UTF8_WIDE_MIN && TW_CPU_HAS("avx2") ? UTF8_PATH_AVX2 : UTF8_PATH_ASCII;

    return utf8_valid_by(path, p, n, ret_bad);
}

size_t utf8_count(const char *p, size_t n)
{
    size_t n_continuations = 0;
    size_t at = 0;

    /* A continuation byte has bit 7 and not bit 6; the product adds the eight bits up in the top
     * byte. */
    for (; n - at >= 8; at += 8) {
        uint64_t word = utf8_load_word(p + at);
        uint64_t bits = (word >> 7) & ~(word >> 6) & UTF8_EACH(1);

        n_continuations += (bits * UTF8_EACH(1)) >> 56;
    }
    for (; at < n; at++) {
        n_continuations += (utf8_byte(p + at) & 0xC0) == 0x80;
    }
    return n - n_continuations;
}

unsigned utf8_encode(uint32_t code_point, char out[4])
{
    if (code_point < 0x80) {
        out[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (char)(0xC0 | code_point >> 6);
        out[1] = (char)(0x80 | (code_point & 0x3F));
        return 2;
    }
    if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point <= 0xDFFF)) {
        return 0;
    }
    if (code_point < 0x10000) {
        out[0] = (char)(0xE0 | code_point >> 12);
        out[1] = (char)(0x80 | (code_point >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code_point & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code_point >> 18);
    out[1] = (char)(0x80 | (code_point >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code_point >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code_point & 0x3F));
    return 4;
}

size_t utf8_mend(char *p, size_t n)
{
    const char *end = p + n;
    const char *from = p;
    char *to = p;

    while (from < end) {
        unsigned high = utf8_surrogate(from, end);
        unsigned low = (high & 0xFC00) == 0xD800 ? utf8_surrogate(from + 3, end) : 0;

        if (high == 0) {
            *to++ = *from++;
        } else if ((low & 0xFC00) == 0xDC00) {
            to += utf8_encode(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00), to);
            from += 6;
        } else {
            to += utf8_encode(0xFFFD, to);
            from += 3;
        }
    }
    return (size_t)(to - p);
}
