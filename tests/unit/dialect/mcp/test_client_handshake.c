/* How a client finds out what it talks to, and what it does when it cannot. */
#include "client_testing.h"

#include "base/limits.h"
#include "dialect/mcp/client.h"

static void answer_to_the_probe_opens_a_modern_session(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_AUTO);
    wire_start(&wire);
    sent(&wire, PROBE(1));
    says(&wire, DISCOVERED(1));
    events(&wire, "READY 2026-07-28\n");
    sent(&wire, "");
    assert_int_equal(mcp_client_revision(wire.client), MCP_2026_07_28);
    assert_int_equal(mcp_client_next_deadline(wire.client), INT64_MAX);
    wire_deinit(&wire);
}

static void any_other_error_to_the_probe_means_a_legacy_server(void **state)
{
    static const char *const answers[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32000,\"message\":\"no\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32600,\"message\":\"no\"}}",
        "{\"jsonrpc\":\"2.0\",\"error\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(answers); i++) {
        Wire wire;

        wire_init(&wire, MCP_CLIENT_AUTO);
        wire_start(&wire);
        sent(&wire, PROBE(1));
        says(&wire, answers[i]);
        sent(&wire, INITIALIZE(2));
        says(&wire, WELCOME(2, "2025-06-18"));
        sent(&wire, INITIALIZED);
        events(&wire, "READY 2025-06-18\n");
        assert_int_equal(mcp_client_revision(wire.client), MCP_2025_06_18);
        wire_deinit(&wire);
    }
}

static void silence_means_a_legacy_server_and_a_late_answer_changes_nothing(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_AUTO);
    wire_start(&wire);
    sent(&wire, PROBE(1));
    assert_int_equal(mcp_client_next_deadline(wire.client), 1000 + LIMIT_MCP_PROBE_MS);
    advance(&wire, LIMIT_MCP_PROBE_MS - 1);
    sent(&wire, "");
    advance(&wire, 1);
    sent(&wire, INITIALIZE(2));
    says(&wire, DISCOVERED(1));
    events(&wire, "");
    assert_int_equal(mcp_client_n_skipped(wire.client), 1);
    says(&wire, WELCOME(2, "2025-11-25"));
    events(&wire, "READY 2025-11-25\n");
    says(&wire, DISCOVERED(1));
    assert_int_equal(mcp_client_revision(wire.client), MCP_2025_11_25);
    wire_deinit(&wire);
}

static void server_that_ends_on_the_probe_is_restarted_once(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_AUTO);
    wire_start(&wire);
    (void)asks_for(&wire, "tools/list", "");
    mcp_client_peer_ended(wire.client, wire.now_ms);
    wire_drain(&wire);
    events(&wire, "RESTART\n");
    sent(&wire, PROBE(1));
    /* It is gone: what still comes is not for the new one. */
    says(&wire, DISCOVERED(1));
    events(&wire, "");
    assert_int_equal(mcp_client_restarted(wire.client, wire.now_ms), 0);
    sent(&wire, INITIALIZE(3));
    says(&wire, WELCOME(3, "2024-11-05"));
    sent(&wire, INITIALIZED "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n");
    events(&wire, "READY 2024-11-05\n");
    mcp_client_peer_ended(wire.client, wire.now_ms);
    wire_drain(&wire);
    events(&wire, "ERROR 2 -32000 the session with the server ended\nFAILED the server ended\n");
    wire_deinit(&wire);
}

static void server_that_ends_again_has_failed(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_AUTO);
    wire_start(&wire);
    mcp_client_peer_ended(wire.client, wire.now_ms);
    wire_drain(&wire);
    events(&wire, "RESTART\n");
    assert_int_equal(mcp_client_restarted(wire.client, wire.now_ms), 0);
    mcp_client_peer_ended(wire.client, wire.now_ms);
    wire_drain(&wire);
    events(&wire, "FAILED the server ended before it had answered\n");
    assert_int_equal(mcp_client_next_deadline(wire.client), INT64_MAX);
    wire_deinit(&wire);
}

/* It says no to the probe, and is too upset by it for anything else. */
static void server_that_ends_or_stalls_after_refusing_the_probe_is_restarted(void **state)
{
    (void)state;
    for (int stalls = 0; stalls < 2; stalls++) {
        Wire wire;

        wire_init(&wire, MCP_CLIENT_AUTO);
        wire_start(&wire);
        says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"\"}}");
        if (stalls) {
            advance(&wire, LIMIT_MCP_CLIENT_REQUEST_MS);
        } else {
            mcp_client_peer_ended(wire.client, wire.now_ms);
            wire_drain(&wire);
        }
        events(&wire, "RESTART\n");
        assert_int_equal(mcp_client_restarted(wire.client, wire.now_ms), 0);
        sent(&wire, PROBE(1) INITIALIZE(2) INITIALIZE(3));
        advance(&wire, LIMIT_MCP_CLIENT_REQUEST_MS);
        events(&wire, "FAILED the server did not answer initialize in time\n");
        wire_deinit(&wire);
    }
}

