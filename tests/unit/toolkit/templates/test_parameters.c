#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "toolkit/templates/parameters.h"
#include "unit/toolkit/templates/model.h"

static const char parameters[] =
    "{\"name\":\"project_name\",\"type\":\"string\",\"required\":true,"
    "\"pattern\":\"^[A-Za-z./\\\\\\\\]*$\"},"
    "{\"name\":\"has_tests\",\"type\":\"boolean\",\"default\":true},"
    "{\"name\":\"jobs\",\"type\":\"integer\",\"minimum\":1,\"maximum\":64,\"default\":4},"
    "{\"name\":\"features\",\"type\":\"array\",\"pattern\":\"^[a-z]+$\",\"maximum\":3,"
    "\"default\":[]},"
    "{\"name\":\"license\",\"type\":\"choice\",\"choices\":[\"MIT\",\"BSD\"],\"default\":\"MIT\"},"
    "{\"name\":\"note\",\"type\":\"string\",\"minimum\":2,\"maximum\":4},"
    "{\"name\":\"free\",\"type\":\"string\"},{\"name\":\"list\",\"type\":\"array\"}";

typedef struct Checked {
    TemplateManifest *manifest;
    TemplateValues values;
    ModelJson json;
} Checked;

static const Template *checked_template(const Checked *c)
{
    return template_manifest_at(c->manifest, 0);
}

static void check_with(Checked *c, const char *given, bool (*is_known)(void *, Span), void *context)
{
    c->manifest = model_manifest(parameters, NULL);
    template_values_init(&c->values);
    assert_int_equal(template_values_check(&c->values, checked_template(c),
                                           model_json(&c->json, given), is_known, context),
                     0);
}

static void check(Checked *c, const char *given)
{
    check_with(c, given, NULL, NULL);
}

static void checked_free(Checked *c)
{
    template_values_deinit(&c->values);
    model_json_free(&c->json);
    (void)template_manifest_free(c->manifest);
}

static void fault_is(const Checked *c, size_t i, const char *parameter, const char *code,
                     const char *message, const char *expected, const char *got)
{
    assert_true(i < c->values.n_faults);
    model_span_is(c->values.faults[i].parameter, parameter);
    assert_string_equal(c->values.faults[i].code, code);
    model_span_is(c->values.faults[i].message, message);
    model_span_is(c->values.faults[i].expected, expected);
    model_span_is(c->values.faults[i].got, got);
}

static void defaults_follow_what_is_given(void **state)
{
    Checked c;

    (void)state;
    check(&c, "{\"license\":\"BSD\",\"project_name\":\"x\"}");
    assert_int_equal(c.values.n_faults, 0);
    model_span_is(json_span(c.values.values),
                  "{\"project_name\":\"x\",\"license\":\"BSD\",\"has_tests\":true,\"jobs\":4,"
                  "\"features\":[]}");
    assert_int_equal(c.values.n_defaulted, 3);
    model_span_is(c.values.defaulted[0]->name, "has_tests");
    model_span_is(c.values.defaulted[2]->name, "features");
    checked_free(&c);
}

static void complete_values_are_used_as_they_are(void **state)
{
    const char *given = "{\"features\":[ \"a\" ],\"has_tests\":false,\"jobs\":1.0,\"license\":"
                        "\"MIT\",\"project_name\":\"x\"}";
    Checked c;

    (void)state;
    check(&c, given);
    assert_int_equal(c.values.n_faults, 0);
    assert_ptr_equal(c.values.values.text, given);
    assert_int_equal(c.values.n_defaulted, 0);
    checked_free(&c);
}

static void of_a_member_that_comes_twice_the_last_counts(void **state)
{
    Checked c;

    (void)state;
    check(&c, "{\"project_name\":\"..\",\"project_name\":\"x\",\"jobs\":1,\"has_tests\":true,"
              "\"features\":[],\"license\":\"MIT\"}");
    assert_int_equal(c.values.n_faults, 0);
    assert_false(model_span_has(json_span(c.values.values), ".."));
    checked_free(&c);
    check(&c, "{\"project_name\":\"x\",\"project_name\":7}");
    assert_int_equal(c.values.n_faults, 1);
    checked_free(&c);
}

