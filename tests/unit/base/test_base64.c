#include "support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "base/base64.h"
#include "support/guard.h"
#include "support/oom_sweep.h"

/* RFC 4648, section 10. */
static const struct {
    const char *data;
    const char *standard;
    const char *url;
} vectors[] = {
    {"", "", ""},
    {"f", "Zg==", "Zg"},
    {"fo", "Zm8=", "Zm8"},
    {"foo", "Zm9v", "Zm9v"},
    {"foob", "Zm9vYg==", "Zm9vYg"},
    {"fooba", "Zm9vYmE=", "Zm9vYmE"},
    {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
};

static void assert_both_ways(Base64Form form, Span data, const char *text)
{
    GuardBuffer guarded_data = guard_copy(data.p, data.n);
    GuardBuffer guarded_text = guard_copy(text, strlen(text));
    Bytes out;

    bytes_init(&out, 1000);
    assert_int_equal(base64_encode(&out, form, span_make(guarded_data.p, data.n)), 0);
    assert_true(span_equals(bytes_span(&out), span_from_str(text)));
    bytes_clear(&out);
    assert_int_equal(base64_decode(&out, form, span_make(guarded_text.p, guarded_text.n)), 0);
    assert_true(span_equals(bytes_span(&out), data));
    bytes_deinit(&out);
    guard_free(&guarded_data);
    guard_free(&guarded_text);
}

static void vectors_of_the_standard_hold_both_ways(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(vectors); i++) {
        assert_both_ways(BASE64_STANDARD, span_from_str(vectors[i].data), vectors[i].standard);
        assert_both_ways(BASE64_URL, span_from_str(vectors[i].data), vectors[i].url);
    }
    assert_both_ways(BASE64_STANDARD, SPAN("\xfb\xff\xbf"), "+/+/");
    assert_both_ways(BASE64_URL, SPAN("\xfb\xff\xbf"), "-_-_");
}

static void every_byte_at_every_place_comes_back(void **state)
{
    Bytes text;
    Bytes back;

    (void)state;
    bytes_init(&text, 1000);
    bytes_init(&back, 1000);
    for (size_t n = 1; n <= 7; n++) {
        for (size_t place = 0; place < n; place++) {
            for (int byte = 0; byte < 256; byte++) {
                char data[7] = {'\x5a', '\x00', '\xff', '\x01', '\x80', '\x7f', '\xa5'};
                Base64Form form = byte % 2 == 0 ? BASE64_STANDARD : BASE64_URL;

                data[place] = (char)byte;
                bytes_clear(&text);
                bytes_clear(&back);
                assert_int_equal(base64_encode(&text, form, span_make(data, n)), 0);
                assert_int_equal(base64_decode(&back, form, bytes_span(&text)), 0);
                assert_true(span_equals(bytes_span(&back), span_make(data, n)));
            }
        }
    }
    bytes_deinit(&text);
    bytes_deinit(&back);
}

static void letters_outside_the_alphabet_are_refused(void **state)
{
    static const char standard[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    Bytes out;

    (void)state;
    bytes_init(&out, 1000);
    for (int byte = 0; byte < 256; byte++) {
        for (size_t place = 0; place < 4; place++) {
            char text[8] = "AAAAAAAA";
            bool pads = byte == '=' && place == 3;

            text[4 + place] = (char)byte;
            assert_int_equal(base64_decode(&out, BASE64_STANDARD, span_make(text, 8)),
                             pads || memchr(standard, byte, 64) != NULL ? 0 : BASE64_E_SYNTAX);
            assert_int_equal(base64_decode(&out, BASE64_URL, span_make(text, 8)),
                             memchr(url, byte, 64) != NULL ? 0 : BASE64_E_SYNTAX);
            bytes_clear(&out);
        }
    }
    bytes_deinit(&out);
}

static void padding_and_left_over_bits_are_checked(void **state)
{
    static const char *const bad_standard[] = {
        "A",    "AA",   "AAA",      "AAAAA", "=",      "==",    "===",      "====",
        "A===", "AB==", "AAB=",     "Zg=",   "Zg",     "Zg===", "Zg==Zg==", "Zm9vYg=A",
        "AA=A", "=AAA", "AAAA====", " Zg=",  "Zg==\n", "Zm 9v",
    };
    static const char *const bad_url[] = {"A", "AAAAA", "AB", "AAB", "Zg==", "Zm8=", "AA=", "Zg\n"};
    Bytes out;

    (void)state;
    bytes_init(&out, 100);
    assert_int_equal(bytes_append(&out, "kept", 4), 0);
    for (size_t i = 0; i < TW_ARRAY_SIZE(bad_standard); i++) {
        assert_int_equal(base64_decode(&out, BASE64_STANDARD, span_from_str(bad_standard[i])),
                         BASE64_E_SYNTAX);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(bad_url); i++) {
        assert_int_equal(base64_decode(&out, BASE64_URL, span_from_str(bad_url[i])),
                         BASE64_E_SYNTAX);
    }
    assert_true(span_equals(bytes_span(&out), SPAN("kept")));
    bytes_deinit(&out);
}

static void maximum_of_the_buffer_is_kept(void **state)
{
    Bytes out;

    (void)state;
    bytes_init(&out, 6);
    assert_int_equal(base64_encode(&out, BASE64_STANDARD, SPAN("abcd")), BYTES_E_FULL);
    assert_int_equal(out.n, 0);
    assert_int_equal(base64_encode(&out, BASE64_URL, SPAN("abcd")), 0);
    assert_int_equal(base64_decode(&out, BASE64_URL, SPAN("Zg")), BYTES_E_FULL);
    assert_int_equal(out.n, 6);
    bytes_deinit(&out);
}

static int round_trip(void *context)
{
    Bytes text;
    Bytes back;
    int r;

    (void)context;
    bytes_init(&text, 100);
    bytes_init(&back, 100);
    r = base64_encode(&text, BASE64_STANDARD, SPAN("foobar"));
    if (r == 0) {
        r = base64_decode(&back, BASE64_STANDARD, bytes_span(&text));
    }
    bytes_deinit(&text);
    bytes_deinit(&back);
    return r;
}

static void want_of_memory_is_reported(void **state)
{
    (void)state;
    test_oom_sweep(round_trip, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_of_the_standard_hold_both_ways),
        cmocka_unit_test(every_byte_at_every_place_comes_back),
        cmocka_unit_test(letters_outside_the_alphabet_are_refused),
        cmocka_unit_test(padding_and_left_over_bits_are_checked),
        cmocka_unit_test(maximum_of_the_buffer_is_kept),
        cmocka_unit_test(want_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
