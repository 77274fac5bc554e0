#include "agent/model_dialect.h"

#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "support/oom_sweep.h"

#include "requests.h"
#include "stream_check.h"

#define EVENT(type, rest) "event: " type "\ndata: {\"type\":\"" type "\"" rest "}\n\n"
#define START                                                                                      \
    EVENT("message_start", ",\"message\":{\"id\":\"m\",\"usage\":{\"input_tokens\":25,"            \
                           "\"output_tokens\":1}}")
#define TEXT_START                                                                                 \
    EVENT("content_block_start", ",\"index\":0,\"content_block\":{\"type\":\"text\","              \
                                 "\"text\":\"\"}")
#define TEXT(text)                                                                                 \
    EVENT("content_block_delta",                                                                   \
          ",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"" text "\"}")
#define TOOL_START(index, id, name)                                                                \
    EVENT("content_block_start",                                                                   \
          ",\"index\":" index ",\"content_block\":{\"type\":\"tool_use\",\"id\":\"" id             \
          "\",\"name\":\"" name "\",\"input\":{}}")
#define INPUT(index, json)                                                                         \
    EVENT("content_block_delta", ",\"index\":" index ",\"delta\":{\"type\":\"input_json_delta\","  \
                                 "\"partial_json\":\"" json "\"}")
#define STOP(index) EVENT("content_block_stop", ",\"index\":" index)
#define PING        EVENT("ping", "")
#define REASON(why)                                                                                \
    EVENT("message_delta", ",\"delta\":{\"stop_reason\":\"" why "\",\"stop_sequence\":null},"      \
                           "\"usage\":{\"output_tokens\":15}")
#define END EVENT("message_stop", "")

static const StreamCase cases[] = {
    {"text", START TEXT_START PING TEXT("Hel") TEXT("lo\\n") STOP("0") REASON("end_turn") END,
     "T(Hel)T(lo\n)END(end)"},
    {"text in the start",
     START EVENT("content_block_start",
                 ",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"a\"}") TEXT("b")
         REASON("end_turn") END,
     "T(a)T(b)END(end)"},
    {"a tool",
     START TEXT_START TEXT("Look.") STOP("0") TOOL_START("1", "toolu_1", "f") INPUT("1", "")
         INPUT("1", "{\\\"a\\\":") INPUT("1", " 1}") STOP("1") REASON("tool_use") END,
     "T(Look.)U(toolu_1 f {\"a\": 1})END(tools)"},
    {"two tools, text between",
     START TOOL_START("0", "t1", "f") STOP("0") TEXT_START TEXT("x") TOOL_START("2", "t2", "g")
         INPUT("2", "{}") STOP("2") REASON("tool_use") END,
     "U(t1 f {})T(x)U(t2 g {})END(tools)"},
    {"input in the start",
     START EVENT("content_block_start", ",\"index\":0,\"content_block\":{\"type\":\"tool_use\","
                                        "\"id\":\"t\",\"name\":\"f\",\"input\":{\"a\":1.0}}")
         STOP("0") REASON("tool_use") END,
     "U(t f {\"a\":1.0})END(tools)"},
    {"input that is no JSON",
     START TOOL_START("0", "t", "f") INPUT("0", "{\\\"a") STOP("0") REASON("max_tokens") END,
     "BAD(t f {\"a)END(tools)"},
    {"no id",
     START EVENT("content_block_start", ",\"index\":0,\"content_block\":{\"type\":\"tool_use\","
                                        "\"name\":\"f\"}") STOP("0") END,
     "U(call_00000000000100000000 f {})END(tools)"},
    {"no block stop", START TOOL_START("0", "t", "f") INPUT("0", "{}") REASON("tool_use") END,
     "U(t f {})END(tools)"},
    {"thoughts and what is new are passed over",
     START EVENT("content_block_start",
                 ",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}")
         EVENT("content_block_delta",
               ",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm\"}")
             EVENT("content_block_delta", ",\"index\":0,\"delta\":{\"type\":\"signature_delta\"}")
                 EVENT("new_thing", "") STOP("0") TEXT_START TEXT("a") REASON("end_turn") END,
     "T(a)END(end)"},
    {"length", START TEXT("a") REASON("max_tokens") END, "T(a)END(length)"},
    {"context", START TEXT("a") REASON("model_context_window_exceeded") END, "T(a)END(length)"},
    {"refusal", START REASON("refusal") END, "END(refused)"},
    {"a reason that is new", START TEXT("a") REASON("stop_sequence") END, "T(a)END(end)"},
    {"no message_stop", START TEXT("a") REASON("end_turn"), "T(a)END(end)"},
    {"no names of events",
     "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\","
     "\"text\":\"a\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n",
     "T(a)END(end)"},
    {"overloaded",
     START EVENT("error", ",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}"),
     "FAILED(overloaded_error: Overloaded)"},
    {"an error behind text",
     START TEXT("a") EVENT("error", ",\"error\":{\"type\":\"api_error\",\"message\":\"x\"}") END,
     "T(a)FAILED(api_error: x)"},
    {"cut", START TEXT("a"), "T(a)FAILED(the answer was cut before its end)"},
    {"cut in a tool", START TOOL_START("0", "t", "f") INPUT("0", "{}"),
     "FAILED(the answer was cut before its end)"},
    {"cut behind a tool", START TOOL_START("0", "t", "f") INPUT("0", "{}") STOP("0"),
     "U(t f {})FAILED(the answer was cut before its end)"},
    {"nothing", "", "FAILED(the answer was cut before its end)"},
    {"kinds that nobody sends",
     EVENT("content_block_start", "") EVENT("content_block_delta", "")
         EVENT("content_block_delta", ",\"delta\":1") EVENT("content_block_stop", ",\"index\":-1")
             EVENT("message_delta", ",\"delta\":{\"stop_reason\":null}")
                 EVENT("message_start", ",\"message\":[]") INPUT("7", "x") END,
     "END(end)"},
};

