#include "dialect/mcp/http.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "dialect/mcp/http_guard.h"
#include "dialect/mcp/http_internal.h"
#include "dialect/mcp/render.h"

/* Fields that a refusal may have besides its own. */
#define REFUSAL_FIELDS 7

/* A refusal says one sentence. */
#define REFUSAL_BYTES ((size_t)4096)

int64_t mcp_http_later(int64_t at_ms, int64_t after_ms)
{
    int64_t end;

    return __builtin_add_overflow(at_ms, after_ms, &end) ? INT64_MAX : end;
}

static void set_defaults(McpHttpConfig *config)
{
    if (config->max_sessions == 0) {
        config->max_sessions = LIMIT_MCP_HTTP_SESSIONS;
    }
    if (config->max_sessions_each == 0) {
        config->max_sessions_each = LIMIT_MCP_HTTP_SESSIONS_EACH;
    }
    if (config->session_idle_ms <= 0) {
        config->session_idle_ms = LIMIT_MCP_HTTP_SESSION_IDLE_MS;
    }
    if (config->session_fresh_ms <= 0) {
        config->session_fresh_ms = LIMIT_MCP_HTTP_SESSION_FRESH_MS;
    }
    if (config->max_stored_bytes == 0) {
        config->max_stored_bytes = LIMIT_MCP_HTTP_STORED_BYTES;
    }
    if (config->keep_alive_ms <= 0) {
        config->keep_alive_ms = LIMIT_MCP_HTTP_KEEP_ALIVE_MS;
    }
    if (config->retry_ms <= 0) {
        config->retry_ms = LIMIT_MCP_HTTP_RETRY_MS;
    }
    if (config->server.max_response_bytes == 0) {
        config->server.max_response_bytes = LIMIT_MCP_RESPONSE_BYTES;
    }
}

int mcp_http_new(McpHttp **ret, const McpHttpConfig *config)
{
    McpHttp *http = mem_alloc_array(1, sizeof(*http));

    if (http == NULL) {
        return err_raise(-ENOMEM);
    }
    http->config = *config;
    set_defaults(&http->config);
    mcp_link_init(&http->seats);
    mcp_link_init(&http->free);
    mcp_link_init(&http->doomed);
    mcp_link_init(&http->asking);
    mcp_link_init(&http->beats);
    mcp_link_init(&http->uses);
    mcp_link_init(&http->fresh);
    mcp_link_init(&http->spares);
    map_init(&http->sessions, config->seed, http->config.max_sessions);
    map_init(&http->shares, config->seed, http->config.max_sessions);
    bytes_init(&http->text, http->config.server.max_response_bytes);
    *ret = http;
    return 0;
}

McpHttp *mcp_http_free(McpHttp *http)
{
    if (http == NULL) {
        return NULL;
    }
    while (!mcp_link_is_alone(&http->seats)) {
        McpHttpSeat *seat = MCP_LINK_OWNER(http->seats.next, McpHttpSeat, link);

        if (seat->session != NULL) {
            mcp_http_session_end(seat->session, SPAN_NULL);
        } else {
            mcp_http_seat_close(seat, 503, SPAN_NULL);
            (void)mcp_http_seat_free(seat);
        }
    }
    while (!mcp_link_is_alone(&http->spares)) {
        McpHttpStream *stream = MCP_LINK_OWNER(http->spares.next, McpHttpStream, link);

        mcp_link_remove(&stream->link);
        (void)mem_free(stream);
    }
    map_deinit(&http->sessions);
    map_deinit(&http->shares);
    bytes_deinit(&http->text);
    return mem_free(http);
}

/* Answers without a session. */

