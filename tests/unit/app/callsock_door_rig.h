/* tests/unit/app/callsock_door_rig.h: a call-socket door, and bridges as bad as a test wants them.
 */
#pragma once

#include "app/callsock_door.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/hub.h"
#include "base/arena.h"
#include "frame/len32.h"
#include "io/stream.h"
#include "io/unix_socket.h"
#include "providers/diagnostics.h"
#include "json/json.h"

#define BIG_BYTES 300000

/* A door of diagnostic tools, of `hold`, which answers when the test lets it, and of `big`. */
typedef struct Fixture {
    char folder[64];
    char path[96];
    Hub *hub;
    Diagnostics *diagnostics;
    CallsockDoor *door;
    LogSink log;
    size_t n_logged;
    Call *held;
    size_t n_held;
    size_t n_cancelled;
    size_t n_closed;
} Fixture;

/* A bridge, as bad as the test wants it to be. */
typedef struct Client {
    Fixture *f;
    IoStream *stream;
    Len32Reader reader;
    Len32Writer writer;
    bool has_ended;
} Client;

/* ---- the fixture ---- */

static void on_log(void *context, const char *line, size_t n)
{
    Fixture *f = context;

    (void)line;
    (void)n;
    f->n_logged++;
}

static void on_closed(void *context)
{
    Fixture *f = context;

    f->n_closed++;
    io_loop_stop(hub_loop(f->hub));
}

static void hold_start(void *context, Call *call)
{
    Fixture *f = context;

    f->held = call;
    f->n_held++;
    io_loop_stop(hub_loop(f->hub));
}

static void hold_cancel(void *context, Call *call)
{
    Fixture *f = context;

    assert_ptr_equal(call, f->held);
    f->held = NULL;
    f->n_cancelled++;
    io_loop_stop(hub_loop(f->hub));
}

/* Answers at once, with more than it was asked. */
static void big_start(void *context, Call *call)
{
    static char text[BIG_BYTES];
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":\""), span_make(text, sizeof(text)),
                     SPAN("\"}")};
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, TW_ARRAY_SIZE(pieces));

    (void)context;
    memset(text, 'x', sizeof(text));
    call_finish(call, &result);
}

static const CallProvider big_provider = {.start = big_start};
static const CallProvider hold_provider = {.start = hold_start, .cancel = hold_cancel};

static void hold_let_go_saying(Fixture *f, Span text)
{
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":\""), text, SPAN("\"}")};
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, TW_ARRAY_SIZE(pieces));
    Call *call = f->held;

    assert_non_null(call);
    f->held = NULL;
    call_finish(call, &result);
}

TW_UNUSED static void hold_let_go(Fixture *f)
{
    hold_let_go_saying(f, SPAN("let go"));
}

static int add_tool(Fixture *f, Span json, const CallProvider *provider)
{
    return router_add(hub_router(f->hub),
                      &(RouterSpec){.kind = ROUTER_TOOL,
                                    .json = json,
                                    .provider = provider,
                                    .context = f,
                                    .timeout_ms = 60000},
                      NULL);
}

static int fixture_open(Fixture *f, const RouterLimits *limits, uint32_t max_bytes,
                        int64_t drain_ms)
{
    static const char folder[] = "/tmp/tw-door-XXXXXX";
    int r;

    *f = (Fixture){.n_logged = 0};
    memcpy(f->folder, folder, sizeof(folder));
    assert_non_null(mkdtemp(f->folder));
    (void)snprintf(f->path, sizeof(f->path), "%s/door.sock", f->folder);
    f->log = (LogSink){.level = LOGSINK_LEVEL_WARN, .write_fn = on_log, .context = f};
    r = hub_new(&f->hub, limits);
    if (r != 0) {
        return r;
    }
    r = diagnostics_new(&f->diagnostics, hub_router(f->hub), hub_loop(f->hub));
    if (r != 0) {
        return r;
    }
    r = add_tool(f, SPAN("{\"name\":\"hold\",\"inputSchema\":{\"type\":\"object\"}}"),
                 &hold_provider);
    if (r == 0) {
        r = add_tool(f, SPAN("{\"name\":\"big\",\"inputSchema\":{\"type\":\"object\"}}"),
                     &big_provider);
    }
    if (r != 0) {
        return r;
    }
    io_loop_hold(hub_loop(f->hub));
    r = callsock_door_new(&f->door,
                          &(CallsockDoorConfig){.loop = hub_loop(f->hub),
                                                .router = hub_router(f->hub),
                                                .path = f->path,
                                                .limits = limits,
                                                .max_bytes = max_bytes,
                                                .drain_ms = drain_ms,
                                                .log = &f->log,
                                                .closed = on_closed,
                                                .context = f},
                          NULL);
    if (r != 0) {
        io_loop_release(hub_loop(f->hub));
    }
    return r;
}

static void fixture_init(Fixture *f)
{
    assert_int_equal(fixture_open(f, NULL, 0, 0), 0);
}

static void fixture_deinit(Fixture *f)
{
    if (f->door != NULL) {
        io_loop_release(hub_loop(f->hub));
    }
    f->door = callsock_door_free(f->door);
    f->diagnostics = diagnostics_free(f->diagnostics);
    f->hub = hub_free(f->hub);
    assert_int_not_equal(access(f->path, F_OK), 0);
    assert_int_equal(rmdir(f->folder), 0);
}

