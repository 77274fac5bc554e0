#include "json/schema/uri.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"

typedef struct UriParts {
    Span scheme;    /* with its ':' */
    Span authority; /* with its "//" */
    Span path;
    Span query; /* with its '?' */
} UriParts;

void uri_split_fragment(Span s, Span *ret_rest, Span *ret_fragment)
{
    const char *hash = s.n == 0 ? NULL : memchr(s.p, '#', s.n);

    *ret_rest = s;
    *ret_fragment = SPAN("");
    if (hash != NULL) {
        size_t n = (size_t)(hash - s.p);

        *ret_rest = span_make(s.p, n);
        *ret_fragment = span_make(hash + 1, s.n - n - 1);
    }
}

static bool uri_is_scheme_char(char c, bool first)
{
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
        return true;
    }
    return !first && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.');
}

static size_t uri_scheme_length(Span s)
{
    size_t i = 0;

    while (i < s.n && uri_is_scheme_char(s.p[i], i == 0)) {
        i++;
    }
    return i > 0 && i < s.n && s.p[i] == ':' ? i + 1 : 0;
}

static Span uri_take(Span *rest, size_t n)
{
    Span head = span_make(rest->p, n);

    /* An empty reference may have no bytes to point at. */
    if (n > 0) {
        *rest = span_make(rest->p + n, rest->n - n);
    }
    return head;
}

static size_t uri_find_any(Span s, size_t from, const char *set)
{
    while (from < s.n && strchr(set, s.p[from]) == NULL) {
        from++;
    }
    return from;
}

static UriParts uri_split(Span s)
{
    UriParts parts = {.query = SPAN_NULL};

    parts.scheme = uri_take(&s, uri_scheme_length(s));
    if (span_starts_with(s, SPAN("//"))) {
        parts.authority = uri_take(&s, uri_find_any(s, 2, "/?"));
    }
    parts.path = uri_take(&s, uri_find_any(s, 0, "?"));
    parts.query = s;
    return parts;
}

/* RFC 3986, 5.2.4, in place; returns the new length. */
static size_t uri_remove_dots(char *p, size_t n)
{
    size_t in = 0;
    size_t out = 0;

    while (in < n) {
        size_t end = in + (p[in] == '/');
        size_t segment;

        while (end < n && p[end] != '/') {
            end++;
        }
        segment = in + (p[in] == '/');
        if (end - segment == 1 && p[segment] == '.') {
            /* "." vanishes; as the last segment it leaves its slash. */
            if (end == n && segment > in) {
                p[out++] = '/';
            }
        } else if (end - segment == 2 && p[segment] == '.' && p[segment + 1] == '.') {
            while (out > 0 && p[out - 1] != '/') {
                out--;
            }
            out -= out > 0;
            if (end == n && segment > in) {
                p[out++] = '/';
            }
        } else {
            memmove(p + out, p + in, end - in);
            out += end - in;
        }
        in = end;
    }
    return out;
}

static size_t uri_put(char *out, size_t n, Span s)
{
    if (s.n > 0) {
        memcpy(out + n, s.p, s.n);
    }
    return n + s.n;
}

/* An absolute reference: only its path is tidied. */
static int uri_tidy(Arena *arena, Span uri, UriParts parts, Span *ret)
{
    Span copy;
    char *path;
    size_t before = parts.scheme.n + parts.authority.n;
    size_t n;

    *ret = uri;
    if (parts.path.n == 0 || memchr(parts.path.p, '.', parts.path.n) == NULL) {
        return 0;
    }
    copy = arena_copy(arena, uri);
    if (copy.p == NULL) {
        return err_raise(-ENOMEM);
    }
    path = (char *)(uintptr_t)copy.p + before;
    n = uri_remove_dots(path, parts.path.n);
    n = uri_put(path, n, parts.query);
    *ret = span_make(copy.p, before + n);
    return 0;
}

int uri_resolve(Arena *arena, Span base, Span ref, Span *ret)
{
    UriParts b = uri_split(base);
    UriParts r = uri_split(ref);
    char *out;
    size_t n = 0;
    size_t path;

    if (r.scheme.n > 0) {
        return uri_tidy(arena, ref, r, ret);
    }
    if (base.n == 0 || ref.n == 0) {
        *ret = ref.n == 0 ? base : ref;
        return 0;
    }
    out = arena_alloc(arena, base.n + ref.n + 2);
    if (out == NULL) {
        return err_raise(-ENOMEM);
    }
    n = uri_put(out, n, b.scheme);
    n = uri_put(out, n, r.authority.n > 0 ? r.authority : b.authority);
    path = n;
    if (r.authority.n > 0 || (r.path.n > 0 && r.path.p[0] == '/')) {
        n = uri_put(out, n, r.path);
    } else if (r.path.n == 0) {
        n = uri_put(out, n, b.path);
        r.query = r.query.n > 0 ? r.query : b.query;
    } else {
        size_t keep = b.path.n;

        while (keep > 0 && b.path.p[keep - 1] != '/') {
            keep--;
        }
        n = uri_put(out, n, span_make(b.path.p, keep));
        if (keep == 0 && b.authority.n > 0) {
            out[n++] = '/';
        }
        n = uri_put(out, n, r.path);
    }
    n = path + uri_remove_dots(out + path, n - path);
    n = uri_put(out, n, r.query);
    *ret = span_make(out, n);
    return 0;
}

static int uri_hex(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int uri_percent_decode(Arena *arena, Span s, Span *ret)
{
    char *out;
    size_t n = 0;

    if (s.n == 0 || memchr(s.p, '%', s.n) == NULL) {
        *ret = s;
        return 0;
    }
    out = arena_alloc(arena, s.n);
    if (out == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '%' && s.n - i > 2 && uri_hex(s.p[i + 1]) >= 0 && uri_hex(s.p[i + 2]) >= 0) {
            out[n++] = (char)(uri_hex(s.p[i + 1]) * 16 + uri_hex(s.p[i + 2]));
            i += 2;
        } else {
            out[n++] = s.p[i];
        }
    }
    *ret = span_make(out, n);
    return 0;
}
