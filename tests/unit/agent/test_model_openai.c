#include "agent/model_dialect.h"

#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "support/oom_sweep.h"

#include "requests.h"
#include "stream_check.h"

#define CHUNK(delta) "data: {\"choices\":[{\"index\":0,\"delta\":{" delta "}}]}\n\n"
#define FINISH(why)                                                                                \
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"" why "\"}]}\n\n"
#define DONE          "data: [DONE]\n\n"
#define CALL(content) CHUNK("\"tool_calls\":[{" content "}]")

static const StreamCase cases[] = {
    {"text",
     CHUNK("\"role\":\"assistant\",\"content\":\"\"") CHUNK("\"content\":\"Hel\"")
         CHUNK("\"content\":\"lo \\u00fc\\n\"") FINISH("stop") DONE,
     "T(Hel)T(lo \xC3\xBC\n)END(end)"},
    {"null everywhere",
     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":null,\"tool_calls\":null,"
     "\"refusal\":null},\"finish_reason\":null}],\"usage\":null,\"error\":null}\n\n" CHUNK(
         "\"content\":\"a\"") FINISH("stop") DONE,
     "T(a)END(end)"},
    {"tool in pieces",
     CALL("\"index\":0,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"f\","
          "\"arguments\":\"\"}") CALL("\"index\":0,\"function\":{\"arguments\":\"{\\\"a\\\":\"}")
         CALL("\"index\":0,\"function\":{\"arguments\":\" 1}\"}") FINISH("tool_calls") DONE,
     "U(c1 f {\"a\": 1})END(tools)"},
    {"two tools, pieces mixed, text before",
     CHUNK("\"content\":\"Look: \"")
         CALL("\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}")
             CALL("\"index\":1,\"id\":\"c2\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}")
                 CALL("\"index\":0,\"function\":{\"arguments\":\"}\"}") FINISH("tool_calls") DONE,
     "T(Look: )U(c1 f {})U(c2 g {})END(tools)"},
    {"ids and names in every piece",
     CALL("\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}")
         CALL("\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"}\"}")
             FINISH("tool_calls") DONE,
     "U(c1 f {})END(tools)"},
    {"index 0 for all, whole arguments, the reason stop",
     CALL("\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}")
         CALL("\"index\":0,\"id\":\"c2\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}")
             FINISH("stop") DONE,
     "U(c1 f {})U(c2 f {})END(tools)"},
    {"no index",
     CALL("\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}")
         CALL("\"function\":{\"arguments\":\"}\"}")
             CALL("\"id\":\"c2\",\"function\":{\"name\":\"g\",\"arguments\":\"{}\"}") FINISH("stop")
                 DONE,
     "U(c1 f {})U(c2 g {})END(tools)"},
    {"no index and no ids",
     CHUNK("\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}},"
           "{\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]") FINISH("stop") DONE,
     "U(call_00000000000100000000 f {})U(call_00000000000100000001 f {})END(tools)"},
    {"an empty id, and arguments that are an object",
     CALL("\"index\":0,\"id\":\"\",\"function\":{\"name\":\"f\",\"arguments\":{\"a\":[1.0]}}")
         FINISH("tool_calls") DONE,
     "U(call_00000000000100000000 f {\"a\":[1.0]})END(tools)"},
    {"no arguments",
     CALL("\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\"}") FINISH("stop") DONE,
     "U(c f {})END(tools)"},
    {"arguments that are no JSON",
     CALL("\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{a\"}")
         FINISH("tool_calls") DONE,
     "BAD(c f {a)END(tools)"},
    {"a call that is cut by its length",
     CALL("\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"a\"}")
         FINISH("length") DONE,
     "BAD(c f {\"a)END(tools)"},
    {"length", CHUNK("\"content\":\"a\"") FINISH("length") DONE, "T(a)END(length)"},
    {"a filter", CHUNK("\"content\":\"a\"") FINISH("content_filter") DONE, "T(a)END(refused)"},
    {"a reason that is new", CHUNK("\"content\":\"a\"") FINISH("eos") DONE, "T(a)END(end)"},
    {"a refusal is text", CHUNK("\"refusal\":\"no\"") FINISH("stop") DONE, "T(no)END(end)"},
    {"no [DONE]", CHUNK("\"content\":\"a\"") FINISH("stop"), "T(a)END(end)"},
    {"no reason", CHUNK("\"content\":\"a\"") DONE, "T(a)END(end)"},
    {"what follows [DONE] is not read", CHUNK("\"content\":\"a\"") DONE CHUNK("\"content\":\"b\""),
     "T(a)END(end)"},
    {"no choices, usage behind the reason",
     "data: {\"choices\":[],\"prompt_filter_results\":[]}\n\n" CHUNK("\"content\":\"a\"")
         FINISH("stop") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,"
                        "\"completion_tokens\":1}}\n\n" DONE,
     "T(a)END(end)"},
    {"comments, CRLF and event names",
     ": OPENROUTER PROCESSING\r\n\r\nevent: x\r\ndata: {\"choices\":[{\"delta\":{\"content\":"
     "\"a\"},\"finish_reason\":\"stop\"}]}\r\n\r\ndata:\r\n\r\ndata: [DONE]\r\n\r\n",
     "T(a)END(end)"},
    {"a second choice is not ours",
     "data: {\"choices\":[{\"index\":1,\"delta\":{\"content\":\"x\"}}]}\n\n" CHUNK(
         "\"content\":\"a\"") DONE,
     "T(a)END(end)"},
    {"thoughts are passed over",
     CHUNK("\"reasoning_content\":\"hm\"") CHUNK("\"content\":\"a\"") FINISH("stop") DONE,
     "T(a)END(end)"},
    {"an error in the stream",
     CHUNK("\"content\":\"a\"") "data: {\"error\":{\"message\":\"out of "
                                "memory\",\"type\":\"server_error\",\"code\":500}}\n\n",
     "T(a)FAILED(server_error: out of memory)"},
    {"an error that is a text", "data: {\"error\":\"model not loaded\"}\n\n",
     "FAILED(model not loaded)"},
    {"cut", CHUNK("\"content\":\"a\"") CHUNK("\"content\":\"b\""),
     "T(a)T(b)FAILED(the answer was cut before its end)"},
    {"cut in an event", CHUNK("\"content\":\"a\"") "data: {\"choi",
     "T(a)FAILED(the answer was cut before its end)"},
    {"cut in a call",
     CALL("\"index\":0,\"id\":\"c1\",\"function\":{\"name\":\"f\",\"arguments\":\"{\"}"),
     "FAILED(the answer was cut before its end)"},
    {"nothing", "", "FAILED(the answer was cut before its end)"},
    {"no JSON", "data: <html>\n\n",
     "FAILED(the answer is not what a model's service sends: <html>)"},
    {"no object", "data: [1]\n\n", "FAILED(the answer is not what a model's service sends: [1])"},
    {"kinds that nobody sends",
     "data: {\"choices\":{}}\n\ndata: {\"choices\":[1,{\"delta\":7}]}\n\ndata: "
     "{\"choices\":[{\"delta\":{\"content\":[],\"tool_calls\":[1,{},{\"function\":1}]}}]}\n\n" DONE,
     "END(end)"},
};

