#include "toolkit/ignore.h"

#include "support/cmocka.h"

#include "support/alloc_testing.h"
#include "support/guard.h"
#include "support/oom_sweep.h"

static int setup(void **state)
{
    (void)state;
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(alloc_testing()->n_live, 0);
    return 0;
}

static IgnoreRules *rules_of(const char *text)
{
    GuardBuffer guard = guard_copy(text, strlen(text));
    IgnoreRules *rules = NULL;

    assert_int_equal(ignore_rules_new(&rules, false), 0);
    assert_int_equal(ignore_rules_push(rules, SPAN(""), span_make(guard.p, guard.n)), 0);
    guard_free(&guard); /* it was copied */
    return rules;
}

static bool matches(const IgnoreRules *rules, const char *path)
{
    size_t n = strlen(path);
    bool is_folder = n > 0 && path[n - 1] == '/';

    return ignore_rules_match(rules, span_make(path, is_folder ? n - 1 : n), is_folder);
}

/* A path that ends in a slash is a folder's. */
static void check(const char *text, const char *path, bool expected)
{
    IgnoreRules *rules = rules_of(text);

    if (matches(rules, path) != expected) {
        fail_msg("\"%s\" %s %s", text, expected ? "should ignore" : "should not ignore", path);
    }
    assert_null(ignore_rules_free(rules));
}

static void yes(const char *text, const char *path)
{
    check(text, path, true);
}

static void no(const char *text, const char *path)
{
    check(text, path, false);
}

static void empty_lines_and_comments_say_nothing(void **state)
{
    (void)state;
    no("", "a");
    no("\n\n \n\r\n", "a");
    no("#a\n", "a");
    no("#a", "#a");
    yes("\\#a", "#a");
    yes("a#b", "a#b");
    no("!", "!");
    no("/", "a/");
    no("//", "a/");
    yes("\xef\xbb\xbf"
        "a",
        "a");
    no("b\n\xef\xbb\xbf"
       "a",
       "a");
}

static void the_last_rule_that_fits_decides(void **state)
{
    (void)state;
    yes("*.o", "x/a.o");
    no("*.o\n!a.o", "x/a.o");
    yes("!a.o\n*.o", "x/a.o");
    yes("*\n!*.c\nb.c", "b.c");
    yes("\\!a", "!a");
    no("\\!a", "a");
}

static void a_slash_binds_to_the_folder(void **state)
{
    (void)state;
    yes("a", "x/y/a");
    yes("/a", "a");
    no("/a", "x/a");
    yes("x/a", "x/a");
    no("x/a", "y/x/a");
    yes("x/*.c", "x/a.c");
    no("x/*.c", "x/y/a.c");
    yes("**/a", "x/y/a");
    yes("x/**", "x/y/a");
    no("x/**", "x/");
    yes("x/**/a", "x/a");
    yes("x/**/a", "x/y/z/a");
    no("a/", "a");
    yes("a/", "a/");
    yes("a/", "x/a/");
    yes("/x/a/", "x/a/");
    no("/x/a/", "x/a");
    no("a//", "a/");
    yes("*/", "x/");
    no("*/", "x");
}

static void spaces_at_the_end_go_unless_escaped(void **state)
{
    (void)state;
    yes("a  ", "a");
    no("a\\ ", "a");
    yes("a\\ ", "a ");
    yes("a\\  ", "a ");
    yes("a b", "a b");
    yes(" a", " a");
    no("a\t", "a");
    yes("a\r\n", "a");
    no("a\r\r\n", "a");
    yes("a\r", "a");
    no("a\\", "a");
}

static void a_nul_ends_the_line(void **state)
{
    IgnoreRules *rules = NULL;

    (void)state;
    assert_int_equal(ignore_rules_new(&rules, false), 0);
    assert_int_equal(ignore_rules_push(rules, SPAN(""), SPAN("a\0b\nc")), 0);
    assert_true(matches(rules, "a"));
    assert_false(matches(rules, "b"));
    assert_true(matches(rules, "c"));
    (void)ignore_rules_free(rules);
}

static void deeper_folders_decide_first(void **state)
{
    IgnoreRules *rules = rules_of("*.log\n/top\nx/deep\n");

    (void)state;
    assert_int_equal(ignore_rules_push(rules, SPAN("x"), SPAN("!a.log\n/top\ny/z\n")), 0);
    assert_false(matches(rules, "x/a.log"));
    assert_false(matches(rules, "x/y/a.log"));
    assert_true(matches(rules, "x/b.log"));
    assert_true(matches(rules, "x/top"));
    assert_false(matches(rules, "x/y/top"));
    assert_true(matches(rules, "x/y/z"));
    assert_true(matches(rules, "x/deep"));
    /* What lies elsewhere does not hear of it. */
    assert_true(matches(rules, "a.log"));
    assert_true(matches(rules, "xy/a.log"));
    ignore_rules_pop(rules);
    assert_true(matches(rules, "x/a.log"));
    assert_false(matches(rules, "x/top"));
    ignore_rules_pop(rules);
    ignore_rules_pop(rules);
    assert_false(matches(rules, "a.log"));
    (void)ignore_rules_free(rules);
    assert_null(ignore_rules_free(NULL));
}

static void many_layers_are_kept(void **state)
{
    IgnoreRules *rules = rules_of("a");

    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(ignore_rules_push(rules, SPAN(""), i == 50 ? SPAN("!a") : SPAN("")), 0);
    }
    assert_false(matches(rules, "a"));
    for (int i = 0; i < 50; i++) {
        ignore_rules_pop(rules);
    }
    assert_true(matches(rules, "a"));
    (void)ignore_rules_free(rules);
}

static void case_is_ignored_if_the_file_system_does(void **state)
{
    IgnoreRules *rules = NULL;

    (void)state;
    assert_int_equal(ignore_rules_new(&rules, true), 0);
    assert_int_equal(ignore_rules_push(rules, SPAN("Sub"), SPAN("README\n*.Log\n/X/y*\n")), 0);
    assert_true(matches(rules, "sub/readme"));
    assert_true(matches(rules, "SUB/a.LOG"));
    assert_true(matches(rules, "sub/x/Yes"));
    assert_false(matches(rules, "sub/readmes"));
    (void)ignore_rules_free(rules);
    no("README", "readme");
}

static int sweep(void *context)
{
    IgnoreRules *rules = NULL;
    int r = ignore_rules_new(&rules, false);

    (void)context;
    if (r == 0) {
        r = ignore_rules_push(rules, SPAN(""), SPAN("a\nb\n"));
    }
    if (r == 0) {
        r = ignore_rules_push(rules, SPAN("x"), SPAN("!a\n"));
        /* A push that failed has left all as it was. */
        assert_int_equal(matches(rules, "x/a"), r != 0);
    }
    (void)ignore_rules_free(rules);
    return r;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    test_oom_sweep(sweep, NULL);
}

#define IGNORE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IGNORE_TEST(empty_lines_and_comments_say_nothing),
        IGNORE_TEST(the_last_rule_that_fits_decides),
        IGNORE_TEST(a_slash_binds_to_the_folder),
        IGNORE_TEST(spaces_at_the_end_go_unless_escaped),
        IGNORE_TEST(a_nul_ends_the_line),
        IGNORE_TEST(deeper_folders_decide_first),
        IGNORE_TEST(many_layers_are_kept),
        IGNORE_TEST(case_is_ignored_if_the_file_system_does),
        IGNORE_TEST(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
