#include "dialect/callsock/message.h"

#include "support/cmocka.h"

#include <stdio.h>

#include "support/oom_sweep.h"
#include "unit/dialect/callsock/span_testing.h"

static void assert_written(const CallResult *result, const char *expected)
{
    Bytes out;

    bytes_init(&out, 4096);
    assert_int_equal(bytes_append(&out, "#", 1), 0);
    assert_int_equal(callsock_response_write(&out, result), 0);
    assert_span(span_make(out.data + 1, out.n - 1), expected);
    bytes_deinit(&out);
}

static void every_error_has_a_python_name(void **state)
{
    static const struct {
        CallError error;
        const char *words; /* call_error_text, as it is written */
        const char *type;
    } rows[] = {
        {CALL_ERROR_NONE, "no error", "RuntimeError"},
        {CALL_ERROR_UNKNOWN_TOOL, "Unknown tool", "ToolNotFoundError"},
        {CALL_ERROR_UNKNOWN_PROMPT, "unknown prompt", "LookupError"},
        {CALL_ERROR_UNKNOWN_RESOURCE, "unknown resource", "LookupError"},
        {CALL_ERROR_INVALID_ARGUMENTS, "invalid arguments", "ValueError"},
        {CALL_ERROR_INVALID_CURSOR, "invalid cursor", "ValueError"},
        {CALL_ERROR_RATE, "rate limit exceeded", "RuntimeError"},
        {CALL_ERROR_BUSY, "too many calls in flight", "RuntimeError"},
        {CALL_ERROR_TIMEOUT, "deadline passed", "TimeoutError"},
        {CALL_ERROR_CANCELLED, "cancelled", "CancelledError"},
        {CALL_ERROR_UNAVAILABLE, "the provider is not available", "ConnectionError"},
        {CALL_ERROR_BAD_RESULT, "the result does not match the output schema", "RuntimeError"},
        {CALL_ERROR_TOO_LARGE, "the result is too large", "IPCMessageSizeError"},
        {CALL_ERROR_CANNOT_ASK, "input is needed that this client cannot give", "RuntimeError"},
        {CALL_ERROR_NEEDS_LATER, "the tool runs only as a task", "RuntimeError"},
        {CALL_ERROR_NEVER_LATER, "the tool does not run as a task", "RuntimeError"},
        {CALL_ERROR_UNKNOWN_TASK, "unknown task", "LookupError"},
        {CALL_ERROR_TASK_OVER, "the task has ended", "RuntimeError"},
        {CALL_ERROR_DROPPED, "the result was dropped to keep all results within keep_bytes",
         "LookupError"},
        {CALL_ERROR_INTERNAL, "internal error", "RuntimeError"},
        {CALL_ERROR_RAISED, "the tool failed", "RuntimeError"},
        {CALL_ERROR_OWN, "the call failed", "RuntimeError"},
    };

    (void)state;
    assert_int_equal(TW_ARRAY_SIZE(rows), CALL_N_ERRORS);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        CallResult result = {.kind = CALL_RESULT_ERROR, .error = rows[i].error};
        char expected[160];

        assert_int_equal(rows[i].error, i);
        (void)snprintf(expected, sizeof(expected),
                       "{\"error\":{\"message\":\"%s\",\"type\":\"%s\"}}", rows[i].words,
                       rows[i].type);
        assert_written(&result, expected);
        /* Only an exception has a type of its own. */
        result.error_type = SPAN("KeyError");
        if (rows[i].error == CALL_ERROR_RAISED) {
            assert_written(&result, "{\"error\":{\"message\":\"the tool failed\","
                                    "\"type\":\"KeyError\"}}");
        } else {
            assert_written(&result, expected);
        }
    }
}

static void only_a_program_that_failed_turns_a_result_into_an_error(void **state)
{
    Span content = SPAN("{\"type\":\"text\",\"text\":\"exit status 3\"}");
    CallResult result = CALL_RESULT_TOOL_PIECES(&content, 1);

    (void)state;
    result.is_error = true;
    result.message = SPAN("exit status 3");
    assert_written(&result,
                   "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"exit status 3\"}],"
                   "\"isError\":true}}");
    result.error_type = SPAN("CalledProcessError");
    assert_written(&result,
                   "{\"error\":{\"message\":\"exit status 3\",\"type\":\"CalledProcessError\"}}");
}

