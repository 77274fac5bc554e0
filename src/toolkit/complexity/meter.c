/* A meter: the parser, the tables of the languages it has met, and the memory of its walks. */
#include "toolkit/complexity/measure.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "toolkit/complexity/memory.h"
#include "toolkit/complexity/parse.h"
#include "toolkit/complexity/walk.h"

/* More than language.c has; the tables are found by the language's place in it. */
#define METER_LANGUAGES 64

struct ComplexityMeter {
    ComplexityParser parser;
    ComplexityTable *tables[METER_LANGUAGES];
    Walk walk;
};

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

ComplexityMeter *complexity_meter_free(ComplexityMeter *meter)
{
    if (meter == NULL) {
        return NULL;
    }
    complexity_parser_deinit(&meter->parser);
    for (size_t i = 0; i < METER_LANGUAGES; i++) {
        if (meter->tables[i] != NULL) {
            complexity_table_deinit(meter->tables[i]);
            (void)mem_free(meter->tables[i]);
        }
    }
    complexity_walk_deinit(&meter->walk);
    return mem_free(meter);
}

int64_t complexity_meter_parse_us(const ComplexityMeter *meter)
{
    return (int64_t)(meter->parser.parse_ns / 1000);
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

/* The lines of each function are known when all tokens are. */
static void meter_set_lines(const Walk *walk, ComplexityFunction *row)
{
    row->code_lines = complexity_lines_code(&walk->lines, row->first_line - 1, row->last_line - 1);
    row->comment_lines =
        complexity_lines_comments(&walk->lines, row->first_line - 1, row->last_line - 1);
}

static int meter_give(Walk *walk, const ComplexityLanguage *language, Stop stop, Arena *arena,
                      ComplexityFile *ret)
{
    const ComplexityLines *lines = &walk->lines;
    ComplexityFunction *rows = NULL;

    if (walk->n_rows > 0) {
        rows = arena_alloc_array(arena, walk->n_rows, sizeof(*rows));
        if (rows == NULL) {
            return err_raise(-ENOMEM);
        }
    }
    for (size_t i = 0; i < walk->n_rows; i++) {
        if (stop_is_asked_at(stop, i)) {
            return COMPLEXITY_E_CANCELLED;
        }
        rows[i] = walk->rows[i];
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
    const ComplexityTable *table = NULL;
    ComplexityMemory *memory = NULL;
    ComplexityMemory *before;
    TSTree *tree = NULL;
    Span parsed;
    int r;

    r = meter_table(meter, language, &table);
    if (r != 0) {
        return err_pass(r);
    }
    r = complexity_parser_read(&meter->parser, language, text, options, &tree, &parsed, &memory);
    if (r != 0) {
        return r;
    }
    before = complexity_memory_enter(memory);
    r = complexity_walk_tree(&meter->walk, language, table, tree, text, parsed, options, memory,
                             arena);
    complexity_memory_leave(before);
    if (r == 0 && memory->pool.is_out) {
        r = COMPLEXITY_E_NO_MEMORY; /* behind the last look */
    }
    if (r != 0) {
        return r;
    }
    r = meter_give(&meter->walk, language, options->stop, arena, ret);
    return r > 0 ? r : err_pass(r);
}

int complexity_measure(ComplexityMeter *meter, const ComplexityLanguage *language, Span text,
                       const ComplexityOptions *options, Arena *arena, ComplexityFile *ret)
{
    int r;

    /* Nobody below adds to a null pointer. */
    if (text.p == NULL) {
        text = SPAN("");
    }
    /* Its offsets have 32 bits. */
    if (text.n > INT32_MAX) {
        return COMPLEXITY_E_TOO_BIG;
    }
    r = meter_measure(meter, language, text, options, arena, ret);
    complexity_parser_end(&meter->parser);
    return r;
}
