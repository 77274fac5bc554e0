/* Strings of an index: decoding, comparing, counting. The reader has validated every escape
 * already. */
#include "json/json.h"

#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "json/escape_table.h"
#include "json/hex.h"
#include "json/string_take.h"

/* The code unit of the valid \uXXXX at p. */
static uint32_t string_unit(const char *p)
{
    return (uint32_t)hex_digit(p[2]) << 12 | (uint32_t)hex_digit(p[3]) << 8 |
           (uint32_t)hex_digit(p[4]) << 4 | (uint32_t)hex_digit(p[5]);
}

/* The scalar value or the lone surrogate that the valid escapes at *p stand for; steps over them.
 * What follows the content of a string is its quote, so that one byte can always be looked at. */
static uint32_t string_take_unit(const char **p)
{
    uint32_t code = string_unit(*p);
    uint32_t low;

    *p += 6;
    if ((code & 0xFC00) != 0xD800 || (*p)[0] != '\\' || (*p)[1] != 'u') {
        return code;
    }
    low = string_unit(*p);
    if ((low & 0xFC00) != 0xDC00) {
        return code;
    }
    *p += 6;
    return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
}

/* Decodes the valid escape at *p into out, steps *p over it, and returns the number of bytes
 * written. A lone surrogate is written as if it were a character, which no UTF-8 holds. */
static unsigned string_decode_escape(const char **p, char out[4])
{
    uint32_t code;

    if ((*p)[1] != 'u') {
        out[0] = json_simple_escape[(unsigned char)(*p)[1]];
        *p += 2;
        return 1;
    }
    code = string_take_unit(p);
    if ((code & 0x1FF800) == 0xD800) {
        out[0] = (char)0xED;
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    return utf8_encode(code, out);
}

/* Puts U+FFFD into the place of a lone surrogate. */
static void string_replace_lone(char *code, unsigned n)
{
    if (n == 3 && (unsigned char)code[0] == 0xED && (unsigned char)code[1] >= 0xA0) {
        memcpy(code, "\xEF\xBF\xBD", 3);
    }
}

static size_t string_decode(JsonValue v, char *out, bool is_exact)
{
    Span s = json_string_content(v);
    const char *p = s.p;
    const char *end = s.p + s.n;
    char *at = out;

    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        size_t n = (size_t)((slash == NULL ? end : slash) - p);
        char code[4];
        unsigned n_code;

        memcpy(at, p, n);
        at += n;
        p += n;
        if (slash == NULL) {
            break;
        }
        /* Through a buffer of four: the decoded form of the last escape may be all that out has
         * room for. */
        n_code = string_decode_escape(&p, code);
        if (!is_exact) {
            string_replace_lone(code, n_code);
        }
        memcpy(at, code, n_code);
        at += n_code;
    }
    return (size_t)(at - out);
}

size_t json_string_decode(JsonValue v, char *out)
{
    return string_decode(v, out, false);
}

size_t json_string_decode_exact(JsonValue v, char *out)
{
    return string_decode(v, out, true);
}

static int string_build(JsonValue v, Arena *arena, bool is_exact, Span *ret)
{
    char *out;

    if (json_kind(v) != JSON_STRING) {
        return JSON_E_KIND;
    }
    if (json_string_plain(v, ret)) {
        return 0;
    }
    out = arena_alloc(arena, v.node->size);
    if (out == NULL) {
        return err_raise(-ENOMEM);
    }
    *ret = span_make(out, string_decode(v, out, is_exact));
    arena_shrink(arena, out, v.node->size, ret->n);
    return 0;
}

int json_string(JsonValue v, Arena *arena, Span *ret)
{
    return string_build(v, arena, false, ret);
}

int json_string_exact(JsonValue v, Arena *arena, Span *ret)
{
    return string_build(v, arena, true, ret);
}

