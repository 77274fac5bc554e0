/* `toolwire serve --pipe`: the life of the pipe and of its connections, sentence by sentence of the
 * document, with short intervals; the place of the pipe; the end of the hub.
 *
 *     test_pipe_hub_life TOOLWIRE
 */
#include "e2e/callsock_peer.h"
#include "e2e/pipe_peer.h"

#include "support/cmocka.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *program;

#define OFFER "{\"name\":\"app\",\"tools\":[" PIPE_TOOL("plan.a") "]}"
#define PING                                                                                       \
    "{\"id\":\"550e8400-e29b-41d4-a716-446655440001\",\"type\":\"ping\",\"timestamp\":"            \
    "\"2025-01-15T10:30:00.000Z\",\"payload\":{}}"

static void serve(PipeHubProcess *hub, const char *const *arguments)
{
    hub_init(hub, program);
    hub_serve(hub, arguments);
}

static void finish(PipeHubProcess *hub)
{
    hub_end(hub);
    hub_deinit(hub);
}

static void expect_pong(AddinPeer *addin)
{
    AddinMessage message;

    addin_next(addin, &message);
    assert_non_null(message.text);
    assert_string_equal(message.type, "pong");
    assert_non_null(strstr(message.text, "\"payload\":{}}"));
    assert_null(strstr(message.text, "446655440001")); /* a new id */
    addin_message_deinit(&message);
}

/* One call of the add-in's tool, with its answer. */
static void expect_served(PipeHubProcess *hub, AddinPeer *addin)
{
    char id[40];

    hub_send(hub, CALL("50", "plan.a", "{}"));
    addin_expect_call(addin, "plan.a", "{}", id);
    addin_answer(addin, id, "{}");
    hub_expect_result(hub, 50, "{}", "{}");
}

/* ---- "Python server creates the named pipe and listens." ---- */

static void the_pipe_is_where_net_programs_look_and_only_for_this_user(void **state)
{
    PipeHubProcess hub;
    AddinPeer addin;
    struct stat info;

    (void)state;
    serve(&hub, NULL);
    assert_int_equal(lstat(hub.socket, &info), 0);
    assert_true(S_ISSOCK(info.st_mode));
    assert_int_equal(info.st_mode & 0777, 0600);
    addin_open(&addin, &hub, OFFER);
    hub_await_tools_changed(&hub);
    expect_served(&hub, &addin);
    addin_close(&addin);
    hub_await_tools_changed(&hub);
    finish(&hub);
}

static void the_documents_name_is_the_default(void **state)
{
    PipeHubProcess hub;

    (void)state;
    hub_init(&hub, program);
    (void)snprintf(hub.socket, sizeof(hub.socket), "%s/CoreFxPipe_RevitOrchestrator", hub.folder);
    hub_serve_config(&hub, "{\"pipe\":{}}");
    finish(&hub);
}

static void a_pipe_that_another_hub_has_is_refused_with_its_pid(void **state)
{
    const char *const arguments[] = {"serve", "--no-toolkit", "--pipe", PIPE_NAME, NULL};
    PipeHubProcess hub;
    AddinPeer addin;
    char pid[32];
    char *err;

    (void)state;
    serve(&hub, NULL);
    addin_open(&addin, &hub, OFFER);
    hub_await_tools_changed(&hub);
    assert_int_equal(run_program(program, arguments, NULL, &err), 1);
    (void)snprintf(pid, sizeof(pid), "process %d", (int)hub.client.pid);
    if (strstr(err, pid) == NULL || strstr(err, hub.socket) == NULL) {
        fail_msg("wanted: %s\n   got: %s", pid, err);
    }
    free(err);
    expect_served(&hub, &addin); /* the first one goes on */
    addin_close(&addin);
    hub_await_tools_changed(&hub);
    finish(&hub);
}

