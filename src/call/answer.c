#include "call/answer.h"

#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/writer.h"

/* What CallAnswer.r can be besides 0, -ENOMEM and BYTES_E_FULL. */
enum {
    ANSWER_E_MALFORMED = BYTES_E_FULL + 1, /* JSON was promised and not given */
    ANSWER_E_DEPTH                         /* nested deeper than LIMIT_RESULT_DEPTH */
};

void call_answer_init(CallAnswer *answer, size_t max_bytes)
{
    /* An index needs at most 16 bytes for each of text, and 64 KiB (json/json.h). */
    size_t max_index = max_bytes < (SIZE_MAX >> 5) ? max_bytes * 16 + 65536 : SIZE_MAX;

    *answer = (CallAnswer){.max_bytes = max_bytes};
    bytes_init(&answer->content, max_bytes);
    bytes_init(&answer->structured, max_bytes);
    /* A text of JSON: what must be escaped becomes twice as long. */
    bytes_init(&answer->spoken, max_bytes < SIZE_MAX / 4 ? max_bytes * 2 + 64 : SIZE_MAX);
    bytes_init(&answer->compact, max_bytes);
    /* Bounded by n_words; the arena itself also has alignment and growing arrays in it. */
    arena_init(&answer->words, SIZE_MAX);
    arena_init(&answer->scratch, max_index);
    call_answer_reset(answer, CALL_RESULT_TOOL);
}

void call_answer_deinit(CallAnswer *answer)
{
    bytes_deinit(&answer->content);
    bytes_deinit(&answer->structured);
    bytes_deinit(&answer->spoken);
    bytes_deinit(&answer->compact);
    arena_deinit(&answer->words);
    arena_deinit(&answer->scratch);
    *answer = (CallAnswer){.max_bytes = 0};
}

void call_answer_reset(CallAnswer *answer, CallResultKind kind)
{
    bytes_clear_keep(&answer->content, LIMIT_KEEP_BYTES);
    bytes_clear_keep(&answer->structured, LIMIT_KEEP_BYTES);
    bytes_clear_keep(&answer->spoken, LIMIT_KEEP_BYTES);
    bytes_clear_keep(&answer->compact, LIMIT_KEEP_BYTES);
    arena_reset(&answer->words, LIMIT_KEEP_BYTES);
    arena_reset(&answer->scratch, LIMIT_KEEP_BYTES);
    answer->asks = NULL;
    answer->n_asks = 0;
    answer->n_values = 0;
    answer->n_words = 0;
    answer->r = 0;
    answer->result = (CallResult){.kind = kind, .total = -1};
}

static void answer_fail(CallAnswer *answer, int r)
{
    if (answer->r == 0) {
        answer->r = r;
    }
}

/* A copy that stays until reset. */
static Span answer_word(CallAnswer *answer, Span text)
{
    Span copy;

    if (answer->r != 0 || text.n == 0) {
        return SPAN_NULL;
    }
    if (text.n > answer->max_bytes - answer->n_words) {
        answer_fail(answer, BYTES_E_FULL);
        return SPAN_NULL;
    }
    copy = arena_copy(&answer->words, text);
    if (copy.p == NULL) {
        answer_fail(answer, err_raise(-ENOMEM));
        return SPAN_NULL;
    }
    answer->n_words += text.n;
    return copy;
}

/* Indexes JSON that came from outside; the index lives until the next one. */
static bool answer_parse(CallAnswer *answer, Span json, JsonDoc *ret)
{
    JsonLimits limits = {.max_depth = LIMIT_RESULT_DEPTH};
    int r;

    if (answer->r != 0) {
        return false;
    }
    if (json.n > answer->max_bytes) {
        answer_fail(answer, BYTES_E_FULL);
        return false;
    }
    arena_reset(&answer->scratch, LIMIT_KEEP_BYTES);
    r = json_parse(ret, &answer->scratch, json.p, json.n, &limits, NULL);
    if (r == JSON_E_DEPTH) {
        answer_fail(answer, ANSWER_E_DEPTH);
    } else if (r != 0) {
        answer_fail(answer, r < 0 ? err_pass(r) : ANSWER_E_MALFORMED);
    }
    return r == 0;
}

