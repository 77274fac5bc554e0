/* Both clients against the fake service, over real HTTP. */
#include "agent/model.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

#include "fake_model.h"
#include "model_log.h"
#include "requests.h"

/* No test comes near this; one that does hangs. */
#define GUARD_MS 60000

static FakeModel fake;

typedef struct Fixture {
    IoLoop *loop;
    IoTimer *guard;
    Model *model;
    long n_live;
    char environment[3][128];
    const char *entries[4];
} Fixture;

static const char *const names[] = {"openai:m-1", "anthropic:m-1"};

static void on_guard(void *context)
{
    (void)context;
    fail_msg("nothing happens any more");
}

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    f->n_live = alloc_testing()->n_live;
    assert_int_equal(io_loop_new(&f->loop), 0);
    assert_int_equal(io_timer_new(&f->guard, f->loop, true, on_guard, NULL), 0);
    io_timer_start_at(f->guard, io_loop_now_ms(f->loop) + GUARD_MS);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;

    f->model = model_free(f->model);
    f->guard = io_timer_free(f->guard);
    f->loop = io_loop_free(f->loop);
    assert_int_equal(alloc_testing()->n_live, f->n_live);
    free(f);
    return 0;
}

/* Keys and addresses as people set them. */
static void set_environment(Fixture *f, const char *key, unsigned port)
{
    (void)snprintf(f->environment[0], sizeof(f->environment[0]),
                   "OPENAI_BASE_URL="
                   "http://127.0.0.1:%u/v1/",
                   port);
    (void)snprintf(f->environment[1], sizeof(f->environment[1]),
                   "ANTHROPIC_BASE_URL=http://127.0.0.1:%u", port);
    f->entries[0] = f->environment[0];
    f->entries[1] = f->environment[1];
    f->entries[2] = NULL;
    if (key != NULL) {
        (void)snprintf(f->environment[2], sizeof(f->environment[2]), "%s", key);
        f->entries[2] = f->environment[2];
        f->entries[3] = NULL;
    }
}

static void open_model(Fixture *f, ModelConfig config)
{
    Diag diag = DIAG_NULL;
    int r;

    f->model = model_free(f->model);
    config.loop = f->loop;
    config.environment = f->entries;
    config.backoff_ms = config.backoff_ms != 0 ? config.backoff_ms : 1;
    r = model_open(&f->model, &config, &diag);
    if (r != 0) {
        fail_msg("%d: %s", r, diag.message);
    }
}

static void start(Fixture *f, ModelLog *log, const ModelRequest *request)
{
    ModelSink sink = model_log_sink(log);

    assert_int_equal(model_start(f->model, request, &sink, &log->run), 0);
}

static void say(Fixture *f, ModelLog *log, const char *message)
{
    OneMessage one;

    start(f, log, one_message(&one, message));
}

/* The loop runs until nothing is under way. */
static void run(Fixture *f)
{
    assert_int_equal(io_loop_run(f->loop), 0);
}

static void expect(Fixture *f, const char *message, const char *expected)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        ModelLog log = {.joined = true};

        set_environment(f, NULL, fake.port);
        open_model(f, (ModelConfig){.name = names[i]});
        say(f, &log, message);
        model_log_expect(&log, "");
        run(f);
        if (strcmp(log.text, expected) != 0) {
            fail_msg("%s, %s:\n%s\ninstead of\n%s", names[i], message, log.text, expected);
        }
        model_log_deinit(&log);
    }
}

static void text_and_tools_come(void **state)
{
    expect(*state, "say one two", "T(one two)END(end)");
    expect(*state,
           "odd say gr\xC3\xBC\xC3\x9F"
           "e \xE2\x82\xAC \xF0\x9F\x98\x80",
           "T(gr\xC3\xBC\xC3\x9F"
           "e \xE2\x82\xAC \xF0\x9F\x98\x80)END(end)");
    expect(*state, "call f {\"a\": 1}", "T(Calling. )U(f {\"a\": 1})END(tools)");
    expect(*state, "odd calls f 2", "U(f {\"n\": 0})U(f {\"n\": 1})END(tools)");
    expect(*state, "bare ollama calls f 1", "U(f {\"n\": 0})END(tools)");
    expect(*state, "ollama calls f 3", "U(f {\"n\": 0})U(f {\"n\": 1})U(f {\"n\": 2})END(tools)");
    expect(*state, "bad f", "BAD(f {\"path\": \"a)END(tools)");
    expect(*state, "nodone say a", "T(a)END(end)");
    expect(*state, "length", "T(and so)END(length)");
}

