/* Resources over the pipe, both ways: asked for, written, read, failed. */
#include "dialect/pipe/message.h"

#include <errno.h>
#include <stdlib.h>

#include "support/oom_sweep.h"
#include "unit/dialect/pipe/pipe_testing.h"

static const PipeHead head = {.id = TEST_ID("01"), .unix_ms = TEST_UNIX_MS};

typedef struct Text {
    Arena arena;
    Bytes out;
    PipeMessage message;
    CallResult result;
} Text;

static void text_init(Text *text)
{
    *text = (Text){.out = BYTES_NULL};
    arena_init(&text->arena, SIZE_MAX);
    bytes_init(&text->out, SIZE_MAX);
}

static void text_deinit(Text *text)
{
    arena_deinit(&text->arena);
    bytes_deinit(&text->out);
}

static void text_read(Text *text, Span message)
{
    assert_int_equal(pipe_message_read(&text->message, &text->arena, message, NULL), 0);
    assert_int_equal(pipe_resource_read(&text->result, &text->arena, &text->message, 50), 0);
}

/* ---- asked for ---- */

static void a_question_names_the_uri(void **state)
{
    Span uri;
    Text text;

    (void)state;
    text_init(&text);
    assert_int_equal(pipe_write_read(&text.out, &head, SPAN("plan://a\"b")), 0);
    assert_span(bytes_span(&text.out),
                TEST_HEAD("01", "tool_call", "000") "{\"tool_name\":\"toolwire.read_resource\","
                                                    "\"args\":{\"uri\":\"plan://a\\\"b\"}}}");
    assert_int_equal(pipe_message_read(&text.message, &text.arena, bytes_span(&text.out), NULL), 0);
    assert_span(text.message.tool_name, PIPE_READ_RESOURCE);
    assert_int_equal(pipe_message_uri(&text.message, &text.arena, &uri), 0);
    assert_span(uri, "plan://a\"b");
    text_deinit(&text);
}

static void a_question_without_a_uri_is_seen(void **state)
{
    static const char *const args[] = {"",
                                       ",\"args\":null",
                                       ",\"args\":{}",
                                       ",\"args\":{\"uri\":null}",
                                       ",\"args\":{\"uri\":1}",
                                       ",\"args\":{\"uri\":[\"plan://a\"]}"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(args); i++) {
        Span uri = SPAN("untouched");
        Text text;

        text_init(&text);
        assert_int_equal(bytes_append_format(&text.out,
                                             "{\"id\":\"1\",\"type\":\"tool_call\",\"payload\":{"
                                             "\"tool_name\":\"x\"%s}}",
                                             args[i]),
                         0);
        assert_int_equal(pipe_message_read(&text.message, &text.arena, bytes_span(&text.out), NULL),
                         0);
        assert_int_equal(pipe_message_uri(&text.message, &text.arena, &uri), PIPE_E_VALUE);
        assert_span(uri, "untouched");
        text_deinit(&text);
    }
}

/* ---- written ---- */

static void assert_written(const CallResult *result, const char *expected)
{
    BytesLent lent = BYTES_LENT_NULL;
    Text text;

    text_init(&text);
    assert_int_equal(pipe_write_resource(&text.out, &head, SPAN("c-1"), result, 45, NULL), 0);
    assert_span(bytes_span(&text.out), expected);
    bytes_clear(&text.out);
    assert_int_equal(pipe_write_resource(&text.out, &head, SPAN("c-1"), result, 45, &lent), 0);
    assert_null(lent.span.p);
    assert_span(bytes_span(&text.out), expected);
    text_deinit(&text);
}

#define WRITTEN(rest) TEST_HEAD("01", "tool_result", "000") "{\"call_id\":\"c-1\"," rest "}}"
#define SUCCESS(data)                                                                              \
    WRITTEN("\"success\":true,\"data\":" data ",\"error\":null,\"duration_ms\":45")
#define FAILURE(code, message)                                                                     \
    WRITTEN("\"success\":false,\"data\":{},\"error\":{\"code\":\"" code                            \
            "\",\"message\":\"" message "\"},\"duration_ms\":45")

