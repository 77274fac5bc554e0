/* `toolwire addin` as a hub meets it: the real program, its pipe, every line that it prints.
 *
 *     test_addin TOOLWIRE
 */
#include "e2e/addin_process.h"
#include "e2e/peer.h"

#include "support/cmocka.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* More than commands of cancelled calls may be ending at once. */
#define N_STUBBORN 200

static const char *program;

/* ---- the connection ---- */

static void it_says_how_the_connection_goes_and_tries_again(void **state)
{
    static const char *const waits[] = {"20ms", "40ms", "80ms", "80ms"};
    AddinProcess f;
    const char *arguments[] = {"addin",      "--pipe", "tested",         "--tools", f.tools,
                               "--retry-ms", "20ms",   "--retry-max-ms", "80ms",    NULL};
    char words[256];
    int fd;

    (void)state;
    addin_prepare(&f, program);
    addin_start(&f, arguments);
    for (size_t i = 0; i < TW_ARRAY_SIZE(waits); i++) {
        addin_expect_line(&f, "Connecting...");
        (void)snprintf(words, sizeof(words), "Disconnected: there is no hub at %s", f.place.socket);
        addin_expect_line(&f, words);
        if (i + 1 == TW_ARRAY_SIZE(waits)) {
            addin_hub_opens(&f);
        }
        (void)snprintf(words, sizeof(words), "Reconnecting in %s...", waits[i]);
        addin_expect_line(&f, words);
    }
    addin_expect_line(&f, "Connecting...");
    addin_expect_line(&f, "Connected");
    fd = parent_accept(f.listening);
    message_is_served(fd);
    assert_int_equal(close(fd), 0);
    addin_expect_line(&f, "Disconnected: the hub has closed the connection");
    addin_expect_line(&f, "Reconnecting in 20ms...");
    addin_expect_line(&f, "Connecting...");
    addin_expect_line(&f, "Connected");
    fd = parent_accept(f.listening);
    message_is_served(fd);
    assert_int_equal(kill(f.pid, SIGTERM), 0);
    wire_expect_end(fd);
    addin_expect_line(&f, "Stopped");
    addin_expect_exit(&f, 0);
    addin_deinit(&f);
}

static void the_first_wait_is_a_second_by_default(void **state)
{
    AddinProcess f;
    const char *arguments[] = {"addin", "--pipe", NULL, "--tools", f.tools, NULL};
    char words[256];

    (void)state;
    addin_prepare(&f, program);
    arguments[2] = f.place.socket; /* a path is taken as it is */
    addin_start(&f, arguments);
    addin_expect_line(&f, "Connecting...");
    (void)snprintf(words, sizeof(words), "Disconnected: there is no hub at %s", f.place.socket);
    addin_expect_line(&f, words);
    addin_expect_line(&f, "Reconnecting in 1s...");
    addin_stop(&f);
    addin_deinit(&f);
}