static void tokens_are_told_as_they_were_sent(void **state)
{
    Fixture *f = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        ModelLog log = {.text = NULL};

        set_environment(f, NULL, fake.port);
        open_model(f, (ModelConfig){.name = names[i]});
        say(f, &log, "tokens 200");
        run(f);
        assert_int_equal(log.n_texts, 200);
        assert_non_null(strstr(log.text, "T(t0 )T(t1 )T(t2 )"));
        assert_non_null(strstr(log.text, "T(t198 )T(t199 )END(end)"));
        model_log_deinit(&log);
    }
}

static void a_whole_conversation_is_understood(void **state)
{
    static const AgentToolSpec tools[] = {
        {.name = SPAN_INIT("read_file"), .schema = SPAN_INIT("{\"type\":\"object\"}")},
        {.name = SPAN_INIT("x.y/z")},
    };
    static const AgentBlock ask[] = {
        BLOCK_TEXT("call x {}"),
        {.kind = AGENT_BLOCK_IMAGE, .text = SPAN_INIT("QUJD"), .mime = SPAN_INIT("image/png")}};
    static const AgentBlock use[] = {BLOCK_TEXT("well"), BLOCK_USE("id.1", "x.y/z", "{}"),
                                     BLOCK_USE("id2", "read_file", "{bad")};
    static const AgentBlock results[] = {BLOCK_RESULT("id.1", "first", false),
                                         BLOCK_RESULT("id2", "second", true)};
    static const AgentMessage messages[] = {MESSAGE_USER(ask), MESSAGE_MODEL(use),
                                            MESSAGE_USER(results)};
    static const AgentBlock describe[] = {BLOCK_TEXT("describe")};
    static const AgentMessage asked[] = {MESSAGE_USER(ask), MESSAGE_MODEL(use),
                                         MESSAGE_USER(results), MESSAGE_USER(describe)};
    ModelRequest request = {.system = SPAN("be brief"),
                            .messages = messages,
                            .n_messages = TW_ARRAY_SIZE(messages),
                            .tools = tools,
                            .n_tools = TW_ARRAY_SIZE(tools),
                            .max_tokens = 77};
    Fixture *f = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        ModelLog log = {.joined = true};

        set_environment(f, NULL, fake.port);
        open_model(f, (ModelConfig){.name = names[i]});
        request.messages = messages;
        request.n_messages = TW_ARRAY_SIZE(messages);
        start(f, &log, &request);
        run(f);
        model_log_expect(&log, "T(result: first | error: second)END(end)");
        model_log_deinit(&log);
        log.joined = true;
        request.messages = asked;
        request.n_messages = TW_ARRAY_SIZE(asked);
        start(f, &log, &request);
        run(f);
        assert_non_null(strstr(log.text, "\"model\":\"m-1\""));
        assert_non_null(strstr(log.text, "\"max\":77"));
        assert_non_null(strstr(log.text, "\"system\":\"be brief\""));
        assert_non_null(strstr(log.text, "\"images\":[\"data:image/png;base64,QUJD\"]"));
        assert_non_null(strstr(log.text, "\"tools\":[\"read_file\",\"x_y_z_"));
        assert_non_null(strstr(log.text, i == 0
                                             ? "\"roles\":\"system user assistant tool tool user\""
                                             : "\"roles\":\"user assistant user\""));
        model_log_deinit(&log);
    }
}

