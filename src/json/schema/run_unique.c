/* uniqueItems. Small arrays are compared pairwise; for larger ones a hash finds the candidates, so
 * that a long array costs time in proportion to its length. */
#include "json/schema/run.h"

#include <errno.h>

#include "base/error.h"
#include "json/decimal.h"

/* Up to here comparing all pairs is faster than hashing. */
#define UNIQUE_PAIRWISE 8

/* Containers further inside count by kind and size only; equal values still hash equally. No text
 * of ours is nested deeper. */
#define UNIQUE_HASH_DEPTH LIMIT_JSON_DEPTH

/* The hash has no secret: values made to collide are compared one by one, which is charged for and
 * ends in SCHEMA_E_LIMIT. */
static uint64_t unique_mix(uint64_t h, uint64_t value)
{
    h = (h ^ value) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

/* Equal numbers have the same digits and the same power of ten, however they are spelt. */
static uint64_t unique_hash_number(SchemaCheck *k, const JsonNode *json)
{
    Decimal d = decimal_of(run_value(k, json));
    size_t n = decimal_n_digits(&d);
    uint64_t h = JSON_NUMBER;
    uint64_t digits = 0;

    run_charge(k, 2 + (json->size >> 2));
    for (size_t i = 0; i < n; i++) {
        digits = digits * 10 + decimal_digit(&d, i);
        if (i % 16 == 15) {
            h = unique_mix(h, digits);
            digits = 0;
        }
    }
    /* Zero has one spelling here: no sign, no power. */
    return n == 0 ? h : unique_mix(unique_mix(h, digits), (uint64_t)d.point * 2 + d.negative);
}

static int unique_hash(SchemaCheck *k, const JsonNode *json, uint32_t depth, uint64_t *ret);

/* The slot in `table` for the member whose name is `key`: empty, or that of an earlier duplicate. A
 * slot is two words: half of the name's hash with the name's distance from the object, and what the
 * member adds to the object's hash. */
static size_t unique_member_slot(SchemaCheck *k, const JsonNode *object, const JsonNode *key,
                                 uint64_t name, size_t table, size_t n_slots)
{
    size_t slot = (size_t)name & (n_slots - 1);

    for (;; slot = (slot + 1) & (n_slots - 1)) {
        uint64_t word = k->words[table + 2 * slot];

        run_charge(k, 1);
        if (word == 0 || k->n_steps_left <= 0 ||
            (word >> 32 == name >> 32 &&
             json_string_same(run_value(k, object + (word & UINT32_MAX)), run_value(k, key)))) {
            return table + 2 * slot;
        }
    }
}

/* The sum of the members' hashes, because members have no order; the last of duplicates counts.
 * Bounded by UNIQUE_HASH_DEPTH. NOLINTNEXTLINE(misc-no-recursion) */
static int unique_hash_object(SchemaCheck *k, const JsonNode *json, uint32_t depth, uint64_t *ret)
{
    uint32_t n = json->tag >> JSON_NODE_KIND_BITS;
    const JsonNode *end = json + json->skip;
    size_t n_before = k->n_words;
    size_t n_slots = 4;
    size_t table;
    int r;

    *ret = JSON_OBJECT;
    while (n_slots < (size_t)n * 2) {
        n_slots *= 2;
    }
    r = run_push_words(k, 2 * n_slots, &table);
    for (const JsonNode *key = json + 1; r == 0 && key < end; key += 1 + key[1].skip) {
        uint64_t name = equals_hash_string(run_value(k, key));
        uint64_t value = 0;
        size_t slot;

        run_charge(k, 2 + (key->size >> 3));
        r = unique_hash(k, key + 1, depth + 1, &value);
        slot = unique_member_slot(k, json, key, name, table, n_slots);
        value = unique_mix(name, value);
        *ret += value - k->words[slot + 1];
        k->words[slot] = (name >> 32 << 32) | (uint64_t)(key - json);
        k->words[slot + 1] = value;
    }
    k->n_words = n_before;
    return r;
}

/* Bounded by UNIQUE_HASH_DEPTH. NOLINTNEXTLINE(misc-no-recursion) */
static int unique_hash(SchemaCheck *k, const JsonNode *json, uint32_t depth, uint64_t *ret)
{
    uint32_t kind = json->tag & JSON_NODE_KIND_MASK;
    const JsonNode *end = json + json->skip;
    uint64_t h;

    run_charge(k, 1);
    if (k->n_steps_left <= 0) {
        return SCHEMA_E_LIMIT;
    }
    switch (kind) {
    case JSON_NUMBER:
        *ret = unique_hash_number(k, json);
        return 0;
    case JSON_STRING:
        run_charge(k, json->size >> 3);
        *ret = equals_hash_string(run_value(k, json));
        return 0;
    case JSON_ARRAY:
        h = unique_mix(JSON_ARRAY, json->tag >> JSON_NODE_KIND_BITS);
        for (const JsonNode *at = json + 1; depth < UNIQUE_HASH_DEPTH && at < end; at += at->skip) {
            uint64_t item = 0;
            int r = unique_hash(k, at, depth + 1, &item);

            if (r != 0) {
                return r;
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

static int unique_pairwise(SchemaCheck *k, const JsonNode *array, uint32_t *ret_first,
                           uint32_t *ret_second)
{
    const JsonNode *end = array + array->skip;
    uint32_t i = 0;

    for (const JsonNode *a = array + 1; a < end; a += a->skip, i++) {
        uint32_t j = i + 1;

        for (const JsonNode *b = a + a->skip; b < end; b += b->skip, j++) {
            int r = (a->tag & JSON_NODE_KIND_MASK) == (b->tag & JSON_NODE_KIND_MASK)
                        ? run_same(k, run_value(k, a), run_value(k, b))
                        : SCHEMA_E_INVALID;

            if (r == 0) {
                *ret_first = i;
                *ret_second = j;
                return SCHEMA_E_INVALID;
            }
            if (r != SCHEMA_E_INVALID) {
                return r;
            }
        }
    }
    return 0;
}

/* A slot holds 32 bits of the hash and, from 1, the item's distance from the array in nodes. */
static int unique_by_hash(SchemaCheck *k, const JsonNode *array, size_t table, size_t n_slots,
                          uint32_t *ret_first, uint32_t *ret_second)
{
    const JsonNode *end = array + array->skip;

    for (const JsonNode *at = array + 1; at < end; at += at->skip) {
        uint64_t hash = 0;
        size_t slot;
        int r = unique_hash(k, at, 0, &hash);

        if (r != 0) {
            return r;
        }
        slot = (size_t)hash & (n_slots - 1);
        for (; k->words[table + slot] != 0; slot = (slot + 1) & (n_slots - 1)) {
            const JsonNode *other = array + (k->words[table + slot] & UINT32_MAX);

            run_charge(k, 1);
            r = k->words[table + slot] >> 32 == hash >> 32
                    ? run_same(k, run_value(k, other), run_value(k, at))
                    : SCHEMA_E_INVALID;
            if (r == 0) {
                uint32_t i = 0;

                for (const JsonNode *p = array + 1; p <= at; p += p->skip, i++) {
                    *ret_first = p == other ? i : *ret_first;
                }
                *ret_second = i - 1;
                return SCHEMA_E_INVALID;
            }
            if (r != SCHEMA_E_INVALID || k->n_steps_left <= 0) {
                return r != SCHEMA_E_INVALID ? r : SCHEMA_E_LIMIT;
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
    run_charge(k, n_slots / 8);
    r = run_push_words(k, n_slots, &table);
    if (r != 0) {
        return err_pass(r);
    }
    r = unique_by_hash(k, array, table, n_slots, ret_first, ret_second);
    k->n_words = n_before;
    return r;
}
