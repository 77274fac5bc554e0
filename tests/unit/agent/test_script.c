#include "agent/script.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/oom_sweep.h"

#include "requests.h"

static const AgentToolSpec tools[] = {
    {.name = SPAN_INIT("read_file"), .description = SPAN_INIT("Reads a file")},
    {.name = SPAN_INIT("x.y")},
};

/* The steps of an answer as one text. */
static void answer_text(const AgentScript *script, const ModelRequest *request, char *out,
                        size_t size)
{
    static const char *const stops[] = {"end", "tools", "length", "refused"};
    const AgentScriptStep *steps = NULL;
    size_t n = 0;
    size_t at = 0;
    Arena arena;

    arena_init(&arena, (size_t)1 << 20);
    assert_int_equal(agent_script_answer(script, &arena, request, &steps, &n), 0);
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        const AgentScriptStep *step = &steps[i];
        int length = 0;

        switch (step->kind) {
        case AGENT_SCRIPT_TEXT:
            length = snprintf(out + at, size - at, "T(%.*s)x%u/%d", (int)step->text.n, step->text.p,
                              (unsigned)step->times, (int)step->pause_ms);
            break;
        case AGENT_SCRIPT_TOOL:
            length = snprintf(out + at, size - at, "U(%.*s %.*s)", (int)step->text.n, step->text.p,
                              (int)step->input.n, step->input.p);
            break;
        case AGENT_SCRIPT_WAIT:
            length = snprintf(out + at, size - at, "W(%d)", (int)step->pause_ms);
            break;
        case AGENT_SCRIPT_FAIL:
            length = snprintf(out + at, size - at, "F(%.*s)", (int)step->text.n, step->text.p);
            break;
        case AGENT_SCRIPT_END:
            length = snprintf(out + at, size - at, "E(%s)", stops[step->stop]);
            break;
        default:
            fail_msg("a step of kind %d in an answer", (int)step->kind);
        }
        at += (size_t)length;
        assert_true(at < size);
    }
    arena_deinit(&arena);
}

static void expect_command(const char *message, const char *expected)
{
    OneMessage one;
    char text[2000];

    (void)one_message(&one, message);
    one.request.tools = tools;
    one.request.n_tools = TW_ARRAY_SIZE(tools);
    answer_text(NULL, &one.request, text, sizeof(text));
    assert_string_equal(text, expected);
}

static void commands_are_answered(void **state)
{
    (void)state;
    expect_command("/echo one  two", "T(one  two)x1/0E(end)");
    expect_command("  /echo\thi\n", "T(hi)x1/0E(end)");
    expect_command("/echo", "T()x1/0E(end)");
    expect_command("/tools", "T(2 tools:\nread_file: Reads a file\nx.y)x1/0E(end)");
    expect_command("/call read_file {\"path\": \"a\"}", "U(read_file {\"path\": \"a\"})E(tools)");
    expect_command("/call x.y", "U(x.y )E(tools)");
    expect_command("/call x.y {not json", "U(x.y {not json)E(tools)");
    expect_command("/call", "T(/call TOOL {json}: which tool?)x1/0E(end)");
    expect_command("/slow 20 a b", "T(a b)x1/20E(end)");
    expect_command("/slow x", "T(/slow MS TEXT: MS are milliseconds between words, 10000 at most)"
                              "x1/0E(end)");
    expect_command("/fail it broke", "F(it broke)");
    expect_command("/fail", "F(the script was told to fail)");
}

static void anything_else_is_told_what_this_is(void **state)
{
    static const char *const messages[] = {"hello", "", "/toolsx", "echo x", "/"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(messages); i++) {
        OneMessage one;
        char text[2000];

        answer_text(NULL, one_message(&one, messages[i]), text, sizeof(text));
        assert_non_null(strstr(text, "built-in script model, not a language model"));
        assert_non_null(strstr(text, "/call TOOL {json}"));
    }
}

static void a_request_without_messages_is_answered(void **state)
{
    ModelRequest nothing = {.n_messages = 0};
    char text[2000];

    (void)state;
    answer_text(NULL, &nothing, text, sizeof(text));
    assert_non_null(strstr(text, "built-in script model"));
}

