/* Entries are never changed: what takes the place of another is a new one, and the table of paths
 * points at it. So what was found stays valid, and content that was known under a path before is
 * still known by its hash. Two tables of slots (open addressing, 1 + index, 0 for empty) find
 * entries by path, and by hash and end of name. */
#include "toolkit/complexity/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "toolkit/complexity/cache_format.h"

/* What a cache may hold in memory: a million files. Beyond it, -ENOMEM. */
#define CACHE_BYTES ((size_t)2 * 1024 * 1024 * 1024)

typedef struct CacheEntry {
    CacheRecord record;      /* spans in the cache's arena */
    ComplexityCached *found; /* decoded; NULL before */
    bool is_used;            /* found or put since the beginning */
    bool is_replaced;        /* its path has a newer one */
} CacheEntry;

struct ComplexityCache {
    Arena arena;
    CacheEntry *entries;
    size_t n_entries;
    size_t cap_entries;
    uint32_t *by_path;
    uint32_t *by_content;
    size_t n_slots; /* of each table: a power of two, at least twice cap_entries */
    HashSeed seed;
    bool is_changed;
    bool keeps_all; /* also what is not used */
};

int complexity_cache_new(ComplexityCache **ret)
{
    ComplexityCache *cache = mem_alloc_array(1, sizeof(*cache));
    uint8_t random[16];
    int r;

    if (cache == NULL) {
        return err_raise(-ENOMEM);
    }
    /* Paths are anybody's, who might choose them so that they collide. */
    r = random_fill(random, sizeof(random));
    if (r != 0) {
        (void)mem_free(cache);
        return err_fold(r);
    }
    cache->seed = hash_seed_from(random);
    arena_init(&cache->arena, CACHE_BYTES);
    *ret = cache;
    return 0;
}

ComplexityCache *complexity_cache_free(ComplexityCache *cache)
{
    if (cache != NULL) {
        (void)mem_free(cache->entries);
        (void)mem_free(cache->by_path);
        (void)mem_free(cache->by_content);
        arena_deinit(&cache->arena);
    }
    return mem_free(cache);
}

/* The end of the name that says a language: "py" of "a/b.c.py"; without a dot all of the name. */
static Span cache_name_end(Span path)
{
    size_t i = path.n;

    while (i > 0 && path.p[i - 1] != '/' && path.p[i - 1] != '.') {
        i--;
    }
    return span_make(path.p + i, path.n - i);
}

static bool cache_has_dot(Span path)
{
    Span end = cache_name_end(path);

    return end.n < path.n && path.p[path.n - end.n - 1] == '.';
}

static bool cache_names_alike(Span a, Span b)
{
    return cache_has_dot(a) == cache_has_dot(b) &&
           span_equals(cache_name_end(a), cache_name_end(b));
}

/* The slot that has the path, or the empty one where it belongs. */
static uint32_t *cache_path_slot(const ComplexityCache *cache, Span path)
{
    size_t mask = cache->n_slots - 1;
    size_t i = (size_t)hash_span(cache->seed, path) & mask;

    while (cache->by_path[i] != 0 &&
           !span_equals(cache->entries[cache->by_path[i] - 1].record.path, path)) {
        i = (i + 1) & mask;
    }
    return &cache->by_path[i];
}

static uint32_t *cache_content_slot(const ComplexityCache *cache, Span path,
                                    const uint8_t hash[CACHE_HASH_SIZE])
{
    Span bytes = span_make((const char *)hash, CACHE_HASH_SIZE);
    size_t mask = cache->n_slots - 1;
    size_t i =
        (size_t)(hash_span(cache->seed, bytes) ^ hash_span(cache->seed, cache_name_end(path))) &
        mask;

    for (; cache->by_content[i] != 0; i = (i + 1) & mask) {
        const CacheRecord *record = &cache->entries[cache->by_content[i] - 1].record;

        if (memcmp(record->hash, hash, CACHE_HASH_SIZE) == 0 &&
            cache_names_alike(record->path, path)) {
            break;
        }
    }
    return &cache->by_content[i];
}

/* Into both tables. Files of the same content take one slot among them: else a thousand empty ones
 * would be one long chain. */
