#include "dialect/mcp/render.h"

#include "unit/dialect/mcp/render_support.h"

#define SCHEMA "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"string\"}}}"
#define PARAMS                                                                                     \
    "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"?\"}}],"          \
    "\"maxTokens\":10}"

static const CallAsk asks[] = {
    {.key = {"k\"1", 3},
     .kind = CALL_ASK_FORM,
     .message = {"Your \"name\"?", 12},
     .schema = {SCHEMA, sizeof(SCHEMA) - 1}},
    {.key = {"url", 3},
     .kind = CALL_ASK_URL,
     .message = {"Go there", 8},
     .url = {"https://example.org/", 20}},
    {.key = {"model", 5}, .kind = CALL_ASK_SAMPLE, .params = {PARAMS, sizeof(PARAMS) - 1}},
    {.key = {"roots", 5}, .kind = CALL_ASK_ROOTS},
};

#define FORM_MODE                                                                                  \
    "\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\",\"message\":\"Your "          \
    "\\\"name\\\"?\",\"requestedSchema\":" SCHEMA "}"
#define SAMPLE "\"method\":\"sampling/createMessage\",\"params\":" PARAMS
#define ROOTS  "\"method\":\"roots/list\""

static Span ask_of(Render *render, McpRevision revision, const CallAsk *ask)
{
    bytes_clear(&render->out);
    assert_int_equal(mcp_render_ask(&render->out, revision, 18446744073709551615u, SPAN_NULL, ask),
                     0);
    mcp_schema_assert_message(revision, NULL, bytes_span(&render->out));
    return bytes_span(&render->out);
}

#define REQUEST "{\"jsonrpc\":\"2.0\",\"id\":18446744073709551615,"

static void legacy_questions_are_requests(void **state)
{
    for (int i = 0; i < MCP_FIRST_MODERN; i++) {
        assert_text(ask_of(*state, (McpRevision)i, &asks[CALL_ASK_SAMPLE]), REQUEST SAMPLE "}");
        assert_text(ask_of(*state, (McpRevision)i, &asks[CALL_ASK_ROOTS]), REQUEST ROOTS "}");
    }
    assert_text(ask_of(*state, MCP_2025_06_18, &asks[CALL_ASK_FORM]),
                REQUEST "\"method\":\"elicitation/create\",\"params\":{\"message\":\"Your "
                        "\\\"name\\\"?\",\"requestedSchema\":" SCHEMA "}}");
    assert_text(ask_of(*state, MCP_2025_11_25, &asks[CALL_ASK_FORM]), REQUEST FORM_MODE "}");
    assert_text(ask_of(*state, MCP_2025_11_25, &asks[CALL_ASK_URL]),
                REQUEST "\"method\":\"elicitation/create\",\"params\":{\"mode\":\"url\","
                        "\"message\":\"Go there\",\"url\":\"https://example.org/\","
                        "\"elicitationId\":\"18446744073709551615\"}}");
}

static void form_without_fields_asks_for_consent_only(void **state)
{
    CallAsk bare = {.kind = CALL_ASK_FORM, .message = SPAN("Sure?")};

    assert_true(text_holds(ask_of(*state, MCP_2025_06_18, &bare),
                           "\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}}"));
}

static Span input_required(Render *render, size_t n, Span request_state)
{
    McpReply reply = render_reply(MCP_2026_07_28, CALL_TOOL);

    bytes_clear(&render->out);
    assert_int_equal(mcp_render_input_required(&render->out, &reply, asks, n, request_state), 0);
    mcp_schema_assert_message(MCP_2026_07_28, "tools/call", bytes_span(&render->out));
    return bytes_span(&render->out);
}

static void modern_questions_are_a_result(void **state)
{
    assert_text(input_required(*state, 4, SPAN("abc")),
                "{\"jsonrpc\":\"2.0\",\"id\":\"a-1\",\"result\":{\"resultType\":\"input_required\","
                "\"inputRequests\":{\"k\\\"1\":{" FORM_MODE "},\"url\":{\"method\":"
                "\"elicitation/create\",\"params\":{\"mode\":\"url\",\"message\":\"Go there\","
                "\"url\":\"https://example.org/\"}},\"model\":{" SAMPLE "},\"roots\":{" ROOTS
                "}},\"requestState\":\"abc\"," RENDER_META "}}");
}

