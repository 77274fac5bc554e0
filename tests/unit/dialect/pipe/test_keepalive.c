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
    pipe_keepalive_heard(&k);
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
    pipe_keepalive_heard(&k);
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
    pipe_keepalive_heard(&k);
    assert_int_equal(pipe_keepalive_deadline(&k), 12);
    assert_int_equal(pipe_keepalive_advance(&k, 11), NOTHING);
    assert_int_equal(pipe_keepalive_advance(&k, 18), PING);
    assert_int_equal(pipe_keepalive_advance(&k, 22), PING);
    assert_int_equal(pipe_keepalive_advance(&k, 27), PING);
    assert_int_equal(pipe_keepalive_advance(&k, 28), DEAD);
}

/* What an owner does until then, at the times that it was told. */
static bool lives_until(PipeKeepalive *k, int64_t until_ms)
{
    while (pipe_keepalive_deadline(k) <= until_ms) {
        if (pipe_keepalive_advance(k, pipe_keepalive_deadline(k)) == DEAD) {
            return false;
        }
    }
    return true;
}

/* A peer that has been heard from. */
static void heard_init(PipeKeepalive *k)
{
    pipe_keepalive_init(k, 0, 0, 0);
    pipe_keepalive_heard(k);
}

static void inside_a_call_a_peer_may_be_silent(void **state)
{
    PipeKeepalive k;

    (void)state;
    heard_init(&k);
    assert_int_equal(pipe_keepalive_advance(&k, 30000), PING);
    pipe_keepalive_set_busy(&k, true, 35000);
    assert_int_equal(pipe_keepalive_deadline(&k), 60000);
    assert_int_equal(pipe_keepalive_advance(&k, 59999), NOTHING);
    /* Pings go on. */
    assert_int_equal(pipe_keepalive_advance(&k, 60000), PING);
    assert_int_equal(pipe_keepalive_advance(&k, 90000), PING);
    assert_int_equal(pipe_keepalive_deadline(&k), 120000);
    /* The answer is a sign of life, and the next ping must have another. */
    pipe_keepalive_heard(&k);
    pipe_keepalive_set_busy(&k, false, 95000);
    assert_int_equal(pipe_keepalive_deadline(&k), 120000);
    assert_int_equal(pipe_keepalive_advance(&k, 120000), PING);
    assert_int_equal(pipe_keepalive_advance(&k, 129999), NOTHING);
    assert_int_equal(pipe_keepalive_advance(&k, 130000), DEAD);
}

static void the_end_of_a_call_awaits_no_pong_by_itself(void **state)
{
    PipeKeepalive k;

    (void)state;
    heard_init(&k);
    pipe_keepalive_set_busy(&k, true, 1000);
    pipe_keepalive_heard(&k);
    pipe_keepalive_set_busy(&k, false, 2000);
    assert_int_equal(pipe_keepalive_deadline(&k), 30000);
    /* Nor is time given to one that was not busy. */
    assert_int_equal(pipe_keepalive_advance(&k, 30000), PING);
    pipe_keepalive_set_busy(&k, false, 39000);
    assert_int_equal(pipe_keepalive_deadline(&k), 40000);
}

static void a_call_that_is_due_must_be_followed_by_a_sign_of_life(void **state)
{
    PipeKeepalive k;

    (void)state;
    heard_init(&k);
    pipe_keepalive_set_busy(&k, true, 1000);
    assert_true(lives_until(&k, 95000));
    pipe_keepalive_left(&k, 95000, 95000);
    pipe_keepalive_set_busy(&k, false, 95000);
    /* It is asked at once. */
    assert_int_equal(pipe_keepalive_deadline(&k), 95000);
    assert_int_equal(pipe_keepalive_advance(&k, 95000), PING);
    assert_int_equal(pipe_keepalive_deadline(&k), 105000);
    assert_true(lives_until(&k, 104999));
    assert_false(lives_until(&k, 105000));
}

static void a_late_answer_is_a_sign_of_life_too(void **state)
{
    PipeKeepalive k;

    (void)state;
    heard_init(&k);
    pipe_keepalive_set_busy(&k, true, 1000);
    pipe_keepalive_left(&k, 61000, 61000);
    pipe_keepalive_set_busy(&k, false, 61000);
    assert_true(lives_until(&k, 70999));
    pipe_keepalive_heard(&k);
    /* The next call excuses it again. */
    pipe_keepalive_set_busy(&k, true, 71000);
    assert_true(lives_until(&k, 500000));
}

