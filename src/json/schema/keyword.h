/* json/schema/keyword.h: the keywords, which vocabulary and dialect each belongs to, and what it
 * holds. Thread: any. */
#pragma once

#include "base/span.h"

#include <stdint.h>

/* What a keyword's value is, as far as finding subschemas goes. */
typedef enum SchemaShape {
    SCHEMA_SHAPE_VALUE,      /* no subschema inside */
    SCHEMA_SHAPE_SCHEMA,     /* one subschema */
    SCHEMA_SHAPE_LIST,       /* a non-empty array of subschemas */
    SCHEMA_SHAPE_MAP,        /* an object whose members are subschemas */
    SCHEMA_SHAPE_ITEMS,      /* one subschema; in draft-07 also an array of them */
    SCHEMA_SHAPE_DEPENDENCY, /* an object of subschemas or arrays of names */
} SchemaShape;

enum {
    SCHEMA_VOCAB_CORE = 1u << 0,
    SCHEMA_VOCAB_APPLICATOR = 1u << 1,
    SCHEMA_VOCAB_UNEVALUATED = 1u << 2,
    SCHEMA_VOCAB_VALIDATION = 1u << 3,
    SCHEMA_VOCAB_FORMAT = 1u << 4,
    SCHEMA_VOCAB_ASSERT = 1u << 5, /* the format-assertion vocabulary: formats can fail */
    SCHEMA_VOCAB_OTHER = 1u << 6,  /* known, without effect: meta-data, content */
};

enum {
    SCHEMA_IN_2020 = 1u << 0,
    SCHEMA_IN_07 = 1u << 1,
    SCHEMA_IN_BOTH = SCHEMA_IN_2020 | SCHEMA_IN_07,
};

/* X(id, name, shape, vocabulary, dialects). "dependencies" and "definitions" left 2020-12, but are
 * still understood there, as its metaschema recommends. */
