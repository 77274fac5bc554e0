#include "dialect/pipe/keepalive.h"

#include "support/cmocka.h"

#define NOTHING PIPE_KEEPALIVE_NOTHING
#define PING    PIPE_KEEPALIVE_PING
#define DEAD    PIPE_KEEPALIVE_DEAD

static void pings_come_every_30_seconds(void **state)
{
    PipeKeepalive k;

    (void)state;
    pipe_keepalive_init(&k, 0, 0, 500);
    assert_int_equal(pipe_keepalive_deadline(&k), 30500);
    assert_int_equal(pipe_keepalive_advance(&k, 30499), NOTHING);
    assert_int_equal(pipe_keepalive_advance(&k, 30500), PING);
    assert_int_equal(pipe_keepalive_advance(&k, 30500), NOTHING);
    assert_int_equal(pipe_keepalive_deadline(&k), 40500);
    pipe_keepalive_pong(&k);
    assert_int_equal(pipe_keepalive_deadline(&k), 60500);
    assert_int_equal(pipe_keepalive_advance(&k, 60499), NOTHING);
    assert_int_equal(pipe_keepalive_advance(&k, 60500), PING);
}

static void no_pong_within_10_seconds_is_death(void **state)
{
    PipeKeepalive k;

    (void)state;
    pipe_keepalive_init(&k, 0, 0, 0);
    assert_int_equal(pipe_keepalive_advance(&k, 30000), PING);
    assert_int_equal(pipe_keepalive_advance(&k, 39999), NOTHING);
    assert_int_equal(pipe_keepalive_advance(&k, 40000), DEAD);
    /* Final. */
    pipe_keepalive_pong(&k);
    assert_int_equal(pipe_keepalive_advance(&k, 40000), DEAD);
    assert_int_equal(pipe_keepalive_deadline(&k), INT64_MAX);
}

static void the_first_ping_that_is_not_answered_counts(void **state)
{
    PipeKeepalive k;

    (void)state;
    pipe_keepalive_init(&k, 4, 10, 0);
    assert_int_equal(pipe_keepalive_advance(&k, 4), PING);
    assert_int_equal(pipe_keepalive_advance(&k, 8), PING);
    assert_int_equal(pipe_keepalive_advance(&k, 12), PING);
    assert_int_equal(pipe_keepalive_deadline(&k), 14);
    assert_int_equal(pipe_keepalive_advance(&k, 14), DEAD);
}

static void one_pong_answers_all_pings(void **state)
{
    PipeKeepalive k;

    (void)state;
    pipe_keepalive_init(&k, 4, 10, 0);
    assert_int_equal(pipe_keepalive_advance(&k, 4), PING);
    assert_int_equal(pipe_keepalive_advance(&k, 8), PING);
    pipe_keepalive_pong(&k);
    assert_int_equal(pipe_keepalive_deadline(&k), 12);
    assert_int_equal(pipe_keepalive_advance(&k, 11), NOTHING);
    assert_int_equal(pipe_keepalive_advance(&k, 18), PING);
    assert_int_equal(pipe_keepalive_advance(&k, 22), PING);
    assert_int_equal(pipe_keepalive_advance(&k, 27), PING);
    assert_int_equal(pipe_keepalive_advance(&k, 28), DEAD);
}

static void while_the_peer_is_inside_a_call_nobody_is_dead(void **state)
{
    PipeKeepalive k;

    (void)state;
    pipe_keepalive_init(&k, 0, 0, 0);
    assert_int_equal(pipe_keepalive_advance(&k, 30000), PING);
    pipe_keepalive_set_busy(&k, true, 35000);
    assert_int_equal(pipe_keepalive_deadline(&k), 60000);
    assert_int_equal(pipe_keepalive_advance(&k, 59999), NOTHING);
    /* Pings go on. */
    assert_int_equal(pipe_keepalive_advance(&k, 60000), PING);
    assert_int_equal(pipe_keepalive_advance(&k, 90000), PING);
    /* Then it has ten seconds. */
    pipe_keepalive_set_busy(&k, false, 95000);
    assert_int_equal(pipe_keepalive_deadline(&k), 105000);
    assert_int_equal(pipe_keepalive_advance(&k, 104999), NOTHING);
    assert_int_equal(pipe_keepalive_advance(&k, 105000), DEAD);
}

static void the_end_of_a_call_awaits_no_pong_by_itself(void **state)
{
    PipeKeepalive k;

    (void)state;
    pipe_keepalive_init(&k, 0, 0, 0);
    pipe_keepalive_set_busy(&k, true, 1000);
    pipe_keepalive_set_busy(&k, false, 2000);
    assert_int_equal(pipe_keepalive_deadline(&k), 30000);
    /* Nor is time given to one that was not busy. */
    assert_int_equal(pipe_keepalive_advance(&k, 30000), PING);
    pipe_keepalive_set_busy(&k, false, 39000);
    assert_int_equal(pipe_keepalive_deadline(&k), 40000);
    /* A pong during a call counts. */
    pipe_keepalive_set_busy(&k, true, 39000);
    pipe_keepalive_pong(&k);
    pipe_keepalive_set_busy(&k, false, 39500);
    assert_int_equal(pipe_keepalive_deadline(&k), 60000);
}

static void an_owner_who_comes_late_sends_one_ping(void **state)
{
    PipeKeepalive k;

    (void)state;
    pipe_keepalive_init(&k, 0, 0, 0);
    assert_int_equal(pipe_keepalive_advance(&k, 100000), PING);
    assert_int_equal(pipe_keepalive_advance(&k, 100000), NOTHING);
    assert_int_equal(pipe_keepalive_deadline(&k), 110000);
    pipe_keepalive_pong(&k);
    assert_int_equal(pipe_keepalive_deadline(&k), 130000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pings_come_every_30_seconds),
        cmocka_unit_test(no_pong_within_10_seconds_is_death),
        cmocka_unit_test(the_first_ping_that_is_not_answered_counts),
        cmocka_unit_test(one_pong_answers_all_pings),
        cmocka_unit_test(while_the_peer_is_inside_a_call_nobody_is_dead),
        cmocka_unit_test(the_end_of_a_call_awaits_no_pong_by_itself),
        cmocka_unit_test(an_owner_who_comes_late_sends_one_ping),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
