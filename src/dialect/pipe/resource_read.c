/* What an add-in says about a resource that was to be read, as the result of that call. */
#include "dialect/pipe/message.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/compiler.h"
#include "base/error.h"
#include "dialect/pipe/message_internal.h"

/* Room for where something is wrong, and what. */
#define WRONG_SIZE 160

/* Letters of a blob that are looked at together; four make three bytes. */
#define BLOB_LETTERS ((size_t)1024)

/* What the codes mean to one who reads; any other is internal. */
static const struct {
    Span code;
    CallError error;
} code_errors[] = {
    {SPAN_INIT(PIPE_CODE_NO_RESOURCE), CALL_ERROR_UNKNOWN_RESOURCE},
    /* One that does not know how to read has nothing to be read. */
    {SPAN_INIT(PIPE_CODE_NOT_FOUND), CALL_ERROR_UNKNOWN_RESOURCE},
    {SPAN_INIT(PIPE_CODE_INVALID), CALL_ERROR_INVALID_ARGUMENTS},
    {SPAN_INIT(PIPE_CODE_NOT_AVAILABLE), CALL_ERROR_UNAVAILABLE},
    {SPAN_INIT(PIPE_CODE_DISCONNECTED), CALL_ERROR_UNAVAILABLE},
    {SPAN_INIT(PIPE_CODE_TIMEOUT), CALL_ERROR_TIMEOUT},
    {SPAN_INIT(PIPE_CODE_TOO_LARGE), CALL_ERROR_TOO_LARGE},
    {SPAN_INIT(PIPE_CODE_PROTOCOL), CALL_ERROR_BAD_RESULT},
};

static CallError error_of(Span code)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(code_errors); i++) {
        if (span_equals(code, code_errors[i].code)) {
            return code_errors[i].error;
        }
    }
    return CALL_ERROR_INTERNAL;
}

/* "CODE: message". */
static int read_failure(CallResult *ret, Arena *arena, Span code, Span message)
{
    CallError error = error_of(code);
    size_t n;
    char *text;

    message = pipe_words_or(message, call_error_text(error));
    n = code.n + 2 + message.n;
    text = arena_alloc(arena, n);
    if (text == NULL) {
        return err_raise(-ENOMEM);
    }
    memcpy(text, code.p, code.n);
    memcpy(text + code.n, ": ", 2);
    memcpy(text + code.n + 2, message.p, message.n);
    *ret = (CallResult){.kind = CALL_RESULT_ERROR, .error = error, .message = span_make(text, n)};
    return 0;
}

/* The contents that are being looked at. */
typedef struct Contents {
    JsonValue list;
    Arena *arena;
    bool has_null; /* a member that is to be left out */
    bool has_more; /* members that not every revision of MCP has */
    char wrong[WRONG_SIZE];
    int r; /* -ENOMEM: it could not be looked at */
} Contents;

static bool refuse(Contents *c, const char *where, const char *wanted, JsonValue got)
{
    (void)snprintf(c->wrong, sizeof(c->wrong),
                   "the add-in's answer is no resource: %s: expected %s, got %s", where, wanted,
                   got.node == NULL ? "nothing" : json_kind_name(json_kind(got)));
    return false;
}

static bool refuse_member(Contents *c, size_t i, const char *name, const char *wanted,
                          JsonValue got)
{
    char where[WRONG_SIZE / 2];

    (void)snprintf(where, sizeof(where), "data.contents[%zu]%s%s", i, name[0] != '\0' ? "." : "",
                   name);
    return refuse(c, where, wanted, got);
}

/* The members of one that must be strings, if they are there. */
typedef enum Member {
    MEMBER_URI,
    MEMBER_TEXT,
    MEMBER_BLOB,
    MEMBER_MIME_TYPE,
    N_MEMBERS,
} Member;

static const char *const member_names[N_MEMBERS] = {
    [MEMBER_URI] = "uri",
    [MEMBER_TEXT] = "text",
    [MEMBER_BLOB] = "blob",
    [MEMBER_MIME_TYPE] = "mimeType",
};

static Member member_of(JsonValue key)
{
    Member m = MEMBER_URI;

    while (m < N_MEMBERS && !json_string_equals(key, span_from_str(member_names[m]))) {
        m++;
    }
    return m;
}

/* Of any size, in constant memory. */
static bool is_base64(Span text)
{
    char data[BLOB_LETTERS / 4 * 3];
    Bytes out = {.data = data, .cap = sizeof(data), .max_bytes = sizeof(data)};

    while (text.n > BLOB_LETTERS) {
        /* Padding belongs at the very end. */
        if (text.p[BLOB_LETTERS - 1] == '=' ||
            base64_decode(&out, BASE64_STANDARD, span_make(text.p, BLOB_LETTERS)) != 0) {
            return false;
        }
        out.n = 0;
        text = span_make(text.p + BLOB_LETTERS, text.n - BLOB_LETTERS);
    }
    return base64_decode(&out, BASE64_STANDARD, text) == 0;
}

/* Some writers escape a plus or a slash. */
static bool check_blob(Contents *c, size_t i, JsonValue blob)
{
    Span text;

    if (json_string(blob, c->arena, &text) != 0) {
        c->r = err_raise(-ENOMEM);
        return false;
    }
    if (!is_base64(text)) {
        (void)snprintf(
            c->wrong, sizeof(c->wrong),
            "the add-in's answer is no resource: data.contents[%zu].blob: expected base64", i);
        return false;
    }
    return true;
}

