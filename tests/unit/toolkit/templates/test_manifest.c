#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/oom_sweep.h"
#include "toolkit/templates/manifest.h"
#include "unit/toolkit/templates/model.h"

static const char full[] =
    "{ \"templates\": [\n"
    "  { \"uri\": \"template://makefile/rust/cli\", \"name\": \"Rust CLI Makefile\",\n"
    "    \"description\": \"Makefile \\u0026 more\", \"version\": \"2.1.0\",\n"
    "    \"file\": \"sub/makefile.hbs\", \"output\": \"{{project_name}}/Makefile\",\n"
    "    \"mime_type\": \"text/x-makefile\", \"executable\": true,\n"
    "    \"parameters\": [\n"
    "      { \"name\": \"project_name\", \"type\": \"string\", \"required\": true,\n"
    "        \"description\": \"name\", \"pattern\": \"^[a-z\\\\d-]+$\", \"minimum\": 2,\n"
    "        \"maximum\": 9 },\n"
    "      { \"name\": \"has_tests\", \"type\": \"boolean\", \"default\": true },\n"
    "      { \"name\": \"jobs\", \"type\": \"integer\", \"minimum\": -1, \"maximum\": 64,\n"
    "        \"default\": 4 },\n"
    "      { \"name\": \"features\", \"type\": \"array\", \"default\": [ \"a\", \"b\" ],\n"
    "        \"pattern\": \"^[a-z]$\", \"maximum\": 5 },\n"
    "      { \"name\": \"license\", \"type\": \"choice\", \"choices\": [\"MIT\", \"BSD "
    "\\\"2\\\"\"],\n"
    "        \"default\": \"MIT\" } ] },\n"
    "  { \"uri\": \"template://gitignore/rust/cli\", \"name\": \"Ignore\", \"file\": \"i.hbs\",\n"
    "    \"output\": \".gitignore\" } ] }\n";

static TemplateManifest *parse(const char *text)
{
    TemplateManifest *manifest = NULL;
    Diag diag = DIAG_NULL;

    if (template_manifest_parse(&manifest, span_from_str(text), "m.json", &diag) != 0) {
        fail_msg("%s", diag.message);
    }
    return manifest;
}

static void everything_that_is_said_is_read(void **state)
{
    TemplateManifest *manifest = parse(full);
    const Template *t = template_manifest_at(manifest, 0);
    const TemplateParameter *p = t->parameters;

    (void)state;
    assert_int_equal(template_manifest_count(manifest), 2);
    model_span_is(t->uri_text, "template://makefile/rust/cli");
    model_span_is(t->uri.category, "makefile");
    model_span_is(t->uri.toolchain, "rust");
    model_span_is(t->uri.variant, "cli");
    model_span_is(t->name, "Rust CLI Makefile");
    model_span_is(t->description, "Makefile & more");
    model_span_is(t->version, "2.1.0");
    model_span_is(t->file, "sub/makefile.hbs");
    model_span_is(t->output, "{{project_name}}/Makefile");
    model_span_is(t->mime_type, "text/x-makefile");
    assert_true(t->executable);
    assert_null(t->content);
    assert_int_equal(t->n_parameters, 5);
    model_span_is(p[0].name, "project_name");
    assert_int_equal(p[0].type, TEMPLATE_STRING);
    assert_true(p[0].required);
    model_span_is(p[0].description, "name");
    model_span_is(p[0].pattern, "^[a-z\\d-]+$");
    assert_non_null(p[0].check);
    assert_true(p[0].has_minimum && p[0].has_maximum && p[0].minimum == 2 && p[0].maximum == 9);
    assert_null(p[0].default_.node);
    assert_int_equal(p[1].type, TEMPLATE_BOOLEAN);
    assert_int_equal(json_kind(p[1].default_), JSON_TRUE);
    assert_false(p[1].required);
    assert_int_equal(p[2].type, TEMPLATE_INTEGER);
    assert_int_equal(p[2].minimum, -1);
    assert_int_equal(p[3].type, TEMPLATE_ARRAY);
    assert_int_equal(json_count(p[3].default_), 2);
    assert_false(p[3].has_minimum);
    assert_int_equal(p[4].type, TEMPLATE_CHOICE);
    assert_int_equal(json_count(p[4].choices), 2);
    (void)template_manifest_free(manifest);
}

