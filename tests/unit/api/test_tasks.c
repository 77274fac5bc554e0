/* Tools of the library that run as tasks. */
#include "unit/api/wire.h"

#include <signal.h>

#include "api/tw_server.h"

#define DECLARED                                                                                   \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{},\"extensions\":{"          \
    "\"io.modelcontextprotocol/tasks\":{}}}}"

/* A call that was kept, for the test to answer. */
typedef struct Kept {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    TwCall *call;
    int n_started;
} Kept;

typedef struct Fixture {
    char folder[64];
    TwServer *server;
    Wire wire;
    Kept kept;
    char id[64]; /* of the last task */
} Fixture;

static void on_echo(TwCall *call, void *user)
{
    (void)user;
    tw_call_text(call, tw_call_string(call, "say", "nothing"));
}

static void on_keep(TwCall *call, void *user)
{
    Kept *kept = user;

    WIRE_CHECK(tw_call_keep(call) == TW_OK);
    (void)pthread_mutex_lock(&kept->lock);
    kept->call = call;
    kept->n_started++;
    (void)pthread_cond_broadcast(&kept->changed);
    (void)pthread_mutex_unlock(&kept->lock);
}

static void on_ask(TwCall *call, void *user)
{
    (void)user;
    if (tw_call_answer(call, "who") == NULL) {
        tw_call_ask_form(call, "who", "Who?",
                         "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}");
        tw_call_set_state(call, "asked");
        return;
    }
    tw_call_textf(call, "%s %s", tw_call_state(call) != NULL ? tw_call_state(call) : "-",
                  tw_call_answer_string(call, "who", "name", "nobody"));
}

/* ---- the server ---- */

static void open_server(Fixture *f, const char *state_dir)
{
    const TwTool tools[] = {
        {.name = "echo", .handler = on_echo, .task = TW_TASK_MAY},
        {.name = "only", .handler = on_echo, .task = TW_TASK_ALWAYS},
        {.name = "ask", .handler = on_ask, .task = TW_TASK_MAY},
        {.name = "first", .handler = on_ask, .task = TW_TASK_ASKED},
        {.name = "keep", .handler = on_keep, .task = TW_TASK_MAY, .user = &f->kept},
        {.name = "safe",
         .handler = on_keep,
         .task = TW_TASK_MAY,
         .user = &f->kept,
         .annotations = TW_TOOL_IDEMPOTENT},
        {.name = "never", .handler = on_echo},
    };

    f->server = tw_server_new("tasks", "1");
    assert_int_equal(tw_server_set_options(f->server, &(TwServerOptions){.state_dir = state_dir}),
                     0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(tools); i++) {
        assert_int_equal(tw_server_add_tool(f->server, &tools[i]), 0);
    }
}

static int set_up(void **state)
{
    static const char folder[] = "/tmp/tw-tasks-XXXXXX";
    Fixture *f = calloc(1, sizeof(*f));

    memcpy(f->folder, folder, sizeof(folder));
    assert_non_null(mkdtemp(f->folder));
    assert_int_equal(pthread_mutex_init(&f->kept.lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&f->kept.changed, NULL), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    Fixture *f = *state;
    char path[96];

    tw_server_free(f->server);
    (void)snprintf(path, sizeof(path), "%s/jobs.db", f->folder);
    (void)unlink(path);
    assert_int_equal(rmdir(f->folder), 0); /* nothing else is left there */
    (void)pthread_cond_destroy(&f->kept.changed);
    (void)pthread_mutex_destroy(&f->kept.lock);
    free(f);
    return 0;
}

/* ---- the client ---- */

static TwResult *ask(Fixture *f, const char *method, const char *params)
{
    char line[1024];

    (void)snprintf(line, sizeof(line),
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s%s" DECLARED "}}",
                   method, params, params[0] != '\0' ? "," : "");
    return wire_ask(&f->wire, line);
}

