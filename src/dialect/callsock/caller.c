#include "dialect/callsock/caller.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

/* Room for a sentence with a socket's path, which has 108 bytes at most, and a reason. */
#define CALLER_WORDS_BYTES 640

/* Places that are kept for the next calls: as many as one session may have in flight. */
#define CALLER_KEPT_ITEMS LIMIT_CALLS_IN_FLIGHT

/* A byte of text takes six in JSON at most; and a request is a little more than its parts. */
#define CALLER_BYTES_PER_LETTER 6
#define CALLER_REQUEST_OVERHEAD 128

/* One call in the queue, which is a ring with a head of the same type, or on the wire. There are as
 * many as the router lets run. */
typedef struct CallerItem {
    struct CallerItem *prev;
    struct CallerItem *next; /* in the pool: the next free one */
    Call *call;              /* NULL: abandoned */
    Span name;
    bool had_arguments;
    bool wants_progress;
    bool is_again; /* was on the wire, and nothing of it left: not a second time */
} CallerItem;

typedef enum CallerState {
    CALLER_APART,
    CALLER_CONNECTED,
    CALLER_ENDING, /* the connection is useless, and the owner has yet to say that it is lost */
    CALLER_CLOSED, /* being freed */
} CallerState;

struct CallsockCaller {
    CallsockCallerConfig config;
    CallerState state;
    CallerItem queue; /* head of the ring */
    size_t n_queued;
    CallerItem *sent;   /* whose answer is awaited */
    CallerItem *done;   /* whose answer has come and is about to be handed on */
    int64_t late_at_ms; /* if `sent` is abandoned: until when others wait for it */
    CallerItem *pool;
    size_t n_pool;
    Arena arena;     /* of the answer that is being read */
    Bytes measure;   /* a request without its arguments, to see its size */
    bool has_heard;  /* this connection has brought a message */
    bool is_pumping; /* calls that are submitted meanwhile are sent by the loop further out */
    int error;
};

static void item_ring_init(CallerItem *head)
{
    head->prev = head;
    head->next = head;
}

static void item_append(CallerItem *head, CallerItem *item)
{
    item->prev = head->prev;
    item->next = head;
    head->prev->next = item;
    head->prev = item;
}

static void item_prepend(CallerItem *head, CallerItem *item)
{
    item_append(head->next, item);
}

static void item_unlink(CallerItem *item)
{
    item->prev->next = item->next;
    item->next->prev = item->prev;
}

/* A place for the call; NULL if there is no memory. */
static CallerItem *caller_item(CallsockCaller *caller, Call *call, Span name)
{
    CallerItem *item = caller->pool;

    if (item != NULL) {
        caller->pool = item->next;
        caller->n_pool--;
    } else {
        item = mem_alloc(sizeof(*item));
    }
    if (item != NULL) {
        *item = (CallerItem){.call = call,
                             .name = name,
                             .had_arguments = call->arguments.node != NULL,
                             .wants_progress = call->wants_progress};
        call->provider_data = item;
    }
    return item;
}

/* Gives the place back, and the call (NULL if abandoned), which no longer knows of us. */
static Call *caller_release(CallsockCaller *caller, CallerItem *item)
{
    Call *call = item->call;

    if (call != NULL) {
        call->provider_data = NULL;
    }
    if (caller->n_pool < CALLER_KEPT_ITEMS) {
        item->next = caller->pool;
        caller->pool = item;
        caller->n_pool++;
    } else {
        (void)mem_free(item);
    }
    return call;
}

/* Takes the first of the queue, or of what was taken from it. */
static CallerItem *caller_pop(CallsockCaller *caller, CallerItem *head)
{
    CallerItem *item = head->next;

    item_unlink(item);
    caller->n_queued--;
    return item;
}

/* Ends a call that has no place any more. It may lead to the next submit before it returns. */
TW_PRINTF(3, 4)
static void caller_fail(Call *call, CallError error, const char *format, ...)
{
    char words[CALLER_WORDS_BYTES];
    va_list args;

    if (call == NULL) {
        return;
    }
    va_start(args, format);
    (void)vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    call_fail(call, error, span_from_str(words));
}

/* The call whose request is out: whether it ran is for the parent to know, who has gone. */
static Call *caller_release_lost(CallsockCaller *caller, CallerItem *item)
{
    Call *call = caller_release(caller, item);

    if (call != NULL) {
        call->may_have_run = true;
    }
    return call;
}