int mcp_http_refuse(const McpHttpWire *wire, void *x, unsigned status, const Http1Field *fields,
                    size_t n_fields, int code, Span message)
{
    Http1Field all[REFUSAL_FIELDS + 1] = {{SPAN("Content-Type"), SPAN("application/json")}};
    Bytes body;
    int r;

    if (n_fields > REFUSAL_FIELDS) {
        return err_raise(-EINVAL);
    }
    for (size_t i = 0; i < n_fields; i++) {
        all[i + 1] = fields[i];
    }
    bytes_init(&body, REFUSAL_BYTES);
    if (mcp_render_error(&body, SPAN_NULL, code, message, SPAN_NULL) != 0) {
        /* The status says the essential. */
        r = wire->respond(x, status, all, n_fields + 1, SPAN_NULL);
    } else {
        r = wire->respond_taken(x, status, all, n_fields + 1, &body);
    }
    bytes_deinit(&body);
    return err_pass(r);
}

void mcp_http_refuse_x(McpHttp *http, void *x, unsigned status, int code, Span message)
{
    (void)mcp_http_refuse(mcp_http_wire(http), x, status, NULL, 0, code, message);
}

void mcp_http_answer_empty(McpHttp *http, void *x, unsigned status)
{
    (void)mcp_http_wire(http)->respond(x, status, NULL, 0, SPAN_NULL);
}

static void refuse_method(McpHttp *http, void *x, Span allowed)
{
    Http1Field allow = {SPAN("Allow"), allowed};

    (void)mcp_http_refuse(mcp_http_wire(http), x, 405, &allow, 1, MCP_ERROR_INVALID_REQUEST,
                          SPAN("method not allowed"));
}

/* What MCP-Protocol-Version says. */
typedef enum Era {
    ERA_LEGACY, /* or nothing: 2025-03-26 has no such field */
    ERA_MODERN,
    ERA_UNKNOWN,
} Era;

static Era era_of(const Http1Head *head)
{
    McpRevision revision;
    Span version;

    if (http1_head_find(head, SPAN("MCP-Protocol-Version"), &version) == 0) {
        return ERA_LEGACY;
    }
    if (!mcp_revision_parse(version, &revision)) {
        return ERA_UNKNOWN;
    }
    return revision >= MCP_FIRST_MODERN ? ERA_MODERN : ERA_LEGACY;
}

/* The session that the request names. NULL: none, or it was refused. */
static McpHttpSession *take_session(McpHttp *http, const Http1Head *head, void *x,
                                    const void *asker)
{
    McpHttpSession *session;
    Span id;
    size_t n = http1_head_find(head, SPAN("Mcp-Session-Id"), &id);

    if (n != 1) {
        mcp_http_refuse_x(http, x, 400, MCP_ERROR_INVALID_REQUEST,
                          n == 0 ? SPAN("Mcp-Session-Id is missing")
                                 : SPAN("Mcp-Session-Id is repeated"));
        return NULL;
    }
    session = mcp_http_session_find(http, id, asker, false);
    if (session == NULL) {
        mcp_http_refuse_x(http, x, 404, MCP_ERROR_INVALID_REQUEST,
                          SPAN("there is no such session"));
        return NULL;
    }
    mcp_http_session_use(session);
    return session;
}

static void take_post(McpHttp *http, const Http1Head *head, Era era, Span body, void *x,
                      void *asker)
{
    McpHttpTakes takes = mcp_http_takes(head);
    McpHttpSession *session = NULL;
    McpHttpStream *stream;
    McpHttpSeat *seat;

    if (!mcp_http_is_json(head)) {
        mcp_http_refuse_x(http, x, 415, MCP_ERROR_INVALID_REQUEST,
                          SPAN("Content-Type must be application/json"));
        return;
    }
    if (!takes.json && !takes.events) {
        mcp_http_refuse_x(http, x, 406, MCP_ERROR_INVALID_REQUEST,
                          SPAN("Accept must admit application/json or text/event-stream"));
        return;
    }
    if (era == ERA_LEGACY && http1_head_find(head, SPAN("Mcp-Session-Id"), NULL) > 0) {
        session = take_session(http, head, x, asker);
        if (session == NULL) {
            return;
        }
    }
    /* What names no modern version may be `initialize`. */
    seat = session != NULL ? session->seat : mcp_http_seat_take(http, era != ERA_MODERN);
    stream = seat == NULL ? NULL : mcp_http_stream_new(seat, MCP_HTTP_POST, x, takes);
    if (stream == NULL) {
        mcp_http_refuse_x(http, x, 503, MCP_ERROR_INTERNAL, SPAN("the server has no memory left"));
        if (seat != NULL) {
            mcp_http_seat_rest(seat);
        }
        return;
    }
    if (session == NULL) {
        seat->asker = asker;
    }
    mcp_http_seat_receive(seat, stream, head, body);
}

