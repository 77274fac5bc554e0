#include "unit/call/envelope_rig.h"

#include "call/record.h"
#include "support/oom_sweep.h"

static const char *written(EnvelopeRig *rig, CallResult result)
{
    bytes_clear(&rig->out);
    assert_int_equal(call_record_write(&result, &rig->out), 0);
    return arena_copy(&rig->arena, span_from_str(rig_text(rig))).p;
}

static CallResult read_back(EnvelopeRig *rig, const char *json)
{
    CallResult result;

    assert_int_equal(call_record_read(rig_parse(rig, json), &rig->arena, &result), 0);
    return result;
}

/* Written, read and written again it is the same, byte for byte. */
static CallResult round_trip(EnvelopeRig *rig, CallResult result)
{
    const char *first = written(rig, result);
    CallResult back = read_back(rig, first);

    assert_string_equal(written(rig, back), first);
    return back;
}

static void a_tools_result_comes_back_byte_for_byte(void **state)
{
    static const Span pieces[] = {SPAN_INIT("{\"type\":\"text\",\"text\":\"a\"},"),
                                  SPAN_INIT("{\"type\":\"image\",\"data\":\"AA==\","),
                                  SPAN_INIT("\"mimeType\":\"image/png\"}")};
    EnvelopeRig rig;
    CallResult back;

    (void)state;
    rig_init(&rig);
    back = round_trip(&rig, (CallResult){.kind = CALL_RESULT_TOOL,
                                         .pieces = pieces,
                                         .n_pieces = 3,
                                         .structured = SPAN("{\"n\": 9007199254740993,\"o\":1.0}"),
                                         .is_error = true,
                                         .meta = SPAN("{\"a\" : 1e2}"),
                                         .members = SPAN("\"x\": 1, \"y\":2"),
                                         .beside = SPAN("\"z\":[ ]")});
    assert_int_equal(back.kind, CALL_RESULT_TOOL);
    assert_int_equal(back.n_pieces, 1);
    assert_span(back.pieces[0], "{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\",\"data\":"
                                "\"AA==\",\"mimeType\":\"image/png\"}");
    assert_int_equal(back.content_kinds, CALL_CONTENT_TEXT | CALL_CONTENT_IMAGE);
    assert_span(back.structured, "{\"n\": 9007199254740993,\"o\":1.0}");
    assert_true(back.is_error);
    assert_span(back.meta, "{\"a\" : 1e2}");
    assert_span(back.members, "\"x\": 1, \"y\":2");
    assert_span(back.beside, "\"z\":[ ]");
    rig_deinit(&rig);
}

static void what_is_empty_is_left_out(void **state)
{
    EnvelopeRig rig;
    CallResult back;

    (void)state;
    rig_init(&rig);
    assert_string_equal(written(&rig, (CallResult){.kind = CALL_RESULT_TOOL}),
                        "{\"kind\":\"tool\",\"content\":[]}");
    back = round_trip(&rig, (CallResult){.kind = CALL_RESULT_TOOL});
    assert_int_equal(back.n_pieces, 0);
    assert_int_equal(back.structured.n, 0);
    assert_false(back.is_error);
    assert_false(back.says_no_error);
    rig_deinit(&rig);
}

static void what_is_false_or_zero_is_kept_where_it_was_said(void **state)
{
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    assert_string_equal(
        written(&rig, (CallResult){.kind = CALL_RESULT_TOOL, .says_no_error = true}),
        "{\"kind\":\"tool\",\"content\":[],\"isError\":false}");
    assert_true(round_trip(&rig, (CallResult){.kind = CALL_RESULT_TOOL, .says_no_error = true})
                    .says_no_error);
    assert_string_equal(written(&rig, (CallResult){.kind = CALL_RESULT_ERROR,
                                                   .error = CALL_ERROR_OWN,
                                                   .is_relayed = true}),
                        "{\"kind\":\"error\",\"error\":\"own\",\"code\":0}");
    rig_deinit(&rig);
}

