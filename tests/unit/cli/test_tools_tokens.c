#include "cli/tools_tokens.h"

#include "support/cmocka.h"

#include <string.h>

#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

#define TOOLS                                                                                      \
    "[{\"name\":\"own\",\"description\":\"small\"},"                                               \
    "{\"name\":\"files__read\",\"description\":\"Reads a whole file and gives its lines.\","       \
    "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\"}}},"       \
    "\"outputSchema\":{\"type\":\"object\"}},"                                                     \
    "{\"name\":\"stat\"},{\"name\":\"odd__one\"},{\"name\":\"odd__\"}]"

/* Names do not tell whose a tool is. */
#define ORIGINS "[null,\"files\",\"files\",null]"

static const char *write_with(const char *json, const char *origins, bool as_json)
{
    static char text[8192];
    Arena arena;
    JsonDoc whose;
    JsonDoc doc;
    Bytes out;

    arena_init(&arena, SIZE_MAX);
    bytes_init(&out, sizeof(text) - 1);
    assert_int_equal(json_parse(&doc, &arena, json, strlen(json), NULL, NULL), 0);
    assert_int_equal(json_parse(&whose, &arena, origins, strlen(origins), NULL, NULL), 0);
    assert_int_equal(
        tools_tokens_write(json_root(&doc), json_root(&whose), as_json, 0, false, &arena, &out), 0);
    memcpy(text, out.data, out.n);
    text[out.n] = '\0';
    bytes_deinit(&out);
    arena_deinit(&arena);
    return text;
}

static const char *write_text(const char *json, bool as_json)
{
    return write_with(json, ORIGINS, as_json);
}

static void the_dearest_tool_comes_first_and_sums_are_right(void **state)
{
    const char *text = write_text(TOOLS, false);

    (void)state;
    assert_non_null(strstr(text, "server"));
    assert_non_null(strstr(text, "(its own)"));
    assert_true(strstr(text, "files__read") < strstr(text, "\nown"));
    assert_non_null(strstr(text, "\n5 tools: "));
}

static void programs_read_numbers(void **state)
{
    const char *text = write_text(TOOLS, true);

    (void)state;
    assert_ptr_equal(strstr(text, "{\"tools\":[{\"name\":\"files__read\",\"server\":\"files\","),
                     text);
    assert_non_null(strstr(text, "{\"server\":\"files\",\"tools\":2,\"bytes\":"));
    assert_non_null(strstr(text, "{\"server\":null,\"tools\":3,"));
    assert_non_null(strstr(text, "\"total\":{\"tools\":5,"));
}

static void one_server_has_no_table_of_servers(void **state)
{
    (void)state;
    assert_null(strstr(write_text("[{\"name\":\"a\"}]", false), "server"));
    assert_null(strstr(write_with("[{\"name\":\"a__b\"}]", "[]", false), "server"));
    assert_non_null(strstr(write_with("[{\"name\":\"a\"}]", "[\"s\"]", false), "\ns "));
    assert_non_null(strstr(write_text("[{\"name\":\"a\"}]", false), "\n1 tool: 12 bytes, about "));
    assert_string_equal(write_text("[]", false), "0 tools: 0 bytes, about 0 tokens, 0 of them to a "
                                                 "model (name, description, input schema)\n");
}

/* A server may call its tools as it likes; a terminal must not obey it. */
static void what_a_terminal_would_obey_is_not_printed(void **state)
{
    (void)state;
    assert_null(strchr(write_text("[{\"name\":\"a\\u001b[31m\"}]", false), '\x1b'));
}

static int everything(void *context)
{
    Arena arena;
    JsonDoc whose;
    JsonDoc doc;
    Bytes out;
    int r;

    (void)context;
    arena_init(&arena, SIZE_MAX);
    bytes_init(&out, 8192);
    r = json_parse(&doc, &arena, TOOLS, strlen(TOOLS), NULL, NULL);
    r = r != 0 ? r : json_parse(&whose, &arena, ORIGINS, strlen(ORIGINS), NULL, NULL);
    r = r != 0
            ? r
            : tools_tokens_write(json_root(&doc), json_root(&whose), false, 0, false, &arena, &out);
    bytes_deinit(&out);
    arena_deinit(&arena);
    return r;
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    test_oom_sweep(everything, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_dearest_tool_comes_first_and_sums_are_right),
        cmocka_unit_test(programs_read_numbers),
        cmocka_unit_test(one_server_has_no_table_of_servers),
        cmocka_unit_test(what_a_terminal_would_obey_is_not_printed),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
