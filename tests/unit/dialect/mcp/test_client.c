/* Requests and their answers, notifications, deadlines, and everything that a server should not
 * send. */
#include "client_testing.h"

#include "base/limits.h"
#include "dialect/mcp/client.h"
#include "support/alloc_testing.h"
#include "support/guard.h"
#include "support/oom_sweep.h"

static void requests_wait_for_the_session_and_keep_their_order(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_start(&wire);
    assert_int_equal(asks_for(&wire, "tools/list", ""), 2);
    assert_int_equal(asks_for(&wire, "tools/call", " { \"name\" : \"x\" } "), 3);
    assert_int_equal(asks_for(&wire, "prompts/list", "{ }"), 4);
    sent(&wire, PROBE(1));
    says(&wire, DISCOVERED(1));
    sent(&wire,
         "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{" META "}}\n"
         "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\" : "
         "\"x\"," META "}}\n"
         "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"prompts/list\",\"params\":{" META "}}\n");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"resultType\":\"complete\",\"a\":1}}");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32603,\"message\":\"a\\nb\","
                "\"data\":[1]}}");
    events(&wire, "READY 2026-07-28\nRESULT 3 {\"resultType\":\"complete\",\"a\":1}\n"
                  "RESULT 2 {}\nERROR 4 -32603 a\nb [1]\n");
    wire_deinit(&wire);
}

static void legacy_request_carries_nothing_modern(void **state)
{
    McpRequestId id = 0;
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire_ready_legacy(&wire, WELCOME(1, "2025-11-25"));
    (void)asks_for(&wire, "tools/list", "");
    (void)asks_for(&wire, "tools/call", "{\"name\":\"x\"}");
    assert_int_equal(mcp_client_request(wire.client, SPAN("tools/call"), SPAN("{}"), true, 0, &id),
                     0);
    assert_int_equal(id, 4);
    sent(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n"
                "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{\"name\":"
                "\"x\"}}\n"
                "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tools/call\",\"params\":{"
                "\"_meta\":{\"progressToken\":4}}}\n");
    /* And what is modern in an answer means nothing. */
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"input_required\"}}");
    events(&wire, "RESULT 2 {\"resultType\":\"input_required\"}\n");
    wire_deinit(&wire);
}

/* As wire_commit, with what was lent in its place. */
static int wire_commit_lent(void *context, BytesLent lent)
{
    Wire *wire = context;
    Span message = bytes_span(&wire->message);

    assert_true(lent.span.n >= BYTES_LEND_MIN && lent.at > 0 && lent.at < message.n);
    assert_int_equal(bytes_append(&wire->sent, message.p, lent.at), 0);
    assert_int_equal(bytes_append_span(&wire->sent, lent.span), 0);
    assert_int_equal(bytes_append(&wire->sent, message.p + lent.at, message.n - lent.at), 0);
    return bytes_append_byte(&wire->sent, '\n');
}

/* `"xx…x"` */
static Span long_arguments(char *memory, size_t n)
{
    memset(memory, 'x', n);
    memory[0] = memory[n - 1] = '"';
    return span_make(memory, n);
}

static void asks_with_arguments(Wire *wire, const char *params, Span arguments, Span meta)
{
    McpRequestOptions options = {.arguments = arguments, .meta = meta};
    McpRequestId id = 0;

    assert_int_equal(mcp_client_request_with(wire->client, SPAN("tools/call"),
                                             span_from_str(params), &options, wire->now_ms, &id),
                     0);
}

static void arguments_are_a_member_of_params(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire.sink.commit_lent = wire_commit_lent;
    wire_ready_legacy(&wire, WELCOME(1, "2025-11-25"));
    asks_with_arguments(&wire, "{\"name\":\"x\"}", SPAN("{\"a\":1}"), SPAN("\"m\":1"));
    asks_with_arguments(&wire, "", SPAN("[]"), SPAN_NULL);
    sent(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":"
                "\"x\",\"arguments\":{\"a\":1},\"_meta\":{\"m\":1}}}\n"
                "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{"
                "\"arguments\":[]}}\n");
    wire_deinit(&wire);
}

