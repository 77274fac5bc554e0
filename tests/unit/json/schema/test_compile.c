/* What is refused before any value is checked, and with which words. */
#include "schema_testing.h"

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

typedef struct CompileCase {
    const char *schema;
    int outcome;
    const char *message;
} CompileCase;

static const CompileCase compile_cases[] = {
    {"{\"properties\":{\"a\":{\"type\":\"nummer\"}}}", SCHEMA_E_MALFORMED,
     "/properties/a/type: \"nummer\" is no type; expected null, boolean, integer, number, string, "
     "array or object"},
    {"{\"type\":5}", SCHEMA_E_MALFORMED, "/type: 5 is no type; expected"},
    {"{\"minLength\":-1}", SCHEMA_E_MALFORMED,
     "/minLength: expected a whole number from 0, got -1"},
    {"{\"maxItems\":1.5}", SCHEMA_E_MALFORMED,
     "/maxItems: expected a whole number from 0, got 1.5"},
    {"{\"minimum\":\"1\"}", SCHEMA_E_MALFORMED, "/minimum: expected a number, got string"},
    {"{\"multipleOf\":0}", SCHEMA_E_MALFORMED, "/multipleOf: must be greater than 0, got 0"},
    {"{\"multipleOf\":0.0e9}", SCHEMA_E_MALFORMED, "/multipleOf: must be greater than 0"},
    {"{\"multipleOf\":-1e-400}", SCHEMA_E_MALFORMED, "/multipleOf: must be greater than 0"},
    {"{\"minLength\":-1e-400}", SCHEMA_E_MALFORMED, "/minLength: expected a whole number from 0"},
    {"{\"pattern\":\"(\"}", SCHEMA_E_MALFORMED,
     "/pattern: not a regular expression: missing closing parenthesis"},
    {"{\"patternProperties\":{\"[\":true}}", SCHEMA_E_MALFORMED,
     "/patternProperties: not a regular expression"},
    {"{\"required\":\"a\"}", SCHEMA_E_MALFORMED,
     "/required: expected an array of names, got string"},
    {"{\"required\":[1]}", SCHEMA_E_MALFORMED, "/required: expected names (strings), got number"},
    {"{\"properties\":[]}", SCHEMA_E_MALFORMED,
     "/properties: expected an object of schemas, got array"},
    {"{\"properties\":{\"a\":1}}", SCHEMA_E_MALFORMED,
     "/properties/a: expected a schema (an object, true or false), got number"},
    {"{\"allOf\":[]}", SCHEMA_E_MALFORMED, "/allOf: expected an array of one or more schemas"},
    {"{\"uniqueItems\":1}", SCHEMA_E_MALFORMED, "/uniqueItems: expected true or false, got number"},
    {"{\"enum\":{}}", SCHEMA_E_MALFORMED, "/enum: expected an array, got object"},
    {"{\"$ref\":1}", SCHEMA_E_MALFORMED, "/$ref: expected a string, got number"},
    {"{\"$id\":\"a#b\"}", SCHEMA_E_MALFORMED, "/$id: must not have a fragment"},
    {"[]", SCHEMA_E_MALFORMED, "expected a schema (an object, true or false), got array"},
    {"{\"$defs\":{\"unused\":{\"type\":\"x\"}}}", SCHEMA_E_MALFORMED,
     "/$defs/unused/type: \"x\" is no type"},
    {"{\"$ref\":\"#/$defs/a\"}", SCHEMA_E_UNRESOLVED, "/$ref: there is nothing at #/$defs/a"},
    {"{\"$ref\":\"#a\"}", SCHEMA_E_UNRESOLVED, "/$ref: there is nothing at #a"},
    {"{\"items\":{\"$ref\":\"http://x/y.json\"}}", SCHEMA_E_UNRESOLVED,
     "/items/$ref: http://x/y.json is not registered, and nothing is fetched"},
    {"{\"$schema\":\"http://json-schema.org/draft-04/schema#\"}", SCHEMA_E_DIALECT,
     "/$schema: the dialect http://json-schema.org/draft-04/schema# is unknown; 2020-12 and "
     "draft-07 are"},
    {"{\"$ref\":\"#\"}", SCHEMA_E_LOOP, "refers to itself for the same value, without end"},
    {"{\"$defs\":{\"a\":{\"allOf\":[{\"$ref\":\"#/$defs/b\"}]},\"b\":{\"not\":{\"$ref\":\"#/$defs/"
     "a\"}}}}",
     SCHEMA_E_LOOP, "refers to itself for the same value, without end"},
    /* What only a reference makes a schema is held to the same shapes. */
    {"{\"$ref\":\"#/x\",\"x\":{\"properties\":[1]}}", SCHEMA_E_MALFORMED,
     "/x/properties: expected an object of schemas, got array"},
    {"{\"$ref\":\"#/x\",\"x\":{\"patternProperties\":[1]}}", SCHEMA_E_MALFORMED,
     "/x/patternProperties: expected an object of schemas, got array"},
    {"{\"$ref\":\"#/x\",\"x\":{\"anyOf\":7}}", SCHEMA_E_MALFORMED,
     "/x/anyOf: expected an array of one or more schemas"},
    {"{\"$ref\":\"#/x\",\"x\":{\"oneOf\":7}}", SCHEMA_E_MALFORMED, "/x/oneOf: expected an array"},
    {"{\"$ref\":\"#/x\",\"x\":{\"allOf\":7}}", SCHEMA_E_MALFORMED, "/x/allOf: expected an array"},
    {"{\"$ref\":\"#/x\",\"x\":{\"prefixItems\":7}}", SCHEMA_E_MALFORMED,
     "/x/prefixItems: expected an array"},
    {"{\"$ref\":\"#/x\",\"x\":{\"prefixItems\":{\"a\":{}}}}", SCHEMA_E_MALFORMED,
     "/x/prefixItems: expected an array"},
    {"{\"$ref\":\"#/x\",\"x\":{\"items\":[{}]}}", SCHEMA_E_MALFORMED,
     "/x/items: expected a schema (an object, true or false), got array"},
    {"{\"$ref\":\"#/const/a\",\"const\":{\"a\":{\"not\":{\"if\":1}}}}", SCHEMA_E_MALFORMED,
     "/const/a/not/if: expected a schema"},
    {"{\"$ref\":\"#/enum/1\",\"enum\":[1,{\"properties\":[1]}]}", SCHEMA_E_MALFORMED,
     "/enum/1/properties: expected an object of schemas"},
    {"{\"$ref\":\"#/x\",\"x\":7}", SCHEMA_E_MALFORMED, "/x: expected a schema"},
    {"{\"$defs\":{\"a\":{\"$id\":\"http://x/y\"},\"b\":{\"$id\":\"http://x/y\"}}}",
     SCHEMA_E_MALFORMED, "/$id: http://x/y is the URI of another subschema already"},
    {"{\"$id\":\"http://x/y\",\"$defs\":{\"a\":{\"$id\":\"y\"}}}", SCHEMA_E_MALFORMED,
     "/$defs/a/$id: http://x/y is the URI of another subschema already"},
    {"{\"$anchor\":\"a\",\"not\":{\"$anchor\":\"a\"}}", SCHEMA_E_MALFORMED,
     "/not/$anchor: a names another subschema already"},
    {"{\"$anchor\":\"a\",\"not\":{\"$dynamicAnchor\":\"a\"}}", SCHEMA_E_MALFORMED,
     "/not/$dynamicAnchor: a names another subschema already"},
    {"{", SCHEMA_E_SYNTAX, ""},
};

