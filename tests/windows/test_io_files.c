/* Folders that are read, files that are kept, children that are run to their end, threads. */
#include "io/child.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdlib.h>
#include <windows.h>

#include "io/environment.h"
#include "io/folder.h"
#include "io/keep.h"
#include "io/tree.h"
#include "io/work.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"
#include "windows/scratch.h"

#define MUCH ((size_t)2 * 1024 * 1024)

static int setup(void **state)
{
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    return scratch_setup(state);
}

static int teardown(void **state)
{
    assert_int_equal(alloc_testing()->n_live, 0);
    return scratch_teardown(state);
}

/* ---- folders ---- */

static void a_folder_is_listed_and_its_files_read(void **state)
{
    IoFolder *folder = NULL;
    IoFolderList list = IO_FOLDER_LIST_NULL;
    IoFolderStamp stamp;
    Bytes out;

    (void)state;
    assert_true(CreateDirectoryA(scratch_path("b"), NULL));
    scratch_write(scratch_path("b\\deep.c"), "int x;\n");
    scratch_write(scratch_path("a.c"), "0123456789");
    assert_int_equal(io_folder_open(&folder, scratch), 0);
    assert_string_equal(io_folder_path(folder), scratch);
    assert_int_equal(io_folder_list(folder, "", &list), 0);
    assert_int_equal(list.n, 2);
    assert_string_equal(list.entries[0].name, "a.c");
    assert_int_equal(list.entries[0].kind, IO_FOLDER_FILE);
    assert_string_equal(list.entries[1].name, "b");
    assert_int_equal(list.entries[1].kind, IO_FOLDER_FOLDER);
    bytes_init(&out, 30);
    assert_int_equal(io_folder_read(folder, "a.c", &out, &stamp), 0);
    assert_memory_equal(&stamp, &list.entries[0].stamp, sizeof(stamp));
    assert_int_equal(stamp.size, 10);
    assert_true(stamp.mtime_ns > 0);
    io_folder_list_deinit(&list);
    assert_int_equal(io_folder_list(folder, "b", &list), 0);
    assert_int_equal(list.n, 1);
    io_folder_list_deinit(&list);
    assert_int_equal(io_folder_read(folder, "b/deep.c", &out, NULL), 0);
    assert_int_equal(io_folder_read_head(folder, "b/deep.c", 3, &out), 0);
    assert_int_equal(out.n, 20);
    assert_memory_equal(out.data, "0123456789int x;\nint", 20);
    assert_int_equal(io_folder_read(folder, "b", &out, NULL), -EISDIR);
    assert_int_equal(io_folder_read(folder, "none", &out, NULL), -ENOENT);
    assert_int_equal(io_folder_read(folder, "none/x", &out, NULL), -ENOENT);
    assert_int_equal(io_folder_list(folder, "a.c", &list), -ENOTDIR);
    assert_int_equal(io_folder_read(folder, "b\\deep.c", &out, NULL), -EINVAL);
    assert_int_equal(io_folder_read(folder, "../x", &out, NULL), -EINVAL);
    assert_int_equal(io_folder_read(folder, "c:x", &out, NULL), -EINVAL);
    assert_int_equal(out.n, 20);
    bytes_deinit(&out);
    (void)io_folder_free(folder);
    assert_int_equal(io_folder_open(&folder, scratch_path("a.c")), -ENOTDIR);
    assert_int_equal(io_folder_open(&folder, scratch_path("none")), -ENOENT);
    assert_true(DeleteFileA(scratch_path("b\\deep.c")));
}

static int sweep_folder(void *context)
{
    IoFolder *folder = NULL;
    IoFolderList list = IO_FOLDER_LIST_NULL;
    Bytes out;
    int r = io_folder_open(&folder, scratch);

    (void)context;
    bytes_init(&out, 100);
    if (r == 0) {
        r = io_folder_list(folder, "", &list);
    }
    if (r == 0) {
        r = io_folder_read(folder, "a.c", &out, NULL);
    }
    bytes_deinit(&out);
    io_folder_list_deinit(&list);
    (void)io_folder_free(folder);
    return r;
}

static void without_memory_nothing_is_left_open(void **state)
{
    (void)state;
    scratch_write(scratch_path("a.c"), "x");
    test_oom_sweep(sweep_folder, NULL);
}

/* ---- kept files ---- */

