/* uniqueItems. Small arrays are compared pairwise; for larger ones a hash finds the candidates, so
 * that a long array costs time in proportion to its length. */
#include "json/schema/run.h"

#include <errno.h>

#include "base/error.h"

/* Up to here comparing all pairs is faster than hashing. */
#define UNIQUE_PAIRWISE 8

/* Containers further inside count by kind and size only; equal values still hash equally. */
#define UNIQUE_HASH_DEPTH 4

/* Objects with more members hash by kind only, since members have to be compared with one another
 * to leave out overridden duplicates. */
#define UNIQUE_HASH_MEMBERS 64

static uint64_t unique_mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

static int unique_hash_string(SchemaCheck *k, const JsonNode *json, uint64_t *ret)
{
    uint64_t h = JSON_STRING;
    const char *end;
    Span text;
    int r = run_text(k, json, &text, &end);

    if (r != 0) {
        return err_pass(r);
    }
    h = unique_mix(h, text.n);
    for (size_t i = 0; i < text.n; i += 8) {
        uint64_t word = 0;

        memcpy(&word, text.p + i, text.n - i < 8 ? text.n - i : 8);
        h = unique_mix(h, word);
    }
    *ret = h;
    return 0;
}

/* Equal numbers round to the same double, however they are spelt. */
static uint64_t unique_hash_number(const SchemaCheck *k, const JsonNode *json)
{
    double value = 0;
    uint64_t bits;

    if (json_double(run_value(k, json), &value) != 0) {
        return JSON_NUMBER;
    }
    value += 0.0; /* -0 becomes 0 */
    memcpy(&bits, &value, sizeof(bits));
    return unique_mix(JSON_NUMBER, bits);
}

static int unique_hash(SchemaCheck *k, const JsonNode *json, uint32_t depth, uint64_t *ret);

