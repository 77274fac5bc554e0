/* nftw */
#define _XOPEN_SOURCE 700

#include "providers/template_source.h"

#include "support/cmocka.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/tree.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

#define URI "template://makefile/mine/cli"
#define ONE(uri, file)                                                                             \
    "{\"uri\":\"" uri "\",\"name\":\"Mine\",\"description\":\"d\",\"file\":\"" file                \
    "\",\"output\":\"out\",\"parameters\":[{\"name\":\"project_name\",\"type\":\"string\"}]}"
#define MANIFEST(list) "{\"templates\":[" list "]}"

static char scratch[] = "/tmp/tw-source-XXXXXX";
static char config[sizeof(scratch) + 16];
static char said[4096];
static const LogSink quiet;

static void keep_line(void *context, const char *line, size_t n)
{
    size_t at = strlen(said);

    (void)context;
    assert_true(at + n < sizeof(said));
    memcpy(said + at, line, n);
    said[at + n] = '\0';
}

static const LogSink log_sink = {.level = LOGSINK_LEVEL_WARN, .write_fn = keep_line};

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

static int setup(void **state)
{
    (void)state;
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    memcpy(scratch + strlen(scratch) - 6, "XXXXXX", 6);
    assert_non_null(mkdtemp(scratch));
    (void)snprintf(config, sizeof(config), "%s/config", scratch);
    assert_int_equal(setenv("XDG_CONFIG_HOME", config, 1), 0);
    said[0] = '\0';
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(alloc_testing()->n_live, 0);
    assert_int_equal(nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    return 0;
}

static void put(const char *path, const char *content)
{
    assert_int_equal(io_tree_write(scratch, path, span_from_str(content), false, true, NULL), 0);
}

static const char *in_scratch(const char *name)
{
    static char paths[4][128];
    static int at;

    at = (at + 1) % 4;
    (void)snprintf(paths[at], sizeof(paths[at]), "%s/%s", scratch, name);
    return paths[at];
}

static TemplateCatalog *load(const char *folder)
{
    const char *const folders[] = {folder, NULL};
    TemplateCatalog *catalog = NULL;

    assert_int_equal(template_source_load(&catalog, folders, &log_sink, NULL), 0);
    return catalog;
}

static const Template *find(TemplateCatalog *catalog, const char *uri)
{
    return template_catalog_find(catalog, span_from_str(uri));
}

static void without_folders_the_built_in_ones_are_there(void **state)
{
    TemplateCatalog *catalog = load(NULL);

    (void)state;
    assert_true(template_catalog_count(catalog) >= 40);
    assert_non_null(find(catalog, "template://makefile/rust/cli"));
    assert_string_equal(said, "");
    (void)template_catalog_free(catalog);
}

static void a_folder_has_a_manifest_or_folders_that_have(void **state)
{
    TemplateCatalog *catalog;

    (void)state;
    put("one/manifest.json", MANIFEST(ONE(URI, "x.hbs") "," ONE("template://b/mine/cli", "x.hbs")));
    put("one/x.hbs", "hello {{project_name}}");
    put("one/inner/manifest.json", MANIFEST(ONE("template://inner/mine/cli", "x.hbs")));
    put("one/inner/x.hbs", "");
    catalog = load(in_scratch("one"));
    assert_non_null(find(catalog, URI));
    assert_true(span_equals(find(catalog, URI)->text, SPAN("hello {{project_name}}")));
    assert_non_null(find(catalog, "template://b/mine/cli"));
    assert_null(find(catalog, "template://inner/mine/cli"));
    (void)template_catalog_free(catalog);
    put("many/a/manifest.json", MANIFEST(ONE(URI, "sub/x.hbs")));
    put("many/a/sub/x.hbs", "A");
    put("many/b/manifest.json", MANIFEST(ONE(URI, "x.hbs")));
    put("many/b/x.hbs", "B");
    put("many/none/readme", "");
    catalog = load(in_scratch("many"));
    assert_true(span_equals(find(catalog, URI)->text, SPAN("B"))); /* the later one */
    assert_string_equal(said, "");
    (void)template_catalog_free(catalog);
}

static void the_users_own_come_before_those_that_are_named(void **state)
{
    TemplateCatalog *catalog;

    (void)state;
    put("config/toolwire/templates/manifest.json",
        MANIFEST(ONE(URI, "x.hbs") "," ONE("template://own/mine/cli", "x.hbs")));
    put("config/toolwire/templates/x.hbs", "own");
    put("one/manifest.json", MANIFEST(ONE(URI, "x.hbs")));
    put("one/x.hbs", "named");
    catalog = load(NULL);
    assert_true(span_equals(find(catalog, URI)->text, SPAN("own")));
    (void)template_catalog_free(catalog);
    catalog = load(in_scratch("one"));
    assert_true(span_equals(find(catalog, URI)->text, SPAN("named")));
    assert_non_null(find(catalog, "template://own/mine/cli"));
    (void)template_catalog_free(catalog);
}

static void what_cannot_be_used_is_told_and_left_out(void **state)
{
    TemplateCatalog *catalog;

    (void)state;
    put("bad/a/manifest.json", "{\"templates\":[{]}");
    put("bad/b/manifest.json",
        MANIFEST(ONE(URI, "gone.hbs") "," ONE("template://b/mine/cli", "bad.hbs") "," ONE(
            "template://c/mine/cli", "good.hbs") ",{\"uri\":\"nonsense\"}"));
    put("bad/b/bad.hbs", "{{#if}}");
    put("bad/b/good.hbs", "good");
    catalog = load(in_scratch("bad"));
    assert_null(find(catalog, URI));
    assert_null(find(catalog, "template://b/mine/cli"));
    assert_non_null(find(catalog, "template://c/mine/cli"));
    assert_non_null(strstr(said, "bad/a/manifest.json"));
    assert_non_null(strstr(said, "bad/b/gone.hbs"));
    assert_non_null(strstr(said, "bad/b/bad.hbs"));
    assert_non_null(strstr(said, "templates[3]"));
    (void)template_catalog_free(catalog);
}

static void links_lead_nowhere(void **state)
{
    TemplateCatalog *catalog;

    (void)state;
    put("outside/manifest.json", MANIFEST(ONE(URI, "x.hbs")));
    put("outside/x.hbs", "secret");
    put("one/a/manifest.json", MANIFEST(ONE(URI, "x.hbs")));
    assert_int_equal(symlink(in_scratch("outside"), in_scratch("one/b")), 0);
    assert_int_equal(symlink(in_scratch("outside/x.hbs"), in_scratch("one/a/x.hbs")), 0);
    catalog = load(in_scratch("one"));
    assert_null(find(catalog, URI));
    assert_non_null(strstr(said, "x.hbs"));
    (void)template_catalog_free(catalog);
}

static void a_named_folder_must_be_there(void **state)
{
    const char *const folders[] = {in_scratch("none"), NULL};
    TemplateCatalog *catalog = NULL;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(template_source_load(&catalog, folders, NULL, &diag),
                     TEMPLATE_SOURCE_E_FOLDER);
    assert_null(catalog);
    assert_non_null(strstr(diag.message, folders[0]));
    put("empty/readme", "");
    catalog = load(in_scratch("empty"));
    assert_non_null(strstr(said, "there is no manifest.json"));
    (void)template_catalog_free(catalog);
}

static int load_all(void *context)
{
    const char *const folders[] = {context, NULL};
    TemplateCatalog *catalog = NULL;
    int r = template_source_load(&catalog, folders, &quiet, NULL);

    if (r == 0) {
        assert_non_null(find(catalog, URI));
    }
    (void)template_catalog_free(catalog);
    return r;
}

/* Every 97th failure, since the built-in ones take many thousand allocations. */
static void no_memory_leaves_nothing_behind(void **state)
{
    char folder[64];
    int r = -ENOMEM;

    (void)state;
    put("one/a/manifest.json", MANIFEST(ONE(URI, "x.hbs")));
    put("one/a/x.hbs", "text");
    (void)snprintf(folder, sizeof(folder), "%s", in_scratch("one"));
    for (size_t n = 1; r == -ENOMEM; n += 97) {
        alloc_testing_reset(n);
        r = load_all(folder);
        assert_int_equal(alloc_testing()->n_live, 0);
    }
    assert_int_equal(r, 0);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(without_folders_the_built_in_ones_are_there, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_folder_has_a_manifest_or_folders_that_have, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_users_own_come_before_those_that_are_named, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_used_is_told_and_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(links_lead_nowhere, setup, teardown),
        cmocka_unit_test_setup_teardown(a_named_folder_must_be_there, setup, teardown),
        cmocka_unit_test_setup_teardown(no_memory_leaves_nothing_behind, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
