#include "unit/router/fake.h"

#include "base/limits.h"
#include "support/alloc_testing.h"

/* Starts a call that its provider keeps. */
static void world_wait(World *world, int64_t timeout_ms)
{
    world->provider.plan = FAKE_WAIT;
    asker_prepare(&world->asker, CALL_TOOL, "echo", "{\"a\":1}");
    world->asker.call.timeout_ms = timeout_ms;
    world->asker.call.wants_progress = true;
    router_dispatch(world->router, NULL, &world->asker.call);
    assert_ptr_equal(world->provider.call, &world->asker.call);
    assert_true(world->asker.call.running);
}

static void quota_is_kept_and_given_back_by_every_end(void **state)
{
    static const CallResult ask = {.kind = CALL_RESULT_ASK};
    const RouterLimits limits = {.max_in_flight = 1, .rate_burst = 6, .rate_per_s = 1};
    RouterQuota quota;
    Asker second;
    World world;

    (void)state;
    world_init(&world, &limits);
    asker_init(&second);
    router_quota_init(&quota, &limits, 0);
    world.provider.plan = FAKE_WAIT;
    asker_prepare(&world.asker, CALL_TOOL, "echo", NULL);
    router_dispatch(world.router, &quota, &world.asker.call);
    asker_prepare(&second, CALL_TOOL, "echo", NULL);
    router_dispatch(world.router, &quota, &second.call);
    assert_int_equal(second.error, CALL_ERROR_BUSY);
    assert_int_equal(quota.n_running, 1);
    /* Cancelled, timed out, asked, refused and answered: each makes room. */
    router_cancel(world.router, &world.asker.call);
    assert_int_equal(quota.n_running, 0);
    asker_prepare(&world.asker, CALL_TOOL, "echo", NULL);
    world.asker.call.timeout_ms = 10;
    router_dispatch(world.router, &quota, &world.asker.call);
    assert_int_equal(quota.n_running, 1);
    router_advance(world.router, 10);
    assert_int_equal(quota.n_running, 0);
    world.provider.plan = FAKE_ECHO;
    world.provider.result = &ask;
    asker_prepare(&world.asker, CALL_TOOL, "echo", NULL);
    router_dispatch(world.router, &quota, &world.asker.call);
    assert_int_equal(world.asker.kind, CALL_RESULT_ASK);
    assert_int_equal(quota.n_running, 0);
    asker_prepare(&world.asker, CALL_TOOL, "none", NULL);
    router_dispatch(world.router, &quota, &world.asker.call);
    assert_int_equal(quota.n_running, 0);
    for (int i = 0; i < 3; i++) {
        asker_prepare(&world.asker, CALL_LIST_TOOLS, "", NULL);
        router_dispatch(world.router, &quota, &world.asker.call);
        assert_int_equal(quota.n_running, 0);
    }
    assert_int_equal(world.asker.error, CALL_ERROR_RATE);
    assert_int_equal(world.asker.retry_ms, 990);
    asker_deinit(&second);
    world_deinit(&world);
}

static void late_answer_finds_its_arguments_and_its_asker(void **state)
{
    static const CallResult result = {.kind = CALL_RESULT_TOOL, .is_error = true};
    World world;
    Call *call;

    (void)state;
    world_init(&world, NULL);
    world_wait(&world, 0);
    assert_int_equal(world.asker.n_finished, 0);
    /* The message that the arguments lay in is gone. */
    memset(world.asker.text, '#', sizeof(world.asker.text));
    call = world.provider.call;
    assert_true(span_equals(json_span(call->arguments), SPAN("{\"a\":1}")));
    assert_true(span_equals(call->target, SPAN("echo")));
    assert_int_equal(json_count(router_call_description(call)), 2);
    assert_int_equal(router_next_deadline(world.router), LIMIT_CALL_MS);
    world.provider.call = NULL;
    call_finish(call, &result);
    assert_int_equal(world.asker.n_finished, 1);
    assert_true(world.asker.is_error);
    assert_int_equal(router_next_deadline(world.router), INT64_MAX);
    assert_int_equal(world.provider.n_cancelled, 0);
    world_deinit(&world);
}

