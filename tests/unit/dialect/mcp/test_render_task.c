#include "dialect/mcp/render_task.h"

#include "unit/dialect/mcp/render_support.h"

#define HEAD "{\"jsonrpc\":\"2.0\",\"id\":\"a-1\",\"result\":{"
#define TIMES                                                                                      \
    "\"createdAt\":\"2026-07-28T10:30:00.000Z\",\"lastUpdatedAt\":\"2026-07-28T10:30:01.500Z\""

/* The members of a task of each era, but for its status. */
#define LEGACY(status)                                                                             \
    "\"taskId\":\"job-1\",\"status\":\"" status "\"," TIMES ",\"ttl\":60000,\"pollInterval\":500"
#define MODERN(status)                                                                             \
    "\"taskId\":\"job-1\",\"status\":\"" status "\"," TIMES                                        \
    ",\"ttlMs\":60000,\"pollIntervalMs\":500"
#define COMPLETE "\"resultType\":\"complete\","

static const Span text_piece = SPAN_INIT("{\"type\":\"text\",\"text\":\"done\"}");

static const CallResult good = {.kind = CALL_RESULT_TOOL,
                                .pieces = &text_piece,
                                .n_pieces = 1,
                                .content_kinds = CALL_CONTENT_TEXT};
static const CallResult bad = {.kind = CALL_RESULT_TOOL,
                               .pieces = &text_piece,
                               .n_pieces = 1,
                               .content_kinds = CALL_CONTENT_TEXT,
                               .is_error = true};
static const CallResult internal = {
    .kind = CALL_RESULT_ERROR, .error = CALL_ERROR_INTERNAL, .message = SPAN_INIT("it broke")};
static const CallResult late = {
    .kind = CALL_RESULT_ERROR, .error = CALL_ERROR_TIMEOUT, .message = SPAN_INIT("too late")};

static const CallResult dropped = {
    .kind = CALL_RESULT_ERROR, .error = CALL_ERROR_DROPPED, .message = SPAN_INIT("gone")};
static const CallResult own = {
    .kind = CALL_RESULT_ERROR, .error = CALL_ERROR_OWN, .wire_code = 7, .message = SPAN_INIT("no")};
static const CallResult own_internal = {.kind = CALL_RESULT_ERROR,
                                        .error = CALL_ERROR_OWN,
                                        .wire_code = -32603,
                                        .message = SPAN_INIT("no"),
                                        .data = SPAN_INIT("[1]")};

static CallTask task_of(CallTaskStatus status, const CallResult *result)
{
    return (CallTask){.id = SPAN("job-1"),
                      .status = status,
                      .created_us = INT64_C(1785234600000000),
                      .updated_us = INT64_C(1785234601500999),
                      .ttl_ms = 60000,
                      .poll_ms = 500,
                      .result = result};
}

static Span render_task(void *state, McpRevision revision, CallVerb verb, const CallTask *task)
{
    CallResult result = {.kind = CALL_RESULT_TASK, .tasks = task, .n_tasks = 1};

    return render_result(state, revision, verb, &result);
}

static void a_call_that_became_a_task_says_so(void **state)
{
    CallTask task = task_of(CALL_TASK_WORKING, NULL);

    assert_text(render_task(*state, MCP_2025_11_25, CALL_TOOL, &task),
                HEAD "\"task\":{" LEGACY("working") "}}}");
    assert_text(render_task(*state, MCP_2026_07_28, CALL_TOOL, &task),
                HEAD "\"resultType\":\"task\"," MODERN("working") "," RENDER_META "}}");
}

/* Even one that is over by then: what came of it is for tasks/get. */
static void a_new_task_carries_no_result(void **state)
{
    CallTask task = task_of(CALL_TASK_COMPLETED, &good);

    assert_text(render_task(*state, MCP_2026_07_28, CALL_TOOL, &task),
                HEAD "\"resultType\":\"task\"," MODERN("completed") "," RENDER_META "}}");
}

static void no_other_revision_has_tasks(void **state)
{
    static const CallVerb verbs[] = {CALL_TOOL, CALL_TASK_GET, CALL_TASK_CANCEL};
    CallTask task = task_of(CALL_TASK_WORKING, NULL);

    for (int i = 0; i < MCP_2025_11_25; i++) {
        for (size_t k = 0; k < TW_ARRAY_SIZE(verbs); k++) {
            Span text = render_task(*state, (McpRevision)i, verbs[k], &task);

            assert_false(text_holds(text, "job-1"));
            assert_true(text_holds(text, "malformed result"));
        }
    }
}

