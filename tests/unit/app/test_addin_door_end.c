/* How connections begin again, and how the door itself ends. */
#include "app/addin_door.h"

#include "support/cmocka.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/app/addin_door_hub.h"

/* ---- connecting ---- */

static void waits_double_up_to_their_maximum_and_begin_anew_after_a_connection(void **state)
{
    static const int64_t waits[] = {RETRY_MS, 2 * RETRY_MS, RETRY_MAX_MS, RETRY_MAX_MS};
    Fixture f;
    Peer p;

    (void)state;
    assert_int_equal(fixture_prepare(&f), 0);
    assert_int_equal(fixture_door(&f, DEFAULTS), 0);
    assert_int_equal(f.n_events, 0); /* nothing happens before the loop runs */
    assert_int_equal(addin_door_state(f.door), ADDIN_CONNECTING);
    for (size_t i = 0; i < TW_ARRAY_SIZE(waits); i++) {
        const Event *event;

        (void)expect_state(&f, ADDIN_CONNECTING);
        event = expect_state(&f, ADDIN_WAITING);
        assert_int_equal(event->retry_ms, waits[i]);
        assert_non_null(strstr(event->why, f.path));
    }
    hub_opens(&f);
    (void)expect_state(&f, ADDIN_CONNECTING);
    (void)expect_state(&f, ADDIN_CONNECTED);
    peer_accept(&p, &f);
    peer_is_served(&p);
    hub_leaves(&f);
    peer_close(&p);
    assert_string_equal(expect_state(&f, ADDIN_DISCONNECTED)->why, "");
    assert_string_equal(expect_state(&f, ADDIN_WAITING)->why, "");
    assert_int_equal(f.events[f.n_seen - 1].retry_ms, RETRY_MS);
    (void)expect_state(&f, ADDIN_CONNECTING);
    expect_waiting(&f, 2 * RETRY_MS);
    fixture_deinit(&f);
}

static void a_hub_that_closes_at_once_is_not_tried_without_a_wait(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_prepare(&f), 0);
    hub_opens(&f);
    assert_int_equal(fixture_door(&f, DEFAULTS), 0);
    for (size_t i = 0; i < 5; i++) {
        (void)expect_state(&f, ADDIN_CONNECTING);
        (void)expect_state(&f, ADDIN_CONNECTED);
        while (f.accepted < 0) {
            run(&f);
        }
        assert_int_equal(close(f.accepted), 0);
        f.accepted = -1;
        (void)expect_state(&f, ADDIN_DISCONNECTED);
        expect_waiting(&f, RETRY_MS);
    }
    fixture_deinit(&f);
}

static void a_new_hub_at_the_same_place_is_found(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, DEFAULTS);
    for (size_t i = 0; i < 3; i++) {
        peer_is_served(&p);
        hub_leaves(&f);
        peer_close(&p);
        (void)expect_state(&f, ADDIN_DISCONNECTED);
        (void)expect_state(&f, ADDIN_WAITING);
        (void)expect_state(&f, ADDIN_CONNECTING);
        (void)expect_state(&f, ADDIN_WAITING);
        hub_opens(&f);
        (void)expect_state(&f, ADDIN_CONNECTING);
        (void)expect_state(&f, ADDIN_CONNECTED);
        peer_accept(&p, &f);
    }
    peer_is_served(&p);
    peer_close(&p);
    fixture_deinit(&f);
}

static int bare_listener(const char *path, int backlog)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_true(strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path) + 1);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, backlog), 0);
    return fd;
}

static void a_hub_that_does_not_accept_is_a_failure_like_others(void **state)
{
    int taken[8];
    size_t n_taken = 0;
    int listening;
    Fixture f;

    (void)state;
    assert_int_equal(fixture_prepare(&f), 0);
    listening = bare_listener(f.path, 0);
    while (unix_socket_connect(f.path, &taken[n_taken]) == 0) {
        n_taken++;
        assert_true(n_taken < TW_ARRAY_SIZE(taken));
    }
    assert_int_equal(fixture_door(&f, DEFAULTS), 0);
    (void)expect_state(&f, ADDIN_CONNECTING);
    assert_non_null(strstr(expect_state(&f, ADDIN_WAITING)->why, "does not accept"));
    (void)expect_state(&f, ADDIN_CONNECTING);
    expect_waiting(&f, 2 * RETRY_MS);
    for (size_t i = 0; i < n_taken; i++) {
        assert_int_equal(close(taken[i]), 0);
    }
    assert_int_equal(close(listening), 0);
    assert_int_equal(unlink(f.path), 0);
    fixture_deinit(&f);
}