/* A call may be dispatched again, with answers, and perhaps to another provider by then. */
static void what_an_earlier_provider_took_is_kept_for_the_next(void **state)
{
    World world;

    (void)state;
    world_init(&world, NULL);
    world.provider.plan = FAKE_WAIT;
    asker_prepare(&world.asker, CALL_TOOL, "echo", "{\"a\":1}");
    world.asker.call.took_arguments = true;
    router_dispatch(world.router, NULL, &world.asker.call);
    memset(world.asker.text, '#', sizeof(world.asker.text));
    assert_non_null(world.provider.call->arguments.node);
    assert_true(span_equals(json_span(world.provider.call->arguments), SPAN("{\"a\":1}")));
    router_cancel(world.router, world.provider.call);
    world_deinit(&world);
}

static void deadline_stops_the_work_and_says_so(void **state)
{
    World world;

    (void)state;
    world_init(&world, NULL);
    router_advance(world.router, 1000);
    world_wait(&world, 250);
    assert_int_equal(router_next_deadline(world.router), 1250);
    router_advance(world.router, 1249);
    assert_int_equal(world.asker.n_finished, 0);
    router_advance(world.router, 1250);
    assert_int_equal(world.asker.n_finished, 1);
    assert_int_equal(world.asker.error, CALL_ERROR_TIMEOUT);
    assert_string_equal(world.asker.message, "deadline passed after 250 ms");
    assert_int_equal(world.provider.n_cancelled, 1);
    assert_int_equal(router_next_deadline(world.router), INT64_MAX);
    world_deinit(&world);
}

/* Says every error as a tool's result, but for those that it has no words for. */
static bool wording_word(void *context, const CallResult *error, CallResult *ret)
{
    FakeProvider *provider = context;

    assert_int_equal(error->error, CALL_ERROR_TIMEOUT);
    assert_true(span_equals(error->message, SPAN("deadline passed after 250 ms")));
    assert_int_equal(provider->n_cancelled, 1);
    if (provider->result == NULL) {
        return false;
    }
    *ret = *provider->result;
    return true;
}

static void deadline_is_said_in_the_words_of_the_provider(void **state)
{
    static const CallProvider wording = {
        .start = fake_start, .cancel = fake_cancel, .word = wording_word};
    static const Span piece = SPAN_INIT("late");
    CallResult words = CALL_RESULT_TOOL_PIECES(&piece, 1);

    (void)state;
    words.is_error = true;
    for (int has_words = 0; has_words < 2; has_words++) {
        World world;

        world_init(&world, NULL);
        assert_int_equal(router_remove(world.router, ROUTER_TOOL, SPAN("echo")), 0);
        assert_int_equal(
            router_add(
                world.router,
                &(RouterSpec){.kind = ROUTER_TOOL,
                              .json =
                                  SPAN("{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}}"),
                              .provider = &wording,
                              .context = &world.provider},
                NULL),
            0);
        world.provider.result = has_words ? &words : NULL;
        world_wait(&world, 250);
        router_advance(world.router, 250);
        assert_int_equal(world.asker.n_finished, 1);
        assert_int_equal(world.asker.kind, has_words ? CALL_RESULT_TOOL : CALL_RESULT_ERROR);
        assert_int_equal(world.asker.error, has_words ? CALL_ERROR_NONE : CALL_ERROR_TIMEOUT);
        assert_string_equal(world.asker.content, has_words ? "late" : "");
        world_deinit(&world);
    }
}

