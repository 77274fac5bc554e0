/* app/watch.h: measures every call that a router has (RouterWatch), and tells the record of calls
 * (app/audit.h), if there is one.
 *
 * Calls are counted in series: one for each sort of provider, dialect and verb that has been met.
 * There are LIMIT_WATCH_SERIES of them at the most, made with the watch; what comes later is
 * counted as provider and dialect "other". A call costs one look at the clock at each end and no
 * memory. Performs no I/O of its own. Thread: loop.
 */
#pragma once

#include "base/bytes.h"
#include "router/router.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Audit Audit;
typedef struct Watch Watch;
struct HttpDoorFigures;
struct QueueFigures;

/* How a call ended. */
typedef enum WatchOutcome {
    WATCH_OK,
    WATCH_TOOL_ERROR, /* the tool ran, and says that it failed */
    WATCH_ERROR,      /* no result: time, a provider that is not there, our own fault… */
    WATCH_CANCELLED,  /* the asker took it back or went, or the hub ends */
    WATCH_REFUSED,    /* it was never run: limits, unknown names, arguments that do not fit */
    WATCH_ASKED,      /* the asker is asked something, and the call comes again with the answer */
    WATCH_N_OUTCOMES
} WatchOutcome;

/* Verbs as they are counted: all lists are one. */
typedef enum WatchVerb {
    WATCH_TOOL,
    WATCH_READ,
    WATCH_PROMPT,
    WATCH_COMPLETE,
    WATCH_LIST,
    WATCH_SUBSCRIBE,
    WATCH_TASK, /* what is asked about a task */
    WATCH_N_VERBS
} WatchVerb;

/* Upper bounds of the histogram, 100 us to 30 s; one more bucket is for what took longer. */
#define WATCH_N_BOUNDS  17
#define WATCH_N_BUCKETS (WATCH_N_BOUNDS + 1)

/* Longer names are cut; those of our own are shorter. */
#define WATCH_NAME_BYTES 32

typedef struct WatchSeries {
    char provider[WATCH_NAME_BYTES];
    char dialect[WATCH_NAME_BYTES];
    WatchVerb verb;
    uint64_t n_calls[WATCH_N_OUTCOMES];
    uint64_t bytes_in;                 /* arguments, and answers to what was asked */
    uint64_t bytes_out;                /* results, before a dialect dresses them */
    uint64_t buckets[WATCH_N_BUCKETS]; /* not cumulative */
    uint64_t sum_ns;
    size_t n_running; /* as of the last watch_count_running */
} WatchSeries;

/* What there is, by provider, in the order in which they are met; those for which there is no room
 * are in none. */
#define WATCH_MAX_PROVIDERS 32

typedef struct WatchProviders {
    size_t n;
    struct {
        char name[WATCH_NAME_BYTES];
        size_t n_entries[ROUTER_N_KINDS];
    } of[WATCH_MAX_PROVIDERS];
} WatchProviders;

/* 0, -ENOMEM. Gives *ret. */
int watch_new(Watch **ret);

/* The router must have been given another one, or none. */
Watch *watch_free(Watch *watch);

/* For router_set_watch; lives as long as the watch. */
const RouterWatch *watch_hooks(const Watch *watch);

/* Borrowed until it is replaced, and finished then (audit_finish); NULL: no record is kept. The
 * count of lost lines goes on from one to the next. */
void watch_set_audit(Watch *watch, Audit *audit);

/* In place of clock_monotonic_ns, for tests. */
void watch_set_clock(Watch *watch, uint64_t (*now_ns)(void *context), void *context);

uint64_t watch_uptime_ns(const Watch *watch);

/* All series that there are; borrowed until the next call. */
const WatchSeries *watch_series(const Watch *watch, size_t *ret_n);

/* Fills in n_running of all series. */
void watch_count_running(Watch *watch, const Router *router);

void watch_count_providers(const Router *router, WatchProviders *ret);

/* The value below which so many (0 to 1) of the calls in buckets lie, taken as evenly spread over
 * each bucket; in seconds. What took longer than the last bound counts as the last bound. 0 if
 * there is none. */
double watch_quantile(const uint64_t buckets[WATCH_N_BUCKETS], double part);

const char *watch_outcome_name(WatchOutcome outcome);
const char *watch_verb_name(WatchVerb verb);

/* Appends all figures as Prometheus reads them (text format 0.0.4). http may be NULL: HTTP is not
 * served; jobs, too: there is no queue. 0, -ENOMEM, BYTES_E_FULL. */
int watch_write_metrics(Watch *watch, const Router *router, const struct HttpDoorFigures *http,
                        const struct QueueFigures *jobs, Bytes *out);
