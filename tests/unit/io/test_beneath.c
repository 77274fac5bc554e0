/* nftw, renameat2's RENAME_EXCHANGE */
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
#include "support/oom_sweep.h"
#include "unit/io/scratch.h"

#define DENIED "Access denied: path outside allowed directory"

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
    assert_int_equal(mkdir(scratch_path("root-evil"), 0700), 0);
    scratch_write(scratch_path("root-evil/secret"), "evil", 0600);
    scratch_write(scratch_path("secret"), "out", 0600);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(alloc_testing()->n_live, 0);
    assert_int_equal(nftw(scratch, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
    return 0;
}

static IoBeneath *open_root(void)
{
    IoBeneath *beneath = NULL;

    assert_int_equal(io_beneath_open(&beneath, scratch_path("root"), NULL), 0);
    return beneath;
}

static void link_to(const char *target, const char *name)
{
    assert_int_equal(symlink(target, scratch_path(name)), 0);
}

/* As the system finds things, if it does, and as the walk does. */
static void in_both_ways(void (*fn)(IoBeneath *beneath))
{
    IoBeneath *beneath = open_root();

    if (io_beneath_follows_links(beneath)) {
        fn(beneath);
    } else {
        print_message("skipped: this system has no openat2\n");
    }
    io_beneath_follow_no_links(beneath);
    fn(beneath);
    (void)io_beneath_free(beneath);
}

static void assert_reads(IoBeneath *beneath, const char *path, const char *content)
{
    Diag diag = DIAG_NULL;
    Bytes out;
    int r;

    bytes_init(&out, 100);
    assert_int_equal(bytes_append(&out, "<", 1), 0);
    r = io_beneath_read(beneath, path, 50, &out, &diag);
    if (r != 0) {
        print_message("%s: %d %s\n", path, r, diag.message);
    }
    assert_int_equal(r, 0);
    assert_int_equal(out.n, 1 + strlen(content));
    assert_memory_equal(out.data + 1, content, strlen(content));
    bytes_deinit(&out);
}

/* Neither reading, looking, listing nor writing gets there. */
static void assert_refuses(IoBeneath *beneath, const char *path, int outcome, const char *words)
{
    Diag diag = DIAG_NULL;
    Bytes out;
    int r;

    bytes_init(&out, 100);
    assert_int_equal(bytes_append(&out, "<", 1), 0);
    r = io_beneath_read(beneath, path, 50, &out, &diag);
    if (r != outcome) {
        print_message("%s: %d %s\n", path, r, diag.message);
    }
    assert_int_equal(r, outcome);
    assert_int_equal(out.n, 1);
    assert_non_null(strstr(diag.message, words));
    bytes_deinit(&out);
}

static void assert_outside(IoBeneath *beneath, const char *path)
{
    IoBeneathList list = IO_BENEATH_LIST_NULL;
    IoBeneathInfo info;
    Diag diag = DIAG_NULL;

    assert_refuses(beneath, path, IO_BENEATH_E_OUTSIDE, DENIED);
    assert_int_equal(io_beneath_look(beneath, path, &info, &diag), IO_BENEATH_E_OUTSIDE);
    assert_int_equal(io_beneath_list(beneath, path, 10, &list, &diag), IO_BENEATH_E_OUTSIDE);
    assert_int_equal(io_beneath_write(beneath, path, SPAN("x"), NULL, &diag), IO_BENEATH_E_OUTSIDE);
    assert_non_null(strstr(diag.message, DENIED));
}

/* ---- paths ---- */

static void try_inside(IoBeneath *beneath)
{
    char path[512];

    assert_reads(beneath, "a/b/deep.c", "int x;\n");
    assert_reads(beneath, "./a//b/./deep.c", "int x;\n");
    assert_reads(beneath, "a/b/../../z.c", "0123456789");
    assert_reads(beneath, "empty", "");
    (void)snprintf(path, sizeof(path), "%s/z.c", io_beneath_path(beneath));
    assert_reads(beneath, path, "0123456789");
    (void)snprintf(path, sizeof(path), "%s//a/b/deep.c", io_beneath_path(beneath));
    assert_reads(beneath, path, "int x;\n");
}

static void files_inside_are_read_by_relative_and_absolute_paths(void **state)
{
    (void)state;
    in_both_ways(try_inside);
}

static void try_dots(IoBeneath *beneath)
{
    char path[512];

    assert_outside(beneath, "..");
    assert_outside(beneath, "../secret");
    assert_outside(beneath, "a/../../secret");
    assert_outside(beneath, "a/b/../../../root/../secret");
    assert_outside(beneath, "../root/z.c"); /* leads back in, and was out on the way */
    assert_outside(beneath, "/etc/passwd");
    assert_outside(beneath, "//etc/passwd");
    assert_outside(beneath, "/");
    assert_outside(beneath, "/proc/self/root/etc/passwd");
    (void)snprintf(path, sizeof(path), "%s/../secret", io_beneath_path(beneath));
    assert_outside(beneath, path);
}

static void dots_and_absolute_paths_do_not_lead_out(void **state)
{
    (void)state;
    in_both_ways(try_dots);
}

static void try_prefix(IoBeneath *beneath)
{
    char path[512];

    assert_outside(beneath, "../root-evil/secret");
    (void)snprintf(path, sizeof(path), "%s-evil/secret", io_beneath_path(beneath));
    assert_outside(beneath, path);
}

static void a_folder_whose_name_begins_like_the_root_is_outside(void **state)
{
    (void)state;
    in_both_ways(try_prefix);
}

static void the_root_may_be_named_through_a_link(void **state)
{
    IoBeneath *beneath = NULL;
    char path[512];

    (void)state;
    link_to("root", "alias");
    assert_int_equal(io_beneath_open(&beneath, scratch_path("alias"), NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/alias/z.c", scratch);
    assert_reads(beneath, path, "0123456789");
    (void)snprintf(path, sizeof(path), "%s/root/z.c", scratch);
    assert_reads(beneath, path, "0123456789");
    (void)snprintf(path, sizeof(path), "%s/alias-evil", scratch);
    assert_outside(beneath, path);
    (void)io_beneath_free(beneath);
}

static void the_whole_system_as_root_still_has_no_magic_links(void **state)
{
    IoBeneath *beneath = NULL;
    IoBeneathInfo info;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(io_beneath_open(&beneath, "/", NULL), 0);
    assert_int_equal(io_beneath_look(beneath, "/proc/self/root/etc", &info, &diag),
                     IO_BENEATH_E_OUTSIDE);
    assert_int_equal(io_beneath_look(beneath, "/proc/self/cwd", &info, &diag),
                     IO_BENEATH_E_OUTSIDE);
    assert_int_equal(io_beneath_look(beneath, "/proc/self/fd/0", &info, &diag),
                     IO_BENEATH_E_OUTSIDE);
    assert_int_equal(io_beneath_look(beneath, "/etc", &info, &diag), 0);
    (void)io_beneath_free(beneath);
}

/* ---- links ---- */

static void try_links_out(IoBeneath *beneath)
{
    assert_outside(beneath, "out_file");
    assert_outside(beneath, "out_absolute");
    assert_outside(beneath, "out_folder/secret");
    assert_outside(beneath, "a/middle/secret");
    assert_outside(beneath, "a/middle/root/z.c");
    assert_outside(beneath, "chain");
    assert_outside(beneath, "proc/root/etc/passwd");
    assert_outside(beneath, "in_absolute");
    assert_outside(beneath, "loop");
}

static void links_out_of_the_root_are_refused(void **state)
{
    (void)state;
    link_to("../secret", "root/out_file");
    link_to("/etc/passwd", "root/out_absolute");
    link_to("..", "root/out_folder");
    link_to("../..", "root/a/middle");
    link_to("out_file", "root/chain");
    link_to("/proc/self", "root/proc");
    link_to(scratch_path("root/z.c"), "root/in_absolute"); /* stays inside, and nobody can say so */
    link_to("loop", "root/loop");
    in_both_ways(try_links_out);
    assert_true(scratch_exists(scratch_path("root/out_file")));
}

static void links_that_stay_inside_are_followed(void **state)
{
    IoBeneath *beneath = open_root();

    (void)state;
    link_to("z.c", "root/near");
    link_to("../z.c", "root/a/up");
    link_to("a/b", "root/short");
    if (!io_beneath_follows_links(beneath)) {
        (void)io_beneath_free(beneath);
        print_message("skipped: this system has no openat2\n");
        skip();
    }
    assert_reads(beneath, "near", "0123456789");
    assert_reads(beneath, "a/up", "0123456789");
    assert_reads(beneath, "short/deep.c", "int x;\n");
    assert_reads(beneath, "short/../../z.c", "0123456789");
    io_beneath_follow_no_links(beneath);
    assert_outside(beneath, "near");
    assert_outside(beneath, "short/deep.c");
    (void)io_beneath_free(beneath);
}

/* What a name leads to is changed all the time between a file inside and one outside. */
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

/* Reads path until it was found and refused often enough; content must never be the outer one. */
static void read_while_swapped(IoBeneath *beneath, const char *path)
{
    int n_inside = 0;
    int n_refused = 0;

    while (n_inside < 500 || n_refused < 500) {
        Bytes out;
        int r;

        bytes_init(&out, 100);
        r = io_beneath_read(beneath, path, 50, &out, NULL);
        if (r == 0) {
            n_inside++;
            assert_int_equal(out.n, 10);
            assert_memory_equal(out.data, "0123456789", 10);
        } else {
            assert_true(r > 0);
            n_refused++;
        }
        bytes_deinit(&out);
        (void)sched_yield();
    }
}

static void try_race(IoBeneath *beneath)
{
    Swapper swapper;
    pthread_t thread;

    (void)snprintf(swapper.one, sizeof(swapper.one), "%s/root/a/which", scratch);
    (void)snprintf(swapper.other, sizeof(swapper.other), "%s/root/a/other", scratch);
    atomic_init(&swapper.is_over, false);
    assert_int_equal(pthread_create(&thread, NULL, swap, &swapper), 0);
    read_while_swapped(beneath, "a/which/secret");
    atomic_store(&swapper.is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void what_becomes_a_link_meanwhile_does_not_lead_out(void **state)
{
    (void)state;
    assert_int_equal(mkdir(scratch_path("root/a/which"), 0700), 0);
    scratch_write(scratch_path("root/a/which/secret"), "0123456789", 0600);
    link_to("../..", "root/a/other");
    in_both_ways(try_race);
}

/* ---- kinds and sizes ---- */

static void try_kinds(IoBeneath *beneath)
{
    assert_refuses(beneath, "a", IO_BENEATH_E_KIND, "Not a file, but a folder: a");
    assert_refuses(beneath, "", IO_BENEATH_E_KIND, "folder");
    assert_refuses(beneath, "fifo", IO_BENEATH_E_KIND, "Not a regular file");
    assert_refuses(beneath, "socket", IO_BENEATH_E_KIND, "Not a regular file");
    assert_refuses(beneath, "missing", IO_BENEATH_E_MISSING, "File not found: missing");
    assert_refuses(beneath, "z.c/x", IO_BENEATH_E_MISSING, "File not found");
}

static void what_is_no_file_is_neither_opened_nor_waited_for(void **state)
{
    int fd;

    (void)state;
    assert_int_equal(mkfifo(scratch_path("root/fifo"), 0600), 0);
    fd = scratch_bind(scratch_path("root/socket"), SOCK_STREAM);
    in_both_ways(try_kinds);
    assert_int_equal(close(fd), 0);
}

static void a_device_is_not_opened(void **state)
{
    IoBeneath *beneath = NULL;
    Bytes out;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(io_beneath_open(&beneath, "/dev", NULL), 0);
    bytes_init(&out, 100);
    assert_int_equal(io_beneath_read(beneath, "zero", 50, &out, &diag), IO_BENEATH_E_KIND);
    assert_int_equal(io_beneath_read(beneath, "/dev/null", 50, &out, &diag), IO_BENEATH_E_KIND);
    assert_int_equal(io_beneath_write(beneath, "null", SPAN("x"), NULL, &diag), IO_BENEATH_E_KIND);
    bytes_deinit(&out);
    (void)io_beneath_free(beneath);
}

static void try_large(IoBeneath *beneath)
{
    Bytes out;
    Diag diag = DIAG_NULL;

    bytes_init(&out, (size_t)100 * 1024 * 1024);
    assert_int_equal(io_beneath_read(beneath, "large", (size_t)10 * 1024 * 1024, &out, &diag),
                     IO_BENEATH_E_TOO_LARGE);
    assert_string_equal(diag.message, "File too large (max 10MB): large has 52428800");
    assert_null(out.data); /* not a byte of room was made for it */
    bytes_deinit(&out);
    bytes_init(&out, 9);
    assert_int_equal(io_beneath_read(beneath, "z.c", 50, &out, &diag), IO_BENEATH_E_TOO_LARGE);
    assert_int_equal(out.max_bytes, 9);
    bytes_deinit(&out);
    bytes_init(&out, 10);
    assert_int_equal(io_beneath_read(beneath, "z.c", 10, &out, &diag), 0);
    bytes_deinit(&out);
}

static void a_file_that_is_too_large_is_refused_by_its_size(void **state)
{
    (void)state;
    scratch_write(scratch_path("root/large"), "", 0600);
    assert_int_equal(truncate(scratch_path("root/large"), (off_t)50 * 1024 * 1024), 0);
    in_both_ways(try_large);
}

/* ---- lists ---- */

static void folders_are_listed_with_what_links_lead_to(void **state)
{
    static const IoBeneathEntry expected[] = {
        {"a", false, IO_BENEATH_FOLDER, 0},      {"empty", false, IO_BENEATH_FILE, 0},
        {"fifo", false, IO_BENEATH_OTHER, 0},    {"line\nbreak", false, IO_BENEATH_FILE, 1},
        {"near", true, IO_BENEATH_FILE, 10},     {"nowhere", true, IO_BENEATH_LINK, 0},
        {"out", true, IO_BENEATH_LINK, 0},       {"z.c", false, IO_BENEATH_FILE, 10},
        {"\xff\xfe", false, IO_BENEATH_FILE, 0},
    };
    IoBeneath *beneath = open_root();
    IoBeneathList list = IO_BENEATH_LIST_NULL;

    (void)state;
    link_to("z.c", "root/near");
    link_to("nothing", "root/nowhere");
    link_to("../secret", "root/out");
    assert_int_equal(mkfifo(scratch_path("root/fifo"), 0600), 0);
    scratch_write(scratch_path("root/line\nbreak"), "1", 0600);
    scratch_write(scratch_path("root/\xff\xfe"), "", 0600);
    assert_int_equal(io_beneath_list(beneath, "a/..", 100, &list, NULL), 0);
    assert_int_equal(list.n, TW_ARRAY_SIZE(expected));
    assert_false(list.is_cut);
    for (size_t i = 0; i < list.n; i++) {
        assert_string_equal(list.entries[i].name, expected[i].name);
        assert_int_equal(list.entries[i].is_link, expected[i].is_link);
        if (!expected[i].is_link || io_beneath_follows_links(beneath)) {
            assert_int_equal(list.entries[i].kind, expected[i].kind);
            assert_int_equal(list.entries[i].size, expected[i].size);
        }
    }
    io_beneath_list_deinit(&list);
    assert_int_equal(io_beneath_list(beneath, "", 3, &list, NULL), 0);
    assert_int_equal(list.n, 3);
    assert_true(list.is_cut);
    io_beneath_list_deinit(&list);
    (void)io_beneath_free(beneath);
}

static void only_folders_are_listed(void **state)
{
    IoBeneath *beneath = open_root();
    IoBeneathList list = IO_BENEATH_LIST_NULL;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(io_beneath_list(beneath, "z.c", 9, &list, &diag), IO_BENEATH_E_KIND);
    assert_string_equal(diag.message, "Not a folder, but a file: z.c");
    assert_int_equal(io_beneath_list(beneath, "zz", 9, &list, &diag), IO_BENEATH_E_MISSING);
    assert_int_equal(io_beneath_list(beneath, "..", 9, &list, &diag), IO_BENEATH_E_OUTSIDE);
    (void)io_beneath_free(beneath);
}

/* ---- the root, memory, descriptors ---- */

static void a_root_that_is_no_folder_is_refused_in_words(void **state)
{
    IoBeneath *beneath = NULL;
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(io_beneath_open(&beneath, scratch_path("secret"), &diag), IO_BENEATH_E_PLACE);
    assert_non_null(strstr(diag.message, "cannot be used: "));
    assert_int_equal(io_beneath_open(&beneath, scratch_path("none"), &diag), IO_BENEATH_E_PLACE);
    assert_null(beneath);
}

static int sweep_all(void *context)
{
    IoBeneath *beneath = NULL;
    IoBeneathList list = IO_BENEATH_LIST_NULL;
    Bytes out;
    int r = io_beneath_open(&beneath, scratch_path("root"), NULL);

    (void)context;
    bytes_init(&out, 100);
    r = r != 0 ? r : io_beneath_list(beneath, "", 100, &list, NULL);
    r = r != 0 ? r : io_beneath_read(beneath, "z.c", 50, &out, NULL);
    r = r != 0 ? r : io_beneath_write(beneath, "new/z.c", SPAN("x"), NULL, NULL);
    io_beneath_list_deinit(&list);
    bytes_deinit(&out);
    (void)io_beneath_free(beneath);
    return r;
}

static void memory_may_end_anywhere(void **state)
{
    int next_fd = scratch_next_fd();

    (void)state;
    test_oom_sweep(sweep_all, NULL);
    assert_int_equal(scratch_next_fd(), next_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_inside_are_read_by_relative_and_absolute_paths, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(dots_and_absolute_paths_do_not_lead_out, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_whose_name_begins_like_the_root_is_outside, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(the_root_may_be_named_through_a_link, setup, teardown),
        cmocka_unit_test_setup_teardown(the_whole_system_as_root_still_has_no_magic_links, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(links_out_of_the_root_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(links_that_stay_inside_are_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(what_becomes_a_link_meanwhile_does_not_lead_out, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_is_no_file_is_neither_opened_nor_waited_for, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_device_is_not_opened, setup, teardown),
        cmocka_unit_test_setup_teardown(a_file_that_is_too_large_is_refused_by_its_size, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(folders_are_listed_with_what_links_lead_to, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(only_folders_are_listed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_root_that_is_no_folder_is_refused_in_words, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(memory_may_end_anywhere, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
