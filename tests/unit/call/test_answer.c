#include "support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "call/answer.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

#define MAX_BYTES 4096

static const Span no_role = {NULL, 0};

/* The pieces of a result, joined. */
static void assert_content(const CallResult *result, const char *expected)
{
    char joined[MAX_BYTES];
    size_t n = 0;

    for (size_t i = 0; i < result->n_pieces; i++) {
        memcpy(joined + n, result->pieces[i].p, result->pieces[i].n);
        n += result->pieces[i].n;
    }
    joined[n] = '\0';
    assert_string_equal(joined, expected);
}

static void assert_span(Span s, const char *expected)
{
    assert_int_equal(s.n, strlen(expected));
    assert_memory_equal(s.p, expected, s.n);
}

static void empty_answer_is_a_tool_result_without_content(void **state)
{
    CallAnswer answer;
    const CallResult *result;

    (void)state;
    call_answer_init(&answer, MAX_BYTES);
    result = call_answer_result(&answer);
    assert_int_equal(result->kind, CALL_RESULT_TOOL);
    assert_int_equal(result->n_pieces, 0);
    assert_int_equal(result->structured.n, 0);
    call_answer_deinit(&answer);
    call_answer_deinit(&answer);
}

static void every_kind_of_block_is_written_and_marked(void **state)
{
    CallAnswer answer;

    (void)state;
    call_answer_init(&answer, MAX_BYTES);
    call_answer_text(&answer, no_role, SPAN("a \"b\"\n"));
    call_answer_image(&answer, no_role, SPAN("image/png"), SPAN("\xff\x00\x01"));
    call_answer_audio(&answer, no_role, SPAN("audio/wav"), SPAN("f"));
    call_answer_link(&answer, no_role, SPAN("file:///x"), SPAN("x"), SPAN_NULL);
    call_answer_resource_text(&answer, no_role, SPAN("t:1"), SPAN("text/plain"), SPAN("hi"));
    call_answer_resource_blob(&answer, no_role, SPAN("b:1"), SPAN_NULL, SPAN("fo"));
    assert_content(call_answer_result(&answer),
                   "{\"type\":\"text\",\"text\":\"a \\\"b\\\"\\n\"},"
                   "{\"type\":\"image\",\"data\":\"/wAB\",\"mimeType\":\"image/png\"},"
                   "{\"type\":\"audio\",\"data\":\"Zg==\",\"mimeType\":\"audio/wav\"},"
                   "{\"type\":\"resource_link\",\"uri\":\"file:///x\",\"name\":\"x\"},"
                   "{\"type\":\"resource\",\"resource\":{\"uri\":\"t:1\",\"mimeType\":"
                   "\"text/plain\",\"text\":\"hi\"}},"
                   "{\"type\":\"resource\",\"resource\":{\"uri\":\"b:1\",\"blob\":\"Zm8=\"}}");
    assert_int_equal(answer.result.content_kinds, CALL_CONTENT_TEXT | CALL_CONTENT_IMAGE |
                                                      CALL_CONTENT_AUDIO | CALL_CONTENT_RESOURCE |
                                                      CALL_CONTENT_LINK);
    call_answer_deinit(&answer);
}

static void block_in_a_prompt_is_wrapped_in_a_message(void **state)
{
    CallAnswer answer;
    const CallResult *result;

    (void)state;
    call_answer_init(&answer, MAX_BYTES);
    call_answer_reset(&answer, CALL_RESULT_PROMPT);
    call_answer_description(&answer, SPAN("greets"));
    call_answer_text(&answer, SPAN("user"), SPAN("hi"));
    call_answer_block(&answer, SPAN("assistant"), SPAN(" { \"type\" : \"text\", \"text\":\"yo\"}"));
    result = call_answer_result(&answer);
    assert_int_equal(result->kind, CALL_RESULT_PROMPT);
    assert_span(result->description, "greets");
    assert_content(result, "{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"hi\"}},"
                           "{\"role\":\"assistant\",\"content\":{\"type\":\"text\",\"text\":"
                           "\"yo\"}}");
    call_answer_deinit(&answer);
}

