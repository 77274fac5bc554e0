#include "app/http_auth.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/error.h"
#include "base/text.h"
#include "base/utf8.h"
#include "router/jwt.h"
#include "router/seal.h"
#include "json/writer.h"

/* Of a challenge, for the error and its description behind what each one says. */
#define AUTH_ERROR_BYTES 256

struct HttpAuth {
    RouterSealKey key;                /* for the two below, and of no use elsewhere */
    uint8_t token[ROUTER_SEAL_BYTES]; /* the code of our own token */
    bool has_token;
    Arena arena; /* what the spans below point at */
    Span resource;
    Span metadata_url;
    JwtIssuer *issuers;
    size_t n_issuers;
    Span *scopes;
    size_t n_scopes;
    char challenge[sizeof(((HttpDenial *)0)->challenge) - AUTH_ERROR_BYTES];
};

/* ---- making ---- */

static int auth_copy(HttpAuth *auth, Span s, Span *ret)
{
    *ret = arena_copy(&auth->arena, s);
    return ret->p == NULL ? err_raise(-ENOMEM) : 0;
}

/* What can stand between quotes in a header field, and between blanks in a list: visible ASCII but
 * for the quote and the backslash. (RFC 6749 says the same of scopes.) */
static bool auth_is_quotable(Span s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] <= ' ' || s.p[i] > '~' || s.p[i] == '"' || s.p[i] == '\\') {
            return false;
        }
    }
    return true;
}

static int auth_take_token(HttpAuth *auth, Span token)
{
    int r = router_seal_key_init(&auth->key);

    if (r != 0) {
        return err_pass(r);
    }
    auth->has_token = token.n > 0;
    return auth->has_token ? router_seal(&auth->key, &token, 1, auth->token) : 0;
}

static int auth_take_issuer(HttpAuth *auth, const HttpAuthIssuer *issuer, Diag *reterr_diag)
{
    JwtIssuer *made = &auth->issuers[auth->n_issuers];
    int r;

    if (issuer->issuer.n == 0) {
        return diag_set(reterr_diag, HTTP_AUTH_E_INVALID, "an issuer has no name");
    }
    for (size_t i = 0; i < auth->n_issuers; i++) {
        if (span_equals(auth->issuers[i].name, issuer->issuer)) {
            return diag_set(reterr_diag, HTTP_AUTH_E_INVALID, "the issuer %.*s is there twice",
                            (int)issuer->issuer.n, issuer->issuer.p);
        }
    }
    r = auth_copy(auth, issuer->issuer, &made->name);
    if (r != 0) {
        return err_pass(r);
    }
    r = jwt_keys_new(&made->keys, issuer->jwks, reterr_diag);
    if (r > 0) {
        diag_prefix(reterr_diag, "%.*s: ", (int)(issuer->issuer.n < 80 ? issuer->issuer.n : 80),
                    issuer->issuer.p);
        return HTTP_AUTH_E_INVALID;
    }
    if (r != 0) {
        return err_pass(r);
    }
    auth->n_issuers++;
    return 0;
}

static int auth_take_issuers(HttpAuth *auth, const HttpAuthConfig *config, Diag *reterr_diag)
{
    if (config->n_issuers == 0) {
        return 0;
    }
    if (config->resource.n == 0) {
        return diag_set(reterr_diag, HTTP_AUTH_E_INVALID,
                        "access tokens must be meant for this server: its resource is missing");
    }
    auth->issuers = arena_alloc_array(&auth->arena, config->n_issuers, sizeof(*auth->issuers));
    if (auth->issuers == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < config->n_issuers; i++) {
        int r = auth_take_issuer(auth, &config->issuers[i], reterr_diag);

        if (r != 0) {
            return r;
        }
    }
    return 0;
}

static int auth_take_scopes(HttpAuth *auth, const HttpAuthConfig *config, Diag *reterr_diag)
{
    if (config->n_scopes == 0) {
        return 0;
    }
    auth->scopes = arena_alloc_array(&auth->arena, config->n_scopes, sizeof(*auth->scopes));
    if (auth->scopes == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < config->n_scopes; i++) {
        Span scope = config->scopes[i];
        int r;

        if (scope.n == 0 || !auth_is_quotable(scope)) {
            return diag_set(reterr_diag, HTTP_AUTH_E_INVALID,
                            "a scope is one word of ASCII without quotes: '%.*s'",
                            (int)(scope.n < 80 ? scope.n : 80), scope.p);
        }
        r = auth_copy(auth, scope, &auth->scopes[i]);
        if (r != 0) {
            return err_pass(r);
        }
        auth->n_scopes++;
    }
    return 0;
}

