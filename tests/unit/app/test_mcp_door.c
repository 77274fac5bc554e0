#include "app/mcp_door.h"

#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "app/hub.h"
#include "io/watchdog.h"
#include "providers/diagnostics.h"
#include "support/alloc_testing.h"
#include "support/mcp_watch.h"
#include "support/oom_sweep.h"
#include "unit/app/asker_rig.h"

/* For a test that would wait for ever; nothing is measured by it. */
#define WATCHDOG_S 30

static const McpIdentity identity = {.name = SPAN_INIT("t"), .version = SPAN_INIT("1")};

/* A door whose client is the test itself, at the other end of a socket. */
typedef struct Fixture {
    Hub *hub;
    Diagnostics *diagnostics;
    McpDoor *door;
    int client;
    int n_closed;
    int closed_r;
    McpWatch watch; /* holds what the door sends against the schemas */
} Fixture;

static void on_closed(void *context, int r)
{
    Fixture *f = context;

    f->n_closed++;
    f->closed_r = r;
    io_loop_stop(hub_loop(f->hub));
}

static int fixture_init(Fixture *f, const RouterLimits *limits, int64_t drain_ms)
{
    int fds[2];
    int r;

    *f = (Fixture){.client = -1};
    mcp_watch_init(&f->watch, MCP_WATCH_SERVER);
    r = hub_new(&f->hub, limits);
    if (r != 0) {
        return r;
    }
    r = diagnostics_new(&f->diagnostics, hub_router(f->hub), hub_loop(f->hub));
    if (r != 0) {
        return r;
    }
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    f->client = fds[0];
    r = mcp_door_new(&f->door, &(McpDoorConfig){.loop = hub_loop(f->hub),
                                                .router = hub_router(f->hub),
                                                .identity = &identity,
                                                .limits = limits,
                                                .sealer = hub_sealer(f->hub),
                                                .in_fd = fds[1],
                                                .out_fd = fds[1],
                                                .drain_ms = drain_ms,
                                                .closed = on_closed,
                                                .context = f});
    if (r != 0) {
        assert_int_equal(close(fds[1]), 0); /* not taken */
    }
    return r;
}

static void fixture_deinit(Fixture *f)
{
    f->door = mcp_door_free(f->door);
    f->diagnostics = diagnostics_free(f->diagnostics);
    f->hub = hub_free(f->hub);
    if (f->client >= 0) {
        assert_int_equal(close(f->client), 0);
    }
    mcp_watch_deinit(&f->watch);
}

