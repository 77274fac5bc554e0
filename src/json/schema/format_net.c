/* Addresses, host names, mailboxes and UUIDs. */
#include "json/schema/format.h"
#include "json/schema/format_scan.h"

#include <stdint.h>

bool format_ipv4(Span s)
{
    for (int part = 0; part < 4; part++) {
        size_t n = scan_digits(s);
        int value;

        if (n == 0 || n > 3 || (n > 1 && s.p[0] == '0') || !scan_number(&s, n, &value) ||
            value > 255) {
            return false;
        }
        if (part < 3 && !scan_take(&s, '.')) {
            return false;
        }
    }
    return s.n == 0;
}

static bool ipv6_take_gap(Span *s)
{
    if (!span_starts_with(*s, SPAN("::"))) {
        return false;
    }
    *s = scan_skip(*s, 2);
    return true;
}

/* Takes one group, or the dotted quad that may stand for the last two; returns how many groups that
 * was, 0 for neither. */
static int ipv6_take_groups(Span *s)
{
    size_t n = 0;

    while (n < s->n && scan_is_hex(s->p[n])) {
        n++;
    }
    if (n < s->n && s->p[n] == '.') {
        if (!format_ipv4(*s)) {
            return 0;
        }
        *s = scan_skip(*s, s->n);
        return 2;
    }
    *s = scan_skip(*s, n);
    return n >= 1 && n <= 4 ? 1 : 0;
}

bool format_ipv6(Span s)
{
    bool has_gap = ipv6_take_gap(&s);
    bool is_open = has_gap; /* a group may be missing here */
    int n_groups = 0;

    while (s.n > 0 || !is_open) {
        int n = ipv6_take_groups(&s);

        n_groups += n;
        if (n == 0) {
            return false;
        }
        if (s.n == 0) {
            break;
        }
        is_open = ipv6_take_gap(&s);
        if (is_open ? has_gap : !scan_take(&s, ':')) {
            return false;
        }
        has_gap |= is_open;
    }
    return has_gap ? n_groups < 8 : n_groups == 8;
}

/* The state of an RFC 3492 decoder that keeps no output: only the numbers that steer it. */
typedef struct Punycode {
    Span rest;
    uint64_t i;
    uint64_t n_out;
    uint32_t code_point;
    uint32_t bias;
} Punycode;

static int punycode_digit(char c)
{
    if (scan_is_digit(c)) {
        return c - '0' + 26;
    }
    return scan_is_alpha(c) ? (c | 32) - 'a' : -1;
}

/* Adds one variable-length integer to i. */
static bool punycode_take_delta(Punycode *p)
{
    uint64_t weight = 1;

    for (uint32_t k = 36;; k += 36) {
        uint32_t threshold = k <= p->bias ? 1 : (k >= p->bias + 26 ? 26 : k - p->bias);
        int digit = p->rest.n == 0 ? -1 : punycode_digit(p->rest.p[0]);

        if (digit < 0) {
            return false;
        }
        p->rest = scan_skip(p->rest, 1);
        p->i += (uint64_t)digit * weight;
        if (p->i > UINT32_MAX || weight > UINT32_MAX) {
            return false;
        }
        if ((uint32_t)digit < threshold) {
            return true;
        }
        weight *= 36 - threshold;
    }
}

static uint32_t punycode_adapt(uint64_t delta, uint64_t n_out, bool is_first)
{
    uint32_t bias = 0;

    delta /= is_first ? 700 : 2;
    delta += delta / n_out;
    for (; delta > 455; bias += 36) {
        delta /= 35;
    }
    return bias + (uint32_t)(36 * delta / (delta + 38));
}

/* Is the part behind "xn--" the encoding of some label that is not ASCII? Which characters IDNA
 * allows in it needs tables that we do not carry. */
