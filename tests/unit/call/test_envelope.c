#include "unit/call/envelope_rig.h"

#include "support/oom_sweep.h"

/* ---- codes ---- */

static void every_code_has_a_name_and_words_and_is_read_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < ENVELOPE_N_CODES; i++) {
        EnvelopeCode code = (EnvelopeCode)i;
        EnvelopeCode back = ENVELOPE_N_CODES;

        assert_true(strlen(envelope_code_text(code)) > 0);
        assert_true(envelope_code_parse(span_from_str(envelope_code_name(code)), &back));
        assert_int_equal(back, code);
    }
    assert_string_equal(envelope_code_name(ENVELOPE_FAILURE_HANDLING),
                        "FAILURE_HANDLING_CONFIRMATION_REQUIRED");
    assert_false(envelope_code_parse(SPAN("ok"), &(EnvelopeCode){ENVELOPE_OK}));
    assert_false(envelope_code_parse(SPAN_NULL, &(EnvelopeCode){ENVELOPE_OK}));
}

static void every_error_of_a_call_has_a_code(void **state)
{
    (void)state;
    assert_int_equal(envelope_code_of(CALL_ERROR_NONE), ENVELOPE_OK);
    for (size_t i = 1; i < CALL_N_ERRORS; i++) {
        assert_int_not_equal(envelope_code_of((CallError)i), ENVELOPE_OK);
    }
    assert_int_equal(envelope_code_of(CALL_ERROR_UNKNOWN_TOOL), ENVELOPE_UNKNOWN_COMMAND);
    assert_int_equal(envelope_code_of(CALL_ERROR_INVALID_ARGUMENTS), ENVELOPE_INVALID_PARAMS);
    assert_int_equal(envelope_code_of(CALL_ERROR_RATE), ENVELOPE_RATE_LIMITED);
    assert_int_equal(envelope_code_of((CallError)1000), ENVELOPE_INTERNAL);
}

static void what_may_succeed_later_is_retryable(void **state)
{
    (void)state;
    for (size_t i = 0; i < ENVELOPE_N_CODES; i++) {
        bool is = i == ENVELOPE_TIMEOUT || i == ENVELOPE_UNAVAILABLE || i == ENVELOPE_BUSY ||
                  i == ENVELOPE_RATE_LIMITED;

        assert_int_equal(envelope_code_is_retryable((EnvelopeCode)i), is);
    }
}

/* ---- writing ---- */

static void the_standard_fields_are_always_present_behind_the_commands_own(void **state)
{
    EnvelopeRig rig;
    Envelope envelope = {.is_ok = true, .run_us = -1};

    (void)state;
    rig_init(&rig);
    assert_string_equal(rig_write(&rig, &envelope),
                        "{\"ok\":true,\"code\":\"OK\",\"msg\":\"OK\"," TAIL);
    envelope = (Envelope){.run_us = -1, .own = SPAN("\"a\":1, \"b\":2")};
    assert_string_equal(
        rig_write(&rig, &envelope),
        "{\"a\":1, \"b\":2,\"ok\":false,\"code\":\"ERROR\",\"msg\":\"Failed\"," TAIL);
    rig_deinit(&rig);
}

static void a_known_code_brings_its_words(void **state)
{
    EnvelopeRig rig;
    Envelope envelope = {.code = SPAN("NO_DOC"), .run_us = -1};

    (void)state;
    rig_init(&rig);
    assert_string_equal(rig_at(&rig, rig_write(&rig, &envelope), "/msg"),
                        "\"No document is open\"");
    envelope.message = SPAN("a \"b\"\n");
    assert_string_equal(rig_at(&rig, rig_write(&rig, &envelope), "/msg"), "\"a \\\"b\\\"\\n\"");
    /* A name that says the contrary of ok brings none. */
    envelope = (Envelope){.is_ok = true, .code = SPAN("NO_DOC"), .run_us = -1};
    assert_string_equal(rig_at(&rig, rig_write(&rig, &envelope), "/msg"), "\"OK\"");
    envelope = (Envelope){.code = SPAN("MY_OWN"), .run_us = -1};
    assert_string_equal(rig_at(&rig, rig_write(&rig, &envelope), "/msg"), "\"Failed\"");
    rig_deinit(&rig);
}

