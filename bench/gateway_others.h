/* bench/gateway_others.h: gateways that others wrote, from npm (bench/peers), each before the bare
 * server of bench_gateway_peer, with one client of 2025-11-25 that waits for every answer.
 *
 * supergateway and mcp-proxy speak Streamable HTTP; mcp-hub speaks HTTP+SSE, so that a call is a
 * POST and its answer an event of another connection. All are on whatever core they get: their
 * threads would be in each other's way on one. Every failure ends the program with a message.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
    OTHERS_MAX = 3
};

typedef struct Other {
    const char *name;
    pid_t pid;
    unsigned port;
    int fd;     /* where requests go */
    int stream; /* where answers come from, if from elsewhere; or -1 */
    char *request;
    size_t n_request;
    size_t size; /* of the argument */
    char *answer;
    size_t cap;
    size_t n_answer;
} Other;

/* Says which of them are not measured, because they are not installed. */
void others_look(const char *only);

/* Starts the others that are installed, and asks each once; returns how many. folder: for what they
 * read and write; only: as in driver.h; size: of the argument of every call. */
size_t others_start(Other *others, const char *folder, const char *only, size_t size);

/* One call, its answer read to the end. */
void other_ask(Other *other);

void others_stop(Other *others, size_t n);
