/* providers/parent_schema.h: the tools of a schema file, kept in a router; used by parent.c only.
 *
 * At first all of them are put in, or none. Later the router follows the file: what went is
 * removed, what came is added, what changed is removed and added (at the end of the list), and the
 * rest is not touched. Calls that run go on in any case. Listeners of the router are told once.
 * Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/logsink.h"
#include "base/map.h"
#include "base/span.h"
#include "call/call.h"
#include "router/router.h"

#include <stddef.h>
#include <stdint.h>

enum {
    PARENT_SCHEMA_E_UNUSABLE = 1, /* unreadable, exposed, malformed; the Diag says */
};

/* What the provider's functions get as their context. Lives as long as its entry in the router. */
typedef struct ParentTool {
    void *owner;
    Span name; /* in text, as json */
    Span json; /* the description, as the router was given it */
    int64_t timeout_ms;
    uint64_t round; /* the last reading of the file that had it */
    char text[];
} ParentTool;

typedef struct ParentSchema {
    Router *router;
    const char *path;
    const CallProvider *provider;
    void *owner;
    const LogSink *log;
    Map tools; /* name → ParentTool */
    uint64_t round;
} ParentSchema;

#define PARENT_SCHEMA_NULL ((ParentSchema){.tools = MAP_NULL})

/* Borrows everything until deinit; log may be NULL. 0 or a negative errno. */
int parent_schema_init(ParentSchema *schema, Router *router, const char *path,
                       const CallProvider *provider, void *owner, const LogSink *log);

/* Removes the tools; calls that run still have theirs. May run twice. */
void parent_schema_deinit(ParentSchema *schema);

/* The first reading: adds every tool of the file, or none. A name that another provider has is a
 * mistake of the file. 0, -ENOMEM, another negative errno, PARENT_SCHEMA_E_UNUSABLE; the Diag names
 * file, line and field. */
int parent_schema_load(ParentSchema *schema, Diag *reterr_diag);

/* The file may have changed: the router follows it. If it cannot be used, everything stays, with a
 * word in the log; a name that another provider has is left out, likewise. */
void parent_schema_reload(ParentSchema *schema);
