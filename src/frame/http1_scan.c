#include "frame/http1_scan.h"

#include <stdint.h>

#include "base/compiler.h"
#include "base/text.h"

#if TW_X86
#include <emmintrin.h>
#endif

enum {
    SCAN_TOKEN = 1u << 0,     /* RFC 9110, 5.6.2 */
    SCAN_VALUE = 1u << 1,     /* tab, space to '~', and all above ASCII */
    SCAN_TARGET = 1u << 2,    /* '!' to '~' without '#': a fragment is never sent */
    SCAN_HEX = 1u << 3,       /* digits of a chunk's size */
    SCAN_AUTHORITY = 1u << 4, /* RFC 3986 without user names; no ',' either, which joins fields */
};

/* The classes of each byte. */
/* clang-format off */
static const uint8_t scan_classes[256] = {
     0,  0,  0,  0,  0,  0,  0,  0,  0,  2,  0,  0,  0,  0,  0,  0,
     0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
     2, 23,  6,  3, 23, 23, 23, 23, 22, 22, 23, 23,  6, 23, 23,  6,
    31, 31, 31, 31, 31, 31, 31, 31, 31, 31, 22, 22,  6, 22,  6,  6,
     6, 31, 31, 31, 31, 31, 31, 23, 23, 23, 23, 23, 23, 23, 23, 23,
    23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 22,  6, 22,  7, 23,
     7, 31, 31, 31, 31, 31, 31, 23, 23, 23, 23, 23, 23, 23, 23, 23,
    23, 23, 23, 23, 23, 23, 23, 23, 23, 23, 23,  6,  7,  6, 23,  0,
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
     2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,  2,
};
/* clang-format on */

static unsigned scan_class(char c)
{
    return scan_classes[(unsigned char)c];
}

static bool scan_all(Span s, unsigned class)
{
    unsigned common = class;

    for (size_t i = 0; i < s.n; i++) {
        common &= scan_class(s.p[i]);
    }
    return common != 0;
}

/* Many bytes at once, as far as that goes; elsewhere, and behind that, they are looked at one by
 * one. */
#if TW_X86
#define SCAN_STEP ((size_t)16)

static __m128i scan_in_range(__m128i bytes, char first, char n)
{
    __m128i from_first = _mm_sub_epi8(bytes, _mm_set1_epi8(first));

    return _mm_cmpeq_epi8(_mm_min_epu8(from_first, _mm_set1_epi8(n)), from_first);
}

/* Which of 16 bytes are control characters, tab among them; the first is lowest. */
static unsigned scan_controls(const char *p)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i is_del = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(0x7f));

    return (unsigned)_mm_movemask_epi8(_mm_or_si128(scan_in_range(bytes, 0, 0x1f), is_del));
}

/* Which of 16 bytes are not what nearly all names are made of: letters, digits, '-'. */
static unsigned scan_unusual(const char *p)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i small = _mm_or_si128(bytes, _mm_set1_epi8(0x20));
    __m128i usual = _mm_or_si128(scan_in_range(small, 'a', 'z' - 'a'),
                                 _mm_or_si128(scan_in_range(bytes, '0', '9' - '0'),
                                              _mm_cmpeq_epi8(bytes, _mm_set1_epi8('-'))));

    return (unsigned)_mm_movemask_epi8(usual) ^ 0xffffu;
}
#else
#define SCAN_STEP ((size_t)1)

static unsigned scan_controls(const char *p)
{
    return (scan_class(p[0]) & SCAN_VALUE) == 0 || p[0] == '\t';
}

static unsigned scan_unusual(const char *p)
{
    return (scan_class(p[0]) & SCAN_TOKEN) == 0;
}
#endif

