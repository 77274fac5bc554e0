/* tests/unit/providers/addin_rig.h: add-ins that do as they are told, on the same loop as the hub
 * that is tested, and someone who asks. Everything of note stops the loop, so that a test runs it
 * until what it waits for is true. */
#pragma once

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/compiler.h"
#include "base/limits.h"
#include "dialect/pipe/message.h"
#include "frame/len32.h"
#include "io/listener.h"
#include "io/stream.h"
#include "providers/addins.h"
#include "router/router.h"
#include "support/alloc_testing.h"

#define RIG_SEED    ((HashSeed){1, 2})
#define RIG_BYTES   ((size_t)96 * 1024 * 1024)
#define RIG_FAKES   8
#define RIG_HELD    8
#define RIG_TICK_MS 2

#define TOOL(name)                                                                                 \
    "{\"name\":\"" name "\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}}"
#define TOOL_SAYING(name, words)                                                                   \
    "{\"name\":\"" name "\",\"description\":\"" words "\",\"input_schema\":{\"type\":\"object\"}}"
#define LIST(name, tools) "{\"name\":\"" name "\",\"tools\":[" tools "]}"

/* How a fake answers the question for its list, if not with JSON. */
#define UNKNOWN_LIST NULL /* as real add-ins do: it knows no such tool */
#define NO_ANSWER    ""

typedef struct Rig Rig;

/* An add-in. */
typedef struct Fake {
    Rig *rig;
    IoStream *stream;
    Len32Reader reader;
    Bytes out;
    Arena arena;
    const char *list;
    const char *label;  /* in the data of its answers */
    bool holds;         /* does not answer calls */
    bool ignores_pings; /* does not answer them */
    bool has_ended;     /* the hub has closed */
    Bytes got;          /* what came, a line each */
    char held[RIG_HELD][UUID_SIZE];
    char list_id[UUID_SIZE];
    size_t n_held;
    size_t n_lists;
    size_t n_calls;
    size_t n_pings;
    size_t n_pongs;
    size_t n_errors;
} Fake;

struct Rig {
    IoLoop *loop;
    Router *router;
    IoTimer *clock; /* tells the router the time */
    IoTimer *tick;  /* stops the loop, for what nobody is told of */
    Addins *addins;
    AddinsConfig config;
    char folder[64];
    char tools[96];
    char path[104];
    Fake fakes[RIG_FAKES];
    size_t n_fakes;
    LogSink log;
    Bytes lines;
    RouterListener listens;
    size_t n_changed[ROUTER_N_KINDS];
};

/* Allocations of the rig itself do not fail, and do not count. */
static AllocTesting rig_enter(void)
{
    AllocTesting before = *alloc_testing();

    alloc_testing()->fail_at = ALLOC_TESTING_NEVER;
    return before;
}

static void rig_leave(AllocTesting before)
{
    alloc_testing()->fail_at = before.fail_at;
    alloc_testing()->n_calls = before.n_calls;
}

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

TW_UNUSED static size_t rig_times(Span text, const char *part)
{
    size_t n = strlen(part);
    size_t n_found = 0;

    for (size_t i = 0; i + n <= text.n; i++) {
        n_found += memcmp(text.p + i, part, n) == 0;
    }
    return n_found;
}

/* Runs until something happens, or a moment has passed. */
static void rig_run(Rig *rig)
{
    io_timer_start_at(rig->tick, io_loop_now_ms(rig->loop) + RIG_TICK_MS);
    assert_int_equal(io_loop_run(rig->loop), 0);
}

#define RUN_UNTIL(rig, condition)                                                                  \
    while (!(condition)) {                                                                         \
        rig_run(rig);                                                                              \
    }

/* ---- add-ins ---- */

static void fake_close(Fake *fake)
{
    fake->stream = io_stream_free(fake->stream);
}

static void fake_send_raw(Fake *fake, const void *p, size_t n)
{
    AllocTesting before = rig_enter();

    assert_int_equal(bytes_append(&fake->out, p, n), 0);
    io_stream_flush(fake->stream);
    rig_leave(before);
}

