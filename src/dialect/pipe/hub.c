#include "dialect/pipe/hub.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "dialect/pipe/entries.h"
#include "dialect/pipe/keepalive.h"
#include "dialect/pipe/wire.h"

/* Room for a sentence and a reason in it. */
#define HUB_WORDS_BYTES 320

/* Places that are kept for the next calls: as many as an add-in runs at once. */
#define HUB_KEPT_ITEMS LIMIT_PIPE_CALLS

/* A call that is out. */
typedef struct HubItem {
    PipeEntry entry;
    struct HubItem *next_free;
    Call *call; /* NULL: asks for the list */
    int64_t since_ms;
    char id[UUID_SIZE];
} HubItem;

typedef enum HubState {
    HUB_OPEN,
    HUB_ENDING, /* the connection is useless, and the owner has yet to say that it is lost */
    HUB_LOST,
} HubState;

struct PipeHub {
    PipeHubConfig config;
    PipeWire wire;
    HubState state;
    PipeEntries out;
    size_t n_calls; /* in out */
    PipeKeepalive keepalive;
    PipeHubCounts counts;
    HubItem *pool;
    size_t n_pool;
    Arena arena;     /* of the message that is being read, and of failures */
    size_t n_inside; /* those who use the arena, one inside the other */
    int error;
};

static void hub_enter(PipeHub *hub)
{
    hub->n_inside++;
}

static void hub_leave(PipeHub *hub)
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
        *item = (HubItem){.call = call, .since_ms = now_ms};
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

/* Forgets what is out, and gives its call (NULL if it asked for the list), which no longer knows of
 * us. */
static Call *hub_release(PipeHub *hub, HubItem *item, int64_t now_ms)
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

/* NULL asks for the list. */
static bool hub_is_read(const Call *call)
{
    return call != NULL && call->verb == CALL_READ;
}

/* Ends a call that is not out. It may lead to the next submit before it returns. */
static void hub_fail(PipeHub *hub, Call *call, const char *code, const char *words)
{
    CallResult result;
    int r;

    if (call == NULL) {
        return;
    }
    hub_enter(hub);
    r = hub_is_read(call) ? pipe_resource_fail(&result, &hub->arena, code, span_from_str(words))
                          : pipe_result_fail(&result, &hub->arena, code, span_from_str(words));
    if (r == 0) {
        call_finish(call, &result);
    } else {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
    }
    hub_leave(hub);
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
    if (hub_is_read(call)) {
        return call->target.n;
    }
    return call != NULL && call->arguments.node != NULL ? json_span(call->arguments).n : 0;
}

