/* dialect/pipe/hub_impl.h: what the files of the hub's side share. Private to this folder. Thread:
 * loop. */
#pragma once

#include "base/arena.h"
#include "call/call.h"
#include "dialect/pipe/entries.h"
#include "dialect/pipe/hub.h"
#include "dialect/pipe/keepalive.h"
#include "dialect/pipe/wire.h"

/* Room for a sentence and a reason in it. */
#define HUB_WORDS_BYTES 320

/* A call that is out. */
typedef struct HubItem {
    PipeEntry entry;
    struct HubItem *next_free;
    Call *call; /* NULL: asks for the list */
    int64_t since_ms;
    uint64_t n_pings; /* sent before it */
    char id[UUID_SIZE];
} HubItem;

typedef enum HubState {
    HUB_OPEN,
    HUB_ENDING, /* the connection is useless, and the owner has yet to say that it is lost */
    HUB_LOST,
} HubState;

struct PipeHub {
    PipeHubConfig config;
    PipeWire wire;
    HubState state;
    PipeEntries out;
    size_t n_calls; /* in out */
    PipeKeepalive keepalive;
    uint64_t n_pings;    /* sent */
    uint64_t n_pongs;    /* never more than those */
    unsigned understood; /* by the add-in: 1u << PipeType of each */
    bool is_listing;     /* the list is out */
    bool must_list;      /* and is to be asked for again */
    PipeHubCounts counts;
    HubItem *pool;
    size_t n_pool;
    Arena arena;     /* of the message that is being read, and of failures */
    size_t n_inside; /* those who use the arena, one inside the other */
    int error;
};

/* NULL asks for the list. */
TW_INLINE bool pipe_hub_is_read(const Call *call)
{
    return call != NULL && call->verb == CALL_READ;
}

/* Around every use of the arena, which may be one inside the other. */
void pipe_hub_enter(PipeHub *hub);
void pipe_hub_leave(PipeHub *hub);

/* Forgets what is out, and gives its call (NULL if it asked for the list), which no longer knows of
 * us. */
Call *pipe_hub_release(PipeHub *hub, HubItem *item, int64_t now_ms);

/* Ends a call that is not out; NULL: nothing. It may lead to the next submit before it returns. */
void pipe_hub_fail(PipeHub *hub, Call *call, const char *code, const char *words);

/* Asks for the list, of one that is OPEN. 0, PIPE_WIRE_E_*, a negative errno, after which the
 * connection is useless. */
int pipe_hub_ask_list(PipeHub *hub, int64_t now_ms);
