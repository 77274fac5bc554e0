#include "dialect/pipe/message.h"

#include <errno.h>
#include <stdlib.h>

#include "support/oom_sweep.h"
#include "unit/dialect/pipe/pipe_testing.h"

static const PipeHead head = {.id = TEST_ID("01"), .unix_ms = TEST_UNIX_MS};

typedef struct Text {
    Arena arena;
    Bytes out;
    Bytes joined; /* the pieces of a result */
    PipeMessage message;
    CallResult result;
} Text;

static void text_init(Text *text)
{
    *text = (Text){.out = BYTES_NULL};
    arena_init(&text->arena, SIZE_MAX);
    bytes_init(&text->out, SIZE_MAX);
    bytes_init(&text->joined, SIZE_MAX);
}

static void text_deinit(Text *text)
{
    arena_deinit(&text->arena);
    bytes_deinit(&text->out);
    bytes_deinit(&text->joined);
}

static void text_read(Text *text, Span message)
{
    assert_int_equal(pipe_message_read(&text->message, &text->arena, message, NULL), 0);
    assert_int_equal(pipe_result_read(&text->result, &text->arena, &text->message, 50), 0);
    assert_int_equal(text->result.kind, CALL_RESULT_TOOL);
    assert_int_equal(text->result.content_kinds, text->result.n_pieces > 0 ? CALL_CONTENT_TEXT : 0);
}

static Span text_content(Text *text)
{
    bytes_clear(&text->joined);
    for (size_t i = 0; i < text->result.n_pieces; i++) {
        assert_int_equal(bytes_append_span(&text->joined, text->result.pieces[i]), 0);
    }
    return bytes_span(&text->joined);
}

/* ---- written ---- */

static void assert_written(const CallResult *result, const char *expected)
{
    BytesLent lent = BYTES_LENT_NULL;
    Text text;

    text_init(&text);
    assert_int_equal(pipe_write_result(&text.out, &head, SPAN("c-1"), SPAN("a.tool"), result, 45),
                     0);
    assert_span(bytes_span(&text.out), expected);
    bytes_clear(&text.out);
    assert_int_equal(
        pipe_write_result_lent(&text.out, &head, SPAN("c-1"), SPAN("a.tool"), result, 45, &lent),
        0);
    assert_null(lent.span.p);
    assert_span(bytes_span(&text.out), expected);
    /* Whatever we write we can read. */
    text_read(&text, bytes_span(&text.out));
    assert_span(text.message.call_id, "c-1");
    text_deinit(&text);
}

#define WRITTEN(rest) TEST_HEAD("01", "tool_result", "000") "{\"call_id\":\"c-1\"," rest "}}"
#define SUCCESS(data)                                                                              \
    WRITTEN("\"success\":true,\"data\":" data ",\"error\":null,\"duration_ms\":45")
#define FAILURE(code, message)                                                                     \
    WRITTEN("\"success\":false,\"data\":{},\"error\":{\"code\":\"" code                            \
            "\",\"message\":\"" message "\"},\"duration_ms\":45")

static void a_success_has_structured_content_as_data(void **state)
{
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":\"a\"}"), SPAN(","),
                     SPAN("{\"type\":\"text\",\"text\":\"b\"}")};
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, 3);
    CallResult empty = {.kind = CALL_RESULT_TOOL};

    (void)state;
    assert_written(&result, SUCCESS("{\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
                                    "{\"type\":\"text\",\"text\":\"b\"}]}"));
    result.structured = SPAN("{\"n\":9007199254740993}");
    assert_written(&result, SUCCESS("{\"n\":9007199254740993}"));
    assert_written(&empty, SUCCESS("{\"content\":[]}"));
}

static void an_unknown_tool_is_an_error_message(void **state)
{
    CallResult result = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_UNKNOWN_TOOL};

    (void)state;
    assert_written(
        &result,
        TEST_HEAD("01", "error", "000") "{\"code\":\"TOOL_NOT_FOUND\",\"message\":\"No handler "
                                        "registered for tool 'a.tool'\",\"call_id\":\"c-1\"}}");
}

