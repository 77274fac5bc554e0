/* One server: its session begins, works, fails and ends. */
#include "providers/upstream_impl.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"

/* A server that npx or uvx has to fetch first takes a while. */
#define SERVER_START_MS 60000
#define SERVER_LIST_MS  30000

/* Between attempts: none after the first failure in a row, which may be an accident; then so long,
 * and twice as long each time. */
#define SERVER_RETRY_MS     1000
#define SERVER_RETRY_MAX_MS 60000

/* What a child has to go, once its input is closed, before TERM. */
#define SERVER_GRACE_MS 2000

/* Of the sentence that says why it is down: exit status, arguments, the last lines of stderr. */
#define SERVER_WHY_BYTES ((size_t)4096)

/* Of what a hub says of its servers: some that are down. More is not shown. */
#define SERVER_INNER_BYTES ((size_t)16 * 1024)

const char *upstream_state_name(UpstreamState state)
{
    static const char *const names[] = {[UPSTREAM_IDLE] = "idle",
                                        [UPSTREAM_STARTING] = "starting",
                                        [UPSTREAM_READY] = "ready",
                                        [UPSTREAM_DOWN] = "down",
                                        [UPSTREAM_DISABLED] = "disabled"};

    return names[state];
}

/* ---- the timer ---- */

static bool server_is_unused(const Upstream *server)
{
    return server->spec.idle_ms > 0 && server->n_calls == 0 && server->subscribed.n == 0 &&
           upstream_lists_are_read(server);
}

static int64_t server_due_ms(const Upstream *server)
{
    int64_t due_ms = upstream_calls_deadline(server);

    if (server->state == UPSTREAM_STARTING && server->start_by_ms < due_ms) {
        due_ms = server->start_by_ms;
    }
    if (server->state == UPSTREAM_DOWN && server->retry_ms < due_ms) {
        due_ms = server->retry_ms;
    }
    if (server->state == UPSTREAM_READY && server_is_unused(server)) {
        int64_t idle_ms = server->used_ms + server->spec.idle_ms;

        due_ms = idle_ms < due_ms ? idle_ms : due_ms;
    }
    if (server->state == UPSTREAM_IDLE && server->is_settled && server->stale_ms < due_ms) {
        due_ms = server->stale_ms;
    }
    if (server->state == UPSTREAM_READY && upstream_lists_are_read(server) &&
        server->keep_due_ms < due_ms) {
        due_ms = server->keep_due_ms;
    }
    if (server->state == UPSTREAM_READY && server->relisten_ms != 0 &&
        server->relisten_ms < due_ms) {
        due_ms = server->relisten_ms;
    }
    for (size_t kind = 0; kind < ROUTER_N_KINDS && server->state == UPSTREAM_READY; kind++) {
        int64_t fresh_ms = server->lists[kind].fresh_until_ms;

        due_ms = fresh_ms < due_ms ? fresh_ms : due_ms;
    }
    return due_ms;
}

/* Moving a timer costs more than a message: one that is due later than it fires is looked at then.
 */
void upstream_set_timer(Upstream *server)
{
    int64_t due_ms = server_due_ms(server);

    if (due_ms < server->timer_ms) {
        server->timer_ms = due_ms;
        io_timer_start_at(server->timer, due_ms);
    }
}

static void server_refresh(Upstream *server, int64_t now_ms)
{
    for (RouterKind kind = 0; kind < ROUTER_N_KINDS; kind++) {
        if (now_ms >= server->lists[kind].fresh_until_ms) {
            server->lists[kind].fresh_until_ms = INT64_MAX;
            upstream_list(server, kind);
        }
    }
}

static void server_stop_idle(Upstream *server, int64_t now_ms)
{
    if (server_is_unused(server) && now_ms >= server->used_ms + server->spec.idle_ms) {
        logsink_write(server->owner->config.log, LOGSINK_LEVEL_INFO, "upstream",
                      "%s: stopped, since nobody uses it", server->spec.name);
        upstream_leave(server);
        server->state = UPSTREAM_IDLE;
    }
}

/* What nobody has asked it for a day is not what it has: the next list asks. */
static void server_grow_old(Upstream *server, int64_t now_ms)
{
    if (server->is_settled && now_ms >= server->stale_ms) {
        server->stale_ms = INT64_MAX;
        server->is_settled = false;
        upstreams_close_gate(server->owner);
    }
}

