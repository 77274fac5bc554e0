/* What a provider answered, to an envelope. */
#include "call/envelope_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/writer.h"

/* JSON in a text is taken for JSON up to this depth: it is put one level deeper. */
static const JsonLimits text_limits = {.max_depth = LIMIT_RESULT_DEPTH};

/* Appends `"name":value` to own. */
static int result_add(Envelope *ret, const char *name, Span value, Arena *arena)
{
    Span member;
    char *joined;
    int r = envelope_make_member(name, value, arena, &member);

    if (r != 0 || ret->own.n == 0) {
        ret->own = r == 0 ? member : ret->own;
        return err_pass(r);
    }
    joined = arena_alloc(arena, ret->own.n + 1 + member.n);
    if (joined == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(joined, ret->own.p, ret->own.n);
    joined[ret->own.n] = ',';
    memcpy(joined + ret->own.n + 1, member.p, member.n);
    ret->own = span_make(joined, ret->own.n + 1 + member.n);
    return 0;
}

static int result_add_number(Envelope *ret, const char *name, int64_t number, Arena *arena)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%lld", (long long)number);
    return result_add(ret, name, span_from_str(text), arena);
}

/* Text as JSON. */
static int result_add_text(Envelope *ret, const char *name, Span text, Arena *arena)
{
    CLEANUP(bytes_deinit) Bytes json = BYTES_NULL;
    JsonWriter w;
    int r;

    bytes_init(&json, LIMIT_JSON_BYTES);
    json_writer_init(&w, &json, JSON_STYLE_COMPACT);
    json_write_exact(&w, text);
    r = json_writer_finish(&w);
    return r != 0 ? err_fold(r) : result_add(ret, name, bytes_span(&json), arena);
}

/* Is the data of an error an envelope? Then *ret is that. */
static int result_read_data(Span data, Arena *arena, bool *ret_is_envelope, Envelope *ret)
{
    JsonDoc doc;
    JsonValue ok;
    int r;

    *ret_is_envelope = false;
    if (data.n == 0 || data.p[0] != '{') {
        return 0;
    }
    r = json_parse(&doc, arena, data.p, data.n, NULL, NULL);
    if (r != 0) {
        return r > 0 ? 0 : err_pass(r);
    }
    if (!json_get(json_root(&doc), SPAN("ok"), &ok)) {
        return 0;
    }
    *ret_is_envelope = true;
    return err_pass(envelope_read(json_root(&doc), arena, ret));
}

static int result_of_error(const CallResult *result, Arena *arena, Envelope *ret)
{
    bool is_envelope = false;
    int r = 0;

    if (result->error == CALL_ERROR_OWN || result->error == CALL_ERROR_UNKNOWN_TOOL) {
        r = result_read_data(result->data, arena, &is_envelope, ret);
    }
    if (r != 0) {
        return err_pass(r);
    }
    envelope_set_failed(ret);
    if (is_envelope) {
        return 0;
    }
    ret->code = span_from_str(envelope_code_name(envelope_code_of(result->error)));
    ret->message =
        result->message.n > 0 ? result->message : span_from_str(call_error_text(result->error));
    if (result->data.n > 0) {
        r = result_add(ret, "data", result->data, arena);
    }
    if (r == 0 && result->error_type.n > 0) {
        r = result_add_text(ret, "errorType", result->error_type, arena);
    }
    if (r == 0 && call_result_has_code(result)) {
        r = result_add_number(ret, "errorNumber", result->wire_code, arena);
    }
    if (r == 0 && result->retry_after_ms > 0) {
        r = result_add_number(ret, "retryAfterMs", result->retry_after_ms, arena);
    }
    return err_pass(r);
}

/* The content as an array. */
static int result_content(const CallResult *result, Arena *arena, JsonValue *ret)
{
    size_t n = 2;
    size_t at = 1;
    JsonDoc doc;
    char *text;
    int r;

    for (size_t i = 0; i < result->n_pieces; i++) {
        n += result->pieces[i].n;
    }
    text = arena_alloc(arena, n);
    if (text == NULL) {
        return err_raise(-ENOMEM);
    }
    text[0] = '[';
    for (size_t i = 0; i < result->n_pieces; i++) {
        if (result->pieces[i].n > 0) {
            memcpy(text + at, result->pieces[i].p, result->pieces[i].n);
        }
        at += result->pieces[i].n;
    }
    text[at] = ']';
    r = json_parse(&doc, arena, text, n, NULL, NULL);
    *ret = r == 0 ? json_root(&doc) : JSON_VALUE_NULL;
    return r < 0 ? err_pass(r) : 0;
}

