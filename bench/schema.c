/* bench_schema: our validator against compiled Ajv (V8), on the same schemas and values, in one
 * run.
 *
 *     bench_schema [SOURCE_FOLDER [MILLISECONDS]]
 *
 * Rounds of both alternate, so that a busy machine slows both; the best round of each counts. (a)
 * validates a value that is already indexed (ours) or parsed (Ajv); (b) reads the text as well. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "json/schema/schema.h"

#define BENCH_ROUNDS 3
#define BENCH_BATCH  2000

#ifndef TW_SOURCE_DIR
#define TW_SOURCE_DIR "."
#endif

static const char *const bench_cases[] = {"wall", "search", "batch"};
#define BENCH_N_CASES TW_ARRAY_SIZE(bench_cases)

/* Nanoseconds per validation. */
typedef struct BenchResult {
    double indexed;
    double parsed;
} BenchResult;

typedef struct BenchCase {
    Schema *schema;
    SchemaCheck *check;
    char *text;
    size_t n;
    Arena arena;
    JsonDoc doc;
} BenchCase;

static void bench_die(const char *what, const char *about)
{
    (void)fprintf(stderr, "bench_schema: %s: %s\n", what, about);
    exit(1);
}

static double bench_now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static char *bench_read(const char *folder, const char *name, const char *suffix, size_t *ret_n)
{
    char path[1024];
    FILE *f;
    char *data;
    long size;

    (void)snprintf(path, sizeof(path), "%s/bench/data/schema_%s%s", folder, name, suffix);
    f = fopen(path, "rb");
    if (f == NULL || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0 ||
        fseek(f, 0, SEEK_SET) != 0) {
        bench_die("cannot read", path);
        return NULL;
    }
    data = malloc((size_t)size + 1);
    if (data == NULL || fread(data, 1, (size_t)size, f) != (size_t)size) {
        bench_die("cannot read", path);
        return NULL;
    }
    (void)fclose(f);
    *ret_n = (size_t)size;
    return data;
}

static void bench_open(BenchCase *c, const char *folder, const char *name)
{
    Diag diag = DIAG_NULL;
    size_t n;
    char *schema = bench_read(folder, name, ".schema.json", &n);

    c->text = bench_read(folder, name, ".json", &c->n);
    arena_init(&c->arena, 1 << 24);
    if (schema_new(&c->schema, span_make(schema, n), NULL, &diag) != 0) {
        bench_die(name, diag.message);
    }
    if (schema_check_new(&c->check) != 0 ||
        json_parse(&c->doc, &c->arena, c->text, c->n, NULL, &diag) != 0) {
        bench_die(name, diag.message);
    }
    if (schema_validate(c->schema, c->check, json_root(&c->doc)) != 0) {
        bench_die(name, "the value is not valid");
    }
    free(schema);
}

static void bench_close(BenchCase *c)
{
    c->schema = schema_free(c->schema);
    c->check = schema_check_free(c->check);
    arena_deinit(&c->arena);
    free(c->text);
}

static int bench_indexed(BenchCase *c, Arena *scratch)
{
    (void)scratch;
    return schema_validate(c->schema, c->check, json_root(&c->doc));
}

static int bench_parsed(BenchCase *c, Arena *scratch)
{
    JsonDoc doc;

    arena_reset(scratch, 1 << 20);
    return json_parse(&doc, scratch, c->text, c->n, NULL, NULL) |
           schema_validate(c->schema, c->check, json_root(&doc));
}

/* The best batch within the budget. */
static double bench_measure(BenchCase *c, int (*body_fn)(BenchCase *, Arena *), double budget_ns)
{
    Arena scratch;
    double start = bench_now_ns();
    double best = 1e18;
    int bad = 0;

    arena_init(&scratch, 1 << 24);
    for (double now = start; now - start < budget_ns;) {
        double before = bench_now_ns();

        for (int i = 0; i < BENCH_BATCH; i++) {
            bad |= body_fn(c, &scratch);
        }
        now = bench_now_ns();
        if ((now - before) / BENCH_BATCH < best) {
            best = (now - before) / BENCH_BATCH;
        }
    }
    arena_deinit(&scratch);
    if (bad != 0) {
        bench_die("a valid value", "was refused");
    }
    return best;
}

static void bench_keep_best(BenchResult *best, BenchResult r)
{
    best->indexed = best->indexed == 0 || r.indexed < best->indexed ? r.indexed : best->indexed;
    best->parsed = best->parsed == 0 || r.parsed < best->parsed ? r.parsed : best->parsed;
}

static void bench_ours(const char *folder, int milliseconds, BenchResult *best)
{
    for (size_t i = 0; i < BENCH_N_CASES; i++) {
        BenchCase c;
        BenchResult r;

        bench_open(&c, folder, bench_cases[i]);
        r.indexed = bench_measure(&c, bench_indexed, milliseconds * 1e6);
        r.parsed = bench_measure(&c, bench_parsed, milliseconds * 1e6);
        bench_keep_best(&best[i], r);
        bench_close(&c);
    }
}

/* One round of Ajv; leaves *best as it is where node or ajv is missing. */
static void bench_ajv(const char *folder, int milliseconds, BenchResult *best)
{
    char command[2048];
    char name[64];
    BenchResult r;
    FILE *pipe;

    (void)snprintf(command, sizeof(command),
                   "node '%s/bench/schema_ajv.mjs' '%s/bench/data' %d wall search batch", folder,
                   folder, milliseconds);
    pipe =
        popen(command, "r"); /* NOLINT(cert-env33-c): a benchmark, run by hand on its own folder */
    if (pipe == NULL) {
        return;
    }
    while (fscanf(pipe, "%63s %lf %lf", name, &r.indexed, &r.parsed) == 3) {
        for (size_t i = 0; i < BENCH_N_CASES; i++) {
            if (strcmp(name, bench_cases[i]) == 0) {
                bench_keep_best(&best[i], r);
            }
        }
    }
    if (pclose(pipe) != 0) {
        (void)fprintf(stderr, "bench_schema: Ajv did not run (npm ci installs it)\n");
    }
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : TW_SOURCE_DIR;
    int milliseconds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 500;
    BenchResult ours[BENCH_N_CASES] = {{0, 0}};
    BenchResult ajv[BENCH_N_CASES] = {{0, 0}};

    for (int round = 0; round < BENCH_ROUNDS; round++) {
        bench_ours(folder, milliseconds, ours);
        bench_ajv(folder, milliseconds, ajv);
    }
    printf("ns per validation    (a) indexed value            (b) text: parse and validate\n");
    printf("%-12s %10s %10s %7s %12s %10s %7s\n", "schema", "toolwire", "ajv", "ratio", "toolwire",
           "ajv", "ratio");
    for (size_t i = 0; i < BENCH_N_CASES; i++) {
        printf("%-12s %10.1f %10.1f %7.2f %12.1f %10.1f %7.2f\n", bench_cases[i], ours[i].indexed,
               ajv[i].indexed, ajv[i].indexed == 0 ? 0 : ours[i].indexed / ajv[i].indexed,
               ours[i].parsed, ajv[i].parsed,
               ajv[i].parsed == 0 ? 0 : ours[i].parsed / ajv[i].parsed);
    }
    return 0;
}
