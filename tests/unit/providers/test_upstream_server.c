/* One server: its start, its failures and their pauses, its end when nobody uses it. */
#include "unit/providers/upstream_rig.h"

#define PLAIN                                                                                      \
    "lists one\n"                                                                                  \
    "on tools/call\n"                                                                              \
    "text it ran\n"

static bool server_is_idle(void)
{
    return rig_status(0).state == UPSTREAM_IDLE;
}

static bool server_is_down(void)
{
    return rig_status(0).state == UPSTREAM_DOWN;
}

static bool server_runs(void)
{
    return rig_status(0).state == UPSTREAM_READY;
}

static void one_that_nobody_uses_is_stopped_and_started_by_a_call(void **state)
{
    unsigned n_changed;

    (void)state;
    rig_server("a", PLAIN)->idle_ms = 20;
    rig_start();
    assert_string_equal(rig_tools(), "one");
    n_changed = rig.n_changed[ROUTER_TOOL];
    UNTIL(server_is_idle);
    assert_has(rig.log, "stopped, since nobody uses it");
    assert_string_equal(rig_tools(), "one"); /* what it listed stays */
    rig_pause();
    assert_int_equal(rig_starts(0), 1);
    assert_has(rig_call("one"), "it ran");
    assert_int_equal(rig_starts(0), 2);
    UNTIL(server_is_idle);
    assert_int_equal(rig.n_changed[ROUTER_TOOL], n_changed);
    assert_int_equal(rig_status(0).n_failures, 0);
}

/* A call that runs, and a question that is open, are use. */
static void one_that_has_a_call_is_not_stopped(void **state)
{
    Asker *asker;

    (void)state;
    rig_server("a", "lists one\n"
                    "on tools/call\n")
        ->idle_ms = 20;
    rig_start();
    (void)rig_tools();
    asker = rig_begin(1, "one", "{}");
    for (int i = 0; i < 10; i++) {
        rig_pause();
    }
    assert_int_equal(rig_status(0).state, UPSTREAM_READY);
    router_cancel(rig.router, &asker->call);
    UNTIL(server_is_idle);
}

/* The first failure may be an accident; the pauses then double. */
static void pauses_between_attempts_grow(void **state)
{
    int64_t wait_ms;
    Upstream *server;

    (void)state;
    (void)rig_server("a", "on initialize\n"
                          "exit 3\n");
    rig_start();
    (void)rig_tools();
    server = rig.upstreams->servers[0];
    while (server->n_failures < 2) {
        rig_pause();
    }
    UNTIL(server_is_down);
    wait_ms = server->retry_ms - io_loop_now_ms(rig.loop);
    assert_true(wait_ms > 500 && wait_ms <= 1000);
    server->retry_ms = io_loop_now_ms(rig.loop); /* its time has come */
    server->timer_ms = INT64_MAX;
    upstream_set_timer(server);
    while (server->n_failures < 3) {
        rig_pause();
    }
    wait_ms = server->retry_ms - io_loop_now_ms(rig.loop);
    assert_true(wait_ms > 1500 && wait_ms <= 2000);
    server->n_in_row = 40; /* for days */
    server->retry_ms = io_loop_now_ms(rig.loop);
    server->timer_ms = INT64_MAX;
    upstream_set_timer(server);
    while (server->n_failures < 4) {
        rig_pause();
    }
    wait_ms = server->retry_ms - io_loop_now_ms(rig.loop);
    assert_true(wait_ms > 50000 && wait_ms <= 60000);
}

/* An answer says that it works: what failed before is forgotten. */
static void a_success_ends_the_row(void **state)
{
    (void)state;
    (void)rig_server("a", "lists one die\n"
                          "on tools/call one\n"
                          "text x\n"
                          "on tools/call die\n"
                          "exit 1\n");
    rig_start();
    (void)rig_tools();
    for (int i = 0; i < 3; i++) {
        (void)rig_call("die");
        UNTIL(server_runs); /* at once, each time */
        (void)rig_call("one");
        assert_int_equal(rig.upstreams->servers[0]->n_in_row, 0);
    }
    assert_int_equal(rig_status(0).n_failures, 3);
}

static void one_that_does_not_answer_its_start_has_its_time(void **state)
{
    (void)state;
    rig_server("a", "on initialize\n")->start_timeout_ms = 50;
    rig_start();
    (void)rig_tools();
    UNTIL(server_is_down);
    assert_has(rig_status(0).why, "it does not answer within 50 ms of its start");
    assert_has(rig_status(0).why, "a.script"); /* what was started */
}

static void what_it_said_last_is_said(void **state)
{
    (void)state;
    (void)rig_server("a", "on initialize\n"
                          "err the licence is over\n"
                          "exit 5\n");
    rig_start();
    (void)rig_tools();
    UNTIL(server_is_down);
    assert_has(rig_status(0).why, "exit status 5");
    assert_has(rig_status(0).why, "the licence is over");
    assert_has(rig.askers[0].meta, "the licence is over");
}

static bool script_was_seen(void)
{
    return rig_starts(0) >= 2 && server_runs();
}

