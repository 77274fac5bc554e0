#include "support/cmocka.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "support/counted_stop.h"
#include "support/oom_sweep.h"

typedef struct Item {
    uint32_t key;
    char rest[9]; /* so that its size is none of a machine's */
} Item;

static int compare_items(const void *a, const void *b)
{
    const Item *x = a;
    const Item *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

/* Each number below n once, in an order that jumps; 7919 divides none of the n below. */
static Item *make_items(size_t n)
{
    Item *items = calloc(n + 1, sizeof(*items));

    assert_non_null(items);
    for (size_t i = 0; i < n; i++) {
        items[i].key = (uint32_t)(i * 7919 % n);
        memset(items[i].rest, (int)(items[i].key % 251), sizeof(items[i].rest));
    }
    items[n].key = 12345678;
    return items;
}

static void check_sorted(const Item *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(items[i].key, i);
        assert_int_equal((unsigned char)items[i].rest[8], i % 251);
    }
    assert_int_equal(items[n].key, 12345678);
}

static void items_of_any_number_are_sorted(void **state)
{
    static const size_t numbers[] = {0, 1, 2, 3, 1000, 4095, 4096, 4097, 8192, 8193, 12289, 50000};

    (void)state;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        Item *items = make_items(numbers[i]);

        assert_int_equal(sort_items(items, numbers[i], sizeof(*items), compare_items, STOP_NEVER),
                         0);
        check_sorted(items, numbers[i]);
        free(items);
    }
}

/* Wherever it is stopped, each item is still there once. */
static void stopped_sort_loses_no_item(void **state)
{
    const size_t n = 20000;
    CountedStop counted;
    size_t n_questions;
    Item *items = make_items(n);

    (void)state;
    counted_stop_init(&counted, SIZE_MAX);
    assert_int_equal(sort_items(items, n, sizeof(*items), compare_items, counted.stop), 0);
    n_questions = counted.n_questions;
    /* 5 runs, and 3 times all items. */
    assert_true(n_questions >= 5 + 3 * (n / STOP_STEPS));
    free(items);
    for (size_t at = 0; at < n_questions; at++) {
        items = make_items(n);
        counted_stop_init(&counted, at);
        assert_int_equal(sort_items(items, n, sizeof(*items), compare_items, counted.stop),
                         -ECANCELED);
        assert_int_equal(counted.n_questions, at + 1);
        assert_int_equal(sort_items(items, n, sizeof(*items), compare_items, STOP_NEVER), 0);
        check_sorted(items, n);
        free(items);
    }
}

static int sort_some(void *context)
{
    Item *items = make_items(10000);
    int r = sort_items(items, 10000, sizeof(*items), compare_items, STOP_NEVER);

    (void)context;
    if (r == 0) {
        check_sorted(items, 10000);
    }
    free(items);
    return r;
}

static void sort_without_memory_says_so(void **state)
{
    (void)state;
    test_oom_sweep(sort_some, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_of_any_number_are_sorted),
        cmocka_unit_test(stopped_sort_loses_no_item),
        cmocka_unit_test(sort_without_memory_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
