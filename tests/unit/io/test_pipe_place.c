#include "io/pipe_place.h"

#include "support/cmocka.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "io/unix_socket.h"
#include "support/alloc_testing.h"
#include "support/oom_sweep.h"

static int setup(void **state)
{
    (void)state;
    alloc_testing_reset(ALLOC_TESTING_NEVER);
    assert_int_equal(setenv("TMPDIR", "/some/where", 1), 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    assert_int_equal(alloc_testing()->n_live, 0);
    return unsetenv("TMPDIR");
}

static void assert_place(const char *name, const char *expected)
{
    char *path = NULL;
    Diag diag = DIAG_NULL;

    assert_int_equal(io_pipe_place(&path, name, &diag), 0);
    assert_string_equal(path, expected);
    path = mem_free(path);
}

static void assert_refused(const char *name, const char *words)
{
    char *path = NULL;
    Diag diag = DIAG_NULL;

    assert_int_equal(io_pipe_place(&path, name, &diag), PIPE_PLACE_E_NAME);
    assert_null(path);
    assert_int_equal(diag.code, PIPE_PLACE_E_NAME);
    assert_string_equal(diag.message, words);
    assert_int_equal(io_pipe_place(&path, name, NULL), PIPE_PLACE_E_NAME);
}

static void a_name_is_where_dotnet_looks_for_it(void **state)
{
    (void)state;
    assert_place("RevitOrchestrator", "/some/where/CoreFxPipe_RevitOrchestrator");
    assert_place("a b.c", "/some/where/CoreFxPipe_a b.c");
    assert_place("...", "/some/where/CoreFxPipe_...");
    assert_place("\xc3\xa4", "/some/where/CoreFxPipe_\xc3\xa4");
}

static void the_folder_is_that_of_the_environment(void **state)
{
    (void)state;
    assert_int_equal(setenv("TMPDIR", "/with/slash/", 1), 0);
    assert_place("p", "/with/slash/CoreFxPipe_p");
    assert_int_equal(setenv("TMPDIR", "/with/more///", 1), 0);
    assert_place("p", "/with/more/CoreFxPipe_p");
    assert_int_equal(setenv("TMPDIR", "/", 1), 0);
    assert_place("p", "/CoreFxPipe_p");
    assert_int_equal(setenv("TMPDIR", "here", 1), 0);
    assert_place("p", "here/CoreFxPipe_p");
    assert_int_equal(setenv("TMPDIR", "", 1), 0);
    assert_place("p", "/tmp/CoreFxPipe_p");
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_place("p", "/tmp/CoreFxPipe_p");
}

static void the_spelling_of_windows_is_a_name_too(void **state)
{
    (void)state;
    assert_place("\\\\.\\pipe\\RevitOrchestrator", "/some/where/CoreFxPipe_RevitOrchestrator");
    assert_place("\\\\.\\PIPE\\p", "/some/where/CoreFxPipe_p");
    assert_refused("\\\\.\\pipe\\", "a pipe needs a name");
    assert_refused("\\\\.\\pipe\\a\\b", "\"a\\b\" is no name for a pipe: it must not hold / or \\");
    assert_refused("\\\\.\\pipe\\/a", "\"/a\" is no name for a pipe: it must not hold / or \\");
    assert_refused("\\\\.\\pip", "\"\\\\.\\pip\" is no name for a pipe: it must not hold / or \\");
}

static void an_absolute_path_is_taken_as_it_is(void **state)
{
    (void)state;
    assert_place("/run/a/hub.sock", "/run/a/hub.sock");
    assert_place("/x", "/x");
    assert_place("/a/..b", "/a/..b");
    assert_refused("/", "\"/\" is no name for a pipe: it is the path of a folder");
    assert_refused("/run/", "\"/run/\" is no name for a pipe: it is the path of a folder");
    assert_refused("/run/.", "\"/run/.\" is no name for a pipe: it is the path of a folder");
    assert_refused("/run/..", "\"/run/..\" is no name for a pipe: it is the path of a folder");
    assert_refused("/.", "\"/.\" is no name for a pipe: it is the path of a folder");
}

static void what_cannot_be_a_name_is_refused_with_the_reason(void **state)
{
    (void)state;
    assert_refused("", "a pipe needs a name");
    assert_refused(".", "\".\" is no name for a pipe: it stands for a folder");
    assert_refused("..", "\"..\" is no name for a pipe: it stands for a folder");
    assert_refused("a/b", "\"a/b\" is no name for a pipe: it must not hold / or \\");
    assert_refused("../b", "\"../b\" is no name for a pipe: it must not hold / or \\");
    assert_refused("a\\b", "\"a\\b\" is no name for a pipe: it must not hold / or \\");
    assert_refused("a\nb", "a pipe's name must not hold control characters (byte 2)");
    assert_refused("\x7f", "a pipe's name must not hold control characters (byte 1)");
    assert_refused("Anonymous",
                   "\"Anonymous\" is no name for a pipe: .NET has that for pipes without a name");
    assert_place("anonymous2", "/some/where/CoreFxPipe_anonymous2");
    assert_place("anon", "/some/where/CoreFxPipe_anon");
}

static void a_path_is_as_long_as_that_of_a_socket_at_most(void **state)
{
    const char *folder = "/some/where/CoreFxPipe_";
    char name[2 * UNIX_SOCKET_PATH_MAX];
    char expected[4 * UNIX_SOCKET_PATH_MAX];
    size_t n = UNIX_SOCKET_PATH_MAX - strlen(folder);
    char *path = NULL;
    Diag diag = DIAG_NULL;

    (void)state;
    memset(name, 'n', sizeof(name));
    name[n] = '\0';
    (void)snprintf(expected, sizeof(expected), "%s%s", folder, name);
    assert_place(name, expected);
    name[n] = 'n';
    name[n + 1] = '\0';
    assert_int_equal(io_pipe_place(&path, name, &diag), PIPE_PLACE_E_NAME);
    assert_null(path);
    (void)snprintf(expected, sizeof(expected),
                   "the path of the pipe would be 108 bytes long, and 107 is the most: %s%s",
                   folder, name);
    assert_string_equal(diag.message, expected);

    memset(name, 'n', sizeof(name));
    name[0] = '/';
    name[UNIX_SOCKET_PATH_MAX] = '\0';
    assert_place(name, name);
    name[UNIX_SOCKET_PATH_MAX] = 'n';
    name[UNIX_SOCKET_PATH_MAX + 1] = '\0';
    assert_int_equal(io_pipe_place(&path, name, NULL), PIPE_PLACE_E_NAME);
}

static int find(void *context)
{
    Diag diag = DIAG_NULL;
    char *path = NULL;
    int r = io_pipe_place(&path, context, &diag);

    if (r != 0) {
        assert_int_equal(diag.code, -ENOMEM);
    }
    path = mem_free(path);
    return r;
}

static void memory_that_runs_out_is_reported(void **state)
{
    char name[] = "p";

    (void)state;
    test_oom_sweep(find, name);
}

#define PLACE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(a_name_is_where_dotnet_looks_for_it),
        PLACE_TEST(the_folder_is_that_of_the_environment),
        PLACE_TEST(the_spelling_of_windows_is_a_name_too),
        PLACE_TEST(an_absolute_path_is_taken_as_it_is),
        PLACE_TEST(what_cannot_be_a_name_is_refused_with_the_reason),
        PLACE_TEST(a_path_is_as_long_as_that_of_a_socket_at_most),
        PLACE_TEST(memory_that_runs_out_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
