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
    check(false, "{\"type\":\"resource\",\"resource\":{\"uri\":\"u\",\"text\":\"t\"}}", "t\n", 0);
    check(false, "{\"type\":\"resource\",\"resource\":{\"mimeType\":\"a/b\",\"blob\":\"YWJj\"}}",
          "[resource: a/b, 3 bytes]\n", 0);
    check(false, "{\"type\":\"new\\u001b\"}", "[new\\x1b]\n", 0);
    check(false, "{}", "[content without a type]\n", 0);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(thousands_are_separated),
        cmocka_unit_test(size_of_a_blob_is_known_without_decoding),
        cmocka_unit_test(text_is_printed_and_the_rest_is_described),
        cmocka_unit_test(resource_is_printed_as_it_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
