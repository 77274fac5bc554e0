/* The shortest text for a double: a table of layouts, and random bits that must come back exactly.
 * What ECMAScript writes for the same bits is compared in tests/diff. */
#include "json/writer.h"

#include "support/cmocka.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parsed.h"

static double double_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void layout_is_that_of_javascript(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0"},
        {-0.0, "-0"},
        {1, "1"},
        {-1, "-1"},
        {10, "10"},
        {123456789, "123456789"},
        {0.1, "0.1"},
        {0.3, "0.3"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {2.0 / 3, "0.6666666666666666"},
        {100.5, "100.5"},
        {0.001, "0.001"},
        {0.000001, "0.000001"},
        {0.0000015, "0.0000015"},
        {0.0000001, "1e-7"},
        {0.00000012, "1.2e-7"},
        {1e15, "1000000000000000"},
        {1e16, "10000000000000000"},
        {1e20, "100000000000000000000"},
        {123456789012345680000.0, "123456789012345680000"},
        {999999999999999900000.0, "999999999999999900000"},
        {1e21, "1e+21"},
        {1.5e21, "1.5e+21"},
        {1e22, "1e+22"},
        {1e23, "1e+23"},
        {1e100, "1e+100"},
        {9007199254740991, "9007199254740991"},
        {9007199254740992, "9007199254740992"},
        {9007199254740994, "9007199254740994"},
        {4503599627370495.5, "4503599627370495.5"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {-DBL_MAX, "-1.7976931348623157e+308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {0x1p-1074, "5e-324"},
        {-0x1p-1074, "-5e-324"},
        {0x0.fffffffffffffp-1022, "2.225073858507201e-308"},
        {DBL_EPSILON, "2.220446049250313e-16"},
        {1 + DBL_EPSILON, "1.0000000000000002"},
        {5e-7, "5e-7"},
        {4.35, "4.35"},
        {0.5, "0.5"},
        {1234.5678, "1234.5678"},
        {-1.7e-9, "-1.7e-9"},
        /* Powers of two, where the nearest decimal of 16 digits belongs to the neighbour below. */
        {0x1p-44, "5.684341886080802e-14"},
        {0x1p89, "6.189700196426902e+26"},
        {0x1p-24, "5.960464477539063e-8"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        char text[JSON_DOUBLE_SIZE];
        size_t n = json_format_double(cases[i].value, text);

        assert_string_equal(text, cases[i].text);
        assert_int_equal(n, strlen(text));
    }
}

/* Significant digits of a number as it is written here. */
static int count_digits(const char *text)
{
    char digits[64];
    size_t n = 0;
    size_t first = 0;

    for (; *text != '\0' && *text != 'e'; text++) {
        if (*text >= '0' && *text <= '9') {
            digits[n++] = *text;
        }
    }
    while (n > 1 && digits[n - 1] == '0') {
        n--;
    }
    while (first + 1 < n && digits[first] == '0') {
        first++;
    }
    return (int)(n - first);
}

/* Whether some decimal of n significant digits reads back: the nearest, or either of its
 * neighbours. */
static bool any_reads_back(double value, int n)
{
    char text[64];
    char *exponent;

    (void)snprintf(text, sizeof(text), "%.*e", n - 1, value);
    if (strtod(text, NULL) == value) {
        return true;
    }
    exponent = strchr(text, 'e');
    for (int up = -1; up <= 1; up += 2) {
        char *p = exponent - 1;
        char neighbour[64];

        memcpy(neighbour, text, sizeof(neighbour));
        for (p = neighbour + (p - text); p >= neighbour; p--) {
            if (*p == '.' || *p == '-') {
                continue;
            }
            if ((up > 0 && *p < '9') || (up < 0 && *p > '0')) {
                *p = (char)(*p + up);
                break;
            }
            *p = up > 0 ? '0' : '9';
        }
        if (p >= neighbour && strtod(neighbour, NULL) == value) {
            return true;
        }
    }
    return false;
}

static void require_shortest(double value)
{
    char text[JSON_DOUBLE_SIZE];
    size_t n = json_format_double(value, text);
    int n_digits = count_digits(text);
    double back = 0;
    Parsed p;

    assert_int_equal(n, strlen(text));
    parsed_str(&p, text);
    assert_int_equal(json_double(p.root, &back), 0);
    parsed_free(&p);
    if (memcmp(&back, &value, sizeof(back)) != 0 || strtod(text, NULL) != value) {
        fail_msg("%a became %s", value, text);
    }
    assert_true(n_digits <= 17);
    if (n_digits > 1 && any_reads_back(value, n_digits - 1)) {
        fail_msg("%a became %s, though %d digits read back", value, text, n_digits - 1);
    }
}

static void random_bits_come_back_from_the_shortest_text(void **state)
{
    uint64_t random = 17;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        double value = double_of(next_random(&random));

        if (isfinite(value)) {
            require_shortest(value);
        }
    }
}

static void numbers_that_people_write_come_back(void **state)
{
    uint64_t random = 19;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        uint64_t whole = next_random(&random) >> (next_random(&random) % 60 + 4);
        int exponent = (int)(next_random(&random) % 40) - 25;
        char text[64];

        (void)snprintf(text, sizeof(text), "%llue%d", (unsigned long long)whole, exponent);
        require_shortest(strtod(text, NULL));
        require_shortest((double)whole);
        require_shortest((double)whole / 64);
    }
}

/* Averages, logarithms, quotients: of the shortest the nearest, digit by digit. */
static void fractions_have_the_digits_nearest_to_them(void **state)
{
    uint64_t random = 23;

    (void)state;
    for (int i = 0; i < 50000; i++) {
        uint64_t exponent = 1015 + next_random(&random) % 62; /* 2^-8 to 2^53 */
        double value = double_of((next_random(&random) >> 12) | exponent << 52);
        char text[JSON_DOUBLE_SIZE];
        char nearest[64];
        const char *point;

        require_shortest(value);
        (void)json_format_double(value, text);
        point = strchr(text, '.');
        (void)snprintf(nearest, sizeof(nearest), "%.*f", point != NULL ? (int)strlen(point + 1) : 0,
                       value);
        assert_string_equal(text, nearest);
    }
}

static void every_power_of_two_and_its_neighbours_come_back(void **state)
{
    (void)state;
    for (int e = -1074; e <= 1023; e++) {
        double value = ldexp(1, e);

        require_shortest(value);
        require_shortest(-value);
        require_shortest(nextafter(value, INFINITY));
        if (e > -1074) {
            require_shortest(nextafter(value, 0));
        }
    }
}

static void every_power_of_ten_is_one_digit(void **state)
{
    (void)state;
    for (int e = -323; e <= 308; e++) {
        char text[32];
        char out[JSON_DOUBLE_SIZE];
        double value;

        (void)snprintf(text, sizeof(text), "1e%d", e);
        value = strtod(text, NULL);
        (void)json_format_double(value, out);
        assert_int_equal(count_digits(out), 1);
        require_shortest(value);
        require_shortest(nextafter(value, INFINITY));
        require_shortest(nextafter(value, 0));
    }
}

static void the_locale_plays_no_part(void **state)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE",      "fr_FR.UTF-8",
                                        "fr_FR.utf8",  "fr_FR",      "ru_RU.UTF-8"};
    char text[JSON_DOUBLE_SIZE];
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
    (void)json_format_double(1.5, text);
    assert_string_equal(text, "1.5");
    (void)json_format_double(0x1p-44, text);
    assert_string_equal(text, "5.684341886080802e-14");
    (void)setlocale(LC_NUMERIC, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_is_that_of_javascript),
        cmocka_unit_test(random_bits_come_back_from_the_shortest_text),
        cmocka_unit_test(numbers_that_people_write_come_back),
        cmocka_unit_test(fractions_have_the_digits_nearest_to_them),
        cmocka_unit_test(every_power_of_two_and_its_neighbours_come_back),
        cmocka_unit_test(every_power_of_ten_is_one_digit),
        cmocka_unit_test(the_locale_plays_no_part),
    };

    return cmocka_run_group_tests_name("json.format_double", tests, NULL, NULL);
}