static void our_names_come_back(void **state)
{
    static const AgentToolSpec tools[] = {{.name = SPAN_INIT("x.y/z")}};
    Fixture *f = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        ModelLog log = {.joined = true};
        OneMessage one;
        char wire[80];
        char *name;

        set_environment(f, NULL, fake.port);
        open_model(f, (ModelConfig){.name = names[i]});
        (void)one_message(&one, "describe");
        one.request.tools = tools;
        one.request.n_tools = 1;
        start(f, &log, &one.request);
        run(f);
        name = strstr(log.text, "x_y_z_");
        assert_non_null(name);
        (void)snprintf(wire, sizeof(wire), "call %.14s {}", name);
        model_log_deinit(&log);
        log.joined = true;
        (void)one_message(&one, wire);
        one.request.tools = tools;
        one.request.n_tools = 1;
        start(f, &log, &one.request);
        run(f);
        model_log_expect(&log, "T(Calling. )U(x.y/z {})END(tools)");
        model_log_deinit(&log);
    }
}

/* The counters of the fake are by text: each test and model has its own. */
static void expect_fails(Fixture *f, size_t i, const char *message, const char *expected)
{
    ModelLog log = {.joined = true};

    set_environment(f, NULL, fake.port);
    open_model(f, (ModelConfig){.name = names[i]});
    say(f, &log, message);
    run(f);
    if (strncmp(log.text, expected, strlen(expected)) != 0) {
        fail_msg("%s:\n%s\ninstead of\n%s", message, log.text, expected);
    }
    model_log_deinit(&log);
}

static void what_may_pass_is_tried_again_before_the_first_token(void **state)
{
    expect_fails(*state, 0, "fail 429 1 0 a", "RETRY(0)T(ok)END(end)");
    expect_fails(*state, 0, "fail 500 3 b", "RETRY(1)RETRY(2)RETRY(4)T(ok)END(end)");
    expect_fails(*state, 1, "fail 529 2 c", "RETRY(1)RETRY(2)T(ok)END(end)");
    expect_fails(*state, 1, "flaky 1 d", "RETRY(1)T(ok)END(end)");
    expect_fails(*state, 0, "flaky 2 e", "RETRY(1)RETRY(2)T(ok)END(end)");
    expect_fails(*state, 0, "fail 503 9 f",
                 "RETRY(1)RETRY(2)RETRY(4)FAILED(openai:m-1 at http://127.0.0.1:");
    expect_fails(*state, 0, "cut 0", "RETRY(1)RETRY(2)RETRY(4)FAILED(openai:m-1 at http");
}

static void words_say_who_failed_how_and_how_often(void **state)
{
    Fixture *f = *state;
    ModelLog log = {.text = NULL};

    set_environment(f, NULL, fake.port);
    open_model(f, (ModelConfig){.name = "openai:m-1", .n_attempts = 2});
    say(f, &log, "fail 500 9 g");
    run(f);
    assert_non_null(
        strstr(log.text, "HTTP 500: fake_error: status 500 was asked for (2 attempts))"));
    model_log_deinit(&log);
}

static void what_does_not_pass_fails_at_once(void **state)
{
    Fixture *f = *state;
    ModelLog log = {.text = NULL};

    expect_fails(f, 0, "fail 400 1 h", "FAILED(");
    expect_fails(f, 1, "fail 404 1 i", "FAILED(");
    expect_fails(f, 0, "page", "FAILED(");
    set_environment(f, NULL, fake.port);
    open_model(f, (ModelConfig){.name = "openai:m-1"});
    say(f, &log, "fail 429 1 3600 j");
    run(f);
    assert_non_null(strstr(log.text, "(it asks to wait 3600 s)"));
    assert_null(strstr(log.text, "RETRY"));
    model_log_deinit(&log);
}

static void once_something_was_told_there_is_no_other_attempt(void **state)
{
    expect_fails(*state, 0, "cut 3", "T(t0 t1 t2 )FAILED(openai:m-1 at http");
    expect_fails(*state, 1, "cut 3", "T(t0 t1 t2 )FAILED(anthropic:m-1 at http");
    expect_fails(*state, 0, "broken 2", "T(t0 t1 )FAILED(openai:m-1 at http");
    expect_fails(*state, 1, "odd broken 2", "T(t0 t1 )FAILED(anthropic:m-1 at http");
}

