/* Numbers of the index: exact integers, comparison and multiples in any spelling and of any size.
 */
#include "json/json.h"

#include "support/cmocka.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parsed.h"

typedef struct IntegerCase {
    const char *text;
    int signed_outcome;
    int64_t signed_value;
    int unsigned_outcome;
    uint64_t unsigned_value;
} IntegerCase;

#define BOTH(text, value)                                                                          \
    {                                                                                              \
        text, 0, value, 0, value                                                                   \
    }
#define NEGATIVE(text, value)                                                                      \
    {                                                                                              \
        text, 0, value, JSON_E_RANGE, 0                                                            \
    }
#define ONLY_UNSIGNED(text, value)                                                                 \
    {                                                                                              \
        text, JSON_E_RANGE, 0, 0, value                                                            \
    }
#define NEITHER(text)                                                                              \
    {                                                                                              \
        text, JSON_E_RANGE, 0, JSON_E_RANGE, 0                                                     \
    }

static const IntegerCase integer_cases[] = {
    BOTH("0", 0),
    BOTH("-0", 0),
    BOTH("-0.000e-5", 0),
    BOTH("0e999999999999999999999", 0),
    BOTH("1", 1),
    BOTH("1.0", 1),
    BOTH("1e2", 100),
    BOTH("1E+2", 100),
    BOTH("100e-2", 1),
    BOTH("0.1e1", 1),
    BOTH("0.00001e5", 1),
    BOTH("12.5e1", 125),
    BOTH("1200.00e-2", 12),
    BOTH("9007199254740993", 9007199254740993),
    BOTH("9223372036854775807", INT64_MAX),
    BOTH("9223372036854775807.000", INT64_MAX),
    BOTH("9.223372036854775807e18", INT64_MAX),
    BOTH("922337203685477580700000e-5", INT64_MAX),
    ONLY_UNSIGNED("9223372036854775808", (uint64_t)INT64_MAX + 1),
    ONLY_UNSIGNED("18446744073709551615", UINT64_MAX),
    ONLY_UNSIGNED("1.8446744073709551615e19", UINT64_MAX),
    ONLY_UNSIGNED("10000000000000000000", 10000000000000000000u),
    ONLY_UNSIGNED("1e19", 10000000000000000000u),
    NEITHER("18446744073709551616"),
    NEITHER("18446744073709551620"),
    NEITHER("20000000000000000000"),
    NEITHER("99999999999999999999"),
    NEITHER("1e20"),
    NEITHER("100000000000000000000"),
    NEITHER("123456789012345678901234567890"),
    NEITHER("1e400"),
    NEITHER("1e99999999999999999999999"),
    NEITHER("0.5"),
    NEITHER("1.5"),
    NEITHER("-1.5"),
    NEITHER("1e-1"),
    NEITHER("1e-99999999999999999999999"),
    NEITHER("9223372036854775807.1"),
    NEITHER("0.9999999999999999999999999999999"),
    NEITHER("1.00000000000000000000000000000000000000000000001"),
    NEGATIVE("-1", -1),
    NEGATIVE("-1.0e0", -1),
    NEGATIVE("-9223372036854775807", -INT64_MAX),
    NEGATIVE("-9223372036854775808", INT64_MIN),
    NEGATIVE("-9223372036854775808.0", INT64_MIN),
    NEGATIVE("-9.223372036854775808e18", INT64_MIN),
    NEITHER("-9223372036854775809"),
    NEITHER("-18446744073709551615"),
    NEITHER("-1e400"),
};

static void integers_are_exact_up_to_both_edges(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(integer_cases); i++) {
        const IntegerCase *c = &integer_cases[i];
        int64_t signed_value = 0;
        uint64_t unsigned_value = 0;
        Parsed p;

        parsed_str(&p, c->text);
        if (json_int64(p.root, &signed_value) != c->signed_outcome ||
            signed_value != c->signed_value) {
            fail_msg("%s as int64: %" PRId64, c->text, signed_value);
        }
        if (json_uint64(p.root, &unsigned_value) != c->unsigned_outcome ||
            unsigned_value != c->unsigned_value) {
            fail_msg("%s as uint64: %" PRIu64, c->text, unsigned_value);
        }
        parsed_free(&p);
    }
}

static void values_that_are_no_numbers_are_refused(void **state)
{
    static const char *const texts[] = {"null", "true", "\"1\"", "[1]", "{\"a\":1}"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        int64_t a = 7;
        uint64_t b = 7;
        double c = 7;
        Parsed p;

        parsed_str(&p, texts[i]);
        assert_int_equal(json_int64(p.root, &a), JSON_E_KIND);
        assert_int_equal(json_uint64(p.root, &b), JSON_E_KIND);
        assert_int_equal(json_double(p.root, &c), JSON_E_KIND);
        assert_false(json_number_is_whole(p.root));
        assert_true(a == 7 && b == 7 && c == 7);
        parsed_free(&p);
    }
}

