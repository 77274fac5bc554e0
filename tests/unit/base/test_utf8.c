#include "support/cmocka.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "support/guard.h"

/* Bytes where a range of RFC 3629 begins or ends, and their neighbours. */
static const unsigned char edges[] = {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF,
                                      0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xEC, 0xED, 0xEE,
                                      0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF8, 0xFF};
#define N_EDGES (sizeof(edges) / sizeof(edges[0]))

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Another way to the same answer: decodes, then asks whether the code point may be written like
 * this. */
static unsigned reference_sequence(const unsigned char *p, size_t n)
{
    static const uint32_t smallest[5] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned length = p[0] < 0x80             ? 1
                      : (p[0] & 0xE0) == 0xC0 ? 2
                      : (p[0] & 0xF0) == 0xE0 ? 3
                      : (p[0] & 0xF8) == 0xF0 ? 4
                                              : 0;
    uint32_t code_point;

    if (length < 2) {
        return length;
    }
    code_point = p[0] & (0xFFu >> (length + 1));
    for (unsigned i = 1; i < length; i++) {
        if (i >= n || (p[i] & 0xC0) != 0x80) {
            return 0;
        }
        code_point = code_point << 6 | (p[i] & 0x3F);
    }
    return code_point < smallest[length] || code_point > 0x10FFFF ||
                   (code_point >= 0xD800 && code_point < 0xE000)
               ? 0
               : length;
}

static size_t reference_bad(const char *p, size_t n)
{
    size_t at = 0;

    while (at < n) {
        unsigned length = reference_sequence((const unsigned char *)p + at, n - at);

        if (length == 0) {
            return at;
        }
        at += length;
    }
    return SIZE_MAX;
}

/* Every path must say what the reference says: valid (SIZE_MAX), or bad at an offset. */
static void check_all_paths(const char *p, size_t n, size_t bad)
{
    size_t got = SIZE_MAX;
    bool valid = utf8_valid(p, n, &got);

    if (valid != (bad == SIZE_MAX) || got != bad) {
        fail_msg("utf8_valid: %d, bad at %zu, expected %zu of %zu", valid, got, bad, n);
    }
    for (int path = 0; path < UTF8_N_PATHS; path++) {
        if (!utf8_has_path((Utf8Path)path)) {
            continue;
        }
        got = SIZE_MAX;
        valid = utf8_valid_by((Utf8Path)path, p, n, &got);
        if (valid != (bad == SIZE_MAX) || got != bad) {
            fail_msg("path %d: %d, bad at %zu, expected %zu of %zu", path, valid, got, bad, n);
        }
    }
}

static void sequence_agrees_with_rfc_3629_for_every_string_of_three_bytes(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 1u << 24; i++) {
        const unsigned char b[3] = {(unsigned char)(i >> 16), (unsigned char)(i >> 8),
                                    (unsigned char)i};
        const char *p = (const char *)b;

        /* All that can follow a lead byte; and cut after one and two. */
        if (utf8_sequence(p, p + 3) != reference_sequence(b, 3) ||
            utf8_sequence(p, p + 2) != reference_sequence(b, 2) ||
            utf8_sequence(p, p + 1) != reference_sequence(b, 1)) {
            fail_msg("%02x %02x %02x", b[0], b[1], b[2]);
        }
    }
}

static void sequence_agrees_with_rfc_3629_for_four_bytes_at_every_edge(void **state)
{
    (void)state;
    for (unsigned lead = 0; lead < 256; lead++) {
        for (size_t i = 0; i < N_EDGES * N_EDGES * N_EDGES; i++) {
            const unsigned char b[4] = {(unsigned char)lead, edges[i / (N_EDGES * N_EDGES)],
                                        edges[i / N_EDGES % N_EDGES], edges[i % N_EDGES]};

            if (utf8_sequence((const char *)b, (const char *)b + 4) != reference_sequence(b, 4)) {
                fail_msg("%02x %02x %02x %02x", b[0], b[1], b[2], b[3]);
            }
        }
    }
}

