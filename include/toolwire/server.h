/* toolwire/server.h: an MCP server: what it has, and whom it serves.
 *
 *     TwServer *server = tw_server_new("hello", "1.0");
 *
 *     tw_server_add_tool(server, &(TwTool){.name = "greet", .handler = greet});
 *     int r = tw_server_serve_stdio(server);
 *     tw_server_free(server);
 *
 * Speaks every MCP revision from 2024-11-05 to 2026-07-28; which one is the client's choice, and no
 * handler sees the difference.
 *
 * Threads. serve_* runs everything, handlers included, on the thread that calls it. Every other
 * function may be called from any thread, also while the server serves; from another thread than
 * the serving one it then waits until the serving thread has done it. So do not call one while that
 * thread waits for you, and free the server only after serve_* has returned and no other thread
 * uses it.
 *
 * Structures passed in are copied with everything they point to, but for `user`, which is borrowed
 * until `release` (may be NULL) is called with it, on any thread: when the thing was removed or the
 * server freed, and no call uses it any more. An add that fails releases nothing. Members that are
 * not named are 0 or NULL, and mean "not given".
 */
#pragma once

#include <toolwire/api.h>
#include <toolwire/call.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TW_BEGIN_C

typedef struct TwServer TwServer;

/* Gives a server without anything in it; NULL if there is no memory, which all functions below
 * accept and answer with TW_ERROR_ARGUMENT. version may be NULL. */
TW_API TwServer *tw_server_new(const char *name, const char *version);

/* Ends calls that are still kept (their tw_call_done stays due, and is harmless). */
TW_API void tw_server_free(TwServer *server);

/* A sentence about the last failure of a function of this server; "" if there was none. Borrowed
 * until the next failure. Thread: the one that met the failure, while no other uses the server. */
TW_API const char *tw_server_message(const TwServer *server);

/* Words about the server, and limits; 0 is the default of each. Of times, here and below, ten years
 * are the most that counts, and negative ones are TW_ERROR_ARGUMENT. */
typedef struct TwServerOptions {
    const char *title;
    const char *description;
    const char *website_url;
    const char *icons;        /* JSON array of {"src","mimeType","sizes"} */
    const char *instructions; /* for the model: how to use what is here */

    uint32_t max_in_flight;      /* calls of one client at once: 128; 65536 at most */
    bool rate_off;               /* no limit of the rate */
    uint32_t rate_burst;         /* calls at once: 1000 */
    uint32_t rate_per_s;         /* calls each second, on average: 100 */
    int64_t call_timeout_ms;     /* until progress is reported: 30 s */
    int64_t call_timeout_max_ms; /* with progress: 1 h */
    size_t max_request_bytes;    /* 1 MiB */
    size_t max_response_bytes;   /* 10 MiB */
    int64_t drain_ms;            /* what calls get to finish when the client has gone: 30 s */
    size_t page_size;            /* entries of a page of a list: all */
    bool no_logging;             /* do not offer log records (tw_call_log) */
    const char *state_dir; /* a folder that is there, for the tasks of tools (TwTool.task): one
                              process uses it at a time, and the next one goes on with what is
                              in it. NULL: they are in memory, and end with the process */
    size_t max_line_bytes; /* a line to a client, with its newline (not over HTTP): 10 MiB less 64
                              KiB, since the official TypeScript client reads none that is longer */
    void *reserved[2];
} TwServerOptions;

/* Replaces all options. Comes before anything is added or served: TW_ERROR_BUSY otherwise.
 * TW_ERROR_JSON: icons. TW_ERROR_ARGUMENT. */
TW_API int tw_server_set_options(TwServer *server, const TwServerOptions *options);

/* ---- Tools ------------------------------------------------------------------------------ */

/* Hints for clients (TwTool.annotations): what a tool does to the world. What is not said counts as
 * destructive, not idempotent, and open. */
enum {
    TW_TOOL_READ_ONLY = 1u << 0,       /* changes nothing */
    TW_TOOL_DESTRUCTIVE = 1u << 1,     /* may delete or overwrite */
    TW_TOOL_NOT_DESTRUCTIVE = 1u << 2, /* only adds */
    TW_TOOL_IDEMPOTENT = 1u << 3,      /* twice is as once */
    TW_TOOL_OPEN_WORLD = 1u << 4,      /* reaches beyond this machine */
    TW_TOOL_CLOSED_WORLD = 1u << 5     /* does not */
};

