#include "toolkit/complexity/parse.h"

#include <string.h>

#include <tree_sitter/progress.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "toolkit/complexity/rules.h"

/* One call of tree-sitter's parser. That lies in its account's memory, as does the tree: none of
 * them is deleted. */
typedef struct Parse {
    ComplexityParser *owner;
    ComplexityMemory *memory;
    const ComplexityLanguage *language;
    const ComplexityOptions *options;
    Span text;
    TSParser *parser;
    TSTree *tree;     /* NULL: it was stopped */
    uint64_t end_ns;  /* of the thread's time; 0: whenever */
    uint32_t n_looks; /* how often the parser has asked */
    int outcome;      /* why it was stopped */
    /* The reading of the mended text; NULL: there is none, or this is it. */
    struct Parse *second;
    bool is_tried; /* it was made, if there was something to mend */
} Parse;

/* What errors in a tree are worth, so that one which swallows half of the file is not better than
 * two small ones. */
#define PARSE_COST_ERROR   100
#define PARSE_COST_MISSING 50

/* The system is asked for the thread's time, which takes as long as some steps of the parser. */
#define PARSE_LOOKS_PER_CLOCK 16

/* What the parser may still take after the heap has given nothing, until it asks again. Mostly that
 * is 30 KiB; where it makes a tree of a whole text that it did not understand, 20 bytes a byte are
 * usual, and 30 MiB for 20 KB the most that was seen. Nothing of it is touched, so that it takes
 * addresses and no memory. */
#define PARSE_RESERVE_BYTES          ((size_t)40 * 1024 * 1024)
#define PARSE_RESERVE_BYTES_PER_BYTE ((size_t)20)

/* Texts up to this length have the same reserve, which is made once. */
#define PARSE_SHORT_BYTES ((size_t)256 * 1024)

static bool parse_stops(TSParseState *state);

/* ---- one call ---- */

static const char *parse_feed(void *payload, uint32_t byte, TSPoint position, uint32_t *ret_n)
{
    const Parse *parse = payload;

    (void)position;
    if (byte >= parse->text.n) {
        *ret_n = 0;
        return "";
    }
    *ret_n = (uint32_t)parse->text.n - byte;
    return parse->text.p + byte;
}

static size_t parse_reserve_for(size_t n)
{
    return PARSE_RESERVE_BYTES +
           (n > PARSE_SHORT_BYTES ? n - PARSE_SHORT_BYTES : 0) * PARSE_RESERVE_BYTES_PER_BYTE;
}

/* 0 with a tree, -ENOTSUP, -ENOTRECOVERABLE, COMPLEXITY_E_*. */
static int parse_run(Parse *parse)
{
    TSInput input = {.payload = parse, .read = parse_feed, .encoding = TSInputEncodingUTF8};
    TSParseOptions parse_options = {.payload = parse, .progress_callback = parse_stops};
    uint64_t *ns = &parse->owner->parse_ns;
    uint64_t before_ns = *ns;
    uint64_t start_ns;
    ComplexityMemory *before;

    if (complexity_memory_begin(parse->memory, parse_reserve_for(parse->text.n)) != 0) {
        return COMPLEXITY_E_NO_MEMORY;
    }
    start_ns = clock_monotonic_ns();
    before = complexity_memory_enter(parse->memory);
    parse->parser = ts_parser_new();
    if (ts_parser_set_language(parse->parser, parse->language->grammar())) {
        parse->tree = ts_parser_parse_with_options(parse->parser, NULL, input, parse_options);
    } else {
        parse->outcome = err_raise(-ENOTSUP);
    }
    complexity_memory_leave(before);
    /* With that of the second reading, which may have been in between. */
    *ns = before_ns + (clock_monotonic_ns() - start_ns);
    if (parse->tree == NULL) {
        return parse->outcome != 0 ? parse->outcome : err_raise(-ENOTRECOVERABLE);
    }
    return 0;
}

