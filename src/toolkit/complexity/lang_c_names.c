#include "toolkit/complexity/lang_c_names.h"

/* In front of a declarator; more are not looked through. */
#define C_ATTRIBUTES_MAX 8

/* The declarator inside one: grammars have a field for it in most of them. */
static TSNode c_inner_declarator(TSNode node)
{
    TSNode inner = complexity_node_field(node, "declarator");

    if (ts_node_is_null(inner) && (complexity_node_is(node, "parenthesized_declarator") ||
                                   complexity_node_is(node, "attributed_declarator") ||
                                   complexity_node_is(node, "reference_declarator"))) {
        uint32_t n = complexity_node_n_named(node);

        for (uint32_t i = 0; i < n && i < C_ATTRIBUTES_MAX && ts_node_is_null(inner); i++) {
            TSNode child = complexity_node_named(node, i);

            if (!complexity_node_is(child, "ms_call_modifier") &&
                !complexity_node_is(child, "attribute_declaration") &&
                !complexity_node_is_extra(child)) {
                inner = child;
            }
        }
    }
    return inner;
}

/* `name MACRO(…)`, where the parser takes the first word for the name and the others for an error:
 * the last one before the parameters. */
static TSNode c_last_name(TSNode name)
{
    TSNode next = complexity_node_next(name);

    while (!ts_node_is_null(next) && !complexity_node_is(next, "parameter_list")) {
        uint32_t n = complexity_node_n_named(next);

        if (complexity_node_is_error(next) && n > 0 &&
            complexity_node_is(complexity_node_named(next, n - 1), "identifier")) {
            name = complexity_node_named(next, n - 1);
        }
        next = complexity_node_next(next);
    }
    return name;
}

/* `MACRO(type, name)(parameters)`: no function gives a function. Null if it is not that. */
static TSNode c_macro_name(TSNode declarator)
{
    TSNode inner = complexity_node_field(declarator, "declarator");
    TSNode list = complexity_node_field(inner, "parameters");
    uint32_t n;

    if (!complexity_node_is(declarator, "function_declarator") ||
        !complexity_node_is(inner, "function_declarator") ||
        !complexity_node_is(complexity_node_field(inner, "declarator"), "identifier")) {
        return (TSNode){.id = NULL};
    }
    n = complexity_node_n_named(list);
    list = n > 0 ? complexity_node_named(list, n - 1) : (TSNode){.id = NULL};
    /* `type name` is a parameter. */
    return n > 0 && complexity_node_n_children(list) <= 1 ? list : (TSNode){.id = NULL};
}

/* "operator bool()": what it declares is its type. */
static Span c_cast_name(TSNode node, Span text)
{
    Span cast = complexity_node_text(node, text);
    TSNode declarator = complexity_node_field(node, "declarator");

    if (!ts_node_is_null(declarator)) {
        cast.n = ts_node_start_byte(declarator) - ts_node_start_byte(node);
    }
    return cast;
}

Span complexity_c_declared_name(TSNode definition, Span text)
{
    TSNode node = complexity_node_field(definition, "declarator");
    TSNode inner = node;
    TSNode macro;

    while (!ts_node_is_null(inner)) {
        TSNode outer = node;

        node = inner;
        if (complexity_node_is(node, "operator_cast")) {
            return c_cast_name(node, text);
        }
        macro = c_macro_name(node);
        if (!ts_node_is_null(macro)) {
            return complexity_node_text(macro, text);
        }
        inner = c_inner_declarator(node);
        if (ts_node_is_null(inner) && complexity_node_has_error(outer) &&
            complexity_node_is(outer, "function_declarator") &&
            complexity_node_is(node, "identifier")) {
            node = c_last_name(node);
        }
    }
    return complexity_node_text(node, text);
}

static bool c_is_among(Span name, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (span_equals(name, span_from_str(*words))) {
            return true;
        }
    }
    return false;
}

bool complexity_c_is_name(Span name)
{
    static const char *const keywords[] = {
        "if",    "else",   "for",    "while",    "switch", "do",     "return", "case",
        "catch", "try",    "goto",   "sizeof",   "int",    "char",   "void",   "short",
        "long",  "float",  "double", "unsigned", "signed", "bool",   "struct", "union",
        "enum",  "static", "const",  "volatile", "extern", "inline", NULL,
    };

    return !c_is_among(name, keywords);
}

const char *complexity_c_really(const ComplexityPlace *place)
{
    static const struct {
        const char *keyword;
        const char *node;
    } statements[] = {
        {"if", "if_statement"},
        {"for", "for_statement"},
        {"while", "while_statement"},
        {"switch", "switch_statement"},
    };
    Span name = complexity_c_declared_name(place->node, place->text);

    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        if (span_equals(name, span_from_str(statements[i].keyword))) {
            return statements[i].node;
        }
    }
    return NULL;
}

/* `EACH(list) {`, a loop by a macro, is a declarator in parentheses: it has no parameters. */
static bool c_has_parameters(TSNode definition)
{
    TSNode node = complexity_node_field(definition, "declarator");

    while (!ts_node_is_null(node) && !complexity_node_is(node, "function_declarator") &&
           !complexity_node_is(node, "operator_cast")) {
        node = c_inner_declarator(node);
    }
    return !ts_node_is_null(node);
}

bool complexity_c_is_in_block(const ComplexityPlace *place)
{
    static const char *const parts[] = {"preproc_if", "preproc_ifdef", "preproc_else",
                                        "preproc_elif", NULL};
    TSNode type = complexity_node_field(place->node, "type");
    TSNode around = place->parent;

    if (!place->in_function || ts_node_is_null(around)) {
        return false;
    }
    if (c_is_among(complexity_node_type(around), parts)) {
        around = place->above;
    }
    return (complexity_node_is(around, "compound_statement") || complexity_node_is_error(around) ||
            c_is_among(complexity_node_type(around), parts)) &&
           (ts_node_is_null(type) || complexity_node_is(type, "macro_type_specifier") ||
            !c_has_parameters(place->node));
}

uint32_t complexity_c_parameters(const ComplexityPlace *place)
{
    static const char *const except[] = {"variadic_parameter", NULL};
    uint32_t n = complexity_node_count(place->node, except);
    Span only = n != 1 ? SPAN_NULL
                       : complexity_node_text(complexity_node_named(place->node, 0), place->text);

    return span_equals(only, SPAN("void")) ? 0 : n;
}
