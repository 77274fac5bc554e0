/* Resources that somebody wants to be told of are counted, and the first and the last are told. */
#include "unit/router/fake.h"

typedef struct Heard {
    size_t n;
    char uri[32];
    bool is_wanted;
} Heard;

static void heard(void *context, Span uri, bool is_wanted)
{
    Heard *self = context;

    self->n++;
    self->is_wanted = is_wanted;
    fake_copy(self->uri, sizeof(self->uri), uri);
}

static void the_first_and_the_last_are_told(void **state)
{
    Heard self = {.n = 0};
    size_t cursor = 0;
    World world;
    Span uri;

    (void)state;
    world_init(&world, NULL);
    router_set_wanted(world.router, heard, &self);
    router_want(world.router, SPAN("a://1"), true);
    assert_int_equal(self.n, 1);
    assert_true(self.is_wanted);
    assert_string_equal(self.uri, "a://1");
    router_want(world.router, SPAN("a://1"), true);
    router_want(world.router, SPAN("a://1"), false);
    assert_int_equal(self.n, 1);
    assert_true(router_next_wanted(world.router, &cursor, &uri));
    assert_true(span_equals(uri, SPAN("a://1")));
    assert_false(router_next_wanted(world.router, &cursor, &uri));
    router_want(world.router, SPAN("a://1"), false);
    assert_int_equal(self.n, 2);
    assert_false(self.is_wanted);
    cursor = 0;
    assert_false(router_next_wanted(world.router, &cursor, &uri));

    /* What was never wanted is not taken back. */
    router_want(world.router, SPAN("a://2"), false);
    assert_int_equal(self.n, 2);
    router_set_wanted(world.router, NULL, NULL);
    router_want(world.router, SPAN("a://2"), true);
    assert_int_equal(self.n, 2);
    world_deinit(&world);
}

static void add(Router *router, RouterKind kind, Span json, bool subscribes, int *context)
{
    assert_int_equal(router_add(router,
                                &(RouterSpec){.kind = kind,
                                              .json = json,
                                              .provider = &fake_provider,
                                              .context = context,
                                              .subscribes = subscribes},
                                NULL),
                     0);
}

static void whose_a_resource_is(void **state)
{
    void *context = NULL;
    int contexts[3];
    World world;

    (void)state;
    world_init(&world, NULL);
    add(world.router, ROUTER_RESOURCE, SPAN("{\"uri\":\"a://1\",\"name\":\"1\"}"), true,
        &contexts[0]);
    add(world.router, ROUTER_RESOURCE, SPAN("{\"uri\":\"a://2\",\"name\":\"2\"}"), false,
        &contexts[1]);
    add(world.router, ROUTER_TEMPLATE, SPAN("{\"uriTemplate\":\"a://{n}\",\"name\":\"n\"}"), true,
        &contexts[2]);
    assert_ptr_equal(router_subscriber(world.router, SPAN("a://1"), &context), &fake_provider);
    assert_ptr_equal(context, &contexts[0]);
    assert_null(router_subscriber(world.router, SPAN("a://2"), &context));
    assert_ptr_equal(router_subscriber(world.router, SPAN("a://3"), &context), &fake_provider);
    assert_ptr_equal(context, &contexts[2]);
    assert_null(router_subscriber(world.router, SPAN("b://3"), &context));
    world_deinit(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_and_the_last_are_told),
        cmocka_unit_test(whose_a_resource_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
