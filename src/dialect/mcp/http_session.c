/* Legacy sessions. Each has a seat, an id that cannot be guessed, the asker that opened it, and a
 * store of events. It ends by DELETE, when nobody has used it for long, or to make room for
 * another: one of the same asker, or one of an asker who has fewer.
 *
 * It is fresh until somebody comes back to it. Where each connection is an asker of its own,
 * whoever opens many has one session of each: what tells these from sessions of clients is that
 * nobody uses them. They make room first, and end sooner. */
#include "dialect/mcp/http_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dialect/mcp/render.h"

enum {
    SESSION_E_TOO_MANY = 1,
    SESSION_E_TOO_SOON,
};

/* A refusal says one sentence. */
#define SESSION_REFUSAL_BYTES ((size_t)512)

/* Somebody listens, or waits for an answer, or comes back for it. */
static bool is_in_use(const McpHttpSession *session)
{
    const McpLink *streams = &session->seat->streams;

    if (mcp_server_n_calls(session->seat->server) > 0) {
        return true;
    }
    for (McpLink *at = streams->next; at != streams; at = at->next) {
        if (MCP_LINK_OWNER(at, McpHttpStream, link)->x != NULL) {
            return true;
        }
    }
    return false;
}

/* Shares. An asker is known by its address: a session holds it, so nobody else gets that. */

static Span share_key(const void *const *asker)
{
    return span_make((const char *)asker, sizeof(*asker));
}

/* That of the asker; a new one has no session yet. NULL: no memory. */
static McpHttpShare *share_get(McpHttp *http, const void *asker)
{
    McpHttpShare *share = map_get(&http->shares, share_key(&asker));

    if (share != NULL) {
        return share;
    }
    share = mem_alloc_array(1, sizeof(*share));
    if (share == NULL) {
        return NULL;
    }
    share->asker = asker;
    mcp_link_init(&share->sessions);
    if (map_add(&http->shares, share_key(&share->asker), share) != 0) {
        return mem_free(share);
    }
    return share;
}

/* One that has no session is forgotten. */
static void share_rest(McpHttp *http, McpHttpShare *share)
{
    if (share->n == 0) {
        (void)map_remove(&http->shares, share_key(&share->asker));
        (void)mem_free(share);
    }
}

/* The asker's own that was used longest ago; NULL: something is under way in all. */
static McpHttpSession *oldest_own(const McpHttpShare *share)
{
    for (McpLink *at = share->sessions.next; at != &share->sessions; at = at->next) {
        McpHttpSession *session = MCP_LINK_OWNER(at, McpHttpSession, own);

        if (!is_in_use(session)) {
            return session;
        }
    }
    return NULL;
}

/* So much of the room is for those who have just come, even if all others use theirs: else two that
 * come at the same time would end each other's. */
#define SESSION_FRESH_PART 8

/* The first in the list of whoever has the most, if that is more than *n. */
static void look_for_most(const McpLink *list, size_t *n, McpHttpSession **found)
{
    for (McpLink *at = list->next; at != list; at = at->next) {
        McpHttpSession *session = MCP_LINK_OWNER(at, McpHttpSession, use);

        if (session->share->n > *n && !is_in_use(session)) {
            *n = session->share->n;
            *found = session;
        }
    }
}

/* Of those who have more than n the one with the most: of its sessions a fresh one, if there are
 * many of these, or the one that was used longest ago. NULL: something is under way in all of
 * them. */
static McpHttpSession *oldest_of_most(McpHttp *http, size_t n)
{
    bool is_flooded = http->n_fresh > http->config.max_sessions / SESSION_FRESH_PART;
    McpHttpSession *found = NULL;

    look_for_most(is_flooded ? &http->fresh : &http->uses, &n, &found);
    look_for_most(is_flooded ? &http->uses : &http->fresh, &n, &found);
    return found;
}

/* Whether there is room for one more of the asker's. Whose session had to make it begins anew when
 * it hears 404. */
