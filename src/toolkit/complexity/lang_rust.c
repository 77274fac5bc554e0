/* Rust.
 *
 * Cyclomatic, our rule: 1 + if, while, for, loop, match arm whose pattern is not `_`, guard of an
 * arm, && and || (those of let chains too), `?`, let-else. rust-code-analysis counts `_` as well,
 * and no let-else. Cognitive: the paper; match once, `?`, let-else and guards 0; conditions are as
 * deep as bodies, as sonar-rust has it. What a macro is called with is a list of tokens to the
 * parser; groups.c finds the branches in it by their words. That of quote! and its like is code of
 * another program and has none. A macro's definition is no function.
 */
#include "toolkit/complexity/rules.h"

#include <stdlib.h>

#include "base/compiler.h"

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
    {"closure_parameters", NULL, RULE_PARAMETERS, NULL, {NULL}},
    {"token_tree", "macro_invocation", RULE_GROUP | RULE_ASK, NULL, {NULL}},
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

static bool rust_is_quote(Span name)
{
    return span_equals(name, SPAN("quote")) || span_equals(name, SPAN("quote_spanned")) ||
           span_equals(name, SPAN("parse_quote")) || span_equals(name, SPAN("parse_quote_spanned"));
}

/* What a macro is called with. */
static bool rust_counts_tokens(const ComplexityPlace *place)
{
    TSNode macro = complexity_node_field(place->parent, "macro");

    if (complexity_node_is(macro, "scoped_identifier")) {
        macro = complexity_node_field(macro, "name");
    }
    return !rust_is_quote(complexity_node_text(macro, place->text));
}

/* A match arm: `_` catches what is left over and decides nothing. */
static bool rust_counts_arm(const ComplexityPlace *place)
{
    TSNode pattern = complexity_node_field(place->node, "pattern");
    TSNode first = complexity_node_child(pattern, 0);

    return ts_node_is_null(first) || !complexity_node_is(first, "_");
}

static bool rust_counts(const ComplexityPlace *place)
{
    return complexity_node_is(place->node, "token_tree") ? rust_counts_tokens(place)
                                                         : rust_counts_arm(place);
}

static Span rust_bound_to(TSNode node, Span text)
{
    return complexity_node_is(node, "static_item") || complexity_node_is(node, "const_item")
               ? complexity_node_field_text(node, "name", text)
               : SPAN_NULL;
}

typedef struct RustWord {
    const char *text;
    ComplexityWord word;
} RustWord;

/* In order. */
static const RustWord rust_words[] = {
    {"!", {COMPLEXITY_WORD_NOT, NULL}},
    {"&&", {COMPLEXITY_WORD_AND, NULL}},
    {"'", {COMPLEXITY_WORD_LABEL, NULL}},
    {"(", {COMPLEXITY_WORD_BRACKET, NULL}},
    {")", {COMPLEXITY_WORD_BRACKET, NULL}},
    {",", {COMPLEXITY_WORD_COMMA, NULL}},
    {";", {COMPLEXITY_WORD_COMMA, NULL}},
    {"=", {COMPLEXITY_WORD_ASSIGN, NULL}},
    {"=>", {COMPLEXITY_WORD_ARROW, NULL}},
    {"?", {COMPLEXITY_WORD_TRY, NULL}},
    {"[", {COMPLEXITY_WORD_BRACKET, NULL}},
    {"]", {COMPLEXITY_WORD_BRACKET, NULL}},
    {"_", {COMPLEXITY_WORD_REST, NULL}},
    {"as", {COMPLEXITY_WORD_NONE, NULL}},
    {"async", {COMPLEXITY_WORD_UNSAFE, NULL}},
    {"await", {COMPLEXITY_WORD_OPERAND, NULL}},
    {"break", {COMPLEXITY_WORD_JUMP, "break"}},
    {"const", {COMPLEXITY_WORD_UNSAFE, NULL}},
    {"continue", {COMPLEXITY_WORD_JUMP, "continue"}},
    {"dyn", {COMPLEXITY_WORD_NONE, NULL}},
    {"else", {COMPLEXITY_WORD_ELSE, NULL}},
    {"for", {COMPLEXITY_WORD_FOR, "for"}},
    {"if", {COMPLEXITY_WORD_IF, NULL}},
    {"impl", {COMPLEXITY_WORD_ITEM, NULL}},
    {"in", {COMPLEXITY_WORD_IN, NULL}},
    {"let", {COMPLEXITY_WORD_LET, NULL}},
    {"loop", {COMPLEXITY_WORD_LOOP, "loop"}},
    {"match", {COMPLEXITY_WORD_MATCH, "match"}},
    {"move", {COMPLEXITY_WORD_KEYWORD, NULL}},
    {"parse_quote", {COMPLEXITY_WORD_QUOTE, NULL}},
    {"parse_quote_spanned", {COMPLEXITY_WORD_QUOTE, NULL}},
    {"quote", {COMPLEXITY_WORD_QUOTE, NULL}},
    {"quote_spanned", {COMPLEXITY_WORD_QUOTE, NULL}},
    {"ref", {COMPLEXITY_WORD_KEYWORD, NULL}},
    {"return", {COMPLEXITY_WORD_KEYWORD, NULL}},
    {"static", {COMPLEXITY_WORD_KEYWORD, NULL}},
    {"unsafe", {COMPLEXITY_WORD_UNSAFE, NULL}},
    {"while", {COMPLEXITY_WORD_LOOP, "while"}},
    {"yield", {COMPLEXITY_WORD_KEYWORD, NULL}},
    {"{", {COMPLEXITY_WORD_BRACKET, NULL}},
    {"|", {COMPLEXITY_WORD_BAR, NULL}},
    {"||", {COMPLEXITY_WORD_OR, NULL}},
    {"}", {COMPLEXITY_WORD_BRACKET, NULL}},
};

static int rust_compare_word(const void *key, const void *element)
{
    const Span *text = key;
    const RustWord *word = element;

    return span_compare(*text, span_from_str(word->text));
}

static ComplexityWord rust_word_of(TSNode node, Span text)
{
    Span own = complexity_node_text(node, text);
    const RustWord *found = NULL;

    if (complexity_node_is(node, "token_tree")) {
        return (ComplexityWord){COMPLEXITY_WORD_GROUP, NULL};
    }
    if (own.n <= sizeof("parse_quote_spanned")) {
        found = bsearch(&own, rust_words, TW_ARRAY_SIZE(rust_words), sizeof(rust_words[0]),
                        rust_compare_word);
    }
    if (found != NULL) {
        return found->word;
    }
    return (ComplexityWord){
        complexity_node_is_named(node) ? COMPLEXITY_WORD_OPERAND : COMPLEXITY_WORD_NONE, NULL};
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
    .bound_to = rust_bound_to,
    .word_of = rust_word_of,
};
