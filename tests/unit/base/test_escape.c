#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "base/escape.h"
#include "support/guard.h"
#include "support/oom_sweep.h"

#define OUT_MAX 4096

/* The same by one character at a time, as the header says it. */
static size_t reference_escape(const char *p, size_t n, char *out)
{
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];

        switch (c) {
        case '"':
            at += (size_t)snprintf(out + at, 8, "\\\"");
            break;
        case '\\':
            at += (size_t)snprintf(out + at, 8, "\\\\");
            break;
        case '\b':
            at += (size_t)snprintf(out + at, 8, "\\b");
            break;
        case '\f':
            at += (size_t)snprintf(out + at, 8, "\\f");
            break;
        case '\n':
            at += (size_t)snprintf(out + at, 8, "\\n");
            break;
        case '\r':
            at += (size_t)snprintf(out + at, 8, "\\r");
            break;
        case '\t':
            at += (size_t)snprintf(out + at, 8, "\\t");
            break;
        default:
            if (c < 0x20) {
                at += (size_t)snprintf(out + at, 8, "\\u%04x", c);
            } else if (n - i >= 3 && memcmp(p + i, "\xE2\x80\xA8", 3) == 0) {
                at += (size_t)snprintf(out + at, 8, "\\u2028");
                i += 2;
            } else if (n - i >= 3 && memcmp(p + i, "\xE2\x80\xA9", 3) == 0) {
                at += (size_t)snprintf(out + at, 8, "\\u2029");
                i += 2;
            } else {
                out[at++] = (char)c;
            }
        }
    }
    return at;
}

/* From a guarded copy, so that no scan may look beyond the end. */
static void check_escape(const char *p, size_t n)
{
    char expected[OUT_MAX];
    size_t n_expected = reference_escape(p, n, expected);
    GuardBuffer g = guard_copy(p, n);
    Bytes out;

    bytes_init(&out, OUT_MAX);
    assert_int_equal(escape_json(&out, span_make(g.p, n)), 0);
    assert_int_equal(out.n, n_expected);
    if (n > 0) {
        assert_memory_equal(out.data, expected, n_expected);
    }
    assert_int_equal(escape_json_needed(span_make(g.p, n)), n_expected != n);
    bytes_deinit(&out);
    guard_free(&g);
}

static void assert_escapes_to(const char *text, const char *expected)
{
    Bytes out;

    bytes_init(&out, OUT_MAX);
    assert_int_equal(escape_json(&out, span_from_str(text)), 0);
    assert_int_equal(out.n, strlen(expected));
    assert_memory_equal(out.data, expected, out.n);
    bytes_deinit(&out);
}

static void each_kind_has_its_form(void **state)
{
    (void)state;
    assert_escapes_to("say \"hi\"", "say \\\"hi\\\"");
    assert_escapes_to("a\\b", "a\\\\b");
    assert_escapes_to("\b\f\n\r\t", "\\b\\f\\n\\r\\t");
    assert_escapes_to("\x01\x1f\x1b", "\\u0001\\u001f\\u001b");
    assert_escapes_to("\xE2\x80\xA8\xE2\x80\xA9", "\\u2028\\u2029");
    assert_escapes_to("/\x7F", "/\x7F");
    assert_escapes_to("\xE2\x80\xA7\xE2\x80\xAA\xE2\x82\xAC",
                      "\xE2\x80\xA7\xE2\x80\xAA\xE2\x82\xAC");
    assert_escapes_to("\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80");
}

static void empty_text_stays_empty(void **state)
{
    Bytes out = BYTES_NULL;

    (void)state;
    assert_int_equal(escape_json(&out, SPAN_NULL), 0);
    assert_int_equal(out.n, 0);
    assert_false(escape_json_needed(SPAN_NULL));
}

static void every_byte_at_every_offset_is_found(void **state)
{
    char text[48];

    (void)state;
    for (unsigned byte = 0; byte < 0x80; byte++) {
        for (size_t n = 1; n <= sizeof(text); n += n < 20 ? 1 : 7) {
            for (size_t at = 0; at < n; at += at < 18 ? 1 : 5) {
                memset(text, 'k', n);
                text[at] = (char)byte;
                check_escape(text, n);
            }
        }
    }
}

