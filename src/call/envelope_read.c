/* An answer in any spelling, to an envelope. */
#include "call/envelope_impl.h"

#include <math.h>
#include <string.h>

#include "base/compiler.h"
#include "base/error.h"

/* The longest run that is believed, 31 years in microseconds: what is longer is no time, and sums
 * stay far from the end of 64 bits. */
#define READ_MAX_US 1e15

/* What a peer's envelope is made of; node NULL: it is not there. */
typedef struct ReadParts {
    JsonValue members[ENVELOPE_N_MEMBERS];
    JsonValue success;
    JsonValue error_code;
    JsonValue message;
} ReadParts;

static bool has(JsonValue object, Span name)
{
    JsonValue value;

    return json_get(object, name, &value);
}

/* Is it what stands around a payload: a JSON-RPC reply, or inside one a router's wrapper? */
static bool is_wrapper(JsonValue value, bool is_inside)
{
    JsonValue inner;

    if (json_kind(value) != JSON_OBJECT || has(value, SPAN("ok"))) {
        return false;
    }
    if (has(value, SPAN("jsonrpc"))) {
        return true;
    }
    return is_inside && json_get(value, SPAN("result"), &inner) &&
           json_kind(inner) == JSON_OBJECT && has(inner, SPAN("ok"));
}

/* The payload at `result.result`, `result`, or value itself; *ret_is_error: it is the `error` of a
 * reply. */
static JsonValue read_payload(JsonValue value, bool *ret_is_error)
{
    *ret_is_error = false;
    for (int level = 0; level < 2 && is_wrapper(value, level > 0); level++) {
        JsonValue inner;

        if (json_get(value, SPAN("result"), &inner)) {
            value = inner;
        } else if (json_get(value, SPAN("error"), &inner)) {
            *ret_is_error = true;
            return inner;
        } else {
            break;
        }
    }
    return value;
}

static void read_sort(JsonValue object, ReadParts *parts)
{
    *parts = (ReadParts){.success = JSON_VALUE_NULL};
    for (JsonIter it = json_iter(object); json_iter_next(&it);) {
        EnvelopeMember member = envelope_member_of(it.key);

        if (member < ENVELOPE_N_MEMBERS) {
            parts->members[member] = it.value;
        } else if (json_string_equals(it.key, SPAN("success"))) {
            parts->success = it.value;
        } else if (json_string_equals(it.key, SPAN("errorCode"))) {
            parts->error_code = it.value;
        } else if (json_string_equals(it.key, SPAN("message"))) {
            parts->message = it.value;
        }
    }
}

static bool is_kind(JsonValue value, JsonKind kind)
{
    return value.node != NULL && json_kind(value) == kind;
}

/* The first of the two that is a string that is not empty. 0, -ENOMEM. */
static int read_text(JsonValue first, JsonValue second, Arena *arena, Span *ret)
{
    int r = 0;

    *ret = SPAN_NULL;
    if (is_kind(first, JSON_STRING)) {
        r = json_string_exact(first, arena, ret);
    }
    if (r == 0 && ret->n == 0 && is_kind(second, JSON_STRING)) {
        r = json_string_exact(second, arena, ret);
    }
    return r != 0 ? err_fold(r) : 0;
}

/* A name as codes are spelt, and no data that is called `code` by chance ("EUR", a piece of
 * source): one of ours, or capitals with an underscore. */
static bool is_code_name(Span name)
{
    EnvelopeCode code;
    bool has_underscore = false;

    if (envelope_code_parse(name, &code)) {
        return true;
    }
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];

        if (!(c >= 'A' && c <= 'Z') && (i == 0 || (c != '_' && !(c >= '0' && c <= '9')))) {
            return false;
        }
        has_underscore = has_underscore || c == '_';
    }
    return has_underscore;
}

/* Says success, or says nothing against it. *ret_is_clear false: `ok` is there, and neither true
 * nor false, which is no success that anybody could rely on. */
static bool read_ok(const ReadParts *parts, Span code, bool *ret_is_clear)
{
    JsonValue ok = parts->members[ENVELOPE_MEMBER_OK];
    bool flag;

    *ret_is_clear = ok.node == NULL || json_bool(ok, &flag);
    if (ok.node != NULL) {
        return *ret_is_clear && flag;
    }
    if (parts->success.node != NULL && json_bool(parts->success, &flag)) {
        return flag;
    }
    return span_equals(code, SPAN("OK")) || !is_code_name(code);
}

/* `code` and with it `ok`: each may say what the other leaves open. */
static int read_code(const ReadParts *parts, Arena *arena, Envelope *ret)
{
    JsonValue code = parts->members[ENVELOPE_MEMBER_CODE];
    bool is_clear;
    int r = read_text(code, parts->error_code, arena, &ret->code);

    if (r != 0) {
        return err_pass(r);
    }
    ret->is_ok = read_ok(parts, ret->code, &is_clear);
    if (!ret->is_ok && ret->code.n == 0 && is_kind(code, JSON_NUMBER)) {
        ret->code = json_span(code); /* a number of its own is better than no name */
    }
    /* Who branches on the code must not take a failure for a success. */
    if (!ret->is_ok && span_equals(ret->code, SPAN("OK"))) {
        ret->code = SPAN_NULL;
    }
    if (!is_clear && ret->code.n == 0) {
        ret->code = span_from_str(envelope_code_name(ENVELOPE_INVALID_RESULT));
    }
    return 0;
}

