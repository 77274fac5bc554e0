/* Shows tokens, and sees to it that there are some. One flow at a time; who waits is in a list, and
 * is told from a timer, never from inside a call. */
#include "peer/auth.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/text.h"
#include "oauth/assertion.h"
#include "oauth/discovery.h"
#include "oauth/scope.h"
#include "oauth/url.h"
#include "peer/auth_impl.h"
#include "peer/auth_store.h"

/* After a renewal that failed for a time the token is shown as it is, until it is tried again. */
#define AUTH_RENEWAL_PAUSE_MS 30000

/* Pages in such a time are one chain; a server that refuses every token must not open one for each
 * request. */
#define AUTH_ASKS_MS ((int64_t)10 * 60 * 1000)

int64_t auth_now_s(void)
{
    return clock_now_ms() / 1000;
}

/* ---- life ---- */

static int auth_check(const PeerAuthConfig *config, Diag *reterr_diag)
{
    Diag diag = DIAG_NULL;
    OauthUrl url;

    if (oauth_url_parse(&url, span_from_str(config->server)) != 0) {
        return diag_set(reterr_diag, PEER_AUTH_E_INVALID, "not an address of http or https: %.150s",
                        config->server);
    }
    if (!oauth_url_is_safe(&url)) {
        return diag_set(reterr_diag, PEER_AUTH_E_INVALID,
                        "tokens are sent over https only, and to this machine: %.150s",
                        config->server);
    }
    if (config->settings != NULL && oauth_settings_check(config->settings, &diag) != 0) {
        return diag_set(reterr_diag, PEER_AUTH_E_INVALID, "%s", diag.message);
    }
    return 0;
}

static int auth_set_store(PeerAuth *auth, const char *store)
{
    if (store == NULL) {
        int r = peer_auth_store_path(&auth->store, NULL, NULL);

        return r < 0 ? err_pass(r) : 0; /* a user without a folder keeps nothing */
    }
    return oauth_credential_set(&auth->store, span_from_str(store));
}

static void auth_timer(void *context);

int peer_auth_new(PeerAuth **ret, const PeerAuthConfig *config, Diag *reterr_diag)
{
    PeerAuth *auth;
    int r = auth_check(config, reterr_diag);

    if (r != 0) {
        return r;
    }
    auth = mem_alloc_array(1, sizeof(*auth));
    if (auth == NULL) {
        return err_raise(-ENOMEM);
    }
    auth->loop = config->loop;
    auth->fetcher = config->fetcher;
    auth->may_ask = config->may_ask;
    auth->no_browser = config->no_browser;
    auth->page = config->page;
    auth->context = config->context;
    auth->person_ms = config->person_ms > 0 ? config->person_ms : LIMIT_OAUTH_PERSON_MS;
    auth->log = config->log;
    auth->lock = PRIVATE_FILE_NULL;
    for (size_t i = 0; i < TW_ARRAY_SIZE(auth->browser_fds); i++) {
        auth->browser_fds[i] = -1;
    }
    bytes_init(&auth->authorization, LIMIT_OAUTH_TOKEN_BYTES + 16);
    bytes_init(&auth->proof, LIMIT_OAUTH_TOKEN_BYTES);
    bytes_init(&auth->nonce, LIMIT_OAUTH_TOKEN_BYTES);
    bytes_init(&auth->body, LIMIT_OAUTH_BODY_BYTES);
    r = oauth_credential_set(&auth->server, span_from_str(config->server));
    r = r == 0 ? auth_set_store(auth, config->store) : r;
    if (r == 0 && config->settings != NULL) {
        r = oauth_settings_copy(&auth->settings, config->settings);
    }
    r = r == 0 ? io_timer_new(&auth->timer, auth->loop, false, auth_timer, auth) : r;
    r = r == 0 ? io_timer_new(&auth->lock_timer, auth->loop, false, auth_flow_lock, auth) : r;
    if (r != 0) {
        (void)peer_auth_free(auth);
        return r;
    }
    *ret = auth;
    return 0;
}

PeerAuth *peer_auth_free(PeerAuth *auth)
{
    if (auth != NULL) {
        auth_flow_drop(auth);
        auth_browser_drop(auth);
        auth->listener = peer_auth_listener_free(auth->listener);
        auth->timer = io_timer_free(auth->timer);
        auth->lock_timer = io_timer_free(auth->lock_timer);
        (void)io_fetcher_free(auth->own_fetcher);
        (void)oauth_key_free(auth->key);
        oauth_credential_deinit(&auth->credential);
        oauth_settings_deinit(&auth->settings);
        bytes_deinit(&auth->authorization);
        bytes_deinit(&auth->proof);
        bytes_deinit(&auth->nonce);
        bytes_deinit(&auth->body);
        mem_free(auth->server);
        mem_free(auth->store);
        mem_free(auth);
    }
    return NULL;
}

/* ---- who waits ---- */

static void auth_wait_add(PeerAuth *auth, PeerAuthWait *wait)
{
    wait->prev = NULL;
    wait->next = auth->waits;
    if (wait->next != NULL) {
        wait->next->prev = wait;
    }
    auth->waits = wait;
}

