/* oauth/credential.h: what we hold for one server at one issuer, how it is written down, and the
 * file of them all.
 *
 * The file is JSON, {"version":1,"credentials":[…]}; its key is server and issuer. Functions here
 * work on its text. Thread: any, one at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"
#include "json/json.h"
#include "json/writer.h"

#include <stdbool.h>
#include <stdint.h>

/* X(name): strings, NULL where there is none; owned. */
#define OAUTH_CREDENTIAL_STRINGS(X)                                                                \
    X(server)         /* the address of the MCP server, as it was given */                         \
    X(issuer)         /* whose credentials these are: shown to nobody else */                      \
    X(resource)       /* what tokens are asked for */                                              \
    X(token_endpoint) /* where tokens are renewed */                                               \
    X(client_id)                                                                                   \
    X(client_secret)                                                                               \
    X(method)       /* token_endpoint_auth_method that the registration said */                    \
    X(redirect_uri) /* that the registration named */                                              \
    X(access_token)                                                                                \
    X(refresh_token)                                                                               \
    X(token_type) /* "Bearer", "DPoP" */                                                           \
    X(scope)      /* that the token has */                                                         \
    X(requested)  /* that were asked for */                                                        \
    X(dpop_key)   /* DER in base64url */

/* X(name): numbers; seconds since 1970, 0: not known. */
#define OAUTH_CREDENTIAL_NUMBERS(X)                                                                \
    X(expires_s)                                                                                   \
    X(client_expires_s)                                                                            \
    X(saved_s)

typedef struct OauthCredential {
#define X(name) char *name;
    OAUTH_CREDENTIAL_STRINGS(X)
#undef X
#define X(name) int64_t name;
    OAUTH_CREDENTIAL_NUMBERS(X)
#undef X
    bool is_registered; /* the client id was given by dynamic registration */
} OauthCredential;

void oauth_credential_deinit(OauthCredential *credential);

/* 0, -ENOMEM; on failure *to is empty. */
int oauth_credential_copy(OauthCredential *to, const OauthCredential *from);

/* Replaces a string; an empty one is NULL. 0, -ENOMEM. */
int oauth_credential_set(char **place, Span value);

/* A string that may be NULL as a Span. */
Span oauth_credential_span(const char *text);

/* Is there a token that holds at now_s, and LIMIT_OAUTH_EARLY_S longer (at most half its life)? */
bool oauth_credential_is_fresh(const OauthCredential *credential, int64_t now_s);

void oauth_credential_write(JsonWriter *w, const OauthCredential *credential);

enum {
    OAUTH_STORE_E_NONE = 1, /* there is no such credential */
    OAUTH_STORE_E_INVALID,  /* not such a file; the Diag says why */
};

/* The one of that server and issuer; an empty issuer: the one of the server that was saved last. 0,
 * -ENOMEM, OAUTH_STORE_E_*. Gives *ret (deinit). An empty text is a file without any. */
int oauth_store_find(Span text, Span server, Span issuer, OauthCredential *ret, Diag *reterr_diag);

/* The i-th. As above. */
int oauth_store_at(Span text, size_t i, OauthCredential *ret, Diag *reterr_diag);

/* Appends to out the file in which the credentials of that server and issuer (empty: all of the
 * server's) are replaced by `credential` (NULL: by none). ret_n: how many were there. 0, -ENOMEM,
 * OAUTH_STORE_E_INVALID. */
int oauth_store_put(Bytes *out, Span text, Span server, Span issuer,
                    const OauthCredential *credential, size_t *ret_n, Diag *reterr_diag);