static void take_get(McpHttp *http, const Http1Head *head, void *x, void *asker)
{
    McpHttpSession *session;

    if (!mcp_http_accepts(head, SPAN("text/event-stream"))) {
        mcp_http_refuse_x(http, x, 406, MCP_ERROR_INVALID_REQUEST,
                          SPAN("Accept must admit text/event-stream"));
        return;
    }
    session = take_session(http, head, x, asker);
    if (session != NULL) {
        mcp_http_session_listen(session, head, x);
    }
}

static void take_delete(McpHttp *http, const Http1Head *head, void *x, void *asker)
{
    McpHttpSession *session = take_session(http, head, x, asker);

    if (session != NULL) {
        mcp_http_session_end(session, SPAN("the session has ended"));
        mcp_http_answer_empty(http, x, 204);
    }
}

/* One endpoint for all eras but the first. */
static void take_main(McpHttp *http, const Http1Head *head, Span body, void *x, void *asker)
{
    Era era = era_of(head);

    if (head->method == HTTP1_METHOD_POST) {
        take_post(http, head, era, body, x, asker);
    } else if (head->method != HTTP1_METHOD_GET && head->method != HTTP1_METHOD_DELETE) {
        refuse_method(http, x, SPAN("GET, POST, DELETE"));
    } else if (era == ERA_MODERN) {
        refuse_method(http, x, SPAN("POST"));
    } else if (era == ERA_UNKNOWN) {
        mcp_http_refuse_x(http, x, 400, MCP_ERROR_INVALID_REQUEST,
                          SPAN("MCP-Protocol-Version names no version that is known here"));
    } else if (head->method == HTTP1_METHOD_GET) {
        take_get(http, head, x, asker);
    } else {
        take_delete(http, head, x, asker);
    }
}

static void tell_time(McpHttp *http, int64_t now_ms)
{
    if (now_ms > http->now_ms) {
        http->now_ms = now_ms;
    }
}

void mcp_http_request(McpHttp *http, McpHttpPath path, const Http1Head *head, Span body, void *x,
                      void *asker, int64_t now_ms)
{
    tell_time(http, now_ms);
    mcp_http_wire(http)->set_data(x, NULL);
    if (http->is_shutting) {
        mcp_http_refuse_x(http, x, 503, MCP_ERROR_INVALID_REQUEST,
                          SPAN("the server is shutting down"));
        return;
    }
    if (path == MCP_HTTP_PATH_MAIN) {
        take_main(http, head, body, x, asker);
    } else {
        mcp_http_old_request(http, path, head, body, x, asker);
    }
    mcp_http_tend(http);
}

void mcp_http_gone(McpHttp *http, void *x, int64_t now_ms)
{
    McpHttpStream *stream = mcp_http_wire(http)->data(x);

    tell_time(http, now_ms);
    if (stream != NULL) {
        if (stream->seat->session != NULL) {
            mcp_http_session_use(stream->seat->session);
        }
        mcp_http_stream_gone(stream);
    }
    mcp_http_tend(http);
}

/* To all. */

void mcp_http_list_changed(McpHttp *http, McpListKind kind)
{
    for (McpLink *at = http->seats.next; at != &http->seats; at = at->next) {
        mcp_server_list_changed(MCP_LINK_OWNER(at, McpHttpSeat, link)->server, kind);
    }
}

