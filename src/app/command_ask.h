/* app/command_ask.h: what command_door.c (requests and their life), command_ask.c (what each
 * asks of the queue), command_enqueue.c and command_tell.c (what it answers) share. Thread: loop.
 */
#pragma once

#include "app/command_door.h"
#include "app/command_there.h"

#include "base/arena.h"
#include "base/bytes.h"
#include "dialect/command/answer.h"
#include "dialect/command/request.h"
#include "io/loop.h"
#include "router/router.h"

/* A body, and 16 bytes for each of its values, of which it has at most one for two bytes. */
#define COMMAND_ARENA_BYTES ((size_t)32 * LIMIT_QUEUE_BODY_BYTES)

/* A list of jobs with their bodies is the longest; more is left out (limit). */
#define COMMAND_ANSWER_BYTES ((size_t)256 * 1024 * 1024)

/* How much of its memory a request keeps for the next one: some 10 KiB in all, where allocating it
 * anew would be a tenth of what a request costs. */
#define COMMAND_SPARE_BYTES ((size_t)4096)

/* Lists of those who wait for a job: as many clients wait at once, and some. */
#define COMMAND_WATCH_LISTS 256

typedef struct CommandAsk CommandAsk;

struct CommandDoor {
    CommandDoorConfig config;
    IoLoop *loop;
    Router *router;
    HttpSide side;
    int64_t pid; /* of this process: it is in many answers */
    JobsListener listener;
    RouterListener gate;
    IoTimer *timer; /* the next wait that is over */
    int64_t due_ms;
    CommandAsk *asks;
    size_t n_asks;
    /* Of them: those whom a change of a job may concern. The first list is of those who fetch, the
     * others are by the job that they are about, so that a change does not go through all. */
    CommandAsk *watchers[1 + COMMAND_WATCH_LISTS];
    CommandAsk *spare; /* over; their memory is kept for the next ones */
    size_t n_spare;
    CommandThere there; /* what applications fetch */
    Bytes out;          /* an answer, from its first byte until it is handed over */
    bool is_ending;
};

struct CommandAsk {
    CommandAsk *next;
    CommandAsk *prev;
    CommandAsk *next_watcher;
    CommandAsk *prev_watcher;
    CommandDoor *door;
    IoHttpExchange *x; /* NULL: nobody waits for the answer */
    CommandRoute route;
    CommandRequest request;
    JobsAsk queue;
    Arena arena;             /* the request: its body, and what was read of it and its head */
    Bytes record;            /* what is written for the queue, or for the answer's nextActions */
    char id[QUEUE_ID_BYTES]; /* of the job that it is about; "": none, or not known yet */
    char woken_for[QUEUE_ID_BYTES]; /* PENDING: the job that is left to it; "": none */
    Span owner;
    int64_t deadline_ms; /* of waiting; 0: does not wait */
    bool is_asking;      /* queue is on its way */
    bool is_at_gate;     /* it is about tools that may yet come (router_close_gate) */
    bool is_waiting;
    bool is_watching; /* in door->watchers */
    size_t watch_list;
    bool is_stale;   /* the job changed meanwhile */
    bool is_closing; /* its door closes: only what runs is waited for */
    bool is_known;   /* its idempotency key was there already */
};

/* ---- command_door.c; each of the first four ends ask ---- */

CommandAsk *command_ask_free(CommandAsk *ask);

/* With what is in the door's out. extra: one more field, or NULL. */
void command_ask_respond(CommandAsk *ask, unsigned status, const Http1Field *extra);
void command_ask_nothing(CommandAsk *ask, unsigned status, const Http1Field *extra);
void command_ask_refuse(CommandAsk *ask, unsigned status, const char *code, Span message,
                        const Http1Field *extra);
void command_ask_refuse_queue(CommandAsk *ask, int r);
/* Until its job changes, or its time is over. */
void command_ask_wait(CommandAsk *ask);

/* ---- command_tell.c; each ends ask, or lets it wait ---- */

/* Which job it is about. If it may wait, it is told when that changes. */
void command_ask_name(CommandAsk *ask, Span id);
void command_tell_job(CommandAsk *ask, const QueueJob *job);
void command_tell_result(CommandAsk *ask, const QueueJob *job);
void command_tell_enqueued(CommandAsk *ask, const QueueJob *job, bool is_known);
void command_tell_jobs(CommandAsk *ask, const QueueOp *op);
void command_tell_pending(CommandAsk *ask, const QueueOp *op);
void command_tell_health(CommandAsk *ask, const QueueCounts *counts);
void command_tell_done(CommandAsk *ask, const QueueJob *job, int64_t lease_ms);
/* With what was written into out, and r of that. */
void command_ask_end(CommandAsk *ask, int r, unsigned status, const Http1Field *extra);

/* From now on it is told when a job changes: the one that ask->id names, or, if it fetches, any
 * that may be fetched. */
void command_ask_watch(CommandAsk *ask);

/* It has claimed, or tried to. The job that it was woken for was left to it alone: if it has
 * another one now, or an error, the others look. If it has none, somebody else has that job. */
void command_ask_pass_on(CommandAsk *ask);

/* The last of it, when no request is in work any more. */
void command_door_end(CommandDoor *door);

/* It fetches, and would take it. */
bool command_ask_fetches(const CommandAsk *ask, Span method);

/* ---- command_enqueue.c; each ends ask, or lets it wait ---- */

void command_enqueue(CommandAsk *ask);

/* The queue has listed jobs that may be under a lease. */
void command_enqueue_looked(CommandAsk *ask);

/* ---- command_ask.c ---- */

/* Asks the queue; what it answers comes back to ask. order: borrowed until return, or NULL. */
void command_ask_send(CommandAsk *ask, QueueVerb verb, const QueueOrder *order);

/* Goes on with one that waited at the gate. */
void command_ask_pass(CommandAsk *ask);
void command_ask_begin(CommandAsk *ask, const Http1Head *head, Span body, Span owner);
void command_ask_again(CommandAsk *ask); /* something changed while it waited */
void command_ask_late(CommandAsk *ask);  /* its time is over: answers with how things are */
