/* toolkit/templates/catalog.h: every template there is, by URI, and how they are found.
 *
 * Templates come in manifests; a later one with a URI that is there already takes its place. The
 * order: toolchains as they came first, inside each the categories makefile, readme, gitignore and
 * then by name, inside each the variants by name. Thread: any, one at a time.
 */
#pragma once

#include "base/diag.h"
#include "base/hash.h"
#include "base/span.h"
#include "toolkit/templates/manifest.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct TemplateCatalog TemplateCatalog;

/* 0, -ENOMEM. Gives *ret. */
int template_catalog_new(TemplateCatalog **ret, HashSeed seed);
TemplateCatalog *template_catalog_free(TemplateCatalog *catalog);

/* Takes the manifest on success: every template of it that has its text. 0, -ENOMEM; then the
 * catalog is as it was. */
int template_catalog_add(TemplateCatalog *catalog, TemplateManifest *manifest);

/* In order; borrowed until the next add. */
size_t template_catalog_count(const TemplateCatalog *catalog);
const Template *template_catalog_at(const TemplateCatalog *catalog, size_t i);

/* NULL if there is none. */
const Template *template_catalog_find(const TemplateCatalog *catalog, Span uri);

/* What is filtered by: empty spans let all pass. */
typedef struct TemplateFilter {
    Span toolchain;
    Span category;
    Span variant;
} TemplateFilter;
bool template_matches(const Template *t, const TemplateFilter *filter);

/* Distinct toolchains, categories and variants, in order (variants by name); borrowed until the
 * next add. */
size_t template_catalog_toolchains(const TemplateCatalog *catalog, const Span **ret);
size_t template_catalog_categories(const TemplateCatalog *catalog, const Span **ret);
size_t template_catalog_variants(const TemplateCatalog *catalog, const Span **ret);

/* A search: ASCII letters of either case, other letters as they are; words, which blanks divide,
 * are looked for each on its own. Relevance of a word: name equal 10, else name contains 5;
 * description contains 3; 1 for each parameter whose name contains it. 10 more if the query is of
 * several words and equal to the name. A word that no template of the catalog has counts 1 where
 * it is one letter off a word of the name, or two if it has six letters and more. A template that
 * lacks a word altogether is not found. An empty query finds all, with 8 and the number of
 * parameters; one with a NUL in it finds nothing. A word that comes twice is looked for once. Best
 * first, then by URI. Of the query the first TEMPLATE_QUERY_BYTES and TEMPLATE_QUERY_WORDS (each
 * other than those before) count. */
#define TEMPLATE_QUERY_BYTES 512
#define TEMPLATE_QUERY_WORDS 16

typedef struct TemplateHit {
    const Template *template;
    int relevance;
} TemplateHit;

/* filter may be NULL. Gives *ret_hits, borrowed until the next search or add. 0, -ENOMEM. */
int template_catalog_search(TemplateCatalog *catalog, Span query, const TemplateFilter *filter,
                            const TemplateHit **ret_hits, size_t *ret_n);
