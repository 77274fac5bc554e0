/* "format": "regex". Reads the pattern as ECMA-262 does in Unicode mode, without building anything:
 * PCRE2 would accept Perl's and Python's own syntax, refuse some of ECMA's, and allocate.
 *
 * Laxer than the letter in two places: a lone ']' or '}' and a '{' that begins no quantifier pass,
 * as in every browser outside Unicode mode. */
#include "json/schema/format.h"
#include "json/schema/format_scan.h"

#include <stdint.h>

typedef struct RegexScan {
    Span rest;
    uint32_t n_open; /* groups not yet closed; a count suffices, every ')' closes the nearest */
    bool can_repeat; /* something stands here that a quantifier may follow */
} RegexScan;

/* Takes exactly n hexadecimal digits. */
static bool regex_take_hex(RegexScan *x, size_t n)
{
    if (x->rest.n < n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!scan_is_hex(x->rest.p[i])) {
            return false;
        }
    }
    x->rest = scan_skip(x->rest, n);
    return true;
}

/* Takes "{name}" or "<name>"; what may be in it is not looked at. */
static bool regex_take_enclosed(RegexScan *x, char open, char close)
{
    size_t n = 0;

    if (!scan_take(&x->rest, open)) {
        return false;
    }
    while (n < x->rest.n && x->rest.p[n] != close) {
        n++;
    }
    if (n == 0 || n == x->rest.n) {
        return false;
    }
    x->rest = scan_skip(x->rest, n + 1);
    return true;
}

/* Behind a backslash. */
static bool regex_take_escape(RegexScan *x, bool in_class)
{
    char c;

    if (x->rest.n == 0) {
        return false;
    }
    c = x->rest.p[0];
    x->rest = scan_skip(x->rest, 1);
    switch (c) {
    case 'B':
        return !in_class;
    case 'c':
        if (x->rest.n == 0 || !scan_is_alpha(x->rest.p[0])) {
            return false;
        }
        x->rest = scan_skip(x->rest, 1);
        return true;
    case 'x':
        return regex_take_hex(x, 2);
    case 'u':
        return scan_at(x->rest, '{') ? regex_take_enclosed(x, '{', '}') : regex_take_hex(x, 4);
    case 'p':
    case 'P':
        return regex_take_enclosed(x, '{', '}');
    case 'k':
        return regex_take_enclosed(x, '<', '>');
    default:
        return !scan_is_alpha(c) || scan_is_in(c, "bdDwWsSfnrtv");
    }
}

/* Behind '['. "[]" and "[^]" are classes in ECMA. */
static bool regex_take_class(RegexScan *x)
{
    (void)scan_take(&x->rest, '^');
    while (x->rest.n > 0) {
        if (scan_take(&x->rest, ']')) {
            x->can_repeat = true;
            return true;
        }
        if (scan_take(&x->rest, '\\')) {
            if (!regex_take_escape(x, true)) {
                return false;
            }
        } else if (x->rest.n > 2 && x->rest.p[1] == '-' && !scan_is_in(x->rest.p[2], "]\\") &&
                   !scan_is_wide(x->rest.p[0]) && !scan_is_wide(x->rest.p[2])) {
            /* "z-a" is an error; ranges of escapes and wide characters are taken on trust. */
            if (x->rest.p[0] > x->rest.p[2]) {
                return false;
            }
            x->rest = scan_skip(x->rest, 3);
        } else {
            x->rest = scan_skip(x->rest, 1);
        }
    }
    return false;
}

/* Behind '('. */
static bool regex_take_group(RegexScan *x)
{
    x->n_open++;
    x->can_repeat = false;
    if (!scan_take(&x->rest, '?')) {
        return true;
    }
    if (scan_take(&x->rest, ':') || scan_take(&x->rest, '=') || scan_take(&x->rest, '!')) {
        return true;
    }
    if (!scan_take(&x->rest, '<')) {
        return false;
    }
    if (scan_take(&x->rest, '=') || scan_take(&x->rest, '!')) {
        return true;
    }
    for (size_t n = 0; n < x->rest.n; n++) {
        char c = x->rest.p[n];

        if (c == '>') {
            x->rest = scan_skip(x->rest, n + 1);
            return n > 0;
        }
        if (!scan_is_alpha(c) && !scan_is_wide(c) && c != '_' && c != '$' &&
            (n == 0 || !scan_is_digit(c))) {
            return false;
        }
    }
    return false;
}

/* "{2}", "{2,}", "{2,5}" behind the brace; anything else is a literal brace. */
static void regex_take_braces(RegexScan *x, bool *ret_is_quantifier)
{
    Span s = x->rest;
    size_t n = scan_digits(s);

    *ret_is_quantifier = false;
    if (n == 0) {
        return;
    }
    s = scan_skip(s, n);
    if (scan_take(&s, ',')) {
        s = scan_skip(s, scan_digits(s));
    }
    if (scan_take(&s, '}')) {
        x->rest = s;
        *ret_is_quantifier = true;
    }
}

static bool regex_take_quantifier(RegexScan *x)
{
    if (!x->can_repeat) {
        return false;
    }
    (void)scan_take(&x->rest, '?');
    x->can_repeat = false;
    return true;
}

static bool regex_take_one(RegexScan *x)
{
    char c = x->rest.p[0];
    bool is_quantifier = c != '{';

    x->rest = scan_skip(x->rest, 1);
    switch (c) {
    case '\\':
        x->can_repeat = true;
        return regex_take_escape(x, false);
    case '[':
        return regex_take_class(x);
    case '(':
        return regex_take_group(x);
    case ')':
        x->can_repeat = true;
        return x->n_open-- > 0;
    case '{':
        regex_take_braces(x, &is_quantifier);
        if (!is_quantifier) {
            x->can_repeat = true;
            return true;
        }
        return regex_take_quantifier(x);
    case '*':
    case '+':
    case '?':
        return regex_take_quantifier(x);
    case '|':
    case '^':
    case '$':
        x->can_repeat = false;
        return true;
    default:
        x->can_repeat = true;
        return true;
    }
}

bool format_regex(Span s)
{
    RegexScan x = {.rest = s};

    while (x.rest.n > 0) {
        if (!regex_take_one(&x)) {
            return false;
        }
    }
    return x.n_open == 0;
}
