#include "app/audit_line.h"

#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/rfc3339.h"
#include "base/utf8.h"
#include "json/writer.h"

/* ---- the line ---- */

static void line_string(JsonWriter *w, const char *key, Span value)
{
    json_write_key(w, span_from_str(key));
    json_write_string(w, value);
}

static void line_count(JsonWriter *w, const char *key, uint64_t value)
{
    json_write_key(w, span_from_str(key));
    json_write_uint(w, value);
}

static void line_time(JsonWriter *w, int64_t now_ms)
{
    char text[RFC3339_SIZE];

    rfc3339_format(now_ms, text);
    line_string(w, "time", span_from_str(text));
}

/* The beginning of a text that a peer chose the length of. */
static Span line_cut(Span text)
{
    size_t n = text.n;

    if (n <= LIMIT_AUDIT_TARGET_BYTES) {
        return text;
    }
    n = LIMIT_AUDIT_TARGET_BYTES;
    while (n > 0 && (utf8_byte(text.p + n) & 0xC0) == 0x80) {
        n--;
    }
    return span_make(text.p, n);
}

static void line_error(JsonWriter *w, const CallResult *result)
{
    if (result == NULL || result->kind != CALL_RESULT_ERROR) {
        return;
    }
    line_string(w, "error", span_from_str(call_error_names[result->error]));
    if (call_result_has_code(result)) {
        json_write_key(w, SPAN("code"));
        json_write_int(w, result->wire_code);
    }
}

static void line_arguments(JsonWriter *w, const Call *call, const AuditEnd *end)
{
    if (call->asked_text.n > 0) {
        json_write_key(w, SPAN("arguments"));
        json_write_raw(w, call->asked_text);
    } else if (end->bytes_in > 0) {
        json_write_key(w, SPAN("arguments_left_out"));
        json_write_bool(w, true);
    }
}

/* Ends the object and the line. */
static int line_finish(JsonWriter *w, Bytes *out, size_t n_before)
{
    int r;

    json_write_end_object(w);
    r = json_writer_finish(w);
    if (r == 0) {
        r = bytes_append_byte(out, '\n');
    }
    if (r != 0) {
        out->n = n_before;
    }
    return r;
}

int audit_line_write(Bytes *out, int64_t now_ms, const Call *call, const CallResult *result,
                     const AuditEnd *end, bool has_arguments, uint64_t n_dropped)
{
    size_t n_before = out->n;
    const CallAsker *asker = call->asker;
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    line_time(&w, now_ms);
    line_string(&w, "who", asker != NULL ? line_cut(span_from_str(asker->who)) : SPAN(""));
    line_string(&w, "dialect", asker != NULL ? span_from_str(asker->dialect) : SPAN("none"));
    line_string(&w, "provider", span_from_str(end->provider));
    line_string(&w, "verb", span_from_str(end->verb));
    line_string(&w, "target", line_cut(call->target));
    line_string(&w, "outcome", span_from_str(end->outcome));
    line_error(&w, result);
    json_write_key(&w, SPAN("duration_ms"));
    /* Whole microseconds: more digits say nothing. */
    json_write_double(&w, (double)(end->duration_ns / 1000) / 1000.0);
    line_count(&w, "bytes_in", end->bytes_in);
    line_count(&w, "bytes_out", end->bytes_out);
    if (has_arguments) {
        line_arguments(&w, call, end);
    }
    if (n_dropped > 0) {
        line_count(&w, "dropped", n_dropped);
    }
    return line_finish(&w, out, n_before);
}

int audit_line_write_dropped(Bytes *out, int64_t now_ms, uint64_t n_dropped)
{
    size_t n_before = out->n;
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    line_time(&w, now_ms);
    line_count(&w, "dropped", n_dropped);
    return line_finish(&w, out, n_before);
}

/* ---- secrets ---- */

#define MASK_TEXT "\"***\""

/* A name that must be decoded and is longer is taken for a secret. */
#define MASK_NAME_BYTES 256

static char mask_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* word: lower case. */
static bool mask_has_word(Span name, Span word)
{
    for (size_t i = 0; i + word.n <= name.n; i++) {
        size_t k = 0;

        while (k < word.n && mask_lower(name.p[i + k]) == word.p[k]) {
            k++;
        }
        if (k == word.n) {
            return true;
        }
    }
    return false;
}

bool audit_is_secret(Span name)
{
    static const Span words[] = {
        SPAN_INIT("token"),      SPAN_INIT("password"), SPAN_INIT("passwd"),
        SPAN_INIT("passphrase"), SPAN_INIT("secret"),   SPAN_INIT("key"),
        SPAN_INIT("credential"), SPAN_INIT("cookie"),   SPAN_INIT("authorization"),
    };

    for (size_t i = 0; i < TW_ARRAY_SIZE(words); i++) {
        if (mask_has_word(name, words[i])) {
            return true;
        }
    }
    return false;
}

static bool mask_is_secret_key(JsonValue key)
{
    char decoded[MASK_NAME_BYTES];
    Span name;

    if (json_string_plain(key, &name)) {
        return audit_is_secret(name);
    }
    if (key.node->size > sizeof(decoded)) {
        return true;
    }
    return audit_is_secret(span_make(decoded, json_string_decode(key, decoded)));
}

static bool mask_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Is the string at node the name of a member? Only behind a name comes a colon. */
static bool mask_is_key(JsonValue value, const JsonNode *node)
{
    const char *p = value.text + node->start + node->size;

    if ((node->tag & JSON_NODE_KIND_MASK) != JSON_STRING) {
        return false;
    }
    while (mask_is_space(*p)) {
        p++;
    }
    return *p == ':';
}

/* Appends text, which begins and ends outside of strings, without its white space. */
static int mask_copy(Bytes *out, Span text)
{
    bool in_string = false;
    size_t start = 0;
    int r = 0;

    for (size_t i = 0; i < text.n && r == 0; i++) {
        if (in_string && text.p[i] == '\\') {
            i++; /* whatever it is, it ends no string */
        } else if (text.p[i] == '"') {
            in_string = !in_string;
        } else if (!in_string && mask_is_space(text.p[i])) {
            r = bytes_append(out, text.p + start, i - start);
            start = i + 1;
        }
    }
    return r != 0 ? r : bytes_append(out, text.p + start, text.n - start);
}

int audit_mask(Bytes *out, JsonValue value)
{
    const JsonNode *end = value.node + value.node->skip;
    const char *text_end = value.text + value.node->start + value.node->size;
    const char *from = value.text + value.node->start;
    size_t n_before = out->n;
    int r = 0;

    for (const JsonNode *node = value.node + 1; node < end && r == 0; node++) {
        if (mask_is_key(value, node) && mask_is_secret_key((JsonValue){value.text, node})) {
            const JsonNode *hidden = node + 1;
            const char *p = value.text + hidden->start;

            r = mask_copy(out, span_make(from, (size_t)(p - from)));
            if (r == 0) {
                r = bytes_append_span(out, SPAN(MASK_TEXT));
            }
            from = p + hidden->size;
            node += hidden->skip;
        }
    }
    if (r == 0) {
        r = mask_copy(out, span_make(from, (size_t)(text_end - from)));
    }
    if (r != 0) {
        out->n = n_before;
    }
    return r;
}
