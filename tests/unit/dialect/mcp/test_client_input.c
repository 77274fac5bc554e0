/* What a server asks of a client, as requests in legacy eras and as results in the modern one. */
#include "client_testing.h"

#include "base/limits.h"
#include "dialect/mcp/client.h"

#define META_CAN(can)                                                                              \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":" can ","                                      \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}"
#define META_FORM META_CAN("{\"elicitation\":{\"form\":{}}}")

#define FORM(message)                                                                              \
    "{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":\"" message      \
    "\",\"requestedSchema\":{}}}"

static void ping_is_answered_in_here(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire_ready_legacy(&wire, WELCOME(1, "2025-11-25"));
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":\"p\\u0031\",\"method\":\"ping\"}");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":-7,\"method\":\"ping\",\"params\":{}}");
    sent(&wire, "{\"jsonrpc\":\"2.0\",\"id\":\"p\\u0031\",\"result\":{}}\n"
                "{\"jsonrpc\":\"2.0\",\"id\":-7,\"result\":{}}\n");
    events(&wire, "");
    wire_deinit(&wire);
}

static void what_was_not_declared_is_refused(void **state)
{
    static const char *const methods[] = {"sampling/createMessage", "roots/list",
                                          "elicitation/create", "tasks/get"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(methods); i++) {
        char request[128];
        Wire wire;

        wire_init(&wire, MCP_CLIENT_LEGACY);
        wire_ready_legacy(&wire, WELCOME(1, "2025-11-25"));
        (void)snprintf(request, sizeof(request), "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"%s\"}",
                       methods[i]);
        says(&wire, request);
        sent(&wire, "{\"jsonrpc\":\"2.0\",\"id\":5,\"error\":{\"code\":-32601,"
                    "\"message\":\"Method not found\"}}\n");
        events(&wire, "");
        wire_deinit(&wire);
    }
}

static void legacy_question_is_answered_under_its_id(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire.config.can = CALL_CAN_FORM | CALL_CAN_URL | CALL_CAN_SAMPLE | CALL_CAN_ROOTS;
    wire_ready_legacy(&wire, WELCOME(1, "2025-11-25"));
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"roots/list\"}");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"elicitation/create\",\"params\":{}}");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"elicitation/create\","
                "\"params\":{\"mode\":\"url\"}}");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"sampling/createMessage\","
                "\"params\":{\"maxTokens\":1}}");
    events(&wire, "ASK #2 roots\nASK #3 form {}\nASK #4 url {\"mode\":\"url\"}\n"
                  "ASK #5 sample {\"maxTokens\":1}\n");
    assert_int_equal(mcp_client_answer(wire.client, 3, SPAN("{\"action\":\"cancel\"}"), 0), 0);
    assert_int_equal(mcp_client_refuse(wire.client, 5, -1, SPAN("not now"), 0), 0);
    assert_int_equal(mcp_client_answer(wire.client, 2, SPAN("{\"roots\":[]}"), 0), 0);
    sent(&wire, "{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{\"action\":\"cancel\"}}\n"
                "{\"jsonrpc\":\"2.0\",\"id\":10,\"error\":{\"code\":-1,\"message\":\"not now\"}}\n"
                "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{\"roots\":[]}}\n");
    /* Twice is once. */
    assert_int_equal(mcp_client_answer(wire.client, 3, SPAN("{}"), 0), 0);
    assert_int_equal(mcp_client_refuse(wire.client, 3, -1, SPAN("x"), 0), 0);
    sent(&wire, "");
    wire_deinit(&wire);
}

static void legacy_question_can_be_taken_back(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire.config.can = CALL_CAN_ROOTS;
    wire_ready_legacy(&wire, WELCOME(1, "2025-11-25"));
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":\"7\",\"method\":\"roots/list\"}");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                "\"params\":{\"requestId\":7}}");
    events(&wire, "ASK #2 roots\n");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                "\"params\":{\"requestId\":\"7\"}}");
    events(&wire, "UNASK #2\n");
    assert_int_equal(mcp_client_answer(wire.client, 2, SPAN("{}"), 0), 0);
    sent(&wire, "");
    wire_deinit(&wire);
}