/* It has never said a word: 5 s of the probe and 60 s of `initialize` are enough. */
static void server_that_never_answers_is_not_restarted(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_AUTO);
    wire_start(&wire);
    advance(&wire, LIMIT_MCP_PROBE_MS);
    sent(&wire, PROBE(1) INITIALIZE(2));
    advance(&wire, LIMIT_MCP_CLIENT_REQUEST_MS - 1);
    events(&wire, "");
    advance(&wire, 1);
    events(&wire, "FAILED the server did not answer initialize in time\n");
    wire_deinit(&wire);
}

static void time_of_a_request_bounds_the_probe_and_initialize(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_AUTO);
    wire.config.request_timeout_ms = 300;
    wire_start(&wire);
    assert_int_equal(mcp_client_next_deadline(wire.client), 1300);
    advance(&wire, 300);
    sent(&wire, PROBE(1) INITIALIZE(2));
    assert_int_equal(mcp_client_next_deadline(wire.client), 1600);
    advance(&wire, 300);
    events(&wire, "FAILED the server did not answer initialize in time\n");
    wire_deinit(&wire);

    /* A longer one leaves the probe as it is. */
    wire_init(&wire, MCP_CLIENT_AUTO);
    wire.config.request_timeout_ms = 2 * LIMIT_MCP_CLIENT_REQUEST_MS;
    wire_start(&wire);
    advance(&wire, LIMIT_MCP_PROBE_MS);
    sent(&wire, PROBE(1) INITIALIZE(2));
    assert_int_equal(mcp_client_next_deadline(wire.client),
                     1000 + LIMIT_MCP_PROBE_MS + 2 * LIMIT_MCP_CLIENT_REQUEST_MS);
    wire_deinit(&wire);
}

static void times_as_long_as_they_come_are_no_harm(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_AUTO);
    wire.config.request_timeout_ms = INT64_MAX;
    wire.config.probe_timeout_ms = INT64_MAX;
    wire_start(&wire);
    assert_int_equal(mcp_client_next_deadline(wire.client), 1000 + LIMIT_TIME_MS);
    says(&wire, DISCOVERED(1));
    (void)asks_for(&wire, "tools/list", "");
    assert_int_equal(mcp_client_next_deadline(wire.client), 1000 + LIMIT_TIME_MS);
    wire_deinit(&wire);
}

static void unsupported_version_never_leads_to_initialize(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_AUTO);
    wire_start(&wire);
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":\"no\","
                "\"data\":{\"supported\":[\"2025-11-25\",\"2027-01-01\"]}}}");
    sent(&wire, PROBE(1));
    events(&wire, "FAILED the server speaks other versions of MCP than we do: "
                  "[\"2025-11-25\",\"2027-01-01\"]\n");
    wire_deinit(&wire);

    wire_init(&wire, MCP_CLIENT_AUTO);
    wire_start(&wire);
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":\"no\"}}");
    sent(&wire, PROBE(1));
    events(&wire,
           "FAILED the server does not support the version 2026-07-28, and names no other\n");
    wire_deinit(&wire);
}

static void unsupported_version_that_names_ours_is_tried_once_more(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_AUTO);
    wire_start(&wire);
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":\"no\","
                "\"data\":{\"supported\":[\"2026-07-28\"]}}}");
    sent(&wire, PROBE(1) PROBE(2));
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32022,\"message\":\"no\","
                "\"data\":{\"supported\":[\"2026-07-28\"]}}}");
    sent(&wire, "");
    events(&wire, "FAILED the server speaks other versions of MCP than we do: [\"2026-07-28\"]\n");
    wire_deinit(&wire);
}

static void discovery_without_our_version_fails(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_AUTO);
    wire_start(&wire);
    says(&wire,
         "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"supportedVersions\":[\"2030-01-01\"]}}");
    events(&wire, "FAILED the server speaks other versions of MCP than we do: [\"2030-01-01\"]\n");
    wire_deinit(&wire);
}

