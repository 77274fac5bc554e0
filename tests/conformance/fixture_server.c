/* fixture_server.c: an MCP server that has what the official conformance suites want to find, on
 * the public library alone.
 *
 *   conformance_server --stdio
 *   conformance_server --unix PATH
 *   conformance_server --http ADDRESS     prints where it is when it is ready
 */
#include <stdio.h>
#include <string.h>

#include "fixture.h"

static void on_ready(void *user, const char *address)
{
    (void)user;
    printf("%s\n", address);
    (void)fflush(stdout);
}

static int fixture_fill(Fixture *fixture)
{
    static int (*const parts[])(Fixture *) = {
        fixture_add_tools,     fixture_add_slow_tools, fixture_add_asking,
        fixture_add_resources, fixture_add_prompts,    fixture_add_tasks,
    };
    int r = TW_OK;

    for (size_t i = 0; r == TW_OK && i < sizeof parts / sizeof parts[0]; i++) {
        r = parts[i](fixture);
    }
    return r;
}

static int fixture_serve(Fixture *fixture, const char *how, const char *where)
{
    if (strcmp(how, "--stdio") == 0) {
        return tw_server_serve_stdio(fixture->server);
    }
    if (strcmp(how, "--http") == 0) {
        return tw_server_serve_http(fixture->server, where, &(TwHttpOptions){.ready = on_ready});
    }
    return tw_server_serve_unix(fixture->server, where);
}

static bool arguments_are_good(int argc, char **argv)
{
    if (argc == 2) {
        return strcmp(argv[1], "--stdio") == 0;
    }
    return argc == 3 && (strcmp(argv[1], "--http") == 0 || strcmp(argv[1], "--unix") == 0);
}

int main(int argc, char **argv)
{
    Fixture fixture = {.server = NULL};
    int r;

    if (!arguments_are_good(argc, argv)) {
        fputs("usage: conformance_server --stdio | --http ADDRESS | --unix PATH\n", stderr);
        return 2;
    }
    fixture.server = tw_server_new("toolwire-conformance", "1.0.0");
    r = fixture_fill(&fixture);
    if (r == TW_OK) {
        r = fixture_serve(&fixture, argv[1], argv[2]);
    }
    if (r != TW_OK) {
        fprintf(stderr, "conformance_server: %s: %s\n", tw_error_text(r),
                tw_server_message(fixture.server));
    }
    tw_server_free(fixture.server);
    return r == TW_OK ? 0 : 1;
}
