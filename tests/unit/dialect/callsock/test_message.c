#include "dialect/callsock/message.h"

#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "support/guard.h"
#include "unit/dialect/callsock/span_testing.h"

static void wrong_requests_are_named_in_the_words_of_the_real_peers(void **state)
{
    static const struct {
        const char *message;
        int r;
        const char *words;
    } rows[] = {
        {"{}", CALLSOCK_E_VALUE, "Unknown method: None"},
        {"{\"method\":null}", CALLSOCK_E_VALUE, "Unknown method: None"},
        {"{\"method\":\"list_tools\"}", CALLSOCK_E_VALUE, "Unknown method: list_tools"},
        {"{\"method\":\"\"}", CALLSOCK_E_VALUE, "Unknown method: "},
        {"{\"method\":\"Call_tool\"}", CALLSOCK_E_VALUE, "Unknown method: Call_tool"},
        {"{\"method\":\"a\\n\\u00fc\"}", CALLSOCK_E_VALUE, "Unknown method: a\n\xC3\xBC"},
        {"{\"method\":\"a\\u0000b\"}", CALLSOCK_E_VALUE, "Unknown method: \"a\\u0000b\""},
        {"{\"method\":7}", CALLSOCK_E_VALUE, "Unknown method: 7"},
        {"{\"method\":{\"a\":[1.0]}}", CALLSOCK_E_VALUE, "Unknown method: {\"a\":[1.0]}"},
        {"{\"method\":\"call_tool\",\"method\":\"x\"}", CALLSOCK_E_VALUE, "Unknown method: x"},
        {"{\"method\":\"call_tool\"}", CALLSOCK_E_VALUE, "Invalid params: expected dict"},
        {"{\"method\":\"call_tool\",\"params\":null}", CALLSOCK_E_VALUE,
         "Invalid params: expected dict"},
        {"{\"method\":\"call_tool\",\"params\":[1]}", CALLSOCK_E_VALUE,
         "Invalid params: expected dict"},
        {"{\"method\":\"call_tool\",\"params\":{}}", CALLSOCK_E_VALUE,
         "Invalid tool name: expected string"},
        {"{\"method\":\"call_tool\",\"params\":{\"name\":5}}", CALLSOCK_E_VALUE,
         "Invalid tool name: expected string"},
        {"{\"method\":\"call_tool\",\"params\":{\"name\":\"a\",\"arguments\":null}}",
         CALLSOCK_E_VALUE, "Invalid arguments: expected dict"},
        {"{\"method\":\"call_tool\",\"params\":{\"name\":\"a\",\"arguments\":[]}}",
         CALLSOCK_E_VALUE, "Invalid arguments: expected dict"},
        {"", CALLSOCK_E_PROTOCOL,
         "Invalid JSON at byte 0: expected a value, found the end of the "
         "text"},
        {"{\"method\":\"call_tool\",}", CALLSOCK_E_PROTOCOL,
         "Invalid JSON at byte 22: expected a key in double quotes, found '}'"},
        {"{\"method\":\"\xFF\"}", CALLSOCK_E_PROTOCOL, NULL},
        {" []", CALLSOCK_E_PROTOCOL, "Invalid message at byte 1: expected an object, got array"},
        {"\"call_tool\"", CALLSOCK_E_PROTOCOL,
         "Invalid message at byte 0: expected an object, got string"},
        {"null", CALLSOCK_E_PROTOCOL, "Invalid message at byte 0: expected an object, got null"},
    };
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        GuardBuffer text = guard_copy(rows[i].message, strlen(rows[i].message));
        CallsockRequest request = {.name = SPAN("untouched")};
        Diag diag = DIAG_NULL;

        assert_int_equal(callsock_request_read(&request, &arena, span_make(text.p, text.n), &diag),
                         rows[i].r);
        assert_int_equal(diag.code, rows[i].r);
        if (rows[i].words != NULL) {
            assert_string_equal(diag.message, rows[i].words);
        }
        assert_span(request.name, "untouched");
        assert_int_equal(callsock_request_read(&request, &arena, span_make(text.p, text.n), NULL),
                         rows[i].r);
        guard_free(&text);
    }
    arena_deinit(&arena);
}

