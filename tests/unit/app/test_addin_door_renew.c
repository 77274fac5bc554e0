/* What is offered changes while a hub is connected: a second connection takes over. */
#include "app/addin_door.h"

#include "support/cmocka.h"

#include "app/addin_renewal.h"
#include "unit/app/addin_door_hub.h"

#define NEW_TOOL "{\"name\":\"new\",\"inputSchema\":{\"type\":\"object\"}}"

static void door_changes(Fixture *f)
{
    assert_int_equal(add_entry(f, ROUTER_TOOL, SPAN(NEW_TOOL), &big_provider), 0);
}

static void door_changes_back(Fixture *f)
{
    assert_int_equal(router_remove(hub_router(f->hub), ROUTER_TOOL, SPAN("new")), 0);
}

/* A connection whose hub has asked, and a change since. */
static void fixture_change(Fixture *f, Peer *old, const AddinDoorConfig *with)
{
    fixture_connect(f, old, with);
    peer_sends(old, ASK_LIST);
    peer_expects_list(old, "hold", -1);
    door_changes(f);
}

/* The old one has answered a ping, and hears nothing else. */
static void peer_takes_ping(Peer *p)
{
    Got got;

    peer_takes(p, &got, PIPE_PING);
    got_deinit(&got);
}

/* The hub asks the new connection, and is pinged there. */
static void peer_takes_over(Peer *new, const char *tool)
{
    peer_sends(new, ASK_LIST);
    peer_expects_list(new, tool, -1);
    peer_takes_ping(new);
    peer_sends(new, SPAN(PONG));
}

/* CONNECTING, CONNECTED and nothing since. */
static void assert_stands(const Fixture *f)
{
    assert_int_equal(f->n_events, 2);
    assert_int_equal(addin_door_state(f->door), ADDIN_CONNECTED);
}

static void a_new_connection_takes_over_without_loss(void **state)
{
    Fixture f;
    Peer old;
    Peer new;

    (void)state;
    fixture_change(&f, &old, DEFAULTS);
    peer_accept(&new, &f);
    /* Both are served. */
    peer_is_served(&old);
    peer_is_served(&new);
    peer_takes_over(&new, "new");
    peer_takes_ping(&old);
    peer_is_served(&new);
    /* Sent before the pong, and held: the old connection waits for it. */
    peer_sends(&old, SPAN(CALL("1", "hold", "{}")));
    peer_sends(&old, SPAN(PONG));
    expect_started(&f, 1);
    peer_is_served(&new);
    peer_is_served(&old);
    hold_let_go(&f, 0);
    peer_expects(&old, "1", SAYS("let go"));
    peer_expects_end(&old);
    peer_close(&old);
    peer_is_served(&new);
    assert_int_equal(f.n_cancelled, 0);
    assert_int_equal(f.n_logged, 0);
    assert_stands(&f);
    peer_close(&new);
    fixture_deinit(&f);
}

/* Where the door used to close: idle, with a call in the socket that it has not read. */
static void a_call_that_is_under_way_when_it_changes_is_answered(void **state)
{
    Fixture f;
    Peer old;
    Peer new;

    (void)state;
    fixture_connect(&f, &old, DEFAULTS);
    peer_sends(&old, ASK_LIST);
    peer_expects_list(&old, "hold", -1);
    peer_sends(&old, SPAN(CALL("1", "echo", "{\"message\":\"under way\"}")));
    door_changes(&f);
    peer_expects(&old, "1", SAYS("under way"));
    peer_accept(&new, &f);
    peer_takes_over(&new, "new");
    peer_takes_ping(&old);
    peer_sends(&old, SPAN(CALL("2", "echo", "{\"message\":\"before the pong\"}")));
    peer_sends(&old, SPAN(PONG));
    peer_expects(&old, "2", SAYS("before the pong"));
    peer_expects_end(&old);
    peer_close(&old);
    assert_stands(&f);
    peer_close(&new);
    fixture_deinit(&f);
}

