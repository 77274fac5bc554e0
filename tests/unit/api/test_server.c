#include "unit/api/wire.h"

#include <signal.h>
#include <stdatomic.h>

#include "api/tw_server.h"
#include "base/limits.h"
#include "support/oom_sweep.h"

/* What on_text says, as user data. */
static char body[] = "body";
static char one[] = "one";
static char two[] = "two";

static void on_text(TwCall *call, void *user)
{
    tw_call_text(call, user != NULL ? user : "none");
}

static void on_blob(TwCall *call, void *user)
{
    (void)user;
    WIRE_CHECK(tw_call_image(call, "image/png", "", 0) == TW_ERROR_ARGUMENT);
    WIRE_CHECK(tw_call_structured(call, "{}") == TW_ERROR_ARGUMENT);
    WIRE_CHECK(tw_call_block(call, "{\"type\":\"text\"}") == TW_ERROR_ARGUMENT);
    tw_call_resource_blob(call, NULL, NULL, "\xff\x00", 2);
    tw_call_fresh(call, 5000, true);
}

static void on_template(TwCall *call, void *user)
{
    (void)user;
    tw_call_textf(call, "%s %s %s", tw_call_target(call), tw_call_variable(call, "path"),
                  tw_call_variable(call, "none") == NULL ? "-" : "?");
}

static void on_prompt(TwCall *call, void *user)
{
    (void)user;
    if (strcmp(tw_call_string(call, "who", ""), "nobody") == 0) {
        tw_call_failed(call, "there is nobody");
        return;
    }
    tw_call_description(call, "about");
    tw_call_textf(call, "Praise %s", tw_call_string(call, "who", "nobody"));
    WIRE_CHECK(tw_call_role(call, "nobody") == TW_ERROR_ARGUMENT);
    WIRE_CHECK(tw_call_role(call, "assistant") == 0);
    tw_call_text(call, "Gladly");
}

static void on_complete(TwCall *call, void *user)
{
    (void)user;
    WIRE_CHECK(tw_call_text(call, "t") == TW_ERROR_ARGUMENT);
    WIRE_CHECK(tw_call_ask_roots(call, "k") == TW_ERROR_ARGUMENT);
    tw_call_value(call, tw_call_completing(call));
    tw_call_value(call, tw_call_typed(call));
    tw_call_value(call, tw_call_string(call, "earlier", "none"));
    tw_call_total(call, 7);
}

static void on_release(void *user)
{
    atomic_int *n_released = user;

    atomic_fetch_add(n_released, 1);
}

static void on_ignore(TwCall *call, void *user)
{
    (void)call;
    (void)user;
}

static TwServer *new_full_server(void)
{
    static const TwPromptArgument arguments[] = {
        {.name = "who", .description = "whom", .required = true}, {.name = "how"}, {.name = NULL}};
    TwServer *server = tw_server_new("full", "2.0");

    assert_int_equal(
        tw_server_set_options(server, &(TwServerOptions){.title = "Full",
                                                         .instructions = "Use it.",
                                                         .icons = "[ {\"src\":\"data:,\"} ]",
                                                         .page_size = 2}),
        0);
    assert_int_equal(tw_server_add_tool(server, &(TwTool){.name = "b",
                                                          .title = "B",
                                                          .description = "bee",
                                                          .input_schema = "{\"type\": \"object\"}",
                                                          .output_schema = "{\"type\":\"object\"}",
                                                          .annotations = TW_TOOL_READ_ONLY |
                                                                         TW_TOOL_NOT_DESTRUCTIVE |
                                                                         TW_TOOL_CLOSED_WORLD,
                                                          .icons = "[]",
                                                          .meta = "{\"k\":1}",
                                                          .handler = on_text}),
                     0);
    assert_int_equal(tw_server_add_tool(server, &(TwTool){.name = "a", .handler = on_text}), 0);
    assert_int_equal(tw_server_add_tool(server, &(TwTool){.name = "c", .handler = on_text}), 0);
    assert_int_equal(tw_server_add_resource(server, &(TwResource){.uri = "test:///text",
                                                                  .name = "text",
                                                                  .mime_type = "text/x-test",
                                                                  .size = 4,
                                                                  .handler = on_text,
                                                                  .user = body}),
                     0);
    assert_int_equal(
        tw_server_add_resource(
            server, &(TwResource){.uri = "test:///blob", .name = "blob", .handler = on_blob}),
        0);
    assert_int_equal(
        tw_server_add_template(server, &(TwResourceTemplate){.uri_template = "file:///{+path}",
                                                             .name = "files",
                                                             .handler = on_template,
                                                             .complete = on_complete}),
        0);
    assert_int_equal(tw_server_add_prompt(server, &(TwPrompt){.name = "praise",
                                                              .arguments = arguments,
                                                              .handler = on_prompt,
                                                              .complete = on_complete}),
                     0);
    return server;
}

