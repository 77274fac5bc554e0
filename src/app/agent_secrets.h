/* app/agent_secrets.h: what the settings hold that nobody should see: the hub's token, and what MCP
 * servers are given under names that look like secrets. Thread: any. */
#pragma once

#include "app/config.h"
#include "base/arena.h"

/* Values, NULL behind the last, in the arena or the configuration. A file that cannot be read has
 * none. 0, -ENOMEM. */
int agent_secrets(Arena *arena, const Config *config, const char *const **ret);
