/* Carries out the orders of a flow: on the network, in the file, and before a person. */
#include "peer/auth_impl.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/text.h"
#include "oauth/answer.h"
#include "oauth/url.h"
#include "peer/auth_store.h"

/* A server whose tokens live for seconds is not asked for the next one before each request. */
#define FLOW_RENEWAL_MIN_MS 5000

/* Who has the lock renews a token, and may have to find out where: a few requests of a second, or
 * of LIMIT_OAUTH_FETCH_MS if all goes wrong. */
#define FLOW_LOCK_MS      60000
#define FLOW_LOCK_LOOK_MS 50

static void flow_step(PeerAuth *auth);

static int flow_random(void *context, void *p, size_t n)
{
    (void)context;
    return random_fill(p, n);
}

void auth_flow_drop(PeerAuth *auth)
{
    auth->fetch = io_fetch_free(auth->fetch);
    auth->is_resent = false;
    auth->flow = oauth_flow_free(auth->flow);
    if (auth->lock_timer != NULL) { /* made last */
        io_timer_stop(auth->timer);
        io_timer_stop(auth->lock_timer);
    }
    auth_unlock(auth);
    if (auth->listener != NULL) {
        peer_auth_listener_stop(auth->listener);
    }
}

static void flow_over(PeerAuth *auth, PeerAuthOutcome outcome, const char *why)
{
    char words[DIAG_MESSAGE_SIZE];

    /* The words may be the flow's own. */
    (void)snprintf(words, sizeof(words), "%s", why);
    auth_flow_drop(auth);
    auth_end(auth, outcome, words);
}

static void flow_failed(PeerAuth *auth, int r)
{
    flow_over(auth, PEER_AUTH_REFUSED,
              r == -ENOMEM ? "there is no memory for it" : "the authorization failed here");
}

/* ---- FETCH ---- */

static void fetch_data(void *context, IoFetch *fetch, Span bytes)
{
    PeerAuth *auth = (PeerAuth *)context;

    (void)fetch;
    /* The fetch itself is bounded: what does not fit comes no further. */
    (void)bytes_append_span(&auth->body, bytes);
}

static void fetch_done(void *context, IoFetch *fetch, const IoFetchEnd *end)
{
    PeerAuth *auth = (PeerAuth *)context;
    OauthFetched fetched = {.message = end->message};
    int r;

    if (end->outcome == IO_FETCH_DONE) {
        fetched.status = end->status;
        fetched.body = bytes_span(&auth->body);
        if (!io_fetch_field(fetch, SPAN("DPoP-Nonce"), &fetched.dpop_nonce)) {
            fetched.dpop_nonce = SPAN_NULL;
        }
    }
    auth->fetch = NULL;
    /* A connection that was kept may be closed by the server just when it is used: a person may
     * have been away for minutes. If it had the request, and the answer is lost, so is what was
     * asked for; asking again makes that no worse. */
    if (end->outcome == IO_FETCH_CUT && end->status == 0 && !auth->is_resent) {
        auth->is_resent = true;
        flow_step(auth);
        return;
    }
    auth->is_resent = false;
    r = oauth_flow_fetched(auth->flow, auth_now_s(), &fetched);
    if (r != 0) {
        flow_failed(auth, r);
        return;
    }
    flow_step(auth);
}

static const IoFetchOps fetch_ops = {.data = fetch_data, .done = fetch_done};

static int fetch_library(PeerAuth *auth, Diag *reterr_diag)
{
    int r = 0;

    if (auth->fetcher == NULL) {
        r = io_fetcher_new(&auth->own_fetcher, auth->loop, reterr_diag);
        auth->fetcher = auth->own_fetcher;
    }
    return r;
}

