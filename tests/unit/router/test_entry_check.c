#include "router/entry_check.h"

#include "support/cmocka.h"

#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"

static int check(RouterKind kind, const char *text, Diag *diag)
{
    CLEANUP(arena_deinit) Arena arena;
    JsonDoc doc;

    arena_init(&arena, (size_t)1024 * 1024);
    assert_int_equal(json_parse(&doc, &arena, text, strlen(text), NULL, NULL), 0);
    return router_entry_check(kind, json_root(&doc), diag);
}

typedef struct Wrong {
    RouterKind kind;
    const char *json;
    const char *field;
    const char *message;
} Wrong;

static const Wrong wrong[] = {
    {ROUTER_TOOL, "{\"name\":7}", "name", "name must be a string that is not empty, and is 7"},
    {ROUTER_TOOL, "{\"name\":\"\"}", "name",
     "name must be a string that is not empty, and is \"\""},
    {ROUTER_TOOL, "{\"title\":null}", "title", "title must be a string, and is null"},
    {ROUTER_RESOURCE, "{\"title\":1}", "title", "title must be a string, and is 1"},
    {ROUTER_TEMPLATE, "{\"title\":true}", "title", "title must be a string, and is true"},
    {ROUTER_PROMPT, "{\"title\":[]}", "title", "title must be a string, and is array"},
    {ROUTER_TOOL, "{\"description\":{}}", "description",
     "description must be a string, and is object"},
    {ROUTER_PROMPT, "{\"description\":1}", "description", "description must be a string, and is 1"},
    {ROUTER_TOOL, "{\"_meta\":[]}", "_meta", "_meta must be an object, and is array"},
    {ROUTER_PROMPT, "{\"_meta\":1}", "_meta", "_meta must be an object, and is 1"},
    {ROUTER_RESOURCE, "{\"uri\":1}", "uri", "uri must be a string that is not empty, and is 1"},
    {ROUTER_TEMPLATE, "{\"uriTemplate\":\"\"}", "uriTemplate",
     "uriTemplate must be a string that is not empty, and is \"\""},
    {ROUTER_RESOURCE, "{\"mimeType\":1}", "mimeType", "mimeType must be a string, and is 1"},
    {ROUTER_TEMPLATE, "{\"mimeType\":1}", "mimeType", "mimeType must be a string, and is 1"},
    {ROUTER_RESOURCE, "{\"size\":\"1\"}", "size",
     "size must be a whole number from 0 on, and is \"1\""},
    {ROUTER_RESOURCE, "{\"size\":1.5}", "size",
     "size must be a whole number from 0 on, and is 1.5"},
    {ROUTER_RESOURCE, "{\"size\":-1}", "size", "size must be a whole number from 0 on, and is -1"},
    {ROUTER_TOOL, "{\"annotations\":[]}", "annotations",
     "annotations must be an object, and is array"},
    {ROUTER_TOOL, "{\"annotations\":{\"readOnlyHint\":\"yes\"}}", "annotations/readOnlyHint",
     "annotations/readOnlyHint must be true or false, and is \"yes\""},
    {ROUTER_TOOL, "{\"annotations\":{\"destructiveHint\":1}}", "annotations/destructiveHint", ""},
    {ROUTER_TOOL, "{\"annotations\":{\"idempotentHint\":1}}", "annotations/idempotentHint", ""},
    {ROUTER_TOOL, "{\"annotations\":{\"openWorldHint\":1}}", "annotations/openWorldHint", ""},
    {ROUTER_TOOL, "{\"annotations\":{\"title\":1}}", "annotations/title", ""},
    {ROUTER_RESOURCE, "{\"annotations\":{\"audience\":\"user\"}}", "annotations/audience",
     "annotations/audience must be an array, and is \"user\""},
    {ROUTER_TEMPLATE, "{\"annotations\":{\"audience\":[\"user\",\"all\"]}}",
     "annotations/audience/1",
     "annotations/audience/1 must be \"user\" or \"assistant\", and is \"all\""},
    {ROUTER_RESOURCE, "{\"annotations\":{\"priority\":1.01}}", "annotations/priority",
     "annotations/priority must be a number from 0 to 1, and is 1.01"},
    {ROUTER_RESOURCE, "{\"annotations\":{\"priority\":-0.1}}", "annotations/priority", ""},
    {ROUTER_RESOURCE, "{\"annotations\":{\"priority\":\"1\"}}", "annotations/priority", ""},
    {ROUTER_RESOURCE, "{\"annotations\":{\"lastModified\":1}}", "annotations/lastModified", ""},
    {ROUTER_TOOL, "{\"icons\":{}}", "icons", "icons must be an array, and is object"},
    {ROUTER_TOOL, "{\"icons\":[{\"src\":\"a:\"},1]}", "icons/1",
     "icons/1 must be an object, and is 1"},
    {ROUTER_TOOL, "{\"icons\":[{\"src\":5}]}", "icons/0/src",
     "icons/0/src must be a string, and is 5"},
    {ROUTER_PROMPT, "{\"icons\":[{\"src\":\"a:\"},{}]}", "icons/1/src", "icons/1/src is missing"},
    {ROUTER_TEMPLATE, "{\"icons\":[{\"src\":\"a:\",\"mimeType\":1}]}", "icons/0/mimeType", ""},
    {ROUTER_RESOURCE, "{\"icons\":[{\"src\":\"a:\",\"sizes\":\"any\"}]}", "icons/0/sizes",
     "icons/0/sizes must be an array, and is \"any\""},
    {ROUTER_TOOL, "{\"icons\":[{\"src\":\"a:\",\"sizes\":[\"any\",48]}]}", "icons/0/sizes/1", ""},
    {ROUTER_TOOL, "{\"icons\":[{\"src\":\"a:\",\"theme\":\"blue\"}]}", "icons/0/theme",
     "icons/0/theme must be \"light\" or \"dark\", and is \"blue\""},
    {ROUTER_TOOL, "{\"execution\":{\"taskSupport\":true}}", "execution/taskSupport", ""},
    {ROUTER_PROMPT, "{\"arguments\":{}}", "arguments", "arguments must be an array, and is object"},
    {ROUTER_PROMPT, "{\"arguments\":[3]}", "arguments/0", ""},
    {ROUTER_PROMPT, "{\"arguments\":[{\"name\":\"x\"},{}]}", "arguments/1/name",
     "arguments/1/name is missing"},
    {ROUTER_PROMPT, "{\"arguments\":[{\"name\":\"\"}]}", "arguments/0/name", ""},
    {ROUTER_PROMPT, "{\"arguments\":[{\"name\":\"x\",\"title\":1}]}", "arguments/0/title", ""},
    {ROUTER_PROMPT, "{\"arguments\":[{\"name\":\"x\",\"description\":1}]}",
     "arguments/0/description", ""},
    {ROUTER_PROMPT, "{\"arguments\":[{\"name\":\"x\",\"required\":\"no\"}]}",
     "arguments/0/required", "arguments/0/required must be true or false, and is \"no\""},
    /* Every member of a name is sent, not only the one that counts; and spelling does not hide. */
    {ROUTER_TOOL, "{\"title\":1,\"title\":\"t\"}", "title", ""},
    {ROUTER_TOOL, "{\"t\\u0069tle\":1}", "title", ""},
    /* Long values are not quoted. */
    {ROUTER_TOOL, "{\"icons\":\"01234567890123456789012345678901234567890123456789\"}", "icons",
     "icons must be an array, and is string"},
};

