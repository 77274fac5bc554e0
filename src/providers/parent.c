/* The connection, and what happens to it:
 *
 *     none  --a call is queued--> connect --it stands--> open
 *       ^                           |  ^
 *       |                           |  '-- its backlog is full: again after a moment, a few times
 *       |<--it cannot be had--------'      (then: it cannot be had)
 *       '<--end, failure, a frame that is none, a late answer that does not come-- open
 *
 * Whatever happens (a call starts or is taken back, bytes or the end of them come, time passes) is
 * told to the caller (dialect/callsock/caller.h), and parent_settle then does what that made
 * necessary: close, connect, write, set the timer. Ends of calls, and so the starts of others, come
 * from inside the caller; those only tell it, and the one who is under way settles for them.
 */
#include "providers/parent.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "dialect/callsock/caller.h"
#include "io/error_text.h"
#include "io/watch.h"
#include "providers/parent_schema.h"
#include "providers/parent_wire.h"

/* A parent whose backlog is full has not had a turn to accept: it is tried so often, first after
 * so long and then after twice as long each time, 0.6 s in all. */
#define PARENT_TRIES        6
#define PARENT_FIRST_TRY_MS 20

/* A connection that is silent for so long gives the memory of a large message back. */
#define PARENT_IDLE_MS 1000

/* A sentence of the router's with ours behind it. */
#define PARENT_WORDS_BYTES 320

struct ParentProvider {
    IoLoop *loop;
    const LogSink *log;
    char *socket_path;
    char *schema_path;
    ParentSchema schema;
    IoWatch *watch;
    CallsockCaller *caller;
    ParentWire wire;
    IoTimer *timer;
    int64_t timer_ms;               /* what the timer is set to; INT64_MAX: nothing */
    int64_t retry_ms;               /* when to connect again; INT64_MAX: as soon as it is wanted */
    int64_t idle_ms;                /* when to give memory back; INT64_MAX: there is not much */
    int64_t touched_ms;             /* when the connection was used last */
    unsigned n_tries;               /* that met a full backlog */
    bool is_busy;                   /* somebody is under way, and settles at the end */
    char words[PARENT_WORDS_BYTES]; /* of the last error that was worded */
};

/* ---- the connection ---- */

/* Closes; a call that was sent fails, unless nothing of it had left. why: may be empty. */
static void parent_drop(ParentProvider *provider, Span why)
{
    bool is_unsent = parent_wire_is_unsent(&provider->wire);

    logsink_write(provider->log, LOGSINK_LEVEL_DEBUG, "parent", "%s: connection closed%s%.*s",
                  provider->socket_path, why.n > 0 ? ": " : "", (int)why.n, why.n > 0 ? why.p : "");
    parent_wire_close(&provider->wire);
    provider->idle_ms = INT64_MAX;
    callsock_caller_lost(provider->caller, why, is_unsent);
}

/* One attempt; the caller is told how it went, unless there will be another. */
static void parent_connect(ParentProvider *provider, int64_t now_ms)
{
    Diag why = DIAG_NULL;
    int r = parent_wire_open(&provider->wire, &why);

    if (r == -EAGAIN && provider->n_tries + 1 < PARENT_TRIES) {
        provider->retry_ms = now_ms + ((int64_t)PARENT_FIRST_TRY_MS << provider->n_tries);
        provider->n_tries++;
        return;
    }
    provider->n_tries = 0;
    logsink_write(provider->log, LOGSINK_LEVEL_DEBUG, "parent", "%s: %s", provider->socket_path,
                  r != 0 ? why.message : "connected");
    if (r == PARENT_WIRE_E_FOREIGN) {
        callsock_caller_refused(provider->caller, span_from_str(why.message));
        return;
    }
    if (r != 0) {
        callsock_caller_unreachable(provider->caller, span_from_str(why.message));
        return;
    }
    provider->touched_ms = now_ms;
    callsock_caller_connected(provider->caller, now_ms);
}

/* ---- what has become necessary ---- */

static void parent_set_timer(ParentProvider *provider, int64_t now_ms)
{
    int64_t due_ms = callsock_caller_deadline(provider->caller);

    if (provider->idle_ms == INT64_MAX && parent_wire_keeps_much(&provider->wire)) {
        provider->idle_ms = now_ms + PARENT_IDLE_MS;
    }
    due_ms = provider->idle_ms < due_ms ? provider->idle_ms : due_ms;
    due_ms = provider->retry_ms < due_ms ? provider->retry_ms : due_ms;
    /* Moving a timer costs more than a message: one that is due later than the timer fires is
     * looked at when it does. */
    if (due_ms < provider->timer_ms) {
        provider->timer_ms = due_ms;
        io_timer_start_at(provider->timer, due_ms);
    }
}

