#include "unit/toolkit/complexity/measure_rig.h"

#include <stdio.h>

#include "support/guard.h"
#include <errno.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

static void empty_file_has_nothing(void **state)
{
    static const char *const languages[] = {"c",          "cpp", "javascript",
                                            "typescript", "tsx", "python"};
    Rig rig;

    (void)state;
    rig_open(&rig);
    for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); i++) {
        rig_measure_span(&rig, languages[i], SPAN_NULL);
        assert_int_equal(rig.file.n_functions, 0);
        assert_int_equal(rig.file.lines, 0);
        assert_int_equal(rig.file.n_errors, 0);
        assert_ptr_equal(rig.file.language, complexity_language_named(span_from_str(languages[i])));
        rig_measure(&rig, languages[i], "\n\n");
        assert_int_equal(rig.file.lines, 2);
        assert_int_equal(rig.file.blank_lines, 2);
    }
    rig_close(&rig);
}

/* Names are bytes, and are given as they are. */
static void text_need_not_be_utf8(void **state)
{
    static const char text[] = "// \xff\xfe\nint f(void) { return g(\"\xc3\x28\") ? 1 : 2; }\n"
                               "int g(int a) { return a && 'x'; }\n";
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "c", text);
    assert_int_equal(rig_row(&rig, "f")->cyclomatic, 2);
    assert_int_equal(rig_row(&rig, "g")->cyclomatic, 2);
    rig_measure(&rig, "python", "def f(a):\n    x = '\xe9\xff'\n    if a: pass\n");
    assert_int_equal(rig_row(&rig, "f")->cyclomatic, 2);
    rig_measure(&rig, "javascript", "function \xc3\xa4(a) { return a ? 1 : 2; }");
    assert_int_equal(rig_row(&rig, "\xc3\xa4")->cyclomatic, 2);
    /* A mark of the byte order, carriage returns, NUL. */
    rig_measure(&rig, "c", "\xef\xbb\xbfint f(int a)\r\n{\r\n    return a ? 1 : 2;\r\n}\r\n");
    assert_int_equal(rig_row(&rig, "f")->cyclomatic, 2);
    assert_int_equal(rig.file.lines, 4);
    assert_int_equal(rig.file.n_errors, 0);
    rig_measure_span(&rig, "c", SPAN("int f(void) { \0 return 1; }"));
    assert_true(rig.file.n_errors > 0);
    rig_close(&rig);
}

/* Nothing behind the text is read: it need not end with a NUL. */
static void text_is_read_to_its_end_only(void **state)
{
    static const char text[] = "int f(int a) { return a ? 1 : 2; }";
    Rig rig;

    (void)state;
    rig_open(&rig);
    for (size_t n = 0; n < sizeof(text); n++) {
        GuardBuffer guard = guard_copy(text, n);

        rig_measure_span(&rig, "c", span_make(guard.p, n));
        guard_free(&guard);
    }
    rig_close(&rig);
}

/* Each has its own place, in the order of the text. */
static void functions_come_in_order_with_their_true_lines(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "javascript",
                "\n"
                "const a = () => {\n"
                "  const b = () => 1;\n"
                "  return { c() {\n"
                "    return 2;\n"
                "  } };\n"
                "};\n"
                "function d() { }\n");
    assert_int_equal(rig.file.n_functions, 4);
    assert_int_equal(rig.file.functions[0].first_line, 2);
    assert_int_equal(rig.file.functions[0].last_line, 7);
    assert_int_equal(rig.file.functions[1].first_line, 3);
    assert_int_equal(rig.file.functions[1].first_column, 13);
    assert_int_equal(rig.file.functions[2].first_line, 4);
    assert_int_equal(rig.file.functions[2].last_line, 6);
    assert_int_equal(rig.file.functions[3].first_line, 8);
    assert_int_equal(rig.file.functions[3].last_line, 8);
    rig_close(&rig);
}

