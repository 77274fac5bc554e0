/* Numbers of an index, converted and compared on demand and exactly. */
#include "json/json.h"

#include <math.h>

#include "json/decimal.h"

bool json_number_is_whole(JsonValue v)
{
    Decimal d;

    if (json_kind(v) != JSON_NUMBER) {
        return false;
    }
    if (v.node->tag & JSON_NODE_INTEGER) {
        return true;
    }
    d = decimal_of(v);
    return decimal_n_digits(&d) == 0 || d.point >= (int64_t)decimal_n_digits(&d);
}

/* The magnitude of a whole number; false if it has a fraction or passes 64 bits. */
static bool number_magnitude(const Decimal *d, uint64_t *ret)
{
    uint64_t value = 0;

    if (d->point < (int64_t)decimal_n_digits(d) || d->point > 20) {
        return false;
    }
    for (int64_t i = 0; i < d->point; i++) {
        if (__builtin_mul_overflow(value, 10u, &value) ||
            __builtin_add_overflow(value, decimal_digit(d, (size_t)i), &value)) {
            return false;
        }
    }
    *ret = value;
    return true;
}

int json_uint64(JsonValue v, uint64_t *ret)
{
    Decimal d;
    uint64_t magnitude;

    if (json_kind(v) != JSON_NUMBER) {
        return JSON_E_KIND;
    }
    d = decimal_of(v);
    if (!number_magnitude(&d, &magnitude) || (d.negative && magnitude != 0)) {
        return JSON_E_RANGE;
    }
    *ret = magnitude;
    return 0;
}

int json_int64(JsonValue v, int64_t *ret)
{
    Decimal d;
    uint64_t magnitude;

    if (json_kind(v) != JSON_NUMBER) {
        return JSON_E_KIND;
    }
    d = decimal_of(v);
    if (!number_magnitude(&d, &magnitude) || magnitude > (uint64_t)INT64_MAX + d.negative) {
        return JSON_E_RANGE;
    }
    /* Negated as unsigned: INT64_MIN has no positive twin. */
    *ret = (int64_t)(d.negative ? 0 - magnitude : magnitude);
    return 0;
}

int json_double(JsonValue v, double *ret)
{
    Decimal d;
    double value;

    if (json_kind(v) != JSON_NUMBER) {
        return JSON_E_KIND;
    }
    d = decimal_of(v);
    value = decimal_to_double(&d);
    if (isinf(value)) {
        return JSON_E_RANGE;
    }
    *ret = value;
    return 0;
}

/* Compares magnitudes; both have digits. */
static int number_compare_digits(const Decimal *a, const Decimal *b)
{
    size_t n =
        decimal_n_digits(a) > decimal_n_digits(b) ? decimal_n_digits(a) : decimal_n_digits(b);

    if (a->point != b->point) {
        return a->point < b->point ? -1 : 1;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned x = decimal_digit(a, i);
        unsigned y = decimal_digit(b, i);

        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return 0;
}

int json_number_compare(JsonValue a, JsonValue b)
{
    Decimal x = decimal_of(a);
    Decimal y = decimal_of(b);
    int sign_x = decimal_n_digits(&x) == 0 ? 0 : x.negative ? -1 : 1;
    int sign_y = decimal_n_digits(&y) == 0 ? 0 : y.negative ? -1 : 1;

    if (sign_x != sign_y) {
        return sign_x < sign_y ? -1 : 1;
    }
    return sign_x == 0 ? 0 : sign_x * number_compare_digits(&x, &y);
}

/* A divisor below 10^18 has fewer than 64 factors of 2 and of 5: what they do not cancel, no more
 * will. */
#define NUMBER_USEFUL_SHIFT 64

/* (digits of d as an integer × 10^shift) mod m, for m < 10^18; digit by digit, so that nothing
 * overflows however long the number is. */
static uint64_t number_residue(const Decimal *d, int64_t shift, uint64_t m)
{
    uint64_t rest = 0;
    size_t n = decimal_n_digits(d);

    for (size_t i = 0; i < n; i++) {
        rest = (rest * 10 + decimal_digit(d, i)) % m;
    }
    if (shift > NUMBER_USEFUL_SHIFT) {
        shift = NUMBER_USEFUL_SHIFT;
    }
    for (; shift > 0 && rest != 0; shift--) {
        rest = rest * 10 % m;
    }
    return rest;
}

bool json_number_is_multiple(JsonValue a, JsonValue b)
{
    Decimal x = decimal_of(a);
    Decimal y = decimal_of(b);
    size_t n_x = decimal_n_digits(&x);
    size_t n_y = decimal_n_digits(&y);
    /* x = X·10^ex and y = Y·10^ey with whole X and Y. With e = ex - ey, x is a multiple of y just
     * when X·10^e is one of Y; where e < 0, just when X is one of Y·10^-e. */
    int64_t e = (x.point - (int64_t)n_x) - (y.point - (int64_t)n_y);
    uint64_t divisor = 0;

    if (n_x == 0 || n_y == 0) {
        return n_x == 0;
    }
    if (n_y > 17) {
        return fmod(decimal_to_double(&x), decimal_to_double(&y)) == 0.0;
    }
    for (size_t i = 0; i < n_y; i++) {
        divisor = divisor * 10 + decimal_digit(&y, i);
    }
    for (; e < 0 && divisor < (uint64_t)100000000000000000; e++) {
        divisor *= 10;
    }
    if (e < 0) {
        /* The divisor is 10^17 or more by now: an X of fewer digits is smaller, and not 0. A longer
         * X ends in a digit other than 0, so it is no multiple of 10 either. */
        return false;
    }
    return number_residue(&x, e, divisor) == 0;
}
