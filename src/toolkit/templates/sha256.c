/* OpenSSL's SHA-256 by its own functions, not by EVP, for the reason in router/seal.c: EVP has all
 * of the library relocated at every start. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "toolkit/templates/sha256.h"

#include <openssl/sha.h>

#include "base/error.h"

int template_sha256(Span data, char ret[TEMPLATE_SHA256_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[SHA256_DIGEST_LENGTH];
    SHA256_CTX hash;

    if (SHA256_Init(&hash) != 1 || (data.n > 0 && SHA256_Update(&hash, data.p, data.n) != 1) ||
        SHA256_Final(digest, &hash) != 1) {
        return err_raise(-EIO);
    }
    for (size_t i = 0; i < sizeof(digest); i++) {
        ret[2 * i] = digits[digest[i] >> 4];
        ret[2 * i + 1] = digits[digest[i] & 15];
    }
    ret[TEMPLATE_SHA256_HEX] = '\0';
    return 0;
}
