/* What an add-in says about a call, as the result of that call. */
#include "dialect/pipe/message.h"

#include <string.h>

#include "base/error.h"
#include "base/escape.h"
#include "call/content.h"
#include "dialect/pipe/message_internal.h"
#include "json/writer.h"

/* Brackets, names and commas around what is built, with room to spare. */
#define BUILT_OVERHEAD ((size_t)64)

/* A string of so many bytes stays where it is, as a piece of its own: to look through it and to
 * copy it costs more than a piece does. */
#define TEXT_PIECE_MIN ((size_t)256)

/* Room for two numbers and their names. */
#define META_SIZE 96

/* JSON within JSON: a quote, a backslash, a tab become two bytes, U+2028 six of three. */
#define ESCAPED_JSON_FACTOR 2

/* A buffer of fixed size in the arena; data NULL if there is no memory. */
static Bytes built_begin(Arena *arena, size_t n)
{
    return (Bytes){.data = arena_alloc(arena, n), .cap = n, .max_bytes = n};
}

static void built_add(Bytes *built, Span json)
{
    (void)bytes_append_span(built, json);
}

/* Room for a text as a JSON string: controls take six bytes, and what is not ASCII six of three at
 * most, also if it is not UTF-8. */
static size_t built_string_size(Span text)
{
    size_t n = 2;

    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        n += c < 0x20 ? 6 : c >= 0x80 ? 3 : c == '"' || c == '\\' ? 2 : 1;
    }
    return n;
}

static void built_add_string(Bytes *built, Span text)
{
    JsonWriter w;

    json_writer_init(&w, built, JSON_STYLE_COMPACT);
    json_write_exact(&w, text);
    (void)json_writer_finish(&w);
}

static bool has_lines(Span json)
{
    return json.n > 0 &&
           (memchr(json.p, '\n', json.n) != NULL || memchr(json.p, '\r', json.n) != NULL);
}

/* The same of a value, not looking into its long strings: there are none inside a string. */
static bool value_has_lines(JsonValue value)
{
    const JsonNode *nodes = value.node;
    Span json = json_span(value);
    uint32_t n_nodes = json.n > TEXT_PIECE_MIN ? nodes->skip : 0;
    size_t at = 0;

    for (uint32_t i = 0; i < n_nodes; i++) {
        if ((nodes[i].tag & JSON_NODE_KIND_MASK) == JSON_STRING &&
            nodes[i].size >= TEXT_PIECE_MIN) {
            size_t start = nodes[i].start - nodes[0].start;

            if (has_lines(span_make(json.p + at, start - at))) {
                return true;
            }
            at = start + nodes[i].size;
        }
    }
    return has_lines(span_make(json.p + at, json.n - at));
}

/* Takes out raw newlines and the indentation behind them, in place. Both are outside of strings,
 * since JSON has no raw newline inside. */
static size_t strip_lines(char *text, size_t n)
{
    size_t n_kept = 0;

    for (size_t i = 0; i < n; i++) {
        if (text[i] != '\n' && text[i] != '\r') {
            text[n_kept++] = text[i];
            continue;
        }
        while (i + 1 < n && (text[i + 1] == ' ' || text[i + 1] == '\t')) {
            i++;
        }
    }
    return n_kept;
}

int pipe_one_line(Arena *arena, Span *json)
{
    char *copy;

    if (!has_lines(*json)) {
        return 0;
    }
    copy = arena_alloc(arena, json->n);
    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(copy, json->p, json->n);
    *json = span_make(copy, strip_lines(copy, json->n));
    return 0;
}

/* A long string that stands in the text of its JSON as it stands in the JSON. */
static bool is_long_string(const JsonNode *node)
{
    return node->size >= TEXT_PIECE_MIN + 2 &&
           (node->tag & (JSON_NODE_KIND_MASK | JSON_NODE_ESCAPED)) == JSON_STRING;
}

/* The text block of JSON that is being put together. */
typedef struct TextBlock {
    Span *pieces;
    size_t n_pieces;
    Bytes escaped;
    size_t start; /* of the piece that is being written, in escaped */
} TextBlock;

static void block_end_piece(TextBlock *block)
{
    block->pieces[block->n_pieces++] =
        span_make(block->escaped.data + block->start, block->escaped.n - block->start);
    block->start = block->escaped.n;
}

/* {"type":"text","text":"…"}: the JSON escaped, except for long strings, which are not copied but
 * stay where they are. */
