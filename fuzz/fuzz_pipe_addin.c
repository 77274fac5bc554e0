/* Messages of the pipe, and an add-in who serves whatever a hub says.
 *
 * Input: flags (FLAG_*), then messages with the byte 0x1E in between. Each is read as what ends a
 * call, which must survive being written and read again, and given to an add-in, who answers every
 * call once and sends nothing but messages of this protocol. The message "!" ends the oldest call
 * that runs, "+" reports its progress, "*" announces that what is offered has changed, "?" lets ten
 * seconds pass. */
#include "fuzz.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "dialect/pipe/addin.h"

enum {
    FLAG_LATER = 1u << 0,  /* calls end after dispatch */
    FLAG_FAIL = 1u << 1,   /* calls end in errors */
    FLAG_SMALL = 1u << 2,  /* messages of 500 bytes at most */
    FLAG_SERIAL = 1u << 3, /* one after the other */
};

typedef struct Owner {
    PipeAddin *addin;
    PipeSink sink;
    PipeSource source;
    Bytes message;
    Arena arena;
    unsigned flags;
    unsigned n_ids;
    int64_t now_ms;
    size_t n_dispatched;
    size_t n_ended;
    size_t n_answers;  /* results, and errors about a call that ended */
    bool is_ending;    /* a call, right now */
    bool is_cancelled; /* one, whose answer follows */
    double progress;
} Owner;

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
    PipeMessage message;

    arena_reset(&owner->arena, 65536);
    FUZZ_REQUIRE(pipe_message_read(&message, &owner->arena, bytes_span(&owner->message), NULL) ==
                 0);
    FUZZ_REQUIRE(message.type != PIPE_TOOL_CALL && uuid_is_v4(message.id));
    FUZZ_REQUIRE(message.type != PIPE_TOOL_CANCEL);
    if (owner->is_ending || owner->is_cancelled) {
        FUZZ_REQUIRE(message.type == PIPE_TOOL_RESULT || message.type == PIPE_ERROR);
        FUZZ_REQUIRE(message.call_id.n > 0);
        owner->n_answers++;
        owner->is_cancelled = false;
    }
    return 0;
}

static void sink_abort(void *context)
{
    bytes_clear(&((Owner *)context)->message);
}

static void source_uuid(void *context, char ret[UUID_SIZE])
{
    (void)snprintf(ret, UUID_SIZE, "00000000-0000-4000-8000-%012u",
                   ++((Owner *)context)->n_ids % 1000000000u);
}

static int64_t source_unix_ms(void *context)
{
    return ((Owner *)context)->now_ms;
}

static int list(void *context, Bytes *out)
{
    (void)context;
    return bytes_append_span(out, SPAN("{\"name\":\"x\",\"tools\":[]}"));
}

static void cancel(void *context, Call *call)
{
    Owner *owner = context;

    (void)call;
    FUZZ_REQUIRE(!owner->is_ending && !owner->is_cancelled);
    owner->is_cancelled = true;
    owner->n_ended++;
}

static void report(Owner *owner, Call *call)
{
    CallProgress progress = {
        .progress = ++owner->progress, .total = CALL_NO_TOTAL, .message = call->target};

    call_report(call, &progress);
}

static void end_call(Owner *owner, Call *call)
{
    CallResult result = {.kind = CALL_RESULT_TOOL, .structured = SPAN("{}")};

    Span contents = SPAN("{\"uri\":\"x:y\",\"text\":\"\"}");

    if (call->arguments.node != NULL) {
        result.structured = json_span(call->arguments);
    }
    if (call->verb == CALL_READ) {
        result = (CallResult){.kind = CALL_RESULT_RESOURCE, .pieces = &contents, .n_pieces = 1};
    }
    result.is_error = (owner->flags & FLAG_FAIL) != 0;
    if (result.is_error && call->target.n % 2 == 0) {
        result.kind = CALL_RESULT_ERROR;
        result.error = call->target.n % 4 == 0 ? CALL_ERROR_UNKNOWN_TOOL : CALL_ERROR_RAISED;
        result.message = call->target;
        result.error_type = call->target;
    }
    owner->is_ending = true;
    call_finish(call, &result);
    owner->is_ending = false;
    owner->n_ended++;
}

static void pump(Owner *owner)
{
    Call *call;

    while ((call = pipe_addin_next(owner->addin)) != NULL) {
        owner->n_dispatched++;
        if ((owner->flags & FLAG_LATER) == 0) {
            end_call(owner, call);
        } else {
            FUZZ_REQUIRE(call_keep_arguments(call) == 0);
        }
    }
    FUZZ_REQUIRE(owner->n_dispatched - owner->n_ended == pipe_addin_running(owner->addin));
    FUZZ_REQUIRE((owner->flags & FLAG_SERIAL) == 0 || pipe_addin_running(owner->addin) <= 1);
}