static void the_pipe_may_be_the_configurations_or_the_documents(void **state)
{
    static const struct {
        const char *config;
        const char *name;
    } rows[] = {
        {"{\"tools\":\"tools.json\",\"pipe\":\"configured\"}", "configured"},
        {"{\"tools\":\"tools.json\"}", "RevitOrchestrator"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        AddinProcess f;
        char config[128];
        const char *arguments[] = {"addin", "--config", config, NULL};
        int fd;

        addin_prepare(&f, program);
        (void)snprintf(config, sizeof(config), "%s/config.json", f.place.folder);
        place_write(config, rows[i].config, 0644);
        (void)snprintf(f.place.socket, sizeof(f.place.socket), "%s/CoreFxPipe_%s", f.place.folder,
                       rows[i].name);
        addin_hub_opens(&f);
        addin_start(&f, arguments);
        fd = parent_accept(f.listening);
        addin_expect_line(&f, "Connecting...");
        addin_expect_line(&f, "Connected");
        message_is_served(fd);
        addin_stop(&f);
        assert_int_equal(close(fd), 0);
        assert_int_equal(unlink(config), 0);
        addin_deinit(&f);
    }
}

static void a_hub_that_does_not_answer_pings_is_left(void **state)
{
    AddinProcess f;
    int fd = addin_connect(&f, program, "--ping-interval-ms", "20ms", "--pong-timeout-ms", "20ms");

    (void)state;
    message_expect_type(fd, "\"ping\"");
    addin_expect_line(&f, "Disconnected: the hub did not answer a ping in time");
    addin_expect_line(&f, "Reconnecting in 20ms...");
    assert_int_equal(close(fd), 0);
    addin_hub_leaves(&f);
    addin_kill(&f);
    addin_deinit(&f);
}

static void a_broken_stream_is_told_why_and_left(void **state)
{
    static const char *const rows[] = {"/type", "\"error\"", "/payload/code",
                                       "\"PIPE_MESSAGE_TOO_LARGE\"", NULL};
    AddinProcess f;
    int fd = addin_connect(&f, program, NULL, NULL, NULL, NULL);

    (void)state;
    wire_write(fd, "\xff\xff\xff\xff", 4);
    message_expect(fd, rows);
    wire_expect_end(fd);
    addin_expect_line(&f, "Disconnected: the hub sent a message of 4294967295 bytes");
    addin_expect_line(&f, "Reconnecting in 20ms...");
    addin_expect_line(&f, "Connecting...");
    addin_expect_line(&f, "Connected");
    fd = parent_accept(f.listening);
    message_is_served(fd);
    assert_int_equal(close(fd), 0);
    addin_expect_line(&f, "Disconnected: the hub has closed the connection");
    addin_hub_leaves(&f);
    addin_kill(&f);
    addin_deinit(&f);
}

/* ---- calls ---- */

static void commands_are_listed_and_run(void **state)
{
    static const char *const list[] = {"/payload/data/name",
                                       "\"Planner\"",
                                       "/payload/data/tools/0/name",
                                       "\"cat\"",
                                       "/payload/data/tools/0/input_schema",
                                       "{\"type\":\"object\"}",
                                       "/payload/data/tools/5/name",
                                       "\"echo\"",
                                       NULL};
    static const char *const failed[] = {"/payload/call_id", "\"f\"", "/payload/success", "false",
                                         NULL};
    static const char *const unknown[] = {
        "/type", "\"error\"", "/payload/code", "\"TOOL_NOT_FOUND\"", "/payload/call_id",
        "\"u\"", NULL};
    AddinProcess f;
    int fd = addin_connect(&f, program, "--name", "Planner", "--diagnostics", NULL);

    (void)state;
    message_send(fd, CALLS("l", "toolwire.list_tools", "{}"));
    message_expect(fd, list);
    message_is_served(fd);
    message_send(fd, CALLS("f", "fails", "{}"));
    message_expect(fd, failed);
    message_send(fd, CALLS("u", "none", "{}"));
    message_expect(fd, unknown);
    message_is_served(fd);
    addin_stop(&f);
    assert_int_equal(close(fd), 0);
    addin_deinit(&f);
}

/* A structured result is sent once, and not again as text: nearly all of a message is for it. */
static void a_result_may_fill_a_message(void **state)
{
    static const char head[] =
        "{\"id\":\"1\",\"type\":\"tool_call\",\"payload\":{\"tool_name\":\"cat\","
        "\"args\":{\"text\":\"";
    size_t n = (size_t)16777216 - 400;
    char *text = malloc(sizeof(head) + n + 8);
    char *answer;
    AddinProcess f;
    int fd = addin_connect(&f, program, NULL, NULL, NULL, NULL);

    (void)state;
    assert_non_null(text);
    memcpy(text, head, sizeof(head) - 1);
    memset(text + sizeof(head) - 1, 'x', n);
    memcpy(text + sizeof(head) - 1 + n, "\"}}}", 5);
    message_send(fd, text);
    answer = message_take(fd);
    assert_non_null(answer);
    if (strstr(answer, "\"success\":true") == NULL || strlen(answer) < n) {
        fail_msg("got: %.300s", answer);
    }
    free(answer);
    free(text);
    message_is_served(fd);
    addin_stop(&f);
    assert_int_equal(close(fd), 0);
    addin_deinit(&f);
}

static void wrong_members_are_named(void **state)
{
    static const char *const number[] = {"/type", "\"error\"", "/payload/message",
                                         "\"id: expected string, got number\"", NULL};
    static const char *const failed[] = {"/payload/success", "false", "/payload/data", "{}", NULL};
    AddinProcess f;
    int fd = addin_connect(&f, program, NULL, NULL, NULL, NULL);

    (void)state;
    message_send(fd, "{\"id\":5,\"type\":\"tool_call\",\"payload\":{\"tool_name\":\"cat\"}}");
    message_expect(fd, number);
    message_send(fd, CALLS("f", "fails", "{}"));
    message_expect(fd, failed);
    message_is_served(fd);
    addin_stop(&f);
    assert_int_equal(close(fd), 0);
    addin_deinit(&f);
}

static void pings_are_answered_and_other_calls_run_while_a_command_does(void **state)
{
    AddinProcess f;
    int fd = addin_connect(&f, program, NULL, NULL, NULL, NULL);

    (void)state;
    message_send(fd, CALLS("1", "ends", "{}"));
    message_send(fd, PING);
    message_expect_type(fd, "\"pong\"");
    message_is_served(fd);
    command_goes_on(&f);
    message_expect_result(fd, "\"1\"", "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}");
    assert_int_equal(kill(f.pid, SIGTERM), 0);
    wire_expect_end(fd);
    addin_expect_line(&f, "Stopped");
    addin_expect_exit(&f, 0);
    addin_deinit(&f);
}

static void commands_run_one_after_the_other_if_they_are_to(void **state)
{
    AddinProcess f;
    int fd = addin_connect(&f, program, "--one-at-a-time", NULL, NULL, NULL);

    (void)state;
    message_send(fd, CALLS("1", "ends", "{}"));
    message_send(fd, CALLS("2", "cat", "{}"));
    message_send(fd, PING);
    message_expect_type(fd, "\"pong\"");
    command_goes_on(&f);
    message_expect_result(fd, "\"1\"", "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}");
    message_expect_result(fd, "\"2\"", "{}");
    addin_stop(&f);
    assert_int_equal(close(fd), 0);
    addin_deinit(&f);
}

/* ---- beyond the document ---- */

#define LIST_CALL                                                                                  \
    CALLS("l", "toolwire.list_tools", "{\"understands\":[\"tool_progress\",\"tools_changed\"]}")

static void a_hub_that_understands_more_is_told_what_the_add_in_does(void **state)
{
    static const char *const knowing[] = {"/payload/data/understands",
                                          "[\"tool_cancel\"]",
                                          "/payload/data/pings_in_calls",
                                          "true",
                                          "/payload/data/tools/0/name",
                                          "\"cat\"",
                                          NULL};
    AddinProcess f;
    char *text;
    int fd = addin_connect(&f, program, NULL, NULL, NULL, NULL);

    (void)state;
    message_send(fd, CALLS("l", "toolwire.list_tools", "{}"));
    text = message_take(fd);
    assert_non_null(text);
    assert_null(strstr(text, "understands"));
    assert_null(strstr(text, "pings_in_calls"));
    free(text);
    message_send(fd, LIST_CALL);
    message_expect(fd, knowing);
    addin_stop(&f);
    assert_int_equal(close(fd), 0);
    addin_deinit(&f);
}

static void a_cancelled_call_ends_its_command(void **state)
{
    static const char *const ended[] = {"/payload/call_id",
                                        "\"1\"",
                                        "/payload/success",
                                        "false",
                                        "/payload/data",
                                        "{}",
                                        "/payload/error/code",
                                        "\"CANCELLED\"",
                                        NULL};
    AddinProcess f;
    int fd = addin_connect(&f, program, NULL, NULL, NULL, NULL);
    int fifo;

    (void)state;
    message_send(fd, CALLS("1", "waits", "{}"));
    fifo = command_runs(&f);
    message_send(fd, MESSAGE("c", "tool_cancel", "{\"call_id\":\"1\"}"));
    message_expect(fd, ended);
    command_is_dead(fifo);
    message_is_served(fd);
    /* One that has ended, and one that was never there. */
    message_send(fd, MESSAGE("c", "tool_cancel", "{\"call_id\":\"1\"}"));
    message_send(fd, MESSAGE("c", "tool_cancel", "{\"call_id\":\"none\"}"));
    message_is_served(fd);
    addin_stop(&f);
    assert_int_equal(close(fd), 0);
    addin_deinit(&f);
}

static void a_cancelled_call_that_waits_never_runs(void **state)
{
    static const char *const ended[] = {"/payload/call_id", "\"2\"", "/payload/error/code",
                                        "\"CANCELLED\"", NULL};
    AddinProcess f;
    int fd = addin_connect(&f, program, "--one-at-a-time", NULL, NULL, NULL);

    (void)state;
    message_send(fd, CALLS("1", "ends", "{}"));
    message_send(fd, CALLS("2", "waits", "{}"));
    message_send(fd, MESSAGE("c", "tool_cancel", "{\"call_id\":\"2\"}"));
    message_expect(fd, ended);
    command_goes_on(&f);
    message_expect_result(fd, "\"1\"", "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}");
    message_is_served(fd);
    addin_stop(&f);
    assert_int_equal(close(fd), 0);
    addin_deinit(&f);
}

/* A command that ignores SIGTERM outlives its call: those that wait do not run beside it, and are
 * not refused because many were cancelled before them. */
static void the_next_call_waits_for_the_command_of_a_cancelled_one(void **state)
{
    static const char *const cancelled[] = {"/payload/error/code", "\"CANCELLED\"", NULL};
    AddinProcess f;
    int fd = addin_connect(&f, program, "--one-at-a-time", NULL, NULL, NULL);
    struct pollfd command = {.events = POLLIN};
    char message[256];

    (void)state;
    message_send(fd, CALLS("0", "stubborn", "{}"));
    command.fd = command_runs(&f);
    for (int i = 1; i < N_STUBBORN; i++) {
        (void)snprintf(message, sizeof(message), CALLS("%d", "stubborn", "{}"), i);
        message_send(fd, message);
    }
    message_send(fd, CALLS("last", "cat", "{\"n\":1}"));
    for (int i = 0; i < N_STUBBORN; i++) {
        (void)snprintf(message, sizeof(message),
                       MESSAGE("c", "tool_cancel", "{\"call_id\":\"%d\"}"), i);
        message_send(fd, message);
        message_expect(fd, cancelled);
    }
    message_expect_result(fd, "\"last\"", "{\"n\":1}");
    assert_int_equal(poll(&command, 1, 0), 1); /* it had ended before */
    command_is_dead(command.fd);
    addin_stop(&f);
    assert_int_equal(close(fd), 0);
    addin_deinit(&f);
}

/* The tool reports ten times, if somebody wants to know. */
static void progress_is_told_to_a_hub_that_understands_it(void **state)
{
    static const char *const report[] = {
        "/type", "\"tool_progress\"", "/payload/call_id", "\"2\"", "/payload/total", "500", NULL};
    AddinProcess f;
    int fd = addin_connect(&f, program, "--diagnostics", NULL, NULL, NULL);

    (void)state;
    message_send(fd, CALLS("1", "sleep", "{\"ms\":500}"));
    message_expect_type(fd, "\"tool_result\"");
    message_send(fd, LIST_CALL);
    message_expect_type(fd, "\"tool_result\"");
    message_send(fd, CALLS("2", "sleep", "{\"ms\":500}"));
    message_expect(fd, report);
    message_expect(fd, report);
    addin_kill(&f);
    assert_int_equal(close(fd), 0);
    addin_deinit(&f);
}

static void a_hub_that_goes_ends_its_commands(void **state)
{
    AddinProcess f;
    int fd = addin_connect(&f, program, NULL, NULL, NULL, NULL);
    int fifo;

    (void)state;
    message_send(fd, CALLS("1", "waits", "{}"));
    fifo = command_runs(&f);
    assert_int_equal(close(fd), 0);
    addin_expect_line(&f, "Disconnected: the hub has closed the connection");
    command_is_dead(fifo);
    addin_expect_line(&f, "Reconnecting in 20ms...");
    addin_expect_line(&f, "Connecting...");
    addin_expect_line(&f, "Connected");
    fd = parent_accept(f.listening);
    message_is_served(fd);
    addin_stop(&f);
    assert_int_equal(close(fd), 0);
    addin_deinit(&f);
}

/* ---- the end ---- */

static void a_signal_lets_commands_finish(void **state)
{
    static const int signums[] = {SIGTERM, SIGINT, SIGHUP};
    static const char *const refused[] = {"/payload/call_id", "\"2\"", "/payload/error/code",
                                          "\"ADAPTER_NOT_AVAILABLE\"", NULL};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(signums); i++) {
        AddinProcess f;
        char *text;
        int fd = addin_connect(&f, program, NULL, NULL, NULL, NULL);

        message_send(fd, CALLS("1", "ends", "{}"));
        message_is_served(fd);
        assert_int_equal(kill(f.pid, signums[i]), 0);
        /* When the signal has come, calls are refused. */
        for (bool is_refused = false; !is_refused;) {
            message_send(fd, CALLS("2", "cat", "{}"));
            text = message_take(fd);
            assert_non_null(text);
            is_refused = strstr(text, "ADAPTER_NOT_AVAILABLE") != NULL;
            free(text);
        }
        message_send(fd, CALLS("2", "cat", "{}"));
        message_expect(fd, refused);
        message_send(fd, PING);
        message_expect_type(fd, "\"pong\"");
        command_goes_on(&f);
        message_expect_result(fd, "\"1\"", "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}");
        wire_expect_end(fd);
        addin_expect_line(&f, "Stopped");
        addin_expect_exit(&f, 0);
        addin_deinit(&f);
    }
}