static void results_of_a_call_are_said(void **state)
{
    static const AgentBlock ask[] = {BLOCK_TEXT("/call a {}")};
    static const AgentBlock use[] = {BLOCK_USE("1", "a", "{}")};
    static const AgentBlock results[] = {BLOCK_RESULT("1", "fine", false),
                                         BLOCK_RESULT("2", "broken", true)};
    static const AgentMessage messages[] = {MESSAGE_USER(ask), MESSAGE_MODEL(use),
                                            MESSAGE_USER(results)};
    ModelRequest request = {.messages = messages, .n_messages = TW_ARRAY_SIZE(messages)};
    char text[200];

    (void)state;
    answer_text(NULL, &request, text, sizeof(text));
    assert_string_equal(text, "T(fine\nerror: broken)x1/0E(end)");
}

static void the_command_is_found_beside_attachments(void **state)
{
    static const AgentBlock blocks[] = {BLOCK_TEXT("File a.txt:\nx"), BLOCK_TEXT("/echo hi")};
    static const AgentMessage messages[] = {MESSAGE_USER(blocks)};
    ModelRequest request = {.messages = messages, .n_messages = 1};
    char text[200];

    (void)state;
    answer_text(NULL, &request, text, sizeof(text));
    assert_string_equal(text, "T(hi)x1/0E(end)");
}

static const char script_text[] = "# rounds\n"
                                  "{\"user\":\"rounds\"}\n"
                                  "{\"text\":\"first \"}\n"
                                  "{\"tool\":\"a\",\"input\":{\"n\":1}}\n"
                                  "{\"tool\":\"b\"}\n"
                                  "\r\n"
                                  "{\"result\":true,\"pause_ms\":5}\n"
                                  "{\"tool\":\"c\",\"input\":\"{bad\"}\r\n"
                                  "{\"text\":\"last\",\"times\":3}\n"
                                  "{\"end\":\"length\"}\n"
                                  "{\"text\":\"never\"}\n"
                                  "{\"user\":\"for ever\"}\n"
                                  "{\"tool\":\"a\",\"again\":true}\n"
                                  "{\"user\":\"\"}\n"
                                  "{\"wait_ms\":7}\n"
                                  "{\"message\":true}\n"
                                  "{\"fail\":\"no \\u00fc\"}";

static const AgentBlock rounds_ask[] = {BLOCK_TEXT("three rounds please")};
static const AgentBlock forever_ask[] = {BLOCK_TEXT("for ever")};
static const AgentBlock other_ask[] = {BLOCK_TEXT("other")};
static const AgentBlock a_use[] = {BLOCK_USE("1", "a", "{}")};
static const AgentBlock a_result[] = {BLOCK_RESULT("1", "got", false)};

static void expect_round(const AgentScript *script, const AgentBlock *ask, size_t n_rounds,
                         const char *expected)
{
    AgentMessage messages[32] = {
        MESSAGE_USER(rounds_ask), MESSAGE_MODEL(a_use), {.blocks = ask, .n_blocks = 1}};
    ModelRequest request = {.messages = messages, .n_messages = 3};
    char text[400];

    for (size_t i = 0; i < n_rounds; i++) {
        messages[request.n_messages++] = (AgentMessage)MESSAGE_MODEL(a_use);
        messages[request.n_messages++] = (AgentMessage)MESSAGE_USER(a_result);
    }
    answer_text(script, &request, text, sizeof(text));
    assert_string_equal(text, expected);
}

static void a_script_is_followed_round_by_round(void **state)
{
    AgentScript script;

    (void)state;
    assert_int_equal(agent_script_init(&script, SPAN(script_text), NULL), 0);
    expect_round(&script, rounds_ask, 0, "T(first )x1/0U(a {\"n\":1})U(b )E(tools)");
    expect_round(&script, rounds_ask, 1, "T(got)x1/5U(c {bad)E(tools)");
    expect_round(&script, rounds_ask, 2, "T(last)x3/0E(length)");
    expect_round(&script, forever_ask, 0, "U(a )E(tools)");
    expect_round(&script, forever_ask, 12, "U(a )E(tools)");
    expect_round(&script, other_ask, 0, "W(7)T(other)x1/0F(no \xC3\xBC)");
    agent_script_deinit(&script);
    agent_script_deinit(&script);
}

static void a_script_without_messages_answers_all(void **state)
{
    AgentScript script;
    OneMessage one;
    char text[200];

    (void)state;
    assert_int_equal(agent_script_init(&script, SPAN("{\"text\":\"always\"}"), NULL), 0);
    answer_text(&script, one_message(&one, "x"), text, sizeof(text));
    assert_string_equal(text, "T(always)x1/0E(end)");
    agent_script_deinit(&script);
    assert_int_equal(agent_script_init(&script, SPAN("{\"user\":\"y\"}\n{\"text\":\"a\"}"), NULL),
                     0);
    answer_text(&script, one_message(&one, "x"), text, sizeof(text));
    assert_string_equal(text, "T(The script has no answer to this.)x1/0E(end)");
    agent_script_deinit(&script);
}

