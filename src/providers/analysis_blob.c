/* Whether a file is a blob of git (analysis_impl.h).
 *
 * Git would have to compare the work tree itself, and it runs the filters that a repository's
 * settings name for that. Here the bytes of the file are hashed as git hashes a blob: "blob", the
 * length, a NUL, and the content, with SHA-1 or SHA-256 as the length of the id says. SHA-1 is good
 * enough to find what it was used to name; nothing is trusted because of it. */
#include <string.h>

#include "base/error.h"
#include "providers/analysis_impl.h"
#include "toolkit/templates/sha256.h"

#define BLOB_SHA1_HEX   40
#define BLOB_BLOCK_SIZE 64

static uint32_t blob_roll(uint32_t x, unsigned n)
{
    return (x << n) | (x >> (32 - n));
}

/* One block of SHA-1 (FIPS 180-4, 6.1.2). */
static void blob_block(uint32_t state[5], const unsigned char *p)
{
    uint32_t w[80];
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];

    for (size_t i = 0; i < 16; i++) {
        w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
               (uint32_t)p[4 * i + 2] << 8 | (uint32_t)p[4 * i + 3];
    }
    for (size_t i = 16; i < 80; i++) {
        w[i] = blob_roll(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    }
    for (size_t i = 0; i < 80; i++) {
        uint32_t f = i < 20   ? ((b & c) | (~b & d)) + 0x5A827999U
                     : i < 40 ? (b ^ c ^ d) + 0x6ED9EBA1U
                     : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDCU
                              : (b ^ c ^ d) + 0xCA62C1D6U;
        uint32_t next = blob_roll(a, 5) + f + e + w[i];

        e = d;
        d = c;
        c = blob_roll(b, 30);
        b = a;
        a = next;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
}

static void blob_sha1(Span data, char ret[BLOB_SHA1_HEX + 1])
{
    static const char digits[] = "0123456789abcdef";
    uint32_t state[5] = {0x67452301U, 0xEFCDAB89U, 0x98BADCFEU, 0x10325476U, 0xC3D2E1F0U};
    const unsigned char *p = (const unsigned char *)data.p;
    unsigned char tail[2 * BLOB_BLOCK_SIZE] = {0};
    size_t n_tail = data.n % BLOB_BLOCK_SIZE;
    size_t n_all = n_tail + 9 <= BLOB_BLOCK_SIZE ? BLOB_BLOCK_SIZE : 2 * BLOB_BLOCK_SIZE;
    uint64_t n_bits = (uint64_t)data.n * 8;

    for (size_t i = 0; i + BLOB_BLOCK_SIZE <= data.n; i += BLOB_BLOCK_SIZE) {
        blob_block(state, p + i);
    }
    if (n_tail > 0) {
        memcpy(tail, p + data.n - n_tail, n_tail);
    }
    tail[n_tail] = 0x80;
    for (size_t i = 0; i < 8; i++) {
        tail[n_all - 1 - i] = (unsigned char)(n_bits >> (8 * i));
    }
    for (size_t i = 0; i < n_all; i += BLOB_BLOCK_SIZE) {
        blob_block(state, tail + i);
    }
    for (size_t i = 0; i < BLOB_SHA1_HEX; i++) {
        ret[i] = digits[state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    }
    ret[BLOB_SHA1_HEX] = '\0';
}

/* How often a line ends with CR LF. */
static size_t blob_count_crlf(Span text)
{
    const char *at = text.p;
    const char *end = text.p + text.n;
    size_t n = 0;

    while (at != end && (at = memchr(at, '\r', (size_t)(end - at))) != NULL) {
        at++;
        n += at != end && *at == '\n';
    }
    return n;
}

static int blob_append_without_cr(Bytes *out, Span text)
{
    int r = 0;

    for (size_t from = 0; r == 0 && from < text.n;) {
        const char *cr = memchr(text.p + from, '\r', text.n - from);
        size_t to = cr == NULL ? text.n : (size_t)(cr - text.p);
        bool is_end = to + 1 < text.n && text.p[to + 1] == '\n';

        to += cr != NULL && !is_end; /* a CR of its own stays */
        r = bytes_append(out, text.p + from, to - from);
        from = to + is_end;
    }
    return r;
}

/* *ret: has the text, with n_crlf fewer bytes if that is not 0, this id? */
static int blob_check(Span text, size_t n_crlf, Span id, Bytes *scratch, bool *ret)
{
    char hex[TEMPLATE_SHA256_HEX + 1] = "";
    int r;

    bytes_clear(scratch);
    r = bytes_append_format(scratch, "blob %zu%c", text.n - n_crlf, 0);
    if (r == 0) {
        r = n_crlf > 0 ? blob_append_without_cr(scratch, text) : bytes_append_span(scratch, text);
    }
    if (r != 0) {
        return err_fold(r);
    }
    if (id.n == BLOB_SHA1_HEX) {
        blob_sha1(bytes_span(scratch), hex);
    } else if (id.n == TEMPLATE_SHA256_HEX) {
        r = template_sha256(bytes_span(scratch), hex);
    }
    *ret = r == 0 && span_equals(id, span_from_str(hex));
    return r;
}

int analysis_blob_is(Span text, Span id, Bytes *scratch, bool *ret)
{
    int r = blob_check(text, 0, id, scratch, ret);

    if (r == 0 && !*ret) {
        size_t n_crlf = blob_count_crlf(text);

        r = n_crlf > 0 ? blob_check(text, n_crlf, id, scratch, ret) : 0;
    }
    return r;
}
