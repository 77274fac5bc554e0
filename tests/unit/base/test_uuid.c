#include "support/cmocka.h"

#include <string.h>

#include "base/uuid.h"
#include "support/guard.h"

static void bytes_become_text_with_version_and_variant(void **state)
{
    static const uint8_t counting[16] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                         0x88, 0x99, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0xFF};
    static const uint8_t zeros[16] = {0};
    uint8_t ones[16];
    char out[UUID_SIZE];

    (void)state;
    memset(ones, 0xFF, sizeof(ones));
    uuid_v4_from(counting, out);
    assert_string_equal(out, "00112233-4455-4677-8899-aabbccddeeff");
    uuid_v4_from(zeros, out);
    assert_string_equal(out, "00000000-0000-4000-8000-000000000000");
    uuid_v4_from(ones, out);
    assert_string_equal(out, "ffffffff-ffff-4fff-bfff-ffffffffffff");
}

static void new_ones_are_valid_and_differ(void **state)
{
    char a[UUID_SIZE];
    char b[UUID_SIZE];

    (void)state;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(uuid_v4(a), 0);
        assert_int_equal(uuid_v4(b), 0);
        assert_true(uuid_is_v4(span_from_str(a)));
        assert_string_not_equal(a, b);
    }
}

static void any_case_and_any_version_are_valid(void **state)
{
    (void)state;
    assert_true(uuid_is_valid(SPAN("00112233-4455-4677-8899-aabbccddeeff")));
    assert_true(uuid_is_valid(SPAN("00112233-4455-4677-8899-AABBCCDDEEFF")));
    assert_true(uuid_is_valid(SPAN("00000000-0000-0000-0000-000000000000")));
    assert_true(uuid_is_valid(SPAN("01890a5d-ac96-774b-bcce-b302099a8057")));
}

static void every_wrong_character_at_every_place_is_refused(void **state)
{
    static const char good[] = "00112233-4455-4677-8899-aabbccddeeff";

    (void)state;
    for (size_t i = 0; i < 36; i++) {
        for (int c = 0; c < 256; c++) {
            char text[UUID_SIZE];
            bool is_hex = c != 0 && strchr("0123456789abcdefABCDEF", c) != NULL;

            memcpy(text, good, sizeof(good));
            text[i] = (char)c;
            assert_int_equal(uuid_is_valid(span_make(text, 36)),
                             good[i] == '-' ? c == '-' : is_hex);
        }
    }
}

static void other_lengths_are_refused_without_reading_past_the_end(void **state)
{
    static const char text[] = "00112233-4455-4677-8899-aabbccddeeff0";

    (void)state;
    for (size_t n = 0; n <= 37; n++) {
        GuardBuffer g = guard_copy(text, n);

        assert_int_equal(uuid_is_valid(span_make(g.p, n)), n == 36);
        assert_int_equal(uuid_is_v4(span_make(g.p, n)), n == 36);
        guard_free(&g);
    }
}

static void version_4_needs_its_digit_and_its_variant(void **state)
{
    char text[] = "00112233-4455-4677-8899-aabbccddeeff";

    (void)state;
    for (const char *c = "0123456789abcdefABCDEF"; *c != '\0'; c++) {
        text[14] = *c;
        assert_int_equal(uuid_is_v4(span_from_str(text)), *c == '4');
        text[14] = '4';
        text[19] = *c;
        assert_int_equal(uuid_is_v4(span_from_str(text)), strchr("89abAB", *c) != NULL);
        text[19] = '8';
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_become_text_with_version_and_variant),
        cmocka_unit_test(new_ones_are_valid_and_differ),
        cmocka_unit_test(any_case_and_any_version_are_valid),
        cmocka_unit_test(every_wrong_character_at_every_place_is_refused),
        cmocka_unit_test(other_lengths_are_refused_without_reading_past_the_end),
        cmocka_unit_test(version_4_needs_its_digit_and_its_variant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
