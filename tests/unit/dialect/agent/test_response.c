#include "dialect/agent/message.h"

#include "support/cmocka.h"

#include <errno.h>

#include "support/guard.h"
#include "support/oom_sweep.h"
#include "unit/dialect/agent/span_testing.h"

#define AT 1234567890000

static const AgentTool tool = {
    .id = SPAN_INIT("tool-call-abc"),
    .name = SPAN_INIT("list_files"),
    .input = SPAN_INIT("{\"path\":\"src\"}"),
    .result = SPAN_INIT("{\"files\":[\"index.ts\",\"app.tsx\"]}"),
};

static const AgentTool odd = {
    .id = SPAN_INIT("t\n"),
    .name = SPAN_INIT("n\xFF"),
    .input = SPAN_INIT("{\r\n  \"n\": 9007199254740993,\n\t\"f\":1.0\n}"),
    .approval_required = true,
    .error = SPAN_INIT("no\nluck"),
    .elapsed_ms = 1500,
    .message = SPAN_INIT("half"),
    .progress = SPAN_INIT("1.0"),
    .total = SPAN_INIT("2"),
};

/* Writes the message of that number; 15 of them. */
static int write_one(Bytes *out, size_t which)
{
    static const Span capabilities[] = {SPAN_INIT("streaming"), SPAN_INIT("tools"),
                                        SPAN_INIT("attachments")};
    static const AgentStatus status = {
        .state = AGENT_STATE_IDLE, .conversation_length = 10, .uptime_ms = 3600000};
    static const AgentStatus busy = {.state = AGENT_STATE_USING_TOOL,
                                     .members = SPAN_INIT("\"model\":\"m\",\"tools\":3")};
    static const AgentTool empty = {.id = SPAN_INIT("t"), .name = SPAN_INIT("n")};

    switch (which) {
    case 0:
        return agent_write_ready(out, SPAN_NULL, NULL, 0, AT);
    case 1:
        return agent_write_ready(out, SPAN(AGENT_PROTOCOL_VERSION), capabilities, 3, AT);
    case 2:
        return agent_write_token(out, SPAN("req-uuid-123"), SPAN("Hello"), AT + 1);
    case 3:
        return agent_write_token(out, SPAN("r"), SPAN("a\r\n\xE2\x80\xA8\"\xFF"), -5);
    case 4:
        return agent_write_tool_use(out, SPAN("req-uuid-123"), &tool, AT + 2);
    case 5:
        return agent_write_tool_use(out, SPAN("r"), &odd, 0);
    case 6:
        return agent_write_tool_result(out, SPAN("req-uuid-123"), &tool, AT + 3);
    case 7:
        return agent_write_tool_result(out, SPAN("r"), &odd, 0);
    case 8:
        return agent_write_tool_progress(out, SPAN("r"), &odd, 0);
    case 9:
        return agent_write_done(out, SPAN("req-uuid-123"), SPAN_NULL, AT + 4);
    case 10:
        return agent_write_done(out, SPAN("r"), SPAN("{\n\"conversationId\":\"c\"}"), 0);
    case 11:
        return agent_write_error(out, SPAN("req-uuid-123"),
                                 SPAN("Failed to process request: API rate limit exceeded"),
                                 AT + 5);
    case 12:
        return agent_write_error(out, SPAN_NULL, SPAN("x"), 0);
    case 13:
        return agent_write_status(out, SPAN("req-uuid-125"), &status, AT + 6);
    case 14:
        return agent_write_status(out, SPAN("r"), &busy, 0);
    case 15:
        return agent_write_tool_use(out, SPAN("r"), &empty, 0);
    case 16:
        return agent_write_tool_result(out, SPAN("r"), &empty, 0);
    default:
        return agent_write_tool_progress(out, SPAN("r"), &empty, INT64_MIN);
    }
}