static void deadline_is_the_calls_else_the_entrys_else_the_routers(void **state)
{
    const RouterLimits limits = {.call_timeout_ms = 500, .call_timeout_max_ms = 2000};
    static const struct {
        int64_t entry_ms;
        int64_t call_ms;
        int64_t expected_ms;
    } cases[] = {{0, 0, 500}, {700, 0, 700}, {700, 100, 100}, {100, 700, 700}, {0, 9000, 2000}};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        World world;

        world_init(&world, &limits);
        world.provider.plan = FAKE_WAIT;
        assert_int_equal(
            router_add(world.router,
                       &(RouterSpec){
                           .kind = ROUTER_TOOL,
                           .json = SPAN("{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}"),
                           .provider = &fake_provider,
                           .context = &world.provider,
                           .timeout_ms = cases[i].entry_ms},
                       NULL),
            0);
        asker_prepare(&world.asker, CALL_TOOL, "t", NULL);
        world.asker.call.timeout_ms = cases[i].call_ms;
        router_dispatch(world.router, NULL, &world.asker.call);
        assert_int_equal(router_next_deadline(world.router), cases[i].expected_ms);
        world_deinit(&world);
    }
}

static void progress_moves_the_deadline_up_to_the_hard_one(void **state)
{
    const RouterLimits limits = {.call_timeout_ms = 100, .call_timeout_max_ms = 250};
    World world;

    (void)state;
    world_init(&world, &limits);
    world_wait(&world, 0);
    router_advance(world.router, 90);
    call_report(world.provider.call, &(CallProgress){.progress = 1});
    router_advance(world.router, 100);
    assert_int_equal(world.asker.n_finished, 0);
    assert_int_equal(router_next_deadline(world.router), 190);
    /* A report that does not grow moves nothing. */
    router_advance(world.router, 150);
    call_report(world.provider.call, &(CallProgress){.progress = 1});
    router_advance(world.router, 189);
    call_report(world.provider.call, &(CallProgress){.progress = 2});
    router_advance(world.router, 249);
    call_report(world.provider.call, &(CallProgress){.progress = 3});
    assert_int_equal(world.asker.n_finished, 0);
    assert_int_equal(world.asker.n_progress, 3);
    router_advance(world.router, 250);
    assert_int_equal(world.asker.error, CALL_ERROR_TIMEOUT);
    assert_string_equal(world.asker.message, "deadline passed after 250 ms");
    world_deinit(&world);
}

static int64_t clock_of(void *context)
{
    return *(const int64_t *)context;
}

/* The owner's loop slept until the provider woke it up: nobody advanced the router meanwhile. */
static void progress_after_a_sleep_is_counted_from_the_clock(void **state)
{
    const RouterLimits limits = {.call_timeout_ms = 100, .call_timeout_max_ms = 250};
    int64_t now_ms = 0;
    World world;

    (void)state;
    world_init(&world, &limits);
    router_set_clock(world.router, clock_of, &now_ms);
    now_ms = 1000;
    world_wait(&world, 0);
    assert_int_equal(router_next_deadline(world.router), 1100);
    now_ms = 1090;
    call_report(world.provider.call, &(CallProgress){.progress = 1});
    router_advance(world.router, 1100);
    assert_int_equal(world.asker.n_finished, 0);
    assert_int_equal(router_next_deadline(world.router), 1190);
    now_ms = 1180;
    call_report(world.provider.call, &(CallProgress){.progress = 2});
    now_ms = 500; /* a clock that goes back is not believed */
    call_report(world.provider.call, &(CallProgress){.progress = 3});
    router_advance(world.router, 1249);
    assert_int_equal(world.asker.n_finished, 0);
    router_advance(world.router, 1250);
    assert_int_equal(world.asker.error, CALL_ERROR_TIMEOUT);
    world_deinit(&world);
}

/* A door that cancels another call when one of its calls ends. */
typedef struct Pair {
    Asker asker;
    Router *router;
    Call *other;
} Pair;

static void pair_finish(Call *call, const CallResult *result)
{
    Pair *pair = (Pair *)call;

    fake_finish(call, result);
    if (pair->other != NULL) {
        router_cancel(pair->router, pair->other);
    }
}