static void contents_are_spliced(void **state)
{
    Span pieces[] = {SPAN("{\"uri\":\"a:b\",\"text\":"), SPAN("\"x\\u00e4\""),
                     SPAN("},{\"uri\":\"a:c\",\"blob\":\"AA==\"}")};
    CallResult result = {.kind = CALL_RESULT_RESOURCE, .pieces = pieces, .n_pieces = 3};
    CallResult empty = {.kind = CALL_RESULT_RESOURCE};

    (void)state;
    assert_written(&result, SUCCESS("{\"contents\":[{\"uri\":\"a:b\",\"text\":\"x\\u00e4\"},"
                                    "{\"uri\":\"a:c\",\"blob\":\"AA==\"}]}"));
    assert_written(&empty, SUCCESS("{\"contents\":[]}"));
}

static void assert_error_written(CallError error, const char *message, const char *expected)
{
    CallResult result = {
        .kind = CALL_RESULT_ERROR, .error = error, .message = span_from_str(message)};

    assert_written(&result, expected);
}

static void failures_to_read_have_codes(void **state)
{
    CallResult ask = {.kind = CALL_RESULT_ASK};
    CallResult tool = {.kind = CALL_RESULT_TOOL, .structured = SPAN("{}")};

    (void)state;
    assert_error_written(CALL_ERROR_UNKNOWN_RESOURCE, "",
                         FAILURE("RESOURCE_NOT_FOUND", "unknown resource"));
    assert_error_written(CALL_ERROR_UNKNOWN_RESOURCE, "no plan",
                         FAILURE("RESOURCE_NOT_FOUND", "no plan"));
    assert_error_written(CALL_ERROR_UNAVAILABLE, "away", FAILURE("ADAPTER_NOT_AVAILABLE", "away"));
    assert_error_written(CALL_ERROR_TIMEOUT, "late", FAILURE("PIPE_TIMEOUT", "late"));
    assert_error_written(CALL_ERROR_TOO_LARGE, "much", FAILURE("PIPE_MESSAGE_TOO_LARGE", "much"));
    assert_error_written(CALL_ERROR_INTERNAL, "", FAILURE("HANDLER_ERROR", "internal error"));
    assert_error_written(CALL_ERROR_UNKNOWN_TOOL, "", FAILURE("TOOL_NOT_FOUND", "unknown tool"));
    assert_written(&ask, FAILURE("HANDLER_ERROR", "input is needed that this client cannot give"));
    assert_written(&tool, FAILURE("HANDLER_ERROR", "internal error"));
}

static void a_code_in_front_of_a_message_survives_a_relay(void **state)
{
    (void)state;
    assert_error_written(CALL_ERROR_UNAVAILABLE, "PIPE_DISCONNECTED: Lost it",
                         FAILURE("PIPE_DISCONNECTED", "Lost it"));
    assert_error_written(
        CALL_ERROR_INVALID_ARGUMENTS,
        "SCHEMA_VALIDATION_FAILED: Argument validation failed: /uri: no",
        FAILURE("SCHEMA_VALIDATION_FAILED", "Argument validation failed: /uri: no"));
    assert_error_written(CALL_ERROR_INTERNAL, "E5: x", FAILURE("E5", "x"));
    assert_error_written(CALL_ERROR_INTERNAL, "not a code: x",
                         FAILURE("HANDLER_ERROR", "not a code: x"));
    assert_error_written(CALL_ERROR_INTERNAL, "E5:xyz", FAILURE("HANDLER_ERROR", "E5:xyz"));
    assert_error_written(CALL_ERROR_INTERNAL, "E5: ", FAILURE("HANDLER_ERROR", "E5: "));
    assert_error_written(CALL_ERROR_INTERNAL, "E5:", FAILURE("HANDLER_ERROR", "E5:"));
    assert_error_written(CALL_ERROR_INTERNAL, ": x", FAILURE("HANDLER_ERROR", ": x"));
}

static void a_tool_s_message_is_not_taken_apart(void **state)
{
    CallResult result = {
        .kind = CALL_RESULT_ERROR, .error = CALL_ERROR_INTERNAL, .message = SPAN("E5: x")};
    Text text;

    (void)state;
    text_init(&text);
    assert_int_equal(pipe_write_result(&text.out, &head, SPAN("c-1"), SPAN("t"), &result, 45), 0);
    assert_span(bytes_span(&text.out), FAILURE("HANDLER_ERROR", "E5: x"));
    text_deinit(&text);
}

