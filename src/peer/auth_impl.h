/* peer/auth_impl.h: what the files of peer/auth share. Private to peer/auth*. */
#pragma once

#include "base/bytes.h"
#include "io/private_file.h"
#include "io/process.h"
#include "oauth/credential.h"
#include "oauth/flow.h"
#include "oauth/key.h"
#include "peer/auth.h"
#include "peer/auth_listener.h"

struct PeerAuth {
    IoLoop *loop;
    IoFetcher *fetcher;
    IoFetcher *own_fetcher;
    OauthSettings settings;
    char *server;
    char *store; /* NULL: credentials are not kept */
    bool may_ask;
    bool no_browser;
    void (*page)(void *context, const char *url);
    void *context;
    int64_t person_ms;
    const LogSink *log;

    OauthCredential credential;
    bool is_loaded; /* the file was looked at */
    bool is_kept;   /* the credential is in the file, as we know it */
    int64_t looked_ms;
    OauthKey *key; /* that the token is bound to; made from the credential when it is needed */
    Bytes authorization;
    Bytes proof;
    Bytes nonce; /* of the MCP server */
    unsigned n_step_ups;
    unsigned n_asks;             /* pages that were shown, */
    int64_t asked_ms;            /* the last then */
    int64_t no_renewal_until_ms; /* a renewal failed for a time: the token is shown as it is */

    PrivateFile lock;      /* of the credential in the file, while a flow may renew it */
    IoTimer *lock_timer;   /* somebody else has it */
    int64_t lock_until_ms; /* and is waited for so long */

    OauthFlow *flow;  /* before it has the lock, too */
    bool is_renewing; /* the flow is one that nobody was refused for */
    bool has_asked;   /* and one that a person takes part in */
    IoFetch *fetch;
    bool is_resent; /* the request under way was sent a second time */
    Bytes body;
    PeerAuthListener *listener;
    IoProcess *browser;
    int browser_fds[3];
    IoTimer *timer; /* a person's patience; and ends that are told later */

    PeerAuthWait *waits;
    /* An end that is told from the loop: waiters that came before it are in `told`. */
    bool has_end;
    PeerAuthOutcome end;
    char why[DIAG_MESSAGE_SIZE];
};

int64_t auth_now_s(void);

/* ---- auth.c ---- */

/* The flow is over, or was not needed: all who wait are told, from the loop. */
void auth_end(PeerAuth *auth, PeerAuthOutcome outcome, const char *why);

/* Takes over a credential: copies it. 0, -ENOMEM. */
int auth_take(PeerAuth *auth, const OauthCredential *credential);

/* Somebody has logged out. */
void auth_forget(PeerAuth *auth);

/* ---- auth_file.c ---- */

/* Are credentials kept? */
bool auth_has_file(const PeerAuth *auth);

/* What the file has now: another process may have renewed it, or somebody logged in, or out. True:
 * it is another token than ours, and still good. */
bool auth_reload(PeerAuth *auth);

/* The same from time to time, before something is shown. */
void auth_look(PeerAuth *auth);

/* The lock. 0: it is ours, or cannot be had at all; PEER_AUTH_STORE_E_BUSY, -ENOMEM. */
int auth_lock(PeerAuth *auth);
void auth_unlock(PeerAuth *auth);

/* ---- auth_flow.c ---- */

/* Begins a flow, as soon as nobody else has one for the same credential, and if there is no new
 * token by then. Its end is auth_end. */
void auth_flow_start(PeerAuth *auth, const OauthChallenge *challenge, bool is_renewal,
                     bool is_step_up);

/* Of lock_timer: tries again. */
void auth_flow_lock(void *context);

/* Drops what is under way. */
void auth_flow_drop(PeerAuth *auth);

/* ---- auth_browser.c ---- */

/* Has the person's browser open a page, or does nothing where there is none. */
void auth_browser_open(PeerAuth *auth, const char *url);
void auth_browser_drop(PeerAuth *auth);