static void calls_may_go_while_deadlines_are_walked(void **state)
{
    static const CallDoor door = {.finish = pair_finish};
    FakeProvider providers[3] = {{.plan = FAKE_WAIT}, {.plan = FAKE_WAIT}, {.plan = FAKE_WAIT}};
    Router *router = fake_router(NULL);
    Pair pairs[3];

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char name[2] = {(char)('a' + i), '\0'};

        fake_add_tool(router, name, &providers[i]);
        memset(&pairs[i], 0, sizeof(pairs[i]));
        asker_init(&pairs[i].asker);
        asker_prepare(&pairs[i].asker, CALL_TOOL, name, NULL);
        pairs[i].asker.call.door = &door;
        pairs[i].asker.call.timeout_ms = 10;
        pairs[i].router = router;
        router_dispatch(router, NULL, &pairs[i].asker.call);
    }
    pairs[0].other = &pairs[1].asker.call;
    router_advance(router, 10);
    assert_int_equal(pairs[0].asker.n_finished, 1);
    assert_int_equal(pairs[1].asker.n_finished, 0);
    assert_int_equal(pairs[2].asker.n_finished, 1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(providers[i].n_cancelled, 1);
        asker_deinit(&pairs[i].asker);
    }
    (void)router_free(router);
}

static void cancelled_call_stops_and_is_not_answered(void **state)
{
    World world;

    (void)state;
    world_init(&world, NULL);
    world_wait(&world, 0);
    router_cancel(world.router, &world.asker.call);
    assert_int_equal(world.provider.n_cancelled, 1);
    assert_int_equal(world.asker.n_finished, 0);
    assert_false(world.asker.call.running);
    router_cancel(world.router, &world.asker.call);
    assert_int_equal(world.provider.n_cancelled, 1);
    router_advance(world.router, INT64_MAX / 2);
    assert_int_equal(world.asker.n_finished, 0);
    world_deinit(&world);
}

/* The door gives the session up when it is told of progress, inside the provider's start. */
static void call_may_be_cancelled_while_it_starts(void **state)
{
    World world;

    (void)state;
    world_init(&world, NULL);
    world.provider.plan = FAKE_REPORT;
    asker_prepare(&world.asker, CALL_TOOL, "echo", NULL);
    world.asker.call.wants_progress = true;
    world.asker.cancels_in_progress = world.router;
    router_dispatch(world.router, NULL, &world.asker.call);
    assert_int_equal(world.provider.n_cancelled, 1);
    assert_int_equal(world.asker.n_finished, 0);
    assert_false(world.asker.call.running);
    assert_int_equal(router_next_deadline(world.router), INT64_MAX);
    world_deinit(&world);
}

static void removed_entry_lives_until_its_last_call_ends(void **state)
{
    static const CallResult result = {.kind = CALL_RESULT_TOOL};
    World world;
    Call *call;

    (void)state;
    world_init(&world, NULL);
    world_wait(&world, 0);
    assert_int_equal(router_remove(world.router, ROUTER_TOOL, SPAN("echo")), 0);
    assert_int_equal(world.provider.n_released, 0);
    assert_int_equal(json_kind(router_call_description(&world.asker.call)), JSON_OBJECT);
    call = world.provider.call;
    world.provider.call = NULL;
    call_finish(call, &result);
    assert_int_equal(world.asker.n_finished, 1);
    assert_int_equal(world.provider.n_released, 1);
    world_deinit(&world);
    assert_int_equal(world.provider.n_released, 1);
}

static void router_that_goes_ends_its_calls(void **state)
{
    World world;

    (void)state;
    world_init(&world, NULL);
    world_wait(&world, 0);
    world.router = router_free(world.router);
    assert_int_equal(world.asker.n_finished, 1);
    assert_int_equal(world.asker.error, CALL_ERROR_CANCELLED);
    assert_int_equal(world.provider.n_cancelled, 1);
    assert_int_equal(world.provider.n_released, 1);
    world_deinit(&world);
}

