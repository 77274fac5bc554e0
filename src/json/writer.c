#include "json/writer.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/escape.h"
#include "base/utf8.h"

#define WRITER_INDENT 2

void json_writer_init(JsonWriter *w, Bytes *out, JsonStyle style)
{
    *w = (JsonWriter){.out = out, .start = out->n, .style = style};
}

int json_writer_finish(JsonWriter *w)
{
    assert(w->r != 0 || w->depth == 0);
    if (w->r != 0) {
        w->out->n = w->start;
    }
    return w->r;
}

static void writer_append(JsonWriter *w, const char *p, size_t n)
{
    if (w->r == 0) {
        w->r = bytes_append(w->out, p, n);
    }
}

static void writer_new_line(JsonWriter *w)
{
    static const char blanks[] = "\n                                ";
    size_t n = (size_t)w->depth * WRITER_INDENT;
    size_t first = n < sizeof(blanks) - 2 ? n : sizeof(blanks) - 2;

    writer_append(w, blanks, first + 1);
    for (n -= first; n > 0; n -= first) {
        first = n < sizeof(blanks) - 2 ? n : sizeof(blanks) - 2;
        writer_append(w, blanks + 1, first);
    }
}

/* The last byte says what comes between it and a value: nothing after `{`, `[`, a key's `:` (or its
 * blank) and at the start; a comma after everything else. No value ends in one of those bytes, so
 * no stack of "first element" flags is needed. */
static void writer_before_value(JsonWriter *w)
{
    char last = w->r == 0 && w->out->n > w->start ? w->out->data[w->out->n - 1] : '\0';

    if (last == '\0' || last == ':' || last == ' ') {
        return;
    }
    if (last != '{' && last != '[') {
        writer_append(w, ",", 1);
    }
    if (w->style == JSON_STYLE_PRETTY) {
        writer_new_line(w);
    }
}

static void writer_open(JsonWriter *w, const char *bracket)
{
    writer_before_value(w);
    writer_append(w, bracket, 1);
    w->depth++;
}

static void writer_close(JsonWriter *w, const char *bracket)
{
    char last = w->r == 0 ? w->out->data[w->out->n - 1] : '\0';

    assert(w->depth > 0);
    w->depth--;
    if (w->style == JSON_STYLE_PRETTY && last != '{' && last != '[') {
        writer_new_line(w);
    }
    writer_append(w, bracket, 1);
}

void json_write_object(JsonWriter *w)
{
    writer_open(w, "{");
}

void json_write_end_object(JsonWriter *w)
{
    writer_close(w, "}");
}

void json_write_array(JsonWriter *w)
{
    writer_open(w, "[");
}

void json_write_end_array(JsonWriter *w)
{
    writer_close(w, "]");
}

/* A byte value in each byte of a word. */
#define WRITER_EACH(byte) (0x0101010101010101u * (uint64_t)(byte))

/* Longer texts are looked through faster by those who do it 16 bytes at a time. */
#define WRITER_SHORT 64

/* Non-zero if a byte of the word is not ASCII, or must be escaped. Exact: what would borrow from
 * the byte above it is such a byte itself. */
static uint64_t writer_not_plain(uint64_t word)
{
    uint64_t quote = word ^ WRITER_EACH('"');
    uint64_t backslash = word ^ WRITER_EACH('\\');

    return (word | (word - WRITER_EACH(0x20)) | (quote - WRITER_EACH(1)) |
            (backslash - WRITER_EACH(1))) &
           WRITER_EACH(0x80);
}

/* Copies while it looks: whole words, and the last one once more where it ends. false: there is
 * more to do about the text than that. */
static bool writer_copy_plain(char *to, Span text)
{
    uint64_t found = 0;
    uint64_t word = WRITER_EACH(' ');
    uint32_t half;

    if (text.n >= sizeof(word)) {
        size_t last = text.n - sizeof(word);

        for (size_t at = 0; at < last; at += sizeof(word)) {
            memcpy(&word, text.p + at, sizeof(word));
            memcpy(to + at, &word, sizeof(word));
            found |= writer_not_plain(word);
        }
        memcpy(&word, text.p + last, sizeof(word));
        memcpy(to + last, &word, sizeof(word));
    } else if (text.n >= sizeof(half)) {
        size_t last = text.n - sizeof(half);

        memcpy(&half, text.p, sizeof(half));
        memcpy(to, &half, sizeof(half));
        word = half;
        memcpy(&half, text.p + last, sizeof(half));
        memcpy(to + last, &half, sizeof(half));
        word |= (uint64_t)half << 32;
    } else {
        for (size_t i = 0; i < text.n; i++) {
            to[i] = text.p[i];
            word = word << 8 | (unsigned char)text.p[i];
        }
    }
    return (found | writer_not_plain(word)) == 0;
}

/* Names and most values are short and plain: they are copied as they are, if there is room. */
static bool writer_quoted_plain(JsonWriter *w, Span text)
{
    Bytes *out = w->out;
    char *to;

    if (w->r != 0 || text.n > WRITER_SHORT || text.n + 2 > out->cap - out->n ||
        text.n + 2 > out->max_bytes - out->n) {
        return false;
    }
    to = out->data + out->n;
    if (!writer_copy_plain(to + 1, text)) {
        return false;
    }
    to[0] = '"';
    to[text.n + 1] = '"';
    out->n += text.n + 2;
    return true;
}