typedef struct BadScript {
    const char *text;
    const char *message;
} BadScript;

static void a_wrong_line_is_named(void **state)
{
    static const BadScript bad[] = {
        {"{\"text\":\"a\"}\n{\"text\":", "line 2: "},
        {"[]", "line 1: must be an object"},
        {"{}", "line 1: has none of user, text"},
        {"\n\n{\"txt\":\"a\"}", "line 3: txt: is not known"},
        {"{\"text\":1}", "line 1: text: must be a string"},
        {"{\"text\":\"a\",\"tool\":\"b\"}", "line 1: tool: a line is one step"},
        {"{\"text\":\"a\",\"again\":true}", "line 1: says what does not belong"},
        {"{\"tool\":\"a\",\"times\":2}", "line 1: says what does not belong"},
        {"{\"text\":\"a\",\"times\":-1}", "line 1: times: must be a whole number"},
        {"{\"text\":\"a\",\"times\":1000001}", "line 1: times: must be a whole number"},
        {"{\"tool\":\"a\",\"again\":1}", "line 1: again: must be true or false"},
        {"{\"wait_ms\":\"1\"}", "line 1: wait_ms: must be a whole number"},
        {"{\"message\":false}", "line 1: message: must be true"},
        {"{\"end\":\"now\"}", "line 1: end: must be end, tools, length or refused"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(bad); i++) {
        AgentScript script;
        Diag diag = DIAG_NULL;

        assert_int_equal(agent_script_init(&script, span_from_str(bad[i].text), &diag),
                         AGENT_SCRIPT_E_MALFORMED);
        if (strncmp(diag.message, bad[i].message, strlen(bad[i].message)) != 0) {
            fail_msg("'%s' instead of '%s'", diag.message, bad[i].message);
        }
        assert_true(diag.line > 0);
        agent_script_deinit(&script);
    }
}

static void words_keep_every_byte(void **state)
{
    Span text = SPAN("  one two\n\n\tthr\xC3\xBC"
                     "e  ");
    static const char *const expected[] = {"  one ", "two\n\n\t",
                                           "thr\xC3\xBC"
                                           "e  "};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(expected); i++) {
        Span word = agent_script_word(text);

        assert_true(span_equals(word, span_from_str(expected[i])));
        text = span_make(text.p + word.n, text.n - word.n);
    }
    assert_int_equal(text.n, 0);
    assert_int_equal(agent_script_word(text).n, 0);
}

static int answer_scenario(void *context)
{
    const AgentScriptStep *steps;
    AgentScript script;
    OneMessage one;
    size_t n;
    Arena arena;
    int r = agent_script_init(&script, SPAN(script_text), NULL);

    (void)context;
    arena_init(&arena, (size_t)1 << 20);
    if (r == 0) {
        r = agent_script_answer(&script, &arena, one_message(&one, "other"), &steps, &n);
    }
    if (r == 0) {
        r = agent_script_answer(NULL, &arena, one_message(&one, "/call a {}"), &steps, &n);
    }
    if (r == 0) {
        one.request.tools = tools;
        one.request.n_tools = TW_ARRAY_SIZE(tools);
        r = agent_script_answer(NULL, &arena, one_message(&one, "/tools"), &steps, &n);
    }
    arena_deinit(&arena);
    agent_script_deinit(&script);
    return r;
}

static void no_memory_is_an_error_and_nothing_worse(void **state)
{
    (void)state;
    test_oom_sweep(answer_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_are_answered),
        cmocka_unit_test(anything_else_is_told_what_this_is),
        cmocka_unit_test(a_request_without_messages_is_answered),
        cmocka_unit_test(results_of_a_call_are_said),
        cmocka_unit_test(the_command_is_found_beside_attachments),
        cmocka_unit_test(a_script_is_followed_round_by_round),
        cmocka_unit_test(a_script_without_messages_answers_all),
        cmocka_unit_test(a_wrong_line_is_named),
        cmocka_unit_test(words_keep_every_byte),
        cmocka_unit_test(no_memory_is_an_error_and_nothing_worse),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