void mcp_http_resource_updated(McpHttp *http, Span uri)
{
    for (McpLink *at = http->seats.next; at != &http->seats; at = at->next) {
        mcp_server_resource_updated(MCP_LINK_OWNER(at, McpHttpSeat, link)->server, uri);
    }
}

void mcp_http_task_changed(McpHttp *http, const CallTask *task, Span owner)
{
    for (McpLink *at = http->seats.next; at != &http->seats; at = at->next) {
        mcp_server_task_changed(MCP_LINK_OWNER(at, McpHttpSeat, link)->server, task, owner);
    }
}

void mcp_http_shutdown(McpHttp *http)
{
    if (http->is_shutting) {
        return;
    }
    http->is_shutting = true;
    for (McpLink *at = http->seats.next; at != &http->seats; at = at->next) {
        McpHttpSeat *seat = MCP_LINK_OWNER(at, McpHttpSeat, link);

        mcp_server_shutdown(seat->server);
        if (seat->session != NULL && seat->session->is_old) {
            mcp_http_seat_doom(seat); /* its stream ends with its last call */
        } else if (seat->session != NULL && seat->session->get != NULL) {
            mcp_http_stream_end(seat->session->get);
            mcp_http_stream_free(seat->session->get);
        }
    }
    mcp_http_tend(http);
}

void mcp_http_cancel_all(McpHttp *http)
{
    for (McpLink *at = http->seats.next; at != &http->seats; at = at->next) {
        McpHttpSeat *seat = MCP_LINK_OWNER(at, McpHttpSeat, link);

        mcp_http_seat_close(seat, 503, SPAN("the server is shutting down"));
        mcp_http_seat_doom(seat);
    }
    mcp_http_tend(http);
}

size_t mcp_http_n_calls(const McpHttp *http)
{
    size_t n = 0;

    for (McpLink *at = http->seats.next; at != &http->seats; at = at->next) {
        n += mcp_server_n_calls(MCP_LINK_OWNER(at, McpHttpSeat, link)->server);
    }
    return n;
}

size_t mcp_http_n_sessions(const McpHttp *http)
{
    return http->sessions.n;
}

size_t mcp_http_n_streams(const McpHttp *http)
{
    return http->n_streams;
}

/* Time. */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t mcp_http_next_deadline(const McpHttp *http)
{
    int64_t deadline = mcp_http_sessions_deadline(http);

    if (!mcp_link_is_alone(&http->doomed)) {
        return http->now_ms;
    }
    if (!mcp_link_is_alone(&http->beats)) {
        deadline = earlier(deadline, MCP_LINK_OWNER(http->beats.next, McpHttpStream, beat)->due_ms);
    }
    for (McpLink *at = http->asking.next; at != &http->asking; at = at->next) {
        const McpHttpSeat *seat = MCP_LINK_OWNER(at, McpHttpSeat, asking);

        deadline = earlier(deadline, mcp_server_next_deadline(seat->server));
    }
    return deadline;
}

void mcp_http_advance(McpHttp *http, int64_t now_ms)
{
    McpLink *next;

    tell_time(http, now_ms);
    mcp_http_tend(http);
    for (McpLink *at = http->asking.next; at != &http->asking; at = next) {
        McpHttpSeat *seat = MCP_LINK_OWNER(at, McpHttpSeat, asking);

        next = at->next;
        mcp_server_advance(seat->server, http->now_ms);
        if (mcp_server_next_deadline(seat->server) == INT64_MAX) {
            mcp_link_remove(&seat->asking);
        }
    }
    while (!mcp_link_is_alone(&http->beats)) {
        McpHttpStream *stream = MCP_LINK_OWNER(http->beats.next, McpHttpStream, beat);

        if (stream->due_ms > http->now_ms) {
            break;
        }
        mcp_http_stream_beat(stream);
    }
    mcp_http_sessions_expire(http);
    mcp_http_tend(http);
}
