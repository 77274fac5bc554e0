/* Where ECMA-262 and PCRE2 read the same pattern differently, this rewrites it:
 *
 * - \s and \S know Unicode's spaces in ECMA, only ASCII's in PCRE2 without UCP (which would also
 * widen \d and \w, so it is off);
 * - \p{Letter}, \p{gc=Lu}, \p{digit}: PCRE2 knows general categories by their short names only;
 * - \ud83d\udc32: a surrogate pair is one character in ECMA's Unicode mode and an error in PCRE2;
 * - a dot stops at U+2028 and U+2029 too;
 * - \v is one character; \A, \h, \Q and all other letters that mean nothing to ECMA are themselves;
 * - a hyphen beside \d and its like in a class is a hyphen ("[\s-.]"), to PCRE2 an error.
 *
 * What PCRE2 has beyond ECMA is refused before (regex_syntax.c).
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

/* How long the escape at the start of s is. */
static size_t translate_escape_length(Span s)
{
    uint32_t unit;
    size_t n = 2;

    switch (s.p[1]) {
    case 'x':
        return s.n > 3 && scan_is_hex(s.p[2]) && scan_is_hex(s.p[3]) ? 4 : 2;
    case 'u':
        if (translate_unit(s, &unit)) {
            return 6;
        }
        while (s.n > 2 && s.p[2] == '{' && n < s.n && s.p[n] != '}') {
            n++;
        }
        return n > 2 && n < s.n ? n + 1 : 2;
    case 'c':
        return s.n > 2 && scan_is_alpha(s.p[2]) ? 3 : 2;
    default:
        /* The bytes of a wide character stay together. */
        while (n < s.n && ((unsigned char)s.p[n] & 0xC0u) == 0x80 && scan_is_wide(s.p[1])) {
            n++;
        }
        while (scan_is_digit(s.p[1]) && n < s.n && n < 4 && scan_is_digit(s.p[n])) {
            n++;
        }
        return n;
    }
}

/* \d, \p{Lu} and the like: many characters, so never the end of a range. */
static bool translate_is_set(Span s)
{
    if (s.n < 2 || s.p[0] != '\\') {
        return false;
    }
    return scan_is_in(s.p[1], "dDsSwW") || (s.n > 2 && scan_is_in(s.p[1], "pP"));
}

/* A letter that ECMA gives no meaning behind a backslash. */
static bool translate_is_plain_letter(Span s)
{
    if (s.p[1] == 'k') {
        return s.n < 3 || s.p[2] != '<';
    }
    return scan_is_alpha(s.p[1]) && !scan_is_in(s.p[1], "bBcdDfnpPrsStuvwWx");
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
    case 'v':
        return bytes_append_span(out, SPAN("\\x0B"));
    case 'p':
    case 'P':
        r = translate_property(out, s, &n);
        break;
    case 'u':
        r = translate_surrogates(out, s, &n);
        break;
    default:
        if (translate_is_plain_letter(s)) {
            return bytes_append_byte(out, s.p[1]);
        }
        break;
    }
    if (r != 0) {
        return r;
    }
    if (n > 0) {
        *ret_n = n;
        return 0;
    }
    *ret_n = translate_escape_length(s);
    return bytes_append(out, s.p, *ret_n);
}

/* Where in a class we are, as far as the next hyphen is concerned. */
typedef enum TranslatePlace {
    TRANSLATE_OUTSIDE,    /* not in a class */
    TRANSLATE_FRESH,      /* nothing that a range could begin with: at the start, behind a range */
    TRANSLATE_BEHIND_ONE, /* behind one character */
    TRANSLATE_BEHIND_SET, /* behind \d or its like */
    TRANSLATE_IN_RANGE,   /* behind the hyphen of a range, or of what looks like one */
} TranslatePlace;

/* One step inside a class; s is not empty. */
static int translate_in_class(Bytes *out, Span s, TranslatePlace *place, size_t *ret_n)
{
    TranslatePlace was = *place;
    bool is_set = translate_is_set(s);
    bool is_behind = was == TRANSLATE_BEHIND_ONE || was == TRANSLATE_BEHIND_SET;

    *ret_n = 1;
    if (s.p[0] == ']') {
        *place = TRANSLATE_OUTSIDE;
        return bytes_append_byte(out, ']');
    }
    if (s.p[0] == '-' && is_behind && s.n > 1 && s.p[1] != ']') {
        bool is_range = was == TRANSLATE_BEHIND_ONE && !translate_is_set(scan_skip(s, 1));

        *place = TRANSLATE_IN_RANGE;
        return bytes_append_span(out, is_range ? SPAN("-") : SPAN("\\-"));
    }
    if (was == TRANSLATE_IN_RANGE) {
        *place = TRANSLATE_FRESH;
    } else {
        *place = is_set ? TRANSLATE_BEHIND_SET : TRANSLATE_BEHIND_ONE;
    }
    if (s.p[0] == '\\' && s.n > 1) {
        return translate_escape(out, s, true, ret_n);
    }
    if (s.p[0] == '-' || s.p[0] == '[') {
        /* Literal; to PCRE2 the first may make a range, the second begin a POSIX class. */
        return bytes_append_format(out, "\\%c", s.p[0]);
    }
    while (*ret_n < s.n && ((unsigned char)s.p[*ret_n] & 0xC0u) == 0x80) {
        (*ret_n)++;
    }
    return bytes_append(out, s.p, *ret_n);
}

static int translate_outside(Bytes *out, Span s, TranslatePlace *place, size_t *ret_n)
{
    *ret_n = 1;
    if (s.p[0] == '\\' && s.n > 1) {
        return translate_escape(out, s, false, ret_n);
    }
    if (s.p[0] == '.') {
        return bytes_append_span(out, SPAN("[^\\n\\r\xE2\x80\xA8\xE2\x80\xA9]"));
    }
    if (s.p[0] == '[') {
        *place = TRANSLATE_FRESH;
        *ret_n = s.n > 1 && s.p[1] == '^' ? 2 : 1;
    }
    return bytes_append(out, s.p, *ret_n);
}

static int translate_all(Bytes *out, Span s)
{
    TranslatePlace place = TRANSLATE_OUTSIDE;

    while (s.n > 0) {
        size_t n;
        int r = place == TRANSLATE_OUTSIDE ? translate_outside(out, s, &place, &n)
                                           : translate_in_class(out, s, &place, &n);

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
