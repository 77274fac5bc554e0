#include "peer/mcp_peer_fetch.h"

#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/bytes.h"
#include "base/compiler.h"
#include "base/error.h"
#include "base/text.h"
#include "io/error_text.h"

/* How often one request is sent again with something new to show: a nonce, a renewed token, a wider
 * scope; more is a server that wants nothing of it. */
#define FETCH_MAX_CHALLENGES 5

/* WWW-Authenticate fields of one answer. */
#define FETCH_MAX_AUTHENTICATE 8

struct McpPeerFetch {
    const McpPeerFetchPlace *place;
    McpHttpExchange *exchange;
    IoFetch *fetch; /* NULL: nothing under way */
    Arena strings;  /* the request, so that it can be sent again */
    const char *method;
    const char *url;
    IoFetchField *fields; /* with room for two more */
    size_t n_fields;
    Span body;
    Bytes shown; /* the Authorization that was sent */
    Bytes nonce; /* that the server wants of this request; empty: it has not refused another */
    PeerAuthWait wait;
    unsigned n_challenges;
};

static int fetch_launch(McpPeerFetch *fetch, Diag *reterr_diag);

McpPeerFetch *mcp_peer_fetch_free(McpPeerFetch *fetch)
{
    if (fetch == NULL) {
        return NULL;
    }
    if (fetch->place->auth != NULL) {
        peer_auth_forget(fetch->place->auth, &fetch->wait);
    }
    fetch->fetch = io_fetch_free(fetch->fetch);
    bytes_deinit(&fetch->shown);
    bytes_deinit(&fetch->nonce);
    arena_deinit(&fetch->strings);
    return mem_free(fetch);
}

static void fetch_finish(McpPeerFetch *fetch, McpHttpEnd end, const char *words)
{
    const McpPeerFetchPlace *place = fetch->place;
    McpHttpExchange *exchange = fetch->exchange;

    (void)mcp_peer_fetch_free(fetch);
    place->ops->done(place->context, exchange, end, words);
}

/* ---- authorization ---- */

static bool says(const Span *fields, size_t n, Span word)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t at = 0; at + word.n <= fields[i].n; at++) {
            if (text_equals_nocase(span_make(fields[i].p + at, word.n), word)) {
                return true;
            }
        }
    }
    return false;
}

/* Whether an answer is about what was shown, and not about the request. */
static bool is_challenge(const PeerAuthChallenge *challenge)
{
    const Span *fields = challenge->www_authenticate;
    size_t n = challenge->n_www_authenticate;

    switch (challenge->status) {
    case 401:
        return true;
    case 403:
        return says(fields, n, SPAN("insufficient_scope"));
    case 400:
        return says(fields, n, SPAN("use_dpop_nonce"));
    default:
        return false;
    }
}

static void fetch_on_authorized(PeerAuthWait *wait, PeerAuthOutcome outcome, const char *why)
{
    McpPeerFetch *fetch = (McpPeerFetch *)(void *)((char *)wait - offsetof(McpPeerFetch, wait));
    Diag diag = DIAG_NULL;
    int r;

    if (outcome == PEER_AUTH_REFUSED) {
        fetch_finish(fetch, MCP_HTTP_END_REFUSED, why);
        return;
    }
    r = fetch_launch(fetch, &diag);
    if (r != 0) {
        fetch_finish(fetch, MCP_HTTP_END_UNREACHED, r > 0 ? diag.message : io_error_text(-r));
    }
}

/* True: PeerAuth has the answer, and it is not told. */
static bool fetch_is_challenged(McpPeerFetch *fetch, unsigned status)
{
    Span fields[FETCH_MAX_AUTHENTICATE];
    PeerAuthChallenge challenge = {
        .status = status, .www_authenticate = fields, .shown = bytes_span(&fetch->shown)};

    if (fetch->place->auth == NULL) {
        return false;
    }
    while (challenge.n_www_authenticate < TW_ARRAY_SIZE(fields) &&
           io_fetch_field_nth(fetch->fetch, SPAN("www-authenticate"), challenge.n_www_authenticate,
                              &fields[challenge.n_www_authenticate])) {
        challenge.n_www_authenticate++;
    }
    (void)io_fetch_field(fetch->fetch, SPAN("dpop-nonce"), &challenge.dpop_nonce);
    if (!is_challenge(&challenge) || fetch->n_challenges == FETCH_MAX_CHALLENGES) {
        if (challenge.dpop_nonce.n > 0) {
            peer_auth_nonce(fetch->place->auth, challenge.dpop_nonce);
        }
        return false;
    }
    fetch->n_challenges++;
    /* Without memory the last one that anybody heard will do. */
    bytes_clear(&fetch->nonce);
    (void)bytes_append_span(&fetch->nonce, challenge.dpop_nonce);
    peer_auth_challenge(fetch->place->auth, &challenge, &fetch->wait);
    fetch->fetch = io_fetch_free(fetch->fetch);
    return true;
}

/* ---- the answer ---- */

static Span field_of(const IoFetch *fetch, Span name)
{
    Span value;

    return io_fetch_field(fetch, name, &value) ? value : SPAN_NULL;
}

static void fetch_on_head(void *context, IoFetch *io, unsigned status)
{
    McpPeerFetch *fetch = context;
    McpHttpHead head = {.status = status,
                        .content_type = field_of(io, SPAN("content-type")),
                        .session_id = field_of(io, SPAN("mcp-session-id")),
                        .location = field_of(io, SPAN("location"))};

    if (!fetch_is_challenged(fetch, status)) {
        fetch->place->ops->head(fetch->place->context, fetch->exchange, &head);
    }
}

