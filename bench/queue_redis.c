/* RESP spoken by hand, 64 connections on one Unix socket, one thread with poll. */
#include "queue_sides.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

typedef enum Stage {
    STAGE_ADD,
    STAGE_CLAIM,
    STAGE_DONE,
    STAGE_REST
} Stage;

typedef struct Connection {
    int fd;
    Stage stage;
    size_t n_wanted; /* replies of the command in flight */
    char bytes[4096];
    size_t n;
} Connection;

typedef struct Redis {
    pid_t pid;
    char socket[96];
    Connection connections[SIDE_PRODUCERS];
    size_t n_jobs;
    size_t n_enqueued;
    size_t n_done;
} Redis;

static Redis redis;

/* ---- the server ---- */

static const char *server_path(void)
{
    const char *path = getenv("REDIS_SERVER");
    static const char *const usual[] = {"/usr/bin/redis-server", "/usr/local/bin/redis-server"};

    if (path != NULL) {
        return access(path, X_OK) == 0 ? path : NULL;
    }
    for (size_t i = 0; i < 2; i++) {
        if (access(usual[i], X_OK) == 0) {
            return usual[i];
        }
    }
    return NULL;
}

static int connect_once(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", redis.socket);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

static int connect_patiently(void)
{
    for (int i = 0; i < 500; i++) {
        int fd = connect_once();

        if (fd >= 0) {
            return fd;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    side_require(false, "redis-server does not listen");
    return -1;
}

bool side_redis_start(const char *folder)
{
    const char *path = server_path();

    if (path == NULL) {
        return false;
    }
    (void)snprintf(redis.socket, sizeof(redis.socket), "%s/redis.sock", folder);
    redis.pid = fork();
    if (redis.pid == 0) {
        int null = open("/dev/null", O_WRONLY);

        (void)dup2(null, STDOUT_FILENO);
        (void)execl(path, path, "--port", "0", "--unixsocket", redis.socket, "--dir", folder,
                    "--appendonly", "yes", "--appendfsync", "always", "--save", "",
                    "--auto-aof-rewrite-percentage", "0", (char *)NULL);
        _exit(127);
    }
    side_require(redis.pid > 0, "fork");
    for (size_t i = 0; i < SIDE_PRODUCERS; i++) {
        redis.connections[i].fd = connect_patiently();
    }
    return true;
}

void side_redis_stop(void)
{
    if (redis.pid > 0) {
        (void)kill(redis.pid, SIGTERM);
        (void)waitpid(redis.pid, NULL, 0);
        redis.pid = 0;
    }
    for (size_t i = 0; i < SIDE_PRODUCERS; i++) {
        (void)close(redis.connections[i].fd);
    }
}

/* ---- commands ---- */

static void send_all(Connection *c, const char *p, size_t n)
{
    side_require(write(c->fd, p, n) == (ssize_t)n, "redis: write");
}

/* Words as one command. */
static size_t put_command(char *out, size_t room, const char *const *words, size_t n)
{
    size_t at = (size_t)snprintf(out, room, "*%zu\r\n", n);

    for (size_t i = 0; i < n; i++) {
        at += (size_t)snprintf(out + at, room - at, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
    }
    return at;
}

static void command(Connection *c, const char *const *words, size_t n)
{
    char bytes[1024];

    c->n_wanted = 1;
    c->n = 0;
    send_all(c, bytes, put_command(bytes, sizeof(bytes), words, n));
}

/* The end of one whole reply that begins at p, or NULL: more has to come. Depth is that of what
 * XREADGROUP gives. */
static const char *reply_end(const char *p, const char *end)
{
    size_t n_left = 1;

    while (n_left > 0) {
        const char *line = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
        long n;

        if (line == NULL) {
            return NULL;
        }
        side_require(*p != '-', p);
        n = strtol(p + 1, NULL, 10);
        n_left--;
        if (*p == '*' && n > 0) {
            n_left += (size_t)n;
        }
        if (*p == '$' && n >= 0) {
            line += n + 2;
        }
        p = line + 1;
        if (p > end) {
            return NULL;
        }
    }
    return p;
}

static void add(Connection *c)
{
    static const char *const words[] = {"XADD",      "jobs",   "*",        "method",
                                        SIDE_METHOD, "params", SIDE_PARAMS};

    if (redis.n_enqueued == redis.n_jobs) {
        c->stage = STAGE_REST;
        return;
    }
    redis.n_enqueued++;
    c->stage = STAGE_ADD;
    command(c, words, 7);
}

static void claim(Connection *c)
{
    static const char *const words[] = {"XREADGROUP", "GROUP",   "g",    "bench", "COUNT",
                                        "1",          "STREAMS", "jobs", ">"};

    c->stage = STAGE_CLAIM;
    command(c, words, 9);
}

/* The id of the message is the first bulk string that looks like one. The result is kept, too. */
static void finish(Connection *c)
{
    char id[64] = "";
    const char *dash = NULL;
    char bytes[1536];
    size_t n;

    for (const char *p = c->bytes; p < c->bytes + c->n && dash == NULL; p++) {
        if (*p == '-' && p > c->bytes && p[-1] >= '0' && p[-1] <= '9') {
            dash = p;
        }
    }
    side_require(dash != NULL, "redis: a message without an id");
    while (dash[-1] >= '0' && dash[-1] <= '9') {
        dash--;
    }
    n = strcspn(dash, "\r");
    side_require(n < sizeof(id), "redis: id");
    memcpy(id, dash, n);
    c->stage = STAGE_DONE;
    c->n = 0;
    c->n_wanted = 3;
    n = put_command(bytes, sizeof(bytes), (const char *const[]){"HSET", "results", id, SIDE_RESULT},
                    4);
    n += put_command(bytes + n, sizeof(bytes) - n, (const char *const[]){"XACK", "jobs", "g", id},
                     4);
    n += put_command(bytes + n, sizeof(bytes) - n, (const char *const[]){"XDEL", "jobs", id}, 3);
    send_all(c, bytes, n);
}

static void advance(Connection *c)
{
    if (c->stage == STAGE_ADD) {
        claim(c);
    } else if (c->stage == STAGE_CLAIM) {
        finish(c);
    } else {
        redis.n_done++;
        add(c);
    }
}

static void receive(Connection *c)
{
    ssize_t n = read(c->fd, c->bytes + c->n, sizeof(c->bytes) - 1 - c->n);
    const char *p = c->bytes;

    side_require(n > 0, "redis: read");
    c->n += (size_t)n;
    c->bytes[c->n] = '\0';
    for (size_t i = 0; i < c->n_wanted; i++) {
        p = reply_end(p, c->bytes + c->n);
        if (p == NULL) {
            return;
        }
    }
    advance(c);
}

static void ask_once(Connection *c, const char *const *words, size_t n)
{
    command(c, words, n);
    do {
        ssize_t got = read(c->fd, c->bytes + c->n, sizeof(c->bytes) - 1 - c->n);

        side_require(got > 0, "redis: read");
        c->n += (size_t)got;
        c->bytes[c->n] = '\0';
    } while (reply_end(c->bytes, c->bytes + c->n) == NULL);
}

SideRun side_redis(size_t n_jobs)
{
    struct pollfd waits[SIDE_PRODUCERS];
    uint64_t start_ns;
    SideRun run = {.syncs = 0};

    ask_once(&redis.connections[0], (const char *const[]){"FLUSHALL"}, 1);
    ask_once(&redis.connections[0],
             (const char *const[]){"XGROUP", "CREATE", "jobs", "g", "$", "MKSTREAM"}, 6);
    redis.n_jobs = n_jobs;
    redis.n_enqueued = 0;
    redis.n_done = 0;
    start_ns = clock_monotonic_ns();
    for (size_t i = 0; i < SIDE_PRODUCERS; i++) {
        waits[i] = (struct pollfd){.fd = redis.connections[i].fd, .events = POLLIN};
        add(&redis.connections[i]);
    }
    while (redis.n_done < n_jobs) {
        side_require(poll(waits, SIDE_PRODUCERS, 60000) > 0, "redis: no answer");
        for (size_t i = 0; i < SIDE_PRODUCERS; i++) {
            if (waits[i].revents != 0 && redis.connections[i].stage != STAGE_REST) {
                receive(&redis.connections[i]);
            }
        }
    }
    run.seconds = (double)(clock_monotonic_ns() - start_ns) / 1e9;
    return run;
}
