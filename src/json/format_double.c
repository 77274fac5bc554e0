/* The shortest decimal for a double, as ECMAScript's Number::toString writes it. */
#include "json/writer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "json/decimal.h"

/* A double's digits without trailing zeros, and the power of ten of the point in front of them. */
typedef struct ShortDigits {
    char digits[20];
    int n;
    int point; /* value = 0.digits × 10^point */
} ShortDigits;

/* The digits of a whole number below 2^53. */
static void short_from_whole(ShortDigits *s, uint64_t whole)
{
    char text[sizeof(s->digits)];
    size_t first = sizeof(text);
    int n;

    do {
        text[--first] = (char)('0' + whole % 10);
        whole /= 10;
    } while (whole > 0);
    n = (int)(sizeof(text) - first);
    s->point = n;
    while (n > 1 && text[first + (size_t)n - 1] == '0') {
        n--;
    }
    memcpy(s->digits, text + first, (size_t)n);
    s->n = n;
}

/* One digit of the fraction after the other, until no other double is as near (Steele and White,
 * "How to print floating-point numbers accurately"). In units of half of the distance to the next
 * double the value is a whole number, and 64 bits hold ten times its fraction if it lies from 2^-7
 * to 2^52. There the digits before the point are exact: every whole number is a double itself, so
 * that none but the value's own is near enough. Powers of two have two distances: not here. */
static bool short_by_fraction(ShortDigits *s, double value)
{
    uint64_t bits;
    uint64_t one;  /* in those units */
    uint64_t rest; /* of the value, what is not written yet */
    uint64_t half = 1;
    uint64_t digit;
    bool is_even;
    bool is_low = false;
    bool is_high = false;
    int shift;

    memcpy(&bits, &value, sizeof(bits));
    shift = 1075 - (int)(bits >> 52);
    bits &= ((uint64_t)1 << 52) - 1;
    if (shift < 1 || shift > 59 || bits == 0) {
        return false;
    }
    is_even = (bits & 1) == 0; /* halfway numbers are read as this one */
    bits |= (uint64_t)1 << 52;
    one = (uint64_t)1 << (shift + 1);
    rest = (bits << 1) & (one - 1);
    if (rest == 0) {
        return false;
    }
    s->n = 0;
    s->point = 0;
    if (bits >> shift != 0) {
        short_from_whole(s, bits >> shift);
        memset(s->digits + s->n, '0', (size_t)(s->point - s->n));
        s->n = s->point;
    }
    while (!is_low && !is_high) {
        rest *= 10;
        half *= 10;
        digit = rest >> (shift + 1);
        rest &= one - 1;
        is_low = is_even ? rest <= half : rest < half;
        is_high = is_even ? rest + half >= one : rest + half > one;
        if (digit == 0 && s->n == 0) {
            s->point--;
            continue;
        }
        s->digits[s->n++] = (char)('0' + digit);
    }
    if (is_high && (!is_low || rest > one / 2 || (rest == one / 2 && digit % 2 == 1))) {
        s->digits[s->n - 1]++;
    }
    return true;
}

/* Numbers that people write have few decimals: the smallest k for which value × 10^k is whole and
 * divides back to value gives the shortest form at once. Both operations are on exact doubles, so
 * each rounds once, and the quotient is the double nearest to that decimal. */
static bool short_by_scaling(ShortDigits *s, double value)
{
    static const double power[] = {1e0, 1e1, 1e2, 1e3,  1e4,  1e5, 1e6,
                                   1e7, 1e8, 1e9, 1e10, 1e11, 1e12};

    for (unsigned k = 0; k < TW_ARRAY_SIZE(power); k++) {
        double whole = rint(value * power[k]);

        if (whole >= 9007199254740992.0) {
            return false;
        }
        /* Below 10^15 no two decimals of this length share a double, so this one is the nearest. */
        if (whole < 1e15 && whole / power[k] == value && whole > 0) {
            short_from_whole(s, (uint64_t)whole);
            s->point -= (int)k;
            return true;
        }
    }
    return false;
}