static void fetch_on_data(void *context, IoFetch *io, Span bytes)
{
    McpPeerFetch *fetch = context;

    (void)io;
    fetch->place->ops->data(fetch->place->context, fetch->exchange, bytes);
}

static McpHttpEnd end_of(IoFetchOutcome outcome)
{
    switch (outcome) {
    case IO_FETCH_DONE:
        return MCP_HTTP_END_DONE;
    case IO_FETCH_UNREACHED:
    case IO_FETCH_UNTRUSTED:
        return MCP_HTTP_END_UNREACHED;
    case IO_FETCH_TOO_LARGE:
        return MCP_HTTP_END_TOO_LARGE;
    case IO_FETCH_CUT:
    case IO_FETCH_STALLED:
    case IO_FETCH_NO_MEMORY:
    case IO_FETCH_FAILED:
        break;
    }
    return MCP_HTTP_END_CUT;
}

static void fetch_on_done(void *context, IoFetch *io, const IoFetchEnd *end)
{
    McpPeerFetch *fetch = context;

    (void)io;
    fetch->fetch = NULL; /* it frees itself */
    fetch_finish(fetch, end_of(end->outcome), end->message);
}

static const IoFetchOps fetch_ops = {
    .head = fetch_on_head, .data = fetch_on_data, .done = fetch_on_done};

/* ---- the request ---- */

/* 0, -ENOMEM. *ret_n: how many fields there are with those that are shown. */
static int fetch_show(McpPeerFetch *fetch, bool *ret_wait, size_t *ret_n)
{
    PeerAuthHeaders headers = {.authorization = SPAN_NULL};
    int r;

    *ret_n = fetch->n_fields;
    if (fetch->place->auth == NULL) {
        return 0;
    }
    r = peer_auth_headers(fetch->place->auth, fetch->method, fetch->url, bytes_span(&fetch->nonce),
                          &headers, ret_wait);
    if (r != 0 || *ret_wait) {
        return err_pass(r);
    }
    bytes_clear(&fetch->shown);
    r = bytes_append_span(&fetch->shown, headers.authorization);
    if (headers.authorization.n > 0) {
        fetch->fields[(*ret_n)++] =
            (IoFetchField){SPAN("Authorization"), bytes_span(&fetch->shown)};
    }
    if (headers.dpop.n > 0) {
        fetch->fields[(*ret_n)++] = (IoFetchField){SPAN("DPoP"), headers.dpop};
    }
    return err_fold(r);
}

/* 0, -ENOMEM, IO_FETCH_E_REQUEST. */
static int fetch_launch(McpPeerFetch *fetch, Diag *reterr_diag)
{
    IoFetchRequest request = {.method = fetch->method,
                              .url = fetch->url,
                              .unix_socket = fetch->place->unix_socket,
                              .fields = fetch->fields,
                              .body = fetch->body,
                              .ops = &fetch_ops,
                              .context = fetch};
    bool must_wait = false;
    int r = fetch_show(fetch, &must_wait, &request.n_fields);

    if (r != 0) {
        return err_pass(r);
    }
    if (must_wait) {
        peer_auth_wait(fetch->place->auth, &fetch->wait);
        return 0;
    }
    return io_fetch_start(&fetch->fetch, fetch->place->fetcher, &request, reterr_diag);
}

/* What the engine lends until its next event. */
static int fetch_copy(McpPeerFetch *fetch, const McpHttpClientEvent *event)
{
    fetch->url = arena_copy(&fetch->strings, span_from_str(event->url)).p;
    fetch->fields = arena_alloc_array(&fetch->strings, event->n_fields + 2, sizeof(*fetch->fields));
    if (fetch->url == NULL || fetch->fields == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < event->n_fields; i++) {
        fetch->fields[i].name = arena_copy(&fetch->strings, event->fields[i].name);
        fetch->fields[i].value = arena_copy(&fetch->strings, event->fields[i].value);
        if (fetch->fields[i].name.p == NULL || fetch->fields[i].value.p == NULL) {
            return err_raise(-ENOMEM);
        }
    }
    fetch->n_fields = event->n_fields;
    return 0;
}

int mcp_peer_fetch_start(McpPeerFetch **ret, const McpPeerFetchPlace *place,
                         const McpHttpClientEvent *event, Diag *reterr_diag)
{
    McpPeerFetch *fetch = mem_alloc_array(1, sizeof(*fetch));
    int r;

    if (fetch == NULL) {
        return err_raise(-ENOMEM);
    }
    fetch->place = place;
    fetch->exchange = event->exchange;
    fetch->method = event->method; /* a constant */
    fetch->body = event->body;     /* until the end is told, or it is let go of */
    fetch->wait.done = fetch_on_authorized;
    arena_init(&fetch->strings, SIZE_MAX);
    bytes_init(&fetch->shown, SIZE_MAX);
    bytes_init(&fetch->nonce, SIZE_MAX);
    r = fetch_copy(fetch, event);
    r = r != 0 ? r : fetch_launch(fetch, reterr_diag);
    if (r != 0) {
        (void)mcp_peer_fetch_free(fetch);
        return r;
    }
    *ret = fetch;
    return 0;
}
