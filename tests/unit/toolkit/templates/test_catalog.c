#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "toolkit/templates/catalog.h"
#include "unit/toolkit/templates/model.h"

static const HashSeed seed = {1, 2};

typedef struct Row {
    const char *uri; /* without the scheme */
    const char *name;
    const char *description;
    const char *parameters; /* JSON objects */
} Row;

#define P(name) "{\"name\":\"" name "\",\"type\":\"string\"}"

static const Row rows[] = {
    {"gitignore/rust/cli", "Rust Ignore", "What git leaves out", ""},
    {"makefile/rust/cli", "Rust Makefile", "Builds with cargo", P("project_name") "," P("target")},
    {"ci/rust/cli", "Rust Pipeline", "Checks every commit; MAKEFILE needed", P("project_name")},
    {"readme/rust/lib", "Rust Library Readme", "Words", P("project_name") "," P("project_url")},
    {"readme/rust/cli", "Rust Readme", "Words for a rust program", P("project_name")},
    {"makefile/deno/cli", "Deno Makefile", "Builds with deno", P("project_name")},
};

/* A manifest of the rows, each with a text, but for the rows that are left without one. */
static int make(TemplateManifest **ret, const Row *list, size_t n, size_t without)
{
    static char text[1 << 16];
    size_t at = (size_t)snprintf(text, sizeof(text), "{\"templates\":[");
    int r;

    for (size_t i = 0; i < n; i++) {
        at += (size_t)snprintf(text + at, sizeof(text) - at,
                               "%s{\"uri\":\"template://%s\",\"name\":\"%s\",\"description\":"
                               "\"%s\",\"file\":\"f\",\"output\":\"o\",\"parameters\":[%s]}",
                               i > 0 ? "," : "", list[i].uri, list[i].name, list[i].description,
                               list[i].parameters);
        assert_true(at < sizeof(text) - 8);
    }
    (void)snprintf(text + at, sizeof(text) - at, "]}");
    r = template_manifest_parse(ret, span_from_str(text), "m", NULL);
    for (size_t i = 0; r == 0 && i < n; i++) {
        if (i != without) {
            r = template_set_text(*ret, template_manifest_at(*ret, i), SPAN("text"), "f", NULL);
        }
        if (r != 0) {
            *ret = template_manifest_free(*ret);
        }
    }
    return r;
}

static TemplateManifest *manifest_of(const Row *list, size_t n)
{
    TemplateManifest *manifest = NULL;

    assert_int_equal(make(&manifest, list, n, SIZE_MAX), 0);
    return manifest;
}

static TemplateCatalog *catalog_of(const Row *list, size_t n)
{
    TemplateCatalog *catalog = NULL;

    assert_int_equal(template_catalog_new(&catalog, seed), 0);
    assert_int_equal(template_catalog_add(catalog, manifest_of(list, n)), 0);
    return catalog;
}

static void order_is(const TemplateCatalog *catalog, const char *const *uris, size_t n)
{
    assert_int_equal(template_catalog_count(catalog), n);
    for (size_t i = 0; i < n; i++) {
        Span uri = template_catalog_at(catalog, i)->uri_text;

        model_span_is(span_make(uri.p + 11, uri.n - 11), uris[i]);
    }
}

static void names_are(const Span *names, size_t n, const char *const *expected, size_t n_expected)
{
    assert_int_equal(n, n_expected);
    for (size_t i = 0; i < n; i++) {
        model_span_is(names[i], expected[i]);
    }
}

