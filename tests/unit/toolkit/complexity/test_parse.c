/* The second reading of a text: when it is made, of what, and when it counts. */
#include "unit/toolkit/complexity/measure_rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/counted_stop.h"
#include "toolkit/complexity/lang_c_text.h"
#include "toolkit/complexity/memory.h"
#include "toolkit/complexity/parse.h"
#include "toolkit/complexity/rules.h"

typedef int Mend(char *text, size_t n, Stop stop, bool *ret_changed);

typedef struct Reading {
    ComplexityLanguage language;
    ComplexityOptions options;
    ComplexityParser parser;
    ComplexityMemory *memory;
    TSTree *tree;
    Span parsed;
} Reading;

static size_t n_mended;

static int mend_nothing(char *text, size_t n, Stop stop, bool *ret_changed)
{
    (void)text;
    (void)n;
    (void)stop;
    n_mended++;
    *ret_changed = false;
    return 0;
}

/* Every # becomes a blank, every @ a bracket that nothing opens, and every form feed, which is a
 * blank, a semicolon. */
static int mend_signs(char *text, size_t n, Stop stop, bool *ret_changed)
{
    (void)stop;
    n_mended++;
    *ret_changed = true;
    for (size_t i = 0; i < n; i++) {
        text[i] = (char)(text[i] == '#'    ? ' '
                         : text[i] == '@'  ? ']'
                         : text[i] == '\f' ? ';'
                                           : text[i]);
    }
    return 0;
}

static int mend_refused(char *text, size_t n, Stop stop, bool *ret_changed)
{
    (void)text;
    (void)n;
    (void)stop;
    (void)ret_changed;
    return -ENOMEM;
}

static void reading_open(Reading *reading, const char *language, Mend *mend)
{
    *reading = (Reading){.language = *complexity_language_named(span_from_str(language))};
    reading->language.prepare = NULL;
    reading->language.mend = mend;
    n_mended = 0;
    complexity_memory_install();
}

static void reading_close(Reading *reading)
{
    complexity_parser_deinit(&reading->parser);
}

/* To be ended by complexity_parser_end. */
static int reading_read(Reading *reading, Span text)
{
    return complexity_parser_read(&reading->parser, &reading->language, text, &reading->options,
                                  &reading->tree, &reading->parsed, &reading->memory);
}

static char *reading_string(const Reading *reading)
{
    ComplexityMemory *before = complexity_memory_enter(reading->memory);
    char *in_pool = ts_node_string(ts_tree_root_node(reading->tree));
    char *copy = strdup(in_pool);

    complexity_memory_leave(before);
    assert_non_null(copy);
    return copy;
}

static void assert_counts(const char *text, Mend *mend, const char *expected)
{
    Reading reading;

    reading_open(&reading, "c", mend);
    assert_int_equal(reading_read(&reading, span_from_str(text)), 0);
    assert_int_equal(reading.parsed.n, strlen(expected));
    assert_memory_equal(reading.parsed.p, expected, strlen(expected));
    complexity_parser_end(&reading.parser);
    reading_close(&reading);
}

/* ---- when ---- */

static void text_without_errors_is_read_once(void **state)
{
    (void)state;
    assert_counts("int f(int a) { return a; }\n", mend_nothing, "int f(int a) { return a; }\n");
    assert_int_equal(n_mended, 0);
    assert_counts("int ] ;\n", mend_nothing, "int ] ;\n");
    assert_int_equal(n_mended, 1);
}

static void what_mending_says_is_said(void **state)
{
    Reading reading;

    (void)state;
    reading_open(&reading, "c", mend_refused);
    assert_int_equal(reading_read(&reading, SPAN("int ] ;\n")), -ENOMEM);
    complexity_parser_end(&reading.parser);
    assert_int_equal(reading_read(&reading, SPAN("int a;\n")), 0);
    complexity_parser_end(&reading.parser);
    reading_close(&reading);
}

