/* app/callsock_links.h: the connections of a call-socket door; used by callsock_door.c only.
 * Thread: loop. */
#pragma once

#include "base/logsink.h"
#include "io/loop.h"
#include "router/quota.h"
#include "router/router.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How often links are looked at that cannot hear of their end, and how long a link must have been
 * silent before it gives the memory of a large message back. */
#define CALLSOCK_LINKS_TICK_MS 1000

typedef struct CallsockLink CallsockLink;

typedef struct CallsockLinks {
    /* Set by the door. */
    IoLoop *loop;
    Router *router;
    RouterLimits limits; /* of each */
    uint32_t max_bytes;
    int64_t drain_ms; /* how long one that is told of its end may take to read why */
    const LogSink *log;

    CallsockLink *first;
    CallsockLink *due;
    size_t n;
    bool wants_tick; /* callsock_links_tick is to be called after CALLSOCK_LINKS_TICK_MS */
    bool is_draining;
    bool has_lost; /* some have gone since the last tick */
} CallsockLinks;

/* A connection; takes fd on success. 0, -ENOMEM, another negative errno. */
int callsock_links_add(CallsockLinks *links, int fd);

/* Once a turn, before the loop waits: answers leave, links that are over go. */
void callsock_links_settle(CallsockLinks *links);

void callsock_links_tick(CallsockLinks *links, int64_t now_ms);

/* No request is taken any more; each link goes as soon as its call is answered. */
void callsock_links_drain(CallsockLinks *links);

/* All of them go, with the next settle. Returns how many calls were cancelled. */
size_t callsock_links_give_up(CallsockLinks *links);

/* Cancels what still runs, closes everything. */
void callsock_links_deinit(CallsockLinks *links);
