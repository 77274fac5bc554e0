#include "unit/call/envelope_rig.h"

#include "base/limits.h"
#include "support/oom_sweep.h"

static Envelope of_result(EnvelopeRig *rig, CallResult result)
{
    Envelope envelope;

    assert_int_equal(envelope_of_result(&result, &rig->arena, &envelope), 0);
    return envelope;
}

static Envelope of_structured(EnvelopeRig *rig, const char *json, bool is_error)
{
    return of_result(rig, (CallResult){.kind = CALL_RESULT_TOOL,
                                       .structured = span_from_str(json),
                                       .is_error = is_error});
}

static Envelope of_content(EnvelopeRig *rig, const char *blocks, bool is_error)
{
    Span pieces[2] = {span_from_str(blocks), SPAN_NULL};

    return of_result(
        rig, (CallResult){
                 .kind = CALL_RESULT_TOOL, .pieces = pieces, .n_pieces = 2, .is_error = is_error});
}

static void structured_content_is_read_as_an_answer(void **state)
{
    EnvelopeRig rig;
    Envelope envelope;

    (void)state;
    rig_init(&rig);
    envelope = of_structured(&rig, "{\"n\":1.0,\"success\":false,\"errorCode\":\"E\"}", false);
    assert_false(envelope.is_ok);
    assert_span(envelope.code, "E");
    envelope = of_structured(&rig, "{\"n\":1.0}", false);
    assert_true(envelope.is_ok);
    assert_span(envelope.own, "\"n\":1.0");
    envelope = of_structured(&rig, "[1]", false);
    assert_span(envelope.own, "\"result\":[1]");
    rig_deinit(&rig);
}

static void it_failed_if_anything_says_so(void **state)
{
    EnvelopeRig rig;
    Envelope envelope;

    (void)state;
    rig_init(&rig);
    envelope = of_structured(&rig, "{\"ok\":true,\"code\":\"OK\",\"msg\":\"m\"}", true);
    assert_false(envelope.is_ok);
    assert_span(envelope.code, "");
    envelope = of_structured(&rig, "{\"ok\":false,\"code\":\"E\"}", false);
    assert_false(envelope.is_ok);
    envelope = of_content(&rig, "{\"type\":\"text\",\"text\":\"it broke\"}", true);
    assert_false(envelope.is_ok);
    assert_span(envelope.message, "it broke");
    assert_span(envelope.own, "");
    rig_deinit(&rig);
}

static void structured_content_that_is_no_json_is_a_serialize_error(void **state)
{
    EnvelopeRig rig;
    Envelope envelope;

    (void)state;
    rig_init(&rig);
    envelope = of_structured(&rig, "{\"n\":", false);
    assert_false(envelope.is_ok);
    assert_span(envelope.code, "SERIALIZE_ERROR");
    envelope = of_result(&rig, (CallResult){.kind = CALL_RESULT_RESOURCE});
    assert_span(envelope.code, "SERIALIZE_ERROR");
    rig_deinit(&rig);
}

static void text_is_the_json_that_it_holds_or_words(void **state)
{
    static const char *const cases[][2] = {
        {"{\"type\":\"text\",\"text\":\"{\\\"n\\\":9007199254740993}\"}", "\"n\":9007199254740993"},
        {"{\"type\":\"text\",\"text\":\"[1.0]\"}", "\"result\":[1.0]"},
        {"{\"type\":\"text\",\"text\":\"12 walls\"}", "\"result\":\"12 walls\""},
        {"{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\",\"data\":\"\"},{\"type\":\"text\","
         "\"text\":\"b\"}",
         "\"result\":\"a\\nb\""},
        {"{\"type\":\"image\",\"data\":\"AA==\",\"mimeType\":\"image/png\"}", ""},
        {"{\"type\":\"text\",\"text\":5}", ""},
        {"{\"type\":\"text\",\"text\":\"\"}", "\"result\":\"\""},
        {"not JSON", ""},
        {"", ""},
    };
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Envelope envelope = of_content(&rig, cases[i][0], false);

        assert_true(envelope.is_ok);
        assert_span(envelope.own, cases[i][1]);
    }
    rig_deinit(&rig);
}

/* JSON that is nested as deep as may be would be too deep one level further down. */
static void text_that_is_nested_too_deep_is_words(void **state)
{
    char text[64 + 2 * LIMIT_JSON_DEPTH];
    size_t depth = LIMIT_JSON_DEPTH - 2;
    EnvelopeRig rig;
    Envelope envelope;
    int n = snprintf(text, sizeof(text), "{\"type\":\"text\",\"text\":\"");

    (void)state;
    rig_init(&rig);
    memset(text + n, '[', depth);
    memset(text + (size_t)n + depth, ']', depth);
    (void)snprintf(text + (size_t)n + 2 * depth, 4, "\"}");
    envelope = of_content(&rig, text, false);
    assert_true(span_starts_with(envelope.own, SPAN("\"result\":\"[[[")));
    rig_deinit(&rig);
}

