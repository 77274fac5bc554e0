/* toolkit/complexity/cache_format.h: the bytes of a cache (toolkit/complexity/cache.h).
 *
 *     magic 8 | format u32 | rules u32 | checksum u64 | entry…       (little-endian)
 *     entry:    path | size | mtime | ctime | inode | hash 16 | payload
 *     payload:  0, language, counts of the file, functions; or 1, reason, detail
 *
 * Numbers are LEB128, signed ones zigzag; a text is its length and its bytes. The checksum covers
 * all entries and finds damage; it keeps nobody out, so every read is checked against the end
 * nevertheless. Thread: any, one at a time.
 */
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "base/span.h"
#include "toolkit/complexity/cache.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Raised when the layout changes, and when a crash is mended (what has crashed is not tried again);
 * COMPLEXITY_RULES_VERSION when the numbers do. */
#define CACHE_FORMAT_VERSION 2

#define CACHE_HEADER_SIZE 24
#define CACHE_HASH_SIZE   16

/* One entry of the file; the spans lie in it. */
typedef struct CacheRecord {
    Span path;
    ComplexityStamp stamp;
    uint8_t hash[CACHE_HASH_SIZE];
    Span payload;
} CacheRecord;

/* What follows the header, or false: too short, not a cache of this version, or damaged. */
bool cache_format_open(Span data, Span *ret_entries);

/* The next entry at *at, which moves behind it. False at the end, and where the text is malformed:
 * then *at is not at the end. */
bool cache_format_next(Span entries, size_t *at, CacheRecord *ret);

/* Appends a header without its checksum; its place is then out->n - CACHE_HEADER_SIZE. 0, -ENOMEM,
 * BYTES_E_FULL. */
int cache_format_begin(Bytes *out);

int cache_format_append(Bytes *out, const CacheRecord *record);

/* Fills in the checksum of the header at start; everything behind it is entries. */
void cache_format_seal(Bytes *out, size_t start);

/* Appends what an entry holds. 0, -ENOMEM, BYTES_E_FULL. */
int cache_format_encode(Bytes *out, const ComplexityCached *what);

/* Texts of *ret lie in payload, functions in arena. False: malformed, or no memory. */
bool cache_format_decode(Span payload, Arena *arena, ComplexityCached *ret);

/* What a cache does not keep and an answer of a worker has: the increments of the file's functions,
 * as many lists as it has functions. Decode sets them in these, which it has made; copies. 0,
 * -ENOMEM, BYTES_E_FULL; false: malformed, or no memory. */
int cache_format_encode_increments(Bytes *out, const ComplexityFile *file);
bool cache_format_decode_increments(Span data, Arena *arena, ComplexityFunction *functions,
                                    size_t n_functions);

/* Whether the payload is that of a file that was skipped. */
bool cache_format_is_skipped(Span payload);