static void a_task_is_told_in_the_words_of_its_era(void **state)
{
    static const struct {
        CallTaskStatus status;
        const CallResult *result;
        const char *legacy;
        const char *modern;
    } cases[] = {
        {CALL_TASK_WORKING, NULL, LEGACY("working"), MODERN("working")},
        {CALL_TASK_CANCELLED, NULL, LEGACY("cancelled"), MODERN("cancelled")},
        {CALL_TASK_COMPLETED, &good, LEGACY("completed"),
         MODERN("completed") ",\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":"
                             "\"text\",\"text\":\"done\"}]}"},
        /* Its result is gone, and not that it has ended well. */
        {CALL_TASK_COMPLETED, &dropped, LEGACY("completed"),
         MODERN("completed") ",\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":"
                             "\"text\",\"text\":\"gone\"}],\"isError\":true}"},
        /* A tool that failed: one era calls that failed, the other not. */
        {CALL_TASK_COMPLETED, &bad, LEGACY("failed"),
         MODERN("completed") ",\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":"
                             "\"text\",\"text\":\"done\"}],\"isError\":true}"},
        {CALL_TASK_FAILED, &internal, LEGACY("failed"),
         MODERN("failed") ",\"error\":{\"code\":-32603,\"message\":\"it broke\"}"},
        /* An error that a model is told as the tool's result is one here, too. */
        {CALL_TASK_FAILED, &late, LEGACY("failed"),
         MODERN("completed") ",\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":"
                             "\"text\",\"text\":\"too late\"}],\"isError\":true}"},
        /* So is a number of the tool's own, unless it is one of JSON-RPC. */
        {CALL_TASK_FAILED, &own, LEGACY("failed"),
         MODERN("completed") ",\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":"
                             "\"text\",\"text\":\"no\"}],\"structuredContent\":{\"error\":{"
                             "\"code\":7,\"message\":\"no\"}},\"isError\":true}"},
        {CALL_TASK_FAILED, &own_internal, LEGACY("failed"),
         MODERN("failed") ",\"error\":{\"code\":-32603,\"message\":\"no\",\"data\":[1]}"},
        /* Nobody knows what came of it. */
        {CALL_TASK_FAILED, NULL, LEGACY("failed"),
         MODERN("failed") ",\"error\":{\"code\":-32603,\"message\":\"internal error\"}"},
        {CALL_TASK_COMPLETED, NULL, LEGACY("completed"),
         MODERN("completed") ",\"result\":{\"resultType\":\"complete\",\"content\":[]}"},
    };

    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        CallTask task = task_of(cases[i].status, cases[i].result);
        char want[1024];

        (void)snprintf(want, sizeof(want), HEAD "%s}}", cases[i].legacy);
        assert_text(render_task(*state, MCP_2025_11_25, CALL_TASK_GET, &task), want);
        (void)snprintf(want, sizeof(want), HEAD COMPLETE "%s," RENDER_META "}}", cases[i].modern);
        assert_text(render_task(*state, MCP_2026_07_28, CALL_TASK_GET, &task), want);
    }
}

static void what_a_tool_put_beside_its_result_stays_there(void **state)
{
    CallResult result = good;
    CallTask task = task_of(CALL_TASK_COMPLETED, &result);

    result.meta = SPAN("{\"x/y\":1}");
    result.structured = SPAN("{\"n\":1}");
    assert_true(text_holds(render_task(*state, MCP_2026_07_28, CALL_TASK_GET, &task),
                           "\"structuredContent\":{\"n\":1},\"_meta\":{\"x/y\":1}},\"_meta\":{"));
}

static void a_task_that_asks_shows_its_questions_where_they_can_be_answered(void **state)
{
    CallAsk ask = {.key = SPAN("name"), .kind = CALL_ASK_FORM, .message = SPAN("Who?")};
    CallTask task = task_of(CALL_TASK_INPUT_REQUIRED, NULL);

    task.asks = &ask;
    task.n_asks = 1;
    assert_text(render_task(*state, MCP_2026_07_28, CALL_TASK_GET, &task),
                HEAD COMPLETE MODERN(
                    "input_required") ",\"inputRequests\":{\"name\":{\"method\":"
                                      "\"elicitation/"
                                      "create\",\"params\":{\"mode\":\"form\",\"message\":\"Who?\","
                                      "\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}"
                                      "}}," RENDER_META "}}");
    /* There they come as requests, while tasks/result waits. */
    assert_text(render_task(*state, MCP_2025_11_25, CALL_TASK_GET, &task),
                HEAD LEGACY("input_required") "}}");
}