static void fake_send(Fake *fake, Span message)
{
    unsigned char header[4] = {(unsigned char)message.n, (unsigned char)(message.n >> 8),
                               (unsigned char)(message.n >> 16), (unsigned char)(message.n >> 24)};
    AllocTesting before = rig_enter();

    assert_int_equal(bytes_append(&fake->out, header, sizeof(header)), 0);
    rig_leave(before);
    fake_send_raw(fake, message.p, message.n);
}

#define SAY(fake, text) fake_send(fake, SPAN(text))

/* A result of the call; members: what the payload has besides the call's id. */
static void fake_answer(Fake *fake, const char *call_id, const char *members)
{
    size_t n = strlen(members) + 256;
    char *text = malloc(n);

    assert_non_null(text);
    (void)snprintf(text, n,
                   "{\"id\":\"0\",\"type\":\"tool_result\",\"timestamp\":\"x\",\"payload\":{"
                   "\"call_id\":\"%s\",%s}}",
                   call_id, members);
    fake_send(fake, span_from_str(text));
    free(text);
}

static void fake_answer_list(Fake *fake, const char *call_id)
{
    size_t n = fake->list != NULL ? strlen(fake->list) + 64 : 0;
    char *text;

    fake->n_lists++;
    if (call_id != fake->list_id) {
        (void)snprintf(fake->list_id, sizeof(fake->list_id), "%s", call_id);
    }
    if (fake->list == NULL) {
        fake_answer(fake, call_id,
                    "\"success\":false,\"data\":null,\"error\":{\"code\":\"TOOL_NOT_FOUND\","
                    "\"message\":\"No command registered\"}");
        return;
    }
    if (fake->list[0] == '\0') {
        return;
    }
    text = malloc(n);
    assert_non_null(text);
    (void)snprintf(text, n, "\"success\":true,\"data\":%s", fake->list);
    fake_answer(fake, call_id, text);
    free(text);
}

static void fake_on_call(Fake *fake, const PipeMessage *m)
{
    char id[UUID_SIZE] = "";
    char data[128];

    assert_true(m->id.n < sizeof(id));
    memcpy(id, m->id.p, m->id.n);
    if (span_equals(m->tool_name, SPAN(PIPE_LIST_TOOLS))) {
        fake_answer_list(fake, id);
        return;
    }
    fake->n_calls++;
    if (fake->holds) {
        assert_true(fake->n_held < RIG_HELD);
        memcpy(fake->held[fake->n_held++], id, sizeof(id));
        return;
    }
    (void)snprintf(data, sizeof(data), "\"success\":true,\"data\":{\"by\":\"%s\"}", fake->label);
    fake_answer(fake, id, data);
}

static void fake_on_message(Fake *fake, Span message)
{
    PipeMessage m;

    assert_int_equal(bytes_append_span(&fake->got, message), 0);
    assert_int_equal(bytes_append_byte(&fake->got, '\n'), 0);
    assert_int_equal(pipe_message_read(&m, &fake->arena, message, NULL), 0);
    if (m.type == PIPE_TOOL_CALL) {
        fake_on_call(fake, &m);
    } else if (m.type == PIPE_PING) {
        fake->n_pings++;
        if (!fake->ignores_pings) {
            SAY(fake, "{\"id\":\"1\",\"type\":\"pong\",\"timestamp\":\"x\",\"payload\":{}}");
        }
    } else if (m.type == PIPE_PONG) {
        fake->n_pongs++;
    } else if (m.type == PIPE_ERROR) {
        fake->n_errors++;
    }
    arena_reset(&fake->arena, 0);
    io_loop_stop(fake->rig->loop);
}

static int fake_reserve(void *context, size_t want, char **ret_p, size_t *ret_n)
{
    Fake *fake = context;
    AllocTesting before = rig_enter();
    int r = len32_reader_reserve(&fake->reader, want, ret_p, ret_n);

    rig_leave(before);
    return r;
}

static void fake_commit(void *context, size_t n)
{
    Fake *fake = context;

    len32_reader_commit(&fake->reader, n);
}

static size_t fake_pull(void *context, Span *slices, size_t max)
{
    const Fake *fake = context;

    (void)max;
    slices[0] = bytes_span(&fake->out);
    return fake->out.n > 0;
}

