/* PHP.
 *
 * Cyclomatic as PHP_Depend's CCN2, which PHPMD shows: 1 + if, elseif, for, foreach, while, do,
 * case, catch, ?: (the short one too), && || and or. Beyond it we count each arm of a match but
 * default.
 * `??`, `?->` and xor add nothing. Cognitive: the paper; goto 1, break and continue over several
 * levels 1. Closures count in the function around them, and in no function have rows; nested
 * functions and methods of anonymous classes have rows, and count in the function around them by
 * their cognitive complexity only.
 */
#include "toolkit/complexity/rules.h"

const TSLanguage *tree_sitter_php(void);

static const ComplexityRule php_nodes[] = {
    {"if_statement", NULL, RULE_IF, "if", {"body"}},
    {"else_if_clause", NULL, RULE_ELSE_IF, "else if", {"body"}},
    {"else_clause", NULL, RULE_ELSE_CLAUSE, NULL, {NULL}},
    {"for_statement", NULL, RULE_LOOP, "for", {NULL}},
    {"foreach_statement", NULL, RULE_LOOP, "foreach", {NULL}},
    {"while_statement", NULL, RULE_LOOP, "while", {NULL}},
    {"do_statement", NULL, RULE_LOOP, "do", {NULL}},
    {"switch_statement", NULL, RULE_SWITCH, "switch", {NULL}},
    {"case_statement", NULL, RULE_CASE, NULL, {NULL}},
    {"match_expression", NULL, RULE_SWITCH, "match", {NULL}},
    {"match_conditional_expression", NULL, RULE_CASE, NULL, {NULL}},
    {"catch_clause", NULL, RULE_CATCH, "catch", {NULL}},
    {"conditional_expression", NULL, RULE_TERNARY, "?:", {NULL}},
    {"binary_expression", NULL, RULE_BINARY, NULL, {NULL}},
    {"parenthesized_expression", NULL, RULE_PAREN, NULL, {NULL}},
    {"goto_statement", NULL, RULE_FLAT, "goto", {NULL}},
    {"integer", "break_statement", RULE_FLAT, "break", {NULL}},
    {"integer", "continue_statement", RULE_FLAT, "continue", {NULL}},

    {"function_definition", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"method_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"property_hook", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"anonymous_function", NULL, RULE_CLOSURE, NULL, {NULL}},
    {"arrow_function", NULL, RULE_CLOSURE, NULL, {NULL}},
    {"formal_parameters", NULL, RULE_PARAMETERS, NULL, {NULL}},
    {"class_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"trait_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"enum_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"anonymous_class", NULL, RULE_CONTAINER, NULL, {NULL}},

    {"comment", NULL, RULE_COMMENT, NULL, {NULL}},
    /* What is outside of <?php … ?> is a text that is written out. */
    {"text_interpolation", NULL, RULE_STRING, NULL, {NULL}},
    {"variable_name", "encapsed_string", RULE_STRING | RULE_CODE, NULL, {NULL}},
    {"variable_name", "shell_command_expression", RULE_STRING | RULE_CODE, NULL, {NULL}},
    {"variable_name", NULL, RULE_STRING, NULL, {NULL}},
    {"string", NULL, RULE_STRING, NULL, {NULL}},
    {"nowdoc", NULL, RULE_STRING, NULL, {NULL}},
    {"relative_scope", NULL, RULE_STRING, NULL, {NULL}},
    {"encapsed_string", NULL, RULE_TEXT, NULL, {NULL}},
    {"heredoc", NULL, RULE_TEXT, NULL, {NULL}},
    {"shell_command_expression", NULL, RULE_TEXT, NULL, {NULL}},
    {"heredoc_body", NULL, RULE_CODE, NULL, {NULL}},
    {"string_content", NULL, RULE_SKIP, NULL, {NULL}},
    {"escape_sequence", NULL, RULE_SKIP, NULL, {NULL}},
    {"dynamic_variable_name", NULL, RULE_CODE, NULL, {NULL}},
    {"member_access_expression", NULL, RULE_CODE, NULL, {NULL}},
    {"nullsafe_member_access_expression", NULL, RULE_CODE, NULL, {NULL}},
    {"subscript_expression", NULL, RULE_CODE, NULL, {NULL}},
    {"member_call_expression", NULL, RULE_CODE, NULL, {NULL}},
    {"scoped_property_access_expression", NULL, RULE_CODE, NULL, {NULL}},
    {"scoped_call_expression", NULL, RULE_CODE, NULL, {NULL}},
    {"function_call_expression", NULL, RULE_CODE, NULL, {NULL}},
    {"cast_type", NULL, RULE_OPERATOR, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

static const ComplexityRule php_tokens[] = {
    {"else", NULL, RULE_ELSE_TOKEN, "else", {NULL}},
    {"&&", NULL, RULE_AND, "&&", {NULL}},
    {"||", NULL, RULE_OR, "||", {NULL}},
    {"and", NULL, RULE_AND, "and", {NULL}},
    {"or", NULL, RULE_OR, "or", {NULL}},
    {")", NULL, RULE_CLOSE, NULL, {NULL}},
    {"]", NULL, RULE_CLOSE, NULL, {NULL}},
    {"}", NULL, RULE_CLOSE, NULL, {NULL}},
    {"endif", NULL, RULE_CLOSE, NULL, {NULL}},
    {"endfor", NULL, RULE_CLOSE, NULL, {NULL}},
    {"endforeach", NULL, RULE_CLOSE, NULL, {NULL}},
    {"endwhile", NULL, RULE_CLOSE, NULL, {NULL}},
    {"endswitch", NULL, RULE_CLOSE, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

/* Without its `$`. */
static Span php_variable(Span name)
{
    return name.n > 1 && name.p[0] == '$' ? span_make(name.p + 1, name.n - 1) : name;
}

static Span php_bound_to(TSNode node, Span text)
{
    if (complexity_node_is(node, "assignment_expression")) {
        return php_variable(complexity_node_field_text(node, "left", text));
    }
    if (complexity_node_is(node, "property_element")) {
        return php_variable(complexity_node_field_text(node, "name", text));
    }
    return complexity_node_is(node, "const_element")
               ? complexity_node_text(complexity_node_find(node, "name"), text)
               : SPAN_NULL;
}

/* `B.prop.get`: the property is what is before the list of hooks. */
static void php_name_hook(const ComplexityPlace *place, ComplexityName *ret)
{
    TSNode property = complexity_node_find(place->above, "property_element");
    Span name = complexity_node_is(place->above, "property_promotion_parameter")
                    ? complexity_node_field_text(place->above, "name", place->text)
                    : complexity_node_field_text(property, "name", place->text);

    ret->scope = php_variable(name);
    ret->name = complexity_node_text(complexity_node_find(place->node, "name"), place->text);
}

static bool php_name_of(const ComplexityPlace *place, ComplexityName *ret)
{
    TSNode node = place->node;

    *ret = (ComplexityName){.name = complexity_node_field_text(node, "name", place->text)};
    if (complexity_node_is(node, "anonymous_class")) {
        ret->name = SPAN("class@anonymous");
        return true;
    }
    if (complexity_node_is(node, "property_hook")) {
        php_name_hook(place, ret);
    }
    return (!complexity_node_is(node, "method_declaration") &&
            !complexity_node_is(node, "property_hook")) ||
           !ts_node_is_null(complexity_node_field(node, "body"));
}

const ComplexityLanguage complexity_language_php = {
    .name = SPAN_INIT("php"),
    .spellings = "",
    .extensions = "php phtml",
    .commands = "php",
    .grammar = tree_sitter_php,
    .nodes = php_nodes,
    .tokens = php_tokens,
    .separator = ".",
    .cyclomatic_apart = true,
    .name_of = php_name_of,
    .bound_to = php_bound_to,
};
