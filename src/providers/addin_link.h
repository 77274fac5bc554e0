/* providers/addin_link.h: one add-in that is connected to a hub; used by the hub of the pipe only.
 *
 * It is asked at once what it offers. Until it answers it is the last choice for a call.
 * Thread: loop.
 */
#pragma once

#include "base/span.h"
#include "call/call.h"
#include "dialect/pipe/hub.h"
#include "providers/addin_calls.h"
#include "providers/addin_entries.h"
#include "providers/addin_list.h"
#include "providers/addins.h"
#include "providers/pipe_link.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How long an add-in that is told why it is closed may take to read it. */
#define ADDIN_CLOSE_MS 1000

/* A connection that is silent for so long gives the memory of a large message back. */
#define ADDIN_IDLE_MS 1000

typedef enum AddinLinkState {
    ADDIN_LINK_OPEN,
    ADDIN_LINK_CLOSING, /* takes no more: what is pending is written, then it is closed */
    ADDIN_LINK_DEAD     /* freed at the next opportunity */
} AddinLinkState;

typedef enum AddinListState {
    ADDIN_LIST_ASKED,
    ADDIN_LIST_SILENT, /* has no list: offers what the tools file has */
    ADDIN_LIST_TOLD,   /* offers what it has described, and nothing else */
} AddinListState;

typedef struct AddinLinks AddinLinks;
typedef struct AddinLink AddinLink;

/* Room for a reason. */
#define ADDIN_WHY_SIZE 160

struct AddinLink {
    AddinLinks *owner;
    AddinLink *older;
    AddinLink *newer;
    AddinLink *next_due;
    PipeLink wire;
    PipeHub *hub;
    AddinOffers offers; /* with the serial: by time of connection */
    char name[ADDIN_NAME_SIZE];
    AddinLinkState state;
    AddinListState list;
    bool is_due;
    bool awaits_head; /* CLOSING: whose result is over the limit is about to come */
    bool is_lost;     /* its calls have ended */
    bool is_greeted;  /* what it offers is known, and the log says it */
    bool is_known;    /* the log has said so before */
    bool is_named;    /* by a name that the watchdog does not know yet */
    char why[ADDIN_WHY_SIZE];
    int64_t touched_ms;  /* when it was heard last */
    int64_t idle_ms;     /* when to give memory back; INT64_MAX: there is not much */
    int64_t close_by_ms; /* CLOSING */
};

/* One that has just connected, and is asked what it offers. Takes fd in any case. 0, -ENOMEM,
 * another negative errno. Gives *ret. */
int addin_link_new(AddinLink **ret, AddinLinks *links, int fd, int64_t now_ms);

/* Its calls end with PIPE_DISCONNECTED. Not while it is on a list. */
void addin_link_free(AddinLink *link);

/* Adds what it has counted. */
void addin_link_count(const AddinLink *link, AddinsCounts *counts);

/* It is to be settled before the loop waits. */
void addin_link_mark_due(AddinLink *link);

/* Says what it offers, once, when that is settled. */
void addin_link_greet(AddinLink *link);

/* Between events: what was sent leaves; the calls of one that is over end. True if it is to be
 * freed. */
bool addin_link_settle(AddinLink *link);

/* The time has come to now_ms: pings, the dead, memory. */
void addin_link_tick(AddinLink *link, int64_t now_ms);

/* May another call be added to what it has not read yet? */
bool addin_link_has_room(AddinLink *link);

/* A provider's start and cancel; name as the add-in knows it. What is sent leaves before the loop
 * waits, with all else of this turn. */
void addin_link_submit(AddinLink *link, Call *call, Span name);
void addin_link_cancel(Call *call);
