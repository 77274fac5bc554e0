#include "dialect/mcp/jsonrpc.h"

#include "support/cmocka.h"

#include <stdio.h>

#include <string.h>

#include "support/oom_sweep.h"

typedef struct Case {
    const char *text;
    JsonrpcKind kind;
    const char *id; /* JSON; "" if none can be returned */
    const char *method;
} Case;

static const Case cases[] = {
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}", JSONRPC_REQUEST, "1", "a"},
    {"{\"id\":\"\\u0041\",\"method\":\"\\u0062\",\"jsonrpc\":\"\\u0032.0\"}", JSONRPC_REQUEST,
     "\"\\u0041\"", "b"},
    {"{\"jsonrpc\":\"2.0\",\"i\\u0064\":-0,\"method\":\"\"}", JSONRPC_REQUEST, "-0", ""},
    {"{\"jsonrpc\":\"2.0\",\"id\":1e2,\"method\":\"a\"}", JSONRPC_REQUEST, "1e2", "a"},
    /* Of equal names the last counts. */
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"a\",\"method\":\"b\"}", JSONRPC_REQUEST,
     "2", "b"},
    /* Having both makes it a request. */
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"result\":{}}", JSONRPC_REQUEST, "1", "a"},
    {"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}", JSONRPC_NOTIFICATION, "", "a"},
    {"{\"method\":null}", JSONRPC_NOTIFICATION, "", ""},
    {"{\"id\":1,\"result\":null}", JSONRPC_RESPONSE, "1", ""},
    {"{\"id\":null,\"error\":{}}", JSONRPC_RESPONSE, "null", ""},
    {"{\"error\":{}}", JSONRPC_RESPONSE, "", ""},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"a\"}", JSONRPC_INVALID, "", "a"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"a\"}", JSONRPC_INVALID, "", "a"},
    {"{\"jsonrpc\":\"2.0\",\"id\":false,\"method\":\"a\"}", JSONRPC_INVALID, "", "a"},
    {"{\"id\":[1]}", JSONRPC_INVALID, "", ""},
    {"{\"id\":1}", JSONRPC_INVALID, "1", ""},
    {"{\"id\":1,\"method\":\"a\"}", JSONRPC_INVALID, "1", "a"},
    {"{\"jsonrpc\":\"2\",\"id\":1,\"method\":\"a\"}", JSONRPC_INVALID, "1", "a"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":{}}", JSONRPC_INVALID, "1", ""},
    {"{}", JSONRPC_INVALID, "", ""},
    {"[]", JSONRPC_INVALID, "", ""},
    {"null", JSONRPC_INVALID, "", ""},
};

static JsonValue parse(Arena *arena, const char *text)
{
    JsonDoc doc;

    assert_int_equal(json_parse(&doc, arena, text, strlen(text), NULL, NULL), 0);
    return json_root(&doc);
}

static void assert_span(Span actual, const char *expected)
{
    assert_int_equal(actual.n, strlen(expected));
    if (actual.n > 0) {
        assert_memory_equal(actual.p, expected, actual.n);
    }
}

static void each_message_is_what_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        JsonrpcMessage message;
        Arena arena;

        arena_init(&arena, 65536);
        assert_int_equal(jsonrpc_read(&message, parse(&arena, cases[i].text), &arena), 0);
        if (message.kind != cases[i].kind) {
            print_error("%s\n", cases[i].text);
        }
        assert_int_equal(message.kind, cases[i].kind);
        assert_span(jsonrpc_id_text(&message), cases[i].id);
        assert_span(message.method, cases[i].method);
        assert_int_equal(message.problem != NULL, message.kind == JSONRPC_INVALID);
        arena_deinit(&arena);
    }
}

static void an_id_is_not_as_long_as_a_message(void **state)
{
    char text[2 * JSONRPC_MAX_ID_BYTES];

    (void)state;
    for (int more = 0; more < 2; more++) {
        JsonrpcMessage message;
        Arena arena;

        /* With its quotes, and one byte too many. */
        (void)snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"id\":\"%0*d\"}",
                       JSONRPC_MAX_ID_BYTES - 2 + more, 0);
        arena_init(&arena, 65536);
        assert_int_equal(jsonrpc_read(&message, parse(&arena, text), &arena), 0);
        assert_int_equal(message.kind, more ? JSONRPC_INVALID : JSONRPC_REQUEST);
        assert_int_equal(jsonrpc_id_text(&message).n, more ? 0 : JSONRPC_MAX_ID_BYTES);
        arena_deinit(&arena);
    }
}

