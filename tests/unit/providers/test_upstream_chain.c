/* Toolwires that start toolwires: what a child is told, and where the chain ends. */
#include "providers/upstream_chain.h"

#include "unit/providers/upstream_rig.h"

#include "io/program.h"

static char program[] = "toolwire";
static char serve[] = "serve";
static char other[] = "up";
static char *serve_args[] = {serve, NULL};
static char *other_args[] = {other, NULL};

static const UpstreamSpec same = {.command = program, .args = serve_args};

static int set_up(void **state)
{
    assert_int_equal(unsetenv(UPSTREAM_CHAIN_VARIABLE), 0);
    return rig_setup(state);
}

static int tear_down(void **state)
{
    assert_int_equal(unsetenv(UPSTREAM_CHAIN_VARIABLE), 0);
    return rig_teardown(state);
}

/* As in the child. */
static int go_down(const UpstreamSpec *spec)
{
    const char *value = NULL;
    Arena arena;
    int r;

    arena_init(&arena, 1 << 16);
    r = upstream_chain_make(&value, &arena, spec);
    if (r == 0) {
        assert_int_equal(setenv(UPSTREAM_CHAIN_VARIABLE, value, 1), 0);
    }
    arena_deinit(&arena);
    return r;
}

static void an_entry_that_started_us_is_known(void **state)
{
    UpstreamSpec spec = same;
    UpstreamPair pair = {.name = program, .value = serve};

    (void)state;
    assert_int_equal(go_down(&same), 0);
    assert_int_equal(go_down(&same), UPSTREAM_CHAIN_E_SAME);
    spec.args = other_args;
    assert_int_equal(go_down(&spec), 0);
    /* By whatever name, and at whatever depth. */
    spec = same;
    spec.name = other;
    assert_int_equal(go_down(&spec), UPSTREAM_CHAIN_E_SAME);
    /* Another folder, or another environment, may be other settings. */
    spec.cwd = scratch;
    assert_int_equal(go_down(&spec), 0);
    spec.env = &pair;
    spec.n_env = 1;
    assert_int_equal(go_down(&spec), 0);
    assert_int_equal(go_down(&spec), UPSTREAM_CHAIN_E_SAME);
}

static void nothing_is_started_within_too_many(void **state)
{
    char word[] = "0";
    char *args[] = {word, NULL};
    UpstreamSpec spec = {.command = program, .args = args};

    (void)state;
    for (int i = 0; i < LIMIT_UPSTREAM_WITHIN; i++) {
        word[0] = (char)('a' + i);
        assert_int_equal(go_down(&spec), 0);
    }
    word[0] = 'z';
    assert_int_equal(go_down(&spec), UPSTREAM_CHAIN_E_DEEP);
}

static void whom_we_run_within_is_known(void **state)
{
    (void)state;
    assert_false(upstream_chain_has(io_program_pid()));
    assert_int_equal(setenv(UPSTREAM_CHAIN_VARIABLE, "17:ab,4711:cd", 1), 0);
    assert_true(upstream_chain_has(17));
    assert_true(upstream_chain_has(4711));
    assert_false(upstream_chain_has(471));
    assert_false(upstream_chain_has(0));
    assert_int_equal(go_down(&same), 0);
    assert_true(upstream_chain_has(17));
    assert_true(upstream_chain_has(io_program_pid()));
}

static void words_of_somebody_else_are_no_chain(void **state)
{
    (void)state;
    assert_int_equal(setenv(UPSTREAM_CHAIN_VARIABLE, "17:ab,,nonsense:::", 1), 0);
    assert_true(upstream_chain_has(17));
    assert_int_equal(go_down(&same), 0);
    assert_true(upstream_chain_has(17));
    assert_true(upstream_chain_has(io_program_pid()));
    assert_null(strstr(getenv(UPSTREAM_CHAIN_VARIABLE), "nonsense"));
}

/* The child is told, whatever the settings say, and one that would be the same is not started. */
static void a_server_that_is_ourselves_is_not_started(void **state)
{
    (void)state;
    (void)rig_server("a", "lists one\n");
    assert_int_equal(go_down(&rig.specs[0]), 0);
    rig_start();
    assert_string_equal(rig_tools(), "");
    assert_int_equal(rig_starts(0), 0);
    assert_has(rig.askers[0].meta, "started by the same entry");
}

static void a_server_within_too_many_is_not_started(void **state)
{
    (void)state;
    (void)rig_server("a", "lists one\n");
    assert_int_equal(setenv(UPSTREAM_CHAIN_VARIABLE, "1:1,2:2,3:3,4:4,5:5", 1), 0);
    rig_start();
    assert_string_equal(rig_tools(), "");
    assert_int_equal(rig_starts(0), 0);
    assert_has(rig.askers[0].meta, "within 5 others");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_entry_that_started_us_is_known),
        TEST(nothing_is_started_within_too_many),
        TEST(whom_we_run_within_is_known),
        TEST(words_of_somebody_else_are_no_chain),
        TEST(a_server_that_is_ourselves_is_not_started),
        TEST(a_server_within_too_many_is_not_started),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
