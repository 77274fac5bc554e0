/* router/jwt_der.h: the few forms of DER (X.690) that OpenSSL wants keys and signatures in.
 *
 * Written from the end to the beginning, so that the length of each part is known when its head is
 * written. Private to router/jwt*. Thread: any. */
#pragma once

#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An RSA key of 8192 bits, an exponent of 64, and what is around them. */
#define JWT_DER_BYTES 1152

typedef struct JwtDer {
    uint8_t data[JWT_DER_BYTES];
    size_t at;    /* where what is written begins; it ends with data */
    bool is_full; /* something did not fit */
} JwtDer;

void jwt_der_init(JwtDer *der);

/* Puts bytes in front of what is written. */
void jwt_der_push(JwtDer *der, Span bytes);

/* Makes all that lies before `end`, a former `at`, the content of a value of that tag. */
void jwt_der_wrap(JwtDer *der, uint8_t tag, size_t end);

/* An unsigned number, the highest byte first. */
void jwt_der_push_int(JwtDer *der, Span number);

/* All of it as a SubjectPublicKeyInfo (RFC 5280): the algorithm, itself in DER, and the key. */
void jwt_der_make_public(JwtDer *der, Span algorithm);

Span jwt_der_span(const JwtDer *der);