/* The message is the same whether its sink takes what is lent, and whether it waits before. */
static void large_arguments_are_lent_where_the_sink_takes_them(void **state)
{
    static char memory[BYTES_LEND_MIN + 1];
    static char want[2 * sizeof(memory)];

    (void)state;
    for (size_t i = 0; i < 8; i++) {
        Span arguments = long_arguments(memory, BYTES_LEND_MIN - 1 + (i & 1) * 2);
        bool waits = (i & 2) != 0;
        Wire wire;

        wire_init(&wire, MCP_CLIENT_MODERN);
        wire.sink.commit_lent = (i & 4) != 0 ? wire_commit_lent : NULL;
        wire_start(&wire);
        if (waits) {
            asks_with_arguments(&wire, "{\"name\":\"x\"}", arguments, SPAN_NULL);
        }
        says(&wire, DISCOVERED(1));
        if (!waits) {
            asks_with_arguments(&wire, "{\"name\":\"x\"}", arguments, SPAN_NULL);
        }
        (void)snprintf(want, sizeof(want),
                       PROBE(1) "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\","
                                "\"params\":{\"name\":\"x\",\"arguments\":%.*s," META "}}\n",
                       (int)arguments.n, arguments.p);
        sent(&wire, want);
        wire_deinit(&wire);
    }
}

static void progress_is_told_and_starts_the_clock_anew(void **state)
{
    McpRequestId id = 0;
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_ready_modern(&wire);
    assert_int_equal(
        mcp_client_request(wire.client, SPAN("tools/call"), SPAN("{}"), true, wire.now_ms, &id), 0);
    assert_int_equal(bytes_append_byte(&wire.sent, '\0'), 0);
    assert_non_null(strstr(wire.sent.data, ",\"progressToken\":2}}"));
    for (int i = 0; i < 3; i++) {
        advance(&wire, LIMIT_MCP_CLIENT_REQUEST_MS - 1);
        events(&wire, "");
        says(&wire,
             "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
             "\"progressToken\":2,\"progress\":0.5,\"total\":2,\"message\":\"h\\u0061lf\"}}");
        events(&wire, "PROGRESS 2 0.5/2 half\n");
    }
    says(&wire, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                "\"progressToken\":2,\"progress\":1,\"total\":\"x\",\"message\":7}}");
    events(&wire, "PROGRESS 2 1/-1 \n");
    bytes_clear(&wire.sent);
    advance(&wire, LIMIT_MCP_CLIENT_REQUEST_MS);
    events(&wire, "ERROR 2 -32001 the server did not answer in time\n");
    sent(&wire, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                "\"requestId\":2,\"reason\":\"timed out\"}}\n");
    assert_int_equal(mcp_client_next_deadline(wire.client), INT64_MAX);
    wire_deinit(&wire);
}

static void progress_does_not_move_the_hard_maximum(void **state)
{
    McpRequestId id = 0;
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_ready_modern(&wire);
    assert_int_equal(
        mcp_client_request(wire.client, SPAN("tools/call"), SPAN("{}"), true, wire.now_ms, &id), 0);
    for (int64_t at = 0; at + 50000 < LIMIT_CALL_MAX_MS; at += 50000) {
        advance(&wire, 50000);
        says(&wire, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                    "\"progressToken\":2,\"progress\":1}}");
    }
    bytes_clear(&wire.events);
    /* It may be told too early, but not twice. */
    advance(&wire, mcp_client_next_deadline(wire.client) - wire.now_ms);
    assert_int_equal(mcp_client_next_deadline(wire.client), 1000 + LIMIT_CALL_MAX_MS);
    advance(&wire, 1000 + LIMIT_CALL_MAX_MS - wire.now_ms);
    events(&wire, "ERROR 2 -32001 the server did not answer in time\n");
    wire_deinit(&wire);
}

