/* The bare C programs beside which bench_gateway measures.
 *
 *     bench_gateway_peer server             the MCP server behind a gateway: a line that asks for
 *                                           something is known by its method, which is searched;
 *                                           nothing is validated. Any legacy revision
 *     bench_gateway_peer modern             the same for 2026-07-28
 *     bench_gateway_peer relay PROGRAM ARG… starts the program on socket pairs, and copies bytes
 *                                           between these and our own two pipes: what no gateway
 *                                           can beat. One process for each direction, so that
 *                                           neither waits for anything but its input
 *     bench_gateway_peer pipes PROGRAM ARG… the same with pipes in place of socket pairs: quicker
 *                                           for short messages, slower for long ones
 */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define READ_BYTES ((size_t)64 * 1024)
#define LINE_BYTES ((size_t)2 * 1024 * 1024)

#define SERVER_INFO "{\"name\":\"bench\",\"version\":\"1.0.0\"}"
#define ECHO_TOOL                                                                                  \
    "{\"name\":\"echo\",\"description\":\"Gives the message back.\",\"inputSchema\":"              \
    "{\"type\":\"object\",\"properties\":{\"message\":{\"type\":\"string\"}},"                     \
    "\"required\":[\"message\"],\"additionalProperties\":false}}"
#define MODERN_META                                                                                \
    "\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":" SERVER_INFO "}"

static char buffer[LINE_BYTES + READ_BYTES];
static char output[LINE_BYTES + READ_BYTES + 1024];
static size_t n_output;

static bool write_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, p, n);

        if (done <= 0) {
            return false;
        }
        p += done;
        n -= (size_t)done;
    }
    return true;
}

/* ---- relay ---- */

static int copy(int from, int to)
{
    for (;;) {
        ssize_t n = read(from, buffer, READ_BYTES);

        if (n <= 0) {
            return n < 0;
        }
        if (!write_all(to, buffer, (size_t)n)) {
            return 1;
        }
    }
}

/* A process that goes with its parent; 0 in it. */
static pid_t child(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    }
    return pid;
}

/* [0] is read. Socket pairs are what ours gives its children. */
static int open_wire(int fds[2], bool is_pipe)
{
    return is_pipe ? pipe(fds) : socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
}

static int relay(char **argv, bool on_pipes)
{
    int to[2];
    int from[2];
    pid_t pid;

    if (open_wire(to, on_pipes) != 0 || open_wire(from, on_pipes) != 0 || (pid = child()) < 0) {
        perror("bench_gateway_peer");
        return 1;
    }
    if (pid == 0) {
        (void)dup2(to[0], STDIN_FILENO);
        (void)dup2(from[1], STDOUT_FILENO);
        (void)close(to[1]);
        (void)close(from[0]);
        (void)execv(argv[0], argv);
        perror(argv[0]);
        _exit(1);
    }
    (void)close(to[0]);
    (void)close(from[1]);
    pid = child();
    if (pid == 0) {
        (void)close(to[1]);
        _exit(copy(from[0], STDOUT_FILENO));
    }
    (void)close(from[0]);
    return copy(STDIN_FILENO, to[1]);
}

/* ---- server ---- */

/* The text between `name` and the next `end`; empty where it is not. The driver's messages hold no
 * quote, so the first one ends a string. */
static size_t between(const char *line, size_t n, const char *name, char end, const char **ret_text)
{
    const char *p = memmem(line, n, name, strlen(name));
    const char *stop = NULL;

    if (p != NULL) {
        p += strlen(name);
        stop = memchr(p, end, (size_t)(line + n - p));
    }
    *ret_text = stop == NULL ? line : p;
    return stop == NULL ? 0 : (size_t)(stop - p);
}

static void put(const char *text, size_t n)
{
    memcpy(output + n_output, text, n);
    n_output += n;
}

static void put_text(const char *text)
{
    put(text, strlen(text));
}

static bool flush(void)
{
    bool ok = write_all(STDOUT_FILENO, output, n_output);

    n_output = 0;
    return ok;
}

/* What a method is answered with: the members of its result, or the error. */
typedef struct Answer {
    const char *method;
    const char *legacy;
    const char *modern;
} Answer;

#define NO_SUCH "\"error\":{\"code\":-32601,\"message\":\"no such method\"}"

