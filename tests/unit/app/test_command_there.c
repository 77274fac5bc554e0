/* Which methods are known through those who fetch. */
#include "app/command_there.h"

#include <stdio.h>

#include "support/cmocka.h"

#define KNOWN_MS 1000

static void only_what_was_named_is_known(void **state)
{
    static const Span names[] = {SPAN_INIT("a"), SPAN_INIT("b")};
    static CommandThere there;

    (void)state;
    command_there_init(&there, KNOWN_MS);
    assert_false(command_there_has(&there, SPAN("a"), 0));
    command_there_note(&there, names, 2, 5);
    command_there_note(&there, names, 1, 10);
    assert_true(command_there_has(&there, SPAN("a"), 10));
    assert_true(command_there_has(&there, SPAN("b"), 4 + KNOWN_MS));
    assert_false(command_there_has(&there, SPAN("b"), 5 + KNOWN_MS));
    assert_true(command_there_has(&there, SPAN("a"), 5 + KNOWN_MS));
    assert_false(command_there_has(&there, SPAN("c"), 10));
    assert_int_equal(there.n, 2);
    command_there_note(&there, NULL, 0, 20);
    assert_true(command_there_has(&there, SPAN("c"), 19 + KNOWN_MS));
    assert_false(command_there_has(&there, SPAN("c"), 20 + KNOWN_MS));
    command_there_deinit(&there);
}

static void the_oldest_goes(void **state)
{
    static CommandThere there;

    (void)state;
    command_there_init(&there, KNOWN_MS);
    for (int i = 0; i <= COMMAND_THERE_NAMES; i++) {
        char text[16];
        Span name;

        (void)snprintf(text, sizeof(text), "m%d", i);
        name = span_from_str(text);
        command_there_note(&there, &name, 1, i);
    }
    assert_int_equal(there.n, COMMAND_THERE_NAMES);
    assert_false(command_there_has(&there, SPAN("m0"), 1));
    assert_true(command_there_has(&there, SPAN("m1"), 1));
    assert_true(command_there_has(&there, SPAN("m512"), 600));
    command_there_deinit(&there);
}

static void one_with_a_job_is_known(void **state)
{
    static const Span names[] = {SPAN_INIT("a"), SPAN_INIT("b")};
    static CommandThere there;

    (void)state;
    command_there_init(&there, KNOWN_MS);
    command_there_lease(&there, "job-1", names, 2, 5000, 0);
    assert_true(command_there_has_lease(&there, "job-1"));
    assert_false(command_there_has_lease(&there, "job-2"));
    assert_true(command_there_has(&there, SPAN("b"), 4999 + KNOWN_MS));
    assert_false(command_there_has(&there, SPAN("b"), 5000 + KNOWN_MS));
    assert_false(command_there_has(&there, SPAN("c"), 0));
    /* A sign of life, and the answer. */
    command_there_beat(&there, "job-1", 9000, 3000);
    assert_true(command_there_has(&there, SPAN("a"), 8999 + KNOWN_MS));
    command_there_beat(&there, "job-1", 0, 7000);
    assert_false(command_there_has_lease(&there, "job-1"));
    assert_true(command_there_has(&there, SPAN("a"), 6999 + KNOWN_MS));
    assert_false(command_there_has(&there, SPAN("a"), 7000 + KNOWN_MS));
    /* Of one that is not remembered nobody knows what it takes. */
    command_there_beat(&there, "job-0", 9000, 8000);
    assert_true(command_there_has(&there, SPAN("c"), 7999 + KNOWN_MS));
    assert_false(command_there_has(&there, SPAN("c"), 8000 + KNOWN_MS));
    command_there_lease(&there, "job-3", NULL, 0, 20000, 0);
    assert_true(command_there_has(&there, SPAN("c"), 15000));
    command_there_deinit(&there);
}

static void leases_are_bounded(void **state)
{
    static CommandThere there;
    char id[QUEUE_ID_BYTES];

    (void)state;
    command_there_init(&there, KNOWN_MS);
    for (int i = 0; i < COMMAND_THERE_LEASES + 5; i++) {
        (void)snprintf(id, sizeof(id), "job-%d", i);
        command_there_lease(&there, id, NULL, 0, i, 0);
    }
    assert_int_equal(there.n_leases, COMMAND_THERE_LEASES);
    command_there_lease(&there, "late", NULL, 0, 9000, 2 * KNOWN_MS + 23); /* 1,023 ended before */
    assert_int_equal(there.n_leases, 1);
    command_there_deinit(&there);
    assert_int_equal(there.n_leases, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_was_named_is_known),
        cmocka_unit_test(the_oldest_goes),
        cmocka_unit_test(one_with_a_job_is_known),
        cmocka_unit_test(leases_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
