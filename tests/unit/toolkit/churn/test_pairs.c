#include "toolkit/churn/pairs.h"

#include "support/cmocka.h"

#include "base/compiler.h"
#include "support/oom_sweep.h"

static uint32_t support_of(const ChurnPairs *pairs, uint32_t a, uint32_t b)
{
    for (size_t i = 0; i < pairs->n; i++) {
        if (pairs->items[i].a == a && pairs->items[i].b == b) {
            return pairs->items[i].support;
        }
    }
    return 0;
}

static void every_pair_of_a_commit_is_counted(void **state)
{
    const uint32_t one[] = {3, 1, 2};
    const uint32_t two[] = {1, 3};
    ChurnPairs pairs;

    (void)state;
    churn_pairs_init(&pairs, 100);
    assert_int_equal(churn_pairs_add(&pairs, one, 3), 0);
    assert_int_equal(churn_pairs_add(&pairs, two, 2), 0);
    churn_pairs_settle(&pairs);
    assert_int_equal(pairs.n, 3);
    assert_int_equal(support_of(&pairs, 1, 3), 2);
    assert_int_equal(support_of(&pairs, 1, 2), 1);
    assert_int_equal(support_of(&pairs, 2, 3), 1);
    assert_int_equal(pairs.missing, 0);
    churn_pairs_deinit(&pairs);
}

static void files_that_turned_out_to_be_one_are_joined(void **state)
{
    const uint32_t one[] = {1, 2, 3};
    ChurnPairs pairs;

    (void)state;
    churn_pairs_init(&pairs, 100);
    assert_int_equal(churn_pairs_add(&pairs, one, 3), 0);
    for (size_t i = 0; i < pairs.n; i++) {
        pairs.items[i].a = pairs.items[i].a == 3 ? 1 : pairs.items[i].a;
        pairs.items[i].b = pairs.items[i].b == 3 ? 1 : pairs.items[i].b;
    }
    churn_pairs_settle(&pairs);
    assert_int_equal(pairs.n, 1);
    assert_int_equal(support_of(&pairs, 1, 2), 2);
    churn_pairs_deinit(&pairs);
}

static void a_full_table_says_how_much_is_missing(void **state)
{
    ChurnPairs pairs;
    uint32_t often;

    (void)state;
    churn_pairs_init(&pairs, 64);
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t files[] = {1000000, 1000001, i};

        assert_int_equal(churn_pairs_add(&pairs, files, 2), 0);
        assert_int_equal(churn_pairs_add(&pairs, files + 1, 2), 0);
        assert_true(pairs.n <= 64);
    }
    often = support_of(&pairs, 1000000, 1000001);
    assert_true(pairs.missing > 0);
    assert_true(often <= 1000 && often + pairs.missing >= 1000 && often >= 900);
    churn_pairs_deinit(&pairs);
}

static int add_many(void *context)
{
    ChurnPairs pairs;
    int r = 0;

    (void)context;
    churn_pairs_init(&pairs, 500);
    for (uint32_t i = 0; i < 600 && r == 0; i++) {
        uint32_t files[] = {i, i + 1};

        r = churn_pairs_add(&pairs, files, 2);
    }
    churn_pairs_deinit(&pairs);
    return r;
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    test_oom_sweep(add_many, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_a_commit_is_counted),
        cmocka_unit_test(files_that_turned_out_to_be_one_are_joined),
        cmocka_unit_test(a_full_table_says_how_much_is_missing),
        cmocka_unit_test(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
