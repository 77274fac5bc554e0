/* A parent's answer as the result of a call.
 *
 * Where MCP has a rule that clients enforce, it is enforced here, with words that name the member:
 * else a client would refuse the whole answer, and nobody would know whose fault it was. Where MCP
 * leaves room, so does this: a null that a Python object printed for "not set" counts as absent,
 * structuredContent may be any value (doors of revisions that want an object see to it), and an
 * error may be a mere string. */
#include "dialect/callsock/message.h"

#include <string.h>

#include "base/error.h"
#include "call/content.h"
#include "dialect/callsock/message_internal.h"

#define INVALID "Invalid IPC response: "

/* The members of a result that have a place in CallResult, or that each door says itself. */
enum {
    PART_CONTENT,
    PART_IS_ERROR,
    PART_STRUCTURED,
    PART_META,
    PART_RESULT_TYPE, /* of MCP's modern era, in which it would stand twice */
    N_PARTS
};

static const Span part_names[N_PARTS] = {
    [PART_CONTENT] = SPAN_INIT("content"),
    [PART_IS_ERROR] = SPAN_INIT("isError"),
    [PART_STRUCTURED] = SPAN_INIT("structuredContent"),
    [PART_META] = SPAN_INIT("_meta"),
    [PART_RESULT_TYPE] = SPAN_INIT("resultType"),
};

/* What is being read. */
typedef struct Reading {
    Arena *arena;
    Diag *reterr_diag;
    bool has_lines; /* raw newlines stand somewhere in the message */
    JsonValue parts[N_PARTS];
    CallResult result;
} Reading;

/* A text without its raw newlines, and without the indentation behind them. Both are outside of
 * strings, since JSON has no raw newline inside; and white space is never all that stands between
 * two values. */
static int read_one_line(Reading *reading, Span *text)
{
    size_t n = 0;
    char *copy;

    if (!reading->has_lines || text->n == 0) {
        return 0;
    }
    copy = arena_alloc(reading->arena, text->n);
    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < text->n; i++) {
        char c = text->p[i];

        if (c != '\n' && c != '\r') {
            copy[n++] = c;
            continue;
        }
        while (i + 1 < text->n && (text->p[i + 1] == ' ' || text->p[i + 1] == '\t')) {
            i++;
        }
    }
    *text = span_make(copy, n);
    return 0;
}

static int read_block(Reading *reading, JsonValue block, size_t i)
{
    CallContentFault fault;

    if (call_content_check(block, &reading->result.content_kinds, &fault) != CALL_CONTENT_E_WRONG) {
        return 0;
    }
    return diag_set(reading->reterr_diag, CALLSOCK_E_VALUE, INVALID "content[%zu]%s%s: expected %s",
                    i, fault.member[0] != '\0' ? "." : "", fault.member, fault.wanted);
}

/* The elements of an array with their commas, without brackets and the white space inside them. */
static int read_content(Reading *reading)
{
    JsonValue content = reading->parts[PART_CONTENT];
    Span *piece;
    size_t i = 0;
    int r;

    if (content.node == NULL && reading->parts[PART_STRUCTURED].node != NULL) {
        return 0;
    }
    if (content.node == NULL || json_kind(content) != JSON_ARRAY) {
        return diag_set(reading->reterr_diag, CALLSOCK_E_VALUE,
                        INVALID "result.content: expected array, got %s",
                        content.node == NULL ? "nothing" : json_kind_name(json_kind(content)));
    }
    if (json_count(content) == 0) {
        return 0;
    }
    piece = arena_alloc(reading->arena, sizeof(*piece));
    if (piece == NULL) {
        return err_raise(-ENOMEM);
    }
    *piece = SPAN_NULL;
    for (JsonIter it = json_iter(content); json_iter_next(&it); i++) {
        Span block = json_span(it.value);

        r = read_block(reading, it.value, i);
        if (r != 0) {
            return r;
        }
        piece->p = piece->p == NULL ? block.p : piece->p;
        piece->n = (size_t)(block.p + block.n - piece->p);
    }
    r = read_one_line(reading, piece);
    if (r != 0) {
        return err_pass(r);
    }
    reading->result.pieces = piece;
    reading->result.n_pieces = 1;
    return 0;
}

/* An optional part of that kind; null is as good as absent. */
static int read_wrong_part(Reading *reading, int part, const char *wanted)
{
    return diag_set(reading->reterr_diag, CALLSOCK_E_VALUE,
                    INVALID "result.%s: expected %s, got %s", part_names[part].p, wanted,
                    json_kind_name(json_kind(reading->parts[part])));
}

static bool read_is_set(JsonValue value)
{
    return value.node != NULL && json_kind(value) != JSON_NULL;
}

static int read_flags(Reading *reading)
{
    JsonValue is_error = reading->parts[PART_IS_ERROR];
    JsonValue structured = reading->parts[PART_STRUCTURED];
    JsonValue meta = reading->parts[PART_META];
    CallResult *result = &reading->result;
    int r = 0;

    if (read_is_set(is_error) && !json_bool(is_error, &result->is_error)) {
        return read_wrong_part(reading, PART_IS_ERROR, "boolean");
    }
    result->says_no_error = read_is_set(is_error) && !result->is_error;
    if (read_is_set(meta)) {
        if (json_kind(meta) != JSON_OBJECT) {
            return read_wrong_part(reading, PART_META, "object");
        }
        result->meta = json_span(meta);
        r = read_one_line(reading, &result->meta);
    }
    if (r == 0 && structured.node != NULL) {
        result->structured = json_span(structured);
        r = read_one_line(reading, &result->structured);
    }
    return err_pass(r);
}

