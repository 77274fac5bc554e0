/* Those who watch are told of every call, once at each end. */
#include "unit/router/fake.h"

typedef struct Seen {
    RouterWatch watch;
    size_t n_began;
    size_t n_ended;
    size_t n_taken_back;
    CallError error;
    char provider[32];
    char target[32];
} Seen;

static void seen_began(void *context, Call *call)
{
    Seen *seen = context;

    seen->n_began++;
    call->began_ns = 7;
}

static void seen_ended(void *context, const Call *call, const CallResult *result)
{
    Seen *seen = context;

    seen->n_ended++;
    assert_int_equal(call->began_ns, 7);
    (void)snprintf(seen->provider, sizeof(seen->provider), "%s", router_call_provider(call));
    fake_copy(seen->target, sizeof(seen->target), call->target);
    if (result == NULL) {
        seen->n_taken_back++;
    } else {
        seen->error = result->error;
    }
}

static void watched_init(World *world, Seen *seen, const RouterLimits *limits)
{
    world_init(world, limits);
    *seen = (Seen){.watch = {.began = seen_began, .ended = seen_ended}};
    seen->watch.context = seen;
    router_set_watch(world->router, &seen->watch);
}

static void each_end_of_a_call_is_seen_once(void **state)
{
    World world;
    Seen seen;

    (void)state;
    watched_init(&world, &seen, NULL);
    asker_ask(&world.asker, world.router, CALL_TOOL, "echo", "{}");
    assert_int_equal(seen.n_began, 1);
    assert_int_equal(seen.n_ended, 1);
    assert_int_equal(seen.error, CALL_ERROR_NONE);
    assert_string_equal(seen.provider, "fake");
    assert_string_equal(seen.target, "echo");

    asker_ask(&world.asker, world.router, CALL_TOOL, "nobody", "{}");
    assert_int_equal(seen.n_ended, 2);
    assert_int_equal(seen.error, CALL_ERROR_UNKNOWN_TOOL);
    assert_string_equal(seen.provider, "router");

    world.provider.plan = FAKE_WAIT;
    asker_prepare(&world.asker, CALL_TOOL, "echo", "{}");
    router_dispatch(world.router, NULL, &world.asker.call);
    assert_int_equal(seen.n_began, 3);
    assert_int_equal(seen.n_ended, 2);
    router_cancel(world.router, &world.asker.call);
    assert_int_equal(seen.n_ended, 3);
    assert_int_equal(seen.n_taken_back, 1);

    router_set_watch(world.router, NULL);
    world.provider.plan = FAKE_ECHO;
    asker_ask(&world.asker, world.router, CALL_TOOL, "echo", "{}");
    assert_int_equal(seen.n_ended, 3);
    world_deinit(&world);
}

static void what_the_quota_refuses_is_seen(void **state)
{
    RouterLimits limits = {.rate_burst = 1, .rate_per_s = 1};
    RouterQuota quota;
    World world;
    Seen seen;

    (void)state;
    watched_init(&world, &seen, &limits);
    router_quota_init(&quota, &limits, 0);
    for (int i = 0; i < 2; i++) {
        asker_prepare(&world.asker, CALL_TOOL, "echo", "{}");
        router_dispatch(world.router, &quota, &world.asker.call);
    }
    assert_int_equal(seen.n_began, 2);
    assert_int_equal(seen.n_ended, 2);
    assert_int_equal(seen.error, CALL_ERROR_RATE);
    world_deinit(&world);
}

static void a_tool_is_described_by_name(void **state)
{
    World world;

    (void)state;
    world_init(&world, NULL);
    assert_true(span_equals(router_tool_description(world.router, SPAN("echo")),
                            SPAN("{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}}")));
    assert_int_equal(router_tool_description(world.router, SPAN("nobody")).n, 0);
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_end_of_a_call_is_seen_once),
        cmocka_unit_test(what_the_quota_refuses_is_seen),
        cmocka_unit_test(a_tool_is_described_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
