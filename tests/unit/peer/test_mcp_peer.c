/* Servers that are started, connected to, restarted and ended. They are shell scripts: the first
 * line they read is the probe, which has the id 1. */
#include "peer/mcp_peer.h"

#include "support/cmocka.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "io/watchdog.h"
#include "support/mcp_watch.h"
#include "support/oom_sweep.h"

#define DISCOVERED                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\","                       \
    "\"supportedVersions\":[\"2026-07-28\"]}}"
#define SAY(json) "printf '%s\\n' '" json "'; "
#define WELCOME(id)                                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"result\":{\"protocolVersion\":\"2025-06-18\"}}"

typedef struct Run {
    IoLoop *loop;
    McpPeer *peer;
    McpIdentity identity;
    McpPeerConfig config;
    const char *argv[5];
    McpClientEventKind last; /* the loop stops at this event */
    bool has_come;
    bool is_done;
    char text[2048]; /* of the last event that had one */
    char error[512]; /* of the last MCP_CLIENT_ERROR */
    McpRevision revision;
    int n_results;
    Span arguments; /* that a server must have got; it gives the whole call back */
    int burn_ms;    /* what its owner runs for each event */
} Run;

static void burn(int ms)
{
    struct timespec now;
    int64_t end_ns;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    end_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + (int64_t)ms * 1000000;
    while ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec < end_ns) {
        (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    }
}

static void on_event(void *context, McpPeer *peer, const McpClientEvent *event)
{
    Run *run = context;

    assert_true(run->peer == NULL || run->peer == peer);
    run->revision = event->revision;
    burn(run->burn_ms);
    run->n_results += event->kind == MCP_CLIENT_RESULT;
    if (event->kind == MCP_CLIENT_RESULT && run->arguments.n > 0) {
        JsonValue at = event->value;

        assert_true(json_get(at, SPAN("call"), &at) && json_get(at, SPAN("params"), &at) &&
                    json_get(at, SPAN("arguments"), &at));
        assert_true(span_equals(json_span(at), run->arguments));
    }
    if (event->text.n > 0) {
        (void)snprintf(run->text, sizeof(run->text), "%.*s", (int)event->text.n, event->text.p);
    }
    if (event->kind == MCP_CLIENT_ERROR) {
        (void)snprintf(run->error, sizeof(run->error), "%.*s", (int)event->text.n, event->text.p);
    }
    if (event->kind == run->last) {
        run->has_come = true;
        io_loop_stop(run->loop);
    }
}

static void on_done(void *context)
{
    Run *run = context;

    run->is_done = true;
    /* Where it must be allowed. */
    run->peer = mcp_peer_free(run->peer);
}

static void run_init(Run *run, const char *script)
{
    *run = (Run){.last = MCP_CLIENT_FAILED};
    run->identity = (McpIdentity){.name = SPAN("t"), .version = SPAN("1")};
    run->argv[0] = "sh";
    run->argv[1] = "-c";
    run->argv[2] = script;
    io_ignore_sigpipe();
    assert_int_equal(io_loop_new(&run->loop), 0);
    run->config = (McpPeerConfig){.loop = run->loop,
                                  .argv = script == NULL ? NULL : run->argv,
                                  .client = {.identity = &run->identity,
                                             .legacy_revision = MCP_2025_11_25,
                                             .log_level = CALL_LOG_NONE},
                                  .event = on_event,
                                  .context = run};
}

static void run_start(Run *run)
{
    Diag diag = DIAG_NULL;

    assert_int_equal(mcp_peer_new(&run->peer, &run->config, &diag), 0);
}

static void run_until(Run *run, McpClientEventKind kind)
{
    run->last = kind;
    run->has_come = false;
    assert_int_equal(io_loop_run(run->loop), 0);
    assert_true(run->has_come);
}

static void run_close(Run *run, int64_t grace_ms)
{
    mcp_peer_close(run->peer, grace_ms, on_done, run);
    assert_false(run->is_done);
    assert_int_equal(io_loop_run(run->loop), 0);
    assert_true(run->is_done);
    run->loop = io_loop_free(run->loop);
}