static void a_bad_schema_is_refused_with_its_path(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(compile_cases); i++) {
        const CompileCase *c = &compile_cases[i];
        Schema *schema = NULL;
        Diag diag = DIAG_NULL;
        int r = schema_new(&schema, span_from_str(c->schema), NULL, &diag);

        if (r != c->outcome || strstr(diag.message, c->message) == NULL) {
            fail_msg("%s: %d, %s", c->schema, r, diag.message);
        }
        assert_null(schema);
        /* The words are optional. */
        assert_int_equal(schema_new(&schema, span_from_str(c->schema), NULL, NULL), c->outcome);
    }
}

static void numbers_of_keywords_are_exact(void **state)
{
    SchemaTesting t;

    (void)state;
    /* Far below the smallest double, and still greater than 0. */
    testing_open(&t, "{\"multipleOf\":1e-400}", NULL);
    assert_int_equal(testing_check(&t, "3e-400"), 0);
    assert_int_equal(testing_check(&t, "1"), 0);
    assert_int_equal(testing_check(&t, "15e-401"), SCHEMA_E_INVALID);
    testing_close(&t);
    testing_open(&t, "{\"minLength\":-0,\"maxItems\":-0.0,\"maxProperties\":0e7}", NULL);
    assert_int_equal(testing_check(&t, "\"\""), 0);
    assert_int_equal(testing_check(&t, "[]"), 0);
    assert_int_equal(testing_check(&t, "[1]"), SCHEMA_E_INVALID);
    assert_int_equal(testing_check(&t, "{\"a\":1}"), SCHEMA_E_INVALID);
    testing_close(&t);
}

