/* Calls on their way to a server and back. A call that the server has is linked in the server's
 * list from its start until the session has ended its request, also while it is parked (its asker
 * answers a question, upstream_ask.c) and after it was taken back (the session has yet to say so).
 */
#include "providers/upstream_impl.h"

#include <string.h>

#include "base/alloc.h"
#include "json/writer.h"

/* Idle ones that are kept for the next calls. */
#define CALL_MAX_UNUSED 64

/* ---- the list ---- */

static UpstreamCall *call_take_unused(Upstreams *upstreams)
{
    UpstreamCall *held = upstreams->unused;

    if (held != NULL) {
        upstreams->unused = held->next;
        upstreams->n_unused--;
        held->next = NULL;
        return held;
    }
    held = mem_alloc_array(1, sizeof(*held));
    if (held != NULL) {
        bytes_init(&held->owner, LIMIT_KEEP_BYTES);
        bytes_init(&held->kept, 2 * LIMIT_MCP_RESPONSE_BYTES);
        bytes_init(&held->kept_data, LIMIT_MCP_RESPONSE_BYTES);
    }
    return held;
}

void upstream_call_discard(UpstreamCall *held)
{
    bytes_deinit(&held->owner);
    bytes_deinit(&held->kept);
    bytes_deinit(&held->kept_data);
    (void)mem_free(held);
}

static void call_put_unused(Upstreams *upstreams, UpstreamCall *held)
{
    if (upstreams->n_unused >= CALL_MAX_UNUSED) {
        upstream_call_discard(held);
        return;
    }
    bytes_clear_keep(&held->owner, 0);
    bytes_clear_keep(&held->kept, 0);
    bytes_clear_keep(&held->kept_data, 0);
    *held = (UpstreamCall){.owner = held->owner,
                           .kept = held->kept,
                           .kept_data = held->kept_data,
                           .next = upstreams->unused};
    upstreams->unused = held;
    upstreams->n_unused++;
}

static void call_link(Upstream *server, UpstreamCall *held)
{
    held->server = server;
    held->serial = ++server->owner->last_serial;
    held->next = NULL;
    held->prev = server->last;
    if (server->last != NULL) {
        server->last->next = held;
    } else {
        server->first = held;
    }
    server->last = held;
    server->n_calls++;
}

static void call_unlink(UpstreamCall *held)
{
    Upstream *server = held->server;

    if (held->next != NULL) {
        held->next->prev = held->prev;
    } else {
        server->last = held->prev;
    }
    if (held->prev != NULL) {
        held->prev->next = held->next;
    } else {
        server->first = held->next;
    }
    server->n_calls--;
}

void upstream_call_close(UpstreamCall *held)
{
    Upstream *server = held->server;

    if (held->call != NULL) {
        held->call->provider_data = NULL;
    }
    if (held->is_parked) {
        server->n_parked--;
    }
    if (held->id == 0) {
        server->n_unturned--;
    }
    upstream_asks_free(held);
    call_unlink(held);
    call_put_unused(server->owner, held);
    if (server->n_calls == 0) {
        server->used_ms = io_loop_now_ms(server->owner->config.loop);
        upstream_set_timer(server);
    }
}

/* ---- the request ---- */

/* JSON as it came, but in one line. */
static int append_value(Bytes *out, JsonValue value)
{
    Span span = json_span(value);
    JsonWriter w;

    if (memchr(span.p, '\n', span.n) == NULL && memchr(span.p, '\r', span.n) == NULL) {
        return bytes_append_span(out, span);
    }
    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_value(&w, value);
    return json_writer_finish(&w);
}

static int append_arguments(Bytes *out, JsonValue arguments)
{
    int r = 0;

    if (arguments.node != NULL) {
        r = bytes_append_span(out, SPAN(",\"arguments\":"));
        r = r != 0 ? r : append_value(out, arguments);
    }
    return r;
}

static int write_named(Bytes *out, const UpstreamItem *item, const Call *call)
{
    int r = bytes_append_span(out, item->head);

    r = r != 0 ? r : append_arguments(out, call->arguments);
    return r != 0 ? r : bytes_append_byte(out, '}');
}

static int write_uri(Bytes *out, Span uri)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("uri"));
    json_write_string(&w, uri);
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

static int write_completion(Bytes *out, const UpstreamItem *item, const CallCompletion *completion)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("ref"));
    json_write_object(&w);
    json_write_key(&w, SPAN("type"));
    json_write_string(&w, completion->is_prompt ? SPAN("ref/prompt") : SPAN("ref/resource"));
    json_write_key(&w, completion->is_prompt ? SPAN("name") : SPAN("uri"));
    json_write_string(&w, item->key);
    json_write_end_object(&w);
    json_write_key(&w, SPAN("argument"));
    json_write_object(&w);
    json_write_key(&w, SPAN("name"));
    json_write_string(&w, completion->argument);
    json_write_key(&w, SPAN("value"));
    json_write_string(&w, completion->value);
    json_write_end_object(&w);
    if (completion->context.node != NULL) {
        json_write_key(&w, SPAN("context"));
        json_write_object(&w);
        json_write_key(&w, SPAN("arguments"));
        json_write_value(&w, completion->context);
        json_write_end_object(&w);
    }
    json_write_end_object(&w);
    return json_writer_finish(&w);
}

