/* bench_json: how fast JSON is read, in one run with the peers.
 *
 * Each reader validates completely. Rounds are interleaved, so that a slow moment of the machine
 * hits all alike, and the best round counts. The floor is one pass over the bytes (memchr for a
 * byte that is not there): no reader can be faster than looking.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "docs.h"
#include "json_peers.h"
#include "json/json.h"

#define ROUNDS   15
#define ROUND_NS 60000000u

static Arena arena;

static int run_engine(const char *text, size_t n, JsonEngine engine)
{
    JsonLimits limits = {.engine = engine};
    JsonDoc doc;

    arena_reset(&arena, 64u << 20);
    return json_parse(&doc, &arena, text, n, &limits, NULL);
}

static int run_auto(const char *text, size_t n)
{
    return run_engine(text, n, JSON_ENGINE_AUTO);
}

static int run_sse2(const char *text, size_t n)
{
    return run_engine(text, n, JSON_ENGINE_SSE2);
}

static int run_portable(const char *text, size_t n)
{
    return run_engine(text, n, JSON_ENGINE_PORTABLE);
}

static int run_floor(const char *text, size_t n)
{
    return memchr(text, 1, n) != NULL;
}

typedef struct Reader {
    const char *name;
    int (*run)(const char *text, size_t n);
} Reader;

static const Reader readers[] = {
    {"toolwire", run_auto},
    {"toolwire, SSE2", run_sse2},
    {"toolwire, portable", run_portable},
    {"simdjson DOM", peer_simdjson_parse},
    {"json-c", peer_json_c_parse},
    {"floor (memchr)", run_floor},
};

enum {
    N_READERS = TW_ARRAY_SIZE(readers),
    SIMDJSON = 3,
    JSON_C = 4
};

/* Bytes a second of one round. */
static double measure(const Reader *reader, const BenchDoc *doc)
{
    uint64_t start = clock_monotonic_ns();
    uint64_t elapsed;
    size_t n = 0;

    do {
        for (int i = 0; i < 4; i++) {
            if (reader->run(doc->text.data, doc->text.n) != 0) {
                fprintf(stderr, "%s refuses %s\n", reader->name, doc->name);
                exit(1);
            }
            n++;
        }
        elapsed = clock_monotonic_ns() - start;
    } while (elapsed < ROUND_NS);
    return (double)n * (double)doc->text.n * 1e9 / (double)elapsed;
}

int main(void)
{
    BenchDoc docs[BENCH_N_DOCS];
    double best[N_READERS][BENCH_N_DOCS] = {{0}};

    arena_init(&arena, 256u << 20);
    bench_docs_make(docs);
    for (int d = 0; d < BENCH_N_DOCS; d++) {
        for (int round = 0; round < ROUNDS; round++) {
            for (size_t i = 0; i < N_READERS; i++) {
                double rate = measure(&readers[i], &docs[d]);

                best[i][d] = rate > best[i][d] ? rate : best[i][d];
            }
        }
    }
    printf("JSON, parse with full validation, MB/s (best of %d interleaved rounds)\n", ROUNDS);
    printf("%-22s", "");
    for (int d = 0; d < BENCH_N_DOCS; d++) {
        printf("%22s", docs[d].name);
    }
    printf("\n");
    for (size_t i = 0; i < N_READERS; i++) {
        printf("%-22s", readers[i].name);
        for (int d = 0; d < BENCH_N_DOCS; d++) {
            printf("%22.0f", best[i][d] / 1e6);
        }
        printf("\n");
    }
    printf("%-22s", "toolwire / simdjson");
    for (int d = 0; d < BENCH_N_DOCS; d++) {
        printf("%22.2f", best[0][d] / best[SIMDJSON][d]);
    }
    printf("\n%-22s", "toolwire / json-c");
    for (int d = 0; d < BENCH_N_DOCS; d++) {
        printf("%22.1f", best[0][d] / best[JSON_C][d]);
    }
    printf("\n");
    for (int d = 0; d < BENCH_N_DOCS; d++) {
        bytes_deinit(&docs[d].text);
    }
    arena_deinit(&arena);
    return 0;
}