static void params_result_and_error_are_found(void **state)
{
    JsonrpcMessage message;
    Arena arena;

    (void)state;
    arena_init(&arena, 65536);
    assert_int_equal(jsonrpc_read(&message,
                                  parse(&arena, "{\"method\":\"a\",\"params\":[1],\"result\":2,"
                                                "\"error\":3}"),
                                  &arena),
                     0);
    assert_span(json_span(message.params), "[1]");
    assert_span(json_span(message.result), "2");
    assert_span(json_span(message.error), "3");
    arena_deinit(&arena);
}

static Span key_of(Arena *arena, const char *id)
{
    Span key = SPAN_NULL;

    assert_int_equal(jsonrpc_id_key(parse(arena, id), arena, &key), 0);
    return key;
}

static void equal_ids_have_equal_keys(void **state)
{
    static const char *const same[][2] = {
        {"1", "1.0"},
        {"100", "1e2"},
        {"0", "-0"},
        {"\"a\"", "\"\\u0061\""},
        {"\"a\\\"b\"", "\"a\\u0022b\""},
        {"1e400", "1e400"},
    };
    static const char *const different[][2] = {
        {"1", "\"1\""},
        {"1", "2"},
        {"\"a\"", "\"A\""},
        {"\"\"", "0"},
        {"\"\\\"\"", "\"\""},
        {"9223372036854775808", "9223372036854775807"},
        {"\"\\ud800\"", "\"\\ud801\""},
        {"\"\\ud800\"", "\"\\ufffd\""},
    };
    Arena arena;

    (void)state;
    arena_init(&arena, 65536);
    for (size_t i = 0; i < TW_ARRAY_SIZE(same); i++) {
        assert_true(span_equals(key_of(&arena, same[i][0]), key_of(&arena, same[i][1])));
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(different); i++) {
        assert_false(span_equals(key_of(&arena, different[i][0]), key_of(&arena, different[i][1])));
    }
    arena_deinit(&arena);
}

static void what_is_no_id_has_no_key(void **state)
{
    static const char *const texts[] = {"null", "true", "1.5", "{}", "[]", "1e-1"};
    Arena arena;
    Span key;

    (void)state;
    arena_init(&arena, 65536);
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        assert_int_equal(jsonrpc_id_key(parse(&arena, texts[i]), &arena, &key), JSONRPC_E_ID);
    }
    arena_deinit(&arena);
}

/* The index is in one arena, what is decoded in another, whose memory fails. */
static int read_scenario(void *context)
{
    static const char text[] = "{\"jsonrpc\":\"2.0\",\"id\":\"\\u0061\",\"method\":\"\\u0062\"}";
    Arena *index = context;
    JsonrpcMessage message;
    JsonDoc doc;
    Arena arena;
    Span key;
    int r;

    arena_reset(index, 65536);
    r = json_parse(&doc, index, text, sizeof(text) - 1, NULL, NULL);
    arena_init(&arena, 65536);
    if (r == 0) {
        r = jsonrpc_read(&message, json_root(&doc), &arena);
    }
    if (r == 0) {
        r = jsonrpc_id_key(message.id, &arena, &key);
    }
    arena_deinit(&arena);
    return r;
}

static void want_of_memory_is_reported(void **state)
{
    Arena index;

    (void)state;
    arena_init(&index, 65536);
    assert_non_null(arena_alloc(&index, 1));
    test_oom_sweep(read_scenario, &index);
    arena_deinit(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_message_is_what_it_is),
        cmocka_unit_test(an_id_is_not_as_long_as_a_message),
        cmocka_unit_test(params_result_and_error_are_found),
        cmocka_unit_test(equal_ids_have_equal_keys),
        cmocka_unit_test(what_is_no_id_has_no_key),
        cmocka_unit_test(want_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
