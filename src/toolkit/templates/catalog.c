#include "toolkit/templates/catalog.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "toolkit/templates/catalog_impl.h"

/* A folder of templates that large is a mistake, and memory its limit. */
#define CATALOG_MAX         ((size_t)1 << 24)
#define CATALOG_ARENA_BYTES (SIZE_MAX / 4)

#define CATALOG_MIN_CAP 64

/* What stands first in the list of a toolchain. */
static const Span first_categories[] = {SPAN_INIT("makefile"), SPAN_INIT("readme"),
                                        SPAN_INIT("gitignore")};

int template_catalog_new(TemplateCatalog **ret, HashSeed seed)
{
    TemplateCatalog *catalog = mem_alloc_array(1, sizeof(*catalog));

    if (catalog == NULL) {
        return err_raise(-ENOMEM);
    }
    arena_init(&catalog->arena, CATALOG_ARENA_BYTES);
    map_init(&catalog->by_uri, seed, CATALOG_MAX);
    *ret = catalog;
    return 0;
}

TemplateCatalog *template_catalog_free(TemplateCatalog *catalog)
{
    if (catalog == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < catalog->n_manifests; i++) {
        (void)template_manifest_free(catalog->manifests[i]);
    }
    map_deinit(&catalog->by_uri);
    arena_deinit(&catalog->arena);
    (void)mem_free(catalog->manifests);
    (void)mem_free(catalog->entries);
    (void)mem_free(catalog->sorted);
    (void)mem_free(catalog->hits);
    (void)mem_free(catalog->sums);
    (void)mem_free(catalog->ranks);
    (void)mem_free(catalog->toolchains);
    (void)mem_free(catalog->categories);
    (void)mem_free(catalog->variants);
    return mem_free(catalog);
}

static size_t category_rank(Span category)
{
    size_t i = 0;

    while (i < TW_ARRAY_SIZE(first_categories) && !span_equals(category, first_categories[i])) {
        i++;
    }
    return i;
}

static int category_compare(Span a, Span b)
{
    size_t x = category_rank(a);
    size_t y = category_rank(b);

    return x != y ? (x > y) - (x < y) : span_compare(a, b);
}

static int entry_compare(const CatalogEntry *a, const CatalogEntry *b)
{
    int c = (a->toolchain_rank > b->toolchain_rank) - (a->toolchain_rank < b->toolchain_rank);

    if (c == 0) {
        c = category_compare(a->template->uri.category, b->template->uri.category);
    }
    return c != 0 ? c : span_compare(a->template->uri.variant, b->template->uri.variant);
}

static int entry_compare_uri(const CatalogEntry *a, const CatalogEntry *b)
{
    return span_compare(a->template->uri_text, b->template->uri_text);
}

/* Where e is, or belongs. */
static size_t entries_place(CatalogEntry *const *entries, size_t n, const CatalogEntry *e,
                            int (*compare)(const CatalogEntry *, const CatalogEntry *))
{
    size_t low = 0;

    while (low < n) {
        size_t middle = low + (n - low) / 2;

        if (compare(entries[middle], e) < 0) {
            low = middle + 1;
        } else {
            n = middle;
        }
    }
    return low;
}

static void entries_insert(CatalogEntry **entries, size_t n, size_t at, CatalogEntry *e)
{
    memmove(&entries[at + 1], &entries[at], (n - at) * sizeof(CatalogEntry *));
    entries[at] = e;
}

/* Adds a name to a sorted list, if it is new. */
static void names_insert(Span *names, size_t *n, Span name, int (*compare)(Span, Span))
{
    size_t low = 0;
    size_t high = *n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(names[middle], name) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < *n && compare(names[low], name) == 0) {
        return;
    }
    memmove(&names[low + 1], &names[low], (*n - low) * sizeof(*names));
    names[low] = name;
    (*n)++;
}

static int name_compare(Span a, Span b)
{
    return span_compare(a, b);
}