static void what_a_killed_hub_left_is_replaced(void **state)
{
    PipeHubProcess hub;
    AddinPeer addin;

    (void)state;
    serve(&hub, NULL);
    addin_open(&addin, &hub, OFFER);
    hub_await_tools_changed(&hub);
    assert_int_equal(kill(hub.client.pid, SIGKILL), 0);
    hub_reap_killed(&hub);
    addin_expect_end(&addin);
    assert_int_equal(access(hub.socket, F_OK), 0);
    hub_serve(&hub, NULL);
    addin_open(&addin, &hub, OFFER);
    hub_await_tools_changed(&hub);
    expect_served(&hub, &addin);
    addin_close(&addin);
    hub_await_tools_changed(&hub);
    finish(&hub);
}

static void wrong_use_is_explained(void **state)
{
    static const struct {
        const char *arguments[8];
        int status;
        const char *words;
    } cases[] = {
        {{"serve", "--pipe-tools", "tools.json"}, 2, "--pipe"},
        {{"serve", "--pipe", ""}, 2, "--pipe"},
        {{"serve", "--pipe", "a/b"}, 2, "--pipe"},
        {{"serve", "--pipe", PIPE_NAME, "--pipe-tools", "/nonexistent.json"}, 2, "nonexistent"},
        {{"serve", "--pipe", PIPE_NAME, "--ping-interval-ms", "1"}, 2, "--ping-interval-ms"},
        {{"serve", "--pipe", PIPE_NAME, "--pong-timeout-ms", "soon"}, 2, "--pong-timeout-ms"},
        {{"serve", "--pipe", "/nonexistent/pipe"}, 1, "/nonexistent"},
    };
    PipeHubProcess hub;

    (void)state;
    hub_init(&hub, program);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        char *err;
        int status = run_program(program, cases[i].arguments, NULL, &err);

        if (status != cases[i].status || strstr(err, cases[i].words) == NULL) {
            fail_msg("case %zu: wanted: %d %s\n   got: %d %s", i, cases[i].status, cases[i].words,
                     status, err);
        }
        free(err);
    }
    hub_deinit(&hub);
}

/* Neither of the two files is wrong alone, so both are named. */
static void a_tool_that_two_files_have_is_told_with_both(void **state)
{
    static const char text[] = "{\"name\":\"plan.a\",\"description\":\"A.\",\"parameters\":{}}";
    PipeHubProcess hub;
    char folder[96];
    char paths[2][160];
    const char *const arguments[] = {"serve", "--pipe", PIPE_NAME, "--pipe-tools", folder, NULL};
    char *err;

    (void)state;
    hub_init(&hub, program);
    (void)snprintf(folder, sizeof(folder), "%s/tools", hub.folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(paths); i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "%s/%s.json", folder, i == 0 ? "one" : "two");
        hub_write_file(paths[i], text);
    }
    assert_int_equal(run_program(program, arguments, NULL, &err), 2);
    if (strstr(err, "/tools/two.json:1: name: the tool \"plan.a\" is in one.json, too") == NULL) {
        fail_msg("got: %s", err);
    }
    free(err);
    assert_int_equal(unlink(paths[0]), 0);
    assert_int_equal(unlink(paths[1]), 0);
    assert_int_equal(rmdir(folder), 0);
    hub_deinit(&hub);
}

