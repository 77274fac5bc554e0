/* By OpenSSL's own functions of the digest and not by EVP: router/seal.c says why. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "router/safety/sha256.h"

#include <openssl/sha.h>

#include "base/error.h"

int safety_sha256(Span text, uint8_t ret[SAFETY_HASH_BYTES])
{
    SHA256_CTX hash;

    if (SHA256_Init(&hash) != 1 || (text.n > 0 && SHA256_Update(&hash, text.p, text.n) != 1) ||
        SHA256_Final(ret, &hash) != 1) {
        return err_raise(-EIO);
    }
    return 0;
}
