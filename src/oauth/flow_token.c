/* Requests to token endpoints, and what becomes of their answers. */
#include "oauth/flow_impl.h"

#include <errno.h>
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/limits.h"
#include "oauth/assertion.h"
#include "oauth/url.h"

#define GRANT_JWT_BEARER "urn:ietf:params:oauth:grant-type:jwt-bearer"
#define GRANT_EXCHANGE   "urn:ietf:params:oauth:grant-type:token-exchange"
#define TYPE_ID_JAG      "urn:ietf:params:oauth:token-type:id-jag"
#define TYPE_ID_TOKEN    "urn:ietf:params:oauth:token-type:id_token"
#define ASSERTION_BEARER "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

/* ---- who we are ---- */

static OauthMethod token_method(const OauthFlow *flow)
{
    const OauthCredential *credential = &flow->credential;
    unsigned methods = flow->authority.methods;
    OauthMethod said;

    if (flow->settings->private_key != NULL &&
        (methods == 0 || (methods & 1u << OAUTH_METHOD_JWT) != 0)) {
        return OAUTH_METHOD_JWT;
    }
    if (credential->client_secret == NULL) {
        return OAUTH_METHOD_NONE;
    }
    if (credential->method != NULL && (credential->is_registered || flow->is_renewal) &&
        oauth_method_find(span_from_str(credential->method), &said) && said != OAUTH_METHOD_JWT) {
        return said;
    }
    if (methods == 0 || (methods & 1u << OAUTH_METHOD_BASIC) != 0) {
        return OAUTH_METHOD_BASIC;
    }
    return (methods & 1u << OAUTH_METHOD_POST) != 0 ? OAUTH_METHOD_POST : OAUTH_METHOD_NONE;
}

/* RFC 6749 2.3.1: both are encoded as in a form first. */
static int token_basic(Bytes *out, Span id, Span secret)
{
    Bytes pair;
    int r;

    bytes_init(&pair, LIMIT_OAUTH_TOKEN_BYTES);
    r = oauth_url_escape(&pair, id);
    r = r == 0 ? bytes_append_byte(&pair, ':') : r;
    r = r == 0 ? oauth_url_escape(&pair, secret) : r;
    r = r == 0 ? bytes_append_span(out, SPAN("Basic ")) : r;
    r = r == 0 ? base64_encode(out, BASE64_STANDARD, bytes_span(&pair)) : r;
    bytes_deinit(&pair);
    return r;
}

static int token_assertion(OauthFlow *flow, int64_t now_s)
{
    const OauthCredential *credential = &flow->credential;
    Bytes out;
    Span id;
    int r = flow_random(flow, &id);

    if (r == 0 && flow->client_key == NULL) {
        r = oauth_key_from_pem(&flow->client_key, span_from_str(flow->settings->private_key),
                               &flow->diag);
    }
    if (r != 0) {
        return r;
    }
    bytes_init(&out, LIMIT_OAUTH_TOKEN_BYTES);
    r = oauth_assertion_client(&out, flow->client_key, oauth_credential_span(credential->client_id),
                               oauth_credential_span(credential->issuer), id, now_s);
    r = r == 0 ? oauth_form_add(&flow->body, "client_assertion_type", SPAN(ASSERTION_BEARER)) : r;
    r = r == 0 ? oauth_form_add(&flow->body, "client_assertion", bytes_span(&out)) : r;
    bytes_deinit(&out);
    return r;
}

static int token_client(OauthFlow *flow, int64_t now_s)
{
    OauthCredential *credential = &flow->credential;
    Span id = oauth_credential_span(credential->client_id);
    Span secret = oauth_credential_span(credential->client_secret);
    OauthMethod method = token_method(flow);
    int r = oauth_credential_set(&credential->method, span_from_str(oauth_method_name(method)));

    if (r != 0) {
        return r;
    }
    switch (method) {
    case OAUTH_METHOD_BASIC:
        return token_basic(&flow->authorization, id, secret);
    case OAUTH_METHOD_POST:
        r = oauth_form_add(&flow->body, "client_id", id);
        return r == 0 ? oauth_form_add(&flow->body, "client_secret", secret) : r;
    case OAUTH_METHOD_JWT:
        r = oauth_form_add(&flow->body, "client_id", id);
        return r == 0 ? token_assertion(flow, now_s) : r;
    case OAUTH_METHOD_NONE:
    case OAUTH_N_METHODS:
        break;
    }
    return oauth_form_add(&flow->body, "client_id", id);
}

/* ---- DPoP ---- */

