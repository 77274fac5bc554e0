/* TypeScript: JavaScript's rules, and namespaces. JSX is another grammar of the same language. */
#include "toolkit/complexity/lang_javascript.h"

const TSLanguage *tree_sitter_typescript(void);
const TSLanguage *tree_sitter_tsx(void);

static const ComplexityRule typescript_nodes[] = {
    JAVASCRIPT_NODES,
    TYPESCRIPT_NODES,
    {NULL, NULL, 0, NULL, {NULL}},
};

static const ComplexityRule typescript_tokens[] = {
    JAVASCRIPT_TOKENS,
    TYPESCRIPT_TOKENS,
    {NULL, NULL, 0, NULL, {NULL}},
};

static const ComplexityRule tsx_tokens[] = {
    JAVASCRIPT_TOKENS,
    JAVASCRIPT_JSX_TOKENS,
    TYPESCRIPT_TOKENS,
    {NULL, NULL, 0, NULL, {NULL}},
};

const ComplexityLanguage complexity_language_typescript = {
    .name = SPAN_INIT("typescript"),
    .spellings = "ts mts cts",
    .extensions = "ts mts cts",
    .files = NULL,
    .commands = "deno ts-node tsx",
    .toolchain = "deno",
    .grammar = tree_sitter_typescript,
    .nodes = typescript_nodes,
    .tokens = typescript_tokens,
    .separator = ".",
    .rows_apart = true,
    .name_of = complexity_javascript_name_of,
    .parameters = complexity_javascript_parameters,
};

const ComplexityLanguage complexity_language_tsx = {
    .name = SPAN_INIT("tsx"),
    .spellings = "typescriptreact",
    .extensions = "tsx",
    .files = NULL,
    .commands = NULL,
    .toolchain = "deno",
    .grammar = tree_sitter_tsx,
    .nodes = typescript_nodes,
    .tokens = tsx_tokens,
    .separator = ".",
    .rows_apart = true,
    .name_of = complexity_javascript_name_of,
    .parameters = complexity_javascript_parameters,
};
