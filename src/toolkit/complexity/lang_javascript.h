/* toolkit/complexity/lang_javascript.h: the hooks and lines of tables that JavaScript and both
 * kinds of TypeScript share. Private. Thread: any. */
#pragma once

#include "toolkit/complexity/rules.h"

bool complexity_javascript_name_of(const ComplexityPlace *place, ComplexityName *ret);
uint32_t complexity_javascript_parameters(const ComplexityPlace *place);

/* clang-format off */
#define JAVASCRIPT_NODES                                                                           \
    {"function_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},                                   \
    {"function_expression", NULL, RULE_FUNCTION, NULL, {NULL}},                                    \
    {"generator_function", NULL, RULE_FUNCTION, NULL, {NULL}},                                     \
    {"generator_function_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},                         \
    {"arrow_function", NULL, RULE_FUNCTION, NULL, {NULL}},                                         \
    {"method_definition", NULL, RULE_FUNCTION, NULL, {NULL}},                                      \
    {"class_static_block", NULL, RULE_APART, NULL, {NULL}},                                        \
    {"class_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},                                     \
    {"class", NULL, RULE_CONTAINER, NULL, {NULL}},                                                 \
    {"object", NULL, RULE_CONTAINER, NULL, {NULL}},                                                \
    {"formal_parameters", NULL, RULE_PARAMETERS, NULL, {NULL}},                                    \
    {"identifier", "arrow_function", RULE_PARAMETERS, NULL, {NULL}},                               \
    {"if_statement", NULL, RULE_IF, "if", {"consequence"}},                                        \
    {"else_clause", NULL, RULE_ELSE_CLAUSE, NULL, {NULL}},                                         \
    {"for_statement", NULL, RULE_LOOP, "for", {"body"}},                                           \
    {"for_in_statement", NULL, RULE_LOOP, "for", {"body"}},                                        \
    {"while_statement", NULL, RULE_LOOP, "while", {"body"}},                                       \
    {"do_statement", NULL, RULE_LOOP, "do", {"body"}},                                             \
    {"switch_statement", NULL, RULE_SWITCH, "switch", {"body"}},                                   \
    {"switch_case", NULL, RULE_CASE, NULL, {NULL}},                                                \
    {"catch_clause", NULL, RULE_CATCH, "catch", {"body"}},                                         \
    {"ternary_expression", NULL, RULE_TERNARY, "?:", {"consequence", "alternative"}},              \
    {"statement_identifier", "break_statement", RULE_FLAT, "break", {NULL}},                       \
    {"statement_identifier", "continue_statement", RULE_FLAT, "continue", {NULL}},                 \
    {"binary_expression", NULL, RULE_BINARY, NULL, {NULL}},                                        \
    {"parenthesized_expression", NULL, RULE_PAREN, NULL, {NULL}},                                  \
    {"optional_chain", NULL, RULE_CYCLOMATIC | RULE_OPERATOR, NULL, {NULL}},                       \
    {"assignment_pattern", NULL, RULE_CYCLOMATIC, NULL, {NULL}},                                   \
    {"object_assignment_pattern", NULL, RULE_CYCLOMATIC, NULL, {NULL}},                            \
    {"comment", NULL, RULE_COMMENT, NULL, {NULL}},                                                 \
    {"html_comment", NULL, RULE_COMMENT, NULL, {NULL}},                                            \
    {"hash_bang_line", NULL, RULE_COMMENT, NULL, {NULL}},                                          \
    {"string", NULL, RULE_STRING, NULL, {NULL}},                                                   \
    {"regex", NULL, RULE_STRING, NULL, {NULL}},                                                    \
    {"template_string", NULL, RULE_TEXT, NULL, {NULL}},                                            \
    {"template_substitution", NULL, RULE_CODE, NULL, {NULL}}

#define JAVASCRIPT_TOKENS                                                                          \
    {"else", NULL, RULE_ELSE_TOKEN, NULL, {NULL}},                                                 \
    {"&&", NULL, RULE_AND, "&&", {NULL}},                                                          \
    {"||", NULL, RULE_OR, "||", {NULL}},                                                           \
    {"??", NULL, RULE_COALESCE, NULL, {NULL}},                                                     \
    {"&&=", NULL, RULE_CYCLOMATIC, NULL, {NULL}},                                                  \
    {"||=", NULL, RULE_CYCLOMATIC, NULL, {NULL}},                                                  \
    {"?\?=", NULL, RULE_CYCLOMATIC, NULL, {NULL}},                                                 \
    {")", NULL, RULE_CLOSE, NULL, {NULL}},                                                         \
    {"]", NULL, RULE_CLOSE, NULL, {NULL}},                                                         \
    {"}", NULL, RULE_CLOSE, NULL, {NULL}}

#define JAVASCRIPT_JSX_TOKENS                                                                      \
    {">", "jsx_opening_element", RULE_CLOSE, NULL, {NULL}},                                        \
    {">", "jsx_closing_element", RULE_CLOSE, NULL, {NULL}}

#define TYPESCRIPT_NODES                                                                           \
    {"abstract_class_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},                            \
    {"internal_module", NULL, RULE_CONTAINER, NULL, {NULL}},                                       \
    {"module", NULL, RULE_CONTAINER, NULL, {NULL}},                                                \
    {"public_field_definition", NULL, RULE_APART, NULL, {NULL}}

#define TYPESCRIPT_TOKENS                                                                          \
    {"?.", "call_expression", RULE_CYCLOMATIC, NULL, {NULL}},                                      \
    {"=", "required_parameter", RULE_CYCLOMATIC, NULL, {NULL}},                                    \
    {"=", "optional_parameter", RULE_CYCLOMATIC, NULL, {NULL}},                                    \
    {">", "type_arguments", RULE_CLOSE, NULL, {NULL}},                                             \
    {">", "type_parameters", RULE_CLOSE, NULL, {NULL}}
/* clang-format on */