static void errors_have_the_document_s_codes(void **state)
{
    static const struct {
        CallError error;
        const char *expected;
    } rows[] = {
        {CALL_ERROR_TIMEOUT, FAILURE("PIPE_TIMEOUT", "words")},
        {CALL_ERROR_UNAVAILABLE, FAILURE("ADAPTER_NOT_AVAILABLE", "words")},
        {CALL_ERROR_TOO_LARGE, FAILURE("PIPE_MESSAGE_TOO_LARGE", "words")},
        {CALL_ERROR_INVALID_ARGUMENTS,
         FAILURE("SCHEMA_VALIDATION_FAILED", "Argument validation failed: words")},
        {CALL_ERROR_RATE, FAILURE("HANDLER_ERROR", "words")},
        {CALL_ERROR_BUSY, FAILURE("HANDLER_ERROR", "words")},
        {CALL_ERROR_CANCELLED, FAILURE("CANCELLED", "words")},
        {CALL_ERROR_BAD_RESULT, FAILURE("HANDLER_ERROR", "words")},
        {CALL_ERROR_CANNOT_ASK, FAILURE("HANDLER_ERROR", "words")},
        {CALL_ERROR_INTERNAL, FAILURE("HANDLER_ERROR", "words")},
        {CALL_ERROR_RAISED, FAILURE("HANDLER_ERROR", "words")},
        {CALL_ERROR_OWN, FAILURE("HANDLER_ERROR", "words")},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        CallResult result = {
            .kind = CALL_RESULT_ERROR, .error = rows[i].error, .message = SPAN("words")};

        assert_written(&result, rows[i].expected);
    }
    for (int i = 0; i < CALL_N_ERRORS; i++) {
        CallResult result = {.kind = CALL_RESULT_ERROR, .error = (CallError)i};
        Text text;

        text_init(&text);
        assert_int_equal(pipe_write_result(&text.out, &head, SPAN("1"), SPAN("t"), &result, 0), 0);
        text_read(&text, bytes_span(&text.out));
        assert_true(text.message.code.n > 0 && text.message.message.n > 0);
        text_deinit(&text);
    }
}

static void the_message_says_all_that_is_wrong_with_arguments(void **state)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_INVALID_ARGUMENTS,
                         .message = SPAN("arguments/a: expected \"n\"; arguments: missing"),
                         .data = SPAN("[{\"path\":\"/a\",\"message\":\"expected \\\"n\\\"\"},"
                                      "{\"path\":\"\",\"message\":\"missing\"}]")};

    (void)state;
    assert_written(&result, FAILURE("SCHEMA_VALIDATION_FAILED",
                                    "Argument validation failed: arguments/a: expected \\\"n\\\"; "
                                    "arguments: missing"));
    result.message = SPAN_NULL;
    assert_written(&result, FAILURE("SCHEMA_VALIDATION_FAILED",
                                    "Argument validation failed: invalid arguments"));
}

static void exceptions_that_look_like_codes_are_codes(void **state)
{
    CallResult result = {.kind = CALL_RESULT_ERROR,
                         .error = CALL_ERROR_RAISED,
                         .message = SPAN("no level"),
                         .error_type = SPAN("REVIT_API_ERROR")};

    (void)state;
    assert_written(&result, FAILURE("REVIT_API_ERROR", "no level"));
    result.error_type = SPAN("ValueError");
    assert_written(&result, FAILURE("HANDLER_ERROR", "ValueError: no level"));
    result.message = SPAN_NULL;
    assert_written(&result, FAILURE("HANDLER_ERROR", "ValueError: the tool failed"));
}

static void a_tool_that_failed_says_how(void **state)
{
    static const struct {
        const char *content;
        const char *structured;
        const char *expected;
    } rows[] = {
        {"{\"type\":\"text\",\"text\":\"it \\\"broke\\\"\"}", "",
         FAILURE("HANDLER_ERROR", "it \\\"broke\\\"")},
        {"{\"type\":\"image\",\"data\":\"\"},{\"type\":\"text\",\"text\":\"b\"}", "",
         FAILURE("HANDLER_ERROR", "b")},
        {"{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"b\"}", "",
         FAILURE("HANDLER_ERROR", "a\\nb")},
        {"", "", FAILURE("HANDLER_ERROR", "the tool failed")},
        {"{\"type\":\"text\",\"text\":\"b\"}", "{\"error\":{\"code\":\"A_B\"}}",
         FAILURE("A_B", "b")},
        {"{\"type\":\"text\",\"text\":\"A_B: b\"}",
         "{\"error\":{\"code\":\"A_B\",\"message\":\"b\"}}", FAILURE("A_B", "b")},
        {"{\"type\":\"text\",\"text\":\"t\"}", "{\"error\":{\"message\":\"b\"}}",
         FAILURE("HANDLER_ERROR", "b")},
        {"", "{\"error\":{\"code\":7,\"message\":\"b\"}}", FAILURE("HANDLER_ERROR", "b")},
        {"{\"type\":\"text\",\"text\":\"b\"}", "{\"error\":\"x\"}", FAILURE("HANDLER_ERROR", "b")},
        {"{\"type\":\"text\",\"text\":\"b\"}", "[1]", FAILURE("HANDLER_ERROR", "b")},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        Span content = span_from_str(rows[i].content);
        /* In pieces that are no JSON alone. */
        Span pieces[] = {span_make(content.p, content.n / 2),
                         span_make(content.p + content.n / 2, content.n - content.n / 2)};
        CallResult result = CALL_RESULT_TOOL_PIECES(pieces, 2);

        result.is_error = true;
        result.structured = span_from_str(rows[i].structured);
        assert_written(&result, rows[i].expected);
    }
}

