#include "cli/call_arguments.h"

#include "support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "support/oom_sweep.h"

#define SCHEMA                                                                                     \
    "{\"properties\":{\"s\":{\"type\":\"string\"},\"i\":{\"type\":\"integer\"},"                   \
    "\"n\":{\"type\":\"number\"},\"b\":{\"type\":\"boolean\"},\"o\":{\"type\":\"object\"},"        \
    "\"a\":{\"type\":\"array\"},\"u\":{},\"m\":{\"type\":[\"string\",\"integer\",\"null\"]}}}"

static int build(char *const *words, size_t n, const char *schema, bool all_strings, char *got,
                 size_t size, Diag *diag)
{
    JsonValue value = JSON_VALUE_NULL;
    JsonDoc doc;
    Arena arena;
    Bytes out;
    int r = 0;

    arena_init(&arena, SIZE_MAX);
    bytes_init(&out, size - 1);
    if (schema != NULL) {
        r = json_parse(&doc, &arena, schema, strlen(schema), NULL, NULL);
        value = json_root(&doc);
    }
    if (r == 0) {
        r = call_arguments_build(&out, &arena, words, n, value, all_strings, diag);
    }
    if (out.n > 0) {
        memcpy(got, out.data, out.n);
    }
    got[out.n] = '\0';
    arena_deinit(&arena);
    bytes_deinit(&out);
    return r;
}

/* One word and the value it becomes; NULL: it is refused. */
static void check(const char *word, const char *schema, const char *expected)
{
    char storage[128];
    char *words[] = {storage};
    char got[256];
    Diag diag = DIAG_NULL;

    memcpy(storage, word, strlen(word) + 1);
    assert_int_equal(build(words, 1, schema, false, got, sizeof(got), &diag),
                     expected == NULL ? CALL_ARGUMENTS_E_WRONG : 0);
    assert_string_equal(got, expected == NULL ? "" : expected);
    assert_int_equal(diag.message[0] != '\0', expected == NULL);
}

static void schema_chooses_the_type(void **state)
{
    (void)state;
    check("s=5", SCHEMA, "{\"s\":\"5\"}");
    check("s=true", SCHEMA, "{\"s\":\"true\"}");
    check("s=a=b", SCHEMA, "{\"s\":\"a=b\"}");
    check("s=", SCHEMA, "{\"s\":\"\"}");
    check("s=\"q\"", SCHEMA, "{\"s\":\"\\\"q\\\"\"}");
    check("i=5", SCHEMA, "{\"i\":5}");
    check("i=5.0", SCHEMA, "{\"i\":5.0}");
    check("n=1.50", SCHEMA, "{\"n\":1.50}");
    check("n=7", SCHEMA, "{\"n\":7}");
    check("b=false", SCHEMA, "{\"b\":false}");
    check("o={ \"x\" : [1, 2] }", SCHEMA, "{\"o\":{\"x\":[1,2]}}");
    check("a=[1]", SCHEMA, "{\"a\":[1]}");
    check("m=5", SCHEMA, "{\"m\":5}");
    check("m=null", SCHEMA, "{\"m\":null}");
    check("m=five", SCHEMA, "{\"m\":\"five\"}");
    check("m=1.5", SCHEMA, "{\"m\":\"1.5\"}");
}

static void value_that_is_not_of_the_type_is_refused(void **state)
{
    (void)state;
    check("i=five", SCHEMA, NULL);
    check("i=5.5", SCHEMA, NULL);
    check("i=\"5\"", SCHEMA, NULL);
    check("b=1", SCHEMA, NULL);
    check("o=[]", SCHEMA, NULL);
    check("a=", SCHEMA, NULL);
}

static void unknown_type_is_json_if_it_can_be(void **state)
{
    (void)state;
    check("u=5", SCHEMA, "{\"u\":5}");
    check("x={\"a\":1}", SCHEMA, "{\"x\":{\"a\":1}}");
    check("x=\"q\"", SCHEMA, "{\"x\":\"q\"}");
    check("x=hello", SCHEMA, "{\"x\":\"hello\"}");
    check("x=true", NULL, "{\"x\":true}");
    check("x=[1", NULL, "{\"x\":\"[1\"}");
}

static void colon_forces_json(void **state)
{
    (void)state;
    check("s:=5", SCHEMA, "{\"s\":5}");
    check("s:=[1, 2]", SCHEMA, "{\"s\":[1,2]}");
    check("s:=no", SCHEMA, NULL);
    check("s:=", SCHEMA, NULL);
}

static void word_without_a_name_is_refused(void **state)
{
    (void)state;
    check("hello", SCHEMA, NULL);
    check("=5", SCHEMA, NULL);
    check(":=5", SCHEMA, NULL);
}

static void several_words_keep_their_order_and_none_comes_twice(void **state)
{
    char a[] = "b=1";
    char b[] = "a:=2";
    char c[] = "a=3";
    char *words[] = {a, b, c};
    char got[64];
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(build(words, 2, NULL, false, got, sizeof(got), &diag), 0);
    assert_string_equal(got, "{\"b\":1,\"a\":2}");
    assert_int_equal(build(words, 0, NULL, false, got, sizeof(got), &diag), 0);
    assert_string_equal(got, "{}");
    assert_int_equal(build(words, 3, NULL, false, got, sizeof(got), &diag), CALL_ARGUMENTS_E_WRONG);
    assert_string_equal(diag.message, "'a' is given twice");
    assert_int_equal(build(words, 2, NULL, true, got, sizeof(got), &diag), 0);
    assert_string_equal(got, "{\"b\":\"1\",\"a\":2}");
}

static void schema_is_needed_only_for_plain_words(void **state)
{
    char a[] = "b:=1";
    char b[] = "a=2";
    char *words[] = {a, b};

    (void)state;
    assert_false(call_arguments_need_schema(words, 0));
    assert_false(call_arguments_need_schema(words, 1));
    assert_true(call_arguments_need_schema(words, 2));
}

static int build_one(void *context)
{
    char word[] = "a=[1,2,3]";
    char *words[] = {word};
    char got[64];

    (void)context;
    return build(words, 1, SCHEMA, false, got, sizeof(got), NULL);
}

static void failing_allocations_are_survived(void **state)
{
    (void)state;
    test_oom_sweep(build_one, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schema_chooses_the_type),
        cmocka_unit_test(value_that_is_not_of_the_type_is_refused),
        cmocka_unit_test(unknown_type_is_json_if_it_can_be),
        cmocka_unit_test(colon_forces_json),
        cmocka_unit_test(word_without_a_name_is_refused),
        cmocka_unit_test(several_words_keep_their_order_and_none_comes_twice),
        cmocka_unit_test(schema_is_needed_only_for_plain_words),
        cmocka_unit_test(failing_allocations_are_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