static void a_hub_of_another_user_is_not_talked_to(void **state)
{
    int listening;
    Fixture f;

    (void)state;
    if (geteuid() != 0) {
        skip(); /* only root can be somebody else */
    }
    assert_int_equal(fixture_prepare(&f), 0);
    assert_int_equal(chown(f.folder, 65534, 65534), 0);
    assert_int_equal(seteuid(65534), 0);
    listening = bare_listener(f.path, 8);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(fixture_door(&f, DEFAULTS), 0);
    (void)expect_state(&f, ADDIN_CONNECTING);
    assert_non_null(strstr(expect_state(&f, ADDIN_WAITING)->why, "another user"));
    assert_int_equal(close(listening), 0);
    assert_int_equal(unlink(f.path), 0);
    fixture_deinit(&f);
}

/* ---- hubs that go ---- */

static void a_hub_that_goes_cancels_its_calls(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, &(AddinDoorConfig){.limits = &(RouterLimits){.max_in_flight = 2}});
    peer_sends(&p, SPAN(CALL("1", "hold", "{}")));
    peer_sends(&p, SPAN(CALL("2", "hold", "{}")));
    peer_sends(&p, SPAN(CALL("3", "hold", "{}")));
    peer_sends(&p, SPAN(PING));
    peer_expects_pong(&p);
    peer_close(&p);
    (void)expect_state(&f, ADDIN_DISCONNECTED);
    assert_int_equal(f.n_cancelled, 2);
    assert_int_equal(f.n_started, 2); /* the third never began */
    expect_waiting(&f, RETRY_MS);
    peer_accept(&p, &f);
    peer_is_served(&p);
    assert_int_equal(f.n_started, 2);
    peer_close(&p);
    fixture_deinit(&f);
}

/* Nothing is read from it any more; writing tells. */
static void a_hub_that_goes_without_having_read_is_missed_too(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, DEFAULTS);
    peer_sends(&p, SPAN(CALL("1", "hold", "{}")));
    expect_started(&f, 1);
    io_stream_pause(p.stream);
    for (size_t i = 0; i < 20; i++) {
        peer_sends(&p, SPAN(CALL("2", "big", "{}")));
        turn(&f);
    }
    peer_close(&p);
    (void)expect_state(&f, ADDIN_DISCONNECTED);
    assert_int_equal(f.n_cancelled, 1);
    peer_accept(&p, &f);
    peer_is_served(&p);
    peer_close(&p);
    fixture_deinit(&f);
}

/* ---- the end ---- */

static void expect_stopped(Fixture *f)
{
    (void)expect_state(f, ADDIN_STOPPED);
    while (f->n_closed == 0) {
        run(f);
    }
    assert_int_equal(f->n_closed, 1);
    assert_true(f->door == NULL || addin_door_state(f->door) == ADDIN_STOPPED);
}

static void a_shutdown_lets_calls_finish_and_takes_no_more(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, DEFAULTS);
    peer_sends(&p, SPAN(CALL("1", "hold", "{}")));
    expect_started(&f, 1);
    addin_door_shutdown(f.door);
    addin_door_shutdown(f.door);
    peer_sends(&p, SPAN(PING));
    peer_expects_pong(&p);
    peer_sends(&p, SPAN(CALL("late", "echo", "{\"message\":\"late\"}")));
    peer_expects_failure(&p, PIPE_TOOL_RESULT, "late", PIPE_CODE_NOT_AVAILABLE);
    assert_int_equal(f.n_events, 2);
    hold_let_go(&f, 0);
    peer_expects(&p, "1", SAYS("let go"));
    peer_expects_end(&p);
    expect_stopped(&f);
    addin_door_shutdown(f.door);
    turn(&f);
    assert_int_equal(f.n_closed, 1);
    assert_int_equal(f.n_cancelled, 0);
    assert_int_equal(f.n_logged, 0);
    peer_close(&p);
    fixture_deinit(&f);
}

static void calls_that_waited_at_the_shutdown_still_run(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, &(AddinDoorConfig){.one_at_a_time = true});
    peer_sends(&p, SPAN(CALL("1", "hold", "{}")));
    peer_sends(&p, SPAN(CALL("2", "hold", "{}")));
    peer_sends(&p, SPAN(CALL("3", "echo", "{\"message\":\"third\"}")));
    peer_sends(&p, SPAN(PING));
    peer_expects_pong(&p);
    addin_door_shutdown(f.door);
    turn(&f);
    peer_sends(&p, SPAN(CALL("late", "echo", "{\"message\":\"late\"}")));
    peer_sends(&p, SPAN(PING));
    peer_expects_pong(&p);
    hold_let_go(&f, 0);
    peer_expects(&p, "1", SAYS("let go"));
    hold_let_go(&f, 0);
    peer_expects(&p, "2", SAYS("let go"));
    peer_expects(&p, "3", SAYS("third"));
    peer_expects_failure(&p, PIPE_TOOL_RESULT, "late", PIPE_CODE_NOT_AVAILABLE);
    peer_expects_end(&p);
    expect_stopped(&f);
    peer_close(&p);
    fixture_deinit(&f);
}