static void flow_fetch(PeerAuth *auth, const OauthOrder *order)
{
    IoFetchField fields[5] = {{SPAN("Accept"), SPAN("application/json")}};
    size_t n = 1;
    Diag diag = DIAG_NULL;
    char *url = NULL;
    int r = oauth_credential_set(&url, order->url);

    if (order->content_type != NULL) {
        fields[n++] = (IoFetchField){SPAN("Content-Type"), span_from_str(order->content_type)};
    }
    if (order->authorization.n > 0) {
        fields[n++] = (IoFetchField){SPAN("Authorization"), order->authorization};
    }
    if (order->dpop.n > 0) {
        fields[n++] = (IoFetchField){SPAN("DPoP"), order->dpop};
    }
    bytes_clear(&auth->body);
    logsink_write(auth->log, LOGSINK_LEVEL_DEBUG, "auth", "%s %s", order->method,
                  url == NULL ? "" : url);
    r = r == 0 ? fetch_library(auth, &diag) : r;
    r = r == 0 ? io_fetch_start(&auth->fetch, auth->fetcher,
                                &(IoFetchRequest){.method = order->method,
                                                  .url = url,
                                                  .fields = fields,
                                                  .n_fields = n,
                                                  .body = order->body,
                                                  .total_ms = LIMIT_OAUTH_FETCH_MS,
                                                  .max_body_bytes = LIMIT_OAUTH_BODY_BYTES,
                                                  .ops = &fetch_ops,
                                                  .context = auth},
                                &diag)
               : r;
    mem_free(url);
    if (r > 0) {
        flow_over(auth, PEER_AUTH_REFUSED, diag.message);
    } else if (r != 0) {
        flow_failed(auth, r);
    }
}

/* ---- LOOK, SAVE ---- */

static int flow_look(PeerAuth *auth, Span issuer)
{
    OauthCredential found = {.server = NULL};
    int r = OAUTH_STORE_E_NONE;

    if (auth_has_file(auth)) {
        r = peer_auth_store_find(auth->store, span_from_str(auth->server), issuer, &found, NULL);
    }
    if (r < 0) {
        return err_pass(r);
    }
    /* Who has logged out since the flow was begun: nothing is known, whatever it began with. */
    r = oauth_flow_looked(auth->flow, auth_now_s(),
                          r == 0 || auth->credential.server == NULL ? &found : NULL);
    oauth_credential_deinit(&found);
    return r;
}

/* A refresh token was refused: did another process use it before us, and has a new one? One that
 * does not know the lock, or could not have it. */
static bool flow_was_overtaken(PeerAuth *auth, const OauthCredential *credential)
{
    OauthCredential found = {.server = NULL};
    bool is_newer = false;

    if (credential->access_token != NULL || !auth_has_file(auth) ||
        auth->credential.refresh_token == NULL) {
        return false;
    }
    if (peer_auth_store_find(auth->store, span_from_str(auth->server),
                             oauth_credential_span(credential->issuer), &found, NULL) == 0) {
        is_newer = oauth_credential_is_fresh(&found, auth_now_s()) && found.refresh_token != NULL &&
                   strcmp(found.refresh_token, auth->credential.refresh_token) != 0 &&
                   auth_take(auth, &found) == 0;
    }
    oauth_credential_deinit(&found);
    return is_newer;
}

static int flow_save(PeerAuth *auth, const OauthCredential *credential)
{
    Span server = span_from_str(auth->server);
    Span issuer = oauth_credential_span(credential->issuer);
    Diag diag = DIAG_NULL;
    int r = 0;

    if (auth_has_file(auth)) {
        /* What is only renewed is not written down for who has logged out meanwhile. */
        r = auth->is_kept && !auth->has_asked && auth->settings.grant == OAUTH_GRANT_CODE
                ? peer_auth_store_replace(auth->store, server, issuer, credential, &diag)
                : peer_auth_store_put(auth->store, server, issuer, credential, NULL, &diag);
    }
    if (r == OAUTH_STORE_E_NONE) {
        auth_forget(auth);
        flow_over(auth, PEER_AUTH_REFUSED, "somebody has logged out");
        return 1;
    }
    auth->is_kept = r == 0 && auth_has_file(auth);
    /* It serves until the process ends, all the same. */
    if (r > 0) {
        logsink_write(auth->log, LOGSINK_LEVEL_WARN, "auth", "the token is not kept: %s",
                      diag.message);
    }
    return r < 0 ? err_pass(r) : oauth_flow_saved(auth->flow);
}

