/* The wire to a server over HTTP: what dialect/mcp/http_client wants is asked by io/fetch
 * (mcp_peer_fetch). */
#include "peer/mcp_peer_impl.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "dialect/mcp/http_url.h"
#include "io/error_text.h"
#include "peer/mcp_peer_fetch.h"

typedef struct Web {
    McpPeer *peer;
    McpHttpClient *http;
    PeerWeb *own; /* NULL: config.web is used */
    McpPeerFetchPlace place;
    Bytes message; /* of the session, being written */
    Bytes origin;
    Bytes url;    /* as libcurl takes it */
    Bytes socket; /* NUL-terminated; empty: TCP */
    bool is_pumping;
    bool is_abandoned; /* nothing is begun any more */
    int64_t close_ms;  /* closing: when waiting is over */
} Web;

static void web_pump(Web *web);

static int64_t web_now(const Web *web)
{
    return io_loop_now_ms(web->peer->config.loop);
}

/* ---- the session's sink ---- */

static int web_sink_begin(void *context, Bytes **ret)
{
    Web *web = context;

    bytes_clear_keep(&web->message, LIMIT_KEEP_BYTES);
    *ret = &web->message;
    return 0;
}

static int web_sink_commit(void *context)
{
    Web *web = context;

    return mcp_http_client_send(web->http, bytes_span(&web->message), web_now(web));
}

static void web_sink_abort(void *context)
{
    Web *web = context;

    bytes_clear(&web->message);
}

/* ---- requests ---- */

static void web_break(Web *web, Span why)
{
    mcp_client_break(web->peer->client, why, web_now(web));
    mcp_peer_pump(web->peer);
}

/* Of the functions that tell the engine something: memory is all they can want. */
static void web_check(Web *web, int r)
{
    if (r != 0) {
        web_break(web, SPAN("the session cannot go on for want of memory"));
    }
    web_pump(web);
}

static void web_on_head(void *context, McpHttpExchange *exchange, const McpHttpHead *head)
{
    Web *web = context;

    web_check(web, mcp_http_client_head(web->http, exchange, head, web_now(web)));
}

static void web_on_data(void *context, McpHttpExchange *exchange, Span bytes)
{
    Web *web = context;

    web_check(web, mcp_http_client_data(web->http, exchange, bytes, web_now(web)));
}

static void web_on_done(void *context, McpHttpExchange *exchange, McpHttpEnd end, const char *words)
{
    Web *web = context;

    *mcp_http_exchange_slot(exchange) = NULL;
    web_check(web,
              mcp_http_client_end(web->http, exchange, end, span_from_str(words), web_now(web)));
}

static const McpPeerFetchOps web_ops = {
    .head = web_on_head, .data = web_on_data, .done = web_on_done};

static void web_begin(Web *web, const McpHttpClientEvent *event)
{
    Diag diag = DIAG_NULL;
    McpPeerFetch *fetch = NULL;
    int r = mcp_peer_fetch_start(&fetch, &web->place, event, &diag);

    *mcp_http_exchange_slot(event->exchange) = fetch;
    if (r != 0) {
        (void)mcp_http_client_end(web->http, event->exchange, MCP_HTTP_END_UNREACHED,
                                  span_from_str(r > 0 ? diag.message : io_error_text(-r)),
                                  web_now(web));
    }
}

static void web_let_go_of(McpHttpExchange *exchange)
{
    void **slot = mcp_http_exchange_slot(exchange);

    *slot = mcp_peer_fetch_free(*slot);
}

static void web_take(Web *web, const McpHttpClientEvent *event)
{
    int r = mcp_client_receive_instead(web->peer->client, event->text, event->with, event->loss,
                                       web_now(web));

    if (r != 0) {
        web_break(web, SPAN("the session cannot go on for want of memory"));
    }
    mcp_peer_pump(web->peer);
}

/* What the engine wants next. A turn that has taken too long ends with letting go of everything. */
static bool web_next(Web *web, McpHttpClientEvent *ret)
{
    if (mcp_peer_is_overdue(web->peer) && !web->is_abandoned) {
        web->is_abandoned = true;
        mcp_http_client_abandon(web->http);
        mcp_peer_pump(web->peer);
    }
    return mcp_http_client_next(web->http, ret);
}

