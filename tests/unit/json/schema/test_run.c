/* How validation behaves: limits, memory, threads, unreadable pages. */
#include "schema_testing.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/guard.h"

/* Nests open n times around middle. */
static char *run_nest(const char *open, const char *middle, const char *close, int n)
{
    size_t size = (strlen(open) + strlen(close)) * (size_t)n + strlen(middle) + 1;
    char *text = malloc(size);
    size_t at = 0;

    assert_non_null(text);
    for (int i = 0; i < n; i++) {
        at += (size_t)snprintf(text + at, size - at, "%s", open);
    }
    at += (size_t)snprintf(text + at, size - at, "%s", middle);
    for (int i = 0; i < n; i++) {
        at += (size_t)snprintf(text + at, size - at, "%s", close);
    }
    return text;
}

static void a_value_as_deep_as_json_allows_is_checked(void **state)
{
    char *good = run_nest("{\"a\":", "1", "}", 511);
    char *bad = run_nest("{\"a\":", "\"x\"", "}", 511);
    SchemaTesting t;

    (void)state;
    testing_open(
        &t,
        "{\"allOf\":[{\"anyOf\":[{\"type\":\"number\"},{\"properties\":{\"a\":{\"$ref\":\"#\"}},"
        "\"type\":\"object\"}]}]}",
        NULL);
    assert_int_equal(testing_check(&t, good), 0);
    assert_int_equal(testing_check(&t, bad), SCHEMA_E_INVALID);
    testing_close(&t);
    /* The full engine goes as deep. */
    testing_open(&t,
                 "{\"properties\":{\"a\":{\"$ref\":\"#\"}},\"unevaluatedProperties\":false,"
                 "\"type\":[\"object\",\"number\"]}",
                 NULL);
    assert_int_equal(testing_check(&t, good), 0);
    assert_int_equal(testing_check(&t, bad), SCHEMA_E_INVALID);
    testing_close(&t);
    free(good);
    free(bad);
}

static void endless_dynamic_references_are_stopped(void **state)
{
    SchemaTesting t;

    (void)state;
    testing_open(&t, "{\"$dynamicAnchor\":\"a\",\"$dynamicRef\":\"#a\"}", NULL);
    assert_int_equal(testing_check(&t, "1"), SCHEMA_E_LIMIT);
    testing_close(&t);
    testing_open(&t, "{\"if\":true,\"then\":{\"$ref\":\"#\"}}", NULL);
    assert_int_equal(testing_check(&t, "1"), SCHEMA_E_LIMIT);
    testing_close(&t);
}

static void work_that_doubles_at_every_level_is_stopped(void **state)
{
    char schema[8192] = "{\"$ref\":\"#/$defs/d0\",\"$defs\":{";
    SchemaTesting t;

    (void)state;
    for (int i = 0; i < 40; i++) {
        (void)snprintf(
            schema + strlen(schema), sizeof(schema) - strlen(schema),
            "\"d%d\":{\"allOf\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]},", i,
            i + 1, i + 1);
    }
    (void)snprintf(schema + strlen(schema), sizeof(schema) - strlen(schema),
                   "\"d40\":{\"minimum\":1}}}");
    testing_open(&t, schema, NULL);
    assert_int_equal(testing_check(&t, "5"), SCHEMA_E_LIMIT);
    testing_close(&t);
}

static void a_pattern_that_backtracks_without_end_is_stopped(void **state)
{
    SchemaTesting t;

    (void)state;
    testing_open(&t, "{\"pattern\":\"^(a+)+$\"}", NULL);
    assert_int_equal(testing_check(&t, "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\""),
                     SCHEMA_E_LIMIT);
    assert_int_equal(testing_check(&t, "\"aaaa\""), 0);
    testing_close(&t);
}

/* n members whose names each cost the pattern some thousand steps, but not LIMIT_REGEX_STEPS. */
static char *hard_names(int n)
{
    size_t size = (size_t)n * 40 + 3;
    char *text = malloc(size);
    size_t at = 1;

    assert_non_null(text);
    text[0] = '{';
    for (int i = 0; i < n; i++) {
        at += (size_t)snprintf(text + at, size - at, "%s\"aaaaaaaa%04db\":1", i > 0 ? "," : "", i);
    }
    (void)snprintf(text + at, size - at, "}");
    return text;
}

static void many_matches_that_are_each_slow_are_stopped(void **state)
{
    SchemaTesting t;
    char *few = hard_names(LIMIT_REGEX_HARD);
    char *many = hard_names(LIMIT_REGEX_HARD + 1);

    (void)state;
    testing_open(&t, "{\"patternProperties\":{\"^([a0-9]+)+$\":false}}", NULL);
    assert_int_equal(testing_check(&t, few), 0);
    assert_int_equal(testing_check(&t, many), SCHEMA_E_LIMIT);
    /* The next value begins with a full allowance. */
    assert_int_equal(testing_check(&t, few), 0);
    testing_close(&t);
    free(few);
    free(many);
}

