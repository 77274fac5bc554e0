/* router/router_impl.h: what router.c (the registry), dispatch.c (the way of a call), life.c
 * (its start and end) and command.c (what commands have besides) share. */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/map.h"
#include "router/entry.h"
#include "router/faults.h"
#include "router/router.h"

#include <stddef.h>
#include <stdint.h>

/* The entries of one kind, in order. A page of a list is a stretch of `descriptions`; those that
 * are not made yet have no node in it. */
typedef struct RouterTable {
    Map by_key;
    RouterEntry **entries;
    JsonValue *descriptions;
    size_t n_later; /* not in descriptions yet */
    size_t n;
    size_t cap;
} RouterTable;

/* In Router.changed, beside 1 << kind: of the tools that changed, some are shown. */
#define ROUTER_CHANGED_SHOWN (1u << ROUTER_N_KINDS)

struct Router {
    RouterTable tables[ROUTER_N_KINDS];
    /* The tools that are not hidden; by_key is not used. Kept only while shows is set. */
    RouterTable shown;
    bool (*shows)(void *context, Span name);
    void *shows_context;
    RouterEntry *recent_tool; /* the one called last, while it is in the table */
    uint64_t last_serial;
    unsigned rank; /* of what is added */
    size_t n_completing;
    size_t n_commands;
    size_t page_size;
    HashSeed seed;
    int64_t call_timeout_ms;
    int64_t call_timeout_max_ms;

    RouterFaults faults;
    Bytes words;   /* a message or cursor that a result borrows */
    Bytes origins; /* and what is said beside a list */
    Arena scratch; /* for descriptions that are being added */

    RouterListener *listeners;
    RouterListener *listener_walk; /* the next one to be told; moved when that one leaves */
    unsigned n_batches;            /* open ones */
    unsigned changed;              /* 1 << kind, …_SHOWN, while one is open */
    const RouterWatch *watch;      /* or NULL */
    const RouterShorten *shorten;  /* or NULL */
    const CallProvider *later;     /* who takes tasks; or NULL */
    void *later_context;
    void (*filler)(void *context);
    void *filler_context;
    unsigned filler_rank;
    bool is_gated;                  /* lists, and calls of what is not there, wait */
    void (*knocked)(void *context); /* NULL: it was told, or there is nobody to tell */
    void *knocked_context;
    void (*alias)(void *context, Call *call);
    void *alias_context;
    Span (*list_meta)(void *context, RouterKind kind);
    void *list_meta_context;
    Span (*unknown)(void *context, RouterKind kind, Span name);
    void *unknown_context;
    void (*forsaken_fn)(void *context, const CallAsker *asker, Span state);
    void *forsaken_context;
    Map wanted; /* URI → how many want to be told of it */
    void (*wanted_fn)(void *context, Span uri, bool is_wanted);
    void *wanted_context;

    /* Calls whose provider did not answer at once. */
    Call *first;
    Call *last;
    Call *walk;     /* the next one that router_advance looks at; moved when that one leaves */
    int64_t now_ms; /* read it through router_now */
    int64_t (*clock)(void *context);
    void *clock_context;
    int64_t (*stopwatch)(void *context); /* microseconds; or NULL */
    int64_t (*wall_ms)(void *context);   /* or NULL */
    void *stopwatch_context;
    SafetyDesk *desk;         /* or NULL */
    int64_t next_deadline_ms; /* no later than the earliest of them */
};

/* The time, as of now. */
int64_t router_now(Router *router);
int64_t router_now_us(Router *router);

/* What a call that the router has sees of it. */
extern const CallHost router_host;

/* Hands an admitted call to the entry's provider, or to the one who takes tasks; there entry may be
 * NULL. */
void router_start(Router *router, Call *call, RouterEntry *entry);
void router_start_later(Router *router, Call *call, RouterEntry *entry);

/* Tells the listeners that the gate is open. */
void router_tell_opened(Router *router);

/* Lets an admitted call wait for the gate. */
void router_hold(Router *router, Call *call);

/* The template that the URI is of; NULL: there is none. */
const RouterEntry *router_template_of(const Router *router, Span uri);

/* Where an admitted call goes (dispatch.c). */
void router_route(Router *router, Call *call);

/* End an admitted call; as the result is, though it be a command's; with an error; with an error
 * and what the peer named. */
void router_end(Call *call, const CallResult *result);
void router_end_plain(Call *call, const CallResult *result);
void router_end_error(Call *call, CallError error);
void router_end_naming(Router *router, Call *call, CallError error, Span name);

/* End it with an error about what provider has, in that provider's words if it has any. */
void router_end_worded(Call *call, const CallProvider *provider, void *context,
                       const CallResult *error);

/* shorten.c: tells the door, with a result that may be another one; entry may be NULL. A task with
 * its result, likewise; *room: for what is given. */
void router_tell(Call *call, const CallResult *result, const RouterEntry *entry);
const CallTask *router_shorten_task(const Router *router, const CallTask *task, Span owner,
                                    CallTask *room);

/* Ends every running call with CALL_ERROR_CANCELLED. */
void router_end_all(Router *router);
