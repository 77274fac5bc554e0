/* json/json.h: reads JSON into a flat index. Everything that a user of the reader needs is here.
 *
 *     Arena arena;                       // holds the index; reset it between messages
 *     JsonDoc doc;
 *     Diag diag;
 *     JsonValue method;
 *
 *     arena_init(&arena, 1 << 24);
 *     r = json_parse(&doc, &arena, text, n, NULL, &diag);
 *     if (r == 0 && json_get(json_root(&doc), SPAN("method"), &method)) { ... }
 *
 * The text is validated completely (RFC 8259, UTF-8, escapes) in one pass, which writes one
 * JsonNode of 16 bytes per value and per key, in document order. Nothing is decoded or copied: a
 * node names a span of the text, so the text must outlive the doc. Strings are decoded and numbers
 * converted on demand (json_string, json_int64…); json_span gives any value's exact bytes, to be
 * spliced elsewhere.
 *
 * Decisions where RFC 8259 leaves room (each is tested; docs/json.md lists them all):
 * - duplicate keys are kept; json_get finds the last;
 * - a number is kept as text, whatever its size; converting it may fail with JSON_E_RANGE;
 * - a lone surrogate escape (\ud800) is accepted and spliced as it is; decoded it is U+FFFD, but in
 *   the exact forms and in comparisons, where different strings are different;
 * - a byte order mark is an error.
 *
 * How large the arena must be: a text of n bytes has at most n / 2 + 1 nodes, and room for them
 * doubles, so 16 n bytes and 64 KiB always suffice; 2 n do for ordinary messages.
 *
 * No function recurses on the depth of the input. Thread: any; a parsed doc may be read by many.
 */
#pragma once

#include "base/arena.h"
#include "base/compiler.h"
#include "base/diag.h"
#include "base/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JSON_E_SYNTAX = 1, /* not JSON; the Diag says where and why */
    JSON_E_DEPTH,      /* nested deeper than the limit */
    JSON_E_TOO_LARGE,  /* longer than max_bytes, or than 32-bit offsets can address */
    JSON_E_RANGE,      /* the number does not fit the type asked for */
    JSON_E_KIND,       /* the value is not of the kind asked for */
    JSON_E_MISSING     /* no such member, element or pointer target */
};

/* Order is fixed: tables are indexed by it. */
typedef enum JsonKind {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
} JsonKind;

/* One value or key of the index. Read it through the functions below. */
typedef struct JsonNode {
    uint32_t start; /* offset of the first byte in the text */
    uint32_t size;  /* bytes, quotes and brackets included */
    uint32_t skip;  /* nodes from this one to the next after its whole subtree; 1 for scalars */
    uint32_t tag;   /* kind in the low 3 bits, then JSON_NODE_* flags; containers: count << 3 */
} JsonNode;

#define JSON_NODE_KIND_BITS 3u
#define JSON_NODE_KIND_MASK 7u
#define JSON_NODE_ESCAPED   (1u << 3) /* string: holds at least one backslash */
#define JSON_NODE_INTEGER   (1u << 3) /* number: no fraction and no exponent */

typedef struct JsonDoc {
    const char *text; /* borrowed from json_parse's caller */
    size_t n_text;
    JsonNode *nodes; /* in the arena; the root is the first */
    uint32_t n_nodes;
} JsonDoc;

#define JSON_DOC_NULL ((JsonDoc){NULL, 0, NULL, 0})

/* A value of a doc: two pointers, passed by value, valid as long as the doc's text and arena. */
typedef struct JsonValue {
    const char *text;
    const JsonNode *node;
} JsonValue;

#define JSON_VALUE_NULL ((JsonValue){NULL, NULL})

/* Which code path validates; all give identical results. AUTO takes the fastest that the machine
 * has. */
typedef enum JsonEngine {
    JSON_ENGINE_AUTO,
    JSON_ENGINE_PORTABLE,
    JSON_ENGINE_SSE2,
    JSON_ENGINE_AVX2
} JsonEngine;

