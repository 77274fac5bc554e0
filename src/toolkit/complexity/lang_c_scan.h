/* toolkit/complexity/lang_c_scan.h: the lexical shape of C and C++: comments, quotes, directives.
 * Private.
 *
 * Each takes the place where the thing begins and returns the place behind it, which is the end of
 * the text if it is not closed. Thread: any. */
#pragma once

#include "base/compiler.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

TW_INLINE bool complexity_c_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           (unsigned char)c >= 0x80;
}

TW_INLINE bool complexity_c_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\f' || c == '\v' || c == '\r';
}

/* The length of a backslash and the end of line behind it; 0 if there is none. */
size_t complexity_c_joint(Span text, size_t at);

/* Does a comment begin there? */
bool complexity_c_is_comment(Span text, size_t at);
size_t complexity_c_comment(Span text, size_t at);
/* A text or a character; not closed, it ends before its newline. */
size_t complexity_c_quoted(Span text, size_t at);
/* R"x(…)x", from its quotation mark on, `word` being what stands before that; the same as
 * complexity_c_quoted if it is no such text. */
size_t complexity_c_text(Span text, size_t at, Span word);
size_t complexity_c_word(Span text, size_t at);
/* 1'000.5e+3 */
size_t complexity_c_number(Span text, size_t at);
/* From '#' to before its newline, with the lines that it goes on in. In *ret_code, the end of what
 * is no comment in it. */
size_t complexity_c_directive(Span text, size_t at, size_t *ret_code);
/* The word of the directive at '#': "define". */
Span complexity_c_directive_word(Span text, size_t at);

/* Overwrites all but the ends of lines; true if that changed something. */
bool complexity_c_blank(char *text, size_t start, size_t end);
