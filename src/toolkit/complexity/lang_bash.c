/* Bash, and sh.
 *
 * Cyclomatic as in C: 1 + if, elif, for, while, until, select, pattern list of a case other than a
 * lone `*`, && and || (between commands, in [[ ]] and in arithmetic), ?: in arithmetic. Cognitive:
 * the paper; pipes 0, break and continue over several levels 1. A subshell, a group and a command
 * substitution are no closures. Functions have no list of parameters: they have 0.
 */
#include "toolkit/complexity/rules.h"

const TSLanguage *tree_sitter_bash(void);

#define BASH_LOOP (RULE_LOOP & ~RULE_STRUCTURE)
/* Its first command may be an if without being an elif. */
#define BASH_ELSE (RULE_FLAT | RULE_NEST | RULE_DEEPEN | RULE_AT_PARENT)

static const ComplexityRule bash_nodes[] = {
    {"if_statement", NULL, RULE_IF | RULE_NEST_TOKEN, "if", {NULL}},
    {"elif_clause", NULL, RULE_ELSE_IF | RULE_NEST_TOKEN, "else if", {NULL}},
    {"else_clause", NULL, BASH_ELSE, "else", {NULL}},
    /* Which one it is, a token in it says. */
    {"for_statement", NULL, BASH_LOOP, NULL, {NULL}},
    {"c_style_for_statement", NULL, RULE_LOOP, "for", {NULL}},
    {"while_statement", NULL, BASH_LOOP, NULL, {NULL}},
    {"case_statement", NULL, RULE_SWITCH, "case", {NULL}},
    {"case_item", NULL, RULE_CASE | RULE_ASK, NULL, {NULL}},
    {"ternary_expression", NULL, RULE_TERNARY, "?:", {NULL}},
    {"list", NULL, RULE_BINARY, NULL, {NULL}},
    {"binary_expression", NULL, RULE_BINARY, NULL, {NULL}},
    {"parenthesized_expression", NULL, RULE_PAREN, NULL, {NULL}},
    {"command", NULL, RULE_FLAT | RULE_ASK, "jump", {NULL}},

    {"function_definition", NULL, RULE_FUNCTION, NULL, {NULL}},

    {"comment", NULL, RULE_COMMENT, NULL, {NULL}},
    {"string", NULL, RULE_TEXT, NULL, {NULL}},
    {"translated_string", NULL, RULE_STRING, NULL, {NULL}},
    {"heredoc_body", NULL, RULE_TEXT, NULL, {NULL}},
    {"simple_expansion", NULL, RULE_CODE, NULL, {NULL}},
    {"expansion", NULL, RULE_CODE, NULL, {NULL}},
    {"command_substitution", NULL, RULE_CODE, NULL, {NULL}},
    {"arithmetic_expansion", NULL, RULE_CODE, NULL, {NULL}},
    {"test_operator", NULL, RULE_OPERATOR, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

/* clang-format off */
static const ComplexityRule bash_tokens[] = {
    {"for", "for_statement", RULE_STRUCTURE, "for", {NULL}},
    {"select", "for_statement", RULE_STRUCTURE, "select", {NULL}},
    {"while", "while_statement", RULE_STRUCTURE, "while", {NULL}},
    {"until", "while_statement", RULE_STRUCTURE, "until", {NULL}},
    {"then", NULL, RULE_BODY_TOKEN, NULL, {NULL}},
    {"&&", NULL, RULE_AND, "&&", {NULL}},
    {"||", NULL, RULE_OR, "||", {NULL}},
    {")", NULL, RULE_CLOSE, NULL, {NULL}},
    {"]", NULL, RULE_CLOSE, NULL, {NULL}},
    {"}", NULL, RULE_CLOSE, NULL, {NULL}},
    {"))", NULL, RULE_CLOSE, NULL, {NULL}},
    {"]]", NULL, RULE_CLOSE, NULL, {NULL}},
    {"fi", NULL, RULE_CLOSE, NULL, {NULL}},
    {"done", NULL, RULE_CLOSE, NULL, {NULL}},
    {"esac", NULL, RULE_CLOSE, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};
/* clang-format on */

/* `break 2` or `continue 2`. */
static bool bash_counts_command(const ComplexityPlace *place)
{
    Span name = complexity_node_field_text(place->node, "name", place->text);

    return (span_equals(name, SPAN("break")) || span_equals(name, SPAN("continue"))) &&
           !ts_node_is_null(complexity_node_field(place->node, "argument"));
}

/* Not of a case's last resort, which decides nothing. */
static bool bash_counts(const ComplexityPlace *place)
{
    if (complexity_node_is(place->node, "command")) {
        return bash_counts_command(place);
    }
    return !span_equals(complexity_node_field_text(place->node, "value", place->text), SPAN("*"));
}

const ComplexityLanguage complexity_language_bash = {
    .name = SPAN_INIT("bash"),
    .spellings = "sh shell ksh",
    .extensions = "sh bash ksh",
    .files = ".bashrc .bash_profile .profile PKGBUILD",
    .commands = "bash sh dash ksh ash",
    .grammar = tree_sitter_bash,
    .nodes = bash_nodes,
    .tokens = bash_tokens,
    .separator = ".",
    .counts = bash_counts,
};
