/* `toolwire serve` as a client meets it: the real program, two pipes, every byte.
 *
 *     test_serve TOOLWIRE
 */
#include "e2e/peer.h"

#include "support/cmocka.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"

/* A program that waits for ever fails its test, long before ctest would notice; nothing is measured
 * by it. */
#define WATCHDOG_S 60

static const char *program;

/* The longest line of one test. */
#define LINE_BYTES 1200
#define LINE_WORDS "1200"

static int watchdog_start(void **state)
{
    (void)state;
    (void)alarm(WATCHDOG_S);
    return 0;
}

static int watchdog_stop(void **state)
{
    (void)state;
    (void)alarm(0);
    return 0;
}

static void start(Peer *peer, const char *const *arguments)
{
    peer_open(peer, program, arguments);
}

static const char *const with_diagnostics[] = {"serve", "--diagnostics", "--rate", "off", NULL};

/* The error's code in an answer; its id must be this JSON. */
static int error_code(Peer *peer, const char *id)
{
    char *line = peer_line(peer);
    Arena arena;
    JsonDoc doc;
    JsonValue value;
    int64_t code = 0;

    assert_non_null(line);
    arena_init(&arena, (size_t)1 << 24);
    assert_int_equal(json_parse(&doc, &arena, line, strlen(line), NULL, NULL), 0);
    assert_true(json_get(json_root(&doc), SPAN("id"), &value));
    assert_true(span_equals(json_span(value), span_from_str(id)));
    assert_int_equal(json_pointer(json_root(&doc), SPAN("/error/code"), &value), 0);
    assert_int_equal(json_int64(value, &code), 0);
    assert_int_equal(json_pointer(json_root(&doc), SPAN("/error/message"), &value), 0);
    assert_true(json_span(value).n > 10);
    arena_deinit(&arena);
    free(line);
    return (int)code;
}

/* ---- bad input, and the good request behind it ---- */

#define NOTHING 0

static void bad_input_has_its_answer_and_the_next_request_is_served(void **state)
{
    static const struct {
        const char *name;
        Span bytes;
        int code; /* NOTHING: no answer */
        const char *id;
    } rows[] = {
        {"garbage", SPAN_INIT("\x00\xff\xfe\x80 garbage"), -32700, "null"},
        {"words", SPAN_INIT("hello"), -32700, "null"},
        {"half a UTF-8 sequence", SPAN_INIT("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xc3\"}"),
         -32700, "1"},
        {"a mistake before the id",
         SPAN_INIT(
             "{\"method\":\"ping\",\"params\":{a:1},\"jsonrpc\":\"2.0\",\"id\":\"x\\ud83d\"}"),
         -32700, "\"x\\ud83d\""},
        {"an id inside of params",
         SPAN_INIT("{\"method\":\"ping\",\"params\":{\"id\":5,\"s\":\"\\\"id\\\":6\"}"), -32700,
         "null"},
        {"a missing quote", SPAN_INIT("{\"method\":\"ping,\"jsonrpc\":\"2.0\",\"id\":8}"), -32700,
         "null"},
        {"half an answer to a question of ours",
         SPAN_INIT("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{"), -32700, "null"},
        {"half a message", SPAN_INIT("{\"jsonrpc\":\"2.0\",\"id\":1,"), -32700, "null"},
        {"a number", SPAN_INIT("5"), -32600, "null"},
        {"a batch", SPAN_INIT("[" CALL("1", "echo", "{\"message\":\"x\"}") "]"), -32600, "null"},
        {"id null", SPAN_INIT("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}"), -32600,
         "null"},
        {"id object", SPAN_INIT("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"ping\"}"), -32600,
         "null"},
        {"id fraction", SPAN_INIT("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}"), -32600,
         "null"},
        {"no jsonrpc", SPAN_INIT("{\"id\":7,\"method\":\"ping\"}"), -32600, "7"},
        {"jsonrpc 1.0", SPAN_INIT("{\"jsonrpc\":\"1.0\",\"id\":7,\"method\":\"ping\"}"), -32600,
         "7"},
        {"method a number", SPAN_INIT("{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":5}"), -32600,
         "\"a\""},
        {"no method", SPAN_INIT("{\"jsonrpc\":\"2.0\",\"id\":7}"), -32600, "7"},
        {"params a string",
         SPAN_INIT("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":\"x\"}"),
         -32602, "7"},
        {"unknown method", SPAN_INIT("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"no/such\"}"),
         -32601, "7"},
        {"unknown tool", SPAN_INIT(CALL("7", "none", "{}")), -32602, "7"},
        {"cancel of an unknown id",
         SPAN_INIT("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
                   "{\"requestId\":99}}"),
         NOTHING, NULL},
        {"cancel of nothing",
         SPAN_INIT("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}"), NOTHING, NULL},
        {"an unknown notification",
         SPAN_INIT("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/none\",\"params\":5}"), NOTHING,
         NULL},
        {"a response to nothing", SPAN_INIT("{\"jsonrpc\":\"2.0\",\"id\":42,\"result\":{}}"),
         NOTHING, NULL},
        {"blank lines", SPAN_INIT("\r\n \t \n"), NOTHING, NULL},
        {"version 2099-01-01",
         SPAN_INIT("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
                   "\"io.modelcontextprotocol/protocolVersion\":\"2099-01-01\","
                   "\"io.modelcontextprotocol/clientCapabilities\":{}}}}"),
         -32022, "7"},
    };
    Peer peer;

    (void)state;
    start(&peer, with_diagnostics);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        print_message("%s\n", rows[i].name);
        peer_send_bytes(&peer, rows[i].bytes.p, rows[i].bytes.n);
        peer_send_bytes(&peer, "\n", 1);
        if (rows[i].code != NOTHING) {
            assert_int_equal(error_code(&peer, rows[i].id), rows[i].code);
        }
        peer_send(&peer, CALL("\"next\"", "echo", "{\"message\":\"served\"}"));
        peer_expect(&peer, TEXT("\"next\"", "served"));
    }
    assert_int_equal(peer_finish(&peer), 0);
}

