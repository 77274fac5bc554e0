#include "driver.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Options {
    const char *toolwire;
    const char *rows;  /* NULL: all */
    const char *peers; /* NULL: all */
    const char *json;
    unsigned long n_rounds;
    unsigned long round_ms;
    unsigned long n_calls;
    bool spin;
} Options;

static _Noreturn void wrong_use(const Driver *driver, const char *what)
{
    (void)fprintf(stderr,
                  "bench_%s: %s\nusage: bench_%s [--toolwire PATH] [--row NAME[,NAME...]] "
                  "[--only PEER[,PEER...]] [--rounds N] [--round-ms N] [--calls N] [--json FILE] "
                  "[--no-spin]\npeers: %s\nrows:",
                  driver->title, what, driver->title, driver->peers);
    for (size_t i = 0; i < driver->n_rows; i++) {
        (void)fprintf(stderr, " %s", driver->rows[i].name);
    }
    (void)fprintf(stderr, "\n");
    exit(2);
}

static unsigned long parse_number(const Driver *driver, const char *text, unsigned long max)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0' || n == 0 || n > max) {
        wrong_use(driver, text);
    }
    return n;
}

static void parse_options(const Driver *driver, Options *o, int argc, char **argv)
{
    *o = (Options){.toolwire = BENCH_TOOLWIRE,
                   .n_rounds = 9,
                   .round_ms = 100,
                   .n_calls = driver->n_calls,
                   .spin = !driver->no_spin};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strcmp(argv[i], "--no-spin") == 0) {
            o->spin = false;
            continue;
        }
        if (value == NULL) {
            wrong_use(driver, argv[i]);
        } else if (strcmp(argv[i], "--toolwire") == 0) {
            o->toolwire = value;
        } else if (strcmp(argv[i], "--row") == 0) {
            o->rows = value;
        } else if (strcmp(argv[i], "--only") == 0) {
            o->peers = value;
        } else if (strcmp(argv[i], "--json") == 0) {
            o->json = value;
        } else if (strcmp(argv[i], "--rounds") == 0) {
            o->n_rounds = parse_number(driver, value, ROW_MAX_ROUNDS);
        } else if (strcmp(argv[i], "--round-ms") == 0) {
            o->round_ms = parse_number(driver, value, 10000);
        } else if (strcmp(argv[i], "--calls") == 0) {
            o->n_calls = parse_number(driver, value, 1000000000);
        } else {
            wrong_use(driver, argv[i]);
        }
        i++;
    }
}

bool driver_is_listed(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = list; p != NULL;) {
        const char *comma = strchr(p, ',');
        size_t n_item = comma == NULL ? strlen(p) : (size_t)(comma - p);

        if (n_item == n && memcmp(p, name, n) == 0) {
            return true;
        }
        p = comma == NULL ? NULL : comma + 1;
    }
    return list == NULL;
}

static void check_row_names(const Driver *driver, const char *list)
{
    size_t n_found = 0;
    size_t n_asked = 1;

    for (const char *p = list; p != NULL && *p != '\0'; p++) {
        n_asked += *p == ',';
    }
    for (size_t i = 0; i < driver->n_rows; i++) {
        n_found += driver_is_listed(list, driver->rows[i].name);
    }
    if (list != NULL && n_found != n_asked) {
        wrong_use(driver, "--row names a row that is not there");
    }
}

int driver_run(const Driver *driver, int argc, char **argv)
{
    static Report report;
    PeerProgram programs[DRIVER_MAX_PROGRAMS];
    Options o;
    RowSetup setup;

    parse_options(driver, &o, argc, argv);
    check_row_names(driver, o.rows);
    (void)signal(SIGPIPE, SIG_IGN);
    if (o.json != NULL && (report.json = fopen(o.json, "w")) == NULL) {
        perror(o.json);
        return 1;
    }
    setup = (RowSetup){.programs = programs,
                       .n_programs = driver->choose(o.toolwire, o.peers, programs),
                       .depth = driver->depth,
                       .n_rounds = o.n_rounds,
                       .round_ns = o.round_ms * 1000000u,
                       .n_calls = o.n_calls};
    if (o.spin) {
        peer_keep_awake();
    }
    printf("%s: medians of %lu interleaved rounds of %lu ms; cores %s\n", driver->title, o.n_rounds,
           o.round_ms, o.spin ? "kept awake" : "left alone");
    for (size_t i = 0; i < driver->n_rows; i++) {
        const Row *row = &driver->rows[i];

        if (driver_is_listed(o.rows, row->name)) {
            report_row(&report, row->name, row->what);
            row->run(row, &setup, &report);
        }
    }
    report_summary(&report);
    return report.json != NULL && fclose(report.json) != 0;
}