static void structured_content_may_be_any_value(void **state)
{
    static const char *const values[] = {"null", "false", "0", "\"\"", "[]", "{}"};
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(values); i++) {
        CallResult back = round_trip(
            &rig, (CallResult){.kind = CALL_RESULT_TOOL, .structured = span_from_str(values[i])});

        assert_span(back.structured, values[i]);
    }
    rig_deinit(&rig);
}

static void every_error_comes_back_with_all_that_it_says(void **state)
{
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < CALL_N_ERRORS; i++) {
        CallResult back = round_trip(&rig, (CallResult){.kind = CALL_RESULT_ERROR,
                                                        .error = (CallError)i,
                                                        .message = SPAN("a \"b\"\n"),
                                                        .data = SPAN("[1.0]"),
                                                        .error_type = SPAN("T"),
                                                        .wire_code = -32000,
                                                        .retry_after_ms = 1});

        assert_int_equal(back.kind, CALL_RESULT_ERROR);
        assert_int_equal(back.error, i);
        assert_span(back.message, "a \"b\"\n");
        assert_span(back.data, "[1.0]");
        assert_span(back.error_type, "T");
        assert_int_equal(back.wire_code, -32000);
        assert_int_equal(back.retry_after_ms, 1);
    }
    rig_deinit(&rig);
}

static void questions_come_back(void **state)
{
    static const CallAsk asks[] = {
        {.key = SPAN_INIT("a\""),
         .kind = CALL_ASK_FORM,
         .message = SPAN_INIT("name?"),
         .schema = SPAN_INIT("{\"type\": \"object\"}")},
        {.key = SPAN_INIT("b"), .kind = CALL_ASK_URL, .url = SPAN_INIT("http://x/")},
        {.key = SPAN_INIT("c"), .kind = CALL_ASK_SAMPLE, .params = SPAN_INIT("{\"n\":1.0}")},
        {.key = SPAN_INIT("d"), .kind = CALL_ASK_ROOTS},
    };
    EnvelopeRig rig;
    CallResult back;

    (void)state;
    rig_init(&rig);
    back = round_trip(&rig, (CallResult){.kind = CALL_RESULT_ASK,
                                         .asks = asks,
                                         .n_asks = TW_ARRAY_SIZE(asks),
                                         .state = SPAN("s")});
    assert_int_equal(back.kind, CALL_RESULT_ASK);
    assert_int_equal(back.n_asks, TW_ARRAY_SIZE(asks));
    for (size_t i = 0; i < TW_ARRAY_SIZE(asks); i++) {
        assert_int_equal(back.asks[i].kind, asks[i].kind);
        assert_true(span_equals(back.asks[i].key, asks[i].key));
        assert_true(span_equals(back.asks[i].message, asks[i].message));
        assert_true(span_equals(back.asks[i].schema, asks[i].schema));
        assert_true(span_equals(back.asks[i].url, asks[i].url));
        assert_true(span_equals(back.asks[i].params, asks[i].params));
    }
    assert_span(back.state, "s");
    rig_deinit(&rig);
}

static void other_kinds_become_bad_result(void **state)
{
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    assert_int_equal(round_trip(&rig, (CallResult){.kind = CALL_RESULT_LIST}).error,
                     CALL_ERROR_BAD_RESULT);
    assert_int_equal(round_trip(&rig, CALL_RESULT_NULL).error, CALL_ERROR_BAD_RESULT);
    rig_deinit(&rig);
}