static void client_sends(Fixture *f, const char *text)
{
    mcp_watch_client_sends(&f->watch, text, strlen(text));
    assert_int_equal(send(f->client, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static void stop_loop(void *context)
{
    io_loop_stop(context);
}

/* The same for more than the socket holds: whenever it is full the door is given a turn to read. */
static void client_sends_while_running(Fixture *f, const char *text)
{
    size_t n = strlen(text);
    IoTimer *timer = NULL;

    mcp_watch_client_sends(&f->watch, text, n);
    assert_int_equal(io_timer_new(&timer, hub_loop(f->hub), false, stop_loop, hub_loop(f->hub)), 0);
    while (n > 0) {
        ssize_t sent = send(f->client, text, n, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent > 0) {
            text += sent;
            n -= (size_t)sent;
        } else {
            io_timer_start_at(timer, io_loop_now_ms(hub_loop(f->hub)));
            assert_int_equal(io_loop_run(hub_loop(f->hub)), 0);
        }
    }
    timer = io_timer_free(timer);
}

/* What the client can read now. */
static const char *client_reads(Fixture *f)
{
    static char text[65536];
    ssize_t n = recv(f->client, text, sizeof(text) - 1, MSG_DONTWAIT);

    text[n > 0 ? n : 0] = '\0';
    mcp_watch_server_sends(&f->watch, text, strlen(text));
    return text;
}

#define MODERN                                                                                     \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define CALL_HEAD(id, tool)                                                                        \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool    \
    "\",\"arguments\":"
#define CALL(id, tool, arguments)                                                                  \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool    \
    "\",\"arguments\":" arguments "," MODERN "}}\n"

static void end_of_input_closes_after_the_answers(void **state)
{
    const char *got;
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f, NULL, 0), 0);
    client_sends(&f, CALL("1", "sleep", "{\"ms\":20}") CALL("2", "echo", "{\"message\":\"m\"}"));
    assert_int_equal(shutdown(f.client, SHUT_WR), 0);
    assert_int_equal(io_loop_run(hub_loop(f.hub)), 0);
    assert_int_equal(f.n_closed, 1);
    assert_int_equal(f.closed_r, 0);
    got = client_reads(&f);
    assert_true(strstr(got, "slept 20 ms") > strstr(got, "\"text\":\"m\""));
    assert_non_null(strstr(got, "\"text\":\"m\""));
    fixture_deinit(&f);
}

static void a_call_says_who_asks(void **state)
{
    SeenAsker seen;
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f, NULL, 0), 0);
    seen_asker_watch(&seen, hub_router(f.hub));
    client_sends(&f, CALL("1", "echo", "{\"message\":\"m\"}") CALL("2", "sleep", "{\"ms\":1}"));
    assert_int_equal(shutdown(f.client, SHUT_WR), 0);
    assert_int_equal(io_loop_run(hub_loop(f.hub)), 0);
    seen_asker_expect_self(&seen, 2, "mcp");
    fixture_deinit(&f);
}

static void the_drain_is_bounded(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f, NULL, 10), 0);
    client_sends(&f, CALL("1", "sleep", "{\"ms\":600000}"));
    assert_int_equal(shutdown(f.client, SHUT_WR), 0);
    assert_int_equal(io_loop_run(hub_loop(f.hub)), 0);
    assert_int_equal(f.n_closed, 1);
    assert_string_equal(client_reads(&f), "");
    fixture_deinit(&f);
}

/* Counts the calls that were taken back. */
typedef struct Taken {
    RouterWatch watch;
    size_t n_ended;
    size_t n_taken;
} Taken;

static void taken_began(void *context, Call *call)
{
    (void)context;
    (void)call;
}

static void taken_ended(void *context, const Call *call, const CallResult *result)
{
    Taken *taken = context;

    (void)call;
    taken->n_ended++;
    taken->n_taken += result == NULL ? 1 : 0;
}

static void taken_watch(Taken *taken, Router *router)
{
    *taken = (Taken){.watch = {.began = taken_began, .ended = taken_ended, .context = taken}};
    router_set_watch(router, &taken->watch);
}

/* The time that the drain has is longer than the test may take. */
static void a_client_that_closes_its_socket_takes_its_calls_back(void **state)
{
    Taken taken;
    Fixture f;

    (void)state;
    (void)alarm(WATCHDOG_S);
    assert_int_equal(fixture_init(&f, NULL, 600000), 0);
    taken_watch(&taken, hub_router(f.hub));
    client_sends(&f, CALL("1", "sleep", "{\"ms\":600000}"));
    assert_int_equal(close(f.client), 0);
    f.client = -1;
    assert_int_equal(io_loop_run(hub_loop(f.hub)), 0);
    assert_int_equal(f.n_closed, 1);
    assert_int_equal(f.closed_r, 0);
    assert_int_equal(taken.n_taken, 1);
    fixture_deinit(&f);
    (void)alarm(0);
}

static void close_client(void *context)
{
    Fixture *f = context;

    assert_int_equal(f->n_closed, 0);
    assert_int_equal(close(f->client), 0);
    f->client = -1;
}

