#include "base/plain.h"

#include "support/cmocka.h"

#include <string.h>

static const struct {
    const char *text;
    const char *shown;
} rows[] = {
    {"plain\ttext\n", "plain\ttext\n"},
    {"\x1b[31mred\x1b[0m", "red"},
    {"\x1b[38;5;12mx\x1b[2K\x1b[1Gy", "xy"},
    {"\x1b]0;title\x07shown", "shown"},
    {"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\!", "link!"},
    {"\x1bP1$r\x1b\\a\x1b_q\x1b\\b\x1b^p\x1b\\c\x1bXs\x1b\\d", "abcd"},
    {"\x1b(Bascii\x1b=k\x1b>l\x1b"
     "7m",
     "asciiklm"},
    {"\x1b\x1b[1mtwice", "twice"},
    {"a\x1b[1\x1b[2mb", "ab"},
    {"\xC2\x9B"
     "1mred\xC2\x9B"
     "0m",
     "red"},
    {"\xC2\x9D"
     "0;title\xC2\x9C"
     "shown",
     "shown"},
    {"\xC2\x90q\xC2\xA0r\x07s", "s"},
    {"caf\xC3\xA9 \xC2\xB5\xC2\xA0\xE2\x82\xAC", "caf\xC3\xA9 \xC2\xB5\xC2\xA0\xE2\x82\xAC"},
    {"\xC2\x85one\x08\x7F\r\x07two", "onetwo"},
    {"\xC2\x1b[1mx\xC2\xC2\x9B"
     "1my\xC2\n",
     "\xC2x\xC2y\xC2\n"},
    {"\x1b]never ends\nnext", "\nnext"},
    {"\x1b[12\nnext", "\nnext"},
    {"\x1b\nnext", "\nnext"},
    {"", ""},
};

static void assert_shown(const char *text, size_t split, const char *shown)
{
    Plain plain = PLAIN_NULL;
    size_t n = strlen(text);
    Bytes out;

    bytes_init(&out, 200);
    assert_int_equal(plain_feed(&plain, span_make(text, split), &out), 0);
    assert_int_equal(plain_feed(&plain, span_make(text + split, n - split), &out), 0);
    assert_int_equal(out.n, strlen(shown));
    assert_memory_equal(out.n > 0 ? out.data : "", shown, out.n);
    bytes_deinit(&out);
}

static void sequences_and_controls_are_left_out_wherever_the_text_is_cut(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        for (size_t split = 0; split <= strlen(rows[i].text); split++) {
            assert_shown(rows[i].text, split, rows[i].shown);
        }
    }
}

static void what_does_not_fit_is_told(void **state)
{
    Plain plain = PLAIN_NULL;
    Bytes out;

    (void)state;
    bytes_init(&out, 3);
    assert_int_equal(plain_feed(&plain, SPAN("abcd"), &out), BYTES_E_FULL);
    assert_int_equal(out.n, 3);
    bytes_deinit(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences_and_controls_are_left_out_wherever_the_text_is_cut),
        cmocka_unit_test(what_does_not_fit_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
