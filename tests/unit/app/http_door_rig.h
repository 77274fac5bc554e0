/* tests/unit/app/http_door_rig.h: an HTTP door, and clients on sockets, as bad as a test wants
 * them. The loop runs in the test's own thread: whoever waits for an answer lets it run. */
#pragma once

#include "app/http_door.h"

#include "support/cmocka.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "app/hub.h"
#include "providers/diagnostics.h"

/* For a test that would wait for ever; nothing is measured by it. */
#define WATCHDOG_S 60

#define BIG_BYTES 4000000

static const McpIdentity identity = {.name = SPAN_INIT("t"), .version = SPAN_INIT("1")};

/* A door of diagnostic tools, of `hold`, which answers when the test lets it, and of `big`. */
typedef struct Fixture {
    char folder[64];
    Hub *hub;
    Diagnostics *diagnostics;
    HttpDoor *door;
    IoTimer *turn; /* ends a turn of the loop */
    Call *held;
    size_t n_held;
    size_t n_cancelled;
    size_t n_closed;
} Fixture;

typedef struct Client {
    Fixture *f;
    int fd;
    bool has_ended; /* the door has closed it */
    char *got;      /* all that came, NUL-terminated */
    size_t n;
    size_t cap;
    size_t n_seen; /* of it; what a test waits for is behind it */
} Client;

/* ---- the fixture ---- */

static void on_closed(void *context)
{
    Fixture *f = context;

    f->n_closed++;
    io_loop_stop(hub_loop(f->hub));
}

static void on_turn(void *context)
{
    Fixture *f = context;

    io_loop_stop(hub_loop(f->hub));
}

static void hold_start(void *context, Call *call)
{
    Fixture *f = context;

    f->held = call;
    f->n_held++;
}

static void hold_cancel(void *context, Call *call)
{
    Fixture *f = context;

    assert_ptr_equal(call, f->held);
    f->held = NULL;
    f->n_cancelled++;
}

static void big_start(void *context, Call *call)
{
    static char text[BIG_BYTES];
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":\""), span_make(text, sizeof(text)),
                     SPAN("\"}")};
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, TW_ARRAY_SIZE(pieces));

    (void)context;
    memset(text, 'x', sizeof(text));
    call_finish(call, &result);
}

static const CallProvider big_provider = {.start = big_start};
static const CallProvider hold_provider = {.start = hold_start, .cancel = hold_cancel};

TW_UNUSED static void hold_let_go(Fixture *f)
{
    Span pieces[] = {SPAN("{\"type\":\"text\",\"text\":\"let go\"}")};
    CallResult result = CALL_RESULT_TOOL_PIECES(pieces, TW_ARRAY_SIZE(pieces));
    Call *call = f->held;

    assert_non_null(call);
    f->held = NULL;
    call_finish(call, &result);
}

static int add_tool(Fixture *f, Span json, const CallProvider *provider)
{
    return router_add(
        hub_router(f->hub),
        &(RouterSpec){.kind = ROUTER_TOOL, .json = json, .provider = provider, .context = f}, NULL);
}

/* Without the door. */
static int fixture_prepare(Fixture *f, const RouterLimits *limits)
{
    static const char folder[] = "/tmp/tw-http-XXXXXX";
    int r;

    *f = (Fixture){.n_held = 0};
    memcpy(f->folder, folder, sizeof(folder));
    assert_non_null(mkdtemp(f->folder));
    r = hub_new(&f->hub, limits);
    if (r != 0) {
        return r;
    }
    r = io_timer_new(&f->turn, hub_loop(f->hub), false, on_turn, f);
    if (r != 0) {
        return r;
    }
    r = diagnostics_new(&f->diagnostics, hub_router(f->hub), hub_loop(f->hub));
    if (r != 0) {
        return r;
    }
    r = add_tool(f, SPAN("{\"name\":\"hold\",\"inputSchema\":{\"type\":\"object\"}}"),
                 &hold_provider);
    if (r != 0) {
        return r;
    }
    return add_tool(f, SPAN("{\"name\":\"big\",\"inputSchema\":{\"type\":\"object\"}}"),
                    &big_provider);
}