static const ModelNames no_names = {.n = 0};

static void streams_are_the_same_whole_bytewise_and_at_every_split(void **state)
{
    StreamWay way = {.dialect = &model_openai, .names = &no_names};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        stream_check(&way, &cases[i]);
    }
}

static void a_body_that_is_no_stream_is_read(void **state)
{
    static const StreamCase bodies[] = {
        {"message",
         "{\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"hi\","
         "\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\","
         "\"arguments\":\"{}\"}},{\"id\":\"b\",\"type\":\"function\",\"function\":{\"name\":\"g\","
         "\"arguments\":\"{}\"}}]},\"finish_reason\":\"tool_calls\"}]}",
         "T(hi)U(a f {})U(b g {})END(tools)"},
        {"error", "{\"error\":{\"message\":\"no\"}}", "FAILED(no)"},
        {"page", "<html>", "FAILED(the answer is not what a model's service sends: <html>)"},
        {"nothing", "", "FAILED(the answer was cut before its end)"},
    };
    StreamWay way = {.dialect = &model_openai, .names = &no_names, .is_body = true};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(bodies); i++) {
        stream_check(&way, &bodies[i]);
    }
}

static void answers_are_bounded(void **state)
{
    static const StreamCase text = {"text",
                                    CHUNK("\"content\":\"1234\"") CHUNK("\"content\":\"5\""),
                                    "T(1234)FAILED(the answer is larger than 4 bytes)"};
    static const StreamCase call = {
        "call",
        CALL("\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{  }\"}") DONE,
        "FAILED(the answer is larger than 4 bytes)"};
    StreamWay way = {.dialect = &model_openai, .names = &no_names, .max_bytes = 4};

    (void)state;
    stream_check(&way, &text);
    stream_check(&way, &call);
}