static void a_hub_cannot_be_asked(void **state)
{
    CallResult ask = {.kind = CALL_RESULT_ASK};
    CallResult list = {.kind = CALL_RESULT_LIST};

    (void)state;
    assert_written(&ask, FAILURE("HANDLER_ERROR", "input is needed that this client cannot give"));
    assert_written(&list, FAILURE("HANDLER_ERROR", "internal error"));
}

static void a_duration_is_never_negative(void **state)
{
    CallResult result = {.kind = CALL_RESULT_TOOL, .structured = SPAN("1")};
    Text text;

    (void)state;
    text_init(&text);
    assert_int_equal(pipe_write_result(&text.out, &head, SPAN("1"), SPAN("t"), &result, -5), 0);
    text_read(&text, bytes_span(&text.out));
    assert_int_equal(text.message.duration_ms, 0);
    text_deinit(&text);
}

static void large_data_is_lent(void **state)
{
    size_t n = BYTES_LEND_MIN;
    char *json = calloc(1, n);
    Span pieces[2];
    CallResult result = {.kind = CALL_RESULT_TOOL, .pieces = pieces, .n_pieces = 2};
    Text text;
    Bytes copied;

    (void)state;
    text_init(&text);
    bytes_init(&copied, SIZE_MAX);
    memset(json, '7', n);
    pieces[0] = span_make(json, n);
    for (int i = 0; i < 3; i++) {
        BytesLent lent = BYTES_LENT_NULL;

        /* Of two large ones the first. */
        pieces[1] = i == 2 ? span_make(json, n) : SPAN(",1");
        result.structured = i == 1 ? span_make(json, n) : SPAN_NULL;
        bytes_clear(&text.out);
        bytes_clear(&copied);
        assert_int_equal(pipe_write_result(&copied, &head, SPAN("1"), SPAN("t"), &result, 1), 0);
        assert_int_equal(
            pipe_write_result_lent(&text.out, &head, SPAN("1"), SPAN("t"), &result, 1, &lent), 0);
        assert_ptr_equal(lent.span.p, json);
        assert_int_equal(text.out.n + n, copied.n);
        assert_memory_equal(copied.data, text.out.data, lent.at);
        assert_memory_equal(copied.data + lent.at, json, n);
        assert_memory_equal(copied.data + lent.at + n, text.out.data + lent.at,
                            text.out.n - lent.at);
        assert_true(i == 2 || text.out.cap < n);
    }
    free(json);
    bytes_deinit(&copied);
    text_deinit(&text);
}

/* ---- read ---- */

#define RESULT(members) "{\"type\":\"tool_result\",\"payload\":{\"call_id\":\"1\"," members "}}"
#define DATA(data)      RESULT("\"success\":true,\"data\":" data)
#define TEXT(text)      "{\"type\":\"text\",\"text\":\"" text "\"}"

typedef struct ReadRow {
    const char *message;
    bool is_error;
    const char *structured;
    const char *content;
    const char *meta;
} ReadRow;

static void assert_read(const ReadRow *row)
{
    Text text;

    text_init(&text);
    text_read(&text, span_from_str(row->message));
    assert_int_equal(text.result.is_error, row->is_error);
    assert_span(text.result.structured, row->structured);
    assert_span(text_content(&text), row->content);
    assert_span(text.result.meta, row->meta);
    text_deinit(&text);
}