static void the_drain_is_bounded(void **state)
{
    AddinProcess f;
    int fd = addin_connect(&f, program, "--drain-ms", "20", "--log-level", "error");
    int fifo;

    (void)state;
    message_send(fd, CALLS("1", "waits", "{}"));
    fifo = command_runs(&f);
    assert_int_equal(kill(f.pid, SIGTERM), 0);
    wire_expect_end(fd);
    addin_expect_line(&f, "Stopped");
    command_is_dead(fifo);
    addin_expect_exit(&f, 0);
    addin_deinit(&f);
}

static void a_second_signal_does_not_wait(void **state)
{
    AddinProcess f;
    int fd = addin_connect(&f, program, NULL, NULL, NULL, NULL);
    int fifo;

    (void)state;
    message_send(fd, CALLS("1", "waits", "{}"));
    fifo = command_runs(&f);
    assert_int_equal(kill(f.pid, SIGTERM), 0);
    for (bool is_refused = false; !is_refused;) {
        char *text;

        message_send(fd, CALLS("2", "cat", "{}"));
        text = message_take(fd);
        assert_non_null(text);
        is_refused = strstr(text, "ADAPTER_NOT_AVAILABLE") != NULL;
        free(text);
    }
    assert_int_equal(kill(f.pid, SIGTERM), 0);
    wire_expect_end(fd);
    command_is_dead(fifo);
    addin_expect_exit(&f, 0);
    addin_deinit(&f);
}