static void long_arrays_are_compared_in_linear_time(void **state)
{
    size_t n = 200000;
    char *text = malloc(n * 24);
    size_t at = 0;
    SchemaTesting t;

    (void)state;
    assert_non_null(text);
    text[at++] = '[';
    for (size_t i = 0; i < n; i++) {
        at += (size_t)snprintf(text + at, 24, "{\"id\":%zu},", i);
    }
    (void)snprintf(text + at, 24, "{\"id\":%zu}]", n);
    testing_open(&t, "{\"uniqueItems\":true}", NULL);
    assert_int_equal(testing_check(&t, text), 0);
    (void)snprintf(text + at, 24, "{\"id\":7.0}]");
    assert_int_equal(testing_check(&t, text), SCHEMA_E_INVALID);
    assert_string_equal(schema_check_error(t.check, 0).message.p,
                        "items must differ, but 7 and 200000 are equal");
    testing_close(&t);
    free(text);
}

static void equal_items_are_found_however_they_are_written(void **state)
{
    SchemaTesting t;

    (void)state;
    testing_open(&t, "{\"uniqueItems\":true}", NULL);
    assert_int_equal(testing_check(&t, "[0,1,2,3,4,5,6,7,8,9,10,1e1]"), SCHEMA_E_INVALID);
    assert_int_equal(
        testing_check(&t, "[0,1,2,3,4,5,6,7,8,9,{\"a\":1,\"b\":[2]},{\"b\":[2.0],\"a\":1}]"),
        SCHEMA_E_INVALID);
    assert_int_equal(testing_check(&t, "[0,1,2,3,4,5,6,7,8,9,\"ab\",\"\\u0061b\"]"),
                     SCHEMA_E_INVALID);
    assert_int_equal(testing_check(&t, "[0,1,2,3,4,5,6,7,8,9,-0.0]"), SCHEMA_E_INVALID);
    assert_int_equal(
        testing_check(&t, "[0,1,2,3,4,5,6,7,8,9,false,null,\"\",[],{},[[]],\"0\",true]"), 0);
    assert_int_equal(testing_check(&t, "[1e400,2e400,3,4,5,6,7,8,9,10]"), 0);
    testing_close(&t);
}

