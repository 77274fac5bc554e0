#include "e2e/stress_calls.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define MAX_TEXT_BYTES ((size_t)1024 * 1024)
#define SHORT_TEXT     600
#define LONG_TEXT      70000 /* more than a pipe holds */

typedef enum Kind {
    KIND_ECHO,
    KIND_SLEEP,
    KIND_FAIL
} Kind;

static const char *const kind_tools[] = {
    [KIND_ECHO] = "echo", [KIND_SLEEP] = "sleep", [KIND_FAIL] = "fail"};

void stress_calls_init(StressCalls *calls, uint64_t seed)
{
    *calls = (StressCalls){.seed = seed};
    bytes_init(&calls->text, MAX_TEXT_BYTES);
}

void stress_calls_deinit(StressCalls *calls)
{
    bytes_deinit(&calls->text);
}

/* SplitMix64. */
uint64_t stress_calls_random(const StressCalls *calls, uint64_t a, uint64_t b)
{
    uint64_t x = calls->seed + ((a << 32 | b) + 1) * 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static Kind call_kind(uint64_t random)
{
    static const Kind kinds[] = {KIND_ECHO, KIND_ECHO,  KIND_ECHO,  KIND_ECHO,
                                 KIND_ECHO, KIND_SLEEP, KIND_SLEEP, KIND_FAIL};

    return kinds[random % TW_ARRAY_SIZE(kinds)];
}

static int call_sleep_ms(uint64_t random)
{
    return (int)(random >> 8 & 1);
}

static void append(Bytes *b, const char *text)
{
    assert_int_equal(bytes_append(b, text, strlen(text)), 0);
}

/* The JSON string that a call sends and must get back, byte for byte. */
static void compose_text(StressCalls *calls, size_t bridge, size_t seq, uint64_t random)
{
    static const char *const pieces[] = {"\\n",      "\\\"", "\\u00e9", "\xe4\xb8\xad", "a",
                                         "toolwire", "0.10", " ",       "{\\\\}"};
    size_t n = (random >> 16 & 255) == 0 ? LONG_TEXT : (random >> 24) % SHORT_TEXT;

    bytes_clear(&calls->text);
    assert_int_equal(bytes_append_format(&calls->text, "\"%zu.%zu:", bridge, seq), 0);
    while (calls->text.n < n) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        append(&calls->text, pieces[(random >> 33) % TW_ARRAY_SIZE(pieces)]);
    }
    append(&calls->text, "\"");
}

void stress_calls_ask(StressCalls *calls, Bytes *out, size_t bridge, size_t seq, bool is_modern)
{
    static const char meta[] =
        ",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"version\":\"1\"},"
        "\"io.modelcontextprotocol/clientCapabilities\":{}}";
    uint64_t random = stress_calls_random(calls, bridge, seq);
    Kind kind = call_kind(random);

    assert_int_equal(bytes_append_format(out,
                                         "{\"jsonrpc\":\"2.0\",\"id\":\"%zu.%zu\",\"method\":"
                                         "\"tools/call\",\"params\":{\"name\":\"%s\","
                                         "\"arguments\":{",
                                         bridge, seq, kind_tools[kind]),
                     0);
    if (kind == KIND_SLEEP) {
        assert_int_equal(bytes_append_format(out, "\"ms\":%d}", call_sleep_ms(random)), 0);
    } else {
        compose_text(calls, bridge, seq, random);
        append(out, "\"message\":");
        assert_int_equal(bytes_append_span(out, bytes_span(&calls->text)), 0);
        append(out, "}");
    }
    append(out, is_modern ? meta : "");
    append(out, "}}\n");
}

bool stress_calls_seq(JsonValue answer, size_t bridge, size_t *ret_seq)
{
    char expected[48];
    const char *dot;
    JsonValue id;
    Span text;

    if (!json_get(answer, SPAN("id"), &id) || !json_string_plain(id, &text) ||
        (dot = memchr(text.p, '.', text.n)) == NULL) {
        return false;
    }
    *ret_seq = strtoul(dot + 1, NULL, 10); /* a quote follows the digits */
    (void)snprintf(expected, sizeof(expected), "%zu.%zu", bridge, *ret_seq);
    return span_equals(text, span_from_str(expected));
}

/* The text of the one content, with its quotes; false if there is another, or none. */
static bool answer_text(JsonValue root, Span *ret_text, bool *ret_is_error)
{
    JsonValue result;
    JsonValue content;
    JsonValue first;
    JsonValue text;
    JsonValue is_error;

    if (!json_get(root, SPAN("result"), &result) || !json_get(result, SPAN("content"), &content) ||
        json_count(content) != 1 || !json_at(content, 0, &first) ||
        !json_get(first, SPAN("text"), &text)) {
        return false;
    }
    *ret_is_error = false;
    *ret_text = json_span(text);
    return !json_get(result, SPAN("isError"), &is_error) || json_bool(is_error, ret_is_error);
}

bool stress_calls_is_right(StressCalls *calls, JsonValue answer, size_t bridge, size_t seq)
{
    uint64_t random = stress_calls_random(calls, bridge, seq);
    Kind kind = call_kind(random);
    bool is_error;
    Span text;

    if (!answer_text(answer, &text, &is_error)) {
        return false;
    }
    if (kind == KIND_SLEEP) {
        bytes_clear(&calls->text);
        assert_int_equal(
            bytes_append_format(&calls->text, "\"slept %d ms\"", call_sleep_ms(random)), 0);
    } else {
        compose_text(calls, bridge, seq, random);
    }
    return span_equals(text, bytes_span(&calls->text)) && is_error == (kind == KIND_FAIL);
}