/* Nothing is read any more when it goes. */
static void a_client_that_goes_after_its_input_ended_takes_its_calls_back(void **state)
{
    IoTimer *timer = NULL;
    Taken taken;
    Fixture f;

    (void)state;
    (void)alarm(WATCHDOG_S);
    assert_int_equal(fixture_init(&f, NULL, 600000), 0);
    taken_watch(&taken, hub_router(f.hub));
    assert_int_equal(io_timer_new(&timer, hub_loop(f.hub), false, close_client, &f), 0);
    client_sends(&f, CALL("1", "sleep", "{\"ms\":600000}"));
    assert_int_equal(shutdown(f.client, SHUT_WR), 0);
    io_timer_start_at(timer, io_loop_now_ms(hub_loop(f.hub)) + 20);
    assert_int_equal(io_loop_run(hub_loop(f.hub)), 0);
    assert_int_equal(f.n_closed, 1);
    assert_int_equal(taken.n_taken, 1);
    timer = io_timer_free(timer);
    fixture_deinit(&f);
    (void)alarm(0);
}

/* A client may hand a process two sockets, as some do in place of pipes: when the one is closed the
 * answers still go to the other. */
static void input_that_is_closed_says_nothing_about_another_output(void **state)
{
    Taken taken;
    Fixture f;
    int in[2];
    int out[2];

    (void)state;
    assert_int_equal(fixture_init(&f, NULL, 0), 0);
    f.door = mcp_door_free(f.door);
    assert_int_equal(close(f.client), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, out), 0);
    assert_int_equal(mcp_door_new(&f.door, &(McpDoorConfig){.loop = hub_loop(f.hub),
                                                            .router = hub_router(f.hub),
                                                            .identity = &identity,
                                                            .sealer = hub_sealer(f.hub),
                                                            .in_fd = in[1],
                                                            .out_fd = out[1],
                                                            .closed = on_closed,
                                                            .context = &f}),
                     0);
    taken_watch(&taken, hub_router(f.hub));
    f.client = in[0];
    client_sends(&f, CALL("1", "sleep", "{\"ms\":20}"));
    assert_int_equal(close(in[0]), 0);
    f.client = out[0];
    assert_int_equal(io_loop_run(hub_loop(f.hub)), 0);
    assert_int_equal(f.n_closed, 1);
    assert_int_equal(taken.n_ended, 1);
    assert_int_equal(taken.n_taken, 0);
    assert_non_null(strstr(client_reads(&f), "slept 20 ms"));
    fixture_deinit(&f);
}

static void slow_began(void *context, Call *call)
{
    struct timespec from;
    struct timespec now;

    (void)context;
    (void)call;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from), 0);
    do {
        assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    } while ((now.tv_sec - from.tv_sec) * 1000000000LL + now.tv_nsec - from.tv_nsec < 10000000);
}

static void slow_ended(void *context, const Call *call, const CallResult *result)
{
    (void)context;
    (void)call;
    (void)result;
}

/* Each of its calls takes a while, and hundreds have come at once: the others wait. */
static void a_client_whose_turn_takes_too_long_is_closed(void **state)
{
    const RouterWatch slow = {.began = slow_began, .ended = slow_ended};
    const RouterLimits limits = {.rate_off = true};
    static char text[200 * 512];
    size_t n = 0;
    Fixture f;

    (void)state;
    (void)alarm(WATCHDOG_S);
    assert_int_equal(fixture_init(&f, &limits, 0), 0);
    router_set_watch(hub_router(f.hub), &slow);
    assert_int_equal(io_watchdog_start(hub_loop(f.hub), &(IoWatchdogConfig){.turn_ms = 40}), 0);
    for (int i = 0; i < 200; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, CALL("%d", "echo", "{\"message\":\"m\"}"),
                              i + 1);
    }
    client_sends(&f, text);
    assert_int_equal(io_loop_run(hub_loop(f.hub)), 0);
    assert_int_equal(f.n_closed, 1);
    assert_int_equal(f.closed_r, -ETIMEDOUT);
    fixture_deinit(&f);
    (void)alarm(0);
}