static void what_is_not_said_has_a_default(void **state)
{
    TemplateManifest *manifest = parse(full);
    const Template *t = template_manifest_at(manifest, 1);

    (void)state;
    model_span_is(t->version, "1.0.0");
    model_span_is(t->mime_type, "text/x-gitignore");
    model_span_is(t->description, "");
    assert_false(t->executable);
    assert_int_equal(t->n_parameters, 0);
    model_span_is(t->schema,
                  "{\"type\":\"object\",\"properties\":{\"project_name\":{\"type\":\"string\","
                  "\"description\":\"Name of the project's folder\"}},\"additionalProperties\":"
                  "false}");
    (void)template_manifest_free(manifest);
    assert_null(template_manifest_free(NULL));
}

static void schema_of_the_parameters_is_what_an_agent_needs(void **state)
{
    TemplateManifest *manifest = parse(full);

    (void)state;
    model_span_is(
        template_manifest_at(manifest, 0)->schema,
        "{\"type\":\"object\",\"properties\":{"
        "\"project_name\":{\"type\":\"string\",\"description\":\"name\","
        "\"pattern\":\"^[a-z\\\\d-]+$\",\"minLength\":2,\"maxLength\":9},"
        "\"has_tests\":{\"type\":\"boolean\",\"default\":true},"
        "\"jobs\":{\"type\":\"integer\",\"minimum\":-1,\"maximum\":64,\"default\":4},"
        "\"features\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"pattern\":\"^[a-z]$\"},"
        "\"maxItems\":5,\"default\":[\"a\",\"b\"]},"
        "\"license\":{\"type\":\"string\",\"enum\":[\"MIT\",\"BSD \\\"2\\\"\"],\"default\":\"MIT\"}"
        "},\"required\":[\"project_name\"],\"additionalProperties\":false}");
    (void)template_manifest_free(manifest);
}

/* Compiled by our own schema code, under the metaschema, and used. */
static void schema_of_the_parameters_is_valid_and_works(void **state)
{
    static const struct {
        const char *value;
        int r;
    } cases[] = {
        {"{\"project_name\":\"abc\"}", 0},
        {"{\"project_name\":\"abc\",\"jobs\":64,\"license\":\"MIT\",\"features\":[\"x\"]}", 0},
        {"{}", SCHEMA_E_INVALID},
        {"{\"project_name\":\"ABC\"}", SCHEMA_E_INVALID},
        {"{\"project_name\":\"a\"}", SCHEMA_E_INVALID},
        {"{\"project_name\":\"abc\",\"jobs\":65}", SCHEMA_E_INVALID},
        {"{\"project_name\":\"abc\",\"license\":\"GPL\"}", SCHEMA_E_INVALID},
        {"{\"project_name\":\"abc\",\"features\":[\"xx\"]}", SCHEMA_E_INVALID},
        {"{\"project_name\":\"abc\",\"other\":1}", SCHEMA_E_INVALID},
    };
    TemplateManifest *manifest = parse(full);
    Span text = template_manifest_at(manifest, 0)->schema;
    Span meta = SPAN("{\"$ref\":\"https://json-schema.org/draft/2020-12/schema\"}");
    Schema *schema = NULL;
    Schema *metaschema = NULL;
    SchemaCheck *check = NULL;
    ModelJson json;

    (void)state;
    assert_int_equal(schema_new(&schema, text, NULL, NULL), 0);
    assert_int_equal(schema_new(&metaschema, meta, NULL, NULL), 0);
    assert_int_equal(schema_check_new(&check), 0);
    assert_int_equal(schema_validate(metaschema, check, model_json(&json, text.p)), 0);
    model_json_free(&json);
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        int r = schema_validate(schema, check, model_json(&json, cases[i].value));

        if (r != cases[i].r) {
            fail_msg("%s: %d", cases[i].value, r);
        }
        model_json_free(&json);
    }
    (void)schema_check_free(check);
    (void)schema_free(metaschema);
    (void)schema_free(schema);
    (void)template_manifest_free(manifest);
}

