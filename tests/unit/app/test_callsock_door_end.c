/* How connections and the door itself end. */
#include "app/callsock_door.h"

#include "support/cmocka.h"

#include <errno.h>

#include "support/turns.h"
#include "unit/app/callsock_door_rig.h"

/* ---- bridges that go ---- */

static void a_bridge_that_goes_cancels_its_call(void **state)
{
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_sends(&c, SPAN(REQUEST("hold", "{}")));
    run(&f);
    assert_int_equal(f.n_held, 1);
    client_close(&c);
    run(&f);
    assert_int_equal(f.n_cancelled, 1);
    client_open(&c, &f);
    client_is_served(&c);
    assert_int_equal(callsock_door_connections(f.door), 1);
    client_close(&c);
    fixture_deinit(&f);
}

/* Nothing is read from it any more, so its end is looked for. */
static void a_bridge_that_sent_ahead_and_goes_is_missed_too(void **state)
{
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_sends(&c, SPAN(REQUEST("hold", "{}")));
    run(&f);
    client_sends(&c, SPAN(REQUEST("hold", "{}")));
    client_close(&c);
    run(&f);
    assert_int_equal(f.n_cancelled, 1);
    assert_int_equal(f.n_held, 1);
    fixture_deinit(&f);
}

static void a_bridge_that_only_stops_sending_gets_its_answers(void **state)
{
    Client other;
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&other, &f);
    client_open(&c, &f);
    client_sends(&c, SPAN(REQUEST("hold", "{}")));
    run(&f);
    io_stream_shut_output(c.stream);
    /* By then the door has seen the end. */
    client_is_served(&other);
    client_is_served(&other);
    hold_let_go(&f);
    client_expects(&c, RESULT("let go"));
    client_expects_end(&c);
    client_close(&c);
    client_close(&other);
    /* The same with a request that waits. */
    client_open(&c, &f);
    client_sends(&c, SPAN(REQUEST("hold", "{}")));
    client_sends(&c, SPAN(REQUEST("echo", "{\"message\":\"last\"}")));
    io_stream_shut_output(c.stream);
    run(&f);
    hold_let_go(&f);
    client_expects(&c, RESULT("let go"));
    client_expects(&c, RESULT("last"));
    client_expects_end(&c);
    client_close(&c);
    fixture_deinit(&f);
}

static void a_connection_without_a_request_may_end(void **state)
{
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    for (size_t i = 0; i < 3; i++) {
        client_open(&c, &f);
        client_close(&c);
    }
    client_open(&c, &f);
    client_is_served(&c);
    client_is_served(&c);
    assert_int_equal(callsock_door_connections(f.door), 1);
    client_close(&c);
    fixture_deinit(&f);
}

/* ---- the end ---- */

static void a_shutdown_lets_calls_finish_and_takes_no_more(void **state)
{
    Client clients[2];
    Fixture f;
    int fd;

    (void)state;
    fixture_init(&f);
    client_open(&clients[0], &f);
    client_open(&clients[1], &f);
    client_is_served(&clients[1]);
    client_sends(&clients[0], SPAN(REQUEST("hold", "{}")));
    run(&f);
    client_sends(&clients[0], SPAN(REQUEST("echo", "{\"message\":\"late\"}")));
    callsock_door_shutdown(f.door);
    callsock_door_shutdown(f.door);
    assert_int_equal(unix_socket_connect(f.path, &fd), -ENOENT);
    client_expects_end(&clients[1]);
    assert_int_equal(f.n_closed, 0);
    hold_let_go(&f);
    client_expects(&clients[0], RESULT("let go"));
    client_expects_end(&clients[0]);
    while (f.n_closed == 0) {
        run(&f);
    }
    assert_int_equal(f.n_closed, 1);
    assert_int_equal(f.n_cancelled, 0);
    client_close(&clients[0]);
    client_close(&clients[1]);
    fixture_deinit(&f);
}

