/* Who is told of a task, who may name it, and what a session keeps of it. */
#include "dialect/mcp/server.h"

#include "unit/dialect/mcp/session_rig.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/limits.h"
#include "dialect/mcp/render.h"
#include "support/oom_sweep.h"

#define META_OF(capabilities)                                                                      \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":" capabilities "}"
#define META META_OF("{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}")

static const char initialize[] =
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"2025-11-25\",\"capabilities\":{\"elicitation\":{}}}}";
static const char initialized[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";
static const char make_legacy[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                                  "\"params\":{\"name\":\"job\",\"task\":{}}}";
static const char make_modern[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\","
                                  "\"params\":{\"name\":\"job\"," META "}}";
static const char listen[] =
    "{\"jsonrpc\":\"2.0\",\"id\":\"L\",\"method\":\"subscriptions/listen\","
    "\"params\":{\"notifications\":{\"taskIds\":[\"t1\"]}," META "}}";

/* What the last message was about. */
typedef struct Tasks {
    Rig rig;
    McpAbout about;
} Tasks;

static void keep_about(void *context, const McpAbout *about)
{
    Tasks *t = (Tasks *)context; /* whose first member is the rig, the sink's context */

    t->about = *about;
}

static int set_up(void **state)
{
    Tasks *t = calloc(1, sizeof(*t));

    rig_init(&t->rig);
    t->rig.offer.tasks = true;
    t->rig.sink.about = keep_about;
    assert_int_equal(rig_open(&t->rig), 0);
    *state = t;
    return 0;
}

static int tear_down(void **state)
{
    Tasks *t = *state;

    assert_int_equal(mcp_server_error(t->rig.server), 0);
    rig_deinit(&t->rig);
    free(t);
    return 0;
}

static void receive_as(Tasks *t, const char *owner, const char *text)
{
    McpFrom from = {.owner = span_from_str(owner)};

    assert_int_equal(mcp_server_receive_from(t->rig.server, span_from_str(text), &from, 0), 0);
    rig_serve(&t->rig);
}

static void expect(Tasks *t, const char *part)
{
    const char *message = rig_take(&t->rig);

    if (message == NULL || strstr(message, part) == NULL) {
        fail_msg("%s is not in %s", part, message == NULL ? "nothing" : message);
    }
}

static void expect_nothing(Tasks *t)
{
    assert_null(rig_take(&t->rig));
}

static void a_subscription_hears_only_of_its_owners_tasks(void **state)
{
    Tasks *t = *state;

    receive_as(t, "alice", make_modern);
    expect(t, "\"taskId\":\"t1\"");
    receive_as(t, "bob", listen);
    expect(t, "acknowledged");
    t->rig.task_owner = "alice";
    assert_true(rig_task_change(&t->rig, "t1", "working"));
    expect_nothing(t);
    /* Everybody's, and bob's own. */
    t->rig.task_owner = "";
    assert_true(rig_task_change(&t->rig, "t1", "working"));
    expect(t, "notifications/tasks");
    t->rig.task_owner = "bob";
    assert_true(rig_task_change(&t->rig, "t1", "working"));
    expect(t, "notifications/tasks");
    expect_nothing(t);
}

static void a_subscription_is_told_all_or_nothing(void **state)
{
    static const CallTaskStatus wanting[] = {CALL_TASK_COMPLETED, CALL_TASK_FAILED,
                                             CALL_TASK_INPUT_REQUIRED};
    Tasks *t = *state;
    CallTask task = {.id = SPAN("t1"), .ttl_ms = -1};

    receive_as(t, "", listen);
    expect(t, "acknowledged");
    for (size_t i = 0; i < TW_ARRAY_SIZE(wanting); i++) {
        task.status = wanting[i];
        mcp_server_task_changed(t->rig.server, &task, SPAN_NULL);
        expect_nothing(t);
    }
    task.status = CALL_TASK_CANCELLED;
    mcp_server_task_changed(t->rig.server, &task, SPAN_NULL);
    expect(t, "\"status\":\"cancelled\"");
    assert_true(t->about.must_arrive);
}

static void a_session_hears_of_what_it_made_and_of_nothing_else(void **state)
{
    Tasks *t = *state;
    CallTask other = {.id = SPAN("other"), .ttl_ms = -1};

    receive_as(t, "", initialize);
    expect(t, "\"tasks\":{\"cancel\"");
    receive_as(t, "", initialized);
    mcp_server_task_changed(t->rig.server, &other, SPAN_NULL);
    expect_nothing(t);
    receive_as(t, "", make_legacy);
    expect(t, "\"task\":{\"taskId\":\"t1\"");
    mcp_server_task_changed(t->rig.server, &other, SPAN_NULL);
    expect_nothing(t);
    assert_true(rig_task_change(&t->rig, "t1", "done"));
    expect(t, "notifications/tasks/status");
    /* A modern one belongs to no session. */
    receive_as(t, "", make_modern);
    expect(t, "\"resultType\":\"task\"");
    assert_true(rig_task_change(&t->rig, "t2", "done"));
    expect_nothing(t);
}

static void nothing_is_told_while_shutting_down(void **state)
{
    Tasks *t = *state;

    receive_as(t, "", initialize);
    expect(t, "result");
    receive_as(t, "", make_legacy);
    expect(t, "\"taskId\":\"t1\"");
    mcp_server_shutdown(t->rig.server);
    assert_true(rig_task_change(&t->rig, "t1", "done"));
    expect_nothing(t);
}

/* A transport answers 400 to what the session refused by itself. */
static void a_missing_capability_is_the_sessions_own_refusal(void **state)
{
    static const char *const refused[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tasks/"
        "get\",\"params\":{\"taskId\":\"x\"," META_OF("{}") "}}",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"job_only"
        "\"," META_OF("{}") "}}",
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"subscriptions/listen\",\"params\":{"
        "\"notifications\":{\"taskIds\":[\"x\"]}," META_OF("{}") "}}",
    };
    Tasks *t = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(refused); i++) {
        receive_as(t, "", refused[i]);
        expect(t, "\"code\":-32021,");
        assert_int_equal(t->about.code, MCP_ERROR_MISSING_CAPABILITY);
        assert_true(t->about.is_answer);
    }
    receive_as(t, "",
               "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tasks/get\",\"params\":{\"taskId\":"
               "\"x\"," META "}}");
    expect(t, "\"code\":-32602,");
    assert_int_equal(t->about.code, 0);
}

static void a_subscription_names_no_more_than_it_may(void **state)
{
    static const size_t counts[] = {LIMIT_MCP_SUBSCRIBED + 1, LIMIT_MCP_SUBSCRIBED};
    Tasks *t = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(counts); i++) {
        Bytes text;

        bytes_init(&text, (size_t)1 << 20);
        assert_int_equal(bytes_append_span(&text, SPAN("{\"jsonrpc\":\"2.0\",\"id\":\"L\","
                                                       "\"method\":\"subscriptions/listen\","
                                                       "\"params\":{\"notifications\":{"
                                                       "\"taskIds\":[\"x\"")),
                         0);
        for (size_t k = 1; k < counts[i]; k++) {
            assert_int_equal(bytes_append_format(&text, ",\"%zu\"", k), 0);
        }
        assert_int_equal(bytes_append(&text, "]}," META "}}", sizeof("]}," META "}}")), 0);
        receive_as(t, "", text.data);
        expect(t, i == 0 ? "too many resources or tasks" : "acknowledged");
        bytes_deinit(&text);
    }
}

static int sweep(void *context)
{
    static const char *const conversation[] = {
        initialize,
        initialized,
        make_legacy,
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tasks/result\",\"params\":{\"taskId\":\"t1\"}}",
        listen,
        "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tasks/get\",\"params\":{\"taskId\":\"t1\"," META
        "}}",
        "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"tasks/update\",\"params\":{\"taskId\":\"t1\","
        "\"inputResponses\":{\"it\":{\"action\":\"decline\"}}," META "}}",
    };
    static Rig rig;
    int r;

    (void)context;
    rig_init(&rig);
    rig.offer.tasks = true;
    r = rig_open(&rig);
    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(conversation); i++) {
        r = rig_receive_text(&rig, conversation[i]);
        r = r == 0 && rig.is_out_of_memory ? -ENOMEM : r;
        r = r == 0 ? mcp_server_error(rig.server) : r;
    }
    if (r == 0) {
        (void)rig_task_change(&rig, "t1", "asks");
        (void)rig_task_change(&rig, "t1", "done");
        r = mcp_server_error(rig.server);
    }
    rig_deinit(&rig);
    return r;
}

static void want_of_memory_ends_the_session_and_leaks_nothing(void **state)
{
    (void)state;
    test_oom_sweep(sweep, NULL);
}

#define TASKS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TASKS_TEST(a_subscription_hears_only_of_its_owners_tasks),
        TASKS_TEST(a_subscription_is_told_all_or_nothing),
        TASKS_TEST(a_session_hears_of_what_it_made_and_of_nothing_else),
        TASKS_TEST(nothing_is_told_while_shutting_down),
        TASKS_TEST(a_missing_capability_is_the_sessions_own_refusal),
        TASKS_TEST(a_subscription_names_no_more_than_it_may),
        cmocka_unit_test(want_of_memory_ends_the_session_and_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