static int read_json_text(CallResult *result, Arena *arena, JsonValue data, Span json)
{
    const JsonNode *nodes = data.node;
    /* Of a copy the index says nothing. */
    bool is_whole = json.p == data.text + data.node->start;
    uint32_t n_nodes = is_whole && json.n > TEXT_PIECE_MIN ? data.node->skip : 0;
    TextBlock block = {.n_pieces = 0};
    size_t n_long = 0;
    size_t n_short = json.n;
    size_t at = 0;

    for (uint32_t i = 0; i < n_nodes; i++) {
        n_long += is_long_string(&nodes[i]) ? 1 : 0;
        n_short -= is_long_string(&nodes[i]) ? nodes[i].size - 2 : 0;
    }
    block.pieces = arena_alloc_array(arena, 2 * n_long + 1, sizeof(*block.pieces));
    block.escaped = built_begin(arena, ESCAPED_JSON_FACTOR * n_short + BUILT_OVERHEAD);
    if (block.pieces == NULL || block.escaped.data == NULL) {
        return err_raise(-ENOMEM);
    }
    built_add(&block.escaped, SPAN("{\"type\":\"text\",\"text\":\""));
    for (uint32_t i = 0; i < n_nodes && n_long > 0; i++) {
        size_t start = nodes[i].start - nodes[0].start + 1;

        if (is_long_string(&nodes[i])) {
            (void)escape_json(&block.escaped, span_make(json.p + at, start - at));
            block_end_piece(&block);
            block.pieces[block.n_pieces++] = span_make(json.p + start, nodes[i].size - 2);
            at = start + nodes[i].size - 2;
        }
    }
    (void)escape_json(&block.escaped, span_make(json.p + at, json.n - at));
    built_add(&block.escaped, SPAN("\"}"));
    block_end_piece(&block);
    result->pieces = block.pieces;
    result->n_pieces = block.n_pieces;
    return 0;
}

/* A string is a text already. */
static int read_string_text(CallResult *result, Arena *arena, Span quoted)
{
    Span *pieces = arena_alloc_array(arena, 3, sizeof(*pieces));

    if (pieces == NULL) {
        return err_raise(-ENOMEM);
    }
    pieces[0] = SPAN("{\"type\":\"text\",\"text\":");
    pieces[1] = quoted;
    pieces[2] = SPAN("}");
    result->pieces = pieces;
    result->n_pieces = 3;
    return 0;
}

/* Structured content is an object wherever MCP is strict about it. */
static int read_wrapped(CallResult *result, Arena *arena, Span json)
{
    Bytes built = built_begin(arena, json.n + BUILT_OVERHEAD);

    if (built.data == NULL) {
        return err_raise(-ENOMEM);
    }
    built_add(&built, SPAN("{\"result\":"));
    built_add(&built, json);
    built_add(&built, SPAN("}"));
    result->structured = bytes_span(&built);
    return 0;
}

/* What a tool that has content and no structured content is told with: an object of this one member
 * whose elements are blocks. */
static bool is_content(JsonValue data, JsonValue *ret_list, uint32_t *ret_kinds)
{
    CallContentFault fault;
    uint32_t kinds = 0;

    if (json_kind(data) != JSON_OBJECT || json_count(data) != 1 ||
        !json_get(data, SPAN("content"), ret_list) || json_kind(*ret_list) != JSON_ARRAY) {
        return false;
    }
    for (JsonIter it = json_iter(*ret_list); json_iter_next(&it);) {
        if (call_content_check(it.value, &kinds, &fault) != 0) {
            return false;
        }
    }
    *ret_kinds = kinds;
    return true;
}

/* The content as it was before it became data. */
static int read_content(CallResult *result, Arena *arena, JsonValue list, uint32_t kinds)
{
    Span json = json_span(list);
    Span *piece = arena_alloc_array(arena, 1, sizeof(*piece));
    int r;

    if (piece == NULL) {
        return err_raise(-ENOMEM);
    }
    *piece = span_make(json.p + 1, json.n - 2);
    r = value_has_lines(list) ? pipe_one_line(arena, piece) : 0;
    if (r != 0) {
        return err_pass(r);
    }
    result->pieces = piece;
    result->n_pieces = json_count(list) > 0 ? 1 : 0;
    result->content_kinds = kinds;
    return 0;
}

static const Span null_text = SPAN_INIT("{\"type\":\"text\",\"text\":\"null\"}");

static int read_success(CallResult *result, Arena *arena, JsonValue data)
{
    JsonValue list;
    uint32_t kinds;
    Span json;
    int r;

    if (data.node == NULL) {
        result->structured = SPAN("{\"result\":null}");
        result->pieces = &null_text;
        result->n_pieces = 1;
        return 0;
    }
    if (is_content(data, &list, &kinds)) {
        return err_pass(read_content(result, arena, list, kinds));
    }
    json = json_span(data);
    r = value_has_lines(data) ? pipe_one_line(arena, &json) : 0;
    if (r != 0) {
        return err_pass(r);
    }
    result->structured = json;
    if (json_kind(data) != JSON_OBJECT) {
        r = read_wrapped(result, arena, json);
    }
    if (r != 0) {
        return err_pass(r);
    }
    return err_pass(json_kind(data) == JSON_STRING ? read_string_text(result, arena, json)
                                                   : read_json_text(result, arena, data, json));
}

bool pipe_is_failed_envelope(JsonValue data)
{
    JsonValue ok;
    JsonValue code;

    return data.node != NULL && json_kind(data) == JSON_OBJECT && json_get(data, SPAN("ok"), &ok) &&
           json_kind(ok) == JSON_FALSE && json_get(data, SPAN("code"), &code) &&
           json_kind(code) == JSON_STRING;
}

