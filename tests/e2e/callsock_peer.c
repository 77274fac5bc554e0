#include "e2e/callsock_peer.h"

#include "support/cmocka.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arena.h"
#include "e2e/peer.h"
#include "json/json.h"

/* Only ends a test that would hang; nothing is measured by it. */
#define WIRE_HANG_MS 60000

#define HOST_MAX_ARGUMENTS 30

/* ---- places ---- */

void place_init(Place *place)
{
    static const char folder[] = "/tmp/tw-e2e-XXXXXX";

    (void)signal(SIGPIPE, SIG_IGN);
    memcpy(place->folder, folder, sizeof(folder));
    assert_non_null(mkdtemp(place->folder));
    (void)snprintf(place->socket, sizeof(place->socket), "%s/p.sock", place->folder);
    (void)snprintf(place->schema, sizeof(place->schema), "%s/p.json", place->folder);
}

void place_deinit(Place *place)
{
    (void)unlink(place->socket);
    (void)unlink(place->schema);
    assert_int_equal(rmdir(place->folder), 0);
}

void place_write(const char *path, const char *text, mode_t mode)
{
    char temporary[128];
    FILE *file;

    (void)snprintf(temporary, sizeof(temporary), "%s.new", path);
    file = fopen(temporary, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(temporary, mode), 0);
    assert_int_equal(rename(temporary, path), 0);
}

/* ---- frames ---- */

void wire_write(int fd, const void *p, size_t n)
{
    const char *at = p;

    while (n > 0) {
        ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);

        assert_true(sent > 0);
        at += sent;
        n -= (size_t)sent;
    }
}

void frame_write(int fd, const void *p, size_t n)
{
    unsigned char header[4] = {(unsigned char)(n >> 24), (unsigned char)(n >> 16),
                               (unsigned char)(n >> 8), (unsigned char)n};

    wire_write(fd, header, sizeof(header));
    wire_write(fd, p, n);
}

void frame_write_str(int fd, const char *text)
{
    frame_write(fd, text, strlen(text));
}

/* Reads n bytes, or fewer at the end; returns how many. */
static size_t wire_read(int fd, char *p, size_t n)
{
    size_t n_got = 0;

    while (n_got < n) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t r;

        if (poll(&ready, 1, WIRE_HANG_MS) != 1) {
            fail_msg("nothing came for %d s", WIRE_HANG_MS / 1000);
        }
        r = read(fd, p + n_got, n - n_got);
        if (r == 0 || (r < 0 && errno == ECONNRESET)) {
            break;
        }
        assert_true(r > 0);
        n_got += (size_t)r;
    }
    return n_got;
}

char *frame_read(int fd, size_t *ret_n)
{
    unsigned char header[4];
    size_t n = wire_read(fd, (char *)header, sizeof(header));
    char *text;

    if (n == 0) {
        return NULL;
    }
    assert_int_equal(n, sizeof(header));
    n = (size_t)header[0] << 24 | (size_t)header[1] << 16 | (size_t)header[2] << 8 | header[3];
    text = malloc(n + 1);
    assert_non_null(text);
    assert_int_equal(wire_read(fd, text, n), n);
    text[n] = '\0';
    if (ret_n != NULL) {
        *ret_n = n;
    }
    return text;
}

void frame_expect(int fd, const char *text)
{
    char *got = frame_read(fd, NULL);

    assert_non_null(got);
    assert_string_equal(got, text);
    free(got);
}

void frame_expect_error(int fd, const char *type, const char *words)
{
    char *got = frame_read(fd, NULL);
    JsonValue value;
    JsonDoc doc;
    Arena arena;

    assert_non_null(got);
    arena_init(&arena, (size_t)1 << 20);
    assert_int_equal(json_parse(&doc, &arena, got, strlen(got), NULL, NULL), 0);
    if (json_pointer(json_root(&doc), SPAN("/error/type"), &value) != 0 ||
        !json_string_equals(value, span_from_str(type)) || strstr(got, words) == NULL) {
        fail_msg("wanted: %s: %s\n   got: %.2000s", type, words, got);
    }
    arena_deinit(&arena);
    free(got);
}

