#include "toolkit/complexity/language_head.h"

#include "base/compiler.h"
#include "base/text.h"

static bool head_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* The next word of a line, which becomes what is behind it. */
static Span head_word(Span *line)
{
    size_t from = 0;
    size_t to;
    Span word;

    while (from < line->n && head_is_blank(line->p[from])) {
        from++;
    }
    to = from;
    while (to < line->n && !head_is_blank(line->p[to])) {
        to++;
    }
    word = span_make(line->p + from, to - from);
    *line = span_make(line->p + to, line->n - to);
    return word;
}

static Span head_program(Span word)
{
    size_t at = word.n;

    while (at > 0 && word.p[at - 1] != '/') {
        at--;
    }
    return span_make(word.p + at, word.n - at);
}

static Span head_first_line(Span head)
{
    const char *newline = head.n > 0 ? memchr(head.p, '\n', head.n) : NULL;

    return text_trim(newline == NULL ? head : span_make(head.p, (size_t)(newline - head.p)));
}

Span complexity_head_command(Span head)
{
    Span line = head_first_line(head);
    Span word;

    if (!span_starts_with(line, SPAN("#!"))) {
        return SPAN_NULL;
    }
    line = span_make(line.p + 2, line.n - 2);
    word = head_program(head_word(&line));
    if (span_equals(word, SPAN("env"))) {
        /* Behind env's options and settings. */
        do {
            word = head_word(&line);
        } while (word.n > 0 && (word.p[0] == '-' || memchr(word.p, '=', word.n) != NULL));
        word = head_program(word);
    }
    while (word.n > 0 && (word.p[word.n - 1] == '.' ||
                          (word.p[word.n - 1] >= '0' && word.p[word.n - 1] <= '9'))) {
        word.n--;
    }
    return word;
}

/* A reader of C's tokens, as far as telling C++ apart needs it. */
typedef struct HeadReader {
    Span rest;
    bool at_line_start;
    size_t n_ifs;     /* #if that are open */
    size_t hidden_at; /* the one whose lines only C++ sees; 0: none */
} HeadReader;

static bool head_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$';
}

static void head_skip(HeadReader *reader, size_t n)
{
    reader->rest = span_make(reader->rest.p + n, reader->rest.n - n);
}

static bool head_contains(Span s, Span what)
{
    for (size_t i = 0; i + what.n <= s.n; i++) {
        if (memcmp(s.p + i, what.p, what.n) == 0) {
            return true;
        }
    }
    return false;
}

/* A directive up to the end of its line. */
static void head_directive(HeadReader *reader)
{
    Span line = reader->rest;
    const char *newline = memchr(line.p, '\n', line.n);
    Span word;

    line.n = newline == NULL ? line.n : (size_t)(newline - line.p);
    head_skip(reader, line.n);
    line = span_make(line.p + 1, line.n - 1);
    word = head_word(&line);
    if (span_starts_with(word, SPAN("if"))) {
        reader->n_ifs++;
        if (reader->hidden_at == 0 && !span_equals(word, SPAN("ifndef")) &&
            head_contains(line, SPAN("__cplusplus"))) {
            reader->hidden_at = reader->n_ifs;
        }
    } else if (span_starts_with(word, SPAN("el"))) {
        reader->hidden_at = reader->hidden_at == reader->n_ifs ? 0 : reader->hidden_at;
    } else if (span_starts_with(word, SPAN("endif")) && reader->n_ifs > 0) {
        reader->hidden_at = reader->hidden_at == reader->n_ifs ? 0 : reader->hidden_at;
        reader->n_ifs--;
    }
}

static void head_skip_block_comment(HeadReader *reader)
{
    size_t i = 2;

    while (i + 1 < reader->rest.n && !(reader->rest.p[i] == '*' && reader->rest.p[i + 1] == '/')) {
        i++;
    }
    head_skip(reader, i + 2 < reader->rest.n ? i + 2 : reader->rest.n);
}

