/* A meter: the parser, the tables of the languages it has met, and the memory of its walks. */
#include "toolkit/complexity/measure.h"

#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "toolkit/complexity/memory.h"
#include "toolkit/complexity/walk.h"

/* More than language.c has; the tables are found by the language's place in it. */
#define METER_LANGUAGES 64

struct ComplexityMeter {
    ComplexityMemory memory;
    TSParser *parser; /* NULL: to be made */
    ComplexityTable *tables[METER_LANGUAGES];
    Walk walk;
    uint64_t parse_ns;
    /* The text as the grammars see it, and the same once more. */
    char *seen[2];
    size_t cap_seen[2];
};

/* Calls of the parser for one file. */
typedef struct MeterParse {
    Span text;
    const ComplexityLanguage *language;
    const ComplexityOptions *options;
    const ComplexityMemory *memory;
    uint64_t end_ns;  /* of the thread's time; 0: whenever */
    uint32_t n_looks; /* how often the parser has asked */
    int outcome;      /* why it was stopped */
} MeterParse;

/* What errors in a tree are worth, so that one which swallows half of the file is not better than
 * two small ones. */
#define METER_COST_ERROR   100
#define METER_COST_MISSING 50

/* The system is asked for the thread's time, which takes as long as some steps of the parser. */
#define METER_LOOKS_PER_CLOCK 16

/* What the parser may still take after the heap has given nothing, until it asks again. Mostly that
 * is 30 KiB; where it makes a tree of a whole text that it did not understand, 20 bytes a byte are
 * usual, and 30 MiB for 20 KB the most that was seen. Nothing of it is touched, so that it takes
 * addresses and no memory. */
#define METER_RESERVE_BYTES          ((size_t)40 * 1024 * 1024)
#define METER_RESERVE_BYTES_PER_BYTE ((size_t)20)

/* Texts up to this length have the same reserve, which is made once. */
#define METER_SHORT_BYTES ((size_t)256 * 1024)

int complexity_meter_new(ComplexityMeter **ret)
{
    ComplexityMeter *meter = mem_alloc_array(1, sizeof(*meter));
    uint8_t random[16];
    int r;

    if (meter == NULL) {
        return err_raise(-ENOMEM);
    }
    r = random_fill(random, sizeof(random));
    if (r != 0) {
        (void)mem_free(meter);
        return err_pass(r);
    }
    complexity_walk_init(&meter->walk, hash_seed_from(random));
    complexity_memory_install();
    *ret = meter;
    return 0;
}

/* And all memory that it has kept for the next text. */
static void meter_drop_parser(ComplexityMeter *meter)
{
    ComplexityMemory *before = complexity_memory_enter(&meter->memory);

    ts_parser_delete(meter->parser);
    meter->parser = NULL;
    complexity_memory_leave(before);
}

ComplexityMeter *complexity_meter_free(ComplexityMeter *meter)
{
    if (meter == NULL) {
        return NULL;
    }
    meter_drop_parser(meter);
    complexity_memory_deinit(&meter->memory);
    for (size_t i = 0; i < METER_LANGUAGES; i++) {
        if (meter->tables[i] != NULL) {
            complexity_table_deinit(meter->tables[i]);
            (void)mem_free(meter->tables[i]);
        }
    }
    complexity_walk_deinit(&meter->walk);
    (void)mem_free(meter->seen[0]);
    (void)mem_free(meter->seen[1]);
    return mem_free(meter);
}

int64_t complexity_meter_parse_us(const ComplexityMeter *meter)
{
    return (int64_t)(meter->parse_ns / 1000);
}

static size_t meter_index(const ComplexityLanguage *language)
{
    size_t i = 0;

    while (complexity_language_at(i) != language) {
        i++;
    }
    return i;
}

static int meter_table(ComplexityMeter *meter, const ComplexityLanguage *language,
                       const ComplexityTable **ret)
{
    ComplexityTable **slot = &meter->tables[meter_index(language)];
    ComplexityTable *table;
    int r;

    if (*slot == NULL) {
        table = mem_alloc_array(1, sizeof(*table));
        if (table == NULL) {
            return err_raise(-ENOMEM);
        }
        r = complexity_table_init(table, language);
        if (r != 0) {
            (void)mem_free(table);
            return err_pass(r);
        }
        *slot = table;
    }
    *ret = *slot;
    return 0;
}

static const char *meter_read(void *payload, uint32_t byte, TSPoint position, uint32_t *ret_n)
{
    const MeterParse *parse = payload;

    (void)position;
    if (byte >= parse->text.n) {
        *ret_n = 0;
        return "";
    }
    *ret_n = (uint32_t)parse->text.n - byte;
    return parse->text.p + byte;
}

