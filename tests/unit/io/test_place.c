#include "support/cmocka.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/place.h"
#include "support/oom_sweep.h"
#include "unit/io/scratch.h"

static void folder_is_what_stands_before_the_last_slash(void **state)
{
    (void)state;
    assert_int_equal(io_place_folder_length("name"), 0);
    assert_int_equal(io_place_folder_length("a/b/name"), 4);
    assert_int_equal(io_place_folder_length("/name"), 1);
    assert_null(io_place_last_slash("name"));
    assert_string_equal(io_place_last_slash("a/b/name"), "/name");
}

static void absolute_paths_begin_with_a_slash(void **state)
{
    (void)state;
    assert_true(io_place_is_absolute("/a"));
    assert_false(io_place_is_absolute("a/b"));
    assert_false(io_place_is_absolute(""));
    assert_false(io_place_is_absolute("C:\\a"));
    assert_false(io_place_is_pipe_name("\\\\.\\pipe\\a"));
}

static void absolute_path_stays_as_it_is(void **state)
{
    char *path = NULL;

    (void)state;
    assert_int_equal(io_place_absolute(&path, "/a/../b"), 0);
    assert_string_equal(path, "/a/../b");
    path = mem_free(path);
}

static void relative_path_is_seen_from_the_working_folder(void **state)
{
    char before[256];
    char *path = NULL;

    (void)state;
    assert_non_null(getcwd(before, sizeof(before)));
    assert_int_equal(chdir(scratch), 0);
    assert_int_equal(io_place_absolute(&path, "x.sock"), 0);
    assert_string_equal(path, scratch_path("x.sock"));
    path = mem_free(path);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(io_place_absolute(&path, "x.sock"), 0);
    assert_string_equal(path, "/x.sock");
    path = mem_free(path);
    assert_int_equal(chdir(before), 0);
}

static void real_path_follows_links_and_dots(void **state)
{
    char *path = NULL;
    char *real_scratch = NULL;

    (void)state;
    assert_int_equal(io_place_real(&path, scratch_path("file")), -ENOENT);
    scratch_write(scratch_path("file"), "x", 0600);
    assert_int_equal(symlink("file", scratch_path("link")), 0);
    assert_int_equal(io_place_real(&real_scratch, scratch), 0);
    assert_int_equal(io_place_real(&path, scratch_path("./link")), 0);
    assert_int_equal(strncmp(path, real_scratch, strlen(real_scratch)), 0);
    assert_string_equal(path + strlen(real_scratch), "/file");
    path = mem_free(path);
    real_scratch = mem_free(real_scratch);
}

static int scenario_real(void *context)
{
    char *path = NULL;
    int r = io_place_real(&path, "/");

    (void)context;
    path = mem_free(path);
    return r;
}

static int scenario_absolute(void *context)
{
    char *path = NULL;
    int r = io_place_absolute(&path, "x");

    (void)context;
    path = mem_free(path);
    return r;
}

static void absolute_paths_survive_lack_of_memory(void **state)
{
    (void)state;
    test_oom_sweep(scenario_absolute, NULL);
    test_oom_sweep(scenario_real, NULL);
}

static void file_exists_and_a_link_to_it_is_none(void **state)
{
    const char *file = scratch_path("file");
    const char *link_path = scratch_path("link");

    (void)state;
    assert_false(io_place_exists(file));
    assert_false(io_place_is_file(file));
    scratch_write(file, "x", 0600);
    assert_int_equal(symlink(file, link_path), 0);
    assert_true(io_place_exists(file));
    assert_true(io_place_exists(link_path));
    assert_true(io_place_is_file(file));
    assert_false(io_place_is_file(link_path));
    assert_false(io_place_is_file(scratch));
}

static void names_differ_by_case(void **state)
{
    (void)state;
    assert_true(io_place_is_same_name("a", "a"));
    assert_false(io_place_is_same_name("a", "A"));
}

static void lack_of_a_folder_is_the_fault_of_the_path(void **state)
{
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(io_place_fail(&diag, 7, ENOENT, "make", "/x/y"), 7);
    assert_non_null(strstr(diag.message, "cannot make /x/y: there is no such folder"));
    assert_int_equal(io_place_fail(&diag, 7, EIO, "make", "/x/y"), -EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folder_is_what_stands_before_the_last_slash),
        cmocka_unit_test(absolute_paths_begin_with_a_slash),
        cmocka_unit_test(absolute_path_stays_as_it_is),
        cmocka_unit_test_setup_teardown(relative_path_is_seen_from_the_working_folder,
                                        scratch_setup, scratch_teardown),
        cmocka_unit_test(absolute_paths_survive_lack_of_memory),
        cmocka_unit_test_setup_teardown(file_exists_and_a_link_to_it_is_none, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test_setup_teardown(real_path_follows_links_and_dots, scratch_setup,
                                        scratch_teardown),
        cmocka_unit_test(names_differ_by_case),
        cmocka_unit_test(lack_of_a_folder_is_the_fault_of_the_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