static void calls_still_run_one_after_the_other(void **state)
{
    Fixture f;
    Peer old;
    Peer new;

    (void)state;
    fixture_change(&f, &old, &(AddinDoorConfig){.one_at_a_time = true});
    peer_accept(&new, &f);
    peer_sends(&old, SPAN(CALL("1", "hold", "{}")));
    expect_started(&f, 1);
    peer_takes_over(&new, "new");
    peer_sends(&new, SPAN(CALL("3", "hold", "{}")));
    peer_sends(&new, SPAN(CALL("4", "echo", "{\"message\":\"last\"}")));
    peer_takes_ping(&old);
    peer_sends(&old, SPAN(CALL("2", "hold", "{}")));
    peer_sends(&old, SPAN(PONG));
    /* Pongs show that the door has heard of all of them. */
    peer_sends(&new, SPAN(PING));
    peer_expects_pong(&new);
    peer_sends(&old, SPAN(PING));
    peer_expects_pong(&old);
    assert_int_equal(f.n_started, 1);
    hold_let_go(&f, 0);
    peer_expects(&old, "1", SAYS("let go"));
    peer_sends(&new, SPAN(PING));
    peer_expects_pong(&new);
    assert_int_equal(f.n_started, 2);
    hold_let_go(&f, 0);
    peer_expects(&old, "2", SAYS("let go"));
    peer_expects_end(&old);
    peer_close(&old);
    expect_started(&f, 3);
    hold_let_go(&f, 0);
    peer_expects(&new, "3", SAYS("let go"));
    peer_expects(&new, "4", SAYS("last"));
    peer_is_served(&new);
    assert_stands(&f);
    peer_close(&new);
    fixture_deinit(&f);
}

static void both_connections_share_the_limits(void **state)
{
    Fixture f;
    Peer old;
    Peer new;

    (void)state;
    fixture_change(&f, &old,
                   &(AddinDoorConfig){.limits = &(RouterLimits){
                                          .max_in_flight = 2, .rate_burst = 4, .rate_per_s = 1}});
    peer_accept(&new, &f);
    peer_sends(&old, SPAN(CALL("1", "hold", "{}")));
    expect_started(&f, 1);
    peer_takes_over(&new, "new");
    peer_takes_ping(&old);
    peer_sends(&new, SPAN(CALL("2", "hold", "{}")));
    peer_sends(&new, SPAN(CALL("3", "hold", "{}")));
    expect_started(&f, 2);
    peer_sends(&new, SPAN(PING));
    peer_expects_pong(&new);
    assert_int_equal(f.n_started, 2);
    hold_let_go(&f, 0);
    peer_expects(&old, "1", SAYS("let go"));
    expect_started(&f, 3);
    hold_let_go(&f, 0);
    hold_let_go(&f, 0);
    peer_expects(&new, "2", SAYS("let go"));
    peer_expects(&new, "3", SAYS("let go"));
    peer_sends(&new, SPAN(CALL("4", "echo", "{\"message\":\"the last\"}")));
    peer_expects(&new, "4", SAYS("the last"));
    peer_sends(&new, SPAN(CALL("5", "echo", "{\"message\":\"too many\"}")));
    peer_expects_failure(&new, PIPE_TOOL_RESULT, "5", PIPE_CODE_HANDLER);
    peer_close(&old);
    peer_close(&new);
    fixture_deinit(&f);
}

static void what_changes_meanwhile_is_told_by_another_one(void **state)
{
    Fixture f;
    Peer old;
    Peer new;
    Peer third;

    (void)state;
    fixture_change(&f, &old, DEFAULTS);
    peer_accept(&new, &f);
    peer_takes_over(&new, "new");
    door_changes_back(&f);
    peer_takes_ping(&old);
    assert_int_equal(f.accepted, -1); /* one at a time */
    peer_sends(&old, SPAN(PONG));
    peer_expects_end(&old);
    peer_close(&old);
    peer_accept(&third, &f);
    peer_takes_over(&third, "hold");
    peer_takes_ping(&new);
    peer_sends(&new, SPAN(PONG));
    peer_expects_end(&new);
    peer_close(&new);
    peer_is_served(&third);
    turn(&f);
    assert_int_equal(f.accepted, -1);
    assert_stands(&f);
    peer_close(&third);
    fixture_deinit(&f);
}

