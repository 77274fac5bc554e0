/* Agents that are started, asked, lost, started again and ended. They are shell scripts, which read
 * lines and print others. */
#include "app/agent_client.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/limits.h"
#include "support/oom_sweep.h"

#define SAY(json) "printf '%s\\n' '" json "'; "
#define READY     SAY("{\"type\":\"ready\",\"version\":\"1.0.0\",\"timestamp\":1}")
#define READY_INTERRUPT                                                                            \
    SAY("{\"type\":\"ready\",\"capabilities\":[\"streaming\",\"interrupt\"],\"timestamp\":1}")

typedef struct Run {
    IoLoop *loop;
    AgentClient *client;
    AgentClientConfig config;
    LogSink log;
    const char *argv[5];
    Bytes heard; /* a line for each event */
    Bytes logged;
    size_t n_left; /* the loop stops after so many events */
    bool is_done;
} Run;

static void on_log(void *context, const char *line, size_t n)
{
    Run *run = context;

    assert_int_equal(bytes_append(&run->logged, line, n), 0);
}

static void hear(Run *run, const char *name, Span id, Span text)
{
    assert_int_equal(bytes_append_format(&run->heard, "%s %.*s %.*s\n", name, (int)id.n,
                                         id.n > 0 ? id.p : "", (int)text.n,
                                         text.n > 0 ? text.p : ""),
                     0);
    if (--run->n_left == 0) {
        io_loop_stop(run->loop);
    }
}

static void on_event(void *context, const AgentShellEvent *event, Span line)
{
    static const char *const names[] = {
        [AGENT_SHELL_READY] = "ready", [AGENT_SHELL_RESPONSE] = "response",
        [AGENT_SHELL_END] = "end",     [AGENT_SHELL_TIMEOUT] = "timeout",
        [AGENT_SHELL_LOST] = "lost",   [AGENT_SHELL_UNASKED] = "unasked",
        [AGENT_SHELL_NOISE] = "noise",
    };
    bool is_token = event->kind == AGENT_SHELL_RESPONSE;

    (void)line;
    hear(context, names[event->kind], event->id, is_token ? event->response.token : event->text);
}

static void on_ended(void *context, const AgentClientEnd *end)
{
    char text[600];

    (void)snprintf(text, sizeof(text), "%s, %s, %lld", end->words,
                   end->was_ready ? "ready" : "not ready", (long long)end->restart_in_ms);
    hear(context, "ended", SPAN_NULL, span_from_str(text));
}

static void on_done(void *context)
{
    Run *run = context;

    run->is_done = true;
    /* Where it must be allowed. */
    run->client = agent_client_free(run->client);
}

static void run_init(Run *run, const char *script)
{
    *run = (Run){.argv = {"sh", "-c", script}};
    run->log = (LogSink){.level = LOGSINK_LEVEL_WARN, .write_fn = on_log, .context = run};
    io_ignore_sigpipe();
    bytes_init(&run->heard, (size_t)1 << 20);
    bytes_init(&run->logged, (size_t)1 << 20);
    assert_int_equal(io_loop_new(&run->loop), 0);
    run->config = (AgentClientConfig){.loop = run->loop,
                                      .argv = run->argv,
                                      .restart_ms = 1,
                                      .log = &run->log,
                                      .event = on_event,
                                      .ended = on_ended,
                                      .context = run};
}

static void run_start(Run *run)
{
    assert_int_equal(agent_client_new(&run->client, &run->config, NULL), 0);
}

static void run_ask(Run *run, const char *id, const char *message)
{
    AgentRequest request = {.kind = AGENT_KIND_USER_MESSAGE,
                            .id = span_from_str(id),
                            .message = span_from_str(message)};

    assert_int_equal(agent_client_request(run->client, &request, NULL), 0);
}

/* Runs until so many events have come, which must be these. */
static void run_until(Run *run, size_t n, const char *expected)
{
    bytes_clear(&run->heard);
    run->n_left = n;
    assert_int_equal(io_loop_run(run->loop), 0);
    assert_int_equal(bytes_append_byte(&run->heard, '\0'), 0);
    assert_string_equal(run->heard.data, expected);
}

static void run_close(Run *run, int64_t grace_ms)
{
    agent_client_close(run->client, grace_ms, on_done, run);
    assert_false(run->is_done);
    assert_int_equal(io_loop_run(run->loop), 0);
    assert_true(run->is_done);
    run->loop = io_loop_free(run->loop);
    bytes_deinit(&run->heard);
    bytes_deinit(&run->logged);
}