static void progress_of_nobody_is_skipped(void **state)
{
    static const char *const params[] = {
        "{\"progressToken\":3,\"progress\":1}",
        "{\"progressToken\":\"2\",\"progress\":1}",
        "{\"progressToken\":2.0,\"progress\":1}",
        "{\"progressToken\":2}",
        "{\"progressToken\":2,\"progress\":\"1\"}",
        "{\"progress\":1}",
        "[]",
    };
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_ready_modern(&wire);
    (void)asks_for(&wire, "tools/call", "{}");
    for (size_t i = 0; i < TW_ARRAY_SIZE(params); i++) {
        char text[128];

        (void)snprintf(text, sizeof(text),
                       "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":%s}",
                       params[i]);
        says(&wire, text);
        assert_int_equal(mcp_client_n_skipped(wire.client), i + 1);
    }
    /* This request did not ask for any. */
    says(&wire, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
                "\"progressToken\":2,\"progress\":1}}");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}");
    assert_int_equal(mcp_client_n_skipped(wire.client), TW_ARRAY_SIZE(params) + 2);
    events(&wire, "");
    wire_deinit(&wire);
}

static void cancelled_request_ends_at_once_and_its_late_answer_is_dropped(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_start(&wire);
    (void)asks_for(&wire, "tools/list", "");
    mcp_client_cancel(wire.client, 2, SPAN("x"));
    wire_drain(&wire);
    events(&wire, "ERROR 2 -32800 the request was cancelled\n");
    sent(&wire, PROBE(1));
    says(&wire, DISCOVERED(1));
    sent(&wire, "");
    (void)asks_for(&wire, "tools/call", "{}");
    bytes_clear(&wire.sent);
    bytes_clear(&wire.events);
    mcp_client_cancel(wire.client, 99, SPAN("x"));
    mcp_client_cancel(wire.client, 3, SPAN_NULL);
    wire_drain(&wire);
    sent(&wire, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                "\"requestId\":3}}\n");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
    events(&wire, "ERROR 3 -32800 the request was cancelled\n");
    assert_int_equal(mcp_client_n_skipped(wire.client), 1);
    wire_deinit(&wire);
}

static void ids_are_matched_strictly(void **state)
{
    static const char *const ids[] = {
        "\"2\"", "2.0", "2e0", "-2", "3", "null", "[2]", "0", "18446744073709551618"};
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_ready_modern(&wire);
    (void)asks_for(&wire, "tools/list", "");
    for (size_t i = 0; i < TW_ARRAY_SIZE(ids); i++) {
        char text[96];

        (void)snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{}}", ids[i]);
        says(&wire, text);
        assert_int_equal(mcp_client_n_skipped(wire.client), i + 1);
    }
    events(&wire, "");
    wire_deinit(&wire);
}

static void rubbish_is_skipped_and_counted(void **state)
{
    static const char *const lines[] = {
        "Listening on port 3000",
        " \t[info] {not json",
        "[2026-01-01] started",
        "[",
        "7",
        "[]",
        "{}",
        "{\"jsonrpc\":\"2.0\",\"method\":7}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":null}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"ping\",\"id\":{}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}",
        "\xFF",
        /* Not JSON, but seen to be nothing that anybody waits for. */
        "{\"level\":\"info\",\"text\":\"\xFF\"}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"\xFF\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\",\"params\":{\"data\":\"\xFF\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"data\":\"\xFF\"}}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"2\",\"result\":{\"data\":\"\xFF\"}}",
        /* JSON, without the number of an open request. */
        "[{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}},7,{\"id\":2,\"method\":\"x\"}]",
        "{\"id\":3,\"result\":{}}",
        "{\"id\":2,\"method\":\"x\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{},\"error\":{}}",
    };
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_ready_modern(&wire);
    (void)asks_for(&wire, "tools/list", "");
    for (size_t i = 0; i < TW_ARRAY_SIZE(lines); i++) {
        GuardBuffer guarded = guard_copy(lines[i], strlen(lines[i]));

        assert_int_equal(
            mcp_client_receive(wire.client, span_make(guarded.p, guarded.n), wire.now_ms), 0);
        wire_drain(&wire);
        guard_free(&guarded);
        assert_int_equal(mcp_client_n_skipped(wire.client), i + 1);
    }
    events(&wire, "");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
    events(&wire, "RESULT 2 {}\n");
    wire_deinit(&wire);
}

