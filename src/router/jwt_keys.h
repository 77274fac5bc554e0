/* router/jwt_keys.h: between reading a token (jwt.c) and checking its signature (jwt_keys.c).
 * Private to router/jwt*. */
#pragma once

#include "router/jwt.h"

enum {
    JWT_KEYS_E_UNKNOWN = 1, /* no key of that id, or none for that algorithm */
    JWT_KEYS_E_WRONG = 2,   /* none of them has made this signature */
};

typedef enum JwtKeyKind {
    JWT_KEY_RSA,
    JWT_KEY_P256,
    JWT_KEY_P384,
    JWT_KEY_P521,
    JWT_KEY_ED25519,
    JWT_N_KEY_KINDS
} JwtKeyKind;

typedef enum JwtDigest {
    JWT_DIGEST_NONE, /* part of the algorithm */
    JWT_DIGEST_SHA256,
    JWT_DIGEST_SHA384,
    JWT_DIGEST_SHA512,
} JwtDigest;

typedef struct JwtAlg {
    Span name;
    JwtKeyKind kind; /* of key, and the only one */
    JwtDigest digest;
    bool is_pss;
} JwtAlg;

/* NULL if we do not take it. */
const JwtAlg *jwt_alg_find(Span name);

/* Has a key of the set, that of id kid (p NULL: any), made this signature over text? 0, -ENOMEM,
 * JWT_KEYS_E_UNKNOWN, JWT_KEYS_E_WRONG. */
int jwt_keys_verify(const JwtKeys *keys, const JwtAlg *alg, Span kid, Span text, Span signature);
