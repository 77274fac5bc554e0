#include "toolkit/complexity/parse.h"

#include <string.h>

#include <tree_sitter/changes.h>
#include <tree_sitter/table_cache.h>

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

/* Texts up to this length have the same reserve, which is made once, and are read in one piece. */
#define PARSE_SHORT_BYTES ((size_t)256 * 1024)

static bool parse_stops(TSParseState *state);

/* ---- one call ---- */

/* Each reading has its own time. */
static uint64_t parse_end_ns(const ComplexityOptions *options)
{
    return options->max_parse_us > 0 ? clock_thread_ns() + (uint64_t)options->max_parse_us * 1000
                                     : 0;
}

static bool parse_is_late(const Parse *parse)
{
    return parse->end_ns != 0 && clock_thread_ns() >= parse->end_ns;
}

/* Within a token the parser asks nobody, and one may be as long as the text: so a long text is
 * handed out in pieces, and whoever is to stop is told that it ends here. */
static const char *parse_feed(void *payload, uint32_t byte, TSPoint position, uint32_t *ret_n)
{
    Parse *parse = payload;
    size_t n = byte < parse->text.n ? parse->text.n - byte : 0;

    (void)position;
    if (parse->text.n > PARSE_SHORT_BYTES && parse->outcome == 0) {
        if (stop_is_asked(parse->options->stop)) {
            parse->outcome = COMPLEXITY_E_CANCELLED;
        } else if (parse_is_late(parse)) {
            parse->outcome = COMPLEXITY_E_TOO_COSTLY;
        }
        n = n < STOP_BYTES ? n : STOP_BYTES;
    }
    if (n == 0 || parse->outcome != 0) {
        *ret_n = 0;
        return "";
    }
    *ret_n = (uint32_t)n;
    return parse->text.p + byte;
}

static uint32_t parse_n_blocks(Span text)
{
    return (uint32_t)(text.n / TW_CHANGE_BLOCK) + 1;
}

static size_t parse_reserve_for(size_t n)
{
    return PARSE_RESERVE_BYTES +
           (n > PARSE_SHORT_BYTES ? n - PARSE_SHORT_BYTES : 0) * PARSE_RESERVE_BYTES_PER_BYTE;
}

/* What the last text found in the tables of the language is mostly what this one will look for.
 * NULL: there is no memory, and it looks by itself. */
static void *parse_tables(ComplexityParser *parser, const ComplexityLanguage *language)
{
    if (parser->tables == NULL) {
        parser->tables = mem_alloc(TW_TABLE_CACHE_BYTES);
        parser->tables_of = NULL;
    }
    if (parser->tables != NULL && parser->tables_of != language) {
        memset(parser->tables, 0, TW_TABLE_CACHE_BYTES);
        parser->tables_of = language;
    }
    return parser->tables;
}

static void parse_call(Parse *parse, const Parse *old)
{
    TSInput input = {.payload = parse, .read = parse_feed, .encoding = TSInputEncodingUTF8};
    TSParseOptions parse_options = {.payload = parse, .progress_callback = parse_stops};
    Stop stop = parse->options->stop;

    parse->parser = ts_parser_new();
    if (!ts_parser_set_language(parse->parser, parse->language->grammar())) {
        parse->outcome = err_raise(-ENOTSUP);
    } else if (old != NULL &&
               !tw_tree_mark_changes(old->tree, parse->owner->changes, parse_n_blocks(parse->text),
                                     stop.is_asked, stop.context)) {
        parse->outcome = COMPLEXITY_E_CANCELLED;
    } else {
        tw_parser_use_table_cache(parse_tables(parse->owner, parse->language));
        parse->tree = ts_parser_parse_with_options(parse->parser, old != NULL ? old->tree : NULL,
                                                   input, parse_options);
        tw_parser_use_table_cache(NULL);
    }
}

/* What is the same in the old reading (may be NULL) is taken from its tree, as far as the owner's
 * list of changes says so. 0 with a tree, -ENOTSUP, -ENOTRECOVERABLE, COMPLEXITY_E_*. */
