/* The trace of the agent's wire; the rest of it is tested by the program (tests/e2e/agent.mjs). */
#include "app/agent_wire.h"

#include <string.h>

#include "support/cmocka.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_shown_with_their_secrets_masked),
        cmocka_unit_test(keys_of_services_are_masked_wherever_they_stand),
        cmocka_unit_test(tokens_of_variables_and_settings_are_masked_in_texts),
        cmocka_unit_test(what_is_no_message_is_not_shown),
        cmocka_unit_test(long_messages_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