/* Puts the request on the wire. 0, a negative errno, or positive if there is no room. */
static int caller_write(CallsockCaller *caller, const CallerItem *item)
{
    const CallsockSink *sink = caller->config.sink;
    BytesLent lent = BYTES_LENT_NULL;
    Bytes *bytes;
    int r = sink->begin(sink->context, &bytes);

    if (r != 0) {
        return r;
    }
    r = callsock_request_write_lent(bytes,
                                    &(CallsockRequest){.name = item->name,
                                                       .arguments = item->call->arguments,
                                                       .wants_progress = item->wants_progress},
                                    sink->commit_lent != NULL ? &lent : NULL);
    if (r != 0) {
        sink->abort(sink->context);
        return r;
    }
    return lent.span.p != NULL ? sink->commit_lent(sink->context, lent)
                               : sink->commit(sink->context);
}

static void caller_fail_size(CallsockCaller *caller, Call *call)
{
    caller_fail(call, CALL_ERROR_TOO_LARGE,
                "the arguments are too large: a request to the parent may have %u bytes; pass less "
                "at once",
                (unsigned)caller->config.max_bytes);
}

/* Sends the first of the queue if the connection is free. Those that cannot be sent have not run:
 * they end, the others follow. */
static void caller_pump(CallsockCaller *caller)
{
    if (caller->is_pumping) {
        return;
    }
    caller->is_pumping = true;
    while (caller->state == CALLER_CONNECTED && caller->sent == NULL && caller->n_queued > 0) {
        CallerItem *item = caller_pop(caller, &caller->queue);
        int r = caller_write(caller, item);

        if (r == 0) {
            caller->sent = item;
        } else if (r > 0) {
            caller_fail_size(caller, caller_release(caller, item));
        } else {
            caller->state = CALLER_ENDING;
            caller->error = r;
            caller_fail(caller_release(caller, item), CALL_ERROR_UNAVAILABLE,
                        "the call could not be sent to the parent at %s (error %d); it has not "
                        "run: call again",
                        caller->config.place, -r);
        }
    }
    caller->is_pumping = false;
}

int callsock_caller_new(CallsockCaller **ret, const CallsockCallerConfig *config)
{
    CallsockCaller *caller = mem_alloc(sizeof(*caller));

    if (caller == NULL) {
        return err_raise(-ENOMEM);
    }
    *caller = (CallsockCaller){.config = *config};
    if (caller->config.max_bytes == 0) {
        caller->config.max_bytes = LIMIT_CALLSOCK_MESSAGE_BYTES;
    }
    if (caller->config.late_ms == 0) {
        caller->config.late_ms = LIMIT_CALLSOCK_LATE_MS;
    }
    item_ring_init(&caller->queue);
    /* Bounded by the message, which the frame's reader bounds. */
    arena_init(&caller->arena, SIZE_MAX);
    bytes_init(&caller->measure, caller->config.max_bytes);
    *ret = caller;
    return 0;
}

/* Moves the queue to a head of the caller's own, so that calls submitted by those that end are told
 * apart; cancelling still finds each of them there. */
static void caller_detach(CallsockCaller *caller, CallerItem *head)
{
    item_ring_init(head);
    if (caller->n_queued > 0) {
        head->next = caller->queue.next;
        head->prev = caller->queue.prev;
        head->next->prev = head;
        head->prev->next = head;
        item_ring_init(&caller->queue);
    }
}

CallsockCaller *callsock_caller_free(CallsockCaller *caller)
{
    CallerItem *item;

    if (caller == NULL) {
        return NULL;
    }
    caller->state = CALLER_CLOSED;
    item = caller->sent;
    caller->sent = NULL;
    if (item != NULL) {
        caller_fail(caller_release_lost(caller, item), CALL_ERROR_UNAVAILABLE,
                    "the connection to the parent at %s was closed while the call ran; it may have "
                    "been done: check before calling again",
                    caller->config.place);
    }
    while (caller->queue.next != &caller->queue) {
        item = caller_pop(caller, &caller->queue);
        caller_fail(caller_release(caller, item), CALL_ERROR_UNAVAILABLE,
                    "the tools of the parent at %s are not offered any more; the call has not run",
                    caller->config.place);
    }
    while (caller->pool != NULL) {
        item = caller->pool;
        caller->pool = item->next;
        (void)mem_free(item);
    }
    arena_deinit(&caller->arena);
    bytes_deinit(&caller->measure);
    return mem_free(caller);
}

/* Whether the request is within the limit, which equality is. Only one that comes near it is
 * measured. */
static bool caller_fits(CallsockCaller *caller, const Call *call, Span name)
{
    size_t n = call->arguments.node != NULL ? json_span(call->arguments).n : sizeof("{}") - 1;
    size_t max = caller->config.max_bytes;
    bool fits;

    if (n <= max && name.n <= max &&
        n + name.n * CALLER_BYTES_PER_LETTER + CALLER_REQUEST_OVERHEAD <= max) {
        return true;
    }
    /* It writes {} where the arguments will be. Whatever goes wrong, it does not fit. */
    bytes_clear(&caller->measure);
    fits = callsock_request_write(
               &caller->measure, &(CallsockRequest){.name = name,
                                                    .arguments = JSON_VALUE_NULL,
                                                    .wants_progress = call->wants_progress}) == 0 &&
           caller->measure.n - (sizeof("{}") - 1) + n <= max;
    bytes_clear_keep(&caller->measure, LIMIT_KEEP_BYTES);
    return fits;
}