/* What a result says must be the same after it was written and read again. */
static void read_result(Span text)
{
    PipeHead head = {.id = "00000000-0000-4000-8000-000000000001", .unix_ms = 0};
    Arena arena;
    Bytes out;
    PipeMessage message;
    CallResult first;
    CallResult second;
    Diag diag;
    int r;

    arena_init(&arena, SIZE_MAX);
    bytes_init(&out, SIZE_MAX);
    r = pipe_message_read(&message, &arena, text, &diag);
    FUZZ_REQUIRE(r == 0 || (r == diag.code && diag.message[0] != '\0'));
    if (r == 0 && (message.type == PIPE_TOOL_RESULT || message.type == PIPE_ERROR)) {
        FUZZ_REQUIRE(pipe_result_read(&first, &arena, &message, 1) == 0);
        FUZZ_REQUIRE(pipe_write_result(&out, &head, SPAN("1"), SPAN("t"), &first, 1) == 0);
        FUZZ_REQUIRE(pipe_message_read(&message, &arena, bytes_span(&out), NULL) == 0);
        FUZZ_REQUIRE(pipe_result_read(&second, &arena, &message, 1) == 0);
        FUZZ_REQUIRE(first.is_error == second.is_error);
        FUZZ_REQUIRE(first.is_error || span_equals(first.structured, second.structured));
    }
    bytes_deinit(&out);
    arena_deinit(&arena);
}

/* The same, read as what became of a resource. */
static void read_resource(Span text)
{
    PipeHead head = {.id = "00000000-0000-4000-8000-000000000001", .unix_ms = 0};
    Arena arena;
    Bytes out;
    PipeMessage message;
    CallResult first;
    CallResult second;

    arena_init(&arena, SIZE_MAX);
    bytes_init(&out, SIZE_MAX);
    if (pipe_message_read(&message, &arena, text, NULL) == 0 &&
        (message.type == PIPE_TOOL_RESULT || message.type == PIPE_ERROR)) {
        FUZZ_REQUIRE(pipe_resource_read(&first, &arena, &message, 1) == 0);
        FUZZ_REQUIRE(pipe_write_resource(&out, &head, SPAN("1"), &first, 1, NULL) == 0);
        FUZZ_REQUIRE(pipe_message_read(&message, &arena, bytes_span(&out), NULL) == 0);
        FUZZ_REQUIRE(pipe_resource_read(&second, &arena, &message, 1) == 0);
        FUZZ_REQUIRE(first.kind == second.kind && first.error == second.error);
        FUZZ_REQUIRE(first.n_pieces == second.n_pieces);
        FUZZ_REQUIRE(first.n_pieces == 0 || span_equals(first.pieces[0], second.pieces[0]));
        FUZZ_REQUIRE(first.kind != CALL_RESULT_ERROR || first.message.n <= second.message.n);
    }
    bytes_deinit(&out);
    arena_deinit(&arena);
}

/* Returns false when the connection is over. */
static bool serve(Owner *owner, Span message)
{
    Call *call = pipe_addin_first(owner->addin);
    int r = 0;

    if (message.n == 1 && message.p[0] == '?') {
        owner->now_ms += 10000;
    } else if (message.n == 1 && message.p[0] == '!') {
        if (call != NULL) {
            end_call(owner, call);
        }
    } else if (message.n == 1 && message.p[0] == '+') {
        if (call != NULL) {
            report(owner, call);
        }
    } else if (message.n == 1 && message.p[0] == '*') {
        if (pipe_addin_hub_understands(owner->addin, PIPE_TOOLS_CHANGED)) {
            (void)pipe_addin_tell_changed(owner->addin);
        }
    } else {
        r = pipe_addin_receive(owner->addin, message, owner->now_ms);
    }
    pump(owner);
    FUZZ_REQUIRE(owner->n_answers == owner->n_ended || pipe_addin_error(owner->addin) != 0);
    return r == 0 && pipe_addin_error(owner->addin) == 0 &&
           pipe_addin_advance(owner->addin, owner->now_ms);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Owner owner = {.flags = size > 0 ? data[0] : 0};
    PipeAddinConfig config = {.seed = {1, 2}, .list = list, .cancel = cancel, .context = &owner};
    Span input = size > 0 ? span_make((const char *)data + 1, size - 1) : SPAN_NULL;
    bool is_open = true;
    Call *call;

    owner.sink = (PipeSink){
        .begin = sink_begin, .commit = sink_commit, .abort = sink_abort, .context = &owner};
    owner.source = (PipeSource){.uuid = source_uuid, .unix_ms = source_unix_ms, .context = &owner};
    config.sink = &owner.sink;
    config.source = &owner.source;
    config.max_bytes = (owner.flags & FLAG_SMALL) != 0 ? 500 : 0;
    config.max_running = (owner.flags & FLAG_SERIAL) != 0 ? 1 : 0;
    bytes_init(&owner.message, SIZE_MAX);
    arena_init(&owner.arena, SIZE_MAX);
    FUZZ_REQUIRE(pipe_addin_new(&owner.addin, &config, 0) == 0);
    while (size > 0) {
        const char *end = input.n > 0 ? memchr(input.p, 0x1E, input.n) : NULL;
        Span message = end == NULL ? input : span_make(input.p, (size_t)(end - input.p));

        read_result(message);
        read_resource(message);
        is_open = is_open && serve(&owner, message);
        if (end == NULL) {
            break;
        }
        input = span_make(end + 1, input.n - message.n - 1);
    }
    while ((call = pipe_addin_first(owner.addin)) != NULL) {
        pipe_addin_drop(owner.addin, call);
    }
    owner.addin = pipe_addin_free(owner.addin);
    bytes_deinit(&owner.message);
    arena_deinit(&owner.arena);
    return 0;
}