int flow_dpop_key(OauthFlow *flow)
{
    OauthCredential *credential = &flow->credential;
    Bytes text;
    Bytes der;
    int r = 0;

    if (flow->dpop_key != NULL) {
        return 0;
    }
    bytes_init(&text, LIMIT_OAUTH_TOKEN_BYTES);
    bytes_init(&der, LIMIT_OAUTH_TOKEN_BYTES);
    if (credential->dpop_key != NULL &&
        base64_decode(&der, BASE64_URL, span_from_str(credential->dpop_key)) == 0) {
        r = oauth_key_from_der(&flow->dpop_key, bytes_span(&der), &flow->diag);
    } else {
        r = oauth_key_make(&flow->dpop_key, &flow->diag);
        r = r == 0 ? oauth_key_der(flow->dpop_key, &der) : r;
        r = r == 0 ? base64_encode(&text, BASE64_URL, bytes_span(&der)) : r;
        r = r == 0 ? oauth_credential_set(&credential->dpop_key, bytes_span(&text)) : r;
    }
    bytes_deinit(&text);
    bytes_deinit(&der);
    return r;
}

static int token_proof(OauthFlow *flow, int64_t now_s)
{
    OauthProof proof = {
        .method = SPAN("POST"), .url = bytes_span(&flow->url), .nonce = flow->nonce};
    int r = flow_dpop_key(flow);

    r = r == 0 ? flow_random(flow, &proof.id) : r;
    return r == 0 ? oauth_assertion_dpop(&flow->dpop, flow->dpop_key, &proof, now_s) : r;
}

/* ---- requests ---- */

static int token_exchange_body(OauthFlow *flow)
{
    const OauthSettings *settings = flow->settings;
    Bytes *body = &flow->body;
    int r = oauth_form_add(body, "grant_type", SPAN(GRANT_EXCHANGE));

    r = r == 0 ? oauth_form_add(body, "requested_token_type", SPAN(TYPE_ID_JAG)) : r;
    r = r == 0 ? oauth_form_add(body, "audience", flow->authority.issuer) : r;
    r = r == 0 ? oauth_form_add(body, "resource", flow->resource.resource) : r;
    r = r == 0 ? oauth_form_add(body, "scope", flow->scope) : r;
    r = r == 0 ? oauth_form_add(body, "subject_token", oauth_credential_span(settings->id_token))
               : r;
    r = r == 0 ? oauth_form_add(body, "subject_token_type", SPAN(TYPE_ID_TOKEN)) : r;
    r = r == 0 ? oauth_form_add(body, "client_id", oauth_credential_span(settings->idp_client_id))
               : r;
    r = r == 0 ? oauth_form_add(body, "client_secret",
                                oauth_credential_span(settings->idp_client_secret))
               : r;
    return r;
}

static int token_bearer_body(OauthFlow *flow, Span assertion)
{
    int r = oauth_form_add(&flow->body, "grant_type", SPAN(GRANT_JWT_BEARER));

    r = r == 0 ? oauth_form_add(&flow->body, "assertion", assertion) : r;
    return r == 0 ? oauth_form_add(&flow->body, "scope", flow->scope) : r;
}

static int token_body(OauthFlow *flow)
{
    Bytes *body = &flow->body;
    int r = 0;

    if (flow->state == FLOW_REFRESH) {
        r = oauth_form_add(body, "grant_type", SPAN("refresh_token"));
        return r == 0 ? oauth_form_add(body, "refresh_token",
                                       oauth_credential_span(flow->credential.refresh_token))
                      : r;
    }
    switch (flow->settings->grant) {
    case OAUTH_GRANT_CODE:
        r = oauth_form_add(body, "grant_type", SPAN("authorization_code"));
        r = r == 0 ? oauth_form_add(body, "code", flow->code) : r;
        r = r == 0 ? oauth_form_add(body, "redirect_uri", flow->redirect_uri) : r;
        return r == 0 ? oauth_form_add(body, "code_verifier", flow->verifier) : r;
    case OAUTH_GRANT_CLIENT:
        r = oauth_form_add(body, "grant_type", SPAN("client_credentials"));
        return r == 0 ? oauth_form_add(body, "scope", flow->scope) : r;
    case OAUTH_GRANT_WORKLOAD:
        return token_bearer_body(flow, span_from_str(flow->settings->workload_token));
    case OAUTH_GRANT_ENTERPRISE:
        return token_bearer_body(flow, flow->assertion);
    case OAUTH_N_GRANTS:
        break;
    }
    return err_raise(-EINVAL);
}

int flow_token_request(OauthFlow *flow, int64_t now_s)
{
    const OauthCredential *credential = &flow->credential;
    int r;

    if (flow->state == FLOW_EXCHANGE) {
        r = bytes_append_span(&flow->url, span_from_str(flow->settings->idp_token_endpoint));
        return r == 0 ? token_exchange_body(flow) : r;
    }
    r = bytes_append_span(&flow->url, oauth_credential_span(credential->token_endpoint));
    r = r == 0 ? token_body(flow) : r;
    r = r == 0
            ? oauth_form_add(&flow->body, "resource", oauth_credential_span(credential->resource))
            : r;
    r = r == 0 ? token_client(flow, now_s) : r;
    return r == 0 && flow->wants_dpop ? token_proof(flow, now_s) : r;
}

