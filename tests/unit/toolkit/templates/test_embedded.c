#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/files.h"
#include "support/oom_sweep.h"
#include "toolkit/templates/embedded.h"
#include "unit/toolkit/templates/model.h"

static const HashSeed seed = {1, 2};

#define FILE_OF(path, text)                                                                        \
    {                                                                                              \
        path, (const unsigned char *)(text), sizeof(text) - 1                                      \
    }

#define MANIFEST_OF(uri, file)                                                                     \
    "{\"templates\":[{\"uri\":\"template://" uri "\",\"name\":\"N\",\"file\":\"" file              \
    "\",\"output\":\"o\"}]}"

static TemplateCatalog *load(void)
{
    TemplateCatalog *catalog = NULL;
    Diag diag = DIAG_NULL;

    assert_int_equal(template_catalog_new(&catalog, seed), 0);
    if (template_embedded_load(catalog, &diag) != 0) {
        fail_msg("%s", diag.message);
    }
    return catalog;
}

static void built_in_files_are_those_of_the_tree_byte_for_byte(void **state)
{
    (void)state;
    assert_true(template_embedded_n_files > 0);
    for (size_t i = 0; i < template_embedded_n_files; i++) {
        const TemplateEmbeddedFile *file = &template_embedded_files[i];
        char path[512];
        size_t n;
        char *text;

        (void)snprintf(path, sizeof(path), "%s/templates/%s", TW_SOURCE_DIR, file->path);
        text = files_read(path, &n);
        assert_int_equal(n, file->n);
        assert_memory_equal(text, file->bytes, n);
        free(text);
    }
    assert_null(template_embedded_files[template_embedded_n_files].path);
}

static void built_in_templates_are_without_fault(void **state)
{
    TemplateCatalog *catalog = load();

    (void)state;
    assert_true(template_catalog_count(catalog) > 0);
    for (size_t i = 0; i < template_catalog_count(catalog); i++) {
        const Template *t = template_catalog_at(catalog, i);

        assert_non_null(t->content);
        assert_non_null(t->path);
        if (t->description.n == 0) {
            fail_msg("%s has no description", t->uri_text.p);
        }
        for (size_t j = 0; j < t->n_parameters; j++) {
            if (t->parameters[j].description.n == 0) {
                fail_msg("%s: %s has no description", t->uri_text.p, t->parameters[j].name.p);
            }
        }
    }
    (void)template_catalog_free(catalog);
}

/* The schemas go to agents, whose own validators read them. */
static void built_in_schemas_compile(void **state)
{
    TemplateCatalog *catalog = load();
    Span meta = SPAN("{\"$ref\":\"https://json-schema.org/draft/2020-12/schema\"}");
    Schema *metaschema = NULL;
    SchemaCheck *check = NULL;

    (void)state;
    assert_int_equal(schema_new(&metaschema, meta, NULL, NULL), 0);
    assert_int_equal(schema_check_new(&check), 0);
    for (size_t i = 0; i < template_catalog_count(catalog); i++) {
        const Template *t = template_catalog_at(catalog, i);
        Schema *schema = NULL;
        ModelJson json;

        assert_int_equal(schema_validate(metaschema, check, model_json(&json, t->schema.p)), 0);
        assert_int_equal(schema_new(&schema, t->schema, NULL, NULL), 0);
        (void)schema_free(schema);
        model_json_free(&json);
    }
    (void)schema_check_free(check);
    (void)schema_free(metaschema);
    (void)template_catalog_free(catalog);
}

static void the_reference_has_its_names_and_its_parameters(void **state)
{
    static const struct {
        const char *uri;
        const char *name;
        const char *parameters;
    } known[] = {
        {"template://makefile/rust/cli", "Rust CLI Makefile",
         "project_name* has_tests has_benchmarks target features default_args "},
        {"template://readme/rust/cli", "Rust CLI README",
         "project_name* description* features rust_version install_command usage_example "
         "prerequisites build_command test_command license author "},
        {"template://gitignore/rust/cli", "Rust CLI .gitignore",
         "project_type ide_files build_artifacts language_specific os_specific custom_patterns "
         "embedded_targets "},
    };
    TemplateCatalog *catalog = load();

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(known); i++) {
        const Template *t = template_catalog_find(catalog, span_from_str(known[i].uri));
        char names[512] = "";

        assert_non_null(t);
        model_span_is(t->name, known[i].name);
        model_span_is(t->version, "1.0.0");
        for (size_t j = 0; j < t->n_parameters; j++) {
            size_t at = strlen(names);

            (void)snprintf(names + at, sizeof(names) - at, "%s%s ", t->parameters[j].name.p,
                           t->parameters[j].required ? "*" : "");
        }
        assert_string_equal(names, known[i].parameters);
        assert_ptr_equal(template_catalog_at(catalog, i), t);
    }
    (void)template_catalog_free(catalog);
}