static void nesting_of_100000_levels_is_refused(void **state)
{
    enum {
        N = 100000
    };
    char *deep = malloc(N);
    Peer peer;

    (void)state;
    assert_non_null(deep);
    memset(deep, '[', N);
    start(&peer, with_diagnostics);
    peer_send_bytes(&peer, deep, N);
    peer_send_bytes(&peer, "\n", 1);
    assert_int_equal(error_code(&peer, "null"), -32600);
    peer_send(&peer, CALL("1", "echo", "{\"message\":\"served\"}"));
    peer_expect(&peer, TEXT("1", "served"));
    assert_int_equal(peer_finish(&peer), 0);
    free(deep);
}

/* A call of echo that is n bytes long. */
static char *echo_of_size(size_t n)
{
    static const char head[] =
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
        "\"name\":\"echo\",\"arguments\":{\"message\":\"";
    static const char tail[] = "\"}}}";
    char *line = malloc(n + 2);

    assert_non_null(line);
    memset(line, 'x', n);
    memcpy(line, head, sizeof(head) - 1);
    memcpy(line + n - (sizeof(tail) - 1), tail, sizeof(tail) - 1);
    line[n] = '\n';
    line[n + 1] = '\0';
    return line;
}

static void a_request_of_1_MiB_passes_and_one_byte_more_does_not(void **state)
{
    static const char late_id[] = "{\"method\":\"tools/call\",\"params\":{\"id\":5,\"text\":\"";
    char *fits = echo_of_size(LIMIT_MCP_REQUEST_BYTES);
    char *too_long = echo_of_size(LIMIT_MCP_REQUEST_BYTES + 1);
    char *line;
    Peer peer;

    (void)state;
    start(&peer, with_diagnostics);
    peer_send_bytes(&peer, too_long, LIMIT_MCP_REQUEST_BYTES + 2);
    assert_int_equal(error_code(&peer, "1"), -32600);
    /* The official clients write the id last: it is found behind what was thrown away. */
    peer_send_bytes(&peer, late_id, sizeof(late_id) - 1);
    memset(too_long, 'x', LIMIT_MCP_REQUEST_BYTES);
    for (size_t i = 0; i < 3; i++) {
        peer_send_bytes(&peer, too_long, LIMIT_MCP_REQUEST_BYTES);
    }
    peer_send(&peer, "\\\",\\\"id\\\":6\"},\"jsonrpc\":\"2.0\",\"id\":7}");
    assert_int_equal(error_code(&peer, "7"), -32600);
    peer_send_bytes(&peer, fits, LIMIT_MCP_REQUEST_BYTES + 1);
    line = peer_line(&peer);
    assert_non_null(line);
    assert_true(strlen(line) > LIMIT_MCP_REQUEST_BYTES - 200);
    assert_non_null(strstr(line, "\"result\""));
    free(line);
    assert_int_equal(peer_finish(&peer), 0);
    free(fits);
    free(too_long);
}