static void the_drain_is_bounded(void **state)
{
    Fixture f;
    Client c;

    (void)state;
    assert_int_equal(fixture_open(&f, NULL, 0, 10), 0);
    client_open(&c, &f);
    client_sends(&c, SPAN(REQUEST("hold", "{}")));
    run(&f);
    callsock_door_shutdown(f.door);
    while (f.n_closed == 0) {
        run(&f);
    }
    assert_int_equal(f.n_cancelled, 1);
    assert_int_equal(f.n_logged, 1);
    client_expects_end(&c);
    client_close(&c);
    fixture_deinit(&f);
}

static void a_shutdown_without_connections_is_told_too(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f);
    callsock_door_shutdown(f.door);
    run(&f);
    assert_int_equal(f.n_closed, 1);
    fixture_deinit(&f);
}

static void a_door_is_freed_while_calls_run(void **state)
{
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_sends(&c, SPAN(REQUEST("hold", "{}")));
    run(&f);
    f.door = callsock_door_free(f.door);
    io_loop_release(hub_loop(f.hub));
    assert_int_equal(f.n_cancelled, 1);
    assert_int_equal(f.n_closed, 0);
    client_close(&c);
    fixture_deinit(&f);
}

/* ---- turns that take too long ---- */

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

static void assert_closed_for_its_turn(Fixture *f, Client *c, Turns *turns)
{
    Client other;

    while (!c->has_ended) {
        run(f);
    }
    turns_assert_blamed(turns, "a bridge on the call socket");
    router_set_watch(hub_router(f->hub), NULL);
    client_open(&other, f);
    client_is_served(&other);
    assert_int_equal(callsock_door_connections(f->door), 1);
    client_close(&other);
    client_close(c);
}

/* Each of its calls takes a while, and hundreds have come at once: the others wait. */
static void a_bridge_whose_turn_takes_too_long_is_closed(void **state)
{
    const RouterLimits limits = {.rate_off = true};
    static Turns turns;
    size_t n = 0;
    const RouterWatch slow = {.began = slow_began, .ended = slow_ended, .context = &n};
    Fixture f;
    Client c;

    (void)state;
    assert_int_equal(fixture_open(&f, &limits, 0, 0), 0);
    turns_watch(&turns, hub_loop(f.hub));
    router_set_watch(hub_router(f.hub), &slow);
    client_open(&c, &f);
    for (int i = 0; i < TURNS_MESSAGES; i++) {
        client_sends(&c, SPAN(REQUEST("echo", "{\"message\":\"m\"}")));
    }
    assert_closed_for_its_turn(&f, &c, &turns);
    assert_true(n < TURNS_MESSAGES);
    fixture_deinit(&f);
}

/* The requests have waited behind a call. */
static void a_bridge_is_closed_for_what_waited_too(void **state)
{
    const RouterLimits limits = {.rate_off = true};
    static Turns turns;
    size_t n = 0;
    const RouterWatch slow = {.began = slow_began, .ended = slow_ended, .context = &n};
    Fixture f;
    Client c;

    (void)state;
    assert_int_equal(fixture_open(&f, &limits, 0, 0), 0);
    turns_watch(&turns, hub_loop(f.hub));
    router_set_watch(hub_router(f.hub), &slow);
    client_open(&c, &f);
    client_sends(&c, SPAN(REQUEST("hold", "{}")));
    for (int i = 0; i < TURNS_MESSAGES; i++) {
        client_sends(&c, SPAN(REQUEST("echo", "{\"message\":\"m\"}")));
    }
    run(&f);
    assert_int_equal(f.n_held, 1);
    hold_let_go(&f);
    assert_closed_for_its_turn(&f, &c, &turns);
    assert_true(n < TURNS_MESSAGES);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bridge_that_goes_cancels_its_call),
        cmocka_unit_test(a_bridge_that_sent_ahead_and_goes_is_missed_too),
        cmocka_unit_test(a_bridge_that_only_stops_sending_gets_its_answers),
        cmocka_unit_test(a_connection_without_a_request_may_end),
        cmocka_unit_test(a_shutdown_lets_calls_finish_and_takes_no_more),
        cmocka_unit_test(the_drain_is_bounded),
        cmocka_unit_test(a_shutdown_without_connections_is_told_too),
        cmocka_unit_test(a_door_is_freed_while_calls_run),
        cmocka_unit_test(a_bridge_whose_turn_takes_too_long_is_closed),
        cmocka_unit_test(a_bridge_is_closed_for_what_waited_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