static size_t catalog_rank(TemplateCatalog *catalog, Span toolchain)
{
    size_t low = 0;
    size_t high = catalog->n_toolchains;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (span_compare(catalog->ranks[middle].toolchain, toolchain) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == catalog->n_toolchains || !span_equals(catalog->ranks[low].toolchain, toolchain)) {
        memmove(&catalog->ranks[low + 1], &catalog->ranks[low],
                (catalog->n_toolchains - low) * sizeof(*catalog->ranks));
        catalog->ranks[low] = (CatalogRank){toolchain, catalog->n_toolchains};
        catalog->toolchains[catalog->n_toolchains++] = toolchain;
    }
    return catalog->ranks[low].rank;
}

/* Grows one array; false if there is no memory, then it is as it was. */
static bool array_grow(void *array, size_t cap, size_t size)
{
    void **slot = (void **)array;
    size_t n_bytes;
    void *grown;

    if (!mem_size_mul(cap, size, &n_bytes)) {
        return false;
    }
    grown = mem_realloc(*slot, n_bytes);
    if (grown == NULL) {
        return false;
    }
    *slot = grown;
    return true;
}

static int catalog_reserve(TemplateCatalog *catalog, size_t extra)
{
    size_t cap = catalog->cap == 0 ? CATALOG_MIN_CAP : catalog->cap;
    size_t cap_manifests = catalog->cap_manifests == 0 ? 16 : catalog->cap_manifests * 2;

    if (catalog->n_manifests == catalog->cap_manifests) {
        if (!array_grow(&catalog->manifests, cap_manifests, sizeof(TemplateManifest *))) {
            return err_raise(-ENOMEM);
        }
        catalog->cap_manifests = cap_manifests;
    }
    while (cap - catalog->n < extra) {
        cap *= 2;
    }
    if (cap == catalog->cap) {
        return 0;
    }
    if (!array_grow(&catalog->entries, cap, sizeof(CatalogEntry *)) ||
        !array_grow(&catalog->sorted, cap, sizeof(CatalogEntry *)) ||
        !array_grow(&catalog->hits, cap, sizeof(*catalog->hits)) ||
        !array_grow(&catalog->sums, cap, sizeof(*catalog->sums)) ||
        !array_grow(&catalog->ranks, cap, sizeof(*catalog->ranks)) ||
        !array_grow(&catalog->toolchains, cap, sizeof(*catalog->toolchains)) ||
        !array_grow(&catalog->categories, cap, sizeof(*catalog->categories)) ||
        !array_grow(&catalog->variants, cap, sizeof(*catalog->variants))) {
        return err_raise(-ENOMEM);
    }
    catalog->cap = cap;
    return 0;
}

char catalog_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static char *words_put(char *at, Span s)
{
    for (size_t i = 0; i < s.n; i++) {
        *at++ = catalog_lower(s.p[i]);
    }
    *at++ = '\0';
    return at;
}

static bool entry_init(CatalogEntry *e, Arena *arena, const Template *t)
{
    size_t n = t->name.n + t->description.n + 2;
    char *words;
    char *at;

    for (size_t i = 0; i < t->n_parameters; i++) {
        n += t->parameters[i].name.n + 1;
    }
    words = arena_alloc(arena, n);
    if (words == NULL) {
        return false;
    }
    at = words_put(words, t->name);
    at = words_put(at, t->description);
    for (size_t i = 0; i < t->n_parameters; i++) {
        at = words_put(at, t->parameters[i].name);
    }
    *e = (CatalogEntry){.template = t,
                        .words = words,
                        .n_words = n,
                        .n_name = t->name.n,
                        .n_description = t->description.n};
    return true;
}

/* Takes the new URIs out again. */
static void catalog_take_back(TemplateCatalog *catalog, const CatalogEntry *entries, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (map_get(&catalog->by_uri, entries[i].template->uri_text) == &entries[i]) {
            (void)map_remove(&catalog->by_uri, entries[i].template->uri_text);
        }
    }
}

/* All that can fail: entries for the templates that have their text, and their URIs, as far as they
 * are new. */