/* Whoever wants to hear of a resource keeps it running, and has it started again. */
static void a_subscription_keeps_it_running(void **state)
{
    (void)state;
    rig_server("a", "caps {'tools':{},'resources':{'subscribe':true}}\n"
                    "lists die\n"
                    "on resources/list\n"
                    "ok {'resources':[{'uri':'a://1','name':'n'}]}\n"
                    "on resources/templates/list\n"
                    "ok {'resourceTemplates':[]}\n"
                    "on tools/call\n"
                    "exit 1\n")
        ->idle_ms = 20;
    rig_start();
    (void)rig_tools();
    UNTIL(server_is_idle);
    router_want(rig.router, SPAN("a://1"), true);
    UNTIL(script_was_seen);
    for (int i = 0; i < 10; i++) {
        rig_pause();
    }
    assert_int_equal(rig_status(0).state, UPSTREAM_READY);
    router_want(rig.router, SPAN("a://1"), false);
    UNTIL(server_is_idle);
    assert_int_equal(rig_seen(0, "resources/subscribe"), 1);
    assert_int_equal(rig_seen(0, "resources/unsubscribe"), 1);
}

static bool server_has_failed_to_start(void)
{
    return rig_status(0).n_failures >= 3; /* twice it was told to */
}

/* The question of which era it is kills some legacy servers. It is asked once, and again only if
 * the server does not start as it did. */
static void a_server_that_dies_of_the_probe_is_probed_once(void **state)
{
    (void)state;
    rig_server("a", "lists one die\n"
                    "on server/discover\n"
                    "exit 3\n"
                    "on tools/call one\n"
                    "text x\n"
                    "on tools/call die\n"
                    "exit 9\n")
        ->era = MCP_CLIENT_AUTO;
    rig_start();
    assert_string_equal(rig_tools(), "one die");
    assert_int_equal(rig_starts(0), 2);
    (void)rig_call("die");
    assert_has(rig_call("one"), "x");
    assert_int_equal(rig_starts(0), 3);
    assert_int_equal(rig_seen(0, "server/discover"), 1);
    scratch_write(rig.args[0][0], "on initialize\nexit 4\n", 0600);
    (void)rig_call("die");
    UNTIL(server_has_failed_to_start);
    assert_false(rig.upstreams->servers[0]->is_known_legacy);
}

/* Words in the settings reach the child, and our own variables do not. */
static void the_environment_is_what_the_settings_say(void **state)
{
    static char name[] = "TW_TEST_WORD";
    static char value[] = "told";
    static char shell[] = "/bin/sh";
    static char option[] = "-c";
    static char script[] = "env >\"$0\"; exit 1";
    UpstreamPair pair = {.name = name, .value = value};
    char *path;
    char *args[4];
    char *text;
    size_t n;

    (void)state;
    assert_int_equal(setenv("TW_TEST_SECRET", "ours", 1), 0);
    (void)rig_server("a", "");
    path = strdup(scratch_path("env"));
    args[0] = option;
    args[1] = script;
    args[2] = path;
    args[3] = NULL;
    rig.specs[0].command = shell;
    rig.specs[0].args = args;
    rig.specs[0].env = &pair;
    rig.specs[0].n_env = 1;
    rig_start();
    (void)rig_tools();
    UNTIL(server_is_down);
    text = files_read(path, &n);
    assert_has(text, "TW_TEST_WORD=told\n");
    assert_has(text, "PATH=");
    assert_null(strstr(text, "TW_TEST_SECRET"));
    free(text);
    free(path);
    assert_int_equal(unsetenv("TW_TEST_SECRET"), 0);
    rig_stop();
}

/* Of a server whose lists are kept, so that they are read and offered, too. Without memory for that
 * it is a server whose lists are not known. */
static void memory_may_run_out_anywhere(void **state)
{
    char *folder = strdup(scratch_path("state"));
    size_t n_failed = 1;
    long n_live;

    (void)state;
    (void)rig_server("a", PLAIN);
    rig.state = folder;
    rig_start();
    (void)rig_tools();
    rig_stop();
    (void)io_loop_run(rig.loop); /* what was posted frees itself */
    n_live = alloc_testing()->n_live;
    for (size_t n = 0; n_failed > 0; n++) {
        Upstreams *upstreams = NULL;
        int r;

        assert_true(n < 10000);
        alloc_testing_reset(n);
        r = upstreams_new(&upstreams, &(UpstreamsConfig){.router = rig.router,
                                                         .loop = rig.loop,
                                                         .identity = &rig_identity,
                                                         .specs = rig.specs,
                                                         .n_specs = rig.n_specs,
                                                         .state = rig.state});
        n_failed = alloc_testing()->n_failed;
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        assert_true(r == 0 || r == -ENOMEM);
        assert_true(n_failed == 0 || n > 0 || r == -ENOMEM);
        (void)upstreams_free(upstreams);
        (void)io_loop_run(rig.loop);
        assert_int_equal(alloc_testing()->n_live, n_live);
        assert_int_equal(router_count(rig.router, ROUTER_TOOL), 0);
    }
    rig.state = NULL;
    free(folder);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, rig_setup, rig_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_that_nobody_uses_is_stopped_and_started_by_a_call),
        TEST(one_that_has_a_call_is_not_stopped),
        TEST(pauses_between_attempts_grow),
        TEST(a_success_ends_the_row),
        TEST(one_that_does_not_answer_its_start_has_its_time),
        TEST(what_it_said_last_is_said),
        TEST(a_subscription_keeps_it_running),
        TEST(a_server_that_dies_of_the_probe_is_probed_once),
        TEST(the_environment_is_what_the_settings_say),
        TEST(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
