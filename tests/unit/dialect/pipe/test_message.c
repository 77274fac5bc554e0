#include "dialect/pipe/message.h"

#include <stdlib.h>

#include "support/guard.h"
#include "support/oom_sweep.h"
#include "unit/dialect/pipe/pipe_testing.h"

static const PipeHead doc_head = {.id = "550e8400-e29b-41d4-a716-446655440000",
                                  .unix_ms = TEST_UNIX_MS};

/* The document's own examples, in one line each. */
#define DOC_CALL                                                                                   \
    "{\"id\":\"550e8400-e29b-41d4-a716-446655440000\",\"type\":\"tool_call\","                     \
    "\"timestamp\":\"2025-01-15T10:30:00.000Z\",\"payload\":{\"tool_name\":\"revit.create_wall\"," \
    "\"args\":{\"start_point\":[0,0,0],\"end_point\":[10,0,0],\"height\":3.0,"                     \
    "\"wall_type\":\"Generic - 200mm\"}}}"
#define DOC_RESULT                                                                                 \
    "{\"id\":\"550e8400-e29b-41d4-a716-446655440001\",\"type\":\"tool_result\","                   \
    "\"timestamp\":\"2025-01-15T10:30:00.045Z\",\"payload\":{"                                     \
    "\"call_id\":\"550e8400-e29b-41d4-a716-446655440000\",\"success\":true,"                       \
    "\"data\":{\"element_id\":12345,\"message\":\"Wall created successfully\"},"                   \
    "\"error\":null,\"duration_ms\":45}}"
#define DOC_ERROR                                                                                  \
    "{\"id\":\"550e8400-e29b-41d4-a716-446655440000\",\"type\":\"error\","                         \
    "\"timestamp\":\"2025-01-15T10:30:00.000Z\",\"payload\":{\"code\":\"TOOL_NOT_FOUND\","         \
    "\"message\":\"No handler registered for tool 'revit.unknown_tool'\","                         \
    "\"call_id\":\"550e8400-e29b-41d4-a716-446655440000\"}}"

typedef struct Text {
    Arena arena;
    Bytes out;
    PipeMessage message;
    Diag diag;
} Text;

static void text_init(Text *text)
{
    *text = (Text){.diag = DIAG_NULL};
    arena_init(&text->arena, SIZE_MAX);
    bytes_init(&text->out, SIZE_MAX);
}

static void text_deinit(Text *text)
{
    arena_deinit(&text->arena);
    bytes_deinit(&text->out);
}

static int text_read(Text *text, const char *message)
{
    return pipe_message_read(&text->message, &text->arena, span_from_str(message), &text->diag);
}

static void the_document_s_call_round_trips(void **state)
{
    Text text;
    GuardBuffer guarded = guard_copy(DOC_CALL, sizeof(DOC_CALL) - 1);

    (void)state;
    text_init(&text);
    assert_int_equal(
        pipe_message_read(&text.message, &text.arena, span_make(guarded.p, guarded.n), NULL), 0);
    assert_int_equal(text.message.type, PIPE_TOOL_CALL);
    assert_span(text.message.id, doc_head.id);
    assert_span(text.message.tool_name, "revit.create_wall");
    assert_int_equal(
        pipe_write_call(&text.out, &doc_head, text.message.tool_name, text.message.args), 0);
    assert_span(bytes_span(&text.out), DOC_CALL);
    text_deinit(&text);
    guard_free(&guarded);
}

static void the_document_s_result_is_read(void **state)
{
    Text text;

    (void)state;
    text_init(&text);
    assert_int_equal(text_read(&text, DOC_RESULT), 0);
    assert_int_equal(text.message.type, PIPE_TOOL_RESULT);
    assert_span(text.message.call_id, doc_head.id);
    assert_true(text.message.success);
    assert_span(json_span(text.message.data),
                "{\"element_id\":12345,\"message\":\"Wall created successfully\"}");
    assert_null(text.message.error.node);
    assert_int_equal(text.message.duration_ms, 45);
    text_deinit(&text);
}

