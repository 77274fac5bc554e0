/* Who we are to an authorization server, what we ask it for, and the page for the person. */
#include "oauth/flow_impl.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "oauth/assertion.h"
#include "oauth/scope.h"
#include "oauth/url.h"
#include "json/writer.h"

/* Address and scopes of a command that is to be typed: they fit a Diag. Longer scopes are left out,
 * for half of them would be others. */
#define CLIENT_HINT_BYTES 170

/* ---- scopes ---- */

static int client_add_scopes(OauthFlow *flow, Bytes *out)
{
    Span requested = oauth_credential_span(flow->credential.requested);
    Span ours = oauth_credential_span(flow->settings->scope);
    int r = 0;

    if (flow->is_step_up) {
        r = oauth_scope_add(out, requested);
    }
    if (r == 0) {
        r = oauth_scope_add(out, ours);
    }
    if (r == 0 && flow->challenge.scope.n > 0) {
        r = oauth_scope_add(out, flow->challenge.scope);
    } else if (r == 0 && ours.n == 0) {
        r = oauth_scope_add(out, flow->resource.scopes);
    }
    /* Alone it would ask for a token that may do nothing. */
    if (r == 0 && out->n > 0 && flow->settings->grant == OAUTH_GRANT_CODE &&
        oauth_scope_has(flow->authority.scopes, SPAN("offline_access"))) {
        r = oauth_scope_add(out, SPAN("offline_access"));
    }
    return r;
}

static int client_scopes(OauthFlow *flow)
{
    Bytes out;
    int r;

    bytes_init(&out, LIMIT_OAUTH_SCOPE_BYTES);
    r = client_add_scopes(flow, &out);
    if (r == 0) {
        r = flow_keep(flow, bytes_span(&out), &flow->scope);
    }
    bytes_deinit(&out);
    return r;
}

/* ---- the client ---- */

static int client_drop_tokens(OauthCredential *credential)
{
    int r = oauth_credential_set(&credential->access_token, SPAN_NULL);

    r = r == 0 ? oauth_credential_set(&credential->refresh_token, SPAN_NULL) : r;
    r = r == 0 ? oauth_credential_set(&credential->scope, SPAN_NULL) : r;
    credential->expires_s = 0;
    return r;
}

/* A client that was not registered by us. Tokens of another one are not ours to renew. */
static int client_set(OauthFlow *flow, const char *id, const char *secret)
{
    OauthCredential *credential = &flow->credential;
    int r = 0;

    if (credential->client_id == NULL || strcmp(credential->client_id, id) != 0) {
        r = client_drop_tokens(credential);
    }
    credential->is_registered = false;
    credential->client_expires_s = 0;
    r = r == 0 ? oauth_credential_set(&credential->client_id, span_from_str(id)) : r;
    r = r == 0 ? oauth_credential_set(&credential->client_secret, oauth_credential_span(secret))
               : r;
    r = r == 0 ? oauth_credential_set(&credential->redirect_uri, SPAN_NULL) : r;
    return r;
}

static int client_clear(OauthFlow *flow)
{
    OauthCredential *credential = &flow->credential;
    int r = client_drop_tokens(credential);

    credential->is_registered = false;
    r = r == 0 ? oauth_credential_set(&credential->client_id, SPAN_NULL) : r;
    r = r == 0 ? oauth_credential_set(&credential->client_secret, SPAN_NULL) : r;
    r = r == 0 ? oauth_credential_set(&credential->method, SPAN_NULL) : r;
    return r;
}

/* In the order of the specification: by hand, by document, by registration. */
static int client_select(OauthFlow *flow, int64_t now_s)
{
    const OauthSettings *settings = flow->settings;
    OauthCredential *credential = &flow->credential;

    if (settings->client_id != NULL) {
        if (settings->issuer != NULL &&
            !span_equals(span_from_str(settings->issuer), flow->authority.issuer)) {
            return diag_set(&flow->diag, OAUTH_E_REFUSED,
                            "the client id is that of another issuer than the server names now");
        }
        return client_set(flow, settings->client_id, settings->client_secret);
    }
    if (settings->cimd_url != NULL && flow->authority.has_cimd) {
        return client_set(flow, settings->cimd_url, NULL);
    }
    if (settings->grant != OAUTH_GRANT_CODE) {
        return 0; /* a workload's token says who it is */
    }
    /* One that was given by hand at an earlier time is kept, too. */
    if (credential->client_id != NULL &&
        (credential->client_expires_s == 0 || credential->client_expires_s > now_s)) {
        return 0;
    }
    if (flow->authority.registration_endpoint.n == 0) {
        flow->is_lasting = true;
        return diag_set(&flow->diag, OAUTH_E_REFUSED,
                        "the authorization server registers nobody by itself: a client id is "
                        "needed");
    }
    return client_clear(flow);
}

