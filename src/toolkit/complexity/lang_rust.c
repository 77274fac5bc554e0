/* Rust.
 *
 * Cyclomatic, our rule: 1 + if, while, for, loop, match arm whose pattern is not `_`, guard of an
 * arm, && and || (those of let chains too), `?`, let-else. rust-code-analysis counts `_` as well,
 * and no let-else. Cognitive: the paper; match once, `?`, let-else and guards 0; conditions are as
 * deep as bodies, as sonar-rust has it. What is inside a macro call is a tree of tokens to the
 * parser: it has tokens and lines, but no branches. A macro's definition is no function.
 */
#include "toolkit/complexity/rules.h"

const TSLanguage *tree_sitter_rust(void);

static const ComplexityRule rust_nodes[] = {
    {"if_expression", NULL, RULE_IF, "if", {NULL}},
    {"else_clause", NULL, RULE_ELSE_CLAUSE, NULL, {NULL}},
    {"while_expression", NULL, RULE_LOOP, "while", {NULL}},
    {"for_expression", NULL, RULE_LOOP, "for", {NULL}},
    {"loop_expression", NULL, RULE_LOOP, "loop", {NULL}},
    {"match_expression", NULL, RULE_SWITCH, "match", {NULL}},
    {"match_arm", NULL, RULE_CASE | RULE_ASK, NULL, {NULL}},
    {"try_expression", NULL, RULE_CYCLOMATIC, NULL, {NULL}},
    {"binary_expression", NULL, RULE_BINARY, NULL, {NULL}},
    {"let_chain", NULL, RULE_BINARY, NULL, {NULL}},
    {"parenthesized_expression", NULL, RULE_PAREN, NULL, {NULL}},
    {"label", "break_expression", RULE_FLAT, "break", {NULL}},
    {"label", "continue_expression", RULE_FLAT, "continue", {NULL}},

    {"function_item", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"closure_expression", NULL, RULE_CLOSURE, NULL, {NULL}},
    {"parameters", "function_item", RULE_PARAMETERS, NULL, {NULL}},
    {"impl_item", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"trait_item", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"mod_item", NULL, RULE_CONTAINER, NULL, {NULL}},

    {"line_comment", NULL, RULE_COMMENT, NULL, {NULL}},
    {"block_comment", NULL, RULE_COMMENT, NULL, {NULL}},
    {"shebang", NULL, RULE_COMMENT, NULL, {NULL}},
    {"string_literal", NULL, RULE_STRING, NULL, {NULL}},
    {"raw_string_literal", NULL, RULE_STRING, NULL, {NULL}},
    {"char_literal", NULL, RULE_STRING, NULL, {NULL}},
    {"boolean_literal", NULL, RULE_STRING, NULL, {NULL}},
    {"lifetime", NULL, RULE_STRING, NULL, {NULL}},
    {"mutable_specifier", NULL, RULE_OPERATOR, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

static const ComplexityRule rust_tokens[] = {
    {"else", "let_declaration", RULE_CYCLOMATIC, NULL, {NULL}},
    {"else", NULL, RULE_ELSE_TOKEN, "else", {NULL}},
    {"if", "match_pattern", RULE_CYCLOMATIC, NULL, {NULL}},
    {"&&", NULL, RULE_AND, "&&", {NULL}},
    {"||", NULL, RULE_OR, "||", {NULL}},
    {")", NULL, RULE_CLOSE, NULL, {NULL}},
    {"]", NULL, RULE_CLOSE, NULL, {NULL}},
    {"}", NULL, RULE_CLOSE, NULL, {NULL}},
    {">", "type_arguments", RULE_CLOSE, NULL, {NULL}},
    {">", "type_parameters", RULE_CLOSE, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

/* `impl<T> Trait for &Type<T>` is about Type. */
static TSNode rust_bare_type(TSNode type)
{
    while (complexity_node_is(type, "reference_type") || complexity_node_is(type, "generic_type")) {
        TSNode inner = complexity_node_field(type, "type");

        if (ts_node_is_null(inner)) {
            break;
        }
        type = inner;
    }
    return type;
}

static bool rust_name_of(const ComplexityPlace *place, ComplexityName *ret)
{
    *ret = (ComplexityName){.name = SPAN_NULL};
    if (complexity_node_is(place->node, "impl_item")) {
        TSNode type = complexity_node_field(place->node, "type");

        if (!ts_node_is_null(type)) {
            ret->name = complexity_node_text(rust_bare_type(type), place->text);
        }
        return true;
    }
    ret->name = complexity_node_field_text(place->node, "name", place->text);
    return true;
}

/* A match arm: `_` catches what is left over and decides nothing. */
static bool rust_counts(const ComplexityPlace *place)
{
    TSNode pattern = complexity_node_field(place->node, "pattern");
    TSNode first = ts_node_is_null(pattern) ? pattern : ts_node_child(pattern, 0);

    return ts_node_is_null(first) || !complexity_node_is(first, "_");
}

const ComplexityLanguage complexity_language_rust = {
    .name = SPAN_INIT("rust"),
    .spellings = "rs",
    .extensions = "rs",
    .toolchain = "rust",
    .grammar = tree_sitter_rust,
    .nodes = rust_nodes,
    .tokens = rust_tokens,
    .separator = ".",
    .name_of = rust_name_of,
    .counts = rust_counts,
};
