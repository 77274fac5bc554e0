#include "json/decimal_round.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Room for either side of the fraction: 832 digits are 2764 bits, 10^1300 is 4319 bits, and they
 * are shifted against each other until both have the same length. */
#define ROUND_LIMBS 160

/* Bits of the quotient: those of a double, one to round by, and some more. */
#define ROUND_BITS 64

#define DOUBLE_BITS         53
#define DOUBLE_MIN_EXPONENT (-1074) /* of the lowest bit of the smallest double */
#define DOUBLE_MAX_EXPONENT 971     /* of the lowest bit of the largest */

/* A natural number; limbs from n on are 0. */
typedef struct Natural {
    uint32_t limbs[ROUND_LIMBS]; /* the lowest first */
    size_t n;
} Natural;

/* a × factor + addend. */
static void natural_multiply(Natural *a, uint32_t factor, uint32_t addend)
{
    uint64_t carry = addend;

    for (size_t i = 0; i < a->n; i++) {
        carry += (uint64_t)a->limbs[i] * factor;
        a->limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry > 0) {
        assert(a->n < ROUND_LIMBS);
        a->limbs[a->n++] = (uint32_t)carry;
    }
}

static void natural_multiply_power_of_ten(Natural *a, int exponent)
{
    for (; exponent >= 9; exponent -= 9) {
        natural_multiply(a, 1000000000, 0);
    }
    for (; exponent > 0; exponent--) {
        natural_multiply(a, 10, 0);
    }
}

static int natural_n_bits(const Natural *a)
{
    return a->n == 0 ? 0 : (int)(32 * a->n) - __builtin_clz(a->limbs[a->n - 1]);
}

static void natural_shift(Natural *a, int n_bits)
{
    size_t n_limbs = (size_t)n_bits / 32;

    natural_multiply(a, (uint32_t)1 << (n_bits % 32), 0);
    assert(a->n + n_limbs <= ROUND_LIMBS);
    memmove(a->limbs + n_limbs, a->limbs, a->n * sizeof(a->limbs[0]));
    memset(a->limbs, 0, n_limbs * sizeof(a->limbs[0]));
    a->n += n_limbs;
}

static bool natural_is_less(const Natural *a, const Natural *b)
{
    if (a->n != b->n) {
        return a->n < b->n;
    }
    for (size_t i = a->n; i-- > 0;) {
        if (a->limbs[i] != b->limbs[i]) {
            return a->limbs[i] < b->limbs[i];
        }
    }
    return false;
}

/* a - b, which is not negative. */
static void natural_subtract(Natural *a, const Natural *b)
{
    int64_t borrow = 0;

    for (size_t i = 0; i < a->n; i++) {
        borrow += (int64_t)a->limbs[i] - b->limbs[i];
        a->limbs[i] = (uint32_t)borrow;
        borrow >>= 32;
    }
    while (a->n > 0 && a->limbs[a->n - 1] == 0) {
        a->n--;
    }
}

/* bits × 2^exponent, and a little more if is_more: rounded. The highest bit is set. */
static double round_bits(uint64_t bits, int exponent, bool is_more)
{
    int n_drop = ROUND_BITS - DOUBLE_BITS;
    uint64_t kept;
    uint64_t rest;
    uint64_t half;
    double value;

    /* Where a double has fewer bits. */
    if (exponent + n_drop < DOUBLE_MIN_EXPONENT) {
        n_drop = DOUBLE_MIN_EXPONENT - exponent;
    }
    if (n_drop > ROUND_BITS) {
        return 0;
    }
    half = (uint64_t)1 << (n_drop - 1);
    kept = n_drop == ROUND_BITS ? 0 : bits >> n_drop;
    rest = n_drop == ROUND_BITS ? bits : bits & (2 * half - 1);
    kept += rest > half || (rest == half && (is_more || (kept & 1) != 0));
    exponent += n_drop;
    if (kept >> DOUBLE_BITS != 0) {
        kept >>= 1;
        exponent++;
    }
    if (exponent > DOUBLE_MAX_EXPONENT) {
        return __builtin_inf();
    }
    /* Its bits: a fraction without its first bit, which is 1 but in the smallest numbers. */
    bits = kept;
    if (kept >> (DOUBLE_BITS - 1) != 0) {
        bits = (kept & (((uint64_t)1 << (DOUBLE_BITS - 1)) - 1)) |
               (uint64_t)(exponent - DOUBLE_MIN_EXPONENT + 1) << (DOUBLE_BITS - 1);
    }
    memcpy(&value, &bits, sizeof(value));
    return value;
}

double decimal_round(const char *digits, size_t n, int exponent)
{
    Natural above = {.n = 0};
    Natural below = {.limbs = {1}, .n = 1};
    uint64_t bits = 0;
    int scale;

    assert(n > 0 && n <= DECIMAL_ROUND_DIGITS && exponent >= -1300 && exponent <= 400);
    for (size_t i = 0; i < n; i++) {
        natural_multiply(&above, 10, (uint32_t)(digits[i] - '0'));
    }
    natural_multiply_power_of_ten(exponent > 0 ? &above : &below,
                                  exponent > 0 ? exponent : -exponent);
    /* The same length, and the quotient at least 1 and less than 2. */
    scale = natural_n_bits(&above) - natural_n_bits(&below);
    natural_shift(scale > 0 ? &below : &above, scale > 0 ? scale : -scale);
    if (natural_is_less(&above, &below)) {
        natural_shift(&above, 1);
        scale--;
    }
    for (int i = 0; i < ROUND_BITS; i++) {
        bits <<= 1;
        if (!natural_is_less(&above, &below)) {
            natural_subtract(&above, &below);
            bits |= 1;
        }
        natural_shift(&above, 1);
    }
    return round_bits(bits, scale - (ROUND_BITS - 1), above.n > 0);
}
