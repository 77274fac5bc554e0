/* Which model is taken when nobody has named one, with the fake service in the places of others. */
#include "agent/model.h"

#include "support/cmocka.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "support/alloc_testing.h"

#include "fake_model.h"
#include "model_log.h"
#include "requests.h"

#define GUARD_MS 60000

static FakeModel fake;  /* has a model */
static FakeModel empty; /* has none */

typedef struct Fixture {
    IoLoop *loop;
    IoTimer *guard;
    Model *model;
    long n_live;
    int n_chosen;
    char chosen[200];
    char environment[3][128];
    const char *entries[4];
    size_t n_entries;
} Fixture;

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

/* NAME=127.0.0.1:PORT, and the like. */
TW_PRINTF(2, 3) static void set(Fixture *f, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(f->environment[f->n_entries], sizeof(f->environment[0]), format, args);
    va_end(args);
    f->entries[f->n_entries] = f->environment[f->n_entries];
    f->n_entries++;
}

static void on_chosen(void *context, Model *model)
{
    Fixture *f = context;

    f->n_chosen++;
    (void)snprintf(f->chosen, sizeof(f->chosen), "%s", model_name(model));
}

static void open_model(Fixture *f, const char *name)
{
    ModelConfig config = {.loop = f->loop,
                          .name = name,
                          .environment = f->entries,
                          .probe_ms = 5000,
                          .chosen = on_chosen,
                          .context = f};
    Diag diag = DIAG_NULL;
    int r = model_open(&f->model, &config, &diag);

    if (r != 0) {
        fail_msg("%d: %s", r, diag.message);
    }
    assert_int_equal(f->n_chosen, 0);
}

static void say(Fixture *f, ModelLog *log, const char *message)
{
    ModelSink sink = model_log_sink(log);
    OneMessage one;

    assert_int_equal(model_start(f->model, one_message(&one, message), &sink, &log->run), 0);
    memset(&one, 0xAA, sizeof(one)); /* what is needed of it was copied */
}

static void run(Fixture *f)
{
    assert_int_equal(io_loop_run(f->loop), 0);
}

/* A port of this machine where nobody listens. */
static unsigned dead_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &n), 0);
    assert_int_equal(close(fd), 0);
    return ntohs(address.sin_port);
}

static void expect_chosen(Fixture *f, const char *expected, bool is_script)
{
    ModelLog log = {.joined = true};

    open_model(f, NULL);
    assert_string_equal(model_name(f->model), "(choosing)");
    say(f, &log, is_script ? "/echo hi there" : "say hi there");
    run(f);
    model_log_expect(&log, "T(hi there)END(end)");
    assert_int_equal(f->n_chosen, 1);
    assert_string_equal(f->chosen, expected);
    assert_string_equal(model_name(f->model), expected);
    assert_int_equal(model_is_script(f->model), is_script);
    model_log_deinit(&log);
}

static void ollama_is_found(void **state)
{
    Fixture *f = *state;
    char expected[100];

    set(f, "OLLAMA_HOST=127.0.0.1:%u", fake.port);
    set(f, "LLAMA_ARG_PORT=%u", dead_port());
    (void)snprintf(expected, sizeof(expected), "openai:fake-1 at http://127.0.0.1:%u/v1",
                   fake.port);
    expect_chosen(f, expected, false);
}

static void llama_is_found_behind_an_ollama_without_models(void **state)
{
    Fixture *f = *state;
    char expected[100];

    set(f, "OLLAMA_HOST=127.0.0.1:%u", empty.port);
    set(f, "LLAMA_ARG_PORT=%u", fake.port);
    (void)snprintf(expected, sizeof(expected), "openai:fake-1 at http://127.0.0.1:%u/v1",
                   fake.port);
    expect_chosen(f, expected, false);
}

static void nobody_there_is_the_script(void **state)
{
    Fixture *f = *state;

    set(f, "OLLAMA_HOST=127.0.0.1:%u", dead_port());
    set(f, "LLAMA_ARG_PORT=%u", dead_port());
    expect_chosen(f, "script", true);
}

static void a_named_service_says_what_it_has(void **state)
{
    Fixture *f = *state;
    char expected[100];

    set(f, "OPENAI_BASE_URL=http://localhost:%u/v1", fake.port);
    (void)snprintf(expected, sizeof(expected), "openai:fake-1 at http://localhost:%u/v1",
                   fake.port);
    expect_chosen(f, expected, false);
}

static void one_that_is_known_is_told_from_the_loop(void **state)
{
    Fixture *f = *state;

    open_model(f, "script");
    assert_string_equal(model_name(f->model), "script");
    run(f);
    assert_int_equal(f->n_chosen, 1);
    assert_string_equal(f->chosen, "script");
}

