/* json/schema/compile.h: from schema documents to a program. Inside json/schema only.
 *
 * Subschemas are interned by where they stand: the first mention gives a location its node number,
 * and the driver works through the numbers in order until none is left. So there is no recursion,
 * and a cycle of references needs no care here.
 */
#pragma once

#include "json/schema/loader.h"
#include "json/schema/program.h"
#include "json/schema/vec.h"

/* An op, and the kinds of values that it concerns. */
typedef struct CompileOp {
    SchemaOp op;
    uint32_t kinds;
} CompileOp;

/* More than any subschema can have: at most one or two per keyword. */
#define COMPILE_MAX_OPS 64

typedef struct CompileSlot {
    const JsonNode *json;
    uint32_t node;
} CompileSlot;

typedef struct Compiler {
    SchemaLoader loader;
    Schema *schema;
    const SchemaOptions *options;
    CompileSlot *slots; /* open-addressed map from location to node */
    uint32_t n_slots;   /* a power of two, or 0 */
    uint32_t cap_nodes, cap_origins;
    uint32_t n_ops, cap_ops;
    uint32_t n_lists, cap_lists;
    uint32_t n_values, cap_values;
    uint32_t n_bounds, cap_bounds;
    uint32_t n_ranges, cap_ranges;
    uint32_t n_tables, cap_tables;
    uint32_t cap_regexes;
    uint32_t n_arrays, cap_arrays;
    uint32_t n_objects, cap_objects;
    uint32_t
        *edges; /* subschemas applied to the same value: [first edge of node i .. of node i + 1) */
    uint32_t n_edges, cap_edges;
    uint32_t *first_edges;
    uint32_t cap_first_edges;
    uint32_t *
        aliases; /* by node: the target, if the node is nothing but a reference; else SCHEMA_NONE */
    uint32_t cap_aliases;
    NameMap dynamic_names; /* numbered in order */
} Compiler;

/* The subschema being compiled. */
typedef struct Subschema {
    Compiler *c;
    uint32_t id;
    uint32_t doc;
    uint32_t resource;
    const JsonNode *json;
    JsonValue kw[SCHEMA_KW_COUNT]; /* node is NULL where the keyword is absent */
    CompileOp ops[COMPILE_MAX_OPS];
    uint32_t n_ops;
    uint32_t types;    /* kinds allowed */
    uint32_t declared; /* SchemaNode.declared */
    uint32_t flags;
} Subschema;

TW_INLINE bool subschema_has(const Subschema *s, SchemaKeyword keyword)
{
    return s->kw[keyword].node != NULL;
}

#define COMPILE_KIND(kind)   (1u << (kind))
#define COMPILE_KINDS_STRING COMPILE_KIND(JSON_STRING)
#define COMPILE_KINDS_NUMBER COMPILE_KIND(JSON_NUMBER)
#define COMPILE_KINDS_ARRAY  COMPILE_KIND(JSON_ARRAY)
#define COMPILE_KINDS_OBJECT COMPILE_KIND(JSON_OBJECT)

/* All below: 0, -ENOMEM, SCHEMA_E_* with the Diag filled. */

/* The node of the subschema at json; a new number if it has none. */
int compile_intern(Compiler *c, uint32_t doc, const JsonNode *json, uint32_t *ret);

/* The node of a subschema inside s's document. */
int compile_child(Subschema *s, JsonValue v, uint32_t *ret);

/* Appends an op for values of these kinds. */
void compile_emit(Subschema *s, uint32_t kinds, SchemaOpCode code, SchemaKeyword keyword,
                  uint32_t a, uint32_t b, uint32_t c);

/* Notes that node is applied to the same value as s, to find endless loops. */
int compile_edge(Subschema *s, uint32_t node);

TW_PRINTF(3, 4) int compile_malformed(Subschema *s, SchemaKeyword keyword, const char *format, ...);

/* A keyword's count, clamped to 32 bits, which no JSON text reaches; fallback if it is absent. */
int compile_count(Subschema *s, SchemaKeyword keyword, uint32_t fallback, uint32_t *ret);

/* Compiles a pattern into the schema's list. */
int compile_regex(Subschema *s, SchemaKeyword keyword, JsonValue pattern, uint32_t *ret);

/* Checks that v is an array of distinct strings. */
int compile_check_names(Subschema *s, SchemaKeyword keyword, JsonValue v);

/* The groups of keywords, each in its own file. */
int compile_values(Subschema *s);      /* compile_values.c: type, enum, const, numbers, strings */
int compile_array(Subschema *s);       /* compile_array.c */
int compile_object(Subschema *s);      /* compile_object.c */
int compile_applicators(Subschema *s); /* compile_apply.c: references and combinations */
int compile_unevaluated(Subschema *s);

/* Makes the table of dynamic anchors after all nodes are known; *ret_grew says that it added nodes.
 */
int compile_dynamic_table(Compiler *c, bool *ret_grew);

/* compile_link.c: refuses endless loops, then lets every reference to a mere reference point at its
 * end. */
int compile_check_loops(Compiler *c);
void compile_skip_aliases(Compiler *c);

/* Copies what the fast engine asks for first from the nodes into the plans. */
int compile_parts(Compiler *c);
