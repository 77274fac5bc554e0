#include "support/cmocka.h"

#include <string.h>

#include "base/diag.h"
#include "base/utf8.h"

static void set_fills_code_and_message_and_returns_the_code(void **state)
{
    Diag d;

    (void)state;
    memset(&d, 0x55, sizeof(d));
    assert_int_equal(diag_set(&d, 3, "bad %s at %d", "comma", 7), 3);
    assert_int_equal(d.code, 3);
    assert_string_equal(d.message, "bad comma at 7");
    assert_string_equal(d.field, "");
    assert_true(d.offset == DIAG_NO_OFFSET);
    assert_int_equal(d.line, 0);
    assert_int_equal(d.column, 0);
}

static void null_diag_is_allowed_everywhere(void **state)
{
    (void)state;
    assert_int_equal(diag_set(NULL, 3, "x"), 3);
    diag_set_place(NULL, "x", 1, 0);
    diag_set_field(NULL, "x");
}

static void check_place(const char *text, size_t offset, uint32_t line, uint32_t column)
{
    Diag d = DIAG_NULL;

    diag_set_place(&d, text, strlen(text), offset);
    assert_int_equal(d.offset, offset);
    assert_int_equal(d.line, line);
    assert_int_equal(d.column, column);
}

static void place_counts_lines_and_columns_from_one(void **state)
{
    (void)state;
    check_place("", 0, 1, 1);
    check_place("abc", 0, 1, 1);
    check_place("abc", 2, 1, 3);
    check_place("abc", 3, 1, 4);
    check_place("a\nbc\n\nd", 1, 1, 2);
    check_place("a\nbc\n\nd", 2, 2, 1);
    check_place("a\nbc\n\nd", 3, 2, 2);
    check_place("a\nbc\n\nd", 5, 3, 1);
    check_place("a\nbc\n\nd", 6, 4, 1);
    check_place("a\n", 2, 2, 1);
    check_place("ab", 100, 1, 3);
}

static void long_message_is_cut_visibly_and_between_characters(void **state)
{
    char text[400];

    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        Diag d;
        size_t n;

        memset(text, 'a', shift);
        for (size_t i = shift; i + 4 < sizeof(text); i += 4) {
            memcpy(text + i, "\xF0\x9F\x98\x80", 5);
        }
        (void)diag_set(&d, 1, "%s", text);
        n = strlen(d.message);
        assert_in_range(n, DIAG_MESSAGE_SIZE - 5, DIAG_MESSAGE_SIZE - 1);
        assert_true(utf8_valid(d.message, n, NULL));
        assert_string_equal(d.message + n - 3, "...");
        diag_set_field(&d, "%s", text);
        n = strlen(d.field);
        assert_in_range(n, DIAG_FIELD_SIZE - 5, DIAG_FIELD_SIZE - 1);
        assert_true(utf8_valid(d.field, n, NULL));
        assert_string_equal(d.field + n - 3, "...");
    }
}

static void message_that_just_fits_is_not_cut_and_one_more_is(void **state)
{
    char text[DIAG_MESSAGE_SIZE];
    Diag d;

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    (void)diag_set(&d, 1, "%s", text);
    assert_string_equal(d.message, text);
    (void)diag_set(&d, 1, "%sb", text);
    assert_int_equal(strlen(d.message), DIAG_MESSAGE_SIZE - 1);
    assert_string_equal(d.message + DIAG_MESSAGE_SIZE - 5, "a...");
}

static void prefix_stands_in_front_and_keeps_the_place(void **state)
{
    char text[DIAG_MESSAGE_SIZE];
    Diag d;

    (void)state;
    (void)diag_set(&d, 7, "wrong %d", 5);
    diag_set_place(&d, "a\nb", 3, 2);
    diag_prefix(&d, "%s:%u: ", "file", d.line);
    assert_string_equal(d.message, "file:2: wrong 5");
    assert_int_equal(d.code, 7);
    assert_int_equal(d.offset, 2);
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    (void)diag_set(&d, 7, "%s", text);
    diag_prefix(&d, "front ");
    assert_int_equal(strlen(d.message), DIAG_MESSAGE_SIZE - 1);
    assert_int_equal(strncmp(d.message, "front aaa", 9), 0);
    assert_string_equal(d.message + DIAG_MESSAGE_SIZE - 5, "a...");
    diag_prefix(NULL, "nothing");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(set_fills_code_and_message_and_returns_the_code),
        cmocka_unit_test(null_diag_is_allowed_everywhere),
        cmocka_unit_test(place_counts_lines_and_columns_from_one),
        cmocka_unit_test(long_message_is_cut_visibly_and_between_characters),
        cmocka_unit_test(message_that_just_fits_is_not_cut_and_one_more_is),
        cmocka_unit_test(prefix_stands_in_front_and_keeps_the_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