/* Does a tool run as a task (TwTool.task): does its client get an answer at once, and come back for
 * the result? With a state_dir a task is on disk before its client knows of it, and its result
 * stays there for a day. A process that ends leaves a task that ran FAILED, unless its tool says
 * that it may run twice (TW_TOOL_IDEMPOTENT, TW_TOOL_READ_ONLY): then it runs again. The handler is
 * that of any call, without progress and log records; it may run for call_timeout_max_ms, or
 * timeout_ms. */
typedef enum TwTask {
    TW_TASK_NEVER,
    TW_TASK_MAY,    /* for clients that take a task (2026-07-28), or want one (2025-11-25) */
    TW_TASK_ALWAYS, /* only; a call by any other client is an error */
    TW_TASK_ASKED /* only, too, but what the handler asks first is asked before there is a task: it
                     runs, asks and returns, and is a task when it runs with the answers. What it
                     asks then is the task's question, as with the others */
} TwTask;

/* Is a tool a command (TwTool.command; document.h)? */
typedef enum TwCommand {
    TW_COMMAND_NEVER,
    TW_COMMAND_PLAIN,   /* it is, and what it did stays: there is no dry run of it if it writes */
    TW_COMMAND_CAN_UNDO /* its handler undoes what it did where tw_call_is_dry_run or
                           tw_call_must_roll_back say so, and says that it has */
} TwCommand;

typedef struct TwTool {
    const char *name;
    const char *title;
    const char *description;
    const char *input_schema;  /* JSON Schema of an object; NULL: any arguments */
    const char *output_schema; /* of the structured result */
    unsigned annotations;      /* TW_TOOL_* */
    const char *icons;         /* JSON array */
    const char *meta;          /* JSON object */
    TwHandler handler;
    void *user;
    void (*release)(void *user);
    int64_t timeout_ms; /* 0: the server's */
    TwTask task;
    TwCommand command;
    void *reserved[3];
} TwTool;

/* TW_ERROR_JSON: a schema, icons or meta; the message says where. TW_ERROR_EXISTS, TW_ERROR_FULL.
 * Clients that are there are told that the list changed; so with all add and remove functions. */
TW_API int tw_server_add_tool(TwServer *server, const TwTool *tool);

/* Calls that run go on. TW_ERROR_MISSING. */
TW_API int tw_server_remove_tool(TwServer *server, const char *name);

/* ---- Resources -------------------------------------------------------------------------- */

typedef struct TwResource {
    const char *uri;
    const char *name;
    const char *title;
    const char *description;
    const char *mime_type;
    int64_t size; /* in bytes; 0: not given */
    const char *icons;
    const char *meta;
    TwHandler handler; /* TW_VERB_READ */
    void *user;
    void (*release)(void *user);
    int64_t timeout_ms;
    void *reserved[4];
} TwResource;

TW_API int tw_server_add_resource(TwServer *server, const TwResource *resource);
TW_API int tw_server_remove_resource(TwServer *server, const char *uri);

/* Its content changed: tells the clients that subscribed to it. */
TW_API int tw_server_resource_updated(TwServer *server, const char *uri);

/* Resources whose URIs follow a pattern (RFC 6570, expressions {name} and {+name}:
 * "file:///{+path}"); handlers find the values by tw_call_variable. TW_ERROR_ARGUMENT for others.
 */
typedef struct TwResourceTemplate {
    const char *uri_template;
    const char *name;
    const char *title;
    const char *description;
    const char *mime_type;
    const char *icons;
    const char *meta;
    TwHandler handler;  /* TW_VERB_READ */
    TwHandler complete; /* TW_VERB_COMPLETE, for its variables; may be NULL */
    void *user;         /* for both */
    void (*release)(void *user);
    int64_t timeout_ms;
    void *reserved[4];
} TwResourceTemplate;

TW_API int tw_server_add_template(TwServer *server, const TwResourceTemplate *resource_template);
TW_API int tw_server_remove_template(TwServer *server, const char *uri_template);

