#include "e2e/queue_hub.h"

#include "e2e/peer.h"
#include "support/cmocka.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
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

/* ---- the process ---- */

static void write_file(const QueueHub *hub, const char *name, const char *text)
{
    char path[128];
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s", hub->folder, name);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
}

void queue_hub_init(QueueHub *hub, const char *program, const char *tools)
{
    static const char *const places[] = {"HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
                                         "XDG_CONFIG_HOME"};

    (void)signal(SIGPIPE, SIG_IGN);
    *hub = (QueueHub){.program = program};
    (void)snprintf(hub->folder, sizeof(hub->folder), "/tmp/tw-queue-XXXXXX");
    assert_non_null(mkdtemp(hub->folder));
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        assert_int_equal(setenv(places[i], hub->folder, 1), 0);
    }
    write_file(hub, "tools.json", tools);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    (void)remove(path);
    return 0;
}

void queue_hub_clean(QueueHub *hub)
{
    if (hub->pid > 0) {
        queue_hub_kill(hub);
    }
    if (hub->folder[0] != '\0') {
        (void)nftw(hub->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    }
}

static void read_port(QueueHub *hub, int fd)
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
    free(line);
}

void queue_hub_start(QueueHub *hub, const char *settings)
{
    char path[128];
    const char *const arguments[] = {"up",      "--config", path,           "--http",
                                     HOST ":0", "--json",   "--no-toolkit", NULL};
    int fds[2];

    write_file(hub, "settings.json", settings);
    (void)snprintf(path, sizeof(path), "%s/settings.json", hub->folder);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    hub->pid = peer_spawn(hub->program, arguments, -1, fds[1]);
    (void)close(fds[1]);
    read_port(hub, fds[0]);
    (void)close(fds[0]);
}

void queue_hub_kill(QueueHub *hub)
{
    pid_t pid = hub->pid;

    hub->pid = 0;
    (void)kill(pid, SIGKILL);
    (void)peer_wait(pid);
}

void queue_hub_end(const QueueHub *hub)
{
    assert_int_equal(kill(hub->pid, SIGTERM), 0);
}

int queue_hub_stop(QueueHub *hub)
{
    pid_t pid = hub->pid;

    hub->pid = 0;
    assert_int_equal(kill(pid, SIGTERM), 0);
    return peer_wait(pid);
}

/* ---- requests ---- */

static bool send_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t n_sent = send(fd, p, n, MSG_NOSIGNAL);

        if (n_sent <= 0) {
            return false;
        }
        p += n_sent;
        n -= (size_t)n_sent;
    }
    return true;
}

int queue_connect(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && (inet_pton(AF_INET, HOST, &address.sin_addr) != 1 ||
                    connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0)) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

int queue_send(unsigned port, const char *line, const char *fields, const char *body)
{
    int fd = queue_connect(port);
    char *head = NULL;
    char length[64] = "";
    bool is_sent;

    if (fd < 0) {
        return -1;
    }
    if (body != NULL) {
        (void)snprintf(length, sizeof(length), "Content-Length: %zu\r\n", strlen(body));
    }
    is_sent = asprintf(&head, "%s HTTP/1.1\r\nHost: " HOST ":%u\r\nConnection: close\r\n%s%s%s\r\n",
                       line, port, body == NULL ? "" : "Content-Type: application/json\r\n", length,
                       fields == NULL ? "" : fields) > 0 &&
              send_all(fd, head, strlen(head));
    /* A refusal may come before all is sent. */
    (void)(is_sent && body != NULL && send_all(fd, body, strlen(body)));
    free(head);
    return fd;
}

/* The head's end, and whether as much follows as it says. */
static bool reply_is_whole(QueueReply *reply, size_t n)
{
    static const char name[] = "\r\nContent-Length: ";
    char *end = strstr(reply->head, "\r\n\r\n");
    const char *length;

    if (end == NULL) {
        return false;
    }
    *end = '\0';
    reply->body = end + 4;
    reply->n_body = n - (size_t)(reply->body - reply->head);
    length = strstr(reply->head, name);
    reply->status = (unsigned)strtoul(reply->head + strlen("HTTP/1.1 "), NULL, 10);
    return length == NULL || reply->n_body == strtoul(length + sizeof(name) - 1, NULL, 10);
}

bool queue_receive(int fd, QueueReply *ret)
{
    size_t n = 0;
    bool is_over = false;

    *ret = (QueueReply){.head = calloc(1, READ_BYTES + 1)};
    arena_init(&ret->arena, (size_t)1 << 28);
    while (ret->head != NULL && !is_over) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t n_read =
            poll(&ready, 1, QUEUE_HANG_MS) == 1 ? read(fd, ret->head + n, READ_BYTES) : -1;

        is_over = n_read <= 0;
        if (n_read > 0) {
            char *more = realloc(ret->head, n + (size_t)n_read + READ_BYTES + 1);

            n += (size_t)n_read;
            ret->head = more;
            if (more != NULL) {
                more[n] = '\0';
            }
        }
    }
    (void)close(fd);
    if (ret->head == NULL || !reply_is_whole(ret, n)) {
        ret->status = 0;
    }
    return ret->status != 0;
}

bool queue_try(unsigned port, QueueReply *ret, const char *line, const char *fields,
               const char *body)
{
    int fd = queue_send(port, line, fields, body);

    *ret = (QueueReply){.status = 0};
    return fd >= 0 && queue_receive(fd, ret);
}

void queue_ask(const QueueHub *hub, QueueReply *ret, unsigned status, const char *line,
               const char *body)
{
    assert_true(queue_try(hub->port, ret, line, NULL, body));
    if (ret->status != status) {
        fail_msg("%s %s: %s\n%s", line, body == NULL ? "" : body, ret->head, ret->body);
    }
}

void queue_reply_deinit(QueueReply *reply)
{
    free(reply->head);
    arena_deinit(&reply->arena);
    *reply = (QueueReply){.status = 0};
}

/* ---- what it says ---- */

char *queue_reply_get(QueueReply *reply, const char *pointer)
{
    JsonDoc doc;
    JsonValue value;
    Span text = SPAN_NULL;
    char *copy;

    if (reply->n_body > 0 &&
        json_parse(&doc, &reply->arena, reply->body, reply->n_body, NULL, NULL) == 0 &&
        json_pointer(json_root(&doc), span_from_str(pointer), &value) == 0) {
        text = json_span(value);
        if (json_kind(value) == JSON_STRING) {
            (void)json_string(value, &reply->arena, &text);
        }
    }
    copy = calloc(1, text.n + 1);
    if (copy != NULL && text.n > 0) {
        memcpy(copy, text.p, text.n);
    }
    return copy;
}

void queue_reply_has(QueueReply *reply, const char *pointer, const char *expected)
{
    char *got = queue_reply_get(reply, pointer);

    if (strcmp(got, expected) != 0) {
        fail_msg("%s: expected %s, got %s in\n%s", pointer, expected, got, reply->body);
    }
    free(got);
}
