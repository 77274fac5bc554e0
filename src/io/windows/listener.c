/* Clients of a named pipe; declared in io/listener.h.
 *
 * Some instances of the pipe wait for a client, each with an overlapped ConnectNamedPipe. One that
 * has its client is handed over whole, and another takes its slot at once. A client that finds all
 * of them taken is told to try again, and does.
 */
#include "io/listener.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/descriptor_look.h"
#include "io/error_text.h"
#include "io/loop_internal.h"
#include "io/windows/handle_wait.h"
#include "io/windows/unix_socket.h"

/* Instances that wait: as many clients can come between two turns of the loop. */
#define LISTENER_SLOTS 8

/* How long a slot rests when the system has no instance for it. */
#define LISTENER_PAUSE_MS 100

typedef struct ListenerSlot {
    IoListener *listener;
    WinWait *wait;
    HANDLE event;
    HANDLE pipe; /* NULL: rests */
    OVERLAPPED connecting;
    bool is_pending; /* the system has `connecting` */
} ListenerSlot;

struct IoListener {
    uv_idle_t anchor; /* releases the memory when libuv has let go of everything */
    IoLoop *loop;
    IoTimer *pause;
    UnixSocket socket; /* the name; its descriptor went to the first slot */
    ListenerSlot slots[LISTENER_SLOTS];
    void (*accept)(void *context, int fd);
    void *context;
    const LogSink *log;
    bool is_dead;
};

static void listener_rest(IoListener *listener, int r)
{
    logsink_write(listener->log, LOGSINK_LEVEL_DEBUG, "listener", "%s: accepting pauses: %s",
                  listener->socket.path, io_error_text(-r));
    io_timer_start_at(listener->pause, io_loop_now_ms(listener->loop) + LISTENER_PAUSE_MS);
}

/* Takes back what the system has of the slot. */
static void slot_cancel(ListenerSlot *slot)
{
    DWORD n;

    if (slot->is_pending) {
        (void)CancelIoEx(slot->pipe, &slot->connecting);
        (void)GetOverlappedResult(slot->pipe, &slot->connecting, &n, TRUE);
        slot->is_pending = false;
    }
    win_close(&slot->pipe);
}

/* Waits for a client of slot->pipe. 0 or a negative errno. */
static int slot_await(ListenerSlot *slot)
{
    int r;

    slot->connecting = (OVERLAPPED){.hEvent = slot->event};
    (void)ResetEvent(slot->event);
    if (ConnectNamedPipe(slot->pipe, &slot->connecting)) {
        win_wait_fire(slot->wait);
        return 0;
    }
    switch (GetLastError()) {
    case ERROR_PIPE_CONNECTED: /* it came before we asked */
    case ERROR_NO_DATA:        /* and has gone, too: reading will tell */
        win_wait_fire(slot->wait);
        return 0;
    case ERROR_IO_PENDING:
        slot->is_pending = true;
        r = win_wait_start(slot->wait, slot->event);
        return r;
    default:
        return err_raise(win_error());
    }
}

/* Fills a slot that rests. 0 or a negative errno. */
static int slot_fill(ListenerSlot *slot)
{
    int r = win_pipe_instance(slot->listener->socket.path, false, &slot->pipe);

    if (r == 0) {
        r = slot_await(slot);
    }
    if (r != 0) {
        slot_cancel(slot);
    }
    return r;
}

static void listener_hand_over(IoListener *listener, HANDLE pipe)
{
    int fd = -1;
    int r = win_descriptor(pipe, &fd);

    if (r != 0) {
        logsink_write(listener->log, LOGSINK_LEVEL_DEBUG, "listener",
                      "%s: a connection was closed: %s", listener->socket.path, io_error_text(-r));
        win_close(&pipe);
        return;
    }
    if (!unix_socket_peer_is_trusted(fd)) {
        logsink_write(listener->log, LOGSINK_LEVEL_DEBUG, "listener",
                      "%s: a connection of another user was closed", listener->socket.path);
        io_fd_close(fd);
        return;
    }
    listener->accept(listener->context, fd);
}