static void server_on_timer(void *context)
{
    Upstream *server = context;
    int64_t now_ms = io_loop_now_ms(server->owner->config.loop);

    server->timer_ms = INT64_MAX;
    upstream_calls_advance(server, now_ms);
    if (server->state == UPSTREAM_STARTING && now_ms >= server->start_by_ms) {
        upstream_fail(server, "it does not answer within %lld ms of its start",
                      (long long)server->start_timeout_ms);
    } else if (server->state == UPSTREAM_DOWN && now_ms >= server->retry_ms) {
        (void)upstream_wake(server);
    } else if (server->state == UPSTREAM_READY) {
        if (now_ms >= server->keep_due_ms && upstream_lists_are_read(server)) {
            upstream_kept_save(server);
        }
        upstream_listen_again(server, now_ms);
        server_refresh(server, now_ms);
        server_stop_idle(server, now_ms);
    } else if (server->state == UPSTREAM_IDLE) {
        server_grow_old(server, now_ms);
    }
    upstream_set_timer(server);
}

/* ---- the end of a session ---- */

static void leaving_unlink(UpstreamLeaving *leaving)
{
    if (leaving->prev != NULL) {
        leaving->prev->next = leaving->next;
    } else {
        leaving->owner->leaving = leaving->next;
    }
    if (leaving->next != NULL) {
        leaving->next->prev = leaving->prev;
    }
}

static void leaving_done(void *context)
{
    UpstreamLeaving *leaving = context;

    leaving_unlink(leaving);
    (void)upstream_leaving_free(leaving);
}

UpstreamLeaving *upstream_leaving_free(UpstreamLeaving *leaving)
{
    if (leaving == NULL) {
        return NULL;
    }
    leaving->peer = mcp_peer_free(leaving->peer);
    leaving->auth = peer_auth_free(leaving->auth);
    return mem_free(leaving);
}

void upstream_leave(Upstream *server)
{
    Upstreams *owner = server->owner;
    McpPeer *peer = server->peer;
    UpstreamLeaving *leaving = server->leaving;

    upstream_kept_save(server);
    server->peer = NULL;
    server->listen = 0;
    server->relisten_ms = 0;
    server->log_level = CALL_LOG_NONE;
    upstream_lists_stop(server);
    if (peer == NULL) {
        return;
    }
    server->leaving = NULL;
    leaving->owner = owner;
    leaving->peer = peer;
    leaving->next = owner->leaving;
    if (leaving->next != NULL) {
        leaving->next->prev = leaving;
    }
    owner->leaving = leaving;
    mcp_peer_close(peer, SERVER_GRACE_MS, leaving_done, leaving);
}

/* "npx -y some-server": what was started, without its environment. */
static void server_append_command(Upstream *server)
{
    Bytes *why = &server->why;

    if (server->spec.command == NULL) {
        return; /* an address may hold a secret */
    }
    (void)bytes_append_format(why, " [%s", server->spec.command);
    for (size_t i = 0; server->spec.args != NULL && server->spec.args[i] != NULL && i < 16; i++) {
        (void)bytes_append_format(why, " %.100s", server->spec.args[i]);
    }
    (void)bytes_append_format(why, "]");
}

static void server_set_retry(Upstream *server)
{
    unsigned n = server->n_in_row > 8 ? 8 : server->n_in_row;
    int64_t wait_ms = n <= 1 ? 0 : (int64_t)SERVER_RETRY_MS << (n - 2);
    int64_t now_ms = io_loop_now_ms(server->owner->config.loop);

    server->retry_ms = now_ms + (wait_ms < SERVER_RETRY_MAX_MS ? wait_ms : SERVER_RETRY_MAX_MS);
}

void upstream_down(Upstream *server)
{
    Upstreams *owner = server->owner;
    bool was_there = server->peer != NULL;

    server_append_command(server);
    if (server->state == UPSTREAM_STARTING) {
        server->is_known_legacy = false; /* it may be another by now */
    }
    server->n_in_row++;
    /* The 1st, 2nd, 4th, 8th… in a row: one that is tried for days must not fill the log. */
    logsink_write(
        owner->config.log,
        (server->n_in_row & (server->n_in_row - 1)) == 0 ? LOGSINK_LEVEL_WARN : LOGSINK_LEVEL_DEBUG,
        "upstream", "%s is down: %.*s", server->spec.name, (int)server->why.n, server->why.data);
    server->n_failures++;
    server_set_retry(server);
    if (was_there) {
        upstream_leave(server);
    }
    server->state = UPSTREAM_DOWN;
    upstream_calls_lose(server, bytes_span(&server->why));
    if (!server->is_settled) {
        server->is_settled = true;
        upstreams_look_at_gate(owner);
    }
    router_there_changed(owner->config.router);
    upstream_set_timer(server);
}

