#include "base/tokens.h"

#include <stdbool.h>

#include "base/utf8.h"

/* Counted in hundredths of a token, so that pieces may be worth less than one. */
#define TOKENS_ONE 100u

/* What mostly belongs to the piece beside it. */
#define TOKENS_GLUED 45u

/* A word of so many letters is one token, mostly; what is longer has another one for each further
 * stretch. */
#define TOKENS_WORD    9
#define TOKENS_STRETCH 5

typedef enum TokensKind {
    TOKENS_LETTER,
    TOKENS_DIGIT,
    TOKENS_BLANK,
    TOKENS_LINE, /* its end */
    TOKENS_WIDE, /* what is not ASCII */
    TOKENS_SIGN
} TokensKind;

static bool is_small(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_capital(char c)
{
    return c >= 'A' && c <= 'Z';
}

static TokensKind kind_of(char c)
{
    if (is_small(c) || is_capital(c)) {
        return TOKENS_LETTER;
    }
    if (c >= '0' && c <= '9') {
        return TOKENS_DIGIT;
    }
    if (c == '\n' || c == '\r') {
        return TOKENS_LINE;
    }
    return c == ' ' || c == '\t'      ? TOKENS_BLANK
           : (unsigned char)c >= 0x80 ? TOKENS_WIDE
                                      : TOKENS_SIGN;
}

/* The end of the piece of letters that begins at start. */
static size_t word_end(Span text, size_t start)
{
    size_t i = start + 1;

    while (i < text.n && kind_of(text.p[i]) == TOKENS_LETTER &&
           !(is_capital(text.p[i]) && is_small(text.p[i - 1]))) {
        i++;
    }
    return i;
}

static size_t run_end(Span text, size_t start, TokensKind kind)
{
    size_t i = start + 1;

    while (i < text.n && kind_of(text.p[i]) == kind) {
        i++;
    }
    return i;
}

static size_t word_cost(Span text, size_t start, size_t end)
{
    size_t n = end - start;
    bool is_shouted = n > 1 && is_capital(text.p[start]) && is_capital(text.p[start + 1]);

    if (is_shouted) {
        return TOKENS_ONE * (1 + (n - 1) / 4);
    }
    return TOKENS_ONE *
           (n <= TOKENS_WORD ? 1 : 1 + (n - TOKENS_WORD + TOKENS_STRETCH - 1) / TOKENS_STRETCH);
}

/* Signs stand in tables by twos and threes: `":"`, `"},`. One alone before a word is mostly one
 * with it: `_name`, `/path`, `.json`. */
static size_t sign_cost(Span text, size_t start, size_t end)
{
    if (end - start == 1 && end < text.n && kind_of(text.p[end]) == TOKENS_LETTER) {
        return TOKENS_GLUED;
    }
    return TOKENS_ONE * ((end - start + 3) / 4);
}

/* Letters with accents and those of other alphabets: two bytes, and about two of them a token.
 * Signs of three bytes are a word, or most of one; of four, pictures. */
static size_t wide_cost(Span text, size_t start, size_t end)
{
    size_t cost = 0;

    for (size_t i = start; i < end; i++) {
        unsigned byte = utf8_byte(text.p + i);

        cost += byte >= 0xF0 ? 2 * TOKENS_ONE : byte >= 0xE0 ? 65 : byte >= 0xC0 ? 35 : 0;
    }
    return cost;
}

size_t tokens_estimate(Span text)
{
    size_t cost = 0;

    for (size_t i = 0; i < text.n;) {
        TokensKind kind = kind_of(text.p[i]);
        size_t end = kind == TOKENS_LETTER ? word_end(text, i) : run_end(text, i, kind);

        switch (kind) {
        case TOKENS_LETTER:
            cost += word_cost(text, i, end);
            break;
        case TOKENS_DIGIT:
            cost += TOKENS_ONE * ((end - i + 2) / 3);
            break;
        case TOKENS_BLANK: /* one belongs to the word behind it */
            cost += end - i > 1 ? TOKENS_GLUED : 0;
            break;
        case TOKENS_LINE:
            cost += TOKENS_GLUED;
            break;
        case TOKENS_WIDE:
            cost += wide_cost(text, i, end);
            break;
        case TOKENS_SIGN:
            cost += sign_cost(text, i, end);
            break;
        }
        i = end;
    }
    return (cost + TOKENS_ONE - 1) / TOKENS_ONE;
}
