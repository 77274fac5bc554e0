/* dialect/mcp/http_guard.h: what an HTTP request must say before MCP looks at it. Performs no I/O.
 *
 * A browser lets the page of any site send requests to this machine. By DNS rebinding the site's
 * own name leads here, which shows in Host; otherwise the page's origin is in Origin. Programs that
 * are no browser send a Host that leads here, and no Origin. Each of the two is checked on its own:
 * neither makes up for the other. That the body is application/json is part of it: without asking
 * first, a page may only send forms and plain text.
 *
 * Thread: any.
 */
#pragma once

#include "base/diag.h"
#include "base/span.h"
#include "frame/http1.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    MCP_HTTP_E_HOST = 1, /* it was meant for another host, or does not say for which */
    MCP_HTTP_E_ORIGIN,   /* it comes from a page of another site */
};

/* What is accepted besides localhost, 127.0.0.1 and [::1]; all borrowed. */
typedef struct McpHttpGuard {
    /* "host", with any port, or "host:port"; IPv6 in brackets. */
    const Span *hosts;
    size_t n_hosts;
    /* "https://example.org"; compared without case, and :80 and :443 may be left out, or a '/' be
     * at the end. Other schemes than these two compare as they are. */
    const Span *origins;
    size_t n_origins;
    /* "192.0.2.7", "[2001:db8::7]": one more, with any port: the address that this very request
     * came to. No site's name can be made to look like it. May be empty. */
    Span local;
    /* Host may be anything, or nothing: we listen where no browser reaches, on a Unix socket. */
    bool any_host;
} McpHttpGuard;

/* Can a request ever have that Host, or that Origin? What cannot be is a mistake in the settings;
 * the Diag says which. 0, MCP_HTTP_E_HOST; 0, MCP_HTTP_E_ORIGIN. */
int mcp_http_guard_check_host(Span host, Diag *reterr_diag);
int mcp_http_guard_check_origin(Span setting, Diag *reterr_diag);

/* 0, MCP_HTTP_E_HOST, MCP_HTTP_E_ORIGIN; of both the first. */
int mcp_http_guard(const McpHttpGuard *guard, const Http1Head *head);

/* Whether Accept admits that media type ("text/event-stream"): the range that fits best decides,
 * and q=0 refuses. True if there is no Accept, or nothing in it. */
bool mcp_http_accepts(const Http1Head *head, Span type);

/* What the client takes as the answer to a POST. */
typedef struct McpHttpTakes {
    bool json;
    bool events;
} McpHttpTakes;

/* mcp_http_accepts for both types. */
McpHttpTakes mcp_http_takes(const Http1Head *head);

/* Whether the body is declared as application/json, and not in another charset than UTF-8. */
bool mcp_http_is_json(const Http1Head *head);