static void legacy_questions_are_bounded(void **state)
{
    char request[1300];
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire.config.can = CALL_CAN_ROOTS;
    wire_ready_legacy(&wire, WELCOME(1, "2025-11-25"));
    for (int i = 0; i < 64; i++) {
        says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}");
    }
    sent(&wire, "");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"roots/list\"}");
    sent(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32603,"
                "\"message\":\"Too many questions are open\"}}\n");
    bytes_clear(&wire.events);
    mcp_client_peer_ended(wire.client, 0);
    wire_drain(&wire);
    assert_int_equal(bytes_append_byte(&wire.events, '\0'), 0);
    assert_non_null(strstr(wire.events.data, "UNASK #65\nFAILED the server ended\n"));
    wire_deinit(&wire);

    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire.config.can = CALL_CAN_ROOTS;
    wire_ready_legacy(&wire, WELCOME(1, "2025-11-25"));
    (void)snprintf(request, sizeof(request),
                   "{\"jsonrpc\":\"2.0\",\"id\":\"%01100d\",\"method\":\"roots/list\"}", 0);
    says(&wire, request);
    events(&wire, "");
    assert_int_equal(bytes_append_byte(&wire.sent, '\0'), 0);
    assert_non_null(strstr(wire.sent.data, "\"error\":{\"code\":-32600"));
    wire_deinit(&wire);
}

static void modern_question_repeats_the_call_with_the_answers(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire.config.can = CALL_CAN_FORM;
    wire_ready_modern(&wire);
    assert_int_equal(asks_for(&wire, "tools/call", "{\"name\":\"x\",\"arguments\":{\"n\":1.50}}"),
                     2);
    bytes_clear(&wire.sent);
    /* Escapes that could be spelt otherwise must come back as they are. */
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"input_required\","
                "\"inputRequests\":{\"who\":" FORM("Name?") ",\"w\\u0068y\":" FORM(
                    "Why?") "},"
                            "\"requestState\":\"a\\u0062\\/\\\"c\"}}");
    events(&wire,
           "ASK #3 form 2 who {\"mode\":\"form\",\"message\":\"Name?\",\"requestedSchema\":{}}\n"
           "ASK #4 form 2 why {\"mode\":\"form\",\"message\":\"Why?\",\"requestedSchema\":{}}\n");
    assert_int_equal(mcp_client_answer(wire.client, 4, SPAN("{\"action\":\"decline\"}"), 0), 0);
    sent(&wire, "");
    assert_int_equal(
        mcp_client_answer(wire.client, 3, SPAN("{\"action\":\"accept\",\"content\":{}}"), 0), 0);
    sent(&wire, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"tools/call\",\"params\":{"
                "\"name\":\"x\",\"arguments\":{\"n\":1.50},\"inputResponses\":{"
                "\"who\":{\"action\":\"accept\",\"content\":{}},"
                "\"why\":{\"action\":\"decline\"}},"
                "\"requestState\":\"a\\u0062\\/\\\"c\"," META_FORM "}}\n");
    /* The number of the first time is no longer anybody's. */
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"complete\"}}");
    events(&wire, "");
    says(&wire,
         "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"resultType\":\"complete\",\"content\":[]}}");
    events(&wire, "RESULT 2 {\"resultType\":\"complete\",\"content\":[]}\n");
    assert_int_equal(mcp_client_n_skipped(wire.client), 1);
    wire_deinit(&wire);
}

static void state_without_questions_repeats_at_once_and_is_sent_once(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire.config.can = CALL_CAN_FORM;
    wire_ready_modern(&wire);
    (void)asks_for(&wire, "resources/read", "{\"uri\":\"u:\"}");
    bytes_clear(&wire.sent);
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"input_required\","
                "\"requestState\":\"\"}}");
    sent(&wire, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/read\",\"params\":{"
                "\"uri\":\"u:\",\"requestState\":\"\"," META_FORM "}}\n");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resultType\":\"input_required\","
                "\"inputRequests\":{\"a\":" FORM("A") "}}}");
    assert_int_equal(mcp_client_refuse(wire.client, wire.ask, -1, SPAN("no"), 0), 0);
    sent(&wire,
         "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"resources/read\",\"params\":{"
         "\"uri\":\"u:\",\"inputResponses\":{\"a\":{\"action\":\"decline\"}}," META_FORM "}}\n");
    wire_deinit(&wire);
}