/* Does what the engine wants until it wants nothing more. */
static void web_pump(Web *web)
{
    McpHttpClientEvent event;

    if (web->is_pumping) {
        return;
    }
    web->is_pumping = true;
    io_turn_begin(web->peer->config.loop, web->peer->turn);
    while (web_next(web, &event)) {
        switch (event.kind) {
        case MCP_HTTP_CLIENT_BEGIN:
            web_begin(web, &event);
            break;
        case MCP_HTTP_CLIENT_CLOSE:
            web_let_go_of(event.exchange);
            break;
        case MCP_HTTP_CLIENT_MESSAGE:
            web_take(web, &event);
            break;
        case MCP_HTTP_CLIENT_RENEW:
            if (mcp_client_renew(web->peer->client, web_now(web)) != 0) {
                web_break(web, SPAN("the session cannot be begun anew"));
            }
            break;
        case MCP_HTTP_CLIENT_FAILED:
            web_break(web, event.text);
            break;
        case MCP_HTTP_CLIENT_NOTE:
            logsink_write(web->peer->config.log, LOGSINK_LEVEL_INFO, "mcp", "%.*s",
                          (int)event.text.n, event.text.p);
            break;
        }
    }
    io_turn_end(web->peer->config.loop);
    web->is_pumping = false;
    mcp_peer_set_timer(web->peer);
}

/* ---- the beginning ---- */

#define HTTP_UNIX "http+unix:"

/* "http+unix:/run/x.sock:/mcp": the socket, and what to ask at it. 0, -ENOMEM,
 * MCP_PEER_E_CANNOT_START. */
static int web_read_unix(Web *web, const char *place, Diag *reterr_diag)
{
    const char *colon = strrchr(place, ':');
    int r;

    if (place[0] != '/' || colon == NULL || colon[1] != '/') {
        return diag_set(reterr_diag, MCP_PEER_E_CANNOT_START,
                        "an address of a Unix socket is " HTTP_UNIX "/path/of/socket:/path");
    }
    r = bytes_append(&web->socket, place, (size_t)(colon - place));
    r = r != 0 ? r : bytes_append_byte(&web->socket, '\0');
    r = r != 0 ? r : bytes_append_format(&web->url, "http://localhost%s", colon + 1);
    return err_fold(r);
}

static int web_read_url(Web *web, Diag *reterr_diag)
{
    const char *url = web->peer->config.url;
    HttpUrl parts;
    int r = span_starts_with(span_from_str(url), SPAN(HTTP_UNIX))
                ? web_read_unix(web, url + strlen(HTTP_UNIX), reterr_diag)
                : err_fold(bytes_append_span(&web->url, span_from_str(url)));

    if (r != 0) {
        return r;
    }
    if (!http_url_parse(bytes_span(&web->url), &parts)) {
        /* It is not shown: passwords and keys may stand in it. */
        return diag_set(reterr_diag, MCP_PEER_E_CANNOT_START,
                        "the address of the server is not one of http:// or https://");
    }
    /* Two sockets are two servers. */
    r = bytes_append_span(&web->origin, bytes_span(&web->socket));
    return err_fold(r != 0 ? r : http_url_origin(&web->origin, &parts));
}

static int web_check_fields(const McpPeerConfig *config, Diag *reterr_diag)
{
    for (size_t i = 0; i < config->n_fields; i++) {
        const char *flaw = mcp_http_client_field_flaw(&config->fields[i]);
        Span name = config->fields[i].name;

        if (flaw != NULL) {
            return diag_set(reterr_diag, MCP_PEER_E_CANNOT_START, "the header '%.*s' %s",
                            (int)(name.n < 60 ? name.n : 60), name.p, flaw);
        }
    }
    return 0;
}

static int web_find_fetcher(Web *web, Diag *reterr_diag)
{
    PeerWeb *shared = web->peer->config.web;
    int r = 0;

    if (shared == NULL) {
        r = peer_web_new(&web->own, web->peer->config.loop, reterr_diag);
        shared = web->own;
    }
    if (r == 0) {
        web->peer->config.web = shared;
        web->place = (McpPeerFetchPlace){
            .fetcher = peer_web_fetcher(shared),
            .auth = web->peer->config.auth,
            .unix_socket = web->socket.n > 0 ? web->socket.data : NULL,
            .ops = &web_ops,
            .context = web,
        };
    }
    return r == IO_FETCH_E_LIBRARY ? MCP_PEER_E_CANNOT_START : r;
}

/* What is known of the origin spares a question. */
static void web_set_mode(McpClientConfig *client, PeerWebEra era)
{
    client->is_http = true;
    client->probe_timeout_ms =
        client->request_timeout_ms != 0 ? client->request_timeout_ms : LIMIT_MCP_CLIENT_REQUEST_MS;
    if (client->mode == MCP_CLIENT_AUTO && era != PEER_WEB_UNKNOWN) {
        client->mode = era == PEER_WEB_MODERN ? MCP_CLIENT_MODERN : MCP_CLIENT_LEGACY;
    }
}

