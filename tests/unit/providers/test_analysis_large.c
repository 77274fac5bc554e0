/* Large files are measured one at a time, however many threads there are: the trees of two would be
 * twice the memory. */
/* nftw */
#define _XOPEN_SOURCE 700

#include "unit/providers/analysis_rig.h"

#include "io/work.h"

#define LINE "int f(int a) { return a ? 1 : 2; }\n"

/* Of a bit more than a mebibyte, which no two have alike. */
static void put_large(const Rig *rig, const char *path, unsigned seed)
{
    Bytes text;

    bytes_init(&text, RIG_BYTES);
    assert_int_equal(bytes_append_format(&text, "int x = %u;\n", seed), 0);
    while (text.n <= (size_t)1100 * 1024) {
        assert_int_equal(bytes_append_span(&text, SPAN(LINE)), 0);
    }
    assert_int_equal(bytes_append_byte(&text, '\0'), 0);
    rig_put(rig, path, text.data);
    bytes_deinit(&text);
}

static void put_small(const Rig *rig, unsigned n, unsigned seed)
{
    for (unsigned i = 0; i < n; i++) {
        char path[32];
        char text[64];

        (void)snprintf(path, sizeof(path), "small%02u.c", i);
        (void)snprintf(text, sizeof(text), LINE "int x = %u;\n", seed);
        rig_put(rig, path, text);
    }
}

static void large_files_are_measured_one_at_a_time(void **state)
{
    Rig *rig = *state;
    AnalysisFiles files = {.path = rig->project, .no_cache = true};

    put_large(rig, "a.c", 1);
    put_large(rig, "b.c", 2);
    put_large(rig, "c.c", 3);
    put_small(rig, 20, 1);
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(rig->report.n_files, 23);
    assert_int_equal(atomic_load(&rig->watch.most_large), 1);
    assert_int_equal(atomic_load(&rig->watch.large), 0);
}

/* Both states; neither is as large as it is known to be before it is read. */
static void large_states_of_a_revision_are_measured_one_at_a_time(void **state)
{
    Rig *rig = *state;
    AnalysisFiles files = {.path = rig->project, .no_cache = true, .since = "HEAD"};

    rig_init_repository(rig);
    put_large(rig, "a.c", 1);
    put_large(rig, "b.c", 2);
    put_small(rig, 40, 1);
    rig_commit(rig, "one");
    put_large(rig, "a.c", 3);
    put_large(rig, "b.c", 4);
    put_small(rig, 40, 2);
    assert_int_equal(rig_complexity(rig, &files), 0);
    assert_int_equal(rig->report.n_files, 42);
    assert_int_equal(rig->before.n_files, 42);
    for (size_t i = 0; i < 42; i++) {
        assert_int_equal(rig->before.files[i].file.n_functions,
                         rig->report.files[i].file.n_functions);
    }
    assert_int_equal(atomic_load(&rig->watch.most_large), 1);
    assert_int_equal(atomic_load(&rig->watch.done), atomic_load(&rig->watch.total));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(large_files_are_measured_one_at_a_time, rig_setup,
                                        rig_teardown),
        cmocka_unit_test_setup_teardown(large_states_of_a_revision_are_measured_one_at_a_time,
                                        rig_setup, rig_teardown),
    };

    if (rig_try_git("/tmp", "--version") != 0 || io_work_cores() < 2) {
        print_message("there is no git here, or one core only\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
