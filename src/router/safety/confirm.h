/* router/safety/confirm.h: the confirm tokens that were given out: "ct-" and 32 hex digits, for one
 * use, for so long, and for the same command in the same document only. Bounded: the oldest goes.
 * Thread: loop. */
#pragma once

#include "base/limits.h"
#include "base/span.h"
#include "router/safety/canonical.h"
#include "router/safety/sha256.h"

#include <stdbool.h>
#include <stdint.h>

/* "ct-", 32 hex digits and a NUL. */
#define SAFETY_CONFIRM_BYTES 36

typedef struct SafetyConfirmed {
    char token[SAFETY_CONFIRM_BYTES]; /* empty: none */
    uint8_t method[SAFETY_HASH_BYTES];
    char fingerprint[SAFETY_FINGERPRINT_BYTES];
    uint64_t document;
    int64_t until_ms;
} SafetyConfirmed;

typedef struct SafetyConfirms {
    SafetyConfirmed list[LIMIT_SAFETY_CONFIRMS]; /* a ring: the next one replaces the oldest */
    size_t next;
} SafetyConfirms;

/* Keeps a token made of 16 random bytes. 0, -EIO. */
int safety_confirm_add(SafetyConfirms *confirms, const uint8_t random[16], Span method,
                       uint64_t document, const char *fingerprint, int64_t until_ms,
                       char ret[SAFETY_CONFIRM_BYTES]);

/* Takes the token out, right or wrong. *ret_problem: why it is not accepted; NULL: it is, and *ret
 * is what was taken. 0, -EIO. */
int safety_confirm_take(SafetyConfirms *confirms, Span token, Span method, uint64_t document,
                        const char *fingerprint, int64_t now_ms, const char **ret_problem,
                        SafetyConfirmed *ret);

/* Puts it back as it was. */
void safety_confirm_return(SafetyConfirms *confirms, const SafetyConfirmed *taken);