/* What the asker put into `_meta` for whoever runs it: traces, and members of its own. What
 * concerns the wire between us and the asker stays here. */
static int write_meta(Bytes *out, JsonValue meta)
{
    int r = 0;

    if (meta.node == NULL || json_kind(meta) != JSON_OBJECT) {
        return 0;
    }
    for (JsonIter it = json_iter(meta); r == 0 && json_iter_next(&it);) {
        Span key = json_span(it.key);

        if (span_equals(key, SPAN("\"progressToken\"")) ||
            span_starts_with(key, SPAN("\"io.modelcontextprotocol/"))) {
            continue;
        }
        r = out->n == 0 ? 0 : bytes_append_byte(out, ',');
        r = r != 0 ? r : bytes_append_span(out, key);
        r = r != 0 ? r : bytes_append_byte(out, ':');
        r = r != 0 ? r : append_value(out, it.value);
    }
    return r;
}

static Span call_method(CallVerb verb)
{
    switch (verb) {
    case CALL_READ:
        return SPAN("resources/read");
    case CALL_PROMPT:
        return SPAN("prompts/get");
    case CALL_COMPLETE:
        return SPAN("completion/complete");
    case CALL_SUBSCRIBE:
        return SPAN("resources/subscribe");
    default:
        return SPAN("tools/call");
    }
}

static int write_params(Bytes *out, const UpstreamItem *item, const Call *call)
{
    bytes_clear_keep(out, LIMIT_KEEP_BYTES);
    switch (call->verb) {
    case CALL_READ:
    case CALL_SUBSCRIBE:
        return write_uri(out, call->target);
    case CALL_COMPLETE:
        return write_completion(out, item, &call->completion);
    default:
        return write_named(out, item, call);
    }
}

/* 0, a negative errno, MCP_CLIENT_E_*. */
static int call_send(UpstreamCall *held)
{
    Upstream *server = held->server;
    Upstreams *owner = server->owner;
    const Call *call = held->call;
    McpRequestOptions options = {.wants_progress = true, /* it moves the deadline in any case */
                                 .speaks_for_itself = true,
                                 .can = call->can,
                                 .log_level = call->log_level,
                                 .timeout_ms = LIMIT_CALL_MAX_MS,
                                 .context = held};
    int r;

    /* Whoever subscribed before this call hears of what it changes. */
    if (server->must_subscribe && server->state == UPSTREAM_READY) {
        upstream_subscribe_changed(server);
    }
    r = write_params(&owner->params, held->item, call);
    bytes_clear(&owner->text);
    r = r != 0 ? r : write_meta(&owner->text, call->meta);
    if (r != 0) {
        return err_raise(r < 0 ? r : -ENOBUFS);
    }
    options.meta = bytes_span(&owner->text);
    if (call->log_level < server->log_level && !server->is_modern) {
        upstream_set_level(server, call->log_level);
    }
    r = mcp_peer_request_with(server->peer, call_method(call->verb), bytes_span(&owner->params),
                              &options, &held->id);
    held->is_sent = r == 0 && server->state == UPSTREAM_READY;
    return r;
}

/* ---- whose turn it is ---- */

bool upstream_same_asker(const UpstreamCall *held, const CallAsker *asker, Span owner)
{
    Span held_owner = held->call != NULL ? held->call->owner : bytes_span(&held->owner);

    return (asker != NULL && held->asker == asker) ||
           (owner.n > 0 && span_equals(owner, held_owner));
}

/* Where a server's questions do not say which call they belong to, those who could be asked must
 * not have calls there at the same time as others. A parked call is in nobody's way. */
static bool call_must_wait(const Upstream *server, const UpstreamCall *mine)
{
    if (!server->takes_turns) {
        return false;
    }
    for (const UpstreamCall *held = server->first; held != NULL; held = held->next) {
        if (held == mine) {
            return false; /* those behind it wait for it */
        }
        if (!held->is_dead && !held->is_parked && ((held->can | mine->can) != 0) &&
            !upstream_same_asker(held, mine->asker, mine->call->owner)) {
            return true;
        }
    }
    return false;
}

/* ---- start ---- */

