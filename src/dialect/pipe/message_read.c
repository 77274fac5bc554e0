/* A message, read. What would only punish a peer for its spelling is let pass; what is needed to
 * answer must be there. */
#include "dialect/pipe/message.h"

#include "base/compiler.h"
#include "base/error.h"
#include "base/limits.h"
#include "json/look.h"

static const Span type_names[PIPE_N_TYPES] = {
    [PIPE_TOOL_CALL] = SPAN_INIT("tool_call"),
    [PIPE_TOOL_RESULT] = SPAN_INIT("tool_result"),
    [PIPE_PING] = SPAN_INIT("ping"),
    [PIPE_PONG] = SPAN_INIT("pong"),
    [PIPE_ERROR] = SPAN_INIT("error"),
    [PIPE_TOOL_PROGRESS] = SPAN_INIT("tool_progress"),
    [PIPE_TOOL_CANCEL] = SPAN_INIT("tool_cancel"),
    [PIPE_TOOLS_CHANGED] = SPAN_INIT("tools_changed"),
};

/* More than this is not an exact duration, nor one that anybody had. */
#define READ_MAX_DURATION_MS 9007199254740992.0

/* Nesting: what a tool gives, and message and payload around it. */
#define READ_MAX_DEPTH (LIMIT_RESULT_DEPTH + 2)

typedef struct Reading {
    Arena *arena;
    Diag *reterr_diag;
    JsonValue id; /* as it came; node NULL if absent or null */
    PipeMessage message;
} Reading;

/* The member of that name, if it is there and not null. */
static bool read_get(JsonValue object, const char *name, JsonValue *ret)
{
    JsonValue value;

    *ret = JSON_VALUE_NULL;
    if (object.node == NULL || !json_get(object, span_from_str(name), &value) ||
        json_kind(value) == JSON_NULL) {
        return false;
    }
    *ret = value;
    return true;
}

static int read_wrong(Reading *reading, int code, const char *field, const char *wanted,
                      JsonValue got)
{
    if (reading->reterr_diag != NULL) {
        (void)diag_set(reading->reterr_diag, code, "%s: expected %s, got %s", field, wanted,
                       got.node == NULL ? "nothing" : json_kind_name(json_kind(got)));
        diag_set_field(reading->reterr_diag, "%s", field);
    }
    return code;
}

/* A string that decides nothing: empty if it is none. */
static int read_text(Reading *reading, JsonValue object, const char *name, Span *ret)
{
    JsonValue value;

    if (!read_get(object, name, &value) || json_kind(value) != JSON_STRING) {
        return 0;
    }
    return err_fold(json_string_exact(value, reading->arena, ret));
}

/* One that is needed, under this name inside of the object. */
static int read_needed(Reading *reading, JsonValue object, const char *name, const char *field,
                       Span *ret)
{
    JsonValue value;

    if (!read_get(object, name, &value) || json_kind(value) != JSON_STRING) {
        return read_wrong(reading, PIPE_E_VALUE, field, "string", value);
    }
    return err_fold(json_string_exact(value, reading->arena, ret));
}

/* What an error says, be it a string or a number. */
static int read_words(Reading *reading, JsonValue object, const char *name, Span *ret)
{
    JsonValue value;

    if (read_get(object, name, &value) && json_kind(value) == JSON_NUMBER) {
        *ret = json_span(value);
        return 0;
    }
    return err_pass(read_text(reading, object, name, ret));
}

static int read_call(Reading *reading, JsonValue payload)
{
    PipeMessage *m = &reading->message;
    int r;

    if (m->id.n == 0) {
        bool is_string = reading->id.node != NULL && json_kind(reading->id) == JSON_STRING;

        return read_wrong(reading, PIPE_E_VALUE, "id",
                          is_string ? "string that is not empty" : "string", reading->id);
    }
    r = read_needed(reading, payload, "tool_name", "payload.tool_name", &m->tool_name);
    if (r != 0) {
        return r < 0 ? err_pass(r) : r;
    }
    if (read_get(payload, "args", &m->args) && json_kind(m->args) != JSON_OBJECT) {
        return read_wrong(reading, PIPE_E_VALUE, "payload.args", "object", m->args);
    }
    return 0;
}

