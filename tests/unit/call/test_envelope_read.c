#include "unit/call/envelope_rig.h"

#include "support/oom_sweep.h"

static void ok_is_read_from_ok_then_success_then_true(void **state)
{
    static const struct {
        const char *json;
        bool is_ok;
    } cases[] = {
        {"{}", true},
        {"{\"ok\":true}", true},
        {"{\"ok\":false}", false},
        {"{\"success\":true}", true},
        {"{\"success\":false}", false},
        {"{\"ok\":true,\"success\":false}", true},
        {"{\"ok\":false,\"success\":true}", false},
        {"{\"ok\":\"no\",\"success\":false}", false},
        {"{\"success\":\"false\"}", true},
        /* Nothing but true is success. */
        {"{\"ok\":0}", false},
        {"{\"ok\":1}", false},
        {"{\"ok\":null}", false},
        {"{\"ok\":\"false\"}", false},
        {"{\"ok\":\"true\",\"success\":true}", false},
        /* A code of a failure says so; data that is called so does not. */
        {"{\"code\":\"UNKNOWN_COMMAND\"}", false},
        {"{\"code\":\"TIMEOUT\"}", false},
        {"{\"code\":\"E_THEIR_OWN2\"}", false},
        {"{\"errorCode\":\"NOT_FOUND\"}", false},
        {"{\"code\":\"OK\"}", true},
        {"{\"code\":\"NOT_FOUND\",\"ok\":true}", true},
        {"{\"code\":\"NOT_FOUND\",\"success\":true}", true},
        {"{\"code\":\"EUR\"}", true},
        {"{\"code\":\"2_X\"}", true},
        {"{\"code\":\"MAX_SIZE = 5;\"}", true},
        {"{\"code\":7}", true},
    };
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        assert_int_equal(rig_read(&rig, cases[i].json).is_ok, cases[i].is_ok);
    }
    rig_deinit(&rig);
}

static void code_is_read_from_code_then_error_code(void **state)
{
    static const char *const cases[][2] = {
        {"{\"ok\":false,\"code\":\"A\",\"errorCode\":\"B\"}", "A"},
        {"{\"ok\":false,\"errorCode\":\"B\"}", "B"},
        {"{\"ok\":false,\"code\":\"\",\"errorCode\":\"B\"}", "B"},
        {"{\"ok\":false,\"code\":null,\"errorCode\":\"B\"}", "B"},
        {"{\"ok\":false,\"code\":-7}", "-7"},
        {"{\"ok\":false}", ""},
        {"{\"ok\":true}", ""},
        {"{\"ok\":true,\"code\":\"OK\"}", "OK"},
        /* Who branches on the code must not take a failure for a success. */
        {"{\"ok\":false,\"code\":\"OK\"}", ""},
        {"{\"ok\":false,\"code\":\"\\u0041\"}", "A"},
        {"{\"ok\":\"false\"}", "INVALID_RESULT"},
        {"{\"ok\":null,\"code\":\"OK\"}", "INVALID_RESULT"},
        {"{\"ok\":0,\"code\":\"NO_DOC\"}", "NO_DOC"},
    };
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        assert_span(rig_read(&rig, cases[i][0]).code, cases[i][1]);
    }
    rig_deinit(&rig);
}

static void msg_is_read_from_msg_then_message(void **state)
{
    static const char *const cases[][2] = {
        {"{\"msg\":\"a\",\"message\":\"b\"}", "a"}, {"{\"message\":\"b\"}", "b"},
        {"{\"msg\":\"\",\"message\":\"b\"}", "b"},  {"{\"msg\":5,\"message\":\"b\"}", "b"},
        {"{\"msg\":\"\\u00e9\\n\"}", "\xc3\xa9\n"}, {"{}", ""},
    };
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        assert_span(rig_read(&rig, cases[i][0]).message, cases[i][1]);
    }
    rig_deinit(&rig);
}

static void a_single_warning_becomes_an_array_of_one(void **state)
{
    static const char *const cases[][2] = {
        {"{\"warnings\":\"w\"}", "[\"w\"]"},
        {"{\"warnings\":5}", "[\"5\"]"},
        {"{\"warnings\":{\"a\":1}}", "[\"{\\\"a\\\":1}\"]"},
        {"{\"warnings\":[\"a\", \"b\"]}", "[\"a\", \"b\"]"},
        {"{\"warnings\":[\"a\",1,null]}", "[\"a\",\"1\",\"null\"]"},
        {"{\"warnings\":[]}", "[]"},
        {"{\"warnings\":null}", ""},
        {"{}", ""},
    };
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        assert_span(rig_read(&rig, cases[i][0]).warnings, cases[i][1]);
    }
    rig_deinit(&rig);
}