static void cache_link(ComplexityCache *cache, size_t index)
{
    CacheEntry *entry = &cache->entries[index];
    uint32_t *slot = cache_path_slot(cache, entry->record.path);

    if (*slot != 0) {
        cache->entries[*slot - 1].is_replaced = true;
    }
    *slot = (uint32_t)index + 1;
    if (!cache_format_is_skipped(entry->record.payload)) {
        slot = cache_content_slot(cache, entry->record.path, entry->record.hash);
        if (*slot == 0) {
            *slot = (uint32_t)index + 1;
        }
    }
}

/* Room for n entries in all. 0, -ENOMEM; then nothing has changed. */
static int cache_reserve(ComplexityCache *cache, size_t n)
{
    size_t cap = cache->cap_entries > 0 ? cache->cap_entries : 64;
    uint32_t *by_path;
    uint32_t *by_content;
    CacheEntry *entries;

    if (n <= cache->cap_entries) {
        return 0;
    }
    while (cap < n) {
        cap *= 2;
    }
    if (cap > UINT32_MAX / 2 || cap > SIZE_MAX / sizeof(CacheEntry) / 2) {
        return err_raise(-ENOMEM);
    }
    entries = mem_realloc(cache->entries, cap * sizeof(CacheEntry));
    if (entries == NULL) {
        return err_raise(-ENOMEM);
    }
    cache->entries = entries;
    by_path = mem_alloc_array(cap * 2, sizeof(*by_path));
    by_content = mem_alloc_array(cap * 2, sizeof(*by_content));
    if (by_path == NULL || by_content == NULL) {
        (void)mem_free(by_path);
        (void)mem_free(by_content);
        return err_raise(-ENOMEM);
    }
    (void)mem_free(cache->by_path);
    (void)mem_free(cache->by_content);
    cache->by_path = by_path;
    cache->by_content = by_content;
    cache->cap_entries = cap;
    cache->n_slots = cap * 2;
    for (size_t i = 0; i < cache->n_entries; i++) {
        cache_link(cache, i);
    }
    return 0;
}

/* How many entries there are; false if they are not well-formed to the end. */
static bool cache_count(Span entries, size_t *ret_n)
{
    CacheRecord record;
    size_t at = 0;
    size_t n = 0;

    while (cache_format_next(entries, &at, &record)) {
        n++;
    }
    *ret_n = n;
    return at == entries.n;
}

int complexity_cache_read(ComplexityCache *cache, Span data)
{
    Span entries;
    CacheRecord record;
    size_t at = 0;
    size_t n;
    int r;

    if (!cache_format_open(data, &entries) || !cache_count(entries, &n) || n == 0) {
        return 0;
    }
    r = cache_reserve(cache, n);
    if (r != 0) {
        return err_pass(r);
    }
    entries = arena_copy(&cache->arena, entries);
    if (entries.p == NULL) {
        return err_raise(-ENOMEM);
    }
    while (cache_format_next(entries, &at, &record)) {
        cache->entries[cache->n_entries] = (CacheEntry){.record = record};
        cache_link(cache, cache->n_entries++);
    }
    return 0;
}

static bool stamp_is_zero(const ComplexityStamp *s)
{
    return s->size == 0 && s->mtime_ns == 0 && s->ctime_ns == 0 && s->inode == 0;
}

static bool stamp_equals(const ComplexityStamp *a, const ComplexityStamp *b)
{
    return a->size == b->size && a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns &&
           a->inode == b->inode;
}

/* Decoded once. False: malformed, or no memory; the file is measured again then. */
static bool cache_decode(ComplexityCache *cache, CacheEntry *entry, ComplexityCached *ret)
{
    ComplexityCached decoded;

    if (entry->found == NULL) {
        ComplexityCached *kept;

        if (!cache_format_decode(entry->record.payload, &cache->arena, &decoded)) {
            return false;
        }
        kept = arena_alloc(&cache->arena, sizeof(*kept));
        if (kept == NULL) {
            return false;
        }
        *kept = decoded;
        entry->found = kept;
    }
    *ret = *entry->found;
    return true;
}

static CacheEntry *cache_at(const ComplexityCache *cache, Span path)
{
    uint32_t slot = cache->n_slots > 0 ? *cache_path_slot(cache, path) : 0;

    return slot > 0 ? &cache->entries[slot - 1] : NULL;
}

