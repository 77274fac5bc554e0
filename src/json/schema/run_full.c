/* The full engine: knows which members were evaluated, for unevaluatedItems and
 * unevaluatedProperties, and can collect errors instead of stopping at the first. The fast engine
 * (run_fast.c) enters it at nodes that need tracking, and a second pass runs it to find words for
 * what the first pass refused.
 *
 * A track is the index of a bit set in k->words, one bit for each element or member of the value at
 * hand. Subschemas for the same value share their parent's track; a branch that may fail gets its
 * own, which is merged if it succeeds.
 */
#include "json/schema/run_full.h"

#include <errno.h>

#include "base/error.h"
#include "json/schema/run_leaf.h"

/* Nodes lead to nodes: all functions below are one recursion, which run_enter bounds by
 * LIMIT_SCHEMA_FRAMES. NOLINTBEGIN(misc-no-recursion) */

/* A part of the value: it has its own members, so no track. */
int full_part(SchemaCheck *k, const SchemaNode *parent, SchemaKeyword keyword, uint32_t id,
              const JsonNode *json)
{
    const SchemaNode *node = &k->schema->nodes[id];

    if ((node->flags & SCHEMA_NODE_FALSE) != 0) {
        report_false(k, parent, keyword, json);
        return SCHEMA_E_INVALID;
    }
    return run_full(k, node, json, RUN_NO_TRACK);
}

/* The same value, and it must hold. */
int full_same(SchemaCheck *k, uint32_t id, const JsonNode *json, size_t track)
{
    return run_full(k, &k->schema->nodes[id], json, track);
}

/* The same value, and it may fail: nothing is reported, and what it evaluated counts only on
 * success. */
static int full_branch(SchemaCheck *k, uint32_t id, const JsonNode *json, size_t track)
{
    size_t n_before = k->n_words;
    size_t own = RUN_NO_TRACK;
    int r = 0;

    if (track != RUN_NO_TRACK) {
        run_charge(k, full_track_words(json));
        r = run_push_words(k, full_track_words(json), &own);
        if (r != 0) {
            return err_pass(r);
        }
    }
    k->n_muted++;
    r = run_full(k, &k->schema->nodes[id], json, own);
    k->n_muted--;
    for (size_t i = 0; r == 0 && own != RUN_NO_TRACK && i < full_track_words(json); i++) {
        k->words[track + i] |= k->words[own + i];
    }
    k->n_words = n_before;
    return r;
}

static int full_array(SchemaCheck *k, const SchemaNode *node, const SchemaOp *op,
                      const JsonNode *json, size_t track)
{
    const SchemaArrayPlan *plan = &k->schema->arrays[op->a];
    uint32_t n = json->tag >> JSON_NODE_KIND_BITS;
    const JsonNode *at = json + 1;
    const JsonNode *end = json + json->skip;
    int bad = 0;

    if (TW_UNLIKELY(n < plan->min_items || n > plan->max_items)) {
        report_op(k, node, op, json, n);
        if (full_stops(k, SCHEMA_E_INVALID)) {
            return SCHEMA_E_INVALID;
        }
        bad = SCHEMA_E_INVALID;
    }
    run_charge_walk(k, json);
    for (uint32_t i = 0; at < end; at += at->skip, i++) {
        bool is_prefix = i < plan->n_prefix;
        uint32_t child = is_prefix ? plan->prefix[i] : plan->items;
        int r;

        if (child == SCHEMA_NONE) {
            break;
        }
        r = full_part(k, node,
                      (SchemaKeyword)(is_prefix ? plan->prefix_keyword : plan->items_keyword),
                      child, at);
        if (full_stops(k, r)) {
            return r;
        }
        bad |= r;
        if (track != RUN_NO_TRACK) {
            full_mark(k, track, i);
        }
    }
    return bad;
}

static int full_contains(SchemaCheck *k, const SchemaNode *node, const SchemaOp *op,
                         const JsonNode *json, size_t track)
{
    const JsonNode *end = json + json->skip;
    uint32_t n_found = 0;
    uint32_t i = 0;

    run_charge_walk(k, json);
    for (const JsonNode *at = json + 1; at < end; at += at->skip, i++) {
        int r = full_branch(k, op->a, at, RUN_NO_TRACK);

        if (r == 0) {
            n_found++;
            if (track != RUN_NO_TRACK) {
                full_mark(k, track, i);
            } else if (op->c == UINT32_MAX && n_found >= op->b) {
                return 0;
            }
        } else if (r != SCHEMA_E_INVALID) {
            return r;
        }
    }
    if (n_found >= op->b && n_found <= op->c) {
        return 0;
    }
    report_op(k, node, op, json, n_found);
    return SCHEMA_E_INVALID;
}