static const char *const texts[] = {
    "{\"type\":\"ready\",\"timestamp\":1234567890000}",
    "{\"type\":\"ready\",\"version\":\"1.0.0\",\"capabilities\":[\"streaming\",\"tools\","
    "\"attachments\"],\"timestamp\":1234567890000}",
    "{\"type\":\"token\",\"id\":\"req-uuid-123\",\"token\":\"Hello\",\"timestamp\":1234567890001}",
    "{\"type\":\"token\",\"id\":\"r\",\"token\":\"a\\r\\n\\u2028\\\"\xEF\xBF\xBD\","
    "\"timestamp\":-5}",
    "{\"type\":\"tool_use\",\"id\":\"req-uuid-123\",\"data\":{\"toolId\":\"tool-call-abc\","
    "\"toolName\":\"list_files\",\"input\":{\"path\":\"src\"}},\"timestamp\":1234567890002}",
    "{\"type\":\"tool_use\",\"id\":\"r\",\"data\":{\"toolId\":\"t\\n\",\"toolName\":"
    "\"n\xEF\xBF\xBD\",\"input\":{  \"n\": 9007199254740993,\t\"f\":1.0},\"approvalRequired\":true}"
    ",\"timestamp\":0}",
    "{\"type\":\"tool_result\",\"id\":\"req-uuid-123\",\"data\":{\"toolId\":\"tool-call-abc\","
    "\"toolName\":\"list_files\",\"result\":{\"files\":[\"index.ts\",\"app.tsx\"]}},"
    "\"timestamp\":1234567890003}",
    "{\"type\":\"tool_result\",\"id\":\"r\",\"data\":{\"toolId\":\"t\\n\",\"toolName\":"
    "\"n\xEF\xBF\xBD\",\"error\":\"no\\nluck\"},\"timestamp\":0}",
    "{\"type\":\"tool_progress\",\"id\":\"r\",\"data\":{\"toolId\":\"t\\n\",\"toolName\":"
    "\"n\xEF\xBF\xBD\",\"elapsedMs\":1500,\"progress\":1.0,\"total\":2,\"message\":\"half\"},"
    "\"timestamp\":0}",
    "{\"type\":\"done\",\"id\":\"req-uuid-123\",\"timestamp\":1234567890004}",
    "{\"type\":\"done\",\"id\":\"r\",\"data\":{\"conversationId\":\"c\"},\"timestamp\":0}",
    "{\"type\":\"error\",\"id\":\"req-uuid-123\",\"error\":\"Failed to process request: API rate "
    "limit exceeded\",\"timestamp\":1234567890005}",
    "{\"type\":\"error\",\"error\":\"x\",\"timestamp\":0}",
    "{\"type\":\"status\",\"id\":\"req-uuid-125\",\"data\":{\"state\":\"idle\","
    "\"conversationLength\":10,\"uptime\":3600000},\"timestamp\":1234567890006}",
    "{\"type\":\"status\",\"id\":\"r\",\"data\":{\"state\":\"using_tool\",\"conversationLength\":0,"
    "\"uptime\":0,\"model\":\"m\",\"tools\":3},\"timestamp\":0}",
    "{\"type\":\"tool_use\",\"id\":\"r\",\"data\":{\"toolId\":\"t\",\"toolName\":\"n\",\"input\":"
    "{}},\"timestamp\":0}",
    "{\"type\":\"tool_result\",\"id\":\"r\",\"data\":{\"toolId\":\"t\",\"toolName\":\"n\","
    "\"result\":null},\"timestamp\":0}",
    "{\"type\":\"tool_progress\",\"id\":\"r\",\"data\":{\"toolId\":\"t\",\"toolName\":\"n\","
    "\"elapsedMs\":0},\"timestamp\":-9223372036854775808}",
};

static void responses_are_written_as_the_document_has_them(void **state)
{
    Bytes out;

    (void)state;
    bytes_init(&out, 4096);
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        bytes_clear(&out);
        assert_int_equal(write_one(&out, i), 0);
        assert_span(bytes_span(&out), texts[i]);
        assert_null(memchr(out.data, '\n', out.n));
    }
    bytes_deinit(&out);
}

static void what_does_not_fit_leaves_the_buffer_as_it_was(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        for (size_t max = 1; max <= strlen(texts[i]); max++) {
            Bytes out;

            bytes_init(&out, max);
            assert_int_equal(bytes_append(&out, "x", 1), 0);
            assert_int_equal(write_one(&out, i), BYTES_E_FULL);
            assert_int_equal(out.n, 1);
            bytes_deinit(&out);
        }
    }
}

