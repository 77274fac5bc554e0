#include "dialect/callsock/parent.h"

#include <assert.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"

/* Room for two sentences with numbers. */
#define PARENT_WORDS_BYTES 320

/* More words than a person reads while he waits; a report that is longer is left out. */
#define PARENT_PROGRESS_BYTES ((size_t)64 * 1024)

/* What is written may be more than a message holds. */
enum {
    PARENT_E_TOO_LARGE = 1
};

typedef enum ParentState {
    PARENT_IDLE,
    PARENT_READY,   /* the call waits to be fetched */
    PARENT_RUNNING, /* it was fetched; its finish will come */
} ParentState;

struct CallsockParent {
    Call call; /* first: what the router hands back leads here */
    CallsockParentConfig config;
    ParentState state;
    const char *lent_name; /* what call.target points at until the router keeps a copy */
    Arena arena;           /* of the message that is being read */
    bool has_heard;        /* a message has come */
    int error;
};

/* Appends one message: a result, or if that is NULL an error of this type. 0, a negative errno,
 * PARENT_E_TOO_LARGE. */
static int parent_write(CallsockParent *parent, const CallResult *result, Span type, Span words)
{
    const CallsockSink *sink = parent->config.sink;
    BytesLent lent = BYTES_LENT_NULL;
    Bytes *bytes;
    size_t start;
    int r = sink->begin(sink->context, &bytes);

    if (r != 0) {
        return r > 0 ? PARENT_E_TOO_LARGE : err_pass(r);
    }
    start = bytes->n;
    r = result != NULL
            ? callsock_response_write_lent(bytes, result, sink->commit_lent != NULL ? &lent : NULL)
            : callsock_error_write(bytes, type, words);
    if (r == 0 && bytes->n - start + lent.span.n > parent->config.max_bytes) {
        r = PARENT_E_TOO_LARGE;
    }
    if (r == 0 && lent.span.p != NULL) {
        r = sink->commit_lent(sink->context, lent);
    } else if (r == 0) {
        r = sink->commit(sink->context);
    } else {
        sink->abort(sink->context);
    }
    return r > 0 ? PARENT_E_TOO_LARGE : err_pass(r);
}

/* As an error must: one that finds no room is the end of the connection. */
static int parent_write_error(CallsockParent *parent, const char *type, const char *words)
{
    int r = parent_write(parent, NULL, span_from_str(type), span_from_str(words));

    return r > 0 ? err_raise(-ENOBUFS) : err_pass(r);
}

/* Whether the parts of a result alone pass the limit, so that they need not be copied to see it. */
static bool parent_is_too_large(const CallsockParent *parent, const CallResult *result)
{
    size_t n = result->structured.n + result->members.n + result->meta.n;

    for (size_t i = 0; i < result->n_pieces; i++) {
        n += result->pieces[i].n;
    }
    return result->kind == CALL_RESULT_TOOL && n > parent->config.max_bytes;
}

static int parent_answer(CallsockParent *parent, const CallResult *result)
{
    char words[PARENT_WORDS_BYTES];
    int r = PARENT_E_TOO_LARGE;

    if (!parent_is_too_large(parent, result)) {
        r = parent_write(parent, result, SPAN_NULL, SPAN_NULL);
    }
    if (r != PARENT_E_TOO_LARGE) {
        return err_pass(r);
    }
    (void)snprintf(words, sizeof(words),
                   "Message exceeds max size: the result does not fit into the %u bytes of a "
                   "response; ask the tool for less at once",
                   (unsigned)parent->config.max_bytes);
    return parent_write_error(parent, CALLSOCK_TYPE_SIZE, words);
}

static void parent_finish(Call *call, const CallResult *result)
{
    CallsockParent *parent = (CallsockParent *)call;
    /* Copies replace what was lent as soon as a provider's start has returned without an end: only
     * then is the owner no longer inside dispatch, where it sees for itself that this is over. */
    bool is_later = call->target.p != parent->lent_name;
    CallResult interrupted;
    int r;

    if (call->may_have_run) {
        interrupted = *result;
        interrupted.is_interrupted = true;
        result = &interrupted;
    }
    r = parent_answer(parent, result);
    if (parent->error == 0) {
        parent->error = r;
    }
    parent->state = PARENT_IDLE;
    call_reset(call);
    /* Last of all, since the owner may end the session in there. */
    if (is_later && parent->config.idle != NULL) {
        parent->config.idle(parent->config.context);
    }
}

/* Only a bridge that asked for it is told (Call.wants_progress). What it does not read in time is
 * left out: the next report says more. */
