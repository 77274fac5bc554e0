#include "dialect/pipe/message.h"

#include "base/compiler.h"
#include "base/error.h"
#include "dialect/pipe/message_internal.h"

/* The names of a result's members, brackets and commas, and the number at its end. */
#define RESULT_OVERHEAD ((size_t)128)

/* What each CallError is called on the pipe; those of prompts and lists do not come here. */
static const char *const error_codes[CALL_N_ERRORS] = {
    [CALL_ERROR_NONE] = PIPE_CODE_HANDLER,
    [CALL_ERROR_UNKNOWN_TOOL] = PIPE_CODE_NOT_FOUND,
    [CALL_ERROR_UNKNOWN_PROMPT] = PIPE_CODE_HANDLER,
    [CALL_ERROR_UNKNOWN_RESOURCE] = PIPE_CODE_NO_RESOURCE,
    [CALL_ERROR_INVALID_ARGUMENTS] = PIPE_CODE_INVALID,
    [CALL_ERROR_INVALID_CURSOR] = PIPE_CODE_HANDLER,
    [CALL_ERROR_RATE] = PIPE_CODE_HANDLER,
    [CALL_ERROR_BUSY] = PIPE_CODE_HANDLER,
    [CALL_ERROR_TIMEOUT] = PIPE_CODE_TIMEOUT,
    [CALL_ERROR_CANCELLED] = PIPE_CODE_CANCELLED,
    [CALL_ERROR_UNAVAILABLE] = PIPE_CODE_NOT_AVAILABLE,
    [CALL_ERROR_BAD_RESULT] = PIPE_CODE_HANDLER,
    [CALL_ERROR_TOO_LARGE] = PIPE_CODE_TOO_LARGE,
    [CALL_ERROR_CANNOT_ASK] = PIPE_CODE_HANDLER,
    [CALL_ERROR_NEEDS_LATER] = PIPE_CODE_HANDLER,
    [CALL_ERROR_NEVER_LATER] = PIPE_CODE_HANDLER,
    [CALL_ERROR_UNKNOWN_TASK] = PIPE_CODE_HANDLER,
    [CALL_ERROR_TASK_OVER] = PIPE_CODE_HANDLER,
    [CALL_ERROR_DROPPED] = PIPE_CODE_HANDLER,
    [CALL_ERROR_INTERNAL] = PIPE_CODE_HANDLER,
    [CALL_ERROR_RAISED] = PIPE_CODE_HANDLER, /* unless it says its own */
    [CALL_ERROR_OWN] = PIPE_CODE_HANDLER,
};

/* An answer on its way, and what the failure of a call is called; the words are in the arena. */
typedef struct Failure {
    Arena arena;
    Bytes words;
    Bytes joined; /* texts of several blocks */
    Span code;
    Span message;
    Span data; /* an envelope that says all of it; else empty */
    int r;
} Failure;

static void failure_deinit(Failure *f)
{
    bytes_deinit(&f->words);
    bytes_deinit(&f->joined);
    arena_deinit(&f->arena);
}

static void failure_add(Failure *f, Span text)
{
    if (f->r == 0) {
        f->r = bytes_append_span(&f->words, text);
    }
}

/* The JSON in n pieces, which somebody vouches for; false if it is none after all, or if there is
 * no memory. Borrows `words`. */
static bool failure_parse(Failure *f, const Span *pieces, size_t n, Span before, Span after,
                          JsonValue *ret)
{
    JsonDoc doc;
    int r;

    bytes_clear(&f->words);
    failure_add(f, before);
    for (size_t i = 0; i < n; i++) {
        failure_add(f, pieces[i]);
    }
    failure_add(f, after);
    if (f->r != 0) {
        return false;
    }
    r = json_parse(&doc, &f->arena, f->words.data, f->words.n, NULL, NULL);
    f->r = r < 0 ? r : 0;
    *ret = r == 0 ? json_root(&doc) : JSON_VALUE_NULL;
    return r == 0;
}

/* The text of a member, copied, since `words` is used again; empty if there is none. */
static Span failure_text(Failure *f, JsonValue object, Span name)
{
    JsonValue value;
    Span text = SPAN_NULL;

    if (f->r != 0 || !json_get(object, name, &value) || json_kind(value) != JSON_STRING) {
        return SPAN_NULL;
    }
    if (json_string_exact(value, &f->arena, &text) != 0) {
        f->r = err_raise(-ENOMEM);
        return SPAN_NULL;
    }
    text = arena_copy(&f->arena, text);
    if (text.p == NULL) {
        f->r = err_raise(-ENOMEM);
        return SPAN_NULL;
    }
    return text;
}

/* "Argument validation failed: arguments/a: expected number; arguments: missing property \"b\"". */
static void failure_problems(Failure *f)
{
    bytes_clear(&f->words);
    failure_add(f, SPAN("Argument validation failed: "));
    failure_add(f, f->message);
    f->message = bytes_span(&f->words);
}

