#include "support/cmocka.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

static void allocations_are_aligned_and_do_not_overlap(void **state)
{
    Arena a;
    char *p[200];

    (void)state;
    arena_init(&a, 1 << 20);
    for (size_t i = 0; i < 200; i++) {
        p[i] = arena_alloc(&a, i);
        assert_non_null(p[i]);
        assert_int_equal((uintptr_t)p[i] % ARENA_ALIGN, 0);
        memset(p[i], (int)i, i);
    }
    for (size_t i = 0; i < 200; i++) {
        for (size_t j = 0; j < i; j++) {
            assert_int_equal((unsigned char)p[i][j], i);
        }
    }
    arena_deinit(&a);
}

static void two_empty_allocations_differ(void **state)
{
    Arena a;

    (void)state;
    arena_init(&a, 4096);
    assert_ptr_not_equal(arena_alloc(&a, 0), arena_alloc(&a, 0));
    arena_deinit(&a);
}

static void maximum_is_reached_and_never_passed(void **state)
{
    Arena a;
    size_t n = 0;

    (void)state;
    arena_init(&a, 10000);
    while (arena_alloc(&a, 16) != NULL) {
        n += 16;
        assert_true(a.n_held <= 10000);
    }
    assert_true(n > 10000 - 64);
    assert_true(n <= 10000);
    assert_null(arena_alloc(&a, SIZE_MAX));
    assert_null(arena_alloc(&a, SIZE_MAX - 8));
    arena_deinit(&a);
}

static void null_arena_gives_nothing(void **state)
{
    Arena a = ARENA_NULL;

    (void)state;
    assert_null(arena_alloc(&a, 1));
    arena_reset(&a, 100);
    arena_deinit(&a);
    arena_deinit(&a);
}

static void array_is_zeroed_also_in_reused_storage(void **state)
{
    static const char zeros[300];
    Arena a;
    char *p;

    (void)state;
    arena_init(&a, 1 << 16);
    p = arena_alloc(&a, 300);
    assert_non_null(p);
    memset(p, 0xAA, 300);
    arena_reset(&a, 1 << 16);
    p = arena_alloc_array(&a, 30, 10);
    assert_non_null(p);
    assert_memory_equal(p, zeros, 300);
    assert_null(arena_alloc_array(&a, SIZE_MAX / 2, 3));
    arena_deinit(&a);
}

static void newest_allocation_grows_in_place(void **state)
{
    Arena a;
    char *p;

    (void)state;
    arena_init(&a, 1 << 16);
    p = arena_alloc(&a, 10);
    assert_non_null(p);
    memcpy(p, "0123456789", 10);
    assert_ptr_equal(arena_grow(&a, p, 10, 1000), p);
    assert_memory_equal(p, "0123456789", 10);
    memset(p, 'x', 1000);
    assert_true((char *)arena_alloc(&a, 1) >= p + 1000);
    arena_deinit(&a);
}

static void lone_allocation_grows_with_its_block(void **state)
{
    Arena a;
    char *p;

    (void)state;
    /* Room for the array at its largest, and not for its smaller copies beside it. */
    arena_init(&a, 1 << 20);
    p = arena_alloc(&a, 16);
    memset(p, 'x', 16);
    for (size_t n = 16; n < 1 << 20; n *= 2) {
        p = arena_grow(&a, p, n, n * 2);
        assert_non_null(p);
        assert_int_equal(p[n - 1], 'x');
        memset(p + n, 'x', n);
    }
    assert_int_equal(a.n_held, 1 << 20);
    assert_null(arena_grow(&a, p, 1 << 20, (1 << 20) + 1));
    assert_int_equal(p[(1 << 20) - 1], 'x');
    arena_deinit(&a);
}

static void older_allocation_grows_by_copying(void **state)
{
    Arena a;
    char *p;
    char *q;
    char *grown;

    (void)state;
    arena_init(&a, 1 << 20);
    p = arena_alloc(&a, 10);
    q = arena_alloc(&a, 10);
    assert_non_null(p);
    assert_non_null(q);
    memcpy(p, "0123456789", 10);
    memcpy(q, "abcdefghij", 10);
    grown = arena_grow(&a, p, 10, 100);
    assert_non_null(grown);
    assert_ptr_not_equal(grown, p);
    assert_memory_equal(grown, "0123456789", 10);
    memset(grown, 'x', 100);
    assert_memory_equal(q, "abcdefghij", 10);
    /* And the newest, when its block has no room left. */
    memcpy(grown, "ABC", 3);
    grown = arena_grow(&a, grown, 100, 100000);
    assert_non_null(grown);
    assert_memory_equal(grown, "ABC", 3);
    arena_deinit(&a);
}

static void growing_nothing_allocates(void **state)
{
    Arena a;

    (void)state;
    arena_init(&a, 4096);
    assert_non_null(arena_grow(&a, NULL, 0, 10));
    assert_null(arena_grow(&a, NULL, 0, 5000));
    arena_deinit(&a);
}

static void failed_growth_leaves_the_allocation(void **state)
{
    Arena a;
    char *p;

    (void)state;
    arena_init(&a, 256);
    p = arena_alloc(&a, 100);
    assert_non_null(p);
    memset(p, 'x', 100);
    assert_null(arena_grow(&a, p, 100, 300));
    assert_int_equal(p[99], 'x');
    assert_ptr_equal(arena_grow(&a, p, 100, 256), p);
    arena_deinit(&a);
}

