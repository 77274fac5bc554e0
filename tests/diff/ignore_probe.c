/* What toolkit/ignore.h says of a tree: reads a list of .gitignore files and of paths, goes down to
 * each path as whoever walks a tree would, and prints the paths that are ignored.
 *
 *     I N         letters have no case (1) or have (0)
 *     F N FOLDER  the N bytes after the line are the .gitignore of FOLDER ("." is the top)
 *     P PATH      a file; with a slash at the end, a folder
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "toolkit/ignore.h"

#define PROBE_MAX   ((size_t)64 * 1024 * 1024)
#define PROBE_FILES 64

typedef struct ProbeFile {
    Span folder;
    Span text;
} ProbeFile;

typedef struct Probe {
    ProbeFile files[PROBE_FILES];
    size_t n;
    bool ignores_case;
} Probe;

static void probe_die(const char *why)
{
    (void)fprintf(stderr, "ignore_probe: %s\n", why);
    exit(2);
}

static void probe_push(const Probe *probe, IgnoreRules *rules, Span folder)
{
    for (size_t i = 0; i < probe->n; i++) {
        if (span_equals(probe->files[i].folder, folder) &&
            ignore_rules_push(rules, folder, probe->files[i].text) != 0) {
            probe_die("out of memory");
        }
    }
}

/* Each folder on the way first: what is beneath an ignored one is ignored. */
static bool probe_is_ignored(const Probe *probe, Span path)
{
    IgnoreRules *rules = NULL;
    bool is_folder = span_ends_with(path, SPAN("/"));
    bool is_ignored = false;

    if (ignore_rules_new(&rules, probe->ignores_case) != 0) {
        probe_die("out of memory");
    }
    path.n -= is_folder ? 1 : 0;
    probe_push(probe, rules, SPAN(""));
    for (size_t i = 0; i < path.n && !is_ignored; i++) {
        if (path.p[i] == '/') {
            is_ignored = ignore_rules_match(rules, span_make(path.p, i), true);
            probe_push(probe, rules, span_make(path.p, i));
        }
    }
    is_ignored = is_ignored || ignore_rules_match(rules, path, is_folder);
    (void)ignore_rules_free(rules);
    return is_ignored;
}

/* "N FOLDER" and the text behind the line; what it takes of rest. */
static void probe_add(Probe *probe, Span line, Span *rest)
{
    char *end = NULL;
    unsigned long n = strtoul(line.p, &end, 10);
    Span folder = span_make(end + 1, line.n - (size_t)(end + 1 - line.p));

    if (n > rest->n || probe->n == PROBE_FILES) {
        probe_die("a file is cut, or there are too many");
    }
    probe->files[probe->n++] =
        (ProbeFile){span_equals(folder, SPAN(".")) ? SPAN("") : folder, span_make(rest->p, n)};
    *rest = span_make(rest->p + n, rest->n - n);
}

static void probe_run(Span rest)
{
    Probe probe = {.n = 0};

    while (rest.n > 0) {
        const char *end = memchr(rest.p, '\n', rest.n);
        Span line;

        if (end == NULL || end - rest.p < 2) {
            probe_die("a line has no end, or says nothing");
        }
        line = span_make(rest.p + 2, (size_t)(end - rest.p) - 2);
        rest = span_make(end + 1, rest.n - line.n - 3);
        switch (line.p[-2]) {
        case 'I':
            probe = (Probe){.ignores_case = line.p[0] == '1'};
            (void)printf("I\n");
            break;
        case 'F':
            probe_add(&probe, line, &rest);
            break;
        case 'P':
            if (probe_is_ignored(&probe, line)) {
                (void)printf("%.*s\n", (int)line.n, line.p);
            }
            break;
        default:
            probe_die("a line of no known kind");
        }
    }
}

int main(void)
{
    Bytes input;
    size_t n;

    bytes_init(&input, PROBE_MAX);
    do {
        if (bytes_reserve(&input, 65536) != 0) {
            probe_die("too much input");
        }
        n = fread(input.data + input.n, 1, 65536, stdin);
        input.n += n;
    } while (n > 0);
    probe_run(bytes_span(&input));
    bytes_deinit(&input);
    return 0;
}
