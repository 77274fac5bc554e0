#include "toolkit/complexity/report_text.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "json/writer.h"

/* U+FFFD. */
static const Span replacement = SPAN_INIT("\xEF\xBF\xBD");

void report_text_begin(ReportText *t, Bytes *out)
{
    t->out = out;
    t->start = out->n;
    t->r = 0;
}

int report_text_end(ReportText *t)
{
    if (t->r != 0) {
        t->out->n = t->start;
    }
    return t->r;
}

void report_text_span(ReportText *t, Span s)
{
    if (t->r == 0) {
        t->r = bytes_append_span(t->out, s);
    }
}

void report_text_str(ReportText *t, const char *s)
{
    report_text_span(t, span_from_str(s));
}

void report_text_uint(ReportText *t, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    report_text_span(t, span_make(digits + at, sizeof(digits) - at));
}

void report_text_int(ReportText *t, int64_t value)
{
    if (value < 0) {
        report_text_str(t, "-");
    }
    report_text_uint(t, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void report_text_decimal(ReportText *t, double value)
{
    uint64_t tenths;

    /* From here on a double has no tenths that could be rounded. */
    if (!(value < 1e15)) {
        report_text_double(t, value);
        return;
    }
    tenths = (uint64_t)floor(value * 10 + 0.5);
    report_text_uint(t, tenths / 10);
    report_text_str(t, ".");
    report_text_uint(t, tenths % 10);
}

void report_text_double(ReportText *t, double value)
{
    char text[JSON_DOUBLE_SIZE];

    report_text_span(t, span_make(text, json_format_double(value, text)));
}

/* The next character of s at *at: its bytes, or the replacement for what is not UTF-8. */
static Span text_next(Span s, size_t *at)
{
    unsigned n = utf8_sequence(s.p + *at, s.p + s.n);
    Span c = n > 0 ? span_make(s.p + *at, n) : replacement;

    *at += n > 0 ? n : 1;
    return c;
}

/* C0, DEL, and C1, which terminals obey too; U+2028 and U+2029 end lines. */
static bool text_is_control(Span c)
{
    unsigned first = utf8_byte(c.p);

    if (c.n == 1) {
        return first < 0x20 || first == 0x7F;
    }
    if (c.n == 2) {
        return first == 0xC2 && utf8_byte(c.p + 1) < 0xA0;
    }
    return c.n == 3 && first == 0xE2 && utf8_byte(c.p + 1) == 0x80 &&
           (utf8_byte(c.p + 2) == 0xA8 || utf8_byte(c.p + 2) == 0xA9);
}

static bool text_is(Span c, char wanted)
{
    return c.n == 1 && c.p[0] == wanted;
}

static size_t text_longest_run(Span s, char wanted)
{
    size_t longest = 0;
    size_t run = 0;

    for (size_t i = 0; i < s.n; i++) {
        run = s.p[i] == wanted ? run + 1 : 0;
        longest = run > longest ? run : longest;
    }
    return longest;
}

void report_text_code(ReportText *t, Span s)
{
    size_t n_fence = text_longest_run(s, '`') + 1;
    bool padded = s.n > 0 && (s.p[0] == '`' || s.p[s.n - 1] == '`');

    if (s.n == 0) {
        return;
    }
    for (size_t i = 0; i < n_fence; i++) {
        report_text_str(t, "`");
    }
    report_text_str(t, padded ? " " : "");
    for (size_t at = 0; at < s.n;) {
        Span c = text_next(s, &at);

        report_text_str(t, text_is(c, '|') ? "\\" : "");
        report_text_span(t, text_is_control(c) ? replacement : c);
    }
    report_text_str(t, padded ? " " : "");
    for (size_t i = 0; i < n_fence; i++) {
        report_text_str(t, "`");
    }
}

void report_text_words(ReportText *t, Span s)
{
    for (size_t at = 0; at < s.n;) {
        Span c = text_next(s, &at);

        if (c.n == 1 && strchr("\\`*_[]<>|#~&", c.p[0]) != NULL) {
            report_text_str(t, "\\");
        }
        report_text_span(t, text_is_control(c) ? replacement : c);
    }
}

/* NULL: as it is. */
static const char *text_xml_escape(Span c)
{
    if (c.n == 3) {
        /* U+FFFE and U+FFFF are no characters of XML. */
        return memcmp(c.p, "\xEF\xBF", 2) == 0 && utf8_byte(c.p + 2) >= 0xBE ? "\xEF\xBF\xBD"
                                                                             : NULL;
    }
    if (c.n != 1) {
        return NULL;
    }
    switch (c.p[0]) {
    case '&':
        return "&amp;";
    case '<':
        return "&lt;";
    case '>':
        return "&gt;";
    case '"':
        return "&quot;";
    case '\t':
        return "&#9;";
    case '\n':
        return "&#10;";
    case '\r':
        return "&#13;";
    default:
        return utf8_byte(c.p) < 0x20 ? "\xEF\xBF\xBD" : NULL;
    }
}

void report_text_xml(ReportText *t, Span s)
{
    for (size_t at = 0; at < s.n;) {
        Span c = text_next(s, &at);
        const char *escape = text_xml_escape(c);

        report_text_span(t, escape != NULL ? span_from_str(escape) : c);
    }
}

void report_text_csv(ReportText *t, Span s)
{
    bool quoted = false;
    size_t from = 0;

    for (size_t i = 0; i < s.n; i++) {
        quoted = quoted || s.p[i] == '"' || s.p[i] == ',' || s.p[i] == '\n' || s.p[i] == '\r';
    }
    /* RFC 4180 lets blanks be part of a field, but some readers trim what is not quoted. */
    quoted = quoted || (s.n > 0 && (s.p[0] == ' ' || s.p[s.n - 1] == ' '));
    report_text_str(t, quoted ? "\"" : "");
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"') {
            report_text_span(t, span_make(s.p + from, i + 1 - from));
            from = i;
        }
    }
    report_text_span(t, span_make(s.p + from, s.n - from));
    report_text_str(t, quoted ? "\"" : "");
}

static bool text_uri_is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~' || c == '/';
}

void report_text_uri(ReportText *t, Span path)
{
    static const char hex[] = "0123456789ABCDEF";

    while (span_starts_with(path, SPAN("./"))) {
        path = span_make(path.p + 2, path.n - 2);
    }
    if (span_starts_with(path, SPAN("/"))) {
        report_text_str(t, "file://");
    }
    for (size_t i = 0; i < path.n; i++) {
        unsigned byte = utf8_byte(path.p + i);
        char encoded[3] = {'%', hex[byte >> 4], hex[byte & 15]};

        report_text_span(t, text_uri_is_plain(path.p[i]) ? span_make(path.p + i, 1)
                                                         : span_make(encoded, sizeof(encoded)));
    }
}