size_t http1_scan_value_n(Span s)
{
    size_t i = 0;

    while (s.n - i >= SCAN_STEP) {
        unsigned controls = scan_controls(s.p + i);

        if (controls == 0) {
            i += SCAN_STEP;
            continue;
        }
        i += (size_t)__builtin_ctz(controls);
        if (s.p[i] != '\t') {
            return i;
        }
        i++;
    }
    while (i < s.n && (scan_class(s.p[i]) & SCAN_VALUE) != 0) {
        i++;
    }
    return i;
}

size_t http1_scan_token_n(Span s)
{
    size_t i = 0;

    while (s.n - i >= SCAN_STEP) {
        unsigned unusual = scan_unusual(s.p + i);

        if (unusual != 0) {
            i += (size_t)__builtin_ctz(unusual);
            break;
        }
        i += SCAN_STEP;
    }
    while (i < s.n && (scan_class(s.p[i]) & SCAN_TOKEN) != 0) {
        i++;
    }
    return i;
}

bool http1_scan_is_value(Span s)
{
    return http1_scan_value_n(s) == s.n;
}

bool http1_scan_is_token(Span s)
{
    return s.n > 0 && http1_scan_token_n(s) == s.n;
}

bool http1_scan_is_plain(Span s)
{
    unsigned char all = 0;

    for (size_t i = 0; i < s.n; i++) {
        all |= (unsigned char)s.p[i];
    }
    return all < 0x80 && http1_scan_is_value(s);
}

bool http1_scan_is_target(Span s)
{
    return s.n > 0 && scan_all(s, SCAN_TARGET);
}

bool http1_scan_is_authority(Span s)
{
    return scan_all(s, SCAN_AUTHORITY);
}

static bool scan_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

Span http1_scan_trim(Span s)
{
    while (s.n > 0 && scan_is_blank(s.p[0])) {
        s = span_make(s.p + 1, s.n - 1);
    }
    while (s.n > 0 && scan_is_blank(s.p[s.n - 1])) {
        s.n--;
    }
    return s;
}

/* Takes what stands before the first c off *rest, and c with it; false if there is no c. */
static bool scan_take(Span *rest, char c, Span *ret)
{
    const char *at = rest->n == 0 ? NULL : memchr(rest->p, c, rest->n);

    if (at == NULL) {
        return false;
    }
    *ret = span_make(rest->p, (size_t)(at - rest->p));
    *rest = span_make(at + 1, rest->n - ret->n - 1);
    return true;
}

static bool scan_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* "HTTP/1.1", exactly. A well-formed version that is another is told from nonsense. */
static Http1Fault scan_version(Span s, Http1Head *head)
{
    if (s.n != 8 || !span_starts_with(s, SPAN("HTTP/")) || !scan_is_digit(s.p[5]) ||
        s.p[6] != '.' || !scan_is_digit(s.p[7])) {
        return HTTP1_FAULT_SYNTAX;
    }
    if (s.p[5] != '1' || s.p[7] > '1') {
        return HTTP1_FAULT_VERSION;
    }
    head->minor = s.p[7] == '1';
    return HTTP1_FAULT_NONE;
}

Http1Fault http1_scan_request_line(Span line, size_t max_target, Http1Head *head)
{
    Span rest = line;

    if (!http1_scan_is_value(line)) {
        return HTTP1_FAULT_CONTROL;
    }
    /* One space between the three, no more: others than us may see a blank target. */
    if (!scan_take(&rest, ' ', &head->method_name) || !http1_scan_is_token(head->method_name) ||
        !scan_take(&rest, ' ', &head->target)) {
        return HTTP1_FAULT_SYNTAX;
    }
    if (head->target.n > max_target) {
        return HTTP1_FAULT_TARGET_TOO_LONG;
    }
    if (!http1_scan_is_target(head->target)) {
        return HTTP1_FAULT_TARGET;
    }
    return scan_version(rest, head);
}

