/* How validation behaves: limits, memory, unreadable pages. */
#include "schema_testing.h"

#include <stdlib.h>

#include "base/limits.h"
#include "support/alloc_testing.h"
#include "support/guard.h"
#include "json/schema/run.h"

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

/* Quotes n bytes that repeat `unit`, and `last`; free() it. */
static char *long_string(const char *unit, size_t n, const char *last)
{
    size_t n_unit = strlen(unit);
    char *text = malloc(n + strlen(last) + 3);

    assert_non_null(text);
    text[0] = '"';
    for (size_t i = 0; i < n; i++) {
        text[1 + i] = unit[i % n_unit];
    }
    (void)snprintf(text + 1 + n, strlen(last) + 2, "%s\"", last);
    return text;
}

/* A text that repeats `unit` n times between open and close, with commas; free() it. */
static char *repeated(const char *open, const char *unit, size_t n, const char *close)
{
    size_t n_unit = strlen(unit);
    size_t size = strlen(open) + (n_unit + 1) * n + strlen(close) + 1;
    char *text = malloc(size);
    size_t at = 0;

    assert_non_null(text);
    at += (size_t)snprintf(text, size, "%s", open);
    for (size_t i = 0; i < n; i++) {
        memcpy(text + at, unit, n_unit);
        at += n_unit;
        text[at] = ',';
        at += i + 1 < n;
    }
    (void)snprintf(text + at, size - at, "%s", close);
    return text;
}

static char *repeated_digit(char digit, size_t n)
{
    char *text = malloc(n + 1);

    assert_non_null(text);
    memset(text, digit, n);
    text[n] = '\0';
    return text;
}

/* Checks text (and frees it) with a schema that applies `leaf` 2^20 times. */
static void check_diamond(const char *combine, const char *leaf, const char *more, char *text)
{
    char schema[8192] = "{\"$ref\":\"#/$defs/d0\",\"$defs\":{";
    SchemaTesting t;
    int r;

    for (int i = 0; i < 20; i++) {
        (void)snprintf(schema + strlen(schema), sizeof(schema) - strlen(schema),
                       "\"d%d\":{\"%s\":[{\"$ref\":\"#/$defs/d%d\"},{\"$ref\":\"#/$defs/d%d\"}]},",
                       i, combine, i + 1, i + 1);
    }
    (void)snprintf(schema + strlen(schema), sizeof(schema) - strlen(schema), "\"d20\":%s}%s}", leaf,
                   more);
    testing_open(&t, schema, NULL);
    r = testing_check(&t, text);
    if (r != SCHEMA_E_LIMIT) {
        fail_msg("%s: %d", leaf, r);
    }
    testing_close(&t);
    free(text);
}

/* Each of these takes a subschema few visits but much work: minutes to hours without a limit. */
static void work_on_long_values_is_stopped(void **state)
{
    size_t n = 1 << 20;

    (void)state;
    check_diamond("allOf", "{\"items\":{\"type\":\"integer\"}}", "",
                  repeated("[", "1", n / 2, "]"));
    check_diamond("allOf",
                  "{\"contains\":{\"type\":\"string\"},\"minContains\":0,\"maxContains\":9}", "",
                  repeated("[", "1", n / 2, "]"));
    check_diamond("allOf", "{\"additionalProperties\":{\"type\":\"integer\"}}", "",
                  repeated("{", "\"abcde\":1", n / 10, "}"));
    check_diamond("allOf", "{\"pattern\":\"^[a-y]*z\"}", "", long_string("a", n, "z"));
    check_diamond("allOf", "{\"minLength\":262144}", "", long_string("\\n", n, ""));
    check_diamond("allOf", "{\"format\":\"uri\"}", "", long_string("a", n, ":"));
    check_diamond("allOf", "{\"multipleOf\":7}", "", repeated_digit('7', n));
    check_diamond("allOf", "{\"minimum\":1e9}", "", repeated_digit('7', n));
    check_diamond("anyOf", "{\"items\":{\"type\":\"integer\"}}", ",\"unevaluatedItems\":false",
                  repeated("[", "1", n / 2, "]"));
    check_diamond("anyOf", "{\"type\":\"array\"}", ",\"unevaluatedItems\":true",
                  repeated("[", "1", n / 2, "]"));
}