static int read_part_of(JsonValue key)
{
    for (int i = 0; i < N_PARTS; i++) {
        if (json_string_equals(key, part_names[i])) {
            return i;
        }
    }
    return N_PARTS;
}

static Span read_member(const JsonIter *it)
{
    Span key = json_span(it->key);
    Span value = json_span(it->value);

    return span_make(key.p, (size_t)(value.p + value.n - key.p));
}

/* Members that stand apart, side by side. */
static int read_gather(Reading *reading, JsonValue object, size_t n_bytes)
{
    char *copy = arena_alloc(reading->arena, n_bytes);
    char *at = copy;

    if (copy == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(object); json_iter_next(&it);) {
        Span member = read_member(&it);

        if (read_part_of(it.key) == N_PARTS) {
            if (at > copy) {
                *at++ = ',';
            }
            memcpy(at, member.p, member.n);
            at += member.n;
        }
    }
    reading->result.members = span_make(copy, (size_t)(at - copy));
    return 0;
}

/* Sorts the members of the result; of duplicates the last counts. What has no place is passed on,
 * as one span of the message if it stands together. */
static int read_members(Reading *reading, JsonValue object)
{
    Span run = SPAN_NULL;
    bool was_part = true;
    size_t n_runs = 0;
    size_t n_bytes = 0;
    int r = 0;

    for (JsonIter it = json_iter(object); json_iter_next(&it);) {
        Span member = read_member(&it);
        int part = read_part_of(it.key);

        if (part < N_PARTS) {
            reading->parts[part] = it.value;
        } else {
            n_runs += was_part ? 1 : 0;
            n_bytes += member.n + 1;
            run.p = run.p == NULL ? member.p : run.p;
            run.n = (size_t)(member.p + member.n - run.p);
        }
        was_part = part < N_PARTS;
    }
    reading->result.members = run;
    if (n_runs > 1) {
        r = read_gather(reading, object, n_bytes);
    }
    if (r == 0) {
        r = read_one_line(reading, &reading->result.members);
    }
    return err_pass(r);
}

static int read_result(Reading *reading, JsonValue object)
{
    int r;

    if (json_kind(object) != JSON_OBJECT) {
        return diag_set(reading->reterr_diag, CALLSOCK_E_VALUE,
                        INVALID "result: expected object, got %s",
                        json_kind_name(json_kind(object)));
    }
    reading->result.kind = CALL_RESULT_TOOL;
    r = read_members(reading, object);
    if (r == 0) {
        r = read_content(reading);
    }
    return r == 0 ? read_flags(reading) : r;
}

/* The text of a member; empty if there is none. */
static int read_text(Reading *reading, JsonValue object, Span name, Span *ret)
{
    JsonValue value;

    if (!json_get(object, name, &value) || json_kind(value) != JSON_STRING) {
        return 0;
    }
    return err_fold(json_string_exact(value, reading->arena, ret));
}

/* An error is one, whatever it lacks: its asker is told as much as there is. */
static int read_error(Reading *reading, JsonValue error)
{
    CallResult *result = &reading->result;
    JsonValue interrupted;
    int r;

    result->kind = CALL_RESULT_ERROR;
    result->error = CALL_ERROR_RAISED;
    if (json_kind(error) == JSON_STRING) {
        return err_fold(json_string_exact(error, reading->arena, &result->message));
    }
    if (json_kind(error) != JSON_OBJECT) {
        return diag_set(reading->reterr_diag, CALLSOCK_E_VALUE,
                        INVALID "error: expected object, got %s", json_kind_name(json_kind(error)));
    }
    r = read_text(reading, error, SPAN("message"), &result->message);
    if (r == 0) {
        r = read_text(reading, error, SPAN("type"), &result->error_type);
    }
    if (r != 0) {
        return err_pass(r);
    }
    if (json_get(error, SPAN(CALLSOCK_ERROR_INTERRUPTED), &interrupted)) {
        (void)json_bool(interrupted, &result->is_interrupted);
    }
    if (span_equals(result->error_type, SPAN(CALLSOCK_TYPE_NOT_FOUND))) {
        result->error = CALL_ERROR_UNKNOWN_TOOL;
    }
    if (result->message.n == 0) {
        result->message = span_from_str(call_error_text(result->error));
    }
    return 0;
}

int callsock_response_read(CallResult *ret, Arena *arena, Span message, Diag *reterr_diag)
{
    Reading reading = {.arena = arena, .reterr_diag = reterr_diag};
    JsonValue root;
    JsonValue result = JSON_VALUE_NULL;
    JsonValue error = JSON_VALUE_NULL;
    int r = callsock_message_parse(&root, arena, message, reterr_diag);

    if (r != 0) {
        return r < 0 ? err_pass(r) : r;
    }
    (void)json_get(root, SPAN("result"), &result);
    (void)json_get(root, SPAN("error"), &error);
    if (read_is_set(result) && read_is_set(error)) {
        return diag_set(reterr_diag, CALLSOCK_E_VALUE, INVALID "both 'result' and 'error' fields");
    }
    if (!read_is_set(result) && !read_is_set(error)) {
        return diag_set(reterr_diag, CALLSOCK_E_VALUE,
                        INVALID "missing both 'result' and 'error' fields");
    }
    reading.has_lines =
        memchr(message.p, '\n', message.n) != NULL || memchr(message.p, '\r', message.n) != NULL;
    r = read_is_set(error) ? read_error(&reading, error) : read_result(&reading, result);
    if (r != 0) {
        return r < 0 ? err_pass(r) : r;
    }
    *ret = reading.result;
    return 0;
}
