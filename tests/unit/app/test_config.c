#include "app/config.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

static int parse(Config *config, const char *text, Diag *diag)
{
    *diag = DIAG_NULL;
    return config_parse(config, span_from_str(text), "/etc/tw/c.json", diag);
}

static void every_limit_is_read_as_number_or_text(void **state)
{
    Config config;
    Diag diag;

    (void)state;
    assert_int_equal(parse(&config,
                           "{\"limits\":{\"rate_burst\":7,\"rate_per_s\":\"8\","
                           "\"max_in_flight\":9,\"call_timeout_ms\":\"5s\","
                           "\"call_timeout_max_ms\":60000,\"max_request_bytes\":\"2MiB\","
                           "\"max_response_bytes\":4096,\"drain_ms\":1,\"page_size\":3}}",
                           &diag),
                     0);
    assert_int_equal(config.limits.rate_burst, 7);
    assert_int_equal(config.limits.rate_per_s, 8);
    assert_int_equal(config.limits.max_in_flight, 9);
    assert_int_equal(config.limits.call_timeout_ms, 5000);
    assert_int_equal(config.limits.call_timeout_max_ms, 60000);
    assert_int_equal(config.max_request_bytes, 2u << 20);
    assert_int_equal(config.max_response_bytes, 4096);
    assert_int_equal(config.drain_ms, 1);
    assert_int_equal(config.page_size, 3);
    assert_false(config.limits.rate_off);
    assert_string_equal(config.path, "/etc/tw/c.json");
    config_deinit(&config);
    config_deinit(&config);
    assert_int_equal(parse(&config, "{\"limits\":{\"rate\":\"off\"}}", &diag), 0);
    assert_true(config.limits.rate_off);
    config_deinit(&config);
    /* Variables stand for text in every string. */
    assert_int_equal(
        parse(&config,
              "{\"limits\":{\"max_in_flight\":\"${TW_TEST_NONE:-3}\","
              "\"drain_ms\":\"${TW_TEST_NONE:-5}s\",\"rate\":\"${TW_TEST_NONE:-off}\"}}",
              &diag),
        0);
    assert_int_equal(config.limits.max_in_flight, 3);
    assert_int_equal(config.drain_ms, 5000);
    assert_true(config.limits.rate_off);
    config_deinit(&config);
}

