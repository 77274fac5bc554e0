#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "toolkit/templates/parameters.h"
#include "unit/toolkit/templates/model.h"

#define PARAMETERS                                                                                 \
    "{\"name\":\"project_name\",\"type\":\"string\",\"required\":true},"                           \
    "{\"name\":\"list\",\"type\":\"array\"}"

/* A manifest that reserves words, as JSON. */
static void write_manifest(char *out, size_t size, const char *reserved, const char *parameters)
{
    int n = snprintf(out, size,
                     "{\"reserved\":%s,\"templates\":[{\"uri\":\"template://x/y/z\",\"name\":\"X\","
                     "\"file\":\"x\",\"output\":\"x\",\"parameters\":[%s]}]}",
                     reserved, parameters);

    assert_true(n > 0 && (size_t)n < size);
}

static int parse(TemplateManifest **ret, const char *reserved, const char *parameters, Diag *diag)
{
    char text[1024];

    write_manifest(text, sizeof(text), reserved, parameters);
    return template_manifest_parse(ret, span_from_str(text), "m.json", diag);
}

static void refuses(const char *reserved, const char *parameters, const char *words)
{
    TemplateManifest *manifest = NULL;
    Diag diag = DIAG_NULL;

    assert_int_equal(parse(&manifest, reserved, parameters, &diag), TEMPLATE_MANIFEST_E_MALFORMED);
    assert_null(manifest);
    assert_string_equal(diag.message, words);
}

/* The code of what is wrong with a value; "" if nothing is. */
static const char *fault_of(const Template *t, const char *given)
{
    TemplateValues values;
    ModelJson json;
    const char *code;

    template_values_init(&values);
    assert_int_equal(template_values_check(&values, t, model_json(&json, given), NULL, NULL), 0);
    code = values.n_faults > 0 ? values.faults[0].code : "";
    if (values.n_faults > 0 && strcmp(code, TEMPLATE_FAULT_RESERVED) == 0) {
        model_span_is(
            values.faults[0].message,
            "Parameter 'project_name' is a reserved word; it must be none of: class, test_main");
        model_span_is(values.faults[0].expected, "none of: class, test_main");
        assert_true(values.faults[0].got.n > 0);
    }
    template_values_deinit(&values);
    model_json_free(&json);
    return code;
}

static void a_reserved_word_is_refused_in_any_spelling(void **state)
{
    static const char *const refused[] = {"class",     "CLASS",     "Test-Main",  "TestMain",
                                          "test_main", "testmain_", "c\\u006Cass"};
    static const char *const taken[] = {"classy", "clas", "main", "test.main", "a"};
    TemplateManifest *manifest = NULL;
    char given[128];

    (void)state;
    assert_int_equal(
        parse(&manifest, "{\"project_name\":[\"class\",\"test_main\"]}", PARAMETERS, NULL), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(refused); i++) {
        (void)snprintf(given, sizeof(given), "{\"project_name\":\"%s\"}", refused[i]);
        assert_string_equal(fault_of(template_manifest_at(manifest, 0), given), "reserved");
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(taken); i++) {
        (void)snprintf(given, sizeof(given), "{\"project_name\":\"%s\"}", taken[i]);
        assert_string_equal(fault_of(template_manifest_at(manifest, 0), given), "");
    }
    assert_string_equal(fault_of(template_manifest_at(manifest, 0),
                                 "{\"project_name\":\"a\",\"list\":[\"class\"]}"),
                        "");
    (void)template_manifest_free(manifest);
}

static void a_default_cannot_be_reserved(void **state)
{
    (void)state;
    refuses("{\"a\":[\"x\"]}", "{\"name\":\"a\",\"type\":\"string\",\"default\":\"X\"}",
            "m.json:1: templates[0].parameters[0].default: would be refused (reserved): expected "
            "none of: x");
}

/* Of many words the first are named. */
static void a_long_list_of_words_is_cut(void **state)
{
    char words[512] = "{\"project_name\":[\"w0\"";
    TemplateManifest *manifest = NULL;
    TemplateValues values;
    ModelJson json;

    (void)state;
    for (int i = 1; i < 25; i++) {
        size_t at = strlen(words);

        (void)snprintf(words + at, sizeof(words) - at, ",\"w%d\"%s", i, i == 24 ? "]}" : "");
    }
    assert_int_equal(parse(&manifest, words, PARAMETERS, NULL), 0);
    template_values_init(&values);
    assert_int_equal(template_values_check(&values, template_manifest_at(manifest, 0),
                                           model_json(&json, "{\"project_name\":\"w24\"}"), NULL,
                                           NULL),
                     0);
    assert_int_equal(values.n_faults, 1);
    model_span_is(values.faults[0].expected,
                  "none of: w0, w1, w2, w3, w4, w5, w6, w7, w8, w9, w10, w11, w12, w13, w14, w15, "
                  "w16, w17, w18, w19 and 5 more");
    template_values_deinit(&values);
    model_json_free(&json);
    (void)template_manifest_free(manifest);
}

static void what_is_reserved_must_be_words_of_a_parameter(void **state)
{
    static const char words[] = "m.json:1: reserved: must have arrays of 1 to 1024 words without "
                                "escapes, of 64 bytes at most";
    static const char nobody[] = "m.json:1: reserved: no template has a string parameter of that "
                                 "name";

    (void)state;
    refuses("{\"project_name\":\"class\"}", PARAMETERS, words);
    refuses("{\"project_name\":[]}", PARAMETERS, words);
    refuses("{\"project_name\":[1]}", PARAMETERS, words);
    refuses("{\"project_name\":[\"\"]}", PARAMETERS, words);
    refuses("{\"project_name\":[\"a\\n\"]}", PARAMETERS, words);
    refuses("{\"project\":[\"a\"]}", PARAMETERS, nobody);
    refuses("{\"list\":[\"a\"]}", PARAMETERS, nobody);
    refuses("[]", PARAMETERS, "m.json:1: reserved: must be an object, not array");
}

static int reserve(void *context)
{
    TemplateManifest *manifest = NULL;
    int r = parse(&manifest, "{\"project_name\":[\"class\"]}", PARAMETERS, NULL);

    (void)context;
    if (r == 0) {
        (void)template_manifest_free(manifest);
    }
    return r;
}

static void running_out_of_memory_is_told(void **state)
{
    (void)state;
    test_oom_sweep(reserve, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reserved_word_is_refused_in_any_spelling),
        cmocka_unit_test(a_default_cannot_be_reserved),
        cmocka_unit_test(a_long_list_of_words_is_cut),
        cmocka_unit_test(what_is_reserved_must_be_words_of_a_parameter),
        cmocka_unit_test(running_out_of_memory_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