static void times_that_are_not_said_are_not_made_up(void **state)
{
    CallTask task = task_of(CALL_TASK_WORKING, NULL);

    task.ttl_ms = -1;
    task.poll_ms = 0;
    task.created_us = -1;
    task.message = SPAN("half \"way\"");
    assert_text(render_task(*state, MCP_2026_07_28, CALL_TASK_GET, &task), HEAD COMPLETE
                "\"taskId\":\"job-1\",\"status\":\"working\",\"statusMessage\":"
                "\"half \\\"way\\\"\",\"createdAt\":\"1969-12-31T23:59:59.999Z\","
                "\"lastUpdatedAt\":\"2026-07-28T10:30:01.500Z\",\"ttlMs\":null," RENDER_META "}}");
    assert_true(
        text_holds(render_task(*state, MCP_2025_11_25, CALL_TASK_GET, &task), ",\"ttl\":null}}"));
}

static void cancelling_is_acknowledged(void **state)
{
    CallTask task = task_of(CALL_TASK_CANCELLED, NULL);
    CallResult over = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_TASK_OVER};

    assert_text(render_task(*state, MCP_2025_11_25, CALL_TASK_CANCEL, &task),
                HEAD LEGACY("cancelled") "}}");
    assert_text(render_task(*state, MCP_2026_07_28, CALL_TASK_CANCEL, &task),
                HEAD COMPLETE RENDER_META "}}");
    /* One that has ended already is an error in one era only. */
    assert_text(render_result(*state, MCP_2026_07_28, CALL_TASK_CANCEL, &over),
                HEAD COMPLETE RENDER_META "}}");
    assert_true(text_holds(render_result(*state, MCP_2025_11_25, CALL_TASK_CANCEL, &over),
                           "\"error\":{\"code\":-32602,\"message\":\"the task has ended\""));
}

static void answers_are_acknowledged(void **state)
{
    CallResult done = CALL_RESULT_NULL;

    assert_text(render_result(*state, MCP_2026_07_28, CALL_TASK_UPDATE, &done),
                HEAD COMPLETE RENDER_META "}}");
}

static void a_list_of_tasks_has_pages(void **state)
{
    CallTask tasks[] = {task_of(CALL_TASK_WORKING, NULL), task_of(CALL_TASK_COMPLETED, NULL)};
    CallResult result = {.kind = CALL_RESULT_TASKS, .tasks = tasks, .n_tasks = 2};

    assert_text(render_result(*state, MCP_2025_11_25, CALL_LIST_TASKS, &result),
                HEAD "\"tasks\":[{" LEGACY("working") "},{" LEGACY("completed") "}]}}");
    result.n_tasks = 0;
    result.next_cursor = SPAN("job-9");
    assert_text(render_result(*state, MCP_2025_11_25, CALL_LIST_TASKS, &result),
                HEAD "\"tasks\":[],\"nextCursor\":\"job-9\"}}");
}

/* The result of 2025-11-25 is the tool's own, and says whose it is. */
static void the_result_of_a_task_names_it(void **state)
{
    McpReply reply = render_reply(MCP_2025_11_25, CALL_TASK_RESULT);
    CallResult result = good;

    reply.task = SPAN("job-1");
    assert_text(render_result_as(*state, &reply, &result),
                HEAD "\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\"_meta\":{"
                     "\"io.modelcontextprotocol/related-task\":{\"taskId\":\"job-1\"}}}}");
    result.meta = SPAN("{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"x\"},\"own\":1}");
    assert_text(render_result_as(*state, &reply, &result), HEAD
                "\"content\":[{\"type\":\"text\",\"text\":\"done\"}],\"_meta\":{"
                "\"io.modelcontextprotocol/related-task\":{\"taskId\":\"job-1\"},\"own\":1}}}");
}