static void data_becomes_structured_content_and_text(void **state)
{
    static const ReadRow rows[] = {
        {RESULT("\"success\":true,\"duration_ms\":45,\"data\":{\"a\":1.0,\"b\":\"\\u00e9\\n\"}"),
         false, "{\"a\":1.0,\"b\":\"\\u00e9\\n\"}",
         TEXT("{\\\"a\\\":1.0,\\\"b\\\":\\\"\\\\u00e9\\\\n\\\"}"),
         "{\"duration_ms\":45,\"waited_ms\":50}"},
        {RESULT("\"success\":true,\"data\":\"a\\\"b\""), false, "{\"result\":\"a\\\"b\"}",
         TEXT("a\\\"b"), "{\"waited_ms\":50}"},
        {RESULT("\"success\":true,\"data\":[1,\t2]"), false, "{\"result\":[1,\t2]}",
         TEXT("[1,\\t2]"), "{\"waited_ms\":50}"},
        {RESULT("\"success\":true,\"data\":7"), false, "{\"result\":7}", TEXT("7"),
         "{\"waited_ms\":50}"},
        {RESULT("\"success\":true,\"data\":null"), false, "{\"result\":null}", TEXT("null"),
         "{\"waited_ms\":50}"},
        {RESULT("\"success\":true"), false, "{\"result\":null}", TEXT("null"),
         "{\"waited_ms\":50}"},
        /* Doors that send lines must find no newline. */
        {RESULT("\"success\":true,\"data\":{\r\n  \"a\": [\n\t1,\n\t2 ]\n}"), false,
         "{\"a\": [1,2 ]}", TEXT("{\\\"a\\\": [1,2 ]}"), "{\"waited_ms\":50}"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        assert_read(&rows[i]);
    }
}

/* The text that a result says is its structured content, character for character. */
static void assert_speaks(Text *text, Span expected)
{
    JsonDoc doc;
    JsonValue value;
    Span spoken;

    (void)text_content(text);
    assert_int_equal(json_parse(&doc, &text->arena, text->joined.data, text->joined.n, NULL, NULL),
                     0);
    assert_true(json_get(json_root(&doc), SPAN("text"), &value));
    assert_int_equal(json_string(value, &text->arena, &spoken), 0);
    assert_true(span_equals(spoken, expected));
}

/* One message, and the kinds of what it holds; none of it is structured. */
typedef struct ContentRow {
    const char *message;
    const char *content;
    uint32_t kinds;
} ContentRow;

static void content_that_became_data_is_content_again(void **state)
{
    static const ContentRow rows[] = {
        {DATA("{\"content\":[" TEXT("a\\n\\\"b") "]}"), TEXT("a\\n\\\"b"), CALL_CONTENT_TEXT},
        {DATA("{\"content\":[" TEXT("a") "," TEXT("b") "]}"), TEXT("a") "," TEXT("b"),
         CALL_CONTENT_TEXT},
        {DATA("{\"content\":[{\"type\":\"image\",\"data\":\"AA==\",\"mimeType\":\"i/p\"}," TEXT(
             "b") "]}"),
         "{\"type\":\"image\",\"data\":\"AA==\",\"mimeType\":\"i/p\"}," TEXT("b"),
         CALL_CONTENT_IMAGE | CALL_CONTENT_TEXT},
        {DATA("{\"content\":[{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"b\","
              "\"icons\":[]}]}"),
         "{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"b\",\"icons\":[]}",
         CALL_CONTENT_LINK | CALL_CONTENT_UNKNOWN},
        {DATA("{\n  \"content\": [\r\n    " TEXT("a") ",\n    " TEXT("b") "\n  ]\n}"),
         TEXT("a") "," TEXT("b"), CALL_CONTENT_TEXT},
        {DATA("{\"content\":[]}"), "", 0},
        {DATA("{\"content\":[ ]}"), "", 0},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        Text text;

        text_init(&text);
        assert_int_equal(
            pipe_message_read(&text.message, &text.arena, span_from_str(rows[i].message), NULL), 0);
        assert_int_equal(pipe_result_read(&text.result, &text.arena, &text.message, 50), 0);
        assert_int_equal(text.result.kind, CALL_RESULT_TOOL);
        assert_false(text.result.is_error);
        assert_int_equal(text.result.structured.n, 0);
        assert_span(text_content(&text), rows[i].content);
        assert_int_equal(text.result.content_kinds, rows[i].kinds);
        assert_span(text.result.meta, "{\"waited_ms\":50}");
        text_deinit(&text);
    }
}

static void data_that_only_looks_like_content_stays_data(void **state)
{
    static const char *const data[] = {
        "{\"content\":{}}",
        "{\"content\":\"a\"}",
        "{\"content\":[1]}",
        "{\"content\":[" TEXT("a") ",{\"type\":\"text\"}]}",
        "{\"content\":[{\"type\":\"video\"}]}",
        "{\"content\":[{\"title\":\"a page\"}]}",
        "{\"content\":[" TEXT("a") "],\"more\":1}",
        "{\"content\":[" TEXT("a") "],\"content\":[" TEXT("b") "]}",
        "{\"contents\":[" TEXT("a") "]}",
        "[" TEXT("a") "]",
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(data); i++) {
        Text text;
        Bytes message;

        text_init(&text);
        bytes_init(&message, SIZE_MAX);
        assert_int_equal(
            bytes_append_format(&message, RESULT("\"success\":true,\"data\":%s"), data[i]), 0);
        text_read(&text, bytes_span(&message));
        assert_true(text.result.structured.n > 0);
        assert_speaks(&text, span_from_str(data[i]));
        bytes_deinit(&message);
        text_deinit(&text);
    }
}

/* From one end of the pipe to the other, not copied however large it is. */
static void content_survives_a_relay(void **state)
{
    size_t n = BYTES_LEND_MIN * 3;
    Span pieces[3] = {SPAN("{\"type\":\"image\",\"mimeType\":\"i/p\",\"data\":\""), SPAN_NULL,
                      SPAN("\"}," TEXT("b"))};
    char *large = malloc(n);
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, 3);
    Bytes whole;
    Text text;

    (void)state;
    text_init(&text);
    bytes_init(&whole, SIZE_MAX);
    memset(large, 'A', n);
    pieces[1] = span_make(large, n);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(bytes_append_span(&whole, pieces[i]), 0);
    }
    assert_int_equal(pipe_write_result(&text.out, &head, SPAN("1"), SPAN("t"), &result, 1), 0);
    assert_int_equal(pipe_message_read(&text.message, &text.arena, bytes_span(&text.out), NULL), 0);
    assert_int_equal(pipe_result_read(&text.result, &text.arena, &text.message, 50), 0);
    assert_int_equal(text.result.n_pieces, 1);
    assert_true(text.result.pieces[0].p > text.out.data &&
                text.result.pieces[0].p < text.out.data + text.out.n);
    assert_true(span_equals(text_content(&text), bytes_span(&whole)));
    assert_int_equal(text.result.content_kinds, CALL_CONTENT_IMAGE | CALL_CONTENT_TEXT);
    bytes_deinit(&whole);
    text_deinit(&text);
    free(large);
}

