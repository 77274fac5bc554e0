/* Errors that a person can act on: where, by which rule, and what is wrong. */
#include "schema_testing.h"

#include "base/limits.h"

typedef struct MessageCase {
    const char *schema;
    const char *value;
    const char *errors[4]; /* all of them, in order */
} MessageCase;

static const MessageCase message_cases[] = {
    {"{\"properties\":{\"start_point\":{\"items\":{\"type\":\"number\"}}}}",
     "{\"start_point\":[1,2,\"x\"]}",
     {"/start_point/2 | #/properties/start_point/items/type | expected number, got string"}},
    {"{\"type\":[\"string\",\"null\",\"integer\"]}",
     "true",
     {" | #/type | expected string, integer or null, got boolean"}},
    {"{\"type\":\"integer\"}", "1.5", {" | #/type | expected integer, got 1.5"}},
    {"{\"type\":\"object\",\"required\":[\"a\",\"b\",\"c\"]}",
     "{\"b\":1}",
     {" | #/required | missing property \"a\"", " | #/required | missing property \"c\""}},
    {"{\"properties\":{\"a\":true},\"additionalProperties\":false}",
     "{\"a\":1,\"b/c\":2}",
     {"/b~1c | #/additionalProperties | unknown property"}},
    {"{\"enum\":[\"red\",\"green\",5]}",
     "\"blue\"",
     {" | #/enum | must be one of \"red\", \"green\", 5; got \"blue\""}},
    {"{\"const\":{\"a\":1}}", "{\"a\":2}", {" | #/const | must be {\"a\":1}, got {\"a\":2}"}},
    {"{\"minimum\":3}", "2.5", {" | #/minimum | must be at least 3, got 2.5"}},
    {"{\"maximum\":3}", "3.5", {" | #/maximum | must be at most 3, got 3.5"}},
    {"{\"exclusiveMinimum\":3}", "3", {" | #/exclusiveMinimum | must be greater than 3, got 3"}},
    {"{\"exclusiveMaximum\":3}", "3", {" | #/exclusiveMaximum | must be less than 3, got 3"}},
    {"{\"multipleOf\":5}", "7", {" | #/multipleOf | must be a multiple of 5, got 7"}},
    {"{\"minLength\":2}",
     "\"\\u00e9\"",
     {" | #/minLength | must have at least 2 characters, has 1"}},
    {"{\"maxLength\":1}", "\"ab\"", {" | #/maxLength | must have at most 1 character, has 2"}},
    {"{\"pattern\":\"^a+$\"}", "\"b\"", {" | #/pattern | \"b\" does not match the pattern ^a+$"}},
    {"{\"minItems\":2}", "[1]", {" | #/minItems | must have at least 2 items, has 1"}},
    {"{\"maxItems\":0}", "[1]", {" | #/maxItems | must have at most 0 items, has 1"}},
    {"{\"uniqueItems\":true}",
     "[1,2,1.0]",
     {" | #/uniqueItems | items must differ, but 0 and 2 are equal"}},
    {"{\"contains\":{\"type\":\"null\"}}",
     "[1]",
     {" | #/contains | must have at least 1 matching item, has 0"}},
    {"{\"contains\":true,\"maxContains\":1}",
     "[1,2]",
     {" | #/maxContains | must have at most 1 matching item, has 2"}},
    {"{\"minProperties\":1}", "{}", {" | #/minProperties | must have at least 1 member, has 0"}},
    {"{\"propertyNames\":{\"pattern\":\"^[a-z]+$\"}}",
     "{\"A1\":0}",
     {"/A1 | #/propertyNames/pattern | the name \"A1\" does not match the pattern ^[a-z]+$"}},
    {"{\"prefixItems\":[true],\"items\":false}",
     "[1,2]",
     {"/1 | #/items | no item is allowed here"}},
    {"{\"properties\":{\"a\":false}}",
     "{\"a\":1}",
     {"/a | #/properties | this property is not allowed"}},
    {"false", "1", {" | # | no value is allowed here"}},
    {"{\"not\":{\"type\":\"null\"}}",
     "null",
     {" | #/not | must not be like this (it matches \"not\")"}},
    {"{\"dependentRequired\":{\"a\":[\"b\"]}}",
     "{\"a\":1}",
     {" | #/dependentRequired | missing property \"b\", needed where \"a\" is present"}},
    {"{\"allOf\":[{\"properties\":{\"a\":true}}],\"unevaluatedProperties\":false}",
     "{\"a\":1,\"b\":2}",
     {"/b | #/unevaluatedProperties | unknown property"}},
    {"{\"$ref\":\"#/$defs/p\",\"$defs\":{\"p\":{\"type\":\"number\"}}}",
     "\"x\"",
     {" | #/$defs/p/type | expected number, got string"}},
    {"{\"if\":{\"type\":\"number\"},\"then\":{\"minimum\":5}}",
     "1",
     {" | #/then/minimum | must be at least 5, got 1"}},
    {"{\"oneOf\":[{\"minimum\":1},{\"minimum\":2}]}",
     "3",
     {" | #/oneOf | matches alternatives 0 and 1, but must match only one"}},
    /* Of the alternatives, the one whose discriminator fits is explained. */
    {"{\"anyOf\":[{\"type\":\"string\"},{\"properties\":{\"op\":{\"const\":\"a\"}},\"required\":["
     "\"x\"]},"
     "{\"properties\":{\"op\":{\"const\":\"b\"}},\"required\":[\"y\"]}]}",
     "{\"op\":\"b\"}",
     {" | #/anyOf | matches none of the 3 alternatives",
      " | #/anyOf/2/required | missing property \"y\""}},
    {"{\"properties\":{\"a\":{\"type\":\"number\"},\"b\":{\"maximum\":1}}}",
     "{\"a\":\"x\",\"b\":2}",
     {"/a | #/properties/a/type | expected number, got string",
      "/b | #/properties/b/maximum | must be at most 1, got 2"}},
};

