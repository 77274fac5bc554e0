#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "router/uritemplate.h"
#include "support/guard.h"
#include "support/oom_sweep.h"

/* "a=1&b=2" of the variables, or NULL for a mismatch. */
static const char *match(const char *template_text, const char *uri, char out[256])
{
    GuardBuffer guarded = guard_copy(uri, strlen(uri));
    size_t steps = URITEMPLATE_STEPS;
    UriTemplate *template = NULL;
    const CallVariable *variables;
    size_t n_variables;
    size_t n = 0;
    Arena arena;
    int r;

    arena_init(&arena, 1 << 20);
    assert_int_equal(uritemplate_new(&template, span_from_str(template_text), NULL), 0);
    r = uritemplate_match(template, span_make(guarded.p, guarded.n), &steps, &arena, &variables,
                          &n_variables);
    out[0] = '\0';
    for (size_t i = 0; r == 0 && i < n_variables; i++) {
        n += (size_t)snprintf(out + n, 256 - n, "%s%.*s=%.*s", i == 0 ? "" : "&",
                              (int)variables[i].name.n, variables[i].name.p,
                              (int)variables[i].value.n, variables[i].value.p);
    }
    (void)uritemplate_free(template);
    arena_deinit(&arena);
    guard_free(&guarded);
    assert_true(r == 0 || r == URITEMPLATE_E_MISMATCH);
    return r == 0 ? out : NULL;
}

static void uris_give_the_values_of_their_variables(void **state)
{
    static const struct {
        const char *template_text;
        const char *uri;
        const char *expected; /* NULL: no match */
    } cases[] = {
        {"file:///x", "file:///x", ""},
        {"file:///x", "file:///xy", NULL},
        {"file:///x", "file:///", NULL},
        {"t://{name}", "t://a", "name=a"},
        {"t://{name}", "t://", NULL},
        {"t://{name}", "t:/", NULL},
        {"t://{name}", "t://a/b", NULL},
        {"t://{+path}", "t://a/b", "path=a/b"},
        {"t://{+path}", "t:///", "path=/"},
        {"t://{a}/{b}", "t://x/y", "a=x&b=y"},
        {"t://{a}/{b}", "t://x/y/z", NULL},
        {"t://{a}/{b}", "t://x/", NULL},
        {"t://{a}-{b}.txt", "t://x-y-z.txt", "a=x&b=y-z"},
        {"t://{a}-{b}.txt", "t://x-y.txt.txt", "a=x&b=y.txt"},
        {"t://{a}-{b}.txt", "t://x-.txt", NULL},
        {"{a}{b}", "xyz", "a=x&b=yz"},
        {"{a}{b}", "x", NULL},
        {"{+dir}/{file}", "a/b/c", "dir=a/b&file=c"},
        {"{+dir}/{file}", "a/b/", NULL},
        {"{+dir}/{file}.c", "a.c/b.c/d.c", "dir=a.c/b.c&file=d"},
        {"{+a}/x/{b}/y", "1/x/2/x/3/y", "a=1/x/2&b=3"},
        {"{+a}:{+b}:{c}", "1:2/3:4:5/6:7", "a=1&b=2/3:4:5/6&c=7"},
        {"t:{name}", "t:a%20b%2Fc", "name=a b/c"},
        {"t:{name}", "t:%e2%82%AC", "name=\xE2\x82\xAC"},
        {"t:{name}", "t:100%", NULL},
        {"t:{name}", "t:%2", NULL},
        {"t:{name}", "t:%zz", NULL},
        {"t:{user.id}-{user_id}", "t:1-2", "user.id=1&user_id=2"},
    };
    char out[256];

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        const char *got = match(cases[i].template_text, cases[i].uri, out);

        if (cases[i].expected == NULL) {
            assert_null(got);
        } else {
            assert_non_null(got);
            assert_string_equal(got, cases[i].expected);
        }
    }
}

/* Whether a pattern of literals and variables can match at all, tried in every way. */
static bool brute(const char *pattern, const char *uri)
{
    const char *end;

    if (*pattern != '{') {
        return *pattern == '\0' ? *uri == '\0' : *pattern == *uri && brute(pattern + 1, uri + 1);
    }
    end = strchr(pattern, '}') + 1;
    for (const char *p = uri; *p != '\0' && (pattern[1] == '+' || *p != '/'); p++) {
        if (brute(end, p + 1)) {
            return true;
        }
    }
    return false;
}

