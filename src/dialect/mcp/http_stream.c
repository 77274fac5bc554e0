/* One response on its way.
 *
 *     nothing said ─┬─ an answer comes first ──▶ JSON, complete
 *                   └─ a message comes first, or silence ──▶ events ──▶ the answer, complete
 *
 * Nobody listens (x NULL) from the time when the connection was lost, or the response ended before
 * its time. A stream of the modern era is then cancelled. One of a session stays: what is said on
 * it is kept in the session's store, and who comes back gets it. */
#include "dialect/mcp/http_internal.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "dialect/mcp/http_guard.h"
#include "dialect/mcp/render.h"
#include "frame/http1_writer.h"
#include "frame/sse.h"

/* What the refusals of a session are in HTTP: in the modern era, in a legacy session, and where
 * there is none. What is not here is an ordinary answer. */
static const struct {
    int code;
    unsigned modern;
    unsigned legacy;
    unsigned sessionless;
} statuses[] = {
    {MCP_ERROR_PARSE, 400, 400, 400},
    {MCP_ERROR_INVALID_REQUEST, 400, 400, 400},
    {MCP_ERROR_METHOD_NOT_FOUND, 404, 200, 200},
    {MCP_ERROR_INVALID_PARAMS, 400, 200, 400},
    {MCP_ERROR_HEADER_MISMATCH, 400, 400, 400},
    {MCP_ERROR_MISSING_CAPABILITY, 400, 400, 400},
    {MCP_ERROR_UNSUPPORTED_VERSION, 400, 400, 400},
};

static unsigned status_of(const McpHttpStream *stream, const McpAbout *about)
{
    for (size_t i = 0; i < TW_ARRAY_SIZE(statuses); i++) {
        if (statuses[i].code == about->code) {
            return about->is_modern                ? statuses[i].modern
                   : stream->seat->session != NULL ? statuses[i].legacy
                                                   : statuses[i].sessionless;
        }
    }
    return 200;
}

McpHttpStream *mcp_http_stream_new(McpHttpSeat *seat, McpHttpKind kind, void *x, McpHttpTakes takes)
{
    McpHttp *http = seat->http;
    McpHttpStream *stream;

    if (http->n_spares > 0) {
        stream = MCP_LINK_OWNER(http->spares.next, McpHttpStream, link);
        mcp_link_remove(&stream->link);
        http->n_spares--;
    } else {
        stream = mem_alloc_array(1, sizeof(*stream));
    }
    if (stream == NULL) {
        return NULL;
    }
    *stream = (McpHttpStream){.seat = seat, .x = x, .kind = kind, .end_ms = INT64_MAX};
    stream->takes_json = takes.json;
    stream->takes_events = takes.events;
    mcp_link_init(&stream->link);
    mcp_link_init(&stream->beat);
    mcp_link_append(&seat->streams, &stream->link);
    mcp_http_wire(http)->set_data(x, stream);
    return stream;
}

/* Takes the exchange off: from here on it is complete, or nobody's. */
static void *take_x(McpHttpStream *stream)
{
    McpHttp *http = stream->seat->http;
    void *x = stream->x;

    stream->x = NULL;
    mcp_link_remove(&stream->beat);
    http->n_streams -= stream->is_streaming ? 1 : 0;
    stream->is_streaming = false;
    if (x != NULL) {
        mcp_http_wire(http)->set_data(x, NULL);
    }
    return x;
}

void mcp_http_stream_free(McpHttpStream *stream)
{
    McpHttpSeat *seat = stream->seat;
    McpHttp *http = seat->http;

    (void)take_x(stream);
    if (seat->receiving == stream) {
        seat->receiving = NULL;
    }
    if (seat->session != NULL && seat->session->get == stream) {
        seat->session->get = NULL;
    }
    mcp_link_remove(&stream->link);
    if (http->n_spares < MCP_HTTP_MAX_FREE) {
        mcp_link_append(&http->spares, &stream->link);
        http->n_spares++;
    } else {
        (void)mem_free(stream);
    }
    mcp_http_seat_rest(seat);
}

bool mcp_http_stream_is_kept(const McpHttpStream *stream)
{
    return stream->seat->session != NULL && stream->kind != MCP_HTTP_OLD;
}

/* The response cannot go on. */
static void lose(McpHttpStream *stream)
{
    void *x = take_x(stream);

    mcp_http_wire(stream->seat->http)->abort(x);
}

