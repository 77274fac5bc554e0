/* app/up_front.h: where fronts reach the hub (app/front.h): its socket for MCP, at the place of its
 * state folder (app/hub_place.h), and the note beside it. Thread: loop.
 */
#pragma once

#include "app/config.h"
#include "app/hub.h"
#include "base/diag.h"
#include "base/logsink.h"
#include "dialect/mcp/server.h"

#include <stdbool.h>

enum {
    UP_FRONT_E_LIVE = 1, /* a hub serves this state folder already; the Diag names its pid */
    UP_FRONT_E_PLACE,    /* there can be no socket; the Diag says why */
};

typedef struct UpFront UpFront;

typedef struct UpFrontConfig {
    Hub *hub; /* borrowed until free, as identity and log */
    const McpIdentity *identity;
    const Config *config; /* borrowed until return */
    const LogSink *log;
    /* It has ended after shutdown; may free it. */
    void (*closed)(void *context, UpFront *front);
    void *context;
} UpFrontConfig;

/* Listens and serves. 0, a negative errno, UP_FRONT_E_*. Gives *ret. */
int up_front_new(UpFront **ret, const UpFrontConfig *config, Diag *reterr_diag);
UpFront *up_front_free(UpFront *front);

const char *up_front_path(const UpFront *front);

/* Other settings with the same state folder: for those who connect from now on. */
void up_front_update(UpFront *front, const Config *config);

/* Lets nobody in any more; calls get drain_ms to finish, then `closed` comes. */
void up_front_shutdown(UpFront *front);