static void rounds_are_bounded(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire.config.max_rounds = 3;
    wire_ready_modern(&wire);
    (void)asks_for(&wire, "tools/call", "{}");
    for (int id = 2; id < 6; id++) {
        char answer[128];

        events(&wire, "");
        (void)snprintf(answer, sizeof(answer),
                       "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"resultType\":"
                       "\"input_required\",\"requestState\":\"x\"}}",
                       id);
        says(&wire, answer);
    }
    events(&wire, "ERROR 2 -32603 the server asked for input too many times\n");
    wire_deinit(&wire);
}

/* Each of these ends the call, and the session goes on. */
static void senseless_questions_end_the_call(void **state)
{
    static const struct {
        const char *method;
        const char *result;
        const char *why;
    } cases[] = {
        {"tools/list", "\"requestState\":\"x\"", "the server asks for input where it must not"},
        {"tools/call", "\"x\":1", "the server asks for input where it must not"},
        {"tools/call", "\"requestState\":7", "the server's requestState is not a string"},
        {"tools/call", "\"inputRequests\":[]", "the server's inputRequests is not an object"},
        {"tools/call", "\"inputRequests\":{\"a\":7}", "the server asks for input that is unknown"},
        {"tools/call", "\"inputRequests\":{\"a\":{\"method\":7}}",
         "the server asks for input that is unknown"},
        {"tools/call", "\"inputRequests\":{\"a\":{\"method\":\"tools/list\"}}",
         "the server asks for input that is unknown"},
        {"tools/call",
         "\"inputRequests\":{\"a\":" FORM("A") ",\"b\":{\"method\":\"sampling/createMessage\"}}",
         "the server asks for input that we cannot give"},
        {"tools/call",
         "\"inputRequests\":{\"a\":{\"method\":\"elicitation/create\",\"params\":{\"mode\":"
         "\"url\"}}}",
         "the server asks for input that we cannot give"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        char text[512];
        Wire wire;

        wire_init(&wire, MCP_CLIENT_MODERN);
        wire.config.can = CALL_CAN_FORM;
        wire_ready_modern(&wire);
        (void)asks_for(&wire, cases[i].method, "{}");
        (void)snprintf(
            text, sizeof(text),
            "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"input_required\",%s}}",
            cases[i].result);
        says(&wire, text);
        (void)snprintf(text, sizeof(text), "ERROR 2 -32603 %s\n", cases[i].why);
        events(&wire, text);
        assert_true(mcp_client_is_ready(wire.client));
        assert_int_equal(mcp_client_next_deadline(wire.client), INT64_MAX);
        wire_deinit(&wire);
    }
}

static void question_that_cannot_be_declined_ends_the_call_when_refused(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire.config.can = CALL_CAN_SAMPLE | CALL_CAN_FORM;
    wire_ready_modern(&wire);
    (void)asks_for(&wire, "prompts/get", "{}");
    bytes_clear(&wire.sent);
    says(&wire,
         "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"input_required\","
         "\"inputRequests\":{\"f\":" FORM("F") ",\"s\":{\"method\":"
                                               "\"sampling/createMessage\",\"params\":{}}}}}");
    bytes_clear(&wire.events);
    assert_int_equal(mcp_client_refuse(wire.client, wire.ask, -5, SPAN("no"), 0), 0);
    wire_drain(&wire);
    events(&wire, "UNASK #3\nUNASK #4\n"
                  "ERROR 2 -5 the server asked for input that was refused\n");
    sent(&wire, "");
    wire_deinit(&wire);
}

static void cancelling_a_call_that_waits_for_answers_takes_the_questions_back(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire.config.can = CALL_CAN_FORM;
    wire_ready_modern(&wire);
    (void)asks_for(&wire, "tools/call", "{}");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"input_required\","
                "\"inputRequests\":{\"f\":" FORM("F") "}}}");
    bytes_clear(&wire.events);
    bytes_clear(&wire.sent);
    mcp_client_cancel(wire.client, 2, SPAN("enough"));
    wire_drain(&wire);
    events(&wire, "UNASK #3\nERROR 2 -32800 the request was cancelled\n");
    /* The server has answered that request: there is nothing to be cancelled there. */
    sent(&wire, "");
    wire_deinit(&wire);
}

