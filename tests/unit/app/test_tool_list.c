#include "app/tool_list.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "support/oom_sweep.h"
#include "unit/app/asker_rig.h"

static void never_start(void *context, Call *call)
{
    (void)context;
    call_fail(call, CALL_ERROR_INTERNAL, SPAN(""));
}

static const CallProvider provider = {.start = never_start};

static int add(Router *router, RouterKind kind, const char *json)
{
    return router_add(
        router, &(RouterSpec){.kind = kind, .json = span_from_str(json), .provider = &provider},
        NULL);
}

#define PLAIN "{\"name\":\"plain\",\"inputSchema\":{\"type\":\"object\"}}"
#define FULL                                                                                       \
    "{ \"name\": \"full\", \"title\":\"T\",\"description\":\"says \\\"\\u00e9\\\"\",\"icons\":[{"  \
    "\"src\":\"data:,\"}],\"inputSchema\":{\"type\":\"object\",\"properties\":{\"n\":{"            \
    "\"maximum\":9007199254740993}}},\"outputSchema\":{\"type\":\"object\"},\"annotations\":{"     \
    "\"readOnlyHint\":true},\"_meta\":{\"x\":1.0}}"
#define PLAIN_LISTED                                                                               \
    "{\"name\":\"plain\",\"description\":\"\",\"input_schema\":{\"type\":\"object\"}}"
#define FULL_LISTED                                                                                \
    "{\"name\":\"full\",\"description\":\"says \\\"\\u00e9\\\"\",\"title\":\"T\","                 \
    "\"input_schema\":{\"type\":\"object\",\"properties\":{\"n\":{\"maximum\":9007199254740993}}}" \
    ",\"output_schema\":{\"type\":\"object\"},\"annotations\":{\"readOnlyHint\":true},\"icons\":"  \
    "[{\"src\":\"data:,\"}],\"_meta\":{\"x\":1.0}}"
#define PLAN        "{ \"uri\": \"plan://1\", \"name\": \"p\", \"mimeType\": \"image/svg+xml\" }"
#define PLAN_LISTED "{\"uri\":\"plan://1\",\"name\":\"p\",\"mimeType\":\"image/svg+xml\"}"
#define MORE        "{\"uri\":\"plan://2\",\"name\":\"q\",\"size\":12}"

static int router_make(Router **ret)
{
    int r = router_new(ret, NULL, (HashSeed){.k0 = 1, .k1 = 2});

    if (r == 0) {
        r = add(*ret, ROUTER_TOOL, PLAIN);
    }
    if (r == 0) {
        r = add(*ret, ROUTER_RESOURCE, PLAN);
    }
    if (r == 0) {
        r = add(*ret, ROUTER_RESOURCE, MORE);
    }
    return r != 0 ? r : add(*ret, ROUTER_TOOL, FULL);
}

/* Both lists in an array. */
static int write_both(Router *router, Bytes *out)
{
    JsonWriter writer;
    int r;
    int finished;

    json_writer_init(&writer, out, JSON_STYLE_COMPACT);
    json_write_array(&writer);
    r = tool_list_write(router, &writer);
    if (r == 0) {
        r = tool_list_write_resources(router, &writer);
    }
    json_write_end_array(&writer);
    finished = json_writer_finish(&writer);
    return r != 0 ? r : finished;
}

static void expect_both(Router *router, const char *json)
{
    Bytes out;

    bytes_init(&out, 1 << 20);
    assert_int_equal(write_both(router, &out), 0);
    assert_int_equal(bytes_append_byte(&out, '\0'), 0);
    assert_string_equal((const char *)out.data, json);
    bytes_deinit(&out);
}

#define ALL "[[" PLAIN_LISTED "," FULL_LISTED "],[" PLAN_LISTED "," MORE "]]"

static void tools_have_the_form_of_a_tools_file_and_resources_their_own(void **state)
{
    Router *router = NULL;

    (void)state;
    assert_int_equal(router_make(&router), 0);
    expect_both(router, ALL);
    router = router_free(router);
}

static void lists_for_ourselves_are_known_as_such(void **state)
{
    Router *router = NULL;
    SeenAsker seen;

    (void)state;
    assert_int_equal(router_make(&router), 0);
    seen_asker_watch(&seen, router);
    expect_both(router, ALL);
    assert_int_equal(seen.n_ended, 2);
    assert_string_equal(seen.dialect, "internal");
    router = router_free(router);
}

