#include "unit/router/jwt_rig.h"

#include "base/diag.h"
#include "base/limits.h"
#include "router/jwt_der.h"
#include "router/jwt_keys.h"
#include "support/oom_sweep.h"

#include <openssl/err.h>
#include <openssl/x509.h>

/* How each algorithm signs, and with which key. */
static const struct {
    const char *alg;
    RigKey key;
} ways[] = {
    {"RS256", RIG_RSA},  {"RS384", RIG_RSA},     {"RS512", RIG_RSA},  {"PS256", RIG_RSA},
    {"PS384", RIG_RSA},  {"PS512", RIG_RSA},     {"ES256", RIG_P256}, {"ES384", RIG_P384},
    {"ES512", RIG_P521}, {"EdDSA", RIG_ED25519},
};

#define TEXT "what is signed"

static JwtKeys *keys_of(const char *set)
{
    Diag diag = DIAG_NULL;
    JwtKeys *keys = NULL;

    if (jwt_keys_new(&keys, span_from_str(set), &diag) != 0) {
        fail_msg("%s: %s", set, diag.message);
    }
    return keys;
}

/* A set of all keys, each with the same members before its own. */
static JwtKeys *all_keys(const char *more)
{
    RigText set = {"{\"keys\":["};
    static const RigKey in[] = {RIG_RSA, RIG_P256, RIG_P384, RIG_P521, RIG_ED25519};

    for (size_t i = 0; i < TW_ARRAY_SIZE(in); i++) {
        rig_add(set.s, i == 0 ? "" : ",");
        rig_add_jwk(set.s, rig_keys[in[i]], more);
    }
    rig_add(set.s, "]}");
    return keys_of(set.s);
}

static int verify(const JwtKeys *keys, const char *alg, const char *kid, const char *text,
                  const unsigned char *signature, size_t n)
{
    unsigned long before = ERR_peek_last_error();
    int r = jwt_keys_verify(keys, jwt_alg_find(span_from_str(alg)),
                            kid == NULL ? SPAN_NULL : span_from_str(kid), span_from_str(text),
                            span_make((const char *)signature, n));

    /* Whoever uses OpenSSL in the same program finds its errors as they were. */
    assert_true(ERR_peek_last_error() == before);
    return r;
}

static void each_algorithm_verifies_what_it_signed(void **state)
{
    unsigned char signature[1100];
    JwtKeys *keys = all_keys("");

    (void)state;
    assert_int_equal(jwt_keys_count(keys), 5);
    for (size_t i = 0; i < TW_ARRAY_SIZE(ways); i++) {
        size_t n = rig_sign_bytes(signature, rig_keys[ways[i].key], ways[i].alg, TEXT,
                                  RSA_PSS_SALTLEN_DIGEST);

        for (size_t j = 0; j < TW_ARRAY_SIZE(ways); j++) {
            int r = verify(keys, ways[j].alg, NULL, TEXT, signature, n);

            if (r != (i == j ? 0 : JWT_KEYS_E_WRONG)) {
                fail_msg("%s by %s: %d", ways[i].alg, ways[j].alg, r);
            }
        }
        assert_int_equal(verify(keys, ways[i].alg, NULL, TEXT "!", signature, n), JWT_KEYS_E_WRONG);
        for (size_t at = 0; at < n; at += n / 4) {
            signature[at] ^= 1;
            assert_int_equal(verify(keys, ways[i].alg, NULL, TEXT, signature, n), JWT_KEYS_E_WRONG);
            signature[at] ^= 1;
        }
        assert_int_equal(verify(keys, ways[i].alg, NULL, TEXT, signature, n - 1), JWT_KEYS_E_WRONG);
        signature[n] = 0;
        assert_int_equal(verify(keys, ways[i].alg, NULL, TEXT, signature, n + 1), JWT_KEYS_E_WRONG);
        assert_int_equal(verify(keys, ways[i].alg, NULL, TEXT, signature, 0), JWT_KEYS_E_WRONG);
    }
    keys = jwt_keys_free(keys);
}

