/* Go.
 *
 * Cyclomatic as gocyclo: 1 + if, for, case of a switch or select that is not default, && and ||;
 * function literals count in the function around them, and those of a variable of the package have
 * rows. Cognitive: the paper; goto and jumps to a label 1, fallthrough 0. gocognit
 * differs in one thing: there the body of `else { if }` is no deeper.
 */
#include "toolkit/complexity/rules.h"

const TSLanguage *tree_sitter_go(void);

static const ComplexityRule go_nodes[] = {
    {"if_statement", NULL, RULE_IF, "if", {"consequence"}},
    {"for_statement", NULL, RULE_LOOP, "for", {"body"}},
    {"expression_switch_statement", NULL, RULE_SWITCH, "switch", {NULL}},
    {"type_switch_statement", NULL, RULE_SWITCH, "switch", {NULL}},
    {"select_statement", NULL, RULE_SWITCH, "select", {NULL}},
    {"expression_case", NULL, RULE_CASE, NULL, {NULL}},
    {"type_case", NULL, RULE_CASE, NULL, {NULL}},
    {"communication_case", NULL, RULE_CASE, NULL, {NULL}},
    {"binary_expression", NULL, RULE_BINARY, NULL, {NULL}},
    {"parenthesized_expression", NULL, RULE_PAREN, NULL, {NULL}},
    {"goto_statement", NULL, RULE_FLAT, "goto", {NULL}},
    {"label_name", "break_statement", RULE_FLAT, "break", {NULL}},
    {"label_name", "continue_statement", RULE_FLAT, "continue", {NULL}},

    {"function_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"method_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"func_literal", NULL, RULE_CLOSURE, NULL, {NULL}},
    {"parameter_list", "function_declaration", RULE_PARAMETERS, NULL, {NULL}},
    {"parameter_list", "func_literal", RULE_PARAMETERS, NULL, {NULL}},
    {"parameter_list", "method_declaration", RULE_PARAMETERS | RULE_ASK, NULL, {NULL}},

    {"comment", NULL, RULE_COMMENT, NULL, {NULL}},
    {"interpreted_string_literal", NULL, RULE_STRING, NULL, {NULL}},
    {"raw_string_literal", NULL, RULE_STRING, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

static const ComplexityRule go_tokens[] = {
    {"else", NULL, RULE_ELSE_TOKEN, "else", {NULL}},
    {"&&", NULL, RULE_AND, "&&", {NULL}},
    {"||", NULL, RULE_OR, "||", {NULL}},
    {")", NULL, RULE_CLOSE, NULL, {NULL}},
    {"]", NULL, RULE_CLOSE, NULL, {NULL}},
    {"}", NULL, RULE_CLOSE, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

/* `(t *List[K])` is List. */
static Span go_receiver(TSNode method, Span text)
{
    TSNode receiver = complexity_node_field(method, "receiver");
    TSNode type;

    if (ts_node_is_null(receiver)) {
        return SPAN_NULL;
    }
    type = complexity_node_field(complexity_node_named(receiver, 0), "type");
    while (complexity_node_is(type, "pointer_type") ||
           complexity_node_is(type, "parenthesized_type")) {
        type = complexity_node_named(type, 0);
    }
    if (complexity_node_is(type, "generic_type")) {
        type = complexity_node_field(type, "type");
    }
    return complexity_node_text(type, text);
}

static bool go_name_of(const ComplexityPlace *place, ComplexityName *ret)
{
    *ret = (ComplexityName){.name = SPAN_NULL};
    ret->name = complexity_node_field_text(place->node, "name", place->text);
    ret->scope = go_receiver(place->node, place->text);
    /* One without a body is written in assembly. */
    return !ts_node_is_null(complexity_node_field(place->node, "body"));
}

static Span go_bound_to(TSNode node, Span text)
{
    return complexity_node_is(node, "var_spec") ? complexity_node_field_text(node, "name", text)
                                                : SPAN_NULL;
}

/* A method's parameters, not its receiver and not its results. */
static bool go_counts(const ComplexityPlace *place)
{
    return ts_node_eq(place->node, complexity_node_field(place->parent, "parameters"));
}

/* `a, b int` are two, `int` alone is one. */
static uint32_t go_parameters(const ComplexityPlace *place)
{
    TSTreeCursor cursor;
    uint32_t n = 0;

    for (bool more = complexity_node_children(place->node, &cursor); more;
         more = complexity_node_go_on(&cursor)) {
        TSNode child = ts_tree_cursor_current_node(&cursor);

        if (complexity_node_is_named(child) && !complexity_node_is_extra(child)) {
            uint32_t n_names = complexity_node_count_of(child, "identifier");

            n += n_names == 0 ? 1 : n_names;
        }
    }
    return n;
}

const ComplexityLanguage complexity_language_go = {
    .name = SPAN_INIT("go"),
    .spellings = "golang",
    .extensions = "go",
    .grammar = tree_sitter_go,
    .nodes = go_nodes,
    .tokens = go_tokens,
    .separator = ".",
    .name_of = go_name_of,
    .counts = go_counts,
    .parameters = go_parameters,
    .bound_to = go_bound_to,
};