static void all_pages_are_listed(void **state)
{
    Router *router = NULL;

    (void)state;
    assert_int_equal(router_make(&router), 0);
    router_set_page_size(router, 1);
    expect_both(router, ALL);
    router = router_free(router);
}

/* The time that a tool may take goes with it. */
static void a_tools_own_time_is_listed(void **state)
{
    Router *router = NULL;

    (void)state;
    assert_int_equal(router_new(&router, NULL, (HashSeed){.k0 = 1}), 0);
    assert_int_equal(router_add(router,
                                &(RouterSpec){.kind = ROUTER_TOOL,
                                              .json = SPAN(PLAIN),
                                              .provider = &provider,
                                              .timeout_ms = 60000},
                                NULL),
                     0);
    expect_both(router, "[[{\"name\":\"plain\",\"description\":\"\",\"input_schema\":{\"type\":"
                        "\"object\"},\"timeout_ms\":60000}],[]]");
    router = router_free(router);
}

/* Whoever lists it may pass it on. */
static void commands_say_that_they_are(void **state)
{
    static const char *const metas[][2] = {
        {"", "{\"toolwire/command\":\"guarded\"}"},
        {",\"_meta\":{\"x\":1.0,\"toolwire/command\":false,\"y\":[]}",
         "{\"x\":1.0,\"y\":[],\"toolwire/command\":\"guarded\"}"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(metas); i++) {
        Router *router = NULL;
        char json[200];
        char wanted[200];
        JsonWriter writer;
        Bytes out;

        (void)snprintf(json, sizeof(json),
                       "{\"name\":\"c\",\"inputSchema\":{\"type\":\"object\"}%s}", metas[i][0]);
        (void)snprintf(wanted, sizeof(wanted), ",\"_meta\":%s}]", metas[i][1]);
        assert_int_equal(router_new(&router, NULL, (HashSeed){.k0 = 1}), 0);
        assert_int_equal(router_add(router,
                                    &(RouterSpec){.kind = ROUTER_TOOL,
                                                  .json = span_from_str(json),
                                                  .provider = &provider,
                                                  .is_command = true},
                                    NULL),
                         0);
        bytes_init(&out, 1 << 20);
        json_writer_init(&writer, &out, JSON_STYLE_COMPACT);
        assert_int_equal(tool_list_write(router, &writer), 0);
        assert_int_equal(json_writer_finish(&writer), 0);
        assert_true(out.n > strlen(wanted));
        assert_memory_equal(out.data + out.n - strlen(wanted), wanted, strlen(wanted));
        bytes_deinit(&out);
        router = router_free(router);
    }
}

static void nothing_is_listed_as_nothing(void **state)
{
    Router *router = NULL;

    (void)state;
    assert_int_equal(router_new(&router, NULL, (HashSeed){.k0 = 1}), 0);
    expect_both(router, "[[],[]]");
    router = router_free(router);
}

static void a_full_buffer_is_told_by_the_writer(void **state)
{
    Router *router = NULL;
    Bytes out;

    (void)state;
    assert_int_equal(router_make(&router), 0);
    for (size_t max = 0; max < strlen(ALL); max++) {
        bytes_init(&out, max);
        assert_int_equal(write_both(router, &out), BYTES_E_FULL);
        assert_int_equal(out.n, 0);
        bytes_deinit(&out);
    }
    router = router_free(router);
}

static int list_once(void *context)
{
    Router *router = NULL;
    Bytes out;
    int r = router_make(&router);

    (void)context;
    bytes_init(&out, 1 << 20);
    if (r == 0) {
        router_set_page_size(router, 1);
        r = write_both(router, &out);
        assert_true(r != 0 || span_equals(bytes_span(&out), SPAN(ALL)));
    }
    bytes_deinit(&out);
    router = router_free(router);
    return r;
}

static void no_allocation_may_fail_unnoticed(void **state)
{
    (void)state;
    test_oom_sweep(list_once, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tools_have_the_form_of_a_tools_file_and_resources_their_own),
        cmocka_unit_test(lists_for_ourselves_are_known_as_such),
        cmocka_unit_test(all_pages_are_listed),
        cmocka_unit_test(a_tools_own_time_is_listed),
        cmocka_unit_test(commands_say_that_they_are),
        cmocka_unit_test(nothing_is_listed_as_nothing),
        cmocka_unit_test(a_full_buffer_is_told_by_the_writer),
        cmocka_unit_test(no_allocation_may_fail_unnoticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