static void each_error_says_where_and_why(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(message_cases); i++) {
        const MessageCase *c = &message_cases[i];
        SchemaTesting t;
        size_t n = 0;

        testing_open(&t, c->schema, NULL);
        assert_int_equal(testing_check(&t, c->value), SCHEMA_E_INVALID);
        for (; n < 4 && c->errors[n] != NULL; n++) {
            char text[512];

            assert_string_equal(testing_error(&t, n, text, sizeof(text)), c->errors[n]);
        }
        assert_int_equal(schema_check_n_errors(t.check), n);
        testing_close(&t);
    }
}

static void formats_are_named_in_the_message(void **state)
{
    SchemaOptions options = {.assert_formats = true};
    SchemaTesting t;
    char text[256];

    (void)state;
    testing_open(&t, "{\"format\":\"date\"}", &options);
    assert_int_equal(testing_check(&t, "\"2026-02-29\""), SCHEMA_E_INVALID);
    assert_string_equal(testing_error(&t, 0, text, sizeof(text)),
                        " | #/format | \"2026-02-29\" is not a valid date");
    assert_int_equal(testing_check(&t, "\"2028-02-29\""), 0);
    testing_close(&t);
}

static void an_error_in_a_registered_schema_names_its_uri(void **state)
{
    SchemaSet *set;
    SchemaOptions options = {0};
    SchemaTesting t;
    char text[256];

    (void)state;
    assert_int_equal(schema_set_new(&set), 0);
    assert_int_equal(
        schema_set_add(set, SPAN("http://x/p.json"), SPAN("{\"type\":\"number\"}"), NULL), 0);
    options.set = set;
    testing_open(&t, "{\"items\":{\"$ref\":\"http://x/p.json\"}}", &options);
    /* The schema holds its own copy. */
    set = schema_set_free(set);
    assert_int_equal(testing_check(&t, "[1,null]"), SCHEMA_E_INVALID);
    assert_string_equal(testing_error(&t, 0, text, sizeof(text)),
                        "/1 | http://x/p.json#/type | expected number, got null");
    testing_close(&t);
}

static void the_number_of_errors_is_bounded(void **state)
{
    SchemaTesting t;
    char value[1024] = "[";

    (void)state;
    for (int i = 0; i < 100; i++) {
        (void)snprintf(value + strlen(value), sizeof(value) - strlen(value), "%s\"x\"",
                       i == 0 ? "" : ",");
    }
    (void)snprintf(value + strlen(value), sizeof(value) - strlen(value), "]");
    testing_open(&t, "{\"items\":{\"type\":\"number\"}}", NULL);
    assert_int_equal(testing_check(&t, value), SCHEMA_E_INVALID);
    assert_int_equal(schema_check_n_errors(t.check), LIMIT_SCHEMA_ERRORS);
    assert_int_equal(testing_check(&t, "[1]"), 0);
    assert_int_equal(schema_check_n_errors(t.check), 0);
    testing_close(&t);
}

static void long_values_are_cut_in_messages(void **state)
{
    SchemaTesting t;
    char value[2048];
    SchemaError e;

    (void)state;
    value[0] = '"';
    for (size_t i = 1; i < 2000; i += 2) {
        memcpy(value + i, "\xC3\xA9", 2);
    }
    value[2001] = '"';
    value[2002] = '\0';
    testing_open(&t, "{\"pattern\":\"x\"}", NULL);
    assert_int_equal(testing_check(&t, value), SCHEMA_E_INVALID);
    e = schema_check_error(t.check, 0);
    assert_true(e.message.n < 200);
    testing_close(&t);
}

static void every_duplicate_member_is_checked(void **state)
{
    SchemaTesting t;

    (void)state;
    testing_open(&t, "{\"properties\":{\"a\":{\"type\":\"number\"}},\"required\":[\"a\",\"b\"]}",
                 NULL);
    assert_int_equal(testing_check(&t, "{\"a\":\"x\",\"a\":1,\"b\":0}"), SCHEMA_E_INVALID);
    assert_int_equal(testing_check(&t, "{\"a\":1,\"a\":2}"), SCHEMA_E_INVALID);
    assert_int_equal(testing_check(&t, "{\"a\":1,\"\\u0062\":2}"), 0);
    testing_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_error_says_where_and_why),
        cmocka_unit_test(formats_are_named_in_the_message),
        cmocka_unit_test(an_error_in_a_registered_schema_names_its_uri),
        cmocka_unit_test(the_number_of_errors_is_bounded),
        cmocka_unit_test(long_values_are_cut_in_messages),
        cmocka_unit_test(every_duplicate_member_is_checked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
