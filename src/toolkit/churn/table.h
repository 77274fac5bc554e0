/* toolkit/churn/table.h: the inside of a ChurnTable (churn.h). Thread: any, one at a time. */
#pragma once

#include "base/span.h"
#include "toolkit/churn/churn.h"

#include <stdbool.h>
#include <stdint.h>

/* What the lines of a change depend on: both modes, both blobs, and the path, to which attributes
 * may have been given. */
typedef struct ChurnKey {
    uint64_t a;
    uint64_t b;
} ChurnKey;

typedef struct ChurnLines {
    uint64_t added;
    uint64_t deleted;
    bool is_binary; /* then both are 0 */
} ChurnLines;

ChurnKey churn_key(Span blobs, Span path);

/* An analysis begins: what it looks up or adds is newer than all that is there. */
void churn_table_begin(ChurnTable *table);

/* False: not known. */
bool churn_table_get(ChurnTable *table, ChurnKey key, ChurnLines *ret);

/* Adds what is not known yet, in the order newest first. A full table forgets what the oldest
 * analyses saw, or else does not take it. 0, -ENOMEM. */
int churn_table_put(ChurnTable *table, ChurnKey key, ChurnLines lines);
