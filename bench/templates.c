/* bench_templates: our template engine beside precompiled handlebars.js (V8), on the same text and
 * values, in one run.
 *
 *     bench_templates [SOURCE_FOLDER [MILLISECONDS]]
 *
 * Rounds of both alternate, so that a busy machine slows both; the best of each counts. Then the
 * tools that list templates, with 10,000 of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "templates_tools.h"
#include "toolkit/templates/engine.h"

#define BENCH_ROUNDS    3
#define BENCH_BATCH     2000
#define BENCH_MAX_BYTES ((size_t)1 << 24)
/* 2025-01-15T10:30:00.123Z */
#define BENCH_UNIX_MS 1736937000123

static void bench_die(const char *what, const char *about)
{
    (void)fprintf(stderr, "bench_templates: %s: %s\n", what, about);
    exit(1);
}

static double bench_now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void bench_read(const char *folder, const char *name, Bytes *out)
{
    char path[1024];
    FILE *f;
    size_t n;

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    bytes_init(out, BENCH_MAX_BYTES);
    f = fopen(path, "rb");
    if (f == NULL || bytes_reserve(out, BENCH_MAX_BYTES / 16) != 0) {
        bench_die("cannot read", path);
        return;
    }
    n = fread(out->data, 1, BENCH_MAX_BYTES / 16, f);
    out->n = n;
    (void)fclose(f);
}

/* Nanoseconds per rendering, of the best batch within the budget. */
static double bench_render(const TemplateProgram *program, JsonValue values, double budget_ns,
                           size_t *ret_bytes)
{
    double start = bench_now_ns();
    double best = 1e18;
    Bytes out;

    bytes_init(&out, BENCH_MAX_BYTES);
    for (double now = start; now - start < budget_ns;) {
        double before = bench_now_ns();
        int bad = 0;

        for (int i = 0; i < BENCH_BATCH; i++) {
            bytes_clear(&out);
            bad |= template_render(program, values, BENCH_UNIX_MS, &out, NULL);
        }
        now = bench_now_ns();
        if (bad != 0) {
            bench_die("a rendering", "failed");
        }
        if ((now - before) / BENCH_BATCH < best) {
            best = (now - before) / BENCH_BATCH;
        }
    }
    *ret_bytes = out.n;
    bytes_deinit(&out);
    return best;
}

static double bench_compile(Span text, double budget_ns)
{
    double start = bench_now_ns();
    double best = 1e18;

    for (double now = start; now - start < budget_ns;) {
        double before = bench_now_ns();

        for (int i = 0; i < BENCH_BATCH / 10; i++) {
            TemplateProgram *program = NULL;

            if (template_compile(&program, text, NULL) != 0) {
                bench_die("the template", "does not compile");
            }
            (void)template_free(program);
        }
        now = bench_now_ns();
        if ((now - before) / (BENCH_BATCH / 10) < best) {
            best = (now - before) / (BENCH_BATCH / 10);
        }
    }
    return best;
}

/* One round of handlebars.js; 0 where node or the package is missing. */
static double bench_handlebars(const char *folder, int milliseconds, size_t *ret_bytes)
{
    char command[2048];
    double ns = 0;
    size_t n = 0;
    FILE *pipe;

    (void)snprintf(command, sizeof(command),
                   "node '%s/bench/templates_handlebars.mjs' '%s/bench/data' %d", folder, folder,
                   milliseconds);
    pipe =
        popen(command, "r"); /* NOLINT(cert-env33-c): a benchmark, run by hand on its own folder */
    if (pipe == NULL || fscanf(pipe, "%lf %zu", &ns, &n) != 2) {
        ns = 0;
    }
    if (pipe == NULL || pclose(pipe) != 0) {
        (void)fprintf(stderr, "bench_templates: handlebars did not run (npm ci installs it)\n");
    }
    *ret_bytes = n;
    return ns;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : TW_BENCH_DIR "/..";
    int milliseconds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 500;
    char data[1024];
    TemplateProgram *program = NULL;
    double ours = 0;
    double theirs = 0;
    double compile;
    size_t n_ours = 0;
    size_t n_theirs = 0;
    JsonDoc doc;
    Arena arena;
    Bytes text;
    Bytes values;

    (void)snprintf(data, sizeof(data), "%s/bench/data", folder);
    bench_read(data, "templates_makefile.mk", &text);
    bench_read(data, "templates_makefile.json", &values);
    arena_init(&arena, BENCH_MAX_BYTES);
    if (template_compile(&program, bytes_span(&text), NULL) != 0 ||
        json_parse(&doc, &arena, values.data, values.n, NULL, NULL) != 0) {
        bench_die("the data", "cannot be used");
    }
    for (int round = 0; round < BENCH_ROUNDS; round++) {
        double a = bench_render(program, json_root(&doc), milliseconds * 1e6, &n_ours);
        double b = bench_handlebars(folder, milliseconds, &n_theirs);

        ours = ours == 0 || a < ours ? a : ours;
        theirs = theirs == 0 || (b > 0 && b < theirs) ? b : theirs;
    }
    compile = bench_compile(bytes_span(&text), milliseconds * 1e6);
    if (n_theirs != 0 && n_ours != n_theirs) {
        bench_die("the two texts", "differ");
    }
    printf("a Makefile of %zu bytes from a template of %zu\n", n_ours, text.n);
    printf("%-24s %14s %14s\n", "", "renders/s", "ns each");
    printf("%-24s %14.0f %14.1f\n", "toolwire", 1e9 / ours, ours);
    if (theirs > 0) {
        printf("%-24s %14.0f %14.1f\n", "handlebars.js", 1e9 / theirs, theirs);
        printf("%-24s %14.1f\n", "times faster", theirs / ours);
    }
    printf("%-24s %14.0f %14.1f\n", "compiling (toolwire)", 1e9 / compile, compile);
    (void)template_free(program);
    arena_deinit(&arena);
    bytes_deinit(&text);
    bytes_deinit(&values);
    bench_templates_tools(milliseconds);
    return 0;
}
