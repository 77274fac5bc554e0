/* Deep equality: by value, whatever the spelling and the order of members, in bounded time. */
#include "json/equals.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "support/alloc_testing.h"

#include "parsed.h"

static bool equal_texts(Span a, Span b, const JsonLimits *limits)
{
    Parsed p;
    Parsed q;
    bool equal;

    parsed_init(&p, a, limits);
    parsed_init(&q, b, limits);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    equal = json_equals(p.root, q.root);
    if (json_equals(q.root, p.root) != equal) {
        fail_msg("not the same both ways: %.*s and %.*s", (int)a.n, a.p, (int)b.n, b.p);
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    assert_true(json_equals(p.root, p.root));
    parsed_free(&p);
    parsed_free(&q);
    return equal;
}

/* Each row holds spellings of one value; no two rows are equal. */
static const char *const values[][4] = {
    {"null", " null "},
    {"false"},
    {"true"},
    {"0", "-0", "0.0", "0e9"},
    {"1", "1.0", "10e-1", "0.1E1"},
    {"-1"},
    {"1.5"},
    {"9007199254740993"},
    {"9007199254740992"},
    {"1e400", "10e399"},
    {"\"\""},
    {"\"0\""},
    {"\"a\"", "\"\\u0061\""},
    {"\"null\""},
    {"\"\xC3\xA9\"", "\"\\u00e9\"", "\"\\u00E9\""},
    {"\"e\\u0301\"", "\"e\xCC\x81\""},
    {"[]", "[ ]"},
    {"{}", "{ }"},
    {"[[]]"},
    {"[{}]"},
    {"[1]", "[ 1.0 ]"},
    {"[1,2]", "[1.0,20e-1]"},
    {"[2,1]"},
    {"[1,2,3]"},
    {"[1,[2]]"},
    {"[[1],2]"},
    {"[null]"},
    {"{\"a\":1}", "{\"\\u0061\":1.0}", "{\"a\":2,\"a\":1,\"\\u0061\":1}"},
    {"{\"a\":2}"},
    {"{\"b\":1}"},
    {"{\"a\":null}"},
    {"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", "{\"b\":3,\"a\":1,\"b\":2}",
     "{\"a\":9,\"b\":2,\"a\":1}"},
    {"{\"a\":2,\"b\":1}"},
    {"{\"a\":1,\"b\":2,\"c\":3}", "{\"c\":3,\"b\":2,\"a\":1}"},
    {"{\"a\":1,\"c\":3,\"b\":{\"x\":[{\"p\":1,\"q\":2}],\"y\":[]}}",
     "{\"b\":{\"y\":[],\"x\":[{\"q\":2,\"p\":1}]},\"c\":3,\"a\":1}"},
    {"{\"a\":1,\"c\":3,\"b\":{\"x\":[{\"p\":1,\"q\":3}],\"y\":[]}}"},
    {"{\"a\":{}}"},
    {"{\"a\":[]}"},
    {"{\"\":{\"\":{}}}"},
};

static void values_are_equal_by_value_and_not_by_spelling(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(values) * 4; i++) {
        for (size_t j = 0; j < TW_ARRAY_SIZE(values) * 4; j++) {
            const char *a = values[i / 4][i % 4];
            const char *b = values[j / 4][j % 4];

            if (a != NULL && b != NULL &&
                equal_texts(span_from_str(a), span_from_str(b), NULL) != (i / 4 == j / 4)) {
                fail_msg("%s and %s", a, b);
            }
        }
    }
}

/* As documented: pair by pair where the keys stand in the same order, duplicates and all. */
static void duplicates_in_the_same_order_are_compared_pair_by_pair(void **state)
{
    (void)state;
    assert_true(equal_texts(SPAN("{\"a\":1,\"a\":2}"), SPAN("{\"a\":1.0,\"a\":2.0}"), NULL));
    assert_false(equal_texts(SPAN("{\"a\":1,\"a\":2}"), SPAN("{\"a\":3,\"a\":2}"), NULL));
}

