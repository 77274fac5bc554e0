/* tests/unit/providers/parent_rig.h: a parent that does as its plan says, on the same loop as the
 * provider that is tested, and someone who asks. */
#pragma once

#include "support/cmocka.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/limits.h"
#include "frame/len32.h"
#include "io/listener.h"
#include "io/stream.h"
#include "providers/parent.h"
#include "router/router.h"
#include "support/alloc_testing.h"

#define RIG_SEED        ((HashSeed){1, 2})
#define RIG_BYTES       ((size_t)64 * 1024 * 1024)
#define RIG_CONNECTIONS 16
#define RIG_PLAN        16

#define TOOL(name)                                                                                 \
    "{\"name\":\"" name "\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}}"
#define TEXT(text)  "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}}"
#define BLOCK(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
#define ASKED(name) "{\"method\":\"call_tool\",\"params\":{\"name\":\"" name "\",\"arguments\":{}}}"

/* What the parent does with one request. */
typedef struct Reply {
    Span answer; /* sent as a frame; empty: none */
    Span raw;    /* sent as it is */
    bool closes; /* after it has been sent */
    bool waits;  /* does nothing now */
} Reply;

#define ANSWER(text) ((Reply){.answer = SPAN_INIT(text)})
#define RAW(text)    ((Reply){.raw = SPAN_INIT(text)})
#define CUT(text)    ((Reply){.raw = SPAN_INIT(text), .closes = true})
#define CLOSE        ((Reply){.closes = true})
#define WAIT         ((Reply){.waits = true})

typedef struct Rig Rig;

static bool rig_holds(Span text, const char *part)
{
    size_t n = strlen(part);

    for (size_t i = 0; i + n <= text.n; i++) {
        if (memcmp(text.p + i, part, n) == 0) {
            return true;
        }
    }
    return false;
}

typedef struct Connection {
    Rig *rig;
    IoStream *stream;
    Len32Reader reader;
    Bytes out;
    bool closes;
} Connection;

struct Rig {
    IoLoop *loop;
    Router *router;
    IoTimer *clock; /* tells the router the time */
    ParentProvider *provider;
    char folder[64];
    char socket[80];
    char schema[80];

    IoListener *listener;
    Connection connections[RIG_CONNECTIONS];
    size_t n_accepted;
    Reply plan[RIG_PLAN]; /* for the requests to come; without one: WAIT */
    size_t n_plan;
    size_t at_plan;
    Bytes requests; /* what came, a line for each */
    size_t n_requests;
    size_t stop_at_request; /* the loop stops when so many have come; 0: does not */

    LogSink log;
    Bytes lines;
    const char *stop_at_line; /* the loop stops at a log line that holds this */

    RouterListener listens;
    size_t n_changed;
    bool stop_at_change;
};

/* ---- the parent ---- */

static void connection_close(Connection *connection)
{
    connection->stream = io_stream_free(connection->stream);
    len32_reader_deinit(&connection->reader);
    bytes_deinit(&connection->out);
}

static void connection_reply(Connection *connection, Reply reply)
{
    size_t n = reply.answer.n;
    char header[4] = {(char)(n >> 24), (char)(n >> 16), (char)(n >> 8), (char)n};

    if (n > 0) {
        assert_int_equal(bytes_append(&connection->out, header, sizeof(header)), 0);
        assert_int_equal(bytes_append_span(&connection->out, reply.answer), 0);
    }
    assert_int_equal(bytes_append_span(&connection->out, reply.raw), 0);
    connection->closes = reply.closes;
    io_stream_flush(connection->stream);
}

static int connection_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    Connection *connection = context;

    return len32_reader_reserve(&connection->reader, want, ret_p, ret_n);
}

static void connection_commit(void *context, size_t n)
{
    Connection *connection = context;

    len32_reader_commit(&connection->reader, n);
}

static size_t connection_pull(void *context, Span *slices, size_t max)
{
    const Connection *connection = context;

    (void)max;
    slices[0] = bytes_span(&connection->out);
    return connection->out.n > 0;
}

static void connection_consumed(void *context, size_t n)
{
    Connection *connection = context;

    bytes_drop_front(&connection->out, n);
    if (connection->out.n == 0 && connection->closes) {
        connection_close(connection);
    }
}

