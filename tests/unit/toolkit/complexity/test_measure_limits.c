#include "unit/toolkit/complexity/measure_rig.h"

#include "support/alloc_testing.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* So deep that anything that called itself would have no stack left. */
#define DEPTH 100000

typedef struct Text {
    char *p;
    size_t n;
} Text;

static void text_add(Text *text, const char *s)
{
    size_t n = strlen(s);

    memcpy(text->p + text->n, s, n);
    text->n += n;
}

/* head, n times open, middle, n times close, tail. */
static Text text_nest(const char *head, const char *open, const char *middle, const char *close,
                      const char *tail, size_t n)
{
    Text text = {.n = 0};

    text.p = malloc(strlen(head) + strlen(middle) + strlen(tail) +
                    n * (strlen(open) + strlen(close)) + 1);
    assert_non_null(text.p);
    text_add(&text, head);
    for (size_t i = 0; i < n; i++) {
        text_add(&text, open);
    }
    text_add(&text, middle);
    for (size_t i = 0; i < n; i++) {
        text_add(&text, close);
    }
    text_add(&text, tail);
    return text;
}

static void blocks_may_be_nested_very_deep(void **state)
{
    Text text = text_nest("void f(int a) { ", "{", "a++;", "}", " }", DEPTH);
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure_span(&rig, "c", span_make(text.p, text.n));
    assert_int_equal(rig_row(&rig, "f")->cyclomatic, 1);
    assert_int_equal(rig_row(&rig, "f")->tokens, 2 * DEPTH + 11);
    free(text.p);
    text = text_nest("function f(a) { return ", "(", "a", ")", "; }", DEPTH);
    rig_measure_span(&rig, "javascript", span_make(text.p, text.n));
    assert_int_equal(rig_row(&rig, "f")->tokens, 2 * DEPTH + 10);
    free(text.p);
    text = text_nest("def f(a):\n    return ", "[", "a", "]", "\n", DEPTH);
    rig_measure_span(&rig, "python", span_make(text.p, text.n));
    assert_int_equal(rig_row(&rig, "f")->halstead.n1, 5);
    free(text.p);
    rig_close(&rig);
}

/* 1 + 2 + … + n does not fit 32 bits: it is the largest number then, and does not begin anew. */
static void values_do_not_overflow(void **state)
{
    Text text = text_nest("void f(int a) { ", "if (a) ", ";", "", " }", DEPTH);
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure_span(&rig, "c", span_make(text.p, text.n));
    assert_int_equal(rig_row(&rig, "f")->cyclomatic, DEPTH + 1);
    assert_int_equal(rig_row(&rig, "f")->cognitive, UINT32_MAX);
    assert_int_equal(rig_row(&rig, "f")->nesting, DEPTH);
    free(text.p);
    rig_close(&rig);
}

/* Each counts in all of those around it; that must not take the square of their number. */
static void functions_may_be_nested_very_deep(void **state)
{
    Text text = text_nest("", "void f(int a) { if (a) g(); ", "", "}", "", DEPTH / 4);
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure_span(&rig, "c", span_make(text.p, text.n));
    assert_int_equal(rig.file.n_functions, DEPTH / 4);
    assert_int_equal(rig.file.functions[DEPTH / 4 - 1].cognitive, 1);
    assert_int_equal(rig.file.functions[DEPTH / 4 - 2].cognitive, 3);
    assert_int_equal(rig.file.functions[0].cyclomatic, DEPTH / 4 + 1);
    /* The same few tokens. */
    assert_int_equal(rig.file.functions[0].halstead.n2, 3);
    assert_int_equal(rig.file.functions[0].halstead.N2, DEPTH);
    /* The innermost have their lists; together they would be too many. */
    assert_int_equal(rig.file.functions[DEPTH / 4 - 1].n_increments, 1);
    assert_null(rig.file.functions[0].increments);
    /* Names do not grow with the depth. */
    assert_true(rig.file.functions[0].name.n == 1);
    assert_true(rig.file.functions[DEPTH / 4 - 1].name.n < 1000);
    free(text.p);
    text = text_nest("", "(a) => { if (a) b(); ", "", "}", "", DEPTH / 4);
    rig_measure_span(&rig, "javascript", span_make(text.p, text.n));
    free(text.p);
    rig_close(&rig);
}

