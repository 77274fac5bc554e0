/* There is no OpenSSL on Windows, and nothing yet in its place: no key set can be used. */
#include "router/jwt_keys.h"

int jwt_keys_new(JwtKeys **ret, Span jwks, Diag *reterr_diag)
{
    (void)ret;
    (void)jwks;
    return diag_set(reterr_diag, JWT_E_UNSUPPORTED,
                    "access tokens of issuers cannot be checked on Windows yet");
}

JwtKeys *jwt_keys_free(JwtKeys *keys)
{
    (void)keys;
    return NULL;
}

size_t jwt_keys_count(const JwtKeys *keys)
{
    (void)keys;
    return 0;
}

int jwt_keys_verify(const JwtKeys *keys, const JwtAlg *alg, Span kid, Span text, Span signature)
{
    (void)keys;
    (void)alg;
    (void)kid;
    (void)text;
    (void)signature;
    return JWT_KEYS_E_UNKNOWN;
}