static void question_that_was_answered_is_not_taken_back(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire.config.can = CALL_CAN_FORM;
    wire_ready_modern(&wire);
    (void)asks_for(&wire, "tools/call", "{}");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"input_required\","
                "\"inputRequests\":{\"f\":" FORM("F") ",\"g\":" FORM("G") "}}}");
    bytes_clear(&wire.events);
    assert_int_equal(mcp_client_answer(wire.client, 3, SPAN("{}"), 0), 0);
    mcp_client_cancel(wire.client, 2, SPAN_NULL);
    wire_drain(&wire);
    events(&wire, "UNASK #4\nERROR 2 -32800 the request was cancelled\n");
    wire_deinit(&wire);
}

static void clocks_stand_still_while_a_person_reads(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire.config.can = CALL_CAN_FORM;
    wire_ready_modern(&wire);
    (void)asks_for(&wire, "tools/call", "{}");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"input_required\","
                "\"inputRequests\":{\"f\":" FORM("F") "}}}");
    bytes_clear(&wire.events);
    advance(&wire, 10 * LIMIT_MCP_CLIENT_REQUEST_MS);
    events(&wire, "");
    assert_int_equal(mcp_client_next_deadline(wire.client), 1000 + LIMIT_CALL_MAX_MS);
    assert_int_equal(mcp_client_answer(wire.client, 3, SPAN("{}"), wire.now_ms), 0);
    advance(&wire, LIMIT_MCP_CLIENT_REQUEST_MS - 1);
    events(&wire, "");
    advance(&wire, 1);
    events(&wire, "ERROR 2 -32001 the server did not answer in time\n");
    wire_deinit(&wire);

    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire.config.can = CALL_CAN_FORM;
    wire_ready_legacy(&wire, WELCOME(1, "2025-11-25"));
    (void)asks_for(&wire, "tools/call", "{}");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"elicitation/create\",\"params\":{}}");
    events(&wire, "ASK #3 form {}\n");
    advance(&wire, 10 * LIMIT_MCP_CLIENT_REQUEST_MS);
    events(&wire, "");
    assert_int_equal(mcp_client_next_deadline(wire.client), 1000 + LIMIT_CALL_MAX_MS);
    assert_int_equal(mcp_client_answer(wire.client, 3, SPAN("{}"), wire.now_ms), 0);
    assert_int_equal(mcp_client_next_deadline(wire.client),
                     wire.now_ms + LIMIT_MCP_CLIENT_REQUEST_MS);
    advance(&wire, LIMIT_MCP_CLIENT_REQUEST_MS);
    events(&wire, "ERROR 2 -32001 the server did not answer in time\n");
    wire_deinit(&wire);
}

static void modern_server_that_sends_requests_is_not_answered(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire.config.can = CALL_CAN_ROOTS;
    wire_ready_modern(&wire);
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"roots/list\"}");
    sent(&wire, "");
    events(&wire, "");
    assert_int_equal(mcp_client_n_skipped(wire.client), 2);
    wire_deinit(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ping_is_answered_in_here),
        cmocka_unit_test(what_was_not_declared_is_refused),
        cmocka_unit_test(legacy_question_is_answered_under_its_id),
        cmocka_unit_test(legacy_question_can_be_taken_back),
        cmocka_unit_test(legacy_questions_are_bounded),
        cmocka_unit_test(modern_question_repeats_the_call_with_the_answers),
        cmocka_unit_test(state_without_questions_repeats_at_once_and_is_sent_once),
        cmocka_unit_test(rounds_are_bounded),
        cmocka_unit_test(senseless_questions_end_the_call),
        cmocka_unit_test(question_that_cannot_be_declined_ends_the_call_when_refused),
        cmocka_unit_test(cancelling_a_call_that_waits_for_answers_takes_the_questions_back),
        cmocka_unit_test(question_that_was_answered_is_not_taken_back),
        cmocka_unit_test(clocks_stand_still_while_a_person_reads),
        cmocka_unit_test(modern_server_that_sends_requests_is_not_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