/* Compact JSON as a word; an object if it must be one. */
static Span answer_json_word(CallAnswer *answer, Span json, bool must_be_object)
{
    JsonWriter w;
    JsonDoc doc;

    if (json.n == 0 || !answer_parse(answer, json, &doc)) {
        return SPAN_NULL;
    }
    if (must_be_object && json_kind(json_root(&doc)) != JSON_OBJECT) {
        answer_fail(answer, ANSWER_E_MALFORMED);
        return SPAN_NULL;
    }
    bytes_clear(&answer->compact);
    json_writer_init(&w, &answer->compact, JSON_STYLE_COMPACT);
    json_write_value(&w, json_root(&doc));
    answer_fail(answer, json_writer_finish(&w));
    return answer_word(answer, bytes_span(&answer->compact));
}

/* Opens one more element of the content. */
static void answer_open(CallAnswer *answer, JsonWriter *w)
{
    if (answer->r == 0 && answer->content.n > 0) {
        answer->r = bytes_append_byte(&answer->content, ',');
    }
    json_writer_init(w, &answer->content, JSON_STYLE_COMPACT);
    w->r = answer->r;
}

static void answer_close(CallAnswer *answer, JsonWriter *w)
{
    answer_fail(answer, json_writer_finish(w));
}

/* Opens a block: in a prompt it is the content of a message that has a role. */
static void answer_open_block(CallAnswer *answer, JsonWriter *w, Span role, uint32_t kind)
{
    answer->result.content_kinds |= kind;
    answer_open(answer, w);
    if (role.n > 0) {
        json_write_object(w);
        json_write_key(w, SPAN("role"));
        json_write_string(w, role);
        json_write_key(w, SPAN("content"));
    }
}

static void answer_close_block(CallAnswer *answer, JsonWriter *w, Span role)
{
    if (role.n > 0) {
        json_write_end_object(w);
    }
    answer_close(answer, w);
}

static void answer_write_text(JsonWriter *w, Span key, Span text)
{
    json_write_key(w, key);
    json_write_string(w, text);
}

/* As answer_write_text, for members that may be absent. */
static void answer_write_optional(JsonWriter *w, Span key, Span text)
{
    if (text.n > 0) {
        answer_write_text(w, key, text);
    }
}

static void answer_write_base64(JsonWriter *w, Span key, Span data)
{
    json_write_key(w, key);
    /* The writer goes by the last byte, which is a string's end as if it had written it. */
    if (w->r == 0) {
        w->r = bytes_append_byte(w->out, '"');
    }
    if (w->r == 0) {
        w->r = base64_encode(w->out, BASE64_STANDARD, data);
    }
    if (w->r == 0) {
        w->r = bytes_append_byte(w->out, '"');
    }
}

static void answer_write_contents(JsonWriter *w, Span uri, Span mime_type, Span data, bool is_text)
{
    json_write_object(w);
    answer_write_text(w, SPAN("uri"), uri);
    answer_write_optional(w, SPAN("mimeType"), mime_type);
    if (is_text) {
        answer_write_text(w, SPAN("text"), data);
    } else {
        answer_write_base64(w, SPAN("blob"), data);
    }
    json_write_end_object(w);
}

void call_answer_text(CallAnswer *answer, Span role, Span text)
{
    JsonWriter w;

    answer_open_block(answer, &w, role, CALL_CONTENT_TEXT);
    json_write_object(&w);
    answer_write_text(&w, SPAN("type"), SPAN("text"));
    answer_write_text(&w, SPAN("text"), text);
    json_write_end_object(&w);
    answer_close_block(answer, &w, role);
}

static void answer_media(CallAnswer *answer, Span role, uint32_t kind, Span type, Span mime_type,
                         Span data)
{
    JsonWriter w;

    answer_open_block(answer, &w, role, kind);
    json_write_object(&w);
    answer_write_text(&w, SPAN("type"), type);
    answer_write_base64(&w, SPAN("data"), data);
    answer_write_text(&w, SPAN("mimeType"), mime_type);
    json_write_end_object(&w);
    answer_close_block(answer, &w, role);
}

void call_answer_image(CallAnswer *answer, Span role, Span mime_type, Span data)
{
    answer_media(answer, role, CALL_CONTENT_IMAGE, SPAN("image"), mime_type, data);
}

