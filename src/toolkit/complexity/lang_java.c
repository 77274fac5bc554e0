/* Java.
 *
 * Cyclomatic as Checkstyle: 1 + if, for, while, do, case (each label, not default), guard (when),
 * catch, ?:, && and ||; lambdas count in the method around them, methods of local and anonymous
 * classes only in their own row. Cognitive: the paper; what is in a local or anonymous class counts
 * in the method around it too. Rows: methods and constructors with a body, static and instance
 * initialisers, lambdas of fields.
 */
#include "toolkit/complexity/rules.h"

const TSLanguage *tree_sitter_java(void);

static const ComplexityRule java_nodes[] = {
    {"if_statement", NULL, RULE_IF, "if", {"consequence"}},
    {"for_statement", NULL, RULE_LOOP, "for", {NULL}},
    {"enhanced_for_statement", NULL, RULE_LOOP, "for", {NULL}},
    {"while_statement", NULL, RULE_LOOP, "while", {NULL}},
    {"do_statement", NULL, RULE_LOOP, "do", {NULL}},
    {"switch_expression", NULL, RULE_SWITCH, "switch", {NULL}},
    {"guard", NULL, RULE_CYCLOMATIC, NULL, {NULL}},
    {"catch_clause", NULL, RULE_CATCH, "catch", {NULL}},
    {"ternary_expression", NULL, RULE_TERNARY, "?:", {NULL}},
    {"binary_expression", NULL, RULE_BINARY, NULL, {NULL}},
    {"parenthesized_expression", NULL, RULE_PAREN, NULL, {NULL}},
    {"identifier", "break_statement", RULE_FLAT, "break", {NULL}},
    {"identifier", "continue_statement", RULE_FLAT, "continue", {NULL}},

    {"method_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"constructor_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"compact_constructor_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"static_initializer", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"block", "class_body", RULE_FUNCTION, NULL, {NULL}},
    {"block", "enum_body_declarations", RULE_FUNCTION, NULL, {NULL}},
    {"lambda_expression", NULL, RULE_CLOSURE, NULL, {NULL}},
    {"formal_parameters", "method_declaration", RULE_PARAMETERS, NULL, {NULL}},
    {"formal_parameters", "constructor_declaration", RULE_PARAMETERS, NULL, {NULL}},
    {"formal_parameters", "lambda_expression", RULE_PARAMETERS, NULL, {NULL}},
    {"inferred_parameters", "lambda_expression", RULE_PARAMETERS, NULL, {NULL}},
    {"identifier", "lambda_expression", RULE_PARAMETERS, NULL, {NULL}},
    {"class_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"interface_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"enum_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"enum_constant", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"record_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"object_creation_expression", NULL, RULE_CONTAINER, NULL, {NULL}},

    {"line_comment", NULL, RULE_COMMENT, NULL, {NULL}},
    {"block_comment", NULL, RULE_COMMENT, NULL, {NULL}},
    {"string_literal", NULL, RULE_TEXT, NULL, {NULL}},
    {"string_interpolation", NULL, RULE_CODE, NULL, {NULL}},
    {"boolean_type", NULL, RULE_OPERATOR, NULL, {NULL}},
    {"void_type", NULL, RULE_OPERATOR, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

static const ComplexityRule java_tokens[] = {
    {"else", NULL, RULE_ELSE_TOKEN, "else", {NULL}},
    {"case", "switch_label", RULE_CASE, NULL, {NULL}},
    {"&&", NULL, RULE_AND, "&&", {NULL}},
    {"||", NULL, RULE_OR, "||", {NULL}},
    {")", NULL, RULE_CLOSE, NULL, {NULL}},
    {"]", NULL, RULE_CLOSE, NULL, {NULL}},
    {"}", NULL, RULE_CLOSE, NULL, {NULL}},
    {">", "type_arguments", RULE_CLOSE, NULL, {NULL}},
    {">", "type_parameters", RULE_CLOSE, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

/* `new Type<T>() { … }` holds methods of an unnamed kind of Type; without a body it holds none. */
static bool java_name_anonymous(const ComplexityPlace *place, ComplexityName *ret)
{
    uint32_t n = complexity_node_n_named(place->node);
    TSNode type = complexity_node_field(place->node, "type");

    if (n == 0 || !complexity_node_is(complexity_node_named(place->node, n - 1), "class_body")) {
        return false;
    }
    if (complexity_node_is(type, "generic_type")) {
        type = complexity_node_named(type, 0);
    }
    ret->name = complexity_node_text(type, place->text);
    return true;
}

static bool java_name_of(const ComplexityPlace *place, ComplexityName *ret)
{
    *ret = (ComplexityName){.name = SPAN_NULL};
    if (complexity_node_is(place->node, "object_creation_expression")) {
        return java_name_anonymous(place, ret);
    }
    if (complexity_node_is(place->node, "static_initializer")) {
        ret->name = SPAN("(static)");
        return true;
    }
    if (complexity_node_is(place->node, "block")) {
        ret->name = SPAN("(init)");
        return true;
    }
    ret->name = complexity_node_field_text(place->node, "name", place->text);
    return !complexity_node_is(place->node, "method_declaration") ||
           !ts_node_is_null(complexity_node_field(place->node, "body"));
}

static Span java_bound_to(TSNode node, Span text)
{
    return complexity_node_is(node, "variable_declarator") ||
                   complexity_node_is(node, "enum_constant")
               ? complexity_node_field_text(node, "name", text)
               : SPAN_NULL;
}

/* Not the receiver, `A this`, which only gives annotations a place to stand. */
static uint32_t java_parameters(const ComplexityPlace *place)
{
    if (complexity_node_is(place->node, "identifier")) {
        return 1;
    }
    if (complexity_node_is(place->node, "inferred_parameters")) {
        return complexity_node_count(place->node, NULL);
    }
    return complexity_node_count_of(place->node, "formal_parameter") +
           complexity_node_count_of(place->node, "spread_parameter");
}

const ComplexityLanguage complexity_language_java = {
    .name = SPAN_INIT("java"),
    .spellings = "",
    .extensions = "java",
    .grammar = tree_sitter_java,
    .nodes = java_nodes,
    .tokens = java_tokens,
    .separator = ".",
    .cyclomatic_apart = true,
    .name_of = java_name_of,
    .parameters = java_parameters,
    .bound_to = java_bound_to,
};
