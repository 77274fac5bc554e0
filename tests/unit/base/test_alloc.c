/* Every test program is linked with the failing allocator, so the real one is compiled in here
 * under other names. */
#define mem_alloc       real_mem_alloc
#define mem_alloc_array real_mem_alloc_array
#define mem_realloc     real_mem_realloc
#define mem_free        real_mem_free
#define mem_size_of     real_mem_size_of
#define mem_trim        real_mem_trim
#include "../../../src/base/alloc.c"
#undef mem_alloc
#undef mem_alloc_array
#undef mem_realloc
#undef mem_free
#undef mem_size_of
#undef mem_trim

#include "support/cmocka.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "support/alloc_testing.h"

/* The ones of tests/support/alloc_testing.c. */
void *mem_alloc(size_t n);
void *mem_alloc_array(size_t count, size_t size);
void *mem_realloc(void *p, size_t n);
void *mem_free(void *p);
size_t mem_size_of(const void *p);
void mem_trim(void);

static void a_block_is_as_long_as_was_asked_for(void **state)
{
    void *p = real_mem_alloc(1000);

    (void)state;
    assert_in_range(real_mem_size_of(p), 1000, 2000);
    assert_null(real_mem_free(p));
}

static void zero_bytes_are_an_allocation_too(void **state)
{
    void *p = real_mem_alloc(0);
    void *q = real_mem_alloc_array(0, 8);
    void *s = real_mem_alloc_array(8, 0);
    void *t = real_mem_realloc(NULL, 0);

    (void)state;
    assert_non_null(p);
    assert_non_null(q);
    assert_non_null(s);
    assert_non_null(t);
    assert_null(real_mem_free(p));
    assert_null(real_mem_free(q));
    assert_null(real_mem_free(s));
    assert_null(real_mem_free(t));
}

#ifdef MADV_HUGEPAGE
/* What the system notes of the pages where p lies ("hg": huge ones are asked for). False: there is
 * no such note. */
static bool pages_are_asked_to_be_huge(const void *p, bool *ret)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[512];
    bool is_here = false;
    bool is_found = false;

    while (maps != NULL && !is_found && fgets(line, sizeof(line), maps) != NULL) {
        char *end;
        unsigned long long first = strtoull(line, &end, 16);

        if (*end == '-' && end > line) {
            is_here = first <= (uintptr_t)p && (uintptr_t)p < strtoull(end + 1, NULL, 16);
        } else if (is_here && strncmp(line, "VmFlags:", 8) == 0) {
            *ret = strstr(line, " hg") != NULL;
            is_found = true;
        }
    }
    if (maps != NULL) {
        (void)fclose(maps);
    }
    return is_found;
}

/* A gigabyte in small ones takes the system 70 ms to take back. */
static void large_blocks_ask_for_huge_pages(void **state)
{
    static const size_t n = (size_t)64 * 1024 * 1024;
    char *p = real_mem_alloc(n);
    char *grown = real_mem_realloc(NULL, 1000);
    bool is_huge = false;

    (void)state;
    assert_non_null(p);
    if (madvise(p + n / 2 - (uintptr_t)(p + n / 2) % 4096, 4096, MADV_HUGEPAGE) != 0 ||
        !pages_are_asked_to_be_huge(p + n / 2, &is_huge)) {
        assert_null(real_mem_free(p));
        assert_null(real_mem_free(grown));
        skip(); /* a system without them */
    }
    /* Not only what was asked for right here. */
    assert_true(pages_are_asked_to_be_huge(p + n / 4, &is_huge));
    assert_true(is_huge);
    grown = real_mem_realloc(grown, n);
    assert_non_null(grown);
    assert_true(pages_are_asked_to_be_huge(grown + n / 4, &is_huge));
    assert_true(is_huge);
    assert_null(real_mem_free(p));
    assert_null(real_mem_free(grown));
}
#endif

