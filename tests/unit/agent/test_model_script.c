#include "agent/model.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/oom_sweep.h"

#include "model_log.h"
#include "requests.h"

typedef struct Fixture {
    IoLoop *loop;
    Model *model;
} Fixture;

static int setup(void **state)
{
    Fixture *f = calloc(1, sizeof(*f));
    ModelConfig config = {.name = "script"};

    assert_non_null(f);
    assert_int_equal(io_loop_new(&f->loop), 0);
    config.loop = f->loop;
    assert_int_equal(model_open(&f->model, &config, NULL), 0);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;

    f->model = model_free(f->model);
    f->loop = io_loop_free(f->loop);
    free(f);
    return 0;
}

static void start(Fixture *f, ModelLog *log, const char *message)
{
    ModelSink sink = model_log_sink(log);
    OneMessage one;

    assert_int_equal(model_start(f->model, one_message(&one, message), &sink, &log->run), 0);
}

static void says_that_it_is_the_script(void **state)
{
    Fixture *f = *state;

    assert_true(model_is_script(f->model));
    assert_string_equal(model_name(f->model), "script");
}

static void text_comes_word_by_word_from_the_loop(void **state)
{
    Fixture *f = *state;
    ModelLog log = {.text = NULL};

    start(f, &log, "/echo one two  three");
    model_log_expect(&log, "");
    assert_int_equal(io_loop_run(f->loop), 0);
    model_log_expect(&log, "T(one )T(two  )T(three)END(end)");
    model_log_deinit(&log);
}

static void a_tool_is_called(void **state)
{
    Fixture *f = *state;
    ModelLog log = {.text = NULL};

    start(f, &log, "/call a.b { \"x\" : 1 }");
    start(f, &log, "/call a.b {");
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_int_equal(log.n_ends, 2);
    assert_non_null(strstr(log.text, "U(a.b { \"x\" : 1 })END(tools)"));
    assert_non_null(strstr(log.text, "BAD(a.b {)END(tools)"));
    model_log_deinit(&log);
}

static void failing_is_told_once(void **state)
{
    Fixture *f = *state;
    ModelLog log = {.text = NULL};

    start(f, &log, "/fail so it is");
    assert_int_equal(io_loop_run(f->loop), 0);
    model_log_expect(&log, "FAILED(so it is)");
    model_log_deinit(&log);
}

static void cancel_after(ModelLog *log, const ModelEvent *event)
{
    (void)event;
    if (log->n_texts == 2) {
        log->run = model_cancel(log->run);
    }
}

static void cancelled_inside_or_outside_it_is_silent(void **state)
{
    Fixture *f = *state;
    ModelLog inside = {.after = cancel_after};
    ModelLog outside = {.text = NULL};

    start(f, &inside, "/echo a b c d");
    start(f, &outside, "/echo a b c d");
    outside.run = model_cancel(outside.run);
    assert_int_equal(io_loop_run(f->loop), 0);
    model_log_expect(&inside, "T(a )T(b )");
    model_log_expect(&outside, "");
    assert_null(model_cancel(NULL));
    model_log_deinit(&inside);
    model_log_deinit(&outside);
}

static void runs_that_are_left_end_with_the_model(void **state)
{
    Fixture *f = *state;
    ModelLog log = {.text = NULL};

    start(f, &log, "/slow 10000 a b");
    start(f, &log, "/echo x");
    f->model = model_free(f->model);
    assert_int_equal(io_loop_run(f->loop), 0);
    model_log_expect(&log, "");
}

static void start_again(ModelLog *log, const ModelEvent *event)
{
    Fixture *f = log->context;

    if (event->kind == MODEL_END && log->n_ends < 3) {
        start(f, log, "/echo y");
    }
}

static void a_run_may_start_the_next(void **state)
{
    Fixture *f = *state;
    ModelLog log = {.after = start_again, .context = f};

    start(f, &log, "/echo x");
    assert_int_equal(io_loop_run(f->loop), 0);
    model_log_expect(&log, "T(x)END(end)T(y)END(end)T(y)END(end)");
    model_log_deinit(&log);
}