static const ModelNames no_names = {.n = 0};

static void streams_are_the_same_whole_bytewise_and_at_every_split(void **state)
{
    StreamWay way = {.dialect = &model_anthropic, .names = &no_names};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        stream_check(&way, &cases[i]);
    }
}

static void an_overload_may_pass(void **state)
{
    static const char text[] =
        EVENT("error", ",\"error\":{\"type\":\"overloaded_error\",\"message\":\"x\"}");
    static const char final[] =
        EVENT("error", ",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"x\"}");
    ModelLog log = {.text = NULL};
    ModelStream stream;

    (void)state;
    for (int i = 0; i < 2; i++) {
        const char *s = i == 0 ? text : final;

        model_stream_init(&stream, &model_anthropic, &no_names, true, 1000, 1);
        assert_int_equal(model_stream_feed(&stream, s, strlen(s)), 0);
        assert_int_equal(stream_drain(&stream, &log), MODEL_STREAM_E_OVER);
        assert_int_equal(stream.is_transient, i == 0);
        model_stream_deinit(&stream);
    }
    model_log_deinit(&log);
}

static void tokens_are_counted(void **state)
{
    static const char text[] = START REASON("end_turn") END;
    ModelStream stream;
    ModelEvent event;

    (void)state;
    model_stream_init(&stream, &model_anthropic, &no_names, true, 1000, 1);
    assert_int_equal(model_stream_feed(&stream, text, sizeof(text) - 1), 0);
    assert_int_equal(model_stream_next(&stream, &event), 0);
    assert_int_equal(event.kind, MODEL_END);
    assert_int_equal(event.n_input_tokens, 25);
    assert_int_equal(event.n_output_tokens, 15);
    model_stream_deinit(&stream);
}