static void ten_thousand_requests_are_answered_though_nobody_reads_at_first(void **state)
{
    enum {
        N = 10000,
        SIZE = 1000
    };
    char *request = echo_of_size(SIZE);
    Peer peer;
    pid_t writer;

    (void)state;
    start(&peer, with_diagnostics);
    for (size_t i = 0; i < N; i++) {
        peer_expect_sent(&peer, request, SIZE + 1);
    }
    /* Writing blocks once the pipes and our buffers are full, so another process does it. */
    writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
        for (size_t i = 0; i < N; i++) {
            peer_send_bytes(&peer, request, SIZE + 1);
        }
        _exit(0);
    }
    peer_close_input(&peer);
    {
        struct timespec pause = {.tv_nsec = 200000000}; /* lets it run full; right without, too */

        (void)nanosleep(&pause, NULL);
    }
    for (size_t i = 0; i < N; i++) {
        char *line = peer_line(&peer);

        assert_non_null(line);
        assert_non_null(strstr(line, "\"result\""));
        free(line);
    }
    assert_int_equal(peer_wait(writer), 0);
    assert_int_equal(peer_finish(&peer), 0);
    free(request);
}

static void input_that_ends_inside_a_line_ends_the_session(void **state)
{
    Peer peer;

    (void)state;
    start(&peer, with_diagnostics);
    peer_send_bytes(&peer, "{\"jsonrpc\":\"2.0\",\"id\":1,\"meth", 30);
    peer_close_input(&peer);
    assert_int_equal(error_code(&peer, "null"), -32700);
    assert_int_equal(peer_finish(&peer), 0);

    /* Only the newline is missing: somebody used printf. */
    start(&peer, with_diagnostics);
    peer_send_bytes(&peer, CALL("1", "echo", "{\"message\":\"m\"}"),
                    strlen(CALL("1", "echo", "{\"message\":\"m\"}")));
    peer_close_input(&peer);
    peer_expect(&peer, TEXT("1", "m"));
    assert_int_equal(peer_finish(&peer), 0);
}

/* ---- calls at the same time ---- */

static void a_slow_call_delays_nothing(void **state)
{
    char *line;
    Peer peer;

    (void)state;
    start(&peer, with_diagnostics);
    peer_send(&peer, CALL("1", "sleep", "{\"ms\":60000}"));
    peer_send(&peer, CALL("2", "echo", "{\"message\":\"fast\"}"));
    peer_expect(&peer, TEXT("2", "fast"));
    peer_send(&peer, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\"}");
    line = peer_line(&peer);
    assert_non_null(strstr(line, "\"id\":3"));
    free(line);
    /* Cancelled, it is never answered, and the program need not wait for it. */
    peer_send(&peer, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
                     "{\"requestId\":1}}");
    assert_int_equal(peer_finish(&peer), 0);
}

static void an_id_in_use_is_refused_and_the_first_call_goes_on(void **state)
{
    Peer peer;

    (void)state;
    start(&peer, with_diagnostics);
    peer_send(&peer, CALL("5", "sleep", "{\"ms\":300}"));
    peer_send(&peer, CALL("5", "echo", "{\"message\":\"x\"}"));
    assert_int_equal(error_code(&peer, "5"), -32600);
    peer_expect(&peer, TEXT("5", "slept 300 ms"));
    peer_send(&peer, CALL("5", "echo", "{\"message\":\"free again\"}"));
    peer_expect(&peer, TEXT("5", "free again"));
    assert_int_equal(peer_finish(&peer), 0);
}