static void a_model_that_falls_silent_fails(void **state)
{
    Fixture *f = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        ModelLog log = {.joined = true};

        set_environment(f, NULL, fake.port);
        open_model(f, (ModelConfig){.name = names[i], .stall_ms = 100});
        say(f, &log, "stall 2");
        run(f);
        assert_non_null(strstr(log.text, "T(t0 t1 )FAILED("));
        assert_non_null(strstr(log.text, "no word came for 100 ms"));
        model_log_deinit(&log);
    }
}

static void an_answer_that_never_ends_is_cut(void **state)
{
    Fixture *f = *state;
    ModelLog log = {.joined = true};

    set_environment(f, NULL, fake.port);
    open_model(f, (ModelConfig){.name = "openai:m-1", .max_answer_bytes = 1000});
    say(f, &log, "tokens 100000");
    run(f);
    assert_non_null(strstr(log.text, "the answer is larger than 1000 bytes"));
    model_log_deinit(&log);
}

static void a_message_instead_of_a_stream_is_read(void **state)
{
    expect_fails(*state, 0, "whole all at once", "T(all at once)END(end)");
}

static void nobody_there_fails_at_once(void **state)
{
    Fixture *f = *state;
    ModelLog log = {.text = NULL};

    set_environment(f, NULL, 9);
    open_model(f, (ModelConfig){.name = "openai:m-1"});
    say(f, &log, "say x");
    run(f);
    assert_non_null(strstr(log.text, "FAILED(openai:m-1 at http://127.0.0.1:9/v1: "));
    assert_null(strstr(log.text, "RETRY"));
    model_log_deinit(&log);
}

static void cancel_third(ModelLog *log, const ModelEvent *event)
{
    (void)event;
    if (log->n_texts == 3) {
        log->run = model_cancel(log->run);
    }
}

static void cancel_retry(ModelLog *log, const ModelEvent *event)
{
    if (event->kind == MODEL_RETRY) {
        log->run = model_cancel(log->run);
    }
}

static void cancelled_anywhere_it_is_silent(void **state)
{
    Fixture *f = *state;

    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        ModelLog inside = {.after = cancel_third};
        ModelLog outside = {.text = NULL};
        ModelLog waiting = {.after = cancel_retry};

        set_environment(f, NULL, fake.port);
        open_model(f, (ModelConfig){.name = names[i]});
        say(f, &inside, "tokens 1000 1");
        say(f, &outside, "say x");
        outside.run = model_cancel(outside.run);
        say(f, &waiting, "fail 500 9 k");
        run(f);
        model_log_expect(&inside, "T(t0 )T(t1 )T(t2 )");
        model_log_expect(&outside, "");
        model_log_expect(&waiting, "RETRY(1)");
        model_log_deinit(&inside);
        model_log_deinit(&outside);
        model_log_deinit(&waiting);
    }
}

static void the_next_run_may_start_inside_the_end(ModelLog *log, const ModelEvent *event)
{
    if (event->kind == MODEL_END && log->n_ends < 3) {
        say(log->context, log, "say y");
    }
}

static void runs_follow_one_another(void **state)
{
    Fixture *f = *state;
    ModelLog log = {.after = the_next_run_may_start_inside_the_end, .context = f};

    set_environment(f, NULL, fake.port);
    open_model(f, (ModelConfig){.name = "anthropic:m-1"});
    say(f, &log, "say x");
    run(f);
    model_log_expect(&log, "T(x)END(end)T(y)END(end)T(y)END(end)");
    model_log_deinit(&log);
}

static void a_hundred_at_once_lose_nothing(void **state)
{
    enum {
        N = 100,
        N_TOKENS = 50
    };
    Fixture *f = *state;
    static ModelLog logs[N];

    set_environment(f, NULL, fake.port);
    open_model(f, (ModelConfig){.name = "openai:m-1"});
    for (int i = 0; i < N; i++) {
        logs[i] = (ModelLog){.text = NULL};
        say(f, &logs[i], i % 2 == 0 ? "tokens 50" : "odd tokens 50");
    }
    run(f);
    for (int i = 0; i < N; i++) {
        char *at = logs[i].text;

        for (int k = 0; k < N_TOKENS; k++) {
            char token[20];

            (void)snprintf(token, sizeof(token), "T(t%d )", k);
            assert_memory_equal(at, token, strlen(token));
            at += strlen(token);
        }
        assert_string_equal(at, "END(end)");
        model_log_deinit(&logs[i]);
    }
}

