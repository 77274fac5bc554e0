/* What a handler adds to the answer, and what it asks. Each function holds the call's lock while it
 * works; the CallAnswer remembers the first failure. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <toolwire/error.h>

#include "api/tw_call.h"
#include "api/tw_server.h"
#include "base/alloc.h"

/* Text up to this size is formatted on the stack. */
#define CALL_FORMAT_BYTES 1024

/* JSON-RPC: the server met a condition that keeps it from answering. */
#define CALL_FAILED_CODE (-32603)

/* Takes the lock if something may be added; false, without it, if the call is over. */
static bool call_open(TwCall *call)
{
    pthread_mutex_lock(&call->lock);
    if (api_call_is_open(call)) {
        return true;
    }
    pthread_mutex_unlock(&call->lock);
    return false;
}

/* Gives the lock back and says how the answer is. */
static int call_close(TwCall *call)
{
    int r = call->answer.r;

    pthread_mutex_unlock(&call->lock);
    if (r == 0 || r == -ENOMEM) {
        return api_error_of(r);
    }
    return r == BYTES_E_FULL ? TW_ERROR_FULL : TW_ERROR_JSON;
}

/* Where a function makes sense: the sets of verbs below. */
enum {
    CALL_IN_TOOL = 1u << TW_VERB_TOOL,
    CALL_IN_READ = 1u << TW_VERB_READ,
    CALL_IN_PROMPT = 1u << TW_VERB_PROMPT,
    CALL_IN_COMPLETE = 1u << TW_VERB_COMPLETE,
};

static bool call_is_in(const TwCall *call, unsigned verbs)
{
    return (verbs & 1u << call->verb) != 0;
}

static Span call_bytes(const void *data, size_t n)
{
    return span_make(data, n);
}

int tw_call_text_n(TwCall *call, const char *text, size_t n)
{
    if ((text == NULL && n > 0) ||
        !call_is_in(call, CALL_IN_TOOL | CALL_IN_READ | CALL_IN_PROMPT)) {
        return TW_ERROR_ARGUMENT;
    }
    if (!call_open(call)) {
        return TW_ERROR_OVER;
    }
    if (call->verb == TW_VERB_READ) {
        call_answer_contents_text(&call->answer, span_from_str(call->target),
                                  api_span(call->entry->mime_type), span_make(text, n));
    } else {
        call_answer_text(&call->answer, call->role, span_make(text, n));
    }
    return call_close(call);
}

int tw_call_text(TwCall *call, const char *text)
{
    return text == NULL ? TW_ERROR_ARGUMENT : tw_call_text_n(call, text, strlen(text));
}

/* There was no memory for what was to be added: the answer fails as if it had been added. */
static int call_fail_memory(TwCall *call)
{
    if (!call_open(call)) {
        return TW_ERROR_OVER;
    }
    if (call->answer.r == 0) {
        call->answer.r = -ENOMEM;
    }
    return call_close(call);
}

typedef int (*CallTextFn)(TwCall *call, const char *text);