static void order_is_toolchain_then_category_then_variant(void **state)
{
    static const char *const uris[] = {"makefile/rust/cli", "readme/rust/cli",
                                       "readme/rust/lib",   "gitignore/rust/cli",
                                       "ci/rust/cli",       "makefile/deno/cli"};
    static const char *const toolchains[] = {"rust", "deno"};
    static const char *const categories[] = {"makefile", "readme", "gitignore", "ci"};
    static const char *const variants[] = {"cli", "lib"};
    TemplateCatalog *catalog = catalog_of(rows, TW_ARRAY_SIZE(rows));
    const Span *names;
    size_t n;

    (void)state;
    order_is(catalog, uris, TW_ARRAY_SIZE(uris));
    n = template_catalog_toolchains(catalog, &names);
    names_are(names, n, toolchains, TW_ARRAY_SIZE(toolchains));
    n = template_catalog_categories(catalog, &names);
    names_are(names, n, categories, TW_ARRAY_SIZE(categories));
    n = template_catalog_variants(catalog, &names);
    names_are(names, n, variants, TW_ARRAY_SIZE(variants));
    (void)template_catalog_free(catalog);
    assert_null(template_catalog_free(NULL));
}

static void a_later_manifest_takes_the_place_of_an_earlier_one(void **state)
{
    static const Row later[] = {{"ci/aaa/cli", "New", "", ""},
                                {"readme/rust/cli", "Mine", "Own words", ""}};
    static const char *const uris[] = {"makefile/rust/cli",  "readme/rust/cli", "readme/rust/lib",
                                       "gitignore/rust/cli", "ci/rust/cli",     "makefile/deno/cli",
                                       "ci/aaa/cli"};
    TemplateCatalog *catalog = catalog_of(rows, TW_ARRAY_SIZE(rows));
    const TemplateHit *hits;
    size_t n;

    (void)state;
    assert_int_equal(template_catalog_add(catalog, manifest_of(later, 2)), 0);
    order_is(catalog, uris, TW_ARRAY_SIZE(uris));
    model_span_is(template_catalog_find(catalog, SPAN("template://readme/rust/cli"))->name, "Mine");
    model_span_is(template_catalog_at(catalog, 1)->name, "Mine");
    assert_int_equal(template_catalog_search(catalog, SPAN("words"), NULL, &hits, &n), 0);
    assert_int_equal(n, 2);
    model_span_is(hits[0].template->name, "Mine");
    assert_int_equal(template_catalog_search(catalog, SPAN("rust program"), NULL, &hits, &n), 0);
    assert_int_equal(n, 0);
    (void)template_catalog_free(catalog);
}

static void find_is_exact(void **state)
{
    TemplateCatalog *catalog = catalog_of(rows, TW_ARRAY_SIZE(rows));

    (void)state;
    model_span_is(template_catalog_find(catalog, SPAN("template://makefile/deno/cli"))->name,
                  "Deno Makefile");
    assert_null(template_catalog_find(catalog, SPAN("template://makefile/deno/cl")));
    assert_null(template_catalog_find(catalog, SPAN("template://x/makefile/deno/cli/y")));
    assert_null(template_catalog_find(catalog, SPAN("makefile/deno/cli")));
    assert_null(template_catalog_find(catalog, SPAN_NULL));
    (void)template_catalog_free(catalog);
}

static void a_template_without_text_is_left_out(void **state)
{
    TemplateCatalog *catalog = NULL;
    TemplateManifest *manifest = NULL;

    (void)state;
    assert_int_equal(make(&manifest, rows, TW_ARRAY_SIZE(rows), 1), 0);
    assert_int_equal(template_catalog_new(&catalog, seed), 0);
    assert_int_equal(template_catalog_count(catalog), 0);
    assert_int_equal(template_catalog_add(catalog, manifest), 0);
    assert_int_equal(template_catalog_count(catalog), TW_ARRAY_SIZE(rows) - 1);
    assert_null(template_catalog_find(catalog, SPAN("template://makefile/rust/cli")));
    (void)template_catalog_free(catalog);
}