static void a_kept_file_is_replaced_as_a_whole(void **state)
{
    char *folder = NULL;
    Bytes out;

    (void)state;
    bytes_init(&out, 100);
    assert_int_equal(io_keep_folder(&folder), 0);
    assert_non_null(strstr(folder, "\\toolwire"));
    (void)mem_free(folder);
    assert_int_equal(io_keep_read(scratch_path("x\\y\\table"), &out), -ENOENT);
    assert_int_equal(io_keep_write(scratch_path("x\\y\\table"), SPAN("a long one")), 0);
    assert_int_equal(io_keep_write(scratch_path("x\\y\\table"), SPAN("two")), 0);
    assert_int_equal(io_keep_read(scratch_path("x\\y\\table"), &out), 0);
    assert_int_equal(out.n, 3);
    assert_memory_equal(out.data, "two", 3);
    bytes_deinit(&out);
    assert_true(DeleteFileA(scratch_path("x\\y\\table")));
    assert_true(RemoveDirectoryA(scratch_path("x\\y"))); /* nothing beside it */
}

/* ---- files beneath a folder ---- */

static void a_try_leaves_nothing_behind(void **state)
{
    (void)state;
    scratch_write(scratch_path("file"), "f");
    assert_true(CreateDirectoryA(scratch_path("folder"), NULL));
    assert_int_equal(io_tree_try(scratch, "file", NULL), 0);
    assert_int_equal(io_tree_try(scratch, "folder/new", NULL), 0);
    assert_int_equal(io_tree_try(scratch, "folder", NULL), IO_TREE_E_PLACE);
    assert_int_equal(io_tree_try(scratch, "missing/x", NULL), -ENOENT);
    assert_true(RemoveDirectoryA(scratch_path("folder"))); /* nothing in it */
    assert_true(DeleteFileA(scratch_path("file")));
}

/* ---- children ---- */

typedef struct Heard {
    Bytes text;
    size_t n_bytes;
    bool is_enough;
    atomic_bool *cancels;
} Heard;

static int on_output(void *context, const char *p, size_t n)
{
    Heard *heard = context;
    size_t room = heard->text.max_bytes - heard->text.n;

    heard->n_bytes += n;
    if (bytes_append(&heard->text, p, n < room ? n : room) != 0) {
        return -1;
    }
    if (heard->cancels != NULL) {
        atomic_store(heard->cancels, true);
    }
    return heard->is_enough ? 1 : 0;
}

/* Runs this program to do `what`. */
static int run(const char *what, Span input, Heard *heard, Bytes *errors, IoProcessExit *ret_exit,
               const atomic_bool *cancel)
{
    CLEANUP(mem_freep) char *program = NULL;
    const char *argv[3] = {NULL, what, NULL};
    IoChildSpec spec = {
        .argv = argv, .input = input, .output = on_output, .context = heard, .cancel = cancel};

    assert_int_equal(io_program_path(&program), 0);
    argv[0] = program;
    bytes_init(&heard->text, 1000);
    return io_child_run(&spec, errors, ret_exit, NULL);
}

static void output_errors_and_status_come_apart(void **state)
{
    IoProcessExit how = {.status = 99};
    Heard heard = {.n_bytes = 0};
    Bytes errors;

    (void)state;
    bytes_init(&errors, 2);
    assert_int_equal(run("speak", SPAN(""), &heard, &errors, &how, NULL), 0);
    assert_int_equal(how.status, 3);
    assert_int_equal(heard.text.n, 3);
    assert_memory_equal(heard.text.data, "out", 3);
    assert_int_equal(errors.n, 2);
    assert_memory_equal(errors.data, "er", 2);
    bytes_deinit(&heard.text);
    bytes_deinit(&errors);
}

static void much_input_comes_back_as_much_output(void **state)
{
    IoProcessExit how = {.status = 99};
    Heard heard = {.n_bytes = 0};
    char *input = calloc(1, MUCH);

    (void)state;
    assert_non_null(input);
    assert_int_equal(run("echo", span_make(input, MUCH), &heard, NULL, &how, NULL), 0);
    assert_int_equal(how.status, 0);
    assert_int_equal(heard.n_bytes, MUCH);
    bytes_deinit(&heard.text);
    /* And one that does not read it. */
    heard = (Heard){.n_bytes = 0};
    assert_int_equal(run("speak", span_make(input, MUCH), &heard, NULL, &how, NULL), 0);
    assert_int_equal(heard.n_bytes, 3);
    bytes_deinit(&heard.text);
    free(input);
}

