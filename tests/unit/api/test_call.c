#include "unit/api/wire.h"

#include "support/alloc_testing.h"

/* ---- handlers ---- */

/* Says what it reads. */
static void on_read_back(TwCall *call, void *user)
{
    size_t n = 0;
    const char *blob = tw_call_string_n(call, "nul", &n);

    (void)user;
    tw_call_textf(call, "%d %s %s %lld %.2f %d %s %zu %s %zu", (int)tw_call_verb(call),
                  tw_call_target(call), tw_call_string(call, "s", "none"),
                  (long long)tw_call_int(call, "i", -1), tw_call_double(call, "d", -1),
                  (int)tw_call_bool(call, "b", false), tw_call_string(call, "/o/x~1y", "none"), n,
                  tw_call_json(call, "o"), tw_call_count(call, "a"));
    WIRE_CHECK(blob == NULL || memcmp(blob, "a\0b", n) == 0);
    tw_call_text(call, tw_call_arguments(call));
    if (tw_call_json(call, "missing") != NULL || tw_call_answer(call, "k") != NULL ||
        tw_call_state(call) != NULL || tw_call_variable(call, "v") != NULL ||
        tw_call_is_cancelled(call) || tw_call_count(call, "s") != 0) {
        tw_call_failed(call, "something is there that was not sent");
    }
}

static void on_every_block(TwCall *call, void *user)
{
    (void)user;
    WIRE_CHECK(tw_call_text(call, "one") == 0);
    WIRE_CHECK(tw_call_image(call, "image/png", "\x01\x02\x03", 3) == 0);
    WIRE_CHECK(tw_call_audio(call, "audio/wav", "abc", 3) == 0);
    WIRE_CHECK(tw_call_link(call, "file:///a", "a", NULL) == 0);
    WIRE_CHECK(tw_call_resource_text(call, "file:///b", "text/plain", "b") == 0);
    WIRE_CHECK(tw_call_resource_blob(call, "file:///c", NULL, "c", 1) == 0);
    WIRE_CHECK(tw_call_block(call, "{ \"type\": \"text\", \"text\": \"last\" }") == 0);
    WIRE_CHECK(tw_call_meta(call, "{\"m\": 1}") == 0);
    WIRE_CHECK(tw_call_structured(call, "{\"n\": 1}") == 0);
    WIRE_CHECK(tw_call_text(call, NULL) == TW_ERROR_ARGUMENT);
    WIRE_CHECK(tw_call_role(call, "user") == TW_ERROR_ARGUMENT);
    WIRE_CHECK(tw_call_value(call, "v") == TW_ERROR_ARGUMENT);
    WIRE_CHECK(tw_call_resource_text(call, NULL, NULL, "t") == TW_ERROR_ARGUMENT);
}

static void on_long_text(TwCall *call, void *user)
{
    (void)user;
    tw_call_textf(call, "%0*d", 5000, 7);
}

static void on_fail(TwCall *call, void *user)
{
    (void)user;
    tw_call_text(call, "first");
    tw_call_failedf(call, "no %s today", "luck");
}

static void on_error(TwCall *call, void *user)
{
    (void)user;
    tw_call_text(call, "forgotten");
    tw_call_error_json(call, -31000, "own \"words\"", "{\"why\": [1]}");
}

static void on_bad_json(TwCall *call, void *user)
{
    (void)user;
    WIRE_CHECK(tw_call_structured(call, "{nonsense") == TW_ERROR_JSON);
    tw_call_text(call, "too late");
}

static void on_nothing(TwCall *call, void *user)
{
    (void)call;
    (void)user;
}

static void on_done_early(TwCall *call, void *user)
{
    (void)user;
    tw_call_text(call, "in time");
    tw_call_done(call);
    WIRE_CHECK(tw_call_text(call, "too late") == TW_ERROR_OVER);
    WIRE_CHECK(tw_call_progress(call, 1, 2, NULL) == TW_ERROR_OVER);
    WIRE_CHECK(tw_call_detach(call) == TW_ERROR_OVER);
    WIRE_CHECK(tw_call_keep(call) == TW_ERROR_OVER);
}