static void modern_child_answers_and_ends_when_its_input_does(void **state)
{
    McpRequestId id = 0;
    Run run;

    (void)state;
    run_init(&run,
             "read probe; " SAY(DISCOVERED) "read list; " SAY(
                 "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[]}}") "cat >/dev/null");
    run_start(&run);
    assert_int_equal(mcp_peer_request(run.peer, SPAN("tools/list"), SPAN_NULL, false, &id), 0);
    run_until(&run, MCP_CLIENT_RESULT);
    assert_int_equal(run.revision, MCP_2026_07_28);
    assert_true(mcp_client_is_ready(mcp_peer_client(run.peer)));
    run_close(&run, 60000);
}

/* More than the wire holds: a part is written at once from where it lies, and the rest later, when
 * that is another's already. */
static void large_arguments_arrive_whole(void **state)
{
    static char lent[700000];
    static char kept[sizeof(lent)];
    McpRequestOptions options = {.arguments = {lent, sizeof(lent)}};
    McpRequestId id = 0;
    Run run;

    (void)state;
    for (size_t i = 0; i < sizeof(lent); i++) {
        lent[i] = (char)('a' + (int)(i * i / 64 % 26));
    }
    lent[0] = lent[sizeof(lent) - 1] = '"';
    memcpy(kept, lent, sizeof(lent));
    run_init(&run, "read probe; " SAY(DISCOVERED) "sed -u 's/.*/{\"jsonrpc\":\"2.0\",\"id\":2,"
                                                  "\"result\":{\"call\":&}}/'");
    run.arguments = span_make(kept, sizeof(kept));
    run_start(&run);
    run_until(&run, MCP_CLIENT_READY);
    assert_int_equal(mcp_peer_request_with(run.peer, SPAN("tools/call"), SPAN("{\"name\":\"x\"}"),
                                           &options, &id),
                     0);
    memset(lent, '?', sizeof(lent));
    run_until(&run, MCP_CLIENT_RESULT);
    assert_int_equal(run.n_results, 1);
    run_close(&run, 1000);
}

static void child_that_dies_on_the_probe_is_restarted(void **state)
{
    char marker[] = "/tmp/toolwire-peer-XXXXXX";
    int fd = mkstemp(marker);
    Run run;

    (void)state;
    assert_true(fd >= 0);
    (void)close(fd);
    /* The shell has the name of the file as $0. */
    run_init(&run,
             "read probe; if [ -e $0 ]; then rm $0; exit 1; fi; " SAY(WELCOME(2)) "cat >/dev/null");
    run.argv[3] = marker;
    run_start(&run);
    run_until(&run, MCP_CLIENT_READY);
    assert_int_equal(run.revision, MCP_2025_06_18);
    run_close(&run, 60000);
}

static void child_that_cannot_be_started_is_explained(void **state)
{
    Diag diag = DIAG_NULL;
    Run run;

    (void)state;
    run_init(&run, "");
    run.argv[0] = "toolwire-no-such-program";
    assert_int_equal(mcp_peer_new(&run.peer, &run.config, &diag), MCP_PEER_E_CANNOT_START);
    assert_non_null(strstr(diag.message, "toolwire-no-such-program"));
    run.loop = io_loop_free(run.loop);
}

static void reason_of_the_end_has_status_and_last_words(void **state)
{
    McpRequestId id = 0;
    Run run;

    (void)state;
    run_init(&run, "echo first >&2; printf 'no licence' >&2; exit 3");
    run.config.client.mode = MCP_CLIENT_LEGACY;
    run_start(&run);
    assert_int_equal(mcp_peer_request(run.peer, SPAN("tools/list"), SPAN_NULL, false, &id), 0);
    run_until(&run, MCP_CLIENT_FAILED);
    assert_string_equal(run.text, "the server ended before it had answered (exit status 3); "
                                  "it said: first\nno licence");
    assert_int_equal(mcp_peer_request(run.peer, SPAN("x"), SPAN_NULL, false, &id),
                     MCP_CLIENT_E_ENDED);
    run_close(&run, 60000);
}