static void manifests_are_loaded_in_the_order_of_the_table(void **state)
{
    static const TemplateEmbeddedFile files[] = {
        FILE_OF("zig/manifest.json", MANIFEST_OF("readme/zig/cli", "sub/r.hbs")),
        FILE_OF("zig/sub/r.hbs", "zig"),
        FILE_OF("ada/manifest.json", MANIFEST_OF("readme/ada/cli", "r.hbs")),
        FILE_OF("ada/r.hbs", "ada"),
    };
    TemplateCatalog *catalog = NULL;

    (void)state;
    assert_int_equal(template_catalog_new(&catalog, seed), 0);
    assert_int_equal(template_embedded_load_from(catalog, files, TW_ARRAY_SIZE(files), NULL), 0);
    assert_int_equal(template_catalog_count(catalog), 2);
    model_span_is(template_catalog_at(catalog, 0)->text, "zig");
    model_span_is(template_catalog_at(catalog, 1)->text, "ada");
    (void)template_catalog_free(catalog);
}

static void mistakes_in_built_in_files_are_named(void **state)
{
    static const TemplateEmbeddedFile missing[] = {
        FILE_OF("a/manifest.json", MANIFEST_OF("readme/a/cli", "r.hbs")),
        FILE_OF("b/r.hbs", "not this one"),
    };
    static const TemplateEmbeddedFile wrong[] = {
        FILE_OF("a/manifest.json", MANIFEST_OF("readme/a/cli", "r.hbs")),
        FILE_OF("a/r.hbs", "\n{{undeclared}}"),
    };
    static const TemplateEmbeddedFile broken[] = {FILE_OF("a/manifest.json", "{")};
    const struct {
        const TemplateEmbeddedFile *files;
        size_t n;
        const char *words;
    } cases[] = {{missing, 2, "r.hbs of template://readme/a/cli is not built in"},
                 {wrong, 2, "a/r.hbs:2: \"undeclared\" is no parameter"},
                 {broken, 1, "a/manifest.json:1: "}};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        TemplateCatalog *catalog = NULL;
        Diag diag = DIAG_NULL;

        assert_int_equal(template_catalog_new(&catalog, seed), 0);
        assert_int_equal(template_embedded_load_from(catalog, cases[i].files, cases[i].n, &diag),
                         TEMPLATE_MANIFEST_E_MALFORMED);
        if (strstr(diag.message, cases[i].words) == NULL) {
            fail_msg("%s", diag.message);
        }
        assert_int_equal(template_catalog_count(catalog), 0);
        (void)template_catalog_free(catalog);
    }
}

static int oom_scenario(void *context)
{
    static const TemplateEmbeddedFile files[] = {
        FILE_OF("a/manifest.json", MANIFEST_OF("readme/a/cli", "r.hbs")),
        FILE_OF("a/r.hbs", "a"),
    };
    TemplateCatalog *catalog = NULL;
    int r = template_catalog_new(&catalog, seed);

    (void)context;
    if (r == 0) {
        r = template_embedded_load_from(catalog, files, 2, NULL);
    }
    (void)template_catalog_free(catalog);
    return r;
}

static void out_of_memory_is_told_and_leaks_nothing(void **state)
{
    (void)state;
    test_oom_sweep(oom_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_in_files_are_those_of_the_tree_byte_for_byte),
        cmocka_unit_test(built_in_templates_are_without_fault),
        cmocka_unit_test(built_in_schemas_compile),
        cmocka_unit_test(the_reference_has_its_names_and_its_parameters),
        cmocka_unit_test(manifests_are_loaded_in_the_order_of_the_table),
        cmocka_unit_test(mistakes_in_built_in_files_are_named),
        cmocka_unit_test(out_of_memory_is_told_and_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
