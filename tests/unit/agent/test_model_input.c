#include "agent/model_input.h"

#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "support/oom_sweep.h"

typedef struct Case {
    const char *raw;
    const char *input;
    bool is_bad;
} Case;

static const Case cases[] = {
    {"", "{}", false},
    {" \n", "{}", false},
    {"{}", "{}", false},
    {" {\"a\": 1.0} ", "{\"a\": 1.0}", false},
    {"{\n  \"a\": [1, 2],\r\n  \"b\": \"x\\ny\"\n}", "{\"a\":[1,2],\"b\":\"x\\ny\"}", false},
    {"[]", "[]", true},
    {"null", "null", true},
    {"\"x\"", "\"x\"", true},
    {"{\"a\":", "{\"a\":", true},
    {"{\"a\":1}{", "{\"a\":1}{", true},
};

static void only_an_object_is_an_input(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Arena arena;
        Span input = SPAN_NULL;
        bool is_bad = false;

        arena_init(&arena, MODEL_INPUT_ARENA_BYTES(100));
        assert_int_equal(model_input_read(&arena, span_from_str(cases[i].raw), &input, &is_bad), 0);
        assert_int_equal(is_bad, cases[i].is_bad);
        assert_true(span_equals(input, span_from_str(cases[i].input)));
        arena_deinit(&arena);
    }
}

/* The answer around it must be readable by whoever reads the wire. */
static void what_is_nested_too_deep_is_bad(void **state)
{
    size_t depth = LIMIT_RESULT_DEPTH;
    size_t n = depth * 6 + 2;
    char *text = malloc(n);

    (void)state;
    assert_non_null(text);
    for (size_t extra = 0; extra < 2; extra++) {
        size_t d = depth - 1 + extra;
        size_t at = 0;
        Span input;
        bool is_bad = false;
        Arena arena;

        for (size_t i = 0; i < d; i++) {
            memcpy(text + at, "{\"a\":", 5);
            at += 5;
        }
        memcpy(text + at, "{}", 2);
        at += 2;
        memset(text + at, '}', d);
        at += d;
        assert_true(at <= n);
        arena_init(&arena, MODEL_INPUT_ARENA_BYTES(at));
        assert_int_equal(model_input_read(&arena, span_make(text, at), &input, &is_bad), 0);
        assert_int_equal(is_bad, extra != 0);
        arena_deinit(&arena);
    }
    free(text);
}

static void ids_differ(void **state)
{
    char a[MODEL_ID_SIZE];
    char b[MODEL_ID_SIZE];

    (void)state;
    assert_string_equal(model_id_make(a, UINT64_C(0xFFFF123456789abc), 7).p,
                        "call_123456789abc00000007");
    (void)model_id_make(b, UINT64_C(0xFFFF123456789abc), 8);
    assert_string_not_equal(a, b);
    (void)model_id_make(b, 1, 7);
    assert_string_not_equal(a, b);
}

static int read_scenario(void *context)
{
    Arena arena;
    Span input;
    bool is_bad;
    int r;

    (void)context;
    arena_init(&arena, MODEL_INPUT_ARENA_BYTES(100));
    r = model_input_read(&arena, SPAN("{\n\"a\":1\n}"), &input, &is_bad);
    arena_deinit(&arena);
    return r;
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    test_oom_sweep(read_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_an_object_is_an_input),
        cmocka_unit_test(what_is_nested_too_deep_is_bad),
        cmocka_unit_test(ids_differ),
        cmocka_unit_test(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