/* Correctly rounded to n significant digits by the C library; whatever its locale puts for the
 * point is stepped over. */
static void short_round(ShortDigits *s, double value, int n)
{
    char text[48];
    const char *p = text;
    const char *exponent;
    int power = 0;
    bool negative;

    (void)snprintf(text, sizeof(text), "%.*e", n - 1, value);
    exponent = strrchr(text, 'e');
    s->n = 0;
    for (; p < exponent; p++) {
        if (*p >= '0' && *p <= '9') {
            s->digits[s->n++] = *p;
        }
    }
    negative = exponent[1] == '-';
    for (p = exponent + 2; *p != '\0'; p++) {
        power = power * 10 + (*p - '0');
    }
    s->point = (negative ? -power : power) + 1;
    while (s->n > 1 && s->digits[s->n - 1] == '0') {
        s->n--;
    }
}

static bool short_reads_back(const ShortDigits *s, double value)
{
    Decimal d = {.head = {s->digits, (size_t)s->n}, .point = s->point};

    return decimal_to_double(&d) == value;
}

/* The next decimal of n digits above s. */
static void short_step_up(ShortDigits *s, int n)
{
    /* The zeros that short_round dropped count here. */
    memset(s->digits + s->n, '0', (size_t)(n - s->n));
    for (s->n = n; s->n > 0 && s->digits[s->n - 1] == '9'; s->n--) {
    }
    if (s->n == 0) {
        s->digits[s->n++] = '0';
        s->point++;
    }
    s->digits[s->n - 1]++;
}

/* 17 digits always read back; fewer are tried as long as they do. Below a power of two the doubles
 * lie twice as close as above it: there the nearest decimal, if it is lower, may read back as the
 * neighbour, while the next above, though farther away, still is the value's own (2^-44). */
static void short_by_trying(ShortDigits *s, double value)
{
    int exponent;
    bool is_power = frexp(value, &exponent) == 0.5;
    ShortDigits fewer;

    short_round(s, value, 17);
    for (int n = 16; n > 0; n--) {
        short_round(&fewer, value, n);
        if (is_power && !short_reads_back(&fewer, value)) {
            short_step_up(&fewer, n);
        }
        if (!short_reads_back(&fewer, value)) {
            break;
        }
        *s = fewer;
    }
}

/* Lays digits and point out as ECMAScript does: plain from 1e-7 up to 1e21, else with an exponent.
 */
static size_t short_layout(const ShortDigits *s, char *out)
{
    size_t n = 0;
    int exponent = s->point - 1;

    if (s->point > 21 || s->point < -5) {
        out[n++] = s->digits[0];
        if (s->n > 1) {
            out[n++] = '.';
            memcpy(out + n, s->digits + 1, (size_t)s->n - 1);
            n += (size_t)s->n - 1;
        }
        return n + (size_t)snprintf(out + n, 8, "e%+d", exponent);
    }
    if (s->point <= 0) {
        out[n++] = '0';
        out[n++] = '.';
        for (int i = s->point; i < 0; i++) {
            out[n++] = '0';
        }
    }
    for (int i = 0; i < s->n || i < s->point; i++) {
        if (i == s->point && i > 0) {
            out[n++] = '.';
        }
        out[n++] = i < s->n ? s->digits[i] : '0';
    }
    return n;
}

size_t json_format_double(double value, char out[JSON_DOUBLE_SIZE])
{
    ShortDigits s = {.n = 0};
    size_t n = 0;

    if (value == 0) {
        /* JSON can say -0, and reading it back gives -0: nothing is lost. */
        memcpy(out, signbit(value) ? "-0" : "0", signbit(value) ? 3 : 2);
        return signbit(value) ? 2 : 1;
    }
    if (value < 0) {
        out[n++] = '-';
        value = -value;
    }
    if (!short_by_fraction(&s, value) && !short_by_scaling(&s, value)) {
        short_by_trying(&s, value);
    }
    n += short_layout(&s, out + n);
    out[n] = '\0';
    return n;
}
