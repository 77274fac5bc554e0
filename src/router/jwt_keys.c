/* Key sets (RFC 7517, 7518, 8037) and signatures, by OpenSSL. */
#include "router/jwt_keys.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"
#include "router/jwt_der.h"
#include "router/jwt_library.h"
#include "json/json.h"

/* In bits: below, RSA is no longer safe (RFC 7518, section 3.3); above, OpenSSL takes longer than a
 * request is worth. */
#define KEYS_RSA_MIN_BITS 2048
#define KEYS_RSA_MAX_BITS 8192

/* Bytes of an RSA exponent. Nearly all are 65537. */
#define KEYS_EXPONENT_MAX 8

typedef struct JwtKey {
    EVP_PKEY *key;
    JwtKeyKind kind;
    const JwtAlg *alg; /* the only one that it is for; NULL: each of its kind */
    Span kid;          /* p NULL: it has none */
} JwtKey;

struct JwtKeys {
    JwtLibrary library;
    Arena arena; /* their ids */
    JwtKey keys[LIMIT_JWKS_KEYS];
    size_t n_keys;
};

/* How a kind of key is written. */
typedef struct KeyForm {
    Span kty;
    Span crv;       /* of RSA none */
    Span algorithm; /* AlgorithmIdentifier, in DER */
    size_t n_bytes; /* of a coordinate, and of half a signature */
} KeyForm;

static const KeyForm key_forms[JWT_N_KEY_KINDS] = {
    [JWT_KEY_RSA] = {SPAN_INIT("RSA"),
                     {NULL, 0},
                     SPAN_INIT("\x30\x0d\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00"),
                     0},
    [JWT_KEY_P256] = {SPAN_INIT("EC"), SPAN_INIT("P-256"),
                      SPAN_INIT("\x30\x13\x06\x07\x2a\x86\x48\xce\x3d\x02\x01"
                                "\x06\x08\x2a\x86\x48\xce\x3d\x03\x01\x07"),
                      32},
    [JWT_KEY_P384] = {SPAN_INIT("EC"), SPAN_INIT("P-384"),
                      SPAN_INIT("\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01"
                                "\x06\x05\x2b\x81\x04\x00\x22"),
                      48},
    [JWT_KEY_P521] = {SPAN_INIT("EC"), SPAN_INIT("P-521"),
                      SPAN_INIT("\x30\x10\x06\x07\x2a\x86\x48\xce\x3d\x02\x01"
                                "\x06\x05\x2b\x81\x04\x00\x23"),
                      66},
    [JWT_KEY_ED25519] = {SPAN_INIT("OKP"), SPAN_INIT("Ed25519"),
                         SPAN_INIT("\x30\x05\x06\x03\x2b\x65\x70"), 32},
};

/* While a set is read. */
typedef struct KeysReader {
    JwtKeys *keys;
    Bytes bytes; /* a number of the key in hand, decoded */
    JwtDer der;
} KeysReader;

/* ---- a key ---- */

/* A member's bytes, borrowed until the next; without zeros at the front if it is a number. False if
 * it is not there or not base64url. -ENOMEM. */
static int keys_decode(KeysReader *reader, JsonValue jwk, Span name, Span *ret, bool *ret_found)
{
    JsonValue value;
    Span text;
    int r;

    *ret_found = false;
    if (!json_get(jwk, name, &value) || !json_string_plain(value, &text)) {
        return 0;
    }
    bytes_clear(&reader->bytes);
    r = base64_decode(&reader->bytes, BASE64_URL, text);
    if (r < 0) {
        return err_pass(r);
    }
    *ret = bytes_span(&reader->bytes);
    *ret_found = r == 0;
    return 0;
}

static size_t keys_count_bits(Span number)
{
    size_t n_bits = 8 * number.n;

    for (unsigned mask = 0x80; mask > 0 && ((unsigned char)number.p[0] & mask) == 0; mask >>= 1) {
        n_bits--;
    }
    return n_bits;
}

static Span keys_trim_zeros(Span number)
{
    while (number.n > 0 && number.p[0] == 0) {
        number = span_make(number.p + 1, number.n - 1);
    }
    return number;
}

/* SEQUENCE { n, e }, from its end to its beginning. An exponent of 1 would have every message be
 * its own signature. */