/* ECDSA's numbers have a fixed length each, and none of them is nought; DER is another form. */
static void ecdsa_signatures_of_other_forms_are_refused(void **state)
{
    unsigned char raw[1100];
    unsigned char bad[1100] = {0};
    JwtKeys *keys = all_keys("");
    JwtDer der;
    Span text;
    size_t n;

    (void)state;
    n = rig_sign_bytes(raw, rig_keys[RIG_P256], "ES256", TEXT, 0);
    assert_int_equal(n, 64);
    jwt_der_init(&der);
    jwt_der_push_int(&der, span_make((const char *)raw + 32, 32));
    jwt_der_push_int(&der, span_make((const char *)raw, 32));
    jwt_der_wrap(&der, 0x30, sizeof(der.data));
    text = jwt_der_span(&der);
    assert_int_equal(verify(keys, "ES256", NULL, TEXT, (const unsigned char *)text.p, text.n),
                     JWT_KEYS_E_WRONG);
    /* Zeros: the signature that verified everything in other people's code. */
    assert_int_equal(verify(keys, "ES256", NULL, TEXT, bad, 64), JWT_KEYS_E_WRONG);
    memcpy(bad, raw, 32);
    assert_int_equal(verify(keys, "ES256", NULL, TEXT, bad, 64), JWT_KEYS_E_WRONG);
    memset(bad, 0, 32);
    memcpy(bad + 32, raw + 32, 32);
    assert_int_equal(verify(keys, "ES256", NULL, TEXT, bad, 64), JWT_KEYS_E_WRONG);
    /* With a zero before each number, it is as long as another curve's. */
    memset(bad, 0, sizeof(bad));
    memcpy(bad + 1, raw, 32);
    memcpy(bad + 34, raw + 32, 32);
    assert_int_equal(verify(keys, "ES256", NULL, TEXT, bad, 66), JWT_KEYS_E_WRONG);
    /* The two of them in the wrong order. */
    memcpy(bad, raw + 32, 32);
    memcpy(bad + 32, raw, 32);
    assert_int_equal(verify(keys, "ES256", NULL, TEXT, bad, 64), JWT_KEYS_E_WRONG);
    /* Numbers with zeros at the front come up once in 256. */
    for (size_t i = 0; i < 600; i++) {
        n = rig_sign_bytes(raw, rig_keys[RIG_P256], "ES256", TEXT, 0);
        assert_int_equal(verify(keys, "ES256", NULL, TEXT, raw, n), 0);
    }
    keys = jwt_keys_free(keys);
}

static void a_salt_of_another_length_is_refused(void **state)
{
    unsigned char signature[1100];
    JwtKeys *keys = all_keys("");
    size_t n;

    (void)state;
    n = rig_sign_bytes(signature, rig_keys[RIG_RSA], "PS256", TEXT, 32);
    assert_int_equal(verify(keys, "PS256", NULL, TEXT, signature, n), 0);
    n = rig_sign_bytes(signature, rig_keys[RIG_RSA], "PS256", TEXT, 20);
    assert_int_equal(verify(keys, "PS256", NULL, TEXT, signature, n), JWT_KEYS_E_WRONG);
    keys = jwt_keys_free(keys);
}

/* The public key as the secret of an HMAC, and a signature of none. */
static void algorithms_without_public_keys_are_not_known(void **state)
{
    static const char *const names[] = {"none", "HS256",  "HS384", "HS512", "",
                                        "RS1",  "ES256K", "Ed448", "RS256 "};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        assert_null(jwt_alg_find(span_from_str(names[i])));
    }
}

