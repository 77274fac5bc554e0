/* nftw, RENAME_EXCHANGE */
#define _GNU_SOURCE

#include "io/beneath.h"

#include "support/cmocka.h"

#include <ftw.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "support/alloc_testing.h"
#include "support/files.h"
#include "unit/io/scratch.h"

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    (void)type;
    (void)at;
    return remove(path);
}

static IoBeneath *beneath;

static int setup(void **state)
{
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    (void)scratch_setup(state);
    assert_int_equal(mkdir(scratch_path("root"), 0700), 0);
    assert_int_equal(mkdir(scratch_path("root/a"), 0700), 0);
    scratch_write(scratch_path("root/z.c"), "old", 0640);
    scratch_write(scratch_path("secret"), "out", 0600);
    assert_int_equal(io_beneath_open(&beneath, scratch_path("root"), NULL), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    beneath = io_beneath_free(beneath);
    assert_int_equal(alloc_testing()->n_live, 0);
    assert_int_equal(nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    return 0;
}

static void assert_content(const char *path, const char *content)
{
    size_t n = 0;
    char *text = files_read(scratch_path(path), &n);

    assert_int_equal(n, strlen(content));
    assert_string_equal(text, content);
    free(text);
}

static size_t count_in(const char *folder)
{
    DIR *entries = opendir(scratch_path(folder));
    size_t n = 0;

    assert_non_null(entries);
    while (readdir(entries) != NULL) {
        n++;
    }
    assert_int_equal(closedir(entries), 0);
    return n - 2;
}

static void a_new_file_has_the_usual_permissions(void **state)
{
    mode_t mask = umask(027);
    bool is_new = false;

    (void)state;
    assert_int_equal(io_beneath_write(beneath, "a/new", SPAN("content"), &is_new, NULL), 0);
    (void)umask(mask);
    assert_true(is_new);
    assert_content("root/a/new", "content");
    assert_int_equal(scratch_mode(scratch_path("root/a/new")), 0640);
    assert_int_equal(count_in("root/a"), 1);
}

static void a_file_that_is_there_keeps_its_permissions_and_is_replaced(void **state)
{
    ino_t before = scratch_inode(scratch_path("root/z.c"));
    bool is_new = true;

    (void)state;
    assert_int_equal(chmod(scratch_path("root/z.c"), 0751), 0);
    assert_int_equal(io_beneath_write(beneath, "z.c", SPAN("new"), &is_new, NULL), 0);
    assert_false(is_new);
    assert_content("root/z.c", "new");
    assert_int_equal(scratch_mode(scratch_path("root/z.c")), 0751);
    assert_true(scratch_inode(scratch_path("root/z.c")) != before);
    assert_int_equal(count_in("root"), 2);
}

static void a_name_that_it_has_outside_keeps_the_old_content(void **state)
{
    (void)state;
    assert_int_equal(link(scratch_path("secret"), scratch_path("root/hard")), 0);
    assert_int_equal(io_beneath_write(beneath, "hard", SPAN("new"), NULL, NULL), 0);
    assert_content("root/hard", "new");
    assert_content("secret", "out");
}

static void folders_on_the_way_are_made(void **state)
{
    (void)state;
    assert_int_equal(io_beneath_write(beneath, "b/c//./d/x", SPAN("1"), NULL, NULL), 0);
    assert_content("root/b/c/d/x", "1");
    assert_int_equal(io_beneath_write(beneath, "b/../b/c/e/x", SPAN("2"), NULL, NULL), 0);
    assert_content("root/b/c/e/x", "2");
    io_beneath_follow_no_links(beneath);
    assert_int_equal(io_beneath_write(beneath, "f/g/x", SPAN("3"), NULL, NULL), 0);
    assert_content("root/f/g/x", "3");
}

static void no_folder_is_made_outside(void **state)
{
    (void)state;
    assert_int_equal(symlink("..", scratch_path("root/up")), 0);
    assert_int_equal(symlink("../new", scratch_path("root/dangling")), 0);
    assert_int_equal(io_beneath_write(beneath, "../new/x", SPAN("1"), NULL, NULL),
                     IO_BENEATH_E_OUTSIDE);
    assert_int_equal(io_beneath_write(beneath, "a/../../new/x", SPAN("1"), NULL, NULL),
                     IO_BENEATH_E_OUTSIDE);
    assert_int_equal(io_beneath_write(beneath, "up/new/x", SPAN("1"), NULL, NULL),
                     IO_BENEATH_E_OUTSIDE);
    assert_int_equal(io_beneath_write(beneath, "dangling/x", SPAN("1"), NULL, NULL),
                     IO_BENEATH_E_OUTSIDE);
    assert_int_equal(io_beneath_write(beneath, "dangling", SPAN("1"), NULL, NULL),
                     IO_BENEATH_E_OUTSIDE);
    assert_false(scratch_exists(scratch_path("new")));
}

static void links_that_stay_inside_are_written_through(void **state)
{
    (void)state;
    if (!io_beneath_follows_links(beneath)) {
        print_message("skipped: this system has no openat2\n");
        skip();
    }
    assert_int_equal(symlink("../z.c", scratch_path("root/a/link")), 0);
    assert_int_equal(symlink("a/link", scratch_path("root/far")), 0);
    assert_int_equal(io_beneath_write(beneath, "far", SPAN("through"), NULL, NULL), 0);
    assert_content("root/z.c", "through");
    assert_int_equal(symlink("later", scratch_path("root/a/dangling")), 0);
    assert_int_equal(io_beneath_write(beneath, "a/dangling", SPAN("made"), NULL, NULL), 0);
    assert_content("root/a/later", "made");
}

static void links_out_are_not_written_through(void **state)
{
    char absolute[512];

    (void)state;
    (void)snprintf(absolute, sizeof(absolute), "%s/secret", scratch);
    assert_int_equal(symlink("../secret", scratch_path("root/out")), 0);
    assert_int_equal(symlink(absolute, scratch_path("root/absolute")), 0);
    assert_int_equal(symlink("loop", scratch_path("root/loop")), 0);
    for (int i = 0; i < 2; i++) {
        static const char *const names[] = {"out", "absolute", "loop"};

        for (size_t k = 0; k < TW_ARRAY_SIZE(names); k++) {
            assert_int_equal(io_beneath_write(beneath, names[k], SPAN("x"), NULL, NULL),
                             IO_BENEATH_E_OUTSIDE);
        }
        io_beneath_follow_no_links(beneath);
    }
    assert_content("secret", "out");
    assert_int_equal(count_in("root"), 5);
}

static void only_files_are_written(void **state)
{
    Diag diag = DIAG_NULL;
    char name[300];

    (void)state;
    assert_int_equal(mkfifo(scratch_path("root/fifo"), 0600), 0);
    assert_int_equal(io_beneath_write(beneath, "fifo", SPAN("x"), NULL, &diag), IO_BENEATH_E_KIND);
    assert_int_equal(io_beneath_write(beneath, "a", SPAN("x"), NULL, &diag), IO_BENEATH_E_KIND);
    assert_int_equal(io_beneath_write(beneath, "", SPAN("x"), NULL, &diag), IO_BENEATH_E_KIND);
    assert_int_equal(io_beneath_write(beneath, "a/.", SPAN("x"), NULL, &diag), IO_BENEATH_E_KIND);
    assert_int_equal(io_beneath_write(beneath, "a/new/", SPAN("x"), NULL, &diag),
                     IO_BENEATH_E_KIND);
    assert_int_equal(io_beneath_write(beneath, "z.c/x", SPAN("x"), NULL, &diag),
                     IO_BENEATH_E_MISSING);
    memset(name, 'n', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    assert_int_equal(io_beneath_write(beneath, name, SPAN("x"), NULL, &diag), IO_BENEATH_E_REFUSED);
    assert_non_null(strstr(diag.message, "Cannot write nnn"));
}

static void what_cannot_be_written_leaves_nothing_behind(void **state)
{
    bool is_root = geteuid() == 0; /* who may write everywhere */
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(chmod(scratch_path("root"), 0755), 0);
    assert_int_equal(chmod(scratch_path("root/a"), 0555), 0);
    if (is_root) {
        assert_int_equal(seteuid(SCRATCH_STRANGER), 0);
    }
    assert_int_equal(io_beneath_write(beneath, "a/x", SPAN("x"), NULL, &diag),
                     IO_BENEATH_E_REFUSED);
    if (is_root) {
        assert_int_equal(seteuid(0), 0);
    }
    assert_string_equal(diag.message, "Cannot write a/x: Permission denied");
    assert_int_equal(count_in("root/a"), 0);
    assert_int_equal(chmod(scratch_path("root/a"), 0700), 0);
}

/* ---- while others change what names mean ---- */

typedef struct Swapper {
    char one[SCRATCH_PATH_SIZE];
    char other[SCRATCH_PATH_SIZE];
    atomic_bool is_over;
} Swapper;

static void *swap(void *context)
{
    Swapper *swapper = context;

    while (!atomic_load(&swapper->is_over)) {
        (void)syscall(SYS_renameat2, AT_FDCWD, swapper->one, AT_FDCWD, swapper->other,
                      RENAME_EXCHANGE);
    }
    return NULL;
}

static void a_folder_that_becomes_a_link_does_not_lead_writing_out(void **state)
{
    Swapper swapper;
    pthread_t thread;
    int n_written = 0;
    int n_refused = 0;

    (void)state;
    assert_int_equal(mkdir(scratch_path("root/a/which"), 0700), 0);
    assert_int_equal(symlink("../..", scratch_path("root/a/other")), 0);
    (void)snprintf(swapper.one, sizeof(swapper.one), "%s/root/a/which", scratch);
    (void)snprintf(swapper.other, sizeof(swapper.other), "%s/root/a/other", scratch);
    atomic_init(&swapper.is_over, false);
    assert_int_equal(pthread_create(&thread, NULL, swap, &swapper), 0);
    while (n_written < 50 || n_refused < 50) {
        int r = io_beneath_write(beneath, "a/which/secret", SPAN("overwritten"), NULL, NULL);

        assert_true(r >= 0);
        n_written += r == 0;
        n_refused += r == IO_BENEATH_E_OUTSIDE;
        (void)sched_yield();
    }
    atomic_store(&swapper.is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_content("secret", "out");
    assert_int_equal(count_in("."), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_new_file_has_the_usual_permissions, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_is_there_keeps_its_permissions_and_is_replaced,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_name_that_it_has_outside_keeps_the_old_content, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(folders_on_the_way_are_made, setup, teardown),
        cmocka_unit_test_setup_teardown(no_folder_is_made_outside, setup, teardown),
        cmocka_unit_test_setup_teardown(links_that_stay_inside_are_written_through, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(links_out_are_not_written_through, setup, teardown),
        cmocka_unit_test_setup_teardown(only_files_are_written, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_leaves_nothing_behind, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_folder_that_becomes_a_link_does_not_lead_writing_out,
                                        setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
