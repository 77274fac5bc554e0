#include "dialect/callsock/message.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/guard.h"
#include "support/oom_sweep.h"
#include "unit/dialect/callsock/span_testing.h"

static void wrong_responses_are_named(void **state)
{
#define RESULT(content) "{\"result\":{\"content\":" content "}}"
    static const struct {
        const char *message;
        const char *words;
    } rows[] = {
        {"{}", "missing both 'result' and 'error' fields"},
        {"{\"method\":\"call_tool\"}", "missing both 'result' and 'error' fields"},
        {"{\"result\":null,\"error\":null}", "missing both 'result' and 'error' fields"},
        {"{\"result\":{\"content\":[]},\"error\":{}}", "both 'result' and 'error' fields"},
        {"{\"result\":[]}", "result: expected object, got array"},
        {"{\"result\":\"done\"}", "result: expected object, got string"},
        {"{\"result\":{}}", "result.content: expected array, got nothing"},
        {RESULT("\"done\""), "result.content: expected array, got string"},
        {RESULT("null"), "result.content: expected array, got null"},
        {RESULT("[1]"), "content[0]: expected object"},
        {RESULT("[{}]"), "content[0].type: expected string"},
        {RESULT("[{\"type\":1}]"), "content[0].type: expected string"},
        {RESULT("[{\"type\":\"text\",\"text\":\"\"},{\"type\":\"text\"}]"),
         "content[1].text: expected string"},
        {RESULT("[{\"type\":\"text\",\"text\":null}]"), "content[0].text: expected string"},
        {RESULT("[{\"type\":\"image\",\"mimeType\":\"a\"}]"), "content[0].data: expected string"},
        {RESULT("[{\"type\":\"image\",\"data\":\"\"}]"), "content[0].mimeType: expected string"},
        {RESULT("[{\"type\":\"audio\",\"data\":\"\"}]"), "content[0].mimeType: expected string"},
        {RESULT("[{\"type\":\"resource_link\",\"uri\":\"a:b\"}]"),
         "content[0].name: expected string"},
        {RESULT("[{\"type\":\"resource\"}]"), "content[0].resource: expected object"},
        {RESULT("[{\"type\":\"resource\",\"resource\":{\"text\":\"\"}}]"),
         "content[0].resource.uri: expected string"},
        {RESULT("[{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\"}}]"),
         "content[0].resource: expected a string 'text' or 'blob'"},
        {RESULT("[],\"isError\":\"false\""), "result.isError: expected boolean, got string"},
        {RESULT("[],\"isError\":0"), "result.isError: expected boolean, got number"},
        {RESULT("[],\"_meta\":[]"), "result._meta: expected object, got array"},
        {"{\"error\":[]}", "error: expected object, got array"},
        {"{\"error\":false}", "error: expected object, got boolean"},
    };
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        GuardBuffer text = guard_copy(rows[i].message, strlen(rows[i].message));
        CallResult result = {.error = CALL_ERROR_OWN};
        char words[128];
        Diag diag;

        (void)snprintf(words, sizeof(words), "Invalid IPC response: %s", rows[i].words);
        assert_int_equal(callsock_response_read(&result, &arena, span_make(text.p, text.n), &diag),
                         CALLSOCK_E_VALUE);
        assert_string_equal(diag.message, words);
        assert_int_equal(callsock_response_read(&result, &arena, span_make(text.p, text.n), NULL),
                         CALLSOCK_E_VALUE);
        assert_int_equal(result.error, CALL_ERROR_OWN);
        guard_free(&text);
    }
    arena_deinit(&arena);
#undef RESULT
}

static void what_is_no_message_is_a_breach_of_protocol(void **state)
{
    static const char *const texts[] = {"", "{", "[]", "7", "nul", "{\"result\":\x80}"};
    CallResult result;
    Arena arena;
    Diag diag;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts); i++) {
        assert_int_equal(callsock_response_read(&result, &arena, span_from_str(texts[i]), &diag),
                         CALLSOCK_E_PROTOCOL);
        assert_non_null(strstr(diag.message, " at byte "));
    }
    arena_deinit(&arena);
}