/* Of a flood, whole lines; they are not cut apart either where one reading ends. */
static void last_words_of_many_are_the_last_lines(void **state)
{
    Run run;

    (void)state;
    run_init(&run, "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo line $i; done >&2; "
                   "echo the very last >&2; exit 3");
    run.config.client.mode = MCP_CLIENT_LEGACY;
    run_start(&run);
    run_until(&run, MCP_CLIENT_FAILED);
    assert_non_null(strstr(run.text, "; it said: line 2"));
    assert_non_null(strstr(run.text, "\nline 2999\nline 3000\nthe very last"));
    assert_null(strstr(run.text, "line 2800\n"));
    run_close(&run, 60000);
}

static void output_that_ends_before_the_process_counts_as_the_end(void **state)
{
    Run run;

    (void)state;
    run_init(&run, "exec >&- 2>&-; cat >/dev/null");
    run.config.client.mode = MCP_CLIENT_MODERN;
    run_start(&run);
    run_until(&run, MCP_CLIENT_FAILED);
    assert_string_equal(run.text, "the server ended before it had answered");
    run_close(&run, 60000);
}

static void nothing_but_stray_lines_is_the_end(void **state)
{
    Run run;

    (void)state;
    run_init(&run, "exec yes 'listening soon'");
    run_start(&run);
    run_until(&run, MCP_CLIENT_FAILED);
    assert_string_equal(run.text, "the server writes what is no message, and nothing else");
    run_close(&run, 0);
}

static void stray_lines_are_skipped(void **state)
{
    Run run;

    (void)state;
    run_init(&run, "read probe; echo Listening; echo; " SAY(DISCOVERED) "cat >/dev/null");
    run_start(&run);
    run_until(&run, MCP_CLIENT_READY);
    assert_int_equal(mcp_client_n_skipped(mcp_peer_client(run.peer)), 1);
    run_close(&run, 60000);
}

/* What the peer logged. */
static void on_log(void *context, const char *line, size_t n)
{
    assert_int_equal(bytes_append(context, line, n), 0);
}

static int64_t at_the_beginning(void *context)
{
    (void)context;
    return 0;
}

static void only_some_of_many_stray_lines_are_told(void **state)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    LogSink log = {.level = LOGSINK_LEVEL_WARN,
                   .write_fn = on_log,
                   .now_fn = at_the_beginning,
                   .context = &text};
    Run run;

    (void)state;
    bytes_init(&text, 65536);
    run_init(&run, "read probe; i=0; while [ $i -lt 9 ]; do i=$((i + 1)); echo line $i; "
                   "echo '{}'; done; " SAY(DISCOVERED) "cat >/dev/null");
    run.config.log = &log;
    run_start(&run);
    run_until(&run, MCP_CLIENT_READY);
    assert_int_equal(mcp_client_n_skipped(mcp_peer_client(run.peer)), 18);
    assert_int_equal(bytes_append_byte(&text, '\0'), 0);
#define TOLD "1970-01-01T00:00:00.000Z warn  mcp: skipped what the server wrote"
    assert_string_equal(text.data,
                        TOLD ": line 1\n" TOLD " (2 times so far): line 2\n" TOLD
                             " (4 times so far): line 4\n" TOLD " (8 times so far): line 8\n");
#undef TOLD
    run_close(&run, 60000);
}

/* A line of more than a thousand bytes, in pieces. */
#define LONG "i=0; while [ $i -lt 200 ]; do i=$((i + 1)); printf aaaaaaaaaa; done; "