/* Files as the original has them: one tool each, in a folder, with members that are its own. */
static void the_tool_files_of_the_original_are_read(void **state)
{
    static const char file[] =
        "{\"name\":\"%s\",\"adapter\":\"revit\",\"description\":\"Does something.\","
        "\"version\":\"1.0.0\",\"permissions\":{\"mode\":\"write\"},\"parameters\":{\"type\":"
        "\"object\",\"properties\":{\"id\":{\"type\":\"integer\"}},\"required\":[\"id\"]},"
        "\"returns\":{\"type\":\"object\"},\"examples\":[{\"description\":\"x\",\"args\":{}}]}";
    static const char *const names[] = {"revit.first", "revit.second"};
    PipeHubProcess hub;
    AddinPeer addin;
    char folder[96];
    char paths[2][160];
    char text[1024];
    char *warning;
    char *err;
    char id[40];

    (void)state;
    hub_init(&hub, program);
    (void)snprintf(folder, sizeof(folder), "%s/tools", hub.folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        (void)snprintf(paths[i], sizeof(paths[i]), "%s/%s.json", folder, names[i]);
        (void)snprintf(text, sizeof(text), file, names[i]);
        hub_write_file(paths[i], text);
    }
    {
        const char *const flags[] = {"--pipe-tools", folder, NULL};
        const char *const arguments[] = {"serve",        "--pipe", PIPE_NAME,
                                         "--pipe-tools", folder,   NULL};

        /* One warning for all of them. */
        assert_int_equal(run_program(program, arguments, NULL, &err), 0);
        warning = strstr(err, "are ignored: adapter, version, permissions, returns, examples\n");
        assert_non_null(warning);
        assert_null(strstr(warning + 1, "are ignored"));
        free(err);
        hub_serve(&hub, flags);
    }
    hub_expect_tools(&hub, "revit.first revit.second ");
    addin_connect(&addin, &hub);
    addin_offer_unknown(&addin);
    hub_send(&hub, CALL("1", "revit.second", "{\"id\":\"x\"}"));
    hub_expect_failure(&hub, 1, "SCHEMA_VALIDATION_FAILED", "id");
    hub_send(&hub, CALL("2", "revit.second", "{\"id\":7}"));
    addin_expect_call(&addin, "revit.second", "{\"id\":7}", id);
    addin_answer(&addin, id, "{\"n\":1}");
    hub_expect_result(&hub, 2, "{\"n\":1}", NULL);
    addin_close(&addin);
    hub_end(&hub);
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        assert_int_equal(unlink(paths[i]), 0);
    }
    assert_int_equal(rmdir(folder), 0);
    hub_deinit(&hub);
}

/* Which tool it is, not only where in the file it stands. */
static void a_clash_names_the_tool(void **state)
{
    PipeHubProcess hub;
    char *err;

    (void)state;
    hub_init(&hub, program);
    hub_write_file(hub.tools, "[" PIPE_TOOL("first") "," PIPE_TOOL("echo") "]");
    {
        const char *const arguments[] = {"serve",        "--diagnostics", "--pipe", PIPE_NAME,
                                         "--pipe-tools", hub.tools,       NULL};

        assert_int_equal(run_program(program, arguments, NULL, &err), 2);
    }
    assert_non_null(strstr(err, "[1].name: there is a tool \"echo\" already"));
    free(err);
    hub_deinit(&hub);
}

static void what_is_no_pipe_is_not_touched(void **state)
{
    const char *const arguments[] = {"serve", "--no-toolkit", "--pipe", PIPE_NAME, NULL};
    PipeHubProcess hub;
    struct stat info;
    char *err;

    (void)state;
    hub_init(&hub, program);
    hub_write_file(hub.socket, "precious");
    assert_int_equal(run_program(program, arguments, NULL, &err), 1);
    assert_non_null(strstr(err, hub.socket));
    free(err);
    assert_int_equal(stat(hub.socket, &info), 0);
    assert_int_equal(info.st_size, strlen("precious"));
    assert_int_equal(unlink(hub.socket), 0);
    hub_deinit(&hub);
}

/* ---- "C# add-in connects as a client"; "Both sides exchange ping/pong every 30 seconds." ---- */

static void both_sides_ping_and_answer(void **state)
{
    static const char *const flags[] = {"--ping-interval-ms", "20", "--pong-timeout-ms", "1m",
                                        NULL};
    PipeHubProcess hub;
    AddinPeer addin;
    char id[40];

    (void)state;
    serve(&hub, flags);
    addin_open(&addin, &hub, OFFER);
    hub_await_tools_changed(&hub);
    addin_send(&addin, PING);
    expect_pong(&addin);
    /* While a call is out, too. */
    hub_send(&hub, CALL("1", "plan.a", "{}"));
    addin_expect_call(&addin, "plan.a", "{}", id);
    addin_send(&addin, PING);
    expect_pong(&addin);
    addin_answer(&addin, id, "{}");
    hub_expect_result(&hub, 1, "{}", "{}");
    /* And the hub's come, one after the other. */
    while (addin.n_pings < 5) {
        AddinMessage message;

        addin_next_any(&addin, &message);
        assert_non_null(message.text);
        assert_string_equal(message.type, "ping");
        assert_non_null(strstr(message.text, "\"payload\":{}}"));
        addin.n_pings++;
        addin_message_deinit(&message);
        addin_pong(&addin);
    }
    expect_served(&hub, &addin);
    addin_close(&addin);
    hub_await_tools_changed(&hub);
    finish(&hub);
}

