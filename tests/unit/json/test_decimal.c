/* Doubles from text: the nearest one, ties to even, whatever the length of the text and the locale.
 */
#include "json/decimal.h"

#include "support/cmocka.h"

#include <float.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parsed.h"

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static double double_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* What json_double says must be, to the bit, what is expected; infinity stands for JSON_E_RANGE. */
static void require_double(const char *text, double expected)
{
    double got = 7;
    Parsed p;
    int r;

    parsed_str(&p, text);
    r = json_double(p.root, &got);
    if (isinf(expected)) {
        assert_int_equal(r, JSON_E_RANGE);
        assert_true(got == 7);
    } else if (r != 0 || bits_of(got) != bits_of(expected)) {
        fail_msg("%.80s: %d, %a instead of %a", text, r, got, expected);
    }
    parsed_free(&p);
}

static void doubles_are_the_nearest_and_ties_go_to_even(void **state)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0.0},
        {"-0", -0.0},
        {"-0.0e-7", -0.0},
        {"1", 1.0},
        {"-1.5", -1.5},
        {"0.1", 0.1},
        {"0.3", 0.3},
        {"123456789", 123456789.0},
        {"1e22", 1e22},
        {"1e23", 1e23},
        {"8.5e22", 8.5e22},
        {"9007199254740991", 9007199254740991.0},
        {"9007199254740992", 9007199254740992.0},
        /* Halfway between two doubles: the even one. */
        {"9007199254740993", 9007199254740992.0},
        {"9007199254740995", 9007199254740996.0},
        {"9007199254740993.0", 9007199254740992.0},
        {"900719925474099300e-2", 9007199254740992.0},
        /* A trace above halfway, however far back it stands. */
        {"9007199254740993.00000000000000000000000000000000000000000001", 9007199254740994.0},
        {"9007199254740992.99999999999999999999999999999999999999999999", 9007199254740992.0},
        {"1.00000000000000011102230246251565404236316680908203125", 1.0},
        {"1.00000000000000011102230246251565404236316680908203126", 0x1.0000000000001p0},
        {"1.00000000000000033306690738754696212708950042724609375", 0x1.0000000000002p0},
        /* The largest, and where infinity begins. */
        {"1.7976931348623157e308", DBL_MAX},
        {"1.7976931348623158e308", DBL_MAX},
        {"179769313486231570000e288", DBL_MAX},
        {"1.7976931348623157e+0000308", DBL_MAX},
        {"1.797693134862315807e308", DBL_MAX},
        {"1.797693134862315808e308", INFINITY},
        {"1.7976931348623159e308", INFINITY},
        {"-1.7976931348623159e308", -INFINITY},
        {"1e309", INFINITY},
        {"1e400", INFINITY},
        {"1e401", INFINITY},
        {"-1e99999999999999999999", -INFINITY},
        /* The smallest normal, subnormals, and where zero begins. */
        {"2.2250738585072014e-308", DBL_MIN},
        {"2.2250738585072011e-308", 0x0.fffffffffffffp-1022},
        {"2.225073858507201136057409796709131975934819546351645648023426109724822222021076945516"
         "52952390813508e-308",
         0x0.fffffffffffffp-1022},
        {"4.9406564584124654e-324", 0x1p-1074},
        {"5e-324", 0x1p-1074},
        {"3e-324", 0x1p-1074},
        {"2.4703282292062328e-324", 0x1p-1074},
        {"2.4703282292062327e-324", 0.0},
        {"-2.4703282292062327e-324", -0.0},
        {"2e-324", 0.0},
        {"1e-400", 0.0},
        {"1e-401", 0.0},
        {"-1e-99999999999999999999", -0.0},
        /* Digits and exponents that cancel. */
        {"0.0000000000000000000000000000000000000000000000000001e52", 1.0},
        {"10000000000000000000000000000000000000000000000000000e-52", 1.0},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        require_double(cases[i].text, cases[i].value);
    }
}

/* "123.45e6" by strtod, which reads it the same way in the C locale. */
static void require_as_strtod(const char *text)
{
    require_double(text, strtod(text, NULL));
}

static void random_decimals_agree_with_strtod(void **state)
{
    uint64_t random = 3;
    char text[128];

    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint64_t digits = next_random(&random) >> next_random(&random) % 64;
        int exponent = (int)(next_random(&random) % 700) - 360;

        switch (i % 4) {
        case 0:
            (void)snprintf(text, sizeof(text), "%" PRIu64 "e%d", digits, exponent);
            break;
        case 1:
            (void)snprintf(text, sizeof(text), "-%" PRIu64 ".%" PRIu64, digits % 100000,
                           next_random(&random) >> next_random(&random) % 64);
            break;
        case 2:
            (void)snprintf(text, sizeof(text), "0.%018" PRIu64 "%" PRIu64 "E%+d",
                           digits % 1000000000000000000, next_random(&random), exponent);
            break;
        default:
            (void)snprintf(text, sizeof(text), "%" PRIu64 "%" PRIu64 "e%d", digits | 1,
                           next_random(&random), exponent % 30);
            break;
        }
        require_as_strtod(text);
    }
}

static void random_doubles_are_read_back_from_17_digits(void **state)
{
    uint64_t random = 13;
    char text[64];

    (void)state;
    for (int i = 0; i < 200000; i++) {
        double value = double_of(next_random(&random));

        if (!isfinite(value)) {
            continue;
        }
        (void)snprintf(text, sizeof(text), "%.16e", value);
        require_double(text, value);
    }
}