static void many_parameters_are_counted(void **state)
{
    Text text = text_nest("def f(", "a, ", "b", "", "): pass\n", DEPTH);
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure_span(&rig, "python", span_make(text.p, text.n));
    assert_int_equal(rig_row(&rig, "f")->parameters, DEPTH + 1);
    free(text.p);
    rig_close(&rig);
}

static void texts_in_texts_may_be_nested_very_deep(void **state)
{
    Text text = text_nest("function f(a) { return ", "`x${", "a", "}`", "; }", DEPTH / 4);
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure_span(&rig, "javascript", span_make(text.p, text.n));
    assert_int_equal(rig_row(&rig, "f")->halstead.N2, DEPTH / 4 + 3);
    assert_int_equal(rig_row(&rig, "f")->halstead.n2, DEPTH / 4 + 2);
    free(text.p);
    rig_close(&rig);
}

static void long_names_are_cut(void **state)
{
    Text text = text_nest("int ", "\xe4\xb8\x80", "", "", "(void) { return 1; }", 5000);
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure_span(&rig, "c", span_make(text.p, text.n));
    assert_int_equal(rig.file.n_functions, 1);
    assert_true(rig.file.functions[0].name.n >= 100 && rig.file.functions[0].name.n <= 400);
    assert_int_equal(rig.file.functions[0].name.n % 3, 0);
    free(text.p);
    rig_close(&rig);
}

static int measure_with(Rig *rig, Span text, const ComplexityOptions *options)
{
    return complexity_measure(rig->meter, complexity_language_named(SPAN("c")), text, options,
                              &rig->arena, &rig->file);
}

static void cancelled_measure_ends_and_the_meter_goes_on(void **state)
{
    Text text = text_nest("", "int f(int a) { return a ? 1 : 2; }\n", "", "", "", 20000);
    atomic_bool cancel = true;
    ComplexityOptions options = {.stop = stop_at_flag(&cancel)};
    Rig rig;

    (void)state;
    rig_open(&rig);
    assert_int_equal(measure_with(&rig, span_make(text.p, text.n), &options),
                     COMPLEXITY_E_CANCELLED);
    /* Too short for the parser to ask: the walk does. */
    assert_int_equal(measure_with(&rig, SPAN("int x;"), &options), COMPLEXITY_E_CANCELLED);
    cancel = false;
    assert_int_equal(measure_with(&rig, SPAN("int f(void) { return 1; }"), &options), 0);
    assert_int_equal(rig.file.n_functions, 1);
    assert_int_equal(measure_with(&rig, span_make(text.p, text.n), &options), 0);
    assert_int_equal(rig.file.n_functions, 20000);
    free(text.p);
    rig_close(&rig);
}

static void parsing_stops_when_it_takes_too_long(void **state)
{
    Text text = text_nest("", "int f(int a) { return a ? 1 : 2; }\n", "", "", "", 20000);
    ComplexityOptions options = {.max_parse_us = 1};
    Rig rig;

    (void)state;
    rig_open(&rig);
    assert_int_equal(measure_with(&rig, span_make(text.p, text.n), &options),
                     COMPLEXITY_E_TOO_COSTLY);
    options.max_parse_us = INT64_C(3600) * 1000000;
    assert_int_equal(measure_with(&rig, span_make(text.p, text.n), &options), 0);
    assert_int_equal(rig.file.n_functions, 20000);
    free(text.p);
    rig_close(&rig);
}

/* Some megabytes whose parsing takes long. */
#define LONG_LINES  100000
#define LONG_CHUNKS 40

static int measure_long(Rig *rig, Span text, const ComplexityOptions *options)
{
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    return complexity_measure(rig->meter, complexity_language_named(SPAN("javascript")), text,
                              options, &rig->arena, &rig->file);
}

