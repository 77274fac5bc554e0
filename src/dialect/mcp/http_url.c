#include "dialect/mcp/http_url.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "frame/http1_scan.h"

/* Up to, but without, the first byte of s that is one of stops. */
static Span part_until(Span s, const char *stops)
{
    size_t n = 0;

    while (n < s.n && strchr(stops, s.p[n]) == NULL) {
        n++;
    }
    return span_make(s.p, n);
}

static Span behind(Span s, size_t n)
{
    return span_make(s.p + n, s.n - n);
}

static bool parse_scheme(Span *rest, Span *ret)
{
    static const Span schemes[] = {SPAN_INIT("http"), SPAN_INIT("https")};

    *ret = part_until(*rest, ":");
    if ((!text_equals_nocase(*ret, schemes[0]) && !text_equals_nocase(*ret, schemes[1])) ||
        !span_starts_with(behind(*rest, ret->n), SPAN("://"))) {
        return false;
    }
    *rest = behind(*rest, ret->n + 3);
    return true;
}

bool http_url_parse(Span url, HttpUrl *ret)
{
    Span rest = part_until(url, "#");
    const char *at;

    if (url.n > HTTP_URL_MAX || !http1_scan_is_target(rest) || !parse_scheme(&rest, &ret->scheme)) {
        return false;
    }
    ret->user = SPAN_NULL;
    ret->authority = part_until(rest, "/?");
    rest = behind(rest, ret->authority.n);
    at = memchr(ret->authority.p, '@', ret->authority.n);
    if (at != NULL) {
        ret->user = span_make(ret->authority.p, (size_t)(at - ret->authority.p) + 1);
        ret->authority = behind(ret->authority, ret->user.n);
    }
    ret->path = part_until(rest, "?");
    ret->query = behind(rest, ret->path.n);
    return ret->authority.n > 0 && http1_scan_is_authority(ret->authority);
}

/* Without the port that the scheme has anyhow. */
static Span authority_plain(const HttpUrl *url)
{
    Span usual = url->scheme.n == 5 ? SPAN(":443") : SPAN(":80");

    return span_ends_with(url->authority, usual)
               ? span_make(url->authority.p, url->authority.n - usual.n)
               : url->authority;
}

bool http_url_same_origin(const HttpUrl *a, const HttpUrl *b)
{
    return text_equals_nocase(a->scheme, b->scheme) &&
           text_equals_nocase(authority_plain(a), authority_plain(b));
}

static int append_lower(Bytes *out, Span s)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < s.n; i++) {
        char c = s.p[i];

        r = bytes_append_byte(out, (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c));
    }
    return r;
}

int http_url_origin(Bytes *out, const HttpUrl *url)
{
    int r = append_lower(out, url->scheme);

    r = r != 0 ? r : bytes_append_span(out, SPAN("://"));
    return r != 0 ? r : append_lower(out, authority_plain(url));
}

/* A reference that begins with no scheme, in place of the path of base. */
static int resolve_path(Bytes *out, const HttpUrl *base, Span reference)
{
    Span folder = base->path;
    int r = 0;

    if (reference.p[0] == '?') {
        r = bytes_append_span(out, base->path);
    } else if (reference.p[0] != '/') {
        while (folder.n > 0 && folder.p[folder.n - 1] != '/') {
            folder.n--;
        }
        r = folder.n > 0 ? bytes_append_span(out, folder) : bytes_append_byte(out, '/');
    }
    return r != 0 ? r : bytes_append_span(out, reference);
}

int http_url_resolve(Bytes *out, Span base, Span reference)
{
    HttpUrl from;
    HttpUrl to;
    size_t n_before = out->n;
    int r;

    reference = part_until(text_trim(reference), "#");
    if (!http_url_parse(base, &from) || !http1_scan_is_target(reference) ||
        span_starts_with(reference, SPAN("//"))) {
        return HTTP_URL_E_SYNTAX;
    }
    to = from;
    if (http_url_parse(reference, &to)) {
        if (!http_url_same_origin(&from, &to)) {
            return HTTP_URL_E_ORIGIN;
        }
        reference = span_make(to.path.p, to.path.n + to.query.n);
    } else if (part_until(reference, "/?").n != part_until(reference, ":/?").n) {
        return HTTP_URL_E_ORIGIN; /* another scheme */
    }
    r = bytes_append_span(out, from.scheme);
    r = r != 0 ? r : bytes_append_span(out, SPAN("://"));
    r = r != 0 ? r : bytes_append_span(out, from.user);
    r = r != 0 ? r : bytes_append_span(out, from.authority);
    if (r == 0) {
        r = reference.n == 0 ? bytes_append_byte(out, '/') : resolve_path(out, &from, reference);
    }
    if (r != 0) {
        out->n = n_before;
    }
    return r;
}

void http_url_show(Span url, char *ret, size_t size)
{
    HttpUrl parts;

    if (!http_url_parse(url, &parts)) {
        (void)snprintf(ret, size, "(no address)");
        return;
    }
    (void)snprintf(ret, size, "%.*s://%.*s%.*s", (int)parts.scheme.n, parts.scheme.p,
                   (int)parts.authority.n, parts.authority.p, (int)parts.path.n, parts.path.p);
}
