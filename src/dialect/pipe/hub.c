#include "dialect/pipe/hub.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "dialect/pipe/hub_impl.h"

/* Places that are kept for the next calls: as many as an add-in runs at once. */
#define HUB_KEPT_ITEMS LIMIT_PIPE_CALLS

void pipe_hub_enter(PipeHub *hub)
{
    hub->n_inside++;
}

void pipe_hub_leave(PipeHub *hub)
{
    if (--hub->n_inside == 0) {
        arena_reset(&hub->arena, LIMIT_KEEP_BYTES);
    }
}

/* A place for the call; NULL if there is no memory. */
static HubItem *hub_item(PipeHub *hub, Call *call, int64_t now_ms)
{
    HubItem *item = hub->pool;

    if (item != NULL) {
        hub->pool = item->next_free;
        hub->n_pool--;
    } else {
        item = mem_alloc(sizeof(*item));
    }
    if (item != NULL) {
        *item = (HubItem){.call = call, .since_ms = now_ms, .n_pings = hub->n_pings};
    }
    return item;
}

static void hub_pool(PipeHub *hub, HubItem *item)
{
    if (hub->n_pool < HUB_KEPT_ITEMS) {
        item->next_free = hub->pool;
        hub->pool = item;
        hub->n_pool++;
    } else {
        (void)mem_free(item);
    }
}

static void hub_link(PipeHub *hub, HubItem *item, int64_t now_ms)
{
    if (item->call != NULL) {
        item->call->provider_data = item;
        hub->n_calls++;
        pipe_keepalive_set_busy(&hub->keepalive, true, now_ms);
    }
}

Call *pipe_hub_release(PipeHub *hub, HubItem *item, int64_t now_ms)
{
    Call *call = item->call;

    pipe_entries_remove(&hub->out, &item->entry);
    if (call != NULL) {
        call->provider_data = NULL;
        hub->n_calls--;
        pipe_keepalive_set_busy(&hub->keepalive, hub->n_calls > 0, now_ms);
    }
    hub_pool(hub, item);
    return call;
}

void pipe_hub_fail(PipeHub *hub, Call *call, const char *code, const char *words)
{
    CallResult result;
    int r;

    if (call == NULL) {
        return;
    }
    pipe_hub_enter(hub);
    r = pipe_hub_is_read(call)
            ? pipe_resource_fail(&result, &hub->arena, code, span_from_str(words))
            : pipe_result_fail(&result, &hub->arena, code, span_from_str(words));
    if (r == 0) {
        call_finish(call, &result);
    } else {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
    }
    pipe_hub_leave(hub);
}

int pipe_hub_new(PipeHub **ret, const PipeHubConfig *config, int64_t now_ms)
{
    PipeHub *hub = mem_alloc(sizeof(*hub));

    if (hub == NULL) {
        return err_raise(-ENOMEM);
    }
    *hub = (PipeHub){.config = *config};
    hub->wire = pipe_wire_make(config->sink, config->source, config->max_bytes);
    pipe_entries_init(&hub->out, config->seed);
    pipe_keepalive_init(&hub->keepalive, config->ping_interval_ms, config->pong_timeout_ms, now_ms);
    /* Bounded by the message, which the frame's reader bounds. */
    arena_init(&hub->arena, SIZE_MAX);
    *ret = hub;
    return 0;
}

PipeHub *pipe_hub_free(PipeHub *hub)
{
    if (hub == NULL) {
        return NULL;
    }
    pipe_hub_lost(hub, SPAN_NULL);
    while (hub->pool != NULL) {
        HubItem *item = hub->pool;

        hub->pool = item->next_free;
        (void)mem_free(item);
    }
    pipe_entries_deinit(&hub->out);
    arena_deinit(&hub->arena);
    return mem_free(hub);
}

