#include "io/listener.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/loop_internal.h"

/* Connections of one turn: enough for a crowd that starts at once, few enough that those already
 * served do not wait for it. */
#define LISTENER_ACCEPTS 64

/* How long accepting rests when the system has no descriptor or memory for it. The waiting
 * connections keep the socket readable, so without a rest the loop would spin. */
#define LISTENER_PAUSE_MS 100

struct IoListener {
    uv_poll_t poll;
    IoLoop *loop;
    IoTimer *pause;
    UnixSocket socket;
    void (*accept)(void *context, int fd);
    void *context;
    const LogSink *log;
    bool is_dead;
};

static void listener_on_closed(uv_handle_t *handle)
{
    (void)mem_free(handle->data);
}

static void listener_pause(IoListener *listener, int error)
{
    logsink_write(listener->log, LOGSINK_LEVEL_DEBUG, "listener", "%s: accepting pauses: %s",
                  listener->socket.path, strerror(error));
    (void)uv_poll_stop(&listener->poll);
    io_timer_start_at(listener->pause, io_loop_now_ms(listener->loop) + LISTENER_PAUSE_MS);
}

static void listener_hand_over(IoListener *listener, int fd)
{
    if (!unix_socket_peer_is_trusted(fd)) {
        logsink_write(listener->log, LOGSINK_LEVEL_DEBUG, "listener",
                      "%s: a connection of another user was closed", listener->socket.path);
        (void)close(fd);
        return;
    }
    listener->accept(listener->context, fd);
}

/* Accepts one. False: not now any more. */
static bool listener_accept(IoListener *listener)
{
    int fd = accept4(listener->socket.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd >= 0) {
        listener_hand_over(listener, fd);
        return !listener->is_dead;
    }
    if (errno == EINTR || errno == ECONNABORTED) {
        return true;
    }
    if (errno != EAGAIN && errno != EWOULDBLOCK) {
        /* EMFILE, ENFILE, ENOBUFS, ENOMEM; and should there be another, a rest does no harm. */
        listener_pause(listener, errno);
    }
    return false;
}

static void listener_on_readable(uv_poll_t *poll, int status, int events)
{
    IoListener *listener = poll->data;

    (void)status; /* accept says it better */
    (void)events;
    for (int i = 0; i < LISTENER_ACCEPTS && listener_accept(listener); i++) {
    }
}

static void listener_on_rested(void *context)
{
    IoListener *listener = context;

    (void)uv_poll_start(&listener->poll, UV_READABLE, listener_on_readable);
}

/* Before the handle is there: everything is released at once. */
static int listener_abandon(IoListener *listener, int r)
{
    unix_socket_unlisten(&listener->socket);
    (void)io_timer_free(listener->pause);
    (void)mem_free(listener);
    return r;
}

int io_listener_new(IoListener **ret, const IoListenerConfig *config, Diag *reterr_diag)
{
    IoListener *listener = mem_alloc_array(1, sizeof(*listener));
    int r;

    if (listener == NULL) {
        return diag_set(reterr_diag, err_raise(-ENOMEM), "out of memory");
    }
    listener->socket = UNIX_SOCKET_NULL;
    listener->loop = config->loop;
    listener->accept = config->accept;
    listener->context = config->context;
    listener->log = config->log;
    r = io_timer_new(&listener->pause, config->loop, false, listener_on_rested, listener);
    if (r != 0) {
        return listener_abandon(listener, diag_set(reterr_diag, err_pass(r), "out of memory"));
    }
    r = unix_socket_listen(&listener->socket, config->path, reterr_diag);
    if (r != 0) {
        return listener_abandon(listener, r);
    }
    r = uv_poll_init(&config->loop->uv, &listener->poll, listener->socket.fd);
    if (r != 0) {
        return listener_abandon(
            listener, diag_set(reterr_diag, err_raise(r), "cannot wait for %s", config->path));
    }
    listener->poll.data = listener;
    (void)uv_poll_start(&listener->poll, UV_READABLE, listener_on_readable);
    *ret = listener;
    return 0;
}

IoListener *io_listener_free(IoListener *listener)
{
    if (listener == NULL) {
        return NULL;
    }
    listener->is_dead = true;
    listener->pause = io_timer_free(listener->pause);
    /* The handle first: libuv takes the number off its list when it closes, whosever it is then. */
    uv_close((uv_handle_t *)&listener->poll, listener_on_closed);
    unix_socket_unlisten(&listener->socket);
    return NULL;
}