static void values_inside_one_text_can_be_compared(void **state)
{
    Parsed p;
    JsonValue a = JSON_VALUE_NULL;
    JsonValue b = JSON_VALUE_NULL;

    (void)state;
    parsed_str(&p, "[{\"x\":1,\"y\":[2]},{\"y\":[2.0],\"x\":1e0},{\"y\":[2.0],\"x\":2}]");
    assert_true(json_at(p.root, 0, &a) && json_at(p.root, 1, &b));
    assert_true(json_equals(a, b));
    assert_true(json_at(p.root, 2, &b));
    assert_false(json_equals(a, b));
    parsed_free(&p);
}

/* {"k0":0,"k1":1,…} of n members, forwards or backwards; free() it. */
static char *members(size_t n, bool backwards)
{
    size_t size = n * 32 + 3;
    char *text = malloc(size);
    size_t at = 0;

    assert_non_null(text);
    text[at++] = '{';
    for (size_t i = 0; i < n; i++) {
        size_t k = backwards ? n - 1 - i : i;

        at += (size_t)snprintf(text + at, size - at, "%s\"k%zu\":%zu", i > 0 ? "," : "", k, k);
    }
    text[at++] = '}';
    text[at] = '\0';
    return text;
}

static bool equal_members(size_t n, bool backwards)
{
    char *a = members(n, false);
    char *b = members(n, backwards);
    bool equal = equal_texts(span_from_str(a), span_from_str(b), NULL);

    free(a);
    free(b);
    return equal;
}

static void members_in_another_order_are_equal_up_to_the_bound_of_work(void **state)
{
    (void)state;
    assert_true(equal_members(1000, true));
    assert_true(equal_members(100000, false));
    /* 20,000² comparisons are more than 2^24. */
    assert_false(equal_members(20000, true));
}

static int members_within(size_t n, bool backwards, int64_t n_steps)
{
    char *a = members(n, false);
    char *b = members(n, backwards);
    EqualsScratch scratch = {NULL, 0, 0};
    Parsed p;
    Parsed q;
    int r;

    parsed_init(&p, span_from_str(a), NULL);
    parsed_init(&q, span_from_str(b), NULL);
    r = equals_within(p.root, q.root, &scratch, &n_steps);
    equals_scratch_deinit(&scratch);
    parsed_free(&p);
    parsed_free(&q);
    free(a);
    free(b);
    return r;
}

/* Where there is a scratch and a budget, order does not matter, and no answer is guessed. */
static void large_objects_are_equal_or_different_or_too_much_work(void **state)
{
    (void)state;
    assert_int_equal(members_within(20000, true, 20000 * 50), 0);
    assert_int_equal(members_within(20000, true, 20000), EQUALS_E_LIMIT);
    assert_int_equal(members_within(20000, false, 20000 * 10), 0);
    assert_int_equal(members_within(20000, false, 20000), EQUALS_E_LIMIT);
}

static void duplicates_in_large_objects_count_by_their_last(void **state)
{
    static const struct {
        const char *first;
        const char *last;
        int outcome;
    } cases[] = {
        {"\"a\":1", "\"z\":2", 0},
        {"\"z\":2", "\"a\":1", 0},
        {"\"a\":1", "\"z\":3", EQUALS_E_DIFFERENT},
        {"\"a\":1", "\"y\":2", EQUALS_E_DIFFERENT},
        {"\"z\":5,\"a\":1", "\"\\u007a\":2", 0},
        {"\"z\":2,\"a\":1", "\"z\":5", EQUALS_E_DIFFERENT},
        {"\"a\":1", "\"z\":2,\"y\":0", EQUALS_E_DIFFERENT},
    };
    char a[512];
    char b[512];

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        EqualsScratch scratch = {NULL, 0, 0};
        int64_t n_steps = 100000;
        Parsed p;
        Parsed q;

        (void)snprintf(a, sizeof(a),
                       "{\"z\":2,\"a\":1,\"k1\":1,\"k2\":1,\"k3\":1,\"k4\":1,\"k5\":1,"
                       "\"k6\":1,\"k7\":1,\"k8\":1,\"k9\":1,\"k10\":1,\"k11\":1,"
                       "\"k12\":1,\"k13\":1,\"k14\":1,\"k15\":{\"x\":1}}");
        (void)snprintf(b, sizeof(b),
                       "{%s,\"k15\":{\"x\":1.0},\"k14\":1,\"k13\":1,\"k12\":1,"
                       "\"k11\":1,\"k10\":1,\"k9\":1,\"k8\":1,\"k7\":1,\"k6\":1,"
                       "\"k5\":1,\"k4\":1,\"k3\":1,\"k2\":1,\"k1\":1,%s}",
                       cases[i].first, cases[i].last);
        parsed_init(&p, span_from_str(a), NULL);
        parsed_init(&q, span_from_str(b), NULL);
        if (equals_within(p.root, q.root, &scratch, &n_steps) != cases[i].outcome ||
            equals_within(q.root, p.root, &scratch, &n_steps) != cases[i].outcome) {
            fail_msg("%s", b);
        }
        equals_scratch_deinit(&scratch);
        parsed_free(&p);
        parsed_free(&q);
    }
}

