/* That whoever has given up is heard soon, wherever the work is: how often it asks, not how long it
 * takes. */
#include "unit/toolkit/complexity/measure_rig.h"

#include <stdlib.h>

#include "base/clock.h"
#include "support/counted_stop.h"
#include "toolkit/complexity/lang_c_text.h"
#include "toolkit/complexity/memory.h"
#include "toolkit/complexity/parse.h"
#include "toolkit/complexity/rules.h"
#include "toolkit/complexity/walk.h"

/* So long that it is read in pieces. */
#define LONG_BYTES ((size_t)512 * 1024)

/* After it was told to stop, work may ask so many times more on its way out. */
#define LATE_QUESTIONS 8

typedef struct LongText {
    char *p;
    size_t n;
} LongText;

/* head, piece after piece up to n bytes, tail. */
static LongText long_text(const char *head, const char *piece, const char *tail, size_t n)
{
    size_t n_piece = strlen(piece);
    LongText text = {.p = malloc(strlen(head) + n + n_piece + strlen(tail))};

    assert_non_null(text.p);
    memcpy(text.p, head, strlen(head));
    text.n = strlen(head);
    while (text.n < n) {
        memcpy(text.p + text.n, piece, n_piece);
        text.n += n_piece;
    }
    memcpy(text.p + text.n, tail, strlen(tail));
    text.n += strlen(tail);
    return text;
}

static int measure(Rig *rig, const char *language, LongText text, const ComplexityOptions *options)
{
    return complexity_measure(rig->meter, complexity_language_named(span_from_str(language)),
                              span_make(text.p, text.n), options, &rig->arena, &rig->file);
}

/* One token each: the parser itself asks nobody before it ends. */
static const struct {
    const char *language;
    const char *head;
    const char *piece;
    const char *tail;
} tokens[] = {
    {"javascript", "/*", "a ", "*/"},
    {"javascript", "x = `", "a$ ", "`;"},
    {"python", "x = \"\"\"", "a", "\"\"\""},
    {"bash", "cat <<EOF\n", "a b\n", "EOF\n"},
    {"javascript", "f();", "\n", "g();"},
    {"go", "package a\nvar x = `", "a\n", "`\n"},
    {"rust", "/*", "* ", "*/"},
    {"java", "//", "a", ""},
    {"c", "int f(void);", "\n", ""},
    {"c", "/*", "a*", "*/"},
};

static void question_is_asked_in_each_64_kilobytes_of_a_token(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
        LongText text = long_text(tokens[i].head, tokens[i].piece, tokens[i].tail, LONG_BYTES);
        CountedStop counted;
        ComplexityOptions options = {.max_bytes = 0};
        size_t n_questions;
        Rig rig;

        rig_open(&rig);
        counted_stop_init(&counted, SIZE_MAX);
        options.stop = counted.stop;
        assert_int_equal(measure(&rig, tokens[i].language, text, &options), 0);
        n_questions = counted.n_questions;
        if (n_questions < LONG_BYTES / STOP_BYTES) {
            fail_msg("%zu: only %zu questions", i, n_questions);
        }
        for (size_t at = 0; at < n_questions; at++) {
            counted_stop_init(&counted, at);
            assert_int_equal(measure(&rig, tokens[i].language, text, &options),
                             COMPLEXITY_E_CANCELLED);
            assert_true(counted.n_questions <= at + LATE_QUESTIONS);
        }
        rig_close(&rig);
        free(text.p);
    }
}

static void deadline_holds_within_a_token(void **state)
{
    LongText text = long_text("x = `", "a ", "`;", LONG_BYTES);
    ComplexityOptions options = {.max_parse_us = 1};
    Rig rig;

    (void)state;
    rig_open(&rig);
    assert_int_equal(measure(&rig, "javascript", text, &options), COMPLEXITY_E_TOO_COSTLY);
    options.max_parse_us = INT64_C(3600) * 1000000;
    assert_int_equal(measure(&rig, "javascript", text, &options), 0);
    rig_close(&rig);
    free(text.p);
}