/* A hub that understands tools_changed asks the same connection again: there is no other. */
static void a_hub_that_understands_it_is_told_of_changes(void **state)
{
    Span ask =
        SPAN(CALL("list", PIPE_LIST_TOOLS, "{\"understands\":[\"tools_changed\",\"unheard_of\"]}"));
    Fixture f;
    Peer peer;
    Got got;

    (void)state;
    fixture_connect(&f, &peer, DEFAULTS);
    peer_sends(&peer, ask);
    peer_expects_list(&peer, "hold", -1);
    for (int i = 0; i < 3; i++) {
        door_changes(&f);
        peer_takes(&peer, &got, PIPE_TOOLS_CHANGED);
        got_deinit(&got);
        /* Told once for all that changes until it asks. */
        door_changes_back(&f);
        door_changes(&f);
        peer_is_served(&peer);
        peer_sends(&peer, ask);
        peer_expects_list(&peer, "new", -1);
        door_changes_back(&f);
        peer_takes(&peer, &got, PIPE_TOOLS_CHANGED);
        got_deinit(&got);
        peer_sends(&peer, ask);
        peer_expects_list(&peer, "hold", -1);
        peer_is_served(&peer);
    }
    turn(&f);
    assert_int_equal(f.accepted, -1);
    assert_stands(&f);
    peer_close(&peer);
    fixture_deinit(&f);
}

/* The new connection's list has it already. */
static void what_changes_before_the_hub_asks_needs_no_other_one(void **state)
{
    Fixture f;
    Peer old;
    Peer new;

    (void)state;
    fixture_change(&f, &old, DEFAULTS);
    peer_accept(&new, &f);
    door_changes_back(&f);
    door_changes(&f);
    peer_is_served(&new);
    peer_takes_over(&new, "new");
    peer_takes_ping(&old);
    peer_sends(&old, SPAN(PONG));
    peer_expects_end(&old);
    peer_close(&old);
    peer_is_served(&new);
    turn(&f);
    assert_int_equal(f.accepted, -1);
    assert_stands(&f);
    peer_close(&new);
    fixture_deinit(&f);
}

static void if_the_new_one_is_lost_the_old_one_stays_and_it_is_tried_again(void **state)
{
    Fixture f;
    Peer old;
    Peer new;

    (void)state;
    fixture_change(&f, &old, DEFAULTS);
    peer_sends(&old, SPAN(CALL("1", "hold", "{}")));
    /* At once; when it was asked; when it has taken over. */
    for (int when = 0; when < 3; when++) {
        peer_accept(&new, &f);
        if (when == 1) {
            peer_sends(&new, ASK_LIST);
            peer_expects_list(&new, "new", -1);
        } else if (when == 2) {
            peer_takes_over(&new, "new");
            peer_takes_ping(&old);
        }
        peer_close(&new);
        peer_is_served(&old);
    }
    assert_int_equal(f.n_cancelled, 0);
    peer_accept(&new, &f);
    peer_takes_over(&new, "new");
    peer_takes_ping(&old);
    peer_sends(&old, SPAN(PONG)); /* of the third attempt */
    peer_sends(&old, SPAN(PONG));
    hold_let_go(&f, 0);
    peer_expects(&old, "1", SAYS("let go"));
    peer_expects_end(&old);
    peer_close(&old);
    peer_is_served(&new);
    assert_stands(&f);
    peer_close(&new);
    fixture_deinit(&f);
}

static void if_no_new_one_can_be_had_the_old_one_stays_and_it_is_tried_again(void **state)
{
    Fixture f;
    Peer old;
    Peer new;

    (void)state;
    fixture_connect(&f, &old, DEFAULTS);
    peer_sends(&old, ASK_LIST);
    peer_expects_list(&old, "hold", -1);
    hub_leaves(&f);
    door_changes(&f);
    for (int i = 0; i < 5; i++) {
        peer_is_served(&old);
        turn(&f);
    }
    assert_stands(&f);
    hub_opens(&f);
    peer_accept(&new, &f);
    peer_takes_over(&new, "new");
    peer_takes_ping(&old);
    peer_sends(&old, SPAN(PONG));
    peer_expects_end(&old);
    peer_close(&old);
    peer_is_served(&new);
    assert_stands(&f);
    peer_close(&new);
    fixture_deinit(&f);
}