static void an_unknown_tool_is_called_so_as_peers_expect(void **state)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_UNKNOWN_TOOL,
                         .message = SPAN("unknown tool: \"x\"")};

    (void)state;
    assert_written(&result, "{\"error\":{\"message\":\"Unknown tool: \\\"x\\\"\","
                            "\"type\":\"ToolNotFoundError\"}}");
    result.message = SPAN("unlucky");
    assert_written(&result, "{\"error\":{\"message\":\"unlucky\",\"type\":\"ToolNotFoundError\"}}");
}

static void the_message_says_all_that_is_wrong_with_arguments(void **state)
{
    CallResult result = {
        .kind = CALL_RESULT_ERROR,
        .error = CALL_ERROR_INVALID_ARGUMENTS,
        .message = SPAN("arguments/a: expected \"x\"; arguments: too many"),
        .data = SPAN("[{\"path\":\"/a\",\"message\":\"expected \\\"x\\\"\"},"
                     "{\"path\":\"\",\"message\":\"too many\"}]"),
    };

    (void)state;
    assert_written(&result, "{\"error\":{\"message\":\"arguments/a: expected \\\"x\\\"; arguments: "
                            "too many\",\"type\":\"ValueError\"}}");
    result.message = SPAN_NULL;
    assert_written(&result,
                   "{\"error\":{\"message\":\"invalid arguments\",\"type\":\"ValueError\"}}");
}

static void a_success_has_content_whatever_the_result_has(void **state)
{
    Span pieces[] = {SPAN("{\"type\":\"text\","), SPAN("\"text\":\"a\"}")};
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, 2);

    (void)state;
    assert_written(&result, "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"}],"
                            "\"isError\":false}}");
    result.is_error = true;
    result.structured = SPAN("{\"n\":1.0}");
    result.members = SPAN("\"x\":[1],\"y\":2");
    result.meta = SPAN("{\"k\":9007199254740993}");
    assert_written(&result,
                   "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\"}],\"isError\":true,"
                   "\"structuredContent\":{\"n\":1.0},\"x\":[1],\"y\":2,"
                   "\"_meta\":{\"k\":9007199254740993}}}");
    result = (CallResult){.kind = CALL_RESULT_TOOL, .structured = SPAN("{\"n\":1.0}")};
    assert_written(&result, "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":"
                            "\"{\\\"n\\\":1.0}\"}],\"isError\":false,"
                            "\"structuredContent\":{\"n\":1.0}}}");
    pieces[0] = SPAN_NULL;
    result = CALL_RESULT_TOOL_PIECES(pieces, 1);
    assert_written(&result, "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"\"}],"
                            "\"isError\":false}}");
}

static void what_is_no_tool_result_is_an_error(void **state)
{
    CallResult result = {.kind = CALL_RESULT_ASK};

    (void)state;
    assert_written(&result, "{\"error\":{\"message\":\"input is needed that this client cannot "
                            "give\",\"type\":\"RuntimeError\"}}");
    result.kind = CALL_RESULT_EMPTY;
    assert_written(&result,
                   "{\"error\":{\"message\":\"internal error\",\"type\":\"RuntimeError\"}}");
}

static void an_error_is_text_of_any_bytes(void **state)
{
    Bytes out;

    (void)state;
    bytes_init(&out, 4096);
    assert_int_equal(callsock_error_write(&out, SPAN("T\xFF"), SPAN("a\"\n\xC0z")), 0);
    assert_span(bytes_span(&out), "{\"error\":{\"message\":\"a\\\"\\n\xEF\xBF\xBDz\",\"type\":\"T"
                                  "\xEF\xBF\xBD\"}}");
    bytes_deinit(&out);
}

static int write_all(void *context)
{
    CallResult results[] = {
        {.kind = CALL_RESULT_TOOL, .structured = SPAN("{}")},
        {.kind = CALL_RESULT_ERROR,
         .error = CALL_ERROR_INVALID_ARGUMENTS,
         .message = SPAN("m"),
         .data = SPAN("[{\"path\":\"\",\"message\":\"m\"},{\"path\":\"\",\"message\":\"m\"}]")},
    };
    int r = 0;

    (void)context;
    for (size_t i = 0; i < TW_ARRAY_SIZE(results) && r == 0; i++) {
        Bytes out;

        bytes_init(&out, 4096);
        r = callsock_response_write(&out, &results[i]);
        assert_true(r == 0 || out.n == 0);
        bytes_deinit(&out);
    }
    if (r == 0) {
        Bytes out;

        bytes_init(&out, 4096);
        r = callsock_request_write(
            &out, &(CallsockRequest){.name = SPAN("a"), .arguments = JSON_VALUE_NULL});
        assert_true(r == 0 || out.n == 0);
        bytes_deinit(&out);
    }
    return r;
}

