/* app/http_auth.h: who may use the hub over HTTP.
 *
 *     nothing configured   everybody who reaches the listener, which then is on loopback
 *     a token              whoever sends it as a bearer token
 *     issuers              whoever brings an access token (a JWT) of one of them, meant for us: the
 *                          hub is a resource server then, and says where to get one (RFC 9728)
 *
 * Performs no I/O: keys and token were read before. Thread: loop.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"
#include "frame/http1.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HTTP_AUTH_E_DENIED = 1,  /* HttpDenial says how */
    HTTP_AUTH_E_INVALID = 2, /* a key set or a setting cannot be used; the Diag says why */
};

typedef struct HttpAuth HttpAuth;

typedef struct HttpAuthIssuer {
    Span issuer; /* as tokens name it: "https://issuer.example" */
    Span jwks;   /* its keys, a JSON Web Key Set (RFC 7517) */
} HttpAuthIssuer;

typedef struct HttpAuthConfig {
    Span token;    /* a bearer token of our own; empty: none */
    Span resource; /* what tokens must be meant for, and our name in the metadata: the URL of MCP */
    const HttpAuthIssuer *issuers;
    size_t n_issuers;
    const Span *scopes; /* that each request needs */
    size_t n_scopes;
    Span metadata_url; /* where http_auth_write_metadata can be read, for the challenge */
} HttpAuthConfig;

/* RFC 9728: under the host of a resource; what path the resource has comes behind it. */
#define HTTP_AUTH_METADATA_PATH "/.well-known/oauth-protected-resource"

/* The URL of a resource's metadata, by that rule; nothing for what is no URL. Appends. 0, -ENOMEM,
 * BYTES_E_FULL. */
int http_auth_name_metadata(Bytes *out, Span resource);

/* Has a URL that path? Slashes at the ends do not count. False for what is no URL. */
bool http_auth_url_has_path(Span url, Span path);

/* 32 digits, or "own", and a NUL. */
#define HTTP_AUTH_OWNER_BYTES 33
#define HTTP_AUTH_OWNER_OWN   "own"

/* Who asks. */
typedef struct HttpGrant {
    char subject[128]; /* "" for nobody in particular; cut if it is longer */
    uint64_t id;       /* equal for the same credentials, whatever the connection */
    /* Whose tasks it sees: text, equal for the same issuer and subject also after a restart, and
     * for our own token; "" where no credentials are needed. */
    char owner[HTTP_AUTH_OWNER_BYTES];
    int64_t end_s; /* of the wall clock: what it was granted for ends then; INT64_MAX: never */
} HttpGrant;

/* How a request is turned away. */
typedef struct HttpDenial {
    unsigned status;      /* 400, 401, 403 */
    char challenge[1024]; /* WWW-Authenticate; "" : none */
    char message[160];
} HttpDenial;

/* The longest token that goes into a header field comfortably. */
#define HTTP_AUTH_TOKEN_MAX ((size_t)4096)

/* Can that be a token of our own? 0, HTTP_AUTH_E_INVALID. */
int http_auth_check_token(Span token, Diag *reterr_diag);

/* Does a query have a parameter access_token, in whatever spelling? A token in a URL ends up in
 * logs and in the history of browsers; it is refused even beside a good one. */
bool http_auth_is_in_query(Span query);

/* Copies all of config. 0, -ENOMEM, HTTP_AUTH_E_INVALID. Gives *ret. */
int http_auth_new(HttpAuth **ret, const HttpAuthConfig *config, Diag *reterr_diag);
HttpAuth *http_auth_free(HttpAuth *auth);

/* Are credentials needed at all? */
bool http_auth_is_needed(const HttpAuth *auth);

/* Does it take tokens of issuers, so that there is metadata to be read? */
bool http_auth_has_issuers(const HttpAuth *auth);

/* Is that path the one of metadata_url? A slash at its end does not count. */
bool http_auth_is_metadata(const HttpAuth *auth, Span path);

/* now_s: of the wall clock. 0, HTTP_AUTH_E_DENIED, a negative errno. Tokens are compared in a time
 * that says nothing about them. auth NULL: granted. */
int http_auth_check(const HttpAuth *auth, const Http1Head *head, int64_t now_s, HttpGrant *ret,
                    HttpDenial *ret_denial);

/* Appends the protected resource metadata (RFC 9728), JSON. 0, -ENOMEM, BYTES_E_FULL. */
int http_auth_write_metadata(const HttpAuth *auth, Bytes *out);
