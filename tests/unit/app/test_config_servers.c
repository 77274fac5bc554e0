/* `mcpServers`: our members, other programs' members, and mistakes that name their place. */
#include "app/config.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void parse(Config *config, const char *text)
{
    Diag diag = DIAG_NULL;
    int r = config_parse(config, span_from_str(text), "/etc/tw/toolwire.json", &diag);

    assert_string_equal(diag.message, "");
    assert_int_equal(r, 0);
}

static void assert_refused(const char *text, const char *words)
{
    Diag diag = DIAG_NULL;
    Config config;

    assert_int_equal(config_parse(&config, span_from_str(text), "t.json", &diag), CONFIG_E_INVALID);
    if (strstr(diag.message, words) == NULL) {
        fail_msg("no '%s' in '%s'", words, diag.message);
    }
}

static void all_members_are_read(void **state)
{
    const UpstreamSpec *spec;
    Config config;

    (void)state;
    parse(&config,
          "{\"mcpServers\":{"
          "\"a\":{\"command\":\"npx\",\"args\":[\"-y\",\"s\"],\"env\":{\"K\":\"v\"},\"cwd\":\"w\","
          "\"prefix\":\"p\",\"separator\":\"-\",\"allow\":\"get_*\",\"deny\":[\"x\",\"y\"],"
          "\"tools\":{\"t\":{\"description\":\"d\",\"timeout_ms\":\"5m\"}},"
          "\"start_timeout_ms\":1000,\"list_timeout_ms\":\"2s\",\"call_timeout_ms\":\"3s\","
          "\"idle_ms\":\"1m\",\"start\":\"eager\",\"era\":\"legacy\",\"enabled\":false},"
          "\"b\":{\"type\":\"http\",\"url\":\"https://e.example/mcp\",\"headers\":{\"X\":\"1\"},"
          "\"prefix\":false,\"autoApprove\":[],\"disabled\":false}}}");
    assert_int_equal(config.n_servers, 2);
    spec = &config.servers[0];
    assert_string_equal(spec->name, "a");
    assert_string_equal(spec->command, "npx");
    assert_string_equal(spec->args[1], "s");
    assert_string_equal(spec->env[0].value, "v");
    assert_string_equal(spec->cwd, "/etc/tw/w");
    assert_string_equal(spec->prefix, "p");
    assert_int_equal(spec->prefixing, UPSTREAM_PREFIX_ALWAYS);
    assert_string_equal(spec->allow[0], "get_*");
    assert_string_equal(spec->deny[1], "y");
    assert_string_equal(spec->tools[0].description, "d");
    assert_int_equal(spec->tools[0].timeout_ms, 300000);
    assert_int_equal(spec->start_timeout_ms, 1000);
    assert_int_equal(spec->list_timeout_ms, 2000);
    assert_int_equal(spec->call_timeout_ms, 3000);
    assert_int_equal(spec->idle_ms, 60000);
    assert_int_equal(spec->era, MCP_CLIENT_LEGACY);
    assert_true(spec->is_eager);
    assert_true(spec->is_disabled);
    spec = &config.servers[1];
    assert_string_equal(spec->url, "https://e.example/mcp");
    assert_string_equal(spec->headers[0].name, "X");
    assert_int_equal(spec->prefixing, UPSTREAM_PREFIX_NEVER);
    assert_false(spec->is_disabled);
    assert_true(upstream_spec_is_same(spec, spec));
    assert_false(upstream_spec_is_same(spec, &config.servers[0]));
    config_deinit(&config);
}

/* What is wrong with the server "a" is said of it, and "b" stays as it is. */
static void assert_faulty(const char *server, const char *words)
{
    char name[] = "a";
    char text[512];
    Config config;

    (void)snprintf(text, sizeof(text),
                   "{\"mcpServers\":{\n\"a\":%s,\n\"b\":{\"command\":\"x\",\"args\":\"y\"}}}",
                   server);
    parse(&config, text);
    assert_int_equal(config.n_servers, 2);
    assert_true(config.servers[0].is_disabled);
    assert_string_equal(config.servers[0].name, "a");
    assert_null(config.servers[0].command);
    assert_non_null(config.servers[0].fault);
    assert_ptr_equal(strstr(config.servers[0].fault, "/etc/tw/toolwire.json:2: mcpServers.a"),
                     config.servers[0].fault);
    if (strstr(config.servers[0].fault, words) == NULL) {
        fail_msg("no '%s' in '%s'", words, config.servers[0].fault);
    }
    assert_false(config.servers[1].is_disabled);
    assert_null(config.servers[1].fault);
    assert_string_equal(config.servers[1].args[0], "y");
    assert_false(upstream_spec_is_same(&config.servers[0],
                                       &(UpstreamSpec){.name = name, .is_disabled = true}));
    config_deinit(&config);
}