static void a_shutdown_refuses_new_requests_and_lets_the_old_end(void **state)
{
    const char *got;
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f, NULL, 0), 0);
    client_sends(&f, CALL("1", "sleep", "{\"ms\":0}"));
    mcp_door_shutdown(f.door);
    client_sends(&f, CALL("2", "echo", "{\"message\":\"late\"}"));
    assert_int_equal(io_loop_run(hub_loop(f.hub)), 0);
    assert_int_equal(f.n_closed, 1);
    got = client_reads(&f);
    assert_null(strstr(got, "late"));
    fixture_deinit(&f);
}

static void a_door_is_freed_while_calls_run(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f, NULL, 1), 0);
    client_sends(&f, CALL("1", "sleep", "{\"ms\":600000}") CALL("2", "sleep", "{\"ms\":0}"));
    mcp_door_shutdown(f.door);
    assert_int_equal(io_loop_run(hub_loop(f.hub)), 0);
    fixture_deinit(&f);
    assert_int_equal(fixture_init(&f, NULL, 0), 0);
    client_sends(&f, CALL("1", "sleep", "{\"ms\":600000}"));
    fixture_deinit(&f); /* the call never even started */
}

static void a_door_knows_when_it_is_ending(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f, NULL, 0), 0);
    assert_false(mcp_door_is_ending(f.door));
    mcp_door_shutdown(f.door);
    assert_true(mcp_door_is_ending(f.door));
    fixture_deinit(&f);
    /* Also before the loop has come to read it. */
    assert_int_equal(fixture_init(&f, NULL, 0), 0);
    client_sends(&f, CALL("1", "sleep", "{\"ms\":600000}"));
    assert_false(mcp_door_is_ending(f.door));
    assert_int_equal(shutdown(f.client, SHUT_WR), 0);
    assert_true(mcp_door_is_ending(f.door));
    fixture_deinit(&f);
}

/* Reads while the door writes, and stops the loop when the condition has come. */
typedef struct Reader {
    Fixture *f;
    IoTimer *timer;
    long n_live;    /* stop below so many blocks; 0: at the end of a line */
    char last_byte; /* that was read */
} Reader;

#define READER_PERIOD_MS 1

static void reader_on_timer(void *context)
{
    Reader *reader = context;
    Fixture *f = reader->f;
    const char *got = client_reads(f);

    if (got[0] != '\0') {
        reader->last_byte = got[strlen(got) - 1];
    }
    if (reader->n_live > 0 ? alloc_testing()->n_live < reader->n_live : reader->last_byte == '\n') {
        io_loop_stop(hub_loop(f->hub));
        return;
    }
    io_timer_start_at(reader->timer, io_loop_now_ms(hub_loop(f->hub)) + READER_PERIOD_MS);
}

/* A client that has sent one large message and is silent then costs no more than any other: the
 * blocks of the request and of the answer go back though nothing more is read or written. */
