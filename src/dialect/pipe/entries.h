/* dialect/pipe/entries.h: calls by their id, in order of arrival. Private to this folder; an entry
 * is a member of whatever is kept. Thread: loop. */
#pragma once

#include "base/hash.h"
#include "base/span.h"

#include <stddef.h>
#include <stdint.h>

typedef struct PipeEntry {
    struct PipeEntry *prev;
    struct PipeEntry *next;
    struct PipeEntry *next_in_bucket;
    uint64_t hash;
    Span id; /* borrowed until remove */
} PipeEntry;

typedef struct PipeEntries {
    PipeEntry ring; /* head */
    PipeEntry **buckets;
    size_t n_buckets; /* a power of two, or 0 */
    size_t n;
    HashSeed seed;
} PipeEntries;

/* The object that an entry is a member of. */
#define PIPE_ENTRY_OWNER(pointer, type, member)                                                    \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

void pipe_entries_init(PipeEntries *entries, HashSeed seed);

/* What is still in it is not touched any more. */
void pipe_entries_deinit(PipeEntries *entries);

/* 0, -ENOMEM. */
int pipe_entries_add(PipeEntries *entries, PipeEntry *entry, Span id);
void pipe_entries_remove(PipeEntries *entries, PipeEntry *entry);

/* NULL if there is none. */
PipeEntry *pipe_entries_find(const PipeEntries *entries, Span id);

/* The oldest, and the next younger one; NULL if there is none. */
PipeEntry *pipe_entries_first(const PipeEntries *entries);
PipeEntry *pipe_entries_next(const PipeEntries *entries, const PipeEntry *entry);
