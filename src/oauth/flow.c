#include "oauth/flow.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/error.h"
#include "base/limits.h"
#include "oauth/assertion.h"
#include "oauth/flow_impl.h"
#include "oauth/url.h"

/* ---- helpers of the states ---- */

void flow_refuse(OauthFlow *flow, const char *why)
{
    (void)diag_set(&flow->diag, OAUTH_E_REFUSED, "%s", why);
    flow->state = FLOW_REFUSED;
}

int flow_settle(OauthFlow *flow, int r)
{
    if (r == OAUTH_E_REFUSED) {
        flow->state = FLOW_REFUSED;
        return 0;
    }
    /* A buffer of ours that is full was filled by what they sent. */
    if (r == BYTES_E_FULL) {
        flow_refuse(flow, "what the servers say is too long");
        return 0;
    }
    return r < 0 ? err_pass(r) : 0;
}

int flow_keep(OauthFlow *flow, Span text, Span *ret)
{
    if (text.n == 0) {
        *ret = SPAN_NULL;
        return 0;
    }
    *ret = arena_copy(&flow->arena, text);
    return ret->p == NULL ? err_raise(-ENOMEM) : 0;
}

int flow_random(OauthFlow *flow, Span *ret)
{
    char random[OAUTH_RANDOM_BYTES];
    Bytes text;
    int r = flow->random(flow->random_context, random, sizeof(random));

    if (r != 0) {
        return err_pass(r);
    }
    bytes_init(&text, 2 * sizeof(random));
    r = base64_encode(&text, BASE64_URL, span_make(random, sizeof(random)));
    if (r == 0) {
        r = flow_keep(flow, bytes_span(&text), ret);
    }
    bytes_deinit(&text);
    return err_fold(r);
}

/* ---- life ---- */

static int flow_copy_challenge(OauthFlow *flow, const OauthChallenge *challenge)
{
    int r;

    flow->challenge = *challenge;
    r = flow_keep(flow, challenge->resource_metadata, &flow->challenge.resource_metadata);
    if (r == 0) {
        r = flow_keep(flow, challenge->scope, &flow->challenge.scope);
    }
    flow->challenge.error = SPAN_NULL;
    flow->challenge.error_description = SPAN_NULL;
    return r;
}

static void flow_begin_state(OauthFlow *flow)
{
    OauthUrl url;
    int r = oauth_settings_check(flow->settings, &flow->diag);

    if (r != 0) {
        flow->state = FLOW_REFUSED;
    } else if (oauth_url_parse(&url, flow->server) != 0 || !oauth_url_is_safe(&url)) {
        flow_refuse(flow, "tokens are sent over https only, and to this machine");
    } else if (flow->is_renewal && flow->credential.refresh_token != NULL &&
               flow->credential.token_endpoint != NULL && flow->credential.issuer != NULL) {
        flow->state = FLOW_REFRESH;
    } else {
        flow->state = FLOW_RESOURCE;
    }
}

int oauth_flow_begin(OauthFlow **ret, const OauthFlowConfig *config)
{
    OauthFlow *flow = mem_alloc_array(1, sizeof(*flow));
    int r;

    if (flow == NULL) {
        return err_raise(-ENOMEM);
    }
    arena_init(&flow->arena, LIMIT_OAUTH_ARENA_BYTES);
    bytes_init(&flow->url, LIMIT_OAUTH_TOKEN_BYTES);
    bytes_init(&flow->body, LIMIT_OAUTH_BODY_BYTES);
    bytes_init(&flow->authorization, LIMIT_OAUTH_TOKEN_BYTES);
    bytes_init(&flow->dpop, LIMIT_OAUTH_TOKEN_BYTES);
    flow->diag = DIAG_NULL;
    flow->settings = config->settings;
    flow->random = config->random;
    flow->random_context = config->random_context;
    flow->is_renewal = config->is_renewal;
    flow->is_step_up = config->is_step_up;
    flow->may_ask = config->may_ask;
    r = flow_keep(flow, config->server, &flow->server);
    if (r == 0 && config->known != NULL) {
        r = oauth_credential_copy(&flow->credential, config->known);
    }
    if (r == 0 && config->challenge != NULL) {
        r = flow_copy_challenge(flow, config->challenge);
    }
    if (r != 0) {
        (void)oauth_flow_free(flow);
        return r;
    }
    flow->wants_dpop =
        flow->settings->is_dpop || flow->challenge.is_dpop ||
        (flow->credential.token_type != NULL && strcmp(flow->credential.token_type, "DPoP") == 0);
    flow_begin_state(flow);
    *ret = flow;
    return 0;
}

