/* bench_agent_model: a chat completions service that costs next to nothing, and stamps what it
 * sends.
 *
 *     bench_agent_model     prints its port on 127.0.0.1 and its start, serves until its stdin ends
 *
 * A request whose text holds "tokens=N" is answered with N events of a stream, "pause=U" (µs)
 * apart; those of all answers that stream leave in one round. The content of each is "I S R ": its
 * number, when it was sent, and when its request had come, in microseconds of CLOCK_MONOTONIC since
 * the start of this program, as its first line says it; without R but in the first: about as long
 * as the tokens of models are.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum {
    MAX_CLIENTS = 1024,
    REQUEST_BYTES = 1 << 20,
    EVENTS = 256
};

typedef struct Client {
    int fd;
    char *request;
    size_t n_request;
    unsigned long n_tokens; /* of the answer at hand; 0: it waits for a request */
    unsigned long n_sent;
    uint64_t pause_ns;
    uint64_t due_ns;
    uint64_t came_ns;
} Client;

static Client clients[MAX_CLIENTS];
static uint64_t began_ns;
static int poll_fd;
static int timer_fd;

static void require(bool ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(1);
    }
}

static uint64_t now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void watch(int fd, uint64_t tag)
{
    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = tag}};

    require(epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
}

static void client_drop(Client *client)
{
    (void)close(client->fd);
    free(client->request);
    *client = (Client){.fd = -1};
}

/* All of it: answers are small, and sockets take them. */
static void client_write(Client *client, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(client->fd, text, n, MSG_NOSIGNAL);

        if (sent < 0 && errno == EAGAIN) {
            continue;
        }
        if (sent < 0) {
            client_drop(client);
            return;
        }
        text += sent;
        n -= (size_t)sent;
    }
}

/* One event of the stream, a chunk of its own. */
static size_t put_chunk(char *out, size_t size, const char *data)
{
    char event[512];
    int n = snprintf(event, sizeof(event), "data: %s\n\n", data);

    return (size_t)snprintf(out, size, "%x\r\n%s\r\n", (unsigned)n, event);
}

static void client_send_token(Client *client)
{
    char data[320];
    char came[32] = "";
    char chunk[1024];
    size_t n;

    if (client->n_sent == 0) {
        (void)snprintf(came, sizeof(came), "%llu ",
                       (unsigned long long)(client->came_ns - began_ns) / 1000);
    }
    (void)snprintf(data, sizeof(data),
                   "{\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"model\":\"fake\","
                   "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%lu %llu %s\"},"
                   "\"finish_reason\":null}]}",
                   client->n_sent, (unsigned long long)(now_ns() - began_ns) / 1000, came);
    n = put_chunk(chunk, sizeof(chunk), data);
    client->n_sent++;
    client->due_ns += client->pause_ns;
    if (client->n_sent < client->n_tokens) {
        client_write(client, chunk, n);
        return;
    }
    n += put_chunk(chunk + n, sizeof(chunk) - n,
                   "{\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}");
    n += put_chunk(chunk + n, sizeof(chunk) - n, "[DONE]");
    memcpy(chunk + n, "0\r\n\r\n", 5);
    client->n_tokens = 0;
    client_write(client, chunk, n + 5);
}

