#include "agent/model_url.h"

#include <string.h>

#include "agent/model_error.h"

/* Its parts; those that are missing are empty. */
typedef struct UrlParts {
    Span before; /* "https://" */
    Span user;   /* without the '@' */
    Span after;  /* host and path */
    Span query;  /* with the '?' or '#' that begins it */
} UrlParts;

size_t model_url_path_end(Span url)
{
    size_t n = 0;

    while (n < url.n && url.p[n] != '?' && url.p[n] != '#') {
        n++;
    }
    return n;
}

/* As libcurl reads it: the last '@' before the path ends who asks. */
static UrlParts url_parts(Span url)
{
    UrlParts parts = {.before = span_make(url.p, 0), .user = SPAN_NULL};
    size_t end = model_url_path_end(url);
    size_t at = 0;

    parts.query = span_make(url.p + end, url.n - end);
    for (size_t i = 0; i + 3 <= end; i++) {
        if (memcmp(url.p + i, "://", 3) == 0) {
            at = i + 3;
            break;
        }
    }
    parts.before.n = at;
    parts.after = span_make(url.p + at, end - at);
    for (size_t i = at; i < end && url.p[i] != '/'; i++) {
        if (url.p[i] == '@') {
            parts.user = span_make(url.p + at, i - at);
            parts.after = span_make(url.p + i + 1, end - i - 1);
        }
    }
    return parts;
}

int model_url_join(Bytes *out, const char *base, const char *path)
{
    Span url = span_from_str(base);
    size_t end = model_url_path_end(url);
    int r = bytes_append(out, url.p, end);

    r = r != 0 ? r : bytes_append_span(out, span_from_str(path));
    r = r != 0 ? r : bytes_append(out, url.p + end, url.n - end);
    return r != 0 ? r : bytes_append_byte(out, '\0');
}

int model_url_show(Bytes *out, const char *url)
{
    UrlParts parts = url_parts(span_from_str(url));
    int r = bytes_append_span(out, parts.before);

    if (r == 0 && parts.user.p != NULL) {
        r = bytes_append_span(out, SPAN("***@"));
    }
    r = r != 0 ? r : bytes_append_span(out, parts.after);
    if (r == 0 && parts.query.n > 0) {
        r = bytes_append_byte(out, parts.query.p[0]);
        r = r != 0 ? r : bytes_append_span(out, SPAN("***"));
    }
    return r;
}

/* Of "a=b&c=d" b and d, of "user:password" the password; what has no mark is one secret. */
static void mask_values(char *text, Span pairs, char mark)
{
    while (pairs.n > 0) {
        const char *end = mark == '=' ? memchr(pairs.p, '&', pairs.n) : NULL;
        Span pair = span_make(pairs.p, end != NULL ? (size_t)(end - pairs.p) : pairs.n);
        const char *begin = memchr(pair.p, mark, pair.n);
        size_t skip = begin != NULL ? (size_t)(begin - pair.p) + 1 : 0;

        model_error_mask(text, span_make(pair.p + skip, pair.n - skip));
        skip = end != NULL ? pair.n + 1 : pair.n;
        pairs = span_make(pairs.p + skip, pairs.n - skip);
    }
}

void model_url_mask(char *text, const ModelService *service)
{
    UrlParts parts = url_parts(span_from_str(service->base_url));

    model_error_mask(text, span_from_str(service->key != NULL ? service->key : ""));
    mask_values(text, parts.user, ':');
    if (parts.query.n > 0) {
        mask_values(text, span_make(parts.query.p + 1, parts.query.n - 1), '=');
    }
}