TW_PRINTF(3, 0)
static int call_format(TwCall *call, CallTextFn fn, const char *format, va_list args)
{
    CLEANUP(mem_freep) char *large = NULL;
    char small[CALL_FORMAT_BYTES];
    va_list again;
    int n;

    va_copy(again, args);
    /* The analyzer loses the caller's va_start on its way here.
     * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
    n = vsnprintf(small, sizeof(small), format, args);
    if (n >= (int)sizeof(small)) {
        large = mem_alloc((size_t)n + 1);
        if (large != NULL) {
            (void)vsnprintf(large, (size_t)n + 1, format, again);
        }
    }
    va_end(again);
    if (n < 0) {
        return TW_ERROR_ARGUMENT;
    }
    if (n < (int)sizeof(small)) {
        return fn(call, small);
    }
    return large != NULL ? fn(call, large) : call_fail_memory(call);
}

int tw_call_textf(TwCall *call, const char *format, ...)
{
    va_list args;
    int r;

    va_start(args, format);
    r = call_format(call, tw_call_text, format, args);
    va_end(args);
    return r;
}

int tw_call_image(TwCall *call, const char *mime_type, const void *data, size_t n)
{
    if (mime_type == NULL || (data == NULL && n > 0) ||
        !call_is_in(call, CALL_IN_TOOL | CALL_IN_PROMPT)) {
        return TW_ERROR_ARGUMENT;
    }
    if (!call_open(call)) {
        return TW_ERROR_OVER;
    }
    call_answer_image(&call->answer, call->role, span_from_str(mime_type), call_bytes(data, n));
    return call_close(call);
}

int tw_call_audio(TwCall *call, const char *mime_type, const void *data, size_t n)
{
    if (mime_type == NULL || (data == NULL && n > 0) ||
        !call_is_in(call, CALL_IN_TOOL | CALL_IN_PROMPT)) {
        return TW_ERROR_ARGUMENT;
    }
    if (!call_open(call)) {
        return TW_ERROR_OVER;
    }
    call_answer_audio(&call->answer, call->role, span_from_str(mime_type), call_bytes(data, n));
    return call_close(call);
}

int tw_call_link(TwCall *call, const char *uri, const char *name, const char *mime_type)
{
    if (uri == NULL || name == NULL || !call_is_in(call, CALL_IN_TOOL | CALL_IN_PROMPT)) {
        return TW_ERROR_ARGUMENT;
    }
    if (!call_open(call)) {
        return TW_ERROR_OVER;
    }
    call_answer_link(&call->answer, call->role, span_from_str(uri), span_from_str(name),
                     api_span(mime_type));
    return call_close(call);
}

static int call_add_resource(TwCall *call, const char *uri, const char *mime_type, Span data,
                             bool is_text)
{
    Span mime;

    if ((uri == NULL && call->verb != TW_VERB_READ) || (data.p == NULL && data.n > 0) ||
        call_is_in(call, CALL_IN_COMPLETE)) {
        return TW_ERROR_ARGUMENT;
    }
    if (!call_open(call)) {
        return TW_ERROR_OVER;
    }
    mime = api_span(mime_type);
    if (call->verb == TW_VERB_READ) {
        if (mime_type == NULL) {
            mime = api_span(call->entry->mime_type);
        }
        (is_text ? call_answer_contents_text : call_answer_contents_blob)(
            &call->answer, span_from_str(uri != NULL ? uri : call->target), mime, data);
    } else {
        (is_text ? call_answer_resource_text
                 : call_answer_resource_blob)(&call->answer, call->role, api_span(uri), mime, data);
    }
    return call_close(call);
}

int tw_call_resource_text(TwCall *call, const char *uri, const char *mime_type, const char *text)
{
    if (text == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    return call_add_resource(call, uri, mime_type, span_from_str(text), true);
}

int tw_call_resource_blob(TwCall *call, const char *uri, const char *mime_type, const void *data,
                          size_t n)
{
    return call_add_resource(call, uri, mime_type, call_bytes(data, n), false);
}

int tw_call_block(TwCall *call, const char *json)
{
    if (!call_is_in(call, CALL_IN_TOOL | CALL_IN_PROMPT)) {
        return TW_ERROR_ARGUMENT;
    }
    if (!call_open(call)) {
        return TW_ERROR_OVER;
    }
    call_answer_block(&call->answer, call->role, api_span(json));
    return call_close(call);
}

int tw_call_structured(TwCall *call, const char *json)
{
    if (!call_is_in(call, CALL_IN_TOOL)) {
        return TW_ERROR_ARGUMENT;
    }
    if (!call_open(call)) {
        return TW_ERROR_OVER;
    }
    call_answer_structured(&call->answer, api_span(json));
    return call_close(call);
}

int tw_call_failed(TwCall *call, const char *text)
{
    /* Only a tool has results that say so. */
    if (!call_is_in(call, CALL_IN_TOOL)) {
        return tw_call_error(call, CALL_FAILED_CODE, text != NULL ? text : "failed");
    }
    if (!call_open(call)) {
        return TW_ERROR_OVER;
    }
    call->answer.result.is_error = true;
    if (text != NULL) {
        call_answer_text(&call->answer, call->role, span_from_str(text));
    }
    return call_close(call);
}

int tw_call_failedf(TwCall *call, const char *format, ...)
{
    va_list args;
    int r;

    va_start(args, format);
    r = call_format(call, tw_call_failed, format, args);
    va_end(args);
    return r;
}