static int parse_run(Parse *parse, const Parse *old)
{
    uint64_t start_ns;
    ComplexityMemory *before;

    if (complexity_memory_begin(parse->memory, parse_reserve_for(parse->text.n)) != 0) {
        return COMPLEXITY_E_NO_MEMORY;
    }
    start_ns = clock_monotonic_ns();
    before = complexity_memory_enter(parse->memory);
    parse_call(parse, old);
    complexity_memory_leave(before);
    parse->owner->parse_ns += clock_monotonic_ns() - start_ns;
    if (parse->outcome != 0) {
        parse->tree = NULL; /* of a part of the text */
    }
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

/* For each block of the two texts, which have the same length, the next one in which they differ
 * (tree_sitter/changes.h). 0, -ENOMEM. */
static int parse_compare(ComplexityParser *parser, Span a, Span b)
{
    uint32_t n = parse_n_blocks(a);
    uint32_t next = n;

    if (n > parser->cap_changes) {
        uint32_t *changes = mem_realloc(parser->changes, n * sizeof(*changes));

        if (changes == NULL) {
            return err_raise(-ENOMEM);
        }
        parser->changes = changes;
        parser->cap_changes = n;
    }
    for (uint32_t i = n; i-- > 0;) {
        size_t at = (size_t)i * TW_CHANGE_BLOCK;
        size_t n_block = a.n - at < TW_CHANGE_BLOCK ? a.n - at : TW_CHANGE_BLOCK;

        if (memcmp(a.p + at, b.p + at, n_block) != 0) {
            next = i;
        }
        parser->changes[i] = next;
    }
    return 0;
}

/* Whether the second may be better than what the first came to. */
static bool parse_wants_second(const Parse *first, int r)
{
    if (first->language->mend == NULL) {
        return false;
    }
    if (r != 0) {
        return r == COMPLEXITY_E_TOO_COSTLY || r == COMPLEXITY_E_TOO_BIG;
    }
    return ts_node_has_error(ts_tree_root_node(first->tree));
}

/* What the first holds is not there for the second. At least one byte, as 0 is no limit. */
static size_t parse_bytes_left(const Parse *first)
{
    size_t max = first->options->max_bytes;
    size_t held = first->memory->pool.bytes;

    return max == 0 ? 0 : max > held ? max - held : 1;
}

/* 0 with a tree or, if there is nothing to mend, without; else as parse_run, or -ENOMEM. */
static int parse_second(const Parse *first, Parse *second)
{
    ComplexityParser *owner = first->owner;
    const ComplexityOptions *options = first->options;
    bool changed = false;
    int r = parse_copy(owner, 1, first->text);

    if (r == 0) {
        r = first->language->mend(owner->seen[1], first->text.n, options->stop, &changed);
    }
    if (r != 0 || !changed) {
        return err_pass(r);
    }
    second->text = span_make(owner->seen[1], first->text.n);
    second->end_ns = parse_end_ns(options);
    second->memory->max_bytes = parse_bytes_left(first);
    if (first->tree == NULL) {
        return parse_run(second, NULL);
    }
    r = parse_compare(owner, first->text, second->text);
    return r == 0 ? parse_run(second, first) : err_pass(r);
}

/* ---- in between ---- */

/* Asked every few microseconds; true ends the parsing. */
static bool parse_stops(TSParseState *state)
{
    Parse *parse = state->payload;

    if (parse->outcome != 0) {
        return true; /* parse_feed has said so */
    }
    if (stop_is_asked(parse->options->stop)) {
        parse->outcome = COMPLEXITY_E_CANCELLED;
    } else if (parse->n_looks++ % PARSE_LOOKS_PER_CLOCK == 0 && parse_is_late(parse)) {
        parse->outcome = COMPLEXITY_E_TOO_COSTLY;
    } else {
        parse->outcome = complexity_memory_check(parse->memory);
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

/* Goes only where errors are, and not into these. Some number if it is stopped. */
static uint64_t parse_cost(const Parse *parse)
{
    ComplexityMemory *before = complexity_memory_enter(parse->memory);
    TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(parse->tree));
    uint64_t cost = 0;
    bool more = true;

    for (size_t n = 0; more && !stop_is_asked_at(parse->options->stop, n); n++) {
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

/* Of two that are as good, the text as it is. */
static bool parse_second_is_better(const Parse *first, const Parse *second)
{
    if (second->tree == NULL) {
        return false;
    }
    return first->tree == NULL || parse_cost(second) < parse_cost(first);
}

/* The better one in *ret. Parts of the second may be the first's, which stays therefore. */
static int parse_both(Parse *first, Parse *second, Parse **ret)
{
    int r = parse_run(first, NULL);
    int r_second;

    *ret = first;
    if (!parse_wants_second(first, r)) {
        return r;
    }
    if (r != 0) {
        complexity_memory_end(first->memory);
    }
    r_second = parse_second(first, second);
    if (r_second == 0 && parse_second_is_better(first, second)) {
        *ret = second;
        r = 0;
    } else {
        complexity_memory_end(second->memory);
    }
    if (stop_is_asked(first->options->stop)) {
        return COMPLEXITY_E_CANCELLED; /* whatever was chosen */
    }
    if (r_second == COMPLEXITY_E_TOO_COSTLY || r_second == COMPLEXITY_E_TOO_BIG) {
        return r; /* the first's tree, or that there is none */
    }
    return r_second != 0 ? r_second : r;
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
                   .end_ns = parse_end_ns(options)};
    Parse *best = NULL;
    int r = 0;

    first.memory->max_bytes = options->max_bytes;
    if (language->prepare != NULL) {
        r = parse_copy(parser, 0, text);
        if (r == 0 && language->prepare(parser->seen[0], text.n, options->stop)) {
            first.text = span_make(parser->seen[0], text.n);
        }
        if (r == 0 && stop_is_asked(options->stop)) {
            r = COMPLEXITY_E_CANCELLED;
        }
    }
    if (r == 0) {
        r = parse_both(&first, &second, &best);
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
    parser->changes = mem_free(parser->changes);
    parser->tables = mem_free(parser->tables);
}
