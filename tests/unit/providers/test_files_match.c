#include "providers/files_impl.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "support/guard.h"

static void assert_matches(const char *text, const char *wanted, bool no_case, const char *expected)
{
    FilesMatcher matcher = {
        .text = span_from_str(text), .wanted = span_from_str(wanted), .no_case = no_case};
    char found[500] = "";
    size_t n = 0;
    FilesMatch match;

    while (files_matcher_next(&matcher, &match)) {
        n += (size_t)snprintf(found + n, sizeof(found) - n, "%zu:%.*s|", match.line,
                              (int)match.text.n, match.text.p);
    }
    assert_string_equal(found, expected);
    assert_false(files_matcher_next(&matcher, &match));
}

static void lines_that_hold_the_text_are_found_once_each(void **state)
{
    (void)state;
    assert_matches("one\ntwo two\n\nthree two", "two", false, "2:two two|4:three two|");
    assert_matches("two", "two", false, "1:two|");
    assert_matches("two\n", "two", false, "1:two|");
    assert_matches("\n\n\ntwo\n", "two", false, "4:two|");
    assert_matches("tw\no", "two", false, "");
    assert_matches("", "two", false, "");
    assert_matches("x", "two", false, "");
    assert_matches("tttwo", "ttwo", false, "1:tttwo|");
    assert_matches("a\r\nb\r\n", "b", false, "2:b|");
}

static void case_counts_unless_it_is_said(void **state)
{
    (void)state;
    assert_matches("Two\nTWO\ntwo", "two", false, "3:two|");
    assert_matches("Two\nTWO\ntwo\ntow", "tWo", true, "1:Two|2:TWO|3:two|");
    assert_matches("a[b\na{b", "a[B", true, "1:a[b|");
    assert_matches("1X", "1x", true, "1:1X|");
}

static void what_is_not_of_one_line_is_never_found(void **state)
{
    (void)state;
    assert_matches("a\nb", "a\nb", false, "");
    assert_matches("a\nb", "", false, "");
}

static void long_lines_are_cut_between_characters(void **state)
{
    char text[1000];
    FilesMatcher matcher = {.wanted = SPAN("x")};
    FilesMatch match;

    (void)state;
    memset(text, 'a', sizeof(text));
    text[0] = 'x';
    memcpy(text + FILES_MATCH_BYTES - 1, "\xe2\x82\xac", 3);
    matcher.text = span_make(text, sizeof(text));
    assert_true(files_matcher_next(&matcher, &match));
    assert_int_equal(match.text.n, FILES_MATCH_BYTES - 1);
}

static void assert_lines(const char *text, size_t first, size_t n, const char *expected,
                         size_t n_all)
{
    size_t n_found = 99;
    Span lines = files_lines(span_from_str(text), first, n, &n_found);

    assert_int_equal(lines.n, strlen(expected));
    assert_memory_equal(lines.p, expected, lines.n);
    assert_int_equal(n_found, n_all);
}

static void lines_are_cut_out_with_their_ends(void **state)
{
    (void)state;
    assert_lines("a\nb\nc", 1, 1, "a\n", 3);
    assert_lines("a\nb\nc", 2, 2, "b\nc", 3);
    assert_lines("a\nb\nc", 3, SIZE_MAX, "c", 3);
    assert_lines("a\nb\nc", 1, SIZE_MAX, "a\nb\nc", 3);
    assert_lines("a\nb\nc\n", 2, 9, "b\nc\n", 3);
    assert_lines("a\nb", 3, 1, "", 2);
    assert_lines("a\nb", SIZE_MAX, SIZE_MAX, "", 2);
    assert_lines("", 1, 1, "", 0);
    assert_lines("\n\n", 2, 1, "\n", 2);
    assert_lines("a\nb", 1, 0, "", 2);
}

/* Nothing behind the text is read. */
static void the_text_ends_where_it_ends(void **state)
{
    static const char text[] = "aXbb\nbbX";
    GuardBuffer guard = guard_copy(text, strlen(text));
    FilesMatcher matcher = {.text = span_make(guard.p, strlen(text)), .wanted = SPAN("XX")};
    FilesMatch match;
    size_t n_all;

    (void)state;
    assert_false(files_matcher_next(&matcher, &match));
    matcher.no_case = true;
    assert_false(files_matcher_next(&matcher, &match));
    (void)files_lines(matcher.text, 2, 1, &n_all);
    guard_free(&guard);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_hold_the_text_are_found_once_each),
        cmocka_unit_test(case_counts_unless_it_is_said),
        cmocka_unit_test(what_is_not_of_one_line_is_never_found),
        cmocka_unit_test(long_lines_are_cut_between_characters),
        cmocka_unit_test(lines_are_cut_out_with_their_ends),
        cmocka_unit_test(the_text_ends_where_it_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