/* Wherever a piece ends: in a name of two bytes a letter, in a number, between functions. */
static void text_that_is_read_in_pieces_measures_the_same(void **state)
{
    static const char *const heads[] = {"", " ", "  ", "   ", "    ", "/*é*/"};
    ComplexityOptions options = {.max_bytes = 0};
    Rig rig;

    (void)state;
    rig_open(&rig);
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        static const char piece[] = "function éééé(ééééé) { return ééééé ? 12345 : 'ééé'; }\n";
        LongText text = long_text(heads[i], piece, "", LONG_BYTES);

        assert_int_equal(measure(&rig, "javascript", text, &options), 0);
        assert_int_equal(rig.file.n_errors, 0);
        assert_int_equal(rig.file.n_functions, (text.n - strlen(heads[i])) / strlen(piece));
        for (size_t k = 0; k < rig.file.n_functions; k++) {
            const ComplexityFunction *f = &rig.file.functions[k];

            assert_int_equal(f->tokens, 14);
            assert_int_equal(f->cyclomatic, 2);
            assert_int_equal(f->halstead.n2, 4);
            assert_int_equal(f->first_line, k + 1);
        }
        free(text.p);
    }
    rig_close(&rig);
}

/* ---- before the parser ---- */

static void preparation_is_left_where_it_is_stopped(void **state)
{
    LongText text = long_text("#define A aa\n", " ", "\n#define B bb\n", LONG_BYTES);
    CountedStop counted;

    (void)state;
    counted_stop_init(&counted, 1);
    assert_true(complexity_c_prepare(text.p, text.n, counted.stop));
    assert_int_equal(counted.n_questions, 2);
    assert_memory_equal(text.p, "#define A-  \n", 13);
    assert_memory_equal(text.p + text.n - 4, " bb\n", 4);
    counted_stop_init(&counted, SIZE_MAX);
    assert_true(complexity_c_prepare(text.p, text.n, counted.stop));
    assert_true(counted.n_questions >= LONG_BYTES / STOP_BYTES);
    assert_memory_equal(text.p + text.n - 5, "B-  \n", 5);
    free(text.p);
}

static void mending_is_left_where_it_is_stopped(void **state)
{
    LongText text = long_text("", "EXPORT_ME int f(int a);\n", "", LONG_BYTES);
    CountedStop counted;
    bool changed;
    size_t n_questions;

    (void)state;
    counted_stop_init(&counted, SIZE_MAX);
    assert_int_equal(complexity_c_mend(text.p, text.n, counted.stop, &changed), 0);
    assert_true(changed);
    n_questions = counted.n_questions;
    /* Its tokens are read, branches looked for, and rules applied. */
    assert_true(n_questions >= 2 * (LONG_BYTES / STOP_BYTES) + LONG_BYTES / 24 * 7 / STOP_STEPS);
    assert_null(memchr(text.p, 'E', text.n));
    for (size_t at = 0; at < n_questions; at += 7) {
        free(text.p);
        text = long_text("", "EXPORT_ME int f(int a);\n", "", LONG_BYTES);
        counted_stop_init(&counted, at);
        assert_int_equal(complexity_c_mend(text.p, text.n, counted.stop, &changed), 0);
        assert_true(counted.n_questions <= at + LATE_QUESTIONS);
        assert_non_null(memchr(text.p, 'E', text.n));
    }
    free(text.p);
}

/* ---- behind the parser ---- */

#define DEPTH 50000

typedef struct Walked {
    ComplexityParser parser;
    ComplexityTable table;
    Walk walk;
    Arena arena;
} Walked;

