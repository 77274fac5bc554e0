/* providers/addin_entries.h: what add-ins and the tools file offer, kept in a router; used by the
 * hub of the pipe only.
 *
 * An entry is one tool or resource, and has an offer of each that describes it: the file's first,
 * then the add-ins', the newest first. The first offer that the router can use is what it shows.
 * When offers come and go, entries whose words stay the same are not touched; one whose words
 * change is removed and added (at the end of the list). Calls that run go on in any case.
 *
 * A name that another provider has is left out, with a word in the log, and tried again whenever
 * offers change. Thread: loop.
 */
#pragma once

#include "base/diag.h"
#include "base/logsink.h"
#include "base/map.h"
#include "base/span.h"
#include "call/call.h"
#include "router/router.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ADDIN_ENTRIES_E_TWICE = 1, /* that add-in has offered it already */
    ADDIN_ENTRIES_E_FULL,      /* it has offered ADDIN_MAX_OFFERS things, or there are too many */
    ADDIN_ENTRIES_E_FILE,      /* the file cannot be used; the Diag says */
};

/* Tools and resources of one add-in. A whole application has hundreds; no agent chooses between
 * thousands; and removing one from the router takes time that grows with all that are there. */
#define ADDIN_MAX_OFFERS ((size_t)4096)

typedef struct AddinEntry AddinEntry;
typedef struct AddinOffer AddinOffer;

/* What one add-in offers. The owner sets the first three and keeps them until withdraw. */
typedef struct AddinOffers {
    void *owner;
    const char *name; /* for the log */
    uint64_t serial;  /* a newer one's is greater; not UINT64_MAX, which is the file's */
    AddinOffer *first;
    size_t n;
} AddinOffers;

typedef struct AddinDescription {
    RouterKind kind; /* tool or resource */
    Span key;        /* name or URI */
    Span json;
    int64_t timeout_ms; /* 0: not said */
} AddinDescription;

typedef struct AddinEntries {
    Router *router;
    const CallProvider *provider[ROUTER_N_KINDS];
    void *owner;
    const LogSink *log;
    Map by_key[ROUTER_N_KINDS]; /* key → AddinEntry */
    bool has_left_out;          /* something that may find room later */
    bool is_over;               /* nothing is shown any more */
} AddinEntries;

/* How the provider's functions see what is called: their context is an AddinEntry. */
struct AddinEntry {
    void *owner; /* of the entries */
    RouterKind kind;
    Span key; /* in text */
    AddinOffer *offers;
    AddinOffer *shown; /* in the router; NULL: left out, or it is being removed */
    size_t n_refs;     /* ours, and one for each of the router's entries that calls may still use */
    bool is_said;      /* that it is left out */
    char text[];
};

struct AddinOffer {
    AddinEntry *entry;
    AddinOffer *next;    /* of the entry; older */
    AddinOffer *sibling; /* of the same owner */
    void *owner;         /* NULL: the file */
    const char *name;
    uint64_t serial;
    int64_t timeout_ms;
    bool is_bad; /* the router does not take it, and it has been said */
    Span json;   /* in text */
    char text[];
};

#define ADDIN_ENTRIES_NULL ((AddinEntries){.router = NULL})

/* Borrows everything until deinit; log may be NULL. 0 or a negative errno. */
int addin_entries_init(AddinEntries *entries, Router *router, const CallProvider *tools,
                       const CallProvider *resources, void *owner, const LogSink *log);

/* Removes everything that is left; all offers but the file's have been withdrawn. May run twice. */
void addin_entries_deinit(AddinEntries *entries);

/* Takes everything out of the router, for good; the offers stay until they are withdrawn. */
void addin_entries_hide(AddinEntries *entries);

/* First of all: adds every tool of the tools file, or none; then only deinit may follow. A name
 * that another provider has is a mistake of the file. 0, -ENOMEM, ADDIN_ENTRIES_E_FILE. */
int addin_entries_load(AddinEntries *entries, const char *path, Diag *reterr_diag);

/* Around changes that belong together: the router's listeners are told once. */
void addin_entries_begin(AddinEntries *entries);
void addin_entries_end(AddinEntries *entries);

/* One thing more; what cannot be shown is kept, with a word in the log. Borrows *description until
 * return. 0, -ENOMEM, ADDIN_ENTRIES_E_TWICE, ADDIN_ENTRIES_E_FULL. */
int addin_entries_offer(AddinEntries *entries, AddinOffers *offers,
                        const AddinDescription *description);

/* The add-in offers nothing any more. May run twice. */
void addin_entries_withdraw(AddinEntries *entries, AddinOffers *offers);

/* Is it a tool of the file? */
bool addin_entry_is_in_file(const AddinEntry *entry);

/* The add-ins' offers, the newest first; NULL if there is none. */
AddinOffer *addin_entry_offers(const AddinEntry *entry);
