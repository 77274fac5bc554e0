#include "unit/app/http_door_rig.h"

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

static void at_the_end_listeners_get_their_result_and_calls_may_finish(void **state)
{
    Fixture f;
    Client listener;
    Client caller;
    Client idle;

    (void)state;
    fixture_init(&f);
    client_open(&listener, &f);
    client_open(&caller, &f);
    client_open(&idle, &f);
    client_calls_echo(&idle);
    client_asks(&listener, "POST", "/mcp", MODERN("subscriptions/listen"), LISTEN);
    client_awaits(&listener, "acknowledged");
    client_asks(&caller, "POST", "/mcp", MODERN_TOOL("hold"), CALL("1", "hold", "{}"));
    await_held(&f, 1);
    http_door_shutdown(f.door);
    http_door_shutdown(f.door);
    assert_int_equal(f.n_closed, 0);
    client_awaits(&listener, "\"id\":7,\"result\"");
    client_awaits_end(&listener);
    client_close(&listener);
    client_awaits_end(&idle);
    client_close(&idle);
    assert_int_equal(f.n_closed, 0);
    hold_let_go(&f);
    client_awaits(&caller, "let go");
    client_awaits_end(&caller);
    client_close(&caller);
    await_closed(&f);
    assert_int_equal(f.n_cancelled, 0);
    run_turn(&f);
    assert_int_equal(f.n_closed, 1);
    fixture_deinit(&f);
}

static void the_drain_is_bounded(void **state)
{
    char session[1024];
    Fixture f;
    Client c;
    Client legacy;

    (void)state;
    (void)alarm(WATCHDOG_S);
    assert_int_equal(fixture_open(&f, (HttpDoorConfig){.drain_ms = 10}, NULL), 0);
    client_open(&c, &f);
    client_open(&legacy, &f);
    client_opens_session(&legacy, "", session);
    client_asks(&legacy, "POST", "/mcp", session, OLD_CALL("1", "sleep", "{\"ms\":600000}"));
    client_asks(&c, "POST", "/mcp", MODERN_TOOL("hold"), CALL("1", "hold", "{}"));
    await_held(&f, 1);
    http_door_shutdown(f.door);
    client_awaits(&c, "HTTP/1.1 503 ");
    assert_int_equal(f.n_cancelled, 1);
    await_closed(&f);
    assert_int_equal(http_door_figures(f.door).n_connections, 0);
    client_awaits_end(&c);
    client_awaits_end(&legacy);
    client_close(&c);
    client_close(&legacy);
    fixture_deinit(&f);
}

static void who_does_not_read_cannot_hold_the_end(void **state)
{
    Fixture f;
    Client c;

    (void)state;
    (void)alarm(WATCHDOG_S);
    assert_int_equal(fixture_open(&f, (HttpDoorConfig){.drain_ms = 10}, NULL), 0);
    client_open(&c, &f);
    client_asks(&c, "POST", "/mcp", MODERN_TOOL("big"), CALL("1", "big", "{}"));
    client_asks(&c, "POST", "/mcp", MODERN_TOOL("hold"), CALL("2", "hold", "{}"));
    while (http_door_figures(f.door).bytes_out == 0) {
        run_turn(&f);
    }
    http_door_shutdown(f.door);
    await_closed(&f);
    assert_int_equal(http_door_figures(f.door).n_connections, 0);
    client_awaits_end(&c);
    assert_true(c.n < BIG_BYTES);
    client_close(&c);
    fixture_deinit(&f);
}

static void a_call_whose_client_left_may_finish_too(void **state)
{
    char session[1024];
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_opens_session(&c, "", session);
    client_asks(&c, "POST", "/mcp", session, OLD_CALL("1", "hold", "{}"));
    await_held(&f, 1);
    client_close(&c);
    await_connections(&f, 0);
    http_door_shutdown(f.door);
    run_turn(&f);
    run_turn(&f);
    assert_int_equal(f.n_closed, 0);
    hold_let_go(&f);
    await_closed(&f);
    assert_int_equal(f.n_cancelled, 0);
    fixture_deinit(&f);
}

static void free_when_closed(void *context)
{
    Fixture *f = context;

    f->door = http_door_free(f->door);
    on_closed(f);
}

static void the_door_may_be_freed_by_who_is_told_of_its_end(void **state)
{
    Fixture f;
    Client c;

    (void)state;
    (void)alarm(WATCHDOG_S);
    assert_int_equal(fixture_open(&f, (HttpDoorConfig){.closed = free_when_closed}, NULL), 0);
    client_open(&c, &f);
    client_calls_echo(&c);
    http_door_shutdown(f.door);
    await_closed(&f);
    assert_null(f.door);
    client_awaits_end(&c);
    client_close(&c);
    fixture_deinit(&f);
}

static void a_door_without_clients_closes_at_once(void **state)
{
    Fixture f;

    (void)state;
    fixture_init(&f);
    http_door_shutdown(f.door);
    assert_int_equal(f.n_closed, 0); /* not from inside */
    assert_int_equal(io_loop_run(hub_loop(f.hub)), 0);
    assert_int_equal(f.n_closed, 1);
    fixture_deinit(&f);
}

static void a_door_is_freed_while_calls_run(void **state)
{
    char session[1024];
    Fixture f;
    Client c;
    Client legacy;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_open(&legacy, &f);
    client_opens_session(&legacy, "", session);
    client_asks(&legacy, "POST", "/mcp", session, OLD_CALL("1", "sleep", "{\"ms\":600000}"));
    client_asks(&c, "POST", "/mcp", MODERN_TOOL("hold"), CALL("1", "hold", "{}"));
    await_held(&f, 1);
    client_close(&legacy);
    fixture_deinit(&f);
    assert_int_equal(f.n_cancelled, 1);
    client_close(&c);
}

static int scenario_open(void *context)
{
    Fixture f;
    int r = fixture_open(&f, (HttpDoorConfig){.address = "unix:"}, NULL);

    (void)context;
    fixture_deinit(&f);
    return r;
}

static void opening_survives_want_of_memory(void **state)
{
    (void)state;
    test_oom_sweep(scenario_open, NULL);
}

static void what_a_session_had_goes_back_to_the_system(void **state)
{
    long n = alloc_testing()->n_trims;
    char fields[1024];
    Fixture f;
    Client c;

    (void)state;
    fixture_init(&f);
    client_open(&c, &f);
    client_opens_session(&c, "", fields);
    client_asks(&c, "DELETE", "/mcp", fields, "");
    client_awaits(&c, "HTTP/1.1 204 ");
    while (alloc_testing()->n_trims == n) {
        run_turn(&f);
    }
    assert_int_equal(http_door_figures(f.door).n_connections, 1);
    client_close(&c);
    fixture_deinit(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(at_the_end_listeners_get_their_result_and_calls_may_finish),
        cmocka_unit_test(the_drain_is_bounded),
        cmocka_unit_test(who_does_not_read_cannot_hold_the_end),
        cmocka_unit_test(a_call_whose_client_left_may_finish_too),
        cmocka_unit_test(the_door_may_be_freed_by_who_is_told_of_its_end),
        cmocka_unit_test(a_door_without_clients_closes_at_once),
        cmocka_unit_test(a_door_is_freed_while_calls_run),
        cmocka_unit_test(what_a_session_had_goes_back_to_the_system),
        cmocka_unit_test(opening_survives_want_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
