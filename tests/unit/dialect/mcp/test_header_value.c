/* What goes into a header as it is, and what does not. */
#include "dialect/mcp/header_value.h"

#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "support/oom_sweep.h"

/* The header of a JSON value; "(none)" if there is none. 0, -ENOMEM. */
static int value_of(const char *json, char *ret, size_t size)
{
    JsonDoc doc = JSON_DOC_NULL;
    Arena arena;
    Bytes out;
    int r;

    arena_init(&arena, (size_t)1 << 20);
    bytes_init(&out, size - 1);
    r = json_parse(&doc, &arena, json, strlen(json), NULL, NULL);
    r = r != 0 ? r : mcp_header_value(&out, json_root(&doc));
    if (r == MCP_HEADER_E_NONE) {
        assert_int_equal(out.n, 0);
        (void)bytes_append_span(&out, SPAN("(none)"));
        r = 0;
    }
    if (r == 0) {
        memcpy(ret, out.data == NULL ? "" : out.data, out.n);
        ret[out.n] = '\0';
    }
    bytes_deinit(&out);
    arena_deinit(&arena);
    return r;
}

static void values_have_the_form_of_the_specification(void **state)
{
    static const struct {
        const char *json;
        const char *expected;
    } cases[] = {
        {"\"us-west1\"", "us-west1"},
        {"\"a b\\tc\"", "a b\tc"},
        {"\"\"", ""},
        {"42", "42"},
        {"-7", "-7"},
        {"1.0", "1"},
        {"1e2", "100"},
        {"1.5", "1.5"},
        {"9007199254740993", "9007199254740993"},
        {"true", "true"},
        {"false", "false"},
        {"null", "(none)"},
        {"[1]", "(none)"},
        {"{}", "(none)"},
        {"\"Z\\u00fcrich\"", "=?base64?WsO8cmljaA==?="},
        {"\"Zürich\"", "=?base64?WsO8cmljaA==?="},
        {"\" x\"", "=?base64?IHg=?="},
        {"\"x \"", "=?base64?eCA=?="},
        {"\"\\tx\"", "=?base64?CXg=?="},
        {"\"a\\nb\"", "=?base64?YQpi?="},
        {"\"a\\u0000b\"", "=?base64?YQBi?="},
        {"\"a\\u007fb\"", "=?base64?YX9i?="},
        {"\"=?base64?eA==?=\"", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="},
        {"\"=?base64?x\"", "=?base64?x"},
        {"\"x?=\"", "x?="},
    };
    char value[200];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(value_of(cases[i].json, value, sizeof(value)), 0);
        assert_string_equal(value, cases[i].expected);
    }
}

static void what_does_not_fit_leaves_nothing(void **state)
{
    Bytes out;

    (void)state;
    bytes_init(&out, 20);
    assert_int_equal(bytes_append_span(&out, SPAN("before")), 0);
    assert_int_equal(mcp_header_text(&out, SPAN("\x01more than fits")), BYTES_E_FULL);
    assert_int_equal(out.n, 6);
    bytes_deinit(&out);
}

static int scenario(void *context)
{
    char value[200];

    (void)context;
    return value_of("\"Z\\u00fcrich\"", value, sizeof(value));
}

static void memory_may_fail_anywhere(void **state)
{
    (void)state;
    test_oom_sweep(scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_have_the_form_of_the_specification),
        cmocka_unit_test(what_does_not_fit_leaves_nothing),
        cmocka_unit_test(memory_may_fail_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