static void answers_of_the_wrong_shape_end_their_request(void **state)
{
    static const struct {
        const char *answer;
        const char *event;
    } cases[] = {
        {"\"result\":7", "ERROR 2 -32603 the server's result is not an object\n"},
        {"\"result\":{\"resultType\":\"task\"}",
         "ERROR 2 -32603 the server's result is of a type that is unknown\n"},
        {"\"result\":{\"resultType\":7}",
         "ERROR 2 -32603 the server's result is of a type that is unknown\n"},
        {"\"error\":7", "ERROR 2 -32603 the server's error says nothing\n"},
        {"\"error\":{\"code\":1e99,\"message\":7}",
         "ERROR 2 -32603 the server's error says nothing\n"},
        {"\"error\":{\"code\":5,\"message\":\"m\",\"data\":null}", "ERROR 2 5 m null\n"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        char text[128];
        Wire wire;

        wire_init(&wire, MCP_CLIENT_MODERN);
        wire_ready_modern(&wire);
        (void)asks_for(&wire, "tools/list", "");
        (void)snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":2,%s}", cases[i].answer);
        says(&wire, text);
        events(&wire, cases[i].event);
        wire_deinit(&wire);
    }
}

static void batches_are_read_in_the_one_revision_that_has_them(void **state)
{
    const char *batch = "[{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"a\":1}},7,"
                        "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"ping\"},"
                        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"b\":2}},"
                        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}]";
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire_ready_legacy(&wire, WELCOME(1, "2025-03-26"));
    (void)asks_for(&wire, "tools/list", "");
    (void)asks_for(&wire, "prompts/list", "");
    bytes_clear(&wire.sent);
    says(&wire, batch);
    events(&wire, "RESULT 3 {\"a\":1}\nRESULT 2 {\"b\":2}\nNOTIFICATION notifications/x\n");
    sent(&wire, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\n");
    assert_int_equal(mcp_client_n_skipped(wire.client), 1);
    wire_deinit(&wire);

    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire_ready_legacy(&wire, WELCOME(1, "2025-06-18"));
    says(&wire, batch);
    events(&wire, "");
    wire_deinit(&wire);
}

static void notifications_are_passed_on(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_ready_modern(&wire);
    says(&wire, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":"
                "\"info\",\"data\":1}}");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools\\/list_changed\"}");
    events(&wire, "NOTIFICATION notifications/message {\"level\":\"info\",\"data\":1}\n"
                  "NOTIFICATION notifications/tools/list_changed\n");
    wire_deinit(&wire);
}

static void subscription_has_no_deadline_and_may_be_ended_by_the_server(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_ready_modern(&wire);
    (void)asks_for(&wire, "subscriptions/listen",
                   "{\"notifications\":{\"toolsListChanged\":true}}");
    sent(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"subscriptions/listen\",\"params\":{"
                "\"notifications\":{\"toolsListChanged\":true}," META "}}\n");
    assert_int_equal(mcp_client_next_deadline(wire.client), INT64_MAX);
    advance(&wire, 10 * LIMIT_CALL_MAX_MS);
    says(&wire, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\",\"params\":{"
                "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":2}}}");
    events(&wire, "NOTIFICATION notifications/tools/list_changed "
                  "{\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":2}}\n");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                "\"requestId\":2}}");
    events(&wire, "ERROR 2 -32000 the server ended the subscription\n");
    wire_deinit(&wire);
}