static void what_matches_is_what_every_way_of_trying_finds(void **state)
{
    static const char *const pieces[] = {"a", "/", "b", "{%c}", "{+%c}", "/a"};
    uint32_t random = 12345;
    int n_matches = 0;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        char pattern[64] = "";
        char uri[16];
        char out[256];
        size_t n = 0;
        size_t n_uri;
        char name = 'p';

        for (int i = 0; i < 6; i++) {
            char piece[8];

            random = random * 1664525u + 1013904223u;
            memcpy(piece, pieces[(random >> 16) % 6], strlen(pieces[(random >> 16) % 6]) + 1);
            if (strchr(piece, '%') != NULL) {
                *strchr(piece, '%') = name;
                memmove(strchr(piece, 'c'), strchr(piece, 'c') + 1, 2);
                name++;
            }
            n += (size_t)snprintf(pattern + n, sizeof(pattern) - n, "%s", piece);
        }
        random = random * 1664525u + 1013904223u;
        n_uri = 3 + (random >> 16) % 9;
        for (size_t i = 0; i < n_uri; i++) {
            random = random * 1664525u + 1013904223u;
            uri[i] = "aab/"[(random >> 16) % 4];
        }
        uri[n_uri] = '\0';
        assert_int_equal(match(pattern, uri, out) != NULL, brute(pattern, uri));
        n_matches += brute(pattern, uri);
    }
    assert_true(n_matches > 200);
}

static void unknown_expressions_are_refused_with_words(void **state)
{
    static const char *const bad[] = {
        "{",    "{}",    "{a",   "a}",    "{+}",   "{/a}",  "{?a}",  "{&a}",   "{#a}",    "{.a}",
        "{;a}", "{a,b}", "{a*}", "{a:3}", "{a b}", "{{a}}", "x{a}}", "{a}{a}", "{+a}{a}", "{a}{",
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(bad); i++) {
        UriTemplate *template = NULL;
        Diag diag = DIAG_NULL;

        assert_int_equal(uritemplate_new(&template, span_from_str(bad[i]), &diag),
                         URITEMPLATE_E_MALFORMED);
        assert_null(template);
        assert_true(strlen(diag.message) > 5);
    }
}

static void variables_are_bounded(void **state)
{
    char text[URITEMPLATE_VARIABLES * 8 + 16];
    UriTemplate *template = NULL;
    size_t n = 0;

    (void)state;
    for (int i = 0; i < URITEMPLATE_VARIABLES; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "{v%d}/", i);
    }
    assert_int_equal(uritemplate_new(&template, span_make(text, n), NULL), 0);
    assert_true(uritemplate_has(template, SPAN("v31")));
    assert_false(uritemplate_has(template, SPAN("v32")));
    (void)uritemplate_free(template);
    n += (size_t)snprintf(text + n, sizeof(text) - n, "{more}");
    assert_int_equal(uritemplate_new(&template, span_make(text, n), NULL), URITEMPLATE_E_MALFORMED);
}

/* Every place of the first variable lets the second try the whole rest. */
static void hostile_uri_ends_when_its_steps_are_spent(void **state)
{
    static char uri[200000];
    UriTemplate *template = NULL;
    const CallVariable *variables;
    size_t n_variables;
    size_t steps = 1000000;
    Arena arena;

    (void)state;
    memset(uri, 'x', sizeof(uri));
    uri[sizeof(uri) - 2] = '/';
    arena_init(&arena, 1 << 20);
    assert_int_equal(uritemplate_new(&template, SPAN("{+a}x{b}y"), NULL), 0);
    assert_int_equal(uritemplate_match(template, span_make(uri, sizeof(uri)), &steps, &arena,
                                       &variables, &n_variables),
                     URITEMPLATE_E_MISMATCH);
    assert_int_equal(steps, 0);
    (void)uritemplate_free(template);
    arena_deinit(&arena);
}

static int build_and_match(void *context)
{
    size_t steps = URITEMPLATE_STEPS;
    UriTemplate *template = NULL;
    const CallVariable *variables;
    size_t n;
    Arena arena;
    int r;

    (void)context;
    arena_init(&arena, 1 << 20);
    r = uritemplate_new(&template, SPAN("t:{a}/{b}"), NULL);
    if (r == 0) {
        r = uritemplate_match(template, SPAN("t:1/2"), &steps, &arena, &variables, &n);
    }
    (void)uritemplate_free(template);
    arena_deinit(&arena);
    return r;
}

static void want_of_memory_is_reported(void **state)
{
    (void)state;
    test_oom_sweep(build_and_match, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uris_give_the_values_of_their_variables),
        cmocka_unit_test(what_matches_is_what_every_way_of_trying_finds),
        cmocka_unit_test(unknown_expressions_are_refused_with_words),
        cmocka_unit_test(variables_are_bounded),
        cmocka_unit_test(hostile_uri_ends_when_its_steps_are_spent),
        cmocka_unit_test(want_of_memory_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