static int walk_over(Walked *walked, const ComplexityLanguage *language, LongText text, Stop stop)
{
    ComplexityOptions options = {.max_bytes = 0};
    ComplexityMemory *memory;
    ComplexityMemory *before;
    TSTree *tree;
    Span parsed;
    int r;

    assert_int_equal(complexity_parser_read(&walked->parser, language, span_make(text.p, text.n),
                                            &options, &tree, &parsed, &memory),
                     0);
    options.stop = stop;
    before = complexity_memory_enter(memory);
    r = complexity_walk_tree(&walked->walk, language, &walked->table, tree,
                             span_make(text.p, text.n), parsed, &options, memory, &walked->arena);
    complexity_memory_leave(before);
    complexity_parser_end(&walked->parser);
    return r;
}

/* Three nodes a level on the way down, and the level itself on the way up: nothing else is done
 * there. */
static void walk_asks_on_its_way_down_and_up(void **state)
{
    const ComplexityLanguage *language = complexity_language_named(SPAN("javascript"));
    LongText text = {.p = malloc((size_t)2 * DEPTH + 1), .n = (size_t)2 * DEPTH + 1};
    Walked walked = {.arena = {.max_bytes = 0}};
    CountedStop counted;
    size_t n_questions;

    (void)state;
    assert_non_null(text.p);
    memset(text.p, '(', DEPTH);
    text.p[DEPTH] = 'a';
    memset(text.p + DEPTH + 1, ')', DEPTH);
    complexity_memory_install();
    arena_init(&walked.arena, (size_t)1 << 24);
    complexity_walk_init(&walked.walk, (HashSeed){1, 2});
    assert_int_equal(complexity_table_init(&walked.table, language), 0);
    counted_stop_init(&counted, SIZE_MAX);
    assert_int_equal(walk_over(&walked, language, text, counted.stop), 0);
    n_questions = counted.n_questions;
    assert_true(n_questions >= (size_t)4 * DEPTH / STOP_STEPS);
    for (size_t at = 0; at < n_questions; at += 20) {
        counted_stop_init(&counted, at);
        assert_int_equal(walk_over(&walked, language, text, counted.stop), COMPLEXITY_E_CANCELLED);
        assert_int_equal(counted.n_questions, at + 1);
    }
    complexity_table_deinit(&walked.table);
    complexity_walk_deinit(&walked.walk);
    complexity_parser_deinit(&walked.parser);
    arena_deinit(&walked.arena);
    free(text.p);
}

static void measures_are_not_handed_out_when_it_is_too_late(void **state)
{
    LongText text = long_text("", "void f(void) {}\n", "", (size_t)16 * 5000);
    ComplexityOptions options = {.max_bytes = 0};
    CountedStop counted;
    size_t n_questions;
    Rig rig;

    (void)state;
    rig_open(&rig);
    counted_stop_init(&counted, SIZE_MAX);
    options.stop = counted.stop;
    assert_int_equal(measure(&rig, "c", text, &options), 0);
    assert_int_equal(rig.file.n_functions, 5000);
    /* The last of them are asked for each thousand rows. */
    n_questions = counted.n_questions;
    for (size_t late = 1; late <= 5; late++) {
        counted_stop_init(&counted, n_questions - late);
        assert_int_equal(measure(&rig, "c", text, &options), COMPLEXITY_E_CANCELLED);
        assert_int_equal(counted.n_questions, n_questions - late + 1);
    }
    rig_close(&rig);
    free(text.p);
}

/* ---- the second reading ---- */

/* How often the time that a text takes fits the deadline. */
#define PATIENCE 16

/* Of the thread, so that others on the machine do not matter. */
static uint64_t deadline_ns;

static int mend_slowly(char *text, size_t n, Stop stop, bool *ret_changed)
{
    uint64_t end_ns = clock_thread_ns() + deadline_ns;

    (void)n;
    (void)stop;
    while (clock_thread_ns() < end_ns) {
    }
    text[4] = 'x';
    *ret_changed = true;
    return 0;
}

static int mend_nothing(char *text, size_t n, Stop stop, bool *ret_changed)
{
    (void)text;
    (void)n;
    (void)stop;
    *ret_changed = false;
    return 0;
}

