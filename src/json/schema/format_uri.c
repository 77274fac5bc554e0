/* URIs, URI templates and JSON pointers. */
#include "json/schema/format.h"
#include "json/schema/format_scan.h"

#define URI_SUB_DELIMS "!$&'()*+,;="

static bool uri_is_unreserved(char c, bool wide)
{
    return scan_is_alpha(c) || scan_is_digit(c) || scan_is_in(c, "-._~") ||
           (wide && scan_is_wide(c));
}

/* Is all of s unreserved, percent-encoded, or in extra? */
static bool uri_consists_of(Span s, const char *extra, bool wide)
{
    while (s.n > 0) {
        if (scan_is_percent(s)) {
            s = scan_skip(s, 3);
        } else if (uri_is_unreserved(s.p[0], wide) || scan_is_in(s.p[0], extra)) {
            s = scan_skip(s, 1);
        } else {
            return false;
        }
    }
    return true;
}

/* The part of s before the first character of set, which is cut off s. */
static Span uri_take_until(Span *s, const char *set)
{
    size_t n = 0;

    while (n < s->n && !scan_is_in(s->p[n], set)) {
        n++;
    }
    *s = scan_skip(*s, n);
    return span_make(s->p - n, n);
}

/* "[2001:db8::7]" or "[v1.fe]", without the brackets. */
static bool uri_is_ip_literal(Span s)
{
    if (s.n > 0 && (s.p[0] | 32) == 'v') {
        size_t n = 1;

        while (n < s.n && scan_is_hex(s.p[n])) {
            n++;
        }
        return n > 1 && n + 1 < s.n && s.p[n] == '.' &&
               uri_consists_of(scan_skip(s, n + 1), URI_SUB_DELIMS ":", false);
    }
    return format_ipv6(s);
}

static bool uri_is_authority(Span s, bool wide)
{
    Span rest = s;
    Span user = uri_take_until(&rest, "@");

    if (rest.n > 0) {
        if (!uri_consists_of(user, URI_SUB_DELIMS ":", wide)) {
            return false;
        }
        s = scan_skip(rest, 1);
    }
    if (scan_take(&s, '[')) {
        Span literal = uri_take_until(&s, "]");

        if (!scan_take(&s, ']') || !uri_is_ip_literal(literal)) {
            return false;
        }
    } else if (!uri_consists_of(uri_take_until(&s, ":"), URI_SUB_DELIMS, wide)) {
        return false;
    }
    return s.n == 0 || (scan_take(&s, ':') && scan_digits(s) == s.n);
}

static size_t uri_scheme_length(Span s)
{
    size_t n = 0;

    while (n < s.n && (scan_is_alpha(s.p[n]) ||
                       (n > 0 && (scan_is_digit(s.p[n]) || scan_is_in(s.p[n], "+-."))))) {
        n++;
    }
    return n > 0 && n < s.n && s.p[n] == ':' ? n + 1 : 0;
}

static bool uri_is_valid(Span s, bool needs_scheme, bool wide)
{
    size_t scheme = uri_scheme_length(s);
    Span path;

    if (needs_scheme && scheme == 0) {
        return false;
    }
    s = scan_skip(s, scheme);
    if (span_starts_with(s, SPAN("//"))) {
        s = scan_skip(s, 2);
        if (!uri_is_authority(uri_take_until(&s, "/?#"), wide)) {
            return false;
        }
    } else if (scheme == 0) {
        /* "1:b": without a scheme, a colon in the first segment would read as one. */
        Span rest = s;
        Span segment = uri_take_until(&rest, "/?#");

        if (segment.n > 0 && memchr(segment.p, ':', segment.n) != NULL) {
            return false;
        }
    }
    path = uri_take_until(&s, "?#");
    if (!uri_consists_of(path, URI_SUB_DELIMS ":@/", wide)) {
        return false;
    }
    if (scan_take(&s, '?') &&
        !uri_consists_of(uri_take_until(&s, "#"), URI_SUB_DELIMS ":@/?", wide)) {
        return false;
    }
    return s.n == 0 || uri_consists_of(scan_skip(s, 1), URI_SUB_DELIMS ":@/?", wide);
}

bool format_uri(Span s)
{
    return uri_is_valid(s, true, false);
}

bool format_uri_reference(Span s)
{
    return uri_is_valid(s, false, false);
}

bool format_iri(Span s)
{
    return uri_is_valid(s, true, true);
}

bool format_iri_reference(Span s)
{
    return uri_is_valid(s, false, true);
}

/* One or more letters, digits, '_' or triplets. */
static bool template_take_word(Span *s)
{
    size_t before = s->n;

    for (;;) {
        if (scan_is_percent(*s)) {
            *s = scan_skip(*s, 3);
        } else if (s->n > 0 &&
                   (scan_is_alpha(s->p[0]) || scan_is_digit(s->p[0]) || s->p[0] == '_')) {
            *s = scan_skip(*s, 1);
        } else {
            return s->n < before;
        }
    }
}

static bool template_take_variable(Span *s)
{
    do {
        if (!template_take_word(s)) {
            return false;
        }
    } while (scan_take(s, '.'));
    if (scan_take(s, ':')) {
        size_t n = scan_digits(*s);

        if (n == 0 || n > 4 || s->p[0] == '0') {
            return false;
        }
        *s = scan_skip(*s, n);
        return true;
    }
    (void)scan_take(s, '*');
    return true;
}

bool format_uri_template(Span s)
{
    while (s.n > 0) {
        char c = s.p[0];

        if (c == '{') {
            s = scan_skip(s, 1);
            if (s.n > 0 && scan_is_in(s.p[0], "+#./;?&")) {
                s = scan_skip(s, 1);
            }
            do {
                if (!template_take_variable(&s)) {
                    return false;
                }
            } while (scan_take(&s, ','));
            if (!scan_take(&s, '}')) {
                return false;
            }
        } else if (c == '%') {
            if (!scan_is_percent(s)) {
                return false;
            }
            s = scan_skip(s, 3);
        } else if ((unsigned char)c <= 32 || c == 127 || scan_is_in(c, "\"<>\\^`|}")) {
            return false;
        } else {
            s = scan_skip(s, 1);
        }
    }
    return true;
}

bool format_json_pointer(Span s)
{
    if (s.n > 0 && s.p[0] != '/') {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '~' && (i + 1 == s.n || (s.p[i + 1] != '0' && s.p[i + 1] != '1'))) {
            return false;
        }
    }
    return true;
}

bool format_relative_json_pointer(Span s)
{
    size_t n = scan_digits(s);

    if (n == 0 || (n > 1 && s.p[0] == '0')) {
        return false;
    }
    s = scan_skip(s, n);
    return (s.n == 1 && s.p[0] == '#') || format_json_pointer(s);
}