void call_answer_audio(CallAnswer *answer, Span role, Span mime_type, Span data)
{
    answer_media(answer, role, CALL_CONTENT_AUDIO, SPAN("audio"), mime_type, data);
}

void call_answer_link(CallAnswer *answer, Span role, Span uri, Span name, Span mime_type)
{
    JsonWriter w;

    answer_open_block(answer, &w, role, CALL_CONTENT_LINK);
    json_write_object(&w);
    answer_write_text(&w, SPAN("type"), SPAN("resource_link"));
    answer_write_text(&w, SPAN("uri"), uri);
    answer_write_text(&w, SPAN("name"), name);
    answer_write_optional(&w, SPAN("mimeType"), mime_type);
    json_write_end_object(&w);
    answer_close_block(answer, &w, role);
}

static void answer_resource(CallAnswer *answer, Span role, Span uri, Span mime_type, Span data,
                            bool is_text)
{
    JsonWriter w;

    answer_open_block(answer, &w, role, CALL_CONTENT_RESOURCE);
    json_write_object(&w);
    answer_write_text(&w, SPAN("type"), SPAN("resource"));
    json_write_key(&w, SPAN("resource"));
    answer_write_contents(&w, uri, mime_type, data, is_text);
    json_write_end_object(&w);
    answer_close_block(answer, &w, role);
}

void call_answer_resource_text(CallAnswer *answer, Span role, Span uri, Span mime_type, Span text)
{
    answer_resource(answer, role, uri, mime_type, text, true);
}

void call_answer_resource_blob(CallAnswer *answer, Span role, Span uri, Span mime_type, Span data)
{
    answer_resource(answer, role, uri, mime_type, data, false);
}

/* CALL_CONTENT_* of a block given as JSON; 0 if it is not a block. */
static uint32_t answer_block_kind(JsonValue block)
{
    static const struct {
        const char *type;
        uint32_t kind;
    } kinds[] = {
        {"text", CALL_CONTENT_TEXT},          {"image", CALL_CONTENT_IMAGE},
        {"audio", CALL_CONTENT_AUDIO},        {"resource", CALL_CONTENT_RESOURCE},
        {"resource_link", CALL_CONTENT_LINK},
    };
    JsonValue type;

    if (!json_get(block, SPAN("type"), &type) || json_kind(type) != JSON_STRING) {
        return 0;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(kinds); i++) {
        if (json_string_equals(type, span_from_str(kinds[i].type))) {
            return kinds[i].kind;
        }
    }
    return CALL_CONTENT_UNKNOWN;
}

void call_answer_block(CallAnswer *answer, Span role, Span json)
{
    JsonWriter w;
    JsonDoc doc;
    uint32_t kind;

    if (!answer_parse(answer, json, &doc)) {
        return;
    }
    kind = answer_block_kind(json_root(&doc));
    if (kind == 0) {
        answer_fail(answer, ANSWER_E_MALFORMED);
        return;
    }
    answer_open_block(answer, &w, role, kind);
    json_write_value(&w, json_root(&doc));
    answer_close_block(answer, &w, role);
}

static void answer_contents(CallAnswer *answer, Span uri, Span mime_type, Span data, bool is_text)
{
    JsonWriter w;

    answer_open(answer, &w);
    answer_write_contents(&w, uri, mime_type, data, is_text);
    answer_close(answer, &w);
}

void call_answer_contents_text(CallAnswer *answer, Span uri, Span mime_type, Span text)
{
    answer_contents(answer, uri, mime_type, text, true);
}

void call_answer_contents_blob(CallAnswer *answer, Span uri, Span mime_type, Span data)
{
    answer_contents(answer, uri, mime_type, data, false);
}

void call_answer_value(CallAnswer *answer, Span value)
{
    JsonWriter w;

    if (answer->n_values == CALL_ANSWER_VALUES) {
        answer->result.has_more = true;
        return;
    }
    answer->n_values++;
    answer_open(answer, &w);
    json_write_string(&w, value);
    answer_close(answer, &w);
}

void call_answer_structured(CallAnswer *answer, Span json)
{
    JsonWriter w;
    JsonDoc doc;

    if (!answer_parse(answer, json, &doc)) {
        return;
    }
    bytes_clear(&answer->structured);
    json_writer_init(&w, &answer->structured, JSON_STYLE_COMPACT);
    json_write_value(&w, json_root(&doc));
    answer_close(answer, &w);
}

