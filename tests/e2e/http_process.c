#include "e2e/http_process.h"

#include "e2e/peer.h"
#include "e2e/process_state.h"
#include "support/cmocka.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define HOST             "127.0.0.1"
#define FIRST_LINE_BYTES ((size_t)256 * 1024)
#define READ_BYTES       ((size_t)64 * 1024)
#define NARROW_BYTES     4096
#define NARROW_SEGMENT   536 /* what the other side expects to send at once decides its buffer */

/* ---- the process ---- */

static void take_socket(HttpProcess *hub, const char *line)
{
    static const char name[] = "\"socket\":\"";
    const char *at = strstr(line, name);

    assert_non_null(at);
    at += sizeof(name) - 1;
    (void)snprintf(hub->socket, sizeof(hub->socket), "%.*s", (int)strcspn(at, "\""), at);
}

static void read_place(HttpProcess *hub, int fd)
{
    char *line = calloc(1, FIRST_LINE_BYTES);
    const char *at;
    size_t n = 0;

    assert_non_null(line);
    while (memchr(line, '\n', n) == NULL) {
        ssize_t n_read = read(fd, line + n, FIRST_LINE_BYTES - 1 - n);

        assert_true(n_read > 0);
        n += (size_t)n_read;
    }
    at = strstr(line, HOST ":");
    assert_non_null(at);
    hub->port = (unsigned)strtoul(at + strlen(HOST ":"), NULL, 10);
    assert_int_not_equal(hub->port, 0);
    take_socket(hub, line);
    free(line);
}

void http_process_start(HttpProcess *hub, const char *program, const char *live_bytes)
{
    static const char *const none[] = {NULL};

    http_process_start_with(hub, program, live_bytes, none);
}

void http_process_start_with(HttpProcess *hub, const char *program, const char *live_bytes,
                             const char *const *more)
{
    static const char *const places[] = {"HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
                                         "XDG_CONFIG_HOME"};
    const char *arguments[6 + HTTP_MORE_ARGUMENTS + 1] = {
        "up", "--http", HOST ":0", "--json", "--diagnostics", "--no-toolkit"};
    int live_fd = -1;
    int fds[2];

    for (size_t i = 0; more[i] != NULL; i++) {
        assert_true(i < HTTP_MORE_ARGUMENTS);
        arguments[6 + i] = more[i];
    }
    (void)signal(SIGPIPE, SIG_IGN);
    *hub = (HttpProcess){.pid = 0};
    (void)snprintf(hub->folder, sizeof(hub->folder), "/tmp/tw-http-XXXXXX");
    assert_non_null(mkdtemp(hub->folder));
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        assert_int_equal(setenv(places[i], hub->folder, 1), 0);
    }
    if (live_bytes != NULL) {
        live_fd = process_live_begin(&hub->live_bytes, live_bytes);
    }
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    hub->pid = peer_spawn(program, arguments, -1, fds[1]);
    if (live_fd >= 0) {
        process_live_end(live_fd);
    }
    (void)close(fds[1]);
    read_place(hub, fds[0]);
    (void)close(fds[0]);
}

int http_process_terminate(HttpProcess *hub)
{
    pid_t pid = hub->pid;

    assert_int_equal(kill(pid, SIGTERM), 0);
    hub->pid = 0;
    return peer_wait(pid);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    (void)remove(path);
    return 0;
}

void http_process_clean(HttpProcess *hub)
{
    if (hub->pid > 0) {
        (void)kill(hub->pid, SIGKILL);
        (void)peer_wait(hub->pid);
        hub->pid = 0;
    }
    if (hub->folder[0] != '\0') {
        (void)nftw(hub->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    }
}

/* ---- connections ---- */

int http_connect(const HttpProcess *hub, bool is_narrow)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)hub->port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int n_buffer = NARROW_BYTES;
    int n_segment = NARROW_SEGMENT;

    assert_true(fd >= 0);
    if (is_narrow) {
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &n_buffer, sizeof(n_buffer)), 0);
        assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &n_segment, sizeof(n_segment)), 0);
    }
    assert_int_equal(inet_pton(AF_INET, HOST, &address.sin_addr), 1);
    assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

bool http_send(int fd, const char *p, size_t n)
{
    while (n > 0) {
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        ssize_t n_sent;

        assert_int_equal(poll(&ready, 1, HTTP_HANG_MS), 1);
        n_sent = send(fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n_sent < 0 && errno != EAGAIN) {
            return false;
        }
        if (n_sent > 0) {
            p += n_sent;
            n -= (size_t)n_sent;
        }
    }
    return true;
}

bool http_send_text(int fd, const char *text)
{
    return http_send(fd, text, strlen(text));
}

/* Is there one answer, whole? */
static bool answer_is_whole(const char *p, size_t n)
{
    static const char name[] = "\r\nContent-Length: ";
    const char *end = memmem(p, n, "\r\n\r\n", 4);
    const char *length = end == NULL ? NULL : memmem(p, (size_t)(end - p), name, sizeof(name) - 1);

    return length != NULL &&
           n >= (size_t)(end - p) + 4 + strtoul(length + sizeof(name) - 1, NULL, 10);
}

static char *read_until(int fd, bool (*is_enough)(const char *p, size_t n))
{
    char *text = calloc(1, READ_BYTES + 1);
    size_t n = 0;

    assert_non_null(text);
    while (is_enough == NULL || !is_enough(text, n)) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t n_read;

        assert_int_equal(poll(&ready, 1, HTTP_HANG_MS), 1);
        n_read = read(fd, text + n, READ_BYTES);
        if (n_read <= 0) {
            break;
        }
        n += (size_t)n_read;
        text = realloc(text, n + READ_BYTES + 1);
        assert_non_null(text);
        text[n] = '\0';
    }
    return text;
}

char *http_read_answer(int fd)
{
    return read_until(fd, answer_is_whole);
}

char *http_read_end(int fd)
{
    return read_until(fd, NULL);
}

void http_reset(int fd)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
    assert_int_equal(close(fd), 0);
}

char *http_modern(const HttpProcess *hub, const char *method, const char *name, const char *params)
{
    char *body = NULL;
    char *request = NULL;

    assert_true(
        asprintf(&body,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":{%s\"_meta\":{"
                 "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
                 "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"version\":\"1\"},"
                 "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
                 method, params) > 0);
    assert_true(asprintf(&request,
                         "POST /mcp HTTP/1.1\r\nHost: " HOST ":%u\r\n"
                         "Content-Type: application/json\r\n"
                         "Accept: application/json, text/event-stream\r\n"
                         "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: %s\r\n%s%s%s"
                         "Content-Length: %zu\r\n\r\n%s",
                         hub->port, method,
                         name == NULL ? "" : "Mcp-Name: ", name == NULL ? "" : name,
                         name == NULL ? "" : "\r\n", strlen(body), body) > 0);
    free(body);
    return request;
}
