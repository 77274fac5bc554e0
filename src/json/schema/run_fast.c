/* The fast engine: what every value goes through first. Stops at the first failure and keeps
 * nothing. An object costs one look-up and one test of the kind per member; a scalar costs a frame
 * only if its subschema leads on to others. */
#include <errno.h>

#include "base/error.h"
#include "json/schema/run_leaf.h"

/* Nodes lead to nodes: all functions below are one recursion, which run_enter bounds by
 * LIMIT_SCHEMA_FRAMES. NOLINTBEGIN(misc-no-recursion) */

/* A scalar whose subschema leads nowhere else. */
static TW_NOINLINE int fast_leaf(SchemaCheck *k, const SchemaNode *node, const JsonNode *json)
{
    const SchemaOp *op = &k->schema->ops[node->ops[json->tag & JSON_NODE_KIND_MASK]];
    RunNumber number = {.state = RUN_NUMBER_UNREAD};

    for (; op->code != SCHEMA_OP_END; op++) {
        int r;

        if (op->code == SCHEMA_OP_RANGE) {
            if (TW_LIKELY(run_in_range(k, op, json))) {
                op += op->b;
            }
            continue;
        }
        r = run_leaf_op(k, op, json, &number);
        if (TW_UNLIKELY(r != 0)) {
            return r;
        }
    }
    return 0;
}

TW_INLINE uint32_t fast_action(const SchemaPart *part, const JsonNode *json)
{
    return part->actions[json->tag & JSON_NODE_KIND_MASK];
}

/* An array whose elements need nothing but the right kind; false if there is more to it. */
TW_INLINE bool fast_is_flat_array(SchemaCheck *k, const SchemaOp *op, const JsonNode *json)
{
    const SchemaArrayPlan *plan = &k->schema->arrays[op->a];
    uint32_t n = json->tag >> JSON_NODE_KIND_BITS;
    const JsonNode *end = json + json->skip;

    if (n < plan->min_items || n > plan->max_items) {
        return false;
    }
    run_charge(k, n);
    for (const JsonNode *at = json + 1; at < end; at += at->skip) {
        if (fast_action(&plan->items_part, at) != SCHEMA_ACTION_DONE) {
            return false;
        }
    }
    return true;
}

static int fast_quick_object(SchemaCheck *k, const SchemaObjectPlan *plan, const JsonNode *json);

static TW_NOINLINE int fast_quick_choice(SchemaCheck *k, const SchemaOp *op, const JsonNode *json)
{
    return run_is_chosen(k, op, json);
}

/* The commonest small checks, a length, a range, an array of numbers. Every call in it is its last
 * act, so that it saves no register. What is not settled here goes the ordinary way. */
static TW_NOINLINE int fast_quick(SchemaCheck *k, const SchemaNode *node, const JsonNode *json)
{
    uint32_t kind = json->tag & JSON_NODE_KIND_MASK;
    const SchemaOp *op = &k->schema->ops[node->ops[kind]];
    uint32_t n_bytes = json->size - 2;

    if (kind >= JSON_ARRAY) {
        if (kind == JSON_OBJECT) {
            return fast_quick_object(k, &k->schema->objects[op->a], json);
        }
        return fast_is_flat_array(k, op, json) ? 0 : run_fast(k, node, json);
    }
    if (op->code == SCHEMA_OP_LENGTH && n_bytes >= op->c && n_bytes <= op->b &&
        op[1].code == SCHEMA_OP_END) {
        return 0;
    }
    if (op->code == SCHEMA_OP_RANGE && op[1 + op->b].code == SCHEMA_OP_END &&
        run_in_range(k, op, json)) {
        return 0;
    }
    if (op->code == SCHEMA_OP_ENUM_STRINGS && op[1].code == SCHEMA_OP_END) {
        return fast_quick_choice(k, op, json);
    }
    return fast_leaf(k, node, json);
}

