/* toolkit/templates/catalog_impl.h: what the two files of the catalog share. Private. */
#pragma once

#include "base/arena.h"
#include "base/map.h"
#include "toolkit/templates/catalog.h"

typedef struct CatalogEntry {
    const Template *template;
    /* For the search: name, description, then each parameter's name, in small letters, with a NUL
     * behind each. */
    const char *words;
    size_t n_words;
    size_t n_name;
    size_t n_description;
    size_t toolchain_rank;
} CatalogEntry;

typedef struct CatalogRank {
    Span toolchain;
    size_t rank;
} CatalogRank;

struct TemplateCatalog {
    Arena arena; /* entries and their words */
    Map by_uri;  /* URI → CatalogEntry * */
    TemplateManifest **manifests;
    size_t n_manifests;
    size_t cap_manifests;
    /* All of these have room for cap, since nothing there is has more kinds than entries. So an add
     * cannot fail halfway, and a search never. */
    size_t cap;
    size_t n;
    CatalogEntry **entries; /* in order */
    CatalogEntry **sorted;  /* by URI */
    TemplateHit *hits;
    int *sums;
    CatalogRank *ranks; /* toolchains by name */
    Span *toolchains;
    Span *categories;
    Span *variants;
    size_t n_toolchains;
    size_t n_categories;
    size_t n_variants;
};

/* A to Z become small, all else stays. */
char catalog_lower(char c);
