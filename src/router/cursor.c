#include "router/cursor.h"

#include <string.h>

#include "base/base64.h"

/* base64url of the serial number and of a keyed hash of it, each in eight bytes, the highest first.
 * The hash is no signature: what it guards is that a stale or invented cursor is noticed. */
#define CURSOR_BYTES 16
#define CURSOR_TEXT  22

static void cursor_put(char *p, uint64_t value)
{
    for (size_t i = 0; i < 8; i++) {
        p[i] = (char)(value >> (56 - 8 * i) & 0xff);
    }
}

static uint64_t cursor_get(const char *p)
{
    uint64_t value = 0;

    for (size_t i = 0; i < 8; i++) {
        value = value << 8 | (unsigned char)p[i];
    }
    return value;
}

/* What the hash is taken of; the word keeps it apart from other uses of the seed. */
static uint64_t cursor_check(HashSeed seed, unsigned kind, uint64_t serial)
{
    char text[] = "router cursor ........";

    text[13] = (char)('0' + kind);
    cursor_put(text + 14, serial);
    return hash_span(seed, span_make(text, sizeof(text) - 1));
}

int router_cursor_write(Bytes *out, HashSeed seed, unsigned kind, uint64_t serial)
{
    char raw[CURSOR_BYTES];

    cursor_put(raw, serial);
    cursor_put(raw + 8, cursor_check(seed, kind, serial));
    return base64_encode(out, BASE64_URL, span_make(raw, sizeof(raw)));
}

bool router_cursor_read(Bytes *scratch, HashSeed seed, unsigned kind, Span text,
                        uint64_t *ret_serial)
{
    uint64_t serial;

    bytes_clear(scratch);
    if (text.n != CURSOR_TEXT || base64_decode(scratch, BASE64_URL, text) != 0) {
        return false;
    }
    serial = cursor_get(scratch->data);
    if (cursor_get(scratch->data + 8) != cursor_check(seed, kind, serial)) {
        return false;
    }
    *ret_serial = serial;
    return true;
}