static void sequence_does_not_look_past_the_first_wrong_byte(void **state)
{
    static const char *const wrong[] = {
        "\xFF",     "\x80",     "\xC1",     "\xE2\x28",     "\xE0\x9F",
        "\xED\xA0", "\xF0\x8F", "\xF4\x90", "\xE2\x82\xC0", "\xF0\x9F\x98\x28"};

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        GuardBuffer g = guard_copy(wrong[i], strlen(wrong[i]));

        /* The end is claimed to lie behind the unreadable page: only the bytes can stop it. */
        assert_int_equal(utf8_sequence(g.p, g.p + 100), 0);
        guard_free(&g);
    }
}

static void every_code_point_encodes_and_validates(void **state)
{
    (void)state;
    for (uint32_t c = 0; c < 0x110000 + 0x1000; c++) {
        char out[4] = {0x55, 0x55, 0x55, 0x55};
        unsigned length = utf8_encode(c, out);
        unsigned expected = c >= 0xD800 && c < 0xE000 ? 0
                            : c < 0x80                ? 1
                            : c < 0x800               ? 2
                            : c < 0x10000             ? 3
                            : c < 0x110000            ? 4
                                                      : 0;
        const unsigned char *b = (const unsigned char *)out;
        uint32_t decoded;

        if (length != expected) {
            fail_msg("U+%04X has %u bytes", c, length);
        }
        for (unsigned i = length; i < 4; i++) {
            assert_int_equal(out[i], 0x55);
        }
        if (length == 0) {
            continue;
        }
        decoded = length == 1 ? b[0] : b[0] & (0xFFu >> (length + 1));
        for (unsigned i = 1; i < length; i++) {
            decoded = decoded << 6 | (b[i] & 0x3F);
        }
        if (decoded != c || utf8_sequence(out, out + length) != length ||
            utf8_count(out, length) != 1) {
            fail_msg("U+%04X", c);
        }
    }
}

/* Puts b into ASCII, and into CJK, so that it crosses the given offset's surroundings. */
static void check_in_filler(const unsigned char *b, size_t n, size_t offset, bool is_cjk)
{
    char text[256];
    size_t total = 0;

    while (is_cjk && total + 3 <= offset) {
        memcpy(text + total, "\xE6\x97\xA5", 3);
        total += 3;
    }
    while (total < offset) {
        text[total++] = 'a';
    }
    memcpy(text + total, b, n);
    total += n;
    while (total < 200) {
        text[total++] = 'z';
    }
    check_all_paths(text, total, reference_bad(text, total));
}

static void paths_agree_on_every_pair_of_bytes_across_a_block_boundary(void **state)
{
    static const size_t offsets[] = {0, 30, 31, 62, 63, 64, 127};

    (void)state;
    for (unsigned i = 0; i < 1u << 16; i++) {
        const unsigned char b[2] = {(unsigned char)(i >> 8), (unsigned char)i};

        check_in_filler(b, 2, offsets[i % 7], (i & 8) != 0);
        check_in_filler(b, 2, 63, false);
        check_in_filler(b, 2, 31, true);
    }
}

static void paths_agree_on_edges_of_four_bytes_across_block_boundaries(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_EDGES * N_EDGES * N_EDGES * N_EDGES; i++) {
        const unsigned char b[4] = {edges[i / (N_EDGES * N_EDGES * N_EDGES)],
                                    edges[i / (N_EDGES * N_EDGES) % N_EDGES],
                                    edges[i / N_EDGES % N_EDGES], edges[i % N_EDGES]};

        /* 59 to 64: all of it before, astride and after the first boundary of 64. */
        check_in_filler(b, 4, 59 + i % 6, false);
    }
}