static void next_actions_are_objects_with_a_method(void **state)
{
    static const char *const cases[][2] = {
        {"{\"nextActions\":[{\"method\":\"a\",\"reason\":\"r\"}]}",
         "[{\"method\":\"a\",\"reason\":\"r\"}]"},
        {"{\"nextActions\":{\"method\":\"a\"}}", "[{\"method\":\"a\"}]"},
        {"{\"nextActions\":\"get_walls\"}", "[{\"method\":\"get_walls\",\"reason\":\"\"}]"},
        {"{\"nextActions\":[\"a\",null,{\"method\":\"b\"}]}",
         "[{\"method\":\"a\",\"reason\":\"\"},{\"method\":\"b\"}]"},
        {"{\"nextActions\":null}", ""},
    };
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        assert_span(rig_read(&rig, cases[i][0]).next_actions, cases[i][1]);
    }
    rig_deinit(&rig);
}

static void the_payload_is_at_result_result_or_at_result(void **state)
{
    static const char *const cases[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\","
        "\"result\":{\"ok\":false,\"code\":\"X\",\"n\":1}}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"ok\":false,\"code\":\"X\",\"n\":1}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"method\":\"m\",\"result\":{\"ok\":false,"
        "\"code\":\"X\",\"n\":1}}}",
        "{\"ok\":false,\"code\":\"X\",\"n\":1}",
    };
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Envelope envelope = rig_read(&rig, cases[i]);

        assert_false(envelope.is_ok);
        assert_true(envelope.is_standard);
        assert_span(envelope.code, "X");
        assert_span(envelope.own, "\"n\":1");
    }
    rig_deinit(&rig);
}

/* A command may have a member `result` of its own. */
static void what_is_no_wrapper_is_not_opened(void **state)
{
    static const char *const cases[][2] = {
        {"{\"result\":{\"ok\":true}}", "\"result\":{\"ok\":true}"},
        {"{\"ok\":true,\"jsonrpc\":\"2.0\",\"result\":5}", "\"jsonrpc\":\"2.0\",\"result\":5"},
        {"{\"jsonrpc\":\"2.0\",\"result\":{\"result\":{\"n\":1}}}", "\"result\":{\"n\":1}"},
        {"{\"jsonrpc\":\"2.0\",\"result\":{\"ok\":true,\"result\":{\"ok\":false}}}",
         "\"result\":{\"ok\":false}"},
        {"{\"jsonrpc\":\"2.0\",\"id\":3}", "\"jsonrpc\":\"2.0\",\"id\":3"},
    };
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Envelope envelope = rig_read(&rig, cases[i][0]);

        assert_true(envelope.is_ok);
        assert_span(envelope.own, cases[i][1]);
    }
    rig_deinit(&rig);
}

static void what_is_no_object_is_put_under_result(void **state)
{
    static const char *const cases[][2] = {
        {"5", "\"result\":5"},
        {"null", "\"result\":null"},
        {"[1, 9007199254740993]", "\"result\":[1, 9007199254740993]"},
        {"\"a\"", "\"result\":\"a\""},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[1]}", "\"result\":[1]"},
        {"[1,\n2]", "\"result\":[1,2]"},
    };
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Envelope envelope = rig_read(&rig, cases[i][0]);

        assert_true(envelope.is_ok);
        assert_false(envelope.is_standard);
        assert_span(envelope.own, cases[i][1]);
    }
    rig_deinit(&rig);
}

static void an_error_of_json_rpc_is_a_failure(void **state)
{
    static const char *const cases[][3] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"no\"}}",
         "UNKNOWN_COMMAND", "no"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"no\"}}",
         "INVALID_PARAMS", "no"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32603}}", "INTERNAL", ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":7,\"message\":5}}", "", ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"gone\"}", "", ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"m\",\"data\":{\"ok\":"
         "true,\"code\":\"OK\",\"msg\":\"inner\"}}}",
         "", "inner"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"data\":{\"ok\":false,\"code\":\"NO_DOC\"}}}",
         "NO_DOC", ""},
    };
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Envelope envelope = rig_read(&rig, cases[i][0]);

        assert_false(envelope.is_ok);
        assert_span(envelope.code, cases[i][1]);
        assert_span(envelope.message, cases[i][2]);
        assert_false(span_equals(envelope.code, SPAN("OK")));
    }
    assert_span(rig_read(&rig, cases[3][0]).own, "\"error\":{\"code\":7,\"message\":5}");
    rig_deinit(&rig);
}

static void own_members_are_byte_for_byte(void **state)
{
    static const char *const cases[][2] = {
        {"{\"big\":9007199254740993,\"one\":1.0,\"e\":1E+2}",
         "\"big\":9007199254740993,\"one\":1.0,\"e\":1E+2"},
        {"{ \"a\" : 1 , \"b\" : [ 2 ] }", "\"a\" : 1 , \"b\" : [ 2 ]"},
        {"{\"ok\":true,\"a\":1}", "\"a\":1"},
        {"{\"a\":1,\"ok\":true}", "\"a\":1"},
        {"{\"a\":1,\"ok\":true,\"b\":2,\"code\":\"OK\",\"c\":3}", "\"a\":1,\"b\":2,\"c\":3"},
        {"{\"a\":1,\"a\":2,\"\\u006fk\":true}", "\"a\":1,\"a\":2"},
        {"{\"success\":false,\"errorCode\":\"X\",\"message\":\"m\"}",
         "\"success\":false,\"errorCode\":\"X\",\"message\":\"m\""},
        {"{\"ok\":true}", ""},
        /* A message is one line. */
        {"{\"a\":\n 1.0,\r\n\"ok\":true,\"b\":{ }}", "\"a\":1.0,\"b\":{}"},
    };
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        assert_span(rig_read(&rig, cases[i][0]).own, cases[i][1]);
    }
    rig_deinit(&rig);
}