/* Whoever stops there has taken few of the chunks that the tree takes. */
static void parser_itself_stops_before_there_is_a_tree(void **state)
{
    Text text = text_nest("", "function f(a) { return a ? [1, 2] : 2; }\n", "", "", "", LONG_LINES);
    Span span = span_make(text.p, text.n);
    atomic_bool cancel = true;
    ComplexityOptions options = {.stop = stop_at_flag(&cancel)};
    size_t n_all;
    Rig rig;

    (void)state;
    rig_open(&rig);
    cancel = false;
    assert_int_equal(measure_long(&rig, span, &options), 0);
    n_all = alloc_testing()->n_calls;
    assert_true(n_all > LONG_CHUNKS);
    cancel = true;
    assert_int_equal(measure_long(&rig, span, &options), COMPLEXITY_E_CANCELLED);
    assert_true(alloc_testing()->n_calls < n_all / 10);
    cancel = false;
    options.max_parse_us = 1;
    assert_int_equal(measure_long(&rig, span, &options), COMPLEXITY_E_TOO_COSTLY);
    assert_true(alloc_testing()->n_calls < n_all / 10);
    options.max_parse_us = 0;
    options.max_bytes = 4000000;
    assert_int_equal(measure_long(&rig, span, &options), COMPLEXITY_E_TOO_BIG);
    assert_true(alloc_testing()->n_calls < n_all / 4);
    free(text.p);
    rig_close(&rig);
}

/* ---- memory ---- */

static void a_tree_that_takes_too_much_is_given_up_and_back(void **state)
{
    Text text = text_nest("", "(", "", "", "", DEPTH);
    ComplexityOptions options = {.max_bytes = (size_t)8 << 20};
    long live;
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "c", "int x;");
    live = alloc_testing()->n_live;
    assert_int_equal(measure_with(&rig, span_make(text.p, text.n), &options), COMPLEXITY_E_TOO_BIG);
    /* Not even what the parser keeps for the next text. */
    assert_true(alloc_testing()->n_live <= live);
    assert_int_equal(measure_with(&rig, SPAN("int f(void) { return 1; }"), &options), 0);
    assert_int_equal(rig.file.n_functions, 1);
    options.max_bytes = (size_t)80 << 20;
    assert_int_equal(measure_with(&rig, span_make(text.p, text.n), &options), 0);
    free(text.p);
    rig_close(&rig);
}

/* The tree takes 110 bytes a byte, the way down to its innermost node nearly as much. */
static void the_way_into_a_deep_tree_counts_too(void **state)
{
    Text text = text_nest("", "1+", "1", "", "", DEPTH);
    ComplexityOptions options = {.max_bytes = text.n * 160};
    const ComplexityLanguage *python = complexity_language_named(SPAN("python"));
    Rig rig;

    (void)state;
    rig_open(&rig);
    assert_int_equal(complexity_measure(rig.meter, python, span_make(text.p, text.n), &options,
                                        &rig.arena, &rig.file),
                     COMPLEXITY_E_TOO_BIG);
    options.max_bytes = text.n * 320;
    assert_int_equal(complexity_measure(rig.meter, python, span_make(text.p, text.n), &options,
                                        &rig.arena, &rig.file),
                     0);
    free(text.p);
    rig_close(&rig);
}

/* Whatever a new meter was refused first, it is told and all is given back; and the same meter goes
 * on when there is memory again. */
static int measure_refused(const ComplexityLanguage *language, Span text, size_t fail_at,
                           size_t *ret_calls)
{
    static const ComplexityOptions options = {.max_bytes = 0};
    long live = alloc_testing()->n_live;
    Rig rig;
    int r;

    rig_open(&rig);
    alloc_testing_reset(fail_at);
    r = complexity_measure(rig.meter, language, text, &options, &rig.arena, &rig.file);
    *ret_calls = alloc_testing()->n_calls;
    assert_int_equal(r == 0, alloc_testing()->n_failed == 0);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_int_equal(measure_with(&rig, SPAN("int f(void) { return 1; }"), &options), 0);
    assert_int_equal(rig.file.n_functions, 1);
    rig_close(&rig);
    assert_int_equal(alloc_testing()->n_live, live);
    return r;
}

