/* References: what they lead to, and that thousands of them cost no more than their number. */
#include "schema_testing.h"

#include <stdlib.h>
#include <time.h>

static void what_a_reference_reaches_is_a_schema(void **state)
{
    SchemaTesting t;

    (void)state;
    /* Names inside it count from then on: "b" is relative to the "$id" around it. */
    testing_open(
        &t,
        "{\"$id\":\"http://x/r\",\"properties\":{\"p\":{\"$ref\":\"#/x/y\"}},\"x\":{\"y\":{"
        "\"$id\":\"http://y/a\",\"properties\":{\"q\":{\"$ref\":\"b\"},\"s\":{\"$ref\":"
        "\"#c\"}},\"$defs\":{\"b\":{\"$id\":\"b\",\"type\":\"string\"},\"c\":{\"$anchor\":"
        "\"c\",\"type\":\"null\"}}}}}",
        NULL);
    assert_int_equal(testing_check(&t, "{\"p\":{\"q\":\"\",\"s\":null}}"), 0);
    assert_int_equal(testing_check(&t, "{\"p\":{\"q\":1}}"), SCHEMA_E_INVALID);
    assert_int_equal(testing_check(&t, "{\"p\":{\"s\":1}}"), SCHEMA_E_INVALID);
    testing_close(&t);
    /* "properties" itself, whose member "not" is a subschema in two ways. */
    testing_open(&t,
                 "{\"properties\":{\"not\":{\"$anchor\":\"n\",\"type\":\"null\"},\"a\":{\"$ref\":"
                 "\"#/properties\"}}}",
                 NULL);
    assert_int_equal(testing_check(&t, "{\"a\":1,\"not\":null}"), 0);
    assert_int_equal(testing_check(&t, "{\"a\":null}"), SCHEMA_E_INVALID);
    testing_close(&t);
}

static void absolute_references_lose_their_dots(void **state)
{
    SchemaOptions options = {.base_uri = SPAN("http://x/q/./../root.json")};
    SchemaSet *set;
    SchemaTesting t;

    (void)state;
    assert_int_equal(schema_set_new(&set), 0);
    assert_int_equal(
        schema_set_add(set, SPAN("http://x/d/../e?.."), SPAN("{\"type\":\"null\"}"), NULL), 0);
    assert_int_equal(schema_set_add(set, SPAN("http://x/e?.."), SPAN("{}"), NULL),
                     SCHEMA_E_DUPLICATE);
    options.set = set;
    testing_open(&t,
                 "{\"prefixItems\":[{\"$ref\":\"http://x/b/../c\"},{\"$ref\":"
                 "\"http://x/./z/../e?..\"},{\"$ref\":\"http://x/root.json#/$defs/s\"}],"
                 "\"$defs\":{\"c\":{\"$id\":\"http://x/c\",\"type\":\"string\"},\"s\":{"
                 "\"const\":1}}}",
                 &options);
    assert_int_equal(testing_check(&t, "[\"\",null,1]"), 0);
    assert_int_equal(testing_check(&t, "[1]"), SCHEMA_E_INVALID);
    assert_int_equal(testing_check(&t, "[\"\",1]"), SCHEMA_E_INVALID);
    assert_int_equal(testing_check(&t, "[\"\",null,2]"), SCHEMA_E_INVALID);
    testing_close(&t);
    set = schema_set_free(set);
}

static void anchor_and_dynamic_anchor_may_share_a_name_and_place(void **state)
{
    SchemaTesting t;

    (void)state;
    testing_open(&t,
                 "{\"$ref\":\"#a\",\"$defs\":{\"x\":{\"$anchor\":\"a\",\"$dynamicAnchor\":\"a\","
                 "\"type\":\"null\"}}}",
                 NULL);
    assert_int_equal(testing_check(&t, "null"), 0);
    assert_int_equal(testing_check(&t, "1"), SCHEMA_E_INVALID);
    testing_close(&t);
}

static void pointers_into_large_objects_and_arrays_find_the_same(void **state)
{
    static char text[16384];
    SchemaTesting t;
    Schema *schema = NULL;
    size_t n = (size_t)snprintf(text, sizeof(text), "{\"$defs\":{\"a~/b\":{\"type\":\"null\"}");

    (void)state;
    for (int i = 0; i < 100; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, ",\"k%d\":{\"const\":%d}", i, i);
    }
    /* The last of duplicates counts; escapes are undone. */
    n += (size_t)snprintf(text + n, sizeof(text) - n,
                          ",\"k7\":{\"const\":70},\"\\u006b\":{\"const\":\"k\"}},\"prefixItems\":[{"
                          "\"$ref\":\"#/$defs/a~0~1b\"},{\"$ref\":\"#/$defs/k7\"},{\"$ref\":"
                          "\"#/$defs/k\"},{\"$ref\":\"#/x/57\"}],\"x\":[0");
    for (int i = 1; i < 100; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, ",{\"const\":%d}", i);
    }
    (void)snprintf(text + n, sizeof(text) - n, "]}");
    testing_open(&t, text, NULL);
    assert_int_equal(testing_check(&t, "[null,70,\"k\",57]"), 0);
    assert_int_equal(testing_check(&t, "[1]"), SCHEMA_E_INVALID);
    assert_int_equal(testing_check(&t, "[null,7]"), SCHEMA_E_INVALID);
    assert_int_equal(testing_check(&t, "[null,70,0]"), SCHEMA_E_INVALID);
    assert_int_equal(testing_check(&t, "[null,70,\"k\",58]"), SCHEMA_E_INVALID);
    testing_close(&t);
    for (size_t i = 0; i < 4; i++) {
        static const char *const bad[] = {"a~2b", "k100", "a~", "057"};

        (void)snprintf(text + n, sizeof(text) - n, "],\"$ref\":\"#/%s/%s\"}", i < 3 ? "$defs" : "x",
                       bad[i]);
        assert_int_equal(schema_new(&schema, span_from_str(text), NULL, NULL), SCHEMA_E_UNRESOLVED);
    }
}