static void block_given_as_json_is_checked_and_marked_by_its_type(void **state)
{
    static const struct {
        const char *json;
        uint32_t kind; /* 0: refused */
    } cases[] = {
        {"{\"type\":\"text\",\"text\":\"\"}", CALL_CONTENT_TEXT},
        {"{\"type\":\"im\\u0061ge\"}", CALL_CONTENT_IMAGE},
        {"{\"type\":\"audio\"}", CALL_CONTENT_AUDIO},
        {"{\"type\":\"resource\"}", CALL_CONTENT_RESOURCE},
        {"{\"type\":\"resource_link\"}", CALL_CONTENT_LINK},
        {"{\"type\":\"hologram\"}", CALL_CONTENT_UNKNOWN},
        {"{\"type\":1}", 0},
        {"{}", 0},
        {"[]", 0},
        {"{\"type\":\"text\"", 0},
        {"", 0},
    };
    CallAnswer answer;

    (void)state;
    call_answer_init(&answer, MAX_BYTES);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        const CallResult *result;

        call_answer_reset(&answer, CALL_RESULT_TOOL);
        call_answer_block(&answer, no_role, span_from_str(cases[i].json));
        result = call_answer_result(&answer);
        assert_int_equal(result->kind, cases[i].kind == 0 ? CALL_RESULT_ERROR : CALL_RESULT_TOOL);
        assert_int_equal(result->content_kinds, cases[i].kind);
        assert_int_equal(result->error,
                         cases[i].kind == 0 ? CALL_ERROR_BAD_RESULT : CALL_ERROR_NONE);
    }
    call_answer_deinit(&answer);
}

static void contents_of_a_resource_are_text_or_blob(void **state)
{
    CallAnswer answer;

    (void)state;
    call_answer_init(&answer, MAX_BYTES);
    call_answer_reset(&answer, CALL_RESULT_RESOURCE);
    call_answer_contents_text(&answer, SPAN("u:1"), SPAN("text/plain"), SPAN("x\xff"));
    call_answer_contents_blob(&answer, SPAN("u:2"), SPAN_NULL, SPAN(""));
    answer.result.ttl_ms = 5;
    assert_content(call_answer_result(&answer),
                   "{\"uri\":\"u:1\",\"mimeType\":\"text/plain\",\"text\":\"x\xEF\xBF\xBD\"},"
                   "{\"uri\":\"u:2\",\"blob\":\"\"}");
    assert_int_equal(answer.result.ttl_ms, 5);
    assert_int_equal(answer.result.kind, CALL_RESULT_RESOURCE);
    call_answer_deinit(&answer);
}

static void structured_is_compacted_and_spoken_where_there_is_no_other_content(void **state)
{
    CallAnswer answer;
    const CallResult *result;

    (void)state;
    call_answer_init(&answer, MAX_BYTES);
    call_answer_structured(&answer, SPAN("[0]"));
    call_answer_structured(&answer, SPAN("{ \"n\" :\n 1.50 }"));
    result = call_answer_result(&answer);
    assert_span(result->structured, "{\"n\":1.50}");
    assert_content(result, "{\"type\":\"text\",\"text\":\"{\\\"n\\\":1.50}\"}");
    assert_int_equal(result->content_kinds, CALL_CONTENT_TEXT);
    call_answer_text(&answer, no_role, SPAN("one and a half"));
    result = call_answer_result(&answer);
    assert_span(result->structured, "{\"n\":1.50}");
    assert_content(result, "{\"type\":\"text\",\"text\":\"one and a half\"}");
    call_answer_deinit(&answer);
}

static void first_failure_sticks_until_reset(void **state)
{
    CallAnswer answer;

    (void)state;
    call_answer_init(&answer, MAX_BYTES);
    call_answer_structured(&answer, SPAN("{\"n\":"));
    call_answer_text(&answer, no_role, SPAN("fine"));
    assert_int_equal(call_answer_result(&answer)->error, CALL_ERROR_BAD_RESULT);
    assert_int_equal(call_answer_result(&answer)->n_pieces, 0);
    call_answer_reset(&answer, CALL_RESULT_TOOL);
    call_answer_text(&answer, no_role, SPAN("fine"));
    assert_content(call_answer_result(&answer), "{\"type\":\"text\",\"text\":\"fine\"}");
    call_answer_deinit(&answer);
}

static void answer_beyond_its_maximum_is_too_large(void **state)
{
    char text[200];
    CallAnswer answer;

    (void)state;
    memset(text, 'x', sizeof(text));
    /* {"type":"text","text":""} is 25 bytes. */
    for (size_t n = 0; n <= 120; n++) {
        call_answer_init(&answer, 100);
        call_answer_text(&answer, no_role, span_make(text, n));
        assert_int_equal(call_answer_result(&answer)->error,
                         n + 25 <= 100 ? CALL_ERROR_NONE : CALL_ERROR_TOO_LARGE);
        call_answer_deinit(&answer);
        /* All parts count together. */
        call_answer_init(&answer, 100);
        call_answer_text(&answer, no_role, SPAN("12345"));
        call_answer_structured(&answer, SPAN("[234567890]"));
        call_answer_description(&answer, span_make(text, n));
        assert_int_equal(call_answer_result(&answer)->error,
                         n + 30 + 11 <= 100 ? CALL_ERROR_NONE : CALL_ERROR_TOO_LARGE);
        call_answer_deinit(&answer);
    }
}