/* What config leaves out is filled in; without an address it is a port of loopback. */
static int fixture_open(Fixture *f, HttpDoorConfig config, Diag *diag)
{
    char place[128];
    int r = fixture_prepare(f, config.limits);

    if (r != 0) {
        return r;
    }
    config.hub = f->hub;
    config.identity = &identity;
    config.lists_change = true;
    config.closed = config.closed != NULL ? config.closed : on_closed;
    config.context = f;
    if (config.address == NULL) {
        config.address = "127.0.0.1:0";
    } else if (strcmp(config.address, "unix:") == 0) {
        (void)snprintf(place, sizeof(place), "unix:%s/door.sock", f->folder);
        config.address = place;
    }
    return http_door_new(&f->door, &config, diag);
}

TW_UNUSED static void fixture_init(Fixture *f)
{
    (void)alarm(WATCHDOG_S);
    io_ignore_sigpipe();
    assert_int_equal(fixture_open(f, (HttpDoorConfig){.path = NULL}, NULL), 0);
}

static void fixture_deinit(Fixture *f)
{
    f->door = http_door_free(f->door);
    f->diagnostics = diagnostics_free(f->diagnostics);
    f->turn = io_timer_free(f->turn);
    f->hub = hub_free(f->hub);
    assert_int_equal(rmdir(f->folder), 0);
    (void)alarm(0);
}

/* Lets the loop do what there is to do now, and wait at most a moment for more. */
static void run_turn(Fixture *f)
{
    io_loop_update_now(hub_loop(f->hub));
    io_timer_start_at(f->turn, io_loop_now_ms(hub_loop(f->hub)) + 1);
    assert_int_equal(io_loop_run(hub_loop(f->hub)), 0);
}

TW_UNUSED static void await_closed(Fixture *f)
{
    while (f->n_closed == 0) {
        run_turn(f);
    }
}

TW_UNUSED static void await_held(Fixture *f, size_t n)
{
    while (f->n_held < n) {
        run_turn(f);
    }
}

TW_UNUSED static void await_connections(Fixture *f, size_t n)
{
    while (http_door_figures(f->door).n_connections != n) {
        run_turn(f);
    }
}

/* ---- the client ---- */

