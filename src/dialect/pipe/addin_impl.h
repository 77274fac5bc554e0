/* dialect/pipe/addin_impl.h: what the files of the add-in's side share. Private to this folder.
 * Thread: loop. */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "call/call.h"
#include "dialect/pipe/addin.h"
#include "dialect/pipe/entries.h"
#include "dialect/pipe/keepalive.h"
#include "dialect/pipe/wire.h"

/* A call that waits or runs. */
typedef struct AddinItem {
    Call call; /* first: what the router hands back leads here */
    PipeEntry entry;
    PipeAddin *addin;
    struct AddinItem *next; /* among those that wait, or in the pool */
    Bytes id;
    size_t n_bytes; /* of the message that it came in */
    int64_t since_ms;
    bool is_running;
} AddinItem;

struct PipeAddin {
    PipeAddinConfig config;
    PipeWire wire;
    PipeEntries items; /* all of them */
    size_t n_running;
    AddinItem *waiting; /* the first of them */
    AddinItem **waiting_end;
    size_t n_waiting;
    size_t n_waiting_bytes;
    AddinItem *fetched; /* the last that next gave, until it gives another or NULL */
    PipeKeepalive keepalive;
    uint64_t n_pings; /* sent */
    uint64_t n_pongs; /* never more than those */
    uint64_t asked;   /* n_pings of the owner's last one */
    PipeAddinCounts counts;
    unsigned understood; /* by the hub: 1u << PipeType of each */
    AddinItem *pool;
    size_t n_pool;
    Arena arena; /* of the message that is being read */
    Bytes list;
    bool is_ending;
    int error;
};

/* Forgets one that does not wait. */
void pipe_addin_release(PipeAddin *addin, AddinItem *item);

/* Ends a call that neither runs nor waits any more, with an answer that says so. 0, a negative
 * errno. */
int pipe_addin_answer_cancelled(PipeAddin *addin, AddinItem *item);

/* CallDoor.progress of its calls. */
void pipe_addin_progress(Call *call, const CallProgress *progress);

/* The hub has said tool_cancel. 0, a negative errno that ends the connection. */
int pipe_addin_cancel(PipeAddin *addin, Span call_id);