static void the_drain_is_bounded(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, &(AddinDoorConfig){.drain_ms = 10});
    peer_sends(&p, SPAN(CALL("1", "hold", "{}")));
    expect_started(&f, 1);
    addin_door_shutdown(f.door);
    expect_stopped(&f);
    assert_int_equal(f.n_cancelled, 1);
    assert_int_equal(f.n_logged, 1);
    peer_expects_end(&p);
    peer_close(&p);
    fixture_deinit(&f);
}

static void the_drain_does_not_wait_longer_for_a_hub_that_does_not_read(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, &(AddinDoorConfig){.drain_ms = 10});
    io_stream_pause(p.stream);
    for (size_t i = 0; i < 10; i++) {
        peer_sends(&p, SPAN(CALL("1", "big", "{}")));
        turn(&f);
    }
    addin_door_shutdown(f.door);
    expect_stopped(&f);
    peer_close(&p);
    fixture_deinit(&f);
}

static void a_hub_that_goes_during_the_drain_ends_it(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, DEFAULTS);
    peer_sends(&p, SPAN(CALL("1", "hold", "{}")));
    expect_started(&f, 1);
    addin_door_shutdown(f.door);
    turn(&f);
    peer_close(&p);
    expect_stopped(&f);
    assert_int_equal(f.n_cancelled, 1);
    fixture_deinit(&f);
}

static void a_shutdown_without_a_connection_is_told_at_once(void **state)
{
    Fixture f;

    (void)state;
    /* Before the loop has run; */
    assert_int_equal(fixture_prepare(&f), 0);
    assert_int_equal(fixture_door(&f, DEFAULTS), 0);
    addin_door_shutdown(f.door);
    expect_stopped(&f);
    assert_int_equal(f.n_events, 1);
    fixture_deinit(&f);
    /* while it waits; */
    assert_int_equal(fixture_prepare(&f), 0);
    assert_int_equal(fixture_door(&f, DEFAULTS), 0);
    (void)expect_state(&f, ADDIN_CONNECTING);
    (void)expect_state(&f, ADDIN_WAITING);
    addin_door_shutdown(f.door);
    expect_stopped(&f);
    fixture_deinit(&f);
}

static void a_door_can_be_shut_down_whenever_it_tells_something(void **state)
{
    static const struct {
        AddinState at;
        bool has_hub;
    } rows[] = {
        {ADDIN_CONNECTING, true}, {ADDIN_CONNECTED, true},   {ADDIN_DISCONNECTED, true},
        {ADDIN_WAITING, true},    {ADDIN_CONNECTING, false}, {ADDIN_WAITING, false},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        Fixture f;

        assert_int_equal(fixture_prepare(&f), 0);
        if (rows[i].has_hub) {
            hub_opens(&f);
        }
        f.shuts_down = true;
        f.shutdown_at = rows[i].at;
        f.frees = true;
        /* Nothing else happens that would let the door see to it. */
        assert_int_equal(
            fixture_door(&f, &(AddinDoorConfig){.retry_ms = 3600000, .retry_max_ms = 3600000}), 0);
        io_loop_hold(hub_loop(f.hub));
        while (f.n_closed == 0) {
            run(&f);
            if (f.accepted >= 0) {
                assert_int_equal(close(f.accepted), 0);
                f.accepted = -1;
            }
        }
        io_loop_release(hub_loop(f.hub));
        assert_null(f.door);
        assert_int_equal(f.n_closed, 1);
        assert_int_equal(f.events[f.n_events - 2].state, rows[i].at);
        assert_int_equal(f.events[f.n_events - 1].state, ADDIN_STOPPED);
        fixture_deinit(&f);
    }
}

static void a_door_is_freed_while_calls_run(void **state)
{
    Fixture f;
    Peer p;

    (void)state;
    fixture_connect(&f, &p, DEFAULTS);
    peer_sends(&p, SPAN(CALL("1", "hold", "{}")));
    expect_started(&f, 1);
    f.door = addin_door_free(f.door);
    assert_int_equal(f.n_cancelled, 1);
    assert_int_equal(f.n_closed, 0);
    assert_int_equal(f.n_events, 2);
    peer_expects_end(&p);
    peer_close(&p);
    fixture_deinit(&f);
}