static void calls_are_bounded(void **state)
{
    StreamWay way = {.dialect = &model_openai, .names = &no_names};
    ModelLog log = {.text = NULL};
    char *many = calloc(LIMIT_MODEL_TOOLS + 2, 128);
    size_t cuts[2] = {0, 0};

    (void)state;
    assert_non_null(many);
    for (int i = 0; i < LIMIT_MODEL_TOOLS + 1; i++) {
        cuts[1] += (size_t)snprintf(
            many + cuts[1], 128, CALL("\"index\":%d,\"id\":\"%d\",\"function\":{\"name\":\"f\"}"),
            i, i);
    }
    assert_int_equal(stream_read(&way, span_make(many, cuts[1]), cuts, 2, &log), 0);
    model_log_expect(&log, "FAILED(the answer calls more than 128 tools)");
    model_log_deinit(&log);
    free(many);
}

static void an_event_and_an_input_are_bounded(void **state)
{
    static const char head[] = "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,"
                               "\"function\":{\"arguments\":\"";
    StreamWay way = {.dialect = &model_openai, .names = &no_names};
    size_t n = LIMIT_MODEL_EVENT_BYTES + 1000;
    char *big = malloc(n);
    size_t half[] = {0, 700000, 1400000, n - 1, n};
    ModelLog log = {.text = NULL};

    (void)state;
    assert_non_null(big);
    memset(big, 'x', n);
    memcpy(big, head, sizeof(head) - 1);
    assert_int_equal(stream_read(&way, span_make(big, n), half, TW_ARRAY_SIZE(half), &log), 0);
    model_log_expect(&log, "FAILED(the answer has an event that is too large)");
    model_log_deinit(&log);
    memcpy(big + LIMIT_MODEL_TOOL_BYTES + 1000, "\"}}]}}]}\n\n", 10);
    half[2] = LIMIT_MODEL_TOOL_BYTES + 1010;
    assert_int_equal(stream_read(&way, span_make(big, half[2]), half, 3, &log), 0);
    model_log_expect(&log, "FAILED(the answer calls a tool with more than 1048576 bytes)");
    model_log_deinit(&log);
    free(big);
}

static void what_may_pass_is_told_from_what_does_not(void **state)
{
    static const struct {
        const char *stream;
        bool is_transient;
    } kinds[] = {
        {"data: {\"error\":{\"message\":\"x\",\"code\":503}}\n\n", true},
        {"data: {\"error\":{\"message\":\"x\",\"type\":\"overloaded_error\"}}\n\n", true},
        {"data: {\"error\":{\"message\":\"x\",\"code\":400}}\n\n", false},
        {"data: {\"error\":{\"message\":\"x\",\"code\":\"context_length\"}}\n\n", false},
        {"data: {}\n\n", true},
        {"data: x\n\n", false},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(kinds); i++) {
        ModelLog log = {.text = NULL};
        ModelStream stream;

        model_stream_init(&stream, &model_openai, &no_names, true, 1000, 1);
        assert_int_equal(model_stream_feed(&stream, kinds[i].stream, strlen(kinds[i].stream)), 0);
        model_stream_end(&stream);
        assert_int_equal(stream_drain(&stream, &log), MODEL_STREAM_E_OVER);
        assert_int_equal(log.last, 'F');
        assert_int_equal(stream.is_transient, kinds[i].is_transient);
        model_stream_deinit(&stream);
        model_stream_deinit(&stream);
        model_log_deinit(&log);
    }
}

