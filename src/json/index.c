/* The parts of the indexer that are not worth compiling once per engine: escapes, multi-byte UTF-8,
 * unusual numbers, growth. */
#include "json/index.h"

#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "json/hex.h"

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

/* The four hex digits at p as a number; -1 with the fault set at the first that is none. */
static int32_t index_hex4(JsonIndexRun *run, const char *p)
{
    uint32_t value = 0;

    for (int i = 0; i < 4; i++) {
        int digit = p + i < run->end ? hex_digit(p[i]) : -1;

        if (digit < 0) {
            (void)json_index_fault(run, JSON_FAULT_ESCAPE_HEX, p + i);
            return -1;
        }
        value = value << 4 | (uint32_t)digit;
    }
    return (int32_t)value;
}

const char *json_index_escape(JsonIndexRun *run, const char *p)
{
    int32_t first;
    int32_t second;

    if (run->end - p < 2) {
        return json_index_fault(run, JSON_FAULT_STRING_END, run->end);
    }
    if (p[1] != 'u') {
        return json_index_fault(run, JSON_FAULT_ESCAPE, p + 1);
    }
    first = index_hex4(run, p + 2);
    if (first < 0) {
        return NULL;
    }
    if ((first & 0xF800) != 0xD800) {
        return p + 6;
    }
    if (first >= 0xDC00 || run->end - p < 8 || p[6] != '\\' || p[7] != 'u') {
        return json_index_fault(run, JSON_FAULT_SURROGATE, p);
    }
    second = index_hex4(run, p + 8);
    if (second < 0) {
        return NULL;
    }
    if ((second & 0xFC00) != 0xDC00) {
        return json_index_fault(run, JSON_FAULT_SURROGATE, p);
    }
    return p + 12;
}

const char *json_index_utf8(JsonIndexRun *run, const char *p)
{
    while (p < run->end && (unsigned char)*p >= 0x80) {
        unsigned n = utf8_sequence(p, run->end);

        if (n == 0) {
            return json_index_fault(run, JSON_FAULT_STRING_UTF8, p);
        }
        p += n;
    }
    return p;
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