static void if_the_old_one_is_lost_the_new_one_is_the_connection(void **state)
{
    Fixture f;
    Peer old;
    Peer new;

    (void)state;
    for (int when = 0; when < 3; when++) {
        fixture_change(&f, &old, &(AddinDoorConfig){.one_at_a_time = true});
        peer_accept(&new, &f);
        peer_sends(&old, SPAN(CALL("1", "hold", "{}")));
        expect_started(&f, 1);
        if (when == 1) {
            peer_takes_over(&new, "new");
        } else if (when == 2) {
            peer_takes_over(&new, "new");
            peer_takes_ping(&old);
            peer_sends(&old, SPAN(PONG));
        }
        peer_close(&old);
        peer_is_served(&new);
        assert_int_equal(f.n_cancelled, 1);
        assert_stands(&f);
        if (when == 0) {
            /* It is a connection like any other: asked later, and replaced when that changes. */
            peer_sends(&new, ASK_LIST);
            peer_expects_list(&new, "new", -1);
            door_changes_back(&f);
            peer_accept(&old, &f);
            peer_close(&old);
        }
        peer_close(&new);
        (void)expect_state(&f, ADDIN_DISCONNECTED);
        expect_waiting(&f, RETRY_MS);
        fixture_deinit(&f);
    }
}

static void a_hub_that_goes_altogether_is_awaited(void **state)
{
    Fixture f;
    Peer old;
    Peer new;

    (void)state;
    fixture_change(&f, &old, DEFAULTS);
    peer_accept(&new, &f);
    peer_is_served(&new);
    peer_close(&old);
    peer_close(&new);
    (void)expect_state(&f, ADDIN_DISCONNECTED);
    expect_waiting(&f, RETRY_MS);
    peer_accept(&old, &f);
    (void)expect_state(&f, ADDIN_CONNECTING);
    (void)expect_state(&f, ADDIN_CONNECTED);
    peer_sends(&old, ASK_LIST);
    peer_expects_list(&old, "new", -1);
    peer_close(&old);
    fixture_deinit(&f);
}

static void both_connections_drain(void **state)
{
    Fixture f;
    Peer old;
    Peer new;

    (void)state;
    fixture_change(&f, &old, &(AddinDoorConfig){.one_at_a_time = true});
    peer_accept(&new, &f);
    peer_sends(&old, SPAN(CALL("1", "hold", "{}")));
    peer_sends(&new, SPAN(CALL("2", "hold", "{}")));
    peer_sends(&new, SPAN(PING));
    peer_expects_pong(&new);
    expect_started(&f, 1);
    addin_door_shutdown(f.door);
    peer_sends(&old, SPAN(PING));
    peer_expects_pong(&old);
    hold_let_go(&f, 0);
    peer_expects(&old, "1", SAYS("let go"));
    peer_expects_end(&old);
    expect_started(&f, 2);
    assert_int_equal(f.n_closed, 0);
    hold_let_go(&f, 0);
    peer_expects(&new, "2", SAYS("let go"));
    peer_expects_end(&new);
    (void)expect_state(&f, ADDIN_STOPPED);
    assert_int_equal(f.n_closed, 1);
    assert_int_equal(f.n_logged, 0);
    peer_close(&old);
    peer_close(&new);
    fixture_deinit(&f);
}

static void what_does_not_end_in_time_is_cancelled_on_both(void **state)
{
    Fixture f;
    Peer old;
    Peer new;

    (void)state;
    fixture_change(&f, &old, &(AddinDoorConfig){.drain_ms = 1});
    peer_accept(&new, &f);
    peer_sends(&old, SPAN(CALL("1", "hold", "{}")));
    peer_sends(&new, SPAN(CALL("2", "hold", "{}")));
    expect_started(&f, 2);
    addin_door_shutdown(f.door);
    (void)expect_state(&f, ADDIN_STOPPED);
    assert_int_equal(f.n_cancelled, 2);
    assert_int_equal(f.n_logged, 1);
    peer_close(&old);
    peer_close(&new);
    fixture_deinit(&f);
}

