/* oauth/url.h: addresses as OAuth compares, builds and takes them apart (RFC 3986).
 *
 * Only http and https. Nothing is resolved, and nothing is fetched. Thread: any.
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    OAUTH_URL_E_SYNTAX = 1, /* not an absolute address of http or https */
};

/* Borrows the text it was parsed from. */
typedef struct OauthUrl {
    bool is_https;
    Span origin;    /* "https://host:port", as written */
    Span authority; /* "host:port", as written; never with a user in it */
    Span host;      /* of an IPv6 address with its brackets */
    Span port;      /* digits; empty: the scheme's */
    Span path;      /* begins with a slash, or is empty */
    Span query;     /* without its question mark */
    bool has_query;
} OauthUrl;

/* An address with a user, a fragment, blanks or controls in it is none of ours. 0,
 * OAUTH_URL_E_SYNTAX. */
int oauth_url_parse(OauthUrl *ret, Span text);

/* May secrets be sent there: https, or this machine (localhost, 127.…, [::1])? */
bool oauth_url_is_safe(const OauthUrl *url);
bool oauth_url_is_loopback(const OauthUrl *url);

/* Scheme, host and port, in the forms that mean the same (RFC 3986 6.2.2, 6.2.3). */
bool oauth_url_same_origin(const OauthUrl *a, const OauthUrl *b);

/* Do tokens for `resource` (RFC 9728) serve `server`: the same origin, and its path the beginning
 * of the server's, segment by segment? A slash at the end does not count. */
bool oauth_url_covers(const OauthUrl *resource, const OauthUrl *server);

/* Appends text with all but RFC 3986's unreserved bytes as %XX. 0, -ENOMEM, BYTES_E_FULL. */
int oauth_url_escape(Bytes *out, Span text);

/* Appends "&name=value" (without the "&" at the beginning of out), escaped; nothing for an empty
 * value. Outcomes as above. */
int oauth_form_add(Bytes *out, const char *name, Span value);

/* The value of a name in a query or form, decoded, appended to out. 1: there is one; 0: none;
 * negative: -EINVAL (twice there, or not decodable), -ENOMEM, -EMSGSIZE. */
int oauth_form_get(Span form, const char *name, Bytes *out);
