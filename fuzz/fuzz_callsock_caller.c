/* The bridge's side of the call socket, with a parent who says anything and a network that fails at
 * any moment.
 *
 * Input: lines. "!c" calls, "!d" calls and has its end lead to another call, "!x" takes the last
 * call back, "!k" the connection stands, "!u" it cannot be had, "!l" it is lost, "!r" it is lost
 * before anything of the request left, "!m" there is more behind the next frame, "!s" a frame is
 * too large, "!w" the sink fails, "!t" time passes, "!p" the calls that follow want progress, or no
 * longer; anything else is a frame from the parent.
 * Whatever happens, each call ends once, no request is sent before the last was answered, and none
 * leaves twice, nor is tried a third time. */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "dialect/callsock/caller.h"

#define MAX_CALLS 256

typedef struct Owner Owner;

typedef struct Asked {
    Call call; /* first */
    Owner *owner;
    bool is_open;
    bool leads;
    size_t n_sent;
    size_t n_tried;
    char name[8];
} Asked;

struct Owner {
    CallsockCaller *caller;
    CallsockSink sink;
    Bytes message;
    Arena arena;
    Asked asked[MAX_CALLS];
    size_t n_asked;
    size_t n_open;
    int64_t now_ms;
    bool is_connected;
    bool is_awaiting;    /* a request is out */
    bool has_more;       /* behind the next frame */
    Asked *out;          /* whose request was sent last */
    bool wants_progress; /* of the calls that follow */
    bool was_report;
    bool is_failing; /* the sink */
};

static int sink_begin(void *context, Bytes **ret)
{
    Owner *owner = context;

    bytes_clear(&owner->message);
    *ret = &owner->message;
    return 0;
}

static int sink_commit(void *context)
{
    Owner *owner = context;
    CallsockRequest request;

    FUZZ_REQUIRE(owner->is_connected && !owner->is_awaiting);
    if (owner->is_failing) {
        return -EPIPE;
    }
    arena_reset(&owner->arena, 65536);
    FUZZ_REQUIRE(
        callsock_request_read(&request, &owner->arena, bytes_span(&owner->message), NULL) == 0);
    owner->is_awaiting = true;
    for (size_t i = 0; i < owner->n_asked; i++) {
        Asked *asked = &owner->asked[i];

        if (span_equals(request.name, span_from_str(asked->name))) {
            FUZZ_REQUIRE(asked->is_open && asked->n_sent == 0);
            asked->n_sent++;
            asked->n_tried++;
            FUZZ_REQUIRE(asked->n_tried <= 2);
            owner->out = asked;
            return 0;
        }
    }
    FUZZ_REQUIRE(false);
    return 0;
}

static void sink_abort(void *context)
{
    bytes_clear(&((Owner *)context)->message);
}

static void submit(Owner *owner, bool leads);

static void finish(Call *call, const CallResult *result)
{
    Asked *asked = (Asked *)call;

    FUZZ_REQUIRE(asked->is_open);
    FUZZ_REQUIRE(result->kind == CALL_RESULT_TOOL || result->message.n > 0);
    asked->is_open = false;
    asked->owner->n_open--;
    if (asked->leads) {
        submit(asked->owner, false);
    }
}

static void report(Call *call, const CallProgress *progress)
{
    Asked *asked = (Asked *)call;

    FUZZ_REQUIRE(asked->is_open && call->wants_progress && progress->spelt.n > 0);
    asked->owner->was_report = true;
}

static const CallDoor door = {.finish = finish, .progress = report};

static void submit(Owner *owner, bool leads)
{
    Asked *asked;

    if (owner->n_asked == MAX_CALLS) {
        return;
    }
    asked = &owner->asked[owner->n_asked];
    call_init(&asked->call);
    asked->call.door = &door;
    asked->call.wants_progress = owner->wants_progress;
    asked->owner = owner;
    asked->is_open = true;
    asked->leads = leads;
    (void)snprintf(asked->name, sizeof(asked->name), "%zu", owner->n_asked);
    owner->n_asked++;
    owner->n_open++;
    callsock_caller_submit(owner->caller, &asked->call, span_from_str(asked->name), owner->now_ms);
}

static void lose(Owner *owner, bool is_unsent)
{
    if (is_unsent && owner->is_awaiting) {
        owner->out->n_sent = 0;
    }
    owner->is_connected = false;
    owner->is_awaiting = false;
    callsock_caller_lost(owner->caller, SPAN("gone"), is_unsent);
}

