#include "oauth/url.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"

/* ---- taking apart ---- */

static bool url_is_byte(char c)
{
    return c > ' ' && c < 0x7f && strchr("\"<>\\^`{|}#", c) == NULL;
}

static bool url_is_digits(Span s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9') {
            return false;
        }
    }
    return s.n <= 5;
}

/* host:port into its parts. */
static bool url_split_authority(OauthUrl *url)
{
    Span all = url->authority;
    size_t end;

    if (all.n == 0 || memchr(all.p, '@', all.n) != NULL) {
        return false;
    }
    if (all.p[0] == '[') {
        const char *close = memchr(all.p, ']', all.n);

        if (close == NULL) {
            return false;
        }
        end = (size_t)(close - all.p) + 1;
    } else {
        const char *colon = memchr(all.p, ':', all.n);

        end = colon == NULL ? all.n : (size_t)(colon - all.p);
    }
    url->host = span_make(all.p, end);
    url->port = SPAN_NULL;
    if (end < all.n) {
        if (all.p[end] != ':') {
            return false;
        }
        url->port = span_make(all.p + end + 1, all.n - end - 1);
    }
    return url->host.n > 0 && url_is_digits(url->port);
}

int oauth_url_parse(OauthUrl *ret, Span text)
{
    OauthUrl url = {.is_https = false};
    const char *query;
    size_t scheme;
    size_t end;

    for (size_t i = 0; i < text.n; i++) {
        if (!url_is_byte(text.p[i])) {
            return OAUTH_URL_E_SYNTAX;
        }
    }
    if (text.n >= 8 && text_equals_nocase(span_make(text.p, 8), SPAN("https://"))) {
        url.is_https = true;
        scheme = 8;
    } else if (text.n >= 7 && text_equals_nocase(span_make(text.p, 7), SPAN("http://"))) {
        scheme = 7;
    } else {
        return OAUTH_URL_E_SYNTAX;
    }
    for (end = scheme; end < text.n && text.p[end] != '/' && text.p[end] != '?'; end++) {
    }
    url.authority = span_make(text.p + scheme, end - scheme);
    url.origin = span_make(text.p, end);
    url.path = span_make(text.p + end, text.n - end);
    query = url.path.n == 0 ? NULL : memchr(url.path.p, '?', url.path.n);
    if (query != NULL) {
        url.has_query = true;
        url.query = span_make(query + 1, (size_t)(text.p + text.n - query) - 1);
        url.path.n = (size_t)(query - url.path.p);
    }
    if (!url_split_authority(&url)) {
        return OAUTH_URL_E_SYNTAX;
    }
    *ret = url;
    return 0;
}

/* ---- comparing ---- */

bool oauth_url_is_loopback(const OauthUrl *url)
{
    Span host = url->host;

    if (text_equals_nocase(host, SPAN("localhost")) || span_equals(host, SPAN("[::1]"))) {
        return true;
    }
    if (!span_starts_with(host, SPAN("127."))) {
        return false;
    }
    /* A name such as 127.evil.example begins so, too. */
    for (size_t i = 0; i < host.n; i++) {
        if (host.p[i] != '.' && (host.p[i] < '0' || host.p[i] > '9')) {
            return false;
        }
    }
    return true;
}

bool oauth_url_is_safe(const OauthUrl *url)
{
    return url->is_https || oauth_url_is_loopback(url);
}

static Span url_port(const OauthUrl *url)
{
    if (url->port.n > 0) {
        return url->port;
    }
    return url->is_https ? SPAN("443") : SPAN("80");
}

bool oauth_url_same_origin(const OauthUrl *a, const OauthUrl *b)
{
    return a->is_https == b->is_https && text_equals_nocase(a->host, b->host) &&
           span_equals(url_port(a), url_port(b));
}

static Span url_path_trimmed(const OauthUrl *url)
{
    Span path = url->path;

    while (path.n > 0 && path.p[path.n - 1] == '/') {
        path.n--;
    }
    return path;
}

bool oauth_url_covers(const OauthUrl *resource, const OauthUrl *server)
{
    Span outer = url_path_trimmed(resource);
    Span inner = url_path_trimmed(server);

    if (!oauth_url_same_origin(resource, server) || !span_starts_with(inner, outer)) {
        return false;
    }
    if (resource->has_query &&
        (!server->has_query || !span_equals(resource->query, server->query))) {
        return false;
    }
    return inner.n == outer.n || inner.p[outer.n] == '/';
}

/* ---- forms ---- */

static bool url_is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~';
}

int oauth_url_escape(Bytes *out, Span text)
{
    static const char digits[] = "0123456789ABCDEF";
    size_t before = out->n;

    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        char escaped[3] = {'%', digits[c >> 4], digits[c & 15]};
        int r = url_is_unreserved(text.p[i]) ? bytes_append(out, text.p + i, 1)
                                             : bytes_append(out, escaped, sizeof(escaped));

        if (r != 0) {
            out->n = before;
            return r;
        }
    }
    return 0;
}

int oauth_form_add(Bytes *out, const char *name, Span value)
{
    size_t before = out->n;
    int r;

    if (value.n == 0) {
        return 0;
    }
    r = bytes_append_format(out, "%s%s=", out->n == 0 ? "" : "&", name);
    if (r == 0) {
        r = oauth_url_escape(out, value);
    }
    if (r != 0) {
        out->n = before;
    }
    return r;
}

static int url_hex(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int form_decode(Bytes *out, Span text)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i] == '+' ? ' ' : text.p[i];
        int r;

        if (c == '%') {
            int high = i + 2 < text.n ? url_hex(text.p[i + 1]) : -1;
            int low = i + 2 < text.n ? url_hex(text.p[i + 2]) : -1;

            if (high < 0 || low < 0) {
                return -EINVAL;
            }
            c = (char)(high << 4 | low);
            i += 2;
        }
        r = bytes_append_byte(out, c);
        if (r != 0) {
            return r < 0 ? r : -EMSGSIZE;
        }
    }
    return 0;
}

int oauth_form_get(Span form, const char *name, Bytes *out)
{
    Span wanted = span_from_str(name);
    size_t before = out->n;
    int found = 0;

    for (size_t at = 0; at <= form.n && form.n > 0;) {
        const char *amp = memchr(form.p + at, '&', form.n - at);
        size_t end = amp == NULL ? form.n : (size_t)(amp - form.p);
        Span pair = span_make(form.p + at, end - at);

        at = end + 1;
        if (pair.n > wanted.n && span_starts_with(pair, wanted) && pair.p[wanted.n] == '=') {
            int r = found != 0
                        ? -EINVAL
                        : form_decode(out, span_make(pair.p + wanted.n + 1, pair.n - wanted.n - 1));

            if (r != 0) {
                out->n = before;
                return r;
            }
            found = 1;
        }
    }
    return found;
}