int json_text_of_exact(Span text, Arena *arena, Span *ret)
{
    static const char digits[] = "0123456789abcdef";
    const char *end = text.n > 0 ? text.p + text.n : text.p;
    char *out;
    char *at;

    *ret = text;
    if (utf8_valid(text.p, text.n, NULL)) {
        return 0;
    }
    out = text.n > SIZE_MAX / 2 ? NULL : arena_alloc(arena, 2 * text.n);
    if (out == NULL) {
        return err_raise(-ENOMEM);
    }
    at = out;
    for (const char *p = text.p; p < end;) {
        unsigned unit = utf8_surrogate(p, end);

        if (unit == 0) {
            *at++ = *p++;
            continue;
        }
        memcpy(at, "\\ud", 3);
        at[3] = digits[unit >> 8 & 0xF];
        at[4] = digits[unit >> 4 & 0xF];
        at[5] = digits[unit & 0xF];
        at += 6;
        p += 3;
    }
    *ret = span_make(out, (size_t)(at - out));
    arena_shrink(arena, out, 2 * text.n, ret->n);
    return 0;
}

/* Takes one code point, escaped or not, from *p into out; returns its length in bytes. */
static unsigned string_take(const char **p, char out[4])
{
    unsigned n = 1;

    if (**p == '\\') {
        return string_decode_escape(p, out);
    }
    if ((unsigned char)**p >= 0xC0) {
        n = 2u + ((unsigned char)**p >= 0xE0) + ((unsigned char)**p >= 0xF0);
    }
    memcpy(out, *p, n);
    *p += n;
    return n;
}

unsigned json_string_take_utf8(Span *rest, char out[4])
{
    unsigned n = json_string_take(rest, out);

    string_replace_lone(out, n);
    return n;
}

unsigned json_string_take(Span *rest, char out[4])
{
    const char *p = rest->p;
    unsigned n = string_take(&p, out);

    *rest = span_make(p, rest->n - (size_t)(p - rest->p));
    return n;
}

/* Compares an escaped string with s without building it. */
static bool string_equals_escaped(Span content, Span s)
{
    const char *p = content.p;
    const char *end = content.p + content.n;
    size_t at = 0;

    while (p < end) {
        char code[4];
        unsigned n = string_take(&p, code);

        if (s.n - at < n || memcmp(s.p + at, code, n) != 0) {
            return false;
        }
        at += n;
    }
    return at == s.n;
}

bool json_string_equals(JsonValue v, Span s)
{
    Span plain;

    if (json_string_plain(v, &plain)) {
        return span_equals(plain, s);
    }
    if (json_kind(v) != JSON_STRING || s.n > v.node->size - 2) {
        return false;
    }
    return string_equals_escaped(json_string_content(v), s);
}

size_t json_string_length(JsonValue v)
{
    Span s;
    size_t n = 0;

    if (json_string_plain(v, &s)) {
        return utf8_count(s.p, s.n);
    }
    if (json_kind(v) != JSON_STRING) {
        return 0;
    }
    s = json_string_content(v);
    for (const char *p = s.p; p < s.p + s.n; n++) {
        char code[4];

        (void)string_take(&p, code);
    }
    return n;
}

bool json_string_same(JsonValue a, JsonValue b)
{
    Span x;
    Span y;
    const char *p;
    const char *q;

    if (json_string_plain(a, &x)) {
        return json_string_equals(b, x);
    }
    if (json_string_plain(b, &y)) {
        return json_string_equals(a, y);
    }
    x = json_string_content(a);
    y = json_string_content(b);
    p = x.p;
    q = y.p;
    while (p < x.p + x.n && q < y.p + y.n) {
        char left[4];
        char right[4];
        unsigned n_left = string_take(&p, left);
        unsigned n_right = string_take(&q, right);

        if (n_left != n_right || memcmp(left, right, n_left) != 0) {
            return false;
        }
    }
    return p == x.p + x.n && q == y.p + y.n;
}
