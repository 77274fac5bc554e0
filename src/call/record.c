#include "call/record.h"

#include "base/compiler.h"
#include "base/error.h"
#include "base/text.h"
#include "call/content.h"
#include "json/writer.h"

static const char *const ask_names[] = {
    [CALL_ASK_FORM] = "form",
    [CALL_ASK_URL] = "url",
    [CALL_ASK_SAMPLE] = "sample",
    [CALL_ASK_ROOTS] = "roots",
};

/* ---- writing ---- */

/* Pieces of JSON between brackets, as one value. */
static void write_between(JsonWriter *w, const char *open, const Span *pieces, size_t n, char close)
{
    json_write_raw(w, span_from_str(open));
    for (size_t i = 0; i < n && w->r == 0; i++) {
        w->r = bytes_append_span(w->out, pieces[i]);
    }
    w->r = w->r != 0 ? w->r : bytes_append_byte(w->out, close);
}

static void write_json(JsonWriter *w, const char *name, Span json)
{
    if (json.n > 0) {
        json_write_key(w, span_from_str(name));
        json_write_raw(w, json);
    }
}

static void write_members(JsonWriter *w, const char *name, Span members)
{
    if (members.n > 0) {
        json_write_key(w, span_from_str(name));
        write_between(w, "{", &members, 1, '}');
    }
}

static void write_text(JsonWriter *w, const char *name, Span text)
{
    if (text.n > 0) {
        json_write_key(w, span_from_str(name));
        json_write_exact(w, text);
    }
}

static void write_number(JsonWriter *w, const char *name, int64_t number)
{
    if (number != 0) {
        json_write_key(w, span_from_str(name));
        json_write_int(w, number);
    }
}

static void write_tool(JsonWriter *w, const CallResult *result)
{
    json_write_key(w, SPAN("kind"));
    json_write_string(w, SPAN("tool"));
    json_write_key(w, SPAN("content"));
    write_between(w, "[", result->pieces, result->n_pieces, ']');
    write_json(w, "structured", result->structured);
    if (result->is_error || result->says_no_error) {
        json_write_key(w, SPAN("isError"));
        json_write_bool(w, result->is_error);
    }
    write_json(w, "meta", result->meta);
    write_members(w, "members", result->members);
    write_members(w, "beside", result->beside);
}

static void write_error(JsonWriter *w, const CallResult *result)
{
    size_t error = (size_t)result->error;

    json_write_key(w, SPAN("kind"));
    json_write_string(w, SPAN("error"));
    json_write_key(w, SPAN("error"));
    json_write_string(
        w, span_from_str(call_error_names[error < CALL_N_ERRORS ? error : CALL_ERROR_INTERNAL]));
    write_text(w, "message", result->message);
    write_json(w, "data", result->data);
    write_text(w, "type", result->error_type);
    if (call_result_has_code(result)) {
        json_write_key(w, SPAN("code"));
        json_write_int(w, result->wire_code);
    }
    write_number(w, "retryAfterMs", result->retry_after_ms);
}

static void write_ask(JsonWriter *w, const CallResult *result)
{
    json_write_key(w, SPAN("kind"));
    json_write_string(w, SPAN("ask"));
    json_write_key(w, SPAN("asks"));
    json_write_object(w);
    for (size_t i = 0; i < result->n_asks; i++) {
        const CallAsk *ask = &result->asks[i];

        json_write_exact_key(w, ask->key);
        json_write_object(w);
        json_write_key(w, SPAN("kind"));
        json_write_string(w, span_from_str(ask_names[ask->kind]));
        write_text(w, "message", ask->message);
        write_json(w, "schema", ask->schema);
        write_text(w, "url", ask->url);
        write_json(w, "params", ask->params);
        json_write_end_object(w);
    }
    json_write_end_object(w);
    write_text(w, "state", result->state);
}

int call_record_write(const CallResult *result, Bytes *out)
{
    static const CallResult unkept = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_BAD_RESULT};
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    if (result->kind == CALL_RESULT_TOOL) {
        write_tool(&w, result);
    } else if (result->kind == CALL_RESULT_ASK) {
        write_ask(&w, result);
    } else {
        write_error(&w, result->kind == CALL_RESULT_ERROR ? result : &unkept);
    }
    json_write_end_object(&w);
    return err_pass(json_writer_finish(&w));
}

/* ---- reading ---- */

/* A member that may be missing, and must be of that kind else. 0, RECORD_E_MALFORMED. */
static int read_member(JsonValue object, const char *name, JsonKind kind, JsonValue *ret)
{
    if (!json_get(object, span_from_str(name), ret)) {
        *ret = JSON_VALUE_NULL;
        return 0;
    }
    return json_kind(*ret) == kind ? 0 : RECORD_E_MALFORMED;
}

static int read_text(JsonValue object, const char *name, Arena *arena, Span *ret)
{
    JsonValue value;
    int r = read_member(object, name, JSON_STRING, &value);

    if (r != 0 || value.node == NULL) {
        return r;
    }
    r = json_string_exact(value, arena, ret);
    return r != 0 ? err_fold(r) : 0;
}

static int read_number(JsonValue object, const char *name, int64_t *ret)
{
    JsonValue value;
    int r = read_member(object, name, JSON_NUMBER, &value);

    if (r != 0 || value.node == NULL) {
        return r;
    }
    return json_int64(value, ret) == 0 ? 0 : RECORD_E_MALFORMED;
}

/* Any value, as it lies there. */
static void read_json(JsonValue object, const char *name, Span *ret)
{
    JsonValue value;

    if (json_get(object, span_from_str(name), &value)) {
        *ret = json_span(value);
    }
}

