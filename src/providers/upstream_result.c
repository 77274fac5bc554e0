/* What a server answered, as the result of a call: pieces of its text, nothing written anew. */
#include "providers/upstream_impl.h"

#include "json/writer.h"

/* The elements of an array, which is without its brackets then; *piece stays the caller's. */
static void put_elements(CallResult *result, JsonValue array, Span *piece)
{
    Span span = json_span(array);

    *piece = span_make(span.p + 1, span.n - 2);
    result->pieces = piece;
    result->n_pieces = piece->n > 0 ? 1 : 0;
    result->elements = array;
}

/* `"name":value` of a member that is not ours to understand. */
static int keep_member(Bytes *out, const JsonIter *it)
{
    int r = out->n == 0 ? 0 : bytes_append_byte(out, ',');

    r = r != 0 ? r : bytes_append_span(out, json_span(it->key));
    r = r != 0 ? r : bytes_append_byte(out, ':');
    return r != 0 ? r : bytes_append_span(out, json_span(it->value));
}

/* Mostly a modern server only says who it is, and that does not go further. */
static Span meta_of(JsonValue meta)
{
    JsonIter it = json_iter(meta);
    bool is_server = json_count(meta) == 1 && json_iter_next(&it) &&
                     json_string_equals(it.key, SPAN("io.modelcontextprotocol/serverInfo"));

    return is_server ? SPAN_NULL : json_span(meta);
}

static void finish_bad(Call *call, const char *what)
{
    call->may_have_run = true;
    call_fail(call, CALL_ERROR_BAD_RESULT, span_from_str(what));
}

static void finish_tool(Upstreams *upstreams, Call *call, JsonValue value)
{
    CallResult result = {.kind = CALL_RESULT_TOOL, .content_kinds = CALL_CONTENT_UNKNOWN};
    Bytes *members = &upstreams->text;
    Span content = SPAN_NULL;
    int r = 0;

    bytes_clear_keep(members, LIMIT_KEEP_BYTES);
    for (JsonIter it = json_iter(value); r == 0 && json_iter_next(&it);) {
        if (json_string_equals(it.key, SPAN("content"))) {
            if (json_kind(it.value) != JSON_ARRAY) {
                finish_bad(call, "the server's result has a content that is no array");
                return;
            }
            put_elements(&result, it.value, &content);
        } else if (json_string_equals(it.key, SPAN("structuredContent"))) {
            result.structured = json_span(it.value);
        } else if (json_string_equals(it.key, SPAN("_meta")) &&
                   json_kind(it.value) == JSON_OBJECT) {
            result.meta = meta_of(it.value);
        } else if (json_string_equals(it.key, SPAN("isError")) &&
                   json_bool(it.value, &result.is_error)) {
            result.says_no_error = !result.is_error;
        } else if (!json_string_equals(it.key, SPAN("resultType"))) {
            r = keep_member(members, &it);
        }
    }
    if (r != 0) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
        return;
    }
    result.members = bytes_span(members);
    call_finish(call, &result);
}

static void finish_resource(Call *call, JsonValue value)
{
    CallResult result = {.kind = CALL_RESULT_RESOURCE, .content_kinds = CALL_CONTENT_UNKNOWN};
    JsonValue member;
    Span contents;

    if (!json_get(value, SPAN("contents"), &member) || json_kind(member) != JSON_ARRAY) {
        finish_bad(call, "the server's result has no contents");
        return;
    }
    put_elements(&result, member, &contents);
    if (json_get(value, SPAN("ttlMs"), &member)) {
        (void)json_int64(member, &result.ttl_ms);
    }
    result.is_private =
        json_get(value, SPAN("cacheScope"), &member) && json_string_equals(member, SPAN("private"));
    if (json_get(value, SPAN("_meta"), &member) && json_kind(member) == JSON_OBJECT) {
        result.meta = meta_of(member);
    }
    call_finish(call, &result);
}

static void finish_prompt(Upstreams *upstreams, Call *call, JsonValue value)
{
    CallResult result = {.kind = CALL_RESULT_PROMPT, .content_kinds = CALL_CONTENT_UNKNOWN};
    JsonValue member;
    Span messages;

    if (!json_get(value, SPAN("messages"), &member) || json_kind(member) != JSON_ARRAY) {
        finish_bad(call, "the server's result has no messages");
        return;
    }
    put_elements(&result, member, &messages);
    if (json_get(value, SPAN("description"), &member) &&
        json_string_exact(member, &upstreams->scratch, &result.description) != 0) {
        result.description = SPAN_NULL;
    }
    if (json_get(value, SPAN("_meta"), &member) && json_kind(member) == JSON_OBJECT) {
        result.meta = meta_of(member);
    }
    call_finish(call, &result);
    arena_reset(&upstreams->scratch, LIMIT_KEEP_BYTES);
}

static void finish_completion(Call *call, JsonValue value)
{
    CallResult result = {.kind = CALL_RESULT_COMPLETION, .total = -1};
    JsonValue completion;
    JsonValue member;
    Span values;

    if (!json_get(value, SPAN("completion"), &completion) ||
        !json_get(completion, SPAN("values"), &member) || json_kind(member) != JSON_ARRAY) {
        finish_bad(call, "the server's result has no values");
        return;
    }
    put_elements(&result, member, &values);
    if (json_get(completion, SPAN("total"), &member) && json_int64(member, &result.total) != 0) {
        result.total = -1;
    }
    if (json_get(completion, SPAN("hasMore"), &member)) {
        (void)json_bool(member, &result.has_more);
    }
    if (json_get(value, SPAN("_meta"), &member) && json_kind(member) == JSON_OBJECT) {
        result.meta = meta_of(member);
    }
    call_finish(call, &result);
}

static void finish_as(Upstreams *upstreams, Call *call, JsonValue value)
{
    CallResult done = CALL_RESULT_NULL;

    switch (call->verb) {
    case CALL_READ:
        finish_resource(call, value);
        break;
    case CALL_PROMPT:
        finish_prompt(upstreams, call, value);
        break;
    case CALL_COMPLETE:
        finish_completion(call, value);
        break;
    case CALL_SUBSCRIBE:
        call_finish(call, &done);
        break;
    default:
        finish_tool(upstreams, call, value);
        break;
    }
}

/* A result that came over HTTP may have line ends, which no line of ours can hold. */
static void finish_in_one_line(Upstreams *upstreams, Call *call, JsonValue value)
{
    CLEANUP(bytes_deinit) Bytes line = BYTES_NULL;
    Arena arena;
    JsonWriter w;
    JsonDoc doc;
    int r;

    bytes_init(&line, SIZE_MAX);
    arena_init(&arena, SIZE_MAX);
    json_writer_init(&w, &line, JSON_STYLE_COMPACT);
    json_write_value(&w, value);
    r = json_writer_finish(&w);
    r = r != 0 ? r : json_parse(&doc, &arena, line.data, line.n, NULL, NULL);
    if (r == 0) {
        finish_as(upstreams, call, json_root(&doc));
    } else {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
    }
    arena_deinit(&arena);
}

void upstream_finish(Upstreams *upstreams, Call *call, JsonValue value)
{
    if (json_is_one_line(value)) {
        finish_as(upstreams, call, value);
    } else {
        finish_in_one_line(upstreams, call, value);
    }
}