static void make(Fixture *f, const char *tool, const char *more)
{
    char params[256];
    TwResult *made;

    (void)snprintf(params, sizeof(params), "\"name\":\"%s\"%s", tool, more);
    made = ask(f, "tools/call", params);
    assert_string_equal(tw_result_string(made, "/result/resultType", ""), "task");
    (void)snprintf(f->id, sizeof(f->id), "%s", tw_result_string(made, "/result/taskId", ""));
    tw_result_free(made);
}

static TwResult *get(Fixture *f)
{
    char params[128];

    (void)snprintf(params, sizeof(params), "\"taskId\":\"%s\"", f->id);
    return ask(f, "tasks/get", params);
}

/* Asks until the task has that status; tw_result_free it. */
static TwResult *get_until(Fixture *f, const char *status)
{
    for (;;) {
        TwResult *task = get(f);
        const char *now = tw_result_string(task, "/result/status", "");

        if (strcmp(now, status) == 0) {
            return task;
        }
        assert_string_equal(now, "working");
        tw_result_free(task);
    }
}

static TwCall *wait_kept(Fixture *f, int n_started)
{
    TwCall *call;

    (void)pthread_mutex_lock(&f->kept.lock);
    while (f->kept.n_started < n_started) {
        (void)pthread_cond_wait(&f->kept.changed, &f->kept.lock);
    }
    call = f->kept.call;
    (void)pthread_mutex_unlock(&f->kept.lock);
    return call;
}

/* ---- tests ---- */

static void a_tool_runs_as_a_task(void **state)
{
    Fixture *f = *state;
    TwResult *answer;

    open_server(f, NULL);
    wire_open(&f->wire, f->server);
    make(f, "echo", ",\"arguments\":{\"say\":\"hi\"}");
    answer = get_until(f, "completed");
    assert_string_equal(tw_result_string(answer, "/result/result/content/0/text", ""), "hi");
    tw_result_free(answer);
    answer = ask(f, "tools/call", "\"name\":\"never\",\"arguments\":{\"say\":\"now\"}");
    assert_string_equal(wire_text(answer), "now");
    tw_result_free(answer);
    /* Its client may not take tasks. */
    answer =
        wire_ask(&f->wire, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":"
                           "{\"name\":\"only\"," WIRE_MODERN_META "}}");
    assert_int_equal(tw_result_int(answer, "/error/code", 0), -32021);
    tw_result_free(answer);
    assert_int_equal(wire_close(&f->wire), 0);
}

static void a_task_asks(void **state)
{
    static const struct {
        const char *answer;
        const char *says;
    } bad[] = {
        {"{\"action\":\"accept\",\"content\":{\"name\":7}}",
         "params.inputResponses[\"who\"] is malformed: /content/name: expected string"},
        {"{\"action\":\"accept\"}", "/content: missing"},
        {"{\"action\":\"perhaps\"}", "/action"},
        {"{}", "/action: missing"},
    };
    Fixture *f = *state;
    TwResult *answer;
    char params[192];

    open_server(f, NULL);
    wire_open(&f->wire, f->server);
    make(f, "ask", "");
    answer = get_until(f, "input_required");
    assert_string_equal(tw_result_string(answer, "/result/inputRequests/who/method", ""),
                        "elicitation/create");
    tw_result_free(answer);
    /* What is no answer to the form is refused, and the task asks on. */
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        (void)snprintf(params, sizeof(params), "\"taskId\":\"%s\",\"inputResponses\":{\"who\":%s}",
                       f->id, bad[i].answer);
        answer = ask(f, "tasks/update", params);
        assert_int_equal(tw_result_int(answer, "/error/code", 0), -32602);
        assert_non_null(strstr(tw_result_string(answer, "/error/message", ""), bad[i].says));
        tw_result_free(answer);
        tw_result_free(get_until(f, "input_required"));
    }
    (void)snprintf(params, sizeof(params),
                   "\"taskId\":\"%s\",\"inputResponses\":{\"who\":{\"action\":\"accept\","
                   "\"content\":{\"name\":\"Ann\"}},\"nobody\":{}}",
                   f->id);
    tw_result_free(ask(f, "tasks/update", params));
    answer = get_until(f, "completed");
    assert_string_equal(tw_result_string(answer, "/result/result/content/0/text", ""), "asked Ann");
    tw_result_free(answer);
    assert_int_equal(wire_close(&f->wire), 0);
}

