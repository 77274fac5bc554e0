#include "support/cmocka.h"

#include <string.h>

#include "base/base64.h"
#include "base/limits.h"
#include "oauth/assertion.h"
#include "oauth/discovery.h"
#include "oauth/key.h"
#include "router/jwt.h"
#include "json/json.h"

/* The public half of a key as a key set. */
static void key_set(const OauthKey *key, Bytes *out)
{
    assert_int_equal(bytes_append_span(out, SPAN("{\"keys\":[")), 0);
    assert_int_equal(oauth_key_jwk(key, out), 0);
    assert_int_equal(bytes_append_span(out, SPAN("]}")), 0);
}

static void assertions_are_believed_by_who_has_the_public_key(void **state)
{
    OauthKey *key = NULL;
    OauthKey *copy = NULL;
    JwtKeys *keys = NULL;
    JwtFault fault = JWT_FAULT_NONE;
    JwtClaims claims;
    Bytes token;
    Bytes set;
    Bytes der;
    Arena arena;

    (void)state;
    bytes_init(&token, LIMIT_OAUTH_TOKEN_BYTES);
    bytes_init(&set, LIMIT_OAUTH_TOKEN_BYTES);
    bytes_init(&der, LIMIT_OAUTH_TOKEN_BYTES);
    arena_init(&arena, JWT_ARENA_BYTES);
    assert_int_equal(oauth_key_make(&key, NULL), 0);
    assert_string_equal(oauth_key_alg(key), "ES256");
    key_set(key, &set);
    assert_int_equal(oauth_key_der(key, &der), 0);
    assert_int_equal(oauth_key_from_der(&copy, bytes_span(&der), NULL), 0);
    /* Signatures differ in length where a number begins with zeros: many are made. */
    for (int i = 0; i < 100; i++) {
        JwtIssuer issuer = {.name = SPAN("me")};
        JwtTerms terms = {.issuers = &issuer, .n_issuers = 1, .audience = SPAN("https://as")};

        bytes_clear(&token);
        assert_int_equal(
            oauth_assertion_client(&token, copy, SPAN("me"), SPAN("https://as"), SPAN("id"), 1000),
            0);
        if (keys == NULL) {
            assert_int_equal(jwt_keys_new(&keys, bytes_span(&set), NULL), 0);
        }
        issuer.keys = keys;
        assert_int_equal(jwt_check(bytes_span(&token), &terms, 1001, &arena, &claims, &fault), 0);
        assert_true(span_equals(claims.subject, SPAN("me")));
        arena_reset(&arena, 1 << 16);
    }
    (void)jwt_keys_free(keys);
    (void)oauth_key_free(key);
    (void)oauth_key_free(copy);
    arena_deinit(&arena);
    bytes_deinit(&token);
    bytes_deinit(&set);
    bytes_deinit(&der);
}

/* A part of a JWT, decoded. */
static JsonValue part(Span token, int which, Arena *arena, Bytes *out)
{
    JsonDoc doc;
    size_t start = 0;
    const char *dot;

    for (int i = 0; i < which; i++) {
        dot = memchr(token.p + start, '.', token.n - start);
        assert_non_null(dot);
        start = (size_t)(dot - token.p) + 1;
    }
    dot = memchr(token.p + start, '.', token.n - start);
    assert_non_null(dot);
    bytes_clear(out);
    assert_int_equal(
        base64_decode(out, BASE64_URL, span_make(token.p + start, (size_t)(dot - token.p) - start)),
        0);
    assert_int_equal(json_parse(&doc, arena, out->data, out->n, NULL, NULL), 0);
    return json_root(&doc);
}

static bool is(JsonValue object, const char *name, const char *value)
{
    JsonValue member;

    return json_get(object, span_from_str(name), &member) &&
           json_string_equals(member, span_from_str(value));
}

static void proofs_name_request_token_and_nonce(void **state)
{
    OauthProof proof = {.method = SPAN("POST"),
                        .url = SPAN("https://a.example/mcp?x=1"),
                        .token = SPAN("token"),
                        .nonce = SPAN("n1"),
                        .id = SPAN("j1")};
    OauthKey *key = NULL;
    JsonValue header;
    JsonValue claims;
    JsonValue jwk;
    Bytes token;
    Bytes text;
    Arena arena;

    (void)state;
    bytes_init(&token, LIMIT_OAUTH_TOKEN_BYTES);
    bytes_init(&text, LIMIT_OAUTH_TOKEN_BYTES);
    arena_init(&arena, 1 << 20);
    assert_int_equal(oauth_key_make(&key, NULL), 0);
    assert_int_equal(oauth_assertion_dpop(&token, key, &proof, 1000), 0);
    header = part(bytes_span(&token), 0, &arena, &text);
    assert_true(is(header, "typ", "dpop+jwt"));
    assert_true(json_get(header, SPAN("jwk"), &jwk));
    assert_false(json_get(jwk, SPAN("d"), &jwk));
    claims = part(bytes_span(&token), 1, &arena, &text);
    assert_true(is(claims, "htu", "https://a.example/mcp"));
    assert_true(is(claims, "htm", "POST"));
    assert_true(is(claims, "nonce", "n1"));
    assert_true(is(claims, "jti", "j1"));
    /* echo -n token | openssl dgst -sha256 -binary | basenc --base64url */
    assert_true(is(claims, "ath", "PEaenWxYddN6Q_NT1PiOYfz4EsZu7jRXRlpAsNpBU-A"));
    (void)oauth_key_free(key);
    arena_deinit(&arena);
    bytes_deinit(&token);
    bytes_deinit(&text);
}

static void keys_that_cannot_sign_are_refused_with_words(void **state)
{
    static const char *const texts[] = {
        "", "not a key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        Diag diag = DIAG_NULL;
        OauthKey *key = NULL;

        assert_int_equal(oauth_key_from_pem(&key, span_from_str(texts[i]), &diag), OAUTH_E_REFUSED);
        assert_true(diag.message[0] != '\0');
        assert_int_equal(oauth_key_from_der(&key, span_from_str(texts[i]), &diag), OAUTH_E_REFUSED);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assertions_are_believed_by_who_has_the_public_key),
        cmocka_unit_test(proofs_name_request_token_and_nonce),
        cmocka_unit_test(keys_that_cannot_sign_are_refused_with_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
