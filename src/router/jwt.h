/* router/jwt.h: access tokens that somebody else issued: JSON Web Tokens (RFC 7519) in compact
 * form, signed with a key whose public half we have (RFC 7515, 7517), and what they say about who
 * asks (RFC 9068).
 *
 * A token is believed if a key of the issuer that it names has signed it, with the algorithm that
 * the key is for, if it is meant for us, and if it is of now. Keys are only looked for in the sets
 * that were given: what a token says about keys (jwk, jku, x5c, x5u) is not read. Signatures
 * without a key (`none`) or with a shared one (HS256...) are refused whatever the key set says.
 *
 * Performs no I/O, but for the loading of OpenSSL with the first key set (router/jwt_library.h).
 * Thread: any; keys may be used by several at once.
 */
#pragma once

#include "base/arena.h"
#include "base/diag.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JWT_E_REFUSED = 1, /* the JwtFault says why */
    JWT_E_INVALID,     /* a key set that cannot be used; the Diag says why */
    JWT_E_UNSUPPORTED, /* there is no OpenSSL here; the Diag says so */
};

/* Why a token is refused; jwt.c has the words of each. */
typedef enum JwtFault {
    JWT_FAULT_NONE,
    JWT_FAULT_LENGTH,
    JWT_FAULT_FORM,     /* not three parts of base64url */
    JWT_FAULT_HEADER,   /* not a JSON object, or a member of the wrong type */
    JWT_FAULT_REPEATED, /* a name twice in the header or in the claims */
    JWT_FAULT_ALG,
    JWT_FAULT_CRIT,
    JWT_FAULT_TYPE,
    JWT_FAULT_CLAIMS, /* not a JSON object, or a claim of the wrong type, or one that is missing */
    JWT_FAULT_ISSUER,
    JWT_FAULT_KEY,
    JWT_FAULT_SIGNATURE,
    JWT_FAULT_AUDIENCE,
    JWT_FAULT_EXPIRED,
    JWT_FAULT_NOT_YET,
    JWT_N_FAULTS
} JwtFault;

/* What is wrong, in a few words for a person, without quotes; static. */
const char *jwt_fault_text(JwtFault fault);

/* The public keys of one issuer, from a JSON Web Key Set: RSA of 2048 to 8192 bits, the curves
 * P-256, P-384 and P-521, and Ed25519. Keys of other kinds, for other uses or of other sizes are
 * passed over, as RFC 7517 wants it; a set without a single one that we can use is refused. */
typedef struct JwtKeys JwtKeys;

/* Borrows jwks until return. 0, -ENOMEM, JWT_E_INVALID, JWT_E_UNSUPPORTED. Gives *ret. */
int jwt_keys_new(JwtKeys **ret, Span jwks, Diag *reterr_diag);
JwtKeys *jwt_keys_free(JwtKeys *keys);

/* Keys that can be used. */
size_t jwt_keys_count(const JwtKeys *keys);

typedef struct JwtIssuer {
    Span name;     /* as `iss` says it, byte for byte */
    JwtKeys *keys; /* borrowed */
} JwtIssuer;

/* What a token must fulfil. */
typedef struct JwtTerms {
    const JwtIssuer *issuers;
    size_t n_issuers;
    Span audience; /* that `aud` must name, byte for byte: us */
} JwtTerms;

/* What a token says that fulfils them. */
typedef struct JwtClaims {
    size_t issuer; /* its place among the issuers */
    Span subject;  /* not empty */
    Span scopes;   /* with one blank between them; may be empty */
    int64_t end_s; /* until then it is believed, of the wall clock */
} JwtClaims;

/* Room in the arena for any token. */
#define JWT_ARENA_BYTES ((size_t)512 * 1024)

/* now_s: of the wall clock. *ret lives in the arena. 0, -ENOMEM, JWT_E_REFUSED. */
int jwt_check(Span token, const JwtTerms *terms, int64_t now_s, Arena *arena, JwtClaims *ret,
              JwtFault *reterr_fault);

bool jwt_has_scope(const JwtClaims *claims, Span scope);