/* ---- the challenge ---- */

/* What every challenge begins with. Scopes and metadata are only of use to whoever gets a token
 * from an issuer; a challenge says at least one thing (RFC 6750, section 3). */
static int auth_write_challenge(const HttpAuth *auth, Span metadata_url, Bytes *out)
{
    int r;

    if (auth->n_issuers == 0 || metadata_url.n == 0) {
        r = bytes_append_span(out, SPAN("Bearer realm=\"toolwire\""));
    } else {
        r = bytes_append_format(out, "Bearer resource_metadata=\"%.*s\"", (int)metadata_url.n,
                                metadata_url.p);
    }
    for (size_t i = 0; r == 0 && auth->n_issuers > 0 && i < auth->n_scopes; i++) {
        r = bytes_append_span(out, i == 0 ? SPAN(", scope=\"") : SPAN(" "));
        r = r != 0 ? r : bytes_append_span(out, auth->scopes[i]);
        if (r == 0 && i + 1 == auth->n_scopes) {
            r = bytes_append_byte(out, '"');
        }
    }
    return r != 0 ? r : bytes_append_byte(out, '\0');
}

static int auth_make_challenge(HttpAuth *auth, Span metadata_url, Diag *reterr_diag)
{
    Bytes out;
    int r;

    if (!auth_is_quotable(metadata_url)) {
        return diag_set(reterr_diag, HTTP_AUTH_E_INVALID,
                        "the URL of the metadata cannot be sent: '%.*s'",
                        (int)(metadata_url.n < 120 ? metadata_url.n : 120), metadata_url.p);
    }
    bytes_init(&out, sizeof(auth->challenge));
    r = auth_write_challenge(auth, metadata_url, &out);
    if (r == 0) {
        memcpy(auth->challenge, out.data, out.n);
    }
    bytes_deinit(&out);
    return r == BYTES_E_FULL ? diag_set(reterr_diag, HTTP_AUTH_E_INVALID,
                                        "the scopes and the URL of the metadata are too long for a "
                                        "header field: more than %zu bytes",
                                        sizeof(auth->challenge))
                             : err_pass(r);
}

static int auth_take(HttpAuth *auth, const HttpAuthConfig *config, Diag *reterr_diag)
{
    int r = auth_take_token(auth, config->token);

    r = r != 0 ? r : auth_copy(auth, config->resource, &auth->resource);
    r = r != 0 ? r : auth_copy(auth, config->metadata_url, &auth->metadata_url);
    r = r != 0 ? r : auth_take_issuers(auth, config, reterr_diag);
    r = r != 0 ? r : auth_take_scopes(auth, config, reterr_diag);
    return r != 0 ? r : auth_make_challenge(auth, config->metadata_url, reterr_diag);
}

int http_auth_new(HttpAuth **ret, const HttpAuthConfig *config, Diag *reterr_diag)
{
    HttpAuth *auth = mem_alloc_array(1, sizeof(*auth));
    int r;

    if (auth == NULL) {
        return err_raise(-ENOMEM);
    }
    arena_init(&auth->arena, (size_t)1024 * 1024);
    r = auth_take(auth, config, reterr_diag);
    if (r != 0) {
        auth = http_auth_free(auth);
        return r;
    }
    *ret = auth;
    return 0;
}

HttpAuth *http_auth_free(HttpAuth *auth)
{
    if (auth == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < auth->n_issuers; i++) {
        auth->issuers[i].keys = jwt_keys_free(auth->issuers[i].keys);
    }
    arena_deinit(&auth->arena);
    return mem_free(auth);
}

bool http_auth_is_needed(const HttpAuth *auth)
{
    return auth != NULL && (auth->has_token || auth->n_issuers > 0);
}

bool http_auth_has_issuers(const HttpAuth *auth)
{
    return auth != NULL && auth->n_issuers > 0;
}

