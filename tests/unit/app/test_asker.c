#include "app/asker.h"

#include "support/cmocka.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static void a_peer_is_known_by_its_numbers(void **state)
{
    char expected[ASKER_WHO_BYTES];
    Asker asker;
    int fds[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    (void)snprintf(expected, sizeof(expected), "uid %ld pid %ld", (long)geteuid(), (long)getpid());
    asker_init_peer(&asker, "callsock", fds[0]);
    assert_string_equal(asker.call.dialect, "callsock");
    assert_string_equal(asker.call.who, expected);
    asker_init_pair(&asker, "mcp", fds[0], fds[0]);
    assert_string_equal(asker.call.who, expected);
    assert_int_equal(close(fds[0]), 0);
    assert_int_equal(close(fds[1]), 0);
}

static void a_pair_of_pipes_is_stdio(void **state)
{
    Asker asker;

    (void)state;
    asker_init_pair(&asker, "mcp", 0, 1);
    assert_string_equal(asker.call.dialect, "mcp");
    assert_string_equal(asker.call.who, "stdio");
}

static void who_is_not_known_has_no_name(void **state)
{
    Asker asker;
    int fds[2];

    (void)state;
    assert_int_equal(pipe(fds), 0);
    asker_init_peer(&asker, "pipe", fds[0]);
    assert_string_equal(asker.call.who, "");
    assert_int_equal(close(fds[0]), 0);
    assert_int_equal(close(fds[1]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_is_known_by_its_numbers),
        cmocka_unit_test(a_pair_of_pipes_is_stdio),
        cmocka_unit_test(who_is_not_known_has_no_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