static void modern_question_may_be_a_state_or_a_request_alone(void **state)
{
    assert_text(input_required(*state, 0, SPAN("abc")),
                "{\"jsonrpc\":\"2.0\",\"id\":\"a-1\",\"result\":{\"resultType\":\"input_required\","
                "\"requestState\":\"abc\"," RENDER_META "}}");
    assert_false(text_holds(input_required(*state, 1, SPAN_NULL), "requestState"));
}

static void question_is_taken_back_by_its_number(void **state)
{
    Render *render = *state;

    for (int i = 0; i < MCP_FIRST_MODERN; i++) {
        bytes_clear(&render->out);
        assert_int_equal(mcp_render_cancelled(&render->out, 4, SPAN("too \"late\"")), 0);
        mcp_schema_assert_message((McpRevision)i, NULL, bytes_span(&render->out));
        assert_text(bytes_span(&render->out),
                    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                    "\"requestId\":4,\"reason\":\"too \\\"late\\\"\"}}");
        bytes_clear(&render->out);
        assert_int_equal(mcp_render_cancelled(&render->out, 4, SPAN_NULL), 0);
        mcp_schema_assert_message((McpRevision)i, NULL, bytes_span(&render->out));
        assert_false(text_holds(bytes_span(&render->out), "reason"));
    }
}

static void missing_capabilities_are_named_and_no_others(void **state)
{
    static const struct {
        unsigned can;
        const char *want;
    } cases[] = {
        {0, "{\"elicitation\":{\"form\":{},\"url\":{}},\"sampling\":{},\"roots\":{}}"},
        {CALL_CAN_FORM, "{\"elicitation\":{\"url\":{}},\"sampling\":{},\"roots\":{}}"},
        {CALL_CAN_URL, "{\"elicitation\":{\"form\":{}},\"sampling\":{},\"roots\":{}}"},
        {CALL_CAN_FORM | CALL_CAN_URL, "{\"sampling\":{},\"roots\":{}}"},
        {CALL_CAN_FORM | CALL_CAN_URL | CALL_CAN_ROOTS, "{\"sampling\":{}}"},
        {CALL_CAN_FORM | CALL_CAN_URL | CALL_CAN_SAMPLE, "{\"roots\":{}}"},
    };
    Render *render = *state;
    McpReply reply = render_reply(MCP_2026_07_28, CALL_TOOL);

    for (size_t c = 0; c < TW_ARRAY_SIZE(cases); c++) {
        char want[160];

        bytes_clear(&render->out);
        assert_int_equal(mcp_render_missing_capability(&render->out, &reply, cases[c].can, asks, 4),
                         0);
        mcp_schema_assert_message(MCP_2026_07_28, "tools/call", bytes_span(&render->out));
        (void)snprintf(want, sizeof(want), "\"data\":{\"requiredCapabilities\":%s}}}",
                       cases[c].want);
        assert_true(text_holds(bytes_span(&render->out), "\"code\":-32021,"));
        assert_true(text_holds(bytes_span(&render->out), want));
    }
    bytes_clear(&render->out);
    assert_int_equal(mcp_render_missing_capability(&render->out, &reply, 0, &asks[3], 1), 0);
    assert_true(text_holds(bytes_span(&render->out), "{\"requiredCapabilities\":{\"roots\":{}}}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(legacy_questions_are_requests),
        cmocka_unit_test(form_without_fields_asks_for_consent_only),
        cmocka_unit_test(modern_questions_are_a_result),
        cmocka_unit_test(modern_question_may_be_a_state_or_a_request_alone),
        cmocka_unit_test(question_is_taken_back_by_its_number),
        cmocka_unit_test(missing_capabilities_are_named_and_no_others),
    };

    mcp_schema_require();
    return cmocka_run_group_tests(tests, render_setup, render_teardown);
}
