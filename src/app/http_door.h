/* app/http_door.h: MCP over HTTP, and a few pages beside it: a listener (io/http_server.h), the
 * protocol (dialect/mcp/http.h), the hub's router, and the guards in front of them.
 *
 *     Host, Origin (each on its own) → credentials → path: MCP, a page, 404
 *
 * Thread: loop.
 */
#pragma once

#include "app/http_auth.h"
#include "app/hub.h"
#include "base/bytes.h"
#include "base/diag.h"
#include "base/logsink.h"
#include "dialect/mcp/server.h"
#include "io/http_server.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct HttpDoor HttpDoor;

/* Something to GET besides MCP. */
typedef struct HttpPage {
    const char *path;
    const char *type; /* of its body: "text/plain; charset=utf-8" */
    bool is_open;     /* also to those without credentials */
    /* Appends the body. 0, or the status instead of 200 (the body says why), or a negative errno
     * (500). */
    int (*write)(void *context, Bytes *out);
} HttpPage;

/* Another protocol beside MCP, behind the same guards (app/command_door.h). */
typedef struct HttpSide {
    /* Does that path lead there? Then *ret_allow are its methods, as Allow says them. */
    bool (*leads)(void *context, Span path, Span *ret_allow);
    /* A request whose Host, Origin and credentials were accepted. Answers x, now or later, and is
     * told if nobody waits any more. owner: whose credentials they are (HttpGrant.owner); empty
     * where none are needed. */
    void (*request)(void *context, IoHttpExchange *x, Span body, Span owner, const char *who);
    void (*gone)(void *context, IoHttpExchange *x);
    /* A request to such a path that is not let in; extra may be NULL. Answers x at once. */
    void (*refuse)(void *context, IoHttpExchange *x, unsigned status, const Http1Field *extra,
                   Span message);
    /* That door closes: what waits there for something to happen is answered now, or at end_ms of
     * the loop's clock if what it waits for may still come. */
    void (*shutdown)(void *context, const HttpDoor *door, int64_t end_ms);
    void *context;
} HttpSide;

typedef struct HttpDoorConfig {
    Hub *hub;
    const McpIdentity *identity;
    const RouterLimits *limits; /* of each client; may be NULL */
    const char *address;        /* io/http_server.h */
    /* NULL, or an open door at that address, which is shut next: nobody is refused in between.
     * Borrowed until return. */
    const HttpDoor *from;
    const char *path;         /* of MCP; NULL: "/mcp" */
    const HttpAuth *auth;     /* NULL: everybody */
    const char *token_hint;   /* how a token is given, for whoever needs one; NULL: --token-file */
    const char *const *hosts; /* besides localhost and its numbers, NULL-terminated; may be NULL */
    const char *const *origins; /* likewise */
    const HttpPage *pages;
    size_t n_pages;
    void *pages_context;
    const HttpSide *side; /* may be NULL */
    bool logging;         /* as in app/mcp_door.h, down to drain_ms */
    bool lists_change;
    bool expects_tools;
    bool expects_resources;
    bool expects_prompts;
    size_t max_request_bytes;
    size_t max_response_bytes;
    int64_t drain_ms;
    IoHttpLimits http;  /* max_body_bytes is max_request_bytes */
    const LogSink *log; /* may be NULL */
    /* The door is shut: every call is over and every connection closed. Not from inside a call of
     * these functions. */
    void (*closed)(void *context);
    void *context;
} HttpDoorConfig;

/* Counters since the start, for those who watch. */
typedef struct HttpDoorFigures {
    uint64_t n_requests;
    uint64_t n_refused; /* of them, with a status of 400 to 499 */
    uint64_t bytes_in;  /* bodies */
    uint64_t bytes_out;
    size_t n_connections; /* now, as all below */
    size_t n_sessions;
    size_t n_streams;
} HttpDoorFigures;

/* Listens and serves. 0, a negative errno, IO_HTTP_E_PLACE (the Diag says why; also: an address
 * that is wider than this machine without credentials). Borrows what config points to. Gives *ret.
 */
int http_door_new(HttpDoor **ret, const HttpDoorConfig *config, Diag *reterr_diag);
HttpDoor *http_door_free(HttpDoor *door);

/* For an HttpSide: a whole answer, with what a web page must be told, and counted. As
 * io_http_respond. */
int http_door_respond(IoHttpExchange *x, unsigned status, const Http1Field *fields, size_t n_fields,
                      Span body);

/* Where it came in. */
const HttpDoor *http_door_of(const IoHttpExchange *x);
unsigned http_door_port(const HttpDoor *door); /* 0: a Unix socket, or the door is shut */

/* "127.0.0.1:7410", "unix:/path": with the port that it has got. */
const char *http_door_address(const HttpDoor *door);
const char *http_door_path(const HttpDoor *door);

/* Lets nobody in any more; calls get drain_ms to finish, then `closed` comes. May come twice. */
void http_door_shutdown(HttpDoor *door);

HttpDoorFigures http_door_figures(const HttpDoor *door);
