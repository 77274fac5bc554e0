#include "json/decimal_round.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

double decimal_round(const char *digits, size_t n, int exponent)
{
    char text[DECIMAL_ROUND_DIGITS + 8];
    int left = exponent < 0 ? -exponent : exponent;
    char *p = text + n;

    assert(n <= DECIMAL_ROUND_DIGITS);
    /* Digits only, so that the decimal point of the process's locale plays no part: strtod reads
     * "123e-5" alike everywhere. */
    memcpy(text, digits, n);
    *p++ = 'e';
    if (exponent < 0) {
        *p++ = '-';
    }
    for (int power = 1000; power > 0; power /= 10) {
        *p++ = (char)('0' + left / power);
        left %= power;
    }
    *p = '\0';
    return strtod(text, NULL);
}
