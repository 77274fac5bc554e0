/* Kotlin.
 *
 * Cyclomatic as detekt (CyclomaticComplexMethod, its defaults): 1 + if, for, while, do, each entry
 * of a when (else too), catch, && and ||, ?:, break and continue, and a lambda handed to run, let,
 * apply, with, also, use, forEach, isNotNull or ifNull. Named functions inside a function count in
 * their own row only (detekt has those of object literals nowhere, and others in both). Cognitive:
 * the paper; an if that is an expression is an if; `?:` and `?.` 0; jumps to a label 1. Rows:
 * functions with a body, accessors with a body, secondary constructors, initialisers, lambdas and
 * anonymous functions in no function.
 */
#include "toolkit/complexity/rules.h"

const TSLanguage *tree_sitter_kotlin(void);

static const ComplexityRule kotlin_nodes[] = {
    {"if_expression", NULL, RULE_IF | RULE_NEST_TOKEN, "if", {NULL}},
    {"for_statement", NULL, RULE_LOOP, "for", {NULL}},
    {"while_statement", NULL, RULE_LOOP, "while", {NULL}},
    {"do_while_statement", NULL, RULE_LOOP, "do", {NULL}},
    {"when_expression", NULL, RULE_SWITCH, "when", {NULL}},
    {"when_entry", NULL, RULE_CASE, NULL, {NULL}},
    {"catch_block", NULL, RULE_CATCH, "catch", {NULL}},
    {"binary_expression", NULL, RULE_BINARY, NULL, {NULL}},
    {"parenthesized_expression", NULL, RULE_PAREN, NULL, {NULL}},
    {"call_expression", NULL, RULE_CYCLOMATIC | RULE_ASK, NULL, {NULL}},
    /* The grammar takes `break` for a name, and `break@` for a label. */
    {"label", "labeled_expression", RULE_CYCLOMATIC | RULE_FLAT | RULE_ASK, "jump", {NULL}},
    {"identifier", "setter", RULE_PARAMETERS, NULL, {NULL}},
    {"identifier", NULL, RULE_CYCLOMATIC | RULE_ASK, NULL, {NULL}},

    {"function_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"getter", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"setter", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"secondary_constructor", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"anonymous_initializer", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"lambda_literal", NULL, RULE_CLOSURE, NULL, {NULL}},
    {"anonymous_function", NULL, RULE_CLOSURE, NULL, {NULL}},
    {"function_value_parameters", NULL, RULE_PARAMETERS, NULL, {NULL}},
    {"lambda_parameters", NULL, RULE_PARAMETERS, NULL, {NULL}},
    {"class_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"object_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"companion_object", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"object_literal", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"enum_entry", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"property_declaration", NULL, RULE_CONTAINER, NULL, {NULL}},

    {"line_comment", NULL, RULE_COMMENT, NULL, {NULL}},
    {"block_comment", NULL, RULE_COMMENT, NULL, {NULL}},
    {"shebang", NULL, RULE_COMMENT, NULL, {NULL}},
    {"string_literal", NULL, RULE_TEXT, NULL, {NULL}},
    {"multiline_string_literal", NULL, RULE_TEXT, NULL, {NULL}},
    {"interpolation", NULL, RULE_CODE, NULL, {NULL}},
    {"character_literal", NULL, RULE_STRING, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

static const ComplexityRule kotlin_tokens[] = {
    {"else", NULL, RULE_ELSE_TOKEN, "else", {NULL}},
    {")", "if_expression", RULE_BODY_TOKEN | RULE_CLOSE, NULL, {NULL}},
    {"&&", NULL, RULE_AND, "&&", {NULL}},
    {"||", NULL, RULE_OR, "||", {NULL}},
    {"?:", NULL, RULE_COALESCE, NULL, {NULL}},
    {"this", NULL, RULE_STRING, NULL, {NULL}},
    {"super", NULL, RULE_STRING, NULL, {NULL}},
    {")", NULL, RULE_CLOSE, NULL, {NULL}},
    {"]", NULL, RULE_CLOSE, NULL, {NULL}},
    {"}", NULL, RULE_CLOSE, NULL, {NULL}},
    {">", "type_arguments", RULE_CLOSE, NULL, {NULL}},
    {">", "type_parameters", RULE_CLOSE, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

/* `fun List<T>.first()` is List.first. */
static Span kotlin_receiver(TSNode function, Span text)
{
    TSNode type = complexity_node_find(function, "user_type");
    TSNode name = complexity_node_field(function, "name");

    /* Behind the name it is the type of the result. */
    if (ts_node_is_null(type) || ts_node_is_null(name) ||
        ts_node_start_byte(type) > ts_node_start_byte(name)) {
        return SPAN_NULL;
    }
    return complexity_node_text(complexity_node_named(type, 0), text);
}

static bool kotlin_name_function(const ComplexityPlace *place, ComplexityName *ret)
{
    TSNode node = place->node;

    if (complexity_node_is(node, "secondary_constructor")) {
        ret->name = SPAN("constructor");
        return true;
    }
    if (complexity_node_is(node, "anonymous_initializer")) {
        ret->name = SPAN("init");
        return true;
    }
    if (complexity_node_is(node, "getter")) {
        ret->name = SPAN("get");
    } else if (complexity_node_is(node, "setter")) {
        ret->name = SPAN("set");
    } else {
        ret->scope = kotlin_receiver(node, place->text);
        ret->name = complexity_node_field_text(node, "name", place->text);
    }
    return !ts_node_is_null(complexity_node_find(node, "function_body"));
}

/* `object : Type { … }` holds methods of an unnamed kind of Type. */
static Span kotlin_name_object(TSNode object, Span text)
{
    TSNode list = complexity_node_find(object, "delegation_specifiers");
    TSNode first = complexity_node_named(list, 0);
    TSNode type = complexity_node_named(first, 0);

    if (complexity_node_is(type, "constructor_invocation")) {
        type = complexity_node_named(type, 0);
    }
    if (!complexity_node_is(type, "user_type")) {
        return SPAN("object");
    }
    return complexity_node_text(complexity_node_named(type, 0), text);
}

static Span kotlin_property(TSNode property, Span text)
{
    TSNode variable = complexity_node_find(property, "variable_declaration");

    return complexity_node_text(complexity_node_named(variable, 0), text);
}

static Span kotlin_bound_to(TSNode node, Span text)
{
    return complexity_node_is(node, "property_declaration") ? kotlin_property(node, text)
                                                            : SPAN_NULL;
}

static bool kotlin_name_of(const ComplexityPlace *place, ComplexityName *ret)
{
    TSNode node = place->node;

    *ret = (ComplexityName){.name = complexity_node_field_text(node, "name", place->text)};
    if (complexity_node_is(node, "class_declaration") ||
        complexity_node_is(node, "object_declaration")) {
        return true;
    }
    if (complexity_node_is(node, "companion_object")) {
        ret->name = ret->name.n > 0 ? ret->name : SPAN("Companion");
        return true;
    }
    if (complexity_node_is(node, "object_literal")) {
        ret->name = kotlin_name_object(node, place->text);
        return true;
    }
    if (complexity_node_is(node, "enum_entry")) {
        ret->name = complexity_node_text(complexity_node_find(node, "identifier"), place->text);
        return true;
    }
    if (complexity_node_is(node, "property_declaration")) {
        ret->name = kotlin_property(node, place->text);
        return true;
    }
    return kotlin_name_function(place, ret);
}

static bool kotlin_is_one_of(Span text, const char *const *words)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        if (span_equals(text, span_from_str(words[i]))) {
            return true;
        }
    }
    return false;
}

/* Does the call hand a lambda to a function that runs it at once? */
static bool kotlin_counts_call(const ComplexityPlace *place)
{
    static const char *const names[] = {"run", "let",     "apply",     "with",   "also",
                                        "use", "forEach", "isNotNull", "ifNull", NULL};
    uint32_t n = complexity_node_n_named(place->node);
    TSNode callee;

    if (n < 2 ||
        !complexity_node_is(complexity_node_named(place->node, n - 1), "annotated_lambda")) {
        return false;
    }
    callee = complexity_node_named(place->node, 0);
    /* with(x) { … } is a call of with(x). */
    if (complexity_node_is(callee, "call_expression")) {
        callee = complexity_node_named(callee, 0);
    }
    if (complexity_node_is(callee, "navigation_expression")) {
        callee = complexity_node_named(callee, complexity_node_n_named(callee) - 1);
    }
    return kotlin_is_one_of(complexity_node_text(callee, place->text), names);
}

static bool kotlin_counts(const ComplexityPlace *place)
{
    static const char *const words[] = {"break", "continue", "break@", "continue@", NULL};
    size_t n = complexity_node_text(place->node, place->text).n;

    /* Most of what we are asked about are names: their length alone settles it. */
    if (n >= 5 && n <= 9 && complexity_node_n_children(place->node) == 0) {
        return kotlin_is_one_of(complexity_node_text(place->node, place->text), words);
    }
    return complexity_node_is(place->node, "call_expression") && kotlin_counts_call(place);
}

/* Defaults and modifiers lie between the parameters; a setter's is a name alone. */
static uint32_t kotlin_parameters(const ComplexityPlace *place)
{
    if (complexity_node_is(place->node, "identifier")) {
        return 1;
    }
    return complexity_node_is(place->node, "lambda_parameters")
               ? complexity_node_count(place->node, NULL)
               : complexity_node_count_of(place->node, "parameter");
}

const ComplexityLanguage complexity_language_kotlin = {
    .name = SPAN_INIT("kotlin"),
    .spellings = "kt",
    .extensions = "kt kts",
    .commands = "kotlin",
    .grammar = tree_sitter_kotlin,
    .nodes = kotlin_nodes,
    .tokens = kotlin_tokens,
    .separator = ".",
    .cyclomatic_apart = true,
    .name_of = kotlin_name_of,
    .counts = kotlin_counts,
    .parameters = kotlin_parameters,
    .bound_to = kotlin_bound_to,
};