/* A part of the value. A kind that is right and needs no more costs no call. */
TW_INLINE int fast_part(SchemaCheck *k, const SchemaPart *part, const JsonNode *json)
{
    uint32_t action = fast_action(part, json);

    if (action == SCHEMA_ACTION_DONE) {
        return 0;
    }
    if (action == SCHEMA_ACTION_QUICK) {
        return fast_quick(k, part->node, json);
    }
    return action == SCHEMA_ACTION_NODE ? run_fast(k, part->node, json) : SCHEMA_E_INVALID;
}

/* The same by the node's number, where no part has been prepared. */
TW_INLINE int fast_part_at(SchemaCheck *k, uint32_t id, const JsonNode *json)
{
    const SchemaNode *node = &k->schema->nodes[id];
    uint32_t kind = json->tag & JSON_NODE_KIND_MASK;

    if (((node->types >> kind) & 1u) == 0) {
        return SCHEMA_E_INVALID;
    }
    if (kind < JSON_ARRAY && (node->flags & SCHEMA_NODE_LEAF) != 0) {
        run_charge(k, 1 + (json->size >> 6));
        return TW_LIKELY(k->n_steps_left > 0) ? fast_leaf(k, node, json) : SCHEMA_E_LIMIT;
    }
    return run_fast(k, node, json);
}

static int fast_array(SchemaCheck *k, const SchemaOp *op, const JsonNode *json)
{
    const SchemaArrayPlan *plan = &k->schema->arrays[op->a];
    uint32_t n = json->tag >> JSON_NODE_KIND_BITS;
    const JsonNode *at = json + 1;
    const JsonNode *end = json + json->skip;

    if (TW_UNLIKELY(n < plan->min_items || n > plan->max_items)) {
        return SCHEMA_E_INVALID;
    }
    run_charge_walk(k, json);
    for (uint32_t i = 0; i < plan->n_prefix && at < end; i++, at += at->skip) {
        int r = fast_part_at(k, plan->prefix[i], at);

        if (TW_UNLIKELY(r != 0)) {
            return r;
        }
    }
    for (; at < end; at += at->skip) {
        int r = fast_part(k, &plan->items_part, at);

        if (TW_UNLIKELY(r != 0)) {
            return r;
        }
    }
    return 0;
}

/* ---- objects ---- */

/* Names seen: in a word while there are at most 64, else in k->words. */
typedef struct FastSeen {
    uint64_t word;
    size_t at; /* RUN_NO_TRACK: the word */
} FastSeen;

static bool fast_was_seen(const SchemaCheck *k, FastSeen seen, uint32_t index)
{
    uint64_t word = seen.at == RUN_NO_TRACK ? seen.word : k->words[seen.at + index / 64];

    return ((word >> (index % 64)) & 1u) != 0;
}