static void a_failure_has_code_and_message(void **state)
{
    static const ReadRow rows[] = {
        {RESULT("\"success\":false,\"error\":{\"message\":\"no \\\"x\\\"\",\"code\":\"A_B\"},"
                "\"duration_ms\":3"),
         true, "{\"error\":{\"code\":\"A_B\",\"message\":\"no \\\"x\\\"\"}}",
         TEXT("A_B: no \\\"x\\\""), "{\"duration_ms\":3,\"waited_ms\":50}"},
        {RESULT("\"success\":false,\"data\":{\"validation_errors\":[\n1]},\"error\":{\"code\":"
                "\"A\",\"stage\":[\n1.0],\"message\":\"m\",\"x\":2}"),
         true,
         "{\"error\":{\"code\":\"A\",\"message\":\"m\",\"stage\":[1.0],\"x\":2},"
         "\"data\":{\"validation_errors\":[1]}}",
         TEXT("A: m"), "{\"waited_ms\":50}"},
        {RESULT("\"error\":\"words\\n\""), true,
         "{\"error\":{\"code\":\"HANDLER_ERROR\",\"message\":\"words\\n\"}}",
         TEXT("HANDLER_ERROR: words\\n"), "{\"waited_ms\":50}"},
        {RESULT("\"success\":false"), true,
         "{\"error\":{\"code\":\"HANDLER_ERROR\",\"message\":\"the tool failed\"}}",
         TEXT("HANDLER_ERROR: the tool failed"), "{\"waited_ms\":50}"},
        {RESULT("\"success\":false,\"error\":[1,\n2]"), true,
         "{\"error\":{\"code\":\"HANDLER_ERROR\",\"message\":\"[1,\\n2]\"}}",
         TEXT("HANDLER_ERROR: [1,\\n2]"), "{\"waited_ms\":50}"},
        {"{\"type\":\"error\",\"payload\":{\"code\":\"TOOL_NOT_FOUND\",\"message\":\"\\u0001\","
         "\"call_id\":\"1\"}}",
         true, "{\"error\":{\"code\":\"TOOL_NOT_FOUND\",\"message\":\"\\u0001\"}}",
         TEXT("TOOL_NOT_FOUND: \\u0001"), "{\"waited_ms\":50}"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        assert_read(&rows[i]);
    }
}

static void failures_of_our_own_look_the_same(void **state)
{
    Text text;

    (void)state;
    text_init(&text);
    assert_int_equal(
        pipe_result_fail(&text.result, &text.arena, PIPE_CODE_DISCONNECTED, SPAN("lost\xff")), 0);
    assert_int_equal(text.result.kind, CALL_RESULT_TOOL);
    assert_true(text.result.is_error);
    assert_span(text.result.structured,
                "{\"error\":{\"code\":\"PIPE_DISCONNECTED\",\"message\":\"lost\xEF\xBF\xBD\"}}");
    assert_span(text_content(&text), TEXT("PIPE_DISCONNECTED: lost\xEF\xBF\xBD"));
    assert_int_equal(text.result.meta.n, 0);
    text_deinit(&text);
}

/* So that an add-in which passes on what another add-in said repeats it. */
static void a_failure_survives_a_relay(void **state)
{
    Text text;

    (void)state;
    text_init(&text);
    text_read(&text,
              SPAN(RESULT("\"success\":false,\"error\":{\"code\":\"A\",\"message\":\"m\"}")));
    assert_int_equal(pipe_write_result(&text.out, &head, SPAN("c-1"), SPAN("t"), &text.result, 45),
                     0);
    assert_span(bytes_span(&text.out), FAILURE("A", "m"));
    text_deinit(&text);
}

#define ENVELOPE "{\"own\":1.0,\"ok\":false,\"code\":\"TX_NOT_COMMITTED\",\"msg\":\"undone\"}"

/* A command says more than a code and a message. */
static void a_failed_envelope_travels_whole(void **state)
{
    static const ReadRow rows[] = {
        {RESULT("\"success\":false,\"data\":" ENVELOPE ",\"error\":{\"code\":\"X\",\"message\":"
                "\"m\"}"),
         true, ENVELOPE,
         TEXT("{\\\"own\\\":1.0,\\\"ok\\\":false,\\\"code\\\":\\\"TX_NOT_COMMITTED\\\","
              "\\\"msg\\\":\\\"undone\\\"}"),
         "{\"waited_ms\":50}"},
        /* Nearly one. */
        {RESULT("\"success\":false,\"data\":{\"ok\":false},\"error\":{\"code\":\"X\",\"message\":"
                "\"m\"}"),
         true, "{\"error\":{\"code\":\"X\",\"message\":\"m\"},\"data\":{\"ok\":false}}",
         TEXT("X: m"), "{\"waited_ms\":50}"},
        {RESULT(
             "\"success\":false,\"data\":{\"ok\":true,\"code\":\"OK\"},\"error\":{\"code\":\"X\","
             "\"message\":\"m\"}"),
         true,
         "{\"error\":{\"code\":\"X\",\"message\":\"m\"},\"data\":{\"ok\":true,\"code\":\"OK\"}}",
         TEXT("X: m"), "{\"waited_ms\":50}"},
    };
    CallResult result = {
        .kind = CALL_RESULT_TOOL, .is_error = true, .structured = SPAN_INIT(ENVELOPE)};

    (void)state;
    assert_written(&result, WRITTEN("\"success\":false,\"data\":" ENVELOPE
                                    ",\"error\":{\"code\":\"TX_NOT_COMMITTED\",\"message\":"
                                    "\"undone\"},\"duration_ms\":45"));
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        assert_read(&rows[i]);
    }
}