/* Ends what cannot go on. */
static void parent_close_broken(ParentProvider *provider, int64_t now_ms)
{
    if (!parent_wire_is_open(&provider->wire)) {
        return;
    }
    if (callsock_caller_error(provider->caller) != 0) {
        parent_drop(provider,
                    span_from_str(io_error_text(-callsock_caller_error(provider->caller))));
    } else if (callsock_caller_wants_reset(provider->caller, now_ms)) {
        parent_drop(provider, SPAN("the answer to a call that was taken back did not come"));
    }
}

static bool parent_wants_connection(const ParentProvider *provider)
{
    return !parent_wire_is_open(&provider->wire) && provider->retry_ms == INT64_MAX &&
           callsock_caller_wants_connection(provider->caller);
}

static void parent_settle(ParentProvider *provider)
{
    int64_t now_ms = io_loop_now_ms(provider->loop);

    if (provider->is_busy) {
        return;
    }
    provider->is_busy = true;
    parent_close_broken(provider, now_ms);
    if (now_ms >= provider->retry_ms) {
        provider->retry_ms = INT64_MAX;
    }
    if (parent_wants_connection(provider)) {
        parent_connect(provider, now_ms);
        parent_close_broken(provider, now_ms);
    } else if (provider->retry_ms == INT64_MAX) {
        provider->n_tries = 0;
    }
    parent_wire_flush(&provider->wire);
    if (parent_wants_connection(provider)) {
        /* Whoever was told of a failure has asked again at once: in the next turn, so that others
         * get theirs. */
        provider->retry_ms = now_ms;
    }
    parent_set_timer(provider, now_ms);
    provider->is_busy = false;
}

/* ---- what happens ---- */

/* A request of which nothing has left has no answer: what comes is one too many to the last. */
static void parent_on_message(void *context, Span message, bool has_more)
{
    ParentProvider *provider = context;

    provider->touched_ms = io_loop_now_ms(provider->loop);
    provider->is_busy = true;
    if (parent_wire_is_unsent(&provider->wire) ||
        callsock_caller_receive(provider->caller, message, has_more, provider->touched_ms) != 0) {
        parent_drop(provider, SPAN("what came is no answer"));
    }
    provider->is_busy = false;
}

static void parent_on_oversize(void *context, uint32_t declared)
{
    ParentProvider *provider = context;

    provider->is_busy = true;
    if (!parent_wire_is_unsent(&provider->wire)) {
        callsock_caller_refuse_size(provider->caller, declared);
    }
    parent_drop(provider, SPAN("an answer over the limit"));
    provider->is_busy = false;
}

/* Between two calls that is the parent's good right, and no error. */
static void parent_on_ended(void *context, Span why)
{
    ParentProvider *provider = context;

    provider->is_busy = true;
    parent_drop(provider, why);
    provider->is_busy = false;
    parent_settle(provider);
}

static void parent_on_settle(void *context)
{
    parent_settle(context);
}

static const ParentWireOps parent_wire_ops = {
    .message = parent_on_message,
    .oversize = parent_on_oversize,
    .settle = parent_on_settle,
    .ended = parent_on_ended,
};

/* Gives the memory of large messages back, unless they have come a moment ago. */
static void parent_trim(ParentProvider *provider, int64_t now_ms)
{
    if (now_ms - provider->touched_ms < PARENT_IDLE_MS) {
        provider->idle_ms = provider->touched_ms + PARENT_IDLE_MS;
        return;
    }
    provider->idle_ms = INT64_MAX;
    parent_wire_trim(&provider->wire);
}

static void parent_on_timer(void *context)
{
    ParentProvider *provider = context;
    int64_t now_ms = io_loop_now_ms(provider->loop);

    provider->timer_ms = INT64_MAX;
    if (now_ms >= provider->idle_ms) {
        parent_trim(provider, now_ms);
    }
    parent_settle(provider);
}

static void parent_on_change(void *context)
{
    ParentProvider *provider = context;

    parent_schema_reload(&provider->schema);
}

/* ---- calls ---- */

/* Can the connection not be used for another call? Where nothing is awaited, anything that came
 * would be taken for the answer. A connection that was used within this millisecond is not asked:
 * under traffic that would be a system call for each call. */
static bool parent_is_spoilt(const ParentProvider *provider, int64_t now_ms)
{
    const ParentWire *wire = &provider->wire;

    if (callsock_caller_is_awaiting(provider->caller)) {
        return now_ms != provider->touched_ms && parent_wire_has_hung_up(wire);
    }
    return parent_wire_has_begun(wire) ||
           (now_ms != provider->touched_ms && parent_wire_has_stirred(wire));
}

/* A parent may have closed a silent connection, or have said what nobody asked for, and the loop
 * not have had a turn to notice: then the call is not wasted on it. */
static void parent_look(ParentProvider *provider, int64_t now_ms)
{
    if (parent_wire_is_open(&provider->wire) && !provider->is_busy &&
        callsock_caller_pending(provider->caller) == 0 && parent_is_spoilt(provider, now_ms)) {
        parent_drop(provider, SPAN("it has ended, or what came is no answer"));
    }
}

