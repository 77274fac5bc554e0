#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "toolkit/templates/project.h"
#include "unit/toolkit/templates/model.h"

static const HashSeed seed = {1, 2};

/* 2024-02-29T12:00:00Z */
#define NOW_MS ((int64_t)1709208000 * 1000)

static const char manifest_text[] =
    "{\"templates\":["
    "{\"uri\":\"template://makefile/rust/cli\",\"name\":\"M\",\"file\":\"0\",\"output\":"
    "\"Makefile\",\"parameters\":[{\"name\":\"project_name\",\"type\":\"string\",\"required\":true}"
    ","
    "{\"name\":\"has_tests\",\"type\":\"boolean\",\"default\":true}]},"
    "{\"uri\":\"template://readme/rust/app\",\"name\":\"R\",\"file\":\"1\",\"output\":"
    "\"docs/{{kebab_case project_name}}.md\",\"executable\":true,\"parameters\":[{\"name\":"
    "\"project_name\",\"type\":\"string\",\"default\":\"MyThing\"},{\"name\":\"note\",\"type\":"
    "\"string\"}]},"
    "{\"uri\":\"template://readme/rust/lib\",\"name\":\"R\",\"file\":\"2\",\"output\":"
    "\"MAKEFILE\"},"
    "{\"uri\":\"template://gitignore/rust/cli\",\"name\":\"G\",\"file\":\"3\",\"output\":"
    "\".gitignore\"},"
    "{\"uri\":\"template://docs/rust/cli\",\"name\":\"D\",\"file\":\"4\",\"output\":\"docs\"},"
    "{\"uri\":\"template://where/rust/cli\",\"name\":\"W\",\"file\":\"5\",\"output\":\"{{place}}\","
    "\"parameters\":[{\"name\":\"place\",\"type\":\"string\",\"required\":true}]},"
    "{\"uri\":\"template://fails/rust/cli\",\"name\":\"F\",\"file\":\"6\",\"output\":\"f\","
    "\"parameters\":[{\"name\":\"flag\",\"type\":\"boolean\",\"default\":true}]},"
    "{\"uri\":\"template://makefile/deno/cli\",\"name\":\"M\",\"file\":\"7\",\"output\":"
    "\"Makefile\"},"
    "{\"uri\":\"template://large/rust/cli\",\"name\":\"L\",\"file\":\"8\",\"output\":\"l\","
    "\"parameters\":[{\"name\":\"list\",\"type\":\"array\",\"default\":[]},{\"name\":\"word\","
    "\"type\":\"string\",\"default\":\"\"}]},"
    "{\"uri\":\"template://tests/rust/cli\",\"name\":\"T\",\"file\":\"9\",\"output\":\"t\","
    "\"when\":\"has_tests\",\"parameters\":[{\"name\":\"has_tests\",\"type\":\"boolean\","
    "\"default\":true}]},"
    "{\"uri\":\"template://bench/rust/cli\",\"name\":\"B\",\"file\":\"10\",\"output\":\"b\","
    "\"when\":\"has_benches\",\"parameters\":[{\"name\":\"has_benches\",\"type\":\"boolean\"}]}"
    "]}";

static const Span texts[] = {
    SPAN_INIT("# {{project_name}}{{#if has_tests}} test{{/if}}\n"),
    SPAN_INIT("{{current_year}} & {{note}}\n"),
    SPAN_INIT("lib"),
    SPAN_INIT(""),
    SPAN_INIT("d"),
    SPAN_INIT("w"),
    SPAN_INIT("a\n{{snake_case flag}}"),
    SPAN_INIT("deno"),
    SPAN_INIT("{{#each list}}{{../word}}{{/each}}"),
    SPAN_INIT("t"),
    SPAN_INIT("b"),
};

static int make_catalog(TemplateCatalog **ret)
{
    TemplateManifest *manifest = NULL;
    TemplateCatalog *catalog = NULL;
    Diag diag = DIAG_NULL;
    int r = template_catalog_new(&catalog, seed);

    if (r == 0) {
        r = template_manifest_parse(&manifest, SPAN(manifest_text), "m", &diag);
    }
    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(texts); i++) {
        r = template_set_text(manifest, template_manifest_at(manifest, i), texts[i], "f", &diag);
    }
    if (r == 0) {
        r = template_catalog_add(catalog, manifest);
    }
    if (r > 0) {
        fail_msg("%s", diag.message);
    }
    if (r != 0) {
        (void)template_manifest_free(manifest);
        (void)template_catalog_free(catalog);
        return r;
    }
    *ret = catalog;
    return 0;
}

