#include "json/decimal.h"

#include <string.h>

#include "json/decimal_round.h"

/* Far beyond what 4 GiB of digits can shift back into range. */
#define DECIMAL_MAX_EXPONENT 100000000000000000

static int64_t decimal_exponent(const char *p, const char *end)
{
    int64_t value = 0;
    bool negative = p < end && *p == '-';

    if (p < end && (*p == '-' || *p == '+')) {
        p++;
    }
    for (; p < end; p++) {
        value = value * 10 + (*p - '0');
        if (value > DECIMAL_MAX_EXPONENT) {
            value = DECIMAL_MAX_EXPONENT;
        }
    }
    return negative ? -value : value;
}

static Span decimal_run(const char **p, const char *end)
{
    const char *start = *p;

    while (*p < end && (unsigned char)(**p - '0') <= 9) {
        (*p)++;
    }
    return span_make(start, (size_t)(*p - start));
}

/* Drops zeros in front of the first digit that counts, and moves the point with them. */
static void decimal_trim_front(Decimal *d)
{
    while (d->head.n > 0 && d->head.p[0] == '0') {
        d->head.p++;
        d->head.n--;
        d->point--;
    }
    while (d->head.n == 0 && d->tail.n > 0 && d->tail.p[0] == '0') {
        d->tail.p++;
        d->tail.n--;
        d->point--;
    }
}

static void decimal_trim_back(Decimal *d)
{
    while (d->tail.n > 0 && d->tail.p[d->tail.n - 1] == '0') {
        d->tail.n--;
    }
    while (d->tail.n == 0 && d->head.n > 0 && d->head.p[d->head.n - 1] == '0') {
        d->head.n--;
    }
}

Decimal decimal_parse(Span text)
{
    const char *p = text.p;
    const char *end = text.p + text.n;
    Decimal d = {.negative = *p == '-'};

    p += d.negative;
    d.head = decimal_run(&p, end);
    if (p < end && *p == '.') {
        p++;
        d.tail = decimal_run(&p, end);
    }
    d.point = (int64_t)d.head.n;
    if (p < end) {
        d.point += decimal_exponent(p + 1, end);
    }
    decimal_trim_front(&d);
    decimal_trim_back(&d);
    if (decimal_n_digits(&d) == 0) {
        d.point = 0;
    }
    return d;
}

Decimal decimal_of(JsonValue v)
{
    return decimal_parse(json_span(v));
}

/* A double has at most 767 significant decimal digits where two neighbours' midpoint ends; digits
 * after that only say whether something is left over. */
#define DECIMAL_KEPT_DIGITS 800

/* The general case. */
static double decimal_by_digits(const Decimal *d)
{
    char digits[DECIMAL_KEPT_DIGITS + 1];
    size_t n_digits = decimal_n_digits(d);
    size_t n = 0;
    int64_t exponent;
    double value;

    if (d->point > 400) {
        return d->negative ? -__builtin_inf() : __builtin_inf();
    }
    if (d->point < -400) {
        return d->negative ? -0.0 : 0.0;
    }
    while (n < n_digits && n < DECIMAL_KEPT_DIGITS) {
        digits[n] = (char)('0' + decimal_digit(d, n));
        n++;
    }
    exponent = d->point - (int64_t)n;
    if (n_digits > n) {
        /* The last digit of all is not 0, so what is cut off is more than nothing. */
        digits[n++] = '1';
        exponent--;
    }
    value = decimal_round(digits, n, (int)exponent);
    return d->negative ? -value : value;
}

double decimal_to_double(const Decimal *d)
{
    /* Powers of ten that a double holds exactly. */
    static const double exact[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    size_t n_digits = decimal_n_digits(d);
    int64_t exponent = d->point - (int64_t)n_digits;
    double value;
    uint64_t whole = 0;

    if (n_digits > 19) {
        return decimal_by_digits(d);
    }
    for (size_t i = 0; i < n_digits; i++) {
        whole = whole * 10 + decimal_digit(d, i);
    }
    /* Two exact doubles and one operation: one rounding, so the result is the nearest (Clinger
     * 1990). */
    if (whole > (uint64_t)1 << 53 || exponent < -22 || exponent > 22) {
        return decimal_by_digits(d);
    }
    value = (double)whole;
    value = exponent < 0 ? value / exact[-exponent] : value * exact[exponent];
    return d->negative ? -value : value;
}