static void the_id_and_the_use_choose_the_key(void **state)
{
    static const struct {
        const char *more;
        const char *alg;
        const char *kid;
        int r; /* < 0: the set is refused */
    } cases[] = {
        {"", "RS256", NULL, 0},
        {"", "RS256", "k", JWT_KEYS_E_UNKNOWN},
        {"", "RS256", "", JWT_KEYS_E_UNKNOWN},
        {"\"kid\":\"k\",", "RS256", "k", 0},
        {"\"kid\":\"k\",", "RS256", NULL, 0},
        {"\"kid\":\"k\",", "RS256", "K", JWT_KEYS_E_UNKNOWN},
        {"\"kid\":\"k\",", "RS256", "", JWT_KEYS_E_UNKNOWN},
        {"\"kid\":\"\",", "RS256", "", 0},
        {"\"kid\":\"\\u006b\",", "RS256", "k", 0},
        {"\"alg\":\"RS256\",", "RS256", NULL, 0},
        {"\"alg\":\"RS256\",", "RS512", NULL, JWT_KEYS_E_UNKNOWN},
        {"\"alg\":\"RS256\",", "PS256", NULL, JWT_KEYS_E_UNKNOWN},
        {"\"kid\":\"k\",\"alg\":\"RS256\",", "PS256", "k", JWT_KEYS_E_UNKNOWN},
        {"\"use\":\"sig\",", "RS256", NULL, 0},
        {"\"key_ops\":[\"sign\",\"verify\"],", "RS256", NULL, 0},
        {"\"use\":\"enc\",", "RS256", NULL, -1},
        {"\"use\":null,", "RS256", NULL, -1},
        {"\"key_ops\":[\"encrypt\"],", "RS256", NULL, -1},
        {"\"key_ops\":[],", "RS256", NULL, -1},
        {"\"key_ops\":{\"a\":\"verify\"},", "RS256", NULL, -1},
        {"\"alg\":\"RSA-OAEP\",", "RS256", NULL, -1},
        {"\"alg\":\"HS256\",", "RS256", NULL, -1},
        {"\"alg\":\"ES256\",", "RS256", NULL, -1},
        {"\"alg\":7,", "RS256", NULL, -1},
        {"\"kid\":7,", "RS256", NULL, -1},
    };
    unsigned char signature[1100];
    RigText set;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Diag diag = DIAG_NULL;
        JwtKeys *keys = NULL;
        int r = jwt_keys_new(&keys, span_from_str(rig_set(&set, RIG_RSA, cases[i].more)), &diag);

        if (cases[i].r < 0) {
            assert_int_equal(r, JWT_E_INVALID);
            assert_null(keys);
            assert_non_null(strstr(diag.message, "none of the 1 keys"));
        } else {
            size_t n = rig_sign_bytes(signature, rig_keys[RIG_RSA], cases[i].alg, TEXT,
                                      RSA_PSS_SALTLEN_DIGEST);

            assert_int_equal(r, 0);
            r = verify(keys, cases[i].alg, cases[i].kid, TEXT, signature, n);
            if (r != cases[i].r) {
                fail_msg("%s: %d", cases[i].more, r);
            }
        }
        keys = jwt_keys_free(keys);
    }
}

static void keys_of_one_id_are_all_tried(void **state)
{
    static const RigKey in[] = {RIG_P256_OTHER, RIG_RSA, RIG_P256};
    RigText set = {"{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\",\"kid\":\"k\"},7"};
    unsigned char signature[1100];
    JwtKeys *keys;
    size_t n;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(in); i++) {
        rig_add(set.s, ",");
        rig_add_jwk(set.s, rig_keys[in[i]], "\"kid\":\"k\",");
    }
    rig_add(set.s, "]}");
    keys = keys_of(set.s);
    assert_int_equal(jwt_keys_count(keys), 3);
    for (size_t i = 0; i < TW_ARRAY_SIZE(in); i++) {
        const char *alg = in[i] == RIG_RSA ? "RS256" : "ES256";

        n = rig_sign_bytes(signature, rig_keys[in[i]], alg, TEXT, 0);
        assert_int_equal(verify(keys, alg, "k", TEXT, signature, n), 0);
        assert_int_equal(verify(keys, alg, NULL, TEXT, signature, n), 0);
    }
    n = rig_sign_bytes(signature, rig_keys[RIG_RSA_OTHER], "RS256", TEXT, 0);
    assert_int_equal(verify(keys, "RS256", "k", TEXT, signature, n), JWT_KEYS_E_WRONG);
    keys = jwt_keys_free(keys);
}

/* ---- sets that cannot be used ---- */

/* Zeros of base64url: so many bytes behind one that is not. */
static void set_of_rsa(RigText *set, size_t n_bytes, const char *exponent)
{
    unsigned char number[1100];

    memset(number, 0xC3, sizeof(number));
    (void)snprintf(set->s, sizeof(set->s), "{\"keys\":[{\"kty\":\"RSA\",\"e\":\"%s\",\"n\":\"",
                   exponent);
    rig_add_base64(set->s, number, n_bytes);
    rig_add(set->s, "\"}]}");
}

static void rsa_keys_have_a_size(void **state)
{
    static const struct {
        size_t n_bytes;
        const char *exponent;
        int r;
    } cases[] = {
        {256, "AQAB", 0},
        {256, "Aw", 0},
        {256, "AAEAAQ", 0}, /* a zero at the front */
        {1024, "AQAB", 0},
        {255, "AQAB", JWT_E_INVALID},
        {128, "AQAB", JWT_E_INVALID},
        {1025, "AQAB", JWT_E_INVALID},
        {0, "AQAB", JWT_E_INVALID},
        {256, "AQ", JWT_E_INVALID},
        {256, "AAE", JWT_E_INVALID},
        {256, "Ag", JWT_E_INVALID},
        {256, "AA", JWT_E_INVALID},
        {256, "", JWT_E_INVALID},
        {256, "AQAB=", JWT_E_INVALID},
        {256, "AQAAAAAAAAAB", JWT_E_INVALID},
    };
    RigText set;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        JwtKeys *keys = NULL;
        int r;

        set_of_rsa(&set, cases[i].n_bytes, cases[i].exponent);
        r = jwt_keys_new(&keys, span_from_str(set.s), NULL);
        if (r != cases[i].r) {
            fail_msg("%zu %s: %d", cases[i].n_bytes, cases[i].exponent, r);
        }
        keys = jwt_keys_free(keys);
    }
}

