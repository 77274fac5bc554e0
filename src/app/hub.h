/* app/hub.h: one loop, one router, and what joins them: the clock, and the key that seals state.
 *
 * Everything that serves calls stands on a Hub: the commands, and each server of the library.
 * Thread: loop.
 */
#pragma once

#include "dialect/mcp/server.h"
#include "io/loop.h"
#include "router/quota.h"
#include "router/router.h"

typedef struct Hub Hub;

/* limits may be NULL. 0, -ENOMEM, another negative errno. Gives *ret. */
int hub_new(Hub **ret, const RouterLimits *limits);

/* Doors and providers must have been freed before. */
Hub *hub_free(Hub *hub);

IoLoop *hub_loop(Hub *hub);
Router *hub_router(Hub *hub);

/* What commands pass that are not guarded where they run; the router's. */
SafetyDesk *hub_desk(const Hub *hub);

/* Seals requestState with a key of this process. */
const McpSealer *hub_sealer(const Hub *hub);
