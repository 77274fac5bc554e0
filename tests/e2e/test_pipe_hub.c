/* `toolwire serve --pipe` between an MCP client and add-ins, all played by the test: calls, and
 * what is offered.
 *
 *     test_pipe_hub TOOLWIRE
 */
#include "e2e/pipe_peer.h"

#include "support/cmocka.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *program;

#define WALL "{\"start_point\":[0,0,0],\"end_point\":[10,0,0],\"height\":3.0}"
#define MADE "{\"element_id\":12345,\"message\":\"Wall created successfully\"}"

/* The largest message of the pipe. */
#define FRAME_MAX ((size_t)16777216)

/* A hub with the tools file of pipe_peer.h, and more arguments. */
static void serve_tools(PipeHubProcess *hub, const char *const *arguments)
{
    const char *all[PIPE_MAX_ARGUMENTS] = {"--pipe-tools", NULL};

    hub_init(hub, program);
    hub_write_file(hub->tools, PIPE_TOOLS);
    all[1] = hub->tools;
    for (size_t i = 0; arguments != NULL && arguments[i] != NULL; i++) {
        all[i + 2] = arguments[i];
    }
    hub_serve(hub, all);
}

static void serve_plain(PipeHubProcess *hub, const char *const *arguments)
{
    hub_init(hub, program);
    hub_serve(hub, arguments);
}

static void finish(PipeHubProcess *hub)
{
    hub_end(hub);
    hub_deinit(hub);
}

/* ---- calls ---- */

static void a_call_reaches_the_add_in_and_its_data_comes_back(void **state)
{
    PipeHubProcess hub;
    AddinPeer addin;
    AddinMessage message;
    char *line;
    char id[40];

    (void)state;
    serve_tools(&hub, NULL);
    addin_connect(&addin, &hub);
    addin_offer_unknown(&addin);
    hub_send(&hub, CALL("1", "revit.create_wall", WALL));
    addin_next(&addin, &message);
    assert_non_null(strstr(message.text,
                           "\"payload\":{\"tool_name\":\"revit.create_wall\",\"args\":" WALL
                           "}}")); /* byte for byte */
    addin_answer(&addin, message.id, MADE);
    addin_message_deinit(&message);
    hub_expect_result(&hub, 1, MADE, MADE);

    /* The same for a client of the other era; the add-in's duration is passed on, with ours. */
    hub_send(&hub, MODERN_CALL("2", "revit.create_wall", WALL));
    addin_expect_call(&addin, "revit.create_wall", WALL, id);
    addin_answer(&addin, id, MADE);
    line = hub_answer(&hub);
    assert_non_null(strstr(line, "\"structuredContent\":" MADE));
    assert_non_null(strstr(line, "\"duration_ms\":45"));
    assert_non_null(strstr(line, "\"waited_ms\":"));
    free(line);

    /* Data that is no object. */
    hub_send(&hub, CALL("3", "revit.any", "{}"));
    addin_expect_call(&addin, "revit.any", "{}", id);
    addin_answer(&addin, id, "\"done\"");
    hub_expect_result(&hub, 3, "{\"result\":\"done\"}", "done");
    hub_send(&hub, MODERN_CALL("4", "revit.any", "{}"));
    addin_expect_call(&addin, "revit.any", "{}", id);
    addin_answer(&addin, id, "[1,2]");
    hub_expect_result(&hub, 4, "{\"result\":[1,2]}", "[1,2]");
    addin_close(&addin);
    finish(&hub);
}

