#include "router/safety/token.h"

#include "base/error.h"
#include "router/safety/sha256.h"

static int token_append_uint(Bytes *out, uint64_t value, bool is_negative)
{
    char digits[21];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    if (is_negative) {
        digits[--at] = '-';
    }
    return bytes_append(out, digits + at, sizeof(digits) - at);
}

static int token_append_int(Bytes *out, int64_t value)
{
    /* Negated as unsigned: INT64_MIN has no positive twin. */
    return token_append_uint(out, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

static int token_write_text(const SafetyTokenParts *parts, Bytes *out)
{
    int r = bytes_append_span(out, SPAN(SAFETY_TOKEN_VERSION "|"));

    r = r != 0 ? r : bytes_append_span(out, parts->guid);
    r = r != 0 ? r : bytes_append_byte(out, '|');
    r = r != 0 ? r : bytes_append_span(out, parts->path);
    r = r != 0 ? r : bytes_append_byte(out, '|');
    r = r != 0 ? r : token_append_int(out, parts->view_id);
    r = r != 0 ? r : bytes_append_byte(out, '|');
    r = r != 0 ? r : token_append_uint(out, parts->revision, false);
    r = r != 0 ? r : bytes_append_byte(out, '|');
    for (size_t i = 0; i < parts->n_ids && r == 0; i++) {
        r = i == 0 ? 0 : bytes_append_byte(out, ',');
        r = r != 0 ? r : token_append_int(out, parts->ids[i]);
    }
    return r;
}

int safety_token(const SafetyTokenParts *parts, char ret[SAFETY_TOKEN_BYTES])
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    uint8_t hash[SAFETY_HASH_BYTES];
    int r;

    bytes_init(&text, SIZE_MAX);
    r = token_write_text(parts, &text);
    if (r != 0) {
        return err_fold(r);
    }
    r = safety_sha256(bytes_span(&text), hash);
    if (r != 0) {
        return err_pass(r);
    }
    safety_hex("ctx-", hash, 16, ret);
    return 0;
}