static void a_kept_call_is_cancelled_with_its_task(void **state)
{
    Fixture *f = *state;
    char params[128];
    TwCall *call;

    open_server(f, NULL);
    wire_open(&f->wire, f->server);
    make(f, "keep", "");
    call = wait_kept(f, 1);
    assert_false(tw_call_is_cancelled(call));
    (void)snprintf(params, sizeof(params), "\"taskId\":\"%s\"", f->id);
    tw_result_free(ask(f, "tasks/cancel", params));
    assert_true(tw_call_is_cancelled(call));
    tw_call_done(call);
    tw_result_free(get_until(f, "cancelled"));
    assert_int_equal(wire_close(&f->wire), 0);
}

/* In memory they live as long as the server, whoever it serves. */
static void the_next_client_finds_the_task(void **state)
{
    Fixture *f = *state;
    TwCall *call;
    TwResult *answer;

    open_server(f, NULL);
    wire_open(&f->wire, f->server);
    make(f, "keep", "");
    call = wait_kept(f, 1);
    assert_int_equal(wire_close(&f->wire), 0);
    assert_false(tw_call_is_cancelled(call));
    tw_call_text(call, "late");
    tw_call_done(call);
    wire_open(&f->wire, f->server);
    answer = get_until(f, "completed");
    assert_string_equal(tw_result_string(answer, "/result/result/content/0/text", ""), "late");
    tw_result_free(answer);
    assert_int_equal(wire_close(&f->wire), 0);
}

static void the_next_process_finds_the_task(void **state)
{
    Fixture *f = *state;
    TwResult *answer;

    open_server(f, f->folder);
    wire_open(&f->wire, f->server);
    make(f, "echo", ",\"arguments\":{\"say\":\"kept\"}");
    tw_result_free(get_until(f, "completed"));
    assert_int_equal(wire_close(&f->wire), 0);
    tw_server_free(f->server);
    open_server(f, f->folder);
    wire_open(&f->wire, f->server);
    answer = get(f);
    assert_string_equal(tw_result_string(answer, "/result/result/content/0/text", ""), "kept");
    tw_result_free(answer);
    assert_int_equal(wire_close(&f->wire), 0);
}

static void *answer_kept(void *context)
{
    TwCall *call = wait_kept(context, 1);

    tw_call_text(call, "in time");
    tw_call_done(call);
    return NULL;
}