bool http_auth_is_metadata(const HttpAuth *auth, Span path)
{
    return http_auth_url_has_path(auth->metadata_url, path);
}

/* ---- checking ---- */

/* error NULL: nothing was brought, and there is nothing to say about it (RFC 6750, section 3.1). */
static int auth_deny(const HttpAuth *auth, unsigned status, const char *error, const char *message,
                     HttpDenial *ret)
{
    HttpDenial denial = {.status = status};

    (void)snprintf(denial.message, sizeof(denial.message), "%s", message);
    if (error == NULL) {
        (void)snprintf(denial.challenge, sizeof(denial.challenge), "%s", auth->challenge);
    } else {
        (void)snprintf(denial.challenge, sizeof(denial.challenge),
                       "%s, error=\"%s\", error_description=\"%s\"", auth->challenge, error,
                       denial.message);
    }
    *ret = denial;
    return HTTP_AUTH_E_DENIED;
}

/* What stands behind "Bearer"; false if it is another scheme, or nothing. */
static bool auth_read_bearer(Span value, Span *ret)
{
    static const Span scheme = SPAN_INIT("Bearer");

    if (value.n <= scheme.n || value.p[scheme.n] != ' ' ||
        !text_equals_nocase(span_make(value.p, scheme.n), scheme)) {
        return false;
    }
    *ret = text_trim(span_make(value.p + scheme.n, value.n - scheme.n));
    return ret->n > 0;
}

/* A number for who it is: with a key, so that nobody can look for a subject with the number of
 * another. 0 is nobody's. */
static int auth_make_id(const HttpAuth *auth, const Span *pieces, size_t n, uint64_t *ret)
{
    uint8_t code[ROUTER_SEAL_BYTES];
    uint64_t id;
    int r = router_seal(&auth->key, pieces, n, code);

    if (r != 0) {
        return err_pass(r);
    }
    memcpy(&id, code, sizeof(id));
    *ret = id == 0 ? 1 : id;
    return 0;
}

/* Not the subject itself: two issuers may have the same, and one may be of any length. The key is
 * no secret: what is kept under the name must be found again by the next process. */
static int auth_make_owner(const Span *pieces, size_t n, char out[HTTP_AUTH_OWNER_BYTES])
{
    static const RouterSealKey key = {.bytes = {0}};
    static const char digits[] = "0123456789abcdef";
    uint8_t code[ROUTER_SEAL_BYTES];
    int r = router_seal(&key, pieces, n, code);

    for (size_t i = 0; r == 0 && i < HTTP_AUTH_OWNER_BYTES / 2; i++) {
        out[2 * i] = digits[code[i] >> 4];
        out[2 * i + 1] = digits[code[i] & 15];
    }
    out[HTTP_AUTH_OWNER_BYTES - 1] = '\0';
    return err_pass(r);
}

/* As much as there is room for, in whole characters; those that would upset a log become '?'. */
static void auth_copy_subject(char *out, size_t size, Span subject)
{
    const char *end = subject.p + subject.n;
    size_t n = 0;

    for (const char *p = subject.p; p < end;) {
        unsigned length = utf8_sequence(p, end);

        if (length == 0 || n + length >= size) {
            break;
        }
        memcpy(out + n, p, length);
        if (utf8_byte(p) < 0x20 || utf8_byte(p) == 0x7F) {
            out[n] = '?';
        }
        n += length;
        p += length;
    }
    out[n] = '\0';
}

/* Ours? Both codes are equally long whatever was sent, and their comparison says nothing. */
static int auth_check_own(const HttpAuth *auth, Span token, HttpGrant *ret, bool *ret_is_own)
{
    static const Span who = SPAN_INIT(HTTP_AUTH_OWNER_OWN);
    uint8_t code[ROUTER_SEAL_BYTES];
    int r;

    *ret_is_own = false;
    if (!auth->has_token) {
        return 0;
    }
    r = router_seal(&auth->key, &token, 1, code);
    if (r != 0) {
        return err_pass(r);
    }
    *ret_is_own = router_seal_equals(code, auth->token);
    *ret = (HttpGrant){.end_s = INT64_MAX};
    if (*ret_is_own) {
        memcpy(ret->owner, who.p, who.n + 1);
    }
    return *ret_is_own ? auth_make_id(auth, &who, 1, &ret->id) : 0;
}

