/* app/http_door_internal.h: what the files of the HTTP door share. Thread: loop. */
#pragma once

#include "app/http_door.h"

#include "base/map.h"
#include "dialect/mcp/http.h"
#include "dialect/mcp/http_guard.h"
#include "io/tcp_socket.h"
#include "router/quota.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where clients of 2024-11-05 look: the paths of the SDKs of that time. */
#define HTTP_DOOR_OLD_STREAM_PATH "/sse"
#define HTTP_DOOR_OLD_POST_PATH   "/messages"

/* A page: some tens of lines. Figures in text are the longest, a few hundred bytes a tool. */
#define HTTP_DOOR_PAGE_BYTES ((size_t)16 * 1024 * 1024)

/* A peer's address in text, "[…]:65535" with a scope; longer ones are cut. */
#define HTTP_DOOR_ADDRESS_BYTES 96

/* What this machine calls itself: the longest name of the DNS, and the NUL. */
#define HTTP_DOOR_NAME_BYTES 256

/* Where we listen: the longest is "unix:" and the path of a socket, 107 bytes on Linux. */
#define HTTP_DOOR_PLACE_BYTES 160

/* Whoever asks: its credentials, and what it may use at once. One for each connection; with
 * credentials one for all connections that bring them, since a modern client may open one for each
 * call. Counted: a session keeps it longer than its connection. */
typedef struct HttpAsker HttpAsker;
struct HttpAsker {
    size_t n_refs;
    HttpGrant grant;
    RouterQuota quota;
    HttpAsker *next_dead;
};

typedef struct HttpAskers {
    Map by_grant;         /* bytes of HttpGrant.id → HttpAsker, which it holds */
    HttpAsker *dead;      /* held by nobody, and freed at the end of the turn */
    RouterLimits limits;  /* of each */
    bool has_credentials; /* else each connection is one of its own */
} HttpAskers;

void http_askers_init(HttpAskers *askers, const RouterLimits *limits, bool has_credentials,
                      HashSeed seed);
void http_askers_deinit(HttpAskers *askers);

/* The one who brought these credentials. 0, -ENOMEM. Gives a reference. */
int http_askers_get(HttpAskers *askers, const HttpGrant *grant, int64_t now_ms, HttpAsker **ret);
HttpAsker *http_asker_ref(HttpAsker *asker);
/* asker may be NULL. Returns NULL. It stays readable until http_askers_sweep: a call that has just
 * been answered gives its place in the quota back after that. */
HttpAsker *http_askers_unref(HttpAskers *askers, HttpAsker *asker);
void http_askers_sweep(HttpAskers *askers);

/* A connection, and the one exchange that it has. */
typedef struct HttpLink {
    HttpDoor *door;
    HttpAsker *asker; /* of the last request that was let in; NULL: none was */
    int64_t end_ms;   /* of the loop's clock: when what that was asked with expires */
    McpHttpPath path;
    bool is_mcp;       /* the exchange has been handed to MCP */
    bool is_side;      /* or to the other protocol */
    bool names_origin; /* a web page asks, and may: answers say so */
    Bytes *piece;      /* that is being written, and where it began */
    size_t piece_start;
    char address[HTTP_DOOR_ADDRESS_BYTES];
    char local[TCP_ADDRESS_TEXT_SIZE]; /* IoHttpPeer.local */
} HttpLink;

typedef enum HttpDoorState {
    HTTP_DOOR_OPEN,
    HTTP_DOOR_DRAINING,
    HTTP_DOOR_CLOSED
} HttpDoorState;

struct HttpDoor {
    HttpDoorConfig config; /* with its defaults filled in */
    IoLoop *loop;
    Router *router;
    IoHttpServer *server;
    McpHttp *http;
    IoTimer *timer;       /* what is due in MCP; the end of the drain */
    IoBeforeWait *settle; /* sets it, once a turn, and notices the end */
    RouterListener listener;
    HttpAskers askers;
    const HttpLink *asking;  /* whose request is being handled; NULL: nobody's */
    HttpDoorFigures figures; /* but for what is asked for when it is needed */
    HttpDoorState state;
    McpHttpGuard guard;
    Span *hosts; /* what guard points to; those of config, and our own address */
    Span *origins;
    bool knows_itself; /* listening wider, it was not told its names: its own address and name */
    bool needs_auth;   /* credentials: not everybody is let in */
    bool is_listening; /* to the router */
    bool is_stopped;   /* no connection is left */
    bool is_cancelled; /* the drain is over: what ran was told to stop */
    bool is_held;      /* the loop, until the end has been told */
    size_t n_sessions; /* at the end of the last turn */
    int64_t drain_end_ms;
    int64_t timer_ms; /* what the timer is set to */
    char address[HTTP_DOOR_PLACE_BYTES];
    char own_origin[HTTP_DOOR_PLACE_BYTES + 8]; /* "http://" and address */
    char own_name[HTTP_DOOR_NAME_BYTES];        /* of the machine; "" if it has no part in it */
};

/* http_door_owner.c: what MCP asks; the context of each is the door. */
extern const McpHttpOwner http_door_owner;
McpOffer http_door_offer(void *context);
bool http_door_is_tool(void *context, Span method);
void http_door_wants(void *context, Span uri, bool is_wanted);
void http_door_forsakes(void *context, Span state);

/* http_door_wire.c: how answers are written, with what a web page must be told, and counted. */
extern const McpHttpWire http_door_wire;

/* An answer, or a piece of one (its status is 0), with so many bytes of its body. */
void http_door_count(HttpDoor *door, unsigned status, size_t n_bytes);

/* http_door_guard.c: looks at the head of a request and answers it unless it may go to MCP; true:
 * it may, and link says to which path. */
int http_door_guard_init(HttpDoor *door, bool is_loopback); /* once address is known; 0, -ENOMEM */
void http_door_guard_deinit(HttpDoor *door);
bool http_door_admit(HttpDoor *door, HttpLink *link, IoHttpExchange *x);

/* http_door_pages.c. Each answers x. */
const HttpPage *http_door_find_page(const HttpDoor *door, Span path);
bool http_door_is_metadata(const HttpDoor *door, Span path);
void http_door_write_page(HttpDoor *door, const HttpPage *page, IoHttpExchange *x);
void http_door_write_metadata(HttpDoor *door, IoHttpExchange *x);
void http_door_write_options(IoHttpExchange *x, Span allow);
void http_door_write_text(IoHttpExchange *x, unsigned status, const Http1Field *extra, Span text);
