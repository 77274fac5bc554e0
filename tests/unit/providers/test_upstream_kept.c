/* Lists that are kept for the next run. */
#include "unit/providers/upstream_rig.h"

#include "base/clock.h"

#define SCRIPT                                                                                     \
    "caps {'tools':{},'resources':{'subscribe':true},'prompts':{},'completions':{}}\n"             \
    "lists one two\n"                                                                              \
    "on tools/call\n"                                                                              \
    "text it ran\n"                                                                                \
    "on resources/list\n"                                                                          \
    "ok {'resources':[{'uri':'a://1','name':'r'}]}\n"                                              \
    "on resources/templates/list\n"                                                                \
    "ok {'resourceTemplates':[]}\n"                                                                \
    "on prompts/list\n"                                                                            \
    "ok {'prompts':[{'name':'p'}]}\n"                                                              \
    "on completion/complete\n"                                                                     \
    "ok {'completion':{'values':['v']}}\n"

/* The one file that there is. */
static const char *kept_path(void)
{
    static char path[256];
    size_t n;
    char **names = files_list(scratch_path("state/servers"), ".json", &n);

    assert_int_equal(n, 1);
    (void)snprintf(path, sizeof(path), "%s/state/servers/%s", scratch, names[0]);
    files_list_free(names);
    return path;
}

static char *kept_read(void)
{
    size_t n;

    return files_read(kept_path(), &n);
}

/* A run that has listed, and has ended. */
static UpstreamSpec *listed_once(const char *script)
{
    UpstreamSpec *spec = rig_server("a", script);

    rig.state = strdup(scratch_path("state"));
    rig_start();
    (void)rig_tools();
    rig_stop();
    rig.n_log = 0;
    return spec;
}

static int teardown(void **state)
{
    char *folder = (char *)(uintptr_t)rig.state;
    int r = rig_teardown(state);

    free(folder);
    return r;
}

/* Puts other words in place of some. */
static void kept_edit(const char *from, const char *to)
{
    char *text = kept_read();
    const char *at = strstr(text, from);
    char *edited;

    assert_non_null(at);
    assert_true(asprintf(&edited, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) > 0);
    scratch_write(kept_path(), edited, 0600);
    free(edited);
    free(text);
}

static void kept_set_age(int64_t age_ms)
{
    char *text = kept_read();
    const char *at = strstr(text, "\"listedMs\":");
    char from[64];
    char to[64];

    assert_non_null(at);
    (void)snprintf(from, sizeof(from), "%.*s", (int)strcspn(at, ","), at);
    (void)snprintf(to, sizeof(to), "\"listedMs\":%lld", (long long)(clock_now_ms() - age_ms));
    free(text);
    kept_edit(from, to);
}

static bool server_runs(void)
{
    return rig_status(0).state == UPSTREAM_READY &&
           upstream_lists_are_read(rig.upstreams->servers[0]);
}

static bool two_has_gone(void)
{
    return !router_has_tool(rig.router, SPAN("two"));
}

static void what_was_listed_is_there_without_a_start(void **state)
{
    unsigned n_changed;

    (void)state;
    (void)listed_once(SCRIPT);
    assert_int_equal(scratch_mode(kept_path()), 0600);
    assert_int_equal(scratch_mode(scratch_path("state/servers")), 0700);
    rig_start();
    assert_string_equal(rig_tools(), "one two");
    assert_string_equal(rig_ask(CALL_LIST_RESOURCES, ""), "r");
    assert_string_equal(rig_ask(CALL_LIST_PROMPTS, ""), "p");
    assert_true(router_has_completions(rig.router));
    assert_int_equal(rig_status(0).state, UPSTREAM_IDLE);
    assert_int_equal(rig_status(0).n_entries[ROUTER_TOOL], 2);
    assert_string_equal(rig.askers[0].meta, ""); /* an idle one is no news */
    assert_int_equal(rig_starts(0), 1);          /* of the first run */
    n_changed = rig.n_changed[ROUTER_TOOL];
    assert_has(rig_call("two"), "it ran");
    UNTIL(server_runs);
    rig_pause();
    assert_int_equal(rig_starts(0), 2);
    assert_int_equal(rig.n_changed[ROUTER_TOOL], n_changed); /* nobody is told what he knows */
}

static void what_differs_is_told_when_it_starts(void **state)
{
    unsigned n_changed;

    (void)state;
    (void)listed_once(SCRIPT);
    scratch_write(rig.args[0][0],
                  "lists one\n"
                  "on tools/call\n"
                  "text it ran\n",
                  0600);
    rig_start();
    assert_string_equal(rig_tools(), "one two");
    n_changed = rig.n_changed[ROUTER_TOOL];
    assert_has(rig_call("one"), "it ran");
    UNTIL(two_has_gone);
    assert_true(rig.n_changed[ROUTER_TOOL] > n_changed);
    assert_string_equal(rig_tools(), "one");
    assert_string_equal(rig_ask(CALL_LIST_PROMPTS, ""), ""); /* it has none any more */
    assert_false(router_has_completions(rig.router));
    rig_stop();
    rig_start(); /* and is kept as it is now */
    assert_string_equal(rig_tools(), "one");
    assert_string_equal(rig_ask(CALL_LIST_PROMPTS, ""), "");
}

