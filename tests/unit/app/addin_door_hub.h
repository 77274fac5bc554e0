/* tests/unit/app/addin_door_hub.h: a hub for an add-in's door, as bad as a test wants it. */
#pragma once

#include "unit/app/addin_door_rig.h"

#include "base/arena.h"
#include "base/uuid.h"
#include "dialect/pipe/message.h"
#include "frame/len32.h"
#include "io/stream.h"
#include "json/json.h"

/* The hub's end of a connection. */
typedef struct Peer {
    Fixture *f;
    IoStream *stream;
    Len32Reader reader;
    Len32Writer writer;
    bool has_ended;
} Peer;

static int peer_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    Peer *p = context;

    return len32_reader_reserve(&p->reader, want, ret_p, ret_n);
}

static void peer_commit(void *context, size_t n)
{
    Peer *p = context;

    len32_reader_commit(&p->reader, n);
}

static size_t peer_pull(void *context, Span *slices, size_t max)
{
    Peer *p = context;

    return len32_writer_pull(&p->writer, slices, max);
}

static void peer_consumed(void *context, size_t n)
{
    Peer *p = context;

    len32_writer_consumed(&p->writer, n);
}

static void peer_on_input(void *context)
{
    Peer *p = context;

    io_loop_stop(hub_loop(p->f->hub));
}

static void peer_on_end(void *context)
{
    Peer *p = context;

    p->has_ended = true;
    io_loop_stop(hub_loop(p->f->hub));
}

static void peer_on_failed(void *context, int r)
{
    (void)r;
    peer_on_end(context);
}

static const IoStreamOps peer_ops = {
    .reserve = peer_reserve,
    .commit = peer_commit,
    .pull = peer_pull,
    .consumed = peer_consumed,
    .input = peer_on_input,
    .end = peer_on_end,
    .failed = peer_on_failed,
};

/* Runs until the add-in has connected. */
static void peer_accept(Peer *p, Fixture *f)
{
    int fd;

    *p = (Peer){.f = f};
    while (f->accepted < 0) {
        run(f);
    }
    fd = f->accepted;
    f->accepted = -1;
    len32_reader_init(&p->reader, LEN32_ORDER_LE, UINT32_MAX / 2);
    len32_writer_init(&p->writer, LEN32_ORDER_LE, UINT32_MAX, SIZE_MAX);
    assert_int_equal(io_stream_new(&p->stream, hub_loop(f->hub), fd, fd, &peer_ops, p), 0);
}

static void peer_close(Peer *p)
{
    p->stream = io_stream_free(p->stream);
    len32_reader_deinit(&p->reader);
    len32_writer_deinit(&p->writer);
}

static void peer_sends(Peer *p, Span message)
{
    assert_int_equal(len32_writer_push(&p->writer, message), 0);
    io_stream_flush(p->stream);
}

/* Bytes that are no frame of ours. */
TW_UNUSED static void peer_sends_raw(Peer *p, Span bytes)
{
    assert_int_equal(outq_push(&p->writer.out, bytes, SPAN(""), SPAN("")), 0);
    io_stream_flush(p->stream);
}

#define MESSAGE(id, type, payload)                                                                 \
    "{\"id\":\"" id "\",\"type\":\"" type                                                          \
    "\",\"timestamp\":\"2025-01-15T10:30:00.000Z\",\"payload\":" payload "}"
#define CALL(id, tool, args)                                                                       \
    MESSAGE(id, "tool_call", "{\"tool_name\":\"" tool "\",\"args\":" args "}")
#define PING       MESSAGE("p", "ping", "{}")
#define PONG       MESSAGE("q", "pong", "{}")
#define SAYS(text) "{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}"

/* Runs until a message is there. Borrowed until the next run. */
static Span peer_awaits(Peer *p)
{
    Span message = SPAN_NULL;

    while (len32_reader_next(&p->reader, &message) != 0) {
        assert_false(p->has_ended);
        run(p->f);
    }
    return message;
}

/* A message that has been taken apart. */
typedef struct Got {
    Arena arena;
    Span text;
    PipeMessage message;
} Got;

/* Takes the next message; it must be of that type and have all that messages have. got_deinit. */
static void peer_takes(Peer *p, Got *got, PipeType type)
{
    Diag diag = DIAG_NULL;

    got->text = peer_awaits(p);
    arena_init(&got->arena, (size_t)1 << 28);
    if (pipe_message_read(&got->message, &got->arena, got->text, &diag) != 0) {
        fail_msg("%s: %.*s", diag.message, (int)(got->text.n < 2000 ? got->text.n : 2000),
                 got->text.p);
    }
    if (got->message.type != type) {
        fail_msg("type %d, not %d: %.*s", (int)got->message.type, (int)type,
                 (int)(got->text.n < 2000 ? got->text.n : 2000), got->text.p);
    }
    assert_true(uuid_is_v4(got->message.id));
}

