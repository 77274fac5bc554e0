#include "app/mcp_listener.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "io/descriptor_look.h"
#include "io/error_text.h"
#include "io/listener.h"

typedef struct ListenerClient ListenerClient;

struct ListenerClient {
    McpListener *listener;
    McpDoor *door;
    ListenerClient *previous;
    ListenerClient *next;
};

struct McpListener {
    McpDoorConfig door;
    RouterLimits limits; /* what door.limits points to, unless that is NULL */
    IoListener *socket;  /* NULL: nobody is let in any more */
    IoBeforeWait *settle;
    ListenerClient *first;
    size_t n;
    bool is_draining;
    bool is_closed; /* `closed` has been called */
    void (*closed)(void *context);
    void *context;
};

/* ---- clients ---- */

static void client_free(ListenerClient *client)
{
    McpListener *listener = client->listener;

    if (client->previous != NULL) {
        client->previous->next = client->next;
    } else {
        listener->first = client->next;
    }
    if (client->next != NULL) {
        client->next->previous = client->previous;
    }
    listener->n--;
    client->door = mcp_door_free(client->door);
    (void)mem_free(client);
}

/* The owner may free the listener in it, so nothing follows it. */
static void listener_close_if_done(McpListener *listener)
{
    if (listener->is_draining && listener->n == 0 && !listener->is_closed) {
        listener->is_closed = true;
        listener->closed(listener->context);
    }
}

static void client_on_closed(void *context, int r)
{
    ListenerClient *client = context;
    McpListener *listener = client->listener;

    if (r != 0 && r != -EPIPE && r != -ECONNRESET) {
        logsink_write(listener->door.log, LOGSINK_LEVEL_WARN, "mcp", "a client is lost: %s",
                      io_error_text(-r));
    }
    client_free(client);
    listener_close_if_done(listener);
}

static int listener_add(McpListener *listener, int fd)
{
    ListenerClient *client = mem_alloc_array(1, sizeof(*client));
    McpDoorConfig config = listener->door;
    int r;

    if (client == NULL) {
        return err_raise(-ENOMEM);
    }
    *client = (ListenerClient){.listener = listener, .next = listener->first};
    config.in_fd = fd;
    config.out_fd = fd;
    config.closed = client_on_closed;
    config.context = client;
    r = mcp_door_new(&client->door, &config);
    if (r != 0) {
        (void)mem_free(client);
        return err_pass(r);
    }
    if (client->next != NULL) {
        client->next->previous = client;
    }
    listener->first = client;
    listener->n++;
    return 0;
}

static void listener_on_accept(void *context, int fd)
{
    McpListener *listener = context;
    int r = listener_add(listener, fd);

    if (r != 0) {
        io_fd_close(fd);
        logsink_write(listener->door.log, LOGSINK_LEVEL_WARN, "mcp", "a client is refused: %s",
                      io_error_text(-r));
    }
}

/* ---- life ---- */

/* Says that it is over where no client was left to say so. */
static void listener_on_settle(void *context)
{
    listener_close_if_done(context);
}

int mcp_listener_new(McpListener **ret, const McpListenerConfig *config, Diag *reterr_diag)
{
    McpListener *listener = mem_alloc_array(1, sizeof(*listener));
    int r;

    if (listener == NULL) {
        return err_raise(-ENOMEM);
    }
    *listener = (McpListener){.closed = config->closed, .context = config->context};
    mcp_listener_update(listener, &config->door);
    r = io_before_wait_new(&listener->settle, config->door.loop, listener_on_settle, listener);
    if (r == 0) {
        r = io_listener_new(&listener->socket,
                            &(IoListenerConfig){.loop = config->door.loop,
                                                .path = config->path,
                                                .accept = listener_on_accept,
                                                .context = listener,
                                                .log = config->door.log},
                            reterr_diag);
    }
    if (r != 0) {
        (void)mcp_listener_free(listener);
        return r;
    }
    *ret = listener;
    return 0;
}

void mcp_listener_update(McpListener *listener, const McpDoorConfig *door)
{
    listener->door = *door;
    if (door->limits != NULL) {
        listener->limits = *door->limits;
        listener->door.limits = &listener->limits;
    }
}

McpListener *mcp_listener_free(McpListener *listener)
{
    if (listener == NULL) {
        return NULL;
    }
    listener->socket = io_listener_free(listener->socket);
    while (listener->first != NULL) {
        client_free(listener->first);
    }
    listener->settle = io_before_wait_free(listener->settle);
    return mem_free(listener);
}

void mcp_listener_shutdown(McpListener *listener)
{
    ListenerClient *next;

    if (listener->is_draining) {
        return;
    }
    listener->is_draining = true;
    /* Who comes now finds nobody, and does not wait for an answer that never comes. */
    listener->socket = io_listener_free(listener->socket);
    for (ListenerClient *client = listener->first; client != NULL; client = next) {
        next = client->next;
        mcp_door_shutdown(client->door);
    }
}

size_t mcp_listener_n_clients(const McpListener *listener)
{
    return listener->n;
}
