/* Which methods are known through those who fetch. */
#include "app/command_there.h"

#include <stdio.h>

#include "base/limits.h"
#include "support/cmocka.h"

static void only_what_was_named_is_known(void **state)
{
    static const Span names[] = {SPAN_INIT("a"), SPAN_INIT("b")};
    static CommandThere there;

    (void)state;
    command_there_init(&there);
    assert_false(command_there_has(&there, SPAN("a"), 0));
    command_there_note(&there, names, 2, 5);
    command_there_note(&there, names, 1, 10);
    assert_true(command_there_has(&there, SPAN("a"), 10));
    assert_true(command_there_has(&there, SPAN("b"), 4 + LIMIT_COMMAND_THERE_MS));
    assert_false(command_there_has(&there, SPAN("b"), 5 + LIMIT_COMMAND_THERE_MS));
    assert_true(command_there_has(&there, SPAN("a"), 5 + LIMIT_COMMAND_THERE_MS));
    assert_false(command_there_has(&there, SPAN("c"), 10));
    assert_int_equal(there.n, 2);
    command_there_note(&there, NULL, 0, 20);
    assert_true(command_there_has(&there, SPAN("c"), 19 + LIMIT_COMMAND_THERE_MS));
    assert_false(command_there_has(&there, SPAN("c"), 20 + LIMIT_COMMAND_THERE_MS));
    command_there_deinit(&there);
}

static void the_oldest_goes(void **state)
{
    static CommandThere there;

    (void)state;
    command_there_init(&there);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_was_named_is_known),
        cmocka_unit_test(the_oldest_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