static void slot_on_client(void *context)
{
    ListenerSlot *slot = context;
    IoListener *listener = slot->listener;
    HANDLE pipe = slot->pipe;
    DWORD n;
    bool is_connected = pipe != NULL;
    int r;

    if (slot->is_pending) {
        is_connected = GetOverlappedResult(pipe, &slot->connecting, &n, FALSE);
        if (!is_connected && GetLastError() == ERROR_IO_INCOMPLETE) {
            (void)win_wait_start(slot->wait, slot->event);
            return;
        }
        slot->is_pending = false;
    }
    /* The next client first: while the owner works on this one others may come. */
    slot->pipe = NULL;
    r = slot_fill(slot);
    if (r != 0) {
        listener_rest(listener, r);
    }
    if (is_connected) {
        listener_hand_over(listener, pipe);
    } else {
        win_close(&pipe);
    }
}

static void listener_on_rested(void *context)
{
    IoListener *listener = context;

    for (size_t i = 0; i < LISTENER_SLOTS; i++) {
        ListenerSlot *slot = &listener->slots[i];
        int r = slot->pipe == NULL ? slot_fill(slot) : 0;

        if (r != 0) {
            listener_rest(listener, r);
            return;
        }
    }
}

/* Every slot with what it waits with, and the first with the instance that has the name. */
static int listener_open_slots(IoListener *listener)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < LISTENER_SLOTS; i++) {
        ListenerSlot *slot = &listener->slots[i];

        slot->listener = listener;
        slot->event = CreateEventW(NULL, TRUE, FALSE, NULL);
        if (slot->event == NULL) {
            return err_raise(win_error());
        }
        r = win_wait_new(&slot->wait, listener->loop, slot_on_client, slot);
        if (r != 0) {
            return err_pass(r);
        }
        if (i > 0) {
            r = slot_fill(slot);
            continue;
        }
        if (!DuplicateHandle(GetCurrentProcess(), win_handle(listener->socket.fd),
                             GetCurrentProcess(), &slot->pipe, 0, FALSE, DUPLICATE_SAME_ACCESS)) {
            return err_raise(win_error());
        }
        io_fd_close(listener->socket.fd);
        listener->socket.fd = -1;
        r = slot_await(slot);
    }
    return r;
}

static void listener_close_slots(IoListener *listener)
{
    for (size_t i = 0; i < LISTENER_SLOTS; i++) {
        ListenerSlot *slot = &listener->slots[i];

        slot->wait = win_wait_free(slot->wait);
        slot_cancel(slot);
        win_close(&slot->event);
    }
}

static void listener_on_closed(uv_handle_t *handle)
{
    (void)mem_free(handle->data);
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
    (void)uv_idle_init(&config->loop->uv, &listener->anchor);
    listener->anchor.data = listener;
    r = io_timer_new(&listener->pause, config->loop, false, listener_on_rested, listener);
    if (r != 0) {
        (void)io_listener_free(listener);
        return diag_set(reterr_diag, err_pass(r), "out of memory");
    }
    r = unix_socket_listen(&listener->socket, config->path, reterr_diag);
    if (r != 0) {
        (void)io_listener_free(listener);
        return r;
    }
    r = listener_open_slots(listener);
    if (r != 0) {
        (void)io_listener_free(listener);
        return diag_set(reterr_diag, err_pass(r), "cannot wait for %s: %s", config->path,
                        io_error_text(-r));
    }
    *ret = listener;
    return 0;
}

IoListener *io_listener_free(IoListener *listener)
{
    if (listener == NULL || listener->is_dead) {
        return NULL;
    }
    listener->is_dead = true;
    listener->pause = io_timer_free(listener->pause);
    listener_close_slots(listener);
    unix_socket_unlisten(&listener->socket);
    uv_close((uv_handle_t *)&listener->anchor, listener_on_closed);
    return NULL;
}