static int web_open(McpPeer *peer, void **ret, Diag *reterr_diag)
{
    Web *web = mem_alloc_array(1, sizeof(*web));
    McpHttpClientConfig config = {.fields = peer->config.fields,
                                  .n_fields = peer->config.n_fields,
                                  .max_message_bytes = peer->config.client.max_message_bytes};
    PeerWebEra era;
    int r;

    if (web == NULL) {
        return err_raise(-ENOMEM);
    }
    web->peer = peer;
    web->close_ms = INT64_MAX;
    bytes_init(&web->message, LIMIT_MCP_RESPONSE_BYTES);
    bytes_init(&web->origin, SIZE_MAX);
    bytes_init(&web->url, SIZE_MAX);
    bytes_init(&web->socket, SIZE_MAX);
    *ret = web;
    r = web_read_url(web, reterr_diag);
    r = r != 0 ? r : web_check_fields(&peer->config, reterr_diag);
    r = r != 0 ? r : web_find_fetcher(web, reterr_diag);
    if (r != 0) {
        return r;
    }
    era = peer_web_era(peer->config.web, bytes_span(&web->origin));
    config.url = bytes_span(&web->url);
    config.is_old = era == PEER_WEB_OLD;
    web_set_mode(&peer->config.client, era);
    return mcp_http_client_new(&web->http, &config);
}

/* ---- the peer's side ---- */

/* Everything that is under way is let go of. */
static void web_let_go(void *wire)
{
    Web *web = wire;
    McpHttpClientEvent event;

    if (web->http == NULL) {
        return;
    }
    mcp_http_client_abandon(web->http);
    while (mcp_http_client_next(web->http, &event)) {
        if (event.kind == MCP_HTTP_CLIENT_CLOSE) {
            web_let_go_of(event.exchange);
        }
    }
}

static void web_free(void *wire)
{
    Web *web = wire;

    web_let_go(web);
    web->http = mcp_http_client_free(web->http);
    web->own = peer_web_free(web->own);
    bytes_deinit(&web->message);
    bytes_deinit(&web->origin);
    bytes_deinit(&web->url);
    bytes_deinit(&web->socket);
    (void)mem_free(web);
}

/* A verdict that led nowhere is forgotten: the server may be another by now. */
static void web_judged(void *wire, bool is_ready)
{
    Web *web = wire;
    PeerWebEra era = PEER_WEB_UNKNOWN;

    if (web->peer->config.client.mode == MCP_CLIENT_ASSUME) {
        return;
    }
    if (is_ready && mcp_client_revision(web->peer->client) >= MCP_FIRST_MODERN) {
        era = PEER_WEB_MODERN;
    } else if (is_ready) {
        era = mcp_http_client_is_old(web->http) ? PEER_WEB_OLD : PEER_WEB_LEGACY;
    }
    peer_web_remember(web->peer->config.web, bytes_span(&web->origin), era);
}

static void web_flush(void *wire)
{
    web_pump(wire);
}

static int64_t web_deadline(const void *wire)
{
    const Web *web = wire;
    int64_t at_ms = mcp_http_client_next_deadline(web->http);

    if (web->peer->state == PEER_CLOSING && mcp_http_client_is_closed(web->http)) {
        return 0; /* at once, but not in the middle of whatever ended it */
    }
    return web->close_ms < at_ms ? web->close_ms : at_ms;
}

static void web_tick(void *wire, int64_t now_ms)
{
    Web *web = wire;

    mcp_http_client_advance(web->http, now_ms);
    web_pump(web);
    if (web->peer->state == PEER_CLOSING &&
        (mcp_http_client_is_closed(web->http) || now_ms >= web->close_ms)) {
        mcp_peer_finish_close(web->peer);
    }
}

static void web_close(void *wire, int64_t grace_ms)
{
    Web *web = wire;

    mcp_http_client_close(web->http, web_now(web));
    web->close_ms = web_now(web) + grace_ms;
}

const McpPeerWire mcp_peer_http = {
    .sink = {.begin = web_sink_begin, .commit = web_sink_commit, .abort = web_sink_abort},
    .open = web_open,
    .free = web_free,
    .let_go = web_let_go,
    .judged = web_judged,
    .flush = web_flush,
    .deadline = web_deadline,
    .tick = web_tick,
    .close = web_close,
};
