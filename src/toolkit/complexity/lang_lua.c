/* Lua.
 *
 * Cyclomatic as luacheck (W561): 1 + if, elseif, while, repeat, for, and, or; a named function
 * inside another counts in its own row only. Functions without a name count in the one around them,
 * which luacheck measures apart. Cognitive: the paper; goto 1. A function has a name if it is
 * declared with one, or is what a variable or a field of a table is set to; without one it has a
 * row if it is in no function.
 */
#include "toolkit/complexity/rules.h"

const TSLanguage *tree_sitter_lua(void);

/* How many values of one assignment are looked through for a function: each look counts from the
 * first one on. */
#define LUA_VALUES_MAX 8

#define LUA_ELSE (RULE_FLAT | RULE_NEST | RULE_DEEPEN | RULE_AT_PARENT)

static const ComplexityRule lua_nodes[] = {
    {"if_statement", NULL, RULE_IF, "if", {"consequence"}},
    {"elseif_statement", NULL, RULE_ELSE_IF, "else if", {"consequence"}},
    {"else_statement", NULL, LUA_ELSE, "else", {NULL}},
    {"while_statement", NULL, RULE_LOOP, "while", {NULL}},
    {"repeat_statement", NULL, RULE_LOOP, "repeat", {NULL}},
    {"for_statement", NULL, RULE_LOOP, "for", {NULL}},
    {"binary_expression", NULL, RULE_BINARY, NULL, {NULL}},
    {"parenthesized_expression", NULL, RULE_PAREN, NULL, {NULL}},
    {"goto_statement", NULL, RULE_FLAT, "goto", {NULL}},

    {"function_declaration", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"function_definition", "expression_list", RULE_FUNCTION | RULE_CLOSURE, NULL, {NULL}},
    {"function_definition", "field", RULE_FUNCTION | RULE_CLOSURE, NULL, {NULL}},
    {"function_definition", NULL, RULE_CLOSURE, NULL, {NULL}},
    {"parameters", NULL, RULE_PARAMETERS, NULL, {NULL}},

    {"comment", NULL, RULE_COMMENT, NULL, {NULL}},
    {"hash_bang_line", NULL, RULE_COMMENT, NULL, {NULL}},
    {"string", NULL, RULE_STRING, NULL, {NULL}},
    {"break_statement", NULL, RULE_OPERATOR, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

/* clang-format off */
static const ComplexityRule lua_tokens[] = {
    {"and", NULL, RULE_AND, "and", {NULL}},
    {"or", NULL, RULE_OR, "or", {NULL}},
    {")", NULL, RULE_CLOSE, NULL, {NULL}},
    {"]", NULL, RULE_CLOSE, NULL, {NULL}},
    {"}", NULL, RULE_CLOSE, NULL, {NULL}},
    {"end", NULL, RULE_CLOSE, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};
/* clang-format on */

/* `a.b:c` is c of a.b. */
static void lua_name_variable(TSNode variable, Span text, ComplexityName *ret)
{
    if (complexity_node_is(variable, "method_index_expression")) {
        ret->scope = complexity_node_field_text(variable, "table", text);
        ret->name = complexity_node_field_text(variable, "method", text);
    } else {
        ret->name = complexity_node_text(variable, text);
    }
}

/* The variable that stands where the function does in `a, b = f, g`. */
static bool lua_name_assigned(const ComplexityPlace *place, ComplexityName *ret)
{
    TSNode value = complexity_node_named(place->parent, 0);
    TSNode variables;
    uint32_t i = 0;

    if (!complexity_node_is(place->above, "assignment_statement")) {
        return false;
    }
    variables = complexity_node_find(place->above, "variable_list");
    if (ts_node_is_null(variables)) {
        return false;
    }
    while (!ts_node_is_null(value) && !ts_node_eq(value, place->node)) {
        if (++i == LUA_VALUES_MAX) {
            return false;
        }
        value = complexity_node_named(place->parent, i);
    }
    lua_name_variable(complexity_node_named(variables, i), place->text, ret);
    return ret->name.n > 0;
}

static bool lua_name_of(const ComplexityPlace *place, ComplexityName *ret)
{
    TSNode name;

    *ret = (ComplexityName){.name = SPAN_NULL};
    if (complexity_node_is(place->node, "function_declaration")) {
        lua_name_variable(complexity_node_field(place->node, "name"), place->text, ret);
        return true;
    }
    if (!complexity_node_is(place->parent, "field")) {
        return lua_name_assigned(place, ret);
    }
    name = complexity_node_field(place->parent, "name");
    ret->name = complexity_node_text(name, place->text);
    return complexity_node_is(name, "identifier");
}

static Span lua_bound_to(TSNode node, Span text)
{
    TSNode variables = complexity_node_is(node, "assignment_statement")
                           ? complexity_node_find(node, "variable_list")
                           : (TSNode){.id = NULL};

    return ts_node_is_null(variables)
               ? SPAN_NULL
               : complexity_node_text(complexity_node_named(variables, 0), text);
}

/* `...` is none. */
static uint32_t lua_parameters(const ComplexityPlace *place)
{
    static const char *const except[] = {"vararg_expression", NULL};

    return complexity_node_count(place->node, except);
}

const ComplexityLanguage complexity_language_lua = {
    .name = SPAN_INIT("lua"),
    .spellings = "luajit",
    .extensions = "lua rockspec",
    .files = ".luacheckrc",
    .commands = "lua luajit",
    .grammar = tree_sitter_lua,
    .nodes = lua_nodes,
    .tokens = lua_tokens,
    .separator = ".",
    .cyclomatic_apart = true,
    .name_of = lua_name_of,
    .parameters = lua_parameters,
    .bound_to = lua_bound_to,
};