static void connection_input(void *context)
{
    Connection *connection = context;
    Rig *rig = connection->rig;
    Span request;

    while (connection->stream != NULL && len32_reader_next(&connection->reader, &request) == 0) {
        Reply reply = rig->at_plan < rig->n_plan ? rig->plan[rig->at_plan++] : WAIT;

        assert_int_equal(bytes_append_span(&rig->requests, request), 0);
        assert_int_equal(bytes_append_byte(&rig->requests, '\n'), 0);
        rig->n_requests++;
        if (rig->n_requests == rig->stop_at_request) {
            io_loop_stop(rig->loop);
        }
        if (!reply.waits) {
            connection_reply(connection, reply);
        }
        if (connection->stream != NULL && connection->closes && connection->out.n == 0) {
            connection_close(connection);
        }
    }
}

static void connection_end(void *context)
{
    connection_close(context);
}

static void connection_failed(void *context, int r)
{
    (void)r;
    connection_close(context);
}

static const IoStreamOps connection_ops = {
    .reserve = connection_reserve,
    .commit = connection_commit,
    .pull = connection_pull,
    .consumed = connection_consumed,
    .input = connection_input,
    .end = connection_end,
    .failed = connection_failed,
};

static void rig_accept(void *context, int fd)
{
    Rig *rig = context;
    Connection *connection = &rig->connections[rig->n_accepted];

    assert_true(rig->n_accepted < RIG_CONNECTIONS);
    rig->n_accepted++;
    *connection = (Connection){.rig = rig};
    len32_reader_init(&connection->reader, LEN32_ORDER_BE, LIMIT_CALLSOCK_MESSAGE_BYTES);
    bytes_init(&connection->out, RIG_BYTES);
    assert_int_equal(
        io_stream_new(&connection->stream, rig->loop, fd, fd, &connection_ops, connection), 0);
}

TW_UNUSED static void rig_listen(Rig *rig)
{
    Diag diag = DIAG_NULL;

    if (io_listener_new(
            &rig->listener,
            &(IoListenerConfig){
                .loop = rig->loop, .path = rig->socket, .accept = rig_accept, .context = rig},
            &diag) != 0) {
        fail_msg("%s", diag.message);
    }
}

TW_UNUSED static void rig_plan(Rig *rig, Reply reply)
{
    assert_true(rig->n_plan < RIG_PLAN);
    rig->plan[rig->n_plan++] = reply;
}

/* The connection that was accepted last. */
TW_UNUSED static Connection *rig_connection(Rig *rig)
{
    assert_true(rig->n_accepted > 0);
    return &rig->connections[rig->n_accepted - 1];
}

TW_UNUSED static void assert_requests(const Rig *rig, const char *expected)
{
    if (rig->requests.n != strlen(expected) ||
        memcmp(rig->requests.data, expected, rig->requests.n) != 0) {
        fail_msg("\"%.*s\" is not \"%s\"", (int)rig->requests.n, rig->requests.data, expected);
    }
}

/* ---- whoever asks ---- */

typedef struct Asked Asked;
struct Asked {
    Call call; /* first: the door gets a Call */
    Rig *rig;
    size_t n_finished;
    bool goes_on; /* the loop does not stop at the end */
    CallResultKind kind;
    CallError error;
    bool is_error;
    Bytes content;
    Bytes members;
    Bytes message;
    Bytes error_type;
    Arena arena;
    void (*then)(Asked *asked); /* in finish */
    Asked *next;
};

static void rig_keep_time(Rig *rig)
{
    io_timer_start_at(rig->clock, router_next_deadline(rig->router));
}

static void rig_on_clock(void *context)
{
    Rig *rig = context;

    router_advance(rig->router, io_loop_now_ms(rig->loop));
    rig_keep_time(rig);
}

static void asked_take(Bytes *out, Span s)
{
    bytes_clear(out);
    assert_int_equal(bytes_append_span(out, s), 0);
}

static void asked_finish(Call *call, const CallResult *result)
{
    Asked *asked = (Asked *)call;

    asked->n_finished++;
    asked->kind = result->kind;
    asked->error = result->error;
    asked->is_error = result->is_error;
    bytes_clear(&asked->content);
    for (size_t i = 0; i < result->n_pieces; i++) {
        assert_int_equal(bytes_append_span(&asked->content, result->pieces[i]), 0);
    }
    asked_take(&asked->members, result->members);
    asked_take(&asked->message, result->message);
    asked_take(&asked->error_type, result->error_type);
    if (!asked->goes_on) {
        io_loop_stop(asked->rig->loop);
    }
    rig_keep_time(asked->rig);
    if (asked->then != NULL) {
        asked->then(asked);
    }
}