static int catalog_prepare(TemplateCatalog *catalog, const TemplateManifest *manifest,
                           CatalogEntry **ret, size_t *ret_n)
{
    size_t n_templates = template_manifest_count(manifest);
    CatalogEntry *entries;
    size_t n = 0;
    int r = catalog_reserve(catalog, n_templates);

    if (r != 0) {
        return err_pass(r);
    }
    entries = arena_alloc_array(&catalog->arena, n_templates, sizeof(*entries));
    if (entries == NULL) {
        return err_raise(-ENOMEM);
    }
    for (size_t i = 0; i < n_templates; i++) {
        const Template *t = template_manifest_at(manifest, i);

        if (t->content == NULL) {
            continue;
        }
        r = -ENOMEM;
        if (entry_init(&entries[n], &catalog->arena, t)) {
            r = map_add(&catalog->by_uri, t->uri_text, &entries[n]);
            r = r == MAP_E_EXISTS ? 0 : r;
        }
        if (r != 0) {
            catalog_take_back(catalog, entries, n);
            return err_fold(r);
        }
        n++;
    }
    *ret = entries;
    *ret_n = n;
    return 0;
}

/* Cannot fail: room is there, and the URI is in the map. */
static void catalog_put(TemplateCatalog *catalog, CatalogEntry *e)
{
    Span uri = e->template->uri_text;
    bool is_new = map_get(&catalog->by_uri, uri) == e;
    size_t at;
    size_t at_uri;

    e->toolchain_rank = catalog_rank(catalog, e->template->uri.toolchain);
    at = entries_place(catalog->entries, catalog->n, e, entry_compare);
    at_uri = entries_place(catalog->sorted, catalog->n, e, entry_compare_uri);
    if (!is_new) {
        (void)map_replace(&catalog->by_uri, uri, e);
        catalog->entries[at] = e;
        catalog->sorted[at_uri] = e;
        return;
    }
    entries_insert(catalog->entries, catalog->n, at, e);
    entries_insert(catalog->sorted, catalog->n, at_uri, e);
    catalog->n++;
    names_insert(catalog->categories, &catalog->n_categories, e->template->uri.category,
                 category_compare);
    names_insert(catalog->variants, &catalog->n_variants, e->template->uri.variant, name_compare);
}

int template_catalog_add(TemplateCatalog *catalog, TemplateManifest *manifest)
{
    CatalogEntry *entries = NULL;
    size_t n = 0;
    int r = catalog_prepare(catalog, manifest, &entries, &n);

    if (r != 0) {
        return err_pass(r);
    }
    for (size_t i = 0; i < n; i++) {
        catalog_put(catalog, &entries[i]);
    }
    catalog->manifests[catalog->n_manifests++] = manifest;
    return 0;
}

size_t template_catalog_count(const TemplateCatalog *catalog)
{
    return catalog->n;
}

const Template *template_catalog_at(const TemplateCatalog *catalog, size_t i)
{
    return catalog->entries[i]->template;
}

const Template *template_catalog_find(const TemplateCatalog *catalog, Span uri)
{
    const CatalogEntry *e = map_get(&catalog->by_uri, uri);

    return e != NULL ? e->template : NULL;
}

static bool part_matches(Span part, Span wanted)
{
    return wanted.n == 0 || span_equals(part, wanted);
}

bool template_matches(const Template *t, const TemplateFilter *filter)
{
    return part_matches(t->uri.toolchain, filter->toolchain) &&
           part_matches(t->uri.category, filter->category) &&
           part_matches(t->uri.variant, filter->variant);
}

size_t template_catalog_toolchains(const TemplateCatalog *catalog, const Span **ret)
{
    *ret = catalog->toolchains;
    return catalog->n_toolchains;
}

size_t template_catalog_categories(const TemplateCatalog *catalog, const Span **ret)
{
    *ret = catalog->categories;
    return catalog->n_categories;
}

size_t template_catalog_variants(const TemplateCatalog *catalog, const Span **ret)
{
    *ret = catalog->variants;
    return catalog->n_variants;
}
