/* The official JSON Schema test suite, both dialects: every required case must pass, the optional
 * ones are run and reported. */
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes.h"
#include "support/files.h"
#include "support/shared_data.h"
#include "json/schema/schema.h"

#define SUITE         TW_SHARED_DATA "/json-schema-test-suite"
#define REMOTE_PREFIX "http://localhost:1234/"

typedef struct SuiteRun {
    SchemaSet *set;
    SchemaCheck *check;
    SchemaDialect dialect;
    bool assert_formats;
    bool is_optional;
    const char *file;
    size_t n_required, n_required_ok;
    size_t n_optional, n_optional_ok;
    size_t n_wrapped, n_wrapped_ok; /* required ones again, as part of another schema */
} SuiteRun;

static void suite_path(char *out, size_t size, const char *folder, const char *name)
{
    assert_true(snprintf(out, size, "%s/%s", folder, name) < (int)size);
}

static bool suite_is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Registers every file below folder under http://localhost:1234/. Folders of other drafts go in
 * too: a schema that names an unknown dialect is an error only if it is used. */
/* Bounded by the folders' depth, which is 3. NOLINTNEXTLINE(misc-no-recursion) */
static void suite_add_remotes(SchemaSet *set, const char *folder)
{
    size_t n;
    char **names = files_list(folder, "", &n);

    for (size_t i = 0; i < n; i++) {
        char path[1024];
        char uri[1024];
        size_t n_text;
        char *text;

        suite_path(path, sizeof(path), folder, names[i]);
        if (suite_is_folder(path)) {
            suite_add_remotes(set, path);
            continue;
        }
        (void)snprintf(uri, sizeof(uri), REMOTE_PREFIX "%s", path + strlen(SUITE "/remotes/"));
        text = files_read(path, &n_text);
        assert_int_equal(schema_set_add(set, span_from_str(uri), span_make(text, n_text), NULL), 0);
        free(text);
    }
    files_list_free(names);
}

static void suite_count(SuiteRun *run, bool ok)
{
    if (run->is_optional) {
        run->n_optional++;
        run->n_optional_ok += ok;
    } else {
        run->n_required++;
        run->n_required_ok += ok;
    }
}

static void suite_complain(const SuiteRun *run, JsonValue group, JsonValue test, const char *what)
{
    JsonValue group_name;
    JsonValue test_name;

    assert_true(json_get(group, SPAN("description"), &group_name));
    assert_true(json_get(test, SPAN("description"), &test_name));
    printf("  %s %s: %.*s: %.*s: %s\n", run->is_optional ? "optional" : "REQUIRED", run->file,
           (int)json_span(group_name).n, json_span(group_name).p, (int)json_span(test_name).n,
           json_span(test_name).p, what);
}

/* A schema as part of another one, and a value at the place that it then describes. The short paths
 * for members, items and leaves are taken only there, and tracking forces the collecting engine. */
static const struct {
    const char *schema_before, *schema_after;
    const char *data_before, *data_after;
    bool is_modern;
} wraps[] = {
    {"{\"properties\":{\"member\":", "}}", "{\"member\":", "}", false},
    {"{\"properties\":{\"a\":true,\"member\":", "},\"required\":[\"a\",\"member\"]}",
     "{\"member\":", ",\"a\":0}", false},
    {"{\"additionalProperties\":", "}", "{\"member\":", "}", false},
    {"{\"patternProperties\":{\"^m\":", "}}", "{\"member\":", "}", false},
    {"{\"items\":", "}", "[", "]", false},
    {"{\"items\":{\"items\":", "}}", "[[],[", "]]", false},
    {"{\"anyOf\":[false,", "]}", "", "", false},
    {"{\"allOf\":[", "],\"unevaluatedProperties\":true,\"unevaluatedItems\":true}", "", "", true},
};

/* Whether a schema means the same inside another one: nothing in it is relative to its root. */
static bool suite_can_be_wrapped(Span schema)
{
    static const char *const words[] = {
        "\"$ref\"", "\"$id\"", "\"$anchor\"", "\"$dyna", "\"$schema\": \"http://localhost",
        "\"$vocab"};
    char *text = malloc(schema.n + 1);
    bool can = true;

    assert_non_null(text);
    memcpy(text, schema.p, schema.n);
    text[schema.n] = '\0';
    for (size_t i = 0; i < TW_ARRAY_SIZE(words); i++) {
        can = can && strstr(text, words[i]) == NULL;
    }
    free(text);
    return can;
}

static void suite_run_wrapped(SuiteRun *run, JsonValue group, JsonValue test, size_t i)
{
    SchemaOptions options = {
        .dialect = run->dialect, .assert_formats = run->assert_formats, .set = run->set};
    Schema *schema = NULL;
    Bytes text;
    Arena arena;
    JsonDoc doc;
    JsonValue part;
    JsonValue valid;
    int outcome;

    bytes_init(&text, 1 << 20);
    arena_init(&arena, 1 << 24);
    assert_true(json_get(group, SPAN("schema"), &part));
    assert_int_equal(bytes_append_format(&text, "%s%.*s%s", wraps[i].schema_before,
                                         (int)json_span(part).n, json_span(part).p,
                                         wraps[i].schema_after),
                     0);
    assert_int_equal(schema_new(&schema, bytes_span(&text), &options, NULL), 0);
    assert_true(json_get(test, SPAN("data"), &part));
    bytes_clear(&text);
    assert_int_equal(bytes_append_format(&text, "%s%.*s%s", wraps[i].data_before,
                                         (int)json_span(part).n, json_span(part).p,
                                         wraps[i].data_after),
                     0);
    assert_int_equal(json_parse(&doc, &arena, text.data, text.n, NULL, NULL), 0);
    assert_true(json_get(test, SPAN("valid"), &valid));
    outcome = schema_validate(schema, run->check, json_root(&doc));
    run->n_wrapped++;
    if (outcome == (json_kind(valid) == JSON_TRUE ? 0 : SCHEMA_E_INVALID)) {
        run->n_wrapped_ok++;
    } else {
        suite_complain(run, group, test, wraps[i].schema_before);
    }
    schema = schema_free(schema);
    arena_deinit(&arena);
    bytes_deinit(&text);
}

