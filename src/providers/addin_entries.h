/* providers/addin_entries.h: what add-ins and the tools file offer, kept in a router; used by the
 * hub of the pipe only.
 *
 * An entry is one tool or resource, and has an offer of each that describes it: the file's first,
 * then the add-ins', the newest first. The first offer that the router can use is what it shows.
 * When offers come and go, entries whose words stay the same are not touched; one whose words
 * change is removed and added (at the end of the list). Calls that run go on in any case.
 *
 * Offers come and go at once, and the router follows in slices (addin_entries_settle): compiling
 * the schemas of a whole application takes longer than calls of others may wait. Until then it
 * shows what it showed before, be it of one who has gone.
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
    ADDIN_ENTRIES_E_FULL,      /* it has offered ADDIN_MAX_OFFERS things, or all have too many */
    ADDIN_ENTRIES_E_LARGE,     /* it has described ADDIN_MAX_BYTES */
    ADDIN_ENTRIES_E_FILE,      /* the file cannot be used; the Diag says */
};

/* Tools and resources of one add-in. A whole application has hundreds; no agent chooses between
 * thousands; and removing one from the router takes time that grows with all that are there. */
#define ADDIN_MAX_OFFERS ((size_t)4096)

/* JSON that describes what one add-in offers. What the router makes of a description takes up to a
 * hundred times its size (patterns of schemas), and a model that is shown a megabyte of tools has
 * no room left to think. */
#define ADDIN_MAX_BYTES ((size_t)1024 * 1024)

/* One of them: they are compiled whole, and others wait for so long. */
#define ADDIN_MAX_ONE_BYTES ((size_t)256 * 1024)

/* Those of all add-ins together: sixteen of the largest, or hundreds of ordinary ones. */
#define ADDIN_MAX_ALL_BYTES ((size_t)16 * 1024 * 1024)

/* What one slice of settling may cost: bytes of descriptions that are compiled, and something for
 * each entry. About ten milliseconds. */
#define ADDIN_SLICE_COST ((size_t)64 * 1024)

/* Things of one add-in that are left out and named in the log; the others are counted. */
#define ADDIN_MAX_SAID ((size_t)8)

typedef struct AddinEntry AddinEntry;
typedef struct AddinOffer AddinOffer;

/* What one add-in offers. The owner sets the first three and keeps them until withdraw. */
typedef struct AddinOffers {
    void *owner;
    const char *name; /* for the log */
    uint64_t serial;  /* a newer one's is greater; not UINT64_MAX, which is the file's */
    AddinOffer *first;
    size_t n;
    size_t n_bytes;  /* of their descriptions */
    size_t n_new;    /* that have not been settled yet */
    size_t n_bad;    /* whose description the router does not take */
    size_t n_said;   /* left out, and named in the log */
    size_t n_unsaid; /* left out, and not named */
} AddinOffers;

typedef struct AddinDescription {
    RouterKind kind; /* tool or resource */
    Span key;        /* name or URI */
    Span json;
    int64_t timeout_ms; /* 0: not said */
    bool is_command;    /* a tool that answers with envelopes, as it says in its _meta */
    bool is_guarded;    /* of a command: the add-in has a desk of its own */
} AddinDescription;

typedef struct AddinEntries {
    Router *router;
    const CallProvider *provider[ROUTER_N_KINDS];
    void *owner;
    const LogSink *log;
    Map by_key[ROUTER_N_KINDS]; /* key → AddinEntry */
    AddinEntry *due;            /* to be settled, the first that became so first */
    AddinEntry *last_due;
    size_t n_bytes;    /* of the add-ins' descriptions */
    size_t cost;       /* of this slice, so far */
    bool is_changed;   /* offers, since the last slice */
    bool has_left_out; /* something that may find room later */
    bool is_over;      /* nothing is shown any more */
} AddinEntries;

/* How the provider's functions see what is called: their context is an AddinEntry. */
struct AddinEntry {
    void *owner; /* of the entries */
    RouterKind kind;
    Span key; /* in text */
    AddinOffer *offers;
    AddinOffer *shown; /* in the router; NULL: left out, or it is being removed */
    AddinEntry *next_due;
    size_t n_refs; /* ours, and one for each of the router's entries that calls may still use */
    bool is_due;
    bool is_said; /* that it is left out */
    char text[];
};

struct AddinOffer {
    AddinEntry *entry;
    AddinOffer *next;    /* of the entry; older */
    AddinOffer *sibling; /* of the same owner */
    AddinOffers *of;     /* NULL: the file's */
    void *owner;         /* likewise */
    const char *name;
    uint64_t serial;
    int64_t timeout_ms;
    bool is_command;
    bool is_guarded;
    bool is_new;  /* not settled yet: what is shown may be another's words */
    bool is_good; /* the router has taken it before */
    bool is_bad;  /* the router does not take it, and it has been said */
    bool is_gone; /* withdrawn, and still shown: on no list, and freed when it is hidden */
    Span json;    /* in text */
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

/* One thing more, to be settled. Borrows *description until return. 0, -ENOMEM,
 * ADDIN_ENTRIES_E_TWICE, ADDIN_ENTRIES_E_FULL, ADDIN_ENTRIES_E_LARGE. */
int addin_entries_offer(AddinEntries *entries, AddinOffers *offers,
                        const AddinDescription *description);

/* The add-in offers nothing any more; what it offered is to be settled. May run twice. */
void addin_entries_withdraw(AddinEntries *entries, AddinOffers *offers);

/* Is there anything to be settled? */
bool addin_entries_are_due(const AddinEntries *entries);

/* Makes the router show what is offered now, until that has cost max_cost (ADDIN_SLICE_COST); what
 * cannot be shown is kept, with a word in the log. The router's listeners are told once. True if
 * there is more to do. */
bool addin_entries_settle(AddinEntries *entries, size_t max_cost);

/* Something of that add-in is left out: is it to be named in the log? Counts it. */
bool addin_offers_may_say(AddinOffers *offers);

/* Is it a tool of the file? */
bool addin_entry_is_in_file(const AddinEntry *entry);

/* The add-ins' offers, the newest first; NULL if there is none. */
AddinOffer *addin_entry_offers(const AddinEntry *entry);
