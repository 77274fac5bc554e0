#include "support/cmocka.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

static void fold_turns_an_outcome_into_an_errno_and_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(err_fold(1), -ENOTRECOVERABLE);
    assert_int_equal(err_fold(77), -ENOTRECOVERABLE);
    assert_int_equal(err_fold(0), 0);
    assert_int_equal(err_fold(-EIO), -EIO);
}

static void raise_and_pass_return_what_they_are_given(void **state)
{
    (void)state;
    assert_int_equal(err_raise(-ENOMEM), -ENOMEM);
    assert_int_equal(err_pass(-EPIPE), -EPIPE);
    assert_int_equal(err_pass(0), 0);
}

/* What err_trace writes to stderr, read back through a pipe. */
static size_t trace_output(int r, char *out, size_t size)
{
    int saved = dup(STDERR_FILENO);
    int fds[2];
    ssize_t n;

    assert_int_equal(pipe(fds), 0);
    assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
    assert_int_equal(err_trace(r, "raise", "some/file.c", 12), r);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    (void)close(saved);
    (void)close(fds[1]);
    n = read(fds[0], out, size - 1);
    (void)close(fds[0]);
    assert_true(n >= 0);
    out[n] = '\0';
    return (size_t)n;
}

static void trace_names_errno_file_and_line_only_when_asked_to(void **state)
{
    char out[512];

    (void)state;
    assert_int_equal(unsetenv("TOOLWIRE_TRACE"), 0);
    assert_int_equal(trace_output(-EIO, out, sizeof(out)), 0);
    assert_int_equal(setenv("TOOLWIRE_TRACE", "1", 1), 0);
    assert_true(trace_output(-EIO, out, sizeof(out)) > 0);
    assert_non_null(strstr(out, "raise -5"));
    assert_non_null(strstr(out, "some/file.c:12\n"));
    assert_int_equal(trace_output(0, out, sizeof(out)), 0);
    assert_int_equal(trace_output(2, out, sizeof(out)), 0);
    assert_int_equal(unsetenv("TOOLWIRE_TRACE"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fold_turns_an_outcome_into_an_errno_and_nothing_else),
        cmocka_unit_test(raise_and_pass_return_what_they_are_given),
        cmocka_unit_test(trace_names_errno_file_and_line_only_when_asked_to),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