static int fast_dependents(SchemaCheck *k, const SchemaObjectPlan *plan, FastSeen seen,
                           const JsonNode *json)
{
    run_charge(k, plan->n_dependents);
    for (uint32_t i = 0; i < plan->n_dependents; i++) {
        const SchemaDependent *rule = &plan->dependents[i];
        int r;

        if (!fast_was_seen(k, seen, rule->trigger)) {
            continue;
        }
        run_charge(k, rule->n_required);
        for (uint32_t name = 0; name < rule->n_required; name++) {
            if (!fast_was_seen(k, seen, rule->required[name])) {
                return SCHEMA_E_INVALID;
            }
        }
        r = rule->node == SCHEMA_NONE ? 0 : run_fast(k, &k->schema->nodes[rule->node], json);
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

/* The index of a member's name in the plan, the long way: the name is escaped. An error is returned
 * as a negative number, so that no local of the caller needs an address. */
static TW_NOINLINE int64_t fast_find_escaped(SchemaCheck *k, const SchemaObjectPlan *plan,
                                             const JsonNode *key)
{
    const char *readable;
    StrKey name;
    Span text;
    int r = run_decode(k, key, true, &text, &readable);

    if (r != 0) {
        return err_pass(r);
    }
    name = strtable_key(text.p, (uint32_t)text.n, readable);
    return strtable_find(&plan->table, &name);
}

TW_INLINE uint32_t fast_find_plain(const StrTable *table, const char *text, const char *readable,
                                   const JsonNode *key)
{
    StrKey name = strtable_key(text + key->start + 1, key->size - 2, readable);

    return strtable_find(table, &name);
}

/* No patterns, no propertyNames, at most 64 names: nearly every schema of a tool. What the loop
 * needs is held in locals, because the compiler must assume that a call changes *k. */
static TW_NOINLINE int fast_plain_object(SchemaCheck *k, const SchemaObjectPlan *plan,
                                         const JsonNode *json)
{
    const char *text = k->text;
    const char *readable = k->end;
    const JsonNode *end = json + json->skip;
    uint64_t seen = 0;

    for (const JsonNode *key = json + 1; key < end; key += 1 + key[1].skip) {
        const SchemaPart *part = &plan->additional_part;
        uint32_t index;
        int r;

        if (TW_LIKELY((key->tag & JSON_NODE_ESCAPED) == 0)) {
            index = fast_find_plain(&plan->table, text, readable, key);
        } else {
            int64_t found = fast_find_escaped(k, plan, key);

            if (found < 0) {
                return (int)found;
            }
            index = (uint32_t)found;
        }
        if (TW_LIKELY(index != STRTABLE_NONE)) {
            part = &plan->parts[index];
            seen |= part->bit;
        }
        r = fast_part(k, part, key + 1);
        if (TW_UNLIKELY(r != 0)) {
            return r;
        }
    }
    if (TW_UNLIKELY((plan->required[0] & ~seen) != 0)) {
        return SCHEMA_E_INVALID;
    }
    if (TW_UNLIKELY(plan->n_dependents > 0)) {
        return fast_dependents(k, plan, (FastSeen){seen, RUN_NO_TRACK}, json);
    }
    return 0;
}

/* A node that is nothing but a plain object, without the ceremony of run_fast. */
static TW_NOINLINE int fast_quick_object(SchemaCheck *k, const SchemaObjectPlan *plan,
                                         const JsonNode *json)
{
    uint32_t n = json->tag >> JSON_NODE_KIND_BITS;
    int r;

    if (TW_UNLIKELY(n < plan->min_properties || n > plan->max_properties)) {
        return SCHEMA_E_INVALID;
    }
    if (TW_UNLIKELY(k->n_frames >= LIMIT_SCHEMA_FRAMES || k->n_steps_left <= 0)) {
        return SCHEMA_E_LIMIT;
    }
    k->n_frames++;
    run_charge_walk(k, json);
    r = fast_plain_object(k, plan, json);
    k->n_frames--;
    return r;
}

static int fast_patterns(SchemaCheck *k, const SchemaObjectPlan *plan, const JsonNode *key,
                         bool *matched)
{
    for (uint32_t i = 0; i < plan->n_patterns; i++) {
        int r = run_matches(k, plan->patterns[i].regex, key);

        if (r == 0) {
            *matched = true;
            r = fast_part_at(k, plan->patterns[i].node, key + 1);
        } else if (r == SCHEMA_E_INVALID) {
            r = 0;
        }
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

static int fast_member(SchemaCheck *k, const SchemaObjectPlan *plan, FastSeen *seen,
                       const JsonNode *key)
{
    bool is_escaped = (key->tag & JSON_NODE_ESCAPED) != 0;
    int64_t found = is_escaped ? fast_find_escaped(k, plan, key)
                               : fast_find_plain(&plan->table, k->text, k->end, key);
    uint32_t index = (uint32_t)found;
    bool matched = false;
    int r = found < 0 ? (int)found : 0;

    if (r == 0 && index != STRTABLE_NONE) {
        if (seen->at == RUN_NO_TRACK) {
            seen->word |= (uint64_t)1 << index;
        } else {
            k->words[seen->at + index / 64] |= (uint64_t)1 << (index % 64);
        }
        if (plan->children[index] != SCHEMA_NONE) {
            matched = true;
            r = fast_part_at(k, plan->children[index], key + 1);
        }
    }
    if (r == 0) {
        r = fast_patterns(k, plan, key, &matched);
    }
    if (r == 0 && !matched && plan->additional != SCHEMA_NONE) {
        r = fast_part_at(k, plan->additional, key + 1);
    }
    if (r == 0 && plan->property_names != SCHEMA_NONE) {
        r = fast_part_at(k, plan->property_names, key);
    }
    return r;
}

/* The long way, for the other plans. */
static int fast_other_object(SchemaCheck *k, const SchemaObjectPlan *plan, const JsonNode *json)
{
    const JsonNode *end = json + json->skip;
    FastSeen seen = {.word = 0, .at = RUN_NO_TRACK};
    size_t n_before = k->n_words;
    int r;

    run_charge(k, plan->n_words);
    r = plan->n_words > 1 ? run_push_words(k, plan->n_words, &seen.at) : 0;

    for (const JsonNode *key = json + 1; r == 0 && key < end; key += 1 + key[1].skip) {
        r = fast_member(k, plan, &seen, key);
    }
    for (uint32_t i = 0; r == 0 && i < plan->n_words; i++) {
        uint64_t word = seen.at == RUN_NO_TRACK ? seen.word : k->words[seen.at + i];

        r = (plan->required[i] & ~word) == 0 ? 0 : SCHEMA_E_INVALID;
    }
    if (r == 0) {
        r = fast_dependents(k, plan, seen, json);
    }
    k->n_words = n_before;
    return r;
}

static int fast_object(SchemaCheck *k, const SchemaOp *op, const JsonNode *json)
{
    const SchemaObjectPlan *plan = &k->schema->objects[op->a];
    uint32_t n = json->tag >> JSON_NODE_KIND_BITS;

    if (TW_UNLIKELY(n < plan->min_properties || n > plan->max_properties)) {
        return SCHEMA_E_INVALID;
    }
    run_charge_walk(k, json);
    if (TW_LIKELY(plan->is_plain)) {
        return fast_plain_object(k, plan, json);
    }
    return plan->walks_members ? fast_other_object(k, plan, json) : 0;
}

/* ---- combinations ---- */

static int fast_contains(SchemaCheck *k, const SchemaOp *op, const JsonNode *json)
{
    const JsonNode *end = json + json->skip;
    uint32_t n_found = 0;

    run_charge_walk(k, json);
    for (const JsonNode *at = json + 1; at < end; at += at->skip) {
        int r = fast_part_at(k, op->a, at);

        if (r != 0 && r != SCHEMA_E_INVALID) {
            return r;
        }
        n_found += r == 0;
        if (n_found >= op->b && op->c == UINT32_MAX) {
            return 0;
        }
    }
    return n_found >= op->b && n_found <= op->c ? 0 : SCHEMA_E_INVALID;
}

static int fast_all(SchemaCheck *k, const SchemaOp *op, const JsonNode *json)
{
    int r = 0;

    for (uint32_t i = 0; r == 0 && i < op->b; i++) {
        r = fast_part_at(k, k->schema->lists[op->a + i], json);
    }
    return r;
}

/* How many alternatives match: stops at enough, since no more are asked for. */
static int fast_count(SchemaCheck *k, const SchemaOp *op, const JsonNode *json, uint32_t enough,
                      uint32_t *ret)
{
    *ret = 0;
    for (uint32_t i = 0; i < op->b && *ret < enough; i++) {
        int r = fast_part_at(k, k->schema->lists[op->a + i], json);

        if (r != 0 && r != SCHEMA_E_INVALID) {
            return r;
        }
        *ret += r == 0;
    }
    return 0;
}

static int fast_choose(SchemaCheck *k, const SchemaOp *op, const JsonNode *json)
{
    uint32_t n_found;
    int r = fast_count(k, op, json, op->code == SCHEMA_OP_ANY ? 1 : 2, &n_found);

    if (r != 0) {
        return r;
    }
    return n_found == 1 ? 0 : SCHEMA_E_INVALID;
}

static int fast_not(SchemaCheck *k, const SchemaOp *op, const JsonNode *json)
{
    int r = fast_part_at(k, op->a, json);

    if (r == 0 || r == SCHEMA_E_INVALID) {
        return r == 0 ? SCHEMA_E_INVALID : 0;
    }
    return r;
}

static int fast_if(SchemaCheck *k, const SchemaOp *op, const JsonNode *json)
{
    uint32_t next;
    int r;

    if (op->b == SCHEMA_NONE && op->c == SCHEMA_NONE) {
        return 0;
    }
    r = fast_part_at(k, op->a, json);
    if (r != 0 && r != SCHEMA_E_INVALID) {
        return r;
    }
    next = r == 0 ? op->b : op->c;
    return next == SCHEMA_NONE ? 0 : fast_part_at(k, next, json);
}

/* Ops other than the three that decide the speed; kept out of run_fast so that its frame stays
 * small. */
static TW_NOINLINE int fast_other_op(SchemaCheck *k, const SchemaOp *op, const JsonNode *json)
{
    RunNumber number = {.state = RUN_NUMBER_UNREAD};
    uint32_t first;
    uint32_t second;

    switch ((SchemaOpCode)op->code) {
    case SCHEMA_OP_CONTAINS:
        return fast_contains(k, op, json);
    case SCHEMA_OP_UNIQUE:
        return run_unique(k, json, &first, &second);
    case SCHEMA_OP_DYNAMIC_REF:
        return run_fast(k, &k->schema->nodes[run_dynamic_target(k, op)], json);
    case SCHEMA_OP_ALL:
        return fast_all(k, op, json);
    case SCHEMA_OP_ANY:
    case SCHEMA_OP_ONE:
        return fast_choose(k, op, json);
    case SCHEMA_OP_NOT:
        return fast_not(k, op, json);
    case SCHEMA_OP_IF:
        return fast_if(k, op, json);
    default:
        run_charge(k, json->size >> 6);
        return run_leaf_op(k, op, json, &number);
    }
}

int run_fast(SchemaCheck *k, const SchemaNode *node, const JsonNode *json)
{
    uint32_t kind = json->tag & JSON_NODE_KIND_MASK;
    const SchemaOp *op = &k->schema->ops[node->ops[kind]];
    uint32_t scope;
    int r = 0;

    if (TW_UNLIKELY(((node->types >> kind) & 1u) == 0)) {
        return SCHEMA_E_INVALID;
    }
    if (TW_UNLIKELY((node->flags & SCHEMA_NODE_TRACKS) != 0)) {
        return run_full(k, node, json, RUN_NO_TRACK);
    }
    if (!run_enter(k, node, &scope)) {
        return SCHEMA_E_LIMIT;
    }
    for (; r == 0 && op->code != SCHEMA_OP_END; op++) {
        if (op->code == SCHEMA_OP_OBJECT) {
            r = fast_object(k, op, json);
        } else if (op->code == SCHEMA_OP_ARRAY) {
            r = fast_array(k, op, json);
        } else if (op->code == SCHEMA_OP_REF) {
            r = fast_part_at(k, op->a, json);
        } else {
            r = fast_other_op(k, op, json);
        }
    }
    run_leave(k, scope);
    return r;
}

/* NOLINTEND(misc-no-recursion) */
