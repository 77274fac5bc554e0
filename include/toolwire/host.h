/* toolwire/host.h: a parent: a program that has tools in memory and shows them to bridges.
 *
 *     TwServer *server = tw_server_new("calculator", "1.0");
 *     TwHost *host = NULL;
 *
 *     tw_server_add_tool(server, &(TwTool){.name = "add", .handler = add});
 *     if (tw_host_open(server, NULL, &host) == 0) {
 *         printf("toolwire bridge %s %s\n", tw_host_socket_path(host), tw_host_schema_path(host));
 *         tw_host_run(host);
 *     }
 *     tw_host_close(host);
 *     tw_server_free(server);
 *
 * An MCP client can only start a command; `toolwire bridge SOCKET SCHEMA` is that command, and
 * carries each call to this process. Only tools travel this way, with progress (tw_call_progress),
 * without log records and questions. Any number of bridges may be connected, each with one call at
 * a time; while a handler keeps its call (tw_call_keep) the others are served. Tools that any
 * thread adds or removes appear in the schema file while the host runs, and the bridges tell their
 * clients. Requests and responses have 10 MiB each; there is no limit of the rate but one that the
 * server's options name.
 */
#pragma once

#include <toolwire/api.h>
#include <toolwire/server.h>

#include <stddef.h>
#include <stdint.h>

TW_BEGIN_C

typedef struct TwHost TwHost;

/* Members that are not named are 0 or NULL, and mean the default. */
typedef struct TwHostOptions {
    const char *socket_path; /* in this user's runtime folder, a name of this process's own */
    const char *schema_path; /* beside the socket: ".sock" becomes ".json" */
    void *reserved[6];
} TwHostOptions;

/* Makes socket and schema file, both for this user only; bridges can connect from now on, and wait
 * for tw_host_run. What a dead parent left under the names is replaced; TW_ERROR_EXISTS if a live
 * one has them. The server is borrowed until close, and serves nothing else meanwhile, as it must
 * not now: TW_ERROR_BUSY. options may be NULL. tw_server_message(server) says more about a failure.
 * Gives *ret_host. TW_ERROR_SYSTEM: also for a place that cannot be. TW_ERROR_MEMORY,
 * TW_ERROR_ARGUMENT. */
TW_API int tw_host_open(TwServer *server, const TwHostOptions *options, TwHost **ret_host);

/* Absolute; borrowed until close. */
TW_API const char *tw_host_socket_path(const TwHost *host);
TW_API const char *tw_host_schema_path(const TwHost *host);

/* Serves on the calling thread, handlers included, until tw_host_stop. The socket is gone then,
 * calls in flight get the server's drain_ms to finish, and are cancelled. Signals are the caller's
 * business: tw_host_stop may be called from a handler. 0, also at once if the host was stopped
 * before; TW_ERROR_BUSY: it runs already. TW_ERROR_SYSTEM, TW_ERROR_MEMORY, TW_ERROR_ARGUMENT. */
TW_API int tw_host_run(TwHost *host);

/* Ends tw_host_run, now or when it begins, for good; returns at once. Not when close has begun.
 * Thread: any; also a signal handler. */
TW_API void tw_host_stop(TwHost *host);

/* Removes socket and schema file. Not while tw_host_run runs. NULL is accepted. */
TW_API void tw_host_close(TwHost *host);

TW_END_C
