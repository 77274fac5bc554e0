#include "http_load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define ANSWER_BYTES ((size_t)4096)
#define MAX_EVENTS   512
#define HANG_MS      60000
#define TEXT         "hello"

typedef struct Client {
    int fd; /* -1: it was refused */
    size_t stage;
    char *request;
    size_t n_request;
    size_t n_answer;
    uint64_t start_ns;
    char answer[ANSWER_BYTES];
} Client;

struct HttpLoad {
    const HttpSide *side;
    const HttpLoadKind *kind;
    int epoll_fd;
    size_t n;
    Client clients[];
};

static char *echo_request(const HttpSide *side, const char *session, size_t stage,
                          const char *answer, size_t *ret_n)
{
    (void)stage;
    (void)answer;
    return http_side_echo(side, session, TEXT, ret_n);
}

const HttpLoadKind http_load_echo = {.n_stages = 1,
                                     .wanted = {"\"text\":\"" TEXT "\""},
                                     .request = echo_request,
                                     .has_session = true};

static void client_open(HttpLoad *load, Client *client, const HttpSide *side)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = client};
    char session[HTTP_SESSION_BYTES] = "";

    client->fd = http_side_connect(side, 0);
    if (load->kind->has_session) {
        http_side_open(side, client->fd, session);
    }
    client->request = load->kind->request(side, session, 0, NULL, &client->n_request);
    if (fcntl(client->fd, F_SETFL, O_NONBLOCK) != 0 ||
        epoll_ctl(load->epoll_fd, EPOLL_CTL_ADD, client->fd, &event) != 0) {
        peer_die("a client", strerror(errno));
    }
}

HttpLoad *http_load_new(const HttpSide *side, const HttpLoadKind *kind, size_t n_clients)
{
    HttpLoad *load = calloc(1, sizeof(*load) + n_clients * sizeof(load->clients[0]));

    if (load == NULL) {
        peer_die("clients", "no memory");
    }
    load->side = side;
    load->kind = kind;
    load->n = n_clients;
    load->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (load->epoll_fd < 0) {
        peer_die("epoll", strerror(errno));
    }
    for (size_t i = 0; i < n_clients; i++) {
        client_open(load, &load->clients[i], side);
    }
    return load;
}

static void client_close(Client *client)
{
    if (client->fd >= 0) {
        (void)close(client->fd);
        client->fd = -1;
    }
}

void http_load_free(HttpLoad *load)
{
    for (size_t i = 0; i < load->n; i++) {
        client_close(&load->clients[i]);
        free(load->clients[i].request);
    }
    (void)close(load->epoll_fd);
    free(load);
}

/* A request is shorter than what a socket without anything in it takes. */
static int client_send(Client *client)
{
    client->n_answer = 0;
    client->start_ns = clock_monotonic_ns();
    return send(client->fd, client->request, client->n_request, MSG_NOSIGNAL) ==
                   (ssize_t)client->n_request
               ? 0
               : -1;
}

/* 1: it is answered; 0: not yet; -1: refused. */
static int client_receive(const HttpLoad *load, Client *client)
{
    size_t n_whole;
    ssize_t n =
        read(client->fd, client->answer + client->n_answer, ANSWER_BYTES - 1 - client->n_answer);

    if (n < 0 && errno == EAGAIN) {
        return 0;
    }
    if (n <= 0) {
        return -1;
    }
    client->n_answer += (size_t)n;
    client->answer[client->n_answer] = '\0';
    n_whole = http_answer_length(client->answer, client->n_answer);
    if (n_whole == 0 || client->n_answer < n_whole) {
        return client->n_answer < ANSWER_BYTES - 1 ? 0 : -1;
    }
    return memcmp(client->answer, "HTTP/1.1 200 ", 13) == 0 &&
                   strstr(client->answer, load->kind->wanted[client->stage]) != NULL
               ? 1
               : -1;
}

/* The request of the next stage. The floor has one answer to everything. */
static void client_advance(const HttpLoad *load, Client *client)
{
    if (load->kind->n_stages == 1 || load->side->is_floor) {
        return;
    }
    client->stage = (client->stage + 1) % load->kind->n_stages;
    free(client->request);
    client->request =
        load->kind->request(load->side, "", client->stage, client->answer, &client->n_request);
}

typedef struct Run {
    HttpLoadResult result;
    uint64_t end_ns;
    double *samples;
    size_t max_samples;
    size_t n_samples;
    size_t n_open; /* calls */
} Run;

static void run_refused(Run *run, Client *client)
{
    run->result.n_refused++;
    client_close(client);
}

static void run_send(Run *run, Client *client)
{
    if (client_send(client) != 0) {
        run_refused(run, client);
    } else {
        run->n_open++;
    }
}

static void run_receive(Run *run, const HttpLoad *load, Client *client)
{
    int r = client_receive(load, client);
    uint64_t now_ns;

    if (r == 0) {
        return;
    }
    run->n_open--;
    if (r < 0) {
        run_refused(run, client);
        return;
    }
    now_ns = clock_monotonic_ns();
    run->result.n_calls++;
    if (run->n_samples < run->max_samples) {
        run->samples[run->n_samples++] = (double)(now_ns - client->start_ns) / 1e3;
    }
    client_advance(load, client);
    if (now_ns < run->end_ns) {
        run_send(run, client);
    }
}

HttpLoadResult http_load_run(HttpLoad *load, uint64_t for_ns, double *samples, size_t max_samples,
                             size_t *ret_n_samples)
{
    struct epoll_event events[MAX_EVENTS];
    uint64_t start_ns = clock_monotonic_ns();
    Run run = {.end_ns = start_ns + for_ns, .samples = samples, .max_samples = max_samples};

    for (size_t i = 0; i < load->n; i++) {
        if (load->clients[i].fd >= 0) {
            run_send(&run, &load->clients[i]);
        }
    }
    while (run.n_open > 0) {
        int n = epoll_wait(load->epoll_fd, events, MAX_EVENTS, HANG_MS);

        if (n <= 0) {
            peer_die("a client", n == 0 ? "no answer for a minute" : strerror(errno));
        }
        for (int i = 0; i < n; i++) {
            run_receive(&run, load, events[i].data.ptr);
        }
    }
    run.result.ns = clock_monotonic_ns() - start_ns;
    *ret_n_samples = run.n_samples;
    return run.result;
}