static int keys_read_rsa(KeysReader *reader, JsonValue jwk, bool *ret_good)
{
    JwtDer *der = &reader->der;
    Span number;
    bool found;
    int r = keys_decode(reader, jwk, SPAN("e"), &number, &found);

    if (r != 0 || !found) {
        return r;
    }
    number = keys_trim_zeros(number);
    if (number.n == 0 || number.n > KEYS_EXPONENT_MAX || (number.p[number.n - 1] & 1) == 0 ||
        (number.n == 1 && number.p[0] == 1)) {
        return 0;
    }
    jwt_der_push_int(der, number);
    r = keys_decode(reader, jwk, SPAN("n"), &number, &found);
    if (r != 0 || !found) {
        return r;
    }
    number = keys_trim_zeros(number);
    if (number.n == 0 || keys_count_bits(number) < KEYS_RSA_MIN_BITS ||
        keys_count_bits(number) > KEYS_RSA_MAX_BITS) {
        return 0;
    }
    jwt_der_push_int(der, number);
    jwt_der_wrap(der, 0x30, sizeof(der->data));
    *ret_good = true;
    return 0;
}

/* A point: 4, x, y, each coordinate as long as the curve has it (RFC 7518, section 6.2.1.2). Of
 * Ed25519 x alone. */
static int keys_read_point(KeysReader *reader, JsonValue jwk, JwtKeyKind kind, bool *ret_good)
{
    static const Span names[] = {SPAN_INIT("y"), SPAN_INIT("x")};
    bool is_edwards = kind == JWT_KEY_ED25519;

    for (size_t i = is_edwards ? 1 : 0; i < TW_ARRAY_SIZE(names); i++) {
        Span number;
        bool found;
        int r = keys_decode(reader, jwk, names[i], &number, &found);

        if (r != 0) {
            return err_pass(r);
        }
        if (!found || number.n != key_forms[kind].n_bytes) {
            return 0;
        }
        jwt_der_push(&reader->der, number);
    }
    if (!is_edwards) {
        jwt_der_push(&reader->der, SPAN("\x04"));
    }
    *ret_good = true;
    return 0;
}

static bool keys_read_kind(JsonValue jwk, JwtKeyKind *ret)
{
    JsonValue kty;
    JsonValue crv;

    if (!json_get(jwk, SPAN("kty"), &kty)) {
        return false;
    }
    for (size_t i = 0; i < JWT_N_KEY_KINDS; i++) {
        if (json_string_equals(kty, key_forms[i].kty) &&
            (key_forms[i].crv.n == 0 ||
             (json_get(jwk, SPAN("crv"), &crv) && json_string_equals(crv, key_forms[i].crv)))) {
            *ret = (JwtKeyKind)i;
            return true;
        }
    }
    return false;
}

/* Is it for signatures, and for which algorithm? */
static bool keys_read_use(JsonValue jwk, JwtKeyKind kind, const JwtAlg **ret)
{
    const JwtAlg *alg = NULL;
    JsonValue value;
    Span name;

    if (json_get(jwk, SPAN("use"), &value) && !json_string_equals(value, SPAN("sig"))) {
        return false;
    }
    if (json_get(jwk, SPAN("key_ops"), &value)) {
        bool verifies = false;

        for (JsonIter it = json_iter(value); json_iter_next(&it);) {
            verifies = verifies || json_string_equals(it.value, SPAN("verify"));
        }
        if (!verifies || json_kind(value) != JSON_ARRAY) {
            return false;
        }
    }
    if (json_get(jwk, SPAN("alg"), &value)) {
        if (!json_string_plain(value, &name)) {
            return false;
        }
        alg = jwt_alg_find(name);
        if (alg == NULL || alg->kind != kind) {
            return false;
        }
    }
    *ret = alg;
    return true;
}

/* The DER of the reader as a key of OpenSSL's; NULL if it is none, such as a point that is not on
 * its curve. */
static EVP_PKEY *keys_build(KeysReader *reader, JwtKeyKind kind)
{
    const JwtLibrary *library = &reader->keys->library;
    const unsigned char *at;
    EVP_PKEY *key;
    Span der;

    jwt_der_make_public(&reader->der, key_forms[kind].algorithm);
    der = jwt_der_span(&reader->der);
    if (reader->der.is_full) {
        return NULL;
    }
    at = (const unsigned char *)der.p;
    /* What is wrong is ours to say: nothing may stay in a queue that others read. */
    (void)library->ERR_set_mark();
    key = library->d2i_PUBKEY(NULL, &at, (long)der.n);
    (void)library->ERR_pop_to_mark();
    return key;
}

