/* What a schema wants in headers, and which annotations are overlooked. */
#include "dialect/mcp/param_headers.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

/* "Mcp-Param-A=1 Mcp-Param-B=-": names and values; "-" stands for none. 0, -ENOMEM. */
static int list(const char *schema, const char *arguments, char *ret, size_t n_ret)
{
    McpParamHeader *headers = NULL;
    JsonValue given = JSON_VALUE_NULL;
    size_t n_headers = 0;
    size_t n = 0;
    JsonDoc doc = JSON_DOC_NULL;
    JsonDoc args = JSON_DOC_NULL;
    Arena arena;
    int r;

    arena_init(&arena, (size_t)1 << 26);
    r = json_parse(&doc, &arena, schema, strlen(schema), NULL, NULL);
    if (r == 0 && arguments != NULL) {
        r = json_parse(&args, &arena, arguments, strlen(arguments), NULL, NULL);
        given = json_root(&args);
    }
    if (r == 0) {
        r = mcp_param_headers(json_root(&doc), given, &arena, &headers, &n_headers);
    }
    ret[0] = '\0';
    for (size_t i = 0; r == 0 && i < n_headers; i++) {
        Span value = headers[i].value.node == NULL ? SPAN("-") : json_span(headers[i].value);

        n += (size_t)snprintf(ret + n, n_ret - n, "%s%.*s=%.*s", i == 0 ? "" : " ",
                              (int)headers[i].name.n, headers[i].name.p, (int)value.n, value.p);
    }
    arena_deinit(&arena);
    return r;
}

#define STRING(name) "{\"type\":\"string\",\"x-mcp-header\":\"" name "\"}"

static void annotations_are_found_and_judged(void **state)
{
    static const struct {
        const char *schema;
        const char *arguments;
        const char *expected;
    } cases[] = {
        {"{\"properties\":{\"a\":" STRING("Region") "}}", "{\"a\":\"x\"}",
         "Mcp-Param-Region=\"x\""},
        {"{\"properties\":{\"a\":" STRING("Region") "}}", "{\"b\":1}", "Mcp-Param-Region=-"},
        {"{\"properties\":{\"a\":" STRING("Region") "}}", NULL, "Mcp-Param-Region=-"},
        {"{\"properties\":{\"a\":" STRING("Region") "}}", "[1]", "Mcp-Param-Region=-"},
        {"{\"properties\":{\"a\":" STRING("Region") "}}", "{\"a\":null}", "Mcp-Param-Region=null"},
        {"{\"properties\":{\"a\":" STRING("Region") "}}", "{\"a\":1,\"a\":2}",
         "Mcp-Param-Region=2"},
        {"{\"properties\":{\"\\u0061\":" STRING("R\\u0065gion") "}}", "{\"a\":1}",
         "Mcp-Param-Region=1"},
        /* Sorted by name. */
        {"{\"properties\":{\"a\":" STRING("z") ",\"b\":" STRING("Y") ",\"c\":" STRING("yy") "}}",
         "{\"a\":1,\"b\":2,\"c\":3}", "Mcp-Param-Y=2 Mcp-Param-yy=3 Mcp-Param-z=1"},
        /* Types. */
        {"{\"properties\":{\"a\":{\"type\":\"integer\",\"x-mcp-header\":\"I\"},"
         "\"b\":{\"type\":\"boolean\",\"x-mcp-header\":\"B\"}}}",
         "{\"a\":7,\"b\":true}", "Mcp-Param-B=true Mcp-Param-I=7"},
        {"{\"properties\":{\"a\":{\"type\":\"number\",\"x-mcp-header\":\"N\"}}}", "{\"a\":7}", ""},
        {"{\"properties\":{\"a\":{\"type\":\"object\",\"x-mcp-header\":\"N\"}}}", "{\"a\":{}}", ""},
        {"{\"properties\":{\"a\":{\"type\":\"array\",\"x-mcp-header\":\"N\"}}}", "{\"a\":[]}", ""},
        {"{\"properties\":{\"a\":{\"x-mcp-header\":\"N\"}}}", "{\"a\":7}", ""},
        {"{\"properties\":{\"a\":{\"type\":[\"string\",\"null\"],\"x-mcp-header\":\"N\"}}}",
         "{\"a\":null}", "Mcp-Param-N=null"},
        {"{\"properties\":{\"a\":{\"type\":[\"string\",\"integer\"],\"x-mcp-header\":\"N\"}}}",
         "{\"a\":7}", ""},
        {"{\"properties\":{\"a\":{\"type\":[\"string\",\"number\"],\"x-mcp-header\":\"N\"}}}",
         "{\"a\":7}", ""},
        {"{\"properties\":{\"a\":{\"type\":[\"null\"],\"x-mcp-header\":\"N\"}}}", "{\"a\":null}",
         ""},
        {"{\"properties\":{\"a\":{\"type\":7,\"x-mcp-header\":\"N\"}}}", "{\"a\":7}", ""},
        /* Names. */
        {"{\"properties\":{\"a\":" STRING("") "}}", "{\"a\":7}", ""},
        {"{\"properties\":{\"a\":" STRING("a b") "}}", "{\"a\":7}", ""},
        {"{\"properties\":{\"a\":" STRING("a:b") "}}", "{\"a\":7}", ""},
        {"{\"properties\":{\"a\":" STRING("a\\r\\nb") "}}", "{\"a\":7}", ""},
        {"{\"properties\":{\"a\":" STRING("\u00e4") "}}", "{\"a\":7}", ""},
        {"{\"properties\":{\"a\":" STRING("!#$%&'*+-.^_`|~09azAZ") "}}", "{\"a\":7}",
         "Mcp-Param-!#$%&'*+-.^_`|~09azAZ=7"},
        {"{\"properties\":{\"a\":{\"type\":\"string\",\"x-mcp-header\":7}}}", "{\"a\":7}", ""},
        /* Two of a name: neither. */
        {"{\"properties\":{\"a\":" STRING("X") ",\"b\":" STRING("Y") ",\"c\":" STRING("x") "}}",
         "{\"a\":1,\"b\":2}", "Mcp-Param-Y=2"},
        {"{\"properties\":{\"a\":" STRING("X") ",\"b\":" STRING("X") ",\"c\":" STRING("x") "}}",
         "{\"a\":1,\"b\":2}", ""},
        {"{\"properties\":{\"a\":" STRING("X") ",\"o\":{\"properties\":{\"b\":" STRING("x") "}}}}",
         "{\"a\":1}", ""},
        /* Places. */
        {"{\"properties\":{\"o\":{\"type\":\"object\",\"properties\":{\"p\":{\"properties\":{"
         "\"q\":" STRING("Deep") "}}}}}}",
         "{\"o\":{\"p\":{\"q\":\"v\"}}}", "Mcp-Param-Deep=\"v\""},
        {"{\"properties\":{\"o\":{\"type\":\"object\",\"properties\":{\"p\":{\"properties\":{"
         "\"q\":" STRING("Deep") "}}}}}}",
         "{\"o\":{\"p\":[{\"q\":1}]},\"q\":2}", "Mcp-Param-Deep=-"},
        {"{\"properties\":{\"a\":{\"type\":\"array\",\"items\":" STRING("X") "}}}", "{\"a\":[]}",
         ""},
        {"{\"properties\":{\"a\":{\"anyOf\":[" STRING("X") "]}}}", "{\"a\":1}", ""},
        {"{\"allOf\":[{\"properties\":{\"a\":" STRING("X") "}}]}", "{\"a\":1}", ""},
        {"{\"$defs\":{\"d\":" STRING("X") "},\"properties\":{\"a\":{\"$ref\":\"#/$defs/d\"}}}",
         "{\"a\":1}", ""},
        {"{\"if\":{\"properties\":{\"a\":" STRING("X") "}}}", "{\"a\":1}", ""},
        {"{\"type\":\"string\",\"x-mcp-header\":\"X\"}", "{}", ""},
        /* A property that is called so. */
        {"{\"properties\":{\"x-mcp-header\":{\"type\":\"string\"}}}", "{\"x-mcp-header\":1}", ""},
        {"{\"properties\":{\"properties\":" STRING("X") "}}", "{\"properties\":1}",
         "Mcp-Param-X=1"},
        /* No schema at all. */
        {"{\"properties\":[" STRING("X") "]}", "{}", ""},
        {"{\"properties\":{\"a\":true,\"b\":[],\"c\":{\"properties\":7}}}", "{\"a\":1}", ""},
        {"{}", "{}", ""},
        {"true", "{}", ""},
    };
    char text[512];

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        assert_int_equal(list(cases[i].schema, cases[i].arguments, text, sizeof(text)), 0);
        if (strcmp(text, cases[i].expected) != 0) {
            fail_msg("%s with %s: %s", cases[i].schema, cases[i].arguments, text);
        }
    }
}

