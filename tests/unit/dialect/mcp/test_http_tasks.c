/* Tasks over HTTP: whose they are, on which stream they are told of, and what is refused. */
#include "dialect/mcp/http.h"

#include "unit/dialect/mcp/http_rig.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS(method, name)                                                                       \
    "Content-Type: application/json\nAccept: application/json, text/event-stream\n"                \
    "MCP-Protocol-Version: 2026-07-28\nMcp-Method: " method "\n" name
#define META(capabilities)                                                                         \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{" capabilities "}}"
#define TAKES "\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}"
#define LISTEN(capabilities)                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{"               \
    "\"notifications\":{\"taskIds\":[\"t1\"]}," META(capabilities) "}}"
#define GET_TASK(capabilities)                                                                     \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/get\",\"params\":{\"taskId\":\"t1\"," META(  \
        capabilities) "}}"
#define CALL(capabilities)                                                                         \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"task\"," META( \
        capabilities) "}}"

static const CallTask working = {.id = SPAN_INIT("t1"), .ttl_ms = -1};

static int set_up(void **state)
{
    HttpRig *rig = malloc(sizeof(*rig));

    http_rig_init(rig);
    assert_int_equal(http_rig_open(rig), 0);
    *state = rig;
    return 0;
}

static int tear_down(void **state)
{
    HttpRig *rig = *state;

    http_rig_close(rig);
    free(rig);
    return 0;
}

static void assert_contains(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("%s is not in: %s", part, text);
    }
}

static HttpX *post_as(HttpRig *rig, HttpAsker *asker, const char *fields, const char *body)
{
    return http_rig_send_as(rig, asker, "POST", "/mcp", fields, body);
}

static void a_task_is_whose_credentials_made_it(void **state)
{
    HttpRig *rig = *state;
    HttpX *x = post_as(rig, &rig->bob, FIELDS("tools/call", "Mcp-Name: task\n"), CALL(TAKES));

    assert_int_equal(x->status, 200);
    assert_contains(http_rig_text(x), "\"resultType\":\"task\"");
    assert_string_equal(rig->task_owner, "bob");
}

static void news_go_to_the_streams_of_its_owner(void **state)
{
    HttpRig *rig = *state;
    HttpX *alice = post_as(rig, &rig->alice, FIELDS("subscriptions/listen", ""), LISTEN(TAKES));
    HttpX *bob = post_as(rig, &rig->bob, FIELDS("subscriptions/listen", ""), LISTEN(TAKES));

    assert_contains(http_rig_text(alice), "\"taskIds\":[\"t1\"]");
    assert_contains(http_rig_text(bob), "\"taskIds\":[\"t1\"]");
    mcp_http_task_changed(rig->http, &working, SPAN("bob"));
    assert_string_equal(http_rig_text(alice), "");
    assert_contains(http_rig_text(bob), "notifications/tasks");
    mcp_http_task_changed(rig->http, &working, SPAN_NULL);
    assert_contains(http_rig_text(alice), "notifications/tasks");
    assert_contains(http_rig_text(bob), "notifications/tasks");
}

static void a_session_is_told_by_its_own_stream(void **state)
{
    HttpRig *rig = *state;
    char id[64];
    char other[64];
    char fields[200];
    HttpX *streams[2];
    HttpX *x;

    http_rig_initialize(rig, "2025-11-25", id);
    http_rig_initialize(rig, "2025-11-25", other);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(fields, sizeof(fields), "Accept: text/event-stream\n%s",
                       i == 0 ? id : other);
        streams[i] = http_rig_send(rig, "GET", "/mcp", fields, "");
        (void)http_rig_text(streams[i]);
    }
    x = http_rig_post(rig, id,
                      "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                      "\"name\":\"task\",\"task\":{}}}");
    assert_contains(http_rig_text(x), "\"task\":{\"taskId\":\"t1\"");
    assert_true(x->is_complete);
    mcp_http_task_changed(rig->http, &working, SPAN("alice"));
    assert_contains(http_rig_text(streams[0]), "notifications/tasks/status");
    assert_string_equal(http_rig_text(streams[1]), "");
}

static void what_needs_the_extension_is_a_bad_request_without_it(void **state)
{
    static const struct {
        const char *fields;
        const char *body;
    } cases[] = {
        {FIELDS("tasks/get", "Mcp-Name: t1\n"), GET_TASK("")},
        {FIELDS("tools/call", "Mcp-Name: task\n"), CALL("")},
        {FIELDS("subscriptions/listen", ""), LISTEN("")},
    };
    HttpRig *rig = *state;
    HttpX *x;

    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        x = post_as(rig, &rig->alice, cases[i].fields, cases[i].body);
        assert_int_equal(x->status, 400);
        assert_contains(http_rig_text(x), "\"code\":-32021");
    }
    /* The header names the task. */
    x = post_as(rig, &rig->alice, FIELDS("tasks/get", "Mcp-Name: t2\n"), GET_TASK(TAKES));
    assert_int_equal(x->status, 400);
    assert_contains(http_rig_text(x), "\"code\":-32020");
    x = post_as(rig, &rig->alice, FIELDS("tasks/get", ""), GET_TASK(TAKES));
    assert_contains(http_rig_text(x), "\"code\":-32020");
}

#define TASKS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TASKS_TEST(a_task_is_whose_credentials_made_it),
        TASKS_TEST(news_go_to_the_streams_of_its_owner),
        TASKS_TEST(a_session_is_told_by_its_own_stream),
        TASKS_TEST(what_needs_the_extension_is_a_bad_request_without_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