static void the_document_s_ping_and_pong_round_trip(void **state)
{
    Text text;

    (void)state;
    text_init(&text);
    assert_int_equal(pipe_write_ping(&text.out, &doc_head), 0);
    assert_span(bytes_span(&text.out),
                "{\"id\":\"550e8400-e29b-41d4-a716-446655440000\",\"type\":\"ping\","
                "\"timestamp\":\"2025-01-15T10:30:00.000Z\",\"payload\":{}}");
    assert_int_equal(bytes_append_byte(&text.out, '\0'), 0);
    assert_int_equal(text_read(&text, text.out.data), 0);
    assert_int_equal(text.message.type, PIPE_PING);
    bytes_clear(&text.out);
    assert_int_equal(pipe_write_pong(&text.out, &doc_head), 0);
    assert_span(bytes_span(&text.out),
                "{\"id\":\"550e8400-e29b-41d4-a716-446655440000\",\"type\":\"pong\","
                "\"timestamp\":\"2025-01-15T10:30:00.000Z\",\"payload\":{}}");
    assert_int_equal(bytes_append_byte(&text.out, '\0'), 0);
    assert_int_equal(text_read(&text, text.out.data), 0);
    assert_int_equal(text.message.type, PIPE_PONG);
    text_deinit(&text);
}

static void the_document_s_error_round_trips(void **state)
{
    Text text;
    PipeMessage *m = &text.message;

    (void)state;
    text_init(&text);
    assert_int_equal(text_read(&text, DOC_ERROR), 0);
    assert_int_equal(m->type, PIPE_ERROR);
    assert_int_equal(pipe_write_error(&text.out, &doc_head, m->code, m->message, m->call_id), 0);
    assert_span(bytes_span(&text.out), DOC_ERROR);
    /* About no call. */
    bytes_clear(&text.out);
    assert_int_equal(pipe_write_error(&text.out, &doc_head, SPAN("C"), SPAN("a\"b\xff"), SPAN_NULL),
                     0);
    assert_span(bytes_span(&text.out),
                "{\"id\":\"550e8400-e29b-41d4-a716-446655440000\",\"type\":\"error\","
                "\"timestamp\":\"2025-01-15T10:30:00.000Z\",\"payload\":{\"code\":\"C\","
                "\"message\":\"a\\\"b\xEF\xBF\xBD\"}}");
    text_deinit(&text);
}

static void a_call_without_arguments_has_an_empty_object(void **state)
{
    Text text;

    (void)state;
    text_init(&text);
    assert_int_equal(pipe_write_call(&text.out, &doc_head, SPAN("a\"b"), JSON_VALUE_NULL), 0);
    assert_span(bytes_span(&text.out),
                "{\"id\":\"550e8400-e29b-41d4-a716-446655440000\",\"type\":\"tool_call\","
                "\"timestamp\":\"2025-01-15T10:30:00.000Z\","
                "\"payload\":{\"tool_name\":\"a\\\"b\",\"args\":{}}}");
    text_deinit(&text);
}