static void a_fault_costs_its_server_and_names_its_place(void **state)
{
    (void)state;
    (void)unsetenv("TW_TEST_UNSET");
    assert_faulty("7", "mcpServers.a: expected an object");
    assert_faulty("{}", "mcpServers.a: 'command' or 'url' is missing");
    assert_faulty("{\"command\":\"x\",\"url\":\"http://y\"}", "both");
    assert_faulty("{\"comand\":\"x\"}", "did you mean 'command'");
    assert_faulty("{\"command\":\"x\",\"args\":[1]}", "mcpServers.a.args[0]");
    assert_faulty("{\"command\":\"x\",\"env\":{\"K\":\"${TW_TEST_UNSET}\"}}",
                  "mcpServers.a.env.K: ${TW_TEST_UNSET} is not set in the environment");
    assert_faulty("{\"command\":\"x\\u0000y\"}", "mcpServers.a.command: a string with a NUL byte");
    assert_faulty("{\"command\":\"x\",\"era\":\"old\"}", "mcpServers.a.era");
    assert_faulty("{\"command\":\"x\",\"start\":\"soon\"}", "mcpServers.a.start");
    assert_faulty("{\"command\":\"x\",\"idle_ms\":\"soon\"}", "is not a time");
    assert_faulty("{\"command\":\"x\",\"type\":\"pigeon\"}", "pigeon");
}

static void a_fault_does_not_show_what_may_be_a_secret(void **state)
{
    Config config;

    (void)state;
    parse(&config, "{\"mcpServers\":{\"a\":{\"command\":\"x\",\"env\":{\"K\":\"pass$word\"}}}}");
    assert_non_null(strstr(config.servers[0].fault, "mcpServers.a.env.K: a '$' begins"));
    assert_null(strstr(config.servers[0].fault, "word"));
    config_deinit(&config);
}

static void what_is_switched_off_has_no_fault(void **state)
{
    Config config;

    (void)state;
    parse(&config, "{\"mcpServers\":{\"a\":{\"command\":\"${TW_TEST_UNSET}\",\"disabled\":true},"
                   "\"b\":{\"enabled\":false}}}");
    assert_int_equal(config.n_servers, 2);
    for (size_t i = 0; i < config.n_servers; i++) {
        assert_true(config.servers[i].is_disabled);
        assert_null(config.servers[i].fault);
    }
    config_deinit(&config);
}

static void faults_of_the_whole_are_errors(void **state)
{
    char many[8192] = "{\"mcpServers\":{";
    char name[160] = "";

    (void)state;
    assert_refused("{\"mcpServers\":[]}", "mcpServers: expected an object");
    assert_refused("{\"mcpServers\":{\"a\":{\"command\":\"x\"},\"a\":{\"command\":\"x\"}}}",
                   "two of the name");
    assert_refused("{\"mcpServers\":{\"\":{\"command\":\"x\"}}}", "1 to 128 bytes");
    assert_refused("{\"mcpServers\":{\"a\\nb\":{\"command\":\"x\"}}}", "a control character");
    memset(name, 'n', 129);
    (void)snprintf(many + strlen(many), sizeof(many) - strlen(many), "\"%s\":{}}}", name);
    assert_refused(many, "1 to 128 bytes");
    many[strlen("{\"mcpServers\":{")] = '\0';
    for (int i = 0; i <= 200; i++) {
        (void)snprintf(many + strlen(many), sizeof(many) - strlen(many), "%s\"s%d\":{}",
                       i > 0 ? "," : "", i);
    }
    (void)snprintf(many + strlen(many), sizeof(many) - strlen(many), "}}");
    assert_refused(many, "there are more than 200");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_members_are_read),
        cmocka_unit_test(a_fault_costs_its_server_and_names_its_place),
        cmocka_unit_test(a_fault_does_not_show_what_may_be_a_secret),
        cmocka_unit_test(what_is_switched_off_has_no_fault),
        cmocka_unit_test(faults_of_the_whole_are_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