static void a_result_is_spliced_and_not_copied(void **state)
{
    static const char text[] =
        "{\"result\": {\"content\": [ {\"type\": \"text\", \"text\": \"9007199254740993 "
        "\\u0041\"}, "
        "{\"type\":\"text\",\"text\":\"b\",\"x\":1.0} ], \"isError\": true, \"more\": [1.0, {}], "
        "\"y\":null , \"structuredContent\": {\"n\": 9007199254740993}, \"_meta\": {\"k\": 1}}}";
    GuardBuffer guarded = guard_copy(text, sizeof(text) - 1);
    CallResult result;
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    assert_int_equal(callsock_response_read(&result, &arena, span_make(guarded.p, guarded.n), NULL),
                     0);
    assert_int_equal(result.kind, CALL_RESULT_TOOL);
    assert_true(result.is_error);
    assert_int_equal(result.n_pieces, 1);
    assert_span(result.pieces[0], "{\"type\": \"text\", \"text\": \"9007199254740993 \\u0041\"}, "
                                  "{\"type\":\"text\",\"text\":\"b\",\"x\":1.0}");
    assert_span(result.structured, "{\"n\": 9007199254740993}");
    assert_span(result.meta, "{\"k\": 1}");
    assert_span(result.members, "\"more\": [1.0, {}], \"y\":null");
    assert_int_equal(result.content_kinds, CALL_CONTENT_TEXT);
    assert_true(result.pieces[0].p > guarded.p && result.pieces[0].p < guarded.p + guarded.n);
    assert_true(result.members.p > guarded.p && result.members.p < guarded.p + guarded.n);
    assert_true(result.structured.p > guarded.p && result.structured.p < guarded.p + guarded.n);
    assert_true(result.meta.p > guarded.p && result.meta.p < guarded.p + guarded.n);
    arena_deinit(&arena);
    guard_free(&guarded);
}

static void members_that_stand_apart_are_put_together(void **state)
{
    static const char text[] =
        "{\"result\":{\"a\":1,\"content\":[],\"b\": 2,\"c\":3,\"isError\":false,\"a\":4}}";
    CallResult result;
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    assert_int_equal(callsock_response_read(&result, &arena, SPAN(text), NULL), 0);
    assert_span(result.members, "\"a\":1,\"b\": 2,\"c\":3,\"a\":4");
    assert_int_equal(result.n_pieces, 0);
    assert_int_equal(result.content_kinds, 0);
    assert_false(result.is_error);
    arena_deinit(&arena);
}

/* Every door of the modern era writes its own. */
static void the_result_type_is_not_passed_on(void **state)
{
    static const char text[] = "{\"result\":{\"content\":[],\"resultType\":\"complete\",\"a\":1}}";
    CallResult result;
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    assert_int_equal(callsock_response_read(&result, &arena, SPAN(text), NULL), 0);
    assert_span(result.members, "\"a\":1");
    arena_deinit(&arena);
}

static void line_ends_are_left_out_wherever_they_stand(void **state)
{
    static const char text[] =
        "{\n  \"result\" : {\r\n\t\"content\":\n [\n {\"type\":\"text\",\n  \"text\":\"a\\n  "
        "b\"\n},"
        "\n\t{\"type\" : \"x\",\"n\":\n1.0\r}\n],\n\"isError\"\n:\ntrue,\n\"m\" :\n[\n1 ,\n\n 2],"
        "\"_meta\":{\n},\"k\":\n{}\n,\n\"structuredContent\":[\n1\n,\r\n2]\n}\n}\n";
    CallResult result;
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    assert_int_equal(callsock_response_read(&result, &arena, SPAN(text), NULL), 0);
    assert_span(result.pieces[0],
                "{\"type\":\"text\",\"text\":\"a\\n  b\"},{\"type\" : \"x\",\"n\":1.0}");
    assert_true(result.is_error);
    assert_span(result.members, "\"m\" :[1 ,2],\"k\":{}");
    assert_span(result.meta, "{}");
    assert_span(result.structured, "[1,2]");
    assert_int_equal(result.content_kinds, CALL_CONTENT_TEXT | CALL_CONTENT_UNKNOWN);
    arena_deinit(&arena);
}