static void honest_work_on_long_values_is_not_stopped(void **state)
{
    SchemaTesting t;
    char *text = repeated("[", "1", 8000000, "]");

    (void)state;
    testing_open(&t,
                 "{\"items\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"},"
                 "{\"type\":\"integer\",\"minimum\":0,\"multipleOf\":1}]}}",
                 NULL);
    arena_deinit(&t.arena);
    arena_init(&t.arena, (size_t)1 << 30);
    assert_int_equal(testing_check(&t, text), 0);
    testing_close(&t);
    free(text);
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

/* n members whose names each cost the pattern some ten thousand steps. */
static char *hard_names(int n)
{
    size_t size = (size_t)n * 40 + 3;
    char *text = malloc(size);
    size_t at = 1;

    assert_non_null(text);
    text[0] = '{';
    for (int i = 0; i < n; i++) {
        at += (size_t)snprintf(text + at, size - at, "%s\"aaaaaaaa%05db\":1", i > 0 ? "," : "", i);
    }
    (void)snprintf(text + at, size - at, "}");
    return text;
}

static void many_matches_that_are_each_slow_are_stopped(void **state)
{
    SchemaTesting t;
    char *few = hard_names(20);
    char *many = hard_names(20000);

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

static void check_pattern(const char *pattern, char *text, int outcome)
{
    char schema[256];
    SchemaTesting t;
    int r;

    (void)snprintf(schema, sizeof(schema), "{\"pattern\":\"%s\"}", pattern);
    testing_open(&t, schema, NULL);
    r = testing_check(&t, text);
    if (r != outcome) {
        fail_msg("%s: %d instead of %d", pattern, r, outcome);
    }
    testing_close(&t);
    free(text);
}

/* Few steps may read a long text many times over: each of these would take from 16 s to days. */
static void patterns_are_stopped_by_work_and_not_by_steps(void **state)
{
    size_t n = 1 << 20;

    (void)state;
    check_pattern("(a+)b\\\\1[cd]", long_string("a", n, "b"), SCHEMA_E_LIMIT);
    check_pattern("(\\\\w+) \\\\1", long_string("a", n, " b"), SCHEMA_E_LIMIT);
    check_pattern("a.*b.*[cd]", long_string("ab", n, ""), SCHEMA_E_LIMIT);
    check_pattern("(?=.*[A-Z])", long_string("a", n, ""), SCHEMA_E_LIMIT);
}

static void patterns_that_pass_a_few_times_over_a_long_text_are_not_stopped(void **state)
{
    size_t n = 1 << 20;

    (void)state;
    check_pattern("(?=.*[A-Z])(?=.*[0-9])", long_string("a", n, "B7"), 0);
    check_pattern("^(?=.*[A-Z])(?=.*[0-9])", long_string("a", n, "B"), SCHEMA_E_INVALID);
    check_pattern("^(?!.*--).*$", long_string("a-", n, ""), 0);
    check_pattern("^(?!.*--).*$", long_string("a-", n, "--"), SCHEMA_E_INVALID);
    check_pattern("\\\\d{4}", long_string("1 23 456 ", n, "1234"), 0);
    check_pattern("[0-9]+x", long_string("1 23 456 ", n, ""), SCHEMA_E_INVALID);
    check_pattern("^[a-y]*z", long_string("a", n, "z"), 0);
    check_pattern("^[\\\\x20-\\\\x7e]*$", long_string("a b ", n, ""), 0);
    check_pattern("(.)\\\\1{3}", long_string("ab", 4096, "cccc"), 0);
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

/* An object of n members k0, k1, ... in an order that `turn` decides; free() it. */
static char *shuffled(size_t n, size_t turn, size_t first_value)
{
    size_t size = n * 24 + 3;
    char *text = malloc(size);
    size_t at = 0;

    assert_non_null(text);
    text[at++] = '{';
    for (size_t i = 0; i < n; i++) {
        /* 7919 is a prime that divides no n used here. */
        size_t k = (i * 7919 + turn * 31) % n;

        at += (size_t)snprintf(text + at, size - at, "%s\"k%zu\":%zu", i > 0 ? "," : "", k,
                               k == 0 ? first_value : k);
    }
    (void)snprintf(text + at, size - at, "}");
    return text;
}

/* Thirty of them, of which the last equals the first if has_twin. */
static char *shuffled_thirty(bool has_twin)
{
    size_t size = (size_t)30 * 4000 * 24;
    char *text = malloc(size);
    size_t at = 0;

    assert_non_null(text);
    for (size_t i = 0; i < 30; i++) {
        char *object = shuffled(4000, i, has_twin && i == 29 ? 5000 : 5000 + i);

        at += (size_t)snprintf(text + at, size - at, "%s%s", i == 0 ? "[" : ",", object);
        free(object);
    }
    (void)snprintf(text + at, size - at, "]");
    return text;
}

static void large_objects_in_any_order_are_compared(void **state)
{
    char *different = shuffled_thirty(false);
    char *twins = shuffled_thirty(true);
    char *a = shuffled(2100, 0, 0);
    char *b = shuffled(2100, 5, 0);
    char *c = shuffled(2100, 5, 1);
    char *schema = malloc(strlen(a) + 32);
    SchemaTesting t;

    (void)state;
    assert_non_null(schema);
    testing_open(&t, "{\"uniqueItems\":true}", NULL);
    assert_int_equal(testing_check(&t, different), 0);
    assert_int_equal(testing_check(&t, twins), SCHEMA_E_INVALID);
    assert_string_equal(schema_check_error(t.check, 0).message.p,
                        "items must differ, but 0 and 29 are equal");
    testing_close(&t);
    (void)snprintf(schema, strlen(a) + 32, "{\"const\":%s}", a);
    testing_open(&t, schema, NULL);
    assert_int_equal(testing_check(&t, b), 0);
    assert_int_equal(testing_check(&t, c), SCHEMA_E_INVALID);
    testing_close(&t);
    free(different);
    free(twins);
    free(a);
    free(b);
    free(c);
    free(schema);
}

/* Nine items are hashed; escapes, duplicates and spellings must not show in the hash. */
static void hashed_items_are_equal_by_value(void **state)
{
    static const char *const pairs[][2] = {
        {"1e400", "10e399"},
        {"-0", "0.0e7"},
        {"123456789012345678901234567890", "12345678901234567890123456789e1"},
        {"{\"abcdefghij\":1,\"b\":2}", "{\"b\":2,\"abcdefgh\\u0069j\":1.0}"},
        {"{\"a\":1,\"a\":2}", "{\"a\":2}"},
        {"{\"a\":9,\"b\":1,\"a\":2}", "{\"b\":1,\"a\":2}"},
        {"[[[[[[[1]]]]]]]", "[[[[[[[1.0]]]]]]]"},
        {"\"\\u00e9\\u0000abcdefgh\"", "\"\xC3\xA9\\u0000abcdefgh\""},
    };
    SchemaTesting t;

    (void)state;
    testing_open(&t, "{\"uniqueItems\":true}", NULL);
    for (size_t i = 0; i < TW_ARRAY_SIZE(pairs); i++) {
        char text[256];

        (void)snprintf(text, sizeof(text), "[%s,11,12,13,14,15,16,17,%s]", pairs[i][0],
                       pairs[i][1]);
        if (testing_check(&t, text) != SCHEMA_E_INVALID) {
            fail_msg("%s", text);
        }
    }
    testing_close(&t);
}

/* [1e400,1e401,...], or the same with each number inside six arrays. */
static void values_beyond_doubles_and_deep_inside_are_told_apart(void **state)
{
    size_t n = 60000;
    char *text = malloc(n * 24);
    SchemaTesting t;

    (void)state;
    assert_non_null(text);
    testing_open(&t, "{\"uniqueItems\":true}", NULL);
    for (int deep = 0; deep < 2; deep++) {
        size_t at = 0;

        for (size_t i = 0; i < n; i++) {
            at += (size_t)snprintf(text + at, 24, deep ? "%s[[[[[[%zu]]]]]]" : "%s1e%zu",
                                   i == 0 ? "[" : ",", i + 400);
        }
        (void)snprintf(text + at, 24, "]");
        assert_int_equal(testing_check(&t, text), 0);
    }
    testing_close(&t);
    free(text);
}

static void long_lists_of_choices_are_charged_for(void **state)
{
    char *list = repeated("{\"items\":{\"enum\":[", "0.5", 1500, ",0]}}");
    char *zeros = repeated("[", "0", 1 << 19, "]");
    char *few = repeated("[", "0", 1000, "]");
    SchemaTesting t;

    (void)state;
    testing_open(&t, list, NULL);
    assert_int_equal(testing_check(&t, zeros), SCHEMA_E_LIMIT);
    assert_int_equal(testing_check(&t, few), 0);
    testing_close(&t);
    free(list);
    free(zeros);
    free(few);
}

static void describing_stops_when_there_are_enough_errors(void **state)
{
    char *zeros = repeated("[", "0", 1 << 19, "]");
    SchemaTesting t;

    (void)state;
    testing_open(&t, "{\"items\":{\"enum\":[\"a\",\"b\",\"c\",1,2,3,4,5]}}", NULL);
    assert_int_equal(testing_check(&t, zeros), SCHEMA_E_INVALID);
    assert_int_equal(schema_check_n_errors(t.check), LIMIT_SCHEMA_ERRORS);
    /* Besides the walk itself, which is charged when it begins, next to nothing. */
    assert_true(t.check->n_steps_left > LIMIT_SCHEMA_STEPS_MAX);
    testing_close(&t);
    free(zeros);
}

static void a_path_that_is_too_long_is_cut_and_says_so(void **state)
{
    char name[64];
    char open[80];
    char *text;
    SchemaTesting t;
    SchemaError e;

    (void)state;
    memset(name, 'k', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    (void)snprintf(open, sizeof(open), "{\"%s\":", name);
    text = run_nest(open, "1", "}", 400);
    testing_open(&t, "{\"type\":\"object\",\"additionalProperties\":{\"$ref\":\"#\"}}", NULL);
    assert_int_equal(testing_check(&t, text), SCHEMA_E_INVALID);
    e = schema_check_error(t.check, 0);
    assert_int_equal(e.instance_path.n, 256 * 64 + 4);
    assert_memory_equal(e.instance_path.p + e.instance_path.n - 6, "kk/...", 6);
    testing_close(&t);
    free(text);
}

static void messages_hold_whole_characters_and_every_byte_of_a_name(void **state)
{
    char schema[2048] = "{\"required\":[\"a\\u0000b\"]}";
    char out[1024];
    SchemaTesting t;
    SchemaError e;

    (void)state;
    testing_open(&t, schema, NULL);
    assert_int_equal(testing_check(&t, "{}"), SCHEMA_E_INVALID);
    assert_string_equal(testing_error(&t, 0, out, sizeof(out)),
                        " | #/required | missing property \"a\\u0000b\"");
    testing_close(&t);
    for (size_t shift = 0; shift < 3; shift++) {
        (void)snprintf(schema, sizeof(schema), "{\"required\":[\"%.*s", (int)shift, "xx");
        for (size_t i = 0; i < 300; i++) {
            (void)snprintf(schema + strlen(schema), sizeof(schema) - strlen(schema),
                           "\xE2\x82\xAC");
        }
        (void)snprintf(schema + strlen(schema), sizeof(schema) - strlen(schema), "\"]}");
        testing_open(&t, schema, NULL);
        assert_int_equal(testing_check(&t, "{}"), SCHEMA_E_INVALID);
        e = schema_check_error(t.check, 0);
        assert_memory_equal(e.message.p + e.message.n - 4, "\xE2\x82\xAC\"", 4);
        testing_close(&t);
    }
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

/* Keywords of all kinds, for the two tests below. */
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

/* What is checked is what is passed on: half of a surrogate pair is no other half, nor U+FFFD. */
static void half_of_a_surrogate_pair_is_only_itself(void **state)
{
    static const struct {
        const char *schema;
        const char *good;
        const char *bad;
    } rows[] = {
        {"{\"enum\":[\"\\ud800\",\"b\"]}", "\"\\uD800\"", "\"\\ud801\""},
        {"{\"enum\":[\"\\ufffd\",\"b\"]}", "\"\\ufffd\"", "\"\\ud800\""},
        {"{\"const\":\"\\ud800\"}", "\"\\ud800\"", "\"\\ufffd\""},
        {"{\"uniqueItems\":true}", "[\"\\ud800\",\"\\ud801\",\"\\ufffd\"]",
         "[\"\\ud800\",\"\\uD800\"]"},
        {"{\"properties\":{\"\\ufffd\":{}},\"additionalProperties\":false}", "{\"\\ufffd\":1}",
         "{\"\\ud800\":1}"},
        {"{\"required\":[\"\\ud800\"]}", "{\"\\ud800\":1}", "{\"\\ud801\":1}"},
        {"{\"properties\":{\"\\ud800\":{\"type\":\"null\"}},\"patternProperties\":{\"z\":{}},"
         "\"additionalProperties\":false}",
         "{\"\\ud800\":null}", "{\"\\udfff\":null}"},
        {"{\"maxLength\":1}", "\"\\ud800\"", "\"\\ud800\\ud800\""},
        {"{\"pattern\":\"^.$\"}", "\"\\ud800\"", "\"\\ud800\\ud800\""},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        SchemaTesting t;

        testing_open(&t, rows[i].schema, NULL);
        assert_int_equal(testing_check(&t, rows[i].good), 0);
        assert_int_equal(testing_check(&t, rows[i].bad), SCHEMA_E_INVALID);
        testing_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_of_a_surrogate_pair_is_only_itself),
        cmocka_unit_test(a_value_as_deep_as_json_allows_is_checked),
        cmocka_unit_test(endless_dynamic_references_are_stopped),
        cmocka_unit_test(work_that_doubles_at_every_level_is_stopped),
        cmocka_unit_test(work_on_long_values_is_stopped),
        cmocka_unit_test(honest_work_on_long_values_is_not_stopped),
        cmocka_unit_test(a_pattern_that_backtracks_without_end_is_stopped),
        cmocka_unit_test(many_matches_that_are_each_slow_are_stopped),
        cmocka_unit_test(patterns_are_stopped_by_work_and_not_by_steps),
        cmocka_unit_test(patterns_that_pass_a_few_times_over_a_long_text_are_not_stopped),
        cmocka_unit_test(long_arrays_are_compared_in_linear_time),
        cmocka_unit_test(equal_items_are_found_however_they_are_written),
        cmocka_unit_test(large_objects_in_any_order_are_compared),
        cmocka_unit_test(hashed_items_are_equal_by_value),
        cmocka_unit_test(values_beyond_doubles_and_deep_inside_are_told_apart),
        cmocka_unit_test(long_lists_of_choices_are_charged_for),
        cmocka_unit_test(describing_stops_when_there_are_enough_errors),
        cmocka_unit_test(a_path_that_is_too_long_is_cut_and_says_so),
        cmocka_unit_test(messages_hold_whole_characters_and_every_byte_of_a_name),
        cmocka_unit_test(bounds_are_exact),
        cmocka_unit_test(objects_with_many_names_are_checked),
        cmocka_unit_test(a_warm_check_allocates_nothing),
        cmocka_unit_test(nothing_is_read_past_the_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