static void long_run(const char *script, const char *text, unsigned n_skipped)
{
    McpRequestId id = 0;
    Run run;

    run_init(&run, script);
    run.config.client.max_message_bytes = 1000;
    run_start(&run);
    run_until(&run, MCP_CLIENT_READY);
    assert_int_equal(mcp_peer_request(run.peer, SPAN("tools/list"), SPAN_NULL, false, &id), 0);
    run_until(&run, text == NULL ? MCP_CLIENT_RESULT : MCP_CLIENT_ERROR);
    if (text != NULL) {
        assert_string_equal(run.text, text);
    }
    assert_int_equal(mcp_client_n_skipped(mcp_peer_client(run.peer)), n_skipped);
    run_close(&run, 60000);
}

static void answer_that_is_too_long_is_not_waited_for(void **state)
{
    (void)state;
    long_run("read probe; " SAY(DISCOVERED) "read list; printf '\\n \\n"
                                            " {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"'; " LONG
                                            "cat >/dev/null",
             "the server's answer is longer than allowed", 0);
    long_run("read probe; " SAY(DISCOVERED) "read list; printf '{\"result\":\"'; " LONG
                                            "cat >/dev/null",
             "a message of the server is longer than allowed, and may have been the answer", 0);
}

static void long_line_that_is_no_answer_is_skipped(void **state)
{
    (void)state;
    /* The second begins in the middle of what is read while the first is dropped. */
    long_run(
        "read probe; " SAY(
            DISCOVERED) "read list; " LONG
                        "printf '\\n{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":\"'; " LONG
                        "echo; " SAY(
                            "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}") "cat >/dev/null",
        NULL, 2);
}

/* Whose message breaks off is told that the server ended, which is the reason of it. */
static void message_that_breaks_off_with_the_server_is_not_blamed(void **state)
{
    McpRequestId id = 0;
    Run run;

    (void)state;
    run_init(&run, "read probe; " SAY(
                       DISCOVERED) "read list; "
                                   "printf '{\"jsonrpc\":\"2.0\",\"id\":2,\"resu'; exit 4");
    run_start(&run);
    assert_int_equal(mcp_peer_request(run.peer, SPAN("tools/list"), SPAN_NULL, false, &id), 0);
    run_until(&run, MCP_CLIENT_FAILED);
    assert_string_equal(run.text, "the server ended (exit status 4)");
    assert_string_equal(run.error, "the session with the server ended");
    run_close(&run, 60000);
}

static void child_that_does_not_go_is_ended(void **state)
{
    Run run;

    (void)state;
    run_init(&run, "read probe; " SAY(DISCOVERED) "exec sleep 1000");
    run_start(&run);
    run_until(&run, MCP_CLIENT_READY);
    run_close(&run, 1);
}

/* The time of a request is also that of the probe and of `initialize`. */
static void silent_server_times_out(void **state)
{
    McpRequestId id = 0;
    Run run;

    (void)state;
    run_init(&run, "cat >/dev/null");
    run.config.client.request_timeout_ms = 1;
    run_start(&run);
    assert_int_equal(mcp_peer_request(run.peer, SPAN("tools/list"), SPAN_NULL, false, &id), 0);
    run_until(&run, MCP_CLIENT_FAILED);
    assert_string_equal(run.text, "the server did not answer initialize in time");
    run_close(&run, 60000);
}

static void cancelled_request_ends_in_the_next_turn(void **state)
{
    McpRequestId id = 0;
    Run run;

    (void)state;
    run_init(&run, "cat >/dev/null");
    run_start(&run);
    assert_int_equal(mcp_peer_request(run.peer, SPAN("tools/list"), SPAN_NULL, false, &id), 0);
    mcp_peer_cancel(run.peer, id, SPAN_NULL);
    run_until(&run, MCP_CLIENT_ERROR);
    assert_string_equal(run.text, "the request was cancelled");
    run_close(&run, 60000);
}

static void freeing_ends_everything_at_once(void **state)
{
    Run run;

    (void)state;
    run_init(&run, "cat >/dev/null");
    run_start(&run);
    run.peer = mcp_peer_free(run.peer);
    run.loop = io_loop_free(run.loop);
}

