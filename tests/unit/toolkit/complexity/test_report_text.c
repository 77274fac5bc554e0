#include "support/cmocka.h"

#include <string.h>

#include "support/guard.h"
#include "toolkit/complexity/report_text.h"

typedef void (*TextFn)(ReportText *t, Span s);

/* From in front of an unreadable page. */
static void check(TextFn write, Span in, const char *expected)
{
    GuardBuffer guarded = guard_copy(in.p, in.n);
    ReportText t;
    Bytes out;

    bytes_init(&out, 4096);
    report_text_begin(&t, &out);
    write(&t, span_make(guarded.p, in.n));
    assert_int_equal(report_text_end(&t), 0);
    if (!span_equals(bytes_span(&out), span_from_str(expected))) {
        fail_msg("\"%.*s\" is not \"%s\"", (int)out.n, out.data, expected);
    }
    bytes_deinit(&out);
    guard_free(&guarded);
}

static void code_is_fenced_and_fits_a_table(void **state)
{
    (void)state;
    check(report_text_code, SPAN("__init__.py"), "`__init__.py`");
    check(report_text_code, SPAN("a|b"), "`a\\|b`");
    check(report_text_code, SPAN("a`b"), "``a`b``");
    check(report_text_code, SPAN("`"), "`` ` ``");
    check(report_text_code, SPAN("a``"), "``` a`` ```");
    check(report_text_code, SPAN("a\nb\x1B[2J\x7F"), "`a\\x0ab\\x1b[2J\\x7f`");
    check(report_text_code, SPAN("\xC2\x9B"), "`\\u009b`");
    check(report_text_code, SPAN("\xE2\x80\xA8\xE2\x80\xA7"), "`\\u2028\xE2\x80\xA7`");
    check(report_text_code, SPAN("\xC3\xA4\xFF\xC3"), "`\xC3\xA4\\xff\\xc3`");
    check(report_text_code, SPAN("\\xff"), "`\\\\xff`");
    check(report_text_code, SPAN(""), "");
}

static void words_have_no_meaning_in_markdown(void **state)
{
    (void)state;
    check(report_text_words, SPAN("a|b *c* <d> [e] _f_ `g` \\ #~&"),
          "a\\|b \\*c\\* \\<d\\> \\[e\\] \\_f\\_ \\`g\\` \\\\ \\#\\~\\&");
    check(report_text_words, SPAN("a\nb\xFF"), "a\\\\x0ab\\\\xff");
}

static void attributes_are_well_formed(void **state)
{
    (void)state;
    check(report_text_xml, SPAN("a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c'");
    check(report_text_xml, SPAN("\t\n\r"), "&#9;&#10;&#13;");
    check(report_text_xml, SPAN("\x01\0\x1F\x7F"), "\\x01\\x00\\x1f\\x7f");
    check(report_text_xml, SPAN("\xEF\xBF\xBE\xEF\xBF\xBF\xEF\xBF\xBC"),
          "\\ufffe\\uffff\xEF\xBF\xBC");
    check(report_text_xml, SPAN("\xFE\xF0\x9F\x98\x80"), "\\xfe\xF0\x9F\x98\x80");
}

static void fields_are_quoted_where_they_must_be(void **state)
{
    (void)state;
    check(report_text_csv, SPAN("plain"), "plain");
    check(report_text_csv, SPAN("a,b"), "\"a,b\"");
    check(report_text_csv, SPAN("\"a\"\""), "\"\"\"a\"\"\"\"\"");
    check(report_text_csv, SPAN("a\nb"), "a\\x0ab");
    check(report_text_csv, SPAN("a\r,\xFF"), "\"a\\x0d,\\xff\"");
    check(report_text_csv, SPAN(" a"), "\" a\"");
    check(report_text_csv, SPAN(""), "");
}

static void paths_become_references(void **state)
{
    (void)state;
    check(report_text_uri, SPAN("src/a-b_c.~d/x.c"), "src/a-b_c.~d/x.c");
    check(report_text_uri, SPAN("./x.c"), "x.c");
    check(report_text_uri, SPAN("a b#c?d%e:f.c"), "a%20b%23c%3Fd%25e%3Af.c");
    check(report_text_uri, SPAN("\xC3\xA4\xFF.c"), "%C3%A4%FF.c");
    check(report_text_uri, SPAN("/tmp/x y"), "file:///tmp/x%20y");
}

static void decimals(ReportText *t, Span unused)
{
    static const double values[] = {0, 0.04, 0.05, 5.8, 30.92, 0.95, 1950, 1e14 + 0.25, 1e21};

    (void)unused;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        report_text_decimal(t, values[i]);
        report_text_str(t, " ");
    }
    report_text_double(t, 0.1);
    report_text_str(t, " ");
    report_text_int(t, INT64_MIN);
    report_text_str(t, " ");
    report_text_uint(t, UINT64_MAX);
}

static void numbers_have_one_decimal(void **state)
{
    (void)state;
    check(decimals, SPAN(""),
          "0.0 0.0 0.1 5.8 30.9 1.0 1950.0 100000000000000.3 1e+21 0.1 -9223372036854775808 "
          "18446744073709551615");
}

static void first_failure_sticks(void **state)
{
    ReportText t;
    Bytes out;

    (void)state;
    bytes_init(&out, 5);
    assert_int_equal(bytes_append(&out, "ab", 2), 0);
    report_text_begin(&t, &out);
    report_text_str(&t, "cd");
    report_text_str(&t, "too much");
    report_text_str(&t, "e");
    assert_int_equal(report_text_end(&t), BYTES_E_FULL);
    assert_int_equal(out.n, 2);
    bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_is_fenced_and_fits_a_table),
        cmocka_unit_test(words_have_no_meaning_in_markdown),
        cmocka_unit_test(attributes_are_well_formed),
        cmocka_unit_test(fields_are_quoted_where_they_must_be),
        cmocka_unit_test(paths_become_references),
        cmocka_unit_test(numbers_have_one_decimal),
        cmocka_unit_test(first_failure_sticks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