static void calls_are_accepted_as_real_peers_spell_them(void **state)
{
    static const struct {
        const char *message;
        const char *args; /* NULL: absent */
    } rows[] = {
        {"{\"type\":\"tool_call\",\"id\":\"1\",\"payload\":{\"tool_name\":\"t\"}}", NULL},
        {"{\"type\":\"tool_call\",\"id\":\"1\",\"payload\":{\"tool_name\":\"t\",\"args\":null}}",
         NULL},
        {"{\"id\":\"1\",\"type\":\"tool_call\",\"timestamp\":\"2025-01-15T10:30:00.1234567+00:00\","
         "\"payload\":{\"args\":{ \"a\" : 1.0 },\"tool_name\":\"\\u0074\",\"execution_mode\":1}}",
         "{ \"a\" : 1.0 }"},
        {"{\"id\":\"\\u0031\",\"type\":\"tool_c\\u0061ll\",\"timestamp\":[7],\"x\":{},\"payload\":"
         "{\"tool_name\":\"t\",\"args\":{}}}",
         "{}"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        Text text;

        text_init(&text);
        assert_int_equal(text_read(&text, rows[i].message), 0);
        assert_int_equal(text.message.type, PIPE_TOOL_CALL);
        assert_span(text.message.id, "1");
        assert_span(text.message.tool_name, "t");
        if (rows[i].args == NULL) {
            assert_null(text.message.args.node);
        } else {
            assert_span(json_span(text.message.args), rows[i].args);
        }
        text_deinit(&text);
    }
}

#define RESULT(members) "{\"type\":\"tool_result\",\"payload\":{\"call_id\":\"1\"" members "}}"

static void results_are_accepted_as_real_peers_spell_them(void **state)
{
    static const struct {
        const char *message;
        bool success;
        const char *code;
        const char *words;
        int64_t duration_ms;
    } rows[] = {
        {RESULT(",\"success\":true"), true, "", "", -1},
        {RESULT(",\"success\":true,\"duration_ms\":12.9"), true, "", "", 12},
        {RESULT(",\"success\":true,\"duration_ms\":1e3"), true, "", "", 1000},
        {RESULT(",\"success\":true,\"duration_ms\":-5.5"), true, "", "", -1},
        {RESULT(",\"success\":true,\"duration_ms\":1e300"), true, "", "", -1},
        {RESULT(",\"success\":true,\"duration_ms\":\"5\""), true, "", "", -1},
        {RESULT(",\"success\":true,\"duration_ms\":9007199254740992"), true, "", "",
         9007199254740992},
        {RESULT(",\"error\":\"words\""), false, "", "words", -1},
        {RESULT(",\"success\":null,\"error\":{\"code\":\"C\",\"message\":\"m\"}"), false, "C", "m",
         -1},
        {RESULT(",\"success\":false,\"error\":{\"code\":7,\"message\":[]}"), false, "7", "", -1},
        {RESULT(",\"success\":false,\"error\":[1, 2]"), false, "", "[1, 2]", -1},
        {RESULT(",\"success\":false,\"error\":null"), false, "", "", -1},
        /* success decides. */
        {RESULT(",\"success\":true,\"error\":{\"code\":\"C\"}"), true, "C", "", -1},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        Text text;

        text_init(&text);
        assert_int_equal(text_read(&text, rows[i].message), 0);
        assert_int_equal(text.message.type, PIPE_TOOL_RESULT);
        assert_int_equal(text.message.id.n, 0);
        assert_span(text.message.call_id, "1");
        assert_int_equal(text.message.success, rows[i].success);
        assert_span(text.message.code, rows[i].code);
        assert_span(text.message.message, rows[i].words);
        assert_int_equal(text.message.duration_ms, rows[i].duration_ms);
        text_deinit(&text);
    }
}

static void errors_and_pings_may_lack_anything(void **state)
{
    static const char *const rows[] = {
        "{\"type\":\"error\"}",
        "{\"type\":\"error\",\"payload\":7}",
        "{\"type\":\"error\",\"payload\":{\"code\":null,\"message\":{},\"call_id\":1}}",
        "{\"type\":\"ping\"}",
        "{\"type\":\"pong\",\"payload\":[],\"id\":7}",
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        Text text;

        text_init(&text);
        assert_int_equal(text_read(&text, rows[i]), 0);
        assert_int_equal(text.message.id.n, 0);
        assert_int_equal(text.message.call_id.n, 0);
        assert_int_equal(text.message.code.n, 0);
        assert_int_equal(text.message.message.n, 0);
        text_deinit(&text);
    }
}

typedef struct BadRow {
    const char *message;
    int r;
    const char *words;
    const char *field;
    const char *id;
    const char *call_id;
} BadRow;

static void what_is_wrong_is_named(void **state)
{
    static const BadRow rows[] = {
        {"", PIPE_E_PROTOCOL, "Invalid JSON at byte 0: expected a value, found the end of the text",
         "", "", ""},
        {"{\"type\":}", PIPE_E_PROTOCOL, "Invalid JSON at byte 8: expected a value, found '}'", "",
         "", ""},
        {"{\"type\":\"ping\xff\"}", PIPE_E_PROTOCOL, "Invalid JSON at byte 13: ", "", "", ""},
        {" [1]", PIPE_E_PROTOCOL, "Invalid message at byte 1: expected an object, got array", "",
         "", ""},
        {"{}", PIPE_E_PROTOCOL, "type: expected string, got nothing", "type", "", ""},
        {"{\"type\":null,\"id\":\"7\"}", PIPE_E_PROTOCOL, "type: expected string, got nothing",
         "type", "7", ""},
        {"{\"type\":4}", PIPE_E_PROTOCOL, "type: expected string, got number", "type", "", ""},
        {"{\"type\":\"chat_message\",\"id\":\"7\"}", PIPE_E_UNKNOWN, "type: unknown 'chat_message'",
         "type", "7", ""},
        {"{\"type\":\"Ping\"}", PIPE_E_UNKNOWN, "type: unknown 'Ping'", "type", "", ""},
        {"{\"type\":\"tool_call\",\"payload\":{\"tool_name\":\"t\"}}", PIPE_E_VALUE,
         "id: expected string, got nothing", "id", "", ""},
        {"{\"type\":\"tool_call\",\"id\":\"7\"}", PIPE_E_VALUE,
         "payload: expected object, got nothing", "payload", "7", ""},
        {"{\"type\":\"tool_call\",\"id\":\"7\",\"payload\":[]}", PIPE_E_VALUE,
         "payload: expected object, got array", "payload", "7", ""},
        {"{\"type\":\"tool_call\",\"id\":\"7\",\"payload\":{}}", PIPE_E_VALUE,
         "payload.tool_name: expected string, got nothing", "payload.tool_name", "7", ""},
        {"{\"type\":\"tool_call\",\"id\":\"7\",\"payload\":{\"tool_name\":1}}", PIPE_E_VALUE,
         "payload.tool_name: expected string, got number", "payload.tool_name", "7", ""},
        {"{\"type\":\"tool_call\",\"id\":\"7\",\"payload\":{\"tool_name\":\"t\",\"args\":[1]}}",
         PIPE_E_VALUE, "payload.args: expected object, got array", "payload.args", "7", ""},
        {"{\"type\":\"tool_result\",\"id\":\"7\",\"payload\":{\"success\":true}}", PIPE_E_VALUE,
         "payload.call_id: expected string, got nothing", "payload.call_id", "7", ""},
        {"{\"type\":\"tool_result\",\"id\":\"7\",\"payload\":{\"call_id\":\"8\"}}", PIPE_E_VALUE,
         "payload.success: expected boolean, got nothing", "payload.success", "7", "8"},
        {"{\"type\":\"tool_result\",\"id\":\"7\",\"payload\":{\"call_id\":\"8\",\"success\":1,"
         "\"error\":\"e\"}}",
         PIPE_E_VALUE, "payload.success: expected boolean, got number", "payload.success", "7",
         "8"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        GuardBuffer guarded = guard_copy(rows[i].message, strlen(rows[i].message));
        Text text;

        text_init(&text);
        assert_int_equal(pipe_message_read(&text.message, &text.arena,
                                           span_make(guarded.p, guarded.n), &text.diag),
                         rows[i].r);
        assert_int_equal(text.diag.code, rows[i].r);
        if (!span_starts_with(span_from_str(text.diag.message), span_from_str(rows[i].words))) {
            assert_string_equal(text.diag.message, rows[i].words);
        }
        assert_string_equal(text.diag.field, rows[i].field);
        assert_span(text.message.id, rows[i].id);
        assert_span(text.message.call_id, rows[i].call_id);
        /* The words are optional. */
        assert_int_equal(
            pipe_message_read(&text.message, &text.arena, span_make(guarded.p, guarded.n), NULL),
            rows[i].r);
        text_deinit(&text);
        guard_free(&guarded);
    }
}

/* A call whose arguments are nested so deep. */
static int read_nested(size_t depth)
{
    static const char head[] =
        "{\"type\":\"tool_call\",\"id\":\"1\",\"payload\":{\"tool_name\":\"t\",\"args\":{\"a\":";
    Bytes out;
    Text text;
    int r;

    text_init(&text);
    bytes_init(&out, SIZE_MAX);
    assert_int_equal(bytes_append_span(&out, SPAN(head)), 0);
    for (size_t i = 1; i < depth; i++) {
        assert_int_equal(bytes_append_byte(&out, '['), 0);
    }
    for (size_t i = 1; i < depth; i++) {
        assert_int_equal(bytes_append_byte(&out, ']'), 0);
    }
    assert_int_equal(bytes_append_span(&out, SPAN("}}}")), 0);
    r = pipe_message_read(&text.message, &text.arena, bytes_span(&out), &text.diag);
    bytes_deinit(&out);
    text_deinit(&text);
    return r;
}

static void nesting_leaves_room_for_whoever_passes_it_on(void **state)
{
    (void)state;
    assert_int_equal(read_nested(504), 0);
    assert_int_equal(read_nested(505), PIPE_E_PROTOCOL);
}

static void large_arguments_are_lent(void **state)
{
    size_t n = BYTES_LEND_MIN + 8;
    char *json = calloc(1, n + 1);
    BytesLent lent = BYTES_LENT_NULL;
    Text text;
    Bytes copied;
    JsonDoc doc;

    (void)state;
    text_init(&text);
    bytes_init(&copied, SIZE_MAX);
    memset(json, 'x', n);
    memcpy(json, "{\"a\":\"", 6);
    memcpy(json + n - 2, "\"}", 2);
    assert_int_equal(json_parse(&doc, &text.arena, json, n, NULL, NULL), 0);
    assert_int_equal(pipe_write_call(&copied, &doc_head, SPAN("t"), json_root(&doc)), 0);
    assert_int_equal(pipe_write_call_lent(&text.out, &doc_head, SPAN("t"), json_root(&doc), &lent),
                     0);
    assert_ptr_equal(lent.span.p, json);
    assert_int_equal(lent.span.n, n);
    assert_int_equal(text.out.n + n, copied.n);
    assert_memory_equal(copied.data, text.out.data, lent.at);
    assert_memory_equal(copied.data + lent.at, json, n);
    assert_memory_equal(copied.data + lent.at + n, text.out.data + lent.at, text.out.n - lent.at);
    free(json);
    bytes_deinit(&copied);
    text_deinit(&text);
}

static void a_buffer_that_is_full_is_left_as_it_was(void **state)
{
    Text text;

    (void)state;
    text_init(&text);
    for (size_t max = 3; max < 3 + sizeof(DOC_ERROR) - 1; max++) {
        Bytes out;

        bytes_init(&out, max);
        assert_int_equal(bytes_append_span(&out, SPAN("abc")), 0);
        assert_int_equal(text_read(&text, DOC_ERROR), 0);
        assert_int_equal(pipe_write_error(&out, &doc_head, text.message.code, text.message.message,
                                          text.message.call_id),
                         BYTES_E_FULL);
        assert_span(bytes_span(&out), "abc");
        bytes_deinit(&out);
    }
    text_deinit(&text);
}

static int read_and_write(void *context)
{
    const char *const messages[] = {
        "{\"type\":\"tool_call\",\"id\":\"\\u0031\",\"payload\":{\"tool_name\":\"\\u0031\"}}",
        "{\"type\":\"tool_result\",\"payload\":{\"call_id\":\"\\u0031\",\"success\":false,"
        "\"error\":{\"code\":\"\\u0031\",\"message\":\"\\u0031\"}}}",
        "{\"type\":\"\\u0031\"}"};
    Text text;
    int r = 0;

    (void)context;
    text_init(&text);
    for (size_t i = 0; i < TW_ARRAY_SIZE(messages) && r >= 0; i++) {
        r = text_read(&text, messages[i]);
    }
    if (r >= 0) {
        r = pipe_write_call(&text.out, &doc_head, SPAN("t"), JSON_VALUE_NULL);
    }
    if (r >= 0) {
        r = pipe_write_error(&text.out, &doc_head, SPAN("C"), SPAN("m"), SPAN("1"));
    }
    text_deinit(&text);
    return r;
}

static void want_of_memory_is_told(void **state)
{
    (void)state;
    test_oom_sweep(read_and_write, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_document_s_call_round_trips),
        cmocka_unit_test(the_document_s_result_is_read),
        cmocka_unit_test(the_document_s_ping_and_pong_round_trip),
        cmocka_unit_test(the_document_s_error_round_trips),
        cmocka_unit_test(a_call_without_arguments_has_an_empty_object),
        cmocka_unit_test(calls_are_accepted_as_real_peers_spell_them),
        cmocka_unit_test(results_are_accepted_as_real_peers_spell_them),
        cmocka_unit_test(errors_and_pings_may_lack_anything),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(nesting_leaves_room_for_whoever_passes_it_on),
        cmocka_unit_test(large_arguments_are_lent),
        cmocka_unit_test(a_buffer_that_is_full_is_left_as_it_was),
        cmocka_unit_test(want_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