static void fake_consumed(void *context, size_t n)
{
    Fake *fake = context;

    bytes_drop_front(&fake->out, n);
    if (fake->out.n == 0) {
        io_loop_stop(fake->rig->loop);
    }
}

static void fake_input(void *context)
{
    Fake *fake = context;
    AllocTesting before = rig_enter();
    Span message;

    while (fake->stream != NULL && len32_reader_next(&fake->reader, &message) == 0) {
        fake_on_message(fake, message);
    }
    rig_leave(before);
}

static void fake_end(void *context)
{
    Fake *fake = context;

    fake->has_ended = true;
    fake_close(fake);
    io_loop_stop(fake->rig->loop);
}

static void fake_failed(void *context, int r)
{
    (void)r;
    fake_end(context);
}

static const IoStreamOps fake_ops = {
    .reserve = fake_reserve,
    .commit = fake_commit,
    .pull = fake_pull,
    .consumed = fake_consumed,
    .input = fake_input,
    .end = fake_end,
    .failed = fake_failed,
};

/* Connects, and nothing else yet. */
static Fake *rig_connect(Rig *rig, const char *label, const char *list)
{
    Fake *fake = &rig->fakes[rig->n_fakes++];
    AllocTesting before = rig_enter();
    int fd = -1;

    assert_true(rig->n_fakes <= RIG_FAKES);
    *fake = (Fake){.rig = rig, .label = label, .list = list};
    len32_reader_init(&fake->reader, LEN32_ORDER_LE, LIMIT_PIPE_MESSAGE_BYTES);
    bytes_init(&fake->out, RIG_BYTES);
    bytes_init(&fake->got, RIG_BYTES);
    arena_init(&fake->arena, RIG_BYTES * 16);
    assert_int_equal(unix_socket_connect(rig->path, &fd), 0);
    assert_int_equal(io_stream_new(&fake->stream, rig->loop, fd, fd, &fake_ops, fake), 0);
    rig_leave(before);
    return fake;
}

/* Connects and is known to the hub. */
TW_UNUSED static Fake *rig_join(Rig *rig, const char *label, const char *list)
{
    size_t n_before = rig_times(bytes_span(&rig->lines), " is connected and ");
    Fake *fake = rig_connect(rig, label, list);

    RUN_UNTIL(rig, rig_times(bytes_span(&rig->lines), " is connected and ") > n_before);
    return fake;
}

/* Has gone, and the hub knows. */
TW_UNUSED static void rig_part(Rig *rig, Fake *fake)
{
    size_t n_connected = addins_counts(rig->addins).connected;

    fake_close(fake);
    RUN_UNTIL(rig, addins_counts(rig->addins).connected == n_connected - 1);
}

/* ---- whoever asks ---- */

