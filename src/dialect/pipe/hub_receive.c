/* What an add-in says. */
#include "dialect/pipe/hub.h"

#include <stdio.h>

#include "base/error.h"
#include "dialect/pipe/hub_impl.h"

static HubItem *hub_find(const PipeHub *hub, Span call_id)
{
    PipeEntry *entry = call_id.n > 0 ? pipe_entries_find(&hub->out, call_id) : NULL;

    return entry != NULL ? PIPE_ENTRY_OWNER(entry, HubItem, entry) : NULL;
}

/* An answer to the list; data.node NULL: there is none. */
static void hub_listed(PipeHub *hub, JsonValue data)
{
    JsonValue value;

    hub->is_listing = false;
    if (data.node != NULL) {
        hub->understood = pipe_message_understood(data);
    }
    if (data.node != NULL && json_kind(data) == JSON_OBJECT &&
        json_get(data, SPAN(PIPE_PINGS_IN_CALLS), &value) && json_kind(value) == JSON_TRUE) {
        pipe_keepalive_set_prompt(&hub->keepalive);
    }
    if (hub->config.listed != NULL) {
        hub->config.listed(hub->config.context, data);
    }
}

/* Pongs come in the order of the pings. One that answers a ping behind a call which is still out
 * shows that the add-in reads while it runs calls. */
static void hub_pong(PipeHub *hub)
{
    PipeEntry *entry = pipe_entries_first(&hub->out);

    if (hub->n_pongs == hub->n_pings) {
        return; /* nobody asked */
    }
    hub->n_pongs++;
    for (; entry != NULL; entry = pipe_entries_next(&hub->out, entry)) {
        const HubItem *item = PIPE_ENTRY_OWNER(entry, HubItem, entry);

        if (item->call != NULL) {
            if (item->n_pings < hub->n_pongs) {
                pipe_keepalive_set_prompt(&hub->keepalive);
            }
            return; /* the others were sent later */
        }
    }
}

static void hub_progress(const PipeHub *hub, const PipeMessage *message)
{
    const HubItem *item = hub_find(hub, message->call_id);
    CallProgress progress = {.total = CALL_NO_TOTAL, .message = message->message};

    /* What comes after the call's end has crossed it. */
    if (item == NULL || item->call == NULL ||
        json_double(message->progress, &progress.progress) != 0) {
        return;
    }
    progress.spelt = json_span(message->progress);
    if (message->total.node != NULL && json_double(message->total, &progress.total) == 0 &&
        progress.total >= 0) {
        progress.spelt_total = json_span(message->total);
    }
    call_report(item->call, &progress);
}

/* Asks again for a list that is no longer true; when there is no room, with the next message. */
static int hub_list_again(PipeHub *hub, int64_t now_ms)
{
    int r = 0;

    if (hub->must_list && !hub->is_listing && hub->state == HUB_OPEN) {
        r = pipe_hub_ask_list(hub, now_ms);
    }
    return r > 0 ? 0 : err_pass(r);
}