typedef struct JsonLimits {
    uint32_t max_depth; /* nested containers; 0 means LIMIT_JSON_DEPTH */
    size_t max_bytes;   /* of text; 0 means LIMIT_JSON_BYTES */
    JsonEngine engine;
} JsonLimits;

/* True if this machine can run the engine; json_parse falls back to PORTABLE where it cannot. */
bool json_engine_available(JsonEngine engine);

/* Indexes n bytes of text into *ret_doc; borrows text for as long as the doc is used, allocates
 * from arena only. limits may be NULL. 0, -ENOMEM, JSON_E_SYNTAX, JSON_E_DEPTH, JSON_E_TOO_LARGE.
 */
int json_parse(JsonDoc *ret_doc, Arena *arena, const void *text, size_t n, const JsonLimits *limits,
               Diag *reterr_diag);

TW_INLINE JsonValue json_root(const JsonDoc *doc)
{
    return (JsonValue){doc->text, doc->nodes};
}

TW_INLINE JsonKind json_kind(JsonValue v)
{
    return (JsonKind)(v.node->tag & JSON_NODE_KIND_MASK);
}

/* "null", "boolean", "number", "string", "array" or "object". */
const char *json_kind_name(JsonKind kind);

/* The value's exact bytes in the text: strings with their quotes, containers with their brackets.
 */
TW_INLINE Span json_span(JsonValue v)
{
    return span_make(v.text + v.node->start, v.node->size);
}

/* Whether these bytes hold no line end (LF, CR), so that they fit into a line. */
bool json_is_one_line(JsonValue v);

/* Elements of an array, members of an object (duplicates counted); 0 for anything else. */
TW_INLINE uint32_t json_count(JsonValue v)
{
    return json_kind(v) >= JSON_ARRAY ? v.node->tag >> JSON_NODE_KIND_BITS : 0;
}

/* Walks an array or object in document order; anything else is empty.
 *
 *     for (JsonIter it = json_iter(v); json_iter_next(&it);) { use(it.key, it.value); }
 */
typedef struct JsonIter {
    JsonValue key;   /* a string; only for objects */
    JsonValue value; /* the current element or member's value */
    const JsonNode *next;
    const JsonNode *end;
    bool is_object;
} JsonIter;

TW_INLINE JsonIter json_iter(JsonValue v)
{
    bool is_container = json_kind(v) >= JSON_ARRAY;
    const JsonNode *end = is_container ? v.node + v.node->skip : v.node + 1;

    return (JsonIter){.key = {v.text, NULL},
                      .value = {v.text, NULL},
                      .next = v.node + 1,
                      .end = end,
                      .is_object = json_kind(v) == JSON_OBJECT};
}

TW_INLINE bool json_iter_next(JsonIter *it)
{
    if (it->next >= it->end) {
        return false;
    }
    if (it->is_object) {
        it->key.node = it->next;
        it->next++;
    }
    it->value.node = it->next;
    it->next += it->next->skip;
    return true;
}

/* The last member of that name (decoded form) in an object; false if there is none or v is no
 * object. */
bool json_get(JsonValue v, Span key, JsonValue *ret);

/* The element at position index of an array; false if there is none. Linear in index. */
bool json_at(JsonValue v, size_t index, JsonValue *ret);

/* Resolves an RFC 6901 pointer ("/params/0/a~1b"). 0, JSON_E_MISSING, JSON_E_SYNTAX (not a
 * pointer). */
int json_pointer(JsonValue v, Span pointer, JsonValue *ret);

/* True for the JSON true and false alike; *ret_flag is which. */
bool json_bool(JsonValue v, bool *ret_flag);

