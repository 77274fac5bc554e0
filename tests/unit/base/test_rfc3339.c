#include "support/cmocka.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/rfc3339.h"
#include "support/guard.h"

#define UNTOUCHED 987654321

/* Reads from a guarded copy: nothing may be read behind the text. */
static int parse(const char *text, int64_t *ret)
{
    size_t n = strlen(text);
    GuardBuffer g = guard_copy(text, n);
    int r = rfc3339_parse(span_make(g.p, n), ret);

    guard_free(&g);
    return r;
}

static void assert_reads(const char *text, int64_t expected)
{
    int64_t got = UNTOUCHED;

    if (parse(text, &got) != 0 || got != expected) {
        fail_msg("%s: %lld, expected %lld", text, (long long)got, (long long)expected);
    }
}

static void assert_refused(const char *text, int outcome)
{
    int64_t got = UNTOUCHED;
    int r = parse(text, &got);

    if (r != outcome || got != UNTOUCHED) {
        fail_msg("%s: outcome %d, expected %d", text, r, outcome);
    }
}

static void format_writes_the_documented_form(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {1736937000000, "2025-01-15T10:30:00.000Z"},
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1969-12-31T23:59:59.999Z"},
        {951782400000, "2000-02-29T00:00:00.000Z"},
        {1709251199007, "2024-02-29T23:59:59.007Z"},
        {-86400000, "1969-12-31T00:00:00.000Z"},
        {RFC3339_MIN_MS, "0000-01-01T00:00:00.000Z"},
        {RFC3339_MAX_MS, "9999-12-31T23:59:59.999Z"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[RFC3339_SIZE];

        rfc3339_format(cases[i].ms, out);
        assert_string_equal(out, cases[i].text);
        assert_reads(cases[i].text, cases[i].ms);
    }
}

static void times_beyond_four_digits_become_the_nearer_end(void **state)
{
    char out[RFC3339_SIZE];

    (void)state;
    rfc3339_format(RFC3339_MIN_MS - 1, out);
    assert_string_equal(out, "0000-01-01T00:00:00.000Z");
    rfc3339_format(INT64_MIN, out);
    assert_string_equal(out, "0000-01-01T00:00:00.000Z");
    rfc3339_format(RFC3339_MAX_MS + 1, out);
    assert_string_equal(out, "9999-12-31T23:59:59.999Z");
    rfc3339_format(INT64_MAX, out);
    assert_string_equal(out, "9999-12-31T23:59:59.999Z");
}

/* Counts the calendar up day by day, by its rules and not by a formula. */
static void every_day_of_ten_thousand_years_goes_there_and_back(void **state)
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t ms = RFC3339_MIN_MS;

    (void)state;
    for (int year = 0; year <= 9999; year++) {
        bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

        for (int month = 1; month <= 12; month++) {
            int n_days = lengths[month - 1] + (month == 2 && is_leap ? 1 : 0);

            for (int day = 1; day <= n_days; day++) {
                char expected[64];
                char out[RFC3339_SIZE];
                int64_t got = UNTOUCHED;

                (void)snprintf(expected, sizeof(expected), "%04d-%02d-%02dT00:00:00.000Z", year,
                               month, day);
                rfc3339_format(ms, out);
                if (memcmp(out, expected, sizeof(out)) != 0 ||
                    rfc3339_parse(span_make(out, 24), &got) != 0 || got != ms) {
                    fail_msg("%s is written %s", expected, out);
                }
                ms += 86400000;
            }
        }
    }
    assert_true(ms == RFC3339_MAX_MS + 1);
}

static void every_second_of_a_day_goes_there_and_back(void **state)
{
    (void)state;
    for (int64_t s = -86400; s < 86400; s++) {
        char out[RFC3339_SIZE];
        int64_t got = UNTOUCHED;
        int64_t ms = s * 1000 + (s & 0x1FF);

        rfc3339_format(ms, out);
        if (rfc3339_parse(span_make(out, 24), &got) != 0 || got != ms) {
            fail_msg("%s", out);
        }
    }
}

