/* Where a path leads: one table. */
#include "dialect/command/request.h"

#include "base/compiler.h"

typedef struct RouteRow {
    Span path;
    bool is_prefix; /* something stands behind it */
    Span suffix;    /* and this behind that; may be empty */
    Http1Method method;
    CommandVerb verb;
    Span allow;
} RouteRow;

#define ALLOW_GET  SPAN_INIT("GET, OPTIONS")
#define ALLOW_POST SPAN_INIT("POST, OPTIONS")
#define ALLOW_JOB  SPAN_INIT("GET, DELETE, OPTIONS")
#define ALLOW_BEAT SPAN_INIT("GET, POST, OPTIONS")

#define GET(name, verb)                                                                            \
    {                                                                                              \
        SPAN_INIT(name), false, {NULL, 0}, HTTP1_METHOD_GET, verb, ALLOW_GET                       \
    }
#define POST(name, verb)                                                                           \
    {                                                                                              \
        SPAN_INIT(name), false, {NULL, 0}, HTTP1_METHOD_POST, verb, ALLOW_POST                     \
    }

static const RouteRow rows[] = {
    POST("/enqueue", COMMAND_ENQUEUE),
    POST("/rpc", COMMAND_RPC),
    {SPAN_INIT("/rpc/"), true, {NULL, 0}, HTTP1_METHOD_POST, COMMAND_RPC, ALLOW_POST},
    {SPAN_INIT("/job/"), true, SPAN_INIT("/cancel"), HTTP1_METHOD_POST, COMMAND_CANCEL, ALLOW_POST},
    {SPAN_INIT("/job/"), true, SPAN_INIT("/retry"), HTTP1_METHOD_POST, COMMAND_RETRY, ALLOW_POST},
    {SPAN_INIT("/job/"), true, {NULL, 0}, HTTP1_METHOD_GET, COMMAND_JOB, ALLOW_JOB},
    {SPAN_INIT("/job/"), true, {NULL, 0}, HTTP1_METHOD_DELETE, COMMAND_CANCEL, ALLOW_JOB},
    GET("/get_result", COMMAND_RESULT),
    {SPAN_INIT("/jobs"), false, {NULL, 0}, HTTP1_METHOD_GET, COMMAND_JOBS, ALLOW_JOB},
    {SPAN_INIT("/jobs"), false, {NULL, 0}, HTTP1_METHOD_DELETE, COMMAND_PURGE, ALLOW_JOB},
    GET("/pending_request", COMMAND_PENDING),
    POST("/post_result", COMMAND_POST_RESULT),
    {SPAN_INIT("/heartbeat"), false, {NULL, 0}, HTTP1_METHOD_POST, COMMAND_HEARTBEAT, ALLOW_BEAT},
    {SPAN_INIT("/heartbeat"), false, {NULL, 0}, HTTP1_METHOD_GET, COMMAND_HEARTBEAT, ALLOW_BEAT},
    GET("/health", COMMAND_HEALTH),
    GET("/docs/openrpc.json", COMMAND_OPENRPC),
    GET("/debug/capabilities", COMMAND_CAPABILITIES),
};

static bool row_matches(const RouteRow *row, Span path, Span *ret_rest)
{
    size_t n = row->path.n + row->suffix.n;

    *ret_rest = SPAN_NULL;
    if (!row->is_prefix) {
        return span_equals(path, row->path);
    }
    if (path.n <= n || !span_starts_with(path, row->path) ||
        !span_equals(span_make(path.p + path.n - row->suffix.n, row->suffix.n), row->suffix)) {
        return false;
    }
    *ret_rest = span_make(path.p + row->path.n, path.n - n);
    return true;
}

CommandRoute command_route(Http1Method method, Span path)
{
    CommandRoute route = {.verb = COMMAND_NONE};

    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        Span rest;

        if (!row_matches(&rows[i], path, &rest)) {
            continue;
        }
        /* The first row decides what the path is; later ones of the same path only add methods. */
        if (route.allow.n > 0 && !span_equals(route.allow, rows[i].allow)) {
            break;
        }
        route.allow = rows[i].allow;
        if (rows[i].method == method) {
            route.verb = rows[i].verb;
            route.rest = rest;
            break;
        }
    }
    return route;
}

bool command_is_stub(Span path)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(rows); i++) {
        if (rows[i].is_prefix && span_equals(path, rows[i].path)) {
            return true;
        }
    }
    return false;
}

bool command_needs_json(CommandVerb verb)
{
    return verb == COMMAND_ENQUEUE || verb == COMMAND_RPC || verb == COMMAND_POST_RESULT;
}

bool command_has_effect(CommandVerb verb)
{
    return command_needs_json(verb) || verb == COMMAND_CANCEL || verb == COMMAND_RETRY ||
           verb == COMMAND_PENDING || verb == COMMAND_HEARTBEAT || verb == COMMAND_PURGE;
}
