/* oauth/flow_impl.h: what the files of the flow share. Private to oauth/flow*. */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "oauth/answer.h"
#include "oauth/discovery.h"
#include "oauth/flow.h"
#include "oauth/key.h"

typedef enum FlowState {
    FLOW_RESOURCE,
    FLOW_SERVER,
    FLOW_LOOK,
    FLOW_REFRESH,
    FLOW_LISTEN,
    FLOW_REGISTER,
    FLOW_OPEN,
    FLOW_EXCHANGE,
    FLOW_TOKEN,
    FLOW_SAVE,
    FLOW_DONE,
    FLOW_REFUSED
} FlowState;

struct OauthFlow {
    const OauthSettings *settings;
    int (*random)(void *context, void *p, size_t n);
    void *random_context;
    Arena arena;
    FlowState state;
    FlowState after_save;
    size_t attempt; /* address of metadata that is tried */
    bool is_renewal;
    bool is_step_up;
    bool may_ask;
    bool is_legacy;         /* no metadata of the resource: as 2025-03-26 has it */
    bool wants_dpop;        /* settings or challenge do */
    bool is_nonce_tried;    /* this request was sent again for a nonce */
    bool is_refresh_spent;  /* it was refused */
    bool is_register_tried; /* in this flow */
    bool is_lasting;
    Span server;
    OauthChallenge challenge;
    OauthResource resource;
    OauthServer authority;
    Span scope;
    Span redirect_uri;
    Span state_text;
    Span verifier;
    Span code;
    Span assertion; /* ID-JAG of the exchange */
    Span nonce;     /* of the authorization server */
    OauthCredential credential;
    OauthKey *client_key;
    OauthKey *dpop_key;
    Bytes url;
    Bytes body;
    Bytes authorization;
    Bytes dpop;
    Diag diag;
};

/* Takes what a step gave: a refusal becomes the state, the rest is returned. */
int flow_settle(OauthFlow *flow, int r);
void flow_refuse(OauthFlow *flow, const char *why);

/* Random bytes as base64url, in the arena. */
int flow_random(OauthFlow *flow, Span *ret);

/* Copies into the arena; *ret is then valid as long as the flow. 0, -ENOMEM. */
int flow_keep(OauthFlow *flow, Span text, Span *ret);

/* ---- flow_discover.c ---- */
int flow_resource_url(OauthFlow *flow);
int flow_resource_fetched(OauthFlow *flow, const OauthFetched *fetched);
int flow_server_url(OauthFlow *flow);
int flow_server_fetched(OauthFlow *flow, const OauthFetched *fetched);

/* ---- flow_client.c ---- */

/* The server is known and the store was looked at: who are we, and what comes next? */
int flow_choose(OauthFlow *flow, int64_t now_s);
int flow_after_listen(OauthFlow *flow);
int flow_register_request(OauthFlow *flow);
int flow_register_fetched(OauthFlow *flow, const OauthFetched *fetched);
int flow_open_url(OauthFlow *flow);

/* ---- flow_token.c ---- */

/* Makes the key that tokens are bound to, or takes the one that is kept. */
int flow_dpop_key(OauthFlow *flow);

/* The request of REFRESH, EXCHANGE and TOKEN. */
int flow_token_request(OauthFlow *flow, int64_t now_s);
int flow_token_fetched(OauthFlow *flow, int64_t now_s, const OauthFetched *fetched);
