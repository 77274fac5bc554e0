/* What the tools of many servers are called: as before, legal, and never twice. */
#include "providers/upstream_names.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

static const HashSeed seed = {1, 2};

static bool is_own(void *context, Span name)
{
    return context != NULL && span_equals(span_from_str(context), name);
}

#define MAX_ITEMS 16

typedef struct Case {
    UpstreamNamer servers[MAX_ITEMS];
    size_t n_servers;
    UpstreamNamed items[MAX_ITEMS];
    size_t n;
} Case;

static size_t case_server(Case *c, Span name, char mark)
{
    for (size_t i = 0; i < c->n_servers; i++) {
        if (span_equals(c->servers[i].server, name)) {
            return i;
        }
    }
    c->servers[c->n_servers] = (UpstreamNamer){.server = name,
                                               .prefix = name,
                                               .separator = SPAN("__"),
                                               .prefixing = mark == '!'   ? UPSTREAM_PREFIX_ALWAYS
                                                            : mark == '-' ? UPSTREAM_PREFIX_NEVER
                                                                          : UPSTREAM_PREFIX_NEEDED};
    return c->n_servers++;
}

/* One "server/tool": a server may be followed by ! (always) or - (never), a tool by =NAME, which it
 * had before; ~ before the server: it is not listed now. Without a tool it is a server alone. */
static void case_add(Case *c, const char *p, size_t n)
{
    bool is_absent = *p == '~';
    const char *server = p + is_absent;
    const char *end = p + n;
    size_t n_server = strcspn(server, "/!-|");
    char mark = server + n_server < end ? server[n_server] : '\0';
    const char *tool = server + n_server + (mark == '!' || mark == '-' ? 2 : 1);
    size_t at = case_server(
        c, span_make(server, n_server < (size_t)(end - server) ? n_server : (size_t)(end - server)),
        mark);
    UpstreamNamed *item = &c->items[c->n];
    const char *held;

    if (tool >= end) {
        return;
    }
    held = memchr(tool, '=', (size_t)(end - tool));
    *item = (UpstreamNamed){.server = at, .is_absent = is_absent};
    item->own = span_make(tool, (size_t)((held != NULL ? held : end) - tool));
    if (held != NULL) {
        item->held = span_make(held + 1, (size_t)(end - held - 1));
    }
    c->n++;
}

static void case_read(Case *c, const char *items)
{
    *c = (Case){.n = 0};
    while (*items != '\0') {
        size_t n = strcspn(items, "|");

        case_add(c, items, n);
        items += n + (items[n] == '|');
    }
}

static void assert_names(const char *own, const char *items, const char *expected)
{
    char got[2000] = "";
    size_t at = 0;
    Arena arena;
    Case c;

    case_read(&c, items);
    arena_init(&arena, 1 << 20);
    assert_int_equal(upstream_names_make(&(UpstreamNaming){.servers = c.servers,
                                                           .n_servers = c.n_servers,
                                                           .is_taken = is_own,
                                                           .context = (void *)(uintptr_t)own,
                                                           .seed = seed},
                                         c.items, c.n, &arena),
                     0);
    for (size_t i = 0; i < c.n; i++) {
        at += (size_t)snprintf(got + at, sizeof(got) - at, "%.*s|", (int)c.items[i].name.n,
                               c.items[i].name.n > 0 ? c.items[i].name.p : "");
        assert_true(c.items[i].name.n <= UPSTREAM_NAME_BYTES);
    }
    arena_deinit(&arena);
    assert_string_equal(got, expected);
}

static void name_that_nobody_else_has_stays(void **state)
{
    (void)state;
    assert_names(NULL, "a/x|b/y|b/files.read|b/a/b", "x|y|files.read|a/b|");
}

/* Of those that are new at the same time. */
static void of_two_new_ones_the_first_has_the_name(void **state)
{
    (void)state;
    assert_names(NULL, "a/x|b/x|b/y", "x|b__x|y|");
    assert_names(NULL, "b/y|b/x|a/x", "y|x|a__x|");
}

static void who_has_a_name_keeps_it(void **state)
{
    (void)state;
    /* Whoever stands before it. */
    assert_names(NULL, "b/x|a/x=x", "b__x|x|");
    assert_names(NULL, "a-/x|b/x=x", "|x|");
    assert_names(NULL, "a/x=a__x|b/x=x|c/x", "a__x|x|c__x|");
    /* And the prefixed one, though the plain one is free. */
    assert_names(NULL, "a/x=a__x", "a__x|");
    assert_names(NULL, "a/x=a__x_d7974b80", "a__x_d7974b80|");
    assert_names(NULL, "b/x|a/x=a__x", "x|a__x|");
}

