/* tests/unit/router/jwt_rig.h: keys that are made for the test, key sets of them, and tokens that
 * they sign: what an issuer does. By OpenSSL's own functions, so that ours are compared with them.
 */
#pragma once

#include "support/cmocka.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/span.h"

#define RIG_TEXT ((size_t)32 * 1024)

typedef struct RigText {
    char s[RIG_TEXT];
} RigText;

/* ---- keys ---- */

typedef enum RigKey {
    RIG_RSA,
    RIG_RSA_OTHER,
    RIG_P256,
    RIG_P256_OTHER,
    RIG_P384,
    RIG_P521,
    RIG_ED25519,
    RIG_N_KEYS
} RigKey;

static EVP_PKEY *rig_keys[RIG_N_KEYS];

static EVP_PKEY *rig_make_rsa(size_t n_bits)
{
    return EVP_PKEY_Q_keygen(NULL, NULL, "RSA", n_bits);
}

/* For cmocka's set-up of a group: an RSA key takes a while. */
TW_UNUSED static int rig_make_keys(void **state)
{
    (void)state;
    rig_keys[RIG_RSA] = rig_make_rsa(2048);
    rig_keys[RIG_RSA_OTHER] = rig_make_rsa(2048);
    rig_keys[RIG_P256] = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    rig_keys[RIG_P256_OTHER] = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    rig_keys[RIG_P384] = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-384");
    rig_keys[RIG_P521] = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-521");
    rig_keys[RIG_ED25519] = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    for (size_t i = 0; i < RIG_N_KEYS; i++) {
        if (rig_keys[i] == NULL) {
            return -1;
        }
    }
    return 0;
}

TW_UNUSED static int rig_free_keys(void **state)
{
    (void)state;
    for (size_t i = 0; i < RIG_N_KEYS; i++) {
        EVP_PKEY_free(rig_keys[i]);
        rig_keys[i] = NULL;
    }
    return 0;
}

/* base64url behind what is there. */
static void rig_add_base64(char *out, const void *data, size_t n)
{
    Bytes text;
    size_t at = strlen(out);

    bytes_init(&text, RIG_TEXT);
    assert_int_equal(base64_encode(&text, BASE64_URL, span_make(data, n)), 0);
    assert_true(at + text.n < RIG_TEXT);
    if (text.n > 0) {
        memcpy(out + at, text.data, text.n);
    }
    out[at + text.n] = '\0';
    bytes_deinit(&text);
}

static void rig_add(char *out, const char *text)
{
    size_t at = strlen(out);

    assert_true(at + strlen(text) < RIG_TEXT);
    memcpy(out + at, text, strlen(text) + 1);
}

static void rig_add_number(char *out, EVP_PKEY *key, const char *parameter, const char *name)
{
    unsigned char bytes[1100];
    BIGNUM *number = NULL;

    assert_int_equal(EVP_PKEY_get_bn_param(key, parameter, &number), 1);
    assert_true(BN_num_bytes(number) <= (int)sizeof(bytes));
    rig_add(out, name);
    rig_add_base64(out, bytes, (size_t)BN_bn2bin(number, bytes));
    rig_add(out, "\"");
    BN_free(number);
}

/* The members of a key's JWK behind `more`, which is nothing or members with a comma at the end:
 * {more "kty":...}. */