static void every_fault_is_told_at_once_in_order(void **state)
{
    Checked c;

    (void)state;
    check(&c, "{\"hastests\":1,\"license\":\"GPL\",\"features\":[\"a\",2,\"B\"],\"jobs\":0,"
              "\"has_tests\":\"yes\",\"zzz\":[1],\"note\":\"a\"}");
    assert_int_equal(c.values.n_faults, 9);
    fault_is(&c, 0, "project_name", "missing", "project_name - required parameter missing",
             "string", "");
    fault_is(&c, 1, "has_tests", "type",
             "Parameter 'has_tests' must be of type boolean, not string", "boolean", "\"yes\"");
    fault_is(&c, 2, "jobs", "range", "Parameter 'jobs' must be 1 to 64", "1 to 64", "0");
    fault_is(&c, 3, "features[1]", "type",
             "Parameter 'features[1]' must be of type string, not number", "string", "2");
    fault_is(&c, 4, "features[2]", "pattern",
             "Parameter 'features[2]' does not match pattern: ^[a-z]+$", "^[a-z]+$", "\"B\"");
    fault_is(&c, 5, "license", "choice", "Parameter 'license' must be one of: MIT, BSD", "MIT, BSD",
             "\"GPL\"");
    fault_is(&c, 6, "note", "range", "Parameter 'note' must have 2 to 4 characters",
             "2 to 4 characters", "\"a\"");
    fault_is(&c, 7, "hastests", "unknown", "Unknown parameter: hastests", "has_tests", "1");
    fault_is(&c, 8, "zzz", "unknown", "Unknown parameter: zzz", "", "[1]");
    assert_null(c.values.values.node);
    assert_int_equal(c.values.n_defaulted, 0);
    checked_free(&c);
}