static void client_open(Client *c, Fixture *f)
{
    const char *address = http_door_address(f->door);
    const char *port = strrchr(address, ':');
    int is_unix = strncmp(address, "unix:", 5) == 0;
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct sockaddr_in tcp = {.sin_family = AF_INET};
    char host[64];
    int r;

    *c = (Client){.f = f, .cap = 4096};
    c->got = calloc(1, c->cap);
    assert_non_null(c->got);
    c->fd = socket(is_unix ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(c->fd >= 0);
    if (is_unix) {
        (void)snprintf(local.sun_path, sizeof(local.sun_path), "%s", address + 5);
        r = connect(c->fd, (const struct sockaddr *)&local, sizeof(local));
    } else {
        (void)snprintf(host, sizeof(host), "%.*s", (int)(port - address), address);
        assert_int_equal(inet_pton(AF_INET, host, &tcp.sin_addr), 1);
        tcp.sin_port = htons((uint16_t)strtoul(port + 1, NULL, 10));
        r = connect(c->fd, (const struct sockaddr *)&tcp, sizeof(tcp));
    }
    assert_int_equal(r, 0);
    assert_int_equal(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
}

/* As a program that ends does. */
static void client_close(Client *c)
{
    if (c->fd >= 0) {
        assert_int_equal(close(c->fd), 0);
    }
    c->fd = -1;
    free(c->got);
    c->got = NULL;
}

static void client_sends(Client *c, const char *text)
{
    size_t n = strlen(text);

    while (n > 0) {
        ssize_t sent = send(c->fd, text, n, MSG_NOSIGNAL);

        if (sent > 0) {
            text += sent;
            n -= (size_t)sent;
        } else {
            assert_int_equal(errno, EAGAIN);
            run_turn(c->f);
        }
    }
}

/* Takes what is there. */
static void client_reads(Client *c)
{
    ssize_t n = 1;

    while (n > 0 && !c->has_ended) {
        if (c->cap - c->n < 2048) {
            char *more = realloc(c->got, 2 * c->cap);

            assert_non_null(more);
            c->got = more;
            c->cap *= 2;
        }
        n = recv(c->fd, c->got + c->n, c->cap - c->n - 1, 0);
        if (n > 0) {
            c->n += (size_t)n;
        } else if (n == 0 || errno != EAGAIN) {
            c->has_ended = true;
        }
    }
    c->got[c->n] = '\0';
}

/* Runs until that has come, behind what was awaited before. Returns where it begins. */
static const char *client_awaits(Client *c, const char *text)
{
    for (;;) {
        const char *at;

        client_reads(c);
        at = strstr(c->got + c->n_seen, text);
        if (at != NULL) {
            c->n_seen = (size_t)(at - c->got) + strlen(text);
            return at;
        }
        if (c->has_ended) {
            fail_msg("no \"%s\" in: %s", text, c->got);
        }
        run_turn(c->f);
    }
}

TW_UNUSED static void client_awaits_end(Client *c)
{
    for (client_reads(c); !c->has_ended; client_reads(c)) {
        run_turn(c->f);
    }
}

/* fields: lines, each with its CRLF. */
static void client_asks(Client *c, const char *method, const char *path, const char *fields,
                        const char *body)
{
    size_t size = strlen(path) + strlen(fields) + strlen(body) + 256;
    char *text = malloc(size);

    assert_non_null(text);
    (void)snprintf(text, size, "%s %s HTTP/1.1\r\n%s%sContent-Length: %zu\r\n\r\n%s", method, path,
                   strstr(fields, "Host:") == NULL ? "Host: localhost\r\n" : "", fields,
                   strlen(body), body);
    client_sends(c, text);
    free(text);
}

#define JSON_BODY         "Content-Type: application/json\r\n"
#define ACCEPT            JSON_BODY "Accept: application/json, text/event-stream\r\n"
#define MODERN(method)    ACCEPT "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: " method "\r\n"
#define MODERN_TOOL(name) MODERN("tools/call") "Mcp-Name: " name "\r\n"

#define META                                                                                       \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define CALL(id, tool, arguments)                                                                  \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool    \
    "\",\"arguments\":" arguments "," META "}}"
#define OLD_CALL(id, tool, arguments)                                                              \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool    \
    "\",\"arguments\":" arguments "}}"
#define LISTEN                                                                                     \
    "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"subscriptions/listen\",\"params\":{"               \
    "\"notifications\":{\"toolsListChanged\":true}," META "}}"
#define INITIALIZE(revision)                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"     \
    "\"" revision "\",\"capabilities\":{},\"clientInfo\":{\"name\":\"c\",\"version\":\"1\"}}}"
#define INITIALIZED "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"

/* A modern call of a tool, up to its answer. */
TW_UNUSED static void client_calls_echo(Client *c)
{
    client_asks(c, "POST", "/mcp", MODERN_TOOL("echo"), CALL("1", "echo", "{\"message\":\"m\"}"));
    client_awaits(c, "HTTP/1.1 200 ");
    client_awaits(c, "\"text\":\"m\"");
}

/* Opens a session; the fields that its requests need, with more before them. */
TW_UNUSED static void client_opens_session(Client *c, const char *more, char ret[1024])
{
    static const char name[] = "mcp-session-id: ";
    char fields[1024];
    const char *id;

    (void)snprintf(fields, sizeof(fields), "%s" ACCEPT, more);
    client_asks(c, "POST", "/mcp", fields, INITIALIZE("2025-11-25"));
    id = client_awaits(c, "HTTP/1.1 200 ");
    client_awaits(c, "\"protocolVersion\":\"2025-11-25\"");
    while (strncasecmp(id, name, strlen(name)) != 0) {
        id++;
        assert_true(*id != '\0');
    }
    id += strlen(name);
    (void)snprintf(ret, 1024, "%s" ACCEPT "Mcp-Session-Id: %.*s\r\n", more, (int)strcspn(id, "\r"),
                   id);
    client_asks(c, "POST", "/mcp", ret, INITIALIZED);
    client_awaits(c, "HTTP/1.1 202 ");
}