static void large_contents_are_lent(void **state)
{
    size_t n = BYTES_LEND_MIN;
    char *large = malloc(n);
    BytesLent lent = BYTES_LENT_NULL;
    Text text;

    (void)state;
    assert_non_null(large);
    memset(large, 'x', n);
    text_init(&text);
    {
        Span pieces[] = {SPAN("{\"uri\":\"a:b\",\"text\":\""), span_make(large, n), SPAN("\"}")};
        CallResult result = {.kind = CALL_RESULT_RESOURCE, .pieces = pieces, .n_pieces = 3};

        assert_int_equal(pipe_write_resource(&text.out, &head, SPAN("c-1"), &result, 45, &lent), 0);
    }
    assert_ptr_equal(lent.span.p, large);
    assert_int_equal(lent.span.n, n);
    assert_span(span_make(text.out.data, lent.at),
                TEST_HEAD("01", "tool_result", "000") "{\"call_id\":\"c-1\",\"success\":true,"
                                                      "\"data\":{\"contents\":[{\"uri\":\"a:b\","
                                                      "\"text\":\"");
    assert_span(span_make(text.out.data + lent.at, text.out.n - lent.at),
                "\"}]},\"error\":null,\"duration_ms\":45}}");
    text_deinit(&text);
    free(large);
}

/* ---- read ---- */

#define RESULT(rest) "{\"type\":\"tool_result\",\"payload\":{\"call_id\":\"1\"," rest "}}"
#define DATA(data)   RESULT("\"success\":true,\"data\":" data)

typedef struct ReadRow {
    const char *message;
    const char *expected; /* the elements */
    uint32_t kinds;
} ReadRow;

static void contents_are_read_as_they_are(void **state)
{
    static const ReadRow rows[] = {
        {DATA("{\"contents\":[{\"uri\":\"a:b\",\"text\":\"x\"}]}"),
         "{\"uri\":\"a:b\",\"text\":\"x\"}", 0},
        {DATA("{\"contents\":[{\"text\":\"\\u00e4\",\"mimeType\":\"t/p\",\"uri\":\"\"},"
              "{\"uri\":\"a:c\", \"blob\":\"AA==\"}],\"more\":1}"),
         "{\"text\":\"\\u00e4\",\"mimeType\":\"t/p\",\"uri\":\"\"},"
         "{\"uri\":\"a:c\", \"blob\":\"AA==\"}",
         0},
        /* Letters of base64 that some writers escape. */
        {DATA("{\"contents\":[{\"uri\":\"a:b\",\"blob\":\"\\u002B\\/+/\"}]}"),
         "{\"uri\":\"a:b\",\"blob\":\"\\u002B\\/+/\"}", 0},
        /* On several lines: on one. */
        {DATA("{\"contents\":[\r\n  {\"uri\":\"a:b\",\n\t\"text\":\"x\\ny\"}\n]}"),
         "{\"uri\":\"a:b\",\"text\":\"x\\ny\"}", 0},
        /* What is null is as good as absent, and strict readers would stumble over it. */
        {DATA("{\"contents\":[{\"uri\":\"a:b\",\"mimeType\":null,\"text\":\"x\",\"blob\":null},"
              "{\"text\":null,\n\"uri\":\n\"a:c\",\"blob\":\"\"}]}"),
         "{\"uri\":\"a:b\",\"text\":\"x\"},{\"uri\":\"a:c\",\"blob\":\"\"}", 0},
        /* Members that some revisions do not have. */
        {DATA("{\"contents\":[{\"uri\":\"a:b\",\"text\":\"x\",\"_meta\":{\"a\":null}}]}"),
         "{\"uri\":\"a:b\",\"text\":\"x\",\"_meta\":{\"a\":null}}", CALL_CONTENT_UNKNOWN},
        {DATA("{\"contents\":[]}"), "", 0},
        {DATA("{\"contents\":[ ]}"), "", 0},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        Text text;

        text_init(&text);
        text_read(&text, span_from_str(rows[i].message));
        assert_int_equal(text.result.kind, CALL_RESULT_RESOURCE);
        assert_int_equal(text.result.content_kinds, rows[i].kinds);
        assert_int_equal(text.result.n_pieces, rows[i].expected[0] != '\0' ? 1 : 0);
        if (text.result.n_pieces > 0) {
            assert_span(text.result.pieces[0], rows[i].expected);
        }
        assert_span(text.result.meta, "{\"waited_ms\":50}");
        text_deinit(&text);
    }
}