static void a_door_that_is_freed_meanwhile_cancels_on_both(void **state)
{
    Fixture f;
    Peer old;
    Peer new;

    (void)state;
    fixture_change(&f, &old, DEFAULTS);
    peer_accept(&new, &f);
    peer_sends(&old, SPAN(CALL("1", "hold", "{}")));
    peer_sends(&new, SPAN(CALL("2", "hold", "{}")));
    expect_started(&f, 2);
    f.door = addin_door_free(f.door);
    assert_int_equal(f.n_cancelled, 2);
    peer_close(&old);
    peer_close(&new);
    fixture_deinit(&f);
}

/* ---- time ---- */

/* Sessions that only the steps are asked about. */
static void a_new_one_that_is_not_asked_in_time_is_given_up(void **state)
{
    AddinSession from = {.state = ADDIN_SESSION_OPEN, .is_stale = true};
    AddinSession to = {.state = ADDIN_SESSION_OPEN, .link = PIPE_LINK_NULL};
    AddinRenewal n;

    (void)state;
    addin_renewal_init(&n, 10, 40);
    assert_true(addin_renewal_is_due(&n, &from, 5));
    addin_renewal_begin(&n, &from, &to, 5);
    assert_false(addin_renewal_is_due(&n, &from, 5));
    assert_int_equal(addin_renewal_deadline(&n, &from), 5 + ADDIN_RENEWAL_MS);
    addin_renewal_advance(&n, 4 + ADDIN_RENEWAL_MS);
    addin_renewal_advance(&n, 4 + ADDIN_RENEWAL_MS);
    assert_false(to.is_over);
    /* Judged a turn late. */
    addin_renewal_advance(&n, 5 + ADDIN_RENEWAL_MS);
    assert_false(to.is_over);
    addin_renewal_advance(&n, 5 + ADDIN_RENEWAL_MS);
    assert_true(to.is_over);
    assert_false(from.is_over);
    /* Another attempt follows, later and later. */
    for (int64_t wait_ms = 10; wait_ms <= 40; wait_ms *= 2) {
        addin_renewal_fail(&n, 1000);
        assert_null(from.other);
        assert_int_equal(addin_renewal_deadline(&n, &from), 1000 + wait_ms);
        assert_false(addin_renewal_is_due(&n, &from, 999 + wait_ms));
        assert_true(addin_renewal_is_due(&n, &from, 1000 + wait_ms));
    }
    addin_renewal_end(&n);
    assert_true(addin_renewal_is_due(&n, &from, 0));
    from.is_stale = false;
    assert_int_equal(addin_renewal_deadline(&n, &from), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_connection_takes_over_without_loss),
        cmocka_unit_test(a_call_that_is_under_way_when_it_changes_is_answered),
        cmocka_unit_test(calls_still_run_one_after_the_other),
        cmocka_unit_test(both_connections_share_the_limits),
        cmocka_unit_test(what_changes_meanwhile_is_told_by_another_one),
        cmocka_unit_test(a_hub_that_understands_it_is_told_of_changes),
        cmocka_unit_test(what_changes_before_the_hub_asks_needs_no_other_one),
        cmocka_unit_test(if_the_new_one_is_lost_the_old_one_stays_and_it_is_tried_again),
        cmocka_unit_test(if_no_new_one_can_be_had_the_old_one_stays_and_it_is_tried_again),
        cmocka_unit_test(if_the_old_one_is_lost_the_new_one_is_the_connection),
        cmocka_unit_test(a_hub_that_goes_altogether_is_awaited),
        cmocka_unit_test(both_connections_drain),
        cmocka_unit_test(what_does_not_end_in_time_is_cancelled_on_both),
        cmocka_unit_test(a_door_that_is_freed_meanwhile_cancels_on_both),
        cmocka_unit_test(a_new_one_that_is_not_asked_in_time_is_given_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