/* ---- "If no pong is received within 10 seconds, the connection is considered dead." ---- */

static void an_add_in_without_a_pong_is_dead(void **state)
{
    static const char *const flags[] = {"--ping-interval-ms", "20", "--pong-timeout-ms", "20",
                                        NULL};
    PipeHubProcess hub;
    AddinPeer addin;

    (void)state;
    serve(&hub, flags);
    addin_open(&addin, &hub, OFFER);
    hub_await_tools_changed(&hub);
    addin_expect_end(&addin); /* after at least one ping */
    assert_true(addin.n_pings > 0);
    hub_await_tools_changed(&hub);
    hub_expect_tools(&hub, "");
    finish(&hub);
}

/* Several times as long as it may be silent otherwise; then it is given a moment to answer. */
static void an_add_in_inside_a_call_may_be_silent(void **state)
{
    static const char *const flags[] = {"--ping-interval-ms", "200", "--pong-timeout-ms", "1s",
                                        NULL};
    PipeHubProcess hub;
    AddinPeer addin;
    AddinMessage message;
    char id[40];

    (void)state;
    serve(&hub, flags);
    addin_open(&addin, &hub, OFFER);
    hub_await_tools_changed(&hub);
    hub_send(&hub, CALL("1", "plan.a", "{}"));
    addin_expect_call(&addin, "plan.a", "{}", id);
    for (int i = 0; i < 8; i++) {
        addin_next_any(&addin, &message);
        assert_non_null(message.text);
        assert_string_equal(message.type, "ping");
        addin_message_deinit(&message);
    }
    addin_answer(&addin, id, "{\"slow\":true}");
    addin_pong(&addin);
    hub_expect_result(&hub, 1, "{\"slow\":true}", NULL);
    expect_served(&hub, &addin);
    addin_close(&addin);
    hub_await_tools_changed(&hub);
    finish(&hub);
}

static void one_that_is_silent_after_its_call_is_dead(void **state)
{
    PipeHubProcess hub;
    AddinPeer addin;
    char id[40];

    (void)state;
    hub_init(&hub, program);
    hub_write_file(hub.tools, PIPE_TOOLS);
    hub_serve_config(&hub, "{\"pipe\":{\"name\":\"" PIPE_NAME "\",\"tools\":\"tools.json\","
                           "\"ping_interval_ms\":20,\"pong_timeout_ms\":\"500ms\"},"
                           "\"limits\":{\"call_timeout_ms\":300}}");
    addin_connect(&addin, &hub);
    addin_offer_unknown(&addin);
    hub_send(&hub, CALL("1", "revit.any", "{}"));
    addin_expect_call(&addin, "revit.any", "{}", id);
    hub_expect_failure(&hub, 1, "PIPE_TIMEOUT", "");
    addin_expect_end(&addin);
    hub_send(&hub, CALL("2", "revit.any", "{}"));
    hub_expect_failure(&hub, 2, "ADAPTER_NOT_AVAILABLE", "");
    finish(&hub);
}

/* ---- "C# add-in reconnects automatically" ---- */

static void an_add_in_that_connects_again_is_served_again(void **state)
{
    PipeHubProcess hub;
    AddinPeer addin;

    (void)state;
    serve(&hub, NULL);
    for (int i = 0; i < 5; i++) {
        addin_open(&addin, &hub, OFFER);
        hub_await_tools_changed(&hub);
        expect_served(&hub, &addin);
        addin_close(&addin);
        hub_await_tools_changed(&hub);
    }
    finish(&hub);
}

/* ---- the end ---- */

static void sigterm_lets_a_call_finish(void **state)
{
    PipeHubProcess hub;
    AddinPeer addin;
    char id[40];

    (void)state;
    serve(&hub, NULL);
    addin_open(&addin, &hub, OFFER);
    hub_await_tools_changed(&hub);
    hub_send(&hub, CALL("1", "plan.a", "{}"));
    addin_expect_call(&addin, "plan.a", "{}", id);
    assert_int_equal(kill(hub.client.pid, SIGTERM), 0);
    addin_answer(&addin, id, "{\"done\":true}");
    hub_expect_result(&hub, 1, "{\"done\":true}", NULL);
    addin_expect_end(&addin);
    finish(&hub);
}

