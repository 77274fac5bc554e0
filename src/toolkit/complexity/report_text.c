#include "toolkit/complexity/report_text.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "toolkit/shown.h"
#include "json/writer.h"

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
    while (s.n > 0) {
        ToolkitShown shown = toolkit_shown_next(&s);

        report_text_str(t, shown.bytes[0] == '|' ? "\\" : "");
        report_text_span(t, span_make(shown.bytes, shown.n));
    }
    report_text_str(t, padded ? " " : "");
    for (size_t i = 0; i < n_fence; i++) {
        report_text_str(t, "`");
    }
}

void report_text_words(ReportText *t, Span s)
{
    while (s.n > 0) {
        ToolkitShown shown = toolkit_shown_next(&s);

        for (size_t i = 0; i < shown.n; i++) {
            report_text_str(t, strchr("\\`*_[]<>|#~&", shown.bytes[i]) != NULL ? "\\" : "");
            report_text_span(t, span_make(&shown.bytes[i], 1));
        }
    }
}

/* NULL: as it is shown. */
static const char *text_xml_escape(char c)
{
    switch (c) {
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
        return NULL;
    }
}

void report_text_xml(ReportText *t, Span s)
{
    while (s.n > 0) {
        const char *escape = text_xml_escape(*s.p);
        ToolkitShown shown = toolkit_shown_next(&s);

        report_text_span(t,
                         escape != NULL ? span_from_str(escape) : span_make(shown.bytes, shown.n));
    }
}

void report_text_csv(ReportText *t, Span s)
{
    bool quoted = false;

    for (size_t i = 0; i < s.n; i++) {
        quoted = quoted || s.p[i] == '"' || s.p[i] == ',';
    }
    /* RFC 4180 lets blanks be part of a field, but some readers trim what is not quoted. */
    quoted = quoted || (s.n > 0 && (s.p[0] == ' ' || s.p[s.n - 1] == ' '));
    report_text_str(t, quoted ? "\"" : "");
    while (s.n > 0) {
        ToolkitShown shown = toolkit_shown_next(&s);

        report_text_str(t, shown.bytes[0] == '"' ? "\"" : "");
        report_text_span(t, span_make(shown.bytes, shown.n));
    }
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
