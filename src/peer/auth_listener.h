/* peer/auth_listener.h: where a browser comes back to: http://127.0.0.1:PORT/callback, for one
 * authorization.
 *
 * Listens on this machine only. What comes to another path, with another method or under another
 * name of the machine is refused; what the owner does not take for its redirect is, too, and the
 * listener waits on. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/span.h"
#include "io/loop.h"

#include <stdbool.h>

typedef struct PeerAuthListener PeerAuthListener;

enum {
    PEER_AUTH_LISTENER_E_PLACE = 1, /* the port is taken; the Diag says why */
};

typedef enum PeerAuthCame {
    PEER_AUTH_CAME_STRANGER, /* not ours: wait on */
    PEER_AUTH_CAME_OURS,     /* the person may close the page; nobody else is listened to */
    PEER_AUTH_CAME_REFUSED,  /* the same, but the page says that it failed */
} PeerAuthCame;

/* port 0: a free one. came: the query of a request (may be empty). 0, -ENOMEM, another negative
 * errno, PEER_AUTH_LISTENER_E_PLACE. Gives *ret. */
int peer_auth_listener_new(PeerAuthListener **ret, IoLoop *loop, unsigned port,
                           PeerAuthCame (*came)(void *context, Span query), void *context,
                           Diag *reterr_diag);

/* "http://127.0.0.1:40123/callback". */
const char *peer_auth_listener_uri(const PeerAuthListener *listener);

/* Lets nobody in any more, but gives out the pages that are on their way. */
void peer_auth_listener_stop(PeerAuthListener *listener);

/* Not from inside `came`. */
PeerAuthListener *peer_auth_listener_free(PeerAuthListener *listener);
