#include "support/cmocka.h"

#include <sys/socket.h>
#include <unistd.h>

#include "io/descriptor_look.h"

static void open_pair(int fds[2])
{
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
}

static void close_pair(const int fds[2])
{
    io_fd_close(fds[0]);
    io_fd_close(fds[1]);
}

static void silent_peer_is_neither_readable_nor_gone(void **state)
{
    int fds[2];

    (void)state;
    open_pair(fds);
    assert_false(io_fd_is_readable(fds[0]));
    assert_false(io_fd_has_gone(fds[0]));
    close_pair(fds);
}

static void bytes_make_it_readable(void **state)
{
    int fds[2];

    (void)state;
    open_pair(fds);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_true(io_fd_is_readable(fds[0]));
    assert_false(io_fd_has_gone(fds[0]));
    close_pair(fds);
}

static void peer_that_only_sends_no_more_is_readable_and_not_gone(void **state)
{
    int fds[2];

    (void)state;
    open_pair(fds);
    assert_int_equal(shutdown(fds[1], SHUT_WR), 0);
    assert_true(io_fd_is_readable(fds[0]));
    assert_false(io_fd_has_gone(fds[0]));
    close_pair(fds);
}

static void peer_that_closed_is_gone(void **state)
{
    int fds[2];

    (void)state;
    open_pair(fds);
    io_fd_close(fds[1]);
    assert_true(io_fd_is_readable(fds[0]));
    assert_true(io_fd_has_gone(fds[0]));
    io_fd_close(fds[0]);
}

static void closing_none_does_nothing(void **state)
{
    (void)state;
    io_fd_close(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(silent_peer_is_neither_readable_nor_gone),
        cmocka_unit_test(bytes_make_it_readable),
        cmocka_unit_test(peer_that_only_sends_no_more_is_readable_and_not_gone),
        cmocka_unit_test(peer_that_closed_is_gone),
        cmocka_unit_test(closing_none_does_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
