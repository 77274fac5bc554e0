/* The engine for any x86-64: 16 bytes at a time. */
#include "json/index.h"

#include <string.h>

#include "json/escape_table.h"
#include "json/index_x86.h"

#if TW_X86

#define CORE(name) index_sse2_##name
#define CORE_TARGET

TW_INLINE const char *index_sse2_skip_plain(const char *p, const char *end)
{
    while (end - p >= 16) {
        unsigned special = index_x86_special(p);

        if (special != 0) {
            return p + __builtin_ctz(special);
        }
        p += 16;
    }
    return index_x86_skip_plain_tail(p, end);
}

/* The bits of the 16 bytes at p. */
TW_INLINE IndexBlock index_sse2_quarter(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    __m128i slash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    __m128i other = _mm_cmplt_epi8(v, _mm_set1_epi8(0x20));

    return (IndexBlock){.slashes = (unsigned)_mm_movemask_epi8(slash),
                        .stops = (unsigned)_mm_movemask_epi8(_mm_or_si128(quote, other))};
}

TW_INLINE IndexBlock index_sse2_block(const char *p)
{
    IndexBlock a = index_sse2_quarter(p);
    IndexBlock b = index_sse2_quarter(p + 16);
    IndexBlock c = index_sse2_quarter(p + 32);
    IndexBlock d = index_sse2_quarter(p + 48);

    return (IndexBlock){.slashes = a.slashes | b.slashes << 16 | c.slashes << 32 | d.slashes << 48,
                        .stops = a.stops | b.stops << 16 | c.stops << 32 | d.stops << 48};
}

static const char *index_sse2_skip_text(const char *p, const char *end)
{
    INDEX_X86_SKIP_TEXT(p, end, index_sse2_block);
}

TW_INLINE const char *index_sse2_skip_space(const char *p, const char *end)
{
    return index_x86_skip_space(p, end);
}

TW_INLINE const char *index_sse2_number(JsonIndexRun *run, const char *p, uint32_t *ret_tag)
{
    return index_x86_number(run, p, ret_tag);
}

TW_INLINE const char *index_sse2_short_string(const char *p, const char *end, size_t guess)
{
    return index_x86_short_string(p, end, guess);
}

#include "json/index_core.h"

int json_index_sse2(JsonIndexRun *run)
{
    return index_sse2_run_either(run);
}

#else

int json_index_sse2(JsonIndexRun *run)
{
    return json_index_portable(run);
}

#endif