static void a_filter_passes_what_is_equal_in_all_it_names(void **state)
{
    TemplateCatalog *catalog = catalog_of(rows, TW_ARRAY_SIZE(rows));
    const Template *t = template_catalog_find(catalog, SPAN("template://readme/rust/lib"));

    (void)state;
    assert_true(template_matches(t, &(TemplateFilter){.toolchain = SPAN_NULL}));
    assert_true(template_matches(t, &(TemplateFilter){.toolchain = SPAN("rust")}));
    assert_true(template_matches(t, &(TemplateFilter){SPAN("rust"), SPAN("readme"), SPAN("lib")}));
    assert_false(template_matches(t, &(TemplateFilter){.toolchain = SPAN("rus")}));
    assert_false(template_matches(t, &(TemplateFilter){.category = SPAN("makefile")}));
    assert_false(template_matches(t, &(TemplateFilter){SPAN("rust"), SPAN("readme"), SPAN("cli")}));
    (void)template_catalog_free(catalog);
}

/* expected: "10 makefile/rust/cli, 3 ci/rust/cli" */
static void search_is(TemplateCatalog *catalog, Span query, const TemplateFilter *filter,
                      const char *expected)
{
    const TemplateHit *hits;
    char found[1024] = "";
    size_t n;

    assert_int_equal(template_catalog_search(catalog, query, filter, &hits, &n), 0);
    for (size_t i = 0; i < n; i++) {
        size_t at = strlen(found);

        (void)snprintf(found + at, sizeof(found) - at, "%s%d %s", i > 0 ? ", " : "",
                       hits[i].relevance, hits[i].template->uri_text.p + 11);
    }
    if (strcmp(found, expected) != 0) {
        fail_msg("%.*s: %s", (int)query.n, query.n > 0 ? query.p : "", found);
    }
}

static void relevance_is_that_of_the_reference(void **state)
{
    static const Row more[] = {{"makefile/x/a", "Makefile", "makefile", P("makefile_name")}};
    TemplateCatalog *catalog = catalog_of(rows, TW_ARRAY_SIZE(rows));

    (void)state;
    assert_int_equal(template_catalog_add(catalog, manifest_of(more, 1)), 0);
    /* Equal 10, description 3, parameter 1; name 5; description 3. */
    search_is(catalog, SPAN("makefile"), NULL,
              "14 makefile/x/a, 5 makefile/deno/cli, 5 makefile/rust/cli, 3 ci/rust/cli");
    search_is(catalog, SPAN("MAKEFILE"), NULL,
              "14 makefile/x/a, 5 makefile/deno/cli, 5 makefile/rust/cli, 3 ci/rust/cli");
    search_is(catalog, SPAN("project"), NULL,
              "2 readme/rust/lib, 1 ci/rust/cli, 1 makefile/deno/cli, 1 makefile/rust/cli, "
              "1 readme/rust/cli");
    search_is(catalog, SPAN("kefi"), &(TemplateFilter){.toolchain = SPAN("deno")},
              "5 makefile/deno/cli");
    (void)template_catalog_free(catalog);
}

static void words_are_looked_for_each_on_its_own(void **state)
{
    TemplateCatalog *catalog = catalog_of(rows, TW_ARRAY_SIZE(rows));

    (void)state;
    search_is(catalog, SPAN("readme rust"), NULL, "13 readme/rust/cli, 10 readme/rust/lib");
    search_is(catalog, SPAN("  cargo\tproject\n"), NULL, "4 makefile/rust/cli");
    search_is(catalog, SPAN("rust deno"), NULL, "");
    /* Once is enough. */
    search_is(catalog, SPAN("readme rust README readme"), NULL,
              "13 readme/rust/cli, 10 readme/rust/lib");
    /* The name itself comes first, though another has more in it. */
    search_is(catalog, SPAN("rust  README"), NULL, "23 readme/rust/cli, 10 readme/rust/lib");
    search_is(catalog, SPAN("rust readme"), NULL, "23 readme/rust/cli, 10 readme/rust/lib");
    (void)template_catalog_free(catalog);
}

static void nothing_is_found_across_two_fields(void **state)
{
    TemplateCatalog *catalog = catalog_of(rows, TW_ARRAY_SIZE(rows));

    (void)state;
    search_is(catalog, SPAN("readmewords"), NULL, "");
    search_is(catalog, SPAN("readme\0words"), NULL, "");
    (void)template_catalog_free(catalog);
}

