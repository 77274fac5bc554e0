/* nftw */
#define _XOPEN_SOURCE 700

#include "io/folder.h"

#include "support/cmocka.h"

#include <ftw.h>
#include <time.h>

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
    (void)scratch_setup(state);
    assert_int_equal(mkdir(scratch_path("root"), 0700), 0);
    assert_int_equal(mkdir(scratch_path("root/a"), 0700), 0);
    assert_int_equal(mkdir(scratch_path("root/a/b"), 0700), 0);
    scratch_write(scratch_path("root/a/b/deep.c"), "int x;\n", 0600);
    scratch_write(scratch_path("root/z.c"), "0123456789", 0600);
    scratch_write(scratch_path("root/empty"), "", 0600);
    scratch_write(scratch_path("secret"), "out", 0600);
    assert_int_equal(symlink("../secret", scratch_path("root/link")), 0);
    assert_int_equal(symlink("..", scratch_path("root/up")), 0);
    assert_int_equal(mkfifo(scratch_path("root/pipe"), 0600), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(alloc_testing()->n_live, 0);
    assert_int_equal(nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    return 0;
}

static IoFolder *open_root(void)
{
    IoFolder *folder = NULL;

    assert_int_equal(io_folder_open(&folder, scratch_path("root")), 0);
    return folder;
}

static void assert_reads(IoFolder *folder, const char *path, int result, const char *content)
{
    Bytes out;

    bytes_init(&out, 100);
    assert_int_equal(bytes_append(&out, "<", 1), 0);
    assert_int_equal(io_folder_read(folder, path, &out, NULL), result);
    assert_int_equal(out.n, 1 + strlen(content));
    assert_memory_equal(out.data + 1, content, strlen(content));
    bytes_deinit(&out);
}

static void a_folder_is_listed_by_the_bytes_of_the_names(void **state)
{
    static const struct {
        const char *name;
        IoFolderKind kind;
    } expected[] = {
        {"a", IO_FOLDER_FOLDER},   {"empty", IO_FOLDER_FILE}, {"link", IO_FOLDER_LINK},
        {"pipe", IO_FOLDER_OTHER}, {"up", IO_FOLDER_LINK},    {"z.c", IO_FOLDER_FILE},
    };
    IoFolder *folder = open_root();
    IoFolderList list = IO_FOLDER_LIST_NULL;

    (void)state;
    /* Twice: where one reader stands is not where another begins. */
    for (int round = 0; round < 2; round++) {
        assert_int_equal(io_folder_list(folder, "", &list), 0);
        assert_int_equal(list.n, TW_ARRAY_SIZE(expected));
        for (size_t i = 0; i < list.n; i++) {
            assert_string_equal(list.entries[i].name, expected[i].name);
            assert_int_equal(list.entries[i].kind, expected[i].kind);
        }
        assert_int_equal(list.entries[5].stamp.size, 10);
        io_folder_list_deinit(&list);
    }
    assert_int_equal(io_folder_list(folder, "a/b", &list), 0);
    assert_int_equal(list.n, 1);
    assert_string_equal(list.entries[0].name, "deep.c");
    io_folder_list_deinit(&list);
    io_folder_list_deinit(&list);
    assert_null(io_folder_free(folder));
    assert_null(io_folder_free(NULL));
}

static void many_names_are_all_listed(void **state)
{
    IoFolder *folder = open_root();
    IoFolderList list = IO_FOLDER_LIST_NULL;
    char name[40];

    (void)state;
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof(name), "root/a/b/file-%03d", i);
        scratch_write(scratch_path(name), "x", 0600);
    }
    assert_int_equal(io_folder_list(folder, "a/b", &list), 0);
    assert_int_equal(list.n, 201);
    for (int i = 0; i < 200; i++) {
        (void)snprintf(name, sizeof(name), "file-%03d", i);
        assert_string_equal(list.entries[i + 1].name, name);
    }
    io_folder_list_deinit(&list);
    (void)io_folder_free(folder);
}