static void expect_malformed(const char *text, uint32_t line, const char *field, const char *words)
{
    TemplateManifest *manifest = NULL;
    Diag diag = DIAG_NULL;
    int r = template_manifest_parse(&manifest, span_from_str(text), "m.json", &diag);

    if (r != TEMPLATE_MANIFEST_E_MALFORMED) {
        fail_msg("%s: %d", text, r);
    }
    assert_null(manifest);
    assert_int_equal(diag.code, TEMPLATE_MANIFEST_E_MALFORMED);
    if (diag.line != line || strcmp(diag.field, field) != 0 ||
        strstr(diag.message, words) == NULL || strncmp(diag.message, "m.json:", 7) != 0) {
        fail_msg("%s\nline %u, field %s: %s", text, diag.line, diag.field, diag.message);
    }
    /* Nobody listening changes nothing. */
    assert_int_equal(template_manifest_parse(&manifest, span_from_str(text), "m.json", NULL),
                     TEMPLATE_MANIFEST_E_MALFORMED);
}

#define TEMPLATE_OF(rest)                                                                          \
    "{\"templates\":[\n{\"uri\":\"template://a/b/c\",\"name\":\"N\",\"file\":\"f\","               \
    "\"output\":\"o\"" rest "}]}"

static void a_malformed_manifest_is_named_with_line_and_field(void **state)
{
    static const struct {
        const char *text;
        uint32_t line;
        const char *field;
        const char *words;
    } cases[] = {
        {"", 1, "", ""},
        {"{\"templates\":\n[}", 2, "", ""},
        {"[]", 1, "", "a manifest is an object"},
        {"{}", 1, "", "must have \"templates\""},
        {"{\"templates\":{}}", 1, "templates", "must be an array, not object"},
        {"{\"template\":[],\"templates\":[]}", 1, "", "did you mean \"templates\"?"},
        {"{\"templates\":[\n3]}", 2, "templates[0]", "must be an object"},
        {"{\"templates\":[\n{}]}", 2, "templates[0]", "must have \"uri\""},
        {TEMPLATE_OF(",\"uri\":\"template://a/b/d\""), 2, "templates[0].uri", "twice"},
        {TEMPLATE_OF(",\n\"mimetype\":\"x/y\""), 3, "templates[0]", "did you mean \"mime_type\"?"},
        {TEMPLATE_OF(",\n\"\\u0061\":1"), 3, "templates[0]", "unknown key \"\\u0061\""},
        {TEMPLATE_OF(",\n\"executable\":1"), 3, "templates[0].executable", "a boolean, not number"},
        {TEMPLATE_OF(",\n\"version\":\"a\\nb\""), 3, "templates[0].version", "control character"},
        {TEMPLATE_OF(",\n\"description\":\"a\\u0000b\""), 3, "templates[0].description", "NUL"},
        {"{\"templates\":[{\"uri\":\"template://A/b/c\",\"name\":\"N\",\"file\":\"f\","
         "\"output\":\"o\"}]}",
         1, "templates[0].uri", "must be template://{category}/{toolchain}/{variant}"},
        {"{\"templates\":[{\"uri\":\"template://a/b/c\",\"name\":\"\",\"file\":\"f\","
         "\"output\":\"o\"}]}",
         1, "templates[0].name", "empty"},
        {"{\"templates\":[{\"uri\":\"template://a/b/c\",\"name\":\"N\",\"file\":\"../f\","
         "\"output\":\"o\"}]}",
         1, "templates[0].file", "stays in its folder"},
        {"{\"templates\":[{\"uri\":\"template://a/b/c\",\"name\":\"N\",\"file\":\"f\","
         "\"output\":\"/o\"}]}",
         1, "templates[0].output", "stays in its folder"},
        {"{\"templates\":[{\"uri\":\"template://a/b/c\",\"name\":\"N\",\"file\":\"f\","
         "\"output\":\"o\"},\n{\"uri\":\"template://a/b/c\",\"name\":\"N\",\"file\":\"f\","
         "\"output\":\"o\"}]}",
         2, "templates[1].uri", "of templates[0] already"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        expect_malformed(cases[i].text, cases[i].line, cases[i].field, cases[i].words);
    }
}

#define PARAMETER_OF(rest) TEMPLATE_OF(",\"parameters\":[\n{" rest "}]")

static void a_malformed_parameter_is_named_with_line_and_field(void **state)
{
    static const struct {
        const char *text;
        const char *field;
        const char *words;
    } cases[] = {
        {PARAMETER_OF("\"name\":\"a\""), "", "must have \"type\""},
        {PARAMETER_OF("\"type\":\"string\""), "", "must have \"name\""},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"text\""), ".type", "must be string, boolean"},
        {PARAMETER_OF("\"name\":\"1a\",\"type\":\"string\""), ".name", "letters"},
        {PARAMETER_OF("\"name\":\"\",\"type\":\"string\""), ".name", "letters"},
        {PARAMETER_OF("\"name\":\"a b\",\"type\":\"string\""), ".name", "letters"},
        {PARAMETER_OF("\"name\":\"title\",\"type\":\"string\""), ".name", "means something else"},
        {PARAMETER_OF("\"name\":\"this\",\"type\":\"string\""), ".name", "means something else"},
        {PARAMETER_OF("\"name\":\"current_timestamp\",\"type\":\"string\""), ".name", "means"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"string\",\"defualt\":1"), "",
         "did you mean \"default\"?"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"string\",\"pattern\":\"(\""), ".pattern", ""},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"boolean\",\"pattern\":\"x\""), ".pattern",
         "not for type boolean"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"choice\",\"choices\":[\"x\"],\"minimum\":1"),
         ".minimum", "not for type choice"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"string\",\"choices\":[\"x\"]"), ".choices",
         "not for type string"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"string\",\"unique\":true"), ".unique",
         "not for type string"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"array\",\"unique\":1"), ".unique", "boolean"},
        {PARAMETER_OF(
             "\"name\":\"a\",\"type\":\"array\",\"unique\":true,\"default\":[\"x\",\"x\"]"),
         ".default", "(duplicate)"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"choice\""), "", "must have \"choices\""},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"choice\",\"choices\":[]"), ".choices", "1 to 256"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"choice\",\"choices\":[1]"), ".choices", "strings"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"choice\",\"choices\":[\"x\",\"\\u0078\"]"),
         ".choices", "twice"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"string\",\"minimum\":-1"), ".minimum", "negative"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"integer\",\"minimum\":1.5"), ".minimum", "whole"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"integer\",\"maximum\":9007199254740992"),
         ".maximum", "9007199254740991 at most"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"integer\",\"minimum\":2,\"maximum\":1"),
         ".maximum", "below minimum"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"string\",\"default\":null"), ".default",
         "(type): expected string"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"boolean\",\"default\":\"true\""), ".default",
         "(type): expected boolean"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"integer\",\"maximum\":3,\"default\":4"),
         ".default", "(range): expected at most 3"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"string\",\"pattern\":\"^b\",\"default\":\"a\""),
         ".default", "(pattern): expected ^b"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"choice\",\"choices\":[\"x\"],\"default\":\"y\""),
         ".default", "(choice): expected x"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"array\",\"default\":[\"x\",1]"), ".default",
         "(type): expected string"},
        {PARAMETER_OF("\"name\":\"a\",\"type\":\"string\",\"required\":true,\"default\":\"x\""),
         ".default", "required"},
        {PARAMETER_OF("\"name\":\"project_name\",\"type\":\"integer\""), ".type", "project_name"},
        {PARAMETER_OF("\"name\":\"project_name\",\"type\":\"string\",\"default\":\"../x\""),
         ".default", "unsafe_name"},
        {PARAMETER_OF("\"name\":\"project_name\",\"type\":\"choice\",\"choices\":[\"..\"]"),
         ".choices", "safe name"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        char field[64];

        (void)snprintf(field, sizeof(field), "templates[0].parameters[0]%s", cases[i].field);
        expect_malformed(cases[i].text, 3, field, cases[i].words);
    }
    expect_malformed(TEMPLATE_OF(",\"parameters\":[{\"name\":\"a\",\"type\":\"string\"},"
                                 "{\"name\":\"a\",\"type\":\"boolean\"}]"),
                     2, "templates[0].parameters", "two parameters are named \"a\"");
    expect_malformed(TEMPLATE_OF(",\"when\":\"tests\",\"parameters\":[{\"name\":\"a\",\"type\":"
                                 "\"boolean\"}]"),
                     2, "templates[0].when", "\"tests\" is no parameter of the template");
    expect_malformed(TEMPLATE_OF(",\"when\":\"\""), 2, "templates[0].when", "is no parameter");
    expect_malformed(TEMPLATE_OF(",\"when\":true"), 2, "templates[0].when", "string");
    expect_malformed(TEMPLATE_OF(",\"when\":\"a\",\"parameters\":[{\"name\":\"a\",\"type\":"
                                 "\"string\"}]"),
                     2, "templates[0].when", "must name a parameter of type boolean");
    expect_malformed(TEMPLATE_OF(",\"parameters\":[7]"), 2, "templates[0].parameters[0]",
                     "must be an object");
}

