/* Objects in the full engine. */
#include <errno.h>

#include "base/error.h"
#include "json/schema/run_full.h"
#include "json/schema/run_leaf.h"

/* Nodes lead to nodes: all functions below are one recursion, which run_enter bounds by
 * LIMIT_SCHEMA_FRAMES. NOLINTBEGIN(misc-no-recursion) */

/* What one pass over the members has found out. */
typedef struct FullMembers {
    const SchemaObjectPlan *plan;
    const SchemaNode *node;
    size_t track;
    uint64_t seen;  /* bit set of names, if there are at most 64 */
    size_t seen_at; /* otherwise in k->words */
} FullMembers;

static void full_see(SchemaCheck *k, FullMembers *m, uint32_t index)
{
    if (TW_LIKELY(m->plan->n_words <= 1)) {
        m->seen |= (uint64_t)1 << index;
    } else {
        full_mark(k, m->seen_at, index);
    }
}

static bool full_was_seen(const SchemaCheck *k, const FullMembers *m, uint32_t index)
{
    return m->plan->n_words <= 1 ? ((m->seen >> index) & 1u) != 0
                                 : full_is_marked(k, m->seen_at, index);
}

static int full_patterns(SchemaCheck *k, const FullMembers *m, const JsonNode *key, bool *matched)
{
    int bad = 0;

    for (uint32_t i = 0; i < m->plan->n_patterns; i++) {
        const SchemaPatternRule *rule = &m->plan->patterns[i];
        int r = run_matches(k, rule->regex, key);

        if (r == SCHEMA_E_INVALID) {
            continue;
        }
        if (r != 0) {
            return r;
        }
        *matched = true;
        r = full_part(k, m->node, SCHEMA_KW_PATTERN_PROPERTIES, rule->node, key + 1);
        if (full_stops(k, r)) {
            return r;
        }
        bad |= r;
    }
    return bad;
}

static int full_name(SchemaCheck *k, const FullMembers *m, const JsonNode *key)
{
    bool was_in_name = k->is_in_name;
    int r;

    k->is_in_name = true;
    r = full_part(k, m->node, SCHEMA_KW_PROPERTY_NAMES, m->plan->property_names, key);
    k->is_in_name = was_in_name;
    return r;
}

static int full_member(SchemaCheck *k, FullMembers *m, const JsonNode *key, uint32_t ordinal)
{
    const SchemaObjectPlan *plan = m->plan;
    bool matched = false;
    const char *end;
    uint32_t index;
    StrKey name;
    Span text;
    int bad = 0;
    int r = run_text(k, key, true, &text, &end);

    if (TW_UNLIKELY(r != 0)) {
        return r;
    }
    name = strtable_key(text.p, (uint32_t)text.n, end);
    index = strtable_find(&plan->table, &name);
    if (index != STRTABLE_NONE) {
        full_see(k, m, index);
        if (plan->children[index] != SCHEMA_NONE) {
            matched = true;
            bad = full_part(k, m->node, SCHEMA_KW_PROPERTIES, plan->children[index], key + 1);
            if (full_stops(k, bad)) {
                return bad;
            }
        }
    }
    if (plan->n_patterns > 0) {
        r = full_patterns(k, m, key, &matched);
        if (full_stops(k, r)) {
            return r;
        }
        bad |= r;
    }
    if (!matched && plan->additional != SCHEMA_NONE) {
        matched = true;
        r = full_part(k, m->node, SCHEMA_KW_ADDITIONAL_PROPERTIES, plan->additional, key + 1);
        if (full_stops(k, r)) {
            return r;
        }
        bad |= r;
    }
    if (matched && m->track != RUN_NO_TRACK) {
        full_mark(k, m->track, ordinal);
    }
    if (plan->property_names != SCHEMA_NONE) {
        r = full_name(k, m, key);
        if (full_stops(k, r)) {
            return r;
        }
        bad |= r;
    }
    return bad;
}

