#include "oauth/assertion.h"

#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/limits.h"
#include "router/safety/sha256.h"
#include "json/writer.h"

/* An assertion is used at once; clocks differ by minutes. */
#define ASSERTION_LIFE_S 300

int oauth_hash(Bytes *out, Span text)
{
    uint8_t hash[SAFETY_HASH_BYTES];
    int r = safety_sha256(text, hash);

    if (r != 0) {
        return err_pass(r);
    }
    return base64_encode(out, BASE64_URL, span_make((const char *)hash, sizeof(hash)));
}

static void assertion_member(JsonWriter *w, const char *name, Span value)
{
    if (value.n > 0) {
        json_write_key(w, span_from_str(name));
        json_write_string(w, value);
    }
}

static void assertion_number(JsonWriter *w, const char *name, int64_t value)
{
    json_write_key(w, span_from_str(name));
    json_write_int(w, value);
}

/* HEADER.PAYLOAD.SIGNATURE of two JSON texts. */
static int assertion_seal(Bytes *out, const OauthKey *key, Span header, Span payload)
{
    size_t start = out->n;
    Bytes signature;
    int r = base64_encode(out, BASE64_URL, header);

    bytes_init(&signature, LIMIT_OAUTH_TOKEN_BYTES);
    if (r == 0) {
        r = bytes_append_byte(out, '.');
    }
    if (r == 0) {
        r = base64_encode(out, BASE64_URL, payload);
    }
    if (r == 0) {
        r = oauth_key_sign(key, span_make(out->data + start, out->n - start), &signature);
    }
    if (r == 0) {
        r = bytes_append_byte(out, '.');
    }
    if (r == 0) {
        r = base64_encode(out, BASE64_URL, bytes_span(&signature));
    }
    if (r != 0) {
        out->n = start;
    }
    bytes_deinit(&signature);
    return r;
}

typedef struct AssertionTexts {
    Bytes header;
    Bytes payload;
} AssertionTexts;

static void assertion_init(AssertionTexts *texts)
{
    bytes_init(&texts->header, LIMIT_OAUTH_TOKEN_BYTES);
    bytes_init(&texts->payload, LIMIT_OAUTH_TOKEN_BYTES);
}

static void assertion_deinit(AssertionTexts *texts)
{
    bytes_deinit(&texts->header);
    bytes_deinit(&texts->payload);
}

int oauth_assertion_client(Bytes *out, const OauthKey *key, Span client_id, Span audience, Span id,
                           int64_t now_s)
{
    AssertionTexts texts;
    JsonWriter w;
    int r;

    assertion_init(&texts);
    r = bytes_append_format(&texts.header, "{\"alg\":\"%s\",\"typ\":\"JWT\"}", oauth_key_alg(key));
    json_writer_init(&w, &texts.payload, JSON_STYLE_COMPACT);
    json_write_object(&w);
    assertion_member(&w, "iss", client_id);
    assertion_member(&w, "sub", client_id);
    assertion_member(&w, "aud", audience);
    assertion_member(&w, "jti", id);
    assertion_number(&w, "iat", now_s);
    assertion_number(&w, "exp", now_s + ASSERTION_LIFE_S);
    json_write_end_object(&w);
    if (r == 0) {
        r = json_writer_finish(&w);
    }
    if (r == 0) {
        r = assertion_seal(out, key, bytes_span(&texts.header), bytes_span(&texts.payload));
    }
    assertion_deinit(&texts);
    return r;
}

static int assertion_dpop_header(Bytes *out, const OauthKey *key)
{
    int r = bytes_append_span(out, SPAN("{\"alg\":\"ES256\",\"typ\":\"dpop+jwt\",\"jwk\":"));

    if (r == 0) {
        r = oauth_key_jwk(key, out);
    }
    return r == 0 ? bytes_append_byte(out, '}') : r;
}

int oauth_assertion_dpop(Bytes *out, const OauthKey *key, const OauthProof *proof, int64_t now_s)
{
    AssertionTexts texts;
    JsonWriter w;
    Span url = proof->url;
    Bytes hash;
    int r;

    for (size_t i = 0; i < url.n; i++) {
        if (url.p[i] == '?' || url.p[i] == '#') {
            url.n = i;
        }
    }
    bytes_init(&hash, LIMIT_OAUTH_TOKEN_BYTES);
    assertion_init(&texts);
    r = assertion_dpop_header(&texts.header, key);
    if (r == 0 && proof->token.n > 0) {
        r = oauth_hash(&hash, proof->token);
    }
    json_writer_init(&w, &texts.payload, JSON_STYLE_COMPACT);
    json_write_object(&w);
    assertion_member(&w, "jti", proof->id);
    assertion_member(&w, "htm", proof->method);
    assertion_member(&w, "htu", url);
    assertion_number(&w, "iat", now_s);
    assertion_member(&w, "ath", bytes_span(&hash));
    assertion_member(&w, "nonce", proof->nonce);
    json_write_end_object(&w);
    if (r == 0) {
        r = json_writer_finish(&w);
    }
    if (r == 0) {
        r = assertion_seal(out, key, bytes_span(&texts.header), bytes_span(&texts.payload));
    }
    bytes_deinit(&hash);
    assertion_deinit(&texts);
    return r;
}