static void sizes_are_bounded(void **state)
{
    enum {
        MANY = 200
    };
    static char text[1 << 16];
    size_t n = (size_t)snprintf(text, sizeof(text), "%s",
                                "{\"templates\":[{\"uri\":\"template://a/b/c\",\"name\":\"N\","
                                "\"file\":\"f\",\"output\":\"o\",\"parameters\":[");
    TemplateManifest *manifest = NULL;
    Diag diag = DIAG_NULL;
    char *large;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n,
                              "%s{\"name\":\"a%d\",\"type\":\"string\"}", i > 0 ? "," : "", i);
    }
    (void)snprintf(text + n, sizeof(text) - n, "]}]}");
    expect_malformed(text, 1, "templates[0].parameters", "more than 128");

    n = (size_t)snprintf(text, sizeof(text), "{\"templates\":[{\"description\":\"");
    memset(text + n, 'x', TEMPLATE_STRING_MAX + 1);
    n += TEMPLATE_STRING_MAX + 1;
    (void)snprintf(text + n, sizeof(text) - n,
                   "\",\"uri\":\"template://a/b/c\",\"name\":\"N\",\"file\":\"f\","
                   "\"output\":\"o\"}]}");
    expect_malformed(text, 1, "templates[0].description", "longer than 4096");

    large = malloc(TEMPLATE_MANIFEST_BYTES + 1);
    assert_non_null(large);
    memset(large, ' ', TEMPLATE_MANIFEST_BYTES + 1);
    assert_int_equal(template_manifest_parse(
                         &manifest, span_make(large, TEMPLATE_MANIFEST_BYTES + 1), "m", &diag),
                     TEMPLATE_MANIFEST_E_MALFORMED);
    free(large);
}

