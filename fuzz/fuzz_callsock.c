/* Messages of the call socket, and a parent who serves whatever a bridge says.
 *
 * Input: flags (FLAG_*), then messages with the byte 0x1E in between. Each is read as a response,
 * which must survive being written and read again, and given to a parent, whose every answer must
 * be an object with either a result or an error. */
#include "fuzz.h"

#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "dialect/callsock/parent.h"

enum {
    FLAG_LATER = 1u << 0, /* calls end after dispatch */
    FLAG_FAIL = 1u << 1,  /* calls end in errors */
    FLAG_SMALL = 1u << 2, /* messages of 300 bytes at most */
};

typedef struct Owner {
    CallsockParent *parent;
    CallsockSink sink;
    Bytes message;
    Arena arena;
    size_t n_sent;
    size_t n_idle;
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
    JsonDoc doc;
    JsonValue value;

    arena_reset(&owner->arena, 65536);
    FUZZ_REQUIRE(
        json_parse(&doc, &owner->arena, owner->message.data, owner->message.n, NULL, NULL) == 0);
    FUZZ_REQUIRE(json_get(json_root(&doc), SPAN("result"), &value) !=
                 json_get(json_root(&doc), SPAN("error"), &value));
    owner->n_sent++;
    return 0;
}

static void sink_abort(void *context)
{
    bytes_clear(&((Owner *)context)->message);
}

static void idle(void *context)
{
    ((Owner *)context)->n_idle++;
}

static bool has_newline(Span s)
{
    return s.n > 0 && (memchr(s.p, '\n', s.n) != NULL || memchr(s.p, '\r', s.n) != NULL);
}

static bool same_content(const CallResult *a, const CallResult *b)
{
    if (a->n_pieces == 0) {
        return b->n_pieces == 1; /* what was empty is not written so */
    }
    return b->n_pieces == 1 && span_equals(a->pieces[0], b->pieces[0]) &&
           a->content_kinds == b->content_kinds;
}

static void read_response(Span message)
{
    Arena arena;
    Bytes out;
    CallResult first;
    CallResult second;
    Diag diag;
    int r;

    arena_init(&arena, SIZE_MAX);
    bytes_init(&out, SIZE_MAX);
    r = callsock_response_read(&first, &arena, message, &diag);
    FUZZ_REQUIRE(r == 0 || (r == diag.code && diag.message[0] != '\0'));
    if (r == 0) {
        FUZZ_REQUIRE(callsock_response_write(&out, &first) == 0);
        FUZZ_REQUIRE(callsock_response_read(&second, &arena, bytes_span(&out), &diag) == 0);
        FUZZ_REQUIRE(first.kind == second.kind && first.is_error == second.is_error);
    }
    if (r == 0 && first.kind == CALL_RESULT_TOOL) {
        FUZZ_REQUIRE(same_content(&first, &second));
        FUZZ_REQUIRE(span_equals(first.structured, second.structured));
        FUZZ_REQUIRE(span_equals(first.members, second.members));
        FUZZ_REQUIRE(span_equals(first.meta, second.meta));
        FUZZ_REQUIRE(!has_newline(first.structured) && !has_newline(first.members) &&
                     !has_newline(first.meta));
        FUZZ_REQUIRE(first.n_pieces == 0 || !has_newline(first.pieces[0]));
    } else if (r == 0) {
        FUZZ_REQUIRE(first.error == second.error && first.message.n > 0);
    }
    bytes_deinit(&out);
    arena_deinit(&arena);
}

static void finish(Call *call, bool fails)
{
    CallResult result = {.kind = CALL_RESULT_TOOL, .structured = SPAN("{}")};

    if (call->arguments.node != NULL) {
        result.structured = json_span(call->arguments);
    }
    if (fails) {
        result.kind = CALL_RESULT_ERROR;
        result.error = CALL_ERROR_UNKNOWN_TOOL;
        result.message = call->target;
    }
    call_finish(call, &result);
}

/* Returns false when the connection is over. */
static bool serve(Owner *owner, Span message, unsigned flags)
{
    size_t n_sent = owner->n_sent;
    size_t n_idle = owner->n_idle;
    int r = callsock_parent_receive(owner->parent, message);
    Call *call = callsock_parent_next(owner->parent);
    bool is_later = false;

    FUZZ_REQUIRE(r == 0 || (r == CALLSOCK_E_PROTOCOL && call == NULL));
    if (call != NULL) {
        FUZZ_REQUIRE(callsock_parent_is_busy(owner->parent) && owner->n_sent == n_sent);
        if ((flags & FLAG_LATER) != 0) {
            FUZZ_REQUIRE(call_keep_arguments(call) == 0);
            is_later = call->target.n > 0;
        }
        finish(call, (flags & FLAG_FAIL) != 0);
    }
    /* One answer to each, whatever it was. */
    FUZZ_REQUIRE(owner->n_sent == n_sent + 1);
    FUZZ_REQUIRE(owner->n_idle == n_idle + (is_later ? 1 : 0));
    FUZZ_REQUIRE(!callsock_parent_is_busy(owner->parent));
    FUZZ_REQUIRE(callsock_parent_error(owner->parent) == 0);
    return r == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    Owner owner = {.n_sent = 0};
    CallsockParentConfig config = {.idle = idle, .context = &owner};
    unsigned flags = size > 0 ? data[0] : 0;
    Span input = size > 0 ? span_make((const char *)data + 1, size - 1) : SPAN_NULL;
    bool is_open = true;

    owner.sink = (CallsockSink){
        .begin = sink_begin, .commit = sink_commit, .abort = sink_abort, .context = &owner};
    config.sink = &owner.sink;
    config.max_bytes = (flags & FLAG_SMALL) != 0 ? 300 : 0;
    bytes_init(&owner.message, SIZE_MAX);
    arena_init(&owner.arena, SIZE_MAX);
    FUZZ_REQUIRE(callsock_parent_new(&owner.parent, &config) == 0);
    while (size > 0) {
        const char *end = input.n > 0 ? memchr(input.p, 0x1E, input.n) : NULL;
        Span message = end == NULL ? input : span_make(input.p, (size_t)(end - input.p));

        read_response(message);
        is_open = is_open && serve(&owner, message, flags);
        if (end == NULL) {
            break;
        }
        input = span_make(end + 1, input.n - message.n - 1);
    }
    owner.parent = callsock_parent_free(owner.parent);
    bytes_deinit(&owner.message);
    arena_deinit(&owner.arena);
    return 0;
}