static int64_t read_duration(JsonValue value)
{
    double ms;

    if (json_double(value, &ms) != 0 || !(ms >= 0 && ms <= READ_MAX_DURATION_MS)) {
        return -1;
    }
    return (int64_t)ms;
}

/* A result's error; whatever it is, its asker is told. */
static int read_error_of(Reading *reading)
{
    PipeMessage *m = &reading->message;
    int r;

    if (json_kind(m->error) == JSON_STRING) {
        return err_fold(json_string_exact(m->error, reading->arena, &m->message));
    }
    if (json_kind(m->error) != JSON_OBJECT) {
        m->message = json_span(m->error);
        return 0;
    }
    r = read_words(reading, m->error, "code", &m->code);
    return r == 0 ? err_pass(read_words(reading, m->error, "message", &m->message)) : err_pass(r);
}

static int read_result(Reading *reading, JsonValue payload)
{
    PipeMessage *m = &reading->message;
    JsonValue value;
    int r = read_needed(reading, payload, "call_id", "payload.call_id", &m->call_id);

    if (r != 0) {
        return r < 0 ? err_pass(r) : r;
    }
    (void)read_get(payload, "data", &m->data);
    (void)read_get(payload, "error", &m->error);
    if (read_get(payload, "success", &value) || m->error.node == NULL) {
        if (value.node == NULL || !json_bool(value, &m->success)) {
            return read_wrong(reading, PIPE_E_VALUE, "payload.success", "boolean", value);
        }
    }
    if (read_get(payload, "duration_ms", &value)) {
        m->duration_ms = read_duration(value);
    }
    return m->error.node != NULL ? err_pass(read_error_of(reading)) : 0;
}

static int read_error(Reading *reading, JsonValue payload)
{
    PipeMessage *m = &reading->message;
    int r = read_words(reading, payload, "code", &m->code);

    if (r == 0) {
        r = read_words(reading, payload, "message", &m->message);
    }
    if (r == 0) {
        r = read_text(reading, payload, "call_id", &m->call_id);
    }
    return err_pass(r);
}

static int read_progress(Reading *reading, JsonValue payload)
{
    PipeMessage *m = &reading->message;
    JsonValue value;
    double number;
    int r = read_needed(reading, payload, "call_id", "payload.call_id", &m->call_id);

    if (r != 0) {
        return r < 0 ? err_pass(r) : r;
    }
    (void)read_get(payload, "progress", &m->progress);
    if (m->progress.node == NULL || json_double(m->progress, &number) != 0) {
        return read_wrong(reading, PIPE_E_VALUE, "payload.progress", "number", m->progress);
    }
    if (read_get(payload, "total", &value)) {
        if (json_double(value, &number) != 0) {
            return read_wrong(reading, PIPE_E_VALUE, "payload.total", "number", value);
        }
        m->total = value;
    }
    if (read_get(payload, "message", &value) && json_kind(value) != JSON_STRING) {
        return read_wrong(reading, PIPE_E_VALUE, "payload.message", "string", value);
    }
    return err_pass(read_text(reading, payload, "message", &m->message));
}

static int read_payload(Reading *reading, JsonValue root)
{
    PipeType type = reading->message.type;
    JsonValue payload;

    (void)read_get(root, "payload", &payload);
    if (type == PIPE_PING || type == PIPE_PONG || type == PIPE_TOOLS_CHANGED) {
        return 0;
    }
    if (type == PIPE_ERROR) {
        return err_pass(read_error(reading, payload));
    }
    if (payload.node == NULL || json_kind(payload) != JSON_OBJECT) {
        return read_wrong(reading, PIPE_E_VALUE, "payload", "object", payload);
    }
    if (type == PIPE_TOOL_CANCEL) {
        return read_needed(reading, payload, "call_id", "payload.call_id",
                           &reading->message.call_id);
    }
    return type == PIPE_TOOL_CALL       ? read_call(reading, payload)
           : type == PIPE_TOOL_PROGRESS ? read_progress(reading, payload)
                                        : read_result(reading, payload);
}