static void depth_and_number_of_subschemas_are_bounded(void **state)
{
    static char text[2 * 1024 * 1024];
    Schema *schema = NULL;
    Diag diag = DIAG_NULL;
    size_t n = 0;

    (void)state;
    for (int i = 0; i < 70; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "{\"not\":");
    }
    n += (size_t)snprintf(text + n, sizeof(text) - n, "true");
    for (int i = 0; i < 70; i++) {
        text[n++] = '}';
    }
    assert_int_equal(schema_new(&schema, span_make(text, n), NULL, &diag), SCHEMA_E_LIMIT);
    assert_non_null(strstr(diag.message, "nested deeper than 64"));

    n = (size_t)snprintf(text, sizeof(text), "{\"anyOf\":[true");
    for (int i = 0; i < 70000; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, ",{}");
    }
    n += (size_t)snprintf(text + n, sizeof(text) - n, "]}");
    assert_int_equal(schema_new(&schema, span_make(text, n), NULL, &diag), SCHEMA_E_LIMIT);
    assert_non_null(strstr(diag.message, "more than 65536 subschemas"));
}

static void the_default_dialect_is_an_option(void **state)
{
    SchemaOptions options = {.dialect = SCHEMA_DIALECT_DRAFT_07};
    SchemaTesting t;

    (void)state;
    /* In draft-07 items may be a list, and $ref voids its neighbours. */
    testing_open(&t, "{\"items\":[{\"type\":\"number\"}],\"additionalItems\":false}", &options);
    assert_int_equal(testing_check(&t, "[1]"), 0);
    assert_int_equal(testing_check(&t, "[1,2]"), SCHEMA_E_INVALID);
    testing_close(&t);
    testing_open(&t,
                 "{\"$schema\":\"http://json-schema.org/draft-07/"
                 "schema#\",\"dependentRequired\":{\"a\":[\"b\"]}}",
                 NULL);
    assert_int_equal(testing_check(&t, "{\"a\":1}"), 0);
    testing_close(&t);
}

static void a_set_refuses_bad_json_and_duplicates(void **state)
{
    SchemaSet *set;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(schema_set_new(&set), 0);
    assert_int_equal(schema_set_add(set, SPAN("http://x/a"), SPAN("{"), &diag), SCHEMA_E_SYNTAX);
    assert_int_equal(schema_set_add(set, SPAN("http://x/a#"), SPAN("{}"), &diag), 0);
    assert_int_equal(schema_set_add(set, SPAN("http://x/a"), SPAN("{}"), &diag),
                     SCHEMA_E_DUPLICATE);
    assert_string_equal(diag.message, "http://x/a is registered already");
    set = schema_set_free(set);
    assert_null(schema_set_free(NULL));
    assert_null(schema_free(NULL));
    assert_null(schema_check_free(NULL));
}

static void a_vocabulary_that_must_be_known_is(void **state)
{
    SchemaSet *set;
    SchemaOptions options = {0};
    Schema *schema = NULL;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(schema_set_new(&set), 0);
    assert_int_equal(
        schema_set_add(set, SPAN("http://x/meta"),
                       SPAN("{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
                            "\"$vocabulary\":{\"http://x/own\":true}}"),
                       NULL),
        0);
    options.set = set;
    assert_int_equal(schema_new(&schema, SPAN("{\"$schema\":\"http://x/meta\"}"), &options, &diag),
                     SCHEMA_E_DIALECT);
    assert_non_null(strstr(diag.message, "needs the unknown vocabulary \"http://x/own\""));
    set = schema_set_free(set);
}