/* Are all required names there? */
static int full_required(SchemaCheck *k, const FullMembers *m, const JsonNode *json)
{
    const SchemaObjectPlan *plan = m->plan;
    int bad = 0;

    for (uint32_t i = 0; i < plan->n_words; i++) {
        uint64_t seen = plan->n_words <= 1 ? m->seen : k->words[m->seen_at + i];
        uint64_t missing = plan->required[i] & ~seen;

        if (TW_LIKELY(missing == 0)) {
            continue;
        }
        bad = SCHEMA_E_INVALID;
        for (uint32_t bit = 0; bit < 64; bit++) {
            if (((missing >> bit) & 1u) != 0) {
                char name[REPORT_TEXT_BYTES];

                report(k, m->node, SCHEMA_KW_REQUIRED, json, "missing property \"%s\"",
                       report_text(plan->names[i * 64 + bit], name));
            }
        }
    }
    return bad;
}

static int full_dependent(SchemaCheck *k, const FullMembers *m, const SchemaDependent *rule,
                          const JsonNode *json)
{
    int bad = 0;

    run_charge(k, rule->n_required);
    for (uint32_t i = 0; i < rule->n_required; i++) {
        char name[REPORT_TEXT_BYTES];
        char trigger[REPORT_TEXT_BYTES];

        if (full_was_seen(k, m, rule->required[i])) {
            continue;
        }
        bad = SCHEMA_E_INVALID;
        report(k, m->node, (SchemaKeyword)rule->keyword, json,
               "missing property \"%s\", needed where \"%s\" is present",
               report_text(m->plan->names[rule->required[i]], name),
               report_text(m->plan->names[rule->trigger], trigger));
    }
    if (rule->node != SCHEMA_NONE) {
        int r = full_same(k, rule->node, json, m->track);

        return r == 0 ? bad : r;
    }
    return bad;
}

static int full_dependents(SchemaCheck *k, const FullMembers *m, const JsonNode *json)
{
    int bad = 0;

    run_charge(k, m->plan->n_dependents);
    for (uint32_t i = 0; i < m->plan->n_dependents; i++) {
        const SchemaDependent *rule = &m->plan->dependents[i];
        int r;

        if (!full_was_seen(k, m, rule->trigger)) {
            continue;
        }
        r = full_dependent(k, m, rule, json);
        if (full_stops(k, r)) {
            return r;
        }
        bad |= r;
    }
    return bad;
}

static int full_members(SchemaCheck *k, FullMembers *m, const JsonNode *json)
{
    const JsonNode *end = json + json->skip;
    const JsonNode *next;
    uint32_t ordinal = 0;
    int bad = 0;
    int r;

    for (const JsonNode *key = json + 1; key < end; key = next, ordinal++) {
        next = key + 1 + key[1].skip;
        r = full_member(k, m, key, ordinal);
        if (full_stops(k, r)) {
            return r;
        }
        bad |= r;
    }
    r = full_required(k, m, json);
    if (full_stops(k, r)) {
        return r;
    }
    bad |= r;
    if (m->plan->n_dependents > 0) {
        r = full_dependents(k, m, json);
        if (full_stops(k, r)) {
            return r;
        }
        bad |= r;
    }
    return bad;
}

int full_object(SchemaCheck *k, const SchemaNode *node, const SchemaOp *op, const JsonNode *json,
                size_t track)
{
    const SchemaObjectPlan *plan = &k->schema->objects[op->a];
    FullMembers m = {.plan = plan, .node = node, .track = track};
    uint32_t n = json->tag >> JSON_NODE_KIND_BITS;
    size_t n_before = k->n_words;
    int bad = 0;
    int r;

    if (TW_UNLIKELY(n < plan->min_properties || n > plan->max_properties)) {
        report_op(k, node, op, json, n);
        if (full_stops(k, SCHEMA_E_INVALID)) {
            return SCHEMA_E_INVALID;
        }
        bad = SCHEMA_E_INVALID;
    }
    if (!plan->walks_members) {
        return bad;
    }
    run_charge_walk(k, json);
    run_charge(k, plan->n_words);
    if (TW_UNLIKELY(plan->n_words > 1)) {
        r = run_push_words(k, plan->n_words, &m.seen_at);
        if (r != 0) {
            return err_pass(r);
        }
    }
    r = full_members(k, &m, json);
    k->n_words = n_before;
    return r == 0 ? bad : r;
}

/* NOLINTEND(misc-no-recursion) */