#define SCHEMA_KEYWORDS(X)                                                                         \
    X(ID, "$id", VALUE, CORE, BOTH)                                                                \
    X(SCHEMA, "$schema", VALUE, CORE, BOTH)                                                        \
    X(REF, "$ref", VALUE, CORE, BOTH)                                                              \
    X(ANCHOR, "$anchor", VALUE, CORE, 2020)                                                        \
    X(DYNAMIC_REF, "$dynamicRef", VALUE, CORE, 2020)                                               \
    X(DYNAMIC_ANCHOR, "$dynamicAnchor", VALUE, CORE, 2020)                                         \
    X(DEFS, "$defs", MAP, CORE, 2020)                                                              \
    X(DEFINITIONS, "definitions", MAP, CORE, BOTH)                                                 \
    X(TYPE, "type", VALUE, VALIDATION, BOTH)                                                       \
    X(ENUM, "enum", VALUE, VALIDATION, BOTH)                                                       \
    X(CONST, "const", VALUE, VALIDATION, BOTH)                                                     \
    X(MINIMUM, "minimum", VALUE, VALIDATION, BOTH)                                                 \
    X(MAXIMUM, "maximum", VALUE, VALIDATION, BOTH)                                                 \
    X(EXCLUSIVE_MINIMUM, "exclusiveMinimum", VALUE, VALIDATION, BOTH)                              \
    X(EXCLUSIVE_MAXIMUM, "exclusiveMaximum", VALUE, VALIDATION, BOTH)                              \
    X(MULTIPLE_OF, "multipleOf", VALUE, VALIDATION, BOTH)                                          \
    X(MIN_LENGTH, "minLength", VALUE, VALIDATION, BOTH)                                            \
    X(MAX_LENGTH, "maxLength", VALUE, VALIDATION, BOTH)                                            \
    X(PATTERN, "pattern", VALUE, VALIDATION, BOTH)                                                 \
    X(FORMAT, "format", VALUE, FORMAT, BOTH)                                                       \
    X(MIN_ITEMS, "minItems", VALUE, VALIDATION, BOTH)                                              \
    X(MAX_ITEMS, "maxItems", VALUE, VALIDATION, BOTH)                                              \
    X(UNIQUE_ITEMS, "uniqueItems", VALUE, VALIDATION, BOTH)                                        \
    X(MIN_CONTAINS, "minContains", VALUE, VALIDATION, 2020)                                        \
    X(MAX_CONTAINS, "maxContains", VALUE, VALIDATION, 2020)                                        \
    X(MIN_PROPERTIES, "minProperties", VALUE, VALIDATION, BOTH)                                    \
    X(MAX_PROPERTIES, "maxProperties", VALUE, VALIDATION, BOTH)                                    \
    X(REQUIRED, "required", VALUE, VALIDATION, BOTH)                                               \
    X(DEPENDENT_REQUIRED, "dependentRequired", VALUE, VALIDATION, 2020)                            \
    X(PREFIX_ITEMS, "prefixItems", LIST, APPLICATOR, 2020)                                         \
    X(ITEMS, "items", ITEMS, APPLICATOR, BOTH)                                                     \
    X(ADDITIONAL_ITEMS, "additionalItems", SCHEMA, APPLICATOR, 07)                                 \
    X(CONTAINS, "contains", SCHEMA, APPLICATOR, BOTH)                                              \
    X(PROPERTIES, "properties", MAP, APPLICATOR, BOTH)                                             \
    X(PATTERN_PROPERTIES, "patternProperties", MAP, APPLICATOR, BOTH)                              \
    X(ADDITIONAL_PROPERTIES, "additionalProperties", SCHEMA, APPLICATOR, BOTH)                     \
    X(PROPERTY_NAMES, "propertyNames", SCHEMA, APPLICATOR, BOTH)                                   \
    X(DEPENDENT_SCHEMAS, "dependentSchemas", MAP, APPLICATOR, 2020)                                \
    X(DEPENDENCIES, "dependencies", DEPENDENCY, APPLICATOR, BOTH)                                  \
    X(ALL_OF, "allOf", LIST, APPLICATOR, BOTH)                                                     \
    X(ANY_OF, "anyOf", LIST, APPLICATOR, BOTH)                                                     \
    X(ONE_OF, "oneOf", LIST, APPLICATOR, BOTH)                                                     \
    X(NOT, "not", SCHEMA, APPLICATOR, BOTH)                                                        \
    X(IF, "if", SCHEMA, APPLICATOR, BOTH)                                                          \
    X(THEN, "then", SCHEMA, APPLICATOR, BOTH)                                                      \
    X(ELSE, "else", SCHEMA, APPLICATOR, BOTH)                                                      \
    X(UNEVALUATED_ITEMS, "unevaluatedItems", SCHEMA, UNEVALUATED, 2020)                            \
    X(UNEVALUATED_PROPERTIES, "unevaluatedProperties", SCHEMA, UNEVALUATED, 2020)

#define SCHEMA_KEYWORD_ID(id, name, shape, vocab, dialects) SCHEMA_KW_##id,
typedef enum SchemaKeyword {
    SCHEMA_KEYWORDS(SCHEMA_KEYWORD_ID) SCHEMA_KW_COUNT
} SchemaKeyword;
#undef SCHEMA_KEYWORD_ID

typedef struct SchemaKeywordInfo {
    Span name;
    SchemaShape shape;
    uint8_t vocab;    /* one SCHEMA_VOCAB_* */
    uint8_t dialects; /* SCHEMA_IN_* */
} SchemaKeywordInfo;

/* keyword must be below SCHEMA_KW_COUNT. */
const SchemaKeywordInfo *schema_keyword_info(SchemaKeyword keyword);

/* SCHEMA_KW_COUNT if the name is no keyword. */
SchemaKeyword schema_keyword_find(Span name);
