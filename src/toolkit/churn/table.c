/* File: "TWCHURN1", the number of pairs (8 bytes), then for each its key (16 bytes) and both
 * numbers as in LEB128, newest first; last a hash of all of that (8 bytes). Little-endian.
 *
 * In memory the pairs lie in an array, with an index beside it. Each has the analysis that saw it
 * last and its place in that one: what has the lowest analysis, and of these the highest place, is
 * the oldest and goes first. */
#include "toolkit/churn/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "toolkit/churn/index.h"

#define TABLE_MAGIC      "TWCHURN1"
#define TABLE_MAGIC_SIZE 8
#define TABLE_HEAD_SIZE  16
#define TABLE_TAIL_SIZE  8
#define TABLE_KEY_SIZE   16

/* Both numbers of a binary file; no text has as many lines. */
#define TABLE_BINARY UINT32_MAX

/* Constant, because the hashes are kept. Whoever finds two changes with one key has a wrong number
 * in the analysis of their own repository. */
static const HashSeed table_seed_a = {0x746F6F6C77697265u, 0x636875726E2D6131u};
static const HashSeed table_seed_b = {0x636875726E2D6231u, 0x746F6F6C77697265u};
static const HashSeed table_seed_file = {0x6B65657073206974u, 0x66726F6D20726F74u};

typedef struct TablePair {
    ChurnKey key;
    uint32_t added;
    uint32_t deleted;
    uint32_t analysis;
    uint32_t place;
} TablePair;

struct ChurnTable {
    TablePair *pairs;
    size_t n;
    size_t cap;
    size_t max_pairs;
    ChurnIndex index;
    uint32_t analysis; /* the present one; 0: what was read */
    uint32_t place;
    bool is_full; /* with pairs of the present analysis */
    bool is_changed;
};

int churn_table_new(ChurnTable **ret, size_t max_pairs)
{
    ChurnTable *table = mem_alloc_array(1, sizeof(*table));

    if (table == NULL) {
        return err_raise(-ENOMEM);
    }
    table->max_pairs = max_pairs < CHURN_NONE / 2 ? max_pairs : CHURN_NONE / 2;
    *ret = table;
    return 0;
}

static void table_empty(ChurnTable *table)
{
    table->pairs = mem_free(table->pairs);
    churn_index_deinit(&table->index);
    *table = (ChurnTable){.max_pairs = table->max_pairs};
}

ChurnTable *churn_table_free(ChurnTable *table)
{
    if (table != NULL) {
        table_empty(table);
    }
    return mem_free(table);
}

bool churn_table_changed(const ChurnTable *table)
{
    return table->is_changed;
}

size_t churn_table_size(const ChurnTable *table)
{
    return table->n;
}

ChurnKey churn_key(Span blobs, Span path)
{
    /* The path's hash is the seed of the other: the two texts need not lie side by side. */
    HashSeed a = {table_seed_a.k0, table_seed_a.k1 ^ hash_span(table_seed_a, path)};
    HashSeed b = {table_seed_b.k0, table_seed_b.k1 ^ hash_span(table_seed_b, path)};

    return (ChurnKey){hash_span(a, blobs), hash_span(b, blobs)};
}

void churn_table_begin(ChurnTable *table)
{
    table->analysis++;
    table->place = 0;
    table->is_full = false;
}

static TablePair *table_find(const ChurnTable *table, ChurnKey key)
{
    size_t at = 0;
    uint32_t id = churn_index_first(&table->index, key.a, &at);

    while (id != CHURN_NONE) {
        TablePair *pair = &table->pairs[id];

        if (pair->key.a == key.a && pair->key.b == key.b) {
            return pair;
        }
        id = churn_index_next(&table->index, key.a, &at);
    }
    return NULL;
}

/* Only its first place in an analysis counts: that is the newest commit with it. */
static void table_touch(ChurnTable *table, TablePair *pair)
{
    if (pair->analysis != table->analysis) {
        pair->analysis = table->analysis;
        pair->place = table->place++;
    }
}

bool churn_table_get(ChurnTable *table, ChurnKey key, ChurnLines *ret)
{
    TablePair *pair = table_find(table, key);

    if (pair == NULL) {
        return false;
    }
    table_touch(table, pair);
    *ret = (ChurnLines){pair->added, pair->deleted, false};
    if (pair->added == TABLE_BINARY) {
        *ret = (ChurnLines){0, 0, true};
    }
    return true;
}

static int table_by_age(const void *x, const void *y)
{
    const TablePair *a = x;
    const TablePair *b = y;

    if (a->analysis != b->analysis) {
        return a->analysis > b->analysis ? -1 : 1;
    }
    return a->place < b->place ? -1 : a->place > b->place;
}

/* Forgets an eighth, but nothing that the present analysis saw. */
static int table_forget(ChurnTable *table)
{
    size_t n = table->n - table->n / 8;
    int r = 0;

    if (table->n > 0) {
        n = n == table->n ? n - 1 : n;
        qsort(table->pairs, table->n, sizeof(*table->pairs), table_by_age);
    }
    while (n < table->n && table->pairs[n].analysis == table->analysis) {
        n++;
    }
    table->is_full = n == table->n;
    table->n = n;
    churn_index_clear(&table->index);
    for (size_t i = 0; i < n && r == 0; i++) {
        r = churn_index_add(&table->index, table->pairs[i].key.a, (uint32_t)i);
    }
    return r;
}

static int table_append(ChurnTable *table, const TablePair *pair)
{
    int r = churn_grow(&table->pairs, &table->cap, table->n, sizeof(*table->pairs));

    if (r == 0) {
        r = churn_index_add(&table->index, pair->key.a, (uint32_t)table->n);
    }
    if (r != 0) {
        return err_pass(r);
    }
    table->pairs[table->n++] = *pair;
    return 0;
}