static void no_type_passes_for_another(void **state)
{
    static const struct {
        const char *name;
        const char *value;
        const char *code;
    } cases[] = {
        {"has_tests", "1", "type"},        {"has_tests", "null", "type"},
        {"has_tests", "\"true\"", "type"}, {"jobs", "\"4\"", "type"},
        {"jobs", "4.5", "type"},           {"jobs", "true", "type"},
        {"jobs", "1e3", "range"},          {"jobs", "99999999999999999999", "range"},
        {"jobs", "-1", "range"},           {"features", "\"a\"", "type"},
        {"features", "{}", "type"},        {"features", "[[]]", "type"},
        {"features", "[null]", "type"},    {"license", "1", "type"},
        {"license", "\"mit\"", "choice"},  {"note", "12", "type"},
        {"note", "null", "type"},          {"note", "[\"ab\"]", "type"},
        {"note", "\"abcde\"", "range"},    {"features", "[\"a\",\"a\",\"a\",\"a\"]", "range"},
        {"note", "\"a\\u0000\"", "nul"},   {"features", "[\"\\u0000\"]", "nul"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        char given[256];
        Checked c;

        (void)snprintf(given, sizeof(given), "{\"project_name\":\"x\",\"%s\":%s}", cases[i].name,
                       cases[i].value);
        check(&c, given);
        if (c.values.n_faults != 1 || strcmp(c.values.faults[0].code, cases[i].code) != 0) {
            fail_msg("%s: %zu faults", given, c.values.n_faults);
        }
        checked_free(&c);
    }
}

static void values_at_the_bounds_pass(void **state)
{
    static const char *const passing[] = {
        "\"jobs\":1",        "\"jobs\":64",
        "\"jobs\":6.4e1",    "\"note\":\"ab\"",
        "\"note\":\"äöüß\"", "\"features\":[\"a\",\"b\",\"c\"]",
        "\"features\":[]",   "\"note\":\"\\\\u0000\"",
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(passing); i++) {
        char given[256];
        Checked c;
        size_t n_allowed = strstr(passing[i], "\\\\u") != NULL; /* six characters are too many */

        (void)snprintf(given, sizeof(given), "{\"project_name\":\"x\",%s}", passing[i]);
        check(&c, given);
        if (c.values.n_faults != n_allowed) {
            fail_msg("%s: %zu faults", given, c.values.n_faults);
        }
        if (n_allowed == 1) {
            assert_string_equal(c.values.faults[0].code, "range");
        }
        checked_free(&c);
    }
}

static void project_name_is_safe_whatever_the_pattern_says(void **state)
{
    static const char *const unsafe[] = {"..",   ".",      "",          "a/b",
                                         "../x", "a\\\\b", "a\\u002fb", "\\u002e\\u002e"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(unsafe); i++) {
        char given[64];
        Checked c;

        (void)snprintf(given, sizeof(given), "{\"project_name\":\"%s\"}", unsafe[i]);
        check(&c, given);
        if (c.values.n_faults != 1 || strcmp(c.values.faults[0].code, "unsafe_name") != 0) {
            fail_msg("%s: %zu faults", given, c.values.n_faults);
        }
        checked_free(&c);
    }
}

/* {} of a template without parameters. */
static void check_none(Checked *c, const char *given)
{
    c->manifest = model_manifest("", NULL);
    template_values_init(&c->values);
    assert_int_equal(template_values_check(&c->values, checked_template(c),
                                           model_json(&c->json, given), NULL, NULL),
                     0);
}

static void project_name_may_be_given_where_no_parameter_has_it(void **state)
{
    Checked c;

    (void)state;
    check_none(&c, "{\"project_name\":\"my project\"}");
    assert_int_equal(c.values.n_faults, 0);
    assert_int_equal(json_count(c.values.values), 0);
    checked_free(&c);
    check_none(&c, "{\"project_name\":\"../up\",\"x\":1}");
    assert_int_equal(c.values.n_faults, 2);
    assert_string_equal(c.values.faults[0].code, "unsafe_name");
    model_span_is(c.values.faults[0].parameter, "project_name");
    assert_string_equal(c.values.faults[1].code, "unknown");
    checked_free(&c);
    check_none(&c, "{\"project_name\":7}");
    fault_is(&c, 0, "project_name", "type",
             "Parameter 'project_name' must be of type string, not number", "string", "7");
    checked_free(&c);
    check_none(&c, "{\"project_name\":\"../up\",\"project_name\":\"ok\"}");
    assert_int_equal(c.values.n_faults, 1);
    checked_free(&c);
    check_none(&c, "{\"projectname\":\"a\"}");
    fault_is(&c, 0, "projectname", "unknown", "Unknown parameter: projectname", "project_name",
             "\"a\"");
    checked_free(&c);
}

/* Templates print numbers as JSON's, which are not exact beyond. */
static void an_integer_is_one_that_comes_out_as_it_went_in(void **state)
{
    static const char count[] = "{\"name\":\"n\",\"type\":\"integer\",\"minimum\":0}";
    static const struct {
        const char *given;
        size_t n_faults;
    } cases[] = {
        {"{\"n\":9007199254740991}", 0},
        {"{\"n\":9007199254740992}", 1},
        {"{\"n\":9007199254740993}", 1},
        {"{\"n\":99999999999999999999}", 1},
    };
    Checked c;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        c.manifest = model_manifest(count, NULL);
        template_values_init(&c.values);
        assert_int_equal(template_values_check(&c.values, checked_template(&c),
                                               model_json(&c.json, cases[i].given), NULL, NULL),
                         0);
        assert_int_equal(c.values.n_faults, cases[i].n_faults);
        if (cases[i].n_faults > 0) {
            assert_string_equal(c.values.faults[0].code, "range");
            model_span_is(c.values.faults[0].expected, "0 to 9007199254740991");
        }
        checked_free(&c);
    }
}

static void a_safe_project_name_may_be_spelt_with_escapes(void **state)
{
    Checked c;

    (void)state;
    check(&c, "{\"project_name\":\"\\u0061b\"}");
    assert_int_equal(c.values.n_faults, 0);
    checked_free(&c);
}

static void a_value_may_have_two_faults(void **state)
{
    Checked c;

    (void)state;
    check(&c, "{\"project_name\":\"../1\"}");
    assert_int_equal(c.values.n_faults, 2);
    assert_string_equal(c.values.faults[0].code, "pattern");
    assert_string_equal(c.values.faults[1].code, "unsafe_name");
    checked_free(&c);
}

static bool knows_other(void *context, Span name)
{
    ++*(int *)context;
    return span_equals(name, SPAN("other"));
}

