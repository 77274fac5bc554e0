#include "router/safety/fold.h"

#include <stdint.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/utf8.h"

/* What Char.IsWhiteSpace says, beyond ASCII. */
static bool fold_is_space(uint32_t c)
{
    return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
           c == 0x205F || c == 0x3000;
}

/* The code point at p, of valid text. */
static uint32_t fold_decode(const char *p, unsigned length)
{
    static const unsigned lead_mask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t c = utf8_byte(p) & lead_mask[length];

    for (unsigned i = 1; i < length; i++) {
        c = c << 6 | (utf8_byte(p + i) & 0x3F);
    }
    return c;
}

static Span fold_trim(Span s)
{
    while (s.n > 0) {
        unsigned length = utf8_sequence(s.p, s.p + s.n);

        if (length == 0 || !fold_is_space(fold_decode(s.p, length))) {
            break;
        }
        s = span_make(s.p + length, s.n - length);
    }
    while (s.n > 0) {
        size_t at = s.n - 1;
        unsigned length;

        while (at > 0 && s.n - at < 4 && (utf8_byte(s.p + at) & 0xC0) == 0x80) {
            at--;
        }
        length = utf8_sequence(s.p + at, s.p + s.n);
        if (length != s.n - at || !fold_is_space(fold_decode(s.p + at, length))) {
            break;
        }
        s.n = at;
    }
    return s;
}

static bool fold_is_ascii(Span s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (utf8_byte(s.p + i) >= 0x80) {
            return false;
        }
    }
    return true;
}

static int fold_ascii(Span s, Bytes *out)
{
    int r = bytes_reserve(out, s.n);

    if (r != 0) {
        return r;
    }
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        out->data[out->n + i] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    }
    out->n += s.n;
    return 0;
}

/* Each wrong byte becomes U+FFFD. */
static int fold_mend(Span s, Bytes *out)
{
    const char *end = s.p + s.n;
    int r = 0;

    for (const char *p = s.p; p < end && r == 0;) {
        unsigned length = utf8_sequence(p, end);

        r = length == 0 ? bytes_append(out, "\xEF\xBF\xBD", 3) : bytes_append(out, p, length);
        p += length == 0 ? 1 : length;
    }
    return r;
}

int safety_fold(Span text, Bytes *out)
{
    CLEANUP(bytes_deinit) Bytes mended = BYTES_NULL;
    int r;

    if (!utf8_valid(text.p, text.n, NULL)) {
        bytes_init(&mended, SIZE_MAX);
        r = fold_mend(text, &mended);
        if (r != 0) {
            return err_fold(r);
        }
        text = bytes_span(&mended);
    }
    text = fold_trim(text);
    if (fold_is_ascii(text) || text.n > LIMIT_SAFETY_FOLD_BYTES) {
        return fold_ascii(text, out);
    }
    return safety_fold_unicode(text, out);
}