static int keys_read_kid(KeysReader *reader, JsonValue jwk, Span *ret, bool *ret_good)
{
    Arena *arena = &reader->keys->arena;
    JsonValue value;
    Span kid;
    int r;

    *ret = SPAN_NULL;
    *ret_good = true;
    if (!json_get(jwk, SPAN("kid"), &value)) {
        return 0;
    }
    r = json_string(value, arena, &kid);
    if (r == JSON_E_KIND) {
        *ret_good = false;
        return 0;
    }
    if (r != 0) {
        return err_fold(r);
    }
    *ret = arena_copy(arena, kid);
    return ret->p == NULL ? err_raise(-ENOMEM) : 0;
}

/* Adds the key, or passes it over. */
static int keys_read_key(KeysReader *reader, JsonValue jwk)
{
    JwtKeys *keys = reader->keys;
    JwtKey key = {.key = NULL};
    bool is_good = false;
    int r;

    if (json_kind(jwk) != JSON_OBJECT || !keys_read_kind(jwk, &key.kind) ||
        !keys_read_use(jwk, key.kind, &key.alg)) {
        return 0;
    }
    jwt_der_init(&reader->der);
    r = key.kind == JWT_KEY_RSA ? keys_read_rsa(reader, jwk, &is_good)
                                : keys_read_point(reader, jwk, key.kind, &is_good);
    if (r == 0 && is_good) {
        r = keys_read_kid(reader, jwk, &key.kid, &is_good);
    }
    if (r != 0 || !is_good) {
        return r;
    }
    key.key = keys_build(reader, key.kind);
    if (key.key != NULL) {
        keys->keys[keys->n_keys++] = key;
    }
    return 0;
}

/* ---- a set ---- */

static int keys_read_set(KeysReader *reader, JsonValue set, Diag *reterr_diag)
{
    JsonValue array;

    if (!json_get(set, SPAN("keys"), &array) || json_kind(array) != JSON_ARRAY) {
        return diag_set(reterr_diag, JWT_E_INVALID,
                        "a key set is a JSON object with an array 'keys'");
    }
    if (json_count(array) > LIMIT_JWKS_KEYS) {
        return diag_set(reterr_diag, JWT_E_INVALID, "a key set of %u keys; %d are the most",
                        json_count(array), LIMIT_JWKS_KEYS);
    }
    for (JsonIter it = json_iter(array); json_iter_next(&it);) {
        int r = keys_read_key(reader, it.value);

        if (r != 0) {
            return err_pass(r);
        }
    }
    if (reader->keys->n_keys == 0) {
        return diag_set(reterr_diag, JWT_E_INVALID,
                        "none of the %u keys can be used: expected public keys for signatures, "
                        "RSA of 2048 bits or more, P-256, P-384, P-521 or Ed25519",
                        json_count(array));
    }
    return 0;
}

static int keys_parse(JwtKeys *keys, Span jwks, Diag *reterr_diag)
{
    KeysReader reader = {.keys = keys};
    JsonLimits limits = {.max_depth = LIMIT_JWT_DEPTH, .max_bytes = LIMIT_JWKS_BYTES};
    JsonDoc doc;
    Arena arena;
    int r;

    arena_init(&arena, 32 * LIMIT_JWKS_BYTES);
    r = json_parse(&doc, &arena, jwks.p, jwks.n, &limits, reterr_diag);
    if (r > 0) {
        diag_prefix(reterr_diag, "the key set is not JSON: ");
        r = JWT_E_INVALID;
    } else if (r == 0) {
        bytes_init(&reader.bytes, LIMIT_JWKS_BYTES);
        r = keys_read_set(&reader, json_root(&doc), reterr_diag);
        bytes_deinit(&reader.bytes);
    }
    arena_deinit(&arena);
    return r;
}

int jwt_keys_new(JwtKeys **ret, Span jwks, Diag *reterr_diag)
{
    JwtKeys *keys = mem_alloc_array(1, sizeof(*keys));
    int r;

    if (keys == NULL) {
        return err_raise(-ENOMEM);
    }
    arena_init(&keys->arena, 2 * LIMIT_JWKS_BYTES);
    r = jwt_library_open(&keys->library, reterr_diag);
    r = r != 0 ? r : keys_parse(keys, jwks, reterr_diag);
    if (r != 0) {
        keys = jwt_keys_free(keys);
        return r;
    }
    *ret = keys;
    return 0;
}

