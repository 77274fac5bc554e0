#include "base/tokens.h"

#include "support/cmocka.h"

#include <string.h>

#include "base/compiler.h"

static size_t count(const char *text)
{
    return tokens_estimate(span_from_str(text));
}

/* What tokenizers in use say of these texts (o200k_base), and what is allowed: 15 per cent. */
static void the_estimate_is_near_real_tokenizers(void **state)
{
    static const struct {
        const char *text;
        size_t tokens;
    } cases[] = {
        {"{\"name\":\"read_file\",\"description\":\"Read the complete contents of a file from the "
         "file system. Handles various text encodings and provides detailed error messages if the "
         "file cannot be read.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"path\":{"
         "\"type\":\"string\"}},\"required\":[\"path\"]}}",
         58},
        {"The quick brown fox jumps over the lazy dog, and then it sleeps for twelve hours in the "
         "shade of an old tree near the river.",
         28},
        {"static int table_reserve(RouterTable *table)\n{\n    size_t cap = table->cap == 0 ? 8 : "
         "table->cap * 2;\n\n    if (table->n < table->cap) {\n        return 0;\n    }\n}\n",
         54},
        {"{\"id\":1234567,\"values\":[1.5,2.25,3.125],\"createdAt\":\"2026-07-28T12:34:56Z\","
         "\"isActive\":true,\"ownerName\":null}",
         48},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        size_t estimate = count(cases[i].text);

        assert_true(estimate * 100 >= cases[i].tokens * 85);
        assert_true(estimate * 100 <= cases[i].tokens * 115);
    }
}

static void pieces_count_as_tokenizers_cut_them(void **state)
{
    (void)state;
    assert_int_equal(count(""), 0);
    assert_int_equal(count("a"), 1);
    assert_int_equal(count("two words"), 2);
    assert_int_equal(count("camelCase"), 2);
    assert_int_equal(count("123456"), 2);
    assert_int_equal(count("internationalization"), 4);
    assert_int_equal(count("\xE5\xB7\xA5\xE5\x85\xB7"), 2); /* two signs */
    assert_int_equal(count("\xFF\x80"), 2);                 /* no UTF-8, and no harm */
}

static void more_text_is_never_fewer_tokens_by_much(void **state)
{
    char text[1000];
    size_t last = 0;

    (void)state;
    memset(text, 'a', sizeof(text));
    for (size_t n = 0; n < sizeof(text); n++) {
        size_t tokens = tokens_estimate(span_make(text, n));

        assert_true(tokens >= last && tokens <= n);
        last = tokens;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_estimate_is_near_real_tokenizers),
        cmocka_unit_test(pieces_count_as_tokenizers_cut_them),
        cmocka_unit_test(more_text_is_never_fewer_tokens_by_much),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
