/* tests/e2e/peer.h: the real program at the other end of two pipes. Every failure fails the test,
 * and so does a line of the program that its revision's schema does not allow
 * (support/mcp_watch.h).
 */
#pragma once

#include "base/arena.h"
#include "support/mcp_watch.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A session of 2025-11-25. */
#define INITIALIZE                                                                                 \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"2025-11-25\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"
#define CALL(id, tool, arguments)                                                                  \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool    \
    "\",\"arguments\":" arguments "}}"
#define TEXT(id, text)                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":" id                                                              \
    ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}}"

typedef struct Peer {
    pid_t pid;
    int to;     /* its stdin; -1 once closed; may be the same as from */
    int from;   /* its stdout; -1 if nobody reads it */
    char *data; /* what was read and not yet taken */
    size_t n;
    size_t cap;
    McpWatch watch;
} Peer;

/* A peer of a process that was started otherwise, with its stdin and stdout; takes both. */
void peer_init(Peer *peer, pid_t pid, int to, int from);

/* Starts `program arguments…` (NULL-terminated). */
void peer_start(Peer *peer, const char *program, const char *const *arguments);

/* The same and opens the session. */
void peer_open(Peer *peer, const char *program, const char *const *arguments);
void peer_initialize(Peer *peer);

/* Starts it with descriptors of the caller's for stdin and stdout; they stay the caller's. -1: it
 * has none. */
pid_t peer_spawn(const char *program, const char *const *arguments, int in_fd, int out_fd);
pid_t peer_spawn_all(const char *program, const char *const *arguments, int in_fd, int out_fd,
                     int err_fd);

/* Writes everything; a line of text gets its newline. */
void peer_send_bytes(Peer *peer, const void *p, size_t n);
void peer_send(Peer *peer, const char *line);

/* Another process is about to write this to the program. */
void peer_expect_sent(Peer *peer, const void *p, size_t n);

/* The next line, NUL-terminated, without its newline; free() it. NULL at the end of the output. */
char *peer_line(Peer *peer);

/* Takes the next line, which must be this JSON (order of members does not matter). */
void peer_expect(Peer *peer, const char *json);

/* No more input for the program. */
void peer_close_input(Peer *peer);

/* Waits for the program's end, which must come without more output; returns its exit status, or
 * -signal. Frees everything. */
int peer_finish(Peer *peer);

/* The same for a process started by peer_spawn. */
int peer_wait(pid_t pid);
