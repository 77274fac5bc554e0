/* nftw */
#define _XOPEN_SOURCE 700

#include "io/tree.h"

#include "support/cmocka.h"

#include <ftw.h>
#include <limits.h>

#include "io/tree_lines.h"
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

static void make_folder(const char *name)
{
    assert_int_equal(mkdir(scratch_path(name), 0700), 0);
}

static int put(const char *path, const char *content, bool replace, Diag *diag)
{
    return io_tree_write(scratch, path, span_from_str(content), false, replace, diag);
}

static IoTreeLook look(const char *path, const char *content)
{
    IoTreeLook ret = {.n_added = 99};

    assert_int_equal(io_tree_look(scratch, path, span_from_str(content), false, &ret, NULL), 0);
    return ret;
}

static void assert_content(const char *path, const char *content)
{
    char text[256] = "";
    Bytes out;

    bytes_init(&out, sizeof(text) - 1);
    assert_int_equal(io_tree_read(scratch, path, &out, NULL), 0);
    assert_int_equal(out.n, strlen(content));
    if (out.n > 0) {
        assert_memory_equal(out.data, content, out.n);
    }
    bytes_deinit(&out);
}

static void a_file_is_written_with_its_folders(void **state)
{
    (void)state;
    assert_int_equal(put("a/b/c.txt", "one\n", false, NULL), 0);
    assert_content("a/b/c.txt", "one\n");
    assert_int_equal(put("empty", "", false, NULL), 0);
    assert_content("empty", "");
    assert_int_equal(io_tree_write(scratch, "run.sh", SPAN("#!\n"), true, false, NULL), 0);
    assert_true((scratch_mode(scratch_path("run.sh")) & S_IXUSR) != 0);
    assert_true((scratch_mode(scratch_path("empty")) & (S_IXUSR | S_IXGRP | S_IXOTH)) == 0);
    assert_int_equal(scratch_count(false), 3); /* nothing hidden is left */
}

static void nothing_is_replaced_unless_asked_for(void **state)
{
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(put("a", "old", false, NULL), 0);
    assert_int_equal(put("a", "new", false, &diag), IO_TREE_E_EXISTS);
    assert_string_equal(diag.message, "a is there already");
    assert_content("a", "old");
    assert_int_equal(put("a", "new", true, NULL), 0);
    assert_content("a", "new");
    assert_int_equal(put("b", "first", true, NULL), 0); /* nothing there: no fault */
    assert_int_equal(scratch_count(false), 2);
}

/* 0600 is what a key or a password is kept with. */
static void a_file_that_is_replaced_keeps_who_may_use_it(void **state)
{
    static const mode_t modes[] = {0600, 0640, 0666, 0444, 0400, 0755};
    mode_t mask = umask(022);

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(modes); i++) {
        scratch_write(scratch_path("f"), "old", 0600);
        assert_int_equal(chmod(scratch_path("f"), modes[i]), 0);
        assert_int_equal(put("f", "new", true, NULL), 0);
        assert_int_equal(scratch_mode(scratch_path("f")) & 07777, modes[i]);
        assert_int_equal(unlink(scratch_path("f")), 0);
    }
    assert_int_equal(put("new", "n", true, NULL), 0); /* replaces nothing: the mask decides */
    assert_int_equal(scratch_mode(scratch_path("new")) & 07777, 0644);
    (void)umask(mask);
}

static void owner_and_group_stay_where_the_system_lets_them(void **state)
{
    struct stat info;

    (void)state;
    if (geteuid() != 0) {
        skip(); /* nobody else gives files away */
    }
    scratch_write(scratch_path("f"), "old", 0640);
    assert_int_equal(chown(scratch_path("f"), 12, 34), 0);
    assert_int_equal(put("f", "new", true, NULL), 0);
    assert_int_equal(stat(scratch_path("f"), &info), 0);
    assert_int_equal(info.st_uid, 12);
    assert_int_equal(info.st_gid, 34);
    assert_int_equal(info.st_mode & 07777, 0640);
}