static void set_timer(void)
{
    struct itimerspec at = {.it_value = {0, 0}};
    uint64_t due_ns = UINT64_MAX;

    for (size_t i = 0; i < MAX_CLIENTS; i++) {
        if (clients[i].fd >= 0 && clients[i].n_tokens > 0 && clients[i].due_ns < due_ns) {
            due_ns = clients[i].due_ns;
        }
    }
    if (due_ns != UINT64_MAX) {
        at.it_value.tv_sec = (time_t)(due_ns / 1000000000u);
        at.it_value.tv_nsec = (long)(due_ns % 1000000000u);
    }
    (void)timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void send_due(void)
{
    uint64_t now = now_ns();

    for (size_t i = 0; i < MAX_CLIENTS; i++) {
        Client *client = &clients[i];

        while (client->fd >= 0 && client->n_tokens > 0 && client->due_ns <= now) {
            client_send_token(client);
        }
    }
}

static unsigned long number_behind(const char *text, const char *name, unsigned long otherwise)
{
    const char *at = strstr(text, name);
    const char *found = NULL;

    while (at != NULL) { /* the last: what came before is the conversation's past */
        found = at;
        at = strstr(at + 1, name);
    }
    return found == NULL ? otherwise : strtoul(found + strlen(name), NULL, 10);
}

/* Begins the answer if the request is whole. */
static void client_look(Client *client)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";
    const char *body = strstr(client->request, "\r\n\r\n");
    const char *length;
    size_t n_body;

    if (body == NULL) {
        return;
    }
    body += 4;
    length = strcasestr(client->request, "content-length:");
    n_body = length == NULL ? 0 : strtoul(length + 15, NULL, 10);
    if (client->n_request - (size_t)(body - client->request) < n_body) {
        return;
    }
    client->came_ns = now_ns();
    client->n_tokens = number_behind(body, "tokens=", 1);
    client->pause_ns = 1000u * number_behind(body, "pause=", 0);
    client->n_sent = 0;
    client->due_ns = client->came_ns;
    client->n_request = 0;
    client_write(client, head, sizeof(head) - 1);
}

static void client_read(Client *client)
{
    ssize_t n = recv(client->fd, client->request + client->n_request,
                     REQUEST_BYTES - 1 - client->n_request, MSG_DONTWAIT);

    if (n < 0 && errno == EAGAIN) {
        return;
    }
    if (n <= 0) {
        client_drop(client);
        return;
    }
    client->n_request += (size_t)n;
    client->request[client->n_request] = '\0';
    client_look(client);
}

static void client_accept(int listener)
{
    int one = 1;
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    for (size_t i = 0; fd >= 0 && i < MAX_CLIENTS; i++) {
        if (clients[i].fd < 0) {
            clients[i] = (Client){.fd = fd, .request = malloc(REQUEST_BYTES)};
            require(clients[i].request != NULL, "malloc");
            (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
            watch(fd, i);
            return;
        }
    }
}

static int listen_anywhere(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    require(fd >= 0 && bind(fd, (struct sockaddr *)&address, n) == 0 && listen(fd, 1024) == 0 &&
                getsockname(fd, (struct sockaddr *)&address, &n) == 0,
            "listen");
    began_ns = now_ns();
    printf("%d %llu\n", ntohs(address.sin_port), (unsigned long long)began_ns);
    (void)fflush(stdout);
    return fd;
}

int main(void)
{
    enum {
        TAG_LISTENER = MAX_CLIENTS,
        TAG_TIMER,
        TAG_STDIN
    };
    struct epoll_event events[EVENTS];
    uint64_t n_fired;
    int listener;

    for (size_t i = 0; i < MAX_CLIENTS; i++) {
        clients[i].fd = -1;
    }
    poll_fd = epoll_create1(EPOLL_CLOEXEC);
    timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    listener = listen_anywhere();
    watch(listener, TAG_LISTENER);
    watch(timer_fd, TAG_TIMER);
    watch(STDIN_FILENO, TAG_STDIN);
    for (;;) {
        int n = epoll_wait(poll_fd, events, EVENTS, -1);

        for (int i = 0; i < n; i++) {
            if (events[i].data.u64 == TAG_STDIN) {
                return 0;
            }
            if (events[i].data.u64 == TAG_LISTENER) {
                client_accept(listener);
            } else if (events[i].data.u64 == TAG_TIMER) {
                (void)!read(timer_fd, &n_fired, sizeof(n_fired));
            } else {
                client_read(&clients[events[i].data.u64]);
            }
        }
        send_due();
        set_timer();
    }
}
