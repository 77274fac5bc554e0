/* Which tools a client may use over HTTP. */
#include "dialect/mcp/param_headers.h"

#include "support/cmocka.h"

#include <stdlib.h>
#include <string.h>

#include "support/oom_sweep.h"

static int check(const char *schema, bool *ret)
{
    JsonDoc doc = JSON_DOC_NULL;
    Arena arena;
    int r;

    arena_init(&arena, (size_t)1 << 24);
    r = json_parse(&doc, &arena, schema, strlen(schema), NULL, NULL);
    r = r != 0 ? r : mcp_param_headers_check(json_root(&doc), &arena, ret);
    arena_deinit(&arena);
    return r;
}

#define OF(type, name) "{\"type\":\"" type "\",\"x-mcp-header\":\"" name "\"}"
#define A(schema)      "{\"properties\":{\"a\":" schema "}}"

static const char *const good[] = {
    "{}",
    "true",
    A("{\"type\":\"string\"}"),
    A(OF("string", "Region")),
    A(OF("integer", "N")),
    A(OF("boolean", "B")),
    A("{\"type\":[\"string\",\"null\"],\"x-mcp-header\":\"R\"}"),
    A("{\"type\":\"object\",\"properties\":{\"b\":" OF("string", "Deep") "}}"),
    /* a property of that name, and values that look like one */
    A("{\"properties\":{\"x-mcp-header\":{\"type\":\"string\"}}}"),
    A("{\"default\":{\"x-mcp-header\":1},\"const\":{\"x-mcp-header\":1}}"),
    A("{\"enum\":[{\"x-mcp-header\":1}],\"examples\":[{\"x-mcp-header\":1}]}"),
};

static const char *const bad[] = {
    A(OF("string", "")),
    A(OF("string", "My Region")),
    A(OF("string", "Region:Primary")),
    A(OF("string", "R\\u00e9gion")),
    A(OF("string", "Region\\tX")),
    A("{\"type\":\"string\",\"x-mcp-header\":1}"),
    A(OF("object", "O")),
    A(OF("array", "L")),
    A(OF("null", "N")),
    A(OF("number", "N")),
    A("{\"x-mcp-header\":\"Untyped\"}"),
    "{\"properties\":{\"a\":" OF("string", "R") ",\"b\":" OF("string", "R") "}}",
    "{\"properties\":{\"a\":" OF("string", "R") ",\"b\":" OF("string", "r") "}}",
    "{\"x-mcp-header\":\"Root\",\"type\":\"object\"}",
    A("{\"type\":\"array\",\"items\":{\"properties\":{\"b\":" OF("string", "R") "}}}"),
    A("{\"oneOf\":[" OF("string", "R") "]}"),
    "{\"$defs\":{\"d\":" OF("string", "R") "}}",
    "{\"additionalProperties\":" OF("string", "R") "}",
    "{\"patternProperties\":{\"^a\":" OF("string", "R") "}}",
    "{\"properties\":{\"a\":" OF("string", "Good") ",\"b\":" OF("number", "Bad") "}}",
};

static void only_tools_whose_annotations_all_count_may_be_used(void **state)
{
    bool is_ok;

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        is_ok = false;
        assert_int_equal(check(good[i], &is_ok), 0);
        if (!is_ok) {
            fail_msg("refused: %s", good[i]);
        }
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        is_ok = true;
        assert_int_equal(check(bad[i], &is_ok), 0);
        if (is_ok) {
            fail_msg("taken: %s", bad[i]);
        }
    }
}

static int scenario(void *context)
{
    bool is_ok;

    (void)context;
    return check(good[7], &is_ok);
}

static void memory_may_fail_anywhere(void **state)
{
    (void)state;
    test_oom_sweep(scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_tools_whose_annotations_all_count_may_be_used),
        cmocka_unit_test(memory_may_fail_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