static void a_file_that_becomes_executable_is_so_for_its_readers(void **state)
{
    (void)state;
    scratch_write(scratch_path("f"), "old", 0600);
    assert_int_equal(chmod(scratch_path("f"), 0640), 0);
    assert_int_equal(io_tree_write(scratch, "f", SPAN("new"), true, true, NULL), 0);
    assert_int_equal(scratch_mode(scratch_path("f")) & 07777, 0750);
    /* What lets a file run as somebody else is not for new content. */
    assert_int_equal(chmod(scratch_path("f"), 04755), 0);
    assert_int_equal(io_tree_write(scratch, "f", SPAN("other"), true, true, NULL), 0);
    assert_int_equal(scratch_mode(scratch_path("f")) & 07777, 0755);
}

static void a_file_that_should_run_and_may_not_differs(void **state)
{
    IoTreeLook ret;

    (void)state;
    scratch_write(scratch_path("f"), "x", 0600);
    assert_int_equal(io_tree_look(scratch, "f", SPAN("x"), true, &ret, NULL), 0);
    assert_int_equal(ret.state, IO_TREE_DIFFERS);
    assert_int_equal(ret.n_added + ret.n_removed, 0);
    assert_int_equal(io_tree_write(scratch, "f", SPAN("x"), true, true, NULL), 0);
    assert_int_equal(io_tree_look(scratch, "f", SPAN("x"), true, &ret, NULL), 0);
    assert_int_equal(ret.state, IO_TREE_SAME);
    /* There are file systems on which all may be run. */
    assert_int_equal(io_tree_look(scratch, "f", SPAN("x"), false, &ret, NULL), 0);
    assert_int_equal(ret.state, IO_TREE_SAME);
    assert_int_equal(io_tree_look(scratch, "none", SPAN("x"), true, &ret, NULL), 0);
    assert_int_equal(ret.state, IO_TREE_NEW);
}

static void paths_that_leave_the_folder_are_refused(void **state)
{
    static const char *const paths[] = {"",      ".",  "..",   "../x", "a/../x", "/etc/x", "a//x",
                                        "a/./x", "a/", "x/..", "a\\b", "c:x",    "/"};
    IoTreeLook ret;
    Bytes out;
    Diag diag;

    (void)state;
    bytes_init(&out, 100);
    for (size_t i = 0; i < TW_ARRAY_SIZE(paths); i++) {
        diag = DIAG_NULL;
        assert_int_equal(put(paths[i], "x", true, &diag), IO_TREE_E_PLACE);
        assert_true(diag.message[0] != '\0');
        assert_int_equal(io_tree_look(scratch, paths[i], SPAN("x"), false, &ret, NULL),
                         IO_TREE_E_PLACE);
        assert_int_equal(io_tree_read(scratch, paths[i], &out, NULL), IO_TREE_E_PLACE);
    }
    bytes_deinit(&out);
    assert_int_equal(scratch_count(false), 0);
}

static void long_names_are_refused(void **state)
{
    char name[PATH_MAX + 1024];

    (void)state;
    memset(name, 'a', sizeof(name));
    name[256] = '\0';
    assert_int_equal(put(name, "x", false, NULL), IO_TREE_E_PLACE);
    name[256] = 'a';
    for (size_t i = 100; i < sizeof(name); i += 100) {
        name[i] = '/';
    }
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(put(name, "x", false, NULL), IO_TREE_E_PLACE);
    assert_int_equal(scratch_count(false), 0);
}