/* A string that needs no decoding (no backslash): its content without quotes. False otherwise. */
TW_INLINE bool json_string_plain(JsonValue v, Span *ret)
{
    if ((v.node->tag & (JSON_NODE_KIND_MASK | JSON_NODE_ESCAPED)) != JSON_STRING) {
        return false;
    }
    *ret = span_make(v.text + v.node->start + 1, v.node->size - 2);
    return true;
}

/* Decoded content: borrowed from the text where nothing is escaped, else built in the arena. UTF-8,
 * with U+FFFD for a lone surrogate: text that is shown, kept in a file or handed to the system. May
 * hold NUL bytes. 0, -ENOMEM, JSON_E_KIND. */
int json_string(JsonValue v, Arena *arena, Span *ret);

/* The same in a form in which different strings have different bytes: a lone surrogate is the three
 * bytes that it would have if it were a character. For keys of tables, for hashes, and for text
 * that json_write_exact writes to another peer; what else becomes of it needs utf8_mend before,
 * since it need not be UTF-8. */
int json_string_exact(JsonValue v, Arena *arena, Span *ret);

/* A JSON text that came inside of a string, in the form of json_string_exact: as it can be parsed,
 * with escapes for what is no UTF-8 there. It is text itself where nothing is to be done, else
 * built in the arena. 0, -ENOMEM. */
int json_text_of_exact(Span text, Arena *arena, Span *ret);

/* Is v a string whose decoded form equals s? One that holds a lone surrogate equals no UTF-8.
 * Allocates nothing. */
bool json_string_equals(JsonValue v, Span s);

/* Are two strings equal when decoded? Allocates nothing. Both must be strings. */
bool json_string_same(JsonValue a, JsonValue b);

/* Number of code points in the decoded string, lone surrogates included; 0 for anything else. */
size_t json_string_length(JsonValue v);

/* Decodes into out, which must hold v.node->size - 2 bytes (the decoded form is never longer);
 * returns the decoded length. v must be a string. */
size_t json_string_decode(JsonValue v, char *out);
size_t json_string_decode_exact(JsonValue v, char *out); /* as json_string_exact */

/* Exact integers: "1e2" and "1.0" are integers, 1.5 is not. 0, JSON_E_KIND, JSON_E_RANGE (too
 * large, or has a fraction). */
int json_int64(JsonValue v, int64_t *ret);
int json_uint64(JsonValue v, uint64_t *ret);

/* The nearest double, ties to even; underflow gives 0. 0, JSON_E_KIND, JSON_E_RANGE (beyond the
 * largest). */
int json_double(JsonValue v, double *ret);

/* True for numbers whose value is a whole number, in any spelling. Exact. */
bool json_number_is_whole(JsonValue v);

/* Compares two numbers by exact decimal value: < 0, 0, > 0. Both must be numbers. (Exponents beyond
 * ±10^17 count as ±10^17, here and in the functions around.) */
int json_number_compare(JsonValue a, JsonValue b);

/* Is a an exact multiple of b (b > 0)? Both must be numbers. Exact for any a where b has up to 17
 * significant digits; by double arithmetic for longer ones. */
bool json_number_is_multiple(JsonValue a, JsonValue b);

/* Deep equality as JSON Schema defines it: numbers by value, objects regardless of order, strings
 * decoded. Objects that hold the same keys in the same order are compared pair by pair, others by
 * look-up, where the last of duplicates counts. Work is bounded: beyond 2^24 key comparisons, which
 * only objects of thousands of members in different order reach, the values count as different; and
 * containers that lie deeper than LIMIT_JSON_DEPTH, which only a raised max_depth lets in, are
 * compared by their bytes. Allocates nothing. json/equals.h, for the layers that may include it,
 * has a form without the first bound. */
bool json_equals(JsonValue a, JsonValue b);

/* Appends the RFC 6901 pointer of `target`, a value inside root (or a key: then its member's), to
 * out. 0, -ENOMEM, BYTES_E_FULL; on failure nothing was appended. */
struct Bytes;
int json_pointer_of(JsonValue root, JsonValue target, struct Bytes *out);
