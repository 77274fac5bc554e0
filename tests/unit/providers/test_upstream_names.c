/* What the tools of many servers are called: by the set of them alone, legal, and never twice. */
#include "providers/upstream_names.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static const HashSeed seed = {1, 2};

static bool is_own(void *context, Span name)
{
    return context != NULL && span_equals(span_from_str(context), name);
}

/* items: "server/tool|…"; a server may be followed by ! (always) or - (never). */
static void assert_names(const char *own, const char *items, const char *expected)
{
    UpstreamNamed named[16];
    char got[2000] = "";
    const char *p = items;
    size_t n = 0;
    size_t at = 0;
    Arena arena;

    arena_init(&arena, 1 << 20);
    while (*p != '\0') {
        size_t n_server = strcspn(p, "/!-");
        size_t n_mark = p[n_server] == '/' ? 0 : 1;
        const char *tool = p + n_server + n_mark + 1;

        named[n++] = (UpstreamNamed){.server = span_make(p, n_server),
                                     .separator = SPAN("__"),
                                     .prefixing = p[n_server] == '!'   ? UPSTREAM_PREFIX_ALWAYS
                                                  : p[n_server] == '-' ? UPSTREAM_PREFIX_NEVER
                                                                       : UPSTREAM_PREFIX_NEEDED,
                                     .own = span_make(tool, strcspn(tool, "|"))};
        p = tool + strcspn(tool, "|");
        p += *p == '|';
    }
    assert_int_equal(upstream_names_make(named, n, is_own, (void *)(uintptr_t)own, seed, &arena),
                     0);
    for (size_t i = 0; i < n; i++) {
        at += (size_t)snprintf(got + at, sizeof(got) - at, "%.*s|", (int)named[i].name.n,
                               named[i].name.n > 0 ? named[i].name.p : "");
        assert_true(named[i].name.n <= UPSTREAM_NAME_BYTES);
    }
    arena_deinit(&arena);
    assert_string_equal(got, expected);
}

static void name_that_nobody_else_has_stays(void **state)
{
    (void)state;
    assert_names(NULL, "a/x|b/y|b/files.read|b/a/b", "x|y|files.read|a/b|");
}

static void clash_gives_both_their_server(void **state)
{
    (void)state;
    assert_names(NULL, "a/x|b/x|b/y", "a__x|b__x|y|");
    /* The same whoever comes first. */
    assert_names(NULL, "b/y|b/x|a/x", "y|b__x|a__x|");
}

static void tool_of_ours_keeps_its_name(void **state)
{
    (void)state;
    assert_names("x", "a/x|a/y", "a__x|y|");
    /* And one that is named as a name that would be made. */
    assert_names("a__x", "a/x|b/x", "a__x_d7974b80|b__x|");
    assert_names(NULL, "a/x|b/x|c/a__x", "a__x_d7974b80|b__x|a__x|");
}

static void prefix_is_as_the_settings_say(void **state)
{
    (void)state;
    assert_names(NULL, "a!/x|b/y", "a__x|y|");
    assert_names(NULL, "a-/x|b/x|c/x", "x|b__x|c__x|");
    assert_names(NULL, "a-/x|b-/x|c/x", "||c__x|");
    assert_names("x", "a-/x|b/x", "|b__x|");
    assert_names(NULL, "a-/x|b/y", "x|y|");
}

static void illegal_characters_and_length_are_mended(void **state)
{
    char longest[65];
    char items[200];
    char expected[200];

    (void)state;
    assert_names(NULL, "a/one two|b/z", "one_two|z|");
    /* Two that become the same. */
    assert_names(NULL, "a/x y|a/x?y", "a__x_y_230bb42a|a__x_y_6af03209|");
    memset(longest, 'q', 64);
    longest[64] = '\0';
    (void)snprintf(items, sizeof(items), "a/%s", longest);
    (void)snprintf(expected, sizeof(expected), "%s|", longest);
    assert_names(NULL, items, expected);
    (void)snprintf(items, sizeof(items), "a/%sq", longest);
    (void)snprintf(expected, sizeof(expected), "a__%.52s_2d6615ee|", longest);
    assert_names(NULL, items, expected);
}

static void patterns_have_stars_and_question_marks(void **state)
{
    (void)state;
    assert_true(upstream_name_matches("*", SPAN("")));
    assert_true(upstream_name_matches("get_*", SPAN("get_x")));
    assert_false(upstream_name_matches("get_*", SPAN("set_x")));
    assert_true(upstream_name_matches("*_all", SPAN("drop_all_all")));
    assert_true(upstream_name_matches("a?c", SPAN("abc")));
    assert_false(upstream_name_matches("a?c", SPAN("ac")));
    assert_false(upstream_name_matches("", SPAN("a")));
    assert_true(upstream_name_matches("a*b*c", SPAN("axxbxxbc")));
    assert_false(upstream_name_matches("a*b", SPAN("axxbc")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(name_that_nobody_else_has_stays),
        cmocka_unit_test(clash_gives_both_their_server),
        cmocka_unit_test(tool_of_ours_keeps_its_name),
        cmocka_unit_test(prefix_is_as_the_settings_say),
        cmocka_unit_test(illegal_characters_and_length_are_mended),
        cmocka_unit_test(patterns_have_stars_and_question_marks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
