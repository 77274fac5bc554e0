#include "unit/toolkit/complexity/cache_rig.h"

#include <errno.h>

#include "support/oom_sweep.h"

static const ComplexityStamp stamp_zero = {0, 0, 0, 0};

static void what_was_put_is_found_before_and_after_it_was_kept(void **state)
{
    ComplexityFunction functions[] = {distinct_function(), distinct_function()};
    ComplexityCached what = measured("python", functions, 2);
    ComplexityCached skip = skipped(COMPLEXITY_SKIP_TOO_LARGE, "20 MB");
    ComplexityCache *cache = new_cache();
    ComplexityCached found;

    (void)state;
    what.file.n_errors = 2;
    what.file.first_error_line = 300;
    functions[1].has_error = false;
    put(cache, "a.py", &stamp_a, 1, &what);
    put(cache, "b.py", &stamp_b, 2, &skip);
    for (int round = 0; round < 2; round++) {
        assert_true(finds(cache, "a.py", &stamp_a, &found));
        assert_false(found.is_skipped);
        assert_ptr_equal(found.file.language, complexity_language_named(SPAN("python")));
        assert_int_equal(found.file.lines, 100);
        assert_int_equal(found.file.code_lines, 70);
        assert_int_equal(found.file.comment_lines, 20);
        assert_int_equal(found.file.blank_lines, 10);
        assert_int_equal(found.file.n_errors, 2);
        assert_int_equal(found.file.first_error_line, 300);
        assert_int_equal(found.file.n_functions, 2);
        function_is(&found.file.functions[0], &functions[0]);
        function_is(&found.file.functions[1], &functions[1]);
        assert_true(finds(cache, "b.py", &stamp_b, &found));
        assert_true(found.is_skipped);
        assert_int_equal(found.reason, COMPLEXITY_SKIP_TOO_LARGE);
        rig_span_is(found.detail, "20 MB");
        cache = reopen(cache);
    }
    (void)complexity_cache_free(cache);
}

static void every_part_of_the_stamp_counts(void **state)
{
    ComplexityCached what = measured("c", NULL, 0);
    ComplexityCache *cache = new_cache();
    ComplexityStamp stamp = stamp_a;
    ComplexityCached found;

    (void)state;
    put(cache, "a.c", &stamp_a, 1, &what);
    stamp.size++;
    assert_false(finds(cache, "a.c", &stamp, &found));
    stamp = stamp_a;
    stamp.mtime_ns++;
    assert_false(finds(cache, "a.c", &stamp, &found));
    stamp = stamp_a;
    stamp.ctime_ns++;
    assert_false(finds(cache, "a.c", &stamp, &found));
    stamp = stamp_a;
    stamp.inode++;
    assert_false(finds(cache, "a.c", &stamp, &found));
    assert_false(finds(cache, "A.c", &stamp_a, &found));
    assert_true(finds(cache, "a.c", &stamp_a, &found));
    (void)complexity_cache_free(cache);
}

static void zero_stamp_is_found_by_content_only(void **state)
{
    ComplexityCached what = measured("c", NULL, 0);
    ComplexityCache *cache = new_cache();
    ComplexityCached found;

    (void)state;
    put(cache, "a.c", &stamp_zero, 1, &what);
    cache = reopen(cache);
    assert_false(finds(cache, "a.c", &stamp_zero, &found));
    assert_false(finds(cache, "a.c", &stamp_a, &found));
    assert_false(finds_content(cache, "a.c", &stamp_a, 2, &found));
    assert_true(finds_content(cache, "a.c", &stamp_a, 1, &found));
    assert_true(finds(cache, "a.c", &stamp_a, &found));
    (void)complexity_cache_free(cache);
}

static void moved_file_is_found_by_content_and_then_by_stamp(void **state)
{
    ComplexityFunction function = distinct_function();
    ComplexityCached what = measured("c", &function, 1);
    ComplexityCache *cache = new_cache();
    ComplexityCached found;

    (void)state;
    put(cache, "old/a.c", &stamp_a, 1, &what);
    cache = reopen(cache);
    assert_false(complexity_cache_changed(cache));
    assert_true(finds_content(cache, "new/b.c", &stamp_b, 1, &found));
    function_is(&found.file.functions[0], &function);
    assert_true(complexity_cache_changed(cache));
    cache = reopen(cache);
    assert_true(finds(cache, "new/b.c", &stamp_b, &found));
    function_is(&found.file.functions[0], &function);
    /* Where it was it is no more. */
    assert_false(finds(cache, "old/a.c", &stamp_a, &found));
    (void)complexity_cache_free(cache);
}