/* Every kind of keyword, so that every allocation of the compiler and both engines is met. */
static const char oom_schema[] =
    "{\"$id\":\"http://x/root\",\"$dynamicAnchor\":\"n\",\"type\":\"object\",\"properties\":{"
    "\"a\":{\"enum\":[\"x\",1,null,[1]]},\"b\":{\"pattern\":\"^\\\\s\\\\p{Letter}+$\"},"
    "\"c\":{\"type\":\"array\",\"prefixItems\":[{\"minimum\":1}],\"items\":{\"$dynamicRef\":\"#n\"}"
    ","
    "\"uniqueItems\":true,\"contains\":true},\"d\":{\"format\":\"date\",\"minLength\":1}},"
    "\"patternProperties\":{\"^p\":{\"$ref\":\"sub\"}},\"required\":[\"a\"],"
    "\"dependentRequired\":{\"a\":[\"b\"]},\"dependentSchemas\":{\"b\":{\"maxProperties\":9}},"
    "\"anyOf\":[{\"required\":[\"zz\"]},{\"required\":[\"a\"]}],\"oneOf\":[true,false],\"not\":{"
    "\"type\":\"null\"},"
    "\"if\":{\"const\":1},\"else\":{\"minProperties\":1},\"unevaluatedProperties\":{\"type\":"
    "\"number\"},"
    "\"$defs\":{\"s\":{\"$id\":\"sub\",\"$anchor\":\"q\",\"propertyNames\":{\"maxLength\":3}}}}";

static int oom_scenario(void *context)
{
    static const char *const values[] = {
        "{\"a\":\"x\",\"b\":\" \\u0061b\",\"c\":[1,{\"a\":null,\"b\":\" z\"},{\"a\":1,\"b\":\" "
        "y\"}],\"p\":{\"abc\":1},\"u\":2}",
        "{\"a\":\"y\",\"b\":\"1\",\"c\":[0,1,1],\"p\":{\"abcd\":1},\"u\":\"\"}",
    };
    SchemaOptions options = {.assert_formats = true};
    SchemaSet *set = NULL;
    Schema *schema = NULL;
    SchemaCheck *check = NULL;
    Diag diag = DIAG_NULL;
    Arena arena;
    int r = schema_set_new(&set);

    (void)context;
    arena_init(&arena, 1 << 22);
    if (r == 0) {
        r = schema_set_add(set, SPAN("http://x/other"), SPAN("{\"$ref\":\"http://x/more\"}"), NULL);
    }
    if (r == 0) {
        options.set = set;
        r = schema_new(&schema, SPAN(oom_schema), &options, &diag);
    }
    if (r == 0) {
        r = schema_check_new(&check);
    }
    for (size_t i = 0; r == 0 && i < TW_ARRAY_SIZE(values); i++) {
        JsonDoc doc;

        r = json_parse(&doc, &arena, values[i], strlen(values[i]), NULL, NULL);
        if (r == 0) {
            r = schema_validate(schema, check, json_root(&doc));
            assert_true(r < 0 || r == (i == 0 ? 0 : SCHEMA_E_INVALID));
            r = r < 0 ? r : 0;
        }
    }
    arena_deinit(&arena);
    (void)schema_check_free(check);
    (void)schema_free(schema);
    (void)schema_set_free(set);
    return r;
}

static void running_out_of_memory_leaks_nothing(void **state)
{
    (void)state;
    test_oom_sweep(oom_scenario, NULL);
}

/* More patterns than the list first has room for, and "$defs" large enough to be indexed. The
 * filler, *context bytes of it, moves the places where the arena needs another block. */
static int oom_large_scenario(void *context)
{
    const int *n_filler = context;
    char text[16384];
    Schema *schema = NULL;
    size_t n = (size_t)snprintf(text, sizeof(text),
                                "{\"$ref\":\"#/$defs/p~00\",\"$id\":\"http://x/./y/../z\","
                                "\"title\":\"%*s\",\"$defs\":{\"\":true",
                                *n_filler, "");
    int r;

    for (int i = 0; i < 40; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, ",\"p~%d\":{\"pattern\":\"^%d\"}", i, i);
    }
    (void)snprintf(text + n, sizeof(text) - n, "}}");
    r = schema_new(&schema, span_from_str(text), NULL, NULL);
    (void)schema_free(schema);
    return r;
}

static void running_out_of_memory_frees_every_pattern(void **state)
{
    (void)state;
    for (int n_filler = 0; n_filler < 8192; n_filler += 1024) {
        test_oom_sweep(oom_large_scenario, &n_filler);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bad_schema_is_refused_with_its_path),
        cmocka_unit_test(numbers_of_keywords_are_exact),
        cmocka_unit_test(depth_and_number_of_subschemas_are_bounded),
        cmocka_unit_test(the_default_dialect_is_an_option),
        cmocka_unit_test(a_set_refuses_bad_json_and_duplicates),
        cmocka_unit_test(a_vocabulary_that_must_be_known_is),
        cmocka_unit_test(running_out_of_memory_leaks_nothing),
        cmocka_unit_test(running_out_of_memory_frees_every_pattern),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