static int client_describe(OauthFlow *flow)
{
    OauthCredential *credential = &flow->credential;
    int r = oauth_credential_set(&credential->server, flow->server);

    r = r == 0 ? oauth_credential_set(&credential->issuer, flow->authority.issuer) : r;
    r = r == 0 ? oauth_credential_set(&credential->resource, flow->resource.resource) : r;
    r = r == 0 ? oauth_credential_set(&credential->token_endpoint, flow->authority.token_endpoint)
               : r;
    return r;
}

/* Can it stand between single quotes of a shell, and be read at a glance? */
static bool is_plain_scope(Span scope)
{
    for (size_t i = 0; i < scope.n; i++) {
        if (scope.p[i] < ' ' || scope.p[i] > '~' || scope.p[i] == '\'') {
            return false;
        }
    }
    return scope.n > 0;
}

/* What a person has to do. A login asks for what the server wants of everybody; where a request
 * wanted more, only we know that. */
static int client_refuse_to_ask(OauthFlow *flow)
{
    bool has_scope = flow->is_step_up && is_plain_scope(flow->scope) && flow->server.n < 150 &&
                     flow->scope.n < CLIENT_HINT_BYTES - flow->server.n;

    flow->is_lasting = true;
    return diag_set(&flow->diag, OAUTH_E_REFUSED,
                    "somebody has to log in: toolwire auth login %.*s%s%.*s%s",
                    (int)(flow->server.n < 150 ? flow->server.n : 150), flow->server.p,
                    has_scope ? " --scope '" : "", has_scope ? (int)flow->scope.n : 0,
                    has_scope ? flow->scope.p : "", has_scope ? "'" : "");
}

/* The code grant: renew, or ask a person. */
static int client_choose_code(OauthFlow *flow)
{
    if (!flow->authority.has_pkce) {
        return diag_set(&flow->diag, OAUTH_E_REFUSED,
                        "the authorization server does not say that it has PKCE with S256");
    }
    if (flow->credential.refresh_token != NULL && flow->credential.client_id != NULL &&
        !flow->is_step_up && !flow->is_refresh_spent) {
        flow->state = FLOW_REFRESH;
        return 0;
    }
    if (flow->authority.authorization_endpoint.n == 0) {
        return diag_set(&flow->diag, OAUTH_E_REFUSED,
                        "the authorization server has no authorization_endpoint");
    }
    if (!flow->may_ask) {
        return client_refuse_to_ask(flow);
    }
    flow->state = FLOW_LISTEN;
    return 0;
}

int flow_choose(OauthFlow *flow, int64_t now_s)
{
    int r = client_scopes(flow);

    if (r == 0) {
        r = client_select(flow, now_s);
    }
    if (r == 0) {
        r = client_describe(flow);
    }
    if (r != 0) {
        return r;
    }
    if (flow->settings->grant == OAUTH_GRANT_CODE) {
        return client_choose_code(flow);
    }
    flow->state = flow->settings->grant == OAUTH_GRANT_ENTERPRISE ? FLOW_EXCHANGE : FLOW_TOKEN;
    return 0;
}

int flow_after_listen(OauthFlow *flow)
{
    const OauthCredential *credential = &flow->credential;
    bool is_other = credential->is_registered && credential->redirect_uri != NULL &&
                    !span_equals(span_from_str(credential->redirect_uri), flow->redirect_uri);

    /* Many servers compare the port, though RFC 8252 has it free: a new one is registered anew. */
    flow->state =
        credential->client_id == NULL || (is_other && flow->authority.registration_endpoint.n > 0)
            ? FLOW_REGISTER
            : FLOW_OPEN;
    return 0;
}

/* ---- registration (RFC 7591) ---- */

/* A program on somebody's machine keeps no secret: none, where the server has it. */
static OauthMethod client_wanted_method(const OauthFlow *flow)
{
    unsigned methods = flow->authority.methods;

    if (methods == 0 || (methods & 1u << OAUTH_METHOD_NONE) != 0) {
        return OAUTH_METHOD_NONE;
    }
    return (methods & 1u << OAUTH_METHOD_BASIC) != 0 ? OAUTH_METHOD_BASIC : OAUTH_METHOD_POST;
}

static void client_member(JsonWriter *w, const char *name, Span value)
{
    json_write_key(w, span_from_str(name));
    json_write_string(w, value);
}

static void client_array(JsonWriter *w, const char *name, Span first, Span second)
{
    json_write_key(w, span_from_str(name));
    json_write_array(w);
    json_write_string(w, first);
    if (second.n > 0) {
        json_write_string(w, second);
    }
    json_write_end_array(w);
}

