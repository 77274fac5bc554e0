#include "toolkit/churn/table.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <string.h>

#include "support/oom_sweep.h"

#define MAX_BYTES ((size_t)1 << 20)

static ChurnKey key_of(unsigned i)
{
    char path[16];

    (void)snprintf(path, sizeof(path), "f%u", i);
    return churn_key(SPAN("100644 100644 aa bb "), span_from_str(path));
}

static ChurnTable *filled(size_t max, unsigned from, unsigned to)
{
    ChurnTable *table = NULL;

    assert_int_equal(churn_table_new(&table, max), 0);
    churn_table_begin(table);
    for (unsigned i = from; i < to; i++) {
        assert_int_equal(churn_table_put(table, key_of(i), (ChurnLines){i, 2 * i, false}), 0);
    }
    return table;
}

static bool has(ChurnTable *table, unsigned i)
{
    ChurnLines lines;

    if (!churn_table_get(table, key_of(i), &lines)) {
        return false;
    }
    assert_int_equal(lines.added, i);
    assert_int_equal(lines.deleted, 2 * i);
    assert_false(lines.is_binary);
    return true;
}

static void keys_depend_on_modes_blobs_and_path(void **state)
{
    ChurnKey a = churn_key(SPAN("100644 100644 aa bb "), SPAN("x"));
    ChurnKey b = churn_key(SPAN("100644 100644 bb aa "), SPAN("x"));
    ChurnKey c = churn_key(SPAN("100644 100644 aa bb "), SPAN("y"));
    ChurnKey again = churn_key(SPAN("100644 100644 aa bb "), SPAN("x"));

    (void)state;
    assert_true(a.a != b.a && a.b != b.b && a.a != c.a && a.b != c.b);
    assert_true(a.a == again.a && a.b == again.b && a.a != a.b);
}

static void what_was_put_is_found_again_after_write_and_read(void **state)
{
    ChurnTable *table = filled(10000, 0, 5000);
    ChurnTable *other = NULL;
    ChurnLines lines;
    Bytes file;

    (void)state;
    assert_int_equal(churn_table_put(table, key_of(9000), (ChurnLines){0, 0, true}), 0);
    assert_int_equal(
        churn_table_put(table, key_of(9001), (ChurnLines){4294967294u, 4294967294u, false}), 0);
    assert_true(churn_table_changed(table));
    bytes_init(&file, MAX_BYTES);
    assert_int_equal(churn_table_write(table, &file), 0);
    assert_true(file.n < 5002 * 21);
    assert_int_equal(churn_table_new(&other, 10000), 0);
    assert_int_equal(churn_table_read(other, bytes_span(&file)), 0);
    assert_false(churn_table_changed(other));
    assert_int_equal(churn_table_size(other), 5002);
    for (unsigned i = 0; i < 5000; i++) {
        assert_true(has(other, i));
    }
    assert_false(has(other, 5000));
    assert_true(churn_table_get(other, key_of(9000), &lines));
    assert_true(lines.is_binary && lines.added == 0 && lines.deleted == 0);
    assert_true(churn_table_get(other, key_of(9001), &lines));
    assert_int_equal(lines.added, 4294967294u);
    assert_false(churn_table_changed(other));
    bytes_deinit(&file);
    (void)churn_table_free(table);
    (void)churn_table_free(other);
}

static void numbers_that_do_not_fit_are_not_remembered(void **state)
{
    ChurnTable *table = filled(10, 0, 1);
    ChurnLines lines;

    (void)state;
    assert_int_equal(churn_table_put(table, key_of(1), (ChurnLines){4294967295u, 0, false}), 0);
    assert_int_equal(churn_table_put(table, key_of(2), (ChurnLines){0, 1ull << 40, false}), 0);
    assert_false(churn_table_get(table, key_of(1), &lines));
    assert_false(churn_table_get(table, key_of(2), &lines));
    (void)churn_table_free(table);
}

static void damage_anywhere_leaves_it_empty(void **state)
{
    ChurnTable *table = filled(100, 0, 5);
    Bytes file;

    (void)state;
    bytes_init(&file, MAX_BYTES);
    assert_int_equal(churn_table_write(table, &file), 0);
    for (size_t i = 0; i < file.n; i++) {
        file.data[i] = (char)(file.data[i] ^ 0x10);
        assert_int_equal(churn_table_read(table, bytes_span(&file)), 0);
        assert_int_equal(churn_table_size(table), 0);
        file.data[i] = (char)(file.data[i] ^ 0x10);
        assert_int_equal(churn_table_read(table, span_make(file.data, i)), 0);
        assert_int_equal(churn_table_size(table), 0);
    }
    assert_int_equal(churn_table_read(table, bytes_span(&file)), 0);
    assert_int_equal(churn_table_size(table), 5);
    assert_int_equal(bytes_append_byte(&file, '\0'), 0);
    assert_int_equal(churn_table_read(table, bytes_span(&file)), 0);
    assert_int_equal(churn_table_size(table), 0);
    bytes_deinit(&file);
    (void)churn_table_free(table);
}