static void our_notifications_go_to_legacy_servers_only(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire_ready_legacy(&wire, WELCOME(1, "2025-11-25"));
    assert_int_equal(
        mcp_client_notify(wire.client, SPAN("notifications/roots/list_changed"), SPAN_NULL), 0);
    assert_int_equal(mcp_client_notify(wire.client, SPAN("notifications/x"), SPAN("{\"a\":1}")), 0);
    sent(&wire, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/roots/list_changed\"}\n"
                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\",\"params\":{\"a\":1}}\n");
    wire_deinit(&wire);

    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_ready_modern(&wire);
    assert_int_equal(
        mcp_client_notify(wire.client, SPAN("notifications/roots/list_changed"), SPAN_NULL), 0);
    sent(&wire, "");
    wire_deinit(&wire);
}

static void open_requests_are_bounded(void **state)
{
    McpRequestId id = 0;
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire.config.max_open = 5;
    wire_ready_modern(&wire);
    for (int i = 0; i < 5; i++) {
        (void)asks_for(&wire, "tools/list", "");
    }
    assert_int_equal(mcp_client_request(wire.client, SPAN("x"), SPAN_NULL, false, 0, &id),
                     MCP_CLIENT_E_BUSY);
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}");
    assert_int_equal(asks_for(&wire, "tools/list", ""), 7);
    for (int i = 2; i < 8; i++) {
        char text[64];

        (void)snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{}}", i);
        says(&wire, text);
    }
    events(&wire, "RESULT 4 {}\nRESULT 2 {}\nRESULT 3 {}\nRESULT 5 {}\nRESULT 6 {}\nRESULT 7 {}\n");
    wire_deinit(&wire);
}

static void answers_that_cannot_be_used_end_their_request_alone(void **state)
{
    static const struct {
        const char *line;
        const char *why;
    } cases[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{},\"error\":{}}",
         "has both a result and an error"},
        {"{\"jsonrpc\":\"2.0\",\"id\":2}", "has neither a result nor an error"},
        {"{\"id\":2,\"result\":{}}", "does not say that it is JSON-RPC 2.0"},
        {"{\"jsonrpc\":\"1.0\",\"id\":2,\"result\":{}}", "does not say that it is JSON-RPC 2.0"},
        {"[7,{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}]",
         "is part of a batch, which this version of MCP does not have"},
        /* The brackets show whose it is. */
        {"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"a\":\"\xFF\"}}", "is not JSON"},
        {" { \"result\" : {\"a\":\"}\\\"\\x\"} , \"id\" : 2 } ", "is not JSON"},
        {"{\"result\":{\"id\":3,\"a\":[01]},\"id\":3,\"id\":2,}", "is not JSON"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        GuardBuffer guarded = guard_copy(cases[i].line, strlen(cases[i].line));
        char text[128];
        Wire wire;

        wire_init(&wire, MCP_CLIENT_MODERN);
        wire_ready_modern(&wire);
        (void)asks_for(&wire, "tools/list", "");
        (void)asks_for(&wire, "prompts/list", "");
        bytes_clear(&wire.sent);
        assert_int_equal(
            mcp_client_receive(wire.client, span_make(guarded.p, guarded.n), wire.now_ms), 0);
        wire_drain(&wire);
        guard_free(&guarded);
        (void)snprintf(text, sizeof(text), "ERROR 2 -32603 the server's answer %s\n", cases[i].why);
        events(&wire, text);
        /* It has been answered: there is nothing to be cancelled. */
        sent(&wire, "");
        says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}");
        events(&wire, "RESULT 3 {}\n");
        wire_deinit(&wire);
    }
}

#define CANCELLED(id)                                                                              \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"                     \
    "\"requestId\":" #id ",\"reason\":\"the answer is lost\"}}\n"