static void what_does_not_parse_is_told(void **state)
{
    Rig rig;

    (void)state;
    rig_open(&rig);
    rig_measure(&rig, "python", "def f(a):\n    return a\n\ndef g(:\n    if a: pass\n");
    assert_true(rig.file.n_errors > 0);
    assert_int_equal(rig.file.first_error_line, 4);
    assert_false(rig_row(&rig, "f")->has_error);
    rig_measure(&rig, "c", "int f(int a) { return a +; }\nint g(int a) { return a; }\n");
    assert_int_equal(rig.file.n_errors, 1);
    assert_int_equal(rig.file.first_error_line, 1);
    assert_true(rig_row(&rig, "f")->has_error);
    assert_false(rig_row(&rig, "g")->has_error);
    /* Something missing is an error too. */
    rig_measure(&rig, "c", "int f(int a) { return a }\n");
    assert_int_equal(rig.file.n_errors, 1);
    rig_measure(&rig, "c", "int f(int a) { return \"abc; }\n");
    assert_true(rig.file.n_errors > 0);
    rig_close(&rig);
}

/* One meter reads files of any language, in any order, with the same result. */
static void meter_serves_many_files(void **state)
{
    static const char c[] = "int f(int a, int b) { return a > b ? a : b + 1; }";
    static const char js[] = "function f(a) { return () => a; }";
    Rig rig;

    (void)state;
    rig_open(&rig);
    for (size_t i = 0; i < 3; i++) {
        rig_measure(&rig, "c", c);
        assert_int_equal(rig_row(&rig, "f")->halstead.n1, 10);
        assert_int_equal(rig_row(&rig, "f")->halstead.n2, 4);
        rig_measure(&rig, "javascript", js);
        assert_int_equal(rig.file.n_functions, 2);
        rig_measure(&rig, "c", "int x;\n/* only */\n");
        assert_int_equal(rig.file.n_functions, 0);
        assert_int_equal(rig.file.code_lines, 1);
        assert_int_equal(rig.file.comment_lines, 1);
    }
    assert_true(complexity_meter_parse_us(rig.meter) >= 0);
    rig_close(&rig);
}

/* What a parser found in the tables of one language is nothing in those of another. */
static void languages_may_take_turns(void **state)
{
    static const struct {
        const char *language;
        const char *text;
    } files[] = {
        {"python", "def f(a):\n    return [x for x in a if x and not a] or 1\n"},
        {"c", "int f(int a) { for (;;) { if (a && !a) { return 1; } } return a ? 2 : 3; }\n"},
        {"javascript", "function f(a) { return a?.b ?? (() => a ? 1 : 2); }\n"},
        {"python", "def f(a):\n    while a:\n        f(a) if a else 1\n"},
    };
    Rig turns;

    (void)state;
    rig_open(&turns);
    for (size_t i = 0; i < 40; i++) {
        size_t k = i % 4;
        Rig alone;

        rig_open(&alone);
        rig_measure(&alone, files[k].language, files[k].text);
        rig_measure(&turns, files[k].language, files[k].text);
        assert_int_equal(turns.file.n_errors, 0);
        assert_int_equal(turns.file.n_functions, alone.file.n_functions);
        for (size_t f = 0; f < alone.file.n_functions; f++) {
            assert_int_equal(turns.file.functions[f].cyclomatic,
                             alone.file.functions[f].cyclomatic);
            assert_int_equal(turns.file.functions[f].tokens, alone.file.functions[f].tokens);
        }
        rig_close(&alone);
    }
    rig_close(&turns);
}

static void increments_are_listed_only_if_asked_for(void **state)
{
    static const ComplexityOptions options = {.increments = false};
    Rig rig;

    (void)state;
    rig_open(&rig);
    assert_int_equal(complexity_measure(rig.meter, complexity_language_named(SPAN("c")),
                                        SPAN("void f(int a) { if (a) g(); }"), &options, &rig.arena,
                                        &rig.file),
                     0);
    assert_int_equal(rig_row(&rig, "f")->cognitive, 1);
    assert_null(rig_row(&rig, "f")->increments);
    assert_int_equal(rig_row(&rig, "f")->n_increments, 0);
    rig_close(&rig);
}