/* Does an add-in of ours say that whoever ran the call was lost? */
static bool hub_is_interrupted(const PipeMessage *message)
{
    JsonValue value;
    bool is_interrupted = false;

    return !message->success && message->error.node != NULL &&
           json_get(message->error, SPAN(PIPE_ERROR_INTERRUPTED), &value) &&
           json_bool(value, &is_interrupted) && is_interrupted;
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
        /* The answer to tool_cancel is for nobody, and not late. */
        hub->counts.late += span_equals(message->code, SPAN(PIPE_CODE_CANCELLED)) ? 0 : 1;
        return;
    }
    waited_ms = now_ms - item->since_ms;
    call = pipe_hub_release(hub, item, now_ms);
    if (call == NULL) {
        hub_listed(hub, message->success ? message->data : JSON_VALUE_NULL);
        return;
    }
    r = pipe_hub_is_read(call) ? pipe_resource_read(&result, &hub->arena, message, waited_ms)
                               : pipe_result_read(&result, &hub->arena, message, waited_ms);
    if (r == 0) {
        call->may_have_run = !pipe_hub_is_read(call) && hub_is_interrupted(message);
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
        hub_pong(hub);
        return 0;
    case PIPE_ERROR:
        hub_told(hub, message, now_ms);
        return 0;
    case PIPE_TOOL_PROGRESS:
        hub_progress(hub, message);
        return 0;
    case PIPE_TOOLS_CHANGED:
        hub->must_list = true;
        return 0;
    case PIPE_TOOL_CANCEL: /* the hub has no calls of others */
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
    bool is_answer = r == PIPE_E_VALUE && message->type == PIPE_TOOL_RESULT;
    HubItem *item = is_answer ? hub_find(hub, message->call_id) : NULL;
    int written = pipe_wire_complain(&hub->wire, message, r, diag);

    hub->counts.unknown += r == PIPE_E_UNKNOWN ? 1 : 0;
    hub->counts.bad += r == PIPE_E_VALUE ? 1 : 0;
    if (item != NULL) {
        char words[HUB_WORDS_BYTES];
        Call *call = pipe_hub_release(hub, item, now_ms);

        (void)snprintf(words, sizeof(words), "the add-in's answer is wrong: %s", diag->message);
        if (call == NULL) {
            hub_listed(hub, JSON_VALUE_NULL);
        } else {
            call->may_have_run = !pipe_hub_is_read(call);
        }
        pipe_hub_fail(hub, call, PIPE_CODE_PROTOCOL, words);
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
    pipe_hub_enter(hub);
    pipe_keepalive_heard(&hub->keepalive);
    r = pipe_message_read(&read, &hub->arena, message, &diag);
    if (r == 0) {
        done = hub_handle(hub, &read, now_ms);
    } else if (r < 0) {
        done = r;
    } else {
        done = hub_complain(hub, &read, r, &diag, now_ms);
    }
    if (done == 0 && r != PIPE_E_PROTOCOL) {
        done = hub_list_again(hub, now_ms);
    }
    pipe_hub_leave(hub);
    if (done < 0 || r == PIPE_E_PROTOCOL) {
        hub->state = hub->state == HUB_OPEN ? HUB_ENDING : hub->state;
    }
    if (done < 0) {
        return err_pass(done);
    }
    return r == PIPE_E_PROTOCOL ? r : 0;
}

uint32_t pipe_hub_other_order(const PipeHub *hub, uint32_t declared)
{
    return hub->keepalive.has_heard ? 0 : pipe_wire_other_order(&hub->wire, declared);
}

int pipe_hub_refuse_size(PipeHub *hub, uint32_t declared)
{
    hub->state = hub->state == HUB_OPEN ? HUB_ENDING : hub->state;
    return err_pass(pipe_wire_refuse_size(&hub->wire, declared, !hub->keepalive.has_heard));
}

/* Ids are random, and of one length. */
static bool hub_head_has(Span head, Span id)
{
    for (size_t i = 0; i + id.n <= head.n; i++) {
        if (memcmp(head.p + i, id.p, id.n) == 0) {
            return true;
        }
    }
    return false;
}

/* What is out whose id is in the head; what is out at all, if that is one; else NULL. */
static HubItem *hub_find_in(const PipeHub *hub, Span head)
{
    PipeEntry *entry = pipe_entries_first(&hub->out);

    if (hub->out.n == 1) {
        return PIPE_ENTRY_OWNER(entry, HubItem, entry);
    }
    while (entry != NULL && !hub_head_has(head, entry->id)) {
        entry = pipe_entries_next(&hub->out, entry);
    }
    return entry != NULL ? PIPE_ENTRY_OWNER(entry, HubItem, entry) : NULL;
}

bool pipe_hub_refuse_result(PipeHub *hub, uint32_t declared, Span head)
{
    char words[HUB_WORDS_BYTES];
    HubItem *item;
    Call *call;

    /* One that has never said anything has not answered either. */
    if (hub->out.n == 0 || !hub->keepalive.has_heard) {
        return true;
    }
    item = hub_find_in(hub, head);
    if (item == NULL) {
        return false;
    }
    call = pipe_hub_release(hub, item, item->since_ms);
    (void)snprintf(words, sizeof(words),
                   "the add-in's %s has %u bytes, more than the %u that a message may have%s",
                   pipe_hub_is_read(call) ? "resource" : "result", (unsigned)declared,
                   (unsigned)hub->wire.max_bytes,
                   pipe_hub_is_read(call) ? ""
                                          : "; the call has been done: ask for less next time");
    if (call != NULL) {
        call->may_have_run = !pipe_hub_is_read(call);
    }
    pipe_hub_fail(hub, call, PIPE_CODE_TOO_LARGE, words);
    return true;
}