OauthFlow *oauth_flow_free(OauthFlow *flow)
{
    if (flow != NULL) {
        oauth_credential_deinit(&flow->credential);
        (void)oauth_key_free(flow->client_key);
        (void)oauth_key_free(flow->dpop_key);
        bytes_deinit(&flow->url);
        bytes_deinit(&flow->body);
        bytes_deinit(&flow->authorization);
        bytes_deinit(&flow->dpop);
        arena_deinit(&flow->arena);
        mem_free(flow);
    }
    return NULL;
}

/* ---- orders ---- */

static int flow_prepare(OauthFlow *flow, int64_t now_s)
{
    bytes_clear(&flow->url);
    bytes_clear(&flow->body);
    bytes_clear(&flow->authorization);
    bytes_clear(&flow->dpop);
    switch (flow->state) {
    case FLOW_RESOURCE:
        return flow_resource_url(flow);
    case FLOW_SERVER:
        return flow_server_url(flow);
    case FLOW_REGISTER:
        return flow_register_request(flow);
    case FLOW_OPEN:
        return flow_open_url(flow);
    case FLOW_REFRESH:
    case FLOW_EXCHANGE:
    case FLOW_TOKEN:
        return flow_token_request(flow, now_s);
    case FLOW_SAVE:
        flow->credential.saved_s = now_s;
        return 0;
    case FLOW_LOOK:
    case FLOW_LISTEN:
    case FLOW_DONE:
    case FLOW_REFUSED:
        return 0;
    }
    return 0;
}

static OauthOrder flow_fetch(const OauthFlow *flow)
{
    bool is_form =
        flow->state == FLOW_REFRESH || flow->state == FLOW_EXCHANGE || flow->state == FLOW_TOKEN;
    OauthOrder order = {.kind = OAUTH_ORDER_FETCH, .method = "GET"};

    order.url = bytes_span(&flow->url);
    if (is_form || flow->state == FLOW_REGISTER) {
        order.method = "POST";
        order.body = bytes_span(&flow->body);
        order.content_type = is_form ? "application/x-www-form-urlencoded" : "application/json";
        order.authorization = bytes_span(&flow->authorization);
        order.dpop = bytes_span(&flow->dpop);
    }
    return order;
}

int oauth_flow_next(OauthFlow *flow, int64_t now_s, OauthOrder *ret)
{
    FlowState before;
    OauthOrder order = {.kind = OAUTH_ORDER_REFUSED};

    /* What prepares a request may find that another step comes first. */
    do {
        int r;

        before = flow->state;
        r = flow_settle(flow, flow_prepare(flow, now_s));
        if (r != 0) {
            return r;
        }
    } while (flow->state != before);
    switch (flow->state) {
    case FLOW_LOOK:
        order.kind = OAUTH_ORDER_LOOK;
        order.issuer = flow->authority.issuer;
        break;
    case FLOW_LISTEN:
        order.kind = OAUTH_ORDER_LISTEN;
        order.url = oauth_credential_span(flow->credential.redirect_uri);
        break;
    case FLOW_OPEN:
        order.kind = OAUTH_ORDER_OPEN;
        order.url = bytes_span(&flow->url);
        break;
    case FLOW_SAVE:
    case FLOW_DONE:
        order.kind = flow->state == FLOW_SAVE ? OAUTH_ORDER_SAVE : OAUTH_ORDER_DONE;
        order.credential = &flow->credential;
        break;
    case FLOW_REFUSED:
        order.why = flow->diag.message;
        order.is_lasting = flow->is_lasting;
        break;
    case FLOW_RESOURCE:
    case FLOW_SERVER:
    case FLOW_REGISTER:
    case FLOW_REFRESH:
    case FLOW_EXCHANGE:
    case FLOW_TOKEN:
        order = flow_fetch(flow);
        break;
    }
    *ret = order;
    return 0;
}