static bool make_room(McpHttp *http, const void *asker)
{
    const McpHttpShare *share = map_get(&http->shares, share_key(&asker));
    size_t n = share == NULL ? 0 : share->n;
    bool is_full = http->sessions.n >= http->config.max_sessions;
    McpHttpSession *session = NULL;

    if (n < http->config.max_sessions_each && !is_full) {
        return true;
    }
    if (n < http->config.max_sessions_each) {
        session = oldest_of_most(http, n);
    }
    if (session == NULL && share != NULL) {
        session = oldest_own(share);
    }
    if (session == NULL) {
        return false;
    }
    mcp_http_session_end(session, SPAN("the session has ended"));
    return true;
}

void mcp_http_session_refuse(McpHttpSeat *seat, void *x)
{
    McpHttp *http = seat->http;
    char after[24];
    char data[48];
    Http1Field fields[2] = {{SPAN("Content-Type"), SPAN("application/json")}};
    Bytes body;

    if (seat->retry_ms == 0) {
        mcp_http_refuse_x(http, x, 503, MCP_ERROR_INTERNAL,
                          SPAN("the server has no room for this session"));
        return;
    }
    (void)snprintf(after, sizeof(after), "%" PRId64, (seat->retry_ms - 1) / 1000 + 1);
    (void)snprintf(data, sizeof(data), "{\"retryAfterMs\":%" PRId64 "}", seat->retry_ms);
    fields[1] = (Http1Field){SPAN("Retry-After"), span_from_str(after)};
    bytes_init(&body, SESSION_REFUSAL_BYTES);
    /* Without memory the status says the essential. */
    (void)mcp_render_error(&body, SPAN_NULL, MCP_ERROR_RATE, SPAN("too many sessions at once"),
                           span_from_str(data));
    (void)mcp_http_wire(http)->respond(x, 429, fields, TW_ARRAY_SIZE(fields), bytes_span(&body));
    bytes_deinit(&body);
}

static int make_id(McpHttp *http, char ret[MCP_HTTP_ID_BYTES + 1], uint64_t *ret_serial)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[MCP_HTTP_ID_BYTES / 2];
    int r = http->config.owner->random(http->config.context, bytes, sizeof(bytes));

    if (r != 0) {
        return err_pass(r);
    }
    memcpy(ret_serial, bytes + sizeof(bytes) - sizeof(*ret_serial), sizeof(*ret_serial));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        ret[2 * i] = digits[bytes[i] >> 4];
        ret[2 * i + 1] = digits[bytes[i] & 15];
    }
    ret[MCP_HTTP_ID_BYTES] = '\0';
    return 0;
}

/* Into the tables. 0, a negative errno. */
static int session_new(McpHttpSeat *seat, const void *asker, bool is_old, McpHttpSession **ret)
{
    McpHttp *http = seat->http;
    McpHttpShare *share = share_get(http, asker);
    McpHttpSession *session = share == NULL ? NULL : mem_alloc_array(1, sizeof(*session));
    int r = session == NULL ? err_raise(-ENOMEM) : make_id(http, session->id, &session->serial);

    if (r == 0) {
        r = map_add(&http->sessions, mcp_http_session_id(session), session);
        /* Two equal ids are a source of bytes that is none. */
        r = r > 0 ? err_raise(-EIO) : err_pass(r);
    }
    if (r != 0) {
        (void)mem_free(session);
        if (share != NULL) {
            share_rest(http, share);
        }
        return err_pass(r);
    }
    session->seat = seat;
    session->share = share;
    session->is_old = is_old;
    session->used_ms = http->now_ms;
    mcp_http_store_init(&session->store, http->config.max_stored_bytes);
    if (seat->receiving != NULL) {
        seat->receiving->number = ++session->last_number;
    }
    share->n++;
    mcp_link_init(&session->use);
    mcp_link_init(&session->own);
    session->is_fresh = true;
    http->n_fresh++;
    mcp_link_append(&http->fresh, &session->use);
    mcp_link_append(&share->sessions, &session->own);
    *ret = session;
    return 0;
}