static int full_unique_op(SchemaCheck *k, const SchemaNode *node, const JsonNode *json)
{
    uint32_t first;
    uint32_t second;
    int r = run_unique(k, json, &first, &second);

    if (r == SCHEMA_E_INVALID) {
        report(k, node, SCHEMA_KW_UNIQUE_ITEMS, json, "items must differ, but %u and %u are equal",
               (unsigned)first, (unsigned)second);
    }
    return r;
}

static int full_all(SchemaCheck *k, const SchemaOp *op, const JsonNode *json, size_t track)
{
    int bad = 0;

    for (uint32_t i = 0; i < op->b; i++) {
        int r = full_same(k, k->schema->lists[op->a + i], json, track);

        if (full_stops(k, r)) {
            return r;
        }
        bad |= r;
    }
    return bad;
}

/* Says that no alternative fits, and what is wrong with the one that comes nearest. */
static void full_explain_branches(SchemaCheck *k, const SchemaNode *node, const SchemaOp *op,
                                  const JsonNode *json)
{
    const JsonNode *branch_before = k->branch;
    uint32_t score_before = k->score;
    uint32_t best_score = UINT32_MAX;
    uint32_t best = 0;

    report_op(k, node, op, json, 0);
    if (!k->is_collecting || k->n_muted > 0) {
        return;
    }
    for (uint32_t i = 0; i < op->b; i++) {
        k->branch = json;
        k->score = 0;
        (void)full_branch(k, k->schema->lists[op->a + i], json, RUN_NO_TRACK);
        if (k->score < best_score) {
            best_score = k->score;
            best = i;
        }
    }
    k->branch = branch_before;
    k->score = score_before;
    (void)run_full(k, &k->schema->nodes[k->schema->lists[op->a + best]], json, RUN_NO_TRACK);
}

static int full_any(SchemaCheck *k, const SchemaNode *node, const SchemaOp *op,
                    const JsonNode *json, size_t track)
{
    bool found = false;

    for (uint32_t i = 0; i < op->b; i++) {
        int r = full_branch(k, k->schema->lists[op->a + i], json, track);

        if (r == 0) {
            found = true;
            /* With a track every branch counts: each may evaluate other members. */
            if (track == RUN_NO_TRACK) {
                return 0;
            }
        } else if (r != SCHEMA_E_INVALID) {
            return r;
        }
    }
    if (!found) {
        full_explain_branches(k, node, op, json);
    }
    return found ? 0 : SCHEMA_E_INVALID;
}

static int full_one(SchemaCheck *k, const SchemaNode *node, const SchemaOp *op,
                    const JsonNode *json, size_t track)
{
    uint32_t first = UINT32_MAX;

    for (uint32_t i = 0; i < op->b; i++) {
        int r = full_branch(k, k->schema->lists[op->a + i], json, track);

        if (r == 0 && first != UINT32_MAX) {
            report(k, node, SCHEMA_KW_ONE_OF, json,
                   "matches alternatives %u and %u, but must match only one", (unsigned)first,
                   (unsigned)i);
            return SCHEMA_E_INVALID;
        }
        if (r == 0) {
            first = i;
        } else if (r != SCHEMA_E_INVALID) {
            return r;
        }
    }
    if (first != UINT32_MAX) {
        return 0;
    }
    full_explain_branches(k, node, op, json);
    return SCHEMA_E_INVALID;
}

static int full_not(SchemaCheck *k, const SchemaNode *node, const SchemaOp *op,
                    const JsonNode *json)
{
    int r = full_branch(k, op->a, json, RUN_NO_TRACK);

    if (r == SCHEMA_E_INVALID) {
        return 0;
    }
    if (r == 0) {
        report_op(k, node, op, json, 0);
        return SCHEMA_E_INVALID;
    }
    return r;
}

static int full_if(SchemaCheck *k, const SchemaOp *op, const JsonNode *json, size_t track)
{
    uint32_t next;
    int r;

    if (op->b == SCHEMA_NONE && op->c == SCHEMA_NONE && track == RUN_NO_TRACK) {
        return 0;
    }
    r = full_branch(k, op->a, json, track);
    if (r != 0 && r != SCHEMA_E_INVALID) {
        return r;
    }
    next = r == 0 ? op->b : op->c;
    return next == SCHEMA_NONE ? 0 : full_same(k, next, json, track);
}

/* Members or elements that nothing has evaluated yet; only in the full engine, where there is a
 * track. */
