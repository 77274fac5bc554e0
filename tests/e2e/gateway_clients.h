/* tests/e2e/gateway_clients.h: many clients of one hub at the same time, in one loop: over HTTP in
 * both eras, and over the hub's socket.
 *
 * Each client calls tools of the servers behind the hub, one after the other with a pause (over the
 * socket four at a time). Every call has an id of its own, and its answers are counted. Some
 * clients call servers that behave, "h0"…, only; their times are kept. The others call "c0"…, which
 * do not, when chaos is on. Every failure fails the test; what is wrong with an answer is counted.
 */
#pragma once

#include "e2e/http_process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct GatewayClients GatewayClients;

typedef struct GatewayCounts {
    size_t n_calls;
    size_t n_answers; /* to a call that had none yet */
    size_t n_extra;   /* to one that had, or to none */
    size_t n_wrong;   /* not what was asked for; of servers that behave, errors as well */
    size_t n_errors;  /* of the others */
} GatewayCounts;

typedef struct GatewayClientsConfig {
    const HttpProcess *hub;
    size_t n_http; /* half of them 2026-07-28, half 2025-11-25 */
    size_t n_socket;
    size_t n_healthy; /* servers of each kind */
    size_t n_chaotic;
    uint64_t seed;
} GatewayClientsConfig;

/* Connects all of them. */
GatewayClients *gateway_clients_new(const GatewayClientsConfig *config);
GatewayClients *gateway_clients_free(GatewayClients *clients);

/* Calls for so long, then waits until every call has its answer. tick (may be NULL) comes about
 * every tick_ms while calls are begun. */
void gateway_clients_run(GatewayClients *clients, int64_t ms, bool is_chaotic,
                         void (*tick)(void *context), int64_t tick_ms, void *context);

/* One call of `echo` of that server over HTTP; true: answered as it should be. */
bool gateway_clients_try(GatewayClients *clients, const char *server);

GatewayCounts gateway_clients_counts(const GatewayClients *clients);

/* Of the calls of servers that behave since the last time this was asked, in microseconds. */
uint64_t gateway_clients_p99(GatewayClients *clients, size_t *ret_n);
