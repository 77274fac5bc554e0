/* `toolwire serve` on every kind of descriptor that a parent may give it.
 *
 *     test_serve_fds TOOLWIRE
 */
#include "e2e/peer.h"

#include "support/cmocka.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

static const char *program;
static const char *const with_diagnostics[] = {"serve", "--diagnostics", "--rate", "off", NULL};

static void files_serve_as_input_and_output(void **state)
{
    char in_path[] = "/tmp/tw-serve-in-XXXXXX";
    char out_path[] = "/tmp/tw-serve-out-XXXXXX";
    static const char text[] =
        INITIALIZE "\n" INITIALIZED "\n" CALL("1", "echo", "{\"message\":\"file\"}") "\n";
    char got[4096];
    McpWatch watch;
    int in = mkstemp(in_path);
    int out = mkstemp(out_path);
    ssize_t n;

    (void)state;
    assert_true(in >= 0 && out >= 0);
    assert_int_equal(write(in, text, sizeof(text) - 1), (ssize_t)sizeof(text) - 1);
    assert_int_equal(lseek(in, 0, SEEK_SET), 0);
    assert_int_equal(peer_wait(peer_spawn(program, with_diagnostics, in, out)), 0);
    n = pread(out, got, sizeof(got) - 1, 0);
    assert_true(n > 0);
    got[n] = '\0';
    assert_non_null(strstr(got, "\"text\":\"file\""));
    mcp_watch_init(&watch, MCP_WATCH_SERVER);
    mcp_watch_client_sends(&watch, text, sizeof(text) - 1);
    mcp_watch_server_sends(&watch, got, (size_t)n);
    mcp_watch_deinit(&watch);
    (void)unlink(in_path);
    (void)unlink(out_path);
    (void)close(in);
    (void)close(out);
}

/* More output for one read of input than waits at most: a file takes it all at once, and nothing
 * tells the program to go on but itself. */
static void a_file_takes_more_than_may_wait(void **state)
{
    enum {
        N = 5000
    };
    FILE *in = tmpfile();
    FILE *out = tmpfile();
    size_t n_lines = 0;
    int c;

    (void)state;
    assert_true(in != NULL && out != NULL);
    assert_true(fputs(INITIALIZE "\n", in) >= 0);
    for (int i = 1; i <= N; i++) {
        assert_true(fprintf(in, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/list\"}\n", i) >
                    0);
    }
    assert_int_equal(fflush(in), 0);
    rewind(in);
    assert_int_equal(peer_wait(peer_spawn(program, with_diagnostics, fileno(in), fileno(out))), 0);
    rewind(out);
    while ((c = getc(out)) != EOF) {
        n_lines += c == '\n';
    }
    assert_int_equal(n_lines, N + 1);
    assert_int_equal(fclose(in), 0);
    assert_int_equal(fclose(out), 0);
}

/* Says hello and calls a tool. */
static void use(Peer *peer)
{
    peer_initialize(peer);
    peer_send(peer, CALL("1", "echo", "{\"message\":\"m\"}"));
    peer_expect(peer, TEXT("1", "m"));
}

static void a_socket_is_input_and_output(void **state)
{
    int fds[2];
    Peer peer;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    peer_init(&peer, peer_spawn(program, with_diagnostics, fds[1], fds[1]), fds[0], fds[0]);
    assert_int_equal(close(fds[1]), 0);
    use(&peer);
    assert_int_equal(peer_finish(&peer), 0);
}

/* The other side of a new terminal, which neither echoes nor changes line ends. */
static int open_terminal(int *ret_slave)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    struct termios settings;
    int slave;

    assert_true(master >= 0);
    assert_int_equal(grantpt(master), 0);
    assert_int_equal(unlockpt(master), 0);
    slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(slave >= 0);
    assert_int_equal(tcgetattr(slave, &settings), 0);
    settings.c_lflag &= ~(tcflag_t)ECHO;
    settings.c_oflag &= ~(tcflag_t)OPOST;
    assert_int_equal(tcsetattr(slave, TCSANOW, &settings), 0);
    *ret_slave = slave;
    return master;
}

static void a_terminal_is_input_and_output(void **state)
{
    int slave;
    int master = open_terminal(&slave);
    Peer peer;

    (void)state;
    peer_init(&peer, peer_spawn(program, with_diagnostics, slave, slave), master, master);
    assert_int_equal(close(slave), 0);
    use(&peer);
    /* What a person would press; a terminal has no other end. */
    peer_send_bytes(&peer, "\x04", 1);
    peer.to = -1;
    assert_int_equal(peer_finish(&peer), 0);
}

static void without_stdin_there_is_nothing_to_do(void **state)
{
    int out[2];
    Peer peer;

    (void)state;
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    peer_init(&peer, peer_spawn(program, with_diagnostics, -1, out[1]), -1, out[0]);
    assert_int_equal(close(out[1]), 0);
    assert_int_equal(peer_finish(&peer), 0);
}

static void without_stdout_it_ends_well(void **state)
{
    int in[2];
    Peer peer;

    (void)state;
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    peer_init(&peer, peer_spawn(program, with_diagnostics, in[0], -1), in[1], -1);
    /* The pipe is ours as well until it was written to: the program may be gone by then. */
    peer_send(&peer, INITIALIZE);
    peer_send(&peer, CALL("1", "echo", "{\"message\":\"m\"}"));
    assert_int_equal(close(in[0]), 0);
    assert_int_equal(peer_finish(&peer), 0);
}

static void without_stderr_it_serves(void **state)
{
    int in[2];
    int out[2];
    Peer peer;

    (void)state;
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    peer_init(&peer, peer_spawn_all(program, with_diagnostics, in[0], out[1], -1), in[1], out[0]);
    assert_int_equal(close(in[0]), 0);
    assert_int_equal(close(out[1]), 0);
    use(&peer);
    peer_send(&peer, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
    peer_expect(&peer, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
    assert_int_equal(peer_finish(&peer), 0);
}

static void without_any_descriptor_it_ends_well(void **state)
{
    (void)state;
    assert_int_equal(peer_wait(peer_spawn_all(program, with_diagnostics, -1, -1, -1)), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_serve_as_input_and_output),
        cmocka_unit_test(a_file_takes_more_than_may_wait),
        cmocka_unit_test(a_socket_is_input_and_output),
        cmocka_unit_test(a_terminal_is_input_and_output),
        cmocka_unit_test(without_stdin_there_is_nothing_to_do),
        cmocka_unit_test(without_stdout_it_ends_well),
        cmocka_unit_test(without_stderr_it_serves),
        cmocka_unit_test(without_any_descriptor_it_ends_well),
    };

    if (argc != 2) {
        fprintf(stderr, "usage: test_serve_fds TOOLWIRE\n");
        return 2;
    }
    program = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
