/* oauth/key.h: private keys of a client: of P-256 (ES256) and RSA (RS256), to sign assertions and
 * DPoP proofs with.
 *
 * OpenSSL is loaded by the first key. There is none on Windows: making a key says so. Thread: any,
 * one at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/span.h"

#include <stdbool.h>

typedef struct OauthKey OauthKey;

/* A new one of P-256; one from a PEM text (PKCS #8, SEC 1, PKCS #1; not encrypted); one from what
 * oauth_key_der gave. 0, -ENOMEM, OAUTH_E_REFUSED (oauth/discovery.h). Give *ret. */
int oauth_key_make(OauthKey **ret, Diag *reterr_diag);
int oauth_key_from_pem(OauthKey **ret, Span pem, Diag *reterr_diag);
int oauth_key_from_der(OauthKey **ret, Span der, Diag *reterr_diag);
OauthKey *oauth_key_free(OauthKey *key);

/* Appends the private key as DER. 0, -ENOMEM, BYTES_E_FULL, -EIO (the library refused). */
int oauth_key_der(const OauthKey *key, Bytes *out);

/* "ES256", "RS256". */
const char *oauth_key_alg(const OauthKey *key);
bool oauth_key_is_p256(const OauthKey *key);

/* Appends the signature of a JWS over text. As oauth_key_der. */
int oauth_key_sign(const OauthKey *key, Span text, Bytes *out);

/* Appends the public key of a P-256 key as JSON, in the form whose hash is its thumbprint (RFC
 * 7638). As oauth_key_der. */
int oauth_key_jwk(const OauthKey *key, Bytes *out);
