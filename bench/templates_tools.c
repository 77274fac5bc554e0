/* list_templates and search_templates with a folder of 10,000 templates: from the call to the
 * message that answers it, with the router's check of the result against the output schema. */
#include "templates_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "call/call.h"
#include "dialect/mcp/render.h"
#include "io/loop.h"
#include "io/tree.h"
#include "providers/templates.h"
#include "router/router.h"

#define TOOLS_TEMPLATES 10000
#define TOOLS_MAX_BYTES ((size_t)1 << 26)

typedef struct Tools {
    Call call; /* first: the door gets a Call */
    Arena scratch;
    Bytes out;
    bool failed;
} Tools;

static void tools_die(const char *what)
{
    (void)fprintf(stderr, "bench_templates: %s\n", what);
    exit(1);
}

static double tools_now_ns(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void tools_finish(Call *call, const CallResult *result)
{
    Tools *tools = (Tools *)call;
    McpReply reply = {.revision = MCP_2025_11_25, .verb = CALL_TOOL, .id = SPAN("1")};

    bytes_clear(&tools->out);
    arena_reset(&tools->scratch, TOOLS_MAX_BYTES);
    tools->failed = result->kind != CALL_RESULT_TOOL ||
                    mcp_render_result(&tools->out, &tools->scratch, &reply, result) != 0;
}

static const CallDoor tools_door = {.finish = tools_finish};

/* A manifest of many templates that share a text. */
static void tools_make_folder(char *folder)
{
    Bytes manifest;
    int r;

    bytes_init(&manifest, TOOLS_MAX_BYTES);
    r = mkdtemp(folder) == NULL ? -1 : bytes_append_format(&manifest, "{\"templates\":[");
    for (int i = 0; r == 0 && i < TOOLS_TEMPLATES; i++) {
        r = bytes_append_format(
            &manifest,
            "%s{\"uri\":\"template://thing%d/many/cli\",\"name\":\"Thing number %d\","
            "\"description\":\"One of the many things that are listed\",\"file\":\"x.hbs\","
            "\"output\":\"thing\",\"parameters\":[{\"name\":\"project_name\",\"type\":\"string\","
            "\"required\":true,\"description\":\"Name of the project\"},{\"name\":\"has_tests\","
            "\"type\":\"boolean\",\"default\":true,\"description\":\"Whether it has tests\"}]}",
            i == 0 ? "" : ",", i, i);
    }
    r = r != 0 ? r : bytes_append_span(&manifest, SPAN("]}"));
    r = r != 0 ? r
               : io_tree_write(folder, "manifest.json", bytes_span(&manifest), false, true, NULL);
    r = r != 0 ? r
               : io_tree_write(folder, "x.hbs", SPAN("{{project_name}} {{has_tests}}\n"), false,
                               true, NULL);
    bytes_deinit(&manifest);
    if (r != 0) {
        tools_die("the folder of templates cannot be made");
    }
}

static void tools_remove_folder(const char *folder)
{
    static const char *const names[] = {"manifest.json", "x.hbs"};
    char path[256];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

static void tools_row(Tools *tools, Router *router, const char *tool, const char *arguments,
                      double budget_ns)
{
    double start = tools_now_ns();
    double best = 1e18;
    JsonDoc doc;
    Arena arena;

    arena_init(&arena, TOOLS_MAX_BYTES);
    if (json_parse(&doc, &arena, arguments, strlen(arguments), NULL, NULL) != 0) {
        tools_die("the arguments are no JSON");
    }
    for (double now = start; now - start < budget_ns;) {
        double before = tools_now_ns();

        call_reset(&tools->call);
        tools->call.door = &tools_door;
        tools->call.verb = CALL_TOOL;
        tools->call.target = span_from_str(tool);
        tools->call.arguments = json_root(&doc);
        tools->call.log_level = CALL_LOG_NONE;
        tools->failed = true;
        router_dispatch(router, NULL, &tools->call);
        now = tools_now_ns();
        if (tools->failed) {
            tools_die("a call failed");
        }
        best = now - before < best ? now - before : best;
    }
    printf("%-18s %-34s %10.2f %12zu\n", tool, arguments, best / 1e6, tools->out.n);
    arena_deinit(&arena);
}

static void tools_rows(Router *router, double budget_ns)
{
    static const char *const rows[][2] = {
        {"list_templates", "{}"},
        {"list_templates", "{\"limit\":10000}"},
        {"search_templates", "{\"query\":\"thing\"}"},
        {"search_templates", "{\"query\":\"thing\",\"limit\":10000}"},
        {"search_templates", "{\"query\":\"thnig number\"}"},
    };
    Tools tools = {.failed = false};

    call_init(&tools.call);
    arena_init(&tools.scratch, TOOLS_MAX_BYTES);
    bytes_init(&tools.out, TOOLS_MAX_BYTES);
    printf("\n%d templates of a folder\n%-18s %-34s %10s %12s\n", TOOLS_TEMPLATES, "", "", "ms",
           "bytes");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tools_row(&tools, router, rows[i][0], rows[i][1], budget_ns);
    }
    call_deinit(&tools.call);
    arena_deinit(&tools.scratch);
    bytes_deinit(&tools.out);
}

void bench_templates_tools(int milliseconds)
{
    char folder[] = "/tmp/tw-bench-templates-XXXXXX";
    const char *const folders[] = {folder, NULL};
    Templates *templates = NULL;
    Router *router = NULL;
    IoLoop *loop = NULL;
    int r;

    tools_make_folder(folder);
    r = io_loop_new(&loop);
    r = r != 0 ? r : router_new(&router, NULL, (HashSeed){1, 2});
    r = r != 0
            ? r
            : templates_new(&templates,
                            &(TemplatesConfig){.router = router, .loop = loop, .folders = folders},
                            NULL);
    tools_remove_folder(folder);
    if (r != 0) {
        tools_die("the templates cannot be read");
    }
    tools_rows(router, milliseconds * 1e6);
    (void)templates_free(templates);
    (void)router_free(router);
    (void)io_loop_free(loop);
}
