/* Large messages, and hubs that do not read. */
#include "app/addin_door.h"

#include "support/cmocka.h"

#include "base/limits.h"
#include "support/turns.h"
#include "unit/app/addin_door_hub.h"

/* A call of echo that is n bytes long; free() it. */
static Span echo_of_size(size_t n)
{
    static const char head[] = "{\"id\":\"1\",\"type\":\"tool_call\",\"timestamp\":\"2025-01-15T10:"
                               "30:00.000Z\",\"payload\":{\"tool_name\":\"echo\",\"args\":{"
                               "\"message\":\"";
    static const char tail[] = "\"}}}";
    char *text = malloc(n);

    assert_non_null(text);
    memset(text, 'x', n);
    memcpy(text, head, sizeof(head) - 1);
    memcpy(text + n - (sizeof(tail) - 1), tail, sizeof(tail) - 1);
    return span_make(text, n);
}

static void span_free(Span s)
{
    free((void *)(uintptr_t)s.p);
}

static void a_call_at_the_limit_passes_and_its_answer_says_that_it_does_not(void **state)
{
    Span call = echo_of_size(LIMIT_PIPE_MESSAGE_BYTES);
    Span smaller = echo_of_size(LIMIT_PIPE_MESSAGE_BYTES - 200);
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, DEFAULTS);
    peer_sends(&p, smaller);
    assert_true(peer_awaits(&p).n > smaller.n);
    peer_sends(&p, call);
    peer_expects_failure(&p, PIPE_TOOL_RESULT, "1", PIPE_CODE_TOO_LARGE);
    peer_is_served(&p);
    peer_close(&p);
    fixture_deinit(&f);
    span_free(call);
    span_free(smaller);
}

static void a_hub_that_does_not_read_keeps_its_calls_and_loses_nothing(void **state)
{
    enum {
        N = 100
    };
    Span call = echo_of_size(100000);
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, DEFAULTS);
    io_stream_pause(p.stream);
    for (size_t i = 0; i < N; i++) {
        peer_sends(&p, call);
    }
    peer_sends(&p, SPAN(PING));
    /* While the door still takes something, the hub has less to send. */
    for (size_t n = SIZE_MAX; len32_writer_pending(&p.writer) < n;) {
        n = len32_writer_pending(&p.writer);
        for (size_t i = 0; i < 20; i++) {
            turn(&f);
        }
    }
    /* It is not read from either: most of its calls are still its own. */
    assert_true(len32_writer_pending(&p.writer) > N / 2 * call.n);
    io_stream_resume(p.stream);
    for (size_t i = 0; i < N; i++) {
        Span answer = peer_awaits(&p);

        assert_true(answer.n > call.n - 100 && answer.n < call.n + 200);
    }
    peer_expects_pong(&p);
    peer_is_served(&p);
    assert_int_equal(f.n_events, 2);
    peer_close(&p);
    fixture_deinit(&f);
    span_free(call);
}

static void calls_that_wait_are_not_run_for_a_hub_that_does_not_read(void **state)
{
    enum {
        N = 40
    };
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, &(AddinDoorConfig){.one_at_a_time = true});
    peer_sends(&p, SPAN(CALL("first", "hold", "{}")));
    expect_started(&f, 1);
    for (size_t i = 0; i < N; i++) {
        char text[256];

        (void)snprintf(
            text, sizeof(text),
            "{\"id\":\"%zu\",\"type\":\"tool_call\",\"payload\":{\"tool_name\":\"big\"}}", i);
        peer_sends(&p, span_from_str(text));
    }
    peer_sends(&p, SPAN(CALL("last", "hold", "{}")));
    peer_sends(&p, SPAN(PING));
    peer_expects_pong(&p);
    io_stream_pause(p.stream);
    hold_let_go(&f, 0);
    for (size_t i = 0; i < 40; i++) {
        turn(&f);
    }
    assert_int_equal(f.n_started, 1);
    io_stream_resume(p.stream);
    peer_expects(&p, "first", SAYS("let go"));
    for (size_t i = 0; i < N; i++) {
        assert_true(peer_awaits(&p).n > BIG_BYTES);
    }
    expect_started(&f, 2);
    hold_let_go(&f, 0);
    peer_expects(&p, "last", SAYS("let go"));
    peer_close(&p);
    fixture_deinit(&f);
}