static void a_full_table_keeps_the_newest_of_one_analysis(void **state)
{
    ChurnTable *table = filled(64, 0, 1000);

    (void)state;
    assert_int_equal(churn_table_size(table), 64);
    for (unsigned i = 0; i < 1000; i++) {
        assert_int_equal(has(table, i), i < 64);
    }
    (void)churn_table_free(table);
}

static void a_full_table_forgets_what_older_analyses_saw(void **state)
{
    ChurnTable *table = filled(64, 0, 64);

    (void)state;
    churn_table_begin(table);
    /* 10…63 are seen again, 63 first; 0…9 are not. */
    for (unsigned i = 63; i >= 10; i--) {
        assert_true(has(table, i));
    }
    for (unsigned i = 100; i < 120; i++) {
        assert_int_equal(churn_table_put(table, key_of(i), (ChurnLines){i, 2 * i, false}), 0);
    }
    assert_int_equal(churn_table_size(table), 64);
    for (unsigned i = 0; i < 10; i++) {
        assert_false(has(table, i));
    }
    for (unsigned i = 10; i < 64; i++) {
        assert_true(has(table, i));
    }
    for (unsigned i = 100; i < 120; i++) {
        assert_int_equal(has(table, i), i < 110);
    }
    (void)churn_table_free(table);
}

static void a_small_table_keeps_the_beginning_of_a_large_file(void **state)
{
    ChurnTable *table = filled(1000, 0, 100);
    ChurnTable *small = NULL;
    Bytes file;

    (void)state;
    bytes_init(&file, MAX_BYTES);
    assert_int_equal(churn_table_write(table, &file), 0);
    assert_int_equal(churn_table_new(&small, 10), 0);
    assert_int_equal(churn_table_read(small, bytes_span(&file)), 0);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(has(small, i), i < 10);
    }
    bytes_deinit(&file);
    (void)churn_table_free(table);
    (void)churn_table_free(small);
}

static void a_table_without_room_takes_nothing(void **state)
{
    ChurnTable *table = filled(0, 0, 10);

    (void)state;
    assert_int_equal(churn_table_size(table), 0);
    assert_false(churn_table_changed(table));
    (void)churn_table_free(table);
}

static void a_file_that_does_not_fit_leaves_the_output_as_it_was(void **state)
{
    ChurnTable *table = filled(100, 0, 50);
    Bytes file;

    (void)state;
    bytes_init(&file, 200);
    assert_int_equal(bytes_append_byte(&file, 'x'), 0);
    assert_int_equal(churn_table_write(table, &file), BYTES_E_FULL);
    assert_int_equal(file.n, 1);
    bytes_deinit(&file);
    (void)churn_table_free(table);
}

static int use_table(void *context)
{
    ChurnTable *table = NULL;
    Bytes file;
    int r = churn_table_new(&table, 200);

    (void)context;
    bytes_init(&file, MAX_BYTES);
    if (r == 0) {
        churn_table_begin(table);
    }
    for (unsigned i = 0; i < 300 && r == 0; i++) {
        r = churn_table_put(table, key_of(i), (ChurnLines){i, 2 * i, false});
    }
    if (r == 0) {
        r = churn_table_write(table, &file);
    }
    if (r == 0) {
        r = churn_table_read(table, bytes_span(&file));
        assert_int_equal(churn_table_size(table), r == 0 ? 200 : 0);
    }
    bytes_deinit(&file);
    (void)churn_table_free(table);
    return r;
}

static void no_memory_is_an_error(void **state)
{
    (void)state;
    test_oom_sweep(use_table, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_depend_on_modes_blobs_and_path),
        cmocka_unit_test(what_was_put_is_found_again_after_write_and_read),
        cmocka_unit_test(numbers_that_do_not_fit_are_not_remembered),
        cmocka_unit_test(damage_anywhere_leaves_it_empty),
        cmocka_unit_test(a_full_table_keeps_the_newest_of_one_analysis),
        cmocka_unit_test(a_full_table_forgets_what_older_analyses_saw),
        cmocka_unit_test(a_small_table_keeps_the_beginning_of_a_large_file),
        cmocka_unit_test(a_table_without_room_takes_nothing),
        cmocka_unit_test(a_file_that_does_not_fit_leaves_the_output_as_it_was),
        cmocka_unit_test(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