/* ---- answers ---- */

static int token_exchanged(OauthFlow *flow, const OauthToken *token)
{
    if (!span_equals(token->issued_type, SPAN(TYPE_ID_JAG))) {
        return diag_set(&flow->diag, OAUTH_E_REFUSED,
                        "the identity provider gave no ID-JAG for the ID token");
    }
    flow->assertion = token->access_token;
    flow->is_nonce_tried = false;
    flow->state = FLOW_TOKEN;
    return 0;
}

static int token_keep(OauthFlow *flow, const OauthToken *token, int64_t now_s)
{
    OauthCredential *credential = &flow->credential;
    bool is_refresh = flow->state == FLOW_REFRESH;
    Span scope = token->scope.n > 0 ? token->scope : flow->scope;
    int r = oauth_credential_set(&credential->access_token, token->access_token);

    /* A refresh token that is not replaced stays good (RFC 6749 6). */
    if (r == 0 && (token->refresh_token.n > 0 || !is_refresh)) {
        r = oauth_credential_set(&credential->refresh_token, token->refresh_token);
    }
    if (r == 0 && (token->scope.n > 0 || !is_refresh)) {
        r = oauth_credential_set(&credential->scope, scope);
    }
    if (r == 0 && !is_refresh) {
        r = oauth_credential_set(&credential->requested, flow->scope);
    }
    if (r == 0) {
        r = oauth_credential_set(&credential->token_type,
                                 token->is_dpop ? SPAN("DPoP") : SPAN("Bearer"));
    }
    credential->expires_s = token->expires_in > 0 ? now_s + token->expires_in : 0;
    flow->after_save = FLOW_DONE;
    flow->state = FLOW_SAVE;
    return r;
}

/* What is refused for good is not kept: else it would be shown for ever. */
static int token_spent(OauthFlow *flow, int64_t now_s, bool is_client)
{
    OauthCredential *credential = &flow->credential;
    int r = oauth_credential_set(&credential->refresh_token, SPAN_NULL);

    r = r == 0 ? oauth_credential_set(&credential->access_token, SPAN_NULL) : r;
    if (r == 0 && is_client && credential->is_registered) {
        r = oauth_credential_set(&credential->client_id, SPAN_NULL);
    }
    if (r != 0 || flow->state == FLOW_TOKEN) {
        flow->after_save = FLOW_REFUSED;
        flow->state = FLOW_SAVE;
        return r;
    }
    flow->is_refresh_spent = true;
    if (flow->is_renewal) {
        flow->is_renewal = false;
        flow->state = FLOW_RESOURCE;
    } else {
        r = flow_settle(flow, flow_choose(flow, now_s));
    }
    flow->after_save = flow->state;
    flow->state = FLOW_SAVE;
    return r;
}

static int token_refused(OauthFlow *flow, int64_t now_s, const OauthToken *token,
                         const OauthFetched *fetched)
{
    bool is_client = span_equals(token->error, SPAN("invalid_client"));

    if (span_equals(token->error, SPAN("use_dpop_nonce")) && flow->wants_dpop &&
        fetched->dpop_nonce.n > 0 && !flow->is_nonce_tried) {
        flow->is_nonce_tried = true;
        return flow_keep(flow, fetched->dpop_nonce, &flow->nonce);
    }
    if (flow->state == FLOW_REFRESH &&
        (is_client || span_equals(token->error, SPAN("invalid_grant")))) {
        return token_spent(flow, now_s, is_client);
    }
    flow->is_lasting = token->error.n > 0;
    if (flow->state == FLOW_TOKEN && is_client && flow->credential.is_registered) {
        return token_spent(flow, now_s, true);
    }
    return OAUTH_E_REFUSED;
}

int flow_token_fetched(OauthFlow *flow, int64_t now_s, const OauthFetched *fetched)
{
    OauthToken token;
    Span body;
    int r = flow_keep(flow, fetched->body, &body);

    if (r != 0) {
        return r;
    }
    r = oauth_token_parse(&token, &flow->arena, fetched->status, body, flow->state == FLOW_EXCHANGE,
                          &flow->diag);
    if (r == OAUTH_E_REFUSED) {
        return token_refused(flow, now_s, &token, fetched);
    }
    if (r != 0) {
        return r;
    }
    if (flow->state == FLOW_EXCHANGE) {
        return token_exchanged(flow, &token);
    }
    if (flow->wants_dpop != token.is_dpop) {
        return diag_set(&flow->diag, OAUTH_E_REFUSED, "%s",
                        flow->wants_dpop
                            ? "the token endpoint gave a token that is not bound to our key"
                            : "the token endpoint bound the token to a key that we did not show");
    }
    return token_keep(flow, &token, now_s);
}