typedef struct Problems {
    size_t n_errors;
    size_t n_warnings;
    char all[4096];
} Problems;

static void collect(void *context, const Diag *problem, bool is_warning)
{
    Problems *problems = context;
    size_t n = strlen(problems->all);

    problems->n_errors += !is_warning;
    problems->n_warnings += is_warning;
    (void)snprintf(problems->all + n, sizeof(problems->all) - n, "%c %s\n", is_warning ? 'w' : 'e',
                   problem->message);
}

static void lint_tells_every_problem_and_keeps_what_is_sound(void **state)
{
    static const char text[] =
        "{\"templates\":[\n"
        "{\"uri\":\"template://a/b/c\",\"nam\":\"N\",\"file\":\"f\",\"output\":\"o\",\n"
        " \"parameters\":[{\"name\":\"p\",\"type\":\"strng\"},{\"name\":\"if\",\"type\":"
        "\"boolean\","
        "\"default\":1}]},\n"
        "{\"uri\":\"template://a/b/d\",\"name\":\"N\",\"description\":\"d\",\"file\":\"f\","
        "\"output\":\"o\"}]}";
    Problems problems = {.n_errors = 0};
    TemplateManifest *manifest = NULL;

    (void)state;
    assert_int_equal(
        template_manifest_lint(&manifest, span_from_str(text), "m.json", collect, &problems), 0);
    assert_string_equal(
        problems.all,
        "e m.json:2: templates[0]: unknown key \"nam\"; did you mean \"name\"?\n"
        "e m.json:2: templates[0]: must have \"name\"\n"
        "w m.json:2: templates[0]: has no description\n"
        "w m.json:3: templates[0].parameters[0]: has no description\n"
        "e m.json:3: templates[0].parameters[0].type: must be string, boolean, integer, array or "
        "choice\n"
        "e m.json:3: templates[0].parameters[1].name: \"if\" means something else inside {{…}}\n"
        "w m.json:3: templates[0].parameters[1]: has no description\n"
        "e m.json:3: templates[0].parameters[1].default: would be refused (type): expected "
        "boolean\n");
    assert_int_equal(template_manifest_count(manifest), 1);
    model_span_is(template_manifest_at(manifest, 0)->uri_text, "template://a/b/d");
    (void)template_manifest_free(manifest);

    problems = (Problems){.n_errors = 0};
    assert_int_equal(
        template_manifest_lint(&manifest, SPAN("{\"templates\":[]}"), "m.json", collect, &problems),
        0);
    assert_string_equal(problems.all, "w m.json:1: templates: holds none\n");
    assert_int_equal(template_manifest_count(manifest), 0);
    (void)template_manifest_free(manifest);

    problems = (Problems){.n_errors = 0};
    assert_int_equal(template_manifest_lint(&manifest, SPAN("{"), "m.json", collect, &problems), 0);
    assert_int_equal(problems.n_errors, 1);
    assert_int_equal(template_manifest_count(manifest), 0);
    (void)template_manifest_free(manifest);
}

