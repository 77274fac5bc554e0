#include "e2e/peer.h"

#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Only ends a test that would hang; nothing is measured by it. */
#define PEER_HANG_MS       60000
#define PEER_MAX_ARGUMENTS 30

/* In the new process: fd becomes that one of its descriptors. */
static bool give_descriptor(int fd, int as)
{
    if (fd < 0) {
        (void)close(as);
        return true;
    }
    return fd == as || dup2(fd, as) == as;
}

pid_t peer_spawn(const char *program, const char *const *arguments, int in_fd, int out_fd)
{
    return peer_spawn_all(program, arguments, in_fd, out_fd, 2);
}

pid_t peer_spawn_all(const char *program, const char *const *arguments, int in_fd, int out_fd,
                     int err_fd)
{
    char *argv[PEER_MAX_ARGUMENTS + 2] = {(char *)(uintptr_t)program};
    pid_t pid;

    for (size_t i = 0; arguments != NULL && arguments[i] != NULL; i++) {
        assert_true(i < PEER_MAX_ARGUMENTS);
        argv[i + 1] = (char *)(uintptr_t)arguments[i];
    }
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        if (give_descriptor(in_fd, 0) && give_descriptor(out_fd, 1) && give_descriptor(err_fd, 2)) {
            (void)execv(program, argv);
        }
        _exit(127);
    }
    return pid;
}

void peer_init(Peer *peer, pid_t pid, int to, int from)
{
    (void)signal(SIGPIPE, SIG_IGN);
    *peer = (Peer){.pid = pid, .to = to, .from = from};
    mcp_watch_init(&peer->watch, MCP_WATCH_SERVER);
}

void peer_start(Peer *peer, const char *program, const char *const *arguments)
{
    int in[2];
    int out[2];

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    peer_init(peer, peer_spawn(program, arguments, in[0], out[1]), in[1], out[0]);
    (void)close(in[0]);
    (void)close(out[1]);
}

void peer_initialize(Peer *peer)
{
    char *line;

    peer_send(peer, INITIALIZE);
    line = peer_line(peer);
    assert_non_null(line);
    assert_non_null(strstr(line, "\"protocolVersion\":\"2025-11-25\""));
    free(line);
    peer_send(peer, INITIALIZED);
}

void peer_open(Peer *peer, const char *program, const char *const *arguments)
{
    peer_start(peer, program, arguments);
    peer_initialize(peer);
}

void peer_expect_sent(Peer *peer, const void *p, size_t n)
{
    mcp_watch_client_sends(&peer->watch, p, n);
}

void peer_send_bytes(Peer *peer, const void *p, size_t n)
{
    const char *at = p;

    peer_expect_sent(peer, p, n);
    while (n > 0) {
        ssize_t sent = write(peer->to, at, n);

        assert_true(sent > 0);
        at += sent;
        n -= (size_t)sent;
    }
}

void peer_send(Peer *peer, const char *line)
{
    peer_send_bytes(peer, line, strlen(line));
    peer_send_bytes(peer, "\n", 1);
}

static bool peer_read(Peer *peer)
{
    struct pollfd ready = {.fd = peer->from, .events = POLLIN};
    ssize_t n;

    if (peer->cap - peer->n < 65536) {
        peer->cap = peer->cap * 2 + 65536;
        peer->data = realloc(peer->data, peer->cap);
        assert_non_null(peer->data);
    }
    if (poll(&ready, 1, PEER_HANG_MS) != 1) {
        fail_msg("no output for %d s", PEER_HANG_MS / 1000);
    }
    n = read(peer->from, peer->data + peer->n, peer->cap - peer->n);
    if (n < 0 && errno == EIO) {
        return false; /* nobody has the terminal open any more */
    }
    assert_true(n >= 0);
    mcp_watch_server_sends(&peer->watch, peer->data + peer->n, (size_t)n);
    peer->n += (size_t)n;
    return n > 0;
}

char *peer_line(Peer *peer)
{
    size_t n_searched = 0;

    for (;;) {
        char *end = peer->n > n_searched
                        ? memchr(peer->data + n_searched, '\n', peer->n - n_searched)
                        : NULL;

        if (end != NULL) {
            size_t n = (size_t)(end - peer->data);
            char *line = malloc(n + 1);

            assert_non_null(line);
            memcpy(line, peer->data, n);
            line[n] = '\0';
            peer->n -= n + 1;
            memmove(peer->data, end + 1, peer->n);
            return line;
        }
        n_searched = peer->n;
        if (!peer_read(peer)) {
            assert_int_equal(peer->n, 0);
            return NULL;
        }
    }
}

void peer_expect(Peer *peer, const char *json)
{
    char *line = peer_line(peer);
    Arena arena;
    JsonDoc got;
    JsonDoc wanted;

    assert_non_null(line);
    arena_init(&arena, (size_t)1 << 28);
    assert_int_equal(json_parse(&wanted, &arena, json, strlen(json), NULL, NULL), 0);
    if (json_parse(&got, &arena, line, strlen(line), NULL, NULL) != 0 ||
        !json_equals(json_root(&got), json_root(&wanted))) {
        fail_msg("wanted: %.2000s\n   got: %.2000s", json, line);
    }
    arena_deinit(&arena);
    free(line);
}

void peer_close_input(Peer *peer)
{
    mcp_watch_client_ends(&peer->watch);
    if (peer->to == peer->from) {
        assert_int_equal(shutdown(peer->to, SHUT_WR), 0);
    } else {
        assert_int_equal(close(peer->to), 0);
    }
    peer->to = -1;
}

int peer_wait(pid_t pid)
{
    int status;

    while (waitpid(pid, &status, 0) < 0) {
        assert_int_equal(errno, EINTR);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int peer_finish(Peer *peer)
{
    char *line;
    int status;

    if (peer->to >= 0) {
        peer_close_input(peer);
    }
    line = peer->from >= 0 ? peer_line(peer) : NULL;
    if (line != NULL) {
        fail_msg("unexpected output: %.2000s", line);
    }
    if (peer->from >= 0) {
        (void)close(peer->from);
    }
    status = peer_wait(peer->pid);
    free(peer->data);
    mcp_watch_deinit(&peer->watch);
    *peer = (Peer){.to = -1, .from = -1};
    return status;
}