static void start_again(ModelLog *log, const ModelEvent *event)
{
    if (event->kind == MODEL_FAILED && log->n_ends == 1) {
        say(log->context, log, "say again");
    }
}

static void a_named_service_without_an_answer_fails_requests_and_is_asked_again(void **state)
{
    Fixture *f = *state;
    ModelLog log = {.text = NULL};
    ModelLog again = {.after = start_again, .context = f};

    set(f, "OPENAI_BASE_URL=http://127.0.0.1:%u/v1", dead_port());
    open_model(f, NULL);
    say(f, &log, "say x");
    say(f, &again, "say x");
    run(f);
    assert_int_equal(f->n_chosen, 0);
    assert_non_null(strstr(log.text, "FAILED(openai at http://127.0.0.1:"));
    assert_int_equal(log.n_ends, 1);
    assert_int_equal(again.n_ends, 2);
    model_log_deinit(&log);
    model_log_deinit(&again);
}

static void one_without_models_says_so(void **state)
{
    Fixture *f = *state;
    ModelLog log = {.text = NULL};

    set(f, "OPENAI_BASE_URL=http://127.0.0.1:%u/v1", empty.port);
    open_model(f, "openai");
    say(f, &log, "say x");
    run(f);
    assert_non_null(strstr(log.text, "it has no model to talk to: name one"));
    model_log_deinit(&log);
}

static void cancel_now(ModelLog *log, const ModelEvent *event)
{
    (void)event;
    log->run = model_cancel(log->run);
}

static void those_that_wait_can_be_cancelled(void **state)
{
    Fixture *f = *state;
    ModelLog log = {.text = NULL};
    ModelLog inside = {.after = cancel_now};

    set(f, "OPENAI_BASE_URL=http://127.0.0.1:%u/v1", fake.port);
    open_model(f, NULL);
    say(f, &log, "say x");
    say(f, &inside, "say a b c");
    log.run = model_cancel(log.run);
    run(f);
    assert_int_equal(f->n_chosen, 1);
    model_log_expect(&log, "");
    model_log_expect(&inside, "T(a )");
    model_log_deinit(&inside);
}

static void a_whole_request_waits(void **state)
{
    static const AgentToolSpec tools[] = {{.name = SPAN_INIT("x"), .schema = SPAN_INIT("{}")}};
    static const AgentBlock ask[] = {BLOCK_TEXT("call x {}")};
    static const AgentBlock use[] = {BLOCK_USE("1", "x", "{}")};
    static const AgentBlock result[] = {BLOCK_RESULT("1", "fine", true)};
    static const AgentMessage messages[] = {MESSAGE_USER(ask), MESSAGE_MODEL(use),
                                            MESSAGE_USER(result)};
    Fixture *f = *state;
    ModelRequest request = {.system = SPAN("s"),
                            .messages = messages,
                            .n_messages = TW_ARRAY_SIZE(messages),
                            .tools = tools,
                            .n_tools = 1};
    ModelLog log = {.joined = true};
    ModelSink sink = model_log_sink(&log);

    set(f, "OPENAI_BASE_URL=http://127.0.0.1:%u/v1", fake.port);
    open_model(f, NULL);
    assert_int_equal(model_start(f->model, &request, &sink, &log.run), 0);
    run(f);
    model_log_expect(&log, "T(result: error: fine)END(end)");
    model_log_deinit(&log);
}

static void freed_while_choosing_nothing_follows(void **state)
{
    Fixture *f = *state;
    ModelLog log = {.text = NULL};

    set(f, "OLLAMA_HOST=127.0.0.1:%u", fake.port);
    open_model(f, NULL);
    say(f, &log, "say x");
    f->model = model_free(f->model);
    run(f);
    assert_int_equal(f->n_chosen, 0);
    model_log_expect(&log, "");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    static const char *const none[] = {"--models", "", NULL};
    const struct CMUnitTest tests[] = {
        TEST(ollama_is_found),
        TEST(llama_is_found_behind_an_ollama_without_models),
        TEST(nobody_there_is_the_script),
        TEST(a_named_service_says_what_it_has),
        TEST(one_that_is_known_is_told_from_the_loop),
        TEST(a_named_service_without_an_answer_fails_requests_and_is_asked_again),
        TEST(one_without_models_says_so),
        TEST(those_that_wait_can_be_cancelled),
        TEST(a_whole_request_waits),
        TEST(freed_while_choosing_nothing_follows),
    };
    int r;

    if (!fake_model_start(&fake, NULL)) {
        (void)printf("skipped: node, which runs the fake service, is not installed\n");
        return 77;
    }
    assert_true(fake_model_start(&empty, none));
    r = cmocka_run_group_tests(tests, NULL, NULL);
    fake_model_stop(&fake);
    fake_model_stop(&empty);
    return r;
}
