/* app/command_door.h: commands and jobs over plain HTTP (dialect/command), beside MCP on the same
 * door: enqueue, ask for results, fetch jobs and post their results. Thread: loop.
 */
#pragma once

#include "app/http_door.h"
#include "app/hub.h"
#include "app/jobs.h"
#include "base/logsink.h"

#include <stddef.h>

typedef struct CommandDoor CommandDoor;

typedef struct CommandDoorConfig {
    Hub *hub;
    Jobs *jobs;
    bool takes_all; /* what is no tool here is for applications that fetch, also while none is there
                     */
    int64_t known_ms; /* what is no tool is accepted for an application that was there within so
                         long; 0: LIMIT_COMMAND_KNOWN_MS */
    /* Whether tools may be about to come, since whoever has them was there within so long, and is
     * not now; NULL: they are not. */
    bool (*expects_tools)(void *context, int64_t within_ms);
    void *context;
    const McpIdentity *identity; /* name and version, for what is asked about this server */
    const LogSink *log;          /* may be NULL */
} CommandDoorConfig;

/* 0, -ENOMEM, another negative errno. Gives *ret. Borrows what config points to. */
int command_door_new(CommandDoor **ret, const CommandDoorConfig *config);

/* After the HTTP doors that use its side, before the jobs. */
CommandDoor *command_door_free(CommandDoor *door);

/* For HttpDoorConfig.side. Several doors may use it. */
const HttpSide *command_door_side(const CommandDoor *door);
