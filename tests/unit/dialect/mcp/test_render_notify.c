#include "dialect/mcp/render.h"

#include <math.h>

#include "unit/dialect/mcp/render_support.h"

#define TAG "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":7}"

static Span checked(Render *render, McpRevision revision)
{
    mcp_schema_assert_message(revision, NULL, bytes_span(&render->out));
    return bytes_span(&render->out);
}

static Span progress(Render *render, McpRevision revision, Span token, double at, double total,
                     Span message)
{
    CallProgress report = {.progress = at, .total = total, .message = message};

    bytes_clear(&render->out);
    assert_int_equal(mcp_render_progress(&render->out, revision, token, &report), 0);
    return checked(render, revision);
}

static void progress_has_its_message_from_2025_03_26_on(void **state)
{
    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        Span text =
            progress(*state, (McpRevision)i, SPAN("\"tok\\u0041\""), 0.5, 100, SPAN("half\n"));

        assert_text(text, i < MCP_2025_03_26
                              ? "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                                "\"params\":{\"progressToken\":\"tok\\u0041\",\"progress\":0.5,"
                                "\"total\":100}}"
                              : "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
                                "\"params\":{\"progressToken\":\"tok\\u0041\",\"progress\":0.5,"
                                "\"total\":100,\"message\":\"half\\n\"}}");
    }
}

static void progress_without_total_or_message_has_neither(void **state)
{
    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        assert_text(progress(*state, (McpRevision)i, SPAN("12"), 3, CALL_NO_TOTAL, SPAN_NULL),
                    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                    "\"progressToken\":12,\"progress\":3}}");
    }
}

static void progress_beyond_all_numbers_is_still_a_number(void **state)
{
    assert_true(
        text_holds(progress(*state, MCP_2025_11_25, SPAN("1"), INFINITY, INFINITY, SPAN_NULL),
                   "\"progress\":1.7976931348623157e+308}}"));
    assert_true(text_holds(progress(*state, MCP_2025_11_25, SPAN("1"), NAN, NAN, SPAN_NULL),
                           "\"progress\":1.7976931348623157e+308}}"));
}

static void log_record_names_its_level(void **state)
{
    Render *render = *state;

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        for (int level = CALL_LOG_DEBUG; level < CALL_LOG_NONE; level++) {
            char want[64];

            bytes_clear(&render->out);
            assert_int_equal(mcp_render_log(&render->out, (CallLogLevel)level, SPAN("l\"g"),
                                            SPAN("{\"a\":[1]}")),
                             0);
            (void)snprintf(want, sizeof(want), "\"params\":{\"level\":\"%s\",\"logger\":\"l\\\"g\"",
                           call_log_level_name((CallLogLevel)level));
            assert_true(text_holds(checked(render, (McpRevision)i), want));
        }
        bytes_clear(&render->out);
        assert_int_equal(mcp_render_log(&render->out, CALL_LOG_INFO, SPAN_NULL, SPAN("\"x\"")), 0);
        assert_text(checked(render, (McpRevision)i),
                    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{"
                    "\"level\":\"info\",\"data\":\"x\"}}");
    }
}

static void changes_are_tagged_for_subscriptions_and_plain_for_sessions(void **state)
{
    static const char *const words[] = {[MCP_LIST_TOOLS] = "tools",
                                        [MCP_LIST_RESOURCES] = "resources",
                                        [MCP_LIST_PROMPTS] = "prompts"};
    Render *render = *state;

    for (int kind = 0; kind < 3; kind++) {
        char want[192];

        for (int i = 0; i < MCP_FIRST_MODERN; i++) {
            bytes_clear(&render->out);
            assert_int_equal(mcp_render_list_changed(&render->out, (McpListKind)kind, SPAN_NULL),
                             0);
            (void)snprintf(want, sizeof(want),
                           "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/%s/list_changed\"}",
                           words[kind]);
            assert_text(checked(render, (McpRevision)i), want);
        }
        bytes_clear(&render->out);
        assert_int_equal(mcp_render_list_changed(&render->out, (McpListKind)kind, SPAN("7")), 0);
        (void)snprintf(want, sizeof(want),
                       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/%s/list_changed\","
                       "\"params\":{" TAG "}}",
                       words[kind]);
        assert_text(checked(render, MCP_2026_07_28), want);
    }
}