/* ---- answers ---- */

static int flow_fetched(OauthFlow *flow, int64_t now_s, const OauthFetched *fetched)
{
    switch (flow->state) {
    case FLOW_RESOURCE:
        return flow_resource_fetched(flow, fetched);
    case FLOW_SERVER:
        return flow_server_fetched(flow, fetched);
    case FLOW_REGISTER:
        return flow_register_fetched(flow, fetched);
    case FLOW_REFRESH:
    case FLOW_EXCHANGE:
    case FLOW_TOKEN:
        return flow_token_fetched(flow, now_s, fetched);
    case FLOW_LOOK:
    case FLOW_LISTEN:
    case FLOW_OPEN:
    case FLOW_SAVE:
    case FLOW_DONE:
    case FLOW_REFUSED:
        break;
    }
    return err_raise(-EINVAL);
}

int oauth_flow_fetched(OauthFlow *flow, int64_t now_s, const OauthFetched *fetched)
{
    if (fetched->status == 0) {
        OauthUrl url = {.is_https = false};
        int n;

        (void)oauth_url_parse(&url, bytes_span(&flow->url));
        n = (int)(url.authority.n < 100 ? url.authority.n : 100);
        (void)diag_set(&flow->diag, OAUTH_E_REFUSED, "%.*s: %s", n, n > 0 ? url.authority.p : "",
                       fetched->message);
        flow->state = FLOW_REFUSED;
        return 0;
    }
    return flow_settle(flow, flow_fetched(flow, now_s, fetched));
}

int oauth_flow_looked(OauthFlow *flow, int64_t now_s, const OauthCredential *found)
{
    int r = 0;

    /* What was known of another issuer is nobody's business here. */
    if (flow->credential.issuer == NULL ||
        !span_equals(span_from_str(flow->credential.issuer), flow->authority.issuer)) {
        oauth_credential_deinit(&flow->credential);
        flow->is_step_up = false;
    }
    if (found != NULL) {
        oauth_credential_deinit(&flow->credential);
        r = oauth_credential_copy(&flow->credential, found);
    }
    return r != 0 ? r : flow_settle(flow, flow_choose(flow, now_s));
}

int oauth_flow_listening(OauthFlow *flow, Span redirect_uri)
{
    int r = flow_keep(flow, redirect_uri, &flow->redirect_uri);

    return r != 0 ? r : flow_settle(flow, flow_after_listen(flow));
}

int oauth_flow_redirected(OauthFlow *flow, Span query)
{
    Span issuer = flow->authority.is_guess ? SPAN_NULL : flow->authority.issuer;
    int r = oauth_redirect_check(&flow->code, &flow->arena, query, flow->state_text, issuer,
                                 flow->authority.has_iss, &flow->diag);

    if (r == OAUTH_E_STRANGER) {
        return r;
    }
    if (r == 0) {
        flow->state = FLOW_TOKEN;
    }
    return flow_settle(flow, r);
}

int oauth_flow_saved(OauthFlow *flow)
{
    flow->state = flow->after_save;
    return 0;
}

void oauth_flow_refuse(OauthFlow *flow, const char *why)
{
    flow_refuse(flow, why);
}
