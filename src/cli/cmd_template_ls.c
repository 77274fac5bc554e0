/* `toolwire template ls`: a table of the templates. */
#include "base/arena.h"
#include "base/bytes.h"
#include "base/limits.h"
#include "cli/cmd_template.h"
#include "cli/cmd_template_catalog.h"
#include "cli/cmd_template_json.h"
#include "cli/table.h"

enum {
    OPTION_TOOLCHAIN = TEMPLATE_OPTION_OWN,
    OPTION_CATEGORY,
};

static const CliOption ls_options[] = {
    [TEMPLATE_OPTION_TEMPLATES] = TEMPLATE_OPTION_TEMPLATES_ROW,
    [TEMPLATE_OPTION_JSON] = TEMPLATE_OPTION_JSON_ROW,
    [OPTION_TOOLCHAIN] = {"toolchain", "NAME", "only those of this toolchain"},
    [OPTION_CATEGORY] = {"category", "NAME", "only those of this category"},
    {NULL, NULL, NULL},
};

static Span option_span(const CliArgs *args, size_t place)
{
    return args->values[place] != NULL ? span_from_str(args->values[place]) : SPAN_NULL;
}

/* "project_name, 5 optional" */
static Span parameters_cell(const Template *t, Arena *arena)
{
    CLEANUP(bytes_deinit) Bytes text = BYTES_NULL;
    size_t n_optional = 0;
    int r = 0;

    bytes_init(&text, LIMIT_KEEP_BYTES);
    for (size_t i = 0; r == 0 && i < t->n_parameters; i++) {
        if (t->parameters[i].required) {
            r = bytes_append_format(&text, "%s%s", text.n > 0 ? ", " : "", t->parameters[i].name.p);
        } else {
            n_optional++;
        }
    }
    if (r == 0 && n_optional > 0) {
        r = bytes_append_format(&text, "%s%zu optional", text.n > 0 ? ", " : "", n_optional);
    }
    return r == 0 ? arena_copy(arena, bytes_span(&text)) : SPAN_NULL;
}

static int ls_print_table(const CliArgs *args, const TemplateCatalog *catalog,
                          const TemplateFilter *filter)
{
    CLEANUP(arena_deinit) Arena arena = ARENA_NULL;
    Table table;

    arena_init(&arena, SIZE_MAX);
    table_init(&table, &arena, 3);
    for (size_t i = 0; i < template_catalog_count(catalog); i++) {
        const Template *t = template_catalog_at(catalog, i);

        if (template_matches(t, filter) &&
            table_add(&table, (Span[]){t->uri_text, t->name, parameters_cell(t, &arena)}) != 0) {
            return template_cli_no_memory(args);
        }
    }
    table_print(&table, stdout);
    if (table.n_rows == 0) {
        fprintf(stderr, "toolwire template ls: there are no such templates\n");
    }
    return CLI_EXIT_DONE;
}

static int ls_run(const CliArgs *args)
{
    CLEANUP(template_cli_closep) TemplateCatalog *catalog = NULL;
    TemplateFilter filter = {.toolchain = option_span(args, OPTION_TOOLCHAIN),
                             .category = option_span(args, OPTION_CATEGORY)};
    int status = template_cli_open(args, &catalog);

    if (status != 0) {
        return status;
    }
    return args->values[TEMPLATE_OPTION_JSON] != NULL
               ? template_json_print_list(args, catalog, &filter)
               : ls_print_table(args, catalog, &filter);
}

const CliCommand cmd_template_ls = {
    .name = "template ls",
    .summary = "list the templates",
    .details = "A line for each: its URI, its name, the parameters that it needs, and how many\n"
               "may be left out. A filter that nothing passes is no error: the status is 0.",
    .options = ls_options,
    .run = ls_run,
};
