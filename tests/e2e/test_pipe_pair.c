/* `toolwire serve --pipe` and `toolwire addin`, joined: calls, and what each does when the other
 * dies, comes back, or falls silent.
 *
 *     test_pipe_pair TOOLWIRE
 */
#include "e2e/peer.h"
#include "e2e/pipe_peer.h"

#include "support/cmocka.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *program;

#define HANG_MS 60000 /* only ends a test that would hang */

/* One that gives its arguments back, one that fails, and one that may take an hour, and says the
 * line that comes through the FIFO `gate` beside the file. */
#define COMMANDS                                                                                   \
    "[{\"name\":\"app.same\",\"description\":\"Gives them back.\",\"input_schema\":{\"type\":"     \
    "\"object\"},\"output_schema\":{\"type\":\"object\"},\"command\":[\"cat\"]},"                  \
    "{\"name\":\"app.broken\",\"description\":\"Fails.\",\"input_schema\":{\"type\":\"object\"},"  \
    "\"command\":[\"sh\",\"-c\",\"echo it broke >&2; exit 3\"]},"                                  \
    "{\"name\":\"app.long\",\"description\":\"Waits.\",\"input_schema\":{\"type\":\"object\"},"    \
    "\"timeout_ms\":3600000,\"cwd\":\".\",\"command\":[\"sh\",\"-c\",\"read line <gate; echo "     \
    "$line\"]}]"
#define OFFERED "app.same app.broken app.long echo sleep fail "

/* ---- the add-in's process ---- */

typedef struct AddinProcess {
    pid_t pid;
    int err; /* its stderr, where it says how it fares */
} AddinProcess;

