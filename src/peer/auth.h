/* peer/auth.h: what one MCP server over HTTP is shown, and where it comes from (OAuth 2.1 as MCP
 * has it).
 *
 * The HTTP peer asks for headers before each request; when the server answers 401 (or 403 with
 * insufficient_scope, or a DPoP nonce is wanted) it hands the challenge over, waits, and sends the
 * request once more if it is told to. Many requests may wait at once: there is one flow for all.
 * Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/logsink.h"
#include "base/span.h"
#include "io/fetch.h"
#include "io/loop.h"
#include "oauth/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct PeerAuth PeerAuth;

typedef struct PeerAuthConfig {
    IoLoop *loop;
    IoFetcher *fetcher;            /* borrowed; NULL: one of its own, when it is needed */
    const char *server;            /* the address of the MCP server; copied */
    const OauthSettings *settings; /* copied; NULL: nothing is said */
    const char *store; /* the file of credentials; NULL: the user's; "": they are not kept */
    bool may_ask;      /* a person may be sent to a page */
    bool no_browser;   /* only told the address, by `page` */
    /* The page that a person is to open; `url` is borrowed until return. May be NULL. */
    void (*page)(void *context, const char *url);
    void *context;
    int64_t person_ms; /* how long a person is waited for; 0: LIMIT_OAUTH_PERSON_MS */
    const LogSink *log;
} PeerAuthConfig;

enum {
    PEER_AUTH_E_INVALID = 1, /* the address or the settings; the Diag says why */
};

/* Nothing is read or asked before a request is about to be sent. 0, -ENOMEM, PEER_AUTH_E_INVALID.
 * Gives *ret. */
int peer_auth_new(PeerAuth **ret, const PeerAuthConfig *config, Diag *reterr_diag);

typedef struct PeerAuthHeaders { /* borrowed until the next call of any function here */
    Span authorization;          /* "Bearer x", "DPoP x"; empty: none */
    Span dpop;                   /* a proof for this method and URL; empty: none */
} PeerAuthHeaders;

typedef enum PeerAuthOutcome {
    PEER_AUTH_RETRY,   /* there is something new to show: send the request again */
    PEER_AUTH_REFUSED, /* there will not be: why says it, for people */
} PeerAuthOutcome;

/* Somebody who waits; the storage is the waiter's. `done` may call all but peer_auth_free. */
typedef struct PeerAuthWait PeerAuthWait;
struct PeerAuthWait {
    void (*done)(PeerAuthWait *wait, PeerAuthOutcome outcome,
                 const char *why); /* once; may start anything */
    PeerAuthWait *next, *prev;
};

typedef struct PeerAuthChallenge {
    unsigned status;              /* 401, 403, 400 */
    const Span *www_authenticate; /* every such field, as it came */
    size_t n_www_authenticate;
    Span dpop_nonce; /* of the answer; empty: none */
    Span shown;      /* the Authorization that the refused request carried, so that a token
                        which was renewed meanwhile is not renewed again; may be empty */
} PeerAuthChallenge;

PeerAuth *peer_auth_free(PeerAuth *auth); /* waiters are dropped without a word */

/* What to show with a request; nonce: what the server wanted of this one, empty: the last that it
 * has said (one may be good for one request only). *ret_wait true: nothing yet (a token is about to
 * expire and is being renewed, or a flow runs): call peer_auth_wait. 0, -ENOMEM. */
int peer_auth_headers(PeerAuth *auth, const char *method, const char *url, Span nonce,
                      PeerAuthHeaders *ret, bool *ret_wait);
void peer_auth_wait(PeerAuth *auth, PeerAuthWait *wait);
/* The server refused. done follows, never before this returns. */
void peer_auth_challenge(PeerAuth *auth, const PeerAuthChallenge *challenge, PeerAuthWait *wait);
void peer_auth_forget(PeerAuth *auth,
                      PeerAuthWait *wait); /* the waiter goes; does nothing if it does not wait */
/* Were these scopes asked for, when the token was? True for none. */
bool peer_auth_covers(const PeerAuth *auth, Span scope);
/* A DPoP-Nonce that came with an answer that was no refusal. */
void peer_auth_nonce(PeerAuth *auth, Span nonce);
