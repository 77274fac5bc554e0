#include "support/cmocka.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <toolwire/toolwire.h>

#include "support/oom_sweep.h"

static void values_are_written_with_their_commas(void **state)
{
    TwJson *json = tw_json_new();

    (void)state;
    tw_json_object(json);
    tw_json_key(json, "a");
    tw_json_array(json);
    tw_json_int(json, -7);
    tw_json_double(json, 0.5);
    tw_json_double(json, NAN);
    tw_json_bool(json, true);
    tw_json_null(json);
    tw_json_end(json);
    tw_json_key(json, "b\"");
    tw_json_string(json, "x\ny");
    tw_json_key(json, "c");
    tw_json_string_n(json, "p\0q", 3);
    tw_json_key(json, "d");
    tw_json_raw(json, " { \"z\" : [ 1 ] } ");
    tw_json_end(json);
    assert_string_equal(tw_json_text(json), "{\"a\":[-7,0.5,null,true,null],\"b\\\"\":\"x\\ny\","
                                            "\"c\":\"p\\u0000q\",\"d\":{\"z\":[1]}}");
    tw_json_free(json);
}

static void text_is_there_only_when_it_is_complete(void **state)
{
    TwJson *json = tw_json_new();

    (void)state;
    assert_null(tw_json_text(json));
    tw_json_array(json);
    assert_null(tw_json_text(json));
    tw_json_end(json);
    assert_string_equal(tw_json_text(json), "[]");
    tw_json_reset(json);
    tw_json_int(json, 5);
    assert_string_equal(tw_json_text(json), "5");
    tw_json_free(json);
}

/* Each step makes the text fail, and stays so until reset. */
static void value_without_key(TwJson *json)
{
    tw_json_object(json);
    tw_json_int(json, 1);
}

static void key_in_an_array(TwJson *json)
{
    tw_json_array(json);
    tw_json_key(json, "k");
}

static void key_twice(TwJson *json)
{
    tw_json_object(json);
    tw_json_key(json, "k");
    tw_json_key(json, "k");
}

static void end_behind_a_key(TwJson *json)
{
    tw_json_object(json);
    tw_json_key(json, "k");
    tw_json_end(json);
}

static void end_of_nothing(TwJson *json)
{
    tw_json_end(json);
}

static void second_value(TwJson *json)
{
    tw_json_int(json, 1);
    tw_json_int(json, 2);
}

static void raw_that_is_not_json(TwJson *json)
{
    tw_json_raw(json, "{");
}

static void no_text(TwJson *json)
{
    tw_json_string(json, NULL);
}

static void too_deep(TwJson *json)
{
    for (int i = 0; i < 513; i++) {
        tw_json_array(json);
    }
}

static void wrong_steps_stick_until_reset(void **state)
{
    void (*const steps[])(TwJson *) = {value_without_key,    key_in_an_array, key_twice,
                                       end_behind_a_key,     end_of_nothing,  second_value,
                                       raw_that_is_not_json, no_text,         too_deep};
    TwJson *json = tw_json_new();

    (void)state;
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        tw_json_reset(json);
        steps[i](json);
        for (int n = 0; n < 600; n++) {
            tw_json_end(json);
        }
        assert_null(tw_json_text(json));
    }
    tw_json_reset(json);
    tw_json_null(json);
    assert_string_equal(tw_json_text(json), "null");
    tw_json_free(json);
}

static void null_is_accepted_everywhere(void **state)
{
    (void)state;
    tw_json_reset(NULL);
    tw_json_object(NULL);
    tw_json_array(NULL);
    tw_json_key(NULL, "k");
    tw_json_string(NULL, "s");
    tw_json_int(NULL, 1);
    tw_json_double(NULL, 1);
    tw_json_bool(NULL, true);
    tw_json_null(NULL);
    tw_json_raw(NULL, "1");
    tw_json_end(NULL);
    assert_null(tw_json_text(NULL));
    tw_json_free(NULL);
}

static int write_one(void *context)
{
    TwJson *json = tw_json_new();
    int r = -ENOMEM;

    (void)context;
    tw_json_object(json);
    tw_json_key(json, "k");
    tw_json_raw(json, "[1,2]");
    tw_json_end(json);
    if (tw_json_text(json) != NULL) {
        assert_string_equal(tw_json_text(json), "{\"k\":[1,2]}");
        r = 0;
    }
    tw_json_free(json);
    return r;
}

static void failed_allocations_give_no_text(void **state)
{
    (void)state;
    test_oom_sweep(write_one, NULL);
}

static void errors_and_versions_have_words(void **state)
{
    (void)state;
    assert_string_equal(tw_error_text(0), "done");
    assert_string_equal(tw_error_text(TW_ERROR_MEMORY), "no memory");
    assert_string_equal(tw_error_text(TW_ERROR_INTERNAL), "a fault of the library");
    assert_string_equal(tw_error_text(1), "unknown error");
    assert_string_equal(tw_error_text(TW_ERROR_LEASE),
                        "the job is somebody else's by now, or nobody's");
    assert_string_equal(tw_error_text(TW_ERROR_LEASE - 1), "unknown error");
    assert_string_equal(tw_version(), TW_VERSION);
    assert_string_equal(tw_protocol_version(), "2026-07-28");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_written_with_their_commas),
        cmocka_unit_test(text_is_there_only_when_it_is_complete),
        cmocka_unit_test(wrong_steps_stick_until_reset),
        cmocka_unit_test(null_is_accepted_everywhere),
        cmocka_unit_test(failed_allocations_give_no_text),
        cmocka_unit_test(errors_and_versions_have_words),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