static void call_fail_down(Upstream *server, Call *call)
{
    Bytes *text = &server->owner->text;
    int64_t wait_ms = server->retry_ms - io_loop_now_ms(server->owner->config.loop);

    bytes_clear(text);
    (void)bytes_append_format(text, "the server %s is not there: %.*s", server->spec.name,
                              (int)server->why.n, server->why.n > 0 ? server->why.data : "");
    if (server->state == UPSTREAM_DOWN && wait_ms > 0) {
        (void)bytes_append_format(text, " (tried again in %lld s)",
                                  (long long)((wait_ms + 999) / 1000));
    }
    call_fail(call, CALL_ERROR_UNAVAILABLE, bytes_span(text));
}

static void call_fail_send(Call *call, int r)
{
    if (r == MCP_CLIENT_E_BUSY) {
        call_fail(call, CALL_ERROR_BUSY, SPAN("too many calls of its server are open"));
    } else if (r == MCP_CLIENT_E_ENDED) {
        call_fail(call, CALL_ERROR_UNAVAILABLE, SPAN("the server has just ended"));
    } else if (r == -ENOBUFS) {
        call_fail(call, CALL_ERROR_BUSY,
                  SPAN("the server does not read: too much waits for it already"));
    } else {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
    }
}

/* Its server is there, or begins; that the resource is wanted is told by the one who asks. */
static bool start_subscribe(Call *call)
{
    CallResult done = CALL_RESULT_NULL;

    if (call->verb != CALL_SUBSCRIBE) {
        return false;
    }
    call_finish(call, &done);
    return true;
}

static void upstream_start(void *context, Call *call)
{
    const UpstreamItem *item = context;
    Upstream *server = item->server;
    UpstreamCall *held;
    int r;

    if (call->state.n > 0) {
        upstream_resume(server, call);
        return;
    }
    if (!upstream_wake(server)) {
        call_fail_down(server, call);
        return;
    }
    if (start_subscribe(call)) {
        return;
    }
    held = call_take_unused(server->owner);
    if (held == NULL) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
        return;
    }
    held->item = item;
    held->call = call;
    held->verb = call->verb;
    held->can = call->can;
    held->asker = call->asker;
    call_link(server, held);
    server->n_unturned++;
    if (call_must_wait(server, held)) {
        call->provider_data = held;
        return;
    }
    r = call_send(held);
    if (r != 0) {
        held->id = 0;
        upstream_call_close(held);
        call_fail_send(call, r);
        return;
    }
    server->n_unturned--;
    call->provider_data = held;
    /* A question ends the call, and its asker's door then needs them again. */
    call->took_arguments = call->can == 0;
}

void upstream_turns(Upstream *server)
{
    UpstreamCall *held = server->first;

    while (held != NULL && server->n_unturned > 0 && server->peer != NULL) {
        Call *call = held->call;
        int r;

        if (held->id != 0 || held->is_dead || call == NULL || call_must_wait(server, held)) {
            held = held->next;
            continue;
        }
        r = call_send(held);
        if (r == 0) {
            server->n_unturned--;
            held = held->next;
            continue;
        }
        held->id = 0;
        upstream_call_close(held);
        call_fail_send(call, r);
        held = server->first; /* whoever was told may have ended others */
    }
}

static void upstream_cancel(void *context, Call *call)
{
    UpstreamCall *held = call->provider_data;
    Upstream *server;

    (void)context;
    if (held == NULL) {
        return;
    }
    server = held->server;
    call->provider_data = NULL;
    call->may_have_run = held->is_sent;
    held->call = NULL;
    /* Without a peer the server is being left: somebody who was told of it takes others back. */
    if (held->id == 0 || server->peer == NULL) {
        upstream_call_close(held);
    } else {
        held->is_dead = true;
        mcp_peer_cancel(server->peer, held->id, SPAN("the caller does not want it any more"));
    }
    upstream_turns(server);
}

static bool upstream_is_there(void *context)
{
    const UpstreamItem *item = context;

    return item->server->state != UPSTREAM_DOWN;
}

const CallProvider upstream_provider = {.name = "upstream",
                                        .start = upstream_start,
                                        .cancel = upstream_cancel,
                                        .is_there = upstream_is_there};

/* ---- the end ---- */

void upstream_calls_ready(Upstream *server)
{
    for (UpstreamCall *held = server->first; held != NULL; held = held->next) {
        held->is_sent = held->id != 0;
    }
}

/* It has ended while its asker thinks: he is told when he comes back. */
static void call_keep_end(UpstreamCall *held, UpstreamEnd end, Span what)
{
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
    if (server->n_unturned > 0) {
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
        if (held->is_dead || (held->call == NULL && server->is_gone)) {
            upstream_call_close(held);
        } else if (held->end == UPSTREAM_END_NONE) {
            upstream_asks_free(held);
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

    for (const UpstreamCall *held = server->n_parked > 0 ? server->first : NULL; held != NULL;
         held = held->next) {
        if (held->is_parked && held->expires_ms < due_ms) {
            due_ms = held->expires_ms;
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
            upstream_park_end(held);
        }
        held = next;
    }
    upstream_turns(server);
}
