#include "dialect/callsock/message.h"

#include <string.h>

#include "base/error.h"
#include "dialect/callsock/message_internal.h"
#include "json/writer.h"

#define METHOD "call_tool"

int callsock_message_parse(JsonValue *ret, Arena *arena, Span message, Diag *reterr_diag)
{
    JsonDoc doc;
    JsonValue root;
    Diag why;
    int r = json_parse(&doc, arena, message.p, message.n, NULL, &why);

    if (r < 0) {
        return err_pass(r);
    }
    if (r > 0) {
        return diag_set(reterr_diag, CALLSOCK_E_PROTOCOL, "Invalid JSON at byte %zu: %s",
                        why.offset == DIAG_NO_OFFSET ? 0 : why.offset, why.message);
    }
    root = json_root(&doc);
    if (json_kind(root) != JSON_OBJECT) {
        return diag_set(reterr_diag, CALLSOCK_E_PROTOCOL,
                        "Invalid message at byte %u: expected an object, got %s", root.node->start,
                        json_kind_name(json_kind(root)));
    }
    *ret = root;
    return 0;
}

/* The method as Python would print it: its text, and None if there is none. What is no string is
 * shown as JSON; so is a text with a NUL, which would end the sentence. The Diag cuts it. */
static int request_unknown_method(Arena *arena, JsonValue method, Diag *reterr_diag)
{
    Span shown = SPAN("None");

    if (method.node != NULL && json_kind(method) == JSON_STRING) {
        int r = json_string(method, arena, &shown);

        if (r != 0) {
            return err_fold(r);
        }
        if (shown.n > 0 && memchr(shown.p, '\0', shown.n) != NULL) {
            shown = json_span(method);
        }
    } else if (method.node != NULL && json_kind(method) != JSON_NULL) {
        shown = json_span(method);
    }
    /* More than a Diag holds is never shown. */
    return diag_set(reterr_diag, CALLSOCK_E_VALUE, "Unknown method: %.*s",
                    (int)(shown.n < DIAG_MESSAGE_SIZE ? shown.n : DIAG_MESSAGE_SIZE), shown.p);
}

static int request_wrong(const char *words, Diag *reterr_diag)
{
    return diag_set(reterr_diag, CALLSOCK_E_VALUE, "%s", words);
}

int callsock_request_read(CallsockRequest *ret, Arena *arena, Span message, Diag *reterr_diag)
{
    CallsockRequest request = {.arguments = JSON_VALUE_NULL};
    JsonValue root;
    JsonValue value = JSON_VALUE_NULL;
    JsonValue progress;
    JsonValue params;
    int r = callsock_message_parse(&root, arena, message, reterr_diag);

    if (r != 0) {
        return r < 0 ? err_pass(r) : r;
    }
    if (!json_get(root, SPAN("method"), &value) || !json_string_equals(value, SPAN(METHOD))) {
        return request_unknown_method(arena, value, reterr_diag);
    }
    if (!json_get(root, SPAN("params"), &params) || json_kind(params) != JSON_OBJECT) {
        return request_wrong("Invalid params: expected dict", reterr_diag);
    }
    if (!json_get(params, SPAN("name"), &value) || json_kind(value) != JSON_STRING) {
        return request_wrong("Invalid tool name: expected string", reterr_diag);
    }
    if (json_get(params, SPAN("arguments"), &request.arguments) &&
        json_kind(request.arguments) != JSON_OBJECT) {
        return request_wrong("Invalid arguments: expected dict", reterr_diag);
    }
    request.wants_progress =
        json_get(params, SPAN("progress"), &progress) && json_kind(progress) == JSON_TRUE;
    r = json_string_exact(value, arena, &request.name);
    if (r != 0) {
        return err_fold(r);
    }
    *ret = request;
    return 0;
}

CallsockOut callsock_out_begin(Bytes *bytes, BytesLent *lent)
{
    return (CallsockOut){.bytes = bytes, .start = bytes->n, .lent = lent};
}

int callsock_out_finish(CallsockOut *o)
{
    if (o->r != 0) {
        o->bytes->n = o->start;
        if (o->lent != NULL) {
            *o->lent = BYTES_LENT_NULL;
        }
    }
    return o->r < 0 ? err_pass(o->r) : o->r;
}

void callsock_out_reserve(CallsockOut *o, size_t n)
{
    if (o->lent != NULL && n >= BYTES_LEND_MIN) {
        return;
    }
    /* If there is not so much room the appends will say so, should they need it. */
    if (o->r == 0 && bytes_reserve(o->bytes, n) < 0) {
        o->r = err_raise(-ENOMEM);
    }
}

void callsock_out_span(CallsockOut *o, Span json)
{
    if (o->r == 0) {
        o->r = bytes_append_span(o->bytes, json);
    }
}

void callsock_out_large(CallsockOut *o, Span json)
{
    if (json.n < BYTES_LEND_MIN || o->lent == NULL || o->lent->span.p != NULL || o->r != 0) {
        callsock_out_span(o, json);
        return;
    }
    *o->lent = (BytesLent){.at = o->bytes->n - o->start, .span = json};
}

void callsock_out_string(CallsockOut *o, Span text)
{
    JsonWriter w;

    if (o->r == 0) {
        json_writer_init(&w, o->bytes, JSON_STYLE_COMPACT);
        json_write_exact(&w, text);
        o->r = json_writer_finish(&w);
    }
}

int callsock_request_write(Bytes *out, const CallsockRequest *request)
{
    return callsock_request_write_lent(out, request, NULL);
}

int callsock_request_write_lent(Bytes *out, const CallsockRequest *request, BytesLent *ret_lent)
{
    static const char head[] = "{\"method\":\"" METHOD "\",\"params\":{\"name\":";
    Span json = request->arguments.node != NULL ? json_span(request->arguments) : SPAN("{}");
    CallsockOut o = callsock_out_begin(out, ret_lent);

    callsock_out_reserve(&o, sizeof(head) + request->name.n + json.n);
    callsock_out_span(&o, SPAN(head));
    callsock_out_string(&o, request->name);
    callsock_out_span(&o, SPAN(",\"arguments\":"));
    callsock_out_large(&o, json);
    callsock_out_span(&o, request->wants_progress ? SPAN(",\"progress\":true}}") : SPAN("}}"));
    return callsock_out_finish(&o);
}
