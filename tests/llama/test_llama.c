/* Our client with a real inference engine: llama.cpp and a tiny model of random weights. It shows
 * that real streams are read, and nothing about what models say. */
#include "agent/model.h"

#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "unit/agent/fake_model.h"
#include "unit/agent/model_log.h"
#include "unit/agent/requests.h"
#include "json/json.h"

/* The engine alone needs a second; a busy machine many. */
#define GUARD_MS 120000

static FakeModel engine;

typedef struct Fixture {
    IoLoop *loop;
    IoTimer *guard;
    Model *model;
    char place[100];
    const char *environment[2];
} Fixture;

static void on_guard(void *context)
{
    (void)context;
    fail_msg("nothing happens any more");
}

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof(*f));
    ModelConfig config = {.name = NULL};

    assert_non_null(f);
    assert_int_equal(io_loop_new(&f->loop), 0);
    assert_int_equal(io_timer_new(&f->guard, f->loop, true, on_guard, NULL), 0);
    io_timer_start_at(f->guard, io_loop_now_ms(f->loop) + GUARD_MS);
    (void)snprintf(f->place, sizeof(f->place), "OPENAI_BASE_URL=%s/v1", engine.url);
    f->environment[0] = f->place;
    config.loop = f->loop;
    config.environment = f->environment;
    assert_int_equal(model_open(&f->model, &config, NULL), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;

    f->model = model_free(f->model);
    f->guard = io_timer_free(f->guard);
    f->loop = io_loop_free(f->loop);
    free(f);
    return 0;
}

static void tokens_stream_and_are_text(void **state)
{
    Fixture *f = *state;
    ModelLog logs[3] = {{.text = NULL}};

    for (size_t i = 0; i < TW_ARRAY_SIZE(logs); i++) {
        ModelSink sink = model_log_sink(&logs[i]);
        OneMessage one;

        assert_int_equal(model_start(f->model, one_message(&one, "hello"), &sink, &logs[i].run), 0);
    }
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_non_null(strstr(model_name(f->model), "openai:tiny at http://127.0.0.1:"));
    for (size_t i = 0; i < TW_ARRAY_SIZE(logs); i++) {
        assert_true(logs[i].n_texts > 5);
        assert_true(utf8_valid(logs[i].text, logs[i].n, NULL));
        assert_string_equal(logs[i].text + logs[i].n - strlen("END(end)"), "END(end)");
        model_log_deinit(&logs[i]);
    }
}

static char called[400];

static void on_event(void *context, const ModelEvent *event)
{
    ModelLog *log = context;

    if (event->kind == MODEL_TOOL) {
        assert_true(span_equals(event->name, SPAN("files.search")));
        assert_false(event->is_bad_json);
        (void)snprintf(called, sizeof(called), "%.*s", (int)event->input.n, event->input.p);
    }
    model_log_event(log, event);
}

static void a_call_is_made_and_its_result_is_answered(void **state)
{
    static const AgentToolSpec tools[] = {
        {.name = SPAN_INIT("files.search"),
         .schema =
             SPAN_INIT("{\"type\":\"object\",\"properties\":{\"pattern\":{\"type\":\"string\","
                       "\"maxLength\":8},\"deep\":{\"type\":\"boolean\"}}}")}};
    AgentBlock ask[] = {BLOCK_TEXT("search")};
    AgentBlock use[] = {BLOCK_USE("call_1", "files.search", "{}")};
    AgentBlock result[] = {BLOCK_RESULT("call_1", "found", false)};
    AgentMessage messages[] = {MESSAGE_USER(ask), MESSAGE_MODEL(use), MESSAGE_USER(result)};
    ModelRequest request = {.messages = messages, .n_messages = 1, .tools = tools, .n_tools = 1};
    Fixture *f = *state;
    ModelLog log = {.text = NULL};
    ModelSink sink = {on_event, &log};
    JsonValue member;
    JsonDoc doc;
    Arena arena;

    assert_int_equal(model_start(f->model, &request, &sink, &log.run), 0);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_string_equal(log.text + log.n - strlen("END(tools)"), "END(tools)");
    arena_init(&arena, 65536);
    assert_int_equal(json_parse(&doc, &arena, called, strlen(called), NULL, NULL), 0);
    assert_true(json_get(json_root(&doc), SPAN("pattern"), &member));
    arena_deinit(&arena);
    model_log_deinit(&log);

    use[0].input = span_from_str(called);
    request.n_messages = 3;
    assert_int_equal(model_start(f->model, &request, &sink, &log.run), 0);
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_string_equal(log.text + log.n - strlen("END(end)"), "END(end)");
    assert_true(log.n_texts > 5);
    model_log_deinit(&log);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tokens_stream_and_are_text, setup, teardown),
        cmocka_unit_test_setup_teardown(a_call_is_made_and_its_result_is_answered, setup, teardown),
    };
    int r;

    if (access(TW_SOURCE_DIR "/tests/llama/node_modules/node-llama-cpp/package.json", R_OK) != 0) {
        (void)printf("SKIPPED: the npm package node-llama-cpp is not installed; run npm "
                     "install in tests/llama\n");
        return 77;
    }
    if (!fake_model_run(&engine, TW_SOURCE_DIR "/tests/llama/llama_server.mjs", NULL)) {
        (void)printf("SKIPPED: node is not installed\n");
        return 77;
    }
    r = cmocka_run_group_tests(tests, NULL, NULL);
    fake_model_stop(&engine);
    return r;
}
