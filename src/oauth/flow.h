/* oauth/flow.h: one authorization from its beginning to its end, as a machine that does nothing
 * itself: orders out, answers in.
 *
 *     oauth_flow_begin → { oauth_flow_next: an order → its answer } … → DONE or REFUSED
 *
 *                                          ┌ a token that can be renewed ─▶ REFRESH ┐
 *     RESOURCE ─▶ SERVER ─▶ LOOK ─ client ─┤ code ─▶ LISTEN ▶ REGISTER ▶ OPEN ▶ TOKEN ├▶ SAVE ▶
 * DONE (addresses in turn)                  │ client, workload ─────────────▶ TOKEN ┤ └ enterprise
 * ─▶ EXCHANGE ───────▶ TOKEN ┘
 *
 * A renewal begins with REFRESH, where the token endpoint is known. Whatever a server says that
 * cannot be trusted ends in REFUSED. Time and randomness are arguments. Thread: any, one at a time.
 */
#pragma once

#include "base/diag.h"
#include "base/span.h"
#include "oauth/challenge.h"
#include "oauth/credential.h"
#include "oauth/settings.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct OauthFlow OauthFlow;

typedef struct OauthFlowConfig {
    Span server; /* the address of the MCP server */
    const OauthSettings *settings;
    const OauthCredential *known;    /* what was shown last; may be NULL */
    const OauthChallenge *challenge; /* may be NULL */
    bool is_renewal; /* the server has refused nothing: renew what is known, without discovery */
    bool is_step_up; /* it wants more scopes than the token has */
    bool may_ask;    /* a person may be sent to a page */
    int (*random)(void *context, void *p, size_t n); /* 0, a negative errno */
    void *random_context;
} OauthFlowConfig;

typedef enum OauthOrderKind {
    OAUTH_ORDER_FETCH,  /* → oauth_flow_fetched */
    OAUTH_ORDER_LOOK,   /* what is kept for `issuer`? → oauth_flow_looked */
    OAUTH_ORDER_LISTEN, /* be reachable for a redirect, at `url` if that is given → listening */
    OAUTH_ORDER_OPEN,   /* show a person `url`; → oauth_flow_redirected */
    OAUTH_ORDER_SAVE,   /* keep `credential` → oauth_flow_saved */
    OAUTH_ORDER_DONE,   /* `credential` is what to show */
    OAUTH_ORDER_REFUSED /* `why` */
} OauthOrderKind;

/* Borrowed until the answer. */
typedef struct OauthOrder {
    OauthOrderKind kind;
    const char *method; /* of FETCH */
    Span url;
    Span body; /* p NULL: none */
    const char *content_type;
    Span authorization; /* "Basic …"; empty: none */
    Span dpop;          /* empty: none */
    Span issuer;
    const OauthCredential *credential;
    const char *why;
    bool is_lasting; /* of REFUSED: only a person can help */
} OauthOrder;

/* All functions: 0, or a negative errno (-ENOMEM, or what the randomness said), after which the
 * flow is only freed. Borrows the config until return, but `settings`, which must outlive the flow.
 * Gives *ret. */
int oauth_flow_begin(OauthFlow **ret, const OauthFlowConfig *config);
OauthFlow *oauth_flow_free(OauthFlow *flow);

/* The order that is to be carried out. */
int oauth_flow_next(OauthFlow *flow, int64_t now_s, OauthOrder *ret);

typedef struct OauthFetched {
    unsigned status; /* 0: nothing came; message says why */
    Span body;
    Span dpop_nonce; /* empty: none */
    const char *message;
} OauthFetched;

int oauth_flow_fetched(OauthFlow *flow, int64_t now_s, const OauthFetched *fetched);
int oauth_flow_looked(OauthFlow *flow, int64_t now_s, const OauthCredential *found); /* or NULL */
int oauth_flow_listening(OauthFlow *flow, Span redirect_uri);

/* The query of what came to the redirect address. OAUTH_E_STRANGER (oauth/answer.h): it was not
 * ours, wait on. */
int oauth_flow_redirected(OauthFlow *flow, Span query);
int oauth_flow_saved(OauthFlow *flow);

/* Ends it: nobody came in time, a page cannot be shown… */
void oauth_flow_refuse(OauthFlow *flow, const char *why);