static void a_long_method_is_cut(void **state)
{
    size_t n = (size_t)1 << 20;
    char *text = malloc(n);
    static const char head[] = "{\"method\":\"";
    CallsockRequest request;
    Diag diag;
    Arena arena;

    (void)state;
    memset(text, 'm', n);
    memcpy(text, head, sizeof(head) - 1);
    memcpy(text + n - 2, "\"}", 2);
    arena_init(&arena, SIZE_MAX);
    assert_int_equal(callsock_request_read(&request, &arena, span_make(text, n), &diag),
                     CALLSOCK_E_VALUE);
    assert_int_equal(strlen(diag.message), DIAG_MESSAGE_SIZE - 1);
    assert_string_equal(diag.message + DIAG_MESSAGE_SIZE - 5, "m...");
    arena_deinit(&arena);
    free(text);
}

static void a_request_gives_its_name_decoded_and_its_arguments_as_they_are(void **state)
{
    static const char text[] =
        " {\"params\" : {\"name\":\"old\",\"arguments\":5,\"more\":1,\n"
        "\"arguments\" : {\"n\":9007199254740993, \"f\":1.0,\"e\":\"\\u0041\"},"
        "\"name\":\"a\\u0064d\"},\"id\":7,\"method\":\"call\\u005ftool\"}\n";
    GuardBuffer guarded = guard_copy(text, sizeof(text) - 1);
    CallsockRequest request;
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    assert_int_equal(callsock_request_read(&request, &arena, span_make(guarded.p, guarded.n), NULL),
                     0);
    assert_span(request.name, "add");
    assert_span(json_span(request.arguments),
                "{\"n\":9007199254740993, \"f\":1.0,\"e\":\"\\u0041\"}");
    assert_int_equal(callsock_request_read(
                         &request, &arena,
                         SPAN("{\"method\":\"call_tool\",\"params\":{\"name\":\"add\"}}"), NULL),
                     0);
    assert_null(request.arguments.node);
    arena_deinit(&arena);
    guard_free(&guarded);
}

static void a_request_is_written_with_its_arguments_spliced(void **state)
{
    static const char arguments[] =
        "{ \"n\":9007199254740993,\"f\":1.0, \"e\":\"\\u0041\",\n\"x\":{}}";
    Arena arena;
    JsonDoc doc;
    Bytes out;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    bytes_init(&out, 4096);
    assert_int_equal(json_parse(&doc, &arena, arguments, sizeof(arguments) - 1, NULL, NULL), 0);
    assert_int_equal(callsock_request_write(&out, &(CallsockRequest){.name = SPAN("add"),
                                                                     .arguments = json_root(&doc)}),
                     0);
    assert_span(bytes_span(&out),
                "{\"method\":\"call_tool\",\"params\":{\"name\":\"add\",\"arguments\":{ "
                "\"n\":9007199254740993,\"f\":1.0, \"e\":\"\\u0041\",\n\"x\":{}}}}");
    bytes_clear(&out);
    assert_int_equal(callsock_request_write(&out, &(CallsockRequest){.name = SPAN("a\"\xFF\n"),
                                                                     .arguments = JSON_VALUE_NULL}),
                     0);
    assert_span(bytes_span(&out), "{\"method\":\"call_tool\",\"params\":{\"name\":"
                                  "\"a\\\"\xEF\xBF\xBD\\n\",\"arguments\":{}}}");
    bytes_deinit(&out);
    arena_deinit(&arena);
}

static int write_one(Bytes *out, int which)
{
    static const Span piece = SPAN_INIT("{\"type\":\"text\",\"text\":\"abc\"}");
    CallResult result = CALL_RESULT_TOOL_PIECES(&piece, 1);
    CallResult error = {.kind = CALL_RESULT_ERROR,
                        .error = CALL_ERROR_INVALID_ARGUMENTS,
                        .message = SPAN("m"),
                        .data = SPAN("[{\"path\":\"\",\"message\":\"m\"},"
                                     "{\"path\":\"/b\",\"message\":\"n\"}]")};

    return which == 0
               ? callsock_request_write(
                     out, &(CallsockRequest){.name = SPAN("name"), .arguments = JSON_VALUE_NULL})
           : which == 1 ? callsock_response_write(out, &result)
                        : callsock_response_write(out, &error);
}

