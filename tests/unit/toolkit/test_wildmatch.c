#include "toolkit/glob.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "support/guard.h"

typedef bool (*MatchFn)(Span pattern, Span text);

/* Both end at unreadable pages. */
static bool guarded(MatchFn match, const char *pattern, const char *text)
{
    GuardBuffer p = guard_copy(pattern, strlen(pattern));
    GuardBuffer t = guard_copy(text, strlen(text));
    bool matches = match(span_make(p.p, p.n), span_make(t.p, t.n));

    guard_free(&p);
    guard_free(&t);
    return matches;
}

static void check(MatchFn match, const char *pattern, const char *text, bool expected)
{
    if (guarded(match, pattern, text) != expected) {
        fail_msg("%s %s %s", pattern, expected ? "should match" : "should not match", text);
    }
}

static void yes(const char *pattern, const char *text)
{
    check(toolkit_wildmatch, pattern, text, true);
}

static void no(const char *pattern, const char *text)
{
    check(toolkit_wildmatch, pattern, text, false);
}

static void a_star_stops_at_a_slash(void **state)
{
    (void)state;
    yes("", "");
    no("", "a");
    no("a", "");
    yes("*", "");
    yes("*", "foo");
    no("*", "foo/bar");
    yes("*.c", ".c");
    yes("*.c", "a.b.c");
    no("*.c", "a/b.c");
    yes("a/*", "a/b");
    no("a/*", "a/b/c");
    yes("a/*/c", "a/b/c");
    no("a/*/c", "a/c");
    yes("f*o*o", "fooXoo");
    yes("*ab*ab", "ababab");
    no("*ab*abc", "ababab");
    yes("a*b/c*d/e", "axxb/cd/e");
    no("a*b/c*d/e", "a/b/cd/e");
}

static void a_question_mark_is_one_character_of_a_name(void **state)
{
    (void)state;
    yes("?", "a");
    no("?", "");
    no("?", "/");
    no("a?b", "a/b");
    yes("*?", "ab");
}

static void two_stars_between_slashes_pass_them(void **state)
{
    (void)state;
    yes("**", "a/b/c");
    yes("**", "");
    yes("**/c", "c");
    yes("**/c", "a/b/c");
    no("**/c", "a/bc");
    yes("a/**/c", "a/c");
    yes("a/**/c", "a/b/c");
    yes("a/**/c", "a/b/b/c");
    no("a/**/c", "a/bc");
    no("a/**/c", "ab/c");
    yes("a/**", "a/b/c");
    yes("a/**", "a/");
    no("a/**", "a");
    yes("**/b/**/d/*", "a/b/c/d/e");
    no("**/b/**/d/*", "a/b/c/d/e/f");
    yes("**/b/*/d", "b/b/x/b/y/d");
    yes("**/**/a", "a");
    yes("**/*.c/**", "x/y.c/z");
    /* Elsewhere they are one star. */
    no("a**", "a/b");
    yes("a**b", "axb");
    no("a**b", "a/b");
    no("foo**/bar", "foo/x/bar");
    /* A slash that is escaped cannot be left out. */
    no("a/**\\/c", "a/c");
    yes("a/**\\/c", "a/b/c");
    yes("**\\/c", "b/c");
    no("**\\/c", "c");
}

static void a_backslash_takes_the_next_character_for_itself(void **state)
{
    (void)state;
    yes("\\*", "*");
    no("\\*", "a");
    yes("\\a", "a");
    yes("\\\\", "\\");
    no("a\\", "a\\");
    no("a\\", "a");
    yes("[\\]]", "]");
    yes("[a\\-c]", "-");
    no("[a\\-c]", "b");
}

static void brackets_name_characters(void **state)
{
    (void)state;
    yes("[abc]", "b");
    no("[abc]", "d");
    yes("[a-c]x", "bx");
    no("[a-c]", "-");
    yes("[!a-c]", "d");
    yes("[^a-c]", "d");
    no("[!a-c]", "b");
    yes("[]]", "]");
    yes("[]-]", "-");
    yes("[!]]", "a");
    yes("[a-]", "-");
    yes("[-a]", "-");
    yes("[a-c-e]", "-");
    no("[a-c-e]", "d");
    yes("[[]", "[");
    no("[!a]", "/");
    no("[/]", "/");
    no("a[!b]c", "a/c");
    no("[", "[");
    no("[a", "a");
    no("[]", "]");
    no("[!", "!");
    no("[\\", "\\");
    yes("*[0-9]", "abc7");
}