static void an_empty_result_is_a_success(void **state)
{
    EnvelopeRig rig;
    Envelope envelope;

    (void)state;
    rig_init(&rig);
    envelope = of_result(&rig, CALL_RESULT_NULL);
    assert_true(envelope.is_ok);
    envelope = of_result(&rig, (CallResult){.kind = CALL_RESULT_TOOL});
    assert_true(envelope.is_ok);
    assert_string_equal(rig_write(&rig, &envelope),
                        "{\"ok\":true,\"code\":\"OK\",\"msg\":\"OK\"," TAIL);
    rig_deinit(&rig);
}

static void every_error_becomes_an_envelope_with_its_code(void **state)
{
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 1; i < CALL_N_ERRORS; i++) {
        CallError error = (CallError)i;
        Envelope envelope =
            of_result(&rig, (CallResult){.kind = CALL_RESULT_ERROR, .error = error});

        assert_false(envelope.is_ok);
        assert_span(envelope.code, envelope_code_name(envelope_code_of(error)));
        assert_span(envelope.message, call_error_text(error));
    }
    rig_deinit(&rig);
}

static void an_error_keeps_what_it_says(void **state)
{
    EnvelopeRig rig;
    Envelope envelope;

    (void)state;
    rig_init(&rig);
    envelope = of_result(&rig, (CallResult){.kind = CALL_RESULT_ERROR,
                                            .error = CALL_ERROR_RAISED,
                                            .message = SPAN("boom"),
                                            .data = SPAN("[1.0]"),
                                            .error_type = SPAN("Value\"Error"),
                                            .wire_code = -32000,
                                            .retry_after_ms = 250});
    assert_span(envelope.code, "UNHANDLED_EXCEPTION");
    assert_span(envelope.message, "boom");
    assert_span(envelope.own, "\"data\":[1.0],\"errorType\":\"Value\\\"Error\",\"errorNumber\":"
                              "-32000,\"retryAfterMs\":250");
    rig_deinit(&rig);
}

static void an_error_that_carries_an_envelope_is_that(void **state)
{
    EnvelopeRig rig;
    Envelope envelope;
    CallResult error = {.kind = CALL_RESULT_ERROR,
                        .error = CALL_ERROR_OWN,
                        .message = SPAN("m"),
                        .data = SPAN("{\"ok\":true,\"code\":\"OK\",\"n\":1}")};

    (void)state;
    rig_init(&rig);
    envelope = of_result(&rig, error);
    assert_false(envelope.is_ok);
    assert_span(envelope.code, "");
    assert_span(envelope.own, "\"n\":1");
    error.data = SPAN("{\"code\":\"E\"}");
    envelope = of_result(&rig, error);
    assert_span(envelope.code, "ERROR");
    assert_span(envelope.own, "\"data\":{\"code\":\"E\"}");
    error.data = SPAN("{broken");
    error.data.n = 0;
    assert_span(of_result(&rig, error).own, "");
    /* What there is instead of an unknown tool. */
    error.error = CALL_ERROR_UNKNOWN_TOOL;
    error.data = SPAN("{\"ok\":false,\"code\":\"UNKNOWN_COMMAND\",\"nextActions\":[{\"method\":"
                      "\"echo\",\"reason\":\"r\"}]}");
    envelope = of_result(&rig, error);
    assert_span(envelope.code, "UNKNOWN_COMMAND");
    assert_span(envelope.next_actions, "[{\"method\":\"echo\",\"reason\":\"r\"}]");
    rig_deinit(&rig);
}

static int result_scenario(void *context)
{
    static const Span piece = SPAN_INIT("{\"type\":\"text\",\"text\":\"a\\nb\"}");
    const CallResult results[] = {
        {.kind = CALL_RESULT_TOOL, .pieces = &piece, .n_pieces = 1},
        {.kind = CALL_RESULT_TOOL, .structured = SPAN("{\"a\":1,\"ok\":true,\"b\":2}")},
        {.kind = CALL_RESULT_ERROR,
         .error = CALL_ERROR_RAISED,
         .data = SPAN("1"),
         .error_type = SPAN("T"),
         .wire_code = 4},
        {.kind = CALL_RESULT_ERROR, .error = CALL_ERROR_OWN, .data = SPAN("{\"ok\":false}")},
    };
    Envelope envelope;
    EnvelopeRig rig;
    int r = 0;

    (void)context;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(results) && r == 0; i++) {
        r = envelope_of_result(&results[i], &rig.arena, &envelope);
        arena_reset(&rig.arena, 0);
    }
    rig_deinit(&rig);
    return r;
}

static void want_of_memory_is_an_error(void **state)
{
    (void)state;
    test_oom_sweep(result_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structured_content_is_read_as_an_answer),
        cmocka_unit_test(it_failed_if_anything_says_so),
        cmocka_unit_test(structured_content_that_is_no_json_is_a_serialize_error),
        cmocka_unit_test(text_is_the_json_that_it_holds_or_words),
        cmocka_unit_test(text_that_is_nested_too_deep_is_words),
        cmocka_unit_test(an_empty_result_is_a_success),
        cmocka_unit_test(every_error_becomes_an_envelope_with_its_code),
        cmocka_unit_test(an_error_keeps_what_it_says),
        cmocka_unit_test(an_error_that_carries_an_envelope_is_that),
        cmocka_unit_test(want_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
