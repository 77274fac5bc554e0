#include "dialect/pipe/entries.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>

#include "support/alloc_testing.h"

#define N_MANY 300

typedef struct Kept {
    int number;
    PipeEntry entry;
    char id[16];
} Kept;

static void keep(PipeEntries *entries, Kept *kept, int number)
{
    kept->number = number;
    (void)snprintf(kept->id, sizeof(kept->id), "id-%d", number);
    assert_int_equal(pipe_entries_add(entries, &kept->entry, span_from_str(kept->id)), 0);
}

static void entries_are_found_by_id_until_they_are_removed(void **state)
{
    static Kept kept[N_MANY];
    PipeEntries entries;

    (void)state;
    pipe_entries_init(&entries, (HashSeed){1, 2});
    assert_null(pipe_entries_find(&entries, SPAN("id-0")));
    assert_null(pipe_entries_first(&entries));
    for (int i = 0; i < N_MANY; i++) {
        keep(&entries, &kept[i], i);
    }
    assert_int_equal(entries.n, N_MANY);
    for (int i = 0; i < N_MANY; i += 2) {
        pipe_entries_remove(&entries, &kept[i].entry);
    }
    for (int i = 0; i < N_MANY; i++) {
        PipeEntry *found = pipe_entries_find(&entries, span_from_str(kept[i].id));

        assert_ptr_equal(found, i % 2 == 0 ? NULL : &kept[i].entry);
    }
    assert_null(pipe_entries_find(&entries, SPAN("id-")));
    pipe_entries_deinit(&entries);
}

static void entries_stand_in_order_of_arrival(void **state)
{
    Kept kept[5];
    PipeEntries entries;
    PipeEntry *entry;
    int expected[] = {0, 2, 4};
    int n = 0;

    (void)state;
    pipe_entries_init(&entries, (HashSeed){1, 2});
    for (int i = 0; i < 5; i++) {
        keep(&entries, &kept[i], i);
    }
    pipe_entries_remove(&entries, &kept[1].entry);
    pipe_entries_remove(&entries, &kept[3].entry);
    for (entry = pipe_entries_first(&entries); entry != NULL;
         entry = pipe_entries_next(&entries, entry)) {
        assert_int_equal(PIPE_ENTRY_OWNER(entry, Kept, entry)->number, expected[n++]);
    }
    assert_int_equal(n, 3);
    pipe_entries_deinit(&entries);
}

static void without_memory_chains_grow_instead(void **state)
{
    static Kept kept[N_MANY];
    PipeEntries entries;
    Kept none;

    (void)state;
    pipe_entries_init(&entries, (HashSeed){1, 2});
    alloc_testing_reset(0);
    assert_int_equal(pipe_entries_add(&entries, &none.entry, SPAN("x")), -ENOMEM);
    alloc_testing_reset(1);
    for (int i = 0; i < N_MANY; i++) {
        keep(&entries, &kept[i], i);
    }
    assert_true(alloc_testing()->n_failed > 0);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    for (int i = 0; i < N_MANY; i++) {
        assert_ptr_equal(pipe_entries_find(&entries, span_from_str(kept[i].id)), &kept[i].entry);
    }
    pipe_entries_deinit(&entries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_found_by_id_until_they_are_removed),
        cmocka_unit_test(entries_stand_in_order_of_arrival),
        cmocka_unit_test(without_memory_chains_grow_instead),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
