/* router/seal.h: HMAC-SHA-256 over pieces, for what we hand to a stranger and want back unchanged.
 * Thread: any. */
#pragma once

#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ROUTER_SEAL_BYTES 32

typedef struct RouterSealKey {
    uint8_t bytes[ROUTER_SEAL_BYTES];
} RouterSealKey;

/* A new key from the kernel's randomness; whoever seals with it makes what it sealed before a
 * restart worthless, on purpose. 0, or a negative errno. */
int router_seal_key_init(RouterSealKey *ret);

/* The code of the pieces, each with its length (eight bytes, the highest first) before it, so that
 * moving a byte from one piece to the next changes it. 0, -ENOMEM, -EIO (the library refused). */
int router_seal(const RouterSealKey *key, const Span *pieces, size_t n,
                uint8_t ret_code[ROUTER_SEAL_BYTES]);

/* HMAC-SHA-256 of the pieces' bytes one after another (RFC 2104), for codes that others compute
 * too. The same outcomes. */
int router_seal_plain(const RouterSealKey *key, const Span *pieces, size_t n,
                      uint8_t ret_code[ROUTER_SEAL_BYTES]);

/* Equality in a time that does not depend on where they differ. */
bool router_seal_equals(const uint8_t a[ROUTER_SEAL_BYTES], const uint8_t b[ROUTER_SEAL_BYTES]);
