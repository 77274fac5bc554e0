#include "dialect/pipe/entries.h"

#include "base/alloc.h"
#include "base/error.h"

#define ENTRIES_MIN_BUCKETS ((size_t)16)

void pipe_entries_init(PipeEntries *entries, HashSeed seed)
{
    *entries = (PipeEntries){.seed = seed};
    entries->ring.prev = &entries->ring;
    entries->ring.next = &entries->ring;
}

void pipe_entries_deinit(PipeEntries *entries)
{
    entries->buckets = mem_free(entries->buckets);
    entries->n_buckets = 0;
}

static PipeEntry **bucket_of(const PipeEntries *entries, uint64_t hash)
{
    return &entries->buckets[(size_t)hash & (entries->n_buckets - 1)];
}

static void entries_index(PipeEntries *entries, PipeEntry *entry)
{
    PipeEntry **bucket = bucket_of(entries, entry->hash);

    entry->next_in_bucket = *bucket;
    *bucket = entry;
}

/* Twice as many buckets. */
static int entries_grow(PipeEntries *entries)
{
    size_t n = entries->n_buckets == 0 ? ENTRIES_MIN_BUCKETS : entries->n_buckets * 2;
    PipeEntry **buckets = mem_alloc_array(n, sizeof(PipeEntry *));

    if (buckets == NULL) {
        return err_raise(-ENOMEM);
    }
    (void)mem_free(entries->buckets);
    entries->buckets = buckets;
    entries->n_buckets = n;
    for (PipeEntry *e = entries->ring.next; e != &entries->ring; e = e->next) {
        entries_index(entries, e);
    }
    return 0;
}

int pipe_entries_add(PipeEntries *entries, PipeEntry *entry, Span id)
{
    /* If they cannot be more, chains grow instead. */
    if (entries->n >= entries->n_buckets && entries_grow(entries) != 0 && entries->n_buckets == 0) {
        return err_raise(-ENOMEM);
    }
    entry->id = id;
    entry->hash = hash_span(entries->seed, id);
    entry->prev = entries->ring.prev;
    entry->next = &entries->ring;
    entry->prev->next = entry;
    entries->ring.prev = entry;
    entries_index(entries, entry);
    entries->n++;
    return 0;
}

void pipe_entries_remove(PipeEntries *entries, PipeEntry *entry)
{
    PipeEntry **place = bucket_of(entries, entry->hash);

    while (*place != entry) {
        place = &(*place)->next_in_bucket;
    }
    *place = entry->next_in_bucket;
    entry->prev->next = entry->next;
    entry->next->prev = entry->prev;
    entries->n--;
}

PipeEntry *pipe_entries_find(const PipeEntries *entries, Span id)
{
    uint64_t hash;
    PipeEntry *entry;

    if (entries->n == 0) {
        return NULL;
    }
    hash = hash_span(entries->seed, id);
    entry = *bucket_of(entries, hash);
    while (entry != NULL && (entry->hash != hash || !span_equals(entry->id, id))) {
        entry = entry->next_in_bucket;
    }
    return entry;
}

PipeEntry *pipe_entries_first(const PipeEntries *entries)
{
    return pipe_entries_next(entries, &entries->ring);
}

PipeEntry *pipe_entries_next(const PipeEntries *entries, const PipeEntry *entry)
{
    return entry->next != &entries->ring ? entry->next : NULL;
}
