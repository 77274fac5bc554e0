/* bench/http_side.h: a server of HTTP, ours or the floor, the requests that it gets, and one
 * exchange at a time with it. Every failure ends the program with a message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "peer.h"

enum {
    HTTP_SIDE_MAX_EXTRA = 6,
    HTTP_SESSION_BYTES = 128
};

typedef struct HttpSide {
    Peer peer; /* its process; it has no pipes */
    PeerProgram program;
    char folder[32]; /* what it keeps is here */
    char *answer;    /* of the floor, and of ours when it was asked: to the current request */
    size_t n_answer;
    unsigned port;
    bool is_floor;
    const char *tool; /* that echoes; NULL: the one for diagnostics */
} HttpSide;

/* `toolwire up` with the tools for diagnostics; extra: more flags, or NULL. */
void http_side_start(HttpSide *side, const char *toolwire, PeerEra era, const char *const *extra);

/* The floor of `ours`, which has been asked: it answers as that did last. */
void http_side_start_floor(HttpSide *side, const HttpSide *ours);

void http_side_stop(HttpSide *side);

/* A socket; buffer: the most that it takes in before it is read, 0: as it comes. */
int http_side_connect(const HttpSide *side, int buffer);

/* What opens a conversation on that connection: in the modern era nothing, and session is "". */
void http_side_open(const HttpSide *side, int fd, char session[HTTP_SESSION_BYTES]);

/* Requests; free() them. `text`: of the echo, plain characters. */
char *http_side_echo(const HttpSide *side, const char *session, const char *text, size_t *ret_n);
char *http_side_call(const HttpSide *side, const char *session, const char *tool, size_t *ret_n);
char *http_side_listen(const HttpSide *side, const char *session, size_t *ret_n);

/* Writes all of it to a socket that blocks. */
void http_side_send(int fd, const char *p, size_t n);

/* How long is the answer that begins there? 0: its head is not complete, or it has chunks. */
size_t http_answer_length(const char *p, size_t n);

/* Reads one answer from a socket that blocks, and keeps it in side->answer. It must be a good one,
 * with `wanted` in it. */
void http_side_ask(HttpSide *side, int fd, const char *request, size_t n, const char *wanted);

/* Its memory: its own share (PSS) now; the highest resident since the last reset. In bytes. */
size_t http_side_memory(const HttpSide *side);
void http_side_reset_peak(const HttpSide *side);
size_t http_side_peak(const HttpSide *side);