/* A text that is all escapes needs six bytes for each of its own. */
static void the_worst_of_texts_finds_room(void **state)
{
    static const char *const words[] = {"\x01\x02\x1f", "\"\\\"\\", "\xE2\x80\xA8\xE2\x80\xA9",
                                        "\xff\xfe\xfd", "\xC3\xA9"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(words); i++) {
        Text text;
        JsonDoc doc;
        Bytes message;

        text_init(&text);
        bytes_init(&message, SIZE_MAX);
        for (int k = 0; k < 500; k++) {
            assert_int_equal(bytes_append_span(&message, span_from_str(words[i])), 0);
        }
        assert_int_equal(
            pipe_result_fail(&text.result, &text.arena, words[i], bytes_span(&message)), 0);
        assert_int_equal(json_parse(&doc, &text.arena, text.result.structured.p,
                                    text.result.structured.n, NULL, NULL),
                         0);
        assert_int_equal(json_count(json_root(&doc)), 1);
        (void)text_content(&text);
        assert_int_equal(json_parse(&doc, &text.arena, text.joined.data, text.joined.n, NULL, NULL),
                         0);
        assert_int_equal(json_count(json_root(&doc)), 2);
        bytes_deinit(&message);
        text_deinit(&text);
    }
}

static void data_that_is_all_quotes_finds_room(void **state)
{
    Text text;
    Bytes message;

    (void)state;
    text_init(&text);
    bytes_init(&message, SIZE_MAX);
    assert_int_equal(bytes_append_span(&message, SPAN("{\"type\":\"tool_result\",\"payload\":"
                                                      "{\"call_id\":\"1\",\"success\":true,"
                                                      "\"data\":{\"a\":[\"\\\\\"")),
                     0);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(bytes_append_span(&message, SPAN(",\"\\\"\"")), 0);
    }
    assert_int_equal(bytes_append_span(&message, SPAN("]}}}")), 0);
    text_read(&text, bytes_span(&message));
    assert_speaks(&text, json_span(text.message.data));
    bytes_deinit(&message);
    text_deinit(&text);
}