static void memory_of_large_messages_is_given_back_in_silence(void **state)
{
    enum {
        N = 600000
    };
    static char text[N + 1];
    Fixture f;
    Reader reader = {.f = &f};

    (void)state;
    (void)alarm(WATCHDOG_S);
    memset(text, 'x', N);
    assert_int_equal(fixture_init(&f, NULL, 0), 0);
    assert_int_equal(fcntl(f.client, F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(io_timer_new(&reader.timer, hub_loop(f.hub), false, reader_on_timer, &reader),
                     0);
    client_sends_while_running(&f, CALL_HEAD("1", "echo") "{\"message\":\"");
    client_sends_while_running(&f, text);
    client_sends_while_running(&f, "\"}," MODERN "}}\n");
    reader_on_timer(&reader);
    assert_int_equal(io_loop_run(hub_loop(f.hub)), 0);
    assert_int_equal(reader.last_byte, '\n');
    reader.n_live = alloc_testing()->n_live - 1; /* both of them, and not only one */
    reader_on_timer(&reader);
    assert_int_equal(io_loop_run(hub_loop(f.hub)), 0);
    reader.timer = io_timer_free(reader.timer);
    fixture_deinit(&f);
    (void)alarm(0);
}

/* What the door of a router without anything says it offers. */
static void offers_of_an_empty_router(const McpDoorConfig *expects, char ret[256])
{
    const char *capabilities;
    const char *text;
    Fixture f;
    int fds[2];

    assert_int_equal(fixture_init(&f, NULL, 0), 0);
    f.door = mcp_door_free(f.door);
    f.diagnostics = diagnostics_free(f.diagnostics);
    assert_int_equal(close(f.client), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    f.client = fds[0];
    assert_int_equal(
        mcp_door_new(&f.door, &(McpDoorConfig){.loop = hub_loop(f.hub),
                                               .router = hub_router(f.hub),
                                               .identity = &identity,
                                               .sealer = hub_sealer(f.hub),
                                               .lists_change = true,
                                               .expects_tools = expects->expects_tools,
                                               .expects_resources = expects->expects_resources,
                                               .expects_prompts = expects->expects_prompts,
                                               .in_fd = fds[1],
                                               .out_fd = fds[1],
                                               .closed = on_closed,
                                               .context = &f}),
        0);
    client_sends(&f,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{" MODERN
                 "}}\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/list\",\"params\":"
                 "{" MODERN "}}\n");
    assert_int_equal(shutdown(f.client, SHUT_WR), 0);
    assert_int_equal(io_loop_run(hub_loop(f.hub)), 0);
    text = client_reads(&f);
    capabilities = strstr(text, "\"capabilities\":{");
    assert_non_null(capabilities);
    assert_int_equal(strstr(text, "\"resources\":[]") != NULL, expects->expects_resources);
    assert_int_equal(strstr(text, "-32601") != NULL, !expects->expects_resources);
    (void)snprintf(ret, 256, "%.*s", (int)strcspn(capabilities, "\n"), capabilities);
    fixture_deinit(&f);
}

static void what_is_expected_is_announced_while_there_is_none(void **state)
{
    char offers[256];

    (void)state;
    offers_of_an_empty_router(&(McpDoorConfig){.expects_tools = false}, offers);
    assert_non_null(strstr(offers, "\"capabilities\":{}"));
    offers_of_an_empty_router(&(McpDoorConfig){.expects_tools = true}, offers);
    assert_non_null(strstr(offers, "\"capabilities\":{\"tools\":{\"listChanged\":true}}"));
    offers_of_an_empty_router(&(McpDoorConfig){.expects_resources = true}, offers);
    assert_non_null(strstr(
        offers, "\"capabilities\":{\"resources\":{\"subscribe\":true,\"listChanged\":true}}"));
    /* A legacy client hears it once, and the servers whose prompts it is about come later. */
    offers_of_an_empty_router(&(McpDoorConfig){.expects_prompts = true}, offers);
    assert_non_null(strstr(offers, "\"completions\":{}"));
    assert_non_null(strstr(offers, "\"prompts\":{\"listChanged\":true}"));
}

static int open_once(void *context)
{
    Fixture f;
    int r = fixture_init(&f, NULL, 0);

    (void)context;
    fixture_deinit(&f);
    return r;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    (void)state;
    test_oom_sweep(open_once, NULL);
}

/* ---- what is lent ---- */

#define LOUD_BYTES ((size_t)3 * 1024 * 1024) /* more than a socket holds */

static void loud_fill(char *text)
{
    for (size_t i = 0; i < LOUD_BYTES; i++) {
        text[i] = (char)('a' + (i * 2654435761u >> 13) % 26);
    }
}

/* Answers from memory of its own, which is gone when finish has returned. */
static void loud_finish(Call *call)
{
    char *text = malloc(LOUD_BYTES);
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":\""), span_make(text, LOUD_BYTES),
                     SPAN("\"}")};
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, TW_ARRAY_SIZE(pieces));

    assert_non_null(text);
    loud_fill(text);
    call_finish(call, &result);
    memset(text, '?', LOUD_BYTES);
    free(text);
}

/* A client that takes its answers in sips, and a tool that answers at once or at a sip. */
typedef struct Sipper {
    Fixture *f;
    IoTimer *timer;
    Call *held;
    size_t n_lines; /* to wait for */
    size_t n_got;
    size_t n_sips;
    size_t fail_at; /* how many allocations succeed while the answer is handed on */
    bool is_later;
    Bytes got;
} Sipper;

static void loud_start(void *context, Call *call)
{
    Sipper *sipper = context;

    if (sipper->is_later) {
        sipper->held = call;
    } else {
        loud_finish(call);
    }
}

static void loud_cancel(void *context, Call *call)
{
    (void)context;
    (void)call;
}

static const CallProvider loud_provider = {.start = loud_start, .cancel = loud_cancel};

static void sipper_on_timer(void *context)
{
    Sipper *sipper = context;
    char text[30001];
    ssize_t n = recv(sipper->f->client, text, sizeof(text), MSG_DONTWAIT);

    for (ssize_t i = 0; i < n; i++) {
        sipper->n_got += text[i] == '\n' ? 1 : 0;
    }
    if (n > 0) {
        assert_int_equal(bytes_append(&sipper->got, text, (size_t)n), 0);
    }
    sipper->n_sips++;
    if (sipper->held != NULL && sipper->n_sips > 3) {
        Call *call = sipper->held;

        sipper->held = NULL;
        alloc_testing_reset(sipper->fail_at);
        loud_finish(call);
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        if (sipper->fail_at == ALLOC_TESTING_NEVER) {
            client_sends(sipper->f, CALL("3", "echo", "{\"message\":\"m\"}"));
        }
    }
    if (sipper->n_got == sipper->n_lines) {
        io_loop_stop(hub_loop(sipper->f->hub));
        return;
    }
    io_timer_start_at(sipper->timer, io_loop_now_ms(hub_loop(sipper->f->hub)) + READER_PERIOD_MS);
}

static void sipper_init(Sipper *sipper, Fixture *f, bool is_later)
{
    *sipper = (Sipper){.f = f, .is_later = is_later, .fail_at = ALLOC_TESTING_NEVER};
    assert_int_equal(fixture_init(f, NULL, 0), 0);
    bytes_init(&sipper->got, SIZE_MAX);
    assert_int_equal(router_add(hub_router(f->hub),
                                &(RouterSpec){.kind = ROUTER_TOOL,
                                              .json = SPAN("{\"name\":\"loud\",\"inputSchema\":{"
                                                           "\"type\":\"object\"}}"),
                                              .provider = &loud_provider,
                                              .context = sipper,
                                              .timeout_ms = 600000},
                                NULL),
                     0);
    assert_int_equal(io_timer_new(&sipper->timer, hub_loop(f->hub), false, sipper_on_timer, sipper),
                     0);
}

static void sipper_run(Sipper *sipper)
{
    io_timer_start_at(sipper->timer, io_loop_now_ms(hub_loop(sipper->f->hub)));
    assert_int_equal(io_loop_run(hub_loop(sipper->f->hub)), 0);
}

static void sipper_deinit(Sipper *sipper)
{
    sipper->timer = io_timer_free(sipper->timer);
    bytes_deinit(&sipper->got);
    fixture_deinit(sipper->f);
}

#define LINE_HEAD(id)                                                                              \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":{\"resultType\":\"complete\",\"content\":["     \
    "{\"type\":\"text\",\"text\":\""

/* Takes a line that begins so off the front of *rest, and gives what follows the beginning. */
static Span take_line(Span *rest, const char *head)
{
    const char *end = memchr(rest->p, '\n', rest->n);
    size_t n = strlen(head);
    Span line;

    assert_non_null(end);
    line = span_make(rest->p, (size_t)(end - rest->p));
    *rest = span_make(end + 1, rest->n - line.n - 1);
    if (!span_starts_with(line, span_from_str(head))) {
        fail_msg("wanted: %s\n   got: %.*s", head, (int)(line.n < 200 ? line.n : 200), line.p);
    }
    return span_make(line.p + n, line.n - n);
}

static void a_large_answer_arrives_though_its_memory_is_gone(void **state)
{
    char *text = malloc(LOUD_BYTES);

    (void)state;
    assert_non_null(text);
    loud_fill(text);
    (void)alarm(WATCHDOG_S);
    for (int is_later = 0; is_later < 2; is_later++) {
        Sipper sipper;
        Fixture f;
        Span rest;
        Span tail;

        sipper_init(&sipper, &f, is_later != 0);
        sipper.n_lines = is_later != 0 ? 3 : 5;
        client_sends(&f, CALL("1", "echo", "{\"message\":\"m\"}") CALL("2", "loud", "{}"));
        if (is_later == 0) {
            client_sends(&f, CALL("3", "echo", "{\"message\":\"m\"}") CALL("4", "loud", "{}")
                                 CALL("5", "echo", "{\"message\":\"m\"}"));
        }
        sipper_run(&sipper);
        mcp_watch_server_sends(&f.watch, sipper.got.data, sipper.got.n);
        rest = bytes_span(&sipper.got);
        (void)take_line(&rest, LINE_HEAD("1") "m\"");
        tail = take_line(&rest, LINE_HEAD("2"));
        assert_true(tail.n > LOUD_BYTES);
        assert_memory_equal(tail.p, text, LOUD_BYTES);
        assert_memory_equal(tail.p + LOUD_BYTES, "\"}]", 3);
        (void)take_line(&rest, LINE_HEAD("3") "m\"");
        if (is_later == 0) {
            tail = take_line(&rest, LINE_HEAD("4"));
            assert_true(tail.n > LOUD_BYTES);
            assert_memory_equal(tail.p, text, LOUD_BYTES);
            (void)take_line(&rest, LINE_HEAD("5") "m\"");
        }
        assert_int_equal(rest.n, 0);
        sipper_deinit(&sipper);
    }
    (void)alarm(0);
    free(text);
}

static void an_answer_that_cannot_be_kept_closes_the_door(void **state)
{
    size_t n_closed = 0;

    (void)state;
    (void)alarm(WATCHDOG_S);
    for (size_t n = 0; n < 8; n++) {
        Sipper sipper;
        Fixture f;

        sipper_init(&sipper, &f, true);
        sipper.fail_at = n;
        sipper.n_lines = 1;
        client_sends(&f, CALL("1", "loud", "{}"));
        sipper_run(&sipper);
        assert_int_equal(sipper.n_got, f.n_closed == 0 ? 1 : 0);
        assert_int_equal(f.closed_r, f.n_closed == 0 ? 0 : -ENOMEM);
        n_closed += (size_t)f.n_closed;
        sipper_deinit(&sipper);
    }
    assert_true(n_closed > 0 && n_closed < 8);
    (void)alarm(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(end_of_input_closes_after_the_answers),
        cmocka_unit_test(a_call_says_who_asks),
        cmocka_unit_test(the_drain_is_bounded),
        cmocka_unit_test(a_client_that_closes_its_socket_takes_its_calls_back),
        cmocka_unit_test(a_client_that_goes_after_its_input_ended_takes_its_calls_back),
        cmocka_unit_test(input_that_is_closed_says_nothing_about_another_output),
        cmocka_unit_test(a_client_whose_turn_takes_too_long_is_closed),
        cmocka_unit_test(a_shutdown_refuses_new_requests_and_lets_the_old_end),
        cmocka_unit_test(a_door_is_freed_while_calls_run),
        cmocka_unit_test(a_door_knows_when_it_is_ending),
        cmocka_unit_test(memory_of_large_messages_is_given_back_in_silence),
        cmocka_unit_test(what_is_expected_is_announced_while_there_is_none),
        cmocka_unit_test(no_allocation_may_fail_unnoticed),
        cmocka_unit_test(a_large_answer_arrives_though_its_memory_is_gone),
        cmocka_unit_test(an_answer_that_cannot_be_kept_closes_the_door),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
