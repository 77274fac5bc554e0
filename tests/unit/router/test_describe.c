/* Tools whose description is made when it is first needed. */
#include "support/cmocka.h"

#include <errno.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/router/fake.h"

#define SCHEMAS                                                                                    \
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}},"         \
    "\"outputSchema\":{\"type\":\"object\",\"required\":[\"out\"]}"

static const char good[] = "{\"name\":\"late\", " SCHEMAS "}";

/* The provider that tests know, and what it says of its tool. */
typedef struct Late {
    FakeProvider provider;
    const char *json;
    int r; /* of describe */
    size_t n_described;
} Late;

static int late_describe(void *context, Span name, Bytes *out)
{
    Late *late = context;

    assert_true(span_equals(name, SPAN("late")));
    late->n_described++;
    return late->r != 0 ? late->r : bytes_append_span(out, span_from_str(late->json));
}

static int late_add(Router *router, Late *late, const char *name, Diag *diag)
{
    return router_add(router,
                      &(RouterSpec){.kind = ROUTER_TOOL,
                                    .name = span_from_str(name),
                                    .describe = late_describe,
                                    .provider = &fake_provider,
                                    .context = late,
                                    .release = fake_release},
                      diag);
}

static void nothing_is_described_before_it_is_needed(void **state)
{
    Late late = {.json = good};
    World world;

    (void)state;
    world_init(&world, NULL);
    assert_int_equal(late_add(world.router, &late, "late", NULL), 0);
    assert_int_equal(router_count(world.router, ROUTER_TOOL), 2);
    assert_true(router_has_tool(world.router, SPAN("late")));
    asker_ask(&world.asker, world.router, CALL_TOOL, "echo", "{}");
    assert_int_equal(late.n_described, 0);
    world_deinit(&world);
    assert_int_equal(late.n_described, 0);
    assert_int_equal(late.provider.n_released, 1);
}

static void list_and_call_describe_it_once(void **state)
{
    static const CallVerb orders[][2] = {{CALL_LIST_TOOLS, CALL_TOOL},
                                         {CALL_TOOL, CALL_LIST_TOOLS}};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(orders); i++) {
        CallResult result = {.kind = CALL_RESULT_TOOL, .structured = SPAN("{\"out\":1}")};
        Late late = {.json = good, .provider = {.result = &result}};
        World world;

        world_init(&world, NULL);
        assert_int_equal(late_add(world.router, &late, "late", NULL), 0);
        for (size_t k = 0; k < 4; k++) {
            CallVerb verb = orders[i][k % 2];

            asker_ask(&world.asker, world.router, verb, "late", "{\"n\":1}");
            assert_int_equal(world.asker.kind,
                             verb == CALL_TOOL ? CALL_RESULT_TOOL : CALL_RESULT_LIST);
            assert_string_equal(world.asker.content, verb == CALL_TOOL ? "" : "echo late");
            assert_int_equal(late.n_described, 1);
        }
        assert_int_equal(late.provider.n_started, 2);
        world_deinit(&world);
    }
}

static void its_schemas_are_held_against_the_first_call(void **state)
{
    CallResult result = {.kind = CALL_RESULT_TOOL, .structured = SPAN("{\"in\":1}")};
    Late late = {.json = good, .provider = {.result = &result}};
    World world;

    (void)state;
    world_init(&world, NULL);
    assert_int_equal(late_add(world.router, &late, "late", NULL), 0);
    asker_ask(&world.asker, world.router, CALL_TOOL, "late", "{\"n\":\"x\"}");
    assert_int_equal(world.asker.error, CALL_ERROR_INVALID_ARGUMENTS);
    assert_int_equal(late.provider.n_started, 0);
    asker_ask(&world.asker, world.router, CALL_TOOL, "late", "{}");
    assert_int_equal(world.asker.error, CALL_ERROR_BAD_RESULT);
    world_deinit(&world);
}

static void its_name_is_taken_from_the_beginning(void **state)
{
    Late late = {.json = good};
    Late other = {.json = good};
    Diag diag = DIAG_NULL;
    World world;

    (void)state;
    world_init(&world, NULL);
    assert_int_equal(late_add(world.router, &late, "echo", NULL), ROUTER_E_EXISTS);
    assert_int_equal(late_add(world.router, &late, "late", NULL), 0);
    assert_int_equal(late_add(world.router, &other, "late", NULL), ROUTER_E_EXISTS);
    assert_int_equal(fake_add(world.router, ROUTER_TOOL, good, &world.provider, NULL),
                     ROUTER_E_EXISTS);
    assert_int_equal(late_add(world.router, &other, "a b", &diag), ROUTER_E_MALFORMED);
    assert_string_equal(diag.field, "name");
    world_deinit(&world);
    assert_int_equal(other.provider.n_released, 0);
}

