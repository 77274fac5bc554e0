/* json/schema/run_leaf.h: checks of one value that lead to no other subschema; both engines use
 * them. Inside json/schema only. */
#pragma once

#include "base/error.h"
#include "base/utf8.h"
#include "json/schema/run.h"

/* Reads a number without exponent as its floor and whether that is all of it; false if it is not so
 * simple. */
TW_INLINE bool run_small_number(const char *p, uint32_t n, int64_t *ret_floor, bool *ret_exact)
{
    const char *end = p + n;
    bool is_negative = *p == '-';
    int64_t value = 0;
    bool exact = true;

    p += is_negative;
    /* Longer ones might not fit; with 17 characters nothing can overflow. */
    if (end - p > 17) {
        return false;
    }
    for (; p < end && *p >= '0' && *p <= '9'; p++) {
        value = value * 10 + (*p - '0');
    }
    if (p < end && *p == '.') {
        for (p++; p < end && *p >= '0' && *p <= '9'; p++) {
            exact &= *p == '0';
        }
    }
    if (p != end) {
        return false;
    }
    if (is_negative) {
        value = exact ? -value : -value - 1;
    }
    *ret_floor = value;
    *ret_exact = exact;
    return true;
}

/* The number at hand, read when the first bound asks for it. */
typedef struct RunNumber {
    enum {
        RUN_NUMBER_UNREAD,
        RUN_NUMBER_SMALL,
        RUN_NUMBER_OTHER
    } state;
    bool is_exact;
    int64_t floor;
} RunNumber;

TW_INLINE int run_compare(SchemaCheck *k, const JsonNode *json, const SchemaBound *bound,
                          RunNumber *number)
{
    if (number->state == RUN_NUMBER_UNREAD) {
        number->state =
            run_small_number(k->text + json->start, json->size, &number->floor, &number->is_exact)
                ? RUN_NUMBER_SMALL
                : RUN_NUMBER_OTHER;
    }
    if (TW_LIKELY(bound->is_small && number->state == RUN_NUMBER_SMALL)) {
        if (number->floor != bound->whole) {
            return number->floor < bound->whole ? -1 : 1;
        }
        return number->is_exact ? 0 : 1;
    }
    run_charge(k, 4 + ((json->size + bound->value.node->size) >> 3));
    return json_number_compare(run_value(k, json), bound->value);
}

TW_INLINE bool run_is_whole(SchemaCheck *k, const JsonNode *json)
{
    if (TW_LIKELY((json->tag & JSON_NODE_INTEGER) != 0)) {
        return true;
    }
    run_charge(k, json->size >> 3);
    return json_number_is_whole(run_value(k, json));
}

TW_INLINE size_t run_length(SchemaCheck *k, const JsonNode *json)
{
    if ((json->tag & JSON_NODE_ESCAPED) != 0) {
        run_charge(k, json->size >> 3);
        return json_string_length(run_value(k, json));
    }
    run_charge(k, json->size >> 6);
    return utf8_count(k->text + json->start + 1, json->size - 2);
}

/* Often the number of bytes decides. */
TW_INLINE bool run_length_holds(SchemaCheck *k, const SchemaOp *op, const JsonNode *json)
{
    uint32_t n_bytes = json->size - 2;
    size_t n;

    if (TW_LIKELY(n_bytes >= op->c && n_bytes <= op->b)) {
        return true;
    }
    n = run_length(k, json);
    return n >= op->a && n <= op->b;
}

/* Does the pattern occur in the string? SCHEMA_E_INVALID if not. */
int run_matches(SchemaCheck *k, uint32_t regex, const JsonNode *json);

TW_INLINE int run_is_chosen(SchemaCheck *k, const SchemaOp *op, const JsonNode *json)
{
    const char *end;
    StrKey key;
    Span text;
    int r = run_text(k, json, true, &text, &end);

    if (TW_UNLIKELY(r != 0)) {
        return err_pass(r);
    }
    key = strtable_key(text.p, (uint32_t)text.n, end);
    return strtable_find(&k->schema->tables[op->a], &key) == STRTABLE_NONE ? SCHEMA_E_INVALID : 0;
}

/* The ops whose own cost is far above that of a call. */
int run_slow_leaf_op(SchemaCheck *k, const SchemaOp *op, const JsonNode *json);

/* Does the number lie in the range? False also where the bounds have to be asked one by one: a
 * number with a fraction is surely inside only if the next whole number is, too. */
TW_INLINE bool run_in_range(const SchemaCheck *k, const SchemaOp *op, const JsonNode *json)
{
    const SchemaRange *range = &k->schema->ranges[op->a];
    int64_t floor;
    bool exact;

    return run_small_number(k->text + json->start, json->size, &floor, &exact) &&
           floor >= range->least && floor <= range->most - !exact;
}

/* Ops that look at one value and lead nowhere else. */
TW_INLINE int run_leaf_op(SchemaCheck *k, const SchemaOp *op, const JsonNode *json,
                          RunNumber *number)
{
    const SchemaBound *bounds = k->schema->bounds;
    bool holds;

    switch ((SchemaOpCode)op->code) {
    case SCHEMA_OP_WHOLE:
        holds = run_is_whole(k, json);
        break;
    case SCHEMA_OP_RANGE:
        return 0;
    case SCHEMA_OP_LENGTH:
        holds = run_length_holds(k, op, json);
        break;
    case SCHEMA_OP_MINIMUM:
        holds = run_compare(k, json, &bounds[op->a], number) >= 0;
        break;
    case SCHEMA_OP_MAXIMUM:
        holds = run_compare(k, json, &bounds[op->a], number) <= 0;
        break;
    case SCHEMA_OP_EXCLUSIVE_MINIMUM:
        holds = run_compare(k, json, &bounds[op->a], number) > 0;
        break;
    case SCHEMA_OP_EXCLUSIVE_MAXIMUM:
        holds = run_compare(k, json, &bounds[op->a], number) < 0;
        break;
    case SCHEMA_OP_ENUM_STRINGS:
        return run_is_chosen(k, op, json);
    default:
        return run_slow_leaf_op(k, op, json);
    }
    return holds ? 0 : SCHEMA_E_INVALID;
}