/* 0, -ENOMEM, PIPE_E_PROTOCOL, PIPE_E_UNKNOWN. */
static int read_type(Reading *reading, JsonValue root)
{
    JsonValue value;
    Span name;
    int r;

    if (!read_get(root, "type", &value) || json_kind(value) != JSON_STRING) {
        return read_wrong(reading, PIPE_E_PROTOCOL, "type", "string", value);
    }
    for (int i = 0; i < PIPE_N_TYPES; i++) {
        if (json_string_equals(value, type_names[i])) {
            reading->message.type = (PipeType)i;
            return 0;
        }
    }
    r = json_string(value, reading->arena, &name);
    if (r != 0) {
        return err_fold(r);
    }
    /* More than a Diag holds is never shown. */
    r = diag_set(reading->reterr_diag, PIPE_E_UNKNOWN, "type: unknown '%.*s'",
                 (int)(name.n < DIAG_MESSAGE_SIZE ? name.n : DIAG_MESSAGE_SIZE), name.p);
    if (reading->reterr_diag != NULL) {
        diag_set_field(reading->reterr_diag, "type");
    }
    return r;
}

static int read_root(JsonValue *ret, Arena *arena, Span message, Diag *reterr_diag)
{
    JsonLimits limits = {.max_depth = READ_MAX_DEPTH};
    JsonDoc doc;
    Diag why;
    int r = json_parse(&doc, arena, message.p, message.n, &limits, &why);

    if (r < 0) {
        return err_pass(r);
    }
    if (r > 0) {
        return diag_set(reterr_diag, PIPE_E_PROTOCOL, "Invalid JSON at byte %zu: %s",
                        why.offset == DIAG_NO_OFFSET ? 0 : why.offset, why.message);
    }
    *ret = json_root(&doc);
    if (json_kind(*ret) != JSON_OBJECT) {
        return diag_set(reterr_diag, PIPE_E_PROTOCOL,
                        "Invalid message at byte %u: expected an object, got %s", ret->node->start,
                        json_kind_name(json_kind(*ret)));
    }
    return 0;
}

int pipe_message_read(PipeMessage *ret, Arena *arena, Span message, Diag *reterr_diag)
{
    Reading reading = {.arena = arena, .reterr_diag = reterr_diag, .message = {.duration_ms = -1}};
    JsonValue root = JSON_VALUE_NULL;
    int r = read_root(&root, arena, message, reterr_diag);

    if (r == PIPE_E_PROTOCOL && json_look_text_id(message, arena, &reading.message.id) != 0) {
        r = err_raise(-ENOMEM);
    }
    if (r == 0) {
        (void)read_get(root, "id", &reading.id);
        r = read_text(&reading, root, "id", &reading.message.id);
    }
    if (r == 0) {
        r = read_type(&reading, root);
    }
    if (r == 0) {
        r = read_payload(&reading, root);
    }
    *ret = reading.message;
    return r < 0 ? err_pass(r) : r;
}

int pipe_message_uri(const PipeMessage *message, Arena *arena, Span *ret)
{
    JsonValue uri;

    if (!read_get(message->args, "uri", &uri) || json_kind(uri) != JSON_STRING) {
        return PIPE_E_VALUE;
    }
    return err_fold(json_string_exact(uri, arena, ret));
}

unsigned pipe_message_understood(JsonValue object)
{
    unsigned types = 0;
    JsonValue list;

    if (object.node == NULL || json_kind(object) != JSON_OBJECT ||
        !json_get(object, SPAN(PIPE_UNDERSTANDS), &list) || json_kind(list) != JSON_ARRAY) {
        return 0;
    }
    for (JsonIter it = json_iter(list); json_iter_next(&it);) {
        for (unsigned i = 0; i < PIPE_N_TYPES; i++) {
            if (json_string_equals(it.value, type_names[i])) {
                types |= 1u << i;
            }
        }
    }
    return types;
}