static void a_change_is_told_in_both_eras(void **state)
{
    Render *render = *state;
    CallTask task = task_of(CALL_TASK_COMPLETED, &bad);

    bytes_clear(&render->out);
    assert_int_equal(mcp_render_task_status(&render->out, &task), 0);
    mcp_schema_assert_message(MCP_2025_11_25, NULL, bytes_span(&render->out));
    assert_text(
        bytes_span(&render->out),
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks/status\",\"params\":{" LEGACY(
            "failed") "}}");
    bytes_clear(&render->out);
    assert_int_equal(mcp_render_task_changed(&render->out, &render->scratch, &task, SPAN("7")), 0);
    mcp_schema_assert_message(MCP_2026_07_28, NULL, bytes_span(&render->out));
    assert_text(bytes_span(&render->out),
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tasks\",\"params\":{\"_meta\":{"
                "\"io.modelcontextprotocol/subscriptionId\":7}," MODERN(
                    "completed") ",\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":"
                                 "\"text\",\"text\":\"done\"}],\"isError\":true}}}");
}

static void what_finds_no_room_leaves_nothing(void **state)
{
    CallTask task = task_of(CALL_TASK_COMPLETED, &good);
    CallResult result = {.kind = CALL_RESULT_TASK, .tasks = &task, .n_tasks = 1};
    McpReply reply = render_reply(MCP_2026_07_28, CALL_TASK_GET);
    Render *render = *state;
    Bytes small;

    bytes_init(&small, 64);
    assert_int_equal(mcp_render_result(&small, &render->scratch, &reply, &result), BYTES_E_FULL);
    assert_int_equal(small.n, 0);
    assert_int_equal(mcp_render_task_status(&small, &task), BYTES_E_FULL);
    assert_int_equal(small.n, 0);
    bytes_deinit(&small);
}

/* What checks all of the above can refuse. */
static void the_schema_of_tasks_refuses_what_is_not_named(void **state)
{
    static const struct {
        const char *method;
        const char *result;
    } wrong[] = {
        {"tasks/get", COMPLETE LEGACY("working")},
        {"tasks/get", COMPLETE MODERN("completed")},
        {"tasks/get", COMPLETE MODERN("failed") ",\"result\":{}"},
        {"tasks/get", COMPLETE MODERN("completed") ",\"result\":{\"isError\":1}"},
        {"tasks/get", COMPLETE MODERN("working") ",\"requestState\":\"x\""},
        {"tasks/get", COMPLETE MODERN("input_required") ",\"inputRequests\":{}"},
        {"tools/call", "\"resultType\":\"task\"," MODERN("working") ",\"result\":{}"},
        {"tasks/cancel", COMPLETE MODERN("cancelled")},
        {"tasks/update", "\"_meta\":{}"},
    };
    char text[1024];

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(wrong); i++) {
        (void)snprintf(text, sizeof(text), HEAD "%s}}", wrong[i].result);
        assert_false(mcp_schema_allows(MCP_2026_07_28, MCP_SCHEMA_SERVER, wrong[i].method,
                                       span_from_str(text)));
    }
    (void)snprintf(text, sizeof(text), HEAD COMPLETE MODERN("working") "}}");
    assert_true(
        mcp_schema_allows(MCP_2026_07_28, MCP_SCHEMA_SERVER, "tasks/get", span_from_str(text)));
}

#define TASK_TEST(name) cmocka_unit_test_setup_teardown(name, render_setup, render_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TASK_TEST(a_call_that_became_a_task_says_so),
        TASK_TEST(a_new_task_carries_no_result),
        TASK_TEST(no_other_revision_has_tasks),
        TASK_TEST(a_task_is_told_in_the_words_of_its_era),
        TASK_TEST(what_a_tool_put_beside_its_result_stays_there),
        TASK_TEST(a_task_that_asks_shows_its_questions_where_they_can_be_answered),
        TASK_TEST(times_that_are_not_said_are_not_made_up),
        TASK_TEST(cancelling_is_acknowledged),
        TASK_TEST(answers_are_acknowledged),
        TASK_TEST(a_list_of_tasks_has_pages),
        TASK_TEST(the_result_of_a_task_names_it),
        TASK_TEST(a_change_is_told_in_both_eras),
        TASK_TEST(what_finds_no_room_leaves_nothing),
        TASK_TEST(the_schema_of_tasks_refuses_what_is_not_named),
    };

    mcp_schema_require();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