int tw_call_error_json(TwCall *call, int code, const char *message, const char *data_json)
{
    if (message == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    if (!call_open(call)) {
        return TW_ERROR_OVER;
    }
    call_answer_error(&call->answer, code, span_from_str(message), api_span(data_json));
    return call_close(call);
}

int tw_call_error(TwCall *call, int code, const char *message)
{
    return tw_call_error_json(call, code, message, NULL);
}

int tw_call_meta(TwCall *call, const char *json)
{
    if (json == NULL || !call_is_in(call, CALL_IN_TOOL)) {
        return TW_ERROR_ARGUMENT;
    }
    if (!call_open(call)) {
        return TW_ERROR_OVER;
    }
    call_answer_meta(&call->answer, span_from_str(json));
    return call_close(call);
}

int tw_call_role(TwCall *call, const char *role)
{
    static const Span roles[] = {{"user", 4}, {"assistant", 9}};

    if (!call_is_in(call, CALL_IN_PROMPT)) {
        return TW_ERROR_ARGUMENT;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(roles); i++) {
        if (span_equals(api_span(role), roles[i])) {
            pthread_mutex_lock(&call->lock);
            call->role = roles[i];
            pthread_mutex_unlock(&call->lock);
            return 0;
        }
    }
    return TW_ERROR_ARGUMENT;
}

int tw_call_description(TwCall *call, const char *text)
{
    if (text == NULL || !call_is_in(call, CALL_IN_PROMPT)) {
        return TW_ERROR_ARGUMENT;
    }
    if (!call_open(call)) {
        return TW_ERROR_OVER;
    }
    call_answer_description(&call->answer, span_from_str(text));
    return call_close(call);
}

int tw_call_fresh(TwCall *call, int64_t ttl_ms, bool is_private)
{
    if (!call_is_in(call, CALL_IN_READ)) {
        return TW_ERROR_ARGUMENT;
    }
    if (!call_open(call)) {
        return TW_ERROR_OVER;
    }
    call->answer.result.ttl_ms = ttl_ms < 0 ? 0 : ttl_ms;
    call->answer.result.is_private = is_private;
    return call_close(call);
}

int tw_call_value(TwCall *call, const char *value)
{
    if (value == NULL || !call_is_in(call, CALL_IN_COMPLETE)) {
        return TW_ERROR_ARGUMENT;
    }
    if (!call_open(call)) {
        return TW_ERROR_OVER;
    }
    call_answer_value(&call->answer, span_from_str(value));
    return call_close(call);
}

int tw_call_total(TwCall *call, int64_t total)
{
    if (total < 0 || !call_is_in(call, CALL_IN_COMPLETE)) {
        return TW_ERROR_ARGUMENT;
    }
    if (!call_open(call)) {
        return TW_ERROR_OVER;
    }
    call->answer.result.total = total;
    return call_close(call);
}

/* ---- questions ---- */

static int call_ask(TwCall *call, const char *key, const CallAsk *ask)
{
    CallAsk copy = *ask;

    if (key == NULL || key[0] == '\0' || call_is_in(call, CALL_IN_COMPLETE)) {
        return TW_ERROR_ARGUMENT;
    }
    if (!call_open(call)) {
        return TW_ERROR_OVER;
    }
    copy.key = span_from_str(key);
    call_answer_ask(&call->answer, &copy);
    return call_close(call);
}

int tw_call_ask_form(TwCall *call, const char *key, const char *message, const char *schema_json)
{
    if (message == NULL || schema_json == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    return call_ask(call, key,
                    &(CallAsk){.kind = CALL_ASK_FORM,
                               .message = span_from_str(message),
                               .schema = span_from_str(schema_json)});
}

int tw_call_ask_url(TwCall *call, const char *key, const char *message, const char *url)
{
    if (message == NULL || url == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    return call_ask(call, key,
                    &(CallAsk){.kind = CALL_ASK_URL,
                               .message = span_from_str(message),
                               .url = span_from_str(url)});
}

int tw_call_ask_sample(TwCall *call, const char *key, const char *params_json)
{
    if (params_json == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    return call_ask(call, key,
                    &(CallAsk){.kind = CALL_ASK_SAMPLE, .params = span_from_str(params_json)});
}

int tw_call_ask_roots(TwCall *call, const char *key)
{
    return call_ask(call, key, &(CallAsk){.kind = CALL_ASK_ROOTS});
}

int tw_call_set_state(TwCall *call, const char *state)
{
    if (state == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    if (!call_open(call)) {
        return TW_ERROR_OVER;
    }
    call_answer_state(&call->answer, span_from_str(state));
    return call_close(call);
}