static void message_that_may_have_been_any_answer_ends_all_that_wait(void **state)
{
    static const char *const lines[] = {
        "{not json",
        "{",
        " \t{\"jsonrpc\"",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":\"\\",
        /* Two messages in one line. */
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"method\":\"x\",{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"id\":,\"result\":{}}",
        "{\"jsonrpc\":\"2.0\",\"i\\u0064\":2,\"result\":{01}}",
        "{\"jsonrpc\":\"2.0\",\"id\" 2,\"result\":{}}",
        "[{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}",
        "[[",
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(lines); i++) {
        GuardBuffer guarded = guard_copy(lines[i], strlen(lines[i]));
        Wire wire;

        wire_init(&wire, MCP_CLIENT_MODERN);
        wire_ready_modern(&wire);
        (void)asks_for(&wire, "tools/list", "");
        (void)asks_for(&wire, "prompts/list", "");
        (void)asks_for(&wire, "subscriptions/listen", "{}");
        bytes_clear(&wire.sent);
        assert_int_equal(
            mcp_client_receive(wire.client, span_make(guarded.p, guarded.n), wire.now_ms), 0);
        wire_drain(&wire);
        guard_free(&guarded);
        events(&wire, "ERROR 2 -32603 a message of the server is not JSON, and may have been the "
                      "answer\n"
                      "ERROR 3 -32603 a message of the server is not JSON, and may have been the "
                      "answer\n");
        sent(&wire, CANCELLED(2) CANCELLED(3));
        assert_int_equal(mcp_client_n_skipped(wire.client), 0);
        /* The subscription and the session go on. */
        (void)asks_for(&wire, "tools/list", "");
        says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}");
        says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}");
        events(&wire, "RESULT 5 {}\nRESULT 4 {}\n");
        /* And where nobody waits, nobody is told. */
        says(&wire, lines[i]);
        events(&wire, "");
        assert_int_equal(mcp_client_n_skipped(wire.client), 1);
        wire_deinit(&wire);
    }
}

static void call_that_waits_for_a_person_is_not_ended_by_a_lost_answer(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire.config.can = CALL_CAN_ROOTS;
    wire_ready_modern(&wire);
    (void)asks_for(&wire, "tools/call", "{}");
    says(&wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":\"input_required\","
                "\"inputRequests\":{\"r\":{\"method\":\"roots/list\"}}}}");
    events(&wire, "ASK #3 roots 2 r\n");
    says(&wire, "{not json");
    events(&wire, "");
    wire_deinit(&wire);
}

static void answer_that_is_nested_too_deep_ends_its_request(void **state)
{
    static const struct {
        const char *begin;
        const char *end;
        const char *events;
    } cases[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":", "}",
         "ERROR 2 -32603 the server's answer is nested too deep\n"},
        {"{\"jsonrpc\":\"2.0\",\"result\":", ",\"id\":2}",
         "ERROR 2 -32603 the server's answer is nested too deep\n"},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":", "}", ""},
        {"", "",
         "ERROR 2 -32603 a message of the server is nested too deep, and may have been the "
         "answer\n"},
    };
    char text[4 * LIMIT_JSON_DEPTH];

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        int n = snprintf(text, sizeof(text), "%s", cases[i].begin);
        Wire wire;

        memset(text + n, '[', LIMIT_JSON_DEPTH + 1);
        n += LIMIT_JSON_DEPTH + 1;
        memset(text + n, ']', LIMIT_JSON_DEPTH + 1);
        n += LIMIT_JSON_DEPTH + 1;
        (void)snprintf(text + n, sizeof(text) - (size_t)n, "%s", cases[i].end);
        wire_init(&wire, MCP_CLIENT_MODERN);
        wire_ready_modern(&wire);
        (void)asks_for(&wire, "tools/list", "");
        says(&wire, text);
        events(&wire, cases[i].events);
        wire_deinit(&wire);
    }
}

static void answer_that_is_too_long_ends_what_its_beginning_names(void **state)
{
    static const struct {
        const char *beginning;
        const char *events;
    } cases[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"a\":[",
         "ERROR 3 -32603 the server's answer is longer than allowed\n"},
        {"{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{\"a\":\"\\",
         "ERROR 3 -32603 the server's answer is longer than allowed\n"},
        {"{\"jsonrpc\":\"2.0\",\"id\":30,\"result\":{", ""},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"", ""},
        {"Once upon a time", ""},