static void links_are_not_followed(void **state)
{
    const char *outside = scratch_path("outside");
    IoTreeLook ret;
    Diag diag = DIAG_NULL;
    Bytes out;

    (void)state;
    bytes_init(&out, 100);
    make_folder("outside");
    scratch_write(scratch_path("outside/secret"), "s", 0600);
    make_folder("root");
    assert_int_equal(symlink(outside, scratch_path("root/folder")), 0);
    assert_int_equal(symlink(scratch_path("outside/secret"), scratch_path("root/file")), 0);
    assert_int_equal(symlink(scratch_path("outside/new"), scratch_path("root/dangling")), 0);
    {
        const char *root = scratch_path("root");

        assert_int_equal(io_tree_write(root, "folder/x", SPAN("x"), false, true, &diag),
                         IO_TREE_E_PLACE);
        assert_non_null(strstr(diag.message, "a link or a file is in the way"));
        assert_int_equal(io_tree_write(root, "file", SPAN("x"), false, true, NULL),
                         IO_TREE_E_PLACE);
        assert_int_equal(io_tree_write(root, "file", SPAN("x"), false, false, NULL),
                         IO_TREE_E_EXISTS);
        assert_int_equal(io_tree_write(root, "dangling", SPAN("x"), false, true, NULL),
                         IO_TREE_E_PLACE);
        assert_int_equal(io_tree_write(root, "dangling", SPAN("x"), false, false, NULL),
                         IO_TREE_E_EXISTS);
        assert_int_equal(io_tree_look(root, "folder/secret", SPAN("s"), false, &ret, NULL),
                         IO_TREE_E_PLACE);
        assert_int_equal(io_tree_look(root, "file", SPAN("s"), false, &ret, NULL), IO_TREE_E_PLACE);
        assert_int_equal(io_tree_read(root, "folder/secret", &out, NULL), IO_TREE_E_PLACE);
        assert_int_equal(io_tree_read(root, "file", &out, NULL), IO_TREE_E_PLACE);
    }
    assert_content("outside/secret", "s");
    assert_false(scratch_exists(scratch_path("outside/new")));
    assert_false(scratch_exists(scratch_path("outside/x")));
    assert_int_equal(out.n, 0);
    bytes_deinit(&out);
}

static void what_is_no_file_is_in_the_way(void **state)
{
    IoTreeLook ret;

    (void)state;
    make_folder("folder");
    assert_int_equal(put("file", "f", false, NULL), 0);
    assert_int_equal(mkfifo(scratch_path("fifo"), 0600), 0);
    assert_int_equal(put("folder", "x", true, NULL), IO_TREE_E_PLACE);
    assert_int_equal(put("file/x", "x", true, NULL), IO_TREE_E_PLACE);
    assert_int_equal(put("fifo", "x", true, NULL), IO_TREE_E_PLACE);
    assert_int_equal(io_tree_look(scratch, "folder", SPAN("x"), false, &ret, NULL),
                     IO_TREE_E_PLACE);
    assert_int_equal(io_tree_look(scratch, "fifo", SPAN("x"), false, &ret, NULL), IO_TREE_E_PLACE);
    assert_int_equal(io_tree_look(scratch, "file/x", SPAN("x"), false, &ret, NULL),
                     IO_TREE_E_PLACE);
    assert_int_equal(scratch_count(false), 3);
}

static void a_root_that_is_not_there_is_an_error(void **state)
{
    Diag diag = DIAG_NULL;
    IoTreeLook ret;
    Bytes out;

    (void)state;
    bytes_init(&out, 10);
    assert_int_equal(io_tree_write("/nonexistent/x", "a", SPAN("a"), false, false, &diag), -ENOENT);
    assert_non_null(strstr(diag.message, "/nonexistent/x"));
    assert_int_equal(io_tree_look("/nonexistent/x", "a", SPAN("a"), false, &ret, NULL), -ENOENT);
    assert_int_equal(io_tree_read(scratch, "none", &out, NULL), -ENOENT);
    assert_int_equal(io_tree_read(scratch, "none/at/all", &out, NULL), -ENOENT);
    bytes_deinit(&out);
}

static void a_look_says_what_writing_would_do(void **state)
{
    IoTreeLook ret;

    (void)state;
    assert_int_equal(look("a/b", "x\n").state, IO_TREE_NEW);
    assert_int_equal(scratch_count(false), 0);
    assert_int_equal(put("a", "1\n2\n3\n", false, NULL), 0);
    assert_int_equal(look("a", "1\n2\n3\n").state, IO_TREE_SAME);
    ret = look("a", "1\nx\n3\n4\n");
    assert_int_equal(ret.state, IO_TREE_DIFFERS);
    assert_int_equal(ret.n_added, 2);
    assert_int_equal(ret.n_removed, 1);
    ret = look("a", "");
    assert_int_equal(ret.n_added, 0);
    assert_int_equal(ret.n_removed, 3);
    assert_content("a", "1\n2\n3\n");
}

