#include "cli/words.h"

#include "support/cmocka.h"

#include <string.h>

#include "support/oom_sweep.h"

/* The words with '|' between them. */
static void check(const char *line, const char *expected)
{
    Arena arena;
    char **words = NULL;
    size_t n = 0;
    char got[256] = "";
    size_t at = 0;

    arena_init(&arena, SIZE_MAX);
    assert_int_equal(words_split(&arena, line, &words, &n, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(words[i]);

        got[at] = '|';
        at += i > 0;
        memcpy(got + at, words[i], length + 1);
        at += length;
    }
    assert_null(words[n]);
    assert_string_equal(got, expected);
    arena_deinit(&arena);
}

static void blanks_separate(void **state)
{
    (void)state;
    check("node server.js --quiet", "node|server.js|--quiet");
    check("  a\tb \n c ", "a|b|c");
    check("x", "x");
    check("a b c d e f g", "a|b|c|d|e|f|g");
}

static void quotes_keep(void **state)
{
    (void)state;
    check("a 'b c' d", "a|b c|d");
    check("a \"b 'c'\" d", "a|b 'c'|d");
    check("a'b'\"c\"d", "abcd");
    check("'' \"\"", "|");
    check("'a\\b' \"a\\b\\\"c\\\\\"", "a\\b|a\\b\"c\\");
}

static void backslash_keeps_the_next_character(void **state)
{
    (void)state;
    check("a\\ b \\'c\\\\", "a b|'c\\");
}

static void nothing_is_expanded(void **state)
{
    (void)state;
    check("echo $HOME * `x` ; a|b >c", "echo|$HOME|*|`x`|;|a|b|>c");
}

static void what_has_no_end_is_refused(void **state)
{
    static const char *const lines[] = {"a 'b", "a \"b", "a\\", "\"a\\\"", "", "  \t"};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(lines); i++) {
        Arena arena;
        char **words = NULL;
        size_t n = 0;
        Diag diag = DIAG_NULL;

        arena_init(&arena, SIZE_MAX);
        assert_int_equal(words_split(&arena, lines[i], &words, &n, &diag), WORDS_E_SYNTAX);
        assert_true(diag.message[0] != '\0');
        assert_null(words);
        arena_deinit(&arena);
    }
}

static int split(void *context)
{
    Arena arena;
    char **words = NULL;
    size_t n = 0;
    int r;

    (void)context;
    arena_init(&arena, SIZE_MAX);
    r = words_split(&arena, "a b c", &words, &n, NULL);
    arena_deinit(&arena);
    return r;
}

static void failing_allocations_are_survived(void **state)
{
    (void)state;
    test_oom_sweep(split, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blanks_separate),
        cmocka_unit_test(quotes_keep),
        cmocka_unit_test(backslash_keeps_the_next_character),
        cmocka_unit_test(nothing_is_expanded),
        cmocka_unit_test(what_has_no_end_is_refused),
        cmocka_unit_test(failing_allocations_are_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