/* The client is gone; the task has its time to end, and is found by the next process. */
static void a_task_ends_while_the_server_does(void **state)
{
    Fixture *f = *state;
    TwResult *answer;
    pthread_t thread;

    open_server(f, f->folder);
    wire_open(&f->wire, f->server);
    make(f, "keep", "");
    (void)wait_kept(f, 1);
    (void)shutdown(f->wire.fd, SHUT_WR);
    assert_int_equal(pthread_create(&thread, NULL, answer_kept, f), 0);
    assert_int_equal(wire_close(&f->wire), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    tw_server_free(f->server);
    open_server(f, f->folder);
    wire_open(&f->wire, f->server);
    answer = get(f);
    assert_string_equal(tw_result_string(answer, "/result/result/content/0/text", ""), "in time");
    tw_result_free(answer);
    assert_int_equal(wire_close(&f->wire), 0);
}

/* Both in one: the one fails, the other runs again. */
static void what_a_freed_server_left_is_interrupted_or_runs_again(void **state)
{
    Fixture *f = *state;
    char keep[64];
    TwCall *calls[2];

    f->server = NULL;
    open_server(f, f->folder);
    assert_int_equal(tw_server_message(f->server)[0], '\0');
    f->server->options.drain_ms = 1;
    wire_open(&f->wire, f->server);
    make(f, "keep", "");
    (void)snprintf(keep, sizeof(keep), "%s", f->id);
    calls[0] = wait_kept(f, 1);
    make(f, "safe", "");
    calls[1] = wait_kept(f, 2);
    assert_int_equal(wire_close(&f->wire), 0);
    tw_server_free(f->server);
    for (int i = 0; i < 2; i++) {
        assert_true(tw_call_is_cancelled(calls[i]));
        tw_call_done(calls[i]);
    }
    open_server(f, f->folder);
    wire_open(&f->wire, f->server);
    calls[0] = wait_kept(f, 3);
    tw_call_text(calls[0], "again");
    tw_call_done(calls[0]);
    tw_result_free(get_until(f, "completed"));
    (void)snprintf(f->id, sizeof(f->id), "%s", keep);
    tw_result_free(get_until(f, "failed"));
    assert_int_equal(wire_close(&f->wire), 0);
}

static void a_folder_is_one_servers(void **state)
{
    Fixture *f = *state;
    TwServer *other = tw_server_new("other", "1");
    const TwTool tool = {.name = "echo", .handler = on_echo, .task = TW_TASK_MAY};

    open_server(f, f->folder);
    assert_int_equal(tw_server_set_options(other, &(TwServerOptions){.state_dir = f->folder}), 0);
    assert_int_equal(tw_server_add_tool(other, &tool), TW_ERROR_BUSY);
    assert_string_not_equal(tw_server_message(other), "");
    tw_server_free(other);
    other = tw_server_new("other", "1");
    assert_int_equal(
        tw_server_set_options(other, &(TwServerOptions){.state_dir = "/nowhere/at/all"}), 0);
    assert_int_equal(tw_server_add_tool(other, &tool), TW_ERROR_SYSTEM);
    assert_string_not_equal(tw_server_message(other), "");
    tw_server_free(other);
}

static void a_server_without_such_tools_has_no_tasks(void **state)
{
    Fixture *f = *state;
    TwResult *answer;

    f->server = tw_server_new("plain", "1");
    assert_int_equal(tw_server_set_options(f->server, &(TwServerOptions){.state_dir = f->folder}),
                     0);
    assert_int_equal(tw_server_add_tool(f->server, &(TwTool){.name = "t", .handler = on_echo}), 0);
    assert_int_equal(tw_server_add_tool(f->server, &(TwTool){.name = "u",
                                                             .handler = on_echo,
                                                             .task = (TwTask)(TW_TASK_ASKED + 1)}),
                     TW_ERROR_ARGUMENT);
    assert_null(f->server->jobs);
    wire_open(&f->wire, f->server);
    answer = ask(f, "server/discover", "");
    assert_null(tw_result_get(answer, "/result/capabilities/extensions"));
    tw_result_free(answer);
    /* While it serves one comes. */
    assert_int_equal(
        tw_server_add_tool(f->server,
                           &(TwTool){.name = "v", .handler = on_echo, .task = TW_TASK_MAY}),
        0);
    make(f, "v", "");
    tw_result_free(get_until(f, "completed"));
    assert_int_equal(wire_close(&f->wire), 0);
}

#define TASKS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TASKS_TEST(a_tool_runs_as_a_task),
        TASKS_TEST(a_task_asks),
        TASKS_TEST(a_kept_call_is_cancelled_with_its_task),
        TASKS_TEST(the_next_client_finds_the_task),
        TASKS_TEST(the_next_process_finds_the_task),
        TASKS_TEST(a_task_ends_while_the_server_does),
        TASKS_TEST(what_a_freed_server_left_is_interrupted_or_runs_again),
        TASKS_TEST(a_folder_is_one_servers),
        TASKS_TEST(a_server_without_such_tools_has_no_tasks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
