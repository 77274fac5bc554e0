/* Where the metadata of a resource is read (RFC 9728, section 3.1). */
#include "app/http_auth.h"

#include <string.h>

/* "scheme://host", and "/path", of a URL; the rest of it ("?query") is behind them. */
typedef struct AuthUrl {
    Span origin; /* empty: it is no URL */
    Span path;
    Span query;
} AuthUrl;

static size_t auth_until(Span s, size_t at, const char *ends)
{
    while (at < s.n && strchr(ends, s.p[at]) == NULL) {
        at++;
    }
    return at;
}

static Span auth_without_slashes(Span path)
{
    while (path.n > 0 && path.p[path.n - 1] == '/') {
        path.n--;
    }
    return path;
}

static AuthUrl auth_split_url(Span url)
{
    AuthUrl parts = {SPAN_NULL, SPAN_NULL, SPAN_NULL};
    size_t host = auth_until(url, 0, ":/?#");
    size_t path;
    size_t query;

    if (host == 0 || url.n - host <= 3 || memcmp(url.p + host, "://", 3) != 0) {
        return parts;
    }
    path = auth_until(url, host + 3, "/?#");
    query = auth_until(url, path, "?#");
    parts.origin = span_make(url.p, path);
    parts.path = span_make(url.p + path, query - path);
    parts.query = span_make(url.p + query, auth_until(url, query, "#") - query);
    return parts;
}

int http_auth_name_metadata(Bytes *out, Span resource)
{
    AuthUrl url = auth_split_url(resource);
    int r;

    if (url.origin.n == 0) {
        return 0;
    }
    r = bytes_append_span(out, url.origin);
    r = r != 0 ? r : bytes_append_span(out, SPAN(HTTP_AUTH_METADATA_PATH));
    r = r != 0 ? r : bytes_append_span(out, auth_without_slashes(url.path));
    return r != 0 ? r : bytes_append_span(out, url.query);
}

bool http_auth_url_has_path(Span url, Span path)
{
    AuthUrl parts = auth_split_url(url);

    return parts.origin.n > 0 &&
           span_equals(auth_without_slashes(path), auth_without_slashes(parts.path));
}