void peer_auth_forget(PeerAuth *auth, PeerAuthWait *wait)
{
    if (wait->prev != NULL) {
        wait->prev->next = wait->next;
    } else if (auth->waits == wait) {
        auth->waits = wait->next;
    } else {
        return; /* it does not wait */
    }
    if (wait->next != NULL) {
        wait->next->prev = wait->prev;
    }
    wait->next = NULL;
    wait->prev = NULL;
}

/* Tells one after the other, the oldest first; each may go, come again, or take others with it. Who
 * comes again waits for the next end: `has_end` is over by then. */
static void auth_tell(PeerAuth *auth)
{
    PeerAuthOutcome outcome = auth->end;
    char why[DIAG_MESSAGE_SIZE];
    size_t n = 0;

    memcpy(why, auth->why, sizeof(why));
    auth->has_end = false;
    for (PeerAuthWait *wait = auth->waits; wait != NULL; wait = wait->next) {
        n++;
    }
    for (; n > 0 && auth->waits != NULL && !auth->has_end; n--) {
        PeerAuthWait *last = auth->waits;

        while (last->next != NULL) {
            last = last->next;
        }
        peer_auth_forget(auth, last);
        last->done(last, outcome, why);
    }
}

static void auth_timer(void *context)
{
    PeerAuth *auth = (PeerAuth *)context;

    if (auth->has_end) {
        auth_tell(auth);
    } else if (auth->flow != NULL) {
        auth_flow_drop(auth);
        auth_end(auth, PEER_AUTH_REFUSED, "nobody has logged in in time");
    }
}

void auth_end(PeerAuth *auth, PeerAuthOutcome outcome, const char *why)
{
    auth->has_end = true;
    auth->end = outcome;
    (void)snprintf(auth->why, sizeof(auth->why), "%s", why);
    io_timer_start_at(auth->timer, io_loop_now_ms(auth->loop));
}

void peer_auth_wait(PeerAuth *auth, PeerAuthWait *wait)
{
    auth_wait_add(auth, wait);
    if (auth->flow == NULL && !auth->has_end) {
        auth_end(auth, PEER_AUTH_RETRY, "");
    }
}

/* ---- what is known ---- */

int auth_take(PeerAuth *auth, const OauthCredential *credential)
{
    OauthCredential copy = {.server = NULL};
    int r = oauth_credential_copy(&copy, credential);

    if (r != 0) {
        return r;
    }
    auth->key = oauth_key_free(auth->key);
    oauth_credential_deinit(&auth->credential);
    auth->credential = copy;
    return 0;
}

void auth_forget(PeerAuth *auth)
{
    auth->key = oauth_key_free(auth->key);
    oauth_credential_deinit(&auth->credential);
    auth->is_kept = false;
}

/* ---- headers ---- */

static int auth_key(PeerAuth *auth)
{
    Bytes der;
    int r;

    if (auth->key != NULL) {
        return 0;
    }
    bytes_init(&der, LIMIT_OAUTH_TOKEN_BYTES);
    r = auth->credential.dpop_key == NULL
            ? -EINVAL
            : base64_decode(&der, BASE64_URL, span_from_str(auth->credential.dpop_key));
    r = r == 0 ? oauth_key_from_der(&auth->key, bytes_span(&der), NULL) : r;
    bytes_deinit(&der);
    return r;
}

static int auth_proof(PeerAuth *auth, const char *method, const char *url, Span nonce)
{
    char random[OAUTH_RANDOM_BYTES];
    OauthProof proof = {.method = span_from_str(method),
                        .url = span_from_str(url),
                        .token = span_from_str(auth->credential.access_token),
                        .nonce = nonce.n > 0 ? nonce : bytes_span(&auth->nonce)};
    Bytes id;
    int r = random_fill(random, sizeof(random));

    bytes_init(&id, 2 * sizeof(random));
    r = r == 0 ? base64_encode(&id, BASE64_URL, span_make(random, sizeof(random))) : r;
    r = r == 0 ? auth_key(auth) : r;
    proof.id = bytes_span(&id);
    r = r == 0 ? oauth_assertion_dpop(&auth->proof, auth->key, &proof, auth_now_s()) : r;
    bytes_deinit(&id);
    return r;
}

static bool auth_is_dpop(const PeerAuth *auth)
{
    return auth->credential.token_type != NULL && strcmp(auth->credential.token_type, "DPoP") == 0;
}

/* Can a new token be had without a person? */
static bool auth_can_renew(const PeerAuth *auth)
{
    return auth->credential.refresh_token != NULL || auth->settings.grant != OAUTH_GRANT_CODE;
}

/* True: a token is to be waited for. */
static bool auth_must_wait(PeerAuth *auth)
{
    if (auth->credential.access_token == NULL) {
        return auth->flow != NULL;
    }
    if (oauth_credential_is_fresh(&auth->credential, auth_now_s())) {
        return false;
    }
    if (auth->flow != NULL) {
        return true;
    }
    if (!auth_can_renew(auth) || io_loop_now_ms(auth->loop) < auth->no_renewal_until_ms) {
        return false;
    }
    auth->no_renewal_until_ms = io_loop_now_ms(auth->loop) + AUTH_RENEWAL_PAUSE_MS;
    auth_flow_start(auth, NULL, true, false);
    return true;
}