int churn_table_put(ChurnTable *table, ChurnKey key, ChurnLines lines)
{
    TablePair *known = table_find(table, key);
    TablePair pair = {key, (uint32_t)lines.added, (uint32_t)lines.deleted, table->analysis, 0};
    int r;

    if (known != NULL) {
        table_touch(table, known);
        return 0;
    }
    if (lines.added >= TABLE_BINARY || lines.deleted >= TABLE_BINARY || table->is_full) {
        return 0;
    }
    if (table->n >= table->max_pairs) {
        r = table_forget(table);
        if (r != 0 || table->is_full) {
            return err_pass(r);
        }
    }
    if (lines.is_binary) {
        pair.added = TABLE_BINARY;
        pair.deleted = TABLE_BINARY;
    }
    pair.place = table->place++;
    table->is_changed = true;
    return err_pass(table_append(table, &pair));
}

/* ---- the file ---- */

static void table_store_le(uint64_t value, char out[8])
{
    for (size_t i = 0; i < 8; i++) {
        out[i] = (char)(unsigned char)(value >> (8 * i));
    }
}

static uint64_t table_load_le(const char *p)
{
    uint64_t value = 0;

    for (size_t i = 0; i < 8; i++) {
        value |= (uint64_t)(unsigned char)p[i] << (8 * i);
    }
    return value;
}

static size_t table_store_leb(uint32_t value, char *out)
{
    size_t n = 0;

    for (; value >= 0x80; value >>= 7) {
        out[n++] = (char)(unsigned char)(value | 0x80);
    }
    out[n++] = (char)value;
    return n;
}

static bool table_load_leb(const char **p, const char *end, uint32_t *ret)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 35 && *p < end; shift += 7) {
        unsigned byte = (unsigned char)*(*p)++;

        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *ret = (uint32_t)value;
            return value <= UINT32_MAX;
        }
    }
    return false;
}

static int table_write_pairs(const TablePair *pairs, size_t n, Bytes *out)
{
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++) {
        char entry[TABLE_KEY_SIZE + 10];
        size_t size = TABLE_KEY_SIZE;

        table_store_le(pairs[i].key.a, entry);
        table_store_le(pairs[i].key.b, entry + 8);
        size += table_store_leb(pairs[i].added, entry + size);
        size += table_store_leb(pairs[i].deleted, entry + size);
        r = bytes_append(out, entry, size);
    }
    return r;
}

int churn_table_write(const ChurnTable *table, Bytes *out)
{
    CLEANUP(mem_freep) TablePair *sorted = mem_alloc_array(table->n + 1, sizeof(*sorted));
    char head[TABLE_HEAD_SIZE] = TABLE_MAGIC;
    char tail[TABLE_TAIL_SIZE];
    size_t start = out->n;
    int r;

    if (sorted == NULL) {
        return err_raise(-ENOMEM);
    }
    if (table->n > 0) {
        memcpy(sorted, table->pairs, table->n * sizeof(*sorted));
        qsort(sorted, table->n, sizeof(*sorted), table_by_age);
    }
    table_store_le(table->n, head + TABLE_MAGIC_SIZE);
    r = bytes_append(out, head, sizeof(head));
    if (r == 0) {
        r = table_write_pairs(sorted, table->n, out);
    }
    if (r == 0) {
        table_store_le(hash_span(table_seed_file, span_make(out->data + start, out->n - start)),
                       tail);
        r = bytes_append(out, tail, sizeof(tail));
    }
    if (r != 0) {
        out->n = start;
    }
    return err_pass(r);
}

/* The pairs between p and end; false: damaged. */
static bool table_read_pairs(ChurnTable *table, const char *p, const char *end, uint64_t n,
                             int *ret_r)
{
    int r = 0;

    for (uint64_t i = 0; i < n && r == 0; i++) {
        TablePair pair = {.analysis = 0, .place = (uint32_t)i};

        if (end - p < TABLE_KEY_SIZE) {
            return false;
        }
        pair.key = (ChurnKey){table_load_le(p), table_load_le(p + 8)};
        p += TABLE_KEY_SIZE;
        if (!table_load_leb(&p, end, &pair.added) || !table_load_leb(&p, end, &pair.deleted)) {
            return false;
        }
        if ((pair.added == TABLE_BINARY) != (pair.deleted == TABLE_BINARY) ||
            table_find(table, pair.key) != NULL) {
            return false;
        }
        if (table->n < table->max_pairs) {
            r = table_append(table, &pair);
        }
    }
    *ret_r = r;
    return r != 0 || p == end;
}

static bool table_is_whole(Span data)
{
    Span body = span_make(data.p, data.n - TABLE_TAIL_SIZE);

    return span_starts_with(data, SPAN(TABLE_MAGIC)) &&
           table_load_le(data.p + body.n) == hash_span(table_seed_file, body);
}

int churn_table_read(ChurnTable *table, Span data)
{
    uint64_t n;
    int r = 0;

    table_empty(table);
    if (data.n < TABLE_HEAD_SIZE + TABLE_TAIL_SIZE || !table_is_whole(data)) {
        return 0;
    }
    n = table_load_le(data.p + TABLE_MAGIC_SIZE);
    if (n > data.n / TABLE_KEY_SIZE ||
        !table_read_pairs(table, data.p + TABLE_HEAD_SIZE, data.p + data.n - TABLE_TAIL_SIZE, n,
                          &r) ||
        r != 0) {
        table_empty(table);
    }
    return err_pass(r);
}
