#include "dialect/command/query.h"

#include "base/compiler.h"
#include "support/cmocka.h"
#include "support/guard.h"
#include "support/oom_sweep.h"

#include <stdio.h>
#include <string.h>

typedef struct QueryCase {
    const char *query;
    const char *pairs; /* "name=value;…", decoded; a '!' at the end: then malformed */
} QueryCase;

static const QueryCase cases[] = {
    {"", ""},
    {"a=1", "a=1;"},
    {"a=1&b=2", "a=1;b=2;"},
    {"a", "a=;"},
    {"a=", "a=;"},
    {"=1", "=1;"},
    {"&&a=1&", "=;=;a=1;"},
    {"a=b=c", "a=b=c;"},
    {"a+b=c+d", "a b=c d;"},
    {"%61=%2B%26%3d", "a=+&=;"},
    {"a=%C3%A9", "a=\xc3\xa9;"},
    {"a=1&b=%", "a=1;!"},
    {"a=%4", "!"},
    {"a=%4g", "!"},
    {"%zz=1", "!"},
    {"a=%ff", "!"},
    {"a=%C3", "!"},
};

/* Reads all pairs into out; the outcome that ended it. */
static int read_all(Span text, Arena *arena, char *out, size_t size)
{
    CommandQuery query = command_query(text);
    Span name;
    Span value;
    size_t n = 0;
    int r;

    out[0] = '\0';
    while ((r = command_query_next(&query, arena, &name, &value)) == 0) {
        assert_true(n + name.n + value.n + 4 < size);
        n += (size_t)snprintf(out + n, size - n, "%.*s=%.*s;", (int)name.n, name.p, (int)value.n,
                              value.p);
    }
    if (r == COMMAND_QUERY_E_MALFORMED) {
        (void)snprintf(out + n, size - n, "!");
    }
    return r;
}

static void pairs_are_decoded(void **state)
{
    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        GuardBuffer text = guard_copy(cases[i].query, strlen(cases[i].query));
        Arena arena;
        char out[256];

        arena_init(&arena, 4096);
        (void)read_all(span_make(text.p, text.n), &arena, out, sizeof(out));
        assert_string_equal(out, cases[i].pairs);
        arena_deinit(&arena);
        guard_free(&text);
    }
}

/* In a path a '+' is a '+'. */
static void a_path_keeps_its_plus(void **state)
{
    Arena arena;
    Span out;

    (void)state;
    arena_init(&arena, 4096);
    assert_int_equal(command_query_decode(SPAN("a+b%20c"), false, &arena, &out), 0);
    assert_true(span_equals(out, SPAN("a+b c")));
    assert_int_equal(command_query_decode(SPAN_NULL, false, &arena, &out), 0);
    assert_int_equal(out.n, 0);
    arena_deinit(&arena);
}

static int decode_one(void *context)
{
    Arena arena;
    char out[64];
    int r;

    (void)context;
    arena_init(&arena, 1 << 20);
    r = read_all(SPAN("a=%41&b=%42"), &arena, out, sizeof(out));
    arena_deinit(&arena);
    return r == COMMAND_QUERY_E_END ? 0 : r;
}

static void memory_may_end(void **state)
{
    (void)state;
    test_oom_sweep(decode_one, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_are_decoded),
        cmocka_unit_test(a_path_keeps_its_plus),
        cmocka_unit_test(memory_may_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