/* The text of a text block. */
static bool result_block_text(JsonValue block, JsonValue *ret)
{
    JsonValue type;

    return json_get(block, SPAN("type"), &type) && json_string_equals(type, SPAN("text")) &&
           json_get(block, SPAN("text"), ret) && json_kind(*ret) == JSON_STRING;
}

/* The texts of all text blocks, one a line. p NULL: there is none. */
static int result_text(JsonValue content, Arena *arena, Span *ret)
{
    size_t n = 0;
    size_t at = 0;
    bool is_first = true;
    char *text;
    JsonValue value;

    *ret = SPAN_NULL;
    for (JsonIter it = json_iter(content); json_iter_next(&it);) {
        if (result_block_text(it.value, &value)) {
            n += json_span(value).n; /* the quotes are room for the line end */
        }
    }
    if (n == 0) {
        return 0;
    }
    text = arena_alloc(arena, n);
    if (text == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(content); json_iter_next(&it);) {
        if (result_block_text(it.value, &value)) {
            if (!is_first) {
                text[at++] = '\n';
            }
            is_first = false;
            at += json_string_decode(value, text + at);
        }
    }
    *ret = span_make(text, at);
    return 0;
}

/* The text is JSON, or words: what the command gives, or, of a failure, what it says. */
static int result_of_text(Span text, bool is_error, Arena *arena, Envelope *ret)
{
    JsonDoc doc;
    int r = json_parse(&doc, arena, text.p, text.n, &text_limits, NULL);

    if (r < 0) {
        return err_pass(r);
    }
    if (r == 0 && (!is_error || json_kind(json_root(&doc)) == JSON_OBJECT)) {
        return err_pass(envelope_read(json_root(&doc), arena, ret));
    }
    if (is_error) {
        ret->message = text;
        return 0;
    }
    return err_pass(result_add_text(ret, "result", text, arena));
}

/* A failure that names no code, and has {"error":{"code","message"}}, as add-ins say it. */
static int result_read_error(JsonValue structured, Arena *arena, Envelope *ret)
{
    JsonValue error;
    JsonValue value;
    int r = 0;

    if (ret->code.n > 0 || !json_get(structured, SPAN("error"), &error) ||
        json_kind(error) != JSON_OBJECT) {
        return 0;
    }
    if (json_get(error, SPAN("code"), &value) && json_kind(value) == JSON_STRING) {
        r = json_string_exact(value, arena, &ret->code);
    }
    if (r == 0 && ret->message.n == 0 && json_get(error, SPAN("message"), &value) &&
        json_kind(value) == JSON_STRING) {
        r = json_string_exact(value, arena, &ret->message);
    }
    return err_fold(r);
}

static int result_of_tool(const CallResult *result, Arena *arena, Envelope *ret)
{
    JsonValue content = JSON_VALUE_NULL;
    Span text = SPAN_NULL;
    JsonDoc doc;
    int r;

    if (result->structured.n > 0) {
        r = json_parse(&doc, arena, result->structured.p, result->structured.n, NULL, NULL);
        if (r == 0) {
            r = envelope_read(json_root(&doc), arena, ret);
            return r != 0 || !result->is_error
                       ? err_pass(r)
                       : err_pass(result_read_error(json_root(&doc), arena, ret));
        }
        if (r < 0) {
            return err_pass(r);
        }
        ret->is_ok = false;
        ret->code = span_from_str(envelope_code_name(ENVELOPE_SERIALIZE_ERROR));
        return 0;
    }
    if (result->n_pieces == 0) {
        return 0;
    }
    r = result_content(result, arena, &content);
    if (r == 0 && content.node != NULL) {
        r = result_text(content, arena, &text);
    }
    return r != 0 || text.p == NULL ? err_pass(r)
                                    : result_of_text(text, result->is_error, arena, ret);
}

int envelope_of_result(const CallResult *result, Arena *arena, Envelope *ret)
{
    int r = 0;

    *ret = (Envelope){.is_ok = true, .run_us = -1};
    if (result->kind == CALL_RESULT_ERROR) {
        return err_pass(result_of_error(result, arena, ret));
    }
    if (result->kind == CALL_RESULT_TOOL) {
        r = result_of_tool(result, arena, ret);
    } else if (result->kind != CALL_RESULT_EMPTY) {
        ret->is_ok = false;
        ret->code = span_from_str(envelope_code_name(ENVELOPE_SERIALIZE_ERROR));
    }
    /* It failed if anything says so. */
    if (result->is_error && ret->is_ok) {
        envelope_set_failed(ret);
    }
    return err_pass(r);
}
