/* oauth/discovery.h: where metadata may lie, and what it says: of the protected resource (RFC 9728)
 * and of the authorization server (RFC 8414, OpenID Connect Discovery).
 *
 * Addresses are tried in the order of their number until one gives a document. Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    OAUTH_E_REFUSED = 1, /* what came cannot be trusted or used; the Diag says why */
    OAUTH_E_NO_MORE,     /* there is no address of that number */
};

/* The i-th address of the resource's metadata, appended to out. header: resource_metadata of the
 * challenge, the only one if it is there. 0, -ENOMEM, OAUTH_E_NO_MORE, OAUTH_E_REFUSED. */
int oauth_resource_url(Bytes *out, Span server, Span header, size_t i, Diag *reterr_diag);

/* The same of the authorization server's. */
int oauth_issuer_url(Bytes *out, Span issuer, size_t i, Diag *reterr_diag);

/* Borrows the body that was parsed, or lives in the arena. */
typedef struct OauthResource {
    Span resource; /* exactly as published: what is sent is compared byte for byte */
    Span issuer;   /* the first of authorization_servers */
    Span scopes;   /* scopes_supported with blanks between; has_scopes: it was there */
    bool has_scopes;
} OauthResource;

/* Checks that it speaks of the server at that address. 0, -ENOMEM, OAUTH_E_REFUSED. */
int oauth_resource_parse(OauthResource *ret, Arena *arena, Span body, Span server,
                         Diag *reterr_diag);

/* Ways to show who the client is at the token endpoint. */
typedef enum OauthMethod {
    OAUTH_METHOD_NONE,
    OAUTH_METHOD_BASIC,
    OAUTH_METHOD_POST,
    OAUTH_METHOD_JWT,
    OAUTH_N_METHODS
} OauthMethod;

/* "none", "client_secret_basic", "client_secret_post", "private_key_jwt". */
const char *oauth_method_name(OauthMethod method);
bool oauth_method_find(Span name, OauthMethod *ret);

typedef struct OauthServer {
    Span issuer;
    Span authorization_endpoint; /* empty: none */
    Span token_endpoint;
    Span registration_endpoint; /* empty: none */
    Span scopes;
    unsigned methods; /* 1u << OauthMethod; 0: it does not say */
    bool has_pkce;    /* it names S256 */
    bool has_iss;     /* redirects carry `iss` (RFC 9207) */
    bool has_cimd;    /* client_id may be the address of a document */
    bool has_dpop;    /* and ES256 is among its algorithms */
    bool is_guess;    /* nothing was published: the endpoints of 2025-03-26 */
} OauthServer;

/* Checks that it speaks of that issuer, byte for byte, and that its endpoints may be used. is_own:
 * the issuer was not named by anybody, but is the origin of a server of 2025-03-26; then one of the
 * same origin will do, since no other name was promised. 0, -ENOMEM, OAUTH_E_REFUSED. */
int oauth_server_parse(OauthServer *ret, Arena *arena, Span body, Span issuer, bool is_own,
                       Diag *reterr_diag);

/* What a server of 2025-03-26 has that publishes nothing: /authorize, /token and /register of its
 * origin. 0, -ENOMEM. */
int oauth_server_guess(OauthServer *ret, Arena *arena, Span origin);