static void modern_mode_takes_nothing_else(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_start(&wire);
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"what\"}}");
    events(&wire, "FAILED the server does not know server/discover: what (-32601)\n");
    wire_deinit(&wire);

    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_start(&wire);
    advance(&wire, LIMIT_MCP_PROBE_MS);
    events(&wire, "FAILED the server did not answer server/discover in time\n");
    wire_deinit(&wire);

    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_start(&wire);
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    events(&wire, "FAILED the server's answer to server/discover names no versions\n");
    wire_deinit(&wire);

    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_start(&wire);
    mcp_client_peer_ended(wire.client, wire.now_ms);
    wire_drain(&wire);
    events(&wire, "FAILED the server ended before it had answered\n");
    sent(&wire, PROBE(1));
    wire_deinit(&wire);
}

static void legacy_mode_does_not_probe(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire_start(&wire);
    sent(&wire, INITIALIZE(1));
    says(&wire, WELCOME(1, "2025-03-26"));
    events(&wire, "READY 2025-03-26\n");
    wire_deinit(&wire);
}

static void version_that_is_unknown_ends_the_session(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire_start(&wire);
    (void)asks_for(&wire, "tools/list", "{}");
    says(&wire, WELCOME(1, "2023-01-01"));
    sent(&wire, INITIALIZE(1));
    events(&wire, "ERROR 2 -32000 the session with the server ended\n"
                  "FAILED the server wants version '2023-01-01' of MCP, which we do not speak\n");
    assert_int_equal(
        mcp_client_request(wire.client, SPAN("ping"), SPAN_NULL, false, 0, &(McpRequestId){0}),
        MCP_CLIENT_E_ENDED);
    assert_int_equal(mcp_client_notify(wire.client, SPAN("x"), SPAN_NULL), MCP_CLIENT_E_ENDED);
    wire_deinit(&wire);

    /* The modern version has no `initialize`: answering it with one is a lie. */
    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire_start(&wire);
    says(&wire, WELCOME(1, "2026-07-28"));
    events(&wire, "FAILED the server wants version '2026-07-28' of MCP, which we do not speak\n");
    wire_deinit(&wire);
}

static void refused_or_senseless_initialize_ends_the_session(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire_start(&wire);
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"never\"}}");
    events(&wire, "FAILED the server refused to begin: never (-32602)\n");
    wire_deinit(&wire);

    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire_start(&wire);
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":7}}");
    events(&wire, "FAILED the server's answer to initialize names no version\n");
    wire_deinit(&wire);

    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire_start(&wire);
    advance(&wire, LIMIT_MCP_CLIENT_REQUEST_MS);
    events(&wire, "FAILED the server did not answer initialize in time\n");
    wire_deinit(&wire);
}

static void handshake_answer_that_cannot_be_used_is_not_waited_for(void **state)
{
    static const char *const both = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{},\"error\":{}}";
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_AUTO);
    wire_start(&wire);
    bytes_clear(&wire.sent);
    says(&wire, both);
    sent(&wire, INITIALIZE(2));
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"protocolVersion\":\"\xFF\"}}");
    events(&wire, "FAILED the server's answer to initialize is not JSON\n");
    wire_deinit(&wire);

    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_start(&wire);
    says(&wire, both);
    events(&wire, "FAILED the server's answer to server/discover has both a result and an error\n");
    wire_deinit(&wire);

    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire_start(&wire);
    says(&wire, "{oh, well");
    events(&wire, "FAILED the server's answer to initialize is not JSON\n");
    wire_deinit(&wire);
}

/* Servers print what they are made of when they start; the probe has a short deadline anyway. */
static void stray_object_during_the_probe_is_skipped(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_AUTO);
    wire_start(&wire);
    (void)asks_for(&wire, "tools/list", "");
    says(&wire, "{ port: 3000 }");
    events(&wire, "");
    assert_int_equal(mcp_client_n_skipped(wire.client), 1);
    says(&wire, DISCOVERED(1));
    events(&wire, "READY 2026-07-28\n");
    wire_deinit(&wire);
}

