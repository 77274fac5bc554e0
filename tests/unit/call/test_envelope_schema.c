/* That what is merged holds for answers is tested with the router, which has the schemas' check
 * (tests/unit/router/test_command.c). */
#include "unit/call/envelope_rig.h"

#include "support/oom_sweep.h"

static const char *merge(EnvelopeRig *rig, const char *own)
{
    bytes_clear(&rig->out);
    assert_int_equal(envelope_write_schema(span_from_str(own), &rig->out), 0);
    return arena_copy(&rig->arena, span_from_str(rig_text(rig))).p;
}

static void without_one_of_its_own_it_has_the_standard_members(void **state)
{
    static const char *const names[] = {"ok",          "code",    "msg",    "warnings",
                                        "nextActions", "timings", "context"};
    EnvelopeRig rig;
    const char *json;

    (void)state;
    rig_init(&rig);
    json = merge(&rig, "");
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        char pointer[64];
        char quoted[32];

        (void)snprintf(pointer, sizeof(pointer), "/properties/%s/type", names[i]);
        assert_string_not_equal(rig_at(&rig, json, pointer), "");
        (void)snprintf(pointer, sizeof(pointer), "/required/%zu", i);
        (void)snprintf(quoted, sizeof(quoted), "\"%s\"", names[i]);
        assert_string_equal(rig_at(&rig, json, pointer), quoted);
    }
    assert_string_equal(rig_at(&rig, json, "/type"), "\"object\"");
    assert_string_equal(rig_at(&rig, json, "/if"), "");
    assert_string_equal(merge(&rig, "{}"), json);
    assert_string_equal(merge(&rig, "{broken"), json);
    assert_string_equal(merge(&rig, "5"), json);
    rig_deinit(&rig);
}

static void
its_own_properties_stand_beside_them_and_what_it_requires_holds_where_it_succeeded(void **state)
{
    EnvelopeRig rig;
    const char *json;

    (void)state;
    rig_init(&rig);
    json = merge(&rig, "{\"type\":\"object\",\"title\":\"T\",\"properties\":{\"n\":{\"minimum\":1.0"
                       "},\"ok\":{\"const\":5}},\"required\":[\"n\"],\"additionalProperties\":false"
                       ",\"anyOf\":[{}]}");
    assert_string_equal(rig_at(&rig, json, "/properties/n"), "{\"minimum\":1.0}");
    assert_string_equal(rig_at(&rig, json, "/properties/ok"), "{\"type\":\"boolean\"}");
    assert_string_equal(rig_at(&rig, json, "/title"), "\"T\"");
    assert_string_equal(rig_at(&rig, json, "/if"), "{\"properties\":{\"ok\":{\"const\":true}}}");
    assert_string_equal(rig_at(&rig, json, "/then"), "{\"required\":[\"n\"],\"anyOf\":[{}]}");
    assert_string_equal(rig_at(&rig, json, "/additionalProperties"), "");
    rig_deinit(&rig);
}

static void definitions_stay_at_the_root_where_references_lead(void **state)
{
    EnvelopeRig rig;
    const char *json;

    (void)state;
    rig_init(&rig);
    json = merge(&rig, "{\"type\":\"object\",\"$defs\":{\"a\":{\"type\":\"integer\"}},"
                       "\"properties\":{\"n\":{\"$ref\":\"#/$defs/a\"}}}");
    assert_string_equal(rig_at(&rig, json, "/$defs/a"), "{\"type\":\"integer\"}");
    assert_string_equal(rig_at(&rig, json, "/if"), "");
    rig_deinit(&rig);
}

static void a_property_that_failures_fill_in_holds_where_it_succeeded(void **state)
{
    EnvelopeRig rig;
    const char *json;

    (void)state;
    rig_init(&rig);
    json = merge(&rig, "{\"properties\":{\"data\":{\"type\":\"integer\"},\"n\":{}}}");
    assert_string_equal(rig_at(&rig, json, "/properties/data"), "");
    assert_string_equal(rig_at(&rig, json, "/then"),
                        "{\"properties\":{\"data\":{\"type\":\"integer\"}}}");
    rig_deinit(&rig);
}

static void what_describes_no_object_becomes_result(void **state)
{
    EnvelopeRig rig;
    const char *json;

    (void)state;
    rig_init(&rig);
    json = merge(&rig, "{\"type\":\"array\",\"items\":{}}");
    assert_string_equal(rig_at(&rig, json, "/properties/result"),
                        "{\"type\":\"array\",\"items\":{}}");
    assert_string_equal(rig_at(&rig, json, "/then"), "{\"required\":[\"result\"]}");
    json = merge(&rig, "{\"type\":[\"null\",\"object\"],\"properties\":{\"n\":{}}}");
    assert_string_equal(rig_at(&rig, json, "/properties/n"), "{}");
    rig_deinit(&rig);
}

static void members_that_are_there_twice_are_written_once(void **state)
{
    EnvelopeRig rig;
    const char *json;

    (void)state;
    rig_init(&rig);
    json = merge(&rig, "{\"required\":[\"a\"],\"required\":[\"b\"],\"properties\":{\"a\":{\"x\":1},"
                       "\"a\":{\"x\":2}}}");
    assert_string_equal(rig_at(&rig, json, "/then"), "{\"required\":[\"b\"]}");
    assert_null(strstr(json, "{\"x\":1}"));
    rig_deinit(&rig);
}

/* Whoever executes a command has merged its schema, and whoever passes it on does not again. */
static void merging_twice_is_merging_once(void **state)
{
    EnvelopeRig rig;
    const char *once;

    (void)state;
    rig_init(&rig);
    once = merge(&rig, "{\"type\":\"object\",\"properties\":{\"n\":{}},\"required\":[\"n\"]}");
    assert_string_equal(merge(&rig, once), once);
    rig_deinit(&rig);
}

static int schema_scenario(void *context)
{
    Bytes out;
    int r;

    (void)context;
    bytes_init(&out, 65536);
    r = envelope_write_schema(SPAN("{\"required\":[\"n\"]}"), &out);
    bytes_deinit(&out);
    return r;
}

static void want_of_memory_and_of_room_are_said(void **state)
{
    Bytes out;

    (void)state;
    test_oom_sweep(schema_scenario, NULL);
    bytes_init(&out, 100);
    assert_int_equal(envelope_write_schema(SPAN_NULL, &out), BYTES_E_FULL);
    assert_int_equal(out.n, 0);
    bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_one_of_its_own_it_has_the_standard_members),
        cmocka_unit_test(
            its_own_properties_stand_beside_them_and_what_it_requires_holds_where_it_succeeded),
        cmocka_unit_test(definitions_stay_at_the_root_where_references_lead),
        cmocka_unit_test(a_property_that_failures_fill_in_holds_where_it_succeeded),
        cmocka_unit_test(what_describes_no_object_becomes_result),
        cmocka_unit_test(members_that_are_there_twice_are_written_once),
        cmocka_unit_test(merging_twice_is_merging_once),
        cmocka_unit_test(want_of_memory_and_of_room_are_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
