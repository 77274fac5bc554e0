#include "http_side.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"

#define FIRST_LINE_BYTES ((size_t)256 * 1024)
#define GROW_BYTES       ((size_t)64 * 1024)
#define HOST             "127.0.0.1"
#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"bench\",\"version\":\"1.0.0\"},"           \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

static const char initialize[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\",\"version\":\"1.0.0\"}}"
    "}";
static const char initialized[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";

extern char **environ;

static _Noreturn void side_die(const HttpSide *side, const char *what)
{
    peer_die(side->program.name, what);
}

/* ---- start and end ---- */

/* Where folders are made: TMPDIR as it was at the start, if it is short enough, so that the queue
 * can be on a disk or on none. */
static const char *side_base(void)
{
    static char base[12];
    const char *said = getenv("TMPDIR");

    if (base[0] == '\0') {
        bool fits = said != NULL && said[0] == '/' && strlen(said) < sizeof(base);

        (void)snprintf(base, sizeof(base), "%s", fits ? said : "/tmp");
    }
    return base;
}

/* Nothing of the user's is read or written: all of it is in the folder. */
static void side_make_folder(HttpSide *side)
{
    static const char *const places[] = {"HOME", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
                                         "XDG_CONFIG_HOME"};

    (void)snprintf(side->folder, sizeof(side->folder), "%s/bench_http_XXXXXX", side_base());
    if (mkdtemp(side->folder) == NULL) {
        side_die(side, strerror(errno));
    }
    for (size_t i = 0; i < TW_ARRAY_SIZE(places); i++) {
        if (setenv(places[i], side->folder, 1) != 0) {
            side_die(side, strerror(errno));
        }
    }
}

static int side_spawn(HttpSide *side, const char *const *argv)
{
    posix_spawn_file_actions_t actions;
    int pipe_fds[2];
    int r;

    if (pipe2(pipe_fds, O_CLOEXEC) != 0 || posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], 1) != 0) {
        side_die(side, "cannot prepare its start");
    }
    r = posix_spawn(&side->peer.pid, argv[0], &actions, NULL, (char **)(uintptr_t)argv, environ);
    if (r != 0) {
        side_die(side, strerror(r));
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(pipe_fds[1]);
    return pipe_fds[0];
}

/* Its first line says where it is. */
static void side_start(HttpSide *side, const char *const *argv)
{
    char *line = calloc(1, FIRST_LINE_BYTES);
    size_t n = 0;
    const char *at;
    int fd = side_spawn(side, argv);

    while (line != NULL && n + 1 < FIRST_LINE_BYTES && memchr(line, '\n', n) == NULL) {
        ssize_t n_read = read(fd, line + n, FIRST_LINE_BYTES - 1 - n);

        if (n_read <= 0) {
            side_die(side, "it did not start");
        }
        n += (size_t)n_read;
    }
    at = line == NULL ? NULL : strstr(line, HOST ":");
    if (at == NULL) {
        side_die(side, "it does not say where it is");
    }
    side->port = (unsigned)strtoul(at + strlen(HOST ":"), NULL, 10);
    free(line);
    (void)close(fd);
}

void http_side_start(HttpSide *side, const char *toolwire, PeerEra era, const char *const *extra)
{
    const char *argv[11 + HTTP_SIDE_MAX_EXTRA] = {toolwire,       "up",     "--http",
                                                  HOST ":0",      "--json", "--diagnostics",
                                                  "--no-toolkit", "--rate", "off"};
    size_t n = 9;

    for (size_t i = 0; extra != NULL && i < HTTP_SIDE_MAX_EXTRA && extra[i] != NULL; i++) {
        argv[n++] = extra[i];
    }
    argv[n] = NULL;
    *side = (HttpSide){.program = {.name = "toolwire", .is_ours = true}, .peer.era = era};
    side->peer.program = &side->program;
    side_make_folder(side);
    side_start(side, argv);
}

void http_side_start_floor(HttpSide *side, const HttpSide *ours)
{
    char path[64];
    const char *const argv[] = {BENCH_HTTP_FLOOR, path, NULL};
    FILE *f;

    *side = (HttpSide){.program = {.name = "floor"}, .peer.era = ours->peer.era, .is_floor = true};
    side->peer.program = &side->program;
    side_make_folder(side);
    (void)snprintf(path, sizeof(path), "%s/answer", side->folder);
    f = fopen(path, "w");
    if (f == NULL || fwrite(ours->answer, 1, ours->n_answer, f) != ours->n_answer ||
        fclose(f) != 0) {
        side_die(side, "cannot keep its answer");
    }
    side_start(side, argv);
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    (void)remove(path);
    return 0;
}

void http_side_stop(HttpSide *side)
{
    (void)kill(side->peer.pid, SIGKILL);
    (void)waitpid(side->peer.pid, NULL, 0);
    (void)nftw(side->folder, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
    free(side->answer);
    *side = (HttpSide){.port = 0};
}

/* ---- connections ---- */

int http_side_connect(const HttpSide *side, int buffer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)side->port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int one = 1;

    (void)inet_pton(AF_INET, HOST, &address.sin_addr);
    if (fd < 0 ||
        (buffer != 0 && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer)) != 0) ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) != 0 ||
        connect(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
        side_die(side, strerror(errno));
    }
    return fd;
}