/* Bytes of what the asker gave. */
static size_t hub_size(const Call *call)
{
    if (pipe_hub_is_read(call)) {
        return call->target.n;
    }
    return call != NULL && call->arguments.node != NULL ? json_span(call->arguments).n : 0;
}

static int hub_write(const Call *call, Span name, PipeWireMessage *message)
{
    if (call == NULL) {
        return pipe_write_list(message->bytes, &message->head);
    }
    if (pipe_hub_is_read(call)) {
        return pipe_write_read(message->bytes, &message->head, call->target);
    }
    return pipe_write_call_lent(message->bytes, &message->head, name, call->arguments,
                                message->ret_lent);
}

/* Sends a call (or NULL: that for the list). 0, PIPE_WIRE_E_*, or a negative errno, after which the
 * connection is useless: half of the message may have been sent. */
static int hub_send(PipeHub *hub, Call *call, Span name, int64_t now_ms)
{
    HubItem *item;
    PipeWireMessage message;
    int r;

    /* Need not be copied to see it. */
    if (hub_size(call) > hub->wire.max_bytes) {
        return PIPE_WIRE_E_TOO_LARGE;
    }
    item = hub_item(hub, call, now_ms);
    if (item == NULL) {
        return err_raise(-ENOMEM);
    }
    r = pipe_wire_begin(&hub->wire, &message);
    if (r == 0) {
        memcpy(item->id, message.head.id, sizeof(item->id));
        /* Before it is sent: what is sent must be known. */
        r = pipe_entries_add(&hub->out, &item->entry, span_from_str(item->id));
        if (r != 0) {
            (void)pipe_wire_end(&hub->wire, &message, r);
        } else {
            r = pipe_wire_end(&hub->wire, &message, hub_write(call, name, &message));
            if (r != 0) {
                pipe_entries_remove(&hub->out, &item->entry);
            }
        }
    }
    if (r != 0) {
        hub_pool(hub, item);
        return r < 0 ? err_pass(r) : r;
    }
    hub_link(hub, item, now_ms);
    return 0;
}

int pipe_hub_ask_list(PipeHub *hub, int64_t now_ms)
{
    int r = hub_send(hub, NULL, SPAN_NULL, now_ms);

    hub->state = r < 0 ? HUB_ENDING : hub->state;
    if (r == 0) {
        hub->is_listing = true;
        hub->must_list = false;
    }
    return r < 0 ? err_pass(r) : r;
}

int pipe_hub_list(PipeHub *hub, int64_t now_ms)
{
    int r;

    if (hub->state != HUB_OPEN) {
        return err_raise(-ENOTCONN);
    }
    r = pipe_hub_ask_list(hub, now_ms);
    return r > 0 ? err_raise(-ENOBUFS) : err_pass(r);
}

static void hub_fail_size(PipeHub *hub, Call *call)
{
    char words[HUB_WORDS_BYTES];

    (void)snprintf(words, sizeof(words),
                   "the %s too large: a message to the add-in may have %u bytes; pass less at once",
                   pipe_hub_is_read(call) ? "URI is" : "arguments are",
                   (unsigned)hub->wire.max_bytes);
    pipe_hub_fail(hub, call, PIPE_CODE_TOO_LARGE, words);
}

void pipe_hub_submit(PipeHub *hub, Call *call, Span name, int64_t now_ms)
{
    int r;

    if (hub->state != HUB_OPEN) {
        pipe_hub_fail(
            hub, call, PIPE_CODE_NOT_AVAILABLE,
            pipe_hub_is_read(call)
                ? "the add-in is not connected: start the application, then read again"
                : "the add-in is not connected; the call has not run: start the application, "
                  "then call again");
        return;
    }
    r = hub_send(hub, call, name, now_ms);
    if (r == 0) {
        call->took_arguments = true;
    } else if (r == PIPE_WIRE_E_TOO_LARGE) {
        hub_fail_size(hub, call);
    } else if (r > 0) {
        pipe_hub_fail(
            hub, call, PIPE_CODE_NOT_AVAILABLE,
            "the add-in does not read what it is sent; the call has not run: call again when "
            "it has done its work");
    } else {
        hub->state = HUB_ENDING;
        hub->error = r;
        pipe_hub_fail(hub, call, PIPE_CODE_DISCONNECTED,
                      "the call could not be sent to the add-in; it has not run: call again");
    }
}

