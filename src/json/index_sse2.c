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
