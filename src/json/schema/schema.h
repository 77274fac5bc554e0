/* json/schema/schema.h: JSON Schema, compiled once and then run. All that a user needs is here.
 *
 *     Schema *schema;                        // immutable; any number of threads may share it
 *     SchemaCheck *check;                    // scratch; one per thread, used again and again
 *
 *     r = schema_new(&schema, text, NULL, &diag);
 *     r = schema_check_new(&check);
 *     r = schema_validate(schema, check, json_root(&doc));
 *     if (r == SCHEMA_E_INVALID) {
 *         for (size_t i = 0; i < schema_check_n_errors(check); i++) {
 *             SchemaError e = schema_check_error(check, i);
 *             // e.instance_path "/start_point/2", e.message "expected number, got string"
 *         }
 *     }
 *
 * Dialects: 2020-12 and draft-07, chosen by "$schema", else by the options. Nothing is ever
 * fetched: a reference leads into the schema itself, into the official metaschemas (built in), or
 * into a SchemaSet that the caller filled. docs/json-schema.md lists keywords, decisions and
 * limits.
 *
 * A value that is valid costs no allocation once the check object is warm. Where an object holds
 * the same key twice, every occurrence must be valid: whichever one the next program reads has been
 * checked.
 */
#pragma once

#include "base/compiler.h"
#include "base/diag.h"
#include "base/span.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    SCHEMA_E_INVALID = 1, /* validate: the value breaks the schema; the errors say how */
    SCHEMA_E_LIMIT,       /* too deep, too many subschemas, too much work, or a pattern gave up */
    SCHEMA_E_SYNTAX,      /* new, set_add: the text is not JSON */
    SCHEMA_E_MALFORMED,   /* new: a keyword has a value that it cannot have */
    SCHEMA_E_DIALECT,     /* new: "$schema" or a required vocabulary is unknown */
    SCHEMA_E_UNRESOLVED,  /* new: a reference leads nowhere */
    SCHEMA_E_LOOP,        /* new: a subschema refers to itself for the same value, without end */
    SCHEMA_E_DUPLICATE    /* set_add: the URI is taken */
};

typedef enum SchemaDialect {
    SCHEMA_DIALECT_2020_12,
    SCHEMA_DIALECT_DRAFT_07,
} SchemaDialect;

typedef struct Schema Schema;
typedef struct SchemaSet SchemaSet;
typedef struct SchemaCheck SchemaCheck;

typedef struct SchemaOptions {
    SchemaDialect dialect; /* where no "$schema" says otherwise */
    bool assert_formats;   /* "format" can fail, not only describe */
    const SchemaSet
        *set;      /* what references may reach; may be NULL; needed during schema_new only */
    Span base_uri; /* where the schema came from; empty: nowhere */
} SchemaOptions;

typedef struct SchemaError {
    Span instance_path; /* JSON pointer into the value; "" is the whole value */
    Span schema_path;   /* "#/properties/a/type"; with the document's URI in front if it is another
                           one */
    Span message;       /* "expected number, got string" */
} SchemaError;

/* Schemas that references may reach, each under its URI. Thread: any, one at a time; reading is
 * shared. 0, -ENOMEM. Gives *ret. */
int schema_set_new(SchemaSet **ret);
SchemaSet *schema_set_free(SchemaSet *set);

/* Copies uri (absolute, without fragment) and text. 0, -ENOMEM, SCHEMA_E_SYNTAX,
 * SCHEMA_E_DUPLICATE. */
int schema_set_add(SchemaSet *set, Span uri, Span text, Diag *reterr_diag);

/* Compiles text with all that it references; borrows its arguments until return. options may be
 * NULL. The Diag's field is the path in the schema. 0, -ENOMEM, or any SCHEMA_E_* but INVALID.
 * Gives *ret. */
int schema_new(Schema **ret, Span text, const SchemaOptions *options, Diag *reterr_diag);
Schema *schema_free(Schema *schema);

/* Number of subschemas in the program, for those who want to know what a schema costs. */
size_t schema_n_nodes(const Schema *schema);

/* What validation needs to remember while it runs, and the errors of the last run. Thread: one at a
 * time. 0, -ENOMEM. Gives *ret. */
int schema_check_new(SchemaCheck **ret);
SchemaCheck *schema_check_free(SchemaCheck *check);

/* Is the value valid? 0, SCHEMA_E_INVALID (errors are in check), SCHEMA_E_LIMIT (could not be
 * decided), -ENOMEM. value may be any value of a doc; borrowed until return. */
int schema_validate(const Schema *schema, SchemaCheck *check, JsonValue value);

/* The errors of the last schema_validate, at most LIMIT_SCHEMA_ERRORS; borrowed until the next one.
 */
size_t schema_check_n_errors(const SchemaCheck *check);
SchemaError schema_check_error(const SchemaCheck *check, size_t i);
