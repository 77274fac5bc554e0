/* json/schema/run_full.h: what the parts of the full engine share. Inside json/schema only. */
#pragma once

#include "json/schema/run.h"

int full_part(SchemaCheck *k, const SchemaNode *parent, SchemaKeyword keyword, uint32_t id,
              const JsonNode *json);
int full_same(SchemaCheck *k, uint32_t id, const JsonNode *json, size_t track);
int full_object(SchemaCheck *k, const SchemaNode *node, const SchemaOp *op, const JsonNode *json,
                size_t track);

/* Does r end the work on this value? When collecting, an invalid part does not, until there are as
 * many errors as are kept. */
TW_INLINE bool full_stops(const SchemaCheck *k, int r)
{
    return r != 0 && (r != SCHEMA_E_INVALID || !k->is_collecting ||
                      (k->n_muted == 0 && k->n_errors == LIMIT_SCHEMA_ERRORS));
}

TW_INLINE void full_mark(SchemaCheck *k, size_t track, uint32_t ordinal)
{
    k->words[track + ordinal / 64] |= (uint64_t)1 << (ordinal % 64);
}

TW_INLINE bool full_is_marked(const SchemaCheck *k, size_t track, uint32_t ordinal)
{
    return ((k->words[track + ordinal / 64] >> (ordinal % 64)) & 1u) != 0;
}

/* Words of a track for this array or object. */
TW_INLINE size_t full_track_words(const JsonNode *json)
{
    return (json->tag >> JSON_NODE_KIND_BITS) / 64 + 1;
}