static void names_of_other_templates_are_known_and_left_out(void **state)
{
    int n_asked = 0;
    Checked c;

    (void)state;
    check_with(&c, "{\"project_name\":\"x\",\"oth\\u0065r\":1,\"strange\":2}", knows_other,
               &n_asked);
    assert_int_equal(n_asked, 2);
    assert_int_equal(c.values.n_faults, 1);
    model_span_is(c.values.faults[0].parameter, "strange");
    checked_free(&c);
    check_with(&c,
               "{\"project_name\":\"x\",\"other\":1,\"jobs\":1,\"has_tests\":true,\"features\":[],"
               "\"license\":\"MIT\"}",
               knows_other, &n_asked);
    assert_int_equal(c.values.n_faults, 0);
    assert_false(model_span_has(json_span(c.values.values), "other"));
    checked_free(&c);
}

static void nothing_given_is_an_empty_object(void **state)
{
    Checked c;
    TemplateManifest *none;

    (void)state;
    check(&c, "{}");
    assert_int_equal(c.values.n_faults, 1);
    assert_int_equal(
        template_values_check(&c.values, checked_template(&c), JSON_VALUE_NULL, NULL, NULL), 0);
    assert_int_equal(c.values.n_faults, 1);
    none = model_manifest("", NULL);
    assert_int_equal(template_values_check(&c.values, template_manifest_at(none, 0),
                                           JSON_VALUE_NULL, NULL, NULL),
                     0);
    assert_int_equal(c.values.n_faults, 0);
    model_span_is(json_span(c.values.values), "{}");
    (void)template_manifest_free(none);
    checked_free(&c);
}

static void values_that_are_no_object_are_one_fault(void **state)
{
    static const char *const wrong[] = {"[]", "null", "\"x\"", "1"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(wrong); i++) {
        Checked c;

        check(&c, wrong[i]);
        assert_int_equal(c.values.n_faults, 1);
        fault_is(&c, 0, "", "type", "Parameters must be an object", "object", wrong[i]);
        checked_free(&c);
    }
}

/* {"project_name":"x","NAME":"aaa…"} or, where n_elements is not 0, an array of so many. */
static char *long_value(const char *name, size_t n, size_t n_elements)
{
    char *text = malloc(n + n_elements * 4 + 128);
    size_t at;

    assert_non_null(text);
    at = (size_t)snprintf(text, 128, "{\"project_name\":\"x\",\"%s\":%s", name,
                          n_elements > 0 ? "[" : "\"");
    for (size_t i = 0; i < n_elements; i++) {
        memcpy(text + at, i > 0 ? ",\"a\"" : "\"a\" ", 4);
        at += 4;
    }
    if (n_elements == 0) {
        memset(text + at, 'a', n);
        at += n;
    }
    (void)snprintf(text + at, 8, "%s}", n_elements > 0 ? "]" : "\"");
    return text;
}