/* ---- which of the two ---- */

static void lesser_errors_count(void **state)
{
    (void)state;
    /* None, and one. */
    assert_counts("int a; #\n", mend_signs, "int a;  \n");
    /* One of two is left; one becomes two. */
    assert_counts("int # a; int ] b;\n", mend_signs, "int   a; int ] b;\n");
    assert_counts("int @ a; int c;\nint @ b;\nint ] ;\n", mend_signs,
                  "int @ a; int c;\nint @ b;\nint ] ;\n");
    /* As many of the same length: the text as it is. */
    assert_counts("int a; @\n", mend_signs, "int a; @\n");
}

/* What is missing weighs half of what is too much; a long error more than two short ones. */
static void errors_have_weights(void **state)
{
    (void)state;
    assert_counts("int a; int b #\n", mend_signs, "int a; int b  \n");
    assert_counts("int f(void) { return 1\f}\n", mend_signs, "int f(void) { return 1;}\n");
    assert_counts("int a @ @ @ @ @ @ @ @ b; int # c;\n", mend_signs,
                  "int a ] ] ] ] ] ] ] ] b; int   c;\n");
}

/* ---- what of the first is in the second ---- */

#define N_FUNCTIONS 2000

/* Functions, of which some have an error that is mended, and some one that is not. */
static char *text_of_functions(bool is_cpp)
{
    char *text = malloc((size_t)N_FUNCTIONS * 160);
    size_t n = 0;

    assert_non_null(text);
    for (int i = 0; i < N_FUNCTIONS; i++) {
        const char *sign = i % 500 == 250 ? "#" : i % 700 == 650 ? "] ]" : "";
        const char *body = is_cpp ? "return a < b > (c) ? g<1>{a}.x : h(a, b);" : "return a * b;";
        /* Where there is no error, at the very end, and nothing near it. */
        const char *end = i % 97 == 3 ? "\f" : " ";

        n += (size_t)snprintf(text + n, 160, "int f%d(int a, int b) { %s %s%s}\n%*s", i, sign, body,
                              end, *end == '\f' ? 40 : 0, "");
    }
    return text;
}

/* The tree of the mended text is the one that it has by itself, whatever was taken over. */
static void second_tree_is_that_of_its_text(void **state)
{
    static const char *const languages[] = {"c", "cpp"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        char *text = text_of_functions(i == 1);
        char *again;
        char *alone;
        Reading reading;
        Reading fresh;

        reading_open(&reading, languages[i], mend_signs);
        reading_open(&fresh, languages[i], NULL);
        assert_int_equal(reading_read(&reading, span_from_str(text)), 0);
        assert_ptr_equal(reading.memory, &reading.parser.memory[1]);
        assert_null(memchr(reading.parsed.p, '#', reading.parsed.n));
        assert_int_equal(reading_read(&fresh, reading.parsed), 0);
        again = reading_string(&reading);
        alone = reading_string(&fresh);
        assert_non_null(strstr(alone, "ERROR"));
        assert_string_equal(again, alone);
        free(again);
        free(alone);
        complexity_parser_end(&reading.parser);
        complexity_parser_end(&fresh.parser);
        reading_close(&reading);
        reading_close(&fresh);
        free(text);
    }
}

/* One function of two thousand is read again, and what is around it. */
static void second_tree_is_made_of_the_first(void **state)
{
    char *text = text_of_functions(false);
    Reading reading;
    char *sign = strchr(text, '#');

    (void)state;
    for (char *p = text; *p != '\0'; p++) {
        *p = (char)((*p == '#' && p != sign) || *p == ']' || *p == '\f' ? ' ' : *p);
    }
    reading_open(&reading, "c", mend_signs);
    assert_int_equal(reading_read(&reading, span_from_str(text)), 0);
    /* By itself it would take as much as the first. */
    assert_true(reading.parser.memory[1].pool.bytes < reading.parser.memory[0].pool.bytes / 4 * 3);
    complexity_parser_end(&reading.parser);
    assert_int_equal(reading.parser.memory[0].pool.bytes, 0);
    assert_int_equal(reading.parser.memory[1].pool.bytes, 0);
    reading_close(&reading);
    free(text);
}

