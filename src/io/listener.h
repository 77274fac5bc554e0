/* io/listener.h: accepts connections on a Unix socket.
 *
 * Peers of another user (root aside) are closed at once. When descriptors run out, accepting pauses
 * for a moment and goes on; the connections wait in the system. On Windows it is a named pipe
 * (io/unix_socket.h), and a client that finds it busy is told to try again. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/logsink.h"
#include "io/loop.h"
#include "io/unix_socket.h"

typedef struct IoListener IoListener;

typedef struct IoListenerConfig {
    IoLoop *loop;
    const char *path; /* copied */
    /* A connection, as a non-blocking descriptor that the owner takes. May free the listener. */
    void (*accept)(void *context, int fd);
    void *context;
    const LogSink *log; /* may be NULL; what is refused or postponed, at debug level */
} IoListenerConfig;

/* As unix_socket_listen; keeps the loop running. Gives *ret. */
int io_listener_new(IoListener **ret, const IoListenerConfig *config, Diag *reterr_diag);

/* Removes the socket's name, and closes it: what has not been accepted is refused. */
IoListener *io_listener_free(IoListener *listener);