/* Asked every few microseconds; true ends the parsing. */
static bool meter_stops(TSParseState *state)
{
    MeterParse *parse = state->payload;
    const atomic_bool *cancel = parse->options->cancel;

    if (cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed)) {
        parse->outcome = COMPLEXITY_E_CANCELLED;
    } else if (parse->end_ns != 0 && parse->n_looks++ % METER_LOOKS_PER_CLOCK == 0 &&
               clock_thread_ns() >= parse->end_ns) {
        parse->outcome = COMPLEXITY_E_TOO_COSTLY;
    } else {
        parse->outcome = complexity_memory_check(parse->memory);
    }
    return parse->outcome != 0;
}

static int meter_parse(ComplexityMeter *meter, MeterParse *parse, TSTree **ret)
{
    TSInput input = {.payload = parse, .read = meter_read, .encoding = TSInputEncodingUTF8};
    TSParseOptions parse_options = {.payload = parse, .progress_callback = meter_stops};
    uint64_t start = clock_monotonic_ns();
    TSTree *tree = NULL;

    if (parse->end_ns == 0 && parse->options->max_parse_us > 0) {
        parse->end_ns = clock_thread_ns() + (uint64_t)parse->options->max_parse_us * 1000;
    }
    if (meter->parser == NULL) {
        meter->parser = ts_parser_new();
    }
    if (!ts_parser_set_language(meter->parser, parse->language->grammar())) {
        return err_raise(-ENOTSUP);
    }
    tree = ts_parser_parse_with_options(meter->parser, NULL, input, parse_options);
    meter->parse_ns += clock_monotonic_ns() - start;
    if (tree == NULL) {
        ts_parser_reset(meter->parser);
        return parse->outcome != 0 ? parse->outcome : err_raise(-ENOTRECOVERABLE);
    }
    *ret = tree;
    return 0;
}

/* Taking a tree apart is the parser's work too. */
static void meter_drop(ComplexityMeter *meter, TSTree *tree)
{
    uint64_t start = clock_monotonic_ns();

    ts_tree_delete(tree);
    meter->parse_ns += clock_monotonic_ns() - start;
}

static uint64_t meter_node_cost(TSNode node)
{
    if (ts_node_is_error(node)) {
        return METER_COST_ERROR + (ts_node_end_byte(node) - ts_node_start_byte(node));
    }
    return ts_node_is_missing(node) ? METER_COST_MISSING : 0;
}

/* Goes only where errors are, and not into these. */
static uint64_t meter_cost(const TSTree *tree)
{
    TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree));
    uint64_t cost = 0;
    bool more = true;

    while (more) {
        TSNode node = ts_tree_cursor_current_node(&cursor);
        uint64_t own = meter_node_cost(node);

        cost += own;
        if (own == 0 && ts_node_has_error(node) && ts_tree_cursor_goto_first_child(&cursor)) {
            continue;
        }
        while (more && !ts_tree_cursor_goto_next_sibling(&cursor)) {
            more = ts_tree_cursor_goto_parent(&cursor);
        }
    }
    ts_tree_cursor_delete(&cursor);
    return cost;
}

/* A copy that may be overwritten. 0, -ENOMEM. */
static int meter_copy(ComplexityMeter *meter, size_t i, Span text)
{
    if (text.n > meter->cap_seen[i] || meter->seen[i] == NULL) {
        char *p = mem_realloc(meter->seen[i], text.n + 1);

        if (p == NULL) {
            return err_raise(-ENOMEM);
        }
        meter->seen[i] = p;
        meter->cap_seen[i] = text.n;
    }
    if (text.n > 0) {
        memcpy(meter->seen[i], text.p, text.n);
    }
    return 0;
}

/* parse has the text of the tree, which has errors; both may be replaced. */
static int meter_try_again(ComplexityMeter *meter, MeterParse *parse, TSTree **tree)
{
    Span first = parse->text;
    TSTree *second = NULL;
    bool changed = false;
    int r = meter_copy(meter, 1, first);

    if (r == 0) {
        r = parse->language->mend(meter->seen[1], first.n, &changed);
    }
    if (r != 0 || !changed) {
        return err_pass(r);
    }
    parse->text = span_make(meter->seen[1], first.n);
    r = meter_parse(meter, parse, &second);
    if (r == 0 && meter_cost(second) < meter_cost(*tree)) {
        meter_drop(meter, *tree);
        *tree = second;
        return 0;
    }
    if (r == 0) {
        meter_drop(meter, second);
    }
    parse->text = first;
    /* There is one tree in any case. */
    return r == COMPLEXITY_E_TOO_COSTLY || r == COMPLEXITY_E_TOO_BIG ? 0 : r;
}