static int64_t read_run_us(JsonValue timings)
{
    JsonValue run;
    double ms;

    if (!json_get(timings, SPAN("revitMs"), &run) || json_double(run, &ms) != 0 || !(ms > 0)) {
        return -1;
    }
    ms = floor(ms * 1000 + 0.5);
    return ms >= READ_MAX_US ? (int64_t)READ_MAX_US : ms < 1 ? -1 : (int64_t)ms;
}

static int read_members(const ReadParts *parts, Arena *arena, Envelope *ret)
{
    const JsonValue *members = parts->members;
    int r = read_code(parts, arena, ret);

    if (r == 0) {
        r = read_text(members[ENVELOPE_MEMBER_MSG], parts->message, arena, &ret->message);
    }
    if (r == 0 && members[ENVELOPE_MEMBER_WARNINGS].node != NULL) {
        r = envelope_take_warnings(members[ENVELOPE_MEMBER_WARNINGS], arena, &ret->warnings);
    }
    if (r == 0 && members[ENVELOPE_MEMBER_NEXT_ACTIONS].node != NULL) {
        r = envelope_take_actions(members[ENVELOPE_MEMBER_NEXT_ACTIONS], arena, &ret->next_actions);
    }
    if (r == 0 && is_kind(members[ENVELOPE_MEMBER_TIMINGS], JSON_OBJECT)) {
        r = envelope_take_value(members[ENVELOPE_MEMBER_TIMINGS], arena, &ret->timings);
        ret->run_us = read_run_us(members[ENVELOPE_MEMBER_TIMINGS]);
    }
    if (r == 0 && is_kind(members[ENVELOPE_MEMBER_CONTEXT], JSON_OBJECT)) {
        r = envelope_take_value(members[ENVELOPE_MEMBER_CONTEXT], arena, &ret->context);
    }
    return err_pass(r);
}

static int read_object(JsonValue object, Arena *arena, Envelope *ret)
{
    ReadParts parts;
    int r;

    read_sort(object, &parts);
    ret->is_standard = parts.members[ENVELOPE_MEMBER_OK].node != NULL &&
                       is_kind(parts.members[ENVELOPE_MEMBER_CODE], JSON_STRING);
    r = read_members(&parts, arena, ret);
    return r != 0 ? err_pass(r) : envelope_take_own(object, arena, &ret->own);
}

static int read_scalar(JsonValue value, Arena *arena, Envelope *ret)
{
    Span json;
    int r = envelope_take_value(value, arena, &json);

    return r != 0 ? err_pass(r) : envelope_make_member("result", json, arena, &ret->own);
}

/* The codes of JSON-RPC that say what ours say. */
static Span read_rpc_code(JsonValue error)
{
    static const struct {
        int64_t number;
        EnvelopeCode code;
    } rows[] = {
        {-32601, ENVELOPE_UNKNOWN_COMMAND},
        {-32602, ENVELOPE_INVALID_PARAMS},
        {-32603, ENVELOPE_INTERNAL},
    };
    JsonValue code;
    int64_t number;

    if (!json_get(error, SPAN("code"), &code) || json_int64(code, &number) != 0) {
        return SPAN_NULL;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        if (rows[i].number == number) {
            return span_from_str(envelope_code_name(rows[i].code));
        }
    }
    return SPAN_NULL;
}

/* The `error` of a reply: an envelope, if it carries one as its data. */
static int read_rpc_error(JsonValue error, Arena *arena, Envelope *ret)
{
    JsonValue inner;
    Span json;
    int r;

    if (json_get(error, SPAN("data"), &inner) && json_kind(inner) == JSON_OBJECT &&
        has(inner, SPAN("ok"))) {
        r = read_object(inner, arena, ret);
        envelope_set_failed(ret);
        return err_pass(r);
    }
    ret->is_ok = false;
    r = envelope_take_value(error, arena, &json);
    if (r == 0) {
        r = envelope_make_member("error", json, arena, &ret->own);
    }
    if (r == 0 && json_get(error, SPAN("message"), &inner)) {
        r = read_text(inner, JSON_VALUE_NULL, arena, &ret->message);
    }
    ret->code = read_rpc_code(error);
    return err_pass(r);
}

void envelope_set_failed(Envelope *envelope)
{
    envelope->is_ok = false;
    if (span_equals(envelope->code, SPAN("OK"))) {
        envelope->code = SPAN_NULL;
    }
    if (span_equals(envelope->message, SPAN("OK"))) {
        envelope->message = SPAN_NULL;
    }
}

int envelope_read(JsonValue value, Arena *arena, Envelope *ret)
{
    bool is_error;
    JsonValue payload = read_payload(value, &is_error);

    *ret = (Envelope){.is_ok = true, .run_us = -1};
    if (is_error) {
        return err_pass(read_rpc_error(payload, arena, ret));
    }
    return err_pass(json_kind(payload) == JSON_OBJECT ? read_object(payload, arena, ret)
                                                      : read_scalar(payload, arena, ret));
}
