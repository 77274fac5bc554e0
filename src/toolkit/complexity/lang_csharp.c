/* C#.
 *
 * Cyclomatic as Roslyn's code metrics (CA1502): 1 + if, for, foreach, while, do, each case label
 * and default of a switch statement, ?:, && and ||, ??, `?.` and `?[`; catch adds nothing; lambdas
 * and local functions count in the member around them. Beyond it we count each arm of a switch
 * expression but `_`; not counted, as a parser cannot tell: & and | between two bool. Cognitive:
 * the paper; goto 1, patterns (`and`, `or`) and guards 0. Rows: methods, constructors, finalisers,
 * operators, accessors with a body, local functions, lambdas in no member.
 */
#include "toolkit/complexity/rules.h"

const TSLanguage *tree_sitter_c_sharp(void);

/* Its own nesting, but no branch to cyclomatic complexity. */
#define CSHARP_CATCH (RULE_CATCH & ~RULE_CYCLOMATIC)

static const ComplexityRule csharp_nodes[] = {
    {"if_statement", NULL, RULE_IF, "if", {"consequence"}},
    {"for_statement", NULL, RULE_LOOP, "for", {NULL}},
    {"foreach_statement", NULL, RULE_LOOP, "foreach", {NULL}},
    {"while_statement", NULL, RULE_LOOP, "while", {NULL}},
    {"do_statement", NULL, RULE_LOOP, "do", {NULL}},
    {"switch_statement", NULL, RULE_SWITCH, "switch", {NULL}},
    {"switch_expression", NULL, RULE_SWITCH, "switch", {NULL}},
    {"switch_expression_arm", NULL, RULE_CASE | RULE_ASK, NULL, {NULL}},
    {"catch_clause", NULL, CSHARP_CATCH, "catch", {NULL}},
    {"conditional_expression", NULL, RULE_TERNARY, "?:", {NULL}},
    {"conditional_access_expression", NULL, RULE_CYCLOMATIC, NULL, {NULL}},
    {"binary_expression", NULL, RULE_BINARY, NULL, {NULL}},
    {"parenthesized_expression", NULL, RULE_PAREN, NULL, {NULL}},
    {"goto_statement", NULL, RULE_FLAT, "goto", {NULL}},

    {"method_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"constructor_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"destructor_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"operator_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"conversion_operator_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"local_function_statement", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"accessor_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"arrow_expression_clause", "property_declaration", RULE_FUNCTION, NULL, {NULL}},
    {"arrow_expression_clause", "indexer_declaration", RULE_FUNCTION, NULL, {NULL}},
    {"lambda_expression", NULL, RULE_CLOSURE, NULL, {NULL}},
    {"anonymous_method_expression", NULL, RULE_CLOSURE, NULL, {NULL}},
    {"parameter_list", "method_declaration", RULE_PARAMETERS, NULL, {NULL}},
    {"parameter_list", "constructor_declaration", RULE_PARAMETERS, NULL, {NULL}},
    {"parameter_list", "operator_declaration", RULE_PARAMETERS, NULL, {NULL}},
    {"parameter_list", "conversion_operator_declaration", RULE_PARAMETERS, NULL, {NULL}},
    {"parameter_list", "local_function_statement", RULE_PARAMETERS, NULL, {NULL}},
    {"parameter_list", "lambda_expression", RULE_PARAMETERS, NULL, {NULL}},
    {"parameter_list", "anonymous_method_expression", RULE_PARAMETERS, NULL, {NULL}},
    {"implicit_parameter", "lambda_expression", RULE_PARAMETERS, NULL, {NULL}},
    {"class_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"struct_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"record_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"interface_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"property_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"event_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"indexer_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},

    {"comment", NULL, RULE_COMMENT, NULL, {NULL}},
    {"shebang_directive", NULL, RULE_COMMENT, NULL, {NULL}},
    {"string_literal", NULL, RULE_STRING, NULL, {NULL}},
    {"raw_string_literal", NULL, RULE_STRING, NULL, {NULL}},
    {"character_literal", NULL, RULE_STRING, NULL, {NULL}},
    {"boolean_literal", NULL, RULE_STRING, NULL, {NULL}},
    {"interpolated_string_expression", NULL, RULE_TEXT, NULL, {NULL}},
    {"interpolation", NULL, RULE_CODE, NULL, {NULL}},
    {"interpolation_brace", NULL, RULE_SKIP, NULL, {NULL}},
    {"interpolation_format_clause", NULL, RULE_STRING, NULL, {NULL}},
    {"predefined_type", NULL, RULE_OPERATOR, NULL, {NULL}},
    {"modifier", NULL, RULE_OPERATOR, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

static const ComplexityRule csharp_tokens[] = {
    {"else", NULL, RULE_ELSE_TOKEN, "else", {NULL}},
    {"case", "switch_section", RULE_CASE, NULL, {NULL}},
    {"default", "switch_section", RULE_CASE, NULL, {NULL}},
    {"&&", NULL, RULE_AND, "&&", {NULL}},
    {"||", NULL, RULE_OR, "||", {NULL}},
    {"??", NULL, RULE_COALESCE, NULL, {NULL}},
    {"this", NULL, RULE_STRING, NULL, {NULL}},
    {"base", NULL, RULE_STRING, NULL, {NULL}},
    {")", NULL, RULE_CLOSE, NULL, {NULL}},
    {"]", NULL, RULE_CLOSE, NULL, {NULL}},
    {"}", NULL, RULE_CLOSE, NULL, {NULL}},
    {">", "type_argument_list", RULE_CLOSE, NULL, {NULL}},
    {">", "type_parameter_list", RULE_CLOSE, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

/* What has no name of its own, by its kind. */
static bool csharp_name_special(const ComplexityPlace *place, ComplexityName *ret)
{
    TSNode node = place->node;

    if (complexity_node_is(node, "arrow_expression_clause")) {
        /* `int P => 1;` is a getter. */
        ret->name = SPAN("get");
    } else if (complexity_node_is(node, "indexer_declaration")) {
        ret->name = SPAN("this[]");
    } else if (complexity_node_is(node, "operator_declaration")) {
        ret->scope = SPAN("operator");
        ret->name = complexity_node_field_text(node, "operator", place->text);
    } else if (complexity_node_is(node, "conversion_operator_declaration")) {
        ret->scope = SPAN("operator");
        ret->name = complexity_node_field_text(node, "type", place->text);
    } else if (complexity_node_is(node, "destructor_declaration")) {
        ret->name = SPAN("(finalizer)");
    } else {
        return false;
    }
    return true;
}

/* Only what may stand without a body is asked for one. */
static bool csharp_has_body(TSNode node)
{
    return !complexity_node_is(node, "method_declaration") &&
                   !complexity_node_is(node, "constructor_declaration") &&
                   !complexity_node_is(node, "operator_declaration") &&
                   !complexity_node_is(node, "conversion_operator_declaration") &&
                   !complexity_node_is(node, "local_function_statement") &&
                   !complexity_node_is(node, "accessor_declaration")
               ? true
               : !ts_node_is_null(complexity_node_field(node, "body"));
}

static bool csharp_name_of(const ComplexityPlace *place, ComplexityName *ret)
{
    *ret = (ComplexityName){.name = SPAN_NULL};
    if (!csharp_name_special(place, ret)) {
        ret->name = complexity_node_field_text(place->node, "name", place->text);
    }
    return csharp_has_body(place->node);
}

static Span csharp_bound_to(TSNode node, Span text)
{
    return complexity_node_is(node, "variable_declarator") ||
                   complexity_node_is(node, "property_declaration")
               ? complexity_node_field_text(node, "name", text)
               : SPAN_NULL;
}

/* An arm: `_` catches what is left over and decides nothing. */
static bool csharp_counts(const ComplexityPlace *place)
{
    TSNode pattern = complexity_node_named(place->node, 0);
    TSNode next = complexity_node_named(place->node, 1);

    return !complexity_node_is(pattern, "discard") || complexity_node_is(next, "when_clause");
}

/* The last one, if it is `params`, lies in the list without a node around it. */
static uint32_t csharp_parameters(const ComplexityPlace *place)
{
    return complexity_node_is(place->node, "implicit_parameter")
               ? 1
               : complexity_node_count_of(place->node, "parameter") +
                     complexity_node_count_of(place->node, "params");
}

/* Those of an indexer are before its accessors. */
static uint32_t csharp_parameters_of(const ComplexityPlace *place)
{
    TSNode indexer = place->parent;

    if (complexity_node_is(indexer, "accessor_list")) {
        indexer = place->above;
    }
    if (!complexity_node_is(indexer, "indexer_declaration")) {
        return 0;
    }
    return csharp_parameters(
        &(ComplexityPlace){.node = complexity_node_field(indexer, "parameters")});
}

const ComplexityLanguage complexity_language_csharp = {
    .name = SPAN_INIT("csharp"),
    .spellings = "c# cs c-sharp dotnet",
    .extensions = "cs csx",
    .grammar = tree_sitter_c_sharp,
    .nodes = csharp_nodes,
    .tokens = csharp_tokens,
    .separator = ".",
    .name_of = csharp_name_of,
    .counts = csharp_counts,
    .parameters = csharp_parameters,
    .parameters_of = csharp_parameters_of,
    .bound_to = csharp_bound_to,
};