static void sizes_are_bounded_and_quotes_are_cut(void **state)
{
    static const struct {
        const char *name;
        size_t n;
        size_t n_elements;
        const char *expected;
    } cases[] = {
        {"free", TEMPLATE_VALUE_BYTES, 0, "at most 65536 bytes"},
        {"list", 0, TEMPLATE_ELEMENTS_MAX + 1, "at most 1024 elements"},
        {"features", 0, 4, "at most 3 elements"},
        {"", TEMPLATE_VALUES_BYTES, 0, "at most 4 MiB"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        char *given = long_value(cases[i].name, cases[i].n, cases[i].n_elements);
        Checked c;

        check(&c, given);
        assert_int_equal(c.values.n_faults, 1);
        assert_string_equal(c.values.faults[0].code, "range");
        model_span_is(c.values.faults[0].expected, cases[i].expected);
        assert_true(c.values.faults[0].got.n <= TEMPLATE_GOT_BYTES);
        checked_free(&c);
        free(given);
    }
}

static void quotes_are_not_cut_inside_a_character(void **state)
{
    char given[256] = "{\"project_name\":\"x\",\"license\":\"x";
    Checked c;

    (void)state;
    for (int i = 0; i < 60; i++) {
        (void)snprintf(given + strlen(given), 3, "ä");
    }
    (void)snprintf(given + strlen(given), 3, "\"}");
    check(&c, given);
    assert_int_equal(c.values.n_faults, 1);
    /* A quote, a letter of one byte, 37 of two, dots: half a letter more would fit. */
    assert_int_equal(c.values.faults[0].got.n, 2 + 37 * 2 + 3);
    assert_true(model_span_has(c.values.faults[0].got, "ä..."));
    checked_free(&c);
}

static void a_hundred_faults_are_told_and_all_are_counted(void **state)
{
    char *given = malloc(1 << 16);
    Checked c;
    size_t n = (size_t)snprintf(given, 64, "{\"project_name\":\"x\"");

    (void)state;
    assert_non_null(given);
    for (int i = 0; i < 1000; i++) {
        n += (size_t)snprintf(given + n, 64, ",\"unknown%d\":1", i);
    }
    (void)snprintf(given + n, 64, "}");
    check(&c, given);
    assert_int_equal(c.values.n_faults, TEMPLATE_FAULTS_MAX);
    assert_int_equal(c.values.n_faults_total, 1000);
    model_span_is(c.values.faults[99].parameter, "unknown99");
    checked_free(&c);
    free(given);
}

static void a_hundred_faults_of_one_value_are_enough(void **state)
{
    char given[4096];
    Checked c;
    size_t n = (size_t)snprintf(given, sizeof(given), "{\"project_name\":\"x\",\"list\":[0");

    (void)state;
    for (int i = 1; i < 200; i++) {
        n += (size_t)snprintf(given + n, sizeof(given) - n, ",%d", i);
    }
    (void)snprintf(given + n, sizeof(given) - n, "]}");
    check(&c, given);
    assert_int_equal(c.values.n_faults, TEMPLATE_FAULTS_MAX);
    assert_int_equal(c.values.n_faults_total, 200);
    model_span_is(c.values.faults[99].parameter, "list[99]");
    checked_free(&c);
}

static void a_steady_stream_allocates_nothing(void **state)
{
    size_t n_calls;
    Checked c;

    (void)state;
    check(&c, "{\"project_name\":\"x\"}");
    for (int i = 0; i < 3; i++) {
        n_calls = alloc_testing()->n_calls;
        assert_int_equal(template_values_check(&c.values, checked_template(&c),
                                               json_root(&c.json.doc), NULL, NULL),
                         0);
    }
    assert_int_equal(alloc_testing()->n_calls, n_calls);
    assert_int_equal(c.values.n_defaulted, 4);
    checked_free(&c);
}

static int oom_scenario(void *context)
{
    Checked *c = context;
    TemplateValues values;
    int r;

    template_values_init(&values);
    r = template_values_check(&values, checked_template(c), json_root(&c->json.doc), NULL, NULL);
    if (r == 0) {
        assert_int_equal(values.n_faults, c->values.n_faults);
    }
    template_values_deinit(&values);
    template_values_deinit(&values);
    return r;
}

static void out_of_memory_is_told_and_leaks_nothing(void **state)
{
    Checked c;

    (void)state;
    check(&c, "{\"project_name\":\"x\"}");
    test_oom_sweep(oom_scenario, &c);
    checked_free(&c);
    check(&c, "{\"project_name\":\"../1\",\"features\":[1],\"hastest\":[1,2]}");
    test_oom_sweep(oom_scenario, &c);
    checked_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_follow_what_is_given),
        cmocka_unit_test(complete_values_are_used_as_they_are),
        cmocka_unit_test(of_a_member_that_comes_twice_the_last_counts),
        cmocka_unit_test(every_fault_is_told_at_once_in_order),
        cmocka_unit_test(no_type_passes_for_another),
        cmocka_unit_test(values_at_the_bounds_pass),
        cmocka_unit_test(project_name_is_safe_whatever_the_pattern_says),
        cmocka_unit_test(project_name_may_be_given_where_no_parameter_has_it),
        cmocka_unit_test(an_integer_is_one_that_comes_out_as_it_went_in),
        cmocka_unit_test(a_safe_project_name_may_be_spelt_with_escapes),
        cmocka_unit_test(a_value_may_have_two_faults),
        cmocka_unit_test(names_of_other_templates_are_known_and_left_out),
        cmocka_unit_test(nothing_given_is_an_empty_object),
        cmocka_unit_test(values_that_are_no_object_are_one_fault),
        cmocka_unit_test(sizes_are_bounded_and_quotes_are_cut),
        cmocka_unit_test(quotes_are_not_cut_inside_a_character),
        cmocka_unit_test(a_hundred_faults_are_told_and_all_are_counted),
        cmocka_unit_test(a_hundred_faults_of_one_value_are_enough),
        cmocka_unit_test(a_steady_stream_allocates_nothing),
        cmocka_unit_test(out_of_memory_is_told_and_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
