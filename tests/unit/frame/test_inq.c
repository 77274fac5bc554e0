#include "frame/inq.h"

#include "support/cmocka.h"

#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "support/alloc_testing.h"

static void an_empty_queue_owns_nothing(void **state)
{
    Inq q;

    (void)state;
    inq_init(&q, 100);
    assert_int_equal(inq_append(&q, NULL, 0), 0);
    assert_null(inq_unread(&q).p);
    assert_int_equal(inq_room(&q), 0);
    inq_trim(&q);
    inq_deinit(&q);
    inq_deinit(&q);
}

/* Asks for `room` behind `dead` read and `unread` unread bytes that fill a block of dead + unread.
 */
static Inq full_block(size_t dead, size_t unread, size_t room)
{
    Inq q;

    inq_init(&q, SIZE_MAX);
    assert_int_equal(inq_reserve_exact(&q, dead + unread), 0);
    memset(q.data, 'x', dead + unread);
    inq_commit(&q, dead + unread);
    inq_skip(&q, dead);
    assert_int_equal(inq_reserve(&q, room), 0);
    assert_true(q.cap - q.end >= room);
    assert_int_equal(inq_unread(&q).n, unread);
    return q;
}

static void unread_bytes_are_moved_only_when_more_were_read(void **state)
{
    size_t keep = LIMIT_KEEP_BYTES;
    Inq q;

    (void)state;
    /* A block of the kept size: moved if at least as many were read. */
    q = full_block(keep / 2, keep / 2, 1);
    assert_int_equal(q.head, 0);
    assert_int_equal(q.cap, keep);
    inq_deinit(&q);
    q = full_block(keep / 2 - 1, keep / 2 + 1, 1);
    assert_int_equal(q.head, keep / 2 - 1);
    assert_int_equal(q.cap, 2 * keep);
    inq_deinit(&q);
    /* A smaller one: if three times as many were read. */
    q = full_block(3000, 1000, 1);
    assert_int_equal(q.end, 1024);
    assert_int_equal(q.cap, 4000);
    inq_deinit(&q);
    q = full_block(2999, 1001, 1);
    assert_int_equal(q.head, 2999);
    assert_int_equal(q.cap, 8000);
    inq_deinit(&q);
}

static void doubling_does_not_needlessly_pass_the_kept_size(void **state)
{
    size_t keep = LIMIT_KEEP_BYTES;
    Inq q;

    (void)state;
    q = full_block(0, keep / 2 + 1, keep / 2 - 1);
    assert_int_equal(q.cap, keep);
    inq_deinit(&q);
    q = full_block(0, keep / 2 + 1, keep / 2);
    assert_int_equal(q.cap, keep + 2);
    inq_deinit(&q);
}

static void the_tail_of_a_read_is_carried_to_the_front(void **state)
{
    Inq q;

    (void)state;
    inq_init(&q, 100000);
    assert_int_equal(inq_reserve(&q, 10000), 0);
    memset(q.data, 'x', 1700);
    inq_commit(&q, 1700);
    inq_skip(&q, 1600);
    assert_int_equal(inq_reserve(&q, 1000), 0);
    /* So that what is read next begins at a multiple of 64 bytes. */
    assert_int_equal(q.head, 28);
    assert_int_equal(q.end, 128);
    inq_deinit(&q);
}

static void room_begins_at_a_multiple_of_64_bytes(void **state)
{
    Inq q;

    (void)state;
    inq_init(&q, (size_t)1 << 24);
    /* Growing moves the block about; what was there must come along. */
    for (size_t n = 1; n < (size_t)1 << 22; n = n * 2 + 1) {
        size_t end = q.end;

        assert_int_equal(inq_reserve(&q, n), 0);
        assert_int_equal((uintptr_t)q.data % 64, 0);
        memset(q.data + q.end, (int)(n & 0x7F), n);
        inq_commit(&q, n);
        assert_int_equal(q.end, end + n);
        assert_int_equal(q.data[0], 1);
        assert_int_equal(q.data[q.end - 1], (char)(n & 0x7F));
        if (n > 1) {
            assert_int_equal(q.data[end - 1], (char)((n / 2) & 0x7F));
        }
    }
    inq_deinit(&q);
}

static void nothing_beyond_the_maximum_is_offered(void **state)
{
    Inq q;

    (void)state;
    inq_init(&q, 10);
    assert_int_equal(inq_reserve(&q, INQ_AHEAD_BYTES + 11), INQ_E_FULL);
    assert_int_equal(inq_reserve_exact(&q, INQ_AHEAD_BYTES + 11), INQ_E_FULL);
    assert_int_equal(inq_reserve_exact(&q, INQ_AHEAD_BYTES + 10), 0);
    memset(q.data, 'x', INQ_AHEAD_BYTES);
    inq_commit(&q, INQ_AHEAD_BYTES);
    assert_int_equal(inq_room(&q), 10);
    inq_skip(&q, INQ_AHEAD_BYTES / 2 - 1);
    /* Twice the maximum is the most that is ever held. */
    assert_int_equal(inq_reserve(&q, INQ_AHEAD_BYTES / 2), 0);
    assert_true(q.cap <= 2 * (INQ_AHEAD_BYTES + 10));
    inq_deinit(&q);
}