/* Bounded by UNIQUE_HASH_DEPTH. NOLINTNEXTLINE(misc-no-recursion) */
static int unique_hash_object(SchemaCheck *k, const JsonNode *json, uint32_t depth, uint64_t *ret)
{
    uint64_t names[UNIQUE_HASH_MEMBERS] = {0};
    uint64_t values[UNIQUE_HASH_MEMBERS] = {0};
    const JsonNode *end = json + json->skip;
    uint64_t sum = JSON_OBJECT;
    uint32_t n = 0;

    *ret = sum;
    if ((json->tag >> JSON_NODE_KIND_BITS) > UNIQUE_HASH_MEMBERS) {
        return 0;
    }
    for (const JsonNode *key = json + 1; key < end; key += 1 + key[1].skip, n++) {
        int r = unique_hash_string(k, key, &names[n]);

        if (r == 0) {
            r = unique_hash(k, key + 1, depth + 1, &values[n]);
        }
        if (r != 0) {
            return err_pass(r);
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        bool is_overridden = false;

        for (uint32_t later = i + 1; later < n; later++) {
            is_overridden |= names[i] == names[later];
        }
        /* A sum, because members have no order. */
        sum += is_overridden ? 0 : unique_mix(names[i], values[i]);
    }
    *ret = sum;
    return 0;
}

/* Bounded by UNIQUE_HASH_DEPTH. NOLINTNEXTLINE(misc-no-recursion) */
static int unique_hash(SchemaCheck *k, const JsonNode *json, uint32_t depth, uint64_t *ret)
{
    uint32_t kind = json->tag & JSON_NODE_KIND_MASK;
    const JsonNode *end = json + json->skip;
    uint64_t h;

    switch (kind) {
    case JSON_NUMBER:
        *ret = unique_hash_number(k, json);
        return 0;
    case JSON_STRING:
        return unique_hash_string(k, json, ret);
    case JSON_ARRAY:
        h = unique_mix(JSON_ARRAY, json->tag >> JSON_NODE_KIND_BITS);
        for (const JsonNode *at = json + 1; depth < UNIQUE_HASH_DEPTH && at < end; at += at->skip) {
            uint64_t item = 0;
            int r = unique_hash(k, at, depth + 1, &item);

            if (r != 0) {
                return err_pass(r);
            }
            h = unique_mix(h, item);
        }
        *ret = h;
        return 0;
    case JSON_OBJECT:
        *ret = JSON_OBJECT;
        return depth < UNIQUE_HASH_DEPTH ? unique_hash_object(k, json, depth, ret) : 0;
    default:
        *ret = unique_mix(kind, kind);
        return 0;
    }
}

/* Compares two items and charges for it; *ret_r is SCHEMA_E_LIMIT when there is nothing left to pay
 * with. */
static bool unique_equal(SchemaCheck *k, const JsonNode *a, const JsonNode *b, int *ret_r)
{
    k->n_steps_left -= a->skip < b->skip ? a->skip : b->skip;
    if (k->n_steps_left <= 0) {
        *ret_r = SCHEMA_E_LIMIT;
        return false;
    }
    return json_equals(run_value(k, a), run_value(k, b));
}

static int unique_pairwise(SchemaCheck *k, const JsonNode *array, uint32_t *ret_first,
                           uint32_t *ret_second)
{
    const JsonNode *end = array + array->skip;
    uint32_t i = 0;
    int r = 0;

    for (const JsonNode *a = array + 1; a < end; a += a->skip, i++) {
        uint32_t j = i + 1;

        for (const JsonNode *b = a + a->skip; b < end; b += b->skip, j++) {
            if ((a->tag & JSON_NODE_KIND_MASK) == (b->tag & JSON_NODE_KIND_MASK) &&
                unique_equal(k, a, b, &r)) {
                *ret_first = i;
                *ret_second = j;
                return SCHEMA_E_INVALID;
            }
        }
    }
    return r;
}

/* A slot holds 32 bits of the hash and, from 1, the item's distance from the array in nodes. */
static int unique_by_hash(SchemaCheck *k, const JsonNode *array, size_t table, size_t n_slots,
                          uint32_t *ret_first, uint32_t *ret_second)
{
    const JsonNode *end = array + array->skip;
    int r = 0;

    for (const JsonNode *at = array + 1; at < end; at += at->skip) {
        uint64_t hash = 0;
        size_t slot;

        r = unique_hash(k, at, 0, &hash);
        if (r != 0) {
            return err_pass(r);
        }
        slot = (size_t)hash & (n_slots - 1);
        for (; k->words[table + slot] != 0; slot = (slot + 1) & (n_slots - 1)) {
            const JsonNode *other = array + (k->words[table + slot] & UINT32_MAX);

            if (k->words[table + slot] >> 32 == hash >> 32 && unique_equal(k, other, at, &r)) {
                uint32_t i = 0;

                for (const JsonNode *p = array + 1; p <= at; p += p->skip, i++) {
                    *ret_first = p == other ? i : *ret_first;
                }
                *ret_second = i - 1;
                return SCHEMA_E_INVALID;
            }
            if (r != 0) {
                return r;
            }
        }
        k->words[table + slot] = (hash >> 32 << 32) | (uint64_t)(at - array);
    }
    return 0;
}

int run_unique(SchemaCheck *k, const JsonNode *array, uint32_t *ret_first, uint32_t *ret_second)
{
    uint32_t n = array->tag >> JSON_NODE_KIND_BITS;
    size_t n_before = k->n_words;
    size_t n_slots = 32;
    size_t table;
    int r;

    *ret_first = 0;
    *ret_second = 0;
    if (n <= UNIQUE_PAIRWISE) {
        return unique_pairwise(k, array, ret_first, ret_second);
    }
    while (n_slots < (size_t)n * 2) {
        n_slots *= 2;
    }
    r = run_push_words(k, n_slots, &table);
    if (r != 0) {
        return err_pass(r);
    }
    r = unique_by_hash(k, array, table, n_slots, ret_first, ret_second);
    k->n_words = n_before;
    return r;
}