static void bounds_are_exact(void **state)
{
    static const struct {
        const char *schema;
        const char *good;
        const char *bad;
    } cases[] = {
        {"{\"minimum\":-3}", "-3", "-3.5"},
        {"{\"minimum\":-3}", "-3.0", "-3.0000000000000000000000001"},
        {"{\"exclusiveMinimum\":-3}", "-2.9", "-3.000"},
        {"{\"maximum\":-3}", "-3.5", "-2.5"},
        {"{\"exclusiveMaximum\":3}", "2.9999999999999999999999", "3.0"},
        {"{\"maximum\":9007199254740993}", "9007199254740993", "9007199254740994"},
        {"{\"minimum\":0.1}", "0.1", "0.09999999999999999999999"},
        {"{\"minimum\":1e2}", "100", "9.9e1"},
        {"{\"maximum\":1000000000000000000000}", "1e21", "1000000000000000000001"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        SchemaTesting t;

        testing_open(&t, cases[i].schema, NULL);
        if (testing_check(&t, cases[i].good) != 0 ||
            testing_check(&t, cases[i].bad) != SCHEMA_E_INVALID) {
            fail_msg("%s %s %s", cases[i].schema, cases[i].good, cases[i].bad);
        }
        testing_close(&t);
    }
}

static void objects_with_many_names_are_checked(void **state)
{
    char *schema = malloc(1 << 16);
    char *value = malloc(1 << 16);
    size_t s = 0;
    size_t v = 0;
    SchemaTesting t;

    (void)state;
    assert_true(schema != NULL && value != NULL);
    s += (size_t)snprintf(schema + s, 64, "{\"required\":[");
    v += (size_t)snprintf(value + v, 64, "{");
    for (int i = 0; i < 300; i++) {
        s += (size_t)snprintf(schema + s, 64, "%s\"a_rather_long_property_%d\"", i == 0 ? "" : ",",
                              i);
        v += (size_t)snprintf(value + v, 64, "%s\"a_rather_long_property_%d\":%d",
                              i == 0 ? "" : ",", i, i);
    }
    (void)snprintf(
        schema + s, 200,
        "],\"dependentRequired\":{\"a_rather_long_property_299\":[\"a_rather_long_property_298\"]},"
        "\"additionalProperties\":{\"type\":\"number\"}}");
    (void)snprintf(value + v, 64, "}");
    testing_open(&t, schema, NULL);
    assert_int_equal(testing_check(&t, value), 0);
    value[v - 6] = 'X';
    assert_int_equal(testing_check(&t, value), SCHEMA_E_INVALID);
    testing_close(&t);
    free(schema);
    free(value);
}

/* Keywords of all kinds, for the three tests below. */
static const char run_schema[] =
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"pattern\":\"^[a-z\\\\s]+$"
    "\"},"
    "\"n\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10},\"tags\":{\"uniqueItems\":true,"
    "\"items\":{\"enum\":[\"a\",\"b\"]}},"
    "\"when\":{\"format\":\"date-time\"}},\"anyOf\":[{\"required\":[\"name\"]},{\"required\":["
    "\"n\"]}],"
    "\"patternProperties\":{\"^x-\":{\"minLength\":2}},\"unevaluatedProperties\":false}";
static const char run_good[] =
    "{\"name\":\"a\\u0020b\",\"n\":3,\"tags\":[\"a\",\"b\"],\"x-y\":\"zz\","
    "\"when\":\"2026-11-16T01:02:03Z\"}";
static const char run_bad[] =
    "{\"name\":\"A\",\"n\":30,\"tags\":[\"a\",\"a\"],\"x-y\":\"z\",\"other\":1}";

static void a_warm_check_allocates_nothing(void **state)
{
    SchemaOptions options = {.assert_formats = true};
    SchemaTesting t;

    (void)state;
    testing_open(&t, run_schema, &options);
    assert_int_equal(testing_check(&t, run_good), 0);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(schema_validate(t.schema, t.check, json_root(&t.doc)), 0);
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    /* Nor does it for invalid values, once it has described as many errors before. */
    assert_int_equal(testing_check(&t, run_bad), SCHEMA_E_INVALID);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(schema_validate(t.schema, t.check, json_root(&t.doc)), SCHEMA_E_INVALID);
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    testing_close(&t);
}

static void nothing_is_read_past_the_text(void **state)
{
    static const char *const values[] = {"{\"a\":1}",        "{\"\":\"\"}", "\"a\"",  "[\"ab\"]",
                                         "{\"name\":\"a\"}", "{\"n\":1}",   run_good, run_bad};
    SchemaOptions options = {.assert_formats = true};
    SchemaTesting t;

    (void)state;
    testing_open(&t, run_schema, &options);
    for (size_t i = 0; i < TW_ARRAY_SIZE(values); i++) {
        GuardBuffer guard = guard_copy(values[i], strlen(values[i]));
        JsonDoc doc;

        arena_reset(&t.arena, 1 << 20);
        assert_int_equal(json_parse(&doc, &t.arena, guard.p, guard.n, NULL, NULL), 0);
        assert_int_equal(schema_validate(t.schema, t.check, json_root(&doc)),
                         i == 4 || i == 5 || i == 6 ? 0 : SCHEMA_E_INVALID);
        guard_free(&guard);
    }
    testing_close(&t);
    testing_open(&t, "{\"enum\":[\"a\",\"b\"]}", NULL);
    {
        GuardBuffer guard = guard_copy("\"b\"", 3);
        JsonDoc doc;

        assert_int_equal(json_parse(&doc, &t.arena, guard.p, guard.n, NULL, NULL), 0);
        assert_int_equal(schema_validate(t.schema, t.check, json_root(&doc)), 0);
        guard_free(&guard);
    }
    testing_close(&t);
}

static void *run_thread(void *context)
{
    SchemaTesting t = {.schema = context};
    long n_bad = 0;

    if (schema_check_new(&t.check) != 0) {
        return (void *)1;
    }
    arena_init(&t.arena, 1 << 20);
    for (int i = 0; i < 500; i++) {
        n_bad += json_parse(&t.doc, &t.arena, i % 2 ? run_good : run_bad,
                            strlen(i % 2 ? run_good : run_bad), NULL, NULL) != 0;
        n_bad +=
            schema_validate(t.schema, t.check, json_root(&t.doc)) != (i % 2 ? 0 : SCHEMA_E_INVALID);
        arena_reset(&t.arena, 1 << 20);
    }
    arena_deinit(&t.arena);
    (void)schema_check_free(t.check);
    return (void *)(intptr_t)n_bad;
}

static void threads_share_a_schema(void **state)
{
    SchemaTesting t;
    pthread_t threads[4];

    (void)state;
    testing_open(&t, run_schema, NULL);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run_thread, t.schema), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        void *n_bad;

        assert_int_equal(pthread_join(threads[i], &n_bad), 0);
        assert_null(n_bad);
    }
    testing_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_as_deep_as_json_allows_is_checked),
        cmocka_unit_test(endless_dynamic_references_are_stopped),
        cmocka_unit_test(work_that_doubles_at_every_level_is_stopped),
        cmocka_unit_test(a_pattern_that_backtracks_without_end_is_stopped),
        cmocka_unit_test(many_matches_that_are_each_slow_are_stopped),
        cmocka_unit_test(long_arrays_are_compared_in_linear_time),
        cmocka_unit_test(equal_items_are_found_however_they_are_written),
        cmocka_unit_test(bounds_are_exact),
        cmocka_unit_test(objects_with_many_names_are_checked),
        cmocka_unit_test(a_warm_check_allocates_nothing),
        cmocka_unit_test(nothing_is_read_past_the_text),
        cmocka_unit_test(threads_share_a_schema),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