/* ---- LISTEN, OPEN ---- */

static PeerAuthCame flow_came(void *context, Span query)
{
    PeerAuth *auth = (PeerAuth *)context;
    OauthOrder order;
    int r;

    if (auth->flow == NULL) {
        return PEER_AUTH_CAME_STRANGER;
    }
    r = oauth_flow_redirected(auth->flow, query);
    if (r == OAUTH_E_STRANGER) {
        return PEER_AUTH_CAME_STRANGER;
    }
    io_timer_stop(auth->timer);
    if (r != 0) {
        flow_failed(auth, r);
        return PEER_AUTH_CAME_REFUSED;
    }
    r = oauth_flow_next(auth->flow, auth_now_s(), &order);
    if (r == 0 && order.kind == OAUTH_ORDER_REFUSED) {
        flow_over(auth, PEER_AUTH_REFUSED, order.why);
        return PEER_AUTH_CAME_REFUSED;
    }
    flow_step(auth);
    return PEER_AUTH_CAME_OURS;
}

static unsigned flow_port(const PeerAuth *auth, Span registered)
{
    uint64_t port = 0;
    OauthUrl url;

    if (auth->settings.redirect_port != 0) {
        return auth->settings.redirect_port;
    }
    if (registered.n > 0 && oauth_url_parse(&url, registered) == 0 &&
        text_parse_u64(url.port, &port) == 0 && port < 65536) {
        return (unsigned)port;
    }
    return 0;
}

static int flow_listen(PeerAuth *auth, Span registered)
{
    Diag diag = DIAG_NULL;
    unsigned port = flow_port(auth, registered);
    int r;

    auth->has_asked = true;
    auth_unlock(auth); /* a person takes minutes, and nothing is renewed any more */
    auth->listener = peer_auth_listener_free(auth->listener);
    r = peer_auth_listener_new(&auth->listener, auth->loop, port, flow_came, auth, &diag);
    /* A port that was only remembered may be another one. */
    if (r == PEER_AUTH_LISTENER_E_PLACE && port != 0 && auth->settings.redirect_port == 0) {
        r = peer_auth_listener_new(&auth->listener, auth->loop, 0, flow_came, auth, &diag);
    }
    if (r > 0) {
        oauth_flow_refuse(auth->flow, diag.message);
        return 0;
    }
    return r < 0 ? err_pass(r)
                 : oauth_flow_listening(auth->flow,
                                        span_from_str(peer_auth_listener_uri(auth->listener)));
}

static int flow_open(PeerAuth *auth, Span page)
{
    char *url = NULL;
    int r = oauth_credential_set(&url, page);

    if (r != 0) {
        return r;
    }
    auth->n_asks++;
    auth->asked_ms = io_loop_now_ms(auth->loop);
    io_timer_start_at(auth->timer, auth->asked_ms + auth->person_ms);
    if (!auth->no_browser) {
        auth_browser_open(auth, url);
    }
    if (auth->page != NULL) {
        auth->page(auth->context, url);
    }
    mem_free(url);
    return 0;
}

/* ---- orders ---- */

static void flow_done(PeerAuth *auth, const OauthCredential *credential)
{
    int r = auth_take(auth, credential);

    if (r != 0) {
        flow_failed(auth, r);
        return;
    }
    auth->no_renewal_until_ms = io_loop_now_ms(auth->loop) + FLOW_RENEWAL_MIN_MS;
    flow_over(auth, PEER_AUTH_RETRY, "");
}

