#include "agent/policy.h"

#include "support/cmocka.h"

static char exact[] = "write_file";
static char all[] = "*";
static char git[] = "git_*";
static char git_log[] = "git_*_log";

static void tools_that_only_read_are_allowed_and_others_asked_about(void **state)
{
    (void)state;
    assert_int_equal(agent_policy(NULL, 0, SPAN("read_file"), true), TURN_ALLOW);
    assert_int_equal(agent_policy(NULL, 0, SPAN("write_file"), false), TURN_ASK);
}

static void the_very_name_counts_before_every_pattern(void **state)
{
    const AgentRule rules[] = {{exact, TURN_DENY}, {all, TURN_ALLOW}};

    (void)state;
    assert_int_equal(agent_policy(rules, 2, SPAN("write_file"), false), TURN_DENY);
    assert_int_equal(agent_policy(rules, 2, SPAN("write_file2"), false), TURN_ALLOW);
}

static void of_one_name_the_last_rule_counts(void **state)
{
    const AgentRule rules[] = {{exact, TURN_DENY}, {exact, TURN_ALLOW}, {all, TURN_ASK}};

    (void)state;
    assert_int_equal(agent_policy(rules, 3, SPAN("write_file"), false), TURN_ALLOW);
    assert_int_equal(agent_policy(rules, 1, SPAN("write_file"), false), TURN_DENY);
}

static void the_longest_pattern_counts_and_the_last_of_equal_ones(void **state)
{
    const AgentRule rules[] = {
        {git_log, TURN_ALLOW}, {all, TURN_DENY}, {git, TURN_ASK}, {all, TURN_ASK}};

    (void)state;
    assert_int_equal(agent_policy(rules, 3, SPAN("git_short_log"), false), TURN_ALLOW);
    assert_int_equal(agent_policy(rules, 3, SPAN("git_log"), true), TURN_ASK);
    assert_int_equal(agent_policy(rules, 3, SPAN("echo"), true), TURN_DENY);
    assert_int_equal(agent_policy(rules, 4, SPAN("echo"), true), TURN_ASK);
}

static void a_star_is_any_characters_and_none(void **state)
{
    static char pattern[] = "a*b*c";
    const AgentRule rule = {pattern, TURN_DENY};
    const char *fits[] = {"abc", "axbxc", "aabbcc", "abcbc", "abbbbc"};
    const char *others[] = {"", "ab", "abcd", "xabc", "acb", "a"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(fits); i++) {
        assert_int_equal(agent_policy(&rule, 1, span_from_str(fits[i]), true), TURN_DENY);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(others); i++) {
        assert_int_equal(agent_policy(&rule, 1, span_from_str(others[i]), true), TURN_ALLOW);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools_that_only_read_are_allowed_and_others_asked_about),
        cmocka_unit_test(the_very_name_counts_before_every_pattern),
        cmocka_unit_test(of_one_name_the_last_rule_counts),
        cmocka_unit_test(the_longest_pattern_counts_and_the_last_of_equal_ones),
        cmocka_unit_test(a_star_is_any_characters_and_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