static void capabilities_say_what_can_be_answered(void **state)
{
    static const struct {
        McpRevision revision;
        const char *capabilities;
    } cases[] = {
        {MCP_2024_11_05, "{\"roots\":{\"listChanged\":true},\"sampling\":{}}"},
        {MCP_2025_03_26, "{\"roots\":{\"listChanged\":true},\"sampling\":{}}"},
        {MCP_2025_06_18, "{\"roots\":{\"listChanged\":true},\"sampling\":{},\"elicitation\":{}}"},
        {MCP_2025_11_25, "{\"roots\":{\"listChanged\":true},\"sampling\":{},"
                         "\"elicitation\":{\"form\":{},\"url\":{}}}"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Wire wire;

        wire_init(&wire, MCP_CLIENT_LEGACY);
        wire.config.can = CALL_CAN_FORM | CALL_CAN_URL | CALL_CAN_SAMPLE | CALL_CAN_ROOTS;
        wire.config.legacy_revision = cases[i].revision;
        wire_start(&wire);
        assert_int_equal(bytes_append_byte(&wire.sent, '\0'), 0);
        assert_non_null(strstr(wire.sent.data, cases[i].capabilities));
        wire_deinit(&wire);
    }
}

static void identity_is_told_as_far_as_the_revision_knows_it(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire.identity.title = SPAN("T \"x\"");
    wire.identity.description = SPAN("d");
    wire.identity.website_url = SPAN("http://x");
    wire.identity.icons = SPAN("[{\"src\":\"y\"}]");
    wire.config.can = CALL_CAN_FORM | CALL_CAN_ROOTS;
    wire.config.log_level = CALL_LOG_WARNING;
    wire_start(&wire);
    sent(&wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{"
                "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                "\"io.modelcontextprotocol/clientCapabilities\":"
                "{\"roots\":{},\"elicitation\":{\"form\":{}}},"
                "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"version\":\"1\","
                "\"title\":\"T \\\"x\\\"\",\"description\":\"d\",\"websiteUrl\":\"http://x\","
                "\"icons\":[{\"src\":\"y\"}]},"
                "\"io.modelcontextprotocol/logLevel\":\"warning\"}}}\n");
    wire_deinit(&wire);

    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire.identity.title = SPAN("T");
    wire.identity.description = SPAN("d");
    wire.config.legacy_revision = MCP_2025_06_18;
    wire_start(&wire);
    sent(&wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{"
                "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
                "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\",\"title\":\"T\"}}}\n");
    wire_deinit(&wire);
}

static void legacy_server_is_told_the_log_level(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire.config.log_level = CALL_LOG_INFO;
    wire_start(&wire);
    sent(&wire, INITIALIZE(1));
    says(&wire, WELCOME(1, "2025-11-25"));
    sent(&wire, INITIALIZED "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"logging/setLevel\","
                            "\"params\":{\"level\":\"info\"}}\n");
    events(&wire, "READY 2025-11-25\n");
    /* It is ours: neither its answer nor its end is the owner's business. */
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
    events(&wire, "");
    assert_int_equal(mcp_client_n_skipped(wire.client), 0);
    wire_deinit(&wire);
}

static void sink_that_takes_nothing_is_reported(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_AUTO);
    wire.is_full = true;
    assert_int_equal(mcp_client_new(&wire.client, &wire.config), 0);
    assert_int_equal(mcp_client_start(wire.client, 0), -ENOBUFS);
    wire_deinit(&wire);

    wire_init(&wire, MCP_CLIENT_AUTO);
    wire_start(&wire);
    wire.is_full = true;
    advance(&wire, LIMIT_MCP_PROBE_MS);
    events(&wire, "FAILED the server does not read what is sent to it\n");
    wire_deinit(&wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answer_to_the_probe_opens_a_modern_session),
        cmocka_unit_test(any_other_error_to_the_probe_means_a_legacy_server),
        cmocka_unit_test(silence_means_a_legacy_server_and_a_late_answer_changes_nothing),
        cmocka_unit_test(server_that_ends_on_the_probe_is_restarted_once),
        cmocka_unit_test(server_that_ends_again_has_failed),
        cmocka_unit_test(server_that_ends_or_stalls_after_refusing_the_probe_is_restarted),
        cmocka_unit_test(server_that_never_answers_is_not_restarted),
        cmocka_unit_test(time_of_a_request_bounds_the_probe_and_initialize),
        cmocka_unit_test(times_as_long_as_they_come_are_no_harm),
        cmocka_unit_test(unsupported_version_never_leads_to_initialize),
        cmocka_unit_test(unsupported_version_that_names_ours_is_tried_once_more),
        cmocka_unit_test(discovery_without_our_version_fails),
        cmocka_unit_test(modern_mode_takes_nothing_else),
        cmocka_unit_test(legacy_mode_does_not_probe),
        cmocka_unit_test(version_that_is_unknown_ends_the_session),
        cmocka_unit_test(refused_or_senseless_initialize_ends_the_session),
        cmocka_unit_test(handshake_answer_that_cannot_be_used_is_not_waited_for),
        cmocka_unit_test(stray_object_during_the_probe_is_skipped),
        cmocka_unit_test(capabilities_say_what_can_be_answered),
        cmocka_unit_test(identity_is_told_as_far_as_the_revision_knows_it),
        cmocka_unit_test(legacy_server_is_told_the_log_level),
        cmocka_unit_test(sink_that_takes_nothing_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