static void writing_survives_want_of_memory(void **state)
{
    (void)state;
    test_oom_sweep(write_all, NULL);
}

/* head, and as many letters as make it n bytes with the tail. */
static Span fill_span(char *memory, size_t n, const char *head, const char *tail)
{
    memset(memory, 'x', n);
    memcpy(memory, head, strlen(head));
    memcpy(memory + n - strlen(tail), tail, strlen(tail));
    return span_make(memory, n);
}

/* Writes with and without lending, which are the same bytes; says where the lent ones lie. */
static const char *write_lent(const CallResult *result)
{
    BytesLent lent = BYTES_LENT_NULL;
    Bytes plain;
    Bytes out;

    bytes_init(&plain, SIZE_MAX);
    bytes_init(&out, SIZE_MAX);
    assert_int_equal(bytes_append(&out, "#", 1), 0);
    assert_int_equal(callsock_response_write(&plain, result), 0);
    assert_int_equal(callsock_response_write_lent(&out, result, &lent), 0);
    assert_same_with_lent(span_make(out.data + 1, out.n - 1), lent, bytes_span(&plain));
    bytes_deinit(&plain);
    bytes_deinit(&out);
    return lent.span.p;
}

static void one_large_part_is_lent_and_the_response_is_the_same(void **state)
{
    static char text[BYTES_LEND_MIN];
    static char other[BYTES_LEND_MIN];
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":"),
                     fill_span(text, sizeof(text), "\"", "\""), SPAN("}")};
    Span small = SPAN("{\"type\":\"text\",\"text\":\"1\"}");
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, 3);

    (void)state;
    result.meta = SPAN("{\"a\":1}");
    assert_ptr_equal(write_lent(&result), text);
    pieces[1] = fill_span(text, sizeof(text) - 1, "\"", "\"");
    assert_null(write_lent(&result));
    /* In one piece, with nothing but the brackets around it. */
    pieces[0] = fill_span(text, sizeof(text), "{\"type\":\"text\",\"text\":\"", "\"}");
    result.n_pieces = 1;
    assert_ptr_equal(write_lent(&result), text);
    result.structured = fill_span(other, sizeof(other), "{\"b\":\"", "\"}");
    assert_ptr_equal(write_lent(&result), text);
    result.pieces = &small;
    assert_ptr_equal(write_lent(&result), other);
    result.n_pieces = 0;
    result.content_kinds = 0;
    assert_ptr_equal(write_lent(&result), other);
    result.structured = SPAN_NULL;
    result.members = fill_span(other, sizeof(other), "\"b\":\"", "\"");
    assert_ptr_equal(write_lent(&result), other);
    result = (CallResult){.kind = CALL_RESULT_ERROR,
                          .error = CALL_ERROR_INTERNAL,
                          .message = fill_span(text, sizeof(text), "", "")};
    assert_null(write_lent(&result));
}

static void a_response_that_finds_no_room_lends_nothing(void **state)
{
    static char text[BYTES_LEND_MIN];
    Span piece = fill_span(text, sizeof(text), "{\"type\":\"text\",\"text\":\"", "\"}");
    CallResult result = CALL_RESULT_TOOL_PIECES(&piece, 1);
    BytesLent lent = BYTES_LENT_NULL;
    Bytes out;

    (void)state;
    bytes_init(&out, 30);
    assert_int_equal(callsock_response_write_lent(&out, &result, &lent), BYTES_E_FULL);
    assert_int_equal(out.n, 0);
    assert_null(lent.span.p);
    bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_error_has_a_python_name),
        cmocka_unit_test(only_a_program_that_failed_turns_a_result_into_an_error),
        cmocka_unit_test(an_unknown_tool_is_called_so_as_peers_expect),
        cmocka_unit_test(the_message_says_all_that_is_wrong_with_arguments),
        cmocka_unit_test(a_success_has_content_whatever_the_result_has),
        cmocka_unit_test(what_is_no_tool_result_is_an_error),
        cmocka_unit_test(an_error_is_text_of_any_bytes),
        cmocka_unit_test(writing_survives_want_of_memory),
        cmocka_unit_test(one_large_part_is_lent_and_the_response_is_the_same),
        cmocka_unit_test(a_response_that_finds_no_room_lends_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