static void parent_progress(Call *call, const CallProgress *progress)
{
    CallsockParent *parent = (CallsockParent *)call;
    const CallsockSink *sink = parent->config.sink;
    Bytes *bytes;
    size_t start;
    int r;

    if ((sink->is_behind != NULL && sink->is_behind(sink->context)) ||
        sink->begin(sink->context, &bytes) != 0) {
        return;
    }
    start = bytes->n;
    r = callsock_progress_write(bytes, progress);
    if (r != 0 || bytes->n - start > PARENT_PROGRESS_BYTES) {
        sink->abort(sink->context);
        return;
    }
    (void)sink->commit(sink->context);
    if (sink->flush != NULL) {
        sink->flush(sink->context);
    }
}

static void parent_log(Call *call, CallLogLevel level, Span logger, Span data)
{
    (void)call;
    (void)level;
    (void)logger;
    (void)data;
}

static const CallDoor parent_door = {
    .finish = parent_finish, .progress = parent_progress, .log = parent_log};

int callsock_parent_new(CallsockParent **ret, const CallsockParentConfig *config)
{
    CallsockParent *parent = mem_alloc(sizeof(*parent));

    if (parent == NULL) {
        return err_raise(-ENOMEM);
    }
    *parent = (CallsockParent){.config = *config};
    if (parent->config.max_bytes == 0) {
        parent->config.max_bytes = LIMIT_CALLSOCK_MESSAGE_BYTES;
    }
    call_init(&parent->call);
    /* Bounded by the message, which the frame's reader bounds. */
    arena_init(&parent->arena, SIZE_MAX);
    *ret = parent;
    return 0;
}

CallsockParent *callsock_parent_free(CallsockParent *parent)
{
    if (parent != NULL) {
        call_deinit(&parent->call);
        arena_deinit(&parent->arena);
    }
    return mem_free(parent);
}

int callsock_parent_receive(CallsockParent *parent, Span message)
{
    CallsockRequest request;
    Diag diag;
    int r;

    assert(parent->state == PARENT_IDLE);
    parent->has_heard = true;
    arena_reset(&parent->arena, LIMIT_KEEP_BYTES);
    r = callsock_request_read(&request, &parent->arena, message, &diag);
    if (r < 0) {
        return err_pass(r);
    }
    if (r == CALLSOCK_E_VALUE) {
        return err_pass(parent_write_error(parent, CALLSOCK_TYPE_VALUE, diag.message));
    }
    if (r == CALLSOCK_E_PROTOCOL) {
        int written = parent_write_error(parent, CALLSOCK_TYPE_PROTOCOL, diag.message);

        return written != 0 ? err_pass(written) : CALLSOCK_E_PROTOCOL;
    }
    parent->call.door = &parent_door;
    parent->call.verb = CALL_TOOL;
    parent->call.target = request.name;
    parent->call.arguments = request.arguments;
    parent->call.wants_progress = request.wants_progress;
    parent->lent_name = request.name.p;
    parent->state = PARENT_READY;
    return 0;
}

uint32_t callsock_parent_other_order(const CallsockParent *parent, uint32_t declared)
{
    uint32_t other = bytes_swap32(declared);

    return !parent->has_heard && other <= parent->config.max_bytes ? other : 0;
}

int callsock_parent_refuse_size(CallsockParent *parent, uint32_t declared)
{
    uint32_t other = callsock_parent_other_order(parent, declared);
    char words[PARENT_WORDS_BYTES];
    int n =
        snprintf(words, sizeof(words), "Message exceeds max size: %u bytes declared, at most %u",
                 (unsigned)declared, (unsigned)parent->config.max_bytes);

    /* A peer that knows the pipe's frames only. */
    if (other > 0) {
        (void)snprintf(words + n, sizeof(words) - (size_t)n,
                       "; in the other byte order the length is %u: on the call socket lengths are "
                       "big-endian (on the pipe they are little-endian)",
                       (unsigned)other);
    }
    return err_pass(parent_write_error(parent, CALLSOCK_TYPE_SIZE, words));
}

Call *callsock_parent_next(CallsockParent *parent)
{
    if (parent->state != PARENT_READY) {
        return NULL;
    }
    parent->state = PARENT_RUNNING;
    return &parent->call;
}

bool callsock_parent_is_busy(const CallsockParent *parent)
{
    return parent->state != PARENT_IDLE;
}

Call *callsock_parent_call(CallsockParent *parent)
{
    return parent->state == PARENT_RUNNING ? &parent->call : NULL;
}

void callsock_parent_drop(CallsockParent *parent)
{
    parent->state = PARENT_IDLE;
    call_reset(&parent->call);
}

int callsock_parent_error(const CallsockParent *parent)
{
    return parent->error;
}