static void what_is_written_is_read_back(void **state)
{
    static const AgentType types[] = {
        AGENT_TYPE_READY,       AGENT_TYPE_READY,       AGENT_TYPE_TOKEN,
        AGENT_TYPE_TOKEN,       AGENT_TYPE_TOOL_USE,    AGENT_TYPE_TOOL_USE,
        AGENT_TYPE_TOOL_RESULT, AGENT_TYPE_TOOL_RESULT, AGENT_TYPE_TOOL_PROGRESS,
        AGENT_TYPE_DONE,        AGENT_TYPE_DONE,        AGENT_TYPE_ERROR,
        AGENT_TYPE_ERROR,       AGENT_TYPE_STATUS,      AGENT_TYPE_STATUS,
        AGENT_TYPE_TOOL_USE,    AGENT_TYPE_TOOL_RESULT, AGENT_TYPE_TOOL_PROGRESS};
    AgentResponse all[TW_ARRAY_SIZE(types)];
    GuardBuffer guards[TW_ARRAY_SIZE(types)];
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        guards[i] = guard_copy(texts[i], strlen(texts[i]));
        assert_int_equal(
            agent_response_read(&all[i], &arena, span_make(guards[i].p, guards[i].n), NULL), 0);
        assert_int_equal(all[i].type, types[i]);
    }
    assert_int_equal(all[0].timestamp, AT);
    assert_span(all[1].version, "1.0.0");
    assert_span(all[1].capabilities, "[\"streaming\",\"tools\",\"attachments\"]");
    assert_span(all[2].id, "req-uuid-123");
    assert_span(all[2].token, "Hello");
    assert_span(all[3].token, "a\r\n\xE2\x80\xA8\"\xEF\xBF\xBD");
    assert_span(all[4].tool.id, "tool-call-abc");
    assert_span(all[4].tool.name, "list_files");
    assert_span(all[4].tool.input, "{\"path\":\"src\"}");
    assert_false(all[4].tool.approval_required);
    assert_true(all[5].tool.approval_required);
    assert_span(all[6].tool.result, "{\"files\":[\"index.ts\",\"app.tsx\"]}");
    assert_false(all[6].is_tool_error);
    assert_true(all[7].is_tool_error);
    assert_span(all[7].tool.error, "no\nluck");
    assert_int_equal(all[8].tool.elapsed_ms, 1500);
    assert_span(all[8].tool.message, "half");
    assert_span(all[8].tool.progress, "1.0");
    assert_span(all[8].tool.total, "2");
    assert_span(all[10].data, "{\"conversationId\":\"c\"}");
    assert_span(all[11].error, "Failed to process request: API rate limit exceeded");
    assert_span(all[12].id, "");
    assert_span(all[13].state, "idle");
    assert_int_equal(all[13].conversation_length, 10);
    assert_int_equal(all[13].uptime_ms, 3600000);
    assert_span(all[16].tool.result, "null");
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        guard_free(&guards[i]);
    }
    arena_deinit(&arena);
}