int peer_auth_headers(PeerAuth *auth, const char *method, const char *url, Span nonce,
                      PeerAuthHeaders *ret, bool *ret_wait)
{
    PeerAuthHeaders headers = {SPAN_NULL, SPAN_NULL};
    int r = 0;

    auth_look(auth);
    bytes_clear(&auth->authorization);
    bytes_clear(&auth->proof);
    *ret_wait = auth_must_wait(auth);
    if (!*ret_wait && auth->credential.access_token != NULL) {
        r = bytes_append_format(&auth->authorization, "%s %s",
                                auth_is_dpop(auth) ? "DPoP" : "Bearer",
                                auth->credential.access_token);
        if (r == 0 && auth_is_dpop(auth)) {
            r = auth_proof(auth, method, url, nonce);
        }
        headers.authorization = bytes_span(&auth->authorization);
        headers.dpop = bytes_span(&auth->proof);
    }
    /* A key that cannot be read shows nothing: the server then says what it wants. */
    *ret = r == 0 ? headers : (PeerAuthHeaders){SPAN_NULL, SPAN_NULL};
    return r == -ENOMEM ? err_pass(r) : 0;
}

void peer_auth_nonce(PeerAuth *auth, Span nonce)
{
    if (nonce.n > 0) {
        bytes_clear(&auth->nonce);
        (void)bytes_append_span(&auth->nonce, nonce);
    }
}

bool peer_auth_covers(const PeerAuth *auth, Span scope)
{
    return oauth_scope_covers(oauth_credential_span(auth->credential.requested), scope);
}

/* ---- challenges ---- */

/* Was it our present token that was refused? */
static bool auth_is_current(const PeerAuth *auth, Span shown)
{
    Span token = oauth_credential_span(auth->credential.access_token);

    return token.n > 0 && shown.n > token.n && span_ends_with(shown, token) &&
           shown.p[shown.n - token.n - 1] == ' ';
}

/* NULL: more scopes are asked for; else why not. */
static const char *auth_step_up_fault(const PeerAuth *auth, const OauthChallenge *wanted,
                                      unsigned status)
{
    if (!span_equals(wanted->error, SPAN("insufficient_scope"))) {
        return status == 403 ? "the server forbids it, whatever the token (403)"
                             : "the server does not take the request";
    }
    if (peer_auth_covers(auth, wanted->scope)) {
        return "the server wants scopes that were asked for already";
    }
    return auth->n_step_ups >= LIMIT_OAUTH_STEP_UPS
               ? "the server wants more and more scopes: log in with those that are needed"
               : NULL;
}

static bool auth_may_ask_again(PeerAuth *auth)
{
    if (io_loop_now_ms(auth->loop) - auth->asked_ms > AUTH_ASKS_MS) {
        auth->n_asks = 0;
    }
    return auth->n_asks <= LIMIT_OAUTH_STEP_UPS;
}

static void auth_refused(PeerAuth *auth, const OauthChallenge *wanted,
                         const PeerAuthChallenge *challenge)
{
    bool is_current = auth_is_current(auth, challenge->shown);
    bool is_step_up = challenge->status != 401;
    const char *fault = NULL;

    if (challenge->shown.n > 0 && span_equals(wanted->error, SPAN("use_dpop_nonce")) &&
        challenge->dpop_nonce.n > 0) {
        auth_end(auth, PEER_AUTH_RETRY, "");
        return;
    }
    /* It was renewed meanwhile. */
    if (auth->credential.access_token != NULL && !is_current) {
        auth_end(auth, PEER_AUTH_RETRY, "");
        return;
    }
    if (is_step_up) {
        fault = auth_step_up_fault(auth, wanted, challenge->status);
        auth->n_step_ups++;
    } else if (!auth_may_ask_again(auth)) {
        fault = "the server refuses every token that it is shown";
    }
    if (fault != NULL) {
        auth_end(auth, PEER_AUTH_REFUSED, fault);
        return;
    }
    auth_flow_start(auth, wanted, false, is_step_up);
}

void peer_auth_challenge(PeerAuth *auth, const PeerAuthChallenge *challenge, PeerAuthWait *wait)
{
    OauthChallenge wanted = {.is_there = false};
    Arena arena;
    int r;

    auth_wait_add(auth, wait);
    peer_auth_nonce(auth, challenge->dpop_nonce);
    if (auth->flow != NULL || auth->has_end) {
        return; /* its end is this one's, too */
    }
    arena_init(&arena, LIMIT_OAUTH_BODY_BYTES);
    r = oauth_challenge_parse(&wanted, &arena, challenge->www_authenticate,
                              challenge->n_www_authenticate);
    if (r != 0) {
        auth_end(auth, PEER_AUTH_REFUSED, "there is no memory for the server's challenge");
    } else {
        auth_refused(auth, &wanted, challenge);
    }
    arena_deinit(&arena);
}