static bool punycode_is_valid(Span s)
{
    Punycode p = {.rest = s, .code_point = 128, .bias = 72};
    bool is_first = true;

    for (size_t k = s.n; k > 0; k--) {
        if (s.p[k - 1] == '-') {
            p.n_out = k - 1;
            p.rest = scan_skip(s, k);
            break;
        }
    }
    if (p.rest.n == 0) {
        return false;
    }
    for (; p.rest.n > 0; is_first = false) {
        uint64_t before = p.i;

        if (!punycode_take_delta(&p)) {
            return false;
        }
        p.n_out++;
        p.bias = punycode_adapt(p.i - before, p.n_out, is_first);
        p.code_point += (uint32_t)(p.i / p.n_out);
        p.i = p.i % p.n_out + 1;
        if (p.code_point > 0x10FFFF) {
            return false;
        }
    }
    return true;
}

static bool hostname_label_is_valid(Span label, bool wide)
{
    if (label.n == 0 || label.n > 63 || label.p[0] == '-' || label.p[label.n - 1] == '-') {
        return false;
    }
    for (size_t i = 0; i < label.n; i++) {
        char c = label.p[i];

        if (!scan_is_alpha(c) && !scan_is_digit(c) && c != '-' && !(wide && scan_is_wide(c))) {
            return false;
        }
    }
    if (label.n > 3 && label.p[2] == '-' && label.p[3] == '-' && (label.p[0] | 32) == 'x' &&
        (label.p[1] | 32) == 'n') {
        return punycode_is_valid(scan_skip(label, 4));
    }
    return true;
}

static bool hostname_is_valid(Span s, bool wide)
{
    if (s.n == 0 || s.n > 253) {
        return false;
    }
    for (;;) {
        size_t n = 0;

        while (n < s.n && s.p[n] != '.') {
            n++;
        }
        if (!hostname_label_is_valid(span_make(s.p, n), wide)) {
            return false;
        }
        if (n == s.n) {
            return true;
        }
        s = scan_skip(s, n + 1);
    }
}

bool format_hostname(Span s)
{
    return hostname_is_valid(s, false);
}

/* Takes a quoted string behind its first quote. */
static bool email_take_quoted(Span *s, bool wide)
{
    while (s->n > 0 && s->p[0] != '"') {
        size_t escape = s->p[0] == '\\' ? 1 : 0;
        char c;

        if (s->n <= escape) {
            return false;
        }
        c = s->p[escape];
        if (scan_is_wide(c) ? !wide : (c < 32 || c == 127)) {
            return false;
        }
        *s = scan_skip(*s, escape + 1);
    }
    return scan_take(s, '"');
}

static bool email_is_atom(char c, bool wide)
{
    return scan_is_alpha(c) || scan_is_digit(c) || scan_is_in(c, "!#$%&'*+-/=?^_`{|}~") ||
           (wide && scan_is_wide(c));
}

/* Takes a dot-atom or a quoted string and leaves s behind it. */
static bool email_take_local(Span *s, bool wide)
{
    bool after_dot = true;

    if (scan_take(s, '"')) {
        return email_take_quoted(s, wide);
    }
    for (; s->n > 0 && s->p[0] != '@'; *s = scan_skip(*s, 1)) {
        bool is_dot = s->p[0] == '.';

        if (is_dot ? after_dot : !email_is_atom(s->p[0], wide)) {
            return false;
        }
        after_dot = is_dot;
    }
    return !after_dot;
}

static bool email_is_valid(Span s, bool wide)
{
    if (!email_take_local(&s, wide) || !scan_take(&s, '@')) {
        return false;
    }
    if (s.n > 2 && s.p[0] == '[' && s.p[s.n - 1] == ']') {
        Span literal = span_make(s.p + 1, s.n - 2);

        if (span_starts_with(literal, SPAN("IPv6:"))) {
            return format_ipv6(scan_skip(literal, 5));
        }
        return format_ipv4(literal);
    }
    return hostname_is_valid(s, wide);
}

bool format_email(Span s)
{
    return email_is_valid(s, false);
}

bool format_idn_email(Span s)
{
    return email_is_valid(s, true);
}

bool format_uuid(Span s)
{
    if (s.n != 36) {
        return false;
    }
    for (size_t i = 0; i < s.n; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (is_dash ? s.p[i] != '-' : !scan_is_hex(s.p[i])) {
            return false;
        }
    }
    return true;
}
