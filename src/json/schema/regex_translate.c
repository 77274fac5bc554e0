/* Where ECMA-262 and PCRE2 read the same pattern differently, this rewrites it:
 *
 * - \s and \S know Unicode's spaces in ECMA, only ASCII's in PCRE2 without UCP (which would also
 * widen \d and \w, so it is off);
 * - \p{Letter}, \p{gc=Lu}, \p{digit}: PCRE2 knows general categories by their short names only;
 * - \ud83d\udc32: a surrogate pair is one character in ECMA's Unicode mode and an error in PCRE2.
 *
 * What is written is plain UTF-8, because under ALT_BSUX PCRE2 has no \x{...}. */
#include "json/schema/regex.h"

#include <errno.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/utf8.h"
#include "json/schema/format_scan.h"

/* Longest rewrite of one escape (\s), so that the output's maximum follows from the input's length.
 */
#define TRANSLATE_GROWTH 48

/* U+00A0, U+1680, U+2000-200A, U+2028, U+2029, U+202F, U+205F, U+3000, U+FEFF */
#define TRANSLATE_SPACES                                                                           \
    "\\s\xC2\xA0\xE1\x9A\x80\xE2\x80\x80-"                                                         \
    "\xE2\x80\x8A\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAF\xE2\x81\x9F"                                 \
    "\xE3\x80\x80\xEF\xBB\xBF"

typedef struct TranslateCategory {
    Span name;
    const char *code;
} TranslateCategory;

#define CATEGORY(name, code)                                                                       \
    {                                                                                              \
        {(name), sizeof(name) - 1}, (code)                                                         \
    }

static const TranslateCategory translate_categories[] = {
    CATEGORY("Letter", "L"),
    CATEGORY("Cased_Letter", "L&"),
    CATEGORY("Uppercase_Letter", "Lu"),
    CATEGORY("Lowercase_Letter", "Ll"),
    CATEGORY("Titlecase_Letter", "Lt"),
    CATEGORY("Modifier_Letter", "Lm"),
    CATEGORY("Other_Letter", "Lo"),
    CATEGORY("Mark", "M"),
    CATEGORY("Combining_Mark", "M"),
    CATEGORY("Nonspacing_Mark", "Mn"),
    CATEGORY("Spacing_Mark", "Mc"),
    CATEGORY("Enclosing_Mark", "Me"),
    CATEGORY("Number", "N"),
    CATEGORY("Decimal_Number", "Nd"),
    CATEGORY("digit", "Nd"),
    CATEGORY("Letter_Number", "Nl"),
    CATEGORY("Other_Number", "No"),
    CATEGORY("Punctuation", "P"),
    CATEGORY("punct", "P"),
    CATEGORY("Connector_Punctuation", "Pc"),
    CATEGORY("Dash_Punctuation", "Pd"),
    CATEGORY("Open_Punctuation", "Ps"),
    CATEGORY("Close_Punctuation", "Pe"),
    CATEGORY("Initial_Punctuation", "Pi"),
    CATEGORY("Final_Punctuation", "Pf"),
    CATEGORY("Other_Punctuation", "Po"),
    CATEGORY("Symbol", "S"),
    CATEGORY("Math_Symbol", "Sm"),
    CATEGORY("Currency_Symbol", "Sc"),
    CATEGORY("Modifier_Symbol", "Sk"),
    CATEGORY("Other_Symbol", "So"),
    CATEGORY("Separator", "Z"),
    CATEGORY("Space_Separator", "Zs"),
    CATEGORY("Line_Separator", "Zl"),
    CATEGORY("Paragraph_Separator", "Zp"),
    CATEGORY("Other", "C"),
    CATEGORY("Control", "Cc"),
    CATEGORY("cntrl", "Cc"),
    CATEGORY("Format", "Cf"),
    CATEGORY("Surrogate", "Cs"),
    CATEGORY("Private_Use", "Co"),
    CATEGORY("Unassigned", "Cn"),
};

/* \p or \P with its braces at the start of s: writes the short form; *ret_n is how much of s that
 * was, 0 if PCRE2 can have it as it is. */
