#include "oauth/key.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/alloc.h"
#include "base/base64.h"
#include "base/error.h"
#include "oauth/discovery.h"
#include "oauth/library.h"

#define KEY_P256_BYTES 32

/* Below it RSA is no longer trusted, above it signing takes seconds. */
#define KEY_RSA_MIN_BITS 2048
#define KEY_RSA_MAX_BITS 8192

struct OauthKey {
    OauthLibrary library;
    EVP_PKEY *pkey;
    bool is_p256;
};

/* ---- making ---- */

/* Never asks a person: an encrypted key is refused. */
static int key_no_password(char *out, int size, int is_writing, void *user)
{
    (void)out;
    (void)size;
    (void)is_writing;
    (void)user;
    return -1;
}

static int key_new(OauthKey **ret, Diag *reterr_diag)
{
    OauthKey *key = mem_alloc_array(1, sizeof(*key));
    int r;

    if (key == NULL) {
        return err_raise(-ENOMEM);
    }
    r = oauth_library_open(&key->library, reterr_diag);
    if (r != 0) {
        mem_free(key);
        return r;
    }
    *ret = key;
    return 0;
}

/* Is it of a kind that we sign with? */
static bool key_check(OauthKey *key)
{
    const OauthLibrary *library = &key->library;
    char group[32];
    size_t n = 0;

    if (key->pkey == NULL) {
        return false;
    }
    if (library->EVP_PKEY_get_base_id(key->pkey) == EVP_PKEY_RSA) {
        int bits = library->EVP_PKEY_get_bits(key->pkey);

        return bits >= KEY_RSA_MIN_BITS && bits <= KEY_RSA_MAX_BITS;
    }
    key->is_p256 = library->EVP_PKEY_get_base_id(key->pkey) == EVP_PKEY_EC &&
                   library->EVP_PKEY_get_group_name(key->pkey, group, sizeof(group), &n) == 1 &&
                   strcmp(group, "prime256v1") == 0;
    return key->is_p256;
}

static int key_finish(OauthKey **ret, OauthKey *key, Diag *reterr_diag)
{
    if (!key_check(key)) {
        (void)oauth_key_free(key);
        return diag_set(reterr_diag, OAUTH_E_REFUSED,
                        "the private key cannot be used: it must be one of P-256, or of RSA with "
                        "2048 to 8192 bits, and not encrypted");
    }
    *ret = key;
    return 0;
}

int oauth_key_make(OauthKey **ret, Diag *reterr_diag)
{
    const OauthLibrary *library;
    EVP_PKEY_CTX *context;
    OauthKey *key = NULL;
    int r = key_new(&key, reterr_diag);

    if (r != 0) {
        return r;
    }
    library = &key->library;
    (void)library->ERR_set_mark();
    context = library->EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    if (context == NULL || library->EVP_PKEY_keygen_init(context) != 1 ||
        library->EVP_PKEY_CTX_set_group_name(context, "P-256") != 1 ||
        library->EVP_PKEY_generate(context, &key->pkey) != 1) {
        key->pkey = NULL;
    }
    library->EVP_PKEY_CTX_free(context);
    (void)library->ERR_pop_to_mark();
    return key_finish(ret, key, reterr_diag);
}

int oauth_key_from_pem(OauthKey **ret, Span pem, Diag *reterr_diag)
{
    OauthKey *key = NULL;
    BIO *bio;
    int r = key_new(&key, reterr_diag);

    if (r != 0) {
        return r;
    }
    (void)key->library.ERR_set_mark();
    bio = pem.n > 0 && pem.n < INT_MAX ? key->library.BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
    if (bio != NULL) {
        key->pkey = key->library.PEM_read_bio_PrivateKey(bio, NULL, key_no_password, NULL);
        (void)key->library.BIO_free(bio);
    }
    (void)key->library.ERR_pop_to_mark();
    return key_finish(ret, key, reterr_diag);
}

int oauth_key_from_der(OauthKey **ret, Span der, Diag *reterr_diag)
{
    const unsigned char *at = (const unsigned char *)der.p;
    OauthKey *key = NULL;
    int r = key_new(&key, reterr_diag);

    if (r != 0) {
        return r;
    }
    (void)key->library.ERR_set_mark();
    if (der.n > 0 && der.n < INT_MAX) {
        key->pkey = key->library.d2i_AutoPrivateKey(NULL, &at, (long)der.n);
    }
    (void)key->library.ERR_pop_to_mark();
    return key_finish(ret, key, reterr_diag);
}

