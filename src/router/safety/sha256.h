/* router/safety/sha256.h: SHA-256 of one text, and its digits. Thread: any. */
#pragma once

#include "base/span.h"

#include <stddef.h>
#include <stdint.h>

#define SAFETY_HASH_BYTES 32

/* 0, -EIO (the library refused). */
int safety_sha256(Span text, uint8_t ret[SAFETY_HASH_BYTES]);

/* Writes prefix, the first n bytes as lower-case hex, and a NUL. */
static inline void safety_hex(const char *prefix, const uint8_t *bytes, size_t n, char *out)
{
    static const char digits[] = "0123456789abcdef";
    size_t at = strlen(prefix);

    memcpy(out, prefix, at);
    for (size_t i = 0; i < n; i++) {
        out[at++] = digits[bytes[i] >> 4];
        out[at++] = digits[bytes[i] & 15];
    }
    out[at] = '\0';
}