static void contents_are_not_copied_and_durations_are_told(void **state)
{
    Span message =
        SPAN(DATA("{\"contents\":[{\"uri\":\"a:b\",\"text\":\"x\"}]},\"duration_ms\":7"));
    Text text;

    (void)state;
    text_init(&text);
    text_read(&text, message);
    assert_true(text.result.pieces[0].p > message.p &&
                text.result.pieces[0].p < message.p + message.n);
    assert_span(text.result.meta, "{\"duration_ms\":7,\"waited_ms\":50}");
    text_deinit(&text);
}

static void assert_fails(const char *message, CallError error, const char *words)
{
    Text text;

    text_init(&text);
    text_read(&text, span_from_str(message));
    assert_int_equal(text.result.kind, CALL_RESULT_ERROR);
    assert_span(text.result.message, words);
    assert_int_equal(text.result.error, error);
    text_deinit(&text);
}

#define NO_RESOURCE "PIPE_PROTOCOL_ERROR: the add-in's answer is no resource: "

static void what_is_no_resource_is_named(void **state)
{
    static const struct {
        const char *message;
        const char *words;
    } rows[] = {
        {RESULT("\"success\":true"), NO_RESOURCE "data: expected object, got nothing"},
        {DATA("null"), NO_RESOURCE "data: expected object, got nothing"},
        {DATA("[]"), NO_RESOURCE "data: expected object, got array"},
        {DATA("\"text\""), NO_RESOURCE "data: expected object, got string"},
        {DATA("{}"), NO_RESOURCE "data.contents: expected array, got nothing"},
        {DATA("{\"contents\":{}}"), NO_RESOURCE "data.contents: expected array, got object"},
        {DATA("{\"contents\":null}"), NO_RESOURCE "data.contents: expected array, got null"},
        {DATA("{\"contents\":[1]}"), NO_RESOURCE "data.contents[0]: expected object, got number"},
        {DATA("{\"contents\":[null]}"), NO_RESOURCE "data.contents[0]: expected object, got null"},
        {DATA("{\"contents\":[{\"uri\":\"a:b\",\"text\":\"x\"},{\"text\":\"x\"}]}"),
         NO_RESOURCE "data.contents[1].uri: expected string, got nothing"},
        {DATA("{\"contents\":[{\"uri\":null,\"text\":\"x\"}]}"),
         NO_RESOURCE "data.contents[0].uri: expected string, got nothing"},
        {DATA("{\"contents\":[{\"uri\":5,\"text\":\"x\"}]}"),
         NO_RESOURCE "data.contents[0].uri: expected string, got number"},
        {DATA("{\"contents\":[{\"uri\":5,\"uri\":\"a:b\",\"text\":\"x\"}]}"),
         NO_RESOURCE "data.contents[0].uri: expected string, got number"},
        {DATA("{\"contents\":[{\"uri\":\"a:b\"}]}"),
         NO_RESOURCE "data.contents[0]: expected text or blob, got nothing"},
        {DATA("{\"contents\":[{\"uri\":\"a:b\",\"text\":null}]}"),
         NO_RESOURCE "data.contents[0]: expected text or blob, got nothing"},
        {DATA("{\"contents\":[{\"uri\":\"a:b\",\"mimeType\":\"x\"}]}"),
         NO_RESOURCE "data.contents[0]: expected text or blob, got nothing"},
        {DATA("{\"contents\":[{\"uri\":\"a:b\",\"text\":{}}]}"),
         NO_RESOURCE "data.contents[0].text: expected string, got object"},
        {DATA("{\"contents\":[{\"uri\":\"a:b\",\"text\":\"x\",\"blob\":[]}]}"),
         NO_RESOURCE "data.contents[0].blob: expected string, got array"},
        {DATA("{\"contents\":[{\"uri\":\"a:b\",\"blob\":\"AA=\"}]}"),
         NO_RESOURCE "data.contents[0].blob: expected base64"},
        {DATA("{\"contents\":[{\"uri\":\"a:b\",\"blob\":\"<svg/>\\n\"}]}"),
         NO_RESOURCE "data.contents[0].blob: expected base64"},
        {DATA("{\"contents\":[{\"uri\":\"a:b\",\"text\":\"\",\"blob\":\"-_-_\"}]}"),
         NO_RESOURCE "data.contents[0].blob: expected base64"},
        {DATA("{\"contents\":[{\"uri\":\"a:b\",\"text\":\"x\",\"mimeType\":false}]}"),
         NO_RESOURCE "data.contents[0].mimeType: expected string, got boolean"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        assert_fails(rows[i].message, CALL_ERROR_BAD_RESULT, rows[i].words);
    }
}

/* Padding, and what is no letter, is seen wherever it stands in a blob of any length. */
static void blobs_of_any_length_are_base64(void **state)
{
    enum {
        N = 5000
    };
    char letters[N + 1];

    (void)state;
    for (size_t n = N - 1100; n <= N; n++) {
        /* Whole; then spoilt at one place after the other. */
        for (int spoilt = 0; spoilt < 2; spoilt++) {
            Text text;

            memset(letters, 'A', n);
            letters[n] = '\0';
            letters[spoilt != 0 ? (n * 7) % (n - 2) : 0] = spoilt != 0 ? '=' : 'A';
            text_init(&text);
            assert_int_equal(
                bytes_append_format(
                    &text.out, DATA("{\"contents\":[{\"uri\":\"a:b\",\"blob\":\"%s\"}]}"), letters),
                0);
            text_read(&text, bytes_span(&text.out));
            assert_int_equal(text.result.kind,
                             n % 4 == 0 && spoilt == 0 ? CALL_RESULT_RESOURCE : CALL_RESULT_ERROR);
            text_deinit(&text);
        }
    }
    /* At the end of each part that is looked at. */
    for (size_t at = 3; at < N - 1; at += 4) {
        Text text;

        memset(letters, 'A', N);
        letters[N] = '\0';
        letters[at] = '=';
        text_init(&text);
        assert_int_equal(
            bytes_append_format(
                &text.out, DATA("{\"contents\":[{\"uri\":\"a:b\",\"blob\":\"%s\"}]}"), letters),
            0);
        text_read(&text, bytes_span(&text.out));
        assert_int_equal(text.result.kind, CALL_RESULT_ERROR);
        text_deinit(&text);
    }
}

#define FAILED(code, words)                                                                        \
    RESULT("\"success\":false,\"error\":{\"code\":\"" code "\",\"message\":\"" words "\"}")

static void a_failure_has_a_kind_that_suits_its_code(void **state)
{
    static const struct {
        const char *message;
        CallError error;
        const char *words;
    } rows[] = {
        {FAILED("RESOURCE_NOT_FOUND", "no plan"), CALL_ERROR_UNKNOWN_RESOURCE,
         "RESOURCE_NOT_FOUND: no plan"},
        {FAILED("RESOURCE_NOT_FOUND", ""), CALL_ERROR_UNKNOWN_RESOURCE,
         "RESOURCE_NOT_FOUND: unknown resource"},
        {FAILED("TOOL_NOT_FOUND", "what?"), CALL_ERROR_UNKNOWN_RESOURCE, "TOOL_NOT_FOUND: what?"},
        {FAILED("SCHEMA_VALIDATION_FAILED", "bad"), CALL_ERROR_INVALID_ARGUMENTS,
         "SCHEMA_VALIDATION_FAILED: bad"},
        {FAILED("ADAPTER_NOT_AVAILABLE", "x"), CALL_ERROR_UNAVAILABLE, "ADAPTER_NOT_AVAILABLE: x"},
        {FAILED("PIPE_DISCONNECTED", "x"), CALL_ERROR_UNAVAILABLE, "PIPE_DISCONNECTED: x"},
        {FAILED("PIPE_TIMEOUT", "x"), CALL_ERROR_TIMEOUT, "PIPE_TIMEOUT: x"},
        {FAILED("PIPE_MESSAGE_TOO_LARGE", "x"), CALL_ERROR_TOO_LARGE, "PIPE_MESSAGE_TOO_LARGE: x"},
        {FAILED("HANDLER_ERROR", "x"), CALL_ERROR_INTERNAL, "HANDLER_ERROR: x"},
        {FAILED("THEIR_OWN", "\\u00e4\\\"\\n"), CALL_ERROR_INTERNAL, "THEIR_OWN: \xc3\xa4\"\n"},
        {FAILED("", "x"), CALL_ERROR_INTERNAL, "HANDLER_ERROR: x"},
        {RESULT("\"success\":false"), CALL_ERROR_INTERNAL, "HANDLER_ERROR: internal error"},
        {RESULT("\"error\":\"words\""), CALL_ERROR_INTERNAL, "HANDLER_ERROR: words"},
        {"{\"type\":\"error\",\"payload\":{\"call_id\":\"1\",\"code\":\"TOOL_NOT_FOUND\","
         "\"message\":\"No handler\"}}",
         CALL_ERROR_UNKNOWN_RESOURCE, "TOOL_NOT_FOUND: No handler"},
        /* Data beside it are not contents. */
        {RESULT("\"success\":false,\"data\":{\"contents\":[]}"), CALL_ERROR_INTERNAL,
         "HANDLER_ERROR: internal error"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        assert_fails(rows[i].message, rows[i].error, rows[i].words);
    }
}

static void failures_of_our_own_look_the_same(void **state)
{
    Text text;

    (void)state;
    text_init(&text);
    assert_int_equal(
        pipe_resource_fail(&text.result, &text.arena, PIPE_CODE_DISCONNECTED, SPAN("Lost it")), 0);
    assert_int_equal(text.result.kind, CALL_RESULT_ERROR);
    assert_int_equal(text.result.error, CALL_ERROR_UNAVAILABLE);
    assert_span(text.result.message, "PIPE_DISCONNECTED: Lost it");
    text_deinit(&text);
}

/* ---- memory ---- */

static int read_and_write(void *context)
{
    static const char *const messages[] = {
        DATA("{\"contents\":[{\"uri\":\"a:b\",\"mimeType\":null,\n\"text\":\"x\"}]}"),
        FAILED("HANDLER_ERROR", "x"),
        DATA("{}"),
    };
    Text text;
    int r = 0;

    (void)context;
    text_init(&text);
    for (size_t i = 0; i < TW_ARRAY_SIZE(messages) && r == 0; i++) {
        arena_reset(&text.arena, 0);
        r = pipe_message_read(&text.message, &text.arena, span_from_str(messages[i]), NULL);
        if (r == 0) {
            r = pipe_resource_read(&text.result, &text.arena, &text.message, 1);
        }
        if (r == 0) {
            bytes_deinit(&text.out);
            bytes_init(&text.out, SIZE_MAX);
            r = pipe_write_resource(&text.out, &head, SPAN("1"), &text.result, 1, NULL);
        }
    }
    if (r == 0) {
        r = pipe_write_read(&text.out, &head, SPAN("a:b"));
    }
    text_deinit(&text);
    return r;
}

static void want_of_memory_is_told(void **state)
{
    (void)state;
    test_oom_sweep(read_and_write, NULL);
}

static void an_arena_that_is_full_is_told_wherever_it_happens(void **state)
{
    Span message =
        SPAN(DATA("{\"contents\":[{\"uri\":\"a:b\",\"mimeType\":null,\n\"blob\":\"\\/AAA\"}]}"));
    size_t n_failed = 0;
    Text text;

    (void)state;
    text_init(&text);
    assert_int_equal(pipe_message_read(&text.message, &text.arena, message, NULL), 0);
    for (size_t n_used = 0; n_used < 65536; n_used += 16) {
        Arena arena;

        /* One block, of which so much is gone. */
        arena_init(&arena, 65536);
        assert_non_null(arena_alloc(&arena, 1));
        if (arena_alloc(&arena, n_used) != NULL) {
            int r;

            text.result = (CallResult){.kind = CALL_RESULT_EMPTY};
            r = pipe_resource_read(&text.result, &arena, &text.message, 1);
            assert_true(r == 0 || r == -ENOMEM);
            assert_int_equal(text.result.kind, r == 0 ? CALL_RESULT_RESOURCE : CALL_RESULT_EMPTY);
            n_failed += r != 0 ? 1 : 0;
        }
        arena_deinit(&arena);
    }
    assert_true(n_failed > 2);
    text_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_names_the_uri),
        cmocka_unit_test(a_question_without_a_uri_is_seen),
        cmocka_unit_test(contents_are_spliced),
        cmocka_unit_test(failures_to_read_have_codes),
        cmocka_unit_test(a_code_in_front_of_a_message_survives_a_relay),
        cmocka_unit_test(a_tool_s_message_is_not_taken_apart),
        cmocka_unit_test(large_contents_are_lent),
        cmocka_unit_test(contents_are_read_as_they_are),
        cmocka_unit_test(contents_are_not_copied_and_durations_are_told),
        cmocka_unit_test(what_is_no_resource_is_named),
        cmocka_unit_test(blobs_of_any_length_are_base64),
        cmocka_unit_test(a_failure_has_a_kind_that_suits_its_code),
        cmocka_unit_test(failures_of_our_own_look_the_same),
        cmocka_unit_test(want_of_memory_is_told),
        cmocka_unit_test(an_arena_that_is_full_is_told_wherever_it_happens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
