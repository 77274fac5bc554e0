#include "toolkit/complexity/lang_c_text.h"

#include "toolkit/complexity/lang_c_scan.h"

/* Behind the name of the macro and its parameters, if it has any. */
static size_t c_macro_body(Span text, size_t at, size_t end)
{
    while (at < end && complexity_c_is_blank(text.p[at])) {
        at++;
    }
    at = complexity_c_word(text, at);
    if (at < end && text.p[at] == '(') {
        while (at < end && text.p[at] != ')') {
            at++;
        }
        at += at < end;
    }
    return at;
}

/* Blanks behind the name would make the grammar take the next line for the body, and a word might
 * lengthen the name. */
static bool c_blank_macro(char *text, size_t body, size_t code, size_t end)
{
    if (body < code) {
        (void)complexity_c_blank(text, body, code);
    } else if (body >= end || !complexity_c_is_blank(text[body]) || text[body] == '\r' ||
               complexity_c_is_comment(span_make(text, end), body + 1)) {
        return false;
    }
    text[body] = '-';
    return true;
}

/* "#if(A)": what stands for the condition must not touch the word. */
static bool c_blank_condition(char *text, size_t start, size_t end)
{
    size_t at = start;

    while (at < end && complexity_c_is_blank(text[at])) {
        at++;
    }
    if (at == start) {
        at++;
    }
    if (at >= end) {
        return false;
    }
    (void)complexity_c_blank(text, start, end);
    text[at] = '1';
    return true;
}

/* The directive at '#'; returns the place behind it. */
static size_t c_prepare_directive(char *p, Span text, size_t at, bool *changed)
{
    size_t code;
    size_t end = complexity_c_directive(text, at, &code);
    Span word = complexity_c_directive_word(text, at);
    size_t behind = (size_t)(word.p - text.p) + word.n;

    if (span_equals(word, SPAN("define"))) {
        size_t body = c_macro_body(text, behind, code);

        *changed |= c_blank_macro(p, body, code, end);
    } else if (span_equals(word, SPAN("if")) || span_equals(word, SPAN("elif"))) {
        *changed |= c_blank_condition(p, behind, code);
    }
    return end;
}

bool complexity_c_prepare(char *p, size_t n, Stop stop)
{
    Span text = span_make(p, n);
    bool at_line_start = true;
    bool changed = false;
    size_t next_question = 0;
    size_t at = 0;

    while (at < n && !stop_is_asked_in(stop, at, &next_question)) {
        char c = p[at];

        if (c == '\n') {
            at_line_start = true;
            at++;
        } else if (complexity_c_is_blank(c)) {
            at++;
        } else if (complexity_c_is_comment(text, at)) {
            at = complexity_c_comment(text, at);
        } else if (c == '#' && at_line_start) {
            at = c_prepare_directive(p, text, at, &changed);
        } else {
            at_line_start = false;
            if (c >= '0' && c <= '9') {
                at = complexity_c_number(text, at);
            } else if (complexity_c_is_word(c)) {
                size_t end = complexity_c_word(text, at);

                if (end < n && p[end] == '"') {
                    end = complexity_c_text(text, end, span_make(p + at, end - at));
                }
                at = end;
            } else {
                at = c == '"' || c == '\'' ? complexity_c_quoted(text, at) : at + 1;
            }
        }
    }
    return changed;
}