static void process_start(AddinProcess *process, const PipeHubProcess *hub)
{
    const char *const arguments[] = {
        program,         "addin",      "--pipe", PIPE_NAME,        "--tools", hub->tools,
        "--diagnostics", "--retry-ms", "50ms",   "--retry-max-ms", "200ms",   NULL,
    };
    pid_t tester = getpid();
    int err[2];

    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    process->pid = fork();
    assert_true(process->pid >= 0);
    if (process->pid == 0) {
        /* It goes with the test, also with one that fails. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == tester && dup2(err[1], 2) == 2) {
            (void)execv(program, (char *const *)(uintptr_t)arguments);
        }
        _exit(127);
    }
    (void)close(err[1]);
    process->err = err[0];
}

/* Reads what it says up to a line with these words. */
static void process_await(AddinProcess *process, const char *words)
{
    char line[1024];
    size_t n = 0;

    for (;;) {
        struct pollfd ready = {.fd = process->err, .events = POLLIN};

        assert_true(n + 1 < sizeof(line));
        if (poll(&ready, 1, HANG_MS) != 1 || read(process->err, line + n, 1) != 1) {
            fail_msg("it did not say: %s", words);
        }
        if (line[n++] != '\n') {
            continue;
        }
        line[n] = '\0';
        if (strstr(line, words) != NULL) {
            return;
        }
        n = 0;
    }
}

/* Sends the signal and waits: exit status, or -signal. */
static int process_stop(AddinProcess *process, int signum)
{
    int status;

    assert_int_equal(kill(process->pid, signum), 0);
    status = peer_wait(process->pid);
    (void)close(process->err);
    *process = (AddinProcess){.pid = -1, .err = -1};
    return status;
}

/* ---- both ---- */

typedef struct Fixture {
    PipeHubProcess hub;
    AddinProcess addin;
} Fixture;

static void fixture_init(Fixture *f, const char *const *flags)
{
    hub_init(&f->hub, program);
    hub_write_file(f->hub.tools, COMMANDS);
    hub_serve(&f->hub, flags);
    process_start(&f->addin, &f->hub);
    process_await(&f->addin, "Connected");
    hub_await_tools_changed(&f->hub);
}

static void expect_served(Fixture *f)
{
    hub_send(&f->hub, CALL("7", "app.same", "{\"height\":3.0,\"unit\":\"ft\"}"));
    hub_expect_result(&f->hub, 7, "{\"height\":3.0,\"unit\":\"ft\"}", NULL);
}

static void fixture_deinit(Fixture *f)
{
    expect_served(f);
    assert_int_equal(process_stop(&f->addin, SIGTERM), 0);
    hub_await_tools_changed(&f->hub);
    hub_expect_tools(&f->hub, "");
    hub_end(&f->hub);
    hub_deinit(&f->hub);
}

/* The answer to that request: this text as content, and nothing structured. */
static void expect_text(Fixture *f, int id, const char *text)
{
    char *line = hub_answer(&f->hub);
    char wanted[160];

    (void)snprintf(wanted, sizeof(wanted),
                   "\"id\":%d,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]", id,
                   text);
    if (strstr(line, wanted) == NULL || strstr(line, "structuredContent") != NULL) {
        fail_msg("wanted: %s\n   got: %.2000s", wanted, line);
    }
    free(line);
}

static void calls_run_in_the_add_in(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    hub_expect_tools(&f.hub, OFFERED);
    expect_served(&f);
    hub_send(&f.hub, MODERN_CALL("1", "app.same", "{\"n\":[1,2.50]}"));
    hub_expect_result(&f.hub, 1, "{\"n\":[1,2.50]}", NULL);
    hub_send(&f.hub, CALL("2", "echo", "{\"message\":\"m\"}"));
    expect_text(&f, 2, "m");
    hub_send(&f.hub, CALL("3", "app.broken", "{}"));
    hub_expect_failure(&f.hub, 3, "HANDLER_ERROR", "it broke");
    hub_send(&f.hub, CALL("4", "echo", "{\"message\":4}"));
    hub_expect_failure(&f.hub, 4, "SCHEMA_VALIDATION_FAILED", "message");
    fixture_deinit(&f);
}

static void calls_run_side_by_side(void **state)
{
    char *line;
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    hub_send(&f.hub, CALL("1", "sleep", "{\"ms\":600000}"));
    for (int i = 0; i < 5; i++) {
        expect_served(&f);
    }
    /* Taken back, it is dropped; its answer would be for nobody. */
    hub_send(&f.hub, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                     "\"requestId\":1}}");
    hub_send(&f.hub, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
    line = hub_answer(&f.hub);
    assert_non_null(strstr(line, "\"id\":2"));
    free(line);
    expect_served(&f);
    assert_int_equal(process_stop(&f.addin, SIGKILL), -SIGKILL);
    hub_await_tools_changed(&f.hub);
    hub_end(&f.hub);
    hub_deinit(&f.hub);
}

/* Without its own time the first call would have ended before the second, which began later. */
static void a_tools_own_time_is_the_hubs_too(void **state)
{
    static const char *const flags[] = {"--call-timeout-ms", "1s", NULL};
    char gate[96];
    Fixture f;
    int fd;

    (void)state;
    fixture_init(&f, flags);
    (void)snprintf(gate, sizeof(gate), "%s/gate", f.hub.folder);
    assert_int_equal(mkfifo(gate, 0600), 0);
    hub_send(&f.hub, CALL("1", "app.long", "{}"));
    fd = open(gate, O_WRONLY | O_CLOEXEC); /* waits until the command runs */
    assert_true(fd >= 0);
    hub_send(&f.hub, CALL("2", "sleep", "{\"ms\":600000}"));
    hub_expect_failure(&f.hub, 2, "PIPE_TIMEOUT", "");
    assert_int_equal(write(fd, "done\n", 5), 5);
    assert_int_equal(close(fd), 0);
    expect_text(&f, 1, "done");
    assert_int_equal(unlink(gate), 0);
    fixture_deinit(&f);
}

/* Progress comes from the tool to the client, and a cancel from the client to the command. */
static void progress_and_cancelling_pass_both(void **state)
{
    char gate[96];
    char *line;
    Fixture f;
    int fd;

    (void)state;
    fixture_init(&f, NULL);
    hub_send(&f.hub, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                     "\"sleep\",\"arguments\":{\"ms\":500},\"_meta\":{\"progressToken\":\"t\"}}}");
    line = hub_answer(&f.hub);
    if (strstr(line, "notifications/progress") == NULL || strstr(line, "\"total\":500") == NULL) {
        fail_msg("got: %s", line);
    }
    while (strstr(line, "notifications/progress") != NULL) {
        free(line);
        line = hub_answer(&f.hub);
    }
    assert_non_null(strstr(line, "slept 500 ms"));
    free(line);
    (void)snprintf(gate, sizeof(gate), "%s/gate", f.hub.folder);
    assert_int_equal(mkfifo(gate, 0600), 0);
    hub_send(&f.hub, CALL("2", "app.long", "{}"));
    fd = open(gate, O_WRONLY | O_CLOEXEC); /* waits until the command runs */
    assert_true(fd >= 0);
    hub_send(&f.hub, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                     "\"requestId\":2}}");
    {
        struct pollfd reader = {.fd = fd}; /* nobody reads any more */

        assert_int_equal(poll(&reader, 1, HANG_MS), 1);
        assert_int_equal(reader.revents & POLLERR, POLLERR);
    }
    assert_int_equal(close(fd), 0);
    assert_int_equal(unlink(gate), 0);
    fixture_deinit(&f);
}

static void an_add_in_waits_for_its_hub(void **state)
{
    Fixture f;

    (void)state;
    hub_init(&f.hub, program);
    hub_write_file(f.hub.tools, COMMANDS);
    process_start(&f.addin, &f.hub);
    process_await(&f.addin, "Connecting...");
    process_await(&f.addin, "Reconnecting in 50ms");
    process_await(&f.addin, "Reconnecting in 100ms");
    process_await(&f.addin, "Reconnecting in 200ms");
    process_await(&f.addin, "Reconnecting in 200ms");
    hub_serve(&f.hub, NULL);
    process_await(&f.addin, "Connected");
    hub_await_tools_changed(&f.hub);
    fixture_deinit(&f);
}

static void an_add_in_that_is_killed_fails_its_calls_and_can_come_back(void **state)
{
    static const char *const flags[] = {"--call-timeout-ms", "1h", NULL};
    Fixture f;

    (void)state;
    fixture_init(&f, flags);
    for (int i = 0; i < 3; i++) {
        hub_send(&f.hub, CALL("1", "sleep", "{\"ms\":600000}"));
        hub_send(&f.hub, MODERN_CALL("2", "sleep", "{\"ms\":600000}"));
        expect_served(&f); /* so it has the others */
        assert_int_equal(process_stop(&f.addin, SIGKILL), -SIGKILL);
        hub_expect_failure(&f.hub, 1, "PIPE_DISCONNECTED", "");
        hub_expect_failure(&f.hub, 2, "PIPE_DISCONNECTED", "");
        hub_await_tools_changed(&f.hub);
        process_start(&f.addin, &f.hub);
        hub_await_tools_changed(&f.hub);
        expect_served(&f);
    }
    fixture_deinit(&f);
}

static void an_add_in_finds_a_hub_that_comes_back(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    for (int i = 0; i < 3; i++) {
        expect_served(&f);
        assert_int_equal(kill(f.hub.client.pid, SIGKILL), 0);
        hub_reap_killed(&f.hub);
        process_await(&f.addin, "Disconnected");
        process_await(&f.addin, "Reconnecting in 50ms"); /* from the start, after a success */
        hub_serve(&f.hub, NULL);
        process_await(&f.addin, "Connected");
        hub_await_tools_changed(&f.hub);
    }
    /* And one that ends well. */
    hub_end(&f.hub);
    process_await(&f.addin, "Disconnected");
    hub_serve(&f.hub, NULL);
    process_await(&f.addin, "Connected");
    hub_await_tools_changed(&f.hub);
    fixture_deinit(&f);
}

static void an_add_in_that_hangs_is_found_dead_and_comes_back(void **state)
{
    static const char *const flags[] = {"--ping-interval-ms", "100", "--pong-timeout-ms", "1s",
                                        NULL};
    Fixture f;

    (void)state;
    fixture_init(&f, flags);
    expect_served(&f);
    assert_int_equal(kill(f.addin.pid, SIGSTOP), 0);
    hub_await_tools_changed(&f.hub);
    hub_expect_tools(&f.hub, "");
    assert_int_equal(kill(f.addin.pid, SIGCONT), 0);
    process_await(&f.addin, "Disconnected");
    process_await(&f.addin, "Connected");
    hub_await_tools_changed(&f.hub);
    fixture_deinit(&f);
}

static void an_add_in_lets_its_calls_finish(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f, NULL);
    hub_send(&f.hub, CALL("1", "sleep", "{\"ms\":300}"));
    expect_served(&f); /* so it has the other */
    assert_int_equal(process_stop(&f.addin, SIGTERM), 0);
    expect_text(&f, 1, "slept 300 ms");
    hub_await_tools_changed(&f.hub);
    hub_end(&f.hub);
    hub_deinit(&f.hub);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_run_in_the_add_in),
        cmocka_unit_test(calls_run_side_by_side),
        cmocka_unit_test(a_tools_own_time_is_the_hubs_too),
        cmocka_unit_test(progress_and_cancelling_pass_both),
        cmocka_unit_test(an_add_in_waits_for_its_hub),
        cmocka_unit_test(an_add_in_that_is_killed_fails_its_calls_and_can_come_back),
        cmocka_unit_test(an_add_in_finds_a_hub_that_comes_back),
        cmocka_unit_test(an_add_in_that_hangs_is_found_dead_and_comes_back),
        cmocka_unit_test(an_add_in_lets_its_calls_finish),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_pipe_pair TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