static void tokens_are_counted_if_told(void **state)
{
    static const char text[] =
        FINISH("stop") "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,"
                       "\"completion_tokens\":3}}\n\n" DONE;
    ModelStream stream;
    ModelEvent event;

    (void)state;
    model_stream_init(&stream, &model_openai, &no_names, true, 1000, 1);
    assert_int_equal(model_stream_feed(&stream, text, sizeof(text) - 1), 0);
    assert_int_equal(model_stream_next(&stream, &event), 0);
    assert_int_equal(event.kind, MODEL_END);
    assert_int_equal(event.n_input_tokens, 7);
    assert_int_equal(event.n_output_tokens, 3);
    model_stream_deinit(&stream);
}

static const AgentToolSpec tools[] = {
    {.name = SPAN_INIT("f"), .description = SPAN_INIT("does \"f\""), .schema = SPAN_INIT("{}")},
    {.name = SPAN_INIT("a.b")},
};

static void names_are_mapped_there_and_back(void **state)
{
    StreamWay way = {.dialect = &model_openai};
    StreamCase c = {.name = "names", .expected = "U(c a.b {})END(tools)"};
    char stream[400];
    char wire[MODEL_NAME_MAX];
    ModelNames names;
    Span name = model_name_to_wire(SPAN("a.b"), wire);

    (void)state;
    assert_int_equal(model_names_init(&names, tools, TW_ARRAY_SIZE(tools)), 0);
    (void)snprintf(stream, sizeof(stream),
                   CALL("\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"%.*s\"}") DONE,
                   (int)name.n, name.p);
    way.names = &names;
    c.stream = stream;
    stream_check(&way, &c);
    model_names_deinit(&names);
}

static const AgentBlock ask[] = {
    BLOCK_TEXT("look"),
    BLOCK_TEXT("again"),
};
static const AgentBlock picture[] = {
    BLOCK_TEXT("this"),
    {.kind = AGENT_BLOCK_IMAGE, .text = SPAN_INIT("QUJD"), .mime = SPAN_INIT("image/png")},
    BLOCK_TEXT(" "),
};
static const AgentBlock uses[] = {
    BLOCK_TEXT("well"),
    BLOCK_USE("c1", "f", "{\"a\":\"\\n\"}"),
    BLOCK_USE("c2", "a.b", ""),
};
static const AgentBlock results[] = {
    BLOCK_RESULT("c1", "line\nline", false),
    BLOCK_TEXT("go on"),
    BLOCK_RESULT("c2", "gone", true),
};
static const AgentMessage conversation[] = {
    MESSAGE_USER(ask),     MESSAGE_USER(picture),  MESSAGE_MODEL(uses),
    MESSAGE_USER(results), {.is_assistant = true}, {.is_assistant = false},
};
static const ModelRequest whole = {
    .system = SPAN_INIT("be brief"),
    .messages = conversation,
    .n_messages = TW_ARRAY_SIZE(conversation),
    .tools = tools,
    .n_tools = TW_ARRAY_SIZE(tools),
    .max_tokens = 9,
};

static void a_request_is_written(void **state)
{
    ModelBody body = {.model = SPAN("m\"1")};
    char *text = request_text(&model_openai, &whole, &body);

    (void)state;
    assert_string_equal(
        text, "{\"model\":\"m\\\"1\",\"stream\":true,\"max_tokens\":9,\"messages\":["
              "{\"role\":\"system\",\"content\":\"be brief\"},"
              "{\"role\":\"user\",\"content\":\"look\\n\\nagain\"},"
              "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"this\"},"
              "{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,QUJD\"}}]},"
              "{\"role\":\"assistant\",\"content\":\"well\",\"tool_calls\":["
              "{\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":"
              "\"{\\\"a\\\":\\\"\\\\n\\\"}\"}},"
              "{\"id\":\"c2\",\"type\":\"function\",\"function\":{\"name\":\"a_b_0c547f38\","
              "\"arguments\":\"{}\"}}]},"
              "{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"line\\nline\"},"
              "{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"error: gone\"},"
              "{\"role\":\"user\",\"content\":\"go on\"}],"
              "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"description\":"
              "\"does \\\"f\\\"\",\"parameters\":{}}},"
              "{\"type\":\"function\",\"function\":{\"name\":\"a_b_0c547f38\",\"parameters\":"
              "{\"type\":\"object\",\"properties\":{}}}}]}");
    free(text);
}