typedef struct Asked Asked;
struct Asked {
    Call call; /* first: the door gets a Call */
    Rig *rig;
    size_t n_finished;
    CallResultKind kind;
    CallError error;
    bool is_error;
    Bytes content;
    Bytes structured;
    Bytes meta;
    Bytes message;
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

static void rig_on_tick(void *context)
{
    const Rig *rig = context;

    io_loop_stop(rig->loop);
}

static void asked_take(Bytes *out, Span s)
{
    bytes_clear(out);
    assert_int_equal(bytes_append_span(out, s), 0);
}

static void asked_finish(Call *call, const CallResult *result)
{
    Asked *asked = (Asked *)call;
    AllocTesting before = rig_enter();

    asked->n_finished++;
    asked->kind = result->kind;
    asked->error = result->error;
    asked->is_error = result->is_error;
    bytes_clear(&asked->content);
    for (size_t i = 0; i < result->n_pieces; i++) {
        assert_int_equal(bytes_append_span(&asked->content, result->pieces[i]), 0);
    }
    for (size_t i = 0; i < result->n_entries; i++) {
        assert_int_equal(bytes_append_span(&asked->content, json_span(result->entries[i])), 0);
        assert_int_equal(bytes_append_byte(&asked->content, '\n'), 0);
    }
    asked_take(&asked->structured, result->structured);
    asked_take(&asked->meta, result->meta);
    asked_take(&asked->message, result->message);
    io_loop_stop(asked->rig->loop);
    rig_keep_time(asked->rig);
    rig_leave(before);
    if (asked->then != NULL) {
        asked->then(asked);
    }
}

static const CallDoor asked_door = {.finish = asked_finish};

static void asked_init(Asked *asked, Rig *rig)
{
    *asked = (Asked){.rig = rig};
    bytes_init(&asked->content, RIG_BYTES);
    bytes_init(&asked->structured, RIG_BYTES);
    bytes_init(&asked->meta, RIG_BYTES);
    bytes_init(&asked->message, RIG_BYTES);
    arena_init(&asked->arena, RIG_BYTES * 2);
    call_init(&asked->call);
}

TW_UNUSED static void asked_forget(Asked *asked)
{
    bytes_deinit(&asked->content);
    bytes_deinit(&asked->structured);
    bytes_deinit(&asked->meta);
    bytes_deinit(&asked->message);
    arena_deinit(&asked->arena);
    call_deinit(&asked->call);
}

/* Asks again with the same memory. */
static void asked_ask(Asked *asked, CallVerb verb, const char *target, Span arguments,
                      int64_t timeout_ms)
{
    AllocTesting before = rig_enter();
    JsonDoc doc;

    call_reset(&asked->call);
    asked->call.door = &asked_door;
    asked->call.verb = verb;
    asked->call.target = span_from_str(target);
    asked->call.timeout_ms = timeout_ms;
    arena_reset(&asked->arena, 0);
    if (arguments.n > 0) {
        assert_int_equal(json_parse(&doc, &asked->arena, arguments.p, arguments.n, NULL, NULL), 0);
        asked->call.arguments = json_root(&doc);
    }
    router_advance(asked->rig->router, io_loop_now_ms(asked->rig->loop));
    rig_leave(before);
    router_dispatch(asked->rig->router, NULL, &asked->call);
    rig_keep_time(asked->rig);
}

TW_UNUSED static void ask(Asked *asked, Rig *rig, const char *tool)
{
    asked_init(asked, rig);
    asked_ask(asked, CALL_TOOL, tool, SPAN_NULL, 0);
}

static void await(Asked *asked)
{
    RUN_UNTIL(asked->rig, asked->n_finished > 0);
    assert_int_equal(asked->n_finished, 1);
}

TW_UNUSED static void assert_holds(const Bytes *b, const char *part)
{
    if (!rig_holds(bytes_span(b), part)) {
        fail_msg("\"%.*s\" does not hold \"%s\"", (int)b->n, b->data, part);
    }
}

TW_UNUSED static void assert_bytes(const Bytes *b, const char *text)
{
    if (b->n != strlen(text) || (b->n > 0 && memcmp(b->data, text, b->n) != 0)) {
        fail_msg("\"%.*s\" is not \"%s\"", (int)b->n, b->data, text);
    }
}

TW_UNUSED static void assert_failed(const Asked *asked, const char *code, const char *part)
{
    char text[64];

    assert_int_equal(asked->kind, CALL_RESULT_TOOL);
    assert_true(asked->is_error);
    (void)snprintf(text, sizeof(text), "{\"error\":{\"code\":\"%s\"", code);
    assert_holds(&asked->structured, text);
    assert_holds(&asked->structured, part);
}

/* Asks and expects the answer of that add-in. */
TW_UNUSED static void assert_served_by(Rig *rig, const char *tool, const char *label)
{
    char expected[64];
    Asked asked;

    ask(&asked, rig, tool);
    await(&asked);
    (void)snprintf(expected, sizeof(expected), "{\"by\":\"%s\"}", label);
    assert_bytes(&asked.structured, expected);
    assert_false(asked.is_error);
    asked_forget(&asked);
}

/* Asks and expects a failure. */
TW_UNUSED static void assert_refused(Rig *rig, const char *tool, const char *code, const char *part)
{
    Asked asked;

    ask(&asked, rig, tool);
    await(&asked);
    assert_failed(&asked, code, part);
    asked_forget(&asked);
}

/* Exactly these tools, in any order. */
TW_UNUSED static void assert_tools(const Rig *rig, const char *names)
{
    size_t n = 0;

    for (const char *at = names; *at != '\0';) {
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

static void rig_on_line(void *context, const char *line, size_t n)
{
    Rig *rig = context;
    AllocTesting before = rig_enter();

    assert_int_equal(bytes_append(&rig->lines, line, n), 0);
    rig_leave(before);
    if (rig->loop != NULL) {
        io_loop_stop(rig->loop);
    }
}

static void rig_on_changed(RouterListener *listener, RouterKind kind)
{
    Rig *rig = (Rig *)((char *)listener - offsetof(Rig, listens));

    rig->n_changed[kind]++;
    io_loop_stop(rig->loop);
}

TW_UNUSED static void rig_put_tools(Rig *rig, const char *text)
{
    FILE *out = fopen(rig->tools, "w");

    assert_non_null(out);
    assert_true(fputs(text, out) >= 0);
    assert_int_equal(fclose(out), 0);
    rig->config.tools_path = rig->tools;
}

/* tools: content of the tools file, or NULL. */
TW_UNUSED static void rig_start(Rig *rig, const char *tools)
{
    Diag diag = DIAG_NULL;

    if (tools != NULL) {
        rig_put_tools(rig, tools);
    }
    if (addins_new(&rig->addins, &rig->config, &diag) != 0) {
        fail_msg("%s", diag.message);
    }
    assert_string_equal(addins_path(rig->addins), rig->path);
}

static void rig_init(Rig *rig)
{
    *rig = (Rig){.loop = NULL};
    (void)snprintf(rig->folder, sizeof(rig->folder), "/tmp/tw-addins-XXXXXX");
    assert_non_null(mkdtemp(rig->folder));
    assert_int_equal(setenv("TMPDIR", rig->folder, 1), 0);
    (void)snprintf(rig->tools, sizeof(rig->tools), "%s/tools.json", rig->folder);
    (void)snprintf(rig->path, sizeof(rig->path), "%s/CoreFxPipe_Test", rig->folder);
    bytes_init(&rig->lines, RIG_BYTES);
    rig->log = (LogSink){.level = LOGSINK_LEVEL_DEBUG, .write_fn = rig_on_line, .context = rig};
    rig->listens.changed = rig_on_changed;
    io_ignore_sigpipe();
    assert_int_equal(io_loop_new(&rig->loop), 0);
    assert_int_equal(router_new(&rig->router, NULL, RIG_SEED), 0);
    router_listen(rig->router, &rig->listens);
    assert_int_equal(io_timer_new(&rig->clock, rig->loop, true, rig_on_clock, rig), 0);
    assert_int_equal(io_timer_new(&rig->tick, rig->loop, true, rig_on_tick, rig), 0);
    rig->config =
        (AddinsConfig){.router = rig->router, .loop = rig->loop, .log = &rig->log, .name = "Test"};
}

static void rig_deinit(Rig *rig)
{
    rig->addins = addins_free(rig->addins);
    assert_int_equal(access(rig->path, F_OK), -1);
    for (size_t i = 0; i < rig->n_fakes; i++) {
        Fake *fake = &rig->fakes[i];

        fake_close(fake);
        len32_reader_deinit(&fake->reader);
        bytes_deinit(&fake->out);
        bytes_deinit(&fake->got);
        arena_deinit(&fake->arena);
    }
    rig->clock = io_timer_free(rig->clock);
    rig->tick = io_timer_free(rig->tick);
    router_unlisten(rig->router, &rig->listens);
    rig->router = router_free(rig->router);
    rig->loop = io_loop_free(rig->loop);
    bytes_deinit(&rig->lines);
    (void)unlink(rig->tools);
    assert_int_equal(rmdir(rig->folder), 0);
}

TW_UNUSED static int rig_setup(void **state)
{
    Rig *rig = calloc(1, sizeof(*rig));

    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_non_null(rig);
    rig_init(rig);
    *state = rig;
    return 0;
}

TW_UNUSED static int rig_teardown(void **state)
{
    Rig *rig = *state;

    rig_deinit(rig);
    assert_int_equal(alloc_testing()->n_live, 0);
    free(rig);
    return 0;
}

#define RIG_TEST(fn) cmocka_unit_test_setup_teardown(fn, rig_setup, rig_teardown)