/* Whatever is in the file, the server is asked. */
static void a_file_that_is_not_ours_is_passed_over(void **state)
{
    static const struct {
        const char *from;
        const char *to;
        const char *why;
    } rows[] = {
        {"{\"toolwire\":\"lists\"", "{\"toolwire\":\"lists", "damaged"},
        {"{\"toolwire\":\"lists\"", "{\"toolwire\":\"other\"", "the file is another"},
        {"\"version\":1", "\"version\":2", "another version"},
        {"\"version\":1,", "", "another version"},
        {"\"key\":\"", "\"key\":\"0", "settings of the server have changed"},
        {"\"listedMs\":", "\"listed\":", "does not say when"},
        {"\"tools\":[", "\"tools\":7,\"x\":[", "one of its lists is none"},
    };

    (void)state;
    (void)listed_once(SCRIPT);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        kept_edit(rows[i].from, rows[i].to);
        rig.n_log = 0;
        rig_start();
        assert_has(rig.log, rows[i].why);
        assert_has(rig.log, "its kept lists are not used");
        assert_int_equal(rig_status(0).n_entries[ROUTER_TOOL], 0);
        assert_string_equal(rig_tools(), "one two");
        assert_int_equal(rig_starts(0), i + 2);
        rig_stop(); /* it has been written anew */
    }
}

static void a_file_that_is_too_large_or_of_others_is_passed_over(void **state)
{
    FILE *f;

    (void)state;
    (void)listed_once(SCRIPT);
    assert_int_equal(chmod(kept_path(), 0622), 0);
    rig_start();
    assert_has(rig.log, "its kept lists are not used");
    assert_string_equal(rig_tools(), "one two");
    rig_stop();
    f = fopen(kept_path(), "a");
    assert_non_null(f);
    for (size_t n = 0; n < LIMIT_UPSTREAM_KEPT_BYTES; n += 1024) {
        assert_int_equal(fprintf(f, "%1024s", ""), 1024);
    }
    assert_int_equal(fclose(f), 0);
    rig.n_log = 0;
    rig_start();
    assert_has(rig.log, "the file is too large");
    assert_string_equal(rig_tools(), "one two");
}

/* What is in the list is looked at as if the server sent it. */
static void hostile_descriptions_are_mended_or_left_out(void **state)
{
    (void)state;
    (void)listed_once(SCRIPT);
    kept_edit("{\"name\":\"one\",\"inputSchema\":{\"type\":\"object\"}}",
              "{\"name\":\"one\",\"inputSchema\":7,\"annotations\":\"no\"},"
              "{\"name\":17},{},null,[],{\"name\":\"\"}");
    rig_start();
    assert_string_equal(rig_tools(), "one two");
    assert_int_equal(rig_starts(0), 1);
    assert_has(rig.log, "has no name and is left out");
}

/* They are shown, but who asks for a list has the server asked. */
static void lists_of_yesterday_are_read_again_by_the_first_list(void **state)
{
    (void)state;
    (void)listed_once(SCRIPT);
    kept_set_age(LIMIT_UPSTREAM_KEPT_MS + 1000);
    scratch_write(rig.args[0][0],
                  "lists one\n"
                  "on tools/call\n"
                  "text it ran\n",
                  0600);
    rig_start();
    rig_pause();
    assert_int_equal(rig_starts(0), 1);
    assert_true(router_has_tool(rig.router, SPAN("two")));
    assert_string_equal(rig_tools(), "one");
    assert_int_equal(rig_starts(0), 2);
    rig_stop();
    kept_set_age(LIMIT_UPSTREAM_KEPT_MS - 60000); /* nearly */
    rig_start();
    assert_string_equal(rig_tools(), "one");
    assert_int_equal(rig_starts(0), 2);
    rig_stop();
    kept_set_age(-60000); /* of tomorrow */
    rig_start();
    assert_string_equal(rig_tools(), "one");
    assert_int_equal(rig_starts(0), 3);
}

static bool gate_is_closed(void)
{
    return rig.upstreams->is_gated;
}

/* A hub that runs for days. */
static void lists_grow_old_while_the_server_is_idle(void **state)
{
    (void)state;
    (void)listed_once(SCRIPT);
    rig_start();
    assert_string_equal(rig_tools(), "one two");
    assert_int_equal(rig_starts(0), 1);
    rig.upstreams->servers[0]->stale_ms = io_loop_now_ms(rig.loop);
    upstream_set_timer(rig.upstreams->servers[0]);
    UNTIL(gate_is_closed);
    rig_pause();
    assert_int_equal(rig_starts(0), 1); /* until somebody asks */
    assert_has(rig_call("one"), "it ran");
    assert_string_equal(rig_tools(), "one two");
    assert_int_equal(rig_starts(0), 2);
}