static void time_of_the_second_reading_is_its_own(void **state)
{
    ComplexityLanguage language = *complexity_language_named(SPAN("c"));
    LongText text = long_text("int ] ;\n", "int g(int a) { return a ? 1 : 2; }\n", "", 20000);
    ComplexityOptions options = {.max_parse_us = 0};
    ComplexityParser parser = {.parse_ns = 0};
    ComplexityMemory *memory;
    TSTree *tree;
    Span parsed;
    uint64_t start_ns;

    (void)state;
    complexity_memory_install();
    language.mend = mend_nothing;
    start_ns = clock_thread_ns();
    assert_int_equal(complexity_parser_read(&parser, &language, span_make(text.p, text.n), &options,
                                            &tree, &parsed, &memory),
                     0);
    deadline_ns = PATIENCE * (clock_thread_ns() - start_ns);
    complexity_parser_end(&parser);

    language.mend = mend_slowly;
    options.max_parse_us = (int64_t)(deadline_ns / 1000) + 1;
    assert_int_equal(complexity_parser_read(&parser, &language, span_make(text.p, text.n), &options,
                                            &tree, &parsed, &memory),
                     0);
    assert_int_equal(parsed.p[4], 'x');
    complexity_parser_end(&parser);
    complexity_parser_deinit(&parser);
    free(text.p);
}

/* It leaves the error and makes another one. */
static int mend_badly(char *text, size_t n, Stop stop, bool *ret_changed)
{
    (void)stop;
    text[n - 2] = ']';
    *ret_changed = true;
    return 0;
}

static int mend_to_nothing(char *text, size_t n, Stop stop, bool *ret_changed)
{
    (void)stop;
    memset(text, ' ', n);
    text[n - 3] = ']';
    *ret_changed = true;
    return 0;
}

static const char *read_with(int (*mend)(char *, size_t, Stop, bool *), Span text, Span *ret_parsed)
{
    ComplexityLanguage language = *complexity_language_named(SPAN("c"));
    ComplexityOptions options = {.max_bytes = 0};
    ComplexityParser parser = {.parse_ns = 0};
    static char copy[256];
    ComplexityMemory *memory;
    TSTree *tree;

    language.mend = mend;
    complexity_memory_install();
    assert_int_equal(
        complexity_parser_read(&parser, &language, text, &options, &tree, ret_parsed, &memory), 0);
    assert_true(ret_parsed->n < sizeof(copy));
    memcpy(copy, ret_parsed->p, ret_parsed->n);
    copy[ret_parsed->n] = '\0';
    complexity_parser_end(&parser);
    complexity_parser_deinit(&parser);
    return copy;
}

/* The one with the lesser errors counts; of two that are as good, the text as it is. */
static void second_reading_counts_only_if_it_is_better(void **state)
{
    static const char text[] = "int ] ;\nint f(int a) { return a; }\nint g(int a) { return 1; }\n";
    Span parsed;

    (void)state;
    assert_string_equal(read_with(mend_badly, SPAN(text), &parsed), text);
    assert_string_not_equal(
        read_with(mend_to_nothing, SPAN("int ] ] ] ;\nint ] ] ;\n   "), &parsed),
        "int ] ] ] ;\nint ] ] ;\n   ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(question_is_asked_in_each_64_kilobytes_of_a_token),
        cmocka_unit_test(deadline_holds_within_a_token),
        cmocka_unit_test(text_that_is_read_in_pieces_measures_the_same),
        cmocka_unit_test(preparation_is_left_where_it_is_stopped),
        cmocka_unit_test(mending_is_left_where_it_is_stopped),
        cmocka_unit_test(walk_asks_on_its_way_down_and_up),
        cmocka_unit_test(measures_are_not_handed_out_when_it_is_too_late),
        cmocka_unit_test(time_of_the_second_reading_is_its_own),
        cmocka_unit_test(second_reading_counts_only_if_it_is_better),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
