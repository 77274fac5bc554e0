#include "app/auth_login.h"

#include <errno.h>
#include <stdio.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/limits.h"
#include "io/fetch.h"
#include "io/loop.h"
#include "peer/auth.h"

/* A token, a nonce, more scopes: three refusals that can be answered. */
#define LOGIN_TRIES 5

/* Any server of MCP answers it, and one that wants a token says so first. */
#define LOGIN_BODY "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"

typedef struct Login {
    const AuthLogin *config;
    IoLoop *loop;
    IoFetcher *fetcher;
    IoFetch *fetch;
    PeerAuth *auth;
    PeerAuthWait wait;
    char shown[LIMIT_OAUTH_TOKEN_BYTES + 64]; /* Authorization of the request under way */
    unsigned n_tries;
    bool has_shown;
    bool has_widened;
    int r;
    Diag *diag;
} Login;

static void login_end(Login *login, int r, const char *why)
{
    if (r > 0) {
        (void)diag_set(login->diag, r, "%s", why);
    }
    login->r = r;
    io_loop_stop(login->loop);
}

static void login_ask(Login *login);

static void login_told(PeerAuthWait *wait, PeerAuthOutcome outcome, const char *why)
{
    Login *login = (Login *)(void *)((char *)wait - offsetof(Login, wait));

    if (outcome == PEER_AUTH_REFUSED) {
        login_end(login, AUTH_LOGIN_E_REFUSED, why);
    } else if (login->n_tries >= LOGIN_TRIES) {
        login_end(login, AUTH_LOGIN_E_REFUSED, "the server refuses every token that it is shown");
    } else {
        login_ask(login);
    }
}

static void login_data(void *context, IoFetch *fetch, Span bytes)
{
    (void)context;
    (void)fetch;
    (void)bytes;
}

/* The server takes the token, but it was not asked for with the scopes that are wanted now: a
 * challenge as the server would write it. False: there is nothing to widen. */
static bool login_widen(Login *login)
{
    const char *scope = login->config->settings == NULL ? NULL : login->config->settings->scope;
    Bytes text;
    Span field;
    int r;

    if (!login->has_shown || login->has_widened || scope == NULL ||
        peer_auth_covers(login->auth, span_from_str(scope))) {
        return false;
    }
    login->has_widened = true;
    bytes_init(&text, LIMIT_OAUTH_TOKEN_BYTES);
    r = bytes_append_format(&text, "Bearer error=\"insufficient_scope\", scope=\"%s\"", scope);
    if (r == 0) {
        field = bytes_span(&text);
        peer_auth_challenge(login->auth,
                            &(PeerAuthChallenge){.status = 403,
                                                 .www_authenticate = &field,
                                                 .n_www_authenticate = 1,
                                                 .shown = span_from_str(login->shown)},
                            &login->wait);
    }
    bytes_deinit(&text);
    return r == 0;
}

static void login_done(void *context, IoFetch *fetch, const IoFetchEnd *end)
{
    Login *login = (Login *)context;
    PeerAuthChallenge challenge = {.status = end->status, .shown = span_from_str(login->shown)};
    Span field;
    bool is_auth;

    login->fetch = NULL;
    /* A body of any size will do: the status is what counts. */
    if (end->status == 0) {
        login_end(login, AUTH_LOGIN_E_REFUSED, end->message);
        return;
    }
    is_auth = io_fetch_field(fetch, SPAN("WWW-Authenticate"), &field);
    if (end->status == 401 || (end->status == 403 && is_auth)) {
        if (is_auth) {
            challenge.www_authenticate = &field;
            challenge.n_www_authenticate = 1;
        }
        if (!io_fetch_field(fetch, SPAN("DPoP-Nonce"), &challenge.dpop_nonce)) {
            challenge.dpop_nonce = SPAN_NULL;
        }
        peer_auth_challenge(login->auth, &challenge, &login->wait);
        return;
    }
    if (!login_widen(login)) {
        login_end(login, login->has_shown ? 0 : AUTH_LOGIN_E_OPEN,
                  "the server asks for no authorization");
    }
}

static const IoFetchOps login_ops = {.data = login_data, .done = login_done};

static int login_send(Login *login, const PeerAuthHeaders *headers)
{
    IoFetchField fields[4] = {
        {SPAN("Accept"), SPAN("application/json, text/event-stream")},
        {SPAN("Content-Type"), SPAN("application/json")},
    };
    size_t n = 2;

    login->has_shown = headers->authorization.n > 0;
    (void)snprintf(login->shown, sizeof(login->shown), "%.*s", (int)headers->authorization.n,
                   login->has_shown ? headers->authorization.p : "");
    if (login->has_shown) {
        fields[n++] = (IoFetchField){SPAN("Authorization"), headers->authorization};
    }
    if (headers->dpop.n > 0) {
        fields[n++] = (IoFetchField){SPAN("DPoP"), headers->dpop};
    }
    login->n_tries++;
    return io_fetch_start(&login->fetch, login->fetcher,
                          &(IoFetchRequest){.method = "POST",
                                            .url = login->config->server,
                                            .fields = fields,
                                            .n_fields = n,
                                            .body = SPAN(LOGIN_BODY),
                                            .total_ms = LIMIT_OAUTH_FETCH_MS,
                                            .max_body_bytes = LIMIT_OAUTH_BODY_BYTES,
                                            .ops = &login_ops,
                                            .context = login},
                          login->diag);
}

static void login_ask(Login *login)
{
    PeerAuthHeaders headers;
    bool must_wait = false;
    int r = peer_auth_headers(login->auth, "POST", login->config->server, SPAN_NULL, &headers,
                              &must_wait);

    if (r == 0 && must_wait) {
        peer_auth_wait(login->auth, &login->wait);
        return;
    }
    r = r == 0 ? login_send(login, &headers) : r;
    if (r != 0) {
        login->r = r > 0 ? AUTH_LOGIN_E_REFUSED : r;
        io_loop_stop(login->loop);
    }
}

static int login_open(Login *login, const AuthLogin *config, Diag *reterr_diag)
{
    int r = io_loop_new(&login->loop);

    r = r == 0 ? io_fetcher_new(&login->fetcher, login->loop, reterr_diag) : r;
    r = r == 0 ? peer_auth_new(&login->auth,
                               &(PeerAuthConfig){.loop = login->loop,
                                                 .fetcher = login->fetcher,
                                                 .server = config->server,
                                                 .settings = config->settings,
                                                 .store = config->store,
                                                 .may_ask = true,
                                                 .no_browser = config->no_browser,
                                                 .page = config->page,
                                                 .context = config->context,
                                                 .person_ms = config->person_ms,
                                                 .log = config->log},
                               reterr_diag)
               : r;
    return r;
}

int auth_login_run(const AuthLogin *config, Diag *reterr_diag)
{
    Login login = {.config = config, .wait = {.done = login_told}, .diag = reterr_diag};
    int r = login_open(&login, config, reterr_diag);

    if (r == 0) {
        login_ask(&login);
        r = io_loop_run(login.loop);
        r = r == 0 ? login.r : r;
    } else if (r > 0) {
        r = AUTH_LOGIN_E_REFUSED;
    }
    (void)io_fetch_free(login.fetch);
    (void)peer_auth_free(login.auth);
    (void)io_fetcher_free(login.fetcher);
    if (login.loop != NULL) {
        (void)io_loop_free(login.loop);
    }
    return r;
}