#define BOTH                                                                                       \
    "ERROR 2 -32603 a message of the server is longer than allowed, and may have been the "        \
    "answer\n"                                                                                     \
    "ERROR 3 -32603 a message of the server is longer than allowed, and may have been the "        \
    "answer\n"
        {"{\"result\":{\"id\":2,\"a\":\"", BOTH},
        /* The number may go on. */
        {"{\"jsonrpc\":\"2.0\",\"id\":3", BOTH},
        {"{\"jsonrpc\"", BOTH},
        {"", BOTH},
#undef BOTH
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        GuardBuffer guarded = guard_copy(cases[i].beginning, strlen(cases[i].beginning));
        Wire wire;

        wire_init(&wire, MCP_CLIENT_MODERN);
        wire_ready_modern(&wire);
        (void)asks_for(&wire, "tools/list", "");
        (void)asks_for(&wire, "prompts/list", "");
        assert_int_equal(
            mcp_client_receive_too_long(wire.client, span_make(guarded.p, guarded.n), wire.now_ms),
            0);
        wire_drain(&wire);
        guard_free(&guarded);
        assert_int_equal(mcp_client_n_skipped(wire.client), cases[i].events[0] == '\0');
        events(&wire, cases[i].events);
        wire_deinit(&wire);
    }
}

static void limit_of_the_session_itself_says_the_same(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_LEGACY);
    wire.config.max_message_bytes = 40;
    wire_start(&wire);
    says(&wire, WELCOME(1, "2025-11-25"));
    events(&wire, "FAILED the server's answer to initialize is longer than allowed\n");
    wire_deinit(&wire);
}

static void request_that_cannot_be_sent_is_not_open(void **state)
{
    McpRequestId id = 0;
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_ready_modern(&wire);
    wire.is_full = true;
    assert_int_equal(mcp_client_request(wire.client, SPAN("x"), SPAN_NULL, false, 0, &id),
                     -ENOBUFS);
    assert_int_equal(mcp_client_next_deadline(wire.client), INT64_MAX);
    wire_deinit(&wire);

    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_start(&wire);
    (void)asks_for(&wire, "tools/list", "");
    wire.is_full = true;
    says(&wire, DISCOVERED(1));
    events(&wire, "READY 2026-07-28\nERROR 2 -32000 the request could not be sent\n");
    wire_deinit(&wire);
}