static void a_door_keeps_the_loop_running_until_it_has_stopped(void **state)
{
    Fixture f;

    (void)state;
    assert_int_equal(fixture_prepare(&f), 0);
    assert_int_equal(fixture_door(&f, DEFAULTS), 0);
    for (size_t i = 0; i < 3; i++) {
        (void)expect_state(&f, ADDIN_CONNECTING);
        (void)expect_state(&f, ADDIN_WAITING);
    }
    addin_door_shutdown(f.door);
    expect_stopped(&f);
    run(&f); /* returns: there is nothing to wait for */
    fixture_deinit(&f);
}

/* ---- no memory ---- */

static int open_once(void *context)
{
    Fixture f;
    int r = fixture_prepare(&f);

    (void)context;
    if (r == 0) {
        r = fixture_door(&f, DEFAULTS);
    }
    fixture_deinit(&f);
    return r;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    (void)state;
    test_oom_sweep(open_once, NULL);
}

/* Takes answers until that of this call, a success, is there. */
static void peer_expects_last(Peer *p, const char *call_id)
{
    for (bool is_last = false; !is_last;) {
        Got got;

        peer_takes(p, &got, PIPE_TOOL_RESULT);
        is_last = span_equals(got.message.call_id, span_from_str(call_id));
        assert_true(!is_last || got.message.success);
        got_deinit(&got);
    }
}

/* Connects while the n-th allocation fails, and then when there is memory again. */
static void connect_with(Fixture *f, Peer *p, size_t n)
{
    assert_int_equal(fixture_prepare(f), 0);
    hub_opens(f);
    assert_int_equal(fixture_door(f, DEFAULTS), 0);
    alloc_testing_reset(n);
    (void)expect_state(f, ADDIN_CONNECTING);
    while (f->n_events < 2) {
        run(f);
    }
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    while (addin_door_state(f->door) != ADDIN_CONNECTED) {
        run(f);
    }
    /* Those that came to nothing have been accepted, too. */
    for (size_t i = 0; i < 3; i++) {
        turn(f);
    }
    peer_accept(p, f);
}

/* Whatever fails while a connection is made, or a call served, costs that connection at the most:
 * when there is memory again the door serves. */
static void want_of_memory_costs_a_connection_at_the_most(void **state)
{
    size_t n_lost = 0;
    bool has_failed = true;

    (void)state;
    for (size_t n = 0; has_failed; n++) {
        Fixture f;
        Peer p;

        connect_with(&f, &p, n);
        io_stream_pause(p.stream);
        peer_sends(&p, SPAN(CALL("1", "sleep", "{\"ms\":1}")));
        peer_sends(&p, SPAN(CALL("list", PIPE_LIST_TOOLS, "{}")));
        alloc_testing_reset(n);
        for (size_t i = 0; i < 5; i++) {
            turn(&f);
        }
        has_failed = alloc_testing()->n_failed > 0;
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        io_stream_resume(p.stream);
        if (addin_door_state(f.door) != ADDIN_CONNECTED) {
            n_lost++;
            peer_close(&p);
            peer_accept(&p, &f);
        }
        peer_sends(&p, SPAN(CALL("2", "echo", "{\"message\":\"again\"}")));
        peer_expects_last(&p, "2");
        peer_close(&p);
        fixture_deinit(&f);
    }
    assert_true(n_lost > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_double_up_to_their_maximum_and_begin_anew_after_a_connection),
        cmocka_unit_test(a_hub_that_closes_at_once_is_not_tried_without_a_wait),
        cmocka_unit_test(a_new_hub_at_the_same_place_is_found),
        cmocka_unit_test(a_hub_that_does_not_accept_is_a_failure_like_others),
        cmocka_unit_test(a_hub_of_another_user_is_not_talked_to),
        cmocka_unit_test(a_hub_that_goes_cancels_its_calls),
        cmocka_unit_test(a_hub_that_goes_without_having_read_is_missed_too),
        cmocka_unit_test(a_shutdown_lets_calls_finish_and_takes_no_more),
        cmocka_unit_test(calls_that_waited_at_the_shutdown_still_run),
        cmocka_unit_test(the_drain_is_bounded),
        cmocka_unit_test(the_drain_does_not_wait_longer_for_a_hub_that_does_not_read),
        cmocka_unit_test(a_hub_that_goes_during_the_drain_ends_it),
        cmocka_unit_test(a_shutdown_without_a_connection_is_told_at_once),
        cmocka_unit_test(a_door_can_be_shut_down_whenever_it_tells_something),
        cmocka_unit_test(a_door_is_freed_while_calls_run),
        cmocka_unit_test(a_door_keeps_the_loop_running_until_it_has_stopped),
        cmocka_unit_test(no_allocation_may_fail_unnoticed),
        cmocka_unit_test(want_of_memory_costs_a_connection_at_the_most),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
