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

/* Text without halves of surrogate pairs. */
static int fold_text(Span text, Bytes *out)
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
    if (fold_is_ascii(text) || text.n > LIMIT_SAFETY_FOLD_BYTES) {
        return fold_ascii(text, out);
    }
    return safety_fold_unicode(text, out);
}

/* Where the first half of a surrogate pair stands, else the end. */
static size_t fold_find_half(Span text)
{
    size_t at = 0;

    while (at < text.n && utf8_surrogate(text.p + at, text.p + text.n) == 0) {
        at++;
    }
    return at;
}

/* Halves stay as they are: two paths that differ in one are two paths. Nothing composes with them,
 * so that the text between them is folded by itself. */
int safety_fold(Span text, Bytes *out)
{
    int r = 0;

    text = fold_trim(text);
    while (r == 0 && text.n > 0) {
        size_t n = fold_find_half(text);
        size_t n_half = n < text.n ? 3 : 0;

        r = n > 0 ? fold_text(span_make(text.p, n), out) : 0;
        r = r != 0 ? r : bytes_append(out, text.p + n, n_half);
        text = span_make(text.p + n + n_half, text.n - n - n_half);
    }
    return r;
}
