/* C++: as C, with catch, range loops, lambdas, `and` and `or`. A lambda in no function has a row.
 */
#include "toolkit/complexity/lang_c_names.h"
#include "toolkit/complexity/lang_c_text.h"
#include "toolkit/complexity/rules.h"

const TSLanguage *tree_sitter_cpp(void);

static const ComplexityRule cpp_nodes[] = {
    {"function_definition", NULL, RULE_FUNCTION, NULL, {NULL}},
    /* Types have no branches (pmccabe); clang-tidy counts operators in them. */
    {"template_type", "function_definition", RULE_MUTE, NULL, {NULL}},
    {"qualified_identifier", "function_definition", RULE_MUTE, NULL, {NULL}},
    {"dependent_type", "function_definition", RULE_MUTE, NULL, {NULL}},
    {"decltype", "function_definition", RULE_MUTE, NULL, {NULL}},
    {"trailing_return_type", NULL, RULE_MUTE, NULL, {NULL}},
    {"requires_clause", NULL, RULE_MUTE, NULL, {NULL}},
    {"noexcept", NULL, RULE_MUTE, NULL, {NULL}},
    {"lambda_expression", NULL, RULE_CLOSURE, NULL, {NULL}},
    /* One without a list has none, whatever lists are in it. */
    {"compound_statement", "lambda_expression", RULE_PARAMETERS, NULL, {NULL}},
    {"namespace_definition", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"class_specifier", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"struct_specifier", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"union_specifier", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"parameter_list", NULL, RULE_PARAMETERS, NULL, {NULL}},
    {"if_statement", NULL, RULE_IF, "if", {"consequence"}},
    {"else_clause", NULL, RULE_ELSE_CLAUSE, NULL, {NULL}},
    {"for_statement", NULL, RULE_LOOP, "for", {NULL}},
    {"for_range_loop", NULL, RULE_LOOP, "for", {NULL}},
    {"while_statement", NULL, RULE_LOOP, "while", {NULL}},
    {"do_statement", NULL, RULE_LOOP, "do", {NULL}},
    {"switch_statement", NULL, RULE_SWITCH, "switch", {NULL}},
    {"catch_clause", NULL, RULE_CATCH, "catch", {NULL}},
    {"seh_except_clause", NULL, RULE_CATCH, "__except", {NULL}},
    {"conditional_expression", NULL, RULE_TERNARY, "?:", {NULL}},
    {"goto_statement", NULL, RULE_FLAT, "goto", {NULL}},
    {"compound_statement", "parenthesized_expression", RULE_NEST, NULL, {NULL}},
    {"binary_expression", NULL, RULE_BINARY, NULL, {NULL}},
    {"parenthesized_expression", NULL, RULE_PAREN, NULL, {NULL}},
    {"number_literal", "preproc_if", RULE_SKIP, NULL, {NULL}},
    {"number_literal", "preproc_elif", RULE_SKIP, NULL, {NULL}},
    {"preproc_arg", NULL, RULE_SKIP, NULL, {NULL}},
    {"comment", NULL, RULE_COMMENT, NULL, {NULL}},
    {"string_literal", NULL, RULE_STRING, NULL, {NULL}},
    {"raw_string_literal", NULL, RULE_STRING, NULL, {NULL}},
    {"char_literal", NULL, RULE_STRING, NULL, {NULL}},
    {"primitive_type", NULL, RULE_OPERATOR, NULL, {NULL}},
    {"auto", NULL, RULE_OPERATOR, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

static const ComplexityRule cpp_tokens[] = {
    {"else", NULL, RULE_ELSE_TOKEN, NULL, {NULL}},
    {"case", NULL, RULE_CASE, NULL, {NULL}},
    {"&&", NULL, RULE_AND, "&&", {NULL}},
    {"and", NULL, RULE_AND, "and", {NULL}},
    {"||", NULL, RULE_OR, "||", {NULL}},
    {"or", NULL, RULE_OR, "or", {NULL}},
    {")", NULL, RULE_CLOSE, NULL, {NULL}},
    {"]", NULL, RULE_CLOSE, NULL, {NULL}},
    {"}", NULL, RULE_CLOSE, NULL, {NULL}},
    {">", "template_argument_list", RULE_CLOSE, NULL, {NULL}},
    {">", "template_parameter_list", RULE_CLOSE, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

/* "= default", "= delete" and "= 0" are none; a constructor's try has no field. */
static bool cpp_has_body(TSNode node)
{
    uint32_t n = complexity_node_n_named(node);

    return !ts_node_is_null(complexity_node_field(node, "body")) ||
           (n > 0 && complexity_node_is(complexity_node_named(node, n - 1), "try_statement"));
}

static bool cpp_name_of(const ComplexityPlace *place, ComplexityName *ret)
{
    if (complexity_node_is(place->node, "function_definition")) {
        ret->name = complexity_c_declared_name(place->node, place->text);
        return complexity_c_is_name(ret->name) && !complexity_c_is_in_block(place) &&
               cpp_has_body(place->node);
    }
    ret->name = complexity_node_field_text(place->node, "name", place->text);
    /* A type that is only mentioned ("struct tm t") holds nothing either. */
    return cpp_has_body(place->node);
}

static Span cpp_bound_to(TSNode node, Span text)
{
    return complexity_node_is(node, "init_declarator") ||
                   complexity_node_is(node, "field_declaration")
               ? complexity_node_field_text(node, "declarator", text)
               : SPAN_NULL;
}

static uint32_t cpp_parameters(const ComplexityPlace *place)
{
    return complexity_node_is(place->node, "compound_statement") ? 0
                                                                 : complexity_c_parameters(place);
}

static const char *cpp_really(const ComplexityPlace *place)
{
    Span name = complexity_c_declared_name(place->node, place->text);

    return span_equals(name, SPAN("catch")) ? "catch_clause" : complexity_c_really(place);
}

const ComplexityLanguage complexity_language_cpp = {
    .name = SPAN_INIT("cpp"),
    .spellings = "c++ cxx cplusplus c++17 c++20",
    .extensions = "cpp cc cxx c++ hpp hh hxx h++ ipp tpp txx C H",
    .files = NULL,
    .commands = NULL,
    .toolchain = NULL,
    .grammar = tree_sitter_cpp,
    .nodes = cpp_nodes,
    .tokens = cpp_tokens,
    .separator = "::",
    .else_if_nests = true,
    .name_of = cpp_name_of,
    .parameters = cpp_parameters,
    .bound_to = cpp_bound_to,
    .really = cpp_really,
    .prepare = complexity_c_prepare,
    .mend = complexity_c_mend,
};
