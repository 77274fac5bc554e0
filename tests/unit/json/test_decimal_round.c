#include "support/cmocka.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/decimal_round.h"

/* A number as text: digits, and the power of ten behind them. */
typedef struct Number {
    char digits[DECIMAL_ROUND_DIGITS + 1];
    size_t n;
    int exponent;
} Number;

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static double double_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Exactly as text says it: "1.25e-3". */
static void number_from(Number *number, const char *text)
{
    const char *end = strchr(text, 'e');

    number->n = 0;
    for (const char *p = text; p < end; p++) {
        if (*p != '.') {
            number->digits[number->n++] = *p;
        }
    }
    number->exponent = (int)strtol(end + 1, NULL, 10) - (int)number->n + 1;
}

/* The same as the C library of this system, which rounds correctly. */
static void require_right(const Number *number)
{
    char text[DECIMAL_ROUND_DIGITS + 16];
    double wanted;
    double got;

    (void)snprintf(text, sizeof(text), "%.*se%d", (int)number->n, number->digits, number->exponent);
    wanted = strtod(text, NULL);
    got = decimal_round(number->digits, number->n, number->exponent);
    if (memcmp(&wanted, &got, sizeof(got)) != 0) {
        fail_msg("%.60s…e%d: %a instead of %a", text, number->exponent, got, wanted);
    }
}

static void every_double_comes_back_from_its_digits(void **state)
{
    static const int n_digits[] = {15, 16, 17, 60, 766};
    uint64_t seed = 88172645463325252u;

    (void)state;
    for (int i = 0; i < 5000; i++) {
        double value = double_of(next_random(&seed) & INT64_MAX);
        char text[DECIMAL_ROUND_DIGITS + 16];
        Number number;

        if (isfinite(value) && value > 0) {
            (void)snprintf(text, sizeof(text), "%.*e", n_digits[i % 5], value);
            number_from(&number, text);
            require_right(&number);
        }
    }
}

/* A long double holds the middle between two neighbours. */
static void middles_go_to_even_and_the_least_more_goes_up(void **state)
{
    uint64_t seed = 3935559000370003845u;

    (void)state;
    for (int i = 0; i < 3000; i++) {
        /* Every other one of the smallest numbers, which have fewer bits. */
        uint64_t mask = i % 2 == 0 ? 0x7fdfffffffffffffu : 0x001fffffffffffffu;
        double value = double_of(next_random(&seed) & mask);
        long double middle = ((long double)value + nextafter(value, INFINITY)) / 2;
        char text[DECIMAL_ROUND_DIGITS + 16];
        Number number;

        (void)snprintf(text, sizeof(text), "%.780Le", middle);
        number_from(&number, text);
        require_right(&number);
        number.digits[number.n - 1] = '1';
        require_right(&number);
    }
}

static void both_ends_of_the_range_are_right(void **state)
{
    static const struct {
        const char *digits;
        int exponent;
        double value;
    } cases[] = {
        {"17976931348623157", 292, 0x1.fffffffffffffp+1023},
        {"17976931348623159", 292, INFINITY},
        {"1", 400, INFINITY},
        {"5", -324, 0x0.0000000000001p-1022},
        {"2", -324, 0},
        {"1", -1300, 0},
        {"22250738585072014", -324, 0x1p-1022},
        {"22250738585072011", -324, 0x0.fffffffffffffp-1022},
        {"9007199254740993", 0, 9007199254740992},
        {"9007199254740995", 0, 9007199254740996},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        double got = decimal_round(cases[i].digits, strlen(cases[i].digits), cases[i].exponent);

        if (got != cases[i].value) {
            fail_msg("%se%d: %a", cases[i].digits, cases[i].exponent, got);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_double_comes_back_from_its_digits),
        cmocka_unit_test(middles_go_to_even_and_the_least_more_goes_up),
        cmocka_unit_test(both_ends_of_the_range_are_right),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
