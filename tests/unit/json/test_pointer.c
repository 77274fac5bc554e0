/* JSON Pointer: RFC 6901's own examples, its errors, and the way back from a value to its pointer.
 */
#include "json/json.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "support/oom_sweep.h"

#include "parsed.h"

/* Section 5 of RFC 6901. */
static const char rfc_text[] =
    "{\"foo\":[\"bar\",\"baz\"],\"\":0,\"a/b\":1,\"c%d\":2,\"e^f\":3,\"g|h\":4,"
    "\"i\\\\j\":5,\"k\\\"l\":6,\" \":7,\"m~n\":8}";

typedef struct PointerCase {
    const char *pointer;
    int outcome;
    const char *value;
} PointerCase;

static void check_cases(const char *text, const PointerCase *cases, size_t n)
{
    Parsed p;

    parsed_str(&p, text);
    for (size_t i = 0; i < n; i++) {
        JsonValue v = JSON_VALUE_NULL;
        int r = json_pointer(p.root, span_from_str(cases[i].pointer), &v);

        if (r != cases[i].outcome || (r == 0) != (v.node != NULL)) {
            fail_msg("%s: %d", cases[i].pointer, r);
        }
        if (r == 0 && !span_equals(json_span(v), span_from_str(cases[i].value))) {
            fail_msg("%s: %.*s", cases[i].pointer, (int)json_span(v).n, json_span(v).p);
        }
    }
    parsed_free(&p);
}

static void the_examples_of_rfc_6901_are_resolved(void **state)
{
    static const PointerCase cases[] = {
        {"", 0, rfc_text},        {"/foo", 0, "[\"bar\",\"baz\"]"},
        {"/foo/0", 0, "\"bar\""}, {"/", 0, "0"},
        {"/a~1b", 0, "1"},        {"/c%d", 0, "2"},
        {"/e^f", 0, "3"},         {"/g|h", 0, "4"},
        {"/i\\j", 0, "5"},        {"/k\"l", 0, "6"},
        {"/ ", 0, "7"},           {"/m~0n", 0, "8"},
    };

    (void)state;
    check_cases(rfc_text, cases, TW_ARRAY_SIZE(cases));
}

static void what_is_not_there_is_missing_and_what_is_no_pointer_is_said(void **state)
{
    static const PointerCase cases[] = {
        {"foo", JSON_E_SYNTAX, NULL},
        {"#/foo", JSON_E_SYNTAX, NULL},
        {" /foo", JSON_E_SYNTAX, NULL},
        {"/~", JSON_E_SYNTAX, NULL},
        {"/foo~2", JSON_E_SYNTAX, NULL},
        {"/a~/b", JSON_E_SYNTAX, NULL},
        {"/foo/0/~", JSON_E_SYNTAX, NULL},
        {"/fo", JSON_E_MISSING, NULL},
        {"/fooo", JSON_E_MISSING, NULL},
        {"/foo/", JSON_E_MISSING, NULL},
        {"/foo/-", JSON_E_MISSING, NULL},
        {"/foo/2", JSON_E_MISSING, NULL},
        {"/foo/00", JSON_E_MISSING, NULL},
        {"/foo/01", JSON_E_MISSING, NULL},
        {"/foo/+1", JSON_E_MISSING, NULL},
        {"/foo/-1", JSON_E_MISSING, NULL},
        {"/foo/1e0", JSON_E_MISSING, NULL},
        {"/foo/1.0", JSON_E_MISSING, NULL},
        {"/foo/a", JSON_E_MISSING, NULL},
        {"/foo/0/0", JSON_E_MISSING, NULL},
        {"//", JSON_E_MISSING, NULL},
        {"/a/b", JSON_E_MISSING, NULL},
        {"/m~01n", JSON_E_MISSING, NULL},
        {"/m~1n", JSON_E_MISSING, NULL},
        {"/foo/4294967296", JSON_E_MISSING, NULL},
        {"/foo/9999999999", JSON_E_MISSING, NULL},
        {"/foo/18446744073709551616", JSON_E_MISSING, NULL},
        {"/foo/18446744073709551617", JSON_E_MISSING, NULL},
        {"/i\\j/x", JSON_E_MISSING, NULL},
    };

    (void)state;
    check_cases(rfc_text, cases, TW_ARRAY_SIZE(cases));
}