/* A service that names every call alike, in a conversation that goes on with another. */
static void ids_that_repeat_are_sent_once(void **state)
{
    static const AgentBlock call[] = {BLOCK_USE("f:0", "f", "{}")};
    static const AgentBlock result[] = {BLOCK_RESULT("f:0", "r", false)};
    static const AgentMessage messages[] = {MESSAGE_MODEL(call), MESSAGE_USER(result),
                                            MESSAGE_MODEL(call), MESSAGE_USER(result)};
    ModelRequest request = {.messages = messages, .n_messages = TW_ARRAY_SIZE(messages)};
    ModelBody body = {.model = SPAN("m")};
    char *text = request_text(&model_openai, &request, &body);

    (void)state;
    assert_non_null(strstr(text, "\"id\":\"f:0\""));
    assert_non_null(strstr(text, "\"tool_call_id\":\"f:0\""));
    assert_non_null(strstr(text, "\"id\":\"f:0_2\""));
    assert_non_null(strstr(text, "\"tool_call_id\":\"f:0_2\""));
    free(text);
}

static void the_dialects_own_service_is_told_the_new_name(void **state)
{
    ModelBody body = {.model = SPAN("m"), .is_first_party = true};
    OneMessage one;
    char *text = request_text(&model_openai, one_message(&one, "hi"), &body);

    (void)state;
    assert_string_equal(text, "{\"model\":\"m\",\"stream\":true,\"max_completion_tokens\":4096,"
                              "\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}]}");
    free(text);
}

static void a_request_that_is_too_large_is_refused(void **state)
{
    ModelBody body = {.model = SPAN("m")};
    Bytes out;

    (void)state;
    bytes_init(&out, 100);
    assert_int_equal(model_openai.write(&out, &whole, &body), BYTES_E_FULL);
    assert_int_equal(out.n, 0);
    bytes_deinit(&out);
}

static int write_scenario(void *context)
{
    ModelBody body = {.model = SPAN("m")};
    Bytes out;
    int r;

    (void)context;
    bytes_init(&out, LIMIT_MODEL_REQUEST_BYTES);
    r = model_openai.write(&out, &whole, &body);
    bytes_deinit(&out);
    return r;
}

static int read_scenario(void *context)
{
    StreamWay way = {.dialect = &model_openai, .names = &no_names};
    Span input = span_from_str(cases[3].stream);
    size_t cuts[] = {0, input.n / 3, input.n / 2, input.n};
    ModelLog log = {.text = NULL};
    int r = stream_read(&way, input, cuts, TW_ARRAY_SIZE(cuts), &log);

    (void)context;
    model_log_deinit(&log);
    return r;
}

static void no_memory_is_an_error_and_nothing_worse(void **state)
{
    (void)state;
    test_oom_sweep(write_scenario, NULL);
    test_oom_sweep(read_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_the_same_whole_bytewise_and_at_every_split),
        cmocka_unit_test(a_body_that_is_no_stream_is_read),
        cmocka_unit_test(answers_are_bounded),
        cmocka_unit_test(calls_are_bounded),
        cmocka_unit_test(an_event_and_an_input_are_bounded),
        cmocka_unit_test(what_may_pass_is_told_from_what_does_not),
        cmocka_unit_test(tokens_are_counted_if_told),
        cmocka_unit_test(names_are_mapped_there_and_back),
        cmocka_unit_test(a_request_is_written),
        cmocka_unit_test(ids_that_repeat_are_sent_once),
        cmocka_unit_test(the_dialects_own_service_is_told_the_new_name),
        cmocka_unit_test(a_request_that_is_too_large_is_refused),
        cmocka_unit_test(no_memory_is_an_error_and_nothing_worse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