static void suite_run_wraps(SuiteRun *run, JsonValue group, JsonValue test)
{
    JsonValue schema;

    assert_true(json_get(group, SPAN("schema"), &schema));
    if (run->is_optional || !suite_can_be_wrapped(json_span(schema))) {
        return;
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(wraps); i++) {
        if (!wraps[i].is_modern || run->dialect == SCHEMA_DIALECT_2020_12) {
            suite_run_wrapped(run, group, test, i);
        }
    }
}

static void suite_run_group(SuiteRun *run, JsonValue group)
{
    SchemaOptions options = {
        .dialect = run->dialect, .assert_formats = run->assert_formats, .set = run->set};
    Schema *schema = NULL;
    JsonValue text;
    JsonValue tests;
    Diag diag = DIAG_NULL;
    int r;

    assert_true(json_get(group, SPAN("schema"), &text));
    assert_true(json_get(group, SPAN("tests"), &tests));
    r = schema_new(&schema, json_span(text), &options, &diag);
    for (JsonIter it = json_iter(tests); json_iter_next(&it);) {
        JsonValue data;
        JsonValue valid;
        int outcome = -1;

        assert_true(json_get(it.value, SPAN("data"), &data));
        assert_true(json_get(it.value, SPAN("valid"), &valid));
        if (r == 0) {
            outcome = schema_validate(schema, run->check, data);
        }
        if (outcome == SCHEMA_E_INVALID) {
            assert_true(schema_check_n_errors(run->check) > 0);
        }
        suite_count(run, outcome == (json_kind(valid) == JSON_TRUE ? 0 : SCHEMA_E_INVALID));
        if (outcome != (json_kind(valid) == JSON_TRUE ? 0 : SCHEMA_E_INVALID)) {
            suite_complain(run, group, it.value,
                           r != 0         ? diag.message
                           : outcome == 0 ? "accepted, but is invalid"
                                          : "refused, but is valid");
        }
        suite_run_wraps(run, group, it.value);
    }
    (void)schema_free(schema);
}

static void suite_run_file(SuiteRun *run, const char *path)
{
    Arena arena;
    JsonDoc doc;
    size_t n;
    char *text = files_read(path, &n);

    arena_init(&arena, 1 << 26);
    assert_int_equal(json_parse(&doc, &arena, text, n, NULL, NULL), 0);
    for (JsonIter it = json_iter(json_root(&doc)); json_iter_next(&it);) {
        suite_run_group(run, it.value);
    }
    arena_deinit(&arena);
    free(text);
}

static void suite_run_folder(SuiteRun *run, const char *folder)
{
    size_t n;
    char **names = files_list(folder, ".json", &n);

    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        char path[1024];

        suite_path(path, sizeof(path), folder, names[i]);
        run->file = path + strlen(SUITE "/tests/");
        suite_run_file(run, path);
    }
    run->file = NULL;
    files_list_free(names);
}

static void suite_run_dialect(const char *name, SchemaDialect dialect)
{
    SuiteRun run = {.dialect = dialect};
    char folder[1024];

    assert_int_equal(schema_set_new(&run.set), 0);
    assert_int_equal(schema_check_new(&run.check), 0);
    suite_add_remotes(run.set, SUITE "/remotes");
    suite_path(folder, sizeof(folder), SUITE "/tests", name);
    suite_run_folder(&run, folder);
    run.is_optional = true;
    (void)snprintf(folder, sizeof(folder), SUITE "/tests/%s/optional", name);
    suite_run_folder(&run, folder);
    run.assert_formats = true;
    (void)snprintf(folder, sizeof(folder), SUITE "/tests/%s/optional/format", name);
    suite_run_folder(&run, folder);
    run.set = schema_set_free(run.set);
    run.check = schema_check_free(run.check);
    printf("%s: required %zu of %zu, inside other schemas %zu of %zu, optional %zu of %zu\n", name,
           run.n_required_ok, run.n_required, run.n_wrapped_ok, run.n_wrapped, run.n_optional_ok,
           run.n_optional);
    assert_true(run.n_required > 500);
    assert_int_equal(run.n_wrapped_ok, run.n_wrapped);
    assert_int_equal(run.n_required_ok, run.n_required);
}

static void draft_2020_12_passes(void **state)
{
    (void)state;
    suite_run_dialect("draft2020-12", SCHEMA_DIALECT_2020_12);
}

static void draft_07_passes(void **state)
{
    (void)state;
    suite_run_dialect("draft7", SCHEMA_DIALECT_DRAFT_07);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(draft_2020_12_passes),
        cmocka_unit_test(draft_07_passes),
    };

    shared_data_require(TW_SHARED_DATA, "json-schema-test-suite");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
