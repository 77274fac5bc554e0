#include "toolkit/chart/text.h"

#include "support/cmocka.h"

#include <stdint.h>
#include <string.h>

#include "support/guard.h"
#include "support/oom_sweep.h"

typedef int (*AppendFn)(Bytes *out, Span text, size_t width, ChartCut cut);

static void expect_text(AppendFn append, Span text, size_t width, ChartCut cut, const char *wanted)
{
    Bytes out;

    bytes_init(&out, 4096);
    assert_int_equal(append(&out, text, width, cut), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    assert_string_equal(out.data, wanted);
    bytes_deinit(&out);
}

static void width_counts_columns_of_a_terminal(void **state)
{
    static const struct {
        Span text;
        size_t width;
    } cases[] = {
        {SPAN_INIT(""), 0},
        {SPAN_INIT("abc"), 3},
        {SPAN_INIT("l\u00E4nger"), 6},
        {SPAN_INIT("\u65E5\u672C\u8A9E"), 6},       /* East Asian letters are wide */
        {SPAN_INIT("\uFF21\uFF22"), 4},             /* and so are full forms */
        {SPAN_INIT("\U0001F600!"), 3},              /* and pictures */
        {SPAN_INIT("e\u0301a"), 2},                 /* an accent is upon its letter */
        {SPAN_INIT("a\u200Db"), 2},                 /* a joiner takes no place */
        {SPAN_INIT("a\nb"), 6},                     /* shown as a\x0ab */
        {SPAN_INIT("\xC2\x9B"), 6},                 /* U+009B begins an escape sequence */
        {SPAN_INIT("\u202Etxt"), 9},                /* shown as \u202etxt */
        {SPAN_INIT("\xFF\xFE"), 8},                 /* shown as \xff\xfe */
        {SPAN_INIT("\xE6\x97"), 8},                 /* a letter that is cut off */
        {SPAN_INIT("\u1160\u10FF\uA4D0\uD7A4"), 4}, /* beside wide blocks */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        GuardBuffer guard = guard_copy(cases[i].text.p, cases[i].text.n);

        assert_int_equal(chart_text_width(span_make(guard.p, guard.n)), cases[i].width);
        guard_free(&guard);
    }
}

static void text_that_fits_is_whole(void **state)
{
    (void)state;
    expect_text(chart_text_append, SPAN("src/main.c"), SIZE_MAX, CHART_CUT_START, "src/main.c");
    expect_text(chart_text_append, SPAN("src/main.c"), 10, CHART_CUT_START, "src/main.c");
    expect_text(chart_text_append, SPAN("\u65E5\u672C"), 4, CHART_CUT_END, "\u65E5\u672C");
}

static void text_that_does_not_fit_shows_that_it_is_cut(void **state)
{
    (void)state;
    expect_text(chart_text_append, SPAN("src/main.c"), 9, CHART_CUT_END, "src/main\u2026");
    expect_text(chart_text_append, SPAN("src/main.c"), 7, CHART_CUT_START, "\u2026main.c");
    expect_text(chart_text_append, SPAN("src/main.c"), 1, CHART_CUT_END, "\u2026");
    expect_text(chart_text_append, SPAN("src/main.c"), 1, CHART_CUT_START, "\u2026");
    expect_text(chart_text_append, SPAN("src/main.c"), 0, CHART_CUT_END, "");
    /* A wide letter does not go into one column: the text is one column shorter. */
    expect_text(chart_text_append, SPAN("\u65E5\u672C\u8A9E"), 4, CHART_CUT_END, "\u65E5\u2026");
    expect_text(chart_text_append, SPAN("\u65E5\u672C\u8A9E"), 4, CHART_CUT_START, "\u2026\u8A9E");
    /* An accent stays with its letter. */
    expect_text(chart_text_append, SPAN("e\u0301xyz"), 2, CHART_CUT_END, "e\u0301\u2026");
}

static void nothing_that_moves_a_cursor_is_shown(void **state)
{
    (void)state;
    expect_text(chart_text_append, SPAN("a\x1B[31mb\r\n\t\x7F"), SIZE_MAX, CHART_CUT_END,
                "a\\x1b[31mb\\x0d\\x0a\\x09\\x7f");
    expect_text(chart_text_append, SPAN("\u202Ecod.c\u2069"), SIZE_MAX, CHART_CUT_END,
                "\\u202ecod.c\\u2069");
    expect_text(chart_text_append, SPAN("\xC0\xAF"), SIZE_MAX, CHART_CUT_END, "\\xc0\\xaf");
    expect_text(chart_text_append, SPAN("a\\xc0"), SIZE_MAX, CHART_CUT_END, "a\\\\xc0");
    expect_text(chart_text_append, span_make("a\0b", 3), SIZE_MAX, CHART_CUT_END, "a\\x00b");
}

static void xml_is_escaped(void **state)
{
    (void)state;
    expect_text(chart_text_append_xml, SPAN("<script>alert('x')&\"</script>"), SIZE_MAX,
                CHART_CUT_END, "&lt;script&gt;alert(&#39;x&#39;)&amp;&quot;&lt;/script&gt;");
    expect_text(chart_text_append_xml, SPAN("]]>\x01\uFFFF"), SIZE_MAX, CHART_CUT_END,
                "]]&gt;\\x01\\uffff");
    /* Cut between letters, never inside what stands for one. */
    expect_text(chart_text_append_xml, SPAN("<<<<"), 3, CHART_CUT_END, "&lt;&lt;\u2026");
}

static void number_has_its_thousands_apart(void **state)
{
    static const struct {
        double value;
        unsigned decimals;
        const char *wanted;
    } cases[] = {
        {0, 0, "0"},
        {999, 0, "999"},
        {1000, 0, "1,000"},
        {1234567, 0, "1,234,567"},
        {1234.5, 2, "1,234.50"},
        {-1234, 0, "-1,234"},
        {-12, 1, "-12.0"},
        {999.96, 1, "1,000.0"},
        {0.125, 3, "0.125"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        Bytes out;

        bytes_init(&out, 64);
        assert_int_equal(chart_number_append(&out, cases[i].value, cases[i].decimals), 0);
        assert_int_equal(bytes_append_byte(&out, '\0'), 0);
        assert_string_equal(out.data, cases[i].wanted);
        bytes_deinit(&out);
    }
}

static void full_buffer_is_left_as_it_was(void **state)
{
    Bytes out;

    (void)state;
    bytes_init(&out, 8);
    assert_int_equal(bytes_append_span(&out, SPAN("abc")), 0);
    assert_int_equal(chart_text_append(&out, SPAN("a text"), SIZE_MAX, CHART_CUT_END),
                     BYTES_E_FULL);
    assert_int_equal(out.n, 3);
    bytes_deinit(&out);
}

static int append_scenario(void *context)
{
    Bytes out;
    int r;

    (void)context;
    bytes_init(&out, 4096);
    r = chart_text_append(&out, SPAN("some text"), 5, CHART_CUT_START);
    r = r != 0 ? r : chart_number_append(&out, 1234, 1);
    bytes_deinit(&out);
    return r;
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    test_oom_sweep(append_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(width_counts_columns_of_a_terminal),
        cmocka_unit_test(text_that_fits_is_whole),
        cmocka_unit_test(text_that_does_not_fit_shows_that_it_is_cut),
        cmocka_unit_test(nothing_that_moves_a_cursor_is_shown),
        cmocka_unit_test(xml_is_escaped),
        cmocka_unit_test(number_has_its_thousands_apart),
        cmocka_unit_test(full_buffer_is_left_as_it_was),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