static void points_lie_on_their_curve(void **state)
{
    static const char *const keys_text[] = {
        /* Not on it, too short, too long, of another curve, half of one, not base64. */
        "\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\","
        "\"y\":\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE\"",
        "\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"82OhZAe3ROfbkLZWQ-Sqdn1r4LtZhaiReGkYO_CRh8\","
        "\"y\":\"m4xkw2RNLhWmayvEMOvKt1UMuoGgY74DueyIbe_Ajn8\"",
        "\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"APvNjoWQHt0Tn25C2VkPkqnZ9a-C7WYWokXhpGDvwkYf\","
        "\"y\":\"m4xkw2RNLhWmayvEMOvKt1UMuoGgY74DueyIbe_Ajn8\"",
        "\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"-82OhZAe3ROfbkLZWQ-Sqdn1r4LtZhaiReGkYO_CRh8\","
        "\"y\":\"m4xkw2RNLhWmayvEMOvKt1UMuoGgY74DueyIbe_Ajn8\"",
        "\"kty\":\"EC\",\"crv\":\"secp256k1\",\"x\":\"-82OhZAe3ROfbkLZWQ-Sqdn1r4LtZhaiReGkYO_CRh8\""
        ",\"y\":\"m4xkw2RNLhWmayvEMOvKt1UMuoGgY74DueyIbe_Ajn8\"",
        "\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"-82OhZAe3ROfbkLZWQ-Sqdn1r4LtZhaiReGkYO_CRh8\"",
        "\"kty\":\"EC\",\"x\":\"-82OhZAe3ROfbkLZWQ-Sqdn1r4LtZhaiReGkYO_CRh8\"",
        "\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"-82OhZAe3ROfbkLZWQ-Sqdn1r4LtZhaiReGkYO_CRh9\","
        "\"y\":\"m4xkw2RNLhWmayvEMOvKt1UMuoGgY74DueyIbe_Ajn8\"",
        "\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAA\"",
        "\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"-82OhZAe3ROfbkLZWQ-Sqdn1r4LtZhaiReGkYO_CRh8\"",
        "\"kty\":\"oct\",\"k\":\"-82OhZAe3ROfbkLZWQ-Sqdn1r4LtZhaiReGkYO_CRh8\"",
        "\"crv\":\"P-256\"",
        "\"kty\":7",
    };
    RigText set;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(keys_text); i++) {
        JwtKeys *keys = NULL;

        (void)snprintf(set.s, sizeof(set.s), "{\"keys\":[{%s}]}", keys_text[i]);
        if (jwt_keys_new(&keys, span_from_str(set.s), NULL) != JWT_E_INVALID) {
            fail_msg("%s", keys_text[i]);
        }
    }
}

/* A good point that is cut in two at the wrong place. */
static void coordinates_have_their_length(void **state)
{
    RigText set = {"{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\""};
    unsigned char point[65];
    JwtKeys *keys = NULL;
    size_t n = 0;

    (void)state;
    assert_int_equal(EVP_PKEY_get_octet_string_param(rig_keys[RIG_P256], OSSL_PKEY_PARAM_PUB_KEY,
                                                     point, sizeof(point), &n),
                     1);
    rig_add_base64(set.s, point + 1, 31);
    rig_add(set.s, "\",\"y\":\"");
    rig_add_base64(set.s, point + 32, 33);
    rig_add(set.s, "\"}]}");
    assert_int_equal(jwt_keys_new(&keys, span_from_str(set.s), NULL), JWT_E_INVALID);
}

