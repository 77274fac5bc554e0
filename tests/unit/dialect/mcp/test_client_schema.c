/* What a client sends, in every revision, held against the official schema of that revision. */
#include "client_testing.h"

#include "dialect/mcp/client.h"
#include "support/mcp_schema.h"

/* All that was sent since the last time, line by line. answered: the server's request that the
 * responses among them answer; NULL if there is none. */
static size_t check_sent(Wire *wire, McpRevision revision, const char *answered)
{
    Span rest = bytes_span(&wire->sent);
    size_t n = 0;

    while (rest.n > 0) {
        const char *newline = memchr(rest.p, '\n', rest.n);
        Span line = span_make(rest.p, (size_t)(newline - rest.p));

        mcp_schema_assert_client_message(revision, answered, line);
        rest = span_make(newline + 1, rest.n - line.n - 1);
        n++;
    }
    bytes_clear(&wire->sent);
    return n;
}

static void wire_init_full(Wire *wire, McpClientMode mode)
{
    wire_init(wire, mode);
    wire->identity.title = SPAN("A title");
    wire->identity.description = SPAN("A \"description\"");
    wire->identity.website_url = SPAN("https://example.org/");
    wire->identity.icons = SPAN("[{\"src\":\"https://example.org/i.png\"}]");
    wire->config.can = CALL_CAN_FORM | CALL_CAN_URL | CALL_CAN_SAMPLE | CALL_CAN_ROOTS;
    wire->config.log_level = CALL_LOG_NOTICE;
}

static void requests_of_ours(Wire *wire, McpRevision revision)
{
    McpRequestId id = 0;

    (void)asks_for(wire, "tools/list", "");
    (void)asks_for(wire, "tools/list", "{\"cursor\":\"\"}");
    (void)asks_for(wire, "resources/list", "");
    (void)asks_for(wire, "resources/templates/list", "");
    (void)asks_for(wire, "resources/read", "{\"uri\":\"file:///a\"}");
    (void)asks_for(wire, "prompts/list", "{}");
    (void)asks_for(wire, "prompts/get", "{\"name\":\"p\",\"arguments\":{\"a\":\"1\"}}");
    assert_int_equal(mcp_client_request(wire->client, SPAN("tools/call"),
                                        SPAN("{\"name\":\"t\",\"arguments\":{\"a\":1}}"), true,
                                        wire->now_ms, &id),
                     0);
    assert_int_equal(check_sent(wire, revision, NULL), 8);
    mcp_client_cancel(wire->client, id, SPAN("no longer needed"));
    mcp_client_cancel(wire->client, id - 1, SPAN_NULL);
    assert_int_equal(check_sent(wire, revision, NULL), 2);
}

static void questions_of_the_server(Wire *wire, McpRevision revision)
{
    says(wire, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}");
    assert_int_equal(check_sent(wire, revision, "ping"), 1);
    says(wire, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"roots/list\"}");
    assert_int_equal(mcp_client_answer(wire->client, wire->ask,
                                       SPAN("{\"roots\":[{\"uri\":\"file:///srv\"}]}"), 0),
                     0);
    assert_int_equal(check_sent(wire, revision, "roots/list"), 1);
    says(wire,
         "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"sampling/createMessage\",\"params\":{}}");
    assert_int_equal(mcp_client_refuse(wire->client, wire->ask, -1, SPAN("not here"), 0), 0);
    says(wire, "{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"unknown/method\"}");
    assert_int_equal(check_sent(wire, revision, NULL), 2);
}

static void legacy_messages_are_valid(void **state)
{
    static const char *const welcomes[] = {WELCOME(1, "2024-11-05"), WELCOME(1, "2025-03-26"),
                                           WELCOME(1, "2025-06-18"), WELCOME(1, "2025-11-25")};

    (void)state;
    for (McpRevision revision = MCP_2024_11_05; revision < MCP_FIRST_MODERN; revision++) {
        Wire wire;

        wire_init_full(&wire, MCP_CLIENT_LEGACY);
        wire.config.legacy_revision = revision;
        wire_start(&wire);
        says(&wire, welcomes[revision]);
        assert_int_equal(mcp_client_revision(wire.client), revision);
        assert_int_equal(
            mcp_client_notify(wire.client, SPAN("notifications/roots/list_changed"), SPAN_NULL), 0);
        /* initialize, initialized, logging/setLevel, roots/list_changed */
        assert_int_equal(check_sent(&wire, revision, NULL), 4);
        requests_of_ours(&wire, revision);
        questions_of_the_server(&wire, revision);
        wire_deinit(&wire);
    }
}

static void modern_messages_are_valid(void **state)
{
    Wire wire;

    (void)state;
    wire_init_full(&wire, MCP_CLIENT_MODERN);
    wire_start(&wire);
    says(&wire, DISCOVERED(1));
    assert_int_equal(check_sent(&wire, MCP_2026_07_28, NULL), 1);
    requests_of_ours(&wire, MCP_2026_07_28);
    assert_int_equal(asks_for(&wire, "tools/call", "{\"name\":\"t\"}"), 10);
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":10,\"result\":{\"resultType\":\"input_required\","
                "\"requestState\":\"s\",\"inputRequests\":{"
                "\"f\":{\"method\":\"elicitation/create\",\"params\":{\"message\":\"m\"}},"
                "\"r\":{\"method\":\"roots/list\"}}}}");
    assert_int_equal(mcp_client_answer(wire.client, wire.ask, SPAN("{\"roots\":[]}"), 0), 0);
    assert_int_equal(mcp_client_refuse(wire.client, wire.ask - 1, -1, SPAN("no"), 0), 0);
    (void)asks_for(&wire, "subscriptions/listen",
                   "{\"notifications\":{\"toolsListChanged\":true}}");
    /* The call, the call with the answers, the subscription. */
    assert_int_equal(check_sent(&wire, MCP_2026_07_28, NULL), 3);
    wire_deinit(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legacy_messages_are_valid),
        cmocka_unit_test(modern_messages_are_valid),
    };

    mcp_schema_require();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
