#include "support/cmocka.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "io/environment.h"
#include "io/program.h"
#include "support/oom_sweep.h"

static void program_path_is_absolute_and_ours(void **state)
{
    char *path = NULL;

    (void)state;
    assert_int_equal(io_program_path(&path), 0);
    assert_int_equal(path[0], '/');
    assert_non_null(strstr(path, "test_unit_io_program"));
    assert_int_equal(access(path, X_OK), 0);
    path = mem_free(path);
}

static int scenario_path(void *context)
{
    char *path = NULL;
    int r = io_program_path(&path);

    (void)context;
    path = mem_free(path);
    return r;
}

static void program_path_survives_lack_of_memory(void **state)
{
    (void)state;
    test_oom_sweep(scenario_path, NULL);
}

static void program_pid_is_ours(void **state)
{
    (void)state;
    assert_int_equal(io_program_pid(), getpid());
}

static void variables_are_found_in_the_environment(void **state)
{
    bool is_found = false;

    (void)state;
    assert_int_equal(setenv("TW_TEST_PROGRAM", "so", 1), 0);
    for (const char *const *at = io_environment(); *at != NULL; at++) {
        is_found = is_found || strcmp(*at, "TW_TEST_PROGRAM=so") == 0;
    }
    assert_true(is_found);
}

static void pipe_is_no_terminal_and_has_no_columns(void **state)
{
    int fds[2];

    (void)state;
    assert_int_equal(pipe(fds), 0);
    assert_false(io_terminal_is(fds[0]));
    assert_int_equal(io_terminal_columns(fds[0]), 0);
    (void)close(fds[0]);
    (void)close(fds[1]);
}

static void terminal_says_its_columns(void **state)
{
    struct winsize size = {.ws_row = 24, .ws_col = 87};
    int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(ioctl(fd, TIOCSWINSZ, &size), 0);
    assert_true(io_terminal_is(fd));
    assert_int_equal(io_terminal_columns(fd), 87);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(program_path_is_absolute_and_ours),
        cmocka_unit_test(program_path_survives_lack_of_memory),
        cmocka_unit_test(program_pid_is_ours),
        cmocka_unit_test(variables_are_found_in_the_environment),
        cmocka_unit_test(pipe_is_no_terminal_and_has_no_columns),
        cmocka_unit_test(terminal_says_its_columns),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
