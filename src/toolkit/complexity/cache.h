/* toolkit/complexity/cache.h: measures of files kept between runs.
 *
 * One cache is one project's, and one file on disk (who reads and writes it is its owner's matter).
 * An entry is found by path and the stamp of the file (size, both times of change, inode), so that
 * an unchanged tree costs one stat a file; or, where the stamp is another, by the hash of the
 * content. What is read may be anything: a cache that is damaged, of another version of the rules,
 * or cut, is an empty one. Thread: any, one at a time.
 */
#pragma once

#include "base/bytes.h"
#include "base/span.h"
#include "toolkit/complexity/measure.h"
#include "toolkit/complexity/report.h"

#include <stdbool.h>
#include <stdint.h>

/* What the file system says of a file. */
typedef struct ComplexityStamp {
    uint64_t size;
    int64_t mtime_ns;
    int64_t ctime_ns; /* 0 where the system has none */
    uint64_t inode;
} ComplexityStamp;

/* What is known of a file: measured, or why not. */
typedef struct ComplexityCached {
    bool is_skipped;
    ComplexitySkip reason;
    Span detail;
    ComplexityFile file; /* without increments */
} ComplexityCached;

typedef struct ComplexityCache ComplexityCache;

/* Empty. 0, -ENOMEM, or what random_fill says. Gives *ret. */
int complexity_cache_new(ComplexityCache **ret);
ComplexityCache *complexity_cache_free(ComplexityCache *cache);

/* Once, into an empty cache: reads what complexity_cache_write wrote; copies. Entries are decoded
 * when they are found. 0, -ENOMEM; damaged text leaves it empty. */
int complexity_cache_read(ComplexityCache *cache, Span data);

/* Entries that were found or put since the beginning (what is gone from the project goes from the
 * cache), by path. 0, -ENOMEM, BYTES_E_FULL; on failure out is as it was. */
int complexity_cache_write(const ComplexityCache *cache, Bytes *out);

/* What is neither found nor put stays as well: this run sees only a part of the project. */
void complexity_cache_keep_all(ComplexityCache *cache);

/* Is there anything that the file on disk does not have? */
bool complexity_cache_changed(const ComplexityCache *cache);

/* What is found is borrowed until free. Who puts a file that changed less than two seconds ago puts
 * a zero stamp, which is never found: it may change again and have the same stamp. False: not
 * known. */
bool complexity_cache_find(ComplexityCache *cache, Span path, const ComplexityStamp *stamp,
                           ComplexityCached *ret);

/* The same by content; path has an entry with this stamp from then on. Which language a file is in
 * depends on its name too, so what was measured under another name is found only if both end alike
 * (".py"; the whole name where there is no dot); what was skipped, under its own path only. */
bool complexity_cache_find_content(ComplexityCache *cache, Span path, const ComplexityStamp *stamp,
                                   const uint8_t hash[16], ComplexityCached *ret);

/* Copies, and takes the place of what path had. 0, -ENOMEM. */
int complexity_cache_put(ComplexityCache *cache, Span path, const ComplexityStamp *stamp,
                         const uint8_t hash[16], const ComplexityCached *what);
