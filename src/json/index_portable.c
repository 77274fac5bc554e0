/* The engine for every machine: eight bytes at a time where it matters, in plain C. */
#include "json/index.h"

#include <string.h>

#include "json/escape_table.h"

#define CORE(name) index_portable_##name
#define CORE_TARGET

#define ONES  0x0101010101010101u
#define HIGHS 0x8080808080808080u

/* Nonzero if some byte of w is `"`, `\`, a control or not ASCII. Exact per word, not per byte: a
 * borrow can mark a byte above a true hit, so the caller looks at each byte. */
TW_INLINE uint64_t index_portable_special(uint64_t w)
{
    uint64_t quote = w ^ (ONES * '"');
    uint64_t slash = w ^ (ONES * '\\');

    return ((quote - ONES) | (slash - ONES) | (w - ONES * 0x20) | w) & HIGHS;
}

TW_INLINE const char *index_portable_skip_plain(const char *p, const char *end)
{
    while (end - p >= 8) {
        uint64_t w;

        memcpy(&w, p, sizeof(w));
        if (index_portable_special(w) != 0) {
            break;
        }
        p += 8;
    }
    while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20 &&
           (unsigned char)*p < 0x80) {
        p++;
    }
    return p;
}

/* Short steps do not wait for each other: nothing to be gained. */
TW_INLINE const char *index_portable_skip_text(const char *p, const char *end)
{
    (void)end;
    return p;
}

TW_INLINE const char *index_portable_skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')) {
        p++;
    }
    return p;
}

TW_INLINE const char *index_portable_number(JsonIndexRun *run, const char *p, uint32_t *ret_tag)
{
    return json_index_number(run, p, ret_tag);
}

/* A loop over bytes is predicted as it is: no guess needed. */
TW_INLINE const char *index_portable_short_string(const char *p, const char *end, size_t guess)
{
    (void)p;
    (void)end;
    (void)guess;
    return NULL;
}

#include "json/index_core.h"

int json_index_portable(JsonIndexRun *run)
{
    return index_portable_run_either(run);
}
