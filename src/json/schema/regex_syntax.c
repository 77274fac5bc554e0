/* A schema that relies on Perl's syntax works here and nowhere else, and some of it (recursion,
 * backtracking verbs) costs what no limit foresees. So it is refused when the schema is compiled.
 * Escapes are not looked at: those that ECMA does not know are letters (regex_translate.c). */
#include "json/schema/regex_syntax.h"

#include "json/schema/format_scan.h"

/* Behind "(?". */
static const char *syntax_group(Span s)
{
    size_t n = 0;

    if (s.n > 0 && scan_is_in(s.p[0], ":=!<")) {
        return NULL;
    }
    /* ECMA-262 of 2025 has (?i:...), also with "-". Its "s" would change what a dot means. */
    while (n < s.n && scan_is_in(s.p[n], "im-")) {
        n++;
    }
    if (n > 0 && n < s.n && s.p[n] == ':') {
        return NULL;
    }
    return "unknown kind of group behind (?";
}

/* The quantifier at the start of s, without its '?'; 0 if there is none. */
static size_t syntax_quantifier(Span s)
{
    size_t n = 1;

    if (s.n == 0 || !scan_is_in(s.p[0], "*+?{")) {
        return 0;
    }
    if (s.p[0] != '{') {
        return 1;
    }
    n += scan_digits(scan_skip(s, 1));
    if (n == 1) {
        return 0;
    }
    if (n < s.n && s.p[n] == ',') {
        n++;
        n += scan_digits(scan_skip(s, n));
    }
    return n < s.n && s.p[n] == '}' ? n + 1 : 0;
}

/* The length of the class at the start of s; all of s if it has no end. */
static size_t syntax_class(Span s)
{
    size_t n = 1;

    while (n < s.n && s.p[n] != ']') {
        n += s.p[n] == '\\' && n + 1 < s.n ? 2 : 1;
    }
    return n < s.n ? n + 1 : s.n;
}

const char *regex_syntax_refuse(Span pattern)
{
    Span s = pattern;

    while (s.n > 0) {
        size_t n = syntax_quantifier(s);
        const char *reason = NULL;

        if (n > 0) {
            s = scan_skip(s, n);
            (void)scan_take(&s, '?');
            if (syntax_quantifier(s) > 0) {
                return "a quantifier behind a quantifier (a++, a*+) has nothing to repeat";
            }
            continue;
        }
        n = 1;
        if (s.p[0] == '\\') {
            n = s.n > 1 ? 2 : 1;
        } else if (s.p[0] == '[') {
            n = syntax_class(s);
        } else if (s.p[0] == '(' && s.n > 1 && s.p[1] == '*') {
            return "unknown kind of group (*";
        } else if (s.p[0] == '(' && s.n > 1 && s.p[1] == '?') {
            n = 2;
            reason = syntax_group(scan_skip(s, 2));
        }
        if (reason != NULL) {
            return reason;
        }
        s = scan_skip(s, n);
    }
    return NULL;
}
