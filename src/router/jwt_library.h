/* router/jwt_library.h: OpenSSL's public-key part, loaded when it is needed.
 *
 * Linked into the program, it would be put right in memory at every start, whether used or not:
 * 16,600 addresses, which makes an empty program start four times slower. So it is taken from the
 * system's shared library, by whoever has issuers configured and by nobody else. (What all
 * programs need, SHA-256, is linked; see seal.c.) Private to router/jwt*. */
#pragma once

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "base/diag.h"

/* X(what it returns, its name, its arguments): as OpenSSL's headers declare them, which
 * jwt_library.c has the compiler check. */
#define JWT_LIBRARY_FUNCTIONS(X)                                                                   \
    X(int, ERR_pop_to_mark, (void))                                                                \
    X(int, ERR_set_mark, (void))                                                                   \
    X(int, EVP_DigestVerify,                                                                       \
      (EVP_MD_CTX *, const unsigned char *, size_t, const unsigned char *, size_t))                \
    X(int, EVP_DigestVerifyInit,                                                                   \
      (EVP_MD_CTX *, EVP_PKEY_CTX **, const EVP_MD *, ENGINE *, EVP_PKEY *))                       \
    X(void, EVP_MD_CTX_free, (EVP_MD_CTX *))                                                       \
    X(EVP_MD_CTX *, EVP_MD_CTX_new, (void))                                                        \
    X(int, EVP_PKEY_CTX_set_rsa_padding, (EVP_PKEY_CTX *, int))                                    \
    X(int, EVP_PKEY_CTX_set_rsa_pss_saltlen, (EVP_PKEY_CTX *, int))                                \
    X(void, EVP_PKEY_free, (EVP_PKEY *))                                                           \
    X(const EVP_MD *, EVP_sha256, (void))                                                          \
    X(const EVP_MD *, EVP_sha384, (void))                                                          \
    X(const EVP_MD *, EVP_sha512, (void))                                                          \
    X(EVP_PKEY *, d2i_PUBKEY, (EVP_PKEY **, const unsigned char **, long))

typedef struct JwtLibrary {
    void *handle;
#define X(returned, name, arguments) returned(*name) arguments;
    JWT_LIBRARY_FUNCTIONS(X)
#undef X
} JwtLibrary;

/* 0, JWT_E_UNSUPPORTED. */
int jwt_library_open(JwtLibrary *ret, Diag *reterr_diag);
void jwt_library_close(JwtLibrary *library);
