/* oauth/answer.h: what comes back: from the token endpoint, from registration, and by the redirect.
 *
 * Spans live in the arena or in the body. Thread: any.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/span.h"
#include "oauth/discovery.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct OauthToken {
    Span error; /* "invalid_grant"…; empty: there is a token, or (OAUTH_E_REFUSED) nothing usable */
    Span access_token;
    Span refresh_token;
    Span scope;
    Span issued_type;   /* issued_token_type of an exchange */
    int64_t expires_in; /* seconds; 0: not said */
    bool is_dpop;       /* token_type is DPoP */
} OauthToken;

/* is_exchange: of token exchange (RFC 8693), where token_type may be N_A. 0; -ENOMEM;
 * OAUTH_E_REFUSED, with `error` in *ret if there was one. */
int oauth_token_parse(OauthToken *ret, Arena *arena, unsigned status, Span body, bool is_exchange,
                      Diag *reterr_diag);

typedef struct OauthRegistration {
    Span client_id;
    Span client_secret;
    Span method;       /* token_endpoint_auth_method */
    int64_t expires_s; /* client_secret_expires_at; 0: never */
} OauthRegistration;

/* 0, -ENOMEM, OAUTH_E_REFUSED. */
int oauth_registration_parse(OauthRegistration *ret, Arena *arena, unsigned status, Span body,
                             Diag *reterr_diag);

enum {
    OAUTH_E_STRANGER = OAUTH_E_NO_MORE + 1, /* not the answer to our request: wait on */
};

/* The query of a redirect. state: ours. issuer: whose answer it must be; empty: nobody knows.
 * has_iss: it must say so (RFC 9207). Gives the code in the arena. 0, -ENOMEM, OAUTH_E_REFUSED,
 * OAUTH_E_STRANGER. */
int oauth_redirect_check(Span *ret_code, Arena *arena, Span query, Span state, Span issuer,
                         bool has_iss, Diag *reterr_diag);
