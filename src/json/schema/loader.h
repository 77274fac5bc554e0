/* json/schema/loader.h: schema documents and the names inside them. Inside json/schema only.
 *
 * Before anything is compiled, a document is walked once to find its resources ("$id"), anchors and
 * subschemas, because a reference may point forward. Documents are loaded when a reference first
 * leads there. Everything lives in the arena of the schema that is being made.
 */
#pragma once

#include "base/arena.h"
#include "json/schema/keyword.h"
#include "json/schema/namemap.h"
#include "json/schema/program.h"
#include "json/schema/schema.h"

/* A document's root or a subschema with an "$id": what relative references and anchors belong to.
 */
typedef struct SchemaResource {
    Span uri; /* absolute where there is an absolute "$id" or base; without fragment */
    const JsonNode *json;
    uint32_t doc;
    SchemaDialect dialect;
    uint32_t vocab; /* SCHEMA_VOCAB_* */
} SchemaResource;

typedef struct SchemaAnchor {
    Span name;
    const JsonNode *json;
    uint32_t resource;
    bool is_dynamic;
} SchemaAnchor;

typedef struct SchemaLoader {
    Arena *arena;
    const SchemaOptions *options;
    Diag *diag;
    SchemaDoc *docs;
    SchemaResource *resources;
    SchemaAnchor *anchors;
    uint32_t **marks;     /* by document and position: 1 + the resource of a visited subschema */
    uint32_t *subschemas; /* of the first document, as positions in its index */
    NameMap uris;         /* resources; one may have two: where it was found, and its "$id" */
    NameMap anchor_names; /* positions in anchors, in the scope of their resource */
    NameMap members;      /* positions in the document, of the large objects that were asked */
    uint32_t n_docs, cap_docs, cap_marks;
    uint32_t n_resources, cap_resources;
    uint32_t n_anchors, cap_anchors;
    uint32_t n_subschemas, cap_subschemas;
    uint32_t n_seen; /* subschemas of all documents, against LIMIT_SCHEMA_NODES */
} SchemaLoader;

/* What a reference means. */
typedef struct SchemaTarget {
    uint32_t doc;
    const JsonNode *json;
    Span dynamic_name; /* set if the reference names a "$dynamicAnchor" */
} SchemaTarget;

/* Parses and walks a document that was found at uri; *ret_resource is its root. text is copied.
 * 0, -ENOMEM, SCHEMA_E_*. */
int loader_add(SchemaLoader *loader, Span uri, Span text, SchemaDialect dialect,
               uint32_t *ret_resource);

/* Walks what a reference points at, unless that is done: JSON under an unknown keyword, "const" or
 * "enum" becomes a schema by being referred to. resource is the innermost that holds it.
 * 0, -ENOMEM, SCHEMA_E_*. */
int loader_visit(SchemaLoader *loader, uint32_t doc, const JsonNode *json, uint32_t resource);

/* Follows ref, written in resource by the keyword of the schema at json (for messages); in
 * loader_resolve.c. What it leads to has been visited. */
int loader_resolve(SchemaLoader *loader, uint32_t resource, const JsonNode *json,
                   SchemaKeyword keyword, Span ref, SchemaTarget *ret);

/* The innermost resource that holds the subschema, SCHEMA_NONE if it was not visited. */
TW_INLINE uint32_t loader_resource_of(const SchemaLoader *loader, uint32_t doc,
                                      const JsonNode *json)
{
    return loader->marks[doc][json - loader->docs[doc].json.nodes] - 1;
}

TW_INLINE JsonValue loader_value(const SchemaLoader *loader, uint32_t doc, const JsonNode *json)
{
    return (JsonValue){loader->docs[doc].json.text, json};
}

/* Fills the Diag with "path/keyword: words" and returns code. keyword may be SCHEMA_KW_COUNT. */
TW_PRINTF(6, 7)
int loader_fail(SchemaLoader *loader, int code, uint32_t doc, const JsonNode *json,
                SchemaKeyword keyword, const char *format, ...);

/* The meaning of "$schema": uri, in dialect.c. 0, -ENOMEM, SCHEMA_E_DIALECT, SCHEMA_E_SYNTAX. */
int loader_find_dialect(SchemaLoader *loader, uint32_t doc, const JsonNode *json, Span uri,
                        SchemaDialect *ret_dialect, uint32_t *ret_vocab);
uint32_t loader_default_vocab(SchemaDialect dialect);

/* The text of a document that references may reach: registered, or built in. */
bool loader_find_text(const SchemaLoader *loader, Span uri, Span *ret_text);

/* The decoded string at v, in the loader's arena; v must be a string. 0, -ENOMEM. */
int loader_string(SchemaLoader *loader, JsonValue v, Span *ret);

/* As json_string_exact has it, for tables. */
int loader_string_exact(SchemaLoader *loader, JsonValue v, Span *ret);