static void socket_is_a_server_too(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/toolwire-peer-XXXXXX";
    const char *answer = DISCOVERED "\n";
    char probe[512];
    McpWatch watch;
    Run run;
    ssize_t n;
    int listener;
    int fd;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 1), 0);
    run_init(&run, NULL);
    run.config.socket_path = address.sun_path;
    run_start(&run);
    fd = accept(listener, NULL, NULL);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, answer, strlen(answer)), strlen(answer));
    run_until(&run, MCP_CLIENT_READY);
    n = read(fd, probe, sizeof(probe));
    assert_true(n > 0);
    mcp_watch_init(&watch, MCP_WATCH_CLIENT);
    mcp_watch_client_sends(&watch, probe, (size_t)n);
    assert_true(watch.ours == 0 || watch.n_checked == 1);
    mcp_watch_deinit(&watch);
    /* It does not close its side: after the grace we do. */
    run_close(&run, 1);
    (void)close(fd);
    (void)close(listener);
    (void)unlink(address.sun_path);
    (void)rmdir(folder);
}

/* Whose a socket is says who listens: here for a moment a stranger, who needs nothing else. */
static void a_socket_of_another_user_is_not_used_where_it_must_be_ours(void **state)
{
    enum {
        STRANGER = 65533
    };
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char folder[] = "/tmp/tw-peer-XXXXXX";
    Diag diag = DIAG_NULL;
    char wanted[200];
    Run run;
    int listener;

    (void)state;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s/s", folder);
    listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(listener, 4), 0);
    run_init(&run, NULL);
    run.config.socket_path = address.sun_path;
    run.config.is_own = true;
    run_start(&run);
    run.peer = mcp_peer_free(run.peer);
    if (geteuid() == 0) {
        assert_int_equal(seteuid(STRANGER), 0);
        assert_int_equal(listen(listener, 4), 0);
        assert_int_equal(seteuid(0), 0);
        assert_int_equal(mcp_peer_new(&run.peer, &run.config, &diag), MCP_PEER_E_CANNOT_START);
        (void)snprintf(wanted, sizeof(wanted), "%s is served by another user", address.sun_path);
        assert_string_equal(diag.message, wanted);
        run.config.is_own = false;
        run_start(&run);
        run.peer = mcp_peer_free(run.peer);
    }
    run.loop = io_loop_free(run.loop);
    (void)close(listener);
    (void)unlink(address.sun_path);
    (void)rmdir(folder);
}

static void socket_that_is_not_there_is_explained(void **state)
{
    char long_path[200];
    Diag diag = DIAG_NULL;
    Run run;

    (void)state;
    run_init(&run, NULL);
    run.config.socket_path = "/nonexistent/toolwire.sock";
    assert_int_equal(mcp_peer_new(&run.peer, &run.config, &diag), MCP_PEER_E_CANNOT_START);
    assert_string_equal(diag.message, "cannot connect to /nonexistent/toolwire.sock: "
                                      "No such file or directory");
    memset(long_path, 'x', sizeof(long_path) - 1);
    long_path[sizeof(long_path) - 1] = '\0';
    run.config.socket_path = long_path;
    assert_int_equal(mcp_peer_new(&run.peer, &run.config, &diag), MCP_PEER_E_CANNOT_START);
    assert_non_null(strstr(diag.message, "longer than"));
    run.loop = io_loop_free(run.loop);
}

/* ---- turns that take too long ---- */

#define NOTE    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}"
#define N_NOTES 2000
#define TURN_MS 40

/* The owner runs for a while with each message, and there are thousands: the others wait. */
static void run_overdue(Run *run)
{
    run->config.name = "slow";
    run->burn_ms = 10;
    assert_int_equal(io_watchdog_start(run->loop, &(IoWatchdogConfig){.turn_ms = TURN_MS}), 0);
    run_start(run);
    run_until(run, MCP_CLIENT_FAILED);
    assert_string_equal(run->text, "what the server sent kept everybody waiting for too long");
    run->burn_ms = 0;
    run_close(run, 0);
}

static void a_child_whose_turn_takes_too_long_is_ended(void **state)
{
    Run run;

    (void)state;
    run_init(&run, "read a; " SAY(DISCOVERED) "i=0; while [ $i -lt 2000 ]; do echo '" NOTE
                                              "'; i=$((i+1)); done; read a");
    run_overdue(&run);
}