static const CallDoor asked_door = {.finish = asked_finish};

static void asked_init(Asked *asked, Rig *rig)
{
    *asked = (Asked){.rig = rig};
    bytes_init(&asked->content, RIG_BYTES);
    bytes_init(&asked->members, RIG_BYTES);
    bytes_init(&asked->message, RIG_BYTES);
    bytes_init(&asked->error_type, RIG_BYTES);
    arena_init(&asked->arena, RIG_BYTES);
    call_init(&asked->call);
}

TW_UNUSED static void asked_forget(Asked *asked)
{
    bytes_deinit(&asked->content);
    bytes_deinit(&asked->members);
    bytes_deinit(&asked->message);
    bytes_deinit(&asked->error_type);
    arena_deinit(&asked->arena);
    call_deinit(&asked->call);
}

/* Asks again with the same memory. */
static void asked_ask(Asked *asked, const char *tool, const char *arguments, int64_t timeout_ms)
{
    call_reset(&asked->call);
    asked->call.door = &asked_door;
    asked->call.verb = CALL_TOOL;
    asked->call.target = span_from_str(tool);
    asked->call.timeout_ms = timeout_ms;
    arena_reset(&asked->arena, RIG_BYTES);
    if (arguments != NULL) {
        JsonDoc doc;

        assert_int_equal(json_parse(&doc, &asked->arena, arguments, strlen(arguments), NULL, NULL),
                         0);
        asked->call.arguments = json_root(&doc);
    }
    router_advance(asked->rig->router, io_loop_now_ms(asked->rig->loop));
    router_dispatch(asked->rig->router, NULL, &asked->call);
    rig_keep_time(asked->rig);
}

static void ask(Asked *asked, Rig *rig, const char *tool)
{
    asked_init(asked, rig);
    asked_ask(asked, tool, NULL, 0);
}

/* Runs the loop until somebody stops it. */
static void rig_run(Rig *rig)
{
    assert_int_equal(io_loop_run(rig->loop), 0);
}

static void await(Asked *asked)
{
    while (asked->n_finished == 0) {
        rig_run(asked->rig);
    }
    assert_int_equal(asked->n_finished, 1);
}

/* Asks and waits for the end. */
TW_UNUSED static void ask_and_await(Asked *asked, Rig *rig, const char *tool)
{
    ask(asked, rig, tool);
    await(asked);
}

static void assert_bytes(const Bytes *b, const char *text)
{
    if (b->n != strlen(text) || (b->n > 0 && memcmp(b->data, text, b->n) != 0)) {
        fail_msg("\"%.*s\" is not \"%s\"", (int)b->n, b->data, text);
    }
}

static void assert_holds(const Bytes *b, const char *part)
{
    if (!rig_holds(bytes_span(b), part)) {
        fail_msg("\"%.*s\" does not hold \"%s\"", (int)b->n, b->data, part);
    }
}

TW_UNUSED static void assert_content(const Asked *asked, const char *content)
{
    if (asked->kind != CALL_RESULT_TOOL) {
        fail_msg("error %d: %.*s", (int)asked->error, (int)asked->message.n, asked->message.data);
    }
    assert_bytes(&asked->content, content);
}

TW_UNUSED static void assert_failed(const Asked *asked, CallError error, const char *part)
{
    assert_int_equal(asked->kind, CALL_RESULT_ERROR);
    if (asked->error != error) {
        fail_msg("error %d: %.*s", (int)asked->error, (int)asked->message.n, asked->message.data);
    }
    assert_holds(&asked->message, part);
}

/* ---- the schema file, the log, the listener ---- */

TW_UNUSED static void rig_put_schema(const Rig *rig, const char *text)
{
    char other[96];
    FILE *out;

    (void)snprintf(other, sizeof(other), "%s.new", rig->schema);
    out = fopen(other, "w");
    assert_non_null(out);
    assert_int_equal(fchmod(fileno(out), 0600), 0);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
    assert_int_equal(rename(other, rig->schema), 0);
}