/* ---- the second reading ---- */

/* A copy that may be overwritten. 0, -ENOMEM. */
static int parse_copy(ComplexityParser *parser, size_t i, Span text)
{
    if (text.n > parser->cap_seen[i] || parser->seen[i] == NULL) {
        char *p = mem_realloc(parser->seen[i], text.n + 1);

        if (p == NULL) {
            return err_raise(-ENOMEM);
        }
        parser->seen[i] = p;
        parser->cap_seen[i] = text.n;
    }
    if (text.n > 0) {
        memcpy(parser->seen[i], text.p, text.n);
    }
    return 0;
}

static void parse_drop_second(Parse *parse)
{
    parse->second->tree = NULL;
    complexity_memory_end(parse->second->memory);
    parse->memory->max_bytes = parse->options->max_bytes;
}

static int parse_make_second(Parse *parse)
{
    ComplexityParser *owner = parse->owner;
    Parse *second = parse->second;
    bool changed = false;
    int r = parse_copy(owner, 1, parse->text);

    if (r == 0) {
        r = parse->language->mend(owner->seen[1], parse->text.n, &changed);
    }
    if (r != 0 || !changed) {
        return err_pass(r);
    }
    second->text = span_make(owner->seen[1], parse->text.n);
    second->end_ns = parse->end_ns;
    if (parse->options->max_bytes != 0) {
        /* At least one byte, as 0 is no limit. */
        second->memory->max_bytes = parse->options->max_bytes > parse->memory->pool.bytes
                                        ? parse->options->max_bytes - parse->memory->pool.bytes
                                        : 1;
    }
    r = parse_run(second);
    if (r == COMPLEXITY_E_TOO_COSTLY || r == COMPLEXITY_E_TOO_BIG) {
        parse_drop_second(parse);
        return 0; /* There is one tree in any case. */
    }
    return r;
}

/* At most once. The time that it takes is its own. 0, -ENOMEM, COMPLEXITY_E_*. */
static int parse_try_second(Parse *parse)
{
    uint64_t start_ns = parse->end_ns != 0 ? clock_thread_ns() : 0;
    int r;

    parse->is_tried = true;
    r = parse_make_second(parse);
    if (parse->end_ns != 0) {
        parse->end_ns += clock_thread_ns() - start_ns;
    }
    return r;
}

static bool parse_has_error(const Parse *parse)
{
    return ts_node_has_error(ts_tree_root_node(parse->tree));
}

/* ---- in between ---- */

/* What the second reading holds is not there for the first one; but that one is wanted more. */
static int parse_check_memory(Parse *parse)
{
    size_t held = parse->second != NULL ? parse->second->memory->pool.bytes : 0;
    size_t max = parse->options->max_bytes;

    if (held > 0 && max != 0 && parse->memory->pool.bytes + held > max) {
        parse_drop_second(parse);
    }
    return complexity_memory_check(parse->memory);
}

/* Asked every few microseconds; true ends the parsing. */
static bool parse_stops(TSParseState *state)
{
    Parse *parse = state->payload;
    const atomic_bool *cancel = parse->options->cancel;

    if (cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed)) {
        parse->outcome = COMPLEXITY_E_CANCELLED;
    } else if (parse->end_ns != 0 && parse->n_looks++ % PARSE_LOOKS_PER_CLOCK == 0 &&
               clock_thread_ns() >= parse->end_ns) {
        parse->outcome = COMPLEXITY_E_TOO_COSTLY;
    } else {
        parse->outcome = parse_check_memory(parse);
    }
    if (parse->outcome == 0 && parse->second != NULL && !parse->is_tried &&
        tw_parser_least_error(parse->parser) > 0) {
        parse->outcome = parse_try_second(parse);
        /* Nothing is better than no error at all. */
        return parse->outcome != 0 ||
               (parse->second->tree != NULL && !parse_has_error(parse->second));
    }
    return parse->outcome != 0;
}