/* If there is no room for it the add-in reads nothing, and would not read this. */
static void hub_tell_cancel(PipeHub *hub, const HubItem *item)
{
    PipeWireMessage message;
    int r;

    if (hub->state != HUB_OPEN || (hub->understood & 1u << PIPE_TOOL_CANCEL) == 0) {
        return;
    }
    r = pipe_wire_begin(&hub->wire, &message);
    if (r == 0) {
        r = pipe_wire_end(&hub->wire, &message,
                          pipe_write_cancel(message.bytes, &message.head, span_from_str(item->id)));
    }
    if (r < 0) {
        hub->state = HUB_ENDING;
        hub->error = r;
    }
}

void pipe_hub_cancel(PipeHub *hub, Call *call, int64_t now_ms)
{
    HubItem *item = call->provider_data;

    if (item != NULL) {
        hub_tell_cancel(hub, item);
        pipe_keepalive_left(&hub->keepalive, call->deadline_ms, now_ms);
        (void)pipe_hub_release(hub, item, now_ms);
    }
}

static void hub_fail_lost(PipeHub *hub, Call *call, Span why)
{
    char words[HUB_WORDS_BYTES];

    if (call == NULL) {
        return;
    }
    call->may_have_run = !pipe_hub_is_read(call);
    (void)snprintf(words, sizeof(words), "Lost connection to the add-in%s%.*s%s%s",
                   why.n > 0 ? " (" : "", (int)(why.n < HUB_WORDS_BYTES ? why.n : HUB_WORDS_BYTES),
                   why.n > 0 ? why.p : "", why.n > 0 ? ")" : "",
                   pipe_hub_is_read(call)
                       ? ": read again when it is back"
                       : "; the call may have been done: check before calling again");
    pipe_hub_fail(hub, call, PIPE_CODE_DISCONNECTED, words);
}

void pipe_hub_lost(PipeHub *hub, Span why)
{
    PipeEntry *entry;

    /* First: those that end find that nothing can be sent, so that this comes to an end. */
    hub->state = HUB_LOST;
    while ((entry = pipe_entries_first(&hub->out)) != NULL) {
        HubItem *item = PIPE_ENTRY_OWNER(entry, HubItem, entry);

        hub_fail_lost(hub, pipe_hub_release(hub, item, item->since_ms), why);
    }
}

bool pipe_hub_advance(PipeHub *hub, int64_t now_ms)
{
    PipeKeepaliveStep step = PIPE_KEEPALIVE_PING;

    while (hub->state == HUB_OPEN && step == PIPE_KEEPALIVE_PING) {
        step = pipe_keepalive_advance(&hub->keepalive, now_ms);
        if (step == PIPE_KEEPALIVE_PING) {
            int r = pipe_wire_ping(&hub->wire);

            hub->n_pings += r == 0 ? 1 : 0;
            /* If there is no room for it no pong will come, and the rule does what it is for. */
            if (r < 0) {
                hub->state = HUB_ENDING;
                hub->error = r;
            }
        }
    }
    return step != PIPE_KEEPALIVE_DEAD;
}

int64_t pipe_hub_deadline(const PipeHub *hub)
{
    return hub->state == HUB_OPEN ? pipe_keepalive_deadline(&hub->keepalive) : INT64_MAX;
}

size_t pipe_hub_pending(const PipeHub *hub)
{
    return hub->n_calls;
}

PipeHubCounts pipe_hub_counts(const PipeHub *hub)
{
    return hub->counts;
}

int pipe_hub_error(const PipeHub *hub)
{
    return hub->error;
}