bool pipe_is_code(Span s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (!((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')) {
            return false;
        }
    }
    return s.n > 0;
}

/* An exception: one that looks like a code is one. */
static void failure_raised(Failure *f, const CallResult *result)
{
    if (pipe_is_code(result->error_type)) {
        f->code = result->error_type;
    } else if (result->error_type.n > 0) {
        failure_add(f, result->error_type);
        failure_add(f, SPAN(": "));
        failure_add(f, f->message);
        f->message = bytes_span(&f->words);
    }
}

/* "CODE: message", as pipe_resource_read says it, so that the code survives a relay. False if it is
 * nothing of the kind. */
static bool failure_split(Failure *f)
{
    const char *colon = memchr(f->message.p, ':', f->message.n);
    size_t n = colon != NULL ? (size_t)(colon - f->message.p) : 0;

    /* pipe_is_code refuses what is empty, so that there is a colon. */
    if (!pipe_is_code(span_make(f->message.p, n)) || n + 2 >= f->message.n || colon[1] != ' ') {
        return false;
    }
    f->code = span_make(f->message.p, n);
    f->message = span_make(f->message.p + n + 2, f->message.n - n - 2);
    return true;
}

/* reads: a resource was to be read. */
static void failure_of_error(Failure *f, const CallResult *result, bool reads)
{
    f->code = span_from_str(error_codes[result->error]);
    f->message = pipe_words_or(result->message, call_error_text(result->error));
    if (reads && failure_split(f)) {
        return;
    }
    if (result->error == CALL_ERROR_INVALID_ARGUMENTS) {
        failure_problems(f);
    } else if (result->error == CALL_ERROR_RAISED) {
        failure_raised(f, result);
    }
}

/* The texts of the blocks that are one, each on lines of its own. */
static Span failure_texts(Failure *f, const CallResult *result)
{
    JsonValue content;

    if (!failure_parse(f, result->pieces, result->n_pieces, SPAN("["), SPAN("]"), &content)) {
        return SPAN_NULL;
    }
    for (JsonIter it = json_iter(content); f->r == 0 && json_iter_next(&it);) {
        JsonValue type;
        Span text;

        if (!json_get(it.value, SPAN("type"), &type) || !json_string_equals(type, SPAN("text"))) {
            continue;
        }
        text = failure_text(f, it.value, SPAN("text"));
        if (f->r == 0 && f->joined.n > 0) {
            f->r = bytes_append_byte(&f->joined, '\n');
        }
        if (f->r == 0) {
            f->r = bytes_append_span(&f->joined, text);
        }
    }
    return bytes_span(&f->joined);
}

/* A tool that says that it failed: what its structured content says in the form in which
 * pipe_result_read has it, so that it survives a relay; else its text. */
static void failure_of_tool(Failure *f, const CallResult *result)
{
    JsonValue structured;
    JsonValue error;

    if (result->structured.n > 0 &&
        failure_parse(f, &result->structured, 1, SPAN_NULL, SPAN_NULL, &structured)) {
        if (pipe_is_failed_envelope(structured)) {
            f->code = failure_text(f, structured, SPAN("code"));
            f->message = failure_text(f, structured, SPAN("msg"));
            f->data = result->structured;
        } else if (json_get(structured, SPAN("error"), &error)) {
            f->code = failure_text(f, error, SPAN("code"));
            f->message = failure_text(f, error, SPAN("message"));
        }
    }
    if (f->r == 0 && f->message.n == 0) {
        f->message = failure_texts(f, result);
    }
    f->code = pipe_words_or(f->code, PIPE_CODE_HANDLER);
    f->message = pipe_words_or(f->message, call_error_text(CALL_ERROR_RAISED));
}

static void write_result_head(PipeOut *o, Span call_id, bool success)
{
    pipe_out_span(o, SPAN("\"call_id\":"));
    pipe_out_string(o, call_id);
    pipe_out_span(o, success ? SPAN(",\"success\":true,\"data\":")
                             : SPAN(",\"success\":false,\"data\":"));
}

static void write_duration(PipeOut *o, int64_t duration_ms)
{
    pipe_out_span(o, SPAN(",\"duration_ms\":"));
    pipe_out_int(o, duration_ms < 0 ? 0 : duration_ms);
}

static int write_failure(Bytes *out, const PipeHead *head, Span call_id, const CallResult *result,
                         int64_t duration_ms, bool reads)
{
    CLEANUP(failure_deinit) Failure f = {.r = 0};
    PipeOut o;

    /* Bounded by the result. */
    arena_init(&f.arena, SIZE_MAX);
    bytes_init(&f.words, SIZE_MAX);
    bytes_init(&f.joined, SIZE_MAX);
    if (result->kind == CALL_RESULT_TOOL) {
        failure_of_tool(&f, result);
    } else {
        failure_of_error(&f, result, reads);
    }
    if (f.r != 0) {
        return err_fold(f.r);
    }
    o = pipe_out_begin(out, head, PIPE_TOOL_RESULT, NULL);
    write_result_head(&o, call_id, false);
    pipe_out_span(&o, f.data.n > 0 ? f.data : SPAN("{}"));
    pipe_out_span(&o, SPAN(",\"error\":{\"code\":"));
    pipe_out_string(&o, f.code);
    pipe_out_span(&o, SPAN(",\"message\":"));
    pipe_out_string(&o, f.message);
    pipe_out_span(&o, result->is_interrupted ? SPAN(",\"" PIPE_ERROR_INTERRUPTED "\":true}")
                                             : SPAN("}"));
    write_duration(&o, duration_ms);
    return pipe_out_finish(&o);
}

/* The document's own words. */
static int write_unknown_tool(Bytes *out, const PipeHead *head, Span call_id, Span tool_name)
{
    CLEANUP(bytes_deinit) Bytes words = BYTES_NULL;
    int r;

    /* Bounded by the message that the name came in. */
    bytes_init(&words, SIZE_MAX);
    r = bytes_append_span(&words, SPAN("No handler registered for tool '"));
    if (r == 0) {
        r = bytes_append_span(&words, tool_name);
    }
    if (r == 0) {
        r = bytes_append_byte(&words, '\'');
    }
    if (r != 0) {
        return err_fold(r);
    }
    return pipe_write_error(out, head, SPAN(PIPE_CODE_NOT_FOUND), bytes_span(&words), call_id);
}

/* list: {"NAME":[ for what has no structured content. */
static int write_success(Bytes *out, const PipeHead *head, Span call_id, const CallResult *result,
                         int64_t duration_ms, Span list, BytesLent *ret_lent)
{
    PipeOut o = pipe_out_begin(out, head, PIPE_TOOL_RESULT, ret_lent);
    size_t n = result->structured.n;

    for (size_t i = 0; i < result->n_pieces && result->structured.n == 0; i++) {
        n += result->pieces[i].n;
    }
    write_result_head(&o, call_id, true);
    pipe_out_reserve(&o, n + RESULT_OVERHEAD);
    if (result->structured.n > 0) {
        pipe_out_large(&o, result->structured);
    } else {
        pipe_out_span(&o, list);
        for (size_t i = 0; i < result->n_pieces; i++) {
            pipe_out_large(&o, result->pieces[i]);
        }
        pipe_out_span(&o, SPAN("]}"));
    }
    pipe_out_span(&o, SPAN(",\"error\":null"));
    write_duration(&o, duration_ms);
    return pipe_out_finish(&o);
}

/* No hub can be asked anything; and no other kind answers what it can call. */
static CallResult no_answer(CallResultKind kind)
{
    return (CallResult){.kind = CALL_RESULT_ERROR,
                        .error =
                            kind == CALL_RESULT_ASK ? CALL_ERROR_CANNOT_ASK : CALL_ERROR_INTERNAL};
}

int pipe_write_result(Bytes *out, const PipeHead *head, Span call_id, Span tool_name,
                      const CallResult *result, int64_t duration_ms)
{
    return pipe_write_result_lent(out, head, call_id, tool_name, result, duration_ms, NULL);
}

int pipe_write_result_lent(Bytes *out, const PipeHead *head, Span call_id, Span tool_name,
                           const CallResult *result, int64_t duration_ms, BytesLent *ret_lent)
{
    CallResult none;

    if (result->kind == CALL_RESULT_TOOL && !result->is_error) {
        return write_success(out, head, call_id, result, duration_ms, SPAN("{\"content\":["),
                             ret_lent);
    }
    if (result->kind == CALL_RESULT_ERROR && result->error == CALL_ERROR_UNKNOWN_TOOL) {
        return write_unknown_tool(out, head, call_id, tool_name);
    }
    if (result->kind != CALL_RESULT_TOOL && result->kind != CALL_RESULT_ERROR) {
        none = no_answer(result->kind);
        result = &none;
    }
    return write_failure(out, head, call_id, result, duration_ms, false);
}

int pipe_write_resource(Bytes *out, const PipeHead *head, Span call_id, const CallResult *result,
                        int64_t duration_ms, BytesLent *ret_lent)
{
    CallResult none;

    if (result->kind == CALL_RESULT_RESOURCE) {
        return write_success(out, head, call_id, result, duration_ms, SPAN("{\"contents\":["),
                             ret_lent);
    }
    if (result->kind != CALL_RESULT_ERROR) {
        none = no_answer(result->kind);
        result = &none;
    }
    return write_failure(out, head, call_id, result, duration_ms, true);
}
