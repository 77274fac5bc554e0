#include "agent/model_error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/model_input.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/text.h"

bool model_error_is_transient(unsigned status)
{
    return status == 408 || status == 429 || status >= 500;
}

/* One line, and no byte of a terminal's control. */
static void text_set(char *ret, size_t size, Span a, const char *between, Span b)
{
    (void)snprintf(ret, size, "%.*s%s%.*s", (int)(a.n < size ? a.n : size), a.p, between,
                   (int)(b.n < size ? b.n : size), b.p);
    for (char *p = ret; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            *p = ' ';
        }
    }
}

/* The kinds of errors that pass, by the words of the services. */
static bool type_is_transient(Span type)
{
    static const char *const types[] = {
        "overloaded_error", "rate_limit_error", "api_error",           "timeout_error",
        "server_error",     "rate_limit",       "rate_limit_exceeded", "unavailable_error",
    };

    return text_is_one_of(type, types, TW_ARRAY_SIZE(types), NULL);
}

static int error_read_object(ModelError *ret, Arena *arena, JsonValue error)
{
    JsonValue code;
    uint64_t status = 0;
    Span message;
    Span type;
    int r = model_member_text(arena, error, SPAN("message"), &message);

    if (r == 0) {
        r = model_member_text(arena, error, SPAN("type"), &type);
    }
    if (r != 0) {
        return err_pass(r);
    }
    if (json_get(error, SPAN("code"), &code) && json_uint64(code, &status) == 0) {
        ret->is_transient = status < 1000 && model_error_is_transient((unsigned)status);
    }
    ret->is_transient = ret->is_transient || type_is_transient(type);
    if (message.n == 0) {
        message = type.n > 0 ? SPAN_NULL : json_span(error);
    }
    text_set(ret->text, sizeof(ret->text), type, type.n > 0 && message.n > 0 ? ": " : "", message);
    return 0;
}

int model_error_read(ModelError *ret, Arena *arena, JsonValue value)
{
    static const Span keys[] = {SPAN_INIT("error"), SPAN_INIT("message"), SPAN_INIT("detail")};
    JsonValue error = value;
    Span text = SPAN_NULL;

    *ret = (ModelError){.is_transient = false};
    if (json_get(value, SPAN("error"), &error) && json_kind(error) == JSON_OBJECT) {
        return error_read_object(ret, arena, error);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(keys) && text.n == 0; i++) {
        int r = model_member_text(arena, value, keys[i], &text);

        if (r != 0) {
            return err_pass(r);
        }
    }
    text_set(ret->text, sizeof(ret->text), text.n > 0 ? text : json_span(value), "", SPAN_NULL);
    return 0;
}

int model_error_read_http(ModelError *ret, unsigned status, Span body)
{
    ModelError error = {.is_transient = false};
    char head[32];
    JsonDoc doc;
    Arena arena;
    int r;

    arena_init(&arena, MODEL_INPUT_ARENA_BYTES(body.n));
    r = json_parse(&doc, &arena, body.p, body.n, NULL, NULL);
    if (r == 0 && json_kind(json_root(&doc)) == JSON_OBJECT) {
        r = model_error_read(&error, &arena, json_root(&doc));
    } else if (r >= 0) {
        text_set(error.text, sizeof(error.text), text_trim(body), "", SPAN_NULL);
        r = 0;
    }
    arena_deinit(&arena);
    if (r != 0) {
        return err_pass(r);
    }
    (void)snprintf(head, sizeof(head), "HTTP %u", status);
    *ret = (ModelError){.is_transient = model_error_is_transient(status)};
    text_set(ret->text, sizeof(ret->text), span_from_str(head), error.text[0] != '\0' ? ": " : "",
             span_from_str(error.text));
    return 0;
}

void model_error_mask(char *text, Span secret)
{
    size_t n = strlen(text);

    if (secret.n < 4) {
        return;
    }
    for (size_t i = 0; i + secret.n <= n; i++) {
        if (memcmp(text + i, secret.p, secret.n) == 0) {
            memset(text + i, '*', secret.n);
        }
    }
}
