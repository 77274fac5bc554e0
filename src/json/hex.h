/* json/hex.h: hexadecimal digits. Private to src/json. */
#pragma once

#include "base/compiler.h"

/* The value of a hex digit in either case, -1 for any other byte. */
TW_INLINE int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    if (c >= 'A' && c <= 'F') {
        return c - 'A' + 10;
    }
    return -1;
}