static void more_calls_than_allowed_are_refused_at_once(void **state)
{
    static const char *const arguments[] = {"serve", "--diagnostics", "--max-in-flight", "2", NULL};
    Peer peer;

    (void)state;
    start(&peer, arguments);
    peer_send(&peer, CALL("1", "sleep", "{\"ms\":400}"));
    peer_send(&peer, CALL("2", "sleep", "{\"ms\":500}"));
    peer_send(&peer, CALL("3", "echo", "{\"message\":\"x\"}"));
    assert_int_equal(error_code(&peer, "3"), -32003);
    peer_expect(&peer, TEXT("1", "slept 400 ms"));
    peer_send(&peer, CALL("4", "echo", "{\"message\":\"x\"}"));
    peer_expect(&peer, TEXT("4", "x"));
    peer_expect(&peer, TEXT("2", "slept 500 ms"));
    assert_int_equal(peer_finish(&peer), 0);
}

static void the_rate_is_limited(void **state)
{
    static const char *const arguments[] = {
        "serve", "--diagnostics", "--rate-burst", "3", "--rate-per-s", "1", NULL};
    char *line;
    Peer peer;

    (void)state;
    start(&peer, arguments);
    for (size_t i = 0; i < 3; i++) {
        peer_send(&peer, CALL("1", "echo", "{\"message\":\"x\"}"));
        peer_expect(&peer, TEXT("1", "x"));
    }
    peer_send(&peer, CALL("2", "echo", "{\"message\":\"x\"}"));
    line = peer_line(&peer);
    assert_non_null(line);
    assert_non_null(strstr(line, "\"code\":-32003"));
    assert_non_null(strstr(line, "\"retryAfterMs\":"));
    free(line);
    assert_int_equal(peer_finish(&peer), 0);
}

static void a_call_ends_at_its_deadline(void **state)
{
    static const char *const arguments[] = {"serve", "--diagnostics", "--call-timeout-ms", "50",
                                            NULL};
    char *line;
    Peer peer;

    (void)state;
    start(&peer, arguments);
    peer_send(&peer, CALL("1", "sleep", "{\"ms\":60000}"));
    line = peer_line(&peer);
    assert_non_null(line);
    assert_non_null(strstr(line, "\"isError\":true"));
    assert_non_null(strstr(line, "50 ms"));
    free(line);
    assert_int_equal(peer_finish(&peer), 0);
}

/* Takes the reports of the call whose token is 1, and gives the line behind them. */
static char *line_behind_progress(Peer *peer, size_t *ret_n)
{
    char *line;

    for (*ret_n = 0; (line = peer_line(peer)) != NULL &&
                     strstr(line, "\"method\":\"notifications/progress\"") != NULL;
         ++*ret_n) {
        assert_non_null(strstr(line, "\"progressToken\":1"));
        free(line);
    }
    assert_non_null(line);
    return line;
}

#define REPORTING_SLEEP(id, ms)                                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":"           \
    "\"sleep\",\"arguments\":{\"ms\":" ms "},\"_meta\":{\"progressToken\":1}}}"

/* Nothing else happens on the wire: the reports alone must move the deadline. */
static void progress_extends_the_deadline(void **state)
{
    static const char *const arguments[] = {"serve", "--diagnostics",         "--call-timeout-ms",
                                            "1000",  "--call-timeout-max-ms", "60000",
                                            NULL};
    char *line;
    size_t n;
    Peer peer;

    (void)state;
    start(&peer, arguments);
    peer_send(&peer, REPORTING_SLEEP("1", "2000"));
    line = line_behind_progress(&peer, &n);
    assert_non_null(strstr(line, "slept 2000 ms"));
    assert_true(n > 0);
    free(line);
    peer_send(&peer, CALL("2", "sleep", "{\"ms\":60000}"));
    line = peer_line(&peer);
    assert_non_null(line);
    assert_non_null(strstr(line, "\"isError\":true"));
    assert_non_null(strstr(line, "1000 ms"));
    free(line);
    assert_int_equal(peer_finish(&peer), 0);
}

