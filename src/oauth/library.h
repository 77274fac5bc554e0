/* oauth/library.h: OpenSSL's part for keys that sign, loaded when it is needed (as
 * router/jwt_library.h says why): by who authorises with a key, and by nobody else. Private to
 * oauth/key*. */
#pragma once

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/diag.h"

/* X(what it returns, its name, its arguments): as OpenSSL's headers declare them, which library.c
 * has the compiler check. */
#define OAUTH_LIBRARY_FUNCTIONS(X)                                                                 \
    X(int, BIO_free, (BIO *))                                                                      \
    X(BIO *, BIO_new_mem_buf, (const void *, int))                                                 \
    X(int, BN_bn2binpad, (const BIGNUM *, unsigned char *, int))                                   \
    X(void, BN_free, (BIGNUM *))                                                                   \
    X(int, ERR_pop_to_mark, (void))                                                                \
    X(int, ERR_set_mark, (void))                                                                   \
    X(int, EVP_DigestSign,                                                                         \
      (EVP_MD_CTX *, unsigned char *, size_t *, const unsigned char *, size_t))                    \
    X(int, EVP_DigestSignInit,                                                                     \
      (EVP_MD_CTX *, EVP_PKEY_CTX **, const EVP_MD *, ENGINE *, EVP_PKEY *))                       \
    X(void, EVP_MD_CTX_free, (EVP_MD_CTX *))                                                       \
    X(EVP_MD_CTX *, EVP_MD_CTX_new, (void))                                                        \
    X(void, EVP_PKEY_CTX_free, (EVP_PKEY_CTX *))                                                   \
    X(EVP_PKEY_CTX *, EVP_PKEY_CTX_new_from_name, (OSSL_LIB_CTX *, const char *, const char *))    \
    X(int, EVP_PKEY_CTX_set_group_name, (EVP_PKEY_CTX *, const char *))                            \
    X(void, EVP_PKEY_free, (EVP_PKEY *))                                                           \
    X(int, EVP_PKEY_generate, (EVP_PKEY_CTX *, EVP_PKEY **))                                       \
    X(int, EVP_PKEY_get_base_id, (const EVP_PKEY *))                                               \
    X(int, EVP_PKEY_get_bits, (const EVP_PKEY *))                                                  \
    X(int, EVP_PKEY_get_bn_param, (const EVP_PKEY *, const char *, BIGNUM **))                     \
    X(int, EVP_PKEY_get_group_name, (const EVP_PKEY *, char *, size_t, size_t *))                  \
    X(int, EVP_PKEY_keygen_init, (EVP_PKEY_CTX *))                                                 \
    X(const EVP_MD *, EVP_sha256, (void))                                                          \
    X(EVP_PKEY *, PEM_read_bio_PrivateKey, (BIO *, EVP_PKEY **, pem_password_cb *, void *))        \
    X(EVP_PKEY *, d2i_AutoPrivateKey, (EVP_PKEY **, const unsigned char **, long))                 \
    X(int, i2d_PrivateKey, (const EVP_PKEY *, unsigned char **))

typedef struct OauthLibrary {
    void *handle;
#define X(returned, name, arguments) returned(*name) arguments;
    OAUTH_LIBRARY_FUNCTIONS(X)
#undef X
} OauthLibrary;

/* 0, OAUTH_E_REFUSED (oauth/discovery.h). */
int oauth_library_open(OauthLibrary *ret, Diag *reterr_diag);
void oauth_library_close(OauthLibrary *library);
