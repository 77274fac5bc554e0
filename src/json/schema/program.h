/* json/schema/program.h: what a schema is compiled into. Inside json/schema only.
 *
 * A subschema is a SchemaNode. A node lists, for each kind of JSON value, the few SchemaOps that
 * can fail for that kind: a string never looks at "properties", and a value whose kind is wrong is
 * refused before any op runs. Lists end in SCHEMA_OP_END; list 0 is empty, so that ops[kind] == 0
 * means "nothing more to check". All arrays live in the schema's arena and never change after
 * schema_new.
 */
#pragma once

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "json/json.h"
#include "json/schema/format.h"
#include "json/schema/keyword.h"
#include "json/schema/schema.h"
#include "json/schema/strtable.h"

/* No subschema, no table, no target. */
#define SCHEMA_NONE UINT32_MAX

#define SCHEMA_N_KINDS   7
#define SCHEMA_ALL_KINDS 0x7Fu

/* Bit of "integer" in SchemaNode.declared, above the bits of the kinds. */
#define SCHEMA_TYPE_INTEGER (1u << SCHEMA_N_KINDS)

typedef enum SchemaOpCode {
    SCHEMA_OP_END,
    SCHEMA_OP_WHOLE,        /* the number must be whole */
    SCHEMA_OP_ENUM_STRINGS, /* a: table */
    SCHEMA_OP_ENUM_VALUES,  /* a: first value, b: count */
    SCHEMA_OP_MINIMUM,      /* a: bound; as the three below */
    SCHEMA_OP_MAXIMUM,
    SCHEMA_OP_EXCLUSIVE_MINIMUM,
    SCHEMA_OP_EXCLUSIVE_MAXIMUM,
    SCHEMA_OP_MULTIPLE, /* a: bound */
    SCHEMA_OP_RANGE,    /* a: range; if the number lies in it, the next b ops hold; else ask them */
    SCHEMA_OP_LENGTH,   /* a: least code points, b: most, c: bytes that surely hold the least */
    SCHEMA_OP_PATTERN,  /* a: regex */
    SCHEMA_OP_FORMAT,   /* a: SchemaFormat */
    SCHEMA_OP_ARRAY,    /* a: array plan */
    SCHEMA_OP_CONTAINS, /* a: node, b: at least, c: at most */
    SCHEMA_OP_UNIQUE,
    SCHEMA_OP_OBJECT,      /* a: object plan */
    SCHEMA_OP_REF,         /* a: node */
    SCHEMA_OP_DYNAMIC_REF, /* a: node if nothing in scope overrides it, b: name */
    SCHEMA_OP_ALL,         /* a: first of list, b: count */
    SCHEMA_OP_ANY,         /* a, b likewise */
    SCHEMA_OP_ONE,         /* a, b likewise */
    SCHEMA_OP_NOT,         /* a: node */
    SCHEMA_OP_IF,          /* a: if, b: then, c: else; b and c may be SCHEMA_NONE */
    SCHEMA_OP_UNEVALUATED_ITEMS /* a: node */,
    SCHEMA_OP_UNEVALUATED_PROPERTIES /* a: node */
} SchemaOpCode;

typedef struct SchemaOp {
    uint8_t code;
    uint8_t keyword; /* SchemaKeyword, for messages */
    uint16_t spare;
    uint32_t a;
    uint32_t b;
    uint32_t c;
} SchemaOp;

enum {
    SCHEMA_NODE_TRACKS = 1u << 0, /* holds unevaluated*: must know which members were looked at */
    SCHEMA_NODE_FALSE = 1u << 1,  /* the schema false */
    SCHEMA_NODE_LEAF =
        1u << 2, /* for null, booleans, numbers and strings no op leads to another node */
};

typedef struct SchemaNode {
    uint8_t types;     /* bit per JsonKind that is allowed */
    uint8_t flags;     /* SCHEMA_NODE_* */
    uint16_t declared; /* as "type" says: bits of kinds and SCHEMA_TYPE_INTEGER */
    uint32_t resource;
    uint32_t ops[SCHEMA_N_KINDS]; /* first op for each kind */
} SchemaNode;