static void on_talk(TwCall *call, void *user)
{
    (void)user;
    WIRE_CHECK(tw_call_detach(call) == 0); /* nothing to let go at a pair of descriptors */
    WIRE_CHECK(tw_call_progress(call, 1, 4, "begun") == 0);
    WIRE_CHECK(tw_call_progress(call, 2, -1, NULL) == 0);
    WIRE_CHECK(tw_call_log(call, TW_LOG_WARNING, "careful") == 0);
    WIRE_CHECK(tw_call_log_json(call, TW_LOG_ERROR, "part", "{ \"a\":\n1 }") == 0);
    WIRE_CHECK(tw_call_log_json(call, TW_LOG_ERROR, "part", "{") == TW_ERROR_JSON);
    WIRE_CHECK(tw_call_log(call, TW_LOG_NONE, "x") == TW_ERROR_ARGUMENT);
    tw_call_text(call, "done");
}

static const char form[] = "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"}}}";

/* Asks twice: a form, and then, with what it learned as state, everything else at once. */
static void on_ask(TwCall *call, void *user)
{
    (void)user;
    if (tw_call_answer(call, "who") == NULL) {
        WIRE_CHECK(tw_call_can_ask(call, TW_ASK_FORM));
        tw_call_text(call, "dropped");
        WIRE_CHECK(tw_call_ask_form(call, "who", "Name?", form) == 0);
        WIRE_CHECK(tw_call_ask_form(call, NULL, "Name?", form) == TW_ERROR_ARGUMENT);
        tw_call_set_state(call, "round one");
        return;
    }
    if (tw_call_answer(call, "where") == NULL) {
        WIRE_CHECK(strcmp(tw_call_state(call), "round one") == 0);
        tw_call_set_state(call, "round two");
        tw_call_ask_url(call, "page", "Open it", "https://example.com/");
        tw_call_ask_sample(call, "words", "{\"messages\":[],\"maxTokens\":9}");
        tw_call_ask_roots(call, "where");
        return;
    }
    tw_call_textf(call, "%s %s %s %s %s %s", tw_call_answer_string(call, "who", "name", "none"),
                  tw_call_answer_accepted(call, "who") ? "accepted" : "refused",
                  tw_call_answer_action(call, "page"),
                  tw_call_answer_string(call, "words", "/content/text", "none"),
                  tw_call_answer_string(call, "where", "/roots/0/uri", "none"),
                  tw_call_state(call));
}

/* Fails the n-th allocation that the handler causes. */
static void on_oom(TwCall *call, void *user)
{
    int64_t n = tw_call_int(call, "n", 0);

    (void)user;
    alloc_testing_reset((size_t)n);
    tw_call_string(call, "s", "");
    tw_call_arguments(call);
    tw_call_textf(call, "%0*d", 2000, 7);
    tw_call_image(call, "image/png", "abc", 3);
    tw_call_structured(call, "{\"a\": [1, 2, 3]}");
    if (tw_call_keep(call) == 0) {
        tw_call_done(call);
    }
    tw_call_set_state(call, "s");
    alloc_testing_reset(ALLOC_TESTING_NEVER);
}

/* Says how many allocations the serving thread has made. */
static void on_count(TwCall *call, void *user)
{
    (void)user;
    tw_call_log(call, TW_LOG_ERROR, "counting");
    tw_call_textf(call, "%zu %s %s", alloc_testing()->n_calls, tw_call_arguments(call),
                  tw_call_string(call, "s", ""));
}

static TwServer *new_server(void)
{
    static const struct {
        const char *name;
        TwHandler handler;
    } tools[] = {
        {"read_back", on_read_back},
        {"every_block", on_every_block},
        {"long_text", on_long_text},
        {"fail", on_fail},
        {"error", on_error},
        {"bad_json", on_bad_json},
        {"nothing", on_nothing},
        {"done_early", on_done_early},
        {"talk", on_talk},
        {"ask", on_ask},
        {"oom", on_oom},
        {"count", on_count},
    };
    TwServer *server = tw_server_new("test", "1");

    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
        assert_int_equal(tw_server_add_tool(
                             server, &(TwTool){.name = tools[i].name, .handler = tools[i].handler}),
                         0);
    }
    return server;
}

static int setup(void **state)
{
    Wire *wire = malloc(sizeof(*wire));

    assert_non_null(wire);
    wire_open(wire, new_server());
    *state = wire;
    return 0;
}

static int teardown(void **state)
{
    Wire *wire = *state;

    assert_int_equal(wire_close(wire), 0);
    tw_server_free(wire->server);
    free(wire);
    return 0;
}

/* ---- tests ---- */

