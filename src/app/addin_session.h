/* app/addin_session.h: one connection of an add-in to its hub; used by addin_door.c only.
 *
 *     CLOSED --open--> OPEN --hub gone, broken, dead, end--> ENDING --output written--> CLOSED
 *
 * ENDING: its calls are cancelled, nothing is read any more, and what was written before still
 * leaves, if the hub is there and reads it within ADDIN_SESSION_LINGER_MS.
 *
 * Back-pressure: while more than LIMIT_OUTPUT_PAUSE_BYTES wait for the hub, neither messages nor
 * calls that wait are taken. So a ping behind them is answered when the hub has read what lies
 * before it, as every answer is; and since pongs are not read either, a hub that leaves its answers
 * lying for longer than the pong timeout counts as dead. Calls that run by then always find room
 * for their answers: what waits is bounded by their number times the limit of a message.
 *
 * Two of them may hand over (addin_renewal.h): what the heir is asked is served at once, or, if
 * calls run one after the other, when the other one has gone. Thread: loop. */
#pragma once

#include "app/asker.h"
#include "base/hash.h"
#include "base/logsink.h"
#include "base/span.h"
#include "dialect/pipe/addin.h"
#include "providers/pipe_link.h"
#include "router/quota.h"
#include "router/router.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How long a hub that reads slowly may take to read why it is left. */
#define ADDIN_SESSION_LINGER_MS 2000

/* Room for the words that say how it ended. */
#define ADDIN_SESSION_WHY_BYTES 160

typedef enum AddinSessionState {
    ADDIN_SESSION_CLOSED,
    ADDIN_SESSION_OPEN,
    ADDIN_SESSION_ENDING,
} AddinSessionState;

typedef struct AddinSession {
    /* Set by the door, before init. */
    IoLoop *loop;
    Router *router;
    const char *name;
    RouterQuota *quota;
    size_t max_running;
    uint32_t max_bytes;
    int64_t ping_interval_ms;
    int64_t pong_timeout_ms;
    size_t (*ending)(void *context); /* as AddinDoorConfig.ending, with context */
    void *context;
    bool pings_in_calls; /* no call keeps the loop: pings are answered whatever runs */
    const LogSink *log;

    AddinSessionState state;
    Asker asker; /* the hub that it is connected to */
    PipeLink link;
    PipeAddin *pipe; /* NULL unless OPEN */
    PipeSource source;
    HashSeed seeds[2]; /* of ids, and of the table of calls */
    uint64_t n_ids;
    struct AddinSession *other; /* during a hand-over: both together run max_running calls */
    bool is_heir;               /* of the two the one that follows the other */
    bool is_taking;
    bool is_over;       /* OPEN, but it ends with the next finish */
    bool is_lost;       /* nobody reads any more */
    bool is_due;        /* a ping or its answer, in the next turn */
    bool has_listed;    /* the hub has asked what is offered */
    bool hears_changes; /* it understands tools_changed */
    bool is_stale;      /* what it was told is no longer true */
    bool is_announced;  /* and the hub has been told so, and is to ask */
    bool is_draining;
    size_t n_to_run;     /* draining: calls that waited when it began */
    int64_t close_by_ms; /* ENDING */
    int64_t trim_ms;     /* when memory of large messages is given back; INT64_MAX: there is none */
    int64_t touched_ms;
    char why[ADDIN_SESSION_WHY_BYTES];
} AddinSession;

/* CLOSED; must not move until deinit. 0, or a negative errno. */
int addin_session_init(AddinSession *s);

/* Cancels what runs, closes. May run twice. */
void addin_session_deinit(AddinSession *s);

/* Takes fd on success. 0, -ENOMEM, another negative errno. */
int addin_session_open(AddinSession *s, int fd);

/* Ends it, with the next finish; why: for people, may be empty, copied. Does nothing if it ends
 * already. */
void addin_session_end(AddinSession *s, Span why);

/* From now on calls that come are refused; those that wait still run. */
void addin_session_drain(AddinSession *s);

/* Neither runs a call nor does one wait that is to be run, and all answers have left. */
bool addin_session_is_idle(const AddinSession *s);

/* A ping besides those of the keep-alive, which leaves at once; as pipe_addin_ping, and false if it
 * is not OPEN, or ends. */
bool addin_session_ping(AddinSession *s, int64_t now_ms);
bool addin_session_is_ponged(const AddinSession *s);

/* Once a turn, before the loop waits: calls that may run now, pings that are due, output. */
void addin_session_settle(AddinSession *s, int64_t now_ms);

/* After it: goes on with an end that has begun, up to CLOSED. */
void addin_session_finish(AddinSession *s, int64_t now_ms);

/* When both must be called next. */
int64_t addin_session_deadline(const AddinSession *s);