static int translate_property(Bytes *out, Span s, size_t *ret_n)
{
    const char *close = s.n > 3 && s.p[2] == '{' ? memchr(s.p, '}', s.n) : NULL;
    Span name;

    *ret_n = 0;
    if (close == NULL) {
        return 0;
    }
    name = span_make(s.p + 3, (size_t)(close - s.p) - 3);
    if (span_starts_with(name, SPAN("General_Category="))) {
        name = scan_skip(name, 17);
    } else if (span_starts_with(name, SPAN("gc="))) {
        name = scan_skip(name, 3);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(translate_categories); i++) {
        if (span_equals(translate_categories[i].name, name)) {
            name = span_from_str(translate_categories[i].code);
            break;
        }
    }
    *ret_n = (size_t)(close - s.p) + 1;
    return bytes_append_format(out, "\\%c{%.*s}", s.p[1], (int)name.n, name.p);
}

static bool translate_unit(Span s, uint32_t *ret)
{
    uint32_t unit = 0;

    if (s.n < 6 || s.p[0] != '\\' || s.p[1] != 'u') {
        return false;
    }
    for (size_t i = 2; i < 6; i++) {
        char c = s.p[i];

        if (!scan_is_hex(c)) {
            return false;
        }
        unit =
            unit * 16 + (scan_is_digit(c) ? (uint32_t)(c - '0') : ((uint32_t)c | 32u) - 'a' + 10);
    }
    *ret = unit;
    return true;
}

/* A pair of \u escapes that is one character; *ret_n as above. */
static int translate_surrogates(Bytes *out, Span s, size_t *ret_n)
{
    uint32_t high;
    uint32_t low;
    char utf8[4];

    *ret_n = 0;
    if (!translate_unit(s, &high) || high < 0xD800 || high > 0xDBFF ||
        !translate_unit(scan_skip(s, 6), &low) || low < 0xDC00 || low > 0xDFFF) {
        return 0;
    }
    *ret_n = 12;
    return bytes_append(out, utf8,
                        utf8_encode(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00), utf8));
}

/* s begins with a backslash and has a character behind it. */
static int translate_escape(Bytes *out, Span s, bool in_class, size_t *ret_n)
{
    size_t n = 0;
    int r = 0;

    *ret_n = 2;
    switch (s.p[1]) {
    case 's':
        return bytes_append_span(out, in_class ? SPAN(TRANSLATE_SPACES)
                                               : SPAN("[" TRANSLATE_SPACES "]"));
    case 'S':
        /* Inside a class the complement cannot be spelt; there \S stays "not an ASCII space". */
        return bytes_append_span(out, in_class ? SPAN("\\S") : SPAN("[^" TRANSLATE_SPACES "]"));
    case 'p':
    case 'P':
        r = translate_property(out, s, &n);
        break;
    case 'u':
        r = translate_surrogates(out, s, &n);
        break;
    default:
        break;
    }
    if (r != 0) {
        return r;
    }
    if (n > 0) {
        *ret_n = n;
        return 0;
    }
    return bytes_append(out, s.p, 2);
}

static int translate_all(Bytes *out, Span s)
{
    bool in_class = false;

    while (s.n > 0) {
        size_t n = 1;
        int r;

        if (s.p[0] == '\\' && s.n > 1) {
            r = translate_escape(out, s, in_class, &n);
        } else {
            if (s.p[0] == '[' && !in_class) {
                in_class = true;
            } else if (s.p[0] == ']') {
                in_class = false;
            } else if (s.p[0] == '[') {
                /* Literal in ECMA; to PCRE2 it may begin a POSIX class. */
                r = bytes_append_byte(out, '\\');
                if (r != 0) {
                    return r;
                }
            }
            r = bytes_append_byte(out, s.p[0]);
        }
        if (r != 0) {
            return r;
        }
        s = scan_skip(s, n);
    }
    return 0;
}

int regex_translate(Arena *arena, Span source, Span *ret)
{
    CLEANUP(bytes_deinit) Bytes out = BYTES_NULL;
    int r;

    if (source.n == 0) {
        *ret = SPAN("");
        return 0;
    }
    bytes_init(&out, source.n * TRANSLATE_GROWTH);
    r = translate_all(&out, source);
    if (r != 0) {
        return err_fold(r);
    }
    *ret = arena_copy(arena, bytes_span(&out));
    return ret->p == NULL ? err_raise(-ENOMEM) : 0;
}
