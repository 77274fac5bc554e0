/* What a request must pass before MCP sees it. All of it looks at the head only, and answers what
 * it turns away at once: of such a request no body is gathered. */
#include "app/http_door_internal.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "dialect/mcp/render.h"

#include <stdio.h>

typedef enum RouteKind {
    ROUTE_NOWHERE,
    ROUTE_MCP,
    ROUTE_PAGE,
    ROUTE_METADATA,
    ROUTE_SIDE,
} RouteKind;

/* Where a path leads. */
typedef struct Route {
    RouteKind kind;
    McpHttpPath path; /* ROUTE_MCP */
    const HttpPage *page;
    Span allow;   /* methods, as Allow says it */
    bool is_open; /* also to those without credentials */
} Route;

static Route guard_route(const HttpDoor *door, const Http1Head *head)
{
    Route route = {.kind = ROUTE_MCP, .path = MCP_HTTP_PATH_MAIN};
    bool is_any = head->method == HTTP1_METHOD_OPTIONS && span_equals(head->path, SPAN("*"));

    if (is_any || span_equals(head->path, span_from_str(door->config.path))) {
        route.allow = SPAN("POST, GET, DELETE, OPTIONS");
    } else if (span_equals(head->path, SPAN(HTTP_DOOR_OLD_STREAM_PATH))) {
        route.path = MCP_HTTP_PATH_OLD_STREAM;
        route.allow = SPAN("GET, OPTIONS");
    } else if (span_equals(head->path, SPAN(HTTP_DOOR_OLD_POST_PATH))) {
        route.path = MCP_HTTP_PATH_OLD_POST;
        route.allow = SPAN("POST, OPTIONS");
    } else if ((route.page = http_door_find_page(door, head->path)) != NULL) {
        route.kind = ROUTE_PAGE;
        route.allow = SPAN("GET, HEAD, OPTIONS");
        route.is_open = route.page->is_open;
    } else if (http_door_is_metadata(door, head->path)) {
        route.kind = ROUTE_METADATA;
        route.allow = SPAN("GET, HEAD, OPTIONS");
        route.is_open = true;
    } else if (door->config.side != NULL &&
               door->config.side->leads(door->config.side->context, head->path, &route.allow)) {
        route.kind = ROUTE_SIDE;
    } else {
        route.kind = ROUTE_NOWHERE;
    }
    return route;
}

static bool guard_allows(const Route *route, Http1Method method)
{
    if (route->kind == ROUTE_SIDE) {
        return true; /* its own business */
    }
    if (route->kind != ROUTE_MCP) {
        return method == HTTP1_METHOD_GET || method == HTTP1_METHOD_HEAD;
    }
    switch (route->path) {
    case MCP_HTTP_PATH_MAIN:
        return method == HTTP1_METHOD_POST || method == HTTP1_METHOD_GET ||
               method == HTTP1_METHOD_DELETE;
    case MCP_HTTP_PATH_OLD_STREAM:
        return method == HTTP1_METHOD_GET;
    case MCP_HTTP_PATH_OLD_POST:
        return method == HTTP1_METHOD_POST;
    }
    return false;
}

static void guard_refuse(const HttpLink *link, IoHttpExchange *x, const Route *route,
                         unsigned status, Span name, Span value, Span message)
{
    const HttpSide *side = link->door->config.side;
    Http1Field field = {name, value};

    logsink_write(link->door->config.log, LOGSINK_LEVEL_DEBUG, "http", "%s: %u, %.*s",
                  link->address, status, (int)message.n, message.p);
    if (route->kind == ROUTE_SIDE) {
        side->refuse(side->context, x, status, name.n > 0 ? &field : NULL, message);
        return;
    }
    /* If it cannot be written, the connection ends, and there is nobody to tell. */
    (void)mcp_http_refuse(&http_door_wire, x, status, &field, name.n > 0, MCP_ERROR_INVALID_REQUEST,
                          message);
}

