/* Checks of one value that cost enough for a call not to matter. */
#include "json/schema/run_leaf.h"

int run_matches(SchemaCheck *k, uint32_t regex, const JsonNode *json)
{
    Span text;
    const char *end;
    int r = run_text(k, json, &text, &end);

    if (r == 0) {
        r = regex_match(&k->schema->regexes[regex], &k->regex, text);
    }
    if (r == REGEX_E_NO_MATCH) {
        return SCHEMA_E_INVALID;
    }
    return r == REGEX_E_LIMIT ? SCHEMA_E_LIMIT : r;
}

static bool run_is_listed(const SchemaCheck *k, const SchemaOp *op, const JsonNode *json)
{
    for (uint32_t i = 0; i < op->b; i++) {
        if (json_equals(k->schema->values[op->a + i], run_value(k, json))) {
            return true;
        }
    }
    return false;
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
        return run_is_listed(k, op, json) ? 0 : SCHEMA_E_INVALID;
    case SCHEMA_OP_MULTIPLE:
        return json_number_is_multiple(run_value(k, json), k->schema->bounds[op->a].value)
                   ? 0
                   : SCHEMA_E_INVALID;
    default:
        r = run_text(k, json, &text, &end);
        if (r != 0) {
            return err_pass(r);
        }
        return schema_format_check((SchemaFormat)op->a, text) ? 0 : SCHEMA_E_INVALID;
    }
}