static void the_hard_maximum_ends_a_call_that_reports(void **state)
{
    static const char *const arguments[] = {"serve", "--diagnostics",         "--call-timeout-ms",
                                            "900",   "--call-timeout-max-ms", "1000",
                                            NULL};
    char *line;
    size_t n;
    Peer peer;

    (void)state;
    start(&peer, arguments);
    peer_send(&peer, REPORTING_SLEEP("1", "2000"));
    line = line_behind_progress(&peer, &n);
    assert_non_null(strstr(line, "\"isError\":true"));
    assert_null(strstr(line, "slept"));
    assert_true(n > 0);
    free(line);
    assert_int_equal(peer_finish(&peer), 0);
}

/* ---- the end ---- */

static void calls_in_flight_finish_when_input_ends(void **state)
{
    Peer peer;

    (void)state;
    start(&peer, with_diagnostics);
    peer_send(&peer, CALL("1", "sleep", "{\"ms\":300}"));
    peer_close_input(&peer);
    peer_expect(&peer, TEXT("1", "slept 300 ms"));
    assert_int_equal(peer_finish(&peer), 0);
}

static void a_signal_lets_calls_finish_and_refuses_new_ones(void **state)
{
    static const int signums[] = {SIGTERM, SIGINT};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(signums); i++) {
        Peer peer;

        start(&peer, with_diagnostics);
        peer_send(&peer, CALL("1", "sleep", "{\"ms\":400}"));
        peer_send(&peer, CALL("2", "echo", "{\"message\":\"running\"}"));
        peer_expect(&peer, TEXT("2", "running"));
        assert_int_equal(kill(peer.pid, signums[i]), 0);
        peer_expect(&peer, TEXT("1", "slept 400 ms"));
        assert_null(peer_line(&peer));
        assert_int_equal(peer_finish(&peer), 0);
    }
}

/* Longer than the watchdog waits. */
static const char *const with_endless_drain[] = {"serve",      "--diagnostics", "--rate", "off",
                                                 "--drain-ms", "600000",        NULL};

/* A call that is told of by the one behind it. */
static void start_endless_call(Peer *peer)
{
    start(peer, with_endless_drain);
    peer_send(peer, CALL("1", "sleep", "{\"ms\":600000}"));
    peer_send(peer, CALL("2", "echo", "{\"message\":\"running\"}"));
    peer_expect(peer, TEXT("2", "running"));
}

/* Asks until it is refused: only then is the signal known to have been handled, and not to become
 * one with the next. */
static void wait_until_refused(Peer *peer)
{
    bool is_refused = false;

    while (!is_refused) {
        char *line;

        peer_send(peer, CALL("3", "echo", "{\"message\":\"x\"}"));
        line = peer_line(peer);
        assert_non_null(line);
        is_refused = strstr(line, "\"error\"") != NULL;
        free(line);
    }
}

static void a_second_signal_does_not_wait_for_calls(void **state)
{
    static const int signums[] = {SIGTERM, SIGINT, SIGHUP};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(signums); i++) {
        Peer peer;

        start_endless_call(&peer);
        assert_int_equal(kill(peer.pid, signums[i]), 0);
        wait_until_refused(&peer);
        peer_send(&peer, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}");
        peer_expect(&peer, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}");
        assert_int_equal(kill(peer.pid, SIGTERM), 0);
        assert_null(peer_line(&peer));
        assert_int_equal(peer_finish(&peer), 0);
    }
}

/* What clients do: they close our input, wait a moment, and send SIGTERM. */
static void a_signal_after_the_end_of_input_does_not_wait_for_calls(void **state)
{
    static const int signums[] = {SIGTERM, SIGINT, SIGHUP};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(signums); i++) {
        Peer peer;

        start_endless_call(&peer);
        peer_close_input(&peer);
        assert_int_equal(kill(peer.pid, signums[i]), 0);
        assert_int_equal(peer_finish(&peer), 0);
    }
}