static void other_peers_spellings_are_read(void **state)
{
    AgentResponse response;
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    assert_int_equal(
        agent_response_read(&response, &arena,
                            SPAN("{\"type\":\"tool_use\",\"id\":\"r\",\"data\":{\"tool_use_id\":"
                                 "\"t\",\"tool_name\":\"n\",\"tool_input\":[1]}}"),
                            NULL),
        0);
    assert_span(response.tool.id, "t");
    assert_span(response.tool.name, "n");
    assert_span(response.tool.input, "[1]");
    assert_int_equal(
        agent_response_read(&response, &arena,
                            SPAN("{\"type\":\"tool_progress\",\"id\":7,\"data\":{\"tool_use_id\":"
                                 "\"t\",\"tool_name\":\"n\",\"elapsed_time_seconds\":1.5}}"),
                            NULL),
        0);
    assert_span(response.id, "7");
    assert_int_equal(response.tool.elapsed_ms, 1500);
    assert_int_equal(
        agent_response_read(&response, &arena,
                            SPAN("{\"type\":\"tool_result\",\"id\":\"r\",\"data\":{\"toolId\":"
                                 "\"t\",\"error\":{\"message\":\"deep\"}}}"),
                            NULL),
        0);
    assert_true(response.is_tool_error);
    assert_span(response.tool.error, "deep");
    assert_int_equal(agent_response_read(&response, &arena,
                                         SPAN("{\"type\":\"error\",\"message\":\"old\"}"), NULL),
                     0);
    assert_span(response.error, "old");
    assert_int_equal(agent_response_read(&response, &arena,
                                         SPAN("{\"type\":\"error\",\"error\":{\"code\":5}}"), NULL),
                     0);
    assert_span(response.error, "{\"code\":5}");
    assert_int_equal(agent_response_read(&response, &arena, SPAN("{\"type\":\"error\"}"), NULL), 0);
    assert_span(response.error, "the agent failed, and did not say why");
    assert_int_equal(agent_response_read(&response, &arena,
                                         SPAN("{\"type\":\"done\",\"timestamp\":\"soon\"}"), NULL),
                     0);
    assert_int_equal(response.timestamp, 0);
    arena_deinit(&arena);
}

static void wrong_responses_are_named(void **state)
{
    static const struct {
        const char *text;
        int r;
        const char *field;
        const char *words;
    } rows[] = {
        {"Listening on stdin", AGENT_MESSAGE_E_SYNTAX, "", NULL},
        {"[1]", AGENT_MESSAGE_E_SYNTAX, "", NULL},
        {"{}", AGENT_MESSAGE_E_KIND, "", "Missing response type"},
        {"{\"type\":\"dance\"}", AGENT_MESSAGE_E_KIND, "", "Unknown response type: dance"},
        {"{\"type\":\"token\"}", AGENT_MESSAGE_E_FIELD, "token",
         "Invalid response: token must be a string"},
        {"{\"type\":\"token\",\"token\":5}", AGENT_MESSAGE_E_FIELD, "token", NULL},
        {"{\"type\":\"tool_use\"}", AGENT_MESSAGE_E_FIELD, "data",
         "Invalid response: data must be an object"},
        {"{\"type\":\"tool_result\",\"data\":{}}", AGENT_MESSAGE_E_FIELD, "data.toolId",
         "Invalid response: data.toolId is missing"},
        {"{\"type\":\"tool_use\",\"data\":{\"toolId\":\"t\",\"approvalRequired\":1}}",
         AGENT_MESSAGE_E_FIELD, "data.approvalRequired", NULL},
        {"{\"type\":\"status\",\"data\":[]}", AGENT_MESSAGE_E_FIELD, "data", NULL},
    };
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        GuardBuffer guard = guard_copy(rows[i].text, strlen(rows[i].text));
        AgentResponse response;
        Diag diag = DIAG_NULL;

        assert_int_equal(agent_response_read(&response, &arena, span_make(guard.p, guard.n), &diag),
                         rows[i].r);
        assert_string_equal(diag.field, rows[i].field);
        if (rows[i].words != NULL) {
            assert_string_equal(diag.message, rows[i].words);
        }
        guard_free(&guard);
    }
    arena_deinit(&arena);
}

static int scenario(void *context)
{
    Arena arena;
    Bytes out;
    AgentResponse response;
    int r = 0;

    (void)context;
    arena_init(&arena, SIZE_MAX);
    bytes_init(&out, 4096);
    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(texts); i++) {
        bytes_clear(&out);
        r = write_one(&out, i);
        if (r == 0) {
            r = agent_response_read(&response, &arena, bytes_span(&out), NULL);
        }
    }
    arena_deinit(&arena);
    bytes_deinit(&out);
    return r;
}

static void every_failed_allocation_is_survived(void **state)
{
    (void)state;
    test_oom_sweep(scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(responses_are_written_as_the_document_has_them),
        cmocka_unit_test(what_does_not_fit_leaves_the_buffer_as_it_was),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(other_peers_spellings_are_read),
        cmocka_unit_test(wrong_responses_are_named),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