int mcp_http_session_open(McpHttpSeat *seat, void *asker, bool is_old)
{
    McpHttp *http = seat->http;
    McpHttpSession *session = NULL;
    int r;

    if (http->config.owner->admit != NULL) {
        seat->retry_ms = http->config.owner->admit(http->config.context, asker);
    }
    if (seat->retry_ms != 0) {
        return SESSION_E_TOO_SOON;
    }
    if (!make_room(http, asker)) {
        return SESSION_E_TOO_MANY;
    }
    r = session_new(seat, asker, is_old, &session);
    if (r != 0) {
        return err_pass(r);
    }
    http->config.owner->hold(http->config.context, asker);
    seat->asker = asker;
    seat->holds_asker = true;
    seat->session = session;
    return 0;
}

McpHttpSession *mcp_http_session_find(McpHttp *http, Span id, const void *asker, bool is_old)
{
    McpHttpSession *session = map_get(&http->sessions, id);

    if (session == NULL || session->is_old != is_old ||
        !http->config.owner->is_same(http->config.context, asker, session->seat->asker)) {
        return NULL;
    }
    return session;
}

static void stop_being_fresh(McpHttpSession *session)
{
    session->seat->http->n_fresh -= session->is_fresh;
    session->is_fresh = false;
}

void mcp_http_session_use(McpHttpSession *session)
{
    McpHttp *http = session->seat->http;

    session->used_ms = http->now_ms;
    stop_being_fresh(session);
    mcp_link_remove(&session->use);
    mcp_link_append(&http->uses, &session->use);
    mcp_link_remove(&session->own);
    mcp_link_append(&session->share->sessions, &session->own);
}

void mcp_http_session_end(McpHttpSession *session, Span why)
{
    McpHttpSeat *seat = session->seat;

    mcp_http_seat_close(seat, 404, why);
    (void)map_remove(&seat->http->sessions, mcp_http_session_id(session));
    stop_being_fresh(session);
    mcp_link_remove(&session->use);
    mcp_link_remove(&session->own);
    session->share->n--;
    share_rest(seat->http, session->share);
    mcp_http_store_deinit(&session->store);
    seat->session = NULL;
    (void)mem_free(session);
    (void)mcp_http_seat_free(seat);
}

/* Once is enough for whoever comes back: it has no params, and the last one says it all. A client
 * that never listens would else have its store filled by a server whose list changes often. */
static bool is_said_by_the_last(Span message)
{
    return span_ends_with(message, SPAN("/list_changed\"}"));
}

void mcp_http_session_tell(McpHttpSession *session, Span message)
{
    McpHttpStream *get = session->get;
    char buffer[MCP_HTTP_EVENT_ID_BYTES];
    uint64_t n;

    if (session->is_old) {
        if (get != NULL && get->x != NULL &&
            !mcp_http_stream_put(get, SPAN("message"), SPAN_NULL, message)) {
            mcp_http_stream_gone(get);
        }
        return;
    }
    n = ++session->n_get_events;
    if (is_said_by_the_last(message)) {
        mcp_http_store_forget(&session->store, 0, message);
    }
    /* What cannot be kept is lost to those who are not here: it is not worth the session. */
    (void)mcp_http_store_add(&session->store, 0, n, message);
    if (get == NULL) {
        return;
    }
    if (mcp_http_stream_put(get, SPAN("message"), mcp_http_event_id(buffer, 0, n), message)) {
        session->n_get_sent = n;
    } else {
        mcp_http_stream_gone(get);
    }
}

/* What concerns no request, behind the n-th event. Whoever listened so far does no more: it is the
 * same client, which has lost that connection and knows it before we do. */
static void open_get(McpHttpSession *session, const Http1Head *head, void *x, uint64_t n)
{
    McpHttp *http = session->seat->http;
    McpHttpStream *get = mcp_http_stream_new(session->seat, MCP_HTTP_GET, x, mcp_http_takes(head));

    if (get == NULL) {
        mcp_http_refuse_x(http, x, 503, MCP_ERROR_INTERNAL, SPAN("the server has no memory left"));
        return;
    }
    if (session->get != NULL) {
        mcp_http_stream_end(session->get);
        mcp_http_stream_free(session->get);
    }
    session->get = get;
    mcp_http_stream_set_end(get);
    mcp_http_stream_resume(get, x, n);
    if (get->x == NULL) {
        mcp_http_stream_free(get);
        return;
    }
    session->n_get_sent = session->n_get_events;
}

