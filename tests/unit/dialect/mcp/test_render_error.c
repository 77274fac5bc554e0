#include "dialect/mcp/render_error.h"

#include "unit/dialect/mcp/render_support.h"

/* How one error looks to a tool's caller: 0 is a result with isError. By revision. */
typedef struct ErrorCase {
    CallError error;
    int tool[MCP_N_REVISIONS];
    int other[MCP_N_REVISIONS]; /* to every other verb */
} ErrorCase;

#define ALL_OF(c)                                                                                  \
    {                                                                                              \
        (c), (c), (c), (c), (c)                                                                    \
    }

static const ErrorCase error_cases[] = {
    {CALL_ERROR_UNKNOWN_TOOL, ALL_OF(-32602), ALL_OF(-32602)},
    {CALL_ERROR_UNKNOWN_PROMPT, ALL_OF(-32602), ALL_OF(-32602)},
    {CALL_ERROR_UNKNOWN_RESOURCE,
     {-32002, -32002, -32002, -32002, -32602},
     {-32002, -32002, -32002, -32002, -32602}},
    {CALL_ERROR_INVALID_ARGUMENTS, {-32602, -32602, -32602, 0, 0}, ALL_OF(-32602)},
    {CALL_ERROR_INVALID_CURSOR, ALL_OF(-32602), ALL_OF(-32602)},
    {CALL_ERROR_RATE, ALL_OF(-32003), ALL_OF(-32003)},
    {CALL_ERROR_BUSY, ALL_OF(-32003), ALL_OF(-32003)},
    {CALL_ERROR_TIMEOUT, {-32603, -32603, 0, 0, 0}, ALL_OF(-32603)},
    {CALL_ERROR_CANCELLED, ALL_OF(-32603), ALL_OF(-32603)},
    {CALL_ERROR_UNAVAILABLE, {-32603, -32603, 0, 0, 0}, ALL_OF(-32603)},
    {CALL_ERROR_BAD_RESULT, {-32603, -32603, 0, 0, 0}, ALL_OF(-32603)},
    {CALL_ERROR_TOO_LARGE, {-32603, -32603, 0, 0, 0}, ALL_OF(-32603)},
    {CALL_ERROR_CANNOT_ASK, {-32603, -32603, 0, 0, 0}, ALL_OF(-32603)},
    {CALL_ERROR_NEEDS_LATER,
     {-32601, -32601, -32601, -32601, -32021},
     {-32601, -32601, -32601, -32601, -32021}},
    {CALL_ERROR_NEVER_LATER, ALL_OF(-32601), ALL_OF(-32601)},
    {CALL_ERROR_UNKNOWN_TASK, ALL_OF(-32602), ALL_OF(-32602)},
    {CALL_ERROR_TASK_OVER, ALL_OF(-32602), ALL_OF(-32602)},
    {CALL_ERROR_DROPPED, ALL_OF(-32603), ALL_OF(-32603)},
    {CALL_ERROR_INTERNAL, ALL_OF(-32603), ALL_OF(-32603)},
    {CALL_ERROR_RAISED, ALL_OF(0), ALL_OF(-32603)},
    {CALL_ERROR_OWN, {-32001, -32001, 0, 0, 0}, {-32001, -32001, -32001, -32001, -32603}},
};

static void assert_error(Span text, int code)
{
    char want[64];

    (void)snprintf(want, sizeof(want),
                   "{\"jsonrpc\":\"2.0\",\"id\":\"a-1\",\"error\":{\"code\":%d,", code);
    if (code == 0) {
        assert_true(text_holds(text, "\"isError\":true"));
        assert_true(text_holds(text, "\"content\":[{\"type\":\"text\",\"text\":\""));
    } else {
        assert_true(span_starts_with(text, span_from_str(want)));
    }
}

static CallResult error_result(const ErrorCase *c)
{
    return (CallResult){.kind = CALL_RESULT_ERROR,
                        .error = c->error,
                        .wire_code = c->error == CALL_ERROR_UNKNOWN_RESOURCE ? 0 : -32001};
}

/* The result of a task is the tool's; but that somebody waited too long for it is not. */
static bool is_of_tool(CallVerb verb, CallError error)
{
    return verb == CALL_TOOL || (verb == CALL_TASK_RESULT && error != CALL_ERROR_TIMEOUT);
}

