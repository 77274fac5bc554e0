/* nftw */
#define _XOPEN_SOURCE 700

#include "io/keep.h"

#include "support/cmocka.h"

#include <ftw.h>

#include "base/alloc.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "unit/io/scratch.h"

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

static int setup(void **state)
{
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    return scratch_setup(state);
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(alloc_testing()->n_live, 0);
    assert_int_equal(nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    return 0;
}

static void assert_kept(const char *path, int result, const char *content)
{
    Bytes out;

    bytes_init(&out, 10);
    assert_int_equal(io_keep_read(path, &out), result);
    assert_int_equal(out.n, strlen(content));
    if (out.n > 0) {
        assert_memory_equal(out.data, content, out.n);
    }
    bytes_deinit(&out);
}

static void assert_folder(const char *expected)
{
    char *folder = NULL;

    assert_int_equal(io_keep_folder(&folder), 0);
    assert_string_equal(folder, expected);
    (void)mem_free(folder);
}

static void a_new_file_takes_no_name_from_another(void **state)
{
    const char *path = scratch_path("made");

    (void)state;
    assert_int_equal(io_keep_make(path, SPAN("first")), 0);
    assert_int_equal(io_keep_make(path, SPAN("second")), -EEXIST);
    assert_kept(path, 0, "first");
    assert_int_equal(scratch_count(false), 1);
    assert_int_equal(io_keep_make(scratch_path("none/made"), SPAN("x")), -ENOENT);
}

static void the_folder_is_where_the_specification_wants_it(void **state)
{
    char *folder = NULL;
    char under_home[512];
    char missing[512];

    (void)state;
    (void)snprintf(under_home, sizeof(under_home), "%s/.local/state/toolwire", scratch);
    (void)snprintf(missing, sizeof(missing), "%s/gone", scratch);
    assert_int_equal(setenv("XDG_STATE_HOME", "/state", 1), 0);
    assert_int_equal(setenv("HOME", scratch, 1), 0);
    assert_folder("/state/toolwire");
    assert_int_equal(setenv("XDG_STATE_HOME", "relative", 1), 0);
    assert_folder(under_home);
    assert_int_equal(unsetenv("XDG_STATE_HOME"), 0);
    assert_folder(under_home);
    assert_int_equal(setenv("HOME", missing, 1), 0);
    assert_int_equal(io_keep_folder(&folder), -ENOENT);
    assert_int_equal(unsetenv("HOME"), 0);
    assert_int_equal(io_keep_folder(&folder), -ENOENT);
    assert_null(folder);
}

static void a_file_is_kept_in_folders_of_ones_own(void **state)
{
    const char *path = scratch_path("a/b/table");
    mode_t mask = umask(0);

    (void)state;
    assert_kept(path, -ENOENT, "");
    assert_int_equal(io_keep_write(path, SPAN("one")), 0);
    assert_kept(path, 0, "one");
    assert_int_equal(scratch_mode(path), 0600);
    assert_int_equal(scratch_mode(scratch_path("a")), 0700);
    assert_int_equal(scratch_mode(scratch_path("a/b")), 0700);
    (void)umask(mask);
}

static void a_file_is_replaced_as_a_whole(void **state)
{
    const char *path = scratch_path("table");
    ino_t before;

    (void)state;
    assert_int_equal(io_keep_write(path, SPAN("long one")), 0);
    before = scratch_inode(path);
    assert_int_equal(io_keep_write(path, SPAN("two")), 0);
    assert_true(scratch_inode(path) != before);
    assert_kept(path, 0, "two");
    assert_int_equal(io_keep_write(path, SPAN("")), 0);
    assert_kept(path, 0, "");
    assert_int_equal(scratch_count(false), 1); /* nothing beside it */
}

static void what_others_may_have_written_is_not_read(void **state)
{
    const char *path = scratch_path("table");

    (void)state;
    scratch_write(path, "x", 0620);
    assert_kept(path, -EPERM, "");
    assert_int_equal(chmod(path, 0602), 0);
    assert_kept(path, -EPERM, "");
    assert_int_equal(chmod(path, 0644), 0); /* may be read by all */
    assert_kept(path, 0, "x");
    if (chown(path, SCRATCH_STRANGER, (gid_t)-1) == 0) {
        assert_kept(path, -EPERM, "");
    }
    assert_int_equal(symlink("table", scratch_path("link")), 0);
    assert_kept(scratch_path("link"), -EPERM, "");
    assert_int_equal(mkfifo(scratch_path("pipe"), 0600), 0);
    assert_kept(scratch_path("pipe"), -EPERM, "");
}

static void one_that_is_too_long_is_not_read(void **state)
{
    (void)state;
    assert_int_equal(io_keep_write(scratch_path("table"), SPAN("0123456789x")), 0);
    assert_kept(scratch_path("table"), BYTES_E_FULL, "");
}

static void a_file_in_the_way_is_a_fault(void **state)
{
    (void)state;
    scratch_write(scratch_path("f"), "x", 0600);
    assert_int_equal(io_keep_write(scratch_path("f/table"), SPAN("1")), -ENOTDIR);
    assert_int_equal(mkdir(scratch_path("d"), 0700), 0);
    assert_int_equal(io_keep_write(scratch_path("d"), SPAN("1")), -EISDIR);
    assert_int_equal(scratch_count(false), 2);
}

static int sweep(void *context)
{
    char *folder = NULL;
    Bytes out;
    int r = io_keep_folder(&folder);

    (void)context;
    bytes_init(&out, 10);
    if (r == 0) {
        r = io_keep_write(scratch_path("x/table"), SPAN("1"));
    }
    if (r == 0) {
        r = io_keep_read(scratch_path("x/table"), &out);
    }
    bytes_deinit(&out);
    (void)mem_free(folder);
    return r;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(setenv("XDG_STATE_HOME", "/state", 1), 0);
    test_oom_sweep(sweep, NULL);
}

#define KEEP_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        KEEP_TEST(the_folder_is_where_the_specification_wants_it),
        KEEP_TEST(a_file_is_kept_in_folders_of_ones_own),
        KEEP_TEST(a_file_is_replaced_as_a_whole),
        KEEP_TEST(a_new_file_takes_no_name_from_another),
        KEEP_TEST(what_others_may_have_written_is_not_read),
        KEEP_TEST(one_that_is_too_long_is_not_read),
        KEEP_TEST(a_file_in_the_way_is_a_fault),
        KEEP_TEST(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
