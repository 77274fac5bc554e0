#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

static const HashSeed seed = {0x1234, 0x5678};
static int values[2000];

static Span name_of(size_t i, char out[16])
{
    return span_make(out, (size_t)snprintf(out, 16, "key-%zu", i));
}

static void add_numbered(Map *map, size_t from, size_t to)
{
    char name[16];

    for (size_t i = from; i < to; i++) {
        assert_int_equal(map_add(map, name_of(i, name), &values[i]), 0);
    }
}

static void added_keys_are_found_and_others_are_not(void **state)
{
    Map map;
    char name[16];

    (void)state;
    map_init(&map, seed, 2000);
    assert_null(map_get(&map, SPAN("key-0")));
    add_numbered(&map, 0, 1000);
    assert_int_equal(map.n, 1000);
    for (size_t i = 0; i < 2000; i++) {
        assert_ptr_equal(map_get(&map, name_of(i, name)), i < 1000 ? &values[i] : NULL);
    }
    map_deinit(&map);
}

static void keys_are_bytes_and_are_copied(void **state)
{
    char key[] = "a\0b";
    Map map;

    (void)state;
    map_init(&map, seed, 10);
    assert_int_equal(map_add(&map, span_make(key, 3), &values[0]), 0);
    assert_int_equal(map_add(&map, SPAN("a"), &values[1]), 0);
    assert_int_equal(map_add(&map, SPAN_NULL, &values[2]), 0);
    memset(key, 'x', 3);
    assert_ptr_equal(map_get(&map, SPAN("a\0b")), &values[0]);
    assert_ptr_equal(map_get(&map, SPAN("a")), &values[1]);
    assert_ptr_equal(map_get(&map, SPAN("")), &values[2]);
    assert_null(map_get(&map, SPAN("xxx")));
    map_deinit(&map);
}

static void second_add_of_a_key_changes_nothing(void **state)
{
    Map map;

    (void)state;
    map_init(&map, seed, 10);
    assert_int_equal(map_add(&map, SPAN("k"), &values[0]), 0);
    assert_int_equal(map_add(&map, SPAN("k"), &values[1]), MAP_E_EXISTS);
    assert_ptr_equal(map_get(&map, SPAN("k")), &values[0]);
    assert_int_equal(map.n, 1);
    map_deinit(&map);
}

static void maximum_is_kept_and_a_removal_makes_room(void **state)
{
    Map map;

    (void)state;
    map_init(&map, seed, 20);
    add_numbered(&map, 0, 20);
    assert_int_equal(map_add(&map, SPAN("more"), &values[0]), MAP_E_FULL);
    assert_int_equal(map_add(&map, SPAN("key-3"), &values[0]), MAP_E_EXISTS);
    assert_int_equal(map.n, 20);
    assert_ptr_equal(map_remove(&map, SPAN("key-7")), &values[7]);
    assert_int_equal(map_add(&map, SPAN("more"), &values[99]), 0);
    assert_int_equal(map_add(&map, SPAN("again"), &values[0]), MAP_E_FULL);
    map_deinit(&map);
    assert_int_equal(map_add(&map, SPAN("x"), NULL), MAP_E_FULL);
    map_deinit(&map);
}

static void replace_keeps_the_place(void **state)
{
    Map map;
    size_t cursor = 0;
    Span key;
    void *value;

    (void)state;
    map_init(&map, seed, 20);
    add_numbered(&map, 0, 3);
    assert_true(map_replace(&map, SPAN("key-0"), &values[50]));
    assert_false(map_replace(&map, SPAN("none"), &values[50]));
    assert_true(map_next(&map, &cursor, &key, &value));
    assert_true(span_equals(key, SPAN("key-0")));
    assert_ptr_equal(value, &values[50]);
    map_deinit(&map);
}

static void find_tells_a_null_value_from_none(void **state)
{
    Map map;
    void *value = &values[0];

    (void)state;
    map_init(&map, seed, 20);
    assert_int_equal(map_add(&map, SPAN("null"), NULL), 0);
    assert_false(map_find(&map, SPAN("none"), &value));
    assert_ptr_equal(value, &values[0]);
    assert_true(map_find(&map, SPAN("null"), &value));
    assert_null(value);
    assert_true(map_find(&map, SPAN("null"), NULL));
    map_deinit(&map);
}

static void iteration_follows_insertion_also_after_removals(void **state)
{
    Map map;
    char name[16];
    size_t cursor = 0;
    size_t expected = 1;
    Span key;
    void *value;

    (void)state;
    map_init(&map, seed, 2000);
    add_numbered(&map, 0, 600);
    for (size_t i = 0; i < 600; i += 3) {
        assert_ptr_equal(map_remove(&map, name_of(i, name)), &values[i]);
    }
    add_numbered(&map, 600, 1500);
    while (map_next(&map, &cursor, &key, &value)) {
        assert_true(span_equals(key, name_of(expected, name)));
        assert_int_equal(key.p[key.n], '\0');
        assert_ptr_equal(value, &values[expected]);
        expected++;
        expected += expected < 600 && expected % 3 == 0;
    }
    assert_int_equal(expected, 1500);
    assert_int_equal(map.n, 1300);
    map_deinit(&map);
}