bool complexity_cache_find(ComplexityCache *cache, Span path, const ComplexityStamp *stamp,
                           ComplexityCached *ret)
{
    CacheEntry *entry = cache_at(cache, path);

    if (entry == NULL || stamp_is_zero(stamp) || !stamp_equals(&entry->record.stamp, stamp) ||
        !cache_decode(cache, entry, ret)) {
        return false;
    }
    entry->is_used = true;
    return true;
}

/* A new entry, which is used. The payload lies in the arena already; the path is copied. */
static int cache_add(ComplexityCache *cache, const CacheRecord *record, ComplexityCached *found)
{
    CacheEntry entry = {.record = *record, .found = found, .is_used = true};
    int r = cache_reserve(cache, cache->n_entries + 1);

    if (r != 0) {
        return err_pass(r);
    }
    entry.record.path = arena_copy(&cache->arena, record->path);
    if (entry.record.path.p == NULL) {
        return err_raise(-ENOMEM);
    }
    cache->entries[cache->n_entries] = entry;
    cache_link(cache, cache->n_entries++);
    cache->is_changed = true;
    return 0;
}

bool complexity_cache_find_content(ComplexityCache *cache, Span path, const ComplexityStamp *stamp,
                                   const uint8_t hash[16], ComplexityCached *ret)
{
    CacheEntry *entry = cache_at(cache, path);
    CacheRecord record;

    if (entry == NULL || memcmp(entry->record.hash, hash, CACHE_HASH_SIZE) != 0) {
        uint32_t slot = cache->n_slots > 0 ? *cache_content_slot(cache, path, hash) : 0;

        entry = slot > 0 ? &cache->entries[slot - 1] : NULL;
    }
    if (entry == NULL || !cache_decode(cache, entry, ret)) {
        return false;
    }
    if (!entry->is_replaced && span_equals(entry->record.path, path) &&
        stamp_equals(&entry->record.stamp, stamp)) {
        entry->is_used = true;
        return true;
    }
    record = entry->record;
    record.path = path;
    record.stamp = *stamp;
    return cache_add(cache, &record, entry->found) == 0;
}

int complexity_cache_put(ComplexityCache *cache, Span path, const ComplexityStamp *stamp,
                         const uint8_t hash[16], const ComplexityCached *what)
{
    CacheRecord record = {.path = path, .stamp = *stamp};
    Bytes payload;
    int r;

    memcpy(record.hash, hash, CACHE_HASH_SIZE);
    bytes_init(&payload, CACHE_BYTES);
    r = cache_format_encode(&payload, what);
    if (r != 0) {
        bytes_deinit(&payload);
        return r < 0 ? err_pass(r) : err_raise(-ENOMEM);
    }
    record.payload = arena_copy(&cache->arena, bytes_span(&payload));
    bytes_deinit(&payload);
    if (record.payload.p == NULL) {
        return err_raise(-ENOMEM);
    }
    r = cache_add(cache, &record, NULL);
    return r != 0 ? err_pass(r) : 0;
}

void complexity_cache_keep_all(ComplexityCache *cache)
{
    cache->keeps_all = true;
}

bool complexity_cache_changed(const ComplexityCache *cache)
{
    return cache->is_changed;
}

static int compare_records(const void *a, const void *b)
{
    const CacheRecord *x = *(const CacheRecord *const *)a;
    const CacheRecord *y = *(const CacheRecord *const *)b;

    return span_compare(x->path, y->path);
}

static int cache_write_records(const CacheRecord *const *records, size_t n, Bytes *out)
{
    size_t start = out->n;
    int r = cache_format_begin(out);

    for (size_t i = 0; i < n && r == 0; i++) {
        r = cache_format_append(out, records[i]);
    }
    if (r != 0) {
        out->n = start;
        return r;
    }
    cache_format_seal(out, start);
    return 0;
}

int complexity_cache_write(const ComplexityCache *cache, Bytes *out)
{
    CLEANUP(mem_freep)
    const CacheRecord **records = mem_alloc_array(cache->n_entries + 1, sizeof(CacheRecord *));
    size_t n = 0;

    if (records == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < cache->n_entries; i++) {
        const CacheEntry *entry = &cache->entries[i];

        if ((entry->is_used || cache->keeps_all) && !entry->is_replaced) {
            records[n++] = &entry->record;
        }
    }
    qsort(records, n, sizeof(*records), compare_records);
    return cache_write_records(records, n, out);
}