/* It reads its tools from a FIFO, which tells how far it has come. */
static void a_signal_during_the_start_ends_it_with_status_0(void **state)
{
    static const int signums[] = {SIGTERM, SIGINT, SIGHUP};
    char folder[] = "/tmp/tw-serve-start-XXXXXX";
    char path[64];
    const char *const arguments[] = {"serve", "--tools", path, NULL};

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/tools.json", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(signums); i++) {
        int fd;
        Peer peer;

        peer_start(&peer, program, arguments);
        fd = open(path, O_WRONLY | O_CLOEXEC); /* once it has opened the other end */
        assert_true(fd >= 0);
        assert_int_equal(kill(peer.pid, signums[i]), 0);
        assert_int_equal(write(fd, "[]", 2), 2);
        assert_int_equal(close(fd), 0);
        assert_null(peer_line(&peer)); /* though its input is open */
        assert_int_equal(peer_finish(&peer), 0);
    }
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void calls_that_do_not_end_are_cancelled_after_the_drain(void **state)
{
    static const char *const arguments[] = {"serve", "--diagnostics", "--drain-ms", "100", NULL};
    Peer peer;

    (void)state;
    start(&peer, arguments);
    peer_send(&peer, CALL("1", "sleep", "{\"ms\":600000}"));
    peer_send(&peer, CALL("2", "echo", "{\"message\":\"running\"}"));
    peer_expect(&peer, TEXT("2", "running"));
    assert_int_equal(peer_finish(&peer), 0);
}

static void a_client_that_has_gone_ends_the_program_without_a_signal(void **state)
{
    Peer peer;

    (void)state;
    start(&peer, with_diagnostics);
    assert_int_equal(close(peer.from), 0);
    peer.from = -1;
    peer_send(&peer, CALL("1", "echo", "{\"message\":\"nobody\"}"));
    assert_int_equal(peer_wait(peer.pid), 0);
    (void)close(peer.to);
    free(peer.data);
    mcp_watch_deinit(&peer.watch);
}

static void a_client_that_neither_reads_nor_writes_is_given_up(void **state)
{
    static const char *const arguments[] = {"serve",      "--diagnostics", "--rate", "off",
                                            "--drain-ms", "200",           NULL};
    char *request = echo_of_size(10000);
    int to[2];
    int from[2];
    struct pollfd room;
    pid_t pid;

    (void)state;
    assert_int_equal(pipe2(to, O_CLOEXEC), 0);
    assert_int_equal(pipe2(from, O_CLOEXEC), 0);
    pid = peer_spawn(program, arguments, to[0], from[1]);
    assert_int_equal(close(to[0]), 0);
    assert_int_equal(close(from[1]), 0);
    assert_int_equal(write(to[1], INITIALIZE "\n", strlen(INITIALIZE) + 1),
                     (ssize_t)strlen(INITIALIZE) + 1);
    assert_int_equal(fcntl(to[1], F_SETFL, O_NONBLOCK), 0);
    /* Until it does not read any more, because nobody reads its answers. */
    room = (struct pollfd){.fd = to[1], .events = POLLOUT};
    while (poll(&room, 1, 300) == 1) {
        (void)!write(to[1], request, 10001);
    }
    assert_int_equal(close(to[1]), 0);
    assert_int_equal(peer_wait(pid), 0);
    assert_int_equal(close(from[0]), 0);
    free(request);
}

static void an_orphan_ends(void **state)
{
    int in[2];
    int out[2];
    int go[2];
    pid_t middle;
    Peer peer;
    char byte;

    (void)state;
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(go, O_CLOEXEC), 0);
    middle = fork();
    assert_true(middle >= 0);
    if (middle == 0) {
        (void)close(go[1]);
        (void)peer_spawn(program, with_diagnostics, in[0], out[1]);
        (void)!read(go[0], &byte, 1);
        _exit(0);
    }
    assert_int_equal(close(out[1]), 0);
    peer_init(&peer, -1, in[1], out[0]);
    peer_send(&peer, INITIALIZE);
    free(peer_line(&peer));
    assert_int_equal(close(go[1]), 0);
    assert_int_equal(peer_wait(middle), 0);
    /* Its input stays open: only the end of its parent can tell it. */
    assert_null(peer_line(&peer));
    (void)close(in[0]);
    (void)close(in[1]);
    (void)close(out[0]);
    (void)close(go[0]);
    free(peer.data);
    mcp_watch_deinit(&peer.watch);
}