static void arguments_are_read_by_name_pointer_and_type(void **state)
{
    Wire *wire = *state;
    const char *arguments = "{\"s\":\"t\\u00e9xt\",\"i\":1e2,\"d\":2.5,\"b\":true,"
                            "\"o\":{\"x/y\":\"deep\"},\"nul\":\"a\\u0000b\",\"a\":[1,2,3]}";
    TwResult *answer;

    wire_initialize(wire);
    wire_call(wire, 1, "read_back", arguments, "");
    answer = wire_next(wire);
    assert_string_equal(wire_text(answer),
                        "0 read_back t\xc3\xa9xt 100 2.50 1 deep 3 {\"x/y\":\"deep\"} 3");
    assert_string_equal(tw_result_string(answer, "/result/content/1/text", ""), arguments);
    assert_false(tw_result_bool(answer, "/result/isError", false));
    tw_result_free(answer);
}

static void missing_arguments_give_the_fallback(void **state)
{
    Wire *wire = *state;
    TwResult *answer;

    wire_initialize(wire);
    wire_send(wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                    "\"name\":\"read_back\"}}");
    answer = wire_next(wire);
    assert_string_equal(wire_text(answer), "0 read_back none -1 -1.00 0 none 0 (null) 0");
    assert_string_equal(tw_result_string(answer, "/result/content/1/text", ""), "{}");
    tw_result_free(answer);
}

static void every_kind_of_block_is_sent(void **state)
{
    Wire *wire = *state;
    TwResult *answer;

    wire_initialize(wire);
    wire_call(wire, 1, "every_block", "{}", "");
    answer = wire_next(wire);
    assert_string_equal(
        tw_result_get(answer, "/result/content"),
        "[{\"type\":\"text\",\"text\":\"one\"},"
        "{\"type\":\"image\",\"data\":\"AQID\",\"mimeType\":\"image/png\"},"
        "{\"type\":\"audio\",\"data\":\"YWJj\",\"mimeType\":\"audio/wav\"},"
        "{\"type\":\"resource_link\",\"uri\":\"file:///a\",\"name\":\"a\"},"
        "{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///b\",\"mimeType\":\"text/plain\","
        "\"text\":\"b\"}},"
        "{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///c\",\"blob\":\"Yw==\"}},"
        "{\"type\":\"text\",\"text\":\"last\"}]");
    assert_string_equal(tw_result_get(answer, "/result/structuredContent"), "{\"n\":1}");
    assert_int_equal(tw_result_int(answer, "/result/_meta/m", 0), 1);
    tw_result_free(answer);
}

static void long_formatted_text_is_whole(void **state)
{
    Wire *wire = *state;
    TwResult *answer;

    wire_initialize(wire);
    wire_call(wire, 1, "long_text", "{}", "");
    answer = wire_next(wire);
    assert_int_equal(strlen(wire_text(answer)), 5000);
    assert_int_equal(wire_text(answer)[4999], '7');
    tw_result_free(answer);
}

static void failures_and_errors_differ(void **state)
{
    Wire *wire = *state;
    TwResult *answer;

    wire_initialize(wire);
    wire_call(wire, 1, "fail", "{}", "");
    answer = wire_next(wire);
    assert_true(tw_result_bool(answer, "/result/isError", false));
    assert_string_equal(tw_result_string(answer, "/result/content/1/text", ""), "no luck today");
    tw_result_free(answer);

    wire_call(wire, 2, "error", "{}", "");
    answer = wire_next(wire);
    assert_true(tw_result_bool(answer, "/result/isError", false));
    assert_string_equal(wire_text(answer), "own \"words\"");
    assert_int_equal(tw_result_count(answer, "/result/content"), 1);
    assert_string_equal(tw_result_get(answer, "/result/structuredContent/error"),
                        "{\"code\":-31000,\"message\":\"own \\\"words\\\"\","
                        "\"data\":{\"why\":[1]}}");
    tw_result_free(answer);
}

static void own_errors_are_errors_of_the_protocol_for_old_clients(void **state)
{
    Wire *wire = *state;
    TwResult *answer =
        wire_ask(wire, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
                       "\"protocolVersion\":\"2024-11-05\",\"capabilities\":{},"
                       "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}");

    tw_result_free(answer);
    wire_call(wire, 2, "error", "{}", "");
    answer = wire_next(wire);
    assert_null(tw_result_get(answer, "/result"));
    assert_int_equal(tw_result_int(answer, "/error/code", 0), -31000);
    assert_string_equal(tw_result_string(answer, "/error/message", ""), "own \"words\"");
    assert_string_equal(tw_result_get(answer, "/error/data"), "{\"why\":[1]}");
    tw_result_free(answer);
}