void callsock_caller_submit(CallsockCaller *caller, Call *call, Span name, int64_t now_ms)
{
    CallerItem *item;

    (void)now_ms;
    if (caller->state == CALLER_CLOSED) {
        call_fail(call, CALL_ERROR_UNAVAILABLE, SPAN_NULL);
        return;
    }
    if (!caller_fits(caller, call, name)) {
        caller_fail_size(caller, call);
        return;
    }
    item = caller_item(caller, call, name);
    if (item == NULL) {
        call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
        return;
    }
    item_append(&caller->queue, item);
    caller->n_queued++;
    caller_pump(caller);
}

void callsock_caller_cancel(CallsockCaller *caller, Call *call, int64_t now_ms)
{
    CallerItem *item = call->provider_data;

    if (item == NULL) {
        return;
    }
    if (item == caller->done) {
        call->provider_data = NULL;
        item->call = NULL;
        return;
    }
    if (item == caller->sent) {
        call->provider_data = NULL;
        item->call = NULL;
        caller->late_at_ms = now_ms + caller->config.late_ms;
        return;
    }
    item_unlink(item);
    caller->n_queued--;
    (void)caller_release(caller, item);
}

bool callsock_caller_wants_connection(const CallsockCaller *caller)
{
    return caller->state == CALLER_APART && caller->n_queued > 0;
}

void callsock_caller_connected(CallsockCaller *caller, int64_t now_ms)
{
    (void)now_ms;
    assert(caller->state == CALLER_APART);
    caller->state = CALLER_CONNECTED;
    caller->has_heard = false;
    caller->error = 0;
    caller_pump(caller);
}

/* Fails everything that is queued; those that come meanwhile stay. */
static void caller_fail_queue(CallsockCaller *caller, const char *what, Span why,
                              const char *advice)
{
    CallerItem head;

    caller_detach(caller, &head);
    while (head.next != &head) {
        CallerItem *item = caller_pop(caller, &head);

        caller_fail(caller_release(caller, item), CALL_ERROR_UNAVAILABLE,
                    "%s the parent at %s: %.*s; %s", what, caller->config.place, (int)why.n, why.p,
                    advice);
    }
}

void callsock_caller_unreachable(CallsockCaller *caller, Span why)
{
    caller_fail_queue(caller, "cannot connect to", why,
                      "start the program that owns these tools, then call again");
}

void callsock_caller_refused(CallsockCaller *caller, Span why)
{
    caller_fail_queue(caller, "refused to talk to", why, "the call has not run");
}

void callsock_caller_taken(CallsockCaller *caller)
{
    if (caller->sent != NULL && caller->sent->call != NULL) {
        caller->sent->call->took_arguments = true;
    }
}

/* Nothing of it left, so it has not run: it is the first on the next connection, if that has not
 * happened to it before. */
static void caller_send_again(CallsockCaller *caller, CallerItem *item, Span why)
{
    const Call *call = item->call;
    bool is_whole = call != NULL && (call->arguments.node != NULL || !item->had_arguments);

    if (is_whole && !item->is_again) {
        item->is_again = true;
        item_prepend(&caller->queue, item);
        caller->n_queued++;
        return;
    }
    caller_fail(caller_release(caller, item), CALL_ERROR_UNAVAILABLE,
                "the call could not be sent to the parent at %s%s%.*s%s; it has not run: call "
                "again",
                caller->config.place, why.n > 0 ? " (" : "", (int)why.n, why.n > 0 ? why.p : "",
                why.n > 0 ? ")" : "");
}

void callsock_caller_lost(CallsockCaller *caller, Span why, bool is_unsent)
{
    CallerItem *item = caller->sent;

    caller->state = CALLER_APART;
    caller->error = 0;
    caller->sent = NULL;
    if (item != NULL && is_unsent) {
        caller_send_again(caller, item, why);
    } else if (item != NULL) {
        caller_fail(caller_release_lost(caller, item), CALL_ERROR_UNAVAILABLE,
                    "the connection to the parent at %s was lost while the call ran%s%.*s%s; it "
                    "may have been done: check before calling again",
                    caller->config.place, why.n > 0 ? " (" : "", (int)why.n, why.n > 0 ? why.p : "",
                    why.n > 0 ? ")" : "");
    }
}

/* The parent works on the next call while we hand on its answer to the last. Those that cannot be
 * sent end, which may cancel the one whose answer it is. */