/* What the peer's error says besides its code and its message. */
static void built_add_rest(Bytes *built, JsonValue error)
{
    if (error.node == NULL || json_kind(error) != JSON_OBJECT) {
        return;
    }
    for (JsonIter it = json_iter(error); json_iter_next(&it);) {
        Span key = json_span(it.key);
        Span value = json_span(it.value);

        if (!json_string_equals(it.key, SPAN("code")) &&
            !json_string_equals(it.key, SPAN("message"))) {
            built_add(built, SPAN(","));
            built_add(built, span_make(key.p, (size_t)(value.p + value.n - key.p)));
        }
    }
}

/* A text as a JSON string; returns it without its quotes. */
static Span built_add_quoted(Bytes *built, Span text)
{
    size_t start = built->n + 1;

    built_add_string(built, text);
    return span_make(built->data + start, built->n - 1 - start);
}

/* Structured {"error":{"code","message",…},"data"}, and the first two as text. */
static int read_failure(CallResult *result, Arena *arena, const PipeMessage *m)
{
    Span code = pipe_words_or(m->code, PIPE_CODE_HANDLER);
    Span message = pipe_words_or(m->message, call_error_text(CALL_ERROR_RAISED));
    size_t n_error = m->error.node != NULL ? json_span(m->error).n : 0;
    /* Empty data of a failure is the protocol's word for none. */
    bool has_data =
        m->data.node != NULL && (json_kind(m->data) != JSON_OBJECT || json_count(m->data) > 0);
    size_t n_data = has_data ? json_span(m->data).n : 0;
    Span *pieces = arena_alloc_array(arena, 5, sizeof(*pieces));
    Bytes built = built_begin(arena, built_string_size(code) + built_string_size(message) +
                                         n_error + n_data + BUILT_OVERHEAD);
    size_t n_words;

    if (pieces == NULL || built.data == NULL) {
        return err_raise(-ENOMEM);
    }
    built_add(&built, SPAN("{\"error\":{\"code\":"));
    pieces[1] = built_add_quoted(&built, code);
    built_add(&built, SPAN(",\"message\":"));
    pieces[3] = built_add_quoted(&built, message);
    n_words = built.n;
    built_add_rest(&built, m->error);
    built_add(&built, SPAN("}"));
    if (n_data > 0) {
        built_add(&built, SPAN(",\"data\":"));
        built_add(&built, json_span(m->data));
    }
    built_add(&built, SPAN("}"));
    built.n = n_words + strip_lines(built.data + n_words, built.n - n_words);
    pieces[0] = SPAN("{\"type\":\"text\",\"text\":\"");
    pieces[2] = SPAN(": ");
    pieces[4] = SPAN("\"}");
    result->structured = bytes_span(&built);
    result->pieces = pieces;
    result->n_pieces = 5;
    result->is_error = true;
    return 0;
}

/* A writer costs more than the number. */
static void built_add_number(Bytes *built, int64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);
    uint64_t left = value < 0 ? 0 : (uint64_t)value; /* a clock that was set back says nothing */

    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    built_add(built, span_make(digits + at, sizeof(digits) - at));
}

int pipe_read_meta(CallResult *result, Arena *arena, int64_t duration_ms, int64_t waited_ms)
{
    Bytes built = built_begin(arena, META_SIZE);

    if (built.data == NULL) {
        return err_raise(-ENOMEM);
    }
    built_add(&built, SPAN("{"));
    if (duration_ms >= 0) {
        built_add(&built, SPAN("\"duration_ms\":"));
        built_add_number(&built, duration_ms);
        built_add(&built, SPAN(","));
    }
    built_add(&built, SPAN("\"waited_ms\":"));
    built_add_number(&built, waited_ms);
    built_add(&built, SPAN("}"));
    result->meta = bytes_span(&built);
    return 0;
}

int pipe_result_read(CallResult *ret, Arena *arena, const PipeMessage *message, int64_t waited_ms)
{
    CallResult result = {.kind = CALL_RESULT_TOOL, .content_kinds = CALL_CONTENT_TEXT};
    bool is_envelope = !message->success && pipe_is_failed_envelope(message->data);
    int r = message->success || is_envelope ? read_success(&result, arena, message->data)
                                            : read_failure(&result, arena, message);

    /* All that the error says is in it. */
    result.is_error = !message->success;
    if (r == 0) {
        r = pipe_read_meta(&result, arena, message->duration_ms, waited_ms);
    }
    if (r == 0) {
        *ret = result;
    }
    return err_pass(r);
}

int pipe_result_fail(CallResult *ret, Arena *arena, const char *code, Span message)
{
    PipeMessage failure = {.type = PIPE_ERROR, .code = span_from_str(code), .message = message};
    CallResult result = {.kind = CALL_RESULT_TOOL, .content_kinds = CALL_CONTENT_TEXT};
    int r = read_failure(&result, arena, &failure);

    if (r == 0) {
        *ret = result;
    }
    return err_pass(r);
}
