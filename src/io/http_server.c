#include "io/http_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/limits.h"
#include "io/http_impl.h"

/* Connections of one turn: enough for a crowd that starts at once, few enough that those already
 * served do not wait for it. */
#define SERVER_ACCEPTS 64

/* How long accepting rests when the system has no descriptor or memory for it. */
#define SERVER_REST_MS 100

/* Deadlines are looked at this often at most: with limits of seconds nobody needs to know exactly,
 * and looking means to go through all connections. */
#define SERVER_GRAIN_MS 1000

/* "unix:", a user's number, NUL. */
#define SERVER_PEER_SIZE 64

_Static_assert(TCP_ADDRESS_TEXT_SIZE <= SERVER_PEER_SIZE, "either kind of peer fits");

/* ---- what is due ---- */

/* Only keeps the loop from waiting before the next round of hooks. */
static void server_on_idle(uv_idle_t *idle)
{
    (void)idle;
}

static void server_hurry(IoHttpServer *server)
{
    if (!server->is_dead) {
        (void)uv_idle_start(&server->anchor, server_on_idle);
    }
}

void http_server_mark(IoHttpServer *server, HttpConnection *c)
{
    if (c->is_marked || (c->is_settling && !c->is_closed)) {
        return;
    }
    c->is_marked = true;
    c->next_marked = NULL;
    if (server->last_marked != NULL) {
        server->last_marked->next_marked = c;
    } else {
        server->first_marked = c;
    }
    server->last_marked = c;
    if (server->loop->in_hooks) {
        server_hurry(server); /* our own hook may be over in this turn */
    }
}

void http_server_expect(IoHttpServer *server, int64_t due_ms)
{
    if (due_ms == INT64_MAX || server->is_dead) {
        return;
    }
    due_ms += server->grain_ms - 1;
    due_ms -= due_ms % server->grain_ms;
    if (due_ms < server->timer_ms) {
        server->timer_ms = due_ms;
        io_timer_start_at(server->timer, due_ms);
    }
}

static void server_on_timer(void *context)
{
    IoHttpServer *server = context;
    int64_t now_ms = io_loop_now_ms(server->loop);
    int64_t due_ms = INT64_MAX;

    server->timer_ms = INT64_MAX;
    http_server_trim(server, now_ms);
    due_ms = server->trim_ms;
    for (HttpConnection *c = server->first; c != NULL && !server->is_dead;) {
        HttpConnection *next = c->next; /* c may be closed; the others only with the server */

        http_connection_expire(c, now_ms);
        if (!c->is_closed) {
            int64_t c_due_ms = http_connection_due(c);

            due_ms = c_due_ms < due_ms ? c_due_ms : due_ms;
        }
        c = next;
    }
    /* What is overdue was refused, and is timed anew at the end of this turn. */
    http_server_expect(server, due_ms <= now_ms ? now_ms + 1 : due_ms);
}

/* ---- accepting ---- */

static void server_on_readable(uv_poll_t *poll, int status, int events);

static int server_fd(const IoHttpServer *server)
{
    return server->fd >= 0 ? server->fd : server->socket.fd;
}

/* Waits for connections if one more may come. */
static void server_arm(IoHttpServer *server)
{
    bool accepts = !server->is_dead && !server->is_stopping && !server->is_resting &&
                   server->n_connections < server->limits.max_connections;

    if (accepts == server->is_accepting || server->is_dead || server->is_stopping) {
        return;
    }
    server->is_accepting = accepts;
    if (accepts) {
        (void)uv_poll_start(&server->poll, UV_READABLE, server_on_readable);
    } else {
        (void)uv_poll_stop(&server->poll);
    }
}

static void server_on_rested(void *context)
{
    IoHttpServer *server = context;

    server->is_resting = false;
    server_arm(server);
}

static void server_rest(IoHttpServer *server, int r)
{
    logsink_write(server->log, LOGSINK_LEVEL_DEBUG, "http", "%s: accepting pauses: %s",
                  server->address_text, strerror(-r));
    server->is_resting = true;
    io_timer_start_at(server->rest, io_loop_now_ms(server->loop) + SERVER_REST_MS);
    server_arm(server);
}

/* A peer in text, and the address of ours that it came to. */
typedef struct ServerNames {
    char peer[SERVER_PEER_SIZE];
    char local[TCP_ADDRESS_TEXT_SIZE];
} ServerNames;