/* The tree, and in parse the text that it is of. */
static int meter_read_tree(ComplexityMeter *meter, MeterParse *parse, TSTree **ret)
{
    TSTree *tree = NULL;
    int r = 0;

    if (parse->language->prepare != NULL) {
        r = meter_copy(meter, 0, parse->text);
        if (r == 0 && parse->language->prepare(meter->seen[0], parse->text.n)) {
            parse->text = span_make(meter->seen[0], parse->text.n);
        }
    }
    if (r == 0) {
        r = meter_parse(meter, parse, &tree);
    }
    if (r == 0 && parse->language->mend != NULL && ts_node_has_error(ts_tree_root_node(tree))) {
        r = meter_try_again(meter, parse, &tree);
    }
    if (r != 0) {
        ts_tree_delete(tree);
        return r;
    }
    *ret = tree;
    return 0;
}

/* The lines of each function are known when all tokens are. */
static void meter_set_lines(const Walk *walk, ComplexityFunction *row)
{
    row->code_lines = complexity_lines_code(&walk->lines, row->first_line - 1, row->last_line - 1);
    row->comment_lines =
        complexity_lines_comments(&walk->lines, row->first_line - 1, row->last_line - 1);
}

static int meter_give(Walk *walk, const ComplexityLanguage *language, Arena *arena,
                      ComplexityFile *ret)
{
    const ComplexityLines *lines = &walk->lines;
    ComplexityFunction *rows = NULL;

    if (walk->n_rows > 0) {
        rows = arena_alloc_array(arena, walk->n_rows, sizeof(*rows));
        if (rows == NULL) {
            return err_raise(-ENOMEM);
        }
        memcpy(rows, walk->rows, walk->n_rows * sizeof(*rows));
    }
    for (size_t i = 0; i < walk->n_rows; i++) {
        meter_set_lines(walk, &rows[i]);
    }
    *ret = (ComplexityFile){
        .language = language,
        .functions = rows,
        .n_functions = walk->n_rows,
        .lines = lines->n,
        .code_lines = complexity_lines_code(lines, 0, lines->n),
        .comment_lines = complexity_lines_comments(lines, 0, lines->n),
        .n_errors = walk->n_errors,
        .first_error_line = walk->first_error_line,
    };
    ret->blank_lines = ret->lines - ret->code_lines - ret->comment_lines;
    return 0;
}

static int meter_measure(ComplexityMeter *meter, const ComplexityLanguage *language, Span text,
                         const ComplexityOptions *options, Arena *arena, ComplexityFile *ret)
{
    MeterParse parse = {
        .text = text, .language = language, .options = options, .memory = &meter->memory};
    const ComplexityTable *table = NULL;
    TSTree *tree = NULL;
    int r;

    r = meter_table(meter, language, &table);
    if (r != 0) {
        return err_pass(r);
    }
    r = meter_read_tree(meter, &parse, &tree);
    if (r != 0) {
        return r;
    }
    r = complexity_walk_tree(&meter->walk, language, table, tree, text, parse.text, options,
                             &meter->memory, arena);
    meter_drop(meter, tree);
    if (r != 0) {
        return r;
    }
    return err_pass(meter_give(&meter->walk, language, arena, ret));
}

static size_t meter_reserve_for(size_t n)
{
    return METER_RESERVE_BYTES +
           (n > METER_SHORT_BYTES ? n - METER_SHORT_BYTES : 0) * METER_RESERVE_BYTES_PER_BYTE;
}

int complexity_measure(ComplexityMeter *meter, const ComplexityLanguage *language, Span text,
                       const ComplexityOptions *options, Arena *arena, ComplexityFile *ret)
{
    ComplexityMemory *before;
    int r;

    /* Its offsets have 32 bits. */
    if (text.n > INT32_MAX) {
        return COMPLEXITY_E_TOO_BIG;
    }
    if (complexity_memory_reserve(&meter->memory, meter_reserve_for(text.n)) != 0) {
        return COMPLEXITY_E_NO_MEMORY;
    }
    meter->memory.max_bytes = options->max_bytes;
    before = complexity_memory_enter(&meter->memory);
    r = meter_measure(meter, language, text, options, arena, ret);
    if (r == 0 && meter->memory.has_failed) {
        r = COMPLEXITY_E_NO_MEMORY; /* behind the last look */
    }
    if (r == COMPLEXITY_E_TOO_BIG || meter->memory.has_failed) {
        meter_drop_parser(meter);
    }
    complexity_memory_leave(before);
    return r;
}
