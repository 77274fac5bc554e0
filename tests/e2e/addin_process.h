/* tests/e2e/addin_process.h: a real `toolwire addin`, and the hub that it connects to, played by
 * the test. Every failure fails the test.
 */
#pragma once

#include "e2e/callsock_peer.h"

#include <stddef.h>
#include <sys/types.h>

#define MESSAGE(id, type, payload)                                                                 \
    "{\"id\":\"" id "\",\"type\":\"" type                                                          \
    "\",\"timestamp\":\"2025-01-15T10:30:00.000Z\",\"payload\":" payload "}"
#define CALLS(id, tool, args)                                                                      \
    MESSAGE(id, "tool_call", "{\"tool_name\":\"" tool "\",\"args\":" args "}")
#define PING MESSAGE("p", "ping", "{}")

typedef struct AddinProcess {
    const char *program;
    Place place; /* its socket is the pipe's */
    char tools[96];
    char fifo[96];
    int listening; /* -1: there is no hub */
    pid_t pid;
    int err; /* the program's stderr */
} AddinProcess;

/* ---- the program ---- */

/* A folder, which is TMPDIR from now on, with a tools file: `cat` gives its arguments back, `fails`
 * fails, `waits` runs for ever, `ends` until the test lets it go on, and `stubborn` as
 * `waits`, but SIGTERM does not end it. */
void addin_prepare(AddinProcess *f, const char *program);

/* Starts `program arguments…`. It goes with the test. */
void addin_start(AddinProcess *f, const char *const *arguments);

/* All of it: a hub, the program with up to four further words, and a connection between them. */
int addin_connect(AddinProcess *f, const char *program, const char *a, const char *b, const char *c,
                  const char *d);

/* Takes the next line that it prints, which must be "toolwire addin: " and this. */
void addin_expect_line(AddinProcess *f, const char *words);

/* It has ended, with that status (or -signal), and prints nothing more. */
void addin_expect_exit(AddinProcess *f, int status);

/* Ends it as it should end. */
void addin_stop(AddinProcess *f);

/* Ends it, whatever it still prints. */
void addin_kill(AddinProcess *f);

/* Stops what still runs; the folder must hold nothing that the test has not put there. */
void addin_deinit(AddinProcess *f);

/* ---- the hub ---- */

void addin_hub_opens(AddinProcess *f);
void addin_hub_leaves(AddinProcess *f);

void message_send(int fd, const char *text);

/* The next message; free() it. NULL at the end. */
char *message_take(int fd);

/* Takes the next message; at these pointers (two words each, NULL ends) it must hold that JSON. */
void message_expect(int fd, const char *const *rows);

/* It is the answer to that call, a success with this data (both JSON). */
void message_expect_result(int fd, const char *call_id, const char *data);
void message_expect_type(int fd, const char *type);

/* A call of `cat` is answered. */
void message_is_served(int fd);

/* ---- its commands ---- */

/* Returns when `waits` runs; the descriptor ends when it is dead. */
int command_runs(AddinProcess *f);
void command_is_dead(int fd);

/* Lets `ends` come to its end, saying "done". */
void command_goes_on(AddinProcess *f);
