#include "support/cmocka.h"

#include <string.h>

#include "base/text.h"

#define UNTOUCHED 4711

static void assert_u64(const char *text, int outcome, uint64_t expected)
{
    uint64_t got = UNTOUCHED;

    assert_int_equal(text_parse_u64(span_from_str(text), &got), outcome);
    assert_true(got == (outcome == 0 ? expected : UNTOUCHED));
}

static void unsigned_numbers_are_read_whole_or_not_at_all(void **state)
{
    (void)state;
    assert_u64("0", 0, 0);
    assert_u64("007", 0, 7);
    assert_u64("18446744073709551615", 0, UINT64_MAX);
    assert_u64("18446744073709551616", TEXT_E_RANGE, 0);
    assert_u64("18446744073709551620", TEXT_E_RANGE, 0);
    /* Overflows at the last but one digit, to 0, which then fits again. */
    assert_u64("184467440737095516160", TEXT_E_RANGE, 0);
    assert_u64("99999999999999999999999", TEXT_E_RANGE, 0);
    assert_u64("9999999999999999999999x", TEXT_E_SYNTAX, 0);
    assert_u64("", TEXT_E_SYNTAX, 0);
    assert_u64("-1", TEXT_E_SYNTAX, 0);
    assert_u64("+1", TEXT_E_SYNTAX, 0);
    assert_u64(" 1", TEXT_E_SYNTAX, 0);
    assert_u64("1 ", TEXT_E_SYNTAX, 0);
    assert_u64("0x10", TEXT_E_SYNTAX, 0);
    assert_u64("1.5", TEXT_E_SYNTAX, 0);
}

static void assert_i64(const char *text, int outcome, int64_t expected)
{
    int64_t got = UNTOUCHED;

    assert_int_equal(text_parse_i64(span_from_str(text), &got), outcome);
    assert_true(got == (outcome == 0 ? expected : UNTOUCHED));
}

static void signed_numbers_reach_both_ends(void **state)
{
    (void)state;
    assert_i64("0", 0, 0);
    assert_i64("-0", 0, 0);
    assert_i64("-1", 0, -1);
    assert_i64("9223372036854775807", 0, INT64_MAX);
    assert_i64("-9223372036854775808", 0, INT64_MIN);
    assert_i64("-9223372036854775807", 0, -INT64_MAX);
    assert_i64("9223372036854775808", TEXT_E_RANGE, 0);
    assert_i64("-9223372036854775809", TEXT_E_RANGE, 0);
    assert_i64("99999999999999999999999", TEXT_E_RANGE, 0);
    assert_i64("-", TEXT_E_SYNTAX, 0);
    assert_i64("--1", TEXT_E_SYNTAX, 0);
    assert_i64("", TEXT_E_SYNTAX, 0);
}

static void assert_duration(const char *text, int outcome, int64_t expected)
{
    int64_t got = UNTOUCHED;

    assert_int_equal(text_parse_duration_ms(span_from_str(text), &got), outcome);
    assert_true(got == (outcome == 0 ? expected : UNTOUCHED));
}

static void durations_have_units(void **state)
{
    (void)state;
    assert_duration("250", 0, 250);
    assert_duration("250ms", 0, 250);
    assert_duration("30s", 0, 30000);
    assert_duration("5m", 0, 300000);
    assert_duration("2h", 0, 7200000);
    assert_duration("1d", 0, 86400000);
    assert_duration("0s", 0, 0);
    assert_duration("9223372036854775807", 0, INT64_MAX);
    assert_duration("9223372036854775808", TEXT_E_RANGE, 0);
    assert_duration("18446744073709551615s", TEXT_E_RANGE, 0);
    assert_duration("99999999999999999999s", TEXT_E_RANGE, 0);
    assert_duration("", TEXT_E_SYNTAX, 0);
    assert_duration("s", TEXT_E_SYNTAX, 0);
    assert_duration("30 s", TEXT_E_SYNTAX, 0);
    assert_duration("30S", TEXT_E_SYNTAX, 0);
    assert_duration("1.5s", TEXT_E_SYNTAX, 0);
    assert_duration("-1s", TEXT_E_SYNTAX, 0);
    assert_duration("30sec", TEXT_E_SYNTAX, 0);
    assert_duration("99999999999999999999sec", TEXT_E_SYNTAX, 0);
    assert_int_equal(text_parse_duration_ms(SPAN_NULL, &(int64_t){0}), TEXT_E_SYNTAX);
}

static void assert_size(const char *text, int outcome, uint64_t expected)
{
    uint64_t got = UNTOUCHED;

    assert_int_equal(text_parse_size(span_from_str(text), &got), outcome);
    assert_true(got == (outcome == 0 ? expected : UNTOUCHED));
}

static void sizes_have_units_of_1024_and_of_1000(void **state)
{
    (void)state;
    assert_size("4096", 0, 4096);
    assert_size("4096B", 0, 4096);
    assert_size("64KiB", 0, 65536);
    assert_size("1MiB", 0, 1048576);
    assert_size("2GiB", 0, 2147483648u);
    assert_size("64kB", 0, 64000);
    assert_size("1MB", 0, 1000000);
    assert_size("2GB", 0, 2000000000u);
    assert_size("1mib", 0, 1048576);
    assert_size("17179869183GiB", 0, 17179869183u * (uint64_t)1073741824);
    assert_size("17179869184GiB", TEXT_E_RANGE, 0);
    assert_size("", TEXT_E_SYNTAX, 0);
    assert_size("MiB", TEXT_E_SYNTAX, 0);
    assert_size("1M", TEXT_E_SYNTAX, 0);
    assert_size("1 MiB", TEXT_E_SYNTAX, 0);
    assert_size("1MiBs", TEXT_E_SYNTAX, 0);
}

