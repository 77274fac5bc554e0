/* Python. Cyclomatic as radon's, cognitive as SonarPython's, except where the published definition
 * of runs of operators says otherwise (docs/analysis.md). */
#include "toolkit/complexity/rules.h"

const TSLanguage *tree_sitter_python(void);

static const ComplexityRule python_nodes[] = {
    {"function_definition", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"class_definition", NULL, RULE_CONTAINER | RULE_MUTE | RULE_RESET, NULL, {NULL}},
    {"parameters", NULL, RULE_PARAMETERS | RULE_MUTE, NULL, {NULL}},
    {"decorator", NULL, RULE_MUTE, NULL, {NULL}},
    {"if_statement", NULL, RULE_IF, "if", {"consequence"}},
    {"elif_clause", NULL, RULE_ELSE_IF, "elif", {"consequence"}},
    {"else_clause", "for_statement", RULE_ELSE_CLAUSE | RULE_CYCLOMATIC, NULL, {NULL}},
    {"else_clause", "while_statement", RULE_ELSE_CLAUSE | RULE_CYCLOMATIC, NULL, {NULL}},
    {"else_clause", "try_statement", RULE_ELSE_CLAUSE | RULE_CYCLOMATIC, NULL, {NULL}},
    {"else_clause", NULL, RULE_ELSE_CLAUSE, NULL, {NULL}},
    {"for_statement", NULL, RULE_LOOP, "for", {"body"}},
    {"while_statement", NULL, RULE_LOOP, "while", {"body"}},
    {"except_clause", NULL, RULE_CYCLOMATIC | RULE_STRUCTURE, "except", {NULL}},
    {"block", "except_clause", RULE_NEST | RULE_DEEPEN, NULL, {NULL}},
    {"match_statement", NULL, RULE_SWITCH_ONCE, NULL, {NULL}},
    {"case_clause", NULL, RULE_NEST | RULE_DEEPEN, NULL, {"consequence"}},
    {"conditional_expression", NULL, RULE_TERNARY, "if else", {NULL}},
    {"for_in_clause", NULL, RULE_CYCLOMATIC, NULL, {NULL}},
    {"if_clause", "case_clause", 0, NULL, {NULL}},
    {"if_clause", NULL, RULE_CYCLOMATIC, NULL, {NULL}},
    {"assert_statement", NULL, RULE_CYCLOMATIC | RULE_MUTE, NULL, {NULL}},
    {"boolean_operator", NULL, RULE_BINARY, NULL, {NULL}},
    {"parenthesized_expression", NULL, RULE_PAREN, NULL, {NULL}},
    {"comment", NULL, RULE_COMMENT, NULL, {NULL}},
    {"line_continuation", NULL, RULE_SKIP, NULL, {NULL}},
    {"string", NULL, RULE_TEXT, NULL, {NULL}},
    {"interpolation", NULL, RULE_CODE, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

static const ComplexityRule python_tokens[] = {
    {"else", NULL, RULE_ELSE_TOKEN, NULL, {NULL}},
    {"and", NULL, RULE_AND, "and", {NULL}},
    {"or", NULL, RULE_OR, "or", {NULL}},
    {"case", "case_clause", RULE_CASE | RULE_ASK, NULL, {NULL}},
    {")", NULL, RULE_CLOSE, NULL, {NULL}},
    {"]", NULL, RULE_CLOSE, NULL, {NULL}},
    {"}", NULL, RULE_CLOSE, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

/* A case that takes everything, "_" or a plain name without a guard, is what default is elsewhere.
 */
static bool python_counts(const ComplexityPlace *place)
{
    TSNode pattern = complexity_node_named(place->parent, 0);

    if (ts_node_is_null(pattern) ||
        !ts_node_is_null(complexity_node_field(place->parent, "guard")) ||
        complexity_node_is(complexity_node_named(place->parent, 1), "case_pattern")) {
        return true;
    }
    if (span_equals(complexity_node_text(pattern, place->text), SPAN("_"))) {
        return false;
    }
    if (complexity_node_n_named(pattern) == 1) {
        pattern = complexity_node_named(pattern, 0);
    }
    return !complexity_node_is(pattern, "dotted_name") || complexity_node_n_named(pattern) != 1;
}

static uint32_t python_parameters(const ComplexityPlace *place)
{
    static const char *const except[] = {"keyword_separator", "positional_separator", NULL};

    return complexity_node_count(place->node, except);
}

static bool python_is_simple_return(TSNode statement)
{
    return complexity_node_is(statement, "return_statement") &&
           complexity_node_n_named(statement) == 1 &&
           complexity_node_is(complexity_node_named(statement, 0), "identifier");
}

/* Statements and comments of a decorator. What is longer has something else in it. */
#define PYTHON_WRAPPER_MAX 8

/* A decorator: one function in it, and besides at most the return of a name. */
static bool python_wraps(const ComplexityPlace *place)
{
    TSNode body = complexity_node_field(place->node, "body");
    uint32_t n = complexity_node_n_named(body);
    uint32_t n_functions = 0;

    if (n > PYTHON_WRAPPER_MAX) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        TSNode child = complexity_node_named(body, i);

        if (complexity_node_is(child, "function_definition") ||
            complexity_node_is(child, "decorated_definition")) {
            n_functions++;
        } else if (!complexity_node_is(child, "comment") && !python_is_simple_return(child)) {
            return false;
        }
    }
    return n_functions == 1;
}

const ComplexityLanguage complexity_language_python = {
    .name = SPAN_INIT("python"),
    .spellings = "py python3 cpython",
    .extensions = "py pyw pyi",
    .files = "SConstruct SConscript wscript",
    .commands = "python pypy uv",
    .toolchain = "python-uv",
    .grammar = tree_sitter_python,
    .nodes = python_nodes,
    .tokens = python_tokens,
    .separator = ".",
    .cyclomatic_apart = true,
    .counts = python_counts,
    .parameters = python_parameters,
    .wraps = python_wraps,
};