static void wrong_json_of_a_handler_answers_with_an_error(void **state)
{
    Wire *wire = *state;
    TwResult *answer;

    wire_initialize(wire);
    wire_call(wire, 1, "bad_json", "{}", "");
    answer = wire_next(wire);
    assert_int_equal(tw_result_int(answer, "/id", 0), 1);
    assert_true(tw_result_get(answer, "/error") != NULL ||
                tw_result_bool(answer, "/result/isError", false));
    tw_result_free(answer);
}

static void returning_answers_the_call(void **state)
{
    Wire *wire = *state;
    TwResult *answer;

    wire_initialize(wire);
    wire_call(wire, 1, "nothing", "{}", "");
    answer = wire_next(wire);
    assert_string_equal(tw_result_get(answer, "/result/content"), "[]");
    tw_result_free(answer);
    wire_call(wire, 2, "done_early", "{}", "");
    answer = wire_next(wire);
    assert_string_equal(wire_text(answer), "in time");
    assert_int_equal(tw_result_count(answer, "/result/content"), 1);
    tw_result_free(answer);
}

static void progress_and_log_come_before_the_answer(void **state)
{
    Wire *wire = *state;
    TwResult *message;

    wire_initialize(wire);
    tw_result_free(wire_ask(wire, "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"logging/setLevel\","
                                  "\"params\":{\"level\":\"error\"}}"));
    wire_call(wire, 1, "talk", "{}", ",\"_meta\":{\"progressToken\":\"tok\"}");
    message = wire_next(wire);
    assert_string_equal(tw_result_get(message, "/params"),
                        "{\"progressToken\":\"tok\",\"progress\":1,\"total\":4,"
                        "\"message\":\"begun\"}");
    tw_result_free(message);
    message = wire_next(wire);
    assert_string_equal(tw_result_get(message, "/params"),
                        "{\"progressToken\":\"tok\",\"progress\":2}");
    tw_result_free(message);
    message = wire_next(wire); /* the warning is below the level */
    assert_string_equal(tw_result_string(message, "/method", ""), "notifications/message");
    assert_string_equal(tw_result_string(message, "/params/level", ""), "error");
    assert_string_equal(tw_result_string(message, "/params/logger", ""), "part");
    assert_string_equal(tw_result_get(message, "/params/data"), "{\"a\":1}");
    tw_result_free(message);
    message = wire_next(wire);
    assert_string_equal(wire_text(message), "done");
    tw_result_free(message);
}

/* Answers the question of the server that is in `ask`. */
static void answer_legacy(Wire *wire, TwResult *ask, const char *method, const char *result)
{
    char line[512];

    assert_string_equal(tw_result_string(ask, "/method", ""), method);
    (void)snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}",
                   tw_result_get(ask, "/id"), result);
    tw_result_free(ask);
    wire_send(wire, line);
}

static void questions_reach_a_legacy_client(void **state)
{
    Wire *wire = *state;
    TwResult *message;

    wire_initialize(wire);
    wire_call(wire, 1, "ask", "{}", "");
    message = wire_next(wire);
    assert_string_equal(tw_result_string(message, "/params/message", ""), "Name?");
    assert_string_equal(tw_result_get(message, "/params/requestedSchema"), form);
    answer_legacy(wire, message, "elicitation/create",
                  "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}");
    for (int i = 0; i < 3; i++) {
        const char *method;

        message = wire_next(wire);
        method = tw_result_string(message, "/method", "");
        if (strcmp(method, "elicitation/create") == 0) {
            assert_string_equal(tw_result_string(message, "/params/url", ""),
                                "https://example.com/");
            answer_legacy(wire, message, "elicitation/create", "{\"action\":\"decline\"}");
        } else if (strcmp(method, "roots/list") == 0) {
            answer_legacy(wire, message, "roots/list", "{\"roots\":[{\"uri\":\"file:///r\"}]}");
        } else {
            answer_legacy(wire, message, "sampling/createMessage",
                          "{\"role\":\"assistant\",\"model\":\"m\","
                          "\"content\":{\"type\":\"text\",\"text\":\"hm\"}}");
        }
    }
    message = wire_next(wire);
    assert_int_equal(tw_result_int(message, "/id", 0), 1);
    assert_string_equal(wire_text(message), "Ada accepted decline hm file:///r round two");
    assert_int_equal(tw_result_count(message, "/result/content"), 1);
    tw_result_free(message);
}