static void answers_stream_and_correlate_and_the_agent_ends_with_its_input(void **state)
{
    Run run;

    (void)state;
    run_init(&run,
             READY "read a; read b; " SAY("{\"type\":\"token\",\"id\":\"b\",\"token\":\"x\"}")
                 SAY("{\"type\":\"done\",\"id\":\"b\"}")
                     SAY("{\"type\":\"error\",\"id\":\"a\",\"error\":\"e\"}") "cat >/dev/null");
    run_start(&run);
    run_ask(&run, "a", "one");
    run_ask(&run, "b", "two");
    run_until(&run, 4, "ready  \nresponse b x\nend b \nend a \n");
    assert_true(agent_client_is_ready(run.client));
    assert_int_equal(agent_client_n_open(run.client), 0);
    run_close(&run, 60000);
}

static void what_the_agent_gets_is_the_line(void **state)
{
    Run run;

    (void)state;
    run_init(&run, "read -r a; case $a in '{\"id\":\"a\",\"kind\":\"user_message\",\"message\":"
                   "\"two\\nlines\"}') " SAY("{\"type\":\"done\",\"id\":\"a\"}") ";; esac; cat");
    run_start(&run);
    run_ask(&run, "a", "two\nlines");
    run_until(&run, 1, "end a \n");
    run_close(&run, 60000);
}

static void noise_is_skipped_and_logged_without_escapes(void **state)
{
    Run run;

    (void)state;
    run_init(&run, "printf '\\033[31mhot\\033[0m\\n'; printf 'no newline, then '; "
                   "printf 'more\\n\\377\\n'; " READY "cat >/dev/null");
    run_start(&run);
    run_until(&run, 4, "noise  hot\nnoise  no newline, then more\nnoise  ?\nready  \n");
    assert_int_equal(bytes_append_byte(&run.logged, '\0'), 0);
    assert_non_null(strstr(run.logged.data, "skipped what the agent wrote: hot\n"));
    assert_non_null(strstr(run.logged.data, "(2 times so far): no newline, then more\n"));
    assert_null(strchr(run.logged.data, '\033'));
    run_close(&run, 60000);
}

static void a_line_without_end_is_dropped_and_the_next_one_is_read(void **state)
{
    Run run;

    (void)state;
    run_init(&run, "head -c 10485761 /dev/zero | tr '\\0' x; echo; " READY "cat >/dev/null");
    run_start(&run);
    run_until(&run, 2, "noise  (a line that is longer than 10 MiB)\nready  \n");
    assert_int_equal(bytes_append_byte(&run.logged, '\0'), 0);
    assert_non_null(
        strstr(run.logged.data, "skipped a line of the agent that is longer than 10485760 bytes"));
    run_close(&run, 60000);
}

static void a_dead_agent_is_started_again_and_its_requests_are_over(void **state)
{
    Run run;

    (void)state;
    run_init(&run, READY "read a; exit 3");
    run_start(&run);
    run_ask(&run, "a", "one");
    run_until(&run, 3,
              "ready  \nlost a the agent ended (exit status 3)\n"
              "ended  the agent ended (exit status 3), ready, 1\n");
    /* What is asked while there is none waits for the next; and the wait doubles, since none has
     * answered anything. */
    run_ask(&run, "b", "two");
    run_until(&run, 3,
              "ready  \nlost b the agent ended (exit status 3)\n"
              "ended  the agent ended (exit status 3), ready, 2\n");
    run_until(&run, 1, "ready  \n");
    run_close(&run, 60000);
}

static void an_answer_makes_the_wait_short_again(void **state)
{
    Run run;

    (void)state;
    run_init(&run, "read a || exit 1; " SAY("{\"type\":\"done\",\"id\":\"a\"}") "exit 4");
    run_start(&run);
    run_ask(&run, "a", "one");
    run_until(&run, 2, "end a \nended  the agent ended (exit status 4), not ready, 1\n");
    run_ask(&run, "a", "two");
    run_until(&run, 2, "end a \nended  the agent ended (exit status 4), not ready, 1\n");
    run_close(&run, 60000);
}

static void one_that_is_once_stays_dead(void **state)
{
    AgentRequest request = {.kind = AGENT_KIND_GET_STATUS, .id = SPAN("a")};
    Run run;

    (void)state;
    run_init(&run, "kill -9 $$");
    run.config.is_once = true;
    run_start(&run);
    run_until(&run, 1, "ended  the agent ended (signal 9), not ready, -1\n");
    assert_int_equal(agent_client_request(run.client, &request, NULL), AGENT_CLIENT_E_CLOSED);
    run_close(&run, 60000);
}

static void the_last_words_of_one_that_dies_are_told(void **state)
{
    Run run;

    (void)state;
    run_init(&run, "echo 'no key' >&2; exit 1");
    run.config.is_once = true;
    run_start(&run);
    run_until(&run, 1, "ended  the agent ended (exit status 1); it said: no key, not ready, -1\n");
    run_close(&run, 60000);
}

