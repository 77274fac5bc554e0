/* json/decimal_round.h: the double nearest to a number of many digits. Private to src/json.
 *
 * By the C library where it rounds correctly (decimal_round_library.c), else by long division
 * (decimal_round_exact.c): Windows' C library, and mingw's, are seen to be off by one bit, and by
 * all of them for some of the smallest numbers. */
#pragma once

#include <stddef.h>

/* Digits that are taken, at the most. */
#define DECIMAL_ROUND_DIGITS 832

/* digits × 10^exponent: n digits '0' to '9', of which the first is not '0'; exponent between -1300
 * and 400. Ties go to even; infinity if it is too large. */
double decimal_round(const char *digits, size_t n, int exponent);