/* ---- bounds ---- */

static void texts_may_become_longer(void **state)
{
    char *text = text_of_functions(false);
    Reading reading;

    (void)state;
    reading_open(&reading, "c", mend_signs);
    for (size_t n = 8; n < strlen(text); n *= 3) {
        text[n - 1] = '#';
        assert_int_equal(reading_read(&reading, span_make(text, n)), 0);
        assert_int_equal(reading.parsed.n, n);
        complexity_parser_end(&reading.parser);
    }
    reading_close(&reading);
    free(text);
}

/* Even a text so short that the parser asks nobody. */
static void stopped_preparation_is_no_reading(void **state)
{
    CountedStop counted;
    Reading reading;

    (void)state;
    reading_open(&reading, "c", mend_signs);
    reading.language.prepare = complexity_c_prepare;
    counted_stop_init(&counted, 0);
    reading.options.stop = counted.stop;
    assert_int_equal(reading_read(&reading, SPAN("#define A b\n")), COMPLEXITY_E_CANCELLED);
    complexity_parser_end(&reading.parser);
    reading_close(&reading);
}

static void second_has_what_the_first_left(void **state)
{
    char *text = text_of_functions(false);
    Reading reading;
    size_t n_first;
    size_t n_both;

    (void)state;
    reading_open(&reading, "c", mend_signs);
    assert_int_equal(reading_read(&reading, span_from_str(text)), 0);
    n_first = reading.parser.memory[0].pool.bytes;
    n_both = n_first + reading.parser.memory[1].pool.bytes;
    complexity_parser_end(&reading.parser);

    reading.options.max_bytes = n_both;
    assert_int_equal(reading_read(&reading, span_from_str(text)), 0);
    assert_ptr_equal(reading.memory, &reading.parser.memory[1]);
    assert_int_equal(reading.memory->max_bytes, n_both - n_first);
    complexity_parser_end(&reading.parser);
    /* Too little for it, and nothing at all: the first counts. */
    for (size_t less = 1; less <= n_both - n_first; less += n_both - n_first - 1) {
        reading.options.max_bytes = n_both - less;
        assert_int_equal(reading_read(&reading, span_from_str(text)), 0);
        assert_ptr_equal(reading.memory, &reading.parser.memory[0]);
        assert_int_equal(reading.memory->max_bytes, reading.options.max_bytes);
        assert_int_equal(reading.parser.memory[1].pool.bytes, 0);
        complexity_parser_end(&reading.parser);
    }
    reading.options.max_bytes = n_first - 1;
    assert_int_equal(reading_read(&reading, span_from_str(text)), COMPLEXITY_E_TOO_BIG);
    complexity_parser_end(&reading.parser);
    reading_close(&reading);
    free(text);
}

/* Only blanks are left of what was too much for the first. */
static int mend_all(char *text, size_t n, Stop stop, bool *ret_changed)
{
    (void)stop;
    n_mended++;
    memset(text, ' ', n);
    *ret_changed = true;
    return 0;
}

static void second_may_be_all_there_is(void **state)
{
    char *text = text_of_functions(false);
    Reading reading;

    (void)state;
    reading_open(&reading, "c", mend_all);
    reading.options.max_bytes = (size_t)2 << 20;
    assert_int_equal(reading_read(&reading, span_from_str(text)), 0);
    assert_ptr_equal(reading.memory, &reading.parser.memory[1]);
    assert_int_equal(reading.memory->max_bytes, reading.options.max_bytes);
    assert_int_equal(reading.parser.memory[0].pool.bytes, 0);
    assert_int_equal(ts_node_child_count(ts_tree_root_node(reading.tree)), 0);
    complexity_parser_end(&reading.parser);
    reading.language.mend = mend_nothing;
    assert_int_equal(reading_read(&reading, span_from_str(text)), COMPLEXITY_E_TOO_BIG);
    complexity_parser_end(&reading.parser);
    reading_close(&reading);
    free(text);
}