static int hub_write(const Call *call, Span name, PipeWireMessage *message)
{
    if (hub_is_read(call)) {
        return pipe_write_read(message->bytes, &message->head, call->target);
    }
    return pipe_write_call_lent(message->bytes, &message->head, name,
                                call != NULL ? call->arguments : JSON_VALUE_NULL,
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

int pipe_hub_list(PipeHub *hub, int64_t now_ms)
{
    int r;

    if (hub->state != HUB_OPEN) {
        return err_raise(-ENOTCONN);
    }
    r = hub_send(hub, NULL, SPAN(PIPE_LIST_TOOLS), now_ms);
    hub->state = r < 0 ? HUB_ENDING : hub->state;
    return r > 0 ? err_raise(-ENOBUFS) : err_pass(r);
}

static void hub_fail_size(PipeHub *hub, Call *call)
{
    char words[HUB_WORDS_BYTES];

    (void)snprintf(words, sizeof(words),
                   "the %s too large: a message to the add-in may have %u bytes; pass less at once",
                   hub_is_read(call) ? "URI is" : "arguments are", (unsigned)hub->wire.max_bytes);
    hub_fail(hub, call, PIPE_CODE_TOO_LARGE, words);
}

void pipe_hub_submit(PipeHub *hub, Call *call, Span name, int64_t now_ms)
{
    int r;

    if (hub->state != HUB_OPEN) {
        hub_fail(hub, call, PIPE_CODE_NOT_AVAILABLE,
                 hub_is_read(call)
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
        hub_fail(hub, call, PIPE_CODE_NOT_AVAILABLE,
                 "the add-in does not read what it is sent; the call has not run: call again when "
                 "it has done its work");
    } else {
        hub->state = HUB_ENDING;
        hub->error = r;
        hub_fail(hub, call, PIPE_CODE_DISCONNECTED,
                 "the call could not be sent to the add-in; it has not run: call again");
    }
}

void pipe_hub_cancel(PipeHub *hub, Call *call, int64_t now_ms)
{
    HubItem *item = call->provider_data;

    if (item != NULL) {
        pipe_keepalive_left(&hub->keepalive, call->deadline_ms, now_ms);
        (void)hub_release(hub, item, now_ms);
    }
}

static void hub_fail_lost(PipeHub *hub, Call *call, Span why)
{
    char words[HUB_WORDS_BYTES];

    if (call == NULL) {
        return;
    }
    call->may_have_run = !hub_is_read(call);
    (void)snprintf(words, sizeof(words), "Lost connection to the add-in%s%.*s%s%s",
                   why.n > 0 ? " (" : "", (int)(why.n < HUB_WORDS_BYTES ? why.n : HUB_WORDS_BYTES),
                   why.n > 0 ? why.p : "", why.n > 0 ? ")" : "",
                   hub_is_read(call) ? ": read again when it is back"
                                     : "; the call may have been done: check before calling again");
    hub_fail(hub, call, PIPE_CODE_DISCONNECTED, words);
}

void pipe_hub_lost(PipeHub *hub, Span why)
{
    PipeEntry *entry;

    /* First: those that end find that nothing can be sent, so that this comes to an end. */
    hub->state = HUB_LOST;
    while ((entry = pipe_entries_first(&hub->out)) != NULL) {
        HubItem *item = PIPE_ENTRY_OWNER(entry, HubItem, entry);

        hub_fail_lost(hub, hub_release(hub, item, item->since_ms), why);
    }
}

static HubItem *hub_find(const PipeHub *hub, Span call_id)
{
    PipeEntry *entry = call_id.n > 0 ? pipe_entries_find(&hub->out, call_id) : NULL;

    return entry != NULL ? PIPE_ENTRY_OWNER(entry, HubItem, entry) : NULL;
}

/* A result, or an error about a call. */
static void hub_answer(PipeHub *hub, const PipeMessage *message, int64_t now_ms)
{
    HubItem *item = hub_find(hub, message->call_id);
    CallResult result;
    int64_t waited_ms;
    Call *call;
    int r;

    if (item == NULL) {
        hub->counts.late++;
        return;
    }
    waited_ms = now_ms - item->since_ms;
    call = hub_release(hub, item, now_ms);
    if (call == NULL) {
        if (hub->config.listed != NULL) {
            hub->config.listed(hub->config.context,
                               message->success ? message->data : JSON_VALUE_NULL);
        }
        return;
    }
    r = hub_is_read(call) ? pipe_resource_read(&result, &hub->arena, message, waited_ms)
                          : pipe_result_read(&result, &hub->arena, message, waited_ms);
    if (r == 0) {
        call_finish(call, &result);
    } else {
        call_fail(call, CALL_ERROR_INTERNAL,
                  SPAN("there is no memory for the add-in's answer; the call has been done"));
    }
}

static void hub_told(PipeHub *hub, const PipeMessage *message, int64_t now_ms)
{
    if (message->call_id.n > 0) {
        hub_answer(hub, message, now_ms);
        return;
    }
    hub->counts.errors++;
    if (hub->config.told != NULL) {
        hub->config.told(hub->config.context, message->code, message->message);
    }
}

/* The hub itself has no tools: the document's words for that. What is too long to be echoed is left
 * out, or cut. */
static int hub_refuse_call(PipeHub *hub, const PipeMessage *message)
{
    Span id = message->id.n <= PIPE_WIRE_ECHO_BYTES ? message->id : SPAN_NULL;
    Span name = span_make(message->tool_name.p, message->tool_name.n < PIPE_WIRE_ECHO_BYTES
                                                    ? message->tool_name.n
                                                    : PIPE_WIRE_ECHO_BYTES);
    CallResult result = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_UNKNOWN_TOOL};
    PipeWireMessage out;
    int r = pipe_wire_begin(&hub->wire, &out);

    if (r == 0) {
        r = pipe_wire_end(&hub->wire, &out,
                          pipe_write_result(out.bytes, &out.head, id, name, &result, 0));
    }
    return r > 0 ? err_raise(-ENOBUFS) : err_pass(r);
}

static int hub_handle(PipeHub *hub, const PipeMessage *message, int64_t now_ms)
{
    switch (message->type) {
    case PIPE_TOOL_CALL:
        return err_pass(hub_refuse_call(hub, message));
    case PIPE_TOOL_RESULT:
        hub_answer(hub, message, now_ms);
        return 0;
    case PIPE_PING:
        return err_pass(pipe_wire_pong(&hub->wire));
    case PIPE_PONG:
        return 0;
    case PIPE_ERROR:
        hub_told(hub, message, now_ms);
        return 0;
    case PIPE_N_TYPES:
        break;
    }
    return 0;
}

/* A message that is none, or a wrong one (r: PIPE_E_*). Says so, and ends the call whose result
 * cannot be read: nothing better will come. */
static int hub_complain(PipeHub *hub, const PipeMessage *message, int r, const Diag *diag,
                        int64_t now_ms)
{
    HubItem *item = r == PIPE_E_VALUE ? hub_find(hub, message->call_id) : NULL;
    int written = pipe_wire_complain(&hub->wire, message, r, diag);

    hub->counts.unknown += r == PIPE_E_UNKNOWN ? 1 : 0;
    hub->counts.bad += r == PIPE_E_VALUE ? 1 : 0;
    if (item != NULL) {
        char words[HUB_WORDS_BYTES];
        Call *call = hub_release(hub, item, now_ms);

        (void)snprintf(words, sizeof(words), "the add-in's answer is wrong: %s", diag->message);
        if (call == NULL && hub->config.listed != NULL) {
            hub->config.listed(hub->config.context, JSON_VALUE_NULL);
        }
        hub_fail(hub, call, PIPE_CODE_PROTOCOL, words);
    }
    return err_pass(written);
}

int pipe_hub_receive(PipeHub *hub, Span message, int64_t now_ms)
{
    PipeMessage read;
    Diag diag;
    int r;
    int done;

    if (hub->state != HUB_OPEN) {
        return 0;
    }
    hub_enter(hub);
    pipe_keepalive_heard(&hub->keepalive);
    r = pipe_message_read(&read, &hub->arena, message, &diag);
    if (r == 0) {
        done = hub_handle(hub, &read, now_ms);
    } else if (r < 0) {
        done = r;
    } else {
        done = hub_complain(hub, &read, r, &diag, now_ms);
    }
    hub_leave(hub);
    if (done < 0 || r == PIPE_E_PROTOCOL) {
        hub->state = hub->state == HUB_OPEN ? HUB_ENDING : hub->state;
    }
    if (done < 0) {
        return err_pass(done);
    }
    return r == PIPE_E_PROTOCOL ? r : 0;
}

int pipe_hub_refuse_size(PipeHub *hub, uint32_t declared)
{
    hub->state = hub->state == HUB_OPEN ? HUB_ENDING : hub->state;
    return err_pass(pipe_wire_refuse_size(&hub->wire, declared));
}

bool pipe_hub_advance(PipeHub *hub, int64_t now_ms)
{
    PipeKeepaliveStep step = PIPE_KEEPALIVE_PING;

    while (hub->state == HUB_OPEN && step == PIPE_KEEPALIVE_PING) {
        step = pipe_keepalive_advance(&hub->keepalive, now_ms);
        if (step == PIPE_KEEPALIVE_PING) {
            int r = pipe_wire_ping(&hub->wire);

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