static int full_unevaluated(SchemaCheck *k, const SchemaNode *node, const SchemaOp *op,
                            const JsonNode *json, size_t track)
{
    bool is_object = op->code == SCHEMA_OP_UNEVALUATED_PROPERTIES;
    const JsonNode *end = json + json->skip;
    uint32_t i = 0;
    int bad = 0;

    run_charge_walk(k, json);
    for (const JsonNode *at = json + 1; at < end; at += at->skip, i++) {
        int r = 0;

        at += is_object;
        if (!full_is_marked(k, track, i)) {
            r = full_part(k, node, (SchemaKeyword)op->keyword, op->a, at);
            full_mark(k, track, i);
        }
        if (full_stops(k, r)) {
            return r;
        }
        bad |= r;
    }
    return bad;
}

static int full_op(SchemaCheck *k, const SchemaNode *node, const SchemaOp *op, const JsonNode *json,
                   size_t track)
{
    RunNumber number = {.state = RUN_NUMBER_UNREAD};
    int r;

    switch ((SchemaOpCode)op->code) {
    case SCHEMA_OP_OBJECT:
        return full_object(k, node, op, json, track);
    case SCHEMA_OP_ARRAY:
        return full_array(k, node, op, json, track);
    case SCHEMA_OP_CONTAINS:
        return full_contains(k, node, op, json, track);
    case SCHEMA_OP_UNIQUE:
        return full_unique_op(k, node, json);
    case SCHEMA_OP_REF:
        return full_same(k, op->a, json, track);
    case SCHEMA_OP_DYNAMIC_REF:
        return full_same(k, run_dynamic_target(k, op), json, track);
    case SCHEMA_OP_ALL:
        return full_all(k, op, json, track);
    case SCHEMA_OP_ANY:
        return full_any(k, node, op, json, track);
    case SCHEMA_OP_ONE:
        return full_one(k, node, op, json, track);
    case SCHEMA_OP_NOT:
        return full_not(k, node, op, json);
    case SCHEMA_OP_IF:
        return full_if(k, op, json, track);
    case SCHEMA_OP_UNEVALUATED_ITEMS:
    case SCHEMA_OP_UNEVALUATED_PROPERTIES:
        return full_unevaluated(k, node, op, json, track);
    default:
        run_charge(k, json->size >> 6);
        r = run_leaf_op(k, op, json, &number);
        if (r == SCHEMA_E_INVALID) {
            report_op(k, node, op, json, 0);
        }
        return r;
    }
}

static int full_ops(SchemaCheck *k, const SchemaNode *node, const JsonNode *json, size_t track)
{
    const SchemaOp *op = &k->schema->ops[node->ops[json->tag & JSON_NODE_KIND_MASK]];
    int bad = 0;

    for (; op->code != SCHEMA_OP_END; op++) {
        int r = full_op(k, node, op, json, track);

        if (full_stops(k, r)) {
            return r;
        }
        bad |= r;
    }
    return bad;
}

/* A node that tracks begins a set of its own: it does not see what its neighbours evaluated, but
 * they see what it did. */
static int full_tracked(SchemaCheck *k, const SchemaNode *node, const JsonNode *json, size_t track)
{
    size_t n_before = k->n_words;
    size_t own;
    int r;

    run_charge(k, full_track_words(json));
    r = run_push_words(k, full_track_words(json), &own);
    if (r != 0) {
        return err_pass(r);
    }
    r = full_ops(k, node, json, own);
    for (size_t i = 0; track != RUN_NO_TRACK && i < full_track_words(json); i++) {
        k->words[track + i] |= k->words[own + i];
    }
    k->n_words = n_before;
    return r;
}

int run_full(SchemaCheck *k, const SchemaNode *node, const JsonNode *json, size_t track)
{
    uint32_t kind = json->tag & JSON_NODE_KIND_MASK;
    uint32_t scope;
    int r;

    if (((node->types >> kind) & 1u) == 0) {
        report_type(k, node, json);
        return SCHEMA_E_INVALID;
    }
    if (!run_enter(k, node, &scope)) {
        return SCHEMA_E_LIMIT;
    }
    if ((node->flags & SCHEMA_NODE_TRACKS) != 0 && kind >= JSON_ARRAY) {
        r = full_tracked(k, node, json, track);
    } else {
        r = full_ops(k, node, json, track);
    }
    run_leave(k, scope);
    return r;
}

int run_collect(SchemaCheck *k)
{
    int r;

    k->is_collecting = true;
    r = run_full(k, k->schema->nodes, k->root, RUN_NO_TRACK);
    k->is_collecting = false;
    return k->is_out_of_memory ? err_raise(-ENOMEM) : r;
}

/* NOLINTEND(misc-no-recursion) */
