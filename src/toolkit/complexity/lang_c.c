/* C. Cyclomatic as pmccabe's traditional value, cognitive as clang-tidy's, except where the
 * published definition says otherwise (docs/analysis.md). */
#include "toolkit/complexity/lang_c_names.h"
#include "toolkit/complexity/lang_c_text.h"
#include "toolkit/complexity/rules.h"

const TSLanguage *tree_sitter_c(void);

static const ComplexityRule c_nodes[] = {
    {"function_definition", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"parameter_list", NULL, RULE_PARAMETERS, NULL, {NULL}},
    {"if_statement", NULL, RULE_IF, "if", {"consequence"}},
    {"else_clause", NULL, RULE_ELSE_CLAUSE, NULL, {NULL}},
    {"for_statement", NULL, RULE_LOOP, "for", {NULL}},
    {"while_statement", NULL, RULE_LOOP, "while", {NULL}},
    {"do_statement", NULL, RULE_LOOP, "do", {NULL}},
    {"switch_statement", NULL, RULE_SWITCH, "switch", {NULL}},
    {"conditional_expression", NULL, RULE_TERNARY, "?:", {NULL}},
    {"goto_statement", NULL, RULE_FLAT, "goto", {NULL}},
    {"seh_except_clause", NULL, RULE_CATCH, "__except", {NULL}},
    /* GNU's ({ … }) */
    {"compound_statement", "parenthesized_expression", RULE_NEST, NULL, {NULL}},
    {"binary_expression", NULL, RULE_BINARY, NULL, {NULL}},
    {"parenthesized_expression", NULL, RULE_PAREN, NULL, {NULL}},
    {"number_literal", "preproc_if", RULE_SKIP, NULL, {NULL}},
    {"number_literal", "preproc_elif", RULE_SKIP, NULL, {NULL}},
    {"preproc_arg", NULL, RULE_SKIP, NULL, {NULL}},
    {"comment", NULL, RULE_COMMENT, NULL, {NULL}},
    {"string_literal", NULL, RULE_STRING, NULL, {NULL}},
    {"char_literal", NULL, RULE_STRING, NULL, {NULL}},
    {"primitive_type", NULL, RULE_OPERATOR, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

static const ComplexityRule c_tokens[] = {
    {"else", NULL, RULE_ELSE_TOKEN, NULL, {NULL}}, {"case", NULL, RULE_CASE, NULL, {NULL}},
    {"&&", NULL, RULE_AND, "&&", {NULL}},          {"||", NULL, RULE_OR, "||", {NULL}},
    {")", NULL, RULE_CLOSE, NULL, {NULL}},         {"]", NULL, RULE_CLOSE, NULL, {NULL}},
    {"}", NULL, RULE_CLOSE, NULL, {NULL}},         {NULL, NULL, 0, NULL, {NULL}},
};

static bool c_name_of(const ComplexityPlace *place, ComplexityName *ret)
{
    ret->name = complexity_c_declared_name(place->node, place->text);
    return complexity_c_is_name(ret->name) && !complexity_c_is_in_block(place);
}

const ComplexityLanguage complexity_language_c = {
    .name = SPAN_INIT("c"),
    .spellings = "c99 c11 c17 c23",
    .extensions = "c h",
    .files = NULL,
    .commands = "tcc",
    .toolchain = NULL,
    .grammar = tree_sitter_c,
    .nodes = c_nodes,
    .tokens = c_tokens,
    .separator = ".",
    .else_if_nests = true,
    .name_of = c_name_of,
    .parameters = complexity_c_parameters,
    .really = complexity_c_really,
    .prepare = complexity_c_prepare,
    .mend = complexity_c_mend,
};
