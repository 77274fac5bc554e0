#include "cli/peer_content.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static const char *number(uint64_t n)
{
    static char text[PEER_CONTENT_NUMBER_SIZE];

    return peer_content_number(n, text);
}

/* What a block, or a resource's contents, look like in a file. */
static void check(bool is_resource, const char *json, const char *expected, int outcome)
{
    char text[256];
    FILE *file = tmpfile();
    JsonDoc doc;
    Arena arena;
    size_t n;
    int r = 0;

    assert_non_null(file);
    arena_init(&arena, SIZE_MAX);
    assert_int_equal(json_parse(&doc, &arena, json, strlen(json), NULL, NULL), 0);
    if (is_resource) {
        r = peer_content_print_resource(file, json_root(&doc), &arena);
    } else {
        peer_content_print(file, json_root(&doc), &arena);
    }
    assert_int_equal(r, outcome);
    rewind(file);
    n = fread(text, 1, sizeof(text) - 1, file);
    text[n] = '\0';
    assert_string_equal(text, expected);
    (void)fclose(file);
    arena_deinit(&arena);
}

static void thousands_are_separated(void **state)
{
    (void)state;
    assert_string_equal(number(0), "0");
    assert_string_equal(number(999), "999");
    assert_string_equal(number(1234), "1,234");
    assert_string_equal(number(1234567), "1,234,567");
    assert_string_equal(number(UINT64_MAX), "18,446,744,073,709,551,615");
}

static void size_of_a_blob_is_known_without_decoding(void **state)
{
    (void)state;
    assert_int_equal(peer_content_size(SPAN("")), 0);
    assert_int_equal(peer_content_size(SPAN("YQ==")), 1);
    assert_int_equal(peer_content_size(SPAN("YWI=")), 2);
    assert_int_equal(peer_content_size(SPAN("YWJj")), 3);
    assert_int_equal(peer_content_size(SPAN("YWJjZA==")), 4);
}

static void text_is_printed_and_the_rest_is_described(void **state)
{
    (void)state;
    check(false, "{\"type\":\"text\",\"text\":\"a\\tb\"}", "a\tb\n", 0);
    check(false, "{\"type\":\"text\",\"text\":\"a\\n\"}", "a\n", 0);
    check(false, "{\"type\":\"text\",\"text\":\"\"}", "\n", 0);
    check(false, "{\"type\":\"text\"}", "\n", 0);
    check(false, "{\"type\":\"text\",\"text\":7}", "\n", 0);
    check(false, "{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"YWJj\"}",
          "[image: image/png, 3 bytes]\n", 0);
    check(false, "{\"type\":\"audio\",\"data\":\"YQ==\"}", "[audio: unknown type, 1 bytes]\n", 0);
    check(false, "{\"type\":\"resource_link\",\"uri\":\"u:x\",\"name\":\"n\"}", "[link: u:x, n]\n",
          0);
    check(false, "{\"type\":\"resource\",\"resource\":{\"uri\":\"u\",\"text\":\"t\"}}",
          "[resource: u]\nt\n", 0);
    check(false, "{\"type\":\"resource\",\"resource\":{\"mimeType\":\"a/b\",\"blob\":\"YWJj\"}}",
          "[resource: without a URI, a/b, 3 bytes]\n", 0);
    check(false, "{\"type\":\"new\\u001b\"}", "[new\\x1b] {\"type\":\"new\\u001b\"}\n", 0);
    check(false, "{}", "[content without a type] {}\n", 0);
}

static void resource_is_printed_as_it_is(void **state)
{
    (void)state;
    check(true, "{\"text\":\"no newline\"}", "no newline", 0);
    check(true, "{\"blob\":\"YWJj\"}", "abc", 0);
    check(true, "{\"blob\":\"YWJ\"}", "", PEER_CONTENT_E_BLOB);
    check(true, "{\"blob\":\"\"}", "", 0);
    check(true, "{\"text\":null}", "", 0);
    check(true, "{}", "", 0);
}

typedef int CheckFn(JsonValue result, Diag *reterr_diag);