/* One request of the legacy session; the answer. */
static TwResult *request(Wire *wire, const char *method, const char *params)
{
    char line[2048];

    (void)snprintf(line, sizeof(line),
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}", method,
                   params);
    return wire_ask(wire, line);
}

static void expect(Wire *wire, const char *method, const char *params, const char *pointer,
                   const char *json)
{
    TwResult *answer = request(wire, method, params);
    const char *found = tw_result_get(answer, pointer);

    if (found == NULL) {
        print_message("%s\n", tw_result_json(answer));
    }
    assert_non_null(found);
    assert_string_equal(found, json);
    tw_result_free(answer);
}

static void tools_are_listed_as_they_were_added(void **state)
{
    Wire wire;
    TwServer *server = new_full_server();
    TwResult *answer;
    char params[256];

    (void)state;
    wire_open(&wire, server);
    wire_initialize(&wire);
    answer = request(&wire, "tools/list", "{}");
    assert_int_equal(tw_result_count(answer, "/result/tools"), 2);
    assert_string_equal(
        tw_result_get(answer, "/result/tools/0"),
        "{\"name\":\"b\",\"title\":\"B\",\"description\":\"bee\",\"icons\":[],"
        "\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":{\"type\":\"object\"},"
        "\"annotations\":{\"readOnlyHint\":true,\"destructiveHint\":false,"
        "\"openWorldHint\":false},\"_meta\":{\"k\":1}}");
    assert_string_equal(tw_result_string(answer, "/result/tools/1/name", ""), "a");
    (void)snprintf(params, sizeof(params), "{\"cursor\":%s}",
                   tw_result_get(answer, "/result/nextCursor"));
    tw_result_free(answer);
    expect(&wire, "tools/list", params, "/result/tools",
           "[{\"name\":\"c\",\"inputSchema\":{\"type\":\"object\"}}]");
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

static void the_server_says_who_it_is(void **state)
{
    Wire wire;
    TwServer *server = new_full_server();

    (void)state;
    wire_open(&wire, server);
    expect(&wire, "initialize",
           "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
           "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}",
           "/result/serverInfo",
           "{\"name\":\"full\",\"version\":\"2.0\",\"title\":\"Full\",\"icons\":[{\"src\":"
           "\"data:,\"}]}");
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

static void resources_are_read(void **state)
{
    Wire wire;
    TwServer *server = new_full_server();

    (void)state;
    wire_open(&wire, server);
    wire_initialize(&wire);
    expect(&wire, "resources/read", "{\"uri\":\"test:///text\"}", "/result/contents",
           "[{\"uri\":\"test:///text\",\"mimeType\":\"text/x-test\",\"text\":\"body\"}]");
    expect(&wire, "resources/read", "{\"uri\":\"test:///blob\"}", "/result/contents",
           "[{\"uri\":\"test:///blob\",\"blob\":\"/wA=\"}]");
    expect(&wire, "resources/read", "{\"uri\":\"file:///a/b%20c\"}", "/result/contents/0/text",
           "\"file:///a/b%20c a/b c -\"");
    expect(&wire, "resources/list", "{}", "/result/resources/0/size", "4");
    expect(&wire, "resources/templates/list", "{}", "/result/resourceTemplates",
           "[{\"uriTemplate\":\"file:///{+path}\",\"name\":\"files\"}]");
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

static void freshness_is_told_to_modern_clients(void **state)
{
    Wire wire;
    TwServer *server = new_full_server();
    TwResult *answer;

    (void)state;
    wire_open(&wire, server);
    answer = request(&wire, "resources/read", "{\"uri\":\"test:///blob\"," WIRE_MODERN_META "}");
    assert_int_equal(tw_result_int(answer, "/result/ttlMs", -1), 5000);
    assert_string_equal(tw_result_string(answer, "/result/cacheScope", ""), "private");
    tw_result_free(answer);
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

static void prompts_and_completions_are_answered(void **state)
{
    Wire wire;
    TwServer *server = new_full_server();

    (void)state;
    wire_open(&wire, server);
    wire_initialize(&wire);
    expect(&wire, "prompts/list", "{}", "/result/prompts/0/arguments",
           "[{\"name\":\"who\",\"description\":\"whom\",\"required\":true},"
           "{\"name\":\"how\",\"required\":false}]");
    expect(&wire, "prompts/get", "{\"name\":\"praise\",\"arguments\":{\"who\":\"Ada\"}}",
           "/result/messages",
           "[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"Praise Ada\"}},"
           "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":\"Gladly\"}}]");
    expect(&wire, "prompts/get", "{\"name\":\"praise\",\"arguments\":{\"who\":\"Ada\"}}",
           "/result/description", "\"about\"");
    expect(&wire, "prompts/get", "{\"name\":\"praise\",\"arguments\":{\"who\":\"nobody\"}}",
           "/error", "{\"code\":-32603,\"message\":\"there is nobody\"}");
    expect(&wire, "completion/complete",
           "{\"ref\":{\"type\":\"ref/prompt\",\"name\":\"praise\"},\"argument\":{\"name\":\"who\","
           "\"value\":\"A\"},\"context\":{\"arguments\":{\"earlier\":\"x\"}}}",
           "/result/completion/values", "[\"who\",\"A\",\"x\"]");
    expect(&wire, "completion/complete",
           "{\"ref\":{\"type\":\"ref/resource\",\"uri\":\"file:///{+path}\"},\"argument\":{"
           "\"name\":\"path\",\"value\":\"\"}}",
           "/result/completion/total", "7");
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

static void what_cannot_be_added_is_refused_with_words(void **state)
{
    TwServer *server = tw_server_new("s", NULL);

    (void)state;
    assert_string_equal(tw_server_message(server), "");
    assert_int_equal(tw_server_add_tool(NULL, &(TwTool){.name = "t", .handler = on_text}),
                     TW_ERROR_ARGUMENT);
    assert_int_equal(tw_server_add_tool(server, NULL), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_server_add_tool(server, &(TwTool){.name = "t"}), TW_ERROR_ARGUMENT);
    assert_int_equal(tw_server_add_tool(server, &(TwTool){.handler = on_text}), TW_ERROR_ARGUMENT);
    assert_int_equal(
        tw_server_add_tool(
            server, &(TwTool){.name = "t", .input_schema = "{\n \"type\":}", .handler = on_text}),
        TW_ERROR_JSON);
    assert_non_null(strstr(tw_server_message(server), "inputSchema, line 2"));
    assert_int_equal(tw_server_add_tool(server, &(TwTool){.name = "t",
                                                          .input_schema = "{\"type\":\"string\"}",
                                                          .handler = on_text}),
                     TW_ERROR_JSON);
    assert_int_equal(tw_server_add_tool(
                         server, &(TwTool){.name = "t", .output_schema = "[]", .handler = on_text}),
                     TW_ERROR_JSON);
    assert_string_equal(tw_server_message(server), "outputSchema must be a JSON object");
    assert_int_equal(tw_server_add_tool(server, &(TwTool){.name = "t", .handler = on_text}), 0);
    assert_int_equal(tw_server_add_tool(server, &(TwTool){.name = "t", .handler = on_text}),
                     TW_ERROR_EXISTS);
    assert_string_equal(tw_server_message(server), "'t' is there already");
    assert_int_equal(
        tw_server_add_template(server, &(TwResourceTemplate){.uri_template = "a:///{unclosed",
                                                             .name = "n",
                                                             .handler = on_text}),
        TW_ERROR_ARGUMENT);
    assert_true(strlen(tw_server_message(server)) > 0);
    assert_int_equal(tw_server_remove_tool(server, "u"), TW_ERROR_MISSING);
    assert_int_equal(tw_server_remove_prompt(server, "t"), TW_ERROR_MISSING);
    assert_int_equal(tw_server_remove_tool(server, "t"), 0);
    assert_int_equal(tw_server_set_options(server, &(TwServerOptions){.title = "late"}),
                     TW_ERROR_BUSY);
    tw_server_free(server);
    server = tw_server_new("s", NULL);
    assert_int_equal(tw_server_set_options(server, &(TwServerOptions){.icons = "{}"}),
                     TW_ERROR_JSON);
    tw_server_free(server);
    assert_null(tw_server_new(NULL, NULL));
    tw_server_free(NULL);
    tw_server_stop(NULL);
    assert_int_equal(tw_server_serve_fds(NULL, 0, 1), TW_ERROR_ARGUMENT);
}

/* Adds one of each kind with this timeout. */
static void check_timeout(int64_t timeout_ms, int expected)
{
    TwServer *server = tw_server_new("s", NULL);

    assert_int_equal(
        tw_server_add_tool(server,
                           &(TwTool){.name = "t", .handler = on_text, .timeout_ms = timeout_ms}),
        expected);
    assert_int_equal(
        tw_server_add_resource(
            server,
            &(TwResource){.uri = "a:b", .name = "r", .handler = on_text, .timeout_ms = timeout_ms}),
        expected);
    assert_int_equal(
        tw_server_add_template(server, &(TwResourceTemplate){.uri_template = "a:{b}",
                                                             .name = "r",
                                                             .handler = on_text,
                                                             .timeout_ms = timeout_ms}),
        expected);
    assert_int_equal(
        tw_server_add_prompt(
            server, &(TwPrompt){.name = "p", .handler = on_text, .timeout_ms = timeout_ms}),
        expected);
    assert_string_equal(tw_server_message(server), expected == 0 ? "" : "a time is negative");
    tw_server_free(server);
}

static void negative_times_are_refused(void **state)
{
    static const TwServerOptions negative[] = {
        {.call_timeout_ms = -1},
        {.call_timeout_max_ms = -1},
        {.drain_ms = INT64_MIN},
    };
    TwServer *server = tw_server_new("s", NULL);

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(negative); i++) {
        assert_int_equal(tw_server_set_options(server, &negative[i]), TW_ERROR_ARGUMENT);
        assert_string_equal(tw_server_message(server), "a time is negative");
    }
    assert_int_equal(tw_server_set_options(server, &(TwServerOptions){.drain_ms = 1}), 0);
    tw_server_free(server);
    check_timeout(-5, TW_ERROR_ARGUMENT);
    check_timeout(INT64_MIN, TW_ERROR_ARGUMENT);
    check_timeout(INT64_MAX, 0);
}

/* The undefined-behaviour sanitizer sees the sums. */
static void numbers_as_large_as_they_come_are_no_harm(void **state)
{
    TwServer *server = tw_server_new("s", NULL);
    TwResult *answer;
    Wire wire;

    (void)state;
    assert_int_equal(
        tw_server_set_options(server, &(TwServerOptions){.max_in_flight = UINT32_MAX,
                                                         .call_timeout_ms = INT64_MAX,
                                                         .call_timeout_max_ms = INT64_MAX,
                                                         .drain_ms = INT64_MAX}),
        0);
    assert_int_equal(server->options.max_in_flight, LIMIT_CALLS_IN_FLIGHT_MAX);
    assert_int_equal(server->options.call_timeout_ms, LIMIT_TIME_MS);
    assert_int_equal(server->options.call_timeout_max_ms, LIMIT_TIME_MS);
    assert_int_equal(server->options.drain_ms, LIMIT_TIME_MS);
    assert_int_equal(
        tw_server_add_tool(server,
                           &(TwTool){.name = "t", .handler = on_text, .timeout_ms = INT64_MAX}),
        0);
    wire_open(&wire, server);
    wire_initialize(&wire);
    wire_call(&wire, 1, "t", "{}", "");
    answer = wire_next(&wire);
    assert_int_equal(tw_result_int(answer, "/id", 0), 1);
    assert_false(tw_result_bool(answer, "/result/isError", false));
    tw_result_free(answer);
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

static void user_data_is_released_once(void **state)
{
    atomic_int n_released = 0;
    TwServer *server = tw_server_new("s", NULL);
    TwTool tool = {.name = "t", .handler = on_ignore, .user = &n_released, .release = on_release};

    (void)state;
    assert_int_equal(tw_server_add_tool(server, &tool), 0);
    assert_int_equal(tw_server_add_tool(server, &tool), TW_ERROR_EXISTS);
    assert_int_equal(atomic_load(&n_released), 0);
    assert_int_equal(tw_server_remove_tool(server, "t"), 0);
    assert_int_equal(atomic_load(&n_released), 1);
    assert_int_equal(tw_server_add_tool(server, &tool), 0);
    tw_server_free(server);
    assert_int_equal(atomic_load(&n_released), 2);
}

/* The test is another thread than the one that serves. */
static void changes_from_another_thread_reach_the_client(void **state)
{
    Wire wire;
    TwServer *server = new_full_server();
    TwResult *message;

    (void)state;
    wire_open(&wire, server);
    wire_initialize(&wire);
    tw_result_free(request(&wire, "resources/subscribe", "{\"uri\":\"test:///text\"}"));

    assert_int_equal(tw_server_add_tool(server, &(TwTool){.name = "new", .handler = on_text}), 0);
    message = wire_next(&wire);
    assert_string_equal(tw_result_string(message, "/method", ""),
                        "notifications/tools/list_changed");
    tw_result_free(message);
    assert_int_equal(tw_server_add_tool(server, &(TwTool){.name = "new", .handler = on_text}),
                     TW_ERROR_EXISTS);
    assert_int_equal(tw_server_remove_prompt(server, "praise"), 0);
    message = wire_next(&wire);
    assert_string_equal(tw_result_string(message, "/method", ""),
                        "notifications/prompts/list_changed");
    tw_result_free(message);
    assert_int_equal(tw_server_resource_updated(server, "test:///other"), 0);
    assert_int_equal(tw_server_resource_updated(server, "test:///text"), 0);
    message = wire_next(&wire);
    assert_string_equal(tw_result_string(message, "/method", ""),
                        "notifications/resources/updated");
    assert_string_equal(tw_result_string(message, "/params/uri", ""), "test:///text");
    tw_result_free(message);
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

static void clients_are_served_one_after_the_other(void **state)
{
    TwServer *server = new_full_server();
    int unused[2];

    (void)state;
    assert_int_equal(pipe(unused), 0);
    for (int i = 0; i < 3; i++) {
        Wire wire;

        wire_open(&wire, server);
        wire_initialize(&wire);
        /* It serves: nobody else may. */
        assert_int_equal(tw_server_serve_fds(server, unused[0], unused[1]), TW_ERROR_BUSY);
        expect(&wire, "ping", "{}", "/result", "{}");
        assert_int_equal(wire_close(&wire), 0);
    }
    tw_server_free(server);
    assert_int_equal(close(unused[0]), 0);
    assert_int_equal(close(unused[1]), 0);
}

static void two_servers_do_not_meet(void **state)
{
    Wire wires[2];
    TwServer *servers[2] = {tw_server_new("one", NULL), tw_server_new("two", NULL)};

    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            tw_server_add_tool(
                servers[i], &(TwTool){.name = "t", .handler = on_text, .user = i == 0 ? one : two}),
            0);
        wire_open(&wires[i], servers[i]);
        wire_initialize(&wires[i]);
    }
    expect(&wires[1], "tools/call", "{\"name\":\"t\"}", "/result/content/0/text", "\"two\"");
    expect(&wires[0], "tools/call", "{\"name\":\"t\"}", "/result/content/0/text", "\"one\"");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(wire_close(&wires[i]), 0);
        tw_server_free(servers[i]);
    }
}

static void stop_ends_serving(void **state)
{
    Wire wire;
    TwServer *server = new_full_server();

    (void)state;
    tw_server_stop(server);
    wire_open(&wire, server);
    wire_initialize(&wire);
    tw_server_stop(server);
    tw_server_stop(server);
    assert_null(wire_next(&wire));
    assert_int_equal(wire_close(&wire), 0);
    tw_server_free(server);
}

static void descriptors_that_cannot_be_used_stay_with_the_caller(void **state)
{
    TwServer *server = new_full_server();

    (void)state;
    assert_int_equal(tw_server_serve_fds(server, 9999, 9999), TW_ERROR_SYSTEM);
    assert_true(strlen(tw_server_message(server)) > 0);
    assert_int_equal(tw_server_serve_fds(server, -1, 1), TW_ERROR_ARGUMENT);
    tw_server_free(server);
}

/* With SIGPIPE as it is by default: it would end this program. */
static void a_client_that_does_not_read_is_no_signal(void **state)
{
    static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\","
                               "\"params\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
                               "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}\n";
    TwServer *server = new_full_server();
    sigset_t signals;
    int to[2];
    int from[2];

    (void)state;
    assert_true(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    assert_int_equal(close(from[0]), 0);
    assert_int_equal(write(to[1], ping, sizeof(ping) - 1), (ssize_t)sizeof(ping) - 1);
    assert_int_equal(tw_server_serve_fds(server, to[0], from[1]), 0);
    assert_int_equal(close(to[1]), 0);
    /* Nothing is left of it. */
    assert_int_equal(sigpending(&signals), 0);
    assert_int_equal(sigismember(&signals, SIGPIPE), 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &signals), 0);
    assert_int_equal(sigismember(&signals, SIGPIPE), 0);
    tw_server_free(server);
}

static int build_server(void *context)
{
    static const TwPromptArgument arguments[] = {{.name = "who"}, {.name = NULL}};
    TwServer *server = tw_server_new("s", "1");
    int r = 0;

    (void)context;
    if (server == NULL) {
        return -ENOMEM;
    }
    r = tw_server_set_options(server, &(TwServerOptions){.title = "t", .icons = "[]"});
    if (r == 0) {
        r = tw_server_add_tool(
            server, &(TwTool){.name = "t", .handler = on_text, .meta = "{}", .icons = "[]"});
    }
    if (r == 0) {
        r = tw_server_add_template(server, &(TwResourceTemplate){.uri_template = "a:///{b}/{+c}",
                                                                 .name = "n",
                                                                 .mime_type = "m/n",
                                                                 .handler = on_text});
    }
    if (r == 0) {
        r = tw_server_add_prompt(
            server, &(TwPrompt){.name = "p", .arguments = arguments, .handler = on_text});
    }
    tw_server_free(server);
    assert_true(r == 0 || r == TW_ERROR_MEMORY);
    return r == 0 ? 0 : -ENOMEM;
}

static void failed_allocations_leave_nothing_behind(void **state)
{
    (void)state;
    test_oom_sweep(build_server, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools_are_listed_as_they_were_added),
        cmocka_unit_test(the_server_says_who_it_is),
        cmocka_unit_test(resources_are_read),
        cmocka_unit_test(freshness_is_told_to_modern_clients),
        cmocka_unit_test(prompts_and_completions_are_answered),
        cmocka_unit_test(what_cannot_be_added_is_refused_with_words),
        cmocka_unit_test(negative_times_are_refused),
        cmocka_unit_test(numbers_as_large_as_they_come_are_no_harm),
        cmocka_unit_test(user_data_is_released_once),
        cmocka_unit_test(changes_from_another_thread_reach_the_client),
        cmocka_unit_test(clients_are_served_one_after_the_other),
        cmocka_unit_test(two_servers_do_not_meet),
        cmocka_unit_test(stop_ends_serving),
        cmocka_unit_test(descriptors_that_cannot_be_used_stay_with_the_caller),
        cmocka_unit_test(a_client_that_does_not_read_is_no_signal),
        cmocka_unit_test(failed_allocations_leave_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
