/* oauth/settings.h: what a person or a program says about how to authorise with one server. Thread:
 * any, one at a time.
 */
#pragma once

#include "base/diag.h"
#include "base/span.h"

#include <stdbool.h>

typedef enum OauthGrant {
    OAUTH_GRANT_CODE,       /* a person says yes on a page: authorization_code with PKCE */
    OAUTH_GRANT_CLIENT,     /* the client alone: client_credentials */
    OAUTH_GRANT_WORKLOAD,   /* a token of where we run: jwt-bearer */
    OAUTH_GRANT_ENTERPRISE, /* the company's identity provider decides: token exchange, jwt-bearer
                             */
    OAUTH_N_GRANTS
} OauthGrant;

/* "code", "client_credentials", "workload", "enterprise". */
const char *oauth_grant_name(OauthGrant grant);
bool oauth_grant_find(Span name, OauthGrant *ret);

/* X(name): strings, NULL where nothing is said; owned. */
#define OAUTH_SETTINGS_STRINGS(X)                                                                  \
    X(client_id) /* registered by hand */                                                          \
    X(client_secret)                                                                               \
    X(issuer)      /* of whom that client id is; NULL: whoever the server names */                 \
    X(cimd_url)    /* address of our client metadata document */                                   \
    X(private_key) /* PEM, for private_key_jwt */                                                  \
    X(scope)       /* in place of scopes_supported */                                              \
    X(client_name) /* for registration */                                                          \
    X(workload_token)                                                                              \
    X(id_token)           /* of the identity provider, for ENTERPRISE */                           \
    X(idp_token_endpoint) /* its token endpoint */                                                 \
    X(idp_client_id)                                                                               \
    X(idp_client_secret)

typedef struct OauthSettings {
    OauthGrant grant;
    bool is_dpop;           /* tokens must be bound to a key, also where the server does not ask */
    unsigned redirect_port; /* of the redirect; 0: any */
#define X(name) char *name;
    OAUTH_SETTINGS_STRINGS(X)
#undef X
} OauthSettings;

void oauth_settings_deinit(OauthSettings *settings);

/* 0, -ENOMEM; on failure *to is empty. */
int oauth_settings_copy(OauthSettings *to, const OauthSettings *from);

/* Is it complete for its grant? 0, OAUTH_E_REFUSED (oauth/discovery.h). */
int oauth_settings_check(const OauthSettings *settings, Diag *reterr_diag);
