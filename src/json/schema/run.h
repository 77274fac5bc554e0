/* json/schema/run.h: the state of one validation. Inside json/schema only. */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "json/equals.h"
#include "json/schema/program.h"
#include "json/schema/regex.h"

/* No set of evaluated members is being kept. */
#define RUN_NO_TRACK SIZE_MAX

/* A path that is longer is cut; it is not one that a person reads. Behind it there is room for a
 * mark that says so. */
#define RUN_MAX_PATH_BYTES  ((size_t)16 * 1024)
#define RUN_PATH_MARK_BYTES 8

/* An error as the engine sees it; paths are made only for those that are kept. */
typedef struct RunError {
    const JsonNode *json;
    const SchemaNode *node;
    SchemaKeyword keyword;
    Span message;
} RunError;

struct SchemaCheck {
    const Schema *schema;
    const char *text;     /* of the value's document */
    const char *end;      /* of what may be read of it */
    const JsonNode *root; /* the value */
    uint32_t n_frames;
    int64_t n_steps_left;

    uint64_t *words; /* a stack of bit sets: names seen, members evaluated */
    size_t n_words, cap_words;
    char *decoded; /* the last escaped string */
    size_t cap_decoded;
    uint32_t *scope; /* resources entered, outermost first; for $dynamicRef */
    uint32_t n_scope;
    RegexScratch regex;
    EqualsScratch equals;

    bool is_collecting;     /* go on after an error, and describe each */
    bool is_out_of_memory;  /* while describing */
    bool is_in_name;        /* the value is a member's name */
    uint32_t n_muted;       /* > 0: a branch that may fail; count, but do not describe */
    uint32_t score;         /* how badly the muted branch fails */
    const JsonNode *branch; /* the value that the branch is applied to */

    RunError raw[LIMIT_SCHEMA_ERRORS];
    SchemaError errors[LIMIT_SCHEMA_ERRORS];
    uint32_t n_errors;
    Arena arena; /* messages and paths */
    Bytes path;
};

/* Runs the full engine and collects errors into k->raw. Outcomes as schema_validate. */
int run_collect(SchemaCheck *k);

/* The two engines; see run_fast.c and run_full.c. Both are bounded by LIMIT_SCHEMA_FRAMES. */
int run_fast(SchemaCheck *k, const SchemaNode *node, const JsonNode *json);
int run_full(SchemaCheck *k, const SchemaNode *node, const JsonNode *json, size_t track);

/* Takes n steps from the budget. Whoever goes on for long without run_enter looks at n_steps_left
 * himself. */
TW_INLINE void run_charge(SchemaCheck *k, size_t n)
{
    k->n_steps_left -= (int64_t)n;
}

/* Charges for a walk over an array's elements or an object's members; the bytes count for what is
 * done to those that are strings. */
TW_INLINE void run_charge_walk(SchemaCheck *k, const JsonNode *json)
{
    run_charge(k, (json->tag >> JSON_NODE_KIND_BITS) + (json->size >> 6));
}

/* Counts a frame and a step, and enters the node's resource if any $dynamicRef could see that. */
TW_INLINE bool run_enter(SchemaCheck *k, const SchemaNode *node, uint32_t *ret_scope)
{
    *ret_scope = k->n_scope;
    if (TW_UNLIKELY(k->n_frames >= LIMIT_SCHEMA_FRAMES || k->n_steps_left <= 0)) {
        return false;
    }
    k->n_frames++;
    k->n_steps_left--;
    if (TW_UNLIKELY(k->schema->n_dynamic_names > 0) &&
        (k->n_scope == 0 || k->scope[k->n_scope - 1] != node->resource)) {
        k->scope[k->n_scope++] = node->resource;
    }
    return true;
}

TW_INLINE void run_leave(SchemaCheck *k, uint32_t scope)
{
    k->n_frames--;
    k->n_scope = scope;
}

/* The node that a $dynamicRef means now: the outermost resource in scope that defines the name
 * wins. */
TW_INLINE uint32_t run_dynamic_target(const SchemaCheck *k, const SchemaOp *op)
{
    const Schema *schema = k->schema;

    for (uint32_t i = 0; i < k->n_scope; i++) {
        uint32_t found = schema->dynamic[(size_t)k->scope[i] * schema->n_dynamic_names + op->b];

        if (found != SCHEMA_NONE) {
            return found;
        }
    }
    return op->a;
}

/* run_unique.c: are all items different? If not, SCHEMA_E_INVALID with the positions of two equal
 * ones. */
int run_unique(SchemaCheck *k, const JsonNode *array, uint32_t *ret_first, uint32_t *ret_second);

/* The decoded text of a string, borrowed until the next call; is_exact: as json_string_exact has
 * it, to be found in a table. *ret_end is how far one may read past it. 0, -ENOMEM. */
int run_decode(SchemaCheck *k, const JsonNode *json, bool is_exact, Span *ret,
               const char **ret_end);

TW_INLINE int run_text(SchemaCheck *k, const JsonNode *json, bool is_exact, Span *ret,
                       const char **ret_end)
{
    if (TW_LIKELY((json->tag & JSON_NODE_ESCAPED) == 0)) {
        *ret = span_make(k->text + json->start + 1, json->size - 2);
        *ret_end = k->end;
        return 0;
    }
    return run_decode(k, json, is_exact, ret, ret_end);
}

/* Are they equal, wherever they lie? SCHEMA_E_INVALID if not. 0, SCHEMA_E_INVALID, SCHEMA_E_LIMIT,
 * -ENOMEM. */
int run_same(SchemaCheck *k, JsonValue a, JsonValue b);

/* n zeroed words on top of the stack; *ret is their index, good until n_words is set back. 0,
 * -ENOMEM. */
int run_push_words(SchemaCheck *k, size_t n, size_t *ret);

TW_INLINE JsonValue run_value(const SchemaCheck *k, const JsonNode *json)
{
    return (JsonValue){k->text, json};
}

/* run_report.c: describe why a value fails. got is a count that the message mentions, where it
 * does. */
void report_type(SchemaCheck *k, const SchemaNode *node, const JsonNode *json);
void report_op(SchemaCheck *k, const SchemaNode *node, const SchemaOp *op, const JsonNode *json,
               uint64_t got);
void report_false(SchemaCheck *k, const SchemaNode *node, SchemaKeyword keyword,
                  const JsonNode *json);
/* A name or pattern of the schema as text for "%s": control characters are escaped, and what would
 * not fit a message is cut. Returns out. */
#define REPORT_TEXT_BYTES 256
const char *report_text(Span text, char out[REPORT_TEXT_BYTES]);
TW_PRINTF(5, 6)
void report(SchemaCheck *k, const SchemaNode *node, SchemaKeyword keyword, const JsonNode *json,
            const char *format, ...);

/* Turns k->raw into k->errors. 0, -ENOMEM. */
int report_finish(SchemaCheck *k);
