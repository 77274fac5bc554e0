#include "support/cmocka.h"

#include <string.h>

#include "toolkit/templates/sha256.h"

static void digest_is_that_of_the_standard(void **state)
{
    /* FIPS 180-2, appendix B, and the empty text. */
    static const struct {
        Span data;
        const char *digest;
    } known[] = {
        {SPAN_INIT(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {SPAN_INIT("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {SPAN_INIT("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(known); i++) {
        char hex[TEMPLATE_SHA256_HEX + 1];

        memset(hex, 'x', sizeof(hex));
        assert_int_equal(template_sha256(known[i].data, hex), 0);
        assert_string_equal(hex, known[i].digest);
    }
    {
        char hex[TEMPLATE_SHA256_HEX + 1];

        assert_int_equal(template_sha256(SPAN_NULL, hex), 0);
        assert_string_equal(hex, known[0].digest);
    }
}

static void long_data_with_nul_counts_to_its_end(void **state)
{
    static char data[1000000];
    char a[TEMPLATE_SHA256_HEX + 1];
    char b[TEMPLATE_SHA256_HEX + 1];

    (void)state;
    memset(data, 'a', sizeof(data));
    assert_int_equal(template_sha256(span_make(data, sizeof(data)), a), 0);
    assert_string_equal(a, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    data[10] = '\0';
    assert_int_equal(template_sha256(span_make(data, sizeof(data)), a), 0);
    data[11] = 'b';
    assert_int_equal(template_sha256(span_make(data, sizeof(data)), b), 0);
    assert_string_not_equal(a, b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digest_is_that_of_the_standard),
        cmocka_unit_test(long_data_with_nul_counts_to_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