static void of_duplicate_members_the_last_counts(void **state)
{
    static const char text[] =
        "{\"error\":{},\"result\":5,\"error\":null,\"result\":{\"content\":7,\"isError\":true,"
        "\"structuredContent\":1,\"_meta\":2,\"content\":[{\"type\":5,\"type\":\"text\","
        "\"text\":\"t\"}],\"isError\":false,\"structuredContent\":{},\"_meta\":{\"a\":1}}}";
    CallResult result;
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    assert_int_equal(callsock_response_read(&result, &arena, SPAN(text), NULL), 0);
    assert_false(result.is_error);
    assert_span(result.structured, "{}");
    assert_span(result.meta, "{\"a\":1}");
    assert_span(result.members, "");
    arena_deinit(&arena);
}

static void kinds_of_content_are_computed_and_vouch_for_plain_blocks_only(void **state)
{
    static const struct {
        const char *blocks;
        uint32_t kinds;
    } rows[] = {
        {"{\"type\":\"text\",\"text\":\"\"}", CALL_CONTENT_TEXT},
        {"{\"t\\u0079pe\":\"\\u0074ext\",\"text\":\"\"}", CALL_CONTENT_TEXT},
        {"{\"type\":\"text\",\"text\":\"\",\"annotations\":{},\"x\":1}", CALL_CONTENT_TEXT},
        {"{\"type\":\"text\",\"text\":\"\",\"_meta\":{}}",
         CALL_CONTENT_TEXT | CALL_CONTENT_UNKNOWN},
        {"{\"type\":\"image\",\"data\":\"\",\"mimeType\":\"a/b\"}", CALL_CONTENT_IMAGE},
        {"{\"type\":\"audio\",\"data\":\"\",\"mimeType\":\"a/b\"}", CALL_CONTENT_AUDIO},
        {"{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":\"\"}}",
         CALL_CONTENT_RESOURCE},
        {"{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"blob\":\"\",\"_meta\":{}}}",
         CALL_CONTENT_RESOURCE | CALL_CONTENT_UNKNOWN},
        {"{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"n\"}", CALL_CONTENT_LINK},
        {"{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"n\",\"icons\":[]}",
         CALL_CONTENT_LINK | CALL_CONTENT_UNKNOWN},
        {"{\"type\":\"hologram\"}", CALL_CONTENT_UNKNOWN},
        {"{\"type\":\"text\",\"text\":\"\"},{\"type\":\"image\",\"data\":\"\",\"mimeType\":\"\"}",
         CALL_CONTENT_TEXT | CALL_CONTENT_IMAGE},
    };
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        CallResult result;
        char text[256];

        (void)snprintf(text, sizeof(text), "{\"result\":{\"content\":[%s]}}", rows[i].blocks);
        assert_int_equal(callsock_response_read(&result, &arena, span_from_str(text), NULL), 0);
        assert_int_equal(result.content_kinds, rows[i].kinds);
        assert_span(result.pieces[0], rows[i].blocks);
    }
    arena_deinit(&arena);
}

static void what_python_prints_for_not_set_counts_as_absent(void **state)
{
    CallResult result;
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    assert_int_equal(
        callsock_response_read(&result, &arena,
                               SPAN("{\"result\": {\"content\": [], \"isError\": null, \"_meta\": "
                                    "null, \"structuredContent\": null}, \"error\": null}"),
                               NULL),
        0);
    assert_false(result.is_error);
    assert_span(result.meta, "");
    assert_span(result.structured, "null");
    assert_int_equal(
        callsock_response_read(&result, &arena,
                               SPAN("{\"error\": {\"message\": \"m\"}, \"result\": null}"), NULL),
        0);
    assert_int_equal(result.kind, CALL_RESULT_ERROR);
    /* structuredContent alone is an answer too. */
    assert_int_equal(callsock_response_read(&result, &arena,
                                            SPAN("{\"result\":{\"structuredContent\":[1]}}"), NULL),
                     0);
    assert_int_equal(result.n_pieces, 0);
    assert_span(result.structured, "[1]");
    arena_deinit(&arena);
}