static void lint_stops_telling_at_a_thousand_problems(void **state)
{
    static char text[1 << 14];
    Problems problems = {.n_errors = 0};
    TemplateManifest *manifest = NULL;
    size_t n = (size_t)snprintf(text, sizeof(text), "{\"templates\":[0");

    (void)state;
    for (int i = 1; i < 1500; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, ",%d", i % 10);
    }
    (void)snprintf(text + n, sizeof(text) - n, "]}");
    assert_int_equal(
        template_manifest_lint(&manifest, span_from_str(text), "m.json", collect, &problems), 0);
    assert_int_equal(problems.n_errors, TEMPLATE_PROBLEMS_MAX);
    (void)template_manifest_free(manifest);
}

static void text_is_compiled_and_held_against_the_parameters(void **state)
{
    TemplateManifest *manifest = model_manifest(
        "{\"name\":\"author\",\"type\":\"string\"},{\"name\":\"list\",\"type\":\"array\"}", NULL);
    Template *t = template_manifest_at(manifest, 0);
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(template_set_text(manifest, t,
                                       SPAN("{{author}}{{#each list}}{{this}}{{/each}}"
                                            "{{current_timestamp}}{{current_year}}"),
                                       "x.hbs", &diag),
                     0);
    assert_non_null(t->content);
    assert_non_null(t->path);
    model_span_is(t->text, "{{author}}{{#each list}}{{this}}{{/each}}{{current_timestamp}}"
                           "{{current_year}}");

    assert_int_equal(template_set_text(manifest, t,
                                       SPAN("autor\nb {{upper author}}{{upper\nautor}}"), "x.hbs",
                                       &diag),
                     TEMPLATE_MANIFEST_E_MALFORMED);
    assert_string_equal(diag.message,
                        "x.hbs:3: \"autor\" is no parameter; did you mean \"author\"?");
    assert_int_equal(diag.line, 3);
    assert_int_equal(diag.column, 1);
    assert_string_equal(diag.field, "autor");
    /* A text that was refused leaves the one before. */
    assert_non_null(t->content);
    assert_true(model_span_has(t->text, "current_year"));

    assert_int_equal(template_set_text(manifest, t, SPAN("a\n{{#if author}}"), "x.hbs", &diag),
                     TEMPLATE_MANIFEST_E_MALFORMED);
    assert_int_equal(strncmp(diag.message, "x.hbs:", 6), 0);
    assert_int_equal(diag.code, TEMPLATE_MANIFEST_E_MALFORMED);

    assert_int_equal(template_set_text(manifest, t, SPAN("a\n\xff"), "x.hbs", &diag),
                     TEMPLATE_MANIFEST_E_MALFORMED);
    assert_string_equal(diag.message, "x.hbs:2: not UTF-8");
    (void)template_manifest_free(manifest);
}

