/* Sessions at work. A seat is taken out of the pool for a POST of a client without a session, and
 * goes back when the response is complete; or it becomes the seat of a session. */
#include "dialect/mcp/http_internal.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/text.h"
#include "dialect/mcp/render.h"

/* One POST is one request there. */
#define STATELESS_OPEN 2

/* A session that has read a longer message than this gives back what that took: there may be
 * thousands of sessions, and few are at work. */
#define SESSION_BYTES ((size_t)4096)

/* The sink. */

static void sink_about(void *context, const McpAbout *about)
{
    McpHttpSeat *seat = context;

    seat->about = *about;
    /* Questions have a deadline from now on, and calls take their time. */
    mcp_server_tell_time(seat->server, seat->http->now_ms);
}

static int sink_begin(void *context, Bytes **ret)
{
    McpHttpSeat *seat = context;
    int r;

    if (seat->about.opens_session && seat->session == NULL) {
        r = mcp_http_session_open(seat, seat->asker, false);
        if (r != 0) {
            return r;
        }
    }
    *ret = &seat->http->text;
    return 0;
}

/* The message could not be written, which may be the end of the session: tend will see. */
static void sink_abort(void *context)
{
    McpHttpSeat *seat = context;

    bytes_clear_keep(&seat->http->text, LIMIT_KEEP_BYTES);
    mcp_http_seat_doom(seat);
}

static int sink_commit(void *context)
{
    McpHttpSeat *seat = context;
    McpHttp *http = seat->http;
    McpHttpStream *stream = seat->about.stream;
    int r = 0;

    if (seat->session != NULL && !seat->about.is_answer && mcp_link_is_alone(&seat->asking)) {
        mcp_link_append(&http->asking, &seat->asking);
    }
    if (stream != NULL) {
        r = mcp_http_stream_send(stream, &seat->about, &http->text);
    } else if (seat->session != NULL && !seat->about.is_answer) {
        mcp_http_session_tell(seat->session, bytes_span(&http->text));
    }
    bytes_clear_keep(&http->text, LIMIT_KEEP_BYTES);
    if (r != 0 || mcp_server_error(seat->server) != 0) {
        mcp_http_seat_doom(seat);
    }
    return r;
}

static void sink_detach(void *context, void *stream)
{
    (void)context;
    mcp_http_stream_detach(stream);
}

static bool sink_is_behind(void *context, void *stream)
{
    (void)context;
    return stream != NULL && mcp_http_stream_is_behind(stream);
}

/* The pool. */

static McpHttpSeat *seat_new(McpHttp *http, bool is_wide)
{
    McpHttpSeat *seat = mem_alloc_array(1, sizeof(*seat));
    McpServerConfig config = http->config.server;

    if (seat == NULL) {
        return NULL;
    }
    *seat = (McpHttpSeat){.http = http, .is_wide = is_wide};
    seat->sink = (McpSink){.about = sink_about,
                           .begin = sink_begin,
                           .commit = sink_commit,
                           .abort = sink_abort,
                           .detach = sink_detach,
                           .is_behind = sink_is_behind,
                           .context = seat};
    config.sink = &seat->sink;
    config.max_open = is_wide ? config.max_open : STATELESS_OPEN;
    mcp_link_init(&seat->streams);
    mcp_link_init(&seat->link);
    mcp_link_init(&seat->place);
    mcp_link_init(&seat->doom);
    mcp_link_init(&seat->asking);
    if (mcp_server_new(&seat->server, &config) != 0) {
        return mem_free(seat);
    }
    mcp_link_append(&http->seats, &seat->link);
    return seat;
}

static void leave_pool(McpHttpSeat *seat)
{
    if (!mcp_link_is_alone(&seat->place)) {
        mcp_link_remove(&seat->place);
        seat->http->n_free--;
    }
}

McpHttpSeat *mcp_http_seat_take(McpHttp *http, bool is_wide)
{
    while (!is_wide && http->n_free > 0) {
        McpHttpSeat *seat = MCP_LINK_OWNER(http->free.prev, McpHttpSeat, place);

        leave_pool(seat);
        if (mcp_server_reuse(seat->server)) {
            return seat;
        }
        mcp_http_seat_doom(seat);
    }
    return seat_new(http, is_wide);
}

