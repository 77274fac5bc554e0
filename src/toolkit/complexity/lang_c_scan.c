#include "toolkit/complexity/lang_c_scan.h"

#include <string.h>

/* As the standard has it. */
#define C_RAW_DELIMITER_MAX 16

size_t complexity_c_joint(Span text, size_t at)
{
    if (at + 1 < text.n && text.p[at] == '\\') {
        if (text.p[at + 1] == '\n') {
            return 2;
        }
        if (at + 2 < text.n && text.p[at + 1] == '\r' && text.p[at + 2] == '\n') {
            return 3;
        }
    }
    return 0;
}

bool complexity_c_is_comment(Span text, size_t at)
{
    return at + 1 < text.n && text.p[at] == '/' && (text.p[at + 1] == '*' || text.p[at + 1] == '/');
}

static size_t c_line_comment(Span text, size_t at)
{
    while (at < text.n && text.p[at] != '\n') {
        size_t joint = complexity_c_joint(text, at);

        at += joint > 0 ? joint : 1;
    }
    return at;
}

size_t complexity_c_comment(Span text, size_t at)
{
    if (text.p[at + 1] == '/') {
        return c_line_comment(text, at);
    }
    /* memchr would be called for each star of a comment that has nothing else. */
    for (at += 2; at + 1 < text.n; at++) {
        if (text.p[at] == '*' && text.p[at + 1] == '/') {
            return at + 2;
        }
    }
    return text.n;
}

size_t complexity_c_quoted(Span text, size_t at)
{
    char quote = text.p[at++];

    while (at < text.n && text.p[at] != '\n') {
        size_t joint = complexity_c_joint(text, at);

        if (joint > 0) {
            at += joint;
        } else if (text.p[at] == '\\' && at + 1 < text.n && text.p[at + 1] != '\n') {
            at += 2;
        } else if (text.p[at++] == quote) {
            break;
        }
    }
    return at;
}

static bool c_is_raw(Span word)
{
    return span_equals(word, SPAN("R")) || span_equals(word, SPAN("LR")) ||
           span_equals(word, SPAN("uR")) || span_equals(word, SPAN("UR")) ||
           span_equals(word, SPAN("u8R"));
}

size_t complexity_c_text(Span text, size_t at, Span word)
{
    size_t start = at + 1;
    size_t n = 0;

    if (text.p[at] != '"' || !c_is_raw(word)) {
        return complexity_c_quoted(text, at);
    }
    while (start + n < text.n && n < C_RAW_DELIMITER_MAX && text.p[start + n] != '(' &&
           text.p[start + n] != '"' && text.p[start + n] != '\n') {
        n++;
    }
    if (start + n >= text.n || text.p[start + n] != '(') {
        return complexity_c_quoted(text, at);
    }
    at = start + n + 1;
    while (at < text.n) {
        const char *close = memchr(text.p + at, ')', text.n - at);

        if (close == NULL) {
            break;
        }
        at = (size_t)(close - text.p) + 1;
        if (text.n - at > n && memcmp(text.p + at, text.p + start, n) == 0 &&
            text.p[at + n] == '"') {
            return at + n + 1;
        }
    }
    return text.n;
}

size_t complexity_c_word(Span text, size_t at)
{
    while (at < text.n && complexity_c_is_word(text.p[at])) {
        at++;
    }
    return at;
}

size_t complexity_c_number(Span text, size_t at)
{
    for (; at < text.n; at++) {
        char c = text.p[at];
        bool is_sign = (c == '+' || c == '-') && (text.p[at - 1] == 'e' || text.p[at - 1] == 'E');
        bool is_mark = c == '\'' && at + 1 < text.n && complexity_c_is_word(text.p[at + 1]);

        if (!complexity_c_is_word(c) && c != '.' && !is_sign && !is_mark) {
            break;
        }
    }
    return at;
}

size_t complexity_c_directive(Span text, size_t at, size_t *ret_code)
{
    *ret_code = at;
    while (at < text.n && text.p[at] != '\n') {
        size_t joint = complexity_c_joint(text, at);

        if (complexity_c_is_comment(text, at)) {
            at = complexity_c_comment(text, at);
            continue;
        }
        if (joint > 0) {
            at += joint;
            *ret_code = at;
            continue;
        }
        if (complexity_c_is_blank(text.p[at])) {
            at++;
            continue;
        }
        at = text.p[at] == '"' || text.p[at] == '\'' ? complexity_c_quoted(text, at) : at + 1;
        *ret_code = at;
    }
    return at;
}

Span complexity_c_directive_word(Span text, size_t at)
{
    size_t start = at + 1;

    while (start < text.n && complexity_c_is_blank(text.p[start])) {
        start++;
    }
    return span_make(text.p + start, complexity_c_word(text, start) - start);
}

bool complexity_c_blank(char *text, size_t start, size_t end)
{
    bool changed = false;

    for (size_t i = start; i < end; i++) {
        if (text[i] != '\n' && text[i] != '\r' && text[i] != ' ') {
            text[i] = ' ';
            changed = true;
        }
    }
    return changed;
}
