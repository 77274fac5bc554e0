/* tests/e2e/callsock_peer.h: both ends of a call socket, played by the test: a parent that answers
 * a real bridge, a bridge that asks a real parent. Every failure fails the test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A folder of this test with a parent's place in it. */
typedef struct Place {
    char folder[64];
    char socket[96];
    char schema[96];
} Place;

void place_init(Place *place);

/* The folder must be empty but for the place's socket and schema, which go with it. */
void place_deinit(Place *place);

/* Writes a file of that mode, anew. */
void place_write(const char *path, const char *text, mode_t mode);

/* ---- frames ---- */

void wire_write(int fd, const void *p, size_t n);
void frame_write(int fd, const void *p, size_t n);
void frame_write_str(int fd, const char *text);

/* The next message, NUL-terminated; free() it. NULL at the end. */
char *frame_read(int fd, size_t *ret_n);

/* Takes the next message, which must be this text, byte for byte. */
void frame_expect(int fd, const char *text);

/* Takes the next message, an error response; its type must be this, its message hold those words.
 */
void frame_expect_error(int fd, const char *type, const char *words);

/* The other side has closed it; closes ours. */
void wire_expect_end(int fd);

/* ---- a parent, played by the test ---- */

int parent_listen(const Place *place);
int parent_accept(int listening);

/* Has nobody connected? */
bool parent_is_untouched(int listening);

/* ---- a real parent ---- */

typedef struct HostProcess {
    pid_t pid;
    int err;         /* its stderr */
    char ready[512]; /* the line that it printed when it could be reached */
} HostProcess;

/* Starts `program arguments…` and waits until it can be reached. */
void host_start(HostProcess *host, const char *program, const char *const *arguments);

/* Sends the signal and waits: exit status, or -signal. */
int host_stop(HostProcess *host, int signum);

/* Waits for the end of one that was told otherwise. */
int host_finish(HostProcess *host);

int bridge_connect(const char *socket_path);

/* Runs `program arguments…` to its end: exit status; *ret_out and *ret_err are what it printed
 * (free() them; either may be NULL). */
int run_program(const char *program, const char *const *arguments, char **ret_out, char **ret_err);
