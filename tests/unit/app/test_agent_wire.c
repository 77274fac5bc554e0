/* The trace of the agent's wire, and a shell that keeps it busy; the rest of it is tested by the
 * program (tests/e2e/agent.mjs). */
#include "app/agent_wire.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/cmocka.h"
#include "support/turns.h"

static const char *const environment[] = {"OTHER_API_KEY=",
                                          "API_NAMES=not-a-secret",
                                          "SHORT_API_KEY=Hi",
                                          "OPENAI_API_KEY=sk-/0123\"456",
                                          "GH_TOKEN=ghp_abcdef",
                                          "GH_TOKEN_2=ghp_abcdefghi",
                                          NULL};
static const char *const secrets[] = {"hub-token", "short", NULL};

static void assert_traced(Span line, const char *expected)
{
    Bytes out;

    bytes_init(&out, 1 << 20);
    assert_int_equal(agent_wire_trace_line(&out, "[SEND]", line, environment, secrets), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    assert_string_equal(out.data, expected);
    bytes_deinit(&out);
}

static void messages_are_shown_with_their_secrets_masked(void **state)
{
    (void)state;
    assert_traced(SPAN("{\"type\":\"token\",\"token\":\"Hi\"}"),
                  "[SEND] {\"type\":\"token\",\"token\":\"Hi\"}\n");
    assert_traced(
        SPAN("{\"id\":\"1\",\"metadata\":{\"token\":\"x\",\"a\":[{\"apiKey\":{\"b\":1}}]},"
             "\"password\":\"y\"}"),
        "[SEND] {\"id\":\"1\",\"metadata\":{\"token\":\"***\",\"a\":[{\"apiKey\":\"***\"}]"
        "},\"password\":\"***\"}\n");
    assert_traced(SPAN("{}"), "[SEND] {}\n");
}

static void keys_of_services_are_masked_wherever_they_stand(void **state)
{
    (void)state;
    assert_traced(
        SPAN("{\"message\":\"it is sk-/0123\\\"456, sk-\\/\\u003012\\u0033\\\"456 and sk-/0123\"}"),
        "[SEND] {\"message\":\"it is ***, *** and sk-/0123\"}\n");
    assert_traced(SPAN("{\"data\":{\"result\":[\"sk-/0123\\\"456\",\"not-a-secret\"]}}"),
                  "[SEND] {\"data\":{\"result\":[\"***\",\"not-a-secret\"]}}\n");
    assert_traced(SPAN("{\"a\":\"sk-\\u002\"}"), "[SEND] (16 bytes that are no message)\n");
}

static void tokens_of_variables_and_settings_are_masked_in_texts(void **state)
{
    (void)state;
    assert_traced(
        SPAN("{\"message\":\"/call f {\\\"t\\\":\\\"ghp_abcdef\\\"} ghp_abcdefghi ghp_abcde\"}"),
        "[SEND] {\"message\":\"/call f {\\\"t\\\":\\\"***\\\"} *** ghp_abcde\"}\n");
    assert_traced(SPAN("{\"type\":\"token\",\"token\":\"is hub-token, short\"}"),
                  "[SEND] {\"type\":\"token\",\"token\":\"is ***, short\"}\n");
}

static void what_is_no_message_is_not_shown(void **state)
{
    (void)state;
    assert_traced(SPAN("password=x"), "[SEND] (10 bytes that are no message)\n");
    assert_traced(SPAN("[\"x\"]"), "[SEND] (5 bytes that are no message)\n");
}

static void long_messages_are_cut(void **state)
{
    static char line[20000];
    Bytes out;

    (void)state;
    memset(line, 'x', sizeof(line));
    memcpy(line, "{\"a\":\"", 6);
    memcpy(line + sizeof(line) - 2, "\"}", 2);
    bytes_init(&out, 1 << 20);
    assert_int_equal(
        agent_wire_trace_line(&out, "[RECV]", span_make(line, sizeof(line)), environment, NULL), 0);
    assert_true(out.n <= LOGSINK_LINE_MAX);
    assert_true(span_ends_with(bytes_span(&out), SPAN(LOGSINK_CUT_MARK "\n")));
    bytes_deinit(&out);
}

typedef struct Shell {
    IoLoop *loop;
    size_t n_lines;
    int failure;
} Shell;

static void shell_on_line(void *context, Span line)
{
    Shell *shell = context;

    (void)line;
    shell->n_lines++;
    turns_burn();
}

static void shell_on_failed(void *context, int r)
{
    Shell *shell = context;

    shell->failure = r;
    io_loop_stop(shell->loop);
}

/* Each of its lines takes a while, and hundreds have come at once: the model's answers wait. */
static void a_shell_whose_turn_takes_too_long_fails(void **state)
{
    static char lines[TURNS_MESSAGES * 3];
    static Turns turns;
    AgentWire *wire = NULL;
    Shell shell = {.failure = 0};
    int fds[2];

    (void)state;
    assert_int_equal(io_loop_new(&shell.loop), 0);
    turns_watch(&turns, shell.loop);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    assert_int_equal(agent_wire_new(&wire, &(AgentWireConfig){.loop = shell.loop,
                                                              .in_fd = fds[0],
                                                              .out_fd = fds[0],
                                                              .line = shell_on_line,
                                                              .failed = shell_on_failed,
                                                              .context = &shell}),
                     0);
    for (int i = 0; i < TURNS_MESSAGES; i++) {
        memcpy(lines + (size_t)i * 3, "{}\n", 3);
    }
    assert_int_equal(write(fds[1], lines, sizeof(lines)), sizeof(lines));
    assert_int_equal(io_loop_run(shell.loop), 0);
    assert_int_equal(shell.failure, -ETIMEDOUT);
    assert_true(shell.n_lines < TURNS_MESSAGES);
    turns_assert_blamed(&turns, "the shell that the agent serves");
    wire = agent_wire_free(wire);
    assert_int_equal(close(fds[1]), 0);
    shell.loop = io_loop_free(shell.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_shown_with_their_secrets_masked),
        cmocka_unit_test(keys_of_services_are_masked_wherever_they_stand),
        cmocka_unit_test(tokens_of_variables_and_settings_are_masked_in_texts),
        cmocka_unit_test(what_is_no_message_is_not_shown),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(a_shell_whose_turn_takes_too_long_fails),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