static void head_skip_line(HeadReader *reader)
{
    const char *newline = memchr(reader->rest.p, '\n', reader->rest.n);

    head_skip(reader, newline == NULL ? reader->rest.n : (size_t)(newline - reader->rest.p));
}

static void head_skip_quoted(HeadReader *reader)
{
    char quote = reader->rest.p[0];
    size_t i = 1;

    while (i < reader->rest.n && reader->rest.p[i] != quote && reader->rest.p[i] != '\n') {
        i += reader->rest.p[i] == '\\' ? 2 : 1;
    }
    head_skip(reader, i < reader->rest.n ? i + 1 : reader->rest.n);
}

/* The next token: a word, or one other byte. Empty at the end. */
static Span head_token(HeadReader *reader)
{
    while (reader->rest.n > 0) {
        Span rest = reader->rest;
        char c = rest.p[0];
        size_t n = 1;

        if (c == '\n') {
            reader->at_line_start = true;
            head_skip(reader, 1);
        } else if (head_is_blank(c) || c == '\r') {
            head_skip(reader, 1);
        } else if (c == '#' && reader->at_line_start) {
            head_directive(reader);
        } else if (span_starts_with(rest, SPAN("/*"))) {
            head_skip_block_comment(reader);
        } else if (span_starts_with(rest, SPAN("//"))) {
            head_skip_line(reader);
        } else if (c == '"' || c == '\'') {
            reader->at_line_start = false;
            head_skip_quoted(reader);
        } else {
            reader->at_line_start = false;
            while (head_is_word(c) && n < rest.n && head_is_word(rest.p[n])) {
                n++;
            }
            head_skip(reader, n);
            if (reader->hidden_at == 0) {
                return span_make(rest.p, n);
            }
        }
    }
    return SPAN_NULL;
}

/* What stands behind something finished, or at the beginning. */
static bool head_begins(Span before)
{
    return before.n == 0 || before.p[0] == '{' || before.p[0] == '}' || before.p[0] == ';';
}

/* Three tokens, and the one before them, that no C header has: these words are names there, if
 * anything. */
static bool head_tells_cpp(Span before, Span first, Span second, Span third)
{
    static const char *const access[] = {"public", "private", "protected"};
    static const char *const opens[] = {"{", ":", ";", "final"};

    if (span_equals(first, SPAN("namespace"))) {
        return span_equals(second, SPAN("{")) || span_equals(third, SPAN("{")) ||
               span_equals(third, SPAN(":"));
    }
    if (span_equals(first, SPAN("template"))) {
        return span_equals(second, SPAN("<"));
    }
    if (span_equals(first, SPAN("using"))) {
        return span_equals(second, SPAN("namespace")) || span_equals(third, SPAN("=")) ||
               span_equals(third, SPAN(":"));
    }
    if (span_equals(first, SPAN("class"))) {
        return second.n > 0 && head_is_word(second.p[0]) &&
               text_is_one_of(third, opens, TW_ARRAY_SIZE(opens), NULL);
    }
    if (text_is_one_of(first, access, TW_ARRAY_SIZE(access), NULL)) {
        return head_begins(before) && span_equals(second, SPAN(":"));
    }
    /* A word, "::" and a word. */
    return head_is_word(first.p[0]) && span_equals(second, SPAN(":")) &&
           span_equals(third, SPAN(":")) && third.p == second.p + 1;
}

bool complexity_head_is_cpp(Span head)
{
    HeadReader reader = {.rest = head, .at_line_start = true};
    Span before = SPAN_NULL;
    Span first = head_token(&reader);
    Span second = head_token(&reader);
    Span third = head_token(&reader);

    while (first.n > 0) {
        if (head_tells_cpp(before, first, second, third)) {
            return true;
        }
        before = first;
        first = second;
        second = third;
        third = head_token(&reader);
    }
    return false;
}