static void output_is_compiled_and_held_against_the_parameters(void **state)
{
    static const struct {
        const char *output;
        const char *words;
    } cases[] = {{"{{nme}}.txt", "output: \"nme\" is no parameter; did you mean \"name\"?"},
                 {"{{name", "output of template://a/b/c"}};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        TemplateManifest *manifest;
        Diag diag = DIAG_NULL;
        char text[512];

        (void)snprintf(text, sizeof(text),
                       "{\"templates\":[{\"uri\":\"template://a/b/c\",\"name\":\"N\",\"file\":"
                       "\"f\",\"output\":\"%s\",\"parameters\":[{\"name\":\"name\",\"type\":"
                       "\"string\"}]}]}",
                       cases[i].output);
        manifest = parse(text);
        assert_int_equal(template_set_text(manifest, template_manifest_at(manifest, 0),
                                           SPAN("{{name}}"), "x.hbs", &diag),
                         TEMPLATE_MANIFEST_E_MALFORMED);
        if (strstr(diag.message, cases[i].words) == NULL) {
            fail_msg("%s", diag.message);
        }
        assert_null(template_manifest_at(manifest, 0)->content);
        (void)template_manifest_free(manifest);
    }
}

static void lint_of_a_text_tells_all_and_warns_of_what_is_unused(void **state)
{
    TemplateManifest *manifest = model_manifest("{\"name\":\"project_name\",\"type\":\"string\"},"
                                                "{\"name\":\"used\",\"type\":\"string\"},"
                                                "{\"name\":\"idle\",\"type\":\"string\"}",
                                                NULL);
    Problems problems = {.n_errors = 0};
    Template *t = template_manifest_at(manifest, 0);

    (void)state;
    assert_int_equal(template_text_lint(manifest, t, SPAN("{{used}}{{foo}}\n{{bar}}"), "x.hbs",
                                        collect, &problems),
                     0);
    assert_string_equal(problems.all, "e x.hbs:1: \"foo\" is no parameter\n"
                                      "e x.hbs:2: \"bar\" is no parameter\n"
                                      "w x.hbs: parameter \"idle\" is never used\n");
    assert_null(t->content);
    problems = (Problems){.n_errors = 0};
    assert_int_equal(
        template_text_lint(manifest, t, SPAN("{{used}}{{idle}}"), "x.hbs", collect, &problems), 0);
    assert_string_equal(problems.all, "");
    assert_non_null(t->content);
    (void)template_manifest_free(manifest);
}

