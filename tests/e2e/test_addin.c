/* `toolwire addin` as a hub meets it: the real program, its pipe, every line that it prints.
 *
 *     test_addin TOOLWIRE
 */
#include "e2e/addin_process.h"
#include "e2e/peer.h"

#include "support/cmocka.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
                                       "/payload/data/tools/4/name",
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
        cmocka_unit_test(pings_are_answered_and_other_calls_run_while_a_command_does),
        cmocka_unit_test(commands_run_one_after_the_other_if_they_are_to),
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
