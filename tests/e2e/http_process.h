/* tests/e2e/http_process.h: the real hub as a process, and connections to it. Every failure fails
 * the test.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Only ends a test that would hang; nothing is measured by it. */
#define HTTP_HANG_MS 60000

typedef struct HttpProcess {
    pid_t pid;
    unsigned port;
    char folder[64];
    char socket[128];              /* where fronts reach it */
    const atomic_long *live_bytes; /* NULL: not counted */
} HttpProcess;

/* `program up` with the tools for diagnostics at a free port, everything that it keeps in a folder
 * of its own. live_bytes: as in process_state.h, or NULL. */
void http_process_start(HttpProcess *hub, const char *program, const char *live_bytes);

/* The same with these arguments behind (NULL-terminated, HTTP_MORE_ARGUMENTS at most). */
#define HTTP_MORE_ARGUMENTS 8
void http_process_start_with(HttpProcess *hub, const char *program, const char *live_bytes,
                             const char *const *more);

/* SIGTERM; returns its exit status, or -signal. */
int http_process_terminate(HttpProcess *hub);

/* Whatever has happened. */
void http_process_clean(HttpProcess *hub);

/* A socket that blocks. Narrow: what is sent to it and not read does not get lost in large buffers
 * of the system. */
int http_connect(const HttpProcess *hub, bool is_narrow);

/* All of it; false: the other side does not want more. */
bool http_send(int fd, const char *p, size_t n);
bool http_send_text(int fd, const char *text);

/* What comes until there is one answer with a Content-Length, or the connection ends (reset or
 * not); NUL-terminated, free() it. */
char *http_read_answer(int fd);

/* What comes until the connection ends. */
char *http_read_end(int fd);

/* Closes without goodbye: a reset, not an end. */
void http_reset(int fd);

/* A request of 2026-07-28 for that method and name (NULL: none), with these members of params (each
 * followed by a comma); free() it. */
char *http_modern(const HttpProcess *hub, const char *method, const char *name, const char *params);