static bool check_one(Contents *c, size_t i, JsonValue one)
{
    bool has[N_MEMBERS] = {false};

    if (json_kind(one) != JSON_OBJECT) {
        return refuse_member(c, i, "", "object", one);
    }
    for (JsonIter it = json_iter(one); json_iter_next(&it);) {
        Member m = member_of(it.key);

        if (json_kind(it.value) == JSON_NULL) {
            c->has_null = true;
        } else if (m == N_MEMBERS) {
            c->has_more = true;
        } else if (json_kind(it.value) != JSON_STRING) {
            return refuse_member(c, i, member_names[m], "string", it.value);
        } else if (m == MEMBER_BLOB && !check_blob(c, i, it.value)) {
            return false;
        } else {
            has[m] = true;
        }
    }
    if (!has[MEMBER_URI]) {
        return refuse_member(c, i, "uri", "string", JSON_VALUE_NULL);
    }
    return has[MEMBER_TEXT] || has[MEMBER_BLOB] ||
           refuse_member(c, i, "", "text or blob", JSON_VALUE_NULL);
}

static bool check(Contents *c, JsonValue data)
{
    size_t i = 0;

    if (data.node == NULL || json_kind(data) != JSON_OBJECT) {
        return refuse(c, "data", "object", data);
    }
    if (!json_get(data, SPAN("contents"), &c->list)) {
        return refuse(c, "data.contents", "array", JSON_VALUE_NULL);
    }
    if (json_kind(c->list) != JSON_ARRAY) {
        return refuse(c, "data.contents", "array", c->list);
    }
    for (JsonIter it = json_iter(c->list); json_iter_next(&it); i++) {
        if (!check_one(c, i, it.value)) {
            return false;
        }
    }
    return true;
}

/* One without its members that are null. */
static void copy_one(Bytes *copy, JsonValue one)
{
    bool is_first = true;

    (void)bytes_append_byte(copy, '{');
    for (JsonIter it = json_iter(one); json_iter_next(&it);) {
        Span key = json_span(it.key);
        Span value = json_span(it.value);

        if (json_kind(it.value) != JSON_NULL) {
            (void)bytes_append_span(copy, is_first ? SPAN("") : SPAN(","));
            (void)bytes_append(copy, key.p, (size_t)(value.p + value.n - key.p));
            is_first = false;
        }
    }
    (void)bytes_append_byte(copy, '}');
}

/* The elements, without the brackets; only copied if something has to be left out. */
static int read_elements(const Contents *c, Arena *arena, Span *ret)
{
    Span list = json_span(c->list);
    Bytes copy;

    if (!c->has_null) {
        *ret = span_make(list.p + 1, list.n - 2);
        return 0;
    }
    /* Shorter than the list by what is left out. */
    copy = (Bytes){.data = arena_alloc(arena, list.n), .cap = list.n, .max_bytes = list.n};
    if (copy.data == NULL) {
        return err_raise(-ENOMEM);
    }
    for (JsonIter it = json_iter(c->list); json_iter_next(&it);) {
        (void)bytes_append_span(&copy, copy.n == 0 ? SPAN("") : SPAN(","));
        copy_one(&copy, it.value);
    }
    *ret = bytes_span(&copy);
    return 0;
}

static int read_contents(CallResult *ret, Arena *arena, const Contents *c)
{
    Span *piece = arena_alloc_array(arena, 1, sizeof(*piece));
    int r;

    if (piece == NULL) {
        return err_raise(-ENOMEM);
    }
    r = read_elements(c, arena, piece);
    if (r == 0) {
        r = pipe_one_line(arena, piece);
    }
    if (r != 0) {
        return err_pass(r);
    }
    *ret = (CallResult){.kind = CALL_RESULT_RESOURCE,
                        .pieces = piece,
                        .n_pieces = json_count(c->list) > 0 ? 1 : 0,
                        .content_kinds = c->has_more ? CALL_CONTENT_UNKNOWN : 0};
    return 0;
}

int pipe_resource_read(CallResult *ret, Arena *arena, const PipeMessage *message, int64_t waited_ms)
{
    Contents contents = {.list = JSON_VALUE_NULL, .arena = arena};
    CallResult result;
    int r;

    if (!message->success) {
        r = read_failure(&result, arena, pipe_words_or(message->code, PIPE_CODE_HANDLER),
                         message->message);
    } else if (!check(&contents, message->data)) {
        r = contents.r != 0 ? contents.r
                            : read_failure(&result, arena, SPAN(PIPE_CODE_PROTOCOL),
                                           span_from_str(contents.wrong));
    } else {
        r = read_contents(&result, arena, &contents);
    }
    if (r == 0 && result.kind == CALL_RESULT_RESOURCE) {
        r = pipe_read_meta(&result, arena, message->duration_ms, waited_ms);
    }
    if (r == 0) {
        *ret = result;
    }
    return err_pass(r);
}

int pipe_resource_fail(CallResult *ret, Arena *arena, const char *code, Span message)
{
    return err_pass(read_failure(ret, arena, span_from_str(code), message));
}