static void take_back(Owner *owner)
{
    for (size_t i = owner->n_asked; i-- > 0;) {
        Asked *asked = &owner->asked[i];

        if (asked->is_open) {
            callsock_caller_cancel(owner->caller, &asked->call, owner->now_ms);
            asked->is_open = false;
            owner->n_open--;
            return;
        }
    }
}

static void command(Owner *owner, char what)
{
    if (what == 'c' || what == 'd') {
        submit(owner, what == 'd');
    } else if (what == 'p') {
        owner->wants_progress = !owner->wants_progress;
    } else if (what == 'x') {
        take_back(owner);
    } else if (what == 'k' && callsock_caller_wants_connection(owner->caller)) {
        FUZZ_REQUIRE(!owner->is_connected);
        owner->is_connected = true;
        callsock_caller_connected(owner->caller, owner->now_ms);
    } else if (what == 'u' && !owner->is_connected) {
        callsock_caller_unreachable(owner->caller, SPAN("Connection refused"));
    } else if (what == 'l' || what == 'r') {
        lose(owner, what == 'r');
    } else if (what == 'm') {
        owner->has_more = true;
    } else if (what == 's' && owner->is_connected) {
        callsock_caller_refuse_size(owner->caller, UINT32_MAX);
        lose(owner, false);
    } else if (what == 'w') {
        owner->is_failing = !owner->is_failing;
    } else if (what == 't') {
        owner->now_ms += 999;
    }
}

/* What an owner does after each event. */
static void look(Owner *owner)
{
    if (callsock_caller_error(owner->caller) != 0 ||
        callsock_caller_wants_reset(owner->caller, owner->now_ms)) {
        lose(owner, false);
    }
    FUZZ_REQUIRE(!owner->is_connected || !callsock_caller_wants_connection(owner->caller));
    FUZZ_REQUIRE(callsock_caller_pending(owner->caller) == owner->n_open);
    FUZZ_REQUIRE(callsock_caller_deadline(owner->caller) > owner->now_ms);
}

static void play(Owner *owner, Span line)
{
    if (line.n == 2 && line.p[0] == '!') {
        command(owner, line.p[1]);
    } else if (owner->is_connected) {
        bool was_awaiting = owner->is_awaiting;
        bool may_report = was_awaiting && owner->out->call.wants_progress;
        int r;

        owner->is_awaiting = false;
        owner->was_report = false;
        r = callsock_caller_receive(owner->caller, line, owner->has_more, owner->now_ms);
        if (may_report && r == 0 && owner->out->n_sent == 1 && !owner->is_awaiting) {
            /* A report leaves the request where it is. */
            owner->is_awaiting = callsock_caller_is_awaiting(owner->caller);
        }
        FUZZ_REQUIRE(!owner->was_report || (may_report && owner->is_awaiting));
        FUZZ_REQUIRE((was_awaiting && (!owner->has_more || owner->is_awaiting)) ||
                     r == CALLSOCK_E_PROTOCOL);
        owner->has_more = false;
        if (r != 0) {
            FUZZ_REQUIRE(!owner->is_awaiting);
            lose(owner, false);
        }
    }
    look(owner);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static Owner owner;
    CallsockCallerConfig config = {.place = "/run/p.sock"};
    Span input = span_make((const char *)data, size);

    owner = (Owner){.now_ms = 1};
    owner.sink = (CallsockSink){
        .begin = sink_begin, .commit = sink_commit, .abort = sink_abort, .context = &owner};
    config.sink = &owner.sink;
    bytes_init(&owner.message, SIZE_MAX);
    arena_init(&owner.arena, SIZE_MAX);
    FUZZ_REQUIRE(callsock_caller_new(&owner.caller, &config) == 0);
    while (input.n > 0) {
        const char *newline = memchr(input.p, '\n', input.n);
        size_t n = newline == NULL ? input.n : (size_t)(newline - input.p);

        play(&owner, span_make(input.p, n));
        n += newline != NULL ? 1 : 0;
        input = span_make(input.p + n, input.n - n);
    }
    owner.caller = callsock_caller_free(owner.caller);
    FUZZ_REQUIRE(owner.n_open == 0);
    for (size_t i = 0; i < owner.n_asked; i++) {
        call_deinit(&owner.asked[i].call);
    }
    bytes_deinit(&owner.message);
    arena_deinit(&owner.arena);
    return 0;
}
