/* The engine for x86-64 with AVX2: 32 bytes at a time. Only called where the processor has it. */
#include "json/index.h"

#include <string.h>

#include "json/escape_table.h"
#include "json/index_x86.h"

#if TW_X86

#include <immintrin.h>

#define CORE(name)  index_avx2_##name
#define CORE_TARGET TW_TARGET("avx2,bmi")

CORE_TARGET TW_INLINE unsigned index_avx2_special(const char *p)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i quote = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('"'));
    __m256i slash = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\'));
    /* Signed: controls, and everything beyond ASCII. */
    __m256i other = _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), v);

    return (unsigned)_mm256_movemask_epi8(_mm256_or_si256(_mm256_or_si256(quote, slash), other));
}

CORE_TARGET TW_INLINE const char *index_avx2_skip_plain(const char *p, const char *end)
{
    /* Most strings are short, and 16 bytes answer sooner than 32. */
    if (TW_LIKELY(end - p >= 16)) {
        unsigned special = index_x86_special(p);

        if (TW_LIKELY(special != 0)) {
            return p + __builtin_ctz(special);
        }
        p += 16;
    }
    while (end - p >= 32) {
        unsigned special = index_avx2_special(p);

        if (special != 0) {
            return p + __builtin_ctz(special);
        }
        p += 32;
    }
    if (end - p >= 16) {
        unsigned special = index_x86_special(p);

        if (special != 0) {
            return p + __builtin_ctz(special);
        }
        p += 16;
    }
    return index_x86_skip_plain_tail(p, end);
}

/* The bits of the 32 bytes at p. */
CORE_TARGET TW_INLINE IndexBlock index_avx2_half(const char *p)
{
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)p);
    __m256i quote = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('"'));
    __m256i slash = _mm256_cmpeq_epi8(v, _mm256_set1_epi8('\\'));
    __m256i other = _mm256_cmpgt_epi8(_mm256_set1_epi8(0x20), v);

    return (IndexBlock){.slashes = (unsigned)_mm256_movemask_epi8(slash),
                        .stops = (unsigned)_mm256_movemask_epi8(_mm256_or_si256(quote, other))};
}

CORE_TARGET TW_INLINE IndexBlock index_avx2_block(const char *p)
{
    IndexBlock low = index_avx2_half(p);
    IndexBlock high = index_avx2_half(p + 32);

    return (IndexBlock){.slashes = low.slashes | high.slashes << 32,
                        .stops = low.stops | high.stops << 32};
}

CORE_TARGET static const char *index_avx2_skip_text(const char *p, const char *end)
{
    INDEX_X86_SKIP_TEXT(p, end, index_avx2_block);
}

CORE_TARGET TW_INLINE const char *index_avx2_skip_space(const char *p, const char *end)
{
    return index_x86_skip_space(p, end);
}

CORE_TARGET TW_INLINE const char *index_avx2_number(JsonIndexRun *run, const char *p,
                                                    uint32_t *ret_tag)
{
    return index_x86_number(run, p, ret_tag);
}

CORE_TARGET TW_INLINE const char *index_avx2_short_string(const char *p, const char *end,
                                                          size_t guess)
{
    return index_x86_short_string(p, end, guess);
}

#include "json/index_core.h"

CORE_TARGET int json_index_avx2(JsonIndexRun *run)
{
    return index_avx2_run_either(run);
}

#else

int json_index_avx2(JsonIndexRun *run)
{
    return json_index_portable(run);
}

#endif