static void comparison_without_case_knows_ascii_letters_only(void **state)
{
    (void)state;
    assert_true(text_equals_nocase(SPAN("Content-Type"), SPAN("content-TYPE")));
    assert_true(text_equals_nocase(SPAN_NULL, SPAN("")));
    assert_false(text_equals_nocase(SPAN("abc"), SPAN("abcd")));
    /* Neighbours of the letters, 32 apart. */
    assert_false(text_equals_nocase(SPAN("@"), SPAN("`")));
    assert_false(text_equals_nocase(SPAN("["), SPAN("{")));
    assert_false(text_equals_nocase(SPAN("\xC3\x84"), SPAN("\xC3\xA4")));
}

static void trim_takes_blanks_from_both_ends_only(void **state)
{
    (void)state;
    assert_true(span_equals(text_trim(SPAN(" \t\r\n a b \n")), SPAN("a b")));
    assert_true(span_equals(text_trim(SPAN("ab")), SPAN("ab")));
    assert_int_equal(text_trim(SPAN(" \t ")).n, 0);
    assert_int_equal(text_trim(SPAN_NULL).n, 0);
    assert_int_equal(text_trim(SPAN("\v")).n, 1);
}

static const char *const names[] = {"http", "pipe", "call_socket", "tools", "mcpServers", "limits"};
#define N_NAMES (sizeof(names) / sizeof(names[0]))

static void one_of_is_exact_and_says_which(void **state)
{
    size_t index = UNTOUCHED;

    (void)state;
    assert_true(text_is_one_of(SPAN("tools"), names, N_NAMES, &index));
    assert_int_equal(index, 3);
    assert_true(text_is_one_of(SPAN("http"), names, N_NAMES, NULL));
    index = UNTOUCHED;
    assert_false(text_is_one_of(SPAN("Tools"), names, N_NAMES, &index));
    assert_false(text_is_one_of(SPAN("tool"), names, N_NAMES, &index));
    assert_false(text_is_one_of(SPAN("toolss"), names, N_NAMES, &index));
    assert_int_equal(index, UNTOUCHED);
}

static void assert_distance(const char *a, const char *b, size_t expected)
{
    assert_int_equal(text_edit_distance(span_from_str(a), span_from_str(b)), expected);
    assert_int_equal(text_edit_distance(span_from_str(b), span_from_str(a)), expected);
}

static void edit_distance_counts_slips_of_the_finger(void **state)
{
    (void)state;
    assert_distance("", "", 0);
    assert_distance("", "abc", 3);
    assert_distance("tools", "tools", 0);
    assert_distance("tools", "TOOLS", 0);
    assert_distance("tools", "tool", 1);
    assert_distance("tools", "tols", 1);
    assert_distance("tools", "toold", 1);
    assert_distance("tools", "toosl", 1);
    assert_distance("tools", "otosl", 2);
    assert_distance("kitten", "sitting", 3);
    assert_distance("sunday", "saturday", 3);
    assert_distance("ca", "abc", 3);
    assert_distance("abcdef", "ghijkl", 6);
}

static void overlong_names_have_no_distance(void **state)
{
    char text[TEXT_NAME_MAX + 1];

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_int_equal(text_edit_distance(span_make(text, TEXT_NAME_MAX), SPAN("")), TEXT_NAME_MAX);
    assert_int_equal(
        text_edit_distance(span_make(text, TEXT_NAME_MAX), span_make(text, TEXT_NAME_MAX)), 0);
    assert_true(text_edit_distance(span_make(text, TEXT_NAME_MAX + 1), SPAN("a")) == SIZE_MAX);
    assert_true(text_edit_distance(SPAN("a"), span_make(text, TEXT_NAME_MAX + 1)) == SIZE_MAX);
    assert_null(text_nearest(span_make(text, sizeof(text)), names, N_NAMES));
}

static void nearest_is_suggested_only_when_near(void **state)
{
    static const char *const twins[] = {"rate_min", "rate_max"};

    (void)state;
    assert_string_equal(text_nearest(SPAN("tool"), names, N_NAMES), "tools");
    assert_string_equal(text_nearest(SPAN("htpp"), names, N_NAMES), "http");
    assert_string_equal(text_nearest(SPAN("mcp_servers"), names, N_NAMES), "mcpServers");
    assert_string_equal(text_nearest(SPAN("callsocket"), names, N_NAMES), "call_socket");
    assert_string_equal(text_nearest(SPAN("limit"), names, N_NAMES), "limits");
    assert_null(text_nearest(SPAN("banana"), names, N_NAMES));
    assert_null(text_nearest(SPAN("x"), names, N_NAMES));
    assert_null(text_nearest(SPAN(""), names, N_NAMES));
    assert_null(text_nearest(SPAN("http"), names, 0));
    assert_string_equal(text_nearest(SPAN("rate_mxx"), twins, 2), "rate_max");
    assert_string_equal(text_nearest(SPAN("rate_m"), twins, 2), "rate_min");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unsigned_numbers_are_read_whole_or_not_at_all),
        cmocka_unit_test(signed_numbers_reach_both_ends),
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(sizes_have_units_of_1024_and_of_1000),
        cmocka_unit_test(comparison_without_case_knows_ascii_letters_only),
        cmocka_unit_test(trim_takes_blanks_from_both_ends_only),
        cmocka_unit_test(one_of_is_exact_and_says_which),
        cmocka_unit_test(edit_distance_counts_slips_of_the_finger),
        cmocka_unit_test(overlong_names_have_no_distance),
        cmocka_unit_test(nearest_is_suggested_only_when_near),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
