#include "queue/params.h"

#include "base/arena.h"
#include "json/json.h"

/* Of both indexes, 16 bytes for each value, of which a text has at most one for two bytes; and what
 * an arena needs for itself. */
#define PARAMS_INDEX_BYTES ((size_t)16)
#define PARAMS_SPARE_BYTES ((size_t)64 * 1024)

bool queue_params_same(Span a, Span b)
{
    bool is_same = span_equals(a, b);
    Arena arena;
    JsonDoc doc_a;
    JsonDoc doc_b;

    if (is_same) {
        return true;
    }
    arena_init(&arena, PARAMS_INDEX_BYTES * (a.n + b.n) + PARAMS_SPARE_BYTES);
    is_same = json_parse(&doc_a, &arena, a.p, a.n, NULL, NULL) == 0 &&
              json_parse(&doc_b, &arena, b.p, b.n, NULL, NULL) == 0 &&
              json_equals(json_root(&doc_a), json_root(&doc_b));
    arena_deinit(&arena);
    return is_same;
}