static void calls_again_and_again_do_not_keep_a_hung_peer(void **state)
{
    PipeKeepalive k;

    (void)state;
    heard_init(&k);
    for (int64_t t = 0; t < 10000; t += 3000) {
        pipe_keepalive_set_busy(&k, true, t);
        assert_true(lives_until(&k, t + 3000));
        pipe_keepalive_left(&k, t + 3000, t + 3000);
        pipe_keepalive_set_busy(&k, false, t + 3000);
    }
    /* Ten seconds after the first was due, whatever is out. */
    pipe_keepalive_set_busy(&k, true, 12000);
    assert_true(lives_until(&k, 12999));
    assert_false(lives_until(&k, 13000));
}

static void other_calls_that_are_out_do_not_keep_it_either(void **state)
{
    PipeKeepalive k;

    (void)state;
    heard_init(&k);
    pipe_keepalive_set_busy(&k, true, 0);
    pipe_keepalive_left(&k, 20000, 20000);
    pipe_keepalive_set_busy(&k, true, 20000);
    assert_true(lives_until(&k, 29999));
    assert_false(lives_until(&k, 30000));
}

static void a_call_that_is_taken_back_excuses_until_it_was_due(void **state)
{
    PipeKeepalive k;

    (void)state;
    heard_init(&k);
    pipe_keepalive_set_busy(&k, true, 0);
    pipe_keepalive_left(&k, 85000, 2000);
    pipe_keepalive_set_busy(&k, false, 2000);
    /* One that is due later changes nothing; one that was due earlier does. */
    pipe_keepalive_left(&k, 90000, 3000);
    pipe_keepalive_left(&k, 80000, 3000);
    assert_int_equal(pipe_keepalive_deadline(&k), 30000);
    assert_int_equal(pipe_keepalive_advance(&k, 30000), PING);
    assert_int_equal(pipe_keepalive_advance(&k, 60000), PING);
    assert_int_equal(pipe_keepalive_deadline(&k), 80000);
    assert_int_equal(pipe_keepalive_advance(&k, 80000), PING);
    assert_int_equal(pipe_keepalive_deadline(&k), 90000);
    assert_true(lives_until(&k, 89999));
    assert_false(lives_until(&k, 90000));
}

static void a_peer_that_answers_calls_back_to_back_lives(void **state)
{
    PipeKeepalive k;

    (void)state;
    heard_init(&k);
    for (int64_t t = 0; t < 600000; t += 25000) {
        pipe_keepalive_set_busy(&k, true, t);
        assert_true(lives_until(&k, t + 25000));
        pipe_keepalive_heard(&k);
        pipe_keepalive_set_busy(&k, false, t + 25000);
    }
}

static void a_peer_that_never_said_anything_is_not_excused(void **state)
{
    PipeKeepalive k;

    (void)state;
    pipe_keepalive_init(&k, 0, 0, 0);
    pipe_keepalive_set_busy(&k, true, 0);
    pipe_keepalive_left(&k, 20000, 20000);
    pipe_keepalive_set_busy(&k, true, 35000);
    assert_true(lives_until(&k, 39999));
    assert_false(lives_until(&k, 40000));
}

static void an_owner_who_comes_late_sends_one_ping(void **state)
{
    PipeKeepalive k;

    (void)state;
    pipe_keepalive_init(&k, 0, 0, 0);
    assert_int_equal(pipe_keepalive_advance(&k, 100000), PING);
    assert_int_equal(pipe_keepalive_advance(&k, 100000), NOTHING);
    assert_int_equal(pipe_keepalive_deadline(&k), 110000);
    pipe_keepalive_heard(&k);
    assert_int_equal(pipe_keepalive_deadline(&k), 130000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pings_come_every_30_seconds),
        cmocka_unit_test(no_pong_within_10_seconds_is_death),
        cmocka_unit_test(the_first_ping_that_is_not_answered_counts),
        cmocka_unit_test(one_pong_answers_all_pings),
        cmocka_unit_test(inside_a_call_a_peer_may_be_silent),
        cmocka_unit_test(the_end_of_a_call_awaits_no_pong_by_itself),
        cmocka_unit_test(a_call_that_is_due_must_be_followed_by_a_sign_of_life),
        cmocka_unit_test(a_late_answer_is_a_sign_of_life_too),
        cmocka_unit_test(calls_again_and_again_do_not_keep_a_hung_peer),
        cmocka_unit_test(other_calls_that_are_out_do_not_keep_it_either),
        cmocka_unit_test(a_call_that_is_taken_back_excuses_until_it_was_due),
        cmocka_unit_test(a_peer_that_answers_calls_back_to_back_lives),
        cmocka_unit_test(a_peer_that_never_said_anything_is_not_excused),
        cmocka_unit_test(an_owner_who_comes_late_sends_one_ping),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
