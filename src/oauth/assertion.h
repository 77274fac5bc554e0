/* oauth/assertion.h: what a client signs: who it is (RFC 7523) and that it holds the key of its
 * token (DPoP, RFC 9449); and the hashes around them. Thread: any.
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"
#include "oauth/key.h"

#include <stdint.h>

/* Random bytes of an id, a state or a verifier: as many as nobody guesses. */
#define OAUTH_RANDOM_BYTES 32

/* Appends a JWT that says: I am client_id, for audience, for the next minutes. id: unique. All
 * functions here: 0, -ENOMEM, BYTES_E_FULL, -EIO (the library refused). */
int oauth_assertion_client(Bytes *out, const OauthKey *key, Span client_id, Span audience, Span id,
                           int64_t now_s);

typedef struct OauthProof {
    Span method;
    Span url;   /* its query is left out */
    Span token; /* the access token it is shown with; empty: at the token endpoint */
    Span nonce; /* that the server wanted; empty: none */
    Span id;    /* unique */
} OauthProof;

/* Appends a proof, a JWT with the public key in it. */
int oauth_assertion_dpop(Bytes *out, const OauthKey *key, const OauthProof *proof, int64_t now_s);

/* Appends the SHA-256 of text as base64url: of a verifier (PKCE), a token (ath), a key (jkt). */
int oauth_hash(Bytes *out, Span text);
