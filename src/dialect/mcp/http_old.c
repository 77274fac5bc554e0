/* HTTP+SSE, as clients of 2024-11-05 speak it: a GET stream that says where to POST, and on which
 * every answer comes. The session is that stream; it ends with it. */
#include "dialect/mcp/http_internal.h"

#include <string.h>

#include "dialect/mcp/http_guard.h"
#include "dialect/mcp/render.h"

static void refuse_method(McpHttp *http, void *x, Span allowed)
{
    Http1Field allow = {SPAN("Allow"), allowed};

    (void)mcp_http_refuse(mcp_http_wire(http), x, 405, &allow, 1, MCP_ERROR_INVALID_REQUEST,
                          SPAN("method not allowed"));
}

/* The first event: where to POST. False: nobody listens. */
static bool tell_endpoint(McpHttpStream *stream)
{
    McpHttp *http = stream->seat->http;
    Bytes where;
    bool is_sent = false;

    bytes_init(&where, SIZE_MAX / 2);
    if (bytes_append_span(&where, http->config.old_post_path) == 0 &&
        bytes_append_span(&where, SPAN("?session=")) == 0 &&
        bytes_append_span(&where, mcp_http_session_id(stream->seat->session)) == 0) {
        is_sent = mcp_http_stream_put(stream, SPAN("endpoint"), SPAN_NULL, bytes_span(&where));
    }
    bytes_deinit(&where);
    return is_sent;
}

static void open_stream(McpHttp *http, const Http1Head *head, void *x, void *asker)
{
    McpHttpSeat *seat = mcp_http_seat_take(http, true);
    McpHttpStream *stream;

    if (seat == NULL) {
        mcp_http_refuse_x(http, x, 503, MCP_ERROR_INTERNAL, SPAN("the server has no memory left"));
        return;
    }
    if (mcp_http_session_open(seat, asker, true) != 0) {
        mcp_http_session_refuse(seat, x);
        mcp_http_seat_rest(seat);
        return;
    }
    stream = mcp_http_stream_new(seat, MCP_HTTP_OLD, x, mcp_http_takes(head));
    if (stream == NULL) {
        mcp_http_refuse_x(http, x, 503, MCP_ERROR_INTERNAL, SPAN("the server has no memory left"));
        mcp_http_session_end(seat->session, SPAN_NULL);
        return;
    }
    seat->session->get = stream;
    mcp_http_stream_set_end(stream);
    if (!mcp_http_stream_begin(stream, 0) || !tell_endpoint(stream)) {
        mcp_http_session_end(seat->session, SPAN_NULL);
    }
}

/* The value of `session` in the query; empty if there is none. */
static Span session_of(Span query)
{
    Span name = SPAN("session=");

    while (query.n > 0) {
        const char *end = memchr(query.p, '&', query.n);
        size_t n = end == NULL ? query.n : (size_t)(end - query.p);

        if (span_starts_with(span_make(query.p, n), name)) {
            return span_make(query.p + name.n, n - name.n);
        }
        n += end == NULL ? 0 : 1;
        query = span_make(query.p + n, query.n - n);
    }
    return SPAN_NULL;
}

static void take_post(McpHttp *http, const Http1Head *head, Span body, void *x, void *asker)
{
    McpHttpSession *session = mcp_http_session_find(http, session_of(head->query), asker, true);

    if (session == NULL || session->get == NULL) {
        mcp_http_refuse_x(http, x, 404, MCP_ERROR_INVALID_REQUEST,
                          SPAN("there is no such session"));
        return;
    }
    if (!mcp_http_is_json(head)) {
        mcp_http_refuse_x(http, x, 415, MCP_ERROR_INVALID_REQUEST,
                          SPAN("Content-Type must be application/json"));
        return;
    }
    mcp_http_session_use(session);
    /* Clients of that time have no headers, and need none. What names a modern version is held to
     * that one's rules here as well: others may have let it pass by its headers. */
    mcp_http_seat_receive(session->seat, session->get, head, body);
    mcp_http_answer_empty(http, x, 202);
}

void mcp_http_old_request(McpHttp *http, McpHttpPath path, const Http1Head *head, Span body,
                          void *x, void *asker)
{
    if (path == MCP_HTTP_PATH_OLD_POST) {
        if (head->method != HTTP1_METHOD_POST) {
            refuse_method(http, x, SPAN("POST"));
        } else {
            take_post(http, head, body, x, asker);
        }
    } else if (head->method != HTTP1_METHOD_GET) {
        refuse_method(http, x, SPAN("GET"));
    } else if (!mcp_http_accepts(head, SPAN("text/event-stream"))) {
        mcp_http_refuse_x(http, x, 406, MCP_ERROR_INVALID_REQUEST,
                          SPAN("Accept must admit text/event-stream"));
    } else {
        open_stream(http, head, x, asker);
    }
}
