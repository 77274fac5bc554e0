/* What a session does differently over HTTP: nothing is proved by silence, some refusals are tried
 * again, and a session may be begun anew. */
#include "client_testing.h"

#define CALL(id)                                                                                   \
    "{\"jsonrpc\":\"2.0\",\"id\":" #id                                                             \
    ",\"method\":\"tools/call\",\"params\":{\"name\":\"t\"," META "}}\n"
#define LIST(id, cursor)                                                                           \
    "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"tools/list\",\"params\":{" cursor META "}}"  \
    "\n"
#define REFUSED(id, code, data)                                                                    \
    "{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"error\":{\"code\":" #code ",\"message\":\"m\"" data "}" \
    "}"
#define NAMES_OURS ",\"data\":{\"supported\":[\"2026-07-28\"]}"

static void wire_assume(Wire *wire)
{
    wire_init(wire, MCP_CLIENT_ASSUME);
    wire->config.is_http = true;
    wire_start(wire);
    wire_drain(wire);
    events(wire, "READY 2026-07-28\n");
    sent(wire, "");
    (void)asks_for(wire, "tools/call", "{\"name\":\"t\"}");
    sent(wire, CALL(1));
}

static void a_version_that_the_server_names_is_tried_once_more(void **state)
{
    Wire wire;

    (void)state;
    wire_assume(&wire);
    says(&wire, REFUSED(1, -32022, NAMES_OURS));
    sent(&wire, CALL(2));
    events(&wire, "");
    says(&wire, REFUSED(2, -32022, NAMES_OURS));
    sent(&wire, "");
    events(&wire, "ERROR 1 -32022 m {\"supported\":[\"2026-07-28\"]}\n");
    wire_deinit(&wire);
    wire_assume(&wire);
    says(&wire, REFUSED(1, -32022, ",\"data\":{\"supported\":[\"2030-01-01\"]}"));
    sent(&wire, "");
    wire_deinit(&wire);
}

static void refused_headers_make_the_tools_be_listed(void **state)
{
    Wire wire;

    (void)state;
    wire_assume(&wire);
    says(&wire, REFUSED(1, -32020, ""));
    sent(&wire, LIST(2, ""));
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"tools\":[],\"nextCursor\":\"\"}}");
    sent(&wire, LIST(3, "\"cursor\":\"\","));
    events(&wire, "");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"tools\":[]}}");
    sent(&wire, CALL(4));
    says(&wire, REFUSED(4, -32020, ""));
    sent(&wire, "");
    events(&wire, "ERROR 1 -32020 m\n");
    wire_deinit(&wire);
    /* A list that does not come. */
    wire_assume(&wire);
    says(&wire, REFUSED(1, -32020, ""));
    says(&wire, REFUSED(2, -32601, ""));
    events(&wire,
           "ERROR 1 -32020 the server refuses the headers of the call, and does not list its "
           "tools\n");
    wire_deinit(&wire);
    /* One that leads to itself for ever. */
    wire_assume(&wire);
    says(&wire, REFUSED(1, -32020, ""));
    for (int id = 2; id < 150 && wire.events.n == 0; id++) {
        char page[100];

        (void)snprintf(page, sizeof(page),
                       "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"nextCursor\":\"x\"}}", id);
        bytes_clear(&wire.sent);
        says(&wire, page);
        assert_int_equal(bytes_append_byte(&wire.sent, '\0'), 0);
        if (strstr(wire.sent.data, "tools/call") != NULL) {
            break;
        }
        assert_true(id < 120);
    }
    wire_deinit(&wire);
}

static void silence_proves_no_era(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_AUTO);
    wire.config.is_http = true;
    wire_start(&wire);
    sent(&wire, PROBE(1));
    advance(&wire, 5000);
    sent(&wire, "");
    events(&wire, "FAILED the server did not answer server/discover in time\n");
    wire_deinit(&wire);
}

static void a_session_is_begun_anew_beneath_its_requests(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire.config.is_http = true;
    wire_ready_legacy(&wire, WELCOME(1, "2025-11-25"));
    (void)asks_for(&wire, "a", "");
    bytes_clear(&wire.sent);
    assert_int_equal(mcp_client_renew(wire.client, wire.now_ms), 0);
    sent(&wire, INITIALIZE(3));
    (void)asks_for(&wire, "b", "");
    sent(&wire, "");
    says(&wire, WELCOME(3, "2025-11-25"));
    sent(&wire, INITIALIZED "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"b\"}\n");
    events(&wire, "RENEWED\n");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
    events(&wire, "RESULT 2 {}\n");
    mcp_client_break(wire.client, SPAN("the wire is gone"), wire.now_ms);
    wire_drain(&wire);
    events(&wire, "ERROR 4 -32000 the session with the server ended\nFAILED the wire is gone\n");
    assert_int_equal(mcp_client_renew(wire.client, wire.now_ms), 0);
    sent(&wire, "");
    wire_deinit(&wire);
}

static void a_question_says_which_request_it_came_with(void **state)
{
    static const char question[] = "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"roots/list\"}";
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire.config.can = CALL_CAN_ROOTS;
    wire_ready_legacy(&wire, WELCOME(1, "2025-11-25"));
    (void)asks_for(&wire, "a", "");
    assert_int_equal(mcp_client_receive_with(wire.client, span_from_str(question), 2, wire.now_ms),
                     0);
    wire_drain(&wire);
    events(&wire, "ASK #3 roots 2\n");
    /* One that nobody waits for, or by another way. */
    assert_int_equal(mcp_client_receive_with(wire.client, span_from_str(question), 9, wire.now_ms),
                     0);
    says(&wire, question);
    events(&wire, "ASK #4 roots\nASK #5 roots\n");
    wire_deinit(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_version_that_the_server_names_is_tried_once_more),
        cmocka_unit_test(refused_headers_make_the_tools_be_listed),
        cmocka_unit_test(silence_proves_no_era),
        cmocka_unit_test(a_session_is_begun_anew_beneath_its_requests),
        cmocka_unit_test(a_question_says_which_request_it_came_with),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