static void run(Fixture *f)
{
    assert_int_equal(io_loop_run(hub_loop(f->hub)), 0);
}

/* ---- the client ---- */

static int client_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    Client *c = context;

    return len32_reader_reserve(&c->reader, want, ret_p, ret_n);
}

static void client_commit(void *context, size_t n)
{
    Client *c = context;

    len32_reader_commit(&c->reader, n);
}

static size_t client_pull(void *context, Span *slices, size_t max)
{
    Client *c = context;

    return len32_writer_pull(&c->writer, slices, max);
}

static void client_consumed(void *context, size_t n)
{
    Client *c = context;

    len32_writer_consumed(&c->writer, n);
}

static void client_on_input(void *context)
{
    Client *c = context;

    io_loop_stop(hub_loop(c->f->hub));
}

static void client_on_end(void *context)
{
    Client *c = context;

    c->has_ended = true;
    io_loop_stop(hub_loop(c->f->hub));
}

static void client_on_failed(void *context, int r)
{
    (void)r;
    client_on_end(context);
}

static const IoStreamOps client_ops = {
    .reserve = client_reserve,
    .commit = client_commit,
    .pull = client_pull,
    .consumed = client_consumed,
    .input = client_on_input,
    .end = client_on_end,
    .failed = client_on_failed,
};

static void client_open(Client *c, Fixture *f)
{
    int fd = -1;

    *c = (Client){.f = f};
    len32_reader_init(&c->reader, LEN32_ORDER_BE, UINT32_MAX / 2);
    len32_writer_init(&c->writer, LEN32_ORDER_BE, UINT32_MAX, SIZE_MAX);
    assert_int_equal(unix_socket_connect(f->path, &fd), 0);
    assert_int_equal(io_stream_new(&c->stream, hub_loop(f->hub), fd, fd, &client_ops, c), 0);
}

static void client_close(Client *c)
{
    c->stream = io_stream_free(c->stream);
    len32_reader_deinit(&c->reader);
    len32_writer_deinit(&c->writer);
}

static void client_sends(Client *c, Span message)
{
    assert_int_equal(len32_writer_push(&c->writer, message), 0);
    io_stream_flush(c->stream);
}

/* Bytes that are no frame of ours. */
TW_UNUSED static void client_sends_raw(Client *c, Span bytes)
{
    assert_int_equal(outq_push(&c->writer.out, bytes, SPAN(""), SPAN("")), 0);
    io_stream_flush(c->stream);
}

#define REQUEST(name, arguments)                                                                   \
    "{\"method\":\"call_tool\",\"params\":{\"name\":\"" name "\",\"arguments\":" arguments "}}"
#define RESULT(text)                                                                               \
    "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"isError\":false}}"

/* Runs until an answer is there. Borrowed until the next run. */
static Span client_awaits(Client *c)
{
    Span message = SPAN_NULL;

    while (len32_reader_next(&c->reader, &message) != 0) {
        assert_false(c->has_ended);
        run(c->f);
    }
    return message;
}

static bool same_json(Span a, Span b)
{
    JsonDoc doc_a;
    JsonDoc doc_b;
    Arena arena;
    bool same;

    arena_init(&arena, (size_t)1 << 28);
    assert_int_equal(json_parse(&doc_a, &arena, a.p, a.n, NULL, NULL), 0);
    assert_int_equal(json_parse(&doc_b, &arena, b.p, b.n, NULL, NULL), 0);
    same = json_equals(json_root(&doc_a), json_root(&doc_b));
    arena_deinit(&arena);
    return same;
}

static void client_expects(Client *c, const char *json)
{
    Span got = client_awaits(c);

    if (!same_json(got, span_from_str(json))) {
        fail_msg("wanted: %s\n   got: %.*s", json, (int)(got.n < 2000 ? got.n : 2000), got.p);
    }
}

/* An error response of that type. */
TW_UNUSED static void client_expects_error(Client *c, const char *type)
{
    Span got = client_awaits(c);
    JsonValue value;
    JsonDoc doc;
    Arena arena;

    arena_init(&arena, (size_t)1 << 20);
    assert_int_equal(json_parse(&doc, &arena, got.p, got.n, NULL, NULL), 0);
    assert_int_equal(json_pointer(json_root(&doc), SPAN("/error/type"), &value), 0);
    if (!json_string_equals(value, span_from_str(type))) {
        fail_msg("wanted: %s\n   got: %.*s", type, (int)got.n, got.p);
    }
    assert_int_equal(json_pointer(json_root(&doc), SPAN("/error/message"), &value), 0);
    assert_true(json_span(value).n > 8);
    arena_deinit(&arena);
}

TW_UNUSED static void client_expects_end(Client *c)
{
    Span message;

    while (!c->has_ended) {
        run(c->f);
    }
    assert_int_equal(len32_reader_next(&c->reader, &message), LEN32_E_AGAIN);
}

static void client_is_served(Client *c)
{
    client_sends(c, SPAN(REQUEST("echo", "{\"message\":\"served\"}")));
    client_expects(c, RESULT("served"));
}