typedef struct Run {
    TemplateCatalog *catalog;
    TemplateProject project;
    ModelJson json;
} Run;

static void run_init(Run *run, const char *parameters)
{
    assert_int_equal(make_catalog(&run->catalog), 0);
    template_project_init(&run->project);
    (void)model_json(&run->json, parameters);
}

static void run_deinit(Run *run)
{
    template_project_deinit(&run->project);
    template_project_deinit(&run->project);
    model_json_free(&run->json);
    (void)template_catalog_free(run->catalog);
}

static void one(Run *run, const char *uri, const char *parameters)
{
    run_init(run, parameters);
    assert_int_equal(template_project_one(&run->project,
                                          template_catalog_find(run->catalog, span_from_str(uri)),
                                          json_root(&run->json.doc), NOW_MS),
                     0);
    assert_int_equal(run->project.n_files + run->project.n_failures, 1);
}

/* names: divided by blanks. */
static void many(Run *run, const char *names, const char *parameters)
{
    Span list[16];
    size_t n = 0;

    run_init(run, parameters);
    for (const char *at = names; *at != '\0';) {
        size_t length = strcspn(at, " ");

        list[n++] = span_make(at, length);
        at += length;
        at += *at == ' ';
    }
    assert_int_equal(template_project_many(&run->project, run->catalog, SPAN("rust"), list, n,
                                           json_root(&run->json.doc), NOW_MS),
                     0);
    assert_int_equal(run->project.n_files + run->project.n_failures + run->project.n_skipped, n);
}

static void failure_is(const Run *run, size_t i, const char *asked, const char *message)
{
    assert_true(i < run->project.n_failures);
    model_span_is(run->project.failures[i].asked, asked);
    model_span_is(run->project.failures[i].message, message);
}

static void one_template_gives_one_file(void **state)
{
    const TemplateFile *file;
    Run run;

    (void)state;
    one(&run, "template://makefile/rust/cli", "{\"project_name\":\"my-project\"}");
    file = &run.project.files[0];
    model_span_is(file->path, "Makefile");
    model_span_is(file->filename, "my-project/Makefile");
    model_span_is(file->content, "# my-project test\n");
    assert_string_equal(file->sha256,
                        "1b14ae64423d3ae182f182ddd82a7d7c936c95cc771bd8ac611d49b033b200b5");
    assert_false(file->executable);
    run_deinit(&run);
}

static void a_default_names_the_folder_and_nothing_is_escaped_as_html(void **state)
{
    const TemplateFile *file;
    Run run;

    (void)state;
    one(&run, "template://readme/rust/app", "{\"note\":\"a & b = 'c' <d>\"}");
    file = &run.project.files[0];
    model_span_is(file->path, "docs/my-thing.md");
    model_span_is(file->filename, "MyThing/docs/my-thing.md");
    model_span_is(file->content, "2024 & a & b = 'c' <d>\n");
    assert_true(file->executable);
    run_deinit(&run);
    one(&run, "template://gitignore/rust/cli", "{}");
    model_span_is(run.project.files[0].filename, "project/.gitignore");
    model_span_is(run.project.files[0].content, "");
    assert_string_equal(run.project.files[0].sha256,
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    run_deinit(&run);
}

static void faults_are_a_failure_with_all_of_them(void **state)
{
    const TemplateFailure *failure;
    Run run;

    (void)state;
    one(&run, "template://makefile/rust/cli", "{\"has_test\":1}");
    failure_is(&run, 0, "template://makefile/rust/cli",
               "Parameter validation failed: project_name - required parameter missing");
    failure = &run.project.failures[0];
    assert_int_equal(failure->n_faults, 2);
    assert_string_equal(failure->faults[0].code, TEMPLATE_FAULT_MISSING);
    model_span_is(failure->faults[1].parameter, "has_test");
    model_span_is(failure->faults[1].expected, "has_tests");
    model_span_is(failure->faults[1].got, "1");
    run_deinit(&run);
    one(&run, "template://makefile/rust/cli", "[]");
    failure_is(&run, 0, "template://makefile/rust/cli",
               "Parameter validation failed: parameters - Parameters must be an object");
    run_deinit(&run);
}

static void a_path_that_leaves_the_project_is_refused(void **state)
{
    static const char *const places[] = {"../x", "/etc/passwd", "a/../../b", "C:x",
                                         "",     "a//b",        ".."};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(places); i++) {
        char parameters[64];
        Run run;

        (void)snprintf(parameters, sizeof(parameters), "{\"place\":\"%s\"}", places[i]);
        one(&run, "template://where/rust/cli", parameters);
        assert_int_equal(run.project.n_failures, 1);
        assert_true(model_span_has(run.project.failures[0].message, "Unsafe path of a file: "));
        run_deinit(&run);
    }
}