static void halstead_of_nothing_is_nothing(void **state)
{
    ComplexityHalstead none = {0, 0, 0, 0};
    ComplexityHalstead no_operands = {.n1 = 2, .N1 = 4};

    (void)state;
    assert_float_equal(complexity_halstead_effort(&none), 0, 0);
    assert_float_equal(complexity_halstead_volume(&no_operands), 0, 0);
    assert_float_equal(complexity_halstead_difficulty(&no_operands), 0, 0);
    assert_null(complexity_meter_free(NULL));
}

typedef struct OomCase {
    const char *language;
    const char *text;
} OomCase;

static int measure_scenario(void *context)
{
    static const ComplexityOptions options = {.increments = true};
    const OomCase *oom = context;
    ComplexityMeter *meter = NULL;
    ComplexityFile file;
    Arena arena;
    int r = complexity_meter_new(&meter);

    if (r != 0) {
        return r;
    }
    arena_init(&arena, RIG_ARENA_BYTES);
    r = complexity_measure(meter, complexity_language_named(span_from_str(oom->language)),
                           span_from_str(oom->text), &options, &arena, &file);
    r = r == COMPLEXITY_E_NO_MEMORY ? -ENOMEM : r;
    assert_true(r <= 0);
    /* And it can be used again. */
    if (r != 0) {
        (void)complexity_measure(meter, complexity_language_named(SPAN("c")), SPAN("int x;"),
                                 &options, &arena, &file);
    } else {
        assert_true(file.n_functions > 0);
    }
    arena_deinit(&arena);
    (void)complexity_meter_free(meter);
    return r;
}

/* As test_oom_sweep, but of a text for which the parser allocates often: some of these, and all of
 * those at the end. */
static void sweep_long(OomCase *oom)
{
    long live_before = alloc_testing()->n_live;
    size_t n_all;

    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_int_equal(measure_scenario(oom), 0);
    n_all = alloc_testing()->n_calls;
    for (size_t n = 0; n < n_all; n += n + 200 < n_all ? 61 : 1) {
        int r;

        alloc_testing_reset(n);
        r = measure_scenario(oom);
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        assert_int_equal(r, -ENOMEM);
        assert_int_equal(alloc_testing()->n_live, live_before);
    }
}

/* Long enough that every array grows once. */
static void measuring_survives_want_of_memory(void **state)
{
    static char big[200000];
    size_t n = 0;
    OomCase cases[] = {
        {"c", "int f(int a) { if (a && b) { while (1) { } } return \"x\"; } int g(void) { }"},
        {"javascript", "class A { m() { return [1].map(x => x ? `a${x}` : a); } }"},
    };
    OomCase long_one = {"python", big};

    (void)state;
    for (size_t i = 0; i < 100 && n + 200 < sizeof(big); i++) {
        n += (size_t)snprintf(big + n, sizeof(big) - n,
                              "def f%zu(a):\n    if a and b%zu: return %zu, 'x%zu', y%zu, z%zu\n"
                              "    return %zu.5, w%zu, v%zu\n",
                              i, i, i, i, i, i, i, i, i);
    }
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        test_oom_sweep(measure_scenario, &cases[i]);
    }
    sweep_long(&long_one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_file_has_nothing),
        cmocka_unit_test(text_need_not_be_utf8),
        cmocka_unit_test(text_is_read_to_its_end_only),
        cmocka_unit_test(functions_come_in_order_with_their_true_lines),
        cmocka_unit_test(what_does_not_parse_is_told),
        cmocka_unit_test(meter_serves_many_files),
        cmocka_unit_test(languages_may_take_turns),
        cmocka_unit_test(increments_are_listed_only_if_asked_for),
        cmocka_unit_test(halstead_of_nothing_is_nothing),
        cmocka_unit_test(measuring_survives_want_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