void http_side_send(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t n_sent = send(fd, p, n, MSG_NOSIGNAL);

        if (n_sent < 0) {
            peer_die("send", strerror(errno));
        }
        p += n_sent;
        n -= (size_t)n_sent;
    }
}

/* ---- requests ---- */

/* `names`: the headers of the modern era. */
static char *side_request(const HttpSide *side, const char *session, const char *names,
                          const char *body, size_t *ret_n)
{
    bool is_modern = side->peer.era == PEER_ERA_MODERN;
    char *request = NULL;
    int n = asprintf(&request,
                     "POST /mcp HTTP/1.1\r\nHost: " HOST ":%u\r\n"
                     "Content-Type: application/json\r\n"
                     "Accept: application/json, text/event-stream\r\n"
                     "MCP-Protocol-Version: %s\r\n%s%s%sContent-Length: %zu\r\n\r\n%s",
                     side->port, peer_era_name(side->peer.era),
                     is_modern            ? names
                     : session[0] != '\0' ? "Mcp-Session-Id: "
                                          : "",
                     is_modern ? "" : session, !is_modern && session[0] != '\0' ? "\r\n" : "",
                     strlen(body), body);

    if (n < 0) {
        side_die(side, "no memory");
    }
    *ret_n = (size_t)n;
    return request;
}

static char *side_tool(const HttpSide *side, const char *session, const char *tool,
                       const char *before, const char *text, const char *behind, size_t *ret_n)
{
    bool is_modern = side->peer.era == PEER_ERA_MODERN;
    char names[128];
    char *body = NULL;
    char *request;

    (void)snprintf(names, sizeof(names), "Mcp-Method: tools/call\r\nMcp-Name: %s\r\n", tool);
    if (asprintf(&body,
                 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                 "\"%s\",\"arguments\":{%s%s%s}%s}}",
                 tool, before, text, behind, is_modern ? "," META : "") < 0) {
        side_die(side, "no memory");
    }
    request = side_request(side, session, names, body, ret_n);
    free(body);
    return request;
}

char *http_side_echo(const HttpSide *side, const char *session, const char *text, size_t *ret_n)
{
    return side_tool(side, session, side->tool == NULL ? "echo" : side->tool, "\"message\":\"",
                     text, "\"", ret_n);
}

char *http_side_call(const HttpSide *side, const char *session, const char *tool, size_t *ret_n)
{
    return side_tool(side, session, tool, "", "", "", ret_n);
}

/* In the legacy era it is the session's GET stream. */
char *http_side_listen(const HttpSide *side, const char *session, size_t *ret_n)
{
    char *request = NULL;
    int n;

    if (side->peer.era == PEER_ERA_MODERN) {
        return side_request(side, session, "Mcp-Method: subscriptions/listen\r\n",
                            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\","
                            "\"params\":{\"notifications\":{\"toolsListChanged\":true}," META "}}",
                            ret_n);
    }
    n = asprintf(&request,
                 "GET /mcp HTTP/1.1\r\nHost: " HOST ":%u\r\nAccept: text/event-stream\r\n"
                 "MCP-Protocol-Version: %s\r\nMcp-Session-Id: %s\r\n\r\n",
                 side->port, peer_era_name(side->peer.era), session);
    if (n < 0) {
        side_die(side, "no memory");
    }
    *ret_n = (size_t)n;
    return request;
}

/* ---- answers ---- */