static void a_cut_or_broken_sequence_is_found_at_every_offset_of_two_blocks(void **state)
{
    static const char *const sequences[] = {"\xC3\xA9", "\xE2\x82\xAC", "\xED\x9F\xBF",
                                            "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF"};

    (void)state;
    for (size_t offset = 0; offset < 140; offset++) {
        for (size_t s = 0; s < 5; s++) {
            size_t full = strlen(sequences[s]);

            for (size_t n = 1; n <= full; n++) {
                const unsigned char *b = (const unsigned char *)sequences[s];
                unsigned char twice[8];

                check_in_filler(b, n, offset, false);
                check_in_filler(b, n, offset, true);
                /* A part, then a whole: too many or too few continuations next to each other. */
                memcpy(twice, b, n);
                memcpy(twice + n, b + (full - n), n);
                check_in_filler(twice, 2 * n, offset, false);
                check_in_filler(twice, 2 * n, offset, true);
            }
        }
    }
}

static void two_errors_at_any_two_offsets_yield_the_first(void **state)
{
    char text[150];

    (void)state;
    memset(text, 'a', sizeof(text));
    for (size_t i = 0; i < sizeof(text); i++) {
        for (size_t j = i + 1; j < sizeof(text); j++) {
            text[i] = (char)0xFF;
            text[j] = (char)0xBF;
            check_all_paths(text, sizeof(text), i);
            text[i] = text[j] = 'a';
        }
    }
}

static void text_that_ends_in_the_middle_of_a_sequence_is_bad_there(void **state)
{
    char text[200];

    (void)state;
    for (size_t n = 4; n <= 192; n++) {
        memset(text, 'a', n);
        memcpy(text + n - 3, "\xF0\x9F\x98", 3);
        check_all_paths(text, n, n - 3);
        memcpy(text + n - 2, "\xE2\x82", 2);
        text[n - 3] = 'a';
        check_all_paths(text, n, n - 2);
        memcpy(text + n - 2, "a\xC3", 2);
        check_all_paths(text, n, n - 1);
    }
}

/* Mostly valid text of all lengths of sequence, with a few damaged bytes or none. */
static size_t random_text(uint64_t *random, char *out, size_t max)
{
    static const uint32_t ranges[] = {0x80, 0x80, 0x80, 0x800, 0x10000, 0x110000};
    uint32_t range = ranges[next_random(random) % 6];
    size_t n = 0;

    while (n + 4 <= max) {
        uint32_t c = (uint32_t)(next_random(random) % range);

        if (next_random(random) % 32 == 0) {
            range = ranges[next_random(random) % 6];
        }
        n += utf8_encode(c, out + n);
    }
    for (uint64_t damage = next_random(random) % 4; n > 0 && damage > 1; damage--) {
        out[next_random(random) % n] = (char)next_random(random);
    }
    return n;
}

static void paths_agree_on_random_text(void **state)
{
    uint64_t random = 0x9E3779B97F4A7C15u;
    char text[700];
    size_t n_valid = 0;

    (void)state;
    for (int i = 0; i < 20000; i++) {
        size_t n = random_text(&random, text, 1 + next_random(&random) % sizeof(text));
        size_t bad = reference_bad(text, n);

        n_valid += bad == SIZE_MAX;
        check_all_paths(text, n, bad);
    }
    /* Else the generator tests one side only. */
    assert_in_range(n_valid, 4000, 18000);
}

static void paths_agree_on_random_bytes_that_look_like_leads_and_continuations(void **state)
{
    uint64_t random = 42;
    char text[130];

    (void)state;
    for (int i = 0; i < 100000; i++) {
        size_t start = next_random(&random) % 100;

        memset(text, 'x', sizeof(text));
        for (size_t j = start; j < start + 8; j++) {
            text[j] = (char)edges[next_random(&random) % N_EDGES];
        }
        check_all_paths(text, sizeof(text), reference_bad(text, sizeof(text)));
    }
}

