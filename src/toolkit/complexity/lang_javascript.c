/* JavaScript with JSX. Cyclomatic as eslint's classic variant; every function is a row. */
#include "toolkit/complexity/lang_javascript.h"

const TSLanguage *tree_sitter_javascript(void);

static const ComplexityRule javascript_nodes[] = {
    JAVASCRIPT_NODES,
    {"field_definition", NULL, RULE_APART, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

static const ComplexityRule javascript_tokens[] = {
    JAVASCRIPT_TOKENS,
    JAVASCRIPT_JSX_TOKENS,
    {NULL, NULL, 0, NULL, {NULL}},
};

/* What gives its name to the function, class or object that it holds. */
typedef struct JavascriptBinding {
    const char *node;
    const char *name;
    const char *value;
} JavascriptBinding;

static const JavascriptBinding javascript_bindings[] = {
    {"variable_declarator", "name", "value"},
    {"assignment_expression", "left", "right"},
    {"augmented_assignment_expression", "left", "right"},
    {"pair", "key", "value"},
    {"field_definition", "property", "value"},
    {"public_field_definition", "name", "value"},
    {"assignment_pattern", "left", "right"},
    {"object_assignment_pattern", "left", "right"},
    {"required_parameter", "pattern", "value"},
    {"optional_parameter", "pattern", "value"},
};

/* Names are plain words and paths of them; a pattern or a computed key names nothing. */
static Span javascript_name_text(TSNode node, Span text)
{
    Span name = complexity_node_text(node, text);

    if (complexity_node_is(node, "object_pattern") || complexity_node_is(node, "array_pattern")) {
        return SPAN_NULL;
    }
    if (complexity_node_is(node, "string") && name.n >= 2) {
        return span_make(name.p + 1, name.n - 2);
    }
    return name;
}

static Span javascript_bound_name(const ComplexityPlace *place)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(javascript_bindings); i++) {
        const JavascriptBinding *binding = &javascript_bindings[i];

        if (complexity_node_is(place->parent, binding->node)) {
            TSNode value = complexity_node_field(place->parent, binding->value);

            return ts_node_is_null(value) || !ts_node_eq(value, place->node)
                       ? SPAN_NULL
                       : javascript_name_text(complexity_node_field(place->parent, binding->name),
                                              place->text);
        }
    }
    return complexity_node_is(place->parent, "export_statement") ? SPAN("default") : SPAN_NULL;
}

static bool javascript_is_heritage(TSNode node)
{
    return complexity_node_is(node, "class_heritage") || complexity_node_is(node, "extends_clause");
}

bool complexity_javascript_name_of(const ComplexityPlace *place, ComplexityName *ret)
{
    TSNode name = complexity_node_field(place->node, "name");

    if (!ts_node_is_null(name)) {
        ret->name = javascript_name_text(name, place->text);
    } else if (!ts_node_is_null(place->parent)) {
        ret->name = javascript_bound_name(place);
    }
    /* `class A extends (class { … })`: what is in there is not A's. */
    if (ret->name.n == 0 && complexity_node_is(place->node, "class") &&
        (javascript_is_heritage(place->parent) || javascript_is_heritage(place->above))) {
        ret->name = SPAN("(anonymous)");
    }
    return true;
}

uint32_t complexity_javascript_parameters(const ComplexityPlace *place)
{
    static const char *const except[] = {"decorator", NULL};

    return complexity_node_is(place->node, "identifier")
               ? 1
               : complexity_node_count(place->node, except);
}

const ComplexityLanguage complexity_language_javascript = {
    .name = SPAN_INIT("javascript"),
    .spellings = "js jsx node nodejs ecmascript mjs cjs",
    .extensions = "js jsx mjs cjs",
    .files = "Jakefile",
    .commands = "node nodejs bun qjs",
    .toolchain = "deno",
    .grammar = tree_sitter_javascript,
    .nodes = javascript_nodes,
    .tokens = javascript_tokens,
    .separator = ".",
    .rows_apart = true,
    .name_of = complexity_javascript_name_of,
    .parameters = complexity_javascript_parameters,
};