/* Which of the names a member is. */
static int read_name(JsonValue object, const char *name, const char *const *names, size_t n,
                     Arena *arena, size_t *ret)
{
    Span text = SPAN_NULL;
    int r = read_text(object, name, arena, &text);

    if (r != 0) {
        return r;
    }
    return text_is_one_of(text, names, n, ret) ? 0 : RECORD_E_MALFORMED;
}

/* What stands between the brackets of an array or object. */
static int read_between(JsonValue object, const char *name, JsonKind kind, JsonValue *ret_value,
                        Span *ret)
{
    int r = read_member(object, name, kind, ret_value);

    if (r == 0 && ret_value->node != NULL) {
        Span span = json_span(*ret_value);

        *ret = span_make(span.p + 1, span.n - 2);
    }
    return r;
}

static int read_content(JsonValue object, Arena *arena, CallResult *ret)
{
    CallContentFault fault;
    JsonValue content;
    Span inside = SPAN_NULL;
    Span *piece;
    int r = read_between(object, "content", JSON_ARRAY, &content, &inside);

    if (r != 0 || content.node == NULL || json_count(content) == 0) {
        return r;
    }
    for (JsonIter it = json_iter(content); json_iter_next(&it);) {
        if (call_content_check(it.value, &ret->content_kinds, &fault) == CALL_CONTENT_E_WRONG) {
            ret->content_kinds |= CALL_CONTENT_UNKNOWN;
        }
    }
    piece = arena_alloc(arena, sizeof(*piece));
    if (piece == NULL) {
        return err_raise(-ENOMEM);
    }
    *piece = inside;
    ret->pieces = piece;
    ret->n_pieces = 1;
    return 0;
}

static int read_tool(JsonValue object, Arena *arena, CallResult *ret)
{
    JsonValue value;
    int r = read_content(object, arena, ret);

    ret->kind = CALL_RESULT_TOOL;
    read_json(object, "structured", &ret->structured);
    if (r == 0 && json_get(object, SPAN("isError"), &value)) {
        r = json_bool(value, &ret->is_error) ? 0 : RECORD_E_MALFORMED;
        ret->says_no_error = !ret->is_error;
    }
    if (r == 0) {
        r = read_member(object, "meta", JSON_OBJECT, &value);
        ret->meta = r == 0 && value.node != NULL ? json_span(value) : SPAN_NULL;
    }
    if (r == 0) {
        r = read_between(object, "members", JSON_OBJECT, &value, &ret->members);
    }
    if (r == 0) {
        r = read_between(object, "beside", JSON_OBJECT, &value, &ret->beside);
    }
    return r;
}

static int read_error(JsonValue object, Arena *arena, CallResult *ret)
{
    size_t error = 0;
    int64_t code = 0;
    int r = read_name(object, "error", call_error_names, CALL_N_ERRORS, arena, &error);

    ret->kind = CALL_RESULT_ERROR;
    ret->error = (CallError)error;
    if (r == 0) {
        r = read_text(object, "message", arena, &ret->message);
    }
    if (r == 0) {
        r = read_text(object, "type", arena, &ret->error_type);
    }
    if (r == 0) {
        r = read_number(object, "code", &code);
    }
    if (r == 0) {
        r = read_number(object, "retryAfterMs", &ret->retry_after_ms);
    }
    if (r == 0 && (code < INT32_MIN || code > INT32_MAX)) {
        r = RECORD_E_MALFORMED;
    }
    ret->wire_code = r == 0 ? (int)code : 0;
    read_json(object, "data", &ret->data);
    return r;
}

static int read_one_ask(JsonValue key, JsonValue object, Arena *arena, CallAsk *ret)
{
    size_t kind = 0;
    int r = json_string_exact(key, arena, &ret->key);

    if (r != 0) {
        return err_fold(r);
    }
    r = read_name(object, "kind", ask_names, TW_ARRAY_SIZE(ask_names), arena, &kind);
    ret->kind = (CallAskKind)kind;
    if (r == 0) {
        r = read_text(object, "message", arena, &ret->message);
    }
    if (r == 0) {
        r = read_text(object, "url", arena, &ret->url);
    }
    read_json(object, "schema", &ret->schema);
    read_json(object, "params", &ret->params);
    return r;
}

static int read_ask(JsonValue object, Arena *arena, CallResult *ret)
{
    JsonValue asks;
    CallAsk *list;
    int r = read_member(object, "asks", JSON_OBJECT, &asks);

    ret->kind = CALL_RESULT_ASK;
    if (r != 0 || asks.node == NULL) {
        return RECORD_E_MALFORMED;
    }
    list = arena_alloc_array(arena, (size_t)json_count(asks) + 1, sizeof(*list));
    if (list == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(asks); r == 0 && json_iter_next(&it);) {
        r = read_one_ask(it.key, it.value, arena, &list[ret->n_asks++]);
    }
    ret->asks = list;
    return r != 0 ? r : read_text(object, "state", arena, &ret->state);
}

int call_record_read(JsonValue value, Arena *arena, CallResult *ret)
{
    static const char *const kinds[] = {"tool", "error", "ask"};
    static int (*const readers[])(JsonValue, Arena *, CallResult *) = {read_tool, read_error,
                                                                       read_ask};
    size_t kind = 0;
    int r;

    *ret = CALL_RESULT_NULL;
    if (json_kind(value) != JSON_OBJECT) {
        return RECORD_E_MALFORMED;
    }
    r = read_name(value, "kind", kinds, TW_ARRAY_SIZE(kinds), arena, &kind);
    return r != 0 ? r : readers[kind](value, arena, ret);
}