static void place_of_a_variable_is_where_the_whole_word_stands(void **state)
{
    TemplateManifest *manifest = model_manifest("{\"name\":\"ab-c\",\"type\":\"string\"},"
                                                "{\"name\":\"c-d\",\"type\":\"string\"}",
                                                NULL);
    Template *t = template_manifest_at(manifest, 0);
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(template_set_text(manifest, t, SPAN("{{ab-c}}\n{{c-d}}\nc {{c}}"), "x", &diag),
                     TEMPLATE_MANIFEST_E_MALFORMED);
    assert_int_equal(diag.line, 3);
    assert_int_equal(diag.column, 5);
    (void)template_manifest_free(manifest);
}

static void lint_of_a_text_stops_telling_at_a_thousand_problems(void **state)
{
    static char text[1 << 14];
    TemplateManifest *manifest = model_manifest("", NULL);
    Problems problems = {.n_errors = 0};
    size_t n = 0;

    (void)state;
    for (int i = 0; i < 1200; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "{{v%d}}", i);
    }
    assert_int_equal(template_text_lint(manifest, template_manifest_at(manifest, 0),
                                        span_make(text, n), "x", collect, &problems),
                     0);
    assert_int_equal(problems.n_errors, TEMPLATE_PROBLEMS_MAX);
    (void)template_manifest_free(manifest);
}

static int oom_scenario(void *context)
{
    TemplateManifest *manifest = NULL;
    Diag diag = DIAG_NULL;
    int r = template_manifest_parse(&manifest, SPAN(full), "m.json", &diag);

    (void)context;
    if (r == 0) {
        r = template_set_text(manifest, template_manifest_at(manifest, 0), SPAN("{{project_name}}"),
                              "x", &diag);
    }
    if (r == 0) {
        r = template_set_text(manifest, template_manifest_at(manifest, 0),
                              SPAN("{{project_name}}!"), "x", &diag);
    }
    (void)template_manifest_free(manifest);
    return r;
}

static int oom_scenario_lint(void *context)
{
    Problems problems = {.n_errors = 0};
    TemplateManifest *manifest = NULL;
    int r = template_manifest_lint(
        &manifest,
        SPAN(PARAMETER_OF("\"name\":\"a\",\"type\":\"string\",\"pattern\":\"^b\",\"default\":"
                          "\"a\"")),
        "m.json", collect, &problems);

    (void)context;
    if (r == 0) {
        assert_int_equal(problems.n_errors, 1);
        (void)template_manifest_free(manifest);
    }
    return r;
}

static void out_of_memory_is_told_and_leaks_nothing(void **state)
{
    (void)state;
    test_oom_sweep(oom_scenario, NULL);
    test_oom_sweep(oom_scenario_lint, NULL);
}

static void types_have_names(void **state)
{
    (void)state;
    assert_string_equal(template_type_name(TEMPLATE_STRING), "string");
    assert_string_equal(template_type_name(TEMPLATE_CHOICE), "choice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_that_is_said_is_read),
        cmocka_unit_test(what_is_not_said_has_a_default),
        cmocka_unit_test(schema_of_the_parameters_is_what_an_agent_needs),
        cmocka_unit_test(schema_of_the_parameters_is_valid_and_works),
        cmocka_unit_test(a_malformed_manifest_is_named_with_line_and_field),
        cmocka_unit_test(a_malformed_parameter_is_named_with_line_and_field),
        cmocka_unit_test(sizes_are_bounded),
        cmocka_unit_test(lint_tells_every_problem_and_keeps_what_is_sound),
        cmocka_unit_test(lint_stops_telling_at_a_thousand_problems),
        cmocka_unit_test(text_is_compiled_and_held_against_the_parameters),
        cmocka_unit_test(output_is_compiled_and_held_against_the_parameters),
        cmocka_unit_test(lint_of_a_text_tells_all_and_warns_of_what_is_unused),
        cmocka_unit_test(place_of_a_variable_is_where_the_whole_word_stands),
        cmocka_unit_test(lint_of_a_text_stops_telling_at_a_thousand_problems),
        cmocka_unit_test(out_of_memory_is_told_and_leaks_nothing),
        cmocka_unit_test(types_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