void mcp_http_stream_wait(McpHttpStream *stream)
{
    McpHttp *http = stream->seat->http;
    McpLink *at;

    if (stream->x == NULL || !(stream->is_streaming || stream->takes_events)) {
        return;
    }
    mcp_link_remove(&stream->beat);
    stream->due_ms = mcp_http_later(http->now_ms, http->config.keep_alive_ms);
    stream->due_ms = stream->end_ms < stream->due_ms ? stream->end_ms : stream->due_ms;
    /* Nearly always it is the last. */
    at = &http->beats;
    while (at->prev != &http->beats &&
           MCP_LINK_OWNER(at->prev, McpHttpStream, beat)->due_ms > stream->due_ms) {
        at = at->prev;
    }
    mcp_link_append(at, &stream->beat); /* before it */
}

void mcp_http_stream_set_end(McpHttpStream *stream)
{
    const McpHttpConfig *config = &stream->seat->http->config;

    if (stream->x != NULL && config->owner->ends != NULL) {
        stream->end_ms = config->owner->ends(config->context, stream->x);
    }
}

/* Whether its time is over; then it has ended. */
static bool has_expired(McpHttpStream *stream)
{
    if (!stream->is_streaming || stream->end_ms > stream->seat->http->now_ms) {
        return false;
    }
    mcp_http_stream_end(stream);
    return true;
}

/* What was put into a piece is sent. */
static bool end_piece(McpHttpStream *stream, int r)
{
    const McpHttpWire *wire = mcp_http_wire(stream->seat->http);

    if (r != 0) {
        wire->piece_abort(stream->x);
    } else {
        r = wire->piece_commit(stream->x);
    }
    if (r != 0) {
        lose(stream);
        return false;
    }
    mcp_http_stream_wait(stream);
    return true;
}

static bool begin_piece(McpHttpStream *stream, Bytes **ret)
{
    if (mcp_http_wire(stream->seat->http)->piece_begin(stream->x, ret) != 0) {
        lose(stream);
        return false;
    }
    return true;
}

bool mcp_http_stream_put(McpHttpStream *stream, Span type, Span id, Span data)
{
    SseEvent event = {.type = type, .data = data, .id = id};
    Bytes *out;

    return !has_expired(stream) && begin_piece(stream, &out) &&
           end_piece(stream, sse_write_event(out, &event));
}

/* The same of a message. A long one is handed over, since a copy would double what waits for the
 * client: then *message is empty. */
static bool put_message(McpHttpStream *stream, Span id, Bytes *message)
{
    SseEvent event = {.type = SPAN("message"), .data = bytes_span(message), .id = id};
    BytesLent lent;
    Bytes around;
    int r;

    if (message->n < BYTES_LEND_MIN) {
        return mcp_http_stream_put(stream, event.type, id, event.data);
    }
    if (has_expired(stream)) {
        return false;
    }
    bytes_init(&around, HTTP1_WRITER_AROUND_BYTES);
    r = sse_write_event_lent(&around, &event, &lent);
    if (r != 0 || lent.span.p == NULL) {
        bytes_deinit(&around);
        return mcp_http_stream_put(stream, event.type, id, event.data);
    }
    r = mcp_http_wire(stream->seat->http)
            ->piece_taken(stream->x, span_make(around.data, lent.at), message,
                          span_make(around.data + lent.at, around.n - lent.at));
    bytes_deinit(&around);
    if (r != 0) {
        lose(stream);
        return false;
    }
    mcp_http_stream_wait(stream);
    return true;
}

/* 2025-11-25: a client can come back to a stream from its beginning, because the first event has an
 * id and nothing else, and it is told when. */
static bool is_primed(const McpHttpStream *stream)
{
    McpRevision revision;

    return mcp_http_stream_is_kept(stream) &&
           mcp_server_revision(stream->seat->server, &revision) && revision >= MCP_2025_11_25;
}

static bool prime(McpHttpStream *stream, uint64_t n)
{
    char id[MCP_HTTP_EVENT_ID_BYTES];
    SseEvent event = {.id = mcp_http_event_id(id, stream->number, n)};
    Bytes *out;
    int r;

    if (!begin_piece(stream, &out)) {
        return false;
    }
    r = sse_write_retry(out, (uint64_t)stream->seat->http->config.retry_ms);
    return end_piece(stream, r != 0 ? r : sse_write_event(out, &event));
}