static void whole_numbers_are_known_in_every_spelling(void **state)
{
    static const struct {
        const char *text;
        bool whole;
    } cases[] = {
        {"0", true},
        {"-0", true},
        {"0.0", true},
        {"1.0", true},
        {"1e2", true},
        {"1.5e1", true},
        {"100e-2", true},
        {"1e400", true},
        {"10e-1", true},
        {"0e-5", true},
        {"0.000", true},
        {"-7.000", true},
        {"12345678901234567890123", true},
        {"1.5", false},
        {"1e-1", false},
        {"0.1", false},
        {"15e-1", false},
        {"100e-3", false},
        {"1e-400", false},
        {"-0.5", false},
        {"1.25e1", false},
        {"123456789012345678901234567890.1", false},
        {"1e99999999999999999999", true},
        {"1e-99999999999999999999", false},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Parsed p;

        parsed_str(&p, cases[i].text);
        if (json_number_is_whole(p.root) != cases[i].whole) {
            fail_msg("%s", cases[i].text);
        }
        parsed_free(&p);
    }
}

/* Strictly ascending; each line holds spellings of one value. */
static const char *const ascending[][4] = {
    {"-1e99999999999999999999999"},
    {"-1e400"},
    {"-12345678901234567890.2"},
    {"-12345678901234567890.1", "-123456789012345678901e-1"},
    {"-10", "-1e1", "-10.0"},
    {"-9.99"},
    {"-1", "-0.1e1", "-1.000"},
    {"-0.5"},
    {"-1e-400"},
    {"0", "-0", "0.0", "0e5"},
    {"1e-99999999999999999999999"},
    {"1e-400", "10e-401", "0.1e-399"},
    {"0.09"},
    {"0.1", "1e-1", "0.10", "100e-3"},
    {"0.10000000000000000000000000000000000000000001"},
    {"0.11"},
    {"1", "1.0", "1e0", "0.01e2"},
    {"9"},
    {"10", "1e1", "1.0E+1"},
    {"10.5"},
    {"99"},
    {"100", "1e2", "1.00e2", "1000e-1"},
    {"9007199254740992"},
    {"9007199254740993"},
    {"9007199254740993.5"},
    {"1e308"},
    {"1.0000000000000000000000000000000000000001e308"},
    {"9e308"},
    {"1e309", "10e308", "0.1e310"},
    {"1e999999999999"},
    {"1e99999999999999999"},
};

static void numbers_compare_by_exact_value(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(ascending) * 4; i++) {
        for (size_t j = 0; j < TW_ARRAY_SIZE(ascending) * 4; j++) {
            const char *a = ascending[i / 4][i % 4];
            const char *b = ascending[j / 4][j % 4];
            int expected = i / 4 < j / 4 ? -1 : i / 4 > j / 4;
            Parsed p;
            Parsed q;
            int c;

            if (a == NULL || b == NULL) {
                continue;
            }
            parsed_str(&p, a);
            parsed_str(&q, b);
            c = json_number_compare(p.root, q.root);
            if ((c > 0) - (c < 0) != expected) {
                fail_msg("%s against %s: %d", a, b, c);
            }
            parsed_free(&p);
            parsed_free(&q);
        }
    }
}

/* Held at one size, but never smaller than an exponent that is smaller. */
static void exponents_beyond_any_use_keep_their_order(void **state)
{
    static const char *const texts[] = {
        "1e9999999999999999",      "1e99999999999999999",     "1e99999999999999999999",
        "1e100000000000000000000", "1e999999999999999999999", "1e1000000000000000000000000",
    };

    (void)state;
    for (size_t i = 0; i + 1 < TW_ARRAY_SIZE(texts); i++) {
        Parsed p;
        Parsed q;

        parsed_str(&p, texts[i]);
        parsed_str(&q, texts[i + 1]);
        if (json_number_compare(p.root, q.root) > 0) {
            fail_msg("%s counts as more than %s", texts[i], texts[i + 1]);
        }
        parsed_free(&p);
        parsed_free(&q);
    }
}

static void long_digit_strings_differ_in_their_last_digit(void **state)
{
    size_t n = 20000;
    char *text = malloc(n + 8);
    Parsed p;
    Parsed q;
    char *other;

    (void)state;
    assert_non_null(text);
    memset(text, '7', n);
    text[1] = '.';
    text[n] = '\0';
    other = strdup(text);
    other[n - 1] = '8';
    parsed_str(&p, text);
    parsed_str(&q, other);
    assert_true(json_number_compare(p.root, q.root) < 0);
    assert_true(json_number_compare(q.root, p.root) > 0);
    assert_int_equal(json_number_compare(p.root, p.root), 0);
    assert_false(json_number_is_whole(p.root));
    parsed_free(&p);
    parsed_free(&q);
    free(text);
    free(other);
}