static McpHttpStream *find_stream(McpHttpSession *session, uint64_t number)
{
    McpLink *streams = &session->seat->streams;

    for (McpLink *at = streams->next; at != streams; at = at->next) {
        McpHttpStream *stream = MCP_LINK_OWNER(at, McpHttpStream, link);

        if (stream->kind == MCP_HTTP_POST && stream->number == number && stream->has_begun) {
            return stream;
        }
    }
    return NULL;
}

/* The rest of a stream that has been answered meanwhile. False if nothing is left of it. */
static bool replay(McpHttpSession *session, const Http1Head *head, void *x, uint64_t number,
                   uint64_t n)
{
    McpHttp *http = session->seat->http;
    McpHttpStored at = {.event = NULL};
    McpHttpStream *stream;

    if (!mcp_http_store_next(&session->store, number, n, &at)) {
        return false;
    }
    stream = mcp_http_stream_new(session->seat, MCP_HTTP_POST, x, mcp_http_takes(head));
    if (stream == NULL) {
        mcp_http_refuse_x(http, x, 503, MCP_ERROR_INTERNAL, SPAN("the server has no memory left"));
        return true;
    }
    stream->number = number;
    mcp_http_stream_resume(stream, x, n);
    mcp_http_stream_end(stream);
    mcp_http_stream_free(stream);
    return true;
}

/* Nothing is left of the stream of a request: it was cancelled, or its events have made room. Its
 * client must not get the session's stream instead, which has a listener who would lose it; and 405
 * is what clients take as the end of the matter, where they repeat the request after other
 * statuses. */
static void refuse_stream(McpHttpSession *session, void *x)
{
    Http1Field allow = {SPAN("Allow"), SPAN("GET, POST, DELETE")};

    (void)mcp_http_refuse(mcp_http_wire(session->seat->http), x, 405, &allow, 1,
                          MCP_ERROR_INVALID_REQUEST,
                          SPAN("nothing is left of the stream that Last-Event-ID names"));
}

void mcp_http_session_listen(McpHttpSession *session, const Http1Head *head, void *x)
{
    uint64_t number = 0;
    uint64_t n = session->n_get_sent;
    McpHttpStream *stream;
    Span id;

    if (http1_head_find(head, SPAN("Last-Event-ID"), &id) == 1 &&
        mcp_http_event_id_parse(id, &number, &n) && number != 0) {
        stream = find_stream(session, number);
        if (stream != NULL) {
            mcp_http_stream_resume(stream, x, n);
            return;
        }
        if (!replay(session, head, x, number, n)) {
            refuse_stream(session, x);
        }
        return;
    }
    open_get(session, head, x, n);
}

static int64_t session_deadline(const McpHttpSession *session)
{
    const McpHttpConfig *config = &session->seat->http->config;
    bool is_soon = session->is_fresh && config->session_fresh_ms < config->session_idle_ms;

    return mcp_http_later(session->used_ms,
                          is_soon ? config->session_fresh_ms : config->session_idle_ms);
}

/* The one that ends next if nobody uses it; NULL: there is none. */
static McpHttpSession *first_to_end(const McpHttp *http)
{
    McpHttpSession *found = NULL;

    if (!mcp_link_is_alone(&http->uses)) {
        found = MCP_LINK_OWNER(http->uses.next, McpHttpSession, use);
    }
    if (!mcp_link_is_alone(&http->fresh)) {
        McpHttpSession *fresh = MCP_LINK_OWNER(http->fresh.next, McpHttpSession, use);

        if (found == NULL || session_deadline(fresh) < session_deadline(found)) {
            found = fresh;
        }
    }
    return found;
}

int64_t mcp_http_sessions_deadline(const McpHttp *http)
{
    const McpHttpSession *session = first_to_end(http);

    return session == NULL ? INT64_MAX : session_deadline(session);
}

void mcp_http_sessions_expire(McpHttp *http)
{
    while (mcp_http_sessions_deadline(http) <= http->now_ms) {
        McpHttpSession *session = first_to_end(http);

        if (is_in_use(session)) {
            mcp_http_session_use(session);
        } else {
            mcp_http_session_end(session, SPAN("the session has ended"));
        }
    }
}