/* One that answers every request with a stream of notifications, which it does not end. */
static void serve_notes(int listener)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
                               "data: " DISCOVERED "\n\n";
    static const char note[] = "data: " NOTE "\n\n";
    char request[8192];

    for (;;) {
        int fd = accept(listener, NULL, NULL);

        if (fd < 0 || read(fd, request, sizeof(request)) <= 0) {
            _exit(1);
        }
        (void)!write(fd, head, sizeof(head) - 1);
        for (int i = 0; i < N_NOTES; i++) {
            (void)!write(fd, note, sizeof(note) - 1);
        }
    }
}

static void a_server_over_http_whose_turn_takes_too_long_is_ended(void **state)
{
    struct sockaddr_in place = {.sin_family = AF_INET,
                                .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(place);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int status;
    char url[64];
    pid_t server;
    Run run;

    (void)state;
    assert_true(listener >= 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&place, sizeof(place)), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&place, &n), 0);
    server = fork();
    assert_true(server >= 0);
    if (server == 0) {
        serve_notes(listener);
    }
    (void)close(listener);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/", (unsigned)ntohs(place.sin_port));
    run_init(&run, NULL);
    run.config.url = url;
    run.config.client.mode = MCP_CLIENT_MODERN;
    run_overdue(&run);
    assert_int_equal(kill(server, SIGKILL), 0);
    assert_int_equal(waitpid(server, &status, 0), server);
}

static int start_and_free(void *context)
{
    Run *run = context;
    Diag diag = DIAG_NULL;
    int r = mcp_peer_new(&run->peer, &run->config, &diag);

    run->peer = mcp_peer_free(r == 0 ? run->peer : NULL);
    return r;
}

static int loop_start_and_free(void *context)
{
    Run *run = context;
    int r = io_loop_new(&run->config.loop);

    if (r == 0) {
        run->peer = NULL;
        r = start_and_free(run);
        run->config.loop = io_loop_free(run->config.loop);
    }
    return r;
}

static void every_failing_allocation_is_survived(void **state)
{
    Run run;

    (void)state;
    run_init(&run, "cat >/dev/null");
    run.loop = io_loop_free(run.loop);
    test_oom_sweep(loop_start_and_free, &run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modern_child_answers_and_ends_when_its_input_does),
        cmocka_unit_test(large_arguments_arrive_whole),
        cmocka_unit_test(child_that_dies_on_the_probe_is_restarted),
        cmocka_unit_test(child_that_cannot_be_started_is_explained),
        cmocka_unit_test(reason_of_the_end_has_status_and_last_words),
        cmocka_unit_test(last_words_of_many_are_the_last_lines),
        cmocka_unit_test(output_that_ends_before_the_process_counts_as_the_end),
        cmocka_unit_test(nothing_but_stray_lines_is_the_end),
        cmocka_unit_test(stray_lines_are_skipped),
        cmocka_unit_test(only_some_of_many_stray_lines_are_told),
        cmocka_unit_test(answer_that_is_too_long_is_not_waited_for),
        cmocka_unit_test(long_line_that_is_no_answer_is_skipped),
        cmocka_unit_test(message_that_breaks_off_with_the_server_is_not_blamed),
        cmocka_unit_test(child_that_does_not_go_is_ended),
        cmocka_unit_test(silent_server_times_out),
        cmocka_unit_test(cancelled_request_ends_in_the_next_turn),
        cmocka_unit_test(freeing_ends_everything_at_once),
        cmocka_unit_test(socket_is_a_server_too),
        cmocka_unit_test(a_socket_of_another_user_is_not_used_where_it_must_be_ours),
        cmocka_unit_test(socket_that_is_not_there_is_explained),
        cmocka_unit_test(a_child_whose_turn_takes_too_long_is_ended),
        cmocka_unit_test(a_server_over_http_whose_turn_takes_too_long_is_ended),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