/* {"properties":{"p":{"properties":{"p": … annotation */
static void depth_is_walked_without_recursion(void **state)
{
    enum {
        DEPTH = 250
    };
    static char schema[DEPTH * 32];
    static char arguments[DEPTH * 16];
    char text[64];
    size_t n = 0;
    size_t m = 0;

    (void)state;
    for (size_t i = 0; i < DEPTH; i++) {
        n += (size_t)snprintf(schema + n, sizeof(schema) - n, "{\"properties\":{\"p\":");
        m += (size_t)snprintf(arguments + m, sizeof(arguments) - m, "{\"p\":");
    }
    n += (size_t)snprintf(schema + n, sizeof(schema) - n, STRING("Deep"));
    m += (size_t)snprintf(arguments + m, sizeof(arguments) - m, "7");
    for (size_t i = 0; i < DEPTH; i++) {
        n += (size_t)snprintf(schema + n, sizeof(schema) - n, "}}");
        m += (size_t)snprintf(arguments + m, sizeof(arguments) - m, "}");
    }
    assert_int_equal(list(schema, arguments, text, sizeof(text)), 0);
    assert_string_equal(text, "Mcp-Param-Deep=7");
}

/* Annotations enough for several blocks of the arena. */
static int scenario(void *context)
{
    static char text[64 * 1024];

    return list(context, "{}", text, sizeof(text));
}

static void want_of_memory_is_reported(void **state)
{
    enum {
        COUNT = 500
    };
    static char schema[COUNT * 80];
    size_t n = (size_t)snprintf(schema, sizeof(schema), "{\"properties\":{");

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        n += (size_t)snprintf(schema + n, sizeof(schema) - n,
                              "%s\"p%d\":{\"type\":\"string\",\"properties\":{},\"x-mcp-header\":"
                              "\"\\u0068%d\"}",
                              i == 0 ? "" : ",", i, i);
    }
    (void)snprintf(schema + n, sizeof(schema) - n, "}}");
    test_oom_sweep(scenario, schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(annotations_are_found_and_judged),
        cmocka_unit_test(depth_is_walked_without_recursion),
        cmocka_unit_test(want_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