static void times_add_up_whatever_was_measured_where(void **state)
{
    static const struct {
        EnvelopeTimes times;
        int64_t said_us; /* by the application */
        const char *written;
    } cases[] = {
        {{0, -1, 0}, -1, "0 0 0 0"},
        {{1000, -1, 5000}, -1, "1 4 0 5"},
        {{1000, 3000, 5000}, -1, "1 3 1 5"},
        {{1000, 0, 5000}, -1, "1 0 4 5"},
        {{1000, 3000, 5000}, 2000, "1 2 2 5"},
        /* Clocks that disagree: no part is longer than the whole. */
        {{1000, -1, 5000}, 90000, "1 4 0 5"},
        {{9000, -1, 5000}, 2000, "5 0 0 5"},
        {{-5, -1, 5000}, -1, "0 5 0 5"},
        {{0, -1, -5}, 7, "0 0 0 0"},
        /* True milliseconds, not whole ones. */
        {{1, -1, 1234567}, 125, "0.001 0.125 1234.441 1234.567"},
        {{500, -1, 12500}, 10, "0.5 0.01 11.99 12.5"},
    };
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Envelope envelope = {.is_ok = true, .run_us = cases[i].said_us};
        char line[128];
        const char *json;

        bytes_clear(&rig.out);
        assert_int_equal(envelope_write(&envelope, &cases[i].times, SPAN_NULL, &rig.out), 0);
        json = rig_text(&rig);
        (void)snprintf(
            line, sizeof(line), "%s %s %s %s", rig_at(&rig, json, "/timings/queueWaitMs"),
            rig_at(&rig, json, "/timings/revitMs"), rig_at(&rig, json, "/timings/transferMs"),
            rig_at(&rig, json, "/timings/totalMs"));
        assert_string_equal(line, cases[i].written);
        assert_string_equal(rig_at(&rig, json, "/context"), "{}");
    }
    rig_deinit(&rig);
}

static void other_times_that_were_measured_are_kept(void **state)
{
    EnvelopeRig rig;
    Envelope envelope = {
        .is_ok = true,
        .run_us = -1,
        .timings = SPAN("{\"queueWaitMs\":7,\"transactionMs\":1.50,\"totalMs\":9,\"uiMs\":{\"a\":1}"
                        ",\"revit\\u004ds\":8}")};

    (void)state;
    rig_init(&rig);
    assert_string_equal(rig_at(&rig, rig_write(&rig, &envelope), "/timings"),
                        "{\"queueWaitMs\":0,\"revitMs\":1,\"transferMs\":0,\"totalMs\":1,"
                        "\"transactionMs\":1.50,\"uiMs\":{\"a\":1}}");
    rig_deinit(&rig);
}

static void a_full_buffer_is_said_and_left_as_it_was(void **state)
{
    Envelope envelope = {.is_ok = true, .run_us = -1};
    EnvelopeTimes times = {.total_us = 1};
    Bytes out;

    (void)state;
    bytes_init(&out, 40);
    assert_int_equal(bytes_append_byte(&out, 'x'), 0);
    assert_int_equal(envelope_write(&envelope, &times, SPAN("m"), &out), BYTES_E_FULL);
    assert_int_equal(out.n, 1);
    bytes_deinit(&out);
}

static int write_scenario(void *context)
{
    Envelope envelope = {.is_ok = true, .run_us = -1, .timings = SPAN("{\"uiMs\":1}")};
    EnvelopeTimes times = {.total_us = 1};
    Bytes out;
    int r;

    (void)context;
    bytes_init(&out, 4096);
    r = envelope_write(&envelope, &times, SPAN("m"), &out);
    bytes_deinit(&out);
    return r;
}

static void want_of_memory_while_writing_is_an_error(void **state)
{
    (void)state;
    test_oom_sweep(write_scenario, NULL);
}

/* ---- names that are near ---- */

static void an_unknown_command_gets_the_nearest_names_and_list_commands(void **state)
{
    static const Span names[] = {SPAN_INIT("get_rooms"),     SPAN_INIT("get_wall"),
                                 SPAN_INIT("get_walls_all"), SPAN_INIT("get_walls"),
                                 SPAN_INIT("zzz"),           SPAN_INIT("set_walls")};
    static const char *const wanted[] = {"\"get_wall\"", "\"get_walls\"", "\"set_walls\"",
                                         "\"list_commands\""};
    EnvelopeRig rig;
    const char *json;

    (void)state;
    rig_init(&rig);
    assert_int_equal(
        envelope_write_nearest(SPAN("get_wals"), names, TW_ARRAY_SIZE(names), &rig.out), 0);
    json = rig_text(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(wanted); i++) {
        char pointer[32];

        (void)snprintf(pointer, sizeof(pointer), "/%zu/method", i);
        assert_string_equal(rig_at(&rig, json, pointer), wanted[i]);
        (void)snprintf(pointer, sizeof(pointer), "/%zu/reason", i);
        assert_true(strlen(rig_at(&rig, json, pointer)) > 2);
    }
    assert_string_equal(rig_at(&rig, json, "/4"), "");
    bytes_clear(&rig.out);
    assert_int_equal(envelope_write_nearest(SPAN_NULL, NULL, 0, &rig.out), 0);
    assert_string_equal(rig_at(&rig, rig_text(&rig), "/0/method"), "\"list_commands\"");
    rig_deinit(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_a_name_and_words_and_is_read_back),
        cmocka_unit_test(every_error_of_a_call_has_a_code),
        cmocka_unit_test(what_may_succeed_later_is_retryable),
        cmocka_unit_test(the_standard_fields_are_always_present_behind_the_commands_own),
        cmocka_unit_test(a_known_code_brings_its_words),
        cmocka_unit_test(times_add_up_whatever_was_measured_where),
        cmocka_unit_test(other_times_that_were_measured_are_kept),
        cmocka_unit_test(a_full_buffer_is_said_and_left_as_it_was),
        cmocka_unit_test(want_of_memory_while_writing_is_an_error),
        cmocka_unit_test(an_unknown_command_gets_the_nearest_names_and_list_commands),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
