/* providers/addin_links.h: all add-ins that are connected to a hub, and which of them a call goes
 * to; used by the hub of the pipe only. Thread: loop. */
#pragma once

#include "base/hash.h"
#include "base/logsink.h"
#include "io/loop.h"
#include "providers/addin_calls.h"
#include "providers/addin_entries.h"
#include "providers/addin_link.h"
#include "providers/addin_source.h"
#include "providers/addins.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Connections at once. Each is an application, or a mistake that connects in a loop: a process may
 * have 1,024 descriptors by default, and others need some too. */
#define ADDIN_MAX_LINKS ((size_t)256)

struct AddinLinks {
    /* Set by the owner. */
    IoLoop *loop;
    AddinEntries *entries;
    const LogSink *log; /* may be NULL */
    HashSeed seed;
    int64_t ping_interval_ms;
    int64_t pong_timeout_ms;
    uint32_t max_bytes;

    AddinSource source;
    AddinCalls calls;
    AddinLink *newest;
    AddinLink *due;
    size_t n;
    size_t n_away;   /* that have gone after they had told what they offer, and none came since */
    int64_t left_ms; /* when the last of them went */
    bool has_moved;  /* one has told what it offers, or goes; the owner sets it back */
    int64_t due_ms;  /* when tick must be called; grows only there. INT64_MAX: not at all */
    int64_t trim_ms; /* when to give memory of those that went back; likewise */
    AddinsCounts counts; /* but for what links that are there have counted */
};

/* After the owner's part was set; the object must not move. */
void addin_links_init(AddinLinks *links);

/* Closes everything; calls end with PIPE_DISCONNECTED. The entries are hidden already. May run
 * twice. */
void addin_links_deinit(AddinLinks *links);

/* A connection. Takes fd in any case: what cannot be served is closed, with a word in the log. */
void addin_links_add(AddinLinks *links, int fd);

/* Once a turn, before the loop waits: calls leave, links that are over go, a slice of what is
 * offered is settled. True if there was anything of that: then the loop must not wait, since there
 * may be more, and since listeners whose own turn was before this one have something to send. */
bool addin_links_settle(AddinLinks *links);

/* Pings, finds the dead, gives memory back. */
void addin_links_tick(AddinLinks *links, int64_t now_ms);

AddinsCounts addin_links_counts(const AddinLinks *links);

/* Is one connected that has not told yet what it offers, or has one gone within so long in whose
 * place none has come? */
bool addin_links_expect(const AddinLinks *links, int64_t within_ms);

/* The one that a call of the entry goes to; NULL if there is none. */
AddinLink *addin_links_find(const AddinLinks *links, const AddinEntry *entry);

/* Whether one is there that is known to offer it: unlike a call, what can wait does not try its
 * luck with one that has not answered yet. */
bool addin_links_serve(const AddinLinks *links, const AddinEntry *entry);