static void memory_of_a_finished_call_is_not_touched(void **state)
{
    World world;
    Arena kept;

    (void)state;
    world_init(&world, NULL);
    asker_prepare(&world.asker, CALL_TOOL, "echo", "{}");
    world.asker.poison = true;
    router_dispatch(world.router, NULL, &world.asker.call);
    kept = world.asker.call.kept_arena;
    for (size_t i = 0; i < offsetof(Call, kept_arena); i++) {
        assert_int_equal(((const unsigned char *)&world.asker.call)[i], 0x5a);
    }
    call_init(&world.asker.call);
    world.asker.call.kept_arena = kept;
    world_deinit(&world);
}

static void want_of_memory_for_the_arguments_ends_the_call(void **state)
{
    World world;

    (void)state;
    world_init(&world, NULL);
    asker_ask(&world.asker, world.router, CALL_TOOL, "echo", "{\"a\":1}");
    world.provider.plan = FAKE_WAIT;
    asker_prepare(&world.asker, CALL_TOOL, "echo", "{\"a\":1}");
    alloc_testing_reset(0);
    router_dispatch(world.router, NULL, &world.asker.call);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_int_equal(world.provider.n_cancelled, 1);
    assert_int_equal(world.asker.n_finished, 2);
    assert_int_equal(world.asker.error, CALL_ERROR_INTERNAL);
    assert_int_equal(router_next_deadline(world.router), INT64_MAX);
    world_deinit(&world);
}

static void asynchronous_calls_allocate_nothing_once_warm(void **state)
{
    static const CallResult result = {.kind = CALL_RESULT_TOOL};
    size_t n_calls = 0;
    World world;

    (void)state;
    world_init(&world, NULL);
    for (int i = 0; i < 1010; i++) {
        Call *call;

        if (i == 10) {
            n_calls = alloc_testing()->n_calls;
        }
        world_wait(&world, 0);
        call = world.provider.call;
        world.provider.call = NULL;
        call_finish(call, &result);
    }
    assert_int_equal(world.asker.n_finished, 1010);
    assert_int_equal(alloc_testing()->n_calls, n_calls);
    world_deinit(&world);
}

typedef struct Guest {
    RouterListener listener;
    unsigned n_opened;
    size_t n_answered; /* calls that had waited, when it was told */
    const World *world;
} Guest;

static void guest_opened(RouterListener *listener)
{
    Guest *guest = (Guest *)(void *)listener;

    guest->n_opened++;
    guest->n_answered = guest->world->asker.n_finished;
}

/* After the calls, which came first; and once, however often it is opened. */
static void who_listens_is_told_when_the_gate_opens(void **state)
{
    World world;
    Guest guest = {.listener = {.opened = guest_opened}, .world = &world};

    (void)state;
    world_init(&world, NULL);
    router_listen(world.router, &guest.listener);
    assert_false(router_knock(world.router));
    router_close_gate(world.router, NULL, NULL);
    assert_true(router_knock(world.router));
    asker_prepare(&world.asker, CALL_LIST_TOOLS, "", NULL);
    router_dispatch(world.router, NULL, &world.asker.call);
    assert_int_equal(world.asker.n_finished, 0);
    assert_int_equal(guest.n_opened, 0);
    router_open_gate(world.router);
    assert_false(router_knock(world.router));
    router_open_gate(world.router);
    assert_int_equal(guest.n_opened, 1);
    assert_int_equal(guest.n_answered, 1);
    router_unlisten(world.router, &guest.listener);
    world_deinit(&world);
}

static void count_knock(void *context)
{
    ++*(unsigned *)context;
}

