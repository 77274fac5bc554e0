#include "call/content.h"

#include "support/cmocka.h"

#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "call/result.h"

static int check(const char *text, uint32_t *ret_kinds, CallContentFault *reterr)
{
    Arena arena;
    JsonDoc doc;
    int r;

    *ret_kinds = 0;
    arena_init(&arena, SIZE_MAX);
    assert_int_equal(json_parse(&doc, &arena, text, strlen(text), NULL, NULL), 0);
    r = call_content_check(json_root(&doc), ret_kinds, reterr);
    arena_deinit(&arena);
    return r;
}

static void blocks_of_every_kind_are_told_apart(void **state)
{
    static const struct {
        const char *text;
        uint32_t kinds;
    } cases[] = {
        {"{\"type\":\"text\",\"text\":\"\"}", CALL_CONTENT_TEXT},
        {"{\"text\":\"a\",\"annotations\":{},\"type\":\"te\\u0078t\"}", CALL_CONTENT_TEXT},
        {"{\"type\":\"image\",\"data\":\"\",\"mimeType\":\"image/png\"}", CALL_CONTENT_IMAGE},
        {"{\"type\":\"audio\",\"data\":\"\",\"mimeType\":\"audio/wav\"}", CALL_CONTENT_AUDIO},
        {"{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"b\"}", CALL_CONTENT_LINK},
        {"{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":\"\"}}",
         CALL_CONTENT_RESOURCE},
        {"{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"blob\":\"\"}}",
         CALL_CONTENT_RESOURCE},
        /* Members that not every revision has. */
        {"{\"type\":\"text\",\"text\":\"\",\"_meta\":{}}",
         CALL_CONTENT_TEXT | CALL_CONTENT_UNKNOWN},
        {"{\"type\":\"resource_link\",\"uri\":\"a:b\",\"name\":\"b\",\"icons\":[]}",
         CALL_CONTENT_LINK | CALL_CONTENT_UNKNOWN},
        {"{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":\"\",\"_meta\":{}}}",
         CALL_CONTENT_RESOURCE | CALL_CONTENT_UNKNOWN},
    };
    CallContentFault fault;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        uint32_t kinds;

        assert_int_equal(check(cases[i].text, &kinds, &fault), 0);
        assert_int_equal(kinds, cases[i].kinds);
    }
}

static void a_type_that_nobody_knows_is_none_of_them(void **state)
{
    CallContentFault fault;
    uint32_t kinds;

    (void)state;
    assert_int_equal(check("{\"type\":\"video\"}", &kinds, &fault), CALL_CONTENT_E_TYPE);
    assert_int_equal(kinds, CALL_CONTENT_UNKNOWN);
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *text;
        const char *member;
        const char *wanted;
    } cases[] = {
        {"7", "", "object"},
        {"[]", "", "object"},
        {"{}", "type", "string"},
        {"{\"type\":null}", "type", "string"},
        {"{\"type\":\"text\"}", "text", "string"},
        {"{\"type\":\"text\",\"text\":7}", "text", "string"},
        {"{\"type\":\"image\",\"mimeType\":\"a/b\"}", "data", "string"},
        {"{\"type\":\"image\",\"data\":\"\"}", "mimeType", "string"},
        {"{\"type\":\"audio\",\"data\":\"\",\"mimeType\":{}}", "mimeType", "string"},
        {"{\"type\":\"resource_link\",\"uri\":\"a:b\"}", "name", "string"},
        {"{\"type\":\"resource\"}", "resource", "object"},
        {"{\"type\":\"resource\",\"resource\":[]}", "resource", "object"},
        {"{\"type\":\"resource\",\"resource\":{\"text\":\"\"}}", "resource.uri", "string"},
        {"{\"type\":\"resource\",\"resource\":{\"uri\":\"a:b\",\"text\":1}}", "resource",
         "a string 'text' or 'blob'"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        CallContentFault fault = {"untouched", "untouched"};
        uint32_t kinds;

        assert_int_equal(check(cases[i].text, &kinds, &fault), CALL_CONTENT_E_WRONG);
        assert_string_equal(fault.member, cases[i].member);
        assert_string_equal(fault.wanted, cases[i].wanted);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_every_kind_are_told_apart),
        cmocka_unit_test(a_type_that_nobody_knows_is_none_of_them),
        cmocka_unit_test(what_is_wrong_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