static void a_misspelt_word_counts_a_little_where_no_template_has_it(void **state)
{
    static const Row odd[] = {{"readme/x/a", "Rusty things", "", ""}};
    TemplateCatalog *catalog = catalog_of(rows, TW_ARRAY_SIZE(rows));

    (void)state;
    search_is(catalog, SPAN("makefle"), NULL, "1 makefile/deno/cli, 1 makefile/rust/cli");
    search_is(catalog, SPAN("Makfeile"), NULL, "1 makefile/deno/cli, 1 makefile/rust/cli");
    search_is(catalog, SPAN("dneo"), NULL, "1 makefile/deno/cli");
    search_is(catalog, SPAN("dneo makefile"), NULL, "6 makefile/deno/cli");
    search_is(catalog, SPAN("denk makefle"), NULL, "2 makefile/deno/cli");
    /* Three letters off, or too short for a slip. */
    search_is(catalog, SPAN("mkfle"), NULL, "");
    search_is(catalog, SPAN("dn"), NULL, "");
    search_is(catalog, SPAN("mokefulo"), NULL, "");
    /* Found exactly, if only outside the filter: not misspelt. */
    search_is(catalog, SPAN("dneo"), &(TemplateFilter){.toolchain = SPAN("rust")}, "");
    search_is(catalog, SPAN("cargo"), &(TemplateFilter){.toolchain = SPAN("deno")}, "");
    assert_int_equal(template_catalog_add(catalog, manifest_of(odd, 1)), 0);
    search_is(catalog, SPAN("rusty"), NULL, "5 readme/x/a");
    (void)template_catalog_free(catalog);
}

static void an_empty_query_finds_all(void **state)
{
    TemplateCatalog *catalog = catalog_of(rows, TW_ARRAY_SIZE(rows));

    (void)state;
    search_is(catalog, SPAN(" "), NULL,
              "10 makefile/rust/cli, 10 readme/rust/lib, 9 ci/rust/cli, 9 makefile/deno/cli, "
              "9 readme/rust/cli, 8 gitignore/rust/cli");
    search_is(catalog, SPAN_NULL, &(TemplateFilter){.category = SPAN("ci")}, "9 ci/rust/cli");
    search_is(catalog, SPAN_NULL, &(TemplateFilter){.category = SPAN("nothing")}, "");
    /* Bytes that no template has are no blanks. */
    search_is(catalog, span_make("\0", 1), NULL, "");
    search_is(catalog, span_make(" \0 ", 3), NULL, "");
    search_is(catalog, SPAN("\x01"), NULL, "");
    search_is(catalog, SPAN("\x7f"), NULL, "");
    (void)template_catalog_free(catalog);
}

/* Other words than each other, all in "makefile". */
#define SIXTEEN                                                                                    \
    "ma mak make makef makefi makefil makefile ak ake akef akefi akefil akefile ke kef m"

static void long_queries_are_cut(void **state)
{
    TemplateCatalog *catalog = catalog_of(rows, TW_ARRAY_SIZE(rows));
    char word[TEMPLATE_QUERY_BYTES * 2];

    (void)state;
    /* 16 words, and one more that nothing has, which does not count. */
    search_is(catalog, SPAN(SIXTEEN " %"), &(TemplateFilter){.category = SPAN("makefile")},
              "81 makefile/deno/cli, 81 makefile/rust/cli");
    search_is(catalog, SPAN("% " SIXTEEN), NULL, "");
    /* One that comes again is none of them. */
    search_is(catalog, SPAN("m " SIXTEEN " make %"), &(TemplateFilter){.toolchain = SPAN("deno")},
              "81 makefile/deno/cli");
    memset(word, 'w', sizeof(word));
    search_is(catalog, span_make(word, sizeof(word)), NULL, "");
    (void)template_catalog_free(catalog);
}