static void runs_that_are_left_end_with_the_model(void **state)
{
    Fixture *f = *state;
    ModelLog log = {.text = NULL};

    set_environment(f, NULL, fake.port);
    open_model(f, (ModelConfig){.name = "openai:m-1"});
    say(f, &log, "stall");
    f->model = model_free(f->model);
    run(f);
    model_log_expect(&log, "");
}

static void keys_are_sent_and_never_shown(void **state)
{
    static const char *const args[] = {"--key", "sk-secret-1", NULL};
    static const char *const keys[] = {"OPENAI_API_KEY=sk-secret-1",
                                       "ANTHROPIC_API_KEY=sk-secret-1"};
    static const char *const wrong[] = {"OPENAI_API_KEY=sk-wrong-22",
                                        "ANTHROPIC_API_KEY=sk-wrong-22"};
    Fixture *f = *state;
    FakeModel locked;

    assert_true(fake_model_start(&locked, args));
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        ModelLog log = {.text = NULL};

        set_environment(f, keys[i], locked.port);
        open_model(f, (ModelConfig){.name = names[i]});
        say(f, &log, "say in");
        run(f);
        model_log_expect(&log, "T(in)END(end)");
        model_log_deinit(&log);
        set_environment(f, wrong[i], locked.port);
        open_model(f, (ModelConfig){.name = names[i]});
        say(f, &log, "say in");
        run(f);
        assert_non_null(strstr(log.text, "HTTP 401"));
        assert_non_null(strstr(log.text, "wrong key: ***********"));
        assert_null(strstr(log.text, "sk-wrong-22"));
        model_log_deinit(&log);
    }
    fake_model_stop(&locked);
}

static int run_scenario(void *context)
{
    Fixture *f = context;
    ModelConfig config = {.loop = f->loop,
                          .name = "openai:m-1",
                          .environment = f->entries,
                          .n_attempts = 2,
                          .backoff_ms = 1};
    ModelLog log = {.text = NULL};
    ModelSink sink = model_log_sink(&log);
    Model *model = NULL;
    OneMessage one;
    int r = model_open(&model, &config, NULL);

    if (r == 0) {
        r = model_start(model, one_message(&one, "calls f.g 2"), &sink, &log.run);
    }
    if (r == 0) {
        run(f);
        assert_int_equal(log.n_ends, 1);
        r = log.last == 'F' ? -ENOMEM : 0;
    }
    model = model_free(model);
    run(f); /* what is closed lets go */
    model_log_deinit(&log);
    return r;
}

/* Wherever it is missing, in us or in the loop: one end, and nothing is left behind. */
static void no_memory_is_a_failure(void **state)
{
    Fixture *f = *state;

    set_environment(f, NULL, fake.port);
    test_oom_sweep(run_scenario, f);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(text_and_tools_come),
        TEST(tokens_are_told_as_they_were_sent),
        TEST(a_whole_conversation_is_understood),
        TEST(our_names_come_back),
        TEST(what_may_pass_is_tried_again_before_the_first_token),
        TEST(words_say_who_failed_how_and_how_often),
        TEST(what_does_not_pass_fails_at_once),
        TEST(once_something_was_told_there_is_no_other_attempt),
        TEST(a_model_that_falls_silent_fails),
        TEST(an_answer_that_never_ends_is_cut),
        TEST(a_message_instead_of_a_stream_is_read),
        TEST(nobody_there_fails_at_once),
        TEST(cancelled_anywhere_it_is_silent),
        TEST(runs_follow_one_another),
        TEST(a_hundred_at_once_lose_nothing),
        TEST(runs_that_are_left_end_with_the_model),
        TEST(keys_are_sent_and_never_shown),
        TEST(no_memory_is_a_failure),
    };
    int r;

    if (!fake_model_start(&fake, NULL)) {
        (void)printf("skipped: node, which runs the fake service, is not installed\n");
        return 77;
    }
    r = cmocka_run_group_tests(tests, NULL, NULL);
    fake_model_stop(&fake);
    return r;
}