/* Host and Origin. */
static bool guard_passes(HttpDoor *door, HttpLink *link, IoHttpExchange *x, const Route *route)
{
    const Http1Head *head = io_http_head(x);
    McpHttpGuard guard = door->guard;
    int r;

    guard.local = door->knows_itself ? span_from_str(link->local) : SPAN_NULL;
    r = mcp_http_guard(&guard, head);
    if (r == 0) {
        link->names_origin = http1_head_find(head, SPAN("origin"), NULL) > 0;
        return true;
    }
    guard_refuse(link, x, route, 403, SPAN_NULL, SPAN_NULL,
                 r == MCP_HTTP_E_HOST ? SPAN("Forbidden: the Host is none of this server's; "
                                             "allowed_hosts names those that are")
                                      : SPAN("Forbidden: the Origin may not use this server"));
    return false;
}

/* The same time by the loop's clock, which goes on where the wall's is set. */
static int64_t guard_end(const HttpDoor *door, int64_t end_s)
{
    int64_t left_s;
    int64_t left_ms;
    int64_t end_ms;

    if (end_s == INT64_MAX || __builtin_sub_overflow(end_s, clock_now_ms() / 1000, &left_s) ||
        __builtin_mul_overflow(left_s, 1000, &left_ms) ||
        __builtin_add_overflow(io_loop_now_ms(door->loop), left_ms, &end_ms)) {
        return INT64_MAX;
    }
    return end_ms;
}

/* Finds out who asks. */
static bool guard_knows(HttpDoor *door, HttpLink *link, IoHttpExchange *x, const Route *route)
{
    HttpGrant grant = {.end_s = INT64_MAX};
    HttpDenial denial;
    HttpAsker *asker = NULL;
    int r = 0;

    if (door->needs_auth) {
        r = http_auth_check(door->config.auth, io_http_head(x), clock_now_ms() / 1000, &grant,
                            &denial);
    }
    if (r == HTTP_AUTH_E_DENIED) {
        guard_refuse(link, x, route, denial.status,
                     denial.challenge[0] == '\0' ? SPAN_NULL : SPAN("WWW-Authenticate"),
                     span_from_str(denial.challenge), span_from_str(denial.message));
        return false;
    }
    if (r == 0 && (link->asker == NULL || link->asker->grant.id != grant.id)) {
        r = http_askers_get(&door->askers, &grant, io_loop_now_ms(door->loop), &asker);
        if (r == 0) {
            (void)http_askers_unref(&door->askers, link->asker);
            link->asker = asker;
        }
    }
    if (r != 0) {
        guard_refuse(link, x, route, 500, SPAN_NULL, SPAN_NULL, SPAN("Internal error"));
    }
    link->end_ms = guard_end(door, grant.end_s);
    return r == 0;
}

/* What the head says of a body that is to be gathered; it is not waited for. */
static bool guard_takes_body(HttpDoor *door, HttpLink *link, IoHttpExchange *x, const Route *route)
{
    const Http1Head *head = io_http_head(x);
    uint64_t max_bytes =
        route->kind == ROUTE_SIDE ? LIMIT_COMMAND_BYTES : door->config.max_request_bytes;
    Span coding = SPAN_NULL;
    size_t n_codings = http1_head_find(head, SPAN("Content-Encoding"), &coding);

    if (n_codings > 1 || (n_codings == 1 && !text_equals_nocase(coding, SPAN("identity")))) {
        guard_refuse(link, x, route, 415, SPAN("Accept-Encoding"), SPAN("identity"),
                     SPAN("Content-Encoding: a body is taken as it is (identity), not compressed"));
        return false;
    }
    if (head->length == HTTP1_LENGTH_GIVEN && head->content_length > max_bytes) {
        guard_refuse(link, x, route, 413, SPAN_NULL, SPAN_NULL, SPAN("The request is too long"));
        return false;
    }
    return true;
}