static void a_rendering_that_fails_names_the_line(void **state)
{
    Run run;

    (void)state;
    one(&run, "template://fails/rust/cli", "{}");
    assert_int_equal(run.project.n_failures, 1);
    assert_true(
        model_span_has(run.project.failures[0].message, "Template rendering failed at line 2: "));
    run_deinit(&run);
}

static void several_names_in_every_form_give_their_files(void **state)
{
    Run run;

    (void)state;
    many(&run, "makefile readme/app template://gitignore/rust/cli",
         "{\"project_name\":\"p\",\"note\":\"n\",\"has_tests\":false}");
    assert_int_equal(run.project.n_failures, 0);
    model_span_is(run.project.files[0].filename, "p/Makefile");
    model_span_is(run.project.files[0].content, "# p\n");
    model_span_is(run.project.files[1].filename, "p/docs/p.md");
    model_span_is(run.project.files[1].content, "2024 & n\n");
    model_span_is(run.project.files[2].filename, "p/.gitignore");
    model_span_is(run.project.files[2].content, "");
    assert_string_not_equal(run.project.files[0].sha256, run.project.files[1].sha256);
    run_deinit(&run);
}

static void a_category_means_cli_else_the_first(void **state)
{
    Run run;

    (void)state;
    many(&run, "readme", "{}");
    model_span_is(run.project.files[0].template->uri_text, "template://readme/rust/app");
    run_deinit(&run);
    many(&run, "template://makefile/deno/cli", "{}");
    model_span_is(run.project.files[0].content, "deno");
    run_deinit(&run);
}

static void names_that_lead_nowhere_are_a_failure_each(void **state)
{
    Run run;

    (void)state;
    many(&run,
         "nothing gitignore readme/none ../../etc/passwd template://x/y/z "
         "template://../../etc gitignore/cli Makefile",
         "{}");
    assert_int_equal(run.project.n_files, 1);
    failure_is(&run, 0, "nothing", "Template not found: template://nothing/rust/cli");
    failure_is(&run, 1, "readme/none", "Template not found: template://readme/rust/none");
    failure_is(&run, 2, "../../etc/passwd", "Invalid template URI: ../../etc/passwd");
    failure_is(&run, 3, "template://x/y/z", "Template not found: template://x/y/z");
    failure_is(&run, 4, "template://../../etc", "Invalid template URI: template://../../etc");
    failure_is(&run, 5, "gitignore/cli", "Template asked for twice: template://gitignore/rust/cli");
    failure_is(&run, 6, "Makefile", "Invalid template URI: Makefile");
    run_deinit(&run);
}

static void two_files_of_one_path_are_a_failure(void **state)
{
    Run run;

    (void)state;
    many(&run, "makefile readme/lib", "{\"project_name\":\"p\"}");
    assert_int_equal(run.project.n_files, 1);
    failure_is(&run, 0, "readme/lib",
               "MAKEFILE: another file of the project (template://makefile/rust/cli)");
    run_deinit(&run);
    many(&run, "docs readme/app", "{\"project_name\":\"p\"}");
    assert_int_equal(run.project.n_files, 1);
    assert_true(model_span_has(run.project.failures[0].message, "docs/p.md: another file"));
    run_deinit(&run);
    many(&run, "readme/app docs", "{\"project_name\":\"p\"}");
    assert_int_equal(run.project.n_files, 1);
    assert_true(model_span_has(run.project.failures[0].message, "docs: another file"));
    run_deinit(&run);
}