OauthKey *oauth_key_free(OauthKey *key)
{
    if (key != NULL) {
        if (key->pkey != NULL) {
            key->library.EVP_PKEY_free(key->pkey);
        }
        oauth_library_close(&key->library);
        mem_free(key);
    }
    return NULL;
}

/* ---- using ---- */

int oauth_key_der(const OauthKey *key, Bytes *out)
{
    int n = key->library.i2d_PrivateKey(key->pkey, NULL);
    unsigned char *at;
    int r;

    if (n <= 0) {
        return err_raise(-EIO);
    }
    r = bytes_reserve(out, (size_t)n);
    if (r != 0) {
        return r;
    }
    at = (unsigned char *)out->data + out->n;
    if (key->library.i2d_PrivateKey(key->pkey, &at) != n) {
        return err_raise(-EIO);
    }
    out->n += (size_t)n;
    return 0;
}

const char *oauth_key_alg(const OauthKey *key)
{
    return key->is_p256 ? "ES256" : "RS256";
}

bool oauth_key_is_p256(const OauthKey *key)
{
    return key->is_p256;
}

/* Takes an INTEGER of DER off *der, as 32 bytes; OpenSSL writes short lengths for these. */
static bool key_take_int(Span *der, unsigned char ret[KEY_P256_BYTES])
{
    const char *p = der->p;
    size_t n;

    if (der->n < 2 || p[0] != 0x02 || (size_t)(unsigned char)p[1] + 2 > der->n) {
        return false;
    }
    n = (size_t)(unsigned char)p[1];
    p += 2;
    *der = span_make(p + n, der->n - n - 2);
    while (n > 0 && *p == 0) {
        p++;
        n--;
    }
    if (n > KEY_P256_BYTES) {
        return false;
    }
    memset(ret, 0, KEY_P256_BYTES);
    memcpy(ret + KEY_P256_BYTES - n, p, n);
    return true;
}

/* What a JWS has of ECDSA: the two numbers side by side (RFC 7518 3.4). */
static int key_append_ecdsa(Bytes *out, Span der)
{
    unsigned char raw[2 * KEY_P256_BYTES];

    if (der.n < 2 || der.p[0] != 0x30 || (size_t)(unsigned char)der.p[1] + 2 != der.n) {
        return err_raise(-EIO);
    }
    der = span_make(der.p + 2, der.n - 2);
    if (!key_take_int(&der, raw) || !key_take_int(&der, raw + KEY_P256_BYTES)) {
        return err_raise(-EIO);
    }
    return bytes_append(out, raw, sizeof(raw));
}

int oauth_key_sign(const OauthKey *key, Span text, Bytes *out)
{
    const OauthLibrary *library = &key->library;
    unsigned char signature[KEY_RSA_MAX_BITS / 8];
    size_t n = sizeof(signature);
    EVP_MD_CTX *context = library->EVP_MD_CTX_new();
    bool ok;

    if (context == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)library->ERR_set_mark();
    ok =
        library->EVP_DigestSignInit(context, NULL, library->EVP_sha256(), NULL, key->pkey) == 1 &&
        library->EVP_DigestSign(context, signature, &n, (const unsigned char *)text.p, text.n) == 1;
    (void)library->ERR_pop_to_mark();
    library->EVP_MD_CTX_free(context);
    if (!ok) {
        return err_raise(-EIO);
    }
    return key->is_p256 ? key_append_ecdsa(out, span_make((const char *)signature, n))
                        : bytes_append(out, signature, n);
}

static int key_append_coordinate(const OauthKey *key, const char *name, Bytes *out)
{
    unsigned char number[KEY_P256_BYTES];
    BIGNUM *bn = NULL;
    bool ok = key->library.EVP_PKEY_get_bn_param(key->pkey, name, &bn) == 1 &&
              key->library.BN_bn2binpad(bn, number, sizeof(number)) == (int)sizeof(number);

    key->library.BN_free(bn);
    if (!ok) {
        return err_raise(-EIO);
    }
    return base64_encode(out, BASE64_URL, span_make((const char *)number, sizeof(number)));
}

int oauth_key_jwk(const OauthKey *key, Bytes *out)
{
    int r;

    if (!key->is_p256) {
        return err_raise(-EIO);
    }
    r = bytes_append_span(out, SPAN("{\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\""));
    if (r == 0) {
        r = key_append_coordinate(key, "qx", out);
    }
    if (r == 0) {
        r = bytes_append_span(out, SPAN("\",\"y\":\""));
    }
    if (r == 0) {
        r = key_append_coordinate(key, "qy", out);
    }
    return r == 0 ? bytes_append_span(out, SPAN("\"}")) : r;
}
