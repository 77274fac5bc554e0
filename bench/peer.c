#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"

/* What the driver may have on the way, so that 1 MiB requests do not fill the machine. */
#define IN_FLIGHT_BYTES ((size_t)32 * 1000 * 1000)
#define BUFFER_BYTES    ((size_t)4 * 1024 * 1024)
#define BELOW_LIMIT     ((size_t)64) /* the largest request is so much shorter than the limit */
#define MAX_ARGUMENTS   8
#define FIRST_ID        100000 /* all ids of one length */
#define ID_DIGITS       ((size_t)6)
#define LINE_TEXT       62 /* and an escaped newline: 64 bytes */
#define HEAD            "{\"jsonrpc\":\"2.0\",\"id\":"
#define CALL                                                                                       \
    ",\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"message\":\""
#define VERSION "\"version\":\"1.0.0\"}"
#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"bench\"," VERSION ","                      \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"

static const char *const era_names[PEER_N_ERAS] = {"2025-11-25", "2026-07-28"};

static const char *const call_tails[PEER_N_ERAS] = {
    "\"}}}\n",
    "\"}," META "}}\n",
};

static const char *const list_tools[PEER_N_ERAS] = {
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n",
    "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{" META "}}\n",
};

static const char initialize[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
    "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"bench\"," VERSION "}}\n";
static const char initialized[] =
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

extern char **environ;

const char *peer_era_name(PeerEra era)
{
    return era_names[era];
}

_Noreturn void peer_die(const char *who, const char *what)
{
    (void)fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, who, what);
    exit(1);
}

static _Noreturn void die_errno(const char *who)
{
    peer_die(who, strerror(errno));
}

static void *allocate(size_t n)
{
    void *p = malloc(n);

    if (p == NULL) {
        peer_die("memory", "not enough");
    }
    /* Touched here, so that no page is touched for the first time while the clock runs. */
    memset(p, 0, n);
    return p;
}

static char *put(char *to, const char *text)
{
    size_t n = strlen(text);

    memcpy(to, text, n);
    return to + n;
}

static char *put_message(char *p, PeerEra era, size_t id, size_t size)
{
    char digits[24];

    p = put(p, HEAD);
    (void)snprintf(digits, sizeof(digits), "%zu", FIRST_ID + id);
    p = put(p, digits);
    p = put(p, CALL);
    for (size_t i = 0; i < size; i++) {
        size_t at = i % (LINE_TEXT + 2);

        *p++ = at == LINE_TEXT && i + 1 < size ? '\\' : (char)('a' + (int)(i % 26));
        if (at == LINE_TEXT && i + 1 < size) {
            *p++ = 'n';
            i++;
        }
    }
    return put(p, call_tails[era]);
}

void peer_traffic_init(PeerTraffic *t, PeerEra era, size_t size, size_t depth)
{
    size_t n_envelope = strlen(HEAD) + ID_DIGITS + strlen(CALL) + strlen(call_tails[era]);
    char *p;

    if (size == PEER_SIZE_MAX) {
        size = LIMIT_MCP_REQUEST_BYTES - BELOW_LIMIT - n_envelope;
    }
    *t = (PeerTraffic){.n_message = n_envelope + size};
    t->depth = IN_FLIGHT_BYTES / t->n_message;
    t->depth = t->depth < depth ? t->depth : depth;
    /* One more than can be in flight: an id is used again only after its answer. */
    t->n_messages = t->depth + 1;
    t->block = allocate(t->n_messages * t->n_message);
    p = t->block;
    for (size_t i = 0; i < t->n_messages; i++) {
        p = put_message(p, era, i, size);
    }
    if ((size_t)(p - t->block) != t->n_messages * t->n_message) {
        peer_die("traffic", "a message is not as long as computed");
    }
}

void peer_traffic_deinit(PeerTraffic *t)
{
    free(t->block);
    *t = (PeerTraffic){0};
}