static void a_full_buffer_stays_as_it_was(void **state)
{
    (void)state;
    for (int which = 0; which < 3; which++) {
        Bytes whole;

        bytes_init(&whole, 4096);
        assert_int_equal(write_one(&whole, which), 0);
        for (size_t max = 3; max < whole.n + 5; max++) {
            bool fits = max >= whole.n + 3;
            Bytes out;

            bytes_init(&out, max);
            assert_int_equal(bytes_append(&out, "old", 3), 0);
            assert_int_equal(write_one(&out, which), fits ? 0 : BYTES_E_FULL);
            assert_int_equal(out.n, fits ? whole.n + 3 : 3);
            assert_memory_equal(out.data, "old", 3);
            bytes_deinit(&out);
        }
        bytes_deinit(&whole);
    }
}

/* {"a":"xxx…"} of n bytes. */
static JsonValue make_arguments(Arena *arena, size_t n)
{
    char *text = arena_alloc(arena, n);
    JsonDoc doc;

    assert_non_null(text);
    memset(text, 'x', n);
    memcpy(text, "{\"a\":\"", 6);
    memcpy(text + n - 2, "\"}", 2);
    assert_int_equal(json_parse(&doc, arena, text, n, NULL, NULL), 0);
    return json_root(&doc);
}

static void large_arguments_are_lent_and_the_request_is_the_same(void **state)
{
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    for (size_t n = BYTES_LEND_MIN - 1; n <= BYTES_LEND_MIN; n++) {
        JsonValue arguments = make_arguments(&arena, n);
        BytesLent lent = BYTES_LENT_NULL;
        Bytes plain;
        Bytes out;

        bytes_init(&plain, SIZE_MAX);
        bytes_init(&out, SIZE_MAX);
        assert_int_equal(bytes_append(&out, "#", 1), 0);
        assert_int_equal(
            callsock_request_write(
                &plain, &(CallsockRequest){.name = SPAN("n\"\xC3\xBC"), .arguments = arguments}),
            0);
        assert_int_equal(callsock_request_write_lent(&out,
                                                     &(CallsockRequest){.name = SPAN("n\"\xC3\xBC"),
                                                                        .arguments = arguments},
                                                     &lent),
                         0);
        assert_int_equal(lent.span.p != NULL, n == BYTES_LEND_MIN);
        if (lent.span.p != NULL) {
            assert_ptr_equal(lent.span.p, json_span(arguments).p);
            assert_true(out.cap < BYTES_LEND_MIN);
        }
        assert_same_with_lent(span_make(out.data + 1, out.n - 1), lent, bytes_span(&plain));
        bytes_deinit(&plain);
        bytes_deinit(&out);
        /* What stands around it may still find no room. */
        lent = BYTES_LENT_NULL;
        bytes_init(&out, 56);
        assert_int_equal(bytes_append(&out, "#", 1), 0);
        assert_int_equal(
            callsock_request_write_lent(
                &out, &(CallsockRequest){.name = SPAN("n"), .arguments = arguments}, &lent),
            BYTES_E_FULL);
        assert_int_equal(out.n, 1);
        assert_null(lent.span.p);
        bytes_deinit(&out);
    }
    arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_requests_are_named_in_the_words_of_the_real_peers),
        cmocka_unit_test(a_long_method_is_cut),
        cmocka_unit_test(a_request_gives_its_name_decoded_and_its_arguments_as_they_are),
        cmocka_unit_test(a_request_is_written_with_its_arguments_spliced),
        cmocka_unit_test(a_full_buffer_stays_as_it_was),
        cmocka_unit_test(large_arguments_are_lent_and_the_request_is_the_same),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
