#include "toolkit/glob.h"

#include "support/cmocka.h"

#include <stdint.h>
#include <stdlib.h>

#include "support/guard.h"

static void check(const char *pattern, const char *path, bool expected)
{
    GuardBuffer p = guard_copy(pattern, strlen(pattern));
    GuardBuffer t = guard_copy(path, strlen(path));
    bool matches = toolkit_glob_matches(span_make(p.p, p.n), span_make(t.p, t.n));

    guard_free(&p);
    guard_free(&t);
    if (matches != expected) {
        fail_msg("%s %s %s", pattern, expected ? "should match" : "should not match", path);
    }
}

static void yes(const char *pattern, const char *path)
{
    check(pattern, path, true);
}

static void no(const char *pattern, const char *path)
{
    check(pattern, path, false);
}

static void without_a_slash_it_is_the_name_anywhere(void **state)
{
    (void)state;
    yes("*.c", "a.c");
    yes("*.c", "src/deep/a.c");
    no("*.c", "src/a.h");
    yes("a.?", "x/a.h");
    yes("[a-c]*", "x/b.h");
    no("[a-c]*", "x/y");
    no("b", "x/ab");
}

static void what_names_a_folder_is_all_beneath_it(void **state)
{
    (void)state;
    yes("src", "src/a/b.c");
    yes("src", "x/src/b.c");
    yes("src/", "src/a.c");
    yes("src/", "x/src/a.c");
    no("src/", "x/src");
    yes("src", "x/src");
    yes("/src", "src/a.c");
    no("/src", "x/src/a.c");
    yes("./src", "src/a.c");
    no("./src", "x/src/a.c");
    yes("src/lib", "src/lib/a.c");
    no("src/lib", "src/library/a.c");
    no("src/lib", "x/src/lib/a.c");
    yes("src/*/", "src/a/b.c");
    no("src/*/", "src/b.c");
    yes("src/*", "src/a/b.c");
}

static void two_stars_pass_slashes(void **state)
{
    (void)state;
    yes("src/**/*.c", "src/a.c");
    yes("src/**/*.c", "src/x/y/a.c");
    no("src/**/*.c", "lib/a.c");
    yes("**/test/**", "a/test/b");
    yes("**/test/**", "test/b");
    no("**/test/**", "tests/b");
    yes("src/**", "src/a/b");
    no("src/**", "srcs/a");
    no("src/**/", "src/a");
    yes("src/**/", "src/a/b");
    yes("**/a", "a");
    yes("a/**b", "a/xb");
    no("a/**b", "a/x/b");
    yes("**", "a/b");
}

static void braces_hold_alternatives(void **state)
{
    (void)state;
    yes("*.{c,h}", "x/a.c");
    yes("*.{c,h}", "a.h");
    no("*.{c,h}", "a.cc");
    yes("{src,test}/**/*.{js,ts{,x}}", "test/a/b.tsx");
    yes("{src,test}/**/*.{js,ts{,x}}", "src/b.ts");
    no("{src,test}/**/*.{js,ts{,x}}", "lib/b.ts");
    yes("a{,b}c", "ac");
    yes("a{,b}c", "abc");
    yes("a{b}c", "abc");
    yes("{**/x,y}/z", "a/b/x/z");
    yes("{**/x,y}/z", "x/z");
    yes("{**/x,y}/z", "y/z");
    no("{**/x,y}/z", "a/y/z");
    yes("{a/**,b}", "a/c/d");
    yes("{a,{b,c{d,e}}}", "ce");
    no("{a,{b,c{d,e}}}", "c");
    /* Not braces. */
    yes("a{b", "a{b");
    yes("a,b}", "a,b}");
    yes("{a,b", "{a,b");
    yes("{x{a,b}", "{xb");
    yes("\\{a,b}", "{a,b}");
    yes("[{]a", "{a");
    yes("{[,],x}", ",");
    yes("{a\\,b,c}", "a,b");
}

static void escapes_and_edges(void **state)
{
    char longest[TOOLKIT_GLOB_MAX + 2];

    (void)state;
    yes("\\*", "*");
    no("\\*", "a");
    no("a\\", "a");
    no("", "a");
    no("/", "a");
    no("[a", "a");
    no("[a", "[a");
    memset(longest, 'a', sizeof(longest));
    longest[TOOLKIT_GLOB_MAX] = '\0';
    yes(longest, longest);
    longest[TOOLKIT_GLOB_MAX] = 'a';
    longest[TOOLKIT_GLOB_MAX + 1] = '\0';
    no(longest, longest);
}