static void an_error_of_the_add_in_is_an_error_of_the_tool(void **state)
{
    static const char *const calls[] = {CALL("1", "revit.any", "{}"),
                                        MODERN_CALL("1", "revit.any", "{}")};
    PipeHubProcess hub;
    AddinPeer addin;

    (void)state;
    serve_tools(&hub, NULL);
    addin_connect(&addin, &hub);
    addin_offer_unknown(&addin);
    for (size_t i = 0; i < 2; i++) {
        char message[512];
        char id[40];

        hub_send(&hub, calls[i]);
        addin_expect_call(&addin, "revit.any", "{}", id);
        addin_fail(&addin, id, "REVIT_API_ERROR", "Level 'L9' not found");
        hub_expect_failure(&hub, 1, "REVIT_API_ERROR", "Level 'L9' not found");
        /* As the document has it: a message of its own. */
        hub_send(&hub, calls[i]);
        addin_expect_call(&addin, "revit.any", "{}", id);
        (void)snprintf(
            message, sizeof(message),
            "{\"id\":\"...\",\"type\":\"error\",\"timestamp\":\"...\",\"payload\":{\"code\":"
            "\"TOOL_NOT_FOUND\",\"message\":\"No handler registered for tool 'revit.any'\","
            "\"call_id\":\"%s\"}}",
            id);
        addin_send(&addin, message);
        hub_expect_failure(&hub, 1, "TOOL_NOT_FOUND", "No handler registered for tool 'revit.any'");
    }
    addin_close(&addin);
    finish(&hub);
}

static void without_an_add_in_a_tool_of_the_file_fails(void **state)
{
    PipeHubProcess hub;

    (void)state;
    serve_tools(&hub, NULL);
    hub_expect_tools(&hub, "revit.create_wall revit.any ");
    hub_send(&hub, CALL("1", "revit.any", "{}"));
    hub_expect_failure(&hub, 1, "ADAPTER_NOT_AVAILABLE", "");
    hub_send(&hub, MODERN_CALL("2", "revit.any", "{}"));
    hub_expect_failure(&hub, 2, "ADAPTER_NOT_AVAILABLE", "");
    finish(&hub);
}

static void arguments_that_the_schema_refuses_do_not_reach_the_add_in(void **state)
{
    PipeHubProcess hub;
    AddinPeer addin;
    char id[40];

    (void)state;
    serve_tools(&hub, NULL);
    addin_connect(&addin, &hub);
    addin_offer_unknown(&addin);
    hub_send(&hub, CALL("1", "revit.create_wall", "{\"height\":-1}"));
    hub_expect_failure(&hub, 1, "SCHEMA_VALIDATION_FAILED", "height");
    hub_send(&hub, MODERN_CALL("2", "revit.create_wall", "{}"));
    hub_expect_failure(&hub, 2, "SCHEMA_VALIDATION_FAILED", "height");
    hub_send(&hub, CALL("3", "revit.create_wall", "{\"height\":1}"));
    addin_expect_call(&addin, "revit.create_wall", "{\"height\":1}", id);
    addin_answer(&addin, id, "{}");
    hub_expect_result(&hub, 3, "{}", "{}");
    addin_close(&addin);
    finish(&hub);
}

static void calls_are_told_apart_by_their_ids(void **state)
{
    enum {
        N = 20
    };
    PipeHubProcess hub;
    AddinPeer addin;
    char ids[N][40];
    char text[256];

    (void)state;
    serve_tools(&hub, NULL);
    addin_connect(&addin, &hub);
    addin_offer_unknown(&addin);
    for (int i = 0; i < N; i++) {
        (void)snprintf(text, sizeof(text), CALL("%d", "revit.any", "{\"n\":%d}"), i + 1, i);
        hub_send(&hub, text);
    }
    for (int i = 0; i < N; i++) {
        (void)snprintf(text, sizeof(text), "{\"n\":%d}", i);
        addin_expect_call(&addin, "revit.any", text, ids[i]);
    }
    for (int i = N; i-- > 0;) { /* the last one first */
        (void)snprintf(text, sizeof(text), "{\"n\":%d}", i);
        addin_answer(&addin, ids[i], text);
        hub_expect_result(&hub, i + 1, text, text);
    }
    addin_close(&addin);
    finish(&hub);
}