static void what_is_no_record_is_refused(void **state)
{
    static const char *const wrong[] = {
        "5",
        "[]",
        "{}",
        "{\"kind\":\"list\"}",
        "{\"kind\":5}",
        "{\"kind\":\"tool\",\"content\":{}}",
        "{\"kind\":\"tool\",\"content\":[],\"isError\":1}",
        "{\"kind\":\"tool\",\"content\":[],\"meta\":[]}",
        "{\"kind\":\"tool\",\"content\":[],\"members\":[]}",
        "{\"kind\":\"tool\",\"content\":[],\"beside\":1}",
        "{\"kind\":\"error\"}",
        "{\"kind\":\"error\",\"error\":\"sad\"}",
        "{\"kind\":\"error\",\"error\":\"own\",\"message\":1}",
        "{\"kind\":\"error\",\"error\":\"own\",\"code\":\"1\"}",
        "{\"kind\":\"error\",\"error\":\"own\",\"code\":4294967296}",
        "{\"kind\":\"error\",\"error\":\"own\",\"retryAfterMs\":1.5}",
        "{\"kind\":\"ask\"}",
        "{\"kind\":\"ask\",\"asks\":[]}",
        "{\"kind\":\"ask\",\"asks\":{\"a\":{}}}",
        "{\"kind\":\"ask\",\"asks\":{\"a\":5}}",
        "{\"kind\":\"ask\",\"asks\":{\"a\":{\"kind\":\"form\",\"url\":5}}}",
        "{\"kind\":\"ask\",\"asks\":{},\"state\":5}",
    };
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(wrong); i++) {
        CallResult result;

        assert_int_equal(call_record_read(rig_parse(&rig, wrong[i]), &rig.arena, &result),
                         RECORD_E_MALFORMED);
    }
    rig_deinit(&rig);
}

/* What another version wrote besides is no reason to lose the rest. */
static void unknown_members_and_blocks_are_no_fault(void **state)
{
    EnvelopeRig rig;
    CallResult back;

    (void)state;
    rig_init(&rig);
    back = read_back(&rig, "{\"kind\":\"tool\",\"new\":1,\"content\":[{\"type\":\"hologram\"},5]}");
    assert_true((back.content_kinds & CALL_CONTENT_UNKNOWN) != 0);
    assert_span(back.pieces[0], "{\"type\":\"hologram\"},5");
    back = read_back(&rig, "{\"kind\":\"tool\"}");
    assert_int_equal(back.n_pieces, 0);
    rig_deinit(&rig);
}

static int record_scenario(void *context)
{
    static const CallAsk ask = {.key = SPAN_INIT("a\n"), .kind = CALL_ASK_ROOTS};
    const CallResult results[] = {
        {.kind = CALL_RESULT_TOOL, .pieces = &(Span){"5", 1}, .n_pieces = 1},
        {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_OWN, .message = SPAN("a\n")},
        {.kind = CALL_RESULT_ASK, .asks = &ask, .n_asks = 1},
    };
    EnvelopeRig rig;
    CallResult back;
    JsonDoc doc;
    int r = 0;

    (void)context;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(results) && r == 0; i++) {
        bytes_clear_keep(&rig.out, 0);
        arena_reset(&rig.arena, 0);
        r = call_record_write(&results[i], &rig.out);
        if (r == 0) {
            r = json_parse(&doc, &rig.arena, rig.out.data, rig.out.n, NULL, NULL);
        }
        if (r == 0) {
            r = call_record_read(json_root(&doc), &rig.arena, &back);
        }
    }
    rig_deinit(&rig);
    return r;
}

static void want_of_memory_and_of_room_are_said(void **state)
{
    CallResult result = {.kind = CALL_RESULT_TOOL};
    Bytes out;

    (void)state;
    test_oom_sweep(record_scenario, NULL);
    bytes_init(&out, 10);
    assert_int_equal(call_record_write(&result, &out), BYTES_E_FULL);
    assert_int_equal(out.n, 0);
    bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tools_result_comes_back_byte_for_byte),
        cmocka_unit_test(what_is_empty_is_left_out),
        cmocka_unit_test(what_is_false_or_zero_is_kept_where_it_was_said),
        cmocka_unit_test(structured_content_may_be_any_value),
        cmocka_unit_test(every_error_comes_back_with_all_that_it_says),
        cmocka_unit_test(questions_come_back),
        cmocka_unit_test(other_kinds_become_bad_result),
        cmocka_unit_test(what_is_no_record_is_refused),
        cmocka_unit_test(unknown_members_and_blocks_are_no_fault),
        cmocka_unit_test(want_of_memory_and_of_room_are_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