static void a_name_is_kept_free_for_what_is_not_listed(void **state)
{
    (void)state;
    assert_names(NULL, "b/x|~a/x=x", "b__x|x|");
    /* What was never given is not kept free. */
    assert_names(NULL, "b/x|~a/x", "x||");
}

static void what_is_remembered_must_be_a_name_of_the_tool(void **state)
{
    (void)state;
    assert_names(NULL, "a/x=y|b/y", "x|y|");
    assert_names(NULL, "a/x=b__x|b/x", "x|b__x|");
    assert_names(NULL, "a/x=a-x", "x|");
    /* Twice the same. */
    assert_names(NULL, "a/x=x|b/x=x", "x|b__x|");
    /* And be as the settings say. */
    assert_names(NULL, "a!/x=x|b/x", "a__x|x|");
    assert_names(NULL, "a-/x=a__x", "x|");
}

static void tool_of_ours_keeps_its_name(void **state)
{
    (void)state;
    assert_names("x", "a/x|a/y", "a__x|y|");
    assert_names("x", "a/x=x|a/y", "a__x|y|");
    /* And one that is named as a name that would be made. */
    assert_names("a__x", "a!/x|b/x", "a__x_d7974b80|x|");
}

static void prefix_of_a_server_is_its_own(void **state)
{
    (void)state;
    assert_names(NULL, "c/a__x|a/x|b/x", "c__a__x|x|b__x|");
    /* Also where it lists nothing, and where another has the name already. */
    assert_names(NULL, "c/a__x=a__x|a", "c__a__x|");
    assert_names(NULL, "c-/a__x|a", "|");
    assert_names(NULL, "a/a__x", "a__x|");
    /* A server without prefix has none to defend. */
    assert_names(NULL, "c/a__x|a-", "a__x|");
    /* The longer one is the nearer one. */
    assert_names(NULL, "a__b/a__b__x|a", "a__b__x|");
    assert_names(NULL, "a/a__b__x|a__b", "a__a__b__x|");
}

static void prefix_is_as_the_settings_say(void **state)
{
    (void)state;
    assert_names(NULL, "a!/x|b/y", "a__x|y|");
    assert_names(NULL, "b/x|a-/x|c/x", "b__x|x|c__x|");
    assert_names(NULL, "a-/x|b-/x|c/x", "x||c__x|");
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
    /* Three that become the same: the one that is legal has it. */
    assert_names(NULL, "a/x y|a/x?y|a/x_y", "a__x_y|a__x_y_6af03209|x_y|");
    memset(longest, 'q', 64);
    longest[64] = '\0';
    (void)snprintf(items, sizeof(items), "a/%s", longest);
    (void)snprintf(expected, sizeof(expected), "%s|", longest);
    assert_names(NULL, items, expected);
    (void)snprintf(items, sizeof(items), "a/%sq", longest);
    (void)snprintf(expected, sizeof(expected), "a__%.52s_2d6615ee|", longest);
    assert_names(NULL, items, expected);
}

/* For the log: who has it. */
static void a_clash_says_who_has_the_name(void **state)
{
    Arena arena;
    Case c;

    (void)state;
    case_read(&c, "a/x|b/x|b/y|b/a__z");
    arena_init(&arena, 1 << 20);
    assert_int_equal(upstream_names_make(&(UpstreamNaming){.servers = c.servers,
                                                           .n_servers = c.n_servers,
                                                           .is_taken = is_own,
                                                           .context = (void *)(uintptr_t) "y",
                                                           .seed = seed},
                                         c.items, c.n, &arena),
                     0);
    assert_false(c.items[0].clashes);
    assert_true(c.items[1].clashes && span_equals(c.items[1].rival, SPAN("a")));
    assert_true(c.items[2].clashes && c.items[2].rival.n == 0);
    assert_true(c.items[3].clashes && c.items[3].is_theirs);
    assert_true(span_equals(c.items[3].rival, SPAN("a")));
    arena_deinit(&arena);
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
        cmocka_unit_test(of_two_new_ones_the_first_has_the_name),
        cmocka_unit_test(who_has_a_name_keeps_it),
        cmocka_unit_test(a_name_is_kept_free_for_what_is_not_listed),
        cmocka_unit_test(what_is_remembered_must_be_a_name_of_the_tool),
        cmocka_unit_test(tool_of_ours_keeps_its_name),
        cmocka_unit_test(prefix_of_a_server_is_its_own),
        cmocka_unit_test(prefix_is_as_the_settings_say),
        cmocka_unit_test(illegal_characters_and_length_are_mended),
        cmocka_unit_test(a_clash_says_who_has_the_name),
        cmocka_unit_test(patterns_have_stars_and_question_marks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