static void rig_add_jwk(char *out, EVP_PKEY *key, const char *more)
{
    unsigned char point[256];
    size_t n = sizeof(point);

    rig_add(out, "{");
    rig_add(out, more);
    if (EVP_PKEY_is_a(key, "RSA")) {
        rig_add(out, "\"kty\":\"RSA\"");
        rig_add_number(out, key, OSSL_PKEY_PARAM_RSA_N, ",\"n\":\"");
        rig_add_number(out, key, OSSL_PKEY_PARAM_RSA_E, ",\"e\":\"");
    } else if (EVP_PKEY_is_a(key, "EC")) {
        size_t half;

        assert_int_equal(
            EVP_PKEY_get_octet_string_param(key, OSSL_PKEY_PARAM_PUB_KEY, point, sizeof(point), &n),
            1);
        assert_int_equal(point[0], 4);
        half = (n - 1) / 2;
        rig_add(out, half == 32   ? "\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\""
                     : half == 48 ? "\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\""
                                  : "\"kty\":\"EC\",\"crv\":\"P-521\",\"x\":\"");
        rig_add_base64(out, point + 1, half);
        rig_add(out, "\",\"y\":\"");
        rig_add_base64(out, point + 1 + half, half);
        rig_add(out, "\"");
    } else {
        assert_int_equal(EVP_PKEY_get_raw_public_key(key, point, &n), 1);
        rig_add(out, "\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"");
        rig_add_base64(out, point, n);
        rig_add(out, "\"");
    }
    rig_add(out, "}");
}

/* A set of one key. */
TW_UNUSED static const char *rig_set(RigText *text, RigKey key, const char *more)
{
    text->s[0] = '\0';
    rig_add(text->s, "{\"keys\":[");
    rig_add_jwk(text->s, rig_keys[key], more);
    rig_add(text->s, "]}");
    return text->s;
}

/* ---- tokens ---- */

/* ECDSA's DER as two numbers of fixed length. */
static size_t rig_flatten(unsigned char *signature, size_t n, int n_half)
{
    const unsigned char *at = signature;
    ECDSA_SIG *pair = d2i_ECDSA_SIG(NULL, &at, (long)n);

    assert_non_null(pair);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_r(pair), signature, n_half), n_half);
    assert_int_equal(BN_bn2binpad(ECDSA_SIG_get0_s(pair), signature + n_half, n_half), n_half);
    ECDSA_SIG_free(pair);
    return 2 * (size_t)n_half;
}

/* alg: as JOSE names it, which says how to sign; the key is of that kind. Returns the length. */
static size_t rig_sign_bytes(unsigned char out[1100], EVP_PKEY *key, const char *alg,
                             const char *text, int salt)
{
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_PKEY_CTX *more = NULL;
    const char *digest = strstr(alg, "256") != NULL   ? "SHA256"
                         : strstr(alg, "384") != NULL ? "SHA384"
                         : strstr(alg, "512") != NULL ? "SHA512"
                                                      : NULL;
    size_t n = 1100;

    assert_non_null(context);
    assert_int_equal(EVP_DigestSignInit_ex(context, &more, digest, NULL, NULL, key, NULL), 1);
    if (alg[0] == 'P') {
        assert_int_equal(EVP_PKEY_CTX_set_rsa_padding(more, RSA_PKCS1_PSS_PADDING), 1);
        assert_int_equal(EVP_PKEY_CTX_set_rsa_pss_saltlen(more, salt), 1);
    }
    assert_int_equal(EVP_DigestSign(context, out, &n, (const unsigned char *)text, strlen(text)),
                     1);
    EVP_MD_CTX_free(context);
    if (EVP_PKEY_is_a(key, "EC")) {
        n = rig_flatten(out, n, (EVP_PKEY_get_bits(key) + 7) / 8);
    }
    return n;
}

/* A token of these texts, signed as alg says whatever the header says. */
TW_UNUSED static const char *rig_sign(RigText *text, RigKey key, const char *alg,
                                      const char *header, const char *claims)
{
    unsigned char signature[1100];
    size_t n;

    text->s[0] = '\0';
    rig_add_base64(text->s, header, strlen(header));
    rig_add(text->s, ".");
    rig_add_base64(text->s, claims, strlen(claims));
    n = rig_sign_bytes(signature, rig_keys[key], alg, text->s, RSA_PSS_SALTLEN_DIGEST);
    rig_add(text->s, ".");
    rig_add_base64(text->s, signature, n);
    return text->s;
}
