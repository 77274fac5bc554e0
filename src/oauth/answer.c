#include "oauth/answer.h"

#include <errno.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "oauth/url.h"
#include "json/json.h"

/* An answer's text in a message: short, and without what a terminal would obey. */
static void answer_words(char out[120], Span text)
{
    size_t n = 0;

    for (size_t i = 0; i < text.n && n + 1 < 120; i++) {
        if (text.p[i] >= ' ' && text.p[i] < 0x7f) {
            out[n++] = text.p[i];
        }
    }
    out[n] = '\0';
}

/* The object that came; *ret_any false: it was none. */
static int answer_parse(JsonValue *ret, Arena *arena, Span body, bool *ret_any)
{
    JsonLimits limits = {.max_depth = LIMIT_OAUTH_DEPTH, .max_bytes = LIMIT_OAUTH_BODY_BYTES};
    JsonDoc doc;
    int r = json_parse(&doc, arena, body.p, body.n, &limits, NULL);

    if (r < 0) {
        return err_pass(r);
    }
    *ret_any = r == 0 && json_kind(json_root(&doc)) == JSON_OBJECT;
    if (*ret_any) {
        *ret = json_root(&doc);
    }
    return 0;
}

static int answer_string(JsonValue object, Arena *arena, const char *name, Span *ret)
{
    JsonValue value;
    int r;

    *ret = SPAN_NULL;
    if (!json_get(object, span_from_str(name), &value)) {
        return 0;
    }
    r = json_string(value, arena, ret);
    return r < 0 ? err_pass(r) : 0;
}

/* A number, or the digits of one in quotes, as some servers write it. */
static int64_t answer_number(JsonValue object, const char *name)
{
    JsonValue value;
    int64_t number = 0;
    double rounded = 0;
    Span text;

    if (!json_get(object, span_from_str(name), &value)) {
        return 0;
    }
    if (json_string_plain(value, &text)) {
        return text_parse_i64(text, &number) == 0 && number > 0 ? number : 0;
    }
    if (json_int64(value, &number) == 0) {
        return number > 0 ? number : 0;
    }
    return json_double(value, &rounded) == 0 && rounded > 0 && rounded < 1e12 ? (int64_t)rounded
                                                                              : 0;
}

/* What goes into a header, and into a file of strings: visible ASCII. */
static bool answer_is_secret(Span text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] <= ' ' || text.p[i] >= 0x7f) {
            return false;
        }
    }
    return text.n <= LIMIT_OAUTH_TOKEN_BYTES;
}

/* An error of RFC 6749 5.2. */
static int answer_error(JsonValue root, bool any, Arena *arena, unsigned status, const char *what,
                        Span *ret_error, Diag *reterr_diag)
{
    char words[120];
    char code[120];
    Span description = SPAN_NULL;
    int r = 0;

    *ret_error = SPAN_NULL;
    if (any) {
        r = answer_string(root, arena, "error", ret_error);
        r = r == 0 ? answer_string(root, arena, "error_description", &description) : r;
    }
    if (r != 0) {
        return r;
    }
    answer_words(code, *ret_error);
    answer_words(words, description);
    if (ret_error->n == 0) {
        return diag_set(reterr_diag, OAUTH_E_REFUSED, "%s answered with status %u", what, status);
    }
    return diag_set(reterr_diag, OAUTH_E_REFUSED, "%s refused: %.60s%s%s", what, code,
                    words[0] == '\0' ? "" : ": ", words);
}

static int token_read(OauthToken *token, JsonValue root, Arena *arena, Span *ret_type)
{
    int r = answer_string(root, arena, "access_token", &token->access_token);

    r = r == 0 ? answer_string(root, arena, "refresh_token", &token->refresh_token) : r;
    r = r == 0 ? answer_string(root, arena, "scope", &token->scope) : r;
    r = r == 0 ? answer_string(root, arena, "issued_token_type", &token->issued_type) : r;
    r = r == 0 ? answer_string(root, arena, "token_type", ret_type) : r;
    token->expires_in = answer_number(root, "expires_in");
    return r;
}