static void brackets_name_kinds_of_characters(void **state)
{
    static const struct {
        const char *name;
        const char *in;
        const char *out;
    } kinds[] = {
        {"alnum", "aZ5", "_ -"},     {"alpha", "aZ", "5_"},    {"blank", " \t", "\na"},
        {"cntrl", "\001\177", "a "}, {"digit", "07", "aF"},    {"graph", "a!", " \001"},
        {"lower", "az", "AZ0"},      {"print", "a ~", "\001"}, {"punct", "!_[", "a0 "},
        {"space", " \t\n\r", "a\v"}, {"upper", "AZ", "az"},    {"xdigit", "0fA", "gG"},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(kinds); i++) {
        char pattern[40];
        char text[2] = "";

        (void)snprintf(pattern, sizeof(pattern), "[[:%s:]]", kinds[i].name);
        for (const char *c = kinds[i].in; *c != '\0'; c++) {
            text[0] = *c;
            yes(pattern, text);
        }
        for (const char *c = kinds[i].out; *c != '\0'; c++) {
            text[0] = *c;
            no(pattern, text);
        }
    }
    yes("[[:digit:]x]", "x");
    yes("[![:digit:]]", "x");
    no("[[:nothing:]a]", "a");
    no("[[::]a]", "a");
    yes("[[:]", ":");
    yes("[[:a]", ":");
    no("[[:digit:]", "1");
}

static void case_can_be_ignored_as_git_does(void **state)
{
    (void)state;
    check(toolkit_wildmatch_nocase, "README*", "readme.md", true);
    check(toolkit_wildmatch_nocase, "readme*", "README.MD", true);
    check(toolkit_wildmatch_nocase, "[A-C]", "b", true);
    check(toolkit_wildmatch_nocase, "[a-c]", "B", true);
    check(toolkit_wildmatch_nocase, "[[:upper:]]", "b", true);
    check(toolkit_wildmatch_nocase, "[B]", "b", false);
    check(toolkit_wildmatch_nocase, "\\B", "b", false);
    check(toolkit_wildmatch, "README", "readme", false);
}

/* By backtracking this would take longer than anybody lives. */
static void no_pattern_takes_long(void **state)
{
    enum {
        N = 4000
    };
    static char pattern[N];
    static char text[N];

    (void)state;
    for (size_t i = 0; i < N; i++) {
        pattern[i] = i % 2 == 0 ? '*' : 'a';
        text[i] = 'a';
    }
    assert_true(toolkit_wildmatch(span_make(pattern, N), span_make(text, N)));
    text[N - 1] = 'b';
    assert_false(toolkit_wildmatch(span_make(pattern, N), span_make(text, N)));
    for (size_t i = 0; i + 5 <= N; i += 5) {
        memcpy(pattern + i, "**/a/", 5);
    }
    for (size_t i = 0; i < N; i++) {
        text[i] = i % 2 == 0 ? 'a' : '/';
    }
    assert_true(toolkit_wildmatch(span_make(pattern, N), span_make(text, N)));
    pattern[N - 1] = 'b';
    assert_false(toolkit_wildmatch(span_make(pattern, N), span_make(text, N)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_star_stops_at_a_slash),
        cmocka_unit_test(a_question_mark_is_one_character_of_a_name),
        cmocka_unit_test(two_stars_between_slashes_pass_them),
        cmocka_unit_test(a_backslash_takes_the_next_character_for_itself),
        cmocka_unit_test(brackets_name_characters),
        cmocka_unit_test(brackets_name_kinds_of_characters),
        cmocka_unit_test(case_can_be_ignored_as_git_does),
        cmocka_unit_test(no_pattern_takes_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