/* What the path and the method say. */
static bool guard_leads_to_mcp(HttpDoor *door, HttpLink *link, IoHttpExchange *x,
                               const Route *route)
{
    const Http1Head *head = io_http_head(x);

    if (route->kind == ROUTE_NOWHERE) {
        http_door_write_text(x, 404, NULL, SPAN("There is nothing here.\n"));
        return false;
    }
    if (!guard_allows(route, head->method)) {
        guard_refuse(link, x, route, 405, SPAN("Allow"), route->allow, SPAN("Method not allowed"));
        return false;
    }
    if (route->kind == ROUTE_PAGE) {
        http_door_write_page(door, route->page, x);
        return false;
    }
    if (route->kind == ROUTE_METADATA) {
        http_door_write_metadata(door, x);
        return false;
    }
    if (!guard_takes_body(door, link, x, route)) {
        return false;
    }
    link->is_side = route->kind == ROUTE_SIDE;
    if (link->is_side) {
        io_http_limit_body(x, LIMIT_COMMAND_BYTES);
    }
    link->path = route->path;
    return true;
}

bool http_door_admit(HttpDoor *door, HttpLink *link, IoHttpExchange *x)
{
    const Http1Head *head = io_http_head(x);
    Route route = guard_route(door, head);

    if (!guard_passes(door, link, x, &route)) {
        return false;
    }
    /* A browser asks so before it sends what a script wants to send, and without credentials. */
    if (head->method == HTTP1_METHOD_OPTIONS && route.kind != ROUTE_NOWHERE) {
        http_door_write_options(x, route.allow);
        return false;
    }
    if (!route.is_open && !guard_knows(door, link, x, &route)) {
        return false;
    }
    return guard_leads_to_mcp(door, link, x, &route);
}

/* The names of a NULL-terminated list and, behind them, more; an empty one is left out. */
static int guard_spans(const char *const *names, const Span *more, size_t n_more, Span **ret,
                       size_t *ret_n)
{
    size_t n = 0;
    Span *spans;

    while (names != NULL && names[n] != NULL) {
        n++;
    }
    spans = mem_alloc_array(n + n_more, sizeof(*spans));
    if (spans == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n; i++) {
        spans[i] = span_from_str(names[i]);
    }
    for (size_t i = 0; i < n_more; i++) {
        if (more[i].n > 0) {
            spans[n++] = more[i];
        }
    }
    *ret = spans;
    *ret_n = n;
    return 0;
}

int http_door_guard_init(HttpDoor *door, bool is_loopback)
{
    const HttpDoorConfig *config = &door->config;
    Span own[2] = {span_from_str(door->address), SPAN_NULL};
    int r;

    (void)snprintf(door->own_origin, sizeof(door->own_origin), "http://%s", door->address);
    /* No browser reaches a Unix socket. */
    door->guard.any_host = span_starts_with(own[0], SPAN("unix:"));
    /* Listening wider and not told by what names, it goes by those that it knows itself. */
    door->knows_itself = !is_loopback && (config->hosts == NULL || config->hosts[0] == NULL);
    if (door->knows_itself && io_http_machine_name(door->own_name, sizeof(door->own_name)) == 0) {
        own[1] = span_from_str(door->own_name);
    }
    r = guard_spans(config->hosts, own, TW_ARRAY_SIZE(own), &door->hosts, &door->guard.n_hosts);
    if (r != 0) {
        return err_pass(r);
    }
    door->guard.hosts = door->hosts;
    own[0] = span_from_str(door->own_origin);
    r = guard_spans(config->origins, own, 1, &door->origins, &door->guard.n_origins);
    if (r != 0) {
        return err_pass(r);
    }
    door->guard.origins = door->origins;
    return 0;
}

void http_door_guard_deinit(HttpDoor *door)
{
    door->hosts = mem_free(door->hosts);
    door->origins = mem_free(door->origins);
}