static void comments_and_a_schema_for_editors_are_accepted(void **state)
{
    static const struct {
        const char *text;
        int r;
        const char *message; /* NULL: page_size is 3 */
    } cases[] = {
        {"// a\n{\"$schema\": \"x\", /* \"page_size\": 9 */ \"limits\": {\"page_size\": 3,},}\n// "
         "b",
         0, NULL},
        {"{\"limits\": {\"page_size\": 3}} // no line end", 0, NULL},
        {"/* a\n b */ {\"limits\": /* c */ {\"pagesize\": 3}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:2: limits.pagesize: unknown key; did you mean 'page_size'?"},
        {"{ /* a */ 5}", CONFIG_E_SYNTAX,
         "/etc/tw/c.json:1:11: expected a key in double quotes, found '5'"},
        {"{}\n /* a", CONFIG_E_SYNTAX, "/etc/tw/c.json:2:2: a comment that does not end"},
        {"{\"$schema\": {}}", CONFIG_E_INVALID, "/etc/tw/c.json:1: $schema: expected a string"},
        {"{\"limits\": {\"$schema\": \"x\"}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: limits.$schema: unknown key"},
        {"", CONFIG_E_SYNTAX, "/etc/tw/c.json:1:1: expected a value, found the end of the text"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Config config;
        Diag diag;

        assert_int_equal(parse(&config, cases[i].text, &diag), cases[i].r);
        if (cases[i].message != NULL) {
            assert_string_equal(diag.message, cases[i].message);
        } else {
            assert_int_equal(config.page_size, 3);
        }
        config_deinit(&config);
    }
}

static void paths_are_taken_from_the_folder_of_the_file(void **state)
{
    Config config;
    Diag diag;

    (void)state;
    assert_int_equal(parse(&config, "{\"tools\":\"t/tools.json\"}", &diag), 0);
    assert_string_equal(config.tools, "/etc/tw/t/tools.json");
    config_deinit(&config);
    assert_int_equal(parse(&config, "{\"tools\":\"/abs.json\"}", &diag), 0);
    assert_string_equal(config.tools, "/abs.json");
    config_deinit(&config);
    /* The last of two wins, and nothing leaks. */
    assert_int_equal(parse(&config, "{\"tools\":\"a\",\"tools\":\"/b\"}", &diag), 0);
    assert_string_equal(config.tools, "/b");
    config_deinit(&config);
}

static void a_call_socket_has_a_socket_and_a_schema(void **state)
{
    Config config;
    Diag diag;

    (void)state;
    assert_int_equal(
        parse(&config, "{\"call_socket\":{\"connect\":\"p.sock\",\"schema\":\"/s.json\"}}", &diag),
        0);
    assert_string_equal(config.call_socket, "/etc/tw/p.sock");
    assert_string_equal(config.call_socket_schema, "/s.json");
    config_deinit(&config);
    assert_null(config.call_socket);
    assert_null(config.call_socket_schema);
    assert_int_equal(parse(&config, "{}", &diag), 0);
    assert_null(config.call_socket);
    config_deinit(&config);
}

static void a_pipe_has_a_name_tools_and_intervals(void **state)
{
    Config config;
    Diag diag;

    (void)state;
    assert_int_equal(parse(&config,
                           "{\"pipe\":{\"name\":\"Plan${TW_TEST_NONE:-ner}\",\"tools\":\"t.json\","
                           "\"ping_interval_ms\":\"2s\",\"pong_timeout_ms\":500}}",
                           &diag),
                     0);
    assert_string_equal(config.pipe.name, "Planner");
    assert_string_equal(config.pipe.tools, "/etc/tw/t.json");
    assert_int_equal(config.pipe.ping_interval_ms, 2000);
    assert_int_equal(config.pipe.pong_timeout_ms, 500);
    config_deinit(&config);
    assert_null(config.pipe.name);
    assert_null(config.pipe.tools);
    assert_int_equal(config.pipe.ping_interval_ms, 0);
    assert_int_equal(parse(&config, "{}", &diag), 0);
    assert_null(config.pipe.name);
    config_deinit(&config);
}

static void a_pipe_may_be_a_name_or_go_without_one(void **state)
{
    Config config;
    Diag diag;

    (void)state;
    assert_int_equal(parse(&config, "{\"pipe\":\"Mine\"}", &diag), 0);
    assert_string_equal(config.pipe.name, "Mine");
    assert_null(config.pipe.tools);
    config_deinit(&config);
    assert_int_equal(parse(&config, "{\"pipe\":{\"tools\":\"/t.json\"}}", &diag), 0);
    assert_string_equal(config.pipe.name, "RevitOrchestrator");
    assert_string_equal(config.pipe.tools, "/t.json");
    config_deinit(&config);
    /* The last of two wins, and nothing leaks. */
    assert_int_equal(
        parse(&config, "{\"pipe\":\"A\",\"pipe\":{\"name\":\"B\",\"name\":\"C\"}}", &diag), 0);
    assert_string_equal(config.pipe.name, "C");
    config_deinit(&config);
}

/* Where nothing else is to be offered, or it is asked for. */
static void the_toolkit_is_offered_where_nothing_else_is(void **state)
{
    static const struct {
        const char *text;
        bool is_offered;
    } cases[] = {
        {"{}", true},
        {"{\"limits\":{},\"state\":\"s\",\"http\":\"off\",\"queue\":\"off\",\"audit\":\"a\"}",
         true},
        {"{\"mcpServers\":{}}", true},
        {"{\"toolkit\":false}", false},
        {"{\"tools\":\"t\"}", false},
        {"{\"call_socket\":{\"connect\":\"s\",\"schema\":\"j\"}}", false},
        {"{\"pipe\":{}}", false},
        {"{\"mcpServers\":{\"a\":{\"command\":\"x\"}}}", false},
        {"{\"mcpServers\":{\"a\":{\"comand\":\"x\"}}}", false},
        {"{\"tools\":\"t\",\"toolkit\":true}", true},
        {"{\"tools\":\"t\",\"templates\":\"d\"}", true},
        {"{\"tools\":\"t\",\"write_root\":\"d\"}", true},
        {"{\"tools\":\"t\",\"write_root\":\"d\",\"toolkit\":false}", false},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Config config;

        assert_int_equal(config_parse(&config, span_from_str(cases[i].text), "x.json", NULL), 0);
        assert_int_equal(config_offers_toolkit(&config), cases[i].is_offered);
        config_deinit(&config);
    }
}

static void settings_of_numbers_are_known_by_name(void **state)
{
    (void)state;
    assert_true(config_has_number(SPAN("rate_burst")));
    assert_true(config_has_number(SPAN("page_size")));
    assert_true(config_has_number(SPAN("ping_interval_ms")));
    assert_true(config_has_number(SPAN("pong_timeout_ms")));
    assert_false(config_has_number(SPAN("rate")));
    assert_false(config_has_number(SPAN("call_socket")));
}

static void every_error_names_file_line_and_field(void **state)
{
    static const struct {
        const char *text;
        int r;
        const char *message;
    } cases[] = {
        {"{\n\"toolz\":1}", CONFIG_E_INVALID,
         "/etc/tw/c.json:2: toolz: unknown key; did you mean 'tools'?"},
        {"{\"limits\":{\"max_inflight\":1}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: limits.max_inflight: unknown key; did you mean 'max_in_flight'?"},
        {"{\"zzzzzzzzzz\":1}", CONFIG_E_INVALID, "/etc/tw/c.json:1: zzzzzzzzzz: unknown key"},
        {"{\"limits\":{\"rate_burst\":0}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: limits.rate_burst: 0 is not between 1 and 1000000000"},
        {"{\"limits\":{\"rate_burst\":-1}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: limits.rate_burst: expected a whole number"},
        {"{\"limits\":{\"drain_ms\":\"soon\"}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: limits.drain_ms: 'soon' is not milliseconds or a duration (30s)"},
        {"{\"limits\":{\"rate\":5}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: limits.rate: only \"off\" is possible; rate_burst and rate_per_s set "
         "numbers"},
        {"{\"limits\":[]}", CONFIG_E_INVALID, "/etc/tw/c.json:1: limits: expected an object"},
        {"{\"tools\":5}", CONFIG_E_INVALID, "/etc/tw/c.json:1: tools: expected a string"},
        {"{\"call_socket\":\"p.sock\"}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: call_socket: expected an object"},
        {"{\"call_socket\":{\n\"conect\":\"p\"}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:2: call_socket.conect: unknown key; did you mean 'connect'?"},
        {"{\"call_socket\":{\"schema\":\"s\",\"connect\":5}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: call_socket.connect: expected a string"},
        {"{\"call_socket\":{\"connect\":\"p\"}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: call_socket: 'schema' is missing"},
        {"{\"call_socket\":{\"schema\":\"s\"}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: call_socket: 'connect' is missing"},
        {"{\"callsocket\":{}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: callsocket: unknown key; did you mean 'call_socket'?"},
        {"{\"pipe\":5}", CONFIG_E_INVALID, "/etc/tw/c.json:1: pipe: expected an object or a name"},
        {"{\"pip\":{}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: pip: unknown key; did you mean 'pipe'?"},
        {"{\"pipe\":{\n\"nane\":\"p\"}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:2: pipe.nane: unknown key; did you mean 'name'?"},
        {"{\"pipe\":{\"ping_intervall_ms\":1}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: pipe.ping_intervall_ms: unknown key; did you mean "
         "'ping_interval_ms'?"},
        {"{\"pipe\":{\"drain_ms\":1}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: pipe.drain_ms: unknown key"},
        {"{\"limits\":{\"pong_timeout_ms\":1}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: limits.pong_timeout_ms: unknown key; did you mean 'call_timeout_ms'?"},
        {"{\"pipe\":{\n\n\"name\":7}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:3: pipe.name: expected a string"},
        {"{\"pipe\":{\"tools\":[]}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: pipe.tools: expected a string"},
        {"{\"pipe\":{\"ping_interval_ms\":9}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: pipe.ping_interval_ms: 9 is not between 10 and 86400000"},
        {"{\"pipe\":{\"pong_timeout_ms\":\"2 d\"}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: pipe.pong_timeout_ms: '2 d' is not milliseconds or a duration (30s)"},
        {"{\"pipe\":{\"pong_timeout_ms\":1.5}}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: pipe.pong_timeout_ms: expected milliseconds or a duration (30s)"},
        {"[]", CONFIG_E_INVALID, "/etc/tw/c.json:1: configuration: expected an object"},
        {"{\"tools\":\"${TW_TEST_UNSET}\"}", CONFIG_E_VARIABLE,
         "/etc/tw/c.json:1: tools: ${TW_TEST_UNSET} is not set in the environment; "
         "${TW_TEST_UNSET:-default} gives a default"},
        {"{\"tools\":\"$HOME\"}", CONFIG_E_INVALID,
         "/etc/tw/c.json:1: tools: a '$' begins ${NAME} or ${NAME:-default}; write $$ for "
         "a dollar"},
        {"{\"a\":tru}", CONFIG_E_SYNTAX,
         "/etc/tw/c.json:1:9: expected true, false or null, found '}'"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Config config;
        Diag diag;

        assert_int_equal(parse(&config, cases[i].text, &diag), cases[i].r);
        assert_string_equal(diag.message, cases[i].message);
        assert_null(config.tools);
        assert_null(config.path);
    }
}

static void a_name_that_no_pipe_can_have_is_told_with_its_line(void **state)
{
    static const char *const texts[] = {"{\n\"pipe\":\"\"}", "{\n\"pipe\":\"a/b\"}",
                                        "{\"pipe\":{\n\"name\":\"a/b\"}}"};
    static const char *const places[] = {
        "/etc/tw/c.json:2: pipe: ", "/etc/tw/c.json:2: pipe: ", "/etc/tw/c.json:2: pipe.name: "};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        Config config;
        Diag diag;

        assert_int_equal(parse(&config, texts[i], &diag), CONFIG_E_INVALID);
        assert_int_equal(strncmp(diag.message, places[i], strlen(places[i])), 0);
        assert_true(strlen(diag.message) > strlen(places[i]));
        assert_null(config.pipe.name);
    }
}

static void variables_are_replaced(void **state)
{
    static const struct {
        const char *text;
        const char *expanded; /* NULL: refused */
    } cases[] = {
        {"", ""},
        {"plain", "plain"},
        {"${TW_TEST_A}", "one"},
        {"x${TW_TEST_A}y${TW_TEST_A}", "xoney"
                                       "one"},
        {"${TW_TEST_A:-two}", "one"},
        {"${TW_TEST_NONE:-two}", "two"},
        {"${TW_TEST_NONE:-}", ""},
        {"${TW_TEST_EMPTY}", ""},
        {"${TW_TEST_EMPTY:-full}", "full"},
        {"$$HOME", "$HOME"},
        {"${TW_TEST_NONE}", NULL},
        {"${", NULL},
        {"${}", NULL},
        {"$", NULL},
        {"${A:x}", NULL},
        {"${A:", NULL},
    };

    (void)state;
    assert_int_equal(setenv("TW_TEST_A", "one", 1), 0);
    assert_int_equal(setenv("TW_TEST_EMPTY", "", 1), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        char *expanded = NULL;
        int r = config_expand(&expanded, span_from_str(cases[i].text), NULL);

        if (cases[i].expanded == NULL) {
            assert_true(r > 0);
            assert_null(expanded);
        } else {
            assert_int_equal(r, 0);
            assert_string_equal(expanded, cases[i].expanded);
        }
        mem_free(expanded);
    }
    assert_int_equal(config_expand(&(char *){NULL}, SPAN("a\0b"), NULL), CONFIG_E_INVALID);
}

static void a_setting_of_a_flag_is_checked_like_the_file(void **state)
{
    Config config = CONFIG_NULL;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(config_set(&config, SPAN("call_timeout_ms"), SPAN("2m"), &diag), 0);
    assert_int_equal(config.limits.call_timeout_ms, 120000);
    assert_int_equal(config_set(&config, SPAN("max_in_flight"), SPAN("x"), &diag),
                     CONFIG_E_INVALID);
    assert_string_equal(diag.message, "'x' is not a whole number");
    assert_int_equal(config_set(&config, SPAN("none"), SPAN("1"), &diag), CONFIG_E_INVALID);
    assert_int_equal(config_set(&config, SPAN("max_in_flight"), SPAN("65537"), &diag),
                     CONFIG_E_INVALID);
    assert_int_equal(config.limits.max_in_flight, 0);
}

static void a_file_is_found_where_it_is_looked_for(void **state)
{
    char folder[] = "/tmp/tw-config-XXXXXX";
    char wanted[64];
    char *found = folder;
    Config config;
    Diag diag = DIAG_NULL;
    FILE *f;

    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(setenv("XDG_CONFIG_HOME", folder, 1), 0);
    assert_int_equal(config_find(&found, NULL), 0);
    assert_null(found);
    assert_int_equal(config_load(&config, NULL, &diag), 0);
    assert_null(config.path);
    config_deinit(&config);

    assert_int_equal(mkdir("toolwire", 0700), 0);
    f = fopen("toolwire/config.json", "w");
    assert_non_null(f);
    assert_true(fputs("{\"limits\":{\"rate_burst\":2}}", f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(config_load(&config, NULL, &diag), 0);
    assert_int_equal(config.limits.rate_burst, 2);
    config_deinit(&config);

    f = fopen("toolwire.json", "w");
    assert_non_null(f);
    assert_true(fputs("{\"limits\":{\"rate_burst\":3}}", f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(config_load(&config, NULL, &diag), 0);
    assert_int_equal(config.limits.rate_burst, 3);
    config_deinit(&config);
    (void)snprintf(wanted, sizeof(wanted), "%s/toolwire.json", folder);
    assert_int_equal(config_find(&found, NULL), 0);
    assert_string_equal(found, wanted);
    mem_free(found);
    (void)snprintf(wanted, sizeof(wanted), "%s/absent.json", folder);
    assert_int_equal(config_find(&found, "absent.json"), 0);
    assert_string_equal(found, wanted);
    mem_free(found);
    assert_int_equal(config_load(&config, "toolwire/config.json", &diag), 0);
    assert_int_equal(config.limits.rate_burst, 2);
    config_deinit(&config);

    assert_int_equal(config_load(&config, "absent.json", &diag), CONFIG_E_READ);
    assert_string_equal(diag.message, "absent.json: No such file or directory");
    assert_int_equal(unlink("toolwire.json"), 0);
    assert_int_equal(unlink("toolwire/config.json"), 0);
    assert_int_equal(rmdir("toolwire"), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void templates_are_a_folder_or_several(void **state)
{
    Config config;
    Diag diag;

    (void)state;
    assert_int_equal(
        parse(&config, "{\"templates\":\"t\",\"write_root\":\"w\",\"state\":\"s\"}", &diag), 0);
    assert_string_equal(config.state, "/etc/tw/s");
    assert_string_equal(config.templates[0], "/etc/tw/t");
    assert_null(config.templates[1]);
    assert_string_equal(config.write_root, "/etc/tw/w");
    config_deinit(&config);
    assert_null(config.templates);
    assert_null(config.write_root);
    /* The last of two wins, and nothing leaks. */
    assert_int_equal(parse(&config, "{\"templates\":\"x\",\"templates\":[\"a\",\"/b\"]}", &diag),
                     0);
    assert_string_equal(config.templates[0], "/etc/tw/a");
    assert_string_equal(config.templates[1], "/b");
    assert_null(config.templates[2]);
    config_deinit(&config);
    assert_int_equal(parse(&config, "{\"templates\":[]}", &diag), 0);
    assert_null(config.templates[0]);
    config_deinit(&config);
    assert_int_equal(parse(&config, "{\"templates\":[\"a\",5]}", &diag), CONFIG_E_INVALID);
    assert_string_equal(diag.field, "templates[1]");
    assert_int_equal(parse(&config, "{\"templates\":{}}", &diag), CONFIG_E_INVALID);
    assert_string_equal(diag.field, "templates");
    assert_int_equal(parse(&config, "{\"write_rot\":\"x\"}", &diag), CONFIG_E_INVALID);
    assert_non_null(strstr(diag.message, "write_root"));
}

static int parse_once(void *context)
{
    Config config;
    int r = config_parse(
        &config,
        SPAN("{\"tools\":\"${HOME:-/x}/t\",\"pipe\":{\"tools\":\"u\"},"
             "\"pipe\":\"P\",\"templates\":[\"a\",\"b\"],\"write_root\":\"w\",\"state\":\"s\","
             "\"limits\":{\"rate_burst\":\"1\"}}"),
        "/p/c.json", NULL);

    (void)context;
    if (r == 0) {
        assert_int_equal(config.limits.rate_burst, 1);
        config_deinit(&config);
    }
    return r;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    (void)state;
    test_oom_sweep(parse_once, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_limit_is_read_as_number_or_text),
        cmocka_unit_test(comments_and_a_schema_for_editors_are_accepted),
        cmocka_unit_test(paths_are_taken_from_the_folder_of_the_file),
        cmocka_unit_test(a_call_socket_has_a_socket_and_a_schema),
        cmocka_unit_test(a_pipe_has_a_name_tools_and_intervals),
        cmocka_unit_test(a_pipe_may_be_a_name_or_go_without_one),
        cmocka_unit_test(templates_are_a_folder_or_several),
        cmocka_unit_test(the_toolkit_is_offered_where_nothing_else_is),
        cmocka_unit_test(settings_of_numbers_are_known_by_name),
        cmocka_unit_test(every_error_names_file_line_and_field),
        cmocka_unit_test(a_name_that_no_pipe_can_have_is_told_with_its_line),
        cmocka_unit_test(variables_are_replaced),
        cmocka_unit_test(a_setting_of_a_flag_is_checked_like_the_file),
        cmocka_unit_test(a_file_is_found_where_it_is_looked_for),
        cmocka_unit_test(no_allocation_may_fail_unnoticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