size_t http_answer_length(const char *p, size_t n)
{
    static const char name[] = "\r\nContent-Length: ";
    const char *end = memmem(p, n, "\r\n\r\n", 4);
    const char *length = end == NULL ? NULL : memmem(p, (size_t)(end - p), name, sizeof(name) - 1);

    return length == NULL ? 0
                          : (size_t)(end - p) + 4 + strtoul(length + sizeof(name) - 1, NULL, 10);
}

/* Into side->answer. */
static void side_read_answer(HttpSide *side, int fd)
{
    size_t cap = 0;
    size_t n_whole = 0;

    side->n_answer = 0;
    while (n_whole == 0 || side->n_answer < n_whole) {
        size_t want = n_whole > side->n_answer ? n_whole : side->n_answer + GROW_BYTES;
        ssize_t n;

        if (want > cap) {
            cap = want;
            side->answer = realloc(side->answer, cap);
        }
        n = side->answer == NULL ? -1
                                 : read(fd, side->answer + side->n_answer, cap - side->n_answer);
        if (n <= 0) {
            side_die(side, "it has closed the connection");
        }
        side->n_answer += (size_t)n;
        n_whole = n_whole != 0 ? n_whole : http_answer_length(side->answer, side->n_answer);
    }
    if (side->n_answer != n_whole) {
        side_die(side, "more than one answer");
    }
}

void http_side_ask(HttpSide *side, int fd, const char *request, size_t n, const char *wanted)
{
    http_side_send(fd, request, n);
    side_read_answer(side, fd);
    if (memmem(side->answer, side->n_answer, "HTTP/1.1 20", 11) != side->answer ||
        memmem(side->answer, side->n_answer, wanted, strlen(wanted)) == NULL) {
        (void)fprintf(stderr, "%.*s\n", side->n_answer < 2000 ? (int)side->n_answer : 2000,
                      side->answer);
        side_die(side, "a wrong answer");
    }
}

void http_side_open(const HttpSide *side, int fd, char session[HTTP_SESSION_BYTES])
{
    static const char name[] = "\r\nMcp-Session-Id: ";
    HttpSide asked = *side;
    const char *at;
    char *request;
    size_t n;

    session[0] = '\0';
    if (side->peer.era == PEER_ERA_MODERN) {
        return;
    }
    if (side->is_floor) {
        /* As long as one of ours. */
        (void)snprintf(session, HTTP_SESSION_BYTES, "0123456789abcdef0123456789abcdef");
        return;
    }
    asked.answer = NULL;
    request = side_request(side, "", "", initialize, &n);
    http_side_ask(&asked, fd, request, n, "protocolVersion");
    free(request);
    at = memmem(asked.answer, asked.n_answer, name, sizeof(name) - 1);
    if (at == NULL) {
        side_die(side, "no session");
    }
    at += sizeof(name) - 1;
    (void)snprintf(session, HTTP_SESSION_BYTES, "%.*s", (int)strcspn(at, "\r"), at);
    request = side_request(side, session, "", initialized, &n);
    http_side_ask(&asked, fd, request, n, "202");
    free(request);
    free(asked.answer);
}

/* ---- memory ---- */

static size_t side_kilobytes(const HttpSide *side, const char *file, const char *name)
{
    char path[64];
    char line[256];
    size_t n = 0;
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)side->peer.pid, file);
    f = fopen(path, "r");
    while (f != NULL && n == 0 && fgets(line, sizeof(line), f) != NULL) {
        n = strncmp(line, name, strlen(name)) == 0 ? strtoul(line + strlen(name), NULL, 10) : 0;
    }
    if (n == 0) {
        side_die(side, path);
    }
    (void)fclose(f);
    return n * 1024;
}

size_t http_side_memory(const HttpSide *side)
{
    return side_kilobytes(side, "smaps_rollup", "Pss:");
}

void http_side_reset_peak(const HttpSide *side)
{
    char path[64];
    FILE *f;

    (void)snprintf(path, sizeof(path), "/proc/%d/clear_refs", (int)side->peer.pid);
    f = fopen(path, "w");
    if (f == NULL || fputs("5", f) < 0 || fclose(f) != 0) {
        side_die(side, "its highest memory cannot be reset");
    }
}

size_t http_side_peak(const HttpSide *side)
{
    return side_kilobytes(side, "status", "VmHWM:");
}