int oauth_token_parse(OauthToken *ret, Arena *arena, unsigned status, Span body, bool is_exchange,
                      Diag *reterr_diag)
{
    OauthToken token = {.expires_in = 0};
    Span type = SPAN_NULL;
    JsonValue root;
    bool any = false;
    int r = answer_parse(&root, arena, body, &any);

    *ret = token;
    if (r != 0) {
        return r;
    }
    /* Some servers send errors with status 200. */
    if (status != 200 || !any || json_get(root, SPAN("error"), &(JsonValue){NULL, NULL})) {
        r = answer_error(root, any, arena, status, "the token endpoint", &token.error, reterr_diag);
        *ret = token;
        return r;
    }
    r = token_read(&token, root, arena, &type);
    if (r != 0) {
        return r;
    }
    if (token.access_token.n == 0 || !answer_is_secret(token.access_token) ||
        !answer_is_secret(token.refresh_token)) {
        return diag_set(reterr_diag, OAUTH_E_REFUSED,
                        "the token endpoint gave no access_token that can be used");
    }
    token.is_dpop = text_equals_nocase(type, SPAN("DPoP"));
    if (!token.is_dpop && !is_exchange && type.n > 0 && !text_equals_nocase(type, SPAN("Bearer"))) {
        return diag_set(reterr_diag, OAUTH_E_REFUSED,
                        "the token endpoint gave a token of a type that we do not know");
    }
    if (token.scope.n > LIMIT_OAUTH_SCOPE_BYTES) {
        token.scope = SPAN_NULL;
    }
    *ret = token;
    return 0;
}

int oauth_registration_parse(OauthRegistration *ret, Arena *arena, unsigned status, Span body,
                             Diag *reterr_diag)
{
    OauthRegistration client = {.expires_s = 0};
    JsonValue root;
    Span error;
    bool any = false;
    int r = answer_parse(&root, arena, body, &any);

    if (r != 0) {
        return r;
    }
    if ((status != 201 && status != 200) || !any) {
        return answer_error(root, any, arena, status, "the registration endpoint", &error,
                            reterr_diag);
    }
    r = answer_string(root, arena, "client_id", &client.client_id);
    r = r == 0 ? answer_string(root, arena, "client_secret", &client.client_secret) : r;
    r = r == 0 ? answer_string(root, arena, "token_endpoint_auth_method", &client.method) : r;
    if (r != 0) {
        return r;
    }
    if (client.client_id.n == 0 || !answer_is_secret(client.client_id) ||
        !answer_is_secret(client.client_secret)) {
        return diag_set(reterr_diag, OAUTH_E_REFUSED,
                        "the registration endpoint gave no client_id that can be used");
    }
    client.expires_s = answer_number(root, "client_secret_expires_at");
    *ret = client;
    return 0;
}

/* ---- the redirect ---- */

/* 1: *ret is the value; 0: there is none. */
static int redirect_value(Span *ret, Arena *arena, Span query, const char *name)
{
    Bytes out;
    int r;

    *ret = SPAN_NULL;
    bytes_init(&out, LIMIT_OAUTH_TOKEN_BYTES);
    r = oauth_form_get(query, name, &out);
    if (r == 1) {
        *ret = arena_copy(arena, bytes_span(&out));
        r = ret->p == NULL ? err_raise(-ENOMEM) : 1;
    }
    bytes_deinit(&out);
    return r;
}

static int redirect_bad(Diag *reterr_diag, const char *what)
{
    return diag_set(reterr_diag, OAUTH_E_REFUSED, "the redirect of the authorization server %s",
                    what);
}

static int redirect_check_issuer(Arena *arena, Span query, Span issuer, bool has_iss,
                                 Diag *reterr_diag)
{
    Span iss;
    int r = redirect_value(&iss, arena, query, "iss");

    if (r == -ENOMEM) {
        return r;
    }
    if (r < 0) {
        return redirect_bad(reterr_diag, "has an 'iss' that cannot be read");
    }
    if (r == 0) {
        return has_iss ? redirect_bad(reterr_diag, "has no 'iss', which its metadata promises") : 0;
    }
    /* As plain strings: a slash more is another issuer. */
    if (issuer.n > 0 && !span_equals(iss, issuer)) {
        return redirect_bad(reterr_diag, "is that of another issuer");
    }
    return 0;
}

int oauth_redirect_check(Span *ret_code, Arena *arena, Span query, Span state, Span issuer,
                         bool has_iss, Diag *reterr_diag)
{
    char words[120];
    Span value;
    int r = redirect_value(&value, arena, query, "state");

    if (r == -ENOMEM) {
        return r;
    }
    if (r != 1 || !span_equals(value, state)) {
        return OAUTH_E_STRANGER;
    }
    r = redirect_check_issuer(arena, query, issuer, has_iss, reterr_diag);
    if (r != 0) {
        return r;
    }
    r = redirect_value(&value, arena, query, "error");
    if (r == -ENOMEM) {
        return r;
    }
    if (r != 0) {
        answer_words(words, value);
        return diag_set(reterr_diag, OAUTH_E_REFUSED, "the authorization server refused: %s",
                        words);
    }
    r = redirect_value(&value, arena, query, "code");
    if (r == -ENOMEM) {
        return r;
    }
    if (r != 1 || value.n == 0) {
        return redirect_bad(reterr_diag, "has no code");
    }
    *ret_code = value;
    return 0;
}