/* Long strings stay where they are; the text is the same as that of a copy. */
static void long_strings_are_not_copied(void **state)
{
    Text text;
    Bytes message;
    char *filler = calloc(1, BYTES_LEND_MIN + 1);
    bool is_there = false;

    (void)state;
    text_init(&text);
    bytes_init(&message, SIZE_MAX);
    memset(filler, 'x', BYTES_LEND_MIN);
    assert_int_equal(bytes_append_format(&message,
                                         RESULT("\"success\":true,\"data\":{\"a\":[\"%s\",\"s\"],"
                                                "\"b\":\"%s\",\"c\":\"\\n%s\",\"%s\":1}"),
                                         filler, filler, filler, filler),
                     0);
    text_read(&text, bytes_span(&message));
    assert_int_equal(text.result.n_pieces, 7);
    for (size_t i = 0; i < text.result.n_pieces; i++) {
        Span piece = text.result.pieces[i];

        is_there = is_there || (piece.p > message.data && piece.p < message.data + message.n);
    }
    assert_true(is_there);
    assert_speaks(&text, json_span(text.message.data));
    /* Where newlines are taken out everything is, wherever they stand. */
    for (int i = 0; i < 3; i++) {
        bytes_clear(&message);
        assert_int_equal(
            bytes_append_format(
                &message, RESULT("\"success\":true,\"data\":{%s\"a\":\"%s\",%s\"b\":\"%s\"%s}"),
                i == 0 ? "\n" : "", filler, i == 1 ? "\n" : "", filler, i == 2 ? "\n" : ""),
            0);
        text_read(&text, bytes_span(&message));
        assert_null(memchr(text.result.structured.p, '\n', text.result.structured.n));
        assert_speaks(&text, text.result.structured);
    }
    free(filler);
    bytes_deinit(&message);
    text_deinit(&text);
}

static int read_all(void *context)
{
    static const char *const messages[] = {
        RESULT("\"success\":true,\"data\":{\"a\":[\n1]}"),
        RESULT("\"success\":true,\"data\":\"s\""),
        DATA("{\"content\":[\n" TEXT("a") "]}"),
        RESULT("\"success\":false,\"error\":{\"code\":\"A\",\"message\":\"m\"}"),
    };
    Text text;
    int r = 0;

    (void)context;
    text_init(&text);
    for (size_t i = 0; i < TW_ARRAY_SIZE(messages) && r == 0; i++) {
        /* Each in storage of its own, so that every allocation may fail. */
        arena_deinit(&text.arena);
        arena_init(&text.arena, SIZE_MAX);
        r = pipe_message_read(&text.message, &text.arena, span_from_str(messages[i]), NULL);
        if (r == 0) {
            r = pipe_result_read(&text.result, &text.arena, &text.message, 1);
        }
    }
    text_deinit(&text);
    return r;
}

/* Every allocation may be the one that finds no room: the index leaves more or less of it. */
static void an_arena_that_is_full_is_told_wherever_it_happens(void **state)
{
    static const char *const messages[] = {
        RESULT("\"success\":true,\"data\":{\"a\":[\n1]}"),
        RESULT("\"success\":true,\"data\":[1]"),
        RESULT("\"success\":true,\"data\":\"s\""),
        DATA("{\"content\":[\n" TEXT("a") "]}"),
        RESULT("\"success\":false,\"error\":{\"code\":\"A\",\"message\":\"m\"}"),
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(messages); i++) {
        Arena index;
        PipeMessage message;
        size_t n_failed = 0;
        int r = -ENOMEM;

        arena_init(&index, SIZE_MAX);
        assert_int_equal(pipe_message_read(&message, &index, span_from_str(messages[i]), NULL), 0);
        for (size_t n_used = 0; n_used < 65536; n_used += 16) {
            Arena arena;
            CallResult result;

            /* One block, of which so much is gone. */
            arena_init(&arena, 65536);
            assert_non_null(arena_alloc(&arena, 1));
            if (arena_alloc(&arena, n_used) != NULL) {
                r = pipe_result_read(&result, &arena, &message, 1);
                assert_true(r == 0 || r == -ENOMEM);
                n_failed += r != 0 ? 1 : 0;
            }
            arena_deinit(&arena);
        }
        assert_true(n_failed > 2);
        arena_deinit(&index);
    }
}