static void open_file(Model **ret, IoLoop *loop, const char *text, int expected, Diag *diag)
{
    char path[] = "/tmp/test-model-script-XXXXXX";
    char name[64];
    ModelConfig config = {.loop = loop, .name = name};
    int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    assert_int_equal(close(fd), 0);
    (void)snprintf(name, sizeof(name), "script:%s", path);
    assert_int_equal(model_open(ret, &config, diag), expected);
    assert_int_equal(unlink(path), 0);
}

static void a_file_is_followed(void **state)
{
    Fixture *f = *state;
    ModelLog log = {.text = NULL};

    f->model = model_free(f->model);
    open_file(&f->model, f->loop,
              "{\"text\":\"ab \",\"times\":2}\n{\"wait_ms\":1}\n"
              "{\"text\":\"c d\",\"pause_ms\":1}\n{\"wait_ms\":1}\n{\"tool\":\"t\"}\n",
              0, NULL);
    assert_true(model_is_script(f->model));
    start(f, &log, "x");
    assert_int_equal(io_loop_run(f->loop), 0);
    assert_non_null(log.text);
    model_log_expect(&log, "T(ab )T(ab )T(c )T(d)U(t {})END(tools)");
    model_log_deinit(&log);
}

static void a_wrong_file_and_a_wrong_name_are_refused_in_words(void **state)
{
    Fixture *f = *state;
    ModelConfig config = {.loop = f->loop, .name = "script:/nonexistent/x"};
    Diag diag = DIAG_NULL;
    Model *model = NULL;

    assert_int_equal(model_open(&model, &config, &diag), MODEL_E_FILE);
    assert_non_null(strstr(diag.message, "/nonexistent/x"));
    open_file(&model, f->loop, "{\"text\":\"a\"}\n{\"x\":1}\n", MODEL_E_FILE, &diag);
    assert_non_null(strstr(diag.message, "line 2: x: is not known"));
    config.name = "oracle";
    assert_int_equal(model_open(&model, &config, &diag), MODEL_E_UNKNOWN);
    assert_non_null(strstr(diag.message, "oracle"));
    assert_null(model);
}

static int run_scenario(void *context)
{
    ModelConfig config = {.loop = context, .name = "script"};
    ModelLog log = {.text = NULL};
    ModelSink sink = model_log_sink(&log);
    Model *model = NULL;
    ModelRun *run;
    OneMessage one;
    int r = model_open(&model, &config, NULL);

    if (r == 0) {
        r = model_start(model, one_message(&one, "/call a {\n}"), &sink, &run);
    }
    if (r == 0) {
        assert_int_equal(io_loop_run(context), 0);
        assert_int_equal(log.n_ends, 1);
        r = log.last == 'F' ? -12 : 0;
    }
    model = model_free(model);
    assert_int_equal(io_loop_run(context), 0); /* timers let go */
    model_log_deinit(&log);
    return r;
}

static void no_memory_is_an_error_or_a_failure(void **state)
{
    Fixture *f = *state;

    test_oom_sweep(run_scenario, f->loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(says_that_it_is_the_script, setup, teardown),
        cmocka_unit_test_setup_teardown(text_comes_word_by_word_from_the_loop, setup, teardown),
        cmocka_unit_test_setup_teardown(a_tool_is_called, setup, teardown),
        cmocka_unit_test_setup_teardown(failing_is_told_once, setup, teardown),
        cmocka_unit_test_setup_teardown(cancelled_inside_or_outside_it_is_silent, setup, teardown),
        cmocka_unit_test_setup_teardown(runs_that_are_left_end_with_the_model, setup, teardown),
        cmocka_unit_test_setup_teardown(a_run_may_start_the_next, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_is_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wrong_file_and_a_wrong_name_are_refused_in_words, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(no_memory_is_an_error_or_a_failure, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