/* That a task has ended is no error for whoever wants it to, in the modern era. */
static bool is_acknowledged(McpRevision revision, CallVerb verb, CallError error)
{
    return revision >= MCP_FIRST_MODERN && verb == CALL_TASK_CANCEL &&
           error == CALL_ERROR_TASK_OVER;
}

static void every_error_has_its_number_in_every_revision(void **state)
{
    /* All but CALL_ERROR_NONE. */
    assert_int_equal(TW_ARRAY_SIZE(error_cases), CALL_N_ERRORS - 1);
    for (size_t c = 0; c < TW_ARRAY_SIZE(error_cases); c++) {
        CallResult result = error_result(&error_cases[c]);

        for (int i = 0; i < MCP_N_REVISIONS; i++) {
            for (int verb = 0; verb < CALL_N_VERBS; verb++) {
                Span text = render_result(*state, (McpRevision)i, (CallVerb)verb, &result);

                if (is_acknowledged((McpRevision)i, (CallVerb)verb, error_cases[c].error)) {
                    assert_false(text_holds(text, "\"error\""));
                    continue;
                }
                assert_error(text, is_of_tool((CallVerb)verb, error_cases[c].error)
                                       ? error_cases[c].tool[i]
                                       : error_cases[c].other[i]);
                assert_true(text_holds(text, call_error_text(error_cases[c].error)));
            }
        }
    }
}

static void an_exception_is_told_with_its_type(void **state)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_RAISED,
                         .message = SPAN("no \"x\""),
                         .error_type = SPAN("Key\"Error")};

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        Span text = render_result(*state, (McpRevision)i, CALL_TOOL, &result);

        assert_true(text_holds(text, "\"text\":\"no \\\"x\\\" (type: Key\\\"Error)\"}]"));
        assert_true(text_holds(text, "\"isError\":true"));
    }
    result.error_type = SPAN_NULL;
    assert_true(text_holds(render_result(*state, MCP_2025_11_25, CALL_TOOL, &result),
                           "\"text\":\"no \\\"x\\\"\"}]"));
}

static void caller_of_a_bare_method_always_gets_an_error(void **state)
{
    for (size_t c = 0; c < TW_ARRAY_SIZE(error_cases); c++) {
        CallResult result = error_result(&error_cases[c]);

        for (int i = 0; i < MCP_FIRST_MODERN; i++) {
            McpReply reply = render_reply((McpRevision)i, CALL_TOOL);

            reply.is_bare = true;
            assert_error(render_result_as(*state, &reply, &result), error_cases[c].other[i]);
        }
    }
}

static void message_of_the_provider_comes_first(void **state)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_TIMEOUT,
                         .message = SPAN("no \"answer\" in 30 s")};

    assert_text(render_result(*state, MCP_2025_03_26, CALL_TOOL, &result),
                "{\"jsonrpc\":\"2.0\",\"id\":\"a-1\",\"error\":{\"code\":-32603,\"message\":\"no "
                "\\\"answer\\\" in 30 s\"}}");
    assert_text(render_result(*state, MCP_2025_06_18, CALL_TOOL, &result),
                "{\"jsonrpc\":\"2.0\",\"id\":\"a-1\",\"result\":{\"content\":[{\"type\":\"text\","
                "\"text\":\"no \\\"answer\\\" in 30 s\"}],\"isError\":true}}");
}

static void missing_resource_is_named(void **state)
{
    CallResult result = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_UNKNOWN_RESOURCE};

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        McpReply reply = render_reply((McpRevision)i, CALL_READ);

        reply.target = SPAN("x:/\"gone\"");
        assert_true(text_holds(render_result_as(*state, &reply, &result),
                               "\"message\":\"unknown resource\",\"data\":{\"uri\":"
                               "\"x:/\\\"gone\\\"\"}}}"));
    }
}

