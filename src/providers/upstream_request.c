/* The request that a call becomes at its server. */
#include "providers/upstream_impl.h"

#include "json/writer.h"

static int append_compact(Bytes *out, JsonValue value)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_value(&w, value);
    return json_writer_finish(&w);
}

/* JSON as it came, but in one line. */
static int append_value(Bytes *out, JsonValue value)
{
    return json_is_one_line(value) ? bytes_append_span(out, json_span(value))
                                   : append_compact(out, value);
}

/* Arguments stay where they lie, unless that is more than one line. */
static int write_named(Bytes *out, const UpstreamItem *item, const Call *call, Span *ret_params,
                       Span *ret_arguments)
{
    bool has_arguments = call->arguments.node != NULL;
    bool in_place = has_arguments && json_is_one_line(call->arguments);
    int r = has_arguments && !in_place ? append_compact(out, call->arguments) : 0;
    size_t n_arguments = out->n;

    r = r != 0 ? r : bytes_append_span(out, item->head);
    r = r != 0 ? r : bytes_append_byte(out, '}');
    if (r == 0) {
        *ret_params = span_make(out->data + n_arguments, out->n - n_arguments);
        *ret_arguments = in_place ? json_span(call->arguments) : span_make(out->data, n_arguments);
    }
    return r;
}

static int write_uri(Bytes *out, Span uri)
{
    JsonWriter w;

    json_writer_init(&w, out, JSON_STYLE_COMPACT);
    json_write_object(&w);
    json_write_key(&w, SPAN("uri"));
    json_write_exact(&w, uri);
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
    json_write_exact(&w, item->key);
    json_write_end_object(&w);
    json_write_key(&w, SPAN("argument"));
    json_write_object(&w);
    json_write_key(&w, SPAN("name"));
    json_write_exact(&w, completion->argument);
    json_write_key(&w, SPAN("value"));
    json_write_exact(&w, completion->value);
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

/* params without the arguments, if these are passed on as they are. */
static int write_params(Bytes *out, const UpstreamItem *item, const Call *call, Span *ret_params,
                        Span *ret_arguments)
{
    int r;

    bytes_clear_keep(out, LIMIT_KEEP_BYTES);
    *ret_arguments = SPAN_NULL;
    switch (call->verb) {
    case CALL_READ:
    case CALL_SUBSCRIBE:
        r = write_uri(out, call->target);
        break;
    case CALL_COMPLETE:
        r = write_completion(out, item, &call->completion);
        break;
    default:
        return write_named(out, item, call, ret_params, ret_arguments);
    }
    *ret_params = bytes_span(out);
    return r;
}

int upstream_call_send(UpstreamCall *held)
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
    Span params = SPAN_NULL;
    int r;

    /* Whoever subscribed before this call hears of what it changes. */
    if (server->must_subscribe && server->state == UPSTREAM_READY) {
        upstream_subscribe_changed(server);
    }
    r = write_params(&owner->params, held->item, call, &params, &options.arguments);
    bytes_clear(&owner->text);
    r = r != 0 ? r : write_meta(&owner->text, call->meta);
    if (r != 0) {
        return err_raise(r < 0 ? r : -ENOBUFS);
    }
    options.meta = bytes_span(&owner->text);
    if (call->log_level < server->log_level && !server->is_modern) {
        upstream_set_level(server, call->log_level);
    }
    r = mcp_peer_request_with(server->peer, call_method(call->verb), params, &options, &held->id);
    held->is_sent = r == 0 && server->state == UPSTREAM_READY;
    return r;
}
