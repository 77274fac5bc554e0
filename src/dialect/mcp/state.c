/* What is encoded, numbers in network order:
 *
 *     1 byte     version
 *     8 bytes    expiry, ms
 *     4 bytes    length of what was asked
 *     4 bytes    length of the answers
 *     …          what was asked, the answers, the provider's state
 *     32 bytes   code
 */
#include "dialect/mcp/state.h"

#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/writer.h"

#define STATE_VERSION    2
#define STATE_HEAD_BYTES 17
#define STATE_CODE_BYTES 32

/* How long each of the four texts under the code is. */
#define STATE_LENGTHS_BYTES 32

/* What the parts may take together: base64 makes four letters of three bytes. */
#define STATE_MAX_TEXTS (LIMIT_MCP_STATE_BYTES / 4 * 3 - STATE_HEAD_BYTES - STATE_CODE_BYTES)

static void put_be(uint8_t *at, size_t n, uint64_t value)
{
    for (size_t i = 0; i < n; i++) {
        at[n - 1 - i] = (uint8_t)(value >> (8 * i));
    }
}

static uint64_t get_be(const char *at, size_t n)
{
    uint64_t value = 0;

    for (size_t i = 0; i < n; i++) {
        value = value << 8 | (uint8_t)at[i];
    }
    return value;
}

/* The arguments without white space, so that a client may write them anew; none and {} are the
 * same. */
static int compact_arguments(Bytes *out, JsonValue arguments)
{
    JsonWriter w;

    if (arguments.node == NULL || json_count(arguments) == 0) {
        return 0;
    }
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_value(&w, arguments);
    return json_writer_finish(&w);
}

/* The code over body (all before the code) and what it is bound to. The lengths come first, so
 * that no byte can move from one text to the next, whatever the sealer does. 0, -ENOMEM, -EIO,
 * BYTES_E_FULL. */
static int state_code(const McpSealer *sealer, const McpStateBinding *binding, Span body,
                      uint8_t ret_code[STATE_CODE_BYTES])
{
    CLEANUP(bytes_deinit) Bytes arguments = BYTES_NULL;
    uint8_t lengths[STATE_LENGTHS_BYTES];
    int r;

    bytes_init(&arguments, LIMIT_JSON_BYTES);
    r = compact_arguments(&arguments, binding->arguments);
    if (r != 0) {
        return r;
    }
    put_be(lengths, 8, body.n);
    put_be(lengths + 8, 8, binding->method.n);
    put_be(lengths + 16, 8, binding->target.n);
    put_be(lengths + 24, 8, arguments.n);
    {
        const Span pieces[] = {
            span_make((const char *)lengths, sizeof(lengths)),
            body,
            binding->method,
            binding->target,
            bytes_span(&arguments),
        };

        return sealer->seal(sealer->context, pieces, TW_ARRAY_SIZE(pieces), ret_code);
    }
}

static char *put_span(char *at, Span span)
{
    if (span.n > 0) {
        memcpy(at, span.p, span.n);
    }
    return at + span.n;
}

/* Everything before the code into raw, which has room for it. */
static size_t state_body(char *raw, int64_t expires_ms, const McpStateParts *parts)
{
    uint8_t head[STATE_HEAD_BYTES];
    char *at;

    head[0] = STATE_VERSION;
    put_be(head + 1, 8, (uint64_t)expires_ms);
    put_be(head + 9, 4, parts->asked.n);
    put_be(head + 13, 4, parts->answers.n);
    at = put_span(raw, span_make((const char *)head, sizeof(head)));
    at = put_span(at, parts->asked);
    at = put_span(at, parts->answers);
    at = put_span(at, parts->own);
    return (size_t)(at - raw);
}

int mcp_state_seal(Bytes *out, Arena *scratch, const McpSealer *sealer,
                   const McpStateBinding *binding, int64_t expires_ms, const McpStateParts *parts)
{
    uint8_t code[STATE_CODE_BYTES];
    size_t left = STATE_MAX_TEXTS;
    const Span texts[] = {parts->asked, parts->answers, parts->own};
    char *raw;
    size_t n;
    int r;

    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        if (texts[i].n > left) {
            return MCP_STATE_E_TOO_LARGE;
        }
        left -= texts[i].n;
    }
    raw = arena_alloc(scratch, STATE_HEAD_BYTES + (STATE_MAX_TEXTS - left) + STATE_CODE_BYTES);
    if (raw == NULL) {
        return err_raise(-ENOMEM);
    }
    n = state_body(raw, expires_ms, parts);
    r = state_code(sealer, binding, span_make(raw, n), code);
    if (r == 0) {
        memcpy(raw + n, code, sizeof(code));
        r = base64_encode(out, BASE64_URL, span_make(raw, n + sizeof(code)));
    }
    return r == BYTES_E_FULL ? MCP_STATE_E_TOO_LARGE : err_pass(r);
}

/* In a time that does not depend on where they differ. */
static bool code_equals(const uint8_t *a, const char *b)
{
    unsigned difference = 0;

    for (size_t i = 0; i < STATE_CODE_BYTES; i++) {
        difference |= (unsigned)(a[i] ^ (uint8_t)b[i]);
    }
    /* The compiler must not end the loop early for knowing what the sum is used for. */
    TW_OPAQUE(difference);
    return difference == 0;
}

/* Takes apart what has proved to be ours. */
static int state_take(Arena *arena, Span body, int64_t now_ms, McpStateParts *ret)
{
    uint64_t n_asked = get_be(body.p + 9, 4);
    uint64_t n_answers = get_be(body.p + 13, 4);
    uint64_t n_texts = body.n - STATE_HEAD_BYTES;
    McpStateParts parts;
    Span texts;

    if (body.p[0] != STATE_VERSION || n_asked > n_texts || n_answers > n_texts - n_asked) {
        return MCP_STATE_E_FORGED;
    }
    if (now_ms >= (int64_t)get_be(body.p + 1, 8)) {
        return MCP_STATE_E_EXPIRED;
    }
    texts = arena_copy(arena, span_make(body.p + STATE_HEAD_BYTES, (size_t)n_texts));
    if (texts.p == NULL) {
        return err_raise(-ENOMEM);
    }
    parts.asked = span_make(texts.p, (size_t)n_asked);
    parts.answers = span_make(texts.p + n_asked, (size_t)n_answers);
    parts.own = span_make(texts.p + n_asked + n_answers, (size_t)(n_texts - n_asked - n_answers));
    *ret = parts;
    return 0;
}

int mcp_state_open(Arena *arena, const McpSealer *sealer, const McpStateBinding *binding,
                   int64_t now_ms, Span text, McpStateParts *ret)
{
    CLEANUP(bytes_deinit) Bytes raw = BYTES_NULL;
    uint8_t code[STATE_CODE_BYTES];
    Span body;
    int r;

    if (text.n > LIMIT_MCP_STATE_BYTES) {
        return MCP_STATE_E_TOO_LARGE;
    }
    bytes_init(&raw, LIMIT_MCP_STATE_BYTES);
    r = base64_decode(&raw, BASE64_URL, text);
    if (r < 0) {
        return err_pass(r);
    }
    if (r > 0 || raw.n < STATE_HEAD_BYTES + STATE_CODE_BYTES) {
        return MCP_STATE_E_FORGED;
    }
    body = span_make(raw.data, raw.n - STATE_CODE_BYTES);
    r = state_code(sealer, binding, body, code);
    if (r != 0) {
        return err_fold(r);
    }
    if (!code_equals(code, raw.data + body.n)) {
        return MCP_STATE_E_FORGED;
    }
    return state_take(arena, body, now_ms, ret);
}