static void a_hub_that_never_reads_is_left(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, &(AddinDoorConfig){.ping_interval_ms = 20, .pong_timeout_ms = 20});
    io_stream_pause(p.stream);
    for (size_t i = 0; i < 100; i++) {
        peer_sends(&p, SPAN(CALL("1", "big", "{}")));
        peer_sends(&p, SPAN(PONG));
    }
    assert_non_null(strstr(expect_state(&f, ADDIN_DISCONNECTED)->why, "ping"));
    expect_waiting(&f, RETRY_MS);
    peer_close(&p);
    fixture_deinit(&f);
}

static void answers_of_all_that_runs_find_room(void **state)
{
    static char text[1000000];
    Fixture f;
    Peer p;

    (void)state;
    memset(text, 'x', sizeof(text));
    fixture_connect(&f, &p, &(AddinDoorConfig){.max_bytes = sizeof(text) + 400});
    for (size_t i = 0; i < MAX_HELD; i++) {
        char call[256];

        (void)snprintf(
            call, sizeof(call),
            "{\"id\":\"%zu\",\"type\":\"tool_call\",\"payload\":{\"tool_name\":\"hold\"}}", i);
        peer_sends(&p, span_from_str(call));
    }
    expect_started(&f, MAX_HELD);
    io_stream_pause(p.stream);
    for (size_t i = 0; i < MAX_HELD; i++) {
        hold_let_go_saying(&f, 0, span_make(text, sizeof(text)));
        turn(&f);
    }
    io_stream_resume(p.stream);
    for (size_t i = 0; i < MAX_HELD; i++) {
        assert_true(peer_awaits(&p).n > sizeof(text));
    }
    peer_is_served(&p);
    peer_close(&p);
    fixture_deinit(&f);
}

static void slow_began(void *context, Call *call)
{
    size_t *n = context;

    (void)call;
    (*n)++;
    turns_burn();
}

static void slow_ended(void *context, const Call *call, const CallResult *result)
{
    (void)context;
    (void)call;
    (void)result;
}

/* Each of its calls takes a while, and hundreds have come at once: the others wait. */
static void a_hub_whose_turn_takes_too_long_is_left(void **state)
{
    static Turns turns;
    size_t n = 0;
    const RouterWatch slow = {.began = slow_began, .ended = slow_ended, .context = &n};
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, DEFAULTS);
    turns_watch(&turns, hub_loop(f.hub));
    router_set_watch(hub_router(f.hub), &slow);
    for (int i = 0; i < TURNS_MESSAGES; i++) {
        peer_sends(&p, SPAN(CALL("1", "echo", "{\"message\":\"m\"}")));
    }
    assert_string_equal(expect_state(&f, ADDIN_DISCONNECTED)->why,
                        "what it sent kept everybody waiting for too long");
    assert_true(n < TURNS_MESSAGES);
    turns_assert_blamed(&turns, "the hub");
    router_set_watch(hub_router(f.hub), NULL);
    peer_close(&p);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_at_the_limit_passes_and_its_answer_says_that_it_does_not),
        cmocka_unit_test(a_hub_that_does_not_read_keeps_its_calls_and_loses_nothing),
        cmocka_unit_test(calls_that_wait_are_not_run_for_a_hub_that_does_not_read),
        cmocka_unit_test(a_hub_that_never_reads_is_left),
        cmocka_unit_test(answers_of_all_that_runs_find_room),
        cmocka_unit_test(a_hub_whose_turn_takes_too_long_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
