/* Zig.
 *
 * Cyclomatic as in C: 1 + if, for, while, prong of a switch other than else, and, or; beyond C each
 * catch, orelse and try, which branch as `?` does in Rust. Cognitive: the paper; catch is a catch,
 * orelse, try, defer and errdefer 0, jumps to a label 1, the else of a loop 0. The functions of a
 * struct, enum or union inside a function (which is how a generic type is written) have rows, and
 * count in those only. A test has a row.
 */
#include "toolkit/complexity/rules.h"

const TSLanguage *tree_sitter_zig(void);

static const ComplexityRule zig_nodes[] = {
    {"if_statement", NULL, RULE_IF, "if", {"body"}},
    {"if_expression", NULL, RULE_IF | RULE_NEST_TOKEN, "if", {NULL}},
    {"if_type_expression", NULL, RULE_IF | RULE_NEST_TOKEN, "if", {NULL}},
    {"else_clause", "if_statement", RULE_ELSE_CLAUSE, NULL, {NULL}},
    /* Between else and what is behind it: `else |err| if`. */
    {"payload", "else_clause", RULE_OPERATOR, NULL, {NULL}},
    {"payload", "if_expression", RULE_OPERATOR, NULL, {NULL}},
    {"while_statement", NULL, RULE_LOOP, "while", {NULL}},
    {"while_expression", NULL, RULE_LOOP, "while", {NULL}},
    {"for_statement", NULL, RULE_LOOP, "for", {NULL}},
    {"for_expression", NULL, RULE_LOOP, "for", {NULL}},
    {"switch_expression", NULL, RULE_SWITCH, "switch", {NULL}},
    {"switch_case", NULL, RULE_CASE | RULE_ASK, NULL, {NULL}},
    {"catch_expression", NULL, RULE_CATCH | RULE_NEST_TOKEN, "catch", {NULL}},
    {"try_expression", NULL, RULE_CYCLOMATIC, NULL, {NULL}},
    {"binary_expression", NULL, RULE_BINARY, NULL, {NULL}},
    {"parenthesized_expression", NULL, RULE_PAREN, NULL, {NULL}},
    {"break_label", "break_expression", RULE_FLAT, "break", {NULL}},
    {"break_label", "continue_expression", RULE_FLAT, "continue", {NULL}},

    {"function_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"test_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"parameters", "function_declaration", RULE_PARAMETERS, NULL, {NULL}},
    {"variable_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"struct_declaration", NULL, RULE_APART, NULL, {NULL}},
    {"enum_declaration", NULL, RULE_APART, NULL, {NULL}},
    {"union_declaration", NULL, RULE_APART, NULL, {NULL}},
    {"opaque_declaration", NULL, RULE_APART, NULL, {NULL}},

    {"comment", NULL, RULE_COMMENT, NULL, {NULL}},
    {"string", NULL, RULE_STRING, NULL, {NULL}},
    {"character", NULL, RULE_STRING, NULL, {NULL}},
    {"boolean", NULL, RULE_STRING, NULL, {NULL}},
    {"builtin_type", NULL, RULE_STRING, NULL, {NULL}},
    {"identifier", NULL, RULE_STRING, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

static const ComplexityRule zig_tokens[] = {
    {"else", NULL, RULE_ELSE_TOKEN, "else", {NULL}},
    {"catch", "catch_expression", RULE_BODY_TOKEN, NULL, {NULL}},
    {")", "if_expression", RULE_BODY_TOKEN | RULE_CLOSE, NULL, {NULL}},
    {")", "if_type_expression", RULE_BODY_TOKEN | RULE_CLOSE, NULL, {NULL}},
    {"and", NULL, RULE_AND, "and", {NULL}},
    {"or", NULL, RULE_OR, "or", {NULL}},
    {"orelse", NULL, RULE_COALESCE, NULL, {NULL}},
    /* Words of the language that are values. */
    {"null", NULL, RULE_STRING, NULL, {NULL}},
    {"undefined", NULL, RULE_STRING, NULL, {NULL}},
    {"unreachable", NULL, RULE_STRING, NULL, {NULL}},
    {")", NULL, RULE_CLOSE, NULL, {NULL}},
    {"]", NULL, RULE_CLOSE, NULL, {NULL}},
    {"}", NULL, RULE_CLOSE, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

/* `const Name = struct { … };` names what is in it; other constants hold nothing. */
static bool zig_name_constant(const ComplexityPlace *place, ComplexityName *ret)
{
    uint32_t n = complexity_node_n_named(place->node);
    TSNode value =
        n == 0 ? complexity_node_child(place->node, 0) : complexity_node_named(place->node, n - 1);

    ret->name = complexity_node_text(complexity_node_find(place->node, "identifier"), place->text);
    return complexity_node_is(value, "struct_declaration") ||
           complexity_node_is(value, "enum_declaration") ||
           complexity_node_is(value, "union_declaration") ||
           complexity_node_is(value, "opaque_declaration");
}

static bool zig_name_of(const ComplexityPlace *place, ComplexityName *ret)
{
    *ret = (ComplexityName){.name = SPAN_NULL};
    if (complexity_node_is(place->node, "variable_declaration")) {
        return zig_name_constant(place, ret);
    }
    if (complexity_node_is(place->node, "test_declaration")) {
        TSNode what = complexity_node_named(place->node, 0);

        ret->scope = SPAN("test");
        if (complexity_node_is(what, "string")) {
            what = complexity_node_named(what, 0);
        }
        ret->name =
            complexity_node_is(what, "block") ? SPAN_NULL : complexity_node_text(what, place->text);
        return true;
    }
    ret->name = complexity_node_field_text(place->node, "name", place->text);
    return !ts_node_is_null(complexity_node_field(place->node, "body"));
}

/* A prong: else catches what is left over and decides nothing; it may be inline. */
static bool zig_counts(const ComplexityPlace *place)
{
    return !complexity_node_is(complexity_node_child(place->node, 0), "else") &&
           !complexity_node_is(complexity_node_child(place->node, 1), "else");
}

const ComplexityLanguage complexity_language_zig = {
    .name = SPAN_INIT("zig"),
    .spellings = "",
    .extensions = "zig",
    .grammar = tree_sitter_zig,
    .nodes = zig_nodes,
    .tokens = zig_tokens,
    .separator = ".",
    .name_of = zig_name_of,
    .counts = zig_counts,
};