static void a_call_that_is_not_answered_ends_at_its_deadline(void **state)
{
    static const char *const flags[] = {"--call-timeout-ms", "100", NULL};
    PipeHubProcess hub;
    AddinPeer addin;
    char late[40];
    char id[40];

    (void)state;
    serve_tools(&hub, flags);
    addin_connect(&addin, &hub);
    addin_offer_unknown(&addin);
    hub_send(&hub, CALL("1", "revit.any", "{}"));
    addin_expect_call(&addin, "revit.any", "{}", late);
    hub_expect_failure(&hub, 1, "PIPE_TIMEOUT", "");
    hub_send(&hub, MODERN_CALL("2", "revit.any", "{}"));
    addin_expect_call(&addin, "revit.any", "{}", id);
    hub_expect_failure(&hub, 2, "PIPE_TIMEOUT", "");
    addin_answer(&addin, late, "{\"late\":true}");
    addin_answer(&addin, id, "{\"late\":true}");
    addin_close(&addin);
    finish(&hub); /* and nothing more came */
}

static void late_and_second_results_are_dropped(void **state)
{
    PipeHubProcess hub;
    AddinPeer addin;
    char first[40];
    char id[40];

    (void)state;
    serve_tools(&hub, NULL);
    addin_connect(&addin, &hub);
    addin_offer_unknown(&addin);
    /* Taken back by the client: the call gets no answer, its result goes nowhere. */
    hub_send(&hub, CALL("1", "revit.any", "{}"));
    addin_expect_call(&addin, "revit.any", "{}", first);
    hub_send(&hub, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
                   "\"requestId\":1}}");
    hub_send(&hub, CALL("2", "revit.any", "{}"));
    addin_expect_call(&addin, "revit.any", "{}", id);
    addin_answer(&addin, first, "{\"n\":1}");
    addin_answer(&addin, "550e8400-e29b-41d4-a716-446655440000", "{\"n\":0}");
    addin_answer(&addin, id, "{\"n\":2}");
    addin_answer(&addin, id, "{\"n\":3}");
    hub_expect_result(&hub, 2, "{\"n\":2}", NULL);
    hub_send(&hub, CALL("3", "revit.any", "{}"));
    addin_expect_call(&addin, "revit.any", "{}", id);
    addin_answer(&addin, id, "{\"n\":4}");
    hub_expect_result(&hub, 3, "{\"n\":4}", NULL);
    addin_close(&addin);
    finish(&hub);
}

static void calls_of_an_add_in_that_dies_fail_at_once_and_are_not_sent_again(void **state)
{
    static const char *const flags[] = {"--call-timeout-ms", "1h", NULL};
    PipeHubProcess hub;
    AddinPeer older;
    AddinPeer addin;
    char id[40];

    (void)state;
    serve_tools(&hub, flags);
    addin_connect(&older, &hub);
    addin_offer_unknown(&older);
    addin_connect(&addin, &hub);
    addin_offer_unknown(&addin);
    /* When this is answered, so has been what it offers. */
    addin_send(&addin, "{\"id\":\"p\",\"type\":\"chat\"}");
    addin_expect_error(&addin, "PIPE_PROTOCOL_ERROR", "chat");
    hub_send(&hub, CALL("1", "revit.any", "{}"));
    hub_send(&hub, MODERN_CALL("2", "revit.any", "{}"));
    addin_expect_call(&addin, "revit.any", "{}", id);
    addin_expect_call(&addin, "revit.any", "{}", id);
    addin_close(&addin);
    hub_expect_failure(&hub, 1, "PIPE_DISCONNECTED", "");
    hub_expect_failure(&hub, 2, "PIPE_DISCONNECTED", "");
    /* What comes next goes to the one that is left, and only that. */
    hub_send(&hub, CALL("3", "revit.any", "{\"n\":3}"));
    addin_expect_call(&older, "revit.any", "{\"n\":3}", id);
    addin_answer(&older, id, "{}");
    hub_expect_result(&hub, 3, "{}", "{}");
    addin_close(&older);
    finish(&hub);
}

/* ---- what is offered ---- */