static const Answer answers[] = {
    {"server/discover", NO_SUCH,
     "\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},"
     "\"ttlMs\":3600000,\"cacheScope\":\"public\"," MODERN_META "}"},
    {"tools/list", "\"result\":{\"tools\":[" ECHO_TOOL "]}",
     "\"result\":{\"tools\":[" ECHO_TOOL
     "],\"ttlMs\":3600000,\"cacheScope\":\"public\"," MODERN_META "}"},
};

static void put_call(const char *line, size_t n, bool is_modern)
{
    const char *text;
    size_t n_text = between(line, n, "\"message\":\"", '"', &text);

    put_text("\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
    put(text, n_text);
    put_text(is_modern ? "\"}]," MODERN_META "}" : "\"}]}");
}

/* In whatever revision it is asked for: some gateways know no new one. */
static void put_hello(const char *line, size_t n)
{
    const char *revision;
    size_t n_revision = between(line, n, "\"protocolVersion\":\"", '"', &revision);

    put_text("\"result\":{\"protocolVersion\":\"");
    put(revision, n_revision);
    put_text("\",\"capabilities\":{\"tools\":{}},\"serverInfo\":" SERVER_INFO "}");
}

static void put_other(const char *method, size_t n, bool is_modern)
{
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        if (n == strlen(answers[i].method) && memcmp(method, answers[i].method, n) == 0) {
            put_text(is_modern ? answers[i].modern : answers[i].legacy);
            return;
        }
    }
    put_text(NO_SUCH);
}

/* The id of a request, a number, which some write last; 0 bytes: none. */
static size_t find_id(const char *line, size_t n, const char **ret_id)
{
    static const char name[] = "\"id\":";
    const char *p = memmem(line, n, name, sizeof(name) - 1);
    size_t n_id = 0;

    if (p != NULL) {
        *ret_id = p + sizeof(name) - 1;
        n_id = strspn(*ret_id, "0123456789"); /* the line ends before the buffer does */
    }
    return n_id;
}

static bool answer(const char *line, size_t n, bool is_modern)
{
    static const char call[] = "tools/call";
    static const char hello[] = "initialize";
    const char *id = line;
    const char *method;
    size_t n_id = find_id(line, n, &id);
    size_t n_method = between(line, n, "\"method\":\"", '"', &method);

    if (n_id == 0) {
        return true; /* nobody waits for it */
    }
    if (n_output + n + 2048 > sizeof(output) && !flush()) {
        return false;
    }
    put_text("{\"jsonrpc\":\"2.0\",\"id\":");
    put(id, n_id);
    put_text(",");
    if (n_method == sizeof(call) - 1 && memcmp(method, call, n_method) == 0) {
        put_call(line, n, is_modern);
    } else if (n_method == sizeof(hello) - 1 && memcmp(method, hello, n_method) == 0 &&
               !is_modern) {
        put_hello(line, n);
    } else {
        put_other(method, n_method, is_modern);
    }
    put_text("}\n");
    return true;
}

/* Answers of one read are written together. */
static int serve(bool is_modern)
{
    size_t held = 0;

    for (;;) {
        ssize_t got = held > LINE_BYTES ? -1 : read(STDIN_FILENO, buffer + held, READ_BYTES);
        const char *line = buffer;
        const char *end;

        if (got <= 0) {
            return got < 0;
        }
        /* What came before holds no newline. */
        end = memchr(buffer + held, '\n', (size_t)got);
        held += (size_t)got;
        for (; end != NULL; end = memchr(line, '\n', held)) {
            if (!answer(line, (size_t)(end - line), is_modern)) {
                return 1;
            }
            held -= (size_t)(end + 1 - line);
            line = end + 1;
        }
        memmove(buffer, line, held);
        if (!flush()) {
            return 1;
        }
    }
}

int main(int argc, char **argv)
{
    if (argc > 2 && (strcmp(argv[1], "relay") == 0 || strcmp(argv[1], "pipes") == 0)) {
        return relay(argv + 2, argv[1][0] == 'p');
    }
    if (argc == 2 && (strcmp(argv[1], "server") == 0 || strcmp(argv[1], "modern") == 0)) {
        return serve(argv[1][0] == 'm');
    }
    (void)fputs(
        "usage: bench_gateway_peer server | modern | relay PROGRAM ARG… | pipes PROGRAM ARG…\n",
        stderr);
    return 2;
}