static int check_tools(JsonValue result, Diag *reterr_diag)
{
    return peer_content_check_list(result, SPAN("tools"), SPAN("name"), JSON_STRING, reterr_diag);
}

/* problem: NULL if there is none. */
static void check_shape(CheckFn *fn, const char *json, const char *problem)
{
    Diag diag = DIAG_NULL;
    JsonDoc doc;
    Arena arena;
    int r;

    arena_init(&arena, SIZE_MAX);
    assert_int_equal(json_parse(&doc, &arena, json, strlen(json), NULL, NULL), 0);
    r = fn(json_root(&doc), &diag);
    assert_int_equal(r, problem == NULL ? 0 : PEER_CONTENT_E_SHAPE);
    assert_string_equal(diag.message, problem == NULL ? "" : problem);
    arena_deinit(&arena);
}

static void list_that_is_malformed_is_named(void **state)
{
    (void)state;
    check_shape(check_tools, "{\"tools\":[]}", NULL);
    check_shape(check_tools, "{\"tools\":[{\"name\":\"a\"},{\"name\":\"\"}]}", NULL);
    check_shape(check_tools, "{}", "result.tools is missing");
    check_shape(check_tools, "{\"tools\":5}", "result.tools must be an array");
    check_shape(check_tools, "{\"tools\":null}", "result.tools must be an array");
    check_shape(check_tools, "{\"tools\":{\"a\":{\"name\":\"a\"}}}",
                "result.tools must be an array");
    check_shape(check_tools, "{\"tools\":[{\"x\":1},5]}", "result.tools[0].name is missing");
    check_shape(check_tools, "{\"tools\":[{\"name\":\"a\"},5]}",
                "result.tools[1] must be an object");
    check_shape(check_tools, "{\"tools\":[{\"name\":5}]}", "result.tools[0].name must be a string");
}

static void result_that_says_nothing_is_named(void **state)
{
    (void)state;
    check_shape(peer_content_check_call, "{\"content\":[]}", NULL);
    check_shape(peer_content_check_call, "{\"content\":[{\"type\":\"new\"}]}", NULL);
    check_shape(peer_content_check_call, "{\"structuredContent\":{}}", NULL);
    check_shape(peer_content_check_call, "{}", "result.content is missing");
    check_shape(peer_content_check_call, "{\"content\":\"x\",\"structuredContent\":{}}",
                "result.content must be an array");
    check_shape(peer_content_check_call, "{\"content\":[\"x\"]}",
                "result.content[0] must be an object");
    check_shape(peer_content_check_call, "{\"content\":[{}]}", "result.content[0].type is missing");

    check_shape(peer_content_check_read, "{\"contents\":[{\"text\":\"\"},{\"blob\":\"\"}]}", NULL);
    check_shape(peer_content_check_read, "{}", "result.contents is missing");
    check_shape(peer_content_check_read, "{\"contents\":{}}", "result.contents must be an array");
    check_shape(peer_content_check_read, "{\"contents\":[7]}",
                "result.contents[0] must be an object");
    check_shape(peer_content_check_read, "{\"contents\":[{\"text\":\"\"},{\"uri\":\"\"}]}",
                "result.contents[1] has neither text nor blob");
    check_shape(peer_content_check_read, "{\"contents\":[{\"blob\":7}]}",
                "result.contents[0] must have a string as its text or blob");

    check_shape(peer_content_check_get, "{\"messages\":[{\"role\":\"user\",\"content\":{}}]}",
                NULL);
    check_shape(peer_content_check_get, "{}", "result.messages is missing");
    check_shape(peer_content_check_get, "{\"messages\":[{\"content\":{}}]}",
                "result.messages[0].role is missing");
    check_shape(peer_content_check_get, "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}",
                "result.messages[0].content must be an object");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_are_separated),
        cmocka_unit_test(size_of_a_blob_is_known_without_decoding),
        cmocka_unit_test(text_is_printed_and_the_rest_is_described),
        cmocka_unit_test(resource_is_printed_as_it_is),
        cmocka_unit_test(list_that_is_malformed_is_named),
        cmocka_unit_test(result_that_says_nothing_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