static int write_all(void *context)
{
    static const Span piece = SPAN_INIT("{\"type\":\"text\",\"text\":\"a\"}");
    CallResult tool = CALL_RESULT_TOOL_PIECES(&piece, 1);
    CallResult failed = CALL_RESULT_TOOL_PIECES(&piece, 1);
    CallResult results[] = {
        tool,
        failed,
        {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_UNKNOWN_TOOL},
        {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_RAISED, .error_type = SPAN("T")},
        {.kind = CALL_RESULT_ERROR,
         .error = CALL_ERROR_INVALID_ARGUMENTS,
         .data = SPAN("[{\"path\":\"/a\",\"message\":\"\\n\"}]")},
    };
    Text text;
    int r = 0;

    (void)context;
    text_init(&text);
    results[1].is_error = true;
    results[1].structured = SPAN("{\"error\":{\"code\":\"\\u0041\"}}");
    for (size_t i = 0; i < TW_ARRAY_SIZE(results) && r == 0; i++) {
        r = pipe_write_result(&text.out, &head, SPAN("1"), SPAN("t"), &results[i], 1);
    }
    text_deinit(&text);
    return r;
}

/* The same where words are long, so that each copy of them needs storage of its own. */
static int write_long(void *context)
{
    enum {
        N = 70000
    };
    char *text = calloc(1, N);
    CallResult result = {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_INVALID_ARGUMENTS};
    Span piece = span_make(text, N);
    Text out;
    int r;

    (void)context;
    text_init(&out);
    memset(text, 'x', N);
    memcpy(text, "[{\"path\":\"\",\"message\":\"\\n", 25);
    memcpy(text + N - 3, "\"}]", 3);
    result.data = span_make(text, N);
    r = pipe_write_result(&out.out, &head, SPAN("1"), SPAN("t"), &result, 1);
    if (r == 0) {
        memcpy(text, "{\"type\":\"text\",\"text\":\"\\n", 25);
        memcpy(text + N - 3, "x\"}", 3);
        result = CALL_RESULT_TOOL_PIECES(&piece, 1);
        result.is_error = true;
        r = pipe_write_result(&out.out, &head, SPAN("1"), SPAN("t"), &result, 1);
    }
    text_deinit(&out);
    free(text);
    return r;
}

static void want_of_memory_is_told(void **state)
{
    (void)state;
    test_oom_sweep(read_all, NULL);
    test_oom_sweep(write_all, NULL);
    test_oom_sweep(write_long, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_success_has_structured_content_as_data),
        cmocka_unit_test(an_unknown_tool_is_an_error_message),
        cmocka_unit_test(errors_have_the_document_s_codes),
        cmocka_unit_test(the_message_says_all_that_is_wrong_with_arguments),
        cmocka_unit_test(exceptions_that_look_like_codes_are_codes),
        cmocka_unit_test(a_tool_that_failed_says_how),
        cmocka_unit_test(a_hub_cannot_be_asked),
        cmocka_unit_test(a_duration_is_never_negative),
        cmocka_unit_test(large_data_is_lent),
        cmocka_unit_test(data_becomes_structured_content_and_text),
        cmocka_unit_test(content_that_became_data_is_content_again),
        cmocka_unit_test(data_that_only_looks_like_content_stays_data),
        cmocka_unit_test(content_survives_a_relay),
        cmocka_unit_test(a_failure_has_code_and_message),
        cmocka_unit_test(failures_of_our_own_look_the_same),
        cmocka_unit_test(a_failure_survives_a_relay),
        cmocka_unit_test(a_failed_envelope_travels_whole),
        cmocka_unit_test(the_worst_of_texts_finds_room),
        cmocka_unit_test(data_that_is_all_quotes_finds_room),
        cmocka_unit_test(long_strings_are_not_copied),
        cmocka_unit_test(an_arena_that_is_full_is_told_wherever_it_happens),
        cmocka_unit_test(want_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
