/* `mcpServers`: our members, other programs' members, and mistakes that name their place. */
#include "app/config.h"

#include "support/cmocka.h"

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

static void mistakes_name_their_place(void **state)
{
    (void)state;
    assert_refused("{\"mcpServers\":[]}", "mcpServers: expected an object");
    assert_refused("{\"mcpServers\":{\"a\":{}}}", "mcpServers.a: 'command' or 'url' is missing");
    assert_refused("{\"mcpServers\":{\"a\":{\"command\":\"x\",\"url\":\"http://y\"}}}", "both");
    assert_refused("{\"mcpServers\":{\"a\":{\"comand\":\"x\"}}}", "did you mean 'command'");
    assert_refused("{\"mcpServers\":{\"a\":{\"command\":\"x\",\"args\":[1]}}}",
                   "mcpServers.a.args[0]");
    assert_refused("{\"mcpServers\":{\"a\":{\"command\":\"x\",\"era\":\"old\"}}}",
                   "mcpServers.a.era");
    assert_refused("{\"mcpServers\":{\"a\":{\"command\":\"x\",\"start\":\"soon\"}}}",
                   "mcpServers.a.start");
    assert_refused("{\"mcpServers\":{\"a\":{\"command\":\"x\",\"idle_ms\":\"soon\"}}}",
                   "is not a time");
    assert_refused("{\"mcpServers\":{\"a\":{\"command\":\"x\",\"type\":\"pigeon\"}}}", "pigeon");
    assert_refused("{\"mcpServers\":{\"a\":{\"command\":\"x\"},\"a\":{\"command\":\"x\"}}}",
                   "two of the name");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_members_are_read),
        cmocka_unit_test(mistakes_name_their_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
