/* The member agent of a configuration. */
#include "app/config.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "support/cmocka.h"
#include "support/oom_sweep.h"

static const char whole[] =
    "{\"agent\":{\"model\":\"openai:qwen3\",\"base_url\":\"http://127.0.0.1:1/v1\",\"root\":\".\","
    "\"system\":\"prompt.md\",\"history\":\"talks.db\",\"commands\":[\"ls\",\"cat\"],"
    "\"attachments\":\"/in\",\"tools\":{\"write_file\":\"ask\",\"git_*\":\"deny\",\"*\":\"allow\"},"
    "\"allow_network\":true,\"allow_unconfined\":true,\"max_tokens\":100,\"budget_tokens\":5000,"
    "\"max_rounds\":3,\"grace_ms\":\"2s\",\"stall_ms\":\"1m\",\"approval_ms\":7}}";

static int parse(Config *config, const char *text, Diag *diag)
{
    return config_parse(config, span_from_str(text), "/etc/tw/c.json", diag);
}

static void an_agent_is_read_whole(void **state)
{
    Config config;
    Diag diag = DIAG_NULL;
    const ConfigAgent *agent = &config.agent;

    (void)state;
    assert_int_equal(parse(&config, whole, &diag), 0);
    assert_string_equal(agent->model, "openai:qwen3");
    assert_string_equal(agent->base_url, "http://127.0.0.1:1/v1");
    assert_string_equal(agent->root, "/etc/tw/.");
    assert_string_equal(agent->system, "/etc/tw/prompt.md");
    assert_string_equal(agent->history, "/etc/tw/talks.db");
    assert_string_equal(agent->commands[0], "ls");
    assert_string_equal(agent->commands[1], "cat");
    assert_null(agent->commands[2]);
    assert_string_equal(agent->attachments[0], "/in");
    assert_int_equal(agent->n_rules, 3);
    assert_string_equal(agent->rules[1].name, "git_*");
    assert_int_equal(agent->rules[0].verdict, TURN_ASK);
    assert_int_equal(agent->rules[1].verdict, TURN_DENY);
    assert_int_equal(agent->rules[2].verdict, TURN_ALLOW);
    assert_true(agent->allow_network);
    assert_true(agent->allow_unconfined);
    assert_int_equal(agent->max_tokens, 100);
    assert_int_equal(agent->budget_tokens, 5000);
    assert_int_equal(agent->max_rounds, 3);
    assert_int_equal(agent->grace_ms, 2000);
    assert_int_equal(agent->stall_ms, 60000);
    assert_int_equal(agent->approval_ms, 7);
    config_deinit(&config);
    assert_null(agent->model);
}

static void an_agent_has_short_forms(void **state)
{
    Config config;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(parse(&config, "{\"agent\":\"script\"}", &diag), 0);
    assert_string_equal(config.agent.model, "script");
    config_deinit(&config);
    assert_int_equal(parse(&config, "{\"agent\":{\"history\":\"off\"}}", &diag), 0);
    assert_string_equal(config.agent.history, CONFIG_AGENT_OFF);
    config_deinit(&config);
    assert_int_equal(parse(&config, "{\"agent\":{}}", &diag), 0);
    assert_null(config.agent.model);
    assert_int_equal(config.agent.max_tokens, 0);
    config_deinit(&config);
}

static void what_is_wrong_is_named_with_its_place(void **state)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"{\"agent\":7}", "c.json:1: agent: expected an object, or a model"},
        {"{\"agent\":{\"modle\":\"x\"}}", "agent.modle: unknown key; did you mean 'model'?"},
        {"{\"agent\":{\"model\":1}}", "agent.model: expected a string"},
        {"{\"agent\":{\"history\":\"\"}}", "agent.history: expected the path of a file, or off"},
        {"{\"agent\":{\"tools\":[]}}", "agent.tools: expected an object"},
        {"{\"agent\":{\"tools\":{\"x\":\"yes\"}}}", "agent.tools: expected \"allow\""},
        {"{\"agent\":{\"tools\":{\"x\":true}}}", "agent.tools: expected \"allow\""},
        {"{\"agent\":{\"tools\":{\"\":\"ask\"}}}", "agent.tools: expected the name of a tool"},
        {"{\"agent\":{\"commands\":1}}", "agent.commands: expected a name or an array of names"},
        {"{\"agent\":{\"allow_network\":1}}", "agent.allow_network: expected true or false"},
        {"{\"agent\":{\"max_rounds\":0}}", "agent.max_rounds: 0 is not between"},
    };
    Config config;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Diag diag = DIAG_NULL;

        assert_int_equal(parse(&config, cases[i].text, &diag), CONFIG_E_INVALID);
        if (strstr(diag.message, cases[i].words) == NULL) {
            fail_msg("'%s' is not in '%s'", cases[i].words, diag.message);
        }
    }
}

static int parse_without_memory(void *context)
{
    Config config;
    int r = parse(&config, whole, NULL);

    (void)context;
    if (r == 0) {
        config_deinit(&config);
    }
    return r;
}

static void an_agent_needs_memory(void **state)
{
    (void)state;
    test_oom_sweep(parse_without_memory, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_agent_is_read_whole),
        cmocka_unit_test(an_agent_has_short_forms),
        cmocka_unit_test(what_is_wrong_is_named_with_its_place),
        cmocka_unit_test(an_agent_needs_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
