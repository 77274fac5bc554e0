/* The parts of the indexer that are not worth compiling once per engine: escapes, multi-byte UTF-8,
 * unusual numbers, growth. */
#include "json/index.h"

#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "json/escape_table.h"
#include "json/hex.h"

#if TW_X86
#include <emmintrin.h>
#endif

/* A container's count and a node's distances are kept in 29 bits. */
#define INDEX_MAX_NODES (1u << 28)

int json_index_grow(JsonIndexRun *run)
{
    size_t cap = run->cap * 2;
    JsonNode *nodes;

    if (cap > INDEX_MAX_NODES) {
        (void)json_index_fault(run, JSON_FAULT_NODES, run->end);
        return JSON_E_TOO_LARGE;
    }
    nodes = arena_grow(run->arena, run->nodes, run->cap * sizeof(*nodes), cap * sizeof(*nodes));
    if (nodes == NULL) {
        return err_raise(-ENOMEM);
    }
    run->nodes = nodes;
    run->cap = cap;
    return 0;
}

const char *json_index_fault(JsonIndexRun *run, JsonFault fault, const char *at)
{
    run->fault = fault;
    run->fault_at = at;
    return NULL;
}

/* A \u escape stands for a unit of UTF-16, and half of a pair may stand alone: JavaScript and
 * Python write that of text which they cut inside a pair. */
const char *json_index_escape(JsonIndexRun *run, const char *p)
{
    if (run->end - p < 2) {
        return json_index_fault(run, JSON_FAULT_STRING_END, run->end);
    }
    if (p[1] != 'u') {
        return json_index_fault(run, JSON_FAULT_ESCAPE, p + 1);
    }
    for (int i = 2; i < 6; i++) {
        if (p + i >= run->end || hex_digit(p[i]) < 0) {
            return json_index_fault(run, JSON_FAULT_ESCAPE_HEX, p + i);
        }
    }
    return p + 6;
}

#if TW_X86

/* One bit per byte of the 16 at p that is `"`, `\` or a control. */
static unsigned index_text_ends(const char *p)
{
    __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    __m128i slash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(0x1F)), v);

    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, slash), control));
}

#endif

/* The first byte from p on that is `"`, `\` or a control, else end. */
static const char *index_skip_text(const char *p, const char *end)
{
#if TW_X86
    while (end - p >= 16) {
        unsigned ends = index_text_ends(p);

        if (ends != 0) {
            return p + __builtin_ctz(ends);
        }
        p += 16;
    }
#endif
    while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20) {
        p++;
    }
    return p;
}

/* From p to the closing quote, past everything that is not ASCII; NULL with the fault set. */
static const char *index_find_quote(JsonIndexRun *run, const char *p, uint32_t *tag)
{
    for (;;) {
        p = index_skip_text(p, run->end);
        if (p == run->end) {
            return json_index_fault(run, JSON_FAULT_STRING_END, p);
        }
        if (*p == '"') {
            return p;
        }
        if (*p != '\\') {
            return json_index_fault(run, JSON_FAULT_STRING_CONTROL, p);
        }
        *tag |= JSON_NODE_ESCAPED;
        p = run->end - p > 1 && json_simple_escape[(unsigned char)p[1]] != 0
                ? p + 2
                : json_index_escape(run, p);
        if (p == NULL) {
            return NULL;
        }
    }
}

const char *json_index_wide_string(JsonIndexRun *run, const char *p, uint32_t *tag)
{
    const char *quote = index_find_quote(run, p, tag);
    const char *end = quote != NULL ? quote : run->fault_at;
    size_t n_good;

    /* The encoding is checked in one go when the end is known; escapes are ASCII and do no harm. If
     * the string is wrong in two ways, the earlier one is named. */
    if (!utf8_valid(p, (size_t)(end - p), &n_good)) {
        return json_index_fault(run, JSON_FAULT_STRING_UTF8, p + n_good);
    }
    return quote;
}

static const char *index_digits(const char *p, const char *end)
{
    while (p < end && (unsigned char)(*p - '0') <= 9) {
        p++;
    }
    return p;
}

const char *json_index_number(JsonIndexRun *run, const char *p, uint32_t *ret_tag)
{
    const char *end = run->end;
    const char *q = p + (*p == '-');
    const char *digits = q;

    *ret_tag = JSON_NUMBER | JSON_NODE_INTEGER;
    q = index_digits(q, end);
    if (q == digits) {
        return json_index_fault(run, JSON_FAULT_NUMBER_DIGIT, q);
    }
    if (*digits == '0' && q - digits > 1) {
        return json_index_fault(run, JSON_FAULT_NUMBER_ZERO, digits);
    }
    if (q < end && *q == '.') {
        digits = q + 1;
        q = index_digits(digits, end);
        if (q == digits) {
            return json_index_fault(run, JSON_FAULT_NUMBER_FRACTION, q);
        }
        *ret_tag = JSON_NUMBER;
    }
    if (q < end && (*q == 'e' || *q == 'E')) {
        q++;
        if (q < end && (*q == '+' || *q == '-')) {
            q++;
        }
        digits = q;
        q = index_digits(digits, end);
        if (q == digits) {
            return json_index_fault(run, JSON_FAULT_NUMBER_EXPONENT, q);
        }
        *ret_tag = JSON_NUMBER;
    }
    return q;
}