static void errors_keep_their_message_and_type(void **state)
{
    static const struct {
        const char *error;
        CallError code;
        const char *message;
        const char *type;
    } rows[] = {
        {"{\"message\":\"division by zero\",\"type\":\"ZeroDivisionError\"}", CALL_ERROR_RAISED,
         "division by zero", "ZeroDivisionError"},
        {"{\"type\":\"ToolNotFoundError\",\"message\":\"Unknown tool: add\"}",
         CALL_ERROR_UNKNOWN_TOOL, "Unknown tool: add", "ToolNotFoundError"},
        {"{\"message\":\"a\\nb\\u00fc\",\"type\":\"K\\u0065yError\",\"more\":1}", CALL_ERROR_RAISED,
         "a\nb\xC3\xBC", "KeyError"},
        {"{\"message\":\"\",\"type\":\"ValueError\"}", CALL_ERROR_RAISED, "the tool failed",
         "ValueError"},
        {"{\"type\":\"ToolNotFoundError\"}", CALL_ERROR_UNKNOWN_TOOL, "unknown tool",
         "ToolNotFoundError"},
        {"{\"message\":5,\"type\":null}", CALL_ERROR_RAISED, "the tool failed", ""},
        {"{}", CALL_ERROR_RAISED, "the tool failed", ""},
        {"\"out of order\"", CALL_ERROR_RAISED, "out of order", ""},
    };
    Arena arena;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        CallResult result;
        char text[256];

        (void)snprintf(text, sizeof(text), "{\"error\":%s}", rows[i].error);
        assert_int_equal(callsock_response_read(&result, &arena, span_from_str(text), NULL), 0);
        assert_int_equal(result.kind, CALL_RESULT_ERROR);
        assert_int_equal(result.error, rows[i].code);
        assert_span(result.message, rows[i].message);
        assert_span(result.error_type, rows[i].type);
    }
    arena_deinit(&arena);
}

static void what_is_written_is_read_back_the_same(void **state)
{
    static const Span piece = SPAN_INIT(
        "{\"type\":\"text\",\"text\":\"\\u00e9\\/\",\"n\":9007199254740993},{\"type\":\"x\","
        "\"f\":1.0}");
    CallResult sent = CALL_RESULT_TOOL_PIECES(&piece, 1);
    CallResult got;
    Arena arena;
    Bytes out;
    Bytes again;

    (void)state;
    arena_init(&arena, SIZE_MAX);
    bytes_init(&out, 4096);
    bytes_init(&again, 4096);
    sent.is_error = true;
    sent.structured = SPAN("{\"a\":1E400}");
    sent.members = SPAN("\"z\":-0.0,\"q\\u0041\":\"\\ud83d\\ude00\"");
    sent.meta = SPAN("{}");
    assert_int_equal(callsock_response_write(&out, &sent), 0);
    assert_int_equal(callsock_response_read(&got, &arena, bytes_span(&out), NULL), 0);
    assert_true(span_equals(got.pieces[0], piece));
    assert_true(got.is_error);
    assert_true(span_equals(got.structured, sent.structured));
    assert_true(span_equals(got.members, sent.members));
    assert_true(span_equals(got.meta, sent.meta));
    assert_int_equal(callsock_response_write(&again, &got), 0);
    assert_true(span_equals(bytes_span(&out), bytes_span(&again)));
    bytes_deinit(&out);
    bytes_deinit(&again);
    arena_deinit(&arena);
}