static int server_take_tcp(IoHttpServer *server, int *ret_fd, IoHttpPeer *ret_peer,
                           ServerNames *names)
{
    TcpAddress address;
    int r = tcp_socket_accept(server->fd, ret_fd, &address);

    if (r != 0) {
        return r;
    }
    tcp_address_text(&address, names->peer);
    ret_peer->is_loopback = tcp_address_is_loopback(&address);
    if (!tcp_address_is_loopback(&server->address) && tcp_socket_local(*ret_fd, &address) == 0) {
        tcp_address_host_text(&address, names->local);
    }
    return 0;
}

/* The next connection, and who it is. 0, or a negative errno. */
static int server_take(IoHttpServer *server, int *ret_fd, IoHttpPeer *ret_peer, ServerNames *names)
{
    long uid = -1;

    names->local[0] = '\0';
    *ret_peer = (IoHttpPeer){.address = names->peer, .local = names->local, .is_loopback = true};
    if (server->fd >= 0) {
        return server_take_tcp(server, ret_fd, ret_peer, names);
    }
    *ret_fd = accept4(server->socket.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (*ret_fd < 0) {
        return -errno;
    }
    (void)unix_socket_peer_ids(*ret_fd, &uid, NULL);
    (void)snprintf(names->peer, sizeof(names->peer), "unix:%ld", uid);
    return 0;
}

/* Accepts one. False: not now any more. */
static bool server_accept(IoHttpServer *server)
{
    ServerNames names;
    IoHttpPeer peer;
    int fd = -1;
    int r = server_take(server, &fd, &peer, &names);

    if (r != 0) {
        if (r == -EINTR || r == -ECONNABORTED) {
            return true;
        }
        if (r != -EAGAIN && r != -EWOULDBLOCK) {
            /* EMFILE, ENFILE, ENOBUFS, ENOMEM; should there be another, a rest does no harm. */
            server_rest(server, r);
        }
        return false;
    }
    if (server->fd < 0 && !unix_socket_peer_is_trusted(fd)) {
        logsink_write(server->log, LOGSINK_LEVEL_DEBUG, "http",
                      "%s: a connection of another user was closed", server->address_text);
        (void)close(fd);
        return true;
    }
    r = http_connection_open(server, fd, &peer);
    if (r != 0) {
        (void)close(fd);
        server_rest(server, r);
        return false;
    }
    server_arm(server);
    return server->is_accepting && !server->is_dead && !server->is_stopping;
}

static void server_on_readable(uv_poll_t *poll, int status, int events)
{
    IoHttpServer *server = poll->data;

    (void)status; /* accept says it better */
    (void)events;
    for (int i = 0; i < SERVER_ACCEPTS && server_accept(server); i++) {
    }
}

/* ---- the end of a turn ---- */

static void server_settle_marked(IoHttpServer *server)
{
    HttpConnection *c = server->first_marked;

    server->first_marked = NULL;
    server->last_marked = NULL;
    while (c != NULL) {
        HttpConnection *next = c->next_marked;

        c->is_marked = false;
        if (c->is_closed) {
            http_connection_free(c);
            io_http_server_freed(server);
        } else {
            http_connection_settle(c);
        }
        c = next;
    }
}

static void server_on_settle(void *context)
{
    IoHttpServer *server = context;
    void (*stopped)(void *context);

    if (!server->is_dead) {
        (void)uv_idle_stop(&server->anchor);
    }
    http_server_let_go(server);
    server_settle_marked(server);
    if (server->is_dead) {
        return;
    }
    if (server->first_marked != NULL) {
        /* What one connection did to another, or itself to be released: with the next turn, so that
         * others get theirs. */
        server_hurry(server);
    }
    server_arm(server);
    if (server->is_stopping && server->n_connections == 0 && server->stopped != NULL) {
        stopped = server->stopped;
        server->stopped = NULL;
        stopped(server->context);
    }
}

/* ---- life ---- */

static void server_release(IoHttpServer *server)
{
    (void)io_timer_free(server->timer);
    (void)io_timer_free(server->rest);
    (void)io_before_wait_free(server->settle);
    server->timer = NULL;
    server->rest = NULL;
    server->settle = NULL;
}

static void server_close_socket(IoHttpServer *server)
{
    if (server->fd >= 0) {
        (void)close(server->fd);
        server->fd = -1;
    }
    unix_socket_unlisten(&server->socket);
}

/* Neither a callback nor the loop knows the server any more. */
static void server_free_memory(IoHttpServer *server)
{
    while (server->first_marked != NULL) {
        HttpConnection *c = server->first_marked;

        server->first_marked = c->next_marked;
        http_connection_free(c);
    }
    inq_deinit(&server->store);
    bytes_deinit(&server->body_store);
    (void)mem_free(server);
}

static void server_on_closed(uv_handle_t *handle)
{
    IoHttpServer *server = handle->data;

    server->n_handles--;
    if (server->n_handles == 0 && server->is_dead) {
        server_free_memory(server);
    }
}

static int64_t server_time(int64_t ms, int64_t default_ms)
{
    if (ms <= 0) {
        return default_ms;
    }
    return ms < LIMIT_TIME_MS ? ms : LIMIT_TIME_MS;
}

static void server_set_limits(IoHttpServer *server, const IoHttpLimits *given)
{
    IoHttpLimits *l = &server->limits;
    int64_t least_ms;

    *l = *given;
    l->max_body_bytes = l->max_body_bytes != 0 ? l->max_body_bytes : LIMIT_HTTP_BODY_BYTES;
    l->max_pending_bytes =
        l->max_pending_bytes != 0 ? l->max_pending_bytes : LIMIT_HTTP_PENDING_BYTES;
    l->max_connections = l->max_connections != 0 ? l->max_connections : LIMIT_HTTP_CONNECTIONS;
    l->head_ms = server_time(l->head_ms, LIMIT_HTTP_HEAD_MS);
    l->body_ms = server_time(l->body_ms, LIMIT_HTTP_BODY_MS);
    l->idle_ms = server_time(l->idle_ms, LIMIT_HTTP_IDLE_MS);
    l->stall_ms = server_time(l->stall_ms, LIMIT_HTTP_STALL_MS);
    l->slow_ms = server_time(l->slow_ms, LIMIT_HTTP_SLOW_MS);
    l->slow_bytes_per_s =
        l->slow_bytes_per_s != 0 ? l->slow_bytes_per_s : LIMIT_HTTP_SLOW_BYTES_PER_S;
    l->linger_bytes = l->linger_bytes != 0 ? l->linger_bytes : LIMIT_HTTP_LINGER_BYTES;
    server->mark_bytes = l->max_pending_bytes / 2 < LIMIT_HTTP_MARK_BYTES ? l->max_pending_bytes / 2
                                                                          : LIMIT_HTTP_MARK_BYTES;
    least_ms = l->head_ms < l->body_ms ? l->head_ms : l->body_ms;
    least_ms = least_ms < l->idle_ms ? least_ms : l->idle_ms;
    least_ms = least_ms < l->stall_ms ? least_ms : l->stall_ms;
    least_ms = least_ms < l->slow_ms ? least_ms : l->slow_ms;
    server->grain_ms = least_ms / 4 < SERVER_GRAIN_MS ? least_ms / 4 + 1 : SERVER_GRAIN_MS;
}

static int server_listen_tcp(IoHttpServer *server, const TcpAddress *address, Diag *diag)
{
    int r;

    server->address = *address;
    r = tcp_socket_listen(&server->fd, &server->address);
    if (r != 0) {
        tcp_address_text(address, server->address_text);
        return diag_set(diag, IO_HTTP_E_PLACE, "cannot listen on %s: %s", server->address_text,
                        r == -EADDRINUSE ? "another process does; end it, or choose another port"
                                         : strerror(-r));
    }
    tcp_address_text(&server->address, server->address_text);
    return 0;
}

static int server_listen(IoHttpServer *server, const char *text, Diag *diag)
{
    HttpAddress address;
    int r = http_address_parse(&address, span_from_str(text), diag);

    if (r != 0) {
        return IO_HTTP_E_PLACE;
    }
    if (!address.is_unix) {
        return server_listen_tcp(server, &address.tcp, diag);
    }
    (void)snprintf(server->address_text, sizeof(server->address_text), "%s", text);
    r = unix_socket_listen(&server->socket, address.path.p, diag);
    if (r > 0 && diag != NULL) {
        diag->code = IO_HTTP_E_PLACE;
    }
    return r > 0 ? IO_HTTP_E_PLACE : err_pass(r);
}

/* The same socket under another number; its file stays the other's for now. */
static int server_share(IoHttpServer *server, const IoHttpServer *from, Diag *diag)
{
    int fd = fcntl(server_fd(from), F_DUPFD_CLOEXEC, 0);

    if (fd < 0) {
        int r = err_raise(-errno);

        return diag_set(diag, r, "cannot go on at %s: %s", from->address_text, strerror(-r));
    }
    if (from->fd >= 0) {
        server->fd = fd;
    } else {
        server->socket.fd = fd;
    }
    server->address = from->address;
    memcpy(server->address_text, from->address_text, sizeof(server->address_text));
    return 0;
}

/* Nothing can fail any more. Without a path the other only closes its number. */
static void server_take_name(IoHttpServer *server, IoHttpServer *from)
{
    if (from != NULL && from->fd < 0) {
        int fd = server->socket.fd;

        server->socket = from->socket;
        server->socket.fd = fd;
        from->socket.path[0] = '\0';
    }
}

static int server_init(IoHttpServer *server, const char *address, IoHttpServer *from, Diag *diag)
{
    int r = io_timer_new(&server->timer, server->loop, true, server_on_timer, server);

    if (r == 0) {
        r = io_timer_new(&server->rest, server->loop, false, server_on_rested, server);
    }
    if (r == 0) {
        r = io_before_wait_new(&server->settle, server->loop, server_on_settle, server);
    }
    if (r != 0) {
        return diag_set(diag, err_pass(r), "out of memory");
    }
    r = from != NULL ? server_share(server, from, diag) : server_listen(server, address, diag);
    if (r != 0) {
        return r;
    }
    r = uv_poll_init(&server->loop->uv, &server->poll, server_fd(server));
    if (r != 0) {
        return diag_set(diag, err_raise(r), "cannot wait for %s", address);
    }
    (void)uv_idle_init(&server->loop->uv, &server->anchor);
    server->poll.data = server;
    server->anchor.data = server;
    server->n_handles = 2;
    server_take_name(server, from);
    server_arm(server);
    return 0;
}

int io_http_server_new(IoHttpServer **ret, const IoHttpConfig *config, Diag *reterr_diag)
{
    IoHttpServer *server = mem_alloc_array(1, sizeof(*server));
    int r;

    if (server == NULL) {
        return diag_set(reterr_diag, err_raise(-ENOMEM), "out of memory");
    }
    server->loop = config->loop;
    server->ops = config->ops;
    server->context = config->context;
    server->log = config->log;
    server->fd = -1;
    server->socket = UNIX_SOCKET_NULL;
    server->timer_ms = INT64_MAX;
    server->freed_ms = INT64_MAX;
    server->trim_ms = INT64_MAX;
    server->date_end_ms = INT64_MIN;
    inq_init(&server->store, 0);
    bytes_init(&server->body_store, SIZE_MAX);
    server_set_limits(server, &config->limits);
    r = server_init(server, config->address, config->from, reterr_diag);
    if (r != 0) {
        server_close_socket(server);
        server_release(server);
        (void)mem_free(server);
        return r;
    }
    *ret = server;
    return 0;
}

const char *io_http_server_address(const IoHttpServer *server)
{
    return server->address_text;
}

unsigned io_http_server_port(const IoHttpServer *server)
{
    return server->address.port;
}

size_t io_http_server_n_connections(const IoHttpServer *server)
{
    return server->n_connections;
}

/* The handle first: libuv takes the number off its list when it closes, whosever it is then. */
static void server_unlisten(IoHttpServer *server)
{
    uv_close((uv_handle_t *)&server->poll, server_on_closed);
    server->is_accepting = false;
    io_timer_stop(server->rest);
    server_close_socket(server);
}

void io_http_server_stop(IoHttpServer *server, void (*stopped)(void *context))
{
    if (server->is_stopping || server->is_dead) {
        return;
    }
    server->is_stopping = true;
    server->stopped = stopped;
    server_unlisten(server);
    for (HttpConnection *c = server->first; c != NULL; c = c->next) {
        http_server_mark(server, c);
    }
    server_hurry(server);
}

IoHttpServer *io_http_server_free(IoHttpServer *server)
{
    if (server == NULL || server->is_dead) {
        return NULL;
    }
    /* What was answered in this turn has yet to leave. */
    http_server_let_go(server);
    server->is_dead = true;
    while (server->first != NULL) {
        http_connection_close(server->first);
    }
    if (!server->is_stopping) {
        server_unlisten(server);
    }
    server_release(server);
    uv_close((uv_handle_t *)&server->anchor, server_on_closed);
    return NULL;
}