static void one_that_closes_its_output_is_ended(void **state)
{
    Run run;

    (void)state;
    run_init(&run, READY "exec >&-; sleep 1000");
    run.config.is_once = true;
    run.config.inherit_stderr = true;
    run_start(&run);
    run_until(&run, 2, "ready  \nended  the agent ended, ready, -1\n");
    run_close(&run, 60000);
}

static void silence_ends_a_request_and_the_agent_is_asked_to_leave_off(void **state)
{
    Run run;

    (void)state;
    run_init(&run, READY_INTERRUPT
             "read a; read -r b; case $b in '{\"id\":\"interrupt-1\",\"kind\":\"interrupt\","
             "\"requestId\":\"a\"}') " SAY("{\"type\":\"done\",\"id\":\"interrupt-1\"}")
                 SAY("{\"type\":\"error\",\"id\":\"a\",\"error\":\"interrupted\"}") ";; esac; cat");
    run.config.idle_ms = 50;
    run_start(&run);
    run_until(&run, 1, "ready  \n");
    run_ask(&run, "a", "one");
    /* Its late end belongs to nobody; the answer to our own request is not shown. */
    run_until(&run, 2, "timeout a the agent has not said a word about this for 0 s\nunasked a \n");
    run_close(&run, 60000);
}

static void requests_that_cannot_be_sent_are_refused(void **state)
{
    AgentRequest request = {.kind = AGENT_KIND_USER_MESSAGE, .id = SPAN("a")};
    size_t n = LIMIT_AGENT_LINE_BYTES;
    char *text = malloc(n);
    Run run;

    (void)state;
    memset(text, 'x', n);
    run_init(&run, "cat >/dev/null");
    run_start(&run);
    request.message = span_make(text, n);
    assert_int_equal(agent_client_request(run.client, &request, NULL), AGENT_CLIENT_E_TOO_LONG);
    assert_int_equal(agent_client_n_open(run.client), 0);
    request.message = SPAN("m");
    assert_int_equal(agent_client_request(run.client, &request, NULL), 0);
    assert_int_equal(agent_client_request(run.client, &request, NULL), AGENT_CLIENT_E_EXISTS);
    agent_client_forget(run.client, SPAN("a"));
    assert_int_equal(agent_client_n_open(run.client), 0);
    run_close(&run, 60000);
    free(text);
}

static void one_that_does_not_go_is_made_to(void **state)
{
    Run run;

    (void)state;
    run_init(&run, "trap '' TERM; " READY "while :; do sleep 1000; done");
    run_start(&run);
    run_until(&run, 1, "ready  \n");
    run_close(&run, 1);
}

static void what_cannot_be_started_is_told(void **state)
{
    Diag diag = DIAG_NULL;
    Run run;

    (void)state;
    run_init(&run, "");
    run.argv[0] = "/no/such/agent";
    assert_int_equal(agent_client_new(&run.client, &run.config, &diag),
                     AGENT_CLIENT_E_CANNOT_START);
    assert_non_null(strstr(diag.message, "/no/such/agent"));
    run.loop = io_loop_free(run.loop);
}

static int scenario(void *context)
{
    AgentRequest request = {.kind = AGENT_KIND_USER_MESSAGE, .id = SPAN("a"), .message = SPAN("m")};
    Run run;
    int r;

    (void)context;
    run = (Run){.argv = {"cat", NULL}};
    r = io_loop_new(&run.loop);
    if (r != 0) {
        return r;
    }
    run.config = (AgentClientConfig){
        .loop = run.loop, .argv = run.argv, .inherit_stderr = true, .event = on_event};
    r = agent_client_new(&run.client, &run.config, NULL);
    if (r == 0) {
        r = agent_client_request(run.client, &request, NULL);
    }
    run.client = agent_client_free(run.client);
    run.loop = io_loop_free(run.loop);
    return r;
}

static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    test_oom_sweep(scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_stream_and_correlate_and_the_agent_ends_with_its_input),
        cmocka_unit_test(what_the_agent_gets_is_the_line),
        cmocka_unit_test(noise_is_skipped_and_logged_without_escapes),
        cmocka_unit_test(a_line_without_end_is_dropped_and_the_next_one_is_read),
        cmocka_unit_test(a_dead_agent_is_started_again_and_its_requests_are_over),
        cmocka_unit_test(an_answer_makes_the_wait_short_again),
        cmocka_unit_test(one_that_is_once_stays_dead),
        cmocka_unit_test(the_last_words_of_one_that_dies_are_told),
        cmocka_unit_test(one_that_closes_its_output_is_ended),
        cmocka_unit_test(silence_ends_a_request_and_the_agent_is_asked_to_leave_off),
        cmocka_unit_test(requests_that_cannot_be_sent_are_refused),
        cmocka_unit_test(one_that_does_not_go_is_made_to),
        cmocka_unit_test(what_cannot_be_started_is_told),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