/* ---- Prompts ---------------------------------------------------------------------------- */

typedef struct TwPromptArgument {
    const char *name;
    const char *title;
    const char *description;
    bool required;
} TwPromptArgument;

typedef struct TwPrompt {
    const char *name;
    const char *title;
    const char *description;
    const TwPromptArgument *arguments; /* ended by one without a name; may be NULL */
    const char *icons;
    const char *meta;
    TwHandler handler;  /* TW_VERB_PROMPT */
    TwHandler complete; /* TW_VERB_COMPLETE, for its arguments; may be NULL */
    void *user;         /* for both */
    void (*release)(void *user);
    int64_t timeout_ms;
    void *reserved[4];
} TwPrompt;

TW_API int tw_server_add_prompt(TwServer *server, const TwPrompt *prompt);
TW_API int tw_server_remove_prompt(TwServer *server, const char *name);

/* ---- Serving ---------------------------------------------------------------------------- */

/* Serves the client at standard input and output, until it has gone, tw_server_stop, SIGTERM,
 * SIGINT or SIGHUP (all handled here meanwhile; a second one ends at once), or the end of the
 * process that started this one. Calls in flight then get drain_ms to finish. 0 in all these cases.
 *
 * From here on descriptor 1 leads to standard error, so that no printf can disturb the protocol,
 * and descriptor 0 to nothing: it can be done once in a process. TW_ERROR_BUSY, TW_ERROR_SYSTEM,
 * TW_ERROR_MEMORY. */
TW_API int tw_server_serve_stdio(TwServer *server);

/* The same for one client at two descriptors (pipes, sockets, also one for both), which it takes
 * and closes; signals and the parent are the caller's business. One client after the other may be
 * served. On failure to begin (TW_ERROR_BUSY, TW_ERROR_SYSTEM, TW_ERROR_MEMORY) the descriptors
 * remain the caller's. */
TW_API int tw_server_serve_fds(TwServer *server, int in_fd, int out_fd);

/* Serves any number of clients on a Unix socket, each as at standard input and output, until
 * tw_server_stop or one of the signals above (all handled here meanwhile; a second one ends at
 * once). Only programs of this user can connect; the socket is removed at the end. On Windows it is
 * a named pipe. TW_ERROR_EXISTS: a live process serves it. TW_ERROR_SYSTEM: the path cannot be
 * used; the message says why. TW_ERROR_BUSY, TW_ERROR_MEMORY. */
TW_API int tw_server_serve_unix(TwServer *server, const char *path);

typedef struct TwHttpOptions {
    const char *path; /* of MCP: "/mcp" */
    /* What clients must send (`Authorization: Bearer …`); NULL: nothing. At least 16 letters,
     * digits and -._~+/=; an empty one is refused. */
    const char *token;
    /* Besides localhost and its numbers: names that a request's Host may have, and origins of web
     * pages that may call ("https://app.example"). Each list ends with NULL, and may be NULL. An
     * address that other machines can reach has the machine's name and its own numbers instead of
     * hosts that are not given. */
    const char *const *allowed_hosts;
    const char *const *allowed_origins;
    /* Called once, on the serving thread, when it listens; address: "http://127.0.0.1:40123/mcp",
     * or "unix:/path" as it was given. May be NULL. */
    void (*ready)(void *user, const char *address);
    void *user; /* for ready */
    void *reserved[4];
} TwHttpOptions;

/* Serves any number of clients over HTTP, of every revision, until tw_server_stop or one of the
 * signals above. address: "127.0.0.1:8080", "[::1]:8080", "localhost:0" (port 0: a free one), or
 * "unix:/path"; options may be NULL. An address that other machines can reach needs a token.
 * TW_ERROR_SYSTEM: the address cannot be used; the message says why. TW_ERROR_ARGUMENT: nor can the
 * token, a host or an origin. TW_ERROR_BUSY, TW_ERROR_MEMORY. Not on Windows yet: TW_ERROR_SYSTEM.
 */
TW_API int tw_server_serve_http(TwServer *server, const char *address,
                                const TwHttpOptions *options);

/* Ends serve_* as if the client had gone; returns at once. Without a serve_* that runs it does
 * nothing. */
TW_API void tw_server_stop(TwServer *server);

TW_END_C
