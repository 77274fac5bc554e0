/* Memory for one tree: blocks keep their content and their alignment, come again after free, are
 * counted, and go all at once; a reserve stands in for a heap that gives nothing. */
#include "support/cmocka.h"

#include <stdint.h>
#include <string.h>

#include "base/compiler.h"
#include "support/alloc_testing.h"
#include "toolkit/complexity/pool.h"

#define RESERVE     ((size_t)64 * 1024)
#define KEEP        ((size_t)4 * 1024 * 1024)
#define KEPT_CHUNKS 4

static ComplexityPool pool;

static int setup(void **state)
{
    (void)state;
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    pool = COMPLEXITY_POOL_NULL;
    return complexity_pool_ready(&pool, RESERVE);
}

static int teardown(void **state)
{
    (void)state;
    complexity_pool_deinit(&pool);
    assert_int_equal(alloc_testing()->n_live, 0);
    return 0;
}

static void *filled(size_t n, int byte)
{
    void *p = complexity_pool_alloc(&pool, n);

    assert_non_null(p);
    assert_int_equal((uintptr_t)p % 16, 0);
    memset(p, byte, n);
    return p;
}

static void assert_filled(const void *p, size_t n, int byte)
{
    const unsigned char *at = p;

    for (size_t i = 0; i < n; i++) {
        assert_int_equal(at[i], byte);
    }
}

/* Around every border between the kinds of blocks. */
static const size_t sizes[] = {
    0,    1,    7,      8,      9,      15,     16,     17,     24,      25,      1008,
    1015, 1016, 1017,   1023,   1024,   1025,   1032,   1033,   2039,    2040,    2041,
    4088, 4089, 100000, 262135, 262136, 262137, 262144, 300000, 1048576, 3000000,
};

static void blocks_of_every_size_are_apart_and_aligned(void **state)
{
    void *blocks[TW_ARRAY_SIZE(sizes)][2];

    (void)state;
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < TW_ARRAY_SIZE(sizes); i++) {
            blocks[i][k] = filled(sizes[i], (int)(2 * i + k));
        }
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(sizes); i++) {
        assert_filled(blocks[i][0], sizes[i], (int)(2 * i));
        assert_filled(blocks[i][1], sizes[i], (int)(2 * i + 1));
    }
    /* Freed in another order, and taken again, by half of them. */
    for (size_t i = TW_ARRAY_SIZE(sizes); i-- > 0;) {
        complexity_pool_free(&pool, blocks[i][0]);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(sizes); i++) {
        blocks[i][0] = filled(sizes[i], 0xee);
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(sizes); i++) {
        assert_filled(blocks[i][0], sizes[i], 0xee);
        assert_filled(blocks[i][1], sizes[i], (int)(2 * i + 1));
    }
}

static void a_freed_block_is_the_next_of_its_size(void **state)
{
    static const size_t same[][2] = {{1, 8}, {9, 24}, {1017, 1032}, {1033, 2040}, {2041, 4088}};

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(same); i++) {
        void *p = filled(same[i][0], 1);

        complexity_pool_free(&pool, p);
        assert_ptr_equal(complexity_pool_alloc(&pool, same[i][1]), p);
        assert_ptr_not_equal(complexity_pool_alloc(&pool, same[i][1]), p);
    }
}

static void growing_keeps_the_content(void **state)
{
    size_t n_old = 0;
    void *p = NULL;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(sizes); i++) {
        p = complexity_pool_realloc(&pool, p, sizes[i]);
        assert_non_null(p);
        assert_filled(p, n_old, 0x5a);
        memset(p, 0x5a, sizes[i]);
        n_old = sizes[i];
    }
    assert_ptr_equal(complexity_pool_realloc(&pool, p, 10), p);
}

static void zeroed_blocks_are_zero_although_used_before(void **state)
{
    void *p = filled(500, 0xff);

    (void)state;
    complexity_pool_free(&pool, p);
    assert_ptr_equal(complexity_pool_alloc_zeroed(&pool, 50, 10), p);
    assert_filled(p, 500, 0);
    assert_null(complexity_pool_alloc_zeroed(&pool, SIZE_MAX / 2, 3));
}

static void what_is_held_is_counted(void **state)
{
    void *large;
    size_t before;

    (void)state;
    assert_int_equal(pool.bytes, 0);
    (void)filled(10, 1);
    before = pool.bytes;
    assert_true(before > 0);
    large = filled(5000000, 1);
    assert_true(pool.bytes >= before + 5000000);
    complexity_pool_free(&pool, large);
    assert_int_equal(pool.bytes, before);
    for (size_t i = 0; i < 100000; i++) {
        (void)filled(100, 1);
    }
    assert_true(pool.bytes >= 100 * 100000);
    complexity_pool_reset(&pool, 0);
    assert_int_equal(pool.bytes, 0);
}