static void caller_send_next(CallsockCaller *caller, CallerItem *done)
{
    const CallsockSink *sink = caller->config.sink;

    caller->done = done;
    caller_pump(caller);
    caller->done = NULL;
    if (caller->sent != NULL && sink->flush != NULL) {
        sink->flush(sink->context);
    }
}

/* False: it is no report of progress. */
static bool caller_take_progress(CallsockCaller *caller, Span message)
{
    const CallerItem *item = caller->sent;
    CallProgress progress;
    Diag diag;
    bool is_one;

    if (!item->wants_progress || !callsock_is_progress(message)) {
        return false;
    }
    is_one = callsock_progress_read(&progress, &caller->arena, message, &diag) == 0;
    if (is_one && item->call != NULL) {
        call_report(item->call, &progress);
    }
    arena_reset(&caller->arena, LIMIT_KEEP_BYTES);
    return is_one;
}

int callsock_caller_receive(CallsockCaller *caller, Span message, bool has_more, int64_t now_ms)
{
    CallerItem *item = caller->sent;
    CallResult result;
    Diag diag;
    Call *call;
    bool is_over;
    int r;

    (void)now_ms;
    if (item == NULL) {
        caller->state = caller->state == CALLER_CONNECTED ? CALLER_ENDING : caller->state;
        return CALLSOCK_E_PROTOCOL;
    }
    if (caller_take_progress(caller, message)) {
        return 0;
    }
    r = callsock_response_read(&result, &caller->arena, message, &diag);
    caller->has_heard = true;
    caller->sent = NULL;
    is_over = r == CALLSOCK_E_PROTOCOL || has_more;
    if (is_over) {
        /* What lies behind would be taken for the answer to whatever were sent now. */
        caller->state = CALLER_ENDING;
    } else {
        caller_send_next(caller, item);
    }
    call = caller_release(caller, item);
    if (r == CALLSOCK_E_PROTOCOL) {
        caller_fail(call, CALL_ERROR_BAD_RESULT,
                    "the parent at %s did not answer with a message: %s; the call may have been "
                    "done: check before calling again",
                    caller->config.place, diag.message);
    } else if (r == CALLSOCK_E_VALUE) {
        caller_fail(call, CALL_ERROR_BAD_RESULT, "%s", diag.message);
    } else if (r != 0) {
        caller_fail(call, CALL_ERROR_INTERNAL,
                    "there is no memory for the parent's answer; the call has been done");
    } else if (call != NULL) {
        call->may_have_run = result.is_interrupted;
        call_finish(call, &result);
    }
    arena_reset(&caller->arena, LIMIT_KEEP_BYTES);
    caller_pump(caller);
    return is_over ? CALLSOCK_E_PROTOCOL : 0;
}

void callsock_caller_refuse_size(CallsockCaller *caller, uint32_t declared)
{
    CallerItem *item = caller->sent;
    uint32_t other = bytes_swap32(declared);

    caller->state = CALLER_ENDING;
    caller->sent = NULL;
    if (item != NULL && !caller->has_heard && other > 0 && other <= caller->config.max_bytes) {
        caller_fail(caller_release(caller, item), CALL_ERROR_BAD_RESULT,
                    "the parent's answer says that it has %u bytes, and %u in the other byte "
                    "order: on the call socket lengths are big-endian (on the pipe they are "
                    "little-endian); the call may have been done: check before calling again",
                    (unsigned)declared, (unsigned)other);
    } else if (item != NULL) {
        caller_fail(caller_release(caller, item), CALL_ERROR_TOO_LARGE,
                    "the parent's answer has %u bytes, more than the %u that a message may have; "
                    "the call has been done: ask for less next time",
                    (unsigned)declared, (unsigned)caller->config.max_bytes);
    }
}

/* Is an answer awaited that nobody wants, while others wait for the connection? */
static bool caller_is_held_up(const CallsockCaller *caller)
{
    return caller->sent != NULL && caller->sent->call == NULL && caller->n_queued > 0;
}

int64_t callsock_caller_deadline(const CallsockCaller *caller)
{
    return caller_is_held_up(caller) ? caller->late_at_ms : INT64_MAX;
}

bool callsock_caller_wants_reset(const CallsockCaller *caller, int64_t now_ms)
{
    return caller_is_held_up(caller) && now_ms >= caller->late_at_ms;
}

bool callsock_caller_is_awaiting(const CallsockCaller *caller)
{
    return caller->sent != NULL;
}

size_t callsock_caller_pending(const CallsockCaller *caller)
{
    return caller->n_queued + (caller->sent != NULL && caller->sent->call != NULL ? 1 : 0);
}

int callsock_caller_error(const CallsockCaller *caller)
{
    return caller->error;
}