/* The text that is made of it is not what the provider gave. */
static void structured_content_may_have_the_whole_maximum(void **state)
{
    char json[102] = "\"";
    CallAnswer answer;

    (void)state;
    for (size_t n = 99; n <= 100; n++) {
        for (size_t i = 1; i < n; i += 2) { /* every one is escaped once more in the text */
            memcpy(json + i, "\\\"", 2);
        }
        json[n] = '"';
        call_answer_init(&answer, 100);
        call_answer_structured(&answer, span_make(json, n + 1));
        assert_int_equal(call_answer_result(&answer)->error,
                         n + 1 <= 100 ? CALL_ERROR_NONE : CALL_ERROR_TOO_LARGE);
        call_answer_deinit(&answer);
    }
}

static void more_than_a_hundred_values_set_has_more(void **state)
{
    CallAnswer answer;
    const CallResult *result;

    (void)state;
    call_answer_init(&answer, MAX_BYTES);
    call_answer_reset(&answer, CALL_RESULT_COMPLETION);
    call_answer_value(&answer, SPAN("a"));
    call_answer_value(&answer, SPAN("\"b"));
    result = call_answer_result(&answer);
    assert_content(result, "\"a\",\"\\\"b\"");
    assert_false(result->has_more);
    assert_int_equal(result->total, -1);
    for (int i = 2; i < 100; i++) {
        call_answer_value(&answer, SPAN("c"));
    }
    assert_false(call_answer_result(&answer)->has_more);
    call_answer_value(&answer, SPAN("d"));
    result = call_answer_result(&answer);
    assert_true(result->has_more);
    assert_int_equal(result->pieces[0].n, 9 + 98 * 4);
    call_answer_deinit(&answer);
}

static void error_of_the_provider_replaces_the_result(void **state)
{
    CallAnswer answer;
    const CallResult *result;

    (void)state;
    call_answer_init(&answer, MAX_BYTES);
    call_answer_error(&answer, -32000, SPAN("no such template"), SPAN("{ \"name\": \"x\" }"));
    result = call_answer_result(&answer);
    assert_int_equal(result->kind, CALL_RESULT_ERROR);
    assert_int_equal(result->error, CALL_ERROR_OWN);
    assert_int_equal(result->wire_code, -32000);
    assert_span(result->message, "no such template");
    assert_span(result->data, "{\"name\":\"x\"}");
    call_answer_deinit(&answer);
}

static void asks_are_copied_and_gathered(void **state)
{
    char key[] = "k0";
    CallAnswer answer;
    const CallResult *result;

    (void)state;
    call_answer_init(&answer, MAX_BYTES);
    for (int i = 0; i < 10; i++) {
        key[1] = (char)('0' + i);
        call_answer_ask(&answer, &(CallAsk){.key = span_make(key, 2),
                                            .kind = CALL_ASK_FORM,
                                            .message = SPAN("who?"),
                                            .schema = SPAN("{ \"type\": \"object\" }")});
    }
    call_answer_ask(&answer, &(CallAsk){.key = SPAN("u"), .kind = CALL_ASK_URL, .url = SPAN("x:")});
    call_answer_state(&answer, SPAN("round 1"));
    call_answer_meta(&answer, SPAN("{ }"));
    result = call_answer_result(&answer);
    assert_int_equal(result->kind, CALL_RESULT_ASK);
    assert_int_equal(result->n_asks, 11);
    assert_span(result->asks[0].key, "k0");
    assert_span(result->asks[9].key, "k9");
    assert_span(result->asks[9].schema, "{\"type\":\"object\"}");
    assert_span(result->asks[3].message, "who?");
    assert_int_equal(result->asks[10].kind, CALL_ASK_URL);
    assert_span(result->asks[10].url, "x:");
    assert_span(result->state, "round 1");
    assert_span(result->meta, "{}");
    call_answer_reset(&answer, CALL_RESULT_TOOL);
    call_answer_ask(&answer, &(CallAsk){.key = SPAN("k"), .schema = SPAN("[]")});
    assert_int_equal(call_answer_result(&answer)->error, CALL_ERROR_BAD_RESULT);
    call_answer_reset(&answer, CALL_RESULT_TOOL);
    assert_int_equal(call_answer_result(&answer)->n_asks, 0);
    call_answer_deinit(&answer);
}

/* An object nested depth deep, which may be a block, too. */
static Span nested_object(char *out, size_t depth)
{
    Span head = SPAN("{\"type\":\"t\",\"a\":");
    size_t n = head.n;

    memcpy(out, head.p, n);
    for (size_t i = 1; i < depth; i++) {
        memcpy(out + n, "{\"a\":", 5);
        n += 5;
    }
    out[n++] = '1';
    memset(out + n, '}', depth);
    return span_make(out, n + depth);
}