static void a_reset_gives_everything_back_but_what_is_kept(void **state)
{
    long n_live = alloc_testing()->n_live;

    (void)state;
    for (size_t round = 0; round < 3; round++) {
        for (size_t i = 0; i < 100000; i++) {
            (void)filled(100, 1);
        }
        (void)filled(1000000, 2);
        complexity_pool_reset(&pool, KEEP);
        assert_int_equal(alloc_testing()->n_live, n_live + KEPT_CHUNKS);
    }
    complexity_pool_reset(&pool, KEEP);
    assert_int_equal(alloc_testing()->n_live, n_live + KEPT_CHUNKS);
}

/* Given back as they were taken: not by thousands of pages, which whoever has cancelled waits for.
 */
static void hundreds_of_megabytes_are_a_few_blocks_of_the_heap(void **state)
{
    static const size_t n_blocks = 1000;
    static const size_t n = 200000;
    size_t n_calls;
    unsigned char *blocks[2];

    (void)state;
    n_calls = alloc_testing()->n_calls;
    blocks[0] = filled(n, 1);
    for (size_t i = 1; i + 1 < n_blocks; i++) {
        blocks[1] = complexity_pool_alloc(&pool, n);
        assert_non_null(blocks[1]);
        blocks[1][0] = 3;
        blocks[1][n - 1] = 3;
    }
    blocks[1] = filled(n, 2);
    assert_filled(blocks[0], n, 1);
    assert_filled(blocks[1], n, 2);
    assert_true(pool.bytes >= n_blocks * n);
    /* The first 16 MiB, and the others in pieces of 32. */
    assert_true(alloc_testing()->n_calls - n_calls <= 16 + pool.bytes / (32 * 1024 * 1024) + 1);

    complexity_pool_reset(&pool, KEEP);
    assert_int_equal(pool.bytes, 0);
    assert_int_equal(alloc_testing()->n_live, 1 + KEPT_CHUNKS); /* and the reserve */
}

/* Where no long block is to be had, shorter ones are. */
static void a_pool_without_slabs_goes_on_in_the_reserve(void **state)
{
    (void)state;
    while (pool.bytes < (size_t)40 * 1024 * 1024) {
        assert_non_null(complexity_pool_alloc(&pool, 200000));
    }
    alloc_testing_reset(0);
    while (!pool.is_out) {
        assert_non_null(complexity_pool_alloc(&pool, 1000));
    }
    assert_non_null(complexity_pool_alloc(&pool, 1000));
    alloc_testing_reset(ALLOC_TESTING_NEVER);
}

static void the_reserve_stands_in_for_the_heap_once(void **state)
{
    size_t n = 0;
    void *first;

    (void)state;
    alloc_testing_reset(0);
    first = complexity_pool_alloc(&pool, 100);
    assert_non_null(first);
    assert_true(pool.is_out);
    memset(first, 7, 100);
    /* A long one, too, as far as it goes. */
    memset(complexity_pool_alloc(&pool, 300), 8, 300);
    while (complexity_pool_alloc(&pool, 100) != NULL) {
        n++;
    }
    assert_in_range(n, RESERVE / 128 - 16, RESERVE / 100);
    assert_filled(first, 100, 7);

    alloc_testing_reset(ALLOC_TESTING_NEVER);
    complexity_pool_reset(&pool, KEEP);
    assert_false(pool.is_out);
    assert_int_equal(complexity_pool_ready(&pool, RESERVE), 0);
    assert_non_null(complexity_pool_alloc(&pool, 100));
    assert_false(pool.is_out);
}

static void a_long_block_may_lie_in_the_reserve(void **state)
{
    static const size_t n = 300000;
    void *p;

    (void)state;
    complexity_pool_deinit(&pool);
    assert_int_equal(complexity_pool_ready(&pool, 1100000), 0);
    alloc_testing_reset(0);
    p = filled(n, 3);
    assert_true(pool.is_out);
    complexity_pool_free(&pool, p);
    p = complexity_pool_realloc(&pool, filled(n, 4), n + 100000);
    assert_non_null(p);
    assert_filled(p, n, 4);
    assert_null(complexity_pool_alloc(&pool, n));
    alloc_testing_reset(ALLOC_TESTING_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(blocks_of_every_size_are_apart_and_aligned, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_freed_block_is_the_next_of_its_size, setup, teardown),
        cmocka_unit_test_setup_teardown(growing_keeps_the_content, setup, teardown),
        cmocka_unit_test_setup_teardown(zeroed_blocks_are_zero_although_used_before, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_held_is_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(a_reset_gives_everything_back_but_what_is_kept, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(hundreds_of_megabytes_are_a_few_blocks_of_the_heap, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_pool_without_slabs_goes_on_in_the_reserve, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_reserve_stands_in_for_the_heap_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_long_block_may_lie_in_the_reserve, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
