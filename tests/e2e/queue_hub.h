/* tests/e2e/queue_hub.h: a real hub with a durable queue, which may be killed and started again,
 * and requests to its command door. What a test calls fails the test; what a thread calls says so.
 */
#pragma once

#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Only ends a test that would hang; nothing is measured by it. */
#define QUEUE_HANG_MS 120000

typedef struct QueueHub {
    const char *program;
    pid_t pid; /* 0: it does not run */
    unsigned port;
    char folder[64];
} QueueHub;

/* An answer; deinit frees. */
typedef struct QueueReply {
    unsigned status; /* 0: there was none, or not a whole one */
    char *head;
    char *body; /* NUL-terminated; in the same memory */
    size_t n_body;
    Arena arena;
} QueueReply;

/* A folder of its own, with this tools file in it; the hub's state, too, which outlives the hub. */
void queue_hub_init(QueueHub *hub, const char *program, const char *tools);
void queue_hub_clean(QueueHub *hub); /* whatever has happened */

/* Starts it at a free port. settings: its file, JSON; the tools file is named tools.json. */
void queue_hub_start(QueueHub *hub, const char *settings);
void queue_hub_kill(QueueHub *hub);
void queue_hub_end(const QueueHub *hub); /* SIGTERM, and does not wait */
int queue_hub_stop(QueueHub *hub);       /* SIGTERM; its exit status, or -signal */

/* One request on a connection of its own: method and target, further lines of the head (with their
 * CRLF), and a body, JSON; NULL: none. False: nobody answered, or not to the end. Any thread. */
bool queue_try(unsigned port, QueueReply *ret, const char *line, const char *fields,
               const char *body);

/* A connection; -1: nobody is there. */
int queue_connect(unsigned port);

/* The same in two steps, for requests that wait: -1: nobody is there. */
int queue_send(unsigned port, const char *line, const char *fields, const char *body);
bool queue_receive(int fd, QueueReply *ret); /* closes fd */

/* For tests: there is an answer, with that status. */
void queue_ask(const QueueHub *hub, QueueReply *ret, unsigned status, const char *line,
               const char *body);
void queue_reply_deinit(QueueReply *reply);

/* What stands there in the body (RFC 6901), decoded if it is text; "" if nothing does. free() it.
 */
char *queue_reply_get(QueueReply *reply, const char *pointer);
void queue_reply_has(QueueReply *reply, const char *pointer, const char *expected);