static void multiples_are_exact(void **state)
{
    static const struct {
        const char *a;
        const char *b;
        bool multiple;
    } cases[] = {
        {"10", "2", true},
        {"7", "2", false},
        {"0", "3", true},
        {"-0.0", "0.7", true},
        {"-9", "3", true},
        {"-9", "2", false},
        {"4.5", "1.5", true},
        {"35", "1.5", false},
        {"0.0075", "0.0001", true},
        {"0.00751", "0.0001", false},
        {"1e308", "0.123456789", false},
        {"12391239123", "1e-8", true},
        {"0.3", "0.1", true},
        {"0.35", "0.1", false},
        {"1.1", "0.01", true},
        {"19.99", "0.01", true},
        {"19.999", "0.01", false},
        {"1e400", "1", true},
        {"1e400", "3", false},
        {"3e400", "3", true},
        {"1e400", "1e399", true},
        {"1e399", "1e400", false},
        {"1e-400", "1e-401", true},
        {"1e-401", "1e-400", false},
        {"1", "1e-400", true},
        {"1", "1e400", false},
        {"1e99999999999999999999", "7", false},
        {"1e99999999999999999999", "5", true},
        {"7e99999999999999999999", "7", true},
        {"9007199254740993", "2", false},
        {"9007199254740994", "2", true},
        {"123456789012345678901234567890", "10", true},
        {"123456789012345678901234567891", "10", false},
        {"123456789012345678901234567890", "3", true},
        {"123456789012345678901234567890", "11", false},
        {"99999999999999999999999999999999", "99999999999999999", false},
        {"9999999999999999900000000000000000", "99999999999999999", true},
        {"1", "99999999999999999", false},
        {"1e56", "72057594037927936", true},
        {"1e55", "72057594037927936", false},
        {"72057594037927936e20", "7205759403792793.6", true},
        {"246913578024691356", "123456789012345678", true},
        {"2", "4", false},
        {"100", "1e2", true},
        {"50", "1e2", false},
        {"5", "123456789012345678", false},
        {"5", "0.5000000000000000000000000", true},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Parsed p;
        Parsed q;

        parsed_str(&p, cases[i].a);
        parsed_str(&q, cases[i].b);
        if (json_number_is_multiple(p.root, q.root) != cases[i].multiple) {
            fail_msg("%s of %s", cases[i].a, cases[i].b);
        }
        parsed_free(&p);
        parsed_free(&q);
    }
}

/* Against integer arithmetic: a and b shifted by powers of ten that make them fractions. */
static void multiples_agree_with_integer_arithmetic(void **state)
{
    uint64_t random = 11;

    (void)state;
    for (int i = 0; i < 50000; i++) {
        uint64_t b = next_random(&random) % 1000 + 1;
        uint64_t a =
            i % 2 == 0 ? b * (next_random(&random) % 100000) : next_random(&random) % 100000000;
        int shift = (int)(next_random(&random) % 30) - 15;
        char text_a[64];
        char text_b[64];
        Parsed p;
        Parsed q;

        (void)snprintf(text_a, sizeof(text_a), "%" PRIu64 "e%d", a, shift);
        (void)snprintf(text_b, sizeof(text_b), "%" PRIu64 "e%d", b, shift);
        parsed_str(&p, text_a);
        parsed_str(&q, text_b);
        if (json_number_is_multiple(p.root, q.root) != (a % b == 0)) {
            fail_msg("%s of %s", text_a, text_b);
        }
        parsed_free(&p);
        parsed_free(&q);
    }
}

static void random_integers_are_read_back(void **state)
{
    uint64_t random = 5;

    (void)state;
    for (int i = 0; i < 50000; i++) {
        uint64_t value = next_random(&random) >> (i % 64);
        int64_t signed_value = (int64_t)value;
        char text[64];
        uint64_t got;
        int64_t signed_got;
        Parsed p;

        (void)snprintf(text, sizeof(text), "%" PRIu64, value);
        parsed_str(&p, text);
        assert_int_equal(json_uint64(p.root, &got), 0);
        assert_true(got == value);
        parsed_free(&p);
        (void)snprintf(text, sizeof(text), "%" PRId64, signed_value);
        parsed_str(&p, text);
        assert_int_equal(json_int64(p.root, &signed_got), 0);
        assert_true(signed_got == signed_value);
        parsed_free(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_exact_up_to_both_edges),
        cmocka_unit_test(values_that_are_no_numbers_are_refused),
        cmocka_unit_test(whole_numbers_are_known_in_every_spelling),
        cmocka_unit_test(numbers_compare_by_exact_value),
        cmocka_unit_test(exponents_beyond_any_use_keep_their_order),
        cmocka_unit_test(long_digit_strings_differ_in_their_last_digit),
        cmocka_unit_test(multiples_are_exact),
        cmocka_unit_test(multiples_agree_with_integer_arithmetic),
        cmocka_unit_test(random_integers_are_read_back),
    };

    return cmocka_run_group_tests_name("json.number", tests, NULL, NULL);
}