static void a_project_goes_without_files_whose_condition_is_false(void **state)
{
    Run run;

    (void)state;
    many(&run, "makefile tests bench", "{\"project_name\":\"x\",\"has_tests\":false}");
    assert_int_equal(run.project.n_failures, 0);
    assert_int_equal(run.project.n_files, 1);
    model_span_is(run.project.files[0].path, "Makefile");
    assert_int_equal(run.project.n_skipped, 2);
    model_span_is(run.project.skipped[0].asked, "tests");
    model_span_is(run.project.skipped[0].template->when, "has_tests");
    /* Neither a value nor a default: not true. */
    model_span_is(run.project.skipped[1].asked, "bench");
    run_deinit(&run);
    many(&run, "tests bench", "{\"has_benches\":true}");
    assert_int_equal(run.project.n_files, 2);
    assert_int_equal(run.project.n_skipped, 0);
    run_deinit(&run);
    /* What is wrong is wrong all the same. */
    many(&run, "tests", "{\"has_tests\":0}");
    assert_int_equal(run.project.n_failures, 1);
    assert_int_equal(run.project.failures[0].n_faults_total, 1);
    run_deinit(&run);
    /* Who asks for one file gets it. */
    one(&run, "template://tests/rust/cli", "{\"has_tests\":false}");
    assert_int_equal(run.project.n_files, 1);
    assert_int_equal(run.project.n_skipped, 0);
    run_deinit(&run);
}

static void a_parameter_is_unknown_only_if_no_template_has_it(void **state)
{
    Run run;

    (void)state;
    many(&run, "makefile gitignore readme", "{\"project_name\":\"p\",\"note\":\"n\"}");
    assert_int_equal(run.project.n_files, 3);
    run_deinit(&run);
    many(&run, "makefile gitignore", "{\"project_name\":\"p\",\"note\":\"n\"}");
    assert_int_equal(run.project.n_files, 0);
    assert_int_equal(run.project.failures[0].n_faults, 1);
    assert_string_equal(run.project.failures[0].faults[0].code, TEMPLATE_FAULT_UNKNOWN);
    assert_int_equal(run.project.failures[1].n_faults, 1);
    run_deinit(&run);
}

static void project_name_names_the_folder_of_files_that_do_not_use_it(void **state)
{
    Run run;

    (void)state;
    many(&run, "gitignore", "{\"project_name\":\"my project\"}");
    assert_int_equal(run.project.n_failures, 0);
    model_span_is(run.project.files[0].filename, "my project/.gitignore");
    run_deinit(&run);
    one(&run, "template://gitignore/rust/cli", "{\"project_name\":\"p\"}");
    assert_int_equal(run.project.n_failures, 0);
    model_span_is(run.project.files[0].filename, "p/.gitignore");
    run_deinit(&run);
}

static void an_unsafe_project_name_fails_every_template(void **state)
{
    Run run;

    (void)state;
    many(&run, "gitignore makefile", "{\"project_name\":\"../up\"}");
    assert_int_equal(run.project.n_files, 0);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(run.project.failures[i].n_faults, 1);
        assert_string_equal(run.project.failures[i].faults[0].code, TEMPLATE_FAULT_NAME);
        model_span_is(run.project.failures[i].faults[0].got, "\"../up\"");
    }
    run_deinit(&run);
    many(&run, "gitignore makefile", "{\"project_name\":7}");
    assert_int_equal(run.project.n_files, 0);
    run_deinit(&run);
}

/* A template whose text is short may still ask for more than a response holds. */
static void files_are_bounded_together(void **state)
{
    char *parameters = malloc(1 << 17);
    size_t n = (size_t)snprintf(parameters, 64, "{\"word\":\"");
    Run run;

    (void)state;
    assert_non_null(parameters);
    memset(parameters + n, 'w', 32768);
    n += 32768;
    n += (size_t)snprintf(parameters + n, 64, "\",\"list\":[\"\"");
    for (int i = 1; i < 1000; i++) {
        n += (size_t)snprintf(parameters + n, 64, ",\"\"");
    }
    (void)snprintf(parameters + n, 64, "]}");
    many(&run, "gitignore large", parameters);
    assert_int_equal(run.project.n_files, 1);
    failure_is(&run, 0, "large", "The files would be longer than 8388608 bytes");
    run_deinit(&run);
    free(parameters);
}

