#include "app/agent_tools.h"

#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "support/cmocka.h"

static char deny_name[] = "secret_*";
static char allow_name[] = "run";
static const AgentRule rules[] = {{deny_name, TURN_DENY}, {allow_name, TURN_ALLOW}};

typedef struct Rig {
    Router *router;
    AgentTools *tools;
} Rig;

static void tool_start(void *context, Call *call)
{
    (void)context;
    call_fail(call, CALL_ERROR_INTERNAL, SPAN_NULL);
}

static const CallProvider provider = {.name = "test", .start = tool_start};

static void rig_add(Rig *rig, const char *name, const char *more)
{
    char json[512];

    (void)snprintf(json, sizeof(json), "{\"name\":\"%s\",\"inputSchema\":{\"type\":\"object\"}%s}",
                   name, more);
    assert_int_equal(
        router_add(
            rig->router,
            &(RouterSpec){.kind = ROUTER_TOOL, .json = span_from_str(json), .provider = &provider},
            NULL),
        0);
}

static void rig_begin(Rig *rig)
{
    assert_int_equal(router_new(&rig->router, NULL, (HashSeed){1, 2}), 0);
    assert_int_equal(agent_tools_new(&rig->tools, rig->router, rules, 2, NULL), 0);
}

static void rig_end(Rig *rig)
{
    assert_null(agent_tools_free(rig->tools));
    (void)router_free(rig->router);
}

static void assert_judged(Rig *rig, const char *name, TurnVerdict verdict, bool is_shared)
{
    TurnJudgement judgement = agent_tools_judge(rig->tools, span_from_str(name));

    assert_int_equal(judgement.verdict, verdict);
    assert_int_equal(judgement.is_shared, is_shared);
}

static void tools_are_offered_as_they_come_and_go_but_for_those_denied(void **state)
{
    const AgentToolSpec *specs;
    size_t n;
    Rig rig;

    (void)state;
    rig_begin(&rig);
    (void)agent_tools_offer(rig.tools, &n);
    assert_int_equal(n, 0);
    rig_add(&rig, "look", ",\"description\":\"Looks\\nround.\"");
    rig_add(&rig, "secret_one", "");
    rig_add(&rig, "run", ",\"title\":\"Runs\"");
    specs = agent_tools_offer(rig.tools, &n);
    assert_int_equal(n, 2);
    assert_true(span_equals(specs[0].name, SPAN("look")));
    assert_true(span_equals(specs[0].description, SPAN("Looks\nround.")));
    assert_true(span_equals(specs[0].schema, SPAN("{\"type\":\"object\"}")));
    assert_true(span_equals(specs[1].description, SPAN("Runs")));
    assert_true(agent_tools_bytes(rig.tools) > 2 * strlen("{\"type\":\"object\"}"));
    assert_int_equal(router_remove(rig.router, ROUTER_TOOL, SPAN("look")), 0);
    specs = agent_tools_offer(rig.tools, &n);
    assert_int_equal(n, 1);
    assert_true(span_equals(specs[0].name, SPAN("run")));
    rig_end(&rig);
}

static void calls_are_judged_by_hint_and_rule(void **state)
{
    Rig rig;

    (void)state;
    rig_begin(&rig);
    rig_add(&rig, "look", ",\"annotations\":{\"readOnlyHint\":true}");
    rig_add(&rig, "change", ",\"annotations\":{\"readOnlyHint\":false}");
    rig_add(&rig, "run", "");
    rig_add(&rig, "secret_one", ",\"annotations\":{\"readOnlyHint\":true}");
    assert_judged(&rig, "look", TURN_ALLOW, true);
    assert_judged(&rig, "change", TURN_ASK, false);
    assert_judged(&rig, "run", TURN_ALLOW, false);
    assert_judged(&rig, "secret_one", TURN_DENY, true);
    assert_judged(&rig, "nothing", TURN_NO_TOOL, false);
    rig_end(&rig);
}

static void more_tools_than_models_take_are_not_offered(void **state)
{
    size_t n;
    Rig rig;

    (void)state;
    rig_begin(&rig);
    for (int i = 0; i < LIMIT_AGENT_TOOLS + 5; i++) {
        char name[32];

        (void)snprintf(name, sizeof(name), "tool_%d", i);
        rig_add(&rig, name, "");
    }
    (void)agent_tools_offer(rig.tools, &n);
    assert_int_equal(n, LIMIT_AGENT_TOOLS);
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools_are_offered_as_they_come_and_go_but_for_those_denied),
        cmocka_unit_test(calls_are_judged_by_hint_and_rule),
        cmocka_unit_test(more_tools_than_models_take_are_not_offered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