/* The code unit of a surrogate as an escape, in lower case as peers write it. */
static void writer_append_unit(JsonWriter *w, unsigned unit)
{
    static const char digits[] = "0123456789abcdef";
    char escape[6] = {
        '\\', 'u', 'd', digits[unit >> 8 & 0xF], digits[unit >> 4 & 0xF], digits[unit & 0xF]};

    writer_append(w, escape, sizeof(escape));
}

/* What stands for the bytes at the start of text that are no UTF-8; returns how many they are. */
static size_t writer_append_bad(JsonWriter *w, Span text)
{
    unsigned unit = utf8_surrogate(text.p, text.p + text.n);

    if (unit != 0 && w->is_exact) {
        writer_append_unit(w, unit);
    } else {
        writer_append(w, "\xEF\xBF\xBD", 3);
    }
    return unit != 0 ? 3 : 1;
}

/* The text between quotes. */
static void writer_quoted(JsonWriter *w, Span text)
{
    if (writer_quoted_plain(w, text)) {
        return;
    }
    writer_append(w, "\"", 1);
    while (w->r == 0 && text.n > 0) {
        size_t n = text.n;

        if (!utf8_valid(text.p, text.n, &n)) {
            w->r = escape_json(w->out, span_make(text.p, n));
            n += writer_append_bad(w, span_make(text.p + n, text.n - n));
            text = span_make(text.p + n, text.n - n);
        } else {
            w->r = escape_json(w->out, text);
            break;
        }
    }
    writer_append(w, "\"", 1);
}

static void writer_after_key(JsonWriter *w)
{
    writer_append(w, ": ", w->style == JSON_STYLE_PRETTY ? 2 : 1);
}

void json_write_key(JsonWriter *w, Span key)
{
    assert(w->depth > 0);
    writer_before_value(w);
    writer_quoted(w, key);
    writer_after_key(w);
}

void json_write_exact_key(JsonWriter *w, Span key)
{
    w->is_exact = true;
    json_write_key(w, key);
    w->is_exact = false;
}

void json_write_string(JsonWriter *w, Span text)
{
    writer_before_value(w);
    writer_quoted(w, text);
}

void json_write_exact(JsonWriter *w, Span text)
{
    w->is_exact = true;
    json_write_string(w, text);
    w->is_exact = false;
}

void json_write_raw(JsonWriter *w, Span json)
{
    writer_before_value(w);
    writer_append(w, json.p, json.n);
}

static void writer_integer(JsonWriter *w, uint64_t magnitude, bool is_negative)
{
    char digits[20];
    size_t n = sizeof(digits);

    do {
        digits[--n] = (char)('0' + magnitude % 10);
        magnitude /= 10;
    } while (magnitude > 0);
    if (is_negative) {
        digits[--n] = '-';
    }
    json_write_raw(w, span_make(digits + n, sizeof(digits) - n));
}

void json_write_uint(JsonWriter *w, uint64_t value)
{
    writer_integer(w, value, false);
}

void json_write_int(JsonWriter *w, int64_t value)
{
    /* Negated as unsigned: INT64_MIN has no positive twin. */
    writer_integer(w, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

void json_write_bool(JsonWriter *w, bool flag)
{
    json_write_raw(w, flag ? SPAN("true") : SPAN("false"));
}

void json_write_null(JsonWriter *w)
{
    json_write_raw(w, SPAN("null"));
}

void json_write_double(JsonWriter *w, double value)
{
    char text[JSON_DOUBLE_SIZE];

    if (!isfinite(value)) {
        json_write_null(w);
        return;
    }
    json_write_raw(w, span_make(text, json_format_double(value, text)));
}

/* Writes the closing brackets that stand between p and stop, where the text has no values. */
static void writer_close_up_to(JsonWriter *w, const char *p, const char *stop)
{
    for (; p < stop; p++) {
        if (*p == '}' || *p == ']') {
            writer_close(w, p);
        }
    }
}

void json_write_value(JsonWriter *w, JsonValue v)
{
    const JsonNode *end = v.node + v.node->skip;
    const char *text_end = v.text + v.node->start + v.node->size;
    const char *p = v.text + v.node->start;

    for (const JsonNode *node = v.node; node < end && w->r == 0; node++) {
        JsonValue each = {v.text, node};
        Span span = json_span(each);

        /* Between two nodes stand only white space, `,`, `:` and closing brackets. A colon says
         * that the string just written was a key. */
        if (memchr(p, ':', (size_t)(span.p - p)) != NULL) {
            writer_after_key(w);
        }
        writer_close_up_to(w, p, span.p);
        if (json_kind(each) >= JSON_ARRAY) {
            writer_open(w, json_kind(each) == JSON_OBJECT ? "{" : "[");
            p = span.p + 1;
        } else {
            json_write_raw(w, span);
            p = span.p + span.n;
        }
    }
    /* After a failure p is somewhere before the end, and what follows it is more than brackets. */
    if (w->r == 0) {
        writer_close_up_to(w, p, text_end);
    }
}
