#include "toolkit/glob_class.h"

/* No ctype.h: what is a letter must not follow the locale. */
static bool is_lower(unsigned char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(unsigned char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(unsigned char c)
{
    return c >= '0' && c <= '9';
}

static bool is_alpha(unsigned char c)
{
    return is_lower(c) || is_upper(c);
}

static bool is_alnum(unsigned char c)
{
    return is_alpha(c) || is_digit(c);
}

static bool is_blank(unsigned char c)
{
    return c == ' ' || c == '\t';
}

/* Without the form feed and the vertical tab, as git has it. */
static bool is_space(unsigned char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static bool is_print(unsigned char c)
{
    return c >= 0x20 && c <= 0x7e;
}

static bool is_graph(unsigned char c)
{
    return is_print(c) && c != ' ';
}

static bool is_punct(unsigned char c)
{
    return is_graph(c) && !is_alnum(c);
}

static bool is_cntrl(unsigned char c)
{
    return c < 0x20 || c == 0x7f;
}

static bool is_xdigit(unsigned char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static const struct {
    Span name;
    bool (*has)(unsigned char c);
} class_kinds[] = {
    {SPAN_INIT("alnum"), is_alnum}, {SPAN_INIT("alpha"), is_alpha},
    {SPAN_INIT("blank"), is_blank}, {SPAN_INIT("cntrl"), is_cntrl},
    {SPAN_INIT("digit"), is_digit}, {SPAN_INIT("graph"), is_graph},
    {SPAN_INIT("lower"), is_lower}, {SPAN_INIT("print"), is_print},
    {SPAN_INIT("punct"), is_punct}, {SPAN_INIT("space"), is_space},
    {SPAN_INIT("upper"), is_upper}, {SPAN_INIT("xdigit"), is_xdigit},
};

/* Where reading stands, and what it has found. */
typedef struct ClassReader {
    Span pattern;
    size_t at;
    unsigned char c;
    bool no_case;
    bool is_found;
    bool is_broken;
    int before; /* the character that a '-' would begin a range with; -1: none */
} ClassReader;

/* The byte at `at`; -1 past the end. */
static int class_byte(const ClassReader *reader, size_t at)
{
    return at < reader->pattern.n ? (unsigned char)reader->pattern.p[at] : -1;
}

/* The one character at `at`, past a backslash; a backslash at the end breaks the class. */
static int class_take(ClassReader *reader)
{
    int byte = class_byte(reader, reader->at++);

    if (byte == '\\') {
        byte = class_byte(reader, reader->at++);
    }
    reader->is_broken = reader->is_broken || byte < 0;
    return byte;
}

static void class_read_range(ClassReader *reader)
{
    unsigned char c = reader->c;
    int first = reader->before;
    int last;

    reader->at++;
    last = class_take(reader);
    if (c >= first && c <= last) {
        reader->is_found = true;
    } else if (reader->no_case && is_lower(c)) {
        c = (unsigned char)(c - 'a' + 'A');
        reader->is_found = reader->is_found || (c >= first && c <= last);
    }
    reader->before = -1;
}

/* [:name:]; false if it is none, and the bracket a character like others. */
static bool class_read_kind(ClassReader *reader)
{
    size_t begin = reader->at + 2;
    size_t end = begin;
    Span name;

    while (end < reader->pattern.n && reader->pattern.p[end] != ']') {
        end++;
    }
    if (end == reader->pattern.n) {
        reader->is_broken = true;
        return true;
    }
    if (end == begin || reader->pattern.p[end - 1] != ':') {
        return false;
    }
    name = span_make(reader->pattern.p + begin, end - 1 - begin);
    reader->at = end + 1;
    reader->before = -1;
    for (size_t i = 0; i < sizeof(class_kinds) / sizeof(class_kinds[0]); i++) {
        if (span_equals(name, class_kinds[i].name)) {
            bool is_case_gone = reader->no_case && class_kinds[i].has == is_upper;

            reader->is_found = reader->is_found || class_kinds[i].has(reader->c) ||
                               (is_case_gone && is_lower(reader->c));
            return true;
        }
    }
    reader->is_broken = true;
    return true;
}

static void class_read_one(ClassReader *reader)
{
    int byte = class_byte(reader, reader->at);
    int next = class_byte(reader, reader->at + 1);

    if (byte == '-' && reader->before > 0 && next >= 0 && next != ']') {
        class_read_range(reader);
        return;
    }
    if (byte == '[' && next == ':' && class_read_kind(reader)) {
        return;
    }
    byte = class_take(reader);
    reader->is_found = reader->is_found || byte == reader->c;
    reader->before = byte;
}

/* The whole of it; true: it is negated. */
static bool class_read(ClassReader *reader)
{
    int first = class_byte(reader, reader->at);
    bool is_negated = first == '!' || first == '^';

    if (is_negated) {
        reader->at++;
    }
    /* A bracket that ends the class is a character if it comes first. */
    do {
        class_read_one(reader);
    } while (!reader->is_broken && class_byte(reader, reader->at) != ']');
    return is_negated;
}

bool glob_class_is_whole(Span pattern, size_t at)
{
    ClassReader reader = {pattern, at + 1, 'x', false, false, false, -1};

    (void)class_read(&reader);
    return !reader.is_broken;
}

bool glob_class_has(Span pattern, size_t at, unsigned char c, bool no_case, size_t *ret_end)
{
    ClassReader reader = {pattern, at + 1, c, no_case, false, false, -1};
    bool is_negated = class_read(&reader);

    if (reader.is_broken) {
        *ret_end = pattern.n;
        return false;
    }
    *ret_end = reader.at + 1;
    return reader.is_found != is_negated;
}