static void the_time_of_the_application_is_read_where_it_says_one(void **state)
{
    static const struct {
        const char *json;
        int64_t run_us;
    } cases[] = {
        {"{\"timings\":{\"revitMs\":12}}", 12000},
        {"{\"timings\":{\"revitMs\":0.125}}", 125},
        {"{\"timings\":{\"revitMs\":1e30}}", 1000000000000000},
        {"{\"timings\":{\"revitMs\":0}}", -1},
        {"{\"timings\":{\"revitMs\":-5}}", -1},
        {"{\"timings\":{\"revitMs\":0.0001}}", -1},
        {"{\"timings\":{\"revitMs\":\"5\"}}", -1},
        {"{\"timings\":{}}", -1},
        {"{\"timings\":5}", -1},
        {"{}", -1},
    };
    EnvelopeRig rig;

    (void)state;
    rig_init(&rig);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        assert_int_equal(rig_read(&rig, cases[i].json).run_us, cases[i].run_us);
    }
    rig_deinit(&rig);
}

/* Members of the envelope that are not what they must be are not passed on as such. */
static void wrong_members_are_replaced(void **state)
{
    EnvelopeRig rig;
    Envelope envelope;

    (void)state;
    rig_init(&rig);
    envelope =
        rig_read(&rig, "{\"ok\":true,\"code\":[],\"msg\":{},\"timings\":[],\"context\":\"c\"}");
    assert_string_equal(rig_write(&rig, &envelope),
                        "{\"ok\":true,\"code\":\"OK\",\"msg\":\"OK\"," TAIL);
    rig_deinit(&rig);
}

static void what_was_written_is_read_again_as_the_same(void **state)
{
    EnvelopeRig rig;
    Envelope envelope;
    const char *first;

    (void)state;
    rig_init(&rig);
    envelope =
        rig_read(&rig, "{\"n\":1.0,\"success\":false,\"errorCode\":\"E\",\"message\":\"m\","
                       "\"warnings\":\"w\",\"nextActions\":\"a\",\"context\":{\"docTitle\":\"d\"},"
                       "\"timings\":{\"uiMs\":2}}");
    first = arena_copy(&rig.arena, span_from_str(rig_write(&rig, &envelope))).p;
    envelope = rig_read(&rig, first);
    assert_true(envelope.is_standard);
    assert_string_equal(rig_write(&rig, &envelope), first);
    rig_deinit(&rig);
}

static int read_scenario(void *context)
{
    static const char json[] = "{\"a\":1,\"ok\":false,\"b\":\n2,\"warnings\":[1],\"nextActions\":"
                               "\"x\",\"msg\":\"\\u0041\",\"code\":\"\\u0042\",\"context\":{\n}}";
    EnvelopeRig rig;
    Envelope envelope;
    JsonDoc doc;
    int r;

    (void)context;
    rig_init(&rig);
    r = json_parse(&doc, &rig.arena, json, sizeof(json) - 1, NULL, NULL);
    if (r == 0) {
        r = envelope_read(json_root(&doc), &rig.arena, &envelope);
    }
    if (r == 0) {
        assert_span(envelope.own, "\"a\":1,\"b\":2");
    }
    rig_deinit(&rig);
    return r;
}

static void want_of_memory_while_reading_is_an_error(void **state)
{
    (void)state;
    test_oom_sweep(read_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ok_is_read_from_ok_then_success_then_true),
        cmocka_unit_test(code_is_read_from_code_then_error_code),
        cmocka_unit_test(msg_is_read_from_msg_then_message),
        cmocka_unit_test(a_single_warning_becomes_an_array_of_one),
        cmocka_unit_test(next_actions_are_objects_with_a_method),
        cmocka_unit_test(the_payload_is_at_result_result_or_at_result),
        cmocka_unit_test(what_is_no_wrapper_is_not_opened),
        cmocka_unit_test(what_is_no_object_is_put_under_result),
        cmocka_unit_test(an_error_of_json_rpc_is_a_failure),
        cmocka_unit_test(own_members_are_byte_for_byte),
        cmocka_unit_test(the_time_of_the_application_is_read_where_it_says_one),
        cmocka_unit_test(wrong_members_are_replaced),
        cmocka_unit_test(what_was_written_is_read_again_as_the_same),
        cmocka_unit_test(want_of_memory_while_reading_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