/* The older revisions leave the number to the provider, 2026-07-28 does not. */
static void missing_resource_may_have_a_number_of_its_provider(void **state)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_UNKNOWN_RESOURCE,
                         .wire_code = -32001,
                         .message = SPAN("no"),
                         .data = SPAN("{\"uri\":\"x:\",\"nearest\":\"y:\"}")};

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        Span text = render_result(*state, (McpRevision)i, CALL_READ, &result);

        assert_error(text, i < MCP_FIRST_MODERN ? -32001 : -32602);
        assert_true(text_holds(text, "\"data\":{\"uri\":\"x:\",\"nearest\":\"y:\"}}}"));
    }
    result.wire_code = 4711;
    result.data = SPAN_NULL;
    assert_error(render_result(*state, MCP_2026_07_28, CALL_READ, &result), -32602);
    assert_true(text_holds(render_result(*state, MCP_2026_07_28, CALL_READ, &result),
                           "\"data\":{\"uri\":"));
}

/* A handler that knows the older revisions only. */
static void number_of_the_older_revisions_for_a_missing_resource_is_translated(void **state)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_OWN,
                         .wire_code = -32002,
                         .message = SPAN("no"),
                         .data = SPAN("[1]")};
    McpReply reply = render_reply(MCP_2026_07_28, CALL_READ);

    reply.target = SPAN("x:/gone");
    assert_true(text_holds(render_result_as(*state, &reply, &result),
                           "\"error\":{\"code\":-32602,\"message\":\"no\",\"data\":{\"uri\":"
                           "\"x:/gone\",\"code\":-32002,\"data\":[1]}}}"));
    assert_error(render_result(*state, MCP_2025_11_25, CALL_READ, &result), -32002);
    assert_error(render_result(*state, MCP_2026_07_28, CALL_PROMPT, &result), -32603);
}

/* Some servers know no other number. */
static void the_number_zero_is_a_number_of_its_provider(void **state)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_OWN,
                         .message = SPAN("no"),
                         .data = SPAN("[1]"),
                         .is_relayed = true};

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        assert_true(text_holds(render_result(*state, (McpRevision)i, CALL_TOOL, &result),
                               "\"error\":{\"code\":0,\"message\":\"no\",\"data\":[1]}}"));
    }
}

static void rate_limit_says_when_to_come_back(void **state)
{
    CallResult rate = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_RATE, .retry_after_ms = 120};
    CallResult busy = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_BUSY};

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        assert_true(text_holds(render_result(*state, (McpRevision)i, CALL_TOOL, &rate),
                               "\"data\":{\"retryAfterMs\":120}}}"));
        busy.data = SPAN_NULL;
        assert_false(
            text_holds(render_result(*state, (McpRevision)i, CALL_TOOL, &busy), "\"data\""));
        busy.data = SPAN("{\"maxInFlight\":128}");
        assert_true(text_holds(render_result(*state, (McpRevision)i, CALL_TOOL, &busy),
                               "\"data\":{\"maxInFlight\":128}}}"));
    }
}

static void wrong_arguments_are_named_to_programs_and_to_models(void **state)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_INVALID_ARGUMENTS,
                         .message = SPAN("arguments/a: expected \"number\"; arguments: missing b"),
                         .data = SPAN("[{\"path\":\"/a\",\"message\":\"expected \\\"number\\\"\"},"
                                      "{\"path\":\"\",\"message\":\"missing b\"}]")};
    const char *data = "\"data\":{\"errors\":[{\"path\":\"/a\",\"message\":\"expected "
                       "\\\"number\\\"\"},{\"path\":\"\",\"message\":\"missing b\"}]}";
    const char *words = "arguments/a: expected \\\"number\\\"; arguments: missing b\"";

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        Span text = render_result(*state, (McpRevision)i, CALL_TOOL, &result);

        assert_true(text_holds(text, words));
        assert_true(text_holds(text, i < MCP_2025_11_25 ? data : "}],\"isError\":true"));
        assert_true(text_holds(render_result(*state, (McpRevision)i, CALL_PROMPT, &result), data));
        assert_true(
            text_holds(render_result(*state, (McpRevision)i, CALL_COMPLETE, &result), data));
    }
}

