/* json/decimal.h: a number's text taken apart into digits and a power of ten, exactly. Private to
 * src/json. */
#pragma once

#include "json/json.h"

/* value = ± 0.d1 d2 … dn × 10^point, where d1 and dn are not 0; zero has no digits.
 *
 * The digits stay in the text, in up to two runs (before and after the decimal point): nothing is
 * copied and a number of any length is handled. */
typedef struct Decimal {
    Span head; /* digits before the point, leading zeros dropped */
    Span tail; /* digits after it, trailing zeros dropped */
    int64_t point;
    bool negative;
} Decimal;

/* Takes apart the number v. Exponents beyond ±10^17 are held there: no text that is long enough to
 * balance one exists. */
Decimal decimal_of(JsonValue v);

/* Number of digits; 0 exactly for the value zero. */
TW_INLINE size_t decimal_n_digits(const Decimal *d)
{
    return d->head.n + d->tail.n;
}

/* The i-th digit (from 0), as a value 0..9; 0 beyond the last. */
TW_INLINE unsigned decimal_digit(const Decimal *d, size_t i)
{
    if (i < d->head.n) {
        return (unsigned)(d->head.p[i] - '0');
    }
    i -= d->head.n;
    return i < d->tail.n ? (unsigned)(d->tail.p[i] - '0') : 0u;
}

/* As decimal_of, for the bytes of any valid JSON number. */
Decimal decimal_parse(Span text);

/* The nearest double, ties to even; ±infinity beyond the largest. */
double decimal_to_double(const Decimal *d);