static void line_separators_are_found_across_every_block_boundary(void **state)
{
    static const char *const marks[] = {"\xE2\x80\xA8", "\xE2\x80\xA9", "\xE2\x80\xA7",
                                        "\xE2\x82\xA8", "\xE2\x81\xA9"};
    char text[60];

    (void)state;
    for (size_t mark = 0; mark < 5; mark++) {
        for (size_t n = 3; n <= sizeof(text); n++) {
            for (size_t at = 0; at + 3 <= n; at++) {
                memset(text, 'k', n);
                memcpy(text + at, marks[mark], 3);
                check_escape(text, n);
            }
        }
    }
}

/* The contract asks for valid text; a slip of a caller must still not read past the end. */
static void cut_sequence_at_the_end_is_copied(void **state)
{
    (void)state;
    check_escape("abc\xE2", 4);
    check_escape("abc\xE2\x80", 5);
}

static void random_text_is_escaped_as_by_the_reference(void **state)
{
    static const char alphabet[] = "abcdefghijk \"\\\n\t\x01\x1f/";
    uint32_t random = 12345;
    char text[300];

    (void)state;
    for (int i = 0; i < 5000; i++) {
        size_t n = 0;
        size_t max = (random >> 8) % (sizeof(text) - 3);
        uint32_t rarity = 1u << (i % 6);

        while (n < max) {
            random = random * 1664525u + 1013904223u;
            if ((random >> 10) % 16 == 0) {
                memcpy(text + n, (random >> 20) % 2 ? "\xE2\x80\xA8" : "\xE2\x80\x9C", 3);
                n += 3;
            } else {
                uint32_t span = (random >> 28) % rarity == 0 ? sizeof(alphabet) - 1 : 11;

                text[n++] = alphabet[(random >> 16) % span];
            }
        }
        check_escape(text, n);
    }
}

static void full_buffer_is_left_as_it_was(void **state)
{
    const Span text = SPAN("one \"two\" \x01 three\n \xE2\x80\xA8 end of a longer run of text");
    char expected[OUT_MAX];
    size_t n_expected = reference_escape(text.p, text.n, expected);

    (void)state;
    for (size_t room = 0; room <= n_expected; room++) {
        Bytes out;

        bytes_init(&out, room + 4);
        assert_int_equal(bytes_append(&out, "head", 4), 0);
        assert_int_equal(escape_json(&out, text), room < n_expected ? BYTES_E_FULL : 0);
        assert_int_equal(out.n, room < n_expected ? 4 : 4 + n_expected);
        assert_memory_equal(out.data, "head", 4);
        if (room == n_expected) {
            assert_memory_equal(out.data + 4, expected, n_expected);
        }
        bytes_deinit(&out);
    }
}

static int oom_scenario(void *context)
{
    Bytes out;
    int r;

    (void)context;
    bytes_init(&out, OUT_MAX);
    r = bytes_append(&out, "x", 1);
    for (int i = 0; i < 30 && r == 0; i++) {
        size_t before = out.n;

        r = escape_json(&out, SPAN("\n\n\n\n\"quoted\" and a run of text\n\n\n\n\x01\x02\x03\x04"));
        if (r != 0) {
            assert_int_equal(out.n, before);
        }
    }
    bytes_deinit(&out);
    return r;
}

static void out_of_memory_leaves_the_buffer_as_it_was(void **state)
{
    (void)state;
    test_oom_sweep(oom_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_has_its_form),
        cmocka_unit_test(empty_text_stays_empty),
        cmocka_unit_test(every_byte_at_every_offset_is_found),
        cmocka_unit_test(line_separators_are_found_across_every_block_boundary),
        cmocka_unit_test(cut_sequence_at_the_end_is_copied),
        cmocka_unit_test(random_text_is_escaped_as_by_the_reference),
        cmocka_unit_test(full_buffer_is_left_as_it_was),
        cmocka_unit_test(out_of_memory_leaves_the_buffer_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