/* Each of them may list something else. */
static void other_settings_are_another_server(void **state)
{
    UpstreamPair secret = {.name = strdup("TOKEN"), .value = strdup("very-secret-word")};
    static char allow_one[] = "one";
    char *allow[] = {allow_one, NULL};
    UpstreamSpec *spec;
    char *text;

    (void)state;
    spec = listed_once(SCRIPT);
    spec->env = &secret;
    spec->n_env = 1;
    rig_start();
    assert_string_equal(rig_tools(), "one two");
    assert_int_equal(rig_starts(0), 2);
    rig_stop();
    text = kept_read(); /* still one: it is the same command */
    assert_null(strstr(text, "secret"));
    assert_null(strstr(text, "TOKEN"));
    free(text);
    rig_start();
    assert_string_equal(rig_tools(), "one two");
    assert_int_equal(rig_starts(0), 2);
    rig_stop();
    spec->allow = allow;
    rig_start();
    assert_string_equal(rig_tools(), "one");
    assert_int_equal(rig_starts(0), 3);
    rig_stop();
    spec->headers = &secret;
    spec->n_headers = 1;
    rig_start();
    assert_string_equal(rig_tools(), "one");
    assert_int_equal(rig_starts(0), 4);
    rig_stop();
    free(secret.name);
    free(secret.value);
}

static void an_eager_one_keeps_nothing(void **state)
{
    (void)state;
    rig_server("a", SCRIPT)->is_eager = true;
    rig.state = strdup(scratch_path("state"));
    rig_start();
    assert_string_equal(rig_tools(), "one two");
    rig_stop();
    assert_false(scratch_exists(scratch_path("state/servers")));
}

/* A state folder that cannot be there costs the lists of the next run, and nothing else. */
static void without_a_place_for_it_nothing_is_kept(void **state)
{
    (void)state;
    (void)rig_server("a", SCRIPT);
    scratch_write(scratch_path("state"), "", 0600);
    rig.state = strdup(scratch_path("state"));
    rig_start();
    assert_string_equal(rig_tools(), "one two");
    rig_stop();
    assert_has(rig.log, "its lists are not kept");
}

/* A list that could not be read is not known to be empty. */
static void half_of_the_lists_is_not_kept(void **state)
{
    (void)state;
    (void)rig_server("a", "caps {'tools':{},'prompts':{}}\n"
                          "lists one\n"
                          "on prompts/list\n"
                          "no -32000 not now\n");
    rig.state = strdup(scratch_path("state"));
    rig_start();
    assert_string_equal(rig_tools(), "one");
    rig_stop();
    assert_false(scratch_exists(scratch_path("state/servers")));
}

static void who_waits_for_one_does_not_start_the_others(void **state)
{
    (void)state;
    (void)listed_once(SCRIPT);
    (void)rig_server("b", "lists other\n");
    rig_start();
    assert_string_equal(rig_tools(), "one two other");
    assert_int_equal(rig_starts(1), 1);
    rig_pause();
    assert_int_equal(rig_starts(0), 1); /* of the first run */
}

static void a_reload_shows_kept_lists_of_a_new_server_at_once(void **state)
{
    (void)state;
    (void)listed_once(SCRIPT);
    (void)rig_server("b", "lists other\n");
    assert_int_equal(upstreams_new(&rig.upstreams, &(UpstreamsConfig){.router = rig.router,
                                                                      .loop = rig.loop,
                                                                      .log = &rig_sink,
                                                                      .identity = &rig_identity,
                                                                      .specs = rig.specs + 1,
                                                                      .n_specs = 1,
                                                                      .state = rig.state}),
                     0);
    assert_string_equal(rig_tools(), "other");
    assert_int_equal(upstreams_reload(rig.upstreams, rig.specs, 2), 0);
    assert_string_equal(rig_tools(), "other one two");
    rig_pause();
    assert_int_equal(rig_starts(0), 1);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, rig_setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_was_listed_is_there_without_a_start),
        TEST(what_differs_is_told_when_it_starts),
        TEST(a_file_that_is_not_ours_is_passed_over),
        TEST(a_file_that_is_too_large_or_of_others_is_passed_over),
        TEST(hostile_descriptions_are_mended_or_left_out),
        TEST(lists_of_yesterday_are_read_again_by_the_first_list),
        TEST(lists_grow_old_while_the_server_is_idle),
        TEST(other_settings_are_another_server),
        TEST(an_eager_one_keeps_nothing),
        TEST(without_a_place_for_it_nothing_is_kept),
        TEST(half_of_the_lists_is_not_kept),
        TEST(who_waits_for_one_does_not_start_the_others),
        TEST(a_reload_shows_kept_lists_of_a_new_server_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