static void the_drain_is_bounded(void **state)
{
    static const char *const flags[] = {"--drain-ms", "50", NULL};
    PipeHubProcess hub;
    AddinPeer addin;
    char id[40];

    (void)state;
    serve(&hub, flags);
    addin_open(&addin, &hub, OFFER);
    hub_await_tools_changed(&hub);
    hub_send(&hub, CALL("1", "plan.a", "{}"));
    addin_expect_call(&addin, "plan.a", "{}", id);
    assert_int_equal(kill(hub.client.pid, SIGTERM), 0);
    addin_expect_end(&addin);
    finish(&hub);
}

/* ---- the other program that hosts a pipe ---- */

static void a_host_is_a_hub_for_its_bridges(void **state)
{
    PipeHubProcess hub;
    HostProcess host;
    AddinPeer addin;
    char socket[96];
    char schema[96];
    char *answer;
    char pid[32];
    char id[40];
    int wire;

    (void)state;
    hub_init(&hub, program);
    (void)snprintf(socket, sizeof(socket), "%s/h.sock", hub.folder);
    (void)snprintf(schema, sizeof(schema), "%s/h.json", hub.folder);
    hub_write_file(hub.config, "{\"pipe\":\"" PIPE_NAME "\"}");
    host_start(&host, program,
               (const char *const[]){"host", "--config", hub.config, "--socket", socket, "--schema",
                                     schema, NULL});
    assert_non_null(strstr(host.ready, "0 tools"));
    addin_open(&addin, &hub, OFFER);
    addin_send(&addin, PING);
    expect_pong(&addin); /* so what it offers has been heard */
    wire = bridge_connect(socket);
    frame_write_str(wire, "{\"method\":\"call_tool\",\"params\":{\"name\":\"plan.a\",\"arguments\":"
                          "{\"n\":1}}}");
    addin_expect_call(&addin, "plan.a", "{\"n\":1}", id);
    addin_answer(&addin, id, "{\"made\":7}");
    answer = frame_read(wire, NULL);
    assert_non_null(answer);
    assert_non_null(strstr(answer, "{\\\"made\\\":7}"));
    free(answer);
    /* A second one is refused, with the pid of the first. */
    (void)snprintf(pid, sizeof(pid), "process %d", (int)host.pid);
    assert_int_equal(run_program(program,
                                 (const char *const[]){"host", "--config", hub.config, "--socket",
                                                       "/nonexistent/h.sock", NULL},
                                 NULL, &answer),
                     1);
    assert_non_null(strstr(answer, pid));
    free(answer);
    (void)close(wire);
    assert_int_equal(host_stop(&host, SIGTERM), 0);
    addin_expect_end(&addin);
    hub_deinit(&hub);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_pipe_is_where_net_programs_look_and_only_for_this_user),
        cmocka_unit_test(the_documents_name_is_the_default),
        cmocka_unit_test(a_pipe_that_another_hub_has_is_refused_with_its_pid),
        cmocka_unit_test(what_a_killed_hub_left_is_replaced),
        cmocka_unit_test(wrong_use_is_explained),
        cmocka_unit_test(a_tool_that_two_files_have_is_told_with_both),
        cmocka_unit_test(the_tool_files_of_the_original_are_read),
        cmocka_unit_test(a_clash_names_the_tool),
        cmocka_unit_test(what_is_no_pipe_is_not_touched),
        cmocka_unit_test(both_sides_ping_and_answer),
        cmocka_unit_test(an_add_in_without_a_pong_is_dead),
        cmocka_unit_test(an_add_in_inside_a_call_may_be_silent),
        cmocka_unit_test(one_that_is_silent_after_its_call_is_dead),
        cmocka_unit_test(an_add_in_that_connects_again_is_served_again),
        cmocka_unit_test(sigterm_lets_a_call_finish),
        cmocka_unit_test(the_drain_is_bounded),
        cmocka_unit_test(a_host_is_a_hub_for_its_bridges),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_pipe_hub_life TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
