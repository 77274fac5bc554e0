/* Names that tools have had are theirs in the next run, too. */
#include "unit/providers/upstream_rig.h"

#include <sys/stat.h>

static const char *const tools[] = {"lists search\n"
                                    "on tools/call\n"
                                    "text of first\n",
                                    "lists search find\n"
                                    "on tools/call\n"
                                    "text of second\n"};

/* The one file that there is. */
static const char *claims_path(void)
{
    static char path[256];
    size_t n;
    char **names = files_list(scratch_path("state/names"), ".json", &n);

    assert_int_equal(n, 1);
    (void)snprintf(path, sizeof(path), "%s/state/names/%s", scratch, names[0]);
    files_list_free(names);
    return path;
}

static int setup(void **state)
{
    int r = rig_setup(state);

    rig.state = strdup(scratch_path("state"));
    return r;
}

static int teardown(void **state)
{
    char *folder = (char *)(uintptr_t)rig.state;
    int r = rig_teardown(state);

    free(folder);
    return r;
}

/* A run in which only these servers are in the settings, by their numbers. */
static void start_with(const char *which)
{
    UpstreamSpec all[RIG_SERVERS];
    size_t n = rig.n_specs;

    rig_stop();
    rig.n_log = 0;
    rig.log[0] = '\0';
    memcpy(all, rig.specs, sizeof(all));
    for (rig.n_specs = 0; which[rig.n_specs] != '\0'; rig.n_specs++) {
        rig.specs[rig.n_specs] = all[which[rig.n_specs] - '0'];
    }
    rig_start();
    memcpy(rig.specs, all, sizeof(all));
    rig.n_specs = n;
}

static void two_servers(void)
{
    (void)rig_server("a", tools[0]);
    (void)rig_server("b", tools[1]);
}

static void a_newcomer_is_prefixed_wherever_it_stands(void **state)
{
    struct stat info;

    (void)state;
    two_servers();
    start_with("0");
    assert_string_equal(rig_tools(), "search");
    assert_int_equal(stat(claims_path(), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0600);
    start_with("10");
    assert_string_equal(rig_tools(), "b__search find search");
    assert_has(rig_call("search"), "of first");
    assert_has(rig_call("b__search"), "of second");
    start_with("01");
    assert_string_equal(rig_tools(), "search b__search find");
}

static void a_name_stays_when_the_other_server_goes(void **state)
{
    (void)state;
    two_servers();
    start_with("01");
    assert_string_equal(rig_tools(), "search b__search find");
    start_with("1");
    assert_string_equal(rig_tools(), "b__search find");
    assert_string_equal(rig_call("search"), "unknown tool: search; did you mean b__search?");
    /* What was the other's is free: it is new when it comes back, and nobody has its name. */
    start_with("01");
    assert_string_equal(rig_tools(), "search b__search find");
}

static void who_was_removed_has_no_claim(void **state)
{
    (void)state;
    two_servers();
    start_with("0");
    assert_string_equal(rig_tools(), "search");
    start_with("1");
    assert_string_equal(rig_tools(), "search find");
    start_with("01");
    assert_string_equal(rig_tools(), "a__search search find");
}

static void a_server_that_is_away_keeps_its_names(void **state)
{
    static char nothing[] = "/nonexistent/server";

    (void)state;
    two_servers();
    start_with("0");
    assert_string_equal(rig_tools(), "search");
    rig.specs[0].command = nothing; /* nor are its kept lists used any more */
    start_with("10");
    assert_string_equal(rig_tools(), "b__search find");
    rig.specs[0].is_disabled = true;
    start_with("10");
    assert_string_equal(rig_tools(), "b__search find");
    rig.specs[0].is_disabled = false;
    rig.specs[0].command = rig.specs[1].command;
    start_with("10");
    assert_string_equal(rig_tools(), "b__search find search");
}

static void prompts_keep_their_names_likewise(void **state)
{
#define PROMPTS                                                                                    \
    "caps {'prompts':{}}\n"                                                                        \
    "on prompts/list\n"                                                                            \
    "ok {'prompts':[{'name':'hello'}]}\n"

    (void)state;
    (void)rig_server("a", PROMPTS);
    (void)rig_server("b", PROMPTS);
    start_with("1");
    assert_string_equal(rig_ask(CALL_LIST_PROMPTS, ""), "hello");
    start_with("01");
    assert_string_equal(rig_ask(CALL_LIST_PROMPTS, ""), "a__hello hello");
    assert_has(rig.log, "a: others have the names of 1 of its prompts: hello is a__hello (b has "
                        "that name)\n");
    start_with("0");
    assert_string_equal(rig_ask(CALL_LIST_PROMPTS, ""), "a__hello");
#undef PROMPTS
}

static void another_setting_of_the_prefix_counts_at_once(void **state)
{
    static char dash[] = "-";

    (void)state;
    two_servers();
    start_with("01");
    assert_string_equal(rig_tools(), "search b__search find");
    rig.specs[1].separator = dash;
    start_with("01");
    assert_string_equal(rig_tools(), "search b-search find");
    rig.specs[0].prefixing = UPSTREAM_PREFIX_ALWAYS;
    rig.specs[1].prefixing = UPSTREAM_PREFIX_NEVER;
    start_with("01");
    assert_string_equal(rig_tools(), "a__search search find");
    rig.specs[0].prefixing = UPSTREAM_PREFIX_NEEDED;
    rig.specs[1].prefixing = UPSTREAM_PREFIX_NEEDED;
    start_with("01");
    assert_string_equal(rig_tools(), "a__search search find");
}

/* One that is refused costs what it says, and no more. */
static void a_file_that_is_none_of_ours_is_passed_over(void **state)
{
    static const char *const bad[][2] = {
        {"{", "it is damaged"},
        {"", "it is damaged"},
        {"[]", "it is another file"},
        {"{\"toolwire\":\"lists\",\"version\":1,\"servers\":{}}", "it is another file"},
        {"{\"toolwire\":\"names\",\"version\":1,\"servers\":[]}", "it is another file"},
        {"{\"toolwire\":\"names\",\"version\":2,\"servers\":{}}", "it is of another version"},
    };
    char words[400];

    (void)state;
    two_servers();
    start_with("10"); /* the lists of both are kept */
    assert_string_equal(rig_tools(), "search find a__search");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char path[256];
        const char *first;

        (void)snprintf(path, sizeof(path), "%s", claims_path());
        scratch_write(path, bad[i][0], 0600);
        start_with("01");
        assert_string_equal(rig_tools(), "search b__search find");
        (void)snprintf(words, sizeof(words),
                       "warn  upstream: %s is not used, and tools may get "
                       "other names: %s\n",
                       path, bad[i][1]);
        assert_has(rig.log, words);
        first = strstr(rig.log, "is not used");
        assert_null(strstr(first + 1, "is not used"));
        /* It is a good one again. */
        start_with("10");
        assert_string_equal(rig_tools(), "b__search find search");
        assert_null(strstr(rig.log, "is not used"));
    }
}

