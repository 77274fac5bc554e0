/* A client's life, and the waiting for answers. */
#include "api/tw_client.h"

#include <stdio.h>
#include <string.h>
#include <toolwire/error.h>

#include "api/tw_sigpipe.h"
#include "base/alloc.h"
#include "base/limits.h"
#include "base/utf8.h"

/* What a server gets to end by itself when its input was closed, unless the options say. */
#define CLIENT_GRACE_MS 2000

bool api_copy_list(char ***ret, const char *const *list)
{
    size_t n = 0;
    char **copy;

    *ret = NULL;
    if (list == NULL) {
        return true;
    }
    while (list[n] != NULL) {
        n++;
    }
    copy = mem_alloc_array(n + 1, sizeof(*copy));
    if (copy == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!api_copy_to(&copy[i], list[i])) {
            (void)api_free_list(copy);
            return false;
        }
    }
    *ret = copy;
    return true;
}

char **api_free_list(char **list)
{
    for (char **p = list; p != NULL && *p != NULL; p++) {
        (void)mem_free(*p);
    }
    return mem_free(list);
}

/* ---- life ---- */

static void client_on_cancel(IoTask *task);
static void client_on_timer(void *context);

static bool client_copy_options(TwClient *client, const TwClientOptions *options)
{
    if (options != NULL) {
        client->options = *options;
    }
    if (!api_copy_to(&client->name, client->options.name) ||
        !api_copy_to(&client->version, client->options.version) ||
        !api_copy_to(&client->title, client->options.title) ||
        !api_copy_to(&client->folder, client->options.folder) ||
        !api_copy_list(&client->environment, client->options.environment) ||
        !api_copy_list(&client->headers, client->options.headers) ||
        !api_copy_to(&client->bearer_env, client->options.bearer_env) ||
        !api_client_auth_copy(client)) {
        return false;
    }
    client->identity = (McpIdentity){
        .name = client->name != NULL ? span_from_str(client->name) : SPAN("toolwire"),
        .version = api_span(client->version),
        .title = api_span(client->title),
    };
    return true;
}

TwClient *tw_client_new(const TwClientOptions *options)
{
    TwClient *client = mem_alloc_array(1, sizeof(*client));

    if (client == NULL) {
        return NULL;
    }
    if (pthread_mutex_init(&client->lock, NULL) != 0) {
        return mem_free(client);
    }
    client->cancel_task.fn = client_on_cancel;
    bytes_init(&client->params, LIMIT_MCP_RESPONSE_BYTES);
    if (!client_copy_options(client, options) || io_loop_new(&client->loop) != 0 ||
        io_timer_new(&client->timer, client->loop, false, client_on_timer, client) != 0) {
        tw_client_free(client);
        return NULL;
    }
    return client;
}

static void client_on_closed(void *context)
{
    TwClient *client = context;

    client->finished = true;
    io_loop_stop(client->loop);
}

/* Ends the session and its server. */
static void client_close(TwClient *client)
{
    int64_t grace_ms = api_time(client->options.grace_ms);
    ApiSigpipe saved;

    if (client->peer == NULL) {
        return;
    }
    api_sigpipe_block(&saved);
    client->finished = false;
    client->waiting = 0;
    mcp_peer_close(client->peer, grace_ms > 0 ? grace_ms : CLIENT_GRACE_MS, client_on_closed,
                   client);
    if (!client->finished) {
        (void)io_loop_run(client->loop);
    }
    client->peer = mcp_peer_free(client->peer);
    client->auth = peer_auth_free(client->auth);
    client->ready = false;
    client->failed = false;
    client->listening = 0;
    client->subscribed = api_free_list(client->subscribed);
    client->server_info = mem_free(client->server_info);
    api_sigpipe_restore(&saved);
}

void tw_client_free(TwClient *client)
{
    if (client == NULL) {
        return;
    }
    client_close(client);
    api_client_auth_deinit(client);
    client->timer = io_timer_free(client->timer);
    client->loop = io_loop_free(client->loop);
    tw_result_free(client->result);
    bytes_deinit(&client->params);
    (void)api_free_list(client->environment);
    (void)api_free_list(client->headers);
    (void)mem_free(client->bearer_env);
    (void)mem_free(client->folder);
    (void)mem_free(client->title);
    (void)mem_free(client->version);
    (void)mem_free(client->name);
    (void)mem_free(client->error_data);
    (void)pthread_mutex_destroy(&client->lock);
    (void)mem_free(client);
}

/* ---- words ---- */

const char *tw_client_message(const TwClient *client)
{
    return client == NULL ? "there is no client" : client->message;
}

int tw_client_error_code(const TwClient *client)
{
    return client == NULL ? 0 : client->error_code;
}

const char *tw_client_error_data(const TwClient *client)
{
    return client == NULL ? NULL : client->error_data;
}

