#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "toolkit/templates/parameters.h"
#include "unit/toolkit/templates/model.h"

#define LISTS                                                                                      \
    "{\"name\":\"once\",\"type\":\"array\",\"unique\":true,\"default\":[\"x\"]},"                  \
    "{\"name\":\"any\",\"type\":\"array\",\"unique\":false,\"default\":[\"y\"]}"

typedef struct Checked {
    TemplateManifest *manifest;
    TemplateValues values;
    ModelJson json;
} Checked;

static int check(Checked *c, const char *given)
{
    c->manifest = model_manifest(LISTS, NULL);
    template_values_init(&c->values);
    return template_values_check(&c->values, template_manifest_at(c->manifest, 0),
                                 model_json(&c->json, given), NULL, NULL);
}

static void checked_free(Checked *c)
{
    template_values_deinit(&c->values);
    model_json_free(&c->json);
    (void)template_manifest_free(c->manifest);
}

/* parameters: names of the elements that are told as duplicates, with blanks between them. */
static void duplicates_are(const char *given, const char *parameters)
{
    char found[256] = "";
    Checked c;

    assert_int_equal(check(&c, given), 0);
    for (size_t i = 0; i < c.values.n_faults; i++) {
        const TemplateFault *fault = &c.values.faults[i];
        size_t at = strlen(found);

        if (strcmp(fault->code, TEMPLATE_FAULT_TWICE) == 0) {
            (void)snprintf(found + at, sizeof(found) - at, "%s%.*s", at > 0 ? " " : "",
                           (int)fault->parameter.n, fault->parameter.p);
        }
    }
    assert_string_equal(found, parameters);
    checked_free(&c);
}

static void an_element_that_comes_twice_is_told_where_that_is_said(void **state)
{
    (void)state;
    duplicates_are("{\"once\":[\"a\",\"b\",\"a\",\"c\",\"b\",\"a\"]}", "once[2] once[4] once[5]");
    duplicates_are("{\"once\":[\"json\",\"js\\u006fn\"]}", "once[1]");
    duplicates_are("{\"once\":[\"js\\u006fn\",\"\\u006ason\"]}", "once[1]");
    duplicates_are("{\"once\":[\"a\",\"A\",\"\",\"a \"]}", "");
    duplicates_are("{\"once\":[]}", "");
    duplicates_are("{\"any\":[\"a\",\"a\"]}", "");
    /* What is no string is told as that. */
    duplicates_are("{\"once\":[1,1,\"a\",\"a\"]}", "once[3]");
}

static void a_duplicate_is_explained(void **state)
{
    Checked c;

    (void)state;
    assert_int_equal(check(&c, "{\"once\":[\"a\",\"a\"]}"), 0);
    assert_int_equal(c.values.n_faults, 1);
    model_span_is(c.values.faults[0].message,
                  "Parameter 'once[1]' must be an element that differs from those before it");
    model_span_is(c.values.faults[0].got, "\"a\"");
    checked_free(&c);
}

static void the_schema_says_that_elements_come_once(void **state)
{
    TemplateManifest *manifest = model_manifest(LISTS, NULL);

    (void)state;
    assert_true(model_span_has(
        template_manifest_at(manifest, 0)->schema,
        "\"once\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"uniqueItems\":true,"));
    assert_true(model_span_has(template_manifest_at(manifest, 0)->schema,
                               "\"any\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},"
                               "\"default\""));
    (void)template_manifest_free(manifest);
}

/* Every element of a long array is looked at. */
static void the_longest_array_is_checked(void **state)
{
    char *given = malloc((size_t)TEMPLATE_ELEMENTS_MAX * 16);
    size_t n = (size_t)snprintf(given, 16, "{\"once\":[");

    (void)state;
    assert_non_null(given);
    for (int i = 0; i < TEMPLATE_ELEMENTS_MAX; i++) {
        n += (size_t)snprintf(given + n, 16, "%s\"%d\"", i > 0 ? "," : "",
                              i + 1 < TEMPLATE_ELEMENTS_MAX ? i : 0);
    }
    (void)snprintf(given + n, 16, "]}");
    duplicates_are(given, "once[1023]");
    free(given);
}

/* What is wrong with one value does not hide which defaults apply to the others. */
static void defaults_apply_beside_faults(void **state)
{
    Checked c;

    (void)state;
    assert_int_equal(check(&c, "{\"once\":7}"), 0);
    assert_int_equal(c.values.n_faults, 1);
    assert_int_equal(c.values.n_defaulted, 1);
    model_span_is(c.values.defaulted[0]->name, "any");
    model_span_is(json_span(c.values.defaulted[0]->default_), "[\"y\"]");
    checked_free(&c);
    assert_int_equal(check(&c, "[]"), 0);
    assert_int_equal(c.values.n_defaulted, 0);
    checked_free(&c);
}

static int check_escaped(void *context)
{
    const Checked *made = context;
    TemplateValues values;
    int r;

    template_values_init(&values);
    r = template_values_check(&values, template_manifest_at(made->manifest, 0),
                              json_root(&made->json.doc), NULL, NULL);
    template_values_deinit(&values);
    return r;
}

static void running_out_of_memory_is_told(void **state)
{
    Checked c;

    (void)state;
    assert_int_equal(check(&c, "{\"once\":[\"js\\u006fn\",\"json\"]}"), 0);
    test_oom_sweep(check_escaped, &c);
    checked_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_element_that_comes_twice_is_told_where_that_is_said),
        cmocka_unit_test(a_duplicate_is_explained),
        cmocka_unit_test(the_schema_says_that_elements_come_once),
        cmocka_unit_test(the_longest_array_is_checked),
        cmocka_unit_test(defaults_apply_beside_faults),
        cmocka_unit_test(running_out_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