/* Repeats the modern call with answers and the state of `last`. */
static TwResult *repeat_modern(Wire *wire, int id, TwResult *last, const char *answers)
{
    char line[8192];

    assert_string_equal(tw_result_string(last, "/result/resultType", ""), "input_required");
    (void)snprintf(line, sizeof(line),
                   "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{"
                   "\"name\":\"ask\",\"arguments\":{},\"inputResponses\":%s,"
                   "\"requestState\":%s," WIRE_MODERN_META "}}",
                   id, answers, tw_result_get(last, "/result/requestState"));
    tw_result_free(last);
    return wire_ask(wire, line);
}

static void questions_reach_a_modern_client(void **state)
{
    Wire *wire = *state;
    TwResult *message;

    message = wire_ask(wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                             "\"name\":\"ask\",\"arguments\":{}," WIRE_MODERN_META "}}");
    assert_string_equal(tw_result_string(message, "/result/inputRequests/who/params/message", ""),
                        "Name?");
    message = repeat_modern(
        wire, 2, message,
        "{\"who\":{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}},\"unknown\":{}}");
    assert_int_equal(tw_result_count(message, "/result/inputRequests"), 3);
    message = repeat_modern(wire, 3, message,
                            "{\"page\":{\"action\":\"cancel\"},\"where\":{\"roots\":[{\"uri\":"
                            "\"file:///r\"}]},\"words\":{\"role\":\"assistant\",\"model\":\"m\","
                            "\"content\":{\"type\":\"text\",\"text\":\"hm\"}}}");
    assert_string_equal(wire_text(message), "Ada accepted cancel hm file:///r round two");
    tw_result_free(message);
}

static void a_client_that_cannot_be_asked_gets_an_error(void **state)
{
    Wire *wire = *state;
    TwResult *message =
        wire_ask(wire, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                       "\"name\":\"read_back\",\"arguments\":{},\"_meta\":{"
                       "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                       "\"io.modelcontextprotocol/clientCapabilities\":{}}}}");

    assert_non_null(tw_result_get(message, "/result"));
    tw_result_free(message);
}

static void every_failed_allocation_still_answers(void **state)
{
    Wire *wire = *state;
    bool succeeded = false;

    wire_initialize(wire);
    for (int n = 0; n < 200 && !succeeded; n++) {
        char arguments[64];
        TwResult *answer;

        (void)snprintf(arguments, sizeof(arguments), "{\"n\":%d,\"s\":\"a\\nb\"}", n);
        wire_call(wire, n + 1, "oom", arguments, "");
        answer = wire_next(wire);
        assert_int_equal(tw_result_int(answer, "/id", 0), n + 1);
        succeeded = tw_result_count(answer, "/result/content") == 2;
        tw_result_free(answer);
    }
    assert_true(succeeded);
}

static void steady_calls_allocate_nothing(void **state)
{
    Wire *wire = *state;
    char *before = NULL;

    wire_initialize(wire);
    for (int i = 0; i < 100; i++) {
        TwResult *message;

        wire_call(wire, i, "count", "{\"s\":\"x\\ny\",\"more\":[1,2,{\"k\":null}]}", "");
        tw_result_free(wire_next(wire));
        message = wire_next(wire);
        assert_true(strlen(wire_text(message)) > 0);
        if (i >= 50) {
            assert_string_equal(wire_text(message), before);
        }
        free(before);
        before = strdup(wire_text(message));
        assert_non_null(before);
        tw_result_free(message);
    }
    free(before);
}

#define CALL_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CALL_TEST(arguments_are_read_by_name_pointer_and_type),
        CALL_TEST(missing_arguments_give_the_fallback),
        CALL_TEST(every_kind_of_block_is_sent),
        CALL_TEST(long_formatted_text_is_whole),
        CALL_TEST(failures_and_errors_differ),
        CALL_TEST(own_errors_are_errors_of_the_protocol_for_old_clients),
        CALL_TEST(wrong_json_of_a_handler_answers_with_an_error),
        CALL_TEST(returning_answers_the_call),
        CALL_TEST(progress_and_log_come_before_the_answer),
        CALL_TEST(questions_reach_a_legacy_client),
        CALL_TEST(questions_reach_a_modern_client),
        CALL_TEST(a_client_that_cannot_be_asked_gets_an_error),
        CALL_TEST(steady_calls_allocate_nothing),
        CALL_TEST(every_failed_allocation_still_answers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