static void a_try_leaves_nothing_behind(void **state)
{
    Diag diag = DIAG_NULL;

    (void)state;
    make_folder("folder");
    make_folder("closed");
    assert_int_equal(put("file", "f", false, NULL), 0);
    assert_int_equal(symlink("file", scratch_path("link")), 0);
    assert_int_equal(io_tree_try(scratch, "new", NULL), 0);
    assert_int_equal(io_tree_try(scratch, "file", NULL), 0);
    assert_int_equal(io_tree_try(scratch, "folder/new", NULL), 0);
    assert_int_equal(io_tree_try(scratch, "folder", &diag), IO_TREE_E_PLACE);
    assert_non_null(strstr(diag.message, "no regular file"));
    assert_int_equal(io_tree_try(scratch, "link", NULL), IO_TREE_E_PLACE);
    assert_int_equal(io_tree_try(scratch, "file/x", NULL), IO_TREE_E_PLACE);
    assert_int_equal(io_tree_try(scratch, "../x", NULL), IO_TREE_E_PLACE);
    assert_int_equal(io_tree_try(scratch, "missing/x", NULL), -ENOENT);
    assert_int_equal(io_tree_try("/nonexistent/x", "a", NULL), -ENOENT);
    assert_content("file", "f");
    /* Nobody but the superuser can write there. */
    assert_int_equal(chmod(scratch_path("closed"), 0500), 0);
    assert_int_equal(io_tree_try(scratch, "closed/x", NULL), geteuid() == 0 ? 0 : IO_TREE_E_PLACE);
    assert_int_equal(rmdir(scratch_path("closed")), 0);
    assert_int_equal(rmdir(scratch_path("folder")), 0);
    assert_int_equal(scratch_count(false), 2);
}

static void lines_are_counted_by_the_shortest_difference(void **state)
{
    static const struct {
        const char *before;
        const char *after;
        size_t n_added;
        size_t n_removed;
    } cases[] = {
        {"", "a\n", 1, 0},
        {"a", "a\n", 1, 1},
        {"a\nb\nc\na\nb\nb\na\n", "c\nb\na\nb\na\nc\n", 2, 3},
        {"a\nb\nc\n", "a\nc\n", 0, 1},
        {"a\nc\n", "a\nb\nc\n", 1, 0},
        {"b\na\n", "a\nb\n", 1, 1},
        {"a\nb\nc\nd\n", "w\nx\ny\nz\n", 4, 4},
        {"a\n", "b\nb\nb\nb\na\n", 4, 0},
        {"x\na\ny\n", "p\na\nq\nr\n", 3, 2},
    };
    IoTreeLook ret;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(cases); i++) {
        assert_int_equal(
            tree_compare(span_from_str(cases[i].before), span_from_str(cases[i].after), &ret), 0);
        assert_int_equal(ret.n_added, cases[i].n_added);
        assert_int_equal(ret.n_removed, cases[i].n_removed);
    }
}

/* Thousands of other lines are bounded, not searched. */
static void huge_differences_are_bounded(void **state)
{
    size_t n = 20000;
    char *before = malloc(n * 8);
    char *after = malloc(n * 8);
    size_t n_before = 0;
    size_t n_after = 0;
    IoTreeLook ret;

    (void)state;
    assert_true(before != NULL && after != NULL);
    for (size_t i = 0; i < n; i++) {
        n_before += (size_t)snprintf(before + n_before, 8, "%05zu\n", i);
        n_after += (size_t)snprintf(after + n_after, 8, "x%05zu\n", i);
    }
    assert_int_equal(tree_compare(span_make(before, n_before), span_make(after, n_after), &ret), 0);
    assert_int_equal(ret.n_added, n);
    assert_int_equal(ret.n_removed, n);
    free(before);
    free(after);
}

static void folders_are_listed_by_name(void **state)
{
    char **names = NULL;
    size_t n = 0;

    (void)state;
    make_folder("b");
    make_folder("a");
    make_folder(".hidden");
    scratch_write(scratch_path("file"), "", 0600);
    assert_int_equal(symlink(scratch_path("a"), scratch_path("link")), 0);
    assert_int_equal(io_tree_folders(scratch, &names, &n), 0);
    assert_int_equal(n, 2);
    assert_string_equal(names[0], "a");
    assert_string_equal(names[1], "b");
    assert_null(names[2]);
    names = io_tree_names_free(names);
    assert_int_equal(io_tree_folders(scratch_path("none"), &names, &n), -ENOENT);
    assert_int_equal(io_tree_folders(scratch_path("file"), &names, &n), -ENOTDIR);
    assert_null(io_tree_names_free(NULL));
}