static void an_empty_catalog_finds_nothing(void **state)
{
    TemplateCatalog *catalog = NULL;

    (void)state;
    assert_int_equal(template_catalog_new(&catalog, seed), 0);
    search_is(catalog, SPAN("x"), NULL, "");
    search_is(catalog, SPAN(""), NULL, "");
    assert_null(template_catalog_find(catalog, SPAN("template://a/b/c")));
    (void)template_catalog_free(catalog);
}

static void many_manifests_stay_in_order_and_searching_allocates_nothing(void **state)
{
    TemplateCatalog *catalog = NULL;
    const TemplateHit *hits;
    size_t n_calls;
    size_t n;

    (void)state;
    assert_int_equal(template_catalog_new(&catalog, seed), 0);
    for (unsigned i = 0; i < 300; i++) {
        char uri[64];
        char name[32];
        Row row = {uri, name, "one of many", ""};
        unsigned k = i * 7 % 300;

        (void)snprintf(uri, sizeof(uri), "c%03u/t%u/v", k, k % 3);
        (void)snprintf(name, sizeof(name), "Number %u", k);
        assert_int_equal(template_catalog_add(catalog, manifest_of(&row, 1)), 0);
    }
    assert_int_equal(template_catalog_count(catalog), 300);
    for (size_t i = 1; i < 300; i++) {
        const Template *a = template_catalog_at(catalog, i - 1);
        const Template *b = template_catalog_at(catalog, i);

        assert_true(!span_equals(a->uri.toolchain, b->uri.toolchain) ||
                    span_compare(a->uri.category, b->uri.category) < 0);
    }
    n_calls = alloc_testing()->n_calls;
    assert_int_equal(template_catalog_search(catalog, SPAN("number"), NULL, &hits, &n), 0);
    assert_int_equal(n, 300);
    for (size_t i = 1; i < n; i++) {
        assert_true(span_compare(hits[i - 1].template->uri_text, hits[i].template->uri_text) < 0);
    }
    assert_int_equal(alloc_testing()->n_calls, n_calls);
    (void)template_catalog_free(catalog);
}

static int oom_scenario(void *context)
{
    TemplateCatalog *catalog = NULL;
    TemplateManifest *manifest = NULL;
    int r = template_catalog_new(&catalog, seed);

    (void)context;
    for (size_t i = 0; r == 0 && i < 3; i++) {
        size_t before = template_catalog_count(catalog);

        r = make(&manifest, i == 1 ? rows : rows + 1, i == 0 ? 2 : 5, SIZE_MAX);
        if (r == 0) {
            r = template_catalog_add(catalog, manifest);
            if (r != 0) {
                (void)template_manifest_free(manifest);
                assert_int_equal(template_catalog_count(catalog), before);
                assert_true((template_catalog_find(catalog, SPAN("template://readme/rust/cli")) !=
                             NULL) == (before > 2));
            }
        }
    }
    (void)template_catalog_free(catalog);
    return r;
}

static void out_of_memory_leaves_the_catalog_as_it_was(void **state)
{
    (void)state;
    test_oom_sweep(oom_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order_is_toolchain_then_category_then_variant),
        cmocka_unit_test(a_later_manifest_takes_the_place_of_an_earlier_one),
        cmocka_unit_test(find_is_exact),
        cmocka_unit_test(a_template_without_text_is_left_out),
        cmocka_unit_test(a_filter_passes_what_is_equal_in_all_it_names),
        cmocka_unit_test(relevance_is_that_of_the_reference),
        cmocka_unit_test(words_are_looked_for_each_on_its_own),
        cmocka_unit_test(nothing_is_found_across_two_fields),
        cmocka_unit_test(a_misspelt_word_counts_a_little_where_no_template_has_it),
        cmocka_unit_test(an_empty_query_finds_all),
        cmocka_unit_test(long_queries_are_cut),
        cmocka_unit_test(an_empty_catalog_finds_nothing),
        cmocka_unit_test(many_manifests_stay_in_order_and_searching_allocates_nothing),
        cmocka_unit_test(out_of_memory_leaves_the_catalog_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