static void no_path_reads_past_the_end(void **state)
{
    char text[210];

    (void)state;
    for (size_t i = 0; i < sizeof(text); i++) {
        text[i] = "\xF0\x9F\x98\x80"[i % 4];
    }
    for (size_t n = 0; n < 200; n++) {
        /* Ends with a whole sequence or a cut one, by n. */
        GuardBuffer g = guard_copy(text, n);
        size_t whole = n / 4 * 4;

        check_all_paths(g.p, n, whole == n ? SIZE_MAX : whole);
        memset(g.p, 'a', n);
        check_all_paths(g.p, n, SIZE_MAX);
        assert_int_equal(utf8_count(g.p, n), n);
        guard_free(&g);
    }
}

static void empty_text_is_valid_even_without_a_pointer(void **state)
{
    (void)state;
    check_all_paths(NULL, 0, SIZE_MAX);
    assert_int_equal(utf8_count(NULL, 0), 0);
}

static void offset_of_the_error_is_optional(void **state)
{
    char text[200];

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_true(utf8_valid(text, sizeof(text), NULL));
    text[150] = (char)0xC0;
    assert_false(utf8_valid(text, sizeof(text), NULL));
}

static void count_is_the_number_of_code_points(void **state)
{
    uint64_t random = 7;
    char text[400];

    (void)state;
    for (int i = 0; i < 2000; i++) {
        size_t n = 0;
        size_t n_points = 0;

        while (n + 4 <= sizeof(text) && next_random(&random) % 200 != 0) {
            unsigned length = utf8_encode((uint32_t)(next_random(&random) % 0x110000) >>
                                              (next_random(&random) % 20),
                                          text + n);

            n += length;
            n_points += length > 0;
        }
        assert_int_equal(utf8_count(text, n), n_points);
    }
}

static void mended_text_is_utf8_and_has_the_pairs_that_belong_together(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"caf\xC3\xA9", "caf\xC3\xA9"},
        {"a\xED\xA0\xBD", "a\xEF\xBF\xBD"},
        {"\xED\xB8\x80z", "\xEF\xBF\xBDz"},
        {"\xED\xA0\xBD\xED\xB8\x80!", "\xF0\x9F\x98\x80!"},
        {"\xED\xB8\x80\xED\xA0\xBD", "\xEF\xBF\xBD\xEF\xBF\xBD"},
        {"\xED\xA0\xBD\xED\xA0\xBD\xED\xB8\x80", "\xEF\xBF\xBD\xF0\x9F\x98\x80"},
        {"\xED\x9F\xBF", "\xED\x9F\xBF"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        char text[32];

        (void)snprintf(text, sizeof(text), "%s", cases[i][0]);
        text[utf8_mend(text, strlen(text))] = '\0';
        assert_string_equal(text, cases[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequence_agrees_with_rfc_3629_for_every_string_of_three_bytes),
        cmocka_unit_test(sequence_agrees_with_rfc_3629_for_four_bytes_at_every_edge),
        cmocka_unit_test(sequence_does_not_look_past_the_first_wrong_byte),
        cmocka_unit_test(every_code_point_encodes_and_validates),
        cmocka_unit_test(paths_agree_on_every_pair_of_bytes_across_a_block_boundary),
        cmocka_unit_test(paths_agree_on_edges_of_four_bytes_across_block_boundaries),
        cmocka_unit_test(a_cut_or_broken_sequence_is_found_at_every_offset_of_two_blocks),
        cmocka_unit_test(two_errors_at_any_two_offsets_yield_the_first),
        cmocka_unit_test(text_that_ends_in_the_middle_of_a_sequence_is_bad_there),
        cmocka_unit_test(paths_agree_on_random_text),
        cmocka_unit_test(paths_agree_on_random_bytes_that_look_like_leads_and_continuations),
        cmocka_unit_test(no_path_reads_past_the_end),
        cmocka_unit_test(empty_text_is_valid_even_without_a_pointer),
        cmocka_unit_test(offset_of_the_error_is_optional),
        cmocka_unit_test(count_is_the_number_of_code_points),
        cmocka_unit_test(mended_text_is_utf8_and_has_the_pairs_that_belong_together),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