/* Each of these has more alternatives than can be counted. */
static void no_pattern_takes_long(void **state)
{
    static char pattern[TOOLKIT_GLOB_MAX];
    static char text[4000];

    (void)state;
    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = 'b';
    for (size_t i = 0; i < sizeof(pattern); i++) {
        pattern[i] = "{a,*a,}*"[i % 8];
    }
    assert_true(toolkit_glob_matches(span_make(pattern, sizeof(pattern) - 8),
                                     span_make(text, sizeof(text) - 1)));
    pattern[sizeof(pattern) - 1] = 'c';
    assert_false(
        toolkit_glob_matches(span_make(pattern, sizeof(pattern)), span_make(text, sizeof(text))));
    memset(pattern, ',', sizeof(pattern));
    pattern[0] = '{';
    pattern[sizeof(pattern) - 1] = '}';
    assert_false(
        toolkit_glob_matches(span_make(pattern, sizeof(pattern)), span_make(text, sizeof(text))));
    memset(pattern, '{', sizeof(pattern) / 2);
    memset(pattern + sizeof(pattern) / 2, '}', sizeof(pattern) / 2);
    assert_false(
        toolkit_glob_matches(span_make(pattern, sizeof(pattern)), span_make(text, sizeof(text))));
}

/* The two ways of matching are written apart, and agree where both mean the same: a pattern of the
 * path without braces, for a path of which no folder is meant. */
static void both_ways_of_matching_agree(void **state)
{
    static const char letters[] = "ab/*?[]!-*/a**/*/*ab";
    uint32_t seed = 12345;
    size_t n_matches = 0;

    (void)state;
    for (int round = 0; round < 200000; round++) {
        char pattern[12];
        char path[10];
        size_t n_pattern;
        size_t n_path;
        bool expected = false;
        Span p;
        Span t;

        seed = seed * 1664525u + 1013904223u;
        n_pattern = 1 + (seed >> 24) % (sizeof(pattern) - 2);
        n_path = 1 + (seed >> 16) % (sizeof(path) - 1);
        pattern[0] = 'a';
        for (size_t i = 1; i <= n_pattern; i++) {
            seed = seed * 1664525u + 1013904223u;
            pattern[i] = letters[(seed >> 20) % (sizeof(letters) - 1)];
        }
        path[0] = 'a';
        for (size_t i = 1; i < n_path; i++) {
            seed = seed * 1664525u + 1013904223u;
            path[i] = "ab/"[(seed >> 20) % 3];
        }
        p = span_make(pattern, n_pattern + 1);
        t = span_make(path, n_path);
        if (memchr(pattern, '/', p.n) == NULL || pattern[p.n - 1] == '/') {
            continue;
        }
        for (size_t end = 0; end <= n_path; end++) {
            if (end == n_path || path[end] == '/') {
                expected = expected || toolkit_wildmatch(p, span_make(path, end));
            }
        }
        n_matches += expected ? 1 : 0;
        if (toolkit_glob_matches(p, t) != expected) {
            fail_msg("%.*s and %.*s: %d", (int)p.n, p.p, (int)t.n, t.p, expected);
        }
    }
    assert_true(n_matches > 1000);
}

static void a_broken_pattern_is_told_and_a_whole_one_is_not(void **state)
{
    static const char *const whole[] = {"*.c",         "a/**/b", "{a,b}", "[a-z]*", "[]]",  "[!]a]",
                                        "[[:digit:]]", "a}",     "\\{a",  "\\[a",   "a,b",  "[{]",
                                        "{a,{b,c}}",   "./x/",   "[\\]]", "**",     "a\\\\"};
    static const struct {
        const char *pattern;
        const char *fault;
    } broken[] = {
        {"", "it is empty"},
        {"./", "it is empty"},
        {"//", "it is empty"},
        {"src/[a-", "a bracket has no end, or an unknown kind in it"},
        {"[]", "a bracket has no end, or an unknown kind in it"},
        {"[[:digits:]]", "a bracket has no end, or an unknown kind in it"},
        {"*.{c,h", "a brace has no end"},
        {"{a,{b}", "a brace has no end"},
        {"{a,[}]", "a brace has no end"},
        {"a\\", "it ends in a backslash"},
    };
    char longest[TOOLKIT_GLOB_MAX + 1];

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(whole); i++) {
        const char *fault = toolkit_glob_fault(span_from_str(whole[i]));

        if (fault != NULL) {
            fail_msg("%s: %s", whole[i], fault);
        }
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(broken); i++) {
        const char *fault = toolkit_glob_fault(span_from_str(broken[i].pattern));

        assert_non_null(fault);
        assert_string_equal(fault, broken[i].fault);
    }
    memset(longest, 'a', sizeof(longest));
    assert_null(toolkit_glob_fault(span_make(longest, TOOLKIT_GLOB_MAX)));
    assert_string_equal(toolkit_glob_fault(span_make(longest, sizeof(longest))),
                        "it is longer than 1024 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_slash_it_is_the_name_anywhere),
        cmocka_unit_test(what_names_a_folder_is_all_beneath_it),
        cmocka_unit_test(two_stars_pass_slashes),
        cmocka_unit_test(braces_hold_alternatives),
        cmocka_unit_test(escapes_and_edges),
        cmocka_unit_test(a_broken_pattern_is_told_and_a_whole_one_is_not),
        cmocka_unit_test(no_pattern_takes_long),
        cmocka_unit_test(both_ways_of_matching_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