int flow_register_request(OauthFlow *flow)
{
    const char *name = flow->settings->client_name;
    JsonWriter w;
    int r = bytes_append_span(&flow->url, flow->authority.registration_endpoint);

    json_writer_init(&w, &flow->body, JSON_STYLE_COMPACT);
    json_write_object(&w);
    client_member(&w, "client_name", span_from_str(name == NULL ? "toolwire" : name));
    client_member(&w, "application_type", SPAN("native"));
    client_array(&w, "redirect_uris", flow->redirect_uri, SPAN_NULL);
    client_array(&w, "grant_types", SPAN("authorization_code"), SPAN("refresh_token"));
    client_array(&w, "response_types", SPAN("code"), SPAN_NULL);
    client_member(&w, "token_endpoint_auth_method",
                  span_from_str(oauth_method_name(client_wanted_method(flow))));
    if (flow->scope.n > 0) {
        client_member(&w, "scope", flow->scope);
    }
    json_write_end_object(&w);
    return r == 0 ? json_writer_finish(&w) : r;
}

int flow_register_fetched(OauthFlow *flow, const OauthFetched *fetched)
{
    OauthCredential *credential = &flow->credential;
    OauthRegistration client;
    Span body;
    int r = flow_keep(flow, fetched->body, &body);

    if (r == 0) {
        r = oauth_registration_parse(&client, &flow->arena, fetched->status, body, &flow->diag);
    }
    if (r != 0) {
        return r;
    }
    r = client_drop_tokens(credential);
    r = r == 0 ? oauth_credential_set(&credential->client_id, client.client_id) : r;
    r = r == 0 ? oauth_credential_set(&credential->client_secret, client.client_secret) : r;
    r = r == 0 ? oauth_credential_set(&credential->method, client.method) : r;
    r = r == 0 ? oauth_credential_set(&credential->redirect_uri, flow->redirect_uri) : r;
    credential->client_expires_s = client.expires_s;
    credential->is_registered = true;
    /* Kept at once: a person who gives up now need not be registered again. */
    flow->after_save = FLOW_OPEN;
    flow->state = FLOW_SAVE;
    return r;
}

/* ---- the page ---- */

static int client_open_query(OauthFlow *flow, Bytes *out, Span challenge, Span jkt)
{
    int r = oauth_form_add(out, "response_type", SPAN("code"));

    r = r == 0 ? oauth_form_add(out, "client_id", oauth_credential_span(flow->credential.client_id))
               : r;
    r = r == 0 ? oauth_form_add(out, "redirect_uri", flow->redirect_uri) : r;
    r = r == 0 ? oauth_form_add(out, "scope", flow->scope) : r;
    r = r == 0 ? oauth_form_add(out, "state", flow->state_text) : r;
    r = r == 0 ? oauth_form_add(out, "code_challenge", challenge) : r;
    r = r == 0 ? oauth_form_add(out, "code_challenge_method", SPAN("S256")) : r;
    r = r == 0 ? oauth_form_add(out, "resource", flow->resource.resource) : r;
    r = r == 0 ? oauth_form_add(out, "dpop_jkt", jkt) : r;
    /* OpenID Connect gives no refresh token without asking the person. */
    if (r == 0 && oauth_scope_has(flow->scope, SPAN("offline_access"))) {
        r = oauth_form_add(out, "prompt", SPAN("consent"));
    }
    return r;
}

/* The thumbprint of the key that the token will be bound to. */
static int client_thumbprint(OauthFlow *flow, Bytes *out)
{
    Bytes jwk;
    int r;

    if (!flow->wants_dpop) {
        return 0;
    }
    bytes_init(&jwk, LIMIT_OAUTH_TOKEN_BYTES);
    r = flow_dpop_key(flow);
    r = r == 0 ? oauth_key_jwk(flow->dpop_key, &jwk) : r;
    r = r == 0 ? oauth_hash(out, bytes_span(&jwk)) : r;
    bytes_deinit(&jwk);
    return r;
}

int flow_open_url(OauthFlow *flow)
{
    Span endpoint = flow->authority.authorization_endpoint;
    Bytes challenge;
    Bytes query;
    Bytes jkt;
    int r = flow_random(flow, &flow->state_text);

    bytes_init(&query, LIMIT_OAUTH_TOKEN_BYTES);
    bytes_init(&challenge, LIMIT_OAUTH_TOKEN_BYTES);
    bytes_init(&jkt, LIMIT_OAUTH_TOKEN_BYTES);
    r = r == 0 ? flow_random(flow, &flow->verifier) : r;
    r = r == 0 ? oauth_hash(&challenge, flow->verifier) : r;
    r = r == 0 ? client_thumbprint(flow, &jkt) : r;
    r = r == 0 ? client_open_query(flow, &query, bytes_span(&challenge), bytes_span(&jkt)) : r;
    r = r == 0 ? bytes_append_span(&flow->url, endpoint) : r;
    r = r == 0
            ? bytes_append_byte(&flow->url, memchr(endpoint.p, '?', endpoint.n) == NULL ? '?' : '&')
            : r;
    r = r == 0 ? bytes_append_span(&flow->url, bytes_span(&query)) : r;
    bytes_deinit(&query);
    bytes_deinit(&challenge);
    bytes_deinit(&jkt);
    return r;
}