static const AgentToolSpec tools[] = {
    {.name = SPAN_INIT("f"), .description = SPAN_INIT("does f"), .schema = SPAN_INIT("{\"a\":1}")},
    {.name = SPAN_INIT("a/b")},
};
static const AgentBlock ask[] = {BLOCK_TEXT("look"), BLOCK_TEXT(" \n")};
static const AgentBlock blank[] = {BLOCK_TEXT("")};
static const AgentBlock picture[] = {
    {.kind = AGENT_BLOCK_IMAGE, .text = SPAN_INIT("QUJD"), .mime = SPAN_INIT("image/png")},
};
static const AgentBlock uses[] = {
    BLOCK_TEXT("well"),
    BLOCK_USE("c:1", "f", "{\"a\":\"\\n\"}"),
    BLOCK_USE("c2", "a/b", "not json"),
};
static const AgentBlock results[] = {
    BLOCK_TEXT("go on"),
    BLOCK_RESULT("c:1", "line\nline", false),
    BLOCK_RESULT("c2", "gone", true),
};
static const AgentMessage conversation[] = {
    MESSAGE_USER(ask),   {.is_assistant = true}, MESSAGE_USER(picture),
    MESSAGE_MODEL(uses), MESSAGE_USER(results),  MESSAGE_MODEL(blank),
};
static const ModelRequest whole = {
    .system = SPAN_INIT("be brief"),
    .messages = conversation,
    .n_messages = TW_ARRAY_SIZE(conversation),
    .tools = tools,
    .n_tools = TW_ARRAY_SIZE(tools),
};

static void a_request_is_written(void **state)
{
    ModelBody body = {.model = SPAN("claude")};
    char wire[MODEL_NAME_MAX];
    Span name = model_name_to_wire(SPAN("a/b"), wire);
    char *text = request_text(&model_anthropic, &whole, &body);
    char expected[2000];

    (void)state;
    (void)snprintf(
        expected, sizeof(expected),
        "{\"model\":\"claude\",\"max_tokens\":4096,\"stream\":true,\"system\":\"be brief\","
        "\"messages\":["
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"look\"},"
        "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\","
        "\"data\":\"QUJD\"}}]},"
        "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"well\"},"
        "{\"type\":\"tool_use\",\"id\":\"c_1\",\"name\":\"f\",\"input\":{\"a\":\"\\n\"}},"
        "{\"type\":\"tool_use\",\"id\":\"c2\",\"name\":\"%.*s\",\"input\":{}}]},"
        "{\"role\":\"user\",\"content\":["
        "{\"type\":\"tool_result\",\"tool_use_id\":\"c_1\",\"content\":\"line\\nline\"},"
        "{\"type\":\"tool_result\",\"tool_use_id\":\"c2\",\"content\":\"gone\",\"is_error\":true},"
        "{\"type\":\"text\",\"text\":\"go on\"}]}],"
        "\"tools\":[{\"name\":\"f\",\"description\":\"does f\",\"input_schema\":{\"a\":1}},"
        "{\"name\":\"%.*s\",\"input_schema\":{\"type\":\"object\",\"properties\":{}}}]}",
        (int)name.n, name.p, (int)name.n, name.p);
    assert_string_equal(text, expected);
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
    char *text = request_text(&model_anthropic, &request, &body);

    (void)state;
    assert_non_null(strstr(text, "\"id\":\"f_0\""));
    assert_non_null(strstr(text, "\"tool_use_id\":\"f_0\""));
    assert_non_null(strstr(text, "\"id\":\"f_0_2\""));
    assert_non_null(strstr(text, "\"tool_use_id\":\"f_0_2\""));
    free(text);
}

static int write_scenario(void *context)
{
    ModelBody body = {.model = SPAN("m")};
    Bytes out;
    int r;

    (void)context;
    bytes_init(&out, LIMIT_MODEL_REQUEST_BYTES);
    r = model_anthropic.write(&out, &whole, &body);
    bytes_deinit(&out);
    return r;
}

static int read_scenario(void *context)
{
    StreamWay way = {.dialect = &model_anthropic, .names = &no_names};
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
        cmocka_unit_test(an_overload_may_pass),
        cmocka_unit_test(tokens_are_counted),
        cmocka_unit_test(a_request_is_written),
        cmocka_unit_test(ids_that_repeat_are_sent_once),
        cmocka_unit_test(no_memory_is_an_error_and_nothing_worse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
