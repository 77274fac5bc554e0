/* json/index.h: between json_parse and the engines that build the index. Private to src/json.
 *
 * An engine is index_core.h compiled for one instruction set. All engines accept the same texts,
 * build the same nodes and name the same fault at the same byte; the tests hold them to it.
 */
#pragma once

#include "json/json.h"

/* Everything that can be wrong with a text. The sentences are in json.c, in this order. */
typedef enum JsonFault {
    JSON_FAULT_NONE,
    JSON_FAULT_VALUE,
    JSON_FAULT_TRAILING,
    JSON_FAULT_KEY,
    JSON_FAULT_COLON,
    JSON_FAULT_OBJECT_NEXT,
    JSON_FAULT_ARRAY_NEXT,
    JSON_FAULT_LITERAL,
    JSON_FAULT_NUMBER_DIGIT,
    JSON_FAULT_NUMBER_ZERO,
    JSON_FAULT_NUMBER_FRACTION,
    JSON_FAULT_NUMBER_EXPONENT,
    JSON_FAULT_STRING_END,
    JSON_FAULT_STRING_CONTROL,
    JSON_FAULT_STRING_UTF8,
    JSON_FAULT_ESCAPE,
    JSON_FAULT_ESCAPE_HEX,
    JSON_FAULT_DEPTH,
    JSON_FAULT_NODES,
    JSON_N_FAULTS
} JsonFault;

/* One run of an engine: what it reads, what it writes, where it stopped. */
typedef struct JsonIndexRun {
    const char *text;
    const char *end;
    Arena *arena;
    JsonNode *nodes;
    size_t cap;         /* nodes allocated */
    uint32_t n_nodes;   /* set on success */
    uint32_t max_depth; /* containers that may be open at once */
    JsonFault fault;
    const char *fault_at;
} JsonIndexRun;

/* Shorter texts go to the portable engine: the others look at 16 bytes at once. */
#define INDEX_X86_MIN_BYTES 16

/* Builds the index of run->text. 0, -ENOMEM, JSON_E_SYNTAX with fault and fault_at set. */
int json_index_portable(JsonIndexRun *run);
int json_index_sse2(JsonIndexRun *run);
int json_index_avx2(JsonIndexRun *run);

/* Doubles the room for nodes. 0, -ENOMEM, JSON_E_TOO_LARGE. */
int json_index_grow(JsonIndexRun *run);

/* Checks the escape at p (*p is the backslash). Returns the first byte after it; NULL with the
 * fault set if it is wrong. */
const char *json_index_escape(JsonIndexRun *run, const char *p);

/* Records a fault; always returns NULL, for `return json_index_fault(...)`. */
const char *json_index_fault(JsonIndexRun *run, JsonFault fault, const char *at);

/* The rest of a string from p on, its first byte that is not ASCII, to the closing quote; NULL with
 * the fault set. Adds JSON_NODE_ESCAPED to *tag if it meets a backslash. */
const char *json_index_wide_string(JsonIndexRun *run, const char *p, uint32_t *tag);

/* The number's end, from its first byte p, byte by byte; *ret_tag is its tag. NULL with the fault
 * set. */
const char *json_index_number(JsonIndexRun *run, const char *p, uint32_t *ret_tag);