static void release_asker(McpHttpSeat *seat)
{
    const McpHttpConfig *config = &seat->http->config;

    if (seat->holds_asker) {
        seat->holds_asker = false;
        config->owner->release(config->context, seat->asker);
    }
    seat->asker = NULL;
}

McpHttpSeat *mcp_http_seat_free(McpHttpSeat *seat)
{
    leave_pool(seat);
    mcp_link_remove(&seat->link);
    mcp_link_remove(&seat->doom);
    mcp_link_remove(&seat->asking);
    (void)mcp_server_free(seat->server);
    release_asker(seat);
    return mem_free(seat);
}

void mcp_http_seat_rest(McpHttpSeat *seat)
{
    McpHttp *http = seat->http;

    if (seat->session != NULL || seat->is_busy || !mcp_link_is_alone(&seat->streams) ||
        !mcp_link_is_alone(&seat->place)) {
        return;
    }
    if (seat->is_wide || http->n_free >= MCP_HTTP_MAX_FREE || mcp_server_error(seat->server) != 0 ||
        mcp_server_state(seat->server) != MCP_STATE_UNINITIALIZED) {
        mcp_http_seat_doom(seat);
        return;
    }
    mcp_link_append(&http->free, &seat->place);
    http->n_free++;
}

void mcp_http_seat_doom(McpHttpSeat *seat)
{
    if (mcp_link_is_alone(&seat->doom)) {
        mcp_link_append(&seat->http->doomed, &seat->doom);
    }
}

/* Work. */

void mcp_http_seat_pump(McpHttpSeat *seat)
{
    const McpHttpConfig *config = &seat->http->config;
    McpEvent event;

    while (mcp_server_next(seat->server, &event)) {
        if (event.kind == MCP_EVENT_CALL) {
            config->owner->call(config->context, seat->asker,
                                seat->session != NULL ? seat->session->serial : 0, event.call);
        } else {
            config->owner->cancel(config->context, event.call);
            mcp_server_drop(seat->server, event.call);
        }
    }
}

/* Requests that the client took back have no answer, and their responses nothing to wait for. */
static void sweep(McpHttpSeat *seat)
{
    McpLink *next;

    for (McpLink *at = seat->streams.next; at != &seat->streams; at = next) {
        McpHttpStream *stream = MCP_LINK_OWNER(at, McpHttpStream, link);

        next = at->next;
        if (stream->kind == MCP_HTTP_POST && !mcp_server_is_open(seat->server, stream)) {
            mcp_http_stream_settle(stream);
        }
    }
}

static bool is_modern_head(const Http1Head *head)
{
    Span version;
    McpRevision revision;

    return http1_head_find(head, SPAN("MCP-Protocol-Version"), &version) > 0 &&
           mcp_revision_parse(version, &revision) && revision >= MCP_FIRST_MODERN;
}

/* The message was no request. In a legacy era it must belong to a session. */
static void accept(McpHttpStream *stream, const Http1Head *head)
{
    if (stream->seat->session == NULL && !is_modern_head(head)) {
        mcp_http_stream_refuse(stream, 400, MCP_ERROR_INVALID_REQUEST,
                               SPAN("no session: Mcp-Session-Id is missing"));
    }
    mcp_http_stream_settle(stream);
}

/* What the message has left of its stream. */
static void settle_received(McpHttpSeat *seat, McpHttpStream *stream, const Http1Head *head)
{
    if (mcp_server_error(seat->server) != 0) {
        mcp_http_stream_refuse(stream, 503, MCP_ERROR_INTERNAL,
                               SPAN("the server has no room for this request"));
        mcp_http_stream_free(stream);
    } else if (!mcp_server_had_request(seat->server)) {
        accept(stream, head);
    } else if (!mcp_server_is_open(seat->server, stream)) {
        mcp_http_stream_settle(stream);
    } else {
        if (mcp_server_is_listening(seat->server, stream)) {
            mcp_http_stream_set_end(stream);
        }
        mcp_http_stream_wait(stream);
        if (mcp_server_n_calls(seat->server) == 0) {
            /* A subscription: there may be thousands, and most are silent for hours. */
            mcp_server_trim(seat->server);
        }
    }
}