static void removed_key_can_be_added_again_at_the_end(void **state)
{
    Map map;
    size_t cursor = 0;
    Span key;
    void *value;

    (void)state;
    map_init(&map, seed, 10);
    add_numbered(&map, 0, 2);
    assert_null(map_remove(&map, SPAN("none")));
    assert_ptr_equal(map_remove(&map, SPAN("key-0")), &values[0]);
    assert_null(map_remove(&map, SPAN("key-0")));
    assert_int_equal(map_add(&map, SPAN("key-0"), &values[9]), 0);
    assert_true(map_next(&map, &cursor, &key, &value));
    assert_true(span_equals(key, SPAN("key-1")));
    assert_true(map_next(&map, &cursor, &key, &value));
    assert_ptr_equal(value, &values[9]);
    assert_false(map_next(&map, &cursor, &key, &value));
    map_deinit(&map);
}

static void entries_may_be_removed_while_iterating(void **state)
{
    Map map;
    size_t cursor = 0;
    size_t n = 0;
    Span key;
    void *value;

    (void)state;
    map_init(&map, seed, 1000);
    add_numbered(&map, 0, 1000);
    while (map_next(&map, &cursor, &key, &value)) {
        assert_ptr_equal(value, &values[n]);
        assert_ptr_equal(map_remove(&map, key), value);
        n++;
    }
    assert_int_equal(n, 1000);
    assert_int_equal(map.n, 0);
    map_deinit(&map);
}

/* A table of peers' requests: entries come and go for ever while few are alive. */
static void coming_and_going_does_not_grow_the_storage(void **state)
{
    Map map;
    char name[16];

    (void)state;
    map_init(&map, seed, 16);
    for (size_t i = 0; i < 100000; i++) {
        assert_int_equal(map_add(&map, name_of(i, name), &values[i % 2000]), 0);
        if (i >= 16 - 1) {
            assert_ptr_equal(map_remove(&map, name_of(i - 15, name)), &values[(i - 15) % 2000]);
        }
        assert_true(map.cap <= 32);
    }
    map_deinit(&map);
}

static void random_operations_agree_with_a_plain_array(void **state)
{
    bool is_in[200] = {false};
    uint32_t random = 99;
    Map map;
    char name[16];
    size_t n = 0;

    (void)state;
    map_init(&map, seed, 200);
    for (int step = 0; step < 50000; step++) {
        size_t i = (random = random * 1664525u + 1013904223u) >> 16;
        Span key = name_of(i %= 200, name);

        if ((random >> 8) % 2 == 0) {
            assert_int_equal(map_add(&map, key, &values[i]), is_in[i] ? MAP_E_EXISTS : 0);
            n += !is_in[i];
            is_in[i] = true;
        } else {
            assert_ptr_equal(map_remove(&map, key), is_in[i] ? &values[i] : NULL);
            n -= is_in[i];
            is_in[i] = false;
        }
        assert_int_equal(map.n, n);
    }
    for (size_t i = 0; i < 200; i++) {
        assert_int_equal(map_find(&map, name_of(i, name), NULL), is_in[i]);
    }
    map_deinit(&map);
}

static void deinit_releases_all_and_may_run_twice(void **state)
{
    long live = alloc_testing()->n_live;
    Map map;

    (void)state;
    map_init(&map, seed, 100);
    add_numbered(&map, 0, 50);
    assert_ptr_equal(map_remove(&map, SPAN("key-10")), &values[10]);
    map_deinit(&map);
    assert_int_equal(alloc_testing()->n_live, live);
    map_deinit(&map);
    map = MAP_NULL;
    map_deinit(&map);
}

static int oom_scenario(void *context)
{
    Map map;
    char name[16];
    int r = 0;
    size_t n = 0;

    (void)context;
    map_init(&map, seed, 100);
    for (; n < 40 && r == 0; n++) {
        r = map_add(&map, name_of(n, name), &values[n]);
    }
    if (r != 0) {
        /* What was in is still in, and the failed one is not. */
        assert_int_equal(map.n, n - 1);
        assert_null(map_get(&map, name_of(n - 1, name)));
        for (size_t i = 0; i + 1 < n; i++) {
            assert_ptr_equal(map_get(&map, name_of(i, name)), &values[i]);
        }
    }
    map_deinit(&map);
    return r;
}

static void out_of_memory_leaves_the_map_as_it_was(void **state)
{
    (void)state;
    test_oom_sweep(oom_scenario, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(added_keys_are_found_and_others_are_not),
        cmocka_unit_test(keys_are_bytes_and_are_copied),
        cmocka_unit_test(second_add_of_a_key_changes_nothing),
        cmocka_unit_test(maximum_is_kept_and_a_removal_makes_room),
        cmocka_unit_test(replace_keeps_the_place),
        cmocka_unit_test(find_tells_a_null_value_from_none),
        cmocka_unit_test(iteration_follows_insertion_also_after_removals),
        cmocka_unit_test(removed_key_can_be_added_again_at_the_end),
        cmocka_unit_test(entries_may_be_removed_while_iterating),
        cmocka_unit_test(coming_and_going_does_not_grow_the_storage),
        cmocka_unit_test(random_operations_agree_with_a_plain_array),
        cmocka_unit_test(deinit_releases_all_and_may_run_twice),
        cmocka_unit_test(out_of_memory_leaves_the_map_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