bool mcp_http_stream_begin(McpHttpStream *stream, uint64_t n)
{
    McpHttp *http = stream->seat->http;
    Http1Field fields[4] = {
        {SPAN("Content-Type"), SPAN("text/event-stream")},
        {SPAN("Cache-Control"), SPAN("no-cache")},
        /* Proxies that gather an answer before they pass it on would hold it back. */
        {SPAN("X-Accel-Buffering"), SPAN("no")},
    };
    size_t n_fields = 3;

    if (stream->tells_id) {
        fields[n_fields++] =
            (Http1Field){SPAN("Mcp-Session-Id"), mcp_http_session_id(stream->seat->session)};
    }
    if (mcp_http_wire(http)->begin(stream->x, 200, fields, n_fields) != 0) {
        lose(stream);
        return false;
    }
    stream->has_begun = true;
    stream->is_streaming = true;
    http->n_streams++;
    mcp_http_stream_wait(stream);
    return !is_primed(stream) || prime(stream, n);
}

void mcp_http_stream_end(McpHttpStream *stream)
{
    void *x;

    if (stream->x == NULL) {
        return;
    }
    x = take_x(stream);
    (void)mcp_http_wire(stream->seat->http)->end(x);
}

static void answer_json(McpHttpStream *stream, unsigned status, Bytes *message)
{
    McpHttp *http = stream->seat->http;
    Http1Field fields[2] = {{SPAN("Content-Type"), SPAN("application/json")}};
    size_t n_fields = 1;
    void *x;

    if (stream->tells_id) {
        fields[n_fields++] =
            (Http1Field){SPAN("Mcp-Session-Id"), mcp_http_session_id(stream->seat->session)};
    }
    x = take_x(stream);
    /* If it fails the connection ends, and nothing is left to be done here. */
    (void)mcp_http_wire(http)->respond_taken(x, status, fields, n_fields, message);
    mcp_http_stream_free(stream);
}

/* Nobody listens: the store gets it, if somebody may come back. */
static int keep(McpHttpStream *stream, const McpAbout *about, Span data)
{
    int r = 0;

    if (stream->has_begun && mcp_http_stream_is_kept(stream)) {
        r = mcp_http_store_add(&stream->seat->session->store, stream->number, stream->n_events + 1,
                               data);
        stream->n_events += r == 0 ? 1 : 0;
    }
    if (r != 0 && about->is_answer) {
        return MCP_HTTP_STORE_E_FULL; /* a shorter one will do */
    }
    if (about->is_answer) {
        mcp_http_stream_free(stream);
    }
    return 0;
}

/* As an event, of a response that has begun. 0; > 0: an answer that cannot be kept. If it was sent,
 * the connection may still be lost on its way: so what comes in its stead is kept, under the same
 * number, and whoever has got the whole event does not ask for it. */
static int send_event(McpHttpStream *stream, const McpAbout *about, Bytes *message)
{
    char buffer[MCP_HTTP_EVENT_ID_BYTES];
    Span id = SPAN_NULL;
    bool is_sent;
    int r = 0;

    if (mcp_http_stream_is_kept(stream)) {
        stream->n_events++;
        id = mcp_http_event_id(buffer, stream->number, stream->n_events);
        /* What cannot be kept is sent all the same; who comes back for it goes on with the next, or
         * gets what stands for the answer. */
        r = mcp_http_store_add(&stream->seat->session->store, stream->number, stream->n_events,
                               bytes_span(message));
    }
    is_sent = put_message(stream, id, message);
    if (stream->kind == MCP_HTTP_OLD) {
        if (!is_sent || (about->is_answer && stream->seat->http->is_shutting)) {
            mcp_http_seat_doom(stream->seat);
        }
    } else if (about->is_answer && r != 0) {
        mcp_http_stream_end(stream);
        stream->n_events--;
        return MCP_HTTP_STORE_E_FULL; /* a shorter one will do */
    } else if (about->is_answer) {
        mcp_http_stream_end(stream);
        mcp_http_stream_free(stream);
    } else if (!is_sent) {
        mcp_http_stream_gone(stream);
    }
    return 0;
}

int mcp_http_stream_send(McpHttpStream *stream, const McpAbout *about, Bytes *message)
{
    unsigned status;

    if (stream->x == NULL) {
        return stream->kind == MCP_HTTP_OLD ? 0 : keep(stream, about, bytes_span(message));
    }
    if (!stream->is_streaming) {
        status = status_of(stream, about);
        stream->tells_id = about->opens_session;
        if (about->is_answer && (stream->takes_json || status != 200)) {
            answer_json(stream, status, message);
            return 0;
        }
        /* A client that takes no events has asked for the answer alone. But without a question
         * there is no answer, and without its notifications a subscription is nothing. */
        if (!about->is_answer && !stream->takes_events && !about->must_arrive) {
            return 0;
        }
        if (!mcp_http_stream_begin(stream, stream->n_events)) {
            if (!about->is_answer) {
                mcp_http_stream_gone(stream);
                return 0;
            }
            return keep(stream, about, bytes_span(message));
        }
    }
    return send_event(stream, about, message);
}

