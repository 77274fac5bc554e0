/* SHA-256 by Windows' own library. */
#include "router/safety/sha256.h"

#include <windows.h>

#include <bcrypt.h>
#include <limits.h>
#include <stdbool.h>

#include "base/error.h"

static bool sha256_update(BCRYPT_HASH_HANDLE hash, Span text)
{
    while (text.n > 0) {
        ULONG part = text.n < ULONG_MAX ? (ULONG)text.n : ULONG_MAX;

        /* It only reads; its type does not say so. */
        if (BCryptHashData(hash, (PUCHAR)(uintptr_t)text.p, part, 0) != 0) {
            return false;
        }
        text = span_make(text.p + part, text.n - part);
    }
    return true;
}

int safety_sha256(Span text, uint8_t ret[SAFETY_HASH_BYTES])
{
    BCRYPT_ALG_HANDLE provider = NULL;
    BCRYPT_HASH_HANDLE hash = NULL;
    bool ok = false;

    if (BCryptOpenAlgorithmProvider(&provider, BCRYPT_SHA256_ALGORITHM, NULL, 0) != 0) {
        return err_raise(-EIO);
    }
    if (BCryptCreateHash(provider, &hash, NULL, 0, NULL, 0, 0) == 0) {
        ok = sha256_update(hash, text) && BCryptFinishHash(hash, ret, SAFETY_HASH_BYTES, 0) == 0;
        (void)BCryptDestroyHash(hash);
    }
    (void)BCryptCloseAlgorithmProvider(provider, 0);
    return ok ? 0 : err_raise(-EIO);
}