/* What is about to come need not be made before somebody waits for it. */
static void the_first_who_waits_is_heard_once(void **state)
{
    World world;
    unsigned n = 0;

    (void)state;
    world_init(&world, NULL);
    router_close_gate(world.router, count_knock, &n);
    asker_ask(&world.asker, world.router, CALL_TOOL, "echo", "{}");
    assert_int_equal(n, 0); /* it is there, and waits for nobody */
    assert_int_equal(fake_add(world.router, ROUTER_TEMPLATE,
                              "{\"uriTemplate\":\"t://{name}\",\"name\":\"t\"}", &world.provider,
                              NULL),
                     0);
    world.provider.result = &CALL_RESULT_NULL;
    asker_ask(&world.asker, world.router, CALL_READ, "t://x", NULL);
    world.provider.result = NULL;
    assert_int_equal(n, 0);
    asker_prepare(&world.asker, CALL_TOOL, "b", "{}");
    router_dispatch(world.router, NULL, &world.asker.call);
    assert_int_equal(n, 1);
    assert_true(router_knock(world.router));
    assert_int_equal(n, 1);
    router_open_gate(world.router);
    assert_false(router_knock(world.router));
    router_close_gate(world.router, count_knock, &n);
    assert_true(router_knock(world.router));
    assert_int_equal(n, 2);
    router_open_gate(world.router);
    world_deinit(&world);
}

/* Whoever runs it sees what its asker said beside the arguments. */
static void a_call_that_waited_has_its_meta(void **state)
{
    char text[] = "{\"traceparent\":\"00-ab\"}";
    World world;
    Arena arena;
    JsonDoc doc;

    (void)state;
    world_init(&world, NULL);
    arena_init(&arena, SIZE_MAX);
    assert_int_equal(json_parse(&doc, &arena, text, strlen(text), NULL, NULL), 0);
    router_close_gate(world.router, NULL, NULL);
    asker_prepare(&world.asker, CALL_TOOL, "a", "{}");
    world.asker.call.meta = json_root(&doc);
    router_dispatch(world.router, NULL, &world.asker.call);
    memset(text, 'x', sizeof(text)); /* the door reads its next message */
    arena_deinit(&arena);
    fake_add_tool(world.router, "a", &world.provider);
    router_open_gate(world.router);
    assert_int_equal(world.provider.n_started, 1);
    assert_string_equal(world.provider.meta, "{\"traceparent\":\"00-ab\"}");
    assert_int_equal(world.asker.n_finished, 1);
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quota_is_kept_and_given_back_by_every_end),
        cmocka_unit_test(late_answer_finds_its_arguments_and_its_asker),
        cmocka_unit_test(what_an_earlier_provider_took_is_kept_for_the_next),
        cmocka_unit_test(deadline_stops_the_work_and_says_so),
        cmocka_unit_test(deadline_is_said_in_the_words_of_the_provider),
        cmocka_unit_test(deadline_is_the_calls_else_the_entrys_else_the_routers),
        cmocka_unit_test(progress_moves_the_deadline_up_to_the_hard_one),
        cmocka_unit_test(progress_after_a_sleep_is_counted_from_the_clock),
        cmocka_unit_test(calls_may_go_while_deadlines_are_walked),
        cmocka_unit_test(cancelled_call_stops_and_is_not_answered),
        cmocka_unit_test(call_may_be_cancelled_while_it_starts),
        cmocka_unit_test(removed_entry_lives_until_its_last_call_ends),
        cmocka_unit_test(router_that_goes_ends_its_calls),
        cmocka_unit_test(memory_of_a_finished_call_is_not_touched),
        cmocka_unit_test(want_of_memory_for_the_arguments_ends_the_call),
        cmocka_unit_test(asynchronous_calls_allocate_nothing_once_warm),
        cmocka_unit_test(who_listens_is_told_when_the_gate_opens),
        cmocka_unit_test(the_first_who_waits_is_heard_once),
        cmocka_unit_test(a_call_that_waited_has_its_meta),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