const char *tw_client_protocol_version(const TwClient *client)
{
    if (client == NULL || !client->ready) {
        return NULL;
    }
    /* Of a literal, so its NUL is there. */
    return mcp_revision_text(mcp_client_revision(mcp_peer_client(client->peer))).p;
}

const char *tw_client_server_info(const TwClient *client)
{
    return client == NULL ? NULL : client->server_info;
}

void api_client_say(TwClient *client, Span text)
{
    (void)snprintf(client->message, sizeof(client->message), "%.*s", (int)text.n,
                   text.n > 0 ? text.p : "");
    client->message[utf8_mend(client->message, strlen(client->message))] = '\0';
}

int api_client_fail(TwClient *client, int error, const char *message)
{
    api_client_say(client, span_from_str(message));
    return error;
}

static void client_forget_failure(TwClient *client)
{
    client->message[0] = '\0';
    client->error_code = 0;
    client->error_data = mem_free(client->error_data);
}

int api_client_check(TwClient *client)
{
    if (client == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    client_forget_failure(client);
    if (client->peer == NULL || client->failed) {
        return api_client_fail(client, TW_ERROR_CLOSED, tw_error_text(TW_ERROR_CLOSED));
    }
    return 0;
}

/* ---- waiting ---- */

static void client_on_timer(void *context)
{
    api_client_finish(context, 0);
}

static void client_on_cancel(IoTask *task)
{
    TwClient *client = (TwClient *)((char *)task - offsetof(TwClient, cancel_task));
    bool is_meant;

    pthread_mutex_lock(&client->lock);
    client->cancel_posted = false;
    is_meant = client->waits && client->cancelled == client->generation;
    pthread_mutex_unlock(&client->lock);
    if (!is_meant || client->finished) {
        return;
    }
    if (client->waiting != 0 && client->peer != NULL) {
        /* Its error comes before the loop waits; this is what the caller gets in any case. */
        mcp_peer_cancel(client->peer, client->waiting, SPAN("cancelled"));
    }
    (void)api_client_fail(client, TW_ERROR_CANCELLED, tw_error_text(TW_ERROR_CANCELLED));
    api_client_finish(client, TW_ERROR_CANCELLED);
}

void tw_client_cancel(TwClient *client)
{
    if (client == NULL) {
        return;
    }
    pthread_mutex_lock(&client->lock);
    if (client->waits) {
        client->cancelled = client->generation;
        if (!client->cancel_posted) {
            client->cancel_posted = true;
            io_loop_post(client->loop, &client->cancel_task);
        }
    }
    pthread_mutex_unlock(&client->lock);
}

static void client_set_waits(TwClient *client, bool waits)
{
    pthread_mutex_lock(&client->lock);
    client->waits = waits;
    client->generation += waits ? 1 : 0;
    pthread_mutex_unlock(&client->lock);
}

/* One more turn of the loop, in which the server is told. */
static void client_send_cancel(TwClient *client)
{
    client->waiting = 0;
    client->finished = false;
    io_timer_start_at(client->timer, io_loop_now_ms(client->loop));
    (void)io_loop_run(client->loop);
    client->finished = true;
    client->outcome = TW_ERROR_CANCELLED;
}

int api_client_run(TwClient *client)
{
    ApiSigpipe saved;

    api_sigpipe_block(&saved);
    client_set_waits(client, true);
    if (!client->finished) {
        (void)io_loop_run(client->loop);
    }
    client_set_waits(client, false);
    if (client->finished && client->outcome == TW_ERROR_CANCELLED) {
        client_send_cancel(client);
    }
    api_sigpipe_restore(&saved);
    client->waiting = 0;
    if (!client->finished) {
        /* Nothing is left that could bring an answer. */
        client->finished = true;
        return api_client_fail(client, TW_ERROR_CLOSED, tw_error_text(TW_ERROR_CLOSED));
    }
    if (client->outcome != 0 && client->message[0] == '\0') {
        (void)api_client_fail(client, client->outcome, tw_error_text(client->outcome));
    }
    return client->outcome;
}

int api_client_ask_server(TwClient *client, Span method, TwResult **ret_result)
{
    bool wants_progress = client->options.progress != NULL;
    int r;

    client->finished = false;
    client->result = NULL;
    r = mcp_peer_request(client->peer, method, bytes_span(&client->params), wants_progress,
                         &client->waiting);
    if (r == MCP_CLIENT_E_ENDED) {
        return api_client_fail(client, TW_ERROR_CLOSED, tw_error_text(TW_ERROR_CLOSED));
    }
    if (r != 0) {
        r = r == MCP_CLIENT_E_BUSY ? TW_ERROR_FULL : api_error_of(r);
        return api_client_fail(client, r, tw_error_text(r));
    }
    r = api_client_run(client);
    if (r == 0 && ret_result != NULL) {
        *ret_result = client->result;
    } else {
        tw_result_free(client->result);
    }
    client->result = NULL;
    return r;
}

int tw_client_wait(TwClient *client, int64_t timeout_ms)
{
    int r = api_client_check(client);

    if (r != 0) {
        return r;
    }
    if (timeout_ms < 0) {
        return api_client_fail(client, TW_ERROR_ARGUMENT, "a time is negative");
    }
    client->finished = false;
    io_loop_update_now(client->loop);
    io_timer_start_at(client->timer, io_loop_now_ms(client->loop) + api_time(timeout_ms));
    r = api_client_run(client);
    io_timer_stop(client->timer);
    return r;
}

/* ---- the start ---- */

static McpPeerConfig client_peer_config(TwClient *client)
{
    static const McpClientMode modes[] = {
        [TW_ERA_AUTO] = MCP_CLIENT_AUTO,
        [TW_ERA_LEGACY] = MCP_CLIENT_LEGACY,
        [TW_ERA_MODERN] = MCP_CLIENT_MODERN,
        [TW_ERA_ASSUME] = MCP_CLIENT_ASSUME,
    };
    const TwClientOptions *options = &client->options;

    return (McpPeerConfig){
        .loop = client->loop,
        .environment = (const char *const *)client->environment,
        .folder = client->folder,
        .inherit_stderr = !options->drop_stderr,
        .client = {.identity = &client->identity,
                   .mode = modes[options->era],
                   .legacy_revision = MCP_NEWEST_LEGACY,
                   .can = options->ask != NULL ? options->can : 0,
                   .log_level =
                       options->wants_logs ? (CallLogLevel)options->log_level : CALL_LOG_NONE,
                   .probe_timeout_ms = api_time(options->probe_timeout_ms),
                   .request_timeout_ms = api_time(options->timeout_ms)},
        .event = api_client_on_event,
        .context = client,
    };
}

static int client_begin(TwClient *client, const McpPeerConfig *config)
{
    McpPeer *peer = NULL;
    Diag diag = DIAG_NULL;
    int r;

    client->finished = false;
    client->waiting = 0;
    r = mcp_peer_new(&peer, config, &diag);
    if (r != 0) {
        client->peer = NULL;
        if (r == MCP_PEER_E_CANNOT_START) {
            return api_client_fail(client, TW_ERROR_START, diag.message);
        }
        r = api_error_of(r);
        return api_client_fail(client, r, tw_error_text(r));
    }
    client->peer = peer;
    r = api_client_run(client);
    if (r != 0) {
        client_close(client);
    }
    return r;
}

static int client_check_start(TwClient *client, const void *what)
{
    if (client == NULL || what == NULL) {
        return TW_ERROR_ARGUMENT;
    }
    client_forget_failure(client);
    if (client->peer != NULL && !client->failed) {
        return api_client_fail(client, TW_ERROR_BUSY, "there is a session already");
    }
    if ((unsigned)client->options.era > TW_ERA_ASSUME) {
        return api_client_fail(client, TW_ERROR_ARGUMENT, "there is no such era");
    }
    if (client->options.timeout_ms < 0 || client->options.probe_timeout_ms < 0 ||
        client->options.grace_ms < 0) {
        return api_client_fail(client, TW_ERROR_ARGUMENT, "a time is negative");
    }
    client_close(client);
    return 0;
}

int tw_client_start(TwClient *client, const char *const *argv)
{
    McpPeerConfig config;
    int r = client_check_start(client, argv == NULL ? NULL : argv[0]);

    if (r != 0) {
        return r;
    }
    config = client_peer_config(client);
    config.argv = argv;
    return client_begin(client, &config);
}

static bool client_is_url(const char *place)
{
    static const char *const schemes[] = {"http://", "https://", "http+unix:"};

    for (size_t i = 0; i < TW_ARRAY_SIZE(schemes); i++) {
        if (strncmp(place, schemes[i], strlen(schemes[i])) == 0) {
            return true;
        }
    }
    return false;
}

static int client_connect_url(TwClient *client, const char *url)
{
    CLEANUP(api_headers_deinit) ApiHeaders headers = {.fields = NULL};
    McpPeerConfig config = client_peer_config(client);
    int r = api_headers_read(client, &headers);

    if (r == 0 && !headers.authorizes) {
        r = api_client_auth_open(client, url);
    }
    if (r != 0) {
        return r;
    }
    config.url = url;
    config.fields = headers.fields;
    config.n_fields = headers.n;
    config.auth = client->auth;
    r = client_begin(client, &config);
    if (client->peer == NULL) {
        client->auth = peer_auth_free(client->auth);
    }
    return r;
}

int tw_client_connect(TwClient *client, const char *place)
{
    McpPeerConfig config;
    int r = client_check_start(client, place);

    if (r != 0) {
        return r;
    }
    if (client_is_url(place)) {
        return client_connect_url(client, place);
    }
    config = client_peer_config(client);
    config.socket_path = place;
    return client_begin(client, &config);
}