static void steady_traffic_allocates_nothing(void **state)
{
    Wire wire;

    (void)state;
    wire_init(&wire, MCP_CLIENT_MODERN);
    wire_ready_modern(&wire);
    for (int i = 0; i < 100; i++) {
        McpRequestId id = asks_for(&wire, "tools/call", "{\"name\":\"echo\",\"arguments\":{}}");
        char text[96];

        (void)snprintf(text, sizeof(text),
                       "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{\"content\":[]}}", (int)id);
        says(&wire, text);
        bytes_clear(&wire.sent);
        bytes_clear(&wire.events);
        if (i == 10) {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
        }
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    wire_deinit(&wire);
}

/* As says, where memory may be short. */
static int hears(Wire *wire, const char *message)
{
    McpClientEvent event;
    int r = mcp_client_receive(wire->client, span_from_str(message), wire->now_ms);

    while (r == 0 && mcp_client_next(wire->client, &event)) {
        if (event.kind == MCP_CLIENT_ASK) {
            wire->ask = event.ask;
        }
        /* What could not be sent for want of memory ends with an error, not with an errno. */
        if (event.kind == MCP_CLIENT_ERROR) {
            r = -ENOMEM;
        }
    }
    return r;
}

static int whole_session(void *context)
{
    Wire *wire = context;
    McpRequestId id = 0;
    int r;

    wire_init(wire, MCP_CLIENT_AUTO);
    wire->config.can = CALL_CAN_FORM;
    wire->config.log_level = CALL_LOG_INFO;
    r = mcp_client_new(&wire->client, &wire->config);
    r = r != 0 ? r : mcp_client_start(wire->client, 0);
    r = r != 0 ? r
               : mcp_client_request(wire->client, SPAN("tools/call"), SPAN("{\"name\":\"x\"}"),
                                    true, 0, &id);
    r = r != 0 ? r : hears(wire, DISCOVERED(1));
    r = r != 0 ? r
               : hears(wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"resultType\":"
                             "\"input_required\",\"requestState\":\"s\",\"inputRequests\":{"
                             "\"a\\u0062\":{\"method\":\"elicitation\\/create\",\"params\":{}}}}}");
    r = r != 0 ? r : mcp_client_answer(wire->client, wire->ask, SPAN("{}"), 0);
    if (r == 0) {
        /* A repetition that could not be sent has ended the call. */
        r = hears(wire, "{\"jsonrpc\":\"2.0\",\"id\":4,\"result\":{}}");
    }
    wire_deinit(wire);
    return r;
}

static int legacy_session(void *context)
{
    Wire *wire = context;
    McpRequestId id = 0;
    int r;

    wire_init(wire, MCP_CLIENT_LEGACY);
    wire->config.can = CALL_CAN_ROOTS;
    wire->config.log_level = CALL_LOG_INFO;
    r = mcp_client_new(&wire->client, &wire->config);
    r = r != 0 ? r : mcp_client_start(wire->client, 0);
    r = r != 0 ? r : hears(wire, WELCOME(1, "2025-03-26"));
    r = r != 0 ? r : mcp_client_request(wire->client, SPAN("x"), SPAN_NULL, true, 0, &id);
    r = r != 0 ? r : hears(wire, "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"roots/list\"}");
    r = r != 0 ? r : mcp_client_answer(wire->client, wire->ask, SPAN("{}"), 0);
    wire_deinit(wire);
    return r;
}

static void every_failing_allocation_is_survived(void **state)
{
    Wire wire;

    (void)state;
    test_oom_sweep(whole_session, &wire);
    test_oom_sweep(legacy_session, &wire);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_wait_for_the_session_and_keep_their_order),
        cmocka_unit_test(legacy_request_carries_nothing_modern),
        cmocka_unit_test(arguments_are_a_member_of_params),
        cmocka_unit_test(large_arguments_are_lent_where_the_sink_takes_them),
        cmocka_unit_test(progress_is_told_and_starts_the_clock_anew),
        cmocka_unit_test(progress_does_not_move_the_hard_maximum),
        cmocka_unit_test(progress_of_nobody_is_skipped),
        cmocka_unit_test(cancelled_request_ends_at_once_and_its_late_answer_is_dropped),
        cmocka_unit_test(ids_are_matched_strictly),
        cmocka_unit_test(rubbish_is_skipped_and_counted),
        cmocka_unit_test(answers_of_the_wrong_shape_end_their_request),
        cmocka_unit_test(batches_are_read_in_the_one_revision_that_has_them),
        cmocka_unit_test(notifications_are_passed_on),
        cmocka_unit_test(subscription_has_no_deadline_and_may_be_ended_by_the_server),
        cmocka_unit_test(our_notifications_go_to_legacy_servers_only),
        cmocka_unit_test(open_requests_are_bounded),
        cmocka_unit_test(answers_that_cannot_be_used_end_their_request_alone),
        cmocka_unit_test(message_that_may_have_been_any_answer_ends_all_that_wait),
        cmocka_unit_test(call_that_waits_for_a_person_is_not_ended_by_a_lost_answer),
        cmocka_unit_test(answer_that_is_nested_too_deep_ends_its_request),
        cmocka_unit_test(answer_that_is_too_long_ends_what_its_beginning_names),
        cmocka_unit_test(limit_of_the_session_itself_says_the_same),
        cmocka_unit_test(request_that_cannot_be_sent_is_not_open),
        cmocka_unit_test(steady_traffic_allocates_nothing),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