static void tools_come_and_go_with_their_add_in(void **state)
{
    PipeHubProcess hub;
    AddinPeer addin;
    char *line;
    char id[40];

    (void)state;
    serve_plain(&hub, NULL);
    hub_expect_tools(&hub, "");
    addin_open(
        &addin, &hub,
        "{\"name\":\"planner\",\"tools\":[" PIPE_TOOL("plan.a") "," PIPE_TOOL("plan.b") "]}");
    hub_await_tools_changed(&hub);
    hub_expect_tools(&hub, "plan.a plan.b ");
    hub_send(&hub, CALL("1", "plan.b", "{\"x\":1}"));
    addin_expect_call(&addin, "plan.b", "{\"x\":1}", id);
    addin_answer(&addin, id, "{}");
    hub_expect_result(&hub, 1, "{}", "{}");
    addin_close(&addin);
    hub_await_tools_changed(&hub);
    hub_expect_tools(&hub, "");
    hub_send(&hub, CALL("2", "plan.b", "{}"));
    line = hub_answer(&hub);
    assert_non_null(strstr(line, "-32602"));
    free(line);
    /* It connects again, as after a restart of the application. */
    addin_open(&addin, &hub, "{\"name\":\"planner\",\"tools\":[" PIPE_TOOL("plan.b") "]}");
    hub_await_tools_changed(&hub);
    hub_expect_tools(&hub, "plan.b ");
    addin_close(&addin);
    hub_await_tools_changed(&hub);
    finish(&hub);
}

