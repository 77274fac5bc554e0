/* tests/e2e/peer.h: the real program at the other end of two pipes. Every failure fails the test.
 */
#pragma once

#include "base/arena.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef struct Peer {
    pid_t pid;
    int to;     /* its stdin; -1 once closed */
    int from;   /* its stdout */
    char *data; /* what was read and not yet taken */
    size_t n;
    size_t cap;
} Peer;

/* Starts `program arguments…` (NULL-terminated). */
void peer_start(Peer *peer, const char *program, const char *const *arguments);

/* The same with descriptors of the caller's for stdin and stdout; they stay the caller's. */
pid_t peer_spawn(const char *program, const char *const *arguments, int in_fd, int out_fd);

/* Writes everything; a line of text gets its newline. */
void peer_send_bytes(Peer *peer, const void *p, size_t n);
void peer_send(Peer *peer, const char *line);

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
