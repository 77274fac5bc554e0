/* How the calls of a server end: by its answer, by its loss, by their time. */
#include "providers/upstream_impl.h"

void upstream_calls_ready(Upstream *server)
{
    for (UpstreamCall *held = server->first; held != NULL; held = held->next) {
        held->is_sent = held->id != 0;
    }
}

/* It has ended while its asker thinks: he is told when he comes back. His answers may be to
 * questions of other calls, which wait for them. */
static void call_keep_end(UpstreamCall *held, UpstreamEnd end, Span what)
{
    upstream_asks_leave(held, false, "the call in which this was asked has ended");
    bytes_clear(&held->kept);
    held->end = bytes_append_span(&held->kept, what) == 0 ? end : UPSTREAM_END_LOST;
}

static bool result_is_error(JsonValue value)
{
    JsonValue member;
    bool flag = false;

    return json_get(value, SPAN("isError"), &member) && json_bool(member, &flag) && flag;
}

void upstream_call_take_result(UpstreamCall *held, JsonValue value)
{
    Upstream *server = held->server;
    Call *call = held->call;
    unsigned lacks;

    server->n_in_row = 0;
    server->ends_meanwhile =
        server->ends_meanwhile || (call != NULL && !held->is_back && server->n_parked > 0);
    if (held->is_dead) {
        upstream_call_close(held);
        upstream_turns(server);
        return;
    }
    if (call == NULL) {
        call_keep_end(held, UPSTREAM_END_RESULT, json_span(value));
        return;
    }
    lacks = result_is_error(value) ? held->lacks : 0;
    upstream_call_close(held);
    if (!upstream_tell_missing(call, lacks)) {
        upstream_finish(server->owner, call, value);
    }
    if (server->n_unturned + server->n_back > 0) {
        upstream_turns(server);
    }
}

/* A URI that nobody has: each era has its own number for that. */
static bool error_is_unknown_resource(const McpClientEvent *event, CallVerb verb)
{
    JsonValue uri;

    return verb == CALL_READ && !event->is_ours &&
           (event->code == -32002 ||
            (event->code == -32602 && event->value.node != NULL &&
             json_kind(event->value) == JSON_OBJECT && json_get(event->value, SPAN("uri"), &uri)));
}

static CallResult error_of(const McpClientEvent *event, CallVerb verb)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_OWN,
                         .is_relayed = true,
                         .wire_code = event->code,
                         .message = event->text,
                         .data = event->value.node != NULL ? json_span(event->value) : SPAN_NULL};

    if (event->is_ours && event->code == MCP_CLIENT_CODE_TIMEOUT) {
        result.error = CALL_ERROR_TIMEOUT;
        result.is_relayed = false;
    } else if (error_is_unknown_resource(event, verb)) {
        result.error = CALL_ERROR_UNKNOWN_RESOURCE;
        result.wire_code = 0;
        result.data = SPAN_NULL;
    }
    return result;
}

void upstream_call_take_error(UpstreamCall *held, const McpClientEvent *event)
{
    Upstream *server = held->server;
    Call *call = held->call;
    CallResult result = error_of(event, held->verb);
    unsigned lacks;

    if (held->is_dead) {
        upstream_call_close(held);
        upstream_turns(server);
        return;
    }
    if (event->is_ours && event->code == MCP_CLIENT_CODE_ENDED) {
        /* Mostly the whole session ends, and says why in a moment. */
        held->is_lost = true;
        server->has_news = true;
        upstreams_post(server->owner);
        return;
    }
    if (event->loss != MCP_CLIENT_ANSWERED) {
        upstream_call_end_lost(held, event->text);
        upstream_turns(server);
        return;
    }
    if (call == NULL) {
        held->kept_code = event->code;
        bytes_clear(&held->kept_data);
        (void)bytes_append_span(&held->kept_data, result.data);
        call_keep_end(held, UPSTREAM_END_ERROR, event->text);
        return;
    }
    if (!event->is_ours) {
        server->n_in_row = 0; /* it works */
    }
    call->may_have_run = event->is_ours;
    lacks = held->lacks | upstream_missing_of(event);
    upstream_call_close(held);
    if (!upstream_tell_missing(call, lacks)) {
        call_finish(call, &result);
    }
    upstream_turns(server);
}

void upstream_call_end_lost(UpstreamCall *held, Span why)
{
    Upstream *server = held->server;
    Bytes *text = &server->owner->text;
    Call *call = held->call;
    bool was_sent = held->is_sent;

    bytes_clear(text);
    (void)bytes_append_format(text, "the server %s has gone; %s: %.*s", server->spec.name,
                              was_sent ? "the call may have run" : "the call was not sent to it",
                              (int)why.n, why.n > 0 ? why.p : "");
    if (call == NULL) {
        call_keep_end(held, UPSTREAM_END_LOST, bytes_span(text));
        return;
    }
    call->may_have_run = was_sent;
    upstream_call_close(held);
    call_fail(call, CALL_ERROR_UNAVAILABLE, bytes_span(text));
}

void upstream_calls_lose(Upstream *server, Span why)
{
    uint64_t last = server->owner->last_serial; /* those that begin meanwhile are not meant */
    UpstreamCall *held = server->first;

    while (held != NULL && held->serial <= last) {
        upstream_asks_free(held);
        if (held->is_dead || (held->call == NULL && server->is_gone)) {
            upstream_call_close(held);
        } else if (held->end == UPSTREAM_END_NONE) {
            upstream_call_end_lost(held, why);
        } else {
            held = held->next; /* it is over, and waits for its asker */
            continue;
        }
        held = server->first; /* whoever was told may have ended others */
    }
}

int64_t upstream_calls_deadline(const Upstream *server)
{
    int64_t due_ms = server->tell_ms != 0 ? server->tell_ms : INT64_MAX;

    for (const UpstreamCall *held = server->n_parked + server->n_back > 0 ? server->first : NULL;
         held != NULL; held = held->next) {
        if (held->is_parked && held->expires_ms < due_ms) {
            due_ms = held->expires_ms;
        }
        if (held->is_back && held->back_by_ms < due_ms) {
            due_ms = held->back_by_ms;
        }
    }
    return due_ms;
}

void upstream_calls_advance(Upstream *server, int64_t now_ms)
{
    UpstreamCall *held = server->n_parked > 0 ? server->first : NULL;

    if (server->tell_ms != 0 && now_ms >= server->tell_ms) {
        server->tell_ms = 0;
        server->has_news = true;
        upstreams_post(server->owner);
    }
    while (held != NULL) {
        UpstreamCall *next = held->next;

        if (held->is_parked && now_ms >= held->expires_ms) {
            upstream_park_expire(held);
        }
        held = next;
    }
    upstream_turns(server);
}