static void got_deinit(Got *got)
{
    arena_deinit(&got->arena);
}

TW_UNUSED static void assert_span(Span got, const char *text)
{
    if (!span_equals(got, span_from_str(text))) {
        fail_msg("wanted: %s\n   got: %.*s", text, (int)got.n, got.n > 0 ? got.p : "");
    }
}

static void assert_json(JsonValue got, const char *json)
{
    JsonDoc doc;
    Arena arena;

    arena_init(&arena, (size_t)1 << 20);
    assert_int_equal(json_parse(&doc, &arena, json, strlen(json), NULL, NULL), 0);
    assert_non_null(got.node);
    if (!json_equals(got, json_root(&doc))) {
        fail_msg("wanted: %s\n   got: %.*s", json, (int)json_span(got).n, json_span(got).p);
    }
    arena_deinit(&arena);
}

/* The next message is the answer to this call: a success with that data. */
static void peer_expects(Peer *p, const char *call_id, const char *data)
{
    Got got;

    peer_takes(p, &got, PIPE_TOOL_RESULT);
    assert_span(got.message.call_id, call_id);
    if (!got.message.success) {
        fail_msg("%.*s", (int)got.text.n, got.text.p);
    }
    assert_json(got.message.data, data);
    assert_true(got.message.duration_ms >= 0);
    got_deinit(&got);
}

/* It is a failure with that code: a result, or an `error` message. */
TW_UNUSED static void peer_expects_failure(Peer *p, PipeType type, const char *call_id,
                                           const char *code)
{
    Got got;

    peer_takes(p, &got, type);
    assert_span(got.message.call_id, call_id);
    assert_false(got.message.success);
    assert_span(got.message.code, code);
    assert_true(got.message.message.n > 8);
    got_deinit(&got);
}

TW_UNUSED static void peer_expects_pong(Peer *p)
{
    Got got;

    peer_takes(p, &got, PIPE_PONG);
    got_deinit(&got);
}

TW_UNUSED static void peer_expects_end(Peer *p)
{
    Span message;

    while (!p->has_ended) {
        run(p->f);
    }
    assert_int_equal(len32_reader_next(&p->reader, &message), LEN32_E_AGAIN);
}

static void peer_is_served(Peer *p)
{
    peer_sends(p, SPAN(CALL("served", "echo", "{\"message\":\"served\"}")));
    peer_expects(p, "served", SAYS("served"));
}

#define ASK_LIST SPAN(CALL("list", PIPE_LIST_TOOLS, "{}"))

/* Takes the answer to ASK_LIST: has it such a tool, and how many resources (-1: none are told)? */
TW_UNUSED static void peer_expects_list(Peer *p, const char *tool, int n_resources)
{
    JsonValue value;
    bool found = false;
    Got got;

    peer_takes(p, &got, PIPE_TOOL_RESULT);
    assert_span(got.message.call_id, "list");
    assert_true(json_get(got.message.data, SPAN("name"), &value));
    assert_true(json_string_equals(value, SPAN("Tester")));
    assert_true(json_get(got.message.data, SPAN("tools"), &value));
    for (JsonIter it = json_iter(value); json_iter_next(&it);) {
        JsonValue name;

        assert_true(json_get(it.value, SPAN("name"), &name));
        if (json_string_equals(name, span_from_str(tool))) {
            found = true;
            assert_true(json_get(it.value, SPAN("input_schema"), &name));
        }
    }
    assert_true(found);
    assert_int_equal(json_get(got.message.data, SPAN("resources"), &value), n_resources >= 0);
    if (n_resources >= 0) {
        assert_int_equal(json_count(value), n_resources);
    }
    got_deinit(&got);
}

/* Runs until `hold` has been called so often, in all. */
TW_UNUSED static void expect_started(Fixture *f, size_t n)
{
    while (f->n_started < n) {
        run(f);
    }
    assert_int_equal(f->n_started, n);
}

/* A hub, a door, and a connection between them. */
TW_UNUSED static void fixture_connect(Fixture *f, Peer *p, const AddinDoorConfig *with)
{
    assert_int_equal(fixture_prepare(f), 0);
    hub_opens(f);
    assert_int_equal(fixture_door(f, with), 0);
    peer_accept(p, f);
    (void)expect_state(f, ADDIN_CONNECTING);
    (void)expect_state(f, ADDIN_CONNECTED);
}