void upstream_fail(Upstream *server, const char *format, ...)
{
    Span words = server->peer == NULL ? SPAN_NULL : mcp_peer_last_words(server->peer);
    char text[1024];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    bytes_clear(&server->why);
    (void)bytes_append_format(&server->why, "%s", text);
    if (words.n > 0) {
        (void)bytes_append_format(&server->why, "; it said: %.*s", (int)words.n, words.p);
    }
    upstream_down(server);
}

/* ---- the beginning of a session ---- */

bool upstream_wake(Upstream *server)
{
    int64_t now_ms = io_loop_now_ms(server->owner->config.loop);
    Diag diag = DIAG_NULL;
    int r;

    if (server->state == UPSTREAM_STARTING || server->state == UPSTREAM_READY) {
        return true;
    }
    if (server->is_gone || server->owner->is_ended || server->state == UPSTREAM_DISABLED ||
        (server->state == UPSTREAM_DOWN && now_ms < server->retry_ms)) {
        return false;
    }
    server->state = UPSTREAM_STARTING;
    server->start_by_ms = now_ms + server->start_timeout_ms;
    server->n_starts++;
    if (server->leaving == NULL) {
        server->leaving = mem_alloc_array(1, sizeof(*server->leaving));
    }
    r = server->leaving == NULL ? err_raise(-ENOMEM) : upstream_begin(server, &diag);
    if (r != 0) {
        server->peer = NULL;
        upstream_fail(server, "%s",
                      r > 0 ? diag.message : "there is no memory, or no descriptor, to start it");
        return false;
    }
    upstream_set_timer(server);
    return true;
}

/* ---- life ---- */

int upstream_new(Upstream **ret, Upstreams *owner, const UpstreamSpec *spec)
{
    Upstream *server = mem_alloc_array(1, sizeof(*server));
    int r;

    if (server == NULL) {
        return err_raise(-ENOMEM);
    }
    server->owner = owner;
    server->timer_ms = INT64_MAX;
    server->keep_due_ms = INT64_MAX;
    server->stale_ms = INT64_MAX;
    server->log_level = CALL_LOG_NONE;
    arena_init(&server->strings, SIZE_MAX);
    bytes_init(&server->why, SERVER_WHY_BYTES);
    bytes_init(&server->inner, SERVER_INNER_BYTES);
    map_init(&server->subscribed, owner->seed, LIMIT_MCP_SUBSCRIBED);
    upstream_lists_init(server);
    r = upstream_spec_copy(&server->spec, spec, &server->strings);
    r = r != 0 ? r
               : io_timer_new(&server->timer, owner->config.loop, true, server_on_timer, server);
    r = r != 0 ? r : upstream_kept_init(server);
    if (r != 0) {
        (void)upstream_free(server);
        return err_pass(r);
    }
    server->start_timeout_ms =
        spec->start_timeout_ms > 0 ? spec->start_timeout_ms : SERVER_START_MS;
    server->list_timeout_ms = spec->list_timeout_ms > 0 ? spec->list_timeout_ms : SERVER_LIST_MS;
    if (spec->is_disabled) {
        server->state = UPSTREAM_DISABLED;
        server->is_settled = true;
    }
    if (spec->fault != NULL) {
        (void)bytes_append_format(&server->why, "%s", spec->fault);
        logsink_write(owner->config.log, LOGSINK_LEVEL_WARN, "upstream", "%s is not used: %s",
                      spec->name, spec->fault);
    }
    upstream_kept_load(server);
    upstream_set_timer(server);
    *ret = server;
    return 0;
}

Upstream *upstream_free(Upstream *server)
{
    if (server == NULL) {
        return NULL;
    }
    server->is_gone = true;
    upstream_withdraw(server);
    upstream_calls_lose(server, SPAN("it is not part of the settings any more, or the hub ends"));
    upstream_leave(server);
    server->leaving = upstream_leaving_free(server->leaving);
    server->timer = io_timer_free(server->timer);
    upstream_lists_deinit(server);
    map_deinit(&server->subscribed);
    bytes_deinit(&server->why);
    bytes_deinit(&server->inner);
    arena_deinit(&server->strings);
    return mem_free(server);
}
