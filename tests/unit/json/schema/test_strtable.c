/* Sets of strings, easy and hard ones. */
#include "support/cmocka.h"

#include <stdio.h>
#include <stdlib.h>

#include "json/schema/strtable.h"

#define STRTABLE_N 20000

typedef struct StrTableTest {
    Arena arena;
    Span *strings;
    uint32_t n;
    StrTable table;
} StrTableTest;

static void strtable_open(StrTableTest *t, const char *before, const char *behind, uint32_t n)
{
    arena_init(&t->arena, (size_t)64 << 20);
    t->n = n;
    t->strings = arena_alloc_array(&t->arena, n, sizeof(*t->strings));
    assert_non_null(t->strings);
    for (uint32_t i = 0; i < n; i++) {
        char name[64];

        (void)snprintf(name, sizeof(name), "%s%08u%s", before, i, behind);
        t->strings[i] = arena_copy(&t->arena, span_from_str(name));
        assert_non_null(t->strings[i].p);
    }
    assert_int_equal(strtable_build(&t->table, &t->arena, t->strings, n), 0);
}

static uint32_t strtable_look(const StrTableTest *t, Span s)
{
    StrKey key = strtable_key(s.p, (uint32_t)s.n, s.p + s.n);

    return strtable_find(&t->table, &key);
}

static void strtable_check(const StrTableTest *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        assert_int_equal(strtable_look(t, t->strings[i]), i);
    }
    assert_int_equal(strtable_look(t, SPAN("")), STRTABLE_NONE);
    assert_int_equal(strtable_look(t, SPAN("absent")), STRTABLE_NONE);
    assert_int_equal(strtable_look(t, SPAN("prefix0099999999suffix00")), STRTABLE_NONE);
}

static void strings_that_differ_at_an_end_need_no_hash(void **state)
{
    StrTableTest t;

    (void)state;
    strtable_open(&t, "p", "", STRTABLE_N);
    assert_null(t.table.hashed);
    strtable_check(&t);
    arena_deinit(&t.arena);
    strtable_open(&t, "", "", 12);
    assert_null(t.table.hashed);
    strtable_check(&t);
    arena_deinit(&t.arena);
}

/* Their first and last eight bytes and their length are equal, so only a hash tells them apart. */
static void strings_that_differ_in_the_middle_are_hashed(void **state)
{
    StrTableTest t;

    (void)state;
    strtable_open(&t, "prefix00", "suffix00", STRTABLE_N);
    assert_non_null(t.table.hashed);
    strtable_check(&t);
    arena_deinit(&t.arena);
}

static void of_equal_strings_the_first_counts(void **state)
{
    uint32_t n = 200000;
    StrTableTest t;

    (void)state;
    arena_init(&t.arena, (size_t)64 << 20);
    t.strings = arena_alloc_array(&t.arena, n, sizeof(*t.strings));
    assert_non_null(t.strings);
    for (uint32_t i = 0; i < n; i++) {
        t.strings[i] = i == 5 ? SPAN("b") : SPAN("a");
    }
    assert_int_equal(strtable_build(&t.table, &t.arena, t.strings, n), 0);
    assert_null(t.table.hashed);
    assert_int_equal(strtable_look(&t, SPAN("a")), 0);
    assert_int_equal(strtable_look(&t, SPAN("b")), 5);
    assert_int_equal(strtable_look(&t, SPAN("c")), STRTABLE_NONE);
    arena_deinit(&t.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_that_differ_at_an_end_need_no_hash),
        cmocka_unit_test(strings_that_differ_in_the_middle_are_hashed),
        cmocka_unit_test(of_equal_strings_the_first_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