static void one_that_runs_on_is_ended(void **state)
{
    IoProcessExit how = {.status = 99};
    atomic_bool cancel = false;
    Heard heard = {.is_enough = true};

    (void)state;
    assert_int_equal(run("hang", SPAN(""), &heard, NULL, &how, NULL), IO_CHILD_E_STOPPED);
    bytes_deinit(&heard.text);
    heard = (Heard){.cancels = &cancel};
    assert_int_equal(run("hang", SPAN(""), &heard, NULL, &how, &cancel), IO_CHILD_E_CANCELLED);
    bytes_deinit(&heard.text);
    assert_int_equal(how.status, 99);
}

static void what_cannot_be_started_is_told(void **state)
{
    static const char *const argv[] = {"no-such-program-here", NULL};
    Heard heard = {.n_bytes = 0};
    IoChildSpec spec = {.argv = argv, .output = on_output, .context = &heard};
    IoProcessExit how = {.status = 99};
    Diag diag = DIAG_NULL;

    (void)state;
    assert_int_equal(io_child_run(&spec, NULL, &how, &diag), IO_CHILD_E_CANNOT_START);
    assert_non_null(strstr(diag.message, "no-such-program-here"));
}

static void variables_are_added_to_ours(void **state)
{
    static const char *const extra[] = {"path=replaced", "TW_NEW=1", NULL};
    const char **all = NULL;
    int n_path = 0;

    (void)state;
    assert_int_equal(io_environment_with(extra, &all), 0);
    for (size_t i = 0; all[i] != NULL; i++) {
        n_path += io_environment_sets(all[i], SPAN("Path")) ? 1 : 0;
    }
    assert_int_equal(n_path, 1);
    (void)mem_free(all);
}

/* ---- threads ---- */

static void on_fan(void *context, size_t i)
{
    atomic_int *sum = context;

    atomic_fetch_add(sum, (int)i + 1);
}

static void on_work(void *context)
{
    io_work_fan(4, on_fan, context);
}

static void on_done(void *context)
{
    atomic_int *sum = context;

    atomic_fetch_add(sum, 100);
}

static void work_is_done_beside_the_loop(void **state)
{
    atomic_int sum = 0;
    IoLoop *loop = NULL;

    (void)state;
    assert_true(io_work_cores() >= 1);
    assert_int_equal(io_loop_new(&loop), 0);
    assert_int_equal(io_work_start(loop, on_work, on_done, &sum), 0);
    assert_int_equal(io_loop_run(loop), 0);
    assert_int_equal(atomic_load(&sum), 110);
    (void)io_loop_free(loop);
}

/* ---- in the child ---- */

static void child_write(DWORD which, const char *p, DWORD n)
{
    while (n > 0) {
        DWORD n_written = 0;

        if (!WriteFile(GetStdHandle(which), p, n, &n_written, NULL)) {
            return;
        }
        p += n_written;
        n -= n_written;
    }
}

static int child_main(const char *what)
{
    char buffer[4096];
    DWORD n = 0;

    if (strcmp(what, "speak") == 0) {
        child_write(STD_OUTPUT_HANDLE, "out", 3);
        child_write(STD_ERROR_HANDLE, "err", 3);
        return 3;
    }
    if (strcmp(what, "hang") == 0) {
        child_write(STD_OUTPUT_HANDLE, "out", 3);
        Sleep(INFINITE);
    }
    while (ReadFile(GetStdHandle(STD_INPUT_HANDLE), buffer, sizeof(buffer), &n, NULL) && n > 0) {
        child_write(STD_OUTPUT_HANDLE, buffer, n);
    }
    return 0;
}

#define FILES_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        FILES_TEST(a_folder_is_listed_and_its_files_read),
        FILES_TEST(without_memory_nothing_is_left_open),
        FILES_TEST(a_kept_file_is_replaced_as_a_whole),
        FILES_TEST(a_try_leaves_nothing_behind),
        FILES_TEST(output_errors_and_status_come_apart),
        FILES_TEST(much_input_comes_back_as_much_output),
        FILES_TEST(one_that_runs_on_is_ended),
        FILES_TEST(what_cannot_be_started_is_told),
        FILES_TEST(variables_are_added_to_ours),
        FILES_TEST(work_is_done_beside_the_loop),
    };

    if (argc > 1) {
        return child_main(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