void wire_expect_end(int fd)
{
    char byte;

    assert_int_equal(wire_read(fd, &byte, 1), 0);
    assert_int_equal(close(fd), 0);
}

/* ---- sockets ---- */

static struct sockaddr_un address_of(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    assert_true(strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path) + 1);
    return address;
}

int parent_listen(const Place *place)
{
    struct sockaddr_un address = address_of(place->socket);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

int parent_accept(int listening)
{
    struct pollfd ready = {.fd = listening, .events = POLLIN};
    int fd;

    if (poll(&ready, 1, WIRE_HANG_MS) != 1) {
        fail_msg("nobody connected for %d s", WIRE_HANG_MS / 1000);
    }
    fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

bool parent_is_untouched(int listening)
{
    struct pollfd ready = {.fd = listening, .events = POLLIN};

    return poll(&ready, 1, 0) == 0;
}

int bridge_connect(const char *socket_path)
{
    struct sockaddr_un address = address_of(socket_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* ---- programs ---- */

/* One line of a descriptor, without its newline; what is behind it stays there. */
static void read_line(int fd, char *line, size_t size)
{
    size_t n = 0;

    for (;;) {
        assert_true(n < size);
        if (wire_read(fd, line + n, 1) == 0) {
            line[n] = '\0';
            fail_msg("it ended, saying: %s", line);
        }
        if (line[n] == '\n') {
            line[n] = '\0';
            return;
        }
        n++;
    }
}

/* As peer_spawn_all, but it goes with the test: a host ends with nothing else that it has of it,
 * and a test that fails does not get to stop it. */
static pid_t host_spawn(const char *program, const char *const *arguments, int in_fd, int out_fd,
                        int err_fd)
{
    char *argv[HOST_MAX_ARGUMENTS + 2] = {(char *)(uintptr_t)program};
    pid_t tester = getpid();
    pid_t pid;

    for (size_t i = 0; arguments[i] != NULL; i++) {
        assert_true(i < HOST_MAX_ARGUMENTS);
        argv[i + 1] = (char *)(uintptr_t)arguments[i];
    }
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        /* The tester may have ended before it was asked for. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == tester && dup2(in_fd, 0) == 0 &&
            dup2(out_fd, 1) == 1 && dup2(err_fd, 2) == 2) {
            (void)execv(program, argv);
        }
        _exit(127);
    }
    return pid;
}

void host_start(HostProcess *host, const char *program, const char *const *arguments)
{
    int err[2];
    int in;

    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    in = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_true(in >= 0);
    host->pid = host_spawn(program, arguments, in, in, err[1]);
    host->err = err[0];
    (void)close(err[1]);
    (void)close(in);
    read_line(host->err, host->ready, sizeof(host->ready));
    if (strstr(host->ready, " at /") == NULL) {
        fail_msg("it said: %s", host->ready);
    }
}

int host_finish(HostProcess *host)
{
    int status = peer_wait(host->pid);

    (void)close(host->err);
    *host = (HostProcess){.pid = -1, .err = -1};
    return status;
}

int host_stop(HostProcess *host, int signum)
{
    assert_int_equal(kill(host->pid, signum), 0);
    return host_finish(host);
}

static char *read_all(int fd)
{
    size_t cap = 65536;
    char *text = malloc(cap);
    size_t n;

    assert_non_null(text);
    n = wire_read(fd, text, cap - 1);
    text[n] = '\0';
    (void)close(fd);
    return text;
}

int run_program(const char *program, const char *const *arguments, char **ret_out, char **ret_err)
{
    int out[2];
    int err[2];
    char *out_text;
    char *err_text;
    pid_t pid;
    int in;

    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(err, O_CLOEXEC), 0);
    in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    pid = host_spawn(program, arguments, in, out[1], err[1]);
    (void)close(in);
    (void)close(out[1]);
    (void)close(err[1]);
    out_text = read_all(out[0]);
    err_text = read_all(err[0]);
    if (ret_out != NULL) {
        *ret_out = out_text;
    } else {
        free(out_text);
    }
    if (ret_err != NULL) {
        *ret_err = err_text;
    } else {
        free(err_text);
    }
    return peer_wait(pid);
}