static void it_may_go_before_and_after_it_is_described(void **state)
{
    Late late = {.json = good};
    World world;

    (void)state;
    world_init(&world, NULL);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(late_add(world.router, &late, "late", NULL), 0);
        if (i == 1) {
            asker_ask(&world.asker, world.router, CALL_LIST_TOOLS, "", NULL);
            assert_string_equal(world.asker.content, "echo late");
        } else if (i == 2) {
            asker_ask(&world.asker, world.router, CALL_TOOL, "late", "[]");
        }
        assert_int_equal(router_remove(world.router, ROUTER_TOOL, SPAN("late")), 0);
        asker_ask(&world.asker, world.router, CALL_LIST_TOOLS, "", NULL);
        assert_string_equal(world.asker.content, "echo");
        fake_add_tool(world.router, "next", &world.provider);
        asker_ask(&world.asker, world.router, CALL_LIST_TOOLS, "", NULL);
        assert_string_equal(world.asker.content, "echo next");
        assert_int_equal(router_remove(world.router, ROUTER_TOOL, SPAN("next")), 0);
    }
    assert_int_equal(late.n_described, 2);
    world_deinit(&world);
}

static void wrong_description_is_an_internal_error(void **state)
{
    static const struct {
        const char *json;
        int r;
        bool is_listed; /* only its schemas are wrong */
    } cases[] = {
        {"", 0, false},
        {"[]", 0, false},
        {"{\"name\":\"other\"," SCHEMAS "}", 0, false},
        {"{" SCHEMAS "}", 0, false},
        {"{\"name\":\"late\",\"title\":1," SCHEMAS "}", 0, false},
        {"{\"name\":\"late\"}", 0, true},
        {"{\"name\":\"late\",\"inputSchema\":{\"type\":\"object\"},\"outputSchema\":1}", 0, true},
        {good, -EIO, false},
        {good, BYTES_E_FULL, false},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Late late = {.json = cases[i].json, .r = cases[i].r};
        World world;

        world_init(&world, NULL);
        assert_int_equal(late_add(world.router, &late, "late", NULL), 0);
        for (size_t k = 0; k < 2; k++) {
            asker_ask(&world.asker, world.router, CALL_LIST_TOOLS, "", NULL);
            assert_int_equal(world.asker.kind,
                             cases[i].is_listed ? CALL_RESULT_LIST : CALL_RESULT_ERROR);
            asker_ask(&world.asker, world.router, CALL_TOOL, "late", "{}");
            assert_int_equal(world.asker.error, CALL_ERROR_INTERNAL);
        }
        /* The others are not concerned. */
        asker_ask(&world.asker, world.router, CALL_TOOL, "echo", "{}");
        assert_int_equal(world.asker.kind, CALL_RESULT_TOOL);
        assert_int_equal(late.provider.n_started, 0);
        world_deinit(&world);
    }
}

/* 0 if both could be done, -ENOMEM if one could not. */
static int ask_both(World *world)
{
    int r = 0;

    asker_ask(&world->asker, world->router, CALL_TOOL, "late", "{}");
    r = world->asker.kind == CALL_RESULT_ERROR ? -ENOMEM : r;
    asker_ask(&world->asker, world->router, CALL_LIST_TOOLS, "", NULL);
    return world->asker.kind == CALL_RESULT_ERROR ? -ENOMEM : r;
}

static int describe_with_little(void *context)
{
    CallResult result = {.kind = CALL_RESULT_TOOL, .structured = SPAN("{\"out\":1}")};
    Late late = {.json = good, .provider = {.result = &result}};
    size_t fail_at = alloc_testing()->fail_at;
    World world;
    int r;

    (void)context;
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    world_init(&world, NULL);
    assert_int_equal(late_add(world.router, &late, "late", NULL), 0);
    asker_ask(&world.asker, world.router, CALL_TOOL, "echo", "{}");
    alloc_testing_reset(fail_at);
    r = ask_both(&world);
    if (r != 0) {
        alloc_testing_reset(ALLOC_TESTING_NEVER);
        assert_int_equal(ask_both(&world), 0); /* with memory it is as if nothing had been */
    }
    world_deinit(&world);
    return r;
}

static void want_of_memory_passes(void **state)
{
    (void)state;
    test_oom_sweep(describe_with_little, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_described_before_it_is_needed),
        cmocka_unit_test(list_and_call_describe_it_once),
        cmocka_unit_test(its_schemas_are_held_against_the_first_call),
        cmocka_unit_test(its_name_is_taken_from_the_beginning),
        cmocka_unit_test(it_may_go_before_and_after_it_is_described),
        cmocka_unit_test(wrong_description_is_an_internal_error),
        cmocka_unit_test(want_of_memory_passes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