/* The clock is looked at by the hundredth step: a text of blanks has none. */
static void second_may_be_all_there_was_time_for(void **state)
{
    char *text = text_of_functions(false);
    Reading reading;

    (void)state;
    reading_open(&reading, "c", mend_all);
    reading.options.max_parse_us = 1;
    assert_int_equal(reading_read(&reading, span_from_str(text)), 0);
    assert_ptr_equal(reading.memory, &reading.parser.memory[1]);
    complexity_parser_end(&reading.parser);
    reading_close(&reading);
    free(text);
}

/* Statements instead of blanks. */
static int mend_fills(char *text, size_t n, Stop stop, bool *ret_changed)
{
    (void)stop;
    for (size_t i = 0; i + 1 < n; i += 2) {
        memcpy(text + i, "a;", 2);
    }
    *ret_changed = true;
    return 0;
}

static void first_counts_where_the_second_takes_too_long(void **state)
{
    char text[1000];
    Reading reading;

    (void)state;
    memset(text, ' ', sizeof(text));
    text[0] = ']';
    reading_open(&reading, "c", mend_fills);
    reading.options.max_parse_us = 1;
    assert_int_equal(reading_read(&reading, span_make(text, sizeof(text))), 0);
    assert_ptr_equal(reading.memory, &reading.parser.memory[0]);
    assert_int_equal(reading.parser.memory[1].pool.bytes, 0);
    complexity_parser_end(&reading.parser);
    reading.options.max_parse_us = 0;
    assert_int_equal(reading_read(&reading, span_make(text, sizeof(text))), 0);
    assert_ptr_equal(reading.memory, &reading.parser.memory[1]);
    complexity_parser_end(&reading.parser);
    reading_close(&reading);
}

/* Wherever it is: the first reading, comparing them, the second. */
static void stop_is_heard_in_both(void **state)
{
    char *text = text_of_functions(false);
    CountedStop counted;
    Reading reading;
    size_t n_questions;

    (void)state;
    reading_open(&reading, "c", mend_signs);
    counted_stop_init(&counted, SIZE_MAX);
    reading.options.stop = counted.stop;
    assert_int_equal(reading_read(&reading, span_from_str(text)), 0);
    complexity_parser_end(&reading.parser);
    n_questions = counted.n_questions;
    for (size_t late = 1; late < n_questions; late = late < 16 ? late + 1 : late * 2) {
        counted_stop_init(&counted, n_questions - late);
        assert_int_equal(reading_read(&reading, span_from_str(text)), COMPLEXITY_E_CANCELLED);
        assert_in_range(counted.n_questions, n_questions - late + 1, n_questions - late + 4);
        complexity_parser_end(&reading.parser);
    }
    reading_close(&reading);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_without_errors_is_read_once),
        cmocka_unit_test(what_mending_says_is_said),
        cmocka_unit_test(lesser_errors_count),
        cmocka_unit_test(errors_have_weights),
        cmocka_unit_test(second_tree_is_that_of_its_text),
        cmocka_unit_test(second_tree_is_made_of_the_first),
        cmocka_unit_test(texts_may_become_longer),
        cmocka_unit_test(stopped_preparation_is_no_reading),
        cmocka_unit_test(second_has_what_the_first_left),
        cmocka_unit_test(second_may_be_all_there_is),
        cmocka_unit_test(second_may_be_all_there_was_time_for),
        cmocka_unit_test(first_counts_where_the_second_takes_too_long),
        cmocka_unit_test(stop_is_heard_in_both),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