void mcp_http_seat_receive(McpHttpSeat *seat, McpHttpStream *stream, const Http1Head *head,
                           Span body)
{
    const McpHttpConfig *config = &seat->http->config;
    McpFrom from = {
        .stream = stream, .head = head, .tool = config->owner->tool, .context = config->context};
    size_t n_calls = mcp_server_n_calls(seat->server);

    if (config->owner->whose != NULL) {
        from.owner = config->owner->whose(config->context, seat->asker);
    }
    seat->is_busy = true;
    if (stream->kind == MCP_HTTP_POST) {
        seat->receiving = stream;
        stream->number = seat->session == NULL ? 0 : ++seat->session->last_number;
    }
    (void)mcp_server_receive_from(seat->server, body, &from, seat->http->now_ms);
    mcp_http_seat_pump(seat);
    if (seat->receiving != NULL) {
        settle_received(seat, seat->receiving, head);
        seat->receiving = NULL;
    }
    /* Of a batch it is not known what was in it. */
    if (seat->session != NULL && (mcp_server_n_calls(seat->server) < n_calls ||
                                  span_starts_with(text_trim(body), SPAN("[")))) {
        sweep(seat);
    }
    if (seat->session != NULL && body.n > SESSION_BYTES) {
        mcp_server_trim(seat->server);
    }
    seat->is_busy = false;
    if (mcp_server_error(seat->server) != 0) {
        mcp_http_seat_doom(seat);
    }
    mcp_http_seat_rest(seat);
}

/* The end. */

void mcp_http_seat_close(McpHttpSeat *seat, unsigned status, Span why)
{
    const McpHttpConfig *config = &seat->http->config;
    Call *call;

    mcp_server_close(seat->server);
    while ((call = mcp_server_first_call(seat->server)) != NULL) {
        config->owner->cancel(config->context, call);
        mcp_server_drop(seat->server, call);
    }
    while (!mcp_link_is_alone(&seat->streams)) {
        McpHttpStream *stream = MCP_LINK_OWNER(seat->streams.next, McpHttpStream, link);

        mcp_http_stream_refuse(stream, status, MCP_ERROR_INVALID_REQUEST, why);
        mcp_http_stream_free(stream);
    }
}

static void tend_session(McpHttpSession *session)
{
    McpHttpSeat *seat = session->seat;
    bool is_over =
        session->is_old && (session->get == NULL || session->get->x == NULL ||
                            (seat->http->is_shutting && mcp_server_n_calls(seat->server) == 0));

    if (is_over || mcp_server_error(seat->server) != 0 ||
        mcp_server_state(seat->server) == MCP_STATE_CLOSED) {
        mcp_http_session_end(session, SPAN("the session has ended"));
    }
}

/* One without a session: its client has gone, or it cannot be used again. */
static void tend_stateless(McpHttpSeat *seat)
{
    McpHttpStream *stream;

    if (mcp_server_error(seat->server) != 0) {
        mcp_http_seat_close(seat, 503, SPAN("the server has no room for this request"));
    }
    if (!mcp_link_is_alone(&seat->streams)) {
        stream = MCP_LINK_OWNER(seat->streams.next, McpHttpStream, link);
        if (stream->x != NULL) {
            return;
        }
        mcp_server_gone(seat->server, stream);
        mcp_http_seat_pump(seat);
        if (!mcp_link_is_alone(&seat->streams)) {
            mcp_http_stream_free(stream);
        }
    }
    release_asker(seat);
    if (mcp_link_is_alone(&seat->place)) {
        (void)mcp_http_seat_free(seat);
    }
}

void mcp_http_tend(McpHttp *http)
{
    while (!mcp_link_is_alone(&http->doomed)) {
        McpHttpSeat *seat = MCP_LINK_OWNER(http->doomed.next, McpHttpSeat, doom);

        mcp_link_remove(&seat->doom);
        if (seat->session != NULL) {
            tend_session(seat->session);
        } else {
            tend_stateless(seat);
        }
    }
}
