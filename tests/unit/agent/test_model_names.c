#include "agent/model_names.h"

#include "support/cmocka.h"

#include <string.h>

#include "support/oom_sweep.h"

static void names_that_services_take_stay(void **state)
{
    static const char *const names[] = {
        "a", "read_file", "A-9",
        "0123456789012345678901234567890123456789012345678901234567890123"};
    char wire[MODEL_NAME_MAX];

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        assert_ptr_equal(model_name_to_wire(span_from_str(names[i]), wire).p, names[i]);
    }
}

static void others_are_changed_into_such(void **state)
{
    static const char *const names[] = {
        "",
        "a.b",
        "a/b",
        "a b",
        "gr\xC3\xBC\xC3\x9F"
        "e",
        "x\ny",
        "01234567890123456789012345678901234567890123456789012345678901234",
        "a.b.c",
        "0123456789012345678901234567890123456789012345678901234567890123.5",
    };
    char wires[TW_ARRAY_SIZE(names)][MODEL_NAME_MAX];
    Span spans[TW_ARRAY_SIZE(names)];

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        spans[i] = model_name_to_wire(span_from_str(names[i]), wires[i]);
        assert_true(spans[i].n > 0 && spans[i].n <= MODEL_NAME_MAX);
        for (size_t k = 0; k < spans[i].n; k++) {
            assert_non_null(strchr(
                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", spans[i].p[k]));
        }
        for (size_t k = 0; k < i; k++) {
            assert_false(span_equals(spans[i], spans[k]));
        }
    }
}

static const AgentToolSpec tools[] = {
    {.name = SPAN_INIT("plain")}, {.name = SPAN_INIT("a.b")}, {.name = SPAN_INIT("a/b")}};

static void names_come_back(void **state)
{
    ModelNames names;

    (void)state;
    assert_int_equal(model_names_init(&names, tools, TW_ARRAY_SIZE(tools)), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(tools); i++) {
        char wire[MODEL_NAME_MAX];
        Span name = model_name_to_wire(tools[i].name, wire);

        assert_true(span_equals(model_name_from_wire(&names, name), tools[i].name));
    }
    assert_true(span_equals(model_name_from_wire(&names, SPAN("a_b")), SPAN("a_b")));
    assert_true(span_equals(model_name_from_wire(&names, SPAN("")), SPAN("")));
    model_names_deinit(&names);
    model_names_deinit(&names);
}

static int names_scenario(void *context)
{
    ModelNames names;
    int r = model_names_init(&names, tools, TW_ARRAY_SIZE(tools));

    (void)context;
    model_names_deinit(&names);
    return r;
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    test_oom_sweep(names_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_services_take_stay),
        cmocka_unit_test(others_are_changed_into_such),
        cmocka_unit_test(names_come_back),
        cmocka_unit_test(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
