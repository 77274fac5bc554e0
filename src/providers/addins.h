/* providers/addins.h: tools of applications whose add-ins connect to us by a named pipe: the hub.
 *
 * Many add-ins may be connected at once. Each is asked what it offers (toolwire.list_tools) and is
 * registered by the name that it gives, with "-2" and so on behind it if that is taken; one that
 * knows no such tool, as the add-ins of the original do not, is "add-in-N". What is offered to
 * agents:
 *
 *     the tools of the tools file    always; without an add-in they fail (ADAPTER_NOT_AVAILABLE)
 *     tools and resources that an    while it is connected; where several describe the same, the
 *     add-in describes               newest one's words count, and the file's before all
 *
 * (Descriptions of add-ins are read with the rules of a schema file, tools_file.h; what cannot be
 * used is left out alone.) A call goes to the add-in that connected last of those that offer the
 * tool; one that has told no list offers what the file has. One that has not answered the question
 * yet is the last choice. A call that was sent is never sent to another, since it may have run.
 * Calls of an add-in that goes, or is found dead, fail at once (PIPE_DISCONNECTED). A name that
 * another provider has is left out, with a word in the log, and tried again when what is offered
 * changes; in the tools file it is a mistake. The router's listeners are told when what is offered
 * changes.
 *
 * At most 256 add-ins are connected at once, and each may offer 4,096 things, described in 1 MiB of
 * JSON, one in 256 KiB; what goes beyond that is left out. What is offered changes in slices of
 * some milliseconds, between which calls are served; the listeners are told once for each. For one
 * that does not read calls wait while they have no more than twice the bytes of the largest message
 * (32 MiB), and further ones fail (ADAPTER_NOT_AVAILABLE); it is read from in any case. One that
 * sends what is no message is told why and closed. Calls leave before the loop waits, all of one
 * turn with one write. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/logsink.h"
#include "io/loop.h"
#include "router/router.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ADDINS_E_TOOLS = 1, /* the tools file cannot be used; the Diag says why */
    ADDINS_E_PLACE,     /* the pipe cannot be there, or another live process has it; the Diag says,
                           and names its pid */
};

typedef struct Addins Addins;

typedef struct AddinsConfig {
    Router *router; /* borrowed until free, as loop and log */
    IoLoop *loop;
    const LogSink *log;       /* may be NULL */
    const char *name;         /* of the pipe (io/pipe_place.h); copied */
    const char *tools_path;   /* a tools file, or NULL; borrowed until return */
    int64_t ping_interval_ms; /* 0: the default, as in all below */
    int64_t pong_timeout_ms;
    uint32_t max_bytes;
} AddinsConfig;

/* Adds the file's tools, then listens. 0, a negative errno, ADDINS_E_*. Gives *ret. */
int addins_new(Addins **ret, const AddinsConfig *config, Diag *reterr_diag);

/* Removes what is offered, fails calls (PIPE_DISCONNECTED), closes, removes the pipe. Before the
 * router's and the loop's, and not from inside the end of a call. */
Addins *addins_free(Addins *addins);

/* Whether tools may be about to come: one is connected and has not told yet what it offers, or has
 * gone within so long, and none has come in its place. */
bool addins_expect(const Addins *addins, int64_t within_ms);

/* The path of the pipe; borrowed. */
const char *addins_path(const Addins *addins);

/* For status and tests. */
typedef struct AddinsCounts {
    size_t connected;
    uint64_t accepted; /* since the start */
    uint64_t dead;     /* found by their silence */
    uint64_t late;     /* results that nobody waited for, dropped; as in dialect/pipe/hub.h */
    uint64_t bad;      /* messages with wrong members, or of unknown types */
    uint64_t refused;  /* connections ended since what came was no message */
} AddinsCounts;

AddinsCounts addins_counts(const Addins *addins);