static void files_are_read_whole_or_not_at_all(void **state)
{
    IoFolder *folder = open_root();
    IoFolderStamp stamp = {.size = 99};
    Bytes out;

    (void)state;
    assert_reads(folder, "z.c", 0, "0123456789");
    assert_reads(folder, "a/b/deep.c", 0, "int x;\n");
    assert_reads(folder, "empty", 0, "");
    bytes_init(&out, 9);
    assert_int_equal(io_folder_read(folder, "z.c", &out, &stamp), BYTES_E_FULL);
    assert_int_equal(out.n, 0);
    assert_int_equal(stamp.size, 99);
    bytes_deinit(&out);
    bytes_init(&out, 10);
    assert_int_equal(io_folder_read(folder, "z.c", &out, &stamp), 0);
    assert_int_equal(stamp.size, 10);
    bytes_deinit(&out);
    (void)io_folder_free(folder);
}

static void the_stamp_of_a_list_is_that_of_the_file(void **state)
{
    const struct timespec times[2] = {{.tv_sec = 1000, .tv_nsec = 5}, {.tv_sec = 7, .tv_nsec = 9}};
    IoFolder *folder = open_root();
    IoFolderList list = IO_FOLDER_LIST_NULL;
    IoFolderStamp stamp;
    Bytes out;

    (void)state;
    assert_int_equal(utimensat(AT_FDCWD, scratch_path("root/z.c"), times, 0), 0);
    bytes_init(&out, 100);
    assert_int_equal(io_folder_read(folder, "z.c", &out, &stamp), 0);
    assert_int_equal(io_folder_list(folder, "", &list), 0);
    assert_memory_equal(&list.entries[5].stamp, &stamp, sizeof(stamp));
    assert_int_equal(stamp.mtime_ns, 7000000009);
    /* Setting the other one is a change of now. */
    assert_true(stamp.ctime_ns > INT64_C(1000000000) * 1000000000);
    assert_int_equal(stamp.inode, scratch_inode(scratch_path("root/z.c")));
    io_folder_list_deinit(&list);
    bytes_deinit(&out);
    (void)io_folder_free(folder);
}

static void a_head_is_as_long_as_asked(void **state)
{
    IoFolder *folder = open_root();
    Bytes out;

    (void)state;
    bytes_init(&out, 20);
    assert_int_equal(io_folder_read_head(folder, "z.c", 4, &out), 0);
    assert_int_equal(out.n, 4);
    assert_memory_equal(out.data, "0123", 4);
    assert_int_equal(io_folder_read_head(folder, "z.c", 16, &out), 0);
    assert_int_equal(out.n, 14);
    assert_int_equal(io_folder_read_head(folder, "z.c", 7, &out), BYTES_E_FULL);
    assert_int_equal(io_folder_read_head(folder, "none", 1, &out), -ENOENT);
    assert_int_equal(out.n, 14);
    bytes_deinit(&out);
    (void)io_folder_free(folder);
}

static void no_link_is_followed(void **state)
{
    IoFolder *folder = open_root();
    IoFolderList list = IO_FOLDER_LIST_NULL;
    Bytes out;

    (void)state;
    assert_reads(folder, "link", -ELOOP, "");
    assert_reads(folder, "up/secret", -ENOTDIR, "");
    assert_int_equal(io_folder_list(folder, "up", &list), -ENOTDIR);
    bytes_init(&out, 100);
    assert_int_equal(io_folder_read_link(folder, "link", &out), 0);
    assert_int_equal(out.n, 9);
    assert_memory_equal(out.data, "../secret", 9);
    assert_int_equal(io_folder_read_link(folder, "z.c", &out), -EINVAL);
    assert_int_equal(io_folder_read_link(folder, "up/root/link", &out), -ENOTDIR);
    bytes_deinit(&out);
    bytes_init(&out, 8);
    assert_int_equal(io_folder_read_link(folder, "link", &out), BYTES_E_FULL);
    assert_int_equal(out.n, 0);
    bytes_deinit(&out);
    (void)io_folder_free(folder);
}

