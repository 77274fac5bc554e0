/* Ruby.
 *
 * Cyclomatic as RuboCop (Metrics/CyclomaticComplexity): 1 + if, unless, elsif, ?:, while, until,
 * for, when, in, rescue (once for all clauses of a body), && || and or, &&= and ||=, `&.`, and a
 * block (or `&:name`) handed to a method that iterates, by RuboCop's list of such methods. RuboCop
 * counts
 * `&.` on one variable once, and no loop that tests behind its body (`begin … end while x`); here
 * each counts. Cognitive: the paper; blocks and lambdas are closures, each rescue is a catch. Rows:
 * def, blocks of define_method, and blocks and lambdas in no function.
 */
#include "toolkit/complexity/rules.h"

const TSLanguage *tree_sitter_ruby(void);

/* Its first statement may be an if without being an elsif. */
#define RUBY_ELSE   (RULE_FLAT | RULE_NEST | RULE_DEEPEN | RULE_AT_PARENT)
#define RUBY_RESCUE (RULE_CATCH & ~RULE_CYCLOMATIC)

static const ComplexityRule ruby_nodes[] = {
    {"if", NULL, RULE_IF, "if", {"consequence"}},
    {"unless", NULL, RULE_IF, "unless", {"consequence"}},
    {"elsif", NULL, RULE_ELSE_IF, "else if", {"consequence"}},
    {"else", "if", RUBY_ELSE, "else", {NULL}},
    {"else", "unless", RUBY_ELSE, "else", {NULL}},
    {"else", "elsif", RUBY_ELSE, "else", {NULL}},
    {"if_modifier", NULL, RULE_IF, "if", {"body"}},
    {"unless_modifier", NULL, RULE_IF, "unless", {"body"}},
    {"conditional", NULL, RULE_TERNARY, "?:", {NULL}},
    {"while", NULL, RULE_LOOP, "while", {NULL}},
    {"until", NULL, RULE_LOOP, "until", {NULL}},
    {"for", NULL, RULE_LOOP, "for", {NULL}},
    {"while_modifier", NULL, RULE_LOOP, "while", {NULL}},
    {"until_modifier", NULL, RULE_LOOP, "until", {NULL}},
    {"case", NULL, RULE_SWITCH, "case", {NULL}},
    {"case_match", NULL, RULE_SWITCH, "case", {NULL}},
    {"when", NULL, RULE_CASE, NULL, {NULL}},
    {"in_clause", NULL, RULE_CASE, NULL, {NULL}},
    {"rescue", NULL, RUBY_RESCUE, "rescue", {NULL}},
    {"rescue_modifier", NULL, RULE_CATCH, "rescue", {"handler"}},
    {"begin", NULL, RULE_CYCLOMATIC | RULE_ASK, NULL, {NULL}},
    {"body_statement", NULL, RULE_CYCLOMATIC | RULE_ASK, NULL, {NULL}},
    {"call", NULL, RULE_CYCLOMATIC | RULE_ASK, NULL, {NULL}},
    {"binary", NULL, RULE_BINARY, NULL, {NULL}},
    {"parenthesized_statements", NULL, RULE_PAREN, NULL, {NULL}},

    {"method", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"singleton_method", NULL, RULE_FUNCTION, NULL, {NULL}},
    {"lambda", NULL, RULE_CLOSURE, NULL, {NULL}},
    {"block", "lambda", 0, NULL, {NULL}},
    {"do_block", "lambda", 0, NULL, {NULL}},
    {"block", NULL, RULE_FUNCTION | RULE_CLOSURE, NULL, {NULL}},
    {"do_block", NULL, RULE_FUNCTION | RULE_CLOSURE, NULL, {NULL}},
    {"method_parameters", NULL, RULE_PARAMETERS, NULL, {NULL}},
    {"block_parameters", NULL, RULE_PARAMETERS, NULL, {NULL}},
    {"lambda_parameters", NULL, RULE_PARAMETERS, NULL, {NULL}},
    {"class", NULL, RULE_CONTAINER, NULL, {NULL}},
    {"module", NULL, RULE_CONTAINER, NULL, {NULL}},

    {"comment", NULL, RULE_COMMENT, NULL, {NULL}},
    /* What is behind __END__ is no code. */
    {"uninterpreted", NULL, RULE_SKIP, NULL, {NULL}},
    {"string", NULL, RULE_TEXT, NULL, {NULL}},
    {"subshell", NULL, RULE_TEXT, NULL, {NULL}},
    {"regex", NULL, RULE_TEXT, NULL, {NULL}},
    {"delimited_symbol", NULL, RULE_TEXT, NULL, {NULL}},
    {"heredoc_body", NULL, RULE_TEXT, NULL, {NULL}},
    {"interpolation", NULL, RULE_CODE, NULL, {NULL}},
    {"string_array", NULL, RULE_STRING, NULL, {NULL}},
    {"symbol_array", NULL, RULE_STRING, NULL, {NULL}},
    {"nil", NULL, RULE_STRING, NULL, {NULL}},
    {"operator", NULL, RULE_STRING, NULL, {NULL}},
    {"setter", NULL, RULE_STRING, NULL, {NULL}},
    {"rational", NULL, RULE_STRING, NULL, {NULL}},
    {"complex", NULL, RULE_STRING, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};

/* clang-format off */
static const ComplexityRule ruby_tokens[] = {
    {"&&", NULL, RULE_AND, "&&", {NULL}},
    {"||", NULL, RULE_OR, "||", {NULL}},
    {"and", NULL, RULE_AND, "and", {NULL}},
    {"or", NULL, RULE_OR, "or", {NULL}},
    {"&&=", NULL, RULE_CYCLOMATIC, NULL, {NULL}},
    {"||=", NULL, RULE_CYCLOMATIC, NULL, {NULL}},
    {"&.", NULL, RULE_CYCLOMATIC, NULL, {NULL}},
    {")", NULL, RULE_CLOSE, NULL, {NULL}},
    {"]", NULL, RULE_CLOSE, NULL, {NULL}},
    {"}", NULL, RULE_CLOSE, NULL, {NULL}},
    {"end", NULL, RULE_CLOSE, NULL, {NULL}},
    {NULL, NULL, 0, NULL, {NULL}},
};
/* clang-format on */

/* Methods whose block runs once for each of something. */
static const char *const ruby_iterators[] = {"all?",
                                             "any?",
                                             "bsearch",
                                             "bsearch_index",
                                             "chain",
                                             "chunk",
                                             "chunk_while",
                                             "collect",
                                             "collect!",
                                             "collect_concat",
                                             "combination",
                                             "count",
                                             "cycle",
                                             "d_permutation",
                                             "delete_if",
                                             "detect",
                                             "drop",
                                             "drop_while",
                                             "each",
                                             "each_cons",
                                             "each_entry",
                                             "each_index",
                                             "each_key",
                                             "each_pair",
                                             "each_slice",
                                             "each_value",
                                             "each_with_index",
                                             "each_with_object",
                                             "entries",
                                             "fetch",
                                             "fetch_values",
                                             "filter",
                                             "filter_map",
                                             "find",
                                             "find_all",
                                             "find_index",
                                             "flat_map",
                                             "grep",
                                             "grep_v",
                                             "group_by",
                                             "has_key?",
                                             "inject",
                                             "keep_if",
                                             "lazy",
                                             "map",
                                             "map!",
                                             "max",
                                             "max_by",
                                             "merge",
                                             "merge!",
                                             "min",
                                             "min_by",
                                             "minmax",
                                             "minmax_by",
                                             "none?",
                                             "one?",
                                             "partition",
                                             "permutation",
                                             "product",
                                             "reduce",
                                             "reject",
                                             "reject!",
                                             "repeat",
                                             "repeated_combination",
                                             "reverse_each",
                                             "select",
                                             "select!",
                                             "slice_after",
                                             "slice_before",
                                             "slice_when",
                                             "sort",
                                             "sort!",
                                             "sort_by",
                                             "sum",
                                             "take",
                                             "take_while",
                                             "tally",
                                             "to_h",
                                             "transform_keys",
                                             "transform_keys!",
                                             "transform_values",
                                             "transform_values!",
                                             "uniq",
                                             "with_index",
                                             "with_object",
                                             "zip",
                                             NULL};

/* `define_method(:name) { … }` is a method. */
static bool ruby_name_block(const ComplexityPlace *place, ComplexityName *ret)
{
    TSNode arguments = complexity_node_field(place->parent, "arguments");
    TSNode first = complexity_node_named(arguments, 0);
    Span name = complexity_node_text(first, place->text);

    if (!span_equals(complexity_node_field_text(place->parent, "method", place->text),
                     SPAN("define_method"))) {
        return false;
    }
    if (complexity_node_is(first, "simple_symbol") && name.n > 1) {
        name = span_make(name.p + 1, name.n - 1);
    } else if (complexity_node_is(first, "string")) {
        name = complexity_node_text(complexity_node_named(first, 0), place->text);
    }
    ret->name = name;
    return true;
}

static bool ruby_name_of(const ComplexityPlace *place, ComplexityName *ret)
{
    TSNode object;

    *ret = (ComplexityName){.name = complexity_node_field_text(place->node, "name", place->text)};
    if (complexity_node_is(place->node, "block") || complexity_node_is(place->node, "do_block")) {
        return ruby_name_block(place, ret);
    }
    if (complexity_node_is(place->node, "singleton_method")) {
        object = complexity_node_field(place->node, "object");
        if (!complexity_node_is(object, "self")) {
            ret->scope = complexity_node_text(object, place->text);
        }
    }
    return true;
}

static Span ruby_bound_to(TSNode node, Span text)
{
    return complexity_node_is(node, "assignment") ? complexity_node_field_text(node, "left", text)
                                                  : SPAN_NULL;
}

static bool ruby_has_block(TSNode call)
{
    TSNode arguments;
    uint32_t n;

    if (!ts_node_is_null(complexity_node_field(call, "block"))) {
        return true;
    }
    arguments = complexity_node_field(call, "arguments");
    n = complexity_node_n_named(arguments);
    return n > 0 && complexity_node_is(complexity_node_named(arguments, n - 1), "block_argument");
}

/* Is a block, or a name in place of one, handed to a method that iterates? */
static bool ruby_counts_call(const ComplexityPlace *place)
{
    Span method;

    /* Most calls have none, which is known sooner than the name of the method is compared. */
    if (!ruby_has_block(place->node)) {
        return false;
    }
    method = complexity_node_field_text(place->node, "method", place->text);
    for (size_t i = 0; ruby_iterators[i] != NULL; i++) {
        if (span_equals(method, span_from_str(ruby_iterators[i]))) {
            return true;
        }
    }
    return false;
}

/* A body that ends with rescue, which else, ensure and comments may follow. */
static bool ruby_counts_body(const ComplexityPlace *place)
{
    uint32_t n = complexity_node_n_named(place->node);

    for (uint32_t k = 1; k <= n && k <= 4; k++) {
        TSNode child = complexity_node_named(place->node, n - k);

        if (complexity_node_is(child, "rescue")) {
            return true;
        }
        if (!complexity_node_is_extra(child) && !complexity_node_is(child, "else") &&
            !complexity_node_is(child, "ensure")) {
            return false;
        }
    }
    return false;
}

static bool ruby_counts(const ComplexityPlace *place)
{
    return complexity_node_is(place->node, "call") ? ruby_counts_call(place)
                                                   : ruby_counts_body(place);
}

const ComplexityLanguage complexity_language_ruby = {
    .name = SPAN_INIT("ruby"),
    .spellings = "rb",
    .extensions = "rb rake gemspec ru podspec jbuilder",
    .files = "Rakefile Gemfile Guardfile Capfile Vagrantfile Podfile Fastfile Brewfile",
    .commands = "ruby jruby",
    .grammar = tree_sitter_ruby,
    .nodes = ruby_nodes,
    .tokens = ruby_tokens,
    .separator = ".",
    .name_of = ruby_name_of,
    .counts = ruby_counts,
    .bound_to = ruby_bound_to,
};