static void what_is_no_set_is_refused(void **state)
{
    static const struct {
        const char *set;
        const char *says;
    } cases[] = {
        {"", "not JSON"},
        {"{", "not JSON"},
        {"[]", "'keys'"},
        {"{}", "'keys'"},
        {"{\"keys\":{}}", "'keys'"},
        {"{\"keys\":[]}", "none of the 0 keys"},
        {"-----BEGIN PUBLIC KEY-----", "not JSON"},
    };
    RigText set = {"{\"keys\":["};
    JwtKeys *keys = NULL;
    Diag diag = DIAG_NULL;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        assert_int_equal(jwt_keys_new(&keys, span_from_str(cases[i].set), &diag), JWT_E_INVALID);
        assert_non_null(strstr(diag.message, cases[i].says));
    }
    for (size_t i = 0; i < LIMIT_JWKS_KEYS; i++) {
        rig_add(set.s, i == 0 ? "" : ",");
        rig_add_jwk(set.s, rig_keys[RIG_ED25519], "");
    }
    rig_add(set.s, "]}");
    keys = keys_of(set.s);
    assert_int_equal(jwt_keys_count(keys), LIMIT_JWKS_KEYS);
    keys = jwt_keys_free(keys);
    memcpy(set.s + strlen(set.s) - 2, ",7]}", 5);
    assert_int_equal(jwt_keys_new(&keys, span_from_str(set.s), &diag), JWT_E_INVALID);
    assert_non_null(strstr(diag.message, "are the most"));
    assert_null(jwt_keys_free(NULL));
}

static int make_set(void *context)
{
    JwtKeys *keys = NULL;
    int r = jwt_keys_new(&keys, span_from_str(context), NULL);

    keys = jwt_keys_free(keys);
    return r;
}

static void without_memory_nothing_leaks(void **state)
{
    RigText set = {"{\"keys\":["};

    (void)state;
    rig_add_jwk(set.s, rig_keys[RIG_RSA], "\"kid\":\"a\\u0062\",");
    rig_add(set.s, ",");
    rig_add_jwk(set.s, rig_keys[RIG_P521], "\"kid\":\"c\",");
    rig_add(set.s, "]}");
    test_oom_sweep(make_set, set.s);
}

/* ---- DER ---- */

static void der_is_what_openssl_writes(void **state)
{
    static const struct {
        const char *number;
        size_t n;
        const char *der;
        size_t n_der;
    } cases[] = {
        {"", 0, "\x02\x01\x00", 3},
        {"\x00\x00", 2, "\x02\x01\x00", 3},
        {"\x7f", 1, "\x02\x01\x7f", 3},
        {"\x80", 1, "\x02\x02\x00\x80", 4},
        {"\x00\x01\x00", 3, "\x02\x02\x01\x00", 4},
    };
    JwtDer der;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Span text;

        jwt_der_init(&der);
        jwt_der_push_int(&der, span_make(cases[i].number, cases[i].n));
        text = jwt_der_span(&der);
        assert_int_equal(text.n, cases[i].n_der);
        assert_memory_equal(text.p, cases[i].der, text.n);
    }
    for (size_t n = 126; n <= 1100; n++) {
        unsigned char number[1100];
        ASN1_INTEGER *read;
        const unsigned char *at;
        Span text;

        memset(number, 0x55, sizeof(number));
        jwt_der_init(&der);
        jwt_der_push_int(&der, span_make((const char *)number, n));
        text = jwt_der_span(&der);
        at = (const unsigned char *)text.p;
        read = d2i_ASN1_INTEGER(NULL, &at, (long)text.n);
        assert_non_null(read);
        assert_int_equal(ASN1_STRING_length(read), n);
        assert_true(at == (const unsigned char *)text.p + text.n);
        ASN1_INTEGER_free(read);
    }
}

static void der_that_does_not_fit_is_known(void **state)
{
    static const char zeros[JWT_DER_BYTES] = {1};
    JwtDer der;

    (void)state;
    jwt_der_init(&der);
    jwt_der_push(&der, span_make(zeros, sizeof(zeros)));
    assert_false(der.is_full);
    jwt_der_wrap(&der, 0x30, sizeof(der.data));
    assert_true(der.is_full);
    jwt_der_init(&der);
    assert_false(der.is_full);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_algorithm_verifies_what_it_signed),
        cmocka_unit_test(ecdsa_signatures_of_other_forms_are_refused),
        cmocka_unit_test(a_salt_of_another_length_is_refused),
        cmocka_unit_test(algorithms_without_public_keys_are_not_known),
        cmocka_unit_test(the_id_and_the_use_choose_the_key),
        cmocka_unit_test(keys_of_one_id_are_all_tried),
        cmocka_unit_test(rsa_keys_have_a_size),
        cmocka_unit_test(points_lie_on_their_curve),
        cmocka_unit_test(coordinates_have_their_length),
        cmocka_unit_test(what_is_no_set_is_refused),
        cmocka_unit_test(without_memory_nothing_leaks),
        cmocka_unit_test(der_is_what_openssl_writes),
        cmocka_unit_test(der_that_does_not_fit_is_known),
    };

    return cmocka_run_group_tests(tests, rig_make_keys, rig_free_keys);
}