static void updates_name_the_resource(void **state)
{
    Render *render = *state;

    for (int i = 0; i < MCP_FIRST_MODERN; i++) {
        bytes_clear(&render->out);
        assert_int_equal(mcp_render_updated(&render->out, SPAN("x:/\"a\""), SPAN_NULL), 0);
        assert_text(checked(render, (McpRevision)i),
                    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
                    "\"params\":{\"uri\":\"x:/\\\"a\\\"\"}}");
    }
    bytes_clear(&render->out);
    assert_int_equal(mcp_render_updated(&render->out, SPAN("x:/a"), SPAN("7")), 0);
    assert_text(checked(render, MCP_2026_07_28),
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{"
                "\"uri\":\"x:/a\"," TAG "}}");
}

static void acknowledgement_lists_what_will_be_honoured(void **state)
{
    static const Span uris[] = {{"x:/a", 4}, {"x:/b", 4}};
    Render *render = *state;
    McpFilter filter = {.lists = {true, true, true}, .uris = uris, .n_uris = 2};

    bytes_clear(&render->out);
    assert_int_equal(mcp_render_acknowledged(&render->out, SPAN("7"), &filter), 0);
    assert_text(checked(render, MCP_2026_07_28),
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\","
                "\"params\":{" TAG ",\"notifications\":{\"toolsListChanged\":true,"
                "\"resourcesListChanged\":true,\"promptsListChanged\":true,"
                "\"resourceSubscriptions\":[\"x:/a\",\"x:/b\"]}}}");
    for (int kind = 0; kind < 3; kind++) {
        static const char *const want[] = {
            [MCP_LIST_TOOLS] = "\"notifications\":{\"toolsListChanged\":true}",
            [MCP_LIST_RESOURCES] = "\"notifications\":{\"resourcesListChanged\":true}",
            [MCP_LIST_PROMPTS] = "\"notifications\":{\"promptsListChanged\":true}"};

        filter = (McpFilter){0};
        filter.lists[kind] = true;
        bytes_clear(&render->out);
        assert_int_equal(mcp_render_acknowledged(&render->out, SPAN("\"s\""), &filter), 0);
        assert_true(text_holds(checked(render, MCP_2026_07_28), want[kind]));
    }
    filter = (McpFilter){0};
    bytes_clear(&render->out);
    assert_int_equal(mcp_render_acknowledged(&render->out, SPAN("\"s\""), &filter), 0);
    assert_true(text_holds(checked(render, MCP_2026_07_28), "\"notifications\":{}}}"));
}

static void subscription_ends_with_a_result_that_names_it(void **state)
{
    Render *render = *state;

    bytes_clear(&render->out);
    assert_int_equal(mcp_render_listen_end(&render->out, SPAN("7"), &render_identity), 0);
    mcp_schema_assert_message(MCP_2026_07_28, "subscriptions/listen", bytes_span(&render->out));
    assert_text(bytes_span(&render->out),
                "{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"resultType\":\"complete\",\"_meta\":{"
                "\"io.modelcontextprotocol/subscriptionId\":7," RENDER_INFO "}}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress_has_its_message_from_2025_03_26_on),
        cmocka_unit_test(progress_without_total_or_message_has_neither),
        cmocka_unit_test(progress_beyond_all_numbers_is_still_a_number),
        cmocka_unit_test(log_record_names_its_level),
        cmocka_unit_test(changes_are_tagged_for_subscriptions_and_plain_for_sessions),
        cmocka_unit_test(updates_name_the_resource),
        cmocka_unit_test(acknowledgement_lists_what_will_be_honoured),
        cmocka_unit_test(subscription_ends_with_a_result_that_names_it),
    };

    mcp_schema_require();
    return cmocka_run_group_tests(tests, render_setup, render_teardown);
}
