#include "providers/diagnostics.h"

#include "support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

/* The asker: keeps what came back. */
typedef struct Asker {
    Call call;
    IoLoop *loop;
    CallResultKind kind;
    CallError error;
    int wire_code;
    bool is_error;
    size_t n_reports;
    double last_total;
    size_t n_finished;
    char text[256];
} Asker;

static void asker_finish(Call *call, const CallResult *result)
{
    Asker *asker = (Asker *)call;
    size_t n = 0;

    asker->n_finished++;
    asker->kind = result->kind;
    asker->error = result->error;
    asker->wire_code = result->wire_code;
    asker->is_error = result->is_error;
    for (size_t i = 0; i < result->n_pieces; i++) {
        assert_true(n + result->pieces[i].n < sizeof(asker->text));
        memcpy(asker->text + n, result->pieces[i].p, result->pieces[i].n);
        n += result->pieces[i].n;
    }
    if (result->kind == CALL_RESULT_ERROR) {
        assert_true(result->message.n < sizeof(asker->text));
        memcpy(asker->text, result->message.p, result->message.n);
        n = result->message.n;
    }
    asker->text[n] = '\0';
    io_loop_stop(asker->loop);
}

static void asker_progress(Call *call, const CallProgress *progress)
{
    Asker *asker = (Asker *)call;

    asker->n_reports++;
    asker->last_total = progress->total;
}

static const CallDoor asker_door = {.finish = asker_finish, .progress = asker_progress};

typedef struct Fixture {
    IoLoop *loop;
    Router *router;
    Diagnostics *diagnostics;
    Asker asker;
    Arena arena;
} Fixture;

static int fixture_init(Fixture *f)
{
    int r;

    memset(f, 0, sizeof(*f));
    arena_init(&f->arena, 1 << 20);
    call_init(&f->asker.call);
    r = io_loop_new(&f->loop);
    if (r == 0) {
        r = router_new(&f->router, NULL, (HashSeed){1, 2});
    }
    if (r == 0) {
        r = diagnostics_new(&f->diagnostics, f->router, f->loop);
    }
    f->asker.loop = f->loop;
    return r;
}

static void fixture_deinit(Fixture *f)
{
    f->diagnostics = diagnostics_free(f->diagnostics);
    f->router = router_free(f->router);
    f->loop = io_loop_free(f->loop);
    call_deinit(&f->asker.call);
    arena_deinit(&f->arena);
}

static void ask(Fixture *f, const char *tool, const char *arguments, bool wants_progress)
{
    Call *call = &f->asker.call;
    JsonDoc doc;

    assert_int_equal(json_parse(&doc, &f->arena, arguments, strlen(arguments), NULL, NULL), 0);
    call_reset(call);
    call->door = &asker_door;
    call->verb = CALL_TOOL;
    call->target = span_from_str(tool);
    call->arguments = json_root(&doc);
    call->wants_progress = wants_progress;
    call->log_level = CALL_LOG_NONE;
    f->asker.n_finished = 0;
    router_advance(f->router, io_loop_now_ms(f->loop));
    router_dispatch(f->router, NULL, call);
}

static void echo_gives_the_exact_bytes_back(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    ask(&f, "echo", "{\"message\":\"a\\n\\u00e9 \\\"\"}", false);
    assert_int_equal(f.asker.n_finished, 1);
    assert_string_equal(f.asker.text, "{\"type\":\"text\",\"text\":\"a\\n\\u00e9 \\\"\"}");
    ask(&f, "echo", "{}", false);
    assert_int_equal(f.asker.error, CALL_ERROR_INVALID_ARGUMENTS);
    ask(&f, "echo", "{\"message\":5}", false);
    assert_int_equal(f.asker.error, CALL_ERROR_INVALID_ARGUMENTS);
    fixture_deinit(&f);
}

static void sleep_answers_later_and_reports(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    ask(&f, "sleep", "{\"ms\":30}", true);
    assert_int_equal(f.asker.n_finished, 0);
    assert_int_equal(io_loop_run(f.loop), 0);
    assert_int_equal(f.asker.n_finished, 1);
    assert_string_equal(f.asker.text, "{\"type\":\"text\",\"text\":\"slept 30 ms\"}");
    assert_true(f.asker.n_reports >= 1 && f.asker.n_reports <= 10);
    assert_true(f.asker.last_total == 30.0);
    ask(&f, "sleep", "{\"ms\":-1}", false);
    assert_int_equal(f.asker.error, CALL_ERROR_INVALID_ARGUMENTS);
    fixture_deinit(&f);
}

static void a_cancelled_sleep_leaves_nothing_behind(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    ask(&f, "sleep", "{\"ms\":600000}", true);
    router_cancel(f.router, &f.asker.call);
    assert_int_equal(io_loop_run(f.loop), 0); /* nothing is left that could happen */
    assert_int_equal(f.asker.n_finished, 0);
    fixture_deinit(&f);
}

static void fail_fails_as_told(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    ask(&f, "fail", "{}", false);
    assert_int_equal(f.asker.kind, CALL_RESULT_TOOL);
    assert_true(f.asker.is_error);
    assert_string_equal(f.asker.text, "{\"type\":\"text\",\"text\":\"failed as asked\"}");
    ask(&f, "fail", "{\"code\":-32001,\"message\":\"a\\tb\"}", false);
    assert_int_equal(f.asker.kind, CALL_RESULT_ERROR);
    assert_int_equal(f.asker.error, CALL_ERROR_OWN);
    assert_int_equal(f.asker.wire_code, -32001);
    assert_string_equal(f.asker.text, "a\tb");
    fixture_deinit(&f);
}

static void a_name_that_is_taken_is_left_alone(void **state)
{
    static const CallProvider none = {.start = NULL};
    Diagnostics *second = NULL;
    Fixture f;

    (void)state;
    assert_int_equal(fixture_init(&f), 0);
    assert_int_equal(diagnostics_new(&second, f.router, f.loop), -EEXIST);
    assert_int_equal(router_count(f.router, ROUTER_TOOL), 3);
    f.diagnostics = diagnostics_free(f.diagnostics);
    assert_int_equal(router_count(f.router, ROUTER_TOOL), 0);
    assert_int_equal(router_add(f.router,
                                &(RouterSpec){.kind = ROUTER_TOOL,
                                              .json = SPAN("{\"name\":\"sleep\",\"inputSchema\":{"
                                                           "\"type\":\"object\"}}"),
                                              .provider = &none},
                                NULL),
                     0);
    assert_int_equal(diagnostics_new(&f.diagnostics, f.router, f.loop), -EEXIST);
    assert_int_equal(router_count(f.router, ROUTER_TOOL), 1);
    assert_true(router_has_tool(f.router, SPAN("sleep")));
    fixture_deinit(&f);
}

static int open_once(void *context)
{
    Fixture f;
    int r = fixture_init(&f);

    (void)context;
    fixture_deinit(&f);
    return r;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    (void)state;
    test_oom_sweep(open_once, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(echo_gives_the_exact_bytes_back),
        cmocka_unit_test(sleep_answers_later_and_reports),
        cmocka_unit_test(a_cancelled_sleep_leaves_nothing_behind),
        cmocka_unit_test(fail_fails_as_told),
        cmocka_unit_test(a_name_that_is_taken_is_left_alone),
        cmocka_unit_test(no_allocation_may_fail_unnoticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
