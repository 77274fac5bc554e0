/* Checks of one value that cost enough for a call not to matter. */
#include "json/schema/run_leaf.h"

int run_matches(SchemaCheck *k, uint32_t regex, const JsonNode *json)
{
    Span text;
    const char *end;
    int r = run_text(k, json, false, &text, &end);

    if (r == 0) {
        r = k->n_steps_left > 0
                ? regex_match(&k->schema->regexes[regex], &k->regex, text, &k->n_steps_left)
                : REGEX_E_LIMIT;
    }
    if (r == REGEX_E_NO_MATCH) {
        return SCHEMA_E_INVALID;
    }
    return r == REGEX_E_LIMIT ? SCHEMA_E_LIMIT : r;
}

/* Compares two numbers, without taking them apart where both are short. */
static int run_same_number(SchemaCheck *k, JsonValue listed, const JsonNode *json)
{
    int64_t floors[2];
    bool exact[2];

    if (run_small_number(k->text + json->start, json->size, &floors[0], &exact[0]) &&
        run_small_number(listed.text + listed.node->start, listed.node->size, &floors[1],
                         &exact[1]) &&
        (floors[0] != floors[1] || exact[0] != exact[1] || exact[0])) {
        run_charge(k, 1);
        return floors[0] == floors[1] && exact[0] == exact[1] ? 0 : SCHEMA_E_INVALID;
    }
    return run_same(k, listed, run_value(k, json));
}

static int run_is_listed(SchemaCheck *k, const SchemaOp *op, const JsonNode *json)
{
    JsonKind kind = json_kind(run_value(k, json));
    int r = SCHEMA_E_INVALID;

    run_charge(k, op->b >> 3);
    for (uint32_t i = 0; r == SCHEMA_E_INVALID && i < op->b; i++) {
        JsonValue listed = k->schema->values[op->a + i];

        if (json_kind(listed) != kind) {
            continue;
        }
        if (k->n_steps_left <= 0) {
            return SCHEMA_E_LIMIT;
        }
        r = kind == JSON_NUMBER ? run_same_number(k, listed, json)
                                : run_same(k, listed, run_value(k, json));
    }
    return r;
}

int run_slow_leaf_op(SchemaCheck *k, const SchemaOp *op, const JsonNode *json)
{
    const char *end;
    Span text;
    int r;

    switch ((SchemaOpCode)op->code) {
    case SCHEMA_OP_PATTERN:
        return run_matches(k, op->a, json);
    case SCHEMA_OP_ENUM_VALUES:
        return run_is_listed(k, op, json);
    case SCHEMA_OP_MULTIPLE:
        /* A division for each digit of a long one. */
        run_charge(k, 4 + json->size + (k->schema->bounds[op->a].value.node->size >> 3));
        if (k->n_steps_left <= 0) {
            return SCHEMA_E_LIMIT;
        }
        return json_number_is_multiple(run_value(k, json), k->schema->bounds[op->a].value)
                   ? 0
                   : SCHEMA_E_INVALID;
    default:
        r = run_text(k, json, false, &text, &end);
        if (r != 0) {
            return err_pass(r);
        }
        run_charge(k, 1 + (text.n >> 3));
        return schema_format_check((SchemaFormat)op->a, text) ? 0 : SCHEMA_E_INVALID;
    }
}
