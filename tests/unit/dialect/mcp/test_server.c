/* What a transcript cannot say: limits by the hundred, a sink that refuses, orders of events. */
#include "dialect/mcp/server.h"

#include "unit/dialect/mcp/session_rig.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "support/guard.h"
#include "support/mcp_schema.h"

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{}}}"

static const char initialize_2025_03_26[] =
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"2025-03-26\",\"capabilities\":{\"roots\":{}}}}";
static const char initialize_2025_11_25[] =
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"2025-11-25\",\"capabilities\":{\"elicitation\":{},\"roots\":{}}}}";

static int set_up(void **state)
{
    Rig *rig = malloc(sizeof(*rig));

    rig_init(rig);
    assert_int_equal(rig_open(rig), 0);
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    rig_deinit(*state);
    free(*state);
    return 0;
}

static void begin_session(Rig *rig, const char *initialize)
{
    assert_int_equal(rig_receive_text(rig, initialize), 0);
    assert_int_equal(
        rig_receive_text(rig, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"), 0);
    assert_non_null(rig_take(rig));
    assert_null(rig_take(rig));
}

/* Sends a request of the session; id is JSON. */
static void request(Rig *rig, const char *id, const char *method, const char *params)
{
    char text[1024];

    (void)snprintf(text, sizeof(text),
                   "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"%s\",\"params\":%s}", id, method,
                   params);
    assert_int_equal(rig_receive_text(rig, text), 0);
}

static void hold(Rig *rig, size_t i)
{
    char id[16];
    char params[80];

    (void)snprintf(id, sizeof(id), "%zu", i);
    (void)snprintf(params, sizeof(params), "{\"name\":\"hold\",\"arguments\":{\"tag\":\"%zu\"}}",
                   i);
    request(rig, id, "tools/call", params);
}

/* The next message holds that text, and is valid in that revision. */
static void expect(Rig *rig, McpRevision revision, const char *method, const char *part)
{
    const char *message = rig_take(rig);

    if (message == NULL || strstr(message, part) == NULL) {
        print_error("expected %s in %s\n", part, message == NULL ? "nothing" : message);
        fail();
    } else {
        mcp_schema_assert_message(revision, method, span_from_str(message));
    }
}

static void open_requests_are_bounded_and_answered_in_any_order(void **state)
{
    Rig *rig = *state;
    size_t n = 2 * LIMIT_CALLS_IN_FLIGHT;
    char part[32];

    begin_session(rig, initialize_2025_11_25);
    for (size_t i = 1; i <= n; i++) {
        hold(rig, i);
    }
    assert_int_equal(mcp_server_n_calls(rig->server), n);
    hold(rig, n + 1);
    expect(rig, MCP_2025_11_25, "tools/call", "\"code\":-32003");
    for (size_t i = n; i > 0; i--) {
        (void)snprintf(part, sizeof(part), "%zu", i);
        rig_finish(rig, part);
        (void)snprintf(part, sizeof(part), "\"id\":%zu,", i);
        expect(rig, MCP_2025_11_25, "tools/call", part);
    }
    assert_int_equal(mcp_server_n_calls(rig->server), 0);
    assert_null(mcp_server_first_call(rig->server));
}

static void modern_subscriptions_are_bounded(void **state)
{
    Rig *rig = *state;
    char id[16];

    for (size_t i = 0; i <= LIMIT_MCP_LISTENS; i++) {
        (void)snprintf(id, sizeof(id), "%zu", i);
        request(rig, id, "subscriptions/listen", "{\"notifications\":{}," META "}");
        expect(rig, MCP_2026_07_28, "subscriptions/listen",
               i < LIMIT_MCP_LISTENS ? "acknowledged" : "\"code\":-32003");
    }
    assert_int_equal(rig_receive_text(rig, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                                           "cancelled\",\"params\":{\"requestId\":7}}"),
                     0);
    request(rig, "7", "subscriptions/listen", "{\"notifications\":{}," META "}");
    expect(rig, MCP_2026_07_28, NULL, "acknowledged");
}

/* A filter with n URIs. */
static void listen_to(Rig *rig, const char *id, size_t n)
{
    char *text = malloc(n * 16 + 1024);
    size_t at = (size_t)snprintf(text, 512,
                                 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"subscriptions/"
                                 "listen\",\"params\":{\"notifications\":{"
                                 "\"resourceSubscriptions\":[",
                                 id);

    for (size_t i = 0; i < n; i++) {
        at += (size_t)snprintf(text + at, 16, "%s\"test://%04zu\"", i == 0 ? "" : ",", i % 10000);
    }
    (void)snprintf(text + at, 1024, "]}," META "}}");
    assert_int_equal(rig_receive_text(rig, text), 0);
    free(text);
}

static void subscribed_resources_are_bounded_and_given_back(void **state)
{
    Rig *rig = *state;

    listen_to(rig, "1", LIMIT_MCP_SUBSCRIBED - 1);
    expect(rig, MCP_2026_07_28, NULL, "acknowledged");
    listen_to(rig, "2", 2);
    expect(rig, MCP_2026_07_28, "subscriptions/listen", "\"code\":-32003");
    listen_to(rig, "3", 1);
    expect(rig, MCP_2026_07_28, NULL, "acknowledged");
    mcp_server_resource_updated(rig->server, SPAN("test://0000"));
    expect(rig, MCP_2026_07_28, NULL, "subscriptionId\":1");
    expect(rig, MCP_2026_07_28, NULL, "subscriptionId\":3");
    assert_int_equal(rig_receive_text(rig, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                                           "cancelled\",\"params\":{\"requestId\":1}}"),
                     0);
    listen_to(rig, "1", LIMIT_MCP_SUBSCRIBED - 1);
    expect(rig, MCP_2026_07_28, NULL, "acknowledged");
}

static void legacy_subscriptions_are_bounded(void **state)
{
    Rig *rig = *state;
    char params[64];

    begin_session(rig, initialize_2025_11_25);
    for (size_t i = 0; i <= LIMIT_MCP_SUBSCRIBED; i++) {
        (void)snprintf(params, sizeof(params), "{\"uri\":\"test://%zu\"}", i);
        request(rig, "1", "resources/subscribe", params);
        expect(rig, MCP_2025_11_25, "resources/subscribe",
               i < LIMIT_MCP_SUBSCRIBED ? "\"result\":{}" : "\"code\":-32003");
    }
    request(rig, "1", "resources/unsubscribe", "{\"uri\":\"test://0\"}");
    expect(rig, MCP_2025_11_25, "resources/unsubscribe", "\"result\":{}");
    request(rig, "1", "resources/subscribe", params);
    expect(rig, MCP_2025_11_25, "resources/subscribe", "\"result\":{}");
}

static void subscribe_to_long_uri(Rig *rig, char letter, size_t n, const char *expected)
{
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/subscribe\","
                               "\"params\":{\"uri\":\"test://";
    char *text = malloc(n + sizeof(head) + 4);

    assert_non_null(text);
    memcpy(text, head, sizeof(head) - 1);
    memset(text + sizeof(head) - 1, letter, n);
    memcpy(text + sizeof(head) - 1 + n, "\"}}", 4);
    assert_int_equal(rig_receive_text(rig, text), 0);
    expect(rig, MCP_2025_11_25, "resources/subscribe", expected);
    free(text);
}

static void long_subscriptions_are_bounded_by_their_bytes(void **state)
{
    Rig *rig = *state;

    begin_session(rig, initialize_2025_11_25);
    subscribe_to_long_uri(rig, 'a', LIMIT_MCP_SUBSCRIBED_BYTES / 2, "\"result\":{}");
    subscribe_to_long_uri(rig, 'b', LIMIT_MCP_SUBSCRIBED_BYTES / 2, "\"code\":-32003");
    subscribe_to_long_uri(rig, 'a', LIMIT_MCP_SUBSCRIBED_BYTES / 2, "\"result\":{}");
    subscribe_to_long_uri(rig, 'c', LIMIT_MCP_SUBSCRIBED_BYTES / 4, "\"result\":{}");
}

/* A message that begins with head and ends with tail, so many bytes between them. */
static void receive_filled(Rig *rig, const char *head, size_t n, const char *tail)
{
    size_t n_head = strlen(head);
    char *text = malloc(n_head + n + strlen(tail) + 1);

    memcpy(text, head, n_head);
    memset(text + n_head, 'x', n);
    memcpy(text + n_head + n, tail, strlen(tail) + 1);
    assert_int_equal(rig_receive_text(rig, text), 0);
    free(text);
}

static void batches_are_bounded(void **state)
{
    Rig *rig = *state;
    char *text = malloc(1025 * 8);
    size_t at = 0;

    begin_session(rig, initialize_2025_03_26);
    for (size_t i = 0; i < 1025; i++) {
        at += (size_t)snprintf(text + at, 8, "%s0", i == 0 ? "[" : ",");
    }
    text[at] = ']';
    assert_int_equal(rig_receive(rig, span_make(text, at + 1)), 0);
    expect(rig, MCP_2025_03_26, NULL, "at most 1024");
    text[at - 2] = ']';
    assert_int_equal(rig_receive(rig, span_make(text, at - 1)), 0);
    assert_true(strlen(rig_take(rig)) > (size_t)1024 * 60);
    assert_null(rig_take(rig));
    free(text);
}

/* Two results that do not fit into one message together: the second becomes an error. */
static void a_batch_of_large_results_still_has_an_answer_for_each(void **state)
{
    Rig *rig = *state;
    const char *message;

    begin_session(rig, initialize_2025_03_26);
    assert_int_equal(
        rig_receive_text(rig,
                         "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                         "\"name\":\"big\",\"arguments\":{\"n\":6000000}}},"
                         "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{"
                         "\"name\":\"big\",\"arguments\":{\"n\":6000000}}},"
                         "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}]"),
        0);
    message = rig_take(rig);
    assert_non_null(message);
    assert_true(strlen(message) < LIMIT_MCP_RESPONSE_BYTES);
    assert_non_null(strstr(message, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}"));
    assert_non_null(strstr(message, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\""));
    assert_non_null(strstr(message, "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\""));
    assert_null(rig_take(rig));
}

/* The first result would leave no room even for the second one's error. */
static void a_batch_keeps_room_for_errors(void **state)
{
    Rig *rig = *state;
    const char *message;

    rig->server = mcp_server_free(rig->server);
    rig->config.max_response_bytes = 20000;
    assert_int_equal(rig_open(rig), 0);
    begin_session(rig, initialize_2025_03_26);
    assert_int_equal(
        rig_receive_text(rig,
                         "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                         "\"name\":\"big\",\"arguments\":{\"n\":19880}}},"
                         "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{"
                         "\"name\":\"big\",\"arguments\":{\"n\":100}}}]"),
        0);
    assert_int_equal(mcp_server_error(rig->server), 0);
    message = rig_take(rig);
    assert_non_null(message);
    assert_non_null(strstr(message, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\""));
    assert_non_null(strstr(message, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\""));
}

/* Ten that do not fit together: as many as do are results, the rest errors. */
static void a_batch_replaces_only_what_does_not_fit(void **state)
{
    Rig *rig = *state;
    const char *message;
    char text[2048] = "[";
    size_t n_results = 0;
    size_t n_errors = 0;

    rig->server = mcp_server_free(rig->server);
    rig->config.max_response_bytes = 4000;
    assert_int_equal(rig_open(rig), 0);
    begin_session(rig, initialize_2025_03_26);
    for (size_t i = 0; i < 10; i++) {
        size_t at = strlen(text);

        (void)snprintf(text + at, sizeof(text) - at,
                       "%s{\"jsonrpc\":\"2.0\",\"id\":%zu,\"method\":\"tools/call\",\"params\":{"
                       "\"name\":\"big\",\"arguments\":{\"n\":500}}}%s",
                       i == 0 ? "" : ",", i, i == 9 ? "]" : "");
    }
    assert_int_equal(rig_receive_text(rig, text), 0);
    assert_int_equal(mcp_server_error(rig->server), 0);
    message = rig_take(rig);
    assert_non_null(message);
    assert_true(strlen(message) <= 4000);
    for (const char *at = message; (at = strstr(at, "\"id\":")) != NULL; at++) {
        n_results += strncmp(at + 6, ",\"result\":", 10) == 0;
        n_errors += strncmp(at + 6, ",\"error\":", 9) == 0;
    }
    assert_int_equal(n_results + n_errors, 10);
    /* Of 575 bytes each: seven would be too many, without any error. */
    assert_int_equal(n_results, 6);
    assert_null(rig_take(rig));
}

/* One long error must not take the room of the others. */
static void a_batch_replaces_an_error_that_does_not_fit(void **state)
{
    Rig *rig = *state;
    const char *message;

    rig->server = mcp_server_free(rig->server);
    rig->config.max_response_bytes = 2000;
    assert_int_equal(rig_open(rig), 0);
    begin_session(rig, initialize_2025_03_26);
    assert_int_equal(
        rig_receive_text(rig,
                         "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                         "\"name\":\"roots\"}},"
                         "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{"
                         "\"name\":\"hold\",\"arguments\":{\"tag\":\"h\"}}}]"),
        0);
    expect(rig, MCP_2025_03_26, NULL, "roots/list");
    receive_filled(rig, "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"", 1850,
                   "\"}}");
    assert_int_equal(mcp_server_error(rig->server), 0);
    rig_finish(rig, "h");
    message = rig_take(rig);
    assert_non_null(message);
    assert_non_null(strstr(message, "\"id\":1,\"error\""));
    assert_non_null(strstr(message, "input is needed that this client cannot give"));
    assert_non_null(strstr(message, "\"id\":2,\"result\""));
}

static void a_result_that_the_sink_refuses_becomes_an_error(void **state)
{
    Rig *rig = *state;

    begin_session(rig, initialize_2025_11_25);
    rig->max_message = 500;
    request(rig, "1", "tools/call", "{\"name\":\"big\",\"arguments\":{\"n\":1000}}");
    expect(rig, MCP_2025_11_25, "tools/call", "too large");
    assert_null(rig_take(rig));
    assert_int_equal(mcp_server_error(rig->server), 0);
    assert_int_equal(mcp_server_n_calls(rig->server), 0);
}

static void a_sink_that_takes_nothing_ends_the_session(void **state)
{
    Rig *rig = *state;

    begin_session(rig, initialize_2025_11_25);
    hold(rig, 1);
    rig->is_refusing = true;
    rig_finish(rig, "1");
    assert_int_equal(mcp_server_error(rig->server), -ENOBUFS);
    assert_int_equal(mcp_server_n_calls(rig->server), 0);
    rig->is_refusing = false;
    assert_int_equal(rig_receive_text(rig, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"),
                     -ENOBUFS);
    assert_null(rig_take(rig));
}

static void a_notification_that_does_not_fit_is_left_out(void **state)
{
    Rig *rig = *state;
    CallProgress progress = {.progress = 1, .total = CALL_NO_TOTAL};

    begin_session(rig, initialize_2025_11_25);
    request(rig, "1", "tools/call",
            "{\"name\":\"hold\",\"arguments\":{\"tag\":\"h\"},\"_meta\":{\"progressToken\":1}}");
    rig->is_refusing = true;
    call_report(rig_held(rig, "h"), &progress);
    call_log(rig_held(rig, "h"), CALL_LOG_ERROR, SPAN_NULL, SPAN("1"));
    mcp_server_list_changed(rig->server, MCP_LIST_TOOLS);
    rig->is_refusing = false;
    assert_int_equal(mcp_server_error(rig->server), 0);
    rig_finish(rig, "h");
    expect(rig, MCP_2025_11_25, "tools/call", "done");
}

/* The owner looks at its events only when all of a batch is read: a call that ends meanwhile must
 * not be handed out as cancelled. */
static void a_call_that_ends_before_its_cancellation_is_fetched_is_gone(void **state)
{
    Rig *rig = *state;
    McpEvent event;

    begin_session(rig, initialize_2025_11_25);
    hold(rig, 1);
    assert_int_equal(
        mcp_server_receive(rig->server,
                           SPAN("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                "\"params\":{\"requestId\":1}}"),
                           rig->now_ms),
        0);
    rig_finish(rig, "1");
    assert_false(mcp_server_next(rig->server, &event));
    assert_null(rig_take(rig));
    assert_int_equal(mcp_server_n_calls(rig->server), 0);
}

static void a_second_cancellation_changes_nothing(void **state)
{
    Rig *rig = *state;
    static const char cancelled[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                                    "\"params\":{\"requestId\":1}}";
    McpEvent event;

    begin_session(rig, initialize_2025_11_25);
    hold(rig, 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mcp_server_receive(rig->server, span_from_str(cancelled), 0), 0);
    }
    assert_true(mcp_server_next(rig->server, &event));
    assert_int_equal(event.kind, MCP_EVENT_CANCEL);
    assert_int_equal(mcp_server_receive(rig->server, span_from_str(cancelled), 0), 0);
    assert_false(mcp_server_next(rig->server, &event));
    /* While the owner stops the work, nothing of it reaches the client. */
    call_log(rig_held(rig, "1"), CALL_LOG_ERROR, SPAN_NULL, SPAN("1"));
    mcp_server_drop(rig->server, rig_held(rig, "1"));
    rig->n_held = 0;
    assert_null(rig_take(rig));
    assert_int_equal(mcp_server_n_calls(rig->server), 0);
}

static void closing_sends_nothing_and_leaves_the_calls_to_the_owner(void **state)
{
    Rig *rig = *state;
    McpEvent event;

    begin_session(rig, initialize_2025_11_25);
    hold(rig, 1);
    request(rig, "2", "tools/call", "{\"name\":\"form\"}");
    expect(rig, MCP_2025_11_25, NULL, "elicitation/create");
    request(rig, "\"l\"", "subscriptions/listen", "{\"notifications\":{}," META "}");
    expect(rig, MCP_2026_07_28, NULL, "acknowledged");
    assert_int_equal(
        mcp_server_receive(rig->server,
                           SPAN("{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\"}"), 0),
        0);
    mcp_server_close(rig->server);
    assert_int_equal(mcp_server_state(rig->server), MCP_STATE_CLOSED);
    assert_false(mcp_server_next(rig->server, &event));
    assert_int_equal(mcp_server_next_deadline(rig->server), INT64_MAX);
    mcp_server_advance(rig->server, INT64_MAX);
    assert_int_equal(mcp_server_n_calls(rig->server), 3);
    rig_finish(rig, "1");
    while (mcp_server_first_call(rig->server) != NULL) {
        mcp_server_drop(rig->server, mcp_server_first_call(rig->server));
    }
    mcp_server_list_changed(rig->server, MCP_LIST_TOOLS);
    assert_int_equal(rig_receive_text(rig, "garbage"), 0);
    assert_null(rig_take(rig));
}

static void questions_have_a_deadline_that_is_known(void **state)
{
    Rig *rig = *state;

    begin_session(rig, initialize_2025_11_25);
    assert_int_equal(mcp_server_next_deadline(rig->server), INT64_MAX);
    request(rig, "1", "tools/call", "{\"name\":\"form\"}");
    rig->now_ms += 10;
    request(rig, "2", "tools/call", "{\"name\":\"form\"}");
    assert_int_equal(mcp_server_next_deadline(rig->server), 1000 + LIMIT_MCP_STATE_MS);
    mcp_server_advance(rig->server, 1000 + LIMIT_MCP_STATE_MS);
    assert_int_equal(mcp_server_next_deadline(rig->server), 1010 + LIMIT_MCP_STATE_MS);
    mcp_server_advance(rig->server, INT64_MAX);
    assert_int_equal(mcp_server_next_deadline(rig->server), INT64_MAX);
    assert_int_equal(mcp_server_n_calls(rig->server), 0);
}

static void an_owner_that_drops_a_waiting_call_takes_its_questions_back(void **state)
{
    Rig *rig = *state;

    begin_session(rig, initialize_2025_11_25);
    request(rig, "1", "tools/call", "{\"name\":\"both\"}");
    expect(rig, MCP_2025_11_25, NULL, "elicitation/create");
    expect(rig, MCP_2025_11_25, NULL, "roots/list");
    mcp_server_drop(rig->server, mcp_server_first_call(rig->server));
    expect(rig, MCP_2025_11_25, NULL, "\"requestId\":1");
    expect(rig, MCP_2025_11_25, NULL, "\"requestId\":2");
    assert_null(rig_take(rig));
    assert_int_equal(mcp_server_n_calls(rig->server), 0);
}

static void answers_that_are_too_large_end_the_call(void **state)
{
    Rig *rig = *state;
    char head[80];

    begin_session(rig, initialize_2025_11_25);
    /* The first answer, then the second one is too much. */
    for (int i = 0; i < 2; i++) {
        request(rig, "1", "tools/call", "{\"name\":\"both\"}");
        expect(rig, MCP_2025_11_25, NULL, "elicitation/create");
        expect(rig, MCP_2025_11_25, NULL, "roots/list");
        if (i == 1) {
            assert_int_equal(rig_receive_text(rig, "{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{"
                                                   "\"action\":\"cancel\"}}"),
                             0);
        }
        (void)snprintf(head, sizeof(head), "{\"jsonrpc\":\"2.0\",\"id\":%d,\"result\":{%s,\"x\":\"",
                       i == 0 ? 1 : 4, i == 0 ? "\"action\":\"cancel\"" : "\"roots\":[]");
        receive_filled(rig, head, LIMIT_MCP_STATE_BYTES, "\"}}");
        if (i == 0) {
            expect(rig, MCP_2025_11_25, NULL, "notifications/cancelled");
        }
        expect(rig, MCP_2025_11_25, "tools/call", "too large");
        assert_null(rig_take(rig));
        assert_int_equal(mcp_server_n_calls(rig->server), 0);
    }
}

static void a_state_that_is_too_large_ends_the_call(void **state)
{
    Rig *rig = *state;

    begin_session(rig, initialize_2025_11_25);
    request(rig, "1", "tools/call", "{\"name\":\"bloat\"}");
    expect(rig, MCP_2025_11_25, "tools/call", "too large");
    request(rig, "2", "tools/call", "{\"name\":\"bloat\"," META "}");
    expect(rig, MCP_2026_07_28, "tools/call", "too large");
    receive_filled(rig,
                   "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/call\",\"params\":{" META
                   ",\"name\":\"form\",\"requestState\":\"",
                   LIMIT_MCP_STATE_BYTES + 1, "\"}}");
    expect(rig, MCP_2026_07_28, "tools/call", "params.requestState is too large");
    assert_null(rig_take(rig));
    assert_int_equal(mcp_server_error(rig->server), 0);
}

static void only_tools_prompts_and_resources_may_ask(void **state)
{
    Rig *rig = *state;

    begin_session(rig, initialize_2025_11_25);
    request(rig, "1", "completion/complete",
            "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"greet\"},\"argument\":{\"name\":"
            "\"form\",\"value\":\"\"}}");
    expect(rig, MCP_2025_11_25, "completion/complete", "\"error\"");
    assert_null(rig_take(rig));
}

static void nobody_is_asked_while_the_session_ends(void **state)
{
    Rig *rig = *state;

    begin_session(rig, initialize_2025_11_25);
    hold(rig, 1);
    mcp_server_shutdown(rig->server);
    mcp_server_shutdown(rig->server);
    rig_ask(rig, "1");
    expect(rig, MCP_2025_11_25, "tools/call", "the server is shutting down");
    assert_null(rig_take(rig));
    assert_int_equal(mcp_server_n_calls(rig->server), 0);
}

static void resources_that_are_not_offered_are_not_listened_to(void **state)
{
    Rig *rig = *state;
    const char *message;

    rig->offer.resources = false;
    listen_to(rig, "1", 3);
    message = rig_take(rig);
    assert_non_null(strstr(message, "acknowledged"));
    assert_null(strstr(message, "resourceSubscriptions"));
    mcp_server_resource_updated(rig->server, SPAN("test://0000"));
    assert_null(rig_take(rig));
}

/* The rig is told of nothing here: what waits in a batch goes with the session. */
static void a_session_may_be_freed_with_calls_that_wait(void **state)
{
    Rig *rig = *state;

    begin_session(rig, initialize_2025_03_26);
    assert_int_equal(rig_receive_text(rig, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/"
                                           "call\",\"params\":{\"name\":\"roots\"}}]"),
                     0);
    assert_int_equal(mcp_server_n_calls(rig->server), 1);
    rig->server = mcp_server_free(rig->server);
}

/* The message ends at an unreadable page: it is read in place and never behind its end. */
static void no_byte_behind_the_message_is_read(void **state)
{
    static const char *const messages[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061\",\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"echo\",\"arguments\":{\"message\":\"x\"},\"_meta\":{\"progressToken\":12}}}",
        "{\"id\":12",
        "\"",
        "7",
    };
    Rig *rig = *state;

    begin_session(rig, initialize_2025_11_25);
    for (size_t i = 0; i < TW_ARRAY_SIZE(messages); i++) {
        GuardBuffer guard = guard_copy(messages[i], strlen(messages[i]));

        assert_int_equal(rig_receive(rig, span_make(guard.p, guard.n)), 0);
        assert_non_null(rig_take(rig));
        guard_free(&guard);
    }
}

/* What the call needs after its message is gone was copied. */
static void a_held_call_outlives_its_message(void **state)
{
    Rig *rig = *state;
    char text[] = "{\"jsonrpc\":\"2.0\",\"id\":\"an id\",\"method\":\"tools/call\",\"params\":{"
                  "\"name\":\"hold\",\"arguments\":{\"tag\":\"h\"},\"_meta\":{\"progressToken\":"
                  "\"a token\"}}}";
    CallProgress progress = {.progress = 1, .total = CALL_NO_TOTAL};

    begin_session(rig, initialize_2025_11_25);
    assert_int_equal(rig_receive_text(rig, text), 0);
    memset(text, '?', sizeof(text));
    request(rig, "1", "ping", "{}");
    expect(rig, MCP_2025_11_25, "ping", "{}");
    call_report(rig_held(rig, "h"), &progress);
    expect(rig, MCP_2025_11_25, NULL, "\"a token\"");
    assert_true(span_equals(rig_held(rig, "h")->target, SPAN("hold")));
    rig_finish(rig, "h");
    expect(rig, MCP_2025_11_25, "tools/call", "\"id\":\"an id\"");
}

/* Opens the session anew: the sink lends or not, and a response may have so many bytes (0: as
 * usual). */
static void begin_lending(Rig *rig, bool lends, size_t max_response_bytes, McpRevision revision)
{
    Span version = mcp_revision_text(revision);
    char text[160];

    rig_deinit(rig);
    rig_init(rig);
    if (lends) {
        rig_lend(rig);
    }
    rig->config.max_response_bytes = max_response_bytes;
    assert_int_equal(rig_open(rig), 0);
    if (revision < MCP_FIRST_MODERN) {
        (void)snprintf(text, sizeof(text),
                       "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                       "\"protocolVersion\":\"%.*s\",\"capabilities\":{}}}",
                       (int)version.n, version.p);
        begin_session(rig, text);
    }
}

static void request_big(Rig *rig, McpRevision revision, size_t n)
{
    char params[320];

    (void)snprintf(params, sizeof(params), "{\"name\":\"big\",\"arguments\":{\"n\":%zu}%s}", n,
                   revision < MCP_FIRST_MODERN ? "" : "," META);
    request(rig, "1", "tools/call", params);
}

static void large_results_are_lent_and_the_wire_shows_no_difference(void **state)
{
    Rig *rig = *state;

    for (int i = 0; i < MCP_N_REVISIONS; i++) {
        McpRevision revision = (McpRevision)i;
        Bytes plain;

        bytes_init(&plain, SIZE_MAX);
        for (int lends = 0; lends < 2; lends++) {
            begin_lending(rig, lends != 0, 0, revision);
            request_big(rig, revision, 5);
            request_big(rig, revision, BYTES_LEND_MIN - 3); /* with its quotes one less */
            request_big(rig, revision, BYTES_LEND_MIN - 2);
            request_big(rig, revision, 300000);
            request_big(rig, revision, 6);
            assert_int_equal(rig->n_lent, lends != 0 ? 2 : 0);
            if (lends == 0) {
                assert_int_equal(bytes_append_span(&plain, bytes_span(&rig->sent)), 0);
                assert_true(rig->sent.n > 300000 + 2 * BYTES_LEND_MIN);
            }
        }
        assert_int_equal(plain.n, rig->sent.n);
        assert_memory_equal(plain.data, rig->sent.data, plain.n);
        bytes_deinit(&plain);
    }
}

static void nothing_is_lent_in_a_batch(void **state)
{
    Rig *rig = *state;
    const char *message;

    begin_lending(rig, true, 0, MCP_2025_03_26);
    assert_int_equal(
        rig_receive_text(rig,
                         "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                         "\"name\":\"big\",\"arguments\":{\"n\":40000}}},"
                         "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{"
                         "\"name\":\"big\",\"arguments\":{\"n\":40000}}}]"),
        0);
    assert_int_equal(rig->n_lent, 0);
    message = rig_take(rig);
    assert_non_null(message);
    assert_true(strlen(message) > 80000);
    assert_non_null(strstr(message, "\"id\":1,\"result\""));
    assert_non_null(strstr(message, "\"id\":2,\"result\""));
}

static void the_limit_of_a_response_counts_what_is_lent(void **state)
{
    Rig *rig = *state;
    size_t n;

    begin_lending(rig, true, 0, MCP_2025_11_25);
    request_big(rig, MCP_2025_11_25, 50000);
    n = strlen(rig_take(rig));
    begin_lending(rig, true, n, MCP_2025_11_25);
    request_big(rig, MCP_2025_11_25, 50000);
    assert_int_equal(rig->n_lent, 1);
    expect(rig, MCP_2025_11_25, "tools/call", "bbb");
    request_big(rig, MCP_2025_11_25, 50001);
    assert_int_equal(rig->n_lent, 1);
    expect(rig, MCP_2025_11_25, "tools/call", "too large");
    /* A sink of its own mind. */
    rig->max_message = n - 1;
    request_big(rig, MCP_2025_11_25, 50000);
    expect(rig, MCP_2025_11_25, "tools/call", "too large");
    assert_null(rig_take(rig));
    assert_int_equal(mcp_server_error(rig->server), 0);
}

static void a_lent_result_that_cannot_be_kept_ends_the_session(void **state)
{
    Rig *rig = *state;

    begin_lending(rig, true, 0, MCP_2025_11_25);
    rig->lend_fails = -ENOMEM;
    request_big(rig, MCP_2025_11_25, 50000);
    assert_int_equal(mcp_server_error(rig->server), -ENOMEM);
    assert_null(rig_take(rig));
}

static void free_of_nothing_is_nothing(void **state)
{
    (void)state;
    assert_null(mcp_server_free(NULL));
}

#define SESSION_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SESSION_TEST(open_requests_are_bounded_and_answered_in_any_order),
        SESSION_TEST(modern_subscriptions_are_bounded),
        SESSION_TEST(subscribed_resources_are_bounded_and_given_back),
        SESSION_TEST(long_subscriptions_are_bounded_by_their_bytes),
        SESSION_TEST(legacy_subscriptions_are_bounded),
        SESSION_TEST(batches_are_bounded),
        SESSION_TEST(a_batch_of_large_results_still_has_an_answer_for_each),
        SESSION_TEST(a_batch_keeps_room_for_errors),
        SESSION_TEST(a_batch_replaces_only_what_does_not_fit),
        SESSION_TEST(a_batch_replaces_an_error_that_does_not_fit),
        SESSION_TEST(a_result_that_the_sink_refuses_becomes_an_error),
        SESSION_TEST(a_sink_that_takes_nothing_ends_the_session),
        SESSION_TEST(a_notification_that_does_not_fit_is_left_out),
        SESSION_TEST(a_call_that_ends_before_its_cancellation_is_fetched_is_gone),
        SESSION_TEST(a_second_cancellation_changes_nothing),
        SESSION_TEST(closing_sends_nothing_and_leaves_the_calls_to_the_owner),
        SESSION_TEST(questions_have_a_deadline_that_is_known),
        SESSION_TEST(an_owner_that_drops_a_waiting_call_takes_its_questions_back),
        SESSION_TEST(answers_that_are_too_large_end_the_call),
        SESSION_TEST(a_state_that_is_too_large_ends_the_call),
        SESSION_TEST(only_tools_prompts_and_resources_may_ask),
        SESSION_TEST(nobody_is_asked_while_the_session_ends),
        SESSION_TEST(resources_that_are_not_offered_are_not_listened_to),
        SESSION_TEST(a_session_may_be_freed_with_calls_that_wait),
        SESSION_TEST(no_byte_behind_the_message_is_read),
        SESSION_TEST(a_held_call_outlives_its_message),
        SESSION_TEST(large_results_are_lent_and_the_wire_shows_no_difference),
        SESSION_TEST(nothing_is_lent_in_a_batch),
        SESSION_TEST(the_limit_of_a_response_counts_what_is_lent),
        SESSION_TEST(a_lent_result_that_cannot_be_kept_ends_the_session),
        cmocka_unit_test(free_of_nothing_is_nothing),
    };

    mcp_schema_require();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