static void escaped_keys_and_escaped_tokens_meet(void **state)
{
    static const PointerCase cases[] = {
        {"/\xC3\xA9~0", 0, "1"},
        {"/\xC3\xA9~0/", JSON_E_MISSING, NULL},
        {"/~1~0x/y", 0, "3"},
        {"/~1~0", JSON_E_MISSING, NULL},
        {"/~1~0xx", JSON_E_MISSING, NULL},
        {"/\xF0\x9F\x98\x80~1", 0, "4"},
        {"/~01", 0, "5"},
        {"/\n~0~0", 0, "6"},
        {"/\n~0", JSON_E_MISSING, NULL},
        {"/\n~0~0~0", JSON_E_MISSING, NULL},
        {"/\n~1~0", JSON_E_MISSING, NULL},
    };

    (void)state;
    check_cases("{\"\\u00e9~\":1,\"\\/~x\":{\"\\u0079\":3},\"\\ud83d\\ude00\\/\":4,\"~1\":5,"
                "\"\\n~\\u007e\":6}",
                cases, TW_ARRAY_SIZE(cases));
}

static void a_pointer_finds_the_last_of_duplicate_keys(void **state)
{
    static const PointerCase cases[] = {
        {"/a", 0, "{\"b\":3}"}, {"/a/b", 0, "3"}, {"/a/c", JSON_E_MISSING, NULL}};

    (void)state;
    check_cases("{\"a\":{\"b\":1,\"c\":2},\"\\u0061\":{\"b\":3}}", cases, TW_ARRAY_SIZE(cases));
}

static void the_empty_pointer_may_be_null(void **state)
{
    Parsed p;
    JsonValue v = JSON_VALUE_NULL;

    (void)state;
    parsed_str(&p, "1");
    assert_int_equal(json_pointer(p.root, SPAN_NULL, &v), 0);
    assert_ptr_equal(v.node, p.root.node);
    parsed_free(&p);
}

/* A key of 5,000 tildes, each written as an escape: longer than any buffer of ours. */
static void keys_of_any_length_are_found(void **state)
{
    size_t n = 5000;
    char *text = malloc(n * 6 + 16);
    char *pointer = malloc(n * 2 + 2);
    size_t at = 0;
    Bytes out;
    Parsed p;
    JsonValue v = JSON_VALUE_NULL;

    (void)state;
    assert_non_null(text);
    assert_non_null(pointer);
    text[at++] = '{';
    text[at++] = '"';
    pointer[0] = '/';
    for (size_t i = 0; i < n; i++, at += 6) {
        memcpy(text + at, "\\u007e", 6);
        memcpy(pointer + 1 + 2 * i, "~0", 2);
    }
    memcpy(text + at, "\":1}", 5);
    parsed_str(&p, text);
    assert_int_equal(json_pointer(p.root, span_make(pointer, 1 + 2 * n), &v), 0);
    assert_true(span_equals(json_span(v), SPAN("1")));
    /* The maximum is the pointer's own length, to the byte. */
    bytes_init(&out, 1 + 2 * n);
    assert_int_equal(json_pointer_of(p.root, v, &out), 0);
    assert_true(span_equals(bytes_span(&out), span_make(pointer, 1 + 2 * n)));
    bytes_deinit(&out);
    parsed_free(&p);
    free(text);
    free(pointer);
}

