/* HMAC (RFC 2104) over OpenSSL's SHA-256.
 *
 * The digest's own functions are used and not EVP, on purpose: EVP brings the whole library with
 * it, 350 KiB of it to be relocated at every start, which costs a short-lived server more time than
 * its first answer. OpenSSL 3 calls them deprecated, since one cannot exchange the algorithm
 * through them; we want exactly this one.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "router/seal.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/error.h"
#include "base/random.h"

#define SEAL_BLOCK_BYTES 64

int router_seal_key_init(RouterSealKey *ret)
{
    RouterSealKey key;
    int r = random_fill(key.bytes, sizeof(key.bytes));

    if (r != 0) {
        return err_pass(r);
    }
    *ret = key;
    OPENSSL_cleanse(&key, sizeof(key));
    return 0;
}

/* Begins one of the two hashes of an HMAC: the key, a block long, each byte changed by pad. */
static bool seal_begin(SHA256_CTX *hash, const RouterSealKey *key, uint8_t pad)
{
    uint8_t block[SEAL_BLOCK_BYTES];
    bool ok;

    memset(block, pad, sizeof(block));
    for (size_t i = 0; i < sizeof(key->bytes); i++) {
        block[i] ^= key->bytes[i];
    }
    ok = SHA256_Init(hash) == 1 && SHA256_Update(hash, block, sizeof(block)) == 1;
    OPENSSL_cleanse(block, sizeof(block));
    return ok;
}

static bool seal_update(SHA256_CTX *hash, Span piece, bool with_length)
{
    uint8_t length[8];

    for (size_t i = 0; i < sizeof(length); i++) {
        length[i] = (uint8_t)((uint64_t)piece.n >> (56 - 8 * i));
    }
    if (with_length && SHA256_Update(hash, length, sizeof(length)) != 1) {
        return false;
    }
    return piece.n == 0 || SHA256_Update(hash, piece.p, piece.n) == 1;
}

static bool seal_run(SHA256_CTX *hash, const RouterSealKey *key, const Span *pieces, size_t n,
                     bool with_lengths, uint8_t ret_code[ROUTER_SEAL_BYTES])
{
    uint8_t inner[ROUTER_SEAL_BYTES];

    if (!seal_begin(hash, key, 0x36)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!seal_update(hash, pieces[i], with_lengths)) {
            return false;
        }
    }
    return SHA256_Final(inner, hash) == 1 && seal_begin(hash, key, 0x5c) &&
           SHA256_Update(hash, inner, sizeof(inner)) == 1 && SHA256_Final(ret_code, hash) == 1;
}

static int seal_code(const RouterSealKey *key, const Span *pieces, size_t n, bool with_lengths,
                     uint8_t ret_code[ROUTER_SEAL_BYTES])
{
    uint8_t code[ROUTER_SEAL_BYTES];
    SHA256_CTX hash;
    bool ok = seal_run(&hash, key, pieces, n, with_lengths, code);

    OPENSSL_cleanse(&hash, sizeof(hash));
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
    return CRYPTO_memcmp(a, b, ROUTER_SEAL_BYTES) == 0;
}