static void own_error_of_a_tool_keeps_code_message_and_data(void **state)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_OWN,
                         .wire_code = -32000,
                         .message = SPAN("template not found"),
                         .data = SPAN("{\"uri\":\"x\"}")};

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        Span text = render_result(*state, (McpRevision)i, CALL_TOOL, &result);

        assert_true(text_holds(text, i < MCP_2025_06_18
                                         ? "\"error\":{\"code\":-32000,\"message\":\"template not "
                                           "found\",\"data\":{\"uri\":\"x\"}}}"
                                         : "\"text\":\"template not found\"}],"
                                           "\"structuredContent\":{\"error\":{\"code\":-32000,"
                                           "\"message\":\"template not found\",\"data\":{\"uri\":"
                                           "\"x\"}}},\"isError\":true"));
    }
}

static void reserved_codes_never_leave_in_the_modern_era(void **state)
{
    static const int reserved[] = {-32000, -32001, -32019, -32022, -32042, -32099};
    static const int free_ones[] = {-31999, -32100, 1, -32602, 4711};
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_OWN,
                         .message = SPAN("own"),
                         .data = SPAN("[1]")};
    char want[128];

    for (size_t i = 0; i < TW_ARRAY_SIZE(reserved); i++) {
        result.wire_code = reserved[i];
        (void)snprintf(want, sizeof(want),
                       "\"code\":-32603,\"message\":\"own\",\"data\":{\"code\":%d,\"data\":[1]}}}",
                       reserved[i]);
        assert_true(text_holds(render_result(*state, MCP_2026_07_28, CALL_READ, &result), want));
        (void)snprintf(want, sizeof(want), "\"code\":%d,\"message\":\"own\",\"data\":[1]}}",
                       reserved[i]);
        assert_true(text_holds(render_result(*state, MCP_2025_11_25, CALL_READ, &result), want));
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(free_ones); i++) {
        result.wire_code = free_ones[i];
        (void)snprintf(want, sizeof(want), "\"code\":%d,\"message\":\"own\",\"data\":[1]}}",
                       free_ones[i]);
        assert_true(text_holds(render_result(*state, MCP_2026_07_28, CALL_READ, &result), want));
    }
}

static void own_error_without_a_number_is_an_internal_one(void **state)
{
    CallResult result = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_OWN};

    assert_error(render_result(*state, MCP_2024_11_05, CALL_TOOL, &result), -32603);
}

static void error_without_id_has_a_null_one(void **state)
{
    Render *render = *state;

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        bytes_clear(&render->out);
        assert_int_equal(mcp_render_error(&render->out, SPAN_NULL, MCP_ERROR_PARSE,
                                          SPAN("Parse error"), SPAN("{\"offset\":3}")),
                         0);
        assert_text(bytes_span(&render->out),
                    "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":"
                    "\"Parse error\",\"data\":{\"offset\":3}}}");
        mcp_schema_assert_message((McpRevision)i, NULL, bytes_span(&render->out));
        bytes_clear(&render->out);
        assert_int_equal(mcp_render_error(&render->out, SPAN("7"), MCP_ERROR_METHOD_NOT_FOUND,
                                          SPAN("Method not found"), SPAN_NULL),
                         0);
        assert_text(bytes_span(&render->out), "{\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":"
                                              "-32601,\"message\":\"Method not found\"}}");
        mcp_schema_assert_message((McpRevision)i, NULL, bytes_span(&render->out));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_has_its_number_in_every_revision),
        cmocka_unit_test(an_exception_is_told_with_its_type),
        cmocka_unit_test(caller_of_a_bare_method_always_gets_an_error),
        cmocka_unit_test(message_of_the_provider_comes_first),
        cmocka_unit_test(missing_resource_is_named),
        cmocka_unit_test(missing_resource_may_have_a_number_of_its_provider),
        cmocka_unit_test(number_of_the_older_revisions_for_a_missing_resource_is_translated),
        cmocka_unit_test(the_number_zero_is_a_number_of_its_provider),
        cmocka_unit_test(rate_limit_says_when_to_come_back),
        cmocka_unit_test(wrong_arguments_are_named_to_programs_and_to_models),
        cmocka_unit_test(own_error_of_a_tool_keeps_code_message_and_data),
        cmocka_unit_test(reserved_codes_never_leave_in_the_modern_era),
        cmocka_unit_test(own_error_without_a_number_is_an_internal_one),
        cmocka_unit_test(error_without_id_has_a_null_one),
    };

    mcp_schema_require();
    return cmocka_run_group_tests(tests, render_setup, render_teardown);
}