static void paths_that_lead_elsewhere_are_refused(void **state)
{
    static const char *const paths[] = {"..",          "../secret", ".",     "a/../z.c",
                                        "/etc/passwd", "a//b",      "",      "a/b/../../",
                                        "a/./b",       "a/",        "a/b/.."};
    IoFolder *folder = open_root();
    IoFolderList list = IO_FOLDER_LIST_NULL;

    (void)state;
    for (size_t i = 0; i < TW_ARRAY_SIZE(paths); i++) {
        assert_reads(folder, paths[i], -EINVAL, "");
        if (paths[i][0] != '\0') {
            assert_int_equal(io_folder_list(folder, paths[i], &list), -EINVAL);
        }
    }
    assert_reads(folder, "none", -ENOENT, "");
    assert_reads(folder, "a", -EISDIR, "");
    assert_reads(folder, "pipe", -EINVAL, "");
    assert_reads(folder, "z.c/x", -ENOTDIR, "");
    assert_int_equal(io_folder_list(folder, "z.c", &list), -ENOTDIR);
    assert_int_equal(io_folder_list(folder, "none", &list), -ENOENT);
    (void)io_folder_free(folder);
}

static void the_root_is_known_without_links(void **state)
{
    IoFolder *folder = NULL;

    (void)state;
    assert_int_equal(symlink("root", scratch_path("other")), 0);
    assert_int_equal(io_folder_open(&folder, scratch_path("other")), 0);
    assert_string_equal(io_folder_path(folder), scratch_path("root"));
    (void)io_folder_free(folder);
    assert_int_equal(io_folder_open(&folder, scratch_path("secret")), -ENOTDIR);
    assert_int_equal(io_folder_open(&folder, scratch_path("none")), -ENOENT);
}

static void no_descriptor_is_left_open(void **state)
{
    int without = scratch_next_fd();
    IoFolder *folder = open_root();
    int before = scratch_next_fd();
    IoFolderList list = IO_FOLDER_LIST_NULL;

    (void)state;
    assert_reads(folder, "a/b/deep.c", 0, "int x;\n");
    assert_reads(folder, "a/b/none", -ENOENT, "");
    assert_reads(folder, "a/none/none", -ENOENT, "");
    assert_reads(folder, "a/b", -EISDIR, "");
    assert_int_equal(io_folder_list(folder, "a/b", &list), 0);
    io_folder_list_deinit(&list);
    assert_int_equal(io_folder_list(folder, "a/none", &list), -ENOENT);
    assert_int_equal(scratch_next_fd(), before);
    (void)io_folder_free(folder);
    assert_int_equal(scratch_next_fd(), without);
}

static int sweep(void *context)
{
    IoFolder *folder = NULL;
    IoFolderList list = IO_FOLDER_LIST_NULL;
    Bytes out;
    int r = io_folder_open(&folder, scratch_path("root"));

    (void)context;
    bytes_init(&out, 100);
    if (r == 0) {
        r = io_folder_list(folder, "", &list);
    }
    if (r == 0) {
        r = io_folder_read(folder, "z.c", &out, NULL);
    }
    if (r == 0) {
        r = io_folder_read_link(folder, "link", &out);
    }
    bytes_deinit(&out);
    io_folder_list_deinit(&list);
    (void)io_folder_free(folder);
    return r;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    test_oom_sweep(sweep, NULL);
}

#define FOLDER_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(a_folder_is_listed_by_the_bytes_of_the_names),
        FOLDER_TEST(many_names_are_all_listed),
        FOLDER_TEST(files_are_read_whole_or_not_at_all),
        FOLDER_TEST(the_stamp_of_a_list_is_that_of_the_file),
        FOLDER_TEST(a_head_is_as_long_as_asked),
        FOLDER_TEST(no_link_is_followed),
        FOLDER_TEST(paths_that_lead_elsewhere_are_refused),
        FOLDER_TEST(the_root_is_known_without_links),
        FOLDER_TEST(no_descriptor_is_left_open),
        FOLDER_TEST(every_allocation_may_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
