/* SHA-256 by Windows' own library. */
#include "toolkit/templates/sha256.h"

#include <windows.h>

#include <bcrypt.h>

#include "base/error.h"

static bool sha256_update(BCRYPT_HASH_HANDLE hash, Span data)
{
    const char *at = data.p;
    size_t n = data.n;

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

int template_sha256(Span data, char ret[TEMPLATE_SHA256_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[TEMPLATE_SHA256_HEX / 2];
    BCRYPT_ALG_HANDLE provider = NULL;
    BCRYPT_HASH_HANDLE hash = NULL;
    bool ok = false;

    if (BCryptOpenAlgorithmProvider(&provider, BCRYPT_SHA256_ALGORITHM, NULL, 0) != 0) {
        return err_raise(-EIO);
    }
    if (BCryptCreateHash(provider, &hash, NULL, 0, NULL, 0, 0) == 0) {
        ok = sha256_update(hash, data) && BCryptFinishHash(hash, digest, sizeof(digest), 0) == 0;
        (void)BCryptDestroyHash(hash);
    }
    (void)BCryptCloseAlgorithmProvider(provider, 0);
    if (!ok) {
        return err_raise(-EIO);
    }
    for (size_t i = 0; i < sizeof(digest); i++) {
        ret[2 * i] = digits[digest[i] >> 4];
        ret[2 * i + 1] = digits[digest[i] & 15];
    }
    ret[TEMPLATE_SHA256_HEX] = '\0';
    return 0;
}