static void fields_of_the_wrong_kind_are_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(wrong); i++) {
        Diag diag = DIAG_NULL;

        if (check(wrong[i].kind, wrong[i].json, &diag) != ROUTER_E_MALFORMED ||
            strcmp(diag.field, wrong[i].field) != 0) {
            fail_msg("%s gave field \"%s\": %s", wrong[i].json, diag.field, diag.message);
        }
        assert_int_equal(diag.code, ROUTER_E_MALFORMED);
        if (wrong[i].message[0] != '\0') {
            assert_string_equal(diag.message, wrong[i].message);
        }
        assert_int_equal(check(wrong[i].kind, wrong[i].json, NULL), ROUTER_E_MALFORMED);
    }
}

static void everything_that_the_protocol_knows_passes(void **state)
{
    static const struct {
        RouterKind kind;
        const char *json;
    } right[] = {
        {ROUTER_TOOL, "{}"}, /* what is needed is asked elsewhere */
        {ROUTER_TOOL,
         "{\"name\":\"a\",\"title\":\"\",\"description\":\"\",\"_meta\":{\"a\":1},"
         "\"annotations\":{\"title\":\"t\",\"readOnlyHint\":true,\"destructiveHint\":false,"
         "\"idempotentHint\":true,\"openWorldHint\":false},\"execution\":{\"taskSupport\":"
         "\"forbidden\"},\"icons\":[{\"src\":\"a:\",\"mimeType\":\"image/png\","
         "\"sizes\":[\"48x48\",\"any\"],\"theme\":\"dark\"},{\"src\":\"b:\",\"theme\":\"light\","
         "\"sizes\":[]}]}"},
        {ROUTER_RESOURCE, "{\"uri\":\"a:b\",\"name\":\"n\",\"mimeType\":\"text/plain\",\"size\":0,"
                          "\"annotations\":{\"audience\":[\"user\",\"assistant\"],\"priority\":1,"
                          "\"lastModified\":\"2025-01-12T15:00:58Z\"},\"icons\":[]}"},
        {ROUTER_RESOURCE, "{\"size\":18446744073709551615,\"annotations\":{\"priority\":0.0}}"},
        {ROUTER_TEMPLATE, "{\"uriTemplate\":\"a:{b}\",\"name\":\"n\",\"mimeType\":\"a/b\","
                          "\"annotations\":{\"audience\":[],\"priority\":0.5}}"},
        {ROUTER_PROMPT, "{\"name\":\"p\",\"arguments\":[]}"},
        {ROUTER_PROMPT,
         "{\"name\":\"p\",\"arguments\":[{\"name\":\"a\",\"title\":\"t\","
         "\"description\":\"d\",\"required\":true},{\"name\":\"b\",\"required\":false}]}"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(right); i++) {
        Diag diag = DIAG_NULL;

        if (check(right[i].kind, right[i].json, &diag) != 0) {
            fail_msg("%s: %s", right[i].json, diag.message);
        }
    }
}

static void what_the_protocol_does_not_know_may_be_anything(void **state)
{
    (void)state;
    assert_int_equal(
        check(ROUTER_TOOL, "{\"uri\":1,\"size\":\"x\",\"arguments\":3,\"x-new\":null}", NULL), 0);
    assert_int_equal(check(ROUTER_TOOL, "{\"annotations\":{\"priority\":\"high\",\"x\":[]}}", NULL),
                     0);
    assert_int_equal(check(ROUTER_RESOURCE, "{\"annotations\":{\"readOnlyHint\":\"yes\"}}", NULL),
                     0);
    assert_int_equal(
        check(ROUTER_PROMPT, "{\"annotations\":7,\"execution\":7,\"mimeType\":7}", NULL), 0);
    assert_int_equal(check(ROUTER_TOOL, "{\"_meta\":{\"title\":1,\"icons\":2}}", NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_the_wrong_kind_are_named),
        cmocka_unit_test(everything_that_the_protocol_knows_passes),
        cmocka_unit_test(what_the_protocol_does_not_know_may_be_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
