#include "support/cmocka.h"

#include <string.h>

#include "base/bytes.h"
#include "toolkit/shown.h"

static void show(Span text, Bytes *out)
{
    bytes_init(out, 4096);
    while (text.n > 0) {
        ToolkitShown shown = toolkit_shown_next(&text);

        assert_true(shown.n > 0 && shown.n <= sizeof(shown.bytes));
        assert_int_equal(bytes_append(out, shown.bytes, shown.n), 0);
    }
}

static void check(Span text, const char *wanted, int line)
{
    Bytes out;

    show(text, &out);
    if (!span_equals(bytes_span(&out), span_from_str(wanted))) {
        fail_msg("line %d: %.*s, not %s", line, (int)out.n, out.data, wanted);
    }
    bytes_deinit(&out);
}

#define assert_shown(text, wanted) check(SPAN(text), wanted, __LINE__)

static void letters_are_themselves(void **state)
{
    (void)state;
    assert_shown("src/a b.c", "src/a b.c");
    assert_shown("\u00E4\u20AC\U0001F600", "\u00E4\u20AC\U0001F600");
    assert_shown("C:\\folder\\", "C:\\folder\\");
}

static void what_cannot_be_shown_is_written(void **state)
{
    (void)state;
    assert_shown("a\nb\x1B[2J\x7F", "a\\x0ab\\x1b[2J\\x7f");
    assert_shown("a\0b", "a\\x00b");
    assert_shown("\xC2\x85\u061C\u200F\u2028\u202E\u2069",
                 "\\u0085\\u061c\\u200f\\u2028\\u202e\\u2069");
    assert_shown("\uFFFE\uFFFD", "\\ufffe\uFFFD");
    assert_shown("\xFF\x85\xE2\x80", "\\xff\\x85\\xe2\\x80");
}

/* Every text of up to four of the letters that matter looks like no other. */
static void no_two_names_are_shown_alike(void **state)
{
    static const Span letters[] = {SPAN_INIT("\\"),   SPAN_INIT("x"),        SPAN_INIT("u"),
                                   SPAN_INIT("0"),    SPAN_INIT("1"),        SPAN_INIT("\x01"),
                                   SPAN_INIT("\x85"), SPAN_INIT("\xC2\x85"), SPAN_INIT("a")};
    enum {
        N_LETTERS = 9,
        N_NAMES = 9 * 9 * 9 * 9
    };
    static char shown[N_NAMES][64];
    size_t n_same = 0;

    (void)state;
    for (size_t i = 0; i < N_NAMES; i++) {
        Bytes name;
        Bytes out;

        bytes_init(&name, 64);
        for (size_t k = i, n = 0; n < 4; n++, k /= N_LETTERS) {
            assert_int_equal(bytes_append_span(&name, letters[k % N_LETTERS]), 0);
        }
        show(bytes_span(&name), &out);
        assert_true(out.n < sizeof(shown[i]));
        memcpy(shown[i], out.data, out.n);
        bytes_deinit(&name);
        bytes_deinit(&out);
    }
    for (size_t i = 0; i < N_NAMES; i++) {
        for (size_t k = i + 1; k < N_NAMES; k++) {
            n_same += shown[i][0] == shown[k][0] && strcmp(shown[i], shown[k]) == 0;
        }
    }
    assert_int_equal(n_same, 0);
    assert_shown("\\x01", "\\\\x01");
    assert_shown("\\\x01", "\\\\\\x01");
    assert_shown("\\\\", "\\\\\\");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(letters_are_themselves),
        cmocka_unit_test(what_cannot_be_shown_is_written),
        cmocka_unit_test(no_two_names_are_shown_alike),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