/* Empty files of two languages have the same content. */
static void content_under_a_name_of_another_kind_is_not_found(void **state)
{
    static const struct {
        const char *known;
        const char *asked;
        bool found;
    } cases[] = {
        {"a.py", "b.py", true},
        {"a.py", "b.rs", false},
        {"a.py", "py", false},
        {"py", "b.py", false},
        {"x/Rakefile", "y/Rakefile", true},
        {"Rakefile", "Gemfile", false},
        {"a.b/c", "d.b/e", false},
        {"a.d.ts", "b.ts", true},
        {".py", "x.py", true},
    };

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        ComplexityCached what = measured("python", NULL, 0);
        ComplexityCache *cache = new_cache();
        ComplexityCached found;

        put(cache, cases[i].known, &stamp_a, 1, &what);
        assert_int_equal(finds_content(cache, cases[i].asked, &stamp_b, 1, &found), cases[i].found);
        (void)complexity_cache_free(cache);
    }
}

/* Its own name may have been the reason. */
static void skipped_content_is_found_under_its_own_path_only(void **state)
{
    ComplexityCached what = skipped(COMPLEXITY_SKIP_GENERATED, "");
    ComplexityCache *cache = new_cache();
    ComplexityCached found;

    (void)state;
    put(cache, "a.pb.go", &stamp_a, 1, &what);
    assert_false(finds_content(cache, "b.go", &stamp_b, 1, &found));
    assert_true(finds_content(cache, "a.pb.go", &stamp_b, 1, &found));
    assert_true(found.is_skipped);
    (void)complexity_cache_free(cache);
}

static void newer_entry_takes_the_place_of_the_older(void **state)
{
    ComplexityFunction function = distinct_function();
    ComplexityCached old = measured("c", NULL, 0);
    ComplexityCached new = measured("c", &function, 1);
    ComplexityCache *cache = new_cache();
    ComplexityCached found;
    ComplexityCached borrowed;

    (void)state;
    put(cache, "a.c", &stamp_a, 1, &old);
    assert_true(finds(cache, "a.c", &stamp_a, &borrowed));
    put(cache, "a.c", &stamp_b, 2, &new);
    assert_false(finds(cache, "a.c", &stamp_a, &found));
    assert_true(finds(cache, "a.c", &stamp_b, &found));
    assert_int_equal(found.file.n_functions, 1);
    /* What was found before is still there, and what it was too: a file that is put back. */
    assert_int_equal(borrowed.file.n_functions, 0);
    assert_true(finds_content(cache, "a.c", &stamp_a, 1, &found));
    assert_int_equal(found.file.n_functions, 0);
    cache = reopen(cache);
    assert_true(finds(cache, "a.c", &stamp_a, &found));
    assert_int_equal(found.file.n_functions, 0);
    assert_false(finds_content(cache, "a.c", &stamp_a, 2, &found));
    (void)complexity_cache_free(cache);
}

static void what_is_gone_from_the_project_goes_from_the_cache(void **state)
{
    ComplexityCached what = measured("c", NULL, 0);
    ComplexityCache *cache = new_cache();
    ComplexityCached found;

    (void)state;
    assert_false(complexity_cache_changed(cache));
    put(cache, "a.c", &stamp_a, 1, &what);
    put(cache, "b.c", &stamp_a, 2, &what);
    assert_true(complexity_cache_changed(cache));
    cache = reopen(cache);
    assert_true(finds(cache, "b.c", &stamp_a, &found));
    assert_false(complexity_cache_changed(cache));
    cache = reopen(cache);
    assert_false(finds(cache, "a.c", &stamp_a, &found));
    assert_true(finds(cache, "b.c", &stamp_a, &found));
    (void)complexity_cache_free(cache);
}

static void part_of_a_project_leaves_the_rest_in_the_cache(void **state)
{
    ComplexityCached what = measured("c", NULL, 0);
    ComplexityCache *cache = new_cache();
    ComplexityCached found;

    (void)state;
    put(cache, "a.c", &stamp_a, 1, &what);
    put(cache, "b.c", &stamp_a, 2, &what);
    cache = reopen(cache);
    complexity_cache_keep_all(cache);
    put(cache, "a.c", &stamp_b, 3, &what);
    cache = reopen(cache);
    assert_true(finds(cache, "b.c", &stamp_a, &found));
    assert_true(finds(cache, "a.c", &stamp_b, &found));
    (void)complexity_cache_free(cache);
}

/* All that a thousand files say, in whichever order they were put. */
static Bytes thousand(bool backwards)
{
    ComplexityCache *cache = new_cache();
    ComplexityFunction function = distinct_function();
    Bytes kept;

    for (int i = 0; i < 1000; i++) {
        int k = backwards ? 999 - i : i;
        ComplexityCached what = measured("c", &function, 1);
        char path[32];

        (void)snprintf(path, sizeof(path), "dir/file%d.c", k);
        function.cyclomatic = (uint32_t)k;
        /* Many of the same content, as empty files are. */
        put(cache, path, &(ComplexityStamp){(uint64_t)k, k, k, 9}, k % 10 == 0 ? 0 : k, &what);
    }
    kept = write_cache(cache);
    (void)complexity_cache_free(cache);
    return kept;
}