static void every_value_has_a_pointer_that_leads_back_to_it(void **state)
{
    static const char *const texts[] = {
        rfc_text,
        "{\"a\":{\"b\":[[],[{\"c/~\":null}],0,1,2,3,4,5,6,7,8,9,[true]]},\"\\u00e9\\n\":\"x\"}",
        "[[[[[1]]]],{\"\":{\"\":[{\"\":2}]}}]",
        "7",
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        Parsed p;
        Bytes out;

        parsed_str(&p, texts[i]);
        bytes_init(&out, 1 << 20);
        for (uint32_t k = 0; k < p.doc.n_nodes; k++) {
            JsonValue target = {p.doc.text, p.doc.nodes + k};
            JsonValue back = JSON_VALUE_NULL;
            size_t before = 4;

            bytes_clear(&out);
            assert_int_equal(bytes_append(&out, "pre:", before), 0);
            assert_int_equal(json_pointer_of(p.root, target, &out), 0);
            assert_memory_equal(out.data, "pre:", before);
            assert_int_equal(
                json_pointer(p.root, span_make(out.data + before, out.n - before), &back), 0);
            /* A key's pointer is its member's. */
            if (back.node != target.node) {
                assert_ptr_equal(back.node, target.node + 1);
                assert_int_equal(json_kind(target), JSON_STRING);
            }
        }
        bytes_deinit(&out);
        parsed_free(&p);
    }
}

static void a_pointer_may_start_at_an_inner_value(void **state)
{
    Parsed p;
    JsonValue a = JSON_VALUE_NULL;
    JsonValue v = JSON_VALUE_NULL;
    Bytes out;

    (void)state;
    parsed_str(&p, "{\"a\":[0,{\"b\":1}]}");
    assert_int_equal(json_pointer(p.root, SPAN("/a"), &a), 0);
    assert_int_equal(json_pointer(a, SPAN("/1/b"), &v), 0);
    bytes_init(&out, 100);
    assert_int_equal(json_pointer_of(a, v, &out), 0);
    assert_true(span_equals(bytes_span(&out), SPAN("/1/b")));
    bytes_deinit(&out);
    parsed_free(&p);
}

static void a_pointer_that_does_not_fit_leaves_nothing_behind(void **state)
{
    Parsed p;
    JsonValue v = JSON_VALUE_NULL;

    (void)state;
    parsed_str(&p, "{\"a/\":[0,{\"b\":1}]}");
    assert_int_equal(json_pointer(p.root, SPAN("/a~1/1/b"), &v), 0);
    for (size_t max = 1; max <= 9; max++) {
        Bytes out;
        int r;

        bytes_init(&out, max);
        assert_int_equal(bytes_append_byte(&out, 'x'), 0);
        r = json_pointer_of(p.root, v, &out);
        assert_int_equal(r, max < 9 ? BYTES_E_FULL : 0);
        assert_int_equal(out.n, max < 9 ? 1 : 9);
        bytes_deinit(&out);
    }
    parsed_free(&p);
}

static int pointer_of_scenario(void *context)
{
    const JsonValue *pair = context;
    Bytes out;
    int r;

    bytes_init(&out, 1 << 20);
    r = json_pointer_of(pair[0], pair[1], &out);
    assert_true(r == 0 || out.n == 0);
    bytes_deinit(&out);
    return r;
}

static void making_a_pointer_survives_failed_allocations(void **state)
{
    char text[2048];
    Parsed p;
    JsonValue pair[2];

    (void)state;
    (void)snprintf(text, sizeof(text), "{\"%0900d\":{\"%0900d\":[1]}}", 1, 2);
    parsed_str(&p, text);
    pair[0] = p.root;
    pair[1] = (JsonValue){p.doc.text, p.doc.nodes + p.doc.n_nodes - 1};
    test_oom_sweep(pointer_of_scenario, pair);
    parsed_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_examples_of_rfc_6901_are_resolved),
        cmocka_unit_test(what_is_not_there_is_missing_and_what_is_no_pointer_is_said),
        cmocka_unit_test(escaped_keys_and_escaped_tokens_meet),
        cmocka_unit_test(a_pointer_finds_the_last_of_duplicate_keys),
        cmocka_unit_test(the_empty_pointer_may_be_null),
        cmocka_unit_test(keys_of_any_length_are_found),
        cmocka_unit_test(every_value_has_a_pointer_that_leads_back_to_it),
        cmocka_unit_test(a_pointer_may_start_at_an_inner_value),
        cmocka_unit_test(a_pointer_that_does_not_fit_leaves_nothing_behind),
        cmocka_unit_test(making_a_pointer_survives_failed_allocations),
    };

    return cmocka_run_group_tests_name("json.pointer", tests, NULL, NULL);
}