static void any_valid_form_is_read(void **state)
{
    (void)state;
    assert_reads("2025-01-15T10:30:00Z", 1736937000000);
    assert_reads("2025-01-15t10:30:00z", 1736937000000);
    assert_reads("2025-01-15 10:30:00Z", 1736937000000);
    assert_reads("2025-01-15T10:30:00+00:00", 1736937000000);
    assert_reads("2025-01-15T10:30:00-00:00", 1736937000000);
    assert_reads("2025-01-15T12:00:00+01:30", 1736937000000);
    assert_reads("2025-01-15T02:30:00-08:00", 1736937000000);
    assert_reads("2025-01-16T10:29:00+23:59", 1736937000000);
    assert_reads("2025-01-14T10:31:00-23:59", 1736937000000);
    assert_reads("1985-04-12T23:20:50.52Z", 482196050520);
    assert_reads("1996-12-19T16:39:57-08:00", 851042397000);
    assert_reads("1937-01-01T12:00:27.87+00:20", -1041337172130);
}

static void fraction_of_any_length_is_cut_to_milliseconds(void **state)
{
    (void)state;
    assert_reads("1970-01-01T00:00:00.1Z", 100);
    assert_reads("1970-01-01T00:00:00.12Z", 120);
    assert_reads("1970-01-01T00:00:00.123Z", 123);
    assert_reads("1970-01-01T00:00:00.1239Z", 123);
    assert_reads("1970-01-01T00:00:00.999999999999999999999999999999Z", 999);
    assert_reads("1970-01-01T00:00:00.0009Z", 0);
    assert_reads("1969-12-31T23:59:59.9999Z", -1);
    assert_reads("1969-12-31T23:59:59.000+00:00", -1000);
}

static void offset_may_leave_the_range_of_years(void **state)
{
    (void)state;
    assert_reads("0000-01-01T00:00:00+00:01", RFC3339_MIN_MS - 60000);
    assert_reads("9999-12-31T23:59:59.999-00:01", RFC3339_MAX_MS + 60000);
}

static void leap_second_is_read_only_at_the_end_of_a_month_in_utc(void **state)
{
    (void)state;
    assert_reads("1998-12-31T23:59:60Z", 915148800000);
    assert_reads("1998-12-31T15:59:60.123-08:00", 915148800123);
    assert_reads("1990-12-31T23:59:60Z", 662688000000);
    assert_reads("1999-01-01T05:29:60+05:30", 915148800000);
    assert_reads("2012-06-30T23:59:60Z", 1341100800000);
    assert_reads("1969-12-31T23:59:60Z", 0);
    assert_reads("2024-02-29T23:59:60Z", 1709251200000);
    assert_refused("2024-02-28T23:59:60Z", RFC3339_E_RANGE);
    assert_refused("1998-12-30T23:59:60Z", RFC3339_E_RANGE);
    assert_refused("1998-12-31T23:58:60Z", RFC3339_E_RANGE);
    assert_refused("1998-12-31T22:59:60Z", RFC3339_E_RANGE);
    assert_refused("1998-12-31T23:59:60+01:00", RFC3339_E_RANGE);
    assert_refused("1998-12-31T23:59:61Z", RFC3339_E_RANGE);
}

static void fields_out_of_range_are_refused(void **state)
{
    (void)state;
    assert_refused("2025-00-15T10:30:00Z", RFC3339_E_RANGE);
    assert_refused("2025-13-15T10:30:00Z", RFC3339_E_RANGE);
    assert_refused("2025-01-00T10:30:00Z", RFC3339_E_RANGE);
    assert_refused("2025-01-32T10:30:00Z", RFC3339_E_RANGE);
    assert_refused("2025-04-31T10:30:00Z", RFC3339_E_RANGE);
    assert_refused("2025-02-29T10:30:00Z", RFC3339_E_RANGE);
    assert_refused("1900-02-29T10:30:00Z", RFC3339_E_RANGE);
    assert_reads("2000-02-29T00:00:00Z", 951782400000);
    assert_refused("2000-02-30T10:30:00Z", RFC3339_E_RANGE);
    assert_refused("2025-01-15T24:00:00Z", RFC3339_E_RANGE);
    assert_refused("2016-12-31T24:59:60+01:00", RFC3339_E_RANGE);
    assert_refused("2025-01-15T10:60:00Z", RFC3339_E_RANGE);
    assert_refused("2025-01-15T10:30:00+24:00", RFC3339_E_RANGE);
    assert_refused("2025-01-15T10:30:00-01:60", RFC3339_E_RANGE);
}