/* The exact midpoint of two neighbours, all its digits written out (up to 767), and a trace to
 * either side. */
static void exact_midpoints_go_to_even_and_traces_decide(void **state)
{
    static const uint64_t bits[] = {
        0,
        1,
        2,
        0x000FFFFFFFFFFFFE,
        0x000FFFFFFFFFFFFF,
        0x0010000000000000,
        0x0010000000000001,
        0x3FEFFFFFFFFFFFFF,
        0x3FF0000000000000,
        0x3FF0000000000001,
        0x7FEFFFFFFFFFFFFD,
        0x7FEFFFFFFFFFFFFE,
        0x000123456789ABCD,
        0x0000000000000123,
        0x4340000000000000,
        0x432FFFFFFFFFFFFF,
    };
    char text[2048];
    volatile long double wide = 1.0L;

    (void)state;
    wide += 0x1p-60L;
    if (wide == 1.0L) {
        /* valgrind computes with 64 bits only, and so do some machines. */
        print_message("SKIPPED: long double is no wider than double here\n");
        skip();
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(bits); i++) {
        double low = double_of(bits[i]);
        double high = double_of(bits[i] + 1);
        double even = bits[i] % 2 == 0 ? low : high;
        /* long double has room for the midpoint, and printf writes all its digits. */
        long double middle = ((long double)low + (long double)high) / 2;
        int n = snprintf(text, sizeof(text), "%.1100Lf", middle);

        assert_true(n > 0 && (size_t)n < sizeof(text) - 40);
        require_double(text, even);
        /* Trailing zeros were already there; a 1 at the very end is the trace. */
        text[n] = '1';
        text[n + 1] = '\0';
        require_double(text, high);
        if (middle >= 1) {
            continue;
        }
        /* A trace below: the last digit that counts, always a 5, becomes 49…9. */
        for (n--; text[n] == '0'; n--) {
        }
        assert_int_equal(text[n], '5');
        memcpy(text + n, "4999999999", 11);
        require_double(text, low);
    }
}

static void numbers_of_thousands_of_digits_are_rounded_right(void **state)
{
    size_t n = 5000;
    char *text = malloc(n + 32);

    (void)state;
    assert_non_null(text);
    for (size_t n_digits = 795; n_digits < 805; n_digits++) {
        memset(text, '3', n_digits);
        text[1] = '.';
        text[n_digits] = '\0';
        require_as_strtod(text);
    }
    memset(text, '9', n);
    (void)snprintf(text + n, 32, "e-%zu", n - 5);
    require_as_strtod(text);
    memset(text, '0', n);
    text[1] = '.';
    (void)snprintf(text + n, 32, "7e%zu", n - 1);
    require_as_strtod(text);
    memset(text, '0', n);
    text[0] = '1';
    (void)snprintf(text + n, 32, "e-%zu", n - 1);
    require_double(text, 1.0);
    free(text);
}

static void the_locale_plays_no_part(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE",      "fr_FR.UTF-8",
                                        "fr_FR.utf8",  "fr_FR",      "ru_RU.UTF-8"};
    bool found = false;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(names) && !found; i++) {
        found = setlocale(LC_NUMERIC, names[i]) != NULL &&
                strcmp(localeconv()->decimal_point, ",") == 0;
    }
    if (!found) {
        (void)setlocale(LC_NUMERIC, "C");
        print_message("no locale with a decimal comma on this machine\n");
        skip();
    }
    require_double("1234567.890625e-5", 12.34567890625);
    require_double("1.00000000000000011102230246251565404236316680908203126", 0x1.0000000000001p0);
    require_double("2.2250738585072014e-308", DBL_MIN);
    (void)setlocale(LC_NUMERIC, "C");
}

static void a_decimal_holds_its_digits_without_outer_zeros(void **state)
{
    static const struct {
        const char *text;
        const char *digits;
        int64_t point;
        bool negative;
    } cases[] = {
        {"0", "", 0, false},          {"-0.00e9", "", 0, true},
        {"1", "1", 1, false},         {"-100", "1", 3, true},
        {"0.001", "1", -2, false},    {"10.010", "1001", 2, false},
        {"1200e-2", "12", 2, false},  {"0.0120e5", "12", 4, false},
        {"5e-324", "5", -323, false}, {"305.070", "30507", 3, false},
        {"0e7", "", 0, false},        {"20.0", "2", 2, false},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Decimal d = decimal_parse(span_from_str(cases[i].text));
        size_t n = strlen(cases[i].digits);

        assert_int_equal(decimal_n_digits(&d), n);
        for (size_t k = 0; k < n; k++) {
            assert_int_equal(decimal_digit(&d, k), cases[i].digits[k] - '0');
        }
        assert_int_equal(decimal_digit(&d, n), 0);
        assert_int_equal(decimal_digit(&d, n + 1000), 0);
        assert_true(d.point == cases[i].point);
        assert_int_equal(d.negative, cases[i].negative);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_are_the_nearest_and_ties_go_to_even),
        cmocka_unit_test(random_decimals_agree_with_strtod),
        cmocka_unit_test(random_doubles_are_read_back_from_17_digits),
        cmocka_unit_test(exact_midpoints_go_to_even_and_traces_decide),
        cmocka_unit_test(numbers_of_thousands_of_digits_are_rounded_right),
        cmocka_unit_test(the_locale_plays_no_part),
        cmocka_unit_test(a_decimal_holds_its_digits_without_outer_zeros),
    };

    return cmocka_run_group_tests_name("json.decimal", tests, NULL, NULL);
}