void call_answer_description(CallAnswer *answer, Span text)
{
    answer->result.description = answer_word(answer, text);
}

void call_answer_meta(CallAnswer *answer, Span json)
{
    answer->result.meta = answer_json_word(answer, json, true);
}

void call_answer_error(CallAnswer *answer, int wire_code, Span message, Span data)
{
    answer->result.kind = CALL_RESULT_ERROR;
    answer->result.error = CALL_ERROR_OWN;
    answer->result.wire_code = wire_code;
    answer->result.message = answer_word(answer, message);
    answer->result.data = answer_json_word(answer, data, false);
}

void call_answer_ask(CallAnswer *answer, const CallAsk *ask)
{
    size_t n_old = answer->n_asks * sizeof(*answer->asks);
    CallAsk *asks;
    CallAsk copy = {
        .key = answer_word(answer, ask->key),
        .kind = ask->kind,
        .message = answer_word(answer, ask->message),
        .schema = answer_json_word(answer, ask->schema, true),
        .url = answer_word(answer, ask->url),
        .params = answer_json_word(answer, ask->params, true),
    };

    answer->result.kind = CALL_RESULT_ASK;
    if (answer->r != 0) {
        return;
    }
    asks = arena_grow(&answer->words, answer->asks, n_old, n_old + sizeof(*asks));
    if (asks == NULL) {
        answer_fail(answer, err_raise(-ENOMEM));
        return;
    }
    answer->asks = asks;
    asks[answer->n_asks++] = copy;
}

void call_answer_state(CallAnswer *answer, Span state)
{
    answer->result.state = answer_word(answer, state);
}

/* structured as a text block: a JSON text inside a JSON string. */
static void answer_speak(CallAnswer *answer)
{
    JsonWriter w;

    bytes_clear(&answer->spoken);
    json_writer_init(&w, &answer->spoken, JSON_STYLE_COMPACT);
    json_write_object(&w);
    answer_write_text(&w, SPAN("type"), SPAN("text"));
    answer_write_text(&w, SPAN("text"), bytes_span(&answer->structured));
    json_write_end_object(&w);
    answer_close(answer, &w);
    answer->piece = bytes_span(&answer->spoken);
    answer->result.content_kinds |= CALL_CONTENT_TEXT;
}

/* Why there is no result, in the words of CallError. */
static void answer_say_failure(CallAnswer *answer)
{
    CallResult *result = &answer->result;

    *result = (CallResult){.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_INTERNAL};
    if (answer->r == BYTES_E_FULL) {
        result->error = CALL_ERROR_TOO_LARGE;
    } else if (answer->r == ANSWER_E_MALFORMED) {
        result->error = CALL_ERROR_BAD_RESULT;
        result->message = SPAN("the provider's answer is not the JSON that it must be");
    } else if (answer->r == ANSWER_E_DEPTH) {
        result->error = CALL_ERROR_BAD_RESULT;
        result->message = SPAN("the provider's answer is nested too deeply");
    }
    if (result->message.n == 0) {
        result->message = span_from_str(call_error_text(result->error));
    }
}

const CallResult *call_answer_result(CallAnswer *answer)
{
    CallResult *result = &answer->result;

    answer->piece = bytes_span(&answer->content);
    if (result->kind == CALL_RESULT_TOOL && answer->structured.n > 0 && answer->content.n == 0) {
        answer_speak(answer);
    }
    if (answer->content.n > answer->max_bytes - answer->structured.n ||
        answer->n_words > answer->max_bytes - answer->structured.n - answer->content.n) {
        answer_fail(answer, BYTES_E_FULL);
    }
    if (answer->r != 0) {
        answer_say_failure(answer);
        return result;
    }
    result->pieces = &answer->piece;
    result->n_pieces = answer->piece.n > 0;
    result->structured = bytes_span(&answer->structured);
    result->asks = answer->asks;
    result->n_asks = answer->n_asks;
    return result;
}

void call_answer_finish(CallAnswer *answer, Call *call)
{
    call_finish(call, call_answer_result(answer));
    call_answer_reset(answer, CALL_RESULT_TOOL);
}