/* A connection has room for two of the largest messages, and is lost beyond that: as long as no
 * more than one waits, the next one fits. */
bool mcp_http_stream_is_behind(const McpHttpStream *stream)
{
    const McpHttp *http = stream->seat->http;
    size_t max = http->config.server.max_response_bytes;

    if (max == 0 || max > LIMIT_OUTPUT_PAUSE_BYTES) {
        max = LIMIT_OUTPUT_PAUSE_BYTES;
    }
    return stream->x != NULL && mcp_http_wire(http)->pending(stream->x) > max;
}

void mcp_http_stream_resume(McpHttpStream *stream, void *x, uint64_t n)
{
    McpHttpStored at = {.event = NULL};
    char buffer[MCP_HTTP_EVENT_ID_BYTES];
    bool is_good;

    if (stream->x != x) {
        mcp_http_stream_end(stream);
        stream->x = x;
        mcp_http_wire(stream->seat->http)->set_data(x, stream);
    }
    is_good = mcp_http_stream_begin(stream, n);
    while (is_good && mcp_http_store_next(&stream->seat->session->store, stream->number, n, &at)) {
        is_good = mcp_http_stream_put(stream, SPAN("message"),
                                      mcp_http_event_id(buffer, at.stream, at.n), at.data);
    }
}

void mcp_http_stream_refuse(McpHttpStream *stream, unsigned status, int code, Span message)
{
    McpHttp *http = stream->seat->http;

    if (stream->is_streaming) {
        mcp_http_stream_end(stream);
    } else if (stream->x != NULL && stream->seat->retry_ms != 0) {
        mcp_http_session_refuse(stream->seat, take_x(stream)); /* it asked for one, too soon */
    } else if (stream->x != NULL) {
        mcp_http_refuse_x(http, take_x(stream), status, code, message);
    }
}

void mcp_http_stream_settle(McpHttpStream *stream)
{
    McpHttp *http = stream->seat->http;

    if (stream->is_streaming) {
        mcp_http_stream_end(stream);
    } else if (stream->x != NULL) {
        mcp_http_answer_empty(http, take_x(stream), 202);
    }
    mcp_http_stream_free(stream);
}

void mcp_http_stream_detach(McpHttpStream *stream)
{
    if (stream->kind != MCP_HTTP_POST || stream->x == NULL || !stream->takes_events ||
        !is_primed(stream)) {
        return;
    }
    if (stream->is_streaming || mcp_http_stream_begin(stream, stream->n_events)) {
        mcp_http_stream_end(stream);
    }
}

void mcp_http_stream_gone(McpHttpStream *stream)
{
    McpHttpSeat *seat = stream->seat;
    McpHttp *http = seat->http;

    (void)take_x(stream);
    if (stream->kind == MCP_HTTP_GET) {
        mcp_http_stream_free(stream);
        return;
    }
    if (stream->kind == MCP_HTTP_POST && seat->session != NULL) {
        return;
    }
    /* The asker may go with its connection, but there are calls of it until they are cancelled. */
    if (seat->session == NULL && !seat->holds_asker) {
        http->config.owner->hold(http->config.context, seat->asker);
        seat->holds_asker = true;
    }
    mcp_http_seat_doom(seat);
}

/* The time of a subscription is over: its client is told by its result. The server of its seat had
 * nothing else to do, and does nothing more. */
static void end_listen(McpHttpStream *stream)
{
    McpHttpSeat *seat = stream->seat;

    stream->end_ms = INT64_MAX;
    seat->is_busy = true;
    mcp_server_shutdown(seat->server);
    seat->is_busy = false;
    mcp_http_seat_rest(seat);
}

void mcp_http_stream_beat(McpHttpStream *stream)
{
    Bytes *out;

    mcp_server_trim(stream->seat->server); /* what it read last was long ago */
    if (stream->kind == MCP_HTTP_POST && stream->seat->session == NULL &&
        stream->end_ms <= stream->seat->http->now_ms) {
        end_listen(stream);
        return;
    }
    if (has_expired(stream)) {
        mcp_http_stream_gone(stream);
        return;
    }
    if (!stream->is_streaming && !mcp_http_stream_begin(stream, stream->n_events)) {
        mcp_http_stream_gone(stream);
        return;
    }
    /* To a peer that has not read what was sent there is nothing to add. */
    if (mcp_http_wire(stream->seat->http)->pending(stream->x) > 0) {
        mcp_http_stream_wait(stream);
        return;
    }
    if (!begin_piece(stream, &out) || !end_piece(stream, sse_write_comment(out, SPAN("alive")))) {
        mcp_http_stream_gone(stream);
    }
}