/* Each level holds its successor once and shadows it twice: were the last of the duplicates
 * compared for each of them, 400 levels would take 3^400 steps. The leaf makes every visit dear. */
static char *shadowed(size_t n, bool turned)
{
    size_t size = n * 64 + 40000;
    char *text = malloc(size);
    size_t at = 0;

    assert_non_null(text);
    for (size_t i = 0; i < n; i++) {
        at += (size_t)snprintf(text + at, size - at,
                               turned ? "{\"b\":1,\"a\":" : "{\"a\":0,\"a\":0,\"a\":");
    }
    at += (size_t)snprintf(text + at, size - at, "[");
    for (size_t i = 0; i < 10000; i++) {
        at += (size_t)snprintf(text + at, size - at, "7,");
    }
    at += (size_t)snprintf(text + at, size - at, "7]");
    for (size_t i = 0; i < n; i++) {
        at += (size_t)snprintf(text + at, size - at, turned ? "}" : ",\"b\":1}");
    }
    return text;
}

static void nested_duplicates_cost_no_more_than_their_text(void **state)
{
    char *a = shadowed(400, false);
    char *b = shadowed(400, true);

    (void)state;
    assert_true(equal_texts(span_from_str(a), span_from_str(b), NULL));
    free(a);
    free(b);
}

/* [[[…leaf…]]], or the same with a blank in the middle; free() it. */
static char *nested(size_t n, const char *leaf)
{
    char *text = malloc(2 * n + strlen(leaf) + 1);

    assert_non_null(text);
    memset(text, '[', n);
    memcpy(text + n, leaf, strlen(leaf));
    memset(text + n + strlen(leaf), ']', n);
    text[2 * n + strlen(leaf)] = '\0';
    return text;
}

static bool equal_nested(size_t n, const char *leaf_a, const char *leaf_b)
{
    JsonLimits limits = {.max_depth = 200000};
    char *a = nested(n, leaf_a);
    char *b = nested(n, leaf_b);
    bool equal = equal_texts(span_from_str(a), span_from_str(b), &limits);

    free(a);
    free(b);
    return equal;
}

static void deep_values_are_compared_by_value_up_to_the_limit_and_by_bytes_beyond(void **state)
{
    (void)state;
    assert_true(equal_nested(LIMIT_JSON_DEPTH, "1", "1.0"));
    assert_false(equal_nested(LIMIT_JSON_DEPTH, "1", "2"));
    assert_false(equal_nested(LIMIT_JSON_DEPTH + 1, "1", "1.0"));
    assert_true(equal_nested(LIMIT_JSON_DEPTH + 1, "1", "1"));
    assert_true(equal_nested(100000, "1", "1"));
    assert_false(equal_nested(100000, "1", "2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_equal_by_value_and_not_by_spelling),
        cmocka_unit_test(duplicates_in_the_same_order_are_compared_pair_by_pair),
        cmocka_unit_test(values_inside_one_text_can_be_compared),
        cmocka_unit_test(members_in_another_order_are_equal_up_to_the_bound_of_work),
        cmocka_unit_test(large_objects_are_equal_or_different_or_too_much_work),
        cmocka_unit_test(duplicates_in_large_objects_count_by_their_last),
        cmocka_unit_test(nested_duplicates_cost_no_more_than_their_text),
        cmocka_unit_test(deep_values_are_compared_by_value_up_to_the_limit_and_by_bytes_beyond),
    };

    return cmocka_run_group_tests_name("json.equals", tests, NULL, NULL);
}