static void a_block_never_passes_twice_the_maximum(void **state)
{
    size_t max = INQ_AHEAD_BYTES;
    Inq q;

    (void)state;
    inq_init(&q, 0);
    assert_int_equal(inq_reserve_exact(&q, max), 0);
    memset(q.data, 'x', max);
    inq_commit(&q, max);
    inq_skip(&q, max / 2 - 1);
    /* Grows by a little, to just above the maximum; then doubles, but not further than that. */
    assert_int_equal(inq_reserve_exact(&q, 4), 0);
    assert_int_equal(q.cap, max + 4);
    inq_commit(&q, 4);
    assert_int_equal(inq_reserve(&q, 100), 0);
    assert_int_equal(q.cap, 2 * max);
    inq_deinit(&q);
}

static void a_failed_reserve_changes_nothing(void **state)
{
    Inq q;

    (void)state;
    inq_init(&q, 1000);
    assert_int_equal(inq_append(&q, "abc", 3), 0);
    alloc_testing_reset(0);
    assert_int_equal(inq_reserve(&q, 500), -ENOMEM);
    assert_int_equal(inq_reserve_exact(&q, 500), -ENOMEM);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_true(span_equals(inq_unread(&q), SPAN("abc")));
    inq_deinit(&q);
}

static void put(Inq *q, const char *text)
{
    assert_int_equal(inq_append(q, text, strlen(text)), 0);
}

static void queues_that_are_empty_share_one_block(void **state)
{
    Inq store;
    Inq a;
    Inq b;
    const char *block;

    (void)state;
    inq_init(&store, 0);
    inq_init(&a, 100);
    inq_init(&b, 100);
    inq_take_storage(&a, &store); /* there is none yet */
    assert_int_equal(inq_reserve(&a, 65536), 0);
    block = a.block;
    put(&a, "abc");
    inq_skip(&a, 3);
    inq_return_storage(&a, &store);
    assert_null(a.block);
    assert_int_equal(inq_unread(&a).n, 0);
    assert_ptr_equal(store.block, block);
    inq_take_storage(&b, &store);
    assert_ptr_equal(b.block, block);
    assert_int_equal(inq_reserve(&b, 65536), 0);
    assert_ptr_equal(b.block, block);
    inq_return_storage(&b, &store);
    inq_return_storage(&b, &store);
    assert_ptr_equal(store.block, block);
    inq_deinit(&a);
    inq_deinit(&b);
    inq_deinit(&store);
}

static void what_is_unread_stays_and_the_block_does_not(void **state)
{
    Inq store;
    Inq q;

    (void)state;
    inq_init(&store, 0);
    inq_init(&q, 100);
    assert_int_equal(inq_reserve(&q, 65536), 0);
    put(&q, "read unread");
    inq_skip(&q, 5);
    inq_return_storage(&q, &store);
    assert_true(span_equals(inq_unread(&q), SPAN("unread")));
    assert_true(q.cap < 100);
    assert_true(store.cap >= 65536);
    inq_take_storage(&q, &store);
    assert_true(span_equals(inq_unread(&q), SPAN("unread")));
    assert_true(q.cap >= 65536);
    assert_int_equal(store.cap, 0);
    put(&q, ", still");
    assert_true(span_equals(inq_unread(&q), SPAN("unread, still")));
    /* Without memory for a block of their own they stay where they are. */
    alloc_testing_reset(0);
    inq_return_storage(&q, &store);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_true(span_equals(inq_unread(&q), SPAN("unread, still")));
    assert_true(q.cap >= 65536);
    inq_deinit(&q);
    inq_deinit(&store);
}

static void a_block_that_is_well_filled_or_too_large_is_not_shared(void **state)
{
    Inq store;
    Inq q;

    (void)state;
    inq_init(&store, 0);
    inq_init(&q, SIZE_MAX);
    assert_int_equal(inq_reserve_exact(&q, 4096), 0);
    inq_commit(&q, 2049);
    inq_return_storage(&q, &store);
    assert_int_equal(q.cap, 4096);
    assert_int_equal(store.cap, 0);
    inq_skip(&q, 2049);
    assert_int_equal(inq_reserve(&q, LIMIT_KEEP_BYTES + 1), 0);
    inq_return_storage(&q, &store);
    assert_int_equal(q.cap, 0);
    assert_int_equal(store.cap, 0);
    inq_deinit(&q);
    inq_deinit(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_queue_owns_nothing),
        cmocka_unit_test(unread_bytes_are_moved_only_when_more_were_read),
        cmocka_unit_test(doubling_does_not_needlessly_pass_the_kept_size),
        cmocka_unit_test(the_tail_of_a_read_is_carried_to_the_front),
        cmocka_unit_test(room_begins_at_a_multiple_of_64_bytes),
        cmocka_unit_test(nothing_beyond_the_maximum_is_offered),
        cmocka_unit_test(a_block_never_passes_twice_the_maximum),
        cmocka_unit_test(a_failed_reserve_changes_nothing),
        cmocka_unit_test(queues_that_are_empty_share_one_block),
        cmocka_unit_test(what_is_unread_stays_and_the_block_does_not),
        cmocka_unit_test(a_block_that_is_well_filled_or_too_large_is_not_shared),
    };

    return cmocka_run_group_tests_name("frame/inq", tests, NULL, NULL);
}