static void a_subscription_hears_of_add_ins_that_come_and_go(void **state)
{
    PipeHubProcess hub;
    AddinPeer addin;
    char *line;

    (void)state;
    hub_init(&hub, program);
    peer_start(&hub.client, program,
               (const char *const[]){"serve", "--no-toolkit", "--pipe", PIPE_NAME, NULL});
    hub_send(
        &hub,
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{"
        "\"notifications\":{\"toolsListChanged\":true,\"resourcesListChanged\":true}," MODERN_META
        "}}");
    line = hub_answer(&hub);
    assert_non_null(strstr(line, "\"toolsListChanged\":true"));
    assert_non_null(strstr(line, "\"resourcesListChanged\":true"));
    free(line);
    addin_open(
        &addin, &hub,
        "{\"name\":\"p\",\"tools\":[" PIPE_TOOL("plan.a") "],\"resources\":[{\"uri\":"
                                                          "\"plan://p\",\"name\":\"plan\"}]}");
    hub_await_tools_changed(&hub);
    hub_await_resources_changed(&hub);
    addin_close(&addin);
    hub_await_tools_changed(&hub);
    hub_await_resources_changed(&hub);
    peer_close_input(&hub.client);
    line = peer_line(&hub.client); /* the subscription ends with the session */
    free(line);
    finish(&hub);
}

static void the_newest_add_in_serves_and_the_older_takes_over(void **state)
{
#define NAMED(text)                                                                                \
    "{\"name\":\"app\",\"tools\":[{\"name\":\"plan.a\",\"description\":\"" text                    \
    "\",\"input_schema\":{\"type\":\"object\"}}]}"
    PipeHubProcess hub;
    AddinPeer older;
    AddinPeer newer;
    char *line;
    char id[40];

    (void)state;
    serve_plain(&hub, NULL);
    addin_open(&older, &hub, NAMED("the older"));
    hub_await_tools_changed(&hub);
    addin_open(&newer, &hub, NAMED("the newer"));
    hub_await_tools_changed(&hub);
    hub_send(&hub, LIST("1"));
    line = hub_answer(&hub);
    assert_non_null(strstr(line, "\"the newer\""));
    assert_null(strstr(line, "\"the older\""));
    free(line);
    hub_send(&hub, CALL("2", "plan.a", "{}"));
    addin_expect_call(&newer, "plan.a", "{}", id);
    addin_answer(&newer, id, "{\"by\":2}");
    hub_expect_result(&hub, 2, "{\"by\":2}", NULL);
    addin_close(&newer);
    hub_await_tools_changed(&hub);
    hub_send(&hub, LIST("3"));
    line = hub_answer(&hub);
    assert_non_null(strstr(line, "\"the older\""));
    free(line);
    hub_send(&hub, CALL("4", "plan.a", "{}"));
    addin_expect_call(&older, "plan.a", "{}", id);
    addin_answer(&older, id, "{\"by\":1}");
    hub_expect_result(&hub, 4, "{\"by\":1}", NULL);
    addin_close(&older);
    hub_await_tools_changed(&hub);
    finish(&hub);
}

static void resources_come_and_go_with_their_add_in(void **state)
{
    PipeHubProcess hub;
    AddinPeer addin;
    char *line;
    char id[40];

    (void)state;
    serve_plain(&hub, NULL);
    hub_send(&hub, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}");
    line = hub_answer(&hub); /* announced though there are none */
    assert_non_null(strstr(line, "\"resources\":[]"));
    free(line);
    addin_open(&addin, &hub,
               "{\"name\":\"planner\",\"tools\":[],\"resources\":[{\"uri\":\"plan://svg\",\"name\":"
               "\"The plan\",\"mimeType\":\"image/svg+xml\"}]}");
    hub_await_resources_changed(&hub);
    hub_send(&hub, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"resources/list\"}");
    line = hub_answer(&hub);
    assert_non_null(strstr(line, "\"plan://svg\""));
    assert_non_null(strstr(line, "\"image/svg+xml\""));
    free(line);
    hub_send(&hub, "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"resources/read\",\"params\":{"
                   "\"uri\":\"plan://svg\"}}");
    addin_expect_call(&addin, "toolwire.read_resource", "{\"uri\":\"plan://svg\"}", id);
    addin_answer(&addin, id,
                 "{\"contents\":[{\"uri\":\"plan://svg\",\"mimeType\":\"image/svg+xml\",\"text\":"
                 "\"<svg/>\"}]}");
    line = hub_answer(&hub);
    assert_non_null(strstr(line, "\"text\":\"<svg/>\""));
    assert_null(strstr(line, "\"error\""));
    free(line);
    addin_close(&addin);
    hub_await_resources_changed(&hub);
    hub_send(&hub, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"resources/list\"}");
    line = hub_answer(&hub);
    assert_non_null(strstr(line, "\"resources\":[]"));
    free(line);
    finish(&hub);
}

/* The real ones of the document: one message at a time, no list, seven digits, +00:00. */
static void an_add_in_of_the_original_works_with_a_tools_file(void **state)
{
    static const char *const flags[] = {"--ping-interval-ms", "50", "--pong-timeout-ms", "1s",
                                        NULL};
    PipeHubProcess hub;
    AddinPeer addin;
    char message[512];
    char id[40];

    (void)state;
    serve_tools(&hub, flags);
    addin_connect(&addin, &hub);
    addin_expect_call(&addin, "toolwire.list_tools", PIPE_LIST_ARGS, id);
    (void)snprintf(message, sizeof(message),
                   "{\"id\":\"6f9619ff-8b86-d011-b42d-00cf4fc964ff\",\"type\":\"tool_result\","
                   "\"timestamp\":\"2025-01-15T10:30:00.1234567\\u002B00:00\",\"payload\":{"
                   "\"call_id\":\"%s\",\"success\":false,\"data\":null,\"error\":{\"code\":"
                   "\"TOOL_NOT_FOUND\",\"message\":\"No command registered for tool "
                   "\\u0027toolwire.list_tools\\u0027\"},\"duration_ms\":0}}",
                   id);
    addin_send(&addin, message);
    for (int i = 1; i <= 3; i++) {
        hub_send(&hub, CALL("1", "revit.create_wall", WALL));
        addin_expect_call(&addin, "revit.create_wall", WALL, id);
        /* While it works it does not read, so pings wait for it. */
        (void)snprintf(message, sizeof(message),
                       "{\"id\":\"6f9619ff-8b86-d011-b42d-00cf4fc964ff\",\"type\":\"tool_result\","
                       "\"timestamp\":\"2025-01-15T10:30:00.1234567\\u002B00:00\",\"payload\":{"
                       "\"call_id\":\"%s\",\"success\":true,\"data\":{\"n\":%d},\"error\":null,"
                       "\"duration_ms\":12}}",
                       id, i);
        addin_send(&addin, message);
        (void)snprintf(message, sizeof(message), "{\"n\":%d}", i);
        hub_expect_result(&hub, 1, message, message);
    }
    addin_close(&addin);
    finish(&hub);
}

static void settings_come_from_the_configuration(void **state)
{
    PipeHubProcess hub;
    AddinPeer addin;
    AddinMessage message;
    char id[40];

    (void)state;
    hub_init(&hub, program);
    hub_write_file(hub.tools, PIPE_TOOLS);
    hub_serve_config(&hub, "{\"pipe\":{\"name\":\"" PIPE_NAME "\",\"tools\":\"tools.json\","
                           "\"ping_interval_ms\":20,\"pong_timeout_ms\":\"1h\"}}");
    addin_connect(&addin, &hub);
    addin_offer_unknown(&addin);
    for (int i = 0; i < 3; i++) {
        addin_next_any(&addin, &message);
        assert_string_equal(message.type, "ping");
        addin_message_deinit(&message);
    }
    hub_send(&hub, CALL("1", "revit.any", "{}"));
    addin_expect_call(&addin, "revit.any", "{}", id);
    addin_answer(&addin, id, "{}");
    hub_expect_result(&hub, 1, "{}", "{}");
    addin_close(&addin);
    finish(&hub);
}

/* ---- the largest messages ---- */

#define RESULT_HEAD                                                                                \
    "{\"id\":\"r\",\"type\":\"tool_result\",\"timestamp\":\"2025-01-15T10:30:00.045Z\","           \
    "\"payload\":"                                                                                 \
    "{\"call_id\":\"%s\",\"success\":true,\"data\":\""
#define RESULT_TAIL "\"}}"

/* A result of so many bytes, the data a text. */
static char *large_result(const char *call_id, size_t n)
{
    char *text = malloc(n + 1);
    size_t n_head;

    assert_non_null(text);
    n_head = (size_t)snprintf(text, n, RESULT_HEAD, call_id);
    memset(text + n_head, 'x', n - n_head);
    memcpy(text + n - (sizeof(RESULT_TAIL) - 1), RESULT_TAIL, sizeof(RESULT_TAIL));
    return text;
}

static void a_result_at_the_limit_arrives_and_one_byte_more_is_refused(void **state)
{
    static const char *const flags[] = {"--max-response-bytes", "64MiB", "--max-line-bytes",
                                        "64MiB", NULL};
    PipeHubProcess hub;
    AddinPeer addin;
    AddinPeer other;
    unsigned char header[4] = {1, 0, 0, 1}; /* 16 MiB and one */
    char *text;
    char *line;
    char id[40];

    (void)state;
    serve_tools(&hub, flags);
    addin_connect(&other, &hub);
    addin_offer_unknown(&other);
    addin_connect(&addin, &hub);
    addin_offer_unknown(&addin);
    addin_send(&addin, "{\"id\":\"p\",\"type\":\"chat\"}");
    addin_expect_error(&addin, "PIPE_PROTOCOL_ERROR", "chat");
    hub_send(&hub, CALL("1", "revit.any", "{}"));
    addin_expect_call(&addin, "revit.any", "{}", id);
    text = large_result(id, FRAME_MAX);
    addin_write_frame(&addin, text, FRAME_MAX);
    free(text);
    line = hub_answer(&hub);
    assert_true(strlen(line) > 2 * (FRAME_MAX - 1024)); /* as text and structured */
    assert_null(strstr(line, "\"isError\":true"));
    free(line);

    hub_send(&hub, CALL("2", "revit.any", "{}"));
    addin_expect_call(&addin, "revit.any", "{}", id);
    addin_write(&addin, header, sizeof(header));
    addin_expect_error(&addin, "PIPE_MESSAGE_TOO_LARGE", "16777217 bytes declared");
    hub_expect_failure(&hub, 2, "PIPE_MESSAGE_TOO_LARGE", "");
    addin_expect_end(&addin);
    hub_send(&hub, CALL("3", "revit.any", "{}"));
    addin_expect_call(&other, "revit.any", "{}", id);
    addin_answer(&other, id, "{}");
    hub_expect_result(&hub, 3, "{}", "{}");
    addin_close(&other);
    finish(&hub);
}

/* A call whose arguments have n bytes: {"s":"xxx…"}. */
static void send_large_call(PipeHubProcess *hub, int id, size_t n)
{
    char *text = malloc(n + 1024);
    size_t at;

    assert_non_null(text);
    at = (size_t)snprintf(text, 1024,
                          "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{"
                          "\"name\":\"revit.any\",\"arguments\":{\"s\":\"",
                          id);
    memset(text + at, 'x', n - strlen("{\"s\":\"\"}"));
    at += n - strlen("{\"s\":\"\"}");
    memcpy(text + at, "\"}}}", sizeof("\"}}}"));
    hub_send(hub, text);
    free(text);
}

static void a_call_at_the_limit_is_sent_and_one_byte_more_is_not(void **state)
{
    static const char *const flags[] = {"--max-request-bytes", "32MiB", NULL};
    static const char empty[] =
        "{\"id\":\"550e8400-e29b-41d4-a716-446655440000\",\"type\":\"tool_call\",\"timestamp\":"
        "\"2025-01-15T10:30:00.000Z\",\"payload\":{\"tool_name\":\"revit.any\",\"args\":}}";
    size_t n_args = FRAME_MAX - (sizeof(empty) - 1);
    PipeHubProcess hub;
    AddinPeer addin;
    AddinMessage message;

    (void)state;
    serve_tools(&hub, flags);
    hub.client.watch.ours = 0; /* it does not look into requests of more than 1 MiB */
    addin_connect(&addin, &hub);
    addin_offer_unknown(&addin);
    send_large_call(&hub, 1, n_args + 1);
    hub_expect_failure(&hub, 1, "PIPE_MESSAGE_TOO_LARGE", "");
    send_large_call(&hub, 2, n_args);
    addin_next(&addin, &message);
    assert_non_null(message.text);
    assert_int_equal(strlen(message.text), FRAME_MAX);
    addin_answer(&addin, message.id, "{}");
    addin_message_deinit(&message);
    hub_expect_result(&hub, 2, "{}", "{}");
    addin_close(&addin);
    finish(&hub);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_reaches_the_add_in_and_its_data_comes_back),
        cmocka_unit_test(an_error_of_the_add_in_is_an_error_of_the_tool),
        cmocka_unit_test(without_an_add_in_a_tool_of_the_file_fails),
        cmocka_unit_test(arguments_that_the_schema_refuses_do_not_reach_the_add_in),
        cmocka_unit_test(calls_are_told_apart_by_their_ids),
        cmocka_unit_test(a_call_that_is_not_answered_ends_at_its_deadline),
        cmocka_unit_test(late_and_second_results_are_dropped),
        cmocka_unit_test(calls_of_an_add_in_that_dies_fail_at_once_and_are_not_sent_again),
        cmocka_unit_test(tools_come_and_go_with_their_add_in),
        cmocka_unit_test(a_subscription_hears_of_add_ins_that_come_and_go),
        cmocka_unit_test(the_newest_add_in_serves_and_the_older_takes_over),
        cmocka_unit_test(resources_come_and_go_with_their_add_in),
        cmocka_unit_test(an_add_in_of_the_original_works_with_a_tools_file),
        cmocka_unit_test(settings_come_from_the_configuration),
        cmocka_unit_test(a_result_at_the_limit_arrives_and_one_byte_more_is_refused),
        cmocka_unit_test(a_call_at_the_limit_is_sent_and_one_byte_more_is_not),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_pipe_hub TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
