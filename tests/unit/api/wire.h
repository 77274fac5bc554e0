/* tests/unit/api/wire.h: a server of the library on one end of a socket pair, the test on the
 * other. Reads give up after a time that only a broken server needs. What the server sends is held
 * against the schemas (support/mcp_watch.h). */
#pragma once

#include "support/cmocka.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <toolwire/toolwire.h>
#include <unistd.h>

#include "api/tw_client.h"
#include "support/mcp_watch.h"

#define WIRE_PATIENCE_MS 20000

/* For handlers and threads of the test, where cmocka's assertions cannot be used. */
#define WIRE_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                  \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#define WIRE_MODERN_META                                                                           \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                       \
    "\"io.modelcontextprotocol/clientCapabilities\":{\"elicitation\":{\"form\":{},\"url\":{}},"    \
    "\"sampling\":{},\"roots\":{}},\"io.modelcontextprotocol/logLevel\":\"debug\"}"

typedef struct Wire {
    TwServer *server;
    int fd;
    int server_fd;
    pthread_t thread;
    int r; /* of serve */
    char *data;
    size_t n;
    size_t cap;
    McpWatch watch;
} Wire;

TW_UNUSED static void *wire_serve(void *context)
{
    Wire *wire = context;

    wire->r = tw_server_serve_fds(wire->server, wire->server_fd, wire->server_fd);
    return NULL;
}

TW_UNUSED static void wire_open(Wire *wire, TwServer *server)
{
    int fds[2];

    assert_non_null(server);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    *wire = (Wire){.server = server, .fd = fds[0], .server_fd = fds[1]};
    mcp_watch_init(&wire->watch, MCP_WATCH_SERVER);
    assert_int_equal(pthread_create(&wire->thread, NULL, wire_serve, wire), 0);
}

TW_UNUSED static void wire_send(Wire *wire, const char *line)
{
    size_t n = strlen(line);
    char *copy = malloc(n + 1);

    assert_non_null(copy);
    memcpy(copy, line, n);
    copy[n] = '\n';
    mcp_watch_client_sends(&wire->watch, copy, n + 1);
    assert_int_equal(send(wire->fd, copy, n + 1, MSG_NOSIGNAL), (ssize_t)n + 1);
    free(copy);
}

/* One more piece from the server; false at the end. */
TW_UNUSED static bool wire_fill(Wire *wire)
{
    struct pollfd poll_fd = {.fd = wire->fd, .events = POLLIN};
    ssize_t n;

    if (poll(&poll_fd, 1, WIRE_PATIENCE_MS) <= 0) {
        fail_msg("the server is silent");
    }
    if (wire->cap - wire->n < 65536) {
        wire->cap = wire->cap * 2 + 65536;
        wire->data = realloc(wire->data, wire->cap);
        assert_non_null(wire->data);
    }
    n = recv(wire->fd, wire->data + wire->n, wire->cap - wire->n, 0);
    if (n <= 0) {
        return false;
    }
    mcp_watch_server_sends(&wire->watch, wire->data + wire->n, (size_t)n);
    wire->n += (size_t)n;
    return true;
}

/* The next message; NULL at the end. tw_result_free it. */
TW_UNUSED static TwResult *wire_next(Wire *wire)
{
    TwResult *message;
    char *newline;
    size_t n;

    while (wire->n == 0 || (newline = memchr(wire->data, '\n', wire->n)) == NULL) {
        if (!wire_fill(wire)) {
            return NULL;
        }
    }
    n = (size_t)(newline - wire->data);
    message = api_result_from(span_make(wire->data, n));
    assert_non_null(message);
    memmove(wire->data, newline + 1, wire->n - n - 1);
    wire->n -= n + 1;
    return message;
}

/* Sends a line and gives what comes next. */
TW_UNUSED static TwResult *wire_ask(Wire *wire, const char *line)
{
    TwResult *message;

    wire_send(wire, line);
    message = wire_next(wire);
    assert_non_null(message);
    return message;
}

/* Opens a session of 2025-11-25 that can be asked anything. */
TW_UNUSED static void wire_initialize(Wire *wire)
{
    TwResult *answer = wire_ask(
        wire, "{\"jsonrpc\":\"2.0\",\"id\":\"init\",\"method\":\"initialize\",\"params\":{"
              "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"elicitation\":{\"form\":{},"
              "\"url\":{}},\"sampling\":{},\"roots\":{}},"
              "\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}");

    assert_string_equal(tw_result_string(answer, "/result/protocolVersion", ""), "2025-11-25");
    tw_result_free(answer);
    wire_send(wire, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
}

/* Calls a tool in the legacy session; arguments and extra are JSON, extra begins with a comma. */
TW_UNUSED static void wire_call(Wire *wire, int id, const char *tool, const char *arguments,
                                const char *extra)
{
    char line[4096];

    (void)snprintf(line, sizeof(line),
                   "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"tools/call\",\"params\":{"
                   "\"name\":\"%s\",\"arguments\":%s%s}}",
                   id, tool, arguments, extra);
    wire_send(wire, line);
}

/* The text of a tool's answer; "" if it has none. Borrowed from the message. */
TW_UNUSED static const char *wire_text(TwResult *message)
{
    return tw_result_string(message, "/result/content/0/text", "");
}

/* The client goes; waits for the end of serve and gives its result. */
TW_UNUSED static int wire_close(Wire *wire)
{
    TwResult *rest;

    (void)shutdown(wire->fd, SHUT_WR);
    while ((rest = wire_next(wire)) != NULL) {
        tw_result_free(rest);
    }
    assert_int_equal(pthread_join(wire->thread, NULL), 0);
    (void)close(wire->fd);
    free(wire->data);
    mcp_watch_deinit(&wire->watch);
    return wire->r;
}
