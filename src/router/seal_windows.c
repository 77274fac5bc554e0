/* HMAC-SHA-256 by Windows' own library. */
#include "router/seal.h"

#include <windows.h>

#include <bcrypt.h>

#include "base/error.h"
#include "base/random.h"

int router_seal_key_init(RouterSealKey *ret)
{
    RouterSealKey key;
    int r = random_fill(key.bytes, sizeof(key.bytes));

    if (r != 0) {
        return err_pass(r);
    }
    *ret = key;
    SecureZeroMemory(&key, sizeof(key));
    return 0;
}

static bool seal_update(BCRYPT_HASH_HANDLE hash, const void *p, size_t n)
{
    const unsigned char *at = p;

    while (n > 0) {
        ULONG part = n < ULONG_MAX ? (ULONG)n : ULONG_MAX;

        /* It only reads; its type does not say so. */
        if (BCryptHashData(hash, (PUCHAR)(uintptr_t)at, part, 0) != 0) {
            return false;
        }
        at += part;
        n -= part;
    }
    return true;
}

static bool seal_update_length(BCRYPT_HASH_HANDLE hash, size_t n)
{
    uint8_t length[8];

    for (size_t i = 0; i < sizeof(length); i++) {
        length[i] = (uint8_t)((uint64_t)n >> (56 - 8 * i));
    }
    return seal_update(hash, length, sizeof(length));
}

static bool seal_run(BCRYPT_HASH_HANDLE hash, const Span *pieces, size_t n, bool with_lengths,
                     uint8_t ret_code[ROUTER_SEAL_BYTES])
{
    for (size_t i = 0; i < n; i++) {
        if (with_lengths && !seal_update_length(hash, pieces[i].n)) {
            return false;
        }
        if (!seal_update(hash, pieces[i].p, pieces[i].n)) {
            return false;
        }
    }
    return BCryptFinishHash(hash, ret_code, ROUTER_SEAL_BYTES, 0) == 0;
}

static int seal_code(const RouterSealKey *key, const Span *pieces, size_t n, bool with_lengths,
                     uint8_t ret_code[ROUTER_SEAL_BYTES])
{
    uint8_t code[ROUTER_SEAL_BYTES];
    BCRYPT_ALG_HANDLE provider = NULL;
    BCRYPT_HASH_HANDLE hash = NULL;
    bool ok = false;

    if (BCryptOpenAlgorithmProvider(&provider, BCRYPT_SHA256_ALGORITHM, NULL,
                                    BCRYPT_ALG_HANDLE_HMAC_FLAG) != 0) {
        return err_raise(-EIO);
    }
    if (BCryptCreateHash(provider, &hash, NULL, 0, (PUCHAR)(uintptr_t)key->bytes,
                         sizeof(key->bytes), 0) == 0) {
        ok = seal_run(hash, pieces, n, with_lengths, code);
        (void)BCryptDestroyHash(hash);
    }
    (void)BCryptCloseAlgorithmProvider(provider, 0);
    if (!ok) {
        return err_raise(-EIO);
    }
    memcpy(ret_code, code, sizeof(code));
    return 0;
}

int router_seal(const RouterSealKey *key, const Span *pieces, size_t n,
                uint8_t ret_code[ROUTER_SEAL_BYTES])
{
    return seal_code(key, pieces, n, true, ret_code);
}

int router_seal_plain(const RouterSealKey *key, const Span *pieces, size_t n,
                      uint8_t ret_code[ROUTER_SEAL_BYTES])
{
    return seal_code(key, pieces, n, false, ret_code);
}

bool router_seal_equals(const uint8_t a[ROUTER_SEAL_BYTES], const uint8_t b[ROUTER_SEAL_BYTES])
{
    volatile uint8_t differs = 0;

    for (size_t i = 0; i < ROUTER_SEAL_BYTES; i++) {
        differs = (uint8_t)(differs | (a[i] ^ b[i]));
    }
    return differs == 0;
}