static void more_names_than_a_project_may_have_are_told(void **state)
{
    Span names[TEMPLATE_PROJECT_NAMES + 5];
    TemplateProject project;
    TemplateCatalog *catalog = NULL;

    (void)state;
    assert_int_equal(make_catalog(&catalog), 0);
    template_project_init(&project);
    for (size_t i = 0; i < TW_ARRAY_SIZE(names); i++) {
        names[i] = SPAN("gitignore");
    }
    assert_int_equal(template_project_many(&project, catalog, SPAN("rust"), names,
                                           TW_ARRAY_SIZE(names), JSON_VALUE_NULL, NOW_MS),
                     0);
    assert_int_equal(project.n_files, 1);
    assert_int_equal(project.n_failures, TEMPLATE_PROJECT_NAMES);
    model_span_is(project.failures[TEMPLATE_PROJECT_NAMES - 1].message,
                  "More than 256 templates asked for");
    assert_int_equal(
        template_project_many(&project, catalog, SPAN("rust"), NULL, 0, JSON_VALUE_NULL, NOW_MS),
        0);
    assert_int_equal(project.n_files + project.n_failures, 0);
    template_project_deinit(&project);
    (void)template_catalog_free(catalog);
}

static void a_steady_stream_allocates_nothing(void **state)
{
    static const Span names[] = {SPAN_INIT("makefile"), SPAN_INIT("gitignore")};
    const Template *t;
    size_t n_calls = 0;
    Run run;

    (void)state;
    run_init(&run, "{\"project_name\":\"p\"}");
    t = template_catalog_find(run.catalog, SPAN("template://makefile/rust/cli"));
    for (int i = 0; i < 4; i++) {
        n_calls = alloc_testing()->n_calls;
        assert_int_equal(template_project_one(&run.project, t, json_root(&run.json.doc), NOW_MS),
                         0);
        assert_int_equal(template_project_many(&run.project, run.catalog, SPAN("rust"), names, 2,
                                               json_root(&run.json.doc), NOW_MS),
                         0);
    }
    assert_int_equal(run.project.n_files, 2);
    assert_int_equal(alloc_testing()->n_calls, n_calls);
    run_deinit(&run);
}

static int oom_scenario(void *context)
{
    static const Span names[] = {SPAN_INIT("makefile"), SPAN_INIT("none"), SPAN_INIT("readme"),
                                 SPAN_INIT("where")};
    Run *run = context;
    TemplateProject project;
    int r;

    template_project_init(&project);
    r = template_project_many(&project, run->catalog, SPAN("rust"), names, TW_ARRAY_SIZE(names),
                              json_root(&run->json.doc), NOW_MS);
    if (r == 0) {
        assert_int_equal(project.n_files, 2);
        assert_int_equal(project.n_failures, 2);
    }
    template_project_deinit(&project);
    return r;
}

static void out_of_memory_is_told_and_leaks_nothing(void **state)
{
    Run run;

    (void)state;
    run_init(&run, "{\"project_name\":\"p\"}");
    test_oom_sweep(oom_scenario, &run);
    run_deinit(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_template_gives_one_file),
        cmocka_unit_test(a_default_names_the_folder_and_nothing_is_escaped_as_html),
        cmocka_unit_test(faults_are_a_failure_with_all_of_them),
        cmocka_unit_test(a_path_that_leaves_the_project_is_refused),
        cmocka_unit_test(a_rendering_that_fails_names_the_line),
        cmocka_unit_test(several_names_in_every_form_give_their_files),
        cmocka_unit_test(a_category_means_cli_else_the_first),
        cmocka_unit_test(names_that_lead_nowhere_are_a_failure_each),
        cmocka_unit_test(two_files_of_one_path_are_a_failure),
        cmocka_unit_test(a_project_goes_without_files_whose_condition_is_false),
        cmocka_unit_test(a_parameter_is_unknown_only_if_no_template_has_it),
        cmocka_unit_test(project_name_names_the_folder_of_files_that_do_not_use_it),
        cmocka_unit_test(an_unsafe_project_name_fails_every_template),
        cmocka_unit_test(files_are_bounded_together),
        cmocka_unit_test(more_names_than_a_project_may_have_are_told),
        cmocka_unit_test(a_steady_stream_allocates_nothing),
        cmocka_unit_test(out_of_memory_is_told_and_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