static void json_must_leave_room_for_the_levels_around_it(void **state)
{
    char json[LIMIT_JSON_DEPTH * 8];
    CallAnswer answer;

    (void)state;
    call_answer_init(&answer, sizeof(json) * 4);
    for (size_t depth = LIMIT_RESULT_DEPTH; depth <= LIMIT_RESULT_DEPTH + 1; depth++) {
        bool is_fine = depth == LIMIT_RESULT_DEPTH;

        for (int part = 0; part < 6; part++) {
            Span given = nested_object(json, depth);
            const CallResult *result;

            call_answer_reset(&answer, CALL_RESULT_TOOL);
            switch (part) {
            case 0:
                call_answer_structured(&answer, given);
                break;
            case 1:
                call_answer_block(&answer, no_role, given);
                break;
            case 2:
                call_answer_meta(&answer, given);
                break;
            case 3:
                call_answer_error(&answer, -1, SPAN("m"), given);
                break;
            case 4:
                call_answer_ask(&answer, &(CallAsk){.key = SPAN("k"), .schema = given});
                break;
            default:
                call_answer_ask(&answer, &(CallAsk){.key = SPAN("k"), .params = given});
                break;
            }
            result = call_answer_result(&answer);
            assert_int_equal(result->error, !is_fine    ? CALL_ERROR_BAD_RESULT
                                            : part == 3 ? CALL_ERROR_OWN
                                                        : CALL_ERROR_NONE);
            if (!is_fine) {
                assert_span(result->message, "the provider's answer is nested too deeply");
            }
        }
    }
    call_answer_deinit(&answer);
}

static size_t n_finished;

static void count_finish(Call *call, const CallResult *result)
{
    (void)call;
    assert_content(result, "{\"type\":\"text\",\"text\":\"done\"}");
    n_finished++;
}

static void finish_ends_the_call_and_allocates_nothing_when_used_again(void **state)
{
    static const CallDoor door = {.finish = count_finish};
    size_t n_calls = 0;
    CallAnswer answer;
    Call call;

    (void)state;
    call_init(&call);
    call.door = &door;
    call_answer_init(&answer, MAX_BYTES);
    for (int i = 0; i < 100; i++) {
        if (i == 1) {
            n_calls = alloc_testing()->n_calls;
        }
        call_answer_text(&answer, no_role, SPAN("done"));
        call_answer_structured(&answer, SPAN("{\"a\": [1, 2]}"));
        call_answer_state(&answer, SPAN("s"));
        call_answer_finish(&answer, &call);
    }
    assert_int_equal(alloc_testing()->n_calls, n_calls);
    assert_int_equal(n_finished, 100);
    call_answer_deinit(&answer);
    call_deinit(&call);
}

static int build(void *context)
{
    CallAnswer answer;
    const CallResult *result;
    int r;

    (void)context;
    call_answer_init(&answer, MAX_BYTES);
    call_answer_text(&answer, SPAN("user"), SPAN("text"));
    call_answer_image(&answer, no_role, SPAN("image/png"), SPAN("data"));
    call_answer_structured(&answer, SPAN("{\"a\":1}"));
    call_answer_ask(&answer, &(CallAsk){.key = SPAN("k"), .schema = SPAN("{}")});
    call_answer_meta(&answer, SPAN("{}"));
    result = call_answer_result(&answer);
    r = answer.r;
    assert_int_equal(result->error, r == 0 ? CALL_ERROR_NONE : CALL_ERROR_INTERNAL);
    call_answer_deinit(&answer);
    return r;
}

static void want_of_memory_becomes_an_internal_error(void **state)
{
    (void)state;
    test_oom_sweep(build, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_answer_is_a_tool_result_without_content),
        cmocka_unit_test(every_kind_of_block_is_written_and_marked),
        cmocka_unit_test(block_in_a_prompt_is_wrapped_in_a_message),
        cmocka_unit_test(block_given_as_json_is_checked_and_marked_by_its_type),
        cmocka_unit_test(contents_of_a_resource_are_text_or_blob),
        cmocka_unit_test(structured_is_compacted_and_spoken_where_there_is_no_other_content),
        cmocka_unit_test(first_failure_sticks_until_reset),
        cmocka_unit_test(answer_beyond_its_maximum_is_too_large),
        cmocka_unit_test(structured_content_may_have_the_whole_maximum),
        cmocka_unit_test(more_than_a_hundred_values_set_has_more),
        cmocka_unit_test(error_of_the_provider_replaces_the_result),
        cmocka_unit_test(asks_are_copied_and_gathered),
        cmocka_unit_test(json_must_leave_room_for_the_levels_around_it),
        cmocka_unit_test(finish_ends_the_call_and_allocates_nothing_when_used_again),
        cmocka_unit_test(want_of_memory_becomes_an_internal_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