static void many_entries_are_found_and_kept_in_one_order(void **state)
{
    Bytes kept = thousand(false);
    Bytes other = thousand(true);
    ComplexityCache *cache = new_cache();
    ComplexityCached found;

    (void)state;
    assert_int_equal(kept.n, other.n);
    assert_memory_equal(kept.data, other.data, kept.n);
    assert_int_equal(complexity_cache_read(cache, bytes_span(&kept)), 0);
    for (int i = 0; i < 1000; i++) {
        char path[32];

        (void)snprintf(path, sizeof(path), "dir/file%d.c", i);
        assert_true(finds(cache, path, &(ComplexityStamp){(uint64_t)i, i, i, 9}, &found));
        assert_int_equal(found.file.functions[0].cyclomatic, i);
    }
    bytes_deinit(&other);
    other = write_cache(cache);
    assert_int_equal(kept.n, other.n);
    assert_memory_equal(kept.data, other.data, kept.n);
    (void)complexity_cache_free(cache);
    bytes_deinit(&kept);
    bytes_deinit(&other);
}

static int whole_cache(void *context)
{
    const Bytes *kept = context;
    ComplexityFunction function = distinct_function();
    ComplexityCached what = measured("python", &function, 1);
    ComplexityCache *cache = NULL;
    ComplexityCached found;
    Hash hash = hash_of(3);
    Bytes out;
    int r = complexity_cache_new(&cache);

    if (r != 0) {
        return r;
    }
    bytes_init(&out, RIG_BYTES);
    r = complexity_cache_read(cache, bytes_span(kept));
    /* Not found for want of memory is not found; then the file is measured, and put. */
    if (r == 0 && !finds(cache, "a.py", &stamp_a, &found)) {
        r = -ENOMEM;
    }
    if (r == 0 && !finds_content(cache, "c.py", &stamp_b, 1, &found)) {
        r = -ENOMEM;
    }
    for (int i = 0; i < 70 && r == 0; i++) {
        char path[16];

        (void)snprintf(path, sizeof(path), "p%d.py", i);
        r = complexity_cache_put(cache, span_from_str(path), &stamp_a, hash.bytes, &what);
    }
    if (r == 0) {
        r = complexity_cache_write(cache, &out);
        assert_true(r == 0 || out.n == 0);
    }
    bytes_deinit(&out);
    (void)complexity_cache_free(cache);
    return r;
}

static void cache_survives_want_of_memory(void **state)
{
    Bytes kept = small_cache();

    (void)state;
    test_oom_sweep(whole_cache, &kept);
    bytes_deinit(&kept);
    assert_null(complexity_cache_free(NULL));
}

static void full_output_is_left_as_it_was(void **state)
{
    Bytes kept = small_cache();
    ComplexityCache *cache = new_cache();
    ComplexityCached found;

    (void)state;
    assert_int_equal(complexity_cache_read(cache, bytes_span(&kept)), 0);
    assert_true(finds(cache, "a.py", &stamp_a, &found));
    assert_true(finds(cache, "b.py", &stamp_b, &found));
    for (size_t max = 3; max < kept.n + 3; max++) {
        Bytes out;

        bytes_init(&out, max);
        assert_int_equal(bytes_append(&out, "abc", 3), 0);
        assert_int_equal(complexity_cache_write(cache, &out), BYTES_E_FULL);
        assert_int_equal(out.n, 3);
        bytes_deinit(&out);
    }
    (void)complexity_cache_free(cache);
    bytes_deinit(&kept);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_found_before_and_after_it_was_kept),
        cmocka_unit_test(every_part_of_the_stamp_counts),
        cmocka_unit_test(zero_stamp_is_found_by_content_only),
        cmocka_unit_test(moved_file_is_found_by_content_and_then_by_stamp),
        cmocka_unit_test(content_under_a_name_of_another_kind_is_not_found),
        cmocka_unit_test(skipped_content_is_found_under_its_own_path_only),
        cmocka_unit_test(newer_entry_takes_the_place_of_the_older),
        cmocka_unit_test(what_is_gone_from_the_project_goes_from_the_cache),
        cmocka_unit_test(part_of_a_project_leaves_the_rest_in_the_cache),
        cmocka_unit_test(many_entries_are_found_and_kept_in_one_order),
        cmocka_unit_test(cache_survives_want_of_memory),
        cmocka_unit_test(full_output_is_left_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