static void array_is_zeroed(void **state)
{
    static const char zeros[1000];
    char *p = real_mem_alloc(1000);

    (void)state;
    /* The block that was just freed is the likeliest to come back, and it is not clean. */
    assert_non_null(p);
    /* Volatile, or the compiler drops stores to memory that is freed next. */
    for (volatile char *at = p; at < p + 1000; at++) {
        *at = 0x55;
    }
    (void)real_mem_free(p);
    p = real_mem_alloc_array(100, 10);
    assert_non_null(p);
    assert_memory_equal(p, zeros, sizeof(zeros));
    (void)real_mem_free(p);
}

static void array_whose_size_overflows_is_refused(void **state)
{
    /* Times two it is 2: a product that wraps round to something small is the dangerous one. */
    volatile size_t huge = SIZE_MAX / 2 + 2;

    (void)state;
    assert_null(real_mem_alloc_array(huge, 2));
    assert_null(real_mem_alloc_array(2, huge));
}

static void realloc_keeps_the_content(void **state)
{
    char *p = real_mem_alloc(4);

    (void)state;
    assert_non_null(p);
    memcpy(p, "abcd", 4);
    p = real_mem_realloc(p, 100000);
    assert_non_null(p);
    assert_memory_equal(p, "abcd", 4);
    (void)real_mem_free(p);
}

static void freeing_nothing_is_allowed(void **state)
{
    (void)state;
    assert_null(real_mem_free(NULL));
}

static void freep_releases_and_clears_the_pointer(void **state)
{
    void *p = real_mem_alloc(10);

    (void)state;
    mem_freep(&p);
    assert_null(p);
    mem_freep(&p);
}

static void size_helpers_notice_overflow_and_then_leave_the_result(void **state)
{
    size_t n = 7;

    (void)state;
    assert_true(mem_size_add(SIZE_MAX - 1, 1, &n));
    assert_true(n == SIZE_MAX);
    n = 7;
    assert_false(mem_size_add(SIZE_MAX, 1, &n));
    assert_int_equal(n, 7);
    assert_true(mem_size_mul(SIZE_MAX / 2, 2, &n));
    assert_true(n == SIZE_MAX - 1);
    n = 7;
    assert_false(mem_size_mul(SIZE_MAX / 2 + 1, 2, &n));
    assert_int_equal(n, 7);
    assert_true(mem_size_mul(0, SIZE_MAX, &n));
    assert_int_equal(n, 0);
}

static void testing_allocator_fails_at_the_nth_call_and_after(void **state)
{
    long live = alloc_testing()->n_live;
    void *a;
    void *b;

    (void)state;
    alloc_testing_reset(2);
    a = mem_alloc(1);
    b = mem_alloc_array(1, 1);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(alloc_testing()->n_live, live + 2);
    assert_null(mem_alloc(1));
    assert_null(mem_realloc(a, 2));
    assert_null(mem_alloc_array(1, 1));
    assert_int_equal(alloc_testing()->n_calls, 5);
    assert_int_equal(alloc_testing()->n_failed, 3);
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    (void)mem_free(a);
    (void)mem_free(b);
    assert_int_equal(alloc_testing()->n_live, live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_as_long_as_was_asked_for),
        cmocka_unit_test(zero_bytes_are_an_allocation_too),
#ifdef MADV_HUGEPAGE
        cmocka_unit_test(large_blocks_ask_for_huge_pages),
#endif
        cmocka_unit_test(array_is_zeroed),
        cmocka_unit_test(array_whose_size_overflows_is_refused),
        cmocka_unit_test(realloc_keeps_the_content),
        cmocka_unit_test(freeing_nothing_is_allowed),
        cmocka_unit_test(freep_releases_and_clears_the_pointer),
        cmocka_unit_test(size_helpers_notice_overflow_and_then_leave_the_result),
        cmocka_unit_test(testing_allocator_fails_at_the_nth_call_and_after),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