JwtKeys *jwt_keys_free(JwtKeys *keys)
{
    if (keys == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < keys->n_keys; i++) {
        keys->library.EVP_PKEY_free(keys->keys[i].key);
    }
    arena_deinit(&keys->arena);
    jwt_library_close(&keys->library);
    return mem_free(keys);
}

size_t jwt_keys_count(const JwtKeys *keys)
{
    return keys->n_keys;
}

/* ---- signatures ---- */

static const EVP_MD *keys_digest(const JwtLibrary *library, JwtDigest digest)
{
    switch (digest) {
    case JWT_DIGEST_NONE:
        return NULL;
    case JWT_DIGEST_SHA256:
        return library->EVP_sha256();
    case JWT_DIGEST_SHA384:
        return library->EVP_sha384();
    case JWT_DIGEST_SHA512:
        return library->EVP_sha512();
    }
    return NULL;
}

/* ECDSA's two numbers, one after the other, into the form that OpenSSL reads. */
static bool keys_rewrite_ecdsa(JwtDer *der, size_t n_bytes, Span signature)
{
    if (signature.n != 2 * n_bytes) {
        return false;
    }
    jwt_der_init(der);
    jwt_der_push_int(der, span_make(signature.p + n_bytes, n_bytes));
    jwt_der_push_int(der, span_make(signature.p, n_bytes));
    jwt_der_wrap(der, 0x30, sizeof(der->data));
    return true;
}

static bool keys_has_signed(const JwtLibrary *library, EVP_MD_CTX *context, const JwtKey *key,
                            const JwtAlg *alg, Span text, Span signature)
{
    EVP_PKEY_CTX *more = NULL; /* of the context */

    if (library->EVP_DigestVerifyInit(context, &more, keys_digest(library, alg->digest), NULL,
                                      key->key) != 1) {
        return false;
    }
    /* The salt is as long as the digest (RFC 7518, section 3.5). */
    if (alg->is_pss &&
        (library->EVP_PKEY_CTX_set_rsa_padding(more, RSA_PKCS1_PSS_PADDING) != 1 ||
         library->EVP_PKEY_CTX_set_rsa_pss_saltlen(more, RSA_PSS_SALTLEN_DIGEST) != 1)) {
        return false;
    }
    return library->EVP_DigestVerify(context, (const unsigned char *)signature.p, signature.n,
                                     (const unsigned char *)text.p, text.n) == 1;
}

static int keys_try(const JwtKeys *keys, const JwtKey *key, const JwtAlg *alg, Span text,
                    Span signature)
{
    const JwtLibrary *library = &keys->library;
    EVP_MD_CTX *context;
    JwtDer der;
    bool ok;

    if (alg->kind == JWT_KEY_P256 || alg->kind == JWT_KEY_P384 || alg->kind == JWT_KEY_P521) {
        if (!keys_rewrite_ecdsa(&der, key_forms[alg->kind].n_bytes, signature)) {
            return JWT_KEYS_E_WRONG;
        }
        signature = jwt_der_span(&der);
    }
    (void)library->ERR_set_mark();
    context = library->EVP_MD_CTX_new();
    ok = context != NULL && keys_has_signed(library, context, key, alg, text, signature);
    library->EVP_MD_CTX_free(context);
    (void)library->ERR_pop_to_mark();
    if (context == NULL) {
        return err_raise(-ENOMEM);
    }
    return ok ? 0 : JWT_KEYS_E_WRONG;
}

int jwt_keys_verify(const JwtKeys *keys, const JwtAlg *alg, Span kid, Span text, Span signature)
{
    int r = JWT_KEYS_E_UNKNOWN;

    /* Ids need not differ: a set may have one for each kind of key. */
    for (size_t i = 0; i < keys->n_keys && (r == JWT_KEYS_E_UNKNOWN || r == JWT_KEYS_E_WRONG);
         i++) {
        const JwtKey *key = &keys->keys[i];

        if (key->kind == alg->kind && (key->alg == NULL || key->alg == alg) &&
            (kid.p == NULL || (key->kid.p != NULL && span_equals(key->kid, kid)))) {
            r = keys_try(keys, key, alg, text, signature);
        }
    }
    return r;
}