static void shrinking_the_newest_gives_its_end_back(void **state)
{
    Arena a;
    char *p;
    char *q;

    (void)state;
    arena_init(&a, 4096);
    p = arena_alloc(&a, 1000);
    assert_non_null(p);
    arena_shrink(&a, p, 1000, 17);
    q = arena_alloc(&a, 16);
    assert_ptr_equal(q, p + 32);
    /* An older one keeps its room: it would tear a hole. */
    arena_shrink(&a, p, 17, 1);
    assert_ptr_equal(arena_alloc(&a, 1), q + 16);
    arena_deinit(&a);
}

static void copy_is_terminated_and_independent(void **state)
{
    char text[] = "text";
    Arena a;
    Span s;

    (void)state;
    arena_init(&a, 64);
    s = arena_copy(&a, span_from_str(text));
    text[0] = 'X';
    assert_int_equal(s.n, 4);
    assert_string_equal(s.p, "text");
    s = arena_copy(&a, SPAN_NULL);
    assert_int_equal(s.n, 0);
    assert_string_equal(s.p, "");
    assert_null(arena_copy(&a, span_make(text, SIZE_MAX)).p);
    arena_deinit(&a);
}

static void steady_traffic_allocates_nothing(void **state)
{
    Arena a;

    (void)state;
    arena_init(&a, 1 << 20);
    for (int round = 0; round < 10; round++) {
        if (round == 2) {
            alloc_testing_reset(ALLOC_TESTING_NEVER);
        }
        for (int i = 0; i < 500; i++) {
            assert_non_null(arena_alloc(&a, 100));
        }
        arena_reset(&a, 1 << 20);
    }
    assert_int_equal(alloc_testing()->n_calls, 0);
    arena_deinit(&a);
}

static void reset_gives_back_what_exceeds_the_keep_size(void **state)
{
    long live = alloc_testing()->n_live;
    Arena a;

    (void)state;
    arena_init(&a, 1 << 20);
    assert_non_null(arena_alloc(&a, 500000));
    arena_reset(&a, 100000);
    assert_int_equal(a.n_held, 0);
    assert_int_equal(alloc_testing()->n_live, live);
    assert_non_null(arena_alloc(&a, 1000));
    arena_reset(&a, 100000);
    assert_int_equal(alloc_testing()->n_live, live + 1);
    arena_deinit(&a);
    assert_int_equal(alloc_testing()->n_live, live);
}

static int oom_scenario(void *context)
{
    Arena a;
    int r = 0;

    (void)context;
    arena_init(&a, 1 << 20);
    for (int round = 0; round < 3 && r == 0; round++) {
        for (int i = 0; i < 100 && r == 0; i++) {
            char *p = arena_alloc(&a, 500);
            char *grown = p == NULL ? NULL : arena_grow(&a, p, 500, 900);

            r = grown == NULL || arena_copy(&a, SPAN("key")).p == NULL ? -ENOMEM : 0;
        }
        /* Several blocks: reset joins them, and may fail to, silently. */
        arena_reset(&a, 1 << 20);
    }
    arena_deinit(&a);
    return r;
}

static void out_of_memory_leaks_nothing(void **state)
{
    (void)state;
    test_oom_sweep(oom_scenario, NULL);
}

static void kept_strings_are_copies_and_lists_end(void **state)
{
    char word[] = "serve";
    const char *const words[] = {word, "", NULL};
    const char *const *list = words;
    const char *string = word;
    const char *none = NULL;
    Arena a;

    (void)state;
    arena_init(&a, 1 << 12);
    assert_int_equal(arena_keep_strings(&a, &list), 0);
    assert_int_equal(arena_keep_string(&a, &string), 0);
    assert_int_equal(arena_keep_string(&a, &none), 0);
    assert_null(none);
    word[0] = 'x';
    assert_string_equal(list[0], "serve");
    assert_string_equal(list[1], "");
    assert_null(list[2]);
    assert_string_equal(string, "serve");
    arena_deinit(&a);
    arena_init(&a, 1);
    list = words;
    assert_int_equal(arena_keep_strings(&a, &list), -ENOMEM);
    assert_ptr_equal(list, words);
    arena_deinit(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_aligned_and_do_not_overlap),
        cmocka_unit_test(two_empty_allocations_differ),
        cmocka_unit_test(maximum_is_reached_and_never_passed),
        cmocka_unit_test(null_arena_gives_nothing),
        cmocka_unit_test(array_is_zeroed_also_in_reused_storage),
        cmocka_unit_test(newest_allocation_grows_in_place),
        cmocka_unit_test(lone_allocation_grows_with_its_block),
        cmocka_unit_test(older_allocation_grows_by_copying),
        cmocka_unit_test(growing_nothing_allocates),
        cmocka_unit_test(failed_growth_leaves_the_allocation),
        cmocka_unit_test(shrinking_the_newest_gives_its_end_back),
        cmocka_unit_test(copy_is_terminated_and_independent),
        cmocka_unit_test(kept_strings_are_copies_and_lists_end),
        cmocka_unit_test(steady_traffic_allocates_nothing),
        cmocka_unit_test(reset_gives_back_what_exceeds_the_keep_size),
        cmocka_unit_test(out_of_memory_leaks_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
