#define _GNU_SOURCE /* F_GETPIPE_SZ */

#include "io/stdio.h"

#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES_1_MIB (1024 * 1024)

/* Checks in a child, whose standard descriptors can be bent at will; 0 if all of them hold. */
static int run_in_child(int (*check)(int in_fd, int out_fd, int err_fd))
{
    int status = -1;
    int to[2];
    int from[2];
    int err[2];
    pid_t child;

    assert_int_equal(pipe(to), 0);
    assert_int_equal(pipe(from), 0);
    assert_int_equal(pipe(err), 0);
    assert_int_equal(write(to[1], "question", 8), 8);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(check(to[0], from[1], err[1]));
    }
    (void)close(from[1]);
    (void)close(err[1]);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        char text[32] = {0};

        /* What was written to the wire came there, and what was printed did not. */
        assert_true(read(from[0], text, sizeof(text)) >= 0);
        assert_string_equal(text, "answer");
        (void)memset(text, 0, sizeof(text));
        assert_true(read(err[0], text, sizeof(text)) >= 0);
        assert_string_equal(text, "print");
    }
    (void)close(to[0]);
    (void)close(to[1]);
    (void)close(from[0]);
    (void)close(err[0]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int check_claim(int in_fd, int out_fd, int err_fd)
{
    char text[16] = {0};
    int in = -1;
    int out = -1;

    if (dup2(in_fd, 0) != 0 || dup2(out_fd, 1) != 1 || dup2(err_fd, 2) != 2 ||
        fcntl(err_fd, F_SETFD, 0) != 0) {
        return 1;
    }
    if (io_stdio_claim(&in, &out) != 0 || in < 3 || out < 3) {
        return 2;
    }
    if (fcntl(in, F_GETFD) != FD_CLOEXEC || fcntl(out, F_GETFD) != FD_CLOEXEC ||
        fcntl(err_fd, F_GETFD) != FD_CLOEXEC) {
        return 3;
    }
    if (read(0, text, sizeof(text)) != 0) { /* /dev/null */
        return 4;
    }
    if (read(in, text, sizeof(text)) != 8 || strcmp(text, "question") != 0) {
        return 5;
    }
    if (write(1, "print", 5) != 5 || write(out, "answer", 6) != 6) {
        return 6;
    }
    /* An ordinary user may be allowed less; then the pipe is as it was. */
    if (geteuid() == 0 && fcntl(out, F_GETPIPE_SZ) != BYTES_1_MIB) {
        return 7;
    }
    return 0;
}

static void the_wire_is_kept_apart_from_what_is_printed(void **state)
{
    (void)state;
    assert_int_equal(run_in_child(check_claim), 0);
}

/* Tells success by 42, so that the parent does not look for text. */
static int check_closed(int in_fd, int out_fd, int closed_fd)
{
    int in = -1;
    int out = -1;
    int r;

    if (dup2(in_fd, 0) != 0 || dup2(out_fd, 1) != 1) {
        return 1;
    }
    (void)close(closed_fd);
    r = io_stdio_claim(&in, &out);
    if (r != -EBADF || in != -1 || out != -1) {
        return 2;
    }
    if (fcntl(closed_fd, F_GETFD) != -1 || fcntl(3 - 2 - closed_fd, F_GETFD) == -1) {
        return 3; /* something changed */
    }
    return 42;
}

static int check_closed_in(int in_fd, int out_fd, int err_fd)
{
    (void)err_fd;
    return check_closed(in_fd, out_fd, 0);
}

static int check_closed_out(int in_fd, int out_fd, int err_fd)
{
    (void)err_fd;
    return check_closed(in_fd, out_fd, 1);
}

static void closed_descriptors_are_refused_and_nothing_changes(void **state)
{
    (void)state;
    assert_int_equal(run_in_child(check_closed_in), 42);
    assert_int_equal(run_in_child(check_closed_out), 42);
}

static int check_closed_err(int in_fd, int out_fd, int err_fd)
{
    int in = -1;
    int out = -1;

    (void)err_fd;
    if (dup2(in_fd, 0) != 0 || dup2(out_fd, 1) != 1) {
        return 1;
    }
    (void)close(2);
    if (io_stdio_claim(&in, &out) != 0) {
        return 2;
    }
    if (fcntl(2, F_GETFD) == -1 || write(1, "lost", 4) != 4 || write(2, "lost", 4) != 4) {
        return 3;
    }
    return open("/dev/null", O_RDONLY) >= 3 ? 42 : 4;
}

static void a_closed_stderr_becomes_dev_null(void **state)
{
    (void)state;
    assert_int_equal(run_in_child(check_closed_err), 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_wire_is_kept_apart_from_what_is_printed),
        cmocka_unit_test(closed_descriptors_are_refused_and_nothing_changes),
        cmocka_unit_test(a_closed_stderr_becomes_dev_null),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