/* 1: something was begun whose end comes later, or the flow is over. So does flow_save. */
static int flow_do(PeerAuth *auth, const OauthOrder *order)
{
    switch (order->kind) {
    case OAUTH_ORDER_FETCH:
        flow_fetch(auth, order);
        return 1;
    case OAUTH_ORDER_LOOK:
        return flow_look(auth, order->issuer);
    case OAUTH_ORDER_LISTEN:
        return flow_listen(auth, order->url);
    case OAUTH_ORDER_OPEN:
        return flow_open(auth, order->url) == 0 ? 1 : err_raise(-ENOMEM);
    case OAUTH_ORDER_SAVE:
        if (flow_was_overtaken(auth, order->credential)) {
            flow_over(auth, PEER_AUTH_RETRY, "");
            return 1;
        }
        return flow_save(auth, order->credential);
    case OAUTH_ORDER_DONE:
        flow_done(auth, order->credential);
        return 1;
    case OAUTH_ORDER_REFUSED:
        /* A token that could not be renewed early is shown as it is. */
        flow_over(auth,
                  auth->is_renewing && !order->is_lasting ? PEER_AUTH_RETRY : PEER_AUTH_REFUSED,
                  order->why);
        return 1;
    }
    return err_raise(-EINVAL);
}

static void flow_step(PeerAuth *auth)
{
    int r = 0;

    while (r == 0) {
        OauthOrder order;

        r = oauth_flow_next(auth->flow, auth_now_s(), &order);
        r = r == 0 ? flow_do(auth, &order) : r;
    }
    if (r < 0) {
        flow_failed(auth, r);
    }
}

static int flow_begin(PeerAuth *auth, const OauthChallenge *challenge, bool is_renewal,
                      bool is_step_up)
{
    OauthFlowConfig config = {.server = span_from_str(auth->server),
                              .settings = &auth->settings,
                              .known = auth->credential.server == NULL ? NULL : &auth->credential,
                              .challenge = challenge,
                              .is_renewal = is_renewal,
                              .is_step_up = is_step_up,
                              .may_ask = auth->may_ask && !is_renewal,
                              .random = flow_random};

    return oauth_flow_begin(&auth->flow, &config);
}

/* It is our turn. */
static void flow_locked(PeerAuth *auth)
{
    int r = 0;

    if (auth_reload(auth)) {
        flow_over(auth, PEER_AUTH_RETRY, "");
        return;
    }
    /* A renewal begins with what was known; others look it up. */
    if (auth->is_renewing) {
        auth->flow = oauth_flow_free(auth->flow);
        r = flow_begin(auth, NULL, true, false);
    }
    if (r != 0) {
        flow_failed(auth, r);
        return;
    }
    flow_step(auth);
}

void auth_flow_lock(void *context)
{
    PeerAuth *auth = (PeerAuth *)context;
    int64_t now_ms = io_loop_now_ms(auth->loop);
    int r = auth_lock(auth);

    if (r == 0) {
        flow_locked(auth);
    } else if (r < 0) {
        flow_failed(auth, r);
    } else if (now_ms < auth->lock_until_ms) {
        io_timer_start_at(auth->lock_timer, now_ms + FLOW_LOCK_LOOK_MS);
    } else {
        flow_over(auth, auth->is_renewing ? PEER_AUTH_RETRY : PEER_AUTH_REFUSED,
                  "another process renews the token, and does not come to an end");
    }
}

void auth_flow_start(PeerAuth *auth, const OauthChallenge *challenge, bool is_renewal,
                     bool is_step_up)
{
    int r = flow_begin(auth, challenge, is_renewal, is_step_up);

    auth->is_renewing = is_renewal;
    auth->has_asked = false;
    auth->lock_until_ms = io_loop_now_ms(auth->loop) + FLOW_LOCK_MS;
    if (r != 0) {
        flow_failed(auth, r);
        return;
    }
    auth_flow_lock(auth);
}