/* Wherever the heap ends in a text that makes the parser take much at once. */
static void heap_that_gives_nothing_is_no_end(void **state)
{
    static const char *const pieces[] = {"(", "if(a)", "a<", "1+"};
    static const char *const languages[] = {"c", "c", "cpp", "python"};

    (void)state;
    for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
        const ComplexityLanguage *language = complexity_language_named(span_from_str(languages[i]));
        Text text = text_nest("", pieces[i], "", "", "", 5000);
        Span span = span_make(text.p, text.n);
        size_t n_parser = 0;
        size_t n_all;
        size_t n_calls;

        assert_int_equal(measure_refused(language, span, ALLOC_TESTING_NEVER, &n_all), 0);
        for (size_t n = 0; n < n_all; n++) {
            int r = measure_refused(language, span, n, &n_calls);

            assert_true(r == COMPLEXITY_E_NO_MEMORY || r == -ENOMEM);
            n_parser += r == COMPLEXITY_E_NO_MEMORY;
        }
        /* The reserve itself, and at least one chunk. */
        assert_true(n_parser > 2);
        free(text.p);
    }
}

/* Two errors, of which one is mended. With memory for both readings the better one counts, with
 * less the first; the first is not given up for the second. */
static void second_reading_of_a_text_is_given_up_before_the_first(void **state)
{
    Text text = text_nest("static API_MARK int *FOO f(int a) { return 0; }\nint ] ;\n",
                          "int g(int a) { return a ? 1 : 2; }\n", "", "", "", 5000);
    ComplexityOptions options = {.max_bytes = 0};
    uint32_t n_errors;
    Rig rig;
    int r = COMPLEXITY_E_TOO_BIG;

    (void)state;
    rig_open(&rig);
    assert_int_equal(measure_with(&rig, span_make(text.p, text.n), &options), 0);
    n_errors = rig.file.n_errors;
    assert_true(n_errors > 0);
    while (r == COMPLEXITY_E_TOO_BIG) {
        options.max_bytes += (size_t)1 << 18;
        r = measure_with(&rig, span_make(text.p, text.n), &options);
    }
    assert_int_equal(r, 0);
    assert_true(rig.file.n_functions >= 5000);
    assert_true(rig.file.n_errors > n_errors);
    /* Enough for the second alone, which goes when the first has come to need its memory. */
    options.max_bytes += (size_t)1 << 19;
    assert_int_equal(measure_with(&rig, span_make(text.p, text.n), &options), 0);
    assert_true(rig.file.n_errors > n_errors);
    options.max_bytes *= 2;
    assert_int_equal(measure_with(&rig, span_make(text.p, text.n), &options), 0);
    assert_int_equal(rig.file.n_errors, n_errors);
    free(text.p);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_may_be_nested_very_deep),
        cmocka_unit_test(values_do_not_overflow),
        cmocka_unit_test(functions_may_be_nested_very_deep),
        cmocka_unit_test(many_parameters_are_counted),
        cmocka_unit_test(texts_in_texts_may_be_nested_very_deep),
        cmocka_unit_test(long_names_are_cut),
        cmocka_unit_test(cancelled_measure_ends_and_the_meter_goes_on),
        cmocka_unit_test(parsing_stops_when_it_takes_too_long),
        cmocka_unit_test(parser_itself_stops_before_there_is_a_tree),
        cmocka_unit_test(a_tree_that_takes_too_much_is_given_up_and_back),
        cmocka_unit_test(the_way_into_a_deep_tree_counts_too),
        cmocka_unit_test(heap_that_gives_nothing_is_no_end),
        cmocka_unit_test(second_reading_of_a_text_is_given_up_before_the_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
