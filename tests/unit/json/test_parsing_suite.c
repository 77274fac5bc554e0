/* The JSON parsing test suite: y_ must be accepted, n_ refused, i_ is ours to decide, and decided
 * here. */
#include "json/json.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/files.h"
#include "support/shared_data.h"

#define SUITE         TW_SHARED_DATA "/json-parsing-test-suite/test_parsing"
#define SUITE_N_FILES 318

/* The reasons stand in docs/json.md, in the same order. */
static const struct {
    const char *name;
    bool accepted;
} decisions[] = {
    {"i_number_double_huge_neg_exp.json", true},
    {"i_number_huge_exp.json", true},
    {"i_number_neg_int_huge_exp.json", true},
    {"i_number_pos_double_huge_exp.json", true},
    {"i_number_real_neg_overflow.json", true},
    {"i_number_real_pos_overflow.json", true},
    {"i_number_real_underflow.json", true},
    {"i_number_too_big_neg_int.json", true},
    {"i_number_too_big_pos_int.json", true},
    {"i_number_very_big_negative_int.json", true},
    {"i_object_key_lone_2nd_surrogate.json", true},
    {"i_string_1st_surrogate_but_2nd_missing.json", true},
    {"i_string_1st_valid_surrogate_2nd_invalid.json", true},
    {"i_string_UTF-16LE_with_BOM.json", false},
    {"i_string_UTF-8_invalid_sequence.json", false},
    {"i_string_UTF8_surrogate_U+D800.json", false},
    {"i_string_incomplete_surrogate_and_escape_valid.json", true},
    {"i_string_incomplete_surrogate_pair.json", true},
    {"i_string_incomplete_surrogates_escape_valid.json", true},
    {"i_string_invalid_lonely_surrogate.json", true},
    {"i_string_invalid_surrogate.json", true},
    {"i_string_invalid_utf-8.json", false},
    {"i_string_inverted_surrogates_U+1D11E.json", true},
    {"i_string_iso_latin_1.json", false},
    {"i_string_lone_second_surrogate.json", true},
    {"i_string_lone_utf8_continuation_byte.json", false},
    {"i_string_not_in_unicode_range.json", false},
    {"i_string_overlong_sequence_2_bytes.json", false},
    {"i_string_overlong_sequence_6_bytes.json", false},
    {"i_string_overlong_sequence_6_bytes_null.json", false},
    {"i_string_truncated-utf-8.json", false},
    {"i_string_utf16BE_no_BOM.json", false},
    {"i_string_utf16LE_no_BOM.json", false},
    {"i_structure_500_nested_arrays.json", true},
    {"i_structure_UTF-8_BOM_empty_object.json", false},
};

static const JsonEngine engines[] = {JSON_ENGINE_PORTABLE, JSON_ENGINE_SSE2, JSON_ENGINE_AVX2};

static bool is_accepted(const char *text, size_t n, JsonEngine engine)
{
    JsonDoc doc;
    Arena arena;
    int r;

    arena_init(&arena, (size_t)1 << 28);
    r = json_parse(&doc, &arena, text, n, &(JsonLimits){.engine = engine}, NULL);
    arena_deinit(&arena);
    assert_true(r >= 0);
    return r == 0;
}

static bool is_decided(const char *name, bool *ret_accepted)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(decisions); i++) {
        if (strcmp(decisions[i].name, name) == 0) {
            *ret_accepted = decisions[i].accepted;
            return true;
        }
    }
    return false;
}

static void all_files_are_decided_as_they_should_be(void **state)
{
    size_t n_names;
    char **names = files_list(SUITE, ".json", &n_names);
    unsigned n_right[256] = {0};
    unsigned n_wrong = 0;

    (void)state;
    for (size_t i = 0; i < n_names; i++) {
        char path[4096];
        size_t n;
        char *text;
        bool expected = names[i][0] == 'y';
        bool right = names[i][0] != 'i' || is_decided(names[i], &expected);

        (void)snprintf(path, sizeof(path), "%s/%s", SUITE, names[i]);
        text = files_read(path, &n);
        for (size_t e = 0; e < TW_ARRAY_SIZE(engines); e++) {
            if (json_engine_available(engines[e])) {
                right = right && is_accepted(text, n, engines[e]) == expected;
            }
        }
        if (right) {
            n_right[(unsigned char)names[i][0]]++;
        } else {
            n_wrong++;
            print_message("wrong: %s\n", names[i]);
        }
        free(text);
    }
    print_message(
        "json-parsing-test-suite: %zu of %d (%u y accepted, %u n refused, %u i as decided)\n",
        n_names - n_wrong, SUITE_N_FILES, n_right['y'], n_right['n'], n_right['i']);
    assert_int_equal(n_wrong, 0);
    assert_int_equal(n_names, SUITE_N_FILES);
    assert_int_equal(n_right['y'] + n_right['n'] + n_right['i'], SUITE_N_FILES);
    assert_int_equal(n_right['i'], TW_ARRAY_SIZE(decisions));
    files_list_free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_files_are_decided_as_they_should_be),
    };

    shared_data_require(TW_SHARED_DATA, "json-parsing-test-suite");
    return cmocka_run_group_tests_name("json.parsing_suite", tests, NULL, NULL);
}