static void a_file_that_others_may_write_is_passed_over(void **state)
{
    (void)state;
    two_servers();
    start_with("10");
    assert_string_equal(rig_tools(), "search find a__search");
    assert_int_equal(chmod(claims_path(), 0666), 0);
    start_with("01");
    assert_string_equal(rig_tools(), "search b__search find");
    assert_has(rig.log, "is not used, and tools may get other names");
}

static void what_is_wrong_in_a_file_is_not_used(void **state)
{
    (void)state;
    two_servers();
    start_with("01");
    (void)rig_tools();
    scratch_write(claims_path(),
                  "{\"toolwire\":\"names\",\"version\":1,\"servers\":{"
                  "\"b\":{\"tools\":{\"search\":\"a__search\",\"find\":\"echo \\u0000\",\"x\":7}},"
                  "\"a\":{\"tools\":[],\"prompts\":7},\"gone\":{\"tools\":{\"search\":\"search\","
                  "\"find\":\"find\"}},\"\":{},\"c\":null}}",
                  0600);
    start_with("01");
    assert_string_equal(rig_tools(), "search b__search find");
}

static bool newcomer_is_there(void)
{
    return router_has_tool(rig.router, SPAN("find"));
}

/* A file that cannot be written: names hold as long as the run, and it is said once. */
static void without_a_place_names_hold_for_the_run(void **state)
{
    UpstreamSpec both[2];

    (void)state;
    scratch_write(scratch_path("state"), "no folder", 0600);
    two_servers();
    both[0] = rig.specs[1];
    both[1] = rig.specs[0];
    start_with("0");
    assert_string_equal(rig_tools(), "search");
    assert_int_equal(upstreams_reload(rig.upstreams, both, 2), 0);
    UNTIL(newcomer_is_there);
    assert_has(rig_call("search"), "of first");
    assert_has(rig_call("b__search"), "of second");
    assert_has(rig.log, "warn  upstream: the names of tools are not remembered in ");
}

/* A server that always has other tools does not fill the file. */
static void names_of_what_is_gone_are_forgotten_in_time(void **state)
{
    size_t n = 0;
    size_t n_text;
    Bytes text;
    char *got;

    (void)state;
    (void)rig_server("a", "lists mine\n");
    start_with("0");
    assert_string_equal(rig_tools(), "mine");
    bytes_init(&text, 1 << 20);
    assert_int_equal(bytes_append_format(&text, "{\"toolwire\":\"names\",\"version\":1,"
                                                "\"servers\":{\"a\":{\"tools\":{"),
                     0);
    for (unsigned i = 0; i < 3000; i++) {
        assert_int_equal(bytes_append_format(&text, "\"t%u\":\"t%u\",", i, i), 0);
    }
    assert_int_equal(bytes_append_format(&text, "\"x\":\"x\"}}}}"), 0);
    assert_int_equal(bytes_append_byte(&text, '\0'), 0);
    scratch_write(claims_path(), text.data, 0600);
    bytes_deinit(&text);
    start_with("0");
    assert_string_equal(rig_tools(), "mine");
    got = files_read(claims_path(), &n_text);
    for (const char *at = strstr(got, ": \"t"); at != NULL; at = strstr(at + 1, ": \"t")) {
        n++;
    }
    assert_int_equal(n, 1023); /* and x; the newest */
    assert_non_null(strstr(got, "\"t2999\""));
    assert_non_null(strstr(got, "\"mine\": \"mine\""));
    free(got);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_newcomer_is_prefixed_wherever_it_stands),
        TEST(a_name_stays_when_the_other_server_goes),
        TEST(who_was_removed_has_no_claim),
        TEST(a_server_that_is_away_keeps_its_names),
        TEST(prompts_keep_their_names_likewise),
        TEST(another_setting_of_the_prefix_counts_at_once),
        TEST(a_file_that_is_none_of_ours_is_passed_over),
        TEST(a_file_that_others_may_write_is_passed_over),
        TEST(what_is_wrong_in_a_file_is_not_used),
        TEST(without_a_place_names_hold_for_the_run),
        TEST(names_of_what_is_gone_are_forgotten_in_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