/* Templates: '@' stands for a number, '^' for the next one. */
typedef struct LoaderScale {
    const char *name;
    const char *begin;
    const char *target; /* once per number */
    const char *between;
    const char *reference; /* likewise */
    const char *end;
} LoaderScale;

static const LoaderScale loader_scales[] = {
    {"$defs", "{\"$defs\":{\"\":true", ",\"name@\":{}", "},\"properties\":{\"\":true",
     ",\"p@\":{\"$ref\":\"#/$defs/name@\"}", "}}"},
    {"$id", "{\"$id\":\"http://x/\",\"$defs\":{\"\":true", ",\"n@\":{\"$id\":\"i@\"}",
     "},\"properties\":{\"\":true", ",\"p@\":{\"$ref\":\"i@\"}", "}}"},
    {"$anchor", "{\"$defs\":{\"\":true", ",\"n@\":{\"$anchor\":\"a@\"}",
     "},\"properties\":{\"\":true", ",\"p@\":{\"$ref\":\"#a@\"}", "}}"},
    {"$dynamicAnchor", "{\"$defs\":{\"\":true", ",\"n@\":{\"$dynamicAnchor\":\"a@\"}",
     "},\"properties\":{\"\":true", ",\"p@\":{\"$dynamicRef\":\"#a@\"}", "}}"},
    {"chain", "{\"$defs\":{\"a20000\":true,\"a2000\":true", ",\"a@\":{\"$ref\":\"#/$defs/a^\"}", "",
     "", "}}"},
    {"no schema yet", "{\"$id\":\"http://x/\",\"x\":{\"\":true", ",\"n@\":{\"$id\":\"i@\"}",
     "},\"properties\":{\"\":true", ",\"p@\":{\"$ref\":\"#/x/n@\"}", "}}"},
    {"enum", "{\"enum\":[\"\"", ",\"prefix00@@@@suffix00\"", "", "", "]}"},
    {"equal strings", "{\"enum\":[\"\"", ",\"a\"", "", "", "]}"},
};

static size_t loader_write(char *out, const char *template, int i)
{
    size_t n = 0;

    for (; *template != '\0'; template ++) {
        if (*template == '@' || *template == '^') {
            n += (size_t)snprintf(out + n, 12, "%d", i + (*template == '^'));
        } else {
            out[n++] = *template;
        }
    }
    return n;
}

/* Processor time to compile a schema of n targets and n references. */
static double loader_cost(const LoaderScale *scale, int n, char *text)
{
    Schema *schema = NULL;
    Diag diag = DIAG_NULL;
    size_t size = loader_write(text, scale->begin, 0);
    clock_t start;
    double cost;
    int r;

    for (int i = 0; i < n; i++) {
        size += loader_write(text + size, scale->target, i);
    }
    size += loader_write(text + size, scale->between, 0);
    for (int i = 0; i < n; i++) {
        size += loader_write(text + size, scale->reference, i);
    }
    size += loader_write(text + size, scale->end, 0);
    start = clock();
    r = schema_new(&schema, span_make(text, size), NULL, &diag);
    cost = (double)(clock() - start);
    if (r != 0) {
        fail_msg("%s: %d: %s", scale->name, r, diag.message);
    }
    (void)schema_free(schema);
    return cost;
}

/* Ten times as much takes about ten times as long; a hundred times if something is quadratic. The
 * best of a few tries counts, because the machine may be busy. */
static void the_cost_of_references_grows_with_their_number(void **state)
{
    char *text = malloc((size_t)4 << 20);

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < TW_ARRAY_SIZE(loader_scales); i++) {
        double best = 1e9;

        for (int tries = 0; tries < 5 && best > 40; tries++) {
            double small = loader_cost(&loader_scales[i], 2000, text);
            double large = loader_cost(&loader_scales[i], 20000, text);
            /* Below a millisecond the clock says little. */
            double ratio = large / (small > 1000 ? small : 1000);

            best = ratio < best ? ratio : best;
        }
        if (best > 40) {
            fail_msg("%s: %f times", loader_scales[i].name, best);
        }
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_reference_reaches_is_a_schema),
        cmocka_unit_test(absolute_references_lose_their_dots),
        cmocka_unit_test(anchor_and_dynamic_anchor_may_share_a_name_and_place),
        cmocka_unit_test(pointers_into_large_objects_and_arrays_find_the_same),
        cmocka_unit_test(the_cost_of_references_grows_with_their_number),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