/* Where a node came from, for messages. */
typedef struct SchemaOrigin {
    uint32_t doc;
    const JsonNode *json;
} SchemaOrigin;

typedef struct SchemaBound {
    JsonValue value;
    int64_t whole; /* the value, if is_small */
    bool is_small; /* a whole number that fits 62 bits */
} SchemaBound;

typedef struct SchemaRegex {
    pcre2_code *code;
    Span source;  /* as written in the schema */
    Span pattern; /* as rewritten for PCRE2 */
    bool has_jit;
    bool has_backreference;
} SchemaRegex;

/* Whole numbers from least to most satisfy all bounds of the node. */
typedef struct SchemaRange {
    int64_t least;
    int64_t most;
} SchemaRange;

/* What the fast engine does with a part of a value, by its kind. */
typedef enum SchemaAction {
    SCHEMA_ACTION_REFUSE, /* the kind is wrong */
    SCHEMA_ACTION_DONE,   /* the kind is right, and that is all */
    SCHEMA_ACTION_QUICK,  /* few ops, most of which need no frame of their own */
    SCHEMA_ACTION_NODE,   /* run the node */
} SchemaAction;

/* A node, and what the fast engine asks for first. */
typedef struct SchemaPart {
    uint64_t bit; /* of the name, where it is a member's value and there are at most 64 names */
    const SchemaNode *node; /* NULL: anything goes */
    uint8_t actions[8];     /* a SchemaAction for each kind */
} SchemaPart;

typedef struct SchemaArrayPlan {
    const uint32_t *prefix; /* nodes by position */
    uint32_t n_prefix;
    uint32_t items; /* node for the rest; SCHEMA_NONE */
    uint32_t min_items;
    uint32_t max_items;
    SchemaPart items_part;
    uint8_t items_keyword;  /* what to call `items` in messages */
    uint8_t prefix_keyword; /* and `prefix` */
} SchemaArrayPlan;

typedef struct SchemaPatternRule {
    uint32_t regex;
    uint32_t node;
} SchemaPatternRule;

/* If the name `trigger` is present: all names of `required` must be, and `node` must hold. */
typedef struct SchemaDependent {
    uint32_t trigger; /* index of the name */
    uint32_t node;    /* or SCHEMA_NONE */
    const uint32_t *required;
    uint32_t n_required;
    uint8_t keyword;
} SchemaDependent;

/* One pass over an object's members answers everything that concerns names. */
typedef struct SchemaObjectPlan {
    StrTable table; /* every name that any keyword mentions */
    const Span *names;
    const uint32_t *children;   /* by index of the name: node of "properties", or SCHEMA_NONE */
    const SchemaPart *parts;    /* by index of the name */
    SchemaPart additional_part; /* for other names */
    uint32_t n_names;
    uint32_t n_words;         /* of a bit set over the names */
    const uint64_t *required; /* bit set */
    uint32_t min_properties;
    uint32_t max_properties;
    uint32_t additional;     /* node or SCHEMA_NONE */
    uint32_t property_names; /* node or SCHEMA_NONE */
    const SchemaPatternRule *patterns;
    uint32_t n_patterns;
    const SchemaDependent *dependents;
    uint32_t n_dependents;
    bool walks_members; /* false: counts suffice */
    bool
        is_plain; /* no patterns, no propertyNames, at most 64 names: the fast engine's short way */
} SchemaObjectPlan;

typedef struct SchemaDoc {
    Span uri;
    JsonDoc json;
} SchemaDoc;

struct Schema {
    Arena arena;
    SchemaNode *nodes; /* the root is node 0 */
    SchemaOrigin *origins;
    SchemaOp *ops;
    uint32_t *lists; /* node ids of allOf, anyOf, oneOf */
    JsonValue *values;
    SchemaBound *bounds;
    SchemaRange *ranges;
    StrTable *tables;
    SchemaRegex *regexes;
    SchemaArrayPlan *arrays;
    SchemaObjectPlan *objects;
    SchemaDoc *docs;
    uint32_t *dynamic; /* [resource * n_dynamic_names + name]: node or SCHEMA_NONE */
    uint32_t n_nodes;
    uint32_t n_regexes;
    uint32_t n_dynamic_names;
    pcre2_general_context *regex_memory;
};
