/* app/host.h: a parent: the tools of a router behind a call socket, and the schema file that tells
 * bridges of them.
 *
 * The schema file is written before the socket can be reached, follows the registry (a bridge that
 * watches it announces the change to its client), and goes with the socket at the end. It ends in
 * HOST_SCHEMA_SIGNATURE: an array's end and white space that nobody writes. A file that does not
 * end so is somebody's own, and is neither replaced nor removed. Thread: loop.
 */
#pragma once

#include "base/bytes.h"
#include "base/diag.h"
#include "base/logsink.h"
#include "io/loop.h"
#include "router/router.h"

#include <stddef.h>
#include <stdint.h>

#define HOST_SCHEMA_SIGNATURE "]\t\n"

enum {
    HOST_E_PLACE = 1, /* socket or schema cannot be there, or a live parent has it; the Diag says */
};

typedef struct Host Host;

typedef struct HostConfig {
    IoLoop *loop;
    Router *router;
    const char *socket_path;       /* copied; see host_paths for a default */
    const char *schema_path;       /* copied */
    const RouterLimits *limits;    /* as in app/callsock_door.h */
    int64_t drain_ms;              /* 0: LIMIT_DRAIN_MS */
    const LogSink *log;            /* may be NULL */
    void (*closed)(void *context); /* after shutdown, once */
    void *context;
} HostConfig;

/* Neither file is touched if the socket is served, or its path is something else's. In the runtime
 * folder what dead parents left is removed. 0, a negative errno, HOST_E_PLACE. Gives *ret. */
int host_new(Host **ret, const HostConfig *config, Diag *reterr_diag);

/* Removes both files. */
Host *host_free(Host *host);

/* As callsock_door_shutdown. */
void host_shutdown(Host *host);

/* Where a parent is that was told no place: in this user's runtime folder (io/private_file.h),
 * under that name ("host", "host-1234"): NAME.sock and NAME.json. With a socket path the schema is
 * beside it, ".sock" replaced by ".json". Relative paths become absolute ones. The runtime folder
 * is made if it is not there; nothing else is touched. Gives both (mem_free). 0, a negative errno,
 * HOST_E_PLACE. */
int host_paths(const char *name, const char *socket_path, const char *schema_path,
               char **ret_socket_path, char **ret_schema_path, Diag *reterr_diag);

/* Appends the entry of an MCP client's configuration that starts the matching bridge:
 * {"mcpServers":{NAME:{"command":PROGRAM,"args":["bridge",SOCKET,SCHEMA]}}}, indented, with a
 * newline. 0, -ENOMEM, BYTES_E_FULL. */
int host_client_config(Bytes *out, const char *name, const char *program, const char *socket_path,
                       const char *schema_path);