/* posix_spawn takes pointers to what it does not change, without saying so. */
static int spawn_argv(pid_t *ret_pid, const char *const *argv, char *const *environment,
                      const posix_spawn_file_actions_t *actions)
{
    char *copy[MAX_ARGUMENTS] = {NULL};

    for (size_t i = 0; i + 1 < MAX_ARGUMENTS && argv[i] != NULL; i++) {
        memcpy(&copy[i], &argv[i], sizeof(copy[i]));
    }
    return posix_spawnp(ret_pid, copy[0], actions, NULL, copy, environment);
}

bool peer_program_succeeds(const char *const *argv)
{
    int status = -1;
    pid_t pid;

    return spawn_argv(&pid, argv, environ, NULL) == 0 && waitpid(pid, &status, 0) == pid &&
           status == 0;
}

/* [0] is read, [1] written. */
static int open_wire(int fds[2], bool is_socket)
{
    return is_socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds)
                     : pipe2(fds, O_CLOEXEC);
}

/* The program with our ends of its pipes; close-on-exec, so that one peer does not hold another's
 * open. */
static void spawn(Peer *peer, const PeerProgram *program, char *const *environment)
{
    posix_spawn_file_actions_t actions;
    int in[2];
    int out[2];
    int r;

    if (open_wire(in, program->on_sockets) != 0 || open_wire(out, program->on_sockets) != 0 ||
        fcntl(in[1], F_SETFL, O_NONBLOCK) != 0) {
        die_errno("pipe");
    }
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    r = spawn_argv(&peer->pid, program->argv, environment, &actions);
    if (r != 0) {
        peer_die(program->argv[0], strerror(r));
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(in[0]);
    (void)close(out[1]);
    peer->to = in[1];
    peer->from = out[0];
}

/* The environment and two variables that make the program count its allocations. */
static char **counting_environment(int alloc_fd)
{
    static char preload[] = "LD_PRELOAD=" BENCH_ALLOC_COUNT;
    static char fd[32];
    size_t n = 0;
    char **environment;

    while (environ[n] != NULL) {
        n++;
    }
    environment = allocate((n + 3) * sizeof(*environment));
    memcpy(environment, environ, n * sizeof(*environment));
    (void)snprintf(fd, sizeof(fd), "BENCH_ALLOC_FD=%d", alloc_fd);
    environment[n] = preload;
    environment[n + 1] = fd;
    return environment;
}

void peer_start(Peer *peer, const PeerProgram *program, PeerEra era, int alloc_fd)
{
    char **environment = alloc_fd < 0 ? NULL : counting_environment(alloc_fd);

    *peer = (Peer){.program = program, .era = era, .buffer = allocate(BUFFER_BYTES)};
    spawn(peer, program, environment == NULL ? environ : environment);
    free(environment);
}

/* No more input, and what it still writes is dropped. */
static void close_pipes(Peer *peer)
{
    (void)close(peer->to);
    while (read(peer->from, peer->buffer, BUFFER_BYTES) > 0) {
    }
    (void)close(peer->from);
    free(peer->buffer);
    peer->buffer = NULL;
}

void peer_stop(Peer *peer)
{
    close_pipes(peer);
    (void)waitpid(peer->pid, NULL, 0);
    *peer = (Peer){.to = -1, .from = -1};
}

/* As much as the pipe takes now. */
static size_t send_some(const Peer *peer, const char *p, size_t n)
{
    ssize_t done = write(peer->to, p, n);

    if (done < 0 && errno != EAGAIN) {
        die_errno(peer->program->name);
    }
    return done < 0 ? 0 : (size_t)done;
}

/* Blocks until there is something. */
static size_t receive_some(const Peer *peer, char *p, size_t n)
{
    ssize_t got = read(peer->from, p, n);

    if (got <= 0) {
        peer_die(peer->program->name, got == 0 ? "ended" : strerror(errno));
    }
    return (size_t)got;
}

/* Until there is something to read, or room to write; true: there is something to read. */
static bool wait_for(const Peer *peer, bool for_room)
{
    struct pollfd fds[2] = {{.fd = peer->from, .events = POLLIN},
                            {.fd = peer->to, .events = POLLOUT}};

    if (poll(fds, for_room ? 2 : 1, -1) < 0) {
        die_errno("poll");
    }
    return fds[0].revents != 0;
}

/* A message out, a line in: the same system calls for every peer. A message that the pipe takes at
 * once is followed by a read that blocks; a larger one goes out while the answer comes in. Returns
 * the length of the line. */
static size_t exchange(const Peer *peer, const char *p, size_t n)
{
    size_t held = 0;

    for (;;) {
        if (n > 0) {
            size_t done = send_some(peer, p, n);

            p += done;
            n -= done;
        }
        if (n == 0 || wait_for(peer, true)) {
            size_t got = receive_some(peer, peer->buffer + held, BUFFER_BYTES - held);

            held += got;
            if (memchr(peer->buffer + held - got, '\n', got) != NULL) {
                return held;
            }
        }
    }
}

static _Noreturn void bad_answer(const Peer *peer, size_t n, const char *why)
{
    (void)fprintf(stderr, "%s: %s (%s): %s: %.*s\n", program_invocation_short_name,
                  peer->program->name, peer_era_name(peer->era), why, n < 300 ? (int)n : 300,
                  peer->buffer);
    exit(1);
}

static bool needs_handshake(const PeerProgram *program, PeerEra era)
{
    return era == PEER_ERA_LEGACY && !program->is_echo && !program->is_scan;
}

void peer_open(Peer *peer)
{
    size_t n;

    if (!needs_handshake(peer->program, peer->era)) {
        return;
    }
    n = exchange(peer, initialize, strlen(initialize));
    if (memmem(peer->buffer, n, "\"result\"", 8) == NULL) {
        bad_answer(peer, n, "refused `initialize`");
    }
    (void)send_some(peer, initialized, strlen(initialized));
}

/* A server that has just begun may tell something by itself (its list has changed), which is no
 * answer. n: what is in the buffer; returns the rest, up to a newline. */
static size_t skip_notes(const Peer *peer, size_t n)
{
    static const char note[] = "{\"jsonrpc\":\"2.0\",\"method\":";

    while (n >= sizeof(note) && memcmp(peer->buffer, note, sizeof(note) - 1) == 0) {
        size_t n_line = (size_t)((char *)memchr(peer->buffer, '\n', n) - peer->buffer) + 1;

        n -= n_line;
        memmove(peer->buffer, peer->buffer + n_line, n);
        while (memchr(peer->buffer, '\n', n) == NULL) {
            n += receive_some(peer, peer->buffer + n, BUFFER_BYTES - n);
        }
    }
    return n;
}

void peer_check(Peer *peer, const PeerTraffic *t)
{
    size_t n = skip_notes(peer, exchange(peer, t->block, t->n_message));
    const char *id = t->block + strlen(HEAD);
    const char *text = id + ID_DIGITS + strlen(CALL);
    const char *text_end = memchr(text, '"', t->n_message);

    if (memmem(peer->buffer, n, id, ID_DIGITS) == NULL ||
        memmem(peer->buffer, n, text, (size_t)(text_end - text)) == NULL ||
        memmem(peer->buffer, n, "\"isError\":true", strlen("\"isError\":true")) != NULL) {
        bad_answer(peer, n, "wrong answer");
    }
    peer->n_answer = n;
}

uint64_t peer_round_trip(Peer *peer, const PeerTraffic *t, size_t index)
{
    /* Two ids in turn: the driver's own bytes stay in the cache, as those of a client that has just
     * composed them. */
    const char *message = t->block + index % 2 * t->n_message;
    uint64_t start = clock_monotonic_ns();
    size_t n = exchange(peer, message, t->n_message);
    uint64_t end = clock_monotonic_ns();

    if (n != peer->n_answer) {
        bad_answer(peer, n, "an answer of another length");
    }
    return end - start;
}

static size_t count_lines(const char *p, size_t n)
{
    const char *end = p + n;
    size_t n_lines = 0;

    while ((p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
        n_lines++;
        p++;
    }
    return n_lines;
}

size_t peer_pipeline(Peer *peer, const PeerTraffic *t, uint64_t for_ns, size_t n_calls)
{
    uint64_t end = clock_monotonic_ns() + for_ns;
    size_t n_block = t->n_messages * t->n_message;
    size_t permitted = t->depth < n_calls ? t->depth : n_calls; /* messages that may be sent */
    size_t sent = 0;                                            /* bytes, as those received */
    size_t received = 0;
    size_t n_answers = 0;

    while (n_answers < permitted) {
        size_t to_send = permitted * t->n_message - sent;

        if (to_send > 0) {
            size_t at = sent % n_block;

            sent += send_some(peer, t->block + at, to_send < n_block - at ? to_send : n_block - at);
            to_send = permitted * t->n_message - sent;
        }
        if (wait_for(peer, to_send > 0)) {
            size_t got = receive_some(peer, peer->buffer, BUFFER_BYTES);

            received += got;
            n_answers += count_lines(peer->buffer, got);
            if (n_answers + t->depth > permitted && permitted < n_calls &&
                clock_monotonic_ns() < end) {
                permitted = n_answers + t->depth < n_calls ? n_answers + t->depth : n_calls;
            }
        }
    }
    if (received != n_answers * peer->n_answer) {
        bad_answer(peer, 0, "an answer of another length");
    }
    return n_answers;
}

uint64_t peer_start_time(const PeerProgram *program, PeerEra era, const PeerTraffic *t)
{
    bool is_call = !needs_handshake(program, era);
    const char *wanted = program->is_echo ? "tools/call" : "\"result\"";
    const char *request = is_call ? t->block : initialize;
    Peer peer = {.program = program, .era = era, .buffer = allocate(BUFFER_BYTES)};
    uint64_t start = clock_monotonic_ns();
    uint64_t end;
    size_t n;

    spawn(&peer, program, environ);
    n = exchange(&peer, request, is_call ? t->n_message : strlen(initialize));
    end = clock_monotonic_ns();
    if (memmem(peer.buffer, n, wanted, strlen(wanted)) == NULL) {
        bad_answer(&peer, n, "wrong first answer");
    }
    peer_stop(&peer);
    return end - start;
}

PeerStartCpu peer_start_cpu(const PeerProgram *program, PeerEra era, const char *wanted)
{
    const char *request = list_tools[era];
    PeerStartCpu cpu;
    struct rusage used;
    Peer peer;
    size_t n;

    peer_start(&peer, program, era, -1);
    peer_open(&peer);
    n = exchange(&peer, request, strlen(request));
    cpu.to_list = peer_cpu_ns(&peer);
    if (memmem(peer.buffer, n, wanted, strlen(wanted)) == NULL) {
        bad_answer(&peer, n, "a list without the last tool");
    }
    close_pipes(&peer);
    if (wait4(peer.pid, NULL, 0, &used) != peer.pid) {
        die_errno(program->name);
    }
    cpu.to_end = (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000u +
                 (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
    return cpu;
}

uint64_t peer_empty_time(const PeerProgram *program)
{
    Peer peer = {.program = program, .buffer = allocate(BUFFER_BYTES)};
    uint64_t start = clock_monotonic_ns();
    uint64_t end;

    spawn(&peer, program, environ);
    if (read(peer.from, peer.buffer, BUFFER_BYTES) != 0) {
        peer_die(program->name, "wrote something");
    }
    end = clock_monotonic_ns();
    peer_stop(&peer);
    return end - start;
}