static void what_is_not_the_form_is_refused(void **state)
{
    static const char *const wrong[] = {
        "",
        "2025-01-15",
        "10:30:00Z",
        "2025-01-15T10:30Z",
        "2025-01-15T10:30:00",
        "2025-01-15T10:30:00.Z",
        "2025-01-15T10:30:00,5Z",
        "2025-01-15T10:30:00+0100",
        "2025-01-15T10:30:00+01",
        "2025-01-15T10:30:00+1:00",
        "2025-01-15T10:30:00Z ",
        " 2025-01-15T10:30:00Z",
        "2025-01-15T10:30:00ZZ",
        "2025-01-15T10:30:00+01:00Z",
        "2025-1-15T10:30:00Z",
        "02025-01-15T10:30:00Z",
        "+2025-01-15T10:30:00Z",
        "-001-01-15T10:30:00Z",
        "2025/01/15T10:30:00Z",
        "2025-01-15_10:30:00Z",
        "2025-01-15  10:30:00Z",
        "20250115T103000Z",
        "2025-01-15T10:30:00\xC2\xB2Z",
        "2025-01-1\xE0\xA7\xAA:00:00:00Z",
        "2025-W03-3T10:30:00Z",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_refused(wrong[i], RFC3339_E_SYNTAX);
    }
}

static void every_other_byte_at_every_place_is_noticed(void **state)
{
    static const char good[] = "2025-01-15T10:30:00.000+01:00";

    (void)state;
    for (size_t i = 0; i < sizeof(good) - 1; i++) {
        for (int c = 0; c < 256; c++) {
            char text[sizeof(good)];
            bool is_digit = c >= '0' && c <= '9';
            bool may_be = good[i] == 'T'                     ? c == 'T' || c == 't' || c == ' '
                          : good[i] == '+'                   ? c == '+' || c == '-'
                          : i == 19                          ? c == '.'
                          : good[i] == '-' || good[i] == ':' ? c == good[i]
                                                             : is_digit;
            int64_t got;
            int r;

            memcpy(text, good, sizeof(good));
            text[i] = (char)c;
            r = rfc3339_parse(span_make(text, sizeof(good) - 1), &got);
            if ((r == RFC3339_E_SYNTAX) == may_be) {
                fail_msg("byte %02x at %zu: outcome %d", (unsigned)c, i, r);
            }
        }
    }
}

static void every_beginning_is_refused_without_reading_on(void **state)
{
    static const char good[] = "2025-01-15T10:30:00.000+01:00";

    (void)state;
    for (size_t n = 0; n < sizeof(good) - 1; n++) {
        GuardBuffer g = guard_copy(good, n);
        int64_t got = UNTOUCHED;

        assert_int_equal(rfc3339_parse(span_make(g.p, n), &got), RFC3339_E_SYNTAX);
        guard_free(&g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(format_writes_the_documented_form),
        cmocka_unit_test(times_beyond_four_digits_become_the_nearer_end),
        cmocka_unit_test(every_day_of_ten_thousand_years_goes_there_and_back),
        cmocka_unit_test(every_second_of_a_day_goes_there_and_back),
        cmocka_unit_test(any_valid_form_is_read),
        cmocka_unit_test(fraction_of_any_length_is_cut_to_milliseconds),
        cmocka_unit_test(offset_may_leave_the_range_of_years),
        cmocka_unit_test(leap_second_is_read_only_at_the_end_of_a_month_in_utc),
        cmocka_unit_test(fields_out_of_range_are_refused),
        cmocka_unit_test(what_is_not_the_form_is_refused),
        cmocka_unit_test(every_other_byte_at_every_place_is_noticed),
        cmocka_unit_test(every_beginning_is_refused_without_reading_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