static int auth_check_claims(const HttpAuth *auth, const JwtClaims *claims, HttpGrant *ret,
                             HttpDenial *ret_denial)
{
    Span who[] = {auth->issuers[claims->issuer].name, claims->subject};
    HttpGrant grant = {.end_s = claims->end_s};
    int r;

    for (size_t i = 0; i < auth->n_scopes; i++) {
        if (!jwt_has_scope(claims, auth->scopes[i])) {
            return auth_deny(auth, 403, "insufficient_scope",
                             "The access token does not have all scopes that are needed",
                             ret_denial);
        }
    }
    r = auth_make_id(auth, who, TW_ARRAY_SIZE(who), &grant.id);
    if (r == 0) {
        r = auth_make_owner(who, TW_ARRAY_SIZE(who), grant.owner);
    }
    if (r != 0) {
        return err_pass(r);
    }
    auth_copy_subject(grant.subject, sizeof(grant.subject), claims->subject);
    *ret = grant;
    return 0;
}

static int auth_check_jwt(const HttpAuth *auth, Span token, int64_t now_s, HttpGrant *ret,
                          HttpDenial *ret_denial)
{
    JwtTerms terms = {auth->issuers, auth->n_issuers, auth->resource};
    JwtFault fault = JWT_FAULT_NONE;
    JwtClaims claims;
    Arena arena;
    int r;

    arena_init(&arena, JWT_ARENA_BYTES);
    r = jwt_check(token, &terms, now_s, &arena, &claims, &fault);
    if (r == JWT_E_REFUSED) {
        r = auth_deny(auth, 401, "invalid_token", jwt_fault_text(fault), ret_denial);
    } else if (r == 0) {
        r = auth_check_claims(auth, &claims, ret, ret_denial);
    }
    arena_deinit(&arena);
    return r;
}

int http_auth_check(const HttpAuth *auth, const Http1Head *head, int64_t now_s, HttpGrant *ret,
                    HttpDenial *ret_denial)
{
    HttpGrant grant = {.end_s = INT64_MAX};
    bool is_own = false;
    Span value;
    Span token;
    size_t n;
    int r;

    if (!http_auth_is_needed(auth)) {
        *ret = grant;
        return 0;
    }
    if (http_auth_is_in_query(head->query)) {
        return auth_deny(auth, 400, "invalid_request",
                         "An access token does not belong into a URL; send it as Authorization",
                         ret_denial);
    }
    n = http1_head_find(head, SPAN("Authorization"), &value);
    if (n > 1) {
        return auth_deny(auth, 400, "invalid_request", "Authorization was sent more than once",
                         ret_denial);
    }
    if (n == 0 || !auth_read_bearer(value, &token)) {
        return auth_deny(auth, 401, NULL, "Unauthorized: a bearer token is needed", ret_denial);
    }
    r = auth_check_own(auth, token, &grant, &is_own);
    if (r != 0) {
        return err_pass(r);
    }
    if (is_own) {
        *ret = grant;
        return 0;
    }
    return auth->n_issuers > 0
               ? auth_check_jwt(auth, token, now_s, ret, ret_denial)
               : auth_deny(auth, 401, "invalid_token", "The bearer token is wrong", ret_denial);
}

/* ---- metadata ---- */

static void auth_write_list(JsonWriter *w, Span name, const HttpAuth *auth, bool is_scopes)
{
    size_t n = is_scopes ? auth->n_scopes : auth->n_issuers;

    /* Lists without elements are left out (RFC 9728, section 3.2). */
    if (n == 0) {
        return;
    }
    json_write_key(w, name);
    json_write_array(w);
    for (size_t i = 0; i < n; i++) {
        json_write_string(w, is_scopes ? auth->scopes[i] : auth->issuers[i].name);
    }
    json_write_end_array(w);
}

int http_auth_write_metadata(const HttpAuth *auth, Bytes *out)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("resource"));
    json_write_string(&w, auth->resource);
    auth_write_list(&w, SPAN("authorization_servers"), auth, false);
    auth_write_list(&w, SPAN("scopes_supported"), auth, true);
    json_write_key(&w, SPAN("bearer_methods_supported"));
    json_write_array(&w);
    json_write_string(&w, SPAN("header"));
    json_write_end_array(&w);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}