#define WATCHED(test) cmocka_unit_test_setup_teardown(test, watchdog_start, watchdog_stop)

/* Takes the next line, which must be an answer to `id` that names the limit. */
static void expect_too_long(Peer *peer, const char *id, const char *kind)
{
    char *line = peer_line(peer);

    assert_non_null(line);
    assert_true(strlen(line) < LINE_BYTES);
    assert_non_null(strstr(line, id));
    assert_non_null(strstr(line, kind));
    assert_non_null(strstr(line, "a line to this client may have " LINE_WORDS " bytes "
                                 "(max_line_bytes, --max-line-bytes)"));
    free(line);
}

/* Newline included; and what is longer is an error of its own request, whatever that was. */
static void a_line_is_as_long_as_it_may_be_and_no_longer(void **state)
{
    static const char *const arguments[] = {"serve", "--diagnostics", "--max-line-bytes",
                                            LINE_WORDS, NULL};
    static const char around[] = TEXT("1", "");
    size_t n_text = LINE_BYTES - sizeof(around); /* its NUL counts for the newline */
    char *request = malloc(LINE_BYTES * 2);
    char *line;
    Peer peer;

    (void)state;
    assert_non_null(request);
    peer_open(&peer, program, arguments);
    for (size_t more = 0; more < 2; more++) {
        (void)snprintf(
            request, LINE_BYTES * 2,
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
            "\"echo\",\"arguments\":{\"message\":\"%0*d\"}}}",
            (int)(n_text + more), 0);
        peer_send(&peer, request);
        if (more == 0) {
            line = peer_line(&peer);
            assert_non_null(line);
            assert_int_equal(strlen(line) + 1, LINE_BYTES);
            assert_null(strstr(line, "isError"));
            free(line);
        } else {
            expect_too_long(&peer, "\"id\":1,", "\"isError\":true");
        }
    }
    peer_send(&peer, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}");
    expect_too_long(&peer, "\"id\":2,", "\"error\":{\"code\":-32603,");
    peer_send(&peer,
              "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/read\",\"params\":{\"uri\":"
              "\"template://makefile/rust/cli\"}}");
    expect_too_long(&peer, "\"id\":3,", "\"error\":{\"code\":-32603,");
    peer_send(&peer, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}");
    peer_expect(&peer, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}");
    assert_int_equal(peer_finish(&peer), 0);
    free(request);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        WATCHED(bad_input_has_its_answer_and_the_next_request_is_served),
        WATCHED(nesting_of_100000_levels_is_refused),
        WATCHED(a_request_of_1_MiB_passes_and_one_byte_more_does_not),
        WATCHED(ten_thousand_requests_are_answered_though_nobody_reads_at_first),
        WATCHED(input_that_ends_inside_a_line_ends_the_session),
        WATCHED(a_slow_call_delays_nothing),
        WATCHED(an_id_in_use_is_refused_and_the_first_call_goes_on),
        WATCHED(more_calls_than_allowed_are_refused_at_once),
        WATCHED(the_rate_is_limited),
        WATCHED(a_call_ends_at_its_deadline),
        WATCHED(progress_extends_the_deadline),
        WATCHED(the_hard_maximum_ends_a_call_that_reports),
        WATCHED(calls_in_flight_finish_when_input_ends),
        WATCHED(a_signal_lets_calls_finish_and_refuses_new_ones),
        WATCHED(a_second_signal_does_not_wait_for_calls),
        WATCHED(a_signal_after_the_end_of_input_does_not_wait_for_calls),
        WATCHED(a_signal_during_the_start_ends_it_with_status_0),
        WATCHED(calls_that_do_not_end_are_cancelled_after_the_drain),
        WATCHED(a_client_that_has_gone_ends_the_program_without_a_signal),
        WATCHED(a_client_that_neither_reads_nor_writes_is_given_up),
        WATCHED(an_orphan_ends),
        WATCHED(a_line_is_as_long_as_it_may_be_and_no_longer),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_serve TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
