/* bench/docs.h: the documents that the JSON benchmarks read. */
#pragma once

#include "base/bytes.h"

typedef struct BenchDoc {
    const char *name;
    Bytes text;
} BenchDoc;

enum {
    BENCH_N_DOCS = 4
};

/* A 1 KB tools/call of mixed content, 1 MB of one long string with an escaped newline every 64
 * bytes, 1 MB of 12,000 small objects, and 1 MB of Chinese text. The caller releases each text. */
void bench_docs_make(BenchDoc docs[BENCH_N_DOCS]);