static void commands_die_with_a_program_that_is_killed(void **state)
{
    AddinProcess f;
    int fd = addin_connect(&f, program, NULL, NULL, NULL, NULL);
    int fifo;

    (void)state;
    message_send(fd, CALLS("1", "waits", "{}"));
    fifo = command_runs(&f);
    assert_int_equal(kill(f.pid, SIGKILL), 0);
    wire_expect_end(fd);
    command_is_dead(fifo);
    addin_expect_exit(&f, -SIGKILL);
    addin_deinit(&f);
}

static void wrong_use_is_explained(void **state)
{
    static const char *const rows[][7] = {
        {"addin", NULL},
        {"addin", "--diagnostics", "operand", NULL},
        {"addin", "--tools", "/no/such/tools.json", NULL},
        {"addin", "--config", "/no/such/config.json", NULL},
        {"addin", "--diagnostics", "--pipe", "a/b", NULL},
        {"addin", "--diagnostics", "--pipe", "", NULL},
        {"addin", "--diagnostics", "--name", "", NULL},
        {"addin", "--diagnostics", "--retry-ms", "soon", NULL},
        {"addin", "--diagnostics", "--retry-max-ms", "0", NULL},
        {"addin", "--diagnostics", "--ping-interval-ms", "0s", NULL},
        {"addin", "--diagnostics", "--pong-timeout-ms", "-1", NULL},
        {"addin", "--diagnostics", "--drain-ms", "soon", NULL},
    };
    AddinProcess f;
    const char *malformed[] = {"addin", "--tools", f.tools, NULL};
    char *err;

    (void)state;
    addin_prepare(&f, program);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        print_message("%s %s\n", rows[i][1] != NULL ? rows[i][1] : "",
                      rows[i][1] != NULL && rows[i][2] != NULL ? rows[i][2] : "");
        assert_int_equal(run_program(program, rows[i], NULL, &err), 2);
        assert_memory_equal(err, "toolwire addin: ", 16);
        free(err);
    }
    place_write(f.tools, "[{\"name\":5}]", 0644);
    assert_int_equal(run_program(program, malformed, NULL, &err), 2);
    assert_memory_equal(err, "toolwire addin: ", 16);
    assert_non_null(strstr(err, "tools.json"));
    free(err);
    addin_deinit(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_says_how_the_connection_goes_and_tries_again),
        cmocka_unit_test(the_first_wait_is_a_second_by_default),
        cmocka_unit_test(the_pipe_may_be_the_configurations_or_the_documents),
        cmocka_unit_test(a_hub_that_does_not_answer_pings_is_left),
        cmocka_unit_test(a_broken_stream_is_told_why_and_left),
        cmocka_unit_test(commands_are_listed_and_run),
        cmocka_unit_test(a_result_may_fill_a_message),
        cmocka_unit_test(wrong_members_are_named),
        cmocka_unit_test(pings_are_answered_and_other_calls_run_while_a_command_does),
        cmocka_unit_test(commands_run_one_after_the_other_if_they_are_to),
        cmocka_unit_test(a_hub_that_understands_more_is_told_what_the_add_in_does),
        cmocka_unit_test(a_cancelled_call_ends_its_command),
        cmocka_unit_test(a_cancelled_call_that_waits_never_runs),
        cmocka_unit_test(the_next_call_waits_for_the_command_of_a_cancelled_one),
        cmocka_unit_test(progress_is_told_to_a_hub_that_understands_it),
        cmocka_unit_test(a_hub_that_goes_ends_its_commands),
        cmocka_unit_test(a_signal_lets_commands_finish),
        cmocka_unit_test(the_drain_is_bounded),
        cmocka_unit_test(a_second_signal_does_not_wait),
        cmocka_unit_test(commands_die_with_a_program_that_is_killed),
        cmocka_unit_test(wrong_use_is_explained),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_addin TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