Http1Fault http1_scan_status_line(Span line, Http1Head *head)
{
    Span rest = line;
    Span version = SPAN_NULL;
    Http1Fault fault;

    if (!http1_scan_is_value(line)) {
        return HTTP1_FAULT_CONTROL;
    }
    if (!scan_take(&rest, ' ', &version)) {
        return HTTP1_FAULT_SYNTAX;
    }
    fault = scan_version(version, head);
    if (fault != HTTP1_FAULT_NONE) {
        return fault;
    }
    if (rest.n < 3 || !scan_is_digit(rest.p[0]) || rest.p[0] == '0' || !scan_is_digit(rest.p[1]) ||
        !scan_is_digit(rest.p[2]) || (rest.n > 3 && rest.p[3] != ' ')) {
        return HTTP1_FAULT_SYNTAX;
    }
    head->status = (unsigned)((rest.p[0] - '0') * 100 + (rest.p[1] - '0') * 10 + rest.p[2] - '0');
    head->reason = rest.n > 4 ? span_make(rest.p + 4, rest.n - 4) : SPAN_NULL;
    return HTTP1_FAULT_NONE;
}

Http1Fault http1_scan_field_line(Span line)
{
    Span rest = line;
    Span name = SPAN_NULL;

    if (line.n > 0 && scan_is_blank(line.p[0])) {
        return HTTP1_FAULT_FOLDED;
    }
    if (!scan_take(&rest, ':', &name) || !http1_scan_is_token(name)) {
        return HTTP1_FAULT_FIELD_NAME;
    }
    return http1_scan_is_value(rest) ? HTTP1_FAULT_NONE : HTTP1_FAULT_CONTROL;
}

Http1Fault http1_scan_chunk_line(Span line, size_t *ret_extension)
{
    size_t n = 0;

    while (n < line.n && (scan_classes[(unsigned char)line.p[n]] & SCAN_HEX) != 0) {
        n++;
    }
    /* Blanks behind the number are legal before an extension, and how others were tricked. */
    if (n == 0 || n > HTTP1_SCAN_CHUNK_DIGITS || (n < line.n && line.p[n] != ';') ||
        !http1_scan_is_value(line)) {
        return HTTP1_FAULT_CHUNK;
    }
    *ret_extension = line.n - n;
    return HTTP1_FAULT_NONE;
}

/* "http://authority/path" without what stands before the authority. */
static bool scan_take_scheme(Span *rest)
{
    static const Span schemes[] = {SPAN_INIT("http://"), SPAN_INIT("https://")};

    for (size_t i = 0; i < TW_ARRAY_SIZE(schemes); i++) {
        size_t n = schemes[i].n;

        if (rest->n >= n && text_equals_nocase(span_make(rest->p, n), schemes[i])) {
            *rest = span_make(rest->p + n, rest->n - n);
            return true;
        }
    }
    return false;
}

Http1Fault http1_scan_target(Http1Head *head, Span *ret_authority)
{
    Span rest = head->target;
    size_t n = 0;

    *ret_authority = SPAN_NULL;
    if (span_equals(rest, SPAN("*")) && head->method == HTTP1_METHOD_OPTIONS) {
        head->path = rest;
        return HTTP1_FAULT_NONE;
    }
    if (scan_take_scheme(&rest)) {
        while (n < rest.n && rest.p[n] != '/' && rest.p[n] != '?') {
            n++;
        }
        *ret_authority = span_make(rest.p, n);
        rest = span_make(rest.p + n, rest.n - n);
        if (n == 0 || !http1_scan_is_authority(*ret_authority)) {
            return HTTP1_FAULT_TARGET;
        }
    } else if (rest.p[0] != '/') {
        return HTTP1_FAULT_TARGET;
    }
    /* An address may have no path at all, "http://host?query", and then means "/". */
    if (scan_take(&rest, '?', &head->path)) {
        head->query = rest;
    } else {
        head->path = rest;
    }
    if (head->path.n == 0) {
        head->path = SPAN("/");
    }
    return HTTP1_FAULT_NONE;
}