static void rig_on_line(void *context, const char *line, size_t n)
{
    Rig *rig = context;

    assert_int_equal(bytes_append(&rig->lines, line, n), 0);
    if (rig->stop_at_line != NULL && rig_holds(span_make(line, n), rig->stop_at_line)) {
        io_loop_stop(rig->loop);
    }
}

/* Runs until a log line holds part. */
TW_UNUSED static void rig_run_to_line(Rig *rig, const char *part)
{
    rig->stop_at_line = part;
    rig_run(rig);
    rig->stop_at_line = NULL;
    assert_holds(&rig->lines, part);
}

static void rig_on_changed(RouterListener *listener, RouterKind kind)
{
    Rig *rig = (Rig *)((char *)listener - offsetof(Rig, listens));

    assert_int_equal(kind, ROUTER_TOOL);
    rig->n_changed++;
    if (rig->stop_at_change) {
        io_loop_stop(rig->loop);
    }
}

TW_UNUSED static void assert_tools(const Rig *rig, const char *names)
{
    char expected[256];
    size_t n = 0;

    (void)snprintf(expected, sizeof(expected), "%s", names);
    for (char *at = expected; *at != '\0';) {
        size_t n_name = strcspn(at, " ");

        if (!router_has_tool(rig->router, span_make(at, n_name))) {
            fail_msg("there is no %.*s", (int)n_name, at);
        }
        n++;
        at += n_name + (at[n_name] == ' ');
    }
    assert_int_equal(router_count(rig->router, ROUTER_TOOL), n);
}

/* ---- life ---- */

static int rig_try(Rig *rig, Diag *diag)
{
    return parent_provider_new(&rig->provider,
                               &(ParentProviderConfig){.router = rig->router,
                                                       .loop = rig->loop,
                                                       .log = &rig->log,
                                                       .socket_path = rig->socket,
                                                       .schema_path = rig->schema},
                               diag);
}

TW_UNUSED static void rig_start(Rig *rig, const char *schema)
{
    Diag diag = DIAG_NULL;

    rig_put_schema(rig, schema);
    if (rig_try(rig, &diag) != 0) {
        fail_msg("%s", diag.message);
    }
}

TW_UNUSED static int rig_setup(void **state)
{
    Rig *rig = calloc(1, sizeof(*rig));

    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_non_null(rig);
    (void)snprintf(rig->folder, sizeof(rig->folder), "/tmp/tw-parent-XXXXXX");
    assert_non_null(mkdtemp(rig->folder));
    (void)snprintf(rig->socket, sizeof(rig->socket), "%s/s", rig->folder);
    (void)snprintf(rig->schema, sizeof(rig->schema), "%s/schema.json", rig->folder);
    bytes_init(&rig->requests, RIG_BYTES);
    bytes_init(&rig->lines, RIG_BYTES);
    rig->log = (LogSink){.level = LOGSINK_LEVEL_DEBUG, .write_fn = rig_on_line, .context = rig};
    rig->listens.changed = rig_on_changed;
    io_ignore_sigpipe();
    assert_int_equal(io_loop_new(&rig->loop), 0);
    assert_int_equal(router_new(&rig->router, NULL, RIG_SEED), 0);
    router_listen(rig->router, &rig->listens);
    assert_int_equal(io_timer_new(&rig->clock, rig->loop, false, rig_on_clock, rig), 0);
    *state = rig;
    return 0;
}

TW_UNUSED static int rig_teardown(void **state)
{
    Rig *rig = *state;

    rig->provider = parent_provider_free(rig->provider);
    rig->listener = io_listener_free(rig->listener);
    for (size_t i = 0; i < rig->n_accepted; i++) {
        connection_close(&rig->connections[i]);
    }
    router_unlisten(rig->router, &rig->listens);
    rig->router = router_free(rig->router);
    rig->clock = io_timer_free(rig->clock);
    rig->loop = io_loop_free(rig->loop);
    bytes_deinit(&rig->requests);
    bytes_deinit(&rig->lines);
    (void)unlink(rig->schema);
    (void)unlink(rig->socket);
    assert_int_equal(rmdir(rig->folder), 0);
    assert_int_equal(alloc_testing()->n_live, 0);
    free(rig);
    return 0;
}

#define RIG_TEST(fn) cmocka_unit_test_setup_teardown(fn, rig_setup, rig_teardown)
