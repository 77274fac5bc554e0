/* bench_utf8: how fast utf8_valid is, by path and by kind of text, beside a pass that only reads.
 *
 * The floor is memchr for a byte that is not there: the cheapest thing a program can do that looks
 * at every byte. "of floor" is the share of that speed. Best of many rounds, as noise only ever
 * slows down. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/utf8.h"

#define BENCH_BYTES  ((size_t)1 << 20)
#define BENCH_ROUNDS 200

typedef struct BenchText {
    const char *name;
    const char *unit; /* repeated to fill the buffer */
} BenchText;

static const BenchText bench_texts[] = {
    {"ascii", "The quick brown fox jumps over the lazy dog. {\"jsonrpc\":\"2.0\",\"id\":1}\n"},
    {"cjk", "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E\xE3\x81\xAE\xE6\x96\x87\xE7\xAB\xA0"},
    {"mixed", "na\xC3\xAFve caf\xC3\xA9 \xE2\x80\x94 \xE6\x97\xA5\xE6\x9C\xAC, plain words, "
              "\xF0\x9F\x98\x80 and 12.5 \xE2\x82\xAC; "},
};

static const char *const bench_path_names[UTF8_N_PATHS] = {"scalar", "ascii", "avx2"};

/* Fills the buffer with whole units and then blanks, so that the text is valid to its end. */
static void bench_fill(char *buffer, const char *unit)
{
    size_t n = strlen(unit);
    size_t at = 0;

    for (; at + n <= BENCH_BYTES; at += n) {
        memcpy(buffer + at, unit, n);
    }
    memset(buffer + at, ' ', BENCH_BYTES - at);
}

static double bench_gb_per_s(uint64_t best_ns)
{
    return (double)BENCH_BYTES / (double)best_ns;
}

static double bench_floor(const char *buffer)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < BENCH_ROUNDS; i++) {
        uint64_t start = clock_monotonic_ns();
        /* A volatile pointer: without a use of the result the compiler drops the call. */
        const void *volatile found = memchr(buffer, 0x01, BENCH_BYTES);
        uint64_t took = clock_monotonic_ns() - start;

        (void)found;
        best = took < best ? took : best;
    }
    return bench_gb_per_s(best);
}

/* 0 if the text was not found valid: then there is nothing to time. */
static double bench_path(Utf8Path path, const char *buffer)
{
    uint64_t best = UINT64_MAX;

    for (int i = 0; i < BENCH_ROUNDS; i++) {
        uint64_t start = clock_monotonic_ns();
        bool valid = utf8_valid_by(path, buffer, BENCH_BYTES, NULL);
        uint64_t took = clock_monotonic_ns() - start;

        if (!valid) {
            return 0;
        }
        best = took < best ? took : best;
    }
    return bench_gb_per_s(best);
}

int main(void)
{
    char *buffer = mem_alloc(BENCH_BYTES);

    if (buffer == NULL) {
        return 1;
    }
    printf("%-6s %-8s %8s %9s\n", "text", "path", "GB/s", "of floor");
    for (size_t i = 0; i < TW_ARRAY_SIZE(bench_texts); i++) {
        double floor;

        bench_fill(buffer, bench_texts[i].unit);
        floor = bench_floor(buffer);
        printf("%-6s %-8s %8.2f %9.2f\n", bench_texts[i].name, "memchr", floor, 1.0);
        for (int path = 0; path < UTF8_N_PATHS; path++) {
            double speed = utf8_has_path((Utf8Path)path) ? bench_path((Utf8Path)path, buffer) : 0;

            if (speed > 0) {
                printf("%-6s %-8s %8.2f %9.2f\n", bench_texts[i].name, bench_path_names[path],
                       speed, speed / floor);
            }
        }
    }
    buffer = mem_free(buffer);
    return 0;
}