/* ---- which of them ---- */

static uint64_t parse_node_cost(TSNode node)
{
    if (ts_node_is_error(node)) {
        return PARSE_COST_ERROR + (ts_node_end_byte(node) - ts_node_start_byte(node));
    }
    return ts_node_is_missing(node) ? PARSE_COST_MISSING : 0;
}

/* Goes only where errors are, and not into these. */
static uint64_t parse_cost(const Parse *parse)
{
    ComplexityMemory *before = complexity_memory_enter(parse->memory);
    TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(parse->tree));
    uint64_t cost = 0;
    bool more = true;

    while (more) {
        TSNode node = ts_tree_cursor_current_node(&cursor);
        uint64_t own = parse_node_cost(node);

        cost += own;
        if (own == 0 && ts_node_has_error(node) && ts_tree_cursor_goto_first_child(&cursor)) {
            continue;
        }
        while (more && !ts_tree_cursor_goto_next_sibling(&cursor)) {
            more = ts_tree_cursor_goto_parent(&cursor);
        }
    }
    ts_tree_cursor_delete(&cursor);
    complexity_memory_leave(before);
    return cost;
}

static bool parse_second_is_better(const Parse *parse)
{
    const Parse *second = parse->second;

    if (second == NULL || second->tree == NULL) {
        return false;
    }
    return parse->tree == NULL || parse_cost(second) < parse_cost(parse);
}

/* The better one in *ret; the other one is gone. */
static int parse_both(Parse *parse, Parse **ret)
{
    int r = parse_run(parse);

    if (parse->tree == NULL && parse->outcome == 0 && parse->is_tried) {
        r = 0; /* stopped in favour of the second */
    }
    if (r == 0 && parse->second != NULL && !parse->is_tried && parse_has_error(parse)) {
        r = parse_try_second(parse);
    }
    if (r != 0) {
        return r;
    }
    *ret = parse;
    if (parse_second_is_better(parse)) {
        *ret = parse->second;
        complexity_memory_end(parse->memory);
    } else if (parse->is_tried) {
        parse_drop_second(parse);
    }
    (*ret)->memory->max_bytes = parse->options->max_bytes;
    return 0;
}

int complexity_parser_read(ComplexityParser *parser, const ComplexityLanguage *language, Span text,
                           const ComplexityOptions *options, TSTree **ret_tree, Span *ret_text,
                           ComplexityMemory **ret_memory)
{
    Parse second = {
        .owner = parser, .memory = &parser->memory[1], .language = language, .options = options};
    Parse first = {.owner = parser,
                   .memory = &parser->memory[0],
                   .language = language,
                   .options = options,
                   .text = text,
                   .second = language->mend != NULL ? &second : NULL};
    Parse *best = NULL;
    int r = 0;

    first.memory->max_bytes = options->max_bytes;
    if (options->max_parse_us > 0) {
        first.end_ns = clock_thread_ns() + (uint64_t)options->max_parse_us * 1000;
    }
    if (language->prepare != NULL) {
        r = parse_copy(parser, 0, text);
        if (r == 0 && language->prepare(parser->seen[0], text.n)) {
            first.text = span_make(parser->seen[0], text.n);
        }
    }
    if (r == 0) {
        r = parse_both(&first, &best);
    }
    if (r != 0) {
        return r;
    }
    *ret_tree = best->tree;
    *ret_text = best->text;
    *ret_memory = best->memory;
    return 0;
}

void complexity_parser_end(ComplexityParser *parser)
{
    complexity_memory_end(&parser->memory[0]);
    complexity_memory_end(&parser->memory[1]);
}

void complexity_parser_deinit(ComplexityParser *parser)
{
    for (size_t i = 0; i < 2; i++) {
        complexity_memory_deinit(&parser->memory[i]);
        parser->seen[i] = mem_free(parser->seen[i]);
    }
}