static void parent_start(void *context, Call *call)
{
    const ParentTool *tool = context;
    ParentProvider *provider = tool->owner;
    int64_t now_ms = io_loop_now_ms(provider->loop);

    parent_look(provider, now_ms);
    callsock_caller_submit(provider->caller, call, tool->name, now_ms);
    parent_settle(provider);
    if (!parent_wire_is_unsent(&provider->wire)) {
        callsock_caller_taken(provider->caller);
    }
}

static void parent_cancel(void *context, Call *call)
{
    const ParentTool *tool = context;
    ParentProvider *provider = tool->owner;

    callsock_caller_cancel(provider->caller, call, io_loop_now_ms(provider->loop));
    parent_settle(provider);
}

/* A deadline that passed: which setting it comes from, so that whoever reads it can change it. */
static bool parent_word(void *context, const CallResult *error, CallResult *ret)
{
    const ParentTool *tool = context;
    ParentProvider *provider = tool->owner;
    const char *why = tool->timeout_ms > 0
                          ? "the tool's timeout_ms, or --call-timeout-max-ms, sets this limit"
                          : "the tool sets no timeout_ms, so --call-timeout-ms (30s unless given) "
                            "is its limit";

    if (error->error != CALL_ERROR_TIMEOUT) {
        return false;
    }
    (void)snprintf(provider->words, sizeof(provider->words),
                   "%.*s: %s; the parent may still do the work",
                   (int)(error->message.n < 100 ? error->message.n : 100), error->message.p, why);
    *ret = *error;
    ret->message = span_from_str(provider->words);
    return true;
}

static const CallProvider parent_call_provider = {
    .name = "parent", .start = parent_start, .cancel = parent_cancel, .word = parent_word};

/* ---- life ---- */

static char *parent_copy(const char *text)
{
    size_t n = strlen(text) + 1;
    char *copy = mem_alloc(n);

    if (copy != NULL) {
        memcpy(copy, text, n);
    }
    return copy;
}

/* 0, a negative errno, PARENT_PROVIDER_E_SCHEMA. */
static int parent_init(ParentProvider *provider, const ParentProviderConfig *config,
                       Diag *reterr_diag)
{
    int r;

    provider->socket_path = parent_copy(config->socket_path);
    provider->schema_path = parent_copy(config->schema_path);
    if (provider->socket_path == NULL || provider->schema_path == NULL) {
        return err_raise(-ENOMEM);
    }
    parent_wire_init(&provider->wire, provider->loop, provider->socket_path, &parent_wire_ops,
                     provider);
    r = callsock_caller_new(
        &provider->caller,
        &(CallsockCallerConfig){.sink = &provider->wire.sink, .place = provider->socket_path});
    if (r != 0) {
        return err_fold(r);
    }
    r = io_timer_new(&provider->timer, provider->loop, false, parent_on_timer, provider);
    if (r != 0) {
        return err_pass(r);
    }
    r = parent_schema_init(&provider->schema, config->router, provider->schema_path,
                           &parent_call_provider, provider, config->log);
    if (r != 0) {
        return err_pass(r);
    }
    /* Before the first reading, so that no change is missed. */
    r = io_watch_new(&provider->watch, provider->loop, provider->schema_path, parent_on_change,
                     provider);
    if (r != 0) {
        return err_pass(r);
    }
    r = parent_schema_load(&provider->schema, reterr_diag);
    if (r > 0) {
        return PARENT_PROVIDER_E_SCHEMA;
    }
    return err_pass(r);
}

int parent_provider_new(ParentProvider **ret, const ParentProviderConfig *config, Diag *reterr_diag)
{
    ParentProvider *provider = mem_alloc_array(1, sizeof(*provider));
    int r;

    if (provider == NULL) {
        return err_raise(-ENOMEM);
    }
    *provider = (ParentProvider){.loop = config->loop,
                                 .log = config->log,
                                 .schema = PARENT_SCHEMA_NULL,
                                 .wire = PARENT_WIRE_NULL,
                                 .timer_ms = INT64_MAX,
                                 .retry_ms = INT64_MAX,
                                 .idle_ms = INT64_MAX};
    r = parent_init(provider, config, reterr_diag);
    if (r != 0) {
        (void)parent_provider_free(provider);
        return r;
    }
    *ret = provider;
    return 0;
}

ParentProvider *parent_provider_free(ParentProvider *provider)
{
    if (provider == NULL) {
        return NULL;
    }
    /* The tools go first: the end of a call must not lead to the start of another. */
    provider->is_busy = true;
    provider->watch = io_watch_free(provider->watch);
    parent_schema_deinit(&provider->schema);
    parent_wire_close(&provider->wire);
    provider->caller = callsock_caller_free(provider->caller);
    provider->timer = io_timer_free(provider->timer);
    parent_wire_deinit(&provider->wire);
    provider->socket_path = mem_free(provider->socket_path);
    provider->schema_path = mem_free(provider->schema_path);
    return mem_free(provider);
}

size_t parent_provider_count(const ParentProvider *provider)
{
    return provider->schema.tools.n;
}
