#include "app/jsonc.h"

#include "support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "base/compiler.h"
#include "support/alloc_testing.h"

static void comments_and_last_commas_become_blanks(void **state)
{
    static const struct {
        const char *text;
        const char *wanted;
    } cases[] = {
        {"{}", "{}"},
        {"", ""},
        {"[1,2,]", "[1,2 ]"},
        {"{\"a\":1, \n}", "{\"a\":1  \n}"},
        {"[1 , // x\n ]", "[1       \n ]"},
        {"[1,/* a\nb */]", "[1     \n    ]"},
        {"{\"u\":\"http://x/*y*/\"}", "{\"u\":\"http://x/*y*/\"}"},
        {"\"\\\"//\" //", "\"\\\"//\"   "},
        {"\xEF\xBB\xBF{}", "   {}"},
        /* What is no JSON does not become some. */
        {"[,]", "[,]"},
        {"[1,,]", "[1,,]"},
        {"{\"a\":,}", "{\"a\":,}"},
        {"1 / 2", "1 / 2"},
        {"\"//", "\"//"},
        {"\"\\", "\"\\"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        Bytes out;

        bytes_init(&out, 1000);
        assert_int_equal(jsonc_to_json(&out, span_from_str(cases[i].text), NULL), 0);
        assert_int_equal(out.n, strlen(cases[i].wanted));
        assert_memory_equal(out.data == NULL ? "" : out.data, cases[i].wanted, out.n);
        bytes_deinit(&out);
    }
}

static void a_comment_without_an_end_is_named(void **state)
{
    Diag diag = DIAG_NULL;
    Bytes out;

    (void)state;
    bytes_init(&out, 1000);
    assert_int_equal(jsonc_to_json(&out, SPAN("{\n  /* on and on /"), &diag), JSONC_E_COMMENT);
    assert_int_equal(diag.line, 2);
    assert_int_equal(diag.column, 3);
    assert_int_equal(out.n, 0);
    bytes_deinit(&out);
    bytes_init(&out, 3);
    assert_int_equal(jsonc_to_json(&out, SPAN("[1,2]"), NULL), -E2BIG);
    bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comments_and_last_commas_become_blanks),
        cmocka_unit_test(a_comment_without_an_end_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
