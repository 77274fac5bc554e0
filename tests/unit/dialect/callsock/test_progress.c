#include "dialect/callsock/message.h"

#include "support/cmocka.h"

#include "support/oom_sweep.h"

static int read_text(const char *text, Arena *arena, CallProgress *ret)
{
    Diag diag;

    return callsock_progress_read(ret, arena, span_from_str(text), &diag);
}

static void numbers_stay_as_they_were_spelt(void **state)
{
    CallProgress progress;
    Arena arena;
    Bytes out;

    (void)state;
    arena_init(&arena, 1 << 16);
    bytes_init(&out, 1 << 16);
    assert_int_equal(
        read_text("{ \"progress\": {\"message\":\"\\u00e9\",\"total\":1e1,\"progress\":"
                  "9007199254740993} }",
                  &arena, &progress),
        0);
    assert_true(progress.total > 9 && progress.total < 11);
    assert_true(span_equals(progress.message, SPAN("\xC3\xA9")));
    assert_int_equal(callsock_progress_write(&out, &progress), 0);
    assert_true(span_equals(bytes_span(&out),
                            SPAN("{\"progress\":{\"progress\":9007199254740993,\"total\":1e1,"
                                 "\"message\":\"\xC3\xA9\"}}")));
    bytes_deinit(&out);
    arena_deinit(&arena);
}

static void a_total_that_is_no_number_is_none(void **state)
{
    CallProgress progress;
    Arena arena;

    (void)state;
    arena_init(&arena, 1 << 16);
    assert_int_equal(read_text("{\"progress\":{\"progress\":0,\"total\":null,\"message\":7}}",
                               &arena, &progress),
                     0);
    assert_int_equal(progress.spelt_total.n, 0);
    assert_true(progress.total < 0);
    assert_int_equal(progress.message.n, 0);
    arena_deinit(&arena);
}

static void what_is_no_report_is_refused(void **state)
{
    static const char *const texts[] = {
        "{\"progress\":1}",
        "{\"progress\":{}}",
        "{\"progress\":{\"progress\":\"1\"}}",
        "{\"progress\":{\"progress\":1},\"result\":{\"content\":[]}}",
        "{\"result\":{\"content\":[]}}",
    };
    CallProgress progress;
    Arena arena;

    (void)state;
    arena_init(&arena, 1 << 16);
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        assert_int_equal(read_text(texts[i], &arena, &progress), CALLSOCK_E_VALUE);
    }
    assert_int_equal(read_text("{\"progress\":", &arena, &progress), CALLSOCK_E_PROTOCOL);
    arena_deinit(&arena);
}

static void its_beginning_tells_it_from_an_answer(void **state)
{
    (void)state;
    assert_true(callsock_is_progress(SPAN("{\"progress\":{}}")));
    assert_true(callsock_is_progress(SPAN(" \r\n{\t\"progress\" : 1}")));
    assert_false(callsock_is_progress(SPAN("{\"result\":{\"progress\":1}}")));
    assert_false(callsock_is_progress(SPAN("\"progress\"")));
    assert_false(callsock_is_progress(SPAN("{\"progres")));
    assert_false(callsock_is_progress(SPAN("{")));
    assert_false(callsock_is_progress(SPAN_NULL));
}

static void what_finds_no_room_leaves_nothing(void **state)
{
    CallProgress progress = {.progress = 1, .total = 2, .message = SPAN("some words")};

    (void)state;
    for (size_t max = 1; max < 20; max++) {
        Bytes out;

        bytes_init(&out, max);
        assert_int_equal(bytes_append_byte(&out, 'x'), 0);
        assert_true(callsock_progress_write(&out, &progress) > 0);
        assert_int_equal(out.n, 1);
        bytes_deinit(&out);
    }
}

static int progress_scenario(void *context)
{
    CallProgress progress;
    Arena arena;
    Bytes out;
    int r;

    (void)context;
    arena_init(&arena, 1 << 16);
    bytes_init(&out, 1 << 16);
    r = read_text("{\"progress\":{\"progress\":1,\"message\":\"\\n\"}}", &arena, &progress);
    r = r != 0 ? r : callsock_progress_write(&out, &progress);
    bytes_deinit(&out);
    arena_deinit(&arena);
    return r;
}

static void survives_every_failed_allocation(void **state)
{
    (void)state;
    test_oom_sweep(progress_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_stay_as_they_were_spelt),
        cmocka_unit_test(a_total_that_is_no_number_is_none),
        cmocka_unit_test(what_is_no_report_is_refused),
        cmocka_unit_test(its_beginning_tells_it_from_an_answer),
        cmocka_unit_test(what_finds_no_room_leaves_nothing),
        cmocka_unit_test(survives_every_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