static int read_all(void *context)
{
    static const char *const texts[] = {
        "{\"result\":{\"a\":1,\"content\":[\n{\"type\":\"x\"}],\"b\":2,\"_meta\":{\n}}}",
        "{\"error\":{\"message\":\"a\\n\",\"type\":\"b\\n\"}}",
        "{\"error\":\"a\\n\"}",
    };
    static const char *const requests[] = {
        "{\"method\":\"call_tool\",\"params\":{\"name\":\"\\u0061\",\"arguments\":{}}}",
        "{\"method\":\"\\u0061\"}",
    };
    int r = 0;

    (void)context;
    for (size_t i = 0; i < TW_ARRAY_SIZE(texts) && r == 0; i++) {
        CallResult result;
        Arena arena;

        arena_init(&arena, SIZE_MAX);
        r = callsock_response_read(&result, &arena, span_from_str(texts[i]), NULL);
        arena_deinit(&arena);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(requests) && r == 0; i++) {
        CallsockRequest request;
        Arena arena;

        arena_init(&arena, SIZE_MAX);
        r = callsock_request_read(&request, &arena, span_from_str(requests[i]), NULL);
        arena_deinit(&arena);
        r = r == CALLSOCK_E_VALUE ? 0 : r;
    }
    return r;
}

static void reading_survives_want_of_memory(void **state)
{
    (void)state;
    test_oom_sweep(read_all, NULL);
}

/* Every allocation may be the one that finds no room: the index leaves more or less of it, by the
 * number of values. */
static void reading_survives_a_full_arena(void **state)
{
    /* Around the values, and around a long string. */
    static const char *const parts[][3] = {
        {"{\"result\":{\"a\":[", "],\"content\":[\n{\"type\":\"x",
         "\"}],\"b\":2,\"structuredContent\":{\n},\"_meta\":{\n}}}"},
        {"{\"x\":[", "],\"error\":{\"message\":\"a\\n", "\",\"type\":\"b\\n\"}}"},
        {"{\"x\":[", "],\"method\":\"call_tool\",\"params\":{\"name\":\"\\u0061", "\"}}"},
        {"{\"x\":[", "],\"method\":\"\\u0061", "\"}"},
    };
    enum {
        N_VALUES = 150
    };
    size_t n_failed[TW_ARRAY_SIZE(parts)] = {0};

    (void)state;
    for (size_t n = 1; n < N_VALUES * TW_ARRAY_SIZE(parts); n++) {
        size_t which = n % TW_ARRAY_SIZE(parts);
        size_t n_values = n / TW_ARRAY_SIZE(parts);
        char values[2 * N_VALUES + 2] = "1";
        char text[2 * N_VALUES + 800];
        CallsockRequest request;
        CallResult result;
        Arena arena;
        int r;

        for (size_t i = 0; i < n_values; i++) {
            memcpy(values + 1 + 2 * i, ",1", 3);
        }
        (void)snprintf(text, sizeof(text), "%s%s%s%0600d%s", parts[which][0], values,
                       parts[which][1], 0, parts[which][2]);
        arena_init(&arena, 0);
        for (r = -ENOMEM; r == -ENOMEM; arena_reset(&arena, 0)) {
            arena.max_bytes += 64;
            r = which < 2 ? callsock_response_read(&result, &arena, span_from_str(text), NULL)
                          : callsock_request_read(&request, &arena, span_from_str(text), NULL);
            n_failed[which] += r == -ENOMEM ? 1 : 0;
        }
        assert_int_equal(r, which == 3 ? CALLSOCK_E_VALUE : 0);
        arena_deinit(&arena);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(parts); i++) {
        assert_true(n_failed[i] > N_VALUES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_responses_are_named),
        cmocka_unit_test(what_is_no_message_is_a_breach_of_protocol),
        cmocka_unit_test(a_result_is_spliced_and_not_copied),
        cmocka_unit_test(members_that_stand_apart_are_put_together),
        cmocka_unit_test(the_result_type_is_not_passed_on),
        cmocka_unit_test(line_ends_are_left_out_wherever_they_stand),
        cmocka_unit_test(of_duplicate_members_the_last_counts),
        cmocka_unit_test(kinds_of_content_are_computed_and_vouch_for_plain_blocks_only),
        cmocka_unit_test(what_python_prints_for_not_set_counts_as_absent),
        cmocka_unit_test(errors_keep_their_message_and_type),
        cmocka_unit_test(what_is_written_is_read_back_the_same),
        cmocka_unit_test(reading_survives_want_of_memory),
        cmocka_unit_test(reading_survives_a_full_arena),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
