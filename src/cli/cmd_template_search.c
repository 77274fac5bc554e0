/* `toolwire template search`: templates by words, the best first. */
#include <stdio.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "cli/cmd_template.h"
#include "cli/cmd_template_catalog.h"
#include "cli/cmd_template_json.h"
#include "cli/table.h"

enum {
    OPTION_TOOLCHAIN = TEMPLATE_OPTION_OWN,
};

static const CliOption search_options[] = {
    [TEMPLATE_OPTION_TEMPLATES] = TEMPLATE_OPTION_TEMPLATES_ROW,
    [TEMPLATE_OPTION_JSON] = TEMPLATE_OPTION_JSON_ROW,
    [OPTION_TOOLCHAIN] = {"toolchain", "NAME", "only those of this toolchain"},
    {NULL, NULL, NULL},
};

static int search_print_table(const CliArgs *args, const TemplateHit *hits, size_t n)
{
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    Table table;

    arena_init(&arena, SIZE_MAX);
    table_init(&table, &arena, 4);
    for (size_t i = 0; i < n; i++) {
        char number[16];
        Span relevance;

        (void)snprintf(number, sizeof(number), "%d", hits[i].relevance);
        relevance = arena_copy(&arena, span_from_str(number));
        if (relevance.p == NULL ||
            table_add(&table, (Span[]){hits[i].template->uri_text, relevance,
                                       hits[i].template->name, hits[i].template->description}) !=
                0) {
            return template_cli_no_memory(args);
        }
    }
    table_print(&table, stdout);
    return CLI_EXIT_DONE;
}

/* The words with a blank between them. */
static int search_query(const CliArgs *args, Bytes *query)
{
    int r = 0;

    bytes_init(query, (size_t)1024 * 1024);
    for (size_t i = 0; r == 0 && i < args->n_operands; i++) {
        r = bytes_append_format(query, "%s%s", i > 0 ? " " : "", args->operands[i]);
    }
    return r;
}

static int search_run(const CliArgs *args)
{
    CLEANUP(template_cli_closep) TemplateCatalog *catalog = NULL;
    CLEANUP(bytes_deinit) Bytes query = BYTES_NULL;
    const char *toolchain = args->values[OPTION_TOOLCHAIN];
    TemplateFilter filter = {.toolchain = toolchain != NULL ? span_from_str(toolchain) : SPAN_NULL};
    const TemplateHit *hits;
    size_t n = 0;
    int status;

    if (args->n_operands == 0) {
        return cli_usage_error(args, "which words?");
    }
    status = template_cli_open(args, &catalog);
    if (status != 0) {
        return status;
    }
    if (search_query(args, &query) != 0 ||
        template_catalog_search(catalog, bytes_span(&query), &filter, &hits, &n) != 0) {
        return template_cli_no_memory(args);
    }
    status = args->values[TEMPLATE_OPTION_JSON] != NULL
                 ? template_json_print_hits(args, bytes_span(&query), hits, n)
                 : search_print_table(args, hits, n);
    if (status == 0 && n == 0) {
        return template_cli_fail(args, "no template has these words");
    }
    return status;
}

const CliCommand cmd_template_search = {
    .name = "template search",
    .operands = "WORD...",
    .summary = "find templates by words of their name, description and parameters",
    .details = "A line for each: its URI, how well it fits, its name and its description; the\n"
               "best first. A template has every WORD. Exit status: 1 if there is none.",
    .options = search_options,
    .run = search_run,
};
