#include "json/schema/set.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/error.h"
#include "json/schema/uri.h"
#include "json/schema/vec.h"

/* All registered texts together. They come from the user's own files, which are far smaller. */
#define SCHEMA_SET_MAX_BYTES ((size_t)64 * 1024 * 1024)

typedef struct SchemaSetEntry {
    Span uri;
    Span text;
} SchemaSetEntry;

struct SchemaSet {
    Arena arena;
    SchemaSetEntry *entries;
    uint32_t n;
    uint32_t cap;
};

int schema_set_new(SchemaSet **ret)
{
    SchemaSet *set = mem_alloc_array(1, sizeof(*set));

    if (set == NULL) {
        return err_raise(-ENOMEM);
    }
    arena_init(&set->arena, SCHEMA_SET_MAX_BYTES);
    *ret = set;
    return 0;
}

SchemaSet *schema_set_free(SchemaSet *set)
{
    if (set != NULL) {
        arena_deinit(&set->arena);
        (void)mem_free(set);
    }
    return NULL;
}

bool schema_set_find(const SchemaSet *set, Span uri, Span *ret_text)
{
    for (uint32_t i = 0; set != NULL && i < set->n; i++) {
        if (span_equals(set->entries[i].uri, uri)) {
            *ret_text = set->entries[i].text;
            return true;
        }
    }
    return false;
}

/* Is text JSON at all? Its index is thrown away: each schema that uses it makes its own. */
static int schema_set_check(Span text, Diag *reterr_diag)
{
    CLEANUP(arena_deinit) Arena scratch = ARENA_NULL;
    JsonDoc doc;
    int r;

    arena_init(&scratch, SCHEMA_SET_MAX_BYTES);
    r = json_parse(&doc, &scratch, text.p, text.n, NULL, reterr_diag);
    return r > 0 ? SCHEMA_E_SYNTAX : r;
}

int schema_set_add(SchemaSet *set, Span uri, Span text, Diag *reterr_diag)
{
    SchemaSetEntry entry;
    SchemaSetEntry *entries;
    Span fragment;
    int r;

    uri_split_fragment(uri, &uri, &fragment);
    r = uri_resolve(&set->arena, SPAN(""), uri, &uri);
    if (r != 0) {
        return err_pass(r);
    }
    if (schema_set_find(set, uri, &entry.text)) {
        return diag_set(reterr_diag, SCHEMA_E_DUPLICATE, "%.*s is registered already", (int)uri.n,
                        uri.p);
    }
    r = schema_set_check(text, reterr_diag);
    if (r != 0) {
        return r;
    }
    entry = (SchemaSetEntry){arena_copy(&set->arena, uri), arena_copy(&set->arena, text)};
    entries = set->entries;
    if (entry.uri.p == NULL || entry.text.p == NULL ||
        !VEC_ROOM(&set->arena, entries, set->n, set->cap)) {
        return err_raise(-ENOMEM);
    }
    set->entries = entries;
    set->entries[set->n++] = entry;
    return 0;
}