static uint64_t state_of(const char *path)
{
    uint64_t ret = 99;

    assert_int_equal(io_tree_state(path, &ret), 0);
    return ret;
}

static void the_state_changes_with_what_is_beneath(void **state)
{
    uint64_t states[6];

    (void)state;
    assert_int_equal(state_of(scratch_path("none")), 0);
    states[0] = state_of(scratch);
    make_folder("a");
    states[1] = state_of(scratch);
    assert_int_equal(put("a/deep/x", "1", false, NULL), 0);
    states[2] = state_of(scratch);
    assert_int_equal(put("a/deep/x", "2", true, NULL), 0);
    states[3] = state_of(scratch);
    assert_int_equal(rename(scratch_path("a/deep/x"), scratch_path("a/deep/y")), 0);
    states[4] = state_of(scratch);
    assert_int_equal(unlink(scratch_path("a/deep/y")), 0);
    states[5] = state_of(scratch);
    for (size_t i = 0; i < TW_ARRAY_SIZE(states); i++) {
        assert_true(states[i] != 0);
        for (size_t j = 0; j < i; j++) {
            assert_true(states[i] != states[j]);
        }
    }
    assert_int_equal(state_of(scratch), states[5]);
    assert_int_equal(put(".hidden", "1", false, NULL), 0);
    assert_int_equal(state_of(scratch), states[5]);
    /* A link is a thing of its own, and no way to elsewhere: this one would lead in circles. */
    assert_int_equal(symlink(scratch, scratch_path("circle")), 0);
    assert_true(state_of(scratch) != states[5]);
}

static void too_long_a_file_is_told_apart(void **state)
{
    Bytes out;

    (void)state;
    bytes_init(&out, 3);
    assert_int_equal(put("a", "1234", false, NULL), 0);
    assert_int_equal(io_tree_read(scratch, "a", &out, NULL), BYTES_E_FULL);
    assert_int_equal(out.n, 0);
    bytes_deinit(&out);
}

static int everything(void *context)
{
    char **names = NULL;
    IoTreeLook ret;
    uint64_t sum;
    Bytes out;
    size_t n;
    int r;

    (void)context;
    bytes_init(&out, 100);
    r = io_tree_write(scratch, "f/x", SPAN("a\nb\n"), false, true, NULL);
    r = r != 0 ? r : io_tree_look(scratch, "f/x", SPAN("b\nc\n"), false, &ret, NULL);
    r = r != 0 ? r : io_tree_read(scratch, "f/x", &out, NULL);
    r = r != 0 ? r : io_tree_folders(scratch, &names, &n);
    r = r != 0 ? r : io_tree_state(scratch, &sum);
    (void)io_tree_names_free(names);
    bytes_deinit(&out);
    return r;
}

static void no_memory_leaves_nothing_behind(void **state)
{
    int fd = scratch_next_fd();

    (void)state;
    test_oom_sweep(everything, NULL);
    assert_int_equal(scratch_next_fd(), fd);
    assert_int_equal(scratch_count(false), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_is_written_with_its_folders, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_replaced_unless_asked_for, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_is_replaced_keeps_who_may_use_it, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(owner_and_group_stay_where_the_system_lets_them, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_file_that_becomes_executable_is_so_for_its_readers, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_file_that_should_run_and_may_not_differs, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(paths_that_leave_the_folder_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(long_names_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(links_are_not_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_file_is_in_the_way, setup, teardown),
        cmocka_unit_test_setup_teardown(a_root_that_is_not_there_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(a_look_says_what_writing_would_do, setup, teardown),
        cmocka_unit_test_setup_teardown(a_try_leaves_nothing_behind, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_are_counted_by_the_shortest_difference, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(huge_differences_are_bounded, setup, teardown),
        cmocka_unit_test_setup_teardown(folders_are_listed_by_name, setup, teardown),
        cmocka_unit_test_setup_teardown(the_state_changes_with_what_is_beneath, setup, teardown),
        cmocka_unit_test_setup_teardown(too_long_a_file_is_told_apart, setup, teardown),
        cmocka_unit_test_setup_teardown(no_memory_leaves_nothing_behind, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
